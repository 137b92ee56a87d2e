#!/usr/bin/env bats
# R2: links that a sandbox leaves in the project, through which the user's own programs write later. CMakeLists.txt runs this
# file with each doorbell.
# shellcheck disable=SC2016,SC2088 # expanded in the sandbox; as sbx says it

load helper

setup_file() {
	home_make
	denying
}

# Nobody can be asked, so whatever would be asked about is denied.
denying() {
	default_policy "without-agent: deny"
	sbx grants >/dev/null # starts the broker
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
	find . -mindepth 1 -delete
	git init -q .
	git config user.name u && git config user.email u@example.org
	echo one >file && git add file && git commit -qm one
	echo mine >"$HOME/.bashrc"
	rm -f "$HOME/.bash_login"
}

# no_link NAME…: they aren't there.
no_link() {
	local name
	for name; do
		[ ! -L "$name" ] || { echo "$name leads to $(readlink "$name")" && return 1; }
	done
}

# denied TARGET LINK: the history has it.
denied() {
	sbx history --verdict deny --json |
		jq -se --arg target "$1" --arg link "$PWD/$2" \
			'flatten | any(.permission == "fs:link" and .target == $target and .detail.link == $link)' >/dev/null ||
		{ echo "not on record: $2 -> $1" && sbx history --verdict deny && return 1; }
}

# What npm and its like do with a lock file that is there.
write_lock_file() {
	python3 -c 'open("package-lock.json", "w").write("{}")'
}

@test "attack_r_02: what the user's git and npm write through planted links reaches nothing outside" {
	run sbx run -- sh -c 'rm .git/COMMIT_EDITMSG .git/logs/HEAD; ln -s ~/.bashrc .git/COMMIT_EDITMSG; ln -s ~/.bash_login .git/logs/HEAD; ln -s ~/.bashrc package-lock.json
		ln -s ../.bashrc yarn.lock; ln -s ../../../../../../../../../"$HOME"/.bash_login go.sum; true'
	echo "$output"
	contains "$output" "blocked fs:link $HOME/.bashrc"
	no_link .git/COMMIT_EDITMSG .git/logs/HEAD package-lock.json yarn.lock go.sum
	denied "$HOME/.bashrc" .git/COMMIT_EDITMSG
	denied "$HOME/.bashrc" package-lock.json
	denied "$HOME/.bash_login" go.sum
	echo two >file
	git commit -qam 'echo pwned'
	write_lock_file
	[ "$(cat "$HOME/.bashrc")" = mine ]
	[ ! -e "$HOME/.bash_login" ]
}

@test "attack_r_02: no call that makes a link, or brings one to another place, does it unasked" {
	run sbx run -- python3 - ways "$HOME/.bashrc" <"$TESTS/linking.py"
	echo "$output"
	local way
	for way in symlink symlinkat rename link linkat exchange "exchange back" "behind a name"; do
		grep -qx "$way EACCES" <<<"$output"
	done
	grep -qx 'folder EACCES' <<<"$output"
	grep -qx 'closed folder EXDEV' <<<"$output"
	no_link by-* twisted
	[ "$(find . -path ./.git -prune -o -type l -printf '%p %l\n' | sort)" = $'./beside nothing\n./deep/er/link ../../up' ]
	denied "$HOME/up" by-folder/link
	run sbx run -- sh -c 'ln -s ~/.bashrc /tmp/l && mv /tmp/l ./from-tmp; ln -s ~/.bashrc ~/l && mv ~/l ./from-home
		cp -P /tmp/l copied; cp -a ~/l archived; mkdir /tmp/d; ln -s ~/.bashrc /tmp/d/l; cp -a /tmp/d copy; tar c -C /tmp d | tar x; rsync -a /tmp/d/ synced; true'
	echo "$output"
	no_link from-tmp from-home copied archived copy/l d/l synced/l
}

@test "a folder with a link that would lead elsewhere is moved once that link is allowed: git mv, rename(2); one with too many is copied" {
	mkdir -p deep/er && ln -s ../../up deep/er/link && git add deep && git commit -qm links
	run sbx run -- git mv deep/er moved
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "sbx grant fs:link $HOME/up --profile git"
	denied "$HOME/up" moved/link
	[ -L deep/er/link ] && [ ! -e moved ]
	sbx grant fs:link "$HOME/up" --profile git
	sbx run -- git mv deep/er moved
	[ "$(readlink moved/link)" = ../../up ] && [ ! -e deep/er ]
	sbx revoke --all
	mkdir -p many/them
	for at in {1..9}; do ln -s "../../up$at" "many/them/$at"; done
	run sbx run -- python3 -c 'import os; os.rename("many/them", "them")'
	echo "$output"
	contains "$output" 'Invalid cross-device link'
	sbx grant fs:link "$HOME/up*" --profile default
	sbx run -- mv many/them them
	[ "$(readlink them/9)" = ../../up9 ] && [ ! -e many/them ]
	sbx revoke --all
}

@test "attack_r_02: in a git directory no link is made unasked, wherever it leads" {
	mkdir -p sub/x && git init -q --bare bare.git && git init -q sub/repo
	run sbx run -- sh -c 'rm .git/COMMIT_EDITMSG; ln -s ../file .git/COMMIT_EDITMSG; ln -s /usr/share/dict .git/logs/refs2; ln -s ../file bare.git/packed-refs; ln -s x sub/repo/.git/ORIG_HEAD
		ln -s file in; mv in .git/MERGE_MSG; mkdir d; ln -s x d/l; mv d .git/rr-cache; mkdir e; ln -s x e/HEAD; mv -T e sub/x/.git; ln -P in .git/SQUASH_MSG; true'
	echo "$output"
	no_link .git/COMMIT_EDITMSG .git/logs/refs2 bare.git/packed-refs sub/repo/.git/ORIG_HEAD .git/MERGE_MSG .git/rr-cache/l sub/x/.git/HEAD .git/SQUASH_MSG
	denied "$PWD/file" .git/COMMIT_EDITMSG
	denied "$PWD/file" bare.git/packed-refs
	[ -z "$(find .git bare.git sub/repo/.git -type l)" ]
}

@test "attack_r_02: a link to what is masked, or through what may become another folder, is asked about" {
	run sbx run -- sh -c 'ln -s .git/hooks/pre-commit a; ln -s .envrc b; ln -s .git c; mkdir d; ln -s d/../../x e; ln -s d/.envrc f; ln -s /home g; ln -s /proc/self/cwd/x h; ln -s d/x.code-workspace i; true'
	echo "$output"
	no_link a b c e f g h i
}

@test "attack_r_02: a second thread that rewrites the text makes no link that was not judged" {
	run sbx run -- python3 - race "$HOME/.bashrc" "$(times 2000 100000)" <"$TESTS/linking.py"
	echo "$output"
	grep -qx 'race True \[\]' <<<"$output"
	[ -z "$(find . -type l -lname '/*')" ]
}

@test "attack_r_02: it is asked in a terminal, an allow makes it, and the history has the link and where it leads" {
	asking_policy
	background linking sbx run -- ln -s "$HOME/.bashrc" package-lock.json
	local id
	id=$(prompt_id)
	run -0 sbx prompts
	echo "$output"
	contains "$output" "~/.bashrc (as ~/project/package-lock.json)"
	sbx prompts --json | jq -e --arg target "$HOME/.bashrc" --arg link "$PWD/package-lock.json" \
		'.[0] | .permission == "fs:link" and .target == $target and .name == $link and .confirm'
	no_link package-lock.json
	sbx allow --once "$id"
	finished linking
	[ "$status" = 0 ]
	[ "$(readlink package-lock.json)" = "$HOME/.bashrc" ]
	run -0 sbx history
	contains "$output" "fs:link $PWD/package-lock.json -> $HOME/.bashrc"
	# once was that call
	background linking sbx run -- ln -s "$HOME/.bashrc" other
	id=$(prompt_id)
	sbx deny "$id"
	finished linking
	[ "$status" = 1 ]
	contains "$output" "Permission denied"
	no_link other
	denying
}

@test "attack_r_02: two links to the same place are two questions" {
	asking_policy
	background linking sbx run -- sh -c 'ln -s ~/.bashrc one & ln -s ~/.bashrc two & wait'
	two_are_pending() { [ "$(sbx prompts --json | jq length)" = 2 ]; }
	wait_for 30 two_are_pending
	sbx allow --once "$(sbx prompts --json | jq '.[] | select(.name | endswith("/one")).id')"
	wait_for 30 test -L one
	no_link two
	sbx deny "$(prompt_id)"
	finished linking
	no_link two
	denying
}

@test "attack_r_02: a rule or a grant allows or denies a tree" {
	default_policy "without-agent: deny" "    allow: {fs:link: [~/notes]}
    deny: {fs:link: [~/notes/private]}"
	mkdir -p "$HOME/notes/private" "$HOME/more"
	run sbx run -- sh -c 'ln -s ~/notes/a a; ln -s ~/notes/private/b b; ln -s ~/more/c c; ln -s ~/notes notes'
	echo "$output"
	[ "$(readlink a)" = "$HOME/notes/a" ]
	[ "$(readlink notes)" = "$HOME/notes" ]
	no_link b c
	run -0 sbx grant fs:link "$HOME/more" --profile default
	run sbx run -- sh -c 'ln -s ~/more/c c; ln -sfn ~/more notes'
	echo "$output"
	[ "$status" = 0 ]
	[ "$(readlink notes)" = "$HOME/more" ]
	sbx revoke --match fs:link "$HOME/more"
	run sbx run -- ln -s "$HOME/more/c" d
	no_link d
	run sbx check --profile default fs:link "$HOME/more/c" --no-ask
	[ "$status" = 1 ]
	denying
}

@test "attack_r_02: what tools do every day asks nothing" {
	mkdir -p "$HOME/run/pack/p/bin" && (
		cd "$HOME/run/pack" || exit
		for i in {1..500}; do ln -s "../p/f$i" "p/bin/$i"; done
		ln -s bin/1 p/one && tar cf ../pack.tar p
	)
	git checkout -q -b links && ln -s file beside && mkdir in && ln -s ../file in/up && git add -A && git commit -qm links && git checkout -q -
	cp "$HOME/run/pack.tar" .
	run sbx run -- sh -ec 'python3 -m venv --without-pip venv; tar xf pack.tar; cp -a p q; mv q r; mv r in-r; mkdir s; mv in-r s/deep; git checkout -q links; git checkout -q -
		mkdir -p node_modules/.bin node_modules/tool; touch node_modules/tool/cli.js; ln -s ../tool/cli.js node_modules/.bin/tool; mv node_modules/.bin/tool node_modules/.bin/tool2
		ln -s /usr/bin/python3 python; ln -s "$PWD/file" absolute; ln -sf file absolute; ln -P absolute same; ln -s /dev/null null
		ln -s nothing dangling; ln -s user@host.1:2 .lock; git init -q new; git clone -q . clone; git -C clone checkout -q -b x
		mkdir -p ~/.uv/bin; touch ~/.uv/bin/python; ln -s ~/.uv/bin/python uv; ln -s ~/x ~/.own; ln -s ~/.bashrc /tmp/l'
	echo "$output"
	[ "$status" = 0 ]
	lacks "$output" blocked
	[ "$(find p s/deep -type l | wc -l)" = 1002 ]
	[ "$(readlink venv/bin/python3)" = "$(type -P python3)" ]
	[ "$(git -C clone config core.symlinks)" != false ]
	[ "$(git -C new config core.symlinks)" != false ]
}

@test "attack_r_02: what the kernel refuses fails as it does there" {
	python3 - errors <"$TESTS/linking.py" >"$HOME/run/outside"
	find . -mindepth 1 -not -path './.git*' -delete
	run sbx run -- python3 - errors <"$TESTS/linking.py"
	diff "$HOME/run/outside" - <<<"$output"
}
