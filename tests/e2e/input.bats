#!/usr/bin/env bats
# Bad input: one clear error with what to do, nothing changed, nothing lost.
# shellcheck disable=SC2016

load helper

setup_file() {
	home_make
	sbx grant fs:read /opt/kept --profile default --always
}

refuses() { # refuses STATUS ARG…: sbx ARG… says one clear thing, and grants are as they were
	local expected=$1
	shift
	run timeout 60 sbx "$@"
	printf 'sbx %s: %s\n' "$*" "$output" | head -n 12
	one_error "$expected"
	[[ $(sbx grants --json | jq -c 'map(.pattern)') == '["/opt/kept"]' ]]
}

@test "options: unknown, ambiguous, without a value, twice in contradiction" {
	refuses 2 --no-such-option
	refuses 2 no-such-command
	contains "$output" "--help"
	refuses 2 grnt fs:read /x
	contains "$output" grant
	refuses 2 grant
	refuses 2 grant fs:read
	refuses 2 grant fs:read /x --ttl
	refuses 2 grant fs:read /x --ttl 1h --always
	refuses 2 grant fs:read /x --profile a --any-profile
	refuses 2 grant fs:read /x /y
	refuses 2 revoke
	refuses 2 kill
	refuses 2 allow
	refuses 2 history --csv --json
	refuses 2 run --timeout -- true
	refuses 2 run --allow fs:read -- true
	refuses 2 run --env 'A B=1' -- true
	contains "$output" "'A B"
	refuses 1 allow 99
	contains "$output" "sbx prompts"
	for word in -V version --version; do
		[[ $(sbx $word) == "sbx "* ]]
	done
}

@test "what has no effect yet is noted" {
	run sbx grant fs:write "$HOME/nope" --ttl 1m
	[ "$status" = 0 ]
	contains "$output" "Note: $HOME/nope does not exist"
	run sbx grant zz:yy x --ttl 1m
	one_error 1
	contains "$output" "no policy file declares zz:yy"
	printf 'version: 1\npermissions:\n  zz:yy: use it\n' >"$HOME/.config/sbx/policy.yaml"
	run sbx grant zz:yy y --ttl 1m
	[ "$status" = 0 ]
	lacks "$output" "Note"
	rm "$HOME/.config/sbx/policy.yaml"
	run sbx run --allow fs:read=/nonexistent/x --env SURELY_UNSET -- true
	contains "$output" "--allow: /nonexistent/x does not exist"
	contains "$output" "--env: SURELY_UNSET is not set"
	# shellcheck disable=SC2046 # ids
	sbx revoke $(sbx grants --json | jq '.[] | select(.pattern != "/opt/kept") | .id')
}

@test "durations" {
	for bad in '' 0 -1h 1 1x h 1h1x 99999999999999999999h 1e9s ' 1h' 1.5h '1 h' 300000y; do
		refuses 2 grant fs:read /x --ttl "$bad"
	done
	contains "$output" 15m
	refuses 2 run --timeout forever -- true
	refuses 2 history --since yesterdayish
}

@test "permissions, targets and patterns" {
	refuses 2 grant fs:raed /x
	contains "$output" fs:read
	refuses 2 grant fsread /x
	refuses 2 grant FS:READ /x
	refuses 2 grant '' /x
	refuses 2 grant net:access 'host:99999'
	refuses 2 grant net:access 'http://example.org/'
	contains "$output" "a host and a port are expected, not a URL: example.org:80"
	refuses 2 grant net:access 'https://example.org/x?y'
	contains "$output" "not a URL: example.org:443"
	refuses 2 why net:access 'https://example.org:8443/'
	contains "$output" "not a URL: example.org:8443"
	lacks "$output" "--help"
	refuses 2 grant net:access 'a..b'
	refuses 2 grant net:access 'exa mple.test'
	refuses 2 grant net:access '10.0.0.0/99'
	refuses 2 grant net:access '*.*.test'
	refuses 2 grant net:access ''
	refuses 2 grant net:listen 0
	refuses 2 grant net:listen 65536
	refuses 2 grant env:read 'A=B'
	refuses 2 grant fs:read '${nothing}/x'
	refuses 2 grant fs:read ''
}

@test "ids" {
	refuses 2 revoke x
	refuses 2 revoke 0
	refuses 2 revoke 99999999999999999999
	refuses 1 revoke 424242
	refuses 2 kill x
}

@test "what can never be granted says so, and so does what a rule denies" {
	run sbx grant fs:read "$HOME/.local/state/sbx"
	[ "$status" != 0 ]
	grep -q '^sbx: ' <<<"$output"
	run sbx grant fs:write "$HOME/.config/sbx/policy.yaml"
	[ "$status" != 0 ]
	policy <<'END'
version: 1
profiles:
  default:
    deny:
      fs:read: [/opt/never]
END
	run sbx grant fs:read /opt/never/at/all --profile default
	[ "$status" != 0 ]
	contains "$output" "policy.yaml:5"
	[ "$(sbx grants --json | jq length)" = 1 ]
	rm "$HOME/.config/sbx/policy.yaml"
	broker_stop
}

@test "policy check: several errors a run, each with its place; a good file is good" {
	cat >bad.yaml <<'END'
version: 1
prompt: {timeout: soon, lifetime: 1h, colour: red}
profiles:
  npm:
    commands: npm
    allow:
      fs:raed: [/x]
      net:access: ["host:99999", 17]
      fs:read: [~]
    home: nowhere
    allow:
      fs:read: [/y]
END
	run sbx policy check bad.yaml
	echo "$output"
	[ "$status" = 1 ]
	for place in 2: 7: 8: 9: 10: 11:; do contains "$output" "bad.yaml:$place"; done
	[ "$(grep -cE 'bad.yaml:[0-9]+:[0-9]+: ' <<<"$output")" -ge 6 ]
	printf 'version: 1\nprofiles:\n  x:\n    extends: [base]\n    allow:\n      fs:write: ["${project}"]\n' >good.yaml
	run sbx policy check good.yaml
	[ "$status" = 0 ]
	run sbx run --policy bad.yaml -- touch made
	[ "$status" = 125 ]
	contains "$output" "bad.yaml:2:"
	[ ! -e made ]
	run sbx run --policy good.yaml --profile x -- sh -c 'echo runs'
	[ "${lines[-1]}" = runs ] # after the warning of a policy file that the tool's own project has
}

@test "policy files that aren't: empty, binary, huge, bombs, wrong version, links to themselves" {
	local name
	: >empty.yaml
	head -c 4096 /dev/urandom >random.yaml
	printf 'version: 1\n\0' >nul.yaml
	printf 'version: 1\nprofiles:\n\tx: {}\n' >tab.yaml
	printf 'version: 2\n' >version.yaml
	printf 'profiles: {}\n' >noversion.yaml
	printf -- '- 1\n' >list.yaml
	printf 'version: 1\nprofiles: &a {x: *a}\n' >self.yaml
	{
		printf 'version: 1\nprofiles:\n  a: &a [x, x, x, x, x, x, x, x, x]\n'
		for n in b c d e f g h i; do
			printf '  %s: &%s [%s]\n' $n $n "$(yes "*$(tr b-i a-h <<<$n)" | head -n 9 | paste -sd,)"
		done
	} >bomb.yaml
	{ printf 'version: 1\nprofiles:\n  x:\n    deny:\n      fs:read:\n'; yes '      - /a/b/c/d/e' | head -n 200000; } >huge.yaml
	printf '%*s' 5000 '' | sed 's/ /[/g; s/^/version: /' >deep.yaml
	for name in random nul tab version noversion list self bomb huge deep no-such-file; do
		SECONDS=0
		run timeout 60 sbx policy check $name.yaml
		printf '%s: %s\n' "$name" "${output:0:300}"
		[ "$status" = 1 ] || [ "$status" = 2 ]
		contains "$output" "$name.yaml"
		((SECONDS < 40))
		run timeout 60 sbx run --policy $name.yaml -- touch made
		[ "$status" = 125 ]
		[ ! -e made ]
	done
}

@test "attack_b_21 a project's own file can't widen its rights" {
	git init -q inner
	cat >inner/.sbx.yaml <<END
version: 1
profiles:
  default:
    allow:
      fs:read: ["$HOME/.ssh"]
      net:access: ["*"]
END
	cd inner
	run sbx run -- true
	[ "$status" = 0 ]
	contains "$output" "is not trusted"
	run sbx run -- cat "$HOME/.ssh/id_ed25519"
	[ "$status" != 0 ]
	lacks "$output" "not a real key"
	run timeout 20 sbx run -- curl -sS -o /dev/null -w '%{http_code}\n' http://svc.test:9/
	[ "$status" != 0 ] || contains "$output" 403
}

@test "a profile that isn't, a project that isn't, a command that isn't" {
	run sbx run --profile no-such -- true
	one_error 125
	contains "$output" no-such
	run sbx run --project /no/such/folder -- true
	one_error 125
	run sbx run --project "$HOME/.ssh/id_ed25519" -- true
	one_error 125
	run sbx run -- ''
	[ "$status" != 0 ]
	grep -q '^sbx: ' <<<"$output"
	run sbx run --env -- true
	[ "$status" != 0 ]
}
