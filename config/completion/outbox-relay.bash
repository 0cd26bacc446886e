# Completion of outbox-relay(1) for bash. Commands and options are those that the program's help names.

_outbox_relay() {
    local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command=${COMP_WORDS[1]} help words

    COMPREPLY=()
    if [[ $before == -c || $before == --config ]]; then
        mapfile -t COMPREPLY < <(compgen -f -- "$word")
        return
    fi
    if ((COMP_CWORD == 1)) || [[ $command == help && $word != -* ]]; then
        words="$("$program" help 2>/dev/null | sed -n 's/^  \([a-z][a-z]*\)  *.*/\1/p') --help --version"
    else
        help=$("$program" help "$command" 2>/dev/null)
        if [[ $word == -* ]]; then
            words="$(grep -oE -- '--[a-z][a-z-]*' <<<"$help") --help --config -c"
        else # what the usage spells in small letters: dead list, pause sink
            words=$(sed -n 's/\[-c relay.toml\]//; s/--[a-z-]*//g; s/^usage: outbox-relay [a-z]*//p' <<<"$help" |
                grep -oE '\b[a-z]{3,}\b')
            ((COMP_CWORD == 2)) || words=
        fi
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

complete -o default -F _outbox_relay outbox-relay
