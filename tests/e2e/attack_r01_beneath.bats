#!/usr/bin/env bats
# Withdrawn means by folders of mounts that aren't in sight any more, too: what lies below a tree that was put anew, and what
# was detached while it was allowed.
# shellcheck disable=SC2030,SC2031 # a test's variables are its own

load helper

setup_file() {
	home_make
	asking_policy
	sbx grants >/dev/null # starts the broker
}

setup() {
	cd "$HOME/project" || return
	rm -f up go end read
	here=$HOME/t$BATS_TEST_NUMBER
	mkdir -p "$here"/{a/x,b/x,sub/x} "$HOME/other"
	cp "$TESTS/holding.py" .
}

teardown() {
	touch "$HOME/project/end" "$HOME/project/go"
	sbx kill --all >/dev/null 2>&1 || true
	sbx revoke --all >/dev/null 2>&1 || true
	asking_policy
}

# rules LINE…: of the profile called default, at once and without another broker.
rules() {
	local file=$HOME/.config/sbx/policy.yaml
	asking_policy_text "$@" >"$file.new"
	mv "$file.new" "$file"
	sbx grants >/dev/null
}

# Likewise, but nobody is asked.
rules_alone() {
	without_agent=deny rules "$@"
}

asking_policy_text() {
	printf '%s\n' 'version: 1' "prompt: {timeout: 60s, without-agent: ${without_agent:-wait}}" profiles: '  default:' '    doorbell: auto' "$@"
}

# holding HOW FOLDER NAME: a sandbox that holds it and reads FOLDER/NAME, once that is there.
holding() {
	background holder sbx run --profile default -- python3 holding.py "$@"
	wait_for 20 test -e up || { cat "$HOME/run/holder.out" && return 1; }
}

# is_read FILE: the holder reads what comes there. is_not_read FILE: it was ended, and reads nothing. is_ended: it was, or is.
is_read() {
	echo "what came" >"$1"
	wait_for 30 test -e read
	rm "$1"
}

is_not_read() {
	rm -f read
	echo "what came later" >"$1"
	is_ended
	[ ! -e read ]
}

is_ended() {
	finished holder 20
	echo "$output ($status)"
	[ "$status" = 137 ]
	contains "$output" "that held what is not allowed any more"
}

@test "attack_r_01: the part of a tree that was put anew is withdrawn from who has the tree below it open" {
	local how allowed="    allow: {fs:read: [$here]}" asked="    ask: {fs:read: [$here/b]}"
	for how in cwd opened; do
		rm -f up end
		rules "$allowed" "$asked" "    deny: {fs:read: [$here/a]}"
		sbx grant fs:read "$here/b" --profile default
		holding "$how" "$here" b/new
		is_read "$here/b/new"
		rules "$allowed" "$asked" "    deny: {fs:read: [$here/a/x]}" # a mask lay over that one
		run -0 sbx revoke --match fs:read "$here/b"
		is_not_read "$here/b/new"
		rm "$here/b/new"
	done
}

@test "attack_r_01: an edited policy that has the tree put anew denies to who has the tree below it open, too" {
	rules "    allow: {fs:read: [$here]}" "    deny: {fs:read: [$here/a]}"
	holding opened "$here" b/new
	is_read "$here/b/new"
	rules "    allow: {fs:read: [$here]}" "    deny: {fs:read: [$here/a/x, $here/b]}"
	is_ended
}

is_asked() {
	[ "$(sbx prompts --json | jq length)" != 0 ]
}

@test "attack_r_01: what a broader grant covers is withdrawn with the part that is denied later" {
	background holder sbx run --profile default -- python3 holding.py cwd "$here/sub" x/new
	wait_for 20 is_asked
	sbx grant fs:read "$here/sub" --profile default
	wait_for 20 test -e up
	sbx grant fs:read "$here" --profile default
	is_read "$here/sub/x/new"
	sbx grant --deny fs:read "$here/sub/x" --profile default
	is_ended
}

@test "attack_r_01: what was detached while it was allowed is withdrawn with the part that is denied after other ends" {
	sbx grant fs:write "$here" --profile default
	run -0 sbx grant --deny fs:write "$here/sub" --profile default
	[[ $output =~ grant\ ([0-9]+) ]]
	local denial=${BASH_REMATCH[1]}
	holding opened "$here/sub" x/new
	sbx revoke "$denial"
	sbx grant fs:read "$HOME/other" --profile default
	sbx revoke --match fs:read "$HOME/other"
	is_read "$here/sub/x/new"
	sbx grant --deny fs:read "$here/sub/x" --profile default
	is_ended
}

@test "attack_r_01: a tree that is put anew and shows no less ends nobody" {
	rules "    allow: {fs:read: [$here]}" "    deny: {fs:read: [$here/a]}"
	holding cwd "$here" b/new
	sbx grant fs:read "$HOME/other" --profile default
	rules "    allow: {fs:read: [$here]}" "    deny: {fs:read: [$here/a/x]}"
	sbx revoke --match fs:read "$HOME/other"
	is_read "$here/b/new"
	touch end
	finished holder 20
	echo "$output ($status)"
	[ "$status" = 0 ]
}

# The folder is pinned for the mask that comes, by a mount that lies over who is in there already.
@test "attack_r_01: what is masked during the run is masked for who stands in its folder or has it open, too" {
	local way
	mkdir -p s
	cat >inside.sh <<-'END'
		cd s && exec 3<. && touch ../up
		while [ ! -e b ] || cat ../s/b >/dev/null 2>&1; do sleep 0.02; done
		{ cat b; cat <&3 /dev/fd/3/b; (echo written >>b); } >../read 2>&1
		echo over >>../read
	END
	for way in revoked denied edited made; do
		rm -f up read s/b
		[ "$way" = made ] || echo secret >s/b
		case $way in
		revoked) rules_alone "    ask: {fs:read: [$PWD/s/b]}" ;;
		made) rules_alone "    deny: {fs:read: ['**/b']}" ;;
		*) rules_alone ;;
		esac
		[ "$way" != revoked ] || sbx grant fs:write "$PWD/s/b" --profile default
		background holder sbx run --profile default -- sh inside.sh
		wait_for 20 test -e up
		case $way in
		revoked) sbx revoke --all ;;
		denied) sbx grant --deny fs:read "$PWD/s/b" --profile default ;;
		edited) rules_alone "    deny: {fs:read: ['**/b']}" ;;
		made) echo secret >s/b ;;
		esac
		wait_for 20 grep -qs over read
		finished holder 20
		run -1 grep secret read
		run -0 cat s/b
		[ "$output" = secret ]
		sbx revoke --all >/dev/null
	done
}

# What the process that stands in ./s finds there, and by ../s.
told() {
	round=$((${round:-0} + 1))
	echo "$round" >asking
	mv asking ask
	wait_for 30 test -e "told.$round"
	run cat "told.$round"
}

reads() {
	told
	[[ $output == "$1" ]]
}

# No denial is left of the tests before.
lift() {
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id')
}

@test "attack_r_01: what is masked, lifted and masked again is so for who stands in a folder from before the first mask" {
	mkdir -p s/t
	echo b >s/b
	echo c >s/c
	echo k >s/t/k
	cat >inside.sh <<-'END'
		cd s && exec 3<t && touch ../up
		last=
		until [ -e ../end ]; do
			sleep 0.02
			asked=$(cat ../ask 2>/dev/null)
			[ "$asked" != "$last" ] || continue
			last=$asked
			for f in b c /dev/fd/3/k ../s/b ../s/c ../s/t/k; do cat "$f" 2>/dev/null || echo -; done |
				tr '\n' ' ' >../telling
			mv ../telling "../told.$asked"
		done
	END
	rules_alone
	lift
	background holder sbx run --profile default -- bash inside.sh
	wait_for 20 test -e up
	wait_for 20 reads "b c k b c k "
	sbx grant --deny fs:read "$PWD/s/b" --profile default
	wait_for 20 reads "- c k - c k "
	sbx grant --deny fs:read "$PWD/s/c" --profile default
	wait_for 20 reads "- - k - - k "
	sbx grant --deny fs:read "$PWD/s/t/k" --profile default
	wait_for 20 reads "- - - - - - "
	run sbx revoke --match fs:read "$PWD/s/b"
	wait_for 20 reads "b - - b - - "
	run sbx revoke --match fs:read "$PWD/s/t/k"
	wait_for 20 reads "b - k b - k "
	sbx grant --deny fs:read "$PWD/s/b" --profile default
	sbx grant --deny fs:read "$PWD/s/t/k" --profile default
	wait_for 20 reads "- - - - - - "
	lift
	wait_for 20 reads "b c k b c k "
	sbx grant --deny fs:read "$PWD/s/c" --profile default
	wait_for 20 reads "b - k b - k "
	rules_alone "    ask: {fs:read: [$PWD/s/b]}"
	wait_for 20 reads "- - k - - k "
	sbx grant fs:read "$PWD/s/b" --profile default # in a folder that may be written
	wait_for 20 reads "b - k b - k "
	lift
	wait_for 20 reads "- c k - c k "
	rules_alone
	wait_for 20 reads "b c k b c k "
	touch end
	finished holder 20
	[ "$status" = 0 ]
}

repaired() {
	sbx history --json | jq -se --arg path "$1" 'any(.[]; .kind == "repair" and .target == $path)' >/dev/null
}

@test "attack_r_01: what the host replaces under a mask is masked again for who stands in its folder from before the mask" {
	mkdir -p q
	echo old >q/b
	cat >inside.sh <<-'END'
		cd q && exec 3<. && touch ../up
		until [ -e ../go ]; do sleep 0.02; done
		{ cat b; cat <&3 /dev/fd/3/b; cat "$PWD/b"; (echo written >>b); } >../read 2>&1
		echo over >>../read
	END
	rules_alone
	background holder sbx run --profile default -- sh inside.sh
	wait_for 20 test -e up
	sbx grant --deny fs:read "$PWD/q/b" --profile default
	echo secret >q/new
	mv q/new q/b # as an editor saves
	wait_for 20 repaired "$PWD/q/b"
	touch go
	finished holder 20
	run -1 grep secret read
	[ "$(cat q/b)" = secret ]
}

@test "attack_r_01: all that is denied in a folder stays so for who stands above it when the folder is denied to be written" {
	mkdir -p f/a/s
	echo k >f/a/k
	echo secret >f/a/s/b
	cat >inside.sh <<-'END'
		cd f && exec 3<. && touch ../up
		until [ -e ../go ]; do sleep 0.02; done
		{ cat a/k a/s/b; cat /dev/fd/3/a/k /dev/fd/3/a/s/b; (echo written >>a/new); } >../read 2>&1
		echo over >>../read
	END
	rules_alone
	lift
	background holder sbx run --profile default -- sh inside.sh
	wait_for 20 test -e up
	sbx grant --deny fs:read "$PWD/f/a/k" --profile default
	sbx grant --deny fs:read "$PWD/f/a/s" --profile default
	run -0 sbx grant --deny fs:write "$PWD/f/a" --profile default
	contains "$output" "in force in 1 of 1"
	touch go
	finished holder 20
	cat read
	[ "$status" = 0 ]
	[[ $(tail -n 1 read) == over ]]
	run -1 grep -e secret -e '^k' read
	[ ! -e f/a/new ]
	[ "$(cat f/a/s/b)" = secret ]
}

# Looking for what is below the mask must not open the mask.
@test "attack_r_01: a mask stays where the host has replaced its folder while the folder above was denied, too" {
	local folder
	mkdir -p r/a/s
	echo secret >r/a/s/b
	cat >inside.sh <<-'END'
		touch up
		until [ -e go ]; do sleep 0.02; done
		for i in $(seq 200); do cat r/a/s/b; sleep 0.01; done >read 2>/dev/null
		echo over >>read
	END
	rules_alone
	lift
	background holder sbx run --profile default -- sh inside.sh
	wait_for 20 test -e up
	sbx grant --deny fs:read "$PWD/r/a/s/b" --profile default
	sbx grant --deny fs:read "$PWD/r/a" --profile default
	folder=$(sbx grants --json | jq --arg target "$PWD/r/a" '.[] | select(.pattern == $target).id')
	cp -r r/a/s new
	mv r/a/s old
	mv new r/a/s
	rm -r old
	run -0 sbx revoke "$folder"
	touch go
	finished holder 30
	[ "$status" = 0 ]
	[[ $(cat read) == over ]]
}

# What was granted to be written lies between the folder and the curtain, and would go when all of it may be written.
@test "attack_r_01: a part that is asked about stays hidden for who stands above it when the rest may be written" {
	mkdir -p "$HOME/x/c/b"
	echo secret >"$HOME/x/c/b/f"
	cat >inside.sh <<-'END'
		cd ~/x/c && exec 3<. && touch ~/project/up
		until [ -e ~/project/go ]; do sleep 0.02; done
		{ cat b/f; cat /dev/fd/3/b/f ~/x/c/b/f; (echo written >b/new); } >~/project/read 2>&1
		echo over >>~/project/read
	END
	rules_alone '    allow: {fs:read: [~/x], fs:write: [~/x/c/b]}'
	lift
	background holder sbx run --profile default -- sh inside.sh
	wait_for 20 test -e up
	rules_alone '    allow: {fs:read: [~/x]}' '    ask: {fs:read: [~/x/c/b]}'
	run -0 sbx grant fs:read "$HOME/other" --profile default
	contains "$output" "in force in 1 of 1"
	rules_alone '    allow: {fs:write: [~/x]}' '    ask: {fs:read: [~/x/c/b]}'
	run -0 sbx grant fs:write "$HOME/other" --profile default
	contains "$output" "in force in 1 of 1"
	touch go
	finished holder 20
	cat read
	[ "$status" = 0 ]
	[[ $(tail -n 1 read) == over ]]
	run -1 grep -e secret read
	[ ! -e "$HOME/x/c/b/new" ]
	rm -r "$HOME/x"
}
