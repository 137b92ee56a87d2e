#!/usr/bin/env bash
# large.sh BIN: a project of 300,000 files under a pattern that hides names in it: how long `sbx run` takes until the command runs and
# after it has ended, beside find. Run through scripts/bench.
set -euo pipefail
bin=$1
# shellcheck source=own_broker.sh
. "$(dirname "$0")/own_broker.sh"

rounds=${SBX_BENCH_ROUNDS:-9} packages=${SBX_BENCH_PACKAGES:-3000}
export PATH=$bin:$PATH
mkdir -p "$HOME/.config/sbx" "$HOME/project"
cat >"$HOME/.config/sbx/policy.yaml" <<-'END'
	version: 1
	profiles:
	  default:
	    deny:
	      fs:read: ["**/.env"]
END
cd "$HOME/project"
for ((i = 0; i < packages; i++)); do
	echo "node_modules/p$i"/{lib,dist,src,test,types}/{a,b}
done | tr ' ' '\n' | xargs mkdir -p
find . -mindepth 4 -type d | awk '{ for (i = 0; i < 10; i++) print $0 "/" i ".js" }' | xargs touch
sleep 0.2 # what has just changed is read again
broker_start

# took NAME FROM TO: a line of that row, in milliseconds.
took() {
	echo "$(((${3/./} - ${2/./}) / 1000))" >>"$HOME/$1"
}

median() {
	sort -n "$HOME/$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'
}

# run NAME: a line of NAME.start and of NAME.end.
run() {
	local before=$EPOCHREALTIME inside
	# shellcheck disable=SC2016 # expanded by the inner shell
	inside=$(sbx run -- bash -c 'echo $EPOCHREALTIME' 2>>"$HOME/said")
	took "$1.end" "$inside" "$EPOCHREALTIME"
	took "$1.start" "$before" "$inside"
}

for ((round = 0; round < rounds; round++)); do
	before=$EPOCHREALTIME
	find . -name .env >/dev/null
	took find "$before" "$EPOCHREALTIME"
	rm -rf "$HOME/.local/state/sbx/projects"
	run first
	run later
done
if grep -q 'not all was looked at' "$HOME/said"; then
	echo "${0##*/}: not all was looked at" >&2
	exit 1
fi

echo "$(find . | wc -l) names in $(find . -type d | wc -l) folders; medians of $rounds rounds, in milliseconds; in brackets the ratio to \`find -name .env\`"
echo
echo "| | until it runs | after its end |"
echo "|---|---:|---:|"
echo "| find | $(median find) | – |"
for name in first later; do
	echo "| sbx run, $name | $(median $name.start) | $(median $name.end) |"
done | awk -v find="$(median find)" -F'|' '{ printf "|%s| %d (%.2f) | %d (%.2f) |\n", $2, $3, $3 / find, $4, $4 / find }'
