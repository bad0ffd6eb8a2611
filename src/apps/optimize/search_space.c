/* search_space.c -- finds the parts of a program that vary, and makes the candidates that are
 * tried. Such a part is a variable of the program or a literal in its text. A candidate has one
 * value for each part; candidates are drawn from all combinations, or read from a file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/import_search.h"
#include "base/rand.h"
#include "check/check.h"
#include "optimize/proposals.h"
#include "value/json_write.h"

#include "base/banned.h"

/* At most MAX_DRAWN combinations are drawn. A file may have more candidates. */
enum { MAX_DRAWN = 64, MAX_CANDIDATES = 1000, MAX_NAMES = 128 };

/* --- places ----------------------------------------------------------------------------------- */

typedef struct opt_inputs {
    pdl_str names[MAX_NAMES];
    size_t n;
} inputs;

static void on_input(void *user, pdl_str name, bool optional) {
    inputs *in = user;
    (void)optional;
    if (in->n < MAX_NAMES) in->names[in->n++] = name;
}

static void find_inputs(const opt_search *z, inputs *in) {
    pdl_finder finder = {.file = z->o->program};
    finder.path = pdl_session_path(z->session, &finder.n_path);
    pdl_program_check(z->candidates.p[0].program, &(pdl_check_options){.open = pdl_find_open,
                                                                       .user = &finder,
                                                                       .no_lint = true,
                                                                       .input = on_input,
                                                                       .input_user = in});
}

static bool is_in(pdl_str name, const pdl_str *names, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_str_eq(names[i], name)) return true;
    return false;
}

static opt_place *place_named(const opt_search *z, pdl_str name) {
    for (size_t i = 0; i < z->places.n; i++)
        if (pdl_str_is(name, z->places.p[i].name)) return &z->places.p[i];
    return NULL;
}

static void add_place(opt_search *z, pdl_str name, const opt_literal *l, pdl_val first) {
    opt_place *p = pdl_vec_push(&z->places);
    *p = (opt_place){.name = pdl_str_dup(name), .is_free = !l, .first = first};
    if (l) p->literal = *l;
}

static bool is_path(pdl_str name) {
    return name.n && (memchr(name.p, '.', name.n) || memchr(name.p, '[', name.n));
}

static bool no_such_name(const opt_search *z, pdl_str name, const inputs *in, const char *option,
                         pdl_err *err) {
    pdl_str names[2 * MAX_NAMES];
    size_t n = 0;
    pdl_ytree_id defs = z->tree->root == PDL_YTREE_NONE ||
                                pdl_ytree_node_of(z->tree, z->tree->root)->kind != PDL_YTREE_MAP
                            ? PDL_YTREE_NONE
                            : pdl_ytree_find(z->tree, z->tree->root, PDL_STR("defs"));
    const pdl_ytree_node *d = pdl_ytree_node_of(z->tree, defs);
    for (size_t i = 0; i < in->n; i++) names[n++] = in->names[i];
    for (pdl_ytree_id k = d && d->kind == PDL_YTREE_MAP ? d->first : PDL_YTREE_NONE;
         k != PDL_YTREE_NONE && n < sizeof names / sizeof *names;
         k = pdl_ytree_node_of(z->tree, pdl_ytree_node_of(z->tree, k)->next)->next)
        names[n++] = pdl_ytree_node_of(z->tree, k)->text;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: the program has no variable '%.*s'", option,
                PDL_FMT(name));
    pdl_str near = pdl_str_nearest(name, names, n);
    if (near.n)
        pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
    else
        pdl_err_hint(err, "what can vary: a literal in `defs`, a variable that the program gets, "
                          "or the place of any literal, such as text.0");
    return false;
}

/* Returns the value that a variable has in the original program: the value on the command line, or
 * else the first of its possible values. */
static pdl_val first_value(const opt_search *z, pdl_str name, pdl_vref values) {
    pdl_vref given =
        pdl_is_dict(z->o->variables) ? pdl_dict_gets(z->o->variables, name) : pdl_absent();
    return pdl_keep(!pdl_is_absent(given) ? given : pdl_list_at(values, 0));
}

static bool is_column(const opt_search *z, pdl_str name) {
    pdl_val columns = pdl_list_new(8);
    pdl_search_put_columns(z, 0, &columns);
    bool is = false;
    for (size_t i = 0; i < pdl_list_len(columns); i++)
        is = is || pdl_str_eq(pdl_str_get(pdl_list_at(columns, i)), name);
    pdl_drop(columns);
    return is;
}

/* Finds a name of --vary or of a candidate: a literal in `defs`, a variable that the program gets
 * from outside, or a place. values: a list with at least one value. */
static bool find_name(opt_search *z, const inputs *in, pdl_str name, pdl_vref values,
                      const char *option, pdl_err *err) {
    bool there;
    opt_literal l;
    if (!pdl_literal_find_def(z->tree, name, &there, &l, err)) return false;
    if (there) {
        add_place(z, name, &l, pdl_literal_value(z->tree, &l));
        return true;
    }
    if (is_in(name, in->names, in->n)) {
        if (is_column(z, name))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "%s: '%.*s' is a column of %.*s, which gives it for each row",
                               option, PDL_FMT(name), PDL_FMT(z->o->data.name));
        add_place(z, name, NULL, first_value(z, name, values));
        return true;
    }
    pdl_err ignored = {0};
    if (is_path(name) || pdl_literal_find(z->tree, name, &l, &ignored)) {
        pdl_err_fini(&ignored);
        if (!pdl_literal_find(z->tree, name, &l, err)) return false;
        add_place(z, name, &l, pdl_literal_value(z->tree, &l));
        return true;
    }
    pdl_err_fini(&ignored);
    return no_such_name(z, name, in, option, err);
}

static bool find_tuned(opt_search *z, pdl_str place, pdl_err *err) {
    opt_literal l;
    bool there;
    opt_place *known = place_named(z, place);
    if (!known) {
        pdl_err no_place = {0};
        bool ok = pdl_literal_find(z->tree, place, &l, &no_place);
        if (!ok && !is_path(place) && !pdl_literal_find_def(z->tree, place, &there, &l, err)) {
            pdl_err_fini(&no_place);
            return false;
        }
        if (!ok && !is_path(place) && !there && !no_place.hint) {
            pdl_err_fini(&no_place);
            return no_such_name(z, place, &(inputs){0}, "--tune", err);
        }
        if (!ok && (is_path(place) || !there)) {
            pdl_err_set(err, PDL_E_usage, no_place.loc, "--tune: %s", no_place.msg);
            if (no_place.hint) pdl_err_hint(err, "%s", no_place.hint);
            pdl_err_fini(&no_place);
            return false;
        }
        pdl_err_fini(&no_place);
        add_place(z, place, &l, pdl_literal_value(z->tree, &l));
        known = &z->places.p[z->places.n - 1];
    }
    known->is_tuned = true;
    if (pdl_search_may_propose(z) && !pdl_is_str(known->first))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--tune %s: no text is there",
                           known->name);
    if (pdl_search_may_propose(z) && !pdl_search_check_exposed(z, known, err)) return false;
    for (size_t i = 0; i < z->o->n_required; i++) {
        pdl_str word = z->o->required[i];
        pdl_str text = pdl_is_str(known->first) ? pdl_str_get(known->first) : (pdl_str){0};
        if (pdl_str_find(text, word, 0) == PDL_NOT_FOUND)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "--require: the text at %s does not have '%.*s' itself", known->name,
                               PDL_FMT(word));
    }
    return true;
}

static bool find_given(opt_search *z, const inputs *in, pdl_err *err) {
    pdl_vref space = z->o->space;
    for (size_t i = 0; pdl_is_dict(space) && i < pdl_dict_len(space); i++) {
        pdl_str name = pdl_str_get(pdl_dict_key_at(space, i));
        pdl_vref values = pdl_dict_val_at(space, i);
        if (!pdl_list_len(values))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--vary: '%.*s' has no values",
                               PDL_FMT(name));
        if (!find_name(z, in, name, values, "--vary", err)) return false;
    }
    if (z->o->demos.n && !place_named(z, z->o->demos)) {
        pdl_val none = pdl_list_push(pdl_list_new(1), pdl_list_new(0));
        bool ok = find_name(z, in, z->o->demos, none, "--demos", err);
        pdl_drop(none);
        if (!ok) return false;
    }
    if (z->o->demos.n && !z->part[OPT_TRAIN].n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "--demos: no row of %.*s is for training", PDL_FMT(z->o->data.name));
    for (size_t i = 0; i < z->o->n_tuned; i++)
        if (!find_tuned(z, z->o->tuned[i], err)) return false;
    return true;
}

/* --- candidates ------------------------------------------------------------------------------- */

static bool keeps_words(const opt_search *z, const opt_place *p, pdl_str text, pdl_err *err) {
    for (size_t i = 0; p->is_tuned && i < z->o->n_required; i++)
        if (pdl_str_find(text, z->o->required[i], 0) == PDL_NOT_FOUND)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the text for %s has lost '%.*s'",
                               p->name, PDL_FMT(z->o->required[i]));
    return true;
}

/* Stores the value in the form in which it is written into the program. A text keeps only
 * expressions that the program had before. */
static bool encoded(const opt_search *z, const opt_place *p, pdl_vref v, pdl_val *out,
                    pdl_err *err) {
    if (!pdl_is_str(v) || p->literal.is_raw) {
        *out = pdl_keep(v);
        return !pdl_is_str(v) || keeps_words(z, p, pdl_str_get(v), err);
    }
    pdl_buf b = PDL_BUF;
    pdl_str old = pdl_is_str(p->first) ? pdl_str_get(p->first) : (pdl_str){0};
    bool ok =
        keeps_words(z, p, pdl_str_get(v), err) && pdl_literal_encode(old, pdl_str_get(v), &b, err);
    if (ok)
        *out = pdl_text_of_buf(&b);
    else if (pdl_str_starts(pdl_str_of(err->msg), PDL_STR("the text has")))
        pdl_err_hint(err, "it is for %s, whose ${ } are all kept", p->name);
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_search_write_text(const opt_search *z, pdl_vref values, char **out, pdl_err *err) {
    PDL_VEC(opt_edit) edits = {0};
    PDL_VEC(pdl_val) owned = {0};
    bool ok = true;
    for (size_t i = 0; i < z->places.n && ok; i++) {
        const opt_place *p = &z->places.p[i];
        pdl_vref v = pdl_dict_gets(values, pdl_str_of(p->name));
        if (p->is_free || pdl_is_absent(v)) continue;
        pdl_val written;
        ok = encoded(z, p, v, &written, err);
        if (!ok) break;
        *pdl_vec_push(&owned) = written;
        *pdl_vec_push(&edits) = (opt_edit){p->literal, written};
    }
    pdl_buf b = PDL_BUF;
    *out = NULL;
    if (ok && edits.n) {
        ok = pdl_literal_replace(z->tree, edits.p, edits.n, &b, err);
        if (ok) *out = pdl_buf_take(&b);
    }
    pdl_buf_fini(&b);
    for (size_t i = 0; i < owned.n; i++) pdl_drop(owned.p[i]);
    pdl_vec_fini(&owned);
    pdl_vec_fini(&edits);
    return ok;
}

/* Returns the values that differ from those of the original program. Takes values. */
static pdl_val changes(const opt_search *z, pdl_val values) {
    for (size_t i = 0; i < z->places.n; i++) {
        const opt_place *p = &z->places.p[i];
        pdl_vref v = pdl_dict_gets(values, pdl_str_of(p->name));
        if (pdl_is_absent(v) || pdl_tag_of(v) != pdl_tag_of(p->first) || !pdl_val_eq(v, p->first))
            continue;
        pdl_val key = pdl_textz(p->name);
        values = pdl_dict_del(values, key);
        pdl_drop(key);
    }
    return values;
}

static bool is_same(pdl_vref a, pdl_vref b) {
    if (!pdl_val_eq(a, b)) return false;
    /* 1, 1.0 and true are equal, but a program may treat them differently */
    for (size_t i = 0; i < pdl_dict_len(a); i++)
        if (pdl_tag_of(pdl_dict_val_at(a, i)) !=
            pdl_tag_of(pdl_dict_find(b, pdl_dict_key_at(a, i))))
            return false;
    return true;
}

bool pdl_search_add(opt_search *z, pdl_val values, size_t *number, pdl_err *err) {
    values = changes(z, values);
    for (size_t i = 0; i < z->candidates.n; i++) {
        if (!is_same(z->candidates.p[i].values, values)) continue;
        *number = i;
        pdl_drop(values);
        return true;
    }
    opt_candidate c = {.values = values, .variables = pdl_absent()};
    if (!pdl_search_write_text(z, values, &c.text, err)) {
        pdl_drop(values);
        return false;
    }
    *number = z->candidates.n;
    *pdl_vec_push(&z->candidates) = c;
    return true;
}

/* --- drawing ---------------------------------------------------------------------------------- */

static pdl_val combination(pdl_vref space, uint64_t number, pdl_rand *r) {
    pdl_val d = pdl_dict_new(pdl_dict_len(space));
    for (size_t i = 0; i < pdl_dict_len(space); i++) {
        pdl_vref values = pdl_dict_val_at(space, i);
        uint64_t n = pdl_list_len(values), at = (r ? pdl_rand_u64(r) : number) % n;
        number /= n;
        d = pdl_dict_put(d, pdl_keep(pdl_dict_key_at(space, i)),
                         pdl_keep(pdl_list_at(values, (size_t)at)));
    }
    return d;
}

static bool draw(opt_search *z, pdl_err *err) {
    enum { TRIES = 20 };
    pdl_vref space = z->o->space;
    bool any = pdl_is_dict(space) && pdl_dict_len(space);
    /* there are no candidates yet, but the method will make some */
    if (!any && (z->o->demos.n || pdl_search_may_propose(z))) return true;
    if (!any && z->o->n_tuned) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "--tune %.*s: nothing gives texts for that place", PDL_FMT(z->o->tuned[0]));
        pdl_err_hint(err, "--candidates FILE has them, one JSON object a line, or --method "
                          "reflect lets a model write them");
        return false;
    }
    if (!any)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "nothing varies: give --vary NAME=VALUE,VALUE... or --candidates FILE");
    uint64_t all = 1;
    size_t number;
    pdl_rand r;
    for (size_t i = 0; i < pdl_dict_len(space); i++) {
        uint64_t n = pdl_list_len(pdl_dict_val_at(space, i));
        all = all > UINT64_MAX / n ? UINT64_MAX : all * n;
    }
    z->combinations = all;
    bool ok = true;
    for (uint64_t i = 0; ok && all <= MAX_DRAWN && i < all; i++)
        ok = pdl_search_add(z, combination(space, i, NULL), &number, err);
    pdl_rand_seed(&r, z->o->seed);
    for (size_t i = 0;
         ok && all > MAX_DRAWN && z->candidates.n <= MAX_DRAWN && i < MAX_DRAWN * TRIES; i++)
        ok = pdl_search_add(z, combination(space, 0, &r), &number, err);
    return ok;
}

/* --- a file of candidates --------------------------------------------------------------------- */

typedef struct opt_listing {
    opt_search *z;
    const inputs *in;
} listing;

/* Adds the row and the file to an error that concerns a candidate. */
static bool at_row(const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    pdl_err named = {0};
    pdl_buf place = PDL_BUF;
    pdl_rows_put_place(r, row, &place);
    pdl_err_set(&named, PDL_E_usage, err->loc, "%s: %s", pdl_buf_z(&place), err->msg);
    if (err->hint) pdl_err_hint(&named, "%s", err->hint);
    pdl_buf_fini(&place);
    pdl_err_fini(err);
    pdl_err_move(err, &named);
    return false;
}

static bool take_candidate(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    listing *l = user;
    opt_search *z = l->z;
    size_t number;
    if (row->problem) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s", row->problem);
        return at_row(r, row, err);
    }
    if (row->number > MAX_CANDIDATES) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "more than %d candidates", MAX_CANDIDATES);
        return at_row(r, row, err);
    }
    for (size_t i = 0; i < pdl_dict_len(row->columns); i++) {
        pdl_str name = pdl_str_get(pdl_dict_key_at(row->columns, i));
        if (place_named(z, name)) continue;
        pdl_val one = pdl_list_push(pdl_list_new(1), pdl_keep(pdl_dict_val_at(row->columns, i)));
        bool ok = find_name(z, l->in, name, one, "a candidate", err);
        pdl_drop(one);
        if (!ok) return at_row(r, row, err);
    }
    return pdl_search_add(z, pdl_keep(row->columns), &number, err) || at_row(r, row, err);
}

static bool read_candidates(opt_search *z, const inputs *in, pdl_err *err) {
    listing l = {z, in};
    pdl_table t;
    if (!pdl_table_of(z->o->candidates, PDL_STR("jsonl"), &t, err) ||
        !pdl_rows_each(&t, false, 0, take_candidate, &l, err))
        return false;
    return z->candidates.n > 1 ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "%.*s has no candidate that differs from the program as it was",
                       PDL_FMT(z->o->candidates));
}

bool pdl_search_make_candidates(opt_search *z, pdl_err *err) {
    inputs in = {0};
    if (z->o->reference) return pdl_search_draw_as_reference(z, err);
    find_inputs(z, &in);
    if (!find_given(z, &in, err)) return false;
    if (z->o->candidates.n) return read_candidates(z, &in, err);
    return draw(z, err) &&
           (z->candidates.n > 1 || z->o->demos.n || pdl_search_may_propose(z) ||
            pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                        "nothing varies: every value is that of the program as it was"));
}
