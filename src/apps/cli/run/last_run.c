/* last_run.c -- finds the last run of a program; see last_run.h.
 *
 * A journal holds the answers that a run got, but not its variables. So the program in the journal
 * is run with these answers, and no effect is really executed, as in `pdl trace`. An editor asks
 * for this while the pointer rests on a name. So this run is cancelled after a fraction of a second
 * of processor time; then nothing is shown. The folders are searched again only after some time.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/last_run.h"

#include <sys/stat.h>
#include <time.h>

#include "base/os.h"
#include "cli/cli.h"
#include "cli/search_again.h"
#include "io/file.h"
#include "journal/journal.h"
#include "journal/runs.h"

#include "base/banned.h"

enum { MAX_BYTES = 8 << 20, MAX_MS = 300, MAX_RUNS = 200 };
static const int64_t SECOND = 1000000000, ASK_AGAIN = 2 * SECOND;

/* The newest journal that was found so far. */
typedef struct newest_run {
    const char *program, *folder;
    char *path; /* owned */
    int64_t changed;
    size_t n;
} newest_run;

static int64_t changed_at(const char *path) {
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size > MAX_BYTES) return 0;
    return pdl_os_modified_ns(&st);
}

/* Returns true when a name that was given in a folder means the program. When folder.p is NULL, the
 * folder is unknown, and only the last parts of the names are compared. */
static bool is_program(const newest_run *s, pdl_str folder, pdl_str file) {
    pdl_str own = pdl_str_of(s->program);
    if (!pdl_str_eq(pdl_file_name(file), pdl_file_name(own))) return false;
    if (!folder.p && !(file.n && file.p[0] == '/')) return true;
    pdl_buf b = PDL_BUF;
    if (!(file.n && file.p[0] == '/')) pdl_buf_putf(&b, "%.*s/", PDL_FMT(folder));
    pdl_buf_put(&b, file);
    bool same = pdl_file_is_same(pdl_buf_z(&b), s->program);
    pdl_buf_fini(&b);
    return same;
}

static bool is_run_of(const newest_run *s, pdl_str path) {
    pdl_err ignored = {0};
    pdl_durable *run = NULL;
    pdl_journal_program p;
    bool is = false;
    if (pdl_durable_is(path)) {
        if (pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &run, &ignored)) {
            const pdl_durable_facts *f = pdl_durable_get_facts(run);
            is = !pdl_cli_is_inference(f) && is_program(s, f->folder, f->file);
        }
        pdl_durable_close(run);
    } else if (pdl_journal_is(path) && pdl_journal_read_program(path, &p, &ignored)) {
        is = p.text.len && is_program(s, (pdl_str){0}, pdl_buf_str(&p.file));
        pdl_journal_program_fini(&p);
    }
    pdl_err_fini(&ignored);
    return is;
}

static void look_at(newest_run *s, pdl_str path) {
    char *z = pdl_str_dup(path);
    int64_t changed = changed_at(z);
    if (changed > s->changed && is_run_of(s, path)) {
        pdl_free(s->path);
        s->path = z;
        s->changed = changed;
        return;
    }
    pdl_free(z);
}

static void on_entry(void *user, const char *name, pdl_file_kind kind) {
    newest_run *s = user;
    if (kind != PDL_FILE_REGULAR || !pdl_str_ends(pdl_str_of(name), PDL_STR(".journal"))) return;
    if (s->n++ >= MAX_RUNS) return;
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", s->folder, name);
    look_at(s, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static bool on_run(void *user, pdl_str path, const pdl_durable_summary *r) {
    newest_run *s = user;
    if (s->n++ >= MAX_RUNS) return false;
    if (!r->file ||
        !pdl_str_eq(pdl_file_name(pdl_str_of(r->file)), pdl_file_name(pdl_str_of(s->program))))
        return true;
    int64_t before = s->changed;
    look_at(s, path);
    return s->changed == before; /* the list is sorted, so the first run is the newest */
}

static void find(newest_run *s) {
    pdl_err ignored = {0};
    char *runs = NULL, *folder = pdl_str_dup(pdl_file_folder(pdl_str_of(s->program)));
    s->folder = folder;
    pdl_file_each(folder, on_entry, s);
    s->n = 0;
    pdl_runs_use use = {.run = on_run, .user = s};
    if (pdl_runs_folder_there(&runs) && !pdl_runs_each(runs, &use, &ignored))
        pdl_err_fini(&ignored);
    pdl_free(runs);
    pdl_free(folder);
}

static bool make_trace(pdl_str path, pdl_buf *out, pdl_err *err) {
    pdl_durable *run = NULL;
    pdl_journal_program p;
    const trace_wish wish = {.put = pdl_fold_put_buf, .user = out};
    bool ok;
    if (pdl_durable_is(path)) {
        ok = pdl_durable_open(path, PDL_DURABLE_SHOW, false, false, &run, err) &&
             pdl_cli_trace_run(run, &wish, err);
        pdl_durable_close(run);
        return ok;
    }
    if (!pdl_cli_recording_open(NULL, path, (pdl_str){0}, &p, err)) return false;
    ok = pdl_cli_recording_trace(&p, path, &wish, err);
    pdl_journal_program_fini(&p);
    return ok;
}

static void trace_journal(last_run *l) {
    pdl_err err = {0};
    pdl_buf_fini(&l->trace);
    l->trace = PDL_BUF_INIT(4 * MAX_BYTES);
    pdl_cli_end_after(MAX_MS);
    l->has_trace = make_trace(pdl_str_of(l->journal), &l->trace, &err);
    pdl_cli_end_after(0);
    pdl_err_fini(&err);
}

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * SECOND + t.tv_nsec;
}

static void ask(last_run *l, const char *program) {
    newest_run s = {.program = program};
    find(&s);
    bool same = s.path && l->journal && l->changed == s.changed &&
                pdl_str_is(pdl_str_of(l->journal), s.path);
    if (same) {
        pdl_free(s.path);
    } else {
        pdl_free(l->journal);
        l->journal = s.path;
        l->changed = s.changed;
        l->has_trace = false;
        if (l->journal) trace_journal(l);
    }
    if (!l->program || !pdl_str_is(pdl_str_of(l->program), program)) {
        pdl_free(l->program);
        l->program = pdl_str_dup(pdl_str_of(program));
    }
    l->asked = now();
}

bool pdl_cli_last_run(void *user, const char *program, pdl_str *trace, int64_t *when) {
    last_run *l = user;
    if (!l->program || !pdl_str_is(pdl_str_of(l->program), program) || now() - l->asked > ASK_AGAIN)
        ask(l, program);
    *trace = pdl_buf_str(&l->trace);
    *when = l->changed;
    return l->journal && l->has_trace;
}

void pdl_cli_last_run_fini(last_run *l) {
    pdl_free(l->program);
    pdl_free(l->journal);
    pdl_buf_fini(&l->trace);
    *l = (last_run){0};
}
