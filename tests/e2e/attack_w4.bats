#!/usr/bin/env bats
# What a rule hides is hidden also when it is made only while the sandbox runs: by its path, by a pattern, and by a denial
# that is given to a sandbox that runs; and when what was there before is moved away.

load helper

setup_file() {
	home_make
	mkdir "$HOME/p" "$HOME/outside"
	asking_policy 60s "    allow: {fs:read: [~/p], fs:write: [~/w]}
    deny: {fs:read: [~/p/secret.txt, ~/p/deep/er/secret, ~/w/named, '**/.env', ~/p/*.key, '~/p/**/vault', '~/w/**/.env', ~/w/in/deep/secret,
      '~/w/many/*'],
      fs:write: [~/w/Makefile, ~/w/ci]}
    ask: {fs:read: ['~/p/**/*.asked']}"
	sbx grants >/dev/null # starts the broker
}

setup() {
	cd "$HOME/project" || return
	rm -rf "$HOME/p" "$HOME/w" "$HOME/outside" up end read hidden go left state
	mkdir -p "$HOME/p/there" "$HOME/w" "$HOME/outside"
	cp "$TESTS/arriving.py" "$TESTS/moving.py" .
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

# all_are WORD PATH…: what who tries to open them inside (moving.py) was last told of each.
all_are() {
	local word=$1 path
	shift
	[ -e state ] || return 1
	for path; do grep -qxF "$word $path" state || return 1; done
}

# rounds COUNT: who tries has begun and ended so many more.
rounds() {
	local from=$(($(sed -n 's/^round //p' state) + $1))
	wait_for 20 eval "[ \$(sed -n 's/^round //p' state) -gt $from ]"
}

# repaired PATH [COUNT]: the mask was put back, so often at least.
repaired() {
	local count
	count=$(sbx history --json | jq -s --arg path "$1" '[.[] | select(.kind == "repair" and .target == $path)] | length')
	[ "$count" -ge "${2:-1}" ]
}

# is_asked_when FILE: who waits for that file goes on by a question, which is denied.
is_asked_when() {
	touch "$1"
	wait_for 20 prompt_is_pending || { echo "no question: $1" && return 1; }
	sbx deny "$(prompt_id)"
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

# Every name costs the runner a little: it may not be kept from the next ones by thousands.
@test "attack_w_4: what the host makes is hidden while the tool has brought thousands of names that a pattern hides" {
	local w=$HOME/w
	mkdir "$w/few"
	(cd "$w/few" && seq 4000 | xargs touch)
	background reader sbx run --profile default -- sh -c "mv $w/few $w/many; exec python3 arriving.py $w/.env $w/named $w/many/4000"
	wait_for 60 test -e up
	: >"$w/.env"
	: >"$w/named"
	arrives_hidden "$w/.env" "$w/named" "$w/many/4000"
	touch end
	finished reader
	[ "$status" = 0 ]
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

@test "attack_w_4: what is denied by its path is hidden also in a folder that was made anew before" {
	local w=$HOME/w by way run
	for way in 'rm -r in; mkdir -p in/deep' 'mv in old; mkdir -p in/deep' 'mv in old; mkdir -p new/deep; mv new in' \
		'mv in old; ln -s old in'; do
		for by in tool host; do
			rm -rf "${w:?}"/* up go went end hidden
			mkdir -p "$w/in/deep"
			run=:
			[ $by = host ] || run="(cd $w; $way)"
			background reader sbx run --profile default -- sh -c "python3 arriving.py $w/named $w/in/deep/secret &
				until [ -e go ]; do sleep 0.02; done; $run; touch went; wait"
			wait_for 60 test -e up
			: >"$w/named"
			arrives_hidden "$w/named" # the folders are watched by now
			[ $by = tool ] || (cd "$w" && eval "$way")
			touch go
			wait_for 20 test -e went
			if [[ "$by $way" == tool*' in' ]]; then # what the tool brings there could have the name in it (attack R4)
				[ ! -e "$w/in" ] && [ -d "$w/old" ]
			else
				: >"$w/in/deep/secret"
				arrives_hidden "$w/in/deep/secret" || { echo "by the $by: $way" && return 1; }
			fi
			touch end
			finished reader
			nothing_was_read
		done
	done
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

@test "attack_w_4: what is hidden or read-only, moved away by the host and made anew, is hidden or read-only again" {
	local p=$HOME/p w=$HOME/w path round
	local read=("$p/secret.txt" "$p/.env" "$p/deep/er/secret" "$w/in/deep/secret") write=("$w/Makefile" "$w/ci/run")
	mkdir -p "$p/deep/er" "$w/in/deep" "$w/ci"
	for path in "${read[@]}" "${write[@]}"; do echo old >"$path"; done
	background mover sbx run --profile default -- python3 moving.py "${read[@]/#/read:}" "${write[@]/#/write:}"
	wait_for 60 all_are refused "${read[@]}" "${write[@]}"
	for round in 1 2; do
		# as editors do that keep a backup: of the files, or of a folder above
		for path in "$p/secret.txt" "$p/.env" "$p/deep" "$w/in" "$w/Makefile" "$w/ci"; do mv "$path" "$path.$round"; done
		wait_for 20 all_are gone "${read[@]}" "${write[@]}"
		mkdir -p "$p/deep/er" "$w/in/deep" "$w/ci"
		for path in "${read[@]}" "${write[@]}"; do : >"$path"; done
		local start=${EPOCHREALTIME/./}
		wait_for 20 all_are refused "${read[@]}" "${write[@]}" || { cat state && return 1; }
		echo "refused again after $(((${EPOCHREALTIME/./} - start) / 1000)) ms"
	done
	rm -f read # the old ones, by names that no rule hides
	for path in "${read[@]}"; do echo secret >"$path"; done
	rounds 20
	for path in "${read[@]}" "$w/Makefile" "$w/ci"; do repaired "$path" || { echo "not recorded: $path" && return 1; }; done
	touch end
	finished mover
	echo "$output"
	[ "$status" = 0 ]
	nothing_was_read
}

@test "attack_w_4: what is moved away and made anew at once is hidden again, also without inotify" {
	local way command
	# shellcheck disable=SC2016 # expanded in there
	command='
		repairs() { plain sbx history --json | grep -c "\"repair\""; }
		rm -f state end read "$HOME"/p/*
		echo old >"$HOME/p/secret.txt"
		plain sbx run --profile default -- python3 moving.py "read:$HOME/p/secret.txt" >out 2>&1 &
		until grep -qs refused state; do sleep 0.02; done
		before=$(repairs)
		mv "$HOME/p/secret.txt" "$HOME/p/secret.old"
		: >"$HOME/p/secret.txt"
		until [ "$(repairs)" -gt "$before" ]; do sleep 0.05; done
		echo secret >"$HOME/p/secret.txt"
		from=$(sed -n "s/^round //p" state)
		until [ "$(sed -n "s/^round //p" state)" -gt $((from + 20)) ]; do sleep 0.02; done
		touch end
		wait'
	for way in : 'echo 0 >/proc/sys/user/max_inotify_instances'; do
		in_own_mounts "$way"$'\n'"$command"
		cat out
		grep -q finished out
		nothing_was_read
	done
}

@test "attack_w_4: names that are masked in different ways, exchanged by the host in one call, keep their own masks" {
	local w=$HOME/w round
	cp "$SBX_PROBE" probe
	echo old >"$w/named"
	echo old >"$w/Makefile"
	background mover sbx run --profile default -- python3 moving.py "read:$w/named" "read:$w/Makefile" "write:$w/Makefile"
	wait_for 60 all_are refused "$w/named" "$w/Makefile"
	for round in 1 2; do
		./probe exchange "$w/named" "$w/Makefile"
		wait_for 20 repaired "$w/named" $round
		wait_for 20 repaired "$w/Makefile" $round
		rounds 2
		all_are refused "$w/named" "$w/Makefile" # one to be read, the other to be written
		all_are open "$w/Makefile"
		echo "secret $round" >"$w/named"
		rounds 10
		! grep -qx "secret $round" read # the next round brings it to the name that may be read
	done
	touch end
	finished mover
	echo "$output"
	[ "$status" = 0 ]
	[ "$(sort -u read)" = "$(printf '%s\n' old 'secret 1')" ]
}

@test "attack_w_4: what is asked about and replaced by the host, or moved away and made anew, is asked about again" {
	local path=$HOME/p/again.asked
	echo old >"$path"
	background reader sbx run --profile default -- sh -c "touch up
		for round in 1 2; do until [ -e go\$round ]; do sleep 0.02; done; cat $path && echo; done; exit 0"
	wait_for 60 test -e up
	echo secret >"$HOME/outside/new"
	mv "$HOME/outside/new" "$path" # as an editor saves
	wait_for 20 repaired "$path" 1
	is_asked_when go1
	mv "$path" "$path.old" # as one does that keeps a backup; the kernel tells nothing of it
	echo secret >"$path"
	wait_for 20 repaired "$path" 2
	is_asked_when go2
	finished reader
	echo "$output"
	[ "$status" = 0 ]
	[[ $output != *secret* ]]
}
