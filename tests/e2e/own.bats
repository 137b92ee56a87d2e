#!/usr/bin/env bats
# Permissions of the user's own, from the policy to the history (sbx check), and a session that asks too much.

load helper

setup_file() {
	home_make
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
permissions:
  db:access: use the database
  api:call: call the company's API
profiles:
  default:
    allow:
      db:access: ["test-*"]
    ask:
      db:access: [prod, "stage-*"]
    deny:
      api:call: ["billing/*"]
  reports:
    extends: [default]
    allow:
      db:access: [prod]
END
}

setup() {
	cd "$HOME/project" || return
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id')
}

@test "rules decide: 0 and 1, with a line that says why" {
	run sbx check db:access test-7
	[ "$status" = 0 ]
	contains "$output" "allow: the profile default allows db:access test-*"
	run sbx check api:call billing/pay
	[ "$status" = 1 ]
	contains "$output" "deny: the profile default denies api:call billing/*"
	run sbx check db:access unknown
	[ "$status" = 1 ]
	contains "$output" "nothing allows db:access unknown"
	run sbx check --profile reports db:access=prod
	[ "$status" = 0 ]
}

@test "a question is held until sbx allow answers it: 0" {
	background held sbx check db:access prod --reason 'the nightly report'
	id=$(prompt_id)
	is_running held
	sbx prompts --json | jq -e '.[0] | .permission == "db:access" and .target == "prod" and .description == "use the database" and .reason == "the nightly report" and .session == null'
	run sbx prompts
	contains "$output" "db:access (use the database)"
	contains "$output" "the nightly report"
	sbx allow "$id"
	finished held
	[ "$status" = 0 ]
	contains "$output" "allow: you allowed it (prompt $id)"
	# For an hour nobody is asked again.
	run sbx check db:access prod
	[ "$status" = 0 ]
	contains "$output" "grant"
}

@test "and until sbx deny does: 1" {
	background held sbx check db:access stage-3
	sbx deny "$(prompt_id)"
	finished held
	[ "$status" = 1 ]
	contains "$output" "deny: you denied it"
	none grants
}

@test "--no-ask: a question is a no" {
	run sbx check --no-ask db:access prod
	[ "$status" = 1 ]
	contains "$output" "you would be asked"
	no_prompt_is_pending
}

@test "with nobody to ask it is no at once" {
	sed -i 's/without-agent: wait/without-agent: deny/' "$HOME/.config/sbx/policy.yaml"
	broker_stop
	run sbx check db:access prod
	[ "$status" = 1 ]
	contains "$output" "no terminal or desktop to ask on"
	sed -i 's/without-agent: deny/without-agent: wait/' "$HOME/.config/sbx/policy.yaml"
	broker_stop
}

@test "a script that is ended takes its question down" {
	sbx check db:access prod >"$HOME/run/dying" 2>&1 3>&- &
	pid=$!
	prompt_id
	kill "$pid"
	wait "$pid" || true
	wait_for 30 no_prompt_is_pending
}

@test "grants and their patterns, both ways; a deny rule refuses a grant" {
	sbx grant db:access 'stage-[12]' --profile default
	run sbx check db:access stage-1
	[ "$status" = 0 ]
	background other sbx check db:access stage-3
	sbx deny "$(prompt_id)"
	finished other
	[ "$status" = 1 ]
	sbx grant db:access stage-2 --deny --profile default
	run sbx check db:access stage-2
	[ "$status" = 1 ]
	run sbx grant api:call billing/pay --profile default
	[ "$status" = 1 ]
	contains "$output" "can't be granted"
	sbx revoke --match db:access 'stage-[12]'
	background gone sbx check db:access stage-1
	sbx deny "$(prompt_id)"
	finished gone
	[ "$status" = 1 ]
}

@test "a grant for a run holds for the session alone" {
	run sbx run --allow db:access=prod -- true
	[ "$status" = 0 ]
	sbx history --json | jq -se 'any(.kind == "grant" and .permission == "db:access" and .target == "prod" and .session > 0)'
	none grants
}

@test "what no policy declares is refused, with the nearest name" {
	for command in check grant why; do
		run sbx "$command" db:acess prod
		one_error "$([ "$command" = check ] && echo 125 || echo 1)"
		contains "$output" "no policy file declares db:acess"
		contains "$output" 'did you mean "db:access"?'
	done
	run sbx run --allow db:acess=prod -- true
	[ "$status" = 125 ]
	contains "$output" "no policy file declares db:acess"
	run sbx check fs:raed /etc
	one_error 2
}

@test "the history has each of them; why explains; the stack is shown" {
	sbx check db:access test-history
	sbx history --json --permission db:access | jq -se 'any(.kind == "decision" and .target == "test-history" and .verdict == "allow" and .by == "rules" and .profile == "default")'
	run sbx why db:access prod --profile reports
	[ "$status" = 0 ]
	contains "$output" "the profile reports allows db:access prod"
	run sbx policy show
	contains "$output" 'db:access: "use the database"'
	contains "$output" "#   requisite: flood"
}

summary_is_pending() {
	[[ $(sbx prompts --json | jq -r '.[0].permission') == sbx:ask ]]
}

@test "attack_b_12 a sandbox that asks too much: one summary, answered from another terminal; why shows it" {
	# shellcheck disable=SC2016 # expanded inside the sandbox
	background flood sbx run -- sh -c 'for i in $(seq 80); do curl -sS --max-time 30 "http://h$i.test/" & done; wait; sleep 60'
	wait_for 30 summary_is_pending
	sbx prompts --json | jq -e 'length == 1 and (.[0] | .permission == "sbx:ask" and .description == "go on asking")'
	session=$(sbx sessions --json | jq '.[0].id')
	run sbx why net:access more.test:80 --session "$session"
	contains "$output" "flood (requisite)"
	contains "$output" "has asked for 64 different things within"
	run sbx allow "$(sbx prompts --json | jq '.[0].id')"
	[ "$status" = 0 ]
	contains "$output" "Allowed prompt"
	none grants
	run sbx why net:access more.test:80 --session "$session"
	lacks "$output" "different things"
	sbx kill "$session"
	finished flood
}
