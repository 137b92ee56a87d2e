#!/usr/bin/env bats
# Attack R12: a file of the project with the set-user-ID bit is a program that another user of the machine runs as this one.

load helper

@test "attack_r_12: no file gets a set-user-ID or set-group-ID bit, however it is asked for; a folder does" {
	run sbx run -- python3 - "$(times 5000 200000)" <"$TESTS/set_id.py"
	echo "$output"
	[ "$status" = 0 ]
	local way mode
	for mode in 4755 2755 6755; do
		for way in chmod fchmod fchmodat fchmodat2 open mknod; do
			grep -qx "$way $mode EPERM" <<<"$output"
		done
		grep -qxE "creat $mode (EPERM|ENOSYS)" <<<"$output"
	done
	grep -qx 'O_TMPFILE EPERM' <<<"$output"
	grep -qx 'openat2 ENOSYS' <<<"$output"
	grep -qx 'open of what is there worked' <<<"$output"
	grep -qx 'chmod of a folder worked' <<<"$output"
	grep -qx 'fchmod of a folder worked' <<<"$output"
	grep -qx 'chmod of no bit worked' <<<"$output"
	# what the kernel refuses is refused
	for way in "fchmod of no descriptor EBADF" "fchmod of a name EBADF" "fchmodat of nowhere EFAULT" "fchmodat of an empty path ENOENT" \
		"fchmodat2 of an empty path ENOENT" "fchmodat2 with other flags EINVAL" "fchmodat2 of a descriptor worked"; do
		grep -qx "$way" <<<"$output"
	done
	grep -qx 'chmod of nothing ENOENT' <<<"$output"
	grep -qx 'folder 0o2775' <<<"$output"
	grep -qx 'shared 0o2000' <<<"$output"
	grep -qx 'race \[\]' <<<"$output"
	[ -z "$(find . -type f -perm /6000)" ]
	[ "$(stat -c %a file)" = 1755 ]
}

@test "attack_r_12: nor does one that a program copies or installs, and what it says is true" {
	printf '#!/bin/sh\nid -un\n' >tool
	chmod 755 tool
	run sbx run -- install -m 4755 tool installed
	[ "$status" != 0 ]
	contains "$output" "Operation not permitted"
	run sbx run -- sh -c 'cp tool copied && chmod u+s copied'
	[ "$status" != 0 ]
	contains "$output" "Operation not permitted"
	[ -z "$(find . -type f -perm /6000)" ]
}

@test "attack_r_12: a folder that is only asked about gets the bit when it is allowed, not before" {
	mkdir -p "$HOME/shared/deep"
	asking_policy 60s "    allow: {fs:read: [~/shared]}
    ask: {fs:write: [~/shared]}"
	background bit sbx run -- chmod 2775 "$HOME/shared/deep"
	wait_for 30 prompt_is_pending
	[ "$(stat -c %a "$HOME/shared/deep")" != 2775 ]
	sbx allow --once "$(prompt_id)"
	finished bit
	[ "$(stat -c %a "$HOME/shared/deep")" = 2775 ]
}
