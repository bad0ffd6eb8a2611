/* prefix.c -- the table of prompt caches; see prefix.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/prefix.h"

#include "model/wire/marks.h"

#include "base/banned.h"

static const pdl_prefix_facts rows[] = {
#define P(provider, order, least, step, marks) {#provider, order, least, step, marks},
#include "model/prefix.def"
};
static const pdl_prefix_facts unknown = {
    "", "tools toolConfig system systemInstruction messages contents prompt inputs input", 1, 1, 0};

const pdl_prefix_facts *pdl_prefix_facts_of(pdl_str provider) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pdl_str_is(provider, rows[i].provider)) return &rows[i];
    return &unknown;
}

int64_t pdl_prefix_found(const pdl_prefix_facts *f, int64_t tokens) {
    return tokens < f->least ? 0 : tokens - tokens % f->step;
}

pdl_val pdl_prefix_unmarked(pdl_str provider, pdl_val body) {
    const pdl_provider *p = pdl_provider_find(provider);
    return p && p->dialect->marks ? pdl_marks_remove(p->dialect->marks, body) : body;
}
