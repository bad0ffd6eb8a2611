/* dict.c -- dicts that keep the order of insertion (val.h): each has an array of values, and a
 * shape with the keys.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/cancel.h"

#include <assert.h>

#include "base/hash.h"
#include "base/limits.h"
#include "value/int.h"
#include "value/obj.h"
#include "value/pyvalues.h"
#include "value/shape.h"

#include "base/banned.h"

/* --- hashing ---------------------------------------------------------------------------------- */

static bool hashable(pdl_vref v, size_t depth, pdl_steps *steps) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_TUPLE) {
        if (depth >= PDL_MAX_VALUE_DEPTH || !pdl_steps_may_continue(steps)) return false;
        for (size_t i = 0; i < pdl_list_len(v); i++)
            if (!hashable(pdl_list_at(v, i), depth + 1, steps)) return false;
        return true;
    }
    return t <= PDL_V_STR || t == PDL_V_BYTES || t == PDL_V_DATE || t == PDL_V_DATETIME;
}

bool pdl_is_hashable(pdl_vref v) {
    pdl_steps steps = {0};
    return hashable(v, 0, &steps);
}

static uint32_t str_hash(pdl_strobj *s) {
    if (!s->hash) s->hash = pdl_hash_str((pdl_str){s->p, s->n});
    return s->hash;
}

static uint32_t hash(pdl_vref v, pdl_steps *steps) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_STR) return str_hash(pdl_strobj_of(v));
    if (t <= PDL_V_NULL) return pdl_hash_u64(0x9e3779b97f4a7c15u);
    if (t <= PDL_V_BIGINT) return pdl_int_hash(v);
    if (t == PDL_V_BYTES) return pdl_hash_str(pdl_bytes_get(v));
    if (t == PDL_V_DATE || t == PDL_V_DATETIME) return pdl_time_hash(v);
    if (t != PDL_V_TUPLE) PDL_BUG("hash of a %s", pdl_type_name(v));
    uint64_t h = pdl_list_len(v);
    for (size_t i = 0; i < pdl_list_len(v) && pdl_steps_may_continue(steps); i++)
        h = (h ^ hash(pdl_list_at(v, i), steps)) * 0x100000001b3u;
    return pdl_hash_u64(h);
}

uint32_t pdl_val_hash(pdl_vref v) {
    pdl_steps steps = {0};
    return hash(v, &steps);
}

/* --- entries ---------------------------------------------------------------------------------- */

/* Invariant: there are as many values as keys. A dict without a shape is empty. */
static inline bool dict_ok(const pdl_dictobj *d) {
    return d->head.refs > 0 && d->n <= d->cap && (d->shape ? d->shape->n == d->n : d->n == 0);
}

static pdl_dictobj *dict_new(size_t cap) {
    if (cap >= UINT32_MAX / 4) PDL_BUG("dict of %zu entries", cap);
    size_t few = cap <= PDL_FEW_ITEMS ? cap : 0;
    pdl_dictobj *d = pdl_obj_new(PDL_V_DICT, sizeof *d + few * sizeof(pdl_val));
    d->n = 0;
    d->cap = (uint32_t)cap;
    d->shape = NULL;
    d->vals = few == cap ? d->few : pdl_realloc_n(NULL, cap, sizeof *d->vals);
    return d;
}

/* Returns v, or a copy of v when it has other owners. Takes v. */
static pdl_val own(pdl_val v) {
    pdl_dictobj *d = pdl_dictobj_of(v);
    assert(dict_ok(d));
    if (d->head.refs == 1) return v;
    pdl_dictobj *copy = dict_new((size_t)d->n + 1);
    for (uint32_t i = 0; i < d->n; i++) copy->vals[i] = pdl_keep(d->vals[i]);
    copy->n = d->n;
    copy->shape = d->shape ? pdl_shape_keep(d->shape) : NULL;
    d->head.refs--;
    v.u.o = &copy->head;
    return v;
}

/* Returns the shape with one more key. A new shape has memory for as many keys as the dict can have
 * values. */
static pdl_shape *shape_with(const pdl_dictobj *d, pdl_val key, uint32_t hash) {
    pdl_shape *s = d->shape;
    if (s && s->refs > 1) s = pdl_shape_own(s, 1);
    if (!s && d->cap) s = pdl_shape_new(d->cap);
    return pdl_shape_add(s, key, hash);
}

static void append(pdl_dictobj *d, pdl_val key, pdl_val x, uint32_t hash) {
    assert(d->head.refs == 1);
    assert(dict_ok(d));
    d->shape = shape_with(d, key, hash);
    if (d->n == d->cap)
        d->cap = (uint32_t)pdl_items_grow(&d->vals, d->few, d->cap, (size_t)d->n + 1);
    d->vals[d->n++] = x;
}

static void replace(pdl_dictobj *d, uint32_t i, pdl_val x) {
    assert(d->head.refs == 1);
    assert(i < d->n);
    pdl_val old = d->vals[i];
    d->vals[i] = x;
    pdl_drop(old);
}

/* --- public ----------------------------------------------------------------------------------- */

pdl_val pdl_dict_new(size_t cap) {
    return pdl_from_obj(PDL_V_DICT, &dict_new(cap)->head, PDL_F_PARTS);
}

pdl_dictobj *pdl_dict_begin(pdl_shape *shape) {
    assert(shape->refs > 0);
    pdl_dictobj *d = dict_new(shape->n);
    d->shape = shape;
    return d;
}

void pdl_dict_abandon(pdl_dictobj *d) {
    assert(d->head.refs == 1);
    pdl_shape_drop(d->shape);
    if (d->vals != d->few) pdl_free(d->vals);
    pdl_obj_free(&d->head);
}

size_t pdl_dict_len(pdl_vref d) { return pdl_dictobj_of(d)->n; }

/* The value gets the labels of the key, because the key decides which value is read
 * under a name. */
pdl_val pdl_dict_put(pdl_val v, pdl_val key, pdl_val x) {
    pdl_label label = pdl_label_of(key);
    if (label) x = pdl_with_label(x, pdl_label_gathered(pdl_label_of(x), label));
    return pdl_dict_put_known(v, key, x);
}

pdl_val pdl_dict_put_known(pdl_val v, pdl_val key, pdl_val x) {
    assert(pdl_is_hashable(key));
    v = own(v);
    pdl_dictobj *d = pdl_dictobj_of(v);
    uint32_t hash = pdl_val_hash(key);
    uint32_t i = pdl_shape_find(d->shape, key, hash);
    v = pdl_joined(v, x);
    if (pdl_label_of(key) & ~pdl_label_of(x)) v = pdl_joined(v, key);
    if (i == PDL_NO_KEY) {
        append(d, key, x, hash);
    } else {
        replace(d, i, x);
        pdl_drop(key);
    }
    return v;
}

/* Returns true when the keys of the pairs are the keys of the shape: the same objects, and not only
 * equal texts. */
static bool has_keys(const pdl_shape *s, const pdl_val *pairs, size_t n) {
    if (!s || s->n != n) return false;
    for (size_t i = 0; i < n; i++) {
        pdl_vref key = pairs[2 * i], known = s->keys[i].key;
        if (!pdl_is_str(key) || !pdl_is_str(known) || pdl_label_of(key)) return false;
        if (pdl_obj_of(key) != pdl_obj_of(known)) return false;
    }
    return true;
}

static pdl_val put_pairs(const pdl_val *pairs, size_t n) {
    pdl_val d = pdl_dict_new(n);
    for (size_t i = 0; i < n; i++) d = pdl_dict_put(d, pairs[2 * i], pairs[2 * i + 1]);
    return d;
}

pdl_val pdl_dict_of_pairs(const pdl_val *pairs, size_t n, pdl_shape **shape) {
    if (!n || !has_keys(*shape, pairs, n)) {
        pdl_val made = put_pairs(pairs, n);
        pdl_shape_drop(*shape);
        *shape = n ? pdl_shape_keep(pdl_dictobj_of(made)->shape) : NULL;
        return made;
    }
    pdl_dictobj *d = pdl_dict_begin(pdl_shape_keep(*shape));
    pdl_val v = pdl_from_obj(PDL_V_DICT, &d->head, PDL_F_PARTS);
    for (size_t i = 0; i < n; i++) {
        pdl_drop(pairs[2 * i]);
        d->vals[d->n++] = pairs[2 * i + 1];
        v = pdl_joined(v, pairs[2 * i + 1]);
    }
    assert(dict_ok(d));
    return v;
}

pdl_val pdl_dict_puts(pdl_val v, pdl_str key, pdl_val x) {
    v = own(v);
    pdl_dictobj *d = pdl_dictobj_of(v);
    uint32_t hash = pdl_hash_str(key);
    uint32_t i = pdl_shape_find_str(d->shape, key, hash);
    v = pdl_joined(v, x);
    if (i == PDL_NO_KEY)
        append(d, pdl_text(key), x, hash);
    else
        replace(d, i, x);
    return v;
}

pdl_val pdl_dict_del(pdl_val v, pdl_vref key) {
    if (!pdl_is_hashable(key)) return v;
    uint32_t i = pdl_shape_find(pdl_dictobj_of(v)->shape, key, pdl_val_hash(key));
    if (i == PDL_NO_KEY) return v;
    v = own(v);
    pdl_dictobj *d = pdl_dictobj_of(v);
    pdl_val old = d->vals[i];
    d->n--;
    memmove(d->vals + i, d->vals + i + 1, (d->n - i) * sizeof *d->vals);
    d->shape = pdl_shape_own(d->shape, 0);
    pdl_shape_remove(d->shape, i);
    pdl_drop(old);
    return v;
}

pdl_vref pdl_dict_find(pdl_vref v, pdl_vref key) {
    assert(dict_ok(pdl_dictobj_of(v)));
    const pdl_dictobj *d = pdl_dictobj_of(v);
    uint32_t i = PDL_NO_KEY;
    if (pdl_is_str(key))
        i = pdl_shape_find_str(d->shape, pdl_str_get(key), str_hash(pdl_strobj_of(key)));
    else if (d->n && pdl_is_hashable(key))
        i = pdl_shape_find(d->shape, key, pdl_val_hash(key));
    return i == PDL_NO_KEY ? pdl_absent() : d->vals[i];
}

pdl_vref pdl_dict_gets(pdl_vref v, pdl_str key) {
    assert(dict_ok(pdl_dictobj_of(v)));
    const pdl_dictobj *d = pdl_dictobj_of(v);
    uint32_t i = pdl_shape_find_text(d->shape, key);
    return i == PDL_NO_KEY ? pdl_absent() : d->vals[i];
}

pdl_vref pdl_dict_key_at(pdl_vref d, size_t i) {
    assert(i < pdl_dict_len(d));
    return pdl_dictobj_of(d)->shape->keys[i].key;
}
pdl_vref pdl_dict_val_at(pdl_vref d, size_t i) {
    assert(i < pdl_dict_len(d));
    return pdl_dictobj_of(d)->vals[i];
}

size_t pdl_dict_first_shown(pdl_vref d) {
    if (PDL_LIKELY(!(pdl_flags_of(d) & PDL_F_MODULE))) return 0;
    size_t i = 0, n = pdl_dict_len(d);
    for (; i < n; i++) {
        pdl_vref key = pdl_dict_key_at(d, i);
        if (!pdl_is_str(key) ||
            (!pdl_text_is(key, "stdlib") && !pdl_str_starts(pdl_str_get(key), PDL_STR("pdl_"))))
            break;
    }
    return i;
}
pdl_val pdl_dict_part(pdl_vref d, size_t i) {
    return pdl_with_label(pdl_keep(pdl_dict_val_at(d, i)), pdl_label_of_part(d));
}

static pdl_val part_of(pdl_vref d, pdl_vref v) {
    return pdl_is_absent(v) ? pdl_absent() : pdl_with_label(pdl_keep(v), pdl_label_of_part(d));
}

pdl_val pdl_dict_part_at(pdl_vref d, pdl_vref key) { return part_of(d, pdl_dict_find(d, key)); }

pdl_val pdl_dict_part_named(pdl_vref d, pdl_str key) { return part_of(d, pdl_dict_gets(d, key)); }

pdl_val pdl_dict_merge(pdl_val a, pdl_vref b) {
    assert(dict_ok(pdl_dictobj_of(b)));
    const pdl_dictobj *from = pdl_dictobj_of(b);
    if (from == pdl_dictobj_of(a)) return pdl_joined_all(a, b);
    a = own(a);
    pdl_dictobj *d = pdl_dictobj_of(a);
    for (uint32_t i = 0; i < from->n; i++) {
        const pdl_shape_key *k = &from->shape->keys[i];
        uint32_t at = pdl_shape_find(d->shape, k->key, k->hash);
        if (at == PDL_NO_KEY)
            append(d, pdl_keep(k->key), pdl_keep(from->vals[i]), k->hash);
        else
            replace(d, at, pdl_keep(from->vals[i]));
    }
    return pdl_joined_all(a, b);
}
