/* lint.c -- finds constructs that run but are rarely intended. One function for each construct
 * examines one block (spec syntax 1.4, 2.2, 7.1).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "check/checker.h"
#include "lang/walk.h"

#include "base/banned.h"

/* the maximum number of fixes for old names in one type, because each fix reads the whole type */
enum { MAX_FIXES = 50 };

/* Reports a condition that is a string. A string is true unless it is empty. */
static void literal_condition(pdl_checker *c, const char *key, const pdl_tree *t) {
    pdl_str s = {0};
    bool empty = t && t->kind == PDL_TREE_CONST && pdl_is_str(t->value) && !pdl_str_get(t->value).n;
    if (!empty && !pdl_tree_is_text(t, &s)) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_literal_condition, t->loc,
                                   t->node ? pdl_node_loc(t->node) : t->loc,
                                   "`%s` is the text '%.*s', which is always %s", key,
                                   PDL_FMT(pdl_utf8_cut(s, 60)), s.n ? "true" : "false");
    if (pdl_str_is(s, "false") || pdl_str_is(s, "true"))
        pdl_checker_hint(c, d, "write %.*s without quotes", PDL_FMT(s));
    else
        pdl_checker_hint(c, d, "%s", PDL_CONDITION_ADVICE(t));
}

static void lint_conditions(pdl_checker *c, const pdl_block *b) {
    if (b->kind == PDL_BLOCK_if) literal_condition(c, "if", PDL_AS(if, b)->cond);
    if (b->kind == PDL_BLOCK_repeat) {
        literal_condition(c, "while", PDL_AS(repeat, b)->while_);
        literal_condition(c, "until", PDL_AS(repeat, b)->until);
    }
    if (b->kind != PDL_BLOCK_match) return;
    const pdl_cases *cases = &PDL_AS(match, b)->cases;
    for (uint32_t i = 0; i < cases->n; i++) literal_condition(c, "if", cases->p[i].cond);
}

void pdl_checker_lint_role(pdl_checker *c, pdl_str role, pdl_loc loc, pdl_loc value) {
    static const pdl_str roles[] = {{"user", 4}, {"system", 6},    {"assistant", 9},
                                    {"tool", 4}, {"developer", 9}, {"function", 8}};
    static const pdl_str elsewhere[][2] = {
        {{"ai", 2}, {"assistant", 9}},    {{"bot", 3}, {"assistant", 9}},
        {{"model", 5}, {"assistant", 9}}, {{"human", 5}, {"user", 4}},
        {{"person", 6}, {"user", 4}},
    };
    enum { N = sizeof roles / sizeof *roles };
    for (size_t i = 0; i < N; i++)
        if (pdl_str_eq(role, roles[i])) return;
    bool expr = pdl_str_find(role, PDL_STR("${"), 0) != PDL_NOT_FOUND;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_role, loc, loc,
                                   expr ? "`role` is not evaluated: %.*s is the role itself"
                                        : "'%.*s' is not a role that models know",
                                   PDL_FMT(role));
    pdl_str near = pdl_str_nearest(role, roles, N);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (pdl_str_eq_nocase(role, elsewhere[i][0])) near = elsewhere[i][1];
    if (!d || !near.n) return;
    pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    if (value.end - value.start >= role.n) pdl_program_edit(c->p, d, value, near);
}

static void lint_role(pdl_checker *c, const pdl_block *b) {
    if (b->rare->role.s.p)
        pdl_checker_lint_role(c, b->rare->role.s, b->rare->role.loc,
                              pdl_checker_value_loc(b, "role"));
}

/* The search for the old names of types in a spec. */
typedef struct old_types {
    pdl_checker *c;
    pdl_loc loc;
    const pdl_node *spec; /* NULL when the text of the program does not have the spec */
    const pdl_node *found;
    const char *looks_for;
    /* n_before: uses of the name that were reported before; n_seen: uses in the text of the spec */
    size_t n_before, n_seen;
} old_types;

/* Counts the scalars of a spec whose text is the name. When n_before of them were counted, stores
 * the next scalar in found. The recursion is as deep as the YAML source is nested. */
static void find_name(old_types *o, const pdl_node *n) {
    if (n->kind == PDL_NODE_SCALAR) {
        if (!pdl_str_is(n->text, o->looks_for)) return;
        if (o->n_seen++ == o->n_before) o->found = n;
        return;
    }
    for (uint32_t i = 0; i < n->n; i++)
        find_name(o, n->kind == PDL_NODE_MAP ? n->pairs[i].value : n->items[i]);
}

/* The uses of one old name in a type. */
typedef struct name_count {
    const char *name;
    size_t n;
} name_count;

static void count_name(void *user, const char *old, const char *now) {
    name_count *k = user;
    (void)now;
    k->n += strcmp(k->name, old) == 0;
}

typedef struct old_use {
    old_types *o;
    const pdl_type *type;
    PDL_VEC(const char *) before; /* names that were reported, at most MAX_FIXES */
} old_use;

/* Reports an old name. Adds a fix if every scalar with this text is a type; otherwise, one of these
 * scalars may be a value of an enum. */
static void old_type(void *user, const char *old, const char *now) {
    old_use *u = user;
    old_types *o = u->o;
    name_count all = {old, 0};
    pdl_diag *d = pdl_checker_diag(o->c, PDL_RULE_type_deprecated, o->loc, o->loc,
                                   "Deprecated type syntax: use %s instead of %s.", now, old);
    o->looks_for = old;
    o->found = NULL;
    o->n_seen = o->n_before = 0;
    if (u->before.n == MAX_FIXES) return;
    for (size_t i = 0; i < u->before.n; i++) o->n_before += strcmp(u->before.p[i], old) == 0;
    *pdl_vec_push(&u->before) = old;
    if (!d || !o->spec) return;
    pdl_type_deprecated(u->type, count_name, &all);
    find_name(o, o->spec);
    if (o->found && o->n_seen == all.n && !o->spec->shared)
        pdl_checker_fix(o->c, d, pdl_node_loc(o->found), pdl_str_of(now));
}

static void found_old(void *user, const char *old, const char *now) {
    (void)old, (void)now;
    *(bool *)user = true;
}

/* Returns true when a type has old names. In other types, no places are searched. */
static bool has_old(const pdl_type *t) {
    bool found = false;
    pdl_type_deprecated(t, found_old, &found);
    return found;
}

static void lint_type(pdl_checker *c, const pdl_type *t, const pdl_node *spec, pdl_loc loc) {
    old_types o = {.c = c, .loc = loc, .spec = spec};
    old_use u = {.o = &o, .type = t};
    pdl_type_deprecated(t, old_type, &u);
    pdl_vec_fini(&u.before);
}

static void lint_types(pdl_checker *c, const pdl_block *b) {
    const pdl_node *n = b->node && b->node->kind == PDL_NODE_MAP ? b->node : NULL;
    if (has_old(b->rare->spec.type))
        lint_type(c, b->rare->spec.type, n ? pdl_node_find(n, PDL_STR("spec"), NULL) : NULL,
                  b->rare->spec.loc);
    if (b->rare->parser && has_old(b->rare->parser->spec)) {
        const pdl_node *parser = n ? pdl_node_find(n, PDL_STR("parser"), NULL) : NULL;
        bool map = parser && parser->kind == PDL_NODE_MAP;
        lint_type(c, b->rare->parser->spec,
                  map ? pdl_node_find(parser, PDL_STR("spec"), NULL) : NULL, b->rare->parser->loc);
    }
    if (b->kind != PDL_BLOCK_function) return;
    const pdl_params *p = &PDL_AS(function, b)->params;
    for (uint32_t i = 0; i < p->n; i++) {
        const pdl_pair *pair = NULL;
        if (!has_old(p->types[i])) continue;
        bool found = p->node && pdl_node_find(p->node, p->names[i], &pair);
        lint_type(c, p->types[i], found ? pair->value : NULL,
                  found ? pdl_node_loc(pair->key) : b->loc);
    }
}

static void lint_get(pdl_checker *c, const pdl_block *b) {
    pdl_loc loc = pdl_field_loc(b, "get");
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_get, loc, loc, "`get` is the old form of `data`");
    pdl_checker_hint(c, d, "write data: ${ %.*s }", PDL_FMT(PDL_AS(get, b)->get.s));
    const pdl_node *value = pdl_node_find(b->node, PDL_STR("get"), NULL);
    if (!d || !value || value->style != PDL_STYLE_PLAIN) return;
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(PDL_AS(get, b)->get.s));
    pdl_checker_fix(c, d, loc, PDL_STR("data"));
    pdl_checker_fix(c, d, pdl_node_loc(value), pdl_buf_str(&text));
    pdl_buf_fini(&text);
}

static void lint_synonyms(pdl_checker *c, const pdl_block *b) {
    for (uint32_t k = 0; k < b->node->n; k++) {
        const pdl_node *key = b->node->pairs[k].key;
        if (!key->text.n || key->text.p[key->text.n - 1] != '_') continue;
        size_t n;
        const pdl_synonym_row *rows = pdl_key_synonyms(&n);
        for (size_t i = 0; i < n; i++) {
            if (!pdl_str_is(key->text, rows[i].old)) continue;
            pdl_diag *d =
                pdl_checker_diag(c, PDL_RULE_synonym, pdl_node_loc(key), pdl_node_loc(key),
                                 "`%s` is an internal spelling", rows[i].old);
            pdl_checker_hint(c, d, "write %s", rows[i].key);
            pdl_checker_fix(c, d, pdl_node_loc(key), pdl_str_of(rows[i].key));
        }
    }
}

static void lint_old_loop(pdl_checker *c, const pdl_block *b) {
    if (!PDL_AS(repeat, b)->num) return;
    pdl_loc loc = pdl_field_loc(b, "num_iterations");
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_num_iterations, loc, loc,
                                   "`num_iterations` is the old name of `maxIterations`");
    pdl_checker_fix(c, d, loc, PDL_STR("maxIterations"));
}

/* Reports fields that this interpreter has and the reference lacks: fields of all kinds of blocks,
 * and fields of one kind. */
static void lint_own_fields(pdl_checker *c, const pdl_block *b) {
    enum { ANY = PDL_BLOCK_COUNT };
    static const struct {
        int kind;
        const char *name;
    } own[] = {{ANY, "budget"},     {ANY, "policy"},  {ANY, "sandbox"},
               {ANY, "idempotent"}, {ANY, "endorse"}, {PDL_BLOCK_code, "session"}};
    for (uint32_t k = 0; k < b->node->n; k++) {
        pdl_str key = b->node->pairs[k].key->text;
        for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
            if (own[i].kind != ANY && own[i].kind != (int)b->kind) continue;
            if (!pdl_str_is(key, own[i].name)) continue;
            pdl_loc loc = pdl_field_loc(b, own[i].name);
            pdl_checker_diag(c, PDL_RULE_field_own, loc, loc,
                             "`%s` is refused by the reference interpreter", own[i].name);
        }
    }
}

/* Reports a plain scalar that YAML reads as a date, which is rarely intended. */
static void lint_date(pdl_checker *c, const pdl_block *b) {
    if (!PDL_AS(data, b)->data) return;
    const pdl_node *n = PDL_AS(data, b)->data->node;
    if (!n || n->kind != PDL_NODE_SCALAR || n->type != PDL_NT_TIMESTAMP) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_date, pdl_field_loc(b, "data"), pdl_node_loc(n),
                                   "`%.*s` is a date, not text", PDL_FMT(n->text));
    pdl_checker_hint(c, d, "quote it to get text");
}

/* Returns true when b may give a text that it stores in no variable. In a list, such a text is lost
 * when another block follows b. */
static bool is_text(const pdl_block *b) {
    const pdl_tree *t = b->kind == PDL_BLOCK_scalar ? PDL_AS(scalar, b)->value
                        : b->kind == PDL_BLOCK_data ? PDL_AS(data, b)->data
                                                    : NULL;
    if (b->def.s.p || (b->contribute.given && !b->contribute.result)) return false;
    if (b->kind == PDL_BLOCK_text) return true;
    if (t && t->kind == PDL_TREE_EXPR) return true;
    return t && t->kind == PDL_TREE_CONST && pdl_is_str(t->value) && pdl_str_get(t->value).n;
}

/* Finds a block that may read the messages before it. The recursion is as deep as the YAML source
 * is nested. */
static void find_reader(void *user, const pdl_block *b) {
    static const bool reads[PDL_BLOCK_COUNT] = {
        [PDL_BLOCK_model] = true,   [PDL_BLOCK_call] = true,   [PDL_BLOCK_code] = true,
        [PDL_BLOCK_include] = true, [PDL_BLOCK_import] = true,
    };
    bool *found = user;
    *found = *found || reads[b->kind];
    if (!*found) pdl_block_each_child(b, find_reader, found);
}

static void find_reading(void *user, const pdl_block *b, const char *key, const pdl_tree *t) {
    bool *found = user;
    (void)b, (void)key;
    *found = *found || pdl_tree_expr(t)->has_call ||
             pdl_str_find(t->text->source, PDL_STR("pdl_context"), 0) != PDL_NOT_FOUND;
}

/* Reports a list of texts such as `- a` and `- b`: its result is the last text, not both. A program
 * in which anything may read the context is skipped, because there the texts may be meant as
 * messages. */
void pdl_checker_lint_program(pdl_checker *c, const pdl_block *main) {
    const pdl_block *lost = NULL;
    bool reads = false;
    if (main->kind != PDL_BLOCK_lastOf || !main->node || main->node->kind != PDL_NODE_SEQ) return;
    const pdl_blocks *items = &PDL_AS(lastOf, main)->items;
    for (uint32_t i = 0; i + 1 < items->n && !lost; i++)
        if (is_text(items->p[i])) lost = items->p[i];
    if (!lost) return;
    find_reader(&reads, main);
    pdl_program_walk(c->p, &(pdl_walk){.user = &reads, .expr = find_reading});
    if (reads) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_list_program, lost->loc,
                                   lost->node ? pdl_node_loc(lost->node) : lost->loc,
                                   "of a list only the last result is printed");
    pdl_checker_hint(c, d, "write text: before the list, which joins its results");
}

/* Checks the keys of data. The recursion is as deep as the YAML source is nested. An alias is
 * skipped, since aliases may multiply; its target was examined where it is written. */
void pdl_checker_lint_keys(pdl_checker *c, const pdl_node *n) {
    if (!n || n->shared) return;
    if (n->kind == PDL_NODE_SCALAR) {
        pdl_checker_norway_number(c, n);
        return;
    }
    if (n->kind == PDL_NODE_SEQ) {
        for (uint32_t i = 0; i < n->n; i++) pdl_checker_lint_keys(c, n->items[i]);
        return;
    }
    if (n->repeats) {
        pdl_loc loc = pdl_node_loc(n->pairs[n->n].key);
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_key_duplicate, loc, loc,
                                       "the key '%.*s' is there twice, the later value counts",
                                       PDL_FMT(n->pairs[n->n].key->text));
        pdl_checker_relate(c, d, pdl_node_loc(n->pairs[n->n].value), "the first one");
    }
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_checker_lint_pair(c, n, &n->pairs[i]);
        pdl_checker_norway_key(c, n->pairs[i].key);
        pdl_checker_lint_keys(c, n->pairs[i].value);
    }
}

/* Calls the rules for a block. Every block comes here, and most have nothing to examine, so a rule
 * is only called for the kinds and fields that it is about. */
void pdl_checker_lint_block(pdl_checker *c, const pdl_block *b) {
    const pdl_block_rare *rare = b->rare;
    if (c->quiet || c->opt->no_lint) return;
    switch ((int)b->kind) {
    case PDL_BLOCK_if:
    case PDL_BLOCK_match: lint_conditions(c, b); break;
    case PDL_BLOCK_scalar: pdl_checker_norway_boolean(c, b); break;
    case PDL_BLOCK_get: lint_get(c, b); break;
    case PDL_BLOCK_data: lint_date(c, b); break;
    case PDL_BLOCK_repeat:
        lint_conditions(c, b);
        lint_old_loop(c, b);
        break;
    default: break;
    }
    if (rare->role.s.p) lint_role(c, b);
    pdl_checker_lint_prefix(c, b);
    if (rare->spec.type || rare->parser || b->kind == PDL_BLOCK_function) lint_types(c, b);
    if (b->node && b->node->kind == PDL_NODE_MAP) {
        lint_synonyms(c, b);
        lint_own_fields(c, b);
    }
    pdl_checker_lint_written(c, b);
}

void pdl_checker_lint_text(pdl_checker *c, pdl_str text, const pdl_node *node, pdl_loc loc) {
    if (c->quiet || c->opt->no_lint || c->in_jinja || !pdl_byte_in('#', text)) return;
    size_t at = pdl_str_find(text, PDL_STR("{#"), 0);
    if (at == PDL_NOT_FOUND || pdl_str_find(text, PDL_STR("#}"), at) == PDL_NOT_FOUND) return;
    pdl_loc mark = node && node->kind == PDL_NODE_SCALAR && pdl_str_eq(node->text, text)
                       ? pdl_node_text_loc(node, at, at + 2)
                       : loc;
    pdl_checker_diag(c, PDL_RULE_comment, loc, mark,
                     "`{#` starts a comment that is left out of the text");
}
