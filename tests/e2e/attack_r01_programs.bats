#!/usr/bin/env bats
# The end of an allow of a program, in a sandbox that runs: from then on it isn't started unasked. Where neither a curtain is
# nor the filter stops at starts, for nothing was asked about when the run began, nobody can be asked: the program is shut,
# and the user is told. CMakeLists.txt runs this file with each doorbell.

load helper

setup_file() {
	home_make
	needs_doorbell
	echo text >"$HOME/project/file"
}

setup() {
	cd "$HOME/project" || return
	rules
	broker_stop
}

teardown() {
	touch "$HOME/project/end"
	sbx kill --all >/dev/null 2>&1 || true
	[ "$(sbx grants --json)" = '[]' ] || sbx revoke --all >/dev/null
	rm -f "$HOME/project/up" "$HOME/project/end"
}

# rules [LINE]: what the user's policy says from now on of both profiles; the broker and the sandboxes go on. The profile
# plain asks about nothing.
rules() {
	local profile
	{
		printf 'version: 1\nprompt: {timeout: 60s, without-agent: wait}\nprofiles:\n'
		for profile in default plain; do
			printf '  %s:\n    doorbell: %s\n%s\n' $profile "${SBX_TEST_DOORBELL:-auto}" "${1:+    $1}"
			[ $profile = default ] || printf '    extends: [base]\n'
		done
	} >"$HOME/policy.new"
	mv "$HOME/policy.new" "$HOME/.config/sbx/policy.yaml"
}

# starting NAME PROFILE: a sandbox that starts sha1sum over and over, until that fails.
starting() {
	# shellcheck disable=SC2016
	background "$1" sbx run --profile "$2" --allow "fs:write=$HOME/project" -- sh -c \
		'while sha1sum file >/dev/null 2>&1; do touch up; sleep 0.02; [ ! -e end ] || exit 9; done; sha1sum file; echo "status $?"'
	wait_for 60 test -e up
}

# is_asked NAME: about its next start, and a denial holds.
is_asked() {
	local id
	id=$(prompt_id)
	[ "$(sbx prompts --json | jq -r '.[] | "\(.permission) \(.target)"')" = "proc:spawn /usr/bin/sha1sum" ]
	sbx deny "$id" --session
	finished "$1" 20
	echo "$output"
	contains "$output" "status 126"
}

# is_shut NAME: its next start fails, and the user is told why. One that is under way in that very moment is held, and asked about.
is_shut() {
	finished_answering deny "$1"
	echo "$output"
	contains "$output" "status 126"
	contains "$output" "sha1sum: a rule asks about this program now, and in this run nobody can be asked: it is not started until the next run"
	[ "$(sbx prompts --json)" = '[]' ]
	sbx history --json | jq -se 'map(select(.kind == "repair" and .permission == "proc:spawn" and (.target | endswith("sha1sum")))) | length >= 1'
}

@test "attack_r_01: a program that a rule asks about only since the run began is asked about" {
	starting begun default
	rules 'ask: {proc:spawn: [sha1sum]}'
	is_asked begun
}

@test "attack_r_01: a program that a rule asks about, and of which a grant is revoked, is asked about" {
	rules 'ask: {proc:spawn: [sha1sum]}'
	sbx grant proc:spawn sha1sum --profile default
	starting granted default
	run sbx revoke --match proc:spawn sha1sum
	echo "$output"
	contains "$output" "in 1 of 1 running sandbox"
	is_asked granted
}

@test "attack_r_01: a program that a rule asks about only since the run began, where nobody can be asked in it, is shut" {
	starting begun plain
	rules 'ask: {proc:spawn: [sha1sum]}'
	is_shut begun
	background next sbx run --profile plain --allow "fs:write=$HOME/project" -- sha1sum file # which asks
	sbx allow "$(prompt_id)"
	finished next 20
	[ "$status" = 0 ]
}

@test "attack_r_01: a program that a rule asks about, and of which a grant is revoked where nobody can be asked, is shut" {
	rules 'ask: {proc:spawn: [sha1sum]}'
	sbx grant proc:spawn sha1sum --profile plain
	starting granted plain
	run sbx revoke --match proc:spawn sha1sum
	echo "$output"
	contains "$output" "in 1 of 1 running sandbox"
	is_shut granted
}

@test "attack_r_01: a program that a rule denies only since the run began is not started in it" {
	local profile
	for profile in default plain; do
		rules
		starting denied $profile
		rules 'deny: {proc:spawn: [sha1sum]}'
		finished denied 20
		echo "$output"
		contains "$output" "status 126"
		rm -f up
	done
}

@test "attack_r_01: where no program may be started any more the run is ended, and the history says why" {
	starting ended plain
	rules "deny: {proc:spawn: ['*']}"
	finished ended 20
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "lets no program run: it is ended"
	sbx history --json | jq -se 'map(select(.kind == "repair" and (.detail.why // "" | contains("lets no program run")))) | length >= 1'
}
