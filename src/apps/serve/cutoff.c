/* cutoff.c -- ends an answer at a stop sequence or at a number of tokens; see cutoff.h. The end of
 * a streamed text is held back as long as it may be the beginning of a stop sequence.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/cutoff.h"

#include <string.h>

#include "value/int.h"

#include "base/banned.h"

int64_t pdl_serve_cutoff_max_tokens(pdl_vref body) {
    static const char *const names[] = {"max_completion_tokens", "max_tokens"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        pdl_vref v = pdl_dict_getz(body, names[i]);
        int64_t n;
        if (pdl_is_int(v) && pdl_int_get(v, &n) && n > 0) return n;
    }
    return 0;
}

static bool is_sequence(pdl_vref v) {
    return pdl_is_str(v) && pdl_str_get(v).n > 0 && pdl_str_get(v).n <= CUT_MAX_STOP;
}

bool pdl_serve_cutoff_is_stop(pdl_vref stop) {
    if (pdl_is_absent(stop) || pdl_is_null(stop) || is_sequence(stop)) return true;
    if (!pdl_is_list(stop) || pdl_list_len(stop) > CUT_MAX_STOPS) return false;
    for (size_t i = 0; i < pdl_list_len(stop); i++)
        if (!is_sequence(pdl_list_at(stop, i))) return false;
    return true;
}

cutoff pdl_serve_cutoff_of(pdl_vref body) {
    int64_t n = pdl_serve_cutoff_max_tokens(body);
    pdl_vref stop = pdl_dict_getz(body, "stop");
    bool any = n <= 0 || (uint64_t)n > SIZE_MAX / CUT_BYTES_OF_TOKEN;
    return (cutoff){.stops = pdl_is_null(stop) ? pdl_absent() : stop,
                    .limit = any ? SIZE_MAX : (size_t)n * CUT_BYTES_OF_TOKEN,
                    .held = PDL_BUF};
}

void pdl_serve_cutoff_fini(cutoff *c) { pdl_buf_fini(&c->held); }

/* Counts the stop sequences. stops is one text or a list of texts. */
static size_t n_stops(const cutoff *c) {
    return pdl_is_list(c->stops) ? pdl_list_len(c->stops) : pdl_is_str(c->stops) ? 1 : 0;
}

bool pdl_serve_cutoff_has_stops(const cutoff *c) { return n_stops(c) > 0; }

static pdl_str stop_at(const cutoff *c, size_t i) {
    return pdl_str_get(pdl_is_list(c->stops) ? pdl_list_at(c->stops, i) : c->stops);
}

/* Returns the offset at which the first stop sequence begins; PDL_NOT_FOUND when the text has
 * none. */
static size_t find_stop(const cutoff *c, pdl_str text) {
    size_t first = PDL_NOT_FOUND;
    for (size_t i = 0; i < n_stops(c); i++) {
        size_t at = pdl_str_find(text, stop_at(c, i), 0);
        if (at < first) first = at;
    }
    return first;
}

/* Returns how many bytes at the end of text may be the beginning of a stop sequence. */
static size_t may_begin(const cutoff *c, pdl_str text) {
    size_t most = 0;
    for (size_t i = 0; i < n_stops(c); i++) {
        pdl_str stop = stop_at(c, i);
        size_t n = stop.n - 1 < text.n ? stop.n - 1 : text.n;
        while (n > most && memcmp(text.p + text.n - n, stop.p, n) != 0) n--;
        if (n > most) most = n;
    }
    return most;
}

/* Returns the beginning of a text: whole characters with at most n bytes. */
static pdl_str first_bytes(pdl_str s, size_t n) {
    if (n >= s.n) return s;
    while (n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80) n--;
    return pdl_str_sub(s, 0, n);
}

void pdl_serve_cutoff_feed(cutoff *c, pdl_str text, bool counts, pdl_buf *out) {
    if (c->why) return;
    pdl_str taken = counts ? first_bytes(text, c->limit - c->used) : text;
    bool full = taken.n < text.n;
    if (counts) c->used += taken.n;
    pdl_buf_put(&c->held, taken);
    pdl_str all = pdl_buf_str(&c->held);
    size_t at = n_stops(c) ? find_stop(c, all) : PDL_NOT_FOUND;
    if (at != PDL_NOT_FOUND)
        c->why = "stop";
    else if (full)
        c->why = "length";
    size_t sure = at != PDL_NOT_FOUND ? at : full ? all.n : all.n - may_begin(c, all);
    pdl_buf_put(out, pdl_str_sub(all, 0, sure));
    pdl_buf rest = PDL_BUF;
    if (!c->why) pdl_buf_put(&rest, pdl_str_sub(all, sure, all.n));
    pdl_buf_fini(&c->held);
    c->held = rest;
}

void pdl_serve_cutoff_end(cutoff *c, pdl_buf *out) {
    if (!c->why) pdl_buf_put(out, pdl_buf_str(&c->held));
    pdl_buf_fini(&c->held);
}
