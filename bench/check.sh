#!/usr/bin/env bash
# check.sh BIN: how long a permission check over the broker's socket takes, with an empty database and with a million
# grants (SBX_BENCH_GRANTS), beside a bare ping-pong. A broker of its own in a fresh home.
# Both sides run on one processor: else it is measured how deep an idle one sleeps, which says nothing about sbxd.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail
[ "${SBX_BENCH_PINNED:-}" ] || SBX_BENCH_PINNED=1 exec taskset -c "$(($(nproc) - 1))" "$0" "$@"

bin=$1
grants=${SBX_BENCH_GRANTS:-1000000}
home=$(mktemp -d)
export HOME=$home XDG_RUNTIME_DIR=$home/run SBX_IDLE=60s
unset XDG_STATE_HOME XDG_CONFIG_HOME
mkdir -m 0700 "$home/run"

stop() {
	# shellcheck disable=SC2046 # one number or nothing
	[ ! -e "$home/sbxd.pid" ] || kill $(cat "$home/sbxd.pid") 2>/dev/null || true
}
trap 'stop; sleep 0.3; rm -rf "$home"' EXIT

start() {
	"$bin/sbxd" --foreground 2>"$home/log" &
	echo $! >"$home/sbxd.pid"
	for _ in $(seq 100); do
		[ -S "$home/run/sbx/broker.sock" ] && return
		sleep 0.05
	done
	echo "check.sh: sbxd does not serve: $(cat "$home/log")" >&2
	exit 1
}

start
echo "empty database"
"$bin/check_load"
stop
wait
"$bin/check_load" --fill "$grants" "$home/.local/state/sbx/sbx.db"
start
echo "$grants grants"
"$bin/check_load"
echo "memory of sbxd: $(ps -o rss= -p "$(cat "$home/sbxd.pid")") KiB"
