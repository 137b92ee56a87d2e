#!/usr/bin/env bats
# Protocols that know nothing of proxies, against real servers, under the native network.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load native

setup_file() {
	home_make
	certificate git.test api.test
	repository
	key=$HOME/run/key.pem cert=$HOME/project/cert.pem
	git_daemon=$(inetd git-daemon git daemon --inetd --export-all --base-path="$HOME/served")
	git_https=$(server git-https server.py --git "$HOME/served" --cert "$cert" --key "$key")
	web=$(server web server.py --cert "$cert" --key "$key")
	plain=$(server plain server.py)
	six=$(! has_ipv6 || server six server.py --address ::1)
	h2=$(server h2 http2.js "$cert" "$key")
	redis=$(redis_server)
	websocket=$(server websocket websocket.py)
	echo=$(server echo echo.py)
	export git_daemon git_https web plain six h2 redis websocket echo
	cp "$BATS_TEST_DIRNAME"/{echo,websocket}.py "$HOME/project"
	refusing_policy "    hosts: {git.test: 127.0.0.1, api.test: 127.0.0.1, kv.test: 127.0.0.1, six.test: '::1'}
    allow:
      net:access: [git.test, api.test, kv.test, six.test]
    env: {NODE_EXTRA_CA_CERTS: $cert, SSL_CERT_FILE: $cert, GIT_SSL_CAINFO: $cert, CURL_CA_BUNDLE: $cert}"
}

# inside EXPECTED COMMAND…: it prints that, and succeeds.
inside() {
	local expected=$1
	shift
	run sbx run -- "$@"
	[[ $status == 0 && $output == "$expected" ]] || {
		printf 'status %s\n%s\nexpected: %s\n' "$status" "$output" "$expected" >&2
		return 1
	}
}

@test "git over git:// and https" {
	for url in "git://git.test:$git_daemon/repo.git" "https://git.test:$git_https/repo.git"; do
		rm -rf cloned
		run sbx run -- git clone -q "$url" cloned
		echo "$url: $output"
		[ "$status" = 0 ]
		[ "$(<cloned/file)" = "from the repository" ]
	done
}

@test "curl: HTTP/1.1, TLS, HTTP/2, a time-out to connect in, keep-alive" {
	inside "hello /a host=api.test:$plain" curl -sS "http://api.test:$plain/a"
	inside "hello /b host=api.test:$web" curl -sS "https://api.test:$web/b"
	inside "hello /c over HTTP/1.1" curl -sS --http1.1 "https://api.test:$h2/c"
	inside "hello /c over HTTP/2.0" curl -sS --http2 "https://api.test:$h2/c"
	inside "hello /d host=api.test:$plain" curl -sS --connect-timeout 30 "http://api.test:$plain/d"
	inside $'hello /e host=api.test:'"$plain"$'\nhello /f host=api.test:'"$plain" curl -sS "http://api.test:$plain/e" "http://api.test:$plain/f"
	# to another host than the first bytes ask for, which is allowed, too
	inside $'hello /g host=api.test:'"$plain"$'\nhello /h host=api.test:'"$plain" \
		curl -sS --connect-to "api.test:$plain:kv.test:$plain" "http://api.test:$plain/g" "http://api.test:$plain/h"
	inside $'hello /i host=api.test:'"$web"$'\nhello /j host=api.test:'"$web" \
		curl -sS --connect-to "api.test:$web:kv.test:$web" "https://api.test:$web/i" "https://api.test:$web/j"
}

@test "node: fetch, http2, many at once" {
	inside "hello /x host=api.test:$web" node -e "fetch('https://api.test:$web/x').then(r => r.text()).then(t => console.log(t.trim()))"
	inside "hello /y over HTTP/2.0" node -e "
		const session = require('http2').connect('https://api.test:$h2');
		const request = session.request({':path': '/y'});
		request.setEncoding('utf8').on('data', text => console.log(text.trim())).on('end', () => session.close());"
	inside 100 node -e "
		Promise.all(Array.from({length: 100}, (_, i) => fetch('http://api.test:$plain/' + i).then(r => r.text())))
			.then(texts => console.log(texts.filter((text, i) => text.startsWith('hello /' + i + ' ')).length))"
}

@test "python: urllib, requests, asyncio, a time-out" {
	inside "hello /u host=api.test:$web" python3 -c "
import urllib.request
print(urllib.request.urlopen('https://api.test:$web/u').read().decode().strip())"
	inside "hello /r host=api.test:$web hello /r host=api.test:$web" /usr/bin/python3 -c "
import requests
session = requests.Session() # two on one connection
print(*(session.get('https://api.test:$web/r', verify='cert.pem').text.strip() for i in range(2)))"
	inside "hello /a host=api.test" python3 -c "
import asyncio
async def main():
    reader, writer = await asyncio.open_connection('api.test', $plain)
    writer.write(b'GET /a HTTP/1.1\r\nHost: api.test\r\nConnection: close\r\n\r\n')
    print((await reader.read()).decode().splitlines()[-1])
asyncio.run(main())"
	inside "hello /t host=api.test:$plain" python3 -c "
import urllib.request
print(urllib.request.urlopen('http://api.test:$plain/t', timeout=30).read().decode().strip())"
}

@test "redis-cli" {
	inside $'OK\nvalue' sh -c "redis-cli -h kv.test -p $redis set key value; redis-cli -h kv.test -p $redis get key"
	inside 1000 sh -c "seq 1000 | sed 's/.*/incr counter/' | redis-cli -h kv.test -p $redis | tail -1"
}

@test "a WebSocket" {
	inside $'echo of word 0\necho of word 1\necho of word 2' python3 websocket.py connect api.test "$websocket" word
}

@test "an IPv6-only server, by name and from each kind of socket" {
	needs_ipv6
	inside "hello /six host=six.test:$six" curl -sS "http://six.test:$six/six"
	inside "hello /six host=six.test:$six" curl -sS -4 "http://six.test:$six/six"
	inside "hello /six host=six.test:$six" node -e "fetch('http://six.test:$six/six').then(r => r.text()).then(t => console.log(t.trim()))"
	inside "hello / host=None" python3 -c "
import socket
connection = socket.create_connection(('six.test', $six))
connection.sendall(b'GET / HTTP/1.0\r\n\r\n')
print(connection.makefile().read().splitlines()[-1])"
}

@test "many connections at once" {
	local count
	count=$(times 200 2000)
	[ "$(ulimit -Hn)" -ge 16384 ] || skip "optional: the hard limit of open files is $(ulimit -Hn)"
	inside "$count" python3 echo.py connect api.test "$echo" "$count"
}

@test "much goes through, both ways, and unharmed" {
	inside "67108864 same" python3 -c "
import hashlib, os, socket, threading
block = os.urandom(1 << 20)
connection = socket.create_connection(('api.test', $echo))
sent, received, size = hashlib.sha256(), hashlib.sha256(), 0
def send():
    for i in range(64):
        piece = block[i * 1000:] + block[:i * 1000]
        sent.update(piece)
        connection.sendall(piece)
    connection.shutdown(socket.SHUT_WR)
sender = threading.Thread(target=send)
sender.start()
while data := connection.recv(1 << 16):
    received.update(data)
    size += len(data)
sender.join()
print(size, 'same' if sent.digest() == received.digest() else 'other')"
}
