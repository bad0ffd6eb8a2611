/* infer_again.c -- pdl resume of a durable inference: runs the same command again with its journal,
 * which has the answers of all particles, stored by their lineages. A changed program is refused,
 * because its particles would not find these answers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/search_again.h"
#include "io/file.h"
#include "journal/forecast.h"
#include "value/json_read.h"

#include "base/banned.h"

/* The journal stores options as a dict. These are its members with the words and with the seed. The
 * seed is stored separately. A seed that the user gave is also among the words, and is sent to
 * models. */
#define WORDS "infer"
#define SEED  "infer-seed"

pdl_val pdl_cli_infer_put_words(pdl_val options, const arguments *a, uint64_t seed) {
    options = pdl_dict_putz(options, WORDS, pdl_cli_words_of(a, KEPT_INFER));
    return pdl_dict_putz(options, SEED, pdl_int((int64_t)seed));
}

/* Stores the words of an inference, owned, and its seed, if there is one. Returns false when the
 * journal does not belong to an inference. */
static bool read_words(const pdl_durable_facts *f, pdl_val *out, int64_t *seed) {
    pdl_val options = pdl_absent();
    pdl_err ignored = {0};
    if (!pdl_json_read(f->options, 0, &options, NULL, &ignored)) options = pdl_absent();
    pdl_err_fini(&ignored);
    pdl_vref words = pdl_is_dict(options) ? pdl_dict_getz(options, WORDS) : pdl_absent();
    pdl_vref kept_seed = pdl_is_dict(options) ? pdl_dict_getz(options, SEED) : pdl_absent();
    bool is = pdl_is_list(words);
    (void)(pdl_is_int(kept_seed) && pdl_int_get(kept_seed, seed));
    if (is) *out = pdl_keep(words);
    if (!pdl_is_absent(options)) pdl_drop(options);
    return is;
}

bool pdl_cli_is_inference(const pdl_durable_facts *f) {
    pdl_val words = pdl_absent();
    int64_t ignored;
    bool is = read_words(f, &words, &ignored);
    if (is) pdl_drop(words);
    return is;
}

bool pdl_cli_is_one_run(const pdl_durable *run, pdl_err *err) {
    const pdl_durable_facts *f = pdl_durable_get_facts(run);
    pdl_str name = pdl_durable_path(run);
    char *listed = NULL;
    pdl_err ignored = {0};
    if (!pdl_cli_is_inference(f)) return true;
    if (pdl_cli_durable_path(f->id, &listed, &ignored) && pdl_str_eq(pdl_str_of(listed), name))
        name = f->id;
    pdl_err_fini(&ignored);
    pdl_free(listed);
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "%.*s is an inference, of many runs, and is not shown as one: pdl view %.*s "
                       "shows its runs, pdl resume %.*s continues it",
                       PDL_FMT(name), PDL_FMT(name), PDL_FMT(name));
}

bool pdl_cli_infer_is_unchanged(const durable_command *l, pdl_str text, pdl_err *err) {
    const pdl_durable_facts *f = pdl_durable_get_facts(l->run);
    return pdl_str_eq(f->text, text) ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "%.*s has changed since the inference %s began: begin another one",
                       PDL_FMT(f->file), l->id);
}

/* --- what a resume would do ------------------------------------------------------------------- */

typedef struct counting {
    pdl_forecast *out;
    char *open; /* place of an action that began and did not end; owned; NULL when there is none */
} counting;

static bool on_row(void *user, const pdl_durable_row *row) {
    counting *c = user;
    pdl_effect_kind kind;
    if (!pdl_effect_kind_find(row->kind, &kind)) return true;
    c->out->recorded += row->end > 0 && pdl_forecast_counts(kind);
    bool is_open_act = row->end <= 0 && pdl_effect_has(kind, PDL_EFFECT_ACTS);
    if (is_open_act && !c->open) c->open = pdl_str_dup(row->place);
    return true;
}

/* An unchanged program makes the same requests with the same lineages, so all answers are reused. A
 * changed program is refused. */
bool pdl_cli_infer_forecast(const durable_command *l, pdl_str file, pdl_forecast *out,
                            pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    counting c = {.out = out};
    char *path = pdl_str_dup(file);
    /* when the file of the program is gone, the journal has its text */
    bool is_gone = pdl_file_kind_of(path) != PDL_FILE_REGULAR;
    bool ok = is_gone || (pdl_cli_read_program(file, &text, err) &&
                          pdl_cli_infer_is_unchanged(l, pdl_buf_str(&text), err));
    ok = ok && pdl_durable_each(pdl_str_of(l->path), on_row, &c, err);
    if (ok && c.open)
        ok = pdl_err_set(err, PDL_E_runtime, (pdl_loc){0},
                         "at %s something began and has no end, and whether a resume may repeat it "
                         "is not known before",
                         c.open);
    out->reused = ok ? out->recorded : 0;
    pdl_buf_fini(&text);
    pdl_free(c.open);
    pdl_free(path);
    return ok;
}

/* --- the resume ------------------------------------------------------------------------------- */

typedef struct continuing {
    const arguments *given;
    durable_command *l;
} continuing;

bool pdl_cli_infer_refuses(const arguments *given, opt_id *which) {
    for (int id = 0; id < OPT_COUNT; id++) {
        *which = (opt_id)id;
        if (given->given[id] && !pdl_cli_resume_has(*which, GIVEN_INFER | FOR_INFER)) return true;
    }
    return false;
}

/* Adds the options that the resuming command gives, and the options that the journal stores
 * separately. */
static void take(void *user, arguments *a) {
    continuing *c = user;
    a->inference = c->l;
    a->given[OPT_durable] = true;
    for (opt_id id = 0; id < OPT_COUNT; id++) {
        if (!c->given->given[id] || !pdl_cli_resume_has(id, GIVEN_INFER)) continue;
        a->given[id] = true;
        pdl_cli_replace_value(a, id, c->given->value[id]);
    }
    if (a->given[OPT_jobs]) a->given[OPT_workers] = false; /* --jobs replaces --workers */
}

int pdl_cli_infer_resume(const arguments *a, durable_command *l) {
    continuing c = {a, l};
    pdl_val words = pdl_absent();
    int64_t seed = -1;
    if (!read_words(pdl_durable_get_facts(l->run), &words, &seed)) return 1;
    l->has_seed = seed >= 0;
    l->seed = l->has_seed ? (uint64_t)seed : 0;
    int code = pdl_cli_run_words("infer", words, KEPT_INFER, take, &c);
    pdl_drop(words);
    return code;
}
