#!/usr/bin/env bash
# run-true.sh BIN: what a sandbox costs to start. `sbx run -- true` with the broker up, against a bwrap line that builds the
# same view (the mounts of --print-plan, one by one), a small bwrap line, and true alone. Prints hyperfine's table.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
runs=${SBX_BENCH_RUNS:-300}
project=$(mktemp -d "$HOME/sbx-bench-XXXXXX")
trap 'rm -rf "$project"' EXIT
cd "$project"
git init -q .

# --print-plan names one mount a line, in the order in which they are made; here as bwrap's options.
plan_options() {
	"$bin/sbx" run --print-plan -- true | awk '
		{ source = $2 }
		$3 == "from" { source = $4 }
		$1 == "read" { print "--ro-bind", source, $2 }
		$1 == "write" || $1 == "pin" { print "--bind", source, $2 }
		$1 == "fresh" { print "--tmpfs", $2 }
		$1 == "hide-folder" { print "--perms", "0000", "--tmpfs", $2, "--remount-ro", $2 }
		$1 == "hide-file" { print "--ro-bind", "/dev/null", $2 }
		$1 == "link" { print "--symlink", $4, $2 }
		$1 == "proc" { print "--proc", $2 }
		$1 == "dev" { print "--dev", $2 }'
}

options=$(plan_options | tr '\n' ' ')
namespaces="--unshare-user --unshare-pid --unshare-ipc --unshare-uts --unshare-cgroup-try --unshare-net --die-with-parent --new-session --clearenv --setenv PATH $PATH"
same="bwrap $namespaces $options --chdir $project true"
small="bwrap $namespaces --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 --proc /proc --dev /dev true"

$same || { echo "run-true.sh: the bwrap line of the same view does not run: $same" >&2 && exit 1; }
"$bin/sbx" run -- true # the broker is up
echo "mounts in the view: $(plan_options | wc -l)"
hyperfine --shell=none --warmup 20 --runs "$runs" --export-markdown "$project/table" \
	-n "sbx run -- true" "$bin/sbx run -- true" \
	-n "bwrap, the same view" "$same" \
	-n "bwrap, a small view" "$small" \
	-n "true" "true" >/dev/null 2>&1
cat "$project/table"
