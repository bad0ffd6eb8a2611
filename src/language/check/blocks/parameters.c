/* parameters.c -- reports parameters of models whose values no service accepts.
 *
 * A service decides itself what it accepts, and a mock accepts everything. So a problem is a
 * warning, and it is reported only when the value is wrong for all services. The table of
 * parameters (model/ask/params.def) says what services accept.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/num.h"
#include "check/checker.h"
#include "value/int.h"
#include "value/json_read.h"

#include <stdlib.h>

#include "base/banned.h"

enum { OPAQUE = PDL_TY_OTHER | PDL_TY_UNDEFINED | PDL_TY_NULL };

static uint32_t kinds_of(pdl_str word) {
    static const struct {
        const char *word;
        uint32_t kinds;
    } words[] = {
        {"number", PDL_TY_NUMBER}, {"integer", PDL_TY_NUMBER},           {"boolean", PDL_TY_BOOL},
        {"string", PDL_TY_STR},    {"list", PDL_TY_LIST | PDL_TY_TUPLE}, {"function", PDL_TY_FUNC},
        {"object", PDL_TY_DICT}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (pdl_str_is(word, words[i].word)) return words[i].kinds;
    return PDL_TY_ANY;
}

/* Returns the kinds that "string|list" names. */
static uint32_t kinds_of_words(pdl_str words) {
    uint32_t kinds = OPAQUE;
    while (words.n) {
        size_t bar = pdl_str_find(words, PDL_STR("|"), 0),
               end = bar == PDL_NOT_FOUND ? words.n : bar;
        kinds |= kinds_of(pdl_str_sub(words, 0, end));
        words = pdl_str_sub(words, bar == PDL_NOT_FOUND ? end : end + 1, words.n);
    }
    return kinds;
}

/* Converts a text that is JSON, such as a number or a boolean. Returns other values unchanged. */
static pdl_val converted(pdl_vref v) {
    pdl_val out;
    pdl_err err = {0};
    if (!pdl_is_str(v)) return pdl_keep(v);
    if (pdl_json_read(pdl_str_get(v), 0, &out, NULL, &err)) return out;
    pdl_err_fini(&err);
    return pdl_keep(v);
}

static void refuse(pdl_checker *c, const pdl_node *value, pdl_str name, const pdl_ty *t,
                   const char *takes, pdl_str bounds) {
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_parameter_value, pdl_node_loc(value),
                                   pdl_node_loc(value), "'%.*s' takes %s, and this is %.*s",
                                   PDL_FMT(name), takes, PDL_FMT(pdl_buf_str(&shown)));
    size_t dots = pdl_str_find(bounds, PDL_STR(".."), 0);
    bool is_open = dots != PDL_NOT_FOUND && dots + 2 == bounds.n;
    if (dots != PDL_NOT_FOUND)
        pdl_checker_hint(c, d, "write a number %s %.*s%s%.*s", is_open ? "of at least" : "from",
                         (int)dots, bounds.p, is_open ? "" : " to ",
                         PDL_FMT(pdl_str_sub(bounds, dots + 2, bounds.n)));
    pdl_buf_fini(&shown);
}

/* Refuses a number outside of bounds such as "0..1" or "1..". */
static void check_bounds(pdl_checker *c, const pdl_node *value, pdl_str name, double x,
                         pdl_str takes) {
    size_t dots = pdl_str_find(takes, PDL_STR(".."), 0);
    const char *from = takes.p, *to = takes.p + dots + 2;
    bool below = x < strtod(from, NULL), above = *to && x > strtod(to, NULL);
    if (!below && !above) return;
    pdl_checker_diag(c, PDL_RULE_parameter_value, pdl_node_loc(value), pdl_node_loc(value),
                     "'%.*s' is a number %s %.*s%s%s", PDL_FMT(name), *to ? "from" : "of at least",
                     (int)dots, from, *to ? " to " : "", to);
}

/* Refuses a time limit that makes the call fail before it is sent. */
static void check_seconds(pdl_checker *c, const pdl_node *value, pdl_str name, const pdl_ty *t) {
    double x = 0;
    bool known = t->has_value && !pdl_is_null(t->value), ok = true;
    if (known && pdl_is_str(t->value))
        ok = pdl_num_read_double(pdl_str_trim(pdl_str_get(t->value)), &x);
    else if (known && t->kinds & (PDL_TY_INT | PDL_TY_FLOAT))
        x = pdl_num_to_double(t->value);
    else
        ok = (t->kinds & (PDL_TY_INT | PDL_TY_FLOAT | PDL_TY_STR | OPAQUE)) != 0;
    if (ok && x >= 0) return;
    pdl_buf shown = PDL_BUF;
    pdl_ty_show(t, &shown);
    pdl_checker_diag(c, PDL_RULE_time_limit, pdl_node_loc(value), pdl_node_loc(value),
                     "'%.*s' takes a number of seconds, and this is %.*s", PDL_FMT(name),
                     PDL_FMT(ok ? PDL_STR("negative") : pdl_buf_str(&shown)));
    pdl_buf_fini(&shown);
}

void pdl_checker_parameter(pdl_checker *c, const pdl_node *value, pdl_str model, pdl_str name,
                           const pdl_ty *t) {
    pdl_str type, takes;
    if (!c->opt->models->takes || !c->opt->models->takes(name, &type, &takes)) return;
    if (pdl_str_is(takes, "seconds")) {
        check_seconds(c, value, name, t);
        return;
    }
    bool bounds = pdl_str_find(takes, PDL_STR(".."), 0) != PDL_NOT_FOUND;
    if (takes.n && !bounds) type = takes;
    pdl_val v = t->has_value ? converted(t->value) : pdl_absent();
    const pdl_ty *meant = pdl_is_absent(v) ? t : pdl_ty_of_value(pdl_checker_arena(c), v);
    /* a text whose value is not known may be a number */
    bool text = pdl_is_absent(v) && t->kinds & PDL_TY_STR;
    if (type.n && !text && !(meant->kinds & kinds_of_words(type)))
        refuse(c, value, name, t, type.p, takes);
    else if (bounds && !pdl_is_absent(v) && meant->kinds & PDL_TY_NUMBER &&
             !pdl_str_starts(model, PDL_STR("ollama")))
        check_bounds(c, value, name, pdl_num_to_double(v), takes);
    if (!pdl_is_absent(v)) pdl_drop(v);
}
