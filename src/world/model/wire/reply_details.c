/* reply_details.c -- collects reasoning_details, the thoughts of a model in the form of OpenRouter,
 * which wants them back as a whole (spec providers 4.5). A stream brings a thought in pieces with
 * one index, its signature often in a piece without text. The signature is that of the whole text,
 * so pieces that were not joined would be refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/reply_builder.h"

#include "value/member.h"

#include "base/banned.h"

/* Returns the member whose pieces are joined, or NULL when an item of this type comes whole. */
static const char *joined_member(pdl_vref item) {
    static const struct {
        const char *type, *member;
    } types[] = {{"reasoning.text", "text"}, {"reasoning.summary", "summary"}};
    pdl_str type = pdl_member_str(item, "type");
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (pdl_str_is(type, types[i].type)) return types[i].member;
    return NULL;
}

static bool has_same(pdl_vref a, pdl_vref b, const char *key) {
    pdl_vref x = pdl_member(a, key), y = pdl_member(b, key);
    if (pdl_is_absent(x) || pdl_is_absent(y)) return pdl_is_absent(x) && pdl_is_absent(y);
    return pdl_val_eq(x, y);
}

/* Returns true when the item continues the last one. Without an index a signature ends a thought.
 */
static bool continues(const pdl_reply_builder *d, pdl_vref item) {
    if (pdl_is_absent(d->detail) || !joined_member(item)) return false;
    bool is_over =
        pdl_is_absent(pdl_member(item, "index")) && pdl_member_str(d->detail, "signature").n;
    return !is_over && has_same(d->detail, item, "type") && has_same(d->detail, item, "index");
}

/* Adds the text of an item to the text of the last one. */
static void add_text(pdl_reply_builder *d, pdl_vref item) {
    const char *key = joined_member(item);
    pdl_str text = key ? pdl_member_str(item, key) : (pdl_str){0};
    pdl_buf_put(&d->detail_text, text);
    d->arrived += text.n + 1;
}

/* Adds the members of an item other than its text. A later signature replaces an earlier one; every
 * other member keeps its first value. */
static void add_members(pdl_reply_builder *d, pdl_vref item) {
    for (size_t i = 0; i < pdl_dict_len(item); i++) {
        pdl_vref key = pdl_dict_key_at(item, i), v = pdl_dict_val_at(item, i);
        pdl_vref had = pdl_dict_find(d->detail, key);
        bool is_first = pdl_is_absent(had) || pdl_is_null(had);
        if (pdl_is_null(v) || !(is_first || pdl_text_is(key, "signature"))) continue;
        d->detail = pdl_dict_put(d->detail, pdl_keep(key), pdl_keep(v));
    }
}

static void end_detail(pdl_reply_builder *d) {
    if (pdl_is_absent(d->detail)) return;
    const char *key = joined_member(d->detail);
    if (key && d->detail_text.len)
        d->detail = pdl_dict_putz(d->detail, key, pdl_text_of_buf(&d->detail_text));
    if (pdl_is_absent(d->details)) d->details = pdl_list_new(1);
    d->details = pdl_list_push(d->details, d->detail);
    d->detail = pdl_absent();
    d->detail_text.len = 0;
}

void pdl_reply_details_add(pdl_reply_builder *d, pdl_vref list) {
    for (size_t i = 0; i < pdl_list_len(list); i++) {
        pdl_vref item = pdl_list_at(list, i);
        if (continues(d, item)) {
            add_members(d, item);
        } else {
            end_detail(d);
            d->detail = pdl_keep(item);
        }
        add_text(d, item);
    }
}

bool pdl_reply_details_any(const pdl_reply_builder *d) {
    return !pdl_is_absent(d->detail) || !pdl_is_absent(d->details);
}

pdl_val pdl_reply_details_take(pdl_reply_builder *d) {
    end_detail(d);
    pdl_val all = d->details;
    d->details = pdl_absent();
    return all;
}

void pdl_reply_details_fini(pdl_reply_builder *d) {
    pdl_drop(d->detail);
    pdl_drop(d->details);
    pdl_buf_fini(&d->detail_text);
}
