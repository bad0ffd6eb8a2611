/* complete_expr.c -- completion inside expressions: variables, filters, tests, members.
 *
 * An expression at the cursor is unfinished, so it is not parsed. The text before the typed word
 * decides what is proposed. After a bar, filters are proposed; after `is`, tests; after a dot that
 * follows a chain of names, members. Everywhere else, all names are proposed that can begin an
 * operand.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "base/word_list.h"
#include "lang/fields.h"
#include "lsp/complete/complete.h"
#include "lsp/features.h"
#include "lsp/show/row_docs.h"
#include "lsp/symtype.h"
#include "lsp/xref.h"
#include "model/catalog.h"
#include "native/native.h"

#include "base/banned.h"

enum {
    /* number of bytes before the cursor in which the beginning of an expression is searched */
    MAX_LOOKED_AT = 20000,
    /* number of bytes after the cursor in which the end of a call is searched */
    MAX_CALL = 4000
};

/* --- the beginning of an expression ----------------------------------------------------------- */

/* Returns true when s, the text before a quote, ends with `x[`. In a quoted scalar, a backslash
 * comes before the quote. */
static bool ends_with_bracket(pdl_str s) {
    if (pdl_str_ends(s, PDL_STR("\\"))) s.n--;
    return s.n > 1 && s.p[s.n - 1] == '[' && (pdl_lsp_is_word(s.p[s.n - 2]) || s.p[s.n - 2] == ']');
}

/* Returns true when an expression that begins at `from` is still open at `to`. The function counts
 * quotes and brackets. The quotes of a key may be open, as in x['na. */
static bool is_open(pdl_str text, size_t from, size_t to) {
    int depth = 0;
    char quote = 0;
    bool is_key = false;
    for (size_t i = from; i < to; i++) {
        char ch = text.p[i];
        if (quote) {
            if (ch == '\\') i++;
            if (ch == quote) quote = 0;
        } else if (ch == '"' || ch == '\'') {
            quote = ch;
            is_key = ends_with_bracket(pdl_str_sub(text, from, i));
        } else if (ch == '{' || ch == '(' || ch == '[') {
            depth++;
        } else if (ch == ')' || ch == ']') {
            depth--;
        } else if (ch == '}' && depth-- <= 0) {
            return false;
        }
    }
    return !quote || is_key;
}

/* Returns the offset after the last opening delimiter in [from, off), or PDL_NOT_FOUND. */
static size_t last_open(pdl_str text, size_t from, size_t off, bool jinja) {
    for (size_t i = off; i >= from + 2; i--) {
        char a = text.p[i - 2], b = text.p[i - 1];
        if (a == '$' && b == '{') return i;
        if (jinja && a == '{' && (b == '{' || b == '%')) return i;
    }
    return PDL_NOT_FOUND;
}

/* Returns true when a line begins an item of a list or an entry of a mapping. If an expression on
 * an earlier line was not closed, that is a mistake; the expression does not continue on this line.
 */
static bool begins_entry(pdl_str line) {
    pdl_str s = pdl_str_trim(line);
    if (pdl_str_starts(s, PDL_STR("- ")) || pdl_str_is(s, "-")) return true;
    size_t i = 0;
    while (i < s.n && pdl_lsp_is_word(s.p[i])) i++;
    return i > 0 && i < s.n && s.p[i] == ':' && (i + 1 == s.n || s.p[i + 1] == ' ');
}

static bool has_entries(pdl_str text, size_t from, size_t to) {
    while (from < to) {
        size_t nl = pdl_str_find(text, PDL_STR("\n"), from);
        size_t end = nl == PDL_NOT_FOUND || nl > to ? to : nl;
        if (begins_entry(pdl_str_sub(text, from, end))) return true;
        from = end + 1;
    }
    return false;
}

size_t pdl_lsp_expr_start(pdl_str text, size_t line_start, size_t off, bool jinja) {
    size_t low = off > MAX_LOOKED_AT ? off - MAX_LOOKED_AT : 0;
    size_t at = last_open(text, line_start, off, jinja);
    /* the expression may have begun on an earlier line, if no empty line is in between */
    if (at == PDL_NOT_FOUND) {
        size_t gap = pdl_str_rfind(pdl_str_sub(text, low, line_start), PDL_STR("\n\n"));
        at = last_open(text, gap == PDL_NOT_FOUND ? low : low + gap, line_start, jinja);
        size_t next = at == PDL_NOT_FOUND ? at : pdl_str_find(text, PDL_STR("\n"), at);
        if (next != PDL_NOT_FOUND && has_entries(text, next + 1, off)) at = PDL_NOT_FOUND;
    }
    return at != PDL_NOT_FOUND && is_open(text, at, off) ? at : PDL_NOT_FOUND;
}

/* --- rows of natives -------------------------------------------------------------------------- */

static void put_signature(const pdl_native *row, pdl_buf *out) {
    pdl_buf_putf(out, "(%s)", row->params ? row->params : "");
}

static void add_native(lsp_completer *c, const pdl_native *row, int kind, char order, size_t table,
                       size_t i) {
    static const char *const names[PDL_NATIVE_TABLES] = {
        "native0", "native1", "native2", "native3",  "native4",  "native5", "native6",
        "native7", "native8", "native9", "native10", "native11", "native12"};
    pdl_buf detail = PDL_BUF;
    put_signature(row, &detail);
    pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_of(row->name),
                                    .detail = pdl_buf_str(&detail),
                                    .kind = kind,
                                    .order = order,
                                    .table = names[table],
                                    .row = (int)i});
    pdl_buf_fini(&detail);
}

static void add_table(lsp_completer *c, size_t table, int kind, char order) {
    pdl_native_table t = pdl_native_table_at(table);
    for (size_t i = 0; i < t.n; i++) add_native(c, &t.rows[i], kind, order, table, i);
}

enum { FILTERS, TESTS, GLOBALS, METHODS_STR, METHODS_LIST, METHODS_DICT = 8, STDLIB = 12 };

/* --- members ---------------------------------------------------------------------------------- */

static void on_field(void *user, pdl_str name, pdl_str type) {
    pdl_lsp_item_add(user,
                     &(lsp_item){.label = name, .detail = type, .kind = ITEM_FIELD, .order = '1'});
}

static int sym_item(const lsp_sym *sym) {
    return sym->kind == SYM_FUNCTION ? ITEM_FUNCTION
           : sym->kind == SYM_MODULE ? ITEM_MODULE
                                     : ITEM_VARIABLE;
}

static void add_sym(lsp_completer *c, lsp_doc *d, const lsp_sym *sym, char order) {
    pdl_buf type = PDL_BUF;
    pdl_lsp_put_type(c->s, d, sym, &type);
    if (!type.len) pdl_buf_put(&type, pdl_str_of(pdl_lsp_sym_kind_name(sym->kind)));
    pdl_lsp_item_add(c, &(lsp_item){.label = sym->name,
                                    .detail = pdl_buf_str(&type),
                                    .kind = sym_item(sym),
                                    .order = order});
    pdl_buf_fini(&type);
}

static bool is_repeated(const lsp_index *x, size_t i) {
    return pdl_lsp_index_sym(x, x->syms.p[i].region, x->syms.p[i].name) != &x->syms.p[i];
}

/* Adds the names that a file defines at its top. */
static void add_file_syms(lsp_completer *c, lsp_doc *d, char order) {
    const lsp_index *x = pdl_lsp_doc_index(c->s, d);
    for (size_t i = 0; x && i < x->syms.n; i++)
        if (x->syms.p[i].region == 0 && !is_repeated(x, i)) add_sym(c, d, &x->syms.p[i], order);
}

/* Adds the methods of a value. The words of its type decide which members are offered; a value of
 * unknown type gets the members of all usual types. */
static void add_methods(lsp_completer *c, pdl_str type) {
    bool text = pdl_str_is(type, "string"),
         list = pdl_str_starts(type, PDL_STR("[")) || pdl_str_is(type, "array"),
         dict = pdl_str_starts(type, PDL_STR("{")) || pdl_str_is(type, "object");
    bool any = !type.n;
    if (text || any) add_table(c, METHODS_STR, ITEM_METHOD, '3');
    if (list || any) add_table(c, METHODS_LIST, ITEM_METHOD, '3');
    if (dict || any) add_table(c, METHODS_DICT, ITEM_METHOD, '3');
}

/* Adds the names of the standard library, with the signatures of natives. */
static void add_library(lsp_completer *c) {
    lsp_tree t = pdl_lsp_tree_read(c->scratch, PDL_STR(""), c->s->opt.library);
    const pdl_node *defs = t.root ? pdl_node_find(t.root, PDL_STR("defs"), NULL) : NULL;
    pdl_native_table natives = pdl_native_table_at(STDLIB);
    for (uint32_t i = 0; defs && defs->kind == PDL_NODE_MAP && i < defs->n; i++) {
        const pdl_pair *def = &defs->pairs[i];
        lsp_item item = {.label = def->key->text, .kind = ITEM_FUNCTION, .order = '1'};
        pdl_buf detail = PDL_BUF;
        for (size_t k = 0; k < natives.n && def->value->kind == PDL_NODE_SCALAR; k++) {
            pdl_str name = pdl_str_of(natives.rows[k].name);
            if (pdl_str_find(def->value->text, name, 0) == PDL_NOT_FOUND) continue;
            put_signature(&natives.rows[k], &detail);
            item.table = "native12";
            item.row = (int)k;
            break;
        }
        if (!item.table) pdl_lsp_show_type(def->value, c->scratch, &detail);
        item.detail = pdl_buf_str(&detail);
        pdl_lsp_item_add(c, &item);
        pdl_buf_fini(&detail);
    }
}

/* Adds the fields of an object. region: the region that contains its fields. */
static void add_fields(lsp_completer *c, lsp_doc *d, const lsp_index *x, uint32_t region) {
    for (size_t i = 0; i < x->syms.n; i++)
        if (x->syms.p[i].region == region && !is_repeated(x, i)) add_sym(c, d, &x->syms.p[i], '1');
}

/* Adds the members of a variable, or of the part of it to which the rest of a chain leads. Returns
 * the type of this variable or part in words, borrowed from *type. */
static pdl_str add_members(lsp_completer *c, const lsp_thing *t, pdl_str rest, pdl_buf *type) {
    const lsp_index *x = pdl_lsp_doc_index(c->s, t->doc);
    const lsp_sym *sym = pdl_lsp_thing_sym(c->s, t);
    pdl_lsp_put_type(c->s, t->doc, sym, type);
    pdl_str shown = pdl_lsp_shown_member(pdl_buf_str(type), rest);
    size_t before = pdl_list_len(c->items);
    if (!rest.n && sym->fields) add_fields(c, t->doc, x, sym->fields);
    if (!rest.n && !sym->fields && sym->value)
        pdl_lsp_each_field(sym->value, c->scratch, on_field, c);
    if (pdl_list_len(c->items) == before) pdl_lsp_each_shown_field(shown, on_field, c);
    return shown;
}

/* Completes a member. chain: the names before the dot, or before the bracket of a key. After a
 * bracket, methods are not proposed. */
static void complete_member(lsp_completer *c, pdl_str chain, bool is_key) {
    lsp_thing t;
    pdl_str rest = chain;
    pdl_buf type = PDL_BUF;
    uint32_t region = pdl_lsp_index_region(c->d->index, (uint32_t)c->off);
    bool known = chain.n && pdl_lsp_follow(c->s, c->d, region, &rest, &t), module = false;
    pdl_str shown = {0};
    if (known) {
        const lsp_sym *sym = pdl_lsp_thing_sym(c->s, &t);
        module = sym->kind == SYM_MODULE;
        lsp_doc *file = module ? pdl_lsp_doc_linked(c->s, t.doc, sym->path, true) : NULL;
        if (file && !rest.n) add_file_syms(c, file, '1');
        if (!module) shown = add_members(c, &t, rest, &type);
    } else if (pdl_str_is(chain, "stdlib")) {
        add_library(c);
        module = true;
    }
    if (!is_key && !module) add_methods(c, shown);
    pdl_buf_fini(&type);
}

/* --- operands --------------------------------------------------------------------------------- */

/* Returns true when the parts of a collection are evaluated one after the other, in the order in
 * which they are written. */
static bool is_in_order(const lsp_spot *p) {
    return p->node->kind == PDL_NODE_SEQ || p->role == ROLE_DEFS || p->role == ROLE_NAMED_BLOCKS;
}

static bool holds(const pdl_node *n, uint32_t at) { return n->start <= at && at <= n->end; }

/* Returns true when the cursor is in the `defs` of a block, and the symbol is elsewhere in this
 * block. `defs` are evaluated before everything else in the block. */
static bool is_after_defs(const lsp_spot *defs, const lsp_sym *sym) {
    const lsp_spot *block = defs->up;
    return defs->role == ROLE_DEFS && holds(block->node, sym->at) && !holds(defs->node, sym->at);
}

/* Returns true when a variable gets its value after the part with the cursor is evaluated. The
 * order of evaluation may differ from the order of the fields in the text, and each round of a loop
 * can use the variables of the previous round. */
static bool is_later(const lsp_way *way, const lsp_sym *sym) {
    for (size_t i = 0; i + 1 < way->n; i++) {
        const lsp_spot *p = &way->p[i];
        if (is_after_defs(&way->p[i + 1], sym)) return true;
        if (p->has_kind && p->kind == PDL_BLOCK_repeat) return false;
        if (is_in_order(p) && sym->at > way->p[i + 1].node->end && sym->at <= p->node->end)
            return true;
    }
    return false;
}

/* Adds the variables that are visible from the cursor's region outward, including variables of
 * included files. */
static void add_variables(lsp_completer *c) {
    const lsp_index *x = c->d->index;
    pdl_map offered = {0};
    lsp_way way = {.n = 0};
    if (c->d->tree.root) pdl_lsp_way_to(c->d->tree.root, (uint32_t)c->off, &way);
    uint32_t region = pdl_lsp_index_region(x, (uint32_t)c->off);
    char order = '0';
    for (;; region = x->regions.p[region].up) {
        for (size_t i = 0; i < x->syms.n; i++)
            if (x->syms.p[i].region == region && !is_later(&way, &x->syms.p[i]) &&
                !pdl_map_put(&offered, x->syms.p[i].name, c))
                add_sym(c, c->d, &x->syms.p[i], order);
        if (!region) break;
        order = '1';
    }
    pdl_map_fini(&offered);
    for (size_t i = 0; i < x->files.n; i++) {
        lsp_doc *d =
            x->files.p[i].import ? NULL : pdl_lsp_doc_linked(c->s, c->d, x->files.p[i].path, false);
        if (d && d != c->d) add_file_syms(c, d, '1');
    }
}

/* Returns the end of an argument, which is a comma, the bracket that closes the call, or the end of
 * the text. */
static size_t argument_end(pdl_str s, size_t from) {
    int depth = 0;
    char quote = 0;
    for (size_t i = from; i < s.n; i++) {
        char ch = s.p[i];
        if (quote) {
            if (ch == quote) quote = 0;
        } else if (ch == '"' || ch == '\'') {
            quote = ch;
        } else if (ch == '(' || ch == '[' || ch == '{') {
            depth++;
        } else if (ch == ')' || ch == ']' || ch == '}') {
            if (depth-- == 0) return i;
        } else if (ch == ',' && depth == 0) {
            return i;
        }
    }
    return s.n;
}

/* Returns the name of an argument that is given by name; empty when it is given by position. */
static pdl_str argument_name(pdl_str argument) {
    pdl_str s = pdl_str_trim(argument);
    size_t n = 0;
    while (n < s.n && pdl_lsp_is_word(s.p[n])) n++;
    pdl_str rest = pdl_str_trim(pdl_str_sub(s, n, s.n));
    bool named = n && pdl_str_starts(rest, PDL_STR("=")) && !pdl_str_starts(rest, PDL_STR("=="));
    return named ? pdl_str_sub(s, 0, n) : (pdl_str){0};
}

static bool gives(pdl_str arguments, pdl_str name) {
    for (size_t at = 0, end; at < arguments.n; at = end + 1) {
        end = argument_end(arguments, at);
        if (pdl_str_eq(argument_name(pdl_str_sub(arguments, at, end)), name)) return true;
        if (end < arguments.n && arguments.p[end] != ',') return false;
    }
    return false;
}

/* The call whose brackets contain the cursor. */
typedef struct open_call {
    pdl_str callee;        /* the text before the bracket; empty when there is no call */
    pdl_str before, after; /* the arguments before the typed one, and the arguments after it */
    size_t n_by_place;     /* number of arguments in `before` that have no name */
} open_call;

/* Finds the call around the cursor. A name of an argument can only be at the beginning of that
 * argument, so no call is returned when the cursor is further inside. */
static open_call find_call(const lsp_completer *c, pdl_str before) {
    open_call call = {0};
    int depth = 0;
    size_t i = before.n;
    while (i-- > 0) {
        if (before.p[i] == ')') depth++;
        if (before.p[i] == '(' && depth-- == 0) break;
    }
    if (i == SIZE_MAX) return call;
    call.before = pdl_str_sub(before, i + 1, before.n);
    size_t at = 0, end;
    for (; at < call.before.n; at = end + 1) {
        end = argument_end(call.before, at);
        if (end >= call.before.n || call.before.p[end] != ',') return call;
        if (!argument_name(pdl_str_sub(call.before, at, end)).n) call.n_by_place++;
    }
    pdl_str text = pdl_lsp_text_str(&c->d->text);
    at = c->off;
    while (at < text.n && pdl_lsp_is_word(text.p[at])) at++;
    call.after = pdl_str_sub(text, at, text.n - at > MAX_CALL ? at + MAX_CALL : text.n);
    call.callee = pdl_str_sub(before, 0, i);
    return call;
}

static void add_param(lsp_completer *c, pdl_str name, pdl_str type) {
    pdl_buf text = PDL_BUF;
    pdl_buf_putf(&text, "%.*s=", PDL_FMT(name));
    pdl_lsp_item_add(
        c,
        &(lsp_item){.label = pdl_buf_str(&text), .detail = type, .kind = ITEM_FIELD, .order = '0'});
    pdl_buf_fini(&text);
}

static void add_arguments(lsp_completer *c, pdl_str before) {
    pdl_buf chain = PDL_BUF;
    open_call call = find_call(c, before);
    pdl_lsp_chain_before(call.callee, &chain);
    pdl_str rest = pdl_buf_str(&chain);
    uint32_t region = pdl_lsp_index_region(c->d->index, (uint32_t)c->off);
    lsp_thing t;
    bool known = rest.n && pdl_lsp_follow(c->s, c->d, region, &rest, &t) && !rest.n;
    const lsp_sym *sym = known ? pdl_lsp_thing_sym(c->s, &t) : NULL;
    const lsp_index *x = sym && sym->body ? pdl_lsp_doc_index(c->s, t.doc) : NULL;
    const lsp_region *body = x ? &x->regions.p[sym->body] : NULL;
    for (size_t i = call.n_by_place; body && i < body->n_params; i++) {
        const lsp_sym *p = &x->syms.p[body->param + i];
        if (!gives(call.before, p->name) && !gives(call.after, p->name))
            add_param(c, p->name, p->type);
    }
    pdl_buf_fini(&chain);
}

static const char *const predefined[] = {"pdl_context", "pdl_usage", "stdlib",
                                         "pdl_model_default_parameters", "pdl_args"};

static const char *const words[] = {"and", "or",   "not",  "in",    "is",
                                    "if",  "else", "true", "false", "none"};

bool pdl_lsp_is_predefined(pdl_str name) { return PDL_STR_IN(name, predefined); }

bool pdl_lsp_is_operator(pdl_str name) { return PDL_STR_IN(name, words); }

static void complete_operand(lsp_completer *c, pdl_str before) {
    add_arguments(c, before);
    add_variables(c);
    add_table(c, GLOBALS, ITEM_FUNCTION, '3');
    for (size_t i = 0; i < sizeof predefined / sizeof *predefined; i++)
        pdl_lsp_item_add(c, &(lsp_item){.label = pdl_str_of(predefined[i]),
                                        .detail = PDL_STR("every program has it"),
                                        .kind = ITEM_VARIABLE,
                                        .order = '4'});
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        pdl_lsp_item_add(
            c, &(lsp_item){.label = pdl_str_of(words[i]), .kind = ITEM_KEYWORD, .order = '5'});
}

/* --- the text before the word ----------------------------------------------------------------- */

static bool ends_with_word(pdl_str s, const char *word) {
    pdl_str w = pdl_str_of(word);
    return pdl_str_ends(s, w) && (s.n == w.n || !pdl_lsp_is_word(s.p[s.n - w.n - 1]));
}

/* Returns the beginning of the brackets that end just before `to`; returns `to` when no bracket
 * ends there. */
static size_t bracket_start(pdl_str s, size_t to) {
    int depth = 0;
    for (size_t i = to; i-- > 0;) {
        if (s.p[i] == ']') depth++;
        if (s.p[i] == '[' && --depth == 0) return i;
    }
    return to;
}

void pdl_lsp_chain_before(pdl_str s, pdl_buf *out) {
    size_t from = s.n;
    while (from > 0) {
        char ch = s.p[from - 1];
        size_t open = ch == ']' ? bracket_start(s, from) : from;
        if (open == from && ch != '.' && !pdl_lsp_is_word(ch)) break;
        from = open < from ? open : from - 1;
    }
    bool is_name = from == 0 || !pdl_byte_in(s.p[from - 1], PDL_STR(")]}\"'"));
    for (size_t i = from; is_name && i < s.n; i++) {
        size_t end = i;
        if (s.p[i] != '[') {
            pdl_buf_putc(out, s.p[i]);
            continue;
        }
        while (end < s.n && s.p[end] != ']') end++;
        pdl_str key = pdl_str_trim(pdl_str_sub(s, i + 1, end));
        bool quoted = key.n > 2 && (key.p[0] == '\'' || key.p[0] == '"');
        pdl_buf_putc(out, '.');
        pdl_buf_put(out, quoted ? pdl_str_sub(key, 1, key.n - 1) : PDL_STR("[]"));
        i = end;
    }
}

/* Returns the position of the bracket when s ends with `x[` and a quote: the user is typing the
 * key. The scalar around the quote may require an escape. Returns PDL_NOT_FOUND for any other s. */
static size_t key_bracket(pdl_str s) {
    static const char *const quotes[] = {"\\\"", "\"", "''", "'"};
    for (size_t i = 0; i < sizeof quotes / sizeof *quotes; i++) {
        pdl_str quote = pdl_str_of(quotes[i]);
        if (!pdl_str_ends(s, quote)) continue;
        bool is_key = ends_with_bracket(pdl_str_sub(s, 0, s.n - quote.n));
        return is_key ? s.n - quote.n - 1 : PDL_NOT_FOUND;
    }
    return PDL_NOT_FOUND;
}

void pdl_lsp_complete_expr(lsp_completer *c, pdl_str prefix) {
    size_t typed = c->off - c->from;
    pdl_str before = pdl_str_trim(pdl_str_sub(prefix, 0, prefix.n > typed ? prefix.n - typed : 0));
    if (!pdl_lsp_doc_load(c->s, c->d)) return;
    size_t bracket = key_bracket(before);
    if (pdl_str_ends(before, PDL_STR("|"))) {
        add_table(c, FILTERS, ITEM_FUNCTION, '1');
    } else if (ends_with_word(before, "is") || ends_with_word(before, "is not")) {
        add_table(c, TESTS, ITEM_FUNCTION, '1');
    } else if (pdl_str_ends(before, PDL_STR(".")) || bracket != PDL_NOT_FOUND) {
        pdl_buf chain = PDL_BUF;
        bool is_key = bracket != PDL_NOT_FOUND;
        pdl_lsp_chain_before(pdl_str_sub(before, 0, is_key ? bracket : before.n - 1), &chain);
        complete_member(c, pdl_buf_str(&chain), is_key);
        pdl_buf_fini(&chain);
    } else {
        complete_operand(c, before);
    }
}

void pdl_lsp_complete_statement(lsp_completer *c, pdl_str prefix) {
    static const char *const tags[] = {"if",      "elif",    "else",   "endif",     "for",
                                       "endfor",  "set",     "endset", "macro",     "endmacro",
                                       "call",    "endcall", "filter", "endfilter", "with",
                                       "endwith", "raw",     "endraw"};
    size_t typed = c->off - c->from;
    pdl_str before = pdl_str_trim(pdl_str_sub(prefix, 0, prefix.n > typed ? prefix.n - typed : 0));
    if (before.n && !pdl_str_is(before, "-")) {
        pdl_lsp_complete_expr(c, prefix);
        return;
    }
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++)
        pdl_lsp_item_add(
            c, &(lsp_item){.label = pdl_str_of(tags[i]), .kind = ITEM_KEYWORD, .order = '1'});
}

/* --- documentation ---------------------------------------------------------------------------- */

static void document_field(const pdl_field *all, size_t n, int row, pdl_buf *out) {
    if (row < 0 || (size_t)row >= n) return;
    pdl_lsp_document_field(&all[row], out);
}

void pdl_lsp_document_item(pdl_lsp *s, pdl_str table, int row, pdl_str label, pdl_buf *out) {
    size_t n;
    (void)s;
    if (pdl_str_is(table, "field")) {
        const pdl_field *all = pdl_fields(&n);
        document_field(all, n, row, out);
    } else if (pdl_str_is(table, "common")) {
        const pdl_field *all = pdl_common_fields(&n);
        document_field(all, n, row, out);
    } else if (pdl_str_is(table, "provider")) {
        size_t slash = pdl_str_find(label, PDL_STR("/"), 0);
        pdl_model_describe(pdl_str_sub(label, 0, slash == PDL_NOT_FOUND ? label.n : slash), out);
    } else if (pdl_str_starts(table, PDL_STR("native"))) {
        for (size_t i = 0; i < PDL_NATIVE_TABLES; i++) {
            pdl_native_table t = pdl_native_table_at(i);
            char name[16];
            snprintf(name, sizeof name, "native%zu", i);
            if (!pdl_str_is(table, name) || row < 0 || (size_t)row >= t.n) continue;
            pdl_lsp_document_native(t.title, &t.rows[row], out);
        }
    }
}
