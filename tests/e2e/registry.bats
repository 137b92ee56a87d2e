#!/usr/bin/env bats
# npm against the real registry, wherever this machine's npm finds it.

load helper

@test "npm install express from the real registry, nothing asked" {
	mkdir -p "$HOME/app" && cd "$HOME/app"
	npm init -y >/dev/null
	timeout 30 npm view express version --fetch-retries=0 >/dev/null 2>&1 ||
		skip "optional: the npm registry can't be reached from here; NOT TESTED against the real one"
	# Behind a company's mirror the registry has a private address, which takes an explicit rule.
	host=$(npm config get registry | sed -E 's|^https?://([^/:]*).*|\1|')
	address=$(getent hosts "$host" | awk '{ print $1; exit }')
	if python3 -c 'import ipaddress, sys; sys.exit(ipaddress.ip_address(sys.argv[1]).is_global)' "$address"; then
		echo "# $host has the private address $address here: tested with private: true" >&3
		printf 'version: 1\nprofiles:\n  npm:\n    allow:\n      net:access: [{target: "%s:443", private: true}]\n' "$host" | policy
	fi
	run timeout 240 sbx run -- npm install --no-audit --no-fund express
	echo "$output"
	[ "$status" = 0 ]
	node -e "require('express')()"
	[ "$(sbx history --json | jq -s 'map(select(.kind == "prompt")) | length')" = 0 ]
}
