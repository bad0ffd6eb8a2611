/* loaded.c -- the program of a session: it is loaded from its text or used as given, checked, and
 * compiled to code. Secrets in the text are registered as soon as it is loaded, before anything
 * prints one of its lines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/loading.h"
#include "api/session/session_impl.h"

#include "api/report/stage_dump.h"
#include "api/setup/written_keys.h"
#include "compile/compile.h"
#include "lang/load.h"

#include "base/banned.h"

void pdl_program_failed(pdl_arena *arena, const pdl_program *p, pdl_val *errors, pdl_err *err) {
    if (p->yaml_failed && p->diags.n) {
        const pdl_diag *d = &p->diags.p[0];
        pdl_loc loc = d->loc;
        if (loc.src) loc.src = pdl_source_new(arena, loc.src->name, loc.src->text);
        pdl_err_set(err, PDL_E_syntax, loc, "%.*s", PDL_FMT(d->text));
        err->py_class = pdl_str_dup(PDL_STR("YAMLError"));
        return;
    }
    pdl_buf text = PDL_BUF;
    pdl_program_errors(p, &text, false);
    pdl_val list = pdl_list_new(4);
    pdl_str rest = pdl_buf_str(&text);
    while (rest.n) {
        size_t nl = pdl_str_find(rest, PDL_STR("\n"), 0), n = nl == PDL_NOT_FOUND ? rest.n : nl;
        list = pdl_list_push(list, pdl_text(pdl_str_sub(rest, 0, n)));
        rest = pdl_str_sub(rest, n + 1, rest.n);
    }
    *errors = list;
    pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&text));
    pdl_buf_fini(&text);
}

bool pdl_session_load(pdl_session *s, pdl_str bytes, const pdl_program **program) {
    bool ok;
    s->loaded.program = pdl_program_new();
    pdl_program_load(s->loaded.program, s->opt.program.file, bytes, &ok);
    pdl_api_note_program(s->around.secrets, s->loaded.program);
    pdl_api_debug_program(s->opt.reports.debug, s->loaded.program);
    *program = s->loaded.program;
    return ok;
}

void pdl_session_use(pdl_session *s, pdl_program *program) {
    s->loaded.program = pdl_program_keep(program);
    pdl_api_note_program(s->around.secrets, program);
}

void pdl_session_use_code(pdl_session *s, pdl_code *code) { s->loaded.code = pdl_code_keep(code); }
pdl_code *pdl_session_code(const pdl_session *s) { return s->loaded.code; }

void pdl_loaded_keep_checked(pdl_loaded *l, pdl_program *checked) {
    pdl_program_keep(checked);
    pdl_program_drop(l->checked);
    l->checked = checked;
}

void pdl_loaded_end(pdl_loaded *l) {
    pdl_program_drop(l->program);
    pdl_program_drop(l->checked);
    pdl_drop(l->inputs);
    pdl_code_drop(l->code);
    pdl_interner_drop(l->names);
    pdl_arena_free(l->arena);
}

bool pdl_loaded_ok(const pdl_loaded *l) {
    return l->arena && l->names && (!l->checked || l->program);
}
