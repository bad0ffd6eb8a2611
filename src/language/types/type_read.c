/* type_read.c -- reads a spec node or value as a pdl_type. See type.h. The forms are read in the
 * order of the specification (spec syntax 3.1).
 *
 * A node is first turned into a value, so that there is only one reader. The node is still passed
 * on, because it has the places for messages. When all parameters are plain words, which is usual,
 * no value is needed: see read_words.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/type_inside.h"

#include "base/limits.h"
#include "base/utf8.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

const char *const pdl_base_names[PDL_BASE_COUNT] = {"null",    "boolean", "string", "number",
                                                    "integer", "array",   "object"};

/* The spellings of types in earlier versions. */
static const struct {
    const char *old;
    pdl_base_type now;
} old_words[] = {{"bool", PDL_BASE_boolean}, {"str", PDL_BASE_string}, {"float", PDL_BASE_number},
                 {"int", PDL_BASE_integer},  {"list", PDL_BASE_array}, {"obj", PDL_BASE_object}};
enum { N_OLD = sizeof old_words / sizeof *old_words };

typedef struct reader {
    pdl_arena *a;
    unsigned depth;
    bool is_default; /* the error is about a number or a boolean, which may be meant as a default */
    pdl_err *err;
} reader;

static bool read_type(reader *r, pdl_vref v, const pdl_node *n, const pdl_type **out);

static bool fail_word(reader *r, pdl_str word, const pdl_node *n) {
    pdl_err_set(r->err, PDL_E_schema, pdl_node_loc(n), "%.*s is not a type",
                PDL_FMT(pdl_utf8_cut(word, 80)));
    pdl_type_advise_word(r->err, word);
    return false;
}

static pdl_type *new_type(reader *r, pdl_type_kind kind, const pdl_node *n) {
    pdl_type *t = pdl_arena_new(r->a, pdl_type);
    t->kind = kind;
    t->node = n;
    t->plain = true;
    return t;
}

/* Returns the type of a word, or NULL. */
static const pdl_type *type_of_word(reader *r, pdl_str word, const pdl_node *n) {
    pdl_type *t = NULL;
    for (int i = 0; i < PDL_BASE_COUNT && !t; i++) {
        if (!pdl_str_is(word, pdl_base_names[i])) continue;
        t = new_type(r, PDL_TYPE_base, n);
        t->base = (pdl_base_type)i;
    }
    for (int i = 0; i < N_OLD && !t; i++) {
        if (!pdl_str_is(word, old_words[i].old)) continue;
        t = new_type(r, PDL_TYPE_base, n);
        t->base = old_words[i].now;
        t->old = old_words[i].old;
    }
    return t;
}

static bool read_word(reader *r, pdl_vref v, const pdl_node *n, const pdl_type **out) {
    *out = type_of_word(r, pdl_str_get(v), n);
    return *out || fail_word(r, pdl_str_get(v), n);
}

static void drop_val(void *p) { pdl_drop(*(pdl_val *)p); }

static pdl_val *hold(pdl_arena *a, pdl_vref v) {
    pdl_val *p = pdl_arena_new(a, pdl_val);
    *p = pdl_keep(v);
    pdl_arena_defer(a, drop_val, p);
    return p;
}

/* Returns the node of the i-th entry of d, whose node is n. */
static const pdl_node *entry_node(const pdl_node *n, pdl_vref d, size_t i) {
    if (!n || n->kind != PDL_NODE_MAP) return NULL;
    if (n->n == pdl_dict_len(d)) return n->pairs[i].value;
    return pdl_node_find(n, pdl_str_get(pdl_dict_key_at(d, i)), NULL);
}

static bool keys_are_text(reader *r, pdl_vref d, const pdl_node *n) {
    for (size_t i = 0; i < pdl_dict_len(d); i++) {
        if (pdl_is_str(pdl_dict_key_at(d, i))) continue;
        pdl_buf b = PDL_BUF;
        pdl_val_show(pdl_dict_key_at(d, i), true, 80, &b);
        pdl_err_set(r->err, PDL_E_schema, pdl_node_loc(n),
                    "the name of a field should be a string, not %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    return true;
}

static bool read_fields(reader *r, pdl_vref d, const pdl_node *n, pdl_type *t) {
    t->n_fields = pdl_dict_len(d);
    t->fields = pdl_arena_new_n(r->a, pdl_type_entry, t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        pdl_type_entry *f = &t->fields[i];
        f->name = *hold(r->a, pdl_dict_key_at(d, i));
        if (!read_type(r, pdl_dict_val_at(d, i), entry_node(n, d, i), &f->type)) return false;
        if (f->type && f->type->kind == PDL_TYPE_optional) {
            f->optional = true;
            f->type = f->type->item;
        }
        if (f->type && !f->type->plain) t->plain = false;
    }
    return true;
}

static bool read_object(reader *r, pdl_vref d, const pdl_node *n, bool wrapped,
                        const pdl_type **out) {
    pdl_type *t = new_type(r, PDL_TYPE_object, n);
    t->wrapped = wrapped;
    if (!keys_are_text(r, d, n) || !read_fields(r, d, n, t)) return false;
    *out = t;
    return true;
}

static bool read_around(reader *r, pdl_type_kind kind, pdl_vref v, const pdl_node *inner,
                        const pdl_node *n, const pdl_type **out) {
    pdl_type *t = new_type(r, kind, n);
    if (!read_type(r, v, inner, &t->item)) return false;
    if (t->item && !t->item->plain) t->plain = false;
    *out = t;
    return true;
}

static bool is_type_words(pdl_vref v) {
    if (pdl_is_str(v)) return true;
    if (!pdl_is_list(v)) return false;
    for (size_t i = 0; i < pdl_list_len(v); i++)
        if (!pdl_is_str(pdl_list_at(v, i))) return false;
    return true;
}

/* Makes a type from a JSON Schema. `key` becomes its first keyword. */
static bool read_schema(reader *r, pdl_vref d, const char *key, const pdl_node *n,
                        const pdl_type **out) {
    if (!keys_are_text(r, d, n)) return false;
    pdl_type *t = new_type(r, PDL_TYPE_schema, n);
    pdl_val s = pdl_dict_new(pdl_dict_len(d));
    s = pdl_dict_putz(s, key, pdl_keep(pdl_dict_getz(d, key)));
    s = pdl_dict_merge(s, d);
    t->schema = *hold(r->a, s);
    pdl_drop(s);
    t->plain = false;
    *out = t;
    return true;
}

/* Adds a hint that shows what the user may have meant. The hint depends on the other keys of the
 * mapping, and the message says what is wrong. */
static void hint_form(reader *r, pdl_vref d) {
    static const char *const schema_words[] = {"anyOf",      "oneOf", "allOf",   "const",
                                               "$ref",       "not",   "minimum", "pattern",
                                               "properties", "items"};
    if (r->err->hint) return;
    if (!pdl_is_absent(pdl_dict_getz(d, "enum"))) {
        pdl_err_hint(r->err, "a JSON Schema with `enum` takes a list");
        return;
    }
    for (size_t i = 0; i < sizeof schema_words / sizeof *schema_words; i++)
        if (!pdl_is_absent(pdl_dict_getz(d, schema_words[i]))) {
            pdl_err_hint(r->err, "a JSON Schema needs `type` or `enum` beside `%s`",
                         schema_words[i]);
            return;
        }
}

static bool read_mapping(reader *r, pdl_vref d, const pdl_node *n, const pdl_type **out) {
    size_t len = pdl_dict_len(d);
    if (pdl_is_list(pdl_dict_getz(d, "enum"))) return read_schema(r, d, "enum", n, out);
    pdl_vref only = len == 1 ? pdl_dict_getz(d, "optional") : pdl_absent();
    if (!pdl_is_absent(only))
        return read_around(r, PDL_TYPE_optional, only, entry_node(n, d, 0), n, out);
    pdl_vref words = pdl_dict_getz(d, "type");
    if (!pdl_is_absent(words) && is_type_words(words)) return read_schema(r, d, "type", n, out);
    only = len == 1 ? pdl_dict_getz(d, "object") : pdl_absent();
    if (!pdl_is_absent(only) && pdl_is_dict(only)) {
        /* {object: {enum: [red]}} is not a mapping of types (red is no type) but an object with a
         * field named object. */
        const pdl_node *inner = entry_node(n, d, 0);
        pdl_err first = {0}, *err = r->err;
        r->err = &first;
        const pdl_type *t = NULL;
        bool ok = read_object(r, only, inner, true, &t);
        r->err = err;
        if (ok) {
            ((pdl_type *)(uintptr_t)t)->node =
                n; /* no other code has t yet; its place becomes that of the whole node */
            *out = t;
            return true;
        }
        if (read_object(r, d, n, false, out)) {
            pdl_err_fini(&first);
            return true;
        }
        pdl_err_fini(err);
        pdl_err_move(err, &first);
        return false;
    }
    if (read_object(r, d, n, false, out)) return true;
    hint_form(r, d);
    return false;
}

static bool fail_value(reader *r, pdl_vref v, const pdl_node *n) {
    pdl_buf b = PDL_BUF;
    pdl_val_show(v, false, 80, &b);
    pdl_err_set(r->err, PDL_E_schema, pdl_node_loc(n),
                "%s is not a type: expected a type name, a list, an object of types, or a"
                " JSON Schema",
                pdl_buf_z(&b));
    r->is_default = pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) || pdl_is_bool(v);
    pdl_buf_fini(&b);
    return false;
}

static bool read_list(reader *r, pdl_vref v, const pdl_node *n, const pdl_type **out) {
    if (pdl_list_len(v) != 1) {
        pdl_buf b = PDL_BUF;
        pdl_val_show(v, false, 80, &b);
        pdl_err_set(r->err, PDL_E_schema, pdl_node_loc(n),
                    "invalid PDL type %s: a list type has exactly one element type", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        pdl_type_advise_list(r->err, v);
        return false;
    }
    const pdl_node *inner = n && n->kind == PDL_NODE_SEQ && n->n == 1 ? n->items[0] : NULL;
    return read_around(r, PDL_TYPE_list, pdl_list_at(v, 0), inner, n, out);
}

static bool read_type(reader *r, pdl_vref v, const pdl_node *n, const pdl_type **out) {
    if (pdl_is_null(v)) {
        *out = NULL;
        return true;
    }
    if (pdl_is_str(v)) return read_word(r, v, n, out);
    if (!pdl_is_list(v) && !pdl_is_dict(v)) return fail_value(r, v, n);
    if (r->depth >= PDL_MAX_SCHEMA_DEPTH)
        return pdl_err_set(r->err, PDL_E_limit, pdl_node_loc(n),
                           "type is nested more than %d levels deep", (int)PDL_MAX_SCHEMA_DEPTH);
    r->depth++;
    bool ok = pdl_is_list(v) ? read_list(r, v, n, out) : read_mapping(r, v, n, out);
    r->depth--;
    return ok;
}

static void close_schema(void *p) { pdl_schema_close(p); }

/* Does the work that is done once for all checks. An invalid schema is reported when it is used
 * (spec syntax 3.5). */
static void make_ready(pdl_arena *a, pdl_type *t) {
    if (t->plain) return;
    pdl_err err = {0};
    pdl_val s = pdl_type_schema(t, true);
    if (pdl_schema_open(a, s, &(pdl_schema_form){.draft = PDL_D20}, &t->ready, &err)) {
        pdl_arena_defer(a, close_schema, t->ready);
    } else {
        t->ready = NULL;
        t->bad = pdl_arena_str(a, pdl_str_of(err.msg));
        pdl_err_fini(&err);
    }
    pdl_drop(s);
}

static bool read_whole(pdl_arena *a, pdl_vref v, const pdl_node *n, bool params,
                       const pdl_type **out, pdl_err *err) {
    reader r = {.a = a, .err = err};
    const pdl_type *t = NULL;
    bool ok = params ? read_object(&r, v, n, false, &t) : read_type(&r, v, n, &t);
    if (!ok) {
        pdl_type_advise_rest(err, r.is_default);
        return false;
    }
    if (t) {
        /* the type was made in this function, and is not shared yet */
        pdl_type *own = (pdl_type *)(uintptr_t)t;
        own->params = params;
        make_ready(a, own);
    }
    *out = t;
    return true;
}

bool pdl_type_from_val(pdl_arena *a, pdl_vref v, const pdl_type **out, pdl_err *err) {
    return read_whole(a, v, NULL, false, out, err);
}

bool pdl_type_read(pdl_arena *a, const pdl_node *n, const pdl_type **out, pdl_err *err) {
    if (!n) {
        *out = NULL;
        return true;
    }
    pdl_val v = pdl_null();
    if (!pdl_yaml_to_val_written(n, &v, err)) return false;
    bool ok = read_whole(a, v, n, false, out, err);
    pdl_drop(v);
    return ok;
}

static bool is_text(const pdl_node *n) {
    return n->kind == PDL_NODE_SCALAR && n->type == PDL_NT_STR;
}

/* Returns true for {optional: T}. */
static bool is_optional(const pdl_node *n) {
    return n->kind == PDL_NODE_MAP && n->type == PDL_NT_MAP && n->n == 1 &&
           is_text(n->pairs[0].key) && pdl_str_is(n->pairs[0].key->text, "optional");
}

/* Reads a word, null, [T] or {optional: T} without making a value, since nearly all types have one
 * of these forms. Returns false for any other type, which the general reader then reads or reports.
 */
static bool read_written(reader *r, const pdl_node *n, const pdl_type **out) {
    *out = NULL;
    if (pdl_node_is_null(n)) return true;
    if (is_text(n)) return (*out = type_of_word(r, n->text, n)) != NULL;
    bool list = n->kind == PDL_NODE_SEQ && n->type == PDL_NT_SEQ && n->n == 1;
    if ((!list && !is_optional(n)) || r->depth >= PDL_MAX_SCHEMA_DEPTH) return false;
    pdl_type *t = new_type(r, list ? PDL_TYPE_list : PDL_TYPE_optional, n);
    *out = t;
    r->depth++;
    bool ok = read_written(r, list ? n->items[0] : n->pairs[0].value, &t->item);
    r->depth--;
    return ok;
}

/* Returns the type of {a: string, b: integer} when read_written can read each of its types, and
 * NULL otherwise. */
static const pdl_type *read_words(pdl_arena *a, const pdl_node *n) {
    reader r = {.a = a};
    if (!n || n->kind != PDL_NODE_MAP || n->type != PDL_NT_MAP) return NULL;
    for (uint32_t i = 0; i < n->n; i++)
        if (!is_text(n->pairs[i].key)) return NULL;
    pdl_type *t = new_type(&r, PDL_TYPE_object, n);
    t->params = true;
    t->n_fields = n->n;
    t->fields = pdl_arena_new_n(a, pdl_type_entry, t->n_fields);
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_type_entry *f = &t->fields[i];
        if (!read_written(&r, n->pairs[i].value, &f->type)) return NULL;
        f->optional = f->type && f->type->kind == PDL_TYPE_optional;
        if (f->optional) f->type = f->type->item;
        pdl_val name = pdl_node_value(n->pairs[i].key);
        f->name = *hold(a, name);
        pdl_drop(name);
    }
    return t;
}

bool pdl_type_read_params(pdl_arena *a, const pdl_node *params, const pdl_type **out,
                          pdl_err *err) {
    *out = read_words(a, params);
    if (*out) return true;
    pdl_val v = pdl_null();
    if (params && !pdl_yaml_to_val_written(params, &v, err)) return false;
    if (pdl_is_null(v)) v = pdl_dict_new(0);
    bool ok;
    if (!pdl_is_dict(v))
        ok = pdl_err_set(err, PDL_E_schema, pdl_node_loc(params),
                         "the parameters of a function should be an object of types");
    else
        ok = read_whole(a, v, params, true, out, err);
    pdl_drop(v);
    return ok;
}

/* --- looking inside --------------------------------------------------------------------------- */

bool pdl_type_is_any(const pdl_type *t) { return !t || t->kind == PDL_TYPE_any; }
bool pdl_type_is_object(const pdl_type *t) { return t && t->kind == PDL_TYPE_object; }
bool pdl_type_is_promise_safe(const pdl_type *t) { return pdl_type_is_any(t); }
size_t pdl_type_fields(const pdl_type *t) { return pdl_type_is_object(t) ? t->n_fields : 0; }
pdl_str pdl_type_field_name(const pdl_type *t, size_t i) { return pdl_str_get(t->fields[i].name); }
const pdl_type *pdl_type_field(const pdl_type *t, size_t i) { return t->fields[i].type; }
bool pdl_type_field_optional(const pdl_type *t, size_t i) { return t->fields[i].optional; }

void pdl_type_deprecated(const pdl_type *t,
                         void (*fn)(void *user, const char *old, const char *now), void *user) {
    if (!t) return;
    if (t->old) fn(user, t->old, pdl_base_names[t->base]);
    /* the recursion is as deep as the type: PDL_MAX_SCHEMA_DEPTH */
    pdl_type_deprecated(t->item, fn, user);
    for (size_t i = 0; i < t->n_fields; i++) pdl_type_deprecated(t->fields[i].type, fn, user);
}
