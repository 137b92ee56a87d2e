#!/usr/bin/env bats
# W3: a denial of an address, and a name that leads there. Promise 9: an address names itself alone, in either family.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$BATS_TEST_DIRNAME/udp.py" "$BATS_TEST_DIRNAME/raw.py" "$HOME/project/"
	cat >"$HOME/project/reach.py" <<-'END'
		import socket, sys
		for host in sys.argv[2:]:
		    try:
		        with socket.create_connection((host, int(sys.argv[1])), timeout=10) as fd:
		            fd.sendall(b"GET /x HTTP/1.0\r\n\r\n")
		            print(host, "reached" if b"hello" in fd.makefile("rb").read() else "no answer")
		    except OSError:
		        print(host, "no answer")
	END
	port=$(server web server.py --log "$HOME/run/requests")
	datagrams=$(server udp udp.py "$HOME/run/heard")
	six=$(! has_ipv6 || server six server.py --address ::1 --port "$port" --log "$HOME/run/requests6")
	export port datagrams six
	sbx grants >/dev/null
}

setup() {
	cd "$HOME/project" || return
	: >"$HOME/run/requests"
	: >"$HOME/run/heard"
	for id in $(sbx grants --json | jq .[].id); do sbx revoke "$id" >/dev/null; done
}

# net RULES: allow and deny of net:access, as the user's profile.
net() {
	refusing_policy "    hosts: {db.test: 127.0.0.1, nat.test: \"64:ff9b::7f00:1\"}
    $1"
}

# get HOST: the first line that a server there says, or curl's error.
get() {
	run sbx run -- curl -gsS --noproxy '*' --max-time 10 "http://$1:${2:-$port}/x"
	echo "$1: $output ($status)"
}

reached() {
	contains "$output" "hello /x"
}

nothing_arrived() {
	[[ ! -s $HOME/run/requests && ! -s $HOME/run/heard ]]
}

@test "attack_w_03: a denial of an address holds for a name that leads there, which the history and the user are told" {
	net "allow: {net:access: [\"db.test:$port\", \"db.test:$datagrams\"]}"
	get db.test
	reached
	run sbx run -- python3 udp.py db.test "$datagrams" echo
	contains "$output" "echo: True"
	for denied in "127.0.0.1:$port" localhost 127.0.0.0/8 "[::1]"; do
		: >"$HOME/run/requests"
		: >"$HOME/run/heard"
		net "allow: {net:access: [\"db.test:$port\"]}
    deny: {net:access: [\"$denied\"]}"
		get db.test
		nothing_arrived
		contains "$output" "db.test leads to 127.0.0.1:$port: the profile default denies net:access"
		sbx history --session "$(sbx sessions --all --json | jq 'map(.id) | max')" --verdict deny --json |
			jq -se "any(.[]; .target == \"db.test:$port\" and .by == \"rules\")" >/dev/null
	done
}

@test "attack_w_03: check and why say so of a name that hosts: leads there, and so does the one that asks" {
	net "allow: {net:access: [\"db.test:$port\"]}
    ask: {net:access: [nat.test]}"
	run -0 sbx check net:access "db.test:$port"
	sbx grant --deny net:access "127.0.0.1:$port"
	run -1 sbx check net:access "db.test:$port"
	contains "$output" "deny: db.test leads to 127.0.0.1:$port: "
	run sbx why net:access "db.test:$port"
	echo "$output"
	contains "$output" "So: deny"
	contains "$output" "sbx revoke $(sbx grants --json | jq .[0].id)"
	run -1 sbx check net:access "nat.test:$port"
	contains "$output" "nat.test leads to [64:ff9b::7f00:1]:$port"
	get db.test
	nothing_arrived
	# The denial is still there, and ends by its own name alone.
	run sbx revoke --match net:access "db.test:$port"
	[ "$(sbx grants --json | jq length)" = 1 ]
	run sbx revoke --match net:access "127.0.0.1:$port"
	contains "$output" "Lifted the denial"
	run -0 sbx check net:access "db.test:$port"
}

@test "attack_w_03: the same by datagrams, CONNECT and SOCKS" {
	net "allow: {net:access: [db.test]}
    deny: {net:access: [127.0.0.1]}"
	run sbx run -- python3 udp.py db.test "$datagrams" refused
	contains "$output" "refused: ECONNREFUSED"
	run sbx run -- python3 raw.py "CONNECT db.test:$port HTTP/1.1\r\nHost: db.test:$port\r\n\r\n" "GET /x HTTP/1.0\r\n\r\n"
	contains "$output" "HTTP/1.1 403"
	run sbx run -- curl -sS --max-time 10 --proxy "http://127.0.0.1:61080" "http://db.test:$port/x"
	lacks "$output" "hello"
	run sbx run -- curl -sS --max-time 10 --proxy "socks5h://127.0.0.1:61080" "http://db.test:$port/x"
	lacks "$output" "hello"
	nothing_arrived
}

@test "attack_w_03: an IPv4 address that an IPv6 one carries is denied with it" {
	net "allow: {net:access: [nat.test]}
    deny: {net:access: [localhost]}"
	get nat.test
	contains "$output" "nat.test leads to [64:ff9b::7f00:1]:$port: the profile default denies net:access localhost"
}

@test "attack_w_03: a denial that is made later cuts what a name led to, and ends with its revocation" {
	net "allow: {net:access: [\"db.test:$port\"]}"
	background live sbx run -- bash -c 'exec 3<>/dev/tcp/db.test/$0 && echo open && read -r _ <&3; echo cut' "$port"
	wait_for 30 grep -q open "$HOME/run/live.out"
	run sbx grant --deny --any-profile --anywhere net:access "127.0.0.1:$port"
	wait_for 60 grep -q cut "$HOME/run/live.out"
	finished live 30
	get db.test
	nothing_arrived
	contains "$output" "denies net:access"
	sbx revoke "$(sbx grants --json | jq .[0].id)"
	get db.test
	reached
}

@test "attack_w_03: a denial of localhost means the loopback as a whole" {
	for denied in localhost 127.0.0.1 "[::1]"; do
		net "allow: {net:access: [127.0.0.0/8, \"::1\", 0.0.0.0/8, \"::\"]}
    deny: {net:access: [\"$denied\"]}"
		run sbx run --profile default -- python3 reach.py "$port" 127.0.0.1 127.0.0.2 ::1 ::ffff:127.0.0.1 0.0.0.0 :: localhost
		echo "$output"
		lacks "$output" reached
		[ "$(grep -c 'no answer' <<<"$output")" = 7 ]
	done
	run sbx why net:access "127.0.0.9:$port"
	contains "$output" "So: deny"
	nothing_arrived
}

# reached_by PORT HOST…: by which of them a connect of the default profile reaches the server at that port.
reached_by() {
	sbx run --profile default -- python3 reach.py "$@" | sed -n 's/ reached//p' | paste -sd ,
}

@test "attack_w_03: a denial of an unspecified address means the loopback, which a connect to it reaches, until it is revoked" {
	net "allow: {net:access: [0.0.0.0/0]}"
	[ "$(reached_by "$port" 0.0.0.0 127.0.0.1 ::ffff:0.0.0.0)" = 0.0.0.0,127.0.0.1,::ffff:0.0.0.0 ]
	for denied in 0.0.0.0 "0.0.0.0:$port" 0.0.0.0/8 "[::]" "[::ffff:0.0.0.0]"; do
		: >"$HOME/run/requests"
		sbx grant --deny --any-profile --anywhere net:access "$denied"
		[ "$(reached_by "$port" 0.0.0.0 127.0.0.1 localhost ::ffff:0.0.0.0)" = "" ]
		nothing_arrived
		run sbx why net:access "0.0.0.0:$port"
		contains "$output" "So: deny"
		run -1 sbx check --no-ask net:access "0.0.0.0:$port"
		run sbx revoke --match net:access "0.0.0.0"
		# one port is a part of what is meant
		[[ $denied != 0.0.0.0:* ]] || run sbx revoke --match net:access "$denied"
		none grants
		[ "$(reached_by "$port" 0.0.0.0)" = 0.0.0.0 ]
	done
	net "allow: {net:access: [0.0.0.0/0]}
    deny: {net:access: [\"0.0.0.0:$port\"]}"
	[ "$(reached_by "$port" 0.0.0.0 127.0.0.1)" = "" ]
}

@test "attack_w_03: an unspecified address that is allowed is the loopback of its family" {
	while read -r allowed reached; do
		net "allow: {net:access: [\"$allowed\"]}"
		[ "$(reached_by "$port" 0.0.0.0 127.0.0.1 127.0.0.2)" = "$reached" ]
		run sbx check --no-ask net:access "0.0.0.0:$port"
		[ "$status" = "${reached:+0}" ] || [[ ! $reached && $status = 1 ]]
	done <<-'END'
		0.0.0.0 0.0.0.0,127.0.0.1
		0.0.0.0/8 0.0.0.0,127.0.0.1
		0.1.0.0/16
		::
	END
	! has_ipv6 || {
		net 'allow: {net:access: ["::"]}'
		[ "$(reached_by "$port" :: ::1 127.0.0.1)" = ::,::1 ]
	}
}

@test "attack_w_5: revoke --match of localhost ends what a network lets through to it, and names the rules that do" {
	own=$(server four server.py)
	net "allow: {}"
	while read -r allowed target; do
		sbx grant --any-profile --anywhere net:access "$allowed"
		[ "$(reached_by "$own" localhost)" = localhost ]
		run -0 sbx revoke --match net:access "$target"
		contains "$output" "Revoked grant "
		[ "$(reached_by "$own" localhost)" = "" ]
	done <<-END
		127.0.0.0/8 localhost
		127.0.0.0/8 localhost:$own
		127.0.0.0/8:$own localhost
		0.0.0.0/0 localhost:$own
		0.0.0.0/8 localhost
	END
	sbx grant --any-profile --anywhere net:access ::1/128
	run -0 sbx revoke --match net:access localhost
	sbx grant --any-profile --anywhere net:access localhost
	run -0 sbx revoke --match net:access 127.0.0.0/8
	sbx grant --any-profile --anywhere net:access 10.0.0.0/8
	run -1 sbx revoke --match net:access localhost
	contains "$output" "Nothing was revoked"
	net "allow: {net:access: [127.0.0.0/8]}"
	run -1 sbx revoke --match net:access "localhost:$own"
	contains "$output" "Still allowed by $HOME/.config/sbx/policy.yaml:" "net:access 127.0.0.0/8"
	[ "$(reached_by "$own" localhost)" = localhost ]
	for denied in 127.0.0.0/8 ::1/128; do
		sbx grant --deny --any-profile --anywhere net:access "$denied"
		[ "$(reached_by "$own" localhost)" = "" ]
		run sbx revoke --match net:access localhost
		contains "$output" "Lifted the denial"
		[ "$(reached_by "$own" localhost)" = localhost ]
	done
}

@test "promise_09: an address names itself alone, in either family; localhost names both" {
	needs_ipv6
	while read -r allowed reached; do
		net "allow: {net:access: [\"$allowed\"]}"
		run sbx run --profile default -- python3 reach.py "$port" 127.0.0.1 ::1 127.0.0.2
		echo "$allowed: $output"
		[ "$(sed -n 's/ reached//p' <<<"$output" | paste -sd ,)" = "$reached" ]
	done <<-'END'
		127.0.0.1 127.0.0.1
		[::1] ::1
		::/0 ::1
		127.0.0.1/32 127.0.0.1
		localhost 127.0.0.1,::1
	END
}

@test "promise_09: a grant for 127.0.0.1 leads to no server that is on ::1 alone, by whatever name; one for localhost does" {
	needs_ipv6
	other=$(server other server.py --address ::1)
	net "allow: {}"
	sbx grant --any-profile net:access "127.0.0.1:$other"
	run sbx run -- python3 raw.py "CONNECT localhost:$other HTTP/1.1\r\nHost: localhost:$other\r\n\r\n" "GET /x HTTP/1.0\r\n\r\n"
	lacks "$output" "hello"
	get localhost "$other"
	lacks "$output" "hello"
	sbx grant --any-profile net:access "localhost:$other"
	run sbx run -- python3 raw.py "CONNECT localhost:$other HTTP/1.1\r\nHost: localhost:$other\r\n\r\n" "GET /x HTTP/1.0\r\n\r\n"
	contains "$output" "hello"
	get localhost "$other"
	reached
}

@test "who connects to localhost is asked once, about localhost" {
	asking_policy 60s "    ask: {net:access: [\"*\"]}"
	background held sbx run -- curl -sS --noproxy '*' --max-time 30 "http://localhost:$port/x"
	id=$(prompt_id)
	sbx prompts --json | jq -e ".[0].target == \"localhost:$port\""
	sbx allow "$id"
	finished held 30
	echo "$output"
	reached
	[ "$(sbx history --json | jq -s '[.[] | select(.kind == "prompt" and .detail.state == "shown")] | length')" = 1 ]
}
