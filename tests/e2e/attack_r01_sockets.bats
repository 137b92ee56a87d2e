#!/usr/bin/env bats
# Withdrawn means for connections to the host's Unix sockets, too: however many there are, and whatever the tool does to its
# own ends. And what was withdrawn stays that when sbxd is another one.

load helper

setup_file() {
	home_make
	asking_policy
	sbx grants >/dev/null # starts the broker
	cp "$TESTS/links.py" "$HOME/project"
	(ulimit -Sn 4096 && exec python3 "$TESTS/links.py" serve "$HOME/run/host.sock") >"$HOME/run/server.log" 2>&1 3>&- &
	echo $! >"$HOME/run/server.pid" # home_remove ends it
	wait_for 60 grep -q ready "$HOME/run/server.log"
}

teardown() {
	touch "$HOME/project/go"
	sbx kill --all >/dev/null 2>&1 || true
	sbx revoke --all >/dev/null 2>&1 || true
	rm -f "$HOME/project/go"
}

says() { # says WORD: in a line of the holder's output so far
	grep -q "$1" "$HOME/run/holder.out"
}

@test "attack_r_01: connections whose own ends are bound to paths, over and over, end with their grant" {
	sbx grant ipc:connect "$HOME/run/host.sock" --profile default
	background holder sbx run --profile default -- python3 links.py bind "$HOME/run/host.sock" 1000
	wait_for 60 says holding
	run -0 sbx revoke --match ipc:connect "$HOME/run/host.sock"
	contains "$output" "ended in 1 of 1 running sandbox"
	touch go
	finished holder
	echo "$output"
	contains "$output" "holding 1000"
	contains "$output" "answer 0"
}

@test "past a sandbox's limit of connections to the host's Unix sockets the next is refused, and why is said" {
	sbx grant ipc:connect "$HOME/run/host.sock" --profile default
	background holder sbx run --profile default -- python3 links.py hold "$HOME/run/host.sock" 1100
	wait_for 60 says "holding 1024"
	touch go
	finished holder
	echo "$output"
	contains "$output" "answer 1024"
	contains "$output" "blocked ipc:connect $HOME/run/host.sock"
	contains "$output" "connections to sockets of this machine"
}

@test "attack_r_01: what a run was allowed by --allow and is revoked is not granted again by the next sbxd" {
	local folder=$HOME/given kept=$HOME/kept
	mkdir -p "$folder" "$kept"
	echo secret >"$folder/file"
	echo kept >"$kept/file"
	background holder sbx run --allow "fs:read=$folder" --allow "fs:read=$kept" --profile default -- \
		sh -c "until [ -e go ]; do sleep 0.02; done; cat $kept/file; cat $folder/file"
	wait_for 60 runs_with_grants 2
	run -0 sbx revoke --match fs:read "$folder"
	for round in 1 2; do
		echo "broker $round"
		pid=$(broker_pid)
		kill -9 "$pid"
		wait_for 60 gone "$pid"
		wait_for 60 runs_with_grants 1
		[ "$(broker_pid)" != "$pid" ]
	done
	[[ $(sbx grants) == *"$kept"* ]]
	touch go
	finished_answering deny holder
	echo "$output"
	contains "$output" kept
	lacks "$output" secret
}

runs_with_grants() {
	[[ $(sbx sessions --json | jq length) == 1 && $(sbx grants --json | jq length) == "$1" ]]
}
