/* errors.c -- pdl_error: errors as users of the library see them. An error leaves the library in
 * one block of memory without secrets, so that the caller can keep it after the program and its
 * session were freed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "api/handles.h"
#include "api/setup/written_keys.h"
#include "base/termsafe.h"
#include "base/utf8.h"
#include "lang/program.h"

#include "base/banned.h"

/* The public structure and its texts. The texts follow the structure in the same block
 * of memory. */
typedef struct maker {
    pdl_buf texts;
    size_t at[6]; /* offsets of kind, message, file, hint, text and path */
    size_t n;
    /* secrets of a program that has no session yet; NULL for other programs */
    pdl_secrets *secrets;
} maker;

static void add(maker *m, pdl_str s, const pdl_session *session) {
    m->at[m->n++] = m->texts.len;
    if (session)
        pdl_session_redact(session, s, &m->texts);
    else
        pdl_redact_cut(m->secrets, s, &m->texts);
    pdl_buf_putc(&m->texts, 0);
}

/* Adds the text `shown` and the path of the part of the tree at `place`. That path is first
 * appended to `shown`. */
static void add_text(maker *m, pdl_loc place, pdl_buf *shown, const pdl_session *session) {
    pdl_buf part = PDL_BUF;
    pdl_api_put_part(place, &part);
    if (part.len) pdl_buf_putf(shown, "  at %s\n", pdl_buf_z(&part));
    add(m, pdl_buf_str(shown), session);
    add(m, pdl_buf_str(&part), session);
    pdl_buf_fini(&part);
}

static pdl_error *made(maker *m, pdl_loc place, int exit_code, int status) {
    pdl_error *e = pdl_alloc(sizeof *e + m->texts.len);
    char *texts = (char *)(e + 1);
    memcpy(texts, m->texts.p, m->texts.len);
    *e = (pdl_error){
        .kind = texts + m->at[0],
        .message = texts + m->at[1],
        .file = texts + m->at[2],
        .hint = texts + m->at[3],
        .text = texts + m->at[4],
        .path = texts + m->at[5],
        .exit_code = exit_code,
        .status = status,
    };
    if (place.src) {
        e->line = pdl_loc_line(place);
        e->column = pdl_source_column(place.src, place.start);
    }
    pdl_buf_fini(&m->texts);
    return e;
}

pdl_error *pdl_error_make(const pdl_err *given, const pdl_session *s) {
    maker m = {.texts = PDL_BUF};
    pdl_buf shown = PDL_BUF;
    pdl_err instead = {0};
    const pdl_err *err = s && pdl_session_hides_error(s, given, &instead) ? &instead : given;
    pdl_loc place = err->mark.src ? err->mark : err->loc;
    pdl_err_print(err, true, &shown);
    add(&m, pdl_str_of(pdl_err_kind_name(err->kind)), NULL);
    add(&m, pdl_str_of(err->msg ? err->msg : ""), s);
    add(&m, place.src ? place.src->name : PDL_STR(""), NULL);
    add(&m, pdl_str_of(err->hint ? err->hint : ""), s);
    add_text(&m, place, &shown, s);
    pdl_buf_fini(&shown);
    pdl_err_fini(&instead);
    return made(&m, place, pdl_err_exit_code(given), given->has_status ? given->status : 0);
}

bool pdl_error_give(pdl_error **out, pdl_err *err, const pdl_session *s) {
    if (out) *out = pdl_error_make(err, s);
    pdl_err_fini(err);
    return false;
}

bool pdl_misuse(pdl_error **out, const char *fmt, ...) {
    pdl_err err = {0};
    va_list ap;
    va_start(ap, fmt);
    pdl_err_vset(&err, PDL_E_usage, (pdl_loc){0}, fmt, ap);
    va_end(ap);
    return pdl_error_give(out, &err, NULL);
}

bool pdl_error_of_program(pdl_error **out, const pdl_program *p) {
    if (!out) return false;
    const pdl_diag *first = NULL;
    for (size_t i = 0; i < p->diags.n && !first; i++)
        if (p->diags.p[i].severity == PDL_DIAG_ERROR) first = &p->diags.p[i];
    maker m = {.texts = PDL_BUF, .secrets = pdl_secrets_new()};
    pdl_buf shown = PDL_BUF;
    pdl_loc place = {0};
    pdl_api_note_program(m.secrets, p);
    if (first) place = first->mark.src ? first->mark : first->loc;
    pdl_program_errors(p, &shown, true);
    add(&m, p->yaml_failed ? PDL_STR("syntax") : PDL_STR("schema"), NULL);
    add(&m, first ? first->text : PDL_STR("the program cannot be loaded"), NULL);
    add(&m, place.src ? place.src->name : PDL_STR(""), NULL);
    add(&m, first ? first->hint : PDL_STR(""), NULL);
    add_text(&m, place, &shown, NULL);
    pdl_buf_fini(&shown);
    pdl_secrets_free(m.secrets);
    *out = made(&m, place, 1, 0);
    return false;
}

pdl_err_kind pdl_error_kind_of(const char *name) {
    for (int k = PDL_E_NONE + 1; name && k < PDL_E_COUNT; k++)
        if (strcmp(pdl_err_kind_name((pdl_err_kind)k), name) == 0) return (pdl_err_kind)k;
    return PDL_E_runtime;
}

pdl_error *pdl_error_new(const char *kind, const char *message) {
    pdl_err err = {0};
    pdl_str why = pdl_str_of(message ? message : "failed in the host program");
    if (pdl_utf8_check(why) != PDL_NOT_FOUND) why = PDL_STR("failed in the host program");
    pdl_err_set(&err, pdl_error_kind_of(kind), (pdl_loc){0}, "%.*s", PDL_FMT(why));
    pdl_error *e = pdl_error_make(&err, NULL);
    pdl_err_fini(&err);
    return e;
}

void pdl_error_print(const pdl_error *error, FILE *to) {
    if (!error || !to) return;
    (void)pdl_write_termsafe(to, pdl_str_of(error->text));
}

void pdl_error_free(pdl_error *error) { pdl_free(error); }

bool pdl_options_read(void *to, const void *from, size_t size, const char *what,
                      pdl_error **error) {
    size_t given = 0;
    if (!from) return true;
    memcpy(&given, from, sizeof given);
    if (given < sizeof given)
        return pdl_misuse(error, "%s.size is %zu: set it to sizeof(%s)", what, given, what);
    for (size_t i = size; i < given; i++)
        if (((const char *)from)[i])
            return pdl_misuse(error, "%s: an option that version %s does not know", what,
                              pdl_version());
    memcpy(to, from, given < size ? given : size);
    return true;
}
