#!/usr/bin/env bats
# What sbx is for, as a user would see it.

load helper

setup_file() {
	home_make
	registry=$(server registry registry.py --name registry.test)
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=svc.test \
		-addext subjectAltName=DNS:svc.test -keyout "$HOME/run/key.pem" -out "$HOME/project/cert.pem" 2>/dev/null
	service=$(server service server.py --cert "$HOME/project/cert.pem" --key "$HOME/run/key.pem")
	export registry service
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    hosts: {svc.test: 127.0.0.1}
  npm:
    allow:
      net:access: ["registry.test:$registry"]
    hosts: {registry.test: 127.0.0.1}
    env: {npm_config_registry: "http://registry.test:$registry/"}
END
}

@test "npm install works under the npm profile and nothing is asked" {
	mkdir -p "$HOME/app" && cd "$HOME/app"
	npm init -y >/dev/null
	run sbx run -- npm install greet
	echo "$output"
	[ "$status" = 0 ]
	[ "$(node -p "require('greet')('sbx')")" = "HELLO SBX" ]
	[ "$(sbx history --json | jq -s 'map(select(.kind == "prompt")) | length')" = 0 ]
}

@test "a private key is not there" {
	run sbx run -- cat ~/.ssh/id_ed25519
	echo "$output"
	[ "$status" = 1 ]
	contains "$output" "No such file or directory"
	lacks "$output" "not a real key"
}

@test "a request to an undecided host is held, goes on when allowed, and is asked again when the grant has ended" {
	background curl sbx run -- curl -sS --cacert cert.pem "https://svc.test:$service/held"
	id=$(prompt_id)
	run sbx prompts --json
	jq -e ".[0] | .permission == \"net:access\" and .target == \"svc.test:$service\" and .profile == \"default\"
		and .project == \"$HOME/project\" and (.session | type) == \"number\" or (.session | type) == \"string\"" <<<"$output"
	is_running curl
	sbx allow "$id" --ttl 3s
	finished curl
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "hello /held host=svc.test:$service"

	sleep 3.1
	background curl sbx run -- curl -sS --cacert cert.pem "https://svc.test:$service/again"
	again=$(prompt_id)
	[ "$again" != "$id" ]
	is_running curl
	sbx deny "$again"
	finished curl
	[ "$status" != 0 ]
	lacks "$output" "hello /again"

	[ "$(sbx grants --json | jq 'map(select(.permission == "net:access")) | length')" = 0 ]
	sbx grants --all --json | jq -e "map(select(.pattern == \"svc.test:$service\")) | length == 1"
	run sbx grants --all
	contains "$output" "svc.test:$service"
}

@test "within the grant's time nothing is asked again" {
	sbx grant net:access "svc.test:$service" --profile default --ttl 1h
	run sbx run -- curl -sS --cacert cert.pem "https://svc.test:$service/granted"
	[ "$status" = 0 ]
	contains "$output" "hello /granted"
	no_prompt_is_pending
	sbx revoke --match net:access "svc.test:$service"
}

@test "grant, revoke by id, history --summary and --verify" {
	sbx grant net:access "svc.test:8443" --ttl 1h
	id=$(sbx grants --json | jq -er 'map(select(.pattern == "svc.test:8443"))[0].id')
	run sbx grants
	contains "$output" "svc.test:8443"
	run sbx revoke "$id"
	[ "$status" = 0 ]
	sbx grants --json | jq -e "map(select(.id == $id)) | length == 0"
	sbx grants --all --json | jq -e "map(select(.id == $id))[0].revoked != null"
	run sbx history --summary
	[ "$status" = 0 ]
	contains "$output" "default"
	contains "$output" "npm"
	run sbx history --verify
	[ "$status" = 0 ]
	sbx history --json | jq -es 'map(.kind) | (index("session-start") and index("prompt") and index("answer") and index("grant") and index("revoke"))'
}

@test "revoking cuts a live connection" {
	sbx grant net:access "svc.test:$service" --profile default --ttl 1h
	background curl sbx run -- curl -sSN --cacert cert.pem "https://svc.test:$service/endless"
	wait_for 30 grep -q begun "$HOME/run/curl.out"
	sbx revoke --match net:access "svc.test:$service"
	finished curl
	[ "$status" != 0 ]
}

@test "a revoked file grant: the next sandbox has it no more, and --kill ends who holds it open" {
	mkdir -p "$HOME/notes" && echo "a note" >"$HOME/notes/note"
	sbx grant fs:read "$HOME/notes" --profile default --ttl 10m
	background reader sbx run -- sh -c "exec 5<'$HOME/notes/note'; cat <&5; sleep 100"
	wait_for 30 grep -q "a note" "$HOME/run/reader.out"
	run sbx revoke --match fs:read "$HOME/notes" --kill
	echo "$output"
	[ "$status" = 0 ]
	finished reader
	[ "$status" != 0 ]
	answers agent 'deny=*=*' # it is asked about again
	run sbx run -- cat "$HOME/notes/note"
	[ "$(asked agent)" -ge 1 ]
	answers_end agent
	[ "$status" = 1 ]
	lacks "$output" "a note"
}

@test "a file grant that has ended by itself is gone for the next sandbox" {
	mkdir -p "$HOME/brief" && echo "brief" >"$HOME/brief/note"
	sbx grant fs:read "$HOME/brief" --profile default --ttl 1s
	sleep 1.5
	answers agent 'deny=*=*'
	run sbx run -- cat "$HOME/brief/note"
	[ "$(asked agent)" -ge 1 ]
	answers_end agent
	[ "$status" = 1 ]
	[ "$(sbx grants --json | jq "map(select(.pattern == \"$HOME/brief\")) | length")" = 0 ]
}
