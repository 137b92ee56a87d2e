#!/usr/bin/env bats
# What is stopped, continued or killed while a question stands in a terminal: the runner, the broker, the question's own
# process, the tool. No answer counts that was given to another picture, and the terminal is never left to nobody.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load tmux

setup_file() {
	home_make
	tmux_home
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
profiles:
  default: {}
  asking:
    extends: [default]
    ask:
      fs:read: [~/asked.rc]
END
	echo 'a kept line' >"$HOME/kept"
	echo asked >"$HOME/asked.rc"
	sbx grants
}

setup() {
	tmux_begin
	rm -f go ready over count
	stopped=
}

teardown() {
	[[ ! $stopped ]] || kill -CONT "$stopped" 2>/dev/null || true
	sbx kill --all >/dev/null 2>&1 || true
	tmux_end
	sbx revoke --all >/dev/null 2>&1 || true
}

runner_of() { # runner_of REGEX: the run whose command line goes on like that
	here -of "^sbx run $1"
}

questioner() { # the process that asks: it has the terminal
	echo $(($(ps -o tpgid= -p "$(tmux display-message -p '#{pane_pid}')")))
}

none_runs() { # none_runs REGEX: neither a runner nor its question
	! here -f "^sbx run $1" >/dev/null
}

state_of() { # of a process, as ps has it: T is stopped, S asleep
	ps -o state= -p "$1"
}

is_in_state() { # is_in_state PID STATE
	[[ $(state_of "$1") == "$2" ]]
}

stop() { # stop PID: teardown continues it, however the test ends
	stopped=$1
	kill -STOP "$1"
	wait_for 30 is_in_state "$1" T
}

go_on() {
	kill -CONT "$stopped"
	stopped=
}

# By ^Z, as often as it takes: what comes in the first moment of a question is thrown away.
is_suspended() {
	shows Stopped || { tmux send-keys C-z && sleep 0.3 && shows Stopped; }
}

comes() { # comes SECONDS COMMAND…: as wait_for; else the screen is shown
	wait_for "$@" || {
		printf 'did not come to be: %s\n' "${*:2}"
		screen
		return 1
	}
}

is_written_over() { # the question: the other run was the last to write
	screen | tail -n 1 | grep -q 'tick$'
}

asks_or_has_read() { # asks_or_has_read CODE: asks with another one
	[[ -s over ]] || { shows 'deny, allow [a-z2-9]{2} or always [a-z2-9]{2}\?$' && [[ $(code) != "$1" ]]; }
}

@test "an answer that was typed while the runner was stopped by SIGSTOP and another run wrote there does not count: it is asked anew" {
	cat >two.sh <<-'END'
		sbx run -- sh -c 'while :; do echo tick; : >ready; sleep 0.2; done' &
		until [ -e ready ]; do sleep 0.1; done
		sbx run -- sh -c 'cat ~/kept >over'
	END
	type_line 'clear; sh two.sh'
	sees_question
	first=$(code)
	stop "$(runner_of '-- sh -c cat')"
	comes 30 is_written_over
	type_line "allow $first"
	sleep 0.3 # the question's process reads it, and ends
	go_on
	comes 30 asks_or_has_read "$first"
	[[ ! -s over ]] || { screen && return 1; }
	none grants
	type_line "allow $(code)"
	comes 30 test -s over
}

@test "a question that waits for its turn when the broker dies leaves the tool's terminal to it" {
	local broker runner
	type_line "clear; sbx run -- sh -c 'cat ~/kept & until [ -e go ]; do sleep 0.1; done; echo went on; read x; echo got \$x'"
	sees_question
	comes 30 is_suspended
	runner=$(runner_of '-- sh -c cat')
	broker=$(broker_pid)
	stop "$broker"
	type_line 'clear; fg'
	comes 30 is_in_state "$runner" S
	sleep 0.3 # it asks for its turn
	kill -9 "$broker"
	wait_for 30 gone "$broker"
	stopped=
	touch go
	comes 10 shows '^went on'
	type_line 'a line'
	sees '^got a line'
	sees '^ready\$$'
}

monitor_begin() { # in a window of its own
	tmux new-window -d 'exec sbx monitor'
	wait_for 30 monitor_is_there
	wait_for 30 agents_are 1
}

monitor_is_there() {
	tmux capture-pane -pt ':1' | grep -q '^today: '
}

@test "a monitor that is open elsewhere does not keep a background run from ending" {
	monitor_begin
	type_line 'clear; { sbx run -- true >/dev/null; echo ended >over; } &'
	comes 10 test -s over || { sbx sessions && return 1; }
}

@test "a monitor that is open elsewhere does not hold what a background run writes into a pipe" {
	monitor_begin
	type_line 'clear; { sbx run -- head -c 300000 /dev/zero | wc -c >count; } &'
	comes 10 test -s count || { sbx sessions && return 1; }
	[ "$(<count)" = 300000 ]
}

@test "a tool that stops itself where nobody could continue it goes on, as without sbx" {
	local how
	echo 'echo before; kill -TSTP $$; echo after; read x; echo "$x" >over' >stops.sh
	for how in '' 'sbx run --'; do
		rm -f over
		tmux new-window "exec $how bash stops.sh"
		sees '^before'
		comes 10 shows '^after'
		type_line "typed"
		comes 30 test -s over
		[ "$(<over)" = typed ]
	done
}

@test "after a SIGCONT at a question ^C still reaches the tool" {
	local first mark=1000.$$$RANDOM # seconds that nobody else sleeps
	type_line "clear; sbx run -- sh -c 'cat ~/kept; sleep $mark'; echo \"status \$?\""
	sees_question
	first=$(code)
	kill -CONT "$(runner_of '-- sh -c cat')"
	sleep 0.3 # for another question, which is not to come
	[ "$(code)" = "$first" ]
	type_line "allow $first"
	sees '^a kept line'
	wait_for 30 pgrep -u "$(id -u)" -xf "sleep $mark" >/dev/null
	tmux send-keys C-c
	comes 10 shows 'status 130' # behind the echo of ^C
}

@test "a script whose sandbox's runner is killed at a question has its terminal again" {
	local signal options
	for signal in KILL TERM; do # TERM ends one that asks before it starts
		options=
		[ $signal = KILL ] || options='--profile asking '
		rm -f go
		echo "sbx run $options-- cat ~/kept; until [ -e go ]; do sleep 0.1; done; read x; echo \"got \$x\"" >script.sh
		type_line 'clear; sh script.sh'
		sees_question
		kill -$signal "$(runner_of "$options-- cat")"
		comes 30 none_runs "$options-- cat"
		touch go
		type_line "a line"
		sees '^got|Stopped'
		shows '^got a line' || { echo "after SIG$signal" && screen && return 1; }
		sees '^ready\$$'
	done
}

@test "a question's process that is stopped alone ends when its prompt does" {
	local question
	type_line "clear; sbx run -- sh -c 'cat ~/kept; echo went on; read x; echo got \$x'" # at its end all is taken down
	sees_question
	question=$(questioner)
	stop "$question"
	sbx deny "$(prompt_id)"
	comes 10 gone "$question"
	sees '^went on'
	type_line 'a line'
	sees '^got a line'
	sees '^ready\$$'
}
