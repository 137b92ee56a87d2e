#!/usr/bin/env bats
# npm against the real registry, wherever this machine's npm finds it.

load helper

@test "npm install express from the real registry, nothing asked" {
	mkdir -p "$HOME/app" && cd "$HOME/app"
	npm init -y >/dev/null
	timeout 30 npm view express version --fetch-retries=0 >/dev/null 2>&1 ||
		skip "optional: the npm registry can't be reached from here; NOT TESTED against the real one"
	run timeout 240 sbx run -- npm install --no-audit --no-fund express
	echo "$output"
	[ "$status" = 0 ]
	node -e "require('express')()"
	[ "$(sbx history --json | jq -s 'map(select(.kind == "prompt")) | length')" = 0 ]
}
