#!/usr/bin/env bats
# Published ports: servers in a sandbox that the host's loopback leads to, by name or by the profile. CMakeLists.txt runs this
# file with each network.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's id is its own

load helper

# publish_policy [LINES]: more of the profile called default.
# shellcheck disable=SC2120 # the tests pass them
publish_policy() {
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    network: ${SBX_TEST_NETWORK:-native}
${1:-}
END
}

setup_file() {
	home_make
	publish_policy
	cp "$BATS_TEST_DIRNAME/serve.py" "$HOME/project/serve.py"
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	wait_for 60 nothing_runs
	rm -f "$HOME/project/.sbx.yaml" "$HOME/project/up"
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
}

nothing_runs() {
	none sessions
}

# A port of this machine that nobody has now.
free_port() {
	python3 -c 'import socket
s = socket.socket(socket.AF_INET6)
s.bind(("::", 0))
print(s.getsockname()[1])'
}

# taken NAME: a port that somebody on this machine has, at 127.0.0.1.
taken() {
	server "$1" server.py
}

runs() {
	[[ $(sbx sessions --json | jq length) == "${1:-1}" ]]
}

session_id() {
	sbx sessions --json | jq -er '.[-1].id'
}

# The host's port for a port inside, as `sbx sessions` has it.
host_port() {
	sbx sessions --json | jq -er --arg port "$1" '[.[].published[] | split(":") | select(.[0] == $port)][-1][1]'
}

published() {
	host_port "$1" >/dev/null 2>&1
}

answers_at() {
	curl -sf --noproxy '*' --max-time 20 "$1" >/dev/null
}

get() {
	curl -sS --noproxy '*' --max-time 60 "$1"
}

refused() { # refused PORT: nobody listens there, on either loopback
	local code
	for address in 127.0.0.1 '[::1]'; do
		code=0
		curl -s --noproxy '*' --max-time 20 "http://$address:$1/" >/dev/null || code=$?
		[[ $code == 7 ]] || return 1
	done
}

# serving NAME RUN-OPTION… -- SERVE-ARG…: serve.py in a sandbox that goes on; waits until the sandbox runs.
serving() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f up
	background "$name" sbx run "${options[@]}" -- python3 serve.py --up up "$@"
	wait_for 60 test -s up || { cat "$HOME/run/$name.out" && return 1; }
}

@test "python's http.server is reached on both loopbacks by its port; all of it is in the history" {
	echo 'made inside' >page
	background web sbx run --publish 3000:0 -- python3 -m http.server 3000
	wait_for 60 published 3000
	port=$(host_port 3000)
	wait_for 60 answers_at "http://127.0.0.1:$port/page"
	[ "$(get "http://127.0.0.1:$port/page")" = 'made inside' ]
	! has_ipv6 || [ "$(get "http://[::1]:$port/page")" = 'made inside' ]
	[ "$(get "http://localhost:$port/page")" = 'made inside' ]
	grep -q "port 3000 of the sandbox is at http://127.0.0.1:$port" "$HOME/run/web.out"
	id=$(session_id)
	[ "$(sbx sessions --json | jq -c '.[0].published')" = "[\"3000:$port\"]" ]
	run -0 sbx sessions
	[[ $output == *"3000:$port"* ]]
	# no other address of this machine has it
	hex=$(printf %04X "$port")
	[ "$(awk -v port=":$hex" '$4 == "0A" && $2 ~ port "$" { print $2 }' /proc/net/tcp /proc/net/tcp6 | sort)" = \
		"00000000000000000000000001000000:$hex
0100007F:$hex" ]
	sbx kill "$id"
	finished web
	wait_for 60 refused "$port"
	run -0 sbx history --session "$id" --json
	jq -se 'map(select(.kind == "connection" and .permission == "net:listen" and .target == "3000")) |
		(map(select(.detail.sent > 0 and .detail.received > 0)) | length >= 3) and
		all(.detail.door == "published" and .detail.duration_ms >= 0 and .grant > 0)' <<<"$output"
	jq -se 'map(select(.kind == "grant" and .permission == "net:listen" and .target == "3000")) | length == 1' <<<"$output"
}

@test "a node server, which listens on all addresses, and one on IPv6 alone are reached" {
	command -v node >/dev/null || skip "optional: node is not installed"
	background web sbx run --publish 3000:0 --publish 3001:0 -- sh -c '
		python3 serve.py 3001 --address ::1 --word six &
		node -e "require(\"http\").createServer((q, a) => a.end(\"by node\")).listen(3000)"'
	wait_for 60 published 3001
	wait_for 60 answers_at "http://127.0.0.1:$(host_port 3000)/"
	[ "$(get "http://127.0.0.1:$(host_port 3000)/")" = 'by node' ]
	wait_for 60 answers_at "http://127.0.0.1:$(host_port 3001)/x"
	[ "$(get "http://127.0.0.1:$(host_port 3001)/x")" = 'six /x' ]
}

@test "a port of a running session is published, listed, and revoked: what is open ends with it" {
	serving web -- 3000
	id=$(session_id)
	run -0 sbx publish "$id" 3000:0
	port=$(host_port 3000)
	[[ $output == "Port 3000 of session $id is at http://127.0.0.1:$port (grant "* ]]
	[ "$(get "http://127.0.0.1:$port/a")" = 'served /a' ]
	grant=$(sbx grants --json | jq '.[] | select(.permission == "net:listen") | .id')
	# one that is open
	background client python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
got = b""
while b"/held\n" not in got:
    got += s.recv(1000)
print(got.splitlines()[0].decode(), flush=True)
try:
    print("end", s.recv(1000))
except ConnectionResetError:
    print("reset")' "$port"
	wait_for 60 grep -q '200 OK' "$HOME/run/client.out"
	run -0 sbx revoke "$grant"
	finished client
	grep -q reset "$HOME/run/client.out"
	wait_for 60 refused "$port"
	[ "$(sbx sessions --json | jq -c '.[0].published')" = '[]' ]
	run -0 sbx history --session "$id" --json
	jq -se 'map(select(.kind == "connection" and .detail.error != null)) | length == 1' <<<"$output"
	# and again, on a port that is named
	port=$(free_port)
	run -0 sbx publish --json "$id" "3000:$port"
	jq -e --argjson port "$port" '.[0].host_port == $port and .[0].grant.lifetime == "session"' <<<"$output"
	[ "$(get "http://localhost:$port/b")" = 'served /b' ]
}

# open_at PORT: a connection through it that goes on; its end is in $HOME/run/client-PORT.out.
open_at() {
	background "client-$1" python3 -c '
import socket, sys
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.sendall(b"GET /held HTTP/1.1\r\nHost: x\r\n\r\n")
got = b""
while b"/held\n" not in got:
    got += s.recv(1000)
print("open", flush=True)
try:
    print("end", s.recv(1000))
except ConnectionResetError:
    print("reset")' "$1"
	wait_for 60 grep -qs open "$HOME/run/client-$1.out"
}

@test "each publication of one port ends with its own grant, and with no other" {
	local one two three first second
	serving web --publish 3000:0 -- 3000
	id=$(session_id)
	one=$(host_port 3000)
	first=$(sbx grants --json | jq '.[] | select(.permission == "net:listen") | .id')
	run -0 sbx publish --json "$id" 3000:0
	two=$(jq '.[0].host_port' <<<"$output")
	second=$(jq '.[0].grant.id' <<<"$output")
	open_at "$one"
	open_at "$two"
	# of another that is open: neither the port nor what came by it
	run -0 sbx revoke "$second"
	contains "$output" "ended in 1 of 1 running sandbox"
	refused "$two"
	finished "client-$two"
	contains "$output" reset
	[ "$(get "http://127.0.0.1:$one/a")" = 'served /a' ]
	is_running "client-$one"
	# its own, while another holds the same port of the sandbox
	run -0 sbx publish --json "$id" 3000:0
	three=$(jq '.[0].host_port' <<<"$output")
	run -0 sbx revoke "$first"
	contains "$output" "ended in 1 of 1 running sandbox"
	refused "$one"
	finished "client-$one"
	contains "$output" reset
	[ "$(get "http://127.0.0.1:$three/b")" = 'served /b' ]
}

@test "a publication of a run goes on with a new broker, but for one that was revoked" {
	local port grant other
	serving web --publish 3000:0 -- 3000
	port=$(host_port 3000)
	run -0 sbx publish --json "$(session_id)" 3000:0 # whose grant ends with the session that the new broker doesn't have
	other=$(jq '.[0].host_port' <<<"$output")
	kill -9 "$(broker_pid)"
	wait_for 60 published 3000
	wait_for 60 refused "$other"
	[ "$(get "http://127.0.0.1:$port/a")" = 'served /a' ]
	grant=$(sbx grants --json | jq '.[] | select(.permission == "net:listen") | .id')
	run -0 sbx revoke "$grant"
	refused "$port"
	kill -9 "$(broker_pid)"
	wait_for 60 runs
	refused "$port"
	none grants
	[ "$(sbx sessions --json | jq -c '.[0].published')" = '[]' ]
}

@test "a publication ends when its time is over" {
	serving web -- 3000
	id=$(session_id)
	run -0 sbx publish --ttl 2s "$id" 3000:0
	port=$(sed -n 's,.*http://127.0.0.1:\([0-9]*\).*,\1,p' <<<"$output")
	[[ $output == *"(for "* && $port ]]
	wait_for 60 refused "$port"
	[ "$(sbx sessions --json | jq -c '.[0].published')" = '[]' ]
	[ "$(sbx history --session "$id" --json | jq -s 'map(select(.kind == "expire" and .permission == "net:listen")) | length')" = 1 ]
}

@test "a port that is taken is said, before anything runs or is granted" {
	port=$(taken other)
	run -125 sbx run --publish "3000:$port" -- sh -c 'echo ran >ran'
	[[ $output == *"port $port of this machine is taken"* ]]
	[ ! -e ran ]
	serving web -- 3000
	id=$(session_id)
	run -1 sbx publish "$id" "3000:$port"
	[[ $output == *"port $port of this machine is taken"* ]]
	none grants
	run -2 sbx publish "$id" 3000:http
	run -2 sbx run --publish 0 -- true
	run -1 sbx publish 999999 3000
	[[ $output == *"no session 999999 is running"* ]]
	kill "$(<"$HOME/run/other.pid")"
}

@test "ports below 1024 are as the kernel says" {
	[ "$(</proc/sys/net/ipv4/ip_unprivileged_port_start)" -gt 81 ] || skip "optional: port 81 is anybody's here"
	run -125 sbx run --publish 3000:81 -- true
	[[ $output == *"port 81 of this machine is for administrators"* ]]
}

# bats test_tags=ci
@test "200 connections at once" {
	serving web --publish 3000:0 -- 3000
	port=$(host_port 3000)
	run -0 sh -c "seq 200 | xargs -P 200 -I N curl -sf --noproxy '*' --max-time 60 http://localhost:$port/N | sort | uniq | wc -l"
	[ "$output" = 200 ]
}

@test "without a server it is a reset" {
	background web sbx run --publish 3000:0 -- sleep 60
	wait_for 60 published 3000
	run get "http://127.0.0.1:$(host_port 3000)/"
	[[ $status == 56 || $status == 7 ]] # before or after curl has seen that it is connected
	published 3000
}

@test "attack_n_12 who connects and says nothing takes no more than his share" {
	serving web --publish 3000:0 --publish 3001:0 -- 3000
	port=$(host_port 3000)
	run -0 python3 - "$port" <<'END'
import socket, sys, urllib.request
url = f"http://127.0.0.1:{sys.argv[1]}/x"
idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(600)]
for connection in idle[5:]:
    connection.close()
opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
print(opener.open(url, timeout=60).read().decode())
END
	[[ $output == *"served /x"* ]]
}

@test "attack_b_11 a sandbox can't publish, neither its own nor another's port" {
	serving web -- 3000
	id=$(session_id)
	run ! sbx run --allow "fs:read=$SBX_BIN" -- "$SBX_BIN/sbx" publish "$id" 3000
	[[ $output != *"http://127.0.0.1"* ]]
	# with its runner's connection it couldn't either: unit.broker_publish
	[ "$(sbx sessions --json | jq -c 'map(.published) | add')" = '[]' ]
	# nor is sbx's own door led out by mistake
	run -1 sbx publish "$id" 61080
	[[ $output == *"sbx's own"* ]]
	run -125 sbx run --publish 61080:0 -- sh -c 'echo ran >ran'
	[[ $output == *"sbx's own"* ]]
	[ ! -e ran ]
}

@test "run --publish of a port that is denied says which rule, and nothing of other options" {
	publish_policy "    deny: {net:listen: [3000]}"
	run -125 sbx run --publish 3000:0 -- true
	contains "$output" "net:listen 3000 can't be granted: the profile default denies net:listen 3000 ($HOME/.config/sbx/policy.yaml:"
	lacks "$output" "--allow"
	publish_policy
}

@test "where the sandbox has this machine's network there is nothing to publish" {
	publish_policy
	sed -i 's/network: .*/network: host/' "$HOME/.config/sbx/policy.yaml"
	broker_stop
	run -125 sbx run --publish 3000:0 -- true
	[[ $output == *"network: host"* ]]
	background web sbx run -- sleep 60
	wait_for 60 runs
	run -1 sbx publish "$(session_id)" 3000:0
	[[ $output == *"this machine's own network"* ]]
	publish_policy
}

# What listens by itself. Only where calls about sockets are held; a server never waits for it.

# listen_policy LINES: allow, ask or deny net:listen in the profile called default.
listen_policy() {
	publish_policy "$1"
}

@test "what listens is asked about, and the server doesn't wait: it is reached from inside before an answer" {
	port=$(free_port)
	listen_policy "    ask: {net:listen: [$port]}"
	rm -f up
	background web sbx run -- sh -c "
		python3 serve.py $port &
		until curl -sf http://127.0.0.1:$port/in >up.new; do sleep 0.05; done
		mv up.new up
		wait"
	wait_for 60 test -s up
	[ "$(<up)" = 'served /in' ]
	id=$(prompt_id)
	[ "$(sbx prompts --json | jq -r '.[] | "\(.permission) \(.target)"')" = "net:listen $port" ]
	[[ $(sbx prompts --json | jq -r '.[0].process') == python3* ]]
	refused "$port"
	run -0 sbx allow "$id"
	[[ $output == *"make port $port of the sandbox reachable at http://127.0.0.1:$port"* ]]
	wait_for 60 answers_at "http://127.0.0.1:$port/"
	[ "$(get "http://localhost:$port/out")" = 'served /out' ]
	# the grant's end ends it
	sbx revoke --match net:listen "$port" >/dev/null
	wait_for 60 refused "$port"
}

@test "a denied port is not asked about again when its server starts anew; nothing is said to the tool" {
	port=$(free_port)
	listen_policy "    ask: {net:listen: [$port]}"
	background web sbx run -- sh -c "
		python3 serve.py $port &
		until [ -e denied ]; do sleep 0.05; done
		kill \$! && wait
		exec python3 serve.py $port --up up"
	sbx deny "$(prompt_id)"
	touch denied
	wait_for 60 test -s up
	none prompts
	refused "$port"
	[ "$(sbx history --json --permission net:listen | jq -s --arg port "$port" 'map(select(.kind == "prompt" and .target == $port)) | length')" = 1 ]
	sbx kill --all
	finished web
	[[ $output != *"$port"* ]]
}

@test "what a rule allows is published on the same port, and on the next free one where that is taken" {
	port=$(free_port)
	other=$(taken other)
	listen_policy "    allow: {net:listen: [$port, $other]}"
	rm -f up
	background web sbx run -- sh -c "python3 serve.py $other --word other & exec python3 serve.py $port --up up"
	wait_for 60 published "$port"
	wait_for 60 published "$other"
	[ "$(host_port "$port")" = "$port" ]
	[ "$(get "http://127.0.0.1:$port/x")" = 'served /x' ]
	next=$(host_port "$other")
	[ "$next" != "$other" ]
	[ "$(get "http://127.0.0.1:$next/x")" = 'other /x' ]
	grep -q "port $other of the sandbox is at http://127.0.0.1:$next, since that port of this machine is taken" "$HOME/run/web.out"
	kill "$(<"$HOME/run/other.pid")"
	# an edited policy ends it
	sed -i "s/    allow: .*/    deny: {net:listen: [$port]}/" "$HOME/.config/sbx/policy.yaml"
	sbx grants >/dev/null
	wait_for 60 refused "$port"
}

@test "what no rule names is not published, and its ports are nobody's business" {
	port=$(free_port)
	listen_policy "    allow: {net:listen: [1]}"
	serving web -- "$port"
	sbx publish "$(session_id)" 9:0 >/dev/null # when this is through, what listens was looked at
	refused "$port"
	[ "$(sbx sessions --json | jq -c '.[0].published | length')" = 1 ]
	none prompts
	# a grant opens it from then on
	sbx grant --profile python net:listen "$port" >/dev/null
	wait_for 60 answers_at "http://127.0.0.1:$port/"
}

@test "a repository's policy publishes nothing before it is trusted" {
	port=$(free_port)
	publish_policy
	cat >.sbx.yaml <<END
version: 1
profiles: {default: {allow: {net:listen: ["*"]}}}
END
	serving web -- "$port"
	sbx publish "$(session_id)" 9:0 >/dev/null # as above
	refused "$port"
	[ "$(sbx sessions --json | jq -c '.[0].published | length')" = 1 ]
}
