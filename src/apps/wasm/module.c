/* module.c -- has the functions that the host of the module calls, and the table of questions; see
 * wasm.h. The functions provide memory for questions, and answer them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wasm/wasm.h"

#include "base/pool.h"
#include "base/version.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_buf answer; /* the answer to the last question */

/* Small blocks come from a pool, because without a pool the memory would grow with each 64 KB of
 * them. Returns the pool that was entered before. */
static pdl_pool *enter_pool(void) {
    static pdl_pool *pool;
    if (!pool) pool = pdl_pool_new();
    return pdl_pool_enter(pool);
}

void *pdl_wasm_alloc(size_t n) { return pdl_alloc(n); }
void pdl_wasm_release(void *p) { pdl_free(p); }
const char *pdl_wasm_answer(void) { return pdl_buf_z(&answer); }

pdl_str pdl_wasm_text(pdl_vref question, const char *key) {
    pdl_vref v = pdl_dict_getz(question, key);
    return pdl_is_str(v) ? pdl_str_get(v) : PDL_STR("");
}

void pdl_wasm_put(pdl_vref v, pdl_buf *out) {
    pdl_err err = {0};
    int how = PDL_JSON_LOOSE | PDL_JSON_CONTEXT | PDL_JSON_CUT | PDL_JSON_NAN_NULL;
    size_t before = out->len;
    if (pdl_is_absent(v) || !pdl_json_write(v, how, 0, out, &err)) {
        pdl_buf_cut(out, before);
        PDL_PUT(out, "null");
    }
    pdl_err_fini(&err);
}

static void put_place(pdl_buf *out, pdl_loc place) {
    if (!place.src) return;
    pdl_json_put_text(out, "file", place.src->name);
    pdl_json_put_int(out, "line", pdl_loc_line(place));
    pdl_json_put_int(out, "column", pdl_source_column(place.src, place.start));
}

void pdl_wasm_put_error(const pdl_err *err, pdl_buf *out) {
    pdl_buf shown = PDL_BUF;
    pdl_err_print(err, true, &shown);
    pdl_buf_putc(out, '{');
    pdl_json_put_text(out, "kind", pdl_str_of(pdl_err_kind_name(err->kind)));
    pdl_json_put_text(out, "message", pdl_str_of(err->msg ? err->msg : ""));
    if (err->hint) pdl_json_put_text(out, "hint", pdl_str_of(err->hint));
    put_place(out, err->mark.src ? err->mark : err->loc);
    pdl_json_put_text(out, "text", pdl_buf_str(&shown));
    pdl_json_put_int(out, "exitCode", pdl_err_exit_code(err));
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&shown);
}

void pdl_wasm_put_refusal(const pdl_program *p, pdl_buf *out) {
    const pdl_diag *first = NULL;
    for (size_t i = 0; i < p->diags.n && !first; i++)
        if (p->diags.p[i].severity == PDL_DIAG_ERROR) first = &p->diags.p[i];
    pdl_buf shown = PDL_BUF;
    pdl_program_errors(p, &shown, true);
    pdl_buf_putc(out, '{');
    pdl_json_put_text(out, "kind", p->yaml_failed ? PDL_STR("syntax") : PDL_STR("schema"));
    pdl_json_put_text(out, "message",
                      first ? first->text : PDL_STR("the program cannot be loaded"));
    if (first && first->hint.n) pdl_json_put_text(out, "hint", first->hint);
    if (first) put_place(out, first->mark.src ? first->mark : first->loc);
    pdl_json_put_text(out, "text", pdl_buf_str(&shown));
    pdl_json_put_int(out, "exitCode", 1);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&shown);
}

static bool say_version(pdl_vref question, pdl_buf *out, pdl_err *err) {
    (void)question, (void)err;
    pdl_json_put_text(out, "version", PDL_STR(PDL_VERSION));
    return true;
}

static const struct {
    const char *ask;
    pdl_wasm_fn *fn;
} questions[] = {
    {"version", say_version},    {"check", pdl_wasm_check},     {"format", pdl_wasm_format},
    {"start", pdl_wasm_start},   {"step", pdl_wasm_step},       {"reply", pdl_wasm_reply},
    {"refuse", pdl_wasm_refuse}, {"piece", pdl_wasm_piece},     {"cancel", pdl_wasm_cancel},
    {"result", pdl_wasm_result}, {"free", pdl_wasm_free_run},   {"explain", pdl_wasm_explain},
    {"view", pdl_wasm_view},     {"changes", pdl_wasm_changes}, {"script", pdl_wasm_script},
    {"say", pdl_wasm_say},       {"forget", pdl_wasm_forget},   {"lsp", pdl_wasm_lsp},
};

static bool answer_to(pdl_vref question, pdl_buf *out, pdl_err *err) {
    pdl_str ask = pdl_wasm_text(question, "ask");
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++)
        if (pdl_str_is(ask, questions[i].ask)) return questions[i].fn(question, out, err);
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the module has no question '%.*s'",
                       PDL_FMT(ask));
}

size_t pdl_wasm_ask(const char *json, size_t n) {
    pdl_val question = pdl_absent();
    pdl_err err = {0};
    pdl_pool *before = enter_pool();
    pdl_buf_fini(&answer);
    answer = PDL_BUF;
    pdl_buf_putc(&answer, '{');
    bool ok = pdl_json_read((pdl_str){json, n}, PDL_JSON_PYTHON, &question, NULL, &err) &&
              (pdl_is_dict(question) ||
               pdl_err_set(&err, PDL_E_usage, (pdl_loc){0}, "a question is an object")) &&
              answer_to(question, &answer, &err);
    if (!ok) {
        pdl_buf_cut(&answer, 1);
        pdl_json_put_key(&answer, "error");
        pdl_wasm_put_error(&err, &answer);
    }
    pdl_buf_putc(&answer, '}');
    pdl_err_fini(&err);
    pdl_drop(question);
    pdl_pool_enter(before);
    return answer.len;
}
