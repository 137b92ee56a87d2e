#!/usr/bin/env bash
# questions.sh BIN: how long a question takes until somebody sees it, on the desktop beside a bare notify-send and in the terminal, and
# what the desktop's programs have in memory (questions.py). A broker, a display, a bus and a notification server of its own.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
rounds=${SBX_BENCH_QUESTIONS:-50}
here=$(cd "$(dirname "$0")" && pwd)
server=/usr/lib/notification-daemon/notification-daemon
mkdir -p "$HOME/.cache/sbx"
export TMPDIR=$HOME/.cache/sbx # sandboxes have their own /tmp
# shellcheck source=own_broker.sh
. "$here/own_broker.sh"
unset TMPDIR
pids=()
trap '[[ ${#pids[@]} == 0 ]] || kill "${pids[@]}" 2>/dev/null; broker_stop; rm -rf "$home"' EXIT

if [[ ! -x $bin/sbx-notify || ! -x $server ]] || ! command -v notify-send >/dev/null; then
	echo "questions.sh: sbx-notify (libnotify), notification-daemon or notify-send is not there: not measured"
	exit 0
fi

there() { # there COMMAND…: soon
	for _ in {1..200}; do
		if "$@"; then return 0; fi
		sleep 0.05
	done
	echo "questions.sh: not there: $*" >&2
	return 1
}

serves_notifications() {
	busctl --user call org.freedesktop.Notifications /org/freedesktop/Notifications org.freedesktop.Notifications GetServerInformation \
		>/dev/null 2>&1
}

Xvfb -displayfd 7 -screen 0 1000x700x24 -nolisten tcp 7>"$home/display" 2>"$home/xvfb.log" &
pids+=($!)
cat >"$home/bus.conf" <<-END
	<busconfig><type>session</type><listen>unix:path=$home/bus</listen><auth>EXTERNAL</auth>
	<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
	</busconfig>
END
dbus-daemon --config-file="$home/bus.conf" --nofork --nopidfile 2>"$home/bus.log" &
pids+=($!)
there test -s "$home/display"
there test -S "$home/bus"
DISPLAY=:$(<"$home/display")
export DISPLAY DBUS_SESSION_BUS_ADDRESS=unix:path=$home/bus NO_AT_BRIDGE=1
"$server" 2>"$home/server.log" &
pids+=($!)
there serves_notifications

mkdir -p "$home/.config/sbx" "$home/project" "$home/asked"
cat >"$home/.config/sbx/policy.yaml" <<-END
	version: 1
	prompt: {timeout: 60s, without-agent: wait}
	profiles:
	  default: {allow: {fs:read: ["$bin/files_load"]}, ask: {fs:read: ["~/asked/*"]}}
END
for ((i = 0; i <= rounds; i++)); do
	echo "$i" >"$home/asked/$i"
	echo "$i" >"$home/asked/t$i"
done
cd "$home/project"
broker_start
printf '%d questions each, in turns, by %s\n\n' "$rounds" "${server##*/}"
printf '| | p50 | longest |\n|---|---:|---:|\n'
python3 "$here/questions.py" "$bin" "$home/asked" "$rounds" "${server##*/}"
