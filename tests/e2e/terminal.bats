#!/usr/bin/env bats
# `sbx run` in a real terminal: tmux types, and its screen is read.
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
permissions: {db:access: use the database}
profiles:
  default:
    ask:
      db:access: ["*"]
    hosts: {svc.test: 127.0.0.1}
END
	sbx grants
}

setup() {
	tmux_begin
}

teardown() {
	tmux_end
}

@test "the tool has a terminal, of the right size and type, and it is not yours" {
	type_line 'sbx run -- sh -c "test -t 0 -a -t 1 -a -t 2 && stty size && echo term=\$TERM && tty"'
	sees '^30 100'
	sees '^term=(tmux|screen)'
	sees '^/dev/pts/[0-9]+'
}

@test "a new window size reaches the tool" {
	type_line 'sbx run -- bash -c "trap \"stty size; exit\" WINCH; echo waiting; while :; do sleep 0.1; done"'
	sees '^waiting'
	tmux resize-window -x 90 -y 25
	sees '^25 90'
	sees 'ready\$$'
}

@test "^C reaches the tool as SIGINT" {
	type_line 'sbx run -- sh -c "trap \"echo interrupted; exit 9\" INT; echo waiting; while :; do sleep 0.1; done"; echo "status $?"'
	sees '^waiting'
	tmux send-keys C-c
	sees '^\^?C?interrupted'
	sees '^status 9'
}

@test "^Z stops it, fg goes on" {
	type_line 'sbx run -- sh -c "echo begun; exec cat"'
	sees '^begun'
	type_line 'first'
	wait_for 30 two_lines first
	tmux send-keys C-z
	sees 'Stopped'
	type_line 'echo back $((20 + 3))'
	sees '^back 23'
	type_line 'fg'
	wait_for 30 is_raw
	type_line 'second'
	wait_for 30 two_lines second
	tmux send-keys C-d
	sees 'ready\$$'
}

is_raw() { # the terminal is the tool's: bash, while it reads a line, has -icanon, too, but isig
	stty -F "$(tmux display -p '#{pane_tty}')" -a | grep -q -- '-isig'
}

two_lines() { # typed once, maybe behind the echo of ^Z that comes when sbx goes on, and printed once
	[[ $(screen | grep -cE "^(\^Z)?$1\$") == 2 ]]
}

@test "job control inside: a shell in the sandbox stops and continues its own jobs" {
	type_line "sbx run -- env PS1='inside> ' bash --norc --noprofile"
	sees 'inside>$'
	type_line "sleep 1000.$$"
	wait_for 30 pgrep -u "$(id -u)" -xf "sleep 1000.$$"
	tmux send-keys C-z
	sees 'Stopped'
	type_line 'kill -9 %1; while jobs -s | grep .; do sleep 0.1; done; exit 4'
	sees 'ready\$$'
	type_line 'echo "status $?"'
	sees '^status 4'
}

@test "raw mode: vim edits a file" {
	type_line 'sbx run -- vim -u NONE -N notes.txt'
	sees '^~'
	tmux send-keys i
	tmux send-keys -l 'written in vim'
	tmux send-keys Escape
	type_line ':wq'
	sees 'ready\$$'
	[ "$(<"$HOME/project/notes.txt")" = "written in vim" ]
}

@test "a notice that comes while the terminal is raw ends where the next line begins at its beginning" {
	cat >"$HOME/own.yaml" <<-END
		version: 1
		profiles:
		  default:
		    network: native
		    allow: {net:listen: [$port]}
	END
	run -0 timeout 60 python3 - "$port" "$HOME/own.yaml" <<-'END'
		import os, pty, re, sys, termios, time
		port, policy = sys.argv[1:]
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execvp("sbx", ["sbx", "run", "--policy", policy, "--", "sh", "-c", f"read -r _; exec python3 -m http.server {port}"])
		while termios.tcgetattr(terminal)[1] & termios.OPOST:
		    time.sleep(0.02)
		os.write(terminal, b"\n")
		said = b""
		while not (found := re.search(rb"since that port of this machine is taken(\r?\n)", said)):
		    said += os.read(terminal, 65536)
		print(found[1])
		os.write(terminal, b"\x03")
		os.close(terminal)
		os.waitpid(pid, 0)
	END
	[ "$output" = "b'\\r\\n'" ]
}

@test "less pages and quits, and the terminal is as before" {
	seq 1 500 >"$HOME/project/numbers"
	before=$(tmux display -p '#{pane_tty}' | xargs -I{} stty -a -F {})
	type_line 'sbx run -- less numbers'
	sees '^1$'
	tmux send-keys Space
	sees '^40$'
	tmux send-keys q
	sees 'ready\$$'
	[ "$(tmux display -p '#{pane_tty}' | xargs -I{} stty -a -F {})" = "$before" ]
}

@test "kill -9 of the runner gives the terminal back to the shell" {
	local mark=1000.$$$RANDOM # seconds that nobody else sleeps
	type_line "sbx run -- sh -c 'stty raw -echo; touch started; sleep $mark'"
	wait_for 60 test -e "$HOME/project/started"
	pid=$(sbx sessions --json | jq '.[0].pid')
	kill -9 "$pid"
	sees 'Killed'
	wait_for 30 no_process "sleep $mark"
}

@test "a prompt is asked inline, and allow lets the very call go on" {
	type_line "sbx run -- curl -sS http://svc.test:$port/inline"
	sees 'sbx: curl wants to connect to:'
	sees "svc.test:$port"
	sees_question
	type_line "allow $(code)"
	sees '^hello /inline'
	sbx grants --json | jq -e ".[0] | .pattern == \"svc.test:$port\" and .origin == \"prompt\" and .lifetime == \"until\""
	sbx revoke --all
}

@test "attack_r_28: a tool whose timer interrupts its call, and signals to sbx, take neither a question nor what is typed" {
	echo "of the home" >"$HOME/asked"
	cat >ticking.py <<'END'
import signal, sys
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
    if ticks in (1, 10):
        open(f"ticked{ticks}", "w")
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
text = open(sys.argv[1]).read()
signal.setitimer(signal.ITIMER_REAL, 0)
print("it is", text)
END
	type_line "sbx run -- python3 ticking.py $HOME/asked"
	sees_question
	code=$(code)
	wait_for 30 test -e ticked1
	tmux send-keys -l "allo"
	sees '\? allo$'
	wait_for 30 test -e ticked10
	for pid in $(pgrep -u "$(id -u)" -f "^sbx run -- python3 ticking.py $HOME/asked"); do
		for signal in WINCH CONT URG CHLD; do kill -s $signal "$pid"; done
	done
	type_line "w $code"
	sees '^it is of the home'
	sees 'ready\$$'
	[ "$(screen | grep -c 'deny, allow')" = 1 ]
	sbx revoke --all
}

@test "a prompt is asked inline, and deny refuses" {
	type_line "sbx run -- curl -sS -w '%{http_code}' -o /dev/null http://svc.test:$port/inline"
	sees_question
	type_line deny
	sees '^000'
	sees 'sbx: blocked net:access svc.test'
}

@test "^C at a prompt denies, and doesn't end the tool" {
	type_line "sbx run -- sh -c 'curl -sS -w \"%{http_code}\" -o /dev/null http://svc.test:$port/x; echo; echo still here'"
	sees_question
	tmux send-keys C-c
	sees '^000'
	sees '^still here'
}

# By ^Z, as often as it takes: what comes in the first moment of a question is thrown away.
is_stopped() {
	shows Stopped || { tmux send-keys C-z && sleep 0.3 && shows Stopped; }
}

@test "^Z at a prompt stops sbx, the call waits, and fg asks again" {
	type_line "sbx run -- curl -sS http://svc.test:$port/later"
	sees_question
	first=$(code)
	wait_for 30 is_stopped
	type_line 'echo back $((20 + 3))'
	sees '^back 23'
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line fg
	wait_for 30 asks_anew "$first"
	type_line "allow $(code)"
	sees '^hello /later'
	sbx revoke --all
	type_line 'clear; sbx check db:access later; echo "status $?"'
	sees_question
	first=$(code)
	wait_for 30 is_stopped
	type_line 'clear; fg'
	wait_for 30 asks_anew "$first"
	type_line deny
	sees '^deny: '
	sees 'ready\$$'
}

# bats file_tags=part2

@test "a run in the background asks when fg brings it to the foreground, each time, and ^Z never ends the call that waits" {
	echo 'a kept line' >"$HOME/kept"
	type_line 'sbx run -- cat ~/kept &'
	sees '^.*waiting for an answer: fs:read'
	type_line 'clear; fg'
	sees_question
	first=$(code)
	wait_for 30 is_stopped
	type_line 'clear; bg'
	sees '^\[1\]\+ sbx run'
	type_line 'clear; fg'
	wait_for 30 asks_anew "$first"
	type_line "allow $(code)"
	sees '^a kept line'
	sbx revoke --all
}

@test "a run in the background that is stopped keeps the call that waits" {
	echo 'a kept line' >"$HOME/kept"
	type_line 'sbx run -- cat ~/kept &'
	sees 'waiting for an answer: fs:read'
	type_line 'clear; kill -TSTP %1; while ! jobs -s | grep .; do :; done'
	sees 'Stopped'
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line 'clear; fg'
	sees_question
	type_line "allow $(code)"
	sees '^a kept line'
	sbx revoke --all
}

is_stopped_process() { # is_stopped_process COMMAND: its whole command line
	[[ $(ps -o stat= -p "$(pgrep -u "$(id -u)" -xf -- "$1" | head -n 1)") == T* ]]
}

allow_twice() { # in a pipeline
	local first
	sees_question
	first=$(code)
	type_line "allow $first"
	wait_for 30 asks_anew "$first"
	type_line "allow $(code)"
}

@test "a pager that reads the terminal while a question stands is stopped alone, what is typed then answers, and it goes on" {
	echo 'a kept line' >"$HOME/kept"
	type_line 'clear; sbx run -- sh -c "seq 100; sleep 1; cat ~/kept; expr 900 + 99" | less'
	sees_question
	first=$(code)
	tmux send-keys x
	wait_for 30 is_stopped_process less
	wait_for 30 asks_anew "$first"
	allow_twice
	wait_for 30 pages_to ^999
	shows 'a kept line'
	tmux send-keys q
	sees 'ready\$$'
	sbx revoke --all
}

is_denied() { # the pager may take the first key
	no_question || { tmux send-keys C-c && sleep 0.5 && no_question; }
}

no_question() {
	[[ $(sbx prompts --json | jq length) == 0 ]]
}

pages_to() {
	tmux send-keys G && sleep 0.3 && shows "$1"
}

@test "a pager that is stopped under a question goes on after ^Z and fg, and after a denial" {
	echo 'a kept line' >"$HOME/kept"
	type_line 'clear; sbx run -- sh -c "seq 100; sleep 1; cat ~/kept; expr 900 + 99" | less'
	sees_question
	first=$(code)
	tmux send-keys x
	wait_for 30 is_stopped_process less
	wait_for 30 asks_anew "$first"
	second=$(code)
	wait_for 30 is_stopped
	type_line 'clear; fg'
	wait_for 30 asks_anew "$second"
	wait_for 30 is_denied
	wait_for 30 pages_to ^999
	tmux send-keys q
	sees 'ready\$$'
}

@test "a tool that reads the terminal while its own question stands gets what is typed after it" {
	echo 'a kept line' >"$HOME/kept"
	cat >"$HOME/project/reads.py" <<-'END'
		import os, time
		if os.fork() == 0:
		    os.setpgid(0, 0)
		    print(open(os.path.expanduser("~/kept")).read(), flush=True)
		    os._exit(0)
		time.sleep(1)
		open("reads", "w").close()
		with open("/dev/tty") as terminal:
		    print("x=" + terminal.readline())
	END
	type_line 'clear; sbx run -- python3 reads.py | cat'
	sees_question
	first=$(code)
	wait_for 30 test -e reads
	sleep 0.5
	[ "$(code)" = "$first" ]
	allow_twice
	sees '^a kept line'
	type_line 'typed then'
	sees '^x=typed then'
	sees 'ready\$$'
	sbx revoke --all
	type_line 'clear; sbx run -- sh -c "cat ~/kept & sleep 1; read x </dev/tty; wait; echo x=\$x" </dev/null'
	sees_question
	sees '^sbx: the program that asked has ended' # interrupted by the stop of its group
	type_line 'typed then'
	sees '^x=typed then'
	sees 'ready\$$'
}

@test "a tool that stops itself while its question stands takes that along; fg asks again" {
	local signal
	echo 'a kept line' >"$HOME/kept"
	for signal in STOP TSTP; do
		rm -f go
		type_line "clear; sbx run -- sh -c 'cat ~/kept & until [ -e go ]; do sleep 0.1; done; kill -$signal \$\$; wait; echo over'"
		sees_question
		first=$(code)
		touch go
		sees 'Stopped'
		[ "$(sbx prompts --json | jq length)" = 1 ]
		type_line 'clear; echo back $((20 + 3))'
		sees '^back 23'
		type_line 'clear; fg'
		wait_for 30 asks_anew "$first"
		type_line "allow $(code)"
		sees '^a kept line'
		sees '^over'
		sbx revoke --all
	done
}

@test "a run that is stopped with its question leaves the turn to the next one: stopped by its tool, and from outside" {
	local how
	echo 'a kept line' >"$HOME/kept"
	for how in tool outside; do
		type_line "clear; sbx run -- sh -c 'cat ~/kept & sleep 1; [ $how = outside ] || kill -STOP \$\$; wait; echo over'"
		sees_question
		first=$(code)
		[ $how = tool ] || kill -STOP "$(runner_of "sh -c cat ")"
		sees 'Stopped'
		type_line 'clear; sbx run -- sh -c "echo begun; curl -sS http://svc.test:$port/next; echo ended"'
		sees '^begun'
		wait_for 30 asks_anew "$first"
		second=$(code)
		type_line deny
		sees '^ended'
		type_line 'clear; fg'
		wait_for 30 asks_anew "$second"
		type_line "allow $(code)"
		sees '^a kept line'
		sees '^over'
		sbx revoke --all
	done
}

runner_of() { # the run whose command begins like that
	here -f "^sbx run -- $1" | head -n 1
}

ticks_of() { # how much of a processor it has had, in hundredths of a second
	local fields
	read -r -a fields <"/proc/$1/stat"
	echo $((fields[13] + fields[14]))
}

@test "a run whose tool has ended under another's question needs no processor, and ends when it is told to" {
	local runner before
	echo 'a kept line' >"$HOME/kept"
	type_line 'clear; (sleep 1; exec sbx run -- sh -c "echo unseen; echo >over") & sbx run -- cat ~/kept'
	sees_question
	wait_for 30 test -e over
	runner=$(runner_of 'sh -c echo unseen')
	sleep 1
	before=$(ticks_of "$runner")
	sleep 2
	[ $(($(ticks_of "$runner") - before)) -lt 10 ]
	kill -TSTP "$runner"
	wait_for 30 is_stopped_process 'sbx run -- sh -c echo unseen; echo >over'
	kill -CONT "$runner"
	kill -TERM "$runner"
	wait_for 30 gone "$runner"
	type_line deny
	sees 'denied, this once'
	! shows '^unseen' || return 1
	rm over
}

@test "a tool that stops itself in a script: ^Z and fg ask again, and the answer counts" {
	echo 'a kept line' >"$HOME/kept"
	printf '%s\n' 'sbx run -- sh -c "cat ~/kept & sleep 1; kill -STOP \$\$; wait; echo end"' 'echo script goes on' >"$HOME/project/build.sh"
	type_line 'clear; sh build.sh'
	sees_question
	first=$(code)
	sees '^sbx: put off: it is asked again'
	tmux send-keys C-z
	sees 'Stopped'
	type_line 'clear; fg'
	wait_for 30 asks_anew "$first"
	type_line "allow $(code)"
	sees '^a kept line'
	sees '^script goes on'
	sees 'ready\$$'
	sbx revoke --all
}

last_prompt() {
	sbx prompts --json | jq '.[-1].id'
}

# bats file_tags=part3

@test "the third denial of a thing says beforehand that it holds for the run, and the last words name it" {
	echo 'a kept line' >"$HOME/kept"
	tmux resize-window -x 160 -y 50
	type_line 'sbx run -- sh -c "for i in 1 2 3 4; do cat ~/kept; done"; echo over'
	sees_question
	shows 'deny       not this time'
	first=$(last_prompt)
	for round in 2 3; do
		type_line deny
		wait_for 30 asks_anew "$(code)"
	done
	shows 'deny       not in this run'
	third=$(last_prompt)
	type_line deny
	sees '^sbx: denied until this run ends$'
	sees '^over$'
	screen | tr -d '\n' | grep -F "you denied it (prompt $first), 3 times, the last time: you denied it (prompt $third): denied three times in this session"
}

@test "what the same process tries again after a denial is one cause of the last words" {
	echo 'a kept line' >"$HOME/kept"
	tmux resize-window -x 160 -y 50
	type_line 'sbx run -- bash -c "for i in 1 2 3 4; do read a <~/kept; done"; echo over'
	sees_question
	first=$(last_prompt)
	type_line deny
	sees '^over$'
	screen | tr -d '\n' | grep -F "(you denied it (prompt $first), 4 times)"
}

prompts_in() { # prompts_in COLUMNS: as a terminal of that width has them
	script -qec "stty cols $1; sbx prompts" /dev/null </dev/null | tr -d '\r' >"$HOME/run/prompts"
	cat "$HOME/run/prompts"
	[ "$(wc -L <"$HOME/run/prompts")" -le "$1" ]
}

@test "what waits has its whole target in a narrow terminal, and no line is wider than that" {
	local place="$HOME/a-folder/of-a-name/below-it"
	mkdir -p "$place"
	echo 'a kept line' >"$place/c2.h"
	type_line 'clear; sbx run -- cat ~/a-folder/of-a-name/below-it/c2.h'
	sees_question
	run -0 prompts_in 49
	contains "$output" 'target   ~/a-folder/of-a-name/below-it/c2.h'
	contains "$output" "answer   sbx allow $(last_prompt)   or   sbx deny $(last_prompt)"
	run -0 prompts_in 80
	contains "$output" ' ~/a-folder/of-a-name/below-it/c2.h '
	lacks "$output" 'REASON'
	type_line deny
	sees 'denied, this once'
}

ended_by_itself() {
	sbx history --json | jq -e 'select(.kind == "expire" and .why == "its time is over")'
}

@test "the last words don't advise to revoke a denial that has ended" {
	echo 'a kept line' >"$HOME/kept"
	type_line 'clear; sbx run -- sh -c "cat ~/kept; until test -e go; do sleep 0.1; done"'
	sees_question
	sbx deny "$(last_prompt)" --ttl 1s
	wait_for 30 ended_by_itself
	touch "$HOME/project/go"
	sees '^  sbx grant fs:read .*/kept --profile default$'
	! shows 'sbx revoke' || return 1
}

@test "what the details of a question advise can be pasted: no folder where a mask asks, no session where there is none" {
	git init -q .
	type_line 'sbx run -- git config core.editor vi'
	sees_question
	tmux send-keys '?'
	sees 'sbx deny [0-9]+ --always'
	shows 'sbx allow [0-9]+ --scope exact'
	! shows 'sbx allow [0-9]+ --scope [^e]' || return 1
	type_line "deny"
	sees 'denied, this once'
	sees 'ready\$$'
	type_line 'clear; sbx check db:access paste'
	sees '^  target   paste' # the question before this one is gone
	sees_question
	tmux send-keys '?'
	sees 'sbx deny [0-9]+ --always'
	! shows 'allow [0-9]+ --session' || return 1
	type_line deny
	sees '^deny: '
}

@test "who follows the prompts can be asked, but not while that is suspended" {
	type_line 'clear; sbx prompts --follow'
	wait_for 30 agents_are 1
	background held sbx check db:access followed
	sees 'db:access|followed'
	tmux send-keys C-z
	sees 'Stopped'
	wait_for 30 agents_are 0
	run -1 sbx check db:access nobody
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line 'clear; fg'
	wait_for 30 agents_are 1
	sees "answer   sbx allow $(prompt_id)"
	sbx deny "$(prompt_id)"
	sees 'is settled'
	finished held
	[ "$status" = 1 ]
	tmux send-keys C-c
}

@test "attack_r_19 what a sandbox in the background writes waits while sbx check asks" {
	type_line 'clear; sbx run -- sh -c "while sleep 0.05; do printf \"\\033[2;1Hpainted over \"; date +%N; done" &'
	sees 'painted over'
	type_line 'clear; sbx check db:access paint'
	sees_question
	first=$(code)
	painted=$(screen)
	sleep 0.5
	[ "$(screen)" = "$painted" ]
	shows '^  target   paint$'
	wait_for 30 is_stopped
	wait_for 30 screen_differs "$painted" # nobody waits for one that is stopped
	type_line 'clear; fg %2'
	wait_for 30 asks_anew "$first" # the first one is on the screen until it is cleared
	type_line deny
	sees '^sbx: denied, this once' # what comes behind it the other run may write over
	type_line 'kill %1; wait; clear'
	sees '^ready\$$'
}

screen_differs() {
	[[ $(screen) != "$1" ]]
}

@test "sbx check in the background stops, and fg asks" {
	type_line 'clear; sbx check db:access behind'
	sees_question
	first=$(code)
	wait_for 30 is_stopped
	type_line 'clear; bg; until jobs -s | grep .; do :; done'
	sees 'Stopped'
	type_line 'clear; fg'
	wait_for 30 asks_anew "$first"
	type_line deny
	sees '^deny: '
}

@test "a prompt that nobody answered says so, also when the tool ends with that" {
	local round
	sed -i 's/timeout: 60s/timeout: 2s/' "$HOME/.config/sbx/policy.yaml"
	broker_stop
	for round in 1 2 3 4 5; do
		type_line "clear; sbx run -- curl -sS -o /dev/null http://svc.test:$port/$round; echo round $round over"
		sees "^round $round over"
		shows 'sbx: curl wants to connect to:'
		shows '^sbx: nobody answered: denied$'
	done
	sed -i 's/timeout: 2s/timeout: 60s/' "$HOME/.config/sbx/policy.yaml"
	broker_stop
}

@test "attack_b_10 what was typed ahead answers nothing, and y is no allow" {
	type_line "sbx run -- sh -c 'sleep 1; curl -sS -w \"%{http_code}\" -o /dev/null http://svc.test:$port/x'"
	for _ in 1 2 3 4 5 6; do
		type_line allow
		sleep 0.15
	done
	sees_question
	sleep 0.5
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line y
	sees 'Type it exactly as shown'
	[ "$(sbx prompts --json | jq length)" = 1 ]
	type_line deny
	sees '^000'
}

# bats test_tags=ci
@test "attack_b_10 a picture of a prompt: what the tool leaves open or set hides no prompt, and an answer to the picture allows nothing" {
	cat >"$HOME/project/picture" <<'END'
printf 'sbx: sh wants to connect to:\n  target   innocent.test:443\ndeny, allow or always? '
printf "$1"
curl -sS -w '%{http_code}\n' -o /dev/null "http://svc.test:$2/picture" >answer
END
	local left
	# DCS, OSC, APC, PM, SOS, a title (screen), a CSI, invisible and black letters, margins at the top with an origin there,
	# the lower half of the screen taken, line drawing, the alternate screen.
	for left in '\033P' '\033]0;' '\033]52;c;' '\033_' '\033^' '\033X' '\033k' '\033[' '\033P\033' '\033[8m\033[30;40m' \
		'\033[1;2r\033[?6h' '\033[1;1H' '\033(0' '\033[?1049h\033[5;60H' '\033[?7l\033[10;95H' '\033[4h\033[?25l'; do
		type_line 'clear'
		type_line "sbx run -- sh picture '$left' $port"
		sees "^  target   svc.test:$port"
		sees '^sbx: sh wants to connect to:$'
		sees_question
		type_line allow
		sees 'Type it exactly as shown'
		[ "$(sbx prompts --json | jq length)" = 1 ]
		type_line deny
		wait_for 30 nothing_runs # what it has left open and set is put back, so it need not be seen
		[ "$(<"$HOME/project/answer")" = 000 ]
		none grants
		tmux send-keys -R
		tmux clear-history
	done
}

nothing_runs() {
	none sessions
}

@test "after a prompt the tool is asked to redraw" {
	type_line "sbx run -- bash -c 'trap \"echo redrawn; redrawn=1\" WINCH; curl -sS -o /dev/null http://svc.test:$port/x; until [ \"\$redrawn\" ]; do sleep 0.05; done; echo over'"
	sees_question
	type_line deny
	sees '^redrawn'
	sees '^over'
}

@test "an answer from another terminal takes the inline prompt down" {
	type_line "sbx run -- curl -sS http://svc.test:$port/other"
	sees_question
	sbx allow "$(prompt_id)" --once
	sees '^hello /other'
	sees '^sbx: allowed, this once, with sbx allow$'
	lacks "$(screen)" 'deny, allow' # it stands in its place
	sees 'ready\$$'
	type_line "clear; sbx run -- curl -sS http://svc.test:$port/other"
	sees_question
	python3 "$TESTS/answer.py" "$(broker_socket)" --ready "$HOME/run/desktop.ready" --log "$HOME/run/desktop.log" \
		--kind desktop 'allow:7200000=net:access=*' >/dev/null 2>&1 3>&- &
	local desktop=$!
	sees '^sbx: allowed for 2h, on the desktop$'
	sees '^hello /other'
	kill "$desktop"
	sbx revoke --all
}

@test "a question whose asking process is gone says so" {
	type_line "sbx run -- sh -c 'curl -sS http://svc.test:$port/gone; echo over'"
	sees_question
	pkill -u "$(id -u)" -xf "curl -sS http://svc.test:$port/gone"
	sees '^sbx: the program that asked has ended$'
	sees '^over'
}

@test "a broker that dies takes its question down" {
	type_line "sbx run -- sh -c 'curl -sS -w \"%{http_code}\" -o /dev/null http://svc.test:$port/lost; sleep 2'"
	sees_question
	kill -9 "$(broker_pid)"
	sees '^sbx: the broker is gone and the question with it: denied$'
	sees '^000'
	sees 'ready\$$'
}

@test "the sandbox can't type into your terminal or answer its own prompt" {
	cp "$SBX_PROBE" "$HOME/project/probe"
	type_line 'sbx run -- ./probe tiocsti'
	sees '^EPERM'
	sees 'ready\$$'
}

@test "sbx check asks in its own terminal, about its own question alone; an answer from elsewhere takes that down" {
	type_line 'sbx check db:access prod --reason nightly; echo "status $?"'
	sees_question
	sees 'use the database'
	sees 'nightly'
	type_line "allow $(code)"
	sees '^status 0'
	type_line 'clear; sbx check db:access other; echo "status $?"'
	sees_question
	background unasked sbx run -- curl -sS "http://svc.test:$port/x"
	wait_for 30 two_questions
	[ "$(screen | grep -c 'deny, allow')" = 1 ]
	sbx deny "$(sbx prompts --json | jq 'map(select(.target == "other"))[0].id')"
	sees '^sbx: denied, this once, with sbx deny$'
	sees '^status 1'
	sbx deny "$(prompt_id)"
	finished unasked
	type_line 'clear; sbx check db:access third | cat; echo "status $?"'
	sees_question
	tmux send-keys C-c
	sees '^deny: '
	type_line 'clear; sbx check --no-ask db:access fourth; echo "status $?"'
	sees '^status 1'
	run sbx check db:access unasked
	[ "$status" = 1 ]
	contains "$output" "no terminal or desktop to ask on"
}

two_questions() {
	[[ $(sbx prompts --json | jq length) == 2 ]]
}

@test "what a person reads fits the terminal: the history, and what was blocked; in a pipe nothing is cut" {
	local deep
	deep=$HOME/a-rather-long-name-for-a-folder/and-another-one-in-it/that-nobody-wants-to-type/file.txt
	mkdir -p "${deep%/*}" && : >"$deep"
	type_line "sbx run --profile default -- cat $deep"
	sees_question
	type_line deny
	sees 'sbx: blocked fs:read'
	sees '^  sbx grant fs:read'
	tmux capture-pane -pJ >"$HOME/run/shown" # lines that the terminal has wrapped are one
	contains "$(grep '^  sbx grant' "$HOME/run/shown")" "sbx grant fs:read $deep --profile default" # to be copied
	contains "$(grep 'sbx: blocked' "$HOME/run/shown")" '/file.txt (you denied it'
	fits 'sbx: blocked' 100
	for width in 80 100 140; do
		tmux resize-window -x $width -y 30
		type_line "clear; sbx history --permission fs:read; echo shown $width"
		sees "^shown $width"
		tmux capture-pane -pJ >"$HOME/run/shown"
		fits 'decision' $width
		run sbx history --permission fs:read
		contains "$output" "fs:read $deep"
	done
}

fits() { # fits REGEX WIDTH: there are such lines, and none is wider
	grep "$1" "$HOME/run/shown"
	! LC_ALL=C.UTF-8 grep "$1" "$HOME/run/shown" | LC_ALL=C.UTF-8 grep -E ".{$(($2 + 1))}"
}

runs_one() {
	[[ $(sbx sessions --json | jq length) == 1 ]]
}

@test "a table does without the columns that a narrow terminal has no room for" {
	tmux resize-window -x 60 -y 30
	type_line 'sbx run -- sleep 100 &'
	wait_for 30 runs_one
	type_line 'sbx sessions'
	sees '^ID +PROFILE +PROJECT +STATE +COMMAND$' # nothing is published
	sbx kill --all
}
