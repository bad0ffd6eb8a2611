/* shell_complete.c -- pdl __complete bash|zsh|fish: writes the completion of a shell from the
 * tables (packaging/pdl.bash and so on).
 *
 * Several commands have options with the same name and different values (--format, --check), so the
 * proposals always depend on the command first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include "base/banned.h"

/* Returns true for commands that users should see. */
static bool is_shown(const command *c) { return c->name[0] != '_'; }

static void put_words(const command *c, pdl_buf *out) {
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++)
        pdl_buf_putf(out, "--%s ", pdl_cli_option_of(*o)->name);
}

/* Appends a text such as {a,b} without its braces, and with blanks in place of commas. */
static void put_choices(const char *choices, pdl_buf *out) {
    for (const char *p = choices + 1; p[1]; p++) pdl_buf_putc(out, *p == ',' ? ' ' : *p);
}

/* Appends the names of commands from index `from`. When `from` is 1, `run` is left out; its options
 * are proposed after `pdl FILE` in any case. */
static void put_names(size_t from, pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    for (size_t i = from; i < n; i++)
        if (is_shown(&all[i])) pdl_buf_putf(out, "%s ", all[i].name);
}

/* Appends the text in single quotes, as one line. For zsh, special bytes get a backslash. */
static void put_quoted(const char *s, const char *special, pdl_buf *out) {
    for (; *s; s++) {
        if (*s == '\'')
            PDL_PUT(out, "'\\''");
        else if (strchr(special, *s))
            pdl_buf_putf(out, "\\%c", *s);
        else
            pdl_buf_putc(out, *s == '\n' ? ' ' : *s);
    }
}

/* --- bash ------------------------------------------------------------------------------------- */

/* Appends the code for a command: its options, and the choices of their values. */
static void put_bash_command(const command *c, const char *pattern, pdl_buf *out) {
    pdl_buf_putf(out, "    %s)\n        words='", pattern);
    put_words(c, out);
    PDL_PUT(out, "'\n        case $prev in\n");
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++) {
        const option *row = pdl_cli_option_of(*o);
        if (!row->choices) continue;
        pdl_buf_putf(out, "        --%s) values='", row->name);
        put_choices(row->choices, out);
        PDL_PUT(out, "' ;;\n");
    }
    PDL_PUT(out, "        esac ;;\n");
}

static void put_bash(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    PDL_PUT(out, "_pdl() {\n    local cur=${COMP_WORDS[COMP_CWORD]} "
                 "prev=${COMP_WORDS[COMP_CWORD-1]} words values=\n"
                 "    # --name=value is three words here\n"
                 "    [[ $cur == = ]] && cur=\n"
                 "    [[ $prev == = ]] && prev=${COMP_WORDS[COMP_CWORD-2]}\n"
                 "    case ${COMP_WORDS[1]} in\n");
    for (size_t i = 1; i < n; i++)
        if (is_shown(&all[i])) put_bash_command(&all[i], all[i].name, out);
    put_bash_command(&all[0], "*", out);
    PDL_PUT(out, "    esac\n"
                 "    if [[ -n $values ]]; then COMPREPLY=($(compgen -W \"$values\" -- \"$cur\")); "
                 "return; fi\n"
                 "    if [[ $cur == -* ]]; then COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")); "
                 "return; fi\n"
                 "    COMPREPLY=($(compgen -f -- \"$cur\"))\n    [[ $COMP_CWORD == 1 ]] && "
                 "COMPREPLY+=($(compgen -W '");
    put_names(0, out);
    PDL_PUT(out, "' -- \"$cur\"))\n    return 0\n}\ncomplete -o filenames -F _pdl pdl\n");
}

/* --- zsh -------------------------------------------------------------------------------------- */

/* Appends one option in the form that _arguments takes: '*'{-d+,--data=}'[doc]:DATA:_files'. */
static void put_zsh_option(const option *row, pdl_buf *out) {
    const char *sign = row->kind == OPT_FLAG ? "" : row->kind == OPT_ATTACHED ? "=-" : "=";
    PDL_PUT(out, " ");
    if (row->kind == OPT_VALUES) PDL_PUT(out, "'*'");
    if (row->letter)
        pdl_buf_putf(out, "{-%c%s,--%s%s}", row->letter, row->kind == OPT_FLAG ? "" : "+",
                     row->name, sign);
    else
        pdl_buf_putf(out, "--%s%s", row->name, sign);
    PDL_PUT(out, "'[");
    put_quoted(row->doc, "[]:", out);
    put_quoted(option_note(row), "[]:", out);
    PDL_PUT(out, "]");
    if (row->kind != OPT_FLAG) {
        PDL_PUT(out, ":");
        /* the value of the option may be left out */
        if (!option_needs_value(row)) PDL_PUT(out, ":");
        put_quoted(row->value, ":", out);
        PDL_PUT(out, ":");
        if (row->choices) PDL_PUT(out, "(");
        if (row->choices)
            put_choices(row->choices, out);
        else
            PDL_PUT(out, "_files");
        if (row->choices) PDL_PUT(out, ")");
    }
    PDL_PUT(out, "'");
}

static void put_zsh_command(const command *c, const char *pattern, pdl_buf *out) {
    pdl_buf_putf(out, "    %s) _arguments", pattern);
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++)
        put_zsh_option(pdl_cli_option_of(*o), out);
    PDL_PUT(out, " '*:file:_files' ;;\n");
}

static void put_zsh(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    PDL_PUT(out, "#compdef pdl\n_pdl() {\n    local -a commands\n    commands=(");
    for (size_t i = 0; i < n; i++) {
        if (!is_shown(&all[i])) continue;
        pdl_buf_putf(out, "\n        '%s:", all[i].name);
        put_quoted(all[i].doc, ":", out);
        PDL_PUT(out, "'");
    }
    PDL_PUT(out, "\n    )\n"
                 "    if (( CURRENT == 2 )) && [[ $PREFIX != -* ]]; then\n"
                 "        local ret=1\n"
                 "        _describe -t commands command commands && ret=0\n"
                 "        _files && ret=0\n"
                 "        return ret\n    fi\n    case ${words[2]} in\n");
    for (size_t i = 1; i < n; i++)
        if (is_shown(&all[i])) put_zsh_command(&all[i], all[i].name, out);
    put_zsh_command(&all[0], "*", out);
    PDL_PUT(out, "    esac\n}\n"
                 "if [[ $funcstack[1] == _pdl ]]; then _pdl \"$@\"; else compdef _pdl pdl; fi\n");
}

/* --- fish ------------------------------------------------------------------------------------- */

static void put_fish_option(const option *row, pdl_buf *out) {
    pdl_buf_putf(out, " -l %s", row->name);
    if (row->letter) pdl_buf_putf(out, " -s %c", row->letter);
    if (row->choices) {
        PDL_PUT(out, " -x -a '");
        put_choices(row->choices, out);
        PDL_PUT(out, "'");
    } else if (option_needs_value(row)) {
        PDL_PUT(out, " -r");
    }
    PDL_PUT(out, " -d '");
    put_quoted(row->doc, "", out);
    put_quoted(option_note(row), "", out);
    PDL_PUT(out, "'\n");
}

static void put_fish(pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    PDL_PUT(out, "set -l commands ");
    put_names(1, out);
    PDL_PUT(out, "\n");
    for (size_t i = 0; i < n; i++) {
        if (!is_shown(&all[i])) continue;
        pdl_buf_putf(out, "complete -c pdl -n __fish_use_subcommand -a %s -d '", all[i].name);
        put_quoted(all[i].doc, "", out);
        PDL_PUT(out, "'\n");
    }
    /* a command is the first word; after any other word the options of a run are proposed */
    for (size_t i = 0; i < n; i++) {
        for (const opt_id *o = all[i].options; is_shown(&all[i]) && *o != OPT_COUNT; o++) {
            PDL_PUT(out, "complete -c pdl -n ");
            if (i)
                pdl_buf_putf(out, "'__fish_seen_subcommand_from %s'", all[i].name);
            else
                PDL_PUT(out, "\"not __fish_seen_subcommand_from $commands\"");
            put_fish_option(pdl_cli_option_of(*o), out);
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
