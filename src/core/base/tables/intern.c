/* intern.c -- see intern.h. The table uses open addressing, and its size is a power of two. The
 * texts are in an arena.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/intern.h"

#include <assert.h>

#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"

#include "base/banned.h"

struct pdl_interner {
    uint32_t refs;
    pdl_arena *arena;
    PDL_VEC(pdl_str) names; /* the name with this id is names.p[id - 1] */
    uint32_t *slots;        /* ids; 0 means that the slot is free */
    size_t mask;            /* number of slots - 1 */
};

enum { FIRST_SLOTS = 256 };

pdl_interner *pdl_interner_new(void) {
    pdl_interner *in = PDL_NEW(pdl_interner);
    in->refs = 1;
    in->arena = pdl_arena_make();
    in->mask = FIRST_SLOTS - 1;
    in->slots = PDL_NEW_N(uint32_t, FIRST_SLOTS);
    return in;
}

pdl_interner *pdl_interner_keep(pdl_interner *in) {
    in->refs++;
    return in;
}

void pdl_interner_drop(pdl_interner *in) {
    if (!in || --in->refs) return;
    pdl_arena_free(in->arena);
    pdl_vec_fini(&in->names);
    pdl_free(in->slots);
    pdl_free(in);
}

static uint32_t *slot_of(const pdl_interner *in, pdl_str s) {
    for (size_t i = pdl_hash_str(s) & in->mask;; i = (i + 1) & in->mask) {
        uint32_t id = in->slots[i];
        if (!id || pdl_str_eq(in->names.p[id - 1], s)) return &in->slots[i];
    }
}

static void rehash(pdl_interner *in) {
    pdl_free(in->slots);
    in->mask = in->mask * 2 + 1;
    in->slots = PDL_NEW_N(uint32_t, in->mask + 1);
    for (size_t i = 0; i < in->names.n; i++) *slot_of(in, in->names.p[i]) = (uint32_t)(i + 1);
}

pdl_name pdl_intern(pdl_interner *in, pdl_str s) {
    assert(in->names.n <= in->mask);
    uint32_t *slot = slot_of(in, s);
    if (*slot) return *slot;
    if (in->names.n >= UINT32_MAX - 1) PDL_BUG("too many names");
    if ((in->names.n + 1) * 4 > (in->mask + 1) * 3) {
        rehash(in);
        slot = slot_of(in, s);
    }
    *pdl_vec_push(&in->names) = pdl_arena_str(in->arena, s);
    return *slot = (uint32_t)in->names.n;
}

pdl_name pdl_intern_find(const pdl_interner *in, pdl_str s) {
    assert(in->names.n <= in->mask);
    return *slot_of(in, s);
}

pdl_str pdl_name_str(const pdl_interner *in, pdl_name id) {
    if (id == 0 || id > in->names.n) return PDL_STR("");
    return in->names.p[id - 1];
}
