/* dump.c -- see dump.h. Fields come from the tables in their order; what a kind spells out in
 * traces is a row `D` there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/dump.h"

#include "base/utf8.h"
#include "lang/fields.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* Keeps variables out of the frames of recursive functions. */
#define PDL_NOINLINE __attribute__((noinline))

typedef struct dumper {
    const pdl_dump_view *view; /* NULL: nothing was executed */
    bool trace;                /* spell defaults out */
} dumper;

/* What a trace spells out for a field that is not written: its row, but for two kinds that have two
 * forms. */
static PDL_NOINLINE pdl_val default_of(const pdl_block *b, const char *key) {
    if (b->kind == PDL_BLOCK_code && PDL_AS(code, b)->args) return pdl_absent();
    if (b->kind == PDL_BLOCK_model && PDL_AS(model, b)->processor && strcmp(key, "platform") == 0)
        return pdl_textz("granite-io");
    return pdl_field_default(b->kind, key);
}

static PDL_NOINLINE pdl_val node_value(const pdl_node *n) {
    pdl_val v;
    pdl_err err = {0};
    if (!n) return pdl_null();
    if (pdl_yaml_to_val(n, &v, &err)) return v;
    pdl_err_fini(&err);
    return pdl_text(n->text);
}

/* The source value of an expression; a recorded one without its record. */
static PDL_NOINLINE pdl_val written(const pdl_tree *t) {
    if (t->kind == PDL_TREE_CONST && !t->node) return pdl_keep(t->value);
    if (t->kind == PDL_TREE_EXPR) return pdl_text(t->text->source);
    return node_value(t->node);
}

static PDL_NOINLINE pdl_val recorded(const dumper *d, const pdl_block *b, const char *key,
                                     uint32_t index, pdl_val as_written) {
    pdl_val v =
        d->view && d->view->value ? d->view->value(d->view->user, b, key, index) : pdl_absent();
    if (pdl_is_absent(v)) return as_written;
    pdl_val e = pdl_dict_puts(pdl_dict_new(2), PDL_STR("pdl__expr"), as_written);
    return pdl_is_null(v) ? e : pdl_dict_puts(e, PDL_STR("pdl__result"), v);
}

static PDL_NOINLINE pdl_val dump_tree(const dumper *d, const pdl_block *b, const char *key,
                                      const pdl_tree *t) {
    return recorded(d, b, key, 0, written(t));
}

/* The words of a command, each of which is an expression. */
static PDL_NOINLINE pdl_val dump_words(const dumper *d, const pdl_block *b, const char *key,
                                       const pdl_tree *t) {
    pdl_val words = written(t), all = d->view && d->view->value
                                          ? d->view->value(d->view->user, b, key, 0)
                                          : pdl_absent();
    pdl_val out = pdl_list_new(pdl_is_list(words) ? pdl_list_len(words) : 0);
    for (size_t i = 0; pdl_is_list(words) && i < pdl_list_len(words); i++) {
        pdl_val word = pdl_keep(pdl_list_at(words, i));
        if (pdl_is_list(all) && i < pdl_list_len(all)) {
            word = pdl_dict_puts(pdl_dict_new(2), PDL_STR("pdl__expr"), word);
            word = pdl_dict_puts(word, PDL_STR("pdl__result"), pdl_keep(pdl_list_at(all, i)));
        }
        out = pdl_list_push(out, word);
    }
    pdl_drop(words);
    pdl_drop(all);
    return out;
}

static pdl_val dump_block(const dumper *d, const pdl_block *b);

/* A sub-block: as executed when the view knows, else as written. */
static PDL_NOINLINE pdl_val dump_child(const dumper *d, const pdl_block *b, const char *key,
                                       uint32_t index, const pdl_block *child) {
    if (d->view && d->view->child) {
        pdl_val v = d->view->child(d->view->user, b, child, key, index);
        if (!pdl_is_absent(v)) return v;
    }
    dumper plain = {NULL, d->trace};
    return dump_block(&plain, child);
}

static PDL_NOINLINE pdl_val dump_list(const dumper *d, const pdl_block *b, const char *key,
                                      const pdl_blocks *list) {
    pdl_val out = pdl_list_new(list->n);
    for (uint32_t i = 0; i < list->n; i++)
        out = pdl_list_push(out, dump_child(d, b, key, i, list->p[i]));
    return out;
}

static PDL_NOINLINE pdl_val dump_named(const dumper *d, const pdl_block *b, const char *key,
                                       const pdl_blocks *map) {
    pdl_val out = pdl_dict_new(map->n);
    for (uint32_t i = 0; i < map->n; i++)
        out = pdl_dict_puts(out, map->names[i], dump_child(d, b, key, i, map->p[i]));
    return out;
}

static PDL_NOINLINE pdl_val dump_params(const pdl_params *p) {
    if (p->is_null) return pdl_null();
    pdl_val out = pdl_dict_new(p->n);
    for (uint32_t i = 0; i < p->n; i++) {
        pdl_val type = pdl_type_as_written(p->types[i]);
        if (pdl_type_field_optional(p->all, i))
            type = pdl_dict_putz(pdl_dict_new(1), "optional", type);
        out = pdl_dict_puts(out, p->names[i], type);
    }
    return out;
}

static PDL_NOINLINE pdl_val dump_join(const dumper *d, const pdl_block *b, const pdl_join *j) {
    static const char *const names[] = {"text", "array", "object", "lastOf", "reduce"};
    if (j->kind == PDL_JOIN_TEXT) return pdl_dict_putz(pdl_dict_new(1), "with", pdl_text(j->with));
    if (j->kind == PDL_JOIN_REDUCE)
        return pdl_dict_puts(pdl_dict_new(1), PDL_STR("reduce"),
                             dump_tree(d, b, "reduce", j->reduce));
    return pdl_dict_puts(pdl_dict_new(1), PDL_STR("as"), pdl_textz(names[j->kind]));
}

static pdl_val case_fact(const dumper *d, const pdl_block *b, const char *key, uint32_t i) {
    pdl_val v = d->view && d->view->value ? d->view->value(d->view->user, b, key, i) : pdl_absent();
    return pdl_is_absent(v) ? pdl_null() : v;
}

static PDL_NOINLINE pdl_val dump_case(const dumper *d, const pdl_block *b, const pdl_case *c,
                                      uint32_t i) {
    pdl_val out = pdl_dict_new(6);
    if (c->pattern || d->trace)
        out = pdl_dict_putz(out, "case", c->pattern ? node_value(c->pattern->node) : pdl_null());
    if (c->cond)
        out = pdl_dict_putz(out, "if", recorded(d, b, "if", i, written(c->cond)));
    else if (d->trace)
        out = pdl_dict_putz(out, "if", pdl_null());
    out = pdl_dict_putz(out, "then", dump_child(d, b, "with", i, c->then));
    if (!d->trace) return out;
    out = pdl_dict_putz(out, "pdl__case_result", case_fact(d, b, "pdl__case_result", i));
    out = pdl_dict_putz(out, "pdl__if_result", case_fact(d, b, "pdl__if_result", i));
    return pdl_dict_putz(out, "pdl__matched", case_fact(d, b, "pdl__matched", i));
}

static PDL_NOINLINE pdl_val dump_cases(const dumper *d, const pdl_block *b,
                                       const pdl_cases *cases) {
    pdl_val out = pdl_list_new(cases->n);
    for (uint32_t i = 0; i < cases->n; i++)
        out = pdl_list_push(out, dump_case(d, b, &cases->p[i], i));
    return out;
}

static PDL_NOINLINE pdl_val dump_contribute(const pdl_contributes *c) {
    pdl_val out = pdl_list_new(c->n);
    for (uint32_t i = 0; i < c->n; i++) out = pdl_list_push(out, node_value(c->p[i].node));
    return out;
}

static PDL_NOINLINE pdl_val dump_expectations(const dumper *d, const pdl_block *b) {
    pdl_val out = pdl_list_new(b->rare->expectations.n);
    for (uint32_t i = 0; i < b->rare->expectations.n; i++) {
        const pdl_expectation *x = &b->rare->expectations.p[i];
        pdl_val e = pdl_dict_putz(pdl_dict_new(2), "expect", written(x->expect));
        if (x->feedback)
            e = pdl_dict_putz(e, "feedback", recorded(d, b, "feedback", i, written(x->feedback)));
        else if (x->feedback_block)
            e = pdl_dict_putz(e, "feedback", dump_child(d, b, "feedback", i, x->feedback_block));
        out = pdl_list_push(out, e);
    }
    return out;
}

static PDL_NOINLINE pdl_val dump_flag(const dumper *d, const char *key, const pdl_flag *flag) {
    bool given = flag->given;
    if (d->trace && strcmp(key, "raw") == 0)
        given = given && flag->value;
    else if (d->trace && strcmp(key, "multiline") != 0)
        given = given && !flag->value;
    return given ? pdl_bool(flag->value) : pdl_absent();
}

/* Words whose case does not matter. */
static pdl_val lowered(pdl_str s) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_lower(&b, s);
    pdl_val v = pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

/* Traces spell out the fields of a file. */
static pdl_val dump_aggregator(const dumper *d, const pdl_agg *a) {
    pdl_val given = node_value(a->node);
    if (!d->trace || !a->is_file || !pdl_is_dict(given)) return given;
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(PDL_RECORD_aggregator, &n);
    pdl_val out = pdl_dict_putz(pdl_dict_new(n), "description", pdl_null());
    for (size_t i = 0; i < n; i++) {
        pdl_val v = pdl_record_default(PDL_RECORD_aggregator, parts[i].key);
        if (!pdl_is_absent(v)) out = pdl_dict_putz(out, parts[i].key, v);
    }
    out = pdl_dict_merge(out, given);
    pdl_drop(given);
    return out;
}

static PDL_NOINLINE pdl_val dump_text(const dumper *d, const char *key, pdl_str s) {
    if (!s.p) return pdl_absent();
    return d->trace && strcmp(key, "lang") == 0 ? lowered(s) : pdl_text(s);
}

static pdl_val dump_count(const pdl_count *count) {
    return count->given ? pdl_int(count->value) : pdl_absent();
}

static const char *shown_key(const pdl_field *f) {
    return f->need == PDL_NEED_OLD ? "maxIterations" : f->key;
}

static PDL_NOINLINE pdl_val dump_expr(const dumper *d, const pdl_block *b, const pdl_field *f,
                                      const pdl_tree *t) {
    if (t) return dump_tree(d, b, shown_key(f), t);
    return f->need == PDL_NEED_NUL ? pdl_null() : pdl_absent();
}

/* NULL: the field is not written. */
static PDL_NOINLINE pdl_val dump_node(const pdl_node *n) {
    return n ? node_value(n) : pdl_absent();
}

/* Where the block is written as a mapping. */
static const pdl_node *written_field(const pdl_block *b, const char *key) {
    bool is_map = b->node && b->node->kind == PDL_NODE_MAP;
    return is_map ? pdl_node_find(b->node, pdl_str_of(key), NULL) : NULL;
}

static PDL_NOINLINE pdl_val dump_fors(const dumper *d, const pdl_block *b, const char *key,
                                      const pdl_fors *fors) {
    return fors ? recorded(d, b, key, 0, node_value(fors->node)) : pdl_absent();
}

static pdl_val dump_context_mode(const dumper *d, const pdl_flag *independent) {
    if (!d->trace && !independent->given) return pdl_absent();
    return pdl_textz(independent->value ? "independent" : "dependent");
}

static pdl_val dump_type(const pdl_type *type) {
    return type ? pdl_type_as_written(type) : pdl_absent();
}

static bool is_default_pair(const pdl_contributes *c) {
    return !c->given || (c->n == 2 && c->result && c->context && !c->p[0].value && !c->p[1].value);
}

/* Traces have the fields in the order of the reference, and the mode in lower case. */
static PDL_NOINLINE pdl_val dump_parser(const dumper *d, const pdl_block *b) {
    static const char *const order[] = {"description", "spec", "pdl", "regex", "mode"};
    const pdl_node *n = pdl_node_find(b->node, PDL_STR("parser"), NULL);
    if (d->trace && pdl_node_is_str(n)) return lowered(n->text);
    pdl_val given = node_value(n), out;
    if (!d->trace || !pdl_is_dict(given)) return given;
    out = pdl_dict_new(4);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        pdl_vref v = pdl_dict_getz(given, order[i]);
        if (pdl_is_absent(v)) continue;
        bool is_mode = strcmp(order[i], "mode") == 0 && pdl_is_str(v);
        out = pdl_dict_putz(out, order[i], is_mode ? lowered(pdl_str_get(v)) : pdl_keep(v));
    }
    pdl_drop(given);
    return out;
}

/* Value of a field; absent when it is not written and a dump does not spell it out. Flat switch
 * over the types of fields. */
static PDL_NOINLINE pdl_val dump_field(const dumper *d, const pdl_block *b, const pdl_field *f) {
    const void *at = pdl_field_at(b, f);
#define POINTER(type)   (*(const type *const *)at)
#define NODE_OF(record) (POINTER(record) ? POINTER(record)->node : NULL)
    switch (f->type) {
    case PDL_FT_STR: return dump_text(d, f->key, ((const pdl_text_field *)at)->s);
    case PDL_FT_BOOL: return dump_flag(d, f->key, at);
    case PDL_FT_INT: return dump_count(at);
    case PDL_FT_EXPR:
    case PDL_FT_XBOOL:
    case PDL_FT_XINT:
    case PDL_FT_XNUM:
    case PDL_FT_XSTR:
    case PDL_FT_XDICT: return dump_expr(d, b, f, POINTER(pdl_tree));
    case PDL_FT_ARGV:
        return POINTER(pdl_tree) ? dump_words(d, b, f->key, POINTER(pdl_tree)) : pdl_absent();
    case PDL_FT_POLICY:
    case PDL_FT_PROFILE:
    case PDL_FT_ANY: /* of one kind: output only */
        return f->kind < 0 ? dump_node(POINTER(pdl_node)) : pdl_absent();
    case PDL_FT_BLOCK:
        return POINTER(pdl_block) ? dump_child(d, b, f->key, 0, POINTER(pdl_block)) : pdl_absent();
    case PDL_FT_TEXTS:
        if (((const pdl_blocks *)at)->single)
            return dump_child(d, b, f->key, 0, ((const pdl_blocks *)at)->p[0]);
        return dump_list(d, b, f->key, at);
    case PDL_FT_BLOCKS: return dump_list(d, b, f->key, at);
    case PDL_FT_FIELDS:
        return ((const pdl_blocks *)at)->is_map ? dump_named(d, b, f->key, at)
                                                : dump_list(d, b, f->key, at);
    case PDL_FT_DEFS:
        return d->trace || ((const pdl_blocks *)at)->n ? dump_named(d, b, f->key, at)
                                                       : pdl_absent();
    case PDL_FT_PARAMS: return dump_params(at);
    case PDL_FT_JOIN: return POINTER(pdl_join) ? dump_join(d, b, POINTER(pdl_join)) : pdl_absent();
    case PDL_FT_CASES: return dump_cases(d, b, at);
    case PDL_FT_FORS: return dump_fors(d, b, f->key, POINTER(pdl_fors));
    case PDL_FT_AGG: return dump_aggregator(d, POINTER(pdl_agg));
    case PDL_FT_TYPE: return dump_type(((const pdl_spec_field *)at)->type);
    case PDL_FT_CTX: return dump_context_mode(d, at);
    case PDL_FT_FLAG: return dump_node(written_field(b, f->key));
    case PDL_FT_RETRY: return dump_node(NODE_OF(pdl_retry));
    case PDL_FT_BUDGET: return dump_node(NODE_OF(pdl_budget_field));
    case PDL_FT_ENDORSE: return dump_node(NODE_OF(pdl_endorse_field));
    case PDL_FT_CONTRIBUTE: return is_default_pair(at) ? pdl_absent() : dump_contribute(at);
    case PDL_FT_PARSER: return POINTER(pdl_parser_field) ? dump_parser(d, b) : pdl_absent();
    case PDL_FT_EXPECTATIONS:
        return d->trace || ((const pdl_expectations *)at)->n ? dump_expectations(d, b)
                                                             : pdl_absent();
    case PDL_FT_COUNT: break;
    }
#undef NODE_OF
#undef POINTER
    PDL_BUG("field %s", f->key);
}

static pdl_val dump_own_all(const dumper *d, const pdl_block *b, pdl_val out) {
    size_t n;
    const pdl_field *f = pdl_fields_of(b->kind, &n);
    for (size_t i = 0; i < n; i++) {
        pdl_val v = dump_field(d, b, &f[i]);
        if (pdl_is_absent(v) && d->trace) v = default_of(b, f[i].key);
        if (!pdl_is_absent(v)) out = pdl_dict_putz(out, shown_key(&f[i]), v);
    }
    return out;
}

static pdl_val more(const dumper *d, const pdl_block *b, pdl_dump_place place, pdl_val out) {
    return d->view && d->view->add_entries ? d->view->add_entries(d->view->user, b, place, out)
                                           : out;
}

static pdl_val dump_part(const dumper *d, const pdl_block *b, pdl_dump_part part, pdl_val out) {
    size_t n;
    const pdl_field *f = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++) {
        if (f[i].part != part || (f[i].type == PDL_FT_CTX && !pdl_block_is_structured(b->kind)))
            continue;
        pdl_val v = dump_field(d, b, &f[i]);
        if (!pdl_is_absent(v)) out = pdl_dict_putz(out, f[i].key, v);
    }
    return out;
}

static pdl_val dump_after(const dumper *d, const pdl_block *b, pdl_val out) {
    out = more(d, b, PDL_DUMP_RESULT, dump_part(d, b, PDL_PART_BACK, out));
    out = more(d, b, PDL_DUMP_TAIL, dump_part(d, b, PDL_PART_LAST, out));
    if (d->trace)
        out = pdl_dict_putz(out, "pdl__is_leaf", pdl_bool(!pdl_block_is_structured(b->kind)));
    return out;
}

/* An executed plain value is a data block in traces. */
static PDL_NOINLINE pdl_val dump_scalar(const dumper *d, const pdl_block *b) {
    const pdl_tree *t = PDL_AS(scalar, b)->value;
    if (!d->view) return written(t);
    pdl_val out =
        more(d, b, PDL_DUMP_HEAD, pdl_dict_putz(pdl_dict_new(8), "kind", pdl_textz("data")));
    out = pdl_dict_putz(out, "defs", pdl_dict_new(0));
    out = pdl_dict_putz(out, "data", dump_tree(d, b, "data", t));
    return dump_after(d, b, more(d, b, PDL_DUMP_FIELDS, out));
}

static pdl_val dump_block(const dumper *d, const pdl_block *b) {
    if (b->kind == PDL_BLOCK_scalar) return dump_scalar(d, b);
    pdl_val out = pdl_dict_new(8);
    if (d->trace || b->kind == PDL_BLOCK_empty)
        out = pdl_dict_putz(out, "kind", pdl_textz(pdl_block_name(b->kind)));
    out = dump_part(d, b, PDL_PART_FIRST, more(d, b, PDL_DUMP_HEAD, out));
    out = dump_own_all(d, b, out);
    return dump_after(d, b, more(d, b, PDL_DUMP_FIELDS, out));
}

pdl_val pdl_block_dump(const pdl_block *b, const pdl_dump_view *view) {
    dumper d = {view, view != NULL};
    return dump_block(&d, b);
}

pdl_val pdl_block_dump_written(const pdl_block *b) {
    dumper d = {NULL, true};
    return dump_block(&d, b);
}
