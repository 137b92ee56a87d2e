#!/usr/bin/env bats
# R4: names that match a pattern and that are made only while the sandbox runs: masks of the profile base
# (`.git/modules/**/hooks`), and what a user's rules deny or ask about.
# shellcheck disable=SC2016 # expanded in the sandbox

load helper

setup_file() {
	home_make
	default_policy "without-agent: deny" "    deny:
      fs:write: ['\${project}/lit/denied', '\${project}/**/*.service', '**/*.desktop', '\${project}/in/*/key']
      fs:read: ['**/.env', '\${project}/in/*/secret']
    ask: {fs:write: ['\${project}/lit/asked', '\${project}/**/*.sh', '**/tmpl']}
    allow: {fs:write: ['\${project}/build/c.sh', '\${project}/tmpl/*.ok']}"
	sbx grants >/dev/null # starts the broker
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
	find . -mindepth 1 -delete
	git init -q .
	mkdir sub build in
	echo '#!/bin/sh' >program
}

# denied NAME: the history has the denial of that name.
denied() {
	sbx history --verdict deny --json | jq -se --arg target "$PWD/$1" 'flatten | any(.target == $target)' >/dev/null ||
		{ echo "no denial on record: $1" && return 1; }
}

# named_new NAME: at the end, once.
named_new() {
	local line
	line=$(grep 'would have been protected' <<<"$output")
	[ "$(grep -oE "$PWD/$1(,| and| is new| are new)" <<<"$line" | wc -l)" = 1 ]
}

@test "attack_r_04: git's files of a submodule, and what else base masks by a pattern, are not made unasked" {
	run sbx run -- sh -c 'mkdir -p .git/modules/a .git/modules/deep/b .git/worktrees/w
		mkdir .git/modules/a/hooks; mkdir -p .git/modules/deep/b/hooks
		echo "[core]" >.git/modules/a/config
		echo "[core]" >config.new; mv config.new .git/modules/deep/b/config
		echo "gitdir: x" >.git/worktrees/w/gitdir; ln -s ../../.. .git/worktrees/w/commondir
		echo "{}" >foo.code-workspace; echo made >.git/modules/a/HEAD'
	echo "$output"
	for name in .git/modules/a/hooks .git/modules/deep/b/hooks .git/modules/a/config .git/modules/deep/b/config \
		.git/worktrees/w/gitdir .git/worktrees/w/commondir foo.code-workspace; do
		[ ! -e "$name" ] && [ ! -L "$name" ]
		denied "$name"
		contains "$output" "sbx: blocked fs:write $PWD/$name"
	done
	[ "$(cat .git/modules/a/HEAD)" = made ]
}

@test "attack_r_04: a name that a rule denies or asks about by a pattern can't be made, in any way" {
	run sbx run -- sh -c 'echo x >a.service; mkdir b.service; ln -s sub c.service; ln program d.service
		echo x >e; mv e e.service; mkfifo f.service; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"g.service\")"; echo x >h.desktop; echo x >sub/i.sh
		echo x >sub/.env; mkdir -p in/j; echo x >in/j/key
		mkdir k; cd k; echo x >l.service; ln -s . m; echo x >m/n.service; cd ../sub; echo x >"$PWD/../k/o.service"
		python3 -c "import os; os.rename(\"../program\", \"p.sh\")"; true'
	echo "$output"
	run find . -name '*.service' -o -name '*.desktop' -o -name '*.sh' -o -name .env -o -name key
	[ -z "$output" ]
	for name in a.service b.service c.service d.service e.service f.service g.service h.desktop sub/i.sh sub/.env in/j/key \
		k/l.service k/n.service k/o.service sub/p.sh; do denied "$name"; done
}

@test "attack_r_04: what is there at the start stays as it is, and what the host makes meanwhile isn't written" {
	echo old >sub/old.service
	background tool sbx run -- sh -c 'touch up; until [ -e go ]; do read -t 0.05 _ </dev/zero; done
		for file in sub/old.service sub/new.service sub/new.sh; do echo evil >>"$file"; python3 -c "open(\"$file\", \"r+\").write(\"evil\")"; done; true'
	wait_for 60 test -e up
	echo host >sub/new.service
	echo host >sub/new.sh
	touch go
	finished tool
	echo "$output"
	[ "$(cat sub/*)" = $'host\nhost\nold' ]
	denied sub/new.service
	denied sub/new.sh
}

@test "attack_r_04: a path that the host makes meanwhile isn't written as soon as it is there, and is masked" {
	local names=(.envrc .vscode/tasks.json .git/hooks/pre-commit lit/asked lit/denied)
	rm -r .git/hooks
	cp "$TESTS/at_once.py" .
	background tool sbx run -- sh -c 'python3 at_once.py "$@"
		for name in .envrc .vscode .git/hooks lit/asked lit/denied; do
			until grep -qF "$PWD/$name " /proc/self/mountinfo; do sleep 0.02; done
		done
		for name; do mv "$name" moved; rm -f "$name"; chmod 777 "$name"; echo evil >>"$name"; done
		echo all were masked' sh "${names[@]}"
	wait_for 60 test -e up
	for name in "${names[@]}"; do
		mkdir -p "$(dirname "$name")"
		echo host >"$name"
	done
	finished tool
	echo "$output"
	contains "$output" "all were masked"
	# told at once, before the tool's last line; and recorded, once
	contains "${output%%all were masked*}" "$PWD/.envrc has been made, and nobody was asked: if it wasn't you, look at it"
	[ "$(sbx history --json | jq -s --arg path "$PWD/.envrc" 'map(select(.kind == "finding" and .target == $path)) | length')" = 1 ]
	for name in "${names[@]}"; do
		[ "$(<"$name")" = host ]
		[ "$(stat -c %a "$name")" != 777 ]
		# or the mask was there before the tool's first try, which the kernel then refuses
		[[ $output == *"$name Read-only file system"* ]] || denied "$name"
	done
	named_new .envrc
}

@test "attack_r_04: what was there at the start and is removed by the host is not made unasked, at once or later" {
	local names=(.envrc a.service .env sub/a.sh tmpl x.code-workspace .git/config .git/hooks in/x/key)
	mkdir in/x
	for name in "${names[@]}"; do [ -e "$name" ] || echo host >"$name"; done
	cp "$TESTS/torn.py" .
	background tool sbx run -- python3 torn.py "${names[@]}"
	wait_for 60 test -e up
	rm -r "${names[@]:0:8}" in/x
	wait_for 60 test -e tried
	touch again
	finished tool
	echo "$output"
	contains "$output" finished
	# where the new plan comes first, a finished folder brings what only a pattern denies (docs/threat-model.md, Known)
	brought=$(grep -xE 'made in/x/key (exchanged|brought)' <<<"$output") || true
	[ "$(grep '^made' <<<"$output")" = "$brought" ]
	for name in "${names[@]}"; do
		[[ $brought && $name == in/x/key ]] || { [ ! -e "$name" ] && [ ! -L "$name" ]; }
		denied "$name"
	done
}

@test "attack_r_04: what the host removes and makes anew is masked again, and what is allowed meanwhile is made" {
	local names=(.envrc a.service tmpl .git/config in/x/key)
	mkdir in/x
	for name in "${names[@]}" sub/a.sh; do [ -e "$name" ] || echo host >"$name"; done
	answers person 'allow:once=fs:write=*/sub/a.sh'
	background tool sbx run -- sh -c 'touch up; while [ -e sub/a.sh ]; do :; done; echo mine >sub/a.sh; touch wrote
		until [ -e go ]; do sleep 0.02; done
		for name; do until grep -qF "$PWD/$name " /proc/self/mountinfo; do sleep 0.02; done; done
		for name; do echo evil >>"$name"; rm "$name"; done; echo finished' sh "${names[@]}"
	wait_for 60 test -e up
	for round in 1 2 3; do
		rm -r .envrc a.service tmpl .git/config in
		mkdir -p in/x
		for name in "${names[@]}"; do echo "host $round" >"$name"; done
	done
	rm sub/a.sh
	wait_for 60 test -e wrote
	answers_end person
	touch go
	finished tool
	echo "$output"
	contains "$output" finished
	lacks "$output" "ended"
	[ "$(<sub/a.sh)" = mine ]
	for name in "${names[@]}"; do [ "$(<"$name")" = "host 3" ]; done
}

@test "attack_r_04: what was asked about and allowed is made, once or for the session; a closer rule's word counts" {
	answers person 'allow:once=fs:write=*'
	run sbx run -- sh -c 'echo one >sub/a.sh && echo two >b && mv b sub/b.sh && echo three >build/c.sh && mkdir tmpl && echo four >tmpl/a.ok &&  cat sub/a.sh'
	answers_end person
	echo "$output"
	[ "$status" = 0 ]
	[ "$(cat sub/a.sh build/c.sh sub/b.sh)" = $'one\nthree\ntwo' ]
	[ "$(<tmpl/a.ok)" = four ]
	[ "$(asked person)" = 3 ]
	lacks "$output" 'would have been protected'
	lacks "$output" 'nobody was asked'
	lacks "$output" build
	lacks "$output" a.ok
	sbx grant fs:write "$PWD/sub/f.sh" --profile default
	run sbx run -- sh -c 'echo one >sub/f.sh; echo two >>sub/f.sh; mv sub/f.sh x; mv x sub/f.sh'
	echo "$output"
	[ "$(cat sub/f.sh)" = $'one\ntwo' ]
	[ -z "$output" ]
	sbx revoke --all
}

@test "attack_r_04: what comes in a folder that is moved is named at the end" {
	run sbx run -- sh -c 'mkdir -p t/x u; echo x >t/x/key; mv t/x in/x; echo x >u/plain; mv u in/u'
	echo "$output"
	if [ -e in/x/key ]; then named_new in/x/key; fi
	lacks "$output" "$PWD/in/u"
	mkdir -p in/known
	echo mine >in/known/key
	run sbx run -- true
	[ -z "$output" ]
}

@test "attack_r_04: what comes in a folder that is moved is named at the end, too, where reading it is denied" {
	run sbx run -- sh -c 'mkdir t; echo x >t/secret; mv t in/t; for i in $(seq 600); do cat in/t/secret >/dev/null 2>&1 || exit 0; sleep 0.05; done; exit 1'
	echo "$output"
	[ "$status" = 0 ]
	named_new in/t/secret
}

@test "attack_r_04: ordinary names are made without a question, ten thousand of them" {
	sbx history --json >before 2>/dev/null || true
	run sbx run -- python3 -c '
import os
for i in range(10000):
    with open(f"sub/file{i}.c", "w") as file: file.write("x")
os.mkdir("sub/d"); os.rename("sub/d", "sub/e"); os.rename("sub/file0.c", "sub/e/file.c")'
	echo "$output"
	[ "$status" = 0 ]
	[ -z "$output" ]
	[ "$(find sub -type f | wc -l)" = 10000 ]
	[ "$(sbx history --session "$(sbx history --json | jq -s 'flatten | map(.session // 0) | max')" --json | jq -s 'flatten | map(select(.kind == "decision")) | length')" = 0 ]
}
