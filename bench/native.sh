#!/usr/bin/env bash
# native.sh BIN: what a sandbox's connections cost. The same client (native_load.c) against the same origin: outside (direct); in a
# sandbox by name (native), with a real socket of the host's (direct: true), through sbx's proxy; outside through a bare relay
# (splice, no gate), tinyproxy and squid; in the sandboxes of srt and codex, where npm can install them. All run at once and are
# measured in turns; prints the medians over SBX_BENCH_ROUNDS (5) rounds. A broker of its own; some ten minutes.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
rounds=${SBX_BENCH_ROUNDS:-5}
here=$(cd "$(dirname "$0")" && pwd)
connections=${SBX_BENCH_CONNECTIONS:-1000} bytes=$((100 * 1024 * 1024)) transfers=5
mkdir -p "$HOME/.cache/sbx"
export TMPDIR=$HOME/.cache/sbx # sandboxes have their own /tmp, and codex wants no home there
# shellcheck source=own_broker.sh
. "$here/own_broker.sh"
unset TMPDIR
# shellcheck source=sides.sh
. "$here/sides.sh"
# shellcheck source=servers.sh
. "$here/servers.sh"
pids=()
trap 'sides_end; [[ ${#pids[@]} == 0 ]] || kill "${pids[@]}" 2>/dev/null; broker_stop; rm -rf "$home"' EXIT
work=$home/run/bench
# shellcheck disable=SC2034 # sides.sh
files_load=$home/native_load
mkdir -p "$work" "$home/.config/sbx" "$home/project"
cp "$bin/native_load" "$files_load"

# Sandboxes of others, if they can be had: npm_program NAME PACKAGE prints its path.
npm_program() {
	if ! command -v npm >/dev/null || ! timeout 120 npm install --prefix "$work/npm" --no-audit --no-fund "$2" >"$work/npm.log" 2>&1; then
		echo "$1 can't be installed: not measured" >&2
		return 1
	fi
	echo "$work/npm/node_modules/.bin/$1"
}

declare -A cpu_of moved cost
"$bin/proxy_load" origin >"$work/origin.port" &
pids+=($!)
origin=$(listening "$work/origin.port")
cat >"$home/.config/sbx/policy.yaml" <<-END
	version: 1
	prompt: {without-agent: deny}
	profiles:
	  common: {extends: [base], hosts: {origin.test: 127.0.0.1}, allow: {fs:write: ["\${project}"], fs:read: [~/native_load], env:read: ["BENCH_*"]}}
	  native: {extends: [common], network: native, allow: {net:access: ["origin.test:$origin"]}}
	  proxy: {extends: [native], network: proxy}
	  handed: {extends: [common], network: native, allow: {net:access: [{target: "origin.test:$origin", direct: true}]}}
END

# sandboxed SIDE PROFILE [PROXY]
sandboxed() {
	side_start "$1" env BENCH_ORIGIN="origin.test:$origin" BENCH_PROXY="${3:-}" "$bin/sbx" run --profile "$2" --project "$home/project" --
	sides+=("$1") cpu_of[$1]=${side_pids[$1]}
}

# outside SIDE PROXY PID [ORIGIN [COMMAND…]]: PID is what stands between, or empty; COMMAND runs the client
outside() {
	side_start "$1" env BENCH_ORIGIN="${4:-127.0.0.1:$origin}" BENCH_PROXY="$2" "${@:5}"
	sides+=("$1") cpu_of[$1]=$3
}

cd "$home/project"
broker_start
sides=()
outside direct '' ''
sandboxed native native
sandboxed handed handed
sandboxed proxy proxy 127.0.0.1:61080
"$bin/native_load" relay "$origin" >"$work/relay.port" &
pids+=($!)
outside relay '' "${pids[-1]}" "127.0.0.1:$(listening "$work/relay.port")"
if command -v tinyproxy >/dev/null; then
	port=$(free_port 18080)
	printf 'Port %s\nListen 127.0.0.1\nTimeout 600\nMaxClients 100\nLogLevel Critical\nLogFile "%s"\n' "$port" "$work/tinyproxy.log" >"$work/tinyproxy.conf"
	tinyproxy -d -c "$work/tinyproxy.conf" >/dev/null 2>&1 &
	pids+=($!)
	serves "$port" && outside tinyproxy "127.0.0.1:$port" "${pids[-1]}"
else
	echo 'tinyproxy is not installed' >&2
fi
if [[ -x /usr/sbin/squid ]]; then
	port=$(free_port 18180)
	cat >"$work/squid.conf" <<-END
		http_port 127.0.0.1:$port
		http_access allow all
		cache deny all
		cache_log $work/squid.log
		access_log none
		pid_filename none
		pinger_enable off
		coredump_dir $work
		shutdown_lifetime 0 seconds
	END
	/usr/sbin/squid -N -f "$work/squid.conf" >/dev/null 2>&1 &
	pids+=($!)
	serves "$port" && outside squid "127.0.0.1:$port" "${pids[-1]}"
else
	echo 'squid is not installed' >&2
fi

# by_proxy: runs the client with the proxy that HTTP_PROXY names: http://[USER:PASSWORD@]HOST:PORT
cat >"$home/project/by_proxy" <<-'END'
	#!/bin/sh
	BENCH_PROXY=127.0.0.1:${HTTP_PROXY##*:}
	user=$(printf %s "${HTTP_PROXY#http://}" | sed -n 's/@.*//p' | sed 's/%3D/=/g; s/%2B/+/g; s,%2F,/,g')
	[ -z "$user" ] || export BENCH_AUTHORIZATION="Basic $(printf %s "$user" | base64 -w 0)"
	export BENCH_PROXY
	exec "$1"
END
chmod +x "$home/project/by_proxy"
if srt=$(npm_program srt @anthropic-ai/sandbox-runtime); then
	printf '{"network": {"allowedDomains": ["127.0.0.1:%s"], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": ["%s"], "denyWrite": []}}' \
		"$origin" "$home/project" >"$work/srt.json"
	outside srt '' '' '' "$srt" --settings "$work/srt.json" "$home/project/by_proxy"
	cpu_of[srt]=${side_pids[srt]}
fi
if codex=$(npm_program codex @openai/codex); then
	mkdir "$home/codex"
	cat >"$home/codex/config.toml" <<-END
		default_permissions = "bench"
		[permissions.bench.filesystem]
		":root" = "read"
		[permissions.bench.filesystem.":project_roots"]
		"." = "write"
		[permissions.bench.network]
		enabled = true
		mode = "full"
		allow_local_binding = true
		[permissions.bench.network.domains]
		"127.0.0.1" = "allow"
		[features]
		network_proxy = true
	END
	outside codex '' '' '' env CODEX_HOME="$home/codex" "$codex" sandbox "$home/project/by_proxy"
	cpu_of[codex]=${side_pids[codex]}
fi

family() { # PID and what it has started, but for the client itself
	local pid=$1 child
	local -a words children
	mapfile -d '' words <"/proc/$pid/cmdline"
	[[ ${words[0]} == *native_load && ${#words[@]} == 1 ]] || echo "$pid"
	read -r -d '' -a children < <(cat "/proc/$pid/task/"*/children) || true
	for child in "${children[@]}"; do family "$child"; done
}

ticks() { # of CPU that what stands between on SIDE has used, ended threads included
	local stat pid sum=0
	[[ ${cpu_of[$1]} ]] || { echo 0 && return; }
	for pid in $(family "${cpu_of[$1]}" 2>/dev/null); do
		stat=$(cat "/proc/$pid/stat" 2>/dev/null) || continue
		# shellcheck disable=SC2086 # the fields behind the program's name
		set -- ${stat##*) }
		sum=$((sum + ${12} + ${13}))
	done
	echo "$sum"
}

# measure ROW SIDES… -- WORD…: each side in turn; a line "P50 P99" for each round.
measure() {
	local row=$1 round i before after side
	local -a among=()
	shift
	while [[ $1 != -- ]]; do
		among+=("$1")
		shift
	done
	shift
	mkdir -p "$work/rows"
	for ((round = 0; round <= rounds; round++)); do
		for ((i = 0; i < ${#among[@]}; i++)); do
			side=${among[$(((i + round) % ${#among[@]}))]}
			before=$(ticks "$side")
			side_do "$side" "$@"
			after=$(ticks "$side")
			if [[ ! $outcome =~ ^[0-9]+\ [0-9]+$ ]]; then
				echo "${0##*/}: $row, $side: $* came out as $outcome" >&2
				tail -n 3 "$work/$side.errors" >&2
				exit 1
			fi
			((round > 0)) || continue # the first round warms up
			echo "$outcome" >>"$work/rows/$row.$side"
			if [[ $1 == *load ]]; then
				moved[$row.$side]=$((${moved[$row.$side]:-0} + $2 * $3))
				cost[$row.$side]=$((${cost[$row.$side]:-0} + after - before))
			fi
		done
	done
}

median() { # median COLUMN FILE
	[[ -s $2 ]] || { echo - && return; }
	awk -v column="$1" '{ print $column }' "$2" | sort -g | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'
}

times_row() { # times_row TITLE ROW: µs, p50 / p99, and what p50 is over direct
	local side line="| $1 |"
	for side in "${sides[@]}"; do
		line+=$(awk -v p50="$(median 1 "$work/rows/$2.$side")" -v p99="$(median 2 "$work/rows/$2.$side")" \
			-v direct="$(median 1 "$work/rows/$2.direct")" -v side="$side" 'BEGIN {
				if (p50 == "-") { print " – |"; exit }
				printf " %.0f / %.0f", p50 / 1e3, p99 / 1e3
				if (side != "direct") printf " (%+.0f)", (p50 - direct) / 1e3
				print " |"
			}')
	done
	echo "$line"
}

rate_row() { # rate_row TITLE ROW: MB/s, and how many times direct's
	local side line="| $1 |"
	for side in "${sides[@]}"; do
		line+=$(awk -v took="$(median 1 "$work/rows/$2.$side")" -v direct="$(median 1 "$work/rows/$2.direct")" -v bytes="$bytes" -v side="$side" 'BEGIN {
			printf " %.0f", bytes / took * 1e3
			if (side != "direct") printf " (%.2f)", direct / took
			print " |"
		}')
	done
	echo "$line"
}

cpu_row() { # cpu_row TITLE ROW: seconds a GB of what stands between
	local side line="| $1 |"
	for side in "${sides[@]}"; do
		if [[ ! ${cpu_of[$side]} ]]; then
			line+=' – |'
		else
			line+=$(awk -v ticks="${cost[$2.$side]}" -v bytes="${moved[$2.$side]}" -v hz="$(getconf CLK_TCK)" \
				'BEGIN { printf " %.2f |", ticks / hz / (bytes / 1e9) }')
		fi
	done
	echo "$line"
}

sandboxes=()
for side in direct native handed; do sandboxes+=("$side"); done
measure lookup "${sandboxes[@]}" -- lookup "$connections"
for clients in 1 16; do
	measure "connect-$clients" "${sides[@]}" -- connect "$clients" "$connections"
	measure "kept-$clients" "${sides[@]}" -- kept "$clients" "$((connections * 5))"
	measure "new-$clients" "${sides[@]}" -- new "$clients" "$connections"
done
measure download "${sides[@]}" -- download "$bytes" "$transfers"
measure upload "${sides[@]}" -- upload "$bytes" "$transfers"

# shellcheck disable=SC2016 # markdown
declare -A titles=([direct]=direct [native]=native [handed]='`direct: true`' [proxy]="sbx's proxy" [relay]='a bare relay' [tinyproxy]=tinyproxy [squid]=squid [srt]=srt [codex]=codex)
echo "medians of $rounds rounds; p50 / p99 in µs of $connections connections, $((connections * 5)) kept requests; transfers of 100 MiB in MB/s"
command -v tinyproxy >/dev/null && tinyproxy -v
[[ ! -x /usr/sbin/squid ]] || /usr/sbin/squid -v | head -n 1
echo
printf '| what |'
for side in "${sides[@]}"; do printf ' %s |' "${titles[$side]}"; done
printf '\n|---|'
for side in "${sides[@]}"; do printf -- '---:|'; done
printf '\n'
times_row "a name is looked up" lookup
for clients in 1 16; do
	several=$([[ $clients == 1 ]] || echo ", $clients clients")
	times_row "a connection stands$several" "connect-$clients"
	times_row "a request, kept connection$several" "kept-$clients"
	times_row "a request, new connection$several" "new-$clients"
done
rate_row "download" download
rate_row "upload" upload
cpu_row "CPU between, download, s a GB" download
cpu_row "CPU between, upload, s a GB" upload
