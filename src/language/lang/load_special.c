/* load_special.c -- fields with a special form, such as contribute, retry, parser, expectations,
 * join, cases, for, aggregator and types. Most of these fields can be written in several ways, such
 * as a number or an object for `retry`. A reader here turns all of them into one struct
 * (lang/parts.h).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/utf8.h"
#include "base/word_list.h"
#include "lang/loader.h"
#include "lang/walk.h"
#include "yaml/profile.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_PARTS = 16 /* maximum number of keys of an object in records.def */ };

/* Returns true when n is an object. Any other n is reported. */
static bool is_object(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->kind == PDL_NODE_MAP && n->type == PDL_NT_MAP) return true;
    pdl_loader_wrong(l, n, loc, "should be an object");
    pdl_loader_hint_pairs(l, n);
    return false;
}

static bool is_list(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->kind == PDL_NODE_SEQ) return true;
    pdl_loader_wrong(l, n, loc, "should be a list");
    pdl_loader_hint_items(l, n);
    return false;
}

/* Returns the index of a key in a table of words, or n_words. */
static size_t word_of(const pdl_node *n, const char *const *words, size_t n_words) {
    return pdl_node_is_str(n) ? pdl_word_of(n->text, words, n_words) : n_words;
}

/* --- contribute (spec syntax 2.6) ------------------------------------------------------------- */

static const char *const targets[] = {"result", "context", "stdout", "stderr"};

static void target_of(pdl_contributes *all, pdl_contribute *c, pdl_str word) {
    size_t at = pdl_word_of(word, targets, 4);
    if (at < 4) {
        c->target = (pdl_target)at; /* PDL_TO_RESULT ... PDL_TO_STDERR */
        all->result = all->result || at == 0;
        all->context = all->context || at == 1;
        return;
    }
    c->target = PDL_TO_NAME;
    c->name = word.p ? word : PDL_STR("");
}

/* Reads {TARGET: {value: E}}. */
static void load_target_value(pdl_loader *l, const pdl_node *n, pdl_contributes *all,
                              pdl_contribute *c) {
    static const char *const keys[] = {"value"};
    c->target = PDL_TO_INVALID;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_pair *pair = &n->pairs[i];
        pdl_loc loc = pdl_node_loc(pair->key);
        if (!pdl_node_is_name(pair->key)) {
            pdl_loader_wrong(l, pair->key, loc, "should be of type <class 'str'>");
            continue;
        }
        if (!is_object(l, pair->value, loc)) {
            pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1], "write {NAME: {value: VALUE}}");
            continue;
        }
        const pdl_tree *value = NULL;
        for (uint32_t k = 0; k < pair->value->n; k++) {
            const pdl_pair *inner = &pair->value->pairs[k];
            if (word_of(inner->key, keys, 1) == 0)
                /* errors in the value have the place of the item */
                value = pdl_loader_tree(l, inner->value, c->loc);
            else
                pdl_loader_unknown(l, inner->key, keys, 1);
        }
        if (!value) pdl_loader_missing(l, pair->value, loc, "value");
        if (n->n != 1) continue;
        target_of(all, c, pair->key->text);
        c->value = value;
    }
}

static void advise_contribute(pdl_loader *l, const pdl_node *n) {
    static const char *const nothing[] = {"none", "nothing", "false", "no", "off", ""};
    pdl_diag *d = &l->p->diags.p[l->p->diags.n - 1];
    bool value, is_bool = pdl_loader_as_bool(n, true, &value);
    if (pdl_node_is_null(n) || (is_bool && !value) || word_of(n, nothing, 6) < 6)
        pdl_loader_hint(l, d, "write [], so that the block contributes nothing");
    else if (is_bool)
        pdl_loader_hint(l, d, "leave it out: a block contributes its result and its messages");
}

void pdl_loader_contribute(pdl_loader *l, const pdl_pair *pair, pdl_contributes *out) {
    const pdl_node *n = pair->value;
    out->given = true;
    if (!is_list(l, n, pdl_node_loc(pair->key))) {
        advise_contribute(l, n);
        return;
    }
    out->n = n->n;
    out->p = pdl_arena_new_n(l->a, pdl_contribute, n->n);
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_contribute *c = &out->p[i];
        const pdl_node *item = n->items[i];
        c->node = item;
        c->loc = pdl_node_loc(item);
        if (pdl_node_is_str(item))
            target_of(out, c, item->text);
        else if (item->kind == PDL_NODE_MAP)
            load_target_value(l, item, out, c);
        else
            pdl_loader_wrong_union(l, item, c->loc, "string (a target) or {TARGET: {value: E}}");
    }
}

/* --- retry (spec syntax 2.7) ------------------------------------------------------------------ */

static const pdl_tree *load_exceptions(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->kind != PDL_NODE_SEQ) return pdl_loader_xstr(l, n, loc, false);
    for (uint32_t i = 0; i < n->n; i++)
        if (!pdl_node_is_str(n->items[i]))
            pdl_loader_wrong(l, n->items[i], pdl_node_loc(n->items[i]),
                             "should be of type <class 'str'>");
    return pdl_loader_tree(l, n, loc);
}

static const pdl_tree *load_jitter(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->kind != PDL_NODE_SEQ) return pdl_loader_xnum(l, n, loc, false);
    if (n->n != 2) pdl_loader_wrong(l, n, loc, "should be a number or a list [least, most]");
    for (uint32_t i = 0; i < n->n; i++)
        pdl_loader_xnum(l, n->items[i], pdl_node_loc(n->items[i]), false);
    return pdl_loader_tree(l, n, loc);
}

static const pdl_tree *load_part(pdl_loader *l, const pdl_record_part *part, const pdl_node *n,
                                 pdl_loc loc) {
    bool null_ok = part->need == PDL_NEED_OPT;
    pdl_text_field note;
    switch (part->type) {
    case PDL_RT_XINT: return pdl_loader_xint(l, n, loc, null_ok);
    case PDL_RT_XNUM: return pdl_loader_xnum(l, n, loc, null_ok);
    case PDL_RT_XSTR: return pdl_loader_xstr(l, n, loc, null_ok);
    case PDL_RT_XBOOL: return pdl_loader_xbool(l, n, loc, null_ok);
    case PDL_RT_WORDS: return load_exceptions(l, n, loc);
    case PDL_RT_RANGE: return load_jitter(l, n, loc);
    case PDL_RT_NOTE:
        if (!pdl_node_is_null(n)) pdl_loader_text(l, n, loc, &note);
        return NULL;
    }
    return NULL;
}

/* Reads the entries of an object into the members of base that records.def names. */
static void load_record(pdl_loader *l, pdl_record record, const pdl_node *n, pdl_loc loc,
                        void *base) {
    const char *keys[MAX_PARTS];
    size_t n_parts;
    const pdl_record_part *parts = pdl_record_parts(record, &n_parts);
    assert(n_parts <= MAX_PARTS);
    for (size_t i = 0; i < n_parts; i++) keys[i] = parts[i].key;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        size_t k = word_of(key, keys, n_parts);
        if (k == n_parts) {
            pdl_loader_unknown(l, key, keys, n_parts);
            continue;
        }
        const pdl_tree *tree = load_part(l, &parts[k], n->pairs[i].value, pdl_node_loc(key));
        *(const pdl_tree **)(void *)((char *)base + parts[k].offset) = tree;
    }
    for (size_t i = 0; i < n_parts; i++)
        if (parts[i].need == PDL_NEED_REQ && !pdl_node_find(n, pdl_str_of(keys[i]), NULL))
            pdl_loader_missing(l, n, loc, keys[i]);
}

const pdl_retry *pdl_loader_retry(pdl_loader *l, const pdl_pair *pair) {
    const pdl_node *n = pair->value;
    pdl_loc loc = pdl_node_loc(pair->key);
    if (pdl_node_is_null(n)) return NULL;
    pdl_retry *r = pdl_arena_new(l->a, pdl_retry);
    r->loc = loc;
    r->node = n;
    r->is_object = n->kind == PDL_NODE_MAP;
    if (r->is_object)
        load_record(l, PDL_RECORD_retry, n, loc, r);
    else if (!pdl_loader_as_int(n, &r->count))
        pdl_loader_wrong(
            l, n, loc,
            "should be of type <class 'int'>, or an object {tries, exceptions, delay, ...}");
    return r;
}

const pdl_budget_field *pdl_loader_budget(pdl_loader *l, const pdl_pair *pair) {
    const pdl_node *n = pair->value;
    pdl_loc loc = pdl_node_loc(pair->key);
    if (pdl_node_is_null(n)) return NULL;
    if (n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong(l, n, loc,
                         "should be an object {calls, tokens, cost, seconds, turns, requests}");
        return NULL;
    }
    pdl_budget_field *b = pdl_arena_new(l->a, pdl_budget_field);
    b->loc = loc;
    b->node = n;
    load_record(l, PDL_RECORD_budget, n, loc, b);
    return b;
}

const pdl_endorse_field *pdl_loader_endorse(pdl_loader *l, const pdl_pair *pair) {
    const pdl_node *n = pair->value;
    pdl_loc loc = pdl_node_loc(pair->key);
    if (pdl_node_is_null(n)) return NULL;
    if (n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong(l, n, loc, "should be an object {labels, check, why}");
        return NULL;
    }
    pdl_endorse_field *e = pdl_arena_new(l->a, pdl_endorse_field);
    e->loc = loc;
    e->node = n;
    load_record(l, PDL_RECORD_endorse, n, loc, e);
    return e;
}

/* --- hints for values of the wrong form ------------------------------------------------------- */

void pdl_loader_hint_pairs(pdl_loader *l, const pdl_node *n) {
    pdl_diag *d = &l->p->diags.p[l->p->diags.n - 1];
    if (n->kind == PDL_NODE_SEQ && n->n && n->items[0]->kind == PDL_NODE_MAP)
        pdl_loader_hint(l, d, "write `name: value` without `-`");
    else if (pdl_node_is_str(n) && pdl_str_find(n->text, PDL_STR(" in "), 0) != PDL_NOT_FOUND)
        pdl_loader_hint(l, d, "write {name: LIST}: the name is each item of the list in turn");
    else if (pdl_node_is_str(n) && pdl_str_find(n->text, PDL_STR("="), 0) != PDL_NOT_FOUND)
        pdl_loader_hint(l, d, "write `name: value`");
}

void pdl_loader_hint_items(pdl_loader *l, const pdl_node *n) {
    pdl_diag *d = &l->p->diags.p[l->p->diags.n - 1];
    if (d->hint.n || !pdl_node_is_str(n) || !n->text.n || n->text.n >= 40) return;
    pdl_str text = n->text;
    if (pdl_str_eq_nocase(text, PDL_STR("none")) || pdl_str_eq_nocase(text, PDL_STR("nothing"))) {
        pdl_loader_hint(l, d, "write [], or leave it out");
        return;
    }
    pdl_buf b = PDL_BUF;
    bool has_commas = pdl_str_find(text, PDL_STR(","), 0) != PDL_NOT_FOUND, is_plain = true;
    for (size_t i = 0; i < text.n; i++) {
        is_plain = is_plain && !pdl_byte_in(text.p[i], PDL_STR("'\"`()[]{}:#$&|;<>\n"));
        if (text.p[i] == ' ' && !has_commas) PDL_PUT(&b, ",");
        pdl_buf_putc(&b, text.p[i]);
    }
    if (is_plain)
        pdl_loader_hint(l, d, "write [%s]", pdl_buf_z(&b));
    else
        pdl_loader_hint(l, d, "each item is one of a list: [a, b]");
    pdl_buf_fini(&b);
}

/* --- policy, sandbox -------------------------------------------------------------------------- */

/* Reports a policy in an inner block. Its author believes that it holds for this block alone. */
const pdl_node *pdl_loader_policy(pdl_loader *l, const pdl_pair *pair) {
    pdl_loc loc = pdl_node_loc(pair->key);
    if (l->depth > 1)
        pdl_loader_diag(l, "policy-place", loc, loc,
                        "`policy` is a field of the main block: a policy is for the whole program");
    return pair->value;
}

static void profile_wrong(void *user, const pdl_node *key, const pdl_node *value,
                          const char *should) {
    pdl_loader *l = user;
    const char *words[PDL_PROFILE_KEYS];
    size_t n;
    const pdl_profile_key *known = pdl_profile_keys(&n);
    if (value) {
        pdl_loader_wrong(l, value, pdl_node_loc(value), should);
        return;
    }
    for (size_t i = 0; i < n; i++) words[i] = known[i].key;
    pdl_loader_unknown(l, key, words, n);
}

const pdl_node *pdl_loader_profile(pdl_loader *l, const pdl_pair *pair) {
    if (pdl_node_is_null(pair->value)) return NULL;
    pdl_profile_check(pair->value, profile_wrong, l);
    l->p->has_profiles = true;
    return pair->value;
}

/* --- types (3) -------------------------------------------------------------------------------- */

static const pdl_type *read_type(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_err err = {0};
    const pdl_type *t = NULL;
    if (pdl_node_is_null(n)) return NULL;
    if (n->kind == PDL_NODE_SCALAR && !pdl_node_is_str(n)) {
        pdl_loader_wrong_union(
            l, n, loc, "a type name, a list of one type, an object of types or a JSON Schema");
        return NULL;
    }
    if (pdl_type_read(l->a, n, &t, &err)) return t;
    pdl_loc at = err.loc.src ? err.loc : loc;
    pdl_loader_err(l, "type", at, &err);
    l->p->diags.p[l->p->diags.n - 1].general = true;
    return NULL;
}

const pdl_type *pdl_loader_type(pdl_loader *l, const pdl_pair *pair) {
    return read_type(l, pair->value, pdl_node_loc(pair->key));
}

void pdl_loader_params(pdl_loader *l, const pdl_pair *pair, pdl_params *out) {
    const pdl_node *n = pair->value;
    pdl_err err = {0};
    out->node = n;
    out->is_null = pdl_node_is_null(n);
    if (!out->is_null && !is_object(l, n, pdl_node_loc(pair->key))) return;
    if (!pdl_type_read_params(l->a, out->is_null ? NULL : n, &out->all, &err)) {
        pdl_loc at = err.loc.src ? err.loc : pdl_node_loc(pair->key);
        pdl_loader_err(l, "type", at, &err);
        l->p->diags.p[l->p->diags.n - 1].general = true;
        return;
    }
    out->n = (uint32_t)pdl_type_fields(out->all);
    out->names = pdl_arena_new_n(l->a, pdl_str, out->n);
    out->types = pdl_arena_new_n(l->a, const pdl_type *, out->n);
    for (uint32_t i = 0; i < out->n; i++) {
        out->names[i] = pdl_type_field_name(out->all, i);
        out->types[i] = pdl_type_field(out->all, i);
    }
}

/* --- parser (5) ------------------------------------------------------------------------------- */

static void load_regex(pdl_loader *l, const pdl_node *n, pdl_loc loc, pdl_parser_field *out) {
    static const char *const keys[] = {"regex", "mode", "spec", "description"};
    static const char *const modes[] = {"search", "match", "fullmatch", "split", "findall"};
    pdl_text_field text = {0}, word = {0};
    pdl_parser_mode mode = PDL_PM_FULLMATCH;
    bool regex = false;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key, *v = n->pairs[i].value;
        pdl_loc at = pdl_node_loc(key);
        switch (word_of(key, keys, 4)) {
        case 0:
            regex = true;
            pdl_loader_text(l, v, at, &text);
            break;
        case 1:
            if (!pdl_node_is_str(v) || !pdl_parser_mode_find(v->text, &mode))
                pdl_loader_one_of(l, v, at, modes, 5, false);
            break;
        case 2: out->spec = read_type(l, v, at); break;
        case 3:
            if (!pdl_node_is_null(v) && pdl_loader_text(l, v, at, &word)) out->description = word.s;
            break;
        default: pdl_loader_unknown(l, key, keys, 4);
        }
    }
    if (!regex) pdl_loader_missing(l, n, loc, "regex");
    if (!text.s.p) return;
    bool object = pdl_type_is_object(out->spec);
    size_t n_groups = object ? pdl_type_fields(out->spec) : 0;
    pdl_str *groups = pdl_arena_new_n(l->a, pdl_str, n_groups);
    for (size_t i = 0; i < n_groups; i++) groups[i] = pdl_type_field_name(out->spec, i);
    out->parser = pdl_parser_regex(l->a, text.s, mode, groups, n_groups, object);
}

/* Reads {csv: header}. */
static void load_csv(pdl_loader *l, const pdl_node *n, pdl_parser_field *out) {
    static const char *const keys[] = {"csv"}, *const words[] = {"header"};
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key, *v = n->pairs[i].value;
        if (word_of(key, keys, 1) != 0)
            pdl_loader_unknown(l, key, keys, 1);
        else if (!pdl_node_is_str(v) || !pdl_str_is(v->text, words[0]))
            pdl_loader_one_of(l, v, pdl_node_loc(key), words, 1, false);
    }
    pdl_parser *p = pdl_parser_word(l->a, PDL_PARSE_CSV);
    p->header = true;
    out->parser = p;
}

const pdl_parser_field *pdl_loader_parser(pdl_loader *l, const pdl_pair *pair) {
    const pdl_node *n = pair->value;
    pdl_loc loc = pdl_node_loc(pair->key);
    if (pdl_node_is_null(n)) return NULL;
    pdl_parser_field *f = pdl_arena_new(l->a, pdl_parser_field);
    f->loc = loc;
    if (pdl_node_is_str(n)) {
        bool found;
        pdl_parser_kind kind = pdl_parser_find(n->text, &found);
        f->is_word = true;
        if (found) {
            f->parser = pdl_parser_word(l->a, kind);
            return f;
        }
        size_t n_rows;
        const char *words[16];
        const pdl_parser_row *rows = pdl_parsers(&n_rows);
        for (size_t i = 0; i < n_rows && i < 16; i++) words[i] = rows[i].name;
        pdl_loader_one_of(l, n, loc, words, n_rows < 16 ? n_rows : 16, true);
    } else if (n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong_union(l, n, loc,
                               "json, jsonl, yaml, csv or an object {regex, mode, spec}");
    } else if (pdl_node_find(n, PDL_STR("pdl"), NULL)) {
        pdl_loader_diag(l, "parser-pdl", loc, pdl_node_loc(n), "parser: pdl is not supported");
    } else if (pdl_node_find(n, PDL_STR("csv"), NULL)) {
        load_csv(l, n, f);
    } else {
        load_regex(l, n, loc, f);
    }
    return f;
}

/* --- expectations (spec syntax 2.8) ----------------------------------------------------------- */

static void load_expectation(pdl_loader *l, const pdl_node *n, pdl_expectation *x) {
    static const char *const keys[] = {"expect", "feedback"};
    x->loc = pdl_node_loc(n);
    if (!is_object(l, n, x->loc)) return;
    bool expect = false;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key, *v = n->pairs[i].value;
        size_t w = word_of(key, keys, 2);
        if (w == 0) {
            expect = true;
            x->expect = pdl_loader_tree(l, v, pdl_node_loc(key));
        } else if (w == 1 && v->kind == PDL_NODE_MAP && pdl_loader_recorded(v) == v) {
            x->feedback_block = pdl_loader_block(l, v, pdl_node_loc(key), false);
        } else if (w == 1 && !pdl_node_is_null(v)) {
            x->feedback = pdl_loader_xstr(l, v, pdl_node_loc(key), false);
        } else if (w > 1) {
            pdl_loader_unknown(l, key, keys, 2);
        }
    }
    if (!expect) pdl_loader_missing(l, n, x->loc, "expect");
}

void pdl_loader_expectations(pdl_loader *l, const pdl_pair *pair, pdl_expectations *out) {
    const pdl_node *n = pair->value;
    if (!is_list(l, n, pdl_node_loc(pair->key))) return;
    out->n = n->n;
    out->p = pdl_arena_new_n(l->a, pdl_expectation, n->n);
    for (uint32_t i = 0; i < n->n; i++) load_expectation(l, n->items[i], &out->p[i]);
}

/* --- join (spec syntax 2.11) ------------------------------------------------------------------ */

const pdl_join *pdl_loader_join(pdl_loader *l, const pdl_pair *pair) {
    static const char *const keys[] = {"as", "with", "reduce", "as_", "with_"};
    static const char *const kinds[] = {"text", "array", "object", "lastOf", "reduce"};
    const pdl_node *n = pair->value, *as = NULL, *reduce = NULL;
    pdl_loc with = {0};
    pdl_text_field text = {0};
    pdl_join *j = pdl_arena_new(l->a, pdl_join);
    j->loc = pdl_node_loc(pair->key);
    j->with = PDL_STR("");
    if (n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong_union(
            l, n, j->loc, "object {as: text, with: SEPARATOR}, {as: array}, ... or {reduce: F}");
        if (word_of(n, kinds, 5) < 5)
            pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1], "write {as: %.*s}",
                            PDL_FMT(n->text));
        return j;
    }
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key, *v = n->pairs[i].value;
        pdl_loc at = pdl_node_loc(key);
        switch (word_of(key, keys, 5)) {
        case 0:
        case 3:
            as = key;
            if (word_of(v, kinds, 5) < 5)
                j->kind = (pdl_join_kind)word_of(v, kinds, 5);
            else if (!pdl_node_is_str(v))
                pdl_loader_wrong(l, v, at, "should be of type <class 'str'>");
            else
                pdl_loader_one_of(l, v, at, kinds, 5, true);
            break;
        case 1:
        case 4:
            with = at;
            if (pdl_loader_text(l, v, at, &text)) j->with = text.s;
            break;
        case 2:
            reduce = key;
            j->reduce = pdl_loader_tree(l, v, at);
            break;
        default: pdl_loader_unknown(l, key, keys, 3);
        }
    }
    if (reduce && !as) j->kind = PDL_JOIN_REDUCE;
    if (reduce && j->kind != PDL_JOIN_REDUCE) pdl_loader_unknown(l, reduce, NULL, 0);
    if (!reduce && j->kind == PDL_JOIN_REDUCE) pdl_loader_missing(l, n, j->loc, "reduce");
    if (with.src && j->kind != PDL_JOIN_TEXT)
        pdl_loader_diag(l, "join-with", with, with, "`with` belongs to `as: text`")->general = true;
    return j;
}

/* Refuses a loop that only `while` can end, when `while` is a text. A text is true, so the loop
 * would never end. */
void pdl_loader_ends(pdl_loader *l, const pdl_b_repeat *b) {
    const pdl_tree *t = b->while_;
    pdl_str text;
    if (!t || !t->node || b->fors || b->until || b->max || b->num || !pdl_tree_is_text(t, &text))
        return;
    pdl_diag *d = pdl_loader_diag(l, "literal-condition", t->loc, pdl_node_loc(t->node),
                                  "nothing ends this loop: `while` is the text '%.*s', which is "
                                  "always true",
                                  PDL_FMT(pdl_utf8_cut(text, 60)));
    d->general = true;
    pdl_loader_hint(l, d, "%s", PDL_CONDITION_ADVICE(t));
}

/* --- match (spec syntax 2.10) ----------------------------------------------------------------- */

static const char pattern_forms[] =
    "a plain value or {any: }, {anyOf: [...]}, {array: [...]}, {object: {...}}";

static const pdl_pattern *load_pattern(pdl_loader *l, const pdl_node *n, pdl_loc loc);

static void load_pattern_list(pdl_loader *l, const pdl_pair *pair, pdl_pattern *p) {
    const pdl_node *n = pair->value;
    if (!is_list(l, n, pdl_node_loc(pair->key))) return;
    p->n = n->n;
    p->items = pdl_arena_new_n(l->a, const pdl_pattern *, n->n);
    for (uint32_t i = 0; i < n->n; i++)
        p->items[i] = load_pattern(l, n->items[i], pdl_node_loc(n->items[i]));
}

static void load_pattern_object(pdl_loader *l, const pdl_pair *pair, pdl_pattern *p) {
    const pdl_node *n = pair->value;
    if (!is_object(l, n, pdl_node_loc(pair->key))) return;
    p->n = n->n;
    p->items = pdl_arena_new_n(l->a, const pdl_pattern *, n->n);
    p->keys = pdl_arena_new_n(l->a, pdl_str, n->n);
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        if (!pdl_node_is_name(key))
            pdl_loader_wrong(l, key, pdl_node_loc(key), "should be of type <class 'str'>");
        else
            p->keys[i] = key->text.p ? key->text : PDL_STR("");
        p->items[i] = load_pattern(l, n->pairs[i].value, pdl_node_loc(key));
    }
}

static const pdl_pattern *load_pattern_map(pdl_loader *l, const pdl_node *n, pdl_pattern *p) {
    static const char *const keys[] = {"any", "anyOf", "array", "object", "def", "def_"};
    const pdl_pair *form = NULL;
    pdl_text_field def = {0};
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_pair *pair = &n->pairs[i];
        size_t w = word_of(pair->key, keys, 6);
        if (w < 4 && !form) {
            form = pair;
            p->kind = (pdl_pattern_kind)((size_t)PDL_PAT_ANY + w);
        } else if (w == 4 || w == 5) {
            if (!pdl_node_is_null(pair->value) &&
                pdl_loader_text(l, pair->value, pdl_node_loc(pair->key), &def))
                p->def = def.s;
        } else {
            pdl_loader_unknown(l, pair->key, keys, 5);
        }
    }
    if (!form) {
        pdl_loader_wrong_union(l, n, p->loc, pattern_forms);
        return p;
    }
    if (p->kind == PDL_PAT_OBJECT)
        load_pattern_object(l, form, p);
    else if (p->kind != PDL_PAT_ANY)
        load_pattern_list(l, form, p);
    else if (!pdl_node_is_null(form->value)) {
        pdl_loader_wrong(l, form->value, pdl_node_loc(form->key), "should be of type None");
        pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1],
                        "`any` has no value; a name for what it fits is `def`: {any: , def: NAME}");
    }
    return p;
}

static const pdl_pattern *load_pattern(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_pattern *p = pdl_arena_new(l->a, pdl_pattern);
    p->loc = loc;
    p->node = n;
    p->value = pdl_absent();
    if (!pdl_loader_spend(l, n)) return p;
    if (n->kind == PDL_NODE_MAP && n->type == PDL_NT_MAP) return load_pattern_map(l, n, p);
    p->kind = PDL_PAT_CONST;
    if (n->kind == PDL_NODE_SCALAR && n->type != PDL_NT_TIMESTAMP) {
        p->value = pdl_loader_own(l, pdl_recent_value(&l->recent, n));
        return p;
    }
    pdl_loader_wrong_union(l, n, loc, pattern_forms);
    if (n->kind == PDL_NODE_SEQ)
        pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1],
                        "write {array: [...]} or {anyOf: [...]}");
    return p;
}

/* Helps with `- 3: a`, in which the pattern is the key. */
static void advise_case(pdl_loader *l, const pdl_node *n, const pdl_node *key) {
    pdl_diag *d = &l->p->diags.p[l->p->diags.n - 1];
    if (!d->hint.n && n->n == 1 && key->kind == PDL_NODE_SCALAR && key->text.n < 40)
        pdl_loader_hint(l, d, "a case is written - case: %.*s, and then: ...", PDL_FMT(key->text));
}

static PDL_NOINLINE void load_case(pdl_loader *l, const pdl_node *n, pdl_case *c) {
    static const char *const keys[] = {"case",           "if",          "then", "pdl__case_result",
                                       "pdl__if_result", "pdl__matched"};
    c->loc = pdl_node_loc(n);
    c->node = n;
    if (!is_object(l, n, c->loc)) return;
    bool then = false;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key, *v = n->pairs[i].value;
        pdl_loc at = pdl_node_loc(key);
        switch (word_of(key, keys, 6)) {
        case 0: c->pattern = load_pattern(l, v, at); break;
        case 1: c->cond = pdl_loader_xbool(l, v, at, true); break;
        case 2:
            then = true;
            c->then = pdl_loader_block(l, v, at, true);
            break;
        case 3:
        case 4:
        case 5: break;
        default: pdl_loader_unknown(l, key, keys, 3); advise_case(l, n, key);
        }
    }
    if (!then) pdl_loader_missing(l, n, c->loc, "then");
}

void pdl_loader_cases(pdl_loader *l, const pdl_pair *pair, pdl_cases *out) {
    const pdl_node *n = pair->value;
    if (!is_list(l, n, pdl_node_loc(pair->key))) {
        l->p->diags.p[l->p->diags.n - 1].hint = (pdl_str){0};
        pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1],
                        "write each case as - case: ... and then: ...");
        return;
    }
    out->n = n->n;
    out->p = pdl_arena_new_n(l->a, pdl_case, n->n);
    for (uint32_t i = 0; i < n->n; i++) load_case(l, n->items[i], &out->p[i]);
}

/* --- for (spec syntax 2.10) ------------------------------------------------------------------- */

/* Returns the help for a value of `for` that is a block and not a list. Only an object that is
 * written in the program can be recognised as a block. */
static const char *for_advice(const pdl_node *n) {
    const pdl_node *data = pdl_node_find(n, PDL_STR("data"), NULL);
    const pdl_node *array = pdl_node_find(n, PDL_STR("array"), NULL);
    if ((data && data->kind == PDL_NODE_SEQ) || (array && array->kind == PDL_NODE_SEQ))
        return "write the list itself: for: {NAME: [...]}";
    if ((data && data->kind == PDL_NODE_MAP) || pdl_node_find(n, PDL_STR("object"), NULL))
        return "define it before, and write ${ NAME.items() } or ${ NAME.keys() }";
    return "define it before, as in defs: {NAME: ...}, and write ${ NAME }";
}

static const pdl_tree *load_for_list(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->kind == PDL_NODE_SEQ || pdl_node_is_str(n) || pdl_loader_recorded(n) != n)
        return pdl_loader_tree(l, n, loc);
    pdl_loader_wrong_union(l, n, loc, "list or string (an expression)");
    pdl_diag *d = &l->p->diags.p[l->p->diags.n - 1];
    if (n->kind == PDL_NODE_MAP)
        pdl_loader_hint(l, d, "%s", for_advice(n));
    else if (pdl_node_is_null(n))
        pdl_loader_hint(l, d, "each name has a list: for: {a: LIST, b: LIST}");
    else
        pdl_loader_hint(l, d, PDL_NO_LIST);
    return NULL;
}

/* Returns the node of a name. A word of YAML, such as `no`, stays the text that is written. */
static const pdl_node *as_text(pdl_loader *l, const pdl_node *name) {
    if (!pdl_node_is_word(name)) return name;
    pdl_node *text = pdl_arena_new(l->a, pdl_node);
    *text = *name;
    text->type = PDL_NT_STR;
    return text;
}

const pdl_fors *pdl_loader_fors(pdl_loader *l, const pdl_pair *pair) {
    const pdl_node *n =
        pdl_loader_recorded(pair->value); /* traces write the whole mapping as one expression */
    pdl_loc loc = pdl_node_loc(pair->key);
    if (pdl_node_is_null(n)) return NULL;
    pdl_fors *f = pdl_arena_new(l->a, pdl_fors);
    f->loc = loc;
    f->node = n;
    if (!is_object(l, n, loc)) {
        pdl_diag *d = &l->p->diags.p[l->p->diags.n - 1];
        bool is_number = n->kind == PDL_NODE_SCALAR && !pdl_node_is_str(n);
        if (d->hint.n) return f;
        if (is_number && n->type == PDL_NT_INT)
            pdl_loader_hint(l, d, "a number of times is `maxIterations`");
        else if (n->kind == PDL_NODE_SEQ || (pdl_node_is_str(n) && n->text.n < 40))
            pdl_loader_hint(l, d, "write for: {NAME: LIST}: the name is each item in turn");
        return f;
    }
    f->n = n->n;
    f->names = pdl_arena_new_n(l->a, const pdl_tree *, n->n);
    f->lists = pdl_arena_new_n(l->a, const pdl_tree *, n->n);
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        f->names[i] = pdl_loader_xstr(l, as_text(l, key), pdl_node_loc(key), false);
        f->lists[i] = load_for_list(l, n->pairs[i].value, pdl_node_loc(key));
    }
    return f;
}

/* --- aggregator (spec syntax 2.9) ------------------------------------------------------------- */

const pdl_agg *pdl_loader_agg(pdl_loader *l, const pdl_pair *pair) {
    static const char *const words[] = {"context"};
    const pdl_node *n = pair->value;
    pdl_agg *g = pdl_arena_new(l->a, pdl_agg);
    g->loc = pdl_node_loc(pair->key);
    g->node = n;
    if (pdl_node_is_str(n)) {
        if (!pdl_str_is(n->text, "context")) pdl_loader_one_of(l, n, g->loc, words, 1, true);
        return g;
    }
    if (n->kind != PDL_NODE_MAP) {
        pdl_loader_wrong_union(l, n, g->loc, "context or an object {file, mode, ...}");
        return g;
    }
    g->is_file = true;
    load_record(l, PDL_RECORD_aggregator, n, g->loc, g);
    return g;
}
