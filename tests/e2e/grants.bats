#!/usr/bin/env bats
# Grants as a user meets them: what `sbx grant`, `grants` and `revoke` say, and what a revocation does to a running sandbox.
load helper

setup_file() {
	home_make
}

teardown() {
	sbx revoke --all >/dev/null
	sbx grants --json | jq '.[].id' | xargs -r sbx revoke >/dev/null
}

# bats test_tags=serial
@test "a revoked grant's connection is cut at once, every time" {
	for network in native proxy; do
		printf 'version: 1\nprofiles: {default: {network: %s}}\n' "$network" | policy
		sbx grants
		run -0 python3 "$TESTS/cut.py" "$(broker_socket)" 50
		echo "# $network: $output" >&3
		contains "$output" "revoke to cut, 50 rounds"
		contains "$output" " was cut: what allowed it has ended or changed (50 times)"
	done
	rm "$HOME/.config/sbx/policy.yaml"
}

@test "a denial names the older allows that lie within it" {
	sbx grant net:access deep.wide.test:443
	id=$(sbx grants --json | jq '.[0].id')
	run -0 sbx grant --deny net:access '*.wide.test'
	[[ $output == *"grant $id says the opposite"* ]]
}

@test "whom a grant is for: --profile, --any-profile, --project, --anywhere" {
	sbx grant net:access a.test:443 --profile npm --project "$HOME/project"
	sbx grant net:access b.test:443 --any-profile --anywhere
	[ "$(sbx grants --json | jq -c '[.[] | [.profile, .project]]')" = "[[\"npm\",\"$HOME/project\"],[null,null]]" ]
	run -1 sbx check net:access a.test:443 --no-ask
	run -0 sbx check net:access a.test:443 --profile npm --no-ask
	run -0 sbx check net:access b.test:443 --profile git --project / --no-ask
}

@test "--once lasts for one use, and its use is counted" {
	sbx grant net:access once.test:443 --once
	run -0 sbx check net:access once.test:443 --no-ask
	run -1 sbx check net:access once.test:443 --no-ask
	[ "$(sbx grants --all --json | jq -c '.[] | select(.pattern == "once.test:443") | [.uses, .last_used != null]')" = '[1,true]' ]
}

@test "--once for what nothing asks about says that it stays unused; where somebody would be asked it says nothing" {
	mkdir -p ~/asked
	for words in "fs:read /var/lib/dpkg" "fs:write $HOME/project/x" "proc:spawn $(command -v cat)" "fs:read=/usr/share"; do
		# shellcheck disable=SC2086 # words
		run -0 sbx grant $words --once
		contains "$output" "Note: nothing asks about it"
		contains "$output" "stays unused"
	done
	for words in "fs:read $HOME/asked" "fs:read $HOME/asked" "net:access once.test:443" "fs:read $HOME/asked/*" "fs:read /var/lib/dpkg --deny"; do
		# shellcheck disable=SC2086 # words
		run -0 sbx grant $words --once
		lacks "$output" "nothing asks"
	done
	run -0 sbx grant fs:read /var/lib/dpkg
	lacks "$output" "nothing asks"
	sbx revoke --all
	# shellcheck disable=SC2046 # ids
	sbx revoke $(sbx grants --json | jq '.[].id')
}

@test "--once of a folder that a rule asks about lasts for the first call into it" {
	mkdir -p ~/notes && echo a note >~/notes/note.txt
	sbx grant fs:read ~/notes --once
	run sbx run -- sh -c 'cat ~/notes/note.txt; sleep 2.5; cat ~/notes/note.txt' </dev/null
	echo "$output"
	[ "$status" = 1 ]
	[ "$(grep -c '^a note$' <<<"$output")" = 1 ]
	[[ $output == *"sbx: blocked fs:read $HOME/notes/note.txt"* ]]
	none grants
	run -0 sbx revoke "$(sbx grants --all --json | jq '.[-1].id')" --kill
	[ "$output" = "It had ended before, and no process holds what it gave." ]
	run -1 sbx revoke "$(sbx grants --all --json | jq '.[-1].id')"
	[[ $output == *"has ended already" ]]
}

@test "what was opened by a grant for one use goes on, and each revocation says so" {
	echo begun >~/once.log
	sbx grant fs:write ~/once.log --once
	background tool sbx run -- sh -c 'exec 5>>~/once.log; until [ -e go ]; do echo on >&5; sleep 0.05; done' </dev/null
	wait_for 30 grep -q on ~/once.log
	local id
	id=$(sbx grants --all --json | jq '.[-1].id')
	for _ in 1 2; do
		run -1 sbx revoke "$id" --kill
		contains "$output" "Used up before: grant $id. What was opened or started by that may go on"
	done
	touch go
	finished tool
	rm ~/once.log go
	run -0 sbx revoke "$id" --kill
	[ "$output" = "It had ended before, and no process holds what it gave." ]
}

@test "--ttl ends it" {
	sbx grant net:access short.test:443 --ttl 4s
	run -0 sbx check net:access short.test:443 --no-ask
	sleep 4.1
	run -1 sbx check net:access short.test:443 --no-ask
	none grants
}

@test "revoke by id, profile and match; --all leaves denials" {
	sbx grant net:access a.test:443 --profile npm --always
	sbx grant net:access b.test:443 --always
	sbx grant net:access c.test:443 --deny --always
	run -0 sbx revoke --profile npm
	[[ $output == "Revoked grant "* ]]
	run -0 sbx revoke --match net:access b.test:443
	sbx grant net:access d.test:443
	run -0 sbx revoke --all
	[ "$(sbx grants --json | jq -r '.[].pattern')" = c.test:443 ]
	run -0 sbx revoke "$(sbx grants --json | jq '.[0].id')"
	none grants
}

@test "many that are revoked are counted, not listed" {
	for i in $(seq 30); do sbx grant net:access "h$i.test:443" >/dev/null; done
	run -0 sbx revoke --all
	[[ $output == "Revoked 30 grants."* ]]
}

@test "what a grant does not do, or does widely, is noted; a built-in denial says what lifts it" {
	run -0 sbx grant net:listen 8080
	[[ $output == *"Note: other users of this machine can reach it, too."* ]]
	run -0 sbx grant ipc:connect /run/docker.sock
	[[ $output == *"Note: Docker: who talks to it can do on this machine whatever Docker can"* ]]
	run -0 sbx grant ipc:connect /run/some.sock
	[[ $output != *"who talks to it"* ]]
	run -0 sbx grant net:access '*'
	[[ $output == *"Note: that is wide: every host"* ]]
	run -0 sbx grant fs:read /
	[[ $output == *"Note: that is wide: every file"* ]]
	run -0 sbx grant fs:read '~'
	[[ $output == *"Note: that is wide: all of your home that no rule denies."* ]]
	run -0 sbx grant fs:write "$(dirname "$HOME")"
	[[ $output == *"Note: that is wide: all of your home"* ]]
	run -0 sbx grant net:access '*:443'
	[[ $output == *"Note: that is wide: every host"* ]]
	run -0 sbx grant net:access 0.0.0.0/0
	[[ $output == *"Note: that is wide: every IPv4 address that no rule denies, also of private networks."* ]]
	run -0 sbx grant net:access '[::/0]:443'
	[[ $output == *"Note: that is wide: every IPv6 address"* ]]
	run -0 sbx grant net:access 10.0.0.0/8
	[[ $output != *Note:* ]]
	ln -s "$HOME" "$HOME/project/to-home"
	ln -s / "$HOME/project/to-all"
	run -0 sbx grant fs:read "$HOME/project/to-home"
	[[ $output == *"Note: that is wide: all of your home"* ]]
	run -0 sbx grant fs:write "$HOME/project/to-all"
	[[ $output == *"Note: that is wide: every file"* ]]
	rm "$HOME/project/to-home" "$HOME/project/to-all"
	run -0 sbx grant net:access '*.narrow.test'
	[[ $output != *Note:* ]]
	run -0 sbx grant net:access narrow.test:443
	[[ $output != *Note:* ]]
	run -1 sbx grant fs:read ~/.ssh/id_ed25519
	[[ $output == *"to lift it, allow it in ~/.config/sbx/policy.yaml"* ]]
	run -0 sbx why fs:read ~/.ssh/id_ed25519
	[[ $output == *"to allow it, in ~/.config/sbx/policy.yaml"* ]]
	sbx revoke --all
}

@test "revoke says which denials it lifts, and that --all keeps them; equal grants are noted as what they are" {
	run -0 sbx grant --deny net:access same.test:443
	run -0 sbx grant net:access same.test:443
	[[ $output == *"Note: without effect while grant "*" denies exactly this."* ]]
	run -0 sbx revoke --all
	[[ $output != *Lifted* ]]
	run -0 sbx revoke --all
	[[ $output == *"only denials are in force"*"revoke them by id"* ]]
	run -0 sbx revoke --profile default
	[[ $output == *"Lifted the denial "* ]]
	run -0 sbx revoke --all
	[[ $output == *"no grant in force fits"* ]]
}

@test "a denial that is lifted says which running sandboxes had it" {
	background had sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done'
	wait_for 30 test -e up
	sbx grant --deny fs:read "$HOME/elsewhere"
	run -0 sbx revoke "$(sbx grants --json | jq '.[0].id')"
	[[ $output == *"1 running sandbox had it, and is told."*"Lifted the denial "* ]]
	sbx grant --deny fs:read "$HOME/elsewhere" --profile npm
	sbx grant --deny net:access a.test --profile npm
	# shellcheck disable=SC2046 # ids
	run -0 sbx revoke $(sbx grants --json | jq '.[].id')
	[[ $output == *"No running sandbox had them."* ]]
	touch go
	finished had
	rm up go
}

@test "a grant by a link says which grant denies it where the link leads, and gives nothing until that is ended" {
	local denial
	mkdir -p "$HOME/vault/deep"
	echo secret >"$HOME/vault/deep/key"
	ln -s vault "$HOME/to-vault"
	ln -s vault/deep "$HOME/to-deep"
	sbx grant --deny fs:read "$HOME/vault"
	denial=$(sbx grants --json | jq '.[0].id')
	for link in to-vault to-deep; do
		run -0 sbx grant fs:read "$HOME/$link"
		contains "$output" ", where grant $denial denies it. To end that: sbx revoke $denial"
		lacks "$output" "is granted as long as"
		[ "$(grep -c Note: <<<"$output")" = 1 ]
	done
	run -1 sbx run -- cat "$HOME/to-deep/key"
	sbx revoke "$denial"
	run -0 sbx run -- cat "$HOME/to-deep/key"
	[ "$output" = secret ]
	sbx revoke --all
	sbx grant --deny fs:read "$HOME/vault/deep"
	run -0 sbx grant fs:read "$HOME/to-vault"
	contains "$output" "is granted as long as it does"
	contains "$output" "says the opposite about a part of it"
	sbx revoke --profile default
	rm -r "$HOME/vault" "$HOME/to-vault" "$HOME/to-deep"
}

@test "check: 0 for yes, 1 for no, 125 for neither; a --ttl out of range is wrong usage" {
	run -1 sbx check --no-ask net:access nobody.test:443
	run -125 sbx check --no-ask nothing:declared x
	run -2 sbx grant --ttl 5 net:access a.test:443
	run -2 sbx grant --ttl 99999d net:access a.test:443
	run -2 sbx history --follow --until 1h
}

# in_sandbox NUMBER FILE: what the sandbox reads there now.
in_sandbox() {
	# shellcheck disable=SC2016 # expanded by that shell
	timeout 60 sh -c 'echo "$1" >"ask$2" && cat "told$2"' sh "$2" "$1"
}

@test "when sbx grant has returned the sandboxes that run have it, and a denial keeps them from it" {
	local round number
	cd "$HOME/project"
	for number in 1 2; do
		mkfifo ask$number told$number
		# shellcheck disable=SC2016 # expanded in the sandbox
		background reader$number sbx run -- sh -c 'while read -r file <ask$1; do cat "$file" >told$1 2>&1; done' sh $number
		[[ $(in_sandbox $number /dev/null) == "" ]] # it runs
	done
	for round in {1..10}; do
		mkdir "$HOME/notes$round"
		echo "note $round" >"$HOME/notes$round/a"
		run -0 sbx grant fs:read "$HOME/notes$round"
		[ "$(in_sandbox 1 "$HOME/notes$round/a")$(in_sandbox 2 "$HOME/notes$round/a")" = "note ${round}note $round" ]
		contains "$output" "It is in force in 2 of 2 running sandboxes."
		run -0 sbx grant fs:read "$HOME/notes$round/a" --deny
		lacks "$(in_sandbox 1 "$HOME/notes$round/a")$(in_sandbox 2 "$HOME/notes$round/a")" "note $round"
		contains "$output" "It is in force in 2 of 2 running sandboxes."
	done
	mkdir "$HOME/elsewhere"
	run -0 sbx grant fs:read "$HOME/notes1" --project "$HOME/elsewhere"
	lacks "$output" "in force"
	run -0 sbx grant net:access in-no-view.test
	lacks "$output" "in force"
	run -0 sbx grant fs:read "$HOME/project" --no-wait
	lacks "$output" "in force"
	sbx kill --all
}
