/* validate.c -- checks a value against a schema: the walk, and the equality and types of JSON. The
 * keywords are in schema_keywords.c. See schema.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/checking.h"

#include <assert.h>
#include <math.h>

#include "base/cancel.h"
#include "base/hash.h"
#include "base/limits.h"
#include "value/int.h"

#include "base/banned.h"

/* --- JSON's view of values -------------------------------------------------------------------- */

static bool is_integral(pdl_vref v, unsigned draft) {
    if (pdl_is_int(v)) return true;
    if (!pdl_is(v, PDL_V_FLOAT) || draft == PDL_D4) return false;
    double d = pdl_float_of(v);
    return isfinite(d) && floor(d) >= d;
}

bool pdl_json_is(pdl_vref v, pdl_str word, unsigned draft) {
    switch (word.n ? word.p[0] : 0) {
    case 's': return pdl_is_str(v) && pdl_str_is(word, "string");
    case 'i': return pdl_str_is(word, "integer") && is_integral(v, draft);
    case 'n':
        if (pdl_str_is(word, "null")) return pdl_is_null(v);
        return pdl_str_is(word, "number") && (pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT));
    case 'o': return pdl_is_dict(v) && pdl_str_is(word, "object");
    case 'a': return pdl_is_list(v) && pdl_str_is(word, "array");
    case 'b': return pdl_is_bool(v) && pdl_str_is(word, "boolean");
    default: return false;
    }
}

static bool is_sequence(pdl_vref v) { return pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE); }

static bool eq_at(pdl_vref a, pdl_vref b, unsigned depth, pdl_steps *steps) {
    if (depth > PDL_MAX_VALUE_DEPTH || !pdl_steps_may_continue(steps)) return false;
    if (is_sequence(a) && is_sequence(b)) {
        if (pdl_list_len(a) != pdl_list_len(b)) return false;
        for (size_t i = 0; i < pdl_list_len(a); i++)
            if (!eq_at(pdl_list_at(a, i), pdl_list_at(b, i), depth + 1, steps)) return false;
        return true;
    }
    if (pdl_is_dict(a) && pdl_is_dict(b)) {
        if (pdl_dict_len(a) != pdl_dict_len(b)) return false;
        for (size_t i = 0; i < pdl_dict_len(a); i++) {
            pdl_vref other = pdl_dict_find(b, pdl_dict_key_at(a, i));
            if (pdl_is_absent(other) || !eq_at(pdl_dict_val_at(a, i), other, depth + 1, steps))
                return false;
        }
        return true;
    }
    if (pdl_is_bool(a) != pdl_is_bool(b)) return false;
    return pdl_val_eq(a, b);
}

bool pdl_json_eq(pdl_vref a, pdl_vref b) {
    pdl_steps steps = {0};
    return eq_at(a, b, 0, &steps);
}

/* Computes a hash of v. Equal values have equal hashes. */
static uint32_t hash_at(pdl_vref v, unsigned depth, pdl_steps *steps) {
    if (depth > PDL_MAX_VALUE_DEPTH || !pdl_steps_may_continue(steps)) return 1;
    uint64_t h = 17;
    if (is_sequence(v)) {
        for (size_t i = 0; i < pdl_list_len(v); i++)
            h = h * 31 + hash_at(pdl_list_at(v, i), depth + 1, steps);
        return pdl_hash_u64(h);
    }
    if (pdl_is_dict(v)) {
        for (size_t i = 0; i < pdl_dict_len(v); i++) /* the order of the entries does not matter */
            h += (uint64_t)pdl_val_hash(pdl_dict_key_at(v, i)) *
                 (hash_at(pdl_dict_val_at(v, i), depth + 1, steps) | 1u);
        return pdl_hash_u64(h);
    }
    return pdl_is_hashable(v) ? pdl_val_hash(v) : 1;
}

bool pdl_json_unique(pdl_vref list, pdl_arena *scratch) {
    size_t n = pdl_list_len(list), size = 16;
    while (size < 2 * n) size *= 2;
    pdl_mark m = pdl_arena_mark(scratch);
    /* Each slot is an index + 1. A list has less than 2^32 items. */
    uint32_t *slots = pdl_arena_new_n(scratch, uint32_t, size);
    bool unique = true;
    pdl_steps steps = {0};
    for (size_t i = 0; i < n && unique; i++) {
        size_t at = hash_at(pdl_list_at(list, i), 0, &steps) & (size - 1);
        for (; slots[at] && unique; at = (at + 1) & (size - 1))
            unique = !pdl_json_eq(pdl_list_at(list, slots[at] - 1), pdl_list_at(list, i));
        slots[at] = (uint32_t)(i + 1);
    }
    pdl_arena_reset(scratch, m);
    return unique;
}

/* --- the walk --------------------------------------------------------------------------------- */

void pdl_check_init(pdl_check *c, const pdl_schema *s, pdl_arena *scratch, pdl_err *err) {
    *c = (pdl_check){.schema = s, .arena = scratch, .err = err};
}

void pdl_check_fini(pdl_check *c) {
    for (pdl_remote_doc *d = c->docs; d; d = d->next) pdl_schema_close(d->s);
    c->docs = NULL;
}

static void add_path(pdl_check *c, pdl_fail *f) {
    for (const pdl_step *s = c->path; s != c->path_start; s = s->up) f->n_path++;
    if (!f->n_path) return;
    f->path = pdl_arena_new_n(c->arena, pdl_step, f->n_path);
    size_t i = f->n_path;
    for (const pdl_step *s = c->path; s != c->path_start; s = s->up) f->path[--i] = *s;
}

pdl_fail *pdl_check_fail(pdl_check *c, pdl_fail_kind kind, pdl_vref v, pdl_vref want,
                         pdl_vref schema) {
    if (!c->fails || c->stopped) return NULL;
    if (c->fails->first && c->n_fails >= PDL_CHECK_FAILS)
        return NULL; /* beyond the ceiling, a list of failures still gets its first failure */
    c->n_fails++;
    pdl_fail *f = pdl_arena_new(c->arena, pdl_fail);
    f->kind = kind;
    f->v = v;
    f->want = want;
    f->schema = schema;
    add_path(c, f);
    if (c->fails->last)
        c->fails->last->next = f;
    else
        c->fails->first = f;
    c->fails->last = f;
    return f;
}

bool pdl_check_in(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_vref key,
                  size_t i) {
    pdl_step step = {c->path, key, i};
    c->path = &step;
    bool ok = pdl_check_run(c, schema, v, dyn, NULL);
    c->path = step.up;
    return ok;
}

bool pdl_check_quiet(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn,
                     pdl_seen *seen) {
    pdl_fails *fails = c->fails;
    c->fails = NULL;
    bool ok = pdl_check_run(c, schema, v, dyn, seen);
    c->fails = fails;
    return ok;
}

const pdl_regex *pdl_check_regex(pdl_check *c, pdl_vref pattern) {
    pdl_str p = pdl_str_get(pattern);
    const pdl_regex *re = pdl_map_find(&c->schema->regexes, p);
    for (const pdl_remote_doc *d = c->docs; d && !re; d = d->next)
        re = pdl_map_find(&d->s->regexes, p);
    if (!re && !c->stopped) {
        c->stopped = true;
        pdl_err_set(c->err, PDL_E_schema, (pdl_loc){0}, "'%.*s' is not a 'regex'", PDL_FMT(p));
    }
    return re;
}

bool pdl_check_match(pdl_check *c, pdl_vref pattern, pdl_str s) {
    bool hit = false;
    const pdl_regex *re = pdl_is_str(pattern) ? pdl_check_regex(c, pattern) : NULL;
    if (!re) return false;
    size_t n = pdl_regex_groups(re) + 1;
    pdl_span few[16], *spans = n <= 16 ? few : pdl_arena_new_n(c->arena, pdl_span, n);
    if (!pdl_regex_match(re, (pdl_regex_search){s, 0, PDL_RE_SEARCH}, &hit, spans, c->err))
        c->stopped = true;
    return hit && !c->stopped;
}

/* Runs the keywords of a schema object. late says that this is the second pass, for keywords that
 * depend on the results of others. */
static bool run_pass(const pdl_kw_at *at, unsigned draft, bool late) {
    bool ok = true;
    size_t n = pdl_dict_len(at->schema);
    for (size_t i = 0; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(at->schema, i);
        const pdl_keyword *k = pdl_is_str(key) ? pdl_keyword_find(pdl_str_get(key), draft) : NULL;
        if (!k || !k->fn || k->late != late) continue;
        pdl_kw_at here = *at;
        here.want = pdl_dict_val_at(at->schema, i);
        if (!k->fn(&here)) ok = false;
        if (at->c->stopped || (!ok && !at->c->fails)) return false;
    }
    return ok;
}

static bool looks_back(pdl_vref schema, pdl_vref v, unsigned draft) {
    if (draft < PDL_D19) return false;
    if (pdl_is_dict(v)) return !pdl_is_absent(pdl_dict_getz(schema, "unevaluatedProperties"));
    return pdl_is_list(v) && !pdl_is_absent(pdl_dict_getz(schema, "unevaluatedItems"));
}

static bool run_object(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn,
                       pdl_seen *seen) {
    unsigned draft = dyn->res->draft;
    pdl_kw_at at = {
        .c = c, .want = pdl_absent(), .schema = schema, .v = v, .dyn = dyn, .seen = seen};
    if (draft < PDL_D19) { /* in the drafts before 2019, keywords beside $ref are ignored */
        at.want = pdl_dict_getz(schema, "$ref");
        if (pdl_is_str(at.want)) return pdl_keyword_find(PDL_STR("$ref"), draft)->fn(&at);
    }
    pdl_seen own = {0};
    bool late = looks_back(schema, v, draft);
    if (late && !seen) {
        own.n = pdl_is_dict(v) ? pdl_dict_len(v) : pdl_list_len(v);
        own.bits = pdl_arena_new_n(c->arena, uint64_t, own.n / 64 + 1);
        at.seen = &own;
    }
    bool ok = run_pass(&at, draft, false);
    if (c->stopped || (!ok && !c->fails)) return false;
    if (late && !run_pass(&at, draft, true)) ok = false;
    return ok;
}

bool pdl_check_run(pdl_check *c, pdl_vref schema, pdl_vref v, const pdl_dyn *dyn, pdl_seen *seen) {
    assert(dyn && dyn->res && c->schema);
    if (c->stopped) return false;
    if (pdl_is_bool(schema)) {
        if (pdl_bool_of(schema)) return true;
        pdl_check_fail(c, PDL_FAIL_false, v, schema, schema);
        return false;
    }
    if (!pdl_is_dict(schema)) return true; /* the form of the schema was not checked */
    if (++c->steps > PDL_CHECK_STEPS) {
        c->stopped = true;
        return pdl_err_set(c->err, PDL_E_limit, (pdl_loc){0}, "schema takes more than %d steps",
                           PDL_CHECK_STEPS);
    }
    if (!pdl_check_cancel_at(c->steps, c->err)) {
        c->stopped = true;
        return false;
    }
    if (c->depth >= PDL_MAX_SCHEMA_DEPTH) {
        c->stopped = true;
        return pdl_err_set(c->err, PDL_E_limit, (pdl_loc){0},
                           "schema leads more than %d levels deep", (int)PDL_MAX_SCHEMA_DEPTH);
    }
    pdl_dyn here = {pdl_check_enter(c, schema, dyn->res), dyn};
    c->depth++;
    bool ok = run_object(c, schema, v, here.res == dyn->res ? dyn : &here, seen);
    c->depth--;
    return ok;
}

/* --- the validator alone ---------------------------------------------------------------------- */

static void put_one_problem(pdl_arena *a, const pdl_fail *f, pdl_problems *out) {
    pdl_buf text = PDL_BUF, path = PDL_BUF;
    if (f) pdl_fail_words(f, &text);
    for (size_t i = 0; f && i < f->n_path; i++) pdl_step_put(&f->path[i], &path);
    out->n = 1;
    out->p = pdl_arena_new(a, pdl_problem);
    out->p->text = out->p->plain = pdl_arena_str(a, pdl_buf_str(&text));
    out->p->path = pdl_arena_str(a, pdl_buf_str(&path));
    pdl_buf_fini(&text);
    pdl_buf_fini(&path);
}

bool pdl_schema_validate(pdl_vref schema, pdl_vref v, pdl_remote_fn *remote, pdl_arena *scratch,
                         pdl_type_verdict *out, pdl_err *err) {
    pdl_schema *s = NULL;
    *out = (pdl_type_verdict){0};
    if (!pdl_schema_open(scratch, schema, &(pdl_schema_form){.draft = PDL_D20}, &s, err))
        return false;
    pdl_check c;
    pdl_fails fails = {0};
    pdl_check_init(&c, s, scratch, err);
    c.remote = remote;
    pdl_dyn dyn = {s->first, NULL};
    bool fits = pdl_check_run(&c, schema, v, &dyn, NULL);
    if (!fits && !c.stopped) {
        c.fails = &fails;
        (void)pdl_check_run(&c, schema, v, &dyn, NULL);
        if (!c.stopped) put_one_problem(scratch, pdl_fail_best(&fails), &out->problems);
    }
    pdl_check_fini(&c);
    pdl_schema_close(s);
    if (c.stopped) return false;
    out->fits = fits;
    return true;
}
