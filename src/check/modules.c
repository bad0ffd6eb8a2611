/* modules.c -- programs that a program includes or imports: each is found, loaded and searched for
 * definitions once.
 *
 * Why the check reads them: an `include` defines names in the scope of the program that includes
 * it, so that without the file any name after it might be defined. A module is loaded once under
 * its name and checked once; its problems are reported in that file, with the place of the first
 * include as related information. Further uses take the definitions, which keeps a diamond of
 * includes linear. While a module is being walked it is `busy`: meeting it again is a
 * cycle. Where files cannot be opened the check no longer reports undefined names (`open_ended`).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/checker.h"
#include "lang/load.h"
#include "lang/toolbox.h"

#include "base/limits.h"

#include "base/banned.h"

/* Programs that diagnostics point into live as long as the one that was checked. */
void pdl_checker_modules_fini(pdl_modules *m, pdl_program *checked) {
    for (size_t i = 0; i < m->all.n; i++) {
        *pdl_vec_push(&checked->others) = m->all.p[i]->program;
        pdl_free(m->all.p[i]);
    }
    pdl_vec_fini(&m->all);
    pdl_map_fini(&m->by_name);
}

/* Checks the module, and keeps what it leaves in scope. An included file sees the names of those
 * that include it, which are not known here. */
static void check_module(pdl_checker *c, pdl_module *m, bool import) {
    pdl_checker inner = {.p = m->program,
                         .opt = c->opt,
                         .modules = c->modules,
                         .outer_unknown = !import,
                         .depth = c->depth + 1};
    pdl_checker_scope_predefined(&inner);
    size_t mark = pdl_checker_scope_mark(&inner);
    m->busy = true;
    pdl_checker_block(&inner, m->program->main, (pdl_str){0});
    m->busy = false;
    m->n_defines = inner.trail.n - mark;
    m->open_ended = inner.open_ended;
    m->defines = pdl_arena_new_n(m->program->arena, pdl_str, m->n_defines + 1);
    for (size_t i = 0; i < m->n_defines; i++) m->defines[i] = inner.trail.p[mark + i];
    pdl_map_fini(&inner.names);
    pdl_vec_fini(&inner.trail);
}

/* The problems of the module, each with the place that includes it. */
static void forward(pdl_checker *c, pdl_module *m, pdl_loc loc, bool import) {
    pdl_diags *diags = &m->program->diags;
    pdl_program_sort_diags(m->program);
    for (size_t i = 0; i < diags->n && !c->quiet; i++) {
        if (!pdl_program_copy_diag(c->p, &diags->p[i])) return;
        pdl_program_relate(c->p, &c->p->diags.p[c->p->diags.n - 1], loc,
                           import ? "imported here" : "included here");
    }
}

static pdl_module *load_module(pdl_checker *c, pdl_str name, pdl_str bytes, pdl_loc loc,
                               bool import) {
    pdl_module *m = pdl_map_find(&c->modules->by_name, name);
    if (m) return m;
    bool ok;
    m = PDL_NEW(pdl_module);
    m->program = pdl_program_new();
    m->name = pdl_arena_str(m->program->arena, name);
    *pdl_vec_push(&c->modules->all) = m;
    pdl_map_put(&c->modules->by_name, m->name, m);
    pdl_program_load(m->program, m->name, bytes, &ok);
    if (!ok) return m;
    check_module(c, m, import);
    forward(c, m, loc, import);
    return m;
}

/* Reports the first problem of the file; checking that file shows the others. */
static void report_broken(pdl_checker *c, const pdl_block *b, const pdl_module *m, bool import) {
    const pdl_diag *d = NULL;
    for (size_t i = 0; i < m->program->diags.n && !d; i++)
        if (m->program->diags.p[i].at_load && m->program->diags.p[i].severity == PDL_DIAG_ERROR)
            d = &m->program->diags.p[i];
    pdl_loc loc = pdl_field_loc(b, import ? "import" : "include");
    const char *what = import ? "import" : "include";
    if (d && d->loc.src)
        pdl_checker_diag(c, PDL_RULE_module_broken, loc, loc,
                         "Attempting to %s invalid yaml: %.*s: line %u: %.*s", what,
                         PDL_FMT(m->name), pdl_loc_line(d->loc), PDL_FMT(d->text));
    else if (d)
        pdl_checker_diag(c, PDL_RULE_module_broken, loc, loc,
                         "Attempting to %s invalid yaml: %.*s: %.*s", what, PDL_FMT(m->name),
                         PDL_FMT(d->text));
}

void pdl_checker_module(pdl_checker *c, const pdl_block *b, pdl_str path, bool import) {
    if (pdl_str_starts(path, PDL_STR(PDL_TOOLS_PREFIX)) && import) return;
    if (!c->opt->open || c->depth >= PDL_MAX_JSON_DEPTH / 10) {
        c->open_ended = c->open_ended || !import;
        return;
    }
    pdl_buf name = PDL_BUF, bytes = PDL_BUF;
    pdl_err err = {0};
    pdl_loc loc = pdl_field_loc(b, import ? "import" : "include");
    if (c->opt->open(c->opt->user, c->p->source ? c->p->source->name : PDL_STR(""), path, import,
                     &name, &bytes, &err)) {
        pdl_module *m = load_module(c, pdl_buf_str(&name), pdl_buf_str(&bytes), loc, import);
        if (!m->program->main) {
            report_broken(c, b, m, import);
            c->open_ended = c->open_ended || !import;
        } else if (m->busy) {
            pdl_checker_diag(c, PDL_RULE_module_cycle, loc, loc, "%.*s includes itself",
                             PDL_FMT(m->name));
        } else if (!import) {
            for (size_t i = 0; i < m->n_defines; i++) pdl_checker_scope_add(c, m->defines[i]);
            c->open_ended = c->open_ended || m->open_ended;
        }
    } else {
        const pdl_node *n =
            b->node ? pdl_node_find(b->node, pdl_str_of(import ? "import" : "include"), NULL)
                    : NULL;
        pdl_checker_diag(c, PDL_RULE_module_missing, loc, n ? pdl_node_loc(n) : loc, "%s", err.msg);
        pdl_err_fini(&err);
        c->open_ended = c->open_ended || !import;
    }
    pdl_buf_fini(&name);
    pdl_buf_fini(&bytes);
}
