#!/usr/bin/env bats
# sbx doctor: what this machine can and can't give.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded in there; a test's variables are its own

load helper
load desktop

@test "doctor says what it finds, as text and as JSON, and needs no broker" {
	run sbx doctor
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" bwrap
	contains "$output" "$(uname -r)"
	run sbx doctor --json
	jq -e . <<<"$output" >/dev/null
}

@test "doctor says whether the broker is confined" {
	run sbx doctor --json
	[ "$(jq -r '.[] | select(.check == "confinement").status' <<<"$output")" = ok ]
}

@test "doctor says when changes of policy files are noticed late, for want of inotify" {
	run sbx doctor --json
	[ "$(jq -r '.[] | select(.check == "watching").status' <<<"$output")" = ok ]
	broker_stop
	# As if others of the user's, such as a sandbox, had taken all that there is.
	run env SBX_IDLE=1s unshare --user --map-current-user --keep-caps sh -c '
		echo 0 >/proc/sys/user/max_inotify_instances &&
			exec setpriv --ambient-caps -all --inh-caps -all sbx doctor --json'
	wait_for 60 test ! -S "$(broker_socket)" # that broker is nobody else's
	echo "$output"
	[ "$(jq -r '.[] | select(.check == "watching").status' <<<"$output")" = warn ]
	contains "$(jq -r '.[] | select(.check == "watching").detail' <<<"$output")" "within a second"
}

@test "doctor works as root, where run refuses" {
	run unshare -r sbx doctor
	echo "$output"
	contains "$output" root
}

@test "while a policy has errors it is said what holds: the last good one, or nothing at all" {
	mkdir -p "$HOME/.config/sbx"
	echo 'version: 1' >"$HOME/.config/sbx/policy.yaml"
	sbx check net:access x.test:1 || [ $? = 1 ]
	echo oops >"$HOME/.config/sbx/policy.yaml"
	for what in "doctor --json" "policy show"; do
		# shellcheck disable=SC2086 # two words
		run sbx $what
		contains "$output" "the last good version holds"
		lacks "$output" "nothing is allowed"
	done
	broker_stop
	for what in "doctor --json" "policy show"; do
		# shellcheck disable=SC2086 # two words
		run sbx $what
		contains "$output" "nothing is allowed until it is mended"
		lacks "$output" "last good version"
	done
	rm "$HOME/.config/sbx/policy.yaml"
}

@test "without bwrap it is a clear error with what to do" {
	mkdir -p "$HOME/bin"
	for program in sh true env; do ln -sf "$(command -v $program)" "$HOME/bin/$program"; done
	run env PATH="$SBX_BIN:$HOME/bin" sbx doctor
	contains "$output" bwrap
	in_own_mounts '
		mount --bind /dev/null "$(command -v bwrap)" || exit 9
		plain sbx run -- true >"$HOME/run/out" 2>&1
		echo $? >"$HOME/run/status"'
	cat "$HOME/run/out"
	[ "$(<"$HOME/run/status")" = 125 ]
	grep -q '^sbx: .*bwrap' "$HOME/run/out"
}

@test "where /dev/fuse is closed: said once in a terminal and by doctor, and what is opened is asked about by traps" {
	asking_policy
	mkdir -p "$HOME/notes"
	echo "behind traps" >"$HOME/notes/file"
	in_own_mounts '
		: >"$HOME/run/closed" && chmod 000 "$HOME/run/closed" && mount --bind "$HOME/run/closed" /dev/fuse || exit 9
		cd "$HOME/project"
		plain sbx doctor --json >"$HOME/run/doctor"
		plain python3 -c "import pty; pty.spawn([\"sbx\", \"run\", \"--\", \"true\"])" >"$HOME/run/seen" </dev/null
		plain sbx run -- true >"$HOME/run/unseen" 2>&1
		plain sbx run -- cat "$HOME/notes/file" >"$HOME/run/read" 2>&1 3>&- &
		for i in $(seq 1200); do
			[ "$(plain sbx prompts --json | jq length)" = 0 ] || break
			sleep 0.05
		done
		plain sbx prompts --json >"$HOME/run/asked"
		plain sbx allow "$(jq ".[0].id" "$HOME/run/asked")"
		wait $!'
	tail -n 30 "$HOME"/run/{seen,unseen,read,asked}
	[ "$(jq -r '.[] | select(.check == "fuse").status' "$HOME/run/doctor")" = warn ]
	contains "$(jq -r '.[] | select(.check == "fuse").detail' "$HOME/run/doctor")" "asked about by traps"
	[ "$(grep -c '/dev/fuse can.t be used' "$HOME/run/seen")" = 1 ]
	[ ! -s "$HOME/run/unseen" ] # in scripts and logs it would be the same line every time
	jq -e '.[0].target == env.HOME + "/notes/file"' "$HOME/run/asked"
	[ "$(<"$HOME/run/read")" = "behind traps" ]
}

@test "where connects can't be held native is proxy: said once in a terminal and by doctor" {
	asking_policy
	run sbx doctor --json
	[ "$(jq -r '.[] | select(.check == "native").status' <<<"$output")" = ok ]
	local getsockopt=209
	[ "$(uname -m)" != x86_64 ] || getsockopt=55
	local lacking=(python3 "$TESTS/without.py" "$getsockopt:2=71") # SO_NETNS_COOKIE
	broker_stop
	run "${lacking[@]}" sbx doctor --json
	echo "$output"
	[ "$(jq -r '.[] | select(.check == "native").status' <<<"$output")" = warn ]
	contains "$(jq -r '.[] | select(.check == "native").detail' <<<"$output")" SO_NETNS_COOKIE
	run "${lacking[@]}" python3 -c 'import pty; pty.spawn(["sbx", "run", "--", "sh", "-c", "echo proxy: $HTTPS_PROXY"])'
	echo "$output"
	[ "$(grep -c 'only programs that follow proxy variables' <<<"$output")" = 1 ]
	contains "$output" "proxy: http://127.0.0.1:"
	run "${lacking[@]}" sbx run -- sh -c 'echo "proxy: $HTTPS_PROXY"'
	lacks "$output" "proxy variables" # in scripts and logs it would be the same line every time
	contains "$output" "proxy: http://127.0.0.1:"
	broker_stop
	run sbx run -- env
	lacks "$output" _PROXY
	lacks "$output" _proxy
}

@test "where the kernel has no sock_diag doctor says what is lost" {
	run sbx doctor --json
	[ "$(row listeners)" = "ok the kernel says who listens on localhost, and on Unix sockets" ]
	local lacking=()
	mapfile -t lacking < <(without_sock_diag)
	run "${lacking[@]}" sbx doctor --json
	contains "$(row listeners)" "warn this kernel doesn't say who has bound a Unix socket (unix_diag)"
	contains "$(jq -r '.[] | select(.check == "listeners").advice' <<<"$output")" "modprobe -a tcp_diag udp_diag unix_diag"
}

@test "where no descriptor can be taken from another process no sandbox starts, and sbx run and doctor say why" {
	local lacking=(python3 "$TESTS/without.py" 438) # pidfd_getfd has the same number on all machines
	run -1 "${lacking[@]}" sbx doctor --json
	[ "$(row descriptors)" = "fail no pidfd_getfd (Linux 5.6; some containers refuse it), so no sandbox starts" ]
	contains "$(jq -r '.[] | select(.check == "descriptors").advice' <<<"$output")" "allow the call pidfd_getfd"
	run "${lacking[@]}" sbx run -- true
	echo "$output"
	one_error 125
	contains "$output" "(no pidfd_getfd (Linux 5.6; some containers refuse it)): \`sbx doctor\` says what to do"
}

# row CHECK: "STATUS DETAIL" of it, out of $output.
row() {
	jq -r --arg check "$1" '.[] | select(.check == $check) | "\(.status) \(.detail)"' <<<"$output"
}

@test "each row that isn't ok says what to do, and the issue's list is there" {
	run -0 sbx doctor --json
	for check in kernel userns apparmor bwrap sandbox seccomp policy database bus notify terminal; do
		[ "$(row "$check")" ] || { echo "no row $check" && return 1; }
	done
	[ "$(jq 'map(select(.status != "ok" and .advice == null)) | length' <<<"$output")" = 0 ]
	[ "$(row bus | cut -d' ' -f1)" = ok ] # no display, no desktop, nothing lost
	contains "$(row seccomp)" WAIT_KILLABLE_RECV
}

@test "doctor exits 1 when something fails, and says what to do" {
	echo oops >"$HOME/.config/sbx/policy.yaml"
	run -1 sbx doctor --json
	[ "$(row policy | cut -d' ' -f1)" = fail ]
	contains "$(jq -r '.[] | select(.check == "policy").advice' <<<"$output")" "sbx policy check"
	rm "$HOME/.config/sbx/policy.yaml"
}

@test "doctor finds the session bus and its notification server, or says what the desktop lacks" {
	[[ ${SBX_NOTIFIER:-} ]] || skip "optional: sbx is built without sbx-notify"
	local bus=$HOME/run/bus.sock
	export DISPLAY=:0 DBUS_SESSION_BUS_ADDRESS=unix:path=$bus
	run -0 sbx doctor --json
	contains "$(row bus)" "warn no session bus"
	bus_up
	run -0 sbx doctor --json
	[ "$(row bus)" = "ok the session bus answers" ]
	contains "$(row notify)" "warn none that answers"
	scripted --name tester --capabilities "body actions"
	run -0 sbx doctor --json
	[[ $(row notify) == "ok tester "*"with buttons" ]]
	server_down
	scripted --name tester --capabilities body
	run -0 sbx doctor --json
	contains "$(row notify)" "shows no buttons"
	contains "$(jq -r '.[] | select(.check == "notify").advice' <<<"$output")" "sbx allow"
	server_down
	scripted --name tester --capabilities "body actions" --inhibited
	run -0 sbx doctor --json
	contains "$(row notify)" "doesn't want to disturb"
	server_down
	bus_down
}

@test "doctor says what the terminal lacks" {
	on_terminal() { # on_terminal COLUMNS WORD…
		python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(
			["sh", "-c", "stty cols $0; exec sbx doctor"] + sys.argv[1:])))' "$1" </dev/null | tr -d '\r' | grep -A3 terminal
	}
	export LC_ALL=C.UTF-8
	contains "$(TERM=xterm on_terminal 120)" "ok    terminal     xterm, 120 columns"
	contains "$(TERM=xterm TMUX=x SSH_TTY=y on_terminal 120)" "in tmux, over ssh"
	contains "$(TERM=xterm on_terminal 60)" "warn  terminal     xterm, 60 columns: tables and questions are cut"
	contains "$(TERM=dumb on_terminal 120)" "warn  terminal     dumb"
	contains "$(TERM=no-such-thing on_terminal 120)" "Set TERM"
	contains "$(LC_ALL=C TERM=xterm on_terminal 120)" "not one of UTF-8"
}
