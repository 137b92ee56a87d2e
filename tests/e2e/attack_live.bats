#!/usr/bin/env bats
# Attacks on live grants, held calls and masks, each named after its kind and number. CMakeLists.txt runs this file with each
# doorbell. What is tagged as stress goes on for as long as its issue says in a long run.
# shellcheck disable=SC2016,SC2030,SC2031,SC2088 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	asking_policy
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
}

# A fresh project that is a repository, and a folder that a rule asks about.
setup() {
	needs_doorbell
	rm -rf "$HOME/repo"
	git init -q "$HOME/repo"
	cd "$HOME/repo" || return
	echo one >file
	git add file
	git commit -qm one
	printf 'probe\nrace\ntouch\nup*\ngo*\n' >.git/info/exclude
	cp "$SBX_PROBE" probe
	cp "$SBX_RACE" race
	here=$HOME/t$BATS_TEST_NUMBER
	mkdir -p "$here/mid/asked"
	echo "in $here" >"$here/file"
	echo "what was shown" >"$here/mid/asked/file"
	before=$(sha256sum .git/config .git/hooks/*)
}

teardown() {
	policy_restore
	exec 7>&-
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
	if [ -e "$HOME/run/agent.pid" ]; then answers_end agent; fi
}

unchanged() {
	[[ $(sha256sum .git/config .git/hooks/*) == "$before" ]]
}

asks() { # asks PERMISSION TARGET: one question is open, and it is this one. Its id is in $id.
	id=$(prompt_id) || return
	[ "$(sbx prompts --json | jq -r '.[] | "\(.permission) \(.target)"')" = "$1 $2" ] || {
		echo "expected a question about $1 $2, got:"
		sbx prompts
		return 1
	}
}

# bats test_tags=contract,ci
@test "attack_f_01 a masked name that is missing: making it is asked, by whatever call, and refused it is not made" {
	local line
	for line in 'mkdir .claude' 'mkdir -p .claude/hooks' 'echo x >.envrc' 'echo x >tmp; mv tmp .envrc' 'mkdir tmpd; mv tmpd .vscode' \
		'ln -s file .envrc' 'ln file .envrc' 'mkfifo .envrc' 'python3 -c "import os; os.open(\".envrc\", os.O_CREAT | os.O_WRONLY)"' \
		'touch .mcp.json' 'cp file .gitconfig' "cd /; echo x >$HOME/repo/.//.envrc" 'mkdir -p d; echo x >d/../.envrc' \
		'cd .git; echo x >../.envrc' 'cp -r .git/info .cursor'; do
		background maker sbx run -- sh -c "$line"
		id=$(prompt_id) || { echo "not asked: $line" && return 1; }
		sbx prompts --json | jq -e '.[0] | .permission == "fs:write" and .confirm'
		sbx deny "$id"
		finished_answering deny maker
		echo "$line: $output ($status)"
		[ "$status" != 0 ]
		for name in .claude .envrc .vscode .mcp.json .gitconfig .cursor; do [ ! -e $name ] && [ ! -L $name ]; done
		rm -rf tmp tmpd d
	done
}

@test "attack_f_01 a masked name that is missing, by links that the tool has laid: refused it is not made" {
	local line
	answers agent 'deny=*=*'
	mkdir -p sub
	for line in 'ln -s .envrc x; echo x >x' 'ln -s $PWD/.envrc /tmp/x; echo x >/tmp/x' 'ln -s . d; echo x >d/.envrc' 'ln -s $PWD /tmp/d; mkdir /tmp/d/.claude' \
		'ln -s . d; ln -s file d/.envrc' 'ln -s . d; ln file d/.envrc' 'ln -s . d; touch tmp; mv -T tmp d/.envrc' 'ln -s $PWD/sub /tmp/d; echo x >/tmp/d/../.envrc' \
		'ln -s $PWD/sub /tmp/d; cd /tmp; mkdir d/../.claude' 'echo x >/proc/self/cwd/.envrc' 'mkdir /proc/thread-self/cwd/.claude' 'echo x >/proc/$$/cwd/.envrc' \
		'sleep 1 & echo x >/proc/$!/cwd/.envrc' 'exec 5<.; echo x >/dev/fd/5/.envrc' 'ln -s /proc/self/cwd d; echo x >d/.envrc' \
		'ln -s . d; python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"d/.envrc\")"' \
		'python3 -c "import ctypes, os; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); os.open(\".envrc\", os.O_CREAT | os.O_RDWR)"' \
		'ln -s /.envrc x; python3 -c "
import ctypes, os, struct
ctypes.CDLL(None).syscall(437, os.open(\".\", os.O_PATH), b\"x\", struct.pack(\"QQQ\", os.O_CREAT | os.O_RDWR, 0o600, 0x10), 24)"'; do
		run sbx run --allow fs:link=/ -- sh -c "($line); echo plain >plain && ln -s plain sub/link && echo through >sub/../plain"
		[ "$(cat plain)" = through ] # what isn't masked is made as ever
		for name in .claude .envrc; do
			if [ -e $name ] || [ -L $name ]; then echo "made by: $line" && return 1; fi
		done
		rm -rf x d tmp plain sub/link
	done
	rm -r sub
	unchanged
}

@test "attack_f_01 a masked name that is missing: allowed, it is made, and shut again when the grant has ended" {
	background maker sbx run -- sh -c 'echo mine >.envrc; touch up; until [ -e go ]; do sleep 0.05; done; echo later >>.envrc; echo "status $?"'
	asks fs:write "$HOME/repo/.envrc"
	sbx allow "$id" --ttl 1h
	wait_for 60 test -e up
	[ "$(cat .envrc)" = mine ]
	sbx revoke --all
	touch go
	finished_answering deny maker
	echo "$output"
	lacks "$output" "status 0"
	[ "$(cat .envrc)" = mine ]
	rm -f up go
}

# bats test_tags=stress
@test "attack_f_01 what slips past the question in a race is said at the end" {
	answers agent 'deny=*=*'
	: >x.envrc
	run timeout 600 sbx run -- ./race path create "$(times 500 1000000)" "$HOME/repo/venvrc" "$HOME/repo/.envrc"
	echo "$output"
	if [ -e .envrc ]; then
		[[ $output =~ "/.envrc"(," "|" and "|" is new"|" are new").*"would have been protected" ]]
	fi
	rm -f venvrc .envrc x.envrc
	unchanged
}

# bats test_tags=contract
@test "attack_f_02 attack_f_15 what is swapped between question and answer is not mounted: by the host or another sandbox" {
	mkdir -p "$here/evil"
	echo "a key" >"$here/evil/file"
	background victim sbx run -- cat "$here/mid/asked/file"
	prompt_id
	sbx run --allow "fs:write=$here" -- sh -c "mv $here/mid/asked $here/mid/away; mv $here/evil $here/mid/asked"
	sbx allow "$(prompt_id)" --scope folder || true
	finished_answering deny victim
	echo "$output"
	lacks "$output" "a key"
	# and by a link
	ln -sfn "$HOME/.ssh" "$here/link"
	mkdir "$here/plain"
	echo plain >"$here/plain/id_ed25519"
	background victim sbx run -- cat "$here/plain/id_ed25519"
	prompt_id
	sbx run --allow "fs:write=$here" --allow fs:link=/ -- sh -c "mv $here/plain $here/plain2; ln -s $HOME/.ssh $here/plain"
	sbx allow "$(prompt_id)" --scope folder || true
	finished_answering deny victim
	echo "$output"
	lacks "$output" "not a real key"
}

@test "attack_f_02 links and renames planted by the tool between question and answer lead nowhere" {
	asking_policy 60s "    allow: {fs:write: [\"\${project}\", $here], fs:link: [/]}
    ask: {fs:read: [$here/mid/asked]}
  planter: {extends: [default]}" # what a profile's own list asks about is asked at the start
	background planter sbx run --profile planter -- sh -c "cat $here/mid/asked/file & sleep 0.5
		timeout 2 mv $here/mid/asked $here/mid/m2; mv $here/mid $here/m2; timeout 2 rm -rf $here/mid; ln -s $HOME/.ssh $here/mid
		timeout 2 ./probe exchange $here/mid $here/file; timeout 2 ./probe rename $here/mid $here/m2; mkdir -p $here/new
		ln -s $HOME/.ssh $here/new/asked; timeout 2 ./probe exchange $here/new $here/mid; touch up; wait"
	wait_for 60 test -e up
	sbx allow "$(prompt_id)" --ttl 1h || true
	finished planter
	echo "$output"
	lacks "$output" "not a real key"
	[ "$(cat "$here/mid/asked/file")" = "what was shown" ]
	[ ! -L "$here/mid" ]
	rm -f up
	asking_policy
}

@test "attack_f_15 an exchange of what is granted while it is mounted: inside it is what has the name, but for what is denied" {
	mkdir "$here/evil"
	echo "what came" >"$here/evil/file"
	echo "a key" >"$here/evil/key"
	sbx grant fs:read "$here/mid/asked" --profile default
	sbx grant --deny fs:read "$here/mid/asked/key" --profile default
	background reader sbx run -- sh -c "cat $here/mid/asked/file; touch up
		until grep -qs came $here/mid/asked/file; do cat $here/mid/asked/key 2>/dev/null; done; cat $here/mid/asked/key; true"
	wait_for 60 test -e up
	./probe exchange "$here/mid/asked" "$here/evil"
	finished reader
	echo "$output"
	[ "$status" = 0 ]
	lacks "$output" "a key"
	rm -f up
}

@test "attack_f_04 attack_f_17 masks stay when a tree is granted over them while the sandbox runs" {
	git init -q "$here/inner"
	git -C "$here/inner" commit -q --allow-empty -m one
	sum=$(sha256sum "$here/inner/.git/config" "$here/inner/.git/HEAD")
	background granted sbx run -- sh -c "touch up; until [ -e go ]; do sleep 0.05; done; until cd $here 2>/dev/null; do sleep 0.05; done
		echo fine >made && echo made
		echo x >>inner/.git/config; echo x >inner/.git/hooks/pre-commit; mv inner/.git inner/g; mv inner i2; rm -rf inner/.git/hooks"
	wait_for 60 test -e up
	answers agent 'deny=*=*'
	sbx grant fs:write "$here" --profile default
	touch go
	finished granted 300
	echo "$output"
	contains "$output" made
	[ "$(sha256sum "$here/inner/.git/config" "$here/inner/.git/HEAD")" = "$sum" ]
	[ ! -e "$here/inner/.git/hooks/pre-commit" ]
	[ -d "$here/inner/.git/hooks" ]
	rm -f up go
}

@test "attack_f_06 attack_f_17 an answer lifts a mask until the grant ends, and the host's git doesn't tear it off" {
	background lifted sbx run -- sh -c 'echo "[x]" >>.git/config && echo first; touch up; until [ -e go ]; do sleep 0.05; done
		echo "[y]" >>.git/config && echo second; true'
	asks fs:write "$HOME/repo/.git/config"
	[ "$(sbx prompts --json | jq -r '.[0].confirm')" = true ]
	sbx allow "$id" --ttl 1h
	wait_for 60 test -e up
	grep -q '\[x\]' .git/config
	sbx revoke --all
	git config sbx.count 1 # lock and rename over what was mounted
	sleep 0.3
	touch go
	finished_answering deny lifted
	echo "$output"
	contains "$output" first
	lacks "$output" second
	run ! grep -q '\[y\]' .git/config
	rm -f up go
}

# bats test_tags=stress
@test "attack_f_01 no ghost files: after many runs git status is clean and nothing new lies in the project" {
	local count
	count=$(times 100 1000)
	rm -f probe race
	listing=$(find . | sort)
	# also while others begin and end
	seq "$count" | xargs -P 4 -I '{}' sbx run -- sh -c 'git status --porcelain; ! test -e .envrc; ls -A >/dev/null; echo "ran {}"' >"$HOME/run/runs" 2>&1
	[ "$(sort "$HOME/run/runs")" = "$(seq "$count" | sed 's/^/ran /' | sort)" ]
	[ -z "$(git status --porcelain)" ]
	[ "$(find . | sort)" = "$listing" ]
	unchanged
}

# bats test_tags=contract
@test "attack_f_18 a link planted where a grant will be mounted: not followed, nothing is made through it" {
	listing=$(find "$HOME/repo" | sort)
	background planter sbx run -- sh -c "ln -s $HOME/repo ~/.planted; mkdir -p ~/.deep; ln -s $HOME/repo ~/.deep/er; touch up
		until [ -e go ]; do sleep 0.05; done; cat file; cat ~/.planted/content; cat ~/.deep/er/content; ls -d ~/repo/new ~/repo/deep
		touch up2; until [ -e go2 ]; do sleep 0.05; done; cat file; echo x >>.git/config && echo unmasked"
	wait_for 60 test -e up
	mkdir -p "$HOME/.planted" "$HOME/.deep/er/new"
	echo "what was granted" | tee "$HOME/.planted/content" "$HOME/.deep/er/content" "$HOME/.deep/er/new/content" >/dev/null
	sbx grant fs:write "$HOME/.planted" --profile default || true
	sbx grant fs:write "$HOME/.deep/er/new" --profile default || true
	answers agent 'deny=*=*'
	touch go
	wait_for 60 test -e up2
	sbx revoke --all
	touch go2
	finished planter
	echo "$output"
	[ "$(grep -c '^one$' <<<"$output")" = 2 ] # the project is what it was
	lacks "$output" unmasked
	rm -f up up2 go go2
	[ "$(find "$HOME/repo" | sort)" = "$listing" ]
	unchanged
	rm -rf "$HOME/.planted" "$HOME/.deep"
}

@test "attack_f_18 folders above a grant that the tool moves: revoking takes the grant, wherever it is by then" {
	mkdir -p "$HOME/par/x/y"
	echo "what was granted" >"$HOME/par/x/y/file"
	sbx grant fs:read "$HOME/par/x/y" --profile default
	answers agent 'deny=*=*'
	background mover sbx run -- sh -c "cat ~/par/x/y/file; mv ~/par ~/par2; mv ~/par2/x ~/par2/x2; timeout 1 mkdir -p ~/par/x/y; touch up
		until [ -e go ]; do sleep 0.05; done; cat \$(find ~ -name file -path '*/y/file' 2>/dev/null)"
	wait_for 60 test -e up
	sbx revoke --match fs:read "$HOME/par/x/y"
	touch go
	sleep 0.5
	sbx kill --all || true
	finished mover
	echo "$output"
	[ "$(grep -c "what was granted" <<<"$output")" = 1 ]
	rm -rf up go "$HOME/par"
}

@test "attack_f_19 what the host mounts under a live grant later does not appear inside" {
	mkdir -p "$here/sub"
	echo early >"$here/sub/file"
	in_own_mounts '
		cd "$HOME/repo"
		plain sbx run -- sh -c "touch up; until [ -e granted ]; do sleep 0.05; done; cat '"$here"'/sub/file; touch seen
				until [ -e go ]; do sleep 0.05; done; cat '"$here"'/sub/file; cat '"$here"'/sub/late" \
			>"$HOME/run/inside" 2>&1 3>&- &
		pid=$!
		await() { for i in $(seq 1200); do [ ! -e $1 ] || return 0; sleep 0.05; done; return 1; }
		await up || exit 8
		plain sbx grant fs:read '"$here"' --profile default
		touch granted
		await seen || exit 8 # the grant is in the sandbox: what comes now comes later
		mount -t tmpfs tmpfs '"$here"'/sub || exit 9
		echo leaked >'"$here"'/sub/late
		touch go
		wait $pid'
	cat "$HOME/run/inside"
	[ "$(grep -c early "$HOME/run/inside")" = 2 ]
	run ! grep -q leaked "$HOME/run/inside"
	rm -f up granted seen go
}

@test "attack_f_11 a folder handed in as a standard descriptor would be a way out: the tool isn't started" {
	local number
	for number in 0 1; do
		run bash -c "sbx run --profile default -- touch started $number<."
		one_error 125
		contains "$output" "standard"
		[ ! -e started ]
	done
	run bash -c "sbx run --profile default -- cat <file"
	[ "$output" = one ]
}

# bats file_tags=part2

# bats test_tags=contract
@test "attack_f_20 --kill ends who hides what it holds: in another thread, behind a first one that has ended, in a socket" {
	local how
	for how in thread left passed; do
		rm -f up go
		sbx grant fs:read "$here" --profile default
		background holder sbx run --profile default -- python3 -c '
import array, ctypes, os, socket, sys, threading, time
path, how = sys.argv[1:3]
libc = ctypes.CDLL(None)
def held():
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    if how == "passed":
        ours, theirs = socket.socketpair()
        ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [folder]))])
        os.close(folder)
    open("up", "w").close()
    while not os.path.exists("go"):
        time.sleep(0.02)
    if how == "passed":
        _, ancillary, _, _ = theirs.recvmsg(1, socket.CMSG_SPACE(4))
        folder = array.array("i", ancillary[0][2])[0]
    print(os.read(os.open("new", os.O_RDONLY, dir_fd=folder), 99), flush=True)
def thread():
    libc.unshare(0x400) # CLONE_FILES
    held()
    os._exit(0)
if how == "passed":
    held()
else:
    threading.Thread(target=thread).start()
    if how == "left":
        libc.syscall(60 if os.uname().machine == "x86_64" else 93, 0)
    time.sleep(60)
' "$here" "$how"
		wait_for 60 test -e up
		run sbx revoke --match fs:read "$here" --kill
		echo "$how: $output"
		echo "what came later" >"$here/new"
		touch go
		finished holder
		contains "$output" "ended 1 process"
		lacks "$output" "what came later"
	done
	rm -f up go
}

# bats test_tags=stress
@test "attack_f_20 --kill ends who forks faster than it kills" {
	sbx grant fs:read "$here" --profile default
	grant=$(sbx grants --json | jq '.[0].id')
	background forker sbx run --profile default -- sh -c "./race chain 4 $here/file & touch up; wait; sleep 60"
	wait_for 30 test -e up
	sleep 0.5
	run timeout 20 sbx revoke "$grant" --kill
	echo "$output"
	# where that takes more than two seconds, the sandbox
	[[ $output == *Ended* || $output == *"it was ended"* ]]
	wait_for 60 no_process '^\./race chain'
	run timeout 20 sbx revoke "$grant" --kill
	echo "$output"
	lacks "$output" "Ended"
	lacks "$output" "still held"
	sbx kill --all || true
	finished forker 300
	rm -f up
}

@test "attack_f_20 after a revocation a working directory, an open folder and one that was passed on reach nothing to write or run" {
	printf '#!/bin/sh\necho executed\n' >"$here/program"
	chmod +x "$here/program"
	sbx grant fs:write "$here" --profile default
	answers agent 'deny=*=*'
	background holder sbx run --profile default -- python3 -c '
import array, os, socket, subprocess, sys, time
path = sys.argv[1]
here = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
ours, theirs = socket.socketpair()
child = os.fork()
def attempt(what, call):
    try:
        call()
        print(what, "worked", flush=True)
    except OSError as error:
        print(what, error.strerror, flush=True)
def wait():
    while not os.path.exists(sys.argv[2] + "/go"):
        time.sleep(0.02)
def attempts(who, folder):
    attempt(who + " create", lambda: os.open("new-" + who, os.O_CREAT | os.O_WRONLY, dir_fd=folder))
    attempt(who + " write", lambda: os.open("file", os.O_WRONLY, dir_fd=folder))
    attempt(who + " remove", lambda: os.unlink("file", dir_fd=folder))
    attempt(who + " folder", lambda: os.mkdir("dir-" + who, dir_fd=folder))
    attempt(who + " up", lambda: os.open("../t-up", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
if child == 0:
    message, ancillary, _, _ = theirs.recvmsg(1, socket.CMSG_SPACE(4))
    passed = array.array("i", ancillary[0][2])[0]
    wait()
    attempts("passed", passed)
    os._exit(0)
ours.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [here]))])
os.chdir(path)
os.close(os.open("made-before", os.O_CREAT | os.O_WRONLY))
open(sys.argv[2] + "/up", "w")
wait()
attempts("folder", here)
attempts("cwd", os.open(".", os.O_RDONLY))
attempt("cwd execute", lambda: subprocess.run(["./program"], check=True))
attempt("named", lambda: open(path + "/file").close())
os.waitpid(child, 0)
' "$here" "$HOME/repo"
	wait_for 60 test -e up
	run sbx revoke --match fs:write "$here"
	echo "$output"
	touch go
	finished holder
	echo "$output"
	contains "$output" "that held what is not allowed any more"
	[ "$status" = 137 ]
	lacks "$output" worked
	lacks "$output" executed
	[ "$(ls -A "$here")" = $'file\nmade-before\nmid\nprogram' ]
	rm -f up go
}

# bats test_tags=stress
@test "attack_f_22 while a broad grant comes and goes, sbx's own state and what is denied is never seen" {
	background peeker sbx run --profile default -- python3 -c '
import os, sys, time
secrets = [os.path.expanduser(path) for path in ("~/.local/state/sbx/sbx.db", "~/.config/sbx/policy.yaml", "~/.ssh/id_ed25519")]
seen = 0
open("up", "w")
while not os.path.exists("go"):
    for path in secrets:
        try:
            os.close(os.open(path, os.O_RDONLY))
            seen += 1
        except OSError:
            pass
    try:
        os.close(os.open(sys.argv[1], os.O_RDONLY))
        open("plain", "w")
    except OSError:
        pass
print("seen", seen)' "$here/file"
	wait_for 60 test -e up
	answers agent 'deny=*=*'
	for _ in $(seq "$(times 5 200)"); do
		sbx grant fs:read "$HOME" --profile default >/dev/null
		sleep 0.05
		sbx revoke --match fs:read "$HOME" >/dev/null || [ $? = 1 ] # the project's own rule stays
	done
	sbx grant fs:read "$HOME" --profile default >/dev/null
	wait_for 60 test -e plain # it would have seen them
	touch go
	finished peeker
	echo "$output"
	contains "$output" "seen 0"
	rm -f up go plain
}

@test "attack_k_03 the portal and the runner are not there for a tool, and nothing of them is" {
	run sbx run -- sh -c 'for p in /proc/[0-9]*; do cat $p/comm; done; cat /proc/*/mountinfo | grep -c "$HOME/.local/state"; ls -l /proc/1/fd /proc/self/fd; cat /proc/keys; ls /dev/fuse'
	echo "$output"
	lacks "$output" bwrap
	[ "$(grep -c '^sbx' <<<"$output")" = 1 ] # sbx-init
	lacks "$output" broker.sock
	lacks "$output" "/dev/fuse"$'\n'
	contains "$output" "/dev/fuse': No such file"
}

# bats test_tags=contract
@test "attack_k_04 a second listener is refused while traps are on" {
	asking_policy 60s '    ask: {proc:spawn: [sha1sum]}'
	sed -i "s/doorbell: .*/doorbell: traps/" "$HOME/.config/sbx/policy.yaml"
	broker_stop
	run sbx run -- ./probe listener
	echo "$output"
	[ "$output" = EBUSY ] || [ "$output" = EPERM ] || [ "$output" = ENOSYS ]
	asking_policy
}

# What sbx says at the end of what was refused.
without_last_words() {
	grep -v '^sbx: ' <<<"$1"
}

@test "attack_f_07 a program that is asked about is asked about by every name and way" {
	local line
	asking_policy 60s '    ask: {proc:spawn: [sha1sum]}'
	answers agent 'deny=*=*'
	sum=/usr/bin/sha1sum
	loader=$(ldd $sum | grep -o '/[^ ]*/ld-[^ ]*')
	for line in "$sum" "ln -s $sum /tmp/x; /tmp/x" "ln -s $sum x; ln -s x y; ./y" "ln -s /usr/bin x; x/sha1sum" "$loader $sum" "ln -s $sum /tmp/x; $loader /tmp/x" \
		"$loader /proc/self/root$sum" "exec /proc/self/root$sum" "exec /proc/self/cwd/../../../../../../../../usr/bin/sha1sum" "cp $sum x; ./x" "ln $sum x; ./x" \
		"printf '#!$sum\n' >x; chmod +x x; ./x" "printf '#!$sum\n' >/tmp/x; chmod +x /tmp/x; /tmp/x" "cd /tmp; ln -s $sum y; printf '#!y\n' >x; chmod +x x; ./x" \
		"printf '#!$sum\n' >x; printf '#!./x\n' >y; printf '#!./y\n' >z; chmod +x x y z; ./z" "ln -s $sum x; python3 -c 'import os; os.execve(os.open(\"x\", os.O_PATH), [\"x\"], {})'"; do
		run sbx run --profile default -- sh -c "($line) </dev/null; true"
		if grep -qE '[0-9a-f]{40}' <<<"$output"; then echo "ran: $line" && return 1; fi
		rm -f x y z
	done
	run sbx run --profile default -- sh -c 'printf "#!/bin/sh\necho works\n" >/tmp/x; chmod +x /tmp/x; /tmp/x'
	contains "$output" works
	asking_policy
}

# bats test_tags=stress
@test "attack_k_05 a storm of trapped and held calls: limits hold, the broker and another sandbox go on" {
	sbx grant fs:read "$here/mid" --profile default
	answers agent "deny:600000=*=$here/file"
	background storm sbx run -- ./race storm 16 "$(times 500 500000)" "$here/file" "$here/mid/asked/file" /etc/hostname
	sleep 0.5
	for _ in 1 2 3; do
		SECONDS=0
		run timeout 120 sbx run -- cat "$here/mid/asked/file"
		[ "$output" = "what was shown" ]
		((SECONDS < 30)) || is_running storm # it was not waited for
		run timeout 60 sbx prompts
		[ "$status" = 0 ]
	done
	finished storm 300
	echo "$output"
	[ "$status" = 0 ]
	output=$(without_last_words "$output")
	[ "${output##*worked }" = $((16 * $(times 500 500000) * 2)) ]
}

@test "attack_k_05 a process without a descriptor left can be held like any other" {
	background full sbx run -- sh -c "ulimit -n 8; exec 3</dev/null 4<&3 5<&3 6<&3; cat $here/file"
	asks fs:read "$here/file"
	sbx allow "$id"
	finished full
	echo "$output"
	contains "$output" "in $here"
}

# bats test_tags=stress
@test "attack_k_06 processes that die at any moment of a held call: no question stays, the next call is its own" {
	run timeout 600 sbx run -- ./race die "$(times 100 10000)" "$here/file"
	output=$(without_last_words "$output")
	[ "${output##*$'\n'}" = "done" ]
	wait_for 30 no_prompt_is_pending
	answers agent 'deny=*=*'
	background after sbx run -- sh -c "./race die 100 $here/file; cat $here/mid/asked/file"
	finished after 300
	lacks "$output" "what was shown"
	contains "$output" "Permission denied"
}

# bats test_tags=stress
@test "attack_k_07 a path that a second thread swaps: opens by the thousand, nothing outside the view" {
	mkdir -p "$here/a" "$here/b" "$HOME/repo/a"
	echo seen >"$here/a/file"
	echo secret >"$here/b/file"
	asking_policy 60s '  bare:
    extends: [base]
    allow: {fs:write: ["${project}"]}'
	sbx grant fs:read "$here/a" --profile bare --anywhere
	sbx grant fs:read "$here/a" --profile default --anywhere
	sbx grant --deny fs:read "$here/b" --profile default --anywhere
	run timeout 600 sbx run --profile bare -- ./race path read "$(times 100000 1000000)" "$here/a/file" "$here/b/file"
	echo "absent: $output"
	[[ $output == *" other 0" && $output != "one 0 "* ]]
	run timeout 600 sbx run --profile default -- ./race path read "$(times 100000 1000000)" "$here/a/file" "$here/b/file"
	echo "denied: $output"
	[[ $output == *" other 0" && $output != "one 0 "* ]]
	asking_policy
}

# bats test_tags=stress
@test "attack_k_07 a path that a second thread swaps while it is asked about, trapped and refused" {
	mkdir -p "$here/a" "$here/b"
	echo seen >"$here/a/file"
	echo secret >"$here/b/file"
	sbx grant fs:write "$here/a" --profile default
	answers agent "deny=fs:*=$here/b*"
	run timeout 600 sbx run -- ./race path read "$(times 500 100000)" "$here/a/file" "$here/b/file"
	echo "asked: $output"
	output=$(without_last_words "$output")
	[[ $output == *" other 0" && $output != "one 0 "* ]]
	sbx grant fs:read "$here/b" --profile default
	run timeout 600 sbx run -- ./race path write "$(times 500 100000)" "$here/a/file" "$here/b/file"
	echo "trapped: $output"
	output=$(without_last_words "$output")
	[[ $output == *" other 0" && $output != "one 0 "* ]]
	[ "$(cat "$here/b/file")" = secret ]
}

@test "attack_b_15 a grant whose end falls into a sleep has ended when the machine is awake again" {
	# what it holds is told of when it is taken from it
	background late sbx run -- sh -c "touch up; until [ -e granted ]; do sleep 0.05; done; exec 5<$here/file; cat <&5; touch read
		until [ -e go ]; do sleep 0.05; done; cat $here/file"
	wait_for 60 test -e up
	broker=$(broker_pid)
	sbx grant fs:read "$here" --profile default --ttl 4s
	touch granted
	wait_for 60 test -e read
	kill -STOP "$broker" # it can't tell anybody, as in a machine that sleeps
	sleep 4.2
	kill -CONT "$broker"
	wait_for 60 is_told_of_its_end
	touch go
	sbx deny "$(prompt_id)"
	finished late
	echo "$output"
	[ "$(grep -c "in $here" <<<"$output")" = 1 ]
	rm -f up granted read go
}

is_told_of_its_end() {
	sbx history --json | jq -es --arg path "$here/file" 'any(.[]; .kind == "expire" and (.detail.holders // [] | any(.path == $path)))'
}

# bats test_tags=contract
@test "the filter's own answers are the same with every doorbell" {
	for attempt in userns mount open-tree fsopen io-uring ptrace-init; do
		run sbx run -- ./probe "$attempt"
		[ "$output" != worked ]
	done
}
