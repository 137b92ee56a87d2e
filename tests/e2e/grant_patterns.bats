#!/usr/bin/env bats
# A grant by a pattern with wildcards, of what no plan can list: it gives each file that it names, also one that comes to be
# later, until it ends; what was opened by it is named then.

load helper

setup_file() {
	home_make
	default_policy "without-agent: deny" "    ask: {fs:read: ['**/*.key'], fs:write: ['**/*.svc']}"
	sbx grants >/dev/null # starts the broker
}

setup() {
	cd "$HOME/project" || return
	data=$HOME/data$BATS_TEST_NUMBER
	mkdir -p "$data/a/b" "$data/c"
	for file in 1.csv a/2.csv a/b/3.csv c/4.csv no.txt; do echo "$file" >"$data/$file"; done
	rm -f control
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	sbx revoke --all >/dev/null 2>&1 || true
}

# A sandbox that does what `inside` says, line by line.
# shellcheck disable=SC2016 # expanded in there
begin() {
	mkfifo control
	background tool sbx run --profile default -- bash -c 'exec 8<>control; while read -ru 8 line; do
		{ eval "$line"; } >reply.new 2>&1; mv reply.new reply; done'
}

inside() {
	rm -f reply
	echo "$1" >control
	wait_for 30 test -e reply
	reply=$(<reply)
}

reads() {
	inside "cat $1"
	[ "$reply" = "$2" ] || { echo "$1: $reply" && return 1; }
}

refused() {
	inside "cat $1"
	contains "$reply" "Permission denied"
}

# by PATTERN FILE…: a grant gives these, and no others.
by() {
	local file
	sbx grant fs:read "$data/$1" --profile default
	for file in 1.csv a/2.csv a/b/3.csv c/4.csv no.txt; do
		if [[ " ${*:2} " == *" $file "* ]]; then
			[[ $(sbx check fs:read "$data/$file") == allow* ]]
			reads "$data/$file" "$file"
			reads "$data/$file" "$file"
		else
			refused "$data/$file"
		fi
	done
	sbx revoke --all
	for file in "${@:2}"; do refused "$data/$file"; done
}

@test "a grant by a pattern gives what it names, wherever its wildcards are, and nothing when it has ended" {
	needs_doorbell
	begin
	by '*.csv' 1.csv
	by '*/*.csv' a/2.csv c/4.csv
	by '*/b/*.csv' a/b/3.csv
	by '**/*.csv' 1.csv a/2.csv a/b/3.csv c/4.csv
	by '[a]/?.csv' a/2.csv
	sbx grant fs:read "$data/*" --profile default
	inside "python3 -c 'import os; print(*sorted(os.listdir(\"$data/a\")))'"
	[ "$reply" = '2.csv b' ]
	inside "ls $data"
	contains "$reply" "Permission denied"
}

@test "a grant by a pattern gives what comes to be later, and what is there anew" {
	needs_doorbell
	begin
	sbx grant fs:read "$data/**/*.csv" --profile default
	reads "$data/1.csv" 1.csv
	echo new >"$data/c/new.csv"
	reads "$data/c/new.csv" new
	echo second >"$data/next"
	mv "$data/next" "$data/1.csv"
	replaced() { inside "cat $data/1.csv" && [ "$reply" = second ]; }
	wait_for 20 replaced
	refused "$data/no.txt"
}

@test "what was opened by a grant of a pattern is named when it is revoked or runs out, and ended with --kill" {
	needs_doorbell
	begin
	sbx grant fs:read "$data/**/*.csv" --profile default
	inside "exec 5<$data/a/2.csv"
	run sbx revoke --all
	echo "$output"
	contains "$output" "still held open"
	contains "$output" "$data/a/2.csv"
	refused "$data/a/2.csv"
	inside "exec 5<&-"

	sbx grant fs:write "$data/*.csv" --profile default --ttl 1s
	inside "exec 5>>$data/1.csv"
	run_out() { grep -q "still open in .*$data/1.csv" "$HOME/run/tool.out"; }
	wait_for 20 run_out
	inside "echo late >>$data/1.csv"
	[ "$(<"$data/1.csv")" = 1.csv ]
	inside "exec 5<&-"

	sbx grant fs:read "$data/*/*.csv" --profile default
	inside "exec 5<$data/c/4.csv"
	run sbx revoke --all --kill
	echo "$output"
	contains "$output" "ended in session"
	contains "$output" "$data/c/4.csv"
	finished tool
}

@test "a grant by a pattern that a rule has, too, reaches a running sandbox, and so does its end" {
	needs_doorbell
	mkdir -p sub
	echo old >sub/a.svc
	echo secret >sub/a.key
	begin
	inside 'echo no >>sub/a.svc'
	contains "$reply" "Read-only"
	refused sub/a.key
	sbx grant fs:write "$PWD/**/*.svc" --profile default
	sbx grant fs:read "$PWD/**/*.key" --profile default
	inside 'echo yes >>sub/a.svc; echo yes >sub/b.svc; cat sub/*.svc sub/a.key'
	[ "$reply" = $'old\nyes\nyes\nsecret' ]
	sbx revoke --all
	inside 'echo no >>sub/a.svc; echo no >>sub/b.svc; cat sub/a.key'
	echo "$reply"
	[ "$(cat sub/*.svc)" = $'old\nyes\nyes' ]
	refused sub/a.key
}

@test "a grant for one use by a pattern is used up by one call, also of what is there in the project" {
	needs_doorbell
	mkdir -p sub
	echo secret >sub/once.key
	sbx grant --once fs:read "$PWD/sub/*.key" --profile default
	run sbx run --profile default -- sh -c 'cat sub/once.key; sleep 2.5; cat sub/once.key' # LIMIT_ONCE_MS
	echo "$output"
	[ "${lines[0]}" = secret ]
	contains "$output" "Permission denied"
	contains "$(sbx grants)" "No grants"
}

@test "a grant by a pattern behind a link is one for where the link leads; a rule says what to write" {
	needs_doorbell
	ln -s "$data" "$HOME/link$BATS_TEST_NUMBER"
	run sbx grant fs:read "$HOME/link$BATS_TEST_NUMBER/*.csv" --profile default
	contains "$output" "may read $data/*.csv"
	begin
	# without the curtain a link of the host's that nothing is granted by isn't there
	[ "${SBX_TEST_DOORBELL:-auto}" != auto ] || reads "$HOME/link$BATS_TEST_NUMBER/1.csv" 1.csv
	reads "$data/1.csv" 1.csv
	run sbx revoke --match "fs:read=$HOME/link$BATS_TEST_NUMBER/*.csv"
	contains "$output" "Revoked grant"
	refused "$data/1.csv"
	run sbx run --profile default --allow "fs:read=$HOME/link$BATS_TEST_NUMBER/*.csv" -- cat "$data/1.csv"
	[ "$output" = 1.csv ]
	cat >rule.yaml <<END
version: 1
profiles: {default: {allow: {fs:read: ['$HOME/link$BATS_TEST_NUMBER/*.csv']}}}
END
	run sbx run --profile default --policy rule.yaml -- true
	contains "$output" "write $data/*.csv"
}

# Next.js calls its files so.
@test "a file whose name is the text of a granted pattern is asked about, and both commands say how it is named" {
	needs_doorbell
	echo page >"$data/[id].tsx"
	echo d >"$data/d.tsx"
	run sbx grant fs:read "$data/[id].tsx"
	[ "$status" = 0 ]
	contains "$output" "Note: that does not cover $data/[id].tsx, since \`*\`, \`?\` and \`[\` are wildcards."
	contains "$output" "To name just that: '$data/\\[id].tsx'"
	run sbx run -- cat "$data/d.tsx"
	[ "$output" = d ]
	run sbx run -- cat "$data/[id].tsx"
	[ "$status" != 0 ]
	contains "$output" "Permission denied"
	contains "$output" "sbx: blocked fs:read $data/[id].tsx"
	sbx history --verdict deny --json | jq -se --arg target "$data/[id].tsx" 'flatten | any(.target == $target)' >/dev/null

	sbx grant fs:read "$data/\\[id].tsx" >said
	run ! grep Note said
	run sbx run -- cat "$data/[id].tsx"
	[ "$output" = page ]
	run sbx revoke --match fs:read "$data/[id].tsx"
	echo "$output"
	[ "$status" = 0 ]
	run sbx check fs:read "$data/[id].tsx"
	[ "$status" != 0 ]
	run sbx run -- cat "$data/[id].tsx"
	[ "$status" != 0 ]
}

@test "a denial by a pattern says that the file of just that name is not denied" {
	echo page >"$data/[id].tsx"
	cd "$data"
	run sbx grant --deny fs:read '[id].tsx'
	[ "$status" = 0 ]
	contains "$output" "Note: that does not cover $data/[id].tsx"
	run sbx grant --deny fs:read '*.tsx'
	[[ $output != *Note* ]]
	sbx revoke --match fs:read '*.tsx'
}
