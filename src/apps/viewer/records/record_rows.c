/* record_rows.c -- makes the document of an evaluation from the rows that pdl eval -o writes. The
 * rows of a search (scores.jsonl) have the same form and are added to its document by the same
 * function.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/records/record_rows.h"

#include "base/word_list.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"

#include "base/banned.h"

/* The members of a row that the evaluation adds. All other members come from the user's table. */
static const char *const added[] = {"program", "candidate", "row",   "part",  "result",
                                    "error",   "place",     "score", "right", "feedback"};

static bool is_added(pdl_vref key) {
    return pdl_is_str(key) && PDL_STR_IN(pdl_str_get(key), added);
}

static pdl_val given_of(pdl_vref record) {
    pdl_val d = pdl_dict_new(4);
    for (size_t i = 0; i < pdl_dict_len(record); i++) {
        pdl_vref key = pdl_dict_key_at(record, i);
        if (is_added(key)) continue;
        d = pdl_dict_put(d, pdl_keep(key), pdl_keep(pdl_dict_val_at(record, i)));
    }
    return d;
}

static bool is_there(pdl_vref v) { return !pdl_is_absent(v) && !pdl_is_null(v); }

/* Adds a member of the record to the result, if it has a value. */
static pdl_val with(pdl_val result, pdl_vref record, const char *key) {
    pdl_vref v = pdl_member(record, key);
    return is_there(v) ? pdl_dict_putz(result, key, pdl_keep(v)) : result;
}

/* Appends the answer or the error, and below it the score and the judge's words. */
static void put_said(pdl_vref record, pdl_buf *out) {
    pdl_vref result = pdl_member(record, "result"), score = pdl_member(record, "score");
    pdl_str error = pdl_member_str(record, "error"), feedback = pdl_member_str(record, "feedback");
    pdl_err ignored = {0};
    if (error.n)
        pdl_buf_putf(out, "failed: %.*s", PDL_FMT(error));
    else if (is_there(result) && !pdl_stringify(result, out, &ignored))
        pdl_err_fini(&ignored);
    if (is_there(score)) PDL_PUT(out, "\n\nScore ");
    if (is_there(score) && !pdl_stringify(score, out, &ignored)) pdl_err_fini(&ignored);
    if (feedback.n) pdl_buf_putf(out, "%s%.*s", is_there(score) ? ": " : "\n\n", PDL_FMT(feedback));
}

/* Adds the columns of the verdict. These columns come first, because a narrow window shows only the
 * first columns, and the other columns may be long. */
static void put_verdict(pdl_run_table *t, pdl_vref record) {
    static const char *const verdict[] = {"score", "right"};
    for (size_t i = 0; i < sizeof verdict / sizeof verdict[0]; i++) {
        pdl_vref v = pdl_member(record, verdict[i]);
        if (is_there(v)) pdl_run_table_given(t, pdl_str_of(verdict[i]), pdl_keep(v));
    }
}

void pdl_record_rows_add(pdl_run_table *t, pdl_vref record, bool names_program) {
    pdl_val given = given_of(record), result = pdl_dict_new(6);
    pdl_buf said = PDL_BUF;
    put_verdict(t, record);
    if (names_program)
        pdl_run_table_given(t, PDL_STR("program"), pdl_text(pdl_member_str(record, "program")));
    for (size_t i = 0; i < pdl_dict_len(given); i++)
        pdl_run_table_given(t, pdl_str_get(pdl_dict_key_at(given, i)),
                            pdl_keep(pdl_dict_val_at(given, i)));
    result = with(with(with(result, record, "part"), record, "result"), record, "error");
    result = with(result, record, "feedback");
    put_said(record, &said);
    pdl_run_table_add(t, pdl_member_str(record, "program"), given, pdl_buf_str(&said), result,
                      pdl_absent());
    pdl_buf_fini(&said);
}

bool pdl_view_are_rows(pdl_str text) {
    pdl_str first = pdl_str_take(&text, PDL_STR("\n"));
    if (!pdl_may_have_member(first, "\"score\"")) return false;
    pdl_val record = pdl_next_record(&first);
    bool are = !pdl_is_absent(record) && pdl_is_absent(pdl_member(record, "kind")) &&
               pdl_member_str(record, "program").n && !pdl_is_absent(pdl_member(record, "score"));
    if (!pdl_is_absent(record)) pdl_drop(record);
    return are;
}

/* Sums over the rows of one program. */
typedef struct row_sums {
    uint64_t rows, right, failed, scored;
    double score;
} row_sums;

static void count(row_sums *s, pdl_vref record) {
    double score = pdl_record_number(record, "score");
    s->rows++;
    s->right += pdl_member_bool(record, "right");
    s->failed += pdl_member_str(record, "error").n > 0;
    if (score == score) { /* not NAN */
        s->scored++;
        s->score += score;
    }
}

static void put_sums(pdl_vref program, const row_sums *s, pdl_buf *out) {
    pdl_buf_putf(out, "%.*s", PDL_FMT(pdl_str_get(program)));
    pdl_put_counted(": ", s->right, " of ", out);
    pdl_put_counted("", s->rows, " right", out);
    if (s->scored) pdl_buf_putf(out, ", mean score %.3f", s->score / (double)s->scored);
    if (s->failed) pdl_put_counted(", ", s->failed, " failed", out);
    pdl_buf_putc(out, '\n');
}

/* Returns true when the rows are those of more than one program. */
static bool has_many_programs(pdl_str lines) {
    pdl_val first = pdl_absent();
    bool many = false;
    for (pdl_val r; !many && !pdl_is_absent(r = pdl_next_record(&lines)); pdl_drop(r)) {
        pdl_str name = pdl_member_str(r, "program");
        many = !pdl_is_absent(first) && !pdl_str_eq(name, pdl_str_get(first));
        if (pdl_is_absent(first)) first = pdl_text(name);
    }
    pdl_drop(first);
    return many;
}

bool pdl_view_rows_new(pdl_str name, pdl_str lines, pdl_view_run **out, pdl_err *err) {
    enum { MAX_PROGRAMS = 16 };
    pdl_val programs = pdl_list_new(2);
    row_sums all[MAX_PROGRAMS] = {{0}};
    pdl_run_table t = pdl_run_table_begin();
    pdl_buf text = PDL_BUF;
    bool names_program = has_many_programs(lines);
    for (pdl_val record; !pdl_is_absent(record = pdl_next_record(&lines)); pdl_drop(record)) {
        pdl_val program = pdl_text(pdl_member_str(record, "program"));
        size_t i = 0;
        while (i < pdl_list_len(programs) && !pdl_val_eq(pdl_list_at(programs, i), program)) i++;
        if (i == pdl_list_len(programs) && i < MAX_PROGRAMS)
            programs = pdl_list_push(programs, pdl_keep(program));
        if (i < MAX_PROGRAMS) count(&all[i], record);
        pdl_drop(program);
        pdl_record_rows_add(&t, record, names_program);
    }
    for (size_t i = 0; i < pdl_list_len(programs); i++)
        put_sums(pdl_list_at(programs, i), &all[i], &text);
    pdl_many_runs m = {name, PDL_STR("Evaluation"), pdl_buf_str(&text), "rows", false, 0};
    bool ok = pdl_many_runs_new(&m, pdl_run_table_take(&t, "rows"), out, err);
    pdl_drop(programs);
    pdl_buf_fini(&text);
    return ok;
}
