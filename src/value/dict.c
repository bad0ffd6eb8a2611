/* dict.c -- insertion-ordered dicts (val.h): an array of entries, and beyond SMALL an index over it. */
#include "base/hash.h"
#include "base/limits.h"
#include "value/exotic.h"
#include "value/int.h"
#include "value/obj.h"

#include "base/banned.h"

enum { SMALL = 8 }; /* up to here comparing cached hashes one by one beats a table */

/* --- hashing ------------------------------------------------------------------------------------------ */

static bool hashable(pdl_vref v, size_t depth) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_TUPLE) {
        if (depth >= PDL_MAX_VALUE_DEPTH) return false;
        for (size_t i = 0; i < pdl_list_len(v); i++)
            if (!hashable(pdl_list_at(v, i), depth + 1)) return false;
        return true;
    }
    return t <= PDL_V_STR || t == PDL_V_BYTES || t == PDL_V_DATE || t == PDL_V_DATETIME;
}

bool pdl_is_hashable(pdl_vref v) { return hashable(v, 0); }

static uint32_t str_hash(pdl_strobj *s) {
    if (!s->hash) s->hash = pdl_hash_str((pdl_str){s->p, s->n});
    return s->hash;
}

uint32_t pdl_val_hash(pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_STR) return str_hash(pdl_strobj_of(v));
    if (t <= PDL_V_NULL) return pdl_hash_u64(0x9e3779b97f4a7c15u);
    if (t <= PDL_V_BIGINT) return pdl_int_hash(v);
    if (t == PDL_V_BYTES) return pdl_hash_str(pdl_bytes_get(v));
    if (t == PDL_V_DATE || t == PDL_V_DATETIME) return pdl_time_hash(v);
    if (t != PDL_V_TUPLE) PDL_BUG("hash of a %s", pdl_type_name(v));
    uint64_t h = pdl_list_len(v);
    for (size_t i = 0; i < pdl_list_len(v); i++)
        h = (h ^ pdl_val_hash(pdl_list_at(v, i))) * 0x100000001b3u;
    return pdl_hash_u64(h);
}

/* --- the table ---------------------------------------------------------------------------------------- */

static pdl_dictobj *dict_new(size_t cap) {
    if (cap >= UINT32_MAX / 4) PDL_BUG("dict of %zu entries", cap);
    pdl_dictobj *d = pdl_obj_new(PDL_V_DICT, sizeof *d);
    d->n = d->mask = 0;
    d->slots = NULL;
    d->cap = (uint32_t)cap;
    d->ents = cap ? pdl_realloc_n(NULL, cap, sizeof *d->ents) : NULL;
    return d;
}

static void slot_add(pdl_dictobj *d, uint32_t hash, uint32_t i) {
    uint32_t at = hash & d->mask;
    while (d->slots[at]) at = (at + 1) & d->mask;
    d->slots[at] = i + 1;
}

/* Build the table for at least want entries at a load of at most two thirds. */
static void reindex(pdl_dictobj *d, size_t want) {
    pdl_free(d->slots);
    d->slots = NULL;
    d->mask = 0;
    if (want <= SMALL) return;
    size_t size = 32;
    while (size * 2 / 3 < want) size *= 2;
    d->slots = pdl_calloc(size, sizeof *d->slots);
    d->mask = (uint32_t)(size - 1);
    for (uint32_t i = 0; i < d->n; i++) slot_add(d, d->ents[i].hash, i);
}

static void reserve(pdl_dictobj *d, size_t need) {
    if (need >= UINT32_MAX / 4) PDL_BUG("dict of %zu entries", need);
    if (need > d->cap) {
        size_t cap = (size_t)d->cap + d->cap / 2;
        if (cap < need) cap = need;
        if (cap < 4) cap = 4;
        d->ents = pdl_realloc_n(d->ents, cap, sizeof *d->ents);
        d->cap = (uint32_t)cap;
    }
    if (need > SMALL && (!d->slots || need > ((size_t)d->mask + 1) * 2 / 3)) reindex(d, need);
}

/* The same dict as a sole owner. Takes v. */
static pdl_val own(pdl_val v) {
    pdl_dictobj *d = pdl_dictobj_of(v);
    if (d->head.refs == 1) return v;
    pdl_dictobj *copy = dict_new((size_t)d->n + 1);
    for (uint32_t i = 0; i < d->n; i++) {
        copy->ents[i] = d->ents[i];
        (void)pdl_keep(d->ents[i].key);
        (void)pdl_keep(d->ents[i].val);
    }
    copy->n = d->n;
    if (d->slots) {
        size_t size = (size_t)d->mask + 1;
        copy->slots = pdl_realloc_n(NULL, size, sizeof *copy->slots);
        memcpy(copy->slots, d->slots, size * sizeof *copy->slots);
        copy->mask = d->mask;
    }
    d->head.refs--;
    v.u.o = &copy->head;
    return v;
}

static bool is_str_key(const pdl_dictent *e, pdl_str key) {
    return e->key.tag == PDL_V_STR && pdl_str_eq(pdl_str_get(e->key), key);
}

/* Index of the string key, or UINT32_MAX. */
static uint32_t find_str(const pdl_dictobj *d, pdl_str key, uint32_t hash) {
    if (!d->slots) {
        for (uint32_t i = 0; i < d->n; i++)
            if (d->ents[i].hash == hash && is_str_key(&d->ents[i], key)) return i;
        return UINT32_MAX;
    }
    for (uint32_t at = hash & d->mask, s; (s = d->slots[at]) != 0; at = (at + 1) & d->mask)
        if (d->ents[s - 1].hash == hash && is_str_key(&d->ents[s - 1], key)) return s - 1;
    return UINT32_MAX;
}

/* Index of a key of any kind, or UINT32_MAX. */
static uint32_t find(const pdl_dictobj *d, pdl_vref key, uint32_t hash) {
    if (key.tag == PDL_V_STR) return find_str(d, pdl_str_get(key), hash);
    if (!d->slots) {
        for (uint32_t i = 0; i < d->n; i++)
            if (d->ents[i].hash == hash && pdl_val_eq(d->ents[i].key, key)) return i;
        return UINT32_MAX;
    }
    for (uint32_t at = hash & d->mask, s; (s = d->slots[at]) != 0; at = (at + 1) & d->mask)
        if (d->ents[s - 1].hash == hash && pdl_val_eq(d->ents[s - 1].key, key)) return s - 1;
    return UINT32_MAX;
}

static void append(pdl_dictobj *d, pdl_val key, pdl_val x, uint32_t hash) {
    reserve(d, (size_t)d->n + 1);
    d->ents[d->n] = (pdl_dictent){key, x, hash};
    if (d->slots) slot_add(d, hash, d->n);
    d->n++;
}

static void replace(pdl_dictobj *d, uint32_t i, pdl_val x) {
    pdl_val old = d->ents[i].val;
    d->ents[i].val = x;
    pdl_drop(old);
}

/* --- doors -------------------------------------------------------------------------------------------- */

pdl_val pdl_dict_new(size_t cap) { return pdl_from_obj(PDL_V_DICT, &dict_new(cap)->head, 0); }

size_t pdl_dict_len(pdl_vref d) { return pdl_dictobj_of(d)->n; }

pdl_val pdl_dict_put(pdl_val v, pdl_val key, pdl_val x) {
    v = own(v);
    pdl_dictobj *d = pdl_dictobj_of(v);
    uint32_t hash = pdl_val_hash(key);
    uint32_t i = find(d, key, hash);
    v = pdl_joined(v, x);
    v.label |= key.label;
    if (i == UINT32_MAX) {
        append(d, key, x, hash);
    } else {
        replace(d, i, x);
        pdl_drop(key);
    }
    return v;
}

pdl_val pdl_dict_puts(pdl_val v, pdl_str key, pdl_val x) {
    v = own(v);
    pdl_dictobj *d = pdl_dictobj_of(v);
    uint32_t hash = pdl_hash_str(key);
    uint32_t i = find_str(d, key, hash);
    v = pdl_joined(v, x);
    if (i == UINT32_MAX)
        append(d, pdl_text(key), x, hash);
    else
        replace(d, i, x);
    return v;
}

pdl_val pdl_dict_putz(pdl_val d, const char *key, pdl_val x) { return pdl_dict_puts(d, pdl_str_of(key), x); }

pdl_val pdl_dict_del(pdl_val v, pdl_vref key) {
    if (!pdl_is_hashable(key)) return v;
    uint32_t i = find(pdl_dictobj_of(v), key, pdl_val_hash(key));
    if (i == UINT32_MAX) return v;
    v = own(v);
    pdl_dictobj *d = pdl_dictobj_of(v);
    pdl_dictent old = d->ents[i];
    d->n--;
    memmove(d->ents + i, d->ents + i + 1, (d->n - i) * sizeof *d->ents);
    if (d->slots) reindex(d, d->n);
    pdl_drop(old.key);
    pdl_drop(old.val);
    return v;
}

pdl_vref pdl_dict_find(pdl_vref v, pdl_vref key) {
    const pdl_dictobj *d = pdl_dictobj_of(v);
    if (!d->n || !pdl_is_hashable(key)) return pdl_absent();
    uint32_t i = find(d, key, pdl_val_hash(key));
    return i == UINT32_MAX ? pdl_absent() : d->ents[i].val;
}

pdl_vref pdl_dict_gets(pdl_vref v, pdl_str key) {
    const pdl_dictobj *d = pdl_dictobj_of(v);
    if (!d->n) return pdl_absent();
    uint32_t i = find_str(d, key, pdl_hash_str(key));
    return i == UINT32_MAX ? pdl_absent() : d->ents[i].val;
}

pdl_vref pdl_dict_getz(pdl_vref d, const char *key) { return pdl_dict_gets(d, pdl_str_of(key)); }

pdl_vref pdl_dict_key_at(pdl_vref d, size_t i) { return pdl_dictobj_of(d)->ents[i].key; }
pdl_vref pdl_dict_val_at(pdl_vref d, size_t i) { return pdl_dictobj_of(d)->ents[i].val; }

pdl_val pdl_dict_merge(pdl_val a, pdl_vref b) {
    const pdl_dictobj *from = pdl_dictobj_of(b);
    if (from == pdl_dictobj_of(a)) return pdl_joined(a, b);
    a = own(a);
    pdl_dictobj *d = pdl_dictobj_of(a);
    for (uint32_t i = 0; i < from->n; i++) {
        const pdl_dictent *e = &from->ents[i];
        uint32_t at = find(d, e->key, e->hash);
        if (at == UINT32_MAX)
            append(d, pdl_keep(e->key), pdl_keep(e->val), e->hash);
        else
            replace(d, at, pdl_keep(e->val));
    }
    return pdl_joined(a, b);
}
