/* batch.c -- begins or continues a batch, and ends it; see batch.h. Before the first row, it finds
 * out whether the journal belongs to this batch, and whether the input and the output are as the
 * journal left them. Everything that can be refused is refused here, before a row is paid for.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/batch.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/hash.h"
#include "batch/batch_loop.h"
#include "batch/column_variables.h"
#include "batch/files.h"
#include "batch/output.h"
#include "batch/provider_batch.h"
#include "effect/budget.h"
#include "io/file.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

/* MAX_EARLY rows are examined to learn the columns when the table does not name them. The types
 * are learned from the values of the first TYPED_ROWS, up to TYPED_BYTES. */
enum { MAX_EARLY = 1000, TYPED_ROWS = 32, TYPED_BYTES = 1 << 20 };

typedef struct batch {
    const pdl_batch_options *o;
    pdl_rowset *rows;
    pdl_ledger *ledger;
    writer writer;
    window window;
    PDL_VEC(pdl_str) columns; /* the columns of the input; borrowed */
    /* the columns of the output: the columns of the input, and those that a batch adds */
    PDL_VEC(pdl_str) header;
    /* the row that named the columns; absent when the table names them */
    pdl_val first;
    char *journal; /* path of the ledger; owned */
    /* the output is a stream and cannot be continued, so the journal is removed at the end */
    bool scratch;
    bool made;       /* this process has made the journal */
    uint64_t n_rows; /* rows of the table; 0 when they were not counted */
    pdl_batch_totals *totals;
    stats stats;
} batch;

/* --- the identity of a batch: a journal with equal facts is continued ------------------------ */

/* X(key, what). When a journal has another value for one of these facts, it belongs to another
 * batch. */
#define IDENTITY(X)                                                                                \
    X(program, "the program is another")                                                           \
    X(files, "a file that the program includes or imports is another")                             \
    X(variables, "the variables of --data are others")                                             \
    X(mapping, "--map is another")                                                                 \
    X(reading, "the input is read in another way (its form, --types, --sample)")                   \
    X(writing, "the output is written in another way (its form, --unordered)")
enum {
#define X(key, what) ID_##key,
    IDENTITY(X)
#undef X
        ID_COUNT
};
static const struct {
    const char *key, *what;
} identity[] = {
#define X(key, what) {#key, what},
    IDENTITY(X)
#undef X
};

static void put_identity(const pdl_batch_options *o, int id, pdl_buf *out) {
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    char hex[65];
    switch (id) {
    case ID_program:
        pdl_hash_hex(o->text, hex);
        pdl_buf_putf(out, "%s", hex);
        break;
    case ID_files: pdl_batch_plan_put_files(o, out); break;
    case ID_variables:
        if (!pdl_is_absent(o->variables) &&
            !pdl_json_write(o->variables, PDL_JSON_SORT | PDL_JSON_LOOSE, 0, &text, &ignored))
            pdl_err_fini(&ignored);
        pdl_hash_hex(pdl_buf_str(&text), hex);
        pdl_buf_putf(out, "%s", hex);
        break;
    case ID_mapping:
        for (size_t i = 0; i < o->n_map; i++)
            pdl_buf_putf(out, "%s%.*s=%.*s", i ? "\n" : "", PDL_FMT(o->map[i].column),
                         PDL_FMT(o->map[i].variable));
        break;
    case ID_reading:
        pdl_buf_putf(out, "%s%s", pdl_table_form_name(o->input.form), o->types ? " types" : "");
        if (o->sample) pdl_buf_putf(out, " sample %llu", (unsigned long long)o->sample);
        break;
    case ID_writing:
        pdl_buf_putf(out, "%s%s", pdl_table_form_name(o->output.form),
                     o->unordered ? " unordered" : "");
        if (o->output.separator != ',') pdl_buf_putf(out, " cells by '%c'", o->output.separator);
        break;
    default: break;
    }
    pdl_buf_fini(&text);
}

static bool record_identity(const batch *b, pdl_err *err) {
    bool ok = true;
    for (int i = 0; ok && i < ID_COUNT; i++) {
        pdl_buf text = PDL_BUF;
        put_identity(b->o, i, &text);
        ok = pdl_ledger_put_fact(b->ledger, identity[i].key, pdl_buf_str(&text), err);
        pdl_buf_fini(&text);
    }
    return ok && pdl_ledger_put_fact(b->ledger, "kind", PDL_STR("batch"), err) &&
           pdl_ledger_put_fact(b->ledger, "started", PDL_STR("yes"), err);
}

static bool is_program(int id) { return id == ID_program || id == ID_files; }

static bool other_batch(const batch *b, int i, pdl_err *err) {
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s is there, and %s than when it was begun",
                PDL_FMT(b->o->output.name), identity[i].what);
    pdl_err_hint(err, is_program(i) ? "--changed reuse keeps the rows that are finished, "
                                      "--overwrite starts over"
                                    : "--overwrite starts over");
    return false;
}

static bool check_identity(const batch *b, pdl_err *err) {
    bool ok = true;
    for (int i = 0; ok && i < ID_COUNT; i++) {
        pdl_buf then = PDL_BUF, now = PDL_BUF;
        put_identity(b->o, i, &now);
        ok = pdl_ledger_get_fact(b->ledger, identity[i].key, &then, err);
        bool same = pdl_str_eq(pdl_buf_str(&then), pdl_buf_str(&now));
        if (ok && !same && !(is_program(i) && b->o->reuse_changed)) ok = other_batch(b, i, err);
        pdl_buf_fini(&then);
        pdl_buf_fini(&now);
    }
    return ok;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* Reads rows until a row is not broken. That row names the columns. */
static bool look_ahead(batch *b, pdl_err *err) {
    for (size_t i = 0; i < MAX_EARLY; i++) {
        pdl_row row;
        pdl_rows_step step = pdl_rows_next(b->rows, true, &row, err);
        if (step == PDL_ROWS_FAIL) return false;
        if (step != PDL_ROWS_ROW) return true;
        *pdl_vec_push(&b->window.early) = row;
        if (row.problem) continue;
        b->first = pdl_keep(row.columns);
        for (size_t k = 0; k < pdl_dict_len(b->first); k++)
            *pdl_vec_push(&b->columns) = pdl_str_get(pdl_dict_key_at(b->first, k));
        return true;
    }
    return true;
}

/* Reads some more rows, as long as no wait is needed. The columns are checked against all of these
 * rows. */
static bool look_further(batch *b, pdl_err *err) {
    uint64_t from, now, all;
    pdl_rows_progress(b->rows, &from, &all);
    for (now = from; b->window.early.n < TYPED_ROWS && now - from < TYPED_BYTES;) {
        pdl_row row;
        pdl_rows_step step = pdl_rows_next(b->rows, false, &row, err);
        if (step == PDL_ROWS_FAIL) return false;
        if (step != PDL_ROWS_ROW) return true;
        *pdl_vec_push(&b->window.early) = row;
        pdl_rows_progress(b->rows, &now, &all);
    }
    return true;
}

static bool find_columns(batch *b, pdl_err *err) {
    size_t n;
    const pdl_str *columns = pdl_rows_columns(b->rows, &n);
    for (size_t i = 0; columns && i < n; i++) *pdl_vec_push(&b->columns) = columns[i];
    if (!columns && !look_ahead(b, err)) return false;
    bool any = columns || !pdl_is_absent(b->first);
    if (any && !pdl_batch_plan_check(b->o, b->columns.p, b->columns.n, err)) return false;
    if (any &&
        (!look_further(b, err) || !pdl_batch_plan_types(b->o, b->columns.p, b->columns.n,
                                                        b->window.early.p, b->window.early.n, err)))
        return false;
    for (size_t i = 0; i < b->columns.n; i++) *pdl_vec_push(&b->header) = b->columns.p[i];
    for (size_t i = 0; i < BATCH_OWN_COLUMNS; i++)
        *pdl_vec_push(&b->header) = pdl_str_of(pdl_batch_own_column(i));
    if (!pdl_batch_output_check_columns(&b->o->output, b->header.p, b->header.n, err)) return false;
    if (!columns && pdl_table_has_header(b->o->output.form)) {
        b->window.columns = b->header.p;
        b->window.n_columns = b->columns.n;
    }
    return true;
}

/* --- the journal ------------------------------------------------------------------------------ */

static bool exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

static bool is_same_table(const pdl_table *a, const pdl_table *b) {
    if (!pdl_str_eq_nocase(a->table, b->table)) return false;
    char *p = pdl_str_dup(a->path), *q = pdl_str_dup(b->path);
    bool same = pdl_file_is_same(p, q) && pdl_file_kind_of(p) == PDL_FILE_REGULAR;
    pdl_free(p);
    pdl_free(q);
    return same;
}

/* Returns true when the output is an open descriptor that appends to the input file. Reading would
 * then never end. */
static bool appends_to_input(const pdl_table *in, const pdl_table *out) {
    struct stat x, y;
    if (!out->standard && !out->is_open) return false;
    char *path = pdl_str_dup(in->path);
    bool there = (in->standard ? fstat(STDIN_FILENO, &x) : stat(path, &x)) == 0 &&
                 fstat(out->standard ? STDOUT_FILENO : out->fd, &y) == 0;
    pdl_free(path);
    return there && S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* Makes a temporary journal for an output that is a stream. The journal only holds rows that wait
 * for earlier rows. */
static bool make_scratch(batch *b, pdl_err *err) {
    const char *folder = getenv("TMPDIR");
    pdl_buf name = PDL_BUF;
    pdl_buf_putf(&name, "%s/pdl-batch-XXXXXX", folder && *folder ? folder : "/tmp");
    b->journal = pdl_buf_take(&name);
    b->scratch = true;
    int fd = mkstemp(b->journal);
    if (fd < 0) {
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "cannot create %s: %s", b->journal,
                    strerror(errno));
        pdl_free(b->journal);
        b->journal = NULL;
        return false;
    }
    close(fd);
    return true;
}

static bool find_journal(batch *b, pdl_err *err) {
    if (appends_to_input(&b->o->input, &b->o->output))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s and the output are one file",
                           PDL_FMT(pdl_table_shown(&b->o->input)));
    if (b->o->output.stream) return make_scratch(b, err);
    if (pdl_table_is_query(&b->o->output))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "%.*s is a query: the output is FILE.db:TABLE",
                           PDL_FMT(b->o->output.name));
    if (is_same_table(&b->o->input, &b->o->output))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s is the input and the output",
                           PDL_FMT(b->o->output.name));
    if (is_same_table(&(pdl_table){.path = b->o->program->source->name}, &b->o->output))
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%.*s is the program and the output",
                           PDL_FMT(b->o->output.name));
    b->journal = pdl_batch_output_journal(&b->o->output);
    return true;
}

static bool begin_journal(batch *b, pdl_err *err) {
    uint64_t size;
    bool there = pdl_batch_output_size(&b->o->output, &size);
    char *path = pdl_batch_output_target(b->o->output.path);
    bool whole = b->o->output.form == PDL_TABLE_parquet && exists(path);
    pdl_free(path);
    if (((there && size) || whole) && !b->o->overwrite) {
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "%.*s exists already, and there is no journal from which it could continue",
                    PDL_FMT(b->o->output.name));
        pdl_err_hint(err, "--overwrite starts it over");
        return false;
    }
    return record_identity(b, err) && pdl_ledger_commit(b->ledger, err);
}

/* --- continuing ------------------------------------------------------------------------------- */

/* Adds up the rows that earlier processes finished, and their usage. A count in the journal is left
 * out when it would make a sum larger than INT64_MAX / 4, so that two sums can be added. */
static bool on_finished(void *user, const pdl_ledger_row *r) {
    batch *b = user;
    pdl_batch_totals *t = b->totals;
    pdl_val facts;
    pdl_err ignored = {0};
    t->reused++;
    t->failed += r->failed;
    int64_t tokens = -(t->prompt_tokens + t->completion_tokens);
    pdl_str kind = {0};
    if (r->number > 0) b->window.last_known = (uint64_t)r->number;
    if (pdl_json_read(r->facts, 0, &facts, NULL, &ignored)) {
        const struct {
            const char *key;
            int64_t *to;
        } counts[] = {{"calls", &t->calls},
                      {"prompt_tokens", &t->prompt_tokens},
                      {"completion_tokens", &t->completion_tokens}};
        for (size_t i = 0; pdl_is_dict(facts) && i < sizeof counts / sizeof *counts; i++) {
            pdl_vref n = pdl_dict_getz(facts, counts[i].key);
            int64_t more = pdl_is(n, PDL_V_INT) ? pdl_int_of(n) : 0;
            if (more > 0 && more < INT64_MAX / 4 - *counts[i].to) *counts[i].to += more;
        }
        pdl_vref cost = pdl_is_dict(facts) ? pdl_dict_getz(facts, "cost") : pdl_absent();
        pdl_vref failed = pdl_is_dict(facts) ? pdl_dict_getz(facts, "kind") : pdl_absent();
        if (pdl_is(cost, PDL_V_FLOAT) && isfinite(pdl_float_of(cost)) && pdl_float_of(cost) > 0)
            t->cost += pdl_float_of(cost);
        if (pdl_is_str(failed)) kind = pdl_str_get(failed);
        tokens += t->prompt_tokens + t->completion_tokens;
        pdl_batch_stats_add(&b->stats, r->end - r->start, tokens, kind);
        pdl_drop(facts);
    }
    pdl_err_fini(&ignored);
    return true;
}

/* Sets the mark in the journal to 0, so that the whole output is written again. */
static bool rewrite(batch *b, pdl_err *err) {
    return pdl_batch_mark_put(b->ledger, &(mark){0}, err) && pdl_ledger_commit(b->ledger, err);
}

typedef struct batch_compare {
    const char *hash;
    bool found, same;
} compare;

static bool on_compare(void *user, const pdl_ledger_row *r) {
    compare *c = user;
    c->found = true;
    c->same = pdl_str_is(r->hash, c->hash);
    return false;
}

static bool is_another(const batch *b, const pdl_row *row, const char *how, pdl_err *err) {
    return pdl_batch_window_refuse(&b->window, row, how, err);
}

/* Compares a row with the row of the same number in the journal. When the row has changed, returns
 * false with an error. With --changed reuse, sets *forgot instead, and removes the row from the
 * journal, so that it is run again. */
static bool compare_row(batch *b, pdl_row *row, bool *forgot, pdl_err *err) {
    char hash[BATCH_HASH + 1];
    compare c = {.hash = hash};
    pdl_batch_row_check(row, b->window.columns, b->window.n_columns);
    pdl_batch_row_hash(row, hash);
    if (!pdl_ledger_find(b->ledger, (int64_t)row->number, on_compare, &c, err)) return false;
    if (!c.found || c.same) return true;
    if (!b->o->reuse_changed) return is_another(b, row, "is another than when it was asked", err);
    *forgot = true;
    return pdl_ledger_forget(b->ledger, (int64_t)row->number, err);
}

static bool on_last(void *user, const pdl_ledger_row *r) {
    *(uint64_t *)user = r->number > 0 ? (uint64_t)r->number : 0;
    return true;
}

/* Removes from the journal the rows that the input does not have any more. */
static bool forget_after(batch *b, uint64_t n, uint64_t last, bool *forgot, pdl_err *err) {
    pdl_row row = {.number = n + 1};
    if (n >= last) return true;
    if (!b->o->reuse_changed)
        return is_another(b, &row, "was asked, and is not in the input any more", err);
    *forgot = true;
    for (uint64_t i = n + 1; i <= last; i++)
        if (!pdl_ledger_forget(b->ledger, (int64_t)i, err)) return false;
    return true;
}

/* Stores how many rows the input had when an earlier process read it to its end; 0 when no process
 * read it to its end. */
static bool get_rows(batch *b, uint64_t *n, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = pdl_ledger_get_fact(b->ledger, "rows", &text, err);
    *n = 0;
    for (size_t i = 0; ok && i < text.len; i++)
        if (text.p[i] >= '0' && text.p[i] <= '9') *n = *n * 10 + (uint64_t)(text.p[i] - '0');
    pdl_buf_fini(&text);
    return ok;
}

static bool compare_rows(batch *b, pdl_rowset *r, bool *forgot, pdl_err *err) {
    uint64_t last = 0, n = 0, all;
    if (!pdl_ledger_each(b->ledger, 0, on_last, &last, err) || !get_rows(b, &all, err))
        return false;
    for (bool ok = true; ok;) {
        pdl_row row;
        /* the earlier process did not read the input to its end */
        if (n >= last && !all) return true;
        pdl_rows_step step = pdl_rows_next(r, true, &row, err);
        if (step == PDL_ROWS_FAIL) return false;
        if (step != PDL_ROWS_ROW) break;
        n++;
        if (n <= last) ok = compare_row(b, &row, forgot, err);
        if (ok && all && n > all && !b->o->reuse_changed) ok = is_another(b, &row, "is new", err);
        pdl_row_fini(&row);
        if (!ok) return false;
    }
    if (all && n < all && n >= last && !b->o->reuse_changed)
        return is_another(b, &(pdl_row){.number = n + 1}, "is not in the input any more", err);
    return forget_after(b, n, last, forgot, err);
}

/* Compares the input with the journal before anything is sent or written. A stream is compared
 * while it is read.
 */
static bool check_input(batch *b, pdl_err *err) {
    pdl_rowset *r;
    bool forgot = false;
    if (b->o->input.stream) return get_rows(b, &b->window.all_known, err);
    if (!pdl_rows_open(&b->o->input, b->o->types, &r, err)) return false;
    bool ok = compare_rows(b, r, &forgot, err);
    pdl_rows_close(r);
    return ok && (!forgot || (pdl_batch_files_forget(b->ledger, err) && rewrite(b, err)));
}

/* "yes" from the start of --retry-errors until the input has been read to its end */
static const char retry_key[] = "retry";

/* Lets failed rows run again. When all rows were finished before the first retry, the answers of
 * earlier uploads are not needed. Otherwise, the rows that were in flight use the successful
 * answers of earlier uploads. */
static bool begin_retry(batch *b, pdl_err *err) {
    uint64_t all;
    pdl_buf going = PDL_BUF;
    bool ok = pdl_ledger_forget_failed(b->ledger, err) && get_rows(b, &all, err) &&
              pdl_ledger_get_fact(b->ledger, retry_key, &going, err);
    if (ok && all && !going.len)
        ok = pdl_ledger_forget_facts(b->ledger, "uploads", err);
    else if (ok)
        ok = pdl_batch_provider_retry(b->ledger, err);
    pdl_buf_fini(&going);
    return ok && pdl_ledger_put_fact(b->ledger, retry_key, PDL_STR("yes"), err) && rewrite(b, err);
}

static bool continue_journal(batch *b, pdl_err *err) {
    b->window.o = b->o;
    b->window.rows = b->rows;
    if (!check_identity(b, err) || !check_input(b, err)) return false;
    if (b->o->retry_errors && !begin_retry(b, err)) return false;
    if (b->o->reuse_changed && !record_identity(b, err)) return false;
    bool ok = pdl_ledger_each(b->ledger, 0, on_finished, b, err);
    b->totals->finished = b->totals->reused;
    return ok;
}

/* Opens and locks the journal before anything else is read, so that when two processes have the
 * same output, one of them is refused. A damaged journal, or another file of that name, is not
 * changed: the user decides about it. */
static bool open_journal(batch *b, pdl_err *err) {
    bool replace = b->scratch || b->o->overwrite;
    if (pdl_ledger_take(pdl_str_of(b->journal), replace, &b->ledger, &b->made, err) &&
        (b->made ? begin_journal(b, err) : continue_journal(b, err)))
        return true;
    if (err->kind != PDL_E_replay) return false;
    err->kind = PDL_E_usage;
    pdl_err_hint(err, "--overwrite starts over");
    return false;
}

/* Reads the mark. When the output is shorter than the mark says, it is written again. */
static bool find_mark(batch *b, mark *m, pdl_err *err) {
    uint64_t size;
    if (!pdl_batch_mark_get(b->ledger, m, err)) return false;
    bool there = pdl_batch_output_size(&b->o->output, &size);
    if (there && size >= m->bytes) return true;
    *m = (mark){0};
    return rewrite(b, err);
}

/* --- the whole -------------------------------------------------------------------------------- */

static bool count_rows(batch *b, pdl_err *err) {
    if (!b->o->sample) return true;
    if (b->o->input.stream) return pdl_table_refuse_twice(&b->o->input, "--sample", err);
    pdl_rowset *r;
    if (!pdl_rows_open(&b->o->input, false, &r, err)) return false;
    pdl_rows_step step = PDL_ROWS_ROW;
    while (step == PDL_ROWS_ROW) {
        pdl_row row;
        step = pdl_rows_next(r, true, &row, err);
        b->n_rows += step == PDL_ROWS_ROW;
        if (step == PDL_ROWS_ROW) pdl_row_fini(&row);
    }
    pdl_rows_close(r);
    return step != PDL_ROWS_FAIL;
}

static void open_window(batch *b) {
    window *w = &b->window;
    w->o = b->o;
    w->rows = b->rows;
    w->writer = &b->writer;
    w->totals = b->totals;
    w->stats = &b->stats;
    w->chosen = pdl_batch_sample_of(b->n_rows, b->o->sample);
    w->budget = pdl_budget_keep(b->o->around);
    if (b->o->budget) {
        w->budget = pdl_budget_new(b->o->budget, NULL, (pdl_loc){0});
        w->budget->used[PDL_BUDGET_calls] = (double)b->totals->calls;
        w->budget->used[PDL_BUDGET_tokens] =
            (double)(b->totals->prompt_tokens + b->totals->completion_tokens);
        w->budget->used[PDL_BUDGET_cost] = b->totals->cost;
    }
    if (b->o->files) pdl_batch_files_begin(b->o->files, b->ledger);
    if (b->o->provider)
        pdl_batch_provider_begin(b->o->provider,
                                 &(pdl_batch_provider_use){.loop = pdl_session_loop(b->o->session),
                                                           .ledger = b->ledger,
                                                           .note = b->o->note,
                                                           .user = b->o->user,
                                                           .cancel = b->o->cancel,
                                                           .budget = w->budget});
    w->code = pdl_session_compile(b->o->session, b->o->program);
}

/* Removes the Parquet file of an earlier batch. The new one is made at the end, and an interrupted
 * batch must not leave the old one in its place. */
static void remove_old_output(const batch *b) {
    if (!b->made || !b->o->overwrite || b->o->output.form != PDL_TABLE_parquet) return;
    char *path = pdl_batch_output_target(b->o->output.path);
    (void)unlink(path);
    pdl_free(path);
}

static bool open_writer(batch *b, pdl_err *err) {
    mark from;
    writer *w = &b->writer;
    w->ledger = b->ledger;
    w->unordered = b->o->unordered;
    w->order = pdl_batch_sample_of(b->n_rows, b->o->sample);
    if (!find_mark(b, &from, err) ||
        !pdl_batch_output_open(&b->o->output, b->header.p, b->header.n, from.bytes, &w->output,
                               err) ||
        !pdl_batch_writer_open(w, &from, b->totals->reused, err))
        return false;
    for (size_t i = 0; pdl_rows_type(b->rows, i); i++)
        pdl_batch_output_type(b->writer.output, pdl_rows_type(b->rows, i));
    pdl_batch_output_source(b->writer.output, &b->o->input);
    return true;
}

static void note_types(const batch *b) {
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "%.*s: ", PDL_FMT(b->o->input.name));
    if (b->o->note && pdl_rows_put_note(b->rows, b->o->output.form, &text))
        b->o->note(b->o->user, pdl_buf_z(&text));
    pdl_buf_fini(&text);
}

static bool check_reports(const pdl_batch_options *o, pdl_err *err) {
    bool ok = true;
    for (size_t i = 0; ok && i < o->n_reports; i++)
        ok = pdl_batch_report_check(o, o->reports[i], err);
    return ok;
}

/* Whatever can refuse the batch comes before open_journal, which removes the journal of an earlier
 * batch when the output is overwritten. The old output is removed last. */
static bool open_all(batch *b, pdl_err *err) {
    if (!pdl_session_take_policy(b->o->session, b->o->program, err) || !check_reports(b->o, err) ||
        !pdl_batch_output_check(&b->o->output, err) ||
        !pdl_rows_open(&b->o->input, b->o->types, &b->rows, err) || !count_rows(b, err) ||
        !find_columns(b, err) ||
        !pdl_session_variables(b->o->variables, &b->window.variables, err) ||
        !find_journal(b, err) || !open_journal(b, err))
        return false;
    open_window(b);
    if (!open_writer(b, err)) return false;
    remove_old_output(b);
    return true;
}

/* Stores the results that are certain, whatever the reason is for which the batch ends. */
static bool end_all(batch *b, bool ok, pdl_err *err) {
    pdl_err second = {0};
    char rows[24];
    snprintf(rows, sizeof rows, "%llu", (unsigned long long)b->window.n_read);
    if (ok && b->window.read_all)
        ok = pdl_ledger_put_fact(b->ledger, "rows", pdl_str_of(rows), err) &&
             pdl_ledger_put_fact(b->ledger, retry_key, (pdl_str){0}, err);
    if (b->writer.output && !pdl_batch_writer_mark(&b->writer, ok ? err : &second)) ok = false;
    pdl_err_fini(&second);
    bool changed = b->totals->finished > b->totals->reused;
    return ok && pdl_rows_unchanged(b->rows, err) &&
           pdl_batch_output_finish(b->writer.output, changed, err) &&
           (b->scratch || pdl_ledger_check_there(b->ledger, err));
}

static bool is_device(pdl_str file) {
    char *path = pdl_str_dup(file);
    pdl_file_kind kind = pdl_file_kind_of(path);
    pdl_free(path);
    return kind == PDL_FILE_OTHER;
}

/* Writes the reports into files. After an interrupt, reports for pipes are left out, because a pipe
 * might have no reader. Without an interrupt, reports for pipes are written too, and a signal ends
 * the wait for a reader. */
static bool write_reports(const batch *b, bool ok, pdl_err *err) {
    bool ended = b->o->cancel && *b->o->cancel;
    pdl_cancel scope = {.flag = ended ? NULL : b->o->cancel};
    const pdl_cancel *outer = pdl_cancel_enter(&scope);
    for (size_t i = 0; i < b->o->n_reports; i++) {
        pdl_err second = {0};
        if (ended && is_device(b->o->reports[i])) continue;
        if (!pdl_batch_report_write(b->o, b->totals, &b->stats, b->o->reports[i],
                                    ok ? err : &second))
            ok = false;
        pdl_err_fini(&second);
    }
    (void)pdl_cancel_enter(outer);
    return ok;
}

bool pdl_batch_check(const pdl_batch_options *o, const pdl_str *columns, size_t n, pdl_err *err) {
    batch b = {.o = o, .first = pdl_absent()};
    b.window.variables = pdl_absent();
    bool ok = o->has_policy || pdl_session_take_policy(o->session, o->program, err);
    if (ok && columns)
        ok = pdl_batch_plan_check(o, columns, n, err);
    else if (ok)
        ok = pdl_rows_open(&o->input, o->types, &b.rows, err) && find_columns(&b, err);
    pdl_batch_window_fini(&b.window);
    pdl_rows_close(b.rows);
    if (!pdl_is_absent(b.first)) pdl_drop(b.first);
    pdl_vec_fini(&b.columns);
    pdl_vec_fini(&b.header);
    return ok;
}

bool pdl_batch_run(const pdl_batch_options *o, pdl_batch_totals *t, pdl_err *err) {
    batch b = {.o = o, .first = pdl_absent(), .totals = t};
    b.window.variables = pdl_absent();
    *t = (pdl_batch_totals){0};
    /* reading a table can be cancelled, because a view may have rows without end */
    pdl_cancel scope = {.flag = o->cancel};
    const pdl_cancel *outer = pdl_cancel_enter(&scope);
    bool ok = t->begun = open_all(&b, err);
    if (ok) note_types(&b);
    (void)pdl_cancel_enter(outer);
    ok = ok && pdl_batch_window_run(&b.window, err);
    t->finished -= b.writer.lost; /* the journal lacks these rows, because the disk was full */
    t->failed -= b.writer.lost_failed;
    ok = end_all(&b, ok, err);
    if (b.writer.output) ok = write_reports(&b, ok, err);
    pdl_batch_window_fini(&b.window);
    pdl_batch_writer_close(&b.writer);
    /* a batch that was refused before its first row leaves no files */
    if (b.scratch || (b.made && !t->begun))
        pdl_ledger_discard(b.ledger);
    else
        pdl_ledger_close(b.ledger, true);
    pdl_rows_close(b.rows);
    if (!pdl_is_absent(b.first)) pdl_drop(b.first);
    pdl_vec_fini(&b.columns);
    pdl_vec_fini(&b.header);
    pdl_free(b.journal);
    return ok;
}
