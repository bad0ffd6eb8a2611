/* cmd_check.c -- pdl check FILE...: reports everything about programs that can be known without
 * running them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>

#include "api/find.h"
#include "cli/cli.h"
#include "lang/check.h"
#include "lang/load.h"
#include "value/json_write.h"

#include "base/banned.h"

typedef struct checker {
    const arguments *a;
    const pdl_session *session;
    pdl_str file; /* being checked */
    PDL_VEC(pdl_str) names;
    bool json;
    bool failed;
    int code; /* of a failed write */
} checker;

/* --- the report ------------------------------------------------------------------------------- */

static pdl_val put_num(pdl_val d, const char *key, uint32_t n) {
    return pdl_dict_putz(d, key, pdl_int(n));
}

static void put_json(checker *c, pdl_str file, const pdl_diag *d) {
    pdl_loc at = d->mark.src ? d->mark : d->loc;
    pdl_buf message = PDL_BUF, line = PDL_BUF, shown = PDL_BUF;
    pdl_err err = {0};
    pdl_buf_put(&message, d->text);
    if (d->hint.n) pdl_buf_putf(&message, " (%.*s)", PDL_FMT(d->hint));
    pdl_val v = pdl_dict_putz(pdl_dict_new(8), "file", pdl_text(file));
    v = put_num(v, "line", pdl_loc_line(at));
    v = put_num(v, "column", at.src ? pdl_source_column(at.src, at.start) : 0);
    v = put_num(v, "end_line", at.src ? pdl_source_line(at.src, at.end) : 0);
    v = put_num(v, "end_column", at.src ? pdl_source_column(at.src, at.end) : 0);
    v = pdl_dict_putz(v, "severity",
                      pdl_textz(d->severity == PDL_DIAG_ERROR ? "error" : "warning"));
    v = pdl_dict_putz(v, "code", pdl_textz(d->code));
    v = pdl_dict_putz(v, "message", pdl_text(pdl_buf_str(&message)));
    if (!pdl_json_write(v, PDL_JSON_SPACED, 0, &line, &err))
        PDL_BUG("a diagnostic is not JSON: %s", err.msg);
    pdl_buf_putc(&line, '\n');
    pdl_session_redact(c->session, pdl_buf_str(&line), &shown);
    if (!c->code) c->code = pdl_cli_put_stdout(pdl_buf_str(&shown));
    pdl_drop(v);
    pdl_buf_fini(&shown);
    pdl_buf_fini(&line);
    pdl_buf_fini(&message);
}

static void put_text(const checker *c, const pdl_diag *d) {
    pdl_buf b = PDL_BUF;
    pdl_diag_print(d, d->severity == PDL_DIAG_WARNING ? "warning: " : "", true, &b);
    pdl_cli_put_stderr(pdl_buf_str(&b), c->session);
    pdl_buf_fini(&b);
}

static void report(checker *c, const pdl_program *p) {
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->reference_only && !c->a->given[OPT_strict]) continue;
        c->failed = c->failed || d->severity == PDL_DIAG_ERROR;
        if (c->json)
            put_json(c, c->file, d);
        else
            put_text(c, d);
    }
}

static void cannot_read(checker *c, pdl_err *err) {
    c->failed = true;
    if (c->json)
        put_json(c, c->file, &(pdl_diag){.code = "file-unreadable", .text = pdl_str_of(err->msg)});
    else
        pdl_cli_print_error(err, c->session);
    pdl_err_fini(err);
}

static void check_file(checker *c) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_err err = {0};
    if (!pdl_cli_read_program(c->file, &text, &err)) {
        cannot_read(c, &err);
        pdl_buf_fini(&text);
        return;
    }
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, c->file, pdl_buf_str(&text), &ok);
    pdl_session_note(c->session, p);
    pdl_finder finder = {.file = c->file};
    finder.path = pdl_session_path(c->session, &finder.n_path);
    if (ok)
        pdl_program_check(p, &(pdl_check_options){
                                 .open = pdl_find_open,
                                 .user = &finder,
                                 .names = c->names.p,
                                 .n_names = c->names.n,
                             });
    report(c, p);
    pdl_program_drop(p);
    pdl_buf_fini(&text);
}

static void check_files(checker *c) {
    for (size_t i = 0; i < c->a->files.n; i++) {
        c->file = c->a->files.p[i];
        check_file(c);
    }
}

/* --- the command ------------------------------------------------------------------------------ */

int pdl_cli_cmd_check(const arguments *a) {
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    checker c = {.a = a, .json = a->given[OPT_format] && pdl_str_is(a->value[OPT_format], "json")};
    pdl_session *s = NULL;
    pdl_val vars = pdl_absent();
    pdl_err err = {0};
    bool ok = pdl_session_new(&(pdl_session_options){.file = a->files.p[0]}, &s, &err) &&
              pdl_cli_read_data(a, &vars, &err);
    if (ok) {
        c.session = s;
        *pdl_vec_push(&c.names) = PDL_STR("pdl_args"); /* every run has it */
        for (size_t i = 0; i < pdl_dict_len(vars); i++)
            if (pdl_is_str(pdl_dict_key_at(vars, i)))
                *pdl_vec_push(&c.names) = pdl_str_get(pdl_dict_key_at(vars, i));
        check_files(&c);
    } else {
        pdl_cli_print_error(&err, s);
        pdl_err_fini(&err);
    }
    pdl_vec_fini(&c.names);
    if (!pdl_is_absent(vars)) pdl_drop(vars);
    pdl_session_free(s);
    return c.code ? c.code : !ok || c.failed ? 1 : 0;
}
