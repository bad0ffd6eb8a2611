/* load_block.c -- see load.h: decides the kind of a mapping and reads its fields.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lang/load.h"

#include <assert.h>
#include <pthread.h>

#include "base/limits.h"
#include "base/utf8.h"
#include "base/word.h"
#include "base/word_list.h"
#include "lang/loader.h"
#include "value/text.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum {
    PER_BYTE = 10,            /* bytes of memory for each byte of text, mostly 9 to 13 */
    SHOWN_VALUE = 200,        /* the maximum number of bytes of a wrong value in messages */
    ALIAS_SLACK = 200000,     /* the number of nodes that aliases may add to the text */
    MET_KEYS = 8,             /* maximum number of keys that are noted; most blocks have fewer */
    MAX_SHOWN_NODES = 100000, /* larger parts are not shown in a message */
};

/* --- problems --------------------------------------------------------------------------------- */

pdl_diag *pdl_loader_diag(pdl_loader *l, const char *code, pdl_loc loc, pdl_loc mark,
                          const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_diag *d = pdl_program_vdiag(l->p, PDL_DIAG_OF(PDL_DIAG_ERROR, code, loc, mark), fmt, ap);
    va_end(ap);
    d->at_load = true;
    return d;
}

void pdl_loader_hint(pdl_loader *l, pdl_diag *d, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    d->hint = pdl_program_vtext(l->p, fmt, ap);
    va_end(ap);
}

/* Returns true when n has at most `left` nodes. */
static bool is_small(const pdl_node *n, size_t *left) {
    if (*left == 0) return false;
    (*left)--;
    for (uint32_t i = 0; n->kind == PDL_NODE_SEQ && i < n->n; i++)
        if (!is_small(n->items[i], left)) return false;
    for (uint32_t i = 0; n->kind == PDL_NODE_MAP && i < n->n; i++)
        if (!is_small(n->pairs[i].value, left)) return false;
    return true;
}

/* Writes the value as a program would print it, but shortened. */
static void show_node(const pdl_node *n, pdl_buf *out) {
    pdl_err err = {0};
    pdl_val v;
    size_t left = MAX_SHOWN_NODES;
    if (!is_small(n, &left) || !pdl_yaml_to_val(n, &v, &err)) {
        pdl_err_fini(&err);
        PDL_PUT(out, "This value");
        return;
    }
    pdl_val_show(v, false, SHOWN_VALUE, out);
    pdl_drop(v);
    for (size_t i = 0; i < out->len; i++) /* a message is one line */
        if (out->p[i] == '\n') out->p[i] = ' ';
}

/* Helps with a value of the wrong form. loc is the place of the key when n is a field's value. */
static void advise_form(pdl_loader *l, pdl_diag *d, const pdl_node *n, pdl_loc loc) {
    pdl_loc own = pdl_node_loc(n);
    if (!loc.src || loc.end > loc.src->text.n || loc.start == own.start) return;
    const char *advice = pdl_form_advice(pdl_str_sub(loc.src->text, loc.start, loc.end), n);
    if (advice) pdl_loader_hint(l, d, "%s", advice);
}

void pdl_loader_wrong(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *should) {
    pdl_buf v = PDL_BUF;
    show_node(n, &v);
    pdl_diag *d =
        pdl_loader_diag(l, "value-type", loc, pdl_node_loc(n), "%s %s", pdl_buf_z(&v), should);
    advise_form(l, d, n, loc);
    pdl_buf_fini(&v);
}

void pdl_loader_wrong_union(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *expected) {
    pdl_buf v = PDL_BUF;
    show_node(n, &v);
    const char *verb = n->kind == PDL_NODE_SEQ   ? "should not be a list; expected"
                       : n->kind == PDL_NODE_MAP ? "should be of type:"
                                                 : "should be of type";
    pdl_buf_putf(&v, " %s %s", verb, expected);
    pdl_diag *d = pdl_loader_diag(l, "value-type", loc, pdl_node_loc(n), "%s", pdl_buf_z(&v));
    advise_form(l, d, n, loc);
    pdl_buf_fini(&v);
}

void pdl_loader_err(pdl_loader *l, const char *code, pdl_loc loc, pdl_err *err) {
    pdl_loc mark = err->mark.src ? err->mark : err->loc;
    pdl_diag *d = pdl_loader_diag(l, code, loc, mark, "%s", err->msg);
    if (err->hint) d->hint = pdl_arena_str(l->a, pdl_str_of(err->hint));
    pdl_err_fini(err);
}

static void suggest(pdl_loader *l, pdl_diag *d, pdl_str word, const pdl_str *known, size_t n) {
    pdl_str near = pdl_str_nearest(word, known, n);
    if (near.n) pdl_loader_hint(l, d, "did you mean '%.*s'?", PDL_FMT(near));
}

static pdl_diag *unknown(pdl_loader *l, const pdl_node *key) {
    pdl_buf v = PDL_BUF;
    if (pdl_node_is_word(key))
        pdl_buf_put(&v, key->text);
    else
        show_node(key, &v);
    pdl_diag *d = pdl_loader_diag(l, "field-unknown", pdl_node_loc(key), pdl_node_loc(key),
                                  "Field not allowed: %s", pdl_buf_z(&v));
    pdl_buf_fini(&v);
    return d;
}

void pdl_loader_unknown(pdl_loader *l, const pdl_node *key, const char *const *known,
                        size_t n_known) {
    pdl_str names[16];
    pdl_diag *d = unknown(l, key);
    if (n_known > 16) n_known = 16;
    for (size_t i = 0; i < n_known; i++) names[i] = pdl_str_of(known[i]);
    const char *advice = pdl_node_is_name(key) ? pdl_part_advice(key->text, names, n_known) : NULL;
    if (advice)
        pdl_loader_hint(l, d, "%s", advice);
    else
        suggest(l, d, key->text, names, n_known);
}

void pdl_loader_one_of(pdl_loader *l, const pdl_node *n, pdl_loc loc, const char *const *words,
                       size_t n_words, bool general) {
    pdl_buf v = PDL_BUF;
    pdl_str names[16];
    if (!pdl_node_is_str(n)) pdl_loader_wrong(l, n, loc, "should be of type <class 'str'>");
    show_node(n, &v);
    PDL_PUT(&v, " should be one of: [");
    for (size_t i = 0; i < n_words && i < 16; i++) {
        pdl_buf_putf(&v, "%s'%s'", i ? ", " : "", words[i]);
        names[i] = pdl_str_of(words[i]);
    }
    pdl_diag *d = pdl_loader_diag(l, "value-unknown", loc, pdl_node_loc(n), "%s]", pdl_buf_z(&v));
    d->general = general;
    if (n_words > 16) n_words = 16;
    const char *advice = pdl_node_is_str(n) ? pdl_word_advice(n->text, names, n_words) : NULL;
    if (advice)
        pdl_loader_hint(l, d, "%s", advice);
    else if (pdl_node_is_str(n))
        suggest(l, d, n->text, names, n_words);
    pdl_buf_fini(&v);
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Returns the slot of a key. Nearly all keys of the language differ in their length or in one of
 * the three bytes that are used here. */
static uint32_t key_slot(const char *p, size_t n) {
    const unsigned char *u = (const unsigned char *)p;
    if (!n) return 0;
    return (u[0] * 7u + u[n - 1] * 61u + u[n / 2] * 251u + (uint32_t)n * 1021u) % KEY_SLOTS;
}

/* The keys of the language. Because they follow from the tables alone, they are hashed only once,
 * when the first program is loaded. */
static struct {
    pthread_once_t once;
    uint32_t n_keys;
    uint8_t slots[KEY_SLOTS];
    pdl_key keys[MAX_KEYS];
} key_table = {.once = PTHREAD_ONCE_INIT};

static pdl_key *key_make(const char *name) {
    size_t n = strlen(name);
    uint32_t s = key_slot(name, n);
    for (; key_table.slots[s]; s = (s + 1) % KEY_SLOTS) {
        pdl_key *k = &key_table.keys[key_table.slots[s]];
        if (k->len == n && pdl_bytes_eq(k->name, name, n)) return k;
    }
    if (key_table.n_keys + 1 >= MAX_KEYS) PDL_BUG("MAX_KEYS is too small");
    pdl_key *k = &key_table.keys[++key_table.n_keys];
    key_table.slots[s] = (uint8_t)key_table.n_keys;
    k->name = name;
    k->len = (uint32_t)n;
    return k;
}

static const pdl_key *key_find(const pdl_node *key) {
    if (!pdl_node_is_str(key) || key->text.n > 24) return NULL;
    uint32_t s = key_slot(key->text.p, key->text.n);
    for (; key_table.slots[s]; s = (s + 1) % KEY_SLOTS) {
        const pdl_key *k = &key_table.keys[key_table.slots[s]];
        if (k->len == key->text.n && pdl_bytes_eq(k->name, key->text.p, k->len)) return k;
    }
    return NULL;
}

/* The numbers of the first keys of a mapping, which are needed for the kind and for the fields. */
typedef struct met_keys {
    uint8_t at[MET_KEYS]; /* KEY_NONE for a key that is not of the language */
} met_keys;

static void find_keys(const pdl_node *n, met_keys *met) {
    for (uint32_t i = 0; i < MET_KEYS && i < n->n; i++) {
        const pdl_key *k = key_find(n->pairs[i].key);
        met->at[i] = k ? (uint8_t)(k - key_table.keys) : KEY_NONE;
    }
}

/* Returns the key of entry i. */
static const pdl_key *key_of(const pdl_node *n, uint32_t i, const met_keys *met) {
    if (i >= MET_KEYS) return key_find(n->pairs[i].key);
    return met->at[i] == KEY_NONE ? NULL : &key_table.keys[met->at[i]];
}

static void make_keys(void) {
    size_t n;
    key_make("kind");
    const pdl_field *f = pdl_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (f[i].key[0]) key_make(f[i].key)->field[f[i].kind] = (uint8_t)(i + 1);
    f = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++) {
        pdl_key *k = key_make(f[i].key);
        k->common = true;
        for (int b = 0; b < PDL_BLOCK_COUNT; b++)
            if (pdl_field_allowed((pdl_block_kind)b, &f[i]))
                k->field[b] = (uint8_t)(COMMON_FIELD + i);
    }
    const pdl_select_row *s = pdl_selecting_keys(&n);
    for (size_t i = 0; i < n; i++) key_make(s[i].key)->select = (uint8_t)(i + 1);
    const pdl_trace_row *t = pdl_trace_fields(&n);
    for (size_t i = 0; i < n; i++) key_make(t[i].key)->trace = t[i].kinds;
    const pdl_synonym_row *y = pdl_key_synonyms(&n);
    for (size_t i = 0; i < n; i++) {
        pdl_key *k = key_make(y[i].old);
        k->synonym = true;
        memcpy(k->field, key_make(y[i].key)->field, sizeof k->field);
    }
}

/* --- which kind ------------------------------------------------------------------------------- */

static void list_kinds(pdl_buf *out) {
    size_t n;
    const pdl_select_row *s = pdl_selecting_keys(&n);
    for (size_t i = 0; i < n; i++) pdl_buf_putf(out, "%s%s", i ? ", " : "", s[i].key);
}

/* Adds a hint that is right for a mapping that was meant as data, and also for a mapping that was
 * meant as a block. */
static void advise_no_block(pdl_loader *l, pdl_diag *d, const pdl_node *n) {
    pdl_buf b = PDL_BUF;
    if (n->n && pdl_node_is_str(n->pairs[0].key) &&
        pdl_str_starts(n->pairs[0].key->text, PDL_STR("${"))) {
        PDL_PUT(&b, "an expression that contains `: ` is put in quotes");
    } else {
        PDL_PUT(&b, "data is written below `data:`; a block has one of the keys ");
        list_kinds(&b);
    }
    pdl_loader_hint(l, d, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Reports a mapping without a key of a block. */
static void no_block(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_buf b = PDL_BUF;
    pdl_str names[64];
    size_t n_keys, n_names = 0;
    const pdl_select_row *s = pdl_selecting_keys(&n_keys);
    show_node(n, &b);
    pdl_diag *d = pdl_loader_diag(l, "block-unknown", loc, pdl_node_loc(n), "%s should be a block",
                                  pdl_buf_z(&b));
    pdl_buf_fini(&b);
    for (size_t i = 0; i < n_keys && n_names < 64; i++) names[n_names++] = pdl_str_of(s[i].key);
    for (uint32_t i = 0; i < n->n && !d->hint.n; i++) {
        if (!pdl_node_is_str(n->pairs[i].key)) continue;
        const char *advice = pdl_no_kind_advice(n->pairs[i].key->text);
        if (advice)
            pdl_loader_hint(l, d, "%s", advice);
        else
            suggest(l, d, n->pairs[i].key->text, names, n_names);
        if (d->hint.n) d->mark = pdl_node_loc(n->pairs[i].key);
    }
    if (!d->hint.n) advise_no_block(l, d, n);
}

static void unknown_kind(pdl_loader *l, const pdl_node *v, pdl_loc loc) {
    pdl_buf b = PDL_BUF;
    pdl_str names[PDL_BLOCK_COUNT];
    if (!pdl_node_is_str(v)) {
        pdl_loader_wrong(l, v, loc, "should be of type <class 'str'>");
        return;
    }
    PDL_PUT(&b, "the kinds are ");
    for (int i = 0; i < PDL_BLOCK_scalar; i++) {
        names[i] = pdl_str_of(pdl_block_name((pdl_block_kind)i));
        pdl_buf_putf(&b, "%s%s", i ? ", " : "", names[i].p);
    }
    pdl_diag *d =
        pdl_loader_diag(l, "kind-unknown", loc, pdl_node_loc(v), "%.*s is not a kind of block",
                        PDL_FMT(pdl_utf8_cut(v->text, SHOWN_VALUE)));
    d->general = true;
    suggest(l, d, v->text, names, PDL_BLOCK_scalar);
    if (!d->hint.n) pdl_loader_hint(l, d, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
}

/* Returns the kind that shares most fields with a mapping without a selecting key. The message can
 * then name the missing key. */
static pdl_block_kind nearest_kind(const pdl_node *n) {
    uint32_t count[PDL_BLOCK_COUNT] = {0};
    int best = PDL_BLOCK_empty;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_key *k = key_find(n->pairs[i].key);
        for (int b = 0; k && !k->common && b < PDL_BLOCK_COUNT; b++) count[b] += k->field[b] != 0;
    }
    for (int b = 0; b < PDL_BLOCK_COUNT; b++)
        if (count[b] > count[best]) best = b;
    return (pdl_block_kind)best;
}

static const pdl_node *entry(const pdl_node *n, const char *key, const pdl_pair **pair) {
    return pdl_node_find(n, pdl_str_of(key), pair);
}

/* Returns true for a mapping with arguments by name, and without `code` and `lang`. The mapping is
 * a call whose `call` is missing or misspelt, because a command has a list of arguments. */
static bool is_call(const pdl_node *n) {
    const pdl_node *args = entry(n, "args", NULL);
    return args && args->kind == PDL_NODE_MAP && !entry(n, "code", NULL) && !entry(n, "lang", NULL);
}

/* Finds the kind by `kind` and by the selecting keys. Returns false after it reported a problem. */
static PDL_NOINLINE bool find_kind(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                                   const met_keys *met, pdl_block_kind *kind) {
    unsigned first = UINT8_MAX;
    bool known = false;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_key *k = key_of(n, i, met);
        if (!k) continue;
        known = true;
        if (k == &key_table.keys[KEY_KIND]) {
            const pdl_node *v = n->pairs[i].value;
            if (pdl_node_is_str(v) && pdl_block_kind_find(v->text, kind)) return true;
            unknown_kind(l, v, pdl_node_loc(n->pairs[i].key));
            return false;
        }
        if (k->select && k->select < first) first = k->select;
    }
    if (first != UINT8_MAX) {
        size_t n_keys;
        *kind = pdl_selecting_keys(&n_keys)[first - 1].kind;
        if (*kind == PDL_BLOCK_code && is_call(n)) *kind = PDL_BLOCK_call;
        return true;
    }
    *kind = nearest_kind(n);
    if (n->n && !known) no_block(l, n, loc);
    return known || !n->n;
}

/* Returns a row FORM of blocks.def (spec syntax 2.1) by the value of its tag and by `args`. */
static const pdl_form *form_named(pdl_block_kind kind, const char *value, bool with_args) {
    size_t n;
    const pdl_form *f = pdl_forms(&n);
    for (size_t i = 0; i < n; i++)
        if (f[i].kind == kind && strcmp(f[i].value, value) == 0 &&
            pdl_form_lists(f[i].with, "args") == with_args)
            return &f[i];
    PDL_BUG("no form %s of %s", value, pdl_block_name(kind));
}

/* model_form and code_form return the form that a mapping has. They return NULL after they reported
 * a problem, or when the reader of the field will report a problem. */
static const pdl_form *model_form(pdl_loader *l, const pdl_node *n) {
    static const char *const platforms[] = {"litellm", "openai", "granite-io"};
    const pdl_pair *pair = NULL;
    const pdl_node *v = entry(n, "platform", &pair);
    if (!v) {
        bool granite = entry(n, "processor", &pair) && !entry(n, "model", NULL);
        return form_named(PDL_BLOCK_model, granite ? "granite-io" : "litellm", false);
    }
    size_t at = pdl_node_is_str(v) ? pdl_word_of(v->text, platforms, 3) : 3;
    if (at < 3) return form_named(PDL_BLOCK_model, platforms[at], false);
    if (pdl_node_is_str(v)) pdl_loader_one_of(l, v, pdl_node_loc(pair->key), platforms, 3, true);
    return NULL;
}

static const pdl_form *code_form(pdl_loader *l, const pdl_node *n) {
    static const char *const langs[] = {"python", "ipython", "jinja", "pdl", "command"};
    static const char *const sessions[] = {"new"};
    const pdl_pair *pair = NULL;
    bool args = entry(n, "args", NULL) != NULL;
    const pdl_node *v = entry(n, "lang", &pair);
    const pdl_node *session = entry(n, "session", NULL);
    if (session && pdl_node_is_str(session) && !pdl_str_is(session->text, "new"))
        pdl_loader_one_of(l, session, pdl_node_loc(session), sessions, 1, true);
    if (!v) return form_named(PDL_BLOCK_code, args ? "command" : "python", args);
    for (size_t i = args ? 4 : 0; i < 5 && pdl_node_is_str(v); i++)
        if (pdl_str_eq_nocase(v->text, pdl_str_of(langs[i])))
            return form_named(PDL_BLOCK_code, langs[i], args);
    if (!pdl_node_is_str(v)) return NULL; /* the reader of the field reports this */
    if (args)
        pdl_loader_one_of(l, v, pdl_node_loc(pair->key), langs + 4, 1, true);
    else
        pdl_loader_one_of(l, v, pdl_node_loc(pair->key), langs, 5, true);
    return NULL;
}

/* Checks which fields of a kind with forms are used together. */
static PDL_NOINLINE void check_form(pdl_loader *l, const pdl_node *n, pdl_block_kind kind,
                                    pdl_loc loc) {
    const pdl_form *form = kind == PDL_BLOCK_model ? model_form(l, n) : code_form(l, n);
    size_t n_fields;
    const pdl_field *f = pdl_fields_of(kind, &n_fields);
    for (size_t i = 0; form && i < n_fields; i++) {
        const pdl_pair *pair = NULL;
        bool given = entry(n, f[i].key, &pair) != NULL;
        if (given && pdl_form_lists(form->without, f[i].key)) unknown(l, pair->key);
        if (!given && pdl_form_lists(form->with, f[i].key) && strcmp(f[i].key, form->tag) != 0)
            pdl_loader_missing(l, n, loc, f[i].key);
    }
}

/* --- a block ---------------------------------------------------------------------------------- */

/* Returns true for a block with an explicit kind, for which the reference reports no details. */
static bool is_general(const pdl_block *b) {
    return pdl_node_find(b->node, PDL_STR("kind"), NULL) != NULL;
}

/* Returns true for an object such as `{name: Ada, age: 3}`. It is a message block only because
 * of the key `name`. */
static bool is_plain_object(const pdl_block *b) {
    return b->kind == PDL_BLOCK_message && !pdl_node_find(b->node, PDL_STR("content"), NULL);
}

/* Returns true when no key of n selects a kind of block. The key that was meant to select a kind
 * may be misspelt. */
static bool has_no_kind(const pdl_node *n) {
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_key *k = key_find(n->pairs[i].key);
        if (k && (k->select || k == &key_table.keys[KEY_KIND])) return false;
    }
    return true;
}

static bool is_first_stranger(const pdl_node *n, const pdl_node *key) {
    uint32_t i = 0;
    while (i < n->n && key_find(n->pairs[i].key)) i++;
    return i < n->n && n->pairs[i].key == key;
}

/* The facts about a mapping from which the hints for its unknown keys are made. They are found
 * once, because a mapping may have very many such keys. */
typedef struct mapping_facts {
    bool has_no_kind, is_general, is_plain, has_lang;
    pdl_str names[96]; /* keys that the mapping may have but does not have */
    size_t n_names;
} mapping_facts;

static bool has_key(const pdl_node *n, const char *key) {
    return pdl_node_find(n, pdl_str_of(key), NULL) != NULL;
}

static void add_name(mapping_facts *m, const pdl_node *n, const char *key, size_t most) {
    /* a key that the mapping has is not misspelt */
    if (m->n_names < most && !has_key(n, key)) m->names[m->n_names++] = pdl_str_of(key);
}

static const mapping_facts *facts_of(pdl_loader *l, const pdl_block *b) {
    enum { SELECTING = 32, ALL = 96 };
    size_t n_own, n_common, n_select;
    const pdl_select_row *s = pdl_selecting_keys(&n_select);
    const pdl_field *own = pdl_fields(&n_own), *common = pdl_common_fields(&n_common);
    mapping_facts *m = pdl_arena_new(l->a, mapping_facts);
    *m = (mapping_facts){has_no_kind(b->node), is_general(b), is_plain_object(b),
                         .has_lang = has_key(b->node, "lang")};
    for (size_t i = 0; m->has_no_kind && i < n_select; i++)
        add_name(m, b->node, s[i].key, SELECTING);
    for (size_t i = 0; i < n_own; i++)
        if (own[i].kind == (int)b->kind && own[i].key[0]) add_name(m, b->node, own[i].key, ALL);
    for (size_t i = 0; i < n_common; i++)
        if (pdl_field_allowed(b->kind, &common[i])) add_name(m, b->node, common[i].key, ALL);
    return m;
}

/* Returns the last item of a list, when this list is the value of the entry before `pair`, and the
 * item is an object. Returns NULL otherwise. */
static const pdl_node *item_before(const pdl_node *n, const pdl_pair *pair) {
    const pdl_node *list = pair > n->pairs ? pair[-1].value : NULL;
    if (!list || list->kind != PDL_NODE_SEQ || list->style != PDL_STYLE_BLOCK || !list->n)
        return NULL;
    const pdl_node *item = list->items[list->n - 1];
    return item->kind == PDL_NODE_MAP && item->style == PDL_STYLE_BLOCK ? item : NULL;
}

/* Helps with a field of the item above that is indented less than the item's other keys. */
static bool advise_indent(pdl_loader *l, pdl_diag *d, const pdl_node *n, const pdl_pair *pair,
                          const pdl_key *k) {
    const pdl_node *key = pair->key, *item = k ? item_before(n, pair) : NULL;
    if (!item || pdl_node_find(item, key->text, NULL)) return false;
    bool fits = false;
    for (uint32_t i = 0; i < item->n && !fits; i++) {
        const pdl_key *own = key_find(item->pairs[i].key);
        if (own && own->select) {
            size_t n_keys;
            fits = k->field[pdl_selecting_keys(&n_keys)[own->select - 1].kind] != 0;
        }
    }
    if (!fits) return false;
    pdl_loader_hint(l, d,
                    "when it belongs to the item in line %u, its column is that of the "
                    "item's other keys",
                    pdl_loc_line(pdl_node_loc(item)));
    /* the misplaced key may be the key that was reported as missing in the item */
    for (size_t i = l->p->diags.n; i > 0; i--) {
        pdl_diag *lacks = &l->p->diags.p[i - 1];
        if (lacks->lacks && pdl_str_is(key->text, lacks->lacks) &&
            lacks->loc.start == pdl_node_loc(item).start)
            lacks->follows = true;
    }
    return true;
}

/* Reports a key that the block must not have. *facts is NULL at the first such key of a mapping. */
static PDL_NOINLINE void unknown_in(pdl_loader *l, const pdl_pair *pair, const pdl_block *b,
                                    const mapping_facts **facts) {
    const pdl_node *key = pair->key;
    pdl_diag *d = unknown(l, key);
    const mapping_facts *m = *facts = *facts ? *facts : facts_of(l, b);
    d->general = m->is_general;
    if (!pdl_node_is_str(key)) return;
    const pdl_key *k = key_find(key);
    if (advise_indent(l, d, b->node, pair, k)) return;
    const char *advice = m->has_no_kind ? pdl_no_kind_advice(key->text) : NULL;
    if (!advice) advice = pdl_key_advice((int)b->kind, key->text, !m->has_no_kind);
    if (advice)
        pdl_loader_hint(l, d, "%s", advice);
    else
        suggest(l, d, key->text, m->names, m->n_names);
    if (d->hint.n) return;
    if (m->has_no_kind && m->has_lang)
        pdl_loader_hint(l, d, "what is run is below `code`");
    else if (m->has_no_kind && !k && !m->is_plain && is_first_stranger(b->node, key))
        advise_no_block(l, d, b->node);
    else if (!k && !m->is_plain)
        pdl_loader_advise_stranger(l, d, key, b->kind == PDL_BLOCK_call);
    else if (k && k->select)
        pdl_loader_hint(l, d, "a block is of one kind; this one is `%s`", pdl_block_name(b->kind));
}

static PDL_NOINLINE void check_leaf(pdl_loader *l, const pdl_pair *pair, pdl_block_kind kind) {
    bool leaf;
    if (pdl_node_is_null(pair->value)) return;
    if (pdl_loader_as_bool(pair->value, true, &leaf) && leaf != pdl_block_is_structured(kind))
        return;
    pdl_loader_wrong(l, pair->value, pdl_node_loc(pair->key),
                     pdl_block_is_structured(kind) ? "should be false" : "should be true");
    l->p->diags.p[l->p->diags.n - 1].general = true;
}

static const size_t sizes[] = {
#define BLOCK(id, cls, parts, context, schema, doc) sizeof(pdl_b_##id),
#include "lang/blocks.def"
};

static void *new_block(pdl_loader *l, pdl_block_kind kind, const pdl_node *n, pdl_loc loc) {
    pdl_block *b = pdl_arena_get(l->a, sizes[kind]);
    b->kind = kind;
    b->rare = &pdl_block_no_rare;
    b->loc = loc;
    b->node = n;
    return b;
}

/* Reads an entry of a block's mapping. Marks the kind's fields in *seen by their place in
 * pdl_fields. */
static void load_entry(pdl_loader *l, pdl_block *b, const pdl_pair *pair, const pdl_key *k,
                       uint32_t *seen, const mapping_facts **facts) {
    unsigned at = k ? k->field[b->kind] : 0;
    size_t n;
    if (at >= COMMON_FIELD) {
        pdl_loader_field(l, b, pdl_common_fields(&n) + (at - COMMON_FIELD), pair);
    } else if (at) {
        *seen |= 1u << (at - 1) % 32;
        pdl_loader_field(l, b, pdl_fields(&n) + (at - 1), pair);
    } else if (k && (k->trace >> b->kind & 1)) {
        if (k->name[5] == 'i' && k->name[6] == 's') check_leaf(l, pair, b->kind);
    } else if (k != &key_table.keys[KEY_KIND]) {
        unknown_in(l, pair, b, facts);
    }
}

/* Checks required fields. Fields of one kind are neighbours in the table and fewer than 32, so that
 * each field has its bit. */
static PDL_NOINLINE void check_needed(pdl_loader *l, const pdl_block *b, uint32_t seen) {
    size_t n, n_all;
    const pdl_field *f = pdl_fields_of(b->kind, &n);
    size_t first = (size_t)(f - pdl_fields(&n_all));
    for (size_t i = 0; i < n; i++) {
        if (f[i].need != PDL_NEED_REQ && f[i].need != PDL_NEED_NUL) continue;
        if (seen >> ((first + i) % 32) & 1) continue;
        pdl_loader_missing(l, b->node, b->loc, f[i].key);
        if (is_plain_object(b) && b->node->n > 1)
            pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1],
                            "an object that is data is written below `data:`");
        l->p->diags.p[l->p->diags.n - 1].general = is_general(b);
    }
}

/* Helps with `{name}`, which is a mapping for YAML: its author wants the value of a variable, or a
 * text. */
static void advise_braces(pdl_loader *l, const pdl_node *n, size_t n_before) {
    const pdl_node *key = n->n == 1 ? n->pairs[0].key : NULL;
    size_t n_diags = l->p->diags.n;
    if (n_diags == n_before || n->style != PDL_STYLE_FLOW || !key) return;
    if (key->kind != PDL_NODE_SCALAR || !pdl_node_is_null(n->pairs[0].value)) return;
    pdl_diag *d = &l->p->diags.p[n_diags - 1];
    size_t at = pdl_str_find(key->text, PDL_STR(":"), 0);
    if (at != PDL_NOT_FOUND && at + 1 < key->text.n)
        pdl_loader_hint(l, d, "a space follows the colon: {%.*s: %.*s}",
                        PDL_FMT(pdl_str_sub(key->text, 0, at)),
                        PDL_FMT(pdl_str_sub(key->text, at + 1, key->text.n)));
    else if (!d->hint.n)
        pdl_loader_hint(l, d,
                        "{%.*s} is a mapping: write ${ %.*s } for a variable, \"{%.*s}\" for "
                        "a text",
                        PDL_FMT(key->text), PDL_FMT(key->text), PDL_FMT(key->text));
}

static const pdl_block *load_map(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    pdl_block_kind kind;
    size_t n_diags = l->p->diags.n;
    uint32_t seen = 0;
    met_keys met;
    const mapping_facts *facts = NULL;
    pdl_block *b = NULL;
    find_keys(n, &met);
    if (find_kind(l, n, loc, &met, &kind)) {
        b = new_block(l, kind, n, loc);
        for (uint32_t i = 0; i < n->n; i++)
            load_entry(l, b, &n->pairs[i], key_of(n, i, &met), &seen, &facts);
        if (pdl_block_union(kind)) check_form(l, n, kind, loc);
        check_needed(l, b, seen);
        if (kind == PDL_BLOCK_repeat) pdl_loader_ends(l, PDL_AS(repeat, b));
        pdl_loader_csv(l, b);
    }
    advise_braces(l, n, n_diags);
    return b;
}

/* Reads a list that is in the position of a body as a `lastOf` block. The paper about PDL uses this
 * form. */
static PDL_NOINLINE const pdl_block *load_bare_list(pdl_loader *l, const pdl_node *n, pdl_loc loc,
                                                    bool body) {
    if (!body) {
        pdl_loader_wrong(l, n, loc, "should not be a list");
        pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1],
                        "write data: or lastOf: before the list");
        return NULL;
    }
    pdl_program_diag(l->p, PDL_DIAG_OF(PDL_DIAG_WARNING, "bare-list", loc, pdl_node_loc(n)),
                     "a list without `lastOf:` is refused by the reference interpreter")
        ->reference_only = true;
    pdl_b_lastOf *b = new_block(l, PDL_BLOCK_lastOf, n, loc);
    size_t n_diags = l->p->diags.n;
    b->items =
        (pdl_blocks){.loc = loc, .n = n->n, .p = pdl_arena_new_n(l->a, const pdl_block *, n->n)};
    for (uint32_t i = 0; i < n->n; i++)
        b->items.p[i] = pdl_loader_block(l, n->items[i], pdl_node_loc(n->items[i]), false);
    pdl_loader_advise_split(l, n, n_diags);
    return &b->head;
}

static PDL_NOINLINE const pdl_block *load_scalar(pdl_loader *l, const pdl_node *n, pdl_loc loc) {
    if (n->type == PDL_NT_TIMESTAMP) {
        pdl_loader_wrong(l, n, loc,
                         "should be of type: a block, text, number, boolean or null, not a date");
        pdl_loader_hint(l, &l->p->diags.p[l->p->diags.n - 1],
                        "quote it, or write it below `data:`");
        return NULL;
    }
    pdl_b_scalar *b = new_block(l, PDL_BLOCK_scalar, n, loc);
    b->value = pdl_loader_tree(l, n, loc);
    return &b->head;
}

static const pdl_block *load_any(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool body) {
    switch (n->kind) {
    case PDL_NODE_SCALAR: return load_scalar(l, n, loc);
    case PDL_NODE_SEQ: return load_bare_list(l, n, loc, body);
    case PDL_NODE_MAP:
        if (n->type == PDL_NT_MAP) return load_map(l, n, loc);
        pdl_loader_wrong(l, n, loc, "should be of type: a block");
        return NULL;
    }
    PDL_BUG("node kind %d", (int)n->kind);
}

const pdl_block *pdl_loader_block(pdl_loader *l, const pdl_node *n, pdl_loc loc, bool body) {
    if (!pdl_loader_spend(l, n)) return NULL;
    if (l->depth >= PDL_MAX_BLOCK_DEPTH) {
        pdl_loader_diag(l, "too-deep", loc, pdl_node_loc(n), "blocks are nested more than %d deep",
                        PDL_MAX_BLOCK_DEPTH);
        return NULL;
    }
    l->depth++;
    const pdl_block *b = load_any(l, n, loc, body);
    assert(l->depth > 0);
    l->depth--;
    return b;
}

void pdl_program_load_node(pdl_program *p, const pdl_node *root, bool *ok) {
    pdl_loader *l = PDL_NEW(pdl_loader);
    l->p = p;
    l->a = p->arena;
    l->budget = (root->src ? root->src->text.n : 0) + ALIAS_SLACK;
    pthread_once(&key_table.once, make_keys);
    p->root = root;
    if (!p->source) p->source = root->src;
    p->main = pdl_loader_block(l, root, pdl_node_loc(root), true);
    pdl_vec_fini(&l->open);
    pdl_recent_fini(&l->recent);
    pdl_free(l);
    pdl_program_sort_diags(p);
    *ok = pdl_program_error_count(p) == 0;
    if (!*ok) p->main = NULL;
}

/* Returns the name of a file in the form of messages. Other names (URLs of an editor) are
 * unchanged. */
static pdl_str shown_name(pdl_arena *a, pdl_str name) {
    if (!name.n || pdl_str_find(name, PDL_STR("://"), 0) != PDL_NOT_FOUND) return name;
    return pdl_file_plain(name, pdl_arena_new_n(a, char, name.n + 1));
}

void pdl_program_load(pdl_program *p, pdl_str name, pdl_str bytes, bool *ok) {
    pdl_err err = {0};
    pdl_source *src = NULL;
    const pdl_node *root = NULL;
    if (bytes.n <= PDL_MAX_SOURCE_BYTES) pdl_arena_expect(p->arena, bytes.n * PER_BYTE);
    if (pdl_yaml_source(p->arena, shown_name(p->arena, name), bytes, &src, &err)) {
        p->source = src;
        if (pdl_yaml_load(p->arena, src, &root, &err)) {
            pdl_program_load_node(p, root, ok);
            return;
        }
    }
    /* the place where a quote begins, and not the end of the file */
    pdl_loc at = err.mark.src ? err.mark : err.loc;
    pdl_diag *d = pdl_program_diag(p, PDL_DIAG_OF(PDL_DIAG_ERROR, "yaml", at, at), "%s", err.msg);
    d->at_load = true;
    if (err.hint) d->hint = pdl_arena_str(p->arena, pdl_str_of(err.hint));
    pdl_err_fini(&err);
    p->yaml_failed = true;
    *ok = false;
}
