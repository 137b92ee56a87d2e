#!/usr/bin/env bats
# `sbx monitor` in a real terminal: tmux presses its keys, and its screen is read.

load helper
load tmux

setup_file() {
	home_make
	port=$(server web server.py)
	export port
	tmux_home
	unset LC_ALL LANG
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: deny}
permissions: {db:access: use the database}
profiles:
  default:
    doorbell: ${SBX_TEST_DOORBELL:-auto}
    ask:
      db:access: ["*"]
      fs:read: ["~/secret*", {target: "~/deep", confirm: terminal}]
    hosts: {svc.test: 127.0.0.1, deep.svc.test: 127.0.0.1}
  wanting:
    extends: [default]
    ask:
      fs:read: [~/one, ~/two]
END
	echo 'the first' >"$HOME/one"
	echo 'the second' >"$HOME/two"
	echo 'the secret' >"$HOME/secret"
	echo 'the deep secret' >"$HOME/deep"
	sbx grants
}

# In a shell, so that what is left of the terminal afterwards is seen.
setup() {
	tmux_begin
	revoke_all
	before=$(tmux display -p '#{pane_tty}' | xargs -I{} stty -a -F {})
}

# Of a test that did not come to its end, too.
teardown() {
	local id
	tmux_end
	sbx kill --all
	for id in $(sbx prompts --json | jq '.[].id'); do sbx deny "$id" || true; done
}

revoke_all() {
	local ids
	ids=$(sbx grants --json | jq '.[].id')
	# shellcheck disable=SC2086 # ids
	[[ ! $ids ]] || sbx revoke $ids
}

hidden() {
	! shows "$1"
}

monitor() { # monitor [ENVIRONMENT]: in the foreground of the shell
	type_line "${1:-} sbx monitor; echo \"status \$?\""
	sees 'Prompts 0\]'
	sees '^today: '
}

monitor_pid() {
	pgrep -u "$(id -u)" -P "$(tmux display -p '#{pane_pid}')" -x sbx-monitor
}

ended_with() { # ended_with STATUS: and the terminal is as it was
	sees "^status $1\$"
	[ "$(tmux display -p '#{pane_tty}' | xargs -I{} stty -a -F {})" = "$before" ]
	[ "$(tmux display -p '#{cursor_flag} #{alternate_on}')" = "1 0" ]
}

keys() {
	tmux send-keys "$@"
}

# press KEY COMMAND…: a key counts from PROMPT_DELAY_MS after its question came into view on, and after keys that came too soon:
# pressed again, after more than that, until the command says that it has.
press() {
	local tries key=$1
	shift
	for tries in {1..400}; do
		((tries % 12 != 1)) || keys "$key"
		if "$@"; then return; fi
		sleep 0.05
	done
	screen
	return 1
}

press_until() { # press_until KEY REGEX
	press "$1" shows "$2"
}

press_until_gone() { # press_until_gone KEY REGEX
	press "$1" hidden "$2"
}

@test "a held call is answered with the scope and lifetime that were chosen, and goes on" {
	monitor
	background held sbx run -- curl -sS "http://deep.svc.test:$port/held"
	sees "^> +[0-9]+ +default .*net:access +deep.svc.test:$port"
	sees 'asked by .*curl \(pid [0-9]+, session [0-9]+; name not verified\)'
	is_running held
	press_until a '^Allow prompt'
	sees '^> for +< 1h >'
	keys Right
	sees '< 8h >'
	keys Right
	sees '< until session [0-9]+ ends >'
	keys Down
	sees '^> covers +< just this >'
	keys Right
	sees '^> covers +< any port of this host >'
	press_until_gone y '^Allow prompt'
	finished held
	[ "$status" = 0 ]
	contains "$output" 'hello /held'
	sees '^Allowed \(grant [0-9]+\): '
	sbx history --json | jq -se 'map(select(.kind == "answer")) | last | .detail | .agent == "tui" and .lifetime == "session" and .scope == "host"'
	keys q
	ended_with 0
}

@test "a held cat goes on, for this once" {
	needs_doorbell
	monitor
	background held sbx run -- cat "$HOME/secret"
	sees '^> +[0-9]+ +default .*fs:read .*/secret'
	press_until a '^Allow prompt'
	keys Left Left Left Left
	sees '^> for +< this once >'
	press_until_gone y '^Allow prompt'
	finished held
	contains "$output" 'the secret'
	background held sbx run -- cat "$HOME/secret"
	sees '^> +[0-9]+ +default .*fs:read .*/secret' # that one asks again
	press_until d '^Deny prompt'
	press_until_gone y '^Deny prompt'
	finished held
	[ "$status" != 0 ]
	lacks "$output" 'the secret'
	contains "$output" 'Permission denied'
	none grants
}

@test "what a profile wants at its start is answered as one" {
	monitor
	background held sbx run --profile wanting -- cat "$HOME/one" "$HOME/two"
	sees '^>\* [0-9]+ .* 2 things '
	sees '^sbx: cat wants 2 things'
	press_until a '^Allow all 2'
	press_until_gone y '^Allow all 2'
	finished held
	contains "$output" 'the first'
	contains "$output" 'the second'
	[ "$(sbx grants --json | jq 'map(.lifetime == "until") | length')" = 2 ]
}

@test "attack_broker_10: what is typed before a question is there, and Enter, answer nothing in the monitor" {
	monitor
	# A line of text that happens to have the keys in it, typed when the question comes.
	background held sbx run -- curl -sS "http://svc.test:$port/held"
	until shows 'svc.test'; do keys a y Enter; done
	keys a y Enter a y Enter
	sleep 1
	sees 'Prompts 1'
	is_running held
	sbx deny "$(prompt_id)"
	finished held
	lacks "$output" hello
	keys Escape q
	ended_with 0
}

@test "what is to be confirmed in a terminal takes the whole word" {
	needs_doorbell
	monitor
	background held sbx run -- cat "$HOME/deep"
	sees '^> +[0-9]+ .*/deep'
	press_until a '^Type the word allow'
	keys Enter
	sees 'To allow it type the word'
	press_until a 'then Enter: a_'
	keys l l o w
	sees 'then Enter: allow_'
	keys Enter
	finished held
	contains "$output" 'the deep secret'
}

@test "a question that is answered elsewhere goes, with its form" {
	monitor
	background held sbx check db:access prod
	sees '^> +[0-9]+ .*db:access .*prod'
	press_until d '^Deny prompt'
	sbx deny "$(prompt_id)"
	sees 'is settled: denied, this once, with sbx deny'
	sees 'Prompts 0\]'
	finished held
}

@test "a grant is revoked by key, and its connection is cut" {
	sbx grant net:access "svc.test:$port"
	monitor
	background endless sbx run -- curl -sS -N "http://svc.test:$port/endless"
	wait_for 30 grep -q . "$HOME/run/endless.out"
	keys 3
	sees "^> +[0-9]+ +allow .*svc.test:$port .* in 59m +1\$"
	keys r
	sees '^Revoke grant [0-9]+\?'
	keys n
	sees '^> +[0-9]+ +allow'
	is_running endless
	keys r
	sees '^Revoke grant [0-9]+\?'
	press_until_gone y '^Revoke grant'
	sees '^Revoked [0-9]+\.'
	finished endless
	[ "$status" != 0 ]
	sees '^No grants in force'
}

@test "sandboxes and decisions are shown as they happen" {
	monitor
	background long sbx run -- sleep 1000 infinity
	keys 2
	sees '^> +[0-9]+ +default .*runs for [0-9]+s'
	sees 'Sandboxes 1\]'
	keys Enter
	sees '^ +command +sleep 1000 infinity'
	sees '^ +since '
	keys Escape
	sbx kill --all
	sees '^No sandbox is running'
	keys 4
	sees '^> +[0-9]+ .*session-end'
	sbx grant net:access fresh.test
	sees '^> +[0-9]+ .*grant +net:access fresh.test'
	finished long
}

@test "today's counts follow" {
	monitor
	counted=$(screen | sed -nE 's/^today: ([0-9]+) decisions?, .*/\1/p')
	sbx grant db:access counted
	sbx check db:access counted
	sees "^today: $((counted + 1)) decision"
}

# bats file_tags=part2

@test "any size: what is drawn fits" {
	local size
	monitor
	background held sbx check db:access "$(printf 'wide-日本語-%.0s' {1..30})"
	sees '^> +[0-9]+ .*日本'
	for size in 40x10 200x60 41x11 20x5 100x30; do
		tmux resize-window -x "${size%x*}" -y "${size#*x}"
		sees '^> +[0-9]+ '
		sees 'Prompts 1'
	done
	tmux resize-window -x 40 -y 10
	sees 'a allow +d deny'
	press_until a '^Allow prompt'
	sees 'Too little room to allow it'
	press_until y 'Too little room: make the window larger'
	tmux resize-window -x 100 -y 30
	sees '^> for +< 1h >'
	sees '^y: allow'
	press_until_gone y '^Allow prompt'
	finished held
	[ "$status" = 0 ]
}

@test "attack_broker_09: what a tool says can't draw on the monitor's screen" {
	monitor
	background held sbx run -- bash -c 'printf "\e]0;x\a\e[2Jnot sbx" >/proc/$$/comm; exec 3<>/dev/tcp/svc.test/'"$port"
	sees '\\x1b\]0;x'
	sees 'Prompts 1\]'
	sbx deny "$(prompt_id)"
	finished held
}

# bats test_tags=ci
@test "a stopped monitor hinders nobody, and is given up in the end" {
	monitor
	pid=$(monitor_pid)
	kill -STOP "$pid"
	answers quick 'allow:once=db:access=*'
	wait_for 30 agents_are 2
	run python3 "$TESTS/checks.py" "$(broker_socket)" 400
	contains "$output" 'allowed 400'
	wait_for 30 agents_are 1
	answers_end quick
	type_line 'clear; fg; echo "status $?"'
	sees '^today: 4[0-9]{2} decisions'
	wait_for 30 agents_are 1
	background held sbx check db:access after
	sees '^> +[0-9]+ .*db:access .*after'
	press_until d '^Deny prompt'
	press_until_gone y '^Deny prompt'
	finished held
}

@test "a broker that goes is told of, not started, and found again" {
	monitor
	broker_stop
	sees "^sbxd isn't there: waiting for it"
	sleep 2.2 # two looks for it
	[ ! "$(broker_pid)" ]
	shows "^sbxd isn't there"
	sbx grant net:access again.test
	sees '^today: '
	keys 3
	sees 'again.test'
	wait_for 30 agents_are 1
}

@test "a broker that hangs doesn't hang the monitor" {
	monitor
	pid=$(broker_pid)
	kill -STOP "$pid"
	keys 4
	sees '4 History\]'
	keys '?'
	sees 'End the monitor'
	keys q q
	ended_with 0
	kill -CONT "$pid"
}

@test "suspended it isn't asked; continued it is" {
	monitor
	wait_for 30 agents_are 1
	keys C-z
	sees 'Stopped'
	wait_for 30 agents_are 0
	run sbx check db:access nobody
	[ "$status" = 1 ]
	type_line 'clear; fg; echo "status $?"'
	sees 'Prompts 0\]'
	wait_for 30 agents_are 1
	keys q
	ended_with 0
}

paints() { # does the sandbox in the background write to the screen?
	local at
	at=$(tail -n 1 "$HOME/project/painted")
	wait_for 30 painted_after "$at"
	shows 'painted over'
}

painted_after() {
	[[ $(tail -n 1 "$HOME/project/painted") != "$1" ]]
}

@test "attack_r_19 what a sandbox in the background of its terminal writes is not seen over the questions" {
	type_line 'sbx run -- sh -c "while sleep 0.05; do date +%N >>painted; printf \"\\033[3;1Hpainted over\"; done" &'
	sees 'painted over'
	type_line 'clear; sbx monitor'
	sees 'Prompts 0\]'
	wait_for 30 hidden 'painted over'
	run -1 paints
	keys q
	sees 'painted over'
	type_line 'kill %1; wait; clear'
	sees '^ready\$$'
}

in_another_window() { # in_another_window LINE: on a terminal of its own
	tmux new-window -d -n other "env PS1='ready$ ' bash --norc --noprofile"
	type_in_other "$1"
}

@test "sandboxes in the background of another terminal go on and end while it is open" {
	rm -f "$HOME"/project/{quiet,said,ended}
	monitor
	in_another_window '{ sbx run true >quiet; sbx run -- echo words | cat >said; sbx run -- echo shown; echo over >ended; } &'
	wait_for 30 test -s "$HOME/project/ended"
	[ "$(<"$HOME/project/said")" = words ]
	shows 'Prompts 0\]'
	tmux kill-window -t other
}

written_to_other() {
	tmux capture-pane -p -S - -t other | grep -q "$1"
}

# bats test_tags=ci
@test "attack_r_19 what a sandbox in the background of another terminal writes waits while a form to allow stands, and no longer" {
	rm -f "$HOME"/project/{beats,silent,blocked}
	# shellcheck disable=SC2016 # expanded in the sandbox
	in_another_window 'sbx run -- sh -c "n=0; while sleep 0.05; do n=\$((n + 1)); echo \$n >>beats; echo beat \$n; done" &'
	wait_for 30 written_to_other '^beat '
	monitor
	background held sbx check db:access prod
	sees '^> +[0-9]+ .*db:access .*prod'
	wait_for 30 goes_on_in_other
	press_until a '^Allow prompt'
	wait_for 30 stands_in_other
	type_in_other '{ sbx run true >silent; echo over >>silent; sbx run --deny net:access=no.test -- curl -s http://no.test/; echo over >blocked; } &'
	wait_for 30 test -s "$HOME/project/silent" # who has nothing to say ends
	sleep 2                                    # for what is not to come
	[ ! -e "$HOME/project/blocked" ]
	run -1 written_to_other 'blocked net:access'
	keys Escape
	wait_for 30 test -e "$HOME/project/blocked"
	wait_for 30 written_to_other 'blocked net:access no\.test'
	wait_for 30 goes_on_in_other
	press_until d '^Deny prompt'
	wait_for 30 goes_on_in_other
	keys Escape
	sees 'Prompts 1\]'
	press_until a '^Allow prompt'
	wait_for 30 stands_in_other
	press_until_gone y '^Allow prompt'
	finished held
	[ "$status" = 0 ]
	wait_for 30 goes_on_in_other
	sbx kill --all
	tmux kill-window -t other
}

type_in_other() { # type_in_other LINE
	tmux send-keys -t other -l -- "$1"
	tmux send-keys -t other Enter
}

last_in_other() {
	tmux capture-pane -p -t other | sed -nE 's/^beat ([0-9]+)$/\1/p' | tail -n 1
}

goes_on_in_other() {
	local before
	before=$(last_in_other)
	sleep 0.5
	[[ $(last_in_other) != "$before" ]]
}

stands_in_other() { # while its tool goes on
	local before beats
	before=$(last_in_other)
	beats=$(wc -l <"$HOME/project/beats")
	sleep 0.5
	[[ $(last_in_other) = "$before" ]] && (($(wc -l <"$HOME/project/beats") > beats))
}

@test "signals end it, and the terminal is as before" {
	monitor
	kill -TERM "$(monitor_pid)"
	ended_with 143
	type_line clear
	monitor
	kill -HUP "$(monitor_pid)"
	ended_with 129
	type_line clear
	monitor
	keys C-c
	ended_with 0
}

@test "a terminal that goes ends it" {
	monitor
	pid=$(monitor_pid)
	tmux kill-server
	wait_for 30 gone "$pid"
}

@test "asleep while nothing happens" {
	monitor
	pid=$(monitor_pid)
	keys 4
	sees '4 History\]'
	sleep 1.2 # what this brought about is over, unless the machine is busy
	wait_for 60 is_asleep "$pid"
}

is_asleep() {
	local before
	before=$(wakeups "$1")
	sleep 2
	(($(wakeups "$1") - before <= 2))
}

wakeups() {
	awk '/^voluntary_ctxt_switches/ {print $2}' "/proc/$1/status"
}

@test "without colour it says the same" {
	monitor NO_COLOR=1
	background held sbx check db:access plain
	sees '^> +[0-9]+ .*db:access .*plain'
	tmux capture-pane -p -e >"$HOME/run/colours"
	run grep -cE $'\e\\[[0-9;]*(3[0-7]|38;)' "$HOME/run/colours"
	[ "$output" = 0 ]
	sbx deny "$(prompt_id)"
	finished held
}

@test "without a terminal it says what there is instead" {
	run bash -c 'sbx monitor </dev/null | cat'
	contains "$output" 'sbx prompts --follow'
	run bash -c 'TERM=nonsense script -qec "sbx monitor" /dev/null'
	contains "$output" "terminals of type 'nonsense'"
}
