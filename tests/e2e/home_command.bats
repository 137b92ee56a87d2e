#!/usr/bin/env bats
# `sbx home`: what is in the homes that profiles have of their own, what is kept of it, and what is removed.
# shellcheck disable=SC2016,SC2088 # $ is for the terminal's shell, ~ is what is printed

load helper
load tmux

setup_file() {
	home_make
	tmux_home
	default_policy "timeout: 60s, without-agent: deny" "  each:
    extends: [default]
    home: project
  plain:
    extends: [base]
    allow:
      fs:write: [\"\${project}\"]"
}

setup() {
	cd "$HOME/project" || return
	chmod -R u+rwx "$HOME/.local/state/sbx/homes" 2>/dev/null || true
	rm -rf "$HOME/.local/state/sbx/homes" "$HOME/.local/state/sbx/projects" "$HOME/.toolrc" "$HOME/.config/newtool" "$HOME/.tool"
	own=$HOME/.local/state/sbx/homes/default
	mkdir -p "$own"
	chmod 700 "$own"
}

teardown() {
	tmux_end
}

# refused PATH SENTENCE: nothing is kept of it.
refused() {
	local before
	before=$(find "$HOME" -path "$HOME/.local" -prune -o -path "$HOME/run" -prune -o -print | sort)
	run timeout 20 sbx home keep --yes -- "$1"
	[ "$status" != 0 ]
	contains "$output" "$2"
	[ "$(find "$HOME" -path "$HOME/.local" -prune -o -path "$HOME/run" -prune -o -print | sort)" = "$before" ]
}

@test "an empty state says what to do" {
	run sbx home
	[ "$status" = 0 ]
	contains "$output" "sbx run -- COMMAND"
	[ "$(sbx home --json)" = "[]" ]
}

@test "each home is listed with its size and what is in it, one name of two homes with a mark" {
	sbx run -- sh -c 'head -c 1500000 /dev/zero >~/.toolrc; mkdir -p ~/.config/newtool; ln ~/.toolrc ~/.config/newtool/again'
	sbx run --profile each -- sh -c 'echo x >~/.tool'
	echo mine >"$HOME/.toolrc"
	run sbx home
	[ "$status" = 0 ]
	[[ ${lines[0]} =~ ^PROFILE\ +PROJECT\ +SIZE\ +WHAT$ ]]
	[[ ${lines[1]} =~ ^default\ +-\ +1.5\ MB\ +~/.config/newtool\ ~/.toolrc\*$ ]]
	[[ ${lines[2]} =~ ^each\ +~/project\ +[0-9.]+\ kB\ +~/.tool$ ]]
	contains "$output" "* hides yours of the same name, unless that is granted."
	run bash -c 'cd / && sbx home'
	[[ ${lines[2]} =~ ^each\ +project\ +[0-9.]+\ kB ]]
	run sbx home --json
	[ "$(jq -r '.[0] | .profile, .project, (.names | join(" ")), (.hides | join(" "))' <<<"$output")" = "default
null
.config/newtool .toolrc
.toolrc" ]
	[ "$(jq -r '.[0].bytes > 1500000 and .[0].bytes < 1600000' <<<"$output")" = true ]
	[ "$(jq -r '.[1].project' <<<"$output")" = "$HOME/project" ]
}

@test "names are shown visible, and of many only some" {
	touch "$own"/$'a\e[2Jb\nc' "$own"/{d,e,f,g,h}
	run sbx home
	contains "$output" '~/a\x1b[2Jb\nc ~/d ~/e ~/f and 2 more'
}

@test "the list neither blocks at what a tool has made nor follows it" {
	mkfifo "$own/fifo"
	ln -s /usr "$own/usr"
	mkdir -p "$own/deep"
	python3 -c 'import os, sys
os.chdir(sys.argv[1])
for i in range(3000): os.mkdir("d"); os.chdir("d")' "$own/deep"
	run timeout 20 sbx home
	[ "$status" = 0 ]
	[[ $output =~ \>\ [0-9]+\ kB|\>\ 0\ B ]]
}

@test "completion offers what is in a profile's own home, as it can be shown" {
	mkdir -p "$own/.config/newtool" "$own/../plain"
	chmod 700 "$own/../plain"
	touch "$own/.toolrc" "$own/.tool"$'\e' "$own/../plain/.other"
	[ "$(sbx complete -- home keep "")" = ".config/newtool"$'\n'".toolrc" ]
	[ "$(sbx complete -- home keep --profile plain .)" = .other ]
	[ -z "$(sbx complete -- home keep --profile ../homes/plain .)" ]
}

@test "an unknown word and an operand too many are told" {
	run sbx home liste
	[ "$status" = 2 ]
	contains "$output" "unknown command 'home liste'"
	run sbx home --json keep
	[ "$status" = 2 ]
	run sbx home --help
	[ "$status" = 0 ]
	contains "$output" "home keep"
	contains "$output" "--json"
}

@test "keep: a file, by each way of naming it" {
	printf 'text\n' >"$own/.toolrc"
	chmod 777 "$own/.toolrc"
	for name in .toolrc '~/.toolrc' "$HOME/.toolrc" ./.toolrc; do
		rm -f "$HOME/.toolrc"
		run sbx home keep --yes "$name"
		[ "$status" = 0 ]
		contains "$output" "~/.toolrc: a file that can be run, 5 B"
		contains "$output" "kept ~/.toolrc (5 B)"
		[ "$(<"$HOME/.toolrc")" = text ]
		[ "$(stat -c %a "$HOME/.toolrc")" = 755 ]
	done
	[ -e "$own/.toolrc" ]
}

@test "keep: a folder with what is in it, and the folders above it" {
	mkdir -p "$own/.config/newtool/sub" "$own/a/b/c"
	echo one >"$own/.config/newtool/one"
	echo two >"$own/.config/newtool/sub/two"
	chmod 777 "$own/.config/newtool/sub"
	echo three >"$own/a/b/c/three"
	run sbx home keep --yes .config/newtool a/b/c/three
	[ "$status" = 0 ]
	contains "$output" "~/.config/newtool: a folder with 3 names, 8 B"
	contains "$output" "kept ~/a/b/c/three (6 B)"
	[ "$(cat "$HOME/.config/newtool/one" "$HOME/.config/newtool/sub/two")" = $'one\ntwo' ]
	[ "$(stat -c %a "$HOME/.config/newtool/sub")" = 755 ]
	[ "$(stat -c %a "$HOME/a")" = 700 ]
	[ -z "$(find "$HOME" -name '.sbx-keep-*')" ]
	rm -r "$HOME/a"
}

@test "keep: of a project's home, and of another profile's" {
	sbx run --profile each -- sh -c 'echo x >~/.tool'
	run sbx home keep --yes --profile each .tool
	[ "$status" = 1 ]
	contains "$output" "--project DIR"
	run sbx home keep --yes --profile each --project . .tool
	[ "$status" = 0 ]
	[ "$(<"$HOME/.tool")" = x ]
	run sbx home keep --yes --profile ../homes/default .tool
	[ "$status" = 2 ]
	contains "$output" "can't be a profile's name"
}

@test "keep: what isn't a plain file or folder is refused by name, also in a folder" {
	mkdir "$own/folder"
	ln -s /etc/passwd "$own/link"
	ln -s /etc "$own/way"
	mkfifo "$own/pipe"
	python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$own/socket"
	install -m 4755 /dev/null "$own/set-id"
	install -m 1000 /dev/null "$own/point"
	refused link "~/link is a link"
	refused way/passwd "~/way/passwd lies behind a link"
	refused pipe "~/pipe is a pipe"
	refused socket "~/socket is a socket"
	refused set-id "~/set-id has a set-ID bit"
	refused point "~/point is what sbx made"
	refused nothing "~/nothing isn't in the profile's own home"
	for name in link pipe socket set-id point; do
		mv "$own/$name" "$own/folder/x"$'\e'
		refused folder '~/folder/x\x1b '
		rm -f "$own/folder/x"$'\e'
	done
	mkdir "$own/folder/set"
	chmod 2755 "$own/folder/set"
	refused folder "~/folder/set has a set-ID bit"
}

@test "keep: what leads out of the home, or to sbx's own folders, is refused" {
	mkdir -p "$own/.config/sbx" "$own/.local/state/sbx" "$own/x" "$own/linked"
	echo hostile >"$own/.config/sbx/policy.yaml"
	touch "$own/x/y" "$own/linked/y"
	refused ../default/x "has '..' in it"
	refused "$HOME/x/../x" "has '..' in it"
	refused /etc/passwd "is not in your home"
	refused "${HOME}x/y" "is not in your home"
	refused "" "empty"
	refused '~' "many programs share"
	refused .config "many programs share"
	refused .local/state/ "many programs share"
	refused .config/sbx "sbx's own folders"
	refused .config/sbx/policy.yaml "sbx's own folders"
	refused .local/state/sbx/homes "sbx's own folders"
	ln -s "$HOME/.config" "$HOME/linked"
	refused linked/y "lies behind a link in your home"
	rm "$HOME/linked"
	# also where it lies elsewhere, and around it
	export XDG_CONFIG_HOME=$HOME/x/conf
	refused x "sbx's own folders"
	unset XDG_CONFIG_HOME
}

@test "keep: nothing that is there is overwritten without --replace, and a folder never" {
	echo own >"$own/.toolrc"
	echo mine >"$HOME/.toolrc"
	refused .toolrc "--replace"
	[ "$(<"$HOME/.toolrc")" = mine ]
	run sbx home keep --yes --replace .toolrc
	[ "$status" = 0 ]
	[ "$(<"$HOME/.toolrc")" = own ]
	rm "$HOME/.toolrc"
	ln -s /etc/passwd "$HOME/.toolrc"
	run sbx home keep --yes --replace .toolrc
	[ "$status" = 1 ]
	contains "$output" "is there already and no file"
	[ -L "$HOME/.toolrc" ]
	rm "$HOME/.toolrc"
	mkdir "$HOME/.toolrc"
	run sbx home keep --yes --replace .toolrc
	[ "$status" = 1 ]
	contains "$output" "name what is in it"
	rmdir "$HOME/.toolrc"
}

@test "keep: what is too deep or too large is refused" {
	mkdir -p "$own/deep"
	python3 -c 'import os, sys
os.chdir(sys.argv[1])
for i in range(100): os.mkdir("d"); os.chdir("d")' "$own/deep"
	truncate -s 15T "$own/huge"
	refused deep "too deep"
	refused huge "there is no room"
}

# bats test_tags=stress
@test "keep: what has more names than anybody can have looked at is refused" {
	mkdir -p "$own/many"
	(cd "$own/many" && seq 100000 | xargs touch)
	refused many "more than 100000 names"
	rm "$own/many/1"
	sbx home keep --yes many
	[ "$(find "$HOME/many" -type f | wc -l)" = 99999 ]
	rm -r "$HOME/many"
}

@test "keep: asks in a terminal, and without one wants --yes" {
	echo own >"$own/.toolrc"
	run sbx home keep .toolrc
	[ "$status" = 1 ]
	contains "$output" "say --yes"
	[ ! -e "$HOME/.toolrc" ]
	tmux_begin
	type_line 'sbx home keep .toolrc; echo "status $?"'
	sees 'Copy it to ~/.toolrc in your own home\? \[y/N\]'
	type_line ""
	sees 'status 1'
	[ ! -e "$HOME/.toolrc" ]
	type_line 'clear; echo round$((1 + 1)); sbx home keep .toolrc; echo "status $?"'
	sees '^round2$'
	sees 'y/N'
	type_line y
	sees 'kept ~/.toolrc \(4 B\)'
	sees 'status 0'
	echo mine >"$HOME/.toolrc"
	type_line 'clear; echo round$((1 + 2)); sbx home keep .toolrc; echo "status $?"'
	sees '^round3$'
	sees 'own home\? \[y/N\]'
	type_line y
	sees 'Replace your file ~/.toolrc'
	type_line n
	sees 'status 1'
	[ "$(<"$HOME/.toolrc")" = mine ]
}

@test "keep: what changes while it is copied is kept as it was shown, or not at all" {
	local end=$((SECONDS + $(times 3 60)))
	mkdir -p "$own/change"
	python3 "$TESTS/changing.py" "$own/change" 3>&- &
	echo $! >"$HOME/run/changing.pid"
	while ((SECONDS < end)); do
		timeout 20 sbx home keep --yes change || [[ $? == 1 ]]
		[ ! -e "$HOME/change" ] || [ -z "$(find "$HOME/change" ! -type f ! -type d)" ]
		! grep -rqs root: "$HOME/change"
		rm -rf "$HOME/change"
	done
	kill "$(<"$HOME/run/changing.pid")"
	[ -z "$(find "$HOME" -maxdepth 1 -name '.sbx-keep-*')" ]
}

@test "keep: one that is broken off leaves nothing" {
	head -c 400000000 /dev/zero >"$own/large"
	sbx home keep --yes large >"$HOME/run/large.out" 2>&1 3>&- &
	wait_for 20 compgen -G "$HOME/.sbx-keep-*"
	kill -TERM $!
	wait_for 20 gone $!
	[ -z "$(find "$HOME" -maxdepth 1 -name '.sbx-keep-*')" ]
	[ ! -e "$HOME/large" ]
}

@test "clear: shows and removes all, follows no link, and whatever the tool has made of it" {
	mkdir -p "$HOME/outside" "$own/locked/in" "$own/.config/newtool"
	echo mine >"$HOME/outside/mine"
	ln -s "$HOME/outside" "$own/link"
	mkfifo "$own/pipe"
	touch "$own/locked/in/x" "$own"/$'x\ny'
	chmod 0 "$own/locked/in"
	chmod 500 "$own/locked"
	python3 -c 'import os, sys
os.mkdir(sys.argv[1] + "/deep"); os.chdir(sys.argv[1] + "/deep")
for i in range(3000): os.mkdir("d"); os.chdir("d")' "$own"
	run timeout 60 sbx home clear default
	[ "$status" = 1 ]
	contains "$output" "say --yes"
	[ -e "$own/pipe" ]
	run timeout 60 sbx home clear default --yes
	[ "$status" = 0 ]
	contains "$output" '  ~/x\ny'
	contains "$output" "Cleared: default's own home is empty."
	[ -z "$(ls -A "$own")" ]
	[ "$(<"$HOME/outside/mine")" = mine ]
	run sbx home clear nobody --yes
	[ "$status" = 1 ]
	contains "$output" "'sbx home' lists those that there are"
	run sbx home clear ../homes --yes
	[ "$status" = 2 ]
}

@test "a tool that opens its home to others hides nothing by it, and clear mends it" {
	touch "$own/.toolrc"
	chmod 777 "$own"
	run sbx home
	contains "$output" "~/.toolrc"
	run sbx home clear default --yes
	[ "$status" = 0 ]
	[ "$(stat -c %a "$own")" = 700 ]
}

@test "clear: a project's home" {
	sbx run --profile each -- sh -c 'echo x >~/.tool'
	run sbx home clear each --project "$HOME/project" --yes
	[ "$status" = 0 ]
	contains "$output" "each's own home in ~/project"
	[ "$(sbx home --json)" = "[]" ]
}

@test "clear: refused while a sandbox has it" {
	mkfifo "$HOME/project/go"
	background held sbx run -- sh -c 'echo x >~/.toolrc; echo >begun; read -r _ <go'
	wait_for 30 test -e "$HOME/project/begun"
	run sbx home clear default --yes
	[ "$status" = 1 ]
	contains "$output" "sbx sessions"
	[ -e "$own/.toolrc" ]
	echo >"$HOME/project/go"
	finished held
	run sbx home clear default --yes
	[ "$status" = 0 ]
	[ ! -e "$own/.toolrc" ]
}

@test "in a sandbox it is refused" {
	run sbx run -- sbx home
	[ "$status" = 125 ]
}
