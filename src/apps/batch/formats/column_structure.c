/* column_structure.c -- finds a common type for the values of each column; see column_structure.h.
 * Each value is merged into a tree of places, whose size depends only on the number of different
 * keys. At the end each place yields a type of DuckDB that holds all its values.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/formats/column_structure.h"

#include "base/arena.h"
#include "base/map.h"
#include "batch/duck.h"
#include "batch/rows.h"
#include "value/int.h"

#include "base/banned.h"

/* The kinds of values that occur at a place, as bits. Null has no bit. */
enum {
    A_BOOL = 1,
    A_TEXT = 2,
    AN_INT = 4,  /* an integer of 64 bits with a sign */
    A_UINT = 8,  /* a larger integer of 64 bits without a sign */
    A_LONG = 16, /* any other integer of at most 37 digits */
    A_FLOAT = 32,
    A_LIST = 64,
    AN_OBJECT = 128,
    ANYTHING = 256 /* only the type JSON fits */
};
enum { WHOLE = AN_INT | A_UINT | A_LONG };
enum { MAX_KEYS = 200, MAX_DEEP = 64, UINT_BITS = 64, LONG_BITS = 122 };

/* A place in the values: a column, the items of its lists, a key of its objects. */
typedef struct structure_place {
    uint32_t kinds;
    bool negative; /* at least one of the integers is negative */
    /* the place of the items of its lists; NULL when the place has no lists */
    struct structure_place *items;
    pdl_map fields; /* key -> place, for its objects */
} place;

struct batch_structure {
    pdl_arena *arena;
    const pdl_str *columns; /* borrowed */
    place **places;         /* the place of each column */
    size_t n;
};

/* --- walking over values ---------------------------------------------------------------------- */

static void free_fields(void *fields) { pdl_map_fini(fields); }

static place *new_place(pdl_arena *a) {
    place *p = pdl_arena_get(a, sizeof *p);
    pdl_arena_defer(a, free_fields, &p->fields);
    return p;
}

static uint32_t kind_of_whole(pdl_vref v) {
    int64_t ignored;
    if (pdl_int_get(v, &ignored)) return AN_INT;
    size_t bits = pdl_int_bit_length(v);
    if (pdl_int_sign(v) > 0 && bits <= UINT_BITS) return A_UINT;
    return bits <= LONG_BITS ? A_LONG : ANYTHING;
}

static void add_value(pdl_arena *a, place *p, pdl_vref v, int deep);

/* Adds an object. When the objects of a place have more than MAX_KEYS keys, its type is JSON, and
 * further keys are ignored. */
static void add_object(pdl_arena *a, place *p, pdl_vref v, int deep) {
    p->kinds |= AN_OBJECT;
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_str key = pdl_str_get(pdl_dict_key_at(v, i));
        place *field = pdl_map_find(&p->fields, key);
        if (!field && p->fields.n > MAX_KEYS) continue;
        if (!field) {
            field = new_place(a);
            (void)pdl_map_put(&p->fields, pdl_arena_str(a, key), field);
        }
        add_value(a, field, pdl_dict_val_at(v, i), deep + 1);
    }
}

static void add_list(pdl_arena *a, place *p, pdl_vref v, int deep) {
    p->kinds |= A_LIST;
    if (!p->items) p->items = new_place(a);
    for (size_t i = 0; i < pdl_list_len(v); i++)
        add_value(a, p->items, pdl_list_at(v, i), deep + 1);
}

static void add_value(pdl_arena *a, place *p, pdl_vref v, int deep) {
    if (pdl_is_absent(v) || pdl_is_null(v) || p->kinds & ANYTHING) return;
    if (pdl_is_bool(v)) {
        p->kinds |= A_BOOL;
    } else if (pdl_is_int(v)) {
        p->kinds |= kind_of_whole(v);
        p->negative = p->negative || pdl_int_sign(v) < 0;
    } else if (pdl_is(v, PDL_V_FLOAT)) {
        p->kinds |= A_FLOAT;
    } else if (pdl_is_str(v)) {
        p->kinds |= A_TEXT;
    } else if (deep < MAX_DEEP && pdl_is_list(v)) {
        add_list(a, p, v, deep);
    } else if (deep < MAX_DEEP && pdl_is_dict(v)) {
        add_object(a, p, v, deep);
    } else {
        p->kinds |= ANYTHING;
    }
}

static bool add_row(void *user, const pdl_rowset *r, const pdl_row *row, pdl_err *err) {
    structure *s = user;
    (void)r;
    if (row->problem)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "row %llu: %s",
                           (unsigned long long)row->number, row->problem);
    for (size_t i = 0; i < s->n; i++)
        add_value(s->arena, s->places[i], pdl_dict_gets(row->columns, s->columns[i]), 0);
    return true;
}

bool pdl_batch_structure_find(const char *rows, const pdl_str *columns, size_t n, structure **out,
                              pdl_err *err) {
    pdl_table t;
    pdl_arena *a = pdl_arena_make();
    structure *s = pdl_arena_get(a, sizeof *s);
    *s = (structure){a, columns, pdl_arena_get_n(a, n + 1, sizeof(place *)), n};
    for (size_t i = 0; i < n; i++) s->places[i] = new_place(a);
    bool ok = pdl_table_of(pdl_str_of(rows), PDL_STR("jsonl"), &t, err) &&
              pdl_rows_each(&t, false, 0, add_row, s, err);
    s->columns = NULL; /* the caller owns the names of the columns */
    if (ok)
        *out = s;
    else
        pdl_batch_structure_free(s);
    return ok;
}

void pdl_batch_structure_free(structure *s) {
    if (s) pdl_arena_free(s->arena);
}

/* --- types ------------------------------------------------------------------------------------ */

/* Returns true when two of the keys are the same name for DuckDB. */
static bool has_twins(const pdl_map *fields) {
    for (size_t i = 0; i < fields->n; i++)
        for (size_t k = 0; k < i; k++)
            if (pdl_str_eq_nocase(fields->entries[i].key, fields->entries[k].key)) return true;
    return false;
}

static const char *whole_type(const place *p) {
    if (!(p->kinds & (A_UINT | A_LONG))) return "BIGINT";
    return p->kinds & A_LONG || p->negative ? "DECIMAL(38, 0)" : "UBIGINT";
}

/* Returns the type of a place in one word. Returns NULL for lists, and for objects whose keys
 * become fields: their types are made of the types of their parts. */
static const char *simple_type(const place *p) {
    uint32_t k = p->kinds;
    if (!k || k == A_TEXT) return "VARCHAR";
    if (k == A_BOOL) return "BOOLEAN";
    if (!(k & ~(uint32_t)WHOLE)) return whole_type(p);
    if (!(k & ~(uint32_t)(WHOLE | A_FLOAT))) return "DOUBLE";
    if (k == A_LIST) return NULL;
    bool fields = k == AN_OBJECT && p->fields.n && p->fields.n <= MAX_KEYS;
    return fields && !has_twins(&p->fields) ? NULL : "JSON";
}

static void put_type(const place *p, pdl_buf *out) {
    const char *simple = simple_type(p);
    if (simple) {
        pdl_buf_putf(out, "%s", simple);
    } else if (p->kinds == A_LIST) {
        put_type(p->items, out);
        PDL_PUT(out, "[]");
    } else {
        for (size_t i = 0; i < p->fields.n; i++) {
            pdl_buf_putf(out, "%s", i ? ", " : "STRUCT(");
            pdl_batch_duck_put_name(p->fields.entries[i].key, out);
            pdl_buf_putc(out, ' ');
            put_type(p->fields.entries[i].value, out);
        }
        pdl_buf_putc(out, ')');
    }
}

void pdl_batch_structure_put(const structure *s, size_t column, pdl_buf *out) {
    put_type(s->places[column], out);
}
