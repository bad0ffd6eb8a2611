/* symtype.c -- finds the type of a variable in its block; see symtype.h. A spec, a parser or the
 * kind of the block determines the type. The type is written in the short words of hover, which are
 * also read back to find the members of a value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "lsp/symtype.h"

#include "lsp/node_roles.h"
#include "types/type.h"

#include "base/banned.h"

enum { MAX_SHOWN = 240, MAX_FIELDS = 200 };

static const pdl_type *read_spec(const pdl_node *spec, pdl_arena *scratch) {
    const pdl_type *type = NULL;
    pdl_err err = {0};
    if (!spec || !pdl_type_read(scratch, spec, &type, &err)) type = NULL;
    pdl_err_fini(&err);
    return type;
}

void pdl_lsp_show_spec(const pdl_node *spec, pdl_arena *scratch, pdl_buf *out) {
    const pdl_type *type = read_spec(spec, scratch);
    if (!pdl_type_is_any(type)) pdl_type_show(type, out);
}

/* --- literal data ----------------------------------------------------------------------------- */

static const char *scalar_type(const pdl_node *n) {
    switch (n->type) {
    case PDL_NT_NULL: return "null";
    case PDL_NT_BOOL: return "boolean";
    case PDL_NT_INT: return "integer";
    case PDL_NT_FLOAT: return "number";
    case PDL_NT_STR: return pdl_str_starts(pdl_str_trim(n->text), PDL_STR("${")) ? "" : "string";
    case PDL_NT_TIMESTAMP:
    case PDL_NT_BINARY:
    case PDL_NT_SEQ:
    case PDL_NT_MAP:
    case PDL_NT_SET:
    case PDL_NT_OMAP:
    case PDL_NT_PAIRS: break;
    }
    return "";
}

static void show_data(const pdl_node *n, unsigned depth, pdl_buf *out) {
    if (n->kind == PDL_NODE_SCALAR) {
        pdl_buf_put(out, pdl_str_of(scalar_type(n)));
    } else if (n->kind == PDL_NODE_SEQ) {
        PDL_PUT(out, "[");
        if (n->n && depth) show_data(n->items[0], depth - 1, out);
        PDL_PUT(out, "]");
    } else if (!depth) {
        PDL_PUT(out, "object");
    } else {
        PDL_PUT(out, "{");
        for (uint32_t i = 0; i < n->n && out->len < MAX_SHOWN; i++) {
            pdl_buf_putf(out, "%s%.*s", i ? ", " : "", PDL_FMT(n->pairs[i].key->text));
            size_t before = out->len;
            PDL_PUT(out, ": ");
            show_data(n->pairs[i].value, depth - 1, out);
            if (out->len == before + 2) pdl_buf_cut(out, before);
        }
        PDL_PUT(out, "}");
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

typedef struct param_list {
    pdl_buf *out;
    size_t n;
} param_list;

static void put_param(void *user, pdl_str name, pdl_str type) {
    param_list *l = user;
    pdl_buf_putf(l->out, "%s%.*s%s%.*s", l->n++ ? ", " : "", PDL_FMT(name), type.n ? ": " : "",
                 PDL_FMT(type));
}

static void show_function(const pdl_node *block, pdl_arena *scratch, pdl_buf *out) {
    param_list l = {out, 0};
    PDL_PUT(out, "function(");
    pdl_lsp_each_param(block, scratch, put_param, &l);
    PDL_PUT(out, ")");
    size_t before = out->len;
    const pdl_node *body = pdl_node_find(block, PDL_STR("return"), NULL);
    PDL_PUT(out, " -> ");
    const pdl_node *spec = pdl_node_find(block, PDL_STR("spec"), NULL);
    if (spec)
        pdl_lsp_show_spec(spec, scratch, out);
    else if (body)
        pdl_lsp_show_type(body, scratch, out);
    if (out->len == before + 4) pdl_buf_cut(out, before);
}

static void show_parsed(const pdl_node *parser, pdl_arena *scratch, pdl_buf *out) {
    const pdl_node *spec =
        parser->kind == PDL_NODE_MAP ? pdl_node_find(parser, PDL_STR("spec"), NULL) : NULL;
    if (spec)
        pdl_lsp_show_spec(spec, scratch, out);
    else if (parser->kind == PDL_NODE_SCALAR &&
             (pdl_str_is(parser->text, "csv") || pdl_str_is(parser->text, "jsonl")))
        PDL_PUT(out, "array");
}

static void show_object(const pdl_node *block, pdl_buf *out) {
    const pdl_node *fields = pdl_node_find(block, PDL_STR("object"), NULL);
    PDL_PUT(out, "{");
    for (uint32_t i = 0; fields && fields->kind == PDL_NODE_MAP && i < fields->n; i++)
        if (out->len < MAX_SHOWN)
            pdl_buf_putf(out, "%s%.*s", i ? ", " : "", PDL_FMT(fields->pairs[i].key->text));
    PDL_PUT(out, "}");
}

/* Appends the type that follows from the kind of the block. Used when neither spec nor parser gives
 * a more precise type. */
static void show_kind(const pdl_node *block, pdl_block_kind kind, pdl_arena *scratch,
                      pdl_buf *out) {
    const pdl_node *n;
    switch ((int)kind) {
    case PDL_BLOCK_text:
    case PDL_BLOCK_model:
    case PDL_BLOCK_read: PDL_PUT(out, "string"); return;
    case PDL_BLOCK_array: PDL_PUT(out, "array"); return;
    case PDL_BLOCK_object: show_object(block, out); return;
    case PDL_BLOCK_function: show_function(block, scratch, out); return;
    case PDL_BLOCK_import: PDL_PUT(out, "module"); return;
    case PDL_BLOCK_aggregator: PDL_PUT(out, "aggregator"); return;
    case PDL_BLOCK_data:
        n = pdl_node_find(block, PDL_STR("data"), NULL);
        if (n) show_data(n, 3, out);
        return;
    case PDL_BLOCK_lastOf:
        n = pdl_node_find(block, PDL_STR("lastOf"), NULL);
        if (n && n->kind == PDL_NODE_SEQ && n->n)
            pdl_lsp_show_type(n->items[n->n - 1], scratch, out);
        return;
    default: return;
    }
}

void pdl_lsp_show_type(const pdl_node *block, pdl_arena *scratch, pdl_buf *out) {
    pdl_block_kind kind;
    if (block->kind == PDL_NODE_SCALAR) {
        pdl_buf_put(out, pdl_str_of(scalar_type(block)));
        return;
    }
    if (!pdl_lsp_kind_of(block, &kind)) return;
    const pdl_node *spec = pdl_node_find(block, PDL_STR("spec"), NULL),
                   *parser = pdl_node_find(block, PDL_STR("parser"), NULL);
    if (spec && kind != PDL_BLOCK_function)
        pdl_lsp_show_spec(spec, scratch, out);
    else if (parser && !pdl_node_is_null(parser))
        show_parsed(parser, scratch, out);
    else
        show_kind(block, kind, scratch, out);
}

/* --- fields and parameters -------------------------------------------------------------------- */

typedef struct lister {
    pdl_arena *scratch;
    void (*fn)(void *user, pdl_str name, pdl_str type);
    void *user;
} lister;

static void list_type(const lister *l, const pdl_type *t) {
    for (size_t i = 0; pdl_type_is_object(t) && i < pdl_type_fields(t) && i < MAX_FIELDS; i++) {
        pdl_buf b = PDL_BUF;
        if (!pdl_type_is_any(pdl_type_field(t, i))) pdl_type_show(pdl_type_field(t, i), &b);
        l->fn(l->user, pdl_type_field_name(t, i), pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
}

/* Lists the fields of a mapping of data, or of blocks. */
static void list_map(const lister *l, const pdl_node *map, bool blocks) {
    for (uint32_t i = 0; map && map->kind == PDL_NODE_MAP && i < map->n && i < MAX_FIELDS; i++) {
        const pdl_pair *p = &map->pairs[i];
        pdl_buf b = PDL_BUF;
        if (p->key->kind != PDL_NODE_SCALAR) continue;
        if (blocks)
            pdl_lsp_show_type(p->value, l->scratch, &b);
        else
            show_data(p->value, 2, &b);
        l->fn(l->user, p->key->text, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
}

void pdl_lsp_each_field(const pdl_node *block, pdl_arena *scratch,
                        void (*fn)(void *user, pdl_str name, pdl_str type), void *user) {
    lister l = {scratch, fn, user};
    pdl_block_kind kind;
    if (block->kind != PDL_NODE_MAP || !pdl_lsp_kind_of(block, &kind)) return;
    const pdl_node *spec = pdl_node_find(block, PDL_STR("spec"), NULL),
                   *parser = pdl_node_find(block, PDL_STR("parser"), NULL);
    if (parser && parser->kind == PDL_NODE_MAP && !spec)
        spec = pdl_node_find(parser, PDL_STR("spec"), NULL);
    if (spec)
        list_type(&l, read_spec(spec, scratch));
    else if (kind == PDL_BLOCK_data)
        list_map(&l, pdl_node_find(block, PDL_STR("data"), NULL), false);
    else if (kind == PDL_BLOCK_object)
        list_map(&l, pdl_node_find(block, PDL_STR("object"), NULL), true);
}

/* --- types in words --------------------------------------------------------------------------- */

/* Returns true when another value of the type follows, as in `one of 'a', 'b'`. */
static bool is_between_values(pdl_str s, size_t comma) {
    pdl_str rest = pdl_str_trim(pdl_str_sub(s, comma + 1, s.n));
    return rest.n && (rest.p[0] == '\'' || rest.p[0] == '"');
}

/* Returns the end of an entry: a comma outside all brackets, or the end of the text. */
static size_t entry_end(pdl_str s, size_t from) {
    int depth = 0;
    for (size_t i = from; i < s.n; i++) {
        char ch = s.p[i];
        if (ch == '{' || ch == '[' || ch == '(') depth++;
        if (ch == '}' || ch == ']' || ch == ')') depth--;
        if (ch == ',' && depth == 0 && !is_between_values(s, i)) return i;
    }
    return s.n;
}

void pdl_lsp_each_shown_field(pdl_str type, void (*fn)(void *user, pdl_str name, pdl_str type),
                              void *user) {
    if (type.n < 2 || type.p[0] != '{' || type.p[type.n - 1] != '}') return;
    pdl_str inside = pdl_str_sub(type, 1, type.n - 1);
    if (pdl_str_find(inside, PDL_STR("} or {"), 0) != PDL_NOT_FOUND) return;
    for (size_t at = 0; at < inside.n;) {
        size_t end = entry_end(inside, at);
        pdl_str entry = pdl_str_trim(pdl_str_sub(inside, at, end));
        size_t colon = pdl_str_find(entry, PDL_STR(": "), 0);
        at = end + 1;
        if (colon == PDL_NOT_FOUND || colon == 0) continue;
        pdl_str name = pdl_str_sub(entry, 0, colon);
        if (name.p[name.n - 1] == '?') name.n--;
        fn(user, name, pdl_str_sub(entry, colon + 2, entry.n));
    }
}

typedef struct wanted_field {
    pdl_str name, type;
} wanted_field;

static void take_field(void *user, pdl_str name, pdl_str type) {
    wanted_field *w = user;
    if (pdl_str_eq(name, w->name)) w->type = type;
}

pdl_str pdl_lsp_shown_member(pdl_str type, pdl_str chain) {
    while (chain.n && type.n) {
        size_t dot = pdl_str_find(chain, PDL_STR("."), 0);
        wanted_field w = {.name = pdl_str_sub(chain, 0, dot == PDL_NOT_FOUND ? chain.n : dot)};
        chain = dot == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(chain, dot + 1, chain.n);
        pdl_lsp_each_shown_field(type, take_field, &w);
        if (pdl_str_is(w.name, "[]")) /* the name [] means an item of a list [T] */
            w.type = pdl_str_starts(type, PDL_STR("[")) && type.p[type.n - 1] == ']'
                         ? pdl_str_sub(type, 1, type.n - 1)
                         : (pdl_str){0};
        type = w.type;
    }
    return pdl_str_is(type, "any") ? (pdl_str){0} : type;
}

void pdl_lsp_each_param(const pdl_node *function, pdl_arena *scratch,
                        void (*fn)(void *user, pdl_str name, pdl_str type), void *user) {
    const pdl_node *params = pdl_node_find(function, PDL_STR("function"), NULL);
    for (uint32_t i = 0; params && params->kind == PDL_NODE_MAP && i < params->n; i++) {
        pdl_buf b = PDL_BUF;
        pdl_lsp_show_spec(params->pairs[i].value, scratch, &b);
        fn(user, params->pairs[i].key->text, pdl_buf_str(&b));
        pdl_buf_fini(&b);
    }
}
