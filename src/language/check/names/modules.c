/* modules.c -- programs that a program includes or imports: each is found, loaded and searched for
 * definitions once.
 *
 * The check reads them because an `include` defines names in the scope of the program that includes
 * it: without the file any name after it might be defined. A module is loaded once under its name
 * and checked once; its problems are reported in that file, with the place of the first include as
 * related information. Further uses take the definitions, which keeps a diamond of includes linear.
 * While a module is being walked it is `busy`: meeting it again is a cycle. Where files cannot be
 * opened the check no longer reports undefined names (`open_ended`).
 *
 * The standard library depends on nothing around it, and reading it takes as long as checking a
 * large program. So a caller that checks several programs keeps the library (pdl_check_library).
 * The types of the library are in the arena of the library's program. Each checked program keeps
 * this arena alive, since problems may point into it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "check/checker.h"
#include "lang/load.h"
#include "lang/tool_server_program.h"

#include "base/limits.h"

#include "base/banned.h"

/* Releases the modules, but not their programs: diagnostics may point into them, so the checked
 * program takes them over. */
void pdl_checker_modules_fini(pdl_modules *m, pdl_program *checked) {
    for (size_t i = 0; i < m->all.n; i++) {
        *pdl_vec_push(&checked->others) = m->all.p[i]->program;
        pdl_free(m->all.p[i]);
    }
    pdl_vec_fini(&m->all);
    pdl_map_fini(&m->by_name);
    pdl_check_library_fini(&m->library);
}

void pdl_check_library_fini(pdl_check_library *l) {
    pdl_program_drop(l->program);
    *l = (pdl_check_library){0};
}

static bool is_defined_here(const pdl_binding *b) {
    return b && b->def.kind != PDL_DEF_PREDEFINED && b->def.kind != PDL_DEF_OUTSIDE;
}

/* Keeps the names that the module leaves in scope. */
static void keep_definitions(pdl_checker *inner, pdl_module *m) {
    const pdl_scope_state *s = &inner->scope;
    m->defines = pdl_arena_new_n(pdl_checker_arena(inner), pdl_name_def, s->names.n + 1);
    for (size_t i = 0; i < s->names.n; i++) {
        const pdl_binding *b = s->names.p[i].now;
        if (!is_defined_here(b)) continue;
        m->defines[m->n_defines] = b->def;
        m->defines[m->n_defines++].type = pdl_scope_type(s, b);
    }
}

/* Checks the module, and keeps the names that it leaves in scope. An included file sees the names
 * of the files that include it. These names are unknown here. */
static void check_module(pdl_checker *c, pdl_module *m, bool import) {
    pdl_checker inner = {.p = m->program,
                         .opt = c->opt,
                         .modules = c->modules,
                         .scope = {.arena = pdl_checker_arena(c)},
                         .quiet = c->quiet,
                         .sure = c->sure,
                         .dead = c->dead,
                         .may_exit = c->may_exit,
                         .caught = c->caught,
                         .outer_unknown = !import,
                         .depth = c->depth + 1};
    pdl_checker_predefine(&inner);
    m->busy = true;
    if (!c->opt->no_lint) pdl_checker_lint_keys(&inner, m->program->root);
    m->result = pdl_checker_block(&inner, m->program->main, (pdl_str){0});
    m->busy = false;
    assert(pdl_checker_ok(&inner) && inner.sure == c->sure && inner.caught == c->caught);
    m->open_ended = inner.open_ended;
    keep_definitions(&inner, m);
    c->may_exit = inner.may_exit;
    pdl_scope_state_fini(&inner.scope);
    pdl_vec_fini(&inner.spine);
    pdl_checker_forget_prompts(&inner);
}

/* Reports the problems of the module, each with the place that includes it. Only the errors and old
 * forms of an imported file are reported, because its other warnings are for its authors. */
static void forward(pdl_checker *c, pdl_module *m, pdl_loc loc, bool import) {
    pdl_diags *diags = &m->program->diags;
    pdl_program_sort_diags(m->program);
    for (size_t i = 0; i < diags->n && !c->quiet; i++) {
        const pdl_rule *r = pdl_rule_find(pdl_str_of(diags->p[i].code));
        bool is_theirs = import && diags->p[i].severity == PDL_DIAG_WARNING;
        if (is_theirs && !pdl_rule_is_old_form(r)) continue;
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

/* Returns the type of an import: an object of the names of the file. */
static const pdl_ty *type_of_import(pdl_arena *a, const pdl_module *m) {
    static const pdl_ty_field always[] = {
        {{"pdl_context", 11}, &pdl_ty_any, false},
        {{"pdl_particle_id", 15}, &pdl_ty_any, false},
        {{"pdl_llm_as_judge", 16}, &pdl_ty_str, false},
        {{"pdl_llm_context_transformer", 27}, &pdl_ty_str, false},
        {{"pdl_model_default_parameters", 28}, &pdl_ty_any, false},
        {{"stdlib", 6}, &pdl_ty_any, false},
        {{"pdl_usage", 9}, &pdl_ty_any, false}};
    enum { N = sizeof always / sizeof always[0] };
    pdl_ty_field *f = pdl_arena_new_n(a, pdl_ty_field, m->n_defines + N);
    for (size_t i = 0; i < m->n_defines; i++)
        f[i] = (pdl_ty_field){m->defines[i].name, m->defines[i].type, false};
    for (size_t i = 0; i < N; i++) f[m->n_defines + i] = always[i];
    return pdl_ty_new(a, (pdl_ty){.kinds = PDL_TY_DICT,
                                  .closed = !m->open_ended,
                                  .fields = f,
                                  .n_fields = (uint32_t)(m->n_defines + N)});
}

/* Reads the standard library, without reports about it. */
static void read_library(pdl_check_library *l, pdl_str text) {
    static const pdl_check_options nothing = {0};
    pdl_modules none = {0};
    pdl_module m = {.name = PDL_STR("stdlib"), .program = pdl_program_new()};
    pdl_checker c = {.p = m.program, .opt = &nothing, .modules = &none, .quiet = true};
    bool ok;
    pdl_program_load(m.program, m.name, text, &ok);
    c.scope.arena = m.program->arena;
    if (ok) check_module(&c, &m, true);
    pdl_checker_modules_fini(&none, m.program);
    const pdl_ty *type = ok ? type_of_import(m.program->arena, &m) : &pdl_ty_any;
    *l = (pdl_check_library){text, m.program, type};
}

const pdl_ty *pdl_checker_stdlib(pdl_checker *c) {
    pdl_str text = c->opt->stdlib;
    pdl_check_library *l = c->opt->library ? c->opt->library : &c->modules->library;
    if (!text.n) return &pdl_ty_any;
    if (l->text.p != text.p || l->text.n != text.n) {
        pdl_check_library_fini(l);
        read_library(l, text);
    }
    if (!c->modules->names_library) *pdl_vec_push(&c->p->others) = pdl_program_keep(l->program);
    c->modules->names_library = true;
    return l->type;
}

/* Takes the definitions of an included file, which runs in the scope of the program that includes
 * it. */
static void take_definitions(pdl_checker *c, const pdl_module *m) {
    for (size_t i = 0; i < m->n_defines; i++)
        pdl_scope_define(&c->scope, PDL_DEF_INCLUDED, m->defines[i].name, m->defines[i].type,
                         m->defines[i].loc);
    c->open_ended = c->open_ended || m->open_ended;
}

/* Returns the type of a module that cannot be read. Its definitions are unknown. */
static const pdl_ty *unknown_module(pdl_checker *c, bool import) {
    c->p->uses_unread = true;
    c->open_ended = c->open_ended || !import;
    c->may_exit = true;
    return &pdl_ty_any;
}

const pdl_ty *pdl_checker_module(pdl_checker *c, const pdl_block *b, pdl_str path, bool import) {
    const pdl_ty *t = &pdl_ty_any;
    if (!import) c->reads_all = true;
    if (pdl_str_starts(path, PDL_STR(PDL_TOOLS_PREFIX)) && import) return t;
    if (!c->opt->open || c->depth >= PDL_MAX_JSON_DEPTH / 10) return unknown_module(c, import);
    pdl_buf name = PDL_BUF, bytes = PDL_BUF;
    pdl_err err = {0};
    pdl_loc loc = pdl_field_loc(b, import ? "import" : "include");
    pdl_module_name what = {c->p->source ? c->p->source->name : PDL_STR(""), path, import};
    if (c->opt->open(c->opt->user, &what, &name, &bytes, &err)) {
        pdl_module *m = load_module(c, pdl_buf_str(&name), pdl_buf_str(&bytes), loc, import);
        *pdl_vec_push(&c->p->uses) = (pdl_module_use){b, m->program};
        if (!m->program->main) {
            report_broken(c, b, m, import);
            unknown_module(c, import);
        } else if (m->busy) {
            pdl_checker_diag(c, PDL_RULE_module_cycle, loc, loc, "%.*s includes itself",
                             PDL_FMT(m->name));
            unknown_module(c, import);
        } else if (!import) {
            take_definitions(c, m);
            t = m->result;
        } else {
            t = type_of_import(pdl_checker_arena(c), m);
        }
    } else {
        const pdl_node *n =
            b->node ? pdl_node_find(b->node, pdl_str_of(import ? "import" : "include"), NULL)
                    : NULL;
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_module_missing, loc, n ? pdl_node_loc(n) : loc,
                                       "%s", err.msg);
        if (err.hint) pdl_checker_hint(c, d, "%s", err.hint);
        pdl_err_fini(&err);
        unknown_module(c, import);
    }
    pdl_buf_fini(&name);
    pdl_buf_fini(&bytes);
    return t;
}
