# shellcheck shell=bash
# Sandboxes side by side, each with a files_load in it (files_load.c) that does and times what it is told; so what is compared
# runs in turns, in the same seconds. Sourced; wants $files_load, where the sandboxes see it, $work, a folder of its own, and
# $sides, the names of those that are compared, the one that the others are compared with last.
# shellcheck disable=SC2034,SC2154

declare -A side_jobs side_answers side_pids
sides_failed=

# side_start NAME COMMAND…: COMMAND is followed by the files_load to be run in it.
side_start() {
	local name=$1 in=$work/$1.jobs out=$work/$1.answers jobs answers
	shift
	rm -f "$in" "$out"
	mkfifo "$in" "$out"
	"$@" "$files_load" <"$in" >"$out" 2>>"$work/$name.errors" &
	side_pids[$name]=$!
	exec {jobs}>"$in" {answers}<"$out"
	side_jobs[$name]=$jobs side_answers[$name]=$answers
}

side_end() {
	local jobs=${side_jobs[$1]} answers=${side_answers[$1]}
	exec {jobs}>&- {answers}<&-
	kill "${side_pids[$1]}" 2>/dev/null || true
	wait "${side_pids[$1]}" 2>/dev/null || true
	unset "side_pids[$1]"
}

sides_end() {
	local name
	for name in "${!side_pids[@]}"; do side_end "$name"; done
}

# side_do NAME WORD…: a job; sets $took (ns) and $outcome.
side_do() {
	local name=$1 begin end IFS=$'\t'
	shift
	echo "$*" >&"${side_jobs[$name]}"
	IFS=' ' read -r -t 120 begin end outcome <&"${side_answers[$name]}" || outcome=gone begin=0 end=0
	took=$((end - begin))
}

# sides_measure ROW ROUNDS PER OUTCOMES WORD…: the job by each of $sides in turn, the first one in a round the last one in the
# next. What one of PER took (of a job that does COUNT things) is a line of $work/rows/ROW.SIDE. OUTCOMES are what is to come
# out on each side; another one fails the row, since then something else was measured. The word @command is ${side_command[SIDE]}.
sides_measure() {
	local row=$1 rounds=$2 per=$3 round i side
	local -a expected job
	read -r -a expected <<<"$4"
	shift 4
	mkdir -p "$work/rows"
	for ((round = 0; round <= rounds; round++)); do
		for ((i = 0; i < ${#sides[@]}; i++)); do
			side=$(((i + round) % ${#sides[@]}))
			job=("$@")
			# shellcheck disable=SC2206 # words
			[[ ${job[-1]} != @command ]] || job=("${@:1:$#-1}" ${side_command[${sides[side]}]})
			side_do "${sides[side]}" "${job[@]}"
			if [[ $outcome != "${expected[side]:-${expected[-1]}}" ]]; then
				echo "${0##*/}: $row, ${sides[side]}: ${*:1:4} came out as $outcome" >&2
				tail -n 3 "$work/${sides[side]}.errors" >&2
				sides_failed=1
				for side in "${sides[@]}"; do echo failed >"$work/rows/$row.$side"; done
				return 0
			fi
			# the first round warms up
			((round == 0)) || awk -v took="$took" -v per="$per" 'BEGIN { print took / per }' >>"$work/rows/$row.${sides[side]}"
		done
	done
}

# sides_row TITLE ROW UNIT BUDGET: a row of a table: the median of each of $sides in that unit (ns, µs, ms), then how many times
# the last one's the others' are: the median over the rounds. BUDGET (or -) is for the first one's.
sides_row() {
	local side
	# shellcheck disable=SC2046 # file names of ours
	paste -d , $(for side in "${sides[@]}"; do echo "$work/rows/$2.$side"; done) 2>/dev/null | awk -F, -v title="$1" -v unit="$3" -v budget="$4" '
		function median(values, n,   i, j, swap) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && values[j - 1] > values[j]; j--) {
					swap = values[j]; values[j] = values[j - 1]; values[j - 1] = swap
				}
			return n % 2 ? values[(n + 1) / 2] : (values[n / 2] + values[n / 2 + 1]) / 2
		}
		BEGIN { divisor = unit == "ms" ? 1e6 : unit == "µs" ? 1e3 : 1 }
		/failed/ { failed = 1; exit }
		{
			for (i = 1; i <= NF; i++) {
				if ($i != "") times[i, ++count[i]] = $i
				if ($i != "" && $NF != "") ratios[i, ++both[i]] = $i / $NF
			}
		}
		END {
			printf "| %s |", title
			if (failed || NR == 0) { print " failed | | | | | |"; exit }
			for (i = 1; i <= NF; i++) {
				for (n = 1; n <= count[i]; n++) t[n] = times[i, n]
				for (n = 1; n <= both[i]; n++) r[n] = ratios[i, n]
				value = median(t, count[i]) / divisor
				printf value < 100 ? " %.2f %s |" : " %.0f %s |", value, unit
				ratio[i] = median(r, both[i])
			}
			for (i = 1; i < NF; i++) printf " %.2f |", ratio[i]
			print budget == "-" ? " – |" : sprintf(" ≤ %s: %s |", budget, ratio[1] <= budget ? "met" : "**not met**")
		}'
}
