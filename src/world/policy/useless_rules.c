/* useless_rules.c -- finds rules without any effect, as far as the policy alone shows it, for `pdl
 * policy check` and `pdl check --policy`. Such rules are not errors: a policy that has them is
 * valid. Rules that no name can fit are errors, which the reader of policies reports.
 *
 * The first rule that fits decides, so a rule has no effect when an earlier rule covers all its
 * cases. A pattern counts as including another one only when this is certain. A star matches any
 * text, so it also matches a star of the other pattern; other characters must be equal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/glob.h"
#include "base/word_list.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

static bool has(pdl_str s, const char *what) {
    return pdl_str_find(s, pdl_str_of(what), 0) != PDL_NOT_FOUND;
}

const char *pdl_policy_fits_nothing(pdl_str kind, pdl_str pattern) {
    size_t slash = pdl_str_find(pattern, PDL_STR("/"), 0);
    bool has_slash = slash != PDL_NOT_FOUND;
    if (!pattern.n) return "the pattern is empty";
    if (pattern.n > 1 && pattern.p[0] == '"' && pattern.p[pattern.n - 1] == '"')
        return "the quotation marks are a part of the pattern";
    if (pdl_str_is(kind, "tool")) {
        bool whole = slash > 0 && slash + 1 < pattern.n;
        if (has_slash ? !whole : !has(pattern, "*"))
            return "a tool is SERVER/NAME, and SERVER/* are all of a server; a function of a host "
                   "program is `code object`";
    }
    if (pdl_str_is(kind, "code") && !pdl_glob_fits(pattern, PDL_STR("python"), 0) &&
        !pdl_glob_fits(pattern, PDL_STR("ipython"), 0) &&
        !pdl_glob_fits(pattern, PDL_STR("object"), 0))
        return "code is python, ipython or object";
    if (pdl_str_is(kind, "command") && has(pattern, " -"))
        return "the name of a command is its program alone; `argument` is for what follows";
    if ((pdl_str_is(kind, "url") || pdl_str_is(kind, "http")) && has_slash)
        return "the name of an address is its host, as in api.example.org or *.example.org";
    return NULL;
}

const char *pdl_policy_rule_fits_nothing(const rule *r) {
    static const char *const of_objects[] = {"text", "args", "kwargs", "name"};
    const char *why = NULL;
    if (r->name.p) why = pdl_policy_fits_nothing(pdl_str_of(pdl_sink_name(r->sink)), r->name);
    if (why) return why;
    if (r->sink == PDL_SINK_url && r->matches.p && has(r->matches, "/") && r->argument.p &&
        pdl_str_is(r->argument, "host"))
        return "a host has no slash";
    if (r->sink == PDL_SINK_code && r->name.p && pdl_str_is(r->name, "object") && r->argument.p) {
        if (PDL_STR_IN(r->argument, of_objects)) return NULL;
        return "the arguments of an object are text, args, kwargs and name";
    }
    return NULL;
}

/* Returns true when it is certain that every path that fits the narrow pattern fits the wide one,
 * too. For example, "a/" with two stars fits all paths below a. */
static bool path_covers(pdl_str wide, pdl_str narrow) {
    if (!pdl_str_ends(wide, PDL_STR("/**")) || has(narrow, "..")) return false;
    pdl_str folder = pdl_str_sub(wide, 0, wide.n - 2);
    return !has(folder, "*") && !has(folder, "?") && pdl_str_starts(narrow, folder);
}

static bool name_covers(const rule *wide, const rule *narrow) {
    if (!wide->name.p) return true;
    if (!narrow->name.p) return false;
    if (pdl_str_eq(wide->name, narrow->name)) return true;
    if (pdl_sink_rows[wide->sink].names == NAMES_PATH) return path_covers(wide->name, narrow->name);
    return !has(wide->name, "?") && pdl_glob_fits(wide->name, narrow->name, 0);
}

static bool argument_covers(const rule *wide, const rule *narrow) {
    if (!wide->argument.p) return true;
    if (!narrow->argument.p || !pdl_str_starts(narrow->argument, wide->argument)) return false;
    return narrow->argument.n == wide->argument.n || narrow->argument.p[wide->argument.n] == '.';
}

static bool covers(const rule *wide, const rule *narrow) {
    /* the wide rule is only for some values */
    if (wide->matches.p || wide->in_list || wide->to.n) return false;
    return wide->sink == narrow->sink && (!wide->only_reading || narrow->only_reading) &&
           name_covers(wide, narrow) && argument_covers(wide, narrow);
}

/* Returns true when only the first rule that fits counts at the sink of r. At other sinks all rules
 * that fit count. */
static bool is_first_alone(const rule *r) {
    return pdl_sink_rows[r->sink].traits != TRAIT_REDACTED && r->sink != PDL_SINK_endorse;
}

void pdl_policy_put_rule(const pdl_rule_view *r, pdl_buf *out) {
    PDL_PUT(out, "the rule for ");
    if (r->argument.p) pdl_buf_putf(out, "argument %.*s of ", PDL_FMT(r->argument));
    pdl_buf_putf(out, "sink %s", pdl_sink_name(r->sink));
    if (r->name.p) pdl_buf_putf(out, " %.*s", PDL_FMT(r->name));
}

void pdl_policies_each_oddity(const pdl_policies *p,
                              void (*fn)(void *user, const pdl_rule_view *r, const char *what),
                              void *user) {
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        for (size_t k = 0; k < one->rules.n; k++) {
            const rule *r = &one->rules.p[k];
            pdl_rule_view view = {r->sink, r->name, r->argument, one->name, r->line};
            size_t before = 0;
            if (!is_first_alone(r)) continue;
            if (r->says_otherwise && !r->has_allow)
                fn(user, &view,
                   "says `otherwise` and has no `allow`: what `deny` does not name passes, so it "
                   "never counts");
            while (before < k && !covers(&one->rules.p[before], r)) before++;
            if (before == k) continue;
            pdl_buf b = PDL_BUF;
            pdl_buf_putf(&b,
                         "never decides: that of line %u comes before it and is for all that "
                         "this one is for",
                         one->rules.p[before].line);
            fn(user, &view, pdl_buf_z(&b));
            pdl_buf_fini(&b);
        }
    }
}
