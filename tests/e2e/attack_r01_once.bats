#!/usr/bin/env bats
# What was connected by a grant for one use, or by what the first bytes ask for, ends when the grant is revoked.
# shellcheck disable=SC2030,SC2031 # a test's variables are its own

load helper

setup_file() {
	home_make
	port=$(server web server.py)
	export port
	cp "$TESTS/lasting.py" "$TESTS/ipc.py" "$HOME/project/"
	native_policy "    hosts: {first.test: 127.0.0.1, other.test: 127.0.0.1, third.test: 127.0.0.1}
    allow: {net:access: [\"first.test:$port\"]}"
	sbx grants >/dev/null # starts the broker
}

setup() {
	cd "$HOME/project" || return
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	[[ ! -e $HOME/run/unix.pid ]] || { kill "$(<"$HOME/run/unix.pid")" && rm "$HOME/run/unix.pid"; }
	sbx revoke --all >/dev/null 2>&1 || true
}

says() { # says WORD: in a line of the tool's output so far
	grep -q "$1" "$HOME/run/tool.out"
}

granted() { # granted WORD…: the number of a grant that is made so
	sbx grant --profile default "$@" >&2
	sbx grants --json | jq 'map(.id) | max'
}

lasts() { # lasts HOST SAYS: a tool that keeps such a connection
	background tool sbx run --profile default -- python3 lasting.py "$1" "$port" "$2"
	wait_for 60 says "host="
}

is_cut() {
	finished tool
	contains "$output" ended
	lacks "$output" "still there"
}

serve_unix() {
	: >"$HOME/run/unix.log"
	python3 "$TESTS/ipc.py" serve "$HOME/run/live.sock" >"$HOME/run/unix.log" 2>&1 3>&- &
	echo $! >"$HOME/run/unix.pid"
	wait_for 60 grep -q ready "$HOME/run/unix.log"
}

@test "attack_r_01: a connection that was allowed once ends when that is revoked, by its number" {
	background tool sbx run --profile default -- python3 lasting.py other.test "$port" other.test
	id=$(prompt_id)
	sbx allow "$id" --once
	wait_for 60 says "host="
	grant=$(sbx grants --all --json | jq 'map(.id) | max')
	run sbx revoke "$grant"
	echo "$output ($status)"
	[ "$status" = 0 ]
	contains "$output" "connected by grant $grant"
	contains "$output" "in 1 of 1 running sandbox"
	is_cut
	[ "$(sbx history --json | jq -r "select(.kind == \"connection\" and .grant == $grant) | .detail.error" | tail -1)" = "the grant has ended" ]
	run sbx revoke "$grant"
	[ "$status" = 1 ]
	contains "$output" "has ended already"
}

@test "attack_r_01: a connection by a grant for one use ends with --match and --all" {
	for how in "--match net:access other.test:$port" --all; do
		grant=$(granted --once net:access "other.test:$port")
		lasts other.test other.test
		# shellcheck disable=SC2086 # words
		run sbx revoke $how
		echo "$output ($status)"
		contains "$output" "connected by grant $grant"
		contains "$output" "in 1 of 1 running sandbox"
		lacks "$output" "no grant in force"
		is_cut
	done
}

@test "attack_r_01: a connection to a socket of the host by a grant for one use ends when that is revoked" {
	serve_unix
	grant=$(granted --once ipc:connect "$HOME/run/live.sock")
	background tool sbx run --profile default -- python3 ipc.py connect "$HOME/run/live.sock"
	wait_for 60 says hello
	run sbx revoke "$grant" --kill
	echo "$output ($status)"
	[ "$status" = 0 ]
	contains "$output" "connected by grant $grant"
	is_cut
}

# ends_by_revoking HOW…: sbxd is killed, and the command starts the next one, which the sandbox has not come to yet.
ends_by_revoking() {
	local pid grant
	grant=$(granted --once net:access "other.test:$port")
	lasts other.test other.test
	pid=$(broker_pid)
	kill "-$1" "$pid"
	wait_for 60 gone "$pid"
	shift
	run sbx revoke "${@/GRANT/$grant}"
	echo "$output ($status)"
	contains "$output" "connected by grant $grant"
	is_cut
}

@test "attack_r_01: a connection by a grant for one use ends when that is revoked before its sandbox has come to the next sbxd" {
	ends_by_revoking KILL GRANT
	ends_by_revoking TERM GRANT
	ends_by_revoking KILL --match net:access "other.test:$port"
	ends_by_revoking KILL --all
}

@test "attack_r_01: a connection by a grant for one use ends when that is revoked while its runner is disconnected" {
	local session runner
	grant=$(granted --once net:access "other.test:$port")
	lasts other.test other.test
	read -r session runner < <(sbx sessions --json | jq -r '.[0] | "\(.id) \(.pid)"')
	kill -STOP "$runner"
	run python3 "$TESTS/overflow.py" "$(broker_socket)" "$session"
	echo "$output ($status)"
	[ "$status" = 0 ] || kill -CONT "$runner"
	[ "$status" = 0 ]
	run sbx revoke "$grant"
	kill -CONT "$runner"
	echo "$output ($status)"
	[ "$status" = 0 ]
	contains "$output" "connected by grant $grant"
	contains "$output" "A running sandbox is not connected to sbxd now"
	is_cut
}

# used_is_cut PERMISSION TARGET COMMAND…: there is another grant for one use, and the rules are judged anew.
used_is_cut() {
	local permission=$1 target=$2 used other
	shift 2
	used=$(granted --once "$permission" "$target")
	background tool sbx run --profile default -- "$@"
	wait_for 60 says 'host=\|hello'
	other=$(granted --once "$permission" "$target")
	granted --deny net:access nowhere.test
	run sbx revoke "$used"
	echo "$output ($status)"
	[ "$status" = 0 ]
	contains "$output" "connected by grant $used"
	is_cut
	[ "$(sbx grants --json | jq "map(select(.id == $other and .uses == 0)) | length")" = 1 ]
	sbx revoke "$other"
}

@test "attack_r_01: a connection by a grant for one use ends with that, whatever else is granted for one use" {
	used_is_cut net:access "other.test:$port" python3 lasting.py other.test "$port" other.test
	serve_unix
	used_is_cut ipc:connect "$HOME/run/live.sock" python3 ipc.py connect "$HOME/run/live.sock"
}

@test "what was used up by sandboxes that have ended is not said to be revoked, nor to go on" {
	mkdir -p "$HOME/docs" "$HOME/elsewhere"
	echo kept >"$HOME/docs/one.txt"
	connected=$(granted --once net:access "other.test:$port")
	opened=$(granted --once fs:read "$HOME/docs/one.txt")
	# shellcheck disable=SC2016 # expanded inside the sandbox
	run sbx run --profile default -- sh -c 'curl -s -o /dev/null "$1" && cat "$2"' - "http://other.test:$port/" "$HOME/docs/one.txt"
	[ "$output" = kept ]
	used=$(sbx grants --all --json | jq "map(select((.id == $connected or .id == $opened) and .uses == 1)) | length")
	[ "$used" = 2 ]
	# Two that run: of the same project, and of another.
	background tool sbx run --profile default -- sh -c 'echo begun; exec sleep 60'
	background second sbx run --profile default --project "$HOME/elsewhere" -- sh -c 'echo begun; exec sleep 60'
	wait_for 60 says begun
	wait_for 60 grep -q begun "$HOME/run/second.out"
	last=$(sbx history --json | jq -s 'map(.seq) | max')
	run sbx revoke --all
	echo "$output ($status)"
	lacks "$output" "used up"
	lacks "$output" "Used up"
	run sbx revoke --match net:access "other.test:$port"
	lacks "$output" "used up"
	run sbx revoke "$opened"
	[ "$status" = 1 ]
	contains "$output" "has ended already"
	[ "$(sbx history --json | jq -s "map(select(.kind == \"revoke\" and .seq > $last)) | length")" = 0 ]
}

goes_on_after() { # goes_on_after SESSION: with the next broker, under another number
	[[ $(sbx sessions --json | jq "map(select(.id != $1)) | length") == 1 ]]
}

@test "a connection by a grant for one use is cut by its revocation, too, when another broker has come meanwhile" {
	local before pid
	grant=$(granted --once net:access "other.test:$port")
	lasts other.test other.test
	before=$(sbx sessions --json | jq '.[0].id')
	pid=$(broker_pid)
	kill -9 "$pid"
	wait_for 30 gone "$pid"
	wait_for 30 goes_on_after "$before"
	run sbx revoke "$grant"
	echo "$output ($status)"
	contains "$output" "connected by grant $grant"
	is_cut
}

@test "what a grant for one use has opened is not said to be closed" {
	mkdir -p "$HOME/docs"
	echo kept >"$HOME/docs/one.txt"
	grant=$(granted --once fs:read "$HOME/docs/one.txt")
	# shellcheck disable=SC2016 # expanded inside the sandbox
	background tool sbx run --profile default -- bash -c 'exec 5<"$1"; echo opened; read -r -t 60 _ <><(:)' - "$HOME/docs/one.txt"
	wait_for 60 says opened
	run sbx revoke "$grant" --kill
	echo "$output ($status)"
	lacks "$output" "no process holds"
	contains "$output" "may go on: \`sbx kill SESSION\`"
}

why_it_ended() { # why_it_ended: as the history has it of the last connection to first.test
	sbx history --json | jq -r "select(.kind == \"connection\" and .target == \"first.test:$port\") | .detail.error" | tail -1
}

# bats file_tags=part2

@test "attack_n_04: the end of a grant for the host that the first bytes ask for ends the connection" {
	grant=$(granted net:access "other.test:$port")
	lasts first.test other.test
	run sbx revoke "$grant"
	echo "$output ($status)"
	[ "$status" = 0 ]
	is_cut
	[ "$(why_it_ended)" = "the grant for the host that its first bytes ask for has ended" ]
	sbx history --json | jq -se "any(.[]; .kind == \"decision\" and .target == \"other.test:$port\" and .grant == $grant and .verdict == \"allow\")"
}

@test "attack_n_04: so does its expiry" {
	# On a busy machine a grant may be over before the connection is made.
	for ttl in 2s 8s 30s; do
		sbx grant --profile default --ttl "$ttl" net:access "other.test:$port"
		background tool sbx run --profile default -- python3 lasting.py first.test "$port" other.test
		finished tool
		contains "$output" ended
		[[ $output != *"host="* ]] || break
	done
	contains "$output" "host=other.test"
	[ "$(why_it_ended)" = "the grant for the host that its first bytes ask for has ended" ]
}

@test "attack_n_04: so does a denial of that host" {
	granted net:access "other.test:$port"
	lasts first.test other.test
	denial=$(granted --deny net:access "other.test:$port")
	is_cut
	[ "$(why_it_ended)" = "what allowed the host that its first bytes ask for has changed" ]
	sbx revoke "$denial"
}

@test "attack_n_04: so does the end of a rule for that host" {
	local file=$HOME/.config/sbx/policy.yaml
	cp "$file" "$HOME/run/before"
	sed -i "s/first.test:$port\"/&, \"other.test:$port\"/" "$file"
	lasts first.test other.test
	cp "$HOME/run/before" "$file"
	is_cut
	[ "$(why_it_ended)" = "what allowed the host that its first bytes ask for has changed" ]
}

@test "attack_n_04: a grant for one use lets one connection ask for its host by the first bytes" {
	grant=$(granted --once net:access "other.test:$port")
	lasts first.test other.test
	run sbx run --profile default -- python3 lasting.py first.test "$port" other.test
	echo "$output"
	lacks "$output" "host="
	contains "$output" "a connection to first.test:$port asks for it by its first bytes, and you would be asked"
	[ "$(sbx history --json | jq -s "map(select(.verdict == \"deny\" and .target == \"other.test:$port\" and .why == \"you would be asked\")) | length")" = 1 ]
	run sbx revoke "$grant"
	[ "$status" = 0 ]
	is_cut
}

@test "a connection that asks for its own host, or that of another grant, is not ended by one's end" {
	grant=$(granted net:access "other.test:$port")
	granted net:access "third.test:$port"
	background second sbx run --profile default -- python3 lasting.py first.test "$port" third.test
	lasts first.test first.test
	wait_for 60 grep -q host=third.test "$HOME/run/second.out"
	sbx revoke "$grant"
	sbx kill --all
	finished tool
	finished second
	errors=$(sbx history --json | jq -r "select(.kind == \"connection\" and .target == \"first.test:$port\") | .detail.error" | tail -2)
	lacks "$errors" "first bytes"
	lacks "$errors" "what allowed"
}
