/* index.c -- the walk over the tree of a file that collects names; see index.h. The walk takes the
 * steps of node_roles.h, so a key has the same meaning here as at the cursor. Expressions, Python
 * code and templates are read where they occur, because their names refer to the same variables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/index.h"

#include <assert.h>

#include "base/map.h"
#include "lang/program.h"
#include "lsp/spans.h"
#include "lsp/symbols/pynames.h"
#include "lsp/symtype.h"

#include "base/banned.h"

enum { MAX_CHAIN = 16 }; /* maximum number of members after the variable in a chain */

typedef struct indexer {
    lsp_index *x;
    const lsp_text *text;
    pdl_arena *scratch; /* owns the expressions of one text during the walk over them */
    lsp_spans spans;
    pdl_map seen;    /* aliased nodes that the walk has visited */
    uint32_t region; /* region of the node that is being walked */
    uint32_t up;     /* index + 1 of the symbol whose text contains the node */
    uint32_t naming; /* index + 1 of the symbol in `defs` whose name the next block gets */
    uint32_t object; /* index + 1 of the symbol of the object whose fields are walked next */
} indexer;

const char *pdl_lsp_sym_kind_name(lsp_sym_kind k) {
    static const char *const names[] = {"variable",       "function",      "module",
                                        "parameter",      "loop variable", "variable of a pattern",
                                        "model response", "field"};
    return names[k];
}

static pdl_str keep(const indexer *w, pdl_str s) { return pdl_arena_str(w->x->arena, s); }

static lsp_range range_of(const indexer *w, const pdl_node *n) {
    return pdl_lsp_text_range(w->text, n->start, n->end);
}

/* --- symbols ---------------------------------------------------------------------------------- */

/* Finds the bytes of a scalar between its quotes. */
static void inner_span(const pdl_node *n, uint32_t *from, uint32_t *to) {
    bool quoted = n->style == PDL_STYLE_SINGLE || n->style == PDL_STYLE_DOUBLE;
    *from = n->start + (quoted ? 1 : 0);
    *to = n->end - (quoted && n->end - n->start >= 2 ? 1 : 0);
}

/* Returns a key made of region and name. */
static pdl_str name_key(uint32_t region, pdl_str name, pdl_buf *b) {
    pdl_buf_put(b, (pdl_str){(const char *)&region, sizeof region});
    pdl_buf_put(b, name);
    return pdl_buf_str(b);
}

/* Makes the newest symbol available under its name, unless the region has an earlier symbol of the
 * same name. */
static void note_name(lsp_index *x) {
    char room[PDL_SHORT_TEXT];
    pdl_buf b = pdl_buf_in(room, sizeof room, PDL_BUF.limit);
    const lsp_sym *s = &x->syms.p[x->syms.n - 1];
    pdl_str key = name_key(s->region, s->name, &b);
    if (!pdl_map_find(&x->names, key))
        pdl_map_put(&x->names, pdl_arena_str(x->arena, key), (void *)(uintptr_t)x->syms.n);
    pdl_buf_fini(&b);
}

/* Adds a name that the text of a scalar sets. whole: the block that sets it. Returns the index of
 * the symbol + 1; 0 when the scalar is not a name. */
static uint32_t add_sym(indexer *w, const pdl_node *name, lsp_sym_kind kind, uint32_t region,
                        const pdl_node *whole) {
    uint32_t from, to;
    if (name->kind != PDL_NODE_SCALAR || !name->text.n || w->x->syms.n >= UINT32_MAX - 1) return 0;
    inner_span(name, &from, &to);
    *pdl_vec_push(&w->x->syms) = (lsp_sym){
        .name = keep(w, name->text),
        .kind = kind,
        .region = region,
        .up = w->up,
        .range = pdl_lsp_text_range(w->text, from, to),
        .whole = range_of(w, whole ? whole : name),
        .at = from,
        .value = whole,
    };
    note_name(w->x);
    return (uint32_t)w->x->syms.n;
}

/* Records what the block says about the variable that it sets. */
static void describe(indexer *w, uint32_t sym, const pdl_node *block) {
    if (!sym) return;
    lsp_sym *s = &w->x->syms.p[sym - 1];
    pdl_block_kind kind;
    pdl_buf type = PDL_BUF;
    s->value = block;
    pdl_lsp_show_type(block, w->scratch, &type);
    s->type = keep(w, pdl_buf_str(&type));
    pdl_buf_fini(&type);
    if (!pdl_lsp_kind_of(block, &kind)) return;
    const pdl_node *doc = pdl_node_find(block, PDL_STR("description"), NULL);
    if (doc && pdl_node_is_str(doc)) s->doc = keep(w, doc->text);
    if (kind == PDL_BLOCK_function) s->kind = SYM_FUNCTION;
    if (kind != PDL_BLOCK_import) return;
    const pdl_node *path = pdl_node_find(block, PDL_STR("import"), NULL);
    s->kind = SYM_MODULE;
    if (path && pdl_node_is_str(path)) s->path = keep(w, path->text);
}

static void add_params(indexer *w, const pdl_node *params, uint32_t region) {
    for (uint32_t i = 0; params && params->kind == PDL_NODE_MAP && i < params->n; i++) {
        const pdl_pair *p = &params->pairs[i];
        uint32_t sym = add_sym(w, p->key, SYM_PARAMETER, region, NULL);
        pdl_buf type = PDL_BUF;
        if (!sym) continue;
        pdl_lsp_show_spec(p->value, w->scratch, &type);
        w->x->syms.p[sym - 1].type = keep(w, pdl_buf_str(&type));
        w->x->syms.p[sym - 1].type_node = p->value;
        pdl_buf_fini(&type);
    }
}

/* --- expressions ------------------------------------------------------------------------------ */

typedef struct xref {
    indexer *w;
    const pdl_expr *e;
    /* number of bytes in e that precede the text of the scalar (for `get`) */
    uint32_t shift;
    uint32_t base; /* offset at which e begins in the scalar's text */
    /* functions of calls whose arguments have not been walked yet */
    PDL_VEC(const pdl_xnode *) calls;
} xref;

static void add_ref(const xref *r, lsp_ref ref, uint32_t from, uint32_t to) {
    uint32_t start, end;
    if (from < r->shift || !pdl_lsp_spans_find(&r->w->spans, r->base + from - r->shift,
                                               r->base + to - r->shift, &start, &end))
        return;
    ref.name = keep(r->w, ref.name);
    ref.chain = keep(r->w, ref.chain);
    ref.region = r->w->region;
    ref.range = pdl_lsp_text_range(r->w->text, start, end);
    ref.at = start;
    *pdl_vec_push(&r->w->x->refs) = ref;
}

static bool is_free(const pdl_expr *e, pdl_str name) {
    for (uint32_t i = 0; i < e->n_free; i++)
        if (pdl_str_eq(e->free_names[i], name)) return true;
    return false;
}

static bool take_call(xref *r, const pdl_xnode *x) {
    for (size_t i = r->calls.n; i-- > 0;) {
        if (r->calls.p[i] != x) continue;
        r->calls.n = i;
        return true;
    }
    return false;
}

pdl_str pdl_lsp_member_name(const pdl_xnode *x) {
    if (x->kind == PDL_X_ATTR) return x->u.access.name;
    const pdl_xnode *key = x->kind == PDL_X_ITEM ? x->u.access.key : NULL;
    bool written = key && key->kind == PDL_X_CONST && pdl_is_str(key->u.value);
    return written ? pdl_str_get(key->u.value) : (pdl_str){0};
}

const pdl_xnode *pdl_lsp_put_chain(const pdl_xnode *x, pdl_buf *out) {
    pdl_str names[MAX_CHAIN];
    size_t n = 0;
    for (; x && x->kind != PDL_X_NAME; x = x->u.access.obj) {
        bool access = x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM;
        pdl_str name = access ? pdl_lsp_member_name(x) : (pdl_str){0};
        if (!name.n || n == MAX_CHAIN || pdl_byte_in('.', name)) return NULL;
        names[n++] = name;
    }
    if (!x) return NULL;
    pdl_buf_put(out, x->u.name);
    while (n) pdl_buf_putf(out, ".%.*s", PDL_FMT(names[n - 1])), n--;
    return x;
}

static void on_call(xref *r, const pdl_xnode *x) {
    lsp_ref ref = {.kind = REF_ARG};
    pdl_buf chain = PDL_BUF;
    bool named = pdl_lsp_put_chain(x->u.call.obj, &chain) != NULL;
    ref.chain = pdl_buf_str(&chain);
    if (named) *pdl_vec_push(&r->calls) = x->u.call.obj;
    for (uint32_t i = 0; named && i < x->u.call.args.n_kw; i++) {
        ref.name = x->u.call.args.kw_names[i];
        const char *p = ref.name.p, *text = r->e->source.p;
        if (p < text || p + ref.name.n > text + r->e->source.n) continue;
        uint32_t at = (uint32_t)(p - text);
        add_ref(r, ref, at, at + (uint32_t)ref.name.n);
    }
    pdl_buf_fini(&chain);
}

static void on_member(xref *r, const pdl_xnode *x) {
    const pdl_xnode *key = x->u.access.key, *root;
    lsp_ref ref = {.kind = REF_MEMBER, .called = take_call(r, x), .name = pdl_lsp_member_name(x)};
    pdl_buf chain = PDL_BUF;
    root = ref.name.n ? pdl_lsp_put_chain(x->u.access.obj, &chain) : NULL;
    ref.chain = pdl_buf_str(&chain);
    bool known = root && is_free(r->e, root->u.name);
    if (known && x->kind == PDL_X_ATTR && x->end - x->start >= ref.name.n)
        add_ref(r, ref, x->end - (uint32_t)ref.name.n, x->end);
    if (known && x->kind == PDL_X_ITEM && key->end - key->start == ref.name.n + 2)
        add_ref(r, ref, key->start + 1, key->end - 1);
    pdl_buf_fini(&chain);
}

static void on_xnode(void *user, const pdl_xnode *x) {
    xref *r = user;
    if (x->kind == PDL_X_CALL) on_call(r, x);
    if (x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM) on_member(r, x);
    if (x->kind != PDL_X_NAME || !is_free(r->e, x->u.name)) return;
    lsp_ref ref = {.name = x->u.name, .kind = take_call(r, x) ? REF_CALL : REF_READ};
    add_ref(r, ref, x->start, x->end);
}

static void add_expr_refs(indexer *w, const pdl_expr *e, const pdl_node *n, uint32_t shift,
                          const pdl_xnode *called) {
    xref r = {.w = w, .e = e, .shift = shift};
    if (!e->root) return;
    pdl_lsp_spans_of(&w->spans, n);
    if (called) *pdl_vec_push(&r.calls) = called;
    pdl_xnode_each(e->root, on_xnode, &r);
    pdl_vec_fini(&r.calls);
}

/* A walk over a text with `${ }`. callee: the value of the text is called as a function. */
typedef struct text_refs {
    indexer *w;
    const pdl_expr *whole;
    bool callee;
} text_refs;

static void add_part(void *user, const pdl_expr *e, size_t base) {
    text_refs *t = user;
    xref r = {.w = t->w, .e = e, .base = (uint32_t)base};
    bool called = t->callee && base == 0 && e->form == PDL_X_NATIVE;
    if (called) *pdl_vec_push(&r.calls) = e->root;
    pdl_xnode_each(e->root, on_xnode, &r);
    pdl_vec_fini(&r.calls);
    if (base == 0) t->whole = e;
}

static const pdl_expr *add_text(indexer *w, const pdl_node *n, bool callee) {
    text_refs t = {w, NULL, callee};
    if (!pdl_node_is_str(n) || pdl_expr_is_plain(n->text)) return NULL;
    pdl_lsp_spans_of(&w->spans, n);
    pdl_lsp_each_expr(w->scratch, n->text, add_part, &t);
    return t.whole;
}

static void add_get(indexer *w, const pdl_node *n) {
    pdl_buf b = PDL_BUF;
    if (!pdl_node_is_str(n)) return;
    pdl_buf_putf(&b, "${ %.*s }", PDL_FMT(n->text));
    add_expr_refs(w, pdl_expr_read(w->scratch, pdl_buf_str(&b), &pdl_known_xnames), n, 3, NULL);
    pdl_buf_fini(&b);
}

static void add_pyname(void *user, const lsp_pyname *n) {
    indexer *w = user;
    const xref r = {.w = w};
    pdl_str code = w->spans.node->text;
    add_ref(&r,
            (lsp_ref){.name = pdl_str_sub(code, n->from, n->to),
                      .chain = n->callee,
                      .kind = n->callee.n ? REF_ARG : REF_CODE},
            (uint32_t)n->from, (uint32_t)n->to);
}

static bool is_python(const pdl_node *block) {
    return pdl_str_eq_nocase(pdl_lsp_lang_of(block), PDL_STR("python"));
}

static void add_code(indexer *w, const pdl_node *n, const pdl_node *block) {
    static const pdl_xoptions options = {0};
    add_text(w, n, false);
    if (pdl_node_is_str(n) && is_python(block)) {
        pdl_lsp_spans_of(&w->spans, n);
        pdl_lsp_each_pyname(n->text, add_pyname, w);
    }
    if (!pdl_node_is_str(n) || !pdl_str_eq_nocase(pdl_lsp_lang_of(block), PDL_STR("jinja"))) return;
    add_expr_refs(w, pdl_expr_read_template(w->scratch, n->text, &options, &pdl_known_xnames), n, 0,
                  NULL);
}

/* --- the walk --------------------------------------------------------------------------------- */

static void walk(indexer *w, const lsp_spot *p);

static void walk_children(indexer *w, const lsp_spot *p) {
    for (uint32_t i = 0; i < p->node->n; i++) {
        lsp_spot child = pdl_lsp_spot_child(p, i);
        walk(w, &child);
    }
}

/* Walks data. The keys of the data may be expressions, too. */
static void walk_data(indexer *w, const lsp_spot *p) {
    if (p->node->kind == PDL_NODE_SCALAR) {
        add_text(w, p->node, false);
        return;
    }
    for (uint32_t i = 0; p->node->kind == PDL_NODE_MAP && i < p->node->n; i++)
        add_text(w, p->node->pairs[i].key, false);
    walk_children(w, p);
}

/* Walks pairs of a name and a block: the variables of `defs`, or the fields of an object. */
static void walk_named(indexer *w, const lsp_spot *p, lsp_sym_kind kind, uint32_t region) {
    uint32_t up = w->up;
    for (uint32_t i = 0; p->node->kind == PDL_NODE_MAP && i < p->node->n; i++) {
        const pdl_pair *pair = &p->node->pairs[i];
        w->up = up;
        uint32_t sym = add_sym(w, pair->key, kind, region, pair->value);
        describe(w, sym, pair->value);
        w->up = sym ? sym : up;
        w->naming = pair->value->kind == PDL_NODE_MAP ? sym : 0;
        lsp_spot child = pdl_lsp_spot_child(p, i);
        walk(w, &child);
        w->naming = 0;
    }
    w->up = up;
}

/* Returns the region for the fields of an object. Objects of the same name share it, because a
 * member is found by names alone. */
static uint32_t fields_of(indexer *w, uint32_t object) {
    lsp_sym *sym = &w->x->syms.p[object - 1];
    lsp_sym *first = &w->x->syms.p[pdl_lsp_index_sym(w->x, sym->region, sym->name) - w->x->syms.p];
    if (!first->fields) {
        first->fields = (uint32_t)w->x->regions.n;
        *pdl_vec_push(&w->x->regions) = (lsp_region){.up = w->region, .from = 1};
    }
    sym->fields = first->fields;
    return first->fields;
}

static void walk_fields(indexer *w, const lsp_spot *p) {
    uint32_t object = w->object;
    w->object = 0;
    if (object && p->node->kind == PDL_NODE_MAP)
        walk_named(w, p, SYM_FIELD, fields_of(w, object));
    else
        walk_children(w, p);
    w->object = object;
}

/* Walks the callee of a call block and its arguments by name. */
static void walk_call(indexer *w, const pdl_node *block) {
    const pdl_node *callee = pdl_node_find(block, PDL_STR("call"), NULL),
                   *args = pdl_node_find(block, PDL_STR("args"), NULL);
    const pdl_expr *e = callee ? add_text(w, callee, true) : NULL;
    if (!e || e->form != PDL_X_NATIVE || !args || args->kind != PDL_NODE_MAP) return;
    pdl_buf chain = PDL_BUF;
    bool named = pdl_lsp_put_chain(e->root, &chain) != NULL;
    lsp_ref ref = {.kind = REF_ARG, .chain = pdl_buf_str(&chain)};
    xref r = {.w = w, .e = e};
    for (uint32_t i = 0; named && i < args->n; i++) {
        const pdl_node *key = args->pairs[i].key;
        if (!pdl_node_is_str(key)) continue;
        pdl_lsp_spans_of(&w->spans, key);
        ref.name = key->text;
        add_ref(&r, ref, 0, (uint32_t)key->text.n);
    }
    pdl_buf_fini(&chain);
}

/* Opens the region of a function's body, with its parameters. */
static uint32_t open_function(indexer *w, const pdl_node *block, uint32_t sym) {
    uint32_t region = (uint32_t)w->x->regions.n;
    *pdl_vec_push(&w->x->regions) = (lsp_region){
        .up = w->region,
        .sym = sym,
        .range = range_of(w, block),
        .from = block->start,
        .to = block->end,
    };
    if (sym) w->x->syms.p[sym - 1].body = region;
    w->x->regions.p[region].param = (uint32_t)w->x->syms.n;
    add_params(w, pdl_node_find(block, PDL_STR("function"), NULL), region);
    w->x->regions.p[region].n_params = (uint32_t)w->x->syms.n - w->x->regions.p[region].param;
    return region;
}

/* Adds the name of a block and further variables that it sets. Returns the symbol of the block; 0
 * when it has no name. */
static uint32_t name_block(indexer *w, const pdl_node *block, bool has_kind, pdl_block_kind kind) {
    const pdl_node *def = pdl_node_find(block, PDL_STR("def"), NULL), *n;
    uint32_t sym = 0;
    if (!def) def = pdl_node_find(block, PDL_STR("def_"), NULL);
    if (def && pdl_node_is_str(def)) {
        sym = add_sym(w, def, SYM_VARIABLE, w->region, block);
        describe(w, sym, block);
    }
    if (!has_kind) return sym;
    if (kind == PDL_BLOCK_repeat || kind == PDL_BLOCK_map) {
        n = pdl_node_find(block, PDL_STR("index"), NULL);
        uint32_t index = n && pdl_node_is_str(n) ? add_sym(w, n, SYM_LOOP, w->region, NULL) : 0;
        if (index) w->x->syms.p[index - 1].type = PDL_STR("integer");
    }
    n = kind == PDL_BLOCK_model ? pdl_node_find(block, PDL_STR("modelResponse"), NULL) : NULL;
    if (n && pdl_node_is_str(n)) add_sym(w, n, SYM_RESPONSE, w->region, NULL);
    return sym;
}

static void note_model(indexer *w, const pdl_node *block) {
    const pdl_pair *pair = NULL;
    const pdl_node *name = pdl_node_find(block, PDL_STR("model"), &pair);
    if (!name) return;
    *pdl_vec_push(&w->x->models) = (lsp_use){
        .name = keep(w, pdl_node_is_str(name) ? name->text : PDL_STR("")),
        .range = range_of(w, pair->key),
        .block = block,
    };
}

static void walk_block(indexer *w, const lsp_spot *p) {
    uint32_t region = w->region, up = w->up, naming = w->naming, object = w->object;
    w->naming = 0;
    uint32_t sym = name_block(w, p->node, p->has_kind, p->kind);
    if (!sym) sym = naming;
    if (sym) w->up = sym;
    bool function = p->has_kind && p->kind == PDL_BLOCK_function;
    if (function) w->region = open_function(w, p->node, sym);
    if (function && naming) w->x->syms.p[naming - 1].body = w->region;
    w->object = p->has_kind && p->kind == PDL_BLOCK_object ? sym : 0;
    if (p->has_kind && p->kind == PDL_BLOCK_call) walk_call(w, p->node);
    if (p->has_kind && p->kind == PDL_BLOCK_model) note_model(w, p->node);
    walk_children(w, p);
    w->region = region;
    w->up = up;
    w->object = object;
}

static void walk_file(indexer *w, const lsp_spot *p) {
    uint32_t from, to;
    if (!pdl_node_is_str(p->node)) return;
    inner_span(p->node, &from, &to);
    *pdl_vec_push(&w->x->files) = (lsp_file){
        .path = keep(w, p->node->text),
        .import = p->field && strcmp(p->field->key, "import") == 0,
        .range = pdl_lsp_text_range(w->text, from, to),
        .at = from,
    };
}

static void walk_fors(indexer *w, const lsp_spot *p) {
    for (uint32_t i = 0; p->node->kind == PDL_NODE_MAP && i < p->node->n; i++)
        add_sym(w, p->node->pairs[i].key, SYM_LOOP, w->region, NULL);
    walk_children(w, p);
}

static void walk_word(indexer *w, const lsp_spot *p) {
    if (p->group != PDL_WORDS_TARGET || p->node->kind != PDL_NODE_SCALAR) {
        walk_children(w, p);
        return;
    }
    if (!pdl_node_is_str(p->node) || pdl_word_find(p->group, p->node->text)) return;
    static const pdl_expr none = {0};
    xref r = {.w = w, .e = &none};
    pdl_lsp_spans_of(&w->spans, p->node);
    add_ref(&r, (lsp_ref){.name = p->node->text, .kind = REF_TARGET}, 0, (uint32_t)p->node->text.n);
}

/* Returns true for an aliased node that was walked before. Such a node is walked only where it
 * occurs first. */
static bool is_second_visit(indexer *w, const pdl_node *n) {
    if (!n->shared) return false;
    pdl_str key = pdl_arena_str(w->scratch, (pdl_str){(const char *)&n, sizeof n});
    return pdl_map_put(&w->seen, key, w) != NULL;
}

/* Walks a node according to its role. The function is a flat switch. */
static void walk(indexer *w, const lsp_spot *p) {
    if (is_second_visit(w, p->node)) return;
    switch (p->role) {
    case ROLE_BLOCK:
        if (p->node->kind == PDL_NODE_MAP)
            walk_block(w, p);
        else if (p->node->kind == PDL_NODE_SCALAR)
            add_text(w, p->node, false);
        else
            walk_children(w, p);
        return;
    case ROLE_DEFS: walk_named(w, p, SYM_VARIABLE, w->region); return;
    case ROLE_NAMED_BLOCKS: walk_fields(w, p); return;
    case ROLE_DATA:
    case ROLE_PARAMETERS:
    case ROLE_MODEL:
    case ROLE_ARGS: walk_data(w, p); return;
    case ROLE_CALLEE:
        /* walk_call walks the callee of a call block */
        if (p->up->role != ROLE_BLOCK) add_text(w, p->node, true);
        return;
    case ROLE_GET: add_get(w, p->node); return;
    case ROLE_CODE: add_code(w, p->node, p->up->node); return;
    case ROLE_FILE: walk_file(w, p); return;
    case ROLE_FORS: walk_fors(w, p); return;
    case ROLE_NAME:
        if (p->up->role == ROLE_PATTERN) add_sym(w, p->node, SYM_PATTERN, w->region, NULL);
        return;
    case ROLE_WORD: walk_word(w, p); return;
    case ROLE_BLOCKS:
    case ROLE_WORDS:
    case ROLE_RECORD:
    case ROLE_CASES:
    case ROLE_PATTERN:
    case ROLE_PATTERNS:
    case ROLE_PATTERN_FIELDS: walk_children(w, p); return;
    case ROLE_NONE:
    case ROLE_RAW:
    case ROLE_TEXT:
    case ROLE_TYPE:
    case ROLE_TYPE_FIELDS:
    case ROLE_PARAMS: return;
    }
}

lsp_index *pdl_lsp_index_make(const lsp_tree *tree, const lsp_text *text) {
    lsp_index *x = PDL_NEW(lsp_index);
    x->arena = pdl_arena_make();
    *pdl_vec_push(&x->regions) = (lsp_region){.range = pdl_lsp_text_range(text, 0, text->b.len),
                                              .to = (uint32_t)text->b.len};
    if (!tree->root) return x;
    indexer w = {.x = x, .text = text, .scratch = pdl_arena_make()};
    lsp_spot root = pdl_lsp_spot_root(tree->root);
    walk(&w, &root);
    pdl_lsp_spans_fini(&w.spans);
    pdl_map_fini(&w.seen);
    pdl_arena_free(w.scratch);
    assert(pdl_lsp_index_ok(x));
    return x;
}

static bool region_ok(const lsp_index *x, uint32_t i) {
    const lsp_region *r = &x->regions.p[i];
    return (i ? r->up < i : !r->up) && r->sym <= x->syms.n;
}

static bool sym_ok(const lsp_index *x, const lsp_sym *s) {
    size_t n = x->regions.n;
    return s->region < n && s->body < n && s->fields < n && s->up <= x->syms.n;
}

bool pdl_lsp_index_ok(const lsp_index *x) {
    bool ok = x->regions.n && x->names.n <= x->syms.n;
    for (uint32_t i = 0; ok && i < x->regions.n; i++) ok = region_ok(x, i);
    for (size_t i = 0; ok && i < x->syms.n; i++) ok = sym_ok(x, &x->syms.p[i]);
    for (size_t i = 0; ok && i < x->refs.n; i++) ok = x->refs.p[i].region < x->regions.n;
    return ok;
}

void pdl_lsp_index_detach(lsp_index *x) {
    for (size_t i = 0; i < x->syms.n; i++) x->syms.p[i].value = x->syms.p[i].type_node = NULL;
    for (size_t i = 0; i < x->models.n; i++) x->models.p[i].block = NULL;
}

void pdl_lsp_index_free(lsp_index *x) {
    if (!x) return;
    pdl_arena_free(x->arena);
    pdl_map_fini(&x->names);
    pdl_vec_fini(&x->syms);
    pdl_vec_fini(&x->refs);
    pdl_vec_fini(&x->regions);
    pdl_vec_fini(&x->files);
    pdl_vec_fini(&x->models);
    pdl_free(x);
}

uint32_t pdl_lsp_index_region(const lsp_index *x, uint32_t off) {
    uint32_t best = 0;
    for (uint32_t i = 1; i < x->regions.n; i++)
        if (x->regions.p[i].from <= off && off <= x->regions.p[i].to)
            best = i; /* a later region that contains the offset is inside the earlier ones */
    return best;
}

const lsp_sym *pdl_lsp_index_sym(const lsp_index *x, uint32_t region, pdl_str name) {
    char room[PDL_SHORT_TEXT];
    pdl_buf b = pdl_buf_in(room, sizeof room, PDL_BUF.limit);
    uintptr_t found = (uintptr_t)pdl_map_find(&x->names, name_key(region, name, &b));
    pdl_buf_fini(&b);
    return found ? &x->syms.p[found - 1] : NULL;
}

void pdl_lsp_put_path(const lsp_index *x, const lsp_sym *sym, pdl_buf *out) {
    pdl_str names[MAX_CHAIN];
    size_t n = 0;
    for (; pdl_lsp_is_fields(&x->regions.p[sym->region]) && sym->up && n < MAX_CHAIN; n++) {
        names[n] = sym->name;
        sym = &x->syms.p[sym->up - 1];
    }
    pdl_buf_put(out, sym->name);
    while (n) pdl_buf_putf(out, ".%.*s", PDL_FMT(names[n - 1])), n--;
}

bool pdl_lsp_index_owner(const lsp_index *x, uint32_t from, pdl_str name, uint32_t *region) {
    for (uint32_t r = from;; r = x->regions.p[r].up) {
        if (pdl_lsp_index_sym(x, r, name)) {
            *region = r;
            return true;
        }
        if (!r) return false;
    }
}
