#!/usr/bin/env bash
# history.sh BIN: what a page of the history takes with ten thousand rows and with up to ten million
# (SBX_BENCH_ROWS="10000 1000000"), by each kind of filter. A broker of its own in a fresh home, one database a size.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
read -r -a sizes <<<"${SBX_BENCH_ROWS:-10000 100000 1000000 10000000}"
home=$(mktemp -d)
export HOME=$home XDG_RUNTIME_DIR=$home/run SBX_IDLE=60s
unset XDG_STATE_HOME XDG_CONFIG_HOME
mkdir -m 0700 "$home/run"
# Rows of any age are kept.
mkdir -p "$home/.config/sbx"
printf 'version: 1\nhistory: {keep: 3650d}\n' >"$home/.config/sbx/policy.yaml"

pid=
stop() {
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	wait
	pid=
}
trap 'stop; rm -rf "$home"' EXIT

for rows in "${sizes[@]}"; do
	rm -rf "$home/.local/state/sbx"
	"$bin/history_load" fill "$rows" "$home/.local/state/sbx/sbx.db"
	"$bin/sbxd" --foreground 2>"$home/log" &
	pid=$!
	for _ in $(seq 200); do
		[ ! -S "$home/run/sbx/broker.sock" ] || break
		sleep 0.05
	done
	[ -S "$home/run/sbx/broker.sock" ] || { echo "history.sh: sbxd does not serve: $(cat "$home/log")" >&2 && exit 1; }
	printf '%s rows, %s\n' "$rows" "$(du -h "$home/.local/state/sbx/sbx.db" | cut -f 1)"
	"$bin/history_load" measure "${SBX_BENCH_ROUNDS_HISTORY:-200}"
	echo "memory of sbxd: $(ps -o rss= -p "$pid") KiB"
	stop
done
