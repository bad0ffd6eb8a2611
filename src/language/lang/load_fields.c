/* load_fields.c -- reads one entry of a block's mapping into the member that its row names: one
 * reader per type of field.
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

/* "3", " +3 ", "1_0", "3.0" */
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

static void load_flag(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_flag *out) {
    out->given = true;
    if (!pdl_loader_as_bool(n, true, &out->value))
        pdl_loader_wrong(l, n, loc, "should be of type <class 'bool'>");
}

static void load_count(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_count *out) {
    out->given = true;
    if (!pdl_loader_as_int(n, &out->value))
        pdl_loader_wrong(l, n, loc, "should be of type <class 'int'>");
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

static const pdl_tree *load_argv(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->kind != PDL_NODE_SEQ) {
        pdl_loader_wrong(l, n, loc, "should be a list");
        pdl_loader_hint_items(l, n);
        return NULL;
    }
    pdl_tree *t = pdl_arena_new(l->a, pdl_tree);
    t->kind = PDL_TREE_LIST;
    t->node = n;
    t->loc = loc;
    t->n = n->n;
    t->items = pdl_arena_new_n(l->a, const pdl_tree *, n->n);
    for (uint32_t i = 0; i < n->n; i++)
        t->items[i] = pdl_loader_xstr(l, n->items[i], pdl_node_loc(n->items[i]), false);
    return t;
}

/* --- blocks ----------------------------------------------------------------------------------- */

static PDL_NOINLINE void load_list(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_blocks *out) {
    out->loc = loc;
    if (n->kind != PDL_NODE_SEQ) {
        pdl_loader_wrong(l, n, loc, "should be a list");
        return;
    }
    out->n = n->n;
    out->p = pdl_arena_new_n(l->a, const pdl_block *, n->n);
    for (uint32_t i = 0; i < n->n; i++)
        out->p[i] = pdl_loader_block(l, n->items[i], pdl_node_loc(n->items[i]), false);
}

static PDL_NOINLINE void load_texts(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                                    pdl_blocks *out) {
    if (n->kind == PDL_NODE_SEQ) {
        load_list(l, n, loc, out);
        return;
    }
    out->loc = loc;
    out->single = true;
    out->n = 1;
    out->p = pdl_arena_new_n(l->a, const pdl_block *, 1);
    out->p[0] = pdl_loader_block(l, n, loc, false);
}

/* Names of entries are literal text. */
static PDL_NOINLINE void load_named(pdl_loader *l, const pdl_node *n, pdl_loc loc,
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
        if (!pdl_node_is_str(key)) {
            pdl_loader_wrong(l, key, pdl_node_loc(key),
                             "should be of type <class 'str'>: quote the name");
            continue;
        }
        out->names[i] = key->text.p ? key->text : PDL_STR("");
        out->p[i] = pdl_loader_block(l, n->pairs[i].value, pdl_node_loc(key), false);
    }
}

static PDL_NOINLINE void load_fields(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                                     pdl_blocks *out) {
    if (n->kind == PDL_NODE_SEQ)
        load_list(l, n, loc, out);
    else if (n->kind == PDL_NODE_MAP)
        load_named(l, n, loc, out);
    else
        pdl_loader_wrong_union(l, n, loc, "object or list of blocks that give objects");
}

/* --- small fields of all blocks --------------------------------------------------------------- */

static void load_context(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_flag *independent) {
    static const char *const words[] = {"independent", "dependent"};
    independent->given = true;
    if (pdl_node_is_str(n) && pdl_str_is(n->text, words[0]))
        independent->value = true;
    else if (!pdl_node_is_str(n) || !pdl_str_is(n->text, words[1]))
        pdl_loader_one_of(l, n, loc, words, 2, false);
}

/* Any text but the empty one means true; it is not evaluated. */
static void load_text_as_flag(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool *out) {
    if (pdl_node_is_null(n)) return;
    if (pdl_node_is_str(n))
        *out = n->text.n > 0;
    else if (!pdl_loader_as_bool(n, false, out))
        pdl_loader_wrong_union(l, n, loc, "boolean or string");
}

static bool is_raw(const pdl_block *b) {
    const pdl_node *raw = pdl_node_find(b->node, PDL_STR("raw"), NULL);
    bool value;
    return b->kind == PDL_BLOCK_data && raw && pdl_loader_as_bool(raw, true, &value) && value;
}

static const pdl_tree *load_any(pdl_loader *l, const pdl_block *b, const pdl_field *f,
                                const pdl_node *n, pdl_loc loc) {
    if (is_raw(b)) return pdl_loader_tree_raw(l, n, loc);
    bool callee = b->kind == PDL_BLOCK_call && f->need == PDL_NEED_REQ;
    if (callee && !pdl_node_is_str(n) && n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong_union(l, n, loc, "string: an expression that gives a function");
        return NULL;
    }
    return b->kind == PDL_BLOCK_call && !callee ? pdl_loader_tree_args(l, n, loc)
                                                : pdl_loader_tree(l, n, loc);
}

/* Where the value of f goes. */
static void *member_of(pdl_loader *l, pdl_block *b, const pdl_field *f) {
    if (!f->in_rare) return (char *)b + f->offset;
    if (b->rare == &pdl_block_no_rare) b->rare = pdl_arena_new(l->a, pdl_block_rare);
    return (char *)(uintptr_t)b->rare + f->offset; /* not shared yet: the block is being made */
}

/* Fields without blocks inside. Flat switch over the types of fields. */
static PDL_NOINLINE void load_plain(pdl_loader *l, pdl_block *b, const pdl_field *f,
                                    const pdl_pair *pair) {
    void *at = member_of(l, b, f);
    const pdl_node *n = pair->value;
    pdl_loc loc = pdl_node_loc(pair->key);
    bool null_ok = f->need == PDL_NEED_OPT || f->need == PDL_NEED_NUL || f->need == PDL_NEED_OLD;
    bool absent = null_ok && pdl_node_is_null(n);
    switch (f->type) {
    case PDL_FT_STR:
        ((pdl_text_field *)at)->loc = loc;
        if (!absent) pdl_loader_text(l, n, loc, at);
        return;
    case PDL_FT_BOOL:
        if (!absent) load_flag(l, n, loc, at);
        return;
    case PDL_FT_INT:
        if (!absent) load_count(l, n, loc, at);
        return;
    case PDL_FT_EXPR: *(const pdl_tree **)at = load_any(l, b, f, n, loc); return;
    case PDL_FT_XBOOL: *(const pdl_tree **)at = pdl_loader_xbool(l, n, loc, null_ok); return;
    case PDL_FT_XINT: *(const pdl_tree **)at = pdl_loader_xint(l, n, loc, null_ok); return;
    case PDL_FT_XNUM: *(const pdl_tree **)at = pdl_loader_xnum(l, n, loc, null_ok); return;
    case PDL_FT_XSTR: *(const pdl_tree **)at = pdl_loader_xstr(l, n, loc, null_ok); return;
    case PDL_FT_XDICT: *(const pdl_tree **)at = pdl_loader_xdict(l, n, loc, null_ok); return;
    case PDL_FT_ANY: *(const pdl_node **)at = n; return;
    case PDL_FT_TYPE:
        *(pdl_spec_field *)at = (pdl_spec_field){pdl_loader_type(l, pair), loc};
        return;
    case PDL_FT_PARAMS: pdl_loader_params(l, pair, at); return;
    case PDL_FT_JOIN: *(const pdl_join **)at = pdl_loader_join(l, pair); return;
    case PDL_FT_FORS: *(const pdl_fors **)at = pdl_loader_fors(l, pair); return;
    case PDL_FT_ARGV: *(const pdl_tree **)at = load_argv(l, n, loc); return;
    case PDL_FT_AGG: *(const pdl_agg **)at = pdl_loader_agg(l, pair); return;
    case PDL_FT_CTX: load_context(l, n, loc, at); return;
    case PDL_FT_FLAG: load_text_as_flag(l, n, loc, at); return;
    case PDL_FT_BUDGET: *(const pdl_budget_field **)at = pdl_loader_budget(l, pair); return;
    case PDL_FT_ENDORSE: *(const pdl_endorse_field **)at = pdl_loader_endorse(l, pair); return;
    case PDL_FT_POLICY: *(const pdl_node **)at = pdl_loader_policy(l, pair); return;
    case PDL_FT_PROFILE: *(const pdl_node **)at = pdl_loader_profile(l, pair); return;
    case PDL_FT_RETRY: *(const pdl_retry **)at = pdl_loader_retry(l, pair); return;
    case PDL_FT_CONTRIBUTE: pdl_loader_contribute(l, pair, at); return;
    case PDL_FT_PARSER: *(const pdl_parser_field **)at = pdl_loader_parser(l, pair); return;
#define X(name, type, doc) case PDL_FT_##name:
        PDL_BLOCK_FIELD_TYPES(X)
#undef X
    case PDL_FT_COUNT: break;
    }
    PDL_BUG("field type %d", (int)f->type);
}

/* Blocks in blocks: each level of nesting has a frame of this function. */
void pdl_loader_field(pdl_loader *l, pdl_block *b, const pdl_field *f, const pdl_pair *pair) {
    void *at = member_of(l, b, f);
    const pdl_node *n = pair->value;
    pdl_loc loc = pdl_node_loc(pair->key);
    switch (f->type) {
    case PDL_FT_BLOCK:
        if (f->need == PDL_NEED_OPT && pdl_node_is_null(n)) return;
        *(const pdl_block **)at = pdl_loader_block(l, n, loc, b->kind != PDL_BLOCK_error);
        return;
    case PDL_FT_BLOCKS: load_list(l, n, loc, at); return;
    case PDL_FT_TEXTS: load_texts(l, n, loc, at); return;
    case PDL_FT_FIELDS: load_fields(l, n, loc, at); return;
    case PDL_FT_DEFS: load_named(l, n, loc, at); return;
    case PDL_FT_CASES: pdl_loader_cases(l, pair, at); return;
    case PDL_FT_EXPECTATIONS: pdl_loader_expectations(l, pair, at); return;
#define X(name, type, doc) case PDL_FT_##name:
        PDL_PLAIN_FIELD_TYPES(X)
#undef X
        load_plain(l, b, f, pair);
        return;
    case PDL_FT_COUNT: PDL_BUG("field %s", f->key);
    }
}
