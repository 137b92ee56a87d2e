#!/usr/bin/env bats
# What a profile asks about is asked before the tool starts, all at once (issue: fewer questions).
# shellcheck disable=SC2016,SC2154 # expanded inside the sandbox; bats' own variables

load helper
load tmux

setup_file() {
	home_make
	tmux_home
	printf 'the token\n' >"$HOME/.toolrc"
	printf '#!/bin/sh\ncat "$HOME/.toolrc"; echo "token=$TOOL_TOKEN"\n' >"$HOME/project/tool"
	chmod +x "$HOME/project/tool"
	wanting deny 60s
}

# wanting WITHOUT-AGENT TIMEOUT
wanting() {
	policy <<END
version: 1
prompt: {timeout: $2, without-agent: $1}
profiles:
  tooled:
    extends: [default]
    ask:
      fs:read: [~/.toolrc, ~/.there-is-none]
      env:read: [TOOL_TOKEN, TOOL_ABSENT]
END
}

setup() {
	cd "$HOME/project" || return
	export TOOL_TOKEN=t0ken
	sbx revoke --all >/dev/null
	tmux_begin
}

teardown() {
	tmux_end
	[[ ! -e $HOME/run/user.pid ]] || answers_end user
}

run_tool() {
	run sbx run --profile tooled -- ./tool
}

prompts_shown() { # of the last session
	sbx history --json | jq -s '[.[] | select(.kind == "session-start")][-1].session as $last
		| [.[] | select(.kind == "prompt" and .detail.state == "shown" and .session == $last)] | length'
}

@test "what is there is asked for together, and the tool starts with what was allowed" {
	answers user allow='*'='*'
	run_tool
	[[ $status == 0 && $output == $'the token\ntoken=t0ken' ]]
	[[ $(asked user) == 2 ]]
	[[ $(jq -s 'map(.bundle) | unique | length' "$HOME/run/user.asked") == 1 ]]
	[[ $(jq -s '.[0].bundle == .[0].id' "$HOME/run/user.asked") == true ]]
	run jq -r '"\(.permission) \(.target)"' "$HOME/run/user.asked"
	[[ $output == "fs:read $HOME/.toolrc"$'\n'"env:read TOOL_TOKEN" ]]
}

@test "always is always: the next run asks nothing" {
	answers user allow:always='*'='*'
	run_tool
	answers_end user
	answers user deny='*'='*'
	run_tool
	[[ $status == 0 && $output == $'the token\ntoken=t0ken' && $(asked user) == 0 ]]
}

@test "what is denied is not there, and the tool runs; the next run asks anew" {
	answers user allow=env:read='*' deny='*'='*'
	run_tool
	[[ $status == 0 ]]
	contains "$output" "token=t0ken"
	lacks "$output" "the token"
	[[ $(asked user) == 2 ]] # not again when it was touched
	answers_end user
	answers user allow='*'='*'
	run_tool
	contains "$output" "the token"
}

@test "what the user denies at the start is said at the end, and counts for --fail-on-deny" {
	answers user allow=env:read='*' deny='*'='*'
	run sbx run --profile tooled --fail-on-deny -- ./tool
	[[ $status == 125 ]]
	contains "$output" "sbx: blocked fs:read $HOME/.toolrc (you denied it (prompt "
	contains "$output" "it was denied for this run alone"
}

@test "a question before the start says so, and that its denial holds for the run" {
	unset TOOL_TOKEN
	tmux set-environment -ru TOOL_TOKEN
	type_line 'clear; unset TOOL_TOKEN; sbx run --profile tooled -- ./tool'
	sees_question
	shows '^  asked by session [0-9]+, before its tool starts$'
	shows '^  deny       not in this run \(also Ctrl-C\)$'
	type_line deny
	sees '^sbx: denied until this run ends$'
}

@test "with nobody to ask nothing waits, and nothing is written down as denied by anybody" {
	run_tool
	contains "$output" "token="
	lacks "$output" t0ken
	[[ $(prompts_shown) == 0 ]]
}

# The last grant for one use: what of, its uses, how many are in force.
once_of() {
	sbx grants --all --json | jq -r 'map(select(.lifetime == "once")) | max_by(.id) | "\(.permission) \(.pattern) \(.uses)"'
	sbx grants --json | jq 'map(select(.lifetime == "once")) | length'
}

decided() { # of the variable, in the last run
	sbx history --json | jq -rs '[.[] | select(.kind == "session-start")][-1].session as $last
		| .[] | select(.session == $last and .permission == "env:read" and (.kind == "decision" or .kind == "use")) | "\(.kind) \(.target) \(.verdict)"'
}

@test "a variable that nobody can be asked about is on record as denied, and said" {
	run sbx run --profile tooled --fail-on-deny -- sh -c 'echo "token=$TOOL_TOKEN"'
	[[ $status == 125 ]]
	contains "$output" "token="
	lacks "$output" t0ken
	contains "$output" "blocked env:read TOOL_TOKEN (no terminal or desktop to ask on"
	contains "$output" "sbx grant env:read TOOL_TOKEN --profile tooled"
	[[ $(decided) == "decision TOOL_TOKEN deny" ]]
}

@test "a variable granted for one use: the next run has it unasked, and uses it up" {
	answers user deny='*'='*'
	sbx grant env:read TOOL_TOKEN --profile tooled --once
	run sbx run --profile tooled --print-plan -- true
	[[ $status == 0 && $(once_of) == "env:read TOOL_TOKEN 0"$'\n1' ]] # a look uses nothing up
	run sbx run --profile tooled -- sh -c 'echo "token=$TOOL_TOKEN"'
	[[ $status == 0 && ${lines[0]} == token=t0ken ]]
	[[ $(jq -r .permission "$HOME/run/user.asked") == fs:read ]]
	[[ $(once_of) == "env:read TOOL_TOKEN 1"$'\n0' ]]
	[[ $(decided | sort) == $'decision TOOL_TOKEN allow\nuse TOOL_TOKEN allow' ]]
	run sbx run --profile tooled -- sh -c 'echo "token=$TOOL_TOKEN"'
	contains "$output" "token="
	lacks "$output" t0ken
	[[ $(jq -r .permission "$HOME/run/user.asked" | tail -n 1) == env:read ]]
}

@test "a variable granted for one use that no rule asks about is given by it, too" {
	sbx grant env:read TOOL_OTHER --once
	TOOL_OTHER=given run sbx run --profile default -- sh -c 'echo "other=$TOOL_OTHER"'
	[[ $status == 0 && $output == other=given ]]
	[[ $(once_of) == "env:read TOOL_OTHER 1"$'\n0' ]]
	TOOL_OTHER=given run sbx run --profile default -- sh -c 'echo "other=$TOOL_OTHER"'
	[[ $output == other= ]]
}

@test "a variable that is granted for one use while it is asked about, and one that is revoked before the start" {
	wanting wait 60s
	background given sbx run --profile tooled -- ./tool
	prompt_id
	sbx grant env:read TOOL_TOKEN --profile tooled --once
	sbx deny "$(sbx prompts --json | jq '.[].id')"
	finished given
	[[ $status == 0 ]]
	contains "$output" "token=t0ken"
	[[ $(once_of) == "env:read TOOL_TOKEN 1"$'\n0' ]]
	sbx grant env:read TOOL_TOKEN --profile tooled --once
	background revoked sbx run --profile tooled -- ./tool
	prompt_id
	[[ $(once_of) == "env:read TOOL_TOKEN 1"$'\n0' ]]
	run sbx revoke "$(sbx grants --all --json | jq 'map(select(.lifetime == "once")) | max_by(.id).id')"
	sbx deny "$(sbx prompts --json | jq '.[].id')"
	finished revoked
	contains "$output" "token="
	lacks "$output" t0ken
	wanting deny 60s
}

@test "nothing that is there, nothing that is asked" {
	unset TOOL_TOKEN
	mv "$HOME/.toolrc" "$HOME/.toolrc.gone"
	answers user deny='*'='*'
	run sbx run --profile tooled -- true
	mv "$HOME/.toolrc.gone" "$HOME/.toolrc"
	[[ $status == 0 && $(asked user) == 0 ]]
}

@test "a run that records asks nobody" {
	answers user allow='*'='*'
	run sbx run --profile tooled --record -- true
	[[ $status == 0 && $(asked user) == 0 ]]
}

@test "sbx kill ends a run that hasn't started" {
	wanting wait 60s
	background killed sbx run --profile tooled -- ./tool
	prompt_id
	run sbx kill --all
	[[ $status == 0 ]]
	finished killed
	[[ $status == 137 ]]
	contains "$output" "sbx kill"
	wait_for 30 no_prompt_is_pending
	wanting deny 60s
}

@test "a broker that goes takes the question with it: the next one asks it" {
	wanting wait 60s
	background again sbx run --profile tooled -- ./tool
	prompt_id
	kill -KILL "$(broker_pid)"
	wait_for 30 prompt_is_pending
	for id in $(sbx prompts --json | jq '.[].id'); do sbx allow "$id" --session; done
	finished again
	[[ $status == 0 && $output == $'the token\ntoken=t0ken' ]]
	wanting deny 60s
}

@test "in a terminal the question comes before the tool" {
	type_line "cd ~/project; TOOL_TOKEN=t0ken sbx run --profile tooled -- ./tool"
	sees '\.toolrc'
	sees 'TOOL_TOKEN'
	sees 'choose\?$'
	lacks "$(screen)" "token="
	type_line "allow $(code)"
	sees '^token=t0ken$'
	sees '^the token$'
}

@test "who is asked elsewhere is told what a run waits for" {
	answers user --kind desktop leave='*'='*'
	type_line "cd ~/project; TOOL_TOKEN=t0ken sbx run --profile tooled -- ./tool"
	sees 'tool starts when you have answered what it may have'
	wait_for 30 prompt_is_pending
	for id in $(sbx prompts --json | jq '.[].id'); do sbx allow "$id" --session; done
	sees '^token=t0ken$'
}

@test "^C while others are asked ends the run, and nothing of it is left" {
	answers user --kind desktop leave='*'='*'
	type_line "cd ~/project; TOOL_TOKEN=t0ken sbx run --profile tooled -- ./tool"
	sees 'starts when you have answered'
	mapfile -t pids < <(pgrep -P "$(sbx sessions --json | jq '.[0].pid')")
	((${#pids[@]} > 0))
	tmux send-keys C-c
	type_line 'echo status $?'
	sees '^status 130'
	for pid in "${pids[@]}"; do wait_for 30 gone "$pid"; done
	wait_for 30 no_prompt_is_pending
}

@test "attack_r_16: of a link to a folder the question says that all in it is meant" {
	mkdir -p "$HOME/kept"
	echo "kept" >"$HOME/kept/file"
	ln -sfn "$HOME/kept" "$HOME/.way"
	policy <<-END
		version: 1
		profiles: {tooled: {extends: [default], ask: {fs:read: [~/.way]}}}
	END
	answers user --kind desktop leave='*'='*'
	background way sbx run --profile tooled -- cat "$HOME/.way/file" </dev/null
	wait_for 30 prompt_is_pending
	sbx prompts --json | jq -e '.[0] | .target == env.HOME + "/.way" and .description == "read everything in"'
	sbx allow "$(prompt_id)"
	finished way
	[[ $status == 0 && $output == kept ]]
}
