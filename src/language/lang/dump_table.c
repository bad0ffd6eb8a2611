/* dump_table.c -- the tables of blocks and fields as a value: `pdl dump --table`. Generators in
 * other languages read this value instead of the .def files.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/dump.h"
#include "lang/fields.h"
#include "lang/schema.h"

#include "base/banned.h"

typedef struct row {
    int of; /* a kind of block, a record, or the place of a common field in dumps */
    const char *key, *type, *need, *doc;
    bool selects; /* the key of the field decides on the kind of block */
} row;

static const row own[] = {
#define F(id, member, key, type, need, doc) {PDL_BLOCK_##id, key, #type, #need, doc, false},
#define K(id, member, key, type, need, doc) {PDL_BLOCK_##id, key, #type, #need, doc, true},
#include "lang/blocks.def"
};
static const row common[] = {
#define C(where, part, member, key, type, when, doc)                                               \
    {PDL_PART_##part, key, #type, "OPT", doc, false},
#include "lang/common.def"
};
static const row records[] = {
#define R(record, member, type, need, doc) {PDL_RECORD_##record, #member, #type, #need, doc, false},
#include "lang/records.def"
};
static const char *const record_names[] = {"retry", "budget", "endorse", "aggregator"};

/* Returns a list of the names of the kinds that may have the field. null means all kinds. */
static pdl_val kinds_of(uint32_t set) {
    if (set == UINT32_MAX) return pdl_null();
    pdl_val out = pdl_list_new(4);
    for (int k = 0; k < PDL_BLOCK_COUNT; k++)
        if (set >> k & 1) out = pdl_list_push(out, pdl_textz(pdl_block_name((pdl_block_kind)k)));
    return out;
}

static pdl_val field(const row *r) {
    pdl_val out = pdl_dict_putz(pdl_dict_new(5), "key", pdl_textz(r->key));
    out = pdl_dict_putz(out, "type", pdl_textz(r->type));
    out = pdl_dict_putz(out, "need", pdl_textz(r->need));
    return pdl_dict_putz(out, "doc", pdl_textz(r->doc));
}

static pdl_val own_fields(pdl_block_kind kind) {
    pdl_val out = pdl_list_new(4);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        if (own[i].of != (int)kind) continue;
        pdl_val f = field(&own[i]), value = pdl_field_default(kind, own[i].key);
        if (!pdl_is_absent(value)) f = pdl_dict_putz(f, "default", value);
        if (own[i].selects) f = pdl_dict_putz(f, "selects", pdl_bool(true));
        out = pdl_list_push(out, f);
    }
    return out;
}

static pdl_val all_blocks(void) {
    pdl_val out = pdl_list_new(PDL_BLOCK_COUNT);
    for (int i = 0; i < PDL_BLOCK_COUNT; i++) {
        pdl_block_kind k = (pdl_block_kind)i;
        const char *class_name = pdl_block_schema(k);
        pdl_val b = pdl_dict_putz(pdl_dict_new(5), "kind", pdl_textz(pdl_block_name(k)));
        b = pdl_dict_putz(b, "class", class_name ? pdl_textz(class_name) : pdl_null());
        b = pdl_dict_putz(b, "leaf", pdl_bool(!pdl_block_is_structured(k)));
        b = pdl_dict_putz(b, "doc", pdl_textz(pdl_block_doc(k)));
        out = pdl_list_push(out, pdl_dict_putz(b, "fields", own_fields(k)));
    }
    return out;
}

/* Returns "|a|b|" as a list. */
static pdl_val words(const char *list) {
    pdl_val out = pdl_list_new(2);
    for (const char *at = list; *at && at[1];) {
        const char *end = strchr(at + 1, '|');
        out = pdl_list_push(out, pdl_text((pdl_str){at + 1, (size_t)(end - at - 1)}));
        at = end;
    }
    return out;
}

static pdl_val all_forms(void) {
    size_t n;
    const pdl_form *f = pdl_forms(&n);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val form = pdl_dict_putz(pdl_dict_new(6), "class", pdl_textz(f[i].name));
        form = pdl_dict_putz(form, "kind", pdl_textz(pdl_block_name(f[i].kind)));
        form = pdl_dict_putz(form, "tag", pdl_textz(f[i].tag));
        form = pdl_dict_putz(form, "value", pdl_textz(f[i].value));
        form = pdl_dict_putz(form, "with", words(f[i].with));
        out = pdl_list_push(out, pdl_dict_putz(form, "without", words(f[i].without)));
    }
    return out;
}

static pdl_val all_common(void) {
    pdl_val out = pdl_list_new(16);
    for (size_t i = 0; i < sizeof common / sizeof *common; i++)
        out = pdl_list_push(out, field(&common[i]));
    return out;
}

static pdl_val all_records(void) {
    pdl_val out = pdl_list_new(16);
    for (size_t i = 0; i < sizeof records / sizeof *records; i++) {
        pdl_val f = field(&records[i]);
        f = pdl_dict_putz(f, "record", pdl_textz(record_names[records[i].of]));
        out = pdl_list_push(out, f);
    }
    return out;
}

static pdl_val all_trace(void) {
    size_t n;
    const pdl_trace_row *rows = pdl_trace_fields(&n);
    pdl_val out = pdl_list_new(n);
    for (size_t i = 0; i < n; i++) {
        pdl_val f = pdl_dict_putz(pdl_dict_new(2), "key", pdl_textz(rows[i].key));
        out = pdl_list_push(out, pdl_dict_putz(f, "kinds", kinds_of(rows[i].kinds)));
    }
    return out;
}

pdl_val pdl_language_table(void) {
    pdl_val out = pdl_dict_putz(pdl_dict_new(5), "blocks", all_blocks());
    out = pdl_dict_putz(out, "forms", all_forms());
    out = pdl_dict_putz(out, "common", all_common());
    out = pdl_dict_putz(out, "records", all_records());
    return pdl_dict_putz(out, "trace", all_trace());
}
