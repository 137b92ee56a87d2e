#!/usr/bin/env bats
# Odd ways of being started: it works, or says in one sentence what is wrong, and the tool gets nothing by accident.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
END
	sbx grants
}

# started PYTHON COMMAND…: the command, after PYTHON has set the process up.
started() {
	local code=$1
	shift
	run python3 -c "import os, resource, signal, socket, sys, select
$code
os.execvp(sys.argv[1], sys.argv[1:])" "$@"
}

@test "attack_r_22: each program in each way of the table works, or says what is wrong" {
	run python3 "$TESTS/started.py" "$SBX_BIN"
	[ "$status" = 0 ] || { echo "$output" && false; }
}

@test "attack_r_22: closed standard descriptors are /dev/null for the tool, and nothing of the runner's" {
	sbx run -- sh -c 'readlink /proc/self/fd/0 >in' <&-
	[ "$(<in)" = /dev/null ]
	sbx run -- sh -c 'readlink /proc/self/fd/2 >errors' 2>&-
	[ "$(<errors)" = /dev/null ]
	sbx run -- sh -c 'for fd in 0 1 2; do readlink /proc/self/fd/$fd; done >all; echo lost' <&- >&- 2>&-
	[ "$(sort -u all | tr "\n" " ")" = "$(printf '/dev/null %s ' "$HOME/project/all")" ]
}

@test "attack_r_22: signals that were ignored or blocked are not the tool's, and how it ends is known" {
	started 'signal.signal(signal.SIGCHLD, signal.SIG_IGN); signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())' \
		sbx run -- sh -c 'grep -E "^Sig(Blk|Ign)" /proc/self/status; exit 7'
	[ "$status" = 7 ]
	[ "$(grep -c '0000000000000000$' <<<"$output")" = 2 ]
}

@test "attack_r_22: limits that are too small are named" {
	started 'resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))' sbx run -- true
	one_error 125
	contains "$output" 'the limit of open files (ulimit -n) is 64'
	started 'resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))' sbx run -- true
	one_error 125
	contains "$output" 'the limit of bytes in a file (ulimit -f) is 0'
	started 'resource.setrlimit(resource.RLIMIT_STACK, (65536, 65536))' sbx run -- true
	one_error 125
	contains "$output" '(ulimit -s)'
}

@test "attack_r_22: what the first caller's program was limited to is not sbxd's" {
	broker_stop
	started 'os.umask(0o777); resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY)); signal.signal(signal.SIGTERM, signal.SIG_IGN)' \
		sbx grants
	[ "$status" = 0 ]
	pid=$(broker_pid)
	[[ $(grep 'Max file size' "/proc/$pid/limits") =~ size\ +unlimited ]]
	[ "$(stat -c %a "$HOME/.local/state/sbx/sbx.db")" = 600 ]
	broker_stop # by SIGTERM
}

@test "attack_r_11: a datagram socket, one that listens, an epoll or a folder as a standard descriptor is refused" {
	local what
	for what in 'socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]' 'socket.socket(socket.AF_INET, socket.SOCK_DGRAM)' \
		'socket.create_server(("127.0.0.1", 0))' 'socket.socket()' 'select.epoll()'; do
		started "kept = $what; os.dup2(kept.fileno(), 0)" sbx run -- touch reached
		one_error 125
		contains "$output" 'standard descriptor 0 is a'
	done
	started "os.dup2(os.open('/', os.O_RDONLY), 1)" sbx run -- touch reached
	contains "$output" 'standard descriptor 1 is a folder'
	[ ! -e reached ]
	started 'pair = socket.socketpair(); pair[1].send(b"typed"); pair[1].shutdown(socket.SHUT_WR); os.dup2(pair[0].fileno(), 0)' \
		sbx run -- cat
	[ "$output" = typed ]
}

@test "attack_r_28: sbx doctor runs no bwrap of PATH" {
	mkdir -p bin
	printf '#!/bin/sh\ntouch %s/ran\necho bubblewrap 9.9\n' "$HOME/project" >bin/bwrap
	chmod +x bin/bwrap
	PATH=$PWD/bin:$PATH sbx doctor >doctor.out || true
	[ ! -e ran ]
	lacks "$(<doctor.out)" 'bubblewrap 9.9'
}
