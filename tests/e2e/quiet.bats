#!/usr/bin/env bats
# No storm of questions and no oracle: what starts asks nothing, a search asks once, and without an ask rule what is hidden
# can't be told from what isn't there. CMakeLists.txt runs this file with each doorbell.
# shellcheck disable=SC2016,SC2030,SC2031,SC2086,SC2088 # expanded inside the sandbox; a test's variables are its own

load helper

# A home that somebody lives in.
live_in() {
	local i
	mkdir -p ~/.config/{git,pip,npm,go,nvim,htop} ~/.cache/{pip,go-build,node,fontconfig} ~/.cargo/{bin,registry} ~/.rustup/toolchains \
		~/go/{bin,pkg/mod} ~/.local/{bin,share/applications,state} ~/.java/.userPrefs ~/.npm/_cacache ~/.m2 ~/.gradle ~/.vim ~/.node_modules
	mkdir -p "$(python3 -c 'import site; print(site.getusersitepackages())')"
	git config --global user.name tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
	echo '*.o' >~/.config/git/ignore
	echo 'set nocompatible' >~/.vimrc
	echo 'fund=false' >~/.npmrc
	echo '[net]' >~/.cargo/config.toml
	echo 'export LIVED=in' >~/.profile
	for i in .bashrc .bash_profile .inputrc .wgetrc .curlrc .ripgreprc .nvmrc .node_repl_history .python_history .gitignore; do : >~/$i; done
	for i in {001..130}; do
		if ((10#$i % 2)); then echo "needle $i" >~/name-$i; else mkdir ~/name-$i && echo "needle $i" >~/name-$i/file; fi
	done
}

setup_file() {
	home_make
	asking_policy
	live_in
	cp "$SBX_RACE" "$HOME/project/race"
	git init -q "$HOME/project"
	echo 'fn main() {}' >"$HOME/project/main.rs"
	printf 'package main\nfunc main() { println("go") }\n' >"$HOME/project/main.go"
}

setup() {
	needs_doorbell
	cd "$HOME/project" || return
}

teardown() {
	policy_restore
	sbx kill --all >/dev/null 2>&1 || true
	# shellcheck disable=SC2046 # ids
	none grants || sbx revoke $(sbx grants --json | jq '.[].id') >/dev/null
	if [ -e "$HOME/run/agent.pid" ]; then answers_end agent; fi
}

# asks_nothing LINE: it runs as outside, and no question came up.
asks_nothing() {
	local before
	before=$(asked agent)
	run timeout 300 sbx run --profile default -- sh -c "$1"
	echo "$1: $output ($status)"
	[ "$status" = 0 ]
	if [ "$(asked agent)" != "$before" ]; then
		tail -n "+$((before + 1))" "$HOME/run/agent.asked"
		return 1
	fi
}

@test "starting git, python and the shell's tools asks nothing in a home that is lived in" {
	answers agent 'deny=*=*'
	for line in 'git status' 'git log -1 2>&1 || true' 'git --version' 'git diff' 'python3 -c "import json, ssl, site; print(1)"' 'python3 --version' \
		'bash -c true' 'bash -ic true' 'bash -lc true' 'sh -lc true' 'bash -c "test ! -e ~/.bashrc -a ! -e ~/.profile"' 'ls' 'env' 'id' 'make --version' 'rg --version' 'rg fn' 'vim --version' 'less --version' \
		'vim -n -es -c q main.rs' 'perl -e 1' 'curl --version' 'cc --version' 'cc -x c -c -o /dev/null /dev/null' 'tar --version' 'which git'; do
		asks_nothing "$line"
	done
}

@test "starting node, npm, java, go and cargo asks nothing in a home that is lived in" {
	answers agent 'deny=*=*'
	for line in 'node -e 1' 'node --version' 'npm --version' 'java -version' 'go version' 'go env GOROOT' 'cargo --version' 'rustc --version' \
		'node -p "require(\"os\").homedir()"' 'java -Xshare:auto -XshowSettings:properties -version'; do
		asks_nothing "$line"
	done
}

@test "find over a home with an ask rule: one question, answered with the tree, and all is seen" {
	only_curtain "find looks before it opens"
	mkdir -p ~/tree/{a,b,c}/{d,e}
	for i in ~/tree/{a,b,c}/{d,e}; do echo leaf >"$i/file"; done
	background find sbx run -- find "$HOME/tree"
	id=$(prompt_id)
	sbx prompts
	[ "$(sbx prompts --json | jq -r '.[0].target')" = "$HOME/tree" ]
	sbx allow "$id"
	finished find
	[ "$status" = 0 ]
	[ "$(sort <<<"$output")" = "$(find "$HOME/tree" | sort)" ]
	[ "$(sbx history --json | jq -s "map(select(.kind == \"prompt\" and (.target | startswith(\"$HOME/tree\")))) | length")" = 1 ]
}

@test "find ~ and rg over a home with an ask rule: one question, for the home's tree; then they see what outside sees" {
	only_curtain "find looks before it opens"
	for line in "find $HOME \\( -path $HOME/.local -o -path $HOME/.config -o -path $HOME/run -o -path '$HOME/.[^n]*' \\) -prune -o -print | grep /name-" \
		"rg -uu --no-messages needle $HOME" "rg -uu --no-messages --sort path needle $HOME"; do
		before=$(sbx history --json | jq -s 'map(select(.kind == "prompt")) | length')
		background search timeout 300 sbx run -- sh -c "$line"
		id=$(prompt_id)
		sbx prompts --json | jq -c '.[] | [.permission, .target, .scopes]'
		[ "$(sbx prompts --json | jq -r '.[0] | .target, .description')" = "$HOME"$'\n''read everything in' ]
		sbx allow "$id"
		finished search 60
		after=$(sbx history --json | jq -s 'map(select(.kind == "prompt")) | length')
		echo "$line: $((after - before)) questions, status $status"
		head -n 5 <<<"$output"
		[ "$((after - before))" = 1 ]
		[ "$(grep "^$HOME/name-" <<<"$output" | sort)" = "$(sh -c "$line" | grep "^$HOME/name-" | sort)" ]
		[ "$(grep -c name- <<<"$output")" -ge 130 ]
		lacks "$output" Stale
		sbx revoke --all
	done
}

@test "who has the home open or named and doesn't list it is asked about what it wants alone" {
	only_curtain "tar looks before it opens"
	mkdir -p ~/few ~/.git
	echo one >~/few/file
	for line in "tar cf - -C $HOME few | tar tf -" "git -C $HOME status" "cd $HOME; exec 3<.; cat few/file"; do
		background wants timeout 300 sbx run --profile default -- sh -c "$line"
		prompt_id
		sbx prompts --json | jq -c '.[] | [.permission, .target, .scopes]'
		[[ $(sbx prompts --json | jq -r '.[0].target') == "$HOME"/?* ]]
		sbx deny "$(prompt_id)"
		finished wants
	done
}

@test "attack_f_21 without an ask rule hidden and absent are the same in errno, and in time by a rank test" {
	asking_policy 60s '  bare:
    extends: [base]
    allow: {fs:write: ["${project}"]}'
	mkdir -p ~/oracle/below
	for i in {00..49}; do touch ~/oracle-hid-$i ~/oracle/hid-$i ~/oracle/below/hid-$i; done
	answers agent 'allow=*=*'
	alike() { # alike HIDDEN ABSENT: once in three tries is enough, for the machine has other things to do
		for _ in 1 2 3; do
			run sbx run --profile bare -- ./race time 5000 "$1" "$2"
			echo "$1 $2: $output"
			[ "${output% *}" = "ENOENT ENOENT" ] || return 1
			if awk -v z="${output##* }" 'BEGIN { exit !(z < 4) }'; then return; fi
		done
		return 1
	}
	alike "$HOME/oracle-hid-" "$HOME/oracle-not-"
	alike "$HOME/oracle/hid-" "$HOME/oracle/not-"
	alike "$HOME/oracle/below/hid-" "$HOME/oracle/beneath/hid-"
	alike "$HOME/.ssh/hid-" "$HOME/.shh/hid-"
	alike /root/a- /rooo/a-
	for line in "stat $HOME/.ssh" "ls $HOME/oracle" "cat $HOME/oracle/hid-00" "echo x >$HOME/oracle/hid-00" "mkdir $HOME/oracle/below/new" \
		"cd $HOME/oracle" "readlink $HOME/oracle" "$HOME/oracle/hid-00" "ln -s x $HOME/oracle/l" "mv $HOME/oracle $HOME/o2"; do
		hidden=$(sbx run --profile bare -- sh -c "$line" 2>&1) && hidden+=" worked"
		absent=$(sbx run --profile bare -- sh -c "${line//oracle/elcaro}" 2>&1) && absent+=" worked"
		[ "$hidden" = "${absent//elcaro/oracle}" ] || [ "${hidden//.ssh/}" = "${absent//.ssh/}" ] || {
			echo "hidden: $hidden, absent: $absent"
			return 1
		}
	done
	[ "$(asked agent)" = 0 ]
	asking_policy
}

@test "attack_f_21 a rule's denial under an ask rule is as what isn't there" {
	mkdir -p ~/.aws && echo key >~/.aws/credentials
	answers agent 'allow=*=*'
	for path in ~/.aws ~/.aws/credentials ~/.ssh/id_ed25519 ~/.config/gh ~/.netrc; do
		run sbx run -- sh -c "stat $path; cat $path; ls -d $path"
		[ "$(grep -c 'No such file or directory' <<<"$output")" = 3 ]
	done
	run sbx run -- sh -c 'ls -A ~'
	lacks "$output" .aws
	lacks "$output" .ssh
	[ "$(grep -c . "$HOME/run/agent.asked")" = "$(grep -v -E '\.(aws|ssh|netrc)|/gh' "$HOME/run/agent.asked" | grep -c .)" ]
}

@test "a name that the host doesn't have is absent under an ask rule, too, and asks nothing" {
	answers agent 'allow=*=*'
	run sbx run -- sh -c 'cat ~/no-such-name ~/name-002/no-such; stat ~/.no-such; test -e ~/.config/no-such'
	[ "$(grep -c 'No such file' <<<"$output")" -ge 2 ]
	[ "$(grep -c no-such "$HOME/run/agent.asked")" = 0 ] || [ "$(grep -v name-002 "$HOME/run/agent.asked" | grep -c no-such)" = 0 ]
}
