#!/usr/bin/env bats
# What a tool does so that its memory is slow to read holds up its own calls, and no withdrawal.
# shellcheck disable=SC2016 # expanded in the namespace

load helper

setup_file() {
	home_make
	default_policy "without-agent: deny"
	cp "$SBX_SLOW" "$SBX_WATCH" "$HOME/project"
	touch "$HOME/project/trapped"
	mkdir "$HOME/given"
	echo secret >"$HOME/given/file"
}

# slow in a sandbox, and the end of its grant for ~/given while it goes on. Prints what it said, and when revoke began. Whether the
# folder is there is seen from outside, too: the tool may be stuck itself.
withdrawing='
said() { grep -q "$1" "$HOME/run/said"; }
is_gone() { ! test -e "/proc/$inside/root$HOME/given/file"; }
wait_for 20 sbx grants >/dev/null # the broker of the test before has gone
sbx grant fs:read "$HOME/given" >/dev/null && id=$(sbx grants --json | jq -er ".[0].id") || exit 1
rm -f "$HOME/run/said" # of the test before: who is in the background truncates it later
sbx run --allow "fs:read=$HOME/nas" -- ./slow $how "$HOME/project/trapped" "$HOME/given/file" >"$HOME/run/said" 2>&1 3>&- &
run=$!
wait_for 30 said ready || { cat "$HOME/run/said"; exit 1; }
for inside in $(pgrep -u "$(id -u)" -x slow); do # neither one that it has forked nor one of the test before
	[ "$(ps -o comm= -p "$(ps -o ppid= -p "$inside")")" = slow ] || is_gone || break
done
! is_gone || exit 1
echo "from $(./watch --now)"
timeout 30 sbx revoke "$id"
wait_for 30 is_gone
echo "outside $(./watch --now)"
[ "${mute:-}" ] || wait_for 30 said gone
cat "$HOME/run/said"
kill -USR1 "$PPID"; kill "$run"; wait "$run"; echo "ended $?"
wait_for 60 gone "$inside" || echo "left behind"'

# time_of WORD: in milliseconds.
time_of() {
	awk -v word="$1" '$1 == word {print int($2)}' <<<"$output"
}

# withdrawn_within MS: so said $output.
withdrawn_within() {
	echo "# $(($(time_of outside) - $(time_of from))) ms" >&3
	(($(time_of outside) - $(time_of from) <= $1))
	lacks "$output" 'left behind'
}

# with_page COUNT [mute]: so many of its calls have their paths in a page that doesn't come. mute: it can't say itself what it has
# left, since its own open(2) waits behind the others.
with_page() {
	mkdir -p "$HOME/nas"
	broker_stop
	run timeout 120 python3 -B "$TESTS/hang.py" "$HOME/nas" --page page -- bash -c '. "$TESTS/helper.bash" 2>/dev/null
trap broker_stop EXIT
mute='"${2:-}"' how="page '"$1"' $HOME/nas/page"'"$withdrawing"
	echo "$output"
	[ "$status" != 77 ] || skip "no mount namespace can be made here"
}

@test "attack_r_01: a call whose path lies in a page that doesn't come holds up no withdrawal, and no other call" {
	with_page 1
	withdrawn_within 2000
	(($(time_of gone) - $(time_of from) <= 2000))
	(($(awk '$1 == "gone" {print $3}' <<<"$output") > 0))
}

@test "attack_r_01: more such calls than there are readers hold up no withdrawal either" {
	with_page 20 mute
	withdrawn_within 2000
}

@test "attack_r_01: a tool that forks a process of half a GiB over and over holds up no withdrawal" {
	run timeout 120 bash -c 'trap "" USR1; . "$TESTS/helper.bash" 2>/dev/null; how="fork 512"'"$withdrawing"
	echo "$output"
	withdrawn_within 2000
}
