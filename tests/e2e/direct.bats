#!/usr/bin/env bats
# `direct: true`: a tool may get the host's own socket, and what it can't do with it (attack N15).
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$BATS_TEST_DIRNAME/direct.py" "$HOME/project/"
	port=$(server echo echo.py)
	web=$(server web server.py --log "$HOME/run/requests")
	export port web
	usual_policy
}

usual_policy() {
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    network: native
    allow:
      net:access:
        - {target: "fast.test:$port", direct: true}
        - {target: "fast.test:$web", direct: true}
        - "slow.test:$port"
    hosts: {fast.test: 127.0.0.1, slow.test: 127.0.0.1}
  relayed:
    extends: [base]
    network: native
    allow:
      fs:write: ["\${project}"]
      net:access: ["fast.test:$port"]
    hosts: {fast.test: 127.0.0.1}
END
}

setup() {
	cd "$HOME/project" || return
	# after a test that changed it and did not come to its end
	[[ $(grep -c 'direct: true' "$HOME/.config/sbx/policy.yaml") == 2 ]] || usual_policy
}

direct() { # direct CASE…: in the sandbox, with the server that may be had direct
	run sbx run -- python3 direct.py fast.test "$port" "$@"
	echo "$output"
}

# Connections to a port of the host that are established, at the client's end.
established() {
	awk -v "port=$(printf ':%04X' "$1")" '$4 == "01" && substr($3, 9) == port' /proc/net/tcp | wc -l
}

none_is_established() {
	[[ $(established "$1") == 0 ]]
}

connections() { # rows of the history about connections, the newest last
	sbx history --json | jq -c 'select(.kind == "connection")'
}

@test "a rule that says direct gives the tool the host's own socket, whatever its mode" {
	direct blocking unblocking cookies
	[ "$status" = 0 ]
	[ "$output" = $'blocking: host\nunblocking: host\ncookies: other' ]
}

@test "the same host by a rule that doesn't say so is relayed" {
	run sbx run -- python3 direct.py slow.test "$port" blocking unblocking cookies
	echo "$output"
	[ "$output" = $'blocking: standin\nunblocking: standin\ncookies: alike' ]
	run sbx run --profile relayed -- python3 direct.py fast.test "$port" blocking
	echo "$output"
	[ "$output" = "blocking: standin" ]
}

@test "a project's file can't say it" {
	printf 'version: 1\nprofiles:\n  default:\n    allow:\n      net:access: [{target: "slow.test:%s", direct: true}]\n' "$port" >.sbx.yaml
	run sbx policy check .sbx.yaml
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "can't be set by a project's file"
	run sbx run -- python3 direct.py slow.test "$port" blocking
	rm .sbx.yaml
	[ "$status" = 125 ]
	lacks "$output" "blocking:"
}

@test "a socket that something else refers to is relayed: an epoll instance, a duplicate, a child, an address" {
	direct registered duplicated inherited bound
	[ "$status" = 0 ]
	[ "$output" = $'registered: standin\nduplicated: standin\ninherited: standin\nbound: standin' ]
}

@test "what the tool has set on its socket holds for the host's" {
	direct options
	[ "$output" = "options: host 0 40000 0 77 1 0" ]
}

@test "attack_n_15 a socket of the host leads nowhere else: each wall tried from inside" {
	direct walls
	[ "$status" = 0 ]
	local name
	for name in connect connect6 disconnect bind listen sendto child-disconnect passed-disconnect; do
		contains "$output" "$name: EACCES"
	done
	for name in interfaces interface namespace to-device to-index source-route routing-header ulp; do
		contains "$output" "$name: EPERM"
	done
	contains "$output" "fastopen: EOPNOTSUPP"
	contains "$output" "fastopen-sendmsg: EOPNOTSUPP"
	contains "$output" "fastopen-option: ENOPROTOOPT"
	contains "$output" "walls: host" # and it still works
	direct shut_down
	[ "$output" = "shut_down: EACCES EACCES" ]
}

@test "attack_n_15 without such a rule no socket of the host is in a sandbox, and interfaces may be asked for" {
	run sbx run --profile relayed -- python3 direct.py fast.test "$port" cookies without
	echo "$output"
	contains "$output" "cookies: alike"
	contains "$output" "fastopen: EOPNOTSUPP"
	contains "$output" "fastopen-sendmsg: EOPNOTSUPP"
	contains "$output" "fastopen-option: ENOPROTOOPT"
	contains "$output" $'bind: done\nlisten: done'
	contains "$output" "interfaces: done"
	contains "$output" "without: standin"
}

@test "the server learns at once that the tool has closed; the history has the connection, without bytes" {
	local before
	before=$(connections | wc -l)
	direct closing
	[ "$output" = "closing: host" ]
	wait_for 30 none_is_established "$port"
	[ "$(connections | wc -l)" -gt "$before" ]
	connections | tail -1 | jq -e '.detail.door == "direct" and .detail.sent == null and .detail.received == null and
		.detail.duration_ms >= 0 and .target == "fast.test:'"$port"'" and .verdict == null'
	run sbx history
	echo "$output"
	lacks "$output" "18446744073709551615"
}

is_connected() {
	grep -q "$1: host" "$HOME/run/$1.out" 2>/dev/null
}

# connected CASE: in the background, until it has its connection.
connected() {
	background "$1" sbx run -- python3 direct.py fast.test "$port" "$1"
	wait_for 60 is_connected "$1"
}

# The rule goes: what rests on it is judged again.
rules_are_taken_back() {
	sed -i '/direct: true/d' "$HOME/.config/sbx/policy.yaml"
}

@test "a connection is cut when what allowed it is gone" {
	connected held
	[ "$(established "$port")" = 1 ]
	rules_are_taken_back
	finished held
	usual_policy
	echo "$output"
	contains "$output" $'held: host\nheld: cut\nsbx: the connection to '
	connections | tail -1 | jq -e '.detail.error == "what allowed it has changed" and .detail.door == "direct"'
}

@test "so it is when the rule still allows it, but doesn't say direct any more" {
	connected held
	sed -i 's/direct: true/direct: false/' "$HOME/.config/sbx/policy.yaml"
	finished held
	usual_policy
	echo "$output"
	contains "$output" $'held: host\nheld: cut\nsbx: the connection to '
}

@test "attack_n_15 a thread with descriptors of its own doesn't keep it" {
	connected apart
	rules_are_taken_back
	finished apart
	usual_policy
	echo "$output"
	contains "$output" $'apart: host\napart: cut\nsbx: the connection to '
}

@test "attack_n_15 one that is hidden in a message ends the sandbox when its time has come" {
	connected hidden
	rules_are_taken_back
	finished hidden
	usual_policy
	echo "$output"
	[ "$status" = 137 ]
	contains "$output" "hidden in a message"
	lacks "$output" "lived on"
}

@test "curl and node get their answers" {
	run sbx run -- curl -sS --max-time 20 -w ' from %{remote_ip}' "http://fast.test:$web/curl"
	echo "$output"
	contains "$output" "hello /curl"
	contains "$output" "from 127.0.0.1"
	run sbx run -- node -e 'require("net").connect('"$web"', "fast.test", function () { console.log(this.remoteAddress); this.destroy() })'
	echo "$output"
	[ "$output" = 127.0.0.1 ] # it registers its socket when it is connected
	run sbx run -- node -e 'fetch("http://fast.test:'"$web"'/node").then(r => r.text()).then(console.log)'
	echo "$output"
	contains "$output" "hello /node"
}
