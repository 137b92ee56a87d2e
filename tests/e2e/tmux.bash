# shellcheck shell=bash
# A real terminal for the tests: tmux types, and its screen is read. Loaded after helper.

# tmux_home: in setup_file, when the home is made.
tmux_home() {
	export TERM=screen TMUX_TMPDIR=$HOME/run
	unset TMUX
}

# tmux_begin [COLUMNS [ROWS]]: a shell whose prompt is "ready$ ". tmux_end ends it, in teardown.
tmux_begin() {
	cd "$HOME/project" || return
	tmux -f /dev/null new-session -d -x "${1:-100}" -y "${2:-30}" "env PS1='ready$ ' bash --norc --noprofile"
	wait_for 30 shows 'ready\$$'
}

# A server that is on its way out takes whom comes next along.
tmux_end() {
	local pid
	pid=$(tmux display-message -p '#{pid}' 2>/dev/null) || return 0
	tmux kill-server 2>/dev/null || true
	wait_for 30 gone "$pid"
}

screen() { # without empty lines at its end
	printf '%s\n' "$(tmux capture-pane -p)"
}

# shows REGEX: a line of the screen. It is looked at again and again, so no process but tmux has a part in it.
shows() {
	local line text
	text=$(tmux capture-pane -p)
	while IFS= read -r line; do
		[[ ! $line =~ $1 ]] || return 0
	done <<<"$text"
	return 1
}

type_line() {
	tmux send-keys -l -- "$1"
	tmux send-keys Enter
}

sees() { # sees REGEX: within 30 s; else the screen is shown
	wait_for 30 shows "$1" || {
		printf 'not on the screen: %s\n' "$1"
		screen
		return 1
	}
}

sees_question() {
	sees 'deny, allow [a-z2-9]{2} or always [a-z2-9]{2}\?$'
}

asks_below() { # asks_below REGEX: about one thing, below the first line that it fits
	screen | sed "1,/$1/d" | grep -qE '^deny, allow .. or always ..\?$'
}

code() { # that goes with allow: of the newest question on the screen
	screen | sed -nE 's/.*deny, allow (..)(,| or) always .. ?.*\?$/\1/p' | tail -n 1
}

asks_anew() { # asks_anew CODE: with another one; the first one goes from the screen before that comes
	local new
	new=$(code)
	[[ $new && $new != "$1" ]]
}

agents() { # how many can be asked
	broker '{"type":"status","id":2}' | jq .agents
}

agents_are() {
	[[ $(agents) == "$1" ]]
}

# here PGREP-ARG…: pids of those on the terminal that fit; other files' tests run at the same time, as the same user.
here() {
	pgrep -s "$(tmux display-message -p '#{pane_pid}')" "$@"
}
