#!/usr/bin/env bats
# A denial of programs holds for whatever start the rule speaks of: in folders that no PATH names, of what comes to be
# only during the run, of scripts that name the program, and whatever doorbell the profile has. CMakeLists.txt runs this
# file with each doorbell.

load helper

setup_file() {
	home_make
	needs_doorbell
	mkdir -p "$HOME/other" "$HOME/project/deep/er"
	# shellcheck disable=SC2016
	printf '#!/bin/sh\necho "$0 RAN"\n' >"$HOME/project/evil"
	chmod +x "$HOME/project/evil"
	cp "$HOME/project/evil" "$HOME/other/evil"
	cp "$HOME/project/evil" "$HOME/other/tool"
	cp "$HOME/project/evil" "$HOME/project/deep/er/tool"
	ln -s tool "$HOME/other/wicked"
	cp /usr/bin/id "$HOME/project/wicked"
	printf '#!%s/project/wicked\n' "$HOME" >"$HOME/project/script"
	chmod +x "$HOME/project/script"
	echo text >"$HOME/project/README"
	echo text >"$HOME/other/README"
}

setup() {
	cd "$HOME/project" || return
	broker_stop
}

teardown() {
	touch "$HOME/project/end"
	sbx kill --all >/dev/null 2>&1 || true
	[ "$(sbx grants --json)" = '[]' ] || sbx revoke --all >/dev/null
	rm -f "$HOME/project/up" "$HOME/project/end" "$HOME/project/late" "$HOME/other/late"
}

# rules LINE [DOORBELL]: of the profile tool, which reads ~/other and writes the project.
rules() {
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  tool:
    extends: [base]
    doorbell: ${2:-${SBX_TEST_DOORBELL:-auto}}
    allow: {fs:read: [~/other], fs:write: ['\${project}']}
    $1
END
}

# in_tool COMMAND: in a sandbox of that profile.
in_tool() {
	run sbx run --profile tool -- sh -c "$1"
	echo "$output"
}

# is_denied PATH: its start has a row, and sbx why agrees.
is_denied() {
	run sbx why --profile tool proc:spawn "$1"
	contains "$output" "So: deny"
	sbx history --json | jq -se --arg path "$1" \
		'map(select(.permission == "proc:spawn" and .target == $path and .verdict == "deny")) | length >= 1'
}

@test "attack_r_01: a program that is denied by its name is not started in any folder" {
	local doorbell
	for doorbell in "${SBX_TEST_DOORBELL:-auto}" none; do
		rules 'deny: {proc:spawn: [evil]}' "$doorbell"
		in_tool './evil; ~/other/evil; cp evil /tmp/evil; /tmp/evil; ln -s evil link; ./link; rm link; ~/other/tool'
		[ "$(grep -c 'Permission denied' <<<"$output")" = 4 ]
		[ "$(grep RAN <<<"$output")" = "$HOME/other/tool RAN" ]
		is_denied "$HOME/project/evil"
		is_denied "$HOME/other/evil"
		is_denied /tmp/evil
	done
}

@test "attack_r_01: a program that is denied by its name is not started by a link of that name, nor by a #! line" {
	rules 'deny: {proc:spawn: [wicked]}'
	in_tool './wicked; ~/other/wicked; ./script; echo "status $?"'
	lacks "$output" RAN
	lacks "$output" uid=
	contains "$output" "status 126"
	is_denied "$HOME/other/wicked"
	is_denied "$HOME/project/wicked"
}

@test "attack_r_01: a program that is denied by its path and comes to be during the run is not started" {
	# shellcheck disable=SC2016
	rules 'deny: {proc:spawn: ["${project}/late", "~/other/late"]}'
	# shellcheck disable=SC2016
	background run sbx run --profile tool -- sh -c \
		'cp evil late; ./late; touch up; until [ -e end ]; do sleep 0.02; done; ~/other/late; echo "status $?"'
	wait_for 20 test -e up
	cp "$HOME/other/evil" "$HOME/other/late"
	touch end
	finished run 20
	echo "$output"
	lacks "$output" RAN
	contains "$output" "status 126"
	is_denied "$HOME/project/late"
	is_denied "$HOME/other/late"
}

@test "attack_r_01: a denial of a program by its name holds in a sandbox that runs, as soon as sbx grant says so" {
	rules 'ask: {env:read: [NOTHING]}'
	# shellcheck disable=SC2016
	background run sbx run --profile tool -- sh -c \
		'true; ~/other/evil; touch up; until [ -e end ]; do sleep 0.02; done; ./evil; ~/other/evil; echo "status $?"'
	wait_for 20 test -e up
	run sbx grant --deny --profile tool proc:spawn evil
	echo "$output"
	contains "$output" "in 1 of 1 running sandbox"
	touch end
	finished run 20
	echo "$output"
	[ "$(grep RAN <<<"$output")" = "$HOME/other/evil RAN" ]
	contains "$output" "status 126"
	is_denied "$HOME/project/evil"
}

@test "attack_r_01: a denial of the programs of a folder denies programs, and no other files" {
	# shellcheck disable=SC2016
	rules 'deny: {proc:spawn: ["${project}/**", "~/other/**"]}'
	in_tool 'cat README ~/other/README; ./evil; deep/er/tool; ~/other/tool; cp README deep/new; cp /bin/true new; ./new; echo "status $?"'
	[ "$(grep -c '^text$' <<<"$output")" = 2 ]
	lacks "$output" RAN
	contains "$output" "status 126"
	[ -e deep/new ]
	is_denied "$HOME/project/deep/er/tool"
	rm deep/new new
}

@test "attack_r_01: a program that a rule asks about is not run by ld.so where starts are trapped" {
	local loader
	loader=$(ldd /usr/bin/id | grep -o '/[^ ]*/ld-[^ ]*')
	rules 'ask: {proc:spawn: ["/usr/bin/i?", wicked]}' traps
	in_tool "id; $loader /usr/bin/id; ./wicked; $loader ./wicked; true"
	lacks "$output" uid=
	[ "$(sbx history --json --verdict deny | jq -s 'map(select(.permission == "proc:spawn")) | map(.target) | unique | length')" -ge 2 ]
}
