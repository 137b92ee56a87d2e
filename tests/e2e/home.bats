#!/usr/bin/env bats
# The home that a profile has of its own: what lasts in it, what the host's home adds to it, and what is said at the end.

load helper

setup_file() {
	home_make
	default_policy "timeout: 60s, without-agent: deny" "  thrown:
    extends: [default]
    home: ephemeral
  each:
    extends: [default]
    home: project
  plain:
    extends: [base]
    allow:
      fs:write: [\"\${project}\"]"
}

setup() {
	cd "$HOME/project" || return
	rm -rf "$HOME"/.local/state/sbx/{homes,projects}/* "$HOME/.config/hub9" "$HOME/.local/share/thing"
}

# The folder of a profile's own home.
own() {
	printf '%s\n' "$HOME/.local/state/sbx/homes/$1"
}

@test "what a tool leaves in its home is there the next time, and its user is told once where" {
	run --separate-stderr sbx run -- sh -c 'echo state > ~/.newtool; mkdir ~/.config/newtool ~/.other'
	[ "$status" = 0 ]
	# shellcheck disable=SC2154 # of bats
	[ "$stderr" = "sbx: kept in default's own home: ~/.config/newtool, ~/.newtool and ~/.other (sbx home)" ]
	[ ! -e "$HOME/.newtool" ]
	[ "$(<"$(own default)/.newtool")" = state ]
	[ "$(stat -c %a "$(own default)")" = 700 ]
	run --separate-stderr sbx run -- sh -c 'cat ~/.newtool; echo more >> ~/.newtool; ls -d ~/.config/newtool'
	[ "$output" = "state"$'\n'"$HOME/.config/newtool" ]
	[ "$stderr" = "" ]
	# another profile has another one
	run sbx run --profile plain -- sh -c 'ls -A ~'
	lacks "$output" .newtool
}

@test "who has run something before homes lasted is told once" {
	sbx run --profile thrown -- true # as all did
	rm -rf "$HOME/.local/state/sbx/homes"
	run sbx run -- true
	[ "$output" = "sbx: each profile has a home of its own that lasts now: sbx home lists what is in it, and 'home: ephemeral' in your policy has it as it was" ]
	run sbx run -- true
	[ "$output" = "" ]
	run sbx run --profile plain -- true
	[ "$output" = "" ]
}

@test "home: project is one for each project" {
	mkdir -p "$HOME/second"
	run sbx run --profile each -- sh -c 'echo one > ~/.tool'
	contains "$output" "kept in each's own home in this project: ~/.tool (sbx home)"
	run sbx run --profile each --project "$HOME/second" --cwd "$HOME/second" -- sh -c 'cat ~/.tool'
	[ "$status" != 0 ]
	run sbx run --profile each -- sh -c 'cat ~/.tool'
	[ "$output" = one ]
	[ ! -e "$(own each)" ]
}

@test "home: ephemeral says what goes" {
	run --separate-stderr sbx run --profile thrown -- sh -c 'cd; touch .a .b .c .d report.csv'
	[ "$status" = 0 ]
	[ "$stderr" = "sbx: not kept: ~/report.csv, ~/.a, ~/.b and 2 more" ]
	run sbx run --profile thrown -- sh -c 'cat ~/.a'
	[ "$status" != 0 ]
}

@test "--print-plan makes no home" {
	sbx run --print-plan -- true
	[ ! -e "$(own default)" ]
}

@test "two runs at once in one home see what the other makes, and neither takes the other's mounts" {
	mkdir -p "$HOME/second" "$HOME/notes"
	echo hello >"$HOME/notes/a"
	mkfifo "$HOME/project/go"
	background first sbx run --profile plain --allow "fs:read=$HOME/notes" -- sh -c 'echo x > ~/.first; read -r _ < go; cat ~/notes/a ~/.second'
	wait_for 10 test -e "$(own plain)/.first"
	background second sbx run --profile plain --project "$HOME/second" --cwd "$HOME/second" -- \
		sh -c 'cat ~/.first; echo y > ~/.second; touch begun; until cat ~/notes/a 2>/dev/null; do sleep 0.05; done; while cat ~/notes/a 2>/dev/null; do sleep 0.05; done; touch over; echo ended'
	wait_for 10 test -e "$HOME/second/begun"
	sbx grant --profile plain --project "$HOME/second" "fs:read=$HOME/notes"
	id=$(sbx grants --json | jq '.[-1].id')
	wait_for 10 grep -q hello "$HOME/run/second.out"
	sbx revoke "$id"
	wait_for 10 test -e "$HOME/second/over"
	echo >"$HOME/project/go"
	finished first
	contains "$output" hello
	contains "$output" y
	finished second
	contains "$output" x
}

@test "what other projects were mounted on isn't seen in the next run" {
	mkdir -p "$HOME/src/one" "$HOME/src/two"
	(cd "$HOME/src/one" && sbx run --profile plain -- true)
	[ -d "$(own plain)/src/one" ]
	cd "$HOME/src/two"
	run sbx run --profile plain -- sh -c 'ls -A ~ ~/src'
	lacks "$output" one
	contains "$output" two
}

@test "a name that is in both homes: the tool's own, unless the host's is granted" {
	echo host >"$HOME/.toolrc"
	mkdir -p "$(own plain)"
	chmod 700 "$(own plain)"
	echo own >"$(own plain)/.toolrc"
	run sbx run --profile plain -- sh -c 'cat ~/.toolrc'
	[ "$output" = own ]
	run sbx run --profile plain --allow "fs:read=$HOME/.toolrc" -- sh -c 'cat ~/.toolrc'
	[ "$output" = host ]
	run sbx run --profile plain -- sh -c 'cat ~/.toolrc'
	[ "$output" = own ]
}

@test "a folder that mounts lie in keeps its name, so that nothing is judged by another one" {
	mkdir -p "$HOME/src/app"
	cd "$HOME/src/app"
	git init -q
	run sbx run -- sh -c 'mv ~/src ~/.moved; cd ~/.moved/app && echo x >.envrc'
	[ "$status" != 0 ]
	contains "$output" "Device or resource busy"
	[ ! -e .envrc ]
	run sbx run --profile default -- python3 -c 'import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
home = os.path.expanduser("~").encode()
os.mkdir(home + b"/.other")
print(libc.renameat2(-100, home + b"/.other", -100, home + b"/src", 2), ctypes.get_errno())'
	contains "$output" "-1 16"
	rm -rf "$HOME/src"
}

@test "a tool that takes rights from its own folders keeps nobody out" {
	mkdir -p "$HOME/src/app"
	cd "$HOME/src/app"
	sbx run --profile plain -- sh -c 'chmod 0 ~/src ~'
	run sbx run --profile plain -- pwd
	[ "$output" = "$HOME/src/app" ]
	sbx run --profile plain -- chmod 777 "$HOME"
	run sbx run --profile plain -- pwd
	[ "$output" = "$HOME/src/app" ]
}

@test "folders that many programs share are the home's own: what the host has in them is asked for by itself" {
	only_curtain "names are seen"
	mkdir -p "$HOME/.config/hub9" "$HOME/.local/share/thing"
	echo secret >"$HOME/.config/hub9/file"
	run sbx run -- sh -c 'ls ~/.config; mkdir ~/.config/newtool ~/.local/bin && touch ~/.local/share/x ~/.local/bin/y; cat ~/.config/hub9/file'
	[ "$status" != 0 ]
	contains "$output" hub9
	run sbx history --json --verdict deny
	[ "$(jq -r .target <<<"$output")" = "$HOME/.config/hub9/file" ]
	[ -d "$(own default)/.config/newtool" ]
	[ -e "$(own default)/.local/bin/y" ]
}
