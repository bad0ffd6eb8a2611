/* print.c -- the tree as text: every operation is in parentheses, and each statement has a line. It
 * shows how an expression was read, for listings of programs (dump_listing.c) and for tests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "expr/expr.h"
#include "value/text.h"

#include "base/banned.h"

/* Parts below this depth are printed as "...". A long chain of operators can be deeper. */
enum { DEEPEST = 600 };

typedef struct {
    pdl_buf *out;
    int depth, indent;
} printer;

static const char *const op_text[] = {
    [PDL_XOP_NONE] = "?",      [PDL_XOP_NOT] = "not ", [PDL_XOP_NEG] = "-",
    [PDL_XOP_POS] = "+",       [PDL_XOP_ADD] = "+",    [PDL_XOP_SUB] = "-",
    [PDL_XOP_MUL] = "*",       [PDL_XOP_DIV] = "/",    [PDL_XOP_FLOORDIV] = "//",
    [PDL_XOP_MOD] = "%",       [PDL_XOP_POW] = "**",   [PDL_XOP_EQ] = "==",
    [PDL_XOP_NE] = "!=",       [PDL_XOP_LT] = "<",     [PDL_XOP_LE] = "<=",
    [PDL_XOP_GT] = ">",        [PDL_XOP_GE] = ">=",    [PDL_XOP_IN] = "in",
    [PDL_XOP_NOTIN] = "not in"};

const char *pdl_xop_text(pdl_xop op) { return op_text[op]; }

static void put_node(printer *p, const pdl_xnode *n);

static void put(printer *p, const char *z) { pdl_buf_put(p->out, pdl_str_of(z)); }

static void put_list(printer *p, const pdl_xnode *const *nodes, uint32_t n, const char *between) {
    for (uint32_t i = 0; i < n; i++) {
        if (i) put(p, between);
        put_node(p, nodes[i]);
    }
}

static void put_comma(printer *p, bool *more) {
    if (*more) put(p, ", ");
    *more = true;
}

static void put_args(printer *p, const pdl_xargs *a) {
    bool more = a->n_pos > 0;
    put_list(p, a->pos, a->n_pos, ", ");
    for (uint32_t i = 0; i < a->n_kw; i++) {
        put_comma(p, &more);
        pdl_buf_putf(p->out, "%.*s=", PDL_FMT(a->kw_names[i]));
        put_node(p, a->kw[i]);
    }
    if (a->star) {
        put_comma(p, &more);
        put(p, "*");
        put_node(p, a->star);
    }
    if (a->starstar) {
        put_comma(p, &more);
        put(p, "**");
        put_node(p, a->starstar);
    }
}

static bool has_args(const pdl_xargs *a) { return a->n_pos || a->n_kw || a->star || a->starstar; }

static void put_filter(printer *p, const pdl_xnode *n) {
    put(p, "(");
    if (n->u.filter.obj) put_node(p, n->u.filter.obj);
    put(p, n->kind == PDL_X_FILTER ? " | " : n->u.filter.negated ? " is not " : " is ");
    if (n->u.filter.unknown) put(p, "?");
    pdl_buf_put(p->out, n->u.filter.name);
    if (has_args(&n->u.filter.args)) {
        put(p, "(");
        put_args(p, &n->u.filter.args);
        put(p, ")");
    }
    put(p, ")");
}

static void put_binary(printer *p, const pdl_xnode *a, const char *op, const pdl_xnode *b) {
    put(p, "(");
    put_node(p, a);
    pdl_buf_putf(p->out, " %s ", op);
    put_node(p, b);
    put(p, ")");
}

static void put_access(printer *p, const pdl_xnode *n) {
    put_node(p, n->u.access.obj);
    if (n->kind == PDL_X_ITEM) {
        put(p, "[");
        put_node(p, n->u.access.key);
        put(p, "]");
    } else {
        pdl_buf_putf(p->out, ".%.*s", PDL_FMT(n->u.access.name));
    }
}

static void put_slice(printer *p, const pdl_xnode *n) {
    if (n->u.slice.from) put_node(p, n->u.slice.from);
    put(p, ":");
    if (n->u.slice.to) put_node(p, n->u.slice.to);
    if (!n->u.slice.step) return;
    put(p, ":");
    put_node(p, n->u.slice.step);
}

static void put_compare(printer *p, const pdl_xnode *n) {
    put(p, "(");
    put_node(p, n->u.compare.first);
    for (uint32_t i = 0; i < n->u.compare.n; i++) {
        pdl_buf_putf(p->out, " %s ", op_text[n->u.compare.ops[i]]);
        put_node(p, n->u.compare.rest[i]);
    }
    put(p, ")");
}

static void put_dict(printer *p, const pdl_xnode *n) {
    put(p, "{");
    for (uint32_t i = 0; i < n->u.dict.n; i++) {
        if (i) put(p, ", ");
        put_node(p, n->u.dict.keys[i]);
        put(p, ": ");
        put_node(p, n->u.dict.vals[i]);
    }
    put(p, "}");
}

static void put_cond(printer *p, const pdl_xnode *n) {
    put(p, "(");
    put_node(p, n->u.cond.yes);
    put(p, " if ");
    put_node(p, n->u.cond.test);
    if (n->u.cond.no) {
        put(p, " else ");
        put_node(p, n->u.cond.no);
    }
    put(p, ")");
}

/* --- statements ------------------------------------------------------------------------------- */

static void put_line(printer *p) {
    pdl_buf_putc(p->out, '\n');
    for (int i = 0; i < p->indent; i++) put(p, "  ");
}

static void put_body(printer *p, const char *word, const pdl_xnode *n) {
    if (!n) return;
    if (word[0]) {
        put_line(p);
        put(p, word);
    }
    p->indent++;
    if (n->kind != PDL_X_SEQ) put_line(p);
    put_node(p, n);
    p->indent--;
}

static void put_seq(printer *p, const pdl_xnode *n) {
    for (uint32_t i = 0; i < n->u.list.n; i++) {
        put_line(p);
        put_node(p, n->u.list.p[i]);
    }
}

static void put_part(printer *p, const char *word, const pdl_xnode *n) {
    if (!n) return;
    put(p, word);
    put_node(p, n);
}

static void put_loop(printer *p, const pdl_xnode *n) {
    put_part(p, "for ", n->u.loop.target);
    put_part(p, " in ", n->u.loop.over);
    put_part(p, " if ", n->u.loop.test);
    if (n->u.loop.recursive) put(p, " recursive");
    put_body(p, "", n->u.loop.body);
    put_body(p, "else", n->u.loop.otherwise);
}

static void put_set(printer *p, const pdl_xnode *n) {
    put(p, n->kind == PDL_X_FILTERBLOCK  ? "filter"
           : n->kind == PDL_X_AUTOESCAPE ? "autoescape"
                                         : "set");
    put_part(p, " ", n->u.set.target);
    put_part(p, n->kind == PDL_X_SET ? " = " : " ", n->u.set.value);
    put_part(p, " ", n->u.set.filter);
    put_body(p, "", n->u.set.body);
}

static void put_with(printer *p, const pdl_xnode *n) {
    put(p, "with");
    for (uint32_t i = 0; i < n->u.with.n; i++) {
        put_part(p, i ? ", " : " ", n->u.with.targets[i]);
        put_part(p, " = ", n->u.with.values[i]);
    }
    put_body(p, "", n->u.with.body);
}

static void put_macro(printer *p, const pdl_xnode *n) {
    uint32_t first = n->u.macro.n_params - n->u.macro.n_defaults;
    put(p, n->kind == PDL_X_MACRO ? "macro " : n->kind == PDL_X_BLOCK ? "block " : "call");
    pdl_buf_put(p->out, n->u.macro.name);
    if (n->kind != PDL_X_BLOCK) {
        put(p, "(");
        for (uint32_t i = 0; i < n->u.macro.n_params; i++) {
            pdl_buf_putf(p->out, "%s%.*s", i ? ", " : "", PDL_FMT(n->u.macro.params[i]));
            if (i >= first) put_part(p, "=", n->u.macro.defaults[i - first]);
        }
        put(p, ")");
    }
    put_part(p, " ", n->u.macro.call);
    if (n->u.macro.uses_caller) put(p, " caller");
    if (n->u.macro.uses_varargs) put(p, " varargs");
    if (n->u.macro.uses_kwargs) put(p, " kwargs");
    if (n->u.macro.scoped) put(p, " scoped");
    if (n->u.macro.required) put(p, " required");
    put_body(p, "", n->u.macro.body);
}

static void put_const(printer *p, pdl_vref v) {
    pdl_err err = {0};
    if (!pdl_val_repr(v, p->out, &err)) put(p, "...");
    pdl_err_fini(&err);
}

static void put_enclosed(printer *p, const char *open, const pdl_xnode *n, const char *between,
                         const char *close) {
    put(p, open);
    put_list(p, n->u.list.p, n->u.list.n, between);
    put(p, close);
}

/* This function is a flat switch with a row for each kind. */
static void put_kind(printer *p, const pdl_xnode *n) {
    switch (n->kind) {
    case PDL_X_CONST: put_const(p, n->u.value); break;
    case PDL_X_NAME: pdl_buf_put(p->out, n->u.name); break;
    case PDL_X_ATTR:
    case PDL_X_ITEM:
    case PDL_X_NSREF: put_access(p, n); break;
    case PDL_X_SLICE: put_slice(p, n); break;
    case PDL_X_CALL:
        put_node(p, n->u.call.obj);
        put(p, "(");
        put_args(p, &n->u.call.args);
        put(p, ")");
        break;
    case PDL_X_FILTER:
    case PDL_X_TEST: put_filter(p, n); break;
    case PDL_X_UNARY:
        pdl_buf_putf(p->out, "(%s", op_text[n->u.op.op]);
        put_node(p, n->u.op.a);
        put(p, ")");
        break;
    case PDL_X_BINARY: put_binary(p, n->u.op.a, op_text[n->u.op.op], n->u.op.b); break;
    case PDL_X_AND: put_binary(p, n->u.op.a, "and", n->u.op.b); break;
    case PDL_X_OR: put_binary(p, n->u.op.a, "or", n->u.op.b); break;
    case PDL_X_COMPARE: put_compare(p, n); break;
    case PDL_X_CONCAT: put_enclosed(p, "(", n, " ~ ", ")"); break;
    case PDL_X_COND: put_cond(p, n); break;
    case PDL_X_LIST: put_enclosed(p, "[", n, ", ", "]"); break;
    case PDL_X_TUPLE: put_enclosed(p, "(", n, ", ", n->u.list.n == 1 ? ",)" : ")"); break;
    case PDL_X_DICT: put_dict(p, n); break;
    case PDL_X_TEXT:
        put(p, "text ");
        pdl_str_repr(n->u.text, p->out);
        break;
    case PDL_X_OUTPUT: put_enclosed(p, "print ", n, ", ", ""); break;
    case PDL_X_SEQ: put_seq(p, n); break;
    case PDL_X_IF:
        put_part(p, "if ", n->u.cond.test);
        put_body(p, "", n->u.cond.yes);
        put_body(p, "else", n->u.cond.no);
        break;
    case PDL_X_FOR: put_loop(p, n); break;
    case PDL_X_SET:
    case PDL_X_SETBLOCK:
    case PDL_X_FILTERBLOCK:
    case PDL_X_AUTOESCAPE: put_set(p, n); break;
    case PDL_X_MACRO:
    case PDL_X_CALLBLOCK:
    case PDL_X_BLOCK: put_macro(p, n); break;
    case PDL_X_WITH: put_with(p, n); break;
    case PDL_X_RAISE:
        pdl_buf_putf(p->out, "raise %s ", n->u.fault.cls);
        pdl_str_repr(n->u.fault.text, p->out);
        break;
    case PDL_X_COUNT: break;
    }
}

static void put_node(printer *p, const pdl_xnode *n) {
    if (p->depth == DEEPEST) {
        put(p, "...");
        return;
    }
    p->depth++;
    put_kind(p, n);
    p->depth--;
}

void pdl_expr_print(const pdl_expr *e, pdl_buf *out) {
    printer p = {out, 0, 1};
    switch (e->form) {
    case PDL_X_PLAIN:
        put(&p, "plain ");
        pdl_str_repr(e->source, out);
        break;
    case PDL_X_NATIVE:
        put(&p, "native ");
        put_node(&p, e->root);
        break;
    case PDL_X_TEMPLATE:
        put(&p, "template");
        put_node(&p, e->root);
        break;
    case PDL_X_BROKEN:
        pdl_buf_putf(out, "broken %s: %.*s", e->fault->cls, PDL_FMT(e->fault->msg));
        break;
    }
}
