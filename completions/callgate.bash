# Completion of callgate for bash. Commands and options are asked of the program itself.
_callgate() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$(callgate --help 2>/dev/null | awk '/^  [a-z]/ {print $1}') --help --version" -- "$cur"))
		return
	fi
	case $prev in
	--format) COMPREPLY=($(compgen -W 'text json' -- "$cur")); return ;;
	--actor) COMPREPLY=($(compgen -W 'claude_process session_owner' -- "$cur")); return ;;
	--fsync) COMPREPLY=($(compgen -W 'always batch never' -- "$cur")); return ;;
	--journal) COMPREPLY=($(compgen -W 'required optional' -- "$cur")); return ;;
	--cwd | --home | --root | --state) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	approve | refuse)
		COMPREPLY=($(compgen -W "$(callgate pending 2>/dev/null | awk '/^[a-km-z]{5} / {print $1}')" -- "$cur"))
		return ;;
	journal) COMPREPLY=($(compgen -W 'verify head' -- "$cur")); return ;;
	esac
	if [[ $cur == -* ]]; then
		COMPREPLY=($(compgen -W "$(callgate "$command" --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u) --help" -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _callgate callgate
