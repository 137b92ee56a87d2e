#!/usr/bin/env bats
# Grants that come and go, a thousand times in a long run: nothing is left of them.
# shellcheck disable=SC2016 # expanded by sbx and inside the sandbox

# bats file_tags=stress

load helper

setup_file() {
	home_make
	asking_policy 60s '  bare:
    extends: [base]
    allow: {fs:write: ["${project}"]}'
	mkdir -p "$HOME/shared/deep"
	echo content >"$HOME/shared/deep/file"
	cp "$SBX_RACE" "$HOME/project/race"
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
}

# cycles PROFILE: eight processes read while it comes and goes.
cycles() {
	local mark="--mark-$1-$$"
	background readers sbx run --profile "$1" -- sh -c 'for i in 1 2 3 4 5 6 7 8; do
			(while :; do cat '"$HOME"'/shared/deep/file && ls '"$HOME"'/shared && stat '"$HOME"'/shared/deep; sleep 0.01; done) >/dev/null 2>&1 &
		done; touch up; sleep 1000; : "$0"' "$mark"
	wait_for 60 test -e up
	rm up
	run timeout 600 python3 "$TESTS/cycles.py" "$(broker_socket)" "$(times 100 1000)" "$mark" "$HOME/shared"
	echo "$output"
	echo "# $1: $output" >&3
	[ "$status" = 0 ]
	is_running readers
	sbx kill --all
	finished readers
}

@test "grants and revocations while 8 processes read: no mount, no descriptor and no memory is left" {
	cycles bare
}

@test "the same where each touch in between is held and asked about" {
	cycles default
	wait_for 30 no_prompt_is_pending
}
