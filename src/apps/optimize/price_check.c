/* price_check.c -- refuses a search that needs costs when a model has no price. A budget of cost
 * cannot judge a call without a price, so such a call would fail after others were paid for.
 *
 * Models are found in two ways. The text of each candidate shows the models of all branches.
 * Explaining a run shows models whose names are computed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/objectives.h"

#include "value/member.h"

#include "base/banned.h"

/* Returns the option that needs costs; NULL when no option does. */
static const char *option_of(const opt_search *z) {
    bool is_limited = z->budget && z->budget->limit[PDL_BUDGET_cost] >= 0;
    return z->most[OPT_COST] >= 0    ? "--at-most"
           : z->wanted_low[OPT_COST] ? "--objective"
           : is_limited              ? "--budget"
                                     : NULL;
}

/* Refuses the search, because the price of a model is unknown. call: {model, file, line}, with the
 * place of the block that may ask the model; the place may be null. */
static bool refuse(const opt_search *z, pdl_vref call, pdl_err *err) {
    pdl_buf place = PDL_BUF;
    pdl_str model = pdl_member_str(call, "model"), file = pdl_member_str(call, "file");
    int64_t line;
    if (file.n && pdl_int_get(pdl_dict_getz(call, "line"), &line))
        pdl_buf_putf(&place, ", which %.*s:%lld may ask", PDL_FMT(file), (long long)line);
    pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s: no price of %.*s is known%s", option_of(z),
                PDL_FMT(model), pdl_buf_z(&place));
    pdl_err_hint(err, "--prices FILE gives prices, which all branches need, because the limit "
                      "cannot count a call without one");
    pdl_buf_fini(&place);
    return false;
}

bool pdl_search_check_program_prices(const opt_search *z, const pdl_program *p, pdl_vref variables,
                                     pdl_err *err) {
    if (!option_of(z)) return true;
    pdl_val list = pdl_session_unpriced(z->session, p, variables);
    bool ok = !pdl_list_len(list) || refuse(z, pdl_list_at(list, 0), err);
    pdl_drop(list);
    return ok;
}

/* Explains all candidates, each with one row. The estimate of the search, which was made before,
 * has explained only some of the candidates. */
static bool check_all(const opt_search *z, pdl_err *err) {
    opt_estimate e = {.unpriced = pdl_absent()};
    bool ok = true;
    const size_t *rows = z->part[OPT_VALIDATION].p, n = z->part[OPT_VALIDATION].n;
    size_t i = z->o->reference != NULL;
    for (; ok && pdl_is_absent(e.unpriced) && i < z->candidates.n; i++)
        ok = pdl_search_explain(z, i, rows[i % n], &e, err);
    ok = ok && (pdl_is_absent(e.unpriced) || refuse(z, e.unpriced, err));
    pdl_drop(e.unpriced);
    pdl_free(e.model);
    return ok;
}

bool pdl_search_check_prices(const opt_search *z, const opt_estimate *e, pdl_err *err) {
    if (!option_of(z)) return true;
    if (!pdl_is_absent(e->unpriced)) return refuse(z, e->unpriced, err);
    if (z->proposer && !pdl_session_has_price(z->session, pdl_str_of(z->proposer))) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(1), "model", pdl_textz(z->proposer));
        bool ok = refuse(z, d, err);
        pdl_drop(d);
        return ok;
    }
    return check_all(z, err);
}
