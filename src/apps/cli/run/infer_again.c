/* infer_again.c -- pdl resume of a durable inference: the same command with its journal, which has
 * the answers of all its particles by their lineage.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/search_again.h"
#include "value/json_read.h"

#include "base/banned.h"

/* The member of the options in the journal that has the words. */
#define WORDS "infer"

pdl_val pdl_cli_infer_words(const arguments *a, uint64_t seed) {
    static const opt_id except[] = {OPT_data, OPT_data_file, OPT_infer_seed, OPT_record, OPT_id,
                                    OPT_policy, OPT_sandbox, OPT_no_sandbox, OPT_COUNT};
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "--seed=%llu", (unsigned long long)seed);
    return pdl_list_push(pdl_cli_words_of(a, except), pdl_text_of_buf(&b));
}

/* Stores the words of an inference, owned. Returns false when it is another journal. */
static bool read_words(const pdl_durable_facts *f, pdl_val *out) {
    pdl_val options = pdl_absent();
    pdl_err ignored = {0};
    if (!pdl_json_read(f->options, 0, &options, NULL, &ignored)) options = pdl_absent();
    pdl_err_fini(&ignored);
    pdl_vref words = pdl_is_dict(options) ? pdl_dict_getz(options, WORDS) : pdl_absent();
    bool is = pdl_is_list(words);
    if (is) *out = pdl_keep(words);
    if (!pdl_is_absent(options)) pdl_drop(options);
    return is;
}

bool pdl_cli_is_inference(const pdl_durable_facts *f) {
    pdl_val words = pdl_absent();
    bool is = read_words(f, &words);
    if (is) pdl_drop(words);
    return is;
}

bool pdl_cli_infer_is_unchanged(const durable_command *l, pdl_str text, pdl_err *err) {
    const pdl_durable_facts *f = pdl_durable_get_facts(l->run);
    return pdl_str_eq(f->text, text) ||
           pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "%.*s has changed since the inference %s began: begin another one",
                       PDL_FMT(f->file), l->id);
}

typedef struct continuing {
    const arguments *given;
    durable_command *l;
} continuing;

/* Adds what confines it and what the journal keeps beside the words. */
static void take(void *user, arguments *a) {
    static const opt_id taken[] = {OPT_sandbox, OPT_no_sandbox, OPT_sandbox_min};
    continuing *c = user;
    a->inference = c->l;
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        a->given[taken[i]] = c->given->given[taken[i]];
        a->value[taken[i]] = c->given->value[taken[i]];
    }
}

int pdl_cli_infer_resume(const arguments *a, durable_command *l) {
    continuing c = {a, l};
    pdl_val words = pdl_absent();
    if (!read_words(pdl_durable_get_facts(l->run), &words)) return 1;
    int code = pdl_cli_run_words("infer", words, take, &c);
    pdl_drop(words);
    return code;
}
