/* hover.c -- describes what is under the cursor: variables, filters, keys, words, models, types,
 * files.
 *
 * The most specific match wins: a variable before the text that contains it, a filter before the
 * expression, the value of a field before its key.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/url.h"
#include "io/file.h"
#include "lsp/features.h"
#include "lsp/show/lastrun.h"
#include "lsp/show/row_docs.h"
#include "lsp/spans.h"
#include "lsp/symtype.h"
#include "lsp/xref.h"
#include "model/catalog.h"
#include "model/prices.h"
#include "types/type.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { MAX_SCHEMA = 4000 };

typedef struct hoverer {
    pdl_lsp *s;
    lsp_doc *d;
    size_t off;
    pdl_buf text;
    lsp_range range; /* the part of the file that the text describes */
} hoverer;

static void about(hoverer *h, const pdl_node *n) {
    h->range = pdl_lsp_text_range(&h->d->text, n->start, n->end);
}

/* Appends a link to the manual, if it is installed and the client shows links. */
static void put_link(hoverer *h, const char *page, const char *heading) {
    pdl_buf path = PDL_BUF;
    if (!h->s->opt.manual || !h->s->has_markdown) return;
    pdl_buf_putf(&path, "%s/%s", h->s->opt.manual, page);
    PDL_PUT(&h->text, "\n\n[Manual](");
    pdl_url_put_file(pdl_buf_str(&path), &h->text);
    pdl_buf_fini(&path);
    pdl_buf_putc(&h->text, '#');
    for (const char *p = heading; *p; p++)
        pdl_buf_putc(&h->text, *p == ' ' ? '-' : *p >= 'A' && *p <= 'Z' ? (char)(*p | 32) : *p);
    pdl_buf_putc(&h->text, ')');
}

/* --- variables -------------------------------------------------------------------------------- */

static bool hover_variable(hoverer *h) {
    lsp_thing t;
    pdl_buf last = PDL_BUF;
    if (!pdl_lsp_thing_at(h->s, h->d, h->off, &t, &h->range)) return false;
    const lsp_sym *sym = pdl_lsp_thing_sym(h->s, &t);
    pdl_buf_putf(&h->text, "```\n%.*s", PDL_FMT(t.name));
    size_t before = h->text.len + 2;
    PDL_PUT(&h->text, ": ");
    pdl_lsp_put_type(h->s, t.doc, sym, &h->text);
    if (h->text.len == before) pdl_buf_cut(&h->text, before - 2);
    pdl_buf_putf(&h->text, "\n```\n%s", pdl_lsp_sym_kind_name(sym->kind));
    pdl_buf_putf(&h->text, ", line %u", sym->range.from.line + 1);
    if (t.doc != h->d)
        pdl_buf_putf(&h->text, " of %.*s", PDL_FMT(pdl_file_name(pdl_str_of(t.doc->key))));
    if (sym->doc.n) pdl_buf_putf(&h->text, "\n\n%.*s", PDL_FMT(sym->doc));
    bool field = pdl_lsp_is_fields(&pdl_lsp_doc_index(h->s, t.doc)->regions.p[t.region]);
    if (!field && pdl_lsp_last_value(h->s, h->d, t.name, &last))
        pdl_buf_putf(&h->text, "\n\nIn the last run: `%s`", pdl_buf_z(&last));
    pdl_buf_fini(&last);
    return true;
}

/* --- fields of variables ---------------------------------------------------------------------- */

typedef struct field_at {
    size_t at; /* offset of the cursor in the text */
    const pdl_xnode *found;
    size_t base; /* offset at which the expression of `found` begins in the text */
} field_at;

/* Returns the end of the name of a member, which is before the quote and the bracket of
 * x['name']. */
static size_t name_end(const pdl_xnode *x) {
    return x->kind == PDL_X_ATTR ? x->end : x->u.access.key->end - 1;
}

/* Accepts x.a.b or x['a'] when the cursor is on the last name in it. */
static void on_field(void *user, const pdl_xnode *x) {
    field_at *f = user;
    bool member = x->kind == PDL_X_ATTR || x->kind == PDL_X_ITEM;
    size_t n = member ? pdl_lsp_member_name(x).n : 0;
    if (!n || f->found) return;
    size_t end = f->base + name_end(x);
    if (f->at + n >= end && f->at <= end) f->found = x;
}

/* Appends the type of the field. It is found in the type of the variable that precedes
 * the field. */
static bool put_field(hoverer *h, const pdl_xnode *x) {
    pdl_buf chain = PDL_BUF, type = PDL_BUF;
    const lsp_index *index = pdl_lsp_doc_index(h->s, h->d);
    bool named = pdl_lsp_put_chain(x, &chain) != NULL && index;
    pdl_str rest = pdl_buf_str(&chain), shown = {0};
    lsp_thing t;
    if (named &&
        pdl_lsp_follow(h->s, h->d, pdl_lsp_index_region(index, (uint32_t)h->off), &rest, &t)) {
        pdl_lsp_put_type(h->s, t.doc, pdl_lsp_thing_sym(h->s, &t), &type);
        shown = pdl_lsp_shown_member(pdl_buf_str(&type), rest);
    }
    if (shown.n)
        pdl_buf_putf(&h->text, "```\n%s: %.*s\n```\nfield", pdl_buf_z(&chain), PDL_FMT(shown));
    pdl_buf_fini(&chain);
    pdl_buf_fini(&type);
    return shown.n > 0;
}

static void look_for_field(void *user, const pdl_expr *e, size_t base) {
    field_at *f = user;
    if (f->found) return;
    f->base = base;
    pdl_xnode_each(e->root, on_field, f);
}

static bool hover_field(hoverer *h, const lsp_spot *p) {
    lsp_spans spans = {0};
    uint32_t from, to;
    if (p->node->kind != PDL_NODE_SCALAR || pdl_expr_is_plain(p->node->text)) return false;
    pdl_arena *scratch = pdl_arena_make();
    pdl_lsp_spans_of(&spans, p->node);
    field_at f = {.at = pdl_lsp_spans_back(&spans, (uint32_t)h->off)};
    pdl_lsp_each_expr(scratch, p->node->text, look_for_field, &f);
    bool ok = f.found && put_field(h, f.found);
    if (ok) {
        size_t end = f.base + name_end(f.found), n = pdl_lsp_member_name(f.found).n;
        if (pdl_lsp_spans_find(&spans, end - n, end, &from, &to))
            h->range = pdl_lsp_text_range(&h->d->text, from, to);
    }
    pdl_lsp_spans_fini(&spans);
    pdl_arena_free(scratch);
    return ok;
}

/* --- rows of natives -------------------------------------------------------------------------- */

typedef struct native_at {
    const pdl_expr *e;
    size_t base; /* offset at which e begins in the text */
    size_t at;   /* offset of the cursor in the text of e */
    const pdl_native *row;
    const char *title, *heading; /* title of the match, and heading of its table in the manual */
    size_t from, to;
} native_at;

static void found(native_at *n, const pdl_native *row, const char *title, const char *heading,
                  size_t from, size_t to) {
    if (!row) return;
    n->row = row;
    n->title = title;
    n->heading = heading;
    n->from = from;
    n->to = to;
}

/* Finds a method by its name alone, because the receiver's type is rarely known. */
static const pdl_native *find_method(pdl_str name, const char **title) {
    for (size_t i = 3; i < PDL_NATIVE_TABLES; i++) {
        pdl_native_table t = pdl_native_table_at(i);
        for (size_t k = 0; k < t.n; k++)
            if (pdl_str_is(name, t.rows[k].name)) {
                *title = t.title;
                return &t.rows[k];
            }
    }
    return NULL;
}

static void on_xnode(void *user, const pdl_xnode *x) {
    native_at *n = user;
    const char *title = "";
    pdl_str name = {0};
    if (x->kind == PDL_X_FILTER || x->kind == PDL_X_TEST) {
        name = x->u.filter.name;
        const char *text = n->e->source.p;
        if (name.p < text || name.p + name.n > text + n->e->source.n) return;
        size_t from = (size_t)(name.p - text);
        if (n->at < from || n->at > from + name.n) return;
        bool filter = x->kind == PDL_X_FILTER;
        found(n, filter ? pdl_filter_find(name) : pdl_test_find(name), filter ? "filter" : "test",
              filter ? "Filters" : "Tests", from, from + name.n);
    } else if (x->kind == PDL_X_NAME && x->start <= n->at && n->at <= x->end) {
        found(n, pdl_global_find(x->u.name), "function", "Functions", x->start, x->end);
    } else if (x->kind == PDL_X_ATTR) {
        name = x->u.access.name;
        if (n->at + name.n < x->end || n->at > x->end) return;
        const pdl_native *row = find_method(name, &title);
        found(n, row, title, title, x->end - name.n, x->end);
    }
}

/* Searches one expression of a text for a native function at the cursor. Before the call, `at` is
 * an offset in the text; during the search it is an offset in the expression. */
static void look_for_native(void *user, const pdl_expr *e, size_t base) {
    native_at *n = user;
    size_t at = n->at;
    if (n->row || at < base) return;
    n->e = e;
    n->at = at - base;
    pdl_xnode_each(e->root, on_xnode, n);
    n->at = at;
    if (n->row) n->base = base;
}

static bool hover_native(hoverer *h, const lsp_spot *p) {
    lsp_spans spans = {0};
    uint32_t from, to;
    if (p->node->kind != PDL_NODE_SCALAR || pdl_expr_is_plain(p->node->text)) return false;
    pdl_arena *scratch = pdl_arena_make();
    native_at n = {0};
    pdl_lsp_spans_of(&spans, p->node);
    n.at = pdl_lsp_spans_back(&spans, (uint32_t)h->off);
    pdl_lsp_each_expr(scratch, p->node->text, look_for_native, &n);
    if (n.row && pdl_lsp_spans_find(&spans, n.base + n.from, n.base + n.to, &from, &to)) {
        pdl_lsp_document_native(n.title, n.row, &h->text);
        put_link(h, "builtins.md", n.heading);
        h->range = pdl_lsp_text_range(&h->d->text, from, to);
    }
    pdl_lsp_spans_fini(&spans);
    pdl_arena_free(scratch);
    return n.row != NULL;
}

/* --- models ----------------------------------------------------------------------------------- */

static bool has_table(const pdl_lsp *s) { return s->opt.price_table && s->opt.price_table->n; }

/* Reads the table of prices. Returns NULL, with an error, when the table cannot be read. */
static pdl_prices *read_prices(const pdl_lsp *s, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(64 << 20);
    pdl_prices *prices = NULL;
    if (has_table(s)) {
        bool ok = pdl_prices_read(*s->opt.price_table, "(option prices)", &prices, err);
        return ok ? prices : NULL;
    }
    if (pdl_file_read(s->opt.prices, &text, err) &&
        !pdl_prices_read(pdl_buf_str(&text), s->opt.prices, &prices, err))
        prices = NULL;
    pdl_buf_fini(&text);
    return prices;
}

static void put_price(const pdl_lsp *s, pdl_str model, pdl_buf *out) {
    pdl_err err = {0};
    pdl_prices *prices = s->opt.prices || has_table(s) ? read_prices(s, &err) : NULL;
    pdl_price price;
    if (prices && pdl_price_find(prices, model, pdl_absent(), &price))
        pdl_buf_putf(out, "\n\nA million tokens: $%g in, $%g out", price.input * 1e6,
                     price.output * 1e6);
    pdl_prices_free(prices);
    pdl_err_fini(&err);
}

void pdl_lsp_check_prices(pdl_lsp *s) {
    if (!s->opt.prices) return;
    pdl_err err = {0};
    pdl_prices *prices = read_prices(s, &err);
    if (!prices) pdl_lsp_show_problem(s, pdl_textf("prices of models are not shown: %s", err.msg));
    pdl_prices_free(prices);
    pdl_err_fini(&err);
}

static bool hover_model(hoverer *h, const lsp_spot *p) {
    pdl_str name = p->node->text;
    size_t slash = pdl_str_find(name, PDL_STR("/"), 0);
    size_t n;
    if (slash == PDL_NOT_FOUND || !pdl_model_describe(pdl_str_sub(name, 0, slash), &h->text))
        return false;
    put_price(h->s, name, &h->text);
    const pdl_model_param *rows = pdl_model_params(&n);
    PDL_PUT(&h->text, "\n\nParameters:");
    for (size_t i = 0; i < n; i++) pdl_buf_putf(&h->text, "%s `%s`", i ? "," : "", rows[i].name);
    put_link(h, "../providers.md", "Chat");
    return true;
}

/* --- types ------------------------------------------------------------------------------------ */

/* Shows the JSON Schema of a spec as a whole. */
static bool hover_spec(hoverer *h, const pdl_node *spec) {
    pdl_arena *scratch = pdl_arena_make();
    pdl_buf json = PDL_BUF;
    const pdl_type *type = NULL;
    pdl_err err = {0};
    bool ok = pdl_type_read(scratch, spec, &type, &err) && !pdl_type_is_any(type);
    pdl_err_fini(&err);
    if (ok) {
        pdl_val schema = pdl_type_schema(type, true);
        ok =
            pdl_json_write(schema, PDL_JSON_SPACED | PDL_JSON_LOOSE | PDL_JSON_CUT, 2, &json, &err);
        pdl_drop(schema);
        pdl_err_fini(&err);
    }
    if (ok && json.len <= MAX_SCHEMA)
        pdl_buf_putf(&h->text, "%sJSON Schema:\n```json\n%s\n```", h->text.len ? "\n\n" : "",
                     pdl_buf_z(&json));
    pdl_buf_fini(&json);
    pdl_arena_free(scratch);
    return ok;
}

/* --- keys and values -------------------------------------------------------------------------- */

static bool put_word(hoverer *h, const pdl_word *w) {
    if (w) pdl_buf_putf(&h->text, "**%s** -- %s", w->word, w->doc);
    return w != NULL;
}

static bool put_type_word(hoverer *h, const pdl_word *w) {
    if (put_word(h, w)) put_link(h, "quick-reference.md", "Forms of values");
    return w != NULL;
}

static bool hover_record_key(hoverer *h, const lsp_spot *p) {
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(p->up->record, &n);
    for (size_t i = 0; i < n; i++) {
        if (!pdl_str_is(p->key->text, parts[i].key)) continue;
        pdl_buf_putf(&h->text, "**%s** -- %s", parts[i].key, parts[i].doc);
        return true;
    }
    return false;
}

static bool hover_parameter(hoverer *h, pdl_str name) {
    const pdl_model_param *row = pdl_model_param_find(name);
    if (row)
        pdl_buf_putf(&h->text, "**%s**%s%s -- %s", row->name, row->type[0] ? ": " : "", row->type,
                     row->doc);
    return row != NULL;
}

static bool hover_block_key(hoverer *h, const lsp_spot *p) {
    if (!p->field) return false;
    pdl_lsp_document_field(p->field, &h->text);
    put_link(h, "quick-reference.md", p->field->kind >= 0 ? "Blocks" : "Fields of every block");
    if (p->role == ROLE_TYPE) hover_spec(h, p->node);
    return true;
}

static bool hover_key(hoverer *h, const lsp_spot *p) {
    if (p->key->kind != PDL_NODE_SCALAR) return false;
    about(h, p->key);
    switch (p->up->role) {
    case ROLE_BLOCK:
    case ROLE_BLOCKS: return hover_block_key(h, p);
    case ROLE_WORDS: return put_word(h, pdl_word_find(p->up->group, p->key->text));
    case ROLE_PATTERN: return put_word(h, pdl_word_find(PDL_WORDS_PATTERN, p->key->text));
    case ROLE_TYPE: return put_type_word(h, pdl_word_find(PDL_WORDS_TYPE_KEY, p->key->text));
    case ROLE_RECORD: return hover_record_key(h, p);
    case ROLE_PARAMETERS: return hover_parameter(h, p->key->text);
    case ROLE_NONE:
    case ROLE_NAMED_BLOCKS:
    case ROLE_DEFS:
    case ROLE_DATA:
    case ROLE_RAW:
    case ROLE_TEXT:
    case ROLE_WORD:
    case ROLE_NAME:
    case ROLE_FILE:
    case ROLE_GET:
    case ROLE_MODEL:
    case ROLE_CALLEE:
    case ROLE_ARGS:
    case ROLE_CODE:
    case ROLE_TYPE_FIELDS:
    case ROLE_PARAMS:
    case ROLE_FORS:
    case ROLE_CASES:
    case ROLE_PATTERNS:
    case ROLE_PATTERN_FIELDS: break;
    }
    return false;
}

static bool hover_file(hoverer *h, const lsp_spot *p) {
    bool import = p->field && strcmp(p->field->key, "import") == 0;
    lsp_doc *d = pdl_lsp_doc_linked(h->s, h->d, p->node->text, import);
    const lsp_index *x = d ? pdl_lsp_doc_index(h->s, d) : NULL;
    if (!d) return false;
    pdl_buf_putf(&h->text, "`%s`", d->key);
    for (size_t i = 0; x && i < x->syms.n; i++)
        if (!x->syms.p[i].region)
            pdl_buf_putf(&h->text, "\n- `%.*s`%s%.*s", PDL_FMT(x->syms.p[i].name),
                         x->syms.p[i].type.n ? ": " : "", PDL_FMT(x->syms.p[i].type));
    return true;
}

static bool hover_value(hoverer *h, const lsp_spot *p) {
    if (p->node->kind != PDL_NODE_SCALAR) return false;
    about(h, p->node);
    if (p->role == ROLE_WORD) return put_word(h, pdl_word_find(p->group, p->node->text));
    if (p->role == ROLE_MODEL) return hover_model(h, p);
    if (p->role == ROLE_FILE) return hover_file(h, p);
    if (p->role != ROLE_TYPE) return false;
    put_type_word(h, pdl_word_find(PDL_WORDS_TYPE, p->node->text));
    return hover_spec(h, p->node) || h->text.len > 0;
}

static bool hover(hoverer *h) {
    lsp_way way;
    if (hover_variable(h)) return true;
    if (!h->d->tree.root) return false;
    pdl_lsp_way_to(h->d->tree.root, (uint32_t)h->off, &way);
    const lsp_spot *p = pdl_lsp_way_end(&way);
    if (way.on_key) return hover_key(h, p);
    return hover_field(h, p) || hover_native(h, p) || hover_value(h, p);
}

pdl_val pdl_lsp_on_hover(pdl_lsp *s, pdl_vref params) {
    hoverer h = {.s = s, .text = PDL_BUF};
    pdl_val v = pdl_null();
    h.d = pdl_lsp_doc_at(s, params, &h.off);
    if (!h.d) return pdl_absent();
    if (hover(&h)) {
        v = pdl_dict_putz(pdl_dict_new(2), "contents",
                          pdl_lsp_put_markdown(s, pdl_buf_str(&h.text)));
        v = pdl_dict_putz(v, "range", pdl_lsp_put_range(h.range));
    }
    pdl_buf_fini(&h.text);
    return v;
}
