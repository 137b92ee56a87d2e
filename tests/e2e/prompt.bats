#!/usr/bin/env bats
# Prompts and their answers, from another terminal.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	port=$(server web server.py)
	network=${SBX_TEST_NETWORK:-native}
	export port network
	waiting_policy 60s
}

waiting_policy() { # waiting_policy TIMEOUT
	policy <<END
version: 1
prompt: {timeout: $1, without-agent: wait}
profiles:
  default:
    network: $network
    hosts: {one.test: 127.0.0.1, two.test: 127.0.0.1, a.deep.test: 127.0.0.1, b.deep.test: 127.0.0.1}
END
}

setup() {
	cd "$HOME/project" || return
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id')
}

fetch() { # fetch NAME HOST…: in the background, one sandbox
	local name=$1
	shift
	background "$name" sbx run -- sh -c 'for host; do curl -sS --max-time 30 "http://$host/$host" || echo "failed: $?"; done' sh "$@"
}

# bats test_tags=contract
@test "--once is for the one connection" {
	fetch once "one.test:$port"
	sbx allow "$(prompt_id)" --once
	finished once
	contains "$output" "hello /one.test"
	none grants
	fetch again "one.test:$port"
	sbx deny "$(prompt_id)"
	finished again
	lacks "$output" "hello"
}

# bats test_tags=contract
@test "--session lasts as long as the sandbox" {
	fetch twice "one.test:$port" "one.test:$port"
	sbx allow "$(prompt_id)" --session
	finished twice
	[ "$(grep -c 'hello /one.test' <<<"$output")" = 2 ]
	fetch later "one.test:$port"
	sbx deny "$(prompt_id)"
	finished later
	lacks "$output" hello
}

@test "what was denied for one run alone has ended with it: its last words name nothing to revoke" {
	fetch answered "one.test:$port"
	sbx deny "$(prompt_id)" --session
	finished answered
	contains "$output" "you denied it (prompt "
	contains "$output" "it was denied for this run alone"
	lacks "$output" "sbx revoke"
	background told sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done; curl -sS "$1"' sh "http://one.test:$port/x"
	wait_for 30 test -e up
	sbx grant --deny net:access one.test --session "$(sbx sessions --json | jq '.[0].id')" --ttl 1h
	touch go
	finished told
	rm up go
	contains "$output" "it was denied for this run alone"
	lacks "$output" hello
	lacks "$output" "sbx revoke"
}

@test "--always lasts until it is revoked" {
	fetch first "one.test:$port"
	sbx allow "$(prompt_id)" --always
	finished first
	run sbx run -- curl -sS "http://one.test:$port/later"
	contains "$output" "hello /later"
	sbx grants --json | jq -e ".[0] | .lifetime == \"always\" and .expires == null and .origin == \"prompt\" and .profile == \"default\" and .project == \"$HOME/project\" and .uses >= 1"
	sbx revoke --all
	fetch last "one.test:$port"
	sbx deny "$(prompt_id)"
	finished last
	lacks "$output" hello
}

# bats test_tags=contract
@test "a denial: why, and how to allow, is said, with the proxy in the body of a 403; sbx deny alone isn't remembered" {
	background denied sbx run -- curl -sS -w '\n%{http_code}\n' --max-time 30 "http://one.test:$port/x"
	sbx deny "$(prompt_id)"
	finished denied
	echo "$output"
	is_refused "$output"
	contains "$output" "sbx grant net:access one.test:$port --profile default"
	none grants
}

@test "a remembered denial asks no more" {
	fetch denied "one.test:$port"
	sbx deny "$(prompt_id)" --ttl 1h
	finished denied
	run timeout 20 sbx run -- curl -sS -o /dev/null -w '%{http_code}\n' "http://one.test:$port/x"
	is_refused "$output"
	sbx grants --json | jq -e '.[0].effect == "deny"'
	sbx revoke "$(sbx grants --json | jq '.[0].id')"
}

@test "--scope host and domain make a wider grant" {
	fetch wide "a.deep.test:$port"
	id=$(prompt_id)
	sbx prompts --json | jq -e '.[0].scopes | index("exact") and index("host") and index("domain")'
	sbx allow "$id" --scope domain
	finished wide
	run timeout 20 sbx run -- curl -sS "http://b.deep.test:$port/sibling"
	contains "$output" "hello /sibling"
	sbx revoke --all
	fetch host "one.test:$port"
	sbx allow "$(prompt_id)" --scope host
	finished host
	sbx grants --json | jq -e '.[0].pattern == "one.test"'
	run sbx allow 999999 --scope nonsense
	[ "$status" != 0 ]
}

@test "equal requests share one prompt, and each goes on" {
	background both sbx run -- sh -c "curl -sS http://one.test:$port/a & curl -sS http://one.test:$port/b & wait"
	id=$(prompt_id)
	sleep 0.5
	[ "$(sbx prompts --json | jq length)" = 1 ]
	sbx allow "$id"
	finished both
	contains "$output" "hello /a"
	contains "$output" "hello /b"
}

# bats test_tags=contract
@test "one that waits does not hold up another" {
	background slow sbx run -- sh -c "curl -sS http://one.test:$port/slow & sleep 0.5; curl -sS http://two.test:$port/quick; wait"
	wait_for 30 two_are_pending
	second=$(sbx prompts --json | jq 'map(select(.target | startswith("two.test")))[0].id')
	sbx allow "$second"
	wait_for 30 grep -q "hello /quick" "$HOME/run/slow.out"
	is_running slow
	sbx allow "$(prompt_id)"
	finished slow
	contains "$output" "hello /slow"
}

two_are_pending() {
	[[ $(sbx prompts --json | jq length) == 2 ]]
}

@test "a grant made meanwhile resolves the prompt it covers" {
	fetch covered "one.test:$port"
	prompt_id
	sbx grant net:access one.test --profile default --ttl 10m
	finished covered
	contains "$output" "hello /one.test"
	no_prompt_is_pending
}

# bats test_tags=contract
@test "a requester that dies takes its prompt with it" {
	sbx run -- curl -sS "http://one.test:$port/x" >/dev/null 2>&1 3>&- &
	pid=$!
	id=$(prompt_id)
	kill "$pid"
	wait "$pid" || true
	wait_for 30 no_prompt_is_pending
	run sbx allow "$id"
	[ "$status" != 0 ]
	grep -q '^sbx: ' <<<"$output"
	none grants
}

@test "the tool giving up on its request cancels the prompt" {
	background impatient sbx run -- sh -c "curl -sS --max-time 5 http://one.test:$port/x; sleep 1000"
	prompt_id
	wait_for 30 no_prompt_is_pending # of 60 that it would wait
	is_running impatient
	sbx kill --all
	finished impatient
}

@test "the first answer wins; a second, an unknown id and a bad one are clear errors" {
	fetch first "one.test:$port"
	id=$(prompt_id)
	sbx deny "$id"
	run sbx allow "$id"
	[ "$status" != 0 ]
	grep -q '^sbx: ' <<<"$output"
	finished first
	lacks "$output" hello
	for bad in 999999 -1 0 x '' 1x 99999999999999999999; do
		run sbx allow -- "$bad"
		[ "$status" != 0 ]
		grep -q '^sbx: ' <<<"$output"
	done
	none grants
}

# bats test_tags=contract
@test "at its deadline a prompt is denied, once" {
	waiting_policy 2s
	SECONDS=0
	run timeout 60 sbx run -- curl -sS -o /dev/null -w '%{http_code}\n' "http://one.test:$port/x"
	is_refused "$output"
	((SECONDS >= 1 && SECONDS < 40)) # of 60 that are usual
	none grants
	sbx history --json | jq -es 'map(select(.kind == "prompt" or .kind == "answer" or .kind == "decision")) | map(.verdict) | index("deny")'
	waiting_policy 60s
}

@test "without an agent and without-agent: deny, nobody is waited for" {
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
profiles:
  default:
    network: $network
    hosts: {one.test: 127.0.0.1}
END
	SECONDS=0
	run timeout 50 sbx run -- curl -sS -o /dev/null -w '%{http_code}\n' "http://one.test:$port/x" </dev/null
	is_refused "$output"
	((SECONDS < 40)) # of 60 that it would wait
	waiting_policy 60s
}

@test "sbx why prints the walk" {
	run sbx why net:access one.test:443
	[ "$status" = 0 ]
	contains "$output" rules
	contains "$output" ask
	run sbx why fs:read "$HOME/.ssh/id_ed25519"
	contains "$output" deny
	run sbx why fs:write "$HOME/project/x"
	contains "$output" allow
	run sbx why fs:read "$HOME/notes.txt" # a rule about writing asks about reading, too, and says so
	contains "$output" "asks before fs:read and fs:write $HOME ["
	lacks "$output" "asks before fs:write"
}
