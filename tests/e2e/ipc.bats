#!/usr/bin/env bats
# Unix sockets: the host's are asked for (ipc:connect), the sandbox's own are free. CMakeLists.txt runs this file with each
# doorbell.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	asking_policy
	cp "$TESTS/ipc.py" "$HOME/project/ipc.py"
}

teardown() {
	local file
	sbx kill --all >/dev/null 2>&1 || true
	for file in "$HOME"/run/host-*.pid; do
		[[ ! -e $file ]] || { kill "$(<"$file")" 2>/dev/null && rm "$file"; } || true
	done
	rm -f "$HOME"/project/*.sock "$HOME"/project/*.mail
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
}

# on_host NAME WORD…: ipc.py on the host, until the test's end; it is ready when this returns.
on_host() {
	local name=host-$1
	shift
	: >"$HOME/run/$name.log"
	python3 "$TESTS/ipc.py" "$@" >"$HOME/run/$name.log" 2>&1 3>&- &
	echo $! >"$HOME/run/$name.pid"
	wait_for 60 grep -q ready "$HOME/run/$name.log"
}

# asks TARGET: one question is open, about that socket. Its id is in $id.
asks() {
	id=$(prompt_id) || return
	[[ $(sbx prompts --json | jq -r '.[] | "\(.permission) \(.target) \(.scopes | join(","))"') == "ipc:connect $1 exact" ]] || {
		echo "expected a question about $1, got:"
		sbx prompts
		return 1
	}
}

says() { # says NAME WORD: in a line of its output so far
	grep -q "$2" "$HOME/run/$1.out"
}

connections() { # connections TARGET: rows of the history
	sbx history --json | jq -r --arg target "$1" 'select(.kind == "connection" and .target == $target) | "\(.permission) \(.detail.door) \(.detail.error)"'
}

@test "ssh-agent is asked about, and reached when it is allowed" {
	local SSH_AUTH_SOCK=$HOME/run/agent.sock key
	export SSH_AUTH_SOCK
	ssh-agent -D -a "$SSH_AUTH_SOCK" >/dev/null 2>&1 3>&- &
	echo $! >"$HOME/run/host-agent.pid"
	wait_for 60 listens "$SSH_AUTH_SOCK"
	ssh-keygen -q -t ed25519 -N '' -C 'a key of the test' -f "$HOME/run/key"
	ssh-add -q "$HOME/run/key"
	key=$(ssh-add -l)

	background add sbx run -- ssh-add -l
	asks "$SSH_AUTH_SOCK"
	sbx allow "$id"
	finished add
	[ "$status" = 0 ]
	contains "$output" "$key"
	run -0 sbx run -- ssh-add -l # the grant holds for an hour
	contains "$output" "$key"
	sbx revoke --match ipc:connect "$SSH_AUTH_SOCK"

	background add sbx run -- ssh-add -l
	asks "$SSH_AUTH_SOCK"
	sbx deny "$id"
	finished add
	[ "$status" != 0 ]
	lacks "$output" "$key"
	contains "$output" "blocked ipc:connect $SSH_AUTH_SOCK"
	contains "$output" "sbx grant ipc:connect $SSH_AUTH_SOCK --profile default"
}

@test "a server in the project is held, connected, recorded" {
	on_host server serve "$HOME/project/docker.sock"
	background client sbx run -- curl -sSN --max-time 100 --http0.9 --unix-socket docker.sock http://localhost/
	asks "$HOME/project/docker.sock"
	sbx allow "$id" --once
	wait_for 60 says client hello
	sbx kill --all
	finished client
	run -0 sbx history --json
	[ "$(jq -r 'select(.kind == "decision" and .verdict == "allow") | .target' <<<"$output" | tail -n 1)" = "$HOME/project/docker.sock" ]
	[[ $(connections "$HOME/project/docker.sock") == "ipc:connect unix "* ]]
}

@test "D-Bus is talked to as the user" {
	local bus=$HOME/project/bus.sock
	dbus-daemon --session --nofork --nopidfile --address="unix:path=$bus" >"$HOME/run/bus.log" 2>&1 3>&- &
	echo $! >"$HOME/run/host-bus.pid"
	wait_for 60 listens "$bus"
	sbx grant ipc:connect "$bus"
	run -0 sbx run --profile default -- python3 -c '
import os, socket
bus = socket.socket(socket.AF_UNIX)
bus.connect("bus.sock")
bus.sendall(b"\0AUTH EXTERNAL " + str(os.getuid()).encode().hex().encode() + b"\r\n")
print(bus.recv(100).decode().split()[0])'
	[ "$output" = OK ]
}

@test "what the sandbox made is free" {
	run -0 sbx run -- python3 ipc.py own
	[ "$(grep -c worked <<<"$output")" = 5 ]
	run -0 sbx run -- node -e '
const net = require("net"), path = "/tmp/node.sock"
net.createServer(peer => peer.end("from inside")).listen(path, () =>
	net.connect(path).on("data", data => console.log(data.toString())).on("end", () => process.exit(0)))'
	contains "$output" "from inside"
	no_prompt_is_pending
}

@test "two that ask at once are one question; offline it is the same" {
	on_host server serve "$HOME/project/host.sock"
	background client sbx run --offline -- sh -c 'python3 ipc.py connect host.sock & python3 ipc.py connect host.sock'
	asks "$HOME/project/host.sock"
	sbx allow "$id" --session
	wait_for 60 both_are_greeted
	sbx kill --all
	finished client
	run -0 sbx run --offline -- python3 ipc.py own
	[ "$(grep -c worked <<<"$output")" = 5 ]
}

both_are_greeted() {
	[[ $(grep -c hello "$HOME/run/client.out") == 2 ]]
}

@test "one that appears later is asked about, too" {
	background client sbx run -- sh -c 'echo started; until [ -e go ]; do sleep 0.05; done; exec python3 ipc.py connect late.sock'
	wait_for 60 says client started
	on_host server serve "$HOME/project/late.sock"
	touch go
	asks "$HOME/project/late.sock"
	sbx deny "$id"
	finished client
	contains "$output" "connect: Permission denied"
	rm go
}

@test "a connection ends with its grant" {
	on_host server serve "$HOME/run/live.sock"
	sbx grant ipc:connect "$HOME/run/live.sock" --profile default
	background client sbx run --profile default -- python3 ipc.py connect "$HOME/run/live.sock"
	wait_for 60 says client hello
	sbx revoke --match ipc:connect "$HOME/run/live.sock"
	finished client
	contains "$output" ended
	[ "$(connections "$HOME/run/live.sock")" = "ipc:connect unix the grant has ended" ]
	# a rule that is new
	sbx grant ipc:connect "$HOME/run/live.sock" --profile default
	background client sbx run --profile default -- python3 ipc.py connect "$HOME/run/live.sock"
	wait_for 60 says client hello
	sbx grant --deny ipc:connect "$HOME/run/live.sock" --profile default
	finished client
	contains "$output" ended
}

@test "a pattern of sockets counts, in a rule and in a grant, and lets nobody past what base keeps" {
	local here=$HOME/sk greets='import socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); print(s.recv(9))'
	mkdir -p "$here/deeper"
	on_host server serve "$here/deeper/s"
	asking_policy 60s "    allow: {ipc:connect: ['~/sk/**']}"
	run -0 sbx why --profile default ipc:connect "$here/deeper/s"
	contains "$output" "So: allow"
	run -0 sbx run --profile default -- python3 -c "$greets" "$here/deeper/s"
	contains "$output" hello
	asking_policy
	sbx grant --profile default ipc:connect "$HOME/sk/**"
	run -0 sbx run --profile default -- python3 -c "$greets" "$here/deeper/s"
	contains "$output" hello
	sbx grant --profile default ipc:connect "/run/**"
	asking_policy 1s # nobody answers
	run sbx check --profile default ipc:connect /run/docker.sock
	[ "$status" != 0 ]
	asking_policy
}

@test "attack_n_13 what no rule speaks of looks as if it weren't there" {
	policy <<END
version: 1
profiles:
  default: {doorbell: ${SBX_TEST_DOORBELL:-auto}, deny: {ipc:connect: ["/**"]}}
END
	on_host shown serve "$HOME/project/shown.sock"
	on_host hidden serve "$HOME/run/hidden.sock"
	local path
	for path in shown "$HOME/run/hidden" "$HOME/run/none"; do
		run -0 sbx run --profile default -- python3 ipc.py connect "$path.sock"
		printf '%s\n' "${output%%$'\n'*}"
	done >"$HOME/run/said"
	[ "$(<"$HOME/run/said")" = $'connect: Connection refused\nconnect: No such file or directory\nconnect: No such file or directory' ]
	asking_policy
}

@test "attack_n_14 datagrams reach nobody on the host, by whichever call" {
	on_host box mail "$HOME/project/host.mail" "$HOME/run/letters"
	: >"$HOME/run/letters"
	run sbx run -- python3 ipc.py message host.mail first
	lacks "$output" worked
	background send sbx run -- python3 ipc.py send host.mail second
	asks "$HOME/project/host.mail"
	sbx deny "$id"
	finished send
	contains "$output" "sendto: Permission denied"
	# one that is made while the sandbox runs: it is laid over within a second
	background tool sbx run -- sh -c 'echo started; until python3 ipc.py message late.mail third | grep -v worked; do :; done
		until [ -e go ]; do sleep 0.05; done
		until python3 ipc.py message late.mail fourth | grep -v worked; do :; done'
	wait_for 60 says tool started
	on_host late mail "$HOME/project/late.mail" "$HOME/run/late"
	touch go
	finished tool
	rm go
	[ ! -s "$HOME/run/letters" ]
	# what is allowed once is for the call that was asked about
	: >"$HOME/run/letters"
	sbx grant --once ipc:connect "$HOME/project/host.mail" --profile default
	run sbx run --profile default -- sh -c 'python3 ipc.py message host.mail none; python3 ipc.py send host.mail one'
	[ "$(grep -c worked <<<"$output")" = 1 ]
	wait_for 60 grep -q one "$HOME/run/letters"
	[ "$(<"$HOME/run/letters")" = one ]
	: >"$HOME/run/letters"
	# what is allowed by its name is there for each call
	sbx grant ipc:connect "$HOME/project/host.mail" --profile default
	run -0 sbx run --profile default -- sh -c 'python3 ipc.py message host.mail fifth; python3 ipc.py send host.mail sixth'
	[ "$output" = $'sendmsg: worked\nsendto: worked' ]
	wait_for 60 grep -q sixth "$HOME/run/letters"
	[ "$(<"$HOME/run/letters")" = $'fifth\nsixth' ]
}

@test "attack_n_16 a socket in a folder that may only be read is asked about; a FIFO is as open as the folder" {
	mkdir -p "$HOME/shared"
	mkfifo "$HOME/shared/fifo"
	on_host server serve "$HOME/shared/host.sock"
	background client sbx run --allow "fs:read=$HOME/shared" -- python3 ipc.py connect "$HOME/shared/host.sock"
	asks "$HOME/shared/host.sock"
	sbx deny "$id"
	finished client
	contains "$output" "connect: Permission denied"
	# Where writing is asked about, so is writing to a FIFO. The mount alone doesn't keep it: docs/threat-model.md says so.
	exec 8<>"$HOME/shared/fifo"
	local write='import os, sys; os.write(os.open(sys.argv[1], os.O_WRONLY), b"through\n")'
	background client sbx run --allow "fs:read=$HOME/shared" -- python3 -c "$write" "$HOME/shared/fifo"
	id=$(prompt_id)
	[ "$(sbx prompts --json | jq -r '.[].permission')" = fs:write ]
	sbx deny "$id"
	finished client
	run -0 sbx run --profile base --allow "fs:write=$HOME/project" --allow "fs:read=$HOME/shared" -- python3 -c "$write" "$HOME/shared/fifo"
	read -r -t 10 output <&8
	exec 8>&-
	[ "$output" = through ]
}

@test "attack_n_13 sbx's own socket is nobody's, by whatever rule" {
	local socket
	socket=$(broker_socket)
	run sbx run --allow "ipc:connect=$HOME/**" -- python3 ipc.py connect "$socket"
	lacks "$output" worked
	ln -s "$socket" link.sock
	run sbx run --allow "ipc:connect=$HOME/**" -- python3 ipc.py connect link.sock
	lacks "$output" worked
}

# bats test_tags=ci
@test "attack_r_28: a connect and a sendto that a timer's handler interrupts ten times a second keep their question" {
	local how call socket="$HOME/project/ticking.sock" asked=0
	for call in connect sendto; do
		for how in --once ''; do
			rm -f "$socket"
			case $call in
			connect) on_host ticking serve "$socket" ;;
			sendto) on_host ticking mail "$socket" "$HOME/run/mail.log" ;;
			esac
			background ticking sbx run -- python3 -c "
import ctypes, errno, signal, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
ticks = 0
def tick(*_):
    global ticks
    ticks += 1
    if ticks == 10:
        open('ticked', 'w')
signal.signal(signal.SIGALRM, tick)
signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
kind = socket.SOCK_STREAM if '$call' == 'connect' else socket.SOCK_DGRAM
made = socket.socket(socket.AF_UNIX, kind)
address = struct.pack('H108s', socket.AF_UNIX, b'$socket')
again = True
while again:
    if '$call' == 'connect':
        result = libc.connect(made.fileno(), address, len(address))
    else:
        result = libc.sendto(made.fileno(), b'news', 4, 0, address, len(address))
    again = result < 0 and ctypes.get_errno() == errno.EINTR
print('in the end', result)"
			asks "$socket"
			wait_for 30 test -e "$HOME/project/ticked"
			sbx allow $how "$id"
			finished ticking
			contains "$output" "in the end $([[ $call == connect ]] && echo 0 || echo 4)"
			[ "$(sbx history --json | jq -s "map(select(.kind == \"prompt\" and .target == \"$socket\")) | length")" = $((++asked)) ]
			teardown
			rm "$HOME/project/ticked"
		done
	done
}
