#!/usr/bin/env bats
# A sandbox that did nothing wrong lives: whatever the host replaces or removes of what it is shown.
# shellcheck disable=SC2030,SC2031 # a test's variables are its own

load helper

setup_file() {
	home_make
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
profiles:
  every:
    extends: [aider, git, node, npm, python, default]
END
}

setup() {
	cd "$HOME/project" || return
	rm -rf reports orders state end read sub .vscode dots w
	mkdir reports
	: >orders
	cp "$TESTS/replaced.py" "$TESTS/moving.py" .
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
}

# is_now WORD PATH: what who tries to open it inside (moving.py) was last told.
is_now() {
	grep -qsxF "$*" state
}

# Ten sandboxes of all profiles, and what each of them allows below the home as KIND (files, folders).
ten_live() {
	local kind=$1 number profiles=(aider default git node npm python every every every every)
	sbx policy show | python3 replaced.py paths >orders.paths
	[ "$(wc -l <orders.paths)" -gt 40 ]
	python3 replaced.py make "$HOME" orders.paths 10 "$kind"
	for number in {0..9}; do
		background "sandbox$number" sbx run --profile "${profiles[number]}" -- \
			python3 replaced.py see "$PWD/orders" "$PWD/reports" "$number"
	done
	run python3 replaced.py change "$HOME" orders.paths 10 "$kind"
	echo "$output"
	[ "$status" = 0 ]
	for number in {0..9}; do
		finished "sandbox$number"
		echo "$number: $output ($status)"
		[ "$status" = 0 ]
		lacks "$output" "can't be taken"
	done
}

@test "attack_r_21: the host replaces and removes every file that a profile allows: ten sandboxes live and see what is there" {
	ten_live files
}

@test "attack_r_21: the host replaces and removes every folder that a profile allows: ten sandboxes live and see what is there" {
	ten_live folders
}

@test "attack_r_21: one sandbox removes and replaces what another was granted" {
	mkdir -p "$HOME/shared/folder"
	echo one >"$HOME/shared/file"
	echo one >"$HOME/shared/folder/text"
	sbx grant fs:read "$HOME/shared/file" --profile default
	sbx grant fs:read "$HOME/shared/folder" --profile default
	background reader sbx run --profile default -- sh -c "cat $HOME/shared/file $HOME/shared/folder/text; touch up
		until grep -qs two $HOME/shared/file && grep -qs two $HOME/shared/folder/text; do sleep 0.01; done
		touch seen; while [ -e $HOME/shared/file ] || [ -e $HOME/shared/folder/text ]; do sleep 0.01; done; echo gone"
	wait_for 60 test -e up
	sbx run --profile default --allow "fs:write=$HOME/shared" -- sh -c "
		cd $HOME/shared; echo two >new; mv new file; rm -r folder; mkdir folder; echo two >folder/text"
	wait_for 30 test -e seen
	sbx run --profile default --allow "fs:write=$HOME/shared" -- rm -r "$HOME/shared/file" "$HOME/shared/folder"
	finished reader
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = $'one\none\ngone' ]
	rm -f up seen
}

@test "attack_r_21: what is masked is replaced by a thing of another kind: the sandbox lives, and that is masked" {
	local git=$PWD/sub/.git code=$PWD/.vscode dots=$PWD/dots
	mkdir -p sub .vscode dots
	echo '{}' >dots/settings.json
	GIT_CONFIG_GLOBAL=/dev/null git init -q sub
	echo '{}' >.vscode/settings.json
	background live sbx run -- python3 moving.py "write:$git/config" "write:$git" "write:$code/settings.json" "write:$code" \
		"write:$dots/settings.json"
	wait_for 60 is_now refused "$git/config"
	wait_for 60 is_now refused "$code/settings.json"
	is_now open "$dots/settings.json"
	# a file that was a folder, as `git submodule absorbgitdirs` leaves it: it can lead git anywhere
	rm -r sub/.git
	wait_for 20 is_now gone "$git"
	echo "gitdir: ../.git/modules/sub" >sub/.git
	wait_for 20 is_now refused "$git"
	rm -r .vscode
	wait_for 20 is_now gone "$code"
	echo '{}' >.vscode
	wait_for 20 is_now refused "$code"
	# a link that was a folder
	rm -r sub
	ln -s /usr sub
	wait_for 20 is_now gone "$git"
	rm .vscode
	ln -s dots .vscode
	wait_for 20 is_now refused "$dots/settings.json" # since it leads there
	# and folders again
	rm sub .vscode
	mkdir -p sub .vscode
	GIT_CONFIG_GLOBAL=/dev/null git init -q sub
	echo '{}' >.vscode/settings.json
	wait_for 20 is_now refused "$git/config"
	wait_for 20 is_now refused "$code/settings.json"
	touch end
	finished live
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" finished
}

@test "attack_r_21: one sandbox replaces what is hidden in another by a link or a file: the other lives" {
	local folder=$PWD/w
	mkdir w
	echo secret >w/secret
	background live sbx run --profile default --deny "fs:read=$folder/secret" -- python3 moving.py "read:$folder/secret" "read:$folder"
	wait_for 60 is_now refused "$folder/secret"
	sbx run --profile default -- sh -c 'rm -r w; ln -s /usr w'
	wait_for 20 is_now gone "$folder/secret"
	sbx run --profile default -- sh -c 'rm w; echo file >w'
	wait_for 20 is_now open "$folder"
	sbx run --profile default -- sh -c 'rm w; mkdir w; : >w/secret'
	wait_for 20 is_now refused "$folder/secret"
	rm -f read
	echo secret >w/secret
	touch end
	finished live
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" finished
	[ ! -e read ]
}

# swapped_live FOLDER MOVED: a sandbox that has FOLDER has the new one when the host renames MOVED (FOLDER, or a folder
# above it) and puts another in its place; nothing of what it writes then is in the old one, nothing new in that is read.
swapped_live() {
	local folder=$1 moved=$2 old=${1/#$2/$2.old}
	background live sbx run --profile default --allow "fs:write=$HOME/ours" -- sh -c "cd /; : >$HOME/ours/up
		until grep -qs new $folder/f; do sleep 0.01; done; echo by the tool >$folder/written
		: >$HOME/ours/seen; until [ -e $HOME/ours/end ]; do sleep 0.01; done; cat $folder/* $old/*; echo x >>$folder/.git/config; echo went on"
	wait_for 60 test -e "$HOME/ours/up"
	mkdir -p "$HOME/new/${folder#"$moved"}"
	echo new >"$HOME/new/${folder#"$moved"}/f"
	mv "$moved" "$moved.old"
	mv "$HOME/new" "$moved"
	wait_for 20 test -e "$HOME/ours/seen"
	echo secret >"$old/key"
	: >"$HOME/ours/end"
	finished live
	echo "$output"
	rm "$HOME"/ours/*
	[ "$status" = 0 ]
	contains "$output" $'new\nby the tool\n'
	contains "$output" "went on"
	lacks "$output" secret
	[ "$(cat "$folder/written")" = "by the tool" ]
	[ "$(ls "$old")" = $'f\nkey' ]
}

# swappable FOLDER…: made, with a file `f` in it.
swappable() {
	mkdir -p "$HOME/ours"
	for folder; do
		mkdir -p "$folder"
		echo old >"$folder/f"
	done
}

@test "attack_r_21: a granted folder that the host swaps by renaming it, or one above it, is the new one" {
	swappable "$HOME/swap/dist" "$HOME/above/swap/dist"
	sbx grant fs:write "$HOME/swap/dist" --profile default
	sbx grant fs:write "$HOME/above/swap/dist" --profile default
	swapped_live "$HOME/swap/dist" "$HOME/swap/dist"
	swapped_live "$HOME/above/swap/dist" "$HOME/above/swap"
	sbx revoke --all
}

@test "attack_r_21: what a pattern hides and what is protected are so in the folder that a swap brings" {
	local dist=$HOME/keys/dist
	swappable "$dist"
	sbx grant fs:write "$dist" --profile default
	sbx grant --deny fs:read "$HOME/keys/**/*.pem" --profile default
	mkdir -p "$HOME/new/deep"
	echo secret >"$HOME/new/deep/key.pem"
	GIT_CONFIG_GLOBAL=/dev/null git init -q "$HOME/new/inner"
	echo new >"$HOME/new/f"
	background live sbx run --profile default -- sh -c "cd /; : >$dist/up; until grep -qs new $dist/f; do sleep 0.01; done
		cat $dist/deep/key.pem; echo x >>$dist/inner/.git/config; echo one >$dist/deep/made
		until [ -e $dist/go ]; do sleep 0.01; done; while cat $dist/deep/later.pem; do sleep 0.01; done; echo went on"
	wait_for 60 test -e "$dist/up"
	mv "$dist" "$dist.old"
	mv "$HOME/new" "$dist"
	wait_for 20 test -e "$dist/deep/made"
	echo late >"$dist/deep/later.pem"
	: >"$dist/go"
	finished live
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "went on"
	lacks "$output" secret
	run ! grep -x x "$dist/inner/.git/config"
	sbx revoke --all
}

# stands_in FOLDER: a sandbox of which one process stands in FOLDER, which the host swaps then; it says in $HOME/ours that
# it lives.
stands_in() {
	background live sbx run --profile default --allow "fs:write=$HOME/ours" -- sh -c "cd /
		(cd $1; : >$HOME/ours/up; until grep -qs new $1/f; do sleep 0.01; done; echo x >./relative
		while :; do cat ./*; : >$HOME/ours/alive; sleep 0.01; done) & wait; cat $1/f; echo went on"
	wait_for 60 test -e "$HOME/ours/up"
	mkdir "$HOME/new"
	echo new >"$HOME/new/f"
	mv "$1" "$1.old"
	mv "$HOME/new" "$1"
	lives
}

# lives: two rounds, the second of which began after this did.
lives() {
	rm -f "$HOME/ours/alive"
	wait_for 20 test -e "$HOME/ours/alive"
	rm -f "$HOME/ours/alive"
	wait_for 20 test -e "$HOME/ours/alive"
}

# is_ended FOLDER: the process of stands_in, and not the others; it has not read what is in FOLDER.old since.
is_ended() {
	echo secret >"$1.old/key"
	finished live
	echo "$output"
	rm "$HOME"/ours/*
	[ "$status" = 0 ]
	contains "$output" "the host has moved $1 to $1.old"
	contains "$output" "sh ($1.old"
	contains "$output" "went on"
	lacks "$output" secret
	[ ! -e "$1.old/relative" ]
}

@test "attack_r_21: who stands in a folder that the host swaps lives, until its new name is denied by a grant or a rule" {
	swappable "$HOME/stand/one" "$HOME/stand/two" "$HOME/stand/three"
	sbx grant fs:write "$HOME/stand/one" --profile default
	sbx grant fs:write "$HOME/stand/two" --profile default
	stands_in "$HOME/stand/one"
	sbx grant --deny fs:read "$HOME/elsewhere" --profile default
	lives
	sbx grant --deny fs:read "$HOME/stand/one.old" --any-profile --anywhere
	is_ended "$HOME/stand/one"
	stands_in "$HOME/stand/two"
	sed 's|^profiles:|&\n  default: {deny: {fs:read: ["~/stand/two.o*"]}}|' -i "$HOME/.config/sbx/policy.yaml"
	wait_for 20 grep -q "sbx: ended" "$HOME/run/live.out"
	is_ended "$HOME/stand/two"
	cd "$HOME/stand/three"
	stands_in "$HOME/stand/three"
	sbx grant --deny fs:read "$HOME/stand/three.old/f" --profile default --anywhere # a part of it
	is_ended "$HOME/stand/three"
}

@test "attack_r_21: the project's own folder that the host swaps by renaming is the new one" {
	swappable "$HOME/swapped-project"
	GIT_CONFIG_GLOBAL=/dev/null git init -q "$HOME/swapped-project"
	GIT_CONFIG_GLOBAL=/dev/null git init -q "$HOME/new"
	cd "$HOME/swapped-project"
	swapped_live "$HOME/swapped-project" "$HOME/swapped-project"
	run ! grep -x x "$HOME/swapped-project/.git/config"
}
