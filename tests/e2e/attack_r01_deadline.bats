#!/usr/bin/env bats
# R1: a right that was taken back is used no more, whatever holds up who takes it back: within two seconds the sandbox has confirmed,
# or all of it is stopped. The end after thirty seconds is in tests/broker/sessions/test_sandbox.c.
# shellcheck disable=SC2016,SC2030,SC2031,SC2046 # expanded inside the sandbox; a test's variables are its own; process ids

load helper

setup_file() {
	home_make
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  traps:
    extends: [default]
    doorbell: traps
END
	cat >"$HOME/writer.py" <<-'END'
		import os, sys, time
		for number in range(6):
		    if os.fork() == 0:
		        while True:
		            try:
		                open(f"{sys.argv[1]}/{os.getpid()}-{number}", "w").close()
		            except OSError:
		                time.sleep(0.001)
		open("ready." + sys.argv[2], "w").close()
		time.sleep(1000)
	END
	mkdir "$HOME/notes"
}

setup() {
	cd "$HOME/project" || return
	rm -f reads
	echo allowed >"$HOME/notes/file"
}

teardown() {
	local pid
	for pid in $(sbx sessions --json | jq '.[].pid'); do
		kill -CONT "$pid" $(below "$pid") 2>/dev/null || true
	done
	sbx kill --all >/dev/null 2>&1 || true
}

below() { # below PID: its children
	cat "/proc/$1/task/$1/children"
}

# A tool that reads what is granted for as long as it can run: what is in the file, or "denied", is a line in "reads".
reader() {
	sbx run -- sh -c 'while :; do cat ~/notes/file 2>/dev/null || echo denied; sleep 0.01; done >>reads' >/dev/null 2>&1 3>&- &
	wait_for 20 reads_have allowed
	runner=$(sbx sessions --json | jq '.[-1].pid')
	session=$(sbx sessions --json | jq '.[-1].id')
}

reads_have() {
	[ -s reads ] && tail -n 1 reads | grep -qx "$1"
}

# Whatever it reads from now on, it has opened after this.
replace_file() {
	echo later >"$HOME/notes/new"
	mv "$HOME/notes/new" "$HOME/notes/file"
}

read_nothing_later() {
	wait_for 20 reads_have denied
	! grep -qx later reads
}

# No process of it runs an instruction: nothing is read, nor written about it.
stands_still() {
	local before
	before=$(wc -l <reads)
	sleep 0.3
	[ "$(wc -l <reads)" = "$before" ]
}

recorded() { # recorded WHY: a row of this session begins so
	[ "$(sbx history --session "$session" --json | jq --arg why "$1" 'select(.kind == "repair" and .why != null and (.why | startswith($why))) | .seq')" ]
}

portal() { # portal PID: the runner's mount helper
	local pid
	for pid in $(below "$1"); do
		[ "$(cat "/proc/$pid/comm")" = sbx-portal ] && echo "$pid"
	done
}

@test "attack_r_01: the mount helper is stopped while a grant is revoked: all of it is stopped, and goes on without the right" {
	sbx grant fs:read "$HOME/notes" >/dev/null
	reader
	kill -STOP "$(portal "$runner")"
	run -1 sbx revoke "$(sbx grants --json | jq '.[].id')"
	contains "$output" "It has ended in 0 of 1 running sandbox"
	contains "$output" "session $session (sh -c"
	contains "$output" "did not confirm: it is stopped whole, and is ended unless it confirms"
	stands_still
	wait_for 10 recorded "stopped: its runner did not confirm within 1.5 s"
	sbx history --session "$session" | grep "fs:read $HOME/notes .* stopped: its runner did not confirm within 1.5 s"
	replace_file
	kill -CONT "$(portal "$runner")"
	read_nothing_later
	wait_for 10 recorded "continued"
}

@test "attack_r_01: likewise when its time is over, and when a denial is made" {
	sbx grant fs:read "$HOME/notes" --ttl 3s >/dev/null
	reader
	kill -STOP "$(portal "$runner")"
	wait_for 20 recorded "stopped"
	stands_still
	replace_file
	kill -CONT "$(portal "$runner")"
	read_nothing_later
	sbx kill "$session"

	rm reads
	echo allowed >"$HOME/notes/file"
	sbx grant fs:read "$HOME/notes" >/dev/null
	reader
	kill -STOP "$(portal "$runner")"
	run -1 sbx grant fs:read "$HOME/notes" --deny
	contains "$output" "It is in force in 0 of 1 running sandbox."
	contains "$output" "did not confirm: it is stopped whole"
	wait_for 20 recorded "stopped"
	stands_still
	replace_file
	kill -CONT "$(portal "$runner")"
	read_nothing_later
	sbx kill "$session"
	sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
}

@test "attack_r_01: a run that is stopped withdraws before it goes on, and isn't ended" {
	sbx grant fs:read "$HOME/notes" >/dev/null
	reader
	kill -STOP "$runner"
	run -0 sbx revoke --all
	contains "$output" "session $session (sh -c"
	contains "$output" "is stopped (^Z) or frozen: it withdraws before it goes on"
	stands_still
	replace_file
	kill -CONT "$runner"
	read_nothing_later
	wait_for 10 recorded "continued"
	recorded "held"
}

# Timers of its own continue it, often and for long, or for a moment in which it stops itself again.
@test "attack_r_01: a tool that goes on by itself after it was stopped is ended" {
	local way
	cat >timers.py <<-'END'
		import ctypes, os, signal, sys
		class Event(ctypes.Structure):
		    _fields_ = [("value", ctypes.c_long), ("signal", ctypes.c_int), ("notify", ctypes.c_int), ("rest", ctypes.c_char * 48)]
		libc = ctypes.CDLL(None, use_errno=True)
		def read(*_):
		    print(open("file").read().strip(), file=out, flush=True)
		    if sys.argv[2] == "shortly":
		        os.kill(os.getpid(), signal.SIGSTOP)
		out = open("reads", "a")
		os.chdir(sys.argv[1])
		signal.signal(signal.SIGCONT, read)
		for number in range(1, 200):
		    timer = ctypes.c_void_p()
		    libc.timer_create(1, ctypes.byref(Event(0, signal.SIGCONT, 0)), ctypes.byref(timer))
		    libc.timer_settime(timer, 0, (ctypes.c_long * 4)(0, 0, number * 50 // 1000, number * 50 % 1000 * 1000000), None)
		while True:
		    signal.pause()
	END
	for way in shortly long; do
		rm -f reads
		sbx grant fs:read "$HOME/notes" --any-profile >/dev/null
		sbx run -- python3 timers.py "$HOME/notes" "$way" >/dev/null 2>&1 3>&- &
		wait_for 20 reads_have allowed
		session=$(sbx sessions --json | jq '.[-1].id')
		kill -STOP "$(sbx sessions --json | jq '.[-1].pid')"
		run sbx revoke --all
		contains "$output" "is stopped (^Z) or frozen: it withdraws before it goes on"
		wait_for 10 no_session
		recorded "ended: it was stopped, since its runner had not confirmed, and went on by itself"
	done
}

# A thread that waits for an answer to its trapped call would end the call before it stops.
@test "attack_r_01: a call that was being looked at when the runner was stopped waits for the withdrawal" {
	local number late=
	cp "$HOME/writer.py" .
	for _ in 1 2 3 4; do
		sbx grant fs:write "$HOME/notes" --any-profile >/dev/null
		rm -f ready.*
		for number in 1 2 3 4; do
			sbx run --profile traps -- python3 writer.py "$HOME/notes" "$number" >/dev/null 2>&1 3>&- &
		done
		for number in 1 2 3 4; do wait_for 20 test -e "ready.$number"; done
		mapfile -t runners < <(sbx sessions --json | jq '.[].pid')
		kill -STOP "${runners[@]}"
		run -0 sbx revoke --all
		contains "$output" "is stopped (^Z) or frozen: it withdraws before it goes on"
		touch said
		kill -CONT "${runners[@]}"
		for number in $(sbx sessions --json | jq '.[].id'); do session=$number wait_for 10 recorded "continued"; done
		late+=$(find "$HOME/notes" -newer said)
		sbx kill --all >/dev/null
		wait_for 20 no_session
	done
	[ -z "$late" ]
}

# The new one knows nothing of the session but that its processes are stopped.
@test "attack_r_01: sbxd is killed while a sandbox is held: its calls go on with the next one, and without the right" {
	local number runner broker
	cp "$HOME/writer.py" .
	sbx grant fs:write "$HOME/notes" --any-profile >/dev/null
	sbx run --profile traps -- python3 writer.py "$HOME/notes" killed >/dev/null 2>&1 3>&- &
	wait_for 20 test -e ready.killed
	sbx run --profile traps -- sh -c 'while :; do rm -f beat; sleep 0.02; : >beat; sleep 0.02; done' >/dev/null 2>&1 3>&- &
	wait_for 20 test -e beat
	mapfile -t runners < <(sbx sessions --json | jq '.[].pid')
	[ "${#runners[@]}" = 2 ]
	kill -STOP "${runners[@]}"
	run -0 sbx revoke --all
	contains "$output" "is stopped (^Z) or frozen: it withdraws before it goes on"
	broker=$(broker_pid)
	kill -9 "$broker"
	touch said
	kill -CONT "${runners[@]}"
	wait_for 20 test said -ot beat
	[ "$(broker_pid)" != "$broker" ]
	for number in $(sbx sessions --json | jq '.[].id'); do session=$number wait_for 20 recorded "continued"; done
	[ -z "$(find "$HOME/notes" -newer said)" ]
	touch said
	wait_for 20 test said -ot beat
}

no_session() {
	[[ $(sbx sessions --json) == '[]' ]]
}

@test "attack_r_01: a tool that makes processes all the time is stopped with all of them" {
	sbx grant fs:read "$HOME/notes" >/dev/null
	sbx run -- sh -c 'while :; do { cat ~/notes/file || echo denied; sleep 0.05; } 2>/dev/null & sleep 0.005; done >>reads' >/dev/null 2>&1 3>&- &
	wait_for 20 reads_have allowed
	runner=$(sbx sessions --json | jq '.[-1].pid')
	session=$(sbx sessions --json | jq '.[-1].id')
	kill -STOP "$(portal "$runner")"
	run -1 sbx revoke --all
	stands_still
	replace_file
	kill -CONT "$(portal "$runner")"
	read_nothing_later
	wait_for 10 recorded "continued"
}

@test "revoke --no-wait says that it did not wait, --json has the reply; sbx kill says what has ended" {
	sbx grant fs:read "$HOME/notes" >/dev/null
	reader
	run -0 sbx revoke --all --no-wait
	contains "$output" "It was not waited for that it ends in 1 running sandbox."
	wait_for 20 reads_have denied
	sbx grant fs:read "$HOME/notes" >/dev/null
	wait_for 20 reads_have allowed
	run -0 sbx revoke --all --json
	[ "$(jq -c '[.told, .confirmed, .others]' <<<"$output")" = '[1,1,[]]' ]
	run -0 sbx kill "$session"
	[ "$output" = "Ended session $session." ]
	stands_still
}

@test "a variable that is taken back is known to the processes that have it" {
	export SBX_TEST_SECRET=yes
	sbx grant env:read SBX_TEST_SECRET >/dev/null
	sbx run -- sh -c 'echo "${SBX_TEST_SECRET:-no} allowed" >reads; sleep 1000 & wait' >/dev/null 2>&1 3>&- &
	wait_for 20 grep -q allowed reads
	grep -q yes reads
	wait_for 10 sh -c 'pgrep -u "$(id -u)" -x sleep >/dev/null'
	run -0 sbx revoke --all
	contains "$output" "It has ended in 1 of 1 running sandbox."
	contains "$output" "The variable is known to 2 processes of running sandboxes: no process forgets it."
}
