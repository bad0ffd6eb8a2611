/* complete_choice.c -- proposes the values of an enum where one is expected: in an argument of a
 * call, or in a pattern of `match`. The type is the one that hover shows for the parameter or for
 * the matched value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "lsp/complete/complete.h"
#include "lsp/features.h"
#include "lsp/symtype.h"

#include "base/banned.h"

/* Finds the variable that an expression names. names: the members that follow the variable in the
 * expression; scratch owns them. */
static bool follow(lsp_completer *c, const pdl_node *n, lsp_thing *t, pdl_str *names) {
    pdl_buf chain = PDL_BUF;
    const pdl_expr *e = n && n->kind == PDL_NODE_SCALAR
                            ? pdl_expr_read(c->scratch, n->text, &pdl_known_xnames)
                            : NULL;
    if (!e || e->form != PDL_X_NATIVE || !pdl_lsp_doc_load(c->s, c->d)) return false;
    bool found = pdl_lsp_put_chain(e->root, &chain) != NULL;
    *names = pdl_arena_str(c->scratch, pdl_buf_str(&chain));
    pdl_buf_fini(&chain);
    uint32_t region = pdl_lsp_index_region(c->d->index, (uint32_t)c->off);
    return found && pdl_lsp_follow(c->s, c->d, region, names, t);
}

bool pdl_lsp_complete_function(lsp_completer *c, const pdl_node *call, lsp_thing *t) {
    pdl_str rest;
    return follow(c, pdl_node_find(call, PDL_STR("call"), NULL), t, &rest) && !rest.n;
}

/* Returns true when a plain scalar with this text is read as this text, and not as a value of
 * another type. */
static bool is_plain(pdl_str s) {
    static const char *const words[] = {"true", "false", "yes", "no",   "on",
                                        "off",  "y",     "n",   "null", "none"};
    if (PDL_STR_IN_NOCASE(s, words)) return false;
    for (size_t i = 0; i < s.n; i++)
        if (!pdl_lsp_is_word(s.p[i]) && (i == 0 || s.p[i] != '-')) return false;
    return s.n && !(s.p[0] >= '0' && s.p[0] <= '9');
}

static void add(lsp_completer *c, pdl_str value) {
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, is_plain(value) ? "%.*s" : "\"%.*s\"", PDL_FMT(value));
    pdl_lsp_item_add(c, &(lsp_item){.label = value,
                                    .insert = pdl_buf_str(&text),
                                    .kind = ITEM_ENUM_MEMBER,
                                    .order = '0'});
    pdl_buf_fini(&text);
}

/* Adds the values of a type such as `"a" | "b"` or `one of 'a', 'b'`. Texts with escapes are left
 * out. */
static void add_values(lsp_completer *c, pdl_str type) {
    pdl_str lead = PDL_STR("one of ");
    size_t i = pdl_str_starts(type, lead) ? lead.n : 0;
    while (i < type.n && (type.p[i] == '"' || type.p[i] == '\'')) {
        size_t from = i + 1, to = from;
        while (to < type.n && type.p[to] != type.p[i] && type.p[to] != '\\') to++;
        if (to == type.n || type.p[to] == '\\') return;
        add(c, pdl_str_sub(type, from, to));
        for (i = to + 1; i < type.n && pdl_byte_in(type.p[i], PDL_STR(" |,"));) i++;
    }
}

static void complete_argument(lsp_completer *c, const lsp_spot *p) {
    lsp_thing t;
    pdl_buf type = PDL_BUF;
    if (!pdl_lsp_complete_function(c, p->up->up->node, &t)) return;
    const lsp_index *in = pdl_lsp_doc_index(c->s, t.doc);
    const lsp_region *body = &in->regions.p[pdl_lsp_thing_sym(c->s, &t)->body];
    for (uint32_t i = 0; i < body->n_params; i++) {
        const lsp_sym *sym = &in->syms.p[body->param + i];
        if (pdl_str_eq(sym->name, p->key->text)) pdl_lsp_put_type(c->s, t.doc, sym, &type);
    }
    add_values(c, pdl_buf_str(&type));
    pdl_buf_fini(&type);
}

/* Completes a pattern. Nothing is proposed below `object` and `array`, where the pattern is for a
 * part of the value, because the type of that part is not searched. */
static void complete_pattern(lsp_completer *c, const lsp_spot *p) {
    lsp_thing t;
    pdl_str rest;
    pdl_buf type = PDL_BUF;
    for (; p && !(p->has_kind && p->kind == PDL_BLOCK_match); p = p->up) {
        bool array = p->key && pdl_str_is(p->key->text, "array");
        if (p->role == ROLE_PATTERN_FIELDS || array) return;
    }
    if (!p || !follow(c, pdl_node_find(p->node, PDL_STR("match"), NULL), &t, &rest)) return;
    pdl_lsp_put_type(c->s, t.doc, pdl_lsp_thing_sym(c->s, &t), &type);
    pdl_str shown = pdl_buf_str(&type);
    add_values(c, rest.n ? pdl_lsp_shown_member(shown, rest) : shown);
    pdl_buf_fini(&type);
}

void pdl_lsp_complete_choice(lsp_completer *c, const lsp_spot *p) {
    if (p->key && p->up && p->up->role == ROLE_ARGS && p->up->up)
        complete_argument(c, p);
    else if (p->role == ROLE_PATTERN)
        complete_pattern(c, p);
}
