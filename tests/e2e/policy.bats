#!/usr/bin/env bats
# Policy files while they are used: a project's own, edits of any kind, what is wrong with a place.

load helper

setup_file() {
	home_make
	port=$(server web server.py)
	export port
}

# mine [RULE]: the user's policy: svc.test is known, and allowed, denied … as RULE (a line under the profile) says.
mine() {
	cat <<END
version: 1
profiles:
  default:
    hosts: {svc.test: 127.0.0.1}
    ${1:-}
END
}

setup() {
	cd "$HOME/project" || return
	rm -rf .sbx.yaml "$HOME/.config/sbx"
	mkdir -p "$HOME/.config/sbx"
	mine >"$HOME/.config/sbx/policy.yaml"
	sbx policy trust --forget >/dev/null
}

# theirs: a project's file that wants much.
theirs() {
	cat <<END
version: 1
profiles:
  default:
    allow:
      fs:read: ["~/.ssh"]
      net:access: ["svc.test:$port"]
    deny:
      fs:read: ["\${project}/secret"]
    env: {FROM_PROJECT: "yes"}
  theirs:
    commands: [env, cat]
    extends: [default]
END
}

fetch() {
	sbx run -- curl -sS -o /dev/null -w '%{http_code}\n' "http://svc.test:$port/"
}

# knocking: a sandbox that asks for svc.test ten times a second and notes what it gets, in ./log.
knocking() {
	rm -f log stop
	# shellcheck disable=SC2016 # expanded inside
	background knock sbx run -- sh -c 'until [ -e stop ]; do
		curl -s -o /dev/null -w "%{http_code}\n" "$1" >>log; sleep 0.1; done' sh "http://svc.test:$port/"
	wait_for 60 test -s log
}

last_is() {
	[[ $(tail -n 1 log) == "$1" ]]
}

# soon CODE: what the sandbox gets from now on.
soon() {
	wait_for 30 last_is "$1" || { echo "expected $1, got $(tail -n 3 log)" >&2 && return 1; }
}

stop_knocking() {
	touch stop
	finished knock
}

@test "attack_broker_21 a project's file widens nothing until it is trusted, and that is said" {
	theirs >.sbx.yaml
	mkdir -p secret && echo hidden >secret/file
	run sbx run -- cat "$HOME/.ssh/id_ed25519"
	[ "$status" = 1 ]
	contains "$output" "$HOME/project/.sbx.yaml is not trusted, so only its denials count: sbx policy trust"
	lacks "$output" "not a real key"
	run fetch
	is_refused "$output"
	run sbx run -- env
	lacks "$output" FROM_PROJECT
	run sbx run -- cat secret/file
	lacks "$output" hidden
	run sbx run --profile theirs -- true
	one_error 125
	contains "$output" "you have not trusted"
	# No command of theirs picks a profile: not that one, nor another for what they add.
	sbx history --json | jq -es 'map(select(.kind == "session-start") | .profile) | unique == ["default"]'
	run sbx policy show
	contains "$output" "$HOME/project/.sbx.yaml   NOT TRUSTED"
	contains "$output" "# $HOME/project/.sbx.yaml:8"
	lacks "$output" "FROM_PROJECT"
}

@test "sbx policy trust shows what the file says and lets exactly that count" {
	theirs >.sbx.yaml
	run sbx policy trust
	[ "$status" = 1 ]
	contains "$output" "there is no terminal to ask at"
	contains "$output" "may read ~/.ssh (line 5)"
	contains "$output" "may connect to svc.test:$port (line 6)"
	contains "$output" "may not read \${project}/secret (line 8)"
	contains "$output" "is picked by the commands: env, cat"
	contains "$output" "sets the variable FROM_PROJECT to yes"
	run fetch
	is_refused "$output"

	sbx policy trust --yes
	run fetch
	[ "$output" = 200 ]
	run sbx run -- env
	lacks "$output" warning
	contains "$output" FROM_PROJECT=yes
	run sbx run -- cat "$HOME/.ssh/id_ed25519"
	contains "$output" "not a real key"
	run sbx policy show
	contains "$output" "$HOME/project/.sbx.yaml   trusted"
	sbx history --json | jq -es "map(select(.kind == \"policy\" and .detail.trusted == true and .project == \"$HOME/project\")) | length >= 1"
	sbx history --json | jq -es "map(select(.kind == \"session-start\")) | last.detail.project_file.trusted"
	sbx history --verify

	echo "# one line more" >>.sbx.yaml
	run sbx run -- cat "$HOME/.ssh/id_ed25519"
	contains "$output" "is not trusted, so only its denials count"
	lacks "$output" "not a real key"
	theirs >.sbx.yaml # the same content as before
	run fetch
	[ "$output" = 200 ]
	sbx policy trust --forget
	run fetch
	is_refused "$output"
}

@test "trust in a folder that is no project by itself is warned of, and what takes it back is named" {
	git init -q "$HOME/whole"
	mkdir -p "$HOME/whole/sub"
	theirs >"$HOME/whole/sub/.sbx.yaml"
	cd "$HOME/whole"
	run sbx policy trust --yes sub
	[ "$status" = 0 ]
	contains "$output" "$HOME/whole/sub is no project by itself: \`sbx run\` there takes $HOME/whole, unless it is told --project"
	contains "$output" "In all: 2 rules that allow or ask, "
	contains "$output" "; the widest: may read ~/.ssh (line 5); may connect to svc.test:$port (line 6)."
	contains "$output" "To take it back: sbx policy trust --forget sub"
	sbx policy trust --forget sub
	theirs >.sbx.yaml
	run sbx policy trust --yes "$HOME/whole"
	lacks "$output" "no project by itself"
}

# typed WORD: into sbx policy trust, when it asks: what came before doesn't count.
typed() {
	rm -f "$HOME/run/screen"
	run bash -c '{ wait_for 60 grep -qs "^Type trust" "$1"; echo "$2"; } | script -qefc "sbx policy trust" "$1"' bash "$HOME/run/screen" "$1"
}

@test "trust is given in a terminal by a whole word" {
	export -f wait_for rest
	theirs >.sbx.yaml
	for word in "" y yes trus "trust me"; do
		typed "$word"
		contains "$output" "nothing was trusted"
	done
	run fetch
	is_refused "$output"
	typed trust
	contains "$output" "Trusted until the file changes"
	run fetch
	[ "$output" = 200 ]
}

@test "attack_broker_21 what wasn't shown isn't trusted: the hash is the user's, the reading the broker's" {
	theirs >.sbx.yaml
	hash=$(sha256sum .sbx.yaml | cut -d' ' -f1)
	echo "# changed meanwhile" >>.sbx.yaml
	sbx run -- true 2>/dev/null # starts the broker
	run broker '{"type": "trust", "id": 1, "project": "'"$HOME/project"'", "hash": "'"$hash"'"}'
	contains "$output" "has changed since it was shown"
	run broker '{"type": "trust", "id": 1, "project": "'"$HOME/project"'"}'
	contains "$output" '"error"'
	run broker '{"type": "trust", "id": 1, "project": "'"$HOME/project"'", "hash": "'"$hash"'", "forget": true}'
	contains "$output" '"error"'
	run fetch
	is_refused "$output"
}

@test "attack_broker_21 the tool can't change the file, and one that it makes widens nothing" {
	theirs >.sbx.yaml
	sbx policy trust --yes
	run sbx run -- sh -c 'echo "# more" >>.sbx.yaml; rm -f .sbx.yaml; mv .sbx.yaml other; cp /etc/hostname .sbx.yaml; ln -sf x .sbx.yaml'
	[ "$(sha256sum <.sbx.yaml)" = "$(theirs | sha256sum)" ]
	run fetch
	[ "$output" = 200 ]
	# Where there is none the tool may well make one.
	rm .sbx.yaml
	{ theirs && echo "# made inside"; } >wanted
	run sbx run -- sh -c "mv wanted .sbx.yaml; sleep 0.5; curl -sS -o /dev/null -w '%{http_code}\n' http://svc.test:$port/; cat ~/.ssh/id_ed25519"
	lacks "$output" 200
	lacks "$output" "not a real key"
}

@test "attack_broker_21 a file trusted in one project says nothing in another" {
	theirs >.sbx.yaml
	sbx policy trust --yes
	mkdir -p "$HOME/second" && cp .sbx.yaml "$HOME/second/" && cd "$HOME/second"
	run fetch
	is_refused "$output"
	contains "$output" "is not trusted"
}

@test "linked worktrees share trust by content" {
	git init -q "$HOME/main" && cd "$HOME/main"
	theirs >.sbx.yaml
	git add -f .sbx.yaml && git -c user.name=n -c user.email=e commit -qm one
	git worktree add -q "$HOME/linked"
	cd "$HOME/linked"
	run fetch
	contains "$output" "$HOME/linked/.sbx.yaml is not trusted"
	sbx policy trust --yes
	run fetch
	[ "$output" = 200 ]
	cd "$HOME/main"
	run fetch
	[ "$output" = 200 ]
	echo "# another branch" >>"$HOME/linked/.sbx.yaml"
	run fetch
	[ "$output" = 200 ]
	cd "$HOME/linked"
	run fetch
	contains "$output" "is not trusted"
}

@test "a project's file with an error, or that is none: nothing begins, the line and a way out are said" {
	printf 'version: 1\nprofiles:\n  default:\n    alow: {}\n' >.sbx.yaml
	for what in run policy-trust check; do
		case $what in
		run) run sbx run -- touch made ;;
		policy-trust) run sbx policy trust --yes ;;
		check) run sbx check net:access svc.test:1 ;;
		esac
		[ "$status" != 0 ]
		contains "$output" "$HOME/project/.sbx.yaml:4:5"
	done
	run sbx run -- touch made
	one_error 125
	contains "$output" "mended or moved away"
	[ ! -e made ]
	run sbx policy check
	[ "$status" = 1 ]
	contains "$output" ".sbx.yaml:4:5"
	rm .sbx.yaml
	for kind in "ln -s $HOME/.ssh/id_ed25519" mkfifo mkdir; do
		$kind .sbx.yaml
		run timeout 60 sbx run -- touch made
		one_error 125
		lacks "$output" "real key"
		rm -rf .sbx.yaml
	done
	[ ! -e made ]
	sbx run -- touch made
}

@test "--policy FILE stands in the user's place, the project's denials still count" {
	theirs >.sbx.yaml
	mine 'deny: {net:access: ["*"]}' >"$HOME/.config/sbx/policy.yaml"
	mine "allow: {net:access: [\"svc.test:$port\"]}" >own.yaml
	mkdir -p secret && echo hidden >secret/file
	run fetch
	is_refused "$output"
	run sbx run --policy own.yaml -- sh -c "curl -sS -o /dev/null -w '%{http_code}\n' http://svc.test:$port/; cat secret/file"
	contains "$output" 200
	lacks "$output" hidden
	# What is wrong with the user's own is no matter to it.
	broker_stop
	echo oops >"$HOME/.config/sbx/policy.yaml"
	run sbx run --policy own.yaml -- true
	[ "$status" = 0 ]
	run sbx run -- true
	one_error 125
	contains "$output" "policy.yaml:1:1"
	contains "$output" "nothing is allowed until it is mended"
}

@test "a running sandbox follows every way in which an editor can save" {
	file=$HOME/.config/sbx/policy.yaml
	allow="allow: {net:access: [\"svc.test:$port\"]}" deny='deny: {net:access: ["*"]}'
	mine "$allow" >"$file"
	knocking
	soon 200
	mine "$deny" >"$file" # in place
	soon 000
	mine "$allow" >"$file.new" && mv "$file.new" "$file" # beside it, renamed over
	soon 200
	mv "$file" "$file~" && mine "$deny" >"$file" # the old one as a backup
	soon 000
	rm "$file"
	mine "$allow" >"$file"
	soon 200
	mine "$deny" >"$HOME/run/other.yaml" # the folder itself is another one
	mkdir "$HOME/.config/sbx.new" && mv "$HOME/run/other.yaml" "$HOME/.config/sbx.new/policy.yaml"
	mv "$HOME/.config/sbx" "$HOME/.config/sbx.old" && mv "$HOME/.config/sbx.new" "$HOME/.config/sbx"
	soon 000
	rm -r "$HOME/.config/sbx" && mv "$HOME/.config/sbx.old" "$HOME/.config/sbx"
	soon 200
	# A link in its place is refused: what was good stays, and new sandboxes are told.
	mine "$deny" >"$HOME/run/linked.yaml" && ln -sf "$HOME/run/linked.yaml" "$file"
	run sbx run -- true
	contains "$output" "is a link and isn't followed"
	contains "$output" "the last good one stays in force"
	soon 200
	rm "$file" && mine "$deny" >"$file"
	soon 000
	stop_knocking
}

@test "a running sandbox keeps the last good policy while the file is broken, and that is recorded" {
	file=$HOME/.config/sbx/policy.yaml
	mine "allow: {net:access: [\"svc.test:$port\"]}" >"$file"
	knocking
	soon 200
	echo oops >>"$file"
	sleep 0.5
	soon 200
	run sbx policy show
	contains "$output" "HAS ERRORS"
	run sbx run -- true
	contains "$output" "the last good one stays in force"
	sbx history --json | jq -es 'map(select(.kind == "policy" and .detail.layer == "user" and (.detail.errors | length) == 1)) | length >= 1'
	mine 'deny: {net:access: ["*"]}' >"$file"
	soon 000
	stop_knocking
}

@test "a running sandbox follows its project's file: denials at once, trusted rules until the content changes" {
	knocking
	soon 000
	theirs >.sbx.yaml
	sleep 0.5
	soon 000
	sbx policy trust --yes
	soon 200
	theirs | sed 's/^    env:.*//' >.sbx.new && mv .sbx.new .sbx.yaml
	soon 000
	rm .sbx.yaml
	mine "allow: {net:access: [\"svc.test:$port\"]}" >"$HOME/.config/sbx/policy.yaml"
	soon 200
	# The user's file comes before the project's: a denial of theirs counts where the user has said nothing.
	mine >"$HOME/.config/sbx/policy.yaml"
	theirs >.sbx.yaml
	soon 200
	sbx policy trust --forget
	soon 000
	stop_knocking
}

@test "attack_broker_11 configuration that others can write, or that is a link, is refused with what to do" {
	file=$HOME/.config/sbx/policy.yaml
	broker_stop
	# Never a moment at which all is well: a broker that is still there would take it.
	chmod 0666 "$file"
	run sbx run -- true
	one_error 125
	contains "$output" "chmod o-w it"
	chmod 0777 "$HOME/.config/sbx" && chmod 0600 "$file"
	run sbx run -- true
	one_error 125
	contains "$output" "$HOME/.config/sbx can be written by others"
	run sbx policy check
	[ "$status" = 1 ]
	contains "$output" "can be written by others"
	mv "$file" "$HOME/run/dotfile.yaml" && ln -s "$HOME/run/dotfile.yaml" "$file"
	chmod 0700 "$HOME/.config/sbx"
	run sbx run -- true
	one_error 125
	contains "$output" "$file is a link and isn't followed"
	run sbx policy check
	[ "$status" = 1 ]
	contains "$output" "is a link"
	rm "$file" && mv "$HOME/run/dotfile.yaml" "$file"
	sbx run -- true
}

@test "folders that have no room among those that somebody works in are told of, and which bound it was" {
	local long
	long=$(printf '%0250d' 0)
	git init -q "$long"
	run -0 sbx run -- true
	contains "$output" "is not protected in 1 of the folders that somebody works in, of which the first is $PWD/00"
	contains "$output" ": its path is longer than 256 bytes"
	rm -r "$long"
	for _ in {1..18}; do git init -q "$(mktemp -d "$PWD/repository.XXXXXX")"; done
	run -0 sbx run -- true
	contains "$output" "is not protected in 2 of the folders that somebody works in, of which the first is $PWD/repository."
	contains "$output" ": of repositories that are found 16 are the most, of all such folders 24"
	rm -r repository.*
}
