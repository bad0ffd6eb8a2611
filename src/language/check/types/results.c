/* results.c -- the type of a block's result after its parser, spec and join. Literals are parsed
 * here as the run would parse them, so parsers and specs that must fail are reported before the
 * run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/limits.h"
#include "base/regex.h"
#include "check/checker.h"
#include "value/context.h"

#include "base/banned.h"

enum {
    OPAQUE = PDL_TY_OTHER | PDL_TY_UNDEFINED,
    MAX_PARSED = 65536 /* the maximum length of a literal that is parsed in the check */
};

/* --- parser ----------------------------------------------------------------------------------- */

/* Reports a regex that cannot be compiled. Every use of it fails. */
static bool is_broken(pdl_checker *c, const pdl_block *b, const pdl_parser *p) {
    pdl_regex *re = NULL;
    pdl_err err = {0};
    if (p->kind != PDL_PARSE_REGEX || p->compiled) return false;
    if (pdl_regex_new(p->regex, PDL_RE_MULTILINE, &re, &err)) {
        pdl_regex_free(re);
        return false;
    }
    const pdl_node *n = pdl_node_find(b->node, PDL_STR("parser"), NULL),
                   *text = n ? pdl_node_find(n, PDL_STR("regex"), NULL) : NULL;
    pdl_checker_diag(c, PDL_RULE_regex, b->rare->parser->loc,
                     text ? pdl_node_loc(text) : b->rare->parser->loc,
                     "Fail to parse with regex %.*s: error('%s')", PDL_FMT(p->regex), err.msg);
    pdl_err_fini(&err);
    return true;
}

/* Returns false after it reported a name of the spec that no group of the pattern has. Such a
 * parser fails when the pattern matches. */
static bool has_groups(pdl_checker *c, const pdl_block *b, const pdl_parser *p) {
    bool named = p->kind == PDL_PARSE_REGEX && p->compiled && p->has_object_spec &&
                 p->mode != PDL_PM_SPLIT && p->mode != PDL_PM_FINDALL;
    const pdl_node *n = pdl_node_find(b->node, PDL_STR("parser"), NULL),
                   *spec = n ? pdl_node_find(n, PDL_STR("spec"), NULL) : NULL;
    for (uint32_t i = 0; named && i < p->n_groups; i++) {
        const pdl_pair *pair = NULL;
        if (pdl_regex_group_index(p->compiled, p->groups[i])) continue;
        if (spec && spec->kind == PDL_NODE_MAP) pdl_node_find(spec, p->groups[i], &pair);
        pdl_loc at = b->rare->parser->loc;
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_regex, at, pair ? pdl_node_loc(pair->key) : at,
                                       "No group named %.*s found by %.*s", PDL_FMT(p->groups[i]),
                                       PDL_FMT(p->regex));
        pdl_checker_soften(d); /* the result is null when the pattern does not match */
        pdl_checker_hint(c, d, "write (?P<%.*s>...) into the pattern", PDL_FMT(p->groups[i]));
        return false;
    }
    return true;
}

static const pdl_ty *parsed_groups(pdl_arena *a, const pdl_parser *p) {
    const pdl_ty *text = pdl_ty_join(a, &pdl_ty_str, &pdl_ty_null);
    if (p->mode == PDL_PM_SPLIT || p->mode == PDL_PM_FINDALL) return &pdl_ty_list;
    if (!p->has_object_spec) return pdl_ty_join(a, &pdl_ty_list, &pdl_ty_null);
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, (size_t)p->n_groups + 1);
    for (uint32_t i = 0; i < p->n_groups; i++) f[i] = (pdl_ty_field){p->groups[i], text, false};
    return pdl_ty_new(a, (pdl_ty){.kinds = PDL_TY_DICT | PDL_TY_NULL,
                                  .closed = true,
                                  .fields = f,
                                  .n_fields = p->n_groups});
}

static const pdl_ty *type_of_parser(pdl_arena *a, const pdl_parser *p) {
    switch (p->kind) {
    case PDL_PARSE_JSON:
    case PDL_PARSE_YAML: return &pdl_ty_any;
    case PDL_PARSE_JSONL: return &pdl_ty_list;
    case PDL_PARSE_CSV:
        if (p->header) return &pdl_ty_list;
        return pdl_ty_list_of(a, pdl_ty_list_of(a, &pdl_ty_str));
    case PDL_PARSE_REGEX: return parsed_groups(a, p);
    }
    return &pdl_ty_any;
}

static void drop_value(void *p) { pdl_drop(*(pdl_val *)p); }

/* Returns true when the spec may choose another value of a text than v, its result without one. */
static bool has_choice(pdl_vref text, pdl_vref v) {
    pdl_val all;
    pdl_err err = {0};
    bool found = pdl_json_values(pdl_str_get(text), &all, &err);
    bool choice = found && pdl_list_len(all) &&
                  (pdl_list_len(all) > 1 || !pdl_val_eq(pdl_list_at(all, 0), v));
    if (found) pdl_drop(all);
    pdl_err_fini(&err);
    return choice;
}

/* Parses a literal as the run will. */
static const pdl_ty *parse_literal(pdl_checker *c, const pdl_block *b, const pdl_parser *p,
                                   pdl_vref text) {
    pdl_arena *a = pdl_checker_arena(c);
    pdl_err err = {0};
    pdl_val *v = pdl_arena_new(a, pdl_val);
    if (pdl_parse(p, text, v, &err)) {
        pdl_arena_defer(a, drop_value, v);
        bool chosen = p->kind == PDL_PARSE_JSON && b->rare->spec.type && has_choice(text, *v);
        return chosen ? &pdl_ty_any : pdl_ty_of_value(a, *v);
    }
    pdl_checker_diag(c, PDL_RULE_parser_type, b->rare->parser->loc, b->rare->parser->loc, "%s",
                     err.msg);
    pdl_err_fini(&err);
    return &pdl_ty_any;
}

const pdl_ty *pdl_checker_parsed(pdl_checker *c, const pdl_block *b, const pdl_ty *t) {
    const pdl_parser *p = b->rare->parser->parser;
    if (!p || is_broken(c, b, p)) return &pdl_ty_any;
    if (!(t->kinds & (PDL_TY_STR | OPAQUE))) {
        pdl_buf shown = PDL_BUF;
        pdl_ty_show(t, &shown);
        pdl_checker_diag(c, PDL_RULE_parser_type, b->rare->parser->loc, b->rare->parser->loc,
                         "`parser` reads text, and this is %.*s", PDL_FMT(pdl_buf_str(&shown)));
        pdl_buf_fini(&shown);
        return &pdl_ty_any;
    }
    if (t->has_value && pdl_is_str(t->value) && pdl_str_get(t->value).n <= MAX_PARSED)
        return parse_literal(c, b, p, t->value);
    if (!has_groups(c, b, p)) return &pdl_ty_any;
    return type_of_parser(pdl_checker_arena(c), p);
}

/* --- spec ------------------------------------------------------------------------------------- */

static bool has_schema(const pdl_type *t, unsigned depth) {
    if (pdl_type_is_any(t) || depth > PDL_MAX_SCHEMA_DEPTH) return false;
    switch (pdl_type_kind_of(t)) {
    case PDL_TYPE_schema: return true;
    case PDL_TYPE_list:
    case PDL_TYPE_optional: return has_schema(pdl_type_item_of(t), depth + 1);
    case PDL_TYPE_object:
        for (size_t i = 0; i < pdl_type_fields(t); i++)
            if (has_schema(pdl_type_field(t, i), depth + 1)) return true;
        return false;
    case PDL_TYPE_any:
    case PDL_TYPE_base: return false;
    }
    return false;
}

/* Reports a broken JSON Schema, which fails at the first check of any value. Returns the problem,
 * or NULL when the schema is intact. */
static pdl_diag *check_schema(pdl_checker *c, const pdl_type *t, pdl_loc loc, pdl_loc mark) {
    pdl_type_verdict found;
    pdl_err err = {0};
    pdl_diag *d = NULL;
    if (c->quiet || !has_schema(t, 0)) return NULL;
    pdl_arena *scratch = pdl_arena_make();
    if (!pdl_type_check(t, pdl_null(), NULL, scratch, &found, &err))
        d = pdl_checker_diag(c, PDL_RULE_spec_invalid, loc, mark, "%s", err.msg);
    if (d && err.hint) pdl_checker_hint(c, d, "%s", err.hint);
    pdl_err_fini(&err);
    pdl_arena_free(scratch);
    return d;
}

static bool is_valid(pdl_checker *c, const pdl_block *b) {
    return !check_schema(c, b->rare->spec.type, b->rare->spec.loc,
                         pdl_checker_value_loc(b, "spec"));
}

/* Checks the types of parameters. Problems are warnings, because only calls by `call` check
 * arguments, and the program may have no such call. */
void pdl_checker_params(pdl_checker *c, const pdl_params *p) {
    for (uint32_t i = 0; i < p->n; i++) {
        bool pair = p->node && p->node->kind == PDL_NODE_MAP && i < p->node->n;
        if (!pair) continue;
        pdl_loc at = pdl_node_loc(p->node->pairs[i].value);
        pdl_checker_soften(check_schema(c, p->types[i], at, at));
    }
}

/* Returns the type of a result that has the type t and fits the spec. Returns t when more than its
 * kinds is known, or when the spec is `any`. Otherwise, returns the kinds that t shares with a base
 * type, or else the type of the spec. */
static const pdl_ty *refined(pdl_checker *c, const pdl_ty *t, const pdl_type *spec) {
    pdl_type_kind kind = pdl_type_kind_of(spec);
    bool detailed = t->has_value || t->item || t->n_fields;
    if (pdl_type_is_any(spec) || detailed) return t;
    const pdl_ty *wanted = pdl_ty_of_spec(pdl_checker_arena(c), spec);
    if (kind == PDL_TYPE_base && !pdl_ty_is_unknown(t) && t->kinds & wanted->kinds)
        return pdl_ty_of_kinds(pdl_checker_arena(c), t->kinds & wanted->kinds);
    return wanted;
}

const pdl_ty *pdl_checker_fitted(pdl_checker *c, const pdl_block *b, const pdl_ty *t) {
    const pdl_type *spec = b->rare->spec.type;
    pdl_buf problem = PDL_BUF;
    if (!is_valid(c, b)) return &pdl_ty_any;
    bool fits = pdl_ty_may_fit(pdl_checker_arena(c), t, spec, &problem);
    if (!fits)
        pdl_checker_diag(c, PDL_RULE_spec_mismatch, b->rare->spec.loc,
                         pdl_checker_value_loc(b, "spec"), "the result does not fit `spec`: %.*s",
                         PDL_FMT(pdl_buf_str(&problem)));
    pdl_buf_fini(&problem);
    return fits ? refined(c, t, spec) : pdl_ty_of_spec(pdl_checker_arena(c), spec);
}

/* --- messages --------------------------------------------------------------------------------- */

enum { MESSAGES = PDL_TY_LIST | PDL_TY_TUPLE | PDL_TY_DICT | PDL_TY_CONTEXT | OPAQUE };

void pdl_checker_context(pdl_checker *c, const pdl_ty *t, const pdl_node *n, pdl_loc loc,
                         pdl_loc mark, bool takes_text) {
    if (t->kinds & MESSAGES) {
        bool filled = t->kinds == PDL_TY_LIST && (t->least || t->has_value);
        const pdl_ty *item = filled ? pdl_ty_items(pdl_checker_arena(c), t) : &pdl_ty_any;
        if (item->kinds & MESSAGES) {
            pdl_checker_messages(c, t, n, mark);
            return;
        }
    }
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_context_type, loc, mark,
                                   "messages are expected here, and this is %.*s",
                                   PDL_FMT(pdl_buf_str(&shown)));
    bool number = takes_text && !(t->kinds & ~(uint32_t)PDL_TY_NUMBER);
    pdl_checker_hint(c, d, "%s",
                     number ? PDL_CONTEXT_NUMBER : "a message is {role: user, content: text}");
    pdl_buf_fini(&shown);
}

/* --- join ------------------------------------------------------------------------------------- */

const pdl_ty *pdl_checker_joined(pdl_checker *c, const pdl_join *join, const pdl_ty *each,
                                 bool may_be_empty) {
    pdl_arena *a = pdl_checker_arena(c);
    switch (join ? join->kind : PDL_JOIN_TEXT) {
    case PDL_JOIN_TEXT: return &pdl_ty_str;
    case PDL_JOIN_ARRAY: return pdl_ty_list_sized(a, each, !may_be_empty, false);
    case PDL_JOIN_LASTOF: return may_be_empty ? pdl_ty_join(a, each, &pdl_ty_null) : each;
    case PDL_JOIN_REDUCE: return &pdl_ty_any;
    case PDL_JOIN_OBJECT: break;
    }
    if (!(each->kinds & (PDL_TY_DICT | OPAQUE))) {
        pdl_buf shown = PDL_BUF;
        pdl_ty_show(each, &shown);
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_join_type, join->loc, join->loc,
                                       "objects are joined here, and a result is %.*s",
                                       PDL_FMT(pdl_buf_str(&shown)));
        if (may_be_empty && d) d->certain = false;
        pdl_buf_fini(&shown);
    }
    return &pdl_ty_dict;
}
