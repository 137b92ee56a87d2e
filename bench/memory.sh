#!/usr/bin/env bash
# memory.sh BIN: what sbxd has in memory: when it has started, with 500 clients, with a million grants
# (SBX_BENCH_GRANTS, the last of them) that have been looked up in. With ten million rows: history.sh.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1 clients=500
read -r -a sizes <<<"${SBX_BENCH_GRANTS:-1000000}"
grants=${sizes[-1]}
# shellcheck source=own_broker.sh
. "$(dirname "$0")/own_broker.sh"

printf '| sbxd | RSS | of it anonymous |\n|---|---:|---:|\n'
broker_start
broker_memory "after its start"
mkfifo "$home/end"
"$bin/check_load" hold "$clients" <"$home/end" >"$home/held" &
exec 3>"$home/end"
for _ in {1..400}; do
	[[ ! -s $home/held ]] || break
	sleep 0.05
done
[[ -s $home/held ]] || { echo "memory.sh: $clients clients were not let in" >&2 && exit 1; }
broker_memory "with $clients clients"
exec 3>&-
wait "$!" || true
broker_stop
"$bin/check_load" fill "$grants" "$database"
broker_start
"$bin/check_load" distinct 1 15000 >/dev/null
broker_memory "with $grants grants, after 15,000 checks"
