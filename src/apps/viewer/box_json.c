/* box_json.c -- writes boxes as JSON: short lines for the tree, and all details of one box; see
 * box_json.h. A trace may be hostile or damaged, so counts are checked before they are added, and
 * values are cut to a limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/box_json.h"

#include "base/utf8.h"
#include "base/word_list.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

enum { LOOSE = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_CONTEXT, MAX_OF_NAME = 200 };

static const char *const states[] = {[PDL_BOX_DONE] = "done",
                                     [PDL_BOX_FAILED] = "failed",
                                     [PDL_BOX_RECOVERED] = "recovered",
                                     [PDL_BOX_RUNNING] = "running"};

/* --- small parts ------------------------------------------------------------------------------ */

/* Appends at most n bytes of the JSON of v. Numbers such as NaN are written as text. Returns true
 * when the whole value was appended. */
static bool put_value(pdl_vref v, size_t n, int indent, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    bool whole = pdl_json_write_begin(v, LOOSE, indent, n, &b, &err);
    if (!whole && err.kind != PDL_E_limit) { /* JSON does not have this number */
        pdl_err_fini(&err);
        pdl_buf_clear(&b);
        whole = pdl_json_write_begin(v, LOOSE | PDL_JSON_NAN, indent, n, &b, &err);
    }
    if (whole)
        pdl_buf_put(out, pdl_buf_str(&b));
    else
        pdl_utf8_repair(out, pdl_buf_str(&b)); /* the last character may be incomplete */
    pdl_buf_fini(&b);
    pdl_err_fini(&err);
    return whole;
}

/* Returns the value of an evaluated expression {pdl__expr, pdl__result}. Other values are returned
 * unchanged. */
static pdl_vref evaluated(pdl_vref v) {
    if (!pdl_is_dict(v) || pdl_is_absent(pdl_dict_getz(v, "pdl__expr"))) return v;
    return pdl_dict_getz(v, "pdl__result");
}

static void put_member_text(const pdl_box *b, const char *key, const char *name, pdl_buf *out) {
    pdl_vref v = evaluated(pdl_box_get(b, key));
    if (pdl_is_str(v)) pdl_json_put_text(out, name, pdl_utf8_cut(pdl_str_get(v), MAX_OF_NAME));
}

/* Returns 0 for a value that cannot be a count of tokens, so that sums over a hostile trace stay in
 * range. */
int64_t pdl_usage_count(pdl_vref usage, const char *key) {
    pdl_vref v = pdl_is_dict(usage) ? pdl_dict_getz(usage, key) : pdl_absent();
    return pdl_is(v, PDL_V_INT) && pdl_int_of(v) > 0 && pdl_int_of(v) < INT32_MAX ? pdl_int_of(v)
                                                                                  : 0;
}

int64_t pdl_usage_tokens(pdl_vref usage) {
    return pdl_usage_count(usage, "prompt_tokens") + pdl_usage_count(usage, "completion_tokens");
}

int64_t pdl_box_tokens(const pdl_box *b) { return pdl_usage_tokens(pdl_box_get(b, "pdl__usage")); }

/* --- results ---------------------------------------------------------------------------------- */

/* Returns the result of the box. For a failure in a trace of the reference, the result is the
 * message. */
static pdl_vref result_of(const pdl_box *b) {
    pdl_vref v = pdl_box_get(b, "pdl__result");
    return pdl_is_absent(v) ? pdl_box_get(b, "msg") : v;
}

/* Appends the parameters of a function, which are the value of its definition. live.c shows the
 * functions of a run in progress in the same way. */
void pdl_box_signature(const pdl_box *b, pdl_buf *out) {
    pdl_vref p = pdl_box_get(b, "function");
    pdl_buf_putc(out, '(');
    for (size_t i = 0; pdl_is_dict(p) && i < pdl_dict_len(p); i++) {
        pdl_vref key = pdl_dict_key_at(p, i);
        if (i) PDL_PUT(out, ", ");
        if (pdl_is_str(key)) pdl_buf_put(out, pdl_utf8_cut(pdl_str_get(key), 100));
    }
    pdl_buf_putc(out, ')');
}

/* Appends a member whose value is this JSON. */
static void put_json(const char *key, pdl_str json, pdl_shared_values *shared, pdl_buf *out) {
    pdl_json_put_key(out, key);
    if (shared)
        pdl_shared_values_put(shared, json, out);
    else
        pdl_buf_put(out, json);
}

static void put_text(const char *key, pdl_str text, pdl_shared_values *shared, pdl_buf *out) {
    pdl_buf json = PDL_BUF;
    pdl_json_quote(text, 0, &json);
    put_json(key, pdl_buf_str(&json), shared, out);
    pdl_buf_fini(&json);
}

/* Appends the beginning of the result as text. With shared, a text that is among the details is
 * left out. */
static void put_preview(const pdl_doc *d, uint32_t i, pdl_shared_values *shared, pdl_buf *out) {
    const pdl_box *b = &d->boxes.p[i];
    pdl_val list = pdl_doc_messages(d, i, PDL_STR("pdl__result"), result_of(b));
    pdl_vref v = pdl_is_absent(list) ? result_of(b) : list;
    pdl_buf text = PDL_BUF;
    bool whole = true;
    if (pdl_is_absent(v)) return;
    /* a member of this length is never cut */
    if (shared && pdl_is_str(v) && pdl_str_get(v).n < PDL_BOX_MEMBER_BYTES / 8) return;
    if (pdl_str_is(b->kind, "function")) {
        pdl_box_signature(b, &text);
    } else if (pdl_is_str(v)) {
        pdl_str s = pdl_utf8_cut(pdl_str_get(v), PDL_BOX_PREVIEW_BYTES);
        whole = s.n == pdl_str_get(v).n;
        pdl_buf_put(&text, s);
    } else {
        whole = put_value(v, PDL_BOX_PREVIEW_BYTES, 0, &text);
        pdl_json_put_bool(out, "json", true);
    }
    put_text("text", pdl_buf_str(&text), shared, out);
    if (!whole) pdl_json_put_bool(out, "cut", true);
    pdl_buf_fini(&text);
    pdl_drop(list);
}

void pdl_box_result_text(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    pdl_vref v = result_of(&d->boxes.p[i]);
    pdl_val list = pdl_doc_messages(d, i, PDL_STR("pdl__result"), v);
    if (pdl_is_str(v))
        pdl_buf_put(out, pdl_str_get(v));
    else if (!pdl_is_absent(v))
        put_value(pdl_is_absent(list) ? v : list, PDL_BUF.limit, 2, out);
    pdl_drop(list);
}

/* --- a box in the tree ------------------------------------------------------------------------ */

static void put_times(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    const pdl_box *b = &d->boxes.p[i];
    int64_t zero = d->boxes.p[0].start;
    if (!b->start || b->start < zero) return;
    pdl_json_put_int(out, "start", (b->start - zero) / 1000);
    pdl_vref timing = pdl_box_get(b, "pdl__timing");
    pdl_vref first =
        pdl_is_dict(timing) ? pdl_dict_getz(timing, "first_token_nanos") : pdl_absent();
    if (pdl_is(first, PDL_V_INT) && pdl_int_of(first) >= b->start && pdl_int_of(first) <= b->end)
        pdl_json_put_int(out, "answers", (pdl_int_of(first) - b->start) / 1000);
    if (b->end >= b->start) pdl_json_put_int(out, "end", (b->end - zero) / 1000);
    int64_t waited = pdl_doc_waited(d, i);
    if (waited) pdl_json_put_int(out, "waited", waited / 1000);
}

/* Returns the variable that gets the value: the name in `def`, or else the key of the block in
 * `defs`. */
pdl_str pdl_box_variable(const pdl_box *b) {
    pdl_vref def = evaluated(pdl_box_get(b, "def"));
    pdl_str defs = PDL_STR("defs.");
    if (pdl_is_str(def)) return pdl_utf8_cut(pdl_str_get(def), MAX_OF_NAME);
    if (!pdl_str_starts(b->step, defs)) return (pdl_str){0};
    return pdl_utf8_cut(pdl_str_sub(b->step, defs.n, b->step.n), MAX_OF_NAME);
}

/* Appends the place of the box. is_short: when it begins with the place of the box around it, only
 * the rest is appended, from the dot on. */
static void put_place(const pdl_doc *d, uint32_t i, bool is_short, pdl_buf *out) {
    const pdl_box *b = &d->boxes.p[i];
    pdl_str place = b->place, around = d->boxes.p[b->parent].place;
    bool follows = is_short && i && around.n && pdl_str_starts(place, around) &&
                   place.n > around.n && place.p[around.n] == '.';
    if (follows) place = pdl_str_sub(place, around.n, place.n);
    if (place.n) pdl_json_put_text(out, "place", place);
}

static void put_line_members(const pdl_doc *d, const pdl_view_source *s, uint32_t i, bool is_short,
                             pdl_buf *out) {
    const pdl_box *b = &d->boxes.p[i];
    pdl_json_put_int(out, "id", i);
    if (i) pdl_json_put_int(out, "parent", b->parent);
    pdl_json_put_int(out, "n", b->n_children);
    if (b->n_children) pdl_json_put_int(out, "first", b->first);
    pdl_json_put_int(out, "depth", b->depth);
    pdl_json_put_text(out, "kind", pdl_utf8_cut(b->kind, 100));
    put_place(d, i, is_short, out);
    if (b->step.n) pdl_json_put_text(out, "step", b->step);
    pdl_json_put_text(out, "state", pdl_str_of(states[b->state]));
    if (pdl_box_variable(b).n) pdl_json_put_text(out, "def", pdl_box_variable(b));
    put_member_text(b, "role", "role", out);
    put_member_text(b, "model", "model", out);
    put_times(d, i, out);
    if (pdl_box_tokens(b)) pdl_json_put_int(out, "tokens", pdl_box_tokens(b));
    if (s && s->lines[i].first) {
        pdl_json_put_int(out, "line", s->lines[i].first);
        pdl_json_put_int(out, "to", s->lines[i].last);
        if (s->lines[i].file) pdl_json_put_int(out, "file", s->lines[i].file);
        if (s->lines[i].width) pdl_json_put_int(out, "column", s->lines[i].column);
        if (s->lines[i].width) pdl_json_put_int(out, "width", s->lines[i].width);
    }
}

void pdl_box_json_line(const pdl_doc *d, const pdl_view_source *s, uint32_t i, pdl_buf *out) {
    pdl_buf_putc(out, '{');
    put_line_members(d, s, i, false, out);
    put_preview(d, i, NULL, out);
    pdl_buf_putc(out, '}');
}

/* --- details ---------------------------------------------------------------------------------- */

/* Appends the box and the member with the list that v continues. Returns false when v continues no
 * list. */
static bool put_continued(const pdl_doc *d, uint32_t i, pdl_str name, pdl_vref v, pdl_buf *out) {
    if (!pdl_doc_continues(d, &i, &name, v)) return false;
    pdl_json_put_int(out, "continues", i);
    pdl_json_put_text(out, "of", name);
    return true;
}

static void put_detail(const pdl_doc *d, uint32_t i, pdl_str name, pdl_vref v,
                       pdl_shared_values *shared, pdl_buf *out) {
    pdl_buf json = PDL_BUF;
    bool code = pdl_is_dict(v) && !pdl_is_absent(pdl_dict_getz(v, "pdl__expr"));
    pdl_json_open(out, '{');
    pdl_json_put_text(out, "name", name);
    if (code) {
        put_value(pdl_dict_getz(v, "pdl__expr"), PDL_BUF.limit, 0, &json);
        put_json("code", pdl_buf_str(&json), shared, out);
        pdl_buf_clear(&json);
    }
    bool is_rest = shared && put_continued(d, i, name, evaluated(v), out);
    pdl_val list = is_rest ? pdl_keep(pdl_dict_getz(evaluated(v), "pdl__more"))
                           : pdl_doc_messages(d, i, name, evaluated(v));
    pdl_vref value = pdl_is_absent(list) ? evaluated(v) : list;
    if (!pdl_is_absent(value) && put_value(value, PDL_BOX_MEMBER_BYTES, 0, &json)) {
        put_json("value", pdl_buf_str(&json), shared, out);
    } else if (json.len) {
        put_text("cut", pdl_buf_str(&json), shared, out);
    }
    pdl_drop(list);
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&json);
}

/* Returns true for members that are shown as details: facts, and members of the source without
 * blocks. Blocks have separate boxes. */
static bool is_detail(const pdl_doc *d, const pdl_box *b, pdl_str key, pdl_vref v) {
    static const char *const shown_elsewhere[] = {"kind",       "pdl__id",     "pdl__trace",
                                                  "pdl__calls", "pdl__timing", "pdl__is_leaf"};
    if (PDL_STR_IN(key, shown_elsewhere)) return false;
    /* this is the only platform, and programs need not name it */
    if (pdl_str_is(key, "platform") && pdl_text_is(v, "litellm")) return false;
    /* the value of the definition of a function is the function */
    if (pdl_str_is(b->kind, "function") && pdl_str_is(key, "pdl__result")) return false;
    if (pdl_doc_is_fact(key) || !(pdl_is_dict(v) || pdl_is_list(v))) return true;
    for (uint32_t i = b->first; i < b->first + b->n_children; i++) {
        pdl_str step = d->boxes.p[i].step;
        if (pdl_str_starts(step, key) && (step.n == key.n || step.p[key.n] == '.')) return false;
    }
    return pdl_is_list(v) ? pdl_list_len(v) > 0 : pdl_dict_len(v) > 0;
}

static void put_names(const pdl_box *b, pdl_buf *out) {
    pdl_vref defs = pdl_box_get(b, "defs");
    pdl_json_put_key(out, "defines");
    pdl_json_open(out, '[');
    for (size_t i = 0; pdl_is_dict(defs) && i < pdl_dict_len(defs); i++) {
        pdl_vref key = pdl_dict_key_at(defs, i);
        if (i) pdl_buf_putc(out, ',');
        pdl_json_quote(pdl_is_str(key) ? pdl_str_get(key) : PDL_STR("?"), 0, out);
    }
    pdl_buf_putc(out, ']');
}

static void put_code(const pdl_box *b, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_val code = pdl_view_source_value(b->block);
    put_value(code, PDL_BOX_MEMBER_BYTES, 2, &text);
    pdl_json_put_text(out, "program", pdl_buf_str(&text));
    pdl_drop(code);
    pdl_buf_fini(&text);
}

void pdl_box_json_details(const pdl_doc *d, const pdl_view_source *s, uint32_t i,
                          pdl_shared_values *shared, pdl_buf *out) {
    const pdl_box *b = &d->boxes.p[i];
    pdl_buf_putc(out, '{');
    put_line_members(d, s, i, shared != NULL, out);
    put_preview(d, i, shared, out);
    put_names(b, out);
    bool has_lines = s && s->lines[i].first && !s->files.p[s->lines[i].file].written;
    if (!shared || !has_lines) put_code(b, out);
    pdl_json_put_key(out, "members");
    pdl_json_open(out, '[');
    for (size_t k = 0; k < pdl_dict_len(b->block); k++) {
        pdl_vref key = pdl_dict_key_at(b->block, k), v = pdl_dict_val_at(b->block, k);
        if (pdl_is_str(key) && is_detail(d, b, pdl_str_get(key), v))
            put_detail(d, i, pdl_str_get(key), v, shared, out);
    }
    pdl_buf_put(out, PDL_STR("]}"));
}

/* --- totals ----------------------------------------------------------------------------------- */

void pdl_doc_json_totals(const pdl_doc *d, pdl_buf *out) {
    /* a block may end before the answers that it began to wait for */
    int64_t failed = 0, calls = 0, prompt = 0, completion = 0, end = 0;
    for (size_t i = 0; i < d->boxes.n; i++) {
        const pdl_box *b = &d->boxes.p[i];
        pdl_vref usage = pdl_box_get(b, "pdl__usage");
        failed += b->counts;
        if (b->end > end) end = b->end;
        calls += pdl_usage_count(usage, "model_calls");
        prompt += pdl_usage_count(usage, "prompt_tokens");
        completion += pdl_usage_count(usage, "completion_tokens");
    }
    const pdl_box *root = &d->boxes.p[0];
    pdl_json_put_int(out, "boxes", (int64_t)d->boxes.n);
    pdl_json_put_int(out, "failed", failed);
    if (root->start && end > root->start)
        pdl_json_put_int(out, "micros", (end - root->start) / 1000);
    pdl_json_put_int(out, "calls", calls);
    pdl_json_put_int(out, "prompt_tokens", prompt);
    pdl_json_put_int(out, "completion_tokens", completion);
}
