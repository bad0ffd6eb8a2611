/* asked.c -- hashes what each model call sent; see asked.h.
 *
 * When a list of messages continues another list, its hash is computed from the hash of that list
 * and the further messages. So a conversation of n calls takes time that grows with its text, and
 * not with the square of n, and traces with short and whole lists have the same hashes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/asked.h"

#include "base/hash.h"
#include "value/json_put.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { HEX = 16, HASH_BYTES = 32 };

typedef struct asked_hash {
    unsigned char bytes[HASH_BYTES];
    bool known;
} asked_hash;

/* Mixes a value into the hash. */
static void add_value(asked_hash *h, pdl_vref v) {
    pdl_sha256 sum;
    pdl_buf json = PDL_BUF;
    pdl_err ignored = {0};
    const int flags = PDL_JSON_SORT | PDL_JSON_LOOSE | PDL_JSON_NAN | PDL_JSON_CONTEXT;
    if (!pdl_is_absent(v) && !pdl_json_write(v, flags, 0, &json, &ignored)) pdl_err_fini(&ignored);
    pdl_sha256_init(&sum);
    pdl_sha256_add(&sum, (pdl_str){(const char *)h->bytes, sizeof h->bytes});
    pdl_sha256_add(&sum, pdl_buf_str(&json));
    pdl_sha256_done(&sum, h->bytes);
    pdl_buf_fini(&json);
}

/* Returns the hash of the messages of a call. all: the hashes of the calls, by number from 1; those
 * of earlier calls are known. */
static asked_hash messages_of(const pdl_reading *r, uint32_t box, const asked_hash *all) {
    const pdl_doc *d = r->doc;
    PDL_VEC(pdl_vref) parts = {0};
    asked_hash h = {.known = true};
    pdl_str member = PDL_STR("pdl__model_input");
    pdl_vref v = pdl_box_get(&d->boxes.p[box], "pdl__model_input");
    /* bounds the walk, because in a hostile trace blocks may name each other in a circle */
    size_t most = 2 * d->boxes.n;
    while (parts.n < most && pdl_doc_continues(d, &box, &member, v)) {
        *pdl_vec_push(&parts) = pdl_dict_getz(v, "pdl__more");
        bool is_input = pdl_str_is(member, "pdl__model_input");
        v = pdl_dict_gets(d->boxes.p[box].block, member);
        if (!is_input || !all[r->calls[box]].known) continue;
        h = all[r->calls[box]];
        v = pdl_absent();
    }
    if (pdl_is_list(v)) *pdl_vec_push(&parts) = v;
    while (parts.n) {
        pdl_vref part = parts.p[--parts.n];
        for (size_t i = 0; pdl_is_list(part) && i < pdl_list_len(part); i++)
            add_value(&h, pdl_list_at(part, i));
    }
    pdl_vec_fini(&parts);
    return h;
}

/* Returns the hash of the model and the parameters of a call. */
static asked_hash settings_of(const pdl_box *b) {
    static const char *const names[] = {"model", "parameters"};
    asked_hash h = {.known = true};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pdl_vref v = pdl_box_get(b, names[i]);
        pdl_vref made = pdl_is_dict(v) ? pdl_dict_getz(v, "pdl__result") : pdl_absent();
        add_value(&h, pdl_is_absent(made) ? v : made);
    }
    return h;
}

static void put_hash(const asked_hash *h, pdl_buf *out) {
    pdl_buf_putc(out, '"');
    for (size_t i = 0; i < HEX / 2; i++) pdl_buf_putf(out, "%02x", h->bytes[i]);
    pdl_buf_putc(out, '"');
}

void pdl_asked_json(const pdl_reading *r, pdl_buf *out) {
    asked_hash *all = PDL_NEW_N(asked_hash, (size_t)r->n_calls + 1); /* all[0] is never known */
    pdl_json_open(out, '[');
    for (uint32_t n = 1; n <= r->n_calls; n++) {
        uint32_t box = r->by_number[n - 1];
        asked_hash settings = settings_of(&r->doc->boxes.p[box]);
        all[n] = messages_of(r, box, all);
        pdl_json_open(out, '[');
        put_hash(&all[n], out);
        pdl_buf_putc(out, ',');
        put_hash(&settings, out);
        pdl_buf_putc(out, ']');
    }
    pdl_buf_putc(out, ']');
    pdl_free(all);
}
