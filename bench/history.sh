#!/usr/bin/env bash
# history.sh BIN: what a page of the history takes with ten thousand rows and with up to ten million
# (SBX_BENCH_ROWS="10000 1000000"), by each kind of filter. A broker of its own in a fresh home, one database a size.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
read -r -a sizes <<<"${SBX_BENCH_ROWS:-10000 100000 1000000 10000000}"
# shellcheck source=own_broker.sh
. "$(dirname "$0")/own_broker.sh"

# Rows of any age are kept.
mkdir -p "$home/.config/sbx"
printf 'version: 1\nhistory: {keep: 3650d}\n' >"$home/.config/sbx/policy.yaml"

for rows in "${sizes[@]}"; do
	rm -rf "$home/.local/state/sbx"
	"$bin/history_load" fill "$rows" "$database"
	broker_start
	printf '%s rows, %s\n' "$rows" "$(du -h "$database" | cut -f 1)"
	"$bin/history_load" measure 200
	printf '\n| sbxd | RSS | of it anonymous |\n|---|---:|---:|\n'
	broker_memory "with $rows rows, after these pages"
	echo
	broker_stop
done
