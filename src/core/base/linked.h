/* linked.h -- lists of structs that are linked by their own members.
 *
 *   struct item { ...; struct item *prev, *next; } *x;
 *   struct items { struct item *first, *last; } list = {0};
 *   pdl_linked_append(&list, x);  pdl_linked_remove(&list, x);
 *
 * A struct that knows its neighbours is removed without a search, and a list needs no memory
 * besides its structs. A struct is in one list at a time, and the list does not own it. All-zero is
 * the empty list. Each argument must be an expression without side effects, because the macros name
 * it more than once.
 *
 * The lists of connections (io), of requests (api/embed, serve) and of charged effects (budget) are
 * such lists: their items end in any order. A list whose items end in the order in which they came
 * is a PDL_VEC or a queue.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_LINKED_H
#define PDL_BASE_LINKED_H

#include <assert.h>

/* True when the neighbours of x, or the list, point to x. For assertions. */
#define pdl_linked_has(list, x)                                                                    \
    (((x)->prev ? (x)->prev->next : (list)->first) == (x) &&                                       \
     ((x)->next ? (x)->next->prev : (list)->last) == (x))

/* Adds x, which is in no list, after the last struct. */
#define pdl_linked_append(list, x)                                                                 \
    do {                                                                                           \
        assert(!(list)->last == !(list)->first);                                                   \
        (x)->prev = (list)->last;                                                                  \
        (x)->next = NULL;                                                                          \
        *((list)->last ? &(list)->last->next : &(list)->first) = (x);                              \
        (list)->last = (x);                                                                        \
    } while (0)

/* Removes x, whose own links stay as they are. */
#define pdl_linked_remove(list, x)                                                                 \
    do {                                                                                           \
        assert(pdl_linked_has(list, x));                                                           \
        *((x)->prev ? &(x)->prev->next : &(list)->first) = (x)->next;                              \
        *((x)->next ? &(x)->next->prev : &(list)->last) = (x)->prev;                               \
    } while (0)

#endif
