#!/usr/bin/env bash
# files.sh BIN: what it costs that a sandbox can ask about files. The same view three times, side by side: asking on (a profile
# like `default`, which asks to write in the home), asking off (the same without that, no doorbell), and bwrap with the mounts
# of --print-plan. SBX_BENCH_ROUNDS (10) are the rounds of each job. A broker of its own; some five minutes.
# Run through scripts/bench, which finds BIN and the user.
set -euo pipefail

bin=$1
rounds=${SBX_BENCH_ROUNDS:-10}
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$HOME/.cache/sbx"
# As far from /tmp as a real home, for the sandbox has its own /tmp.
export TMPDIR=$HOME/.cache/sbx
# shellcheck source=own_broker.sh
. "$here/own_broker.sh"
unset TMPDIR
# shellcheck source=view.sh
. "$here/view.sh"
# shellcheck source=sides.sh
. "$here/sides.sh"
trap 'sides_end; broker_stop; rm -rf "$home"' EXIT
export PATH=/usr/local/bin:/usr/bin:/bin npm_config_update_notifier=false
project=$home/project work=$home/run/bench files=50000 touches=200
files_load=$project/files_load
sides=(asking silent bwrap)

home_make() {
	mkdir -p "$work" "$home/.config/sbx" "$home/.npm" "$project" "$home/granted" "$home/notes/later" "$home/touched"
	cat >"$home/.config/sbx/policy.yaml" <<-'END'
		version: 1
		prompt: {timeout: 60s, without-agent: deny}
		profiles:
		  same:
		    allow: {fs:write: ["${project}", ~/.npm], fs:read: [~/granted]}
		    deny: {fs:read: [~/notes/denied]}
		  asking: {extends: [same, base], ask: {fs:write: ["~"]}}
		  silent: {extends: [same, base], doorbell: none}
	END
	touch "$home/granted/file" "$home/notes/later/file" "$home/notes/denied" "$home/notes/asked"
	(cd "$home/touched" && eval "touch {0..$((touches - 1))}")
	(cd "$home/granted" && eval "touch {0..$((touches - 1))}")
	cp "$bin/files_load" "$files_load"
}

# What the programs work on, in the project.
project_make() {
	cd "$project"
	git init -q .
	printf '/app/\n/c/\n/files_load\n' >.gitignore
	eval "mkdir -p many/{0..$((files / 100 - 1))}"
	(cd many && for folder in *; do eval "touch $folder/{0..99}"; done)
	git add .gitignore many
	git -c user.name=bench -c user.email=bench@example.org commit -q -m many
	git status --porcelain >/dev/null

	mkdir c
	awk 'BEGIN {
		for (i = 0; i < 60; i++) {
			name = "c/part" i ".c"
			print "#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <unistd.h>" >name
			for (j = 0; j < 4; j++)
				printf "int part%d_%d(char **words, int count);\n" \
					"int part%d_%d(char **words, int count) {\n\tint sum = %d;\n" \
					"\tfor (int i = 0; i < count; i++) sum += (int)strlen(words[i]) * %d;\n" \
					"\treturn printf(\"%%d\\n\", sum);\n}\n", i, j, i, j, i, j >name
			close(name)
		}
		print "int main(void) {\n\treturn 0;\n}" >"c/main.c"
		print "CFLAGS = -O1\nprogram: $(patsubst %.c,%.o,$(wildcard *.c))\n\t$(CC) -o $@ $^" >"c/Makefile"
	}'
	# shellcheck disable=SC2016 # for sh
	echo 'i=0; while [ $i -lt 200 ]; do /bin/true; i=$((i + 1)); done' >loop.sh
	git add loop.sh
}

# npm's cache and an app's lock file: of express where a registry can be reached, else of what a small one on this machine has.
app_make() {
	local package=express options=(--no-audit --no-fund --fetch-retries=0) server=
	mkdir -p "$project/app"
	cd "$project/app"
	npm init -y >/dev/null
	if ! timeout 60 npm install "${options[@]}" express >"$work/npm.log" 2>&1; then
		package="two small packages, for no registry can be reached"
		python3 "$here/../tests/e2e/registry.py" --name localhost --port-file "$work/port" >/dev/null 2>&1 &
		server=$!
		for _ in {1..100}; do
			[[ ! -s $work/port ]] || break
			sleep 0.05
		done
		timeout 60 npm install "${options[@]}" --registry "http://localhost:$(<"$work/port")" greet >>"$work/npm.log" 2>&1 ||
			package="nothing, for it can't be installed"
		kill "$server"
	fi
	echo "npm ci installs $package."
}

head_print() {
	# shellcheck disable=SC2016 # no command
	printf '| %s | asking on | asking off | bwrap | on ÷ bwrap | off ÷ bwrap | budget |\n|---|---:|---:|---:|---:|---:|---|\n' "$1"
}

calls() {
	local many=100000
	sides_measure stat "$rounds" $many ok stat $many "$home/granted/file"
	sides_measure open "$rounds" $many ok read $many "$home/granted/file"
	sides_measure later "$rounds" 20000 ok stat 20000 "$home/notes/later/file"
	sides_measure write "$rounds" 2000 ok write 2000 "$project/.gitignore"
	sides_measure none "$rounds" $many absent stat $many "$home/nothing"
	sides_measure denied "$rounds" 2000 absent stat 2000 "$home/notes/denied"
	sides_measure refused "$rounds" 50 "refused absent" stat 50 "$home/notes/asked"
	head_print "a call"
	sides_row "\`stat\` in a granted tree" stat ns -
	sides_row "\`open\` and \`close\` in a granted tree" open ns -
	sides_row "\`stat\` in a tree granted meanwhile, below what is asked about" later ns -
	sides_row "\`open\` to write and \`close\` in the project" write ns -
	sides_row "\`stat\` of a name that the home doesn't have" none ns -
	sides_row "\`stat\` of a denied name beside what is asked about" denied ns -
	sides_row "\`stat\` of what is asked about and refused, each time" refused ns -
}

programs() {
	sides_measure npm "$rounds" 1 ok run "$project/app" npm ci --offline --no-audit --no-fund --no-update-notifier
	sides_measure git $((rounds * 2)) 1 ok run "$project" git status --porcelain
	sides_measure rg $((rounds * 2)) 1 ok run "$project" rg foo /usr/include
	sides_measure make "$rounds" 1 ok run "$project/c" make -B -j2
	sides_measure loop $((rounds * 2)) 1 ok run "$project" sh loop.sh
	head_print "a program"
	sides_row "\`npm ci --offline\`" npm ms 1.03
	sides_row "\`git status\`, $files files" git ms 1.03
	sides_row "\`rg foo /usr/include\`" rg ms 1.03
	sides_row "\`make -j2\`, 61 files of C" make ms -
	sides_row "a shell's loop of 200 \`true\`" loop ms -
}

# touch_rows TITLE HOW FOLDER: in a sandbox of its own, for there have been too many questions in the other one.
touch_rows() {
	side_start touch "$bin/sbx" run --profile asking --
	if timeout 60 "$bin/touch_load" "$work/touch.jobs" "$work/touch.answers" "$2" "$3" "$touches" >"$work/parts"; then
		awk -F'\t' -v title="$1" '
			BEGIN { says["asked"] = "call → question at the agent"; says["returned"] = "answer → the call returns"
				says["recorded"] = "answer → the agent is told that it is recorded"; says["touched"] = "all of the call"
				says["gone"] = "revoked → gone" }
			{ budget = $1 == "returned" ? 1500 : $1 == "gone" ? 50000 : 0
			  printf "| %s: %s | %.2f ms | %.2f ms | %.2f ms | %s |\n", title, says[$1], $2 / 1000, $3 / 1000, $4 / 1000,
				!budget ? "–" : sprintf("%s ≤ %g ms: %s", $1 == "gone" ? "p99" : "p50", budget / 1000,
					($1 == "gone" ? $3 : $2) <= budget ? "met" : "**not met**") }' "$work/parts"
	else
		tail -n 3 "$work/touch.errors" >&2
		echo "| $1 | failed | | | |"
		sides_failed=1
	fi
	side_end touch
}

touches() {
	printf '| %s first touches with an instant answer | p50 | p99 | longest | budget |\n|---|---:|---:|---:|---|\n' "$touches"
	touch_rows "a file that is asked about, read" read "$home/touched"
	touch_rows "a file of a tree that may be read, written" write "$home/granted"
}

names_make() { # names_make COUNT: so many names of the host in the home, half of them folders
	local i
	for ((i = 0; i < $1; i++)); do
		if ((i % 2)); then mkdir -p "$home/name-$i"; else : >>"$home/name-$i"; fi
	done
}

# Here the workers are on the host, and start the sandboxes.
starts() {
	local count side bound sandboxes=("${sides[@]}")
	local -A side_command
	mkdir "$home/empty"
	cd "$home/empty"
	git init -q .
	sides_end
	for side in asking silent bwrap bound; do side_start $side; done
	for count in 0 50 150 1000; do
		names_make $count
		side_command=([asking]="$bin/sbx run --profile asking -- true" [silent]="$bin/sbx run --profile silent -- true"
			[bwrap]="$(view_bwrap --profile silent) true")
		bound=$(compgen -G "$home/name-*" | sed 's/.*/--ro-bind & &/' | tr '\n' ' ' || true)
		side_command[bound]=${side_command[bwrap]/--chdir/$bound--chdir}
		sides=(asking silent bwrap bound)
		sides_measure start-$count $((count < 1000 ? rounds * 2 : 3)) 1 ok run "$PWD" @command
		sides=("${sandboxes[@]}")
		((count % 1000)) || memory "$count"
	done
	sides=(asking silent bwrap bound)
	# shellcheck disable=SC2016 # no command
	printf '| a start of `true` with | asking on | asking off | bwrap | bwrap, the names bound '
	printf '| on ÷ bound | off ÷ bound | bwrap ÷ bound | budget |\n|---|---:|---:|---:|---:|---:|---:|---:|---|\n'
	for count in 0 50 150 1000; do
		sides_row "$count names in the home" start-$count ms 1.5
	done
}

# memory COUNT: what the runner and its portal have in memory in a sandbox that asks, with so many names in the home.
memory() {
	local pid processes=() process
	side_start idle "$bin/sbx" run --profile asking --
	side_do idle stat 1000 "$home/granted/file"
	pid=${side_pids[idle]}
	for process in "$pid" $(pgrep -P "$pid"); do
		[[ $(<"/proc/$process/comm") == bwrap ]] || processes+=("$process")
	done
	for process in "${processes[@]}"; do
		cat "/proc/$process/status" "/proc/$process/smaps_rollup" 2>/dev/null || true
	done | awk -v count="$1" -v processes="${#processes[@]}" '
		/^VmRSS:/ { rss += $2 }
		/^RssAnon:/ { own += $2 }
		/^Pss:/ { pss += $2; told++ }
		END {
			printf "| %d names | %.1f MB | %.1f MB | %s | ≤ 8 MB: %s |\n", count, rss / 1000, own / 1000,
				told == processes ? sprintf("%.1f MB", pss / 1000) : "not told", rss <= 8000 ? "met" : "**not met**"
		}' >>"$work/memory"
	side_end idle
}

memory_print() {
	printf '| runner and portal, asking on | RSS | of it anonymous | PSS | budget (RSS) |\n|---|---:|---:|---:|---|\n'
	cat "$work/memory"
}

home_make
project_make
app_make
broker_start
cd "$project"
echo "medians of $rounds rounds and more; the ratios are medians of each round's"
side_start asking "$bin/sbx" run --profile asking --
side_do asking stat 1 / # it runs: what is granted from now on comes later
for profile in asking silent; do
	"$bin/sbx" grant fs:read "$home/notes/later" --profile $profile --anywhere --ttl 1h >/dev/null
done
side_start silent "$bin/sbx" run --profile silent --
# shellcheck disable=SC2046 # words
side_start bwrap $(view_bwrap --profile silent)
for table in calls programs touches starts memory_print; do
	echo
	"$table"
done
echo
SBX_BENCH_ROUNDS=$(((rounds + 1) / 2)) "$here/traps.sh" "$bin"
[[ ! $sides_failed ]]
