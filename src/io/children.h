/* children.h -- the child processes that run, so that none outlives an exit() of ours.
 *
 * A process may end without unwinding: for want of memory, or because its host calls exit(). The groups of its
 * children are then killed by a function given to atexit. The list is for the whole process because exit is.
 * Private to io.
 */
#ifndef PDL_IO_CHILDREN_H
#define PDL_IO_CHILDREN_H

/* Part of what owns the child; in the list from add to remove. Nothing is allocated. */
typedef struct pdl_child {
    int pid;   /* leads its group */
    int owner; /* a fork of ours leaves it alone */
    struct pdl_child *next, **link; /* link is NULL outside the list */
} pdl_child;

void pdl_child_add(pdl_child *c, int pid);
void pdl_child_remove(pdl_child *c); /* one that is not in the list is fine */

#endif
