# Completion of callgate for bash. Commands and options are asked of the program itself.
_callgate() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
	local hosts='claude-code gemini codex cursor opencode'
	COMPREPLY=()
	if ((COMP_CWORD == 1)); then
		COMPREPLY=($(compgen -W "$(callgate --help 2>/dev/null | awk '/^  [a-z]/ {print $1}') --help --version" -- "$cur"))
		return
	fi
	# A word with a = in it is three to bash: its value is what is completed.
	if [[ $prev == = || $cur == = ]]; then
		COMPREPLY=($(compgen -f -- "${cur#=}"))
		return
	fi
	case $prev in
	--format)
		local formats='text json'
		[[ $command == check ]] && formats+=' sarif'
		COMPREPLY=($(compgen -W "$formats" -- "$cur"))
		return ;;
	--fail-on) COMPREPLY=($(compgen -W 'violation weaker any' -- "$cur")); return ;;
	--ask) COMPREPLY=($(compgen -W 'auto host callgate' -- "$cur")); return ;;
	--actor) COMPREPLY=($(compgen -W 'claude_process session_owner' -- "$cur")); return ;;
	--fsync) COMPREPLY=($(compgen -W 'always batch never' -- "$cur")); return ;;
	--template) COMPREPLY=($(compgen -W 'strict balanced observe' -- "$cur")); return ;;
	--tools)
		# Of `check` it is a flag.
		[[ $command == run ]] && COMPREPLY=($(compgen -W 'record pin off' -- "$cur")) && return ;;
	--journal) COMPREPLY=($(compgen -W 'required optional' -- "$cur")); return ;;
	--cwd | --home | --root | --state) COMPREPLY=($(compgen -d -- "$cur")); return ;;
	approve | refuse)
		COMPREPLY=($(compgen -W "$(callgate pending 2>/dev/null | awk '/^[a-km-z]{5} / {print $1}')" -- "$cur"))
		return ;;
	journal) COMPREPLY=($(compgen -W 'show verify head rotate' -- "$cur")); return ;;
	state) COMPREPLY=($(compgen -W 'backup restore' -- "$cur")); return ;;
	console) COMPREPLY=($(compgen -W 'link password accounts forget' -- "$cur")); return ;;
	hook) COMPREPLY=($(compgen -W "$hosts install uninstall" -- "$cur")); return ;;
	install | uninstall) [[ $command == hook ]] && COMPREPLY=($(compgen -W "$hosts" -- "$cur")); return ;;
	esac
	if [[ $cur == -* ]]; then
		[[ $command == hook && ${COMP_WORDS[2]} == *install ]] && command="hook install"
		COMPREPLY=($(compgen -W "$(callgate $command --help 2>/dev/null | grep -oE -- '--[a-z][a-z-]+' | sort -u) --help" -- "$cur"))
	else
		COMPREPLY=($(compgen -f -- "$cur"))
	fi
}
complete -o filenames -F _callgate callgate
