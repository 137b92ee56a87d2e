#!/usr/bin/env bats
# Connected UDP: relayed once it is allowed, and nothing leaves before.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$BATS_TEST_DIRNAME/udp.py" "$HOME/project/"
	port=$(server udp udp.py "$HOME/run/heard")
	export port
	native_policy "    allow:
      net:access: ['good.test:$port']
    deny:
      net:access: [bad.test]
    hosts: {good.test: 127.0.0.1, bad.test: 127.0.0.1, asked.test: 127.0.0.1}"
}

setup() {
	cd "$HOME/project" || return
	: >"$HOME/run/heard"
}

udp() { # udp HOST CASE…
	local host=$1
	shift
	run sbx run -- python3 udp.py "$host" "$port" "$@"
	echo "$output"
}

@test "datagrams go both ways, whole, over IPv4 and IPv6" {
	udp good.test echo sizes peer
	[ "$status" = 0 ]
	[ "$output" = $'echo: True\nsizes: True\npeer: True' ]
}

@test "the history has it as a connection, with its bytes" {
	udp good.test echo
	sbx history --json | jq -c 'select(.kind == "connection")' | tail -1 |
		jq -e '.detail.door == "udp" and .detail.sent == 5 and .detail.received == 5 and .target == "good.test:'"$port"'"'
}

@test "looking a name up asks nothing, a datagram does; it is held and then goes through" {
	local id
	udp asked.test lookups
	[ "$output" = "lookups: done" ]
	none prompts
	background held sbx run -- python3 udp.py asked.test "$port" held
	id=$(prompt_id)
	[ ! -s "$HOME/run/heard" ]
	sbx prompts --json | jq -e ".[0].target == \"asked.test:$port\" and (.[0].process | startswith(\"python3\"))"
	sbx allow "$id" --session
	wait_for 60 grep -q "held: True" "$HOME/run/held.out"
	run sbx revoke --match net:access "asked.test:$port"
	[ "$status" = 1 ] # by another name the same server stays allowed
	contains "$output" "It has ended in 1 of 1 running sandbox"
	contains "$output" "Still allowed by $HOME/.config/sbx/policy.yaml"
	finished_answering deny held # a tool that goes on sending is asked about again
	echo "$output"
	contains "$output" "held: ECONNREFUSED"
}

@test "what is denied is refused as by a closed port, and nothing leaves" {
	run sbx run -- python3 - "$port" <<'END'
import socket, sys, errno, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("203.0.113.5", int(sys.argv[1])))
END
	echo "$output"
	[ "$status" = 0 ]
	background refused sbx run -- python3 udp.py asked.test "$port" refused
	sbx deny "$(prompt_id)"
	finished refused
	echo "$output ($status)"
	contains "$output" "refused: ECONNREFUSED"
	[ ! -s "$HOME/run/heard" ]
}

@test "sendto with an address is relayed, too; sendmsg with one isn't" {
	udp good.test sendto
	[ "$output" = "sendto: an answer" ]
	: >"$HOME/run/heard"
	udp good.test sendmsg
	lacks "$output" "an answer"
	[ ! -s "$HOME/run/heard" ]
}
