#!/usr/bin/env bats
# What a rule hides is hidden also when it is made only while the sandbox runs: by its path, by a pattern, and by a denial
# that is given to a sandbox that runs.

load helper

setup_file() {
	home_make
	mkdir "$HOME/p" "$HOME/outside"
	asking_policy 60s "    allow: {fs:read: [~/p], fs:write: [~/w]}
    deny: {fs:read: [~/p/secret.txt, ~/p/deep/er/secret, ~/w/named, '**/.env', ~/p/*.key, '~/p/**/vault', '~/w/**/.env']}
    ask: {fs:read: ['~/p/**/*.asked']}"
	sbx grants >/dev/null # starts the broker
}

setup() {
	cd "$HOME/project" || return
	rm -rf "$HOME/p" "$HOME/w" "$HOME/outside" up end read hidden go left
	mkdir -p "$HOME/p/there" "$HOME/w" "$HOME/outside"
	cp "$TESTS/arriving.py" .
}

teardown() {
	touch "$HOME/project/end" "$HOME/project/go"
	sbx kill --all >/dev/null 2>&1 || true
}

# is_hidden PATH: the one who looks inside says that it couldn't open it although it is there.
is_hidden() {
	grep -qxF "$1" hidden 2>/dev/null
}

# arrives_hidden PATH…: they are there on the host, and hidden inside within a second. What is written into them then is
# never read.
arrives_hidden() {
	local path start=${EPOCHREALTIME/./}
	for path; do wait_for 20 is_hidden "$path" || { echo "not hidden: $path" && return 1; }; done
	echo "hidden after $(((${EPOCHREALTIME/./} - start) / 1000)) ms: $*"
	for path; do
		if [ -d "$path" ]; then touch "$path/what came later"; else echo "what came later" >>"$path"; fi
	done
}

nothing_was_read() {
	[ ! -e read ] || { cat read && return 1; }
}

@test "attack_w_4: what is denied by its path or by a pattern and made by the host during the run is hidden, and not read" {
	local p=$HOME/p
	background reader sbx run --profile default -- python3 arriving.py "$p/secret.txt" "$p/.env" "$p/a.key" \
		"$p/new/sub/.env" "$p/moved/in/.env" "$p/there/.env" "$p/deep/er/secret" "$p/there/vault"
	wait_for 60 test -e up
	: >"$p/secret.txt"
	: >"$p/.env"
	arrives_hidden "$p/secret.txt" "$p/.env"
	mkdir -p "$HOME/outside/in" "$p/new/sub" "$p/deep/er"
	: >"$HOME/outside/in/.env"
	: >"$p/new/sub/.env"
	: >"$p/deep/er/secret"
	mv "$HOME/outside" "$p/moved"
	arrives_hidden "$p/new/sub/.env" "$p/moved/in/.env" "$p/deep/er/secret"
	: >"$HOME/run/key"
	mv "$HOME/run/key" "$p/a.key" # as an editor saves
	: >"$p/there/.env"
	mkdir "$p/there/vault"
	arrives_hidden "$p/a.key" "$p/there/.env" "$p/there/vault"
	touch end
	finished reader
	echo "$output"
	[ "$status" = 0 ]
	nothing_was_read
	# once more: what went and came again, in the same place
	rm -r end hidden up "$p/secret.txt" "$p/new"
	background reader sbx run --profile default -- python3 arriving.py "$p/secret.txt" "$p/new/sub/.env"
	wait_for 60 test -e up
	mkdir -p "$p/new/sub"
	: >"$p/new/sub/.env"
	arrives_hidden "$p/new/sub/.env"
	: >"$p/new/sub/.env" # while it is removed, the kernel has taken the mask already
	rm -r "$p/new"
	mkdir -p "$p/new/sub"
	rm hidden
	: >"$p/new/sub/.env"
	: >"$p/secret.txt"
	arrives_hidden "$p/new/sub/.env" "$p/secret.txt"
	touch end
	finished reader
	nothing_was_read
}

@test "attack_w_4: what is denied while the sandbox runs, and made by the host only then, is hidden, and not read" {
	local p=$HOME/p
	background reader sbx run --profile default -- python3 arriving.py "$p/later" "$p/there/one.crt" "$p/there/two.crt"
	wait_for 60 test -e up
	: >"$p/there/one.crt"
	sbx grant --deny fs:read "$p/later" --profile default
	sbx grant --deny fs:read "$p/**/*.crt" --profile default
	: >"$p/later"
	: >"$p/there/two.crt"
	arrives_hidden "$p/later" "$p/there/one.crt" "$p/there/two.crt"
	touch end
	finished reader
	echo "$output"
	[ "$status" = 0 ]
	nothing_was_read
}

@test "attack_w_4: what a pattern asks about and the host makes during the run is asked about" {
	background reader sbx run --profile default -- sh -c "touch up; until [ -s read ]; do cat $HOME/p/x.asked >>read; done 2>error"
	wait_for 60 test -e up
	: >"$HOME/p/x.asked"
	wait_for 20 prompt_is_pending
	echo secret >>"$HOME/p/x.asked"
	[ ! -s read ]
	sbx allow "$(prompt_id)"
	finished reader
	echo "$output"
	[ "$status" = 0 ]
	[ "$(cat read)" = secret ]
}

@test "attack_w_4: who has a folder open that becomes a hidden one is ended and named" {
	cp "$TESTS/holding.py" .
	echo old >"$HOME/p/there/file"
	background holder sbx run --profile default -- python3 holding.py cwd "$HOME/p/there"
	wait_for 60 test -e up
	mv "$HOME/p/there" "$HOME/p/vault"
	finished holder
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "that held what is not allowed any more"
	nothing_was_read
}

@test "attack_w_4: a tool that makes the name before the host does can't read what the host writes there" {
	background reader sbx run --profile default -- sh -c "mkdir $HOME/w/sub; echo own >$HOME/w/sub/.env
		echo own >$HOME/w/named; touch go; python3 arriving.py $HOME/w/sub/.env $HOME/w/named"
	wait_for 60 test -e up
	[ ! -e "$HOME/w/named" ] && [ ! -e "$HOME/w/sub/.env" ] # both are refused (attack R4)
	: >"$HOME/w/named"
	: >"$HOME/w/sub/.env"
	arrives_hidden "$HOME/w/sub/.env" "$HOME/w/named"
	touch end
	finished reader
	echo "$output"
	nothing_was_read
}

@test "attack_w_4: without inotify it is said, and hidden all the same" {
	# shellcheck disable=SC2016 # expanded in there
	in_own_mounts '
		echo 0 >/proc/sys/user/max_inotify_instances
		plain sbx run --profile default -- python3 arriving.py "$HOME/p/.env" "$HOME/p/secret.txt" >out 2>&1 &
		while [ ! -e up ]; do sleep 0.02; done
		: >"$HOME/p/.env"
		: >"$HOME/p/secret.txt"
		until grep -qs secret hidden && grep -qs env hidden; do sleep 0.02; done
		echo "what came later" >>"$HOME/p/.env"
		echo "what came later" >>"$HOME/p/secret.txt"
		touch end
		wait'
	cat out
	contains "$(<out)" "hidden late"
	nothing_was_read
}
