#!/usr/bin/env bats
# Prompts under GNOME Shell, which shows a notification of normal urgency as one line without buttons, and for 4 seconds: a real one,
# without a screen, whose buttons are clicked with a pointer (gnome.js).

load helper
load desktop

setup_file() {
	home_make
	mkdir -p "$HOME/notes" "$HOME/secret"
	echo "buy milk" >"$HOME/notes/todo.txt"
	echo "a key" >"$HOME/secret/key"
	for number in 1 2 3 4 5 6; do echo "note $number" >"$HOME/notes/a-file-with-a-rather-long-name-$number.txt"; done
	desktop_up
	! has_gnome || gnome_up
}

teardown_file() {
	agent_down
	[[ ! -e $HOME/run/gnome.pid ]] || gnome_down
	bus_down
	home_remove
}

setup() {
	has_gnome || skip "SKIPPED LOUDLY: there is no gnome-shell, or no gjs, on this machine"
	cd "$HOME/project" || return
	desk_policy
	agent_up
}

teardown() {
	sbx kill --all >/dev/null 2>&1 || true
	agent_down
	none grants || sbx revoke --all
}

# Somebody is at work: only then GNOME Shell counts the seconds.
is_at_work() {
	gnome 'move(500, 600)'
	gnome 'move(520, 620)'
}

# The last N answers were given on the desktop.
answered_here() { # answered_here N
	[ "$(sbx history --json | jq -r 'select(.kind == "answer") | .detail.agent' | tail -n "$1" | uniq -c | xargs)" = "$1 desktop" ]
}

@test "GNOME Shell: a question has its buttons on the screen, until one is clicked and the tool goes on" {
	# What it is without urgency, so that what follows says something: no button, and gone.
	busctl --user call org.freedesktop.Notifications /org/freedesktop/Notifications org.freedesktop.Notifications Notify \
		'susssasa{sv}i' normal 0 '' 'A normal one' 'words' 2 yes Yes 1 urgency y 1 60000
	gnome_sees '(.text | startswith("A normal one")) and .buttons == []'
	is_at_work
	gnome_sees '.text == ""'
	reads allowed "$HOME/notes/todo.txt"
	gnome_sees '.buttons | length >= 2'
	gnome_picture read
	is_at_work
	sleep 5 # longer than the other one was there
	gnome_shows '(.buttons | length == 3) and (.text | contains("~/notes/todo.txt") and test("until [0-9:]{8}"))'
	is_running allowed
	gnome_click Allow
	finished allowed
	[ "$status" = 0 ]
	[ "$output" = "buy milk" ]
	[ "$(lifetime)" = until ]
	answered_here 1
	gnome_sees '.text == ""'
}

@test "GNOME Shell: Deny is clicked" {
	reads denied "$HOME/notes/todo.txt"
	gnome_click Deny
	finished denied
	[ "$status" = 1 ]
	contains "$output" "todo.txt: Permission denied"
	gnome_sees '.text == ""'
}

@test "GNOME Shell: what needs a terminal says its command within what is shown" {
	reads waiting "$HOME/secret/key"
	id=$(prompt_id)
	gnome_sees ".buttons == [] and (.text | contains(\"sbx allow $id\") and contains(\"~/secret/key\"))"
	gnome_picture terminal
	sbx allow "$id"
	finished waiting
	[ "$output" = "a key" ]
	gnome_sees '.text == ""'
}

# Asked about at the start of a session, in one notification.
bundle() { # bundle NAME COUNT
	local number files=()
	for ((number = 1; number <= $2; number++)); do
		files+=("$HOME/notes/a-file-with-a-rather-long-name-$number.txt")
	done
	bundle_of "$1" "${files[@]}"
}

bundle_of() { # bundle_of NAME FILE…
	local name=$1 files=("${@:2}")
	policy <<END
version: 1
prompt: {timeout: 60s, without-agent: wait}
profiles:
  default:
    ask:
      fs:read: [$(printf '"%s",' "${files[@]}")]
END
	sbx grants >/dev/null
	wait_for 30 is_registered 1
	reads "$name" "${files[@]}"
	gnome_sees '.buttons | length >= 2'
	gnome_picture "$name"
}

@test "GNOME Shell: two questions of a session are one notification, and all that its button allows is on the screen" {
	bundle two 2
	gnome_shows '(.buttons | any(.label | startswith("Allow"))) and ([.text | scan("name-[1-6].txt")] | unique | length == 2)'
	gnome_click Allow
	finished two
	[ "$status" = 0 ]
	[ "$output" = $'note 1\nnote 2' ]
}

@test "attack_r_16: GNOME Shell shows six lines, and no button allows what is below them" {
	bundle six 6
	gnome_shows '(.buttons | any(.label | startswith("Allow")) | not) or ([.text | scan("name-[1-6].txt")] | unique | length == 6)'
	gnome_click Deny
	finished six
	[ "$status" != 0 ]
}

@test "attack_r_16: GNOME Shell draws some letters wide, and no button allows what they push below the six lines" {
	local sign number files=()
	mkdir -p "$HOME/n"
	for sign in + O Ж ௵; do
		files=()
		for number in 1 2 3 4; do
			files+=("$HOME/n/$(printf "%.0s$sign" {1..28})$number")
			echo "note $number" >"${files[-1]}"
		done
		bundle_of "wide-$number" "${files[@]}"
		gnome_shows "(.buttons | any(.label | startswith(\"Allow\")) | not) or
			([.text | scan(\"[$sign]{5}[1-4]\")] | unique | length == 4)"
		gnome_click Deny
		finished "wide-$number"
		[ "$status" != 0 ]
	done
}

# no_links NAME TEXT: of the question whose notification has this text, which is then denied.
no_links() {
	gnome_sees ".text | contains(\"$2\")"
	[ "$(gnome 'links()')" = '[]' ]
	gnome_click Deny
	finished "$1"
}

@test "attack_r_16: GNOME Shell makes no link of what a tool has chosen" {
	local secret='www.ab.co/?k=secret' id
	# What it makes of one, so that what follows says something.
	id=$(busctl --user --json=short call org.freedesktop.Notifications /org/freedesktop/Notifications org.freedesktop.Notifications Notify \
		'susssasa{sv}i' links 0 '' 'One with a link' "see $secret" 2 yes Yes 1 urgency y 2 60000 | jq '.data[0]')
	gnome_sees '.text | startswith("One with a link")'
	[ "$(gnome 'links()' | jq -c unique)" = "[\"$secret\"]" ]
	busctl --user call org.freedesktop.Notifications /org/freedesktop/Notifications org.freedesktop.Notifications CloseNotification u "$id"
	gnome_sees '.text == ""'
	background host sbx run -- sbx request net:access www.ab.co:443 --reason "docs: http://ab.co/?k=secret" </dev/null
	no_links host "www.ab.co:443" # the reason is further down
	mkdir -p "$HOME/notes/see www.ab.co"
	touch "$HOME/notes/see $secret"
	background path sbx run -- sbx request fs:read "$HOME/notes/see $secret" </dev/null
	no_links path "$secret"
	# shellcheck disable=SC2016 # expanded inside the sandbox
	background process sbx run -- bash -c 'printf "www.ab.co/?k=x" >/proc/$$/comm; read -r line <"$1"' bash "$HOME/notes/todo.txt" </dev/null
	no_links process "www.ab.co/?k=x"
}

pending_are() {
	[[ $(sbx prompts --json | jq length) == "$1" ]]
}

@test "GNOME Shell shows one notification at a time, and each of five questions is asked" {
	for number in 1 2 3 4 5; do reads "note$number" "$HOME/notes/a-file-with-a-rather-long-name-$number.txt"; done
	for left in 5 4 3 2 1; do
		wait_for 30 pending_are "$left"
		gnome_click Allow
	done
	for number in 1 2 3 4 5; do
		finished "note$number"
		[ "$output" = "note $number" ]
	done
	answered_here 5
}

# swap MS: the first question is taken back by its tool, and so long after the second one stands at its place comes a click.
swap() {
	local place
	# shellcheck disable=SC2016 # expanded inside the sandbox
	background first sbx run -- sh -c 'cat "$1" & until [ -e go ]; do sleep 0.1; done; kill -9 $!; wait' sh "$HOME/notes/todo.txt" </dev/null
	gnome_sees '(.text | contains("todo.txt")) and (.buttons | length == 3 and all(.y))'
	place=$(gnome 'banner()' | jq -r '.buttons[] | select(.label | startswith("Allow")) | "\(.x), \(.y)"')
	gnome "move($place)"
	reads second "$HOME/notes/a-file-with-a-rather-long-name-1.txt"
	wait_for 30 pending_are 2
	until_clicks_count
	gnome "press_when('name-1.txt', $1)"
	touch go
	finished first
	wait_for 30 gnome_has_pressed
	rm go
}

gnome_has_pressed() {
	[[ $(gnome_evaluate global.sbx_pressed) == true ]]
}

@test "attack_broker_10: GNOME Shell puts a question at the place of another one, and a click as it comes up doesn't count" {
	for ms in 0 200; do
		swap "$ms"
		is_running second
		gnome_click Deny
		finished second
		[ "$(sbx grants --json | jq 'map(select(.effect == "allow")) | length')" = 0 ]
	done
}

# It shows critical ones all the same.
@test "GNOME Shell: a user who isn't to be disturbed isn't, and is asked when that is over" {
	local server=(org.freedesktop.Notifications /org/freedesktop/Notifications org.freedesktop.Notifications) id
	export GSETTINGS_BACKEND=keyfile
	agent_down
	gsettings set org.gnome.desktop.notifications show-banners false
	id=$(busctl --user --json=short call "${server[@]}" Notify 'susssasa{sv}i' critical 0 '' 'A critical one' 'words' 0 1 urgency y 2 60000 |
		jq '.data[0]')
	gnome_sees '.text | startswith("A critical one")'
	busctl --user call "${server[@]}" CloseNotification u "$id"
	gnome_sees '.text == ""'
	agent_up
	reads waiting "$HOME/notes/todo.txt"
	prompt_id
	sbx-notify --check --json | jq -e .inhibited
	gnome_shows '.text == ""'
	gsettings set org.gnome.desktop.notifications show-banners true
	gnome_click Allow
	finished waiting
	[ "$output" = "buy milk" ]
}
