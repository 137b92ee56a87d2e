#!/usr/bin/env bats
# R23: what servers ignore before a TLS hello, and what they take for a request of HTTP. R24: the machine's own addresses.
# shellcheck disable=SC2016 # expanded in the namespace, or in the sandbox
# shellcheck disable=SC2030,SC2031 # each test has variables of its own

load helper
load native

setup_file() {
	home_make
	cp "$BATS_TEST_DIRNAME/early.py" "$BATS_TEST_DIRNAME/first.py" "$HOME/project/"
}

@test "attack_r_23: what OpenSSL ignores before a hello brings no hello for another host past the name check" {
	certificate good.test bad.test
	port=$(on_free_port tls 'openssl s_client -connect 127.0.0.1:PORT </dev/null' \
		openssl s_server -www -accept 127.0.0.1:PORT -cert "$HOME/project/cert.pem" -key "$HOME/run/key.pem")
	refusing_policy "    allow: {net:access: [\"good.test:$port\"]}
    hosts: {good.test: 127.0.0.1, bad.test: 127.0.0.1}"
	run sbx run -- python3 early.py good.test "$port" good.test ''
	contains "$output" '- 22'
	run sbx run -- python3 early.py good.test "$port" bad.test '' 1603010000 16037f0000 15030100020100 150301000201005a 14030300010100
	echo "$output"
	[ "$(grep -c nothing <<<"$output")" = 6 ]
	# nor for the host itself: nobody sends that
	run sbx run -- python3 early.py good.test "$port" good.test 1603010000 1503010002015a 140303000101 1703030001ff
	echo "$output"
	[ "$(grep -c nothing <<<"$output")" = 4 ]
}

# Each of TEXT…, with good.test for HOST, is served by the server at $port without sbx; with bad.test none is by way of good.test.
only_for_good() {
	run python3 first.py 127.0.0.1 "$port" "${@//HOST/good.test}"
	echo "$output"
	[ "$(grep -c ': served .*good\.test' <<<"$output")" = $# ]
	refusing_policy "    allow: {net:access: [\"good.test:$port\"]}
    hosts: {good.test: 127.0.0.1, bad.test: 127.0.0.1}"
	run sbx run -- python3 first.py good.test "$port" 'GET / HTTP/1.1\r\nHost: good.test\r\n\r\n' "${@//HOST/bad.test}"
	echo "$output"
	contains "$output" ': served good.test'
	[ "$(grep -c ': cut' <<<"$output")" = $# ]
	lacks "$output" 'served bad'
	contains "$output" 'it is not certain which host the first bytes ask for'
}

@test "attack_r_23: what Python's wsgiref takes for a request brings none for another host past the name check" {
	port=$(server wsgi lenient.py)
	only_for_good 'GET /\r\nHost: HOST\r\n\r\n' 'GET / \nHost: HOST\n\n' '\x0bGET\x1cx\r\nA: b\rHost: HOST\r\n\r\n' \
		'GET /\x00\xff\r\n A b\r\n:c\r\nFrom d\r\nHost: HOST\r\n\r\n' 'GET http://HOST/\r\n\r\n' \
		'\xffGET / HTTP/1.1\r\nHost: HOST\r\n\r\n' '\x00 / HTTP/1.1\r\nHost: HOST\r\n\r\n' \
		'\x16\x03GET / HTTP/1.1\r\nHost: HOST\r\n\r\n' 'GET http://HOST/$' 'GET / HTTP/1.1\r\nHost: HOST$' \
		'\x16\x03\x01\x01\x08\x01\x00\x01\x04\x03\x03 / HTTP/1.1\r\nHost: HOST\r\n\r\n' '0032git-x /\x00 HTTP/1.1\r\nHost: HOST\r\n\r\n'
}

@test "attack_r_23: what node takes for a request brings none for another host past the name check" {
	port=$(server node lenient.js)
	only_for_good 'GET /\r\nHost: HOST\r\n\r\n' 'POST /\r\nA: b\r\nhost: HOST\r\n\r\n' 'GET http://HOST/\r\n\r\n' \
		'GET other://HOST/\r\n\r\n' 'GET http://HOST/ RTSP/1.0\r\n\r\n' 'CONNECT HOST:443\r\n\r\n' 'CONNECT /\r\nHost: HOST\r\n\r\n'
}

# own_addresses RULE: what curl gets of a server on all addresses of a host that has global ones, by them.
own_addresses() {
	refusing_policy "    allow: {net:access: [$1]}"
	rm -f "$HOME/run/there"
	in_own_network '
		PATH=$PATH:/usr/sbin:/sbin
		{ ip link set lo up && ip addr add 11.22.33.44/24 dev lo && ip -6 addr add 2a00:1234::1/64 dev lo nodad; } || exit 9
		python3 -c "
import http.server, socket
class Server(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
server = Server((\"::\", 0), http.server.SimpleHTTPRequestHandler)
open(\"$HOME/run/there\", \"w\").write(str(server.server_port))
server.serve_forever()" >"$HOME/run/there.log" 2>&1 3>&- &
		there=$!
		until [ -s "$HOME/run/there" ]; do kill -0 "$there" || exit 9; sleep 0.05; done
		for host in 11.22.33.44 "[2a00:1234::1]"; do
			plain sbx run -- curl -sS --noproxy "*" -o /dev/null -w "%{http_code}\n" --max-time 10 "http://$host:$(cat "$HOME/run/there")/"
		done >"$HOME/run/said" 2>&1
		kill "$there"' || skip "no such network can be made here"
	cat "$HOME/run/said"
}

@test "attack_r_24: a wide rule doesn't lead to the machine's own global addresses, unless it says private: true" {
	run own_addresses '"*"'
	echo "$output"
	lacks "$output" 200
	contains "$output" 'one of this machine'
	run own_addresses '{target: "*", private: true}'
	echo "$output"
	[ "$(grep -c '^200' <<<"$output")" = 2 ]
}
