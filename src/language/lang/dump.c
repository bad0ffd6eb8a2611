/* dump.c -- see dump.h. Fields come from the tables in their order. A row `D` in a table is the
 * value that traces write for an absent field.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/dump.h"

#include "base/utf8.h"
#include "lang/fields.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* A function with this attribute is not inlined, so its variables are not in the frame of the
 * recursive function that calls it. */
#define PDL_NOINLINE __attribute__((noinline))

typedef struct dumper {
    const pdl_dump_view *view; /* NULL when no block was executed */
    bool trace;                /* defaults are written out */
} dumper;

/* Returns the default that a trace writes for an absent field. The row of the field has the
 * default, except for two kinds that have two forms. */
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

/* Returns the value from which an expression was read. The value that a trace recorded beside an
 * expression is left out. */
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

/* Returns the words of a command, each of which is an expression. */
static PDL_NOINLINE pdl_val words_of(const dumper *d, const pdl_block *b, const char *key,
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

/* Dumps a sub-block. An executed sub-block of the view is dumped as executed, any other
 * as written. */
static PDL_NOINLINE pdl_val dump_child(const dumper *d, const pdl_block *b, const char *key,
                                       uint32_t index, const pdl_block *child) {
    if (d->view && d->view->child) {
        pdl_val v = d->view->child(d->view->user, b, child, key, index);
        if (!pdl_is_absent(v)) return v;
    }
    dumper plain = {NULL, d->trace};
    return dump_block(&plain, child);
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

/* Returns a word in lower case. It is used for fields that ignore the case. */
static pdl_val lowered(pdl_str s) {
    pdl_buf b = PDL_BUF;
    pdl_utf8_lower(&b, s);
    pdl_val v = pdl_text(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

static const char *shown_key(const pdl_field *f) {
    return f->need == PDL_NEED_OLD ? "maxIterations" : f->key;
}

/* --- one function a name in the column `dump` of field_types.def ------------------------------ */

/* A field of a block, and its member. */
typedef struct shown_field {
    const dumper *d;
    const pdl_block *b;
    const pdl_field *f;
    const void *at;
} shown_field;

/* Makes the value of a field. The value is absent when the program does not have the field; a dump
 * then leaves the field out. */
#define DUMP(name)    static PDL_NOINLINE pdl_val field_##name(const shown_field *x)
#define POINTER(type) (*(const type *const *)x->at)
#define DUMP_NODE_OF(name, record)                                                                 \
    DUMP(name) { return POINTER(record) ? node_value(POINTER(record)->node) : pdl_absent(); }

DUMP(text) {
    pdl_str s = ((const pdl_text_field *)x->at)->s;
    if (!s.p) return pdl_absent();
    return x->d->trace && strcmp(x->f->key, "lang") == 0 ? lowered(s) : pdl_text(s);
}

DUMP(flag) {
    const pdl_flag *flag = x->at;
    bool given = flag->given;
    if (x->d->trace && strcmp(x->f->key, "raw") == 0)
        given = given && flag->value;
    else if (x->d->trace && strcmp(x->f->key, "multiline") != 0)
        given = given && !flag->value;
    return given ? pdl_bool(flag->value) : pdl_absent();
}

DUMP(count) {
    const pdl_count *count = x->at;
    return count->given ? pdl_int(count->value) : pdl_absent();
}

DUMP(expr) {
    if (POINTER(pdl_tree)) return dump_tree(x->d, x->b, shown_key(x->f), POINTER(pdl_tree));
    return x->f->need == PDL_NEED_NUL ? pdl_null() : pdl_absent();
}

DUMP(words) {
    return POINTER(pdl_tree) ? words_of(x->d, x->b, x->f->key, POINTER(pdl_tree)) : pdl_absent();
}

/* Dumps a common field as the program writes it. `signature` of a function has the same form, but
 * it is output, so it is left out. */
DUMP(as_written) {
    bool is_written = x->f->kind < 0 && POINTER(pdl_node);
    return is_written ? node_value(POINTER(pdl_node)) : pdl_absent();
}

/* Returns the value of the field as it is written in a block that is a mapping. */
DUMP(source) {
    bool is_map = x->b->node && x->b->node->kind == PDL_NODE_MAP;
    const pdl_node *n = is_map ? pdl_node_find(x->b->node, pdl_str_of(x->f->key), NULL) : NULL;
    return n ? node_value(n) : pdl_absent();
}

DUMP(spec) {
    const pdl_type *type = ((const pdl_spec_field *)x->at)->type;
    return type ? pdl_type_as_written(type) : pdl_absent();
}

DUMP(params) {
    const pdl_params *p = x->at;
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

DUMP(join) {
    static const char *const names[] = {"text", "array", "object", "lastOf", "reduce"};
    const pdl_join *j = POINTER(pdl_join);
    if (!j) return pdl_absent();
    if (j->kind == PDL_JOIN_TEXT) return pdl_dict_putz(pdl_dict_new(1), "with", pdl_text(j->with));
    if (j->kind == PDL_JOIN_REDUCE)
        return pdl_dict_puts(pdl_dict_new(1), PDL_STR("reduce"),
                             dump_tree(x->d, x->b, "reduce", j->reduce));
    return pdl_dict_puts(pdl_dict_new(1), PDL_STR("as"), pdl_textz(names[j->kind]));
}

DUMP(fors) {
    const pdl_fors *fors = POINTER(pdl_fors);
    return fors ? recorded(x->d, x->b, x->f->key, 0, node_value(fors->node)) : pdl_absent();
}

/* Traces spell out the fields of a file. */
DUMP(aggregator) {
    const pdl_agg *a = POINTER(pdl_agg);
    pdl_val given = node_value(a->node);
    if (!x->d->trace || !a->is_file || !pdl_is_dict(given)) return given;
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

DUMP(context) {
    const pdl_flag *independent = x->at;
    if (!x->d->trace && !independent->given) return pdl_absent();
    return pdl_textz(independent->value ? "independent" : "dependent");
}

DUMP_NODE_OF(retry, pdl_retry)
DUMP_NODE_OF(budget, pdl_budget_field)
DUMP_NODE_OF(endorse, pdl_endorse_field)

DUMP(contribute) {
    const pdl_contributes *c = x->at;
    bool is_default_pair = c->n == 2 && c->result && c->context && !c->p[0].value && !c->p[1].value;
    if (!c->given || is_default_pair) return pdl_absent();
    pdl_val out = pdl_list_new(c->n);
    for (uint32_t i = 0; i < c->n; i++) out = pdl_list_push(out, node_value(c->p[i].node));
    return out;
}

/* Traces have the fields in the order of the reference, and the mode in lower case. */
DUMP(parser) {
    static const char *const order[] = {"description", "spec", "pdl", "regex", "mode"};
    if (!POINTER(pdl_parser_field)) return pdl_absent();
    const pdl_node *n = pdl_node_find(x->b->node, PDL_STR("parser"), NULL);
    if (x->d->trace && pdl_node_is_str(n)) return lowered(n->text);
    pdl_val given = node_value(n), out;
    if (!x->d->trace || !pdl_is_dict(given)) return given;
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

DUMP(block) {
    const pdl_block *child = POINTER(pdl_block);
    return child ? dump_child(x->d, x->b, x->f->key, 0, child) : pdl_absent();
}

DUMP(blocks) {
    const pdl_blocks *list = x->at;
    pdl_val out = pdl_list_new(list->n);
    for (uint32_t i = 0; i < list->n; i++)
        out = pdl_list_push(out, dump_child(x->d, x->b, x->f->key, i, list->p[i]));
    return out;
}

static PDL_NOINLINE pdl_val dump_named(const shown_field *x) {
    const pdl_blocks *map = x->at;
    pdl_val out = pdl_dict_new(map->n);
    for (uint32_t i = 0; i < map->n; i++)
        out = pdl_dict_puts(out, map->names[i], dump_child(x->d, x->b, x->f->key, i, map->p[i]));
    return out;
}

DUMP(texts) {
    const pdl_blocks *list = x->at;
    return list->single ? dump_child(x->d, x->b, x->f->key, 0, list->p[0]) : field_blocks(x);
}

DUMP(fields) { return ((const pdl_blocks *)x->at)->is_map ? dump_named(x) : field_blocks(x); }

DUMP(defs) { return x->d->trace || ((const pdl_blocks *)x->at)->n ? dump_named(x) : pdl_absent(); }

DUMP(cases) {
    const pdl_cases *cases = x->at;
    pdl_val out = pdl_list_new(cases->n);
    for (uint32_t i = 0; i < cases->n; i++)
        out = pdl_list_push(out, dump_case(x->d, x->b, &cases->p[i], i));
    return out;
}

DUMP(expectations) {
    const pdl_expectations *all = x->at;
    if (!x->d->trace && !all->n) return pdl_absent();
    pdl_val out = pdl_list_new(all->n);
    for (uint32_t i = 0; i < all->n; i++) {
        const pdl_expectation *one = &all->p[i];
        pdl_val e = pdl_dict_putz(pdl_dict_new(2), "expect", written(one->expect)), feedback;
        if (one->feedback)
            feedback = recorded(x->d, x->b, "feedback", i, written(one->feedback));
        else if (one->feedback_block)
            feedback = dump_child(x->d, x->b, "feedback", i, one->feedback_block);
        else
            feedback = pdl_absent();
        if (!pdl_is_absent(feedback)) e = pdl_dict_putz(e, "feedback", feedback);
        out = pdl_list_push(out, e);
    }
    return out;
}

static pdl_val (*const dumps[])(const shown_field *x) = {
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc) field_##dump,
#include "lang/field_types.def"
};

static pdl_val dump_field(const dumper *d, const pdl_block *b, const pdl_field *f) {
    return dumps[f->type](&(shown_field){d, b, f, pdl_field_at(b, f)});
}

/* --- a block ---------------------------------------------------------------------------------- */

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
