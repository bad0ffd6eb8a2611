/* reflection.c -- the functions for methods that let a model write texts of the program. Some of
 * them return how good a candidate is on rows for training and for validation, and which candidates
 * have the best score on at least one row. Another one asks the model for proposals. A proposal is
 * treated as data: it is cut out of the answer, and becomes a text of the program only when the
 * method adds a candidate with this text. It is then checked like any other value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>

#include "base/utf8.h"
#include "lang/load.h"
#include "optimize/method.h"
#include "value/label.h"

#include "base/banned.h"

#define PROPOSING_PROGRAM "model: ${ proposer }\ninput: ${ prompt }\n"

enum { OUTLINE_BYTES = 16384, MAX_TEXT_BYTES = 32768 };

/* --- texts ------------------------------------------------------------------------------------ */

bool pdl_search_may_propose(const opt_search *z) {
    return z->o->n_tuned &&
           (pdl_str_is(z->o->method, "reflect") || pdl_search_method_is_file(z->o->method));
}

static const opt_place *place_of(const opt_search *z, pdl_str name) {
    for (size_t i = 0; i < z->places.n; i++)
        if (pdl_str_is(name, z->places.p[i].name)) return &z->places.p[i];
    return NULL;
}

static bool has_control(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\n' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return true;
    return false;
}

static bool is_sound_text(const opt_place *p, pdl_str s, pdl_err *err) {
    if (s.n > MAX_TEXT_BYTES)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "the text for %s has %zu bytes, more than %d", p->name, s.n,
                           MAX_TEXT_BYTES);
    if (p->is_tuned && !pdl_str_trim(s).n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the text for %s is empty", p->name);
    return !has_control(s) || pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                          "the text for %s has control characters", p->name);
}

bool pdl_search_is_sound(const opt_search *z, pdl_vref values, pdl_err *err) {
    for (size_t i = 0; i < pdl_dict_len(values); i++) {
        pdl_vref name = pdl_dict_key_at(values, i), v = pdl_dict_val_at(values, i);
        const opt_place *p = pdl_is_str(name) ? place_of(z, pdl_str_get(name)) : NULL;
        if (!p)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "nothing that varies is named '%.*s'",
                               PDL_FMT(pdl_is_str(name) ? pdl_str_get(name) : PDL_STR("?")));
        if (p->is_tuned && !pdl_is_str(v) && pdl_is_str(p->first) && pdl_search_may_propose(z))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: expected a text", p->name);
        if (pdl_is_str(v) && !is_sound_text(p, pdl_str_get(v), err)) return false;
    }
    return true;
}

/* Returns the names of the texts that a proposal may change; owned. */
static pdl_val texts(const opt_search *z) {
    pdl_val list = pdl_list_new(z->places.n);
    for (size_t i = 0; i < z->places.n; i++)
        if (z->places.p[i].is_tuned && pdl_is_str(z->places.p[i].first))
            list = pdl_list_push(list, pdl_textz(z->places.p[i].name));
    return list;
}

/* text(candidate, name): returns the text that a candidate has at this place. */
static void on_text(void *user, pdl_request *r) {
    const opt_search *z = ((opt_method *)user)->z;
    size_t of = 0;
    pdl_vref name = pdl_method_argument(r, 1, "name");
    const opt_place *p = pdl_is_str(name) ? place_of(z, pdl_str_get(name)) : NULL;
    if (!pdl_method_number(r, 0, "candidate", z->candidates.n - 1, &of)) return;
    if (!p) {
        pdl_method_refuse(r, "name: expected one of texts");
        return;
    }
    pdl_vref v = pdl_dict_gets(z->candidates.p[of].values, pdl_str_of(p->name));
    pdl_method_answer(r, pdl_keep(pdl_is_absent(v) ? p->first : v));
}

/* Returns the original program for a model to read, without secrets and with a limited length. */
static pdl_val outline(const opt_search *z) {
    pdl_buf b = PDL_BUF;
    pdl_session_redact(z->session, pdl_buf_str(&z->text), &b);
    pdl_val v = pdl_text(pdl_utf8_cut(pdl_buf_str(&b), OUTLINE_BYTES));
    pdl_buf_fini(&b);
    return v;
}

/* --- examples --------------------------------------------------------------------------------- */

/* Returns how good a candidate was on a row, owned; null when it was not evaluated on the row. */
static pdl_val example_of(const opt_search *z, size_t candidate, size_t row) {
    for (size_t i = z->examples.n; i-- > 0;)
        if (z->examples.p[i].candidate == candidate && z->examples.p[i].row == row)
            return pdl_keep(z->examples.p[i].shown);
    return pdl_null();
}

/* examples(candidate, rows): returns how good the candidate is on these rows for training, as
 * {examples, spent}. */
static void on_examples(void *user, pdl_request *r) {
    opt_method *m = user;
    opt_search *z = m->z;
    size_t of = 0, n = z->part[OPT_TRAIN].n;
    opt_numbers rows = {0};
    PDL_VEC(opt_pair) pairs = {0};
    bool *taken = PDL_NEW_N(bool, n + 1);
    if (pdl_method_number(r, 0, "candidate", z->candidates.n - 1, &of) &&
        pdl_method_numbers(r, 1, "rows", n, &rows)) {
        for (size_t i = 0; i < rows.n; i++) {
            if (!taken[rows.p[i]])
                *pdl_vec_push(&pairs) = (opt_pair){of, z->part[OPT_TRAIN].p[rows.p[i]]};
            taken[rows.p[i]] = true;
        }
        z->examines = true;
        bool ok = pdl_search_evaluate(z, pairs.p, pairs.n, &m->failed);
        z->examines = false;
        pdl_val list = pdl_list_new(rows.n);
        for (size_t i = 0; i < rows.n; i++)
            list = pdl_list_push(list, example_of(z, of, z->part[OPT_TRAIN].p[rows.p[i]]));
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "examples", list);
        d = pdl_dict_putz(d, "spent", pdl_bool(z->spent));
        if (ok) {
            pdl_method_answer(r, d);
        } else {
            pdl_drop(d);
            pdl_request_refuse(r, "runtime", "the search has ended");
        }
    }
    pdl_free(taken);
    pdl_vec_fini(&pairs);
    pdl_vec_fini(&rows);
}

/* scores(candidate): returns the scores of the candidate on the rows for validation. An unknown
 * score is null. */
static void on_scores(void *user, pdl_request *r) {
    const opt_search *z = ((opt_method *)user)->z;
    size_t of = 0;
    if (!pdl_method_number(r, 0, "candidate", z->candidates.n - 1, &of)) return;
    pdl_val list = pdl_list_new(z->part[OPT_VALIDATION].n);
    for (size_t i = 0; i < z->part[OPT_VALIDATION].n; i++) {
        size_t row = z->part[OPT_VALIDATION].p[i];
        list = pdl_list_push(list, pdl_search_knows(z, of, row)
                                       ? pdl_float(pdl_search_score(z, of, row))
                                       : pdl_null());
    }
    pdl_method_answer(r, list);
}

/* --- the front -------------------------------------------------------------------------------- */

typedef struct opt_front {
    const opt_search *z;
    const opt_numbers *of; /* the candidates, sorted by their numbers */
    double *mean;
    bool *best; /* best[row * of->n + candidate]: the candidate is one of the best on that row */
    /* the candidate was left out, because others are among the best on the same rows */
    bool *gone;
    size_t *order;
} front;

static void find_best(front *f) {
    size_t n = f->of->n;
    for (size_t i = 0; i < f->z->part[OPT_VALIDATION].n; i++) {
        size_t row = f->z->part[OPT_VALIDATION].p[i];
        double top = -INFINITY;
        for (size_t k = 0; k < n; k++)
            if (pdl_search_knows(f->z, f->of->p[k], row))
                top = fmax(top, pdl_search_score(f->z, f->of->p[k], row));
        for (size_t k = 0; k < n; k++)
            f->best[i * n + k] = pdl_search_knows(f->z, f->of->p[k], row) &&
                                 pdl_search_score(f->z, f->of->p[k], row) >= top;
    }
}

/* Returns true when a candidate is not needed: each row on which it is one of the best has another
 * best candidate that is not left out. */
static bool is_covered(const front *f, size_t at) {
    size_t n = f->of->n;
    for (size_t i = 0; i < f->z->part[OPT_VALIDATION].n; i++) {
        if (!f->best[i * n + at]) continue;
        bool other = false;
        for (size_t k = 0; k < n && !other; k++)
            other = k != at && !f->gone[k] && f->best[i * n + k];
        if (!other) return false;
    }
    return true;
}

/* Collects the candidates that are best on a row, row by row, and sorts them by their means, so
 * that the worst is the first that may be left out. */
static void order_front(front *f) {
    size_t n = f->of->n, m = 0;
    bool *seen = PDL_NEW_N(bool, n + 1);
    for (size_t i = 0; i < f->z->part[OPT_VALIDATION].n; i++)
        for (size_t k = 0; k < n; k++) {
            if (!f->best[i * n + k] || seen[k]) continue;
            seen[k] = true;
            size_t at = m++;
            for (; at && f->mean[f->order[at - 1]] > f->mean[k]; at--)
                f->order[at] = f->order[at - 1];
            f->order[at] = k;
        }
    for (size_t k = 0; k < n; k++) f->gone[k] = !seen[k];
    for (size_t i = 0; i < m; i++) f->gone[f->order[i]] = is_covered(f, f->order[i]);
    pdl_free(seen);
}

static int rising(const void *a, const void *b) {
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* front(candidates): returns candidates, among which is a best one for each row for validation,
 * with the number of rows on which each of them is best: [{candidate, rows, score}]. */
static void on_front(void *user, pdl_request *r) {
    const opt_search *z = ((opt_method *)user)->z;
    opt_numbers of = {0};
    if (pdl_method_candidates(z, r, 0, &of)) {
        qsort(of.p, of.n, sizeof *of.p, rising);
        size_t n = of.n, rows = z->part[OPT_VALIDATION].n;
        front f = {.z = z,
                   .of = &of,
                   .mean = PDL_NEW_N(double, n + 1),
                   .best = PDL_NEW_N(bool, n *rows + 1),
                   .gone = PDL_NEW_N(bool, n + 1),
                   .order = PDL_NEW_N(size_t, n + 1)};
        for (size_t k = 0; k < n; k++)
            (void)pdl_search_mean(z, of.p[k], OPT_VALIDATION,
                                  pdl_search_common(z, &of.p[k], 1, OPT_VALIDATION), &f.mean[k]);
        find_best(&f);
        order_front(&f);
        pdl_val list = pdl_list_new(n);
        for (size_t k = 0; k < n; k++) {
            size_t best = 0;
            for (size_t i = 0; i < rows; i++) best += f.best[i * n + k];
            if (f.gone[k]) continue;
            pdl_val d = pdl_dict_putz(pdl_dict_new(3), "candidate", pdl_int((int64_t)of.p[k]));
            d = pdl_dict_putz(d, "rows", pdl_int((int64_t)best));
            list = pdl_list_push(list, pdl_dict_putz(d, "score", pdl_float(f.mean[k])));
        }
        pdl_free(f.mean);
        pdl_free(f.best);
        pdl_free(f.gone);
        pdl_free(f.order);
        pdl_method_answer(r, list);
    }
    pdl_vec_fini(&of);
}

/* --- proposals -------------------------------------------------------------------------------- */

/* Returns how many backquotes are at the beginning of a line, three or more. Returns 0 when the
 * line is not a fence. */
static size_t fence_of(pdl_str line) {
    size_t n = 0;
    line = pdl_str_trim(line);
    while (n < line.n && line.p[n] == '`') n++;
    return n >= 3 ? n : 0;
}

/* Returns the last fenced block of an answer, or the whole answer when it has no such block. A
 * block that is not closed ends with the answer. */
static pdl_str text_of_answer(pdl_str s) {
    pdl_str found = pdl_str_trim(s);
    size_t open = 0, from = 0, at = 0;
    while (at < s.n) {
        size_t end = at;
        while (end < s.n && s.p[end] != '\n') end++;
        pdl_str line = pdl_str_sub(s, at, end);
        size_t fence = fence_of(line), next = end < s.n ? end + 1 : end;
        if (!open && fence) {
            open = fence;
            from = next;
            found = pdl_str_sub(s, from, s.n);
        } else if (fence >= open && open && pdl_str_trim(line).n == fence) {
            open = 0;
            found = pdl_str_sub(s, from, at);
        }
        at = next;
    }
    return pdl_str_trim(found);
}

typedef struct opt_asked {
    opt_search *z;
    pdl_vref prompt;
    pdl_val text; /* owned; absent when there is none */
    char *error;  /* owned or NULL */
} asked;

static void begin_proposal(void *user, size_t i, opt_start *out) {
    asked *a = user;
    (void)i;
    /* The text contains rows of the table, and the models' replies to them. */
    pdl_label label = PDL_LABEL_data | PDL_LABEL_model | PDL_LABEL_FREE;
    pdl_val d =
        pdl_dict_putz(pdl_dict_new(2), "proposer", pdl_textz(a->z->proposer ? a->z->proposer : ""));
    /* the text is copied without the labels that the method has added */
    pdl_val prompt = pdl_text(pdl_str_get(a->prompt));
    out->variables = pdl_dict_putz(d, "prompt", pdl_with_label(prompt, label));
    out->code = a->z->proposing_code;
    pdl_buf_putf(&out->draw, "proposer:%zu:0", a->z->proposed);
}

static void end_proposal(void *user, size_t i, const opt_end *how) {
    asked *a = user;
    (void)i;
    pdl_search_count(a->z, how);
    if (how->error) {
        pdl_buf b = PDL_BUF;
        pdl_session_put_error(a->z->session, how->error, &b);
        a->error = pdl_buf_take(&b);
    } else if (pdl_is_str(how->result)) {
        a->text = pdl_text(text_of_answer(pdl_str_get(how->result)));
    } else {
        a->error = pdl_str_dup(PDL_STR("it answered with no text"));
    }
}

/* Returns true when all that is left of an item of the budget is reserved for the test. */
static bool is_reserved(const opt_search *z) {
    for (int i = 0; z->budget && i < PDL_BUDGET_COUNT; i++) {
        double limit = z->budget->limit[i];
        bool counted = i != PDL_BUDGET_seconds && i != PDL_BUDGET_turns;
        if (limit >= 0 && counted && z->budget->used[i] >= limit * (1 - z->reserved)) return true;
    }
    return false;
}

/* propose(prompt): asks the model for a proposal. Returns {text, error, spent}. */
static void on_propose(void *user, pdl_request *r) {
    opt_method *m = user;
    opt_search *z = m->z;
    pdl_vref prompt = pdl_method_argument(r, 0, "prompt");
    asked a = {.z = z, .prompt = prompt, .text = pdl_absent()};
    bool spent = false, ok = true;
    if (!pdl_is_str(prompt) || !z->proposer) {
        pdl_method_refuse(r, z->proposer ? "prompt: expected a text"
                                         : "no model proposes: --proposer MODEL names one");
        return;
    }
    if (z->spent || is_reserved(z) || z->proposed >= z->proposals) {
        spent = true;
    } else {
        opt_stage on = pdl_search_stage_of(z, z->session, z->o->program);
        opt_series s = {1, &a, begin_proposal, end_proposal, NULL};
        ok = pdl_series_run(&on, &s, &spent, &m->failed);
        z->proposed++;
    }
    if (a.error && !z->proposer_error) z->proposer_error = pdl_str_dup(pdl_str_of(a.error));
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "text", pdl_is_absent(a.text) ? pdl_null() : a.text);
    d = pdl_dict_putz(d, "error", a.error ? pdl_textz(a.error) : pdl_null());
    d = pdl_dict_putz(d, "spent", pdl_bool(spent));
    pdl_free(a.error);
    if (ok) {
        pdl_method_answer(r, d);
        return;
    }
    pdl_drop(d);
    pdl_request_refuse(r, "runtime", "the search has ended");
}

/* --- the whole -------------------------------------------------------------------------------- */

bool pdl_search_open_proposer(opt_search *z, pdl_err *err) {
    bool loads = true;
    if (!z->proposer) return true;
    pdl_program_drop(z->proposing);
    z->proposing = pdl_program_new();
    pdl_program_load(z->proposing, PDL_STR("proposer.pdl"), PDL_STR(PROPOSING_PROGRAM), &loads);
    if (!loads) return pdl_program_refuse(z->proposing, err);
    z->proposing_code = pdl_session_compile(z->session, z->proposing);
    return true;
}

void pdl_search_close_proposer(opt_search *z) {
    pdl_code_drop(z->proposing_code);
    pdl_program_drop(z->proposing);
    for (size_t i = 0; i < z->examples.n; i++) pdl_drop(z->examples.p[i].shown);
    pdl_vec_fini(&z->examples);
    if (!pdl_is_absent(z->history)) pdl_drop(z->history);
    pdl_free(z->proposer);
    pdl_free(z->proposer_error);
}

pdl_val pdl_method_with_reflection(pdl_val d, opt_method *m) {
    const opt_search *z = m->z;
    d = pdl_dict_putz(d, "training", pdl_int((int64_t)z->part[OPT_TRAIN].n));
    d = pdl_dict_putz(d, "minibatch", pdl_int(OPT_MINIBATCH));
    d = pdl_dict_putz(d, "texts", texts(z));
    pdl_val words = pdl_list_new(z->o->n_required);
    for (size_t i = 0; i < z->o->n_required; i++)
        words = pdl_list_push(words, pdl_text(z->o->required[i]));
    d = pdl_dict_putz(d, "required", words);
    d = pdl_dict_putz(d, "proposals", pdl_int((int64_t)z->proposals));
    d = pdl_dict_putz(d, "outline", outline(z));
    d = pdl_method_with(d, m, "text", on_text);
    d = pdl_method_with(d, m, "examples", on_examples);
    d = pdl_method_with(d, m, "scores", on_scores);
    d = pdl_method_with(d, m, "front", on_front);
    return pdl_method_with(d, m, "propose", on_propose);
}
