#!/usr/bin/env bats
# Withdrawn means by name, by working folder and by open folder: who holds a folder of what a grant gave is ended with the
# grant. Who holds files alone is named, and goes on.

load helper

setup_file() {
	home_make
	asking_policy
	sbx grants >/dev/null # starts the broker
}

setup() {
	cd "$HOME/project" || return
	rm -f up go end read
	here=$HOME/t$BATS_TEST_NUMBER
	mkdir -p "$here/sub"
	echo "in $here" >"$here/file"
	cp "$TESTS/holding.py" .
}

teardown() {
	touch "$HOME/project/end" "$HOME/project/go"
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
}

# nothing_is_read [FOLDER]: what is written into it from now on is seen by nobody inside.
nothing_is_read() {
	touch go
	rm -f read
	echo "what came later" >"${1:-$here}/new"
	sleep 0.3 # as long as they would need for some twenty looks
	[ ! -e read ] || { echo "read after the revocation: $(head -1 read)" && return 1; }
	touch end
}

@test "attack_r_01: who has a folder of a revoked grant open, in whatever way, is ended with it and named" {
	local how
	for how in cwd opened name thread thread-cwd parked locked undumpable passed forked; do
		rm -f up go end read "$here/new"
		sbx grant fs:read "$here" --profile default
		background holder sbx run --profile default -- python3 holding.py "$how" "$here"
		wait_for 60 test -e up
		run sbx revoke --match fs:read "$here"
		echo "$how: $output ($status)"
		[ "$status" = 0 ]
		contains "$output" "  ended in session"
		contains "$output" ": python3 (pid "
		nothing_is_read
		finished holder
		echo "$how: $output"
		contains "$output" "that held what is not allowed any more"
		if [ "$how" = cwd ]; then
			contains "$output" "python3 ($here)"
		fi
	done
}

@test "attack_r_01: expired, denied and edited away, it ends who has a folder of it open, too" {
	local how
	for how in expiry denial policy; do
		rm -f up go end read "$here/new"
		sbx grant fs:read "$here" --profile default --ttl "$([ "$how" = expiry ] && echo 6s || echo 1h)"
		background holder sbx run --profile default -- python3 holding.py opened "$here"
		wait_for 60 test -e up
		case $how in
		denial) sbx grant --deny fs:read "$here" --profile default ;;
		policy) sed -i "s|^    doorbell:.*|&\n    deny: {fs:read: [$here]}|" "$HOME/.config/sbx/policy.yaml" ;;
		esac
		finished holder
		echo "$how: $output ($status)"
		[ "$status" = 137 ]
		contains "$output" "that held what is not allowed any more"
		nothing_is_read
		# shellcheck disable=SC2046 # ids
		[ "$how" = expiry ] || sbx revoke $(sbx grants --json | jq '.[].id')
	done
	asking_policy
}

@test "attack_r_01: a denial of a part of an allowed folder ends who has a folder of that part open" {
	sbx grant fs:read "$here" --profile default
	background holder sbx run --profile default -- sh -c "
		python3 holding.py opened $here/sub
		echo \"ended \$?\"; cat $here/file"
	wait_for 60 test -e up
	sbx grant --deny fs:read "$here/sub" --profile default
	finished holder
	echo "$output"
	contains "$output" "ended 137"
	contains "$output" "in $here"
	nothing_is_read "$here/sub"
}

@test "attack_r_01: who is deeper in a folder of a new denial than paths go is ended, too" {
	sbx grant fs:write "$here" --profile default
	background holder sbx run --profile default -- sh -c "
		mkdir $here/other
		(cd $here/other && exec sleep 60) & beside=\$!
		python3 holding.py deep $here/sub
		echo \"ended \$?\"; kill \$beside && echo beside"
	wait_for 60 test -e up
	sbx grant --deny fs:read "$here/sub" --profile default
	finished holder
	echo "$output"
	contains "$output" "ended 137"
	contains "$output" "beside"
	nothing_is_read "$here/sub"
}

# A program of a group that the sandbox doesn't know: its memory belongs to the host's user namespace, and nobody of the user's
# can look at its process.
@test "attack_r_01: a process whose program can't be read is ended where it may hold a folder of it" {
	local group
	group=$(id -G | tr ' ' '\n' | grep -vx "$(id -g)" | head -1) || skip "optional: the user is in one group alone"
	mkdir team
	cp "$(readlink -f "$(command -v sleep)")" team/unreadable
	chgrp "$group" team team/unreadable
	chmod 0111 team/unreadable
	sbx grant fs:read "$here" --profile default
	background holder sbx run --profile default -- sh -c "
		(exec 5<$here; touch up; exec team/unreadable 60); echo \"ended \$?\""
	wait_for 60 test -e up
	run sbx revoke --match fs:read "$here"
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "Ended 1 process"
	finished holder
	echo "$output"
	contains "$output" "ended 137"
	contains "$output" "unreadable (what it holds can't be seen)"
}

# bats test_tags=serial
@test "attack_r_01: --kill ends who has files of it mapped, also deleted, linked and moved ones, and however many" {
	local name files=() many=()
	for name in linked moved newline plain; do
		echo "what is on the host" >"$here/$name"
		files+=("$here/$name")
	done
	for name in {1..66}; do
		echo "read" >"$HOME/t$BATS_TEST_NUMBER-$name"
		many+=("$HOME/t$BATS_TEST_NUMBER-$name")
	done
	sbx grant fs:write "$here" --profile default
	printf '%s\n' "${many[@]}" | xargs -I{} -P2 sbx grant fs:read {} --profile default >/dev/null
	background holder sbx run --profile default -- python3 holding.py mapped "${files[@]}" "${many[@]}"
	wait_for 60 test -e up
	mv "$here/moved" "$HOME/moved"
	run sbx revoke --all --kill
	echo "$output"
	touch go end
	finished holder
	echo "$output"
	contains "$output" "70 of 70 ended"
	[ ! -e read ]
	[ "$(sort -u "$here"/linked "$here"/newline "$here"/plain "$HOME/moved")" = "what is on the host" ]
}

@test "attack_r_01: a writer that hinders the read-only remount doesn't keep a folder of it writable" {
	sbx grant fs:read "$here" --profile default
	sbx grant fs:write "$here" --profile default
	background holder sbx run --profile default -- python3 holding.py writer "$here"
	wait_for 60 test -e up
	run sbx revoke --match fs:write "$here"
	echo "$output"
	rm -f "$here/made"
	finished holder
	echo "$output ($status)"
	[ "$status" = 137 ]
	[ ! -e "$here/made" ]
}

@test "attack_r_01: who holds but files of it, or has messages with descriptors of its own, goes on" {
	sbx grant fs:read "$here" --profile default
	background holder sbx run --profile default -- python3 -c '
import array, os, socket, sys, time
held = open(sys.argv[1] + "/file")
one, other = socket.socketpair()
open("up", "w").close()
while not os.path.exists("go"):
    own = os.open(".", os.O_RDONLY)
    one.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [own]))])
    os.close(own)
    _, ancillary, _, _ = other.recvmsg(1, socket.CMSG_SPACE(4))
    os.close(array.array("i", ancillary[0][2])[0])
    time.sleep(0.002)
print("goes on:", held.read())' "$here"
	wait_for 60 test -e up
	run sbx revoke --match fs:read "$here"
	echo "$output"
	lacks "$output" "Ended"
	contains "$output" "$here/file"
	touch go
	finished holder
	echo "$output"
	[ "$status" = 0 ]
	contains "$output" "goes on: in $here"
}

@test "attack_r_01: a working folder that a grant gives still, or that is the tool's own, ends nobody" {
	mkdir -p "$HOME/other"
	sbx grant fs:write "$here" --profile default
	sbx grant fs:read "$HOME/other" --profile default
	background worker sbx run --profile default -- sh -c "mkdir -p ~/.own/deep; cd $here/sub
		(cd ~/.own/deep; touch $PWD/up; until [ -e $PWD/go ]; do sleep 0.02; done; echo own) &
		until [ -e $PWD/go ]; do sleep 0.02; done; wait; cat ../file; echo w >made"
	wait_for 60 test -e up
	sbx revoke --match fs:read "$HOME/other"
	sbx grant fs:read "$here" --profile default
	sbx grant --deny fs:read "$HOME/other" --profile default
	touch go
	finished worker
	echo "$output ($status)"
	[ "$status" = 0 ]
	[ "$(grep -v "^sbx: kept in" <<<"$output")" = "own"$'\n'"in $here" ]
	[ -e "$here/sub/made" ]
}

@test "attack_r_01: the history says which processes were ended for which grants, the tool's own one too" {
	local id
	sbx grant fs:read "$here" --profile default
	id=$(sbx grants --json | jq '.[0].id')
	background holder sbx run --profile default -- python3 holding.py opened "$here"
	wait_for 60 test -e up
	sbx revoke "$id"
	finished holder
	[ "$status" = 137 ]
	sbx history --json | jq -es --argjson grant "$id" --arg path "$here" 'any(.[]; .kind == "revoke" and .grant == $grant and
		.detail.killed == 1 and (.detail.ended | length) == 1 and .detail.ended[0].command == "python3" and
		.detail.ended[0].path == $path)'
	run sbx history
	contains "$output" "fs:read $here: 1 ended: python3 ("
}

# bats test_tags=serial
@test "attack_r_01: an end that comes while the holders of another one are looked for ends its own holders, too" {
	mkdir -p one two "$here/a" "$here/b"
	rm -f one/up two/up
	sbx grant fs:read "$here/a" --profile default
	sbx grant fs:read "$here/b" --profile default
	background holders sbx run --profile default -- sh -c "
		for i in \$(seq 150); do sleep 60 & done # it takes its time to look at so many
		(cd one && exec python3 ../holding.py opened $here/a) &
		(cd two && exec python3 ../holding.py opened $here/b) & wait"
	wait_for 60 test -e one/up
	wait_for 60 test -e two/up
	background first sbx revoke --match fs:read "$here/a"
	background second sbx revoke --match fs:read "$here/b"
	for which in first second; do
		finished "$which"
		echo "$output"
		[ "$status" = 0 ]
		contains "$output" "ended in session"
	done
	for folder in a b; do echo "what came later" >"$here/$folder/new"; done
	sleep 0.3 # as long as they would need for some twenty looks
	[ ! -e one/read ]
	[ ! -e two/read ]
}

# writing FOLDER: one process stands in it, has it open, and goes on making names there; another has a file of it open to be
# written, and the shell has nothing in there.
writing() {
	rm -f up go
	background holder sbx run --profile default -- sh -c "
		(exec python3 -c '
import os, sys
os.chdir(sys.argv[1])
here = os.open(\".\", os.O_RDONLY)
while True:
    os.close(os.open(\"new\", os.O_CREAT | os.O_WRONLY))
    os.rename(\"new\", \"made\", src_dir_fd=here, dst_dir_fd=here)' $1) & inside=\$!
		(exec 5>>$1/log; touch up; exec sleep 60) & writer=\$!
		until [ -e go ]; do sleep 0.02; done
		wait \$inside; echo \"ended \$?\"
		kill \$writer && echo writer goes on
		cat $1/file; touch $1/made || touch $1/../beside && echo beside"
	wait_for 20 test -e "$1/made"
	wait_for 20 test -e up
}

@test "attack_r_01: a denial of writing a part of a writable tree ends who stands in it, and names who writes a file of it" {
	local folder how
	for how in denial deeper policy; do
		folder=$PWD/$how
		[ "$how" != deeper ] || folder=$PWD/a/deeper
		mkdir -p "$folder"
		echo "in it" >"$folder/file"
		writing "$folder"
		case $how in
		policy) sed -i "s|^    doorbell:.*|&\n    deny: {fs:write: [$folder]}|" "$HOME/.config/sbx/policy.yaml" ;;
		*) sbx grant --deny fs:write "$folder" --profile default ;;
		esac
		wait_for 20 grep -q "that held what is not allowed any more" "$HOME/run/holder.out"
		touch go
		finished holder
		echo "$how: $output ($status)"
		contains "$output" "python3 ($folder)"
		contains "$output" "not allowed any more, but still open in"
		contains "$output" "sleep ($folder/log)"
		contains "$output" "ended 137"$'\n'"writer goes on"$'\n'"in it"
		contains "$output" "Read-only file system"$'\n'"beside"
		[ "$how" = policy ] || sbx history --json | jq -es --arg path "$folder" 'any(.[]; .kind == "grant" and .target == $path and
			.detail.killed == 1 and .detail.ended[0].command == "python3" and .detail.holders[0].command == "sleep")'
	done
	asking_policy
}

@test "attack_r_01: who stands above a folder that may not be written any more, or in a part of it that still may, goes on" {
	mkdir -p d/part
	echo "in it" >d/file
	sbx grant fs:write "$PWD/d/part" --profile default
	background worker sbx run --profile default -- sh -c "
		(cd d/part; touch ../../up; until [ -e ../../go ]; do sleep 0.02; done; touch made && echo part) &
		exec 5<d/file; until [ -e go ]; do sleep 0.02; done; wait; cat <&5; (cd d && touch x) || echo above"
	wait_for 20 test -e up
	sbx grant --deny fs:write "$PWD/d" --profile default
	sbx grants
	touch go
	finished worker
	echo "$output ($status)"
	[ "$status" = 0 ]
	lacks "$output" "ended"
	contains "$output" "part"
	contains "$output" "in it"
	contains "$output" "above"
}

@test "attack_r_01: who has a folder open from before it was allowed to be written writes no more when that ends" {
	local how
	mkdir -p d
	sed -i "s|^    doorbell:.*|&\n    ask: {fs:write: [$PWD/d]}|" "$HOME/.config/sbx/policy.yaml"
	for how in 'folder = os.open("d", os.O_RDONLY)' 'folder = os.open(".", os.O_RDONLY); os.chdir("d"); folder = os.open(".", os.O_PATH)'; do
		rm -rf d/* up
		cat >writing.py <<-END
			import os
			top = os.open(".", os.O_RDONLY)
			$how
			while True:
			    try:
			        os.close(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder))
			        os.close(os.open("up", os.O_WRONLY | os.O_CREAT, dir_fd=top))
			    except OSError:
			        pass
		END
		background writer sbx run --profile default -- python3 writing.py
		wait_for 20 prompt_is_pending
		sbx allow "$(prompt_id)"
		wait_for 20 test -e up
		[ -e d/new ]
		run sbx revoke --match fs:write "$PWD/d"
		rm d/new
		echo "$how: $output ($status)"
		contains "$output" "  ended in session"
		contains "$output" "python3 (pid "
		finished writer
		echo "$output ($status)"
		[ "$status" = 137 ]
		[ ! -e d/new ]
	done
	asking_policy
}

@test "attack_r_01: who has a file open to write that a grant let be written past a rule is named when the grant ends" {
	mkdir -p d
	echo "in it" >d/kept
	sed -i "s|^    doorbell:.*|&\n    ask: {fs:write: [$PWD/d/kept]}|" "$HOME/.config/sbx/policy.yaml"
	sbx grant fs:write "$PWD/d/kept" --profile default
	background writer sbx run --profile default -- sh -c "exec 5>>d/kept; touch up; until [ -e go ]; do sleep 0.02; done
		touch d/beside && echo goes on"
	wait_for 20 test -e up
	run sbx revoke --match fs:write "$PWD/d/kept"
	echo "$output"
	contains "$output" "sh (pid "
	contains "$output" "$PWD/d/kept"
	touch go
	finished writer
	echo "$output ($status)"
	[ "$output" != "${output%goes on}" ]
	contains "$output" "not allowed any more, but still open in"
	asking_policy
}
