#!/usr/bin/env bats
# Ways whose place can't be told by their text, or not at all: what would be asked about isn't done unasked by them. One thread, no
# race. CMakeLists.txt runs this file with each doorbell.
# shellcheck disable=SC2016,SC2030,SC2031 # expanded inside the sandbox; a test's variables are its own

load helper

setup_file() {
	home_make
	mkdir "$HOME/secret"
	echo hidden >"$HOME/secret/file"
	git config --global init.defaultBranch main
	default_policy "without-agent: deny" '    allow: {fs:link: [/]}
    ask:
      fs:read: ["~/secret"]
      proc:spawn: [/usr/bin/sha512sum]'
	git init -q "$HOME/repo"
}

setup() {
	needs_doorbell
	cd "$HOME/repo" || return
}

@test "attack_p_01: a masked name that is missing isn't made by a way whose place can't be told" {
	run sbx run -- python3 - "$HOME/secret" "${SBX_TEST_DOORBELL:-auto}" <"$TESTS/placeless.py"
	echo "$output"
	[[ ${lines[*]} =~ tried\ [0-9]+ ]]
	lacks "$output" MADE
	lacks "$output" WRONG
	lacks "$output" Traceback
	[ ! -e .envrc ] && [ ! -L .envrc ] && [ ! -e .git/commondir ] && [ ! -e .vscode ]
	# each that wasn't the kernel's own error was a question
	[ "$(sbx history --json | jq -r 'select(.permission == "fs:write" and .target == "'"$HOME"'/repo/.envrc") | .verdict' | sort -u)" = deny ]
}

# runs LINE: it runs the program that is asked about.
runs() {
	run sbx run -- sh -c "cd /tmp; $1"
	echo "$1: $output ($status)"
	[[ $output =~ [0-9a-f]{128} ]]
}

@test "attack_p_01: a program that is asked about isn't run by a way or from a file whose place can't be told" {
	local line script='#!/usr/bin/sha512sum'
	local gone='mkdir gone; exec 5<gone; rmdir gone'
	for line in '/usr/bin/sha512sum </dev/null' "$gone; /proc/self/fd/5/../../usr/bin/sha512sum </dev/null" \
		"$gone; /dev/fd/5/../../usr/bin/sha512sum </dev/null" \
		"$gone; exec 6</proc/self/fd/5/../../usr/bin/sha512sum; /proc/self/fd/6 </dev/null" \
		"$gone; cd /proc/self/fd/5; ../../usr/bin/sha512sum </dev/null" \
		"printf '$script\n' >s; chmod 700 s; ./s /dev/null" "printf '$script\n' >s; chmod 111 s; ./s /dev/null" \
		"printf '$script\n' >/dev/shm/s; chmod 700 /dev/shm/s; /dev/shm/s /dev/null" \
		"python3 -c '
import os
fd = os.memfd_create(\"s\", 0)
os.write(fd, b\"$script\n\")
os.execve(fd, [\"s\", \"/dev/null\"], {})'"; do
		run ! runs "$line"
	done
	# the rest is as ever: files without a name, what was removed, standard input
	run sbx run -- python3 -c '
import os, sys
fd = os.memfd_create("p", os.MFD_CLOEXEC)
os.write(fd, open("/usr/bin/true", "rb").read())
os.execve(fd, ["p"], {})'
	[ "$status" = 0 ]
	run sbx run -- sh -c 'cp /usr/bin/echo e; exec 5<e; rm e; /proc/self/fd/5 runs; echo in | cat /dev/stdin; read -r name </proc/self/task/$$/comm; echo "$name"'
	[ "$output" = $'runs\nin\nsh' ]
	run sbx run -- cat /dev/stdin <"$HOME/secret/file"
	[ "$output" = hidden ]
}

@test "attack_p_01: a folder that was a real one, and is a link by the next call, leads nowhere unasked" {
	mkdir -p "$HOME/shown"
	default_policy "without-agent: deny" '    allow: {fs:read: ["~/shown"], fs:link: [/]}
    ask: {fs:write: ["~/shown"]}'
	run sbx run -- sh -c 'mkdir d; echo 1 >d/one; echo 2 >d/two; mv d e; ln -s . d
		echo evil >d/.envrc; mkdir d/.vscode; echo 3 >d/three; ln -s .envrc plain; echo evil >plain
		mkdir f; echo 1 >f/one; echo 2 >f/two; rm -r f; ln -s ~/shown f; echo 3 >f/asked; echo end'
	echo "$output"
	grep -qx end <<<"$output"
	[ ! -e .envrc ] && [ ! -e .vscode ] && [ ! -e "$HOME/shown/asked" ]
	[ "$(cat three e/one e/two)" = $'3\n1\n2' ]
	local name
	for name in "$PWD/.envrc" "$PWD/.vscode"; do
		[ "$(sbx history --json | jq -r 'select(.permission == "fs:write" and .target == "'"$name"'") | .verdict' | sort -u)" = deny ]
	done
	sbx history --json | jq -e 'select(.permission == "fs:write" and (.target | startswith("'"$HOME"'/shown")) and .verdict == "deny")' >/dev/null
	rm -rf d e f plain three
}
