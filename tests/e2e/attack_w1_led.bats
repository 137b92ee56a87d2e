#!/usr/bin/env bats
# A denial that names a link, or a pattern behind one, holds for the path that the link leads to (W1): nobody is asked
# about that, no grant or answer gives it, and sbx why and sbx check say so.
# shellcheck disable=SC2016,SC2034,SC2088,SC2030,SC2031 # expanded inside the sandbox; the helper reads it; a rule's own ~

load helper

setup_file() {
	home_make
	mkdir -p "$HOME/data/a/deep" "$HOME/data/b" "$HOME/dots/ssh"
	echo secret | tee "$HOME/data/a/x.pem" "$HOME/data/a/deep/y.pem" "$HOME/data/b/x.pem" "$HOME/dots/ssh/id" >/dev/null
	echo plain | tee "$HOME/data/a/x.txt" "$HOME/dots/ssh/known_hosts" "$HOME/dots/rc" >/dev/null
	rm -r "$HOME/.ssh"
	ln -s dots/ssh "$HOME/.ssh" # as stow makes it; base denies ~/.ssh
}

setup() {
	ln -sfn "$HOME/data/a" "$HOME/la"
	cd "$HOME/project" || return
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	sbx revoke --all >/dev/null 2>&1 || true
	sbx revoke --profile default >/dev/null 2>&1 || true
	rm -f .sbx.yaml up go
}

# denying RULES [LINES]: what the default profile denies, and more of it. Who asks waits for an answer.
denying() {
	default_policy "timeout: 60s, without-agent: wait" "    deny: {$1}${2:+$'\n'    $2}"
}

# unread FILE: no run reads it, and nobody is asked; the history has the denial.
unread() {
	run timeout 30 sbx run -- cat "$1"
	lacks "$output" secret
	[ "$status" -ne 0 ]
	[ "$status" -ne 124 ]
}

# refused PERM PATH [WORDS]: the grant is, in these words; why and check say no without a question.
refused() {
	run sbx grant "$1" "$2"
	[ "$status" = 1 ]
	contains "$output" "can't be granted"
	contains "$output" "${3:-leads to $HOME/data/a}"
	run sbx why "$1" "$2"
	contains "$output" "So: deny"
	run timeout 30 sbx check "$1" "$2"
	[ "$status" = 1 ]
	none grants
}

@test "attack_w_1: the path that a denied link leads to is not asked about, granted or answered, by whatever form of the rule" {
	local rule
	for rule in '~/la' '~/la/x.pem' '~/la/*.pem' '~/la/**/*.pem'; do
		denying "fs:read: ['$rule']"
		refused fs:read "$HOME/data/a/x.pem"
		refused fs:write "$HOME/data/a/x.pem"
		unread "$HOME/data/a/x.pem"
		run sbx run --allow fs:read="$HOME/data/a/x.pem" -- cat "$HOME/data/a/x.pem"
		[ "$status" = 125 ]
		contains "$output" "can't be granted"
		# All around it may be granted, and the run and why agree on what is left out.
		sbx grant fs:read "$HOME/data"
		unread "$HOME/data/a/x.pem"
		run sbx why fs:read "$HOME/data/a/x.pem"
		contains "$output" "So: deny"
		sbx revoke --all
	done
	sbx grant fs:read "$HOME/data/a"
	run -0 sbx run -- cat "$HOME/data/a/x.txt"
	[ "$output" = plain ]
	sbx history --json --permission fs:read | jq -es --arg path "$HOME/data/a/x.pem" \
		'any(.[]; .target == $path and .verdict == "deny" and (.why | contains("by a link")))'
}

@test "attack_w_1: nor is it written, where a denial of writing by a link leads" {
	local rule
	for rule in '~/la' '~/la/*.pem'; do
		denying "fs:write: ['$rule']"
		refused fs:write "$HOME/data/a/x.pem"
		sbx grant fs:read "$HOME/data/a/x.pem"
		run timeout 30 sbx run -- sh -c 'cat "$1"; echo changed >"$1"' sh "$HOME/data/a/x.pem"
		contains "$output" secret
		[ "$(<"$HOME/data/a/x.pem")" = secret ]
		sbx revoke --all
	done
}

@test "attack_w_1: a project's own denial, and one for a run, by a link" {
	default_policy "timeout: 60s, without-agent: wait"
	ln -sfn "$HOME/data/a" lnk
	# shellcheck disable=SC2016 # the rule's
	printf 'version: 1\nprofiles: {default: {deny: {fs:read: ["${project}/lnk/*.pem"]}}}\n' >.sbx.yaml
	refused fs:read "$HOME/data/a/x.pem" "$HOME/project/lnk leads to $HOME/data/a by a link"
	unread "$HOME/data/a/x.pem"
	rm .sbx.yaml lnk
	for rule in '~/la' '~/la/*.pem'; do
		run timeout 30 sbx run --deny fs:read="$rule" -- cat "$HOME/data/a/x.pem"
		lacks "$output" secret
		[ "$status" -ne 124 ]
		sbx grant --deny fs:read "$rule"
		unread "$HOME/data/a/x.pem"
		sbx revoke --profile default
	done
}

@test "attack_w_1: what base keeps is kept where its name is a link, and what a rule lifts behind the link is lifted" {
	asking_policy
	refused fs:read "$HOME/dots/ssh/id" "$HOME/.ssh leads to $HOME/dots/ssh by a link"
	unread "$HOME/dots/ssh/id"
	sbx grant fs:read "$HOME/dots"
	unread "$HOME/dots/ssh/id"
	run -0 sbx run -- cat "$HOME/dots/rc"
	sbx revoke --all
	asking_policy 60s "    allow: {fs:read: [~/.ssh/known_hosts]}"
	run -0 sbx run -- cat "$HOME/.ssh/known_hosts" "$HOME/dots/ssh/known_hosts"
	unread "$HOME/dots/ssh/id"
	# A rule may open what it names by the real path, as it may with a denial that is written so.
	asking_policy 60s "    allow: {fs:read: [~/dots/ssh/known_hosts, ~/dots]}"
	run -0 sbx run -- cat "$HOME/dots/ssh/known_hosts"
	unread "$HOME/dots/ssh/id"
}

@test "attack_w_1: a rule by the real path competes with a denial by a link as with one by that path" {
	local denial
	for denial in '~/la' '~/data/a'; do
		denying "fs:read: ['$denial']" "allow: {fs:read: ['~/data/a/x.pem']}" # the closer one
		run -0 sbx run -- cat "$HOME/data/a/x.pem"
		unread "$HOME/data/a/deep/y.pem"
		denying "fs:read: ['$denial/x.pem']" "allow: {fs:read: ['~/data/a/x.pem', '~/data/a/deep']}" # as close: denied
		unread "$HOME/data/a/x.pem"
		run -0 sbx run -- cat "$HOME/data/a/deep/y.pem"
	done
}

@test "attack_w_1: in a sandbox that runs, with the curtain and with traps, a grant gives nothing, and a denial by a link takes it" {
	local SBX_TEST_DOORBELL
	for SBX_TEST_DOORBELL in auto traps; do
		denying "fs:read: ['~/la/*.pem']"
		rm -f up go
		background b sbx run -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done; cat "$1"' sh "$HOME/data/a/x.pem"
		wait_for 30 test -e up
		run sbx grant fs:read "$HOME/data/a/x.pem"
		[ "$status" = 1 ]
		touch go
		finished b 30
		lacks "$output" secret
		denying "fs:read: ['~/none']"
		sbx grant fs:read "$HOME/data/a/x.pem"
		rm -f up go
		background b sbx run -- sh -c 'cat "$1" && touch up; until [ -e go ]; do sleep 0.02; done; cat "$1"' sh "$HOME/data/a/x.pem"
		wait_for 30 test -e up
		sed -i "s,~/none,~/la," "$HOME/.config/sbx/policy.yaml"
		wait_for 20 is_denied "$HOME/data/a/x.pem"
		touch go
		finished b 30
		[ "$(grep -c '^secret' <<<"$output")" = 1 ]
		run sbx why fs:read "$HOME/data/a/x.pem"
		contains "$output" "So: deny"
		sbx revoke --all
	done
}

is_denied() { # in the session that runs, by its own view
	[ "$(sbx sessions --json | jq -r '.[0].id' | xargs -I{} sbx why --session {} --json fs:read "$1" | jq -r .verdict.effect)" = deny ]
}

@test "attack_w_1: it goes along when the user moves the link, without and within a sandbox that runs" {
	denying "fs:read: ['~/la']"
	refused fs:read "$HOME/data/a/x.pem"
	ln -sfn "$HOME/data/b" "$HOME/la"
	refused fs:read "$HOME/data/b/x.pem" "$HOME/la leads to $HOME/data/b by a link"
	sbx grant fs:read "$HOME/data/a/x.pem"
	run -0 sbx run -- cat "$HOME/data/a/x.pem"
	background b sbx run -- sh -c 'cat "$1"; touch up; while cat "$1" >/dev/null 2>&1; do sleep 0.02; done; echo was hidden' sh "$HOME/data/a/x.pem"
	wait_for 30 test -e up
	ln -sfn "$HOME/data/a" "$HOME/la"
	finished b 30
	[ "$output" = "secret"$'\n'"was hidden" ] || contains "$output" "was hidden"
}

@test "attack_w_1: a denied link to a folder that it lies in takes nothing that rules allow, and nothing there is granted" {
	denying "fs:read: ['~/la']" "allow: {fs:read: ['~/data/b']}"
	ln -sfn "$HOME" "$HOME/la"
	run -0 sbx run -- sh -c 'echo works >file; cat file "$1"' sh "$HOME/data/b/x.pem"
	contains "$output" works
	refused fs:read "$HOME/data/a/x.txt" "$HOME/la leads to $HOME by a link"
	rm -f file
}

# hostile_project: 2400 denials by the first of 40 links, each with a text as long as a link's may be.
hostile_project() {
	mkdir -p a
	python3 - <<-'EOF'
		import os
		for i in range(40):
		    os.symlink("a/../" * 800 + f"l{i + 1}", f"l{i}")
		with open(".sbx.yaml", "w") as file:
		    rules = "".join(f', "${{project}}/l0/{i}"' for i in range(2400))
		    file.write("version: 1\nprofiles: {default: {deny: {fs:read: ['${project}/l0'" + rules + "]}}}\n")
	EOF
}

@test "attack_w_1: links of a project that are long to follow hold up neither a revocation nor a question" {
	denying "fs:read: ['~/la']"
	hostile_project
	sbx grant fs:read "$HOME/data/b/x.pem"
	timeout 5 sbx why fs:read "$HOME/data/b/x.pem"
	timeout 5 sbx revoke --all
	refused fs:read "$HOME/data/a/x.pem" # the user's own denial is followed all the same
	rm -r a l[0-9]*
}
