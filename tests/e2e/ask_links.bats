#!/usr/bin/env bats
# Rules and grants for files that name them by links. CMakeLists.txt runs this file with each doorbell.
# shellcheck disable=SC2016,SC2088 # expanded inside the sandbox or by sbx

load helper

setup_file() {
	home_make
	needs_doorbell
	mkdir -p "$HOME/notes"
	echo first >"$HOME/notes/f"
	echo second >"$HOME/notes/g"
	ln -s "$HOME/notes" "$HOME/l"
	ln -s "$HOME/notes/f" "$HOME/lf"
	ln -s /usr/bin/sha1sum "$HOME/sum"
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	[ "$(sbx grants --json)" = '[]' ] || sbx revoke --all >/dev/null
}

# asking TARGET: a rule of a profile that is extended asks about reading it, so nothing is asked before the start.
asking() {
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  asking:
    extends: [base]
    ask: {fs:read: [$1]}
  default:
    extends: [asking]
    home: ephemeral
    doorbell: ${SBX_TEST_DOORBELL:-auto}
END
}

# is_asked_about TARGET: the question; its id is in $id.
is_asked_about() {
	id=$(prompt_id)
	sbx prompts --json | jq -r '.[] | "\(.permission) \(.target)"'
	[ "$(sbx prompts --json | jq -r '.[] | "\(.permission) \(.target)"')" = "fs:read $1" ]
}

# next_question: another than $id is open.
next_question() {
	wait_for 20 is_next
}

is_next() {
	sbx prompts --json | jq -e --argjson id "$id" '.[0].id // $id | . != $id' >/dev/null
}

# answer_all LIFE: allows each question until "$HOME/l/f" was one.
answer_all() {
	local target=
	id=0
	while [ "$target" != "$HOME/l/f" ]; do
		next_question
		id=$(sbx prompts --json | jq -r '.[0].id')
		target=$(sbx prompts --json | jq -r '.[0].target')
		echo "asked about $target"
		sbx allow "$id" "$1"
	done
}

@test "what a rule asks about by a link to its folder is asked about, by either name, and read when it is allowed" {
	asking '~/l'
	background reader sbx run -- sh -c 'cat ~/notes/f; cat ~/l/g; cat ~/l/f'
	is_asked_about "$HOME/l/f"
	sbx allow "$id" --session
	next_question
	is_asked_about "$HOME/l/g"
	sbx deny "$id"
	finished reader 20
	echo "$output"
	contains "$output" "first"
	contains "$output" "Permission denied"
	[ "$(grep -c first <<<"$output")" = 2 ]
	run ! contains "$output" "second"
}

@test "what a rule asks about by a link to the file is asked about: read when it is allowed once, and a denial is told" {
	asking '~/lf'
	background reader sbx run --fail-on-deny -- cat "$HOME/lf"
	is_asked_about "$HOME/lf"
	sbx allow "$id" --once
	finished reader 20
	[ "$status" = 0 ]
	[ "$output" = first ]
	background reader sbx run --fail-on-deny -- sh -c 'cat ~/notes/f; true'
	is_asked_about "$HOME/lf"
	sbx deny "$id"
	finished reader 20
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "blocked fs:read"
}

@test "what a pattern denies by its own name isn't given by a link that a rule asks about, whatever is answered" {
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  asking:
    extends: [base]
    ask: {fs:read: [~/l]}
    deny: {fs:read: ["~/notes/[g]"]}
  default:
    extends: [asking]
    home: ephemeral
    doorbell: ${SBX_TEST_DOORBELL:-auto}
END
	local life
	for life in --once --session; do
		background reader sbx run -- sh -c 'cat ~/l/g ~/notes/g; cat ~/l/f'
		answer_all "$life"
		finished reader 20
		echo "$output"
		contains "$output" first
		run ! contains "$output" second
		sbx revoke --all
	done
}

@test "a grant by a link of just what a rule asks about gives it" {
	asking '~/notes'
	run sbx grant fs:read '~/l'
	[ "$status" = 0 ]
	contains "$output" "it leads to $HOME/notes"
	run sbx run -- sh -c 'cat ~/l/f ~/notes/g'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = $'first\nsecond' ]
	sbx revoke --all
	run sbx run --allow fs:read="$HOME/l" -- sh -c 'cat ~/l/f ~/notes/g'
	echo "$output"
	[ "$output" = $'first\nsecond' ]
	sbx grant --deny fs:read '~/notes'
	run sbx run --allow fs:read="$HOME/l" -- sh -c 'cat ~/l/f; cat ~/notes/g'
	echo "$output"
	run ! grep -E 'first|second' <<<"$output"
}

@test "a grant of a file by a link is no answer to a rule that asks before the program is run" {
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    home: ephemeral
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    ask: {proc:spawn: [/usr/bin/sha1sum]}
END
	sbx grant fs:read '~/sum'
	run sbx run -- sh -c '/usr/bin/sha1sum /etc/hostname; ~/sum /etc/hostname'
	echo "$output"
	run ! grep '[0-9a-f]\{40\}' <<<"$output"
}

@test "a denial of a program by a link is two grants, and holds for the program when the link is moved" {
	ln -s /usr/bin/sha1sum "$HOME/moved"
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    doorbell: ${SBX_TEST_DOORBELL:-auto}
END
	run sbx grant --deny proc:spawn '~/moved'
	echo "$output"
	contains "$output" "it leads to /usr/bin/sha1sum, which is denied, too"
	[ "$(grep -c '^Denied (grant' <<<"$output")" = 2 ]
	ln -sfn /usr/bin/md5sum "$HOME/moved"
	run ! sbx run -- sha1sum /etc/hostname
	run ! sbx run -- sh -c 'sha1sum /etc/hostname'
}

@test "a grant of a program by a link is of the program: it counts by any name, and revoke --match finds it" {
	ln -s /usr/bin/sha224sum "$HOME/sum2"
	ln -s /usr/bin/sha224sum "$HOME/sum3"
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    home: ephemeral
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    allow: {fs:read: [~/sum2]}
    ask: {proc:spawn: [~/sum2]}
END
	local name
	for name in '~/sum2' '~/sum3'; do
		run ! sbx run -- sh -c '~/sum2 /etc/hostname'
		run sbx grant proc:spawn "$name"
		echo "$output"
		contains "$output" "may run the program /usr/bin/sha224sum"
		run sbx run -- sh -c '~/sum2 /etc/hostname'
		echo "$output"
		[ "$status" = 0 ]
		run sbx revoke --match proc:spawn /usr/bin/sha224sum
		echo "$output"
		contains "$output" "Revoked grant"
		run ! sbx run -- sh -c '~/sum2 /etc/hostname'
	done
}

@test "a grant of a program by another way to it (merged /usr) answers the rule that asks about it" {
	[ "$(readlink -f /bin/env)" = /usr/bin/env ] || skip "/bin is no link here"
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    ask: {proc:spawn: [/usr/bin/env]}
END
	run ! sbx run -- sh -c 'env true'
	sbx grant proc:spawn /bin/env
	run sbx run -- sh -c '/usr/bin/env true && /bin/env true'
	echo "$output"
	[ "$status" = 0 ]
	run sbx revoke --match proc:spawn /bin/env
	contains "$output" "Revoked grant"
	run ! sbx run -- sh -c 'env true'
}
