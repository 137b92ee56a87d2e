#!/usr/bin/env bats
# Connections go out through the proxy that the policy names: a real tinyproxy, which alone knows where far.test is.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

# proxy_start NAME USER PASSWORD: prints its port.
proxy_start() {
	local port
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >"$HOME/run/$1.conf" <<END
Port $port
Listen 127.0.0.1
Timeout 60
Allow 127.0.0.1
BasicAuth $2 $3
DisableViaHeader Yes
LogLevel Connect
LogFile "$HOME/run/$1.requests"
END
	unshare -rm sh -c 'mount --bind "$1" /etc/hosts && exec tinyproxy -d -c "$2"' sh "$HOME/run/hosts" "$HOME/run/$1.conf" \
		>"$HOME/run/$1.log" 2>&1 3>&- &
	echo $! >"$HOME/run/$1.pid"
	wait_for 60 curl -s -o /dev/null "http://127.0.0.1:$port/" || { cat "$HOME/run/$1.log" >&2 && return 1; }
	echo "$port"
}

setup_file() {
	home_make
	printf '127.0.0.1 localhost far.test\n' >"$HOME/run/hosts"
	far=$(server far server.py --log "$HOME/run/requests")
	proxy=$(proxy_start proxy ada s3cret-w0rd)
	export far proxy
}

# upstream_policy ADDRESS
upstream_policy() {
	policy <<END
version: 1
prompt: {without-agent: deny}
upstream: $1
profiles:
  default:
    network: ${SBX_TEST_NETWORK:-native}
    allow: {net:access: [far.test, near.test]}
    hosts: {near.test: 127.0.0.1}
  own:
    extends: [default]
    upstream: none
END
	chmod 600 "$HOME/.config/sbx/policy.yaml"
}

setup() {
	cd "$HOME/project" || return
	: >"$HOME/run/requests"
	upstream_policy "http://ada:s3cret-w0rd@127.0.0.1:$proxy"
}

get() { # get PROFILE HOST: its page
	run sbx run --profile "$1" -- curl -sS --max-time 30 "http://$2:$far/page"
	echo "$output ($status)"
}

@test "what is allowed goes out through the proxy, with its password" {
	get default far.test
	contains "$output" "hello /page"
	grep -q "CONNECT far.test:$far" "$HOME/run/proxy.requests"
	sbx history --json | jq -se --arg target "far.test:$far" 'any(.[]; .kind == "connection" and .target == $target)'
}

@test "what is denied is not told to the proxy" {
	local before
	before=$(wc -l <"$HOME/run/proxy.requests")
	get default other.test
	contains "$output" "blocked net:access other.test:$far"
	[ "$(wc -l <"$HOME/run/proxy.requests")" = "$before" ]
}

@test "hosts: and a profile without it go out directly" {
	local before
	before=$(wc -l <"$HOME/run/proxy.requests")
	get default near.test
	contains "$output" "hello /page"
	get own near.test
	contains "$output" "hello /page"
	get own far.test # which the proxy alone knows
	lacks "$output" hello
	[ "$(wc -l <"$HOME/run/proxy.requests")" = "$before" ]
}

@test "a password that isn't taken is a sentence for the user" {
	upstream_policy "http://ada:wr0ng-w0rd@127.0.0.1:$proxy"
	get default far.test
	contains "$output" "does not take the user ada"
	lacks "$output" hello
	lacks "$output" wr0ng
	[ ! -s "$HOME/run/requests" ]
}

@test "the password is nowhere but in the policy: not inside, not in history, logs, plans" {
	run sbx run -- sh -c 'env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr "\0" "\n"; cat /etc/resolv.conf'
	lacks "$output" s3cret
	run sbx run --print-plan -- true
	lacks "$output" s3cret
	sbx run -- curl -sS --max-time 30 "http://far.test:$far/page"
	for what in "history --json" "sessions --all --json" "grants --all --json" "policy show" "policy check" "why net:access far.test:$far" "doctor --json"; do
		# shellcheck disable=SC2086 # words
		run sbx $what
		echo "$what: $output" | head -n 3
		[ -n "$output" ]
		lacks "$output" s3cret
	done
	broker_stop
	run ! grep -rqa -e s3cret -e YWRhOnMzY3JldC13MHJk "$HOME/.local/state/sbx"
	grep -q s3cret "$HOME/.config/sbx/policy.yaml" # what was looked for can be found
}

@test "a policy with a password that others may read is warned of" {
	chmod 644 "$HOME/.config/sbx/policy.yaml"
	run sbx run -- true
	contains "$output" "others than its owner may read the password"
	run sbx policy check
	contains "$output" "others than its owner may read the password"
	lacks "$output" s3cret
	chmod 600 "$HOME/.config/sbx/policy.yaml"
	run sbx run -- true
	lacks "$output" password
}

@test "doctor says that there is a proxy, and whether it answers" {
	run sbx doctor --json
	jq -e --arg port "$proxy" '.[] | select(.check == "upstream") | .status == "ok" and (.detail | contains("http://127.0.0.1:" + $port))' <<<"$output"
	upstream_policy "http://ada:s3cret-w0rd@127.0.0.1:1"
	run sbx doctor --json
	jq -e '.[] | select(.check == "upstream") | .status == "warn" and (.detail | contains("refused"))' <<<"$output"
	lacks "$output" s3cret
}

@test "a running sandbox follows when the proxy is another" {
	background curls sbx run -- sh -c 'until [ -e go ]; do sleep 0.1; done; curl -sS --max-time 30 "http://far.test:'"$far"'/late"'
	wait_for 60 sh -c 'sbx sessions --json | jq -e "length > 0"'
	other=$(proxy_start other bob another-w0rd)
	sed -i "s|^upstream: .*|upstream: http://bob:another-w0rd@127.0.0.1:$other|" "$HOME/.config/sbx/policy.yaml"
	sbx policy show | grep -q "127.0.0.1:$other"
	touch go
	finished curls
	echo "$output"
	contains "$output" "hello /late"
	grep -q "CONNECT far.test:$far" "$HOME/run/other.requests"
}
