#!/usr/bin/env bash
# run-true.sh BIN: what a sandbox costs to start. `sbx run -- true` with the broker up, against a bwrap line that builds the
# same view (the mounts of --print-plan, one by one), a small bwrap line, and true alone. Prints hyperfine's table.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
runs=${SBX_BENCH_RUNS:-300}
project=$(mktemp -d "$HOME/sbx-bench-XXXXXX")
trap 'rm -rf "$project"' EXIT
# shellcheck source=view.sh
. "$(dirname "$0")/view.sh"
cd "$project"
git init -q .

# shellcheck disable=SC2119 # no options
same="$(view_bwrap) true"
small="bwrap --unshare-all --die-with-parent --new-session --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev true"

$same || { echo "run-true.sh: the bwrap line of the same view does not run: $same" >&2 && exit 1; }
"$bin/sbx" run -- true # the broker is up
echo "mounts in the view: $(view_options | wc -l)"
hyperfine --shell=none --warmup 20 --runs "$runs" --export-markdown "$project/table" \
	-n "sbx run -- true" "$bin/sbx run -- true" \
	-n "bwrap, the same view" "$same" \
	-n "bwrap, a small view" "$small" \
	-n "true" "true" >/dev/null 2>&1
cat "$project/table"
