_pdl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words
    case $prev in
    --sandbox-min) COMPREPLY=($(compgen -W 'full process' -- "$cur")); return ;;
    --stream) COMPREPLY=($(compgen -W 'result context none' -- "$cur")); return ;;
    --sync) COMPREPLY=($(compgen -W 'full process' -- "$cur")); return ;;
    --changed) COMPREPLY=($(compgen -W 'reuse fail' -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W 'json html perfetto' -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W 'text json' -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W 'text json sarif github' -- "$cur")); return ;;
    --check) COMPREPLY=($(compgen -W 'off warn stop' -- "$cur")); return ;;
    --template) COMPREPLY=($(compgen -W 'chat rag agent batch' -- "$cur")); return ;;
    --progress) COMPREPLY=($(compgen -W 'auto line none' -- "$cur")); return ;;
    --format) COMPREPLY=($(compgen -W 'jsonl csv' -- "$cur")); return ;;
    --on-error) COMPREPLY=($(compgen -W 'keep stop' -- "$cur")); return ;;
    --changed) COMPREPLY=($(compgen -W 'fail reuse' -- "$cur")); return ;;
    --progress) COMPREPLY=($(compgen -W 'auto lines none' -- "$cur")); return ;;
    --metric) COMPREPLY=($(compgen -W 'exact numeric contains' -- "$cur")); return ;;
    esac
    case ${COMP_WORDS[1]} in
    check) words='--help --strict --format --fix --env --rule --data-file --data --policy ' ;;
    fmt) words='--help --check --diff --lines --sort ' ;;
    dump) words='--help --nodes --blocks --expr --types --code --table ' ;;
    explain) words='--help --data-file --data --allow --json --stream --prices --check --rule ' ;;
    cache) words='--help --format --older-than --model --all ' ;;
    batch) words='--help --provider-batch --input --output --format --map --data-file --data --types --jobs --on-error --max-errors --limit --sample --unordered --overwrite --retry-errors --changed --allow-files --keep --progress --report --dry-run --cache --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min ' ;;
    eval) words='--help --data --expect --judge --metric --samples --pass --against --json --junit --output --map --limit --data-file --format --types --jobs --cache --timeout --budget --prices --max-rps --max-tokens-per-minute --wire ' ;;
    test) words='--help --junit ' ;;
    view) words='--help --html --svg --source --open --host --port --view-frame --run ' ;;
    resume) words='--help --changed --again --skip --rebuild --take-over --only-new --check --data-file --data --stream --trace --sync --park --provisional --output --cache --jobs --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --progress --verbose --otlp --otlp-content --sandbox --no-sandbox --sandbox-min ' ;;
    runs) words='--help --json --keep --redact ' ;;
    answer) words='--help --at ' ;;
    trace) words='--help --format ' ;;
    serve) words='--help --host --port --token-file --data-file --data --max-requests --max-waiting --request-time --allow-origin --log --mcp --cache --jobs --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --otlp --otlp-content --durable --id --record --sync --provisional --again --take-over --check --rule ' ;;
    lsp) words='--help --prices ' ;;
    dap) words='--help ' ;;
    policy) words='--help ' ;;
    new) words='--help --template ' ;;
    mock) words='--help --replies --strict --delay --port ' ;;
    sandbox) words='--help --check --sandbox --sandbox-min ' ;;
    repl) words='--help --data-file --data --model ' ;;
    doctor) words='--help --net --json ' ;;
    schema) words='--help ' ;;
    help) words='--help ' ;;
    *) words='--help --sandbox --no-sandbox --sandbox-min --data-file --data --eval --stream --trace --record --replay --durable --id --sync --park --provisional --output --cache --jobs --timeout --budget --policy --prices --max-rps --max-tokens-per-minute --wire --view --view-frame --progress --verbose --check --rule --schema --otlp --otlp-content --version ' ;;
    esac
    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); return; fi
    COMPREPLY=($(compgen -f -- "$cur"))
    [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W 'check fmt dump explain cache batch eval test view resume runs answer trace serve lsp dap policy new mock sandbox repl doctor schema help ' -- "$cur"))
    return 0
}
complete -o filenames -F _pdl pdl
