#!/usr/bin/env bats
# What is said about denials: the summary at a run's end, and `sbx why`. What they advise is done as they say it.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

setup_file() {
	home_make
	mkdir "$HOME/notes"
	refusing_policy ""
}

# on_terminal COMMAND…: on a terminal of unknown width, which counts as 40 columns.
on_terminal() {
	timeout 60 python3 -c 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(sys.argv[1:])))' "$@" </dev/null |
		tr -d '\r'
}

# The commands that a person would copy.
advised() {
	grep -E '^  sbx (grant|revoke) ' <<<"$1"
}

@test "several denials on a terminal: one summary, and its commands work as they are pasted, whatever files are called" {
	local names=("plain" "it's" 'a*b' $'new\nline' '$(touch pwned)' ' -rf' $'esc\e[31m' $'\xff' '~' 'back\slash' '{x,y}' '[a]' '$HOME' '"') files=()
	local name number=0 lines
	for name in "${names[@]}"; do
		echo "note $((++number))" >"$HOME/notes/$name"
		files+=("$HOME/notes/$name")
	done
	answers somebody "deny=*=*"
	echo "nobody's business" | tee "$HOME/notes/axb" >"$HOME/notes/a"
	for ((number = 0; number < ${#files[@]}; number += 7)); do
		run on_terminal sbx run -- cat "${files[@]:number:7}"
		echo "$output"
		contains "$output" "sbx: blocked 7 requests:"
		contains "$output" "sbx: allow with:"
		[[ $output =~ "sbx suggest --session "[0-9]+ ]]
		[ "$(advised "$output" | wc -l)" = 7 ]
		advised "$output" >"$HOME/run/pasted"
		run -0 bash "$HOME/run/pasted"
	done
	answers_end somebody
	[ ! -e pwned ]
	run -0 sbx run -- cat "${files[@]}"
	[ "$output" = "$(seq -f 'note %.0f' ${#files[@]})" ]
	run sbx run -- cat "$HOME/notes/axb" "$HOME/notes/a"
	lacks "$output" "nobody's business"
	sbx revoke --all
}
