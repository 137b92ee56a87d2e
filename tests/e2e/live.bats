#!/usr/bin/env bats
# Live grants: a call that touches what a rule asks about is held, the answer lets that very call go on, and a grant that ends
# is gone from the running sandbox. CMakeLists.txt runs this file with each doorbell.
# shellcheck disable=SC2016,SC2030,SC2031,SC2088 # expanded inside the sandbox; a test's id is its own

load helper

setup_file() {
	home_make
	needs_doorbell
	asking_policy
	cp "$SBX_WATCH" "$HOME/project/watch"
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
	here=$HOME/t$BATS_TEST_NUMBER # what a rule asks about, for this test alone
	mkdir -p "$here"
	echo "in $here" >"$here/file"
}

teardown() {
	policy_restore
	exec 7>&-
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
	if [ -e "$HOME/run/agent.pid" ]; then answers_end agent; fi
}

# asks PERMISSION TARGET: one question is open, and it is this one. Its id is in $id.
asks() {
	id=$(prompt_id) || return
	[ "$(sbx prompts --json | jq -r '.[] | "\(.permission) \(.target)"')" = "$1 $2" ] || {
		echo "expected a question about $1 $2, got:"
		sbx prompts
		return 1
	}
}

# Processes inside whose command line has MARK, as the host sees them.
inside_pids() {
	pgrep -u "$(id -u)" -f -- "$1"
}

now() {
	"$SBX_WATCH" --now | cut -d ' ' -f 1
}

# at_most LIMIT FROM TO: no more than so many milliseconds between them.
at_most() {
	awk -v limit="$1" -v from="$2" -v to="$3" 'BEGIN { print "# " to - from " ms of " limit; exit !(to - from <= limit) }' >&2
}

# watching NAME RUN-OPTION… -- WATCH-ARG…: watch.c in a sandbox; it goes on to the test's end.
watching() {
	local name=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f "$HOME/run/hold" "$HOME/run/$name.out"
	mkfifo "$HOME/run/hold"
	exec 7<>"$HOME/run/hold"
	sbx run "${options[@]}" -- ./watch "$@" <"$HOME/run/hold" >"$HOME/run/$name.out" 2>&1 3>&- 7>&- &
	wait_for 60 test -s "$HOME/run/$name.out"
}

saw() { # saw NAME WORD: that is what it says now
	[[ $(tail -n 1 "$HOME/run/$1.out" | cut -d ' ' -f 2) == "$2" ]]
}

when() { # when NAME: since when
	tail -n 1 "$HOME/run/$1.out" | cut -d ' ' -f 1
}

# bats test_tags=contract
@test "a look and a read are held, go on when allowed, and are asked again when the grant has ended" {
	mkdir "$HOME/notes"
	echo "buy milk" >"$HOME/notes/todo.txt"
	background show sbx run -- sh -c 'stat ~/notes; cat ~/notes/todo.txt; until [ -e go ]; do sleep 0.05; done; cat ~/notes/todo.txt'
	if [ "${SBX_TEST_DOORBELL:-auto}" = auto ]; then
		asks fs:read "$HOME/notes"
	else
		id=$(prompt_id)
	fi
	is_running show
	sbx allow "$id" --ttl 5s --scope "$HOME/notes" || sbx allow "$id" --ttl 5s
	wait_for 30 grep -q "buy milk" "$HOME/run/show.out"
	no_prompt_is_pending
	wait_for 30 no_grant_is_in_force
	sleep 0.5 # nothing is asked by itself
	no_prompt_is_pending
	touch go
	asks fs:read "$HOME/notes/todo.txt"
	is_running show
	sbx allow "$id" --once
	finished show
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c "buy milk" <<<"$output")" = 2 ]
	[ "${SBX_TEST_DOORBELL:-auto}" = traps ] || contains "$output" "$(stat -c 'Inode: %i' "$HOME/notes")"
	rm go
}

no_grant_is_in_force() {
	none grants
}

@test "a write is held; allowed for the folder, the file is on the host" {
	mkdir "$HOME/other"
	background python sbx run --profile default -- python3 -c "open('$HOME/other/x', 'w').write('hi')"
	asks fs:write "$HOME/other"
	is_running python
	sbx allow "$id"
	finished python
	echo "$output"
	[ "$status" = 0 ]
	[ "$(cat "$HOME/other/x")" = hi ]
	[ "$(sbx grants --json | jq -r '.[].pattern')" = "$HOME/other" ]
}

# bats test_tags=contract
@test "a denial is EACCES, is asked again, and a rule's denial is absence" {
	background denied sbx run -- sh -c "cat $here/file; cat $here/file; cat ~/.ssh/id_ed25519"
	for _ in 1 2; do
		asks fs:read "$here/file"
		sbx deny "$id"
	done
	finished denied
	echo "$output"
	[ "$(grep -c "$here/file: Permission denied" <<<"$output")" = 2 ]
	contains "$output" "id_ed25519: No such file or directory"
	lacks "$output" "in $here"
}

# bats test_tags=contract
@test "an unanswered question ends in EACCES at its deadline, once" {
	asking_policy 2s
	SECONDS=0
	run timeout 60 sbx run -- cat "$here/file"
	echo "$output"
	[ "$status" = 1 ]
	contains "$output" "Permission denied"
	((SECONDS >= 1))
	[ "$(sbx history --json | jq -s "map(select(.kind == \"prompt\" and .target == \"$here/file\" and .detail.state == \"shown\")) | length")" = 1 ]
	none grants
	asking_policy
}

@test "with nobody to ask and without-agent: deny, nobody is waited for" {
	asking_policy
	sed -i 's/wait/deny/' "$HOME/.config/sbx/policy.yaml"
	broker_stop
	SECONDS=0
	run timeout 50 sbx run -- cat "$here/file"
	[ "$status" = 1 ]
	contains "$output" "Permission denied"
	((SECONDS < 40)) # of 60 that it would wait
	asking_policy
}

# bats test_tags=contract
@test "sbx grant to a running sandbox: it is there when the command returns, and a held call goes on" {
	watching w -- "$here/file"
	local try
	for try in 1 2 3 4 5; do # others may have the machine meanwhile
		wait_for 30 has_vanished
		sbx grant fs:read "$here" --profile default
		after=$(now)
		wait_for 30 saw w there
		at_most 50 "$after" "$(when w)" && break
		[ $try -lt 5 ]
		revoke_here
	done
	no_prompt_is_pending
}

# vanishes WHAT…: after the command returns, `w` has seen its path for at most 50 ms. Others may have the machine meanwhile.
vanishes() {
	local try
	for try in 1 2 3 4 5; do
		sbx grant fs:read "$here" --profile "${profile:-default}" --anywhere
		wait_for 30 saw w there
		sleep 0.3
		"$@"
		after=$(now)
		wait_for 30 has_vanished
		at_most 50 "$after" "$(when w)" && return
		echo "try $try"
	done
	return 1
}

has_vanished() {
	saw w held || saw w ENOENT || saw w EACCES
}

revoke_here() {
	sbx revoke --match fs:read "$here"
}

# bats test_tags=contract
@test "revoke: gone from the running sandbox within 50 ms, and the next touch asks again" {
	watching w -- --open "$here/file"
	vanishes revoke_here
	asks fs:read "$here/file"
	wait_for 30 saw w held
}

@test "after a revocation the next question is about the file again, whatever the process still has open" {
	background ask sbx run -- python3 -c 'if True:
		import os, sys, time
		held = open(sys.argv[1])
		held.read()
		open("has_read", "w").close()
		while os.path.exists("waits"): time.sleep(0.02)
		print(open(sys.argv[1]).read())' "$here/file"
	touch waits
	asks fs:read "$here/file"
	sbx allow "$id"
	wait_for 30 test -e has_read
	sbx revoke "$(sbx grants --json | jq '.[0].id')"
	rm waits
	asks fs:read "$here/file"
	sbx allow "$id"
	finished ask
	contains "$output" "in $here"
}

@test "revoke without an ask rule: absent within 50 ms, and nothing is asked" {
	asking_policy 60s '  bare:
    extends: [base]
    allow: {fs:write: ["${project}"]}'
	watching w --profile bare -- "$here/file"
	wait_for 30 saw w ENOENT
	profile=bare vanishes revoke_here
	wait_for 30 saw w ENOENT
	no_prompt_is_pending
	asking_policy
}

# bats test_tags=contract
@test "a grant's own end: to the second, in every running sandbox" {
	background second sbx run -- sh -c "touch up; until cat $here/file; do sleep 0.1; done; sleep 20"
	watching w -- --open "$here/file"
	wait_for 60 test -e up
	local try
	for try in 1 2 3 4 5; do # others may have the machine meanwhile
		before=$(now)
		sbx grant fs:read "$here" --profile default --ttl 2s
		wait_for 30 no_grant_is_in_force
		wait_for 30 is_held_for_good w
		turns w "$before" | grep -q there || continue
		gone=$(when w)
		at_most 0 "$gone" "$(awk -v t="$before" 'BEGIN { print t + 1900 }')" # not before
		at_most 3000 "$before" "$gone" && break
		[ $try -lt 5 ]
	done
	turns w "$before" | grep -q there
	rm up
}

turns() { # turns NAME TIME: what it has said since then
	awk -v since="$2" '$1 >= since' "$HOME/run/$1.out"
}

# A call that only waited for a processor comes back.
is_held_for_good() {
	local said
	saw "$1" held || return
	said=$(wc -l <"$HOME/run/$1.out")
	sleep 0.5
	[[ $(wc -l <"$HOME/run/$1.out") == "$said" ]]
}

@test "two sandboxes: one answer's grant is in both, and one revocation takes it from both" {
	for name in one two; do
		background $name sbx run -- sh -c "touch up.$name; until [ -e go ]; do sleep 0.05; done; cat $here/file; echo read >>read.$name
			until [ -e again ]; do sleep 0.05; done; cat $here/file"
		wait_for 60 test -e up.$name
	done
	touch go
	sbx allow "$(prompt_id)" --ttl 1h
	wait_for 60 test -s read.one
	wait_for 60 test -s read.two
	no_prompt_is_pending
	sbx revoke --all
	touch again
	prompt_id
	is_running one
	is_running two
	for name in one two; do
		finished_answering deny $name
		[ "$(grep -c "in $here" <<<"$output")" = 1 ]
		contains "$output" "Permission denied"
	done
	rm -f go again up.* read.*
}

# bats test_tags=contract
@test "once is one call: the next asks again, and no grant is left" {
	# a read isn't trapped: what is there once goes some hundred microseconds after the call's return, when there is a processor
	background once sbx run -- sh -c "cat $here/file; sleep 2.5; cat $here/file"
	asks fs:read "$here/file"
	sbx allow "$id" --once
	wait_for 30 grep -q "in $here" "$HOME/run/once.out"
	wait_for 30 prompt_is_pending
	asks fs:read "$here/file"
	sbx deny "$id"
	finished once
	[ "$(grep -c "in $here" <<<"$output")" = 1 ]
	none grants
}

@test "once for a write is one open: what is written through it is on the host, no more is written" {
	background once sbx run -- sh -c "echo first >$here/file; echo second >>$here/file"
	id=$(prompt_id)
	sbx allow "$id" --once
	wait_for 30 grep -q first "$here/file"
	sbx deny "$(prompt_id)"
	finished once
	[ "$(cat "$here/file")" = first ]
}

@test "--session ends with the sandbox, and is not another sandbox's" {
	background mine sbx run -- sh -c "cat $here/file; touch up; until [ -e go ]; do sleep 0.05; done"
	sbx allow "$(prompt_id)" --session
	wait_for 60 test -e up
	background other sbx run -- cat "$here/file"
	asks fs:read "$here/file"
	sbx deny "$id"
	finished other
	lacks "$output" "in $here"
	touch go
	finished mine
	contains "$output" "in $here"
	none grants
	rm -f up go
}

@test "read to write and back in place: what is held open stays open, new writes follow the grant" {
	sbx grant fs:read "$here" --profile default
	background both sbx run --profile default -- python3 -c '
import os, sys, time
path = sys.argv[1]
def wait(name):
    while not os.path.exists(name):
        time.sleep(0.02)
def write(text):
    try:
        with open(path, "a") as file:
            file.write(text)
        print("wrote", text, flush=True)
        return True
    except OSError as error:
        print(text, error.strerror, flush=True)
        return False
reader = open(path)
open("up", "w")
wait("write")
while not write("granted"): # a grant is pushed: it is there a moment after sbx grant
    time.sleep(0.02)
reader.seek(0)
print("reader sees", "granted" in reader.read(), flush=True)
open("written", "w")
wait("back")
write("revoked")
reader.seek(0)
print("still reads", "in " in reader.read(), flush=True)
' "$here/file"
	wait_for 60 test -e up
	sbx grant fs:write "$here" --profile default
	touch write
	wait_for 60 test -e written
	sbx revoke --match fs:write "$here"
	sbx grant fs:read "$here" --profile default
	touch back
	finished_answering deny both
	echo "$output"
	contains "$output" "wrote granted"
	contains "$output" "reader sees True"
	contains "$output" "still reads True"
	lacks "$output" "wrote revoked"
	[ "$(tail -n 1 "$here/file")" = granted ] || [ "$(tail -c 7 "$here/file")" = granted ]
	rm -f up write written back
}

# bats file_tags=part2

@test "vim edits a file that is asked about: one question to read it, one to save it, and it isn't readonly" {
	answers agent 'allow:session=*=*'
	run timeout 50 sbx run --profile default -- vim -u NONE -N -es -c '%s/^in/edited in/' -c wq "$here/file"
	cat "$HOME/run/agent.asked"
	[ "$(cat "$here/file")" = "edited in $here" ]
	# with traps the folder is there for the file alone: vim's temporary files are asked about, too
	[ "${SBX_TEST_DOORBELL:-auto}" = traps ] || [ "$(jq -r .permission "$HOME/run/agent.asked" | xargs)" = "fs:read fs:write" ]
}

@test "a granted tree is read-only for a write that a rule asks about: held, allowed, goes on" {
	sbx grant fs:read "$here" --profile default
	background writer sbx run -- sh -c "cat $here/file; echo more >>$here/file && mkdir $here/sub && mv $here/file $here/sub/moved"
	wait_for 30 prompt_is_pending
	[ "$(sbx prompts --json | jq -r '.[0].permission')" = fs:write ]
	contains "$(cat "$HOME/run/writer.out")" "in $here"
	sbx allow "$(prompt_id)" --scope "$here" || sbx allow "$(prompt_id)"
	finished_answering allow writer
	echo "$output"
	[ "$status" = 0 ]
	[ "$(tail -n 1 "$here/sub/moved")" = more ]
}

# The sandbox's shell does one round for each file `stepN`; step makes that and waits for its end.
step() {
	touch "step$1"
	wait_for 30 test -e "done$1"
}

part() { # part N: what was printed in that round
	sed -n "/^step $1\$/,/^step $(($1 + 1))\$/p" <<<"$output"
}

# bats test_tags=contract
@test "what is allowed to be written is so for a call by what was open before: rm -r, a working folder" {
	local -A calls=(["rm -r .vscode"]="! -e .vscode" ["sh -c 'cd .vscode && echo made >new && cat new'"]="-s .vscode/new"
		["python3 -c 'import os; os.mkdir(\"new\", dir_fd=os.open(\".vscode\", os.O_RDONLY))'"]="-d .vscode/new")
	for call in "${!calls[@]}"; do
		rm -rf .vscode
		mkdir .vscode
		echo old >.vscode/settings.json
		background caller eval "sbx run --profile default -- $call"
		asks fs:write "$PWD/.vscode"
		sbx allow "$id"
		finished caller
		echo "$call: $output ($status)"
		[ "$status" = 0 ]
		eval "[ ${calls[$call]} ]"
		# shellcheck disable=SC2046 # ids
		sbx revoke $(sbx grants --json | jq '.[].id')
	done
	rm -rf .vscode
}

# bats test_tags=ci
@test "nested grants: each comes and goes alone" {
	asking_policy 1s # what isn't granted is refused soon
	mkdir -p "$here/in/deep"
	echo inner >"$here/in/file"
	echo deepest >"$here/in/deep/file"
	sbx grant fs:read "$here" --profile default
	sbx grant fs:write "$here/in" --profile default
	background nested sbx run -- sh -c "for step in 1 2 3 4; do
			until [ -e step\$step ]; do sleep 0.02; done
			echo \"step \$step\"; cat $here/file $here/in/file $here/in/deep/file
			(echo w >>$here/in/new\$step) && echo \"wrote \$step\"
			touch done\$step
		done 2>&1"
	step 1 # both
	sbx revoke "$(sbx grants --json | jq 'map(select(.permission == "fs:write"))[0].id')"
	step 2 # the outer one alone
	sbx grant fs:read "$here/in/deep" --profile default
	sbx revoke "$(sbx grants --json | jq "map(select(.pattern == \"$here\"))[0].id")"
	step 3 # a new one within what the outer one was
	sbx revoke --all
	step 4 # nothing
	finished nested
	echo "$output"
	for word in "in $here" inner deepest "wrote 1"; do contains "$(part 1)" "$word"; done
	for word in "in $here" inner deepest; do contains "$(part 2)" "$word"; done
	lacks "$output" "wrote 2"
	contains "$(part 3)" deepest
	for word in "in $here"$'\n' inner wrote; do lacks "$(part 3)" "$word"; done
	for word in deepest inner wrote; do lacks "$(part 4)" "$word"; done
	[ -e "$here/in/new1" ] && [ ! -e "$here/in/new2" ] && [ ! -e "$here/in/new3" ]
	rm -f step? done?
	asking_policy
}

@test "a denial that lasts: the call that waited is refused, from then on it is hidden; one for once is refused each time" {
	# the sandbox has it a moment after the answer: until then it may be refused
	background lasting sbx run -- sh -c "cat $here/file; for i in \$(seq 300); do
			cat $here/file 2>said
			grep -q 'No such' said && break
			sleep 0.1
		done; cat said"
	asks fs:read "$here/file"
	sbx deny "$id" --always
	finished lasting
	echo "$output"
	[ "$(grep '^cat' <<<"$output")" = "cat: $here/file: Permission denied
cat: $here/file: No such file or directory" ]
	no_prompt_is_pending
	sbx revoke "$(sbx grants --json | jq '.[0].id')"
	background passing sbx run -- sh -c "cat $here/file; cat $here/file"
	sbx deny "$(prompt_id)"
	sbx deny "$(prompt_id)"
	finished passing
	echo "$output"
	[ "$(grep -c "^cat: $here/file: Permission denied" <<<"$output")" = 2 ]
}

@test "a denial made meanwhile takes a part of a grant away, and back when it is revoked" {
	echo secret >"$here/secret"
	sbx grant fs:read "$here" --profile default
	watching w -- --open "$here/secret"
	local try
	for try in 1 2 3 4 5; do # others may have the machine meanwhile
		wait_for 30 saw w there
		sbx grant --deny fs:read "$here/secret" --profile default
		after=$(now)
		wait_for 30 has_vanished
		at_most 1000 "$after" "$(when w)" && break
		[ $try -lt 5 ]
		sbx revoke "$(sbx grants --json | jq 'map(select(.effect == "deny"))[0].id')"
	done
	no_prompt_is_pending
	sbx revoke "$(sbx grants --json | jq 'map(select(.effect == "deny"))[0].id')"
	wait_for 30 saw w there
}

@test "an edited policy holds in the running sandbox" {
	watching w -- --open "$here/file"
	wait_for 30 saw w held
	cat >"$HOME/run/policy" <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    allow: {fs:read: ["$here"]}
END
	mv "$HOME/run/policy" "$HOME/.config/sbx/policy.yaml"
	wait_for 30 saw w there
	no_prompt_is_pending
	sed -i '/allow:/d' "$HOME/.config/sbx/policy.yaml"
	wait_for 30 saw w held
}

@test "what a tool still holds of a revoked grant is named, and --kill ends it" {
	local mark=$$ # in the seconds that nobody else sleeps
	sbx grant fs:read "$here" --profile default
	background holder sbx run -- bash -c "exec 5<$here/file; exec sleep 1000.$mark"
	wait_for 60 inside_pids "^sleep 1000.$mark"
	run sbx revoke --match fs:read "$here"
	echo "$output"
	contains "$output" "$here"
	contains "$output" "sleep (pid "
	is_running holder
	sbx kill --all
	finished holder
	sbx grant fs:read "$here" --profile default
	background killed sbx run -- bash -c "sleep 1001.$mark <$here/file & wait; echo \"ended \$?\"; cat file"
	echo "the rest goes on" >file
	wait_for 60 inside_pids "^sleep 1001.$mark"
	run sbx revoke --match fs:read "$here" --kill
	echo "$output"
	[ "$status" = 0 ]
	finished killed
	echo "$output"
	contains "$output" "the rest goes on"
	no_process "^sleep 1001.$mark"
}

@test "attack_f_20 what a tool still holds is named, too, when a denial or an edited policy takes it" {
	local how
	for how in denial policy; do
		rm -f go up
		sbx grant fs:read "$here" --profile default
		background holder sbx run --profile default -- sh -c "exec 5<$here/file; touch up; until [ -e go ]; do sleep 0.05; done"
		wait_for 60 test -e up
		if [ "$how" = denial ]; then
			sbx grant --deny fs:read "$here/file" --profile default
			kind=grant
		else
			sed -i "s|^    doorbell:.*|&\n    deny: {fs:read: [$here]}|" "$HOME/.config/sbx/policy.yaml"
			kind=policy
		fi
		wait_for 30 is_named_in "$kind"
		touch go
		finished holder
		echo "$how: $output"
		contains "$output" "still open"
		sbx revoke --match fs:read "$here/file"
	done
	rm -f go up
	asking_policy
}

is_named_in() { # is_named_in KIND: what is held, in a row of the history
	sbx history --json --since 1m | jq -es --arg kind "$1" --arg path "$here/file" \
		'any(.[]; .kind == $kind and (.detail.holders // [] | any(.path == $path)))'
}

@test "many held calls, each on its own: the one that is answered goes on" {
	for i in {1..40}; do echo "file $i" >"$here/$i"; done
	# head, since cat's copy_file_range(2) loses lines where several share an output
	background many sbx run -- sh -c "for i in \$(seq 40); do head -n 1 $here/\$i & done; wait"
	wait_for 40 forty_are_pending
	id=$(sbx prompts --json | jq "map(select(.target == \"$here/17\"))[0].id")
	sbx allow "$id"
	wait_for 30 grep -q "file 17" "$HOME/run/many.out"
	[ "$(wc -l <"$HOME/run/many.out")" = 1 ]
	sbx grant fs:read "$here" --profile default
	finished many
	[ "$(grep -c '^file' <<<"$output")" = 40 ]
}

forty_are_pending() {
	[[ $(sbx prompts --json | jq length) == 40 ]]
}

@test "a requester that dies takes its question with it, by whatever signal" {
	for signal in KILL TERM INT HUP; do
		background dying sbx run -- sh -c "exec 2>/dev/null; python3 -c 'import signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); open(sys.argv[1])' $here/file; echo \"ended \$?\"; sleep 20"
		asks fs:read "$here/file"
		kill -s $signal "$(inside_pids "^python3 -c .*$here/file")"
		wait_for 30 no_prompt_is_pending # of 60 that it would wait
		wait_for 30 grep -q ended "$HOME/run/dying.out"
		[ "$(cat "$HOME/run/dying.out")" = "ended $((128 + $(kill -l $signal)))" ]
		sbx kill --all
		finished dying
	done
}

# bats file_tags=part3

@test "attack_k_09 a caught signal: the handler runs while the call is held" {
	for signal in INT TERM HUP QUIT; do
		background handler sbx run --profile default -- python3 -c "
import signal, sys
def handle(*_):
    print('handled', flush=True)
    sys.exit(7)
signal.signal(signal.SIG$signal, handle)
open('$here/file')"
		asks fs:read "$here/file"
		kill -s $signal "$(inside_pids "^python3 -c.*SIG$signal.*$here/file")"
		finished handler 30 # of 60 that it would wait
		echo "$output"
		[ "$status" = 7 ]
		contains "$output" handled
		wait_for 30 no_prompt_is_pending
	done
}

@test "signals that no handler is for, and timers as Go's SIGURG, restart nothing: one question, one answer" {
	background timers sbx run --profile default -- python3 -c "
import signal
signal.signal(signal.SIGURG, lambda *_: None)
signal.siginterrupt(signal.SIGURG, False)
print(open('$here/file').read(), flush=True)"
	asks fs:read "$here/file"
	first=$id
	pid=$(inside_pids "^python3 -c.*SIGURG.*$here/file")
	for _ in {1..50}; do
		kill -s URG "$pid"
		kill -s WINCH "$pid"
		kill -s CHLD "$pid"
		sleep 0.01
	done
	asks fs:read "$here/file"
	[ "$id" = "$first" ]
	sbx allow "$id"
	finished timers
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "in $here"
	[ "$(sbx history --json | jq -s "map(select(.kind == \"prompt\" and .target == \"$here/file\")) | length")" = 1 ]
}

# bats test_tags=ci
@test "attack_r_28: a call that a timer's handler interrupts ten times a second keeps its question" {
	local how
	for how in --once ''; do
		background ticking sbx run --profile default -- python3 -c "
import signal
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
    if ticks in (1, 10):
        open('ticked' + str(ticks), 'w')
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
text = open('$here/file').read()
signal.setitimer(signal.ITIMER_REAL, 0)
print(text, flush=True)"
		asks fs:read "$here/file"
		first=$id
		wait_for 30 test -e ticked10
		sbx allow $how "$first"
		finished ticking
		echo "$output"
		[ "$status" = 0 ]
		contains "$output" "in $here"
		rm ticked*
	done
}

@test "attack_k_09 SIGSTOP stops a held process, SIGCONT lets it go on" {
	# not the tool itself: with that the runner stops, too, as a shell's job
	background stopped sbx run -- sh -c "until cat $here/file; do sleep 0.1; done; echo end"
	asks fs:read "$here/file"
	pid=$(inside_pids "^cat $here/file")
	kill -s STOP "$pid"
	wait_for 30 is_stopped "$pid"
	kill -s CONT "$pid"
	kill -s CONT "$(sbx sessions --json | jq '.[-1].pid')" # sbx run stops with its tool
	sbx allow "$(prompt_id)"
	finished stopped
	echo "$output"
	contains "$output" "in $here"
}

is_stopped() {
	[[ $(awk '/^State:/ { print $2 }' "/proc/$1/status") == T ]]
}

# bats test_tags=ci
@test "2,000 processes that wait leave others alone" {
	sbx grant fs:read "$HOME/run" --profile default
	echo free >"$HOME/run/free"
	background flood sbx run --profile default -- python3 -c "
import os, time
for i in range(2000):
    if os.fork() == 0:
        try:
            os.open('$here/file', os.O_RDONLY)
        finally:
            os._exit(0)
begin = time.monotonic()
for i in range(100):
    open('$HOME/run/free').read()
    os.listdir('$HOME')
print('others %d ms' % ((time.monotonic() - begin) * 1000), flush=True)
open('up', 'w')
left = 2000
while left:
    os.wait()
    left -= 1
print('all came back', flush=True)"
	wait_for 60 test -e up
	rm up
	cat "$HOME/run/flood.out"
	[ "$(sed -n 's/others \([0-9]*\) ms/\1/p' "$HOME/run/flood.out")" -lt 10000 ]
	prompt_id
	[ "$(sbx prompts --json | jq length)" = 1 ]
	run timeout 40 sbx run -- cat "$HOME/run/free" # of 60 that they wait
	[ "$output" = free ]
	sbx allow "$(prompt_id)"
	finished flood 60
	contains "$output" "all came back"
}

# bats test_tags=contract
@test "a program that a rule asks about: held, and the chain of callers is shown" {
	asking_policy 60s '    ask: {proc:spawn: [sha1sum]}
    deny: {proc:spawn: [sha512sum]}'
	printf '#!/bin/sh\nsha1sum file\n' >script
	chmod +x script
	echo text >file
	background spawn sbx run -- sh -c './script; echo "status $?"'
	asks proc:spawn "$(readlink -f "$(command -v sha1sum)")"
	sbx prompts --json | jq -e '.[0].parents | length >= 1'
	sbx allow "$id" --ttl 1h
	finished spawn
	echo "$output"
	contains "$output" "$(sha1sum file)"
	contains "$output" "status 0"
	sbx revoke --all
	background refused sbx run -- sh -c 'sha1sum file; echo "status $?"; sha512sum file; echo "status $?"; sha256sum file'
	asks proc:spawn "$(readlink -f "$(command -v sha1sum)")"
	sbx deny "$id"
	finished refused
	echo "$output"
	contains "$output" "status 126"
	lacks "$output" "$(sha1sum file)"
	lacks "$output" "$(sha512sum file)"
	contains "$output" "$(sha256sum file)"
	asking_policy
}

# was_let_run TARGET
was_let_run() {
	sbx history --json | jq -se --arg target "$1" \
		'map(select(.permission == "proc:spawn" and .target == $target and .verdict == "allow")) | length > 0'
}

@test "programs that a pattern asks about: each by itself, whoever allows it, and no folder" {
	asking_policy 60s "    ask: {proc:spawn: ['/usr/bin/*']}" # Debian has a folder in there: X11, which leads to itself
	background each sbx run -- /usr/bin/env printf '%s\n' runs
	asks proc:spawn /usr/bin/env
	sbx allow "$id" --once
	finished_answering allow each
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" runs
	was_let_run /usr/bin/printf
	background each sbx run -- /usr/bin/env printf '%s\n' again # printf is allowed from now on
	asks proc:spawn /usr/bin/env
	sbx allow "$id"
	finished_answering deny each
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" again
	asking_policy
}

@test "a program that a rule asks about by the name of a link: by that name" {
	asking_policy 60s "    ask: {proc:spawn: [awk]}" # alternatives lead from it to mawk, gawk or another
	background linked sbx run -- awk 'BEGIN {print "runs"}'
	asks proc:spawn "$(command -v awk)"
	sbx deny "$id"
	finished linked
	echo "$output"
	contains "$output" "sbx grant proc:spawn $(command -v awk)"
	background linked sbx run -- awk 'BEGIN {print "runs"}'
	asks proc:spawn "$(command -v awk)"
	sbx allow "$id"
	finished linked
	echo "$output"
	[ "$output" = runs ]
	asking_policy
}

# bats test_tags=contract
@test "a program that rules ask about by the names of two links: by the one that is used, and an answer is for the file" {
	local file name other
	file=$(readlink -f /usr/bin/awk)
	[ "$file" != /usr/bin/awk ] && [ "$(readlink -f /usr/bin/nawk)" = "$file" ] || skip "optional: awk and nawk are no links to one file here"
	for name in awk nawk; do
		asking_policy 60s "    ask: {proc:spawn: [awk, nawk]}"
		background linked sbx run -- sh -c "/bin/$name 'BEGIN {print 6 * 7}'; nawk 'BEGIN {print 7 * 7}'; awk 'BEGIN {print 8 * 8}'; $file 'BEGIN {print 9 * 9}'"
		asks proc:spawn "/usr/bin/$name"
		run sbx prompts
		contains "$output" "/usr/bin/$name (which is $file)"
		sbx allow "$id"
		finished linked # with that one question
		echo "$output"
		[ "$output" = $'42\n49\n64\n81' ]
		[ "$(sbx grants --json | jq -r '.[].pattern')" = "$file" ]
		for other in awk nawk "$file"; do
			sbx check --no-ask proc:spawn "$other"
			run sbx why proc:spawn "$other"
			contains "$output" "So: allow"
		done
		run sbx revoke --match proc:spawn nawk
		[ "$(sbx grants --json)" = '[]' ]
		run ! sbx check --no-ask proc:spawn awk
	done
	asking_policy
}

@test "a program that a rule asks about by the name of a link: a grant of the file counts, a denial of it, too" {
	[ "$(readlink -f /usr/bin/awk)" != /usr/bin/awk ] || skip "optional: awk is no link here"
	asking_policy 60s "    ask: {proc:spawn: [awk]}"
	sbx grant proc:spawn "$(readlink -f /usr/bin/awk)" --profile default
	run sbx run --profile default -- awk 'BEGIN {print 6 * 7}'
	echo "$output"
	[ "$output" = 42 ]
	sbx check --no-ask proc:spawn awk
	sbx revoke --all
	sbx grant --deny proc:spawn "$(readlink -f /usr/bin/awk)" --profile default
	run -127 sbx run --profile default -- sh -c "awk 'BEGIN {print 6 * 7}'"
	echo "$output"
	lacks "$output" 42
	run ! sbx check --no-ask proc:spawn awk
	[ "$(sbx prompts --json)" = '[]' ]
	asking_policy
}

is_asked_anew() {
	[ "$(sbx prompts --json | jq -r '.[0].id // empty')" != "$answered" ] && prompt_id
}

@test "a program that a rule asks about: no question for a folder, nor where no program of that name is" {
	[ "$(readlink -f /usr/bin/python3)" != /usr/bin/python3 ] || skip "optional: /usr/bin/python3 is no link here"
	asking_policy 60s '    ask: {proc:spawn: [python3]}' # there is /usr/lib/python3, too
	# shellcheck disable=SC2016
	background spawn sbx run -- sh -c 'python3 -c "print(6 * 7)"; echo "status $?"; python3 -c "print(7 * 7)"; echo "status $?"'
	asks proc:spawn /usr/bin/python3
	sbx allow "$id" --once
	answered=$id
	wait_for 30 is_asked_anew
	asks proc:spawn /usr/bin/python3
	sbx deny "$id"
	finished spawn # the shell has looked for it in the other folders, too
	echo "$output"
	contains "$output" $'42\nstatus 0'
	contains "$output" 'status 126'
	lacks "$output" 49
	asking_policy
}

@test "a program that a rule asks about: what is no program fails as outside, without a question" {
	local words='for p in ./new/sha1sum ./sha1sum ./text ./lost ./plain/sha1sum; do "$p"; echo "$?"; done'
	mkdir sha1sum
	echo text >text
	touch plain
	printf '#!/nowhere/sha1sum\n' >lost
	chmod +x lost
	outside=$(bash -c "$words" 2>/dev/null) || true
	asking_policy 60s '    ask: {proc:spawn: [sha1sum, text]}'
	run sbx run -- bash -c "($words) 2>/dev/null"
	echo "$output"
	[ "$output" = "$outside" ]
	[ "$(sbx prompts --json)" = '[]' ]
	rm -r sha1sum plain text lost
	asking_policy
}

@test "a program that a rule asks about, as an interpreter: of a script and of an ELF file" {
	asking_policy 60s '    ask: {proc:spawn: [dash]}'
	printf '#!/usr/bin/dash\necho interpreted\n' >script
	chmod +x script
	background spawn sbx run -- bash -c './script; echo "status $?"'
	asks proc:spawn "$(readlink -f /usr/bin/dash)"
	sbx allow "$id" --once
	finished spawn
	echo "$output"
	contains "$output" interpreted
	asking_policy
}

@test "a question says what its answer gives: everything in a folder, and the name in it that the call is about" {
	background words sbx run --profile default -- python3 -c 'import os, sys
os.open(sys.argv[1], os.O_RDONLY)
open(sys.argv[1] + "/new", "w").write("written")' "$here"
	asks fs:read "$here"
	sbx prompts --json | jq -e '.[0] | .description == "read everything in" and .name == null and .lifetime_ms == 3600000'
	sbx allow "$id"
	wait_for 30 is_asked_to_write
	asks fs:write "$here"
	sbx prompts --json | jq -e ".[0] | .description == \"read and write everything in\" and .name == \"$here/new\""
	run sbx prompts
	contains "$output" "~/${here##*/} (for ~/${here##*/}/new)"
	sbx allow "$id"
	finished words
	echo "$output"
	[ "$(cat "$here/new")" = written ]
}

is_asked_to_write() {
	[[ $(sbx prompts --json | jq -r '.[0].permission') == fs:write ]]
}

@test "scopes: the file, its folder, trees above up to the home, never more" {
	mkdir -p "$here/a/b"
	echo deep >"$here/a/b/file"
	background scope sbx run -- sh -c "cat $here/a/b/file; cat $here/file"
	id=$(prompt_id)
	scopes=$(sbx prompts --json | jq -c '.[0].scopes')
	echo "$scopes"
	jq -e "index(\"exact\") == 0 and index(\"folder\") and index(\"$here/a\") and index(\"$here\")" <<<"$scopes"
	jq -e "index(\"/\") == null and index(\"${HOME%/*}\") == null" <<<"$scopes"
	for bad in / "${HOME%/*}" /etc; do
		run sbx allow "$id" --scope "$bad"
		[ "$status" != 0 ]
	done
	is_running scope
	sbx allow "$id" --scope "$here"
	finished scope
	contains "$output" deep
	contains "$output" "in $here"
}

@test "home: own lasts, hidden is /tmp, and the host's names in an own home are still asked for" {
	asking_policy 60s '    home: own'
	sbx run -- sh -c 'echo kept >~/.kept-inside'
	[ "$(sbx run -- cat "$HOME/.kept-inside")" = kept ]
	[ ! -e "$HOME/.kept-inside" ]
	background own sbx run -- cat "$here/file"
	asks fs:read "$here/file"
	sbx allow "$id"
	finished own
	contains "$output" "in $here"
	asking_policy 60s '    home: hidden'
	[ "$(sbx run -- sh -c 'echo $HOME')" = /tmp ]
	asking_policy
}

@test "new names with a dot in the home are the sandbox's own, and nothing is asked" {
	run --separate-stderr timeout 60 sbx run -- sh -c 'echo x >~/.fresh && mkdir ~/.fresh-folder && mv ~/.fresh ~/.fresh-folder/moved && cat ~/.fresh-folder/moved'
	echo "$output"
	[ "$output" = x ]
	[ ! -e "$HOME/.fresh" ] && [ ! -e "$HOME/.fresh-folder" ]
}

# bats test_tags=contract
@test "the portal's death: it is started again, and grants are whole" {
	sbx grant fs:read "$here" --profile default
	mkdir -p "$HOME/later$BATS_TEST_NUMBER"
	echo later >"$HOME/later$BATS_TEST_NUMBER/file"
	background portal sbx run -- sh -c "cat $here/file; touch up; until [ -e go ]; do sleep 0.05; done
		cat $here/file; cat $HOME/later$BATS_TEST_NUMBER/file; touch asked; until [ -e end ]; do sleep 0.05; done; cat $here/file"
	wait_for 60 test -e up
	runner=$(sbx sessions --json | jq '.[0].pid')
	init=$(pgrep -u "$(id -u)" -P "$(pgrep -P "$runner" -x bwrap)" -x sbx-init || true)
	for pid in $(pgrep -P "$runner"); do
		[ "$(cat "/proc/$pid/comm")" = bwrap ] || [ "$pid" = "$init" ] || { kill -9 "$pid" && killed+=" $pid "; }
	done
	wait_for 60 has_another_portal
	touch go
	asks fs:read "$HOME/later$BATS_TEST_NUMBER/file"
	sbx allow "$id"
	wait_for 60 test -e asked
	sbx revoke --match fs:read "$here"
	touch end
	sbx deny "$(prompt_id)"
	finished portal
	echo "$output"
	[ "$(grep -c "in $here" <<<"$output")" = 2 ]
	contains "$output" later
	contains "$output" "Permission denied"
	rm -f up go asked end
}

has_another_portal() { # than those of $killed
	local pid
	for pid in $(pgrep -P "$runner"); do
		[[ $killed == *" $pid "* || $pid == "$init" || $(cat "/proc/$pid/comm") == bwrap ]] || return 0
	done
	return 1
}

# bats test_tags=contract
@test "a broker that is killed while a call is held: refused or asked anew, never let through" {
	background broken sbx run -- sh -c "cat $here/file; sleep 1; cat $here/file"
	asks fs:read "$here/file"
	kill -9 "$(broker_pid)"
	sleep 0.5
	sbx grants >/dev/null
	finished_answering deny broken
	echo "$output"
	lacks "$output" "in $here"
	contains "$output" "Permission denied"
}

sockets_of() {
	readlink "/proc/$1/fd/"* | grep ^socket: | sort
}

# has_let_go PID SOCKETS: it has closed one of them.
has_let_go() {
	[[ $(comm -23 <(echo "$2") <(sockets_of "$1")) ]]
}

@test "what is opened while no broker is there waits for the next one, and is asked there" {
	background gap sbx run -- sh -c "touch up; until [ -e go ]; do sleep 0.01; done; cat $here/file"
	wait_for 60 test -e up
	pid=$(broker_pid)
	runner=$(sbx sessions --json | jq '.[-1].pid')
	had=$(sockets_of "$runner")
	kill -9 "$pid"
	wait_for 30 gone "$pid"
	wait_for 30 has_let_go "$runner" "$had" # what it asked before is refused
	touch go
	asks fs:read "$here/file" || { cat "$HOME/run/gap.out" && return 1; }
	sbx allow "$id"
	finished gap
	echo "$output"
	rm -f up go
	[ "$status" = 0 ]
	contains "$output" "in $here"
}

@test "each doorbell: what is not to be had is told once, by doctor too" {
	run sbx doctor
	contains "$output" fuse
	run sbx run -- true
	[ -z "$output" ]
}
