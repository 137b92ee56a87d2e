#!/usr/bin/env bash
# Every test that docs/threat-model.md names must exist: attack_… by its beginning, files and folders by their paths. And every
# row of attacks on files, the kernel and the network has its line there. And the documents lead to files that exist.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=0
known=$(grep -rhoE 'attack_[a-z]+_[0-9]+[a-z0-9_]*' tests --include='*.c' --include='*.bats' --include='*.sh' --include='*.py' | sort -u)
while read -r name; do
	if ! grep -q "^$name" <<<"$known"; then
		echo "docs/threat-model.md names $name, but no test begins so"
		missing=1
	fi
done < <(grep -oE 'attack_[a-z]+_[0-9]+_?' docs/threat-model.md | grep -v '^attack_fs_04_…' | sort -u)
paths=$'\x60(tests/[a-z/_.]+|test_[a-z_]+\\.c)\x60'
while read -r path; do
	if [[ -z $(find tests -path "tests/${path#tests/}" -o -name "$path") ]]; then
		echo "docs/threat-model.md names $path, which isn't there"
		missing=1
	fi
done < <(grep -oE "$paths" docs/threat-model.md | tr -d '`' | sort -u)
for row in F{1..22} K{1..9} N{1..16} B15; do
	if ! grep -q "^| $row | .*\(attack_\|tests/\)" docs/threat-model.md; then
		echo "docs/threat-model.md has no tests for $row"
		missing=1
	fi
done
while IFS=: read -r document link; do
	if [[ ! -e $(dirname "$document")/${link%%#*} ]]; then
		echo "$document leads to $link, which isn't there"
		missing=1
	fi
done < <(grep -oE '\]\([^):#]+[^):]*\)' README.md CONTRIBUTING.md docs/*.md | sed -E 's/\]\((.*)\)$/\1/')
exit $missing
