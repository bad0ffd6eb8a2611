/* ty.c -- makes, joins and shows types; see ty.h.
 *
 * Types share parts, so a type may be exponentially larger than its source text. So joins and the
 * parts of literals are bounded. A value beyond the bounds is known by its kinds alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/ty.h"

#include "value/text.h"

#include "base/banned.h"

/* Limits of the parts of a literal that are examined, and of the fields that a join compares. A
 * larger value is known by its kind alone. A join examines at most MAX_JOINED pairs of types. */
enum { MAX_PARTS = 64, MAX_DEPTH = 40, MAX_JOINED = 64 };

#define TY(name, k) const pdl_ty name = {.kinds = (k)}
TY(pdl_ty_any, PDL_TY_ANY);
TY(pdl_ty_str, PDL_TY_STR);
TY(pdl_ty_int, PDL_TY_INT);
TY(pdl_ty_float, PDL_TY_FLOAT);
TY(pdl_ty_bool, PDL_TY_BOOL);
TY(pdl_ty_null, PDL_TY_NULL);
TY(pdl_ty_list, PDL_TY_LIST);
TY(pdl_ty_dict, PDL_TY_DICT);
TY(pdl_ty_number, PDL_TY_NUMBER);
TY(pdl_ty_context, PDL_TY_CONTEXT);

const pdl_ty *pdl_ty_of_kinds(pdl_arena *a, uint32_t kinds) {
    static const pdl_ty *const known[] = {
        &pdl_ty_any,  &pdl_ty_str,  &pdl_ty_int,  &pdl_ty_float,  &pdl_ty_bool,
        &pdl_ty_null, &pdl_ty_list, &pdl_ty_dict, &pdl_ty_number, &pdl_ty_context};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i]->kinds == kinds) return known[i];
    return pdl_ty_new(a, (pdl_ty){.kinds = kinds});
}

/* This function is a flat switch over the tags of values. */
static uint32_t kind_of_tag(pdl_tag tag) {
    switch (tag) {
    case PDL_V_NULL: return PDL_TY_NULL;
    case PDL_V_BOOL: return PDL_TY_BOOL;
    case PDL_V_INT:
    case PDL_V_BIGINT: return PDL_TY_INT;
    case PDL_V_FLOAT: return PDL_TY_FLOAT;
    case PDL_V_STR: return PDL_TY_STR;
    case PDL_V_LIST: return PDL_TY_LIST;
    case PDL_V_DICT: return PDL_TY_DICT;
    case PDL_V_TUPLE: return PDL_TY_TUPLE;
    case PDL_V_RANGE: return PDL_TY_RANGE;
    case PDL_V_CONTEXT: return PDL_TY_CONTEXT;
    case PDL_V_FUNC: return PDL_TY_FUNC;
    case PDL_V_UNDEFINED: return PDL_TY_UNDEFINED;
    case PDL_V_ABSENT:
    case PDL_V_PROMISE: return PDL_TY_ANY;
    case PDL_V_SET:
    case PDL_V_BYTES:
    case PDL_V_DATE:
    case PDL_V_DATETIME:
    case PDL_V_VIEW:
    case PDL_V_HANDLE:
    case PDL_V_NATIVE:
    case PDL_V_CELL:
    case PDL_V_AGGREGATOR:
    case PDL_V_RECORD:
    case PDL_V_COUNT: return PDL_TY_OTHER;
    }
    return PDL_TY_ANY;
}

const pdl_ty *pdl_ty_of_value(pdl_arena *a, pdl_vref v) {
    uint32_t kinds = kind_of_tag(pdl_tag_of(v));
    if (kinds == PDL_TY_ANY || kinds == PDL_TY_OTHER) return pdl_ty_of_kinds(a, kinds);
    return pdl_ty_new(a, (pdl_ty){.kinds = kinds, .has_value = true, .closed = true, .value = v});
}

const pdl_ty *pdl_ty_list_of(pdl_arena *a, const pdl_ty *item) {
    if (!item || pdl_ty_is_unknown(item)) return &pdl_ty_list;
    return pdl_ty_new(a, (pdl_ty){.kinds = PDL_TY_LIST, .item = item});
}

const pdl_ty *pdl_ty_list_sized(pdl_arena *a, const pdl_ty *item, uint32_t n, bool exact) {
    pdl_ty *t = pdl_arena_new(a, pdl_ty);
    bool known = item && !pdl_ty_is_unknown(item);
    *t = (pdl_ty){.kinds = PDL_TY_LIST, .item = known ? item : NULL, .least = n, .sized = exact};
    return t;
}

const pdl_ty *pdl_ty_undefined(pdl_arena *a, pdl_str why, pdl_str hint) {
    pdl_ty_missing *m = pdl_arena_new(a, pdl_ty_missing);
    *m = (pdl_ty_missing){pdl_arena_str(a, why), pdl_arena_str(a, hint)};
    return pdl_ty_new(a, (pdl_ty){.kinds = PDL_TY_UNDEFINED, .one.missing = m});
}

/* --- from a spec ------------------------------------------------------------------------------ */

static const pdl_ty *of_spec(pdl_arena *a, const pdl_type *t, unsigned depth);

/* Returns the kinds that a base type accepts. A function is accepted in place of an object, and
 * JSON Schema accepts 1.0 as an integer. */
static uint32_t kinds_of_base(pdl_base_type base) {
    switch (base) {
    case PDL_BASE_null: return PDL_TY_NULL;
    case PDL_BASE_boolean: return PDL_TY_BOOL;
    case PDL_BASE_string: return PDL_TY_STR;
    case PDL_BASE_number:
    case PDL_BASE_integer: return PDL_TY_INT | PDL_TY_FLOAT;
    case PDL_BASE_array: return PDL_TY_LIST;
    case PDL_BASE_object: return PDL_TY_DICT | PDL_TY_FUNC;
    case PDL_BASE_COUNT: break;
    }
    return PDL_TY_ANY;
}

static uint32_t kinds_of_word(pdl_vref word) {
    static const char *const words[] = {"null",    "boolean", "string", "number",
                                        "integer", "array",   "object"};
    for (size_t i = 0; i < PDL_BASE_COUNT; i++)
        if (pdl_is_str(word) && pdl_str_is(pdl_str_get(word), words[i]))
            return kinds_of_base((pdl_base_type)i);
    return PDL_TY_ANY;
}

/* Returns the type for a JSON Schema: its kinds and the values of `enum`. Other keywords are
 * checked when the value is known. */
static const pdl_ty *of_schema(pdl_arena *a, pdl_vref s) {
    pdl_vref choices = pdl_dict_getz(s, "enum"), words = pdl_dict_getz(s, "type");
    uint32_t by_value = pdl_is_list(choices) ? 0 : PDL_TY_ANY, by_type = PDL_TY_ANY;
    for (size_t i = 0; pdl_is_list(choices) && i < pdl_list_len(choices); i++)
        by_value |= kind_of_tag(pdl_tag_of(pdl_list_at(choices, i)));
    if (by_value & PDL_TY_NUMBER) by_value |= PDL_TY_INT | PDL_TY_FLOAT;
    if (pdl_is_str(words)) by_type = kinds_of_word(words);
    if (pdl_is_list(words)) by_type = 0;
    for (size_t i = 0; pdl_is_list(words) && i < pdl_list_len(words); i++)
        by_type |= kinds_of_word(pdl_list_at(words, i));
    if (!pdl_is_list(choices) || !(by_value & by_type))
        return pdl_ty_of_kinds(a, by_value & by_type ? by_value & by_type : PDL_TY_ANY);
    pdl_ty *t = pdl_arena_new(a, pdl_ty);
    *t = (pdl_ty){.kinds = by_value & by_type, .is_choice = true, .choices = choices};
    return t;
}

static const pdl_ty *of_fields(pdl_arena *a, const pdl_type *t, unsigned depth) {
    size_t n = pdl_type_fields(t);
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, n + 1);
    for (size_t i = 0; i < n; i++)
        f[i] =
            (pdl_ty_field){pdl_type_field_name(t, i), of_spec(a, pdl_type_field(t, i), depth + 1),
                           pdl_type_field_optional(t, i)};
    return pdl_ty_new(
        a, (pdl_ty){.kinds = PDL_TY_DICT, .closed = true, .n_fields = (uint32_t)n, .fields = f});
}

static const pdl_ty *of_spec(pdl_arena *a, const pdl_type *t, unsigned depth) {
    if (pdl_type_is_any(t) || depth > MAX_DEPTH) return &pdl_ty_any;
    switch (pdl_type_kind_of(t)) {
    case PDL_TYPE_any: return &pdl_ty_any;
    case PDL_TYPE_base: return pdl_ty_of_kinds(a, kinds_of_base(pdl_type_base_of(t)));
    case PDL_TYPE_list: return pdl_ty_list_of(a, of_spec(a, pdl_type_item_of(t), depth + 1));
    case PDL_TYPE_optional:
        return pdl_ty_join(a, of_spec(a, pdl_type_item_of(t), depth + 1), &pdl_ty_null);
    case PDL_TYPE_object: return of_fields(a, t, depth);
    case PDL_TYPE_schema: return of_schema(a, pdl_type_schema_of(t));
    }
    return &pdl_ty_any;
}

const pdl_ty *pdl_ty_of_spec(pdl_arena *a, const pdl_type *t) { return of_spec(a, t, 0); }

/* --- parts ------------------------------------------------------------------------------------ */

static const pdl_ty *join(pdl_arena *a, const pdl_ty *x, const pdl_ty *y, unsigned *left);

static const pdl_ty *items_of_value(pdl_arena *a, pdl_vref list) {
    size_t n = pdl_list_len(list);
    if (n == 0 || n > MAX_PARTS) return NULL;
    const pdl_ty *t = pdl_ty_of_value(a, pdl_list_at(list, 0));
    for (size_t i = 1; i < n; i++) t = pdl_ty_join(a, t, pdl_ty_of_value(a, pdl_list_at(list, i)));
    return t;
}

/* Returns the type of a list's items, or NULL when it is unknown. */
static const pdl_ty *item_of(pdl_arena *a, const pdl_ty *t) {
    if (t->has_value && pdl_is_list(t->value)) return items_of_value(a, t->value);
    return t->item;
}

const pdl_ty *pdl_ty_items(pdl_arena *a, const pdl_ty *t) {
    if (pdl_ty_is_only(t, PDL_TY_STR | PDL_TY_DICT) && !pdl_ty_is_only(t, PDL_TY_DICT))
        return t->kinds == PDL_TY_STR ? &pdl_ty_str : &pdl_ty_any;
    if (t->kinds == PDL_TY_RANGE) return &pdl_ty_int;
    if (!pdl_ty_is_only(t, PDL_TY_LIST | PDL_TY_TUPLE)) return &pdl_ty_any;
    const pdl_ty *item = item_of(a, t);
    return item ? item : &pdl_ty_any;
}

bool pdl_ty_may_be(const pdl_ty *t, pdl_vref v) {
    if (!t->is_choice || (pdl_is_null(v) && t->kinds & PDL_TY_NULL)) return true;
    for (size_t i = 0; i < pdl_list_len(t->choices); i++)
        if (pdl_val_eq(pdl_list_at(t->choices, i), v)) return true;
    return false;
}

const pdl_ty *pdl_ty_field_of(pdl_arena *a, const pdl_ty *t, pdl_str name, bool *known) {
    *known = t->kinds == PDL_TY_DICT && t->closed;
    if (t->kinds != PDL_TY_DICT) return NULL;
    if (t->has_value) {
        pdl_vref v = pdl_dict_gets(t->value, name);
        return pdl_is_absent(v) ? NULL : pdl_ty_of_value(a, v);
    }
    for (uint32_t i = 0; i < t->n_fields; i++) {
        const pdl_ty_field *f = &t->fields[i];
        if (!pdl_str_eq(f->name, name)) continue;
        *known = true;
        return f->optional ? pdl_ty_join(a, f->type, pdl_ty_of_kinds(a, PDL_TY_UNDEFINED))
                           : f->type;
    }
    return NULL;
}

/* --- joining ---------------------------------------------------------------------------------- */

/* Returns the fields of an object type. For a known value the fields are made from its keys. *n is
 * UINT32_MAX when the object has too many. */
static const pdl_ty_field *fields_of(pdl_arena *a, const pdl_ty *t, uint32_t *n) {
    *n = t->n_fields;
    if (!t->has_value) return t->fields;
    size_t len = pdl_dict_len(t->value);
    if (len > MAX_PARTS) {
        *n = UINT32_MAX;
        return NULL;
    }
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, len + 1);
    *n = 0;
    for (size_t i = 0; i < len; i++) {
        pdl_vref key = pdl_dict_key_at(t->value, i);
        if (!pdl_is_str(key)) continue;
        f[(*n)++] = (pdl_ty_field){pdl_str_get(key),
                                   pdl_ty_of_value(a, pdl_dict_val_at(t->value, i)), false};
    }
    return f;
}

static const pdl_ty_field *find_field(const pdl_ty_field *f, uint32_t n, pdl_str name) {
    for (uint32_t i = 0; i < n; i++)
        if (pdl_str_eq(f[i].name, name)) return &f[i];
    return NULL;
}

/* Joins two objects. A field that only one side has may be absent. When the other side is open, the
 * field may have any type. */
static void join_dicts(pdl_arena *a, pdl_ty *out, const pdl_ty *x, const pdl_ty *y,
                       unsigned *left) {
    uint32_t nx, ny;
    const pdl_ty_field *fx = fields_of(a, x, &nx), *fy = fields_of(a, y, &ny);
    if (nx > MAX_PARTS || ny > MAX_PARTS) return;
    pdl_ty_field *all = pdl_arena_new_n(a, pdl_ty_field, (size_t)nx + ny + 1);
    uint32_t n = 0;
    for (uint32_t i = 0; i < nx; i++) {
        const pdl_ty_field *other = find_field(fy, ny, fx[i].name);
        all[n] = fx[i];
        all[n].optional = fx[i].optional || !other || other->optional;
        all[n++].type = other       ? join(a, fx[i].type, other->type, left)
                        : y->closed ? fx[i].type
                                    : &pdl_ty_any;
    }
    for (uint32_t i = 0; i < ny; i++) {
        if (find_field(fx, nx, fy[i].name)) continue;
        all[n++] = (pdl_ty_field){fy[i].name, x->closed ? fy[i].type : &pdl_ty_any, true};
    }
    if (n > MAX_PARTS) return;
    out->fields = all;
    out->n_fields = n;
    out->closed = x->closed && y->closed;
}

static const pdl_ty *or_null(pdl_arena *a, const pdl_ty *x) {
    pdl_ty *t = pdl_arena_new(a, pdl_ty);
    *t = *x;
    t->kinds |= PDL_TY_NULL;
    return t;
}

static const pdl_ty *join(pdl_arena *a, const pdl_ty *x, const pdl_ty *y, unsigned *left) {
    if (x == y || pdl_ty_is_unknown(x)) return x;
    if (pdl_ty_is_unknown(y)) return y;
    bool detailed = x->has_value || y->has_value || x->item || y->item || x->n_fields ||
                    y->n_fields || x->closed || y->closed;
    if (x->is_choice && y == &pdl_ty_null) return or_null(a, x);
    if (y->is_choice && x == &pdl_ty_null) return or_null(a, y);
    if (!detailed || !*left) return pdl_ty_of_kinds(a, x->kinds | y->kinds);
    --*left;
    pdl_ty *t = pdl_ty_new(a, (pdl_ty){.kinds = x->kinds | y->kinds});
    bool lx = (x->kinds & PDL_TY_LIST) != 0, ly = (y->kinds & PDL_TY_LIST) != 0;
    bool dx = (x->kinds & PDL_TY_DICT) != 0, dy = (y->kinds & PDL_TY_DICT) != 0;
    if (lx && ly) {
        const pdl_ty *ix = item_of(a, x), *iy = item_of(a, y);
        t->item = ix && iy ? join(a, ix, iy, left) : NULL;
    } else if (lx || ly) {
        t->item = item_of(a, lx ? x : y);
    }
    if (dx && dy) {
        join_dicts(a, t, x, y, left);
    } else if (dx || dy) {
        const pdl_ty *d = dx ? x : y;
        uint32_t n;
        const pdl_ty_field *f = fields_of(a, d, &n);
        t->closed = d->closed && n <= MAX_PARTS;
        t->fields = f;
        t->n_fields = n <= MAX_PARTS ? n : 0;
    }
    return t;
}

const pdl_ty *pdl_ty_join(pdl_arena *a, const pdl_ty *x, const pdl_ty *y) {
    unsigned left = MAX_JOINED;
    return join(a, x, y, &left);
}

const pdl_ty *pdl_ty_part(pdl_arena *a, const pdl_ty *t, uint32_t kind) {
    if (t->kinds == kind) return t;
    if (kind != PDL_TY_DICT && kind != PDL_TY_LIST) return pdl_ty_of_kinds(a, kind);
    pdl_ty *x = pdl_ty_new(a, *t);
    x->kinds = kind;
    return x;
}

const pdl_ty *pdl_ty_loosen(pdl_arena *a, const pdl_ty *t) { return pdl_ty_of_kinds(a, t->kinds); }

/* --- showing ---------------------------------------------------------------------------------- */

static void show(const pdl_ty *t, pdl_buf *out, unsigned depth);

static void show_fields(const pdl_ty *t, pdl_buf *out, unsigned depth) {
    PDL_PUT(out, "{");
    for (uint32_t i = 0; i < t->n_fields; i++) {
        if (i) PDL_PUT(out, ", ");
        if (i == 12 || out->len > 400) {
            PDL_PUT(out, "...");
            break;
        }
        pdl_buf_putf(out, "%.*s%s: ", PDL_FMT(t->fields[i].name), t->fields[i].optional ? "?" : "");
        show(t->fields[i].type, out, depth + 1);
    }
    if (!t->closed && t->n_fields) PDL_PUT(out, ", ...");
    PDL_PUT(out, "}");
}

static void show_value(pdl_vref v, pdl_buf *out, unsigned depth) {
    static const pdl_ty *const scalars[] = {&pdl_ty_null, &pdl_ty_bool, &pdl_ty_int, &pdl_ty_float,
                                            &pdl_ty_str};
    pdl_arena *a = pdl_arena_make();
    uint32_t kinds = kind_of_tag(pdl_tag_of(v));
    for (size_t i = 0; i < sizeof scalars / sizeof scalars[0]; i++)
        if (scalars[i]->kinds == kinds) show(scalars[i], out, depth);
    pdl_ty t = {.kinds = kinds, .closed = true};
    if (kinds == PDL_TY_LIST) t.item = items_of_value(a, v);
    if (kinds == PDL_TY_DICT) {
        const pdl_ty value = {.kinds = kinds, .has_value = true, .value = v};
        t.fields = fields_of(a, &value, &t.n_fields);
        if (t.n_fields > MAX_PARTS) t.n_fields = 0, t.closed = false;
    }
    if (kinds == PDL_TY_LIST || kinds == PDL_TY_DICT) show(&t, out, depth);
    pdl_arena_free(a);
}

static void show_function(const pdl_ty_function *f, pdl_buf *out, unsigned depth) {
    PDL_PUT(out, "function(");
    for (uint32_t i = 0; i < f->block->params.n; i++) {
        pdl_buf_putf(out, "%s%.*s: ", i ? ", " : "", PDL_FMT(f->block->params.names[i]));
        pdl_type_show(f->block->params.types[i], out);
    }
    PDL_PUT(out, ")");
    if (!f->result || pdl_ty_is_unknown(f->result)) return;
    PDL_PUT(out, " -> ");
    show(f->result, out, depth + 1);
}

/* Writes the kinds; some groups of kinds are shown as one word. */
static void show_kinds(const pdl_ty *t, pdl_buf *out, unsigned depth) {
    static const struct {
        uint32_t kind;
        const char *word;
    } words[] = {{PDL_TY_NUMBER, "number"},
                 {PDL_TY_INT | PDL_TY_FLOAT, "number"},
                 {PDL_TY_BOOL, "boolean"},
                 {PDL_TY_INT, "integer"},
                 {PDL_TY_FLOAT, "float"},
                 {PDL_TY_STR, "string"},
                 {PDL_TY_LIST, "list"},
                 {PDL_TY_TUPLE, "tuple"},
                 {PDL_TY_DICT, "object"},
                 {PDL_TY_FUNC, "function"},
                 {PDL_TY_CONTEXT, "context"},
                 {PDL_TY_RANGE, "range"},
                 {PDL_TY_AGGREGATOR, "aggregator"},
                 {PDL_TY_NATIVE, "function"},
                 {PDL_TY_UNDEFINED, "undefined"},
                 {PDL_TY_NULL, "null"},
                 {PDL_TY_OTHER, "other"}};
    uint32_t left = t->kinds;
    size_t len = out->len;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint32_t kind = words[i].kind;
        if ((left & kind) != kind) continue;
        left &= ~kind;
        if (out->len > len) PDL_PUT(out, " or ");
        if (kind == PDL_TY_LIST && t->item && depth < MAX_DEPTH) {
            PDL_PUT(out, "[");
            show(t->item, out, depth + 1);
            PDL_PUT(out, "]");
        } else if (kind == PDL_TY_DICT && (t->n_fields || t->closed) && depth < 4) {
            show_fields(t, out, depth);
        } else if (kind == PDL_TY_FUNC && pdl_ty_function_of(t)) {
            show_function(pdl_ty_function_of(t), out, depth);
        } else {
            pdl_buf_put(out, pdl_str_of(words[i].word));
        }
    }
}

static void show_choices(const pdl_ty *t, pdl_buf *out) {
    size_t n = pdl_list_len(t->choices);
    PDL_PUT(out, "one of ");
    for (size_t i = 0; i < n && i < 12 && out->len < 400; i++) {
        if (i) PDL_PUT(out, ", ");
        pdl_val_show(pdl_list_at(t->choices, i), true, 60, out);
    }
    if (n > 12 || out->len >= 400) PDL_PUT(out, ", ...");
}

static void show(const pdl_ty *t, pdl_buf *out, unsigned depth) {
    if (pdl_ty_is_unknown(t))
        PDL_PUT(out, "any");
    else if (t->is_choice && pdl_list_len(t->choices))
        show_choices(t, out);
    else if (t->has_value)
        show_value(t->value, out, depth);
    else
        show_kinds(t, out, depth);
}

void pdl_ty_show(const pdl_ty *t, pdl_buf *out) { show(t, out, 0); }
