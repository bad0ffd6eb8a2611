/* foreign_templates.c -- finds texts that contain a variable in the form of another template
 * language, {{ name }}, {name} or $name, or a statement of Jinja, {% if ... %}.
 *
 * PDL leaves all of them as they are, so a model may get "{{ name }}" unnoticed. Such texts are
 * legal, and common in JSON, LaTeX, shell scripts and prompts about templates. Therefore a name is
 * reported only when it is a variable of the program at this place, and never in code.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "check/checker.h"

#include "base/banned.h"

enum { MAX_FORMS = 3 }; /* forms that are reported for one text */

typedef struct foreign_form {
    size_t end;   /* offset after the form; 0 when no form begins here */
    pdl_str name; /* the variable, or the word of the statement */
    pdl_str expr; /* the content of a ${ } that replaces the form; empty for a statement */
} foreign_form;

static bool is_name_start(char ch) {
    return ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

static bool is_name_byte(char ch) { return is_name_start(ch) || (ch >= '0' && ch <= '9'); }

static pdl_str name_at(pdl_str s, size_t at) {
    size_t end = at;
    if (at < s.n && is_name_start(s.p[at]))
        while (end < s.n && is_name_byte(s.p[end])) end++;
    return pdl_str_sub(s, at, end);
}

/* Reads {{ name }}, {{ name.part }}, {{ name | filter }}, and {name} with one pair of braces. */
static foreign_form braces(pdl_str s, size_t at) {
    size_t open = at + 1 < s.n && s.p[at + 1] == '{' ? 2 : 1, from = at + open;
    while (open == 2 && from < s.n && s.p[from] == ' ') from++;
    pdl_str name = name_at(s, from);
    size_t to = from + name.n;
    if (!name.n || to >= s.n || !pdl_byte_in(s.p[to], PDL_STR(" .[|}"))) return (foreign_form){0};
    while (to < s.n && !pdl_byte_in(s.p[to], PDL_STR("{}\n"))) to++;
    if (to + open > s.n || s.p[to] != '}' || s.p[to + open - 1] != '}') return (foreign_form){0};
    pdl_str expr = pdl_str_trim(pdl_str_sub(s, from, to));
    if (open == 1 && pdl_str_find(expr, PDL_STR(" "), 0) != PDL_NOT_FOUND) return (foreign_form){0};
    return (foreign_form){to + open, name, expr};
}

/* Reads {% if ... %} and the other statements that texts have. */
static foreign_form statement(pdl_str s, size_t at) {
    static const char *const words[] = {"if", "for", "set", "else", "elif", "endif", "endfor"};
    size_t from = at + 2, end = pdl_str_find(s, PDL_STR("%}"), from);
    while (from < s.n && pdl_byte_in(s.p[from], PDL_STR(" -"))) from++;
    pdl_str word = name_at(s, from);
    for (size_t i = 0; end != PDL_NOT_FOUND && i < sizeof words / sizeof *words; i++)
        if (pdl_str_is(word, words[i])) return (foreign_form){end + 2, word, {0}};
    return (foreign_form){0};
}

/* Reads $name, but neither $a$ of a formula nor a price or an escaped dollar. */
static foreign_form dollar(pdl_str s, size_t at) {
    if (at && (is_name_byte(s.p[at - 1]) || pdl_byte_in(s.p[at - 1], PDL_STR("$\\"))))
        return (foreign_form){0};
    pdl_str name = name_at(s, at + 1);
    size_t to = at + 1 + name.n;
    if (!name.n || (to < s.n && s.p[to] == '$')) return (foreign_form){0};
    return (foreign_form){to, name, name};
}

/* Returns the end of the formula $a + b$ whose first dollar is at from. Returns 0 when no formula
 * ends on this line. */
static size_t formula_end(pdl_str s, size_t from) {
    for (size_t i = from + 1; i < s.n && s.p[i] != '\n'; i++)
        if (s.p[i] == '$' && !(i + 1 < s.n && (is_name_byte(s.p[i + 1]) || s.p[i + 1] == '{')))
            return i + 1;
    return 0;
}

/* Returns the end of the expression ${ } that begins at from. */
static size_t expression_end(pdl_str s, size_t from) {
    size_t open = 0, i = from;
    for (; i < s.n; i++) {
        open += s.p[i] == '{';
        if (s.p[i] == '}' && --open == 0) return i + 1;
    }
    return i;
}

/* Returns true for a variable of the program. Names that the interpreter predefines do not
 * count. */
static bool is_variable(const pdl_checker *c, pdl_str name) {
    const pdl_binding *b = pdl_scope_binding(&c->scope, name);
    return b && b->def.kind != PDL_DEF_PREDEFINED;
}

static void report(pdl_checker *c, const pdl_tree *t, pdl_str text, size_t at,
                   const foreign_form *f) {
    const pdl_node *n = t->node;
    bool placed = n && n->kind == PDL_NODE_SCALAR && pdl_str_eq(n->text, text);
    pdl_loc mark = placed ? pdl_node_text_loc(n, at, f->end) : t->loc;
    pdl_str shown = pdl_utf8_cut(pdl_str_sub(text, at, f->end), 60);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_text_variable, t->loc, mark,
                                   "`%.*s` is left in the text as it is", PDL_FMT(shown));
    pdl_str expr = pdl_utf8_cut(f->expr, 60);
    if (expr.n)
        pdl_checker_hint(c, d, "the variable is written ${ %.*s }", PDL_FMT(expr));
    else
        pdl_checker_hint(c, d, "use the blocks if and for, or code with `lang: jinja`");
    if (!d || !expr.n || !placed || n->style == PDL_STYLE_PLAIN) return;
    pdl_buf fixed = PDL_BUF;
    pdl_buf_putf(&fixed, "${ %.*s }", PDL_FMT(f->expr));
    pdl_program_edit(c->p, d, mark, pdl_buf_str(&fixed));
    pdl_buf_fini(&fixed);
}

/* Returns the form that begins at a byte. A form without a name is not reported, but skipped. */
static foreign_form form_at(const pdl_checker *c, pdl_str s, size_t at, bool *has_tag) {
    char next = at + 1 < s.n ? s.p[at + 1] : '\0';
    foreign_form f = {0};
    if (s.p[at] == '$' && next == '{') return (foreign_form){.end = expression_end(s, at + 1)};
    /* only the first statement of a text is examined and reported */
    if (s.p[at] == '{' && next == '%') {
        if (!*has_tag) f = statement(s, at);
        *has_tag = true;
        return f;
    }
    if (s.p[at] == '{') f = braces(s, at);
    if (s.p[at] == '$') f = dollar(s, at);
    if (!f.end || !is_variable(c, f.name)) return (foreign_form){.end = f.end};
    size_t end = s.p[at] == '$' ? formula_end(s, at) : 0;
    return end ? (foreign_form){.end = end} : f;
}

/* Returns the next byte that a form may begin with. */
static size_t next_form(pdl_str s, size_t i) {
    while (i < s.n && s.p[i] != '{' && s.p[i] != '$') i++;
    return i;
}

/* Reports \${ x }, since a backslash does not keep the expression from being evaluated. */
static void report_escape(pdl_checker *c, const pdl_tree *t, pdl_str text, size_t at) {
    const pdl_node *n = t->node;
    bool placed = n && n->kind == PDL_NODE_SCALAR && pdl_str_eq(n->text, text);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_text_variable, t->loc,
                                   placed ? pdl_node_text_loc(n, at, at + 3) : t->loc,
                                   "a backslash before ${ stays, and the expression is evaluated");
    pdl_checker_hint(c, d, "the text ${ is written ${ '${' }");
}

static bool is_escaped(pdl_str s, size_t at) {
    bool begins =
        at && s.p[at - 1] == '\\' && pdl_str_starts(pdl_str_sub(s, at, s.n), PDL_STR("${"));
    return begins && !(at > 1 && s.p[at - 2] == '\\');
}

static void find_forms(pdl_checker *c, const pdl_tree *t, pdl_str text) {
    size_t found = 0, i = 0;
    bool has_tag = false;
    while ((i = next_form(text, i)) < text.n && found < MAX_FORMS) {
        foreign_form f = form_at(c, text, i, &has_tag);
        if (!found && is_escaped(text, i)) {
            report_escape(c, t, text, i - 1);
            found++;
        }
        if (f.name.n) {
            report(c, t, text, i, &f);
            found++;
        }
        i = f.end ? f.end : i + 1;
    }
}

/* Reports a text that is a call of a function of the program: f(1). */
static void find_call(pdl_checker *c, const pdl_tree *t, pdl_str text) {
    pdl_str name = name_at(text, 0);
    const pdl_binding *b = name.n ? pdl_scope_binding(&c->scope, name) : NULL;
    if (!b || !b->def.type || b->def.type->kinds != PDL_TY_FUNC) return;
    if (!pdl_str_starts(pdl_str_sub(text, name.n, text.n), PDL_STR("(")) ||
        pdl_str_find(text, PDL_STR(")"), 0) + 1 != text.n)
        return;
    pdl_str shown = pdl_utf8_cut(text, 60);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_text_variable, t->loc,
                                   t->node ? pdl_node_loc(t->node) : t->loc,
                                   "`%.*s` is left in the text as it is", PDL_FMT(shown));
    pdl_checker_hint(c, d, "its value is ${ %.*s }", PDL_FMT(shown));
}

void pdl_checker_lint_forms(pdl_checker *c, const pdl_tree *t) {
    if (!t || c->quiet || c->opt->no_lint || c->in_code) return;
    if (t->kind == PDL_TREE_CONST && pdl_is_str(t->value)) {
        find_forms(c, t, pdl_str_get(t->value));
        find_call(c, t, pdl_str_get(t->value));
    }
    /* A text that is one ${ } as a whole has no text around it. */
    if (t->kind == PDL_TREE_EXPR && pdl_tree_expr(t)->form != PDL_X_NATIVE)
        find_forms(c, t, t->text->source);
}
