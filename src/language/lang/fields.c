/* fields.c -- the tables made from blocks.def and common.def; see block.h. Each table includes
 * these files with other macros, so a new row is in all tables at once.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/fields.h"

#include <assert.h>
#include <stddef.h>

#include "base/banned.h"

const pdl_block_rare pdl_block_no_rare = {0};

const pdl_field_form pdl_field_forms[PDL_FT_COUNT] = {
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc)                                \
    {PDL_HOLDS_##holds, PDL_OPENS_##opens, doc},
#include "lang/field_types.def"
};

typedef enum { AUDIBLE, SILENT, JOINED } parts_kind;
typedef enum { NEUTRAL, READS } context_kind;

/* There is a row for each kind. */
static const struct {
    const char *name;
    bool structured;
    parts_kind parts;
    context_kind context;
    const char *schema, *doc;
} kinds[] = {
#define LEAF                                        false
#define STRUCT                                      true
#define BLOCK(id, cls, parts, context, schema, doc) {#id, cls, parts, context, schema, doc},
#include "lang/blocks.def"
#undef LEAF
#undef STRUCT
};
static_assert(sizeof kinds / sizeof *kinds == PDL_BLOCK_COUNT, "a row for each kind");

static const pdl_field own[] = {
#define F(id, member, text, what, required, about)                                                 \
    {.kind = PDL_BLOCK_##id,                                                                       \
     .key = text,                                                                                  \
     .type = PDL_FT_##what,                                                                        \
     .need = PDL_NEED_##required,                                                                  \
     .offset = offsetof(pdl_b_##id, member),                                                       \
     .doc = about},
#include "lang/blocks.def"
};
enum { N_OWN = sizeof own / sizeof *own };

/* These are the indexes where the fields of a kind begin and end in the table. */
enum {
#define BLOCK(id, cls, parts, context, schema, doc) BEGIN_##id, BACK_##id = BEGIN_##id - 1,
#define F(id, member, key, type, need, doc)         AT_##id##_##member,
#define END(id)                                     END_##id, LAST_##id = END_##id - 1,
#include "lang/blocks.def"
};
static const struct {
    uint8_t begin, end;
} ranges[] = {
#define BLOCK(id, cls, parts, context, schema, doc) {BEGIN_##id, END_##id},
#include "lang/blocks.def"
};
static_assert(N_OWN < 200,
              "places in the table are bytes below those of the common ones (COMMON_FIELD)");

static const pdl_field common[] = {
#define HEAD    pdl_block
#define RARE    pdl_block_rare
#define IN_HEAD false
#define IN_RARE true
#define C(where, at, name, text, what, when, about)                                                \
    {.kind = -1,                                                                                   \
     .key = text,                                                                                  \
     .type = PDL_FT_##what,                                                                        \
     .need = PDL_NEED_OPT,                                                                         \
     .offset = offsetof(where, name),                                                              \
     .in_rare = IN_##where,                                                                        \
     .part = PDL_PART_##at,                                                                        \
     .doc = about},
#include "lang/common.def"
};
enum { N_COMMON = sizeof common / sizeof *common };
#undef HEAD
#undef RARE

/* The keys that decide on the kind, in the order in which they are tried (spec syntax 2.1). */
static const pdl_select_row selecting[] = {
#define K(id, member, key, type, need, doc) {key, PDL_BLOCK_##id},
#include "lang/blocks.def"
};

static const pdl_form forms[] = {
#define FORM(id, schema, tag, value, with, without)                                                \
    {PDL_BLOCK_##id, schema, tag, value, with, without},
#include "lang/blocks.def"
};
enum { N_FORMS = sizeof forms / sizeof *forms };

static const pdl_record_part parts[] = {
#define retry_STRUCT      pdl_retry
#define budget_STRUCT     pdl_budget_field
#define endorse_STRUCT    pdl_endorse_field
#define aggregator_STRUCT pdl_agg
#define R(of, member, what, required, about)                                                       \
    {.record = PDL_RECORD_##of,                                                                    \
     .key = #member,                                                                               \
     .type = PDL_RT_##what,                                                                        \
     .need = PDL_NEED_##required,                                                                  \
     .offset = offsetof(of##_STRUCT, member),                                                      \
     .doc = about},
#include "lang/records.def"
};
enum { N_PARTS = sizeof parts / sizeof *parts };

/* The fields and parts that have a value when they are absent. */
typedef struct default_row {
    int of; /* a pdl_block_kind or a pdl_record */
    const char *key, *text;
} default_row;
static const default_row field_defaults[] = {
#define D(id, key, text) {PDL_BLOCK_##id, key, text},
#include "lang/blocks.def"
};
static const default_row part_defaults[] = {
#define D(record, member, text) {PDL_RECORD_##record, #member, text},
#include "lang/records.def"
};

/* The fields that a trace adds, which are accepted and ignored (spec syntax 2.3). */
#define BIT(id) (1u << PDL_BLOCK_##id)
static const pdl_trace_row trace_rows[] = {
    {"pdl__id", UINT32_MAX},
    {"pdl__context", UINT32_MAX},
    {"pdl__result", UINT32_MAX},
    {"pdl__location", UINT32_MAX},
    {"pdl__timing", UINT32_MAX},
    {"pdl__is_leaf", UINT32_MAX},
    {"pdl__trace", BIT(call) | BIT(model) | BIT(include) | BIT(import) | BIT(repeat) | BIT(map)},
    {"pdl__usage", UINT32_MAX},
    {"pdl__model_input", BIT(model)},
    {"pdl__attempts", BIT(model)},
    {"pdl__structured", BIT(model)},
    {"pdl__decisions", UINT32_MAX},
    {"pdl__labels", UINT32_MAX},
    {"pdl__calls", UINT32_MAX},
    {"pdl__abandoned", UINT32_MAX},
    {"pdl__replayed", UINT32_MAX},
    {"pdl__tool", BIT(call)},
    {"pdl__parsed", UINT32_MAX},
    {"pdl__shown", UINT32_MAX},
    {"pdl__score", BIT(factor)},
};
static_assert(PDL_BLOCK_COUNT <= 32, "sets of kinds are 32 bits");

/* The other spellings of a field's key (spec syntax 2.4). */
static const pdl_synonym_row synonyms[] = {
    {"def_", "def"}, {"return_", "return"}, {"else_", "else"}, {"for_", "for"}, {"while_", "while"},
};

const pdl_field *pdl_fields(size_t *n) {
    *n = N_OWN;
    return own;
}

const pdl_field *pdl_fields_of(pdl_block_kind kind, size_t *n) {
    assert(kind < PDL_BLOCK_COUNT && ranges[kind].begin <= ranges[kind].end);
    *n = (size_t)(ranges[kind].end - ranges[kind].begin);
    return own + ranges[kind].begin;
}

const pdl_field *pdl_common_fields(size_t *n) {
    *n = N_COMMON;
    return common;
}

const pdl_select_row *pdl_selecting_keys(size_t *n) {
    *n = sizeof selecting / sizeof *selecting;
    return selecting;
}

const pdl_trace_row *pdl_trace_fields(size_t *n) {
    *n = sizeof trace_rows / sizeof *trace_rows;
    return trace_rows;
}

const pdl_synonym_row *pdl_key_synonyms(size_t *n) {
    *n = sizeof synonyms / sizeof *synonyms;
    return synonyms;
}

const pdl_form *pdl_forms(size_t *n) {
    *n = N_FORMS;
    return forms;
}

bool pdl_form_lists(const char *list, const char *key) {
    size_t n = strlen(key);
    if (!n) return false; /* the empty text is found everywhere, even after the end */
    for (const char *p = strstr(list, key); p; p = strstr(p + 1, key))
        if (p > list && p[-1] == '|' && p[n] == '|') return true;
    return false;
}

static bool has_forms(pdl_block_kind kind) {
    for (size_t i = 0; i < N_FORMS; i++)
        if (forms[i].kind == kind) return true;
    return false;
}

const char *pdl_block_union(pdl_block_kind kind) {
    return has_forms(kind) ? kinds[kind].schema : NULL;
}

const pdl_record_part *pdl_record_parts(pdl_record record, size_t *n) {
    size_t first = 0, last;
    while (first < N_PARTS && parts[first].record != record) first++;
    for (last = first; last < N_PARTS && parts[last].record == record;) last++;
    *n = last - first;
    return parts + first;
}

static pdl_val default_in(const default_row *rows, size_t n, int of, const char *key) {
    size_t i = 0;
    while (i < n && (rows[i].of != of || strcmp(rows[i].key, key) != 0)) i++;
    if (i == n) return pdl_absent();
    const char *text = rows[i].text;
    if (strcmp(text, "true") == 0) return pdl_bool(true);
    if (strcmp(text, "false") == 0) return pdl_bool(false);
    if (strcmp(text, "null") == 0) return pdl_null();
    if (strcmp(text, "{}") == 0) return pdl_dict_new(0);
    if (strcmp(text, "{with: ''}") == 0)
        return pdl_dict_putz(pdl_dict_new(1), "with", pdl_textz(""));
    return pdl_textz(text);
}

pdl_val pdl_field_default(pdl_block_kind kind, const char *key) {
    return default_in(field_defaults, sizeof field_defaults / sizeof *field_defaults, (int)kind,
                      key);
}

pdl_val pdl_record_default(pdl_record record, const char *key) {
    return default_in(part_defaults, sizeof part_defaults / sizeof *part_defaults, (int)record,
                      key);
}

bool pdl_field_allowed(pdl_block_kind kind, const pdl_field *f) {
    assert(kind < PDL_BLOCK_COUNT);
    if (f->kind >= 0) return f->kind == (int)kind;
    if (kind == PDL_BLOCK_scalar) return false;
    return f->type != PDL_FT_CTX || kinds[kind].structured;
}

const pdl_field *pdl_field_find(pdl_block_kind kind, pdl_str key) {
    if (!key.n) return NULL;
    for (size_t i = ranges[kind].begin; i < ranges[kind].end; i++)
        if (pdl_str_is(key, own[i].key)) return &own[i];
    for (size_t i = 0; i < N_COMMON; i++)
        if (pdl_str_is(key, common[i].key))
            return pdl_field_allowed(kind, &common[i]) ? &common[i] : NULL;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (pdl_str_is(key, synonyms[i].old))
            return pdl_field_find(kind, pdl_str_of(synonyms[i].key));
    return NULL;
}

const char *pdl_block_name(pdl_block_kind k) {
    assert(k < PDL_BLOCK_COUNT);
    return kinds[k].name;
}
const char *pdl_block_trace_name(pdl_block_kind k) {
    return k == PDL_BLOCK_scalar ? "data" : kinds[k].name;
}
const char *pdl_block_schema(pdl_block_kind k) {
    assert(k < PDL_BLOCK_COUNT);
    return kinds[k].schema;
}
const char *pdl_block_doc(pdl_block_kind k) { return kinds[k].doc; }
bool pdl_block_is_structured(pdl_block_kind k) { return kinds[k].structured; }
bool pdl_block_is_neutral(pdl_block_kind k) { return kinds[k].context == NEUTRAL; }

/* Returns the block's join, or NULL when the field `join` is absent. */
static const pdl_join *join_of(const pdl_block *b) {
    const pdl_field *f = pdl_field_find(b->kind, PDL_STR("join"));
    return f ? *(const pdl_join *const *)pdl_field_at(b, f) : NULL;
}

bool pdl_block_silences_parts(const pdl_block *b) {
    if (kinds[b->kind].parts != JOINED) return kinds[b->kind].parts == SILENT;
    const pdl_join *join = join_of(b);
    return join && join->kind != PDL_JOIN_TEXT &&
           !(join->kind == PDL_JOIN_LASTOF && b->kind == PDL_BLOCK_sequence);
}

bool pdl_block_kind_find(pdl_str name, pdl_block_kind *out) {
    for (size_t i = 0; i < PDL_BLOCK_scalar; i++) {
        if (!pdl_str_is(name, kinds[i].name)) continue;
        *out = (pdl_block_kind)i;
        return true;
    }
    return false;
}

/* Returns true when the block begins with its definitions, which may be long. */
static bool begins_with_defs(const pdl_node *n) {
    return n && n->kind == PDL_NODE_MAP && n->n && pdl_str_is(n->pairs[0].key->text, "defs");
}

pdl_loc pdl_block_own_loc(const pdl_block *b) {
    if (!begins_with_defs(b->node)) return b->loc;
    for (size_t i = 1; i < b->node->n; i++) {
        const pdl_node *key = b->node->pairs[i].key;
        const pdl_field *f = pdl_field_find(b->kind, key->text);
        if (f && f->kind >= 0) return pdl_node_loc(key);
    }
    return b->loc;
}

pdl_loc pdl_field_loc(const pdl_block *b, const char *key) {
    const pdl_pair *pair = NULL;
    if (!b->node || b->node->kind != PDL_NODE_MAP) return b->loc;
    if (pdl_node_find(b->node, pdl_str_of(key), &pair)) return pdl_node_loc(pair->key);
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (strcmp(key, synonyms[i].key) != 0) continue;
        if (pdl_node_find(b->node, pdl_str_of(synonyms[i].old), &pair))
            return pdl_node_loc(pair->key);
    }
    return b->loc;
}
