/* runs.c -- the folder of durable runs and its index; see runs.h. The index is a file runs.db
 * beside the journals. The index has a row for each journal: a summary, and the size and time that
 * the journal had when the summary was made. The row of a changed journal is made again, and an
 * index that cannot be read is deleted.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/runs.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/os.h"
#include "journal/run_lock.h"
#include "journal/store.h"
#include "sqlite/db_files.h"
#include "sqlite/sql.h"

#include "base/banned.h"

/* --- names ------------------------------------------------------------------------------------ */

static bool is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Makes a folder and its missing parent folders; only the user may access them. The folder comes
 * from the environment, so an error is a wrong setting. */
static bool make_folder(char *path, const char *variable, pdl_err *err) {
    for (char *p = path + 1; *p; p++) {
        if (*p != '/') continue;
        *p = 0;
        (void)mkdir(path, 0700);
        *p = '/';
    }
    if (mkdir(path, 0700) == 0 || is_folder(path)) return true;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "cannot make the folder %s: %s", path,
                errno == EEXIST ? "a file has this name" : strerror(errno));
    pdl_err_hint(err, "%s in the environment says that runs are kept there", variable);
    return false;
}

/* Returns the name of the folder of runs, owned; NULL when the environment does not say where it
 * is. Sets *variable to the name of the variable that decides where the folder is. */
static char *folder_name(const char **variable) {
    static const struct {
        const char *variable, *behind;
    } places[] = {
        {"PDL_RUNS", ""}, {"XDG_STATE_HOME", "/pdl/runs"}, {"HOME", "/.local/state/pdl/runs"}};
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < sizeof places / sizeof *places && !b.len; i++) {
        const char *v = getenv(places[i].variable);
        /* the XDG specification says that a relative path there is ignored */
        bool is_xdg = pdl_str_starts(pdl_str_of(places[i].variable), PDL_STR("XDG_"));
        if (v && *v && (!is_xdg || *v == '/')) pdl_buf_putf(&b, "%s%s", v, places[i].behind);
        *variable = places[i].variable;
    }
    return b.len ? pdl_buf_take(&b) : NULL;
}

bool pdl_runs_folder(char **out, pdl_err *err) {
    const char *variable = "";
    *out = folder_name(&variable);
    if (!*out)
        return pdl_err_set(err, PDL_E_config, (pdl_loc){0},
                           "there is no folder for runs: set PDL_RUNS");
    if (make_folder(*out, variable, err)) return true;
    pdl_free(*out);
    *out = NULL;
    return false;
}

bool pdl_runs_folder_there(char **out) {
    const char *variable;
    *out = folder_name(&variable);
    if (*out && is_folder(*out)) return true;
    pdl_free(*out);
    *out = NULL;
    return false;
}

bool pdl_runs_is_id(pdl_str id) {
    enum { LONGEST = 100 };
    if (!id.n || id.n > LONGEST || id.p[0] == '.' || id.p[0] == '-') return false;
    for (size_t i = 0; i < id.n; i++) {
        char c = id.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!letter && c != '.' && c != '-' && c != '_') return false;
    }
    return true;
}

void pdl_runs_make_id(char out[40]) {
    unsigned char chance[3] = {0};
    struct tm tm;
    time_t now = time(NULL);
    char when[24] = "run";
    if (gmtime_r(&now, &tm)) (void)strftime(when, sizeof when, "%Y%m%d-%H%M%S", &tm);
    if (!pdl_os_random(chance, sizeof chance, true)) memset(chance, 0, sizeof chance);
    snprintf(out, 40, "%s-%02x%02x%02x", when, chance[0], chance[1], chance[2]);
}

#define SUFFIX ".journal"

char *pdl_runs_path(const char *folder, pdl_str id) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%.*s" SUFFIX, folder, PDL_FMT(id));
    return pdl_buf_take(&b);
}

/* Returns true when files of SQLite are beside a journal. These files remain when a user removes
 * only the journal. */
static bool has_side(const char *path) {
    bool any = false;
    for (pdl_db_file i = 0; i < PDL_DB_ITSELF && !any; i++) any = pdl_db_has(pdl_str_of(path), i);
    return any;
}

/* Returns the journal of the run with this id, owned; NULL when there is none. The journal itself
 * may be gone, with only the files of SQLite left. */
static char *find_run(pdl_str id) {
    const char *variable;
    char *folder = pdl_runs_is_id(id) ? folder_name(&variable) : NULL;
    char *path = folder ? pdl_runs_path(folder, id) : NULL;
    pdl_free(folder);
    if (path && (access(path, F_OK) == 0 || has_side(path))) return path;
    pdl_free(path);
    return NULL;
}

bool pdl_runs_find(pdl_str name, char **out, pdl_err *err) {
    char *file = pdl_str_dup(name), *folder = NULL;
    bool is_path = strchr(file, '/') != NULL;
    *out = is_path ? NULL : find_run(name);
    bool is_there = access(file, F_OK) == 0, is_gone = !is_there && errno == ENOENT;
    if (is_path && is_gone) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no file %s", file);
        pdl_free(file);
        return false;
    }
    if (!*out && (is_path || is_there)) {
        *out = file;
        return true;
    }
    pdl_free(file);
    if (*out) return true;
    if (!pdl_runs_is_id(name))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "'%.*s' is neither the id of a run nor a file", PDL_FMT(name));
    if (!pdl_runs_folder(&folder, err)) return false;
    char *path = pdl_runs_path(folder, name);
    /* the run may be in a folder that cannot be read */
    int why = access(path, F_OK) == 0 ? ENOENT : errno;
    if (why == ENOENT)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no run %.*s in %s", PDL_FMT(name),
                    folder);
    else
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot open %s: %s", folder, strerror(why));
    pdl_free(path);
    pdl_free(folder);
    return false;
}

/* --- the index -------------------------------------------------------------------------------- */

#define TABLE                                                                                      \
    "CREATE TABLE runs(name TEXT PRIMARY KEY, size INTEGER NOT NULL, changed INTEGER NOT NULL, "   \
    "state INTEGER NOT NULL, id TEXT NOT NULL, file TEXT NOT NULL, place TEXT, started REAL, "     \
    "ended REAL, calls INTEGER NOT NULL, tokens INTEGER NOT NULL, effects INTEGER NOT NULL, "      \
    "cost REAL NOT NULL) WITHOUT ROWID"
static const sql_object objects[] = {{"runs", TABLE}};

typedef enum { ST_ALL, ST_PUT, ST_DROP, ST_COUNT } statement;
static const char *const texts[] = {
    [ST_ALL] = ("SELECT name, size, changed, state, id, file, place, started, ended, calls, "
                "tokens, effects, cost FROM runs"),
    [ST_PUT] = "INSERT OR REPLACE INTO runs VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ST_DROP] = "DELETE FROM runs WHERE name = ?",
};
static_assert(sizeof texts / sizeof *texts == ST_COUNT, "a text for each statement");
static const sql_use index_use = {PDL_E_io, "the index ", " cannot be used", texts, ST_COUNT};

static bool open_once(pdl_str path, sql **out, pdl_err *err) {
    bool empty = false, ours = false;
    if (!pdl_sql_make(path, NULL, err) || !pdl_sql_open(path, &index_use, out, err)) return false;
    bool ok = pdl_sql_is_empty(*out, &empty, err) &&
              (!empty || pdl_sql_exec(*out,
                                      "PRAGMA synchronous = OFF; BEGIN IMMEDIATE; PRAGMA "
                                      "application_id = 1346653266; " TABLE "; COMMIT;",
                                      err));
    ok = ok && pdl_sql_is_ours(*out, objects, 1, &ours, err) && ours &&
         pdl_sql_exec(*out, "PRAGMA synchronous = OFF", err);
    if (ok) return true;
    pdl_sql_close(*out);
    *out = NULL;
    return false;
}

/* Opens the index. Returns NULL when there is no index that can be used; then every journal is
 * read. */
static sql *open_index(const char *folder) {
    pdl_buf path = PDL_BUF;
    pdl_err err = {0};
    sql *q = NULL;
    pdl_buf_putf(&path, "%s/runs.db", folder);
    if (!open_once(pdl_buf_str(&path), &q, &err)) {
        pdl_err_fini(&err);
        unlink(pdl_buf_z(&path));
        if (!open_once(pdl_buf_str(&path), &q, &err)) q = NULL;
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&path);
    return q;
}

typedef struct indexed {
    pdl_str name;
    int64_t size, changed;
    pdl_durable_summary s; /* the texts of s are in the arena */
    char *path;
} indexed;

struct index_listing {
    const pdl_runs_use *use;
    pdl_arena *arena;
    pdl_map known;   /* name -> indexed * */
    pdl_map orphans; /* name of a journal that is gone -> indexed * */
    PDL_VEC(indexed *) all;
};

static char *keep(pdl_arena *a, pdl_str s) { return (char *)(uintptr_t)pdl_arena_str(a, s).p; }

static bool on_row(void *user, sql *q, sql_row *row) {
    struct index_listing *l = user;
    indexed *x = pdl_arena_new(l->arena, indexed);
    int64_t state = pdl_sql_int(q, row, 3);
    pdl_str place = pdl_sql_text(q, row, 6);
    *x = (indexed){
        .name = pdl_arena_str(l->arena, pdl_sql_text(q, row, 0)),
        .size = pdl_sql_int(q, row, 1),
        .changed = pdl_sql_int(q, row, 2),
        .s = {.state =
                  state >= 0 && state <= PDL_RUN_WAITING ? (pdl_run_state)state : PDL_RUN_KILLED,
              .id = keep(l->arena, pdl_sql_text(q, row, 4)),
              .file = keep(l->arena, pdl_sql_text(q, row, 5)),
              .place = place.p ? keep(l->arena, place) : NULL,
              .started = pdl_sql_num(q, row, 7),
              .ended = pdl_sql_num(q, row, 8),
              .calls = pdl_sql_int(q, row, 9),
              .tokens = pdl_sql_int(q, row, 10),
              .effects = pdl_sql_int(q, row, 11),
              .cost = pdl_sql_num(q, row, 12)},
    };
    pdl_map_put(&l->known, x->name, x);
    return true;
}

static int64_t changed_ns(const struct stat *st) { return pdl_os_modified_ns(st); }

static void put_row(sql *q, pdl_str name, const struct stat *st, const pdl_durable_summary *s) {
    pdl_err ignored = {0};
    sql_arg args[] = {SQL_S(name),
                      SQL_I(st->st_size),
                      SQL_I(changed_ns(st)),
                      SQL_I(s->state),
                      SQL_S(pdl_str_of(s->id)),
                      SQL_S(pdl_str_of(s->file)),
                      SQL_S(s->place ? pdl_str_of(s->place) : (pdl_str){0}),
                      SQL_D(s->started),
                      SQL_D(s->ended),
                      SQL_I(s->calls),
                      SQL_I(s->tokens),
                      SQL_I(s->effects),
                      SQL_D(s->cost)};
    if (!pdl_sql_run(q, ST_PUT, args, sizeof args / sizeof *args, SQL_NO_ROWS, &ignored))
        pdl_err_fini(&ignored);
}

static void copy_summary(pdl_arena *a, const pdl_durable_summary *from, pdl_durable_summary *to) {
    *to = *from;
    to->id = keep(a, pdl_str_of(from->id));
    to->file = keep(a, pdl_str_of(from->file));
    to->place = from->place ? keep(a, pdl_str_of(from->place)) : NULL;
}

/* Makes the entry of a file without rows: its process was killed before the first row, or has just
 * begun. The file is listed by its name and age, so that the user can remove it. */
static indexed *unbegun(struct index_listing *l, const struct stat *st, pdl_str path) {
    indexed *x = pdl_arena_new(l->arena, indexed);
    *x = (indexed){.s = {.state = pdl_lock_is_held(path) ? PDL_RUN_RUNNING : PDL_RUN_KILLED,
                         .id = keep(l->arena, PDL_STR("")),
                         .file = keep(l->arena, PDL_STR("?"))}};
    x->s.started = (double)st->st_mtime;
    return x;
}

/* Names a run by its file. The rows of a copy hold the id of the original, which cannot name the
 * copy. */
static void name_run(struct index_listing *l, indexed *x, pdl_str file) {
    pdl_str name = pdl_str_sub(file, 0, file.n - (sizeof SUFFIX - 1));
    if (!pdl_str_is(name, x->s.id)) x->s.id = keep(l->arena, name);
}

/* Lists a journal from the index, or by reading it. When a log is beside the journal, the run is in
 * progress or was killed. */
static void look_at(struct index_listing *l, sql *q, const char *folder, const char *file) {
    pdl_str name = pdl_str_of(file);
    pdl_buf path = PDL_BUF, log = PDL_BUF;
    struct stat st, beside;
    pdl_buf_putf(&path, "%s/%s", folder, file);
    pdl_db_put_name(pdl_buf_str(&path), PDL_DB_LOG, &log);
    indexed *x = pdl_map_find(&l->known, name);
    bool there = stat(pdl_buf_z(&path), &st) == 0 && S_ISREG(st.st_mode);
    bool fits = there && x && x->size == st.st_size && x->changed == changed_ns(&st) &&
                stat(pdl_buf_z(&log), &beside) != 0;
    if (there && !fits) {
        pdl_durable_summary s;
        pdl_err err = {0};
        x = NULL;
        if (pdl_durable_summary_read(pdl_buf_str(&path), &s, &err)) {
            x = pdl_arena_new(l->arena, indexed);
            copy_summary(l->arena, &s, &x->s);
            if (q && s.state != PDL_RUN_RUNNING && stat(pdl_buf_z(&path), &st) == 0)
                put_row(q, name, &st, &s);
            pdl_durable_summary_fini(&s);
        } else if (!st.st_size || pdl_store_is_unbegun(pdl_buf_str(&path))) {
            x = unbegun(l, &st, pdl_buf_str(&path));
        } else if (l->use->unreadable) {
            l->use->unreadable(l->use->user, pdl_buf_str(&path), err.msg);
        }
        if (x && x->s.started <= 0) x->s.started = (double)st.st_mtime;
        pdl_err_fini(&err);
    }
    if (there && x) {
        name_run(l, x, name);
        x->path = keep(l->arena, pdl_buf_str(&path));
        *pdl_vec_push(&l->all) = x;
    }
    pdl_buf_fini(&path);
    pdl_buf_fini(&log);
}

/* Returns the name of the journal to which a file of SQLite belongs; empty when the file is not one
 * of SQLite's. */
static pdl_str journal_of(pdl_str side) {
    for (pdl_db_file i = 0; i < PDL_DB_ITSELF; i++) {
        pdl_str ending = pdl_str_of(pdl_db_ending(i));
        if (!pdl_str_ends(side, ending)) continue;
        pdl_str name = pdl_str_sub(side, 0, side.n - ending.n);
        if (pdl_str_ends(name, PDL_STR(SUFFIX))) return name;
    }
    return (pdl_str){0};
}

/* Lists the log or the index of a journal that is gone. These files remain when a user removes only
 * the journal, and SQLite would then use them for a new run with the same id. */
static void list_orphan(struct index_listing *l, const char *folder, pdl_str side) {
    pdl_str name = journal_of(side);
    if (!name.n) return;
    pdl_buf path = PDL_BUF, own = PDL_BUF;
    struct stat st, main_file;
    pdl_buf_putf(&path, "%s/%.*s", folder, PDL_FMT(name));
    pdl_buf_putf(&own, "%s/%.*s", folder, PDL_FMT(side));
    bool orphan = stat(pdl_buf_z(&path), &main_file) != 0 && errno == ENOENT &&
                  stat(pdl_buf_z(&own), &st) == 0 && S_ISREG(st.st_mode);
    if (orphan && !pdl_map_find(&l->orphans, name)) {
        indexed *x = unbegun(l, &st, pdl_buf_str(&path));
        x->name = pdl_arena_str(l->arena, name);
        x->path = keep(l->arena, pdl_buf_str(&path));
        name_run(l, x, name);
        pdl_map_put(&l->orphans, x->name, x);
        *pdl_vec_push(&l->all) = x;
    }
    pdl_buf_fini(&path);
    pdl_buf_fini(&own);
}

static int newest_first(const void *a, const void *b) {
    double x = (*(indexed *const *)a)->s.started, y = (*(indexed *const *)b)->s.started;
    return x < y ? 1 : x > y ? -1 : 0;
}

bool pdl_runs_each(const char *folder, const pdl_runs_use *use, pdl_err *err) {
    DIR *d = opendir(folder);
    if (!d)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot open %s: %s", folder,
                           strerror(errno));
    struct index_listing l = {.use = use, .arena = pdl_arena_make()};
    pdl_err ignored = {0};
    sql *q = open_index(folder);
    if (q && !(pdl_sql_run(q, ST_ALL, NULL, 0, (sql_rows){on_row, &l}, &ignored) &&
               pdl_sql_exec(q, "BEGIN", &ignored)))
        pdl_err_fini(&ignored);
    for (struct dirent *x; (x = readdir(d));)
        if (pdl_str_ends(pdl_str_of(x->d_name), PDL_STR(SUFFIX)))
            look_at(&l, q, folder, x->d_name);
        else
            list_orphan(&l, folder, pdl_str_of(x->d_name));
    closedir(d);
    if (q && !pdl_sql_exec(q, "COMMIT", &ignored)) pdl_err_fini(&ignored);
    pdl_sql_close(q);
    if (l.all.n) qsort(l.all.p, l.all.n, sizeof *l.all.p, newest_first);
    for (size_t i = 0; i < l.all.n; i++)
        if (!use->run(use->user, pdl_str_of(l.all.p[i]->path), &l.all.p[i]->s)) break;
    pdl_vec_fini(&l.all);
    pdl_map_fini(&l.known);
    pdl_map_fini(&l.orphans);
    pdl_arena_free(l.arena);
    return true;
}

static pdl_val text_or_null(const char *s) { return s ? pdl_textz(s) : pdl_null(); }

static pdl_val time_or_null(double s) { return s > 0 ? pdl_float(s) : pdl_null(); }

pdl_val pdl_runs_summary(const pdl_durable_summary *s) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(12), "id", text_or_null(s->id));
    d = pdl_dict_putz(d, "program", text_or_null(s->file));
    d = pdl_dict_putz(d, "state", pdl_textz(pdl_run_state_name(s->state)));
    d = pdl_dict_putz(d, "started", time_or_null(s->started));
    d = pdl_dict_putz(d, "ended", time_or_null(s->ended));
    d = pdl_dict_putz(d, "calls", pdl_int(s->calls));
    d = pdl_dict_putz(d, "tokens", pdl_int(s->tokens));
    d = pdl_dict_putz(d, "cost", pdl_float(s->cost));
    return pdl_dict_putz(d, "place", text_or_null(s->place));
}

void pdl_runs_note(const char *folder, pdl_str path) {
    pdl_durable_summary s;
    pdl_err ignored = {0};
    struct stat st;
    pdl_str name = pdl_file_name(path);
    if (!pdl_durable_summary_read(path, &s, &ignored)) {
        pdl_err_fini(&ignored);
        return;
    }
    char *z = pdl_str_dup(path);
    sql *q = s.state != PDL_RUN_RUNNING && stat(z, &st) == 0 ? open_index(folder) : NULL;
    if (q) put_row(q, name, &st, &s);
    pdl_sql_close(q);
    pdl_free(z);
    pdl_durable_summary_fini(&s);
}
