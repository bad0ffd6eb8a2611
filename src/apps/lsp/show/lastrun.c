/* lastrun.c -- finds the value of a variable in the trace of the last run; see lastrun.h. The file
 * is read each time, because it changes with every run and is small while a program is being
 * written. Large files are ignored.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/show/lastrun.h"

#include "io/file.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/utf8.h"

#include "base/banned.h"

enum { MAX_TRACE = 8 << 20, MAX_SHOWN = 300, MAX_DEPTH = 500 };

/* Searches the result of the block that sets the name. When several blocks set the name, the last
 * one counts. */
static void look(pdl_vref v, pdl_str name, unsigned depth, pdl_vref *found) {
    if (depth > MAX_DEPTH) return;
    if (pdl_is_list(v))
        for (size_t i = 0; i < pdl_list_len(v); i++)
            look(pdl_list_at(v, i), name, depth + 1, found);
    if (!pdl_is_dict(v)) return;
    pdl_vref def = pdl_dict_getz(v, "def"), result = pdl_dict_getz(v, "pdl__result"),
             defs = pdl_dict_getz(v, "defs");
    if (pdl_is_str(def) && pdl_str_eq(pdl_str_get(def), name) && !pdl_is_absent(result))
        *found = result;
    pdl_vref one = pdl_is_dict(defs) ? pdl_dict_gets(defs, name) : pdl_absent();
    if (!pdl_is_absent(pdl_member(one, "pdl__result"))) *found = pdl_member(one, "pdl__result");
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        look(pdl_dict_val_at(v, i), name, depth + 1, found);
}

static void show(const pdl_lsp *s, pdl_vref v, pdl_buf *out) {
    pdl_buf text = PDL_BUF, shown = PDL_BUF;
    pdl_err err = {0};
    if (!pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE | PDL_JSON_CUT, 0, &text, &err))
        pdl_err_fini(&err);
    if (s->opt.redact)
        s->opt.redact(s->opt.redact_user, pdl_buf_str(&text), &shown);
    else
        pdl_buf_put(&shown, pdl_buf_str(&text));
    pdl_str cut = pdl_utf8_cut(pdl_buf_str(&shown), MAX_SHOWN);
    pdl_buf_put(out, cut);
    if (cut.n < shown.len) PDL_PUT(out, "...");
    pdl_buf_fini(&text);
    pdl_buf_fini(&shown);
}

/* Appends the value that the variable has in a trace. */
static bool look_in(const pdl_lsp *s, pdl_str json, pdl_str name, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val trace;
    pdl_vref found = pdl_absent();
    if (pdl_utf8_check(json) != PDL_NOT_FOUND ||
        !pdl_json_read(json, PDL_JSON_PYTHON, &trace, NULL, &err)) {
        pdl_err_fini(&err);
        return false;
    }
    look(trace, name, 0, &found);
    bool is = !pdl_is_absent(found);
    if (is) show(s, found, out);
    pdl_drop(trace);
    return is;
}

/* Returns when the trace beside the program was written, in ns since the epoch; 0 when there is no
 * trace. */
static int64_t trace_beside(pdl_str program, pdl_buf *path) {
    pdl_buf_putf(path, "%.*s_trace.json", PDL_FMT(pdl_str_sub(program, 0, program.n - 4)));
    return pdl_file_written_ns(pdl_buf_z(path));
}

bool pdl_lsp_last_value(const pdl_lsp *s, const lsp_doc *d, pdl_str name, pdl_buf *out) {
    pdl_buf path = PDL_BUF, bytes = PDL_BUF_INIT(MAX_TRACE);
    pdl_str key = pdl_str_of(d->key), journal = {0};
    pdl_err err = {0};
    int64_t when = 0;
    if (!d->is_file || !pdl_str_ends(key, PDL_STR(".pdl"))) return false;
    int64_t written = trace_beside(key, &path);
    bool kept = s->opt.last_run && s->opt.last_run(s->opt.last_run_user, d->key, &journal, &when);
    bool found = kept && when > written && look_in(s, journal, name, out);
    if (!found && written && pdl_file_read(pdl_buf_z(&path), &bytes, &err))
        found = look_in(s, pdl_buf_str(&bytes), name, out);
    pdl_err_fini(&err);
    pdl_buf_fini(&bytes);
    pdl_buf_fini(&path);
    return found;
}
