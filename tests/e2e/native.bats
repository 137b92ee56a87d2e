#!/usr/bin/env bats
# The native network as a user would see it: any program gets out by name, without proxy variables, once somebody has allowed it.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load native

setup_file() {
	home_make
	certificate git.test api.test asked.test
	repository
	ssh=$(ssh_server)
	web=$(server web server.py --cert "$HOME/project/cert.pem" --key "$HOME/run/key.pem")
	plain=$(server plain server.py --log "$HOME/run/requests")
	postgres=$(postgres_server)
	export ssh web plain postgres
	cp "$BATS_TEST_DIRNAME/clients/ticking.js" "$HOME/project"
	native_policy "    hosts: {git.test: 127.0.0.1, api.test: 127.0.0.1, db.test: 127.0.0.1, denied.test: 127.0.0.1}
    deny:
      net:access: [denied.test]
    env:
      GIT_SSH_COMMAND: ssh -i $HOME/project/key -o UserKnownHostsFile=$HOME/project/known_hosts -o HostKeyAlias=git.test"
}

prompts() {
	sbx prompts --json | jq length
}

@test "no proxy variables, and no interface but the loopback" {
	run sbx run -- sh -c 'env | grep -i proxy; ls /sys/class/net 2>/dev/null || cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d " "'
	echo "$output"
	[ "$output" = lo ]
}

@test "git clone over ssh is held, and clones when it is allowed" {
	background clone sbx run -- git clone -q "ssh://$(id -un)@git.test:$ssh$HOME/served/repo.git" cloned
	id=$(prompt_id)
	sbx prompts --json | jq -e ".[0] | .permission == \"net:access\" and .target == \"git.test:$ssh\""
	is_running clone
	[ ! -e cloned/file ]
	sbx allow "$id"
	finished clone
	echo "$output"
	[ "$status" = 0 ]
	[ "$(<cloned/file)" = "from the repository" ]
	no_prompt_is_pending
}

@test "node's fetch is held while its event loop goes on, and gets its answer" {
	background fetch sbx run --env NODE_EXTRA_CA_CERTS="$HOME/project/cert.pem" -- node ticking.js "https://api.test:$web/ticking"
	id=$(prompt_id)
	sbx prompts --json | jq -e ".[0].target == \"api.test:$web\""
	before=$(grep -c tick "$HOME/run/fetch.out" || true)
	wait_for 60 more_ticks_than $((before + 10))
	sbx allow "$id"
	finished fetch
	echo "$output" | tail -3
	[ "$status" = 0 ]
	contains "$output" "hello /ticking host=api.test:$web"
}

more_ticks_than() {
	(($(grep -c tick "$HOME/run/fetch.out") > $1))
}

@test "a blocking connect that is denied fails with EACCES, one that doesn't block is reset; nothing arrives" {
	: >"$HOME/run/requests"
	run sbx run -- python3 -c "
import socket
try:
    socket.create_connection(('denied.test', $plain))
except OSError as error:
    print(type(error).__name__)"
	echo "$output"
	[[ $output == gaierror* ]] # a name that is denied at every port doesn't resolve
	background two sbx run -- python3 -c "
import socket
try:
    socket.create_connection(('api.test', $plain)) # tries both of its addresses
except OSError as error:
    print(type(error).__name__)"
	id=$(prompt_id)
	sbx deny "$id"
	finished two # by one answer
	echo "$output"
	contains "$output" PermissionError
	background three sbx run -- curl -sS "http://api.test:$plain/"
	id=$(prompt_id)
	sbx deny "$id"
	finished three
	echo "$output"
	[ "$status" != 0 ]
	[ ! -s "$HOME/run/requests" ]
}

@test "a connection that the host's server refuses is refused" {
	closed=$(server closed bound.py)
	sbx grant net:access "api.test:$closed" --profile default --ttl 1h
	run sbx run --profile default -- python3 -c "
import socket
try:
    socket.create_connection(('api.test', $closed))
except OSError as error:
    print(type(error).__name__)"
	echo "$output"
	contains "$output" ConnectionRefusedError
	lacks "$output" "the connection to"
	# One that doesn't wait sees a reset: the last words have what happened.
	run sbx run --profile default -- curl -sS "http://api.test:$closed/"
	echo "$output"
	contains "$output" "sbx: the connection to api.test:$closed failed: Connection refused"
}

@test "a second connection to a host that is asked about joins the question" {
	background both sbx run -- sh -c "curl -sS http://api.test:$plain/one & curl -sS http://api.test:$plain/two; wait"
	id=$(prompt_id)
	is_running both
	[ "$(prompts)" = 1 ]
	sbx allow "$id"
	finished both
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "hello /one"
	contains "$output" "hello /two"
	no_prompt_is_pending
}

@test "psql to a real PostgreSQL; revoking ends the connection now" {
	sbx grant net:access "db.test:$postgres" --profile default --ttl 1h
	run sbx run -- psql -h db.test -p "$postgres" -U postgres -Atc 'select 6 * 7'
	echo "$output"
	[ "$output" = 42 ]
	background query sbx run -- psql -h db.test -p "$postgres" -U postgres -c "select pg_sleep(600)"
	wait_for 60 query_is_there
	sbx revoke --match net:access "db.test:$postgres"
	finished query
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "connection"
	[ "$(sbx history --json | jq -s 'map(select(.kind == "connection" and .target == "db.test:'"$postgres"'")) | length')" = 2 ]
}

query_is_there() {
	[[ $(psql -h 127.0.0.1 -p "$postgres" -U postgres -Atc "select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()") == 1 ]]
}

@test "a grant that ends by itself ends its connections" {
	background query sbx run -- psql -h db.test -p "$postgres" -U postgres -c "select pg_sleep(600)"
	sbx allow "$(prompt_id)" --ttl 3s
	finished query
	echo "$output"
	[ "$status" != 0 ]
	contains "$output" "sbx: the connection to db.test:$postgres was cut: what allowed it has ended or changed"
}

@test "the history has each connection with its bytes" {
	sbx grant net:access "api.test:$plain" --profile default --ttl 1h
	run sbx run --profile default -- python3 -c "
import socket
request = b'GET /counted HTTP/1.0\r\n\r\n'
with socket.create_connection(('api.test', $plain)) as connection:
    connection.sendall(request)
    print(len(request), len(connection.makefile('rb').read()))"
	echo "$output"
	read -r sent received <<<"$output"
	row=$(sbx history --json | jq -c --arg target "api.test:$plain" 'select(.kind == "connection" and .target == $target)' | tail -1)
	echo "$row"
	jq -e ".permission == \"net:access\" and .detail.door == \"native\" and .detail.sent == $sent and .detail.received == $received
		and .detail.duration_ms >= 0 and .grant != null" <<<"$row"
	sbx revoke --match net:access "api.test:$plain"
}

@test "a kernel without sock_diag: localhost is the sandbox's own first, and then the host's" {
	local lacking=()
	mapfile -t lacking < <(without_sock_diag)
	cp "$TESTS/server.py" .
	sbx grants >/dev/null # the broker makes a filter of its own
	run "${lacking[@]}" sbx run --allow net:access="localhost:$plain" -- curl -s "http://localhost:$plain/host"
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "hello /host"
	run "${lacking[@]}" sbx run --allow net:access="localhost:$plain" -- sh -c '
		python3 server.py --port "$1" --port-file own.port >own.log 2>&1 &
		until [ -s own.port ]; do sleep 0.05; done
		curl -s "http://localhost:$1/own"
		kill $!' sh "$plain"
	echo "$output"
	contains "$output" "hello /own"
	lacks "$(<"$HOME/run/requests")" /own
	contains "$(<"$HOME/run/requests")" /host
	run "${lacking[@]}" sbx run -- curl -s -o body -w '%{errormsg}' "http://localhost:1/nobody"
	echo "$output"
	contains "$output" "onnect"
	no_prompt_is_pending
}
