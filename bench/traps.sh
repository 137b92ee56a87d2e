#!/usr/bin/env bash
# traps.sh BIN: what the system call filter costs: calls that it lets through, with and without traps in it, and calls that are
# trapped and go on, with and without the synchronous wake-up of Linux 6.6. Run through scripts/bench.
set -euo pipefail

rounds=${SBX_BENCH_ROUNDS:-9}
echo "medians of $rounds rounds; in brackets the ratio to the bare call"
echo
"$1/traps_load" "$rounds"
