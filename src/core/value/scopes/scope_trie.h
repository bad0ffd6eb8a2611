/* scope_trie.h -- the bindings of a scope that has many: a persistent map. Private to scope.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_SCOPE_TRIE_H
#define PDL_VALUE_SCOPE_TRIE_H

#include "base/intern.h"
#include "value/val.h"

/* A struct with all members zero is empty. A copy of the struct shares the map;
 * pdl_scope_trie_share makes an owned copy. */
typedef struct pdl_scope_trie {
    uint32_t count;             /* bindings */
    uint32_t next_seq;          /* the next binding's number in the order of definition */
    uint32_t height;            /* the number of inner levels above the leaves */
    struct pdl_scope_node *top; /* shared with the copies; NULL for an empty map */
} pdl_scope_trie;

/* Returns an owned copy. It shares all nodes until the copy or the original changes. */
pdl_scope_trie pdl_scope_trie_share(const pdl_scope_trie *s);
void pdl_scope_trie_fini(pdl_scope_trie *s);
/* Returns a borrowed value, or absent. */
pdl_vref pdl_scope_trie_find(const pdl_scope_trie *s, pdl_name name);
void pdl_scope_trie_put(pdl_scope_trie *s, pdl_name name, pdl_val x); /* takes x */
void pdl_scope_trie_del(pdl_scope_trie *s, pdl_name name);
/* Calls back in order of definition until fn returns false. The trie must not change meanwhile. */
void pdl_scope_trie_each(const pdl_scope_trie *s, bool (*fn)(void *user, pdl_name name, pdl_vref v),
                         void *user);

#endif
