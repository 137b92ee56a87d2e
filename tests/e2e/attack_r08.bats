#!/usr/bin/env bats
# attack_r08: folders that a tool makes fill the bound of the look for nested repositories, so that the next run doesn't know one that
# lies deep, and may write its configuration. That the bound was hit is said: when that run ends, before the next one begins, and in
# the history.
# shellcheck disable=SC2016,SC2088 # expanded inside the sandbox; by sbx

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

@test "attack_r_08: repositories in a folder of the home whose name begins with a dot are kept as any, also where that is granted while it runs" {
	rm -rf .git a
	mkdir "$HOME/.dotool" "$HOME/.later"
	for folder in .dotool .later; do
		git init -q "$HOME/$folder/bundle/q"
		git -C "$HOME/$folder/bundle/q" config user.name mine
	done
	inside='git -C bundle/q config core.fsmonitor ./evil; echo evil >bundle/q/.git/hooks/post-merge; echo evil >bundle/q/.envrc; git init -q new'
	run sbx run --allow "fs:write=$HOME/.dotool" -- sh -c "cd ~/.dotool; $inside"
	echo "$output"
	contains "$output" "a sandboxed tool created $HOME/.dotool/new/.git"
	background tool sbx run -- sh -c "touch up; until [ -e granted ]; do sleep 0.05; done; cd ~/.later; $inside"
	wait_for 60 test -e up
	sbx grant fs:write "$HOME/.later" --profile default >/dev/null
	touch granted
	finished tool
	echo "$output"
	contains "$output" "a sandboxed tool created $HOME/.later/new/.git"
	for folder in .dotool .later; do
		[ -z "$(git -C "$HOME/$folder/bundle/q" config core.fsmonitor)" ]
		[ ! -e "$HOME/$folder/bundle/q/.git/hooks/post-merge" ]
		[ ! -e "$HOME/$folder/bundle/q/.envrc" ]
		sbx history --verdict deny --json | jq -se --arg path "$HOME/$folder/bundle/q/.git/hooks" 'flatten | any(.target == $path)'
	done
	sbx revoke --all >/dev/null
	rm -r "$HOME/.dotool" "$HOME/.later" up granted
}

# Whoever may write in one of these has an install outside run what he likes (R5), by which it is no place for repositories.
@test "attack_r_08: caches that the built-in profiles keep for each project are not looked into where a user's rule shares them" {
	local caches targets
	mapfile -t caches < <(sed -n 's|.*{target: ~/\([^,]*\), per-project: true}.*|\1|p' "$TESTS"/../../policy/profiles/{npm,python}.yaml)
	[ "${#caches[@]}" -ge 10 ]
	printf -v targets '~/%s, ' "${caches[@]}"
	policy <<END
version: 1
profiles:
  default:
    allow:
      fs:write: [${targets%, }]
END
	for cache in "${caches[@]}"; do git init -q "$HOME/$cache/deep/q"; done
	run sbx run -- sh -c 'cd; for cache; do git -C $cache/deep/q config core.fsmonitor ./evil; done' sh "${caches[@]}"
	echo "$output"
	[ -z "$output" ]
	for cache in "${caches[@]}"; do [ "$(git -C "$HOME/$cache/deep/q" config core.fsmonitor)" = ./evil ]; done
	for cache in "${caches[@]}"; do rm -rf "${HOME:?}/$cache"; done
	rm "$HOME/.config/sbx/policy.yaml"
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

@test "attack_r_08: a folder of submodules or worktrees that one run shuts, in a nested repository or one in a granted folder, is kept as a whole in the next" {
	mkdir "$HOME/granted"
	local made=(vendor/in "$HOME/granted/in")
	git init -q .
	for at in "${made[@]}"; do
		git init -q "$at"
		git init -q --bare "$at/.git/modules/lib/part"
		mkdir -p "$at/.git/worktrees/side"
		echo x >"$at/.git/worktrees/side/gitdir"
	done
	for shut in modules modules/lib worktrees worktrees/side; do
		for mode in 0311 0644 0000; do
			run sbx run --allow "fs:write=$HOME/granted" -- sh -c "for at in ${made[*]}; do chmod $mode \$at/.git/$shut; done"
			echo "$shut $mode: $output"
			contains "$output" "vendor/in/.git/$shut, which can't be read"
			run sbx run --allow "fs:write=$HOME/granted" -- sh -c "for at in ${made[*]}; do chmod 0755 \$at/.git/$shut; echo evil >>\$at/.git/modules/lib/part/config; echo evil >\$at/.git/worktrees/side/commondir; done"
			echo "$output"
			for at in "${made[@]}"; do
				chmod 0755 "$at/.git/$shut"
				run ! grep -q evil "$at/.git/modules/lib/part/config"
				[ ! -e "$at/.git/worktrees/side/commondir" ]
			done
		done
	done
	rm -rf vendor "$HOME/granted"
}
