/* program.c -- makes, shares and releases programs, and collects their diagnostics; see program.h.
 *
 * A diagnostic may point into an included file. So a program keeps alive the files into which its
 * diagnostics point.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/program.h"

#include <stdlib.h>

#include "yaml/yaml.h"

#include "base/banned.h"

/* the maximum number of problems; it bounds the memory for a broken file */
enum { MAX_DIAGS = 10000 };

pdl_program *pdl_program_new(void) {
    pdl_program *p = PDL_NEW(pdl_program);
    p->arena = pdl_arena_make();
    p->refs = 1;
    return p;
}

void pdl_program_set_from_tree(pdl_program *p, bool from_tree) {
    /* set after the text was loaded, and before any code reads a place in it */
    if (p->source) ((pdl_source *)(uintptr_t)p->source)->from_tree = from_tree;
}

pdl_program *pdl_program_keep(pdl_program *p) {
    p->refs++;
    return p;
}

void pdl_program_drop(pdl_program *p) {
    if (!p || --p->refs > 0) return;
    for (size_t i = 0; i < p->constants.n; i++) pdl_drop(p->constants.p[i]);
    pdl_vec_fini(&p->constants);
    pdl_vec_fini(&p->diags);
    for (size_t i = 0; i < p->others.n; i++) pdl_program_drop(p->others.p[i]);
    pdl_vec_fini(&p->others);
    pdl_vec_fini(&p->uses);
    pdl_arena_free(p->arena);
    pdl_free(p);
}

void pdl_programs_add(pdl_idmap *set, pdl_program *p) {
    if (p && !pdl_idmap_find(set, (uintptr_t)p))
        pdl_idmap_put(set, (uintptr_t)p, pdl_program_keep(p));
}

void pdl_programs_fini(pdl_idmap *set) {
    for (size_t i = 0; i < pdl_idmap_places(set); i++) pdl_program_drop(pdl_idmap_at(set, i));
    pdl_idmap_fini(set);
}

pdl_val pdl_block_sandbox(const pdl_block *b) {
    const pdl_node *n = b->rare->sandbox;
    pdl_val v;
    pdl_err err = {0};
    if (!n) return pdl_absent();
    if (!pdl_yaml_to_val(n, &v, &err)) {
        pdl_err_fini(&err);
        return pdl_null();
    }
    return pdl_is_bool(v) && pdl_bool_of(v) ? pdl_dict_new(0) : v;
}

pdl_str pdl_program_vtext(pdl_program *p, const char *fmt, va_list ap) {
    pdl_buf text = PDL_BUF;
    pdl_buf_vputf(&text, fmt, ap);
    pdl_str kept = pdl_arena_str(p->arena, pdl_buf_str(&text));
    pdl_buf_fini(&text);
    return kept;
}

pdl_diag *pdl_program_diag(pdl_program *p, pdl_diag without_text, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_diag *d = pdl_program_vdiag(p, without_text, fmt, ap);
    va_end(ap);
    return d;
}

pdl_diag *pdl_program_vdiag(pdl_program *p, pdl_diag without_text, const char *fmt, va_list ap) {
    if (p->diags.n >= MAX_DIAGS) p->diags.n--; /* each further problem overwrites the last one */
    pdl_diag *d = pdl_vec_push(&p->diags);
    *d = without_text;
    d->text = pdl_program_vtext(p, fmt, ap);
    return d;
}

bool pdl_program_copy_diag(pdl_program *p, const pdl_diag *d) {
    if (p->diags.n >= MAX_DIAGS) return false;
    pdl_diag copy = *d; /* d may be in the array that grows */
    *pdl_vec_push(&p->diags) = copy;
    return true;
}

/* Copies the array of places, because a diagnostic has only one or two of them. pdl_program_edit
 * does the same with edits. */
void pdl_program_relate(pdl_program *p, pdl_diag *d, pdl_loc loc, const char *text) {
    pdl_related *all = pdl_arena_new_n(p->arena, pdl_related, d->n_related + 1);
    for (uint32_t i = 0; i < d->n_related; i++) all[i] = d->related[i];
    all[d->n_related++] = (pdl_related){loc, pdl_arena_str(p->arena, pdl_str_of(text))};
    d->related = all;
}

void pdl_program_edit(pdl_program *p, pdl_diag *d, pdl_loc at, pdl_str text) {
    pdl_edit *all = pdl_arena_new_n(p->arena, pdl_edit, d->n_edits + 1);
    for (uint32_t i = 0; i < d->n_edits; i++) all[i] = d->edits[i];
    all[d->n_edits++] = (pdl_edit){at, pdl_arena_str(p->arena, text)};
    d->edits = all;
}

/* A diagnostic, its place in the program and its index, to make the sort stable. */
typedef struct placed {
    pdl_diag diag;
    uint32_t start;
    size_t order;
} placed;

/* Returns where a problem begins in the program. A problem in an included file is sorted by the
 * place of the include, which is its last related place. */
static uint32_t start_of(const pdl_program *p, const pdl_diag *d) {
    bool own = d->loc.src == p->source || !d->n_related;
    return own ? d->loc.start : d->related[d->n_related - 1].loc.start;
}

static int by_place(const void *a, const void *b) {
    const placed *x = a, *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

static bool same(const pdl_diag *a, const pdl_diag *b) {
    return a->loc.src == b->loc.src && a->loc.start == b->loc.start &&
           a->mark.start == b->mark.start && a->severity == b->severity &&
           pdl_str_eq(a->text, b->text);
}

void pdl_program_sort_diags(pdl_program *p) {
    size_t n = p->diags.n, kept = 0;
    if (n < 2) return;
    placed *all = PDL_NEW_N(placed, n);
    for (size_t i = 0; i < n; i++) all[i] = (placed){p->diags.p[i], start_of(p, &p->diags.p[i]), i};
    qsort(all, n, sizeof *all, by_place);
    /* The loader added a problem twice when its part is used twice (by an anchor). */
    for (size_t i = 0; i < n; i++) {
        if (kept && same(&all[i].diag, &p->diags.p[kept - 1])) continue;
        p->diags.p[kept++] = all[i].diag;
    }
    p->diags.n = kept;
    pdl_free(all);
}

void pdl_diag_print(const pdl_diag *d, const char *before, const char *after, bool rich,
                    pdl_buf *out) {
    pdl_err err = {0};
    pdl_err_set(&err, d->at_load ? PDL_E_schema : PDL_E_syntax, d->loc, "%s%.*s%s", before,
                PDL_FMT(d->text), after);
    err.mark = d->mark;
    if (d->hint.n) pdl_err_hint(&err, "%.*s", PDL_FMT(d->hint));
    pdl_err_print(&err, rich, out);
    pdl_err_fini(&err);
}

void pdl_program_errors(const pdl_program *p, pdl_buf *out, bool rich) {
    bool general = false;
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->severity != PDL_DIAG_ERROR || !d->at_load) continue;
        pdl_diag_print(d, "", "", rich, out);
        general = general || d->general;
    }
    if (!general) return;
    if (p->source && p->source->name.n)
        pdl_buf_putf(out, "The file PDL %.*s does not respect the schema.\n",
                     PDL_FMT(p->source->name));
    else
        PDL_PUT(out, "The PDL program does not respect the schema.\n");
}

bool pdl_program_refuse(const pdl_program *p, pdl_err *err) {
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        pdl_buf text = PDL_BUF;
        if (d->severity != PDL_DIAG_ERROR || !d->at_load) continue;
        pdl_diag_print(d, "", "", false, &text);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s",
                    PDL_FMT(pdl_str_trim(pdl_buf_str(&text))));
        pdl_err_hint(err, "pdl check shows all that is wrong in it");
        pdl_buf_fini(&text);
        return false;
    }
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the program does not load");
}

size_t pdl_program_error_count(const pdl_program *p) {
    size_t n = 0;
    for (size_t i = 0; i < p->diags.n; i++)
        n += p->diags.p[i].severity == PDL_DIAG_ERROR && p->diags.p[i].at_load;
    return n;
}
