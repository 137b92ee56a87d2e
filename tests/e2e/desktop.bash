# shellcheck shell=bash
# A desktop for tests: a display (Xvfb), a session bus of its own that starts nothing by itself, notification servers, real
# ones and the scripted one (notifier.c).

desktop_up() {
	[[ -x ${SBX_NOTIFIER:-} ]] || skip "optional: built without libnotify, so without sbx-notify, or without systemd's library, which the scripted server needs"
	bus=/tmp/dbus-${HOME##*/} # where such buses are; the first part is what base's rule goes by
	export bus
	export SBX_NO_NOTIFY='' NO_AT_BRIDGE=1 GTK_THEME=Adwaita XDG_CURRENT_DESKTOP=''
	Xvfb -displayfd 7 -screen 0 1000x700x24 -nolisten tcp 7>"$HOME/run/display" >"$HOME/run/xvfb.log" 2>&1 3>&- &
	echo $! >"$HOME/run/xvfb.pid"
	bus_up
	wait_for 60 test -s "$HOME/run/display" || { cat "$HOME/run/xvfb.log" >&2 && return 1; }
	DISPLAY=:$(<"$HOME/run/display")
	DBUS_SESSION_BUS_ADDRESS=unix:path=$bus
	export DISPLAY DBUS_SESSION_BUS_ADDRESS
}

# At the same place each time.
bus_up() {
	rm -f "$bus"
	cat >"$HOME/run/bus.conf" <<-END
		<busconfig><type>session</type><listen>unix:path=$bus</listen><auth>EXTERNAL</auth>
		<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
		</busconfig>
	END
	dbus-daemon --config-file="$HOME/run/bus.conf" --nofork --nopidfile >"$HOME/run/bus.log" 2>&1 3>&- &
	echo $! >"$HOME/run/bus.pid"
	wait_for 60 listens "$bus"
}

bus_down() {
	end "$(<"$HOME/run/bus.pid")"
}

end() { # end PID [SIGNAL]
	kill "-${2:-TERM}" "$1" 2>/dev/null || return 0
	wait_for 60 gone "$1"
}

has_server() {
	sbx-notify --check --json | jq -e '.server != null' >/dev/null
}

# A real one: real COMMAND…
real() {
	command -v "$1" >/dev/null || skip "SKIPPED LOUDLY: there is no ${1##*/} on this machine"
	"$@" >"$HOME/run/real.log" 2>&1 3>&- &
	echo $! >"$HOME/run/server.pid"
	[[ $1 != */notification-daemon ]] || first_moment=1.8
	wait_for 60 has_server || { cat "$HOME/run/real.log" >&2 && return 1; }
}

# The scripted one: scripted [OPTION…]; what it is asked for is in $HOME/run/scripted.log, and `tell scripted COMMAND` makes it
# do something. pretender: another client that only pretends.
scripted() {
	fake scripted "$@"
	cp "$HOME/run/scripted.pid" "$HOME/run/server.pid"
}

pretender() {
	fake pretender --pretend
}

fake() {
	local name=$1
	shift
	rm -f "$HOME/run/$name.in" "$HOME/run/$name.log"
	mkfifo "$HOME/run/$name.in"
	"$SBX_NOTIFIER" "$@" <>"$HOME/run/$name.in" >"$HOME/run/$name.log" 2>&1 3>&- &
	echo $! >"$HOME/run/$name.pid"
	wait_for 60 grep -q ready "$HOME/run/$name.log"
}

done_more_than() {
	(($(grep -c '"done"' "$HOME/run/$1.log") > $2))
}

tell() {
	local name=$1 before
	shift
	before=$(grep -c '"done"' "$HOME/run/$name.log") || true
	echo "$*" >"$HOME/run/$name.in"
	wait_for 60 done_more_than "$name" "$before"
}

server_down() {
	[[ ! -e $HOME/run/server.pid ]] || end "$(<"$HOME/run/server.pid")" "$@"
	rm -f "$HOME/run/server.pid" "$HOME/run/scripted.pid"
}

# The Nth notification that the scripted server was asked for, as JSON, without the invisible signs of links; waits for it.
notified() {
	wait_for 30 has_notified "$1" || { echo "no notification $1" >&2 && cat "$HOME/run/scripted.log" >&2 && return 1; }
	notifications | sed -n "$1p"
}

notifications() {
	jq -c 'select(.event == "notify") | .body |= gsub("\u2060"; "")' "$HOME/run/scripted.log"
}

# These are looked at again and again: without a program that reads JSON, in the form that notifier.c writes.
has_notified() {
	(($(grep -c '^{"event":"notify",' "$HOME/run/scripted.log") >= $1))
}

was_closed() { # was_closed ID
	grep -qxF "{\"event\":\"close\",\"id\":$1}" "$HOME/run/scripted.log"
}

# key VERB: of the notification on stdin.
key() {
	jq -er --arg verb "$1" '.actions[] | select(startswith($verb + "-"))'
}

# Clicks in the first 400 ms don't count (1500 where the server shows one at a time), and the agent counts from when it heard that a
# notification is shown.
until_clicks_count() {
	wait_for 60 agent_has_heard
	sleep "${first_moment:-0.6}"
}

# All that the server said before: the bus keeps its order.
agent_has_heard() {
	local agent
	agent=$(on_bus)
	[[ $agent ]] && busctl --user call "$agent" / org.freedesktop.DBus.Peer Ping >/dev/null 2>&1
}

# The unique name of the program that shows what the agent of this test's home says.
on_bus() {
	busctl --user list 2>/dev/null | awk -v pid="$(pid_of sbx-notify-show)" '$2 == pid && $1 ~ /^:/ { print $1; exit }'
}

# press N VERB: the button of the Nth notification, when clicks count.
press() {
	local notice
	notice=$(notified "$1")
	until_clicks_count
	tell scripted action "$(jq .id <<<"$notice")" "$(key "$2" <<<"$notice")"
}

# The agent of this test's home.
agent_pid() {
	pid_of sbx-notify
}

pid_of() {
	local pid
	for pid in $(pgrep -u "$(id -u)" -x "$1"); do
		! grep -qzxF "HOME=$HOME" "/proc/$pid/environ" 2>/dev/null || echo "$pid"
	done
}

has_agent() {
	[[ $(agent_pid) ]]
}

has_no_agent() {
	[[ ! $(agent_pid) ]]
}

is_registered() {
	[[ $(broker '{"type":"status","id":2}' | jq .agents) == "$1" ]]
}

agent_down() {
	local pid
	for pid in $(agent_pid); do end "$pid" "${1:-TERM}"; done
}

# The notification on the screen: "X Y WIDTH HEIGHT" of its window. (xdotool search may hang when windows vanish.)
popup() {
	local window
	for window in $(xwininfo -root -children | awk '/^ +0x/ { print $1 }'); do
		xwininfo -id "$window" 2>/dev/null | awk '
			/Absolute upper-left X/ { x = $4 } /Absolute upper-left Y/ { y = $4 } /Width:/ { w = $2 } /Height:/ { h = $2 }
			/IsViewable/ { visible = 1 } END { if (visible && w >= 100 && h >= 50) print x, y, w, h }'
	done | tail -n 1
}

is_shown() {
	[[ $(popup) ]]
}

is_not_shown() {
	[[ ! $(popup) ]]
}

# click N COUNT: the Nth of so many buttons, by what is on the screen (buttons.py); waits until they are there and clicks count.
click() {
	local place
	wait_for 30 has_buttons "$2" || { echo "not $2 buttons on the screen" >&2 && return 1; }
	until_clicks_count
	place=$(buttons | sed -n "$1p")
	# shellcheck disable=SC2086 # x and y
	xdotool mousemove $place click 1
}

# The middle of each button, from left to right: "X Y".
buttons() {
	local x y width height
	read -r x y width height <<<"$(popup)"
	[[ $x ]] || return 0
	import -window root -crop "${width}x$height+$x+$y" +repage -colorspace gray -depth 8 pgm:- |
		python3 "$TESTS/buttons.py" "$x" "$y"
}

# click_popup BUTTON DOWN: in its middle, so many pixels from its upper edge.
click_popup() {
	local x y width height
	until_clicks_count
	read -r x y width height <<<"$(popup)"
	xdotool mousemove $((x + width / 2)) $((y + $2)) click "$1"
}

has_buttons() {
	[[ $(buttons | wc -l) == "$1" ]]
}

desk_policy() { # desk_policy [TIMEOUT [WITHOUT-AGENT [LINES]]]
	policy <<END
version: 1
prompt: {timeout: ${1:-60s}, without-agent: ${2:-wait}}
${3:-}
profiles:
  default:
    ask:
      fs:read: ["~/notes/*", {target: "~/secret/*", confirm: terminal}] # no literal paths: they are asked about at the start
      env:read: ["VARIABLE_*"]
END
}

reads() { # reads NAME FILE…: in a sandbox, in the background
	local name=$1
	shift
	background "$name" sbx run -- cat "$@" </dev/null
}

lifetime() {
	sbx grants --json | jq -r '.[0].lifetime'
}

# Before the first question is asked.
agent_up() { # agent_up [OPTION…]
	sbx-notify "$@" >"$HOME/run/notify.log" 2>&1 3>&- &
	sbx grants >/dev/null # starts the broker
	wait_for 30 is_registered 1
}

# picture NAME: of the screen, for who wants to look: in $SBX_PICTURES, if that is set.
picture() {
	[[ ! ${SBX_PICTURES:-} ]] || import -window root "$SBX_PICTURES/$1.png"
}

has_gnome() {
	command -v gnome-shell >/dev/null && command -v gjs >/dev/null
}

# GNOME Shell without a screen, drawn by software, and the program that is its notification server. It finds none of the system's
# services, and no settings but these.
gnome_up() {
	local service=/usr/share/dbus-1/services/org.gnome.Shell.Notifications.service
	export first_moment=1.8
	mkdir -p "$HOME/.config/glib-2.0/settings" "$HOME/.local/share/gnome-shell"
	mkdir -m 0700 "$HOME/run/gnome"
	touch "$HOME/.local/share/gnome-shell/lock-warning-shown" # no notification of its own
	cat >"$HOME/.config/glib-2.0/settings/keyfile" <<-END
		[org/gnome/shell]
		welcome-dialog-last-shown-version='1000'
		[org/gnome/desktop/interface]
		enable-animations=false
	END
	env -u DISPLAY XDG_RUNTIME_DIR="$HOME/run/gnome" DBUS_SYSTEM_BUS_ADDRESS="$DBUS_SESSION_BUS_ADDRESS" GSETTINGS_BACKEND=keyfile \
		LIBGL_ALWAYS_SOFTWARE=1 gnome-shell --headless --wayland --no-x11 --virtual-monitor 1000x700 --unsafe-mode \
		>"$HOME/run/gnome.log" 2>&1 3>&- &
	echo $! >"$HOME/run/gnome.pid"
	wait_for 60 gnome_has_started || { cat "$HOME/run/gnome.log" >&2 && return 1; }
	gnome_evaluate 'Main.overview.hide()'
	# shellcheck disable=SC2046 # a command's words
	real $(sed -n 's/^Exec=//p' "$service")
}

gnome_down() {
	server_down TERM
	end "$(<"$HOME/run/gnome.pid")"
}

gnome_has_started() {
	[[ $(gnome_evaluate '!Main.layoutManager._startingUp' 2>/dev/null) == true ]]
}

# gnome_evaluate CODE: in the shell; prints its value as JSON.
gnome_evaluate() {
	busctl --user --json=short call org.gnome.Shell /org/gnome/Shell org.gnome.Shell Eval s "$1" |
		jq -r '.data | if .[0] then .[1] else error(.[1]) end'
}

# gnome WHAT: of gnome.js.
gnome() {
	gnome_evaluate "$(<"$TESTS/gnome.js").$1"
}

# gnome_shows FILTER: jq's, over what the banner has on the screen.
gnome_shows() {
	gnome 'banner()' | jq -e "$1" >/dev/null
}

# gnome_sees FILTER: soon; or says what there is.
gnome_sees() {
	wait_for 30 gnome_shows "$1" || { gnome 'banner()' >&2 && return 1; }
}

# gnome_click LABEL: on the button whose label begins so, when clicks count.
gnome_click() {
	local place
	gnome_sees ".buttons | any(.label | startswith(\"$1\"))"
	until_clicks_count
	place=$(gnome 'banner()' | jq -r --arg begin "$1" '.buttons[] | select(.label | startswith($begin)) | "\(.x), \(.y)"')
	gnome "move($place)"
	gnome 'press(true)'
	gnome 'press(false)'
}

gnome_picture() {
	[[ ! ${SBX_PICTURES:-} ]] || busctl --user call org.gnome.Shell.Screenshot /org/gnome/Shell/Screenshot \
		org.gnome.Shell.Screenshot Screenshot bbs false false "$SBX_PICTURES/$1.png"
}
