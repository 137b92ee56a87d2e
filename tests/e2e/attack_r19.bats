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
  asking:
    extends: [default]
    ask:
      fs:read: [~/asked.rc]
END
	echo asked >"$HOME/asked.rc"
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
	sbx grants
}

setup() {
	tmux_begin
	rm -f "$HOME"/project/got.* "$HOME"/project/log*
	rounds=${SBX_R19_ROUNDS:-1}
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
	sbx grants --json | jq -e --arg what "svc.test:$port" 'all(.[]; .pattern == $what)' >/dev/null
	sbx history --json | jq -se 'any(.[]; .target == "false.test:1" and .verdict == "allow") | not' >/dev/null
}

# round LINE NAME: one question of the tool in LINE, answered, until the shell is back.
round() {
	type_line "clear; $1; echo \"back \$((40 + 2))\""
	answer_what_is_shown
	wait_for 30 test -s "$HOME/project/got.$2" || { screen && return 1; }
	grep -q "^hello /$2" "$HOME/project/got.$2"
	sees '^back 42'
	allowed_only
	sbx revoke --all >/dev/null
}

@test "attack_r_19: a tool whose output goes through tee paints another target over its question" {
	local i
	for ((i = 0; i < rounds; i++)); do
		round "sbx run -- bash tool $port tee$i 2>&1 | tee log" "tee$i"
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

@test "attack_r_19: likewise through a chain of programs, the last of which writes what the others read before" {
	local i
	for ((i = 0; i < rounds; i++)); do
		type_line "clear; sbx run -- bash tool $port chain$i 2>&1 | cat | cat | tee log; echo \"back \$((40 + 2))\""
		wait_for 30 unpainted_question || { screen && return 1; }
		tmux send-keys C-c
		sees '^back 42'
		round "sbx run -- bash tool $port chained$i 2>&1 | cat | cat | tee log" "chained$i"
	done
}

unpainted_question() {
	sees_question && stands_unpainted
}

stands_unpainted() { # from what it is about to its end
	! screen | sed -n "/target *svc\.test:$port/,\$p" | grep 'false\.test' && shows "target +svc\.test:$port"
}

@test "attack_r_19: a second sandbox on the terminal paints over the question of the first" {
	local i
	for ((i = 0; i < rounds; i++)); do
		type_line "clear; sbx run -- python3 paint.py &"
		sees 'false\.test'
		type_line "sbx run -- bash -c 'curl -sS http://svc.test:$port/second$i >got.second$i'"
		sees_question
		for _ in 1 2 3 4 5; do
			stands_unpainted || { screen && return 1; }
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

@test "attack_r_19: a sandbox in the background of the terminal around this one paints over the question" {
	local i
	for ((i = 0; i < rounds; i++)); do
		rm -f go.outer
		type_line "clear; sbx run -- sh -c 'until [ -e go.outer ]; do sleep 0.1; done; exec python3 paint.py' &"
		wait_for 30 some_session
		type_line "script -q /dev/null"
		type_line "clear; sbx run -- bash -c 'curl -sS http://svc.test:$port/inner$i >got.inner$i'"
		sees_question
		touch go.outer
		sleep 1 # for what is not to come
		stands_unpainted || { screen && return 1; }
		type_line "allow $(code)"
		wait_for 30 test -s "$HOME/project/got.inner$i" || { screen && return 1; }
		allowed_only
		sbx kill --all >/dev/null
		sbx revoke --all >/dev/null
		type_line "exit"
		wait_for 30 is_cleared
	done
}

is_cleared() { # what is typed while script ends is lost
	type_line clear
	shows '^ready\$$'
}

no_grants() {
	[[ $(sbx grants --json) == '[]' ]]
}

@test "attack_r_19: what sbx itself says of a tool's names is not written over its question" {
	mkdir -p "$HOME/data/sbx: cat wants to read:"
	sbx grant fs:write "$HOME/data" --ttl 4s >/dev/null
	type_line "clear; sbx run -- sh -c '(cd ~/data/sbx*; exec sleep 1000.$$) & curl -sS http://svc.test:$port/ -o got.own'"
	sees_question
	wait_for 30 no_grants
	wait_for 30 gone_by_pattern "sleep 1000.$$"
	lacks "$(screen)" 'not allowed any more'
	stands_unpainted
	type_line deny
	sees 'ended .*not allowed any more'
}

some_session() {
	[[ $(sbx sessions --json) != '[]' ]]
}

gone_by_pattern() {
	! pgrep -u "$(id -u)" -fx -- "$1" >/dev/null
}

@test "attack_r_19: what a sandbox had written is not seen when it is killed while another's question stands" {
	type_line "clear; sbx run -- sh -c 'while [ ! -e go.kill ]; do sleep 0.1; done; python3 paint.py & sleep 1; : >painted; wait' &"
	wait_for 30 some_session
	painter=$(sbx sessions --json | jq -r '.[0].id')
	type_line "sbx run -- sh -c 'curl -sS http://svc.test:$port/ -o got.kill'"
	sees_question
	touch go.kill
	wait_for 30 test -e painted
	sbx kill "$painter"
	stands_unpainted
	type_line deny
	sees 'denied'
	rm go.kill painted
}

@test "attack_r_19: a sandbox that starts while another's question stands, since its own was answered elsewhere, writes nothing over it" {
	type_line "clear; (until [ -e go.start ]; do sleep 0.1; done; exec sbx run --profile asking -- python3 paint.py) &"
	type_line "sbx run -- sh -c 'curl -sS http://svc.test:$port/ -o got.start'"
	sees_question
	touch go.start
	wait_for 30 prompt_about "$HOME/asked.rc"
	sbx allow "$(prompt_about "$HOME/asked.rc")"
	wait_for 30 runs_by_pattern 'python3 paint.py'
	sleep 1 # for what is not to come
	stands_unpainted || { screen && return 1; }
	type_line deny
	sees 'false\.test'
	rm go.start
}

prompt_about() { # its number
	sbx prompts --json | jq -er --arg target "$1" '.[] | select(.target == $target).id'
}

runs_by_pattern() {
	! gone_by_pattern "$1"
}

@test "attack_r_19: the questions of two sandboxes on one terminal come one after the other" {
	type_line "clear; sbx run -- curl -sS http://svc.test:$port/left -o got.left | sbx run -- curl -sS http://svc.test:$port/right -o got.right"
	# What is allowed is so for both by then, so the other question, which waits, is settled by it. The one whose output the
	# other reads is asked twice.
	sees_question
	type_line "allow $(code)"
	wait_for 30 got_or_asked || { screen && return 1; }
	! asks_once_more || type_line "allow $(code)"
	wait_for 30 test -s "$HOME/project/got.left"
	wait_for 30 test -s "$HOME/project/got.right"
	allowed_only
	sbx revoke --all >/dev/null
	type_line "clear; sbx run -- curl -sS http://svc.test:$port/ -o got.one | sbx run -- curl -sS http://false.test:$port/ -o got.two"
	sees_question
	[ "$(screen | grep -cE '^  target ')" = 1 ]
	target=$(screen | sed -nE 's/^  target +//p')
	first=$(code)
	type_line deny
	wait_for 30 asks_anew "$first" || { screen && return 1; }
	[ "$(screen | sed -nE 's/^  target +//p' | tail -n 1)" != "$target" ]
	type_line deny
	sees 'ready\$$'
}

got_or_asked() {
	[[ -s $HOME/project/got.left ]] || asks_once_more
}

@test "attack_r_19: nothing is allowed while what was written before is not read" {
	type_line "clear; sbx run -- sh -c 'echo waiting; curl -sS http://svc.test:$port/ -o got.unread' | sleep 1000"
	sees_question
	type_line "allow $(code)"
	sees 'once more when all that was written before'
	type_line "allow $(code)"
	tmux send-keys C-c
	wait_for 30 denied_last
	tmux send-keys C-c
	sees '^ready\$$'
	[ ! -s got.unread ]
	[ "$(sbx grants --json)" = '[]' ]
}

denied_last() {
	sbx history --json | jq -se --arg what "svc.test:$port" 'map(select(.target == $what and .kind == "decision"))[-1].verdict == "deny"'
}

small_question() { # in a window of 20 columns, which breaks the line
	tmux capture-pane -pJ | tr -d '\n' | grep -qE 'deny, allow [a-z2-9]{2} or always [a-z2-9]{2}\?'
}

small_code() {
	tmux capture-pane -pJ | tr -d '\n' | sed -nE 's/.*deny, allow (..) or always .. ?.*/\1/p'
}

@test "attack_r_19: in a window of 20 columns and 5 lines what an allow is about stands on the screen" {
	tmux resize-window -x 20 -y 5
	type_line "sbx run -- curl -sS http://svc.test:$port/small -o got.small"
	wait_for 30 small_question || { screen && return 1; }
	shows "svc\.test:$port" || { screen && return 1; }
	type_line "allow $(small_code)"
	wait_for 30 test -s got.small || { screen && return 1; }
	allowed_only
	sbx revoke --all >/dev/null
}

@test "attack_r_19: a window that became smaller while a question stood: it is put again before anything is allowed" {
	type_line "sbx run -- curl -sS http://svc.test:$port/shrunk -o got.shrunk"
	sees_question
	tmux resize-window -x 20 -y 5
	first=$(small_code)
	type_line "allow $first"
	wait_for 30 small_question_anew "$first" || { screen && return 1; }
	shows "svc\.test:$port" || { screen && return 1; }
	[ ! -s got.shrunk ]
	type_line "allow $(small_code)"
	wait_for 30 test -s got.shrunk || { screen && return 1; }
	allowed_only
	sbx revoke --all >/dev/null
}

small_question_anew() { # small_question_anew CODE: with another one
	small_question && [[ $(small_code) != "$1" ]]
}

@test "what goes through a pipe is whole and in order, with a question in between, and its tool goes on" {
	head -c 20000000 /dev/urandom >"$HOME/project/big"
	cat >"$HOME/project/twice" <<-'END'
		(while :; do echo x >>beats; sleep 0.02; done) &
		cat big
		curl -sS "http://svc.test:$1/between" >got.between
		cat big
		exit 7
	END
	type_line "clear; sbx run -- bash twice $port | sha256sum >sum; echo \"status \${PIPESTATUS[*]}\""
	sees_question
	beats=$(wc -l <"$HOME/project/beats")
	wait_for 30 more_beats $((beats + 5))
	answer_what_is_shown
	sees '^status 7 0'
	[ "$(<"$HOME/project/sum")" = "$(cat "$HOME/project/big" "$HOME/project/big" | sha256sum)" ]
	rm "$HOME/project/big"
	sbx revoke --all
}

more_beats() {
	(($(wc -l <"$HOME/project/beats") > $1))
}

@test "a reader that ends, one that is slow, and both outputs in one pipe are as without sbx" {
	type_line 'clear; sbx run -- yes | head -n 1; echo "status ${PIPESTATUS[*]}"'
	sees '^y$'
	sees '^status 141 0'
	type_line 'clear; sbx run -- head -c 300000 /dev/zero | (sleep 0.3; wc -c); echo "status ${PIPESTATUS[*]}"'
	sees '^300000$'
	sees '^status 0 0'
	type_line 'clear; sbx run -- sh -c "for i in 1 2 3; do echo out\$i; echo err\$i >&2; done; (sleep 1000 &); exit 3" 2>&1 | tr "\n" " "; echo "status ${PIPESTATUS[*]}"'
	sees '^out1 err1 out2 err2 out3 err3 status 3 0'
	type_line 'clear; sbx run -- sh -c "test -p /dev/stdout && test ! -t 1 && echo is a pipe" | cat'
	sees '^is a pipe'
}
