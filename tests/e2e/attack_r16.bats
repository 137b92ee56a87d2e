#!/usr/bin/env bats
# Attack R16: GNOME Shell shows six lines of a notification. No button allows what isn't in them.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load desktop

setup_file() {
	home_make
	export folder=$HOME/notes/of-the-last-years-and-of-all-that-is-to-come/which-is-not-seen
	mkdir -p "$folder"
	for number in 1 2 3 4 5; do echo "note $number" >"$folder/note-number-$number.txt"; done
	cat >"$HOME/run/terminal" <<-'END'
		#!/bin/sh
		printf '%s\n' "$@" >"$HOME/run/terminal.words"
		env >"$HOME/run/terminal.environment"
		readlink /proc/self/fd/* >"$HOME/run/terminal.descriptors"
		exec "$2" monitor --help >"$HOME/run/terminal.answer"
	END
	chmod +x "$HOME/run/terminal"
	desktop_up
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  reader:
    extends: [default]
    ask:
      fs:read: [$(printf '%s, ' "$folder"/*)]
END
}

teardown_file() {
	agent_down
	server_down KILL
	bus_down
	home_remove
}

setup() {
	cd "$HOME/project" || return
	rm -f "$HOME"/run/terminal.*
	export TERMINAL=$HOME/run/terminal MARK=of-the-user
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	agent_down
	server_down KILL
}

agent_up() { # agent_up [VARIABLE=VALUE…]
	env "$@" "$SBX_BIN/sbx-notify" >"$HOME/run/notify.log" 2>&1 3>&- &
	sbx grants >/dev/null # starts the broker
	wait_for 30 registered
}

registered() {
	[[ $(broker '{"type":"status","id":2}' | jq .agents) == 1 ]]
}

wants_five() {
	background five sbx run --profile reader -- cat "$folder"/* </dev/null
}

answer_all() {
	# shellcheck disable=SC2046 # numbers
	sbx "$1" $(sbx prompts --json | jq '.[].id')
}

@test "attack_r_16: five things of which two would be seen: none is allowed by a button, and Review opens a terminal" {
	scripted
	agent_up
	wants_five
	notified 1 | jq -e '.summary == "cat wants 5 things" and .hints.urgency == 2
		and (.actions | length == 4 and .[1] == "Deny all" and .[3] == "Review")'
	press 1 review
	wait_for 30 test -s "$HOME/run/terminal.answer"
	wait_for 30 was_closed 1
	none grants
	[ "$(sbx prompts --json | jq length)" = 5 ]
	is_running five
	# The user's own environment, and nothing that a sandbox said.
	[ "$(<"$HOME/run/terminal.words")" = "-e"$'\n'"$(realpath "$SBX_BIN")/sbx"$'\n'"monitor" ]
	grep -qx MARK=of-the-user "$HOME/run/terminal.environment"
	grep -qx "DISPLAY=$DISPLAY" "$HOME/run/terminal.environment"
	run ! grep -q 'socket:\|pipe:' "$HOME/run/terminal.descriptors"
	contains "$(<"$HOME/run/terminal.answer")" "sbx monitor"
	answer_all allow
	finished five
	contains "$output" "note 5"
	sbx revoke --all
}

@test "attack_r_16: where no terminal can be opened the notification says what to type, and Deny all denies" {
	scripted
	agent_up TERMINAL=missing PATH=/nowhere
	wants_five
	press 1 review
	notified 2 | jq -e '(.body | startswith("No terminal could be opened. Type in one: sbx monitor\n"))
		and .actions[1] == "Deny all" and .actions[3] == "Review"'
	press 2 deny
	finished five
	lacks "$output" "note 1"
	[ "$(sbx grants --json | jq 'map(select(.effect == "allow")) | length')" = 0 ]
	sbx history --json | jq -se 'map(select(.kind == "answer" and .verdict == "deny" and .detail.agent == "desktop")) | length == 5'
}

opened() {
	[[ $(wc -l <"$HOME/run/terminal.opened") == "$1" ]]
}

@test "attack_r_16: Review opens a terminal while an earlier one's process lives, until four do" {
	cat >"$HOME/run/keeper" <<-'END'
		#!/bin/sh
		echo opened >>"$HOME/run/terminal.opened"
		until [ -e "$HOME/run/terminal.ends" ]; do sleep 0.2; done
	END
	chmod +x "$HOME/run/keeper"
	touch "$HOME/run/terminal.opened"
	scripted
	agent_up TERMINAL="$HOME/run/keeper"
	for number in 1 2 3 4 5; do
		wants_five
		press "$number" review
		((number == 5)) || wait_for 30 opened "$number"
		((number < 5)) || notified 6 | jq -e '.body | startswith("No terminal could be opened. Type in one: sbx monitor\n")'
		answer_all deny
		finished five
	done
	opened 4
	touch "$HOME/run/terminal.ends"
}

@test "attack_r_16: an allow that would cover a folder which is not seen has no button" {
	local long
	long=$HOME/secret/$(printf 'x%.0s' {1..100})/$(printf 'y%.0s' {1..100})
	mkdir -p "$long" "$HOME/brief"
	echo old | tee "$long/file" >"$HOME/brief/file"
	scripted
	agent_up
	sbx grant fs:read "$HOME/secret" --profile default
	sbx grant fs:read "$HOME/brief" --profile default
	background writes sbx run -- sh -c 'echo new >>"$1"' sh "$long/file" </dev/null
	notified 1 | jq -e '.summary == "sh wants to read and write a file" and .actions[1] == "Deny" and .actions[3] == "Review"
		and (.actions | length == 4)'
	sbx deny "$(prompt_id)"
	finished writes
	[ "$(<"$long/file")" = old ]
	background writes sbx run -- sh -c 'echo new >>"$1"' sh "$HOME/brief/file" </dev/null
	notified 2 | jq -e '(.body | startswith("<b>~/brief/file</b>\nAllowing covers the whole folder ~/brief\n"))
		and .actions[3] == "Allow read/write 1 hour"'
	press 2 allow
	finished writes
	[ "$(<"$HOME/brief/file")" = $'old\nnew' ]
	sbx revoke --all
}
