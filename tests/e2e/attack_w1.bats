#!/usr/bin/env bats
# What is denied stays denied whatever link leads there (W1, W2), and is found by either name when it is revoked (W5).
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	mkdir -p "$HOME/vault/deep" "$HOME/papers"
	echo secret >"$HOME/vault/key"
	echo secret >"$HOME/vault/deep/key.pem"
	echo secret >"$HOME/.ssh/id"
	echo public >"$HOME/.ssh/known_hosts"
	ln -s "$HOME/.ssh" "$HOME/to-ssh"
	ln -s to-ssh "$HOME/chain"
	ln -s "$HOME/.ssh/id" "$HOME/to-id"
	ln -s "$HOME/vault" "$HOME/to-vault"
	ln -s "$HOME/vault/deep" "$HOME/to-deep"
	ln -s "$HOME/papers" "$HOME/to-papers"
}

setup() {
	echo paper >"$HOME/papers/file"
	cd "$HOME/project" || return
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
}

# rules ALLOW DENY: of the default profile, as YAML.
rules() {
	policy <<-END
		version: 1
		prompt: {without-agent: deny}
		profiles:
		  default:
		    allow: {${1:-}}
		    deny: {${2:-}}
	END
}

# unseen COMMAND…: it says nothing of a secret.
unseen() {
	run "$@"
	lacks "$output" secret
}

@test "attack_w_1: a grant or --allow by a link to what a built-in rule denies is refused, and the rule named" {
	rules
	for path in chain/id to-id; do
		run sbx grant fs:read "$HOME/$path"
		[ "$status" = 1 ]
		contains "$output" "can't be granted: it leads to $HOME/.ssh"
		contains "$output" "(built-in/base.yaml"
		run sbx run --allow fs:read="$HOME/$path" -- cat "$HOME/.ssh/id"
		[ "$status" = 125 ]
		contains "$output" "it leads to $HOME/.ssh"
	done
	none grants
}

@test "attack_w_1: nor does a rule by a link show it, in a chain, to a file, beside an allow of the path itself" {
	rules 'fs:read: ["~/to-ssh/id", "~/chain/id"], fs:write: ["~/to-id"]'
	unseen sbx run -- sh -c 'cat ~/.ssh/id ~/to-ssh/id ~/chain/id ~/to-id'
	contains "$output" "$HOME/to-id is not shown: it leads to $HOME/.ssh/id, where a rule or grant denies it (sbx why fs:read $HOME/.ssh/id)"
	rules 'fs:read: ["~/.ssh/known_hosts"], fs:write: ["~/to-id"]'
	unseen sbx run -- sh -c 'cat ~/.ssh/known_hosts ~/.ssh/id ~/to-id; echo mine >~/to-id'
	contains "$output" public
	[ "$(<"$HOME/.ssh/id")" = secret ]
}

@test "attack_w_1: a denial by a pattern, above or beside where the link leads" {
	rules 'fs:read: ["~/to-deep", "~/to-deep/key.pem"]' 'fs:read: ["~/vau*"]'
	unseen sbx run -- sh -c 'cat ~/vault/deep/key.pem ~/to-deep/key.pem'
	rules 'fs:read: ["~/to-deep"]' 'fs:read: ["~/vault/**/*.pem"]'
	unseen sbx run -- sh -c 'cat ~/vault/deep/key.pem ~/to-deep/key.pem'
	rules 'fs:read: ["~/to-*/key"]' 'fs:read: ["~/vault"]'
	unseen sbx run -- sh -c 'cat ~/vault/key ~/to-vault/key'
}

@test "attack_w_1: a denial that lies behind a link itself holds for who comes by another one" {
	ln -s "$HOME/vault" "$HOME/second"
	rules 'fs:read: ["~/second/key", "~/to-vault/deep"]' 'fs:read: ["~/to-vault"]'
	run sbx run -- sh -c 'cat ~/vault/key ~/second/key; cat ~/to-vault/deep/key.pem'
	rm "$HOME/second"
	# One secret: deeper by its own name under the denial, which is what a rule may say.
	[ "$(grep -c '^secret' <<<"$output")" = 1 ]
	contains "$output" "$HOME/second/key is not shown"
}

@test "attack_w_1: what may be read but not written stays so" {
	rules 'fs:read: ["~/papers"]' 'fs:write: ["~/papers"]'
	run sbx grant fs:write "$HOME/to-papers"
	[ "$status" = 1 ]
	contains "$output" "it leads to $HOME/papers, and the profile default denies fs:write"
	rules 'fs:write: ["~/to-papers/file"], fs:read: ["~/papers"]' 'fs:write: ["~/papers"]'
	run sbx run -- sh -c 'cat ~/papers/file; echo mine >~/to-papers/file'
	contains "$output" paper
	contains "$output" "$HOME/to-papers/file is not writable: it leads to $HOME/papers/file"
	[ "$(<"$HOME/papers/file")" = paper ]
}

@test "attack_w_1: a link that is moved between the grant and the run, and while it runs" {
	rules '' 'fs:read: ["~/vault"]'
	ln -sfn "$HOME/papers" "$HOME/moves"
	sbx grant --always fs:read "$HOME/moves"
	run sbx run -- cat "$HOME/moves/file"
	[ "$output" = paper ]
	mkfifo go
	background b sbx run -- sh -c 'echo up >up; read line <go; cat ~/moves/key.pem ~/vault/deep/key.pem; until cd ~/extra; do :; done 2>/dev/null; cat ~/moves/key.pem ~/vault/deep/key.pem'
	wait_for 30 test -e up
	ln -sfn "$HOME/vault/deep" "$HOME/moves"
	echo >go
	mkdir -p "$HOME/extra"
	sbx grant fs:read "$HOME/extra" # the plan is made anew
	finished b
	lacks "$output" secret
	unseen sbx run -- cat "$HOME/moves/key.pem" "$HOME/vault/deep/key.pem"
	rm -r "$HOME/moves" "$HOME/extra" go up
}

@test "attack_w_1: a grant to a running sandbox" {
	rules 'fs:read: ["~/to-papers"]'
	background b sbx run -- sh -c 'cat ~/to-papers/file; echo up >up; until cd ~/extra; do :; done 2>/dev/null; cat ~/vault/deep/key.pem ~/to-deep/key.pem'
	wait_for 30 test -e up
	sbx grant --deny fs:read "$HOME/vault"
	sbx grant fs:read "$HOME/to-deep"
	mkdir "$HOME/extra"
	sbx grant fs:read "$HOME/extra"
	finished b
	rm -r "$HOME/extra" up
	contains "$output" paper
	lacks "$output" secret
}

@test "attack_w_1: a denial by a link holds for what was seen, and for where the link leads later" {
	rules 'fs:read: ["~/papers", "~/vault"]'
	ln -sfn "$HOME/vault" "$HOME/moves"
	run sbx grant --deny fs:read "$HOME/moves"
	contains "$output" "it leads to $HOME/vault, which is denied, too"
	ln -sfn "$HOME/papers" "$HOME/moves"
	unseen sbx run -- cat "$HOME/vault/key" "$HOME/papers/file"
	lacks "$output" "paper"$'\n'
	ln -sfn "$HOME/vault" "$HOME/moves"
	# shellcheck disable=SC2046 # ids
	sbx revoke $(sbx grants --json | jq '.[].id')
	unseen sbx run --deny fs:read="$HOME/moves" -- cat "$HOME/vault/key"
	rm "$HOME/moves"
	run sbx run -- cat "$HOME/vault/key"
	[ "$output" = secret ]
}

@test "attack_w_1: a denial by a link, of a home that is shown or not, goes along in a sandbox that runs" {
	local home way
	mkdir -p "$HOME/more" "$HOME/notes"
	echo notes >"$HOME/notes/f"
	echo more >"$HOME/more/f"
	for home in ephemeral hidden; do
		for way in granted ruled made chain; do
			rm -rf "$HOME/l" "$HOME/l2" up
			[ $way = made ] || ln -s "$HOME/notes" "$HOME/l"
			[ $way != chain ] || ln -s l "$HOME/l2"
			policy <<-END
				version: 1
				prompt: {without-agent: deny}
				profiles:
				  default:
				    home: $home
				    allow: {fs:read: [~/notes, ~/more]}
				    deny: {fs:read: [~/none$([ $way = granted ] || echo ', ~/l')$([ $way != chain ] || echo ', ~/l2')]}
			END
			[ $way != granted ] || sbx grant --deny fs:read "$HOME/l"
			background b sbx run -- sh -c 'cat "$1/more/f"; echo >up; while cat "$1/more/f"; do sleep 0.02; done >/dev/null 2>&1; cat "$1/more/f"; echo was hidden' sh "$HOME"
			wait_for 30 test -s up
			ln -sfn "$HOME/more" "$HOME/l"
			finished b
			echo "$home, $way: $output"
			[ "$(grep -cx more <<<"$output")" = 1 ]
			contains "$output" "was hidden"
			[ $way != granted ] || sbx revoke --profile default
		done
	done
	rm -rf "$HOME/l" "$HOME/l2" "$HOME/more" "$HOME/notes" up
}

# asking DOORBELL PERMISSION PATH…: what the default profile asks about.
asking() {
	policy <<-END
		version: 1
		prompt: {without-agent: deny}
		profiles:
		  default:
		    doorbell: $1
		    allow: {fs:read: [~/links, ~/opt]}
		    ask: {$2: [$3]}
	END
}

@test "attack_w_1: a program that is asked about by a link is so wherever the host has the link lead" {
	local doorbell program
	mkdir -p "$HOME/opt" "$HOME/links"
	for program in one two three; do
		printf '#!/bin/sh\necho ran %s\n' $program >"$HOME/opt/$program"
		chmod +x "$HOME/opt/$program"
	done
	for doorbell in auto traps; do
		rm -f up go "$HOME/links/"*
		ln -s "$HOME/opt/one" "$HOME/links/tool"
		asking $doorbell proc:spawn "$HOME/links/tool, $HOME/links/late"
		background b sbx run -- sh -c '"$1/opt/two"; echo up >up; until [ -e go ]; do sleep 0.02; done; "$1/links/tool"; "$1/links/late"
			while "$1/opt/two" || "$1/opt/three"; do sleep 0.02; done >/dev/null; "$1/links/tool"; "$1/links/late"; echo followed' sh "$HOME"
		wait_for 30 test -s up
		ln -sfn "$HOME/opt/two" "$HOME/links/tool"
		ln -s "$HOME/opt/three" "$HOME/links/late"
		touch go
		finished b 30
		echo "$doorbell: $output"
		[ "$(grep -c '^ran two' <<<"$output")" = 1 ]
		lacks "$output" "ran one"
		lacks "$output" "ran three"
		contains "$output" followed
	done
	rm -r "$HOME/links" "$HOME/opt" up go
}

@test "attack_w_1: a file that is asked about by a link is so wherever the host has the link lead" {
	local doorbell permission
	mkdir -p "$HOME/opt" "$HOME/links" files
	echo one >files/one
	echo two >files/two
	for doorbell in auto traps; do
		for permission in fs:read fs:write; do
			rm -f up
			ln -sfn "$PWD/files/one" "$HOME/links/file"
			asking $doorbell $permission "$HOME/links/file"
			background b sbx run -- sh -c 'echo more >>files/two && echo up >up; while echo more >>files/two; do sleep 0.02; done; echo followed; echo over >>"$1/links/file"' sh "$HOME"
			wait_for 30 test -s up
			ln -sfn "$PWD/files/two" "$HOME/links/file"
			finished b 30
			echo "$doorbell $permission: $output"
			contains "$output" followed
			run -1 grep over files/one files/two
		done
	done
	rm -r "$HOME/links" "$HOME/opt" files up
}

@test "attack_w_1: a denial by a link that leads anywhere, and nowhere, ends no sandbox that runs" {
	local place
	mkdir -p "$HOME/more" "$HOME/notes"
	echo more >"$HOME/more/f"
	ln -sfn "$HOME/notes" "$HOME/l"
	rules 'fs:read: [~/more]' 'fs:read: [~/l]'
	background b sbx run -- sh -c 'while [ ! -e end ]; do if cat "$1" >/dev/null 2>&1; then echo shown; else echo hidden; fi >state; sleep 0.02; done; echo to the end' sh "$HOME/more/f"
	wait_for 30 grep -qsx shown state
	for place in / /proc /usr/share "$HOME" "$HOME/l" "$HOME/nothing" /etc/passwd; do
		ln -sfn "$HOME/more" "$HOME/l"
		wait_for 20 grep -qx hidden state
		ln -sfn "$place" "$HOME/l"
		wait_for 20 grep -qx shown state || { echo "$place" && return 1; }
	done
	touch end
	finished b
	rm -rf "$HOME/l" "$HOME/more" "$HOME/notes" end state
	[ "$status" = 0 ]
	contains "$output" "to the end"
}

@test "attack_w_1: a socket is judged by its own name" {
	rules 'ipc:connect: ["~/to-papers/s"]' 'ipc:connect: ["~/papers"]'
	python3 -c 'import signal, socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); signal.pause()' \
		"$HOME/papers/s" >/dev/null 2>&1 3>&- &
	local server=$!
	wait_for 30 listens "$HOME/papers/s"
	run sbx run -- python3 -c 'import socket, sys
for path in sys.argv[1:]:
	s = socket.socket(socket.AF_UNIX)
	s.connect(path)
	print("connected")' "$HOME/to-papers/s" "$HOME/papers/s"
	kill "$server"
	rm "$HOME/papers/s"
	[ "$status" != 0 ]
	lacks "$output" connected
}

@test "attack_w_1: the repository of a worktree that lies in a denied folder" {
	rules 'fs:read: ["~/vault/nothing"]' 'fs:read: ["~/vault"]'
	git init -q "$HOME/vault/main"
	git -C "$HOME/vault/main" -c user.name=a -c user.email=a@b.test commit -q --allow-empty -m secret
	git -C "$HOME/vault/main" worktree add -q "$HOME/tree"
	cd "$HOME/tree"
	unseen sbx run -- git log
	git -C "$HOME/vault/main" worktree remove --force "$HOME/tree"
	rm -rf "$HOME/vault/main"
}

@test "attack_w_2: a trusted project's rule for a name that a later version of it makes a link" {
	rules
	git init -q "$HOME/pulled" # no sandbox could ever write there
	cd "$HOME/pulled"
	mkdir -p data real
	echo plain | tee data/file real/file >/dev/null
	printf 'version: 1\nprofiles:\n  only:\n    extends: [base]\n    allow: {fs:read: ["${project}", "${project}/data", "${project}/inner"]}\n' >.sbx.yaml
	sbx policy trust --yes
	ln -s real inner
	run sbx run --profile only -- cat data/file inner/file
	[ "$output" = plain$'\n'plain ]
	rm -r data
	ln -s "$HOME/vault" data
	unseen sbx run --profile only -- cat data/key "$HOME/vault/key"
	contains "$output" "$HOME/pulled/data is not shown: it leads to $HOME/vault by the link $HOME/pulled/data, which lies in the project and leads out of it"
	rm data
	ln -s ../to-vault data
	unseen sbx run --profile only -- cat data/key "$HOME/vault/key"
	# What the user sees and says counts.
	run sbx run --profile only --allow fs:read="$HOME/pulled/data" -- cat "$HOME/vault/key"
	[ "$output" = secret ]
}

@test "attack_w_5: revoke --match finds what leads there, and what is named by a link" {
	rules
	sbx grant fs:read "$HOME/to-vault"
	sbx grant fs:write "$HOME/to-papers"
	run sbx revoke --match fs:read "$HOME/vault/key"
	contains "$output" "fs:read $HOME/to-vault, which reached farther"
	run sbx revoke --match fs:read "$HOME/papers"
	contains "$output" "fs:write $HOME/to-papers"
	lacks "$output" farther
	none grants
	sbx grant fs:read "$HOME/papers"
	sbx revoke --match fs:read "$HOME/to-papers"
	none grants
	rules 'fs:read: ["~/papers"]'
	run sbx revoke --match fs:read "$HOME/to-papers/file"
	[ "$status" = 1 ]
	contains "$output" "policy.yaml:5 (profile default): fs:read $HOME/papers"
	rules 'fs:read: ["~/to-papers"]'
	run sbx revoke --match fs:read "$HOME/papers/file"
	[ "$status" = 1 ]
	contains "$output" "Still allowed by a link (profile default): fs:read $HOME/to-papers, which leads to $HOME/papers"
	run sbx revoke --match fs:read "$HOME/vault"
	lacks "$output" "Still allowed"
}

@test "attack_w_1: what a pattern denies below a link is hidden where the link leads, also when the host makes it later" {
	rules "fs:read: [$HOME/vault]" "fs:read: [$HOME/to-vault/**/*.pem]"
	unseen sbx run -- cat "$HOME/vault/deep/key.pem"
	unseen sbx run -- cat "$HOME/to-vault/deep/key.pem"
	run -0 sbx run -- cat "$HOME/vault/key"
	[ "$output" = secret ]
	rm -f go "$HOME/vault/deep/later.pem"
	background later sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done; cat "$1"' sh "$HOME/vault/deep/later.pem"
	wait_for 30 test -e up
	echo secret >"$HOME/vault/deep/later.pem"
	wait_for 30 is_hidden "$HOME/vault/deep/later.pem"
	touch go
	finished later
	rm -f up go "$HOME/vault/deep/later.pem"
	lacks "$output" secret
	contains "$output" "later.pem"
	rules "fs:read: [$HOME/vault/deep]" "fs:read: [$HOME/to-vault/**/*.pem]" # only a part of where it leads
	unseen sbx run -- cat "$HOME/vault/deep/key.pem"
	rules "fs:read: [$HOME/vault]" "fs:read: [$HOME/to-deep/*.pem]" # a part of it is where it leads
	unseen sbx run -- cat "$HOME/vault/deep/key.pem"
}

# A tree of the project's that is written to, and the user's link to it from outside.
docs() {
	rm -rf docs other "$HOME/to-docs" .sbx.yaml
	mkdir docs other
	echo text | tee docs/x >other/x
	ln -s "$HOME/project/docs" "$HOME/to-docs"
}

# only_read [OPTION…]: in a run docs/x is read and not changed, docs/new is not made, by no name; the attempt is on record.
only_read() {
	run sbx run "$@" -- bash -c 'cd docs
		for name in . ~/to-docs; do
			[[ ! -d $name ]] || cat "$name/x"
			for file in x new; do
				echo mine >"$name/$file"
				echo mine >more && mv -f more "$name/$file"
				ln -f ../other/x "$name/$file"
				truncate -s 0 "$name/$file"
				mkdir "$name/$file"
			done
		done
		rm -f x more' 2>&1
	contains "$output" text
	lacks "$output" "x: Permission denied"$'\n'
	[ "$(<docs/x)" = text ]
	[ ! -e docs/new ]
	contains "$output" "sbx: blocked fs:write $HOME/to-docs/new ("
	# shellcheck disable=SC2016 # jq's
	sbx history --json --session "$(sbx sessions --all --json | jq '.[-1].id')" |
		jq -es --arg path "$HOME/to-docs/new" 'any(.[]; .verdict == "deny" and .permission == "fs:write" and .target == $path)'
}

@test "attack_w_1: a denial of writing by a link takes no reading away, in a profile, one without questions, a project's file" {
	docs
	rules '' 'fs:write: ["~/to-docs/x", "~/to-docs/new"]'
	only_read
	policy <<-END
		version: 1
		profiles:
		  only:
		    extends: [base]
		    allow: {fs:write: ["\${project}"]}
		    deny: {fs:write: ["~/to-docs/x", "~/to-docs/new"]}
	END
	only_read --profile only
	rules
	printf 'version: 1\nprofiles: {default: {deny: {fs:write: ["~/to-docs/x", "~/to-docs/new"]}}}\n' >.sbx.yaml
	only_read
	rm .sbx.yaml
	rules '' 'fs:write: ["~/to-docs"]'
	run sbx run -- sh -c 'cat docs/x; echo mine >docs/x; echo mine >docs/new; mkdir docs/sub'
	contains "$output" text
	[ "$(ls docs)" = x ]
	[ "$(<docs/x)" = text ]
	rules '' 'fs:write: ["~/to-docs/*"]'
	run sbx run -- sh -c 'cat docs/x; echo mine >docs/x'
	contains "$output" text
	[ "$(<docs/x)" = text ]
}

@test "attack_w_1: a stored denial of writing by a link, given while the sandbox runs, takes no reading away" {
	docs
	rules
	rm -f go
	background b sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done; cat docs/x; echo mine >docs/x; echo mine >docs/new'
	wait_for 30 test -e up
	sbx grant --deny fs:write "$HOME/to-docs/x"
	sbx grant --deny fs:write "$HOME/to-docs/new"
	touch go
	finished b
	rm -f up go
	contains "$output" text
	[ "$(<docs/x)" = text ]
	[ ! -e docs/new ]
	run sbx run -- sh -c 'cat docs/x; echo mine >docs/x; echo mine >docs/new'
	contains "$output" text
	[ "$(<docs/x)" = text ]
	[ ! -e docs/new ]
	# Also where the link doesn't lead any more: what was denied is that file.
	ln -sfn "$HOME/project/other" "$HOME/to-docs"
	run sbx run -- sh -c 'cat docs/x other/x; echo mine >docs/x; echo mine >other/x'
	[ "$(grep -c '^text' <<<"$output")" = 2 ]
	[ "$(cat docs/x other/x)" = "text"$'\n'"text" ]
}

@test "attack_w_1: a denial of writing by a link holds where the link leads later, and no tool moves one in the project" {
	docs
	rules '' 'fs:write: ["~/to-docs/x"]'
	background b sbx run -- bash -c 'touch up; while (: >>other/x) 2>/dev/null; do sleep 0.02; done; cat other/x'
	wait_for 30 test -e up
	ln -sfn "$HOME/project/other" "$HOME/to-docs"
	finished b
	rm -f up
	[ "$output" = text ]
	docs
	ln -s docs link
	rules '' 'fs:write: ["${project}/link/x"]'
	run sbx run -- sh -c 'cat docs/x; ln -sfn other link; rm link; mv link away; mv docs away; echo mine >docs/x; echo mine >link/x'
	contains "$output" text
	[ "$(readlink link)" = docs ]
	[ "$(<docs/x)" = text ]
	rm link
}

@test "attack_w_1: a denial of writing by a link, or a question, shows nothing that isn't shown without it" {
	docs
	ln -s "$HOME/vault" "$HOME/papers/link"
	for rule in 'deny: {fs:write: ["~/papers/link/key"]}' 'ask: {fs:write: ["~/papers/link/key"]}'; do
		policy <<-END
			version: 1
			prompt: {without-agent: deny}
			profiles:
			  default:
			    allow: {fs:read: ["~/papers"]}
			    $rule
		END
		unseen sbx run -- cat "$HOME/papers/link/key"
		unseen sbx run -- cat "$HOME/vault/key"
	done
	rm "$HOME/papers/link"
	# What is asked about by that very name is not read unasked.
	policy <<-END
		version: 1
		prompt: {without-agent: deny}
		profiles:
		  default:
		    ask: {fs:read: ["~/to-docs/x"]}
		    deny: {fs:write: ["~/to-docs/x"]}
	END
	run sbx run -- cat docs/x
	lacks "$output" text
}

@test "attack_w_1: a grant to read by a link in a project that is written to gives reading where it leads, and takes nothing" {
	docs
	rules
	ln -sfn "$HOME/papers" link
	ln -sfn docs inner
	run sbx run -- cat link/file
	lacks $'\n'"$output"$'\n' $'\n'paper$'\n'
	sbx grant fs:read link/file
	sbx grant fs:read inner
	run sbx run -- sh -c 'cat link/file ~/papers/file; echo mine >link/file; echo mine >inner/x; echo mine >docs/new; rm link; ln -s docs link; echo mine >link/more'
	[ "$(grep -c '^paper$' <<<"$output")" = 2 ]
	[ "$(<"$HOME/papers/file")" = paper ]
	[ "$(cat docs/x docs/new docs/more)" = "mine"$'\n'"mine"$'\n'"mine" ]
	# What a tool makes of the link is not what was granted.
	rm link
	ln -s "$HOME/vault" link
	echo secret >"$HOME/vault/file"
	unseen sbx run -- cat link/file
	rm link "$HOME/vault/file"
	mkdir link
	ln -s "$HOME/vault/key" link/file
	unseen sbx run -- cat link/file
	rm -r link
	sbx revoke --all
	ln -s "$HOME/papers" link
	run sbx run --allow fs:read=link -- cat link/file
	[ "$output" = paper ]
	background b sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done; cat link/file; echo mine >link/file'
	wait_for 30 test -e up
	sbx grant fs:read link
	touch go
	finished b
	rm -f up go
	contains "$output" paper
	[ "$(<"$HOME/papers/file")" = paper ]
	rm link inner
	# Nor does one by the user's link into the project take writing there.
	sbx revoke --all
	sbx grant fs:read "$HOME/to-docs"
	sbx run -- sh -c 'echo more >~/to-docs/new; echo more >docs/x'
	[ "$(cat docs/x docs/new)" = more$'\n'more ]
	rules '' 'fs:write: ["~/to-docs/x"]'
	run sbx run -- sh -c 'cat ~/to-docs/x; echo mine >docs/x'
	contains "$output" more
	[ "$(<docs/x)" = more ]
}

# agree STATUS PERM TARGET [WHY]: why says WHY (default: as check), check has that status without a question, a run obeys.
agree() {
	local said=deny
	((${1} != 0)) || said=allow
	run sbx why "$2" "$3"
	contains "$output" "So: ${4:-$said}"
	run sbx check --no-ask "$2" "$3"
	[ "$status" = "$1" ]
	if [ "$2" = fs:read ]; then
		run sbx run -- sh -c 'cat "$1" >/dev/null' sh "$3"
	else
		run sbx run -- sh -c ': >>"$1"' sh "$3"
	fi
	((($1 == 0) == (status == 0))) || {
		printf 'check %s %s: %s; the run: %s: %s\n' "$2" "$3" "$1" "$status" "$output" >&2
		return 1
	}
}

@test "attack_w_1: why and check say of a path that leads elsewhere by a link what a run finds" {
	docs
	git init -q .
	rules
	ln -s "$HOME/papers" link
	ln -s .git/config masked
	ln -s docs inner
	mkdir "$HOME/dots"
	echo text >"$HOME/dots/inputrc"
	ln -s dots/inputrc "$HOME/.inputrc" # a rule of the profile's names it
	agree 1 fs:read link/file ask
	agree 1 fs:write masked "$(sbx why fs:write .git/config --json | jq -r .verdict.effect)"
	agree 1 fs:read "$HOME/to-ssh/id" deny
	agree 0 fs:read inner/x
	agree 0 fs:write inner/x
	agree 0 fs:read "$HOME/to-docs/x"
	agree 0 fs:read "$HOME/.inputrc"
	sbx grant fs:read link
	agree 0 fs:read link/file
	agree 1 fs:write link/file ask
	ln -sfn "$HOME/vault" link # not where it was granted
	agree 1 fs:read link/key ask
	ln -sfn "$HOME/papers" link
	sbx revoke --all
	sbx grant fs:read "$HOME/to-papers"
	agree 0 fs:read "$HOME/to-papers/file"
	sbx revoke --all
	rules '' 'fs:read: ["~/papers", "~/dots"]'
	agree 1 fs:read "$HOME/to-papers/file" deny
	agree 1 fs:read "$HOME/.inputrc" deny
	run sbx why fs:read "$HOME/to-papers/file"
	contains "$output" "$HOME/to-papers/file leads to $HOME/papers/file by a link."
	# Nobody is asked what no answer could give.
	asking_policy
	run timeout 20 sbx check fs:read "$HOME/to-ssh/id"
	[ "$status" = 1 ]
	background c sbx check fs:read link/file
	wait_for 60 prompt_is_pending
	[ "$(sbx prompts --json | jq -r '.[0].target')" = "$HOME/papers/file" ]
	sbx allow "$(sbx prompts --json | jq '.[0].id')"
	finished c
	agree 0 fs:read link/file
	rm -rf link masked inner .git "$HOME/.inputrc" "$HOME/dots"
}

is_hidden() { # in the sandbox, as its mounts say
	local runner
	runner=$(sbx sessions --json | jq '.[0].pid')
	grep -qs " $1 " "/proc/$(pgrep -P "$(pgrep -P "$runner" -x bwrap)" | head -1)/mountinfo"
}

# A link to a program, by both of whose names it is looked for: $link, $program.
program_by_link() {
	mkdir -p "$HOME/tools/bin"
	printf '#!/bin/sh\necho ran\n' >"$HOME/tools/bin/real-tool"
	chmod +x "$HOME/tools/bin/real-tool"
	ln -sfn real-tool "$HOME/tools/bin/tool"
	export PATH="$HOME/tools/bin:$PATH"
}

# says_denied WHY: all that speaks of the program says that it is denied by the link's name.
says_denied() {
	local rule=$1
	run -126 sbx run --allow "fs:read=$HOME/tools" -- real-tool
	contains "$output" "does not let it run (proc:spawn): it denies $HOME/tools/bin/tool, which leads there"
	run sbx why proc:spawn real-tool
	contains "$output" "$HOME/tools/bin/tool leads to $HOME/tools/bin/real-tool by a link."
	contains "$output" "So: deny"
	contains "$output" "$rule"
	run -1 sbx check --no-ask proc:spawn real-tool
	contains "$output" "deny: "
	run -0 sbx grant proc:spawn "$HOME/tools/bin/real-tool"
	contains "$output" "Note: without effect while $HOME/tools/bin/tool, which leads there, is denied"
}

@test "attack_w_1: a program that is denied by the name of a link is said to be by all that speaks of it" {
	program_by_link
	run -0 sbx run --allow "fs:read=$HOME/tools" -- real-tool
	[ "$output" = ran ]
	run -0 sbx grant --deny proc:spawn tool
	says_denied "sbx revoke "
	run sbx revoke --match proc:spawn "$HOME/tools/bin/real-tool"
	contains "$output" "Revoked "
	[ "$(sbx grants --json)" = '[]' ]
	run -0 sbx run --allow "fs:read=$HOME/tools" -- real-tool
	policy <<-'EOF'
		version: 1
		profiles:
		  default:
		    deny: {proc:spawn: [tool]}
	EOF
	says_denied "policy.yaml:4"
}
