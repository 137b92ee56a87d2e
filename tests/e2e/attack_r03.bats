#!/usr/bin/env bats
# R3, R8, R9, R10: what programs of the host obey by name (the table in the profile base) isn't made unasked, in the project's
# top, in the folder in which the command is started, in every folder that it may write, and in repositories that are found or
# were found before.
# shellcheck disable=SC2016 # expanded in the sandbox

load helper

setup_file() {
	home_make
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
	default_policy "without-agent: deny" ""
	sbx policy show | sed -n 's/.*target: "\${root}\/\([^"]*\)".*/\1/p' >"$HOME/run/names"
	sbx policy show | sed -n 's/.*target: "\?~\/\([^",]*\)"\?, confirm.*/\1/p' >"$HOME/run/home_names"
	[ "$(wc -l <"$HOME/run/names")" -gt 100 ]
	[ "$(wc -l <"$HOME/run/home_names")" -gt 300 ]
}

setup() {
	needs_doorbell
	chmod -R u+rwx "$HOME/mono" 2>/dev/null || true
	rm -rf "$HOME/mono" "$HOME/beside"
	mkdir -p "$HOME/mono/packages/app" "$HOME/beside"
	cd "$HOME/mono" || return
	git init -q .
}

# none_by_any_way ROOT OPTION…: no name of the list on standard input comes to be in that folder.
none_by_any_way() {
	local root=$1
	shift
	run timeout 240 sbx run "$@" -- python3 -c "$(<"$TESTS/every_way.py")" "$root"
	[ "$status" -eq 0 ]
	grep -qE "^tried [1-9]" <<<"$output"
	lines=$(grep -E '^(create|make_folder|rename|link|symlink|swap|move_around) ' <<<"$output" || true)
	[ -z "$lines" ] || { echo "made: $lines" && return 1; }
}

@test "attack_r_03: each name of the table has its program and a source" {
	sbx policy show | awk '/^  [a-z]+:$/ { profile = $1 }
		/^      [a-z]+:[a-z]+:$/ { permission = $1 }
		profile == "base:" && permission == "fs:write:" && /^        - / { print }' >"$HOME/run/rows"
	[ "$(wc -l <"$HOME/run/rows")" -gt 500 ]
	run ! grep -vE 'confirm: terminal, note: "read by [^"]+", source: "[^"]+"' "$HOME/run/rows"
}

@test "attack_r_03: at the project's top no name of the table is made, by any way" {
	none_by_any_way "$PWD" <"$HOME/run/names"
}

@test "attack_r_03: nor in the folder of a monorepo in which the command is started" {
	cd packages/app
	none_by_any_way "$PWD" <"$HOME/run/names"
	cd "$HOME/mono"
	none_by_any_way "$PWD" --cwd packages/app <"$HOME/run/names"
}

@test "attack_r_03: nor in another folder that it may write" {
	none_by_any_way "$HOME/beside" --allow "fs:write=$HOME/beside" <"$HOME/run/names"
}

@test "attack_r_03: nor in a repository below, nor in one that was found before and isn't found any more" {
	git init -q packages/lib
	none_by_any_way "$PWD/packages/lib" <"$HOME/run/names"
	mkdir wide
	(cd wide && seq 1 2500 | xargs mkdir)
	mkdir deep && git init -q deep/er
	sbx run -- true
	rm -rf wide
	sbx run -- true # deep/er is found
	mkdir wide && (cd wide && seq 1 2500 | xargs mkdir)
	printf '%s\n' .envrc .git/hooks .git/config .vscode | none_by_any_way "$PWD/deep/er"
	run sbx run -- git -C deep/er config core.fsmonitor ./evil
	[ "$status" -ne 0 ]
	run git -C deep/er config core.fsmonitor
	[ -z "$output" ]
}

@test "attack_r_03: a folder that is granted while the command runs has the names kept from its first moment" {
	background spin timeout 60 sbx run -- python3 -c 'import os, time
end = time.time() + 30
open("up", "w").close()
made = False
while time.time() < end and not os.path.exists("go"):
    for name in (".envrc", ".vscode", ".git/hooks"):
        try:
            os.makedirs(os.path.join(os.environ["HOME"], "beside", name))
        except OSError: pass
for name in ("plain", ".envrc", ".npmrc"):
    try:
        open(os.path.join(os.environ["HOME"], "beside", name), "w").close()
        print("made", name)
    except OSError as error: print(name, error.errno)'
	wait_for 20 test -e up
	sbx grant fs:write "$HOME/beside" --profile python
	touch go
	finished spin
	echo "$output"
	contains "$output" "made plain"
	[ -e "$HOME/beside/plain" ]
	run find "$HOME/beside" -mindepth 1
	[ "$output" = "$HOME/beside/plain" ] || [ "$output" = "$HOME/beside/.git
$HOME/beside/plain" ]
}

@test "attack_r_10: in a home that is granted none of its names is made, by any way" {
	mkdir -p "$HOME/.config" "$HOME/.local/share"
	none_by_any_way "$HOME" --allow "fs:write=$HOME" <"$HOME/run/home_names"
}

@test "attack_r_03: who is asked hears which program obeys the file; a grant of it lifts the question" {
	cd packages/app
	run sbx run -- sh -c 'echo "touch ~/ran" >.envrc'
	echo "$output"
	[ "$status" -ne 0 ]
	[ ! -e .envrc ]
	run sbx why fs:write "$PWD/.envrc" --project "$HOME/mono"
	run sbx history --verdict deny --json
	jq -se --arg target "$PWD/.envrc" 'flatten | any(.target == $target)' <<<"$output" >/dev/null
	sbx grant fs:write "$PWD/.envrc" --profile default
	sbx run -- sh -c 'echo "export A=1" >.envrc'
	[ "$(cat .envrc)" = "export A=1" ]
}

@test "attack_r_09: hooks that husky, pre-commit and lefthook run on the host's commit are not rewritten" {
	mkdir -p .husky/_
	printf '#!/bin/sh\nexit 0\n' | tee .husky/pre-commit .husky/_/pre-commit >/dev/null
	chmod +x .husky/pre-commit .husky/_/pre-commit
	git config core.hooksPath .husky/_
	echo "repos: []" >.pre-commit-config.yaml
	run sbx run -- sh -c 'echo "touch $HOME/mono/ran" >>.husky/pre-commit; echo "touch $HOME/mono/ran" >>.husky/_/pre-commit
		echo "touch $HOME/mono/ran" >.husky/_/post-commit; chmod +x .husky/_/post-commit
		echo "- x" >>.pre-commit-config.yaml; echo "pre-commit: {}" >lefthook.yml; true'
	echo "$output"
	echo x >file
	git add file
	git commit -qm one
	[ ! -e ran ]
	[ "$(cat .pre-commit-config.yaml)" = "repos: []" ]
	[ ! -e lefthook.yml ]
}

@test "attack_r_09: what git's configuration runs out of the work tree can't be rewritten" {
	mkdir tools
	for program in monitor clean driver textconv deploy ssh; do
		printf '#!/bin/sh\n%s\n' "$([ $program != clean ] || echo exec cat)" >tools/$program
		chmod +x tools/$program
	done
	git config core.fsmonitor ./tools/monitor
	git config filter.own.clean "env X=1 tools/clean %f"
	git config merge.own.driver "'tools/driver' %A %O %B"
	git config diff.own.textconv tools/textconv
	git config alias.deploy '!sh ./tools/deploy'
	git config core.sshCommand "$PWD/tools/ssh -v"
	git config filter.script.clean "sh script.sh"
	echo 'cat' >script.sh
	printf '*.txt filter=own diff=own\n*.md filter=script\n' >.git/info/attributes
	run sbx run -- sh -c 'for f in tools/* script.sh; do echo "touch $HOME/mono/ran" >>$f; done; rm -f tools/monitor; mv tools/deploy tools/old
		for f in monitor clean driver textconv deploy ssh; do printf "#!/bin/sh\ntouch $HOME/mono/ran\n" >n; chmod +x n; mv n tools/$f; done; mv tools t; true'
	echo "$output"
	echo x >a.txt
	echo x >a.md
	git add . && git commit -qm one
	echo y >>a.txt
	git diff >/dev/null
	git deploy
	[ ! -e ran ]
}

@test "attack_r_09: nor can what it names by a user's home, in quotes, in a section of the old form, or as what new repositories begin with" {
	rm -rf .git "my tools" hooks template
	git init -q .
	mkdir -p "my tools" hooks template/hooks
	printf '#!/bin/sh\nexec cat\n' | tee "my tools/clean" "my tools/smudge" old.sh >/dev/null
	chmod +x my\ tools/*
	git config core.hooksPath "~$(id -un)${PWD#"$(getent passwd "$(id -u)" | cut -d: -f6)"}/hooks"
	[ "$(git config --path core.hooksPath)" = "$PWD/hooks" ] # git takes it
	git config filter.own.clean '"./my tools/clean" %f'
	git config filter.own.smudge './my\ tools/smudge'
	printf '[filter.old]\n\tclean = sh old.sh\n' >>.git/config
	git config init.templateDir "$PWD/template"
	printf '*.txt filter=own\n*.md filter=old\n' >.git/info/attributes
	run sbx run -- sh -c 'for f in my\ tools/* old.sh; do echo "touch $HOME/mono/ran" >>"$f"; done
		for f in hooks template/hooks; do printf "#!/bin/sh\ntouch $HOME/mono/ran\n" >$f/pre-commit; chmod +x $f/pre-commit; done; mv "my tools" t; true'
	echo "$output"
	echo x >a.txt
	echo x >a.md
	git add . && git commit -qm one
	git checkout -q HEAD~0
	git init -q new
	git -C new commit -q --allow-empty -m one
	[ ! -e ran ]
	rm -rf .git new
}

# What an attacker without a list found.

@test "attack_r_03: no link, file or folder takes the place of a folder of masked names, with what is in it or comes into it" {
	rm -rf .git
	run sbx run -- sh -c 'mkdir -p in t/objects t/refs/heads t/hooks g; echo x >in/config.toml; ln -s in .cargo
		echo "ref: refs/heads/main" >t/HEAD; printf "[core]\n\tfsmonitor = touch ran\n" >t/config; chmod 0 t; mv -T t .git; chmod 755 .git
		ln -s g .git; echo "gitdir: g" >.git
		ln -s in way; mv way .yarn; mkdir in/releases; ln -s in way; mv -T way .github
		mkdir c; mv c .cargo; true'
	echo "$output"
	for name in .cargo .git .yarn .github; do [ ! -e "$name" ] && [ ! -L "$name" ]; done
	run git status
	[ ! -e ran ]
}

@test "attack_r_03: two threads don't fill a folder while it is moved to where names are kept" {
	run timeout 100 sbx run -- python3 -c '
import os, threading
won = 0
for i in range(300):
    os.mkdir("t")
    fd = os.open("t", os.O_RDONLY)
    def fill():
        try: os.close(os.open("config.toml", os.O_CREAT | os.O_WRONLY, dir_fd=fd))
        except OSError: pass
    thread = threading.Thread(target=fill)
    thread.start()
    try: os.rename("t", ".cargo")
    except OSError: pass
    thread.join()
    os.close(fd)
    won += os.path.lexists(".cargo")
    for name in ("t/config.toml", ".cargo/config.toml"):
        if os.path.lexists(name): os.unlink(name)
    for name in ("t", ".cargo"):
        if os.path.lexists(name): os.rmdir(name)
print("won", won)'
	echo "$output"
	contains "$output" "won 0"
}

@test "attack_r_03: a folder that is shut in one run has its names kept in the next" {
	mkdir -p .yarn/releases
	echo mine >.yarn/releases/yarn.cjs
	git init -q packages/lib
	sbx run -- sh -c 'chmod 0 .yarn packages'
	run sbx run -- sh -c 'chmod 755 .yarn; mv .yarn y; echo evil >y/releases/yarn.cjs; ln -s y .yarn; chmod 755 packages
		mv packages/lib/.git packages/lib/g; git -C packages/lib config core.fsmonitor "touch ran"; true'
	echo "$output"
	chmod 755 .yarn packages
	[ "$(cat .yarn/releases/yarn.cjs)" = mine ]
	[ -d packages/lib/.git ]
	run git -C packages/lib config core.fsmonitor
	[ -z "$output" ]
}

@test "attack_r_08: repositories that a tool makes take no other folder's place, and keep nobody from working" {
	run sbx run -- sh -c 'for i in $(seq 30); do mkdir -p a/$i/.git; done; long=$(printf "%0200d" 0)
		for i in $(seq 12); do mkdir -p $long/$long/$long/$i/.git; done; true'
	sbx run -- true
	run sbx run --allow "fs:write=$HOME/beside" -- sh -c 'echo x >~/beside/.envrc; echo x >~/beside/plain'
	echo "$output"
	[ -e "$HOME/beside/plain" ]
	[ ! -e "$HOME/beside/.envrc" ]
	rm -rf a 0*
	git init -q packages/real
	run sbx run -- sh -c 'echo x >packages/real/.envrc'
	[ ! -e packages/real/.envrc ]
}

@test "attack_r_03: a folder that is granted by a link, and a repository by a name with a dot, have their names kept, and git works there" {
	ln -sfn "$HOME/beside" "$HOME/way"
	git init -q "$HOME/beside"
	git -C "$HOME/beside" commit -q --allow-empty -m one
	run sbx run --allow "fs:write=$HOME/way" -- sh -c 'echo x >~/way/.envrc; mkdir ~/way/.vscode; echo x >~/way/plain; git -C ~/way config core.fsmonitor ./evil; git -C ~/way log --format=%s'
	echo "$output"
	contains "$output" one
	[ -e "$HOME/beside/plain" ]
	[ ! -e "$HOME/beside/.envrc" ]
	[ ! -e "$HOME/beside/.vscode" ]
	run git -C "$HOME/beside" config core.fsmonitor
	[ -z "$output" ]
	rm -rf "$HOME/.dotfiles"
	git init -q "$HOME/.dotfiles"
	run sbx run --allow "fs:write=$HOME/.dotfiles" -- sh -c 'echo x >~/.dotfiles/.envrc; echo x >~/.dotfiles/plain'
	[ -e "$HOME/.dotfiles/plain" ]
	[ ! -e "$HOME/.dotfiles/.envrc" ]
}

# mv(1) tries renameat2(2) with the folder itself first, and RENAME_NOREPLACE.
@test "a folder that is moved into a granted one, or into a repository, asks nothing" {
	mkdir -p tree/x other/x "$HOME/beside/deep"
	git init -q packages/real
	for target in "$HOME/beside/" "$HOME/beside/deep" packages/real/; do
		mkdir -p tree/x
		run -0 sbx run --fail-on-deny --allow "fs:write=$HOME/beside" -- mv tree "$target"
		lacks "$output" blocked
		[ -d "$target/tree/x" ]
		[ ! -e tree ]
	done
}

@test "attack_r_03: what git's configuration names is asked about also where it isn't there yet, and is no denial without a row" {
	git config core.fsmonitor .fsm/run
	git config include.path ../.gitmore
	git config alias.q '!scripts/x.sh'
	run sbx run -- sh -c 'mkdir .fsm scripts; for at in .fsm/run scripts/x.sh .gitmore .git/remotes; do mkdir $at; done; git init -q sub && mkdir sub/.git/remotes'
	echo "$output"
	for name in .fsm/run scripts/x.sh .gitmore .git/remotes; do
		contains "$output" "blocked fs:write $PWD/$name"
		contains "$output" "sbx grant fs:write $PWD/$name"
		[ ! -e "$name" ]
		sbx history --json | jq -se --arg path "$PWD/$name" 'map(select(.target == $path and .verdict == "deny")) | length > 0'
		sbx history --json | jq -se --arg path "$PWD/$name" 'map(select(.target == $path and .verdict == "allow")) | length == 0'
	done
	[ -d sub/.git/remotes ] # it is new, and named at the end
	sbx grant fs:write "$PWD/.fsm/run" --profile default
	sbx run -- sh -c 'echo mine >.fsm/run'
	[ "$(<.fsm/run)" = mine ]
	sbx revoke --all
}
