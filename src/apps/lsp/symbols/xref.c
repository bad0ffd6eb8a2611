/* xref.c -- finds what a name means, in all files; see xref.h. A name is searched from its region
 * outward, then in included and including files. The same search serves definitions, references,
 * renaming and completion, so they never disagree.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/xref.h"

#include "base/banned.h"

enum { MAX_INCLUDES = 32 }; /* maximum depth to which included files are followed */

lsp_doc *pdl_lsp_file_doc(pdl_lsp *s, const lsp_doc *d, lsp_file *f) {
    if (f->looked_up == s->revision + 1) return f->doc;
    f->doc = pdl_lsp_doc_linked(s, d, f->path, f->import);
    f->looked_up = s->revision + 1;
    return f->doc;
}

static bool find_at_top(lsp_doc *d, const lsp_index *x, pdl_str name, lsp_thing *out) {
    const lsp_sym *sym = pdl_lsp_index_sym(x, 0, name);
    if (sym) *out = (lsp_thing){d, 0, sym->name};
    return sym != NULL;
}

/* Finds the name at the top of a file, or at the top of a file that it includes. */
static bool find_in_file(pdl_lsp *s, lsp_doc *d, pdl_str name, unsigned depth, lsp_thing *out) {
    lsp_index *x = pdl_lsp_doc_index(s, d);
    if (!x || depth > MAX_INCLUDES) return false;
    if (find_at_top(d, x, name, out)) return true;
    for (size_t i = 0; i < x->files.n; i++) {
        lsp_doc *other = x->files.p[i].import ? NULL : pdl_lsp_file_doc(s, d, &x->files.p[i]);
        if (other && other != d && find_in_file(s, other, name, depth + 1, out)) return true;
    }
    return false;
}

/* Finds the name at the top of a file that includes d. */
static bool find_in_includers(pdl_lsp *s, const lsp_doc *d, pdl_str name, lsp_thing *out) {
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *other = s->docs.p[i];
        lsp_index *x = other == d ? NULL : other->index;
        for (size_t k = 0; x && k < x->files.n; k++)
            if (!x->files.p[k].import && pdl_lsp_file_doc(s, other, &x->files.p[k]) == d &&
                find_at_top(other, x, name, out))
                return true;
    }
    return false;
}

static bool find_name(pdl_lsp *s, lsp_doc *d, uint32_t from, pdl_str name, lsp_thing *out) {
    const lsp_index *x = pdl_lsp_doc_index(s, d);
    uint32_t region;
    if (!x) return false;
    if (pdl_lsp_index_owner(x, from, name, &region)) {
        *out = (lsp_thing){d, region, pdl_lsp_index_sym(x, region, name)->name};
        return true;
    }
    return find_in_file(s, d, name, 0, out) || find_in_includers(s, d, name, out);
}

/* Finds the member `name`: a variable of an imported file, or a field of an object. */
static bool find_member(pdl_lsp *s, const lsp_thing *of, pdl_str name, lsp_thing *out) {
    const lsp_index *x = pdl_lsp_doc_index(s, of->doc);
    const lsp_sym *sym = pdl_lsp_thing_sym(s, of), *field;
    lsp_doc *file =
        sym->kind == SYM_MODULE ? pdl_lsp_doc_linked(s, of->doc, sym->path, true) : NULL;
    if (file) return find_in_file(s, file, name, 0, out);
    field = sym->fields ? pdl_lsp_index_sym(x, sym->fields, name) : NULL;
    if (field) *out = (lsp_thing){of->doc, sym->fields, field->name};
    return field != NULL;
}

bool pdl_lsp_follow(pdl_lsp *s, lsp_doc *d, uint32_t region, pdl_str *chain, lsp_thing *out) {
    for (bool first = true; chain->n; first = false) {
        size_t dot = pdl_str_find(*chain, PDL_STR("."), 0);
        pdl_str name = pdl_str_sub(*chain, 0, dot == PDL_NOT_FOUND ? chain->n : dot);
        lsp_thing next;
        if (first ? !find_name(s, d, region, name, &next) : !find_member(s, out, name, &next))
            return !first;
        *out = next;
        *chain = dot == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(*chain, dot + 1, chain->n);
    }
    return true;
}

/* Finds the variable or member that a whole chain of names means. Returns false when a name of the
 * chain is unknown. */
static bool find_chain(pdl_lsp *s, lsp_doc *d, const lsp_ref *r, lsp_thing *out) {
    pdl_str chain = r->chain;
    return chain.n && pdl_lsp_follow(s, d, r->region, &chain, out) && !chain.n;
}

static bool find_argument(pdl_lsp *s, lsp_doc *d, const lsp_ref *r, lsp_thing *out) {
    lsp_thing function;
    if (!find_chain(s, d, r, &function)) return false;
    const lsp_index *x = pdl_lsp_doc_index(s, function.doc);
    const lsp_sym *sym = pdl_lsp_thing_sym(s, &function);
    const lsp_sym *param = sym->body ? pdl_lsp_index_sym(x, sym->body, r->name) : NULL;
    if (!param || param->kind != SYM_PARAMETER) return false;
    *out = (lsp_thing){function.doc, sym->body, param->name};
    return true;
}

bool pdl_lsp_resolve(pdl_lsp *s, lsp_doc *d, const lsp_ref *r, lsp_thing *out) {
    switch (r->kind) {
    case REF_READ:
    case REF_CALL:
    case REF_CODE:
    case REF_TARGET: return find_name(s, d, r->region, r->name, out);
    case REF_MEMBER: {
        lsp_thing of;
        return find_chain(s, d, r, &of) && find_member(s, &of, r->name, out);
    }
    case REF_ARG: return find_argument(s, d, r, out);
    }
    return false;
}

const lsp_sym *pdl_lsp_thing_sym(pdl_lsp *s, const lsp_thing *t) {
    return pdl_lsp_index_sym(pdl_lsp_doc_index(s, t->doc), t->region, t->name);
}

const lsp_ref *pdl_lsp_ref_at(const lsp_index *x, size_t off) {
    for (size_t i = 0; i < x->refs.n; i++)
        if (x->refs.p[i].at <= off && off <= x->refs.p[i].at + x->refs.p[i].name.n)
            return &x->refs.p[i];
    return NULL;
}

const lsp_sym *pdl_lsp_sym_at(const lsp_index *x, size_t off) {
    for (size_t i = 0; i < x->syms.n; i++)
        if (x->syms.p[i].at <= off && off <= x->syms.p[i].at + x->syms.p[i].name.n)
            return &x->syms.p[i];
    return NULL;
}

bool pdl_lsp_thing_at(pdl_lsp *s, lsp_doc *d, size_t off, lsp_thing *out, lsp_range *range) {
    const lsp_index *x = pdl_lsp_doc_index(s, d);
    const lsp_sym *sym = x ? pdl_lsp_sym_at(x, off) : NULL;
    const lsp_ref *ref = x && !sym ? pdl_lsp_ref_at(x, off) : NULL;
    if (sym) {
        *out = (lsp_thing){d, sym->region, sym->name};
        *range = sym->range;
        return true;
    }
    if (!ref || !pdl_lsp_resolve(s, d, ref, out)) return false;
    *range = ref->range;
    return true;
}

void pdl_lsp_thing_each_in(pdl_lsp *s, const lsp_thing *t, lsp_doc *d, lsp_place_fn *fn,
                           void *user) {
    const lsp_index *x = d->gone && !d->open ? NULL : pdl_lsp_doc_index(s, d);
    for (size_t i = 0; x && d == t->doc && i < x->syms.n; i++)
        if (x->syms.p[i].region == t->region && pdl_str_eq(x->syms.p[i].name, t->name))
            fn(user, d, x->syms.p[i].range, true);
    for (size_t i = 0; x && i < x->refs.n; i++) {
        lsp_thing other;
        if (pdl_str_eq(x->refs.p[i].name, t->name) &&
            pdl_lsp_resolve(s, d, &x->refs.p[i], &other) && pdl_lsp_same_thing(&other, t))
            fn(user, d, x->refs.p[i].range, false);
    }
}

/* Reads the files that known files include, because an included file may read variables of the file
 * that includes it. Without a workspace folder, these files have not been read yet. */
static void read_included(pdl_lsp *s) {
    for (size_t i = 0; i < s->docs.n; i++) {
        lsp_doc *d = s->docs.p[i];
        lsp_index *x = d->gone && !d->open ? NULL : pdl_lsp_doc_index(s, d);
        for (size_t k = 0; x && k < x->files.n; k++)
            if (!x->files.p[k].import) pdl_lsp_file_doc(s, d, &x->files.p[k]);
    }
}

void pdl_lsp_thing_each(pdl_lsp *s, const lsp_thing *t, lsp_place_fn *fn, void *user) {
    pdl_lsp_workspace_finish(s);
    read_included(s);
    for (size_t i = 0; i < s->docs.n; i++) pdl_lsp_thing_each_in(s, t, s->docs.p[i], fn, user);
}
