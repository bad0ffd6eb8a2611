/* distribution.c -- counts results and their weights; see distribution.h. Two results are equal as
 * data when their canonical JSON is the same text. In canonical JSON, 1 and 1.0 are one number, and
 * keys are sorted. So a value is found among thousands by its hash.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "infer/distribution.h"

#include <assert.h>
#include <math.h>

#include "lang/load.h"
#include "value/json_put.h"
#include "value/json_write.h"
#include "value/text.h"

#include "base/banned.h"

/* --- the expression of --by ------------------------------------------------------------------- */

/* Checks the expression of --by before any run is paid for. Returns false when the expression has
 * an error. */
static bool check_by(const distribution *d, const pdl_program *p, pdl_err *err) {
    const pdl_str names[] = {PDL_STR("result")};
    pdl_program *checked = pdl_session_check_with(d->p->session, p, PDL_STR("--by"),
                                                  &(pdl_check_inputs){names, 1, .closed = false});
    bool ok = true;
    for (size_t i = 0; checked && ok && i < checked->diags.n; i++) {
        const pdl_diag *found = &checked->diags.p[i];
        if (found->severity != PDL_DIAG_ERROR) continue;
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "argument --by: %.*s",
                         PDL_FMT(found->text));
    }
    pdl_program_drop(checked);
    return ok;
}

static bool compile_by(distribution *d, pdl_err *err) {
    pdl_buf text = PDL_BUF, quoted = PDL_BUF;
    pdl_str by = d->p->o->by;
    bool loads;
    if (pdl_str_starts(by, PDL_STR("${")))
        pdl_buf_put(&text, by);
    else
        pdl_buf_putf(&text, "${ %.*s }", PDL_FMT(by));
    pdl_json_open(&quoted, '{');
    pdl_json_put_text(&quoted, "data", pdl_buf_str(&text));
    pdl_buf_putc(&quoted, '}');
    pdl_program *p = pdl_program_new();
    pdl_program_load(p, PDL_STR("--by"), pdl_buf_str(&quoted), &loads);
    bool ok = loads || pdl_program_refuse(p, err);
    ok = ok && check_by(d, p, err);
    if (ok) d->by = pdl_session_compile(d->p->session, p);
    pdl_program_drop(p);
    pdl_buf_fini(&text);
    pdl_buf_fini(&quoted);
    return ok;
}

/* Stores the value that is counted for a result, owned: the result itself, or the value of --by. */
static bool counted(const distribution *d, pdl_vref result, pdl_val *out, pdl_err *err) {
    if (!d->by) {
        *out = pdl_keep(result);
        return true;
    }
    uint32_t slot = d->p->n_slots + 1;
    pdl_val vars = pdl_dict_merge(pdl_dict_new(4), d->p->variables);
    vars = pdl_dict_putz(vars, "result", pdl_keep(result));
    pdl_run *r = pdl_session_spawn(
        d->p->session,
        &(pdl_spawn){
            .code = d->by, .variables = vars, .slot = slot, .group = slot, .budget = d->p->budget});
    bool ok = pdl_run_wait(r) == PDL_STEP_DONE;
    if (ok)
        *out = pdl_keep(pdl_run_result(r));
    else
        pdl_err_copy(err, pdl_run_error(r));
    if (!ok) pdl_err_detach(err);
    pdl_session_release(d->p->session, r, slot);
    pdl_drop(vars);
    return ok;
}

/* --- equality --------------------------------------------------------------------------------- */

/* Appends JSON in which a float without a fraction is written as an integer. */
static void put_normal(pdl_str json, pdl_buf *out) {
    bool quoted = false;
    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];
        if (c == '"') quoted = !quoted;
        if (quoted && c == '\\') {
            pdl_buf_putc(out, c);
            c = json.p[++i];
        } else if (!quoted && c == '.' && i + 1 < json.n && json.p[i + 1] == '0') {
            char after = i + 2 < json.n ? json.p[i + 2] : ',';
            if (!(after >= '0' && after <= '9') && after != 'e' && after != 'E') {
                i++;
                continue;
            }
        }
        pdl_buf_putc(out, c);
    }
}

/* Returns the place of the block that makes the result of the program. When it is not known which
 * part of a block makes the result, returns the place of that block. */
static pdl_loc result_loc(const pdl_block *b) {
    while (b && b->kind == PDL_BLOCK_lastOf) {
        const pdl_blocks *items = &PDL_AS(lastOf, b)->items;
        const pdl_contributes *c = items->n ? &items->p[items->n - 1]->contribute : NULL;
        if (!c || (c->given && !c->result)) break;
        b = items->p[items->n - 1];
    }
    return b ? b->loc : (pdl_loc){0};
}

static bool put_key(const distribution *d, const particle *q, pdl_buf *out, pdl_err *err) {
    pdl_buf json = PDL_BUF;
    pdl_val v;
    if (!counted(d, q->result, &v, err)) return false;
    bool ok = pdl_json_write(v, PDL_JSON_SORT | PDL_JSON_NAN, 0, &json, err);
    if (ok) {
        put_normal(pdl_buf_str(&json), out);
    } else {
        pdl_buf name = PDL_BUF;
        pdl_err_fini(err);
        pdl_particle_put_name(q, &name);
        pdl_loc loc = d->by ? (pdl_loc){0} : result_loc(d->p->program->main);
        pdl_err_set(err, PDL_E_type, loc,
                    "the result of %s is of type %s, or has a part that is no data: it cannot be "
                    "compared with others",
                    pdl_buf_z(&name), pdl_type_name(v));
        pdl_err_hint(err, "--by EXPR says what of it is counted, as in --by 'result.answer'");
        pdl_buf_fini(&name);
    }
    pdl_drop(v);
    pdl_buf_fini(&json);
    return ok;
}

bool pdl_distribution_ok(const distribution *d) {
    size_t n = d->which.n;
    return d->index.n == d->values.n && d->keys.n == d->values.n && d->logits.n == n &&
           d->values.n <= n && (!n || d->which.p[n - 1] < d->values.n);
}

bool pdl_distribution_open(distribution *d, population *p, pdl_err *err) {
    *d = (distribution){.p = p};
    d->lineages = p->is_attached ? pdl_list_new(p->n) : pdl_absent();
    return !p->o->by.n || compile_by(d, err);
}

void pdl_distribution_fini(distribution *d) {
    pdl_code_drop(d->by);
    pdl_drop(d->lineages);
    pdl_map_fini(&d->index);
    for (size_t i = 0; i < d->values.n; i++) pdl_drop(d->values.p[i].value);
    for (size_t i = 0; i < d->keys.n; i++) pdl_free(d->keys.p[i]);
    pdl_vec_fini(&d->values);
    pdl_vec_fini(&d->keys);
    pdl_vec_fini(&d->which);
    pdl_vec_fini(&d->logits);
}

bool pdl_distribution_add(distribution *d, const particle *q, double logit, size_t *which,
                          pdl_err *err) {
    pdl_buf key = PDL_BUF;
    if (!put_key(d, q, &key, err)) {
        pdl_buf_fini(&key);
        return false;
    }
    size_t found = (size_t)(uintptr_t)pdl_map_find(&d->index, pdl_buf_str(&key));
    if (!found) {
        char *text = pdl_buf_take(&key);
        *pdl_vec_push(&d->keys) = text;
        *pdl_vec_push(&d->values) = (distinct){pdl_keep(q->result), 0};
        found = d->values.n;
        (void)pdl_map_put(&d->index, pdl_str_of(text), (void *)(uintptr_t)found);
    } else {
        pdl_buf_fini(&key);
    }
    *which = found - 1;
    *pdl_vec_push(&d->which) = (uint32_t)(found - 1);
    *pdl_vec_push(&d->logits) = logit;
    if (pdl_is_list(d->lineages)) d->lineages = pdl_list_push(d->lineages, pdl_particle_lineage(q));
    assert(pdl_distribution_ok(d));
    return true;
}

/* --- numbers ---------------------------------------------------------------------------------- */

double pdl_infer_log_sum(const double *x, size_t n) {
    double most = -INFINITY, sum = 0;
    for (size_t i = 0; i < n; i++) most = x[i] > most ? x[i] : most;
    if (isinf(most)) return most;
    for (size_t i = 0; i < n; i++) sum += exp(x[i] - most);
    return most + log(sum);
}

/* Computes the continued fraction of the incomplete beta function at 1/2 (Lentz's method). */
static double beta_fraction(double a, double b) {
    enum { MAX_TERMS = 10000 };
    const double tiny = 1e-300, x = 0.5;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double h = d;
    for (int m = 1; m < MAX_TERMS; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double parts[] = {even, odd};
        double before = h;
        for (int k = 0; k < 2; k++) {
            d = 1 + parts[k] * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + parts[k] / c;
            if (fabs(c) < tiny) c = tiny;
            h *= d * c;
        }
        if (fabs(h - before) < 1e-15 * fabs(h)) break;
    }
    return h;
}

double pdl_infer_lead(double votes, double others) {
    double a = votes + 1, b = others + 1;
    /* The fraction converges fast when the point is below the mean. Otherwise the symmetry of the
     * function is used. */
    bool swapped = a < b;
    double u = swapped ? b : a, v = swapped ? a : b; /* now u >= v holds */
    double front = exp(lgamma(u + v) - lgamma(u) - lgamma(v) - (u + v) * log(2.0));
    /* the probability that the share of u is below 1/2 */
    double below = front * beta_fraction(u, v) / u;
    return swapped ? below : 1 - below;
}
