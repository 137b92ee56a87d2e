#!/usr/bin/env bats
# A home or a runtime directory that is shared with another user or PID namespace, as toolbox and distrobox do: who comes second is
# told at once who was first, and nobody is served by the other's broker.
# shellcheck disable=SC2016 # expanded in there

load helper

setup() {
	cd "$HOME/project" || return
	export XDG_RUNTIME_DIR=$HOME/run/one
	mkdir -p "$HOME/run/one" "$HOME/run/two" && chmod 700 "$HOME/run/one" "$HOME/run/two"
	unset elsewhere
	# A user namespace of its own, with the same user, home and runtime directory.
	contained=(unshare --user --map-user="$(id -u)" --map-group="$(id -g)")
}

teardown() {
	broker_stop
	[[ ! ${elsewhere:-} ]] || kill "$elsewhere" 2>/dev/null || true
}

# at_once COMMAND…: it fails within a second of its own time, which a busy machine may stretch.
at_once() {
	run timeout 8 "$@"
	[[ $status != 0 && $status != 124 ]] || {
		printf 'status %s: %s\n' "$status" "$output"
		return 1
	}
}

# names PID: the output says who was first, and what to do. One line.
names() {
	contains "$output" "process $1 of user:["
	contains "$output" "on $(uname -n)"
	contains "$output" 'shares your home or runtime directory'
	contains "$output" 'end that process there, or set HOME and XDG_RUNTIME_DIR'
	[ "$(wc -l <<<"$output")" = 1 ]
}

# The broker that was started in there is a child of nobody's: found by its lock.
owner_of() { # owner_of LOCK
	cut -d' ' -f1 "$1"
}

@test "attack_r_18: the host was first: the container's sbx says so at once, each command of it" {
	sbx grants
	local first
	first=$(broker_pid)
	at_once "${contained[@]}" sbx grants
	names "$first"
	at_once "${contained[@]}" sbx run -- true
	names "$first"
	[ "$status" = 125 ]
	at_once bwrap --unshare-user --bind / / --dev-bind /dev /dev sbx sessions
	names "$first"
	at_once "${contained[@]}" --pid --fork --mount --mount-proc sbx grants
	names "$first"
	sbx grants
	[ "$(broker_pid)" = "$first" ]
}

@test "attack_r_18: the container was first: the host's sbx says so at once, and works when that has ended" {
	"${contained[@]}" bash -c "sbx grants && sbx sessions" # it serves there
	elsewhere=$(owner_of "$XDG_RUNTIME_DIR/sbx/broker.lock")
	at_once sbx grants
	names "$elsewhere"
	at_once sbx run -- true
	names "$elsewhere"
	kill "$elsewhere"
	wait_for 30 gone "$elsewhere"
	sbx grants
}

@test "attack_r_18: with runtime directories of their own and the same home, either way" {
	sbx grants
	local first
	first=$(broker_pid)
	at_once env XDG_RUNTIME_DIR="$HOME/run/two" "${contained[@]}" sbx grants
	names "$first"
	broker_stop
	XDG_RUNTIME_DIR=$HOME/run/two "${contained[@]}" sbx grants
	elsewhere=$(owner_of "$HOME/run/two/sbx/broker.lock")
	at_once sbx grants
	names "$elsewhere"
}

@test "attack_r_18: a lock that a killed broker of a container has left hinders nobody" {
	"${contained[@]}" sbx grants
	elsewhere=$(owner_of "$XDG_RUNTIME_DIR/sbx/broker.lock")
	kill -9 "$elsewhere"
	wait_for 30 gone "$elsewhere"
	[ -e "$XDG_RUNTIME_DIR/sbx/broker.lock" ]
	sbx grants
}
