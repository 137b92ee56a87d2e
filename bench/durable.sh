#!/usr/bin/env bash
# durable.sh BIN: how many durable changes are made a second, by one client and by sixteen: grants, and prompts answered,
# each on the disk before it is answered. Beside it a bare loop that writes and syncs on the same file system.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
# shellcheck source=own_broker.sh
. "$(dirname "$0")/own_broker.sh"

broker_start
printf '| what | clients | p50, µs | p99, µs | longest, µs | a second |\n|---|---:|---:|---:|---:|---:|\n'
for clients in 1 16; do
	count=$((clients == 1 ? 1000 : 100))
	timeout 120 "$bin/durable_load" fsync "$clients" "$count" "$home"
	timeout 120 "$bin/durable_load" grant "$clients" "$count"
	timeout 120 "$bin/durable_load" answer "$clients" "$count"
done
