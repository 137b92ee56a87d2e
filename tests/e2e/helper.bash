# shellcheck shell=bash
# What the end-to-end tests share. Each file gets a home of its own and with it a broker, a policy and a history of its
# own; what is started is ended by its pid.

bats_require_minimum_version 1.8.0 # tags

# Test variables: SBX_BIN (folder of sbx, sbxd), SBX_PROBE, SBX_TOUCH, SBX_WATCH, SBX_RACE, SBX_SLOW (probe.c and so on), SBX_E2E_BASE (where
# homes are made), SBX_TEST_DOORBELL (auto, traps: the doorbell under test), SBX_TEST_NETWORK (native, proxy: the network).

# For its messages bats notes the line of each command that it runs, which costs more than most commands. Those of the tests
# themselves will do; that of a helper is told by the line of the test that called it.
if declare -F bats_test_begin >/dev/null; then
	eval "noting_$(declare -f bats_test_begin)"
	declare -ft bats_error_trap bats_check_status_from_trap # these end the noting, at the line that failed
	bats_test_begin() {
		set +T
		noting_bats_test_begin "$@"
	}
fi

# jq 1.6 takes 40 ms to begin and gojq 3, and the tests begin it some 2,000 times.
if type -P gojq >/dev/null; then
	jq() {
		gojq "$@"
	}
fi

home_make() {
	set +T # as above, of setup_file
	local base=${SBX_E2E_BASE:-$(getent passwd "$(id -u)" | cut -d: -f6)/.cache/sbx/e2e}
	mkdir -p "$base"
	HOME=$(mktemp -d "$base/XXXXXX")
	PATH=$SBX_BIN:/usr/local/bin:/usr/bin:/bin
	TESTS=$BATS_TEST_DIRNAME
	export HOME PATH TESTS
	unset "${!XDG_@}" OPENAI_API_KEY
	export SBX_NO_NOTIFY=1 # the tester's own desktop is left alone
	mkdir -p "$HOME/project" "$HOME/run" "$HOME/.ssh" "$HOME/.config/sbx"
	printf 'not a real key\n' >"$HOME/.ssh/id_ed25519"
	cd "$HOME/project" || return
}

# Whatever the tests made the broker do, it asked the kernel for nothing that isn't on its list (broker/core/confine.c).
no_call_was_refused() {
	! grep 'system call' "$HOME/.local/state/sbx/sbxd.log" >&2 2>/dev/null
}

home_remove() {
	local file refused
	broker_stop
	for file in "$HOME"/run/*.pid; do
		[[ ! -e $file ]] || kill "$(<"$file")" 2>/dev/null || true
	done
	no_call_was_refused || refused=1
	chmod -R u+rwx "$HOME" 2>/dev/null || true
	[[ $HOME != */sbx/e2e/* ]] || rm -rf "$HOME"
	[[ ! ${refused:-} ]]
}

setup_file() {
	home_make
}

teardown_file() {
	home_remove
}

setup() {
	cd "$HOME/project" || return
}

# wait_for SECONDS COMMAND…: until it succeeds. Between two looks it rests nine times as long as a look takes (20 ms to half a
# second): who waits leaves the processors to whom is waited for, however busy the machine is.
wait_for() {
	local end=$((SECONDS + $1)) begun took
	shift
	until begun=${EPOCHREALTIME/[.,]/} && "$@"; do
		((SECONDS <= end)) || return 1
		took=$((9 * (${EPOCHREALTIME/[.,]/} - begun)))
		rest $((took < 20000 ? 20000 : took > 500000 ? 500000 : took))
	done
}

# rest MICROSECONDS: without a process, as sleep(1) would be one.
rest() {
	[[ -p $BATS_FILE_TMPDIR/rest ]] || mkfifo "$BATS_FILE_TMPDIR/rest" 2>/dev/null || [[ -p $BATS_FILE_TMPDIR/rest ]]
	local second=$(($1 / 1000000)) part=$((1000000 + $1 % 1000000))
	read -rt "$second.${part#1}" <>"$BATS_FILE_TMPDIR/rest" || true # nobody writes there
}

# times SHORT LONG: how often, in the usual run and with scripts/test --long.
times() {
	if [[ ${SBX_TEST_LONG:-} == 1 ]]; then echo "$2"; else echo "$1"; fi
}

# policy <<END: the user's policy. The broker is stopped, so that the next command runs under it for sure.
policy() {
	cat >"$HOME/.config/sbx/policy.yaml"
	broker_stop
}

# asking_policy [TIMEOUT [LINES]]: questions wait for `sbx allow`, the doorbell is the one under test; LINES are more of the
# profile called default.
# shellcheck disable=SC2120 # the tests pass them
asking_policy() {
	default_policy "timeout: ${1:-60s}, without-agent: wait" "${2:-}"
}

# native_policy LINES: likewise with the native network. refusing_policy LINES: and questions are denied at once.
native_policy() {
	asking_policy 60s "    network: native"$'\n'"$1"
}

refusing_policy() {
	default_policy "without-agent: deny" "    network: native"$'\n'"$1"
}

default_policy() {
	policy <<END
version: 1
prompt: {$1}
profiles:
  default:
    doorbell: ${SBX_TEST_DOORBELL:-auto}
$2
END
}

# After a test that had another policy and did not come to its end.
policy_restore() {
	local file=$HOME/.config/sbx/policy.yaml
	if ! grep -q 'timeout: 60s' "$file" || [[ $(wc -l <"$file") != 6 ]]; then asking_policy; fi
}

# The doorbell under test must be there to be tested.
needs_doorbell() {
	[[ ${SBX_TEST_DOORBELL:-auto} == auto ]] || return 0
	grep -qw fuse /proc/filesystems || skip "optional: this kernel has no FUSE"
	# shellcheck disable=SC2016 # expanded in there
	bash -c 'exec 3<>/dev/fuse' 2>/dev/null || skip "/dev/fuse is not open to $(id -un)"
}

# only_curtain WHY: for what only the curtain can do.
only_curtain() {
	[[ ${SBX_TEST_DOORBELL:-auto} == auto ]] || skip "optional: with the curtain only: $1"
}

# only_native WHY, only_proxy WHY: for what only one of the networks has.
only_native() {
	[[ ${SBX_TEST_NETWORK:-native} == native ]] || skip "optional: with network: native only: $1"
}

only_proxy() {
	[[ ${SBX_TEST_NETWORK:-native} == proxy ]] || skip "optional: with network: proxy only: $1"
}

# The words before a command that make the kernel one that has no sock_diag(7) for it: no reply of it is read (recvfrom of 32
# KiB, as runner/net/sockets/diag.c alone does it).
without_sock_diag() {
	local recvfrom=207
	[[ $(uname -m) != x86_64 ]] || recvfrom=45
	printf '%s\n' python3 "$TESTS/without.py" "$recvfrom:2=$((32 * 1024))"
}

# Some containers have no ::1.
has_ipv6() {
	python3 -c 'import socket; socket.create_server(("::1", 0), family=socket.AF_INET6)' 2>/dev/null
}

needs_ipv6() {
	has_ipv6 || skip "optional: there is no ::1 here"
}

broker_socket() {
	if [[ ${XDG_RUNTIME_DIR:-} ]]; then
		echo "$XDG_RUNTIME_DIR/sbx/broker.sock"
	else
		echo "$HOME/.local/state/sbx/run/broker.sock"
	fi
}

# broker '{…}'…: messages to the broker as they are, its replies one a line (tests/e2e/broker.py).
broker() {
	python3 "$TESTS/broker.py" "$(broker_socket)" "$@"
}

# Asked for again and again, so there is a small program for it; by hand it may be missing.
broker_pid() {
	local program=${SBX_PROBE:-}
	program=${program%/*}/broker_pid
	if [[ -x $program ]]; then
		"$program" "$(broker_socket)"
	else
		broker --pid 2>/dev/null
	fi
}

# listens PATH: its name is there from bind(2) on, but whoever connects before listen(2) is refused. Flag __SO_ACCEPTCON of proc_net(5).
listens() {
	grep -q "^[^ ]* [^ ]* [^ ]* 00010000 .* $1\$" /proc/net/unix
}

# Also one that only waits for its parent to hear of it: some containers' first process takes its time.
gone() {
	local stat
	! kill -0 "$1" 2>/dev/null || ! read -r stat 2>/dev/null <"/proc/$1/stat" || [[ $stat == *") Z "* ]]
}

broker_stop() {
	local pid
	pid=$(broker_pid) || return 0
	kill "$pid" 2>/dev/null || return 0
	wait_for 60 gone "$pid"
}

# server NAME SCRIPT ARG…: start a server (Python, or node) in the background, wait until it listens, and print its port.
server() {
	local name=$1 script=$2 ready=$HOME/run/$1.port language=python3
	shift 2
	rm -f "$ready"
	[[ $script != *.js ]] || language=node
	"$language" "$TESTS/$script" --port-file "$ready" "$@" >"$HOME/run/$name.log" 2>&1 3>&- &
	echo $! >"$HOME/run/$name.pid"
	wait_for 60 test -s "$ready" || { cat "$HOME/run/$name.log" >&2 && return 1; }
	cat "$ready"
}

# answers NAME RULE…: somebody who answers each question at once, by the rules of tests/e2e/answer.py; what was asked is in
# $HOME/run/NAME.asked, one JSON object a line. answers_end NAME stops it.
answers() {
	local name=$1
	shift
	sbx grants >/dev/null # starts the broker
	rm -f "$HOME/run/$name.ready" "$HOME/run/$name.asked"
	: >"$HOME/run/$name.asked"
	python3 "$TESTS/answer.py" "$(broker_socket)" --ready "$HOME/run/$name.ready" --log "$HOME/run/$name.asked" "$@" \
		>"$HOME/run/$name.log" 2>&1 3>&- &
	echo $! >"$HOME/run/$name.pid"
	wait_for 60 test -s "$HOME/run/$name.ready" || { cat "$HOME/run/$name.log" >&2 && return 1; }
}

answers_end() {
	kill "$(<"$HOME/run/$1.pid")" 2>/dev/null || true
	rm -f "$HOME/run/$1.pid"
}

# asked NAME: how many questions there were.
asked() {
	wc -l <"$HOME/run/$1.asked"
}

# The id of the oldest pending prompt; waits for one.
prompt_id() {
	wait_for 30 prompt_is_pending || { echo "no prompt came up" >&2 && return 1; }
	local pending
	pending=$(sbx prompts --json)
	[[ $pending =~ ^\[\{\"id\":([0-9]+), ]] && echo "${BASH_REMATCH[1]}"
}

# Without a program that reads JSON: these are looked at again and again.
prompt_is_pending() {
	[[ $(sbx prompts --json 2>/dev/null) == *'"id"'* ]]
}

no_prompt_is_pending() {
	none prompts
}

# none grants|prompts|sessions: nothing is listed. jq takes as long as ten other programs to start.
none() {
	[[ $(sbx "$1" --json) == '[]' ]]
}

# Start a command with its output in files: background NAME COMMAND…; then finished NAME SECONDS sets $status and $output.
background() {
	local name=$1
	shift
	rm -f "$HOME/run/$name.status" "$HOME/run/$name.out" # of the one before
	(
		"$@" >"$HOME/run/$name.out" 2>&1 && code=0 || code=$? # bats has set -e
		echo "$code" >"$HOME/run/$name.status"
	) 3>&- &
}

finished() {
	wait_for "${2:-60}" test -s "$HOME/run/$1.status" || { echo "$1 has not ended" >&2 && return 1; }
	status=$(<"$HOME/run/$1.status")
	output=$(<"$HOME/run/$1.out")
	rm "$HOME/run/$1.status"
}

# finished_answering allow|deny NAME: finished, with whatever is asked until then answered so.
finished_answering() {
	local end=$((SECONDS + 60)) prompt
	while is_running "$2" && ((SECONDS <= end)); do
		prompt=$(sbx prompts --json | jq -r '.[0].id // empty') || true
		if [[ $prompt ]]; then sbx "$1" "$prompt" || true; else rest 100000; fi
	done
	finished "$2" 1
}

is_running() {
	[[ ! -s $HOME/run/$1.status ]]
}

# no_process MARK: none has it in its command line any more (marks are unique words given as arguments). Not by pgrep -f in
# a pipe, which would find itself.
no_process() {
	[[ ! $(pgrep -u "$(id -u)" -f -- "$1") ]]
}

contains() {
	[[ $1 == *"$2"* ]] || {
		printf 'expected to find: %s\nin: %s\n' "$2" "$1" >&2
		return 1
	}
}

lacks() {
	[[ $1 != *"$2"* ]] || {
		printf 'expected not to find: %s\nin: %s\n' "$2" "$1" >&2
		return 1
	}
}

# is_refused OUTPUT: of curl -w '%{http_code}' whose connection was denied: a page of the proxy's, or no answer at all.
is_refused() {
	local code=000
	[[ ${SBX_TEST_NETWORK:-native} == native ]] || code=403
	[[ $1 =~ (^|[^0-9])$code([^0-9]|$) ]] || {
		printf 'expected the code %s in: %s\n' "$code" "$1" >&2
		return 1
	}
}

# one_error STATUS: the last `run` ended with it and said one clear line, the way all of sbx's errors look.
one_error() {
	[[ $status == "$1" ]] || {
		printf 'exit status %s, expected %s\n%s\n' "$status" "$1" "$output" >&2
		return 1
	}
	grep -q '^sbx: ' <<<"$output" || {
		printf 'no line "sbx: …" in: %s\n' "$output" >&2
		return 1
	}
}

# in_own_network LINES: as in_own_mounts, where the host's network is a loopback that nobody has taken up yet.
in_own_network() {
	in_own_mounts "$1" --net
}

# in_own_mounts LINES: bash runs them in a user and mount namespace of its own (shared propagation, as a host has it) with
# the right to mount and the same uid. `plain COMMAND…` in there is without that right, as sbx itself must be. The broker is
# ended before (it would rightly refuse a peer from in there) and after.
in_own_mounts() {
	broker_stop
	# shellcheck disable=SC2016 # expanded in there
	unshare --user --mount ${2:+"$2"} --propagation shared --map-user="$(id -u)" --map-group="$(id -g)" --keep-caps bash -c '
		plain() {
			setpriv --ambient-caps=-all --inh-caps=-all "$@"
		}
		eval "$1"
		# there is none where the run did not come so far
		if pid=$(plain python3 "$TESTS/broker.py" "$HOME/.local/state/sbx/run/broker.sock" --pid 2>/dev/null); then
			kill "$pid"
			while kill -0 "$pid" 2>/dev/null; do sleep 0.02; done # its lock would name another namespace
		fi' bash "$1"
}
