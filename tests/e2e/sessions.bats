#!/usr/bin/env bats
# One broker for all, sessions that begin and end, and what happens when something of it dies.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's `run` is its own

load helper

sessions_running() {
	[[ $(sbx sessions --json | jq length) == "$1" ]]
}

fifty_at_once() {
	local i pids=() failed=0
	for i in {1..50}; do
		sbx run -- true "$1" >>"$HOME/run/fifty.log" 2>&1 3>&- &
		pids+=($!)
	done
	for i in "${pids[@]}"; do
		wait "$i" || failed=$((failed + 1))
	done
	sort "$HOME/run/fifty.log" | uniq -c | head -n 20
	[ "$failed" = 0 ]
}

# Who calls this runs alone (tagged as serial): a broker's environment can't be read, so all of the user's are looked at.
brokers() {
	pgrep -u "$(id -u)" -x sbxd | sort
}

# bats test_tags=serial
@test "fifty at once: one broker, fifty sessions in the history, no leftover process, socket or file" {
	[ ! "$(broker_pid)" ]
	mark=sbx-e2e-fifty-$$
	files_before=$(find "$HOME" -not -path "$HOME/run/*" -not -path "$HOME/.local*" | sort)
	brokers >"$HOME/run/brokers"
	fifty_at_once "$mark"
	pid=$(broker_pid)
	new=$(brokers | comm -13 "$HOME/run/brokers" -)
	echo "new brokers: $new; answers: $pid"
	[ "$new" = "$pid" ]
	[ "$(sbx history --json | jq -s 'map(select(.kind == "session-start")) | length')" = 50 ]
	[ "$(sbx history --json | jq -s 'map(select(.kind == "session-end")) | length')" = 50 ]
	[ "$(sbx sessions --all --json | jq 'map(select(.exit == 0)) | length')" = 50 ]
	sbx history --verify
	wait_for 30 no_process "$mark"
	[ "$(find "$HOME" -not -path "$HOME/run/*" -not -path "$HOME/.local*" | sort)" = "$files_before" ]
	find "$HOME/.local" | sort
	[ "$(find "$HOME/.local" -type s | wc -l)" = 1 ]
	[ "$(find "$HOME/.local" -type d -path '*session*' -o -type d -path '*/run/*' | wc -l)" = 0 ]
	[ "$(grep -c "$HOME" /proc/self/mountinfo)" = 0 ]
	broker_stop
	[ "$(find "$HOME/.local" -type s | wc -l)" = 0 ]
}

@test "sbx sessions shows what runs; sbx kill ends it" {
	background sleeper sbx run -- sh -c 'trap "" TERM HUP INT; touch started; while :; do sleep 1; done'
	wait_for 60 test -e started
	rm started
	run sbx sessions --json
	jq -e "length == 1 and (.[0] | .profile == \"default\" and .project == \"$HOME/project\" and .ended == null and .pid > 0)" <<<"$output"
	id=$(jq '.[0].id' <<<"$output")
	run sbx sessions
	contains "$output" "$id"
	sbx kill "$id"
	finished sleeper
	[ "$status" -ge 125 ]
	wait_for 30 sessions_running 0
	run sbx kill "$id"
	[ "$status" != 0 ]
}

@test "sbx kill --all" {
	for name in one two; do
		background "$name" sbx run -- sh -c "touch $name; exec sleep 1618"
		wait_for 60 test -e "$name"
		rm "$name"
	done
	sessions_running 2
	sbx kill --all
	finished one
	finished two
	wait_for 30 no_process 'sleep 1618'
	wait_for 30 sessions_running 0
}

@test "sbx kill ends a sandbox whose runner hears nothing: stopped, or stuck in a call" {
	background deaf sbx run -- sh -c 'touch started; exec sleep 1619'
	wait_for 60 test -e started
	rm started
	id=$(sbx sessions --json | jq '.[0].id')
	pid=$(sbx sessions --json | jq '.[0].pid')
	kill -STOP "$pid"
	run sbx kill "$id"
	[ "$status" = 0 ]
	wait_for 30 no_process 'sleep 1619'
	wait_for 30 sessions_running 0
	finished deaf
	sbx sessions --all --json | jq -e ".[] | select(.id == $id) | .exit == 137"
	sbx history --json --session "$id" | jq -es 'map(select(.kind == "repair")) | length == 1 and (.[0].why | contains("did not end"))'
}

@test "kill -9 of the broker: the sandbox keeps what it has, nothing is lost, a new broker takes over" {
	mkdir -p "$HOME/elsewhere"
	sbx grant fs:read "$HOME/run" --profile default --project "$HOME/elsewhere"
	before=$(sbx history --json | wc -l)
	background worker sbx run -- sh -c 'touch started; until [ -e go ]; do sleep 0.05; done; echo still here >result; cat result'
	wait_for 60 test -e started
	pid=$(broker_pid)
	kill -9 "$pid"
	wait_for 30 gone "$pid"
	run sbx grants --json
	[ "$(jq length <<<"$output")" = 1 ]
	[ "$(broker_pid)" != "$pid" ]
	touch go
	finished worker
	[ "$status" = 0 ]
	contains "$output" "still here"
	sbx history --verify
	[ "$(sbx history --json | wc -l)" -gt "$before" ]
	sbx revoke --all
	rm -f started go result
}

@test "the runtime directory is used where there is one" {
	broker_stop
	mkdir -p "$HOME/runtime"
	chmod 700 "$HOME/runtime"
	export XDG_RUNTIME_DIR=$HOME/runtime
	run sbx run -- true
	[ "$status" = 0 ]
	[ -S "$XDG_RUNTIME_DIR/sbx/broker.sock" ]
	run sbx run -- sh -c "ls -A '$XDG_RUNTIME_DIR'; echo \"\$XDG_RUNTIME_DIR\""
	lacks "$output" broker.sock
	broker_stop
	unset XDG_RUNTIME_DIR
}

@test "the XDG folders are honoured for state and policy" {
	broker_stop
	export XDG_STATE_HOME=$HOME/xdg/state XDG_CONFIG_HOME=$HOME/xdg/config
	mkdir -p "$XDG_CONFIG_HOME/sbx"
	printf 'version: 1\nprofiles:\n  default:\n    env: {WHENCE: xdg}\n' >"$XDG_CONFIG_HOME/sbx/policy.yaml"
	run sbx run -- sh -c 'echo $WHENCE'
	[ "$output" = xdg ]
	[ -f "$XDG_STATE_HOME/sbx/sbx.db" ]
	[ "$(stat -c %a "$XDG_STATE_HOME/sbx" "$XDG_STATE_HOME/sbx/sbx.db")" = $'700\n600' ]
	pid=$(python3 "$TESTS/broker.py" "$XDG_STATE_HOME/sbx/run/broker.sock" --pid)
	kill "$pid"
	wait_for 30 gone "$pid"
	unset XDG_STATE_HOME XDG_CONFIG_HOME
}

@test "a changed policy is followed without a restart; a broken one changes nothing and is named" {
	sbx run -- true
	pid=$(broker_pid)
	cat >"$HOME/.config/sbx/policy.yaml" <<'END'
version: 1
profiles:
  default:
    env: {ROUND: first}
END
	policy_round() { [[ $(sbx run -- sh -c 'echo $ROUND' 2>/dev/null) == "$1" ]]; }
	wait_for 30 policy_round first
	printf 'version: 1\nprofiles:\n  default:\n    envy: {ROUND: second}\n' >"$HOME/.config/sbx/policy.yaml"
	sleep 0.5
	policy_round first
	run sbx policy show
	contains "$output" "policy.yaml:4:5"
	sed -i 's/envy/env/' "$HOME/.config/sbx/policy.yaml"
	wait_for 30 policy_round second
	[ "$(broker_pid)" = "$pid" ]
}

@test "the history survives the broker and its chain stays whole" {
	sbx run -- true
	broker_stop
	sbx run -- false || true
	sbx history --verify
	run sbx history --since 1h --json
	jq -es 'map(select(.kind == "session-start")) | length >= 2' <<<"$output"
	jq -es 'all(has("seq") and has("time") and has("kind") and has("session") and has("profile") and has("project") and has("process")
		and has("permission") and has("target") and has("verdict") and has("by") and has("why") and has("grant") and has("prompt")
		and has("detail"))' <<<"$output"
	jq -es 'all(.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}[.][0-9]{3}Z$"))' <<<"$output"
}

@test "an edited history row is named by --verify" {
	sbx run -- true
	broker_stop
	cp -r "$HOME/.local/state/sbx" "$HOME/run/saved"
	row=$(sqlite3 "$HOME/.local/state/sbx/sbx.db" "select min(seq) + 1 from events")
	run sqlite3 "$HOME/.local/state/sbx/sbx.db" "update events set profile = 'other' where seq = $row"
	[ "$status" != 0 ] # not by accident
	sqlite3 "$HOME/.local/state/sbx/sbx.db" "drop trigger events_are_final; update events set profile = 'other' where seq = $row"
	run sbx history --verify
	echo "$output"
	[ "$status" = 1 ]
	contains "$output" "$row"
	broker_stop
	rm -r "$HOME/.local/state/sbx"
	mv "$HOME/run/saved" "$HOME/.local/state/sbx"
	sbx history --verify
}

@test "a database that is no database, or of a newer version: a clear error, and nothing is overwritten" {
	broker_stop
	cp -r "$HOME/.local/state/sbx" "$HOME/run/saved"
	printf 'this is no database at all, only text%.0s' {1..200} >"$HOME/.local/state/sbx/sbx.db"
	rm -f "$HOME"/.local/state/sbx/sbx.db-*
	sum=$(sha256sum "$HOME/.local/state/sbx/sbx.db")
	run sbx run -- true
	one_error 125
	contains "$output" sbx.db
	[ "$(sha256sum "$HOME/.local/state/sbx/sbx.db")" = "$sum" ]
	rm -r "$HOME/.local/state/sbx"
	cp -r "$HOME/run/saved" "$HOME/.local/state/sbx"
	sqlite3 "$HOME/.local/state/sbx/sbx.db" 'pragma user_version = 999'
	run sbx run -- true
	one_error 125
	contains "$output" newer
	rm -r "$HOME/.local/state/sbx"
	mv "$HOME/run/saved" "$HOME/.local/state/sbx"
	run sbx run -- true
	[ "$status" = 0 ]
}

# downloads: two of them that never end, in a sandbox, one by plain HTTP and one by CONNECT; under way when it returns.
downloads() {
	rm -f plain tunnel
	background downloads sbx run --profile loader -- sh -c "
		curl -sNo plain http://good.test:$port/endless & one=\$!
		curl -sNpo tunnel http://good.test:$port/endless & two=\$!
		wait \$one; echo plain: \$?; wait \$two; echo tunnel: \$?"
	wait_for 60 test -s plain
	wait_for 60 test -s tunnel
}

downloads_are_cut() {
	finished downloads
	echo "$output"
	grep -Eq '^plain: [1-9]' <<<"$output"
	grep -Eq '^tunnel: [1-9]' <<<"$output"
	sbx prompts --json | jq -e 'length == 0'
}

# loader_policy RULES: in one move, so that no half of it is read.
loader_policy() {
	cat >"$HOME/run/policy" <<END
version: 1
profiles:
  loader:
    extends: [default]
    hosts: {good.test: 127.0.0.1}
$1
END
	mv "$HOME/run/policy" "$HOME/.config/sbx/policy.yaml"
}

@test "a grant revoked while the broker was gone ends its connections when it is back" {
	port=$(server "endless$BATS_TEST_NUMBER" server.py)
	loader_policy ''
	broker_stop
	sbx grant net:access "good.test:$port" --profile loader --always
	downloads
	pid=$(broker_pid)
	kill -9 "$pid"
	wait_for 30 gone "$pid"
	sbx revoke --all
	downloads_are_cut
}

@test "a denial ends the connections that it covers, a grant for something else leaves them" {
	port=$(server "endless$BATS_TEST_NUMBER" server.py)
	loader_policy "    allow: {net:access: ['good.test:$port']}"
	broker_stop
	downloads
	sbx grant net:access other.test --profile loader --always
	sbx grant --deny net:access bad.test --profile loader --always
	sbx grant fs:read /opt/other --profile loader --always
	sleep 0.5
	is_running downloads
	sbx grant --deny net:access good.test --profile loader --always
	downloads_are_cut
	sbx revoke --profile loader
}

@test "an edited policy ends the connections that it no longer allows" {
	port=$(server "endless$BATS_TEST_NUMBER" server.py)
	loader_policy "    allow: {net:access: ['good.test:$port']}"
	broker_stop
	downloads
	loader_policy "    allow: {net:access: ['good.test:$port', other.test]}"
	sleep 2
	is_running downloads
	loader_policy "    deny: {net:access: ['good.test:$port']}"
	downloads_are_cut
}
