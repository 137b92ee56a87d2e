#!/usr/bin/env bats
# The name server inside: what resolvers of all kinds are told, and what they aren't.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	refusing_policy '    allow:
      net:access: [api.test, {target: "*.good.test:5432", private: true}]
    ask:
      net:access: ["asked.test:443"]
    deny:
      net:access: ["*.denied.test", "*"]'
	cp "$BATS_TEST_DIRNAME/clients/question.py" "$BATS_TEST_DIRNAME/clients/lookups.js" "$HOME/project"
}

# inside NAME TYPE…: what a question by hand is answered, also over IPv6.
inside() {
	sbx run --profile default -- python3 question.py 127.0.0.1 "$@"
}

@test "A, AAAA and no other type; both families of the server answer" {
	for server in 127.0.0.1 ::1; do
		run sbx run --profile default -- python3 question.py "$server" API.test 1 28 65 64 15 2 255 252
		echo "$output"
		[ "$status" = 0 ]
		[ "$output" = "1 NOERROR 1 AA RA same
28 NOERROR 1 AA RA same
65 NOERROR 0 AA RA same
64 NOERROR 0 AA RA same
15 NOERROR 0 AA RA same
2 NOERROR 0 AA RA same
255 REFUSED 0 AA RA same
252 REFUSED 0 AA RA same" ]
	done
}

@test "c-ares: addresses, their names, no data, and names that don't exist" {
	command -v node || skip "no node"
	run sbx run --profile default -- node lookups.js
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "resolve4 api.test 198.18.0.2"
	contains "$output" "resolve6 api.test fd53:6278::2"
	contains "$output" "resolveMx api.test ENODATA"
	contains "$output" "resolveCname api.test ENODATA"
	contains "$output" "resolve4 x.denied.test ENOTFOUND"
	contains "$output" "resolve4 aPi.TesT 198.18.0.2"
	contains "$output" "reverse 198.18.0.2 api.test"
	contains "$output" "reverse 198.18.77.77 ENOTFOUND"
	contains "$output" "resolveSrv _x._tcp.asked.test ENODATA"
	contains "$output" "resolveTxt x.denied.test ENOTFOUND"
}

@test "a name that a denial of yours takes away is advised to be ended by that denial's id" {
	local denial
	sbx grant --deny net:access api.test --always
	denial=$(sbx grants --json | jq '.[0].id')
	run -2 sbx run --profile default -- getent hosts api.test
	contains "$output" "blocked net:access api.test "
	contains "$output" "end that with: sbx revoke $denial"
	lacks "$output" "allow with"
	sbx revoke "$denial"
	run -0 sbx run --profile default -- getent hosts api.test
}

@test "a name that is denied does not exist, and is told of once: last words, history" {
	run sbx run --profile default -- sh -c 'for i in 1 2 3; do getent hosts once.denied.test; done; echo "said $?"'
	echo "$output"
	contains "$output" "said 2"
	[ "$(grep -c 'blocked net:access once.denied.test (' <<<"$output")" = 1 ]
	run ! grep -q 'times' <<<"$output"
	[ "$(sbx history --json --permission net:access --verdict deny | jq -s '[.[] | select(.target == "once.denied.test")] | length')" = 1 ]
	# a port of it would be asked about: it exists, and nobody is asked for it
	run sbx run --profile default -- getent ahosts asked.test
	[ "$status" = 0 ]
	contains "$output" "198.18.0.2"
	run sbx prompts
	run ! grep -q asked.test <<<"$output"
}

@test "attack_n_03 spellings that are no host's names don't exist; localhost is the sandbox's own" {
	for name in 0x7f.1 2130706433 192.0.2.1 'a b.test' -api.test api%2etest; do
		run inside "$name" 1
		echo "$name: $output"
		[ "$output" = "1 NXDOMAIN 0 AA RA same" ]
	done
	run sbx run --profile default -- getent ahosts sub.localhost
	echo "$output"
	[ "$status" = 0 ]
	run ! grep -qvE '^(127\.0\.0\.1|::1) ' <<<"$output"
}

@test "two thousand names at once all get addresses of their own" {
	cat >many.py <<'END'
import concurrent.futures
import socket

def look(i):
    return socket.getaddrinfo(f"n{i}.good.test", 5432, socket.AF_INET, socket.SOCK_STREAM)[0][4][0]

with concurrent.futures.ThreadPoolExecutor(64) as pool:
    found = list(pool.map(look, range(2000)))
again = [look(i) for i in range(0, 2000, 100)]
print(len(set(found)), again == found[::100])
END
	run sbx run --profile default -- python3 many.py
	echo "$output"
	[ "$status" = 0 ]
	[ "${lines[-1]}" = "2000 True" ]
}

@test "attack_n_05 SRV and TXT are asked of the host's name server for allowed names alone" {
	in_own_network '
		printf "nameserver 127.0.0.1\n" >"$HOME/run/resolv.conf" && mount --bind "$HOME/run/resolv.conf" /etc/resolv.conf || exit 9
		rm -f "$HOME/run/names.ready"
		python3 "$TESTS/nameserver.py" --ready "$HOME/run/names.ready" --log "$HOME/run/names.asked" >"$HOME/run/names.log" 2>&1 &
		server=$!
		until [ -e "$HOME/run/names.ready" ]; do kill -0 "$server" || exit 9; sleep 0.05; done
		plain sbx run --profile default -- sh -c "
			for name in secret.denied.test _secret._tcp.asked.test secret.undecided.test; do
				python3 question.py 127.0.0.1 \$name 33 16
			done
			echo allowed
			python3 question.py 127.0.0.1 _pg._tcp.a.good.test 33
			python3 question.py 127.0.0.1 Few.good.test 16
			python3 question.py 127.0.0.1 many.good.test 16
			python3 question.py 127.0.0.1 few.good.test 1
			python3 question.py --tcp 127.0.0.1 many.good.test 16" >"$HOME/run/said" 2>&1
		kill "$server"'
	cat "$HOME/run/names.log" "$HOME/run/said" "$HOME/run/names.asked"
	[ "$(cat "$HOME/run/names.asked")" = "33 _pg._tcp.a.good.test
16 few.good.test
16 many.good.test
16 many.good.test" ]
	[ "$(sed -n '/^allowed/,$p' "$HOME/run/said" | grep same)" = "33 NOERROR 1 AA RA same
16 NOERROR 1 AA RA same
16 NOERROR 0 AA TC RA same
1 NOERROR 1 AA RA same
16 NOERROR 4 AA RA same" ]
	run ! grep -q secret "$HOME/run/names.asked"
	grep -q '^33 NXDOMAIN 0' "$HOME/run/said"
}
