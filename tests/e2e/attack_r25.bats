#!/usr/bin/env bats
# R25: what `sbx policy trust` shows is not painted by the file's own texts: what matters is on the screen.
# shellcheck disable=SC2016,SC2030,SC2031,SC2088 # ${project} and ~ are the policy's; a test's variables are its own

load helper
load tmux

setup_file() {
	home_make
	tmux_home
}

setup() {
	cd "$HOME/project" || return
	rm -f .sbx.yaml
}

teardown() {
	tmux_end
	broker_stop
}

# The question, with all that is shown for it on one screen: the first line is there, too.
asks_on_one_screen() {
	type_line 'clear; sbx policy trust'
	sees '^Type trust to trust exactly this'
	shows '^.*/\.sbx\.yaml says:$'
}

# decoys NUMBER FORMAT: items of a list, as many as a file of 64 KiB has room for
decoys() {
	seq -s ' ' "$1" | sed -E "s|([0-9]+)|$2,|g"
}

is_trusted() {
	sbx policy show | grep -q 'sbx.yaml   trusted'
}

@test "attack_r_25: 3,004 rules about as many hosts hide no rule that lifts a guard, nor one that is wide" {
	{
		printf 'version: 1\nprofiles:\n  default:\n    allow:\n      net:access: [\n        %s\n' "$(decoys 1500 'h\1.org:443')"
		printf '        "*",\n        %s]\n' "$(decoys 1500 'g\1.org')"
		printf '      fs:read: ["${project}/docs", ~/.ssh]\n      fs:write: [~/.bashrc]\n'
	} >.sbx.yaml
	tmux_begin 80 24
	asks_on_one_screen
	screen
	shows '^lifts a guard +default: may read ~/\.ssh \(line 9\)$'
	shows '^lifts a guard +default: may read and write ~/\.bashrc \(line 10\)$'
	shows '^wide +default: may connect to \* \(line 7\)$'
	shows '^network +… and [0-9]+ more$'
	shows '^reads +default: may read \$\{project\}/docs'
	shows '^In all: 3004 that count if you trust it, 0 denials'
	shows '^29[0-9][0-9] are NOT on this screen: sbx policy trust \| less$'
	type_line no
	sees 'nothing was trusted'
}

@test "attack_r_25: as many that lift a guard are counted" {
	{
		printf 'version: 1\nprofiles:\n  default:\n    allow:\n      fs:read: [\n        %s\n' "$(decoys 3000 '~/.ssh/k\1')"
		printf '        ~/.ssh]\n      proc:spawn: [/usr/bin/docker]\n'
	} >.sbx.yaml
	tmux_begin 80 24
	asks_on_one_screen
	screen
	shows '^lifts a guard +default: may read ~/\.ssh \(line 7\)$'
	shows '^lifts a guard +… and 29[0-9]+ more$'
	shows '^runs +default: may run the program /usr/bin/docker'
}

@test "attack_r_25: long texts, runs of spaces and lines that would wrap push nothing off the screen" {
	local spaces long
	spaces=$(printf '%*s' 200 '')
	long=$(printf 'x%.0s' {1..200})
	{
		printf 'version: 1\nprofiles:\n  default:\n    env:\n      A: "a%sb"\n      B: "%s"\n' "$spaces$spaces" "$long$long"
		printf '    allow:\n      fs:read: ["~/a%sb", "~/%s/%s", "~/.ssh"]\n' "$spaces" "$long" "$long"
		printf '      net:access: ["%s.example.org"]\n' "$(printf 'y%.0s' {1..60})"
	} >.sbx.yaml
	tmux_begin 80 24
	asks_on_one_screen
	screen
	shows '^lifts a guard +default: may read ~/\.ssh \(line 8\)$'
	shows 'a␣␣␣'
	[ "$(screen | wc -l)" -le 12 ]
	tmux_end
	tmux_begin 60 24
	type_line 'clear; sbx policy trust'
	sees 'make it larger, at least'
	tmux_end
	tmux_begin 80 8
	type_line 'clear; sbx policy trust'
	sees 'has no room for what matters'
}

@test "attack_r_25: a host in letters of another alphabet is shown as it is looked up" {
	printf 'version: 1\nprofiles:\n  default:\n    allow:\n      net:access: ["gіthub.com:443", "exаmple.org"]\n' >.sbx.yaml
	tmux_begin 80 24
	asks_on_one_screen
	shows 'connect to xn--gthub-'
	shows 'connect to xn--exmple-'
	run ! shows 'connect to g.thub'
	run sbx policy trust
	contains "$output" "connect to xn--gthub-"
}

@test "attack_r_25: what is shown is trusted, by a whole word" {
	printf 'version: 1\nprofiles:\n  default:\n    allow:\n      fs:read: ["~/.ssh"]\n    deny:\n      fs:read: ["~/x"]\n' >.sbx.yaml
	tmux_begin 80 24
	asks_on_one_screen
	shows '^In all: 1 that counts if you trust it, 1 denial, which does anyway'
	run ! shows 'NOT on this screen'
	run ! is_trusted
	type_line trust
	sees 'Trusted until the file changes'
	is_trusted
}

@test "what the README shows of sbx policy trust is what is printed" {
	local example
	printf 'version: 1\nprofiles:\n  npm:\n    allow:\n      net:access: ["registry.corp.example:443"]\n    deny:\n      fs:read: ["**/.env"]\n' >.sbx.yaml
	example=$(sed -n '/^\$ sbx policy trust$/,/^Type trust/{//!p}' "$TESTS/../../README.md")
	[ "$(wc -l <<<"$example")" = 3 ]
	tmux_begin 140 24
	asks_on_one_screen
	contains "$(screen)" "${example//\/home\/ada\/app/$PWD}"
	type_line no
	sees 'nothing was trusted'
}
