#!/usr/bin/env bats
# attack_r14: what a run leaves for its user to overlook. Links by which a program of the host writes where the tool could not,
# entries that git shows no longer, patterns in info/exclude, repositories in any folder that may be written: named at the end, a
# line a kind, and in the history. The user's own git shows what would have been hidden.
# shellcheck disable=SC2016,SC2088,SC2154 # expanded inside the sandbox; as it is shown; run sets it

load helper

setup_file() {
	home_make
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
	git config --global protocol.file.allow always
}

# A project that is a repository with two files, and a folder beside it.
setup() {
	rm -rf "$HOME/repo" "$HOME/beside" "$HOME/out"
	mkdir "$HOME/beside" "$HOME/out"
	git init -q "$HOME/repo"
	cd "$HOME/repo" || return
	mkdir src
	echo one >src/x.c
	echo one >src/y.c
	git add .
	git commit -qm one
	echo mine >"$HOME/.profile"
}

# inside OPTION… LINE: run it under sh in the sandbox; sets $status, $output and $session.
inside() {
	run sbx run "${@:1:$#-1}" -- sh -c "${!#}"
	echo "${!#}: $output ($status)"
	session=$(sbx history --json | jq -r 'select(.kind == "session-start").session' | tail -n 1)
}

# slipped OPTION… LINE: as inside, but the host runs the line while the sandbox is up: by nothing else can a test make what
# nobody was asked about.
slipped() {
	rm -f up go
	background tool sbx run "${@:1:$#-1}" -- sh -c 'touch up; until [ -e go ]; do sleep 0.05; done; rm up go'
	wait_for 60 test -e up
	eval "${!#}"
	touch go
	finished tool
	echo "${!#}: $output ($status)"
	session=$(sbx history --json | jq -r 'select(.kind == "session-start").session' | tail -n 1)
}

# finding WHAT FILTER…: the history has a row of that kind in this session for which the jq filter holds; with --arg as jq has it.
finding() {
	sbx history --session "$session" --json | jq -se --arg what "$1" "${@:2:$#-2}" \
		"map(select(.kind == \"finding\" and .detail.what == \$what)) | any(${!#})" >/dev/null
}

# told PATH: while it ran, and at the end, and once in the history.
told() {
	contains "$output" "$1 has been made, and nobody was asked"
	grep 'would have been protected' <<<"$output" | grep -qE "$1(,| and| is new| are new)" || { echo "not at the end: $1" && return 1; }
	[ "$(sbx history --session "$session" --json | jq -s --arg path "$1" 'map(select(.kind == "finding" and .target == $path and .detail.what == "protected")) | length')" = 1 ]
}

# linked NAME TEXT [MOUNT]: the host makes that link, and the tool ends when the sandbox has a plan that knows of it, by which that
# name is held.
linked() {
	rm -f up go
	background tool sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.05; done; until [ -L "$1" ]; do sleep 0.05; done' sh "$1"
	wait_for 60 test -e up
	ln -s "$2" "$1"
	[ -z "${3-told}" ] || wait_for 30 grep -q 'nobody was asked' "$HOME/run/tool.out"
	touch go
	finished tool
	rm -f up go
	echo "$1 -> $2: $output ($status)"
	session=$(sbx history --json | jq -r 'select(.kind == "session-start").session' | tail -n 1)
}

lines_of() {
	grep -c '^sbx: ' <<<"$output"
}

@test "attack_r_14: an entry that is assumed unchanged, or left out of the work tree, is named, and git on the host shows it no longer" {
	inside 'echo evil >>src/x.c; echo evil >>src/y.c; git update-index --assume-unchanged src/x.c; git update-index --skip-worktree src/y.c'
	[ -z "$(git status --short)" ] # that is the attack
	contains "$output" "git may no longer show changes of src/x.c (assume-unchanged) and src/y.c (skip-worktree)"
	[ "$(lines_of)" = 1 ]
	finding hidden --arg path "$PWD/src/x.c" '.target == $path and .detail.how == "assume-unchanged" and .detail.name == "src/x.c"'
	finding hidden --arg path "$PWD/src/y.c" '.target == $path and .detail.how == "skip-worktree"'
	inside 'echo more >>src/x.c' # what was so at the start isn't said again
	[ -z "$output" ]
	git update-index --no-assume-unchanged src/x.c
	git update-index --no-skip-worktree src/y.c
	[ "$(git status --short)" = " M src/x.c"$'\n'" M src/y.c" ]
}

@test "attack_r_14: new patterns in info/exclude are named" {
	echo '# mine' >.git/info/exclude
	inside 'mkdir tools; echo evil >tools/run; printf "tools/\n# x\n" >>.git/info/exclude'
	[ -z "$(git status --short)" ]
	contains "$output" "git may no longer show changes of tools/ (new in info/exclude)"
	finding hidden --arg path "$PWD/.git/info/exclude" '.target == $path and .detail.name == "tools/"'
	inside true
	[ -z "$output" ]
}

@test "attack_r_14: a worktree, a submodule and a nested repository are looked at as well" {
	git init -q vendor/in
	(cd vendor/in && echo one >f && git add f && git commit -qm one)
	git init -q "$HOME/out/part" && git -C "$HOME/out/part" commit -q --allow-empty -m one
	git submodule --quiet add "$HOME/out/part" part >/dev/null 2>&1
	inside 'git -C vendor/in update-index --assume-unchanged f; echo "*" >>.git/modules/part/info/exclude'
	contains "$output" "f (assume-unchanged in vendor/in/.git)"
	contains "$output" "* (new in info/exclude in .git/modules/part)"
	git worktree add -q "$HOME/beside/tree" -b side 2>/dev/null
	cd "$HOME/beside/tree"
	inside 'git update-index --skip-worktree src/x.c; echo y.c >>$(git rev-parse --git-path info/exclude)'
	contains "$output" "src/x.c (skip-worktree)"
	contains "$output" "y.c (new in info/exclude in ~/repo/.git)"
}

@test "attack_r_14: an index that can't be read to its end any more is named" {
	inside 'git update-index --split-index'
	contains "$output" "index (can't be read to its end)"
	inside true # it is as it was at the start
	lacks "$output" "can't be read"
}

@test "attack_r_14: links by which a program of the host would write where the tool could not are named" {
	ln -s ../out old
	slipped 'ln -s "$HOME/.profile" package-lock.json; ln -s ../../.bash_login src/log; ln -sf ../src/x.c .git/COMMIT_EDITMSG
		ln -s "$HOME/.own" cache; ln -s "$HOME/none/deep" nowhere; ln -s src/x.c within; ln -s /usr/bin/env env; ln -s /dev/null null'
	contains "$output" "by new links a program outside would write where the tool could not: "
	for link in "package-lock.json -> ~/.profile" "src/log -> ~/.bash_login" ".git/COMMIT_EDITMSG -> src/x.c" "cache -> ~/.own"; do
		contains "$output" "$link"
	done
	for name in within env null old nowhere; do lacks "$output" "$name ->"; done
	[ "$(lines_of)" = 1 ]
	finding link --arg path "$PWD/src/log" --arg home "$HOME" '.target == $path and .detail.text == "../../.bash_login" and .detail.leads == $home + "/.bash_login"'
	echo evil >package-lock.json # that is the attack
	[ "$(<"$HOME/.profile")" = evil ]
	inside true
	[ -z "$output" ]
}

@test "attack_r_14: links to what is masked in the project, in a folder that was granted, and through a link of the user's are named" {
	ln -s ../out old
	slipped --allow "fs:write=$HOME/beside" 'ln -s .git/hooks/pre-commit a; ln -s .envrc b; ln -s old/new c; ln -s ../.profile ~/beside/d'
	for link in "a -> .git/hooks/pre-commit" "b -> .envrc" "c -> ~/out/new" "~/beside/d -> ~/.profile"; do contains "$output" "$link"; done
}

@test "attack_r_14: what was granted while it ran, and ended, is looked at" {
	background tool sbx run -- sh -c 'touch up; until [ -e granted ]; do sleep 0.05; done
		git init -q ~/beside/made; touch made; until [ -e go ]; do sleep 0.05; done'
	wait_for 60 test -e up
	sbx grant fs:write "$HOME/beside" --profile default >/dev/null
	touch granted
	wait_for 60 test -e made
	ln -s ../.profile ~/beside/link
	sbx revoke --all >/dev/null
	touch go
	finished tool
	echo "$output"
	contains "$output" "$HOME/beside/made/.git: check it"
	contains "$output" "~/beside/link -> ~/.profile"
}

@test "attack_r_14: of a link that was allowed nothing more is said, but of the next one that slips past" {
	inside --allow "fs:link=$HOME/.profile" 'ln -s ~/.profile allowed; mkdir d; ln -s ~/.profile d/moved; mv d/moved .'
	[ -z "$output" ]
	[ -L allowed ] && [ -L moved ]
	slipped --allow "fs:link=$HOME/.profile" 'ln -s ~/.profile beside'
	contains "$output" "beside -> ~/.profile: check it"
	lacks "$output" allowed
}

@test "attack_r_14: names are made visible, and more than a line holds are counted" {
	slipped 'for i in $(seq 150); do ln -s ~/.profile "$(printf "l%03d\033[2J" $i)"; done'
	lacks "$output" $'\033'
	contains "$output" '\x1b[2J -> ~/.profile'
	contains "$output" "and 144 more (sbx history --session $session): check them"
	[ "$(sbx history --session "$session" --json | jq -s 'map(select(.kind == "finding" and .detail.what == "link")) | length')" = 101 ]
	finding link '.detail.more == 50'
	sbx history --session "$session" | grep -qF 'new link: '
}

@test "attack_r_14: at most five lines, behind what the tool has written, on standard error" {
	ln -s ../out old
	(while [ ! -e a ]; do rest 50000; done; ln -s ~/.profile c; ln -s ~/.profile d) 3>&- &
	run --separate-stderr sbx run -- sh -c 'echo written; git init -q a; git init -q b; until [ -L d ]; do sleep 0.05; done; git update-index --assume-unchanged src/x.c
		for i in $(seq 2100); do echo many/$i; done | xargs mkdir -p; echo last'
	echo "$output" "$stderr"
	[ "$output" = $'written\nlast' ]
	[ "$(grep -c . <<<"$stderr")" -le 5 ]
	contains "$stderr" "a sandboxed tool created"
	contains "$stderr" "by new links"
	contains "$stderr" "git may no longer show"
	contains "$stderr" "not all was looked at: repositories in $PWD past "
}

@test "attack_r_14: a repository made in a folder that isn't the project is named, bare or not" {
	inside --allow "fs:write=$HOME/beside" 'git init -q ~/beside; git -C ~/beside config core.fsmonitor ./evil; git init -q ~/beside/sub; git init -q --bare ~/beside/bare'
	contains "$output" "a sandboxed tool created "
	contains "$output" "$HOME/beside/.git"
	contains "$output" "$HOME/beside/sub/.git"
	contains "$output" "$HOME/beside/bare"
	contains "$output" ": check them (hooks, config) before you run git there"
	finding repository --arg path "$HOME/beside/sub/.git" '.target == $path'
}

@test "attack_r_14: what programs run of themselves in a repository that the run has made is named beside it" {
	inside 'git init -q new; cd new; echo evil >.envrc; mkdir .vscode; echo {} >.vscode/tasks.json; echo {} >.mcp.json; echo x >plain; echo {} >a.code-workspace
		git init -q --bare ../bare; echo evil >../bare/.envrc'
	for name in new/.envrc new/.vscode new/.mcp.json new/a.code-workspace bare/.envrc; do
		contains "$output" "$PWD/$name"
		finding protected --arg path "$PWD/$name" '.target == $path'
	done
	contains "$output" 'are new and would have been protected'
	contains "$output" "a sandboxed tool created $PWD/new/.git and $PWD/bare: check them"
	lacks "$output" plain
}

@test "attack_r_14: what was protected before a repository was made around it isn't named" {
	mkdir "$HOME/out/plain" && cd "$HOME/out/plain"
	mkdir .vscode
	touch .envrc a.code-workspace
	inside 'git init -q .; mkdir objects refs; echo "ref: refs/heads/main" >HEAD'
	contains "$output" "a sandboxed tool created $PWD/.git and $PWD: check them"
	lacks "$output" 'would have been protected'
}

# forged PROGRAM: what perl makes of .git/index, in $d; its hash is put right.
forged() {
	printf '%s' "perl -MDigest::SHA=sha1 -0777 -e 'open F, q(.git/index); \$d = <F>; \$d = substr(\$d, 0, -20); $1; open G, q(>.git/index); print G \$d . sha1(\$d)'"
}

@test "attack_r_14: names in an index that git would write to its hooks or out of the work tree are named" {
	inside 'printf "#!/bin/sh\necho ran >ran\n" >h; b=$(git hash-object -w h); rm h
		git update-index --add --cacheinfo 100755,$b,.gix/hooks/post-checkout --cacheinfo 100644,$b,xx/victim
		'"$(forged '$d =~ s/\.gix/.git/g; $d =~ s{xx/}{../}g')"
	for name in .git/hooks/post-checkout ../victim; do
		contains "$output" "$name (in git's index, which writes it there)"
		finding protected --arg name "$name" '.detail.name == $name'
	done
	git checkout -q . || true # that is what happens
	[ -e ../victim ]
	rm ../victim
}

@test "attack_r_14: gitlinks are named whatever their mode says, and in each repository that is known" {
	git init -q sub
	mkdir -p node_modules/evil sub/node_modules/evil
	for evil in node_modules/evil sub/node_modules/evil; do
		git init -q "$evil"
		git -C "$evil" commit -q --allow-empty -m one
	done
	inside 'git update-index --add --cacheinfo "160000,$(git -C node_modules/evil rev-parse HEAD),node_modules/evil"
		'"$(forged '$d =~ s/\0\0\xe0\0(?=.{34}node_modules)/\0\0\xe0\x01/s')"'
		cd sub; git update-index --add --cacheinfo "160000,$(git -C node_modules/evil rev-parse HEAD),node_modules/evil"'
	for name in node_modules/evil sub/node_modules/evil; do
		finding repository --arg path "$PWD/$name" '.target == $path'
	done
	contains "$output" "node_modules/evil (in git's index, which writes it there)"
}

@test "attack_r_14: submodules' git directories, plans and commands of git rebase are named in each repository that is known" {
	git init -q sub
	git -C sub commit -q --allow-empty -m one
	mkdir .git/rebase-merge
	printf 'pick 1 one\nexec make\n' >.git/rebase-merge/git-rebase-todo
	inside 'mkdir -p sub/.git/modules/lib sub/.git/rebase-merge; touch sub/.git/modules/lib/HEAD
		echo "exec evil" >>.git/rebase-merge/git-rebase-todo'
	for name in sub/.git/modules/lib sub/.git/rebase-merge .git/rebase-merge/git-rebase-todo; do
		finding repository --arg path "$PWD/$name" '.target == $path'
	done
	inside 'echo "exec make" >.git/rebase-merge/git-rebase-todo'
	lacks "$output" rebase
}

@test "attack_r_14: a strategy that is written into a plan of the host's is named, which git would run from the work tree" {
	git commit -q --allow-empty -m one
	for name in a b c; do
		echo "$name" >"$name.f"
		git add "$name.f"
		git commit -q -m "$name"
	done
	git checkout -q -b other HEAD~2
	echo other >b.f
	git add b.f
	git commit -q -m other
	run git cherry-pick main~1 main
	[ "$status" != 0 ] # b.f is in conflict, c.f is to come
	inside 'mkdir git-merge-a; printf "#!/bin/sh\ntouch ran\nexit 1\n" >git-merge-a/run; chmod +x git-merge-a/run
		printf "[options]\n\tstrategy = a/run\n" >.git/sequencer/opts; echo both >b.f; git add b.f'
	contains "$output" ".git/sequencer/opts"
	finding repository --arg path "$PWD/.git/sequencer/opts" '.target == $path'
	run git -c core.editor=true cherry-pick --continue
	[ -e ran ] # what is named is what git runs
	git cherry-pick --quit
	mkdir .git/rebase-merge
	inside 'echo a/run >.git/rebase-merge/strategy'
	finding repository --arg path "$PWD/.git/rebase-merge/strategy" '.target == $path'
}

@test "attack_r_14: a stash that git applies when it commits, merges or goes on with a plan the next time is named" {
	inside 'index=$(git commit-tree -p HEAD -m index HEAD^{tree}); export GIT_INDEX_FILE=$PWD/i; git read-tree HEAD
		git update-index --add --cacheinfo "100644,$(echo evil | git hash-object -w --stdin),.envrc"
		git commit-tree -p HEAD -p "$index" -m stash "$(git write-tree)" >.git/MERGE_AUTOSTASH; rm i'
	contains "$output" "a sandboxed tool created $PWD/.git/MERGE_AUTOSTASH: check it"
	finding repository --arg path "$PWD/.git/MERGE_AUTOSTASH" '.target == $path'
	inside true
	[ -z "$output" ]
	cp .git/MERGE_AUTOSTASH stash
	git commit -q --allow-empty -m two
	[ "$(<.envrc)" = evil ] # that is the attack
	mkdir .git/rebase-merge .git/rebase-apply
	mv stash .git/MERGE_AUTOSTASH
	inside 'cd .git; for file in MERGE_AUTOSTASH rebase-merge/autostash rebase-apply/autostash rebase-apply/apply-opt; do git rev-parse HEAD >$file; done'
	for file in MERGE_AUTOSTASH rebase-merge/autostash rebase-apply/autostash rebase-apply/apply-opt; do
		finding repository --arg path "$PWD/.git/$file" '.target == $path'
	done
	inside 'rm -r .git/MERGE_AUTOSTASH .git/rebase-*' # git has gone on with them
	[ -z "$output" ]
}

@test "attack_r_14: skip-worktree is found in an index of version 2, where git takes it, too" {
	inside 'git update-index --skip-worktree src/y.c; '"$(forged 'substr($d, 7, 1) = chr(2)')"'; echo evil >src/y.c'
	contains "$output" 'src/y.c (skip-worktree)'
	finding hidden '.detail.how == "skip-worktree"'
	[ -z "$(git status --porcelain -- src)" ]
}

@test "attack_r_14: a repository that is made in a package is named" {
	mkdir -p node_modules/dep node_modules/@scope/dep node_modules/evil
	inside 'git init -q node_modules/dep; git init -q node_modules/@scope/dep; cd node_modules/evil; mkdir objects refs w; echo "ref: refs/heads/main" >HEAD
		printf "[core]\n\trepositoryformatversion = 0\n\tworktree = w\n\tfsmonitor = touch ran\n" >config'
	for name in node_modules/dep/.git node_modules/@scope/dep/.git node_modules/evil; do
		contains "$output" "$PWD/$name"
		finding repository --arg path "$PWD/$name" '.target == $path'
	done
}

@test "attack_r_14: a package, a folder of packages or what a link of one leads to is named as a git directory in each form that git takes, and masked in the next run" {
	local made=(node_modules node_modules/led node_modules/@scope node_modules/.pnpm/d@1 node_modules/.pnpm/d@1/node_modules/d deep/store/d/objects/d)
	mkdir -p common/objects common/refs node_modules/led node_modules/@scope node_modules/.pnpm/d@1/node_modules/d deep/store/d/objects/d
	ln -s .pnpm/d@1/node_modules/d node_modules/d
	ln -s ../deep/store/d/objects/d node_modules/e
	inside "for at in ${made[*]}"'; do echo "ref: refs/heads/main" >$at/HEAD; printf "#!/bin/sh\n" | tee $at/objects >$at/refs; chmod +x $at/objects $at/refs; done
		cd node_modules/led; rm objects refs; echo ../../common >commondir'
	for name in "${made[@]}"; do finding repository --arg path "$PWD/$name" '.target == $path'; done
	for name in "${made[@]}"; do GIT_DIR=$name git rev-parse --git-dir; done # git takes each
	inside "for at in ${made[*]}"' common; do echo evil >$at/config; done'
	for name in "${made[@]}" common; do [ ! -e "$name/config" ]; done
}

@test "attack_r_14: a folder that the tool has made unreadable, through which a program goes by its name still, is named" {
	inside --allow fs:link=/ 'mkdir -p shut; ln -s ../../.profile shut/cache; chmod 0311 shut'
	contains "$output" "not all was looked at: shut, which can't be read"
	echo evil >shut/cache # that is the attack
	[ "$(<"$HOME/.profile")" = evil ]
	finding bound --arg path "$PWD/shut" '.target == $path'
	chmod 0700 shut
}

@test "attack_r_14: a protected name that has come as a link is named, whatever that leads to" {
	needs_doorbell
	linked .husky node_modules/evil/husky
	told "$PWD/.husky"
	linked .envrc src/x.c
	told "$PWD/.envrc"
	linked .mcp.json .mcp.json '' # it leads nowhere, ever: at the end alone
	contains "$output" "$PWD/.mcp.json is new and would have been protected"
	rm .mcp.json
	linked .vscode /usr/share
	told "$PWD/.vscode"
	linked .idea "$HOME/out"
	told "$PWD/.idea"
	linked .cargo node_modules/evil/cargo # what is masked is .cargo/config.toml
	told "$PWD/.cargo/config.toml"
	inside true # what is there is the user's
	lacks "$output" 'would have been protected'
	lacks "$output" 'nobody was asked'
}

@test "attack_r_14: of a protected name that was allowed before it came as a link nothing is said" {
	needs_doorbell
	answers person 'allow:once=fs:write=*'
	inside 'ln -s node_modules/evil/husky .husky; mkdir -p node_modules/mine; ln -s node_modules/mine .cargo
		for name in .husky .cargo; do until grep -qF "$PWD/$name " /proc/self/mountinfo; do sleep 0.05; done; done'
	answers_end person
	[ -L .husky ] && [ -L .cargo ]
	lacks "$output" 'nobody was asked'
	lacks "$output" 'would have been protected'
	rm .husky
	background tool sbx run -- sh -c 'touch up; until [ -e granted ]; do sleep 0.05; done; ln -s node_modules/evil/husky .husky; touch linked
		until grep -qF "$PWD/.envrc " /proc/self/mountinfo; do sleep 0.05; done; rm up granted linked'
	wait_for 60 test -e up
	sbx grant fs:write "$PWD/.husky" --profile default >/dev/null
	touch granted
	wait_for 60 test -e linked
	echo host >.envrc # brings a newer plan
	finished tool
	sbx revoke --all >/dev/null
	echo "$output"
	[ -L .husky ]
	contains "$output" "$PWD/.envrc has been made"
	lacks "$output" husky
}

@test "attack_r_14: more protected names than are told while it runs are counted at the end" {
	local rules=() i
	for i in $(seq 120); do rules+=(--deny "fs:write=$PWD/kept$i"); done
	background tool sbx run "${rules[@]}" -- sh -c 'touch up; until grep -qF "$PWD/kept120 " /proc/self/mountinfo; do sleep 0.05; done; rm up'
	wait_for 60 test -e up
	for i in $(seq 120); do echo host >"kept$i"; done
	finished tool
	echo "$output"
	session=$(sbx history --json | jq -r 'select(.kind == "session-start").session' | tail -n 1)
	[ "$(grep -c 'nobody was asked' <<<"$output")" = 5 ]
	contains "$output" "and 114 more (sbx history --session $session) are new and would have been protected"
	sbx history --session "$session" --json | jq -s 'map(select(.kind == "finding" and .detail.what == "protected"))' >found
	[ "$(jq 'map(select(.target)) | length' found)" = 100 ]
	[ "$(jq 'map(.target) | unique | length' found)" = 101 ]
	[ "$(jq 'map(.detail.more // 0) | add' found)" = 20 ]
}

@test "attack_r_14: what comes of an ordinary day isn't named" {
	inside 'echo two >>src/x.c; git add .; git -c user.name=a -c user.email=b commit -qm two; git checkout -qb side; git gc -q; mkdir -p node_modules/.bin node_modules/pkg
		echo x >node_modules/pkg/x.js; ln -s ../pkg/x.js node_modules/.bin/x; python3 -m venv --without-pip .venv; cp -a node_modules copy; git rm -q --cached src/y.c'
	[ "$status" = 0 ]
	[ -z "$output" ]
}
