#!/usr/bin/env bats
# A question in the terminal of a full-screen program: seen on the main screen, and afterwards all is as it was, in tmux
# and over ssh.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load native
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
    hosts: {svc.test: 127.0.0.1, other.test: 127.0.0.1, third.test: 127.0.0.1}
  pack:
    extends: [default]
    ask:
      fs:read: [~/pack.rc, ~/other.rc, ~/missing.rc]
      net:access: ["svc.test:$port"]
END
	echo pack >"$HOME/pack.rc"
	echo other >"$HOME/other.rc"
	cp "$TESTS/full_screen.py" "$HOME/project/"
	sbx grants
}

setup() {
	tmux_begin
	rm -f go answer typed
	none grants || sbx revoke --all
}

teardown() {
	tmux_end
}

# What tmux knows of the screen: its letters with colours, the cursor, and what is switched on.
state() {
	tmux capture-pane -pe
	tmux display -p '#{cursor_x},#{cursor_y} alternate=#{alternate_on} cursor=#{cursor_flag} insert=#{insert_flag}
keypad=#{keypad_flag} keys=#{keypad_cursor_flag} mouse=#{mouse_any_flag}#{mouse_button_flag}#{mouse_standard_flag}#{mouse_sgr_flag}
origin=#{origin_flag} wrap=#{wrap_flag} margins=#{scroll_region_upper}-#{scroll_region_lower}'
}

is_still() { # twice the same
	[[ $(state) == "$(sleep 0.3 && state)" ]]
}

is_as() { # is_as STATE
	[[ $(state) == "$1" ]]
}

is_as_before() { # within 10 s, and stays so
	wait_for 20 is_as "$before" || true
	sleep 0.3
	diff <(echo "$before") <(state)
}

# during COMMAND: that fills the screen; a question comes, is seen on the main screen, and is denied. Sets `before`.
during() {
	type_line "clear; sbx run -- sh -c '(until test -e go; do sleep 0.05; done; curl -sS http://svc.test:$port/x >answer 2>&1) & exec $1'"
	sees "$2"
	wait_for 30 is_still
	before=$(state)
	touch go
	sees_question
	lacks "$(screen)" "$2"
	[ "$(tmux display -p '#{mouse_any_flag}#{cursor_flag}')" = 01 ]
	type_line "allow $(code)"
	wait_for 30 grep -q '^hello /x' answer
	is_as_before
	sbx revoke --all
}

ends() { # ends KEYS…: the program; the shell is there again
	tmux send-keys "$@"
	wait_for 30 shows 'ready\$$'
	[ "$(tmux display -p '#{alternate_on}#{mouse_any_flag}#{cursor_flag}')" = 001 ]
}

@test "vim: its screen is as it was, and the question is in the scrollback of the shell" {
	seq -f 'line %g' 1 200 >text
	during 'vim -u NONE -N --cmd "set mouse=a nocompatible ruler" text' '^line 7$'
	tmux send-keys j j i X Escape
	sees '^Xline 3$'
	type_line ':q!'
	ends Enter
	shows 'sbx: allowed'
	shows 'sbx: sh wants to connect to'
}

@test "less: its screen is as it was" {
	seq 1 500 >numbers
	during 'less numbers' '^17$'
	tmux send-keys Space
	sees '^40$'
	ends q
}

@test "a program that draws once and doesn't know of SIGWINCH has its picture back, its modes, and its keys" {
	during 'python3 full_screen.py raw' 'line 7 äö 漢字'
	tmux send-keys a b
	wait_for 30 grep -qx ab typed
	ends q
}

@test "one that does so without the alternate screen, too" {
	during 'python3 full_screen.py main' 'line 7 äö 漢字'
	tmux send-keys a b
	wait_for 30 grep -qx ab typed
	ends q
}

@test "one that has written more than is kept draws it anew: it is given another size, and its own again" {
	during 'python3 full_screen.py much' 'top of 30 x 100'
	ends q
}

@test "curses: the same" {
	during 'python3 full_screen.py curses' 'top of 30 x 100'
	ends q
}

@test "^Z at the question of a full-screen program: the shell has a plain screen; fg asks again, and all is as it was" {
	type_line "clear; sbx run -- sh -c '(until test -e go; do sleep 0.05; done; curl -sS http://svc.test:$port/x >answer 2>&1) & exec python3 full_screen.py raw'"
	sees 'line 7 äö 漢字'
	wait_for 30 is_still
	before=$(state)
	touch go
	sees_question
	first=$(code)
	tmux send-keys C-z
	sees 'Stopped'
	[ "$(tmux display -p '#{alternate_on}#{mouse_any_flag}#{cursor_flag}')" = 001 ]
	type_line 'clear; fg'
	wait_for 30 asks_anew "$first"
	type_line "allow $(code)"
	wait_for 30 grep -q '^hello /x' answer
	is_as_before
	ends q
}

@test "of a full-screen program that is killed nothing stays, also at its question" {
	local round
	for round in shown asked; do
		rm -f go
		type_line "clear; sbx run -- sh -c '(until test -e go; do sleep 0.05; done; curl -sS http://svc.test:$port/x >answer 2>&1) & exec python3 full_screen.py raw'; echo over"
		sees 'line 7 äö 漢字'
		[ $round = shown ] || { touch go && sees_question; }
		sbx kill --all
		sees '^over'
		[ "$(tmux display -p '#{alternate_on}#{mouse_any_flag}#{cursor_flag}#{keypad_cursor_flag}')" = 0010 ]
		sees 'ready\$$'
	done
}

@test "tmux in the sandbox: the same" {
	echo 'set -g status off' >inner.conf
	during 'env -u TMUX tmux -L inner -f inner.conf new-session "env PS1=inside: bash --norc --noprofile"' '^inside:'
	type_line 'echo typed $((40 + 2))'
	sees '^typed 42'
	type_line exit
	sees '\[exited\]'
}

@test "a window that gets another size during the question: the program draws for the new one" {
	local kind
	for kind in curses brief; do # its picture is too much to be kept, or is kept
		rm -f go
		tmux resize-window -x 100 -y 30
		type_line "clear; sbx run -- sh -c '(until test -e go; do sleep 0.05; done; curl -sS http://svc.test:$port/x >answer 2>&1) & exec python3 full_screen.py $kind'"
		sees 'top of 30 x 100'
		touch go
		sees_question
		tmux resize-window -x 90 -y 25
		type_line deny
		sees 'top of 25 x 90'
		ends q
	done
}

@test "attack_broker_10 while a question is there the tool writes nothing, and its keys aren't the answer's" {
	# A tool that goes on writing pictures of prompts, and asks what the terminal says (DSR), which would be typed.
	cat >paint.sh <<'END'
(until test -e go; do sleep 0.05; done; curl -sS http://svc.test:$1/x >answer 2>&1; echo over >over) &
stty raw -echo
until test -e over; do
	printf '\033[2J\033[Hsbx: sh wants to connect to:\r\n  target   innocent.test:443\r\ndeny, allow zz or always zz? \033[6n\033[?1003h'
	sleep 0.05
done
stty sane
END
	rm -f over
	type_line "clear; sbx run -- sh paint.sh $port"
	sees 'innocent.test'
	type_line 'allow zz'
	touch go
	sees "^  target   svc.test:$port"
	sees_question
	still=$(screen)
	sleep 0.5
	[ "$(screen)" = "$still" ]
	lacks "$(screen)" innocent
	type_line 'allow zz'
	sees 'Type it exactly as shown'
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line deny
	wait_for 30 test -e over
	lacks "$(<answer)" hello
	none grants
}

# bats file_tags=part2

@test "attack_broker_10 a standard input that is another terminal, a file or nothing answers no question" {
	yes 'allow' | head -n 10000 >flood
	type_line "clear; sbx run -- curl -sS http://svc.test:$port/x <flood 2>answer; echo over \$?"
	sees_question
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line deny
	sees '^over [1-9]'
	lacks "$(<answer)" hello
	type_line "clear; yes allow | sbx run -- curl -sS http://svc.test:$port/x; echo over \$?"
	sees_question
	type_line "allow $(code)"
	sees '^hello /x'
	sees '^over 0'
}

@test "a key shows details, and what waits together is one question" {
	cat >three.sh <<'END'
curl -sS "http://svc.test:$1/svc" >svc.out 2>&1 &
until test -e go; do sleep 0.05; done
for name in other third; do curl -sS "http://$name.test:$1/$name" >"$name.out" 2>&1 & done
wait
END
	type_line "clear; sbx run -- sh three.sh $port"
	sees_question
	touch go # two more, while the first one is asked about
	wait_for 30 three_wait
	[ "$(screen | grep -c '^deny, allow')" = 1 ]
	type_line deny
	sees 'sbx: sh wants 2 things:'
	sees '^   1  connect to (other|third).test'
	sees '^   2  connect to (other|third).test'
	sees 'choose\?$'
	tmux send-keys '?'
	sees '^Prompt [0-9]+, '
	sees 'deny [0-9]+ --always'
	none grants
	sees 'choose\?$'
	type_line "allow $(code)"
	sees 'ready\$$'
	grep '^hello /other' other.out
	grep '^hello /third' third.out
	lacks "$(<svc.out)" hello
}

three_wait() {
	[[ $(sbx prompts --json | jq length) == 3 ]]
}

@test "what a profile asks about is one question at the start, to be allowed, denied or chosen from; 50 columns are enough" {
	tmux resize-window -x 50 -y 30
	type_line "clear; sbx run --profile pack -- cat ~/pack.rc ~/other.rc"
	sees '^sbx: cat wants 3 things:'
	lacks "$(screen)" missing
	sees 'choose\?$'
	screen
	screen >"$HOME/run/shown"
	run env LC_ALL=C.UTF-8 grep -E '.{51}' "$HOME/run/shown"
	[ "$status" = 1 ]
	type_line choose
	wait_for 30 asks_below '^1 of 3'
	type_line "allow $(code)"
	wait_for 30 asks_below '^2 of 3'
	type_line deny
	wait_for 30 asks_below '^3 of 3'
	type_line "allow $(code)"
	sees 'ready\$$'
	sbx grants --json | jq -e 'length == 2'
	sbx revoke --all
	type_line "clear; sbx run --profile pack -- cat ~/pack.rc ~/other.rc; echo status \$?"
	sees 'choose\?$'
	type_line "always $(code)"
	sees '^pack$'
	sees '^other$'
	sees '^status 0'
	sbx grants --json | jq -e 'length == 3 and all(.lifetime == "always")'
	type_line "clear; sbx run --profile pack -- cat ~/pack.rc; echo status \$?" # and never again
	sees '^status 0'
	lacks "$(screen)" 'wants'
}

@test "what was chosen is in force at once, whatever becomes of the rest" {
	type_line "clear; sbx run --profile pack -- cat ~/pack.rc ~/other.rc; echo status \$?"
	sees 'choose\?$'
	type_line choose
	wait_for 30 asks_below '^1 of 3'
	type_line "allow $(code)"
	wait_for 30 asks_below '^2 of 3'
	sbx grants --json | jq -e 'length == 1'
	sbx prompts --json | jq -e "length == 2"
	sbx allow "$(sbx prompts --json | jq 'max_by(.id).id')" --once
	type_line "allow $(code)"
	sees '^pack$'
	sees '^other$'
	sees '^status 0'
	lacks "$(screen)" '3 of 3'
	[ "$(sbx history --json --permission fs:read | jq -s '[.[] | select(.kind == "answer")] | .[-2:] | map(.verdict) | unique' -c)" = '["allow"]' ]
}

# A desktop that shows all, and does what it is told by signals (desktop_agent.py); what it was told is in run/desktop.log.
a_desktop() {
	rm -f "$HOME/run/desktop.ready"
	python3 "$TESTS/desktop_agent.py" "$(broker_socket)" --ready "$HOME/run/desktop.ready" >"$HOME/run/desktop.log" 2>&1 3>&- &
	echo $! >"$HOME/run/desktop.pid"
	wait_for 30 test -s "$HOME/run/desktop.ready"
}

desktop() { # desktop SIGNAL
	kill "-$1" "$(<"$HOME/run/desktop.pid")"
}

no_desktop() {
	desktop TERM
	rm "$HOME/run/desktop.pid"
}

@test "what the desktop answers in time isn't asked here; what it can't show any more is, at once" {
	a_desktop
	type_line "clear; sbx run -- curl -sS http://svc.test:$port/first"
	prompt_id
	desktop USR2
	sees '^hello /first'
	sees 'ready\$$'
	lacks "$(screen)" 'wants to'
	sbx revoke --all
	type_line "clear; sbx run -- curl -sS http://svc.test:$port/x"
	prompt_id
	screen
	lacks "$(screen)" 'wants to'
	desktop USR1
	sees_question
	lacks "$(screen)" 'The desktop'
	type_line deny
	sees 'sbx: blocked'
	no_desktop
}

@test "what the desktop has not answered in five seconds is asked here, too: the first answer wins, and the other place hears of it" {
	a_desktop
	rm -f third.err
	type_line "clear; sbx run -- curl -sS http://third.test:$port/third >third.out 2>third.err &"
	prompt_id
	local begun
	begun=$(date +%s%3N)
	type_line 'sbx run --profile pack -- cat ~/pack.rc ~/other.rc' # three prompts that come in one go
	sees '^sbx: The desktop was asked, too; the first answer counts\.$'
	(($(date +%s%3N) - begun >= 5000))
	sees '^sbx: cat wants 3 things:'
	sees 'choose\?$'
	wait_for 30 grep -q '^sbx: waiting for an answer: net:access third.test:' third.err # it isn't in the foreground
	desktop USR2
	sees '^sbx: one of them is settled: allowed for 2h, on the desktop$'
	sees '^sbx: cat wants 2 things:'
	sees 'choose\?$'
	type_line "allow $(code)"
	sees '^pack$'
	sees '^other$'
	wait_for 30 heard_of_the_terminal
	sbx deny "$(prompt_id)"
	type_line clear
	type_line 'wait; echo over'
	sees '^over'
	[ "$(sbx grants --json | jq length)" = 3 ]
	no_desktop
}

heard_of_the_terminal() {
	jq -se 'any(.[]; .type == "prompt-gone" and .how == "answered" and .verdict == "allow" and .answer.agent == "terminal")' "$HOME/run/desktop.log"
}

# Over ssh, as the user of the tests, on a machine that is this one.
ssh_begin() {
	ssh_server >/dev/null
	ssh_port=$(inetd sshd_own env LD_PRELOAD="${SBX_PROBE%/*}/libown_terminal.so" \
		"$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)" -i -f "$HOME/run/sshd/config" -E "$HOME/run/sshd/log")
}

ssh_line() { # ssh_line COMMAND: what to type
	printf 'clear; ssh -tt -F none -i key -o UserKnownHostsFile=known_hosts -o HostKeyAlias=git.test -p %s 127.0.0.1 "cd %s && HOME=%s PATH=%s %s"; echo "status $?"' \
		"$ssh_port" "$HOME/project" "$HOME" "$PATH" "$1"
}

@test "over ssh: a question is asked here, also when a desktop shows it, and a program's screen is as it was" {
	ssh_begin
	python3 "$TESTS/desktop_agent.py" "$(broker_socket)" --ready "$HOME/run/desktop2.ready" >"$HOME/run/desktop2.log" 2>&1 3>&- &
	echo $! >"$HOME/run/desktop2.pid"
	wait_for 30 test -s "$HOME/run/desktop2.ready"
	type_line "$(ssh_line "sbx run -- curl -sS http://svc.test:$port/far")"
	sees_question
	type_line "allow $(code)"
	sees '^hello /far'
	sees '^status 0'
	sbx revoke --all
	cat >far.sh <<'END'
(until test -e go; do sleep 0.05; done; curl -sS "http://svc.test:$1/x" >answer 2>&1) &
exec python3 full_screen.py raw
END
	type_line "$(ssh_line "sbx run -- sh far.sh $port")"
	sees 'line 7 äö 漢字'
	wait_for 30 is_still
	before=$(state)
	touch go
	sees_question
	tmux send-keys C-c
	wait_for 30 test -s answer
	is_as_before
	tmux send-keys q
	sees '^status 0'
}
