#!/usr/bin/env bats
# A tool paints over its own question, by ways that lead past sbx: a pipe into a program that writes to the terminal, a
# second sandbox there. What counts is what stands on the screen when the answer is typed. And what goes through those
# pipes is whole, whoever asks meanwhile.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load tmux

setup_file() {
	home_make
	port=$(server web server.py)
	export port
	tmux_home
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
profiles:
  default:
    hosts: {svc.test: 127.0.0.1, false.test: 127.0.0.1}
END
	# Every row of the screen, as fast as it goes, each line with another target. Its number ends each round.
	cat >"$HOME/project/paint.py" <<-'END'
		import os, sys
		picture = b"\0337" + b"".join(b"\033[%d;1H\033[2K  false.test:1  " % row for row in range(1, 31)) + b"\0338"
		while True:
		    os.write(1, picture)
	END
	cat >"$HOME/project/tool" <<-'END'
		python3 paint.py &
		painter=$!
		curl -sS "http://svc.test:$1/$2" >"got.$2"
		kill $painter
		wait $painter
		echo "the tool has ended"
	END
	# Of the same session as what it stands beside in a pipeline.
	cat >"$HOME/project/keep.py" <<-'END'
		import sys
		sys.stdout.reconfigure(line_buffering=True)
		for line in sys.stdin.buffer.raw:
		    sys.stdout.buffer.write(line)
	END
	sbx grants
}

setup() {
	tmux_begin
	rm -f "$HOME"/project/got.* "$HOME"/project/log*
	rounds=${SBX_R19_ROUNDS:-2}
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	tmux_end
	sbx revoke --all >/dev/null 2>&1 || true
}

asks_once_more() {
	screen | grep -q 'Once more' && sees_question
}

shows_truth() { # nothing of the tool's picture is on the screen, and the target is
	! shows 'false\.test' && shows "svc\.test:$port"
}

# The screen as it is while the question stands: at once, and later. Then allow it, and see what was allowed.
answer_what_is_shown() {
	local i
	sees_question
	type_line "allow $(code)"
	wait_for 30 asks_once_more || { screen && return 1; }
	for i in 1 2 3 4 5; do
		shows_truth || { screen && return 1; }
	done
	type_line "allow $(code)"
}

allowed_only() { # what was shown, and nothing else
	sbx grants --json | jq -e --arg what "svc.test:$port" 'all(.[]; .pattern == $what)'
	! sbx history --json | jq -e 'select(.target == "false.test:1" and .verdict == "allow")'
}

# round LINE NAME: one question of the tool in LINE, answered, until the shell is back.
round() {
	type_line "clear; $1; echo \"back \$((40 + 2))\""
	answer_what_is_shown
	wait_for 30 test -s "$HOME/project/got.$2" || { screen && return 1; }
	[ "$(<"$HOME/project/got.$2")" = "hello /$2" ]
	sees '^back 42'
	allowed_only
	sbx revoke --all >/dev/null
}

@test "attack_r_19: a tool whose output goes through tee paints another target over its question" {
	local i
	for ((i = 0; i < rounds; i++)); do
		round "sbx run -- bash tool $port tee$i 2>&1 | tee log >/dev/tty" "tee$i"
	done
	grep -q 'the tool has ended' "$HOME/project/log"
}

@test "attack_r_19: likewise through cat, with standard error left on the terminal" {
	local i
	for ((i = 0; i < rounds; i++)); do
		round "sbx run -- bash tool $port cat$i | cat" "cat$i"
	done
}

@test "attack_r_19: likewise under script, and through a FIFO that another job of the shell reads" {
	local i
	for ((i = 0; i < rounds; i++)); do
		round "script -qec 'sbx run -- bash tool $port script$i 2>&1 | cat' /dev/null" "script$i"
		rm -f "$HOME/project/fifo"
		mkfifo "$HOME/project/fifo"
		round "{ cat <fifo & } 2>/dev/null; sbx run -- bash tool $port fifo$i >fifo; wait" "fifo$i"
	done
}

@test "attack_r_19: a second sandbox on the terminal paints over the question of the first" {
	local i
	for ((i = 0; i < rounds; i++)); do
		type_line "clear; sbx run -- python3 paint.py & sbx run -- bash -c 'curl -sS http://svc.test:$port/second$i >got.second$i'"
		sees_question
		shows "svc\.test:$port"
		for _ in 1 2 3 4 5; do
			! below_the_question 'false\.test'
			shows "svc\.test:$port"
		done
		type_line "allow $(code)"
		wait_for 30 test -s "$HOME/project/got.second$i" || { screen && return 1; }
		allowed_only
		sbx kill --all >/dev/null
		sbx revoke --all >/dev/null
		type_line "wait; clear"
		sees '^ready\$$'
	done
}

below_the_question() { # below_the_question REGEX: at or below what it is about
	screen | sed -n "/svc\.test:$port/,\$p" | grep -qE "$1"
}
