#!/usr/bin/env bats
# R5: caches that hold code. What one project's packages put into npm's, yarn's, pnpm's, pip's or uv's cache is unpacked by no
# install outside, and by none of another project.
# shellcheck disable=SC2016 # expanded in the sandbox

load helper

setup_file() {
	home_make
	default_policy "without-agent: deny" ""
	mkdir -p "$HOME/a" "$HOME/b"
}

caches=(.npm .cache/node-gyp .cache/yarn .cache/pnpm .local/share/pnpm/store .local/state/pnpm)
python_caches=(.cache/pip .cache/uv .cache/pypoetry .cache/virtualenv)

setup() {
	for cache in "${caches[@]}" "${python_caches[@]}"; do
		rm -rf "${HOME:?}/$cache"
		mkdir -p "$HOME/$cache"
		echo mine >"$HOME/$cache/mine"
	done
	rm -rf "$HOME/.local/state/sbx/projects"
}

# forge PROFILE CACHE…: a tool in project a writes to each, and sees nothing of the user's.
forge() {
	local profile=$1
	shift
	cd "$HOME/a" || return
	run sbx run --profile "$profile" -- sh -c 'for cache; do [ ! -e ~/$cache/mine ] || echo "seen: $cache"; mkdir -p ~/$cache/deep; echo forged >~/$cache/deep/code || echo "refused: $cache"; done' sh "$@"
	echo "$output"
	[ "$status" -eq 0 ]
	lacks "$output" seen:
	lacks "$output" refused:
}

# nowhere_else PROFILE CACHE…: neither the host nor another project has what was forged; the same project has it.
nowhere_else() {
	local profile=$1 cache
	shift
	for cache; do
		[ "$(ls "$HOME/$cache")" = mine ]
		[ "$(cat "$HOME/$cache/mine")" = mine ]
	done
	cd "$HOME/b" || return
	run sbx run --profile "$profile" -- sh -c 'for cache; do [ ! -e ~/$cache/deep ] || echo "leaked: $cache"; done' sh "$@"
	echo "$output"
	[ "$status" -eq 0 ]
	lacks "$output" leaked:
	cd "$HOME/a" || return
	run sbx run --profile "$profile" -- sh -c 'for cache; do cat ~/$cache/deep/code; done | sort -u' sh "$@"
	[ "$output" = forged ]
}

@test "attack_r_05: what a project's packages leave in npm's, yarn's and pnpm's caches stays its own" {
	forge npm "${caches[@]}"
	nowhere_else npm "${caches[@]}"
}

@test "attack_r_05: what a project's packages leave in pip's, uv's and poetry's caches stays its own" {
	forge python "${python_caches[@]}"
	nowhere_else python "${python_caches[@]}"
}

@test "attack_r_05: a package that npm itself has cached in a project is installed neither outside nor in another project" {
	command -v npm >/dev/null || skip "optional: there is no npm"
	mkdir -p "$HOME/forged" && cd "$HOME/forged"
	echo '{"name": "forged-package", "version": "1.0.0", "scripts": {"install": "touch ran"}}' >package.json
	npm pack --silent >/dev/null
	mkdir -p "$HOME/a" && cp forged-package-1.0.0.tgz "$HOME/a"
	cd "$HOME/a"
	run sbx run -- npm cache add ./forged-package-1.0.0.tgz
	echo "$output"
	[ "$status" -eq 0 ]
	run sbx run -- npm cache ls
	contains "$output" forged-package
	run npm cache ls
	lacks "$output" forged-package
	cd "$HOME/b"
	run sbx run -- npm cache ls
	lacks "$output" forged-package
}

@test "attack_r_05: whoever wants to share a cache says so in a policy, or grants it" {
	cd "$HOME/a"
	sbx grant fs:write "$HOME/.cache/yarn" --profile npm
	printf 'version: 1\nprofiles:\n  npm:\n    allow:\n      fs:write: [~/.npm]\n' >"$HOME/run/share.yaml"
	run sbx run --policy "$HOME/run/share.yaml" --profile npm -- sh -c 'cat ~/.npm/mine ~/.cache/yarn/mine; echo x >~/.npm/shared; echo x >~/.cache/yarn/shared; echo x >~/.cache/pnpm/own'
	echo "$output"
	[ -e "$HOME/.npm/shared" ]
	[ -e "$HOME/.cache/yarn/shared" ]
	[ ! -e "$HOME/.cache/pnpm/own" ]
	sbx revoke --all
}

@test "attack_r_05: a profile of the user's that rests on all of them has the caches of its project, whatever the home lacks" {
	rm -rf "$HOME/.npm" "$HOME/.cache" "$HOME/.local/state/pnpm" "$HOME/.local/share/pnpm"
	printf 'version: 1\nprofiles:\n  every:\n    extends: [aider, git, node, npm, python, default]\n' >"$HOME/run/every.yaml"
	cd "$HOME/a"
	run sbx run --policy "$HOME/run/every.yaml" --profile every -- sh -c 'for cache; do echo own >~/$cache/file || echo "refused: $cache"; done' sh "${caches[@]}" "${python_caches[@]}"
	echo "$output"
	[ "$status" -eq 0 ]
	lacks "$output" refused:
	[ ! -e "$HOME/.local/state/pnpm" ]
	[ ! -e "$HOME/.npm" ]
}

@test "attack_r_05: nothing that a built-in profile may write is run or unpacked by a later command of the host" {
	# PROFILE TARGET WHY
	reasons="default \${project} the project
npm \${project} the project
node ~/.node_repl_history lines that are shown, not run
python ~/.python_history lines that are shown, not run"
	for profile in base default npm node git python aider; do
		sbx policy show | awk -v profile="$profile" '
			/^  [a-z]+:$/ { now = $1; sub(":", "", now) }
			/^    [a-z]+:$/ { effect = $1 }
			/^      [a-z]+:[a-z]+:$/ { permission = $1 }
			now == profile && effect == "allow:" && permission == "fs:write:" && /^        - / && !/per-project: true/ {
				sub(/^        - /, ""); sub(/  #.*/, ""); gsub(/"/, ""); print profile, $0 }'
	done | sort -u >"$HOME/run/writable"
	cat "$HOME/run/writable"
	[ "$(wc -l <"$HOME/run/writable")" -ge 4 ]
	while read -r profile target; do
		grep -qF -- "$profile $target " <<<"$reasons" || { echo "no reason: $profile $target" && return 1; }
	done <"$HOME/run/writable"
}
