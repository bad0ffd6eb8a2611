/* effect_forms.c -- see effect.h: checks that a request or an answer has the form that effects.def
 * gives its kind.
 *
 * The machine uses answers without further checks: it takes `content` of a model's reply as it is.
 * Worlds that are a part of libpdl follow the table. A file or a host program may hold anything, so
 * their answers are checked against the table where they enter, and only there.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "effect/effect.h"

#include <assert.h>

#include "base/ident.h"
#include "base/limits.h"
#include "effect/reply_usage.h"
#include "value/label.h"
#include "value/text.h"

#include "base/banned.h"

/* The flags of a field: the kinds of values that it may have, the demands on the content of the
 * value, and whether the field may be missing. */
enum {
    NONE = 1 << 0,
    FLAG = 1 << 1,
    INT = 1 << 2,
    NUMBER = 1 << 3,
    TEXT = 1 << 4,
    LIST = 1 << 5,
    OBJECT = 1 << 6,
    TEXTS = 1 << 7,
    VECTORS = 1 << 8,
    /* DATA alone means any value of JSON. DATA with other kinds means a value of one of these
     * kinds, whose parts are values of JSON. */
    DATA = 1 << 9,
    ANY = 1 << 10,
    MISSING = 1 << 11,
    PATH = 1 << 12,
    KINDS = PATH | NONE | FLAG | INT | NUMBER | TEXT | LIST | OBJECT | TEXTS | VECTORS,
};

enum {
    ACTS = PDL_EFFECT_ACTS,
    WAITS = PDL_EFFECT_WAITS,
    KEPT = PDL_EFFECT_KEPT,
    LATE = PDL_EFFECT_LATE,
    CHANCE = PDL_EFFECT_CHANCE
};
enum { PDL_LABEL_0 = 0 };

/* The table is read five times, each time for rows of another sort. */
#define ASK(id, field, forms, doc)
#define SAY(id, field, forms, doc)
#define VALUE(id, field)
#define OP(id, op, forms)
static const struct {
    const char *name;
    pdl_label origin;
    unsigned traits, reply;
} kinds[] = {
#define EFFECT(id, origin, traits, reply, doc) {#id, PDL_LABEL_##origin, traits, reply},
#include "effect/effects.def"
#undef EFFECT
};
static_assert(sizeof kinds / sizeof kinds[0] == PDL_EFFECT_COUNT, "one row per kind");

/* A line of the table below its EFFECT. */
typedef struct form_row {
    pdl_effect_kind kind;
    const char *field;
    unsigned forms;
} form_row;

#define EFFECT(id, origin, traits, reply, doc)
#undef ASK
static const form_row asks[] = {
#define ASK(id, field, forms, doc) {PDL_EFFECT_##id, #field, forms},
#include "effect/effects.def"
#undef ASK
#define ASK(id, field, forms, doc)
};
#undef SAY
static const form_row says[] = {
#define SAY(id, field, forms, doc) {PDL_EFFECT_##id, #field, forms},
#include "effect/effects.def"
#undef SAY
#define SAY(id, field, forms, doc)
};
#undef VALUE
static const char *const values[PDL_EFFECT_COUNT] = {
#define VALUE(id, field) [PDL_EFFECT_##id] = #field,
#include "effect/effects.def"
#undef VALUE
#define VALUE(id, field)
};
#undef OP
static const form_row ops[] = {
#define OP(id, op, forms) {PDL_EFFECT_##id, #op, forms},
#include "effect/effects.def"
};
#undef OP
#undef VALUE
#undef ASK
#undef SAY
#undef EFFECT

/* --- what is known of a kind ------------------------------------------------------------------ */

const char *pdl_effect_kind_name(pdl_effect_kind k) {
    assert((unsigned)k < PDL_EFFECT_COUNT);
    if ((unsigned)k >= PDL_EFFECT_COUNT) PDL_BUG("effect kind %d", (int)k);
    return kinds[k].name;
}

bool pdl_effect_kind_find(pdl_str name, pdl_effect_kind *out) {
    for (size_t i = 0; i < PDL_EFFECT_COUNT; i++)
        if (pdl_str_is(name, kinds[i].name)) {
            *out = (pdl_effect_kind)i;
            return true;
        }
    return false;
}

pdl_label pdl_effect_origin(pdl_effect_kind k) { return kinds[k].origin; }

pdl_label pdl_effect_label(const pdl_effect *e) {
    pdl_label origin = e->is_trusted ? 0 : kinds[e->kind].origin;
    return pdl_label_built(origin) | pdl_label_of(e->request) | e->added_labels | e->control |
           e->chosen;
}
bool pdl_effect_has(pdl_effect_kind k, pdl_effect_trait trait) {
    assert((unsigned)k < PDL_EFFECT_COUNT);
    return (kinds[k].traits & trait) != 0;
}

bool pdl_effect_acts(const pdl_effect *e) {
    pdl_vref method = pdl_dict_getz(e->request, "method");
    bool is_safe =
        e->kind == PDL_EFFECT_http && (pdl_text_is(method, "GET") || pdl_text_is(method, "HEAD"));
    return pdl_effect_has(e->kind, PDL_EFFECT_ACTS) && !is_safe;
}

const char *pdl_effect_value_key(pdl_effect_kind k) { return values[k]; }

pdl_vref pdl_effect_value(pdl_effect_kind k, pdl_vref reply) {
    return values[k] && pdl_is_dict(reply) ? pdl_dict_getz(reply, values[k]) : reply;
}

bool pdl_effect_uses_session(const pdl_effect *e) {
    pdl_vref code = pdl_dict_getz(e->request, "code");
    return e->kind == PDL_EFFECT_code && pdl_is_str(code) &&
           pdl_ident_is_in(pdl_str_get(code), PDL_STR("PDL_SESSION"));
}

bool pdl_effect_begins_session(const pdl_effect *e) {
    return e->kind == PDL_EFFECT_code && !pdl_is_absent(pdl_dict_getz(e->request, "session"));
}

/* --- forms of values -------------------------------------------------------------------------- */

static bool is_text(pdl_vref v) { return pdl_is_str(v) && !(pdl_flags_of(v) & PDL_F_SAFE); }
static bool is_number(pdl_vref v) { return pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT); }

/* Returns true for values of JSON that are not nested deeper than PDL_MAX_JSON_DEPTH. */
static bool is_data(pdl_vref v, unsigned depth) {
    if (depth > PDL_MAX_JSON_DEPTH) return false;
    if (pdl_is_list(v)) {
        for (size_t i = 0; i < pdl_list_len(v); i++)
            if (!is_data(pdl_list_at(v, i), depth + 1)) return false;
        return true;
    }
    if (!pdl_is_dict(v)) return is_text(v) || is_number(v) || pdl_is_null(v) || pdl_is_bool(v);
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        if (!is_text(pdl_dict_key_at(v, i)) || !is_data(pdl_dict_val_at(v, i), depth + 1))
            return false;
    return true;
}

static bool is_list_of(pdl_vref v, bool (*fits)(pdl_vref item)) {
    if (!pdl_is_list(v)) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!fits(pdl_list_at(v, i))) return false;
    return true;
}

static bool is_vector(pdl_vref v) { return is_list_of(v, is_number); }

static bool has_text_keys(pdl_vref v) {
    if (!pdl_is_dict(v)) return false;
    for (size_t i = 0; i < pdl_dict_len(v); i++)
        if (!is_text(pdl_dict_key_at(v, i))) return false;
    return true;
}

static bool is_of_kind(pdl_vref v, unsigned forms) {
    return ((forms & NONE) && pdl_is_null(v)) || ((forms & FLAG) && pdl_is_bool(v)) ||
           ((forms & INT) && pdl_is_int(v)) || ((forms & NUMBER) && is_number(v)) ||
           ((forms & (TEXT | PATH)) && is_text(v)) || ((forms & LIST) && pdl_is_list(v)) ||
           ((forms & OBJECT) && has_text_keys(v)) || ((forms & TEXTS) && is_list_of(v, is_text)) ||
           ((forms & VECTORS) && is_list_of(v, is_vector));
}

static bool has_form(pdl_vref v, unsigned forms) {
    if (pdl_is_absent(v)) return (forms & MISSING) != 0;
    if (forms & ANY) return true;
    if ((forms & KINDS) && !is_of_kind(v, forms)) return false;
    return !(forms & DATA) || is_data(v, 0);
}

/* --- requests and replies --------------------------------------------------------------------- */

static bool misfit(pdl_effect_kind k, const char *field, pdl_vref v, pdl_err *err) {
    const char *kind = kinds[k].name;
    if (!field)
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                           "a value of type %s is not a reply of kind %s", pdl_type_name(v), kind);
    if (pdl_is_absent(v))
        return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "a reply of kind %s has no %s", kind,
                           field);
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0},
                       "%s in a reply of kind %s cannot be this value of type %s", field, kind,
                       pdl_type_name(v));
}

/* Returns the first field that does not fit, or NULL. */
static const form_row *find_misfit(const form_row *rows, size_t n, pdl_effect_kind k, pdl_vref d) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == k && !has_form(pdl_dict_getz(d, rows[i].field), rows[i].forms))
            return &rows[i];
    return NULL;
}

bool pdl_effect_is_request(pdl_effect_kind k, pdl_vref request) {
    return has_text_keys(request) && !find_misfit(asks, sizeof asks / sizeof asks[0], k, request);
}

/* Returns the offset of the first part of a path from `at` on. Empty parts and single dots are
 * skipped. */
static size_t part_at(pdl_str path, size_t at) {
    for (;; at++) {
        bool dot = at < path.n && path.p[at] == '.' && (at + 1 == path.n || path.p[at + 1] == '/');
        if (at >= path.n || (path.p[at] != '/' && !dot)) return at;
    }
}

static pdl_str part_from(pdl_str path, size_t at) {
    size_t slash = pdl_str_find(path, PDL_STR("/"), at);
    return pdl_str_sub(path, at, slash == PDL_NOT_FOUND ? path.n : slash);
}

/* Returns the offset of the part of path below the folder, or PDL_NOT_FOUND. Paths and folders may
 * contain "./" or doubled slashes, because some folders are taken from file names as messages print
 * them. */
static size_t below(pdl_str path, pdl_str folder) {
    if (pdl_str_starts(path, PDL_STR("/")) != pdl_str_starts(folder, PDL_STR("/")))
        return PDL_NOT_FOUND;
    size_t at = part_at(path, 0);
    for (size_t i = part_at(folder, 0); i < folder.n;) {
        pdl_str part = part_from(folder, i);
        if (!pdl_str_eq(part_from(path, at), part)) return PDL_NOT_FOUND;
        at = part_at(path, at + part.n);
        i = part_at(folder, i + part.n);
    }
    return at;
}

pdl_str pdl_effect_path_from(pdl_str path, pdl_str folder) {
    size_t at = folder.n ? below(path, folder) : PDL_NOT_FOUND;
    return at == PDL_NOT_FOUND || at >= path.n ? path : pdl_str_sub(path, at, path.n);
}

/* Returns the path with the folder replaced by prefix, which ends with a slash or is empty.
 * Owned. */
static pdl_val moved(pdl_vref path, pdl_str folder, pdl_str prefix) {
    pdl_str s = pdl_str_get(path);
    size_t at = folder.n ? below(s, folder) : 0;
    if (at == PDL_NOT_FOUND) return pdl_keep(path);
    s = pdl_str_sub(s, at, s.n);
    if (pdl_str_starts(s, PDL_STR("/"))) return pdl_keep(path);
    if (!s.n && prefix.n) prefix.n--; /* the path is the folder itself */
    return pdl_with_label(pdl_textf("%.*s%.*s", PDL_FMT(prefix), PDL_FMT(s)), pdl_label_of(path));
}

pdl_val pdl_effect_moved(const pdl_effect *e, pdl_str folder, pdl_str prefix) {
    pdl_val d = pdl_keep(e->request);
    bool searched = e->kind == PDL_EFFECT_source && !pdl_is_absent(pdl_dict_getz(d, "under"));
    if (searched || (!folder.n && !prefix.n)) return d;
    for (size_t i = 0; i < sizeof asks / sizeof asks[0]; i++) {
        pdl_vref path = asks[i].kind == e->kind && (asks[i].forms & PATH)
                            ? pdl_dict_getz(d, asks[i].field)
                            : pdl_absent();
        if (pdl_is_str(path)) d = pdl_dict_putz(d, asks[i].field, moved(path, folder, prefix));
    }
    return d;
}

static unsigned reply_forms(const pdl_effect *e) {
    pdl_vref op = pdl_is_dict(e->request) ? pdl_dict_getz(e->request, "op") : pdl_absent();
    for (size_t i = 0; pdl_is_str(op) && i < sizeof ops / sizeof ops[0]; i++)
        if (ops[i].kind == e->kind && pdl_text_is(op, ops[i].field)) return ops[i].forms;
    return kinds[e->kind].reply;
}

bool pdl_effect_check(const pdl_effect *e, pdl_vref reply, pdl_err *err) {
    assert(err->kind == PDL_E_NONE);
    if (!has_form(reply, reply_forms(e))) return misfit(e->kind, NULL, reply, err);
    if (!pdl_is_dict(reply)) return true;
    const form_row *bad = find_misfit(says, sizeof says / sizeof says[0], e->kind, reply);
    return !bad || misfit(e->kind, bad->field, pdl_dict_getz(reply, bad->field), err);
}

bool pdl_effect_read(const pdl_effect *e, pdl_str json, pdl_val *out, pdl_err *err) {
    assert(err->kind == PDL_E_NONE);
    pdl_val v;
    if (!pdl_effect_decode(json, &v, err)) return false;
    if (!pdl_effect_check(e, v, err)) {
        pdl_drop(v);
        return false;
    }
    pdl_vref usage = pdl_is_dict(v) ? pdl_dict_getz(v, "usage") : pdl_absent();
    bool counts = e->kind == PDL_EFFECT_model || e->kind == PDL_EFFECT_embed;
    *out = counts && pdl_is_dict(usage) ? pdl_dict_putz(v, "usage", pdl_usage_checked(usage)) : v;
    return true;
}

bool pdl_effect_read_pieces(pdl_str json, pdl_val *out, pdl_err *err) {
    pdl_val v;
    if (!pdl_effect_decode(json, &v, err)) return false;
    if (has_form(v, TEXTS)) {
        *out = v;
        return true;
    }
    pdl_drop(v);
    return pdl_err_set(err, PDL_E_protocol, (pdl_loc){0}, "the pieces of a reply are no texts");
}
