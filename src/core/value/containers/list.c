/* list.c -- lists and tuples (val.h). A list that has only one owner is changed in place. Otherwise
 * a copy is made, which shares the items.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/obj.h"

#include <assert.h>

#include "base/banned.h"

enum { FIRST_CAP = 4 };

static inline bool list_ok(const pdl_listobj *l) {
    return l->head.refs > 0 && l->n <= l->cap && (l->items == l->few || l->cap > 0);
}

static pdl_listobj *seq_new(pdl_tag tag, size_t cap) {
    if (cap >= UINT32_MAX) PDL_BUG("list of %zu items", cap);
    size_t few = cap <= PDL_FEW_ITEMS ? cap : 0;
    pdl_listobj *l = pdl_obj_new(tag, sizeof *l + few * sizeof(pdl_val));
    l->n = 0;
    l->cap = (uint32_t)cap;
    l->items = few == cap ? l->few : pdl_realloc_n(NULL, cap, sizeof *l->items);
    return l;
}

size_t pdl_items_grow(pdl_val **items, const pdl_val *few, size_t cap, size_t need) {
    assert(need > cap);
    if (need >= UINT32_MAX) PDL_BUG("container of %zu items", need);
    size_t more = cap + cap / 2;
    if (more < need) more = need;
    if (more < FIRST_CAP) more = FIRST_CAP;
    if (more >= UINT32_MAX) more = UINT32_MAX - 1;
    bool inside = *items == few;
    pdl_val *p = pdl_realloc_n(inside ? NULL : *items, more, sizeof *p);
    if (inside) memcpy(p, few, cap * sizeof *p);
    *items = p;
    return more;
}

static void grow(pdl_listobj *l, size_t need) {
    assert(l->head.refs == 1);
    assert(need > l->cap);
    l->cap = (uint32_t)pdl_items_grow(&l->items, l->few, l->cap, need);
}

static void copy_items(pdl_listobj *to, const pdl_listobj *from) {
    assert(from->n <= to->cap - to->n);
    for (size_t i = 0; i < from->n; i++) to->items[to->n + i] = pdl_keep(from->items[i]);
    to->n += from->n;
}

/* Returns v, or a copy of v when it has other owners. The result has room for n items. Takes v. */
static pdl_val own(pdl_val v, size_t n) {
    pdl_listobj *l = pdl_listobj_of(v);
    assert(list_ok(l));
    if (l->head.refs == 1) {
        if (n > l->cap) grow(l, n);
        return v;
    }
    size_t cap = n > l->n ? n + n / 2 : l->n;
    pdl_listobj *copy = seq_new((pdl_tag)l->head.tag, cap);
    copy_items(copy, l);
    l->head.refs--;
    v.u.o = &copy->head;
    return v;
}

pdl_val pdl_list_new(size_t cap) {
    return pdl_from_obj(PDL_V_LIST, &seq_new(PDL_V_LIST, cap)->head, PDL_F_PARTS);
}

pdl_val pdl_list_part(pdl_vref list, size_t i) {
    return pdl_with_label(pdl_keep(pdl_list_at(list, i)), pdl_label_of_part(list));
}

static pdl_val seq_of(pdl_tag tag, const pdl_val *items, size_t n) {
    pdl_listobj *l = seq_new(tag, n);
    l->n = (uint32_t)n;
    unsigned flags = 0;
    pdl_label label = 0;
    for (size_t i = 0; i < n; i++) {
        l->items[i] = items[i];
        flags |= items[i].flags;
        label = pdl_label_gathered(label, pdl_label_of(items[i]));
    }
    return pdl_with_part_label(pdl_from_obj(tag, &l->head, (flags & PDL_F_INHERITED) | PDL_F_PARTS),
                               label);
}

pdl_val pdl_tuple_new(const pdl_val *items, size_t n) { return seq_of(PDL_V_TUPLE, items, n); }
pdl_val pdl_list_of_items(const pdl_val *items, size_t n) { return seq_of(PDL_V_LIST, items, n); }

bool pdl_list_may_grow(pdl_vref list, pdl_err *err) {
    assert(list_ok(pdl_listobj_of(list)));
    const pdl_listobj *l = pdl_listobj_of(list);
    return PDL_LIKELY(l->n < l->cap) ||
           pdl_err_memory(err, ((size_t)l->cap + l->cap / 2) * sizeof *l->items);
}

pdl_val pdl_list_push(pdl_val list, pdl_val x) {
    assert(list_ok(pdl_listobj_of(list)));
    pdl_listobj *l = pdl_listobj_of(list);
    if (PDL_UNLIKELY(l->head.refs > 1 || l->n == l->cap)) {
        list = own(list, (size_t)l->n + 1);
        l = pdl_listobj_of(list);
    }
    l->items[l->n++] = x;
    return pdl_joined(list, x);
}

pdl_val pdl_list_set(pdl_val list, size_t i, pdl_val x) {
    assert(i < pdl_list_len(list));
    list = own(list, pdl_list_len(list));
    pdl_val *at = &pdl_listobj_of(list)->items[i];
    pdl_val old = *at;
    *at = x;
    pdl_drop(old);
    return pdl_joined(list, x);
}

pdl_val pdl_list_insert(pdl_val list, size_t i, pdl_val x) {
    list = own(list, pdl_list_len(list) + 1);
    pdl_listobj *l = pdl_listobj_of(list);
    if (i > l->n) i = l->n;
    memmove(l->items + i + 1, l->items + i, (l->n - i) * sizeof *l->items);
    l->items[i] = x;
    l->n++;
    return pdl_joined(list, x);
}

pdl_val pdl_list_remove(pdl_val list, size_t i) {
    assert(i < pdl_list_len(list));
    list = own(list, pdl_list_len(list));
    pdl_listobj *l = pdl_listobj_of(list);
    pdl_val old = l->items[i];
    l->n--;
    memmove(l->items + i, l->items + i + 1, (l->n - i) * sizeof *l->items);
    pdl_drop(old);
    return list;
}

pdl_val pdl_list_concat(pdl_val a, pdl_vref b) {
    assert(list_ok(pdl_listobj_of(b)));
    const pdl_listobj *more = pdl_listobj_of(b);
    size_t n = more->n; /* b may be the same list as a, and then it grows while it is read */
    pdl_val r = own(a, pdl_list_len(a) + n);
    pdl_listobj *l = pdl_listobj_of(r);
    for (size_t i = 0; i < n; i++) l->items[l->n + i] = pdl_keep(more->items[i]);
    l->n += (uint32_t)n;
    return pdl_joined_all(r, b);
}

pdl_val pdl_list_as_tuple(pdl_val list) {
    list = own(list, pdl_list_len(list));
    list.u.o->tag = PDL_V_TUPLE;
    list.tag = PDL_V_TUPLE;
    return list;
}
