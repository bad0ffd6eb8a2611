/* printing.c -- decides which blocks print; see printing.h. A table has a row for each kind of
 * block that does not simply print its result; the fields `contribute`, `parser` and `join` then
 * change what a block prints.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/printing.h"

#include "base/num.h"
#include "value/text.h"
#include "viewer/reading/digest.h"

#include "base/banned.h"

/* For each kind of block: how it prints, and which member has the blocks that print in its place.
 * Kinds that are not listed print their result. */
static const struct {
    const char *kind, *parts;
    pdl_printing printing;
} kinds[] = {
    {"text", "text", PDL_PRINTS_PARTS},       {"lastOf", "lastOf", PDL_PRINTS_PARTS},
    {"if", "then", PDL_PRINTS_PARTS},         {"match", "with", PDL_PRINTS_PARTS},
    {"repeat", "repeat", PDL_PRINTS_PARTS},   {"sequence", "sequence", PDL_PRINTS_PARTS},
    {"include", "trace", PDL_PRINTS_PARTS},   {"call", "trace", PDL_PRINTS_PARTS},
    {"message", "content", PDL_PRINTS_PARTS}, {"error", "program", PDL_PRINTS_PARTS},
    {"function", NULL, PDL_PRINTS_NOTHING},   {"import", NULL, PDL_PRINTS_NOTHING},
    {"empty", NULL, PDL_PRINTS_NOTHING},      {"aggregator", NULL, PDL_PRINTS_NOTHING},
    {"factor", NULL, PDL_PRINTS_NOTHING},
};

static size_t row_of(const pdl_box *b) {
    size_t i = 0;
    while (i < sizeof kinds / sizeof *kinds && !pdl_box_is_kind(b, kinds[i].kind)) i++;
    return i;
}

/* Returns the name in `join: {as: NAME}`: "text" when the block has no join, and "reduce" for a
 * function. */
static pdl_str join_of(const pdl_box *b) {
    pdl_vref join = pdl_box_get(b, "join");
    if (!pdl_is_dict(join)) return PDL_STR("text");
    if (!pdl_is_absent(pdl_dict_getz(join, "reduce"))) return PDL_STR("reduce");
    pdl_vref as = pdl_dict_getz(join, "as");
    return pdl_is_str(as) ? pdl_str_get(as) : PDL_STR("text");
}

static bool joins_parts(const pdl_box *b) {
    pdl_str join = join_of(b);
    return pdl_str_is(join, "text") ||
           (pdl_str_is(join, "lastOf") && pdl_box_is_kind(b, "sequence"));
}

static bool has_parser(const pdl_box *b) {
    pdl_vref p = pdl_box_get(b, "parser");
    return !pdl_is_absent(p) && !pdl_is_null(p);
}

pdl_printing pdl_box_printing(const pdl_box *b) {
    size_t row = row_of(b);
    if (has_parser(b) || row == sizeof kinds / sizeof *kinds) return PDL_PRINTS_RESULT;
    bool joined = pdl_box_is_kind(b, "repeat") || pdl_box_is_kind(b, "sequence");
    if (joined && !joins_parts(b)) return PDL_PRINTS_RESULT;
    bool native = pdl_box_is_kind(b, "call") && pdl_is_absent(pdl_box_get(b, "pdl__trace"));
    return native ? PDL_PRINTS_RESULT : kinds[row].printing;
}

bool pdl_step_is_in(const pdl_box *child, const char *member) {
    pdl_str name = pdl_str_of(member);
    return pdl_str_starts(child->step, name) &&
           (child->step.n == name.n || child->step.p[name.n] == '.');
}

/* Returns true when the child is the last block of the list `member`, or when the member is no
 * list. */
static bool is_last(const pdl_box *parent, const pdl_box *child, const char *member) {
    pdl_vref list = pdl_box_get(parent, member);
    size_t from = strlen(member) + 1;
    int64_t i;
    if (!pdl_is_list(list) || child->step.n <= from) return true;
    pdl_str number = pdl_str_sub(child->step, from, child->step.n);
    return pdl_num_read_int(number, &i) && i == (int64_t)pdl_list_len(list) - 1;
}

bool pdl_child_prints(const pdl_box *parent, const pdl_box *child) {
    size_t row = row_of(parent);
    if (pdl_step_is_in(child, "fallback")) return true;
    if (row == sizeof kinds / sizeof *kinds || !kinds[row].parts) return false;
    if (pdl_box_is_kind(parent, "if") && pdl_step_is_in(child, "else")) return true;
    if (!pdl_step_is_in(child, kinds[row].parts)) return false;
    bool one = pdl_box_is_kind(parent, "lastOf") || pdl_str_is(join_of(parent), "lastOf");
    return !one || is_last(parent, child, kinds[row].parts);
}

/* Returns true when `contribute` is absent, or names this target, with or without a value. */
static bool contributes(const pdl_box *b, const char *target) {
    pdl_vref list = pdl_box_get(b, "contribute");
    if (!pdl_is_list(list)) return true;
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref x = pdl_list_at(list, i);
        if (pdl_text_is(x, target)) return true;
        if (pdl_is_dict(x) && !pdl_is_absent(pdl_dict_getz(x, target))) return true;
    }
    return false;
}

bool pdl_box_is_shown(const pdl_box *b) {
    return pdl_is_list(pdl_box_get(b, "contribute")) && contributes(b, "stdout");
}
bool pdl_box_has_no_result(const pdl_box *b) { return !contributes(b, "result"); }
bool pdl_box_adds_no_messages(const pdl_box *b) { return !contributes(b, "context"); }

pdl_str pdl_box_separator(const pdl_box *b) {
    pdl_vref join = pdl_box_get(b, "join");
    pdl_vref with = pdl_is_dict(join) ? pdl_dict_getz(join, "with") : pdl_absent();
    bool joined = pdl_box_is_kind(b, "repeat") || pdl_box_is_kind(b, "sequence");
    return joined && pdl_is_str(with) && pdl_str_is(join_of(b), "text") ? pdl_str_get(with)
                                                                        : (pdl_str){0};
}

void pdl_box_print(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    pdl_vref v = pdl_box_get(&d->boxes.p[i], "pdl__parsed");
    pdl_err ignored = {0};
    if (pdl_is_absent(v)) v = pdl_box_get(&d->boxes.p[i], "pdl__result");
    if (pdl_is_absent(v)) return;
    bool is_function = pdl_is_dict(v) && pdl_text_is(pdl_dict_getz(v, "kind"), "function");
    if (is_function) return;
    pdl_val list = pdl_doc_messages(d, i, PDL_STR("pdl__result"), v);
    if (!pdl_stringify(pdl_is_absent(list) ? v : list, out, &ignored)) pdl_err_fini(&ignored);
    pdl_drop(list);
}

void pdl_box_put_shown(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    pdl_vref text = pdl_box_get(&d->boxes.p[i], "pdl__shown");
    if (pdl_is_str(text)) pdl_buf_put(out, pdl_str_get(text));
    if (pdl_box_is_shown(&d->boxes.p[i])) pdl_box_print(d, i, out);
}
