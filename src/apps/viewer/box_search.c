/* box_search.c -- searches boxes by their text, kind, model, state, time and tokens; see
 * box_search.h. When a text is searched, only innermost boxes count. So one pass goes from the last
 * box to the first, and marks the boxes around a hit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/box_search.h"

#include "base/limits.h"
#include "viewer/box_json.h"

#include "base/banned.h"

typedef struct query {
    pdl_str text, kind, role, variable, model, state, place;
    int64_t micros, tokens;
} query;

/* --- reading a query -------------------------------------------------------------------------- */

static const struct {
    const char *name;
    size_t at;
} texts[] = {
    {"text", offsetof(query, text)},   {"kind", offsetof(query, kind)},
    {"role", offsetof(query, role)},   {"variable", offsetof(query, variable)},
    {"model", offsetof(query, model)}, {"state", offsetof(query, state)},
    {"place", offsetof(query, place)},
};
static const struct {
    const char *name;
    size_t at;
} numbers[] = {{"micros", offsetof(query, micros)}, {"tokens", offsetof(query, tokens)}};

static bool read_member(query *q, pdl_vref key, pdl_vref v) {
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (pdl_text_is(key, texts[i].name) && pdl_is_str(v)) {
            *(pdl_str *)(void *)((char *)q + texts[i].at) = pdl_str_get(v);
            return true;
        }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (pdl_text_is(key, numbers[i].name) && pdl_is(v, PDL_V_INT)) {
            *(int64_t *)(void *)((char *)q + numbers[i].at) = pdl_int_of(v);
            return true;
        }
    return false;
}

static bool read_query(pdl_vref v, query *out, pdl_err *err) {
    for (size_t i = 0; pdl_is_dict(v) && i < pdl_dict_len(v); i++)
        if (!read_member(out, pdl_dict_key_at(v, i), pdl_dict_val_at(v, i)))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "a search has text, kind, role, variable, model, state, place "
                               "(texts), micros and tokens (integers)");
    return pdl_is_dict(v) ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "a search is a JSON object");
}

/* --- fitting ---------------------------------------------------------------------------------- */

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static bool contains(pdl_str s, pdl_str part) {
    char first = lower(part.p[0]);
    for (size_t i = 0; i + part.n <= s.n; i++) {
        if (lower(s.p[i]) != first) continue;
        size_t k = 1;
        while (k < part.n && lower(s.p[i + k]) == lower(part.p[k])) k++;
        if (k == part.n) return true;
    }
    return false;
}

/* Returns true when v contains the text. Recursion is limited to PDL_MAX_JSON_DEPTH, and ends
 * because the values of a trace form a tree. */
static bool holds(pdl_vref v, pdl_str part, unsigned depth) {
    if (depth > PDL_MAX_JSON_DEPTH) return false;
    if (pdl_is_str(v)) return contains(pdl_str_get(v), part);
    if (pdl_is_list(v))
        for (size_t i = 0; i < pdl_list_len(v); i++)
            if (holds(pdl_list_at(v, i), part, depth + 1)) return true;
    if (pdl_is_dict(v))
        for (size_t i = 0; i < pdl_dict_len(v); i++)
            if (holds(pdl_dict_key_at(v, i), part, depth + 1) ||
                holds(pdl_dict_val_at(v, i), part, depth + 1))
                return true;
    return false;
}

static bool has_text(const pdl_box *b, pdl_str part) {
    static const char *const members[] = {"pdl__result", "msg", "pdl__model_input", "data", "code"};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (holds(pdl_box_get(b, members[i]), part, 0)) return true;
    return contains(b->place, part);
}

static pdl_str member(const pdl_box *b, const char *key) {
    pdl_vref v = pdl_box_get(b, key);
    if (pdl_is_dict(v)) v = pdl_dict_getz(v, "pdl__result");
    return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
}

static bool defines(const pdl_box *b, pdl_str name) {
    pdl_vref defs = pdl_box_get(b, "defs");
    return pdl_str_eq(member(b, "def"), name) ||
           (pdl_is_dict(defs) && !pdl_is_absent(pdl_dict_gets(defs, name)));
}

static bool fits_state(const pdl_box *b, pdl_str state) {
    if (pdl_str_is(state, "failed")) return b->counts;
    return pdl_str_is(state, "recovered") ? b->state == PDL_BOX_RECOVERED
                                          : b->state == PDL_BOX_DONE;
}

static bool fits(const pdl_box *b, const query *q) {
    return (!q->kind.n || pdl_str_eq(b->kind, q->kind)) &&
           (!q->place.n || pdl_str_eq(b->place, q->place)) &&
           (!q->role.n || pdl_str_eq(member(b, "role"), q->role)) &&
           (!q->state.n || fits_state(b, q->state)) &&
           (!q->micros || (b->end > b->start && (b->end - b->start) / 1000 >= q->micros)) &&
           (!q->tokens || pdl_box_tokens(b) >= q->tokens) &&
           (!q->variable.n || defines(b, q->variable)) &&
           (!q->model.n || contains(member(b, "model"), q->model)) &&
           (!q->text.n || has_text(b, q->text));
}

/* --- the answer ------------------------------------------------------------------------------- */

static void put_way(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    pdl_json_open(out, '[');
    pdl_buf_putf(out, "%u", i);
    for (; d->boxes.p[i].depth > 0; i = d->boxes.p[i].parent)
        pdl_buf_putf(out, ",%u", d->boxes.p[i].parent);
    pdl_buf_putc(out, ']');
}

bool pdl_doc_find(const pdl_doc *d, pdl_vref v, pdl_buf *out, pdl_err *err) {
    query q = {0};
    size_t found = 0;
    if (!read_query(v, &q, err)) return false;
    char *fit = PDL_NEW_N(char, d->boxes.n);
    /* This loop goes from the last box to the first, because the boxes inside a box have higher
     * numbers. The mark 2 means that a box inside matches. */
    for (size_t i = d->boxes.n; i-- > 0;) {
        const pdl_box *b = &d->boxes.p[i];
        if (fit[i] != 2 && fits(b, &q)) fit[i] = 1;
        if (fit[i] && i && q.text.n) fit[b->parent] = 2;
    }
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "boxes");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < d->boxes.n; i++)
        if (fit[i] == 1 && ++found <= PDL_FIND_MAX) put_way(d, (uint32_t)i, out);
    pdl_buf_putc(out, ']');
    pdl_json_put_int(out, "found", (int64_t)found);
    pdl_buf_putc(out, '}');
    pdl_free(fit);
    return true;
}
