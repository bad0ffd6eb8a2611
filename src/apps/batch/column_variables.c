/* column_variables.c -- compares the columns with the variables of the program; see
 * column_variables.h. A wrong name of a column or a variable would make every row fail after it was
 * paid for. So the names that the program reads and sets are collected, and mistakes are reported
 * with the column that may be meant.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/column_variables.h"

#include <string.h>

#include "api/import_search.h"
#include "base/hash.h"
#include "base/plural.h"
#include "base/utf8.h"
#include "batch/output.h"
#include "check/check.h"
#include "lang/walk.h"

#include "base/banned.h"

/* The names that a program needs from outside, and the names that it sets itself. */
typedef struct batch_names {
    pdl_map needed, optional, set;
    /* Up to three blocks: a block that reads standard input, a block that writes a file, and a
     * block that writes a file with a fixed name. NULL when there is no such block. */
    const pdl_block *reads, *writes, *same_file;
} names;

static char mark; /* the value of every entry of the maps, which are used as sets */

static void add(pdl_map *m, pdl_str name) {
    if (name.n && !pdl_map_find(m, name)) pdl_map_put(m, name, &mark);
}

/* --- the program ------------------------------------------------------------------------------ */

static void find_model(void *user, const pdl_block *b) {
    bool *asks = user;
    *asks = *asks || b->kind == PDL_BLOCK_model;
    if (!*asks) pdl_block_each_child(b, find_model, asks);
}

bool pdl_batch_plan_asks(const pdl_program *p) {
    bool asks = false;
    find_model(&asks, p->main);
    return asks;
}

typedef struct batch_files_seen {
    pdl_finder finder;
    pdl_buf *out;
} files_seen;

static bool open_and_note(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                          pdl_err *err) {
    files_seen *f = user;
    char hex[65];
    if (!pdl_find_open(&f->finder, module, name, bytes, err)) return false;
    pdl_hash_hex(pdl_buf_str(bytes), hex);
    pdl_buf_putf(f->out, " %s", hex);
    return true;
}

void pdl_batch_plan_put_files(const pdl_batch_options *o, pdl_buf *out) {
    files_seen f = {.finder = {.file = o->program->source->name}, .out = out};
    f.finder.path = pdl_session_path(o->session, &f.finder.n_path);
    pdl_program_check(o->program,
                      &(pdl_check_options){.open = open_and_note, .user = &f, .no_lint = true});
}

static void on_input(void *user, pdl_str name, bool optional) {
    names *s = user;
    add(optional ? &s->optional : &s->needed, name);
}

static void find_needed(const pdl_batch_options *o, names *s) {
    pdl_finder finder = {.file = o->program->source->name};
    finder.path = pdl_session_path(o->session, &finder.n_path);
    size_t n = pdl_is_dict(o->variables) ? pdl_dict_len(o->variables) : 0;
    PDL_VEC(pdl_str) given = {0};
    for (size_t i = 0; i < n; i++)
        *pdl_vec_push(&given) = pdl_str_get(pdl_dict_key_at(o->variables, i));
    pdl_program_check(o->program, &(pdl_check_options){
                                      .open = pdl_find_open,
                                      .user = &finder,
                                      .names = given.p,
                                      .n_names = given.n,
                                      .no_lint = true,
                                      .input = on_input,
                                      .input_user = s,
                                  });
    pdl_vec_fini(&given);
}

static void collect_fors(names *s, const pdl_fors *f) {
    for (uint32_t i = 0; f && i < f->n; i++)
        if (f->names[i] && f->names[i]->kind == PDL_TREE_CONST && pdl_is_str(f->names[i]->value))
            add(&s->set, pdl_str_get(f->names[i]->value));
}

static bool is_null(const pdl_tree *t) {
    return !t || (t->kind == PDL_TREE_CONST && pdl_is_null(t->value));
}

/* Collects the names that a block and its children set, and finds the blocks that read standard
 * input or write files. Blocks nest at most PDL_MAX_BLOCK_DEPTH deep. */
static void collect(void *user, const pdl_block *b) {
    names *s = user;
    add(&s->set, b->def.s);
    for (uint32_t i = 0; i < b->rare->defs.n; i++) add(&s->set, b->rare->defs.names[i]);
    if (b->kind == PDL_BLOCK_model) add(&s->set, PDL_AS(model, b)->response.s);
    if (b->kind == PDL_BLOCK_repeat) {
        add(&s->set, PDL_AS(repeat, b)->index.s);
        collect_fors(s, PDL_AS(repeat, b)->fors);
    }
    if (b->kind == PDL_BLOCK_read && is_null(PDL_AS(read, b)->path) && !s->reads) s->reads = b;
    if (b->kind == PDL_BLOCK_aggregator && PDL_AS(aggregator, b)->aggregator->is_file) {
        const pdl_tree *file = PDL_AS(aggregator, b)->aggregator->file;
        if (!s->writes) s->writes = b;
        if (!s->same_file && file && file->kind == PDL_TREE_CONST) s->same_file = b;
    }
    pdl_block_each_child(b, collect, s);
}

/* --- checks ----------------------------------------------------------------------------------- */

pdl_str pdl_batch_plan_variable(const pdl_batch_options *o, pdl_str column) {
    for (size_t i = 0; i < o->n_map; i++)
        if (pdl_str_eq(o->map[i].column, column)) return o->map[i].variable;
    return column;
}

bool pdl_batch_plan_is_own(pdl_str column) {
    for (size_t i = 0; i < BATCH_OWN_COLUMNS; i++)
        if (pdl_str_is(column, pdl_batch_own_column(i))) return true;
    return false;
}

static void put_list(const pdl_str *columns, size_t n, pdl_buf *out) {
    enum { SHOWN = 12 };
    if (!n) PDL_PUT(out, "none");
    for (size_t i = 0; i < n && i < SHOWN; i++)
        pdl_buf_putf(out, "%s%.*s", i ? ", " : "", PDL_FMT(pdl_utf8_cut(columns[i], 60)));
    if (n > SHOWN) pdl_buf_putf(out, ", and %zu more", n - SHOWN);
}

static bool check_map(const pdl_batch_options *o, const pdl_str *columns, size_t n, pdl_err *err) {
    for (size_t i = 0; i < o->n_map; i++) {
        bool there = false;
        for (size_t k = 0; k < n; k++) there = there || pdl_str_eq(o->map[i].column, columns[k]);
        for (size_t k = 0; k < i; k++)
            if (pdl_str_eq(o->map[i].column, o->map[k].column))
                return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                   "--map names the column '%.*s' twice",
                                   PDL_FMT(o->map[i].column));
        if (there) continue;
        pdl_str table = o->shown_input.n ? o->shown_input : o->input.name;
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "--map: %.*s has no column '%.*s'",
                    PDL_FMT(table), PDL_FMT(o->map[i].column));
        pdl_str near = pdl_str_nearest(o->map[i].column, columns, n);
        if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
        return false;
    }
    return true;
}

/* Refuses names of columns that contain a NUL: such a name cannot be given to an option, and many
 * programs would cut it at the NUL. */
static bool check_text(const pdl_batch_options *o, const pdl_str *columns, size_t n, pdl_err *err) {
    for (size_t i = 0; i < n; i++)
        if (columns[i].n && memchr(columns[i].p, 0, columns[i].n)) {
            pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                        "%.*s: the name of column %zu has a NUL character in it",
                        PDL_FMT(o->input.name), i + 1);
            pdl_err_hint(err, "tables are text in UTF-8: rename the column, or save it as that");
            return false;
        }
    return true;
}

static bool check_own(const pdl_batch_options *o, const pdl_str *columns, size_t n, pdl_err *err) {
    for (size_t i = 0; i < n; i++)
        if (pdl_batch_plan_is_own(columns[i]))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "%.*s has a column '%.*s', which the output has itself: rename it",
                               PDL_FMT(o->input.name), PDL_FMT(columns[i]));
    return true;
}

static bool check_clash(const pdl_batch_options *o, const names *s, pdl_str column, pdl_err *err) {
    pdl_str v = pdl_batch_plan_variable(o, column);
    bool sets = pdl_map_find(&s->set, v) != NULL;
    if (!sets && !pdl_str_starts(v, PDL_STR("pdl_")) && !pdl_str_is(v, "stdlib")) return true;
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                "the column '%.*s' would be the variable '%.*s', which %s", PDL_FMT(column),
                PDL_FMT(v), sets ? "the program itself sets" : "has another meaning");
    pdl_err_hint(err, "--map %.*s=NAME gives it another name", PDL_FMT(column));
    return false;
}

/* Refuses a variable that gets two values, from two columns or from --data and a column. */
static bool check_once(const pdl_batch_options *o, pdl_map *seen, pdl_str column, pdl_err *err) {
    pdl_str v = pdl_batch_plan_variable(o, column);
    bool data = pdl_is_dict(o->variables) && !pdl_is_absent(pdl_dict_gets(o->variables, v));
    if (!data && !pdl_map_find(seen, v)) {
        add(seen, v);
        return true;
    }
    if (data)
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "%s and the column '%.*s' both give the variable '%.*s'",
                    o->giver ? o->giver : "--data", PDL_FMT(column), PDL_FMT(v));
    else
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "the column '%.*s' would be the variable '%.*s', which another column gives",
                    PDL_FMT(column), PDL_FMT(v));
    pdl_err_hint(err, "--map %.*s=NAME gives the column another name", PDL_FMT(column));
    return false;
}

/* Returns a separator that seems to separate the header, for a header that was read as one cell.
 * The result has the form that --separator takes. It is NULL when no separator fits. */
static const char *other_separator(pdl_str header) {
    static const struct {
        const char *byte, *word;
    } rows[] = {{";", "';'"}, {"\t", "tab"}, {"|", "'|'"}, {",", "','"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (pdl_str_find(header, pdl_str_of(rows[i].byte), 0) != PDL_NOT_FOUND) return rows[i].word;
    return NULL;
}

/* Returns a column whose name is nearly the given one, such as "Word" or " word" for "word"; empty
 * when there is none. */
static pdl_str column_like(pdl_str name, const pdl_str *columns, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (pdl_str_eq_nocase(pdl_str_trim(columns[i]), name)) return columns[i];
    return pdl_str_nearest(name, columns, n);
}

static bool is_mapped(const pdl_batch_options *o, pdl_str column) {
    for (size_t i = 0; i < o->n_map; i++)
        if (pdl_str_eq(o->map[i].column, column)) return true;
    return false;
}

static void advise(const pdl_batch_options *o, pdl_str name, const pdl_str *columns, size_t n,
                   pdl_err *err) {
    bool one_cell = n == 1 && o->input.form == PDL_TABLE_csv;
    const char *separator = one_cell ? other_separator(columns[0]) : NULL;
    pdl_str like = column_like(name, columns, n);
    if (o->hidden.n && pdl_str_eq(o->hidden, name))
        pdl_err_hint(err, "the column '%.*s' has the right answers, which a program does not see",
                     PDL_FMT(name));
    else if (separator)
        pdl_err_hint(err, "the cells of CSV are separated by commas; --separator %s reads others",
                     separator);
    else if (like.n && is_mapped(o, like))
        pdl_err_hint(err, "--map gives the column %.*s another name", PDL_FMT(like));
    else if (like.n)
        pdl_err_hint(err, "--map '%.*s=%.*s' takes that column", PDL_FMT(like), PDL_FMT(name));
    else
        pdl_err_hint(err, "--map COLUMN=%.*s, or --data %.*s=VALUE for all rows", PDL_FMT(name),
                     PDL_FMT(name));
}

static bool check_needed(const pdl_batch_options *o, const names *s, const pdl_str *columns,
                         size_t n, pdl_err *err) {
    for (size_t i = 0; i < s->needed.n; i++) {
        pdl_str name = s->needed.entries[i].key;
        bool there = false;
        for (size_t k = 0; k < n && !there; k++)
            there = pdl_str_eq(pdl_batch_plan_variable(o, columns[k]), name);
        if (there) continue;
        pdl_buf list = PDL_BUF;
        put_list(columns, n, &list);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "the program needs the variable '%.*s', and no column gives it (columns: %s)",
                    PDL_FMT(name), pdl_buf_z(&list));
        advise(o, name, columns, n, err);
        pdl_buf_fini(&list);
        return false;
    }
    return true;
}

static bool check_effects(const pdl_batch_options *o, const names *s, pdl_err *err) {
    if (s->reads)
        return pdl_err_set(err, PDL_E_usage, s->reads->loc,
                           "the program reads standard input, which is one for all rows");
    if (s->same_file && o->allow_files)
        return pdl_err_set(err, PDL_E_usage, s->same_file->loc,
                           "the program writes the same file for all rows: the name of the file "
                           "must be another one for each row, such as 'out_${ id }.txt'");
    if (!s->writes || o->allow_files) return true;
    pdl_err_set(err, PDL_E_usage, s->writes->loc,
                "the program writes a file, and rows would write it at the same time");
    pdl_err_hint(err, "--allow-files allows it; the name of the file must be another for each row");
    return false;
}

static void note_unused(const pdl_batch_options *o, const names *s, const pdl_str *columns,
                        size_t n) {
    PDL_VEC(pdl_str) unused = {0};
    pdl_buf text = PDL_BUF;
    for (size_t i = 0; i < n; i++) {
        pdl_str v = pdl_batch_plan_variable(o, columns[i]);
        if (!pdl_map_find(&s->needed, v) && !pdl_map_find(&s->optional, v))
            *pdl_vec_push(&unused) = columns[i];
    }
    if (unused.n) {
        pdl_buf_putf(&text, "the program does not use the column%s ", PDL_PLURAL(unused.n));
        put_list(unused.p, unused.n, &text);
        pdl_buf_putf(&text, ", which %s kept", unused.n == 1 ? "is" : "are");
        o->note(o->user, pdl_buf_z(&text));
    }
    pdl_buf_fini(&text);
    pdl_vec_fini(&unused);
}

bool pdl_batch_plan_check(const pdl_batch_options *o, const pdl_str *columns, size_t n,
                          pdl_err *err) {
    names s = {0};
    find_needed(o, &s);
    collect(&s, o->program->main);
    bool ok = check_text(o, columns, n, err) && check_map(o, columns, n, err) &&
              check_own(o, columns, n, err) && check_effects(o, &s, err);
    pdl_map seen = {0};
    for (size_t i = 0; ok && i < n; i++)
        ok = check_clash(o, &s, columns[i], err) && check_once(o, &seen, columns[i], err);
    pdl_map_fini(&seen);
    ok = ok && check_needed(o, &s, columns, n, err);
    if (ok && o->note) note_unused(o, &s, columns, n);
    pdl_map_fini(&s.needed);
    pdl_map_fini(&s.optional);
    pdl_map_fini(&s.set);
    return ok;
}
