#!/usr/bin/env bats
# R15: what the sandbox's /proc tells of the host's kernel and other users; programs of the host that a crash starts.
# shellcheck disable=SC2016 # expanded in the sandbox

load helper

@test "attack_r_15: what /proc tells of the host's kernel, keys and users is closed; what programs look at stays" {
	run sbx run -- bash -c 'for file in keys key-users kallsyms config.gz kcore kmsg timer_list sched_debug interrupts; do
			[ ! -e "/proc/$file" ] || ! head -c 1 "/proc/$file" 2>/dev/null || echo "open: $file"
		done
		ls /proc/acpi /proc/asound /proc/scsi 2>/dev/null
		umount /proc/keys 2>/dev/null; head -c 1 /proc/keys 2>/dev/null
		for file in cpuinfo meminfo stat loadavg uptime version filesystems self/status self/maps sys/kernel/osrelease sys/vm/overcommit_memory net/dev mounts; do
			head -c 1 "/proc/$file" >/dev/null || echo "closed: $file"
		done
		nproc >/dev/null && ps >/dev/null && echo done'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = "done" ]
}

@test "attack_r_15: a crash in the sandbox leaves no core file and starts nothing on the host" {
	run sbx run -- bash -c 'ulimit -Hc; ulimit -c unlimited 2>/dev/null; grep core /proc/self/limits'
	echo "$output"
	[[ "$output" =~ Max\ core\ file\ size\ +1\ +1\  ]]
}
