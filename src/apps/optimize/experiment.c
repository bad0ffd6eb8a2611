/* experiment.c -- writes the folder of a search: its configuration, its candidates, all scores and
 * its report.
 *
 * Scores are written as they are made, so that a search that ends early keeps everything that was
 * paid for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <sys/stat.h>
#include <time.h>

#include "base/limits.h"
#include "base/num.h"
#include "io/file.h"
#include "optimize/configuration.h"
#include "optimize/records.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "yaml/yaml.h"

#include "base/banned.h"

static char *path_in(const opt_search *z, const char *name) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", z->folder, name);
    return pdl_buf_take(&b);
}

bool pdl_search_write_file(const opt_search *z, const char *name, pdl_str text, pdl_err *err) {
    char *path = path_in(z, name);
    pdl_buf shown = PDL_BUF;
    pdl_session_redact(z->session, text, &shown);
    bool ok = pdl_file_write(path, pdl_buf_str(&shown), PDL_FILE_SHARED, err);
    pdl_buf_fini(&shown);
    pdl_free(path);
    return ok;
}

/* Makes a new folder, named after the program and the time. */
static bool make_folder(opt_search *z, pdl_err *err) {
    enum { TRIES = 1000 };
    pdl_str name = pdl_file_name(z->o->program);
    char when[32], *parent = pdl_str_dup(z->o->experiments);
    time_t now = time(NULL);
    struct tm local;
    if (pdl_str_ends(name, PDL_STR(".pdl"))) name = pdl_str_sub(name, 0, name.n - 4);
    if (!localtime_r(&now, &local) || !strftime(when, sizeof when, "%Y%m%d-%H%M%S", &local))
        when[0] = 0;
    bool ok = pdl_file_mkdir(parent, err);
    for (int i = 1; ok && i < TRIES; i++) {
        pdl_buf id = PDL_BUF, path = PDL_BUF;
        pdl_str prefix = z->o->reference ? z->o->reference->prefix : (pdl_str){0};
        pdl_buf_putf(&id, "%.*s%.*s-%s", PDL_FMT(prefix), PDL_FMT(name), when);
        if (i > 1) pdl_buf_putf(&id, "-%d", i);
        pdl_buf_putf(&path, "%s/%s", parent, pdl_buf_z(&id));
        z->id = pdl_buf_take(&id);
        z->folder = pdl_buf_take(&path);
        if (mkdir(z->folder, 0777) == 0) break;
        int e = errno;
        char *failed = z->folder;
        pdl_free(z->id);
        z->folder = z->id = NULL;
        if (e != EEXIST || i + 1 == TRIES) ok = pdl_file_errno(err, e, failed);
        pdl_free(failed);
    }
    pdl_free(parent);
    return ok;
}

/* --- durable searches ------------------------------------------------------------------------- */

/* Returns the state of a durable search. The state has the command of the search, and the facts
 * that must not change before the search is continued. The file of the state is private and has
 * references instead of keys, like the journal of a durable run. */
static pdl_val state_of(const opt_search *z, pdl_err *err) {
    pdl_val d = pdl_absent();
    if (!pdl_json_read(z->o->command_text, 0, &d, NULL, err)) return pdl_absent();
    d = pdl_dict_putz(d, "table",
                      pdl_list_push(pdl_list_push(pdl_list_new(2), pdl_int(z->table_size)),
                                    pdl_int(z->table_ns)));
    return pdl_dict_putz(d, "program", pdl_text(pdl_buf_str(&z->text)));
}

static bool write_state(const opt_search *z, pdl_err *err) {
    pdl_buf b = PDL_BUF, kept = PDL_BUF;
    if (!z->o->command_text.n) return true;
    pdl_val d = state_of(z, err);
    char *path = path_in(z, "state.json");
    bool ok = !pdl_is_absent(d) && pdl_json_write(d, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &b, err);
    if (ok) pdl_session_refer_keys(pdl_buf_str(&b), &kept);
    ok = ok && pdl_file_write(path, pdl_buf_str(&kept), PDL_FILE_ATOMIC, err);
    if (!pdl_is_absent(d)) pdl_drop(d);
    pdl_free(path);
    pdl_buf_fini(&b);
    pdl_buf_fini(&kept);
    return ok;
}

/* Checks that a continued search has the program and the table with which it began. */
static bool is_unchanged(const opt_search *z, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES), filled = PDL_BUF;
    pdl_val old = pdl_absent(), now = state_of(z, err);
    char *path = path_in(z, "state.json");
    bool ok = !pdl_is_absent(now) && pdl_file_read(path, &text, err) &&
              pdl_session_fill_keys(pdl_buf_str(&text), &filled, err) &&
              pdl_json_read(pdl_buf_str(&filled), 0, &old, NULL, err);
    if (!ok) old = pdl_absent();
    if (ok && !pdl_val_eq(pdl_dict_getz(old, "program"), pdl_dict_getz(now, "program")))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "%.*s has changed since the search in %s began: begin another one",
                         PDL_FMT(z->o->program), z->folder);
    else if (ok && !pdl_val_eq(pdl_dict_getz(old, "table"), pdl_dict_getz(now, "table")))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "%.*s has changed since the search in %s began: begin another one",
                         PDL_FMT(z->o->data.name), z->folder);
    if (!pdl_is_absent(old)) pdl_drop(old);
    if (!pdl_is_absent(now)) pdl_drop(now);
    pdl_free(path);
    pdl_buf_fini(&text);
    pdl_buf_fini(&filled);
    return ok;
}

void pdl_search_note_use(opt_search *z) {
    static const double none[PDL_BUDGET_COUNT] = {0};
    const double *used = z->budget ? z->budget->used : none;
    if (!z->used) return;
    z->noted = z->cost + z->open_cost;
    rewind(z->used);
    (void)fprintf(z->used, "%20.0f %20.0f %24.17g %20llu %24.17g\n", used[PDL_BUDGET_calls],
                  used[PDL_BUDGET_tokens], used[PDL_BUDGET_cost],
                  (unsigned long long)(z->evaluations > z->before ? z->evaluations : z->before),
                  z->noted);
    (void)fflush(z->used);
}

enum { N_USED = 5 };

/* Reads the usage of earlier processes of a search. */
static void read_use(const char *path, double said[N_USED]) {
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    pdl_err ignored = {0};
    if (!pdl_file_read(path, &text, &ignored)) pdl_err_fini(&ignored);
    pdl_str rest = pdl_str_trim(pdl_buf_str(&text));
    for (size_t i = 0; i < N_USED && rest.n; i++) {
        if (!pdl_num_read_double(pdl_str_take(&rest, PDL_STR(" ")), &said[i])) said[i] = 0;
        rest = pdl_str_trim(rest);
    }
    pdl_buf_fini(&text);
}

/* Opens the file that counts the usage so far, and adds that usage: a search and its continuations
 * share one budget and have one cost. */
static bool open_use(opt_search *z, pdl_err *err) {
    char *path = path_in(z, "used.txt");
    double said[N_USED] = {0};
    if (z->o->continued.n) read_use(path, said);
    if (z->budget) {
        z->budget->used[PDL_BUDGET_calls] += said[0];
        z->budget->used[PDL_BUDGET_tokens] += said[1];
        z->budget->used[PDL_BUDGET_cost] += said[2];
    }
    z->before = said[3] > 0 && said[3] < 1e15 ? (uint64_t)said[3] : 0;
    z->cost = said[4];
    z->used = fopen(path, "we");
    bool ok = z->used || pdl_file_errno(err, errno, path);
    if (ok) pdl_search_note_use(z);
    pdl_free(path);
    return ok;
}

/* Uses the folder of the search that is continued. */
static bool take_folder(opt_search *z, pdl_err *err) {
    z->folder = pdl_str_dup(z->o->continued);
    z->id = pdl_str_dup(pdl_file_name(z->o->continued));
    return is_unchanged(z, err);
}

/* --- candidates ------------------------------------------------------------------------------- */

/* Secrets in the texts of the value are replaced first, so that the line stays JSON. A number that
 * is a secret is found later, in the line. */
bool pdl_search_put_line(const opt_search *z, pdl_val v, pdl_buf *out, pdl_err *err) {
    pdl_buf line = PDL_BUF;
    v = pdl_session_redact_val(z->session, v);
    bool ok =
        pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &line, err);
    pdl_session_redact(z->session, pdl_buf_str(&line), out);
    pdl_buf_putc(out, '\n');
    pdl_buf_fini(&line);
    pdl_drop(v);
    return ok;
}

/* Writes the candidates. Candidates have no scores while the search runs. */
static bool write_candidates(const opt_search *z, pdl_vref standings, pdl_err *err) {
    pdl_buf b = PDL_BUF;
    bool ok = true;
    for (size_t i = 0; ok && pdl_is_list(standings) && i < pdl_list_len(standings); i++)
        ok = pdl_search_put_line(z, pdl_keep(pdl_list_at(standings, i)), &b, err);
    for (size_t i = 0; ok && !pdl_is_list(standings) && i < z->candidates.n; i++) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "candidate", pdl_int((int64_t)i));
        d = pdl_dict_putz(d, "values", pdl_keep(z->candidates.p[i].values));
        ok = pdl_search_put_line(z, d, &b, err);
    }
    ok = ok && pdl_search_write_file(z, "candidates.jsonl", pdl_buf_str(&b), err);
    pdl_buf_fini(&b);
    return ok;
}

/* Appends the text of a configuration without keys, as YAML with quotes where they are needed. A
 * text without keys is appended unchanged. */
static void put_without_keys(const opt_search *z, pdl_str text, pdl_buf *out) {
    pdl_buf shown = PDL_BUF;
    pdl_err ignored = {0};
    uint32_t line, column;
    pdl_val d;
    pdl_session_redact(z->session, text, &shown);
    if (!pdl_str_eq(pdl_buf_str(&shown), text) &&
        pdl_yaml_read_written(text, &d, &line, &column, &ignored)) {
        d = pdl_session_redact_val(z->session, d);
        pdl_buf_clear(&shown);
        if (!pdl_yaml_write(d, &shown, &ignored)) pdl_buf_clear(&shown);
        pdl_drop(d);
    }
    pdl_buf_put(out, pdl_buf_str(&shown));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&shown);
}

static bool write_config(const opt_search *z, pdl_err *err) {
    pdl_buf own = PDL_BUF, shown = PDL_BUF;
    if (!z->o->config_text.n) pdl_optimize_put_config(z->o, &own);
    put_without_keys(z, own.len ? pdl_buf_str(&own) : z->o->config_text, &shown);
    bool ok = pdl_search_write_file(z, "config.yaml", pdl_buf_str(&shown), err);
    pdl_buf_fini(&own);
    pdl_buf_fini(&shown);
    return ok;
}

bool pdl_search_begin_records(opt_search *z, pdl_err *err) {
    if (!(z->o->continued.n ? take_folder(z, err) : make_folder(z, err))) return false;
    char *scores = path_in(z, "scores.jsonl");
    bool ok = write_config(z, err) && write_candidates(z, pdl_null(), err);
    ok = ok && (z->o->continued.n || write_state(z, err));
    if (ok && z->o->begun) z->o->begun(z->o->user, pdl_str_of(z->folder));
    ok = ok && (!z->o->command_text.n || open_use(z, err));
    z->listed = z->candidates.n;
    if (ok) z->scores = fopen(scores, "we");
    if (ok && !z->scores) ok = pdl_file_errno(err, errno, scores);
    pdl_free(scores);
    return ok;
}

bool pdl_search_list_candidates(opt_search *z, pdl_err *err) {
    if (!z->scores || z->listed == z->candidates.n) return true;
    z->listed = z->candidates.n;
    return write_candidates(z, pdl_null(), err);
}

bool pdl_search_end_records(opt_search *z, pdl_vref result, pdl_err *err) {
    pdl_buf report = PDL_BUF;
    pdl_optimize_put_report(result, &report);
    bool ok = write_candidates(z, pdl_dict_getz(result, "standings"), err) &&
              pdl_search_write_file(z, "report.md", pdl_buf_str(&report), err);
    int failed = z->scores ? fclose(z->scores) : 0;
    z->scores = NULL;
    pdl_buf_fini(&report);
    return ok && (!failed || pdl_file_errno(err, errno, z->folder));
}
