#!/usr/bin/env bats
# Attacks on the broker, prompts and the store, each named after its kind and number.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	cp "$SBX_PROBE" "$HOME/project/probe"
	policy <<'END'
version: 1
prompt: {timeout: 60s, without-agent: wait}
permissions: {db:access: use the database}
profiles:
  default:
    hosts: {svc.test: 127.0.0.1}
END
}

setup() {
	cd "$HOME/project" || return
	sbx grants >/dev/null # the broker is up
}

still_serving() {
	none grants && sbx history --verify >/dev/null
}

@test "attack_b_03 who the peer is comes from the kernel, not from what it says" {
	run broker --raw '{"type":"hello","id":1,"protocol":7,"version":"x","uid":0}'
	contains "$output" error
	run broker --raw '{"type":"hello","id":1,"protocol":7,"version":"x","pid":1}'
	contains "$output" error
	still_serving
}

@test "attack_b_11 a peer in another user or PID namespace is closed without a word" {
	run unshare --user --map-user="$(id -u)" python3 "$TESTS/broker.py" "$(broker_socket)" '{"type":"status","id":2}'
	[ "$output" = closed ]
	run unshare --user --map-root-user --pid --fork python3 "$TESTS/broker.py" "$(broker_socket)" '{"type":"status","id":2}'
	[ "$output" = closed ]
	run -127 sbx run -- sh -c 'sbx grants; sbx grant fs:read /; sbxd'
	still_serving
}

@test "attack_b_04 no argument at all, not even a name" {
	run ./probe exec-bare "$SBX_BIN/sbx"
	echo "$output $status"
	[ "$status" -lt 128 ]
	[ "$status" != 0 ]
	run ./probe exec-bare "$SBX_BIN/sbxd"
	[ "$status" -lt 128 ]
	still_serving
}

@test "attack_b_04 a uid above INT_MAX" {
	broker_stop
	unshare --user --map-user=3000000000 --map-group=3000000000 bash -c '
		sbx run -- id -u >"$HOME/run/inside" 2>&1
		echo $? >"$HOME/run/status"
		kill "$(python3 "$TESTS/broker.py" "$HOME/.local/state/sbx/run/broker.sock" --pid)"'
	cat "$HOME/run/inside"
	# bwrap itself takes such a uid for a negative number and refuses; it must come out as that, or work.
	if [ "$(<"$HOME/run/status")" = 0 ]; then
		[ "$(tail -n 1 "$HOME/run/inside")" = 3000000000 ]
	else
		[ "$(<"$HOME/run/status")" = 125 ]
		grep -q '^sbx: ' "$HOME/run/inside"
	fi
	wait_for 30 still_serving
}

@test "attack_b_05 malformed messages: that client is dropped, others are served" {
	local deep wide
	deep=$(printf '[%.0s' {1..200})$(printf ']%.0s' {1..200})
	wide=$(printf '"k%d":1,' {1..5000})
	local bad=('' 'x' '{' '[]' '42' 'null' '"hello"' '{}' '{"type":"hello"}' '{"type":7,"id":1}' '{"type":"hello","id":"1"}'
		'{"type":"hello","id":0,"protocol":7,"version":"x"}' '{"type":"hello","id":-1,"protocol":7,"version":"x"}'
		'{"type":"hello","id":1,"id":2,"protocol":7,"version":"x"}' '{"type":"nonsense","id":1}' '{"type":"prompt","id":1}'
		'{"type":"hello","id":1,"protocol":"7","version":"x"}' '{"type":"hello","id":99999999999999999999,"protocol":7,"version":"x"}'
		"{\"type\":\"hello\",\"id\":1,\"protocol\":7,\"version\":$deep}" "{$wide\"type\":\"hello\",\"id\":1}"
		'{"type":"hello","id":1,"protocol":7,"version":"x\u0000y"}' '!00' '!ff' '!7b2274797065223a22ff22' '@60000')
	for message in "${bad[@]}"; do
		run broker --raw "$message"
		printf '%s: %s\n' "${message:0:60}" "$output"
		[[ $output == *'"error"'* || $output == closed ]]
	done
	still_serving
	# After a good hello, the same holds.
	for message in '{"type":"list","id":2}' '{"type":"list","id":2,"what":"everything"}' '{"type":"list","id":2,"what":"grants","x":1}' \
		'{"type":"grant","id":2}' '{"type":"check","id":2,"permission":"fs:read","target":"relative"}' \
		'{"type":"revoke","id":2,"ids":["1"]}' '{"type":"revoke","id":2,"ids":[-1]}' '{"type":"resolve","id":2,"paths":["/"]}' \
		'{"type":"answer","id":2,"prompt":1,"token":null,"effect":"allow","lifetime":"nope"}' '{"type":"session-close","id":2,"exit":0}'; do
		run broker "$message"
		printf '%s: %s\n' "$message" "$output"
		contains "$output" '"error"'
	done
	still_serving
}

@test "attack_b_05 a datagram above the limit" {
	run broker "@200000"
	[[ $output == *'"error"'* || $output == *closed* || $output == "not sent:"* ]]
	run broker "@70000"
	[[ $output == *'"error"'* || $output == *closed* || $output == "not sent:"* ]]
	still_serving
}

@test "attack_b_05 thousands of connections that say nothing: others are served" {
	python3 - "$(broker_socket)" "$HOME/run/crowd" 3>&- <<'END' &
import resource, socket, sys, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
crowd = []
for _ in range(min(10000, hard - 50)):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.setblocking(False)
    try:
        s.connect(sys.argv[1])
    except OSError:
        s.close()
        continue
    crowd.append(s)
open(sys.argv[2], "w").write(str(len(crowd)))
time.sleep(4)
END
	crowd=$!
	wait_for 60 test -s "$HOME/run/crowd"
	echo "connected: $(<"$HOME/run/crowd")"
	run timeout 60 sbx run -- true
	echo "while they sit there: $status $output"
	wait "$crowd"
	wait_for 60 still_serving
	run sbx run -- true
	[ "$status" = 0 ]
}

@test "attack_b_09 control, bidi and markup characters are shown escaped: command, target, reason" {
	evil=$'./\e[31mred\e]0;title\a<b>bold\xe2\x80\xaegnp\xe2\x80\x8bx'
	cp "$(type -P true)" "$evil"
	run sbx run -- "$evil" $'arg\e[2J\nsecond line'
	[ "$status" = 0 ]
	sbx grant db:access $'name\e[31m\xe2\x80\xae' --reason $'because\e[2J\nof that' --profile default
	for line in "history" "grants" "grants --all" "sessions --all" "history --summary"; do
		# shellcheck disable=SC2086 # words
		run sbx $line
		lacks "$output" $'\e'
		lacks "$output" $'\a'
		lacks "$output" $'\xe2\x80\xae'
		lacks "$output" $'\xe2\x80\x8b'
		lacks "$output" $'\nsecond line'
		lacks "$output" $'\nof that'
	done
	for line in "history --json" "grants --json"; do
		# shellcheck disable=SC2086 # words
		run sbx $line
		lacks "$output" $'\e'
		lacks "$output" $'\xe2\x80\xae'
		lacks "$output" $'\xe2\x80\x8b'
		jq -es . <<<"$output" >/dev/null
	done
	sbx revoke --all
}

@test "attack_b_09 a prompt for a very long or odd target stays one readable line" {
	long=$(printf 'a%.0s' {1..60}).$(printf 'b%.0s' {1..60}).$(printf 'c%.0s' {1..60}).test
	background curl sbx run -- curl -sS --max-time 30 "http://$long/"
	id=$(prompt_id)
	run sbx prompts
	contains "$output" "$id"
	lacks "$output" $'\e'
	sbx deny "$id"
	finished curl
}

@test "attack_b_20 names that begin with a dash are never options" {
	cp "$(type -P true)" ./--bind
	cp "$(type -P true)" ./-x
	run sbx run -- ./--bind / /
	[ "$status" = 0 ]
	run env PATH="$HOME/project:$PATH" sbx run -- --bind / /
	[ "$status" = 127 ] || [ "$status" = 0 ]
	mkdir -p -- "--dev-bind/--" "$HOME/--cap-add"
	run sbx run --project ./--dev-bind --cwd ./--dev-bind/-- -- pwd
	[ "$output" = "$HOME/project/--dev-bind/--" ]
	echo datum >"$HOME/--cap-add/file"
	run sbx run --allow "fs:read=$HOME/--cap-add" -- cat "$HOME/--cap-add/file"
	[ "$output" = datum ]
	run sbx run -- sh -c 'touch -- --seccomp && ls -- --seccomp'
	[ "$output" = --seccomp ]
}

@test "attack_b_20 the environment can't smuggle: loader, shell functions, interpreters' hooks" {
	run env LD_PRELOAD=/nonexistent.so LD_LIBRARY_PATH=/evil 'BASH_FUNC_ls%%=() { echo evil; }' BASH_ENV=/evil NODE_OPTIONS=--evil \
		PYTHONSTARTUP=/evil GIT_SSH_COMMAND=evil sbx run -- env
	for name in LD_PRELOAD LD_LIBRARY_PATH BASH_FUNC BASH_ENV NODE_OPTIONS PYTHONSTARTUP GIT_SSH_COMMAND; do
		lacks "$output" "$name="
	done
	run sbx run --env 'A=B
C=D' -- sh -c 'env | grep -c ^C=D'
	[ "$status" != 0 ] || [ "$output" = 1 ] # one variable with a newline in it, never two
	run sbx run --env '=x' -- true
	[ "$status" != 0 ]
}

@test "attack_b_22 no names in /tmp: it works with a /tmp that can't be written" {
	in_own_mounts '
		mount --rbind /tmp /tmp && mount -o remount,bind,ro,nosuid,nodev /tmp || exit 9 # the tree may lie below it
		! touch /tmp/x 2>/dev/null || exit 9
		plain sbx run -- sh -c "echo inside >/tmp/x && cat /tmp/x" >"$HOME/run/inside" 2>&1'
	[ "$(<"$HOME/run/inside")" = inside ]
}

@test "attack_b_22 state folders that others could write to, or links in their place, are refused" {
	broker_stop
	mv "$HOME/.local/state/sbx" "$HOME/.local/state/aside"
	mkdir "$HOME/run/planted"
	ln -s "$HOME/run/planted" "$HOME/.local/state/sbx"
	run sbx grants
	[ "$status" != 0 ]
	grep -q '^sbx' <<<"$output"
	[ ! "$(find "$HOME/run/planted" -type f -o -type s)" ]
	rm "$HOME/.local/state/sbx"
	mv "$HOME/.local/state/aside" "$HOME/.local/state/sbx"
	still_serving
}
