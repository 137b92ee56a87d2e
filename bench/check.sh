#!/usr/bin/env bash
# check.sh BIN: how long a permission check over the broker's socket takes, with a thousand and with a million grants
# (SBX_BENCH_GRANTS="1000 1000000"), for one client and for sixteen, beside a bare ping-pong and beside polkit's
# CheckAuthorization (SBX_BENCH_POLKIT, the address of a bus with it: bench/polkit.sh). A broker of its own.
# All sides run on one processor: else it is measured how deep an idle one sleeps, which says nothing about sbxd.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail
[[ ${SBX_BENCH_PINNED:-} ]] || SBX_BENCH_PINNED=1 exec taskset -c "$(($(nproc) - 1))" "$0" "$@"

bin=$1
read -r -a sizes <<<"${SBX_BENCH_GRANTS:-1000 1000000}"
# shellcheck source=own_broker.sh
. "$(dirname "$0")/own_broker.sh"

head='| what | clients | p50, µs | p99, µs | longest, µs | a second |\n|---|---:|---:|---:|---:|---:|\n'
rows() { # rows CLIENTS COUNT
	"$bin/check_load" ping "$1" "$2"
	"$bin/check_load" cached "$1" "$2"
	"$bin/check_load" distinct "$1" "$2"
}

for size in "${sizes[@]}"; do
	broker_start # it makes the database
	broker_stop
	"$bin/check_load" fill "$size" "$database"
	broker_start
	printf '%s grants\n\n' "$size"
	# shellcheck disable=SC2059 # the format is ours
	printf "$head"
	{ rows 1 15000 && rows 16 3000; } | tee "$home/rows"
	awk -F' *[|] *' '/ping-pong/ { bare[$3] = $4 }
		/cached/ { printf "\nA cached check is %.2f × the ping-pong for %d client(s).\n", $4 / bare[$3], $3 }' "$home/rows"
	echo
	broker_stop
	rm -rf "$home/.local"
done

if [[ ! ${SBX_BENCH_POLKIT:-} || ! -x $bin/polkit_load ]]; then
	echo "polkit was not measured: that needs scripts/bench as root" >&2
	exit
fi
# shellcheck disable=SC2059
printf "polkit\n\n$head"
for clients in 1 16; do
	timeout 60 "$bin/polkit_load" "$SBX_BENCH_POLKIT" "$clients" "$((clients == 1 ? 2000 : 200))" ||
		echo "polkit was not measured: it does not answer" >&2
done
