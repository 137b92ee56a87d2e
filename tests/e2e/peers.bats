#!/usr/bin/env bats
# The cases that two peers try on themselves, each as a policy of sbx and replayed: srt is Anthropic's sandbox-runtime, codex the
# Linux sandbox of OpenAI's codex. docs/peers.md says of each case which test has it. What counts is what is on the host afterwards.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	cp "$SBX_PROBE" "$HOME/run/probe"
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
	port=$(server web server.py --log "$HOME/run/requests")
	other=$(server other server.py --log "$HOME/run/requests")
	export port other
	default_policy "without-agent: deny" "    network: native
    allow:
      net:access: [\"good.test:$port\", \"*.wild.test:$port\"]
    hosts: {good.test: 127.0.0.1, blocked.test: 127.0.0.1, wild.test: 127.0.0.1, api.wild.test: 127.0.0.1,
      a.b.wild.test: 127.0.0.1, malicious-wild.test: 127.0.0.1, wild.test.evil.test: 127.0.0.1}
  nothing:
    extends: [base]
    network: native
    allow: {fs:write: [\"\${project}\"]}
    hosts: {good.test: 127.0.0.1}"
}

# A project that is empty, and a folder beside it.
setup() {
	needs_doorbell
	chmod -R u+rwx "$HOME/area" 2>/dev/null || true
	rm -rf "$HOME/area" "$HOME/beside"
	mkdir -p "$HOME/area" "$HOME/beside"
	cd "$HOME/area" || return
	: >"$HOME/run/requests"
}

teardown() {
	[[ ! -e $HOME/run/sockets.pid ]] || sockets_end
	[[ ! -e $HOME/run/person.pid ]] || answers_end person
}

# inside OPTION… LINE: run it under sh in the sandbox; sets $status and $output.
inside() {
	run timeout 60 sbx run "${@:1:$#-1}" -- sh -c "${!#}"
	echo "${!#}: $output ($status)"
}

# made NAME…: files with a text of the host's. same NAME…: they have it still, and are what they were.
made() {
	local name
	for name; do
		mkdir -p "$(dirname "$name")"
		echo original >"$name"
	done
}

same() {
	local name
	for name; do
		[[ -f $name && ! -L $name && $(<"$name") == original ]] || { echo "changed: $name" && return 1; }
	done
}

# missing NAME…: nothing has that name, a link neither.
missing() {
	local name
	for name; do
		[[ ! -e $name && ! -L $name ]] || { echo "made: $name" && return 1; }
	done
}

# is_written NAME…: by a shell in the sandbox, each for itself.
is_written() {
	local name
	inside "${options[@]}" 'for name in '"$*"'; do echo modified >$name; done; true'
	for name; do
		[[ $(<"$name") == modified ]] || { echo "not written: $name" && return 1; }
	done
}

# isnt_written NAME…: each try fails, and the file is the host's.
isnt_written() {
	inside "${options[@]}" 'for name in '"$*"'; do (echo modified >$name) 2>/dev/null && echo $name was written; done; true'
	[[ $status == 0 && $output != *"was written"* ]] && same "$@"
}

# isnt_made NAME…: nor is a file by that name, in folders that are made for it.
isnt_made() {
	inside "${options[@]}" 'for name in '"$*"'; do (mkdir -p $(dirname $name) && echo made >$name) 2>/dev/null && echo $name was made; done; true'
	[[ $status == 0 && $output != *"was made"* ]] && missing "$@"
}

options=()

# rules LINE…: what the profile default says besides, for the runs of this test.
rules() {
	{
		printf 'version: 1\nprompt: {without-agent: deny}\nprofiles:\n  default:\n'
		printf '    %s\n' "$@"
	} >"$HOME/run/rules.yaml"
	options=(--policy "$HOME/run/rules.yaml")
}

# --- names that are protected in a writable folder

@test "srt: what shells, editors, agents and git run later isn't written, nor made" {
	local names=(.bashrc .bash_profile .profile .zshrc .zprofile .gitconfig .gitmodules .ripgreprc .mcp.json .vscode/settings.json .idea/workspace.xml
		.claude/commands/test.md .claude/agents/test-agent.md)
	isnt_made "${names[@]}"
	git init -q .
	made "${names[@]}" .git/config .git/hooks/pre-commit
	isnt_written "${names[@]}" .git/config .git/hooks/pre-commit
	made .claude/some-other-file.txt # srt lets it be written
	isnt_written .claude/some-other-file.txt
}

@test "srt: the rest of the project and of .git is written; .git/config, too, where that is granted, the hooks not" {
	git init -q .
	made safe-file.txt .git/objects/test-obj .git/refs/heads/main .git/index .git/config .git/hooks/pre-commit
	is_written safe-file.txt .git/objects/test-obj .git/refs/heads/main .git/index
	options=(--allow "fs:write=$PWD/.git/config")
	is_written .git/config
	isnt_written .git/hooks/pre-commit
}

@test "srt: a denied name that isn't there isn't made, and nothing is left on the host in its place" {
	mkdir .claude sub
	options=(--deny "fs:write=$PWD/sub/settings.json" --deny "fs:write=$PWD/none/settings.json" --deny "fs:write=$PWD/a/b/c/file.txt")
	isnt_made .claude/settings.json sub/settings.json none/settings.json a/b/c/file.txt
	rm -rf none a
	inside "${options[@]}" 'echo hello; ls -A'
	[ "$output" = $'hello\n.claude\nsub' ]
	[ "$(find . | wc -l)" = 3 ]
}

@test "srt: a denied name that isn't there stays denied when another sandbox with the same denial ends" {
	mkdir .claude sub
	options=(--deny "fs:write=$PWD/sub/settings.json")
	background first sbx run "${options[@]}" -- sh -c 'touch up; until [ -e go ]; do sleep 0.05; done
		echo hooks >.claude/settings.json; echo hooks >sub/settings.json; true'
	wait_for 60 test -e up
	inside "${options[@]}" 'echo hooks >sub/settings.json; true'
	missing sub/settings.json .claude/settings.json
	touch go
	finished first
	missing sub/settings.json .claude/settings.json
}

@test "srt: in a project that is denied for writing the sandbox starts, files are read, and nothing is written or made" {
	made sub/settings.json
	mkdir secrets
	rules 'deny: {fs:write: ["${project}", "${project}/sub/settings.json", "${project}/.notyet"], fs:read: ["${project}/secrets"]}'
	inside "${options[@]}" 'cat sub/settings.json; touch .gitconfig .notyet new; echo x >>sub/settings.json; true'
	[ "${lines[0]}" = original ]
	[ "$status" = 0 ]
	same sub/settings.json
	missing .gitconfig .notyet new
}

@test "srt: git init works where nothing is denied to it; a worktree, whose .git is a file, breaks nothing" {
	inside 'git init -q . 2>/dev/null || echo asked about'
	contains "$output" "asked about" # hooks and config are
	rm -rf .git
	answers person 'allow=fs:write=*'
	inside 'git init -q . && git status --short && echo worked'
	answers_end person
	[ "$status" = 0 ]
	contains "$output" worked
	[ -d .git ]
	rm -rf .git
	echo "gitdir: $HOME/nowhere/.git/worktrees/branch" >.git
	inside 'echo hello'
	[ "$status" = 0 ]
	contains "$output" hello
}

@test "srt: a repository deeper in the project has its hooks and configuration protected, and git works there" {
	git init -q packages/app
	cd packages/app
	made index.js .git/hooks/pre-commit node_modules/.staging/left-pad-abc/index.js
	git config test.mark kept
	cd ../..
	local sum
	sum=$(sha256sum packages/app/.git/config)
	isnt_written packages/app/.git/hooks/pre-commit
	inside 'echo x >>packages/app/.git/config'
	[ "$status" != 0 ]
	rm packages/app/.git/hooks/pre-commit
	inside 'cd packages/app && git add index.js && git commit -qm one && git log --oneline | wc -l &&
		python3 -c "import os; os.rename(\"node_modules/.staging/left-pad-abc\", \"node_modules/left-pad\")" && mv index.js ../moved.js && echo all worked'
	contains "$output" "all worked"
	[ -e packages/app/.git/refs/heads/main ] && [ -e packages/app/node_modules/left-pad/index.js ] && [ -e packages/moved.js ]
	missing packages/app/index.js
	for line in 'mv packages p2' 'mv packages/app packages/a2' 'mv packages/app/.git packages/app/g'; do
		inside "$line && mkdir -p packages/app/.git && echo planted >packages/app/.git/config"
		[ "$status" != 0 ]
	done
	[ "$(sha256sum packages/app/.git/config)" = "$sum" ]
	missing p2 packages/a2 packages/app/g
}

@test "srt: a folder above a protected name can't be moved aside, removed or exchanged" {
	git init -q .
	local sum
	sum=$(sha256sum .git/config)
	cp "$HOME/run/probe" .
	mkdir other
	inside 'mv .git .git-moved && mkdir .git && echo planted >.git/config'
	[ "$status" != 0 ]
	inside 'rmdir .git; ./probe exchange .git other; ./probe rename .git g2'
	[ "$(grep -cxE "EBUSY|EACCES" <<<"$output")" = 2 ] # EACCES: asked about first, and refused
	missing .git-moved g2
	[ "$(sha256sum .git/config)" = "$sum" ]
	rm -rf .git
	mkdir .git # neither hooks nor config is there
	inside 'mv .git .git-moved && mkdir -p .git/hooks && echo planted >.git/config'
	missing .git-moved .git/config .git/hooks
}

@test "codex: .git/config, .codex and .agents in the project aren't written, and .codex isn't made" {
	isnt_made .codex/config.toml .agents/skill
	inside 'mkdir .codex'
	[ "$status" != 0 ]
	missing .codex
	git init -q .
	made .git/config .codex/config.toml .agents/skill
	is_written allowed
	isnt_written .git/config .codex/config.toml .agents/skill
}

@test "codex: git's configuration in a writable folder that isn't the project isn't written" {
	git init -q "$HOME/beside"
	made "$HOME/beside/.git/config" "$HOME/beside/.git/hooks/pre-commit"
	options=(--allow "fs:write=$HOME/beside")
	is_written "$HOME/beside/allowed"
	isnt_written "$HOME/beside/.git/config" "$HOME/beside/.git/hooks/pre-commit"
}

@test "codex: with the home as the writable folder .aws, .codex and .git/config in it aren't written" {
	made "$HOME/.aws/config" "$HOME/.codex/config.toml" "$HOME/.gitconfig.keep"
	inside --allow "fs:write=$HOME" "echo permitted >~/beside/allowed; echo changed >~/.aws/config; echo changed >~/.codex/config.toml; true"
	[ "$(<"$HOME/beside/allowed")" = permitted ]
	same "$HOME/.aws/config" "$HOME/.codex/config.toml"
	rm -r "$HOME/.aws" "$HOME/.codex"
}

@test "codex: below a repository git finds its top, and no file of git's appears" {
	git init -q .
	mkdir sub && cd sub
	inside 'git rev-parse --show-toplevel; echo "print(1)" >tool.py; python3 tool.py; git status --short'
	[ "${lines[0]}" = "$HOME/area" ]
	[ "${lines[1]}" = 1 ]
	[ "${lines[2]}" = "?? ./" ] || [ "${lines[2]}" = "?? tool.py" ]
	[ -f tool.py ]
	missing .git .codex .agents
	inside 'git init -q .' # codex denies it, too
	[ "$status" != 0 ]
	missing .git/config .git/hooks
	isnt_made .codex/config.toml
}

@test "codex: .codex and .aws in the project and in another writable folder aren't written, nor made" {
	options=(--allow "fs:write=$HOME/beside")
	isnt_made .aws/config "$HOME/beside/.codex/config.toml" "$HOME/beside/.aws/config"
	made .aws/config "$HOME/beside/.codex/config.toml" "$HOME/beside/.aws/config"
	isnt_written .aws/config "$HOME/beside/.codex/config.toml" "$HOME/beside/.aws/config"
}

@test "codex: a repository made in a writable folder that isn't the project is named at the end" {
	local options=(--allow "fs:write=$HOME/beside")
	inside "${options[@]}" 'git init -q ~/beside && git -C ~/beside config core.fsmonitor ./evil; git init -q ~/beside/sub; true'
	for made in "$HOME/beside/.git" "$HOME/beside/sub/.git"; do
		[[ ! -e $made || $output =~ $made(,|:|" and ") ]]
	done
	[ -e "$HOME/beside/sub/.git" ]
}

# --- links

@test "srt: a link on the way to a denied file can't be removed or replaced by a folder" {
	local options
	mkdir decoy
	echo '{}' >decoy/settings.json
	ln -s decoy link
	options=(--deny "fs:write=$PWD/link/settings.json")
	for line in 'rm link' 'rm link && mkdir link && echo evil >link/settings.json' 'ln -sfn sub link' 'mv link l2'; do
		inside "${options[@]}" "$line"
		[ "$status" != 0 ]
		[ -L link ] && [ "$(<link/settings.json)" = '{}' ]
	done
}

@test "srt codex: .claude and .codex that are links can't be replaced, nor written through" {
	mkdir decoy
	ln -s decoy .codex
	ln -s decoy .claude
	inside 'echo denied >.codex/config.toml; echo denied >.claude/settings.json; rm .codex && mkdir .codex && echo denied >.codex/config.toml
		rm .claude && mkdir .claude && echo denied >.claude/settings.json; echo started'
	contains "$output" started
	[ -L .codex ] && [ -L .claude ]
	missing decoy/config.toml decoy/settings.json
}

@test "srt: .claude that leads to a folder with other files is protected there, and the sandbox starts" {
	local target
	mkdir -p dotfiles/claude/commands dotfiles/claude/agents proj
	cd proj
	for target in ../dotfiles/claude "$HOME/area/dotfiles/claude"; do
		ln -sfn "$target" .claude
		inside --allow "fs:write=$HOME/area" 'echo evil >.claude/commands/evil.md; echo evil >.claude/agents/evil.md; echo evil >../dotfiles/claude/commands/evil.md; echo ok >ok.txt'
		[ "$status" = 0 ]
		[ "$(<ok.txt)" = ok ]
		[ "$(readlink .claude)" = "$target" ]
		missing ../dotfiles/claude/commands/evil.md ../dotfiles/claude/agents/evil.md
	done
}

@test "srt: a denied name behind a link, one that is a link to nowhere, and one in a circle of links aren't made" {
	mkdir real-proj
	ln -s real-proj proj2
	ln -s "$PWD/nowhere.json" dangling.json
	ln -s b a && ln -s a b
	ln -s .claude-x .claude && ln -s .claude .claude-x
	options=(--deny "fs:write=$PWD/proj2/.mcp.json" --deny "fs:write=$PWD/dangling.json" --deny "fs:write=$PWD/a/.mcp.json")
	inside "${options[@]}" 'echo evil >proj2/.mcp.json; echo evil >real-proj/.mcp.json; echo evil >dangling.json; echo evil >nowhere.json
		rm -f .claude && mkdir -p .claude/commands && echo planted >.claude/commands/planted.md
		rm -f a && mkdir a && echo evil >a/.mcp.json; true'
	missing real-proj/.mcp.json nowhere.json a/.mcp.json .claude/commands/planted.md
	[ -L dangling.json ] && [ -L .claude ]
}

@test "srt: a denied name that is a link is protected with its file, wherever that is, and the sandbox starts" {
	made "$HOME/beside/.bashrc" real-config
	ln -s "$HOME/beside/.bashrc" .bashrc
	ln -s real-config .env-link
	inside --deny "fs:write=$PWD/.env-link" 'echo hello; echo x >.bashrc; echo x >.env-link; echo x >real-config; rm -f .env-link .bashrc; true'
	contains "$output" hello
	same "$HOME/beside/.bashrc" real-config
	[ "$(readlink .env-link)" = real-config ] && [ "$(readlink .bashrc)" = "$HOME/beside/.bashrc" ]
}

@test "srt: a link that the tool makes opens nothing outside, in this run or in the next" {
	made "$HOME/beside/secret.txt"
	inside --allow fs:link=/ "ln -s '$HOME/beside' evil; ln -s /etc src; ln -s .. parent; ln -s / root; ln -s /tmp/escaped tmp
		echo pwned >evil/secret.txt; echo pwned >src/sbx-escape; echo pwned >parent/escaped; echo pwned >'root$HOME/beside/secret.txt'; echo pwned >tmp; true"
	[ -L evil ] && [ -L root ]
	inside 'for name in evil/secret.txt src/sbx-escape parent/escaped root/tmp/escaped tmp; do echo pwned >$name; done; true'
	same "$HOME/beside/secret.txt"
	missing /etc/sbx-escape "$HOME/escaped" /tmp/escaped
}

@test "srt: a rule that lets a link in a writable folder be written opens nothing outside that folder" {
	made "$HOME/beside/secret.txt"
	mkdir -p "$HOME/beside/writable" actual
	rules 'allow: {fs:write: ["${project}/evil", "~/area/src", "${project}/parent", "${project}/link", "~/beside/writable", "~/beside/writable/made/**"], fs:link: [/]}'
	ln -s "$HOME/beside" evil
	ln -s /etc src
	ln -s .. parent
	ln -s actual link
	inside "${options[@]}" 'ln -s .. ~/beside/writable/made; echo fine >link/file'
	inside "${options[@]}" 'echo pwned >evil/secret.txt; echo pwned >src/sbx-escape; echo pwned >parent/escaped; echo pwned >~/beside/writable/made/secret.txt; true'
	same "$HOME/beside/secret.txt"
	missing /etc/sbx-escape "$HOME/escaped"
	[ -L "$HOME/beside/writable/made" ]
	[ "$(<actual/file)" = fine ]
}

@test "srt: a rule with a link to nowhere or with a slash at its end leaves the rest as it is" {
	ln -s /nonexistent/path broken
	inside --allow "fs:write=$PWD/broken" --allow "fs:write=$HOME/beside/" 'echo one >~/beside/one; echo two >two'
	[ "$status" = 0 ]
	[ "$(<"$HOME/beside/one")" = one ] && [ "$(<two)" = two ]
}

# --- reading and writing, rules within rules

@test "srt codex: a denied folder shows a folder in it that is allowed, and nothing else" {
	made denied/secret.txt denied/allowed/visible.txt denied/w/keep "$HOME/beside/secret.txt"
	rules 'deny: {fs:read: ["${project}/denied"]}' 'allow: {fs:read: ["${project}/denied/allowed"], fs:write: ["${project}/denied/w"]}'
	inside "${options[@]}" 'cat denied/allowed/visible.txt && echo note >denied/w/note && rm denied/w/keep && cat denied/w/note'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = $'original\nnote' ]
	[ "$(<denied/w/note)" = note ]
	missing denied/w/keep
	inside "${options[@]}" "cat denied/secret.txt '$HOME/beside/secret.txt' || ls denied; echo x >denied/secret.txt; touch denied/allowed/new; true"
	lacks "$output" original
	same denied/secret.txt
	missing denied/allowed/new
}

@test "srt: a folder that may be written in one that may be read in one that is denied" {
	local base=$HOME/beside
	made "$base/project/readme.txt" "$base/outside"
	mkdir "$base/project/state"
	rules 'deny: {fs:read: [~/beside]}' 'allow: {fs:read: [~/beside/project], fs:write: [~/beside/project/state]}'
	inside "${options[@]}" \
		"cd '$base/project' && touch state/probe.txt && cat readme.txt && ! touch not-writable.txt && ! cat ../outside"
	[ "$status" = 0 ]
	[ -e "$base/project/state/probe.txt" ]
	missing "$base/project/not-writable.txt"
}

@test "srt: a denied file holds in a folder that may be written in a folder that is denied" {
	mkdir -p x/y
	git init -q x/y/z
	made x/y/z/data/secret.txt x/y/z/app/owned.txt d/t/w/secret
	git init -q x/y/z/app/repo
	local sum
	sum=$(sha256sum x/y/z/.git/config)
	rules 'deny:' '  fs:read: ["${project}/x/y", "${project}/x/y/z/data", "${project}/d/t"]' \
		'  fs:write: ["${project}/x/y/z/app", "${project}/d", "${project}/d/t/w/secret"]' 'allow: {fs:write: ["${project}/x/y/z", "${project}/d/t/w"]}'
	inside "${options[@]}" 'echo n >x/y/z/newfile.txt; echo evil >>x/y/z/.git/config; cat x/y/z/data/secret.txt; echo evil >x/y/z/data/secret.txt
		echo evil >x/y/z/app/repo/.git/planted; echo evil >x/y/z/app/owned.txt; echo evil >d/t/w/secret
		cd d/t && mv w w2 && mkdir w && echo evil >w/secret; true'
	lacks "$output" original
	same x/y/z/data/secret.txt x/y/z/app/owned.txt d/t/w/secret
	[ "$(sha256sum x/y/z/.git/config)" = "$sum" ]
	[ "$(<x/y/z/newfile.txt)" = n ]
	missing x/y/z/app/repo/.git/planted d/t/w2
}

@test "srt: what is denied by the name of a link, of the folder or of the file, is hidden by every name" {
	made data/secrets/secret.txt data/w/secret data/w/other.txt dotfiles-netrc creds/aws/credentials
	ln -s data/secrets secrets
	ln -s data/w/secret s-link
	ln -s dotfiles-netrc netrc
	inside --deny "fs:read=$PWD/secrets" --deny "fs:read=$PWD/s-link" --deny "fs:read=$PWD/netrc" --deny "fs:read=$PWD/creds/aws" --allow "fs:write=$PWD/data/w" \
		'for name in data/secrets/secret.txt secrets/secret.txt data/w/secret s-link netrc dotfiles-netrc creds/aws/credentials; do
			cat $name && echo $name was read; echo evil >>$name; done; cat data/w/other.txt'
	lacks "$output" "was read"
	[ "$(grep -c original <<<"$output")" = 1 ]
	same data/secrets/secret.txt data/w/secret dotfiles-netrc creds/aws/credentials
}

@test "srt: the folder above a file that is denied for reading can't be moved aside" {
	made config/secrets.json
	inside --deny "fs:read=$PWD/config/secrets.json" 'mv config config-moved && mkdir config && echo attacker >config/secrets.json'
	[ "$status" != 0 ]
	same config/secrets.json
	missing config-moved
}

@test "srt: a pattern that denies holds in the project, beside it, and for what is made" {
	made .env sub/.env safe.txt secret.txt pkg/build/1.out pkg/build-cache/x "$HOME/beside/.env" "$HOME/beside/new/safe" "$HOME/beside/secret.txt"
	options=(--allow "fs:write=$HOME/beside" --deny 'fs:write=**/.env' --deny 'fs:read=**/secret.txt' --deny "fs:read=$PWD/**/build/**")
	isnt_written .env sub/.env "$HOME/beside/.env"
	isnt_made "$HOME/beside/new/.env" pkg/.env
	is_written safe.txt "$HOME/beside/new/safe"
	inside "${options[@]}" "cat secret.txt '$HOME/beside/secret.txt' pkg/build/1.out; cat pkg/build-cache/x"
	[ "$(grep -c original <<<"$output")" = 1 ]
}

@test "srt: only what is listed is read, a file by itself or a folder with all of it but what is denied there" {
	local base=$HOME/beside mark
	made "$base/allowed.txt" "$base/denied.txt" "$base/sub/file.txt"
	inside --allow "fs:read=$base/allowed.txt" "cat '$base/allowed.txt'; cat '$base/denied.txt'"
	[ "$(grep -c original <<<"$output")" = 1 ]
	[ "$status" != 0 ]
	inside --allow "fs:read=$base" "cat '$base/allowed.txt' '$base/denied.txt' '$base/sub/file.txt'; echo x >'$base/denied.txt'; touch '$base/new'; true"
	[ "$(grep -c original <<<"$output")" = 3 ]
	same "$base/denied.txt"
	missing "$base/new"
	inside --allow "fs:read=$base" --deny "fs:read=$base/denied.txt" --deny "fs:read=$base/sub" "cat '$base/allowed.txt'; cat '$base/denied.txt'; cat '$base/sub/file.txt'"
	[ "$(grep -c original <<<"$output")" = 1 ]
	inside --deny fs:read=/etc/hostname 'cat /etc/hostname'
	[ "$status" != 0 ]
	mark=$(mktemp /tmp/sbx-peers-XXXXXX) # srt lets these be read
	made "$HOME/.bashrc" "$HOME/.netrc"
	inside "for file in $mark ~/.bashrc ~/.netrc ~/.ssh/id_ed25519; do cat \$file && echo was read; done"
	rm "$mark" "$HOME/.bashrc" "$HOME/.netrc"
	lacks "$output" "was read"
}

@test "srt: a variable that is denied isn't there, one that is passed is" {
	TOKEN_OF_MINE=super-secret LANG=C.UTF-8 run sbx run --env SHOWN=visible -- sh -c 'printenv SHOWN LANG; printenv TOKEN_OF_MINE'
	echo "$output"
	[ "$status" = 1 ]
	[ "$output" = $'visible\nC.UTF-8' ]
}

@test "srt codex: outside of what may be written nothing is, and /tmp and /dev/shm are the sandbox's own" {
	local mark=sbx-peers-$$
	made "$HOME/beside/file" "/dev/shm/$mark"
	run sbx run -- sh -c "echo blah >/tmp/$mark; touch /etc/$mark; touch /usr/$mark; echo x >'$HOME/beside/file'; echo x >'$HOME/beside/new'; echo sandbox >/dev/shm/$mark
		cat /dev/shm/$mark; echo test >allowed-write.txt; ls -l /bin >/dev/null && echo listed"
	echo "$output"
	same "$HOME/beside/file" "/dev/shm/$mark"
	rm "/dev/shm/$mark"
	missing "/tmp/$mark" "/etc/$mark" "/usr/$mark" "$HOME/beside/new"
	[ "$(<allowed-write.txt)" = test ]
	contains "$output" sandbox
	contains "$output" listed
}

@test "codex: what may be written is the project's, whatever folder the command starts in" {
	mkdir "$HOME/beside/command"
	run sbx run --project "$HOME/area" --allow "fs:read=$HOME/beside" --cwd "$HOME/beside/command" -- sh -c "echo forbidden >forbidden.txt; touch '$HOME/area/allowed.txt'"
	echo "$output"
	[ "$status" = 0 ]
	[ -e allowed.txt ]
	missing "$HOME/beside/command/forbidden.txt"
}

@test "codex: a folder to write that isn't there keeps nothing from starting" {
	rules 'allow: {fs:write: [~/beside/missing, ~/beside]}'
	inside "${options[@]}" 'printf sandbox-ok'
	[ "$status" = 0 ]
	[ "$output" = sandbox-ok ]
	missing "$HOME/beside/missing"
}

@test "codex: a folder for temporary files that is denied is hidden, and the sandbox starts" {
	made AGENTS.md "$HOME/beside/tmp/secret"
	TMPDIR=$HOME/beside/tmp run sbx run --env TMPDIR --deny "fs:read=$HOME/beside/tmp" -- sh -c 'cat AGENTS.md; cat "$TMPDIR/secret"; echo x >"$TMPDIR/secret"; true'
	echo "$output"
	[ "$(grep -c original <<<"$output")" = 1 ]
	same "$HOME/beside/tmp/secret" AGENTS.md
	missing .git
}

# --- the network

# get OPTION… URL: the page, with curl.
get() {
	run timeout 60 sbx run "${@:1:$#-1}" -- curl -sS --max-time 10 "${!#}"
	echo "${!#}: $output ($status)"
}

nothing_arrived() {
	[[ ! -s $HOME/run/requests ]] || { cat "$HOME/run/requests" && return 1; }
}

@test "srt: a host that is listed is reached, another name, scheme, port or address is not" {
	get "http://good.test:$port/x"
	[ "$status" = 0 ]
	contains "$output" "hello /x"
	: >"$HOME/run/requests"
	for url in "http://blocked.test:$port/" "https://blocked.test:$port/" "http://good.test:$other/" "http://127.0.0.1:$port/" "http://2130706433:$port/" \
		"http://localhost:$port/" http://1.1.1.1/ http://192.0.2.1/; do
		get "$url"
		lacks "$output" hello
		[ "$status" != 0 ]
	done
	nothing_arrived
}

@test "srt: *.NAME is each name below NAME, not NAME itself and none that looks like it" {
	for host in api.wild.test a.b.wild.test API.Wild.test; do
		get "http://$host:$port/x"
		contains "$output" "hello /x"
	done
	: >"$HOME/run/requests"
	for host in wild.test malicious-wild.test wild.test.evil.test; do
		get "http://$host:$port/x"
		lacks "$output" hello
	done
	nothing_arrived
}

@test "srt: a name that is allowed in a denied pattern is reached, one that is denied in an allowed pattern isn't" {
	rules "allow: {net:access: [\"*.wild.test:$port\", \"api.other.test:$port\"]}" 'deny: {net:access: [a.b.wild.test, "*.other.test"]}' \
		'hosts: {api.wild.test: 127.0.0.1, a.b.wild.test: 127.0.0.1, api.other.test: 127.0.0.1, b.other.test: 127.0.0.1}' 'network: native'
	get "${options[@]}" "http://api.wild.test:$port/x"
	contains "$output" "hello /x"
	get "${options[@]}" "http://api.other.test:$port/x" # srt: denied
	contains "$output" "hello /x"
	for host in a.b.wild.test A.B.wild.test. b.other.test; do
		get "${options[@]}" "http://$host:$port/x"
		lacks "$output" hello
	done
}

@test "srt codex: with no host listed nothing gets out by curl, wget, ssh, bash or a name's address, and files are as ever" {
	run timeout 60 sbx run --profile nothing -- bash -c "curl -sS --max-time 5 http://good.test:$port/ && echo got out; curl -sS --max-time 5 https://good.test:$port/ && echo got out
		wget -q --timeout=5 --tries=1 -O - http://good.test:$port/ && echo got out; ssh -o BatchMode=yes -o ConnectTimeout=3 -p $port good.test true && echo got out
		getent ahosts openai.com && echo got out; getent hosts example.com && echo got out
		(echo hi >/dev/tcp/127.0.0.1/$port) && echo got out; (exec 3<>/dev/tcp/192.0.2.1/80) && echo got out; (exec 3<>/dev/tcp/good.test/$port) && echo got out
		echo content >file && cat file"
	echo "$output"
	lacks "$output" "got out"
	contains "$output" content
	[ "$(<file)" = content ]
	nothing_arrived
}

@test "codex: no raw, ping or vsock socket is to be had, and no other kind of netlink than the loopback's own" {
	run sbx run -- python3 -c '
import socket
for name, words in {"raw": (socket.AF_INET, socket.SOCK_RAW, 1), "packet": (socket.AF_PACKET, socket.SOCK_RAW), "vsock": (socket.AF_VSOCK, socket.SOCK_STREAM),
        "netlink stream": (socket.AF_NETLINK, socket.SOCK_STREAM), "netfilter": (socket.AF_NETLINK, socket.SOCK_RAW, 12)}.items():
    try:
        socket.socket(*words)
        print(name, "was made")
    except OSError as error:
        print(name, error.strerror)
try:
    ping = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)
    ping.settimeout(2)
    ping.sendto(b"\x08\0\xf7\xff\0\0\0\0", ("192.0.2.1", 0))
    print("ping was sent")
except OSError as error:
    print("ping", error)'
	echo "$output"
	[ "$(grep -c . <<<"$output")" -ge 6 ]
	lacks "$output" "was "
	lacks "$output" Traceback
}

@test "srt: TCP, UDP and IPv6 sockets are to be had, and a server and its client inside meet" {
	run sbx run -- python3 -c '
import socket
for family in socket.AF_INET, socket.AF_INET6:
    for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
        socket.socket(family, kind)
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
print("met")'
	echo "$output"
	[ "$output" = met ]
}

# --- Unix sockets

# sockets PATH…: a server on the host that says hello at each.
sockets() {
	python3 - "$@" >"$HOME/run/sockets.log" 2>&1 3>&- <<-'END' &
		import os, select, socket, sys, time
		servers = []
		for path in sys.argv[1:]:
		    server = socket.socket(socket.AF_UNIX)
		    server.bind("\0" + path[1:] if path.startswith("@") else path)
		    server.listen()
		    servers.append(server)
		print("ready", flush=True)
		end = time.monotonic() + 60
		while time.monotonic() < end:
		    for server in select.select(servers, [], [], 1)[0]:
		        peer = server.accept()[0]
		        peer.sendall(b"hello")
		        peer.close()
	END
	echo $! >"$HOME/run/sockets.pid"
	wait_for 60 grep -q ready "$HOME/run/sockets.log"
}

sockets_end() {
	kill "$(<"$HOME/run/sockets.pid")"
	rm "$HOME/run/sockets.pid"
}

# A client that says for each PATH what it gets there.
client='
import os, socket, sys
for path in sys.argv[1:]:
    client = socket.socket(socket.AF_UNIX)
    try:
        client.connect("\0" + path[1:] if path.startswith("@") else path)
        print(path, "got", client.recv(5).decode())
    except OSError as error:
        print(path, error.strerror)'

@test "srt codex: a Unix socket of the host isn't reached, by its path, a link, a relative path or an abstract name" {
	local name=sbx-peers-$$
	sockets "$HOME/beside/plain.sock" "$PWD/in-project.sock" "@$name"
	python3 -c "$client" in-project.sock "@$name" | grep -c 'got hello' | grep -qx 2
	ln -s in-project.sock link.sock
	run sbx run --allow "fs:read=$HOME/beside" -- python3 -c "$client" "$HOME/beside/plain.sock" in-project.sock "$PWD/in-project.sock" link.sock "@$name"
	echo "$output"
	[ "$(grep -c . <<<"$output")" -ge 5 ]
	lacks "$output" "got hello"
	sockets_end
}

@test "srt: of the host's sockets that in the allowed folder is reached, also by a link, a relative path and a grandchild, and no other" {
	mkdir "$HOME/beside/allowed"
	sockets "$HOME/beside/allowed/ok.sock" "$HOME/beside/other.sock"
	ln -s "$HOME/beside/allowed/ok.sock" into.sock
	ln -s "$HOME/beside/other.sock" "$HOME/beside/allowed/escape.sock"
	options=(--allow "fs:read=$HOME/beside" --allow "ipc:connect=$HOME/beside/allowed/**")
	run sbx run "${options[@]}" -- python3 -c "$client" "$HOME/beside/allowed/ok.sock" into.sock "$HOME/beside/other.sock" "$HOME/beside/allowed/escape.sock"
	echo "$output"
	[ "$(grep -c 'got hello' <<<"$output")" = 2 ]
	contains "$output" "ok.sock got hello"
	contains "$output" "into.sock got hello"
	run sbx run "${options[@]}" -- sh -c 'cd "$1"; sh -c "python3 -c \"\$0\" allowed/ok.sock other.sock" "$2"; exit 7' sh "$HOME/beside" "$client"
	echo "$output"
	[ "$status" = 7 ]
	contains "$output" "allowed/ok.sock got hello"
	lacks "$output" "other.sock got hello"
	run sbx run --allow "fs:read=$HOME/beside" --allow "ipc:connect=$HOME/beside/allowed/not-there.sock" -- python3 -c "$client" "$HOME/beside/allowed/ok.sock"
	echo "$output"
	lacks "$output" "got hello"
	sockets_end
}

@test "srt codex: a tool has socket pairs and sockets of its own, whose names end with it" {
	run sbx run -- python3 -c '
import socket
for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
    left, right = socket.socketpair(socket.AF_UNIX, kind)
    left.send(b"ok")
    assert right.recv(2) == b"ok"
server = socket.socket(socket.AF_UNIX)
server.bind("\0sbx-peers-inside")
server.listen()
socket.socket(socket.AF_UNIX).connect("\0sbx-peers-inside")
print("met")
open("up", "w").close()
import os, time
while not os.path.exists("go"): time.sleep(0.02)' 3>&- &
	local pid=$!
	wait_for 60 test -e up
	run python3 -c "$client" @sbx-peers-inside
	touch go
	wait "$pid"
	contains "$output" "refused"
}

# --- processes and the kernel

@test "srt codex: statuses, signals, pipelines and shells are as outside" {
	run -0 sbx run -- sh -c 'exit 0'
	run -1 sbx run -- sh -c 'exit 1'
	run -42 sbx run -- sh -c 'exit 42'
	run -127 sbx run -- sh -c 'exit 127'
	run sbx run -- sh -c 'kill -TERM $$'
	[ "$status" = 143 ]
	inside 'printf "line1\nline2\nline3\n" | grep line2'
	[ "$output" = line2 ]
	[ "$(sbx run -- bash -c '[ "$BASH_VERSION" ] && echo bash')" = bash ]
	if type -P zsh >/dev/null; then [ "$(sbx run -- zsh -c 'VAR="hello world"; echo ${VAR:u}')" = "HELLO WORLD" ]; fi
	inside '(sleep 0.2 &) ; exit 7'
	[ "$status" = 7 ]
	run sbx run --timeout 1s -- sleep 30
	[ "$status" = 124 ]
}

@test "srt: nothing of the sandbox outlives it, whether it ends, is ended by its timeout or by a signal" {
	inside '(while true; do echo alive >>marker; sleep 0.1; done) & sleep 31415 & sleep 0.5; exit 5'
	[ "$status" = 5 ]
	wait_for 30 no_process 'sleep 31415'
	run timeout --preserve-status -s TERM 1 sbx run -- sh -c 'while true; do echo tick >>ticks; sleep 31416 & sleep 0.1; done'
	[ "$status" = 143 ]
	run timeout -s KILL 1 sbx run -- sh -c 'sleep 31417 & while true; do echo tick >>ticks; sleep 0.1; done'
	wait_for 30 no_process 'sleep 3141[67]'
	local before
	before=$(cat marker ticks | wc -l)
	sleep 0.5
	[ "$(cat marker ticks | wc -l)" = "$before" ]
}

@test "srt: a tool that ends every process it can still reaches an allowed host" {
	run timeout 60 sbx run -- bash -c "sleep 31418 & kill -9 -1; curl -sS --max-time 10 http://good.test:$port/x"
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "hello /x"
	wait_for 30 no_process 'sleep 31418'
}

@test "srt codex: no process of the host is seen, and the first one inside can't be traced, written or got rid of" {
	cp "$HOME/run/probe" .
	inside 'ls /proc | grep -cE "^[0-9]+$"; cat /proc/1/comm; ./probe ptrace-init; ./probe init-memory; ./probe umount /proc; ./probe io-uring; ./probe listener; ./probe userns
		python3 -c "
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
text = ctypes.create_string_buffer(8)
class Part(ctypes.Structure):
    _fields_ = [(\"base\", ctypes.c_void_p), (\"length\", ctypes.c_size_t)]
here, there = Part(ctypes.addressof(text), 1), Part(0x1000, 1)
print(\"written\" if libc.process_vm_writev(1, ctypes.byref(here), 1, ctypes.byref(there), 1, 0) >= 0 else \"refused\")
print(\"entered\" if libc.syscall(426, 99, 0, 0, 0, 0, 0) >= 0 else \"refused\")"'
	((lines[0] > 1 && lines[0] < 20))
	[ "${lines[1]}" = sbx-init ]
	for i in 2 3 4 5 6 7; do # EBUSY: there can be but one listener
		[[ ${lines[i]} =~ ^(EPERM|EACCES|EBUSY|ENOSYS)$ ]]
	done
	[ "${lines[8]} ${lines[9]}" = "refused refused" ]
}

@test "srt codex: a process has no right of root's, gets none, and keeps none for the host's users" {
	inside 'grep -hE "^(NoNewPrivs|CapEff|CapPrm|CapAmb|Seccomp):" /proc/self/status | tr "\n\t" "  "; id -u'
	contains "$output" "NoNewPrivs: 1"
	[ "$(grep -oE 'Cap(Eff|Prm|Amb): 0000000000000000' <<<"$output" | wc -l)" = 3 ]
	contains "$output" "Seccomp: 2"
	inside 'cp /bin/bash setuid-test && chmod u+s setuid-test; ./setuid-test -c "id -u" || id -u; sudo -n echo elevated || su -c "echo elevated" </dev/null || echo blocked'
	contains "$output" "$(id -u)"
	contains "$output" blocked
	run ! grep -qx elevated <<<"$output"
	[ ! -u setuid-test ]
}

@test "srt: a pipe is made; a hard link to a file outside and a device aren't" {
	inside 'mkfifo test.fifo; ln /etc/passwd hard.txt; ln ~/.ssh/id_ed25519 key; mknod fake c 1 3; mknod block b 8 0; true'
	[ -p test.fifo ]
	missing hard.txt key fake block
}

@test "codex: devices, python's locks and the account's name are there" {
	inside 'for node in null zero full random urandom tty; do [ -c /dev/$node ] || echo no $node; done; echo blah >/dev/null && echo written
		python3 -c "
from multiprocessing import Lock, Process
def f(lock):
    with lock: print(\"locked\", flush=True)
if __name__ == \"__main__\":
    p = Process(target=f, args=(Lock(),)); p.start(); p.join()
import os, pwd
print(pwd.getpwuid(os.getuid()).pw_name)"'
	[ "$output" = $'written\nlocked\n'"$(id -un)" ]
}
