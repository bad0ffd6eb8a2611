/* node_roles.c -- derives the roles of children from the role of their parent; see node_roles.h.
 * The tables that the loader uses say which fields a kind has and what each contains. For each type
 * of field, one function gives the role of the value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/node_roles.h"

#include "lang/fields.h"

#include "base/banned.h"

bool pdl_lsp_kind_of(const pdl_node *map, pdl_block_kind *kind) {
    size_t n;
    const pdl_node *said = pdl_node_find(map, PDL_STR("kind"), NULL);
    if (map->kind != PDL_NODE_MAP) return false;
    if (said && pdl_node_is_str(said) && pdl_block_kind_find(said->text, kind)) return true;
    const pdl_select_row *rows = pdl_selecting_keys(&n);
    size_t best = n;
    for (uint32_t i = 0; i < map->n; i++) {
        const pdl_node *key = map->pairs[i].key;
        for (size_t k = 0; pdl_node_is_str(key) && k < best; k++)
            if (pdl_str_is(key->text, rows[k].key)) best = k;
    }
    if (best == n) return false;
    *kind = rows[best].kind;
    return true;
}

pdl_str pdl_lsp_lang_of(const pdl_node *block) {
    const pdl_node *lang = pdl_node_find(block, PDL_STR("lang"), NULL);
    return lang && pdl_node_is_str(lang) ? lang->text : PDL_STR("python");
}

lsp_spot pdl_lsp_spot_root(const pdl_node *root) {
    lsp_spot p = {.role = ROLE_BLOCK, .node = root};
    p.has_kind = root && pdl_lsp_kind_of(root, &p.kind);
    return p;
}

const lsp_spot *pdl_lsp_spot_block(const lsp_spot *p) {
    while (p && !(p->role == ROLE_BLOCK && p->node->kind == PDL_NODE_MAP)) p = p->up;
    return p;
}

/* --- values of fields ------------------------------------------------------------------------- */

static lsp_role words(lsp_spot *p, lsp_role role, pdl_word_group group) {
    p->group = group;
    return role;
}

static lsp_role record_role(lsp_spot *p, pdl_record record) {
    p->record = record;
    return ROLE_RECORD;
}

static bool is_map(const lsp_spot *p) { return p->node->kind == PDL_NODE_MAP; }

/* There is a function for each name in the column `role` of field_types.def. */
#define ROLE(name) static lsp_role role_##name(lsp_spot *p, const pdl_field *f)
#define ROLE_IS(name, expression)                                                                  \
    ROLE(name) {                                                                                   \
        (void)p;                                                                                   \
        (void)f;                                                                                   \
        return expression;                                                                         \
    }

/* Returns the role of a literal text. The role depends on the field. */
ROLE(text) {
    static const struct {
        const char *key;
        pdl_word_group group;
    } known[] = {
        {"role", PDL_WORDS_ROLE}, {"lang", PDL_WORDS_LANG}, {"platform", PDL_WORDS_PLATFORM}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(f->key, known[i].key) == 0) return words(p, ROLE_WORD, known[i].group);
    if (strcmp(f->key, "include") == 0 || strcmp(f->key, "import") == 0) return ROLE_FILE;
    if (strcmp(f->key, "def") == 0 || strcmp(f->key, "index") == 0 ||
        strcmp(f->key, "modelResponse") == 0)
        return ROLE_NAME;
    return strcmp(f->key, "get") == 0 ? ROLE_GET : ROLE_TEXT;
}

ROLE(data) {
    if (f->kind == PDL_BLOCK_call) return strcmp(f->key, "call") == 0 ? ROLE_CALLEE : ROLE_ARGS;
    if (f->kind == PDL_BLOCK_model && strcmp(f->key, "parameters") == 0) return ROLE_PARAMETERS;
    if (f->kind == PDL_BLOCK_model && strcmp(f->key, "model") == 0) return ROLE_MODEL;
    if (f->kind == PDL_BLOCK_data && strcmp(f->key, "data") == 0) {
        const pdl_node *raw = pdl_node_find(p->up->node, PDL_STR("raw"), NULL);
        if (raw && raw->type == PDL_NT_BOOL && pdl_str_is(raw->text, "true")) return ROLE_RAW;
    }
    return ROLE_DATA;
}

ROLE_IS(truth, words(p, ROLE_WORD, PDL_WORDS_FLAG))
ROLE_IS(number, ROLE_TEXT)
ROLE_IS(raw, ROLE_RAW)
ROLE_IS(block, f->kind == PDL_BLOCK_code && !is_map(p) ? ROLE_CODE : ROLE_BLOCK)
ROLE_IS(blocks, ROLE_BLOCKS)
ROLE_IS(fields, ROLE_NAMED_BLOCKS)
ROLE_IS(defs, ROLE_DEFS)
ROLE_IS(type, ROLE_TYPE)
ROLE_IS(params, ROLE_PARAMS)
ROLE_IS(join, words(p, ROLE_WORDS, PDL_WORDS_JOIN))
ROLE_IS(cases, ROLE_CASES)
ROLE_IS(fors, ROLE_FORS)
ROLE_IS(aggregator, is_map(p) ? record_role(p, PDL_RECORD_aggregator)
                              : words(p, ROLE_WORD, PDL_WORDS_AGGREGATOR))
ROLE_IS(context, words(p, ROLE_WORD, PDL_WORDS_CONTEXT))
ROLE_IS(retry, is_map(p) ? record_role(p, PDL_RECORD_retry) : ROLE_TEXT)
ROLE_IS(budget, record_role(p, PDL_RECORD_budget))
ROLE_IS(targets, words(p, ROLE_WORD, PDL_WORDS_TARGET))
ROLE_IS(parser,
        is_map(p) ? words(p, ROLE_WORDS, PDL_WORDS_REGEX) : words(p, ROLE_WORD, PDL_WORDS_PARSER))
ROLE_IS(expectations, words(p, ROLE_WORDS, PDL_WORDS_EXPECTATION))
ROLE_IS(endorse, record_role(p, PDL_RECORD_endorse))

static lsp_role (*const roles[])(lsp_spot *p, const pdl_field *f) = {
#define FIELD_TYPE(name, type, holds, walk, dump, role, opens, doc) role_##role,
#include "lang/field_types.def"
};

static lsp_role field_role(lsp_spot *p, const pdl_field *f) { return roles[f->type](p, f); }

/* --- children --------------------------------------------------------------------------------- */

/* Returns a field of any kind of block, because `lang` may be typed before the `code` that
 * determines the kind. */
static const pdl_field *any_field(pdl_str key) {
    size_t n;
    const pdl_field *all = pdl_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (all[i].need != PDL_NEED_OLD && pdl_str_is(key, all[i].key)) return &all[i];
    return NULL;
}

/* Returns the role of an entry of a mapping that is a block. */
static lsp_role block_entry(lsp_spot *p, const lsp_spot *up) {
    pdl_block_kind kind = up->has_kind ? up->kind : PDL_BLOCK_empty;
    p->field = p->key->kind == PDL_NODE_SCALAR ? pdl_field_find(kind, p->key->text) : NULL;
    if (!p->field && !up->has_kind && pdl_node_is_str(p->key)) p->field = any_field(p->key->text);
    return p->field ? field_role(p, p->field) : ROLE_NONE;
}

/* Returns the role of an entry of an object whose keys are words. */
static lsp_role word_entry(lsp_spot *p, const lsp_spot *up) {
    pdl_str key = p->key->text;
    switch (up->group) {
    case PDL_WORDS_JOIN:
        if (pdl_str_is(key, "as")) return words(p, ROLE_WORD, PDL_WORDS_JOIN_AS);
        return pdl_str_is(key, "reduce") ? ROLE_CALLEE : ROLE_TEXT;
    case PDL_WORDS_REGEX:
        if (pdl_str_is(key, "mode")) return words(p, ROLE_WORD, PDL_WORDS_REGEX_MODE);
        return pdl_str_is(key, "spec") ? ROLE_TYPE : ROLE_TEXT;
    case PDL_WORDS_EXPECTATION:
        if (pdl_str_is(key, "feedback"))
            return p->node->kind == PDL_NODE_MAP ? ROLE_BLOCK : ROLE_DATA;
        return ROLE_DATA;
    case PDL_WORDS_CASE:
        if (pdl_str_is(key, "case")) return ROLE_PATTERN;
        return pdl_str_is(key, "then") ? ROLE_BLOCK : pdl_str_is(key, "if") ? ROLE_DATA : ROLE_NONE;
    case PDL_WORDS_TARGET: return words(p, ROLE_WORDS, PDL_WORDS_TARGET_KEY);
    case PDL_WORDS_TARGET_KEY: return ROLE_DATA;
    case PDL_WORDS_NONE:
    case PDL_WORDS_ROLE:
    case PDL_WORDS_LANG:
    case PDL_WORDS_PLATFORM:
    case PDL_WORDS_PARSER:
    case PDL_WORDS_REGEX_MODE:
    case PDL_WORDS_JOIN_AS:
    case PDL_WORDS_PATTERN:
    case PDL_WORDS_CONTEXT:
    case PDL_WORDS_TYPE:
    case PDL_WORDS_TYPE_KEY:
    case PDL_WORDS_AGGREGATOR:
    case PDL_WORDS_FLAG: break;
    }
    return ROLE_NONE;
}

static lsp_role pattern_entry(const lsp_spot *p) {
    pdl_str key = p->key->text;
    if (pdl_str_is(key, "def")) return ROLE_NAME;
    if (pdl_str_is(key, "object")) return ROLE_PATTERN_FIELDS;
    return pdl_str_is(key, "any") ? ROLE_NONE : ROLE_PATTERNS;
}

static lsp_role type_entry(const lsp_spot *p) {
    pdl_str key = p->key->text;
    if (pdl_str_is(key, "object") || pdl_str_is(key, "properties")) return ROLE_TYPE_FIELDS;
    if (pdl_str_is(key, "enum") || pdl_str_is(key, "description") || pdl_str_is(key, "required") ||
        pdl_str_is(key, "pattern"))
        return ROLE_RAW;
    return ROLE_TYPE;
}

static lsp_role map_entry(lsp_spot *p, const lsp_spot *up) {
    switch (up->role) {
    case ROLE_BLOCK:
    case ROLE_BLOCKS: return block_entry(p, up);
    case ROLE_NAMED_BLOCKS:
    case ROLE_DEFS: return ROLE_BLOCK;
    case ROLE_DATA:
    case ROLE_ARGS:
    case ROLE_PARAMETERS:
    case ROLE_RAW: return up->role == ROLE_RAW ? ROLE_RAW : ROLE_DATA;
    case ROLE_TYPE: return type_entry(p);
    case ROLE_PARAMS:
    case ROLE_TYPE_FIELDS: return ROLE_TYPE;
    case ROLE_FORS: return ROLE_DATA;
    case ROLE_WORD: return up->group == PDL_WORDS_TARGET ? word_entry(p, up) : ROLE_NONE;
    case ROLE_WORDS: return word_entry(p, up);
    case ROLE_RECORD: return ROLE_DATA;
    case ROLE_PATTERN: return pattern_entry(p);
    case ROLE_PATTERN_FIELDS: return ROLE_PATTERN;
    case ROLE_NONE:
    case ROLE_TEXT:
    case ROLE_NAME:
    case ROLE_FILE:
    case ROLE_GET:
    case ROLE_MODEL:
    case ROLE_CALLEE:
    case ROLE_CODE:
    case ROLE_CASES:
    case ROLE_PATTERNS: break;
    }
    return ROLE_NONE;
}

static lsp_role list_item(lsp_spot *p, const lsp_spot *up) {
    p->group = up->group;
    p->record = up->record;
    switch (up->role) {
    case ROLE_BLOCK:
    case ROLE_BLOCKS:
    case ROLE_NAMED_BLOCKS: return ROLE_BLOCK;
    case ROLE_CASES: p->group = PDL_WORDS_CASE; return ROLE_WORDS;
    case ROLE_PATTERNS: return ROLE_PATTERN;
    case ROLE_WORD:
    case ROLE_WORDS:
    case ROLE_DATA:
    case ROLE_RAW:
    case ROLE_TYPE: return up->role;
    case ROLE_NONE:
    case ROLE_DEFS:
    case ROLE_TEXT:
    case ROLE_NAME:
    case ROLE_FILE:
    case ROLE_GET:
    case ROLE_MODEL:
    case ROLE_PARAMETERS:
    case ROLE_CALLEE:
    case ROLE_ARGS:
    case ROLE_CODE:
    case ROLE_TYPE_FIELDS:
    case ROLE_PARAMS:
    case ROLE_FORS:
    case ROLE_RECORD:
    case ROLE_PATTERN:
    case ROLE_PATTERN_FIELDS: break;
    }
    return ROLE_NONE;
}

lsp_spot pdl_lsp_spot_child(const lsp_spot *up, uint32_t i) {
    lsp_spot p = {.up = up, .field = up->field};
    if (up->node->kind == PDL_NODE_SEQ) {
        p.node = up->node->items[i];
        p.role = list_item(&p, up);
    } else {
        p.node = up->node->pairs[i].value;
        p.key = up->node->pairs[i].key;
        p.role = map_entry(&p, up);
    }
    if (p.role == ROLE_BLOCKS && p.node->kind != PDL_NODE_SEQ) p.role = ROLE_BLOCK;
    if (p.role == ROLE_NAMED_BLOCKS && p.node->kind == PDL_NODE_SCALAR) p.role = ROLE_BLOCK;
    if (p.role == ROLE_BLOCK) p.has_kind = pdl_lsp_kind_of(p.node, &p.kind);
    return p;
}

/* --- the way to an offset --------------------------------------------------------------------- */

static bool holds(const pdl_node *n, uint32_t off) { return n->start <= off && off <= n->end; }

/* Finds the child that contains the offset. When two parts touch at the offset, the later part is
 * returned: the span of a mapping or list in block form extends to the next part. */
static bool child_at(const pdl_node *n, uint32_t off, uint32_t *i, bool *on_key) {
    *on_key = false;
    for (*i = n->n; n->kind == PDL_NODE_SEQ && *i > 0;)
        if (holds(n->items[--*i], off)) return true;
    for (*i = n->n; n->kind == PDL_NODE_MAP && *i > 0;) {
        --*i;
        *on_key = holds(n->pairs[*i].key, off);
        if (*on_key || holds(n->pairs[*i].value, off)) return true;
    }
    return false;
}

void pdl_lsp_way_to(const pdl_node *root, uint32_t off, lsp_way *way) {
    uint32_t i;
    way->n = 1;
    way->on_key = false;
    way->complete = true;
    way->p[0] = pdl_lsp_spot_root(root);
    while (!way->on_key && child_at(pdl_lsp_way_end(way)->node, off, &i, &way->on_key)) {
        if (way->n == LSP_MAX_WAY) {
            way->complete = false;
            return;
        }
        way->p[way->n] = pdl_lsp_spot_child(&way->p[way->n - 1], i);
        way->n++;
    }
}
