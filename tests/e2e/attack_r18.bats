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

@test "with another runtime directory, or none, each command names the process that has the database, doctor once" {
	sbx grants
	local first
	first=$(broker_pid)
	for variable in "XDG_RUNTIME_DIR=$HOME/run/two" XDG_RUNTIME_DIR=; do
		at_once env "$variable" sbx run -- true
		echo "$output"
		[ "$status" = 125 ]
		contains "$output" "sbxd already runs, as process $first,"
		contains "$output" "/run/user/$(id -u)), or end that process (kill $first)"
		[ "$(wc -l <<<"$output")" = 1 ]
	done
	run env XDG_RUNTIME_DIR= sbx doctor
	[ "$status" = 1 ]
	[ "$(grep -c "process $first" <<<"$output")" = 1 ]
	contains "$output" "database     not known: the broker does not answer"
}

@test "without XDG_RUNTIME_DIR, as in cron, a command meets the login's broker, if its folder is the user's alone" {
	local home runtime
	home=$(getent passwd "$(id -u)" | cut -d: -f6)
	runtime=/run/user/$(id -u)
	mkdir "$HOME/account"
	cat >"$HOME/run/login" <<-'END'
		set -e
		mkdir "$HOME/project" && cd "$HOME/project"
		XDG_RUNTIME_DIR=$1 sbx grant env:read X >/dev/null
		sbx grants --json | jq -r '.[].pattern'
		[ -S "$1/sbx/broker.sock" ]
		[ ! -e "$HOME/.local/state/sbx/run/broker.sock" ]
		HOME=$HOME/another sbx grants --json
		[ -S "$HOME/another/.local/state/sbx/run/broker.sock" ]
		chmod 755 "$1"
		sbx grants 2>&1 || echo refused
	END
	# The account's home is one of this test's, as another user's session would have it.
	run env -u XDG_RUNTIME_DIR HOME="$home" bwrap --unshare-user --unshare-pid --as-pid-1 --dev-bind / / --proc /proc \
		--bind "$HOME/account" "$home" --ro-bind "$SBX_BIN" "$SBX_BIN" --ro-bind "$HOME/run/login" "$HOME/run/login" \
		--tmpfs /run --perms 0700 --dir "$runtime" bash "$HOME/run/login" "$runtime"
	echo "$output"
	[ "${lines[0]}" = X ]
	[ "${lines[1]}" = "[]" ]
	contains "${lines[2]}" "sbxd already runs"
	[ "${lines[3]}" = refused ]
}
