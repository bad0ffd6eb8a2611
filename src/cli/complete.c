/* complete.c -- pdl __complete bash|zsh|fish: completion of the shell, from the tables
 * (packaging/pdl.bash and so on).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include "base/banned.h"

static void put_words(const command *c, pdl_buf *out) {
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++)
        pdl_buf_putf(out, "--%s ", pdl_cli_option_of(*o)->name);
}

/* {a,b} without the braces, `between` for the commas. */
static void put_choices(const char *choices, char between, pdl_buf *out) {
    for (const char *p = choices + 1; p[1]; p++) pdl_buf_putc(out, *p == ',' ? between : *p);
}

static void put_names(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    for (size_t i = 1; i < n; i++)
        if (all[i].name[0] != '_') pdl_buf_putf(out, "%s ", all[i].name);
}

static void put_bash(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    PDL_PUT(out, "_pdl() {\n    local cur=${COMP_WORDS[COMP_CWORD]} "
                 "prev=${COMP_WORDS[COMP_CWORD-1]} words\n    case $prev in\n");
    for (opt_id id = 0; id < OPT_COUNT; id++) {
        if (!pdl_cli_option_of(id)->choices) continue;
        pdl_buf_putf(out, "    --%s) COMPREPLY=($(compgen -W '", pdl_cli_option_of(id)->name);
        put_choices(pdl_cli_option_of(id)->choices, ' ', out);
        PDL_PUT(out, "' -- \"$cur\")); return ;;\n");
    }
    PDL_PUT(out, "    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 1; i < n; i++) {
        if (all[i].name[0] == '_') continue;
        pdl_buf_putf(out, "    %s) words='", all[i].name);
        put_words(&all[i], out);
        PDL_PUT(out, "' ;;\n");
    }
    PDL_PUT(out, "    *) words='");
    put_words(&all[0], out);
    PDL_PUT(out, "' ;;\n    esac\n    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" "
                 "-- \"$cur\")); return; fi\n"
                 "    COMPREPLY=($(compgen -f -- \"$cur\"))\n    [[ $COMP_CWORD == 1 ]] && "
                 "COMPREPLY+=($(compgen -W '");
    put_names(out);
    PDL_PUT(out, "' -- \"$cur\"))\n    return 0\n}\ncomplete -o filenames -F _pdl pdl\n");
}

/* Text inside of single quotes; brackets and colons mean something to zsh. */
static void put_quoted(const char *s, bool zsh, pdl_buf *out) {
    for (; *s; s++) {
        if (*s == '\'')
            PDL_PUT(out, "'\\''");
        else if (zsh && (*s == '[' || *s == ']' || *s == ':'))
            pdl_buf_putf(out, "\\%c", *s);
        else
            pdl_buf_putc(out, *s);
    }
}

static void put_zsh(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    PDL_PUT(out, "#compdef pdl\n_pdl() {\n    case ${words[2]} in\n");
    for (size_t i = n; i-- > 0;) {
        if (all[i].name[0] == '_') continue;
        pdl_buf_putf(out, "    %s) _arguments", i ? all[i].name : "*");
        for (const opt_id *o = all[i].options; *o != OPT_COUNT; o++) {
            const option *row = pdl_cli_option_of(*o);
            pdl_buf_putf(out, " '--%s[", row->name);
            put_quoted(row->doc, true, out);
            PDL_PUT(out, "]");
            if (row->kind != OPT_FLAG) pdl_buf_putf(out, ":%s:", row->value);
            if (row->choices) {
                PDL_PUT(out, "(");
                put_choices(row->choices, ' ', out);
                PDL_PUT(out, ")");
            } else if (row->kind != OPT_FLAG) {
                PDL_PUT(out, "_files");
            }
            PDL_PUT(out, "'");
        }
        PDL_PUT(out, " '*:file:_files' ;;\n");
    }
    PDL_PUT(out, "    esac\n}\n_pdl \"$@\"\n");
}

static void put_fish(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    for (size_t i = 1; i < n; i++) {
        if (all[i].name[0] == '_') continue;
        pdl_buf_putf(out, "complete -c pdl -n __fish_use_subcommand -a %s -d '", all[i].name);
        put_quoted(all[i].doc, false, out);
        PDL_PUT(out, "'\n");
    }
    for (size_t i = 0; i < n; i++) {
        for (const opt_id *o = all[i].options; all[i].name[0] != '_' && *o != OPT_COUNT; o++) {
            const option *row = pdl_cli_option_of(*o);
            if (i)
                pdl_buf_putf(out, "complete -c pdl -n '__fish_seen_subcommand_from %s' -l %s",
                             all[i].name, row->name);
            else
                pdl_buf_putf(out, "complete -c pdl -n __fish_use_subcommand -l %s", row->name);
            if (row->letter) pdl_buf_putf(out, " -s %c", row->letter);
            if (row->kind == OPT_VALUE) PDL_PUT(out, " -r");
            if (row->choices) {
                PDL_PUT(out, " -a '");
                put_choices(row->choices, ' ', out);
                PDL_PUT(out, "'");
            }
            PDL_PUT(out, " -d '");
            put_quoted(row->doc, false, out);
            PDL_PUT(out, "'\n");
        }
    }
}

int pdl_cli_cmd_complete(const arguments *a) {
    static const struct {
        const char *shell;
        void (*put)(pdl_buf *out);
    } shells[] = {{"bash", put_bash}, {"zsh", put_zsh}, {"fish", put_fish}};
    for (size_t i = 0; a->files.n && i < sizeof shells / sizeof *shells; i++) {
        if (!pdl_str_is(a->files.p[0], shells[i].shell)) continue;
        pdl_buf out = PDL_BUF;
        shells[i].put(&out);
        int code = pdl_cli_put_stdout(pdl_buf_str(&out));
        pdl_buf_fini(&out);
        return code;
    }
    return pdl_cli_refuse(a, "expected bash, zsh or fish");
}
