/* shared_values.c -- writes JSON in which no long value is written twice; see shared_values.h.
 *
 * The text is read once, from left to right. When a string, list or object ends, everything inside
 * it is final, so equal values have equal texts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/shared_values.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

#include "base/banned.h"

enum { MIN_SHARED = 32 /* a reference to a shorter text would save nothing */ };

struct pdl_shared_values {
    pdl_arena *arena;
    pdl_map known; /* text -> 1 + its number in the list */
    uint32_t n;
    pdl_buf list;
};

pdl_shared_values *pdl_shared_values_new(void) {
    pdl_shared_values *s = PDL_NEW(pdl_shared_values);
    s->arena = pdl_arena_make();
    s->list = PDL_BUF;
    return s;
}

void pdl_shared_values_free(pdl_shared_values *s) {
    if (!s) return;
    pdl_map_fini(&s->known);
    pdl_buf_fini(&s->list);
    pdl_arena_free(s->arena);
    pdl_free(s);
}

/* Replaces the text from `from` on by the number of that value, when the text is long. */
static void share(pdl_shared_values *s, size_t from, pdl_buf *out) {
    pdl_str text = pdl_str_sub(pdl_buf_str(out), from, out->len);
    if (text.n < MIN_SHARED) return;
    uintptr_t number = (uintptr_t)pdl_map_find(&s->known, text);
    if (!number) {
        if (s->n) PDL_PUT(&s->list, ",\n");
        pdl_buf_put(&s->list, text);
        number = ++s->n;
        pdl_map_put(&s->known, pdl_arena_str(s->arena, text), (void *)number);
    }
    pdl_buf_cut(out, from);
    pdl_buf_putf(out, "{\"@\":%u}", (unsigned)(number - 1));
}

static size_t string_end(pdl_str json, size_t i) {
    for (i++; i < json.n && json.p[i] != '"'; i++) i += json.p[i] == '\\';
    return i < json.n ? i + 1 : json.n;
}

static bool is_space(char c) { return c == ' ' || c == '\n'; }

/* Appends a string. A key is not shared, because a key is no value. */
static void put_string(pdl_shared_values *s, pdl_str json, size_t i, size_t end, pdl_buf *out) {
    pdl_str text = pdl_str_sub(json, i, end);
    size_t next = end, from = out->len;
    while (next < json.n && is_space(json.p[next])) next++;
    bool is_key = next < json.n && json.p[next] == ':';
    if (is_key && pdl_str_starts(text, PDL_STR("\"@"))) {
        PDL_PUT(out, "\"@");
        text = pdl_str_sub(text, 1, text.n);
    }
    pdl_buf_put(out, text);
    if (!is_key) share(s, from, out);
}

void pdl_shared_values_put(pdl_shared_values *s, pdl_str json, pdl_buf *out) {
    PDL_VEC(size_t) open = {0}; /* where the lists and objects begin that have not ended */
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (c == '"') {
            size_t end = string_end(json, i);
            put_string(s, json, i, end, out);
            i = end - 1;
            continue;
        }
        if (is_space(c)) continue;
        if (c == '{' || c == '[') *pdl_vec_push(&open) = out->len;
        pdl_buf_putc(out, c);
        if ((c == '}' || c == ']') && open.n) share(s, open.p[--open.n], out);
    }
    pdl_vec_fini(&open);
}

void pdl_shared_values_list(const pdl_shared_values *s, pdl_buf *out) {
    pdl_buf_putc(out, '[');
    pdl_buf_put(out, pdl_buf_str(&s->list));
    pdl_buf_putc(out, ']');
}
