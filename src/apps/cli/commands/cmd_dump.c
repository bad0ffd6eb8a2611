/* cmd_dump.c -- pdl dump FILE: prints the intermediate forms of a program as text. It shows
 * developers of libpdl and of other tools how a text was read: its nodes, blocks, expressions,
 * types or instructions. With --table it prints the tables of the language.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "cli/cli.h"
#include "compile/compile.h"
#include "lang/dump.h"
#include "lang/load.h"
#include "lang/schema.h"
#include "value/json_write.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static bool dump_nodes(pdl_program *p, pdl_buf *out, pdl_err *err) {
    (void)err;
    if (p->root) pdl_node_dump(p->root, out);
    return true;
}

static bool dump_blocks(pdl_program *p, pdl_buf *out, pdl_err *err) {
    pdl_val v = pdl_block_dump(p->main, NULL);
    bool ok = pdl_yaml_write(v, out, err);
    pdl_drop(v);
    return ok;
}

static bool dump_expr(pdl_program *p, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_list_exprs(p, out);
    return true;
}

static bool dump_types(pdl_program *p, pdl_buf *out, pdl_err *err) {
    return pdl_list_types(p, out, err);
}

static bool dump_code(pdl_program *p, pdl_buf *out, pdl_err *err) {
    (void)err;
    pdl_interner *names = pdl_interner_new();
    pdl_code *code = pdl_compile_program(p, names, false);
    pdl_code_dump(code, out);
    pdl_code_drop(code);
    pdl_interner_drop(names);
    return true;
}

static const struct {
    opt_id option;
    bool (*write)(pdl_program *p, pdl_buf *out, pdl_err *err);
} forms[] = {
    {OPT_nodes, dump_nodes}, {OPT_expr, dump_expr},     {OPT_specs, dump_types},
    {OPT_code, dump_code},   {OPT_blocks, dump_blocks},
};
enum { N_FORMS = sizeof forms / sizeof forms[0] };

/* Returns the index of the requested form; the index of the last form when none was requested;
 * N_FORMS when several were requested. */
static size_t form_of(const arguments *a) {
    size_t form = N_FORMS - 1, given = 0;
    for (size_t i = 0; i < N_FORMS; i++)
        if (a->given[forms[i].option] && given++ == 0) form = i;
    return given > 1 ? N_FORMS : form;
}

static int dump_file(const arguments *a, size_t form, const pdl_session *s) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE), out = PDL_BUF_INIT(PDL_MAX_TEXT),
            shown = PDL_BUF;
    pdl_err err = {0};
    pdl_program *p = pdl_program_new();
    bool ok = pdl_cli_read_program(a->files.p[0], &text, &err), loaded = false;
    if (ok) pdl_program_load(p, a->files.p[0], pdl_buf_str(&text), &loaded);
    if (ok) pdl_session_note(s, p);
    if (ok && !loaded) {
        pdl_cli_print_load_errors(p, s);
        if (forms[form].write != dump_nodes)
            form = N_FORMS; /* nodes can be shown even when blocks cannot */
    }
    ok = ok && (form == N_FORMS || forms[form].write(p, &out, &err));
    if (!ok) pdl_cli_print_error(&err, s);
    pdl_session_redact(s, pdl_buf_str(&out), &shown);
    int code = pdl_cli_put_stdout(pdl_buf_str(&shown));
    pdl_err_fini(&err);
    pdl_program_drop(p);
    pdl_buf_fini(&shown);
    pdl_buf_fini(&out);
    pdl_buf_fini(&text);
    return code ? code : ok && loaded ? 0 : 1;
}

/* Prints the tables of the language, for generators of code. */
static int dump_table(void) {
    pdl_buf out = PDL_BUF;
    pdl_err err = {0};
    pdl_val table = pdl_language_table();
    bool ok = pdl_json_write(table, 0, 1, &out, &err);
    if (!ok) PDL_BUG("the table of the language is not JSON: %s", err.msg);
    pdl_drop(table);
    PDL_PUT(&out, "\n");
    int code = pdl_cli_put_stdout(pdl_buf_str(&out));
    pdl_buf_fini(&out);
    return code;
}

int pdl_cli_cmd_dump(const arguments *a) {
    size_t form = form_of(a);
    if (a->given[OPT_table])
        return a->files.n ? pdl_cli_refuse(a, "--table goes without FILE") : dump_table();
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (form == N_FORMS)
        return pdl_cli_refuse(a, "one of --nodes, --blocks, --expr, --specs, --code at a time");
    pdl_session *s = NULL;
    pdl_err err = {0};
    pdl_session_options text = {.program.file = a->files.p[0], .run.purpose = PDL_FOR_TEXT};
    if (!pdl_session_new(&text, &s, &err)) {
        pdl_cli_print_error(&err, NULL);
        pdl_err_fini(&err);
        return 1;
    }
    int code = dump_file(a, form, s);
    pdl_session_free(s);
    return code;
}
