#!/usr/bin/env bats
# Completion by the real shells: what bash, zsh and fish offer, and what stands in the line after a Tab in tmux.
# shellcheck disable=SC2016 # expanded by the shell under test

load helper
load tmux

setup_file() {
	home_make
	tmux_home
	scripts=$(cd "$TESTS/../../ui/completion" && pwd)
	export scripts
	policy <<END
version: 1
prompt: {timeout: 600s, without-agent: wait}
permissions: {db:access: use the database}
profiles:
  default:
    network: none
    ask: {db:access: ["*"]}
  builder: {extends: [base], allow: {fs:write: ["\${project}"]}}
  build-two: {extends: [base]}
END
	touch "$HOME/project/a file" "$HOME/project/plain"
	mkdir -p "$HOME/project/folder"
	sbx grant env:read FIRST --profile builder --always
	sbx grant fs:read "$(printf '/tmp/a\tb\e[2J')" --always
	background held sbx run --profile builder -- sleep 1000
	wait_for 30 session_runs
	sbx check db:access prod --reason "$(printf 'x\n:files')" >/dev/null 2>&1 3>&- &
	echo $! >"$HOME/run/check.pid"
	prompt_id >"$HOME/run/prompt"
}

teardown_file() {
	sbx kill --all || true
	home_remove
}

teardown() {
	tmux_end
}

session_runs() {
	[[ $(sbx sessions --json | jq length) == 1 ]]
}

# offered WORD…: by `sbx complete`. A loaded machine may be too slow for what a broker says: then there is nothing, and a
# person presses the key again.
offered() {
	sbx complete -- "$@"
}

offers() { # offers LINE WORD…: exactly this line is among them
	local line=$1
	shift
	offered "$@" | grep -qxF -- "$line"
}

# bash_offers LINE [TYPE]: what bash's function returns for the line with the cursor at its end, cut into words as bash cuts it.
bash_offers() {
	bash --norc --noprofile -c '
		compopt() { echo "compopt $*"; }
		. "$1/sbx.bash"
		COMP_LINE=$2 COMP_POINT=${#2} COMP_TYPE=${3:-9}
		mapfile -t COMP_WORDS < <(grep -oE "[:=]|[^ :=]+" <<<"$2")
		[[ $2 != *" " ]] || COMP_WORDS+=("")
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_sbx
		printf "%s\n" "${COMPREPLY[@]}"' bash "$scripts" "$1" "${2:-}"
}

bash_gives() { # bash_gives LINE EXPECTED: one of what is returned
	wait_for 30 bash_gives_now "$@"
}

bash_gives_now() {
	bash_offers "$1" | grep -qxF -- "$2"
}

fish_offers() {
	fish --no-config -c "source $scripts/sbx.fish; complete --do-complete=\"\$argv[1]\"" -- "$1"
}

fish_gives() { # fish_gives LINE EXPECTED: one of what is offered
	wait_for 30 fish_gives_now "$@"
}

fish_gives_now() {
	fish_offers "$1" | grep -qxF -- "$2"
}

# terminal SHELL…: an interactive one in tmux that has the completion.
terminal() {
	wait_for 30 tmux -f /dev/null new-session -d -x 180 -y 30 "$@" # the server of before may be about to end
	sees 'ready>'
}

bash_terminal() {
	printf "PS1='ready> '\n. %q\n" "$scripts/sbx.bash" >"$HOME/run/bashrc"
	terminal "bash --noprofile --rcfile $HOME/run/bashrc"
}

zsh_terminal() {
	mkdir -p "$HOME/run/zsh"
	printf "PS1='ready> '\nfpath=(%q \$fpath)\nautoload -Uz compinit\ncompinit -D -u\n" "$scripts" >"$HOME/run/zsh/.zshrc"
	terminal "env ZDOTDIR=$HOME/run/zsh zsh -d -i"
}

fish_terminal() {
	mkdir -p "$HOME/.config/fish"
	printf 'function fish_prompt; echo -n "ready> "; end\nfunction fish_greeting; end\nsource %s\n' "$scripts/sbx.fish" \
		>"$HOME/.config/fish/config.fish"
	terminal "fish -i"
}

keys() {
	tmux send-keys -l -- "$1"
}

pressed() { # pressed REGEX: the screen shows it, after as many Tabs as it takes
	shows "$1" || { tmux send-keys Tab && sleep 0.3 && shows "$1"; }
}

completes_to() { # completes_to LINE REGEX
	keys "$1"
	wait_for 20 pressed "$2" || sees "$2" # which shows the screen
}

@test "ids have words: a grant's pattern made visible, its end, the session's command" {
	wait_for 30 offers $'1\tbuilder: env:read FIRST, never' revoke ""
	wait_for 30 offers $'2\tdefault: fs:read /tmp/a\\tb\\x1b[2J, never' revoke ""
	wait_for 30 offers $'1\tbuilder: sleep 1000, in ~/project' kill ""
	wait_for 30 offers "$(<"$HOME/run/prompt")"$'\t'"default: db:access prod" allow ""
	wait_for 30 offers "builder" run --profile buil
	wait_for 30 offers $'exact\tprod' allow "$(<"$HOME/run/prompt")" --scope ""
	wait_for 30 offers $'db:access\tof your own' grant db
}

@test "what ended is offered where the past is asked about, and an id not twice" {
	sbx run --profile builder -- true
	wait_for 30 offers $'2\tbuilder: true, in ~/project' history --session ""
	wait_for 30 offers $'2\tbuilder: true, in ~/project' suggest --session ""
	run offered kill ""
	lacks "$output" "builder: true"
	sbx grant fs:read ~/notes --deny --profile builder --always
	wait_for 30 offers $'3\tbuilder: not fs:read ~/notes, never' revoke ""
	sbx revoke 3
	wait_for 30 offers $'2\tdefault: fs:read /tmp/a\\tb\\x1b[2J, never' revoke 1 ""
	run offered revoke 1 ""
	lacks "$output" FIRST
}

offers_permissions() {
	[[ $(HOME=$1 sbx complete -- grant fs:) == *fs:read* ]]
}

@test "no broker is started, and none is waited for" {
	local home=$HOME/run/other
	mkdir -p "$home"
	run env HOME="$home" sbx complete -- revoke ""
	[ "$status" = 0 ]
	[ -z "$output" ]
	[ -z "$(ls -A "$home")" ]
	# A socket where nobody answers, in a folder as the broker would have made it.
	mkdir -p "$home/.local/state/sbx/run"
	chmod 700 "$home/.local/state/sbx/run"
	python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.bind(sys.argv[1])
s.listen(0)
print("listens", flush=True)
time.sleep(1000)' "$home/.local/state/sbx/run/broker.sock" >"$HOME/run/deaf.out" 3>&- &
	echo $! >"$HOME/run/deaf.pid"
	wait_for 30 grep -q listens "$HOME/run/deaf.out"
	for line in "revoke" "allow" "kill" "run --profile"; do
		# shellcheck disable=SC2086 # words
		run env HOME="$home" timeout 20 sbx complete -- $line ""
		[ "$status" = 0 ]
		[ -z "$output" ]
	done
	wait_for 30 offers_permissions "$home"
	kill "$(<"$HOME/run/deaf.pid")"
}

@test "inside a sandbox there is nothing live to offer" {
	run sbx run --profile builder -- sbx complete -- revoke ""
	[ "$status" = 0 ]
	[ -z "$output" ]
}

@test "errors are silent" {
	for words in "" "--" "-- nonsense x" "-- run --nonsense x" "-- policy nonsense x"; do
		# shellcheck disable=SC2086 # words
		run sbx complete $words
		lacks "$output" "sbx:"
	done
}

@test "bash: commands, options, ids and what a colon or an equals sign cuts" {
	bash_gives "sbx rev" revoke
	bash_gives "sbx history --ver" --verify
	bash_gives "sbx run --profile buil" builder
	bash_gives "sbx run --profile=buil" builder
	bash_gives "sbx grant fs:re" read
	bash_gives "sbx grant fs:" write
	bash_gives "sbx run --allow net:access=l" "localhost:"
	bash_gives "sbx run --allow=fs:wr" write
	bash_gives "sbx grant fs:read ~/x --ttl 1" 1h
	bash_gives "sbx grant fs:read ~/x" "compopt -o default"
	bash_gives "sbx run --cwd " "compopt -o dirnames"
	bash_gives "sbx run -- sort --" "compopt -o default"
	FIRST=1 bash_gives "sbx run --env FIR" FIRST
	run bash_offers "sbx run bas"
	contains "$output" $'\nbash\n'
}

@test "bash: two ids have their words, one has none" {
	bash_gives "sbx revoke " "1  (builder: env:read FIRST, never)"
	wait_for 30 one_has_none
}

one_has_none() {
	[[ $(bash_offers "sbx revoke 1") == $'compopt -o nosort\n1' ]]
}

# bats test_tags=ci
@test "bash in a terminal: Tab" {
	bash_terminal
	completes_to 'sbx rev' 'ready> sbx revoke *$'
	tmux send-keys C-u
	completes_to 'sbx grant fs:w' 'ready> sbx grant fs:write *$'
	completes_to 'pl' 'ready> sbx grant fs:write plain *$'
	tmux send-keys C-u
	completes_to 'sbx grant fs:read=a' 'ready> sbx grant fs:read=a\\ file *$'
	tmux send-keys C-u
	completes_to 'sbx run --cwd=f' 'ready> sbx run --cwd=folder/$'
	tmux send-keys C-u
	completes_to 'sbx run --offline -- readl' 'ready> sbx run --offline -- readlink *$'
	tmux send-keys C-u
	completes_to 'sbx allow ' "ready> sbx allow $(<"$HOME/run/prompt") *\$"
	tmux send-keys C-u
	completes_to 'sbx revoke ' 'builder: env:read FIRST, never'
	sees '/tmp/a\\+tb\\+x1b\[2J, never'
}

@test "bash: the command in the sandbox completes as it would outside" {
	[[ -e /usr/share/bash-completion/bash_completion ]] || skip "optional: no bash-completion here"
	printf "PS1='ready> '\n. /usr/share/bash-completion/bash_completion\n. %q\n" "$scripts/sbx.bash" >"$HOME/run/bashrc"
	terminal "bash --noprofile --rcfile $HOME/run/bashrc"
	completes_to 'sbx run --profile builder -- sort --zero-t' 'sort --zero-terminated'
	tmux send-keys C-u
	completes_to 'sbx grant fs:w' 'ready> sbx grant fs:write *$'
}

@test "bash: what is typed is never run" {
	bash_terminal
	keys 'sbx grant $(touch '"$HOME"'/run/ran) `touch '"$HOME"'/run/ran` --profile buil'
	for _ in 1 2 3; do tmux send-keys Tab; done
	tmux send-keys C-u
	completes_to 'sbx rev' 'ready> sbx revoke *$'
	[ ! -e "$HOME/run/ran" ]
}

@test "attack_broker_09: a folder's name that is a command is a word in the line, in bash and zsh" {
	local folder=$HOME/'$(touch ran);x' prompt
	mkdir -p "$folder/below"
	touch "$folder/below/file"
	sbx check fs:read "$folder/below/file" >/dev/null 2>&1 3>&- &
	echo $! >"$HOME/run/hostile.pid"
	wait_for 30 hostile_prompt
	prompt=$(<"$HOME/run/hostile")
	sbx prompts --json | jq -e --arg folder "$folder" 'map(select(.scopes[] == $folder)) | length == 1'
	bash_gives "sbx allow $prompt --scope $HOME/" "$(printf %q "$folder")"
	run bash_offers "sbx allow $prompt --scope \"$HOME/" # what would be run within quotes isn't offered
	lacks "$output" touch
	zsh_terminal
	completes_to "sbx allow $prompt --scope $HOME/" ' --scope [^ ]*/\\\$\\\(touch\\ ran\\\)\\;x'
	tmux_end
	bash_terminal
	completes_to "sbx allow $prompt --scope $HOME/" ' --scope [^ ]*/\\\$\\\(touch\\ ran\\\)\\;x'
	tmux send-keys Enter
	sees 'Allowed'
	[ ! -e "$HOME/project/ran" ]
}

@test "attack_broker_09: no description gets into the line, whatever key completes it" {
	local type
	sbx grant db:access '; touch ran #' --profile builder
	bash_gives "sbx revoke " "1  (builder: env:read FIRST, never)"
	for type in 37 42; do
		wait_for 30 offers_one "$type"
		lacks "$output" "("
	done
}

offers_one() { # offers_one TYPE: with all else in $output
	output=$(bash_offers "sbx revoke " "$1")
	[[ $output == *$'\n1'* ]]
}

@test "attack_broker_09: a command to copy is that command in bash, zsh and fish" {
	local folder=$HOME/"a\\';touch ran;#" line shell words
	mkdir -p "$folder"
	words=$(printf '%s\n' grant db:access =ls --profile builder --project "$folder")
	run sbx run --project "$folder" --cwd "$folder" --profile builder -- sbx request db:access =ls
	line=sbx\ grant${output##*sbx grant}
	for shell in 'bash --norc' 'zsh -f'; do
		# shellcheck disable=SC2086 # its option
		[[ $($shell -c "sbx() { printf '%s\n' \"\$@\"; }"$'\n'"$line") == "$words" ]]
	done
	[[ $(fish --no-config -c "function sbx; printf '%s\n' \$argv; end; $line") == "$words" ]]
	[[ ! -e ran ]]
}

hostile_prompt() {
	sbx prompts --json | jq -er 'map(select(.permission == "fs:read"))[0].id' >"$HOME/run/hostile"
}

# bats test_tags=ci
@test "zsh in a terminal: Tab, with words" {
	zsh_terminal
	completes_to 'sbx rev' 'ready> sbx revoke *$'
	tmux send-keys C-u
	completes_to 'sbx revoke ' '^1 +-- builder: env:read FIRST, never'
	sees '^2 +-- default: fs:read /tmp/a\\tb\\x1b\[2J, never'
	tmux send-keys C-u
	completes_to 'sbx grant fs:w' 'ready> sbx grant fs:write *$'
	tmux send-keys C-u
	completes_to 'sbx grant fs:read=a' 'ready> sbx grant fs:read=a\\ file *$'
	tmux send-keys C-u
	completes_to 'sbx run --cwd=f' 'ready> sbx run --cwd=folder/? *$'
	tmux send-keys C-u
	completes_to 'sbx run --profile=build-' 'ready> sbx run --profile=build-two *$'
	tmux send-keys C-u
	completes_to 'sbx run --offline -- readl' 'ready> sbx run --offline -- readlink *$'
}

@test "zsh: the command in the sandbox completes as it would outside" {
	zsh_terminal
	keys 'compdef "compadd inner-word" inner'
	tmux send-keys Enter
	completes_to 'sbx run --profile builder -- inner inn' 'builder -- inner inner-word *$'
}

@test "zsh: what sbx completion prints can be evaluated" {
	mkdir -p "$HOME/run/zsh"
	printf "PS1='ready> '\nautoload -Uz compinit\ncompinit -D -u\neval \"\$(sbx completion zsh)\"\n" >"$HOME/run/zsh/.zshrc"
	terminal "env ZDOTDIR=$HOME/run/zsh zsh -d -i"
	completes_to 'sbx sess' 'ready> sbx sessions *$'
}

@test "fish: what it offers" {
	fish_gives "sbx rev" $'revoke\tEnd grants before their time.'
	fish_gives "sbx revoke " $'1\tbuilder: env:read FIRST, never'
	fish_gives "sbx grant fs:w" $'fs:write\tread and write'
	fish_gives "sbx run --profile=build-" "--profile=build-two"
	fish_gives "sbx grant fs:read=a" "fs:read=a file"
	fish_gives "sbx run --cwd f" $'folder/\tDirectory'
	run fish_offers "sbx run --cwd f"
	lacks "$output" "plain"
	run fish_offers "sbx run --allow env:read=FIRST_VAR"
	[ -z "$output" ]
	FIRST_VARIABLE=1 fish_gives "sbx run --allow env:read=FIRST_VAR" "env:read=FIRST_VARIABLE"
	fish_gives "sbx run --offline -- sbx gran" $'grants\tList what you have granted and denied.'
	run fish_offers "sbx grant "
	lacks "$output" "plain"
}

@test "fish in a terminal: Tab" {
	fish_terminal
	completes_to 'sbx rev' 'ready> sbx revoke'
	tmux send-keys C-u
	completes_to 'sbx revoke ' 'builder: env:read FIRST, never'
	tmux send-keys Escape C-u
	completes_to 'sbx grant fs:read=a' 'fs:read=a\\ file'
}

@test "sbx completion prints the script of each shell, and says what it has not" {
	for shell in bash:sbx.bash zsh:_sbx fish:sbx.fish; do
		diff <(sbx completion "${shell%:*}") "$scripts/${shell#*:}"
		diff <(SHELL=/usr/bin/${shell%:*} sbx completion) "$scripts/${shell#*:}"
	done
	run sbx completion tcsh
	one_error 2
	contains "$output" "bash, zsh or fish"
}
