_pdl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
    case $prev in
    --stream) COMPREPLY=($(compgen -W 'result context none' -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W 'text json' -- "$cur")); return ;;
    esac
    case ${COMP_WORDS[1]} in
    check) words='--help --strict --format --data-file --data ' ;;
    dump) words='--help --nodes --blocks --expr --types --code --table ' ;;
    explain) words='--help --data-file --data --allow --json --stream --prices ' ;;
    cache) words='--help --format --older-than --model --all ' ;;
    serve) words='--help --host --port --token-file --data-file --data --max-requests --max-waiting --request-time --allow-origin --log --mcp --cache --jobs --timeout --budget --prices --max-rps --max-tokens-per-minute --wire ' ;;
    schema) words='--help ' ;;
    help) words='--help ' ;;
    *) words='--help --sandbox --no-sandbox --data-file --data --stream --trace --record --replay --cache --jobs --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --schema --version ' ;;
    esac
    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); return; fi
    COMPREPLY=($(compgen -f -- "$cur"))
    [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W 'check dump explain cache serve schema help ' -- "$cur"))
    return 0
}
complete -o filenames -F _pdl pdl
