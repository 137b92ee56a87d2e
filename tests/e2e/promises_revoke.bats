#!/usr/bin/env bats
# What `sbx revoke --match` says of a target is true: every grant that lets it through ends, whatever its form, and what
# still lets it through is named.
# shellcheck disable=SC2016 # expanded by the shell inside
load helper

setup_file() {
	home_make
}

teardown() {
	sbx revoke --all >/dev/null
	sbx grants --json | jq '.[].id' | xargs -r sbx revoke >/dev/null
	rm -f "$HOME/.config/sbx/policy.yaml"
}

give() { # give PERM TARGET…: an allow of each
	local permission=$1 target
	shift
	for target; do sbx grant "$permission" "$target" --always --any-profile --anywhere >/dev/null; done
}

patterns() {
	sbx grants --json | jq -r '[.[].pattern] | join(" ")'
}

@test "promise_02: --match of a host ends every grant that reaches it, whatever its form" {
	give net:access example.org:443 '*.org' '*' '*:443' example.org:8000-8010 example.org other.test:443 '*.com'
	run -0 sbx revoke --match net:access example.org
	contains "$output" "net:access *.org, which reached farther"
	contains "$output" "What reached farther has ended as a whole."
	[ "$(patterns)" = "other.test:443 *.com" ]
	run -1 sbx check net:access example.org:443 --no-ask
	give net:access 10.0.0.0/8 10.1.2.3:80 192.168.0.0/16 '[2001:db8::/32]:443'
	run -0 sbx revoke --match net:access 10.1.2.3
	run -0 sbx revoke --match net:access '[2001:db8::7]'
	[ "$(patterns)" = "other.test:443 *.com 192.168.0.0/16" ]
	sbx grant net:access a.test:80 --project "$HOME" --profile npm >/dev/null
	run -0 sbx revoke --match net:access a.test
}

@test "promise_02: a name that hosts: leads to an address is found by the address, and the address by the name" {
	policy <<-'EOF'
		version: 1
		profiles:
		  default:
		    hosts: {registry.test: 127.0.0.1, mirror.test: 127.0.0.1, far.test: 10.1.2.3, six.test: "2001:db8::7"}
		  other:
		    allow: {net:access: [far.test]}
	EOF
	give net:access registry.test:8080 far.test 10.1.2.3:80 mirror.test:80 else.test
	sbx grant net:access registry.test --always --profile npm --anywhere >/dev/null
	run -0 sbx revoke --match net:access 127.0.0.1:8080
	contains "$output" "net:access registry.test:8080"
	lacks "$output" "reached farther"
	[ "$(patterns)" = "far.test 10.1.2.3:80 mirror.test:80 else.test registry.test" ]
	run -0 sbx revoke --match net:access registry.test:80
	[ "$(patterns)" = "far.test 10.1.2.3:80 else.test" ] # registry.test of npm was asked for itself
	run -1 sbx revoke --match net:access far.test
	contains "$output" "policy.yaml:6 (profile other): net:access far.test"
	[ "$(patterns)" = "else.test" ]
	give net:access six.test '2001:db8::/32'
	run -0 sbx revoke --match net:access '[2001:db8::7]:443'
	give net:access six.test '[2001:db8::7]:1'
	run -0 sbx grant --deny net:access far.test --any-profile --anywhere
	run -0 sbx revoke --match net:access six.test
	run -1 sbx revoke --match net:access 10.0.0.0/8 # where `other` leads far.test nobody knows
	lacks "$output" "Still allowed"
	[ "$(patterns)" = "else.test far.test" ]
}

@test "promise_02: a rule for a name that hosts: leads to the address is named, also of a sandbox's own policy" {
	policy <<-'EOF'
		version: 1
		profiles:
		  default:
		    hosts: {registry.test: 127.0.0.1, shut.test: 127.0.0.1}
		    allow: {net:access: [registry.test]}
		    deny: {net:access: [shut.test]}
	EOF
	run -1 sbx revoke --match net:access 127.0.0.1:8080
	contains "$output" "policy.yaml:5 (profile default): net:access registry.test"
	run -1 sbx revoke --match net:access localhost
	contains "$output" "policy.yaml:5 (profile default): net:access registry.test"
	run -1 sbx revoke --match net:access 127.0.0.2
	lacks "$output" "Still allowed"
	mkdir -p "$HOME/named" && cd "$HOME/named"
	printf 'version: 1\nprofiles: {default: {hosts: {own.test: 10.9.8.7}, allow: {net:access: [own.test]}}}\n' >"$HOME/own.yaml"
	background own sbx run --policy "$HOME/own.yaml" --allow fs:write="$PWD" -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done'
	wait_for 30 test -e up
	run -1 sbx revoke --match net:access 10.9.8.7
	contains "$output" "own.yaml:2 (profile default, session "
	touch go
	finished own
}

@test "promise_02: a program by its bare name is not still allowed by what lets all others run, where a rule asks about it" {
	policy <<-'EOF'
		version: 1
		profiles:
		  default:
		    ask: {proc:spawn: [git, /usr/bin/sum]}
		    deny: {proc:spawn: [cksum]}
	EOF
	mkdir -p "$HOME/asked" && cd "$HOME/asked"
	background asked sbx run --allow fs:write="$PWD" -- sh -c 'touch up; until [ -e go ]; do sleep 0.02; done'
	wait_for 30 test -e up
	give proc:spawn git cksum
	for program in git cksum /usr/bin/git; do
		run sbx revoke --match proc:spawn "$program"
		contains "$output" "Still allowed by built-in/base.yaml:7 (profile base): proc:spawn *" # in other profiles
		lacks "$output" ", session"
	done
	run sbx revoke --match proc:spawn sum # in other folders than /usr/bin
	contains "$output" "Still allowed by built-in/base.yaml:7 (profile base, session "
	touch go
	finished asked
}

@test "promise_02: nothing revoked, or something that stays, is no success" {
	run -1 sbx revoke --match net:access example.org
	contains "$output" "Nothing was revoked"
	run -1 sbx revoke --profile npm
	policy <<-'EOF'
		version: 1
		profiles:
		  default:
		    allow: {net:access: ["*.org", other.test]}
		  open: {network: host}
		  shut:
		    allow: {net:access: [never.test]}
		    deny: {net:access: [never.test]}
	EOF
	give net:access example.org
	run -1 sbx revoke --match net:access example.org
	contains "$output" "Revoked grant "
	contains "$output" "Still allowed by $HOME/.config/sbx/policy.yaml:4 (profile default): net:access *.org"
	contains "$output" "Still allowed by \`network: host\` (profile open)"
	run -1 sbx revoke --match net:access never.test
	lacks "$output" "policy.yaml:7"
}

@test "promise_02: with --json the exit status is the same" {
	for how in '--match net:access example.org' '--profile npm' '--session 99999'; do
		# shellcheck disable=SC2086 # words
		run -1 sbx revoke $how --json
		[ "$(jq -c .revoked <<<"$output")" = "[]" ]
	done
	run -0 sbx revoke --all --json
	give net:access example.org
	run -0 sbx revoke --match net:access example.org --json
	[ "$(jq .count <<<"$output")" = 1 ]
	run -0 sbx revoke "$(jq '.revoked[0]' <<<"$output")" --kill --json # it has ended before
}

@test "promise_02: a sandbox that runs is named with the rule that lets it through" {
	mkdir -p "$HOME/app" && cd "$HOME/app"
	printf 'version: 1\nprofiles: {default: {allow: {net:access: [own.test]}}}\n' >"$HOME/own.yaml"
	mkfifo "$HOME/go" "$HOME/begun"
	sbx run --policy "$HOME/own.yaml" --allow fs:read="$HOME/go" -- sh -c 'echo begun; read -r _ <"$1"' sh "$HOME/go" >"$HOME/begun" 3>&- &
	read -r _ <"$HOME/begun"
	run -1 sbx revoke --match net:access own.test
	contains "$output" "own.yaml:2 (profile default, session "
	echo >"$HOME/go"
	wait "$!"
}

@test "promise_03: --match of a folder ends the write grant that implies reading, those of folders above and patterns" {
	mkdir -p "$HOME/notes/a" "$HOME/other"
	give fs:write "$HOME/notes"
	give fs:read "$HOME/notes" "$HOME" "$HOME/n*" "$HOME/notes/a" "$HOME/*/a" "$HOME/other"
	run -0 sbx revoke --match fs:read "$HOME/notes"
	contains "$output" "fs:write $HOME/notes"
	[ "$(patterns)" = "$HOME/other" ]
	run -1 sbx check fs:read "$HOME/notes" --no-ask
	give fs:write "$HOME/notes"
	give fs:read "$HOME/notes"
	run -0 sbx revoke --match fs:write "$HOME/notes"
	[ "$(patterns)" = "$HOME/other $HOME/notes" ]
	run -0 sbx grant --deny fs:read "$HOME/notes/a"
	run -0 sbx revoke --match fs:read "$HOME/notes"
	[ "$(patterns)" = "$HOME/other $HOME/notes/a" ]
}

@test "promise_03: a link by which a running sandbox alone is let through is named: of its --policy, and of --allow" {
	local session link="Still allowed by a link (profile default, session"
	mkdir -p "$HOME/app" "$HOME/papers" "$HOME/vault" "$HOME/was" && cd "$HOME/app"
	echo secret >"$HOME/papers/s"
	ln -s papers "$HOME/to-papers"
	ln -s vault "$HOME/to-vault"
	cat >"$HOME/own.yaml" <<-'EOF'
		version: 1
		profiles:
		  default:
		    extends: [base]
		    allow: {fs:read: ["~/to-papers", "~/to-vault"], fs:write: ["${project}"]}
		    deny: {fs:read: ["~/vault"]}
	EOF
	background led sbx run --policy "$HOME/own.yaml" --allow fs:read="$HOME/was" -- \
		sh -c 'touch up; until [ -e go ]; do sleep 0.02; done; cat ~/papers/s'
	wait_for 30 test -e up
	session=$(sbx sessions --json | jq '.[0].id')
	rmdir "$HOME/was"
	ln -s papers "$HOME/was"
	run -1 sbx revoke --match fs:read "$HOME/papers/s"
	contains "$output" "$link $session): fs:read $HOME/to-papers, which leads to $HOME/papers"
	contains "$output" "Still allowed by a link (grant "
	contains "$output" ", session $session): fs:read $HOME/was, which leads to $HOME/papers"
	run -1 sbx revoke --match fs:read "$HOME/papers" --json
	[ "$(jq -c '[.links[].session] | unique' <<<"$output")" = "[$session]" ]
	run -1 sbx revoke --match fs:read "$HOME/vault"
	lacks "$output" "Still allowed"
	touch go
	finished led
	contains "$output" secret
	run -1 sbx revoke --match fs:read "$HOME/papers"
	lacks "$output" "Still allowed"
}

@test "promise_03: a link that was made after the grant, or the rule, is named once, by the grant and by the rule" {
	mkdir -p "$HOME/a" "$HOME/papers" "$HOME/own"
	policy <<-'EOF'
		version: 1
		profiles:
		  base:
		    allow: {fs:read: ["~/own"]}
	EOF
	sbx grant fs:read "$HOME/a" --always --any-profile --anywhere >/dev/null
	local id
	id=$(sbx grants --json | jq '.[0].id')
	rmdir "$HOME/a" "$HOME/own"
	ln -s papers "$HOME/a"
	ln -s papers "$HOME/own"
	run -1 sbx revoke --match fs:read "$HOME/papers"
	contains "$output" "Still allowed by a link (grant $id): fs:read $HOME/a, which leads to $HOME/papers"$'\n'
	contains "$output" "Still allowed by a link (profile base): fs:read $HOME/own, which leads to $HOME/papers ($HOME/.config/sbx/policy.yaml:4)"
	[ "$(grep -c "Still allowed" <<<"$output")" = 2 ]
	run -1 sbx revoke --match fs:read "$HOME/papers" --json
	[ "$(jq -c '[.links[].grant]' <<<"$output" | tr -d '[]')" = "$id,null" ] || [ "$(jq -c '[.links[].grant]' <<<"$output")" = "[null,$id]" ]
	run -0 sbx revoke "$id"
	run -1 sbx revoke --match fs:read "$HOME/papers"
	[ "$(grep -c "Still allowed" <<<"$output")" = 1 ]
}

@test "promise_03: programs by bare name, variables, sockets and words of one's own" {
	printf 'version: 1\npermissions: {db:access: "use the database"}\n' | policy
	give proc:spawn nc /usr/bin/nc '/opt/**' ncat
	run -1 sbx revoke --match proc:spawn nc
	contains "$output" "Revoked grants "
	contains "$output" "Still allowed by built-in/base.yaml:"
	[ "$(patterns)" = "/**/ncat" ]
	give env:read 'NPM_*' NPM_TOKEN '*' OTHER
	run -0 sbx revoke --match env:read NPM_TOKEN
	give ipc:connect '/opt/run/**' /opt/run/x.sock /opt/y.sock
	run -0 sbx revoke --match ipc:connect /opt/run/x.sock
	give db:access 'prod-[0-9]' 'prod-*' test-1
	run -0 sbx revoke --match db:access prod-1
	[ "$(patterns)" = "/**/ncat OTHER /opt/y.sock test-1" ]
}

@test "a session's denial holds for its sandbox, also when its broker ends and another one comes" {
	local session pid
	cd "$HOME/project"
	mkdir -p "$HOME/notes" && echo secret | tee "$HOME/notes/note.txt" >"$HOME/notes/other.txt"
	background denied sbx run --allow fs:read="$HOME/notes" -- sh -c 'until [ -e end ]; do
		cat "$1/other.txt" >/dev/null 2>&1 && printf "kept "
		cat "$1/note.txt" >/dev/null 2>&1; echo "read: $?"; done' sh "$HOME/notes"
	wait_for 30 says 'kept read: 0'
	session=$(sbx sessions --json | jq '.[0].id')
	sbx grant --session "$session" --deny fs:read "$HOME/notes/note.txt"
	wait_for 30 says 'kept read: 1'
	pid=$(broker_pid)
	kill -9 "$pid"
	wait_for 30 gone "$pid"
	wait_for 30 runs_on "$session"
	says_more && says_more
	[ "$(sbx grants --json | jq '[.[] | select(.effect == "deny")] | length')" = 1 ]
	touch end
	finished denied
	[ "$(sed '1,/read: 1/d' <<<"$output" | grep read: | sort | uniq)" = "kept read: 1" ]
}

says() {
	grep -q "$1" "$HOME/run/denied.out"
}

says_more() {
	local before
	before=$(wc -l <"$HOME/run/denied.out")
	wait_for 30 has_more_lines "$before"
}

has_more_lines() {
	(($(wc -l <"$HOME/run/denied.out") > $1 + 2))
}

runs_on() { # runs_on BEFORE: as another session
	[[ $(sbx sessions --json | jq --argjson before "$1" 'length == 1 and .[0].id != $before') == true ]]
}
