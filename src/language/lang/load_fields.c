/* load_fields.c -- reads one entry of a block's mapping into the member that its row names. Each
 * type of field has a reader.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/loader.h"
#include "value/int.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* --- scalars that coerce (spec syntax 2.2) ---------------------------------------------------- */

bool pdl_loader_as_bool(const pdl_node *n, bool words, bool *out) {
    static const char *const yes[] = {"true", "yes", "on", "y", "t", "1"}, *const no[] = {
                                                                               "false", "no", "off",
                                                                               "n",     "f",  "0"};
    if (n->kind != PDL_NODE_SCALAR) return false;
    if (n->type == PDL_NT_BOOL || n->type == PDL_NT_INT || n->type == PDL_NT_FLOAT) {
        pdl_val v = pdl_node_value(n);
        *out = pdl_val_eq(v, pdl_int(1));
        bool zero = pdl_val_eq(v, pdl_int(0));
        pdl_drop(v);
        return *out || zero;
    }
    for (size_t i = 0; words && n->type == PDL_NT_STR && i < 6; i++) {
        *out = pdl_str_eq_nocase(n->text, pdl_str_of(yes[i]));
        if (*out || pdl_str_eq_nocase(n->text, pdl_str_of(no[i]))) return true;
    }
    return false;
}

/* Reads "3", " +3 ", "1_0" and "3.0" as an integer. */
static bool text_as_int(pdl_str s, int64_t *out) {
    bool minus = false, digit = false;
    uint64_t v = 0;
    s = pdl_str_trim(s);
    size_t i = 0;
    if (i < s.n && (s.p[i] == '+' || s.p[i] == '-')) minus = s.p[i++] == '-';
    for (; i < s.n && s.p[i] != '.'; i++) {
        if (s.p[i] == '_' && digit && i + 1 < s.n && s.p[i + 1] != '_') continue;
        if (s.p[i] < '0' || s.p[i] > '9' || v > (uint64_t)INT64_MAX / 10 - 1) return false;
        v = v * 10 + (uint64_t)(s.p[i] - '0');
        digit = true;
    }
    if (!digit) return false;
    if (i < s.n && i + 1 == s.n) return false;
    for (i++; i < s.n; i++)
        if (s.p[i] != '0') return false;
    *out = minus ? -(int64_t)v : (int64_t)v;
    return true;
}

bool pdl_loader_as_int(const pdl_node *n, int64_t *out) {
    if (n->kind != PDL_NODE_SCALAR) return false;
    if (n->type == PDL_NT_STR) return text_as_int(n->text, out);
    if (n->type != PDL_NT_BOOL && n->type != PDL_NT_INT && n->type != PDL_NT_FLOAT) return false;
    pdl_val v = pdl_node_value(n);
    double d = pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v) : 0;
    bool ok = !pdl_is(v, PDL_V_BIGINT) && d > -9e15 && d < 9e15;
    if (ok)
        *out = pdl_is(v, PDL_V_BOOL)  ? pdl_bool_of(v)
               : pdl_is(v, PDL_V_INT) ? pdl_int_of(v)
                                      : (int64_t)d;
    ok = ok && pdl_val_eq(v, pdl_int(*out));
    pdl_drop(v);
    return ok;
}

bool pdl_loader_text(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_text_field *out) {
    out->loc = loc;
    if (!pdl_node_is_str(n)) {
        pdl_loader_wrong(l, n, loc, "should be of type <class 'str'>");
        return false;
    }
    out->s = n->text.p ? n->text : PDL_STR("");
    return true;
}

/* --- evaluated values by class ---------------------------------------------------------------- */

const pdl_tree *pdl_loader_xbool(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok) {
    const pdl_node *e = pdl_loader_recorded(n);
    bool b;
    if (null_ok && pdl_node_is_null(n)) return NULL;
    if (e != n || pdl_node_is_str(n)) return pdl_loader_tree(l, n, loc);
    if (pdl_loader_as_bool(n, false, &b)) return pdl_loader_tree_const(l, n, loc, pdl_bool(b));
    pdl_loader_wrong_union(l, n, loc, "boolean or string (an expression)");
    return NULL;
}

const pdl_tree *pdl_loader_xint(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok) {
    const pdl_node *e = pdl_loader_recorded(n);
    int64_t i;
    if (null_ok && pdl_node_is_null(n)) return NULL;
    if (e != n || (n->kind == PDL_NODE_SCALAR && (n->type == PDL_NT_STR || n->type == PDL_NT_INT)))
        return pdl_loader_tree(l, n, loc);
    if (pdl_loader_as_int(n, &i)) return pdl_loader_tree_const(l, n, loc, pdl_int(i));
    pdl_loader_wrong_union(l, n, loc, "integer or string (an expression)");
    return NULL;
}

const pdl_tree *pdl_loader_xnum(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok) {
    const pdl_node *e = pdl_loader_recorded(n);
    if (null_ok && pdl_node_is_null(n)) return NULL;
    if (e != n) return pdl_loader_tree(l, n, loc);
    if (n->kind == PDL_NODE_SCALAR && n->type != PDL_NT_NULL && n->type != PDL_NT_TIMESTAMP &&
        n->type != PDL_NT_BINARY)
        return pdl_loader_tree(l, n, loc);
    pdl_loader_wrong_union(l, n, loc, "number or string (an expression)");
    return NULL;
}

const pdl_tree *pdl_loader_xstr(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok) {
    if (null_ok && pdl_node_is_null(n)) return NULL;
    if (pdl_node_is_str(n) || pdl_loader_recorded(n) != n) return pdl_loader_tree(l, n, loc);
    pdl_loader_wrong_union(l, n, loc, "string (an expression)");
    return NULL;
}

const pdl_tree *pdl_loader_xdict(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool null_ok) {
    if (null_ok && pdl_node_is_null(n)) return NULL;
    if (pdl_node_is_str(n) || (n->kind == PDL_NODE_MAP && n->type == PDL_NT_MAP))
        return pdl_loader_tree(l, n, loc);
    pdl_loader_wrong_union(l, n, loc, "object or string (an expression)");
    return NULL;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static PDL_NOINLINE void read_list(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_blocks *out) {
    out->loc = loc;
    if (n->kind != PDL_NODE_SEQ) {
        pdl_loader_wrong(l, n, loc, "should be a list");
        return;
    }
    size_t n_diags = l->p->diags.n;
    out->n = n->n;
    out->p = pdl_arena_new_n(l->a, const pdl_block *, n->n);
    for (uint32_t i = 0; i < n->n; i++)
        out->p[i] = pdl_loader_block(l, n->items[i], pdl_node_loc(n->items[i]), false);
    pdl_loader_advise_split(l, n, n_diags);
}

/* Reads entries with names. The names are literal text. */
static PDL_NOINLINE void read_named(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                                    pdl_blocks *out) {
    out->loc = loc;
    if (n->kind != PDL_NODE_MAP || n->type != PDL_NT_MAP) {
        pdl_loader_wrong(l, n, loc, "should be an object");
        pdl_loader_hint_pairs(l, n);
        return;
    }
    out->is_map = true;
    out->n = n->n;
    out->p = pdl_arena_new_n(l->a, const pdl_block *, n->n);
    out->names = pdl_arena_new_n(l->a, pdl_str, n->n);
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        if (!pdl_node_is_name(key)) {
            pdl_loader_wrong(l, key, pdl_node_loc(key),
                             "should be of type <class 'str'>: quote the name");
            continue;
        }
        out->names[i] = key->text.p ? key->text : PDL_STR("");
        out->p[i] = pdl_loader_block(l, n->pairs[i].value, pdl_node_loc(key), false);
    }
}

static bool is_raw(const pdl_block *b) {
    const pdl_node *raw = pdl_node_find(b->node, PDL_STR("raw"), NULL);
    bool value;
    return b->kind == PDL_BLOCK_data && raw && pdl_loader_as_bool(raw, true, &value) && value;
}

/* Returns the member that gets the value of f. */
static void *member_of(pdl_loader *l, pdl_block *b, const pdl_field *f) {
    if (!f->in_rare) return (char *)b + f->offset;
    if (b->rare == &pdl_block_no_rare) b->rare = pdl_arena_new(l->a, pdl_block_rare);
    /* the block is being made, so no other code has it */
    return (char *)(uintptr_t)b->rare + f->offset;
}

/* --- one function a row of field_types.def ---------------------------------------------------- */

/* An entry of a block's mapping, and the place for its value. */
typedef struct load_entry {
    pdl_loader *l;
    const pdl_block *b;
    const pdl_field *f;
    const pdl_pair *pair;
    const pdl_node *n; /* the value */
    pdl_loc loc;       /* place of the key */
    void *at;          /* the member */
} load_entry;

static bool null_is_ok(const load_entry *e) {
    return e->f->need == PDL_NEED_OPT || e->f->need == PDL_NEED_NUL || e->f->need == PDL_NEED_OLD;
}
static bool is_absent(const load_entry *e) { return null_is_ok(e) && pdl_node_is_null(e->n); }

#define LOAD(name) static PDL_NOINLINE void load_##name(const load_entry *e)
#define LOAD_AS(name, type, expression)                                                            \
    LOAD(name) { *(type *)e->at = expression; }

LOAD(STR) {
    ((pdl_text_field *)e->at)->loc = e->loc;
    if (!is_absent(e)) pdl_loader_text(e->l, e->n, e->loc, e->at);
}

LOAD(BOOL) {
    pdl_flag *out = e->at;
    if (is_absent(e)) return;
    out->given = true;
    if (!pdl_loader_as_bool(e->n, true, &out->value))
        pdl_loader_wrong(e->l, e->n, e->loc, "should be of type <class 'bool'>");
}

LOAD(INT) {
    pdl_count *out = e->at;
    if (is_absent(e)) return;
    out->given = true;
    if (!pdl_loader_as_int(e->n, &out->value))
        pdl_loader_wrong(e->l, e->n, e->loc, "should be of type <class 'int'>");
}

static const pdl_tree *read_any(const load_entry *e) {
    if (is_raw(e->b)) return pdl_loader_tree_raw(e->l, e->n, e->loc);
    bool callee = e->b->kind == PDL_BLOCK_call && e->f->need == PDL_NEED_REQ;
    if (callee && !pdl_node_is_str(e->n) && e->n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong_union(e->l, e->n, e->loc, "string: an expression that gives a function");
        return NULL;
    }
    return e->b->kind == PDL_BLOCK_call && !callee ? pdl_loader_tree_args(e->l, e->n, e->loc)
                                                   : pdl_loader_tree(e->l, e->n, e->loc);
}

LOAD_AS(EXPR, const pdl_tree *, read_any(e))
LOAD_AS(XBOOL, const pdl_tree *, pdl_loader_xbool(e->l, e->n, e->loc, null_is_ok(e)))
LOAD_AS(XINT, const pdl_tree *, pdl_loader_xint(e->l, e->n, e->loc, null_is_ok(e)))
LOAD_AS(XNUM, const pdl_tree *, pdl_loader_xnum(e->l, e->n, e->loc, null_is_ok(e)))
LOAD_AS(XSTR, const pdl_tree *, pdl_loader_xstr(e->l, e->n, e->loc, null_is_ok(e)))
LOAD_AS(XDICT, const pdl_tree *, pdl_loader_xdict(e->l, e->n, e->loc, null_is_ok(e)))
LOAD_AS(ANY, const pdl_node *, e->n)
LOAD_AS(TYPE, pdl_spec_field, ((pdl_spec_field){pdl_loader_type(e->l, e->pair), e->loc}))
LOAD(PARAMS) { pdl_loader_params(e->l, e->pair, e->at); }
LOAD_AS(JOIN, const pdl_join *, pdl_loader_join(e->l, e->pair))
LOAD_AS(FORS, const pdl_fors *, pdl_loader_fors(e->l, e->pair))

LOAD(ARGV) {
    if (e->n->kind != PDL_NODE_SEQ) {
        pdl_loader_wrong(e->l, e->n, e->loc, "should be a list");
        pdl_loader_hint_items(e->l, e->n);
        return;
    }
    pdl_tree *t = pdl_arena_new(e->l->a, pdl_tree);
    t->kind = PDL_TREE_LIST;
    t->node = e->n;
    t->loc = e->loc;
    t->n = e->n->n;
    t->items = pdl_arena_new_n(e->l->a, const pdl_tree *, e->n->n);
    for (uint32_t i = 0; i < e->n->n; i++)
        t->items[i] = pdl_loader_xstr(e->l, e->n->items[i], pdl_node_loc(e->n->items[i]), false);
    *(const pdl_tree **)e->at = t;
}

LOAD_AS(AGG, const pdl_agg *, pdl_loader_agg(e->l, e->pair))

LOAD(CTX) {
    static const char *const modes[] = {"independent", "dependent"};
    pdl_flag *independent = e->at;
    independent->given = true;
    if (pdl_node_is_str(e->n) && pdl_str_is(e->n->text, modes[0]))
        independent->value = true;
    else if (!pdl_node_is_str(e->n) || !pdl_str_is(e->n->text, modes[1]))
        pdl_loader_one_of(e->l, e->n, e->loc, modes, 2, false);
}

/* Reads a flag. Any text except the empty text means true. The text is not evaluated. */
LOAD(FLAG) {
    bool *out = e->at;
    if (pdl_node_is_null(e->n)) return;
    if (pdl_node_is_str(e->n))
        *out = e->n->text.n > 0;
    else if (!pdl_loader_as_bool(e->n, false, out))
        pdl_loader_wrong_union(e->l, e->n, e->loc, "boolean or string");
}

LOAD_AS(RETRY, const pdl_retry *, pdl_loader_retry(e->l, e->pair))
LOAD_AS(BUDGET, const pdl_budget_field *, pdl_loader_budget(e->l, e->pair))
LOAD_AS(ENDORSE, const pdl_endorse_field *, pdl_loader_endorse(e->l, e->pair))
LOAD_AS(POLICY, const pdl_node *, pdl_loader_policy(e->l, e->pair))
LOAD_AS(PROFILE, const pdl_node *, pdl_loader_profile(e->l, e->pair))
LOAD(CONTRIBUTE) { pdl_loader_contribute(e->l, e->pair, e->at); }
LOAD_AS(PARSER, const pdl_parser_field *, pdl_loader_parser(e->l, e->pair))

/* Reads a block. Each level of nested blocks has a stack frame of one of the functions load_*. */
LOAD(BLOCK) {
    if (e->f->need == PDL_NEED_OPT && pdl_node_is_null(e->n)) return;
    *(const pdl_block **)e->at =
        pdl_loader_block(e->l, e->n, e->loc, e->b->kind != PDL_BLOCK_error);
}

LOAD(BLOCKS) { read_list(e->l, e->n, e->loc, e->at); }

LOAD(TEXTS) {
    pdl_blocks *out = e->at;
    if (e->n->kind == PDL_NODE_SEQ) {
        read_list(e->l, e->n, e->loc, out);
        return;
    }
    out->loc = e->loc;
    out->single = true;
    out->n = 1;
    out->p = pdl_arena_new_n(e->l->a, const pdl_block *, 1);
    out->p[0] = pdl_loader_block(e->l, e->n, e->loc, false);
}

LOAD(FIELDS) {
    if (e->n->kind == PDL_NODE_SEQ)
        read_list(e->l, e->n, e->loc, e->at);
    else if (e->n->kind == PDL_NODE_MAP)
        read_named(e->l, e->n, e->loc, e->at);
    else
        pdl_loader_wrong_union(e->l, e->n, e->loc, "object or list of blocks that give objects");
}

LOAD(CASES) { pdl_loader_cases(e->l, e->pair, e->at); }
LOAD(DEFS) { read_named(e->l, e->n, e->loc, e->at); }
LOAD(EXPECTATIONS) { pdl_loader_expectations(e->l, e->pair, e->at); }

static void (*const loaders[])(const load_entry *e) = {
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc) load_##name,
#include "lang/field_types.def"
};

void pdl_loader_field(pdl_loader *l, pdl_block *b, const pdl_field *f, const pdl_pair *pair) {
    load_entry e = {l, b, f, pair, pair->value, pdl_node_loc(pair->key), member_of(l, b, f)};
    loaders[f->type](&e);
}
