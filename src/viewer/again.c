/* again.c -- see again.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/again.h"

#include "base/hash.h"
#include "value/json_read.h"

#include "base/banned.h"

static bool refuse(pdl_err *err, const char *why) {
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s", why);
}

/* The first `lines` lines of text, with their ends; *rest: what follows. */
static pdl_str take_lines(pdl_str text, int64_t lines, pdl_str *rest) {
    size_t end = 0;
    while (lines-- > 0 && end < text.n) {
        size_t nl = pdl_str_find(text, PDL_STR("\n"), end);
        end = nl == PDL_NOT_FOUND ? text.n : nl + 1;
    }
    *rest = pdl_str_sub(text, end, text.n);
    return pdl_str_sub(text, 0, end);
}

static void put_changed(pdl_str text, pdl_buf *out) {
    pdl_buf_put(out, text);
    if (text.n && text.p[text.n - 1] != '\n') pdl_buf_putc(out, '\n');
}

static int64_t line_of(pdl_vref edit, size_t i) {
    pdl_vref v = pdl_list_at(edit, i);
    return pdl_is(v, PDL_V_INT) ? pdl_int_of(v) : 0;
}

static bool apply(pdl_vref edits, pdl_str file, pdl_buf *out, pdl_err *err) {
    int64_t at = 1; /* the line with which `file` begins */
    for (size_t i = 0; i < pdl_list_len(edits); i++) {
        pdl_vref edit = pdl_list_at(edits, i);
        if (!pdl_is_list(edit) || pdl_list_len(edit) != 3 || !pdl_is_str(pdl_list_at(edit, 2)))
            return refuse(err, "a change has a first line, a last line and a text");
        int64_t first = line_of(edit, 0), last = line_of(edit, 1);
        if (first < at || last < first)
            return refuse(err, "changes are in the order of their lines, and do not overlap");
        pdl_buf_put(out, take_lines(file, first - at, &file));
        if (!file.n) return refuse(err, "a change is beyond the end of the program");
        put_changed(pdl_str_get(pdl_list_at(edit, 2)), out);
        (void)take_lines(file, last - first + 1, &file);
        at = last + 1;
    }
    pdl_buf_put(out, file);
    return true;
}

static bool read_all(pdl_vref v, pdl_str file, pdl_again_asked *out, pdl_err *err) {
    char hash[65];
    if (!pdl_is_dict(v)) return refuse(err, "a JSON object is expected");
    pdl_vref box = pdl_dict_getz(v, "box"), edits = pdl_dict_getz(v, "edits"),
             fresh = pdl_dict_getz(v, "fresh");
    pdl_hash_hex(file, hash);
    if (!pdl_text_is(pdl_dict_getz(v, "hash"), hash))
        return refuse(err, "this is not the program that the page shows: load the page again");
    if (!pdl_is(box, PDL_V_INT) || pdl_int_of(box) < 0 || pdl_int_of(box) > UINT32_MAX ||
        !pdl_is_list(edits) || !pdl_is_bool(fresh))
        return refuse(err, "hash, box, edits and fresh are expected");
    out->box = (uint32_t)pdl_int_of(box);
    out->fresh = pdl_bool_of(fresh);
    return apply(edits, file, &out->text, err);
}

bool pdl_again_read(pdl_str body, pdl_str file, pdl_again_asked *out, pdl_err *err) {
    pdl_val v;
    *out = (pdl_again_asked){.text = PDL_BUF};
    if (!pdl_json_read(body, 0, &v, NULL, err)) return false;
    bool ok = read_all(v, file, out, err);
    pdl_drop(v);
    return ok;
}

void pdl_again_fini(pdl_again_asked *a) { pdl_buf_fini(&a->text); }
