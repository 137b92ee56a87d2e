#!/usr/bin/env bats
# Attacks on the kernel's side of the sandbox, each named after its kind and number, and the filter as a whole.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$SBX_PROBE" "$HOME/project/probe"
}

# refused ERRNO… -- PROBE-ARG…: the probe inside met one of them, or was killed for trying.
refused() {
	local allowed=()
	while [[ $1 != -- ]]; do
		allowed+=("$1")
		shift
	done
	shift
	run sbx run -- ./probe "$@"
	printf '%s: %s (%s)\n' "$*" "$output" "$status"
	[[ $status == 159 || " ${allowed[*]} " == *" $output "* ]]
}

in_terminal() { # the same, with a terminal as standard input
	python3 -c 'import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)' "$@" </dev/null
}

@test "the probe itself works outside: what is refused below is refused by sbx" {
	[ "$(./probe socket 1 1 0)" = worked ]
	[ "$(./probe userns)" = worked ]
	[ "$(./probe io-uring)" = worked ] || [ "$(./probe io-uring)" = EPERM ]
	[ "$(./probe clone3-userns)" = worked ]
	[ "$(./probe open-tree)" = EPERM ]
	[ "$(./probe keyctl)" != ENOSYS ]
	run sbx run -- ./probe socket 1 1 0
	[ "$output" = worked ]
}

@test "attack_k_01 TIOCSTI and TIOCLINUX, also with high bits set" {
	for attempt in tiocsti tiocsti-high tioclinux tioclinux-high; do
		run in_terminal sbx run -- ./probe "$attempt"
		echo "$attempt: $output"
		contains "$output" EPERM
		refused EPERM -- "$attempt"
	done
}

@test "attack_k_02 i386 and x32 system calls don't get round the filter" {
	[ "$(uname -m)" = x86_64 ] || skip "optional: x86-64 only"
	refused EPERM ENOSYS -- i386-unshare
	refused EPERM ENOSYS -- x32-unshare
	refused EPERM ENOSYS -- x32-getpid
}

@test "attack_k_03 pid 1 is sbx-init, under the filter, and can't be traced or written to" {
	run sbx run -- sh -c 'cat /proc/1/comm; grep -E "^(Seccomp|NoNewPrivs|CapEff|CapBnd|CapAmb):" /proc/1/status'
	echo "$output"
	contains "$output" sbx-init
	contains "$output" $'Seccomp:\t2'
	contains "$output" $'NoNewPrivs:\t1'
	contains "$output" $'CapEff:\t0000000000000000'
	contains "$output" $'CapBnd:\t0000000000000000'
	refused EPERM EACCES -- init-memory
	refused EPERM EACCES -- ptrace-init
}

@test "every process inside is under the filter and has no capability" {
	run sbx run -- sh -c 'sleep 0.1 & for p in /proc/[0-9]*; do grep -H -E "^(Seccomp|CapEff|NoNewPrivs):" $p/status; done'
	echo "$output"
	[ "$(grep -c 'Seccomp:' <<<"$output")" -ge 3 ]
	[ "$(grep -c 'Seccomp:.2$' <<<"$output")" = "$(grep -c 'Seccomp:' <<<"$output")" ]
	[ "$(grep -c 'CapEff:.0000000000000000$' <<<"$output")" = "$(grep -c 'CapEff:' <<<"$output")" ]
}

@test "attack_k_04 no second listener, no new namespace by any call" {
	refused EPERM EBUSY ENOSYS -- userns
	refused EPERM EBUSY ENOSYS -- clone-userns
	refused ENOSYS -- clone3-userns
	run sbx run -- unshare -Ur true
	[ "$status" != 0 ]
	run sbx run -- bwrap --ro-bind / / true
	[ "$status" != 0 ]
}

@test "attack_k_08 host root is refused, with a way out; a root of a user namespace, too" {
	run unshare -r sbx run -- true
	one_error 125
	contains "$output" "--as-user"
	run unshare -r sbx run --as-user no-such-user-anywhere -- true
	one_error 125
	contains "$output" no-such-user-anywhere
	run unshare -r sbxd
	[ "$status" != 0 ]
	contains "$output" root
	run unshare -r sbx --help
	[ "$status" = 0 ]
}

@test "attack_f_09 attack_f_10 the mount calls, old and new, are refused" {
	refused EPERM ENOSYS -- mount
	refused EPERM ENOSYS -- umount "$HOME/project"
	refused EPERM ENOSYS -- umount /
	refused EPERM ENOSYS -- open-tree
	refused EPERM ENOSYS -- fsopen
	refused EPERM ENOSYS -- mount-setattr /usr
	refused EPERM ENOSYS -- chroot
}

@test "attack_k_05 a lease or a delegation on a file that the host's programs open: none is to be had" {
	echo mine >"$HOME/project/file"
	run sbx run -- python3 -c '
import fcntl, os
for command, how in ((1024, fcntl.F_WRLCK), (1024, fcntl.F_RDLCK), (1040, 0), (0x5_0000_0400, fcntl.F_WRLCK)):
    try:
        if command > 0xFFFFFFFF:
            import ctypes
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.syscall(72 if os.uname().machine == "x86_64" else 25, os.open("file", 0), ctypes.c_long(command), how) < 0:
                raise OSError(ctypes.get_errno(), "")
        else:
            fcntl.fcntl(os.open("file", os.O_RDONLY), command, how)
        print("taken", command)
    except OSError as error:
        print("refused", error.errno)'
	echo "$output"
	[ "$(grep -c "refused 22" <<<"$output")" = 4 ]
}

@test "attack_f_01 subvolumes and snapshots, which make a name past mkdir" {
	run sbx run -- python3 -c '
import fcntl, os
for number in (0x5000940e, 0x50009418, 0x50009401, 0x50009417):
    try:
        fcntl.ioctl(os.open(".", os.O_RDONLY), number, bytearray(4096))
        print("made", number)
    except OSError as error:
        print("refused", error.errno)'
	echo "$output"
	[ "$(grep -c "refused 1$" <<<"$output")" = 4 ]
}

@test "attack_n_07 no socket family but UNIX, INET, INET6 and route netlink" {
	for family in 4 5 9 10 17 29 31 38 40 44; do
		[ "$family" != 10 ] || continue
		refused EPERM EACCES EAFNOSUPPORT ESOCKTNOSUPPORT EPROTONOSUPPORT ENOSYS -- socket "$family" 2 0
	done
	refused EPERM EACCES EAFNOSUPPORT EPROTONOSUPPORT -- socket 16 3 9 # netlink audit
	refused EPERM EACCES -- socket 2 3 1 # raw ICMP
	run sbx run -- ./probe socket 16 3 0
	[ "$output" = worked ]
}

@test "attack_n_08 io_uring is not there, and neither are keyrings, bpf, userfaultfd, perf" {
	refused ENOSYS -- io-uring
	refused EPERM ENOSYS -- keyctl
	refused EPERM ENOSYS -- add-key
	refused EPERM ENOSYS -- bpf
	refused EPERM ENOSYS -- userfaultfd
	refused EPERM EACCES ENOSYS -- perf
}
