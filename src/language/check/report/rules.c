/* rules.c -- the table of rules, see rules.def. A rule is found by its number, which is the index
 * of its row, or by its name.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/check.h"

#include "base/banned.h"

static const pdl_rule rules[] = {
#define RULE(id, name, severity, title)   {name, PDL_DIAG_##severity, title, false, false},
#define LOAD(id, name, severity, title)   {name, PDL_DIAG_##severity, title, true, false},
#define STRICT(id, name, severity, title) {name, PDL_DIAG_##severity, title, false, true},
#include "check/rules.def"
};

const pdl_rule *pdl_rules(size_t *n) {
    *n = PDL_RULE_COUNT;
    return rules;
}

const pdl_rule *pdl_rule_find(pdl_str name) {
    for (size_t i = 0; i < PDL_RULE_COUNT; i++)
        if (pdl_str_is(name, rules[i].name)) return &rules[i];
    return NULL;
}

bool pdl_rule_is_old_form(const pdl_rule *r) {
    static const pdl_rule_id old[] = {PDL_RULE_num_iterations, PDL_RULE_type_deprecated,
                                      PDL_RULE_get, PDL_RULE_synonym};
    for (size_t i = 0; i < sizeof old / sizeof *old; i++)
        if (r == &rules[old[i]]) return true;
    return false;
}

pdl_str pdl_rule_near(pdl_str name) {
    pdl_str names[PDL_RULE_COUNT];
    for (size_t i = 0; i < PDL_RULE_COUNT; i++) names[i] = pdl_str_of(rules[i].name);
    return pdl_str_nearest(name, names, PDL_RULE_COUNT);
}
