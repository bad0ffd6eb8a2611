/* digest.c -- counts the boxes inside each box, by their kinds; see digest.h. Each box adds its own
 * counts to those of its parent, beginning with the last box, so that one pass is enough for any
 * depth.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/digest.h"

#include "viewer/box_json.h"
#include "viewer/reading/failed_attempts.h"
#include "viewer/reading/policy_answers.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

bool pdl_box_is_kind(const pdl_box *b, const char *kind) { return pdl_str_is(b->kind, kind); }

bool pdl_box_is_run(const pdl_box *b) { return pdl_box_is_kind(b, "run"); }

/* Returns true for a row that is about other runs, such as a candidate of a search. Such a row has
 * the table of these runs, which may be empty; the row of a single run has the list of what the run
 * did. */
static bool is_about_runs(const pdl_box *b) { return pdl_is_dict(pdl_box_get(b, "pdl__trace")); }

pdl_vref pdl_box_arguments(const pdl_box *b) {
    pdl_vref args = pdl_box_get(b, "args");
    pdl_vref made = pdl_is_dict(args) ? pdl_dict_getz(args, "pdl__result") : pdl_absent();
    if (!pdl_is_absent(made)) args = made;
    return pdl_is_dict(args) ? args : pdl_absent();
}

pdl_vref pdl_box_loop_lists(const pdl_box *b) {
    pdl_vref all = pdl_box_get(b, "for");
    pdl_vref made = pdl_is_dict(all) ? pdl_dict_getz(all, "pdl__result") : pdl_absent();
    return pdl_is_dict(made) ? made : all;
}

/* Returns true for a function that the module of every tool server has. */
static bool is_of_server(const pdl_box *b) {
    return pdl_text_is(pdl_box_get(b, "call"), "call_tool");
}

pdl_str pdl_box_tool(const pdl_box *b) {
    if (!pdl_box_is_kind(b, "call")) return (pdl_str){0};
    pdl_vref name = pdl_box_get(b, "pdl__tool"), args = pdl_box_arguments(b);
    if (!pdl_is_str(name) && is_of_server(b) && pdl_is_dict(args))
        name = pdl_dict_getz(args, "name");
    return pdl_is_str(name) ? pdl_str_get(name) : (pdl_str){0};
}

pdl_vref pdl_box_tool_arguments(const pdl_box *b) {
    pdl_vref args = pdl_box_arguments(b);
    pdl_vref inner =
        is_of_server(b) && pdl_is_dict(args) ? pdl_dict_getz(args, "arguments") : pdl_absent();
    return pdl_is_dict(inner) ? inner : args;
}

bool pdl_box_is_code(const pdl_box *b) {
    pdl_vref lang = pdl_box_get(b, "lang");
    return pdl_box_is_kind(b, "code") && !pdl_text_is(lang, "jinja") && !pdl_text_is(lang, "pdl");
}

bool pdl_box_reads_file(const pdl_box *b) {
    pdl_vref path = pdl_box_get(b, "read");
    if (pdl_is_dict(path)) path = pdl_dict_getz(path, "pdl__result");
    return pdl_box_is_kind(b, "read") && pdl_is_str(path);
}

/* Takes the number of runs that the table of a distribution gives. The table can have more rows
 * than there were runs: a run that was replaced by copies of other runs leaves a row for each of
 * its parts. */
static void count_known_runs(const pdl_box *b, pdl_digest *g) {
    pdl_vref known = pdl_box_get(b, "runs_in_all");
    if (pdl_is(known, PDL_V_INT) && pdl_int_of(known) > 0 && pdl_int_of(known) <= UINT32_MAX)
        g->runs = (uint32_t)pdl_int_of(known);
}

static void count_one(const pdl_box *b, bool model, pdl_digest *g) {
    g->models += model;
    g->asked += model || pdl_box_is_kind(b, "read") || pdl_box_is_code(b) || pdl_box_tool(b).n ||
                pdl_box_was_approved(b) || pdl_box_is_run(b);
    g->runs += pdl_box_is_run(b) && !is_about_runs(b);
    if (g->runs) count_known_runs(b, g);
    g->tools += pdl_box_tool(b).n > 0;
    g->functions += pdl_box_is_kind(b, "function");
    g->loops += (pdl_box_is_kind(b, "repeat") && g->rows >= PDL_LONG_LOOP) ||
                (pdl_box_is_kind(b, "map") && g->rows >= PDL_LONG_MAP);
    g->tokens_in += pdl_usage_count(pdl_box_get(b, "pdl__usage"), "prompt_tokens");
    g->tokens_out += pdl_usage_count(pdl_box_get(b, "pdl__usage"), "completion_tokens");
    if (b->start && (!g->start || b->start < g->start)) g->start = b->start;
    if (b->end > g->end) g->end = b->end;
    g->shown += pdl_is_str(pdl_box_get(b, "pdl__shown"));
    g->failed = g->failed || b->counts || b->stopped;
    g->recovered = g->recovered || b->state == PDL_BOX_RECOVERED;
}

static void add(pdl_digest *to, const pdl_digest *g, bool is_tool) {
    to->asked += g->asked;
    to->tools += g->tools;
    to->runs += g->runs;
    to->functions += g->functions;
    to->shown += g->shown;
    to->tokens_in += g->tokens_in;
    to->tokens_out += g->tokens_out;
    if (!is_tool) to->models += g->models;
    if (g->start && (!to->start || g->start < to->start)) to->start = g->start;
    if (g->end > to->end) to->end = g->end;
    to->failed = to->failed || g->failed;
    to->recovered = to->recovered || g->recovered;
}

pdl_digest *pdl_digests_new(const pdl_doc *d) {
    pdl_digest *all = PDL_NEW_N(pdl_digest, d->boxes.n);
    for (size_t i = d->boxes.n; i-- > 0;) {
        const pdl_box *b = &d->boxes.p[i];
        count_one(b, pdl_box_is_model_call(d, (uint32_t)i), &all[i]);
        if (!i) break;
        add(&all[b->parent], &all[i], pdl_box_tool(b).n > 0);
        if (!pdl_box_is_kind(b, "call")) all[b->parent].loops += all[i].loops;
        all[b->parent].rows += pdl_step_is_in(b, "repeat") || pdl_step_is_in(b, "map");
    }
    return all;
}
