# shellcheck shell=bash
# Completion of sbx for bash (4.4 or newer). What may stand where, sbx itself says: sbx-completion(1).

# The words up to the cursor as sbx would get them: bash has cut them at : and = (COMP_WORDBREAKS). Sets `words`, and in
# `starts` where each begins in COMP_WORDS.
_sbx_words() {
	local line=${COMP_LINE:0:COMP_POINT} piece i
	words=() starts=()
	for ((i = 0; i <= COMP_CWORD; i++)); do
		piece=${COMP_WORDS[i]}
		if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
			line=${line#"${line%%[![:space:]]*}"}
			words+=('')
			starts+=("$i")
		fi
		((i < COMP_CWORD)) || piece=${line:0:${#piece}} # what stands behind the cursor is not typed yet
		words[-1]+=$piece
		line=${line#"$piece"}
	done
}

# The command in the sandbox completes as it would outside. $1: its place in COMP_WORDS.
_sbx_command() {
	if ((COMP_CWORD == $1)); then
		mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
		compopt -o default
	elif declare -F _comp_command_offset >/dev/null; then
		_comp_command_offset "$1"
	elif declare -F _command_offset >/dev/null; then
		_command_offset "$1"
	else
		compopt -o default
	fi
}

_sbx() {
	local -a words starts
	local word before line value description quoted
	_sbx_words
	[[ ${words[-1]} != [\"\']* ]] || quoted=1
	words=("${words[@]//[\"\'\\]/}") # never evaluated
	word=${words[-1]} before=
	# Bash puts what we return behind the last of its word breaks.
	for line in : =; do
		[[ $COMP_WORDBREAKS != *"$line"* || $word != *"$line"* ]] || before=${word%"${word##*[:=]}"}
	done
	compopt -o nosort 2>/dev/null
	COMPREPLY=()
	while IFS= read -r line; do
		value=${line%%$'\t'*} description=${line#"$value"}
		case $line in
		:files) compopt -o default ;;
		:directories) compopt -o dirnames ;;
		:programs)
			mapfile -t COMPREPLY < <(compgen -c -- "${word#"$before"}")
			compopt -o default
			;;
		:variables) mapfile -t COMPREPLY < <(compgen -A export -- "${word#"$before"}") ;;
		:users) mapfile -t COMPREPLY < <(compgen -u -- "${word#"$before"}") ;;
		':command '*) _sbx_command "${starts[${line#:command } + 1]}" ;;
		:*) ;;
		*)
			value=${value#"$before"}
			printf -v line %q "$value"
			[[ ! ${quoted-} || $line == "$value" ]] || continue
			value=$line
			# A number alone says nothing. Bash takes the common beginning, which is one of the numbers';
			# menu-complete and insert-completions (37, 42) take all, and a description is never part of a line.
			[[ $value != +([0-9]) || ! $description || ${COMP_TYPE:-9} == @(37|42) ]] || value+="  (${description#$'\t'})"
			COMPREPLY+=("$value")
			;;
		esac
	done < <(sbx complete -- "${words[@]:1}" 2>/dev/null)
	((${#COMPREPLY[@]} != 1)) || COMPREPLY[0]=${COMPREPLY[0]%%  \(*}
	[[ ${COMPREPLY[0]-} != *: ]] || compopt -o nospace
}
complete -F _sbx sbx
