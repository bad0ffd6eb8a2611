/* xref.h -- finds the meaning of a name, across files. Private to lsp. A variable, or a field of an
 * object, is identified by a name and a region of a file; the code calls that a thing. Definitions,
 * references and renaming are about things: several blocks may set a thing, and files that include
 * or import its file may read it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_XREF_H
#define PDL_LSP_XREF_H

#include "lsp/server.h"

typedef struct lsp_thing {
    lsp_doc *doc;
    uint32_t region;
    pdl_str name; /* borrowed from the index of doc */
} lsp_thing;

/* Returns the file that an entry of the index names, or NULL. */
lsp_doc *pdl_lsp_file_doc(pdl_lsp *s, const lsp_doc *d, lsp_file *f);

/* Follows the names of a chain (`lib.o.f`) that is read in a region of d, as long as they are
 * variables and fields. *chain: the names that are left. Returns false when the first name is
 * unknown. */
bool pdl_lsp_follow(pdl_lsp *s, lsp_doc *d, uint32_t region, pdl_str *chain, lsp_thing *out);
/* Finds the thing that a reference of d means. Returns false when no known file sets its name. */
bool pdl_lsp_resolve(pdl_lsp *s, lsp_doc *d, const lsp_ref *r, lsp_thing *out);
/* Returns the first symbol of a thing that was found; never NULL. */
const lsp_sym *pdl_lsp_thing_sym(pdl_lsp *s, const lsp_thing *t);
static inline bool pdl_lsp_same_thing(const lsp_thing *a, const lsp_thing *b) {
    return a->doc == b->doc && a->region == b->region && pdl_str_eq(a->name, b->name);
}

/* pdl_lsp_ref_at returns the reference whose name contains the offset, and pdl_lsp_sym_at returns
 * the symbol. Both return NULL when there is none. */
const lsp_ref *pdl_lsp_ref_at(const lsp_index *x, size_t off);
const lsp_sym *pdl_lsp_sym_at(const lsp_index *x, size_t off);
/* Finds the thing whose name is at the offset, with the range of that name. */
bool pdl_lsp_thing_at(pdl_lsp *s, lsp_doc *d, size_t off, lsp_thing *out, lsp_range *range);

/* Receives every place at which a thing is named, in all known files. is_definition: the place sets
 * the variable. */
typedef void lsp_place_fn(void *user, lsp_doc *d, lsp_range range, bool is_definition);
void pdl_lsp_thing_each(pdl_lsp *s, const lsp_thing *t, lsp_place_fn *fn, void *user);
/* Visits the places in one file. */
void pdl_lsp_thing_each_in(pdl_lsp *s, const lsp_thing *t, lsp_doc *d, lsp_place_fn *fn,
                           void *user);

#endif
