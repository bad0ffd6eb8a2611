/* text_questions.c -- answers the questions about the text of a program, `check` and `format`; see
 * wasm.h. An editor in a page asks them after each change. Places are counted as JavaScript counts
 * characters, so that the page can mark them directly.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/models.h"
#include "api/session.h"
#include "check/report.h"
#include "fmt/fmt.h"
#include "lang/load.h"
#include "wasm/given_files.h"
#include "wasm/wasm.h"

#include "base/banned.h"

static pdl_check_library library; /* kept, so that the next check need not load the library again */

static pdl_val place_as_js(pdl_val d, pdl_vref from) {
    static const char *const members[][2] = {
        {"severity", "severity"},
        {"message", "message"},
        {"file", "file"},
        {"line", "line"},
        {"column", "column"},
        {"end_line", "endLine"},
        {"end_column", "endColumn"},
        {"hint", "hint"},
        {"fix", "fix"},
    };
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        pdl_vref v = pdl_dict_getz(from, members[i][0]);
        bool is_empty = pdl_is_absent(v) || (pdl_is_str(v) && !pdl_str_get(v).n);
        if (!is_empty) d = pdl_dict_putz(d, members[i][1], pdl_keep(v));
    }
    return d;
}

/* Makes {rule, severity, message, file?, line, column, endLine, endColumn, hint?, fix?}. */
static pdl_val problem_of(const pdl_diag *d, pdl_str name) {
    pdl_val value = pdl_report_value(d, name, true);
    pdl_val p = pdl_dict_putz(pdl_dict_new(10), "rule", pdl_textz(d->code));
    p = place_as_js(p, value);
    pdl_drop(value);
    return p;
}

bool pdl_wasm_check(pdl_vref question, pdl_buf *out, pdl_err *err) {
    bool ok;
    pdl_str name = pdl_wasm_text(question, "name");
    pdl_program *p = pdl_program_new();
    pdl_wasm_files files = {pdl_dict_getz(question, "files")};
    const pdl_model_env none = {0};
    const pdl_check_models models = pdl_models_for(&none, false);
    (void)err;
    pdl_program_load(p, name, pdl_wasm_text(question, "text"), &ok);
    pdl_program_check(p, &(pdl_check_options){
                             .open = pdl_wasm_open_source,
                             .user = &files,
                             .stdlib = pdl_session_library_text(),
                             .library = &library,
                             .models = &models,
                         });
    pdl_json_put_key(out, "problems");
    pdl_buf_putc(out, '[');
    size_t n = 0;
    for (size_t i = 0; i < p->diags.n; i++) {
        if (p->diags.p[i].reference_only) continue;
        pdl_val d = problem_of(&p->diags.p[i], name);
        if (n++) pdl_buf_putc(out, ',');
        pdl_wasm_put(d, out);
        pdl_drop(d);
    }
    pdl_buf_putc(out, ']');
    pdl_program_drop(p);
    return true;
}

bool pdl_wasm_format(pdl_vref question, pdl_buf *out, pdl_err *err) {
    pdl_arena *arena = pdl_arena_make();
    pdl_buf text = PDL_BUF;
    pdl_err why = {0};
    pdl_format_options o = {.name = pdl_wasm_text(question, "name")};
    bool ok = pdl_format(arena, pdl_wasm_text(question, "text"), &o, &text, &why);
    pdl_json_put_key(out, ok ? "text" : "error");
    pdl_val v = ok ? pdl_text(pdl_buf_str(&text)) : pdl_absent();
    if (ok)
        pdl_wasm_put(v, out);
    else
        pdl_wasm_put_error(&why, out);
    (void)err;
    pdl_drop(v);
    pdl_err_fini(&why);
    pdl_buf_fini(&text);
    pdl_arena_free(arena);
    return true;
}
