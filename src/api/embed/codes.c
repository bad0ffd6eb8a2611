/* codes.c -- keeps the code of the programs that an engine ran last. The reference count of a
 * program shows when its owner has freed it: then only codes in this cache refer to it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/handles.h"
#include "compile/code.h"
#include "lang/program.h"

#include "base/banned.h"

/* maximum number of entries; a check of all of them takes less than a microsecond */
enum { MANY = 64 };

typedef struct code_entry {
    pdl_code *code;
    bool trace;
} code_entry;

struct pdl_code_cache {
    code_entry at[MANY];
    size_t n, next; /* `next` is the entry that is replaced when all entries are in use */
};

pdl_code_cache *pdl_codes_new(void) { return PDL_NEW(pdl_code_cache); }

void pdl_codes_free(pdl_code_cache *c) {
    for (size_t i = 0; i < c->n; i++) pdl_code_drop(c->at[i].code);
    pdl_free(c);
}

/* Returns true when only entries of this cache refer to the program. Functions refer to their code,
 * and that code counts as one more reference to its program. */
static bool is_over(const pdl_code_cache *c, const pdl_program *p) {
    uint32_t ours = 0;
    for (size_t i = 0; i < c->n; i++)
        if (c->at[i].code->program == p) ours++;
    return p->refs == ours;
}

pdl_code *pdl_codes_find(pdl_code_cache *c, const pdl_program *p, bool trace) {
    pdl_code *found = NULL;
    for (size_t i = 0; i < c->n;) {
        code_entry *e = &c->at[i];
        if (is_over(c, e->code->program)) {
            pdl_code_drop(e->code);
            *e = c->at[--c->n];
            continue;
        }
        if (e->code->program == p && e->trace == trace) found = e->code;
        i++;
    }
    return found;
}

void pdl_codes_add(pdl_code_cache *c, pdl_code *code, bool trace) {
    bool is_full = c->n == MANY;
    size_t at = is_full ? c->next++ % MANY : c->n++;
    if (is_full) pdl_code_drop(c->at[at].code);
    c->at[at] = (code_entry){pdl_code_keep(code), trace};
}
