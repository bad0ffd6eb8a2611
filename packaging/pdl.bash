_pdl() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words values=
    # --name=value is three words here
    [[ $cur == = ]] && cur=
    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}
    case ${COMP_WORDS[1]} in
    check)
        words='--help --strict --format --json --fix --env --rule --data-file --data --eval --policy '
        case $prev in
        --format) values='text json sarif github' ;;
        esac ;;
    fmt)
        words='--help --check --diff --lines --sort '
        case $prev in
        esac ;;
    dump)
        words='--help --nodes --blocks --expr --specs --code --table '
        case $prev in
        esac ;;
    explain)
        words='--help --prefix --bound --data-file --data --eval --allow --particles --json --stream --cache --cache-marks --jobs --budget --prices --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all --check --rule '
        case $prev in
        --stream) values='result context none' ;;
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        --check) values='off warn stop' ;;
        esac ;;
    pack)
        words='--help --output --command --policy --replay '
        case $prev in
        esac ;;
    cache)
        words='--help --json --older-than --model --all '
        case $prev in
        esac ;;
    batch)
        words='--help --provider-batch --input --output --format --separator --map --data-file --data --types --jobs --on-error --max-errors --limit --sample --unordered --overwrite --retry-errors --changed --allow-files --keep --progress --report --json --dry-run --cache --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --format) values='jsonl csv tsv' ;;
        --on-error) values='keep stop' ;;
        --changed) values='reuse fail' ;;
        --progress) values='auto line none' ;;
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        esac ;;
    eval)
        words='--help --input --expect --judge --metric --samples --pass --against --until --difference --seed --infer --particles --by --sure --on-error --ess --resample --align --max-score --tries --fail-under --json --junit --output --map --limit --data-file --data --format --separator --types --jobs --progress --cache --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --metric) values='exact numeric contains' ;;
        --until) values='decided' ;;
        --infer) values='maj is smc rejection' ;;
        --on-error) values='fail drop zero' ;;
        --resample) values='systematic multinomial' ;;
        --format) values='jsonl csv tsv' ;;
        --progress) values='auto line none' ;;
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        esac ;;
    infer)
        words='--help --version --data-file --data --algo --particles --workers --verbose --by --sure --on-error --ess --resample --align --max-score --tries --seed --json --durable --id --sync --record --replay --cache --jobs --progress --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --algo) values='maj is smc rejection parallel-maj parallel-is parallel-smc parallel-rejection' ;;
        --on-error) values='fail drop zero' ;;
        --resample) values='systematic multinomial' ;;
        --sync) values='full process' ;;
        --progress) values='auto line none' ;;
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        esac ;;
    optimize)
        words='--help --config --init --data --expect --judge --metric --vary --tune --require --demos --proposer --proposals --yes --keep --objective --at-most --candidates --method --seed --dry-run --output --diff --durable --experiments-path --yield_output --no-yield_output --json --map --data-file --variable --format --separator --types --jobs --progress --cache --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --metric) values='exact numeric contains' ;;
        --format) values='jsonl csv tsv' ;;
        --progress) values='auto line none' ;;
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        esac ;;
    test)
        words='--help --json --junit --data-file --data --jobs --budget --prices --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --sandbox-min) values='full process' ;;
        esac ;;
    view)
        words='--help --html --svg --md --all --text --source --open --host --port --view-frame --run --data-file --data --cache --jobs --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        esac ;;
    resume)
        words='--help --changed --again --skip --rebuild --take-over --only-new --check --dry-run --json --data-file --data --stream --trace --whole --sync --park --provisional --output --cache --jobs --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --progress --verbose --otlp --otlp-content --otlp-all --sandbox --no-sandbox --sandbox-min '
        case $prev in
        --changed) values='reuse fail' ;;
        --stream) values='result context none' ;;
        --sync) values='full process' ;;
        --cache-marks) values='auto off' ;;
        --progress) values='auto line none' ;;
        --sandbox-min) values='full process' ;;
        esac ;;
    runs)
        words='--help --check --json --older-than --all --redact '
        case $prev in
        esac ;;
    answer)
        words='--help --at '
        case $prev in
        esac ;;
    trace)
        words='--help --format --prefix --json --prices --whole '
        case $prev in
        --format) values='json html perfetto' ;;
        esac ;;
    serve)
        words='--help --host --port --token-file --data-file --data --max-requests --max-waiting --request-time --allow-origin --log --mcp --ping --cache --jobs --cache-marks --prefix-first --timeout --budget --prices --max-rps --max-tokens-per-minute --wire --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all --durable --id --record --sync --provisional --again --take-over --check --rule '
        case $prev in
        --cache-marks) values='auto off' ;;
        --sandbox-min) values='full process' ;;
        --sync) values='full process' ;;
        --check) values='off warn stop' ;;
        esac ;;
    lsp)
        words='--help --env --prices --stdio '
        case $prev in
        esac ;;
    dap)
        words='--help --stdio '
        case $prev in
        esac ;;
    policy)
        words='--help --json '
        case $prev in
        esac ;;
    new)
        words='--help --template '
        case $prev in
        --template) values='chat rag agent batch' ;;
        esac ;;
    mock)
        words='--help --replies --strict --delay --host --port '
        case $prev in
        esac ;;
    sandbox)
        words='--help --show --json --sandbox --sandbox-min '
        case $prev in
        --sandbox-min) values='full process' ;;
        esac ;;
    repl)
        words='--help --data-file --data --model --cache --jobs --timeout --budget --prices --max-rps --max-tokens-per-minute --policy --sandbox --no-sandbox --sandbox-min --otlp --otlp-content --otlp-all '
        case $prev in
        --sandbox-min) values='full process' ;;
        esac ;;
    doctor)
        words='--help --net --json '
        case $prev in
        esac ;;
    schema)
        words='--help '
        case $prev in
        esac ;;
    version)
        words='--help '
        case $prev in
        esac ;;
    docs)
        words='--help '
        case $prev in
        esac ;;
    help)
        words='--help '
        case $prev in
        esac ;;
    *)
        words='--help --sandbox --no-sandbox --sandbox-min --data-file --data --eval --stream --trace --whole --record --replay --durable --id --sync --park --provisional --output --cache --jobs --cache-marks --prefix-first --timeout --budget --policy --prices --max-rps --max-tokens-per-minute --wire --view --view-frame --progress --verbose --check --rule --schema --otlp --otlp-content --otlp-all --version '
        case $prev in
        --sandbox-min) values='full process' ;;
        --stream) values='result context none' ;;
        --sync) values='full process' ;;
        --cache-marks) values='auto off' ;;
        --progress) values='auto line none' ;;
        --check) values='off warn stop' ;;
        esac ;;
    esac
    if [[ -n $values ]]; then COMPREPLY=($(compgen -W "$values" -- "$cur")); return; fi
    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W "$words" -- "$cur")); return; fi
    COMPREPLY=($(compgen -f -- "$cur"))
    [[ $COMP_CWORD == 1 ]] && COMPREPLY+=($(compgen -W 'run check fmt dump explain pack cache batch eval infer optimize test view resume runs answer trace serve lsp dap policy new mock sandbox repl doctor schema version docs help ' -- "$cur"))
    return 0
}
complete -o filenames -F _pdl pdl
