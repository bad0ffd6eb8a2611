/* loaded.c -- the program of a session, from its text to its code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "api/report/stage_dump.h"
#include "api/setup/keys.h"
#include "compile/compile.h"
#include "lang/load.h"

#include "base/banned.h"

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
