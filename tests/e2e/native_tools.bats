#!/usr/bin/env bats
# Programs in many languages, each with its own resolver and its own way to connect, under the native network.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load native

setup_file() {
	home_make
	plain=$(server plain server.py)
	six=$(! has_ipv6 || server six server.py --address ::1)
	export plain six
	refusing_policy "    hosts: {api.test: 127.0.0.1, six.test: '::1', denied.test: 127.0.0.1}
    allow:
      net:access: [api.test, six.test]
    deny:
      net:access: [denied.test]"
	cc -O1 -o "$HOME/project/fetch" "$BATS_TEST_DIRNAME/clients/fetch.c"
}

build_musl() {
	[[ -e fetch-musl ]] || musl-gcc -static -O1 -o fetch-musl "$BATS_TEST_DIRNAME/clients/fetch.c"
}

build_go() {
	[[ ! -e fetch-go ]] || return 0
	cp "$BATS_TEST_DIRNAME/clients/fetch.go" .
	GOCACHE=$HOME/run/go-cache GO111MODULE=off /usr/bin/go build -o fetch-go fetch.go
}

# Addresses that stand for names: IPv4 and IPv6.
v4='^198\.1[89]\.[0-9]+\.[0-9]+$'
v6='^fd53:6278:'

@test "glibc: getaddrinfo with and without AI_ADDRCONFIG, with AI_V4MAPPED" {
	for way in any addrconfig; do
		run sbx run -- ./fetch api.test "$plain" "$way"
		echo "$way: $output"
		[ "$status" = 0 ]
		grep -qE "$v4" <<<"$output"
		grep -qE "$v6" <<<"$output"
		contains "$output" "hello / host=None"
	done
	run sbx run -- ./fetch api.test "$plain" mapped
	echo "$output"
	[ "$status" = 0 ]
	grep -qE '^::ffff:198\.1[89]\.' <<<"$output"
}

@test "glibc: names that are denied, aren't names, or are written in another way" {
	run sbx run -- ./fetch denied.test "$plain"
	echo "$output"
	[ "$status" = 1 ]
	contains "$output" "not known"
	run sbx run -- ./fetch API.test. "$plain"
	echo "$output"
	[ "$status" = 0 ]
}

@test "musl: getaddrinfo and connect" {
	build_musl
	for way in any addrconfig; do
		run sbx run -- ./fetch-musl api.test "$plain" "$way"
		echo "$way: $output"
		[ "$status" = 0 ]
		grep -qE "$v4" <<<"$output"
		contains "$output" "hello / host=None"
	done
	run sbx run -- ./fetch-musl denied.test "$plain"
	[ "$status" = 1 ]
}

@test "c-ares (node's dns.resolve): A, AAAA, back again, and what there isn't" {
	run sbx run -- node -e "
		const dns = require('dns').promises;
		(async () => {
			const [four] = await dns.resolve4('api.test'), [six] = await dns.resolve6('api.test');
			console.log(four);
			console.log(six);
			console.log(await dns.reverse(four), await dns.reverse(six));
			for (const [name, type] of [['api.test', 'MX'], ['denied.test', 'A']])
				console.log(await dns.resolve(name, type).catch((error) => error.code));
		})()"
	echo "$output"
	[ "$status" = 0 ]
	[[ ${lines[0]} =~ $v4 ]]
	[[ ${lines[1]} =~ $v6 ]]
	[ "${lines[2]}" = "[ 'api.test' ] [ 'api.test' ]" ]
	[ "${lines[3]}" = ENODATA ]
	[ "${lines[4]}" = ENOTFOUND ]
}

@test "a name's addresses stay, and no other name gets them" {
	run sbx run -- python3 -c "
import socket
first, other = (socket.gethostbyname(name) for name in ('api.test', 'six.test'))
print(first != other, all(socket.gethostbyname('api.test') == first for i in range(20)), socket.gethostbyaddr(first)[0])"
	echo "$output"
	[ "$output" = "True True api.test" ]
}

@test "Go: its own resolver and the C library's, many at once" {
	build_go
	for resolver in go cgo; do
		run sbx run --env GODEBUG=netdns=$resolver -- ./fetch-go api.test "$plain"
		echo "$resolver: $output"
		[ "$status" = 0 ]
		[ "${lines[0]}" = "hello /go host=api.test:$plain" ]
		[ "${lines[1]}" = "50 of 50" ]
	done
}

@test "C by glibc and by musl, Go: an IPv6-only server" {
	needs_ipv6
	build_musl
	build_go
	for fetch in ./fetch ./fetch-musl; do
		run sbx run -- "$fetch" six.test "$six"
		echo "$fetch: $output"
		[ "$status" = 0 ]
		contains "$output" "hello / host=None"
	done
	run sbx run -- ./fetch-go six.test "$six"
	echo "$output"
	[ "${lines[0]}" = "hello /go host=six.test:$six" ]
}

@test "Rust: std::net, with a time-out, from many threads" {
	/usr/bin/rustc -o fetch-rust "$BATS_TEST_DIRNAME/clients/fetch.rs"
	run sbx run -- ./fetch-rust api.test "$plain"
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = $'hello /rust host=None\nhello /timeout host=None\n50 of 50' ]
}

@test "Java: HttpURLConnection, NIO registered before it connects, many at once" {
	javac -d . "$BATS_TEST_DIRNAME/clients/Fetch.java"
	run sbx run -- java -cp . Fetch api.test "$plain"
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = $'hello /url host=api.test:'"$plain"$'\n1 of 1\n50 of 50' ]
}

@test "Perl: a connection with a time-out" {
	cp "$BATS_TEST_DIRNAME/clients/fetch.pl" .
	run sbx run -- perl fetch.pl api.test "$plain"
	echo "$output"
	[ "$output" = "hello /perl host=None" ]
}

@test "pip: from an index of ours" {
	/usr/bin/python3 -m pip --version >/dev/null 2>&1 || skip "optional: python3 has no pip here"
	index=$HOME/run/index
	mkdir -p "$index/simple/greet"
	/usr/bin/python3 - "$index/simple/greet" <<'END'
import sys
import zipfile

info = "greet-1.0.dist-info/"
with zipfile.ZipFile(sys.argv[1] + "/greet-1.0-py3-none-any.whl", "w") as wheel:
    wheel.writestr("greet.py", "print('greetings')\n")
    wheel.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: greet\nVersion: 1.0\n")
    wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(info + "RECORD", "greet.py,,\n%sMETADATA,,\n%sWHEEL,,\n%sRECORD,,\n" % (info, info, info))
open(sys.argv[1] + "/index.html", "w").write('<a href="greet-1.0-py3-none-any.whl">greet-1.0-py3-none-any.whl</a>')
END
	files=$(server files server.py --files "$index")
	run sbx run -- /usr/bin/python3 -m pip install -q --no-cache-dir --disable-pip-version-check --target site \
		--index-url "http://api.test:$files/simple" --trusted-host api.test greet
	echo "$output"
	[ "$status" = 0 ]
	[ "$(PYTHONPATH=site /usr/bin/python3 -c 'import greet')" = greetings ]
}
