#!/usr/bin/env bats
# attack_r08: folders that a tool makes fill the bound of the look for nested repositories, so that the next run doesn't know one that
# lies deep, and may write its configuration. That the bound was hit is said: when that run ends, before the next one begins, and in
# the history.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	git config --global init.defaultBranch main
}

@test "attack_r_08: a look for repositories that stops at its bound is said, before the tool starts and when it has ended" {
	git init -q .
	git init -q a/b/deep
	run sbx run -- sh -c 'git -C a/b/deep config core.fsmonitor ./evil; seq -f x%g 2500 | xargs mkdir'
	echo "$output"
	[ -z "$(git -C a/b/deep config core.fsmonitor)" ]
	contains "$output" "sbx: warning: not all was looked at: repositories in $PWD past 2000 folders"
	session=$(sbx history --json | jq -r 'select(.kind == "session-start").session' | tail -n 1)
	sbx history --session "$session" --json |
		jq -se --arg root "$PWD" 'any(.[]; .kind == "finding" and .target == $root and .detail.what == "bound" and .detail.of == "repositories" and .detail.most == 2000)'
	run sbx run -- echo begun
	echo "$output"
	before=${output%%begun*}
	contains "$before" "in $PWD nested repositories were looked for in 2000 folders, the shallow ones: the .git of another one is not protected"
	contains "${output##*begun}" "not all was looked at"
	seq -f x%g 2500 | xargs rmdir
	run sbx run -- true
	[ -z "$output" ]
}

@test "attack_r_08: likewise in another folder that may be written, also where the project itself is small" {
	mkdir -p "$HOME/beside"
	seq -f "$HOME/beside/x%g" 2500 | xargs mkdir
	run sbx run --allow "fs:write=$HOME/beside" -- echo begun
	echo "$output"
	contains "${output%%begun*}" "in $HOME/beside nested repositories were looked for"
	contains "${output##*begun}" "not all was looked at: repositories in $HOME/beside past 2000 folders"
	rm -r "$HOME/beside"
}

@test "attack_r_08: more folders beside a .git than are looked into don't hide it" {
	rm -rf .git a
	git init -q .
	seq -f y%g 2500 | xargs mkdir
	git init -q y7
	seq -f y7/x%g 1500 | xargs mkdir
	run sbx run -- sh -c 'git -C y7 config core.fsmonitor ./evil'
	echo "$output"
	[ -z "$(git -C y7 config core.fsmonitor)" ]
	seq -f y%g 2500 | xargs rm -r
}

# What a folder lacks that its owner can't read, or go through, a tool that runs as the owner can give it again.
@test "attack_r_08: a folder that one run shuts, so that the next doesn't know what is masked or hidden in it, is hidden as a whole, and said" {
	policy <<'END'
version: 1
profiles:
  default:
    deny:
      fs:read: ["**/.env"]
END
	for mode in 0311 0644 0000; do
		mkdir -p z
		git init -q z/in
		git init -q z
		echo SECRET=hush >z/.env
		run sbx run -- sh -c "cat z/.env; chmod $mode z"
		echo "$output"
		contains "$output" "not all was looked at: z, which can't be read"
		run sbx run -- sh -c 'echo begun; cat z/.env; chmod 0755 z; cat z/.env; for i in z z/in; do git -C $i config core.fsmonitor ./evil; echo evil >$i/.git/config; done; mv z y; rm -rf z; mkdir z; cat y/.env'
		echo "$output"
		contains "${output%%begun*}" "$PWD/z can't be read, and is hidden, since what lies in it isn't known"
		lacks "$output" hush
		chmod 0755 z
		for i in z z/in; do run ! grep -q evil $i/.git/config; done
		[ "$(<z/.env)" = SECRET=hush ]
		rm -rf z
	done
	chmod 0311 .
	run sbx run -- true
	echo "$output"
	chmod 0755 .
	[ "$status" = 125 ]
	contains "$output" "$PWD can't be read, so what rules hide in it isn't known: chmod u+rwx $PWD"
	rm "$HOME/.config/sbx/policy.yaml"
}
