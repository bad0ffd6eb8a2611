/* sources.c -- finds the effects that a value came from. A run has 16 bits for its sources, which
 * travel with the labels (label.h). Each source takes the next bit. So the first 16 are
 * distinguished exactly, and a later source shares its bit with every 16th source before it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include "base/utf8.h"

#include "base/banned.h"

enum {
    MAX_KEPT = 1024, /* number of sources; the newest are kept */
    MAX_SHOWN = 4,
    MAX_SUBJECT = 120
};

pdl_label pdl_sources_add(source_log *s, const pdl_effect *e, pdl_label origin) {
    if (!s->p) s->p = PDL_NEW_N(source_entry, MAX_KEPT);
    source_entry *at = &s->p[s->n % MAX_KEPT];
    pdl_label bit = pdl_label_of_source((uint32_t)s->n);
    pdl_arena *arena = pdl_arena_make();
    pdl_str subject = pdl_effect_path_from(pdl_subject_of(e, arena), s->folder);
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s", pdl_effect_kind_name(e->kind));
    if (subject.n) pdl_buf_putf(&b, " %.*s", PDL_FMT(pdl_utf8_cut(subject, MAX_SUBJECT)));
    const pdl_loc *loc = &e->user_loc;
    if (loc->src && loc->src->name.n)
        pdl_buf_putf(&b, " (%.*s:%u)", PDL_FMT(pdl_effect_path_from(loc->src->name, s->folder)),
                     pdl_loc_line(*loc));
    else if (loc->src)
        pdl_buf_putf(&b, " (line %u)", pdl_loc_line(*loc));
    pdl_free(at->text);
    *at = (source_entry){bit, origin, pdl_label_of_subject(e), pdl_buf_take(&b)};
    pdl_arena_free(arena);
    s->n++;
    return bit;
}

pdl_label pdl_sources_put(const source_log *s, pdl_label of, pdl_label origins, pdl_buf *out) {
    pdl_label label = 0;
    size_t n = 0, kept = s->n < MAX_KEPT ? s->n : MAX_KEPT;
    for (size_t i = 0; i < kept && n < MAX_SHOWN; i++) {
        const source_entry *e = &s->p[(s->n - 1 - i) % MAX_KEPT];
        if (!(e->bit & of) || !(e->origin & origins)) continue;
        pdl_buf_putf(out, "%s%s", n ? "; " : "", e->text);
        label |= e->label;
        n++;
    }
    return label;
}

void pdl_sources_fini(source_log *s) {
    for (size_t i = 0; s->p && i < MAX_KEPT; i++) pdl_free(s->p[i].text);
    pdl_free(s->p);
    *s = (source_log){0};
}
