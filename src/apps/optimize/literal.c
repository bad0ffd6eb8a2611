/* literal.c -- finds and replaces literals in the text of a program; see literal.h. A value is
 * written in a form that leaves the text around it unchanged: a scalar in a flow collection, or a
 * scalar before a comment, stays on its line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/literal.h"

#include <stdlib.h>
#include <string.h>

#include "base/plural.h"
#include "base/vec.h"
#include "expr/expr.h"
#include "value/json_write.h"
#include "yaml/yaml.h"

#include "base/banned.h"

/* --- places ----------------------------------------------------------------------------------- */

enum { MAX_NEAR = 64 };

static const pdl_ytree_node *node_of(const pdl_ytree *t, pdl_ytree_id id) {
    return pdl_ytree_node_of(t, id);
}

static pdl_ytree_id resolved(const pdl_ytree *t, pdl_ytree_id id) {
    const pdl_ytree_node *n = node_of(t, id);
    return n && n->kind == PDL_YTREE_ALIAS ? n->target : id;
}

/* Takes the next step of a place, and returns it without dots and brackets. A step is a name or a
 * number. */
static pdl_str next_step(pdl_str *rest) {
    size_t from = 0, to;
    while (from < rest->n && strchr(".[", rest->p[from])) from++;
    to = from;
    while (to < rest->n && !strchr(".[]", rest->p[to])) to++;
    pdl_str step = pdl_str_sub(*rest, from, to);
    while (to < rest->n && rest->p[to] == ']') to++;
    *rest = pdl_str_sub(*rest, to, rest->n);
    return step;
}

static pdl_ytree_id item_at(const pdl_ytree *t, pdl_ytree_id list, pdl_str step) {
    size_t at = 0;
    for (size_t i = 0; i < step.n; i++) {
        if (step.p[i] < '0' || step.p[i] > '9' || i > 8) return PDL_YTREE_NONE;
        at = at * 10 + (size_t)(step.p[i] - '0');
    }
    pdl_ytree_id item = step.n ? node_of(t, list)->first : PDL_YTREE_NONE;
    while (at-- && item != PDL_YTREE_NONE) item = node_of(t, item)->next;
    return item;
}

/* Returns the node that the next step of a place leads to. */
static pdl_ytree_id next_node(const pdl_ytree *t, pdl_ytree_id at, pdl_str step) {
    const pdl_ytree_node *n = node_of(t, at);
    pdl_ytree_id to = n->kind == PDL_YTREE_MAP   ? pdl_ytree_find(t, at, step)
                      : n->kind == PDL_YTREE_SEQ ? item_at(t, at, step)
                                                 : PDL_YTREE_NONE;
    return to == PDL_YTREE_NONE ? to : resolved(t, to);
}

/* Returns the key of a mapping that is most similar to a step; empty when no key is similar. */
static pdl_str nearest_key(const pdl_ytree *t, pdl_ytree_id at, pdl_str step) {
    const pdl_ytree_node *n = node_of(t, at);
    pdl_str names[MAX_NEAR];
    size_t known = 0;
    if (n->kind == PDL_YTREE_MAP)
        for (pdl_ytree_id k = n->first; k != PDL_YTREE_NONE && known < MAX_NEAR;
             k = node_of(t, node_of(t, k)->next)->next)
            names[known++] = node_of(t, k)->text;
    return pdl_str_nearest(step, names, known);
}

/* Suggests `near` in place of a wrong step. The steps after it are part of the suggestion when they
 * lead somewhere. */
static void suggest(const pdl_ytree *t, pdl_ytree_id at, pdl_str before, pdl_str near, pdl_str rest,
                    pdl_err *err) {
    pdl_ytree_id to = next_node(t, at, near);
    for (pdl_str left = rest; to != PDL_YTREE_NONE && left.n;)
        to = next_node(t, to, next_step(&left));
    if (to == PDL_YTREE_NONE) rest.n = 0;
    pdl_err_hint(err, "did you mean '%.*s%s%.*s%.*s'?", PDL_FMT(before), before.n ? "." : "",
                 PDL_FMT(near), PDL_FMT(rest));
}

/* Adds to the error what the program has in place of the wrong step: the most similar key, a
 * literal whose place is the part before the step, or the number of items. */
static void advise(const pdl_ytree *t, pdl_ytree_id at, pdl_str place, pdl_str step, pdl_str rest,
                   pdl_err *err) {
    pdl_ytree_kind kind = node_of(t, at)->kind;
    pdl_str near = nearest_key(t, at, step);
    pdl_str before = pdl_str_sub(place, 0, (size_t)(step.p - place.p));
    size_t items = 0;
    while (before.n && strchr(".[", before.p[before.n - 1])) before.n--;
    if (near.n) suggest(t, at, before, near, rest, err);
    if (!near.n && kind == PDL_YTREE_SCALAR && before.n)
        pdl_err_hint(err, "did you mean '%.*s'? a literal is there", PDL_FMT(before));
    if (kind != PDL_YTREE_SEQ) return;
    for (pdl_ytree_id i = node_of(t, at)->first; i != PDL_YTREE_NONE; i = node_of(t, i)->next)
        items++;
    pdl_err_hint(err, "that list has %zu item%s, counted from 0", items, PDL_PLURAL(items));
}

static pdl_loc loc_of(const pdl_ytree *t, const pdl_ytree_node *n) {
    return (pdl_loc){t->src, n->start, n->end};
}

static bool is_literal(const pdl_ytree_node *n) { return n->kind == PDL_YTREE_SCALAR; }

/* Returns the value of a key of a mapping; aliases are followed. */
static pdl_ytree_id under(const pdl_ytree *t, pdl_ytree_id map, const char *key) {
    const pdl_ytree_node *n = node_of(t, map);
    if (!n || n->kind != PDL_YTREE_MAP) return PDL_YTREE_NONE;
    return resolved(t, pdl_ytree_find(t, map, pdl_str_of(key)));
}

static bool is_raw(const pdl_ytree *t, pdl_ytree_id block) {
    const pdl_ytree_node *n = node_of(t, under(t, block, "raw"));
    return n && n->kind == PDL_YTREE_SCALAR && pdl_str_is(n->text, "true");
}

/* Returns true when the node is inside `data` or `parameters` of a block, which contain no blocks.
 * *raw is set when it is inside raw data. */
static bool inside_data(const pdl_ytree *t, pdl_ytree_id at, bool *raw) {
    for (pdl_ytree_id up; (up = node_of(t, at)->parent) != PDL_YTREE_NONE; at = up)
        if (under(t, up, "data") == at || under(t, up, "parameters") == at) {
            *raw = under(t, up, "data") == at && is_raw(t, up);
            return true;
        }
    return false;
}

bool pdl_literal_find(const pdl_ytree *t, pdl_str place, opt_literal *out, pdl_err *err) {
    pdl_ytree_id at = resolved(t, t->root);
    pdl_str rest = place;
    while (at != PDL_YTREE_NONE && rest.n) {
        pdl_str step = next_step(&rest);
        pdl_ytree_id to = next_node(t, at, step);
        if (to == PDL_YTREE_NONE) {
            pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the program has no place '%.*s'",
                        PDL_FMT(place));
            advise(t, at, place, step, rest, err);
            return false;
        }
        at = to;
    }
    if (at == PDL_YTREE_NONE || !is_literal(node_of(t, at)))
        return pdl_err_set(
            err, PDL_E_usage, at == PDL_YTREE_NONE ? (pdl_loc){0} : loc_of(t, node_of(t, at)),
            "the place '%.*s' has no literal: a list or a mapping is there", PDL_FMT(place));
    bool raw = false, data = inside_data(t, at, &raw);
    *out = (opt_literal){.node = at, .is_data = data, .is_raw = raw, .is_block = !data};
    return true;
}

bool pdl_literal_find_def(const pdl_ytree *t, pdl_str name, bool *there, opt_literal *out,
                          pdl_err *err) {
    pdl_ytree_id defs = under(t, resolved(t, t->root), "defs"),
                 at = defs == PDL_YTREE_NONE || node_of(t, defs)->kind != PDL_YTREE_MAP
                          ? PDL_YTREE_NONE
                          : resolved(t, pdl_ytree_find(t, defs, name));
    *there = at != PDL_YTREE_NONE;
    if (!*there) return true;
    if (is_literal(node_of(t, at))) {
        *out = (opt_literal){.node = at, .is_block = true};
        return true;
    }
    pdl_ytree_id data = under(t, at, "data"), text = under(t, at, "text");
    bool is_text = text != PDL_YTREE_NONE && is_literal(node_of(t, text));
    if (data != PDL_YTREE_NONE)
        *out = (opt_literal){.node = data, .is_data = true, .is_raw = is_raw(t, at)};
    else if (is_text)
        *out = (opt_literal){.node = text, .is_block = true};
    return data != PDL_YTREE_NONE || is_text ||
           pdl_err_set(err, PDL_E_usage, loc_of(t, node_of(t, at)),
                       "'%.*s' is defined by a block that computes it: only a literal can vary",
                       PDL_FMT(name));
}

void pdl_literal_find_node(const pdl_ytree *t, pdl_str name, bool *there, opt_literal *out) {
    pdl_ytree_id defs = under(t, resolved(t, t->root), "defs"),
                 at = defs == PDL_YTREE_NONE || node_of(t, defs)->kind != PDL_YTREE_MAP
                          ? PDL_YTREE_NONE
                          : pdl_ytree_find(t, defs, name);
    *there = at != PDL_YTREE_NONE;
    *out = (opt_literal){.node = at, .is_block = true};
}

/* A scalar that is a text is its own value. Any other node is read as a whole document. */
pdl_val pdl_literal_value(const pdl_ytree *t, const opt_literal *l) {
    const pdl_ytree_node *n = node_of(t, l->node);
    pdl_err ignored = {0};
    pdl_val v;
    if (n->kind == PDL_YTREE_SCALAR && (n->style != PDL_STYLE_PLAIN || !n->resolved))
        return pdl_text(n->text);
    pdl_buf b = PDL_BUF;
    uint32_t line, column, first = pdl_ytree_line_start(t, n->start);
    for (uint32_t i = first; i < n->start; i++) pdl_buf_putc(&b, ' ');
    pdl_buf_put(&b, pdl_str_sub(t->src->text, n->start, n->end));
    if (!pdl_yaml_read_written(pdl_buf_str(&b), &v, &line, &column, &ignored))
        v = pdl_text(n->text);
    pdl_err_fini(&ignored);
    pdl_buf_fini(&b);
    return v;
}

/* --- expressions in proposals ----------------------------------------------------------------- */

typedef struct opt_span {
    size_t from, to;
} span;
typedef PDL_VEC(span) spans;

/* Returns the end of the expression that begins at `from`; `from` itself when the expression has no
 * end. Braces and quotes inside the expression are skipped. */
static size_t end_of_expression(pdl_str s, size_t from) {
    size_t depth = 0;
    char quote = 0;
    for (size_t i = from + 2; i < s.n; i++) {
        char c = s.p[i];
        if (quote) {
            if (c == '\\')
                i++;
            else if (c == quote)
                quote = 0;
        } else if (c == '\'' || c == '"') {
            quote = c;
        } else if (c == '{') {
            depth++;
        } else if (c == '}' && depth-- == 0) {
            return i + 1;
        }
    }
    return from;
}

static void find_expressions(pdl_str s, spans *out) {
    for (size_t at = 0; (at = pdl_str_find(s, PDL_STR("${"), at)) != PDL_NOT_FOUND;) {
        size_t end = end_of_expression(s, at);
        if (end == at) return;
        *pdl_vec_push(out) = (span){at, end};
        at = end;
    }
}

/* Appends the text so that no part of it is read as an expression. */
static void put_data(pdl_str s, pdl_buf *out) {
    static const char *const openings[] = {"${", "{#", "{%%%%%PDL"};
    for (size_t i = 0; i < s.n;) {
        size_t n = 0;
        for (size_t k = 0; k < sizeof openings / sizeof *openings && !n; k++)
            if (pdl_str_starts(pdl_str_sub(s, i, s.n), pdl_str_of(openings[k]))) n = 2;
        if (n)
            pdl_buf_putf(out, "${ '%.*s' }", (int)n, s.p + i);
        else
            pdl_buf_putc(out, s.p[i]);
        i += n ? n : 1;
    }
}

/* Returns the length of the expression of `old` with which `rest` begins; 0 when it begins with
 * none. */
static size_t kept_here(pdl_str old, const spans *of, pdl_str rest, bool *seen) {
    for (size_t k = 0; k < of->n; k++) {
        pdl_str x = pdl_str_sub(old, of->p[k].from, of->p[k].to);
        if (!pdl_str_starts(rest, x)) continue;
        for (size_t j = 0; j < of->n; j++)
            if (pdl_str_eq(pdl_str_sub(old, of->p[j].from, of->p[j].to), x)) seen[j] = true;
        return x.n;
    }
    return 0;
}

bool pdl_literal_encode(pdl_str old, pdl_str proposal, pdl_buf *out, pdl_err *err) {
    spans of = {0};
    find_expressions(old, &of);
    bool *seen = PDL_NEW_N(bool, of.n + 1), ok = true;
    size_t from = 0, at = 0;
    while ((at = pdl_str_find(proposal, PDL_STR("${"), at)) != PDL_NOT_FOUND) {
        size_t n = kept_here(old, &of, pdl_str_sub(proposal, at, proposal.n), seen);
        if (n) {
            put_data(pdl_str_sub(proposal, from, at), out);
            pdl_buf_put(out, pdl_str_sub(proposal, at, at + n));
            from = at + n;
        }
        at += n ? n : 2;
    }
    put_data(pdl_str_sub(proposal, from, proposal.n), out);
    for (size_t k = 0; k < of.n && ok; k++)
        if (!seen[k])
            ok =
                pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "the text has lost the expression %.*s",
                            PDL_FMT(pdl_str_sub(old, of.p[k].from, of.p[k].to)));
    pdl_free(seen);
    pdl_vec_fini(&of);
    return ok;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* Returns true when the node is inside a flow collection. There, a scalar has one line. */
static bool in_flow(const pdl_ytree *t, pdl_ytree_id at) {
    for (pdl_ytree_id up = node_of(t, at)->parent; up != PDL_YTREE_NONE;
         up = node_of(t, up)->parent)
        if (node_of(t, up)->style == PDL_STYLE_FLOW) return true;
    return false;
}

/* Returns the rest of the line after a byte. */
static pdl_str line_after(pdl_str text, size_t at) {
    size_t end = at;
    while (end < text.n && text.p[end] != '\n') end++;
    return pdl_str_sub(text, at, end);
}

static bool is_block_scalar(const pdl_ytree_node *n) {
    return n->kind == PDL_YTREE_SCALAR &&
           (n->style == PDL_STYLE_LITERAL || n->style == PDL_STYLE_FOLDED);
}

/* Returns true for a text that can be written unchanged as a literal block scalar. */
static bool fits_block(pdl_str s) {
    if (!s.n || s.p[0] == ' ' || s.p[0] == '\n' || s.p[0] == '\t') return false;
    for (size_t i = 0; i < s.n; i++) {
        bool end = i + 1 == s.n || s.p[i + 1] == '\n';
        if ((unsigned char)s.p[i] < ' ' && s.p[i] != '\n') return false;
        if (s.p[i] == ' ' && end) return false;
        if (s.p[i] == 0x7f) return false;
    }
    return pdl_str_find(s, PDL_STR("\n\n"), s.n - 1 ? s.n - 2 : 0) == PDL_NOT_FOUND;
}

/* Returns the indentation of a node's line. For a list item it is the column of the item's text. */
static size_t indentation(const pdl_ytree *t, const pdl_ytree_node *n) {
    size_t first = pdl_ytree_line_start(t, n->start), at = first;
    pdl_str text = t->src->text;
    while (at < n->start && (text.p[at] == ' ' || (text.p[at] == '-' && text.p[at + 1] == ' ')))
        at++;
    return at - first;
}

static void put_block(pdl_str s, size_t indent, pdl_str comment, pdl_buf *out) {
    bool newline = s.p[s.n - 1] == '\n';
    pdl_buf_putf(out, "%s", newline ? "|" : "|-");
    if (comment.n) pdl_buf_putf(out, " %.*s", PDL_FMT(comment));
    for (size_t i = 0; i < s.n;) {
        pdl_str line = line_after(s, i);
        pdl_buf_putc(out, '\n');
        for (size_t k = 0; k < indent && line.n; k++) pdl_buf_putc(out, ' ');
        pdl_buf_put(out, line);
        i += line.n + 1;
    }
}

/* Appends a text on one line, plain or in quotes; the writer of YAML decides which. */
static bool put_line(pdl_str s, bool flow, pdl_buf *out, pdl_err *err) {
    pdl_val v = pdl_text(s);
    pdl_buf b = PDL_BUF;
    bool ok = flow || pdl_yaml_write(v, &b, err);
    pdl_str written = pdl_str_trim(pdl_buf_str(&b));
    if (ok && (flow || memchr(written.p ? written.p : "", '\n', written.n)))
        pdl_json_quote(s, 0, out);
    else if (ok)
        pdl_buf_put(out, written);
    pdl_buf_fini(&b);
    pdl_drop(v);
    return ok;
}

/* Returns the comment after the header of a block scalar. */
static pdl_str header_comment(const pdl_ytree *t, const pdl_ytree_node *n) {
    pdl_str line = line_after(t->src->text, n->start);
    size_t at = pdl_str_find(line, PDL_STR(" #"), 0);
    return at == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(line, at + 1, line.n);
}

static bool put_text(const pdl_ytree *t, pdl_ytree_id at, pdl_str s, pdl_buf *out, pdl_err *err) {
    const pdl_ytree_node *n = node_of(t, at);
    bool was_block = is_block_scalar(n), flow = in_flow(t, at), is_last;
    pdl_str comment = was_block ? header_comment(t, n) : (pdl_str){0};
    is_last = was_block || !pdl_str_trim(line_after(t->src->text, n->end)).n;
    if (!flow && is_last && s.n && memchr(s.p, '\n', s.n) && fits_block(s)) {
        put_block(s, indentation(t, n) + 2, comment, out);
    } else {
        if (!put_line(s, flow, out, err)) return false;
        if (comment.n) pdl_buf_putf(out, " %.*s", PDL_FMT(comment));
    }
    if (was_block && n->end > n->start && t->src->text.p[n->end - 1] == '\n')
        pdl_buf_putc(out, '\n');
    return true;
}

/* Appends a value as JSON. Only texts can contain the beginning of an expression. Such a beginning
 * is written in a form that makes it data and that needs no escapes in JSON. */
static bool put_json(pdl_vref v, bool raw, pdl_buf *out, pdl_err *err) {
    pdl_buf json = PDL_BUF;
    bool ok = pdl_json_write(v, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, &json, err);
    if (ok && raw)
        pdl_buf_put(out, pdl_buf_str(&json));
    else if (ok)
        put_data(pdl_buf_str(&json), out);
    pdl_buf_fini(&json);
    return ok;
}

static bool put_value(const pdl_ytree *t, const opt_edit *e, pdl_buf *out, pdl_err *err) {
    const pdl_ytree_node *n = node_of(t, e->literal.node);
    if (pdl_is_str(e->value)) return put_text(t, e->literal.node, pdl_str_get(e->value), out, err);
    bool wrap = e->literal.is_block && (pdl_is_list(e->value) || pdl_is_dict(e->value));
    if (wrap) PDL_PUT(out, "{data: ");
    bool ok = put_json(e->value, e->literal.is_raw, out, err);
    if (wrap) pdl_buf_putc(out, '}');
    if (is_block_scalar(n) && n->end > n->start && t->src->text.p[n->end - 1] == '\n')
        pdl_buf_putc(out, '\n');
    return ok;
}

static int by_place(const void *a, const void *b) {
    const size_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Returns the edit that begins at the byte `at`; NULL when there is none. */
static const opt_edit *edit_at(const pdl_ytree *t, const opt_edit *edits, size_t n, size_t at) {
    for (size_t i = 0; i < n; i++)
        if (node_of(t, edits[i].literal.node)->start == at) return &edits[i];
    return NULL;
}

/* Returns true for a list that is written with dashes and begins below its key. */
static bool is_list_below_key(const pdl_ytree *t, const pdl_ytree_node *n) {
    pdl_str before = pdl_str_sub(t->src->text, pdl_ytree_line_start(t, n->start), n->start);
    return n->kind == PDL_YTREE_SEQ && n->style != PDL_STYLE_FLOW && !pdl_str_trim(before).n;
}

bool pdl_literal_replace(const pdl_ytree *t, const opt_edit *edits, size_t n, pdl_buf *out,
                         pdl_err *err) {
    size_t *starts = PDL_NEW_N(size_t, n + 1), done = 0;
    for (size_t i = 0; i < n; i++) starts[i] = node_of(t, edits[i].literal.node)->start;
    qsort(starts, n, sizeof *starts, by_place);
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        const opt_edit *e = edit_at(t, edits, n, starts[i]);
        const pdl_ytree_node *node = node_of(t, e->literal.node);
        /* this value is inside another value that varies, or the same value varies twice */
        if (starts[i] < done) {
            ok = pdl_err_set(err, PDL_E_usage, loc_of(t, node), "this literal is varied twice");
            break;
        }
        pdl_buf_put(out, pdl_str_sub(t->src->text, done, starts[i]));
        if (node->start == node->end && starts[i] && !strchr(" \n", t->src->text.p[starts[i] - 1]))
            pdl_buf_putc(out, ' '); /* the program has no value after the colon */
        /* A list may be as far to the left as its key. Other values may not. */
        if (is_list_below_key(t, node)) PDL_PUT(out, "  ");
        ok = put_value(t, e, out, err);
        done = node->end;
    }
    pdl_buf_put(out, pdl_str_sub(t->src->text, done, t->src->text.n));
    pdl_free(starts);
    return ok;
}

/* Appends "NAME: VALUE" as an entry of `defs`. */
static bool put_entry(pdl_str name, pdl_vref value, bool flow, pdl_buf *out, pdl_err *err) {
    pdl_buf text = PDL_BUF;
    bool ok = true, wrap = pdl_is_list(value) || pdl_is_dict(value);
    pdl_buf_putf(out, "%.*s: %s", PDL_FMT(name), wrap ? "{data: " : "");
    if (pdl_is_str(value)) {
        put_data(pdl_str_get(value), &text);
        ok = put_line(pdl_buf_str(&text), flow, out, err);
    } else {
        ok = put_json(value, false, out, err);
    }
    if (wrap) pdl_buf_putc(out, '}');
    pdl_buf_fini(&text);
    return ok;
}

bool pdl_literal_define(const pdl_ytree *t, pdl_str name, pdl_vref value, bool *done, pdl_buf *out,
                        pdl_err *err) {
    pdl_ytree_id root = resolved(t, t->root), defs = under(t, root, "defs");
    const pdl_ytree_node *r = node_of(t, root), *d = node_of(t, defs);
    pdl_str text = t->src->text;
    *done = r && r->kind == PDL_YTREE_MAP && r->first != PDL_YTREE_NONE &&
            (!d || (d->kind == PDL_YTREE_MAP && d->first != PDL_YTREE_NONE));
    if (!*done) return true;
    const pdl_ytree_node *in = d ? d : r;
    bool flow = in->style == PDL_STYLE_FLOW;
    size_t at = node_of(t, in->first)->outer, first = pdl_ytree_line_start(t, (uint32_t)at);
    /* the key is not the first text on its line */
    if (!flow && pdl_str_trim(pdl_str_sub(text, first, at)).n) {
        *done = false;
        return true;
    }
    pdl_buf_put(out, pdl_str_sub(text, 0, flow ? at : first));
    for (size_t i = first; i < at && !flow; i++) pdl_buf_putc(out, ' ');
    if (!d) pdl_buf_putf(out, "%s", flow ? "defs: {" : "defs:\n  ");
    for (size_t i = first; i < at && !flow && !d; i++) pdl_buf_putc(out, ' ');
    bool ok = put_entry(name, value, flow, out, err);
    if (!d && flow) pdl_buf_putc(out, '}');
    pdl_buf_putf(out, "%s", flow ? ", " : "\n");
    pdl_buf_put(out, pdl_str_sub(text, flow ? at : first, text.n));
    return ok;
}
