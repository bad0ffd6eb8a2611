#compdef pdl
_pdl() {
    case ${words[2]} in
    help) _arguments '--help[show this help and exit]' '*:file:_files' ;;
    schema) _arguments '--help[show this help and exit]' '*:file:_files' ;;
    cache) _arguments '--help[show this help and exit]' '--format[form of the report; text when absent]:FORM:(text json)' '--older-than[what was not used for so long\: 30d, 12h, 90m or 45s]:AGE:_files' '--model[what models of this name answered; * stands for anything]:GLOB:_files' '--all[everything]' '*:file:_files' ;;
    dump) _arguments '--help[show this help and exit]' '--nodes[the syntax tree of the YAML text]' '--blocks[the blocks as read (the default)]' '--expr[every expression, fully parenthesised]' '--types[every spec as JSON Schema]' '--code[the bytecode]' '*:file:_files' ;;
    check) _arguments '--help[show this help and exit]' '--strict[also report what the reference interpreter would refuse]' '--format[form of the report; text when absent]:FORM:(text json)' '--data-file[variables\: a file with a YAML mapping]:FILE:_files' '--data[variables\: a YAML mapping; wins over --data-file]:YAML:_files' '*:file:_files' ;;
    *) _arguments '--help[show this help and exit]' '--sandbox[confine code and commands (not available in this build\: refused)]' '--no-sandbox[do not confine code and commands (the default)]' '--data-file[variables\: a file with a YAML mapping]:FILE:_files' '--data[variables\: a YAML mapping; wins over --data-file]:YAML:_files' '--stream[what is printed while the program runs; result when absent]:MODE:(result context none)' '--trace[write the trace; beside the program as NAME_trace.json when no FILE is given. Put it last]:FILE:_files' '--record[record every effect of the run in a new journal]:FILE:_files' '--replay[answer every effect from a journal; nothing goes out]:FILE:_files' '--cache[share replies of models between runs in a file; made when it is not there]:FILE:_files' '--jobs[model calls open at a time; 64 when absent]:N:_files' '--budget[what the run may use\: some of calls=N,tokens=N,cost=X,seconds=X]:ITEMS:_files' '--prices[JSON table of what models cost for one token; that of PDL_PRICES when absent]:FILE:_files' '--schema[print the JSON Schema of programs and exit]' '--version[print the version and exit]' '*:file:_files' ;;
    esac
}
_pdl "$@"
