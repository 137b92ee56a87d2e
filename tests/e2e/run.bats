#!/usr/bin/env bats
# `sbx run` as a plain command: exit statuses, signals, pipes, folders, environment.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper

@test "the exit status is the tool's" {
	run sbx run -- sh -c 'exit 7'
	[ "$status" = 7 ]
	run sbx run -- true
	[ "$status" = 0 ]
	[ "$output" = "" ]
}

@test "a tool that dies by a signal: 128 + n" {
	run sbx run -- sh -c 'kill -TERM $$'
	[ "$status" = 143 ]
	run sbx run -- sh -c 'kill -KILL $$'
	[ "$status" = 137 ]
}

@test "--timeout ends the sandbox with 124" {
	SECONDS=0
	run sbx run --timeout 1s -- sleep 300
	[ "$status" = 124 ]
	((SECONDS < 60)) # of 300
	run sbx run --timeout 1s -- sh -c 'trap "" TERM INT HUP; while :; do sleep 1; done'
	[ "$status" = 124 ]
	((SECONDS < 120))
}

@test "no such command: 127; not executable: 126; sbx itself failed: 125; usage: 2" {
	run -127 sbx run -- no-such-command-anywhere
	one_error 127
	contains "$output" "no-such-command-anywhere"
	echo plain >"$HOME/project/plain"
	run -126 sbx run -- ./plain
	one_error 126
	run sbx run --cwd /no/such/folder -- true
	one_error 125
	run sbx run --no-such-option -- true
	one_error 2
	run sbx run
	one_error 2
}

@test "pipes: bytes go in and out unchanged, stderr stays apart" {
	[ "$(echo x | sbx run -- cat)" = x ]
	head -c 20000000 /dev/urandom >"$HOME/run/bytes"
	[ "$(sbx run -- cat <"$HOME/run/bytes" | sha256sum)" = "$(sha256sum <"$HOME/run/bytes")" ]
	run --separate-stderr sbx run -- sh -c 'echo out; echo err >&2'
	[ "$output" = out ]
	# shellcheck disable=SC2154 # set by run
	[ "$stderr" = err ]
}

@test "a closed pipe ends the tool" {
	run bash -c 'set -o pipefail; timeout 60 sbx run -- yes | head -n 1'
	[ "${lines[0]}" = y ]
	[ "$status" = 141 ]
}

@test "a closed standard input is closed" {
	run sbx run -- sh -c 'read -r line || echo end' </dev/null
	[ "$output" = end ]
}

@test "signals reach the tool, and its answer counts" {
	# A shell without job control starts what runs in the background with SIGINT ignored, nohup all with SIGHUP, and what is
	# ignored stays so.
	for signal in TERM INT HUP USR1; do
		rm -f ready
		# shellcheck disable=SC2016 # expanded inside
		setsid env --default-signal=INT,HUP sbx run -- sh -c \
			'trap "echo got '$signal'; exit 3" '$signal'; touch ready; while :; do sleep 0.1; done' \
			>"$HOME/run/out" 2>&1 3>&- &
		pid=$!
		wait_for 60 test -e ready
		kill -"$signal" "$pid"
		status=0
		wait "$pid" || status=$?
		cat "$HOME/run/out"
		[ "$status" = 3 ]
		grep -q "got $signal" "$HOME/run/out"
	done
}

@test "in a pipeline nobody but the tool and sbx run holds an end: each side ends when the other does" {
	local pid
	[ "$(timeout 20 bash -c 'sbx run -- true | cat; echo "${PIPESTATUS[0]}"')" = 0 ]
	[ "$(timeout 20 bash -c 'yes | sbx run -- head -1')" = y ]
	[ "$(timeout 20 bash -c 'sbx run -- yes | head -1')" = y ]
	mkfifo ends
	sbx run -- sh -c 'touch up; read -r line' <>ends >"$HOME/run/out" 3>&- &
	pid=$!
	wait_for 60 test -e up
	run ls -l "/proc/$(pgrep -P "$pid" -x bwrap)/fd"
	echo end >ends
	wait "$pid"
	lacks "$output" ends
	lacks "$output" "$HOME/run/out"
	rm ends up
}

@test "nothing of the sandbox survives its end, whatever the tool left behind" {
	run sbx run -- sh -c 'setsid sleep 3141 & (trap "" HUP TERM; exec sleep 3142) & nohup sleep 3143 >/dev/null 2>&1 & exit 5'
	[ "$status" = 5 ]
	wait_for 30 no_process 'sleep 314[123]'
}

@test "kill -9 of the runner leaves no process of the sandbox" {
	sbx run -- sh -c 'touch started; sleep 2718' 3>&- &
	pid=$!
	wait_for 60 test -e started
	kill -9 "$pid"
	wait_for 30 no_process 'sleep 2718'
	wait_for 30 session_has_ended
}

session_has_ended() {
	none sessions
}

@test "the working folder is kept, and --cwd changes it" {
	mkdir -p "$HOME/project/deep/er"
	cd "$HOME/project/deep"
	git -C "$HOME/project" init -q
	[ "$(sbx run -- pwd)" = "$HOME/project/deep" ]
	[ "$(sbx run --cwd er -- pwd)" = "$HOME/project/deep/er" ]
	[ "$(sbx run --cwd "$HOME/project" -- pwd)" = "$HOME/project" ]
}

@test "--cwd that the sandbox can't see is a clear error" {
	mkdir -p "$HOME/elsewhere"
	run sbx run --project "$HOME/project" --cwd "$HOME/elsewhere" -- pwd
	one_error 125
	contains "$output" "$HOME/elsewhere"
}

@test "the project is writable, the rest of home is not there, the system is read-only" {
	touch "$HOME/other-file"
	run sbx run -- sh -c "touch made && test ! -e '$HOME/other-file' && test ! -e '$HOME/.config/sbx' && ! touch /usr/made /etc/made"
	echo "$output"
	[ "$status" = 0 ]
	[ -e made ]
	run sbx run -- sh -c 'ls -A / /var /root /run/user 2>/dev/null'
	lacks "$output" "lost+found"
	run --separate-stderr sbx run -- sh -c 'echo x >~/.new-in-home && cat ~/.new-in-home'
	[ "$output" = x ]
	[ ! -e "$HOME/.new-in-home" ]
}

@test "/tmp is the sandbox's own" {
	mark=$(mktemp /tmp/sbx-e2e-XXXXXX)
	run sbx run -- sh -c "test ! -e $mark && touch /tmp/from-inside-$$ && ls /tmp"
	rm "$mark"
	[ "$status" = 0 ]
	[ ! -e "/tmp/from-inside-$$" ]
}

@test "the environment is cleared but for what the policy passes, and --env" {
	export LANG=C.UTF-8
	SOME_SECRET=hunter2 run sbx run -- env
	lacks "$output" hunter2
	contains "$output" "LANG=C.UTF-8"
	contains "$output" "HOME=$HOME"
	SOME_SECRET=hunter2 run sbx run --env SOME_SECRET --env OTHER=value -- env
	contains "$output" "SOME_SECRET=hunter2"
	contains "$output" "OTHER=value"
}

@test "attack_w_06: --env passes no variable that is denied, nor does a grant; a value of one's own is no variable of the host's" {
	cat >"$HOME/own.yaml" <<-'END'
		version: 1
		profiles:
		  default:
		    deny: {env:read: ["SOME_*"]}
	END
	export SOME_SECRET=hunter2
	run -125 sbx run --policy "$HOME/own.yaml" --env SOME_SECRET -- env
	contains "$output" "--env SOME_SECRET: the profile default denies env:read SOME_* ($HOME/own.yaml:4)"
	lacks "$output" hunter2
	run -125 sbx run --policy "$HOME/own.yaml" --env SOME_SECRET --allow env:read=SOME_SECRET -- env
	contains "$output" "env:read SOME_SECRET can't be granted: the profile default denies"
	run -0 sbx run --policy "$HOME/own.yaml" --env SOME_SECRET=mine -- printenv SOME_SECRET
	[ "$output" = mine ]
	run -125 sbx run --deny env:read=SOME_SECRET --env SOME_SECRET -- env
	contains "$output" "--env SOME_SECRET: grant "
	run -0 sbx run --env SOME_SECRET -- printenv SOME_SECRET
	[ "$output" = hunter2 ]
}

@test "a variable that the tool wants and doesn't get is named once" {
	cat >"$HOME/project/aider" <<'END'
#!/bin/sh
exit 0
END
	chmod +x aider
	OPENAI_API_KEY=sk-very-secret run sbx run --profile aider -- ./aider
	[ "$output" = "" ] # stderr is no terminal
	OPENAI_API_KEY=sk-very-secret SBX_DEBUG=1 run sbx run --profile aider -- ./aider
	echo "$output"
	[ "$status" = 0 ]
	[ "$(grep -c 'not passed: OPENAI_API_KEY' <<<"$output")" = 1 ]
	contains "$output" "--env"
	lacks "$output" sk-very-secret
}

@test "a policy that has an error while the broker runs is told, and the last good one stays" {
	policy <<END
version: 1
END
	sbx run -- true
	printf 'version: 1\nprofiles: [\n' >"$HOME/.config/sbx/policy.yaml"
	run sbx run -- echo still runs
	[ "$status" = 0 ]
	contains "$output" "still runs"
	[ "$(grep -c '^sbx: .*policy.yaml has an error (.*policy.yaml:[0-9]*:[0-9]*: .*last good one' <<<"$output")" = 1 ]
	policy <<END
version: 1
END
	run sbx run -- true
	[ "$output" = "" ]
}

@test "without HOME and XDG_RUNTIME_DIR the account's home is used" {
	run env -u HOME -u XDG_RUNTIME_DIR SBX_IDLE=1s sbx sessions --json
	echo "$output"
	[ "$status" = 0 ]
}

@test "env: of a profile is set in the sandbox" {
	policy <<END
version: 1
profiles:
  default:
    env: {FROM_POLICY: "yes: it is"}
END
	run sbx run -- sh -c 'echo "$FROM_POLICY"'
	[ "$output" = "yes: it is" ]
}

@test "--print-plan shows the plan and runs nothing" {
	run sbx run --print-plan -- touch made-by-plan
	[ "$status" = 0 ]
	contains "$output" "$HOME/project"
	contains "$output" "/usr"
	[ ! -e made-by-plan ]
}

@test "--allow and --deny hold for the one session" {
	mkdir -p "$HOME/data" && echo datum >"$HOME/data/file"
	run sbx run --allow fs:read="$HOME/data" -- cat "$HOME/data/file"
	[ "$output" = datum ]
	run sbx run --allow fs:read "$HOME/data" -- cat "$HOME/data/file"
	[ "$output" = datum ]
	run sbx run --allow fs:read="$HOME/data" -- sh -c "echo more >>'$HOME/data/file'"
	[ "$status" != 0 ]
	run sbx run -- cat "$HOME/data/file"
	[ "$status" != 0 ]
	mkdir -p closed && echo shut >closed/file
	run sbx run --deny fs:read="$HOME/project/closed" -- cat closed/file
	[ "$status" != 0 ]
	lacks "$output" shut
}

@test "--offline: no network, no proxy" {
	run sbx run --offline -- sh -c 'env; curl -sS --max-time 3 http://127.0.0.1:9/'
	[ "$status" != 0 ]
	lacks "$output" "HTTP_PROXY"
}

@test "where names are looked up is sbx's own, whatever the host has there; with network: host it is the host's" {
	cat >"$HOME/run/host.yaml" <<<'{version: 1, profiles: {default: {network: host}}}'
	cat >look <<'END'
	for file in resolv.conf hosts nsswitch.conf; do
		echo "$file: $(grep -v '^#' "/etc/$file" | head -n 1)"
		(echo mine >"/etc/$file") 2>/dev/null && echo "$file can be written"
	done
	getent hosts localhost
END
	in_own_mounts '
		mkdir -p "$HOME/run/etc/static" "$HOME/run/resolve"
		cp -r /etc/passwd /etc/group /etc/ld.so.cache /etc/alternatives "$HOME/run/etc/"
		mount --bind "$HOME/run/etc" /etc && mount --bind "$HOME/run/resolve" /run || exit 9
		echo "nameserver 192.0.2.1" >/etc/static/resolv.conf
		echo "192.0.2.2 theirs localhost" >/etc/hosts
		ln -s static/hosts /etc/nsswitch.conf # leads nowhere, into a folder that is shown
		look() { # look NAME: with what the host has now
			plain sbx run -- sh look >"$HOME/run/$1" 2>&1
		}
		ln -s static/resolv.conf /etc/resolv.conf && look linked
		ln -sf /run/resolve/stub.conf /etc/resolv.conf && look dangling
		rm /etc/resolv.conf /etc/nsswitch.conf && cp /etc/static/resolv.conf /etc/resolv.conf && touch /etc/nsswitch.conf && look plain
		plain sbx run --policy "$HOME/run/host.yaml" -- sh look >"$HOME/run/hosts" 2>&1
		rm /etc/resolv.conf && look missing'
	tail -n 20 "$HOME"/run/{linked,dangling,plain,missing,hosts}
	for what in linked dangling plain; do
		grep -qx "resolv.conf: nameserver 127.0.0.1" "$HOME/run/$what"
	done
	for what in linked dangling plain missing; do
		grep -q "^hosts: 127.0.0.1 localhost" "$HOME/run/$what"
		grep -qE "^(::1|127.0.0.1) +localhost" "$HOME/run/$what"
		run grep -E "can be written|theirs|192.0.2" "$HOME/run/$what"
		[ "$status" = 1 ]
	done
	grep -qx "nsswitch.conf: passwd: files" "$HOME/run/plain"
	grep -qx "resolv.conf: nameserver 192.0.2.1" "$HOME/run/hosts"
	grep -q theirs "$HOME/run/hosts"
}

@test "--fail-on-deny turns a refused request into 125, and the last words say how to allow it" {
	policy <<END
version: 1
prompt: {without-agent: deny}
profiles:
  default:
    hosts: {svc.test: 127.0.0.1}
END
	run sbx run --fail-on-deny -- sh -c 'curl -sS --max-time 10 http://svc.test:81/ ; exit 0'
	echo "$output"
	[ "$status" = 125 ]
	contains "$output" "sbx grant net:access svc.test:81 --profile default"
	run sbx run -- sh -c 'curl -sS --max-time 10 http://svc.test:81/ ; exit 0'
	[ "$status" = 0 ]
	contains "$output" "sbx grant net:access svc.test:81 --profile default"
}

@test "a name with spaces, quotes, newlines and bytes that are no UTF-8 goes through unchanged" {
	name=$'a "b" \'c\'\n\xff -d'
	sbx run -- touch "./$name"
	[ -e "$name" ]
	run sbx run -- printf '%s|' "" "$name" '$HOME' '*'
	[ "$output" = "|$name|\$HOME|*|" ]
}

@test "--help everywhere, and it needs no broker" {
	broker_stop
	for command in "" run grant revoke grants sessions kill prompts allow deny history why policy doctor; do
		# shellcheck disable=SC2086 # nothing for ""
		run sbx $command --help
		[ "$status" = 0 ]
		contains "$output" "sbx"
	done
	[ ! "$(broker_pid)" ]
}

@test "sbx inside a sandbox of sbx decides nothing and starts no broker; what needs none works" {
	inside() {
		run sbx run --allow "fs:read=$SBX_BIN" -- "$SBX_BIN/sbx" "$@"
		echo "$output"
	}
	for command in "grant net:access * --always" "check fs:read /etc/shadow" grants "history --verify" "why fs:read /etc" \
		"allow 1" "policy show" "kill --all" "run -- true"; do
		set -f
		# shellcheck disable=SC2086 # words
		inside $command
		set +f
		[ "$status" = 125 ]
		[ "${#lines[@]}" = 1 ]
		contains "$output" "this is inside a sandbox of sbx"
		contains "$output" "run it outside"
		lacks "$output" Granted
	done
	inside --version
	[ "$status" = 0 ]
	inside run --help
	[ "$status" = 0 ]
	inside policy check
	[ "$status" = 0 ]
	inside doctor
	[ "$status" = 1 ]
	[ "${#lines[@]}" = 2 ]
	contains "$output" "this is inside a sandbox of sbx"
	run sbx grants --json
	[ "$output" = "[]" ]
}

@test "many refused hosts are ten last lines and where the others are" {
	policy <<END
version: 1
prompt: {timeout: 5s, without-agent: deny}
END
	# shellcheck disable=SC2016 # expanded inside the sandbox
	run sbx run -- sh -c 'for i in $(seq 14); do curl -s --max-time 10 -o /dev/null "http://h$i.test/"; done; exit 0'
	echo "$output"
	[ "$(grep -c 'blocked net:access' <<<"$output")" = 10 ]
	more=$(sed -nE 's/^sbx: and 4 more: (sbx history .*)/\1/p' <<<"$output")
	# shellcheck disable=SC2086 # words
	run $more
	[ "$(grep -c 'net:access h' <<<"$output")" = 14 ]
	# shellcheck disable=SC2016 # expanded inside the sandbox
	run sbx run --record -- sh -c 'for i in $(seq 14); do curl -s --max-time 10 -o /dev/null "http://h$i.test/"; done; exit 0'
	[ "$(grep -c 'blocked net:access' <<<"$output")" = 14 ]
}

@test "a misspelt profile has a suggestion, and rules are explained as they were typed" {
	policy <<END
version: 1
profiles:
  default:
    deny:
      fs:read: ["**/.env"]
      proc:spawn: [sudo]
END
	run sbx run --profile npn -- true
	one_error 125
	contains "$output" 'did you mean "npm"?'
	run sbx why fs:read .env
	contains "$output" 'denies fs:read **/.env ['
	lacks "$output" '/**/'
	run sbx why proc:spawn /usr/bin/sudo
	contains "$output" 'denies proc:spawn sudo ['
	PATH=/usr/bin:$PATH run sbx why proc:spawn env # a bare name is the program that a shell finds
	contains "$output" 'run the program /usr/bin/env?'
	run sbx why proc:spawn no-such-program
	one_error 1
	contains "$output" 'in your PATH'
}

@test "a folder that is moved to where protected names may lie is advised to be copied, which asks about those that it has" {
	local was
	was=$(cat "$HOME/.config/sbx/policy.yaml" 2>/dev/null || true)
	refusing_policy ""
	mkdir staged
	echo x >staged/lefthook.toml
	echo y >staged/other
	run sbx run -- mv -T staged .config
	contains "$output" "blocked fs:write $PWD/.config/"
	contains "$output" "): copy the folder instead of moving it (cp -r), or allow with: sbx grant fs:write $PWD/.config/"
	run sbx run -- cp -r staged .config
	contains "$output" "blocked fs:write $PWD/.config/lefthook.toml (no terminal or desktop to ask on): allow with: sbx grant fs:write "
	[ "$(grep -c blocked <<<"$output")" = 1 ]
	[ "$(cat .config/other)" = y ]
	rm -r staged .config
	if [[ $was ]]; then policy <<<"$was"; else rm "$HOME/.config/sbx/policy.yaml"; fi
	broker_stop
}
