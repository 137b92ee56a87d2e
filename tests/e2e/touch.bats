#!/usr/bin/env bats
# Every kind of call that touches a file (touch.c), and real programs, on what was not granted when they began: the very call
# ends on the host's own object, or is refused and changes nothing. CMakeLists.txt runs this file with each doorbell.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	asking_policy
	cp "$SBX_TOUCH" "$HOME/project/touch"
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
	top=$HOME/t$BATS_TEST_NUMBER
	mkdir "$top"
}

teardown() {
	policy_restore
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
	if [ -e "$HOME/run/agent.pid" ]; then answers_end agent; fi
	chmod -R u+rwx "$top" 2>/dev/null && rm -rf "$top"
}

# calls CLASS…: the names of their calls.
calls() {
	local class
	for class; do ./touch --list "$class"; done
}

# made CLASS…: their folders, and what is on the host before anything happened.
made() {
	names=$(calls "$@")
	# shellcheck disable=SC2086 # words
	./touch --make "$top" $names
	before=$(picture)
}

# All that the host has there, but for times of access.
picture() {
	(cd "$top" && find . -printf '%p %M %s %T@ %l\n' | sort && find . -type f -print0 | sort -z | xargs -0 sha256sum)
}

# tried: each call in a process of its own, for one that goes through many folders is asked about what holds them all. Eight of them
# in a sandbox: each brings a folder that somebody works in (${root}), of which there are 24 at most.
tried() {
	local group=() name all=''
	while read -r name; do
		group+=("$name")
		[ "${#group[@]}" -lt 8 ] || { tried_together "${group[@]}" && group=() || return 1; }
	done <<<"$names"
	[ "${#group[@]}" = 0 ] || tried_together "${group[@]}" || return 1
	output=$(grep . <<<"$all")
	echo "$output"
	[ "$(grep -cE '^[a-z0-9-]+ [^ ]+' <<<"$output")" -ge "$(wc -l <<<"$names")" ]
}

tried_together() {
	run timeout 120 sbx run -- sh -c 'for name; do ./touch "$0" "$name"; done' "$top" "$@"
	all+=$(grep -v '^sbx: ' <<<"$output")$'\n' # without the last words
	[ "$status" = 0 ] || { echo "$output" && return 1; }
}

# ended WORD…: each call ended with one of them.
ended() {
	local line bad=0
	while read -r line; do
		[[ " $* " == *" ${line#* } "* ]] || { echo "NOT $*: $line" && bad=1; }
	done <<<"$output"
	return $bad
}

# but REGEX: without the lines of these calls.
but() {
	output=$(grep -v -E "^($1)( |\$)" <<<"$output") || true
}

# Where the curtain can't be, traps take opens, programs and changes; a look at what is hidden sees nothing.
look_or_absent() {
	if [ "${SBX_TEST_DOORBELL:-auto}" = auto ]; then ended worked; else ended worked ENOENT; fi
}

# by_traps_alone REGEX: where there is no curtain, the kernel's own look for an interpreter isn't held.
by_traps_alone() {
	[ "${SBX_TEST_DOORBELL:-auto}" = auto ] || but "($1) ENOENT"
}

# changed HOW: each call that changes something did so on the host, or none did.
changed() {
	# shellcheck disable=SC2086 # words
	run ./touch --done "$top" $names
	echo "$output"
	! grep -v " $1\$" <<<"$output" || return 1
}

# bats test_tags=contract
@test "granted by the folder: looks see the real object" {
	made look
	answers agent "allow:session:below:$top=fs:*=$top/*"
	tried
	look_or_absent
}

# bats test_tags=contract
@test "granted by the folder: opens and executions go on" {
	made open run
	answers agent "allow:session:below:$top=fs:*=$top/*"
	tried
	by_traps_alone execve-interpreter
	ended worked
}

# bats test_tags=contract
@test "granted by the folder: names are made, changed and removed on the host" {
	made names change
	answers agent "allow:session:below:$top=fs:*=$top/*"
	tried
	ended worked
	changed 'done'
}

@test "granted exactly as asked: looks, opens and executions" {
	made look open run
	answers agent "allow:session=fs:*=$top/*"
	tried
	look_or_absent
}

@test "granted exactly as asked: names and changes" {
	made names change
	answers agent "allow:session=fs:*=$top/*"
	tried
	but 'rename-across EXDEV' # two grants are two mounts, as mv knows
	names=$(grep -v rename-across <<<"$names")
	ended worked
	changed 'done'
}

# bats test_tags=contract
@test "granted for this once: opens and executions" {
	made open run
	names=$(grep -v ^opendir <<<"$names") # a folder is allowed for no single call (attack_once)
	answers agent "allow:once=fs:*=$top/*"
	tried
	but '/bin/sh: 0: cannot open' # a script is read a second time, by its interpreter
	by_traps_alone 'execve-interpreter|execve-script'
	ended worked
	none grants
}

@test "granted to read before: what changes something is held, allowed, and done on the host" {
	made names change
	sbx grant fs:read "$top" --profile default
	answers agent "allow:session:below:$top=fs:*=$top/*"
	tried
	ended worked
	changed 'done'
	[ "$(jq -r .permission "$HOME/run/agent.asked" | sort -u)" = fs:write ]
}

@test "granted to read before, the write refused: EACCES, and the host is as it was" {
	made names change
	sbx grant fs:read "$top" --profile default
	answers agent "deny=fs:write=$top/*"
	tried
	but rename-from-tmp # another file system comes first
	ended EACCES
	[ "$(picture)" = "$before" ]
}

# bats test_tags=contract
@test "refused: every call ends in EACCES, and the host is as it was" {
	made look open run names change
	answers agent "deny=fs:*=$top/*"
	tried
	but 'rename-from-tmp|open-missing|lstat-link|readlink|realpath' # another file system; not there; links are told as they are
	if [ "${SBX_TEST_DOORBELL:-auto}" = auto ]; then ended EACCES; else ended EACCES ENOENT; fi
	[ "$(picture)" = "$before" ]
}

@test "without an ask rule: every call ends in ENOENT, nothing is asked, and the host is as it was" {
	asking_policy 60s '  bare:
    extends: [base]
    allow: {fs:write: ["${project}"]}'
	made look open run names change
	answers agent "allow=*=*"
	# shellcheck disable=SC2086 # words
	run timeout 300 sbx run --profile bare -- ./touch "$top" $names
	echo "$output"
	but 'open-missing|rename-from-tmp'
	ended ENOENT
	[ "$(asked agent)" = 0 ]
	[ "$(picture)" = "$before" ]
	asking_policy
}

@test "attack_w_08: opening to write what isn't there, without making it, asks nobody; what is masked looks the same as ever" {
	mkdir -p "$HOME/half/.git"
	: >"$HOME/half/there"
	asking_policy 60s "    allow: {fs:read: [~/half]}
    ask: {fs:write: [~/half]}"
	answers agent "deny=*=*"
	run sbx run -- python3 -c '
import errno, os, sys
for name in sys.argv[2:]:
    try:
        os.open(sys.argv[1] + "/" + name, os.O_WRONLY)
        print(name, "opened")
    except OSError as error:
        print(name, errno.errorcode[error.errno])' "$HOME/half" missing away/missing
	echo "$output"
	[ "$output" = $'missing ENOENT\naway/missing ENOENT' ]
	[ "$(asked agent)" = 0 ]
	run sbx run -- python3 -c 'import os, sys; os.open(sys.argv[1], os.O_WRONLY)' "$HOME/half/there"
	contains "$output" "Permission denied"
	[ "$(asked agent)" = 1 ]
	answers_end agent
	asking_policy
}

@test "descriptors and watches of what is hidden: the real object, or a clear error" {
	made odd
	answers agent "allow:session:below:$top=fs:*=$top/*"
	tried
	ended worked EACCES EROFS ESTALE ENOENT "wrong: a descriptor of the curtain" "wrong: no event"
	# at the second time there is nothing in the way
	# shellcheck disable=SC2086 # words
	run timeout 300 sbx run --allow fs:write="$top" -- ./touch "$top" $names
	echo "$output"
	ended worked
}

@test "through a folder that is open above: asked about as a tree, goes on from that descriptor" {
	only_curtain "what hangs in a real folder are its nodes"
	made walk
	answers agent "allow:session=fs:*=$HOME*"
	tried
	ended worked
}

# What real programs do, in W, which has a granted and an asked part. Each line is run outside in a copy first, then inside;
# output and files must be the same.
programs=(
	'cd $W/asked/tree && git init -q . && git add . && git commit -qm one && git log --format=%s && git status --short && cat .git/HEAD'
	'cd $W/asked/repo && git status --short && git commit -qam two && git log --format=%s && git diff HEAD~1 --stat && git branch -a'
	'cd $W/asked/app && npm install --offline --no-audit --no-fund --no-update-notifier --loglevel=error 2>&1 | sed "s/in .*//"; ls node_modules; node -p "require(\"dep\")"'
	'cd $W/granted && PYTHONPATH=$W/asked/python python3 -c "import package.module as m; print(m.value)"'
	'cd $W/asked && tar cf - tree | tar tvf - | awk "{ print \$1, \$3, \$6 }"'
	'cd $W/asked && tar cf out.tar tree && mkdir un && tar xf out.tar -C un && find un | sort && rm out.tar'
	'cp -r $W/asked/tree $W/granted/copy && find $W/granted/copy | sort'
	'cp -r $W/granted/tree $W/asked/copy && find $W/asked/copy | sort'
	'cp -a $W/asked/tree $W/asked/tree2 && diff -r $W/asked/tree $W/asked/tree2'
	'sed -i s/one/ONE/ $W/asked/tree/one && cat $W/asked/tree/one'
	'vim -u NONE -N -n -es -c "%s/one/two/" -c wq $W/asked/tree/one; cat $W/asked/tree/one'
	'find $W/asked -type f -not -path "*/.git/*" | sort'
	'find $W -name one -exec cat {} + | sort'
	'rg -uu --sort path --no-heading one $W/asked/tree'
	'cd $W/asked/make && make -s && ./hello && make -s clean && ls'
	'cat $W/asked/tree/one >$W/asked/new; mv $W/asked/new $W/granted/moved; cat $W/granted/moved; ls $W/asked $W/granted'
	'mkdir -p $W/asked/x/y/z && touch $W/asked/x/y/z/f && chmod 600 $W/asked/x/y/z/f && ls -lR $W/asked/x | grep f$ | cut -c1-10 && rm -r $W/asked/x'
	'ls -la $W/asked/tree | awk "{ print \$1, \$2, \$5, \$9, \$10, \$11 }"; readlink -f $W/asked/tree/link; test -x $W/asked/make/run && $W/asked/make/run'
	'bash -c "cd $W/asked/tree && pwd && source ./one.sh && echo \$sourced"'
	'du -a --apparent-size $W/asked/tree | sort; wc -c <$W/asked/tree/one; head -n 1 $W/asked/tree/sub/two; grep -rl one $W/asked/tree | sort'
	'node -e "const f=require(\"fs\"); f.writeFileSync(process.argv[1]+\"/asked/n\",\"x\"); console.log(f.readdirSync(process.argv[1]+\"/asked\").length)" $W'
	'perl -pi -e s/one/three/ $W/asked/tree/one; cat $W/asked/tree/one; patch -s $W/asked/tree/one <$W/granted/patch; cat $W/asked/tree/one'
)

# A home's worth of things, granted and asked.
furnish() {
	local part
	for part in granted asked; do
		mkdir -p "$1/$part/tree/sub"
		echo "one in $part" >"$1/$part/tree/one"
		echo two >"$1/$part/tree/sub/two"
		ln -s sub/two "$1/$part/tree/link"
	done
	echo 'sourced=yes' >"$1/asked/tree/one.sh"
	mkdir -p "$1/asked/python/package" "$1/asked/make" "$1/asked/app/dep"
	echo 'value = 42' >"$1/asked/python/package/module.py"
	: >"$1/asked/python/package/__init__.py"
	printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' >"$1/asked/make/hello.c"
	printf 'hello: hello.o\n\tcc -o $@ $<\nclean:\n\trm -f hello hello.o\n' >"$1/asked/make/Makefile"
	printf '#!/bin/sh\necho ran\n' >"$1/asked/make/run"
	chmod +x "$1/asked/make/run"
	printf -- '--- one\n+++ one\n@@ -1 +1 @@\n-three in asked\n+patched\n' >"$1/granted/patch"
	echo '{"name":"app","version":"1.0.0","dependencies":{"dep":"file:dep"}}' >"$1/asked/app/package.json"
	echo '{"name":"dep","version":"1.0.0","main":"index.js"}' >"$1/asked/app/dep/package.json"
	echo 'module.exports = "from dep"' >"$1/asked/app/dep/index.js"
	git init -q "$1/asked/repo"
	echo one >"$1/asked/repo/file"
	git -C "$1/asked/repo" add file
	git -C "$1/asked/repo" commit -qm one
	echo two >>"$1/asked/repo/file"
}

files_of() { # but for what holds times or numbers of files, and the objects of repositories
	(cd "$1" && find . -not -path '*/.git/*' -not -name .package-lock.json -printf '%p %M %l\n' | sort)
}

# same LINE: outside and inside.
same() {
	rm -rf "$top/outside" "$top/inside"
	mkdir -p "$top/outside/W" "$top/inside/W"
	furnish "$top/outside/W"
	furnish "$top/inside/W"
	expected=$(W=$top/outside/W bash -c "$1" 2>&1 </dev/null) || true
	sbx grant fs:write "$top/inside/W/granted" --profile default --ttl 5m >/dev/null
	# Traps hold no look at what is hidden: with them the asked part can be read, and what is held is each change.
	[ "${SBX_TEST_DOORBELL:-auto}" = auto ] || sbx grant fs:read "$top/inside/W/asked" --profile default --ttl 5m >/dev/null
	result=$(timeout 300 sbx run --profile default --env "W=$top/inside/W" -- bash -c "$1" 2>&1 </dev/null | grep -v -e "^sbx: warning: a sandboxed tool created .*/\.git: check it" -e "^sbx: kept in ") || true
	[ "${result//$top\/inside/}" = "${expected//$top\/outside/}" ] || {
		printf 'NOT AS OUTSIDE: %s\n--- outside:\n%s\n--- inside:\n%s\n' "$1" "$expected" "$result"
		return 1
	}
	[ "$(files_of "$top/inside")" = "$(files_of "$top/outside")" ] || {
		printf 'OTHER FILES THAN OUTSIDE: %s\n' "$1"
		diff <(files_of "$top/outside") <(files_of "$top/inside")
		return 1
	}
}

all_the_same() { # all_the_same FIRST COUNT: of the programs
	local line bad=0
	for line in "${programs[@]:$1:$2}"; do
		same "$line" || bad=1
	done
	return $bad
}

# bats file_tags=part2

# bats test_tags=ci
@test "real programs in a half-granted home behave as outside: git, npm, python, tar" {
	answers agent "allow:session:below:$top/inside/W=fs:*=$top/*" "allow:session=fs:*=$HOME/*"
	all_the_same 0 6
}

@test "real programs in a half-granted home behave as outside: cp, sed, vim, find, rg, make" {
	answers agent "allow:session:below:$top/inside/W=fs:*=$top/*" "allow:session=fs:*=$HOME/*"
	all_the_same 6 9
}

@test "real programs in a half-granted home behave as outside: the shell's own" {
	answers agent "allow:session:below:$top/inside/W=fs:*=$top/*" "allow:session=fs:*=$HOME/*"
	all_the_same 15 99
}

@test "real programs, each file and folder granted exactly as it is asked for" {
	only_curtain "programs look before they open"
	answers agent "allow:session=fs:*=$HOME/*"
	same "${programs[3]}"
	same "${programs[6]}"
	same "${programs[9]}"
	same "${programs[10]}"
	same "${programs[15]}"
}
