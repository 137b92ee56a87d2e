#!/usr/bin/env bats
# Inside a sandbox: sbx request, sbx describe, and what else a tool may try at their door.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	needs_doorbell
	port=$(server web server.py)
	speak=$(<"$TESTS/inside.py")
	export port speak
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
permissions: {"db:access": "use a database"}
profiles:
  asking: # what a profile extends isn't asked about at its start
    ask: {fs:read: ["~/asked"], "db:access": ["*"], net:access: ["one.test"]}
  default:
    extends: [asking]
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    hosts: {one.test: 127.0.0.1}
    deny: {fs:read: ["~/denied"], "db:access": [secret]}
  offline: {extends: [default], network: none}
  open: {extends: [default], network: host}
  silent: {extends: [default], doorbell: none}
  patterned: {extends: [base], allow: {fs:read: ["\${project}"]}, ask: {fs:read: ["~/plain/d*"]}}
END
	mkdir "$HOME/asked" "$HOME/denied" "$HOME/plain" "$HOME/made"
	for name in one two three four five six seven; do echo "text of $name" >"$HOME/asked/$name"; done
	echo hidden | tee "$HOME/denied/there" >"$HOME/plain/there"
}

setup() {
	cd "$HOME/project" || return
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id')
}

# inside COMMAND…: what a tool says at the door, in a sandbox of its own.
inside() {
	run sbx run -- python3 -c "$speak" "$@"
}

@test "what is asked for and allowed can be used at once; the user saw the reason as the tool's words" {
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/one --reason "to sum it up" && cat ~/asked/one'
	prompt=$(prompt_id)
	sbx prompts --json | jq -e '.[0] | .permission == "fs:read" and .target == env.HOME + "/asked/one" and .reason == "to sum it up"'
	sbx prompts --json | jq -e '.[0] | (.process | startswith("sbx (")) and .parents == ["sh"]'
	contains "$(sbx prompts)" "to sum it up"
	sbx allow "$prompt"
	finished ask
	[ "$status" = 0 ]
	contains "$output" "allowed: the user allowed it"
	contains "$output" "text of one"
	sbx history --json | jq -es 'any(.kind == "decision" and .permission == "fs:read" and .verdict == "allow" and .detail.reason == "to sum it up")'
}

@test "what was asked ahead and then tried all the same is one line of the summary" {
	run sbx run --record -- sh -c 'sbx request fs:read ~/asked/three; cat ~/asked/three'
	contains "$output" "blocked fs:read $HOME/asked/three ("
	contains "$output" ", 2 times)"
	lacks "$output" "blocked 2 requests"
	run sbx run --record -- sh -c 'sbx request net:access one.test:80; curl -s --max-time 5 http://one.test:80/'
	contains "$output" "blocked net:access one.test:80 ("
	lacks "$output" "blocked 2 requests"
}

@test "a user's no is status 1, and so is what nobody is asked about, at once and without a prompt" {
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/two; echo "status $?"'
	sbx deny "$(prompt_id)"
	finished ask
	contains "$output" "denied: the user denied it"
	contains "$output" "status 1"
	run sbx run -- sh -c 'sbx request fs:read /root/x --json; echo "status $?"'
	contains "$output" '"allowed":false'
	contains "$output" "status 1"
	no_prompt_is_pending
	sbx history --json | jq -es 'any(.target == "/root/x" and .verdict == "deny")'
}

@test "--json has its keys, and what a rule allows needs nobody" {
	run --separate-stderr sbx run -- sbx request fs:read /etc/hostname --json
	[ "$status" = 0 ]
	jq -e 'keys == ["allowed", "by", "once", "permission", "target", "why"] and .allowed and .by == "rule" and .target == "/etc/hostname"' <<<"$output"
}

@test "a permission of the user's own goes the same way, and once is for this request" {
	background ask sbx run -- sh -c 'sbx request db:access prod --reason migrate --json; sbx request db:access secret; sbx request no:such x; echo "status $?"'
	prompt=$(prompt_id)
	sbx prompts --json | jq -e '.[0] | .permission == "db:access" and .target == "prod" and .description == "use a database"'
	sbx allow "$prompt" --once
	finished ask
	contains "$output" '"allowed":true,"once":true'
	contains "$output" "status 1"
	none grants
}

@test "once for a file leaves nothing for its use, and the tool is told so; always lasts" {
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/five --json && cat ~/asked/five'
	sbx allow "$(prompt_id)" --once
	wait_for 30 prompt_is_pending
	sbx prompts --json | jq -e '.[0] | .reason == null and (.process | startswith("cat ("))'
	sbx allow "$(prompt_id)" --always
	finished ask
	contains "$output" '"allowed":true,"once":true,"by":"user"'
	contains "$output" "text of five"
	run --separate-stderr sbx run -- sbx request fs:read "$HOME/asked/five" --json
	jq -e '.allowed and (.once | not) and .by == "grant"' <<<"$output"
}

@test "to write what isn't there yet its folder is asked about, and then it can be made" {
	background ask sbx run -- sh -c 'sbx request fs:write ~/made/file && echo "made by it" >~/made/file'
	prompt=$(prompt_id)
	sbx prompts --json | jq -e '.[0] | .permission == "fs:write" and .target == env.HOME + "/made" and .name == env.HOME + "/made/file"'
	sbx allow "$prompt"
	finished ask
	contains "$output" "allowed: the user allowed it"
	[ "$(<"$HOME/made/file")" = "made by it" ]
}

led_begin() {
	rm -rf "$HOME/led" "$HOME/asked/way"
	mkdir "$HOME/led"
	echo "led there" >"$HOME/led/file"
	ln -s "$HOME/led" "$HOME/asked/way"
}

# request_led COMMAND: asked for by the link's name, then used.
request_led() {
	background ask sbx run -- sh -c "sbx request fs:write ~/asked/way && $1"
	prompt=$(prompt_id)
	sbx prompts --json | jq -e '.[0] | .target == env.HOME + "/led" and .description == "read and write everything in"'
	sbx allow "$prompt"
	finished ask
	[ "$(<"$HOME/led/file")" = $'led there\nby it' ]
	sbx grants --json | jq -e '.[0].pattern == env.HOME + "/led"'
}

@test "attack_r_16: what is asked for by a link's name is asked about, and allowed, by where it leads" {
	led_begin
	request_led 'echo "by it" >>~/led/file'
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/way/file'
	finished ask
	contains "$output" "allowed"
}

@test "attack_r_16: and is used by the link's name, where that is seen" {
	[[ $SBX_TEST_DOORBELL != traps ]] || skip "optional: with the curtain only: without it there is no link in a folder that is asked about"
	led_begin
	request_led 'echo "by it" >>~/asked/way/file; cat ~/asked/way/file'
	contains "$output" "by it"
}

@test "a host that was asked for is reached without another question" {
	background ask sbx run -- sh -c 'sbx request net:access "one.test:$1" && curl -sS --max-time 30 "http://one.test:$1/page"' sh "$port"
	sbx allow "$(prompt_id)"
	finished ask
	contains "$output" "hello /page"
	no_prompt_is_pending
}

@test "it is there with network: none, network: host, --offline and without a doorbell; there no host is asked for" {
	for profile in offline open silent; do
		background "ask$profile" sbx run --profile "$profile" -- sh -c 'sbx request fs:read ~/asked/three && cat ~/asked/three'
		sbx allow "$(prompt_id)" --session
		finished "ask$profile"
		contains "$output" "text of three"
	done
	run sbx run --profile offline -- sbx request net:access "one.test:$port"
	[ "$status" = 1 ]
	contains "$output" "this sandbox has no network"
	run sbx run --offline -- sbx request net:access "one.test:$port"
	[ "$status" = 1 ]
	no_prompt_is_pending
}

@test "what is the sandbox's own, or allowed already, is that: nobody is asked, whatever rules say of the host's" {
	local target
	for target in 'fs:read /tmp/x' 'fs:write /tmp/x' 'fs:write /tmp/folder/../y' 'fs:read /proc/self/status' 'fs:write /dev/null' 'fs:read /run/x'; do
		run sbx run -- sh -c "sbx request $target"
		echo "$target: $output"
		[ "$status" = 0 ]
		contains "$output" "allowed: that is the sandbox's own"
	done
	for target in 'fs:write made-here' 'fs:write .' 'fs:read /usr/bin/env' 'fs:read made-here'; do
		run sbx run -- sh -c "sbx request $target"
		echo "$target: $output"
		[ "$status" = 0 ]
		contains "$output" 'allowed: '
	done
	for target in 'fs:read /srv/x' 'fs:read /sys/x' 'fs:read ~/denied/x'; do
		run sbx run -- sh -c "sbx request $target"
		echo "$target: $output"
		[ "$status" = 1 ]
	done
	no_prompt_is_pending
}

@test "describe: what may be done, what may be asked for, no denials; the same outside" {
	sbx grant fs:read "$HOME/plain" --ttl 1h
	run --separate-stderr sbx run -- sbx describe --json
	[ "$status" = 0 ]
	jq -e 'keys == ["allow", "ask", "more", "network", "permissions", "profile", "project"]' <<<"$output"
	jq -e '.profile == "default" and .project == env.HOME + "/project" and .network == "native"' <<<"$output"
	jq -e 'any(.allow[]; .permission == "fs:read" and .pattern == env.HOME + "/plain" and .until != null)' <<<"$output"
	jq -e 'any(.ask[]; .permission == "fs:read" and .pattern == env.HOME + "/asked")' <<<"$output"
	jq -e '.permissions == [{name: "db:access", description: "use a database"}] and (.more | not)' <<<"$output"
	sbx grant fs:read "$HOME/asked" --ttl 1h # what is granted is allowed, and is not asked for
	granted=$(sbx run -- sbx describe --json)
	jq -e 'any(.allow[]; .permission == "fs:read" and .pattern == env.HOME + "/asked" and .until != null)' <<<"$granted"
	jq -e 'all(.ask[]; .permission != "fs:read" or .pattern != env.HOME + "/asked")' <<<"$granted"
	sbx revoke "$(sbx grants --json | jq 'max_by(.id).id')"
	lacks "$output" denied
	lacks "$output" .ssh
	lacks "$output" secret
	[ "$(sbx describe --json)" = "$output" ]
	run sbx run -- sbx describe --profile default
	[ "$status" = 2 ]
}

@test "describe --markdown says what may be done, how to ask, and not to try again in a loop" {
	run --separate-stderr sbx run -- sbx describe --markdown
	[ "$status" = 0 ]
	for words in 'profile `default`' "$HOME/asked" 'sbx request PERMISSION TARGET --reason' 'Permission denied' 'in a loop' '`db:access`: use a database'; do
		contains "$output" "$words"
	done
	run --separate-stderr sbx run -- sbx describe
	contains "$output" "May ask for:"
	contains "$output" "$HOME/asked"
}

@test "a tool knows where it is, and outside there is nothing to request" {
	run sbx run --profile silent -- sh -c 'echo "$SBX_SANDBOX"; command -v sbx'
	[ "${lines[0]}" = silent ]
	contains "$output" /sbx
	run sbx request fs:read /x
	one_error 125
	contains "$output" "sbx check"
}

@test "who hangs up asks no more" {
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/four & read -r _ <~/project/go; kill $!; wait $!; echo ended'
	mkfifo "$HOME/project/go"
	wait_for 30 prompt_is_pending
	echo >"$HOME/project/go"
	finished ask
	contains "$output" ended
	wait_for 30 no_prompt_is_pending
}

@test "attack_f_21 a denied path, one that isn't there, a sensitive and a protected one are answered alike" {
	run --separate-stderr sbx run -- sh -c 'for path in ~/denied/there ~/denied/not /root/there /var/lib/there ~/.ssh/id_ed25519 ~/.ssh/not ~/.local/state/sbx/sbx.db ~/.config/sbx/policy.yaml; do sbx request fs:read "$path" --reason x; echo "$?"; done'
	[ "$(sort -u <<<"$output")" = "1
denied: nothing allows it, and nobody is asked about it" ]
	no_prompt_is_pending
}

@test "attack_f_15 what comes to the place of what was asked about is not shown" {
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/six; echo "status $?"; cat ~/asked/six'
	prompt=$(prompt_id)
	echo "another text" >"$HOME/asked/new"
	mv "$HOME/asked/new" "$HOME/asked/six"
	sbx allow "$prompt"
	finished ask
	contains "$output" "status 1"
	lacks "$output" "another text"
}

@test "attack_b_09 what a pattern asks about may be a folder, and is asked about as all that is in it" {
	mkdir "$HOME/plain/drawer"
	echo one >"$HOME/plain/drawer/one"
	background ask sbx run --profile patterned -- sh -c 'sbx request fs:read ~/plain/drawer && cat ~/plain/drawer/one'
	prompt=$(prompt_id)
	sbx prompts --json | jq -e '.[0].description == "read everything in"'
	sbx allow "$prompt"
	finished ask
	contains "$output" one
}

@test "what the user allowed of the home is told as allowed: what lies below is shown" {
	echo 'a kept line' >"$HOME/kept"
	background ask sbx run -- sh -c 'sbx request fs:read ~ --json; echo "status $?"; cat ~/kept'
	sbx allow "$(prompt_id)"
	finished ask
	contains "$output" '"by":"user"'
	contains "$output" "status 0"
	contains "$output" "a kept line"
	sbx revoke --all
	mkdir -p "$HOME/.local/share/thing"
	background ask sbx run -- sh -c 'sbx request fs:read ~/.local --json; echo "status $?"'
	sbx allow "$(prompt_id)"
	finished ask
	contains "$output" "status 0"
}

@test "what isn't there can be allowed, but not used: that is a no" {
	background ask sbx run -- sh -c 'sbx request fs:read ~/asked/nothing --json; echo "status $?"'
	sbx allow "$(prompt_id)"
	finished ask
	contains "$output" '"by":"absent"'
	contains "$output" "status 1"
}

@test "attack_b_09 control characters in reason and target are shown escaped, and too long a reason is refused" {
	background ask sbx run -- sh -c 'sbx request fs:read "$(printf "%s/asked/\033[2Jx\nAllow?" "$HOME")" --reason "$(printf "fine\033]0;x\007\nsbx: allowed \342\200\256")"; echo "$?"'
	prompt=$(prompt_id)
	shown=$(sbx prompts)
	contains "$shown" '\x1b[2Jx\nAllow?'
	contains "$shown" '\x1b]0;x\x07\nsbx: allowed \u{202e}'
	[ "$(tr -d '\n' <<<"$shown" | LC_ALL=C tr -d '[:print:]\200-\377')" = "" ]
	sbx deny "$prompt"
	finished ask
	run sbx run -- sh -c 'sbx request fs:read ~/asked/one --reason "$(head -c 500 /dev/zero | tr "\0" x)"'
	one_error 125
	contains "$output" "'reason' is longer than 400 bytes"
	no_prompt_is_pending
}

@test "attack_b_11 the door does nothing else: no other message of the broker's, no key more, no other place" {
	local messages=() name
	for name in hello session-open session-close resolve check name cancel event settled grant revoke kill publish published list summary verify agent answer want why policy trust status view ended prompt; do
		messages+=("{\"type\": \"$name\", \"id\": 1, \"permission\": \"fs:read\", \"target\": \"$HOME/asked\", \"effect\": \"allow\", \"prompt\": 1, \"all\": true}")
	done
	messages+=('{"type": "request", "permission": "fs:read", "target": "/x", "process": "me (1)"}' '{"type": "describe", "session": 1}' '{}' 'x' '[]')
	inside "${messages[@]}"
	[ "$(wc -l <<<"$output")" = ${#messages[@]} ]
	[ "$(jq -r .type <<<"$output" | sort -u)" = error ]
	run sbx run -- sh -c 'sbx grant fs:read ~/asked; sbx allow 1; sbx prompts; sbx run -- true'
	[ "$(grep -c 'this is inside a sandbox' <<<"$output")" = 4 ]
	none grants
	no_prompt_is_pending
}

@test "attack_b_11 the door can't be removed, replaced or covered by the tool" {
	run sbx run -- sh -c 'rm -f /run/sbx/ask.sock; mv /run/sbx/ask.sock /tmp/x; ln -s /tmp/x /run/sbx/y; true >/run/sbx/ask.sock; true >>/run/sbx/init; sbx request fs:read /etc/hostname'
	contains "$output" "allowed: a rule allows it"
}

@test "attack_b_03 a process outside of the sandbox isn't answered at its door" {
	local line="sleep 4321.$$" # that nobody else runs
	background sleeps sbx run -- sh -c "exec $line"
	wait_for 30 pgrep -u "$(id -u)" -xf "$line"
	pid=$(pgrep -u "$(id -u)" -xf "$line")
	run python3 -c "$speak" --at "/proc/$pid/root/run/sbx/ask.sock" '{"type": "describe"}'
	[ "$output" = closed ]
	kill "$pid"
	finished sleeps
}

@test "attack_b_05 giant messages, and thousands of connections: the sandbox goes on, and its door" {
	inside bytes:40000 bytes:100000 '{"type": "describe"}'
	[ "$(head -n 2 <<<"$output" | jq -r .type | sort -u)" = error ]
	contains "${lines[2]}" '"type":"describe"'
	inside flood:3000 '{"type": "describe"}'
	contains "$output" '"type":"describe"'
	[ "$(grep -o 'let in: [0-9]*' <<<"$output" | cut -d' ' -f3)" -lt 1500 ]
}

@test "attack_b_12 a flood of requests is one summary, and the tool is told to wait" {
	background flood sbx run -- sh -c 'for i in $(seq 80); do sbx request fs:read ~/asked/flood$i --json & [ $((i % 20)) != 0 ] || wait; done; wait'
	deadline=$((SECONDS + 60))
	until ! is_running flood || ((SECONDS > deadline)); do
		for id in $(sbx prompts --json | jq '.[] | .id'); do sbx deny "$id" >/dev/null 2>&1 || true; done
	done
	finished flood
	contains "$output" '"by":"flood"'
	lacks "$output" '"allowed":true'
}
