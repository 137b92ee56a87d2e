#!/usr/bin/env bats
# F1: most names that are made are let go on by a look at the path alone (runner/plan/lead.h, lead_straight), before anything else is
# looked at. Here are ways to a name that is asked about, and that nobody allows, which such a look could take for another one.
# shellcheck disable=SC2030,SC2031 # each test has variables of its own

load helper

setup_file() {
	home_make
	mkdir -p "$HOME/shown/sub" "$HOME/docs"
	default_policy "without-agent: deny" "    allow: {fs:read: [~/shown, ~/docs], fs:write: [~/work], fs:link: [/]}
    ask: {fs:write: [~/shown, ~/docs, '**/conf']}"
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
	chmod -R u+rwx .
	find . -mindepth 1 -delete
	git init -q .
}

tool() {
	run timeout 120 sbx run -- python3 - "$@" <"$TESTS/plain.py"
	echo "$output"
}

tool_in_background() {
	background tool timeout 120 sbx run "${options[@]}" -- python3 -c "$(<"$TESTS/plain.py")" "$@"
	wait_for 60 test -e up
}

denied() {
	sbx history --verdict deny --json | jq -se --arg target "$1" 'flatten | any(.target == $target)' >/dev/null ||
		{ echo "no denial on record: $1" && return 1; }
}

# none_made: the project has nothing that is asked about, and the tool said so of each of its tries.
none_made() {
	for name in .envrc .vscode; do [ ! -e "$name" ] && [ ! -L "$name" ]; done
	lacks "$output" "worked"
}

@test "attack_f_01: a way up behind a link leads to where the kernel goes up from" {
	tool up
	none_made
	denied "$PWD/.envrc"
	denied "$PWD/.vscode"
	tool up_elsewhere "$HOME/shown"
	none_made
	[ ! -e "$HOME/shown/x" ]
	denied "$HOME/shown"
}

@test "attack_f_01: a link at the end of a path makes the name that it has" {
	tool last
	none_made
	contains "$output" "no follow ELOOP"
	contains "$output" "exclusive EEXIST"
	denied "$PWD/.envrc"
}

@test "attack_f_01: links of /proc lead where they stand for" {
	tool proc
	none_made
	denied "$PWD/.envrc"
}

@test "attack_f_01: what was a folder a moment ago may be a link" {
	tool place_of_a_folder
	[ ! -e .envrc ]
	[ "$(grep worked <<<"$output")" = "what isn't asked about worked" ]
	contains "$output" "plain True"
	denied "$PWD/.envrc"
}

@test "attack_f_01: a folder that was shut hides no link once it is open" {
	tool shut
	none_made
	denied "$PWD/.envrc"
}

@test "attack_f_01: what the host makes meanwhile isn't written, whatever leads there" {
	options=()
	tool_in_background made_by_the_host
	mkdir -p .git/modules/m/hooks
	touch go
	finished tool
	echo "$output"
	lacks "$output" "worked"
	[ -z "$(ls .git/modules/m/hooks)" ]
}

@test "attack_f_01: a folder that a newer mount covers keeps what is in it" {
	options=()
	tool_in_background below_a_newer_mount
	mkdir -p ~/.x
	touch ~/.x/marker
	sbx grant fs:write ~/.x --profile python
	finished tool
	echo "$output"
	[ ! -e .envrc ]
	[ "$(grep worked <<<"$output")" = "by the new name worked" ]
	[ "$(<"$HOME/.x/n")" = evil ]
	denied "$PWD/.envrc"
	sbx revoke --all
}

@test "attack_f_01: a pattern that matches a folder above what may be written masks what is in it" {
	mkdir -p "$HOME/data/conf/work"
	ln -sfn "$HOME/data/conf/work" "$HOME/work"
	tool in_a_pattern "$HOME/data/conf/work"
	lacks "$output" "worked"
	[ -z "$(ls "$HOME/data/conf/work")" ]
}

@test "attack_f_01: a folder that is pinned since something in it is masked is masked by a pattern still" {
	options=(--deny "fs:write=$PWD/a/conf/special")
	tool_in_background in_a_pin
	mkdir -p a/conf
	touch a/conf/special
	touch go
	finished tool
	echo "$output"
	lacks "$output" "worked"
	[ "$(ls a/conf)" = special ]
}

# What a grant makes writable where it is mounted already is so for who has it open: who is asked about can be given it.
@test "a change by a descriptor alone is asked about, and goes on when it is granted" {
	local mode
	options=()
	touch "$HOME/docs/file"
	chmod 700 "$HOME/docs"
	tool_in_background by_a_descriptor "$HOME/docs"
	mode=$(stat -c %a "$HOME/docs")
	sbx grant fs:write ~/docs --profile python
	touch go
	finished tool
	echo "$output"
	[ "$mode" = 700 ]
	lacks "$output" "fchmod worked"
	contains "$output" "fchmod later worked"
	contains "$output" "futimens later worked"
	denied "$HOME/docs"
	denied "$HOME/docs/file"
	sbx revoke --all
}

@test "attack_f_06: no file takes the place of a folder of masked names that are missing" {
	rm -rf .git
	tool a_folder_of_masks_as_a_file
	lacks "$output" "worked"
	[ ! -e .git ] && [ ! -e .jj/repo ]
	denied "$PWD/.git/commondir"
}

@test "attack_f_17: what the host makes while it runs is written by no descriptor, link or way through /proc" {
	# shellcheck disable=SC2016 # sbx expands it
	options=(--deny 'fs:write=${project}/**/*.den' --profile python)
	tool_in_background made_by_the_host_and_open .envrc a.code-workspace x.den
	for name in .envrc a.code-workspace x.den; do echo mine >"$name"; done
	finished tool
	echo "$output"
	lacks "$output" "worked"
	for name in .envrc a.code-workspace x.den; do [ "$(cat "$name")" = mine ] && [ "$(stat -c %a "$name")" = 644 ]; done
	denied "$PWD/.envrc"
	denied "$PWD/x.den"
}

@test "attack_f_17: what the host's git is about to rename to a masked file isn't written by the name of its lock" {
	tool_in_background locks_of_git .git/config.lock .gitmodules.lock
	for lock in .git/config.lock .gitmodules.lock; do echo mine >"$lock"; done
	finished tool
	echo "$output"
	lacks "$output" "worked"
	denied "$PWD/.git/config"
	denied "$PWD/.gitmodules"
	[ ! -e link ]
	for lock in .git/config.lock .gitmodules.lock; do [ "$(<"$lock")" = mine ]; done
}

# found NAME: the history says that it is to be looked at.
found() {
	sbx history --json | jq -se --arg target "$PWD/$1" 'any(.kind == "finding" and .target == $target)' >/dev/null
}

# renamed_by_the_host NAME WAY…: the tool has what the host then gives a masked name.
renamed_by_the_host() {
	tool_in_background before_the_host_renames "$@"
	echo mine >temporary.new
	mv temporary.new temporary
	wait_for 60 test -e held
	mv temporary "$1"
	finished tool || true
	echo "$output"
	[ "$(<"$1")" = mine ]
}

@test "attack_f_17: who holds what the host renames to a masked name is ended where he could write it" {
	for name in .envrc .npmrc; do # one that is there, and one that isn't
		for way in descriptor map message; do
			echo before >.envrc
			renamed_by_the_host "$name" "$way"
			contains "$output" "that held what is not allowed any more: "
			[ "$way" = message ] || contains "$output" "($PWD/$name)"
			found "$name"
			rm -f .npmrc held up
		done
	done
}

@test "attack_f_17: another name of what the host renames to a masked one is masked, too" {
	echo before >.envrc
	renamed_by_the_host .envrc link
	lacks "$output" worked
	contains "$output" "$PWD/.envrc has other names (hard links)"
	rm -f link held up
}

@test "attack_f_20: what is denied while a tool has it open to read is written by no way through /proc" {
	for what in fs:write fs:read; do
		echo mine >file
		tool_in_background denied_while_it_is_open file
		sbx grant --deny "$what" "$PWD/file" --profile python
		touch go
		finished tool
		echo "$output"
		lacks "$output" worked
		contains "$output" "still b'mine"
		[ "$(<file)" = mine ] && [ "$(stat -c %a file)" = 644 ] && [ ! -e link ]
		denied "$PWD/file"
		sbx revoke --all
		rm -f way up go file
	done
}

@test "attack_f_08: what was granted by its own name gets no other one" {
	for allow in "" "fs:write=$PWD/.envrc"; do
		echo mine >.envrc
		[ "$allow" ] || sbx grant --once fs:write "$PWD/.envrc"
		run timeout 120 sbx run --profile default ${allow:+--allow "$allow"} -- python3 - links_of_what_is_granted <"$TESTS/plain.py"
		echo "$output"
		[ "$(<.envrc)" = evil ]
		contains "$output" "link EXDEV"
		contains "$output" "link by /proc EXDEV"
		[ ! -e link ]
		[ -e second ]
		rm second plain
	done
}

@test "attack_n_16: a pipe in a folder that may be read is opened to write no way unasked" {
	mkfifo "$HOME/shown/pipe"
	timeout 60 cat "$HOME/shown/pipe" >"$HOME/run/read" 3>&- &
	tool a_pipe "$HOME/shown/pipe"
	lacks "$output" "worked"
	denied "$HOME/shown/pipe"
	: >"$HOME/shown/pipe"
	wait $!
	[ ! -s "$HOME/run/read" ]
	rm "$HOME/shown/pipe"
}

@test "a link to what may only be read is changed itself, copied and packed unasked; what it leads to is asked about" {
	touch "$HOME/docs/read"
	ln -s "$HOME/docs/read" link
	run -0 sbx run --fail-on-deny -- sh -c 'touch -h -d 2001-01-01 link; chown -h '"$UID"' link; cp -a link copy; mkdir out; tar cf - link | tar xf - -C out; mv copy moved; rm moved'
	[ "$(stat -c %Y link)" = "$(date -d 2001-01-01 +%s)" ]
	run sbx run -- sh -c 'touch -d 2001-01-01 link; chmod 600 link; echo x >link'
	[ "$(stat -c %a "$HOME/docs/read")" = 644 ]
	[ ! -s "$HOME/docs/read" ]
	denied "$HOME/docs/read"
}
