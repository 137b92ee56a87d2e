#!/usr/bin/env bats
# A file system that doesn't answer (a dead NFS server, a FUSE process that hangs) doesn't hold a run up silently.
# shellcheck disable=SC2016 # expanded in the namespace

load helper

# hangs 'COMMANDS' [FOLDER]: by a shell where it (~/nas) doesn't answer, with a broker of its own.
hangs() {
	local folder=${2:-$HOME/nas}
	mkdir -p "$folder"
	broker_stop
	run timeout 120 python3 -B "$TESTS/hang.py" "$folder" -- bash -c '. "$TESTS/helper.bash" 2>/dev/null
trap broker_stop EXIT
'"$1"
	echo "$output"
	[ "$status" != 77 ] || skip "no mount namespace can be made here"
}

# A run that is interrupted (SIGINT to its group, as the terminal does) once it has said what it waits for.
interrupted='rm -f said; set -m; sbx run ${more:-} -- sleep 1234567 2>said & run=$!; wait_for 60 grep "waiting for" said; kill -INT -$run
wait $run; echo "status $?"; wait_for 30 no_process "^sleep 1234567" || echo "left behind"; cat said'

granted() {
	policy <<END
version: 1
profiles:
  default:
    $1
END
}

@test "a rule that names a path which doesn't answer: what is waited for and the rule are said, and the run ends with 125" {
	granted 'allow: {fs:read: ["~/nas/data"]}'
	hangs 'sbx run -- echo it ran; echo "status $?"'
	contains "$output" "waiting for $HOME/nas"
	contains "$output" 'policy.yaml:4 names'
	contains "$output" "its file system doesn't answer"
	contains "$output" "$HOME/nas"
	contains "$output" "hasn't answered for 20 seconds"
	contains "$output" 'status 125'
	lacks "$output" 'it ran'
}

@test "a mask on it, too: nobody knows what it would hide" {
	granted 'deny: {fs:read: ["~/nas/data"]}'
	hangs "$interrupted"
	contains "$output" 'policy.yaml:4 names'
	contains "$output" 'status 130'
}

@test "Ctrl-C ends the wait at once, and nothing stays" {
	granted 'allow: {fs:read: ["~/nas/data"]}'
	hangs "$interrupted"
	contains "$output" 'status 130'
	lacks "$output" '20 seconds'
	lacks "$output" 'left behind'
}

@test "one that lies in what may be asked for, as your home, is said and refused, too: its name would be looked at" {
	granted 'allow: {fs:read: ["~/other"]}'
	hangs 'sbx run -- echo it ran; echo "status $?"'
	contains "$output" "waiting for $HOME/nas"
	contains "$output" 'status 125'
}

@test "where the sandbox has nothing to do with it, all is as always" {
	granted 'allow: {fs:read: ["~/other"]}'
	hangs 'sbx run -- echo it ran; echo "status $?"' "$HOME.nas"
	rmdir "$HOME.nas"
	contains "$output" 'it ran'
	contains "$output" 'status 0'
	lacks "$output" "hasn't answered"
}

@test "a working folder, and what the command line allows" {
	granted 'allow: {fs:read: ["~/other"]}'
	for more in '--cwd ../nas/work' '--allow fs:read=~/nas/more'; do
		more=$more hangs "$interrupted"
		contains "$output" "waiting for $HOME/nas"
		contains "$output" 'status 130'
	done
}
