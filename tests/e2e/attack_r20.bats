#!/usr/bin/env bats
# A grant means what the user saw (R20), the policy file of a run (R26) and the boundary of a project (R27) are not the
# tool's to move.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	policy <<-END
		version: 1
		prompt: {without-agent: deny}
	END
}

# A project of one sandbox, another's, and what neither is to see.
setup() {
	rm -rf "$HOME/a" "$HOME/b" "$HOME/papers"
	mkdir -p "$HOME/a/out" "$HOME/b" "$HOME/papers"
	echo plain >"$HOME/a/out/file"
	echo secret >"$HOME/papers/file"
	cd "$HOME/b" || return
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
}

# What sandbox A does: its folder "out" becomes a link to the user's papers.
plants() {
	(cd "$HOME/a" && sbx run --allow fs:link=/ -- sh -c 'rm -r out && ln -s "$0" out' "${1:-$HOME/papers}")
	[[ -L $HOME/a/out ]]
}

# unseen COMMAND…: it says nothing of the secret.
unseen() {
	run "$@"
	lacks "$output" secret
}

@test "attack_r_20: a folder that was granted to be read, and is a link of another sandbox's by the next run" {
	sbx grant --always fs:read "$HOME/a/out"
	run sbx run -- cat "$HOME/a/out/file"
	[ "$output" = plain ]
	plants
	unseen sbx run -- cat "$HOME/a/out/file" "$HOME/papers/file"
	contains "$output" "a/out is not shown: it leads to $HOME/papers by the link $HOME/a/out, which a sandbox or another user may have made"
	rm "$HOME/a/out"
	mkdir "$HOME/a/out"
	echo plain >"$HOME/a/out/file"
	run sbx run -- cat "$HOME/a/out/file"
	[ "$output" = plain ]
}

@test "attack_r_20: a folder that was granted to be written; by --allow, for any profile, anywhere" {
	plants
	unseen sbx run --profile git --allow fs:write="$HOME/a/out" -- true
	rm "$HOME/a/out"
	mkdir "$HOME/a/out"
	sbx grant --always --any-profile --anywhere fs:write "$HOME/a/out"
	run sbx run --profile git -- sh -c 'echo mine >$0/new' "$HOME/a/out"
	[ "$(<"$HOME/a/out/new")" = mine ]
	plants
	unseen sbx run --profile git -- sh -c 'echo mine >$0/new; cat $0/file' "$HOME/a/out"
	[ ! -e "$HOME/papers/new" ]
	unseen sbx run --project "$HOME/project" -- sh -c 'echo mine >$0/new; cat $0/file' "$HOME/a/out"
	[ ! -e "$HOME/papers/new" ]
}

@test "attack_r_20: a folder on the way to what was granted; the home itself" {
	mkdir -p "$HOME/a/out/deep"
	echo plain >"$HOME/a/out/deep/file"
	mkdir "$HOME/papers/deep"
	echo secret >"$HOME/papers/deep/file"
	sbx grant --always fs:read "$HOME/a/out/deep"
	plants
	unseen sbx run -- cat "$HOME/a/out/deep/file" "$HOME/papers/deep/file"
	rm "$HOME/a/out"
	mkdir "$HOME/a/out"
	sbx grant --always fs:read "$HOME/a/out"
	plants "$HOME"
	unseen sbx run -- sh -c 'ls "$0" "$0/papers"; cat "$0/papers/file" "$1/papers/file"' "$HOME/a/out" "$HOME"
}

@test "attack_r_20: while the other sandbox runs" {
	sbx grant --always fs:read "$HOME/a/out"
	mkfifo go
	background b sbx run -- sh -c 'echo up >up; read line <go; cat "$0/file" "$1/file"; until cd "$2"; do :; done 2>/dev/null; cat "$0/file"' \
		"$HOME/a/out" "$HOME/papers" "$HOME/project"
	wait_for 30 test -e up
	plants
	echo >go
	sbx grant fs:read "$HOME/project" # the plan is made anew
	finished b
	lacks "$output" secret
}

@test "attack_r_20: a rule's path leads by links of the user's own, not by a tool's" {
	policy <<-END
		version: 1
		prompt: {without-agent: deny}
		profiles:
		  default:
		    allow: {fs:read: ["~/mine", "~/a/out"]}
	END
	ln -s "$HOME/papers" "$HOME/mine"
	run sbx run -- cat "$HOME/mine/file"
	[ "$output" = secret ]
	rm "$HOME/mine"
	plants
	unseen sbx run -- cat "$HOME/a/out/file"
	policy <<-END
		version: 1
		prompt: {without-agent: deny}
	END
}

@test "attack_r_20: a link in a folder that everybody may write" {
	local shared
	shared=$(mktemp -d /tmp/sbx-r20-XXXXXX)
	chmod 0777 "$shared"
	mkdir "$shared/out"
	echo plain >"$shared/out/file"
	sbx grant --always fs:read "$shared/out"
	run sbx run -- cat "$shared/out/file"
	rm -r "$shared/out"
	ln -s "$HOME/papers" "$shared/out"
	local before=$output
	run sbx run -- cat "$shared/out/file"
	rm -r "$shared"
	[ "$before" = plain ]
	lacks "$output" secret
}

@test "attack_r_20: a link that the user saw is followed as long as it leads where it led" {
	plants
	run sbx grant --always fs:read "$HOME/a/out"
	contains "$output" "leads to $HOME/papers"
	[ "$(sbx grants --json | jq -r '.[0].resolved')" = "$HOME/papers" ]
	contains "$(sbx grants)" "→ $HOME/papers"
	run sbx run -- cat "$HOME/a/out/file"
	[ "$output" = secret ]
	(cd "$HOME/a" && sbx run --allow fs:link=/ -- sh -c 'rm out && ln -s "$0" out' "$HOME/.ssh")
	run sbx run -- cat "$HOME/a/out/id_ed25519"
	lacks "$output" "not a real key"
	mkdir "$HOME/other"
	echo changed >"$HOME/other/file"
	(cd "$HOME/a" && sbx run --allow fs:link=/ -- sh -c 'rm out && ln -s "$0" out' "$HOME/other")
	run sbx run -- cat "$HOME/a/out/file"
	lacks "$output" changed
	run sbx run --allow fs:read="$HOME/a/out" -- cat "$HOME/a/out/file"
	[ "$output" = changed ]
	rm -r "$HOME/other"
}

@test "attack_r_20: the directory of a project that is a link by now" {
	mkdir -p "$HOME/a/app"
	cd "$HOME/a/app"
	run sbx run -- pwd
	[ "$output" = "$HOME/a/app" ]
	cd "$HOME/a"
	sbx run --allow fs:link=/ -- sh -c 'rm -r app && ln -s "$0" app' "$HOME/papers"
	cd "$HOME/a/app"
	run sbx run -- cat file
	[ "$status" = 125 ]
	lacks "$output" secret
	contains "$output" "$HOME/a/app leads to $HOME/papers by the link $HOME/a/app"
	cd "$HOME/b"
	run sbx run --project ../a/app -- cat ../papers/file
	[ "$status" = 125 ]
	lacks "$output" secret
	run sbx run --project "$HOME/papers" -- cat "$HOME/papers/file"
	[ "$output" = secret ]
	ln -s "$HOME/papers" "$HOME/own"
	cd "$HOME/own"
	run sbx run -- cat file
	rm "$HOME/own"
	[ "$output" = secret ]
}

# A project whose file denies, and a policy of one run.
project_make() {
	rm -rf "$HOME/outer"
	mkdir -p "$HOME/outer/secrets" "$HOME/outer/sub" "$HOME/outer/conf"
	git init -q "$HOME/outer"
	echo secret >"$HOME/outer/secrets/key"
	printf 'version: 1\nprofiles:\n  default:\n    deny: {fs:read: ["${project}/secrets", "**/*.pem"]}\n' >"$HOME/outer/.sbx.yaml"
	printf 'version: 1\nprofiles:\n  default:\n    deny: {fs:read: ["${project}/secrets"]}\n' >"$HOME/outer/conf/run.yaml"
	cd "$HOME/outer" || return
}

@test "attack_r_26: the policy file of a run is read-only in it, and what lies above it stays where it is" {
	project_make
	run sbx run --policy conf/run.yaml -- sh -c 'echo >>conf/run.yaml; echo x >new; mv new conf/run.yaml; rm -f conf/run.yaml; mv conf c2; mkdir conf; ls'
	contains "$output" "lies where the command may write: it is read-only in this run"
	[ -d conf ]
	[ "$(wc -l <conf/run.yaml)" = 4 ]
	sbx run --allow fs:write="$HOME/outer/conf/run.yaml" --policy "$HOME/outer/conf/run.yaml" -- sh -c 'echo >>conf/run.yaml' || true
	[ "$(wc -l <conf/run.yaml)" = 4 ]
	ln -s conf/run.yaml link.yaml
	sbx run --policy link.yaml -- sh -c 'echo >>conf/run.yaml; rm link.yaml; ln -s elsewhere link.yaml' || true
	[ "$(readlink link.yaml)" = conf/run.yaml ]
	[ "$(wc -l <conf/run.yaml)" = 4 ]
	run sbx run --policy "$HOME/.config/sbx/policy.yaml" -- true
	[ "$output" = "" ]
	run sbx run --policy <(cat conf/run.yaml) -- true
	[ "$status" = 0 ]
}

@test "attack_r_27: a repository that a tool makes in a subfolder doesn't get out of what the outer file denies" {
	project_make
	run sbx run -- cat secrets/key
	lacks "$output" secret$'\n'
	[ "$status" != 0 ]
	sbx run -- git init -q sub
	cd sub
	touch my.pem
	run sbx run --allow fs:read="$HOME/outer/secrets" -- cat ../secrets/key
	[ "$status" != 0 ]
	lacks "$output" secret$'\n'
	run sbx run -- cat my.pem
	[ "$status" != 0 ]
	run sbx check fs:read "$HOME/outer/secrets/key"
	[ "$status" != 0 ]
	run sbx grant fs:read "$HOME/outer/secrets"
	[ "$status" != 0 ]
	contains "$output" "$HOME/outer/.sbx.yaml:4"
	contains "$(sbx policy show)" "$HOME/outer/.sbx.yaml   of an outer project: only its denials count"
	contains "$(sbx policy show)" "$HOME/outer/secrets"
}

@test "attack_r_27: that a folder of a known project is one of its own by now is said once" {
	project_make
	sbx run -- git init -q fresh
	cd fresh
	run sbx run -- true
	contains "$output" "$HOME/outer/fresh is a project of its own by now, inside of $HOME/outer"
	run sbx run -- true
	[ "$output" = "" ]
}

@test "attack_r_27: an outer file with an error lets nothing begin; another user's is none of ours" {
	project_make
	git init -q sub
	echo 'version: x' >.sbx.yaml
	cd sub
	run sbx run -- true
	[ "$status" = 125 ]
	contains "$output" "$HOME/outer/.sbx.yaml"
	rm ../.sbx.yaml
	run sbx run -- true
	[ "$status" = 0 ]
}

@test "attack_r_27: a running sandbox follows what an outer file denies" {
	project_make
	git init -q sub
	mkdir sub/docs
	echo plain >sub/docs/file
	cd sub
	background inner sbx run -- sh -c 'cat docs/file; echo up >up; while cat docs/file; do sleep 0.02; done >/dev/null 2>&1; echo denied'
	wait_for 30 test -e up
	printf 'version: 1\nprofiles:\n  default:\n    deny: {fs:read: ["${project}/sub/docs"]}\n' >../.sbx.yaml
	finished inner
	contains "$output" plain
	contains "$output" denied
}
