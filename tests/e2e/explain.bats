#!/usr/bin/env bats
# What is said about denials: the summary at a run's end, and `sbx why`. What they advise is done as they say it.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154 # expanded inside the sandbox; a test has variables of its own, and run sets some

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

@test "what sbx why advises works as it is pasted, in a shell and in the policy, whatever files are called" {
	# shellcheck disable=SC1003 # a backslash at a name's end
	local names=("it's" 'a*b' 'back\slash' 'new\name' $'new\nline' ' a b' '${project}' '$HOME' '{x,y}' '[a]' '`id`' '!x' '"' 'end\' $'\xff' $'\u202e' '\u{202e}')
	local name file shell rule
	for name in "${names[@]}"; do
		file=$HOME/notes/$name
		run -0 sbx why fs:read "$file"
		shell=$(sed -n 's/^  to allow it for 1h[^:]*: \(sbx grant .*\)/\1/p' <<<"$output")
		rule=$(sed -n 's/^  to allow it for good.*the profile default: `\(.*\)`$/\1/p' <<<"$output")
		run -1 sbx check fs:read "$file" --no-ask
		run -0 bash -c "$shell"
		run -0 sbx check fs:read "$file" --no-ask
		run -1 sbx check fs:read "$HOME/notes/a-b" --no-ask
		sbx revoke --all >/dev/null
		if [ "$name" = $'\xff' ]; then
			[ -z "$rule" ] # no YAML can say it
			continue
		fi
		printf 'version: 1\nprofiles:\n  default:\n    extends: [base]\n    allow:\n      %s\n' "$rule" | policy
		run -0 sbx check fs:read "$file" --no-ask
		refusing_policy ""
	done
}

@test "names with wildcards and backslashes are shown as they are typed" {
	local name
	echo "a note" | tee "$HOME/notes/a*b" >"$HOME/notes/back\\slash"
	for name in 'a\*b' 'back\\slash'; do
		run -0 sbx grant fs:read "$HOME/notes/$name"
		contains "$output" "may read $HOME/notes/$name in "
		run -0 sbx grants
		contains "$output" "$HOME/notes/$name  default"
		run -0 sbx revoke --match fs:read "$HOME/notes/$name"
		contains "$output" ": fs:read $HOME/notes/$name"
		run -0 sbx history
		contains "$output" "fs:read $HOME/notes/$name  "
	done
	run sbx run -- cat "$HOME/notes/back\\slash"
	contains "$output" "blocked fs:read $HOME/notes/back\\slash ("
	run -0 sbx suggest
	contains "$output" '"~/notes/back\\\\slash"'
}

@test "a project that was named is named in the commands; several lines without a terminal, for logs" {
	mkdir -p "$HOME/elsewhere"
	echo "note of another" >"$HOME/notes/other"
	run --separate-stderr sbx run --project "$HOME/elsewhere" -- sh -c 'cat ~/notes/other ~/notes/plain; curl -sS http://blocked.test/'
	echo "$stderr"
	[ "$(grep -c '^sbx: blocked 3 requests:$' <<<"$stderr")" = 1 ]
	[ "$(grep -cE '^sbx: blocked (fs:read|net:access) .*: allow with: sbx grant .* --profile default --project [^ ]*/elsewhere$' <<<"$stderr")" = 3 ]
	command=$(sed -n 's/^sbx: blocked fs:read .*other .*: allow with: //p' <<<"$stderr")
	run -0 bash -c "$command"
	run -0 sbx run --project "$HOME/elsewhere" -- cat "$HOME/notes/other"
	[ "$output" = "note of another" ]
	sbx revoke --all
}

# why WORD…: the answer as JSON in $output; its verdict is EFFECT by MODULE.
why() {
	local verdict=$1
	shift
	run sbx why --json "$@"
	[ "$status" = 0 ] || { echo "$output" && return 1; }
	[ "$(jq -r '"\(.verdict.effect) \(.verdict.module)"' <<<"$output")" = "$verdict" ] || {
		jq . <<<"$output"
		return 1
	}
}

# The place or command of the change whose words contain TEXT.
change() {
	jq -er --arg text "$1" '.changes[] | select(.what | contains($text)) | .command // .place // .what' <<<"$output"
}

# do_it TEXT: the command of that change.
do_it() {
	local command
	command=$(change "$1") || { jq .changes <<<"$output" && return 1; }
	case $command in "sbx "*) bash -c "$command" ;; *) return 1 ;; esac
}

# bats file_tags=part2

@test "why: what asks, is allowed and denied by grants, and every command does what it says" {
	why "ask ask" fs:read "$HOME/notes/a*b"
	[ "$(jq -r '.steps | map(.module) | join(" ")' <<<"$output")" = "protect flood rules grants rules ask" ]
	contains "$(jq -r '.steps[-1].rule' <<<"$output")" "built-in/default.yaml:"
	do_it "allow it for 1h"
	why "ask ask" fs:read "$HOME/notes/axb" # its name is no pattern
	why "allow grants" fs:read "$HOME/notes/a*b"
	[[ $(jq .verdict.grant <<<"$output") == [0-9]* ]]
	do_it "end that grant"
	why "ask ask" fs:read "$HOME/notes/a*b"
	do_it "deny it for 1h"
	why "deny grants" fs:read "$HOME/notes/a*b"
	do_it "lift that denial"
	why "ask ask" fs:read "$HOME/notes/a*b"
	do_it "deny it for 1h"
	run -0 sbx why fs:read "$HOME/notes/a*b"
	contains "$output" "So: deny: grant"
	contains "$output" "to lift that denial: sbx revoke "
	sbx revoke --match fs:read "$HOME/notes/a\\*b"
}

@test "why: what rules allow and deny, by whom they are changed" {
	policy <<-'END'
		version: 1
		permissions: {"db:access": "use the database"}
		profiles:
		  default:
		    deny: {fs:read: [~/closed]}
		    allow: {net:access: [name.test:80, {target: inner.test:80, private: true}]}
	END
	why "deny rules" fs:read "$HOME/closed/x"
	[ "$(change "changed here")" = "$(jq -r .verdict.rule <<<"$output")" ]
	[[ $(jq -r .verdict.rule <<<"$output") == *policy.yaml:5 ]]
	why "deny rules" fs:read "$HOME/.ssh/id_ed25519"
	contains "$(change "built in")" built-in/base.yaml:
	contains "$(change "to allow it, in ~/.config/sbx/policy.yaml")" "\`fs:read: [\"$HOME/.ssh/id_ed25519\"]\`"
	why "allow rules" net:access name.test:80
	change "leads to a private address"
	why "allow rules" net:access inner.test:80
	lacks "$(jq -r ".changes[].what" <<<"$output")" "leads to a private address"
	do_it "deny it for 1h"
	why "deny grants" net:access inner.test:80
	do_it "lift that denial"
	why "ask ask" fs:write "$HOME/project/.git/config"
	change "answered in a terminal"
	sbx grant fs:write "$HOME/project/.git" # ends above the mask
	why "ask ask" fs:write "$HOME/project/.git/config"
	contains "$(jq -r '.steps[] | select(.module == "grants").why' <<<"$output")" "ends above"
	do_it "allow it for 1h"
	why "allow grants" fs:write "$HOME/project/.git/config"
	why "deny protect" fs:read "$HOME/.local/state/sbx/sbx.db"
	change "nothing: no rule"
	why "deny none" db:access=--once
	do_it "allow it for 1h"
	why "allow grants" db:access=--once
	why "deny none" env:read A_KEY
	[ "$(change "to one run")" = "sbx run --env A_KEY -- COMMAND" ]
	do_it "allow it for 1h"
	[ "$(A_KEY=passed sbx run -- sh -c 'echo $A_KEY')" = passed ]
	why "deny none" net:listen 8080
	[ "$(change "to one run")" = "sbx run --publish 8080 -- COMMAND" ]
	why "ask ask" ipc:connect "$HOME/project/some.sock"
	do_it "allow it for 1h"
	why "allow grants" ipc:connect "$HOME/project/some.sock"
	sbx revoke --all
	refusing_policy ""
}

@test "why: an untrusted file of the project, another project, a session's own grants and its network" {
	mkdir -p "$HOME/other app"
	cat >"$HOME/other app/.sbx.yaml" <<-'END'
		version: 1
		profiles:
		  default:
		    allow: {net:access: [theirs.test:443]}
		    deny: {net:access: [never.test:443]}
	END
	why "deny rules" net:access never.test:443 --project "$HOME/other app"
	contains "$(change "project's file")" ".sbx.yaml:5"
	why "ask ask" net:access theirs.test:443 --project "$HOME/other app"
	[ "$(change "until you trust it")" = "sbx policy trust '$HOME/other app'" ]
	do_it "allow it for 1h"
	why "allow grants" net:access theirs.test:443 --project "$HOME/other app"
	sbx revoke --all
	run -0 bash -c "sbx policy trust '$HOME/other app' --yes"
	why "allow rules" net:access theirs.test:443 --project "$HOME/other app"
	lacks "$(jq -r ".changes[].what" <<<"$output")" "until you trust it"

	background held sbx run --offline --allow fs:read="$HOME/notes" --deny fs:read="$HOME/notes/plain" -- sleep 100
	wait_for 60 session_is_there
	id=$(sbx sessions --json | jq '.[0].id')
	why "deny rules" net:access any.test:443 --session "$id"
	change "without --offline"
	why "allow grants" fs:read "$HOME/notes/other" --session "$id"
	change "for this session alone"
	do_it "before the session ends"
	why "ask ask" fs:read "$HOME/notes/other" --session "$id"
	why "deny grants" fs:read "$HOME/notes/plain" --session "$id"
	do_it "before the session ends"
	why "ask ask" fs:read "$HOME/notes/plain" --session "$id"
	sbx kill "$id"
	finished held
}

session_is_there() {
	[[ $(sbx sessions --json | jq length) == 1 ]]
}

@test "what is denied at the door inside and by the proxy is in the summary, too" {
	policy <<-'END'
		version: 1
		prompt: {without-agent: deny}
		permissions: {"db:access": "use the database"}
		profiles:
		  default:
		    network: proxy
		    ask: {db:access: ["*"]}
	END
	run --separate-stderr sbx run -- sh -c 'sbx request db:access prod; sbx request db:access=--once; curl -sS http://page.test/'
	echo "$output $stderr"
	contains "$output" "allow with: sbx grant net:access page.test:80 --profile default" # the page of a 403
	contains "$stderr" "sbx: blocked 3 requests:"
	grep -qE '^sbx: blocked db:access prod .*: allow with: sbx grant db:access prod --profile default$' <<<"$stderr"
	sed -n 's/.*: allow with: //p' <<<"$stderr" >"$HOME/run/pasted"
	[ "$(wc -l <"$HOME/run/pasted")" = 3 ]
	run -0 bash "$HOME/run/pasted"
	[ "$(sbx grants --json | jq -r 'map("\(.permission) \(.pattern)") | sort | join(", ")')" = "db:access --once, db:access prod, net:access page.test:80" ]
	sbx revoke --all
}

# policy_with EFFECT LINE: the user's policy has just that rule.
policy_with() {
	printf 'version: 1\nprofiles:\n  default:\n    %s:\n      %s\n' "$1" "$2" | policy
}

# The rule of the change whose words contain TEXT, as it stands between backquotes.
rule() {
	change "$1" | sed 's/.*: `\(.*\)`$/\1/'
}

@test "why: the rules that it names do what it says" {
	local name
	for name in '.ssh/id_ed25519' 'notes/a*b' 'notes/back\slash' 'notes/"' 'notes/new
line'; do
		run -0 sbx why --json fs:read "$HOME/$name"
		policy_with allow "$(rule "under \`allow:")"
		why "allow rules" fs:read "$HOME/$name"
		refusing_policy ""
	done
	why "deny none" fs:read /srv/data
	policy_with ask "$(rule "under \`ask:")"
	why "ask ask" fs:read /srv/data
	policy_with allow "$(rule "under \`allow:")"
	why "allow rules" fs:read /srv/data
	why "ask ask" fs:read "$HOME/notes/axb"
	refusing_policy ""
}

@test "an allow that opens no private address is not said to allow one: why, check, revoke and the history agree" {
	refusing_policy "    allow: {net:access: ['*']}"
	for target in 10.1.1.1:80 localhost:9 '[fd00::1]:80'; do
		run -0 sbx why --profile default net:access "$target"
		contains "$output" "So: deny"
		contains "$output" "does not say \`private: true\`"
		contains "$output" "sbx grant net:access"
		run -1 sbx check --profile default net:access "$target"
	done
	run -0 sbx check --profile default net:access 1.1.1.1:80
	run sbx revoke --match net:access 10.1.1.1 # there is none
	lacks "$output" "Still allowed"
	run sbx revoke --match net:access example.org
	contains "$output" "Still allowed"
	run sbx run --profile default -- python3 -c 'import socket; assert socket.create_connection(("10.1.1.1", 80), 5).recv(1)'
	[ "$status" != 0 ]
	contains "$output" "private: true"
	[ "$(sbx history --json | jq -s -r 'map(select(.target == "10.1.1.1:80" and .session != null)) | last | "\(.verdict) \(.by)"')" = "deny private" ]
	sbx grant --profile default net:access 10.1.1.1:80
	run -0 sbx check --profile default net:access 10.1.1.1:80
	refusing_policy ""
}

@test "a run with a policy of its own is advised what can be done: no grant can name its profile" {
	local file="$HOME/run/own.yaml" option
	echo mine >"$HOME/notes/a note"
	cat >"$file" <<-'END'
		version: 1
		prompt: {without-agent: deny}
		profiles:
		  own-base: {extends: [base], ask: {fs:read: [~/notes]}}
		  own: {extends: [own-base], allow: {fs:write: ["${project}"]}}
	END
	run sbx run --profile own --policy "$file" -- cat "$HOME/notes/a note"
	[ "$status" != 0 ]
	lacks "$output" "sbx grant"
	option=$(sed -n "s/.*or for one run with --allow //p" <<<"$output")
	run -0 eval "sbx run --profile own --policy '$file' --allow $option -- cat '$HOME/notes/a note'"
	contains "$output" mine
	rm "$HOME/notes/a note"
}
