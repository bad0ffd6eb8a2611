/* durable_runs.c -- durable runs for users of the library: tasks with a journal, and reports about
 * runs from their journals.
 *
 * The output of a durable program depends on rows of its journal. The host gets the output when
 * these rows are on the disk. Until then the output waits here in order, each piece with the
 * callback that will get it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "api/handles.h"
#include "journal/runs.h"

#include "base/banned.h"

/* --- output that waits ------------------------------------------------------------------------ */

void pdl_task_hold(pdl_task *t, pdl_printed kind, pdl_str role, pdl_str text) {
    pdl_task_printed *p = pdl_vec_push(&t->printed);
    *p = (pdl_task_printed){
        .kind = kind, .role = pdl_str_dup(role), .text = pdl_str_dup(text), .n = text.n};
}

static void give(pdl_task *t, const pdl_task_printed *p) {
    const pdl_task_options *o = &t->opt;
    if (t->doomed) return;
    switch (p->kind) {
    case PDL_PRINTED_TEXT:
        if (o->text) o->text(o->user, p->text, p->n);
        return;
    case PDL_PRINTED_ERROR:
        if (o->error_text) o->error_text(o->user, p->text, p->n);
        return;
    case PDL_PRINTED_MESSAGE:
        if (o->message) o->message(o->user, p->role, p->text, p->n);
        return;
    }
    PDL_BUG("printed %d", (int)p->kind);
}

static bool has_output(void *user) { return ((pdl_task *)user)->printed.n > 0; }

/* Delivers the output. A callback may make the program print more; that output is delivered the
 * next time. */
static uint64_t put_output(void *user) {
    pdl_task *t = user;
    size_t n = t->printed.n;
    pdl_task_printed *all = t->printed.p;
    t->printed.p = NULL;
    t->printed.n = t->printed.cap = 0;
    for (size_t i = 0; i < n; i++) {
        give(t, &all[i]);
        if (all[i].kind == PDL_PRINTED_TEXT) t->n_printed += all[i].n;
        pdl_free(all[i].role);
        pdl_free(all[i].text);
    }
    pdl_free(all);
    return t->n_printed;
}

/* --- tasks ------------------------------------------------------------------------------------ */

static pdl_durable_options how_of(const pdl_task_durable *o) {
    return (pdl_durable_options){.provisional = o->provisional,
                                 .park = o->park,
                                 .changed_fails = o->changed_fails,
                                 .rebuild = o->rebuild};
}

static bool begin(pdl_task *t, const pdl_task_durable *o, pdl_str text, pdl_vref inputs,
                  pdl_err *err) {
    char *path = NULL, *folder = NULL;
    pdl_buf note = PDL_BUF;
    pdl_str id = pdl_str_of(o->run);
    bool is_path = strchr(o->run, '/') != NULL;
    bool ok = is_path || pdl_runs_is_id(id) ||
              pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                          "pdl_task_durable.run is neither an id nor a path: '%s'", o->run);
    ok = ok && (is_path || pdl_runs_folder(&folder, err));
    if (ok) path = is_path ? pdl_str_dup(id) : pdl_runs_path(folder, id);
    if (ok) {
        pdl_new_durable n = {.path = pdl_str_of(path),
                             .full = !o->process_only,
                             .id = is_path ? pdl_file_name(id) : id,
                             .file = pdl_str_of(t->file),
                             .text = text,
                             .options = PDL_STR("{}"),
                             .inputs = inputs,
                             .how = how_of(o)};
        ok = pdl_session_begin_durable(t->session, &n, &t->durable, &note, err);
    }
    if (note.len) pdl_engine_say(t->engine, pdl_buf_str(&note));
    pdl_buf_fini(&note);
    pdl_free(folder);
    pdl_free(path);
    return ok;
}

static bool take_ways(pdl_durable *d, const pdl_task_durable *o, pdl_err *err) {
    for (size_t i = 0; i < o->n_again; i++) pdl_durable_again(d, pdl_str_of(o->again[i]));
    for (size_t i = 0; i < o->n_skip; i++)
        if (!pdl_durable_skip(d, "pdl_task_durable.skip", pdl_str_of(o->skip[i]), err))
            return false;
    return true;
}

static bool resume(pdl_task *t, const pdl_task_durable *o, pdl_str text, pdl_vref given,
                   pdl_err *err) {
    char *path;
    if (!pdl_runs_find(pdl_str_of(o->run), &path, err)) return false;
    bool ok = pdl_durable_open(pdl_str_of(path), PDL_DURABLE_CONTINUE, !o->process_only,
                               o->take_over, &t->durable, err);
    pdl_free(path);
    if (!ok) return false;
    (void)pdl_durable_runs_text(t->durable, text);
    const pdl_durable_options how = how_of(o);
    return take_ways(t->durable, o, err) &&
           pdl_session_resume_durable(t->session, t->durable, &how, given, &t->inputs, err);
}

bool pdl_task_open_durable(pdl_task *t, pdl_program *program, const pdl_task_durable *o,
                           pdl_err *err) {
    pdl_str text = program->source ? program->source->text : PDL_STR("");
    pdl_vref given = t->opt.inputs ? t->opt.inputs->v : pdl_absent();
    t->inputs = pdl_absent();
    pdl_session_hold_output(t->session, &(pdl_held_output){t, has_output, put_output});
    return o->resume ? resume(t, o, text, given, err) : begin(t, o, text, given, err);
}

void pdl_task_close_durable(pdl_task *t) {
    pdl_durable_close(t->durable);
    for (size_t i = 0; i < t->printed.n; i++) {
        pdl_free(t->printed.p[i].role);
        pdl_free(t->printed.p[i].text);
    }
    pdl_vec_fini(&t->printed);
    if (t->durable) pdl_drop(t->inputs);
}

/* --- runs from their journals ----------------------------------------------------------------- */

static bool add_summary(void *user, pdl_str path, const pdl_durable_summary *s) {
    pdl_val *list = user;
    (void)path;
    *list = pdl_list_push(*list, pdl_runs_summary(s));
    return true;
}

pdl_value *pdl_runs_list(pdl_error **error) {
    char *folder = NULL;
    pdl_err err = {0};
    pdl_val list = pdl_list_new(0);
    pdl_runs_use use = {.run = add_summary, .user = &list};
    bool ok = pdl_runs_folder(&folder, &err) && pdl_runs_each(folder, &use, &err);
    pdl_free(folder);
    if (ok) return pdl_value_box(list);
    pdl_drop(list);
    pdl_error_give(error, &err, NULL);
    return NULL;
}

static void add_question(void *user, pdl_str place, pdl_str kind, pdl_str text) {
    pdl_val *list = user;
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "place", pdl_text(place));
    d = pdl_dict_putz(d, "kind", pdl_text(kind));
    *list = pdl_list_push(*list, pdl_dict_putz(d, "text", pdl_text(text)));
}

static bool show(pdl_str path, pdl_val *out, pdl_err *err) {
    pdl_durable_summary s;
    pdl_durable *d = NULL;
    pdl_val questions = pdl_list_new(0);
    if (!pdl_durable_summary_read(path, &s, err)) {
        pdl_drop(questions);
        return false;
    }
    bool ok = pdl_durable_each_question(path, add_question, &questions, err) &&
              pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &d, err);
    if (ok) {
        const pdl_durable_facts *f = pdl_durable_get_facts(d);
        *out = pdl_dict_putz(pdl_runs_summary(&s), "text", pdl_text(f->text));
        *out = pdl_dict_putz(*out, "folder", pdl_text(f->folder));
        *out = pdl_dict_putz(*out, "questions", pdl_keep(questions));
    }
    pdl_durable_close(d);
    pdl_durable_summary_fini(&s);
    pdl_drop(questions);
    return ok;
}

/* Returns the path of a run, owned. Returns NULL when there is none; *error has the reason. */
static char *path_of(const char *run, const char *what, pdl_error **error) {
    char *path = NULL;
    pdl_err err = {0};
    if (!run || !*run) {
        pdl_misuse(error, "%s: the run is not named", what);
        return NULL;
    }
    if (pdl_runs_find(pdl_str_of(run), &path, &err)) return path;
    pdl_error_give(error, &err, NULL);
    return NULL;
}

pdl_value *pdl_runs_show(const char *run, pdl_error **error) {
    pdl_err err = {0};
    pdl_val v;
    char *path = path_of(run, "pdl_runs_show", error);
    if (!path) return NULL;
    bool ok = show(pdl_str_of(path), &v, &err);
    pdl_free(path);
    if (ok) return pdl_value_box(v);
    pdl_error_give(error, &err, NULL);
    return NULL;
}

bool pdl_runs_answer(const char *run, const char *place, const char *text, pdl_error **error) {
    pdl_err err = {0};
    char *path = text ? path_of(run, "pdl_runs_answer", error) : NULL;
    if (!text) return pdl_misuse(error, "pdl_runs_answer: text is NULL");
    if (!path) return false;
    bool ok = pdl_durable_answer(pdl_str_of(path), pdl_str_of(place ? place : ""), pdl_str_of(text),
                                 &err);
    pdl_free(path);
    return ok || pdl_error_give(error, &err, NULL);
}

bool pdl_runs_remove(const char *run, pdl_error **error) {
    pdl_err err = {0};
    char *path = path_of(run, "pdl_runs_remove", error);
    if (!path) return false;
    bool ok = pdl_durable_remove(pdl_str_of(path), &err);
    pdl_free(path);
    return ok || pdl_error_give(error, &err, NULL);
}
