/* refused_texts.c -- refuses texts that a model must not write: paths, code, names of models,
 * conditions, and texts from which a program makes such texts. A proposal that became a command
 * would be run with the user's rights. So a place is refused when it is under a key for such a
 * text. The place is also refused when an expression under such a key uses the value of the place,
 * directly or through other variables. The reply of a model to a proposed text is not restricted,
 * because the program itself decides how it uses the reply.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/vec.h"
#include "base/word_list.h"
#include "optimize/proposals.h"

#include "base/banned.h"

/* Keys of blocks whose texts decide which action is executed. */
static const char *const exposed_keys[] = {
    "code",   "args",    "lang",   "include",      "import",   "read",       "model",
    "call",   "get",     "if",     "match",        "while",    "until",      "for",
    "file",   "scope",   "policy", "requirements", "parser",   "platform",   "processor",
    "spec",   "def",     "role",   "contribute",   "index",    "parameters", "session",
    "timing", "endorse", "url",    "aggregator",   "function", "signature",
};

typedef struct opt_flow {
    const pdl_ytree *t;
    PDL_VEC(pdl_str) names; /* names of the variables that contain the text or a part of it */
} flow;

static const pdl_ytree_node *node_of(const flow *f, pdl_ytree_id id) {
    return pdl_ytree_node_of(f->t, id);
}

static void add_name(flow *f, pdl_str name) {
    for (size_t i = 0; i < f->names.n; i++)
        if (pdl_str_eq(f->names.p[i], name)) return;
    *pdl_vec_push(&f->names) = name;
}

/* Returns the key of a value in its mapping; empty when no mapping contains the value. */
static pdl_str key_of(const flow *f, pdl_ytree_id at) {
    const pdl_ytree_node *up = node_of(f, node_of(f, at)->parent);
    if (!up || up->kind != PDL_YTREE_MAP) return (pdl_str){0};
    for (pdl_ytree_id k = up->first; k != PDL_YTREE_NONE;) {
        pdl_ytree_id v = node_of(f, k)->next;
        if (v == at) return node_of(f, k)->text;
        k = v == PDL_YTREE_NONE ? v : node_of(f, v)->next;
    }
    return (pdl_str){0};
}

static bool is_last(const flow *f, pdl_ytree_id at) {
    return node_of(f, at)->next == PDL_YTREE_NONE;
}

/* Returns true for a mapping whose keys are names that the user has chosen. */
static bool has_names(const flow *f, pdl_ytree_id at) {
    pdl_str key = key_of(f, at);
    return pdl_str_is(key, "defs") || pdl_str_is(key, "object") || pdl_str_is(key, "data");
}

static bool is_exposed_key(pdl_str key) { return PDL_STR_IN(key, exposed_keys); }

/* Returns true when the node, or a node around it, is the value of `data`, which contains no
 * blocks. */
static bool below_data(const flow *f, pdl_ytree_id at) {
    for (; at != PDL_YTREE_NONE; at = node_of(f, at)->parent)
        if (pdl_str_is(key_of(f, at), "data") && !has_names(f, node_of(f, at)->parent)) return true;
    return false;
}

/* Follows a text from its place outward to the values that contain it, and adds their names.
 * Returns the key under which the text would decide which action is taken; empty when there is
 * none. */
static pdl_str follow(flow *f, pdl_ytree_id at) {
    for (; at != PDL_YTREE_NONE; at = node_of(f, at)->parent) {
        pdl_ytree_id up = node_of(f, at)->parent;
        if (up == PDL_YTREE_NONE) break;
        const pdl_ytree_node *parent = node_of(f, up);
        if (parent->kind == PDL_YTREE_SEQ) {
            if (pdl_str_is(key_of(f, up), "lastOf") && !is_last(f, at)) break;
            continue;
        }
        pdl_str key = key_of(f, at);
        if (pdl_str_is(key_of(f, up), "args") || pdl_str_is(key_of(f, up), "defs")) {
            /* the text is the argument of a function, or the value of a variable */
            add_name(f, key);
            if (pdl_str_is(key_of(f, up), "defs")) break;
            if (pdl_ytree_find(f->t, node_of(f, up)->parent, PDL_STR("call")) != PDL_YTREE_NONE)
                break;
        }
        if (!has_names(f, up) && !below_data(f, up) && is_exposed_key(key)) return key;
        /* only a model reads the text */
        if (pdl_str_is(key, "input") && !below_data(f, up)) break;
        if (pdl_ytree_find(f->t, up, PDL_STR("model")) != PDL_YTREE_NONE) break;
        pdl_ytree_id def = pdl_ytree_find(f->t, up, PDL_STR("def"));
        if (def != PDL_YTREE_NONE && node_of(f, def)->kind == PDL_YTREE_SCALAR)
            add_name(f, node_of(f, def)->text);
    }
    return (pdl_str){0};
}

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Returns true when an expression in the text uses the name. */
static bool mentions(pdl_str text, pdl_str name) {
    size_t at = pdl_str_find(text, PDL_STR("${"), 0);
    while (at != PDL_NOT_FOUND && name.n) {
        size_t found = pdl_str_find(text, name, at);
        if (found == PDL_NOT_FOUND) return false;
        bool begins = !is_word(text.p[found - 1]),
             ends = found + name.n >= text.n || !is_word(text.p[found + name.n]);
        if (begins && ends) return true;
        at = found + 1;
    }
    return false;
}

static bool check_uses(flow *f, const opt_place *p, pdl_str name, pdl_err *err) {
    for (pdl_ytree_id i = 0; i < f->t->n_nodes; i++) {
        const pdl_ytree_node *n = node_of(f, i);
        if (n->kind != PDL_YTREE_SCALAR || n->is_key || !mentions(n->text, name)) continue;
        pdl_str key = follow(f, i);
        /* conditions and loops only read the value; nothing in it is executed */
        if (!key.n || pdl_str_is(key, "if") || pdl_str_is(key, "match") ||
            pdl_str_is(key, "while") || pdl_str_is(key, "until") || pdl_str_is(key, "for") ||
            pdl_str_is(key, "get"))
            continue;
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){f->t->src, n->start, n->end},
                           "--tune %s: no model writes this text, because '%.*s' is made of it "
                           "here ('%.*s')",
                           p->name, PDL_FMT(key), PDL_FMT(name));
    }
    return true;
}

bool pdl_search_check_exposed(const opt_search *z, const opt_place *p, pdl_err *err) {
    flow f = {.t = z->tree};
    const pdl_ytree_node *n = pdl_ytree_node_of(z->tree, p->literal.node);
    pdl_str key = follow(&f, p->literal.node);
    bool ok =
        !key.n || pdl_err_set(err, PDL_E_usage, (pdl_loc){z->tree->src, n->start, n->end},
                              "--tune %s: no model writes what '%.*s' says", p->name, PDL_FMT(key));
    for (size_t i = 0; ok && i < f.names.n; i++) ok = check_uses(&f, p, f.names.p[i], err);
    pdl_vec_fini(&f.names);
    return ok;
}
