#!/usr/bin/env bats
# How often is one asked in a day? day.sh is the day: npm install, tests, git push over ssh, three hosts, an agent that reads ten
# files. Everything it meets is on this machine's loopback, so a policy says two things that a real one needn't: the addresses
# of the names (`hosts:`), and that the registry of this test stands for the one that the built-in profile npm allows.
# All else is the built-in profiles. Who answers here takes the first scope that each question offers.

load helper
load native

setup_file() {
	home_make
	registry=$(server registry registry.py --name registry.test)
	API=$(server api server.py)
	DOCS=$(server docs server.py)
	FILES=$(server files server.py)
	export registry API DOCS FILES
	git_over_ssh
	app
	notes
	policy <<-END
		version: 1
		profiles:
		  base:
		    hosts: {git.test: 127.0.0.1, api.test: 127.0.0.1, docs.example.test: 127.0.0.1, files.example.org.test: 127.0.0.1}
		  npm:
		    hosts: {registry.test: 127.0.0.1}
		    allow:
		      net:access: ["registry.test:$registry"]
		    env: {npm_config_registry: "http://registry.test:$registry/"}
	END
}

# A git server that ssh reaches as git.test, a key for it in an ssh-agent and nowhere else.
git_over_ssh() {
	repository
	ssh_port=$(ssh_server)
	echo "[git.test]:$ssh_port $(cut -d' ' -f2- "$HOME/project/known_hosts")" >"$HOME/.ssh/known_hosts"
	SSH_AUTH_SOCK=$HOME/run/agent.sock
	ssh-agent -D -a "$SSH_AUTH_SOCK" >"$HOME/run/agent.log" 2>&1 3>&- &
	echo $! >"$HOME/run/ssh-agent.pid"
	export SSH_AUTH_SOCK ssh_port
	wait_for 60 listens "$SSH_AUTH_SOCK"
	chmod 600 "$HOME/project/key"
	ssh-add -q "$HOME/project/key"
	rm "$HOME"/project/{key,key.pub,known_hosts}
}

# The project that is worked on: a clone, with a package to install and tests.
app() {
	git config --global user.name tester
	git config --global user.email tester@example.test
	git clone -q "$HOME/served/repo.git" "$HOME/app"
	cd "$HOME/app" || return
	git remote set-url origin "ssh://$(id -un)@git.test:$ssh_port$HOME/served/repo.git"
	# ssh looks for ~/.ssh where /etc/passwd says, which isn't where this test has its home.
	git config core.sshCommand "ssh -o UserKnownHostsFile=$HOME/.ssh/known_hosts"
	echo '{"name": "app", "version": "1.0.0", "scripts": {"test": "node test.js"}, "dependencies": {"greet": "^1.0.0"}}' >package.json
	echo 'console.log("tested:", require("greet")("day"));' >test.js
	printf 'check:\n\t@node test.js\n' >Makefile
	cat >agent.py <<-'END'
		import os
		import subprocess
		import sys

		# As coding agents do: look what is there, then read it, by itself and by programs.
		notes = os.path.expanduser("~/notes")
		for number, name in enumerate(sorted(os.listdir(notes))):
		    name = f"{notes}/{name}"
		    if number % 2:
		        text = open(name).read()
		    else:
		        text = subprocess.run(["cat", name], capture_output=True, text=True, check=True).stdout
		    print("read:", text, end="")
	END
}

notes() {
	local number
	mkdir "$HOME/notes"
	for number in {1..10}; do echo "note $number of ten" >"$HOME/notes/note-$number.md"; done
}

# day WORD: it is worked through, and all of it could be done.
day() {
	DAY=$1 run timeout 600 bash "$TESTS/day.sh"
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c 'tested: HELLO DAY' <<<"$output")" = 2 ]
	[ "$(git -C "$HOME/served/repo.git" log -1 --format=%s main)" = "work of $1" ]
	contains "$output" "hello /$1 host=api.test:$API"
	contains "$output" "hello /$1 host=docs.example.test:$DOCS"
	contains "$output" "hello /$1 host=files.example.org.test:$FILES"
	[ "$(grep -c 'read: note [0-9]* of ten' <<<"$output")" = 10 ]
}

# asked_for NAME: its questions; what is put together in one bundle is one question.
asked_for() {
	jq -s 'map(.bundle // .id) | unique | length' "$HOME/run/$1.asked"
}

# table NAME TITLE: its questions, for whoever reads the test's output.
table() {
	printf '# %s: %s\n' "$2" "$(asked_for "$1") questions" >&3
	jq -rs 'to_entries[] | "\(.key + 1)\t\(.value.permission)\t\(.value.target)\t\(.value.answer) \(.value.scope)"' "$HOME/run/$1.asked" |
		sed "s|$HOME|~|g" | column -t -s $'\t' | sed 's/^/#   /' >&3
}

# prompts_recorded: how many the broker's own history has by now.
prompts_recorded() {
	sbx history --json | jq -s 'map(select(.kind == "prompt")) | length'
}

# later HOURS [ALSO_BOOT]: sbxd is started anew with its wall clock (CLOCK_REALTIME) so much later. With ALSO_BOOT its boot clock
# (CLOCK_BOOTTIME) is far later, too (by decades: libfaketime has it count from 1970), else it is the machine's. The clocks of
# sbx and of the tools stay.
later() {
	local library
	library=$(find /usr/lib* -name libfaketime.so.1 2>/dev/null | head -n 1)
	[[ $library ]] || { echo "libfaketime.so.1 is missing" >&2 && return 1; }
	broker_stop
	LD_PRELOAD=$library FAKETIME=+$1h DONT_FAKE_MONOTONIC=${2:-1} sbxd --foreground >"$HOME/run/sbxd.log" 2>&1 3>&- &
	wait_for 60 broker_pid >/dev/null
}

hours_ahead() {
	local last
	last=$(sbx history --json | jq -r 'select(.kind == "session-end").time' | tail -n 1)
	echo $((($(date -d "$last" +%s) - $(date +%s) + 60) / 3600))
}

forget() {
	sbx revoke --all >/dev/null
	broker_stop
}

@test "a day's work: at most 6 questions, none the next time, none 25 hours later" {
	answers first "allow:always:first=*=*"
	day monday
	table first "the first day, each answered \"Always, in this project\""
	[ "$(asked_for first)" -ge 4 ] # else it isn't asked what it should be
	[ "$(asked_for first)" -le 6 ]
	[ "$(prompts_recorded)" = "$(asked first)" ]
	answers_end first

	answers again "deny=*=*"
	day tuesday
	table again "done again"
	[ "$(asked again)" = 0 ]
	answers_end again

	later 25 ""
	answers later "deny=*=*"
	day wednesday
	[ "$(hours_ahead)" = 25 ]
	table later "25 hours later"
	[ "$(asked later)" = 0 ]
	[ "$(prompts_recorded)" = "$(asked first)" ]
	answers_end later
	forget
}

# bats file_tags=part2

# bats test_tags=ci
@test "what was allowed for an hour is asked again 25 hours later" {
	local before
	before=$(prompts_recorded)
	answers hour "allow:3600000:first=*=*"
	day thursday
	local asked
	asked=$(asked hour)
	[ "$asked" -ge 4 ]
	day friday # within the hour
	[ "$(asked hour)" = "$asked" ]
	answers_end hour

	later 25
	answers again "allow:3600000:first=*=*"
	day saturday
	[ "$(hours_ahead)" = 25 ]
	table again "25 hours after \"Allow 1 hour\""
	[ "$(asked again)" = "$asked" ]
	[ "$(prompts_recorded)" = $((before + 2 * asked)) ]
	answers_end again
	forget
}

@test "ten files read by name, each by a process of its own: two questions, then one about the folder" {
	answers notes "allow:always:first=*=*"
	cd "$HOME/app"
	# shellcheck disable=SC2016 # expanded in there
	run sbx run -- sh -c 'for number in 1 2 3 4 5 6 7 8 9 10; do cat ~/notes/note-$number.md; done'
	echo "$output"
	[ "$(grep -c 'note [0-9]* of ten' <<<"$output")" = 10 ]
	answers_end notes
	table notes "ten files by name"
	[ "$(jq -r .target "$HOME/run/notes.asked")" = "$HOME/notes/note-1.md
$HOME/notes/note-2.md
$HOME/notes" ]
	forget
}
