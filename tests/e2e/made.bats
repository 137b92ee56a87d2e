#!/usr/bin/env bats
# What a tool makes in the home, or in a folder that is there since something is mounted below it: its user is asked about just
# that name, and it is made on the host.

load helper

setup_file() {
	home_make
	asking_policy
	sbx grants >/dev/null
}

setup() {
	cd "$HOME/project" || return
	rm -rf "$HOME"/report* "$HOME"/new* "$HOME/src"
	mkdir -p "$HOME/src/app"
	none grants || sbx revoke --all
}

own() {
	printf '%s\n' "$HOME/.local/state/sbx/homes/default"
}

# asks PERMISSION TARGET: the question that stands is about that; $id.
asks() {
	id=$(prompt_id)
	[ "$(sbx prompts --json | jq -r '.[0] | .permission + " " + .target')" = "$1 $2" ]
}

@test "a new file in the home is asked about by its name, made on the host, and the same call goes on" {
	background tool sbx run -- sh -c 'umask 027; echo one > ~/report.csv && echo two >> ~/report.csv && cat ~/report.csv'
	asks fs:write "$HOME/report.csv"
	[ ! -e "$HOME/report.csv" ]
	sbx allow "$id"
	finished tool
	[ "$status" = 0 ]
	[ "$output" = one$'\n'two ]
	[ "$(<"$HOME/report.csv")" = one$'\n'two ]
	[ "$(stat -c %a "$HOME/report.csv")" = 640 ]
	[ ! -s "$(own)/report.csv" ]
	[ "$(sbx history --json --permission fs:write --verdict allow | jq -r .target | head -n 1)" = "$HOME/report.csv" ]
	# granted for an hour: nobody is asked, also where it is gone
	run sbx run -- sh -c 'echo three >> ~/report.csv'
	[ "$status" = 0 ]
	rm "$HOME/report.csv"
	run sbx run -- sh -c 'echo four > ~/report.csv'
	[ "$status" = 0 ]
	[ "$(<"$HOME/report.csv")" = four ]
}

@test "a denial leaves nothing, neither there nor in the tool's own home" {
	background tool sbx run -- sh -c 'echo one > ~/report.csv'
	asks fs:write "$HOME/report.csv"
	sbx deny "$id"
	finished tool
	[ "$status" != 0 ]
	contains "$output" "Permission denied"
	[ ! -e "$HOME/report.csv" ]
	[ ! -e "$(own)/report.csv" ]
	[ "$(sbx history --json --verdict deny | jq -r .target | tail -n 1)" = "$HOME/report.csv" ]
}

@test "for one call: the file is that call's, and the next one is asked about" {
	background tool sbx run -- sh -c 'echo one > ~/report.csv; echo two >> ~/report.csv'
	asks fs:write "$HOME/report.csv"
	sbx allow --once "$id"
	wait_for 10 test -s "$HOME/report.csv"
	asks fs:write "$HOME/report.csv"
	sbx deny "$id"
	finished tool
	[ "$(<"$HOME/report.csv")" = one ]
}

@test "O_EXCL, a folder and what is in it, a plain mknod" {
	sbx grant fs:write "$HOME/report.txt"
	sbx grant fs:write "$HOME/newdir"
	sbx grant fs:write "$HOME/newnode"
	run sbx run --profile default -- python3 -c 'import os
home = os.path.expanduser("~")
fd = os.open(home + "/report.txt", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o444)
os.write(fd, b"new")
os.close(fd)
os.mkdir(home + "/newdir", 0o750)
open(home + "/newdir/file", "w").write("in it")
os.mknod(home + "/newnode", 0o600)
try:
    os.mkdir(home + "/newdir")
except FileExistsError:
    print("is there")'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = "is there" ]
	[ "$(<"$HOME/report.txt")" = new ]
	[ "$(stat -c %a "$HOME/report.txt")" = 444 ]
	[ "$(stat -c %a "$HOME/newdir")" = 750 ]
	[ "$(<"$HOME/newdir/file")" = "in it" ]
	[ -f "$HOME/newnode" ]
}

@test "git init beside the project: the repository is there, by three questions" {
	cd "$HOME/src/app"
	answers user "allow=fs:write=*"
	run sbx run -- sh -c 'git init -q ../repo1 && cd ../repo1 && echo x > file && git add file && git status --short'
	answers_end user
	echo "$output"
	[ "$(jq -r .target "$HOME/run/user.asked" | sort)" = "$HOME/src/repo1
$HOME/src/repo1/.git/config
$HOME/src/repo1/.git/hooks" ]
	[ "$status" = 0 ]
	contains "$output" "A  file"
	[ "$(git -C "$HOME/src/repo1" status --short)" = "A  file" ]
}

@test "a link is asked about by where it leads, and made on the host" {
	background tool sbx run -- sh -c 'ln -s project/file ~/newlink'
	asks fs:link "$HOME/project/file"
	sbx allow "$id"
	finished tool
	[ "$status" = 0 ]
	[ "$(readlink "$HOME/newlink")" = project/file ]
}

@test "what is moved there is copied: mv asks about the new name" {
	background tool sbx run -- sh -c 'echo data > ~/.part && mv ~/.part ~/report.csv'
	asks fs:write "$HOME/report.csv"
	sbx allow "$id"
	finished tool
	[ "$status" = 0 ]
	[ "$(<"$HOME/report.csv")" = data ]
	[ ! -e "$(own)/.part" ]
}

@test "sockets and pipes are refused, and nothing is left" {
	run sbx run --profile default -- python3 -c 'import os, socket
home = os.path.expanduser("~")
for make in lambda: socket.socket(socket.AF_UNIX).bind(home + "/newsocket"), lambda: os.mkfifo(home + "/newpipe"):
    try:
        make()
    except OSError as error:
        print(error.errno)'
	[ "$output" = 30$'\n'30 ] # EROFS
	[ ! -e "$(own)/newsocket" ]
	[ ! -e "$(own)/newpipe" ]
	[ ! -e "$HOME/newpipe" ]
}

@test "what the tool has made it can remove and move" {
	sbx grant fs:write "$HOME/newone"
	sbx grant fs:write "$HOME/newtwo"
	sbx grant fs:write "$HOME/newdir"
	run sbx run -- sh -ec 'cd; echo 1 >newone; mv newone newtwo; ! test -e newone; cat newtwo; rm newtwo; ! test -e newtwo
		mkdir newdir; echo x >newdir/x; rm -r newdir; ! test -e newdir; echo again >newone; cat newone'
	echo "$output"
	[ "$status" = 0 ]
	[ "$output" = 1$'\n'again ]
	[ ! -e "$HOME/newtwo" ] && [ ! -e "$HOME/newdir" ]
	[ "$(<"$HOME/newone")" = again ]
}

@test "nothing that is made beside the project vanishes: cp, mv, mktemp beside a file of the host's" {
	cd "$HOME/src/app"
	echo host >"$HOME/src/file"
	echo precious >q
	answers user "allow=fs:write=*"
	run sbx run -- sh -c 'cp q ../first && mv q ../second && cat ../second'
	answers_end user
	[ "$status" = 0 ]
	[ "$(<"$HOME/src/first")" = precious ]
	[ "$(<"$HOME/src/second")" = precious ]
	[ ! -e "$(own)/src/second" ] || [ ! -s "$(own)/src/second" ]
}

@test "what it has made it can't remove any more once that was revoked" {
	background tool sbx run -- sh -c 'echo one >~/newone; touch made; until [ -e go ]; do sleep 0.02; done; rm ~/newone'
	asks fs:write "$HOME/newone"
	sbx allow "$id"
	wait_for 10 test -e made
	sbx revoke --all
	touch go
	sbx deny "$(prompt_id)" # its folder's names are asked about
	finished tool
	rm -f made go
	[ "$status" != 0 ]
	[ "$(<"$HOME/newone")" = one ]
}

@test "attack_f_20: what is masked since it was opened isn't written by a descriptor with O_CREAT either" {
	echo secret >s.txt
	background tool sbx run --profile default -- python3 -c 'import os, time
fd = os.open("s.txt", os.O_RDONLY)
open("up", "w").close()
while not os.path.exists("go"): time.sleep(0.02)
try:
    os.write(os.open(f"/proc/self/fd/{fd}", os.O_WRONLY | os.O_CREAT), b"evil")
    print("written")
except OSError as error:
    print("refused", error.errno)
with open("/dev/stdout", "w") as out: out.write("out\n")'
	wait_for 10 test -e up
	sbx grant --deny fs:write "$PWD/s.txt"
	touch go
	finished tool
	rm -f up go
	contains "$output" refused
	contains "$output" out
	[ "$(<s.txt)" = secret ]
}

@test "a link to what lies in a folder that nobody has looked into is asked about" {
	mkdir -p "$HOME/.config/thing"
	background tool sbx run -- sh -c 'ln -s ~/.config/thing link'
	asks fs:link "$HOME/.config/thing"
	sbx deny "$id"
	finished tool
	[ "$status" != 0 ]
	[ ! -L link ]
}
