/* batch_loop.c -- the loop of a batch; see batch_loop.h. Each turn has four steps. Rows are read
 * while slots are free. Runs that can continue are stepped, and a run that ends makes room for the
 * next row at once. Finished rows are committed and written. Then the loop waits for answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/batch_loop.h"

#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/limits.h"
#include "batch/column_variables.h"
#include "batch/files.h"
#include "batch/provider_batch.h"
#include "batch/rows_impl.h"
#include "io/clock.h"
#include "value/json_put.h"
#include "value/json_read.h"
#include "value/json_write.h"
#include "value/label.h"
#include "vm/vm.h"

#include "base/banned.h"

/* AT_ONCE is the maximum number of rows that one call reads or takes. The slots alone do not limit
 * this number, because finished and broken rows need no slot. */
enum { AT_ONCE = 256, PIPE_MS = 20, LOOK_MS = 1000 };

static double wall(void) { return (double)pdl_clock_wall_ns() / 1e9; }

void pdl_batch_row_hash(const pdl_row *row, char out[BATCH_HASH + 1]) {
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    char hex[65];
    bool ok = pdl_json_write(row->columns, PDL_JSON_LOOSE | PDL_JSON_NAN, 0, &text, &ignored);
    if (!ok || row->problem) pdl_buf_putf(&text, "!%s", row->problem ? row->problem : ignored.msg);
    pdl_hash_hex(pdl_buf_str(&text), hex);
    memcpy(out, hex, BATCH_HASH);
    out[BATCH_HASH] = 0;
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
}

/* --- a row that is finished ------------------------------------------------------------------- */

/* The outcome of a row. result is borrowed, and absent when the row failed. */
typedef struct batch_outcome {
    pdl_vref result;
    pdl_str error, place;
    const char *kind; /* kind of the error; NULL when there was no error */
    int64_t calls, prompt, completion;
    double cost;
} outcome;

static pdl_val text_or_null(pdl_str s, bool there) { return there ? pdl_text(s) : pdl_null(); }

static bool put_output(const flight *f, const outcome *c, int flags, pdl_buf *out, pdl_err *err) {
    pdl_val row = pdl_dict_merge(pdl_dict_new(pdl_dict_len(f->row.columns) + BATCH_OWN_COLUMNS),
                                 f->row.columns);
    bool failed = c->kind != NULL;
    row = pdl_dict_putz(row, pdl_batch_own_column(BATCH_RESULT),
                        failed ? pdl_null() : pdl_keep(c->result));
    row = pdl_dict_putz(row, pdl_batch_own_column(BATCH_ERROR), text_or_null(c->error, failed));
    row = pdl_dict_putz(row, pdl_batch_own_column(BATCH_PLACE),
                        text_or_null(c->place, failed && c->place.n));
    bool ok = pdl_json_write(row, PDL_JSON_SPACED | PDL_JSON_LOOSE | flags, 0, out, err);
    pdl_drop(row);
    return ok;
}

/* Returns true for a float that a cell of the output can hold although JSON cannot: in CSV this is
 * every float, in SQLite every float except NaN. */
static bool is_cell(const window *w, pdl_vref v) {
    pdl_table_form form = w->o->output.form;
    if (!pdl_is(v, PDL_V_FLOAT)) return false;
    return form == PDL_TABLE_csv || (form == PDL_TABLE_sqlite && !isnan(pdl_float_of(v)));
}

/* Returns a column in the form that is written to the output. NaN and infinite numbers, which come
 * from Parquet files, SQLite and Python's JSON, become null where is_cell does not allow them. A
 * column that is too long becomes null, too. *lost is set when a number became null. */
static pdl_val writable(const window *w, pdl_vref v, bool *lost) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err ignored = {0};
    pdl_val out = pdl_null();
    bool ok = is_cell(w, v) || pdl_json_write(v, PDL_JSON_LOOSE, 0, &text, &ignored);
    if (ok) {
        out = pdl_keep(v);
    } else {
        pdl_err_fini(&ignored);
        pdl_buf_clear(&text);
        if (pdl_json_write(v, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &text, &ignored) &&
            pdl_json_read(pdl_buf_str(&text), PDL_JSON_PYTHON, &out, NULL, &ignored))
            *lost = true;
    }
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    return out;
}

static void note_lost(window *w, const flight *f, pdl_str column) {
    pdl_buf text = PDL_BUF;
    if (w->noted_lost || !w->o->note) return;
    w->noted_lost = true;
    pdl_buf_putf(&text,
                 "row %llu, column '%.*s': NaN and infinite numbers are null in the output, since "
                 "JSON does not have them; a Parquet file keeps them (this is said once)",
                 (unsigned long long)f->row.number, PDL_FMT(column));
    w->o->note(w->o->user, pdl_buf_z(&text));
    pdl_buf_fini(&text);
}

static void make_writable(window *w, flight *f) {
    pdl_val kept = pdl_dict_new(pdl_dict_len(f->row.columns));
    for (size_t i = 0; i < pdl_dict_len(f->row.columns); i++) {
        bool lost = false;
        pdl_val v = writable(w, pdl_dict_val_at(f->row.columns, i), &lost);
        if (lost) note_lost(w, f, pdl_str_get(pdl_dict_key_at(f->row.columns, i)));
        kept = pdl_dict_put(kept, pdl_keep(pdl_dict_key_at(f->row.columns, i)), v);
    }
    pdl_drop(f->row.columns);
    f->row.columns = kept;
}

static void put_facts(const window *w, const flight *f, const outcome *c, pdl_buf *out) {
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "seq", (int64_t)w->writer->seq);
    pdl_json_put_int(out, "calls", c->calls);
    pdl_json_put_int(out, "prompt_tokens", c->prompt);
    pdl_json_put_int(out, "completion_tokens", c->completion);
    if (c->cost > 0) {
        pdl_json_put_key(out, "cost");
        pdl_buf_putf(out, "%.9g", c->cost);
    }
    if (c->kind) pdl_json_put_text(out, "kind", pdl_str_of(c->kind));
    if (w->o->keep) {
        pdl_json_put_key(out, "requests");
        pdl_json_open(out, '[');
        pdl_session_redact(w->o->session, pdl_buf_str(&f->requests), out);
        PDL_PUT(out, "]");
    }
    pdl_buf_putc(out, '}');
}

static void count(window *w, const outcome *c) {
    pdl_batch_totals *t = w->totals;
    t->finished++;
    t->failed += c->kind != NULL;
    t->calls += c->calls;
    t->prompt_tokens += c->prompt;
    t->completion_tokens += c->completion;
    t->cost += c->cost;
}

/* Begins no further rows, for the reason `why`. A second call keeps the first reason. */
static void drain(window *w, pdl_err *why) {
    w->draining = true;
    if (w->why.kind)
        pdl_err_fini(why);
    else
        pdl_err_move(&w->why, why);
}

/* Ends the batch when this row has failed and more rows have failed than are allowed. */
static void judge(window *w, const flight *f, const outcome *c) {
    const pdl_batch_options *o = w->o;
    pdl_err why = {0};
    pdl_buf at = PDL_BUF;
    if (!c->kind || o->max_errors < 0 || w->totals->failed <= (uint64_t)o->max_errors) return;
    pdl_rows_put_place(w->rows, &f->row, &at);
    pdl_err_set(&why, PDL_E_runtime, (pdl_loc){0}, "%s: row %llu failed: %.*s", pdl_buf_z(&at),
                (unsigned long long)f->row.number, PDL_FMT(c->error));
    if (o->max_errors > 0)
        pdl_err_hint(&why, "that is more than --max-errors %lld", (long long)o->max_errors);
    else
        pdl_err_hint(&why, "--on-error keep continues with the others");
    pdl_buf_fini(&at);
    drain(w, &why);
}

/* Checks that JSON can hold a result: NaN and infinite numbers are an error. */
static bool is_result_json(pdl_vref result, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err why = {0};
    bool ok = pdl_json_write(result, PDL_JSON_LOOSE, 0, &text, &why);
    if (!ok && why.kind == PDL_E_type && pdl_str_is(pdl_str_of(why.py_class), "ValueError"))
        pdl_err_set(err, why.kind, (pdl_loc){0}, "the result: " PDL_ROWS_NOT_JSON);
    else if (!ok)
        pdl_err_move(err, &why);
    pdl_err_fini(&why);
    pdl_buf_fini(&text);
    return ok;
}

/* Appends a row whose columns may have numbers that JSON does not have. A result with such a number
 * is an error. */
static bool put_with_nan(const flight *f, const outcome *c, pdl_buf *json, pdl_err *err) {
    bool ok = c->kind || is_result_json(c->result, err);
    pdl_buf_clear(json);
    return ok && put_output(f, c, PDL_JSON_NAN, json, err);
}

/* Makes the row of the output as JSON. Columns that cannot be written become null. A result that
 * cannot be written makes the row fail; *c then has the error. */
static void write_output(window *w, flight *f, outcome *c, pdl_buf *json, pdl_err *unwritable) {
    pdl_err first = {0}, last = {0};
    if (put_output(f, c, 0, json, &first)) return;
    pdl_err_fini(&first);
    if (w->o->output.form == PDL_TABLE_parquet && put_with_nan(f, c, json, &first)) return;
    pdl_err_fini(&first);
    make_writable(w, f);
    if (!put_with_nan(f, c, json, unwritable)) {
        c->result = pdl_absent();
        c->kind = pdl_err_kind_name(unwritable->kind);
        c->error = pdl_str_of(unwritable->msg);
        pdl_buf_clear(json);
        /* each column fits, but all of them together are too long */
        if (!put_output(f, c, PDL_JSON_NAN, json, &last)) {
            pdl_err_fini(&last);
            pdl_drop(f->row.columns);
            f->row.columns = pdl_dict_new(0);
            pdl_buf_clear(json);
            if (!put_output(f, c, 0, json, &last)) PDL_BUG("no row: %s", last.msg);
        }
    }
    pdl_err_fini(&last);
}

static bool finish(window *w, flight *f, const outcome *c, pdl_err *err) {
    pdl_buf json = PDL_BUF_INIT(PDL_MAX_TEXT), facts = PDL_BUF;
    pdl_err unwritable = {0};
    outcome other = *c;
    write_output(w, f, &other, &json, &unwritable);
    w->writer->seq++;
    put_facts(w, f, &other, &facts);
    count(w, &other);
    pdl_ledger_row row = {.hash = {f->hash, BATCH_HASH},
                          .failed = other.kind != NULL,
                          .start = f->start,
                          .end = wall(),
                          .facts = pdl_buf_str(&facts)};
    pdl_batch_stats_add(w->stats, row.end - row.start, other.prompt + other.completion,
                        pdl_str_of(other.kind));
    bool ok = pdl_batch_writer_add(w->writer, f->row.number, &row, &json, err);
    judge(w, f, &other);
    pdl_err_fini(&unwritable);
    pdl_buf_fini(&facts);
    pdl_buf_fini(&json);
    return ok;
}

/* --- slots ------------------------------------------------------------------------------------ */

static uint32_t slot_of(const window *w, const flight *f) { return (uint32_t)(f - w->flights); }

static void free_slot(window *w, flight *f) {
    pdl_run_pool_end(w->pool, slot_of(w, f));
    pdl_row_fini(&f->row);
    pdl_buf_fini(&f->requests);
    *f = (flight){.row = {.columns = pdl_absent()}};
    w->totals->open--;
}

/* Handles an event: keeps the model calls of a row, or announces the file that a row will write. */
static void on_event(void *user, const pdl_event *e) {
    flight *f = user;
    const pdl_effect *x = e->effect;
    pdl_err ignored = {0};
    if (e->kind != PDL_EVENT_effect) return;
    if (x->kind == PDL_EFFECT_write && f->window->o->files) {
        pdl_vref path = pdl_dict_getz(x->request, "path");
        pdl_batch_files_announce(f->window->o->files, f->row.number,
                                 pdl_is_str(path) ? pdl_str_get(path) : (pdl_str){0});
    }
    if (!f->window->o->keep || (x->kind != PDL_EFFECT_model && x->kind != PDL_EFFECT_embed)) return;
    size_t before = f->requests.len;
    if (before) pdl_buf_putc(&f->requests, ',');
    pdl_val shown = pdl_session_recorded(f->window->o->session, x->request);
    bool ok = pdl_effect_canonical(x->kind, shown, NULL, &f->requests, &ignored);
    pdl_drop(shown);
    if (ok) return;
    pdl_buf_cut(&f->requests, before);
    pdl_err_fini(&ignored);
}

static pdl_val variables_of(const window *w, const pdl_row *row) {
    pdl_val d = pdl_dict_merge(pdl_dict_new(pdl_dict_len(w->variables) + 8), w->variables);
    for (size_t i = 0; i < pdl_dict_len(row->columns); i++) {
        pdl_str column = pdl_str_get(pdl_dict_key_at(row->columns, i));
        d = pdl_dict_puts(d, pdl_batch_plan_variable(w->o, column),
                          pdl_with_label(pdl_keep(pdl_dict_val_at(row->columns, i)),
                                         PDL_LABEL_data | PDL_LABEL_FREE));
    }
    return d;
}

/* Begins a row. Takes the content of row. */
static void begin(window *w, pdl_row *row, const char *hash) {
    uint32_t slot = pdl_run_pool_take(w->pool);
    flight *f = &w->flights[slot];
    pdl_val vars = variables_of(w, row);
    bool watched = w->o->keep || w->o->files;
    *f = (flight){.row = *row, .start = wall(), .window = w, .requests = PDL_BUF};
    *row = (pdl_row){.columns = pdl_absent()};
    memcpy(f->hash, hash, sizeof f->hash);
    pdl_buf draw = PDL_BUF;
    if (w->o->put_draw) w->o->put_draw(w->o->draw_user, f->row.number, &draw);
    pdl_run_pool_begin(w->pool, slot,
                       (pdl_spawn){.code = w->code,
                                   .dir = w->o->dir,
                                   .variables = vars,
                                   .sink = {f, watched ? on_event : NULL, false},
                                   .draw = pdl_buf_str(&draw)});
    pdl_buf_fini(&draw);
    w->totals->open++;
    pdl_drop(vars);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Finishes a row that cannot be read, or that has a column for which the output has no place. Takes
 * the content of row. Columns that cannot be written are replaced. */
static bool refuse(window *w, pdl_row *row, const char *hash, pdl_err *err) {
    pdl_buf place = PDL_BUF;
    flight f = {.row = *row, .start = wall(), .requests = PDL_BUF};
    *row = (pdl_row){.columns = pdl_absent()};
    memcpy(f.hash, hash, sizeof f.hash);
    pdl_rows_put_place(w->rows, &f.row, &place);
    outcome c = {.result = pdl_absent(),
                 .error = pdl_str_of(f.row.problem),
                 .place = pdl_buf_str(&place),
                 .kind = "row"};
    bool ok = finish(w, &f, &c, err);
    pdl_row_fini(&f.row);
    pdl_buf_fini(&place);
    return ok;
}

/* Returns true when the output has the column. The search begins at column *at. Then *at is set to
 * the next column, because rows mostly have their columns in the same order. */
static bool has_place(pdl_str name, const pdl_str *columns, size_t n, size_t *at) {
    bool found = !columns;
    for (size_t i = 0; i < n && !found; i++) {
        size_t k = *at + i < n ? *at + i : *at + i - n;
        found = pdl_str_eq(columns[k], name);
        if (found) *at = k + 1 < n ? k + 1 : 0;
    }
    return found;
}

/* Removes the columns for which the output has no place. */
static void keep_columns(pdl_row *row, const pdl_str *columns, size_t n) {
    pdl_val kept = pdl_dict_new(pdl_dict_len(row->columns));
    size_t at = 0;
    for (size_t i = 0; i < pdl_dict_len(row->columns); i++) {
        pdl_str name = pdl_str_get(pdl_dict_key_at(row->columns, i));
        if (has_place(name, columns, n, &at) && !pdl_batch_plan_is_own(name))
            kept = pdl_dict_puts(kept, name, pdl_keep(pdl_dict_val_at(row->columns, i)));
    }
    pdl_drop(row->columns);
    row->columns = kept;
}

void pdl_batch_row_check(pdl_row *row, const pdl_str *columns, size_t n) {
    bool all = true;
    size_t at = 0;
    for (size_t i = 0; i < pdl_dict_len(row->columns) && all; i++) {
        pdl_str name = pdl_str_get(pdl_dict_key_at(row->columns, i));
        bool own = pdl_batch_plan_is_own(name);
        all = !own && has_place(name, columns, n, &at);
        if (all || row->problem) continue;
        pdl_batch_row_broken(row,
                             own ? "the row has a column '%.*s', which the output has itself"
                                 : "the row has a column '%.*s' that the first row does not have, "
                                   "and the output has the columns of the first row",
                             PDL_FMT(name));
    }
    if (!all) keep_columns(row, columns, n);
}

typedef struct batch_known {
    const char *hash;
    bool found, same;
} known;

static bool on_known(void *user, const pdl_ledger_row *r) {
    known *k = user;
    k->found = true;
    k->same = pdl_str_is(r->hash, k->hash);
    return false;
}

bool pdl_batch_window_refuse(const window *w, const pdl_row *row, const char *how, pdl_err *err) {
    pdl_buf at = PDL_BUF;
    pdl_rows_put_place(w->rows, row, &at);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: row %llu %s", pdl_buf_z(&at),
                (unsigned long long)row->number, how);
    /* --changed reuse needs a file: when a stream turns out to differ, rows of it are already in
     * the output */
    pdl_err_hint(err, w->o->input.stream ? "--overwrite starts over; of a file, --changed reuse "
                                           "keeps the same rows"
                                         : "--changed reuse keeps the rows that are the same, "
                                           "--overwrite starts over");
    pdl_buf_fini(&at);
    return false;
}

/* Searches the journal for the row. Refuses a row of a stream that is new, and a row that has
 * changed. */
static bool look_up(window *w, const pdl_row *row, const char *hash, bool *found, pdl_err *err) {
    known k = {.hash = hash};
    *found = false;
    if (w->all_known && row->number > w->all_known && !w->o->reuse_changed)
        return pdl_batch_window_refuse(w, row, "is new", err);
    if (row->number > w->last_known) return true;
    if (!pdl_ledger_find(w->writer->ledger, (int64_t)row->number, on_known, &k, err)) return false;
    *found = k.found;
    if (!k.found || k.same) return true;
    return pdl_batch_window_refuse(w, row, "is another than when it was asked", err);
}

/* Checks a stream that has ended: it must have as many rows as before. */
static bool check_end(const window *w, pdl_err *err) {
    bool asked = w->n_read < w->last_known;
    pdl_row row = {.number = w->n_read + 1};
    if (!w->o->input.stream || (!asked && w->n_read >= w->all_known)) return true;
    return pdl_batch_window_refuse(w, &row,
                                   asked ? "was asked, and is not in the input any more"
                                         : "is not in the input any more",
                                   err);
}

static bool take(window *w, pdl_row *row, pdl_err *err) {
    char hash[BATCH_HASH + 1];
    bool found;
    pdl_batch_row_check(row, w->columns, w->n_columns);
    pdl_batch_row_hash(row, hash);
    if (!look_up(w, row, hash, &found, err)) return false;
    if (found) return true;
    if (row->problem) return refuse(w, row, hash, err);
    begin(w, row, hash);
    return true;
}

static pdl_rows_step next_row(window *w, bool wait, pdl_row *out, pdl_err *err) {
    if (w->n_early == w->early.n) return pdl_rows_next(w->rows, wait, out, err);
    *out = w->early.p[w->n_early];
    w->early.p[w->n_early++] = (pdl_row){.columns = pdl_absent()};
    return PDL_ROWS_ROW;
}

/* Reads one more row of the batch, if one is available. */
static bool read_row(window *w, pdl_err *err) {
    pdl_row row;
    bool wait = !w->totals->open && !w->writer->turn.n && !w->ahead.rows.n;
    pdl_rows_step step = next_row(w, wait, &row, err);
    w->later = step == PDL_ROWS_LATER;
    if (step == PDL_ROWS_FAIL) return false;
    if (step == PDL_ROWS_END || !w->next) w->ended = true;
    w->read_all = step == PDL_ROWS_END;
    if (w->read_all) return check_end(w, err);
    if (step != PDL_ROWS_ROW) return true;
    w->n_read = row.number;
    if (row.number == w->next) {
        w->taken++;
        w->next = pdl_batch_sample_next(&w->chosen);
        if (w->o->limit && w->taken >= w->o->limit) w->ended = true;
        pdl_batch_ahead_put(&w->ahead, &row);
    }
    pdl_row_fini(&row);
    return true;
}

static bool read_ahead(window *w, pdl_err *err) {
    for (int n = 0; n < AT_ONCE && !w->ended && !w->later; n++) {
        if (!pdl_batch_ahead_has_room(&w->ahead)) return true;
        if (!read_row(w, err)) return false;
    }
    return true;
}

static bool begin_rows(window *w, int most, pdl_err *err) {
    w->later = false;
    for (int n = 0; n < most && pdl_run_pool_room(w->pool) && !w->draining; n++) {
        pdl_row row;
        if (!read_ahead(w, err)) return false;
        if (!pdl_batch_ahead_take(&w->ahead, &row)) return true;
        bool ok = take(w, &row, err);
        pdl_row_fini(&row);
        if (!ok) return false;
    }
    return true;
}

/* Reads at most `most` rows while there are free slots. */
static bool admit(window *w, int most, pdl_err *err) {
    pdl_cancel scope = {.flag = w->o->cancel};
    const pdl_cancel *outer = pdl_cancel_enter(&scope);
    bool ok = begin_rows(w, most, err);
    (void)pdl_cancel_enter(outer);
    return ok;
}

/* --- runs ------------------------------------------------------------------------------------- */

static void usage_of(const window *w, const flight *f, outcome *c) {
    pdl_run_use use = pdl_run_pool_use(w->pool, slot_of(w, f));
    c->calls = use.calls;
    c->prompt = use.prompt;
    c->completion = use.completion;
    c->cost = use.cost;
}

static void say_spent(const pdl_err *e, pdl_err *out) {
    pdl_err_set(out, PDL_E_budget, (pdl_loc){0}, "%s", e->msg);
    pdl_err_hint(out, "the same command with a larger --budget continues");
}

/* Returns true when a row failed because the budget of the whole batch was used up. No further row
 * is begun then. */
static bool spent(window *w, const pdl_err *e) {
    pdl_err why = {0};
    if (!pdl_run_pool_is_spent(w->pool, e)) return false;
    say_spent(e, &why);
    drain(w, &why);
    return true;
}

static bool fail(window *w, flight *f, const pdl_err *e, pdl_err *err) {
    pdl_buf place = PDL_BUF, text = PDL_BUF;
    if (spent(w, e)) return true;
    /* the row was interrupted; when the batch continues, it is run again */
    w->interrupted = w->o->cancel && *w->o->cancel;
    if (w->interrupted) return true;
    if (e->loc.src && e->loc.src->name.n)
        pdl_buf_putf(&place, "%.*s:%u", PDL_FMT(e->loc.src->name), pdl_loc_line(e->loc));
    pdl_session_put_error(w->o->session, e, &text);
    if (!text.len) PDL_PUT(&text, "the program ended by sys.exit");
    outcome c = {.result = pdl_absent(),
                 .error = pdl_buf_str(&text),
                 .place = pdl_buf_str(&place),
                 .kind = pdl_err_kind_name(e->kind)};
    usage_of(w, f, &c);
    bool ok = finish(w, f, &c, err);
    pdl_buf_fini(&text);
    pdl_buf_fini(&place);
    return ok;
}

/* Finishes the row of a run that has ended. The next row begins in its slot at once. Finished rows
 * are committed before the new row can send anything, because requests are only sent in a poll. */
static bool ended(void *user, uint32_t slot, pdl_step step, pdl_err *err) {
    window *w = user;
    flight *f = &w->flights[slot];
    const pdl_run *run = pdl_run_pool_get(w->pool, slot);
    bool ok;
    if (step == PDL_STEP_FAIL) {
        ok = fail(w, f, pdl_run_error(run), err);
    } else {
        outcome c = {.result = pdl_run_result(run)};
        usage_of(w, f, &c);
        ok = finish(w, f, &c, err);
    }
    if (!ok) return false;
    free_slot(w, f);
    return w->writer->turn.n >= AT_ONCE || admit(w, 1, err);
}

/* Steps each run that can continue, then writes the rows that finished. */
static bool step_all(window *w, pdl_err *err) {
    return pdl_run_pool_step(w->pool, err) && pdl_batch_writer_commit(w->writer, err);
}

/* --- the loop --------------------------------------------------------------------------------- */

static void tick(window *w) {
    uint64_t now = pdl_clock_ns();
    if (!w->o->tick || now - w->ticked_ns < (uint64_t)w->o->tick_ms * 1000000) return;
    w->ticked_ns = now;
    w->totals->seconds = (double)(now - w->begun_ns) / 1e9;
    pdl_rows_progress(w->rows, &w->totals->bytes, &w->totals->all_bytes);
    w->o->tick(w->o->user, w->totals);
}

static bool was_cancelled(const window *w, pdl_err *err) {
    if (!w->o->cancel || !*w->o->cancel) return false;
    (void)pdl_err_signal(err, *w->o->cancel);
    return true;
}

static int wait_ms(const window *w) {
    int most = w->o->tick && w->o->tick_ms < LOOK_MS ? (int)w->o->tick_ms : LOOK_MS;
    if (w->o->provider) return PIPE_MS;
    if (w->later && most > PIPE_MS) return PIPE_MS;
    if (w->writer->held && most > BATCH_FLUSH_MS) return BATCH_FLUSH_MS;
    return most;
}

/* Waits for the provider's answers to the rows. Returns false when the provider fails, or when the
 * budget is used up. The provider still has the requests then. */
static bool wait_for_provider(window *w, pdl_err *err) {
    pdl_err why = {0};
    if (pdl_batch_provider_wait(w->o->provider, &why)) return true;
    if (pdl_run_pool_is_spent(w->pool, &why)) {
        say_spent(&why, err);
        pdl_err_fini(&why);
    } else
        *err = why;
    return false;
}

static bool turn(window *w, pdl_err *err) {
    if (!admit(w, AT_ONCE, err) || !step_all(w, err)) return false;
    tick(w);
    bool unread = !w->ended && !w->later;
    bool more = (unread || w->ahead.rows.n) && !w->draining && pdl_run_pool_room(w->pool);
    if (!w->totals->open && !w->later) return true;
    bool answers = pdl_run_pool_wait(w->pool, more ? 0 : wait_ms(w));
    if (w->o->provider && pdl_batch_provider_open(w->o->provider))
        return more || pdl_run_pool_is_ready(w->pool) || wait_for_provider(w, err);
    if (!answers && !more && !w->later)
        pdl_run_pool_give_up(w->pool, "the row waits for an answer that cannot come");
    return true;
}

/* A batch with an interrupted row is not over: the loop checks the signal again, and fails. */
static bool is_over(const window *w) {
    return !w->interrupted && !w->totals->open && ((w->ended && !w->ahead.rows.n) || w->draining);
}

bool pdl_batch_window_run(window *w, pdl_err *err) {
    uint32_t jobs = w->o->jobs;
    w->flights = PDL_NEW_N(flight, jobs);
    for (uint32_t i = 0; i < jobs; i++) w->flights[i].row.columns = pdl_absent();
    w->pool = pdl_run_pool_new(&(pdl_run_pool_options){.session = w->o->session,
                                                       .n = jobs,
                                                       .budget = w->budget,
                                                       .counts_cost = true,
                                                       .stepped = ended,
                                                       .user = w});
    w->begun_ns = pdl_clock_ns();
    w->next = pdl_batch_sample_next(&w->chosen);
    while (!is_over(w))
        if (was_cancelled(w, err) || !turn(w, err)) return false;
    w->totals->seconds = (double)(pdl_clock_ns() - w->begun_ns) / 1e9;
    w->totals->ended = w->ended;
    if (!w->why.kind) return true;
    pdl_err_move(err, &w->why);
    return false;
}

void pdl_batch_window_fini(window *w) {
    for (uint32_t i = 0; w->pool && i < w->o->jobs; i++)
        if (pdl_run_pool_get(w->pool, i)) free_slot(w, &w->flights[i]);
    pdl_run_pool_free(w->pool);
    while (w->n_early < w->early.n) pdl_row_fini(&w->early.p[w->n_early++]);
    pdl_vec_fini(&w->early);
    pdl_batch_ahead_fini(&w->ahead);
    pdl_free(w->flights);
    pdl_err_fini(&w->why);
    pdl_drop(w->variables);
    pdl_budget_drop(w->budget);
    pdl_code_drop(w->code);
}
