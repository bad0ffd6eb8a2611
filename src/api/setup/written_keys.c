/* written_keys.c -- finds keys in the text of a program; see written_keys.h. A user may have
 * written a key into `parameters`, even in a program inside of a code block. Such a key must be
 * registered before any message quotes its line, so the nodes of the YAML are walked, even when the
 * program does not load.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/written_keys.h"

#include "lang/load.h"

#include "base/banned.h"

enum {
    DEEPEST = 400,    /* maximum depth of the YAML of a program that is searched */
    DEEPEST_CODE = 8, /* maximum depth of programs inside texts of other programs */
};

static pdl_str text_of(const pdl_node *n) {
    return pdl_node_is_str(n) ? n->text : (pdl_str){"", 0};
}

/* Returns the node n as a value: a scalar becomes a text ("" if it is not a string), a sequence a
 * list, and a mapping a dict. */
static pdl_val value_of(const pdl_node *n, unsigned depth) {
    if (depth > DEEPEST || n->kind == PDL_NODE_SCALAR) return pdl_text(text_of(n));
    if (n->kind == PDL_NODE_SEQ) {
        pdl_val list = pdl_list_new(n->n);
        for (uint32_t i = 0; i < n->n; i++)
            list = pdl_list_push(list, value_of(n->items[i], depth + 1));
        return list;
    }
    pdl_val d = pdl_dict_new(n->n);
    for (uint32_t i = 0; i < n->n; i++)
        d = pdl_dict_puts(d, text_of(n->pairs[i].key), value_of(n->pairs[i].value, depth + 1));
    return d;
}

static void walk(pdl_secrets *s, const pdl_node *n, unsigned depth);

/* Searches the text of a block with `lang: pdl`, because it is a program and may contain keys,
 * too. */
static void walk_code(pdl_secrets *s, pdl_str code, unsigned depth) {
    bool ok;
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR(""), code, &ok);
    if (p->root) walk(s, p->root, depth + DEEPEST / DEEPEST_CODE);
    pdl_program_drop(p);
}

static bool is_pdl(const pdl_node *n) {
    const pdl_node *lang = pdl_node_find(n, PDL_STR("lang"), NULL);
    return lang && pdl_str_eq_nocase(text_of(lang), PDL_STR("pdl"));
}

static void walk(pdl_secrets *s, const pdl_node *n, unsigned depth) {
    if (depth > DEEPEST || n->kind == PDL_NODE_SCALAR) return;
    if (n->kind == PDL_NODE_SEQ) {
        for (uint32_t i = 0; i < n->n; i++) walk(s, n->items[i], depth + 1);
        return;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *value = n->pairs[i].value;
        pdl_str key = text_of(n->pairs[i].key);
        if (pdl_str_is(key, "model")) pdl_secrets_note_model(s, text_of(value));
        if (pdl_str_is(key, "code") && pdl_node_is_str(value) && is_pdl(n)) {
            walk_code(s, value->text, depth);
        } else if (!pdl_str_is(key, "parameters")) {
            walk(s, value, depth + 1);
        } else if (value->kind == PDL_NODE_MAP) {
            pdl_val d = value_of(value, depth);
            pdl_secrets_note_parameters(s, d);
            pdl_drop(d);
        }
    }
}

void pdl_api_note_program(pdl_secrets *secrets, const pdl_program *p) {
    if (p->root) walk(secrets, p->root, 0);
}
