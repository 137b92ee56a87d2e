#!/usr/bin/env bats
# The history: what it shows, how it is followed, summed up, verified, kept and told elsewhere.

load helper

setup() {
	home_make
	policy <<'END'
version: 1
prompt: {without-agent: deny}
END
	cd "$HOME/project" || return 1
}

teardown() {
	home_remove
}

# A decision that is denied; the target may hold any bytes.
decide() {
	local permission=${2:-net:access}
	sbx check -- "$permission" "$1" >/dev/null 2>&1 || true
}

@test "a summary is a sentence a day, profile and project, and rows with --json" {
	sbx run -- true
	decide one.test:443
	decide two.test:443
	run sbx history --summary
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = "today default in ~/project: 1 session, 2 decisions, 2 denied" ]
	run sbx history --summary --json
	[ "$(jq -r '.[0] | [.profile, .sessions, .decisions, .asked, .denied] | @csv' <<<"$output")" = '"default",1,2,0,2' ]
	[ "$(jq -r '.[0].day' <<<"$output")" = "$(date +%Y-%m-%d)" ]
	run sbx history --summary --profile npm
	[ "$output" = "Nothing in the history fits." ]
	run sbx history --summary --verdict deny
	[ "$status" = 2 ]
	run sbx history --summary --session 1
	[ "$output" = "today default in ~/project: 1 session" ]
}

@test "a summary up to a time has the quarter of an hour that it lies in" {
	decide one.test:443
	run sbx history --summary --until "$(date -u -d "+1 second" +%Y-%m-%dT%H:%M:%SZ)"
	echo "$output"
	[ "$output" = "today default in ~/project: 1 decision, 1 denied" ]
	run sbx history --summary --until 2d
	[ "$output" = "Nothing in the history fits." ]
}

@test "days of a summary are those of the caller's time zone" {
	decide one.test:443
	here=$(TZ=UTC+12 date +%Y-%m-%d)
	there=$(TZ=UTC-12 date +%Y-%m-%d)
	[ "$(TZ=UTC+12 sbx history --summary --json | jq -r '.[0].day')" = "$here" ]
	[ "$(TZ=UTC-12 sbx history --summary --json | jq -r '.[0].day')" = "$there" ]
}

@test "--follow shows each row once as it comes, those of a filter alone, in each format" {
	decide before.test:443
	sbx history --follow --json >"$HOME/all" &
	all=$!
	sbx history --follow --csv --permission fs:read >"$HOME/reads" &
	reads=$!
	wait_for 30 grep -q before.test "$HOME/all"
	for i in $(seq 30); do decide "host$i.test:443"; done
	decide "$HOME/nothing" fs:read
	wait_for 30 grep -q nothing "$HOME/reads"
	wait_for 30 grep -q nothing "$HOME/all"
	kill "$all" "$reads"
	[ "$(jq -r .seq "$HOME/all" | sort -n | uniq -d)" = "" ]
	[ "$(jq -r .seq "$HOME/all")" = "$(seq "$(jq -r .seq "$HOME/all" | tail -n 1)")" ]
	[ "$(wc -l <"$HOME/reads")" = 2 ]
}

@test "--follow goes on after the broker was killed, without a gap" {
	decide one.test:443
	sbx history --follow --json >"$HOME/all" &
	follower=$!
	wait_for 30 grep -q one.test "$HOME/all"
	kill -9 "$(broker_pid)"
	decide two.test:443
	wait_for 30 grep -q two.test "$HOME/all"
	kill "$follower"
	cat "$HOME/all"
	[ "$(jq -r 'select(.kind == "decision").target' "$HOME/all" | tr '\n' ' ')" = "one.test:443 two.test:443 " ]
	[ "$(jq -r .seq "$HOME/all")" = "$(seq "$(jq -r .seq "$HOME/all" | tail -n 1)")" ]
}

@test "attack_b_09 csv: hostile bytes stay on their line, formulas are guarded, quotes doubled" {
	printf 'version: 1\npermissions: {db:access: use it}\n' | policy
	decide '=cmd|"/c calc"!A1' db:access
	decide $'+two\n,lines\r\e[31m\xff' db:access
	decide '@sum' db:access
	decide '-1' db:access
	sbx history --permission db:access --csv >"$HOME/csv"
	cat -A "$HOME/csv"
	[ "$(grep -c $'\r$' "$HOME/csv")" = 5 ]
	[ "$(wc -l <"$HOME/csv")" = 5 ]
	lacks "$(cat "$HOME/csv")" $'\e'
	run python3 -c "
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1], newline='', encoding='utf-8'), strict=True))
print(*[row['target'] for row in rows], sep='\n')" "$HOME/csv"
	echo "$output"
	[ "$status" = 0 ]
	[ "${lines[0]}" = "'=cmd|\"/c calc\"!A1" ]
	[ "${lines[1]}" = "'+two\\n,lines\\r\\x1b[31m\\xff" ]
	[ "${lines[2]}" = "'@sum" ]
	[ "${lines[3]}" = "'-1" ]
}

@test "options add up with --follow; --head belongs to --verify" {
	decide one.test:443
	sbx history --follow --json --verdict deny --profile default --permission net:access --since 1h >"$HOME/all" &
	follower=$!
	wait_for 30 grep -q one.test "$HOME/all"
	sbx grant net:access two.test --any-profile --anywhere >/dev/null
	sbx check net:access two.test:443
	decide three.test:443
	wait_for 30 grep -q three.test "$HOME/all"
	kill "$follower"
	[ "$(jq -r .target "$HOME/all" | tr '\n' ' ')" = "one.test:443 three.test:443 " ]
	run sbx history --head 1:x
	[ "$status" = 2 ]
}

@test "attack_b_18 an edited row, index or tally is named" {
	decide one.test:443
	decide two.test:443
	run sbx history --verify
	[ "$status" = 0 ]
	head=$(grep -o '[0-9]*:[0-9a-f]\{64\}' <<<"$output")
	run sbx history --verify --head "$head"
	[ "$status" = 0 ]
	sbx history --summary >/dev/null
	broker_stop
	sqlite3 "$HOME/.local/state/sbx/sbx.db" "UPDATE tallies SET denied = 0"
	run sbx history --verify
	echo "$output"
	[ "$status" = 1 ]
	contains "$output" "tallies"
	run sbx history --verify
	[ "$status" = 0 ]
	[ "$(sbx history --summary)" = "today default in ~/project: 2 decisions, 2 denied" ]
	broker_stop
	sqlite3 "$HOME/.local/state/sbx/sbx.db" "DROP TRIGGER events_are_final; UPDATE events SET verdict = 'allow' WHERE seq = 2"
	run sbx history --verify
	[ "$status" = 1 ]
	contains "$output" "row 2: this row doesn't match its hash"
}

@test "attack_b_18 a history made anew by somebody lacks the row of a head that was told before" {
	decide one.test:443
	head=$(sbx history --verify | grep -o '[0-9]*:[0-9a-f]\{64\}')
	broker_stop
	rm "$HOME"/.local/state/sbx/sbx.db*
	decide one.test:443
	run sbx history --verify
	[ "$status" = 0 ]
	run sbx history --verify --head "$head"
	echo "$output"
	[ "$status" = 1 ]
	contains "$output" "another hash"
}

@test "history.keep: what is older goes, an event tells of it, the chain holds" {
	policy <<'END'
version: 1
prompt: {without-agent: deny}
history: {keep: 2s}
END
	for i in $(seq 20); do decide "host$i.test:443"; done
	sbx run -- true
	background keeps sbx run -- sleep 1000 # so that the broker stays
	wait_for 60 the_old_is_gone
	run sbx history --json
	lacks "$output" host1.test
	[ "$(jq -rs 'map(select(.by == "retention")) | length > 0' <<<"$output")" = true ]
	run sbx history --verify
	echo "$output"
	[ "$status" = 0 ]
	sbx kill --all
	finished keeps
}

the_old_is_gone() {
	[[ $(sbx history --json) != *host1.test* && $(sbx sessions --all --json | jq 'map(select(.id == 1)) | length') == 0 ]]
}

@test "heads go to the journal with fields of their own, and doctor says so" {
	# shellcheck disable=SC2016 # expanded in there
	in_own_mounts '
		mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/journal
		python3 "$TESTS/datagrams.py" /run/systemd/journal/socket "$HOME/lines" &
		while [ ! -S /run/systemd/journal/socket ]; do sleep 0.05; done
		plain sbx run -- true
		plain sbx doctor >"$HOME/doctor" || true
		kill %1'
	cat "$HOME/lines" "$HOME/doctor"
	grep -q "^ok *heads .*journal" "$HOME/doctor"
	for field in SYSLOG_IDENTIFIER=sbxd SBX_SESSION=1 'SBX_HEAD_SEQ=[0-9]*' 'SBX_HEAD_HASH=[0-9a-f]*'; do
		grep -q "^$field\$" "$HOME/lines"
	done
	head=$(sed -n 's/^SBX_HEAD_SEQ=//p' "$HOME/lines" | head -n 1):$(sed -n 's/^SBX_HEAD_HASH=//p' "$HOME/lines" | head -n 1)
	run sbx history --verify --head "$head"
	echo "$output"
	[ "$status" = 0 ]
}
