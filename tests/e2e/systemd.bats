#!/usr/bin/env bats
# sbxd in a service manager's hands: the units as they are installed, and real activation.

load helper

setup() {
	cd "$HOME/project" || return
	export XDG_RUNTIME_DIR=$HOME/run
	chmod 700 "$HOME/run"
	mkdir -p "$HOME/run/sbx"
	chmod 700 "$HOME/run/sbx"
}

teardown() {
	[[ ! -e $HOME/run/activator.pid ]] || kill "$(<"$HOME/run/activator.pid")" 2>/dev/null || true
	rm -f "$HOME/run/activator.pid"
	broker_stop
	rm -f "$HOME/run/sbx/broker.sock"
}

# activator ARG…: systemd's own activation, as sbxd.socket asks for it. It starts sbxd at the first connection.
activator() {
	command -v systemd-socket-activate >/dev/null || skip "SKIPPED LOUDLY: no systemd-socket-activate on this machine"
	systemd-socket-activate --seqpacket --listen "$HOME/run/sbx/broker.sock" --setenv HOME --setenv XDG_RUNTIME_DIR "$@" \
		>"$HOME/run/activator.log" 2>&1 3>&- &
	echo $! >"$HOME/run/activator.pid"
	wait_for 30 listens "$HOME/run/sbx/broker.sock"
}

@test "the units are what systemd understands" {
	command -v systemd-analyze >/dev/null || skip "SKIPPED LOUDLY: no systemd-analyze on this machine"
	mkdir -p "$HOME/units"
	cp "$SBX_UNITS/sbxd.socket" "$HOME/units"
	sed "s|^ExecStart=[^ ]*|ExecStart=$SBX_BIN/sbxd|" "$SBX_UNITS/sbxd.service" >"$HOME/units/sbxd.service"
	sed "s|^ExecStart=[^ ]*|ExecStart=$SBX_BIN/sbx-notify|" "$SBX_UNITS/sbx-notify.service" >"$HOME/units/sbx-notify.service"
	SYSTEMD_UNIT_PATH="$HOME/units:/usr/lib/systemd/user" run systemd-analyze verify --user --man=no "$HOME"/units/sbx*
	echo "$output"
	[ "$status" = 0 ]
	lacks "$output" "sbxd."
	lacks "$output" "sbx-notify."
}

@test "nothing in the unit makes a user namespace, in which every client would be refused" {
	run grep -E '^(Private|Protect|ReadOnly|ReadWrite|Inaccessible|Bind|Root|Temporary|RestrictNamespaces|DynamicUser|User=)' "$SBX_UNITS/sbxd.service"
	[ "$status" = 1 ]
}

@test "the first command starts sbxd through systemd's socket, and the name stays when it leaves" {
	activator "$SBX_BIN/sbxd" --foreground --idle 300ms
	sbx grant net:access activated.test:443 --always
	run sbx grants
	contains "$output" activated.test
	run cat "$HOME/run/activator.log"
	contains "$output" "Execing"
	wait_for 30 gone "$(<"$HOME/run/activator.pid")" # it became sbxd, which left
	[ -S "$HOME/run/sbx/broker.sock" ]
	# And again, as systemd listens on and on.
	rm "$HOME/run/sbx/broker.sock"
	activator "$SBX_BIN/sbxd" --foreground --idle 300ms
	run sbx grants
	contains "$output" activated.test
}

@test "a stream where the broker's socket should be is refused with a sentence" {
	command -v systemd-socket-activate >/dev/null || skip "SKIPPED LOUDLY: no systemd-socket-activate on this machine"
	systemd-socket-activate --listen "$HOME/run/sbx/stream.sock" --setenv HOME --setenv XDG_RUNTIME_DIR "$SBX_BIN/sbxd" --foreground \
		>"$HOME/run/activator.log" 2>&1 3>&- &
	echo $! >"$HOME/run/activator.pid"
	wait_for 30 listens "$HOME/run/sbx/stream.sock"
	socat -u /dev/null "UNIX-CONNECT:$HOME/run/sbx/stream.sock"
	wait_for 30 gone "$(<"$HOME/run/activator.pid")"
	run cat "$HOME/run/activator.log"
	contains "$output" "ListenSequentialPacket"
}
