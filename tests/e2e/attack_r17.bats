#!/usr/bin/env bats
# The terminal is closed: its window, its ssh connection, tmux as a whole. What runs in a sandbox there gets SIGHUP and ends, at a
# question, too; what was detached on purpose goes on.
# shellcheck disable=SC2016 # expanded inside the sandbox

load helper
load tmux
load native

setup_file() {
	home_make
	tmux_home
	ssh_server >/dev/null
	port=$(inetd sshd_own env LD_PRELOAD="${SBX_PROBE%/*}/libown_terminal.so" \
		"$(PATH=$PATH:/usr/sbin:/sbin command -v sshd)" -i -f "$HOME/run/sshd/config" -E "$HOME/run/sshd/log")
	export port
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    hosts: {svc.test: 127.0.0.1}
  starts:
    extends: [default]
    ask:
      env:read: [WANTED]
END
	# It lives through SIGHUP, notes it, and never ends by itself. $2: unique, found by no_process.
	cat >"$HOME/project/tool" <<-'END'
		exec 2>/dev/null
		trap '' TERM
		trap 'echo hup >>"run.$1"' HUP
		[ "$1" != question ] || curl -s http://svc.test:1/ &
		echo $$ >"ready.$1"
		while :; do sleep 1000 & wait; done
	END
	sbx grants
}

setup() {
	cd "$HOME/project" || return
	rm -f ready.* run.*
	mark=mark$$$RANDOM
	last=$(sbx history --json | jq -s 'map(.seq) | max // 0')
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	tmux_end
}

# window NAME LINE: a shell in a window of its own, with LINE typed.
window() {
	tmux -f /dev/null new-session -d -s "$1" -x 100 -y 30 "env WANTED=1 PS1='ready$ ' bash --norc --noprofile"
	tmux send-keys -t "$1" -l -- "$2"
	tmux send-keys -t "$1" Enter
}

windows() { # the table
	window foreground "sbx run -- sh tool foreground $mark"
	window question "sbx run -- sh tool question $mark"
	window background "sbx run -- sh tool background $mark &"
	window disowned "sbx run -- sh tool disowned $mark & disown"
	window pipe "sbx run -- sh tool pipe $mark </dev/null 2>&1 | cat >/dev/null"
	window stopped "sbx run -- sh tool stopped $mark"
	window script "sh -c 'sbx run -- sh tool script $mark; true'"
	window start "sbx run --profile starts -- sh tool start $mark"
	window nohup "nohup sbx run -- sh tool nohup kept$mark &"
	window setsid "setsid sbx run -- sh tool setsid kept$mark &"
	local name
	for name in foreground background disowned pipe stopped script nohup setsid question; do
		wait_for 60 test -s "ready.$name"
	done
	wait_for 30 asks question 'svc.test'
	wait_for 30 asks start 'WANTED'
	tmux send-keys -t stopped C-z
	wait_for 30 window_shows stopped Stopped
}

window_shows() {
	tmux capture-pane -p -t "$1" | grep -qE -- "$2"
}

asks() { # asks NAME WHAT
	window_shows "$1" "$2" && window_shows "$1" 'deny, allow .. or always ..\?$'
}

rows() { # rows JQ: of this test's
	sbx history --json | jq -se "map(select(.seq > $last)) | $1" >/dev/null || {
		sbx history --json | jq -c "select(.seq > $last)"
		return 1
	}
}

ended() {
	no_process " $mark" && no_process "starts -- sh tool start $mark" && [[ $(sbx sessions --json | jq length) == "$1" ]]
}

# all_as_it_was: they have ended, after SIGHUP, and the history says why. What is detached runs.
all_as_it_was() {
	local name
	wait_for 20 ended 2
	for name in foreground question background disowned pipe stopped script; do
		[[ $(head -n 1 "run.$name") == hup ]]
	done
	[ ! -e ready.start ]
	rows 'map(select(.kind == "session-end")) | length == 8 and all(.detail == {exit: 129, hangup: true})'
	rows 'map(select(.kind == "answer" or .kind == "decision")) == []'
	rows 'map(select(.kind == "prompt" and .detail.state == "cancelled")) | length == 2'
	contains "$(sbx history)" 'exit 129 (hung up)'
	for name in nohup setsid; do
		[ -d "/proc/$(pgrep -u "$(id -u)" -of "^[^ ]*sh tool $name kept$mark")" ]
		[ ! -e "run.$name" ]
	done
}

@test "attack_r_17: tmux ends the terminals: no sandbox outlives them, at a question or not, but what was detached" {
	windows
	tmux kill-server
	all_as_it_was
}

@test "attack_r_17: the same when tmux is killed" {
	windows
	kill -9 "$(tmux display -p '#{pid}')"
	all_as_it_was
}

@test "attack_r_17: the same when the shells in it are killed" {
	windows
	local pids
	mapfile -t pids < <(tmux list-panes -aF '#{pane_pid}')
	kill -9 "${pids[@]}"
	all_as_it_was
}

# over_ssh NAME [PROFILE]: the tool as the connection's own command, with a terminal.
over_ssh() {
	local command="cd $HOME/project && exec env HOME=$HOME PATH=$PATH WANTED=1 SBX_NO_NOTIFY=1 sbx run --profile ${2:-default}"
	ssh -tt -F none -i key -p "$port" -o StrictHostKeyChecking=no -o "UserKnownHostsFile=$HOME/run/known" -o LogLevel=ERROR \
		127.0.0.1 "$command -- sh tool $1 $mark" >"$HOME/run/$1.screen" 2>&1 <>"$HOME/run/typed" 3>&- &
	echo $! >"$HOME/run/$1.pid"
}

asks_over_ssh() { # asks_over_ssh NAME
	grep -qE 'deny, allow .. or always ..\?' "$HOME/run/$1.screen"
}

@test "attack_r_17: the same when an ssh connection breaks off" {
	local name
	mkfifo "$HOME/run/typed" # nobody writes, and it doesn't end
	over_ssh foreground
	over_ssh question
	over_ssh start starts
	wait_for 30 test -s ready.foreground || { cat "$HOME"/run/*.screen && false; }
	wait_for 60 asks_over_ssh question
	wait_for 60 asks_over_ssh start
	for name in foreground question start; do
		kill -9 "$(<"$HOME/run/$name.pid")"
	done
	wait_for 20 ended 0
	for name in foreground question; do
		[[ $(head -n 1 "run.$name") == hup ]]
	done
	[ ! -e ready.start ]
	rows 'map(select(.kind == "session-end")) | length == 3 and all(.detail == {exit: 129, hangup: true})'
	rows 'map(select(.kind == "answer" or .kind == "decision")) == []'
}
