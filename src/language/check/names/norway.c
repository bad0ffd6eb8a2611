/* norway.c -- the rule norway: words that YAML 1.1 does not read as text. `no` (also the code of
 * Norway) is false, 12:30 is 750, 010 is 8, and 1_000 is 1000.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "check/checker.h"
#include "value/text.h"

#include "base/banned.h"

static bool is_true_or_false(pdl_str s) {
    return pdl_str_eq_nocase(s, PDL_STR("true")) || pdl_str_eq_nocase(s, PDL_STR("false"));
}

/* Reports `then: no`, which is the boolean false. */
void pdl_checker_norway_boolean(pdl_checker *c, const pdl_block *b) {
    const pdl_node *n = b->node;
    if (!n || n->kind != PDL_NODE_SCALAR || n->type != PDL_NT_BOOL || n->style != PDL_STYLE_PLAIN)
        return;
    if (is_true_or_false(n->text)) return;
    bool value =
        pdl_str_eq_nocase(n->text, PDL_STR("yes")) || pdl_str_eq_nocase(n->text, PDL_STR("on"));
    pdl_diag *d =
        pdl_checker_diag(c, PDL_RULE_norway, b->loc, pdl_node_loc(n), "`%.*s` is the boolean %s",
                         PDL_FMT(n->text), value ? "true" : "false");
    pdl_checker_hint(c, d, "quote it to get text: '%.*s'", PDL_FMT(n->text));
}

static void report_number(pdl_checker *c, const pdl_node *n) {
    pdl_val v = pdl_node_value(n);
    pdl_buf shown = PDL_BUF;
    pdl_val_show(v, true, 40, &shown);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_norway, pdl_node_loc(n), pdl_node_loc(n),
                                   "`%.*s` is the number %s", PDL_FMT(pdl_utf8_cut(n->text, 40)),
                                   pdl_buf_z(&shown));
    pdl_checker_hint(c, d, "quote it to get text: '%.*s'", PDL_FMT(pdl_utf8_cut(n->text, 40)));
    pdl_buf_fini(&shown);
    pdl_drop(v);
}

static bool is_plain_number(const pdl_node *n) {
    return (n->type == PDL_NT_INT || n->type == PDL_NT_FLOAT) && n->style == PDL_STYLE_PLAIN;
}

/* Returns true for 12:30, which is 750, and 010, which is 8. */
static bool is_other_number(const pdl_node *n) {
    pdl_str s = n->text;
    if (!is_plain_number(n)) return false;
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s = pdl_str_sub(s, 1, s.n);
    bool octal =
        n->type == PDL_NT_INT && s.n > 1 && s.p[0] == '0' && s.p[1] >= '0' && s.p[1] <= '9';
    return octal || pdl_byte_in(':', s);
}

/* Reports such a number, also in data. */
void pdl_checker_norway_number(pdl_checker *c, const pdl_node *n) {
    if (is_other_number(n)) report_number(c, n);
}

/* Returns true when the text of a number is not as it is written: 1_000 is 1000, and the version
 * 1.10 is 1.1. */
static bool changes_as_text(const pdl_node *n) {
    if (!is_plain_number(n)) return false;
    pdl_val v = pdl_node_value(n);
    pdl_buf shown = PDL_BUF;
    pdl_val_show(v, false, 2 * n->text.n + 40, &shown);
    bool same = pdl_str_eq(pdl_buf_str(&shown), n->text);
    pdl_buf_fini(&shown);
    pdl_drop(v);
    return !same;
}

/* Reports 1_000 and 1.10 where the value becomes text, which is hardly what the author means. In
 * data, the author may mean the number. */
void pdl_checker_norway_text(pdl_checker *c, const pdl_node *n) {
    for (uint32_t i = 0; n->kind == PDL_NODE_SEQ && i < n->n; i++)
        if (n->items[i]->kind == PDL_NODE_SCALAR) pdl_checker_norway_text(c, n->items[i]);
    if (!is_other_number(n) && changes_as_text(n)) report_number(c, n);
}

/* Reports `no: 1` in data: its key is the text 'no', where other readers of YAML read false. The
 * key `1.10` becomes '1.1'. */
void pdl_checker_norway_key(pdl_checker *c, const pdl_node *key) {
    if (key->kind != PDL_NODE_SCALAR) return;
    if (!pdl_node_is_word(key)) {
        if (changes_as_text(key)) report_number(c, key);
        return;
    }
    if (is_true_or_false(key->text)) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_norway, pdl_node_loc(key), pdl_node_loc(key),
                                   "the key `%.*s` is a boolean in YAML; here it stays a text",
                                   PDL_FMT(key->text));
    pdl_buf quoted = PDL_BUF;
    pdl_buf_putf(&quoted, "'%.*s'", PDL_FMT(key->text));
    pdl_checker_hint(c, d, "quote it: %s", pdl_buf_z(&quoted));
    if (d) pdl_program_edit(c->p, d, pdl_node_loc(key), pdl_buf_str(&quoted));
    pdl_buf_fini(&quoted);
}
