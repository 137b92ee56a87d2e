#!/usr/bin/env bats
# Attacks on files and the plan, each named after its kind and number.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$SBX_PROBE" "$HOME/project/probe"
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
}

# A fresh project that is a repository with one commit and a hook.
setup() {
	rm -rf "$HOME/repo"
	git init -q "$HOME/repo"
	cd "$HOME/repo" || return
	cp "$SBX_PROBE" probe
	echo one >file
	git add file
	git commit -qm one
	printf '#!/bin/sh\n' >.git/hooks/pre-commit
	before=$(sha256sum .git/config .git/hooks/*)
}

# The host's configuration and hooks are what they were, and nothing new lies beside them.
unchanged() {
	[[ $(sha256sum .git/config .git/hooks/*) == "$before" ]]
}

# inside LINE: run it under sh in the sandbox; sets $status and $output.
inside() {
	run sbx run -- sh -c "$1"
	echo "$1: $output ($status)"
}

@test "attack_f_03 a rule that names a link holds for what it leads to, and for the link" {
	mkdir real
	echo hidden >real/secret
	ln -s real link
	echo hidden >"$HOME/outside"
	ln -s "$HOME/outside" stray
	policy <<'END'
version: 1
profiles:
  default:
    deny:
      fs:read: ["${project}/link"]
END
	inside 'cat link/secret'
	lacks "$output" hidden
	[ "$status" != 0 ]
	inside 'cat real/secret'
	lacks "$output" hidden
	[ "$status" != 0 ]
	inside 'cat stray'
	lacks "$output" hidden
	[ "$status" != 0 ]
}

@test "attack_f_04 a masked name and the folders above it can't be moved, removed or made anew" {
	for line in 'mv .git .git2; mkdir -p .git/hooks; echo "#!/bin/sh" >.git/hooks/post-checkout' \
		'rm -rf .git/hooks' 'mv .git/hooks .git/h2' 'echo x >.git/hooks/post-merge' 'echo x >>.git/config' \
		'rm -f .git/config; echo x >.git/config' 'mv .git/config .git/c2' 'echo x >.git/hooks/pre-commit' \
		'chmod +x .git/hooks/pre-commit'; do
		inside "$line"
		unchanged
		[ -d .git/refs ]
		[ ! -e .git2 ]
		[ ! -x .git/hooks/pre-commit ]
	done
	run sbx run -- ./probe rename .git .git2
	[ "$output" = EBUSY ]
	mkdir other
	run sbx run -- ./probe exchange .git other
	[[ $output =~ ^(EBUSY|EACCES) ]] # EACCES: asked about first, and refused
	[ -d .git/hooks ] && [ ! -e other/hooks ]
	run sbx run -- ./probe rename .git/hooks .git/h2
	[[ $output =~ ^(EBUSY|EXDEV|EACCES) ]] # EACCES: asked about first, and refused
	run sbx run -- ./probe unlink .git/config
	[[ $output =~ ^(EBUSY|EROFS|EACCES) ]]
	inside 'echo two >file && git -c user.name=a -c user.email=b commit -qam two && git log --oneline'
	[ "$status" = 0 ]
	contains "$output" two
}

@test "attack_f_05 a broader rule never undoes a narrower one; slashes and dots change nothing" {
	mkdir -p a/b/c d
	for name in a a/b a/b/c d; do echo "in $name" >"$name/file"; done
	for deny in '"${project}/a"' '"${project}/a/"' '"${project}//a"' '"${project}/./a"' '"${project}/d/../a"'; do
		policy <<END
version: 1
profiles:
  default:
    allow:
      fs:write: ["\${project}/a/b", "\${project}"]
    deny:
      fs:read: ["\${project}/a/b/c", $deny]
END
		inside 'cat a/file'
		[ "$status" != 0 ]
		lacks "$output" "in a"
		inside 'cat a/b/file && echo more >>a/b/file'
		[ "$status" = 0 ]
		inside 'cat a/b/c/file'
		[ "$status" != 0 ]
		inside 'cat d/file; ls a'
		contains "$output" "in d"
		lacks "$output" "file"$'\n'"b"
	done
}

@test "attack_f_06 a worktree: the hooks and configuration of the repository it belongs to are read-only" {
	git worktree add -q "$HOME/tree-$$" -b side
	cd "$HOME/tree-$$"
	cp "$HOME/repo/probe" .
	inside "echo x >>'$HOME/repo/.git/config'; echo x >'$HOME/repo/.git/hooks/post-checkout'; echo x >.git; rm -f .git; mv .git g"
	cat .git
	grep -q "^gitdir: $HOME/repo/.git/worktrees/" .git
	[ ! -e g ]
	inside "echo evil >'$HOME/repo/.git/worktrees/tree-$$/commondir'; echo evil >'$HOME/repo/.git/worktrees/tree-$$/gitdir'"
	[ "$(cat "$HOME/repo/.git/worktrees/tree-$$/commondir")" = ../.. ]
	(cd "$HOME/repo" && unchanged)
	git -C "$HOME/repo" worktree remove --force "$HOME/tree-$$"
}

@test "attack_f_06 the effective hooks path inside the project is read-only" {
	mkdir -p tools/hooks
	echo '#!/bin/sh' >tools/hooks/pre-push
	git config core.hooksPath tools/hooks
	inside 'echo evil >tools/hooks/pre-push; echo evil >tools/hooks/post-merge; mv tools tools2; rm -rf tools/hooks'
	[ "$(cat tools/hooks/pre-push)" = '#!/bin/sh' ]
	[ "$(ls tools/hooks)" = pre-push ]
	[ ! -e tools2 ]
}

@test "attack_f_07 the view is the same by every name" {
	echo topsecret >"$HOME/outside"
	for path in "/proc/self/root$HOME/outside" "/proc/1/root$HOME/outside" "/proc/1/cwd/$HOME/outside" \
		"/proc/self/cwd/../outside" "/dev/fd/../../..$HOME/outside" "//$HOME/./outside" "../outside"; do
		inside "cat '$path'"
		[ "$status" != 0 ]
		lacks "$output" topsecret
	done
	inside 'for p in /proc/[0-9]*; do ls $p/root/home $p/root/root 2>/dev/null; done; true'
	lacks "$output" .bashrc
}

@test "attack_f_07 a denied program is masked, not matched by name" {
	policy <<'END'
version: 1
profiles:
  default:
    deny:
      proc:spawn: [sha512sum]
END
	loader=$(sed -n 's/.*\(\/lib[^ ]*ld-[^ ]*\.so[^ ]*\).*/\1/p' <(ldd "$(command -v sha512sum)") | head -n 1)
	echo x >data
	inside 'sha512sum data'
	[ "$status" = 126 ] || [ "$status" = 127 ]
	for line in "$loader $(command -v sha512sum) data" 'cp $(command -v sha512sum) mine && ./mine data' \
		'ln -s /usr/bin/sha512sum via && ./via data' 'env sha512sum data' '/usr/bin/../bin/sha512sum data'; do
		inside "$line"
		[ "$status" != 0 ]
		lacks "$output" " data"$'\n'
		rm -f mine via
	done
	inside 'sha256sum data'
	[ "$status" = 0 ]
}

@test "attack_f_08 a hard link to a read-only file doesn't make it writable" {
	inside './probe link /etc/passwd mine; ./probe link .git/config mine; ./probe write mine'
	lacks "$output" worked
	unchanged
	[ ! -e mine ]
}

@test "attack_f_11 only 0, 1 and 2 are open in the tool, whatever the caller had open" {
	exec 8</ 9<"$HOME"
	run sbx run -- sh -c 'ls /proc/$$/fd; cat /proc/$$/fd/8/etc/hostname /proc/1/fd/8/etc/hostname'
	exec 8<&- 9<&-
	echo "$output"
	[ "${lines[*]:0:4}" = "0 1 2 ${lines[3]}" ]
	[[ ${lines[3]} == cat:* && ${lines[4]} == cat:* && ${#lines[@]} == 5 ]]
	run sbx run -- sh -c 'for f in /proc/[0-9]*/fd/*; do readlink $f; done'
	echo "$output"
	lacks "$output" "$HOME/.local"
	lacks "$output" "broker.sock"
}

@test "attack_f_12 sbx-init can't be overwritten through /proc/1/exe" {
	sum=$(find "$SBX_BIN/.." -name sbx-init -type f -exec sha256sum {} +)
	inside './probe init-executable; echo x >/proc/1/exe; cp /bin/true /proc/1/exe; readlink /proc/1/exe'
	lacks "$output" worked
	[ "$(find "$SBX_BIN/.." -name sbx-init -type f -exec sha256sum {} +)" = "$sum" ]
}

@test "attack_f_13 \$HOME and / as a project need to be said aloud" {
	cd "$HOME"
	run sbx run -- true
	one_error 125
	contains "$output" --project
	cd /
	run sbx run -- true
	one_error 125
	contains "$output" --project
}

@test "attack_f_13 with \$HOME as the project, sbx's own places and the sensitive ones stay shut" {
	echo '# mine' >"$HOME/.bashrc"
	policy <<<'version: 1'
	policy_before=$(cat "$HOME/.config/sbx/policy.yaml")
	cd "$HOME"
	run sbx run --project "$HOME" -- sh -c '
		cat project/probe >/dev/null && echo visible
		cat .ssh/id_ed25519
		ls -A .local/state/sbx .config/sbx
		cat .local/state/sbx/sbx.db
		echo evil >.config/sbx/policy.yaml
		mkdir -p .local/state/sbx/run .config/sbx && echo evil >.config/sbx/policy.yaml
		mv .config .config2; mv .local .local2; mv .ssh .ssh2
		echo evil >>.bashrc'
	echo "$output"
	contains "$output" visible
	lacks "$output" "not a real key"
	lacks "$output" "SQLite format"
	[ ! -e "$HOME/.config2" ] && [ ! -e "$HOME/.local2" ] && [ ! -e "$HOME/.ssh2" ]
	[ "$(cat "$HOME/.bashrc")" = '# mine' ]
	[ "$(cat "$HOME/.config/sbx/policy.yaml")" = "$policy_before" ]
	[ -S "$(broker_socket)" ]
	sbx history --verify
}

@test "attack_f_13 sbx's own folder can't be made by the tool where there is none yet" {
	rm -rf "$HOME/.config"
	cd "$HOME"
	run sbx run --project "$HOME" --profile npm -- sh -c 'mkdir -p .config/sbx; echo "version: 1" >.config/sbx/policy.yaml'
	echo "$output"
	[ ! -e "$HOME/.config/sbx/policy.yaml" ]
}

@test "attack_f_13 the broker's own folder as the project" {
	mkdir -p "$HOME/.config/sbx"
	run sbx run --project "$HOME/.config/sbx" --cwd "$HOME/.config/sbx" -- sh -c 'echo evil >policy.yaml; ls -A'
	[ ! -e "$HOME/.config/sbx/policy.yaml" ] || ! grep -q evil "$HOME/.config/sbx/policy.yaml"
	run sbx run --project "$HOME/.local/state/sbx" --cwd / -- sh -c "head -c 15 '$HOME/.local/state/sbx/sbx.db'"
	lacks "$output" "SQLite format"
}

@test "attack_f_14 paths with newlines, control characters, bytes that are no UTF-8" {
	local name
	for name in $'a\nb' $'tab\there' $'esc\e[31mred' $'bad\xff\xfeutf' 'quote"s'\''' '-rf' '$(touch x)' $'bidi\xe2\x80\xae'; do
		mkdir -p "$HOME/odd/$name"
		echo found >"$HOME/odd/$name/file"
		run sbx run -- cat "$HOME/odd/$name/file"
		[ "$status" != 0 ]
		sbx grant fs:read "$HOME/odd/$name" --profile default
		run sbx run -- cat "$HOME/odd/$name/file"
		[ "$output" = found ]
		run sbx grants
		lacks "$output" $'\e'
		lacks "$output" $'\xe2\x80\xae'
		[ "$(grep -c "odd/" <<<"$output")" = 1 ]
		run sbx history
		lacks "$output" $'\e'
		sbx revoke --match fs:read "$HOME/odd/$name"
		run sbx run -- cat "$HOME/odd/$name/file"
		[ "$status" != 0 ]
	done
	long=/$(printf 'x%.0s' {1..5000})
	run sbx grant fs:read "$long"
	[ "$status" != 0 ]
	grep -q '^sbx: ' <<<"$output"
	none grants
}

@test "attack_f_16 a pattern bomb is refused at once, in a policy and in a grant" {
	bomb=$(printf '{a,b}%.0s' {1..40})
	stars=$(printf '**/%.0s' {1..200})
	for pattern in "/$bomb" "/${stars}x" "/$(printf '*a%.0s' {1..1500})"; do
		SECONDS=0
		run timeout 60 sbx grant fs:read "$pattern"
		echo "$output" | head -c 300
		((SECONDS < 30))
		if [ "$status" = 0 ]; then # taken as plain text (braces mean nothing): then it must also match quickly
			run timeout 60 sbx run -- true
			[ "$status" = 0 ]
			sbx revoke --all
		else
			grep -q '^sbx: ' <<<"$output"
		fi
		printf 'version: 1\nprofiles:\n  default:\n    deny:\n      fs:read: ["%s"]\n' "$pattern" >bomb.yaml
		run timeout 60 sbx policy check bomb.yaml
		[ "$status" != 124 ]
		[ "$status" = 0 ] || contains "$output" "bomb.yaml:5:"
	done
	none grants
}

@test "attack_f_06 an unpacked archive can't widen its project to what holds it" {
	mkdir -p "$HOME/worktrees/tool" && cd "$HOME/worktrees/tool"
	echo 'gitdir: .' >.git && echo ../.. >commondir && echo .git >gitdir && echo 'ref: refs/heads/x' >HEAD
	echo hush >"$HOME/secret.txt"
	inside 'cat ~/secret.txt; echo owned >~/PWNED'
	lacks "$output" hush
	[ ! -e "$HOME/PWNED" ]
	rm -r "$HOME/worktrees" "$HOME/secret.txt"
}

@test "attack_f_04 a .git that one run breaks is protected in the next" {
	run sbx run --allow fs:link=/ -- sh -c 'B=$(git symbolic-ref HEAD); git pack-refs --all; ln -sfn $B .git/HEAD'
	inside 'echo x >>.git/config; echo x >.git/hooks/pre-commit'
	unchanged
	inside 'rm -rf .git/refs .git/HEAD'
	inside 'echo x >>.git/config; echo x >.git/hooks/pre-commit; echo x >.git/HEAD; mv .git g'
	unchanged
	[ ! -e .git/HEAD ]
}

@test "attack_f_05 nested repositories and submodules are masked as the top one" {
	git init -q vendor/in
	git -C vendor/in commit -q --allow-empty -m one
	git init -q deep/separate && mv deep/separate/.git deep/store && echo 'gitdir: ../store' >deep/separate/.git
	git add vendor/in
	inside 'cd vendor/in && echo one >f && git add f && git -c user.name=a -c user.email=b commit -qm two'
	[ "$(git -C vendor/in log -1 --format=%s)" = two ]
	lacks "$output" "a sandboxed tool created"
	sum=$(sha256sum vendor/in/.git/config deep/store/config deep/separate/.git)
	for line in 'git -C vendor/in config core.fsmonitor ./evil' 'echo x >vendor/in/.git/hooks/pre-commit' \
		'rm -rf vendor/in' 'mv vendor v2' 'mv vendor/in/.git vendor/in/g' 'echo x >>deep/store/config' \
		'echo "gitdir: ../../evil" >deep/separate/.git' 'rm -f deep/separate/.git' 'mv deep d2'; do
		inside "$line"
		[ "$(sha256sum vendor/in/.git/config deep/store/config deep/separate/.git)" = "$sum" ]
		[ ! -e vendor/in/.git/hooks/pre-commit ]
	done
}

@test "attack_f_05 a submodule, a repository and a todo list that were made inside are said" {
	inside 'git init -q evil/sub; git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),evil/sub; mkdir .git/rebase-merge'
	for made in evil/sub/.git evil/sub .git/rebase-merge; do [[ $output =~ $PWD/$made(,|:|" and ") ]]; done
	contains "$output" ": check them (hooks, config) before you run git there"
}

@test "attack_f_06 a bare repository in the project is protected; one that is made inside, in the place of a broken .git, is said" {
	git init -q --bare fixture.git
	git init -q --bare deep
	inside 'for r in fixture.git deep; do echo evil >>$r/config; echo evil >$r/hooks/update; echo ../evil >$r/commondir; mv $r/hooks $r/h; done
		git init -q --bare made; mkdir objects refs; echo "ref: refs/heads/main" >HEAD; printf "[core]\n\tfsmonitor = evil\n" >config; echo broken >.git/HEAD'
	for repository in fixture.git deep; do
		run ! grep -q evil $repository/config
		[ ! -e $repository/hooks/update ]
		[ ! -e $repository/commondir ]
		[ -d $repository/hooks ]
	done
	rm -rf objects refs HEAD config made
	echo "ref: refs/heads/main" >.git/HEAD
	inside 'git init -q --bare made; mkdir objects refs; echo "ref: refs/heads/main" >HEAD'
	for made in "$PWD/made" "$PWD"; do [[ $output =~ $made(,|:|" and ") ]]; done
}

@test "attack_f_05 what a link among the hooks leads to can't be written" {
	mkdir scripts && echo '#!/bin/sh' >scripts/pc
	ln -sf ../../scripts/pc .git/hooks/pre-commit
	inside 'echo evil >>scripts/pc; rm -f scripts/pc; mv scripts s2; echo ok >scripts/other'
	[ "$(cat scripts/pc)" = '#!/bin/sh' ]
	[ -e scripts/other ]
}

@test "attack_f_05 another name of a masked file is masked in the project, and said where it lies elsewhere" {
	ln .git/config notes
	inside 'echo evil >>notes'
	unchanged
	lacks "$output" "hard links"
	ln .git/config "$HOME/elsewhere"
	inside true
	contains "$output" "/repo/.git/config has other names (hard links): what is done through them isn't seen"
	rm "$HOME/elsewhere"
}

@test "attack_f_17 the host's git replaces a masked file under a running sandbox: it is masked again" {
	cp "$TESTS/window.py" window.py
	background writer sbx run -- python3 window.py .git/config stop
	wait_for 60 test -e started
	for i in {1..20}; do
		git config "sbx.count" "$i"
		sleep 0.05
	done
	sleep 0.3
	git config sbx.count last
	sleep 0.3
	sum=$(sha256sum .git/config)
	sleep 1 # long after the last replacement, while the sandbox goes on trying
	[ "$(sha256sum .git/config)" = "$sum" ]
	[ "$(git config sbx.count)" = last ]
	touch stop
	finished writer
	[ "$(sbx history --json | jq -s 'map(select(.kind == "repair")) | length')" -gt 0 ]
	echo "$output"
	[ "$(grep -vc "^sbx: " <<<"$output")" = 0 ] # no time in which it could be written to
}

@test "attack_f_19 what the host mounts under a granted tree later does not appear inside" {
	mkdir -p sub
	in_own_mounts '
		plain sbx run -- sh -c "touch started; until [ -e go ]; do sleep 0.05; done; cat sub/file; cat sub/late" \
			>"$HOME/run/inside" 2>&1 3>&- &
		pid=$!
		for i in $(seq 1200); do [ ! -e started ] || break; sleep 0.05; done
		echo early >sub/file
		mount -t tmpfs tmpfs sub || exit 9
		echo leaked >sub/late
		touch go
		wait $pid'
	cat "$HOME/run/inside"
	grep -q early "$HOME/run/inside"
	run ! grep -q leaked "$HOME/run/inside"
}
