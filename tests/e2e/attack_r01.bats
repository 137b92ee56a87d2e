#!/usr/bin/env bats
# Attack R1: a tool that has as many descriptors in flight as the kernel lets its user have. The kernel compares the user's
# total with the sender's own RLIMIT_NOFILE, so the limit here is low: other tests of the same user go on.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's id is its own

# bats file_tags=serial

load helper

setup_file() {
	ulimit -n 1024
	home_make
	policy <<-END
		version: 1
		prompt: {timeout: 60s, without-agent: wait}
		profiles:
		  default:
		    doorbell: auto
		  bare:
		    extends: [base]
		    allow: {fs:write: ["\${project}"]}
	END
	cp "$SBX_WATCH" "$HOME/project/watch"
	cp "$TESTS/flight.py" "$HOME/project/flight.py"
}

setup() {
	cd "$HOME/project" || return
	here=$HOME/t$BATS_TEST_NUMBER
	mkdir -p "$here"
	echo "in $here" >"$here/file"
}

teardown() {
	exec 7>&-
	sbx kill --all >/dev/null 2>&1 || true
	sbx revoke --all >/dev/null 2>&1 || true
	rm -f full hold
}

# watching NAME COMMAND…: a sandbox that goes on to the test's end; what it says is in $HOME/run/NAME.out.
watching() {
	local name=$1
	shift
	sbx run --profile bare -- "$@" <hold >"$HOME/run/$name.out" 2>"$HOME/run/$name.err" 3>&- 7>&- &
}

# A sandbox called full that watches the file and holds descriptors in flight.
in_flight() {
	mkfifo hold
	exec 7<>hold
	watching full python3 flight.py ./watch --open "$here/file"
	wait_for 60 test -e full
	run python3 -c 'import array, socket
ours, theirs = socket.socketpair()
ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0]))])'
	contains "$output" "Too many references" # or nothing is tried below
}

saw() { # saw NAME WORD: that is what it says now
	[[ $(tail -n 1 "$HOME/run/$1.out" | cut -d ' ' -f 2) == "$2" ]]
}

both_saw() {
	wait_for 30 saw full "$1" && wait_for 30 saw other "$1"
}

@test "attack_r_01: a grant that is revoked, that ends or that a rule denies is gone from both sandboxes with descriptors in flight" {
	in_flight
	watching other ./watch --open "$here/file"
	both_saw ENOENT
	sbx grant fs:read "$here" --profile bare
	both_saw there
	sbx revoke --all
	both_saw ENOENT
	sbx grant fs:read "$here" --profile bare --ttl 5s
	both_saw there
	both_saw ENOENT
	sbx grant fs:read "$here" --profile bare
	both_saw there
	sbx grant --deny fs:read "$here" --profile bare
	both_saw ENOENT
}

@test "attack_r_01: with descriptors in flight a new run starts, with and without a terminal" {
	in_flight
	run sbx run -- sh -c 'echo started; cat /dev/null'
	echo "$output"
	[ "$output" = started ]
	[ "$status" = 0 ]
	run script -qec "sbx run -- tty" /dev/null
	echo "$output"
	contains "$output" /dev/pts/
	[ "$status" = 0 ]
}

@test "attack_r_01: with descriptors in flight a portal that has died is started again" {
	in_flight
	sbx grant fs:read "$here" --profile bare
	wait_for 30 saw full there
	pkill -KILL -P "$!" -x sbx-portal
	sbx revoke --all
	wait_for 30 saw full ENOENT
	sbx grant fs:read "$here" --profile bare
	wait_for 30 saw full there
}
