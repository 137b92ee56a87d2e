#!/usr/bin/env bats
# What the kernel counts by user (R6, R7): a sandbox takes all that it can get, and sbx answers. Other tests of the same user need it, too.
# shellcheck disable=SC2016 # expanded inside the sandbox

# bats file_tags=serial

load helper

setup_file() {
	home_make
	cp "$SBX_QUOTA" "$HOME/project/quota"
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
profiles:
  default: {}
  few: {extends: [default], limits: {processes: 100}}
  aio: {extends: [default], limits: {kernel-aio: true}}
END
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
}

# taking NAME…: a sandbox has taken them, and goes on; what it had is in $output.
taking() {
	background taker sbx run -- ./quota "$@"
	wait_for 60 grep -qs '^kept' "$HOME/run/taker.out" || { cat "$HOME/run/taker.out" && return 1; }
	output=$(<"$HOME/run/taker.out")
	echo "$output"
}

had() { # had NAME: how many
	awk -v name="$1" '$1 == name { print $2 }' <<<"$output"
}

failed_with() { # failed_with NAME ERRNO
	[[ $(awk -v name="$1" '$1 == name { print $3 }' <<<"$output") == "$2" ]]
}

# at_once WHAT COMMAND…: it works within 5 s on a busy machine; how long it took goes into the test's output.
at_once() {
	local what=$1 began=${EPOCHREALTIME/[.,]/} took
	shift
	timeout 5 "$@" >"$HOME/run/said" 2>&1 || { echo "$what: $? after 5 s" && cat "$HOME/run/said" && return 1; }
	took=$((${EPOCHREALTIME/[.,]/} - began))
	echo "$what: $((took / 1000)) ms"
}

sbx_answers() {
	lists_and_revokes
	at_once run sbx run -- sh -c '[ ! -e ~/notes ] && echo fine'
	grep -q fine "$HOME/run/said"
	kills
}

lists_and_revokes() {
	at_once sessions sbx sessions
	[[ $(sbx sessions --json | jq length) == 1 ]]
	mkdir -p "$HOME/notes"
	at_once grant sbx grant fs:read "$HOME/notes" --profile default # a folder: who holds it open is looked for in all processes
	at_once revoke sbx revoke --all
}

kills() {
	at_once kill sbx kill --all
	finished taker 10
}

@test "attack_r_06: all watches of epoll" {
	taking epoll
	failed_with epoll ENOSPC || failed_with epoll full || skip "optional: this machine has more watches than these programs can take"
	lists_and_revokes
	at_once run sbx run -- echo fine
	local began=${EPOCHREALTIME/[.,]/}
	run timeout 20 sbx kill --all # the processes die, but the kernel takes seconds to free their watches
	echo "$output"
	[[ $output == *"was killed"* || $output == "Ended session"* ]]
	finished taker 60
	echo "gone after $(((${EPOCHREALTIME/[.,]/} - began) / 1000)) ms"
}

@test "attack_r_07: watches and instances of inotify: half of them at most" {
	taking inotify
	(($(had inotify) <= $(</proc/sys/fs/inotify/max_user_watches) / 2 + 1))
	sbx_answers
	taking instances
	(($(had instances) <= $(</proc/sys/fs/inotify/max_user_instances) / 2 + 1))
	sbx_answers
}

@test "attack_r_07: timers, message queues, locked memory, pages of pipes" {
	taking timers queues locked pipes
	(($(had timers) <= 8192)) && failed_with timers EAGAIN
	(($(had queues) < 40)) && failed_with queues EMFILE
	(($(had locked) <= 8))
	sbx_answers
}

@test "attack_r_07: descriptors in flight" {
	taking flight
	failed_with flight ETOOMANYREFS
	(($(had flight) <= 16384 + 253))
	sbx_answers
}

@test "attack_r_07: processes are the sandbox's own quota, whatever else the user runs" {
	background taker sbx run --profile few -- ./quota processes
	wait_for 60 grep -qs '^kept' "$HOME/run/taker.out"
	output=$(<"$HOME/run/taker.out")
	(($(had processes) < 100)) && failed_with processes EAGAIN
	sbx_answers
	[[ $(sbx run -- bash -c 'ulimit -Hu') -le 8192 ]]
}

@test "attack_r_07: a run that gets no process says so" {
	run prlimit --nproc=1:1 sbx run -- echo fine
	[ "$status" = 125 ]
	[[ $output == *"as many processes run as are allowed"* ]]
}

@test "attack_r_07: asynchronous I/O of the kernel and keys are not there" {
	taking aio keys
	[[ $(had aio) == 0 ]] && failed_with aio ENOSYS
	[[ $(had keys) == 0 ]] && failed_with keys EPERM
	sbx_answers
}

@test "limits: {kernel-aio: true} brings io_setup back" {
	background taker sbx run --profile aio -- ./quota aio
	wait_for 60 grep -q '^kept' "$HOME/run/taker.out"
	output=$(<"$HOME/run/taker.out")
	(($(had aio) > 0))
}

@test "attack_r_07: the limits can't be raised inside, and a profile's own are as it says" {
	run sbx run -- bash -c 'ulimit -Hn; ulimit -Hn 20000 2>/dev/null && echo raised; ulimit -Hi; ulimit -Hq; ulimit -Hl'
	lacks "$output" raised
	(($(head -1 <<<"$output") <= 16384))
	[[ $(sbx run --profile few -- bash -c 'ulimit -Hu') == 100 ]]
	run sbx run -- sh -c 'echo 1000000 >/proc/sys/user/max_inotify_watches && echo written'
	lacks "$output" written
}
