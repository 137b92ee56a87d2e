#!/usr/bin/env bats
# Prompts on the desktop: the real notification servers under a display of their own, whose buttons are really clicked, and a
# scripted one for what no honest server does.
# shellcheck disable=SC2016 # expanded inside the sandbox
# shellcheck disable=SC2154 # $bus is desktop.bash's

load helper
load tmux
load desktop

setup_file() {
	home_make
	mkdir -p "$HOME/notes" "$HOME/secret"
	echo "buy milk" >"$HOME/notes/todo.txt"
	echo "call ada" >"$HOME/notes/calls.txt"
	echo "a key" >"$HOME/secret/key"
	desktop_up
	desk_policy
	tmux_home
}

teardown_file() {
	agent_down
	server_down KILL
	bus_down
	home_remove
}

setup() {
	cd "$HOME/project" || return
	none grants || sbx revoke --all
}

teardown() {
	tmux_end
	sbx kill --all >/dev/null 2>&1 || true
	agent_down
	server_down KILL
	local other
	for other in pretender first pushes many other; do
		[[ ! -e $HOME/run/$other.pid ]] || end "$(<"$HOME/run/$other.pid")" KILL
		rm -f "$HOME/run/$other.pid"
	done
}

deny_allow_always() { # deny_allow_always BUTTONS COMMAND…
	local buttons=$1
	real "${@:2}"
	agent_up
	reads denied "$HOME/notes/todo.txt"
	click 1 "$buttons"
	finished denied
	[ "$status" = 1 ]
	contains "$output" "todo.txt: Permission denied"
	wait_for 30 is_not_shown
	reads allowed "$HOME/notes/todo.txt"
	wait_for 30 has_buttons "$buttons"
	picture "${2##*/}"
	click 2 "$buttons"
	finished allowed
	[ "$status" = 0 ]
	[ "$output" = "buy milk" ]
	[ "$(lifetime)" = until ]
	wait_for 30 is_not_shown
	sbx revoke --all
	[ "$buttons" = 3 ] || return 0
	reads always "$HOME/notes/calls.txt"
	click 3 3
	finished always
	[ "$output" = "call ada" ]
	[ "$(lifetime)" = always ]
	[ "$(sbx history --json | jq -r 'select(.kind == "answer") | .detail.agent' | sort -u)" = desktop ]
}

@test "notification-daemon: a button is clicked, and the tool that waited goes on, or is denied" {
	deny_allow_always 2 /usr/lib/notification-daemon/notification-daemon
}

@test "xfce4-notifyd: a button is clicked, and the tool that waited goes on, or is denied" {
	deny_allow_always 3 "$(ls /usr/lib/*/xfce4/notifyd/xfce4-notifyd)"
}

@test "attack_broker_08_a_click_beside_the_buttons_dismisses_and_is_no_answer" {
	real "$(ls /usr/lib/*/xfce4/notifyd/xfce4-notifyd)"
	reads waiting "$HOME/notes/todo.txt"
	wait_for 30 has_buttons 3
	click_popup 1 30
	wait_for 30 is_not_shown
	is_running waiting
	none grants
	sbx deny "$(prompt_id)"
	finished waiting
	contains "$output" "Permission denied"
}

@test "attack_broker_08_dunst_has_no_buttons_so_no_click_allows_and_the_text_says_how" {
	printf '[global]\n    history_length = 20\n' >"$HOME/run/dunstrc"
	real dunst -config "$HOME/run/dunstrc"
	for button in 1 2 3; do
		reads "waiting$button" "$HOME/notes/todo.txt"
		id=$(prompt_id)
		wait_for 30 is_shown
		picture dunst
		click_popup "$button" 60
		wait_for $((button == 2 ? 10 : 60)) is_not_shown || [ "$button" = 2 ] # does the only action: there is none
		is_running "waiting$button"
		none grants
		dunstctl close-all
		dunstctl history | jq -e --arg text "sbx allow $id" '.data[0][] | select(.body.data | contains($text))' >/dev/null
		sbx deny "$id"
		finished "waiting$button"
		contains "$output" "Permission denied"
	done
	reads allowed "$HOME/notes/todo.txt"
	sbx allow "$(prompt_id)"
	finished allowed
	[ "$output" = "buy milk" ]
}

# bats file_tags=part2

@test "what is shown: all of it, and three buttons of which none is the default" {
	scripted
	reads waiting "$HOME/notes/todo.txt"
	notice=$(notified 1)
	id=$(prompt_id)
	jq -e --arg id "$id" '
		.application == "sbx" and .icon == "dialog-question" and .hints.urgency == 2 and .hints.category == "x-sbx.prompt"
		and .hints["desktop-entry"] == "sbx-notify" and .hints.transient == false and .expire > 1000 and .expire <= 60000 and .replaces == 0
		and .summary == "cat wants to read a file"
		and (.body | test("^<b>~/notes/todo.txt</b>\ncat ~/notes/todo.txt · ~/project · waits until [0-9:]{8}\n") and contains("\nAsked by: cat (pid ")
			and contains("\nProfile default, project ~/project\n") and contains("\nRule: ")
			and endswith("\nPrompt " + $id))
		and (.actions | length == 6 and .[1] == "Deny" and .[3] == "Allow reading 1 hour" and .[5] == "Always, in this project"
			and (map(select(. == "default")) | length == 0))' <<<"$notice"
	press 1 deny
	finished waiting
	contains "$output" "Permission denied"
}

@test "a server that keeps what it was told to take down is not relied on for the next one" {
	scripted --keep
	terminal_agent
	reads first "$HOME/notes/todo.txt"
	notified 1 >/dev/null
	wait_for 30 last_push_shows true
	sbx allow "$(prompt_id)"
	finished first
	wait_for 30 was_closed 1
	reads second "$HOME/notes/calls.txt"
	wait_for 30 last_push_shows false
	sbx deny "$(prompt_id)"
	finished second
	terminal_agent_down
}

@test "notification-daemon: what is answered elsewhere goes off the screen, and the next one is seen" {
	real /usr/lib/notification-daemon/notification-daemon
	reads first "$HOME/notes/todo.txt"
	wait_for 30 has_buttons 2
	sbx allow "$(prompt_id)"
	finished first
	wait_for 10 is_not_shown # its time would be up after a minute
	reads second "$HOME/notes/calls.txt"
	click 2 2
	finished second
	[ "$output" = "call ada" ]
}

@test "a notification has our own icon where it is installed" {
	scripted
	install -D -m 644 "$TESTS/../../packaging/desktop/sbx.svg" "$HOME/.local/share/icons/hicolor/scalable/apps/sbx.svg"
	reads waiting "$HOME/notes/todo.txt"
	notified 1 | jq -e '.icon == "sbx"'
	rm -r "$HOME/.local/share/icons"
	press 1 deny
	finished waiting
}

@test "what a file is called is text, not markup" {
	scripted
	hostile=$HOME/notes/'<b>x&y<img src=q>'$'\n''Profile root'
	echo hostile >"$hostile"
	reads waiting "$hostile"
	notice=$(notified 1)
	jq .body <<<"$notice"
	jq -e '.body | startswith("<b>~/notes/&lt;b&gt;x&amp;y&lt;img src=q&gt;\\nProfile root</b>\n")' <<<"$notice"
	press 1 allow
	finished waiting
	[ "$output" = hostile ]
	rm "$hostile"
}

@test "answered elsewhere: it is taken down" {
	scripted
	reads waiting "$HOME/notes/todo.txt"
	notice=$(notified 1)
	sbx allow "$(prompt_id)"
	finished waiting
	[ "$output" = "buy milk" ]
	wait_for 30 was_closed "$(jq .id <<<"$notice")"
}

@test "what needs a terminal has no button, and says so" {
	scripted
	reads waiting "$HOME/secret/key"
	id=$(prompt_id)
	notified 1 | jq -e --arg id "$id" '.actions == [] and .hints.urgency == 2 and .icon == "dialog-warning"
		and (.body | startswith("Answer in a terminal: sbx allow " + $id + " or sbx deny " + $id + "\n<b>~/secret/key</b>\n"))'
	sbx allow "$id"
	finished waiting
	[ "$output" = "a key" ]
}

@test "what a session wants at its start is one notification, and one click allows all of it" {
	cp "$HOME/.config/sbx/policy.yaml" "$HOME/run/policy.before"
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    ask:
      fs:read: [~/notes/todo.txt, ~/notes/calls.txt]
      env:read: [WANTED]
END
	scripted
	agent_up
	WANTED=this background both sbx run -- sh -c 'cat "$HOME/notes/todo.txt" "$HOME/notes/calls.txt"; echo "$WANTED"' </dev/null
	notified 1 | jq -e '.summary == "sh wants 3 things" and .actions[1] == "Deny all" and .actions[3] == "Allow all 1 hour"
		and (.actions | length == 4) and (.body | contains("• read ~/notes/todo.txt\n") and contains("• read variable WANTED\n"))'
	press 1 allow
	finished both
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" $'buy milk\ncall ada\nthis'
	[ "$(notifications | wc -l)" = 1 ]
	[ "$(sbx grants --json | jq length)" = 3 ]
	policy <"$HOME/run/policy.before"
}

@test "attack_broker_08_another_client_presses_no_button" {
	scripted
	pretender
	reads waiting "$HOME/notes/todo.txt"
	notice=$(notified 1)
	id=$(jq .id <<<"$notice")
	allow=$(key allow <<<"$notice")
	agent=$(on_bus)
	[ "$agent" ]
	until_clicks_count
	tell pretender action "$id" "$allow"
	tell pretender action "$id" "$allow" "$agent" # to it alone
	tell pretender closed "$id" 2
	tell pretender closed "$id" 2 "$agent"
	# And the server itself, with what isn't a key of this showing.
	for key in default allow 0 "" "${allow}x" "${allow%?}" "allow-$(printf '0%.0s' {1..32})"; do tell scripted action "$id" "$key"; done
	tell scripted action "$((id + 1))" "$allow"
	tell scripted action 0 "$allow"
	tell scripted action 4294967295 "$allow"
	tell pretender hijack "$id" # its words in our place: the key it has is none
	tell scripted action "$id" allow
	is_running waiting
	none grants
	[ "$(sbx prompts --json | jq length)" = 1 ]
	tell scripted action "$id" "$allow"
	finished waiting
	[ "$output" = "buy milk" ]
	tell scripted action "$id" "$allow" # once more
	[ "$(sbx grants --json | jq length)" = 1 ]
}

@test "attack_broker_08_a_server_that_starts_again_reuses_ids_and_its_old_keys_are_void" {
	scripted --first-id 5
	reads waiting "$HOME/notes/todo.txt"
	old=$(notified 1)
	server_down
	scripted --first-id 5
	new=$(notified 1)
	[ "$(jq .id <<<"$new")" = "$(jq .id <<<"$old")" ]
	[ "$(jq .replaces <<<"$new")" = 0 ]
	until_clicks_count
	tell scripted action 5 "$(key allow <<<"$old")"
	tell scripted action 5 "$(key always <<<"$old")"
	is_running waiting
	none grants
	press 1 allow
	finished waiting
	[ "$output" = "buy milk" ]
}

@test "attack_broker_10_a_click_as_it_comes_up_does_not_count" {
	scripted --eager
	reads waiting "$HOME/notes/todo.txt"
	old=$(notified 1)
	new=$(notified 2)
	[ "$(jq -c .body <<<"$new")" = "$(jq -c .body <<<"$old")" ]
	[ "$(jq -c .actions <<<"$new")" != "$(jq -c .actions <<<"$old")" ]
	none grants
	is_running waiting
	press 2 deny
	finished waiting
	contains "$output" "Permission denied"
}

many_are_asked() {
	python3 "$TESTS/many.py" "$(broker_socket)" 1001 >"$HOME/run/many.out" 2>&1 3>&- &
	echo $! >"$HOME/run/many.pid"
	wait_for 60 test -s "$HOME/run/many.out"
}

asks_whether_it_may_go_on() {
	notifications | jq -se 'map(select(.actions | index("Let it ask on"))) | length == 1' >/dev/null
}

# bats file_tags=part3

@test "attack_broker_12_1001_questions_are_few_notifications_and_one_summary" {
	desk_policy 60s wait
	scripted
	agent_up
	many_are_asked
	cat "$HOME/run/many.out"
	[ "$(<"$HOME/run/many.out")" = "denied 1001, allowed 0" ]
	wait_for 30 asks_whether_it_may_go_on
	(($(notifications | wc -l) <= 12))
	end "$(<"$HOME/run/many.pid")"
	rm "$HOME/run/many.pid"
	desk_policy
}

# last_push_shows true|false: whether the desktop shows it, as the agent in the terminal was told last. The first time may be before
# there is a desktop's agent.
last_push_shows() {
	[[ $(grep -F '"type": "prompt"' "$HOME/run/pushes.log" | tail -n 1) == *"\"desktop\": $1"* ]] # as pushes.py writes it
}

terminal_agent() {
	rm -f "$HOME/run/pushes.ready" "$HOME/run/pushes.log"
	sbx grants >/dev/null
	python3 "$TESTS/pushes.py" "$(broker_socket)" --ready "$HOME/run/pushes.ready" --log "$HOME/run/pushes.log" 3>&- &
	echo $! >"$HOME/run/pushes.pid"
	wait_for 30 test -s "$HOME/run/pushes.ready"
}

terminal_agent_down() {
	end "$(<"$HOME/run/pushes.pid")"
	rm "$HOME/run/pushes.pid"
}

@test "attack_broker_13_a_server_that_hangs_costs_its_prompt_the_deadline_and_nobody_else_anything" {
	desk_policy 20s deny
	scripted
	terminal_agent
	reads waiting "$HOME/notes/todo.txt"
	wait_for 30 last_push_shows true
	notified 1 >/dev/null
	kill -STOP "$(<"$HOME/run/scripted.pid")"
	# Others go on.
	sbx grant fs:read "$HOME/notes/calls.txt" --profile default
	run -0 timeout 60 sbx run -- cat "$HOME/notes/calls.txt" </dev/null
	[ "$output" = "call ada" ]
	# It is noticed, and from then on the terminal asks.
	wait_for 30 last_push_shows false
	finished waiting
	contains "$output" "Permission denied"
	kill -CONT "$(<"$HOME/run/scripted.pid")"
	wait_for 30 was_closed 1
	terminal_agent_down
	desk_policy
}

# What was asked of the first one is never answered.
@test "one that hangs and was replaced doesn't hide that the next one hangs" {
	scripted
	terminal_agent
	reads waiting "$HOME/notes/todo.txt"
	wait_for 30 last_push_shows true
	notified 1 >/dev/null
	kill -STOP "$(<"$HOME/run/scripted.pid")"
	wait_for 30 last_push_shows false
	mv "$HOME/run/scripted.pid" "$HOME/run/first.pid"
	scripted --replace --first-id 100
	notified 1 >/dev/null
	wait_for 30 last_push_shows true
	kill -STOP "$(<"$HOME/run/scripted.pid")"
	wait_for 30 last_push_shows false
	terminal_agent_down
}

@test "attack_broker_13_a_server_that_hangs_from_the_start_takes_no_prompt" {
	desk_policy 60s deny
	scripted
	kill -STOP "$(<"$HOME/run/scripted.pid")"
	reads denied "$HOME/notes/todo.txt"
	finished denied
	contains "$output" "Permission denied"
	kill -CONT "$(<"$HOME/run/scripted.pid")"
	desk_policy
}

@test "attack_broker_13_the_agent_is_killed_and_the_terminal_asks" {
	scripted
	terminal_agent
	reads waiting "$HOME/notes/todo.txt"
	wait_for 30 last_push_shows true
	notified 1 >/dev/null
	agent_down KILL
	wait_for 30 last_push_shows false
	is_running waiting
	# The next run starts another one, which shows what waits.
	run -0 sbx run -- true </dev/null
	notified 2 | jq -e '.body | contains("todo.txt")'
	wait_for 30 last_push_shows true
	press 2 allow
	finished waiting
	[ "$output" = "buy milk" ]
	terminal_agent_down
}

@test "a broker that starts again is found again" {
	scripted
	background waiting sbx run -- sh -c 'until [ -e go ]; do sleep 0.1; done; cat "$HOME/notes/todo.txt"' </dev/null
	wait_for 30 has_agent
	wait_for 30 is_registered 1
	kill -KILL "$(broker_pid)"
	wait_for 30 is_registered 1
	touch go
	press 1 allow
	finished waiting
	[ "$output" = "buy milk" ]
	rm go
}

@test "the bus and its server start again, and what waits is shown again" {
	scripted
	reads waiting "$HOME/notes/todo.txt"
	notified 1 >/dev/null
	bus_down
	server_down
	bus_up
	scripted
	press 1 allow
	finished waiting
	[ "$output" = "buy milk" ]
}

@test "a terminal isn't interrupted while the desktop asks, and asks when the notification is dismissed" {
	scripted
	agent_up
	tmux_begin
	type_line 'sbx run -- cat "$HOME/notes/todo.txt"'
	notice=$(notified 1)
	lacks "$(screen)" 'wants to read'
	tell scripted closed "$(jq .id <<<"$notice")" 2
	sees_question
	type_line "allow $(code)"
	sees '^buy milk'
	local begun=$SECONDS # on a machine that is so slow that five seconds are over, the terminal asks as well
	type_line 'clear; sbx run -- cat "$HOME/notes/calls.txt"'
	press 2 allow
	sees '^call ada'
	((SECONDS - begun > 4)) || lacks "$(screen)" 'wants to read'
	tmux_end
}

# bats file_tags=part4

@test "do not disturb: what waits is asked at once when it ends, and what expired is told" {
	desk_policy 60s wait
	scripted --inhibited
	agent_up
	reads one "$HOME/notes/todo.txt"
	reads two "$HOME/notes/calls.txt"
	wait_for 30 two_are_pending
	run ! has_notified 1
	tell scripted inhibited 0
	notified 1 | jq -e '.summary == "cat wants 2 things"'
	press 1 allow
	finished one
	finished two
	[ "$output" = "call ada" ]
	desk_policy
}

@test "do not disturb in Xfce: a question doesn't pop up, critical as it is" {
	local xfconfd
	xfconfd=$(ls /usr/lib/*/xfce4/xfconf/xfconfd 2>/dev/null) || skip "SKIPPED LOUDLY: there is no xfconfd on this machine"
	"$xfconfd" >"$HOME/run/xfconfd.log" 2>&1 3>&- &
	echo $! >"$HOME/run/other.pid"
	wait_for 30 xfconf-query -c xfce4-notifyd -p /do-not-disturb -n -t bool -s true
	real "$(ls /usr/lib/*/xfce4/notifyd/xfce4-notifyd)"
	agent_up
	terminal_agent
	reads waiting "$HOME/notes/todo.txt"
	wait_for 30 last_push_shows false
	is_not_shown
	xfconf-query -c xfce4-notifyd -p /do-not-disturb -s false
	click 2 3
	finished waiting
	[ "$output" = "buy milk" ]
	terminal_agent_down
}

@test "do not disturb in GNOME: a question doesn't pop up, critical as it is" {
	gsettings get org.gnome.desktop.notifications show-banners >/dev/null 2>&1 || skip "optional: there are no settings of GNOME"
	export GSETTINGS_BACKEND=keyfile XDG_CONFIG_HOME=$HOME/.config
	gsettings set org.gnome.desktop.notifications show-banners false
	scripted --name gnome-shell --mute
	agent_up
	reads waiting "$HOME/notes/todo.txt"
	prompt_id
	sbx-notify --check --json | jq -e .inhibited
	run ! has_notified 1
	gsettings set org.gnome.desktop.notifications show-banners true
	press 1 allow
	finished waiting
	[ "$output" = "buy milk" ]
}

two_are_pending() {
	[[ $(sbx prompts --json | jq length) == 2 ]]
}

@test "quiet hours of the policy: nothing is shown, and one summary tells what expired" {
	desk_policy 2s wait 'quiet: ["00:00-12:00", "12:00-00:00"]'
	scripted
	reads waiting "$HOME/notes/todo.txt"
	finished waiting
	contains "$output" "Permission denied"
	run ! has_notified 1
	sed -i '/^quiet/d' "$HOME/.config/sbx/policy.yaml"
	background later sbx run -- true </dev/null
	notified 1 | jq -e '.actions == [] and .summary == "sbx: 1 question expired while you were not disturbed"
		and (.body | contains("cat: read ~/notes/") and contains("todo.txt"))'
	finished later
	desk_policy
}

@test "without a server nobody is waited for; without a bus or a display, or when it is unwanted, no agent is started" {
	desk_policy 60s deny
	reads denied "$HOME/notes/todo.txt"
	finished denied
	contains "$output" "Permission denied"
	agent_down
	scripted
	for unset in DISPLAY DBUS_SESSION_BUS_ADDRESS; do
		run env -u "$unset" -u WAYLAND_DISPLAY sbx run -- cat "$HOME/notes/todo.txt" </dev/null
		contains "$output" "Permission denied"
	done
	SBX_NO_NOTIFY=1 run sbx run -- cat "$HOME/notes/todo.txt" </dev/null
	contains "$output" "Permission denied"
	run sbx run --record -- true </dev/null
	has_no_agent
	run ! has_notified 1
	desk_policy
}

@test "the first question of a run without a terminal waits for the agent that it starts" {
	desk_policy 60s deny
	scripted
	kill -STOP "$(<"$HOME/run/scripted.pid")" # it says what it can, and the agent registers, when it goes on
	reads first "$HOME/notes/todo.txt"
	wait_for 30 has_agent
	sleep 0.3 # time to be denied in
	kill -CONT "$(<"$HOME/run/scripted.pid")"
	press 1 allow
	finished first
	[ "$output" = "buy milk" ]
	desk_policy
}

@test "one agent a user; it ends when nothing runs" {
	scripted
	agent_up --idle 2s
	run -0 sbx-notify
	[ "$output" = "sbx-notify: it runs already" ]
	run -0 sbx-notify --check --json
	jq -e '.agent and .bus and .buttons and .server == "scripted" and .inhibited == false and .problem == null' <<<"$output"
	wait_for 30 has_no_agent
	sbx-notify --check --json | jq -e '.agent == false'
}

@test "--check says what there is, and what to do" {
	run -1 env DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere sbx-notify --check
	contains "$output" "there is no session bus"
	run -1 sbx-notify --check
	contains "$output" "no notification server runs"
	scripted --name cosmic-notifications
	run -1 sbx-notify --check
	contains "$output" "has no buttons"
	server_down
	scripted --name mako
	run -1 sbx-notify --check
	contains "$output" "has no buttons"
	contains "$output" "sbx allow ID"
	for wrong in --idle --idle=x --json --frobnicate word; do
		run -2 sbx-notify "$wrong"
	done
	run -0 sbx-notify --version
	run -0 sbx-notify --help
}

@test "the sandbox sees neither the bus nor the display's session, while its agent does" {
	scripted
	run -0 sbx run -- sh -c 'echo "bus=${DBUS_SESSION_BUS_ADDRESS-none}"; python3 - <<END
import socket
try:
    socket.socket(socket.AF_UNIX).connect("'"$bus"'")
    print("connected")
except OSError as error:
    print("refused")
END' </dev/null
	contains "$output" $'bus=none\nrefused'
	has_notified 1 && return 1 # nor is anybody asked
	has_agent
}
