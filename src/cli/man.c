/* man.c -- pdl __man: the manual page, from the tables of commands, options and kinds of errors
 * (packaging/pdl.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include "base/banned.h"

/* Escapes text for roff. */
static void put_roff(const char *s, pdl_buf *out) {
    if (*s == '.' || *s == '\'') PDL_PUT(out, "\\&");
    for (; *s; s++) {
        if (*s == '\\' || *s == '-') pdl_buf_putc(out, '\\');
        pdl_buf_putc(out, *s);
    }
}

static void put_option(const option *o, pdl_buf *out) {
    const char *value = o->choices ? o->choices : o->value;
    PDL_PUT(out, ".TP\n.B ");
    if (o->letter) pdl_buf_putf(out, "\\-%c, ", o->letter);
    PDL_PUT(out, "\\-\\-");
    put_roff(o->name, out);
    if (value) pdl_buf_putf(out, o->kind == OPT_MAYBE ? " [%s]" : " %s", value);
    pdl_buf_putc(out, '\n');
    put_roff(o->doc, out);
    pdl_buf_putf(out, "%s\n", option_note(o));
}

static void put_command(const command *c, pdl_buf *out) {
    if (c->name[0] == '_') return;
    pdl_buf_putf(out, c->run == pdl_cli_cmd_run ? ".SS pdl %s\n" : ".SS pdl %s %s\n",
                 c->run == pdl_cli_cmd_run ? c->operands : c->name, c->operands);
    put_roff(c->doc, out);
    pdl_buf_putc(out, '\n');
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++) put_option(pdl_cli_option_of(*o), out);
}

static void put_codes(pdl_buf *out) {
    static const struct {
        const char *code, *doc;
    } others[] = {
        {"0", "success; check found no errors (warnings are allowed)"},
        {"141", "the reader of standard output went away; no message"},
        {"n", "Python code called sys.exit(n)"},
        {"1", "memory ran out: one line says so; whole files are kept, none is half written"},
    };
    PDL_PUT(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        pdl_buf_putf(out, ".TP\n.B %s\n", others[i].code);
        put_roff(others[i].doc, out);
        pdl_buf_putc(out, '\n');
    }
    static const struct {
        int code;
        const char *doc;
    } kinds[] = {
#define X(id, code, doc) {code, doc},
        PDL_ERR_KINDS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!kinds[i].code) continue;
        pdl_buf_putf(out, ".TP\n.B %d\n", kinds[i].code);
        put_roff(kinds[i].doc, out);
        pdl_buf_putc(out, '\n');
    }
}

int pdl_cli_cmd_man(const arguments *a) {
    (void)a;
    size_t n;
    const command *all = pdl_cli_commands(&n);
    pdl_buf out = PDL_BUF;
    PDL_PUT(&out, ".TH PDL 1 \"\" \"libpdl\" \"User commands\"\n.SH NAME\npdl \\- run programs of "
                  "the Prompt Declaration Language\n"
                  ".SH SYNOPSIS\n.B pdl\n[\\fIoptions\\fR] \\fIFILE\\fR\n.br\n.B "
                  "pdl\n\\fIcommand\\fR [\\fIoptions\\fR] ...\n.SH COMMANDS\n");
    for (size_t i = 0; i < n; i++) put_command(&all[i], &out);
    put_codes(&out);
    PDL_PUT(&out, ".SH ENVIRONMENT\n.TP\n.B PDL_PATH\nfolders in which imports are looked for, "
                  "separated by colons\n"
                  ".TP\n.B PDL_MCP_CONFIG\nthe file that says which tool servers there are "
                  "(import: mcp:NAME)\n"
                  ".TP\n.B PDL_PYTHON\nthe Python interpreter for code blocks\n"
                  ".TP\n.B PDL_CODE_TIMEOUT\nseconds that one code block or command may take; "
                  "unset: no limit\n"
                  ".TP\n.B PDL_CODE_MEMORY\nmegabytes of address space for code; unset: no limit\n"
                  ".TP\n.B SSL_CERT_FILE\ncertificates to trust instead of the system's\n"
                  ".TP\n.B PDL_CA_FILE\ncertificates to trust where the system has none\n"
                  ".TP\n.B NO_COLOR, FORCE_COLOR\nnever, always colours\n");
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}
