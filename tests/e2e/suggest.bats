#!/usr/bin/env bats
# sbx suggest: what was asked becomes rules; pasted, they answer the same way and nothing is asked any more.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; each test has a home of its own

load helper

setup_file() {
	home_make
	port=$(server web server.py)
	export port
	odd=$'odd *name\n    deny: {}'
	export odd
}

names="one.test: 127.0.0.1, no.test: 127.0.0.1, a.deep.test: 127.0.0.1, b.deep.test: 127.0.0.1"

# A home of its own for each test, with what the tests ask for; policy.yaml is what a new user has, plus names for the server.
setup() {
	homes=$HOME
	HOME=$(mktemp -d "$homes/home.XXXXXX")
	things_make
	paste_policy ""
}

teardown() {
	broker_stop
	HOME=$homes
}

things_make() {
	mkdir -p "$HOME/project/.git" "$HOME/notes/deep" "$HOME/run" "$HOME/.config/sbx"
	for file in hour.txt always.txt no.txt never.txt notes/a.txt notes/deep/b.txt "$odd"; do echo "$file" >"$HOME/$file"; done
	echo "[core]" >"$HOME/project/.git/config"
	cd "$HOME/project" || return
}

# paste_policy TEXT: what `sbx suggest` printed, put under the keys that are there.
paste_policy() {
	local text=$1
	[[ $text ]] || text=$'version: 1\nprofiles:\n  default:\n'
	sed -e 's/^version: 1$/version: 1\nprompt: {timeout: 20s, without-agent: wait}/' \
		-e "s/^  default:\$/  default:\n    network: native\n    hosts: {$names}/" <<<"$text" >"$HOME/.config/sbx/policy.yaml"
	sbx policy check >&2
}

# In words that are the same in every home.
everything='
	cd
	for file in hour.txt always.txt no.txt never.txt notes/a.txt notes/deep/b.txt "$odd"; do
		cat "$file" >/dev/null 2>&1 && echo "read $file" || echo "no $file"
	done
	for host in one.test no.test a.deep.test b.deep.test; do
		curl -s -o /dev/null --max-time 30 "http://$host:$port/" && echo "reached $host" || echo "no $host"
	done'

run_everything() {
	background everything sbx run --env HOME --env odd --env port -- sh -c "$everything"
}

# answer OPTION…: the oldest question, when it is about TARGET.
answer() { # answer TARGET allow|deny OPTION…
	local target=$1 word=$2 id
	shift 2
	id=$(prompt_id)
	[[ $(sbx prompts --json | jq -r '.[0].target') == "$target" ]]
	sbx "$word" "$id" "$@" >/dev/null
}

questions() {
	sbx history --json | jq -s '[.[] | select(.kind == "prompt" and .detail.state == "shown")] | length'
}

@test "answers become rules; pasted into another home they answer alike, and nothing is asked" {
	run_everything
	answer "$HOME/hour.txt" allow
	answer "$HOME/always.txt" allow --always
	answer "$HOME/no.txt" deny
	answer "$HOME/never.txt" deny --always
	answer "$HOME/notes/a.txt" allow --scope folder --session
	answer "$HOME/$odd" allow --always
	answer "one.test:$port" allow
	answer "no.test:$port" deny
	answer "a.deep.test:$port" allow --scope domain
	finished everything
	first=$(grep -E '^(read|reached|no) ' <<<"$output")
	contains "$first" "read notes/deep/b.txt"
	contains "$first" "no never.txt"
	contains "$first" "reached b.deep.test"
	contains "$first" "no no.test"
	[ "$(questions)" = 9 ]
	suggested=$(sbx suggest --session 1)
	echo "$suggested"
	[ "$(grep -c '^        - ' <<<"$suggested")" = 9 ]
	contains "$suggested" '        - "~/notes" # in ~/project: asked 1 time, allowed for the session, last '
	contains "$suggested" '        - "~/odd \\*name\x0A    deny: \\{\\}" #'
	contains "$suggested" '        - "*.deep.test" # in ~/project: asked 1 time, allowed for 1h, last '
	contains "$suggested" "        - \"one.test:$port\" #"
	broker_stop
	old=$HOME HOME=$(mktemp -d "$homes/home.XXXXXX")
	things_make
	paste_policy "$suggested"
	run_everything
	finished everything
	echo "$output"
	[ "$(grep -E '^(read|reached|no) ' <<<"$output")" = "$first" ]
	[ "$(questions)" = 0 ]
	# there is nothing left to suggest
	run sbx suggest
	[ "$status" = 0 ]
	contains "$output" "# Nothing was asked in the history that is kept that a rule should answer."
	broker_stop
	# nor where it was asked, once it is pasted there
	HOME=$old
	cd "$HOME/project"
	paste_policy "$suggested"
	run sbx suggest
	contains "$output" "# 9 more are decided by a rule by now."
	lacks "$output" "profiles:"
}

@test "--record asks nothing and ends with what would be needed, under a heading; pasted, the command has it" {
	[ "$(id -u)" != 0 ]
	sbx run --record --env odd --env port -- sh -c 'cat ~/hour.txt "$HOME/$odd"; curl -s "http://one.test:$port/x"; exit 7' >"$HOME/run/out" 2>"$HOME/run/err" && code=0 || code=$?
	[ "$code" = 7 ]
	[ ! -s "$HOME/run/out" ]
	suggested=$(sed -n '/^# What was asked in session 1,/,$p' "$HOME/run/err")
	echo "$suggested"
	[ "$(grep -c 'NOT ALLOWED YET' <<<"$suggested")" = 2 ]
	contains "$suggested" '        - "~/hour.txt" # in ~/project: asked '
	contains "$suggested" "        - \"one.test:$port\" # in ~/project: asked "
	[ "$suggested" = "$(sbx suggest --session 1)" ]
	[ "$(questions)" = 0 ]
	broker_stop
	paste_policy "$suggested"
	run sbx run --env odd --env port -- sh -c 'cat ~/hour.txt "$HOME/$odd"; curl -s "http://one.test:$port/x"'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = "hour.txt"$'\n'"$odd"$'\n'"hello /x host=one.test:$port" ]
	[ "$(questions)" = 0 ]
}

@test "what was allowed once, what was revoked, a mask and what nobody answered are comments" {
	background said sbx run -- sh -c 'cat ~/hour.txt ~/always.txt; echo x >>.git/config'
	answer "$HOME/hour.txt" allow --once
	answer "$HOME/always.txt" allow --always
	answer "$HOME/project/.git/config" allow --always
	finished said
	[ "$(<.git/config)" = $'[core]\nx' ]
	sbx revoke "$(sbx grants --json | jq '.[] | select(.pattern | endswith("always.txt")).id')"
	background left sbx run -- cat "$HOME/no.txt"
	prompt_id
	sbx kill --all
	finished left
	run sbx suggest
	echo "$output"
	contains "$output" "# Nothing was asked in the history that is kept that a rule should answer."
	contains "$output" '#   default: fs:read "~/hour.txt" (in ~/project: asked 1 time, allowed once, last '
	contains "$output" "): allowed for one call only"
	contains "$output" "): you revoked it"
	contains "$output" '"${project}/.git/config"'
	contains "$output" '"~/no.txt"'
	lacks "$output" "profiles:"
	[ "$(grep -c -v -e '^#' -e '^$' <<<"$output")" = 0 ]
	sbx suggest --json | jq -e 'length == 4 and all(.left_out != null) and (map(.basis) | sort) == ["answered", "answered", "answered", "open"]'
}

@test "attack: names that files have add no rule, no line and no comment of their own" {
	local name paths=() policy
	for name in $'x\n        - "~"' $'x"\n    allow: {}' '*' '**' '${home}' '#c' ' # in ~: allowed always' $'\xe2\x80\xaetxt.exe' $'\x1b[2J' '[a]' '"' $'\\' $'\xff\xfe'; do
		paths+=("$HOME/notes/$name")
		echo secret >"$HOME/notes/$name"
	done
	sbx run --record -- cat "${paths[@]}" 2>/dev/null || true
	policy=$(sbx suggest)
	echo "$policy" | cat -A
	[ "$(grep -vc -e '^#' -e '^$' -e '^version: 1$' -e '^profiles:$' -e '^  default:$' -e '^    allow:$' -e '^      fs:read:$' -e '^        # NOT ALLOWED YET' <<<"$policy")" = 12 ]
	[ "$(grep -c '^        - "~/notes/[^ ].*" # in ~/project: asked [0-9]* times\?, last [-0-9: ]*$' <<<"$policy")" -ge 11 ]
	[ "$policy" = "$(LC_ALL=C tr -cd '\n -~' <<<"$policy")" ]
	contains "$policy" "a policy file can't say it"
	broker_stop
	paste_policy "$policy"
	run sbx run -- cat "${paths[@]:0:12}"
	[ "$status" = 0 ]
	[ "$(sort -u <<<"$output")" = secret ]
	run sbx why fs:read "$HOME/notes/a.txt"
	contains "$output" "So: ask"
	run sbx why fs:write "${paths[0]}"
	contains "$output" "So: ask"
}

@test "several prompts are answered at once, and one that is gone leaves the others" {
	background first sbx run -- cat "$HOME/hour.txt"
	one=$(prompt_id)
	background second sbx run -- cat "$HOME/always.txt"
	two_wait() {
		[[ $(sbx prompts --json | jq length) == 2 ]]
	}
	wait_for 30 two_wait
	two=$(sbx prompts --json | jq '.[1].id')
	run sbx allow "$one" nonsense "$two"
	one_error 2
	[ "$(sbx prompts --json | jq length)" = 2 ]
	run sbx allow "$one" 4711 "$two" "$one" --always
	[ "$status" = 1 ]
	contains "$output" "sbx: allow: prompt 4711: no prompt 4711 is waiting"
	[ "$(grep -c '^Allowed (grant' <<<"$output")" = 2 ]
	finished first
	[ "$output" = hour.txt ]
	finished second
	[ "$output" = always.txt ]
	background third sbx run -- cat "$HOME/no.txt"
	run sbx deny "$(prompt_id)"
	[ "$status" = 0 ]
	finished third
	contains "$output" "Permission denied"
}

@test "wrong use is said, and nothing asked is said" {
	run sbx suggest --session 1 --since 1d
	one_error 2
	run sbx suggest --session 4711
	[ "$status" = 0 ]
	[ "$output" = "# Nothing was asked in session 4711 that a rule should answer." ]
	[ "$(sbx suggest --json)" = "[]" ]
}
