#!/usr/bin/env bash
# The manual is whole: every command and option that sbx knows is in the page that its help names, the pages have their sections, lead
# only to pages that are there, and are formatted without a warning. $1: the folder of the built pages; SBX_BIN.
set -euo pipefail
cd "$(dirname "$0")/../.."
pages=$1 sbx=$SBX_BIN/sbx
HOME=$(mktemp -d) # no policy, no broker
export HOME MANPATH=$pages LC_ALL=C.UTF-8 MANWIDTH=200
trap 'rmdir "$HOME"' EXIT

wrong=0
say() {
	printf '%s\n' "$*" >&2
	wrong=1
}

# words WORD…: what may follow them; there is something always. A machine that is busy may be too slow for it (sbx-completion(1)).
words() {
	local found='' try
	for ((try = 0; try < 100; try++)); do
		found=$("$sbx" complete -- "$@" | cut -f 1)
		[[ ! $found ]] || break
	done
	printf '%s\n' "$found"
	[[ $found ]]
}

declare -A texts # of the pages, by their names

# about COMMAND SUBCOMMAND?: its page names it and all of its options.
about() {
	local page text options option
	page=$("$sbx" "$@" --help | sed -nE 's/^Manual: (sbx-[a-z]+)\(1\)$/\1/p')
	[[ $page == sbx-$1 ]] || say "sbx $* --help names no page"
	[[ $page ]] || return 0
	[[ ${texts[$page]-} ]] || texts[$page]=$(man -P cat 1 "$page" 2>/dev/null) || say "there is no page $page(1)"
	text=${texts[$page]}
	options=$(words "$@" --) || say "sbx complete knows no options of sbx $*"
	options=$(grep -vx -- --help <<<"$options" || true)
	grep -qE "^ +sbx $*( |\$)" <<<"$text" || say "$page(1): 'sbx $*' is not in its SYNOPSIS"
	while [[ $options ]] && read -r option; do
		grep -qE -- "^ +(--.*, )?$option([^a-z-]|\$)" <<<"$text" || say "$page(1) has no $option of sbx $*"
	done <<<"$options"
	grep -qE "sbx $*([ ,]|\$)" <<<"$overview" || say "sbx(1) doesn't name 'sbx $*'"
}

overview=$(man -P cat 1 sbx)
commands=$(words "")
while read -r command; do
	subcommands=$(words "$command" "" | grep -E '^[a-z]+$' || true)
	help=$("$sbx" "$command" --help)
	if grep -q '^Commands:' <<<"$help"; then
		for subcommand in $subcommands; do about "$command" "$subcommand"; done
	fi
	if grep -q '^Options:' <<<"$help"; then about "$command"; fi
done <<<"$commands"

for source in docs/*.scd; do
	name=$(basename "$source" .scd)
	page=$pages/man${name##*.}/$name
	[[ -s $page ]] || say "docs/CMakeLists.txt doesn't make $name"
	wanted=(NAME DESCRIPTION "SEE ALSO")
	[[ $name != *.[18] ]] || wanted+=(SYNOPSIS "EXIT STATUS" EXAMPLES)
	for section in "${wanted[@]}"; do
		grep -qx "# $section" "$source" || say "$name has no $section"
	done
	while read -r other; do
		section=${other##*(} section=${section%)}
		[[ -s $pages/man$section/${other%(*}.$section ]] || say "$name leads to $other, which is not there"
	done < <(grep -oE '\*sbx[a-z-]*\*\([0-9]\)' "$source" | tr -d '*' | sort -u)
done
for page in "$pages"/man*/*; do
	grep -q '^\.so ' "$page" && continue
	warnings=$(man -l --warnings "$page" 2>&1 >/dev/null) || true
	[[ ! $warnings ]] || say "$page: $warnings"
done
exit $wrong
