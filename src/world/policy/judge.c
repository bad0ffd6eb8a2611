/* judge.c -- the verdict on a call (spec trust 3). For each argument the first rule that fits
 * decides; the strictest verdict of all arguments and policies counts.
 *
 * Each policy considers only the labels that it names: a built-in policy has no opinion on
 * `secret`, which the user's policy defines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/glob.h"
#include "base/utf8.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

const sink_row pdl_sink_rows[PDL_SINK_COUNT] = {
#define S(id, names, traits, arguments, doc) {#id, NAMES_##names, TRAIT_##traits, arguments},
#include "policy/sinks.def"
};

const char *pdl_sink_name(pdl_sink_id s) { return pdl_sink_rows[s].name; }

bool pdl_sink_find(pdl_str name, pdl_sink_id *out) {
    for (size_t i = 0; i < PDL_SINK_COUNT; i++) {
        if (!pdl_str_is(name, pdl_sink_rows[i].name)) continue;
        *out = (pdl_sink_id)i;
        return true;
    }
    return false;
}

/* --- which rule ------------------------------------------------------------------------------- */

static bool any_fits_tool(const policy *p, pdl_str tool) {
    for (size_t i = 0; i < p->read_only.n; i++)
        if (pdl_glob_fits(p->read_only.p[i].glob, tool, PDL_GLOB_ONE)) return true;
    return false;
}

/* Returns true when every policy that the user gave lists the tool as read-only. One policy alone
 * does not suffice, because a policy must not loosen another one. */
bool pdl_policy_is_read_only(const pdl_policies *p, pdl_str tool) {
    bool any = false;
    for (size_t i = 0; i < p->all.n; i++) {
        if (p->all.p[i]->built_in || p->all.p[i]->module) continue;
        if (!any_fits_tool(p->all.p[i], tool)) return false;
        any = true;
    }
    return any;
}

/* Compares names in the way in which people mean them: a command without a folder means the command
 * in any folder, and `python` means both kinds of Python block. */
static bool word_fits(pdl_sink_id sink, pdl_str pattern, pdl_str name) {
    if (pdl_glob_fits(pattern, name, PDL_GLOB_ONE)) return true;
    size_t slash = pdl_str_rfind(name, PDL_STR("/"));
    bool word = pdl_str_find(pattern, PDL_STR("/"), 0) == PDL_NOT_FOUND;
    if (sink == PDL_SINK_command && word && slash != PDL_NOT_FOUND)
        return pdl_glob_fits(pattern, pdl_str_sub(name, slash + 1, name.n), PDL_GLOB_ONE);
    return sink == PDL_SINK_code && pdl_str_is(name, "ipython") &&
           pdl_glob_fits(pattern, PDL_STR("python"), PDL_GLOB_ONE);
}

static bool name_fits(const rule *r, pdl_str name, pdl_str folder) {
    if (!r->name.p) return true;
    if (pdl_sink_rows[r->sink].names == NAMES_PATH)
        return pdl_policy_path_fits(r->name, folder, name, true);
    return word_fits(r->sink, r->name, name);
}

/* Returns true when the rule is for the argument; "to" includes "to.address". */
static bool argument_fits(const rule *r, pdl_str name) {
    if (!r->argument.p) return true;
    if (pdl_str_eq(r->argument, name)) return true;
    return pdl_str_starts(name, r->argument) && name.n > r->argument.n &&
           name.p[r->argument.n] == '.';
}

/* Returns true for a rule about the host of an address. The host is a second name of the sink. */
static bool is_of_host(const rule *r) {
    return r->sink == PDL_SINK_url && r->argument.p && pdl_str_is(r->argument, "host");
}

/* Returns true for a character that the star of a pattern matches. The star does not match
 * invisible characters, nor characters that separate several values in one text, such as commas of
 * any script. */
static bool is_of_one_value(uint32_t cp) {
    static const uint32_t separators[] = {' ',    ',',    ';',    '|',    '<',    '>',    '"',
                                          '\'',   '\\',   0x060C, 0x061B, 0x3001, 0xFE10, 0xFE11,
                                          0xFE14, 0xFE50, 0xFE51, 0xFE54, 0xFE6B, 0xFF0C, 0xFF1B,
                                          0xFF1C, 0xFF1E, 0xFF20, 0xFF5C, 0xFF64};
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
        if (cp == separators[i]) return false;
    return pdl_cp_is_visible(cp);
}

static size_t count_at_signs(pdl_str s) {
    size_t n = 0;
    for (size_t i = 0; i < s.n; i++) n += s.p[i] == '@';
    return n;
}

/* Returns true when the text is one value. A text with a separator that the pattern does not
 * contain counts as several values. An address has one sign @, so a pattern with this sign fits
 * only a text with the same number of such signs. */
static bool is_one_value(pdl_str pattern, pdl_str text) {
    for (const char *at = text.p; at < text.p + text.n;) {
        const char *from = at;
        bool ok = is_of_one_value(pdl_utf8_next(&at));
        pdl_str one = {from, (size_t)(at - from)};
        if (!ok && pdl_str_find(pattern, one, 0) == PDL_NOT_FOUND) return false;
    }
    size_t n = count_at_signs(pattern);
    return !n || n == count_at_signs(text);
}

/* Returns true when the rule is for this argument. A text that lists several recipients does not
 * fit. A part of an object does not fit when untrusted text chose the name of the part. */
static bool value_fits(const policy *p, const rule *r, const pdl_policy_ask *ask,
                       const pdl_argument *a) {
    bool host = is_of_host(r);
    pdl_vref value = a->value;
    if (!r->matches.p && !r->in_list) return true;
    if (pdl_label_origins(a->name_label) && !(r->argument.p && pdl_str_eq(r->argument, a->name)))
        return false;
    if (!host && !pdl_is_str(value)) return false;
    pdl_str text = host ? ask->name : pdl_str_get(value);
    if (host) text = pdl_str_sub(text, 0, pdl_str_find(text, PDL_STR(":"), 0));
    if (r->in_list && pdl_is_absent(pdl_dict_gets(p->lists.p[r->in_list - 1].texts, text)))
        return false;
    if (!r->matches.p) return true;
    return is_one_value(r->matches, text) && pdl_glob_fits(r->matches, text, PDL_GLOB_ONE);
}

static bool in_force(const policy *p, uint64_t modules) {
    return !p->module || p->module & modules;
}

static pdl_str folder_of(const policy *p, pdl_str folder) { return p->module ? p->folder : folder; }

/* Returns true for a rule that is limited to some values. */
static bool is_for_some(const rule *r) { return r->matches.p || r->in_list || r->to.n; }

/* Finds the rule that decides. When no rule is for this value, the first rule for other values
 * decides by its `otherwise`, and *otherwise is set. A rule that has an `otherwise` ends the
 * search. */
static const rule *rule_for(const pdl_policies *all, const policy *p, const pdl_policy_ask *ask,
                            const pdl_argument *a, bool *otherwise, not_a_reader *why) {
    const rule *other = NULL;
    not_a_reader fault;
    *otherwise = false;
    for (size_t i = 0; i < p->rules.n; i++) {
        const rule *r = &p->rules.p[i];
        if (r->sink != ask->sink || !name_fits(r, ask->name, folder_of(p, ask->folder)) ||
            !(argument_fits(r, a->name) || is_of_host(r)))
            continue;
        if (r->only_reading && !pdl_policy_is_read_only(all, ask->name)) continue;
        if (ask->without_values && is_for_some(r)) return r;
        bool fits = value_fits(p, r, ask, a);
        bool known = fits && r->to.n;
        if (fits && (!known || pdl_readers_fit(p, &r->to, ask, a->label, &fault))) return r;
        if (known && !other) *why = fault;
        if (!other) other = r;
        if (r->says_otherwise) break;
    }
    *otherwise = other != NULL;
    return other;
}

/* --- the verdict ------------------------------------------------------------------------------ */

static bool passes(const rule *r, pdl_label origins, pdl_label whole) {
    if (!r->has_allow || !(origins & ~r->allow)) return true;
    if (r->allows_bounded && !(whole & (PDL_LABEL_UNBOUNDED | PDL_LABEL_SEVERAL))) return true;
    return r->allows_shaped && !(whole & PDL_LABEL_UNSHAPED);
}

static pdl_verdict verdict_of(const rule *r, pdl_label origins, pdl_label whole,
                              pdl_label *stopped) {
    *stopped = origins & r->deny;
    if (*stopped) return PDL_VERDICT_DENY;
    if (origins && !passes(r, origins, whole)) {
        *stopped = origins & ~r->allow;
        return r->always_asks && r->otherwise == PDL_VERDICT_ALLOW ? PDL_VERDICT_APPROVE
                                                                   : r->otherwise;
    }
    return r->always_asks ? PDL_VERDICT_APPROVE : PDL_VERDICT_ALLOW;
}

static pdl_decision judge_argument(const pdl_policies *all, const policy *p,
                                   const pdl_policy_ask *ask, const pdl_argument *a) {
    pdl_label origins = pdl_label_origins(a->label) & p->known;
    bool otherwise;
    not_a_reader why = {0};
    const rule *r = rule_for(all, p, ask, a, &otherwise, &why);
    pdl_decision d = {.arg = a, .policy = p->name, .labels = origins};
    /* whether this rule decides depends on the value, which is not known */
    if (r && ask->without_values && is_for_some(r)) return d;
    if (r && otherwise) {
        d.verdict = origins ? r->otherwise : PDL_VERDICT_ALLOW;
        d.line = r->line;
        d.unread = pdl_label_origins(why.of);
        d.unread_by = why.name;
        d.unread_by_label = why.of_name;
    } else if (r) {
        d.verdict = verdict_of(r, origins, a->label, &d.labels);
        d.line = r->line;
    } else {
        d.verdict = origins ? p->otherwise : PDL_VERDICT_ALLOW;
        d.line = p->otherwise_line;
    }
    return d;
}

/* Judges an argument of an action that may start any command. Every rule that names a command may
 * apply. chooses: the value decides which command is started, so it may also be argument 0 of that
 * command. */
static pdl_decision judge_any(const policy *p, const pdl_policy_ask *ask, const pdl_argument *a,
                              bool chooses) {
    pdl_label origins = pdl_label_origins(a->label) & p->known, stopped;
    pdl_decision d = {.arg = a, .policy = p->name, .labels = origins};
    for (size_t i = 0; i < p->rules.n; i++) {
        const rule *r = &p->rules.p[i];
        bool names = r->name.p && !word_fits(r->sink, r->name, ask->name);
        bool is_zero = !r->name.p && r->argument.p && pdl_str_is(r->argument, "0");
        if (r->sink != PDL_SINK_command || !(names || (chooses && is_zero))) continue;
        pdl_verdict v = verdict_of(r, origins, a->label, &stopped);
        if (is_for_some(r) && origins && r->otherwise > v) {
            v = r->otherwise;
            stopped = origins;
        }
        if (v <= d.verdict) continue;
        d.verdict = v;
        d.line = r->line;
        d.labels = stopped;
    }
    return d;
}

pdl_decision pdl_policies_judge(const pdl_policies *p, const pdl_policy_ask *ask) {
    pdl_decision worst = {.verdict = PDL_VERDICT_ALLOW};
    for (size_t i = 0; i < p->all.n; i++) {
        if (!in_force(p->all.p[i], ask->modules)) continue;
        for (size_t k = 0; k < ask->n; k++) {
            const pdl_argument *a = &ask->args[k];
            pdl_decision d = ask->choosing ? judge_any(p->all.p[i], ask, a, k < ask->choosing)
                                           : judge_argument(p, p->all.p[i], ask, a);
            if (d.verdict > worst.verdict) worst = d;
        }
    }
    return worst;
}

/* --- questions to all policies ---------------------------------------------------------------- */

size_t pdl_policies_count(const pdl_policies *p) { return p->all.n; }
pdl_str pdl_policies_name(const pdl_policies *p, size_t i) { return p->all.p[i]->name; }
pdl_str pdl_policies_digest(const pdl_policies *p, size_t i) {
    return pdl_str_of(p->all.p[i]->digest);
}

uint32_t pdl_policies_capacity(const pdl_policies *p) {
    uint32_t least = UINT32_MAX;
    for (size_t i = 0; i < p->all.n; i++)
        if (p->all.p[i]->capacity < least) least = p->all.p[i]->capacity;
    return least;
}

pdl_control pdl_policies_control(const pdl_policies *p) {
    pdl_control most = PDL_CONTROL_DATA;
    for (size_t i = 0; i < p->all.n; i++)
        if (p->all.p[i]->control > most) most = p->all.p[i]->control;
    return most;
}

const pdl_node *pdl_policies_sandbox(const pdl_policies *p, size_t from, pdl_str *name) {
    for (size_t i = from; i < p->all.n; i++) {
        if (!p->all.p[i]->sandbox) continue;
        *name = p->all.p[i]->name;
        return p->all.p[i]->sandbox;
    }
    return NULL;
}

const pdl_node *pdl_policies_sandbox_of(const pdl_policies *p, uint64_t module) {
    for (size_t i = 0; i < p->all.n; i++)
        if (p->all.p[i]->module == module && p->all.p[i]->sandbox) return p->all.p[i]->sandbox;
    return NULL;
}

/* Returns the labels that the sink does not show: labels that a rule denies, and labels that are
 * missing from the `allow` of a rule whose `otherwise` does not allow them. */
pdl_label pdl_policies_redacted(const pdl_policies *p, pdl_sink_id sink) {
    pdl_label mask = 0;
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        for (size_t k = 0; k < one->rules.n; k++) {
            const rule *r = &one->rules.p[k];
            if (r->sink != sink) continue;
            mask |= r->deny;
            if (r->has_allow && r->otherwise != PDL_VERDICT_ALLOW)
                mask |= one->known & ~r->allow & (pdl_label)PDL_LABEL_ORIGINS;
        }
    }
    return mask;
}

bool pdl_policies_allow_durable(const pdl_policies *p, pdl_label label) {
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        for (size_t k = 0; k < one->rules.n; k++) {
            const rule *r = &one->rules.p[k];
            bool about = r->deny ? (label & r->deny) != 0 : pdl_label_origins(label) != 0;
            if (r->sink == PDL_SINK_journal && r->not_durable && about) return false;
        }
    }
    return true;
}

/* --- sources ---------------------------------------------------------------------------------- */

static bool source_fits(const source_pattern *s, pdl_effect_kind kind, pdl_str subject,
                        pdl_str folder, bool real) {
    if (s->kind != kind) return false;
    if (kind == PDL_EFFECT_read) return pdl_policy_path_fits(s->glob, folder, subject, real);
    if (kind == PDL_EFFECT_command && !real) return word_fits(PDL_SINK_command, s->glob, subject);
    return pdl_glob_fits(s->glob, subject, PDL_GLOB_ONE);
}

static bool trusts(const policy *p, pdl_effect_kind kind, pdl_str subject, pdl_str folder) {
    for (size_t i = 0; i < p->trusted.n; i++)
        if (source_fits(&p->trusted.p[i], kind, subject, folder, true)) return true;
    return false;
}

/* Returns the label of a subject. A pattern gives its label when the path fits as it is written or
 * with its links followed. A path is trusted only when its real form fits, in every policy that the
 * user gave. */
pdl_label pdl_policies_label_of(const pdl_policies *p, pdl_effect_kind kind, pdl_str subject,
                                pdl_str from, uint64_t modules, bool *is_trusted) {
    pdl_label label = 0;
    bool any = false, all = true, only_modules = true;
    for (size_t i = 0; i < p->all.n; i++) only_modules = only_modules && p->all.p[i]->module;
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        pdl_str folder = folder_of(one, from);
        if (!in_force(one, modules)) continue;
        for (size_t k = 0; k < one->labels.n; k++)
            if (source_fits(&one->labels.p[k], kind, subject, folder, false) ||
                source_fits(&one->labels.p[k], kind, subject, folder, true))
                label |= one->labels.p[k].label;
        if (one->built_in) continue;
        any = any || !one->module || only_modules;
        all = all && trusts(one, kind, subject, folder);
    }
    *is_trusted = any && all;
    return label;
}

pdl_label pdl_policies_label_of_any(const pdl_policies *p, pdl_effect_kind kind) {
    pdl_label label = 0;
    for (size_t i = 0; i < p->all.n; i++)
        for (size_t k = 0; k < p->all.p[i]->labels.n; k++)
            if (p->all.p[i]->labels.p[k].kind == kind) label |= p->all.p[i]->labels.p[k].label;
    return label;
}

/* --- checks without a run --------------------------------------------------------------------- */

void pdl_policies_each_rule(const pdl_policies *p,
                            void (*fn)(void *user, size_t i, const pdl_rule_view *r), void *user) {
    size_t n = 0;
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        for (size_t k = 0; k < one->rules.n; k++) {
            const rule *r = &one->rules.p[k];
            if (one->built_in) continue;
            fn(user, n++, &(pdl_rule_view){r->sink, r->name, r->argument, one->name, r->line});
        }
    }
}

static bool whole_name_fits(const rule *r, pdl_str name) {
    return !name.p || name_fits(r, name, (pdl_str){0});
}

/* Returns true when the rule is for tools of the server. The part of the pattern before the first
 * slash is compared. A pattern without a slash fits names of servers and of tools. */
static bool server_fits(const rule *r, pdl_str server) {
    if (!r->name.p) return true;
    size_t slash = pdl_str_find(r->name, PDL_STR("/"), 0);
    return pdl_glob_fits(pdl_str_sub(r->name, 0, slash == PDL_NOT_FOUND ? r->name.n : slash),
                         server, PDL_GLOB_ONE);
}

/* Returns true when the call has, or may have, the rule's argument or a part of it. */
static bool is_for_argument(const rule *r, const pdl_policy_ask *call) {
    if (!r->argument.p) return true;
    for (size_t i = 0; i < call->n; i++) {
        pdl_str name = call->args[i].name;
        bool part = pdl_str_starts(r->argument, name) && r->argument.n > name.n &&
                    r->argument.p[name.n] == '.';
        if (part || argument_fits(r, name)) return true;
    }
    return false;
}

/* Returns true when there is a rule for the name. Rules that fit are marked as used; when call is
 * given, a rule is marked only if it is for one of the call's arguments. */
static bool have_rule(const pdl_policies *p, pdl_sink_id sink, pdl_str name, bool *used,
                      bool (*fits)(const rule *r, pdl_str name), const pdl_policy_ask *call) {
    size_t n = 0;
    bool any = false;
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        for (size_t k = 0; k < one->rules.n; k++) {
            const rule *r = &one->rules.p[k];
            bool found = r->sink == sink && fits(r, name);
            any = any || found;
            if (one->built_in) continue;
            if (found && used && (!call || is_for_argument(r, call))) used[n] = true;
            n++;
        }
    }
    return any;
}

bool pdl_policies_have_rule(const pdl_policies *p, pdl_sink_id sink, pdl_str name, bool *used) {
    return have_rule(p, sink, name, used, whole_name_fits, NULL);
}

bool pdl_policies_have_tools(const pdl_policies *p, pdl_str server, bool *used) {
    return have_rule(p, PDL_SINK_tool, server, used, server_fits, NULL);
}

bool pdl_policies_have_call(const pdl_policies *p, const pdl_policy_ask *ask, bool others,
                            bool *used) {
    return have_rule(p, ask->sink, ask->name, used, whole_name_fits, others ? NULL : ask);
}

bool pdl_policies_each_locked(const pdl_policies *p, pdl_str server,
                              void (*fn)(void *user, pdl_str tool), void *user) {
    bool any = false;
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        pdl_vref tools =
            pdl_is_dict(one->locked) ? pdl_dict_gets(one->locked, server) : pdl_absent();
        if (!pdl_is_dict(tools)) continue;
        any = true;
        for (size_t k = 0; k < pdl_dict_len(tools); k++)
            fn(user, pdl_str_get(pdl_dict_key_at(tools, k)));
    }
    return any;
}

/* --- labels as text --------------------------------------------------------------------------- */

void pdl_policies_put_label(const pdl_policies *p, pdl_label label, pdl_buf *out) {
    const char *comma = "";
    for (size_t i = 0; i < PDL_LABEL_COUNT + p->names->n; i++) {
        if (!(label >> i & 1)) continue;
        pdl_buf_put(out, pdl_str_of(comma));
        if (i < PDL_LABEL_COUNT)
            pdl_buf_put(out, pdl_str_of(pdl_label_name(i)));
        else
            pdl_buf_put(out, pdl_str_of(p->names->text[i - PDL_LABEL_COUNT]));
        comma = ", ";
    }
}

bool pdl_policies_find_label(const pdl_policies *p, pdl_str name, pdl_label *out) {
    if (pdl_label_find_origin(name, out)) return true;
    for (uint32_t i = 0; i < p->names->n; i++) {
        if (!pdl_str_is(name, p->names->text[i])) continue;
        *out = pdl_label_named(i);
        return true;
    }
    return false;
}

pdl_str pdl_policies_near_label(const pdl_policies *p, pdl_str name) {
    pdl_str names[PDL_LABEL_COUNT + PDL_LABEL_MAX_NAMED];
    size_t n = 0;
    for (size_t i = 0; i < PDL_LABEL_COUNT; i++) names[n++] = pdl_str_of(pdl_label_name(i));
    for (uint32_t i = 0; i < p->names->n; i++) names[n++] = pdl_str_of(p->names->text[i]);
    return pdl_str_nearest(name, names, n);
}
