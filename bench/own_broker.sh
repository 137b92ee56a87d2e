# shellcheck shell=bash
# A broker of a benchmark's own, in a fresh home. Sourced; wants $bin.
# shellcheck disable=SC2154

home=$(mktemp -d)
# shellcheck disable=SC2034 # for who sources this
database=$home/.local/state/sbx/sbx.db
export HOME=$home XDG_RUNTIME_DIR=$home/run SBX_IDLE=600s
unset XDG_STATE_HOME XDG_CONFIG_HOME
mkdir -m 0700 "$home/run"
broker=

broker_stop() {
	[[ -z $broker ]] || kill "$broker" 2>/dev/null || true
	[[ -z $broker ]] || wait "$broker" || true
	broker=
}
trap 'broker_stop; rm -rf "$home"' EXIT

broker_start() {
	"$bin/sbxd" --foreground 2>"$home/log" &
	broker=$!
	for _ in {1..600}; do
		[[ ! -S $home/run/sbx/broker.sock ]] || return 0
		sleep 0.05
	done
	echo "${0##*/}: sbxd does not serve: $(cat "$home/log")" >&2
	exit 1
}

# broker_memory WHAT: a row of what it has in memory; anonymous is what no other process shares.
broker_memory() {
	awk -v what="$1" '/^VmRSS:/ { all = $2 } /^RssAnon:/ { own = $2 }
		END { printf "| %s | %.1f MB | %.1f MB |\n", what, all / 1000, own / 1000 }' "/proc/$broker/status"
}
