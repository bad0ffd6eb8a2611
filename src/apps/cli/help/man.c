/* man.c -- pdl __man: writes the manual page (packaging/pdl.1) from the tables of commands, options
 * and kinds of errors. The page has the same texts as --help, so no option is described twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"

#include "base/banned.h"

/* Appends text with the escapes that roff needs. */
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
    const char *open = o->kind == OPT_MAYBE ? " [" : o->kind == OPT_ATTACHED ? "[=" : " ";
    if (value) pdl_buf_putf(out, "%s%s%s", open, value, open[1] || open[0] == '[' ? "]" : "");
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

/* Writes a paragraph for each exit code. The paragraph lists the kinds of errors that have this
 * code. */
static void put_codes(pdl_buf *out) {
    static const struct {
        int code;
        const char *doc;
    } kinds[] = {
        {0, "success; check found no errors (warnings are allowed)"},
#define X(id, code, doc) {code, doc},
        PDL_ERR_KINDS(X)
#undef X
            {1, "memory ran out: one line says so; whole files are kept, none is half written"},
        {3, "batch: some rows failed"},
        {141, "the reader of standard output went away; no message"},
    };
    PDL_PUT(out, ".SH EXIT STATUS\n");
    for (int code = 0; code <= 255; code++) {
        size_t shown = 0;
        for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
            if (kinds[i].code != code || (!code && i)) continue;
            if (!shown++) pdl_buf_putf(out, ".TP\n.B %d\n", code);
            if (shown > 1) PDL_PUT(out, ";\n");
            put_roff(kinds[i].doc, out);
        }
        if (shown) PDL_PUT(out, "\n");
    }
    PDL_PUT(out, ".TP\n.B n\nPython code called sys.exit(n)\n");
}

static void put_environment(pdl_buf *out) {
    static const struct {
        const char *name, *doc;
    } rows[] = {
        {"OPENAI_API_KEY, ANTHROPIC_API_KEY, ...",
         "keys of services, also from a file .env; pdl doctor says which are set"},
        {"PDL_PATH", "folders in which imports are looked for, separated by colons"},
        {"PDL_MCP_CONFIG", "the file that says which tool servers there are (import: mcp:NAME)"},
        {"PDL_TIMEOUT", "as --timeout, which wins over it"},
        {"PDL_PRICES", "as --prices, which wins over it"},
        {"PDL_POLICY", "a policy that is asked beside those of --policy"},
        {"PDL_SANDBOX", "as --sandbox; --no-sandbox wins over it"},
        {"PDL_RUNS", "the folder of the journals of durable runs"},
        {"PDL_RULES", "levels of the rules of pdl check, as NAME=LEVEL,NAME=LEVEL; --rule wins"},
        {"PDL_SERVE_TOKEN", "the token of pdl serve, as in --token-file"},
        {"PDL_OTLP", "1: traces go where the variables OTEL_EXPORTER_OTLP_... say"},
        {"PDL_PYTHON", "the Python interpreter for code blocks"},
        {"PDL_CODE_TIMEOUT", "seconds that one code block or command may take; unset: no limit"},
        {"PDL_CODE_MEMORY", "megabytes of address space for code; unset: no limit"},
        {"PDL_DUCKDB", "the file libduckdb.so, for tables in Parquet files"},
        {"PDL_COMMAND", "the command pdl that a library starts for a sandbox"},
        {"PDL_DEBUG", "effect,http,sse,worker: traffic that is shown on standard error"},
        {"PDL_DEBUG_FILE", "the file for what PDL_DEBUG shows, instead of standard error"},
        {"PDL_VERBOSE_ASYNC", "1: says when calls of models begin and end, with --stream none"},
        {"HTTPS_PROXY, http_proxy, NO_PROXY",
         "a proxy for addresses with https:, with http:, and hosts that need none"},
        {"SSL_CERT_FILE", "certificates to trust instead of the system's"},
        {"PDL_CA_FILE", "certificates to trust where the system has none"},
        {"NO_COLOR, FORCE_COLOR", "never, always colours"},
    };
    PDL_PUT(out, ".SH ENVIRONMENT\n");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        pdl_buf_putf(out, ".TP\n.B %s\n", rows[i].name);
        put_roff(rows[i].doc, out);
        pdl_buf_putc(out, '\n');
    }
    PDL_PUT(out, ".SH SEE ALSO\nThe manual: index.md below share/doc/libpdl/manual, which begins "
                 "with getting\\-started.md and tutorial.md.\n");
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
    put_environment(&out);
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}
