/* grade.c -- see grade.h. A judge may be a model, which writes its score as a text. So texts such
 * as "True." and " 0.8" are scores, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "eval/grade.h"

#include "base/num.h"
#include "value/int.h"

#include "base/banned.h"

/* Returns the number in the text of a judge: true or false, in any case, or a number. Blanks around
 * it and a full stop at its end are ignored. Returns -1 for other texts. */
static double number_in(pdl_str text) {
    double number;
    text = pdl_str_trim(text);
    if (pdl_num_read_double(text, &number)) return number;
    if (pdl_str_ends(text, PDL_STR("."))) text = pdl_str_sub(text, 0, text.n - 1);
    bool yes = pdl_str_eq_nocase(text, PDL_STR("true"));
    if (yes || pdl_str_eq_nocase(text, PDL_STR("false"))) return yes;
    return pdl_num_read_double(text, &number) ? number : -1;
}

static double number_of(pdl_vref v) {
    double d = pdl_is_bool(v)                            ? pdl_bool_of(v)
               : pdl_is_int(v) || pdl_is(v, PDL_V_FLOAT) ? pdl_num_to_double(v)
               : pdl_is_str(v)                           ? number_in(pdl_str_get(v))
                                                         : -1;
    return d >= 0 && d <= 1 ? d : -1;
}

double pdl_eval_grade(pdl_vref v, pdl_str *feedback) {
    if (!pdl_is_dict(v)) return number_of(v);
    pdl_vref said = pdl_dict_getz(v, "feedback"), score = pdl_dict_getz(v, "score");
    size_t known = !pdl_is_absent(score);
    if (pdl_is_str(said)) *feedback = pdl_str_get(said);
    known += pdl_is_str(said) || pdl_is_null(said);
    return known == pdl_dict_len(v) ? number_of(score) : -1;
}
