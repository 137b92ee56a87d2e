#!/usr/bin/env bats
# limits: of a profile.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

limited() { # limited 'LIMITS'
	policy <<END
version: 1
profiles:
  default:
    limits: {$1}
END
}

@test "memory: more than allowed is refused or ends the tool; less works" {
	limited "memory: 300M"
	run sbx run -- python3 -c 'b = bytearray(50 * 1024 * 1024); print(len(b))'
	[ "$output" = 52428800 ]
	run sbx run -- python3 -c 'b = bytearray(900 * 1024 * 1024); print(len(b))'
	[ "$status" != 0 ]
	lacks "$output" 943718400
}

@test "memory: node's fetch works under the limit (it reserves address space for wasm)" {
	limited "memory: 1G"
	cat >fetch.mjs <<'END'
import http from "node:http";
const server = http.createServer((request, response) => response.end("fetched")).listen(0, "127.0.0.1", async () => {
	console.log(await (await fetch(`http://127.0.0.1:${server.address().port}/`)).text());
	server.close();
});
END
	run sbx run --profile default -- node fetch.mjs
	echo "$output"
	[ "$status" = 0 ]
	[ "${lines[-1]}" = fetched ]
}

@test "processes: a fork bomb stays inside its limit, and others are not affected" {
	limited "processes: 60"
	background bomb sbx run -- bash -c 'for i in {1..500}; do sleep 30 & done 2>/dev/null; jobs -p | wc -l; kill $(jobs -p)'
	sleep 1
	run timeout 60 sbx run -- echo fine
	contains "$output" fine
	sbx kill --all
	finished bomb
	wait_for 60 no_process 'sleep 30$'
}

@test "open files" {
	limited "open-files: 64"
	[ "$(sbx run -- sh -c 'ulimit -n')" = 64 ]
	[ "$(sbx run -- sh -c 'ulimit -Hn')" = 64 ]
}

@test "cpu time" {
	limited "cpu-time: 1s"
	run timeout 120 sbx run -- sh -c 'while :; do :; done'
	[ "$status" = 137 ] || [ "$status" = 152 ]
}

@test "without limits there are none of ours" {
	limited ""
	[ "$(sbx run -- sh -c 'ulimit -v; ulimit -n')" = "$(sh -c 'ulimit -v; ulimit -n')" ]
}

# bats test_tags=ci
@test "a pattern that matches more than a sandbox can hide stops the run, and is named: its rule, how much, what to do" {
	local rule
	mkdir -p many
	seq -f 'many/%g.py' 1 5100 | xargs touch
	for rule in 'deny: {fs:read: ["**/*.py"]}' 'ask: {fs:read: ["**/*.py"]}' 'deny: {fs:write: ["**/*.py"]}'; do
		policy <<END
version: 1
profiles:
  default:
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    $rule
END
		run sbx run -- true
		echo "$output"
		[ "$status" = 125 ]
		contains "$output" 'the pattern **/*.py ('
		contains "$output" 'policy.yaml:5'
		grep -qE 'matches 5[1-9][0-9]{2} files' <<<"$output" # the system may show some more
		contains "$output" 'name the folders'
	done
	rm -r many
}

# bats test_tags=ci
@test "such a pattern is named, too, where it is the folders of its files that need as many mounts" {
	seq -f 'deep/%g/in' 1 2000 | xargs mkdir -p
	seq -f 'deep/%g/in/a.py' 1 2000 | xargs touch
	policy <<-'EOF'
		version: 1
		profiles:
		  default:
		    deny: {fs:read: ["**/*.py"]}
	EOF
	run -125 sbx run -- true
	contains "$output" 'the pattern **/*.py ('
	contains "$output" ' files, each of which needs a mount, as does each folder on the way to one, and 5000 are the most'
	rm -r deep
}
