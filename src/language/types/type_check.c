/* type_check.c -- pdl_type_check: it answers fast for PDL's own types, and makes messages when a
 * value does not fit. See type.h.
 *
 * The arguments of every PDL call are checked here, so types without JSON Schema parts are checked
 * on the type's tree. Only a failure builds the JSON Schema and runs the validator and the
 * analyzer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "base/cancel.h"
#include "value/text.h"

#include "base/banned.h"

/* --- the fast answer -------------------------------------------------------------------------- */

static bool fits_base(pdl_base_type b, pdl_vref v) {
    switch (b) {
    case PDL_BASE_null: return pdl_is_null(v);
    case PDL_BASE_boolean: return pdl_is_bool(v);
    case PDL_BASE_string: return pdl_is_str(v);
    case PDL_BASE_number: return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT);
    case PDL_BASE_integer: return pdl_is_int(v) || pdl_json_is(v, PDL_STR("integer"), PDL_D20);
    case PDL_BASE_array: return pdl_is_list(v);
    case PDL_BASE_object: return pdl_is_dict(v);
    case PDL_BASE_COUNT: break;
    }
    return false;
}

bool pdl_type_fits_single(const pdl_type *t, pdl_vref v) {
    if (pdl_type_is_any(t)) return true;
    return t->kind == PDL_TYPE_base && t->base < PDL_BASE_array && fits_base(t->base, v);
}

/* The state of a fast check. The JSON Schema parts of a type use its prepared schema; c is NULL for
 * a plain type. */
typedef struct fitter {
    pdl_check *c;
    pdl_dyn dyn;
    /* Counts the containers that were checked. A list may have the same list as an item twice, so a
     * value that is made of only forty lists can take 2^40 steps. */
    pdl_steps steps;
} fitter;

static bool fits(fitter *at, const pdl_type *t, pdl_vref v);

/* Returns true when an argument fits; a function counts as an object. */
static bool fits_param(fitter *at, const pdl_type *t, pdl_vref v) {
    return fits(at, t, v) ||
           (pdl_is(v, PDL_V_FUNC) && t->kind == PDL_TYPE_base && t->base == PDL_BASE_object);
}

static bool fits_object(fitter *at, const pdl_type *t, pdl_vref v) {
    if (!pdl_is_dict(v) || !pdl_steps_may_continue(&at->steps)) return false;
    size_t found = 0;
    for (size_t i = 0; i < t->n_fields; i++) {
        const pdl_type_entry *f = &t->fields[i];
        pdl_vref x = pdl_dict_find(v, f->name);
        if (pdl_is_absent(x)) {
            if (f->optional) continue;
            return false;
        }
        found++;
        if (!f->type) continue;
        if (!(t->params ? fits_param(at, f->type, x) : fits(at, f->type, x))) return false;
    }
    size_t n = pdl_dict_len(v);
    return found == n ||
           (t->params && found + 1 == n && !pdl_is_absent(pdl_dict_getz(v, "pdl_context")));
}

/* Returns true when v fits. The recursion is as deep as the type. */
static bool fits(fitter *at, const pdl_type *t, pdl_vref v) {
    if (!t) return true;
    switch (t->kind) {
    case PDL_TYPE_any: return true;
    case PDL_TYPE_base: return fits_base(t->base, v);
    case PDL_TYPE_optional: return pdl_is_null(v) || fits(at, t->item, v);
    case PDL_TYPE_object: return fits_object(at, t, v);
    case PDL_TYPE_schema: return pdl_check_run(at->c, t->schema, v, &at->dyn, NULL);
    case PDL_TYPE_list: break;
    }
    if (!pdl_is_list(v) || !pdl_steps_may_continue(&at->steps)) return false;
    for (size_t i = 0; t->item && i < pdl_list_len(v); i++)
        if (!fits(at, t->item, pdl_list_at(v, i)) ||
            (i % PDL_CANCEL_EVERY == PDL_CANCEL_EVERY - 1 && pdl_cancel_walk()))
            return false;
    return true;
}

/* Returns true when v certainly fits. Returns false when v does not fit, or when that is unknown.
 * The slow check then decides. */
static bool fits_fast(const pdl_type *t, pdl_vref v, pdl_arena *scratch) {
    fitter at = {.c = NULL};
    if (t->plain) return fits(&at, t, v);
    if (!t->ready) return false;
    pdl_check c;
    pdl_err err = {0};
    pdl_mark m = pdl_arena_mark(scratch);
    pdl_check_init(&c, t->ready, scratch, &err);
    at = (fitter){.c = &c, .dyn = {t->ready->first, NULL}};
    bool ok = fits(&at, t, v) && !c.stopped;
    pdl_check_fini(&c);
    pdl_err_fini(&err);
    pdl_arena_reset(scratch, m);
    return ok;
}

/* --- the slow check --------------------------------------------------------------------------- */

/* Adds a hint when a schema names an unknown type. The hint is the word that JSON Schema has for a
 * word of Python, or the list of all types. */
static void advise_word(pdl_str why, pdl_err *err) {
    static const char *const words[][2] = {
        {"str", "string"}, {"int", "integer"},   {"float", "number"}, {"bool", "boolean"},
        {"list", "array"}, {"tuple", "array"},   {"dict", "object"},  {"obj", "object"},
        {"map", "object"}, {"NoneType", "null"}, {"None", "null"}};
    size_t end = pdl_str_find(why, PDL_STR("' is not valid under any"), 0);
    if (end == PDL_NOT_FOUND || !pdl_str_starts(why, PDL_STR("'"))) return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pdl_str_is(pdl_str_sub(why, 1, end), words[i][0]))
            pdl_err_hint(err, "in a JSON Schema the type is named %s", words[i][1]);
    if (!err->hint)
        pdl_err_hint(err, "the types of a JSON Schema are string, number, integer, boolean, "
                          "array, object and null");
}

static bool invalid_type(pdl_err *err, const pdl_type *t, pdl_str why) {
    pdl_err_set(err, PDL_E_schema, pdl_node_loc(t->node), "Invalid type in spec: %.*s",
                PDL_FMT(why));
    advise_word(why, err);
    return false;
}

/* Puts the message of err, which a check of the schema set, into the message about the type. */
static bool wrap_invalid(pdl_err *err, const pdl_type *t) {
    if (err->kind != PDL_E_schema) return false;
    pdl_err why = {0};
    pdl_err_move(&why, err);
    invalid_type(err, t, pdl_str_of(why.msg));
    pdl_err_fini(&why);
    return false;
}

static void say_validator(pdl_analysis *an, pdl_vref v, pdl_fails *fails) {
    pdl_check *c = an->c;
    pdl_dyn dyn = {c->schema->first, NULL};
    c->fails = fails;
    (void)pdl_check_run(c, c->schema->first->root, v, &dyn, NULL);
    c->fails = NULL;
    const pdl_fail *best = c->stopped ? NULL : pdl_fail_best(fails);
    if (!best) return;
    pdl_buf text = PDL_BUF;
    pdl_fail_words(best, &text);
    pdl_problem_add(an, NULL, &text);
    pdl_buf_fini(&text);
}

/* A slow check of a value: its type, and the places for the answer. */
typedef struct {
    const pdl_type *t;
    const pdl_node *args_node;
    pdl_arena *scratch;
    pdl_type_verdict *out;
    pdl_err *err;
} slow_check;

/* Checks v against the ready schema s. */
static bool check_schema(const slow_check *of, const pdl_schema *s, pdl_vref v) {
    pdl_arena *scratch = of->scratch;
    pdl_problems *problems = &of->out->problems;
    pdl_check c;
    pdl_check_init(&c, s, scratch, of->err);
    pdl_dyn dyn = {s->first, NULL};
    bool valid = pdl_check_run(&c, s->first->root, v, &dyn, NULL);
    if (!valid && !c.stopped) {
        pdl_problem_vec out = {0};
        pdl_fails fails = {0};
        pdl_analysis an = {&c, scratch, of->args_node ? of->args_node : of->t->node, &out};
        pdl_analyze(&an, s->first->root, v);
        if (!out.n) say_validator(&an, v, &fails);
        problems->n = out.n;
        problems->p = pdl_arena_new_n(scratch, pdl_problem, out.n ? out.n : 1);
        for (size_t i = 0; i < out.n; i++) problems->p[i] = out.p[i];
        pdl_vec_fini(&out);
    }
    pdl_check_fini(&c);
    if (c.stopped) return wrap_invalid(of->err, of->t);
    of->out->fits = valid;
    return true;
}

pdl_type_kind pdl_type_kind_of(const pdl_type *t) { return t ? t->kind : PDL_TYPE_any; }

pdl_base_type pdl_type_base_of(const pdl_type *t) {
    assert(t->kind == PDL_TYPE_base);
    return t->base;
}

const pdl_type *pdl_type_item_of(const pdl_type *t) { return t->item; }

pdl_vref pdl_type_schema_of(const pdl_type *t) { return t->schema; }

/* Returns the arguments in the form that the schema gets: without pdl_context, and with empty
 * objects for functions that fit. Owned. */
static pdl_val seen_args(const pdl_type *t, pdl_vref v) {
    pdl_val d = pdl_dict_new(pdl_dict_len(v));
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_vref key = pdl_dict_key_at(v, i), x = pdl_dict_val_at(v, i);
        const pdl_type *want = NULL;
        bool known = false;
        for (size_t j = 0; j < t->n_fields && !known; j++) {
            known = pdl_val_eq(t->fields[j].name, key);
            want = t->fields[j].type;
        }
        if (!known && pdl_text_is(key, "pdl_context")) continue;
        bool as_object = pdl_is(x, PDL_V_FUNC) && want && want->kind == PDL_TYPE_base &&
                         want->base == PDL_BASE_object;
        d = pdl_dict_put_known(d, pdl_keep(key), as_object ? pdl_dict_new(0) : pdl_keep(x));
    }
    return d;
}

static bool check_slow(const slow_check *of, pdl_vref v) {
    const pdl_type *t = of->t;
    if (t->ready) return check_schema(of, t->ready, v);
    if (t->bad.p) return invalid_type(of->err, t, t->bad);
    pdl_schema *s = NULL;
    pdl_val schema = pdl_type_schema(t, true);
    bool good =
        pdl_schema_open(of->scratch, schema, &(pdl_schema_form){.draft = PDL_D20}, &s, of->err);
    pdl_drop(schema);
    if (!good) return wrap_invalid(of->err, t);
    good = check_schema(of, s, v);
    pdl_schema_close(s);
    return good;
}

static bool check(const slow_check *of, pdl_vref v) {
    if (!pdl_check_walk(of->err)) return false;
    if (!of->t->params || !pdl_is_dict(v)) return check_slow(of, v);
    pdl_val args = seen_args(of->t, v);
    bool good = check_slow(of, args);
    pdl_drop(args);
    return good;
}

bool pdl_type_check(const pdl_type *t, pdl_vref v, const pdl_node *args_node, pdl_arena *scratch,
                    pdl_type_verdict *out, pdl_err *err) {
    *out = (pdl_type_verdict){0};
    if (!t || fits_fast(t, v, scratch)) {
        out->fits = true;
        return true;
    }
    bool good = check(&(slow_check){t, args_node, scratch, out, err}, v);
    if (PDL_LIKELY(!pdl_is_walk_cancelled())) return good;
    if (!good) pdl_err_fini(err);
    return pdl_check_walk(err);
}
