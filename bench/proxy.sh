#!/usr/bin/env bash
# proxy.sh BIN: what a granted connection costs. Directly, through sbx's gate (with a judge that allows everything, so without
# the broker) and through tinyproxy, in turns; prints the medians over all rounds. Run through scripts/bench.
set -euo pipefail

# shellcheck source=servers.sh
. "$(dirname "$0")/servers.sh"
load=$1/proxy_load
rounds=${SBX_BENCH_ROUNDS:-5}
connections=2000 requests=10000 megabytes=2000
work=$(mktemp -d)
pids=()
trap 'kill "${pids[@]}" 2>/dev/null; rm -rf "$work"' EXIT

declare -A port pid value
"$load" origin >"$work/origin" &
pids+=($!)
"$load" gate >"$work/gate" &
pids+=($!) pid[sbx]=$!
origin=$(listening "$work/origin")
port=([direct]=0 [sbx]=$(listening "$work/gate"))
routes=(direct sbx)
if command -v tinyproxy >/dev/null; then
	port[tinyproxy]=$(free_port 18080)
	cat >"$work/tinyproxy.conf" <<-END
		Port ${port[tinyproxy]}
		Listen 127.0.0.1
		Timeout 600
		MaxClients 100
		LogLevel Critical
		LogFile "$work/tinyproxy.log"
	END
	tinyproxy -d -c "$work/tinyproxy.conf" >/dev/null 2>&1 &
	pids+=($!) pid[tinyproxy]=$!
	routes+=(tinyproxy)
	serves "${port[tinyproxy]}"
	tinyproxy -v
else
	echo "tinyproxy is not installed: compared with direct connections alone" >&2
fi

ticks() { # of CPU, user and system, so far
	local stat
	stat=$(<"/proc/${pid[$1]}/stat")
	# shellcheck disable=SC2086 # the fields behind the program's name
	set -- ${stat##*) }
	echo $((${12} + ${13}))
}

measure() { # measure WHAT N ROUTE
	local before=0
	[[ $3 == direct ]] || before=$(ticks "$3")
	if ! timeout 120 "$load" "$1" "$origin" "${port[$3]}" "$2" >>"$work/$1.$3" 2>"$work/error"; then
		echo "$1 through $3 failed: $(cat "$work/error")" >&2
	elif [[ $1 == *load && $3 != direct ]]; then
		awk -v ticks=$(($(ticks "$3") - before)) -v hz="$(getconf CLK_TCK)" -v mb="$2" \
			'BEGIN { printf "%.2f\n", ticks / hz / (mb / 1000) }' >>"$work/cpu-$1.$3"
	fi
}

for ((round = 0; round < rounds; round++)); do
	for route in "${routes[@]}"; do
		measure connect "$connections" "$route"
		# tinyproxy closes after each request
		[[ $route == tinyproxy ]] || measure request "$requests" "$route"
		measure download "$megabytes" "$route"
		measure upload "$megabytes" "$route"
	done
done

median() {
	[[ -s $1 ]] || { echo - && return; }
	sort -g "$1" | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'
}

row() { # row TITLE WHAT MODE: MODE is `over` (difference) or `of` (ratio)
	local route
	for route in direct sbx tinyproxy; do value[$route]=$(median "$work/$2.$route"); done
	awk -v title="$1" -v mode="$3" -v d="${value[direct]}" -v s="${value[sbx]}" -v t="${value[tinyproxy]}" '
		function compared(x) {
			if (x == "-" || d == "-") return ""
			return mode == "over" ? sprintf(" (%+.0f)", x - d) : mode == "of" ? sprintf(" (%.2f)", x / d) : ""
		}
		BEGIN { printf "| %s | %s | %s%s | %s%s |\n", title, d, s, compared(s), t, compared(t) }'
}

echo "medians of $rounds rounds; $connections connections, $requests requests, $megabytes MB each"
echo
echo "| what | direct | sbx | tinyproxy |"
echo "|---|---|---|---|"
row "a connection stands (CONNECT), µs" connect over
row "a request over a kept connection, µs" request over
row "download through a tunnel, MB/s" download of
row "upload through a tunnel, MB/s" upload of
row "CPU of the proxy, download, s a GB" cpu-download none
row "CPU of the proxy, upload, s a GB" cpu-upload none
