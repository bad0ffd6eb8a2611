/* prompt_cache.c -- the facts about prompt caches, which are in prompt_cache.def, and what follows
 * from them for a request; see prompt_cache.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/prompt_cache.h"

#include "model/wire/cache_marks.h"
#include "value/member.h"

#include "base/banned.h"

static const pdl_prefix_facts rows[] = {
#define P(provider, order, least, step, marks, kept, longer, how)                                  \
    {#provider, order, least, step, marks, kept, longer, how},
#include "model/prompt_cache.def"
};
static const pdl_prefix_facts unknown = {
    .provider = "",
    .order = "tools toolConfig system systemInstruction messages contents prompt inputs input",
    .least = 1,
    .step = 1,
};

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

int64_t pdl_prefix_kept(pdl_str provider, pdl_vref body) {
    const pdl_prefix_facts *f = pdl_prefix_facts_of(provider);
    const pdl_provider *p = pdl_provider_find(provider);
    bool is_long = pdl_str_is(pdl_member_str(body, "prompt_cache_retention"), "24h");
    if (f->marks && p && p->dialect->marks && !pdl_marks_are_in(p->dialect->marks, body, &is_long))
        return 0;
    return is_long && f->longer ? f->longer : f->kept;
}

bool pdl_prefix_ends(pdl_str provider, pdl_vref part) {
    const pdl_provider *p = pdl_provider_find(provider);
    bool wants = p && pdl_prefix_facts_of(provider)->marks;
    const pdl_mark_form *form = wants ? p->dialect->marks : NULL;
    return !form || pdl_marks_end(form, part);
}
