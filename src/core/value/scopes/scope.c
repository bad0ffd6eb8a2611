/* scope.c -- see scope.h. Up to ROW bindings are stored in a row, with the latest at the end. More
 * bindings are stored in a trie.
 *
 * The reason for two forms is that each call of a function makes a scope, binds a few names and
 * looks each up a few times. Copying and searching a row takes fewer steps than walking the levels
 * of a trie and copying its nodes. Without a trie, a scope with a thousand names would take
 * quadratic time. A scope with a trie never gets a row again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/scope.h"

#include <assert.h>

#include "value/obj.h"
#include "value/scopes/scope_trie.h"

#include "base/banned.h"

enum { ROW = 12, IN_TRIE = ROW + 1 };

struct pdl_scope {
    uint32_t refs;
    /* number of bindings in the row, which are in the order of definition; IN_TRIE when there is no
     * row */
    uint32_t n;
    union {
        struct {
            pdl_name names[ROW];
            pdl_val vals[ROW];
        };
        pdl_scope_trie trie;
    };
};

static inline bool scope_ok(const pdl_scope *s) { return s->refs > 0 && s->n <= IN_TRIE; }

static pdl_scope *scope_new(uint32_t n) {
    pdl_scope *s = pdl_alloc(sizeof *s);
    s->refs = 1;
    s->n = n;
    return s;
}

pdl_scope *pdl_scope_keep(const pdl_scope *s) {
    assert(!s || scope_ok(s));
    /* the count of owners is no part of what a scope means */
    pdl_scope *m = (pdl_scope *)(uintptr_t)s;
    if (m) m->refs++;
    return m;
}

void pdl_scope_drop(pdl_scope *s) {
    assert(!s || scope_ok(s));
    if (!s || --s->refs > 0) return;
    if (s->n == IN_TRIE)
        pdl_scope_trie_fini(&s->trie);
    else
        for (uint32_t i = 0; i < s->n; i++) pdl_drop(s->vals[i]);
    pdl_free(s);
}

/* Returns the position of the name in the row; s->n when it is not there. The search begins at the
 * end, because the latest names are used most. */
static inline uint32_t place_of(const pdl_scope *s, pdl_name name) {
    for (uint32_t i = s->n; i-- > 0;)
        if (s->names[i] == name) return i;
    return s->n;
}

pdl_vref pdl_scope_find(const pdl_scope *s, pdl_name name) {
    assert(!s || scope_ok(s));
    if (!s) return pdl_absent();
    if (s->n == IN_TRIE) return pdl_scope_trie_find(&s->trie, name);
    uint32_t i = place_of(s, name);
    return i < s->n ? s->vals[i] : pdl_absent();
}

static pdl_scope *copy(const pdl_scope *s) {
    if (!s) return scope_new(0);
    pdl_scope *c = scope_new(s->n);
    if (s->n == IN_TRIE) {
        c->trie = pdl_scope_trie_share(&s->trie);
        return c;
    }
    for (uint32_t i = 0; i < s->n; i++) {
        c->names[i] = s->names[i];
        c->vals[i] = pdl_keep(s->vals[i]);
    }
    return c;
}

/* Returns s, or a copy of s when it has other owners. A NULL becomes an empty scope. Takes s. */
static inline pdl_scope *own(pdl_scope *s) {
    if (s && s->refs == 1) return s;
    pdl_scope *c = copy(s);
    if (s) s->refs--;
    return c;
}

/* Moves the bindings of a full row to a trie. */
static void grow(pdl_scope *s) {
    pdl_scope_trie t = {0};
    for (uint32_t i = 0; i < s->n; i++) pdl_scope_trie_put(&t, s->names[i], s->vals[i]);
    s->n = IN_TRIE;
    s->trie = t;
}

pdl_scope *pdl_scope_put(pdl_scope *s, pdl_name name, pdl_val x) {
    s = own(s);
    uint32_t i = s->n == IN_TRIE ? 0 : place_of(s, name);
    if (i == ROW) grow(s);
    if (s->n == IN_TRIE) {
        pdl_scope_trie_put(&s->trie, name, x);
        return s;
    }
    pdl_val old = pdl_absent();
    if (i < s->n)
        old = s->vals[i];
    else
        s->n++;
    s->names[i] = name;
    s->vals[i] = x;
    pdl_drop(old);
    return s;
}

static void row_del(pdl_scope *s, uint32_t i) {
    pdl_val old = s->vals[i];
    for (s->n--; i < s->n; i++) {
        s->names[i] = s->names[i + 1];
        s->vals[i] = s->vals[i + 1];
    }
    pdl_drop(old);
}

bool pdl_scope_rebind(pdl_scope **s, pdl_name name, pdl_vref old, pdl_vref x) {
    pdl_vref now = pdl_scope_find(*s, name);
    pdl_tag t = pdl_tag_of(old);
    if (pdl_is_absent(now) || pdl_tag_of(now) != t) return false;
    bool plain = t <= PDL_V_INT || t == PDL_V_FLOAT || t == PDL_V_STR;
    if (plain ? !pdl_val_eq(now, old) : pdl_obj_of(now) != pdl_obj_of(old)) return false;
    *s = pdl_scope_put(*s, name, pdl_keep(x));
    return true;
}

pdl_scope *pdl_scope_del(pdl_scope *s, pdl_name name) {
    if (!s) return s;
    if (s->n == IN_TRIE) {
        s = own(s);
        pdl_scope_trie_del(&s->trie, name);
        return s;
    }
    uint32_t i = place_of(s, name);
    if (i == s->n) return s;
    s = own(s);
    row_del(s, i);
    return s;
}

size_t pdl_scope_count(const pdl_scope *s) {
    if (!s) return 0;
    return s->n == IN_TRIE ? s->trie.count : s->n;
}

void pdl_scope_each(const pdl_scope *s, bool (*fn)(void *user, pdl_name name, pdl_vref v),
                    void *user) {
    if (!s) return;
    pdl_scope *kept = pdl_scope_keep(s); /* fn may replace the scope that is passed to it */
    if (s->n == IN_TRIE)
        pdl_scope_trie_each(&s->trie, fn, user);
    else
        for (uint32_t i = 0; i < s->n; i++)
            if (!fn(user, s->names[i], s->vals[i])) break;
    pdl_scope_drop(kept);
}

typedef struct {
    pdl_val dict;
    const pdl_interner *in;
} dict_job;

static bool to_dict(void *user, pdl_name name, pdl_vref v) {
    dict_job *job = user;
    job->dict = pdl_dict_puts(job->dict, pdl_name_str(job->in, name), pdl_keep(v));
    return true;
}

pdl_val pdl_scope_to_dict(const pdl_scope *s, const pdl_interner *in) {
    dict_job job = {pdl_dict_new(pdl_scope_count(s)), in};
    pdl_scope_each(s, to_dict, &job);
    return job.dict;
}
