/* read_stmt.c -- see read.h. Template statements: one function for each tag, found in a table.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "expr/read.h"

#include "base/banned.h"

/* --- messages about tags ---------------------------------------------------------------------- */

static void put_looking_for(pdl_buf *b, const pdl_open_ends *ends) {
    for (size_t i = 0; ends->names[i]; i++)
        pdl_buf_putf(b, "%s'%s'", i ? " or " : "", ends->names[i]);
}

static bool is_expected(const pdl_open_ends *ends, pdl_str name) {
    for (; ends; ends = ends->outer)
        for (size_t i = 0; ends->names[i]; i++)
            if (pdl_str_is(name, ends->names[i])) return true;
    return false;
}

/* Reports an unknown tag where `ends` are expected. When name.p is NULL, reports the end of the
 * text. */
static void *fail_tag(pdl_reader *r, pdl_str name, const pdl_open_ends *ends) {
    pdl_buf b = PDL_BUF;
    if (name.p)
        pdl_buf_putf(&b, "Encountered unknown tag '%.*s'.", PDL_FMT(name));
    else
        PDL_PUT(&b, "Unexpected end of template.");
    if (ends) {
        if (name.p && is_expected(ends, name)) {
            PDL_PUT(
                &b,
                " You probably made a nesting mistake. Jinja is expecting this tag, but currently "
                "looking for ");
            put_looking_for(&b, ends);
        } else {
            PDL_PUT(&b, " Jinja was looking for the following tags: ");
            put_looking_for(&b, ends);
        }
        pdl_buf_putc(&b, '.');
    }
    if (r->tags)
        pdl_buf_putf(&b, " The innermost block that needs to be closed is '%.*s'.",
                     PDL_FMT(r->tags->name));
    pdl_read_fail(r, "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return NULL;
}

/* --- bodies ----------------------------------------------------------------------------------- */

static const pdl_xnode *read_statement(pdl_reader *r);

static const pdl_xnode *read_text(pdl_reader *r) {
    pdl_xnode *n = pdl_read_node(r, PDL_X_TEXT, r->t.start);
    n->u.text = r->t.text;
    pdl_read_advance(r);
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_output(pdl_reader *r) {
    uint32_t start = r->t.start;
    size_t mark = r->n_items;
    pdl_read_advance(r);
    const pdl_xnode *e = pdl_read_tuple(r, true, false);
    if (!e || !pdl_read_expect(r, PDL_TK_VAR_END)) return NULL;
    pdl_read_push(r, e);
    pdl_xnode *n = pdl_read_node(r, PDL_X_OUTPUT, start);
    n->u.list = pdl_read_take(r, mark);
    return pdl_read_close(r, n);
}

static bool at_end_tag(const pdl_reader *r, const pdl_open_ends *ends) {
    for (size_t i = 0; ends && ends->names[i]; i++)
        if (pdl_read_is_word(r, ends->names[i])) return true;
    return false;
}

/* Reads statements up to an end tag or the end of the text. After an end tag, its name is the
 * current token. */
static const pdl_xnode *read_seq(pdl_reader *r, const pdl_open_ends *ends) {
    size_t mark = r->n_items;
    uint32_t start = r->t.start;
    while (r->t.kind != PDL_TK_EOF) {
        const pdl_xnode *n = NULL;
        if (r->t.kind == PDL_TK_DATA) {
            n = read_text(r);
        } else if (r->t.kind == PDL_TK_VAR_BEGIN) {
            n = read_output(r);
        } else if (r->t.kind == PDL_TK_BLOCK_BEGIN) {
            pdl_read_advance(r);
            if (at_end_tag(r, ends)) break;
            n = read_statement(r);
            if (n && !pdl_read_expect(r, PDL_TK_BLOCK_END)) return NULL;
        }
        if (!n) return NULL;
        pdl_read_push(r, n);
    }
    pdl_xnode *seq = pdl_read_node(r, PDL_X_SEQ, start);
    seq->u.list = pdl_read_take(r, mark);
    return pdl_read_close(r, seq);
}

const pdl_xnode *pdl_read_template(pdl_reader *r) { return read_seq(r, NULL); }

/* Reads the rest of a statement after the head of its tag: the end of the tag, the body and an end
 * tag. The end tag is skipped when `drop` is set. */
static const pdl_xnode *read_body(pdl_reader *r, const char *const *names, bool drop) {
    pdl_open_ends ends = {r->ends, names};
    pdl_read_skip(r, PDL_TK_COLON);
    if (!pdl_read_expect(r, PDL_TK_BLOCK_END) || !pdl_read_deeper(r)) return NULL;
    r->ends = &ends;
    const pdl_xnode *seq = read_seq(r, &ends);
    r->ends = ends.outer;
    r->depth--;
    if (!seq) return NULL;
    if (r->t.kind == PDL_TK_EOF) return fail_tag(r, (pdl_str){0}, &ends);
    if (drop) pdl_read_advance(r);
    return seq;
}

/* Works as read_body, in a new scope. */
static const pdl_xnode *read_scope(pdl_reader *r, const char *const *names, bool drop) {
    size_t mark = pdl_names_open(&r->names);
    const pdl_xnode *seq = read_body(r, names, drop);
    pdl_names_close(&r->names, mark);
    return seq;
}

/* --- names ------------------------------------------------------------------------------------ */

static void set_target(pdl_reader *r, const pdl_xnode *target) {
    if (target->kind == PDL_X_NAME) {
        pdl_names_set(&r->names, target->u.name);
        if (pdl_str_is(target->u.name, "loop")) r->suspects++;
    } else if (target->kind == PDL_X_TUPLE) {
        for (uint32_t i = 0; i < target->u.list.n; i++) set_target(r, target->u.list.p[i]);
    }
}

static bool read_plain_name(pdl_reader *r, pdl_str *out) {
    pdl_token t = r->t;
    if (!pdl_read_expect(r, PDL_TK_NAME)) return false;
    if (t.kw >= PDL_KW_TRUE) {
        pdl_read_fail(r, "can't assign to 'name'");
        return false;
    }
    *out = t.text;
    return true;
}

/* --- statements: each is called with its name as the current token ---------------------------- */

static const pdl_xnode *read_set(pdl_reader *r) {
    static const char *const ends[] = {"endset", NULL};
    pdl_xnode *n = pdl_read_node(r, PDL_X_SET, r->t.start);
    pdl_read_advance(r);
    const pdl_xnode *target = pdl_read_target(r, true);
    if (!target) return NULL;
    n->u.set.target = target;
    if (pdl_read_skip(r, PDL_TK_ASSIGN)) {
        if (!(n->u.set.value = pdl_read_tuple(r, true, false))) return NULL;
    } else {
        n->kind = PDL_X_SETBLOCK;
        n->u.set.filter = pdl_read_filters(r, NULL, false);
        if (r->fail.msg.p || !(n->u.set.body = read_scope(r, ends, true))) return NULL;
    }
    set_target(r, target);
    return pdl_read_close(r, n);
}

static bool read_for_parts(pdl_reader *r, pdl_xnode *n) {
    static const char *const ends[] = {"endfor", "else", NULL}, *const last[] = {"endfor", NULL};
    if (pdl_read_skip_word(r, "if") && !(n->u.loop.test = pdl_read_expression(r))) return false;
    n->u.loop.recursive = pdl_read_skip_word(r, "recursive");
    r->names.n_sets += n->u.loop.recursive;
    if (!(n->u.loop.body = read_body(r, ends, false))) return false;
    bool has_else = !pdl_read_is_word(r, "endfor");
    pdl_read_advance(r);
    return !has_else || (n->u.loop.otherwise = read_scope(r, last, true));
}

/* maximum number of variables in a nesting level of a closed loop; their numbers have 16 bits */
enum { FEW_TARGETS = 16 };

static const pdl_xnode *read_for(pdl_reader *r) {
    pdl_xnode *n = pdl_read_node(r, PDL_X_FOR, r->t.start);
    pdl_read_advance(r);
    n->u.loop.target = pdl_read_target(r, false);
    if (!n->u.loop.target || !pdl_read_expect_word(r, "in")) return NULL;
    if (!(n->u.loop.over = pdl_read_tuple(r, false, false))) return NULL;
    size_t mark = pdl_names_open(&r->names);
    uint32_t sets = r->names.n_sets;
    set_target(r, n->u.loop.target);
    if (r->names.n_sets - sets <= FEW_TARGETS) r->names.n_sets = sets;
    bool ok = read_for_parts(r, n);
    n->u.loop.closed = r->names.n_sets == sets;
    pdl_names_close(&r->names, mark);
    return ok ? pdl_read_close(r, n) : NULL;
}

static const pdl_xnode *read_if(pdl_reader *r) {
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif",
                                                                                        NULL};
    pdl_xnode *root = NULL, *before = NULL;
    for (bool more = true; more;) {
        pdl_xnode *n = pdl_read_node(r, PDL_X_IF, r->t.start);
        pdl_read_advance(r);
        if (!(n->u.cond.test = pdl_read_tuple(r, false, false))) return NULL;
        if (!(n->u.cond.yes = read_scope(r, ends, false))) return NULL;
        if (before)
            before->u.cond.no = n;
        else
            root = n;
        before = n;
        more = pdl_read_is_word(r, "elif");
        if (more) continue;
        bool has_else = pdl_read_is_word(r, "else");
        pdl_read_advance(r);
        if (has_else && !(n->u.cond.no = read_scope(r, last, true))) return NULL;
    }
    for (pdl_xnode *n = root;; n = (pdl_xnode *)n->u.cond.no) {
        pdl_read_close(r, n);
        if (n == before) return root;
    }
}

static const pdl_xnode *read_with(pdl_reader *r) {
    static const char *const ends[] = {"endwith", NULL};
    pdl_xnode *n = pdl_read_node(r, PDL_X_WITH, r->t.start);
    size_t first = r->n_items;
    pdl_read_advance(r);
    while (r->t.kind != PDL_TK_BLOCK_END) {
        if (r->n_items > first && !pdl_read_expect(r, PDL_TK_COMMA)) return NULL;
        const pdl_xnode *target = pdl_read_target(r, false);
        if (!target || !pdl_read_expect(r, PDL_TK_ASSIGN)) return NULL;
        const pdl_xnode *value = pdl_read_expression(r);
        if (!value) return NULL;
        pdl_read_push(r, target)->other = value;
    }
    size_t count = r->n_items - first;
    const pdl_xnode **values = count ? pdl_arena_new_n(r->arena, const pdl_xnode *, count) : NULL;
    for (size_t i = 0; i < count; i++) values[i] = r->items[first + i].other;
    n->u.with.n = (uint32_t)count;
    n->u.with.values = values;
    n->u.with.targets = pdl_read_take(r, first).p;
    size_t mark = pdl_names_open(&r->names);
    for (size_t i = 0; i < count; i++) {
        const pdl_xnode *t = n->u.with.targets[i];
        uint32_t suspects = r->suspects;
        set_target(r, t);
        r->suspects = suspects; /* setting `loop` in a `with` is not suspect */
    }
    n->u.with.body = read_body(r, ends, true);
    pdl_names_close(&r->names, mark);
    return n->u.with.body ? pdl_read_close(r, n) : NULL;
}

static const pdl_xnode *read_autoescape(pdl_reader *r) {
    static const char *const ends[] = {"endautoescape", NULL};
    pdl_xnode *n = pdl_read_node(r, PDL_X_AUTOESCAPE, r->t.start);
    pdl_read_advance(r);
    if (!(n->u.set.value = pdl_read_expression(r)) || !(n->u.set.body = read_scope(r, ends, true)))
        return NULL;
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_filter_block(pdl_reader *r) {
    static const char *const ends[] = {"endfilter", NULL};
    pdl_xnode *n = pdl_read_node(r, PDL_X_FILTERBLOCK, r->t.start);
    pdl_read_advance(r);
    if (!(n->u.set.filter = pdl_read_filters(r, NULL, true)) ||
        !(n->u.set.body = read_scope(r, ends, true)))
        return NULL;
    return pdl_read_close(r, n);
}

static const pdl_xnode *read_print(pdl_reader *r) {
    pdl_xnode *n = pdl_read_node(r, PDL_X_OUTPUT, r->t.start);
    size_t mark = r->n_items;
    pdl_read_advance(r);
    while (r->t.kind != PDL_TK_BLOCK_END) {
        if (r->n_items > mark && !pdl_read_expect(r, PDL_TK_COMMA)) return NULL;
        const pdl_xnode *e = pdl_read_expression(r);
        if (!e) return NULL;
        pdl_read_push(r, e);
    }
    n->u.list = pdl_read_take(r, mark);
    return pdl_read_close(r, n);
}

/* --- macros ----------------------------------------------------------------------------------- */

/* Reads (a, b=1): parameters and defaults of a macro or a call block. */
static bool read_signature(pdl_reader *r, pdl_xnode *n) {
    size_t mark = r->n_items;
    uint32_t n_defaults = 0;
    if (!pdl_read_expect(r, PDL_TK_LPAREN)) return false;
    while (r->t.kind != PDL_TK_RPAREN) {
        pdl_str name;
        const pdl_xnode *dflt = NULL;
        if (r->n_items > mark && !pdl_read_expect(r, PDL_TK_COMMA)) return false;
        if (!read_plain_name(r, &name)) return false;
        if (pdl_read_skip(r, PDL_TK_ASSIGN)) {
            if (!(dflt = pdl_read_expression(r))) return false;
            n_defaults++;
        } else if (n_defaults) {
            pdl_read_fail(r, "non-default argument follows default argument");
            return false;
        }
        pdl_read_push(r, dflt)->name = name;
    }
    pdl_read_advance(r);
    uint32_t count = (uint32_t)(r->n_items - mark);
    n->u.macro.n_params = count;
    n->u.macro.n_defaults = n_defaults;
    n->u.macro.params = count ? pdl_arena_new_n(r->arena, pdl_str, count) : NULL;
    n->u.macro.defaults =
        n_defaults ? pdl_arena_new_n(r->arena, const pdl_xnode *, n_defaults) : NULL;
    for (uint32_t i = 0; i < count; i++) n->u.macro.params[i] = r->items[mark + i].name;
    for (uint32_t i = 0; i < n_defaults; i++)
        n->u.macro.defaults[i] = r->items[r->n_items - n_defaults + i].node;
    r->n_items = mark;
    return true;
}

static void check_params(pdl_reader *r, const pdl_xnode *n) {
    pdl_map seen = {0};
    for (uint32_t i = 0; i < n->u.macro.n_params; i++)
        if (pdl_map_put(&seen, n->u.macro.params[i], &seen))
            pdl_xfail_set(&r->late, r->arena, "SyntaxError", (pdl_xspan){r->t.start, r->t.end},
                          "duplicate argument '%.*s' in function definition",
                          PDL_FMT(n->u.macro.params[i]));
    pdl_map_fini(&seen);
}

static bool read_macro_body(pdl_reader *r, pdl_xnode *n, const char *const *ends) {
    size_t mark = pdl_names_open(&r->names);
    bool own_varargs = false, own_kwargs = false, own_caller = false;
    for (uint32_t i = 0; i < n->u.macro.n_params; i++) {
        pdl_str p = n->u.macro.params[i];
        pdl_names_set(&r->names, p);
        own_varargs = own_varargs || pdl_str_is(p, "varargs");
        own_kwargs = own_kwargs || pdl_str_is(p, "kwargs");
        own_caller = own_caller || pdl_str_is(p, "caller");
    }
    check_params(r, n);
    pdl_macro_use use = {r->names.macro, 0, 0};
    r->names.macro = &use;
    n->u.macro.body = read_body(r, ends, true);
    r->names.macro = use.outer;
    pdl_names_close(&r->names, mark);
    n->u.macro.uses_caller = use.reads & PDL_USES_CALLER;
    n->u.macro.uses_varargs = (use.reads & PDL_USES_VARARGS) && !own_varargs;
    n->u.macro.uses_kwargs = (use.reads & PDL_USES_KWARGS) && !own_kwargs;
    if (own_caller && n->u.macro.uses_caller) r->suspects++;
    return n->u.macro.body;
}

static const pdl_xnode *read_macro(pdl_reader *r) {
    static const char *const ends[] = {"endmacro", NULL};
    pdl_xnode *n = pdl_read_node(r, PDL_X_MACRO, r->t.start);
    pdl_read_advance(r);
    if (!read_plain_name(r, &n->u.macro.name) || !read_signature(r, n)) return NULL;
    pdl_names_set(&r->names, n->u.macro.name);
    return read_macro_body(r, n, ends) ? pdl_read_close(r, n) : NULL;
}

static const pdl_xnode *read_call_block(pdl_reader *r) {
    static const char *const ends[] = {"endcall", NULL};
    pdl_xnode *n = pdl_read_node(r, PDL_X_CALLBLOCK, r->t.start);
    pdl_read_advance(r);
    if (r->t.kind == PDL_TK_LPAREN && !read_signature(r, n)) return NULL;
    if (!(n->u.macro.call = pdl_read_expression(r))) return NULL;
    if (n->u.macro.call->kind != PDL_X_CALL) return pdl_read_fail(r, "expected call");
    r->names.n_sets++;
    return read_macro_body(r, n, ends) ? pdl_read_close(r, n) : NULL;
}

/* --- blocks and other templates --------------------------------------------------------------- */

static bool is_blank_text(const pdl_xnode *seq) {
    for (uint32_t i = 0; i < seq->u.list.n; i++) {
        const pdl_xnode *n = seq->u.list.p[i];
        if (n->kind != PDL_X_TEXT || pdl_str_trim(n->u.text).n) return false;
    }
    return true;
}

static const pdl_xnode *fault(pdl_reader *r, uint32_t start, pdl_str text, const char *cls,
                              const pdl_xnode *value) {
    pdl_xnode *n = pdl_read_node(r, PDL_X_RAISE, start);
    n->u.fault.text = text;
    n->u.fault.cls = cls;
    n->u.fault.value = value;
    return pdl_read_close(r, n);
}

static bool read_block_body(pdl_reader *r, pdl_xnode *n) {
    static const char *const ends[] = {"endblock", NULL};
    pdl_macro_use *macro = r->names.macro;
    uint32_t outer = pdl_names_enter_block(&r->names);
    r->names.macro = NULL;
    n->u.macro.body = read_scope(r, ends, true);
    r->names.macro = macro;
    pdl_names_leave_block(&r->names, outer);
    return n->u.macro.body;
}

static const pdl_xnode *read_block(pdl_reader *r) {
    pdl_xnode *n = pdl_read_node(r, PDL_X_BLOCK, r->t.start);
    pdl_read_advance(r);
    n->u.macro.name = r->t.text;
    if (!pdl_read_expect(r, PDL_TK_NAME)) return NULL;
    n->u.macro.scoped = pdl_read_skip_word(r, "scoped");
    n->u.macro.required = pdl_read_skip_word(r, "required");
    if (r->t.kind == PDL_TK_SUB)
        return pdl_read_fail(
            r,
            "Block names in Jinja have to be valid Python identifiers and may not contain hyphens, "
            "use an underscore instead.");
    if (r->n_blocks++) r->suspects++;
    r->names.n_sets++;
    if (!read_block_body(r, n)) return NULL;
    if (n->u.macro.required && !is_blank_text(n->u.macro.body))
        return pdl_read_fail(r, "Required blocks can only contain comments or whitespace");
    if (r->t.kind == PDL_TK_NAME && pdl_str_eq(r->t.text, n->u.macro.name)) pdl_read_advance(r);
    return pdl_read_close(r, n);
}

static const pdl_xnode *no_loader(pdl_reader *r, uint32_t start, const pdl_xnode *value) {
    return fault(r, start, PDL_STR("no loader for this environment specified"), "TypeError", value);
}

static const pdl_xnode *read_extends(pdl_reader *r) {
    uint32_t start = r->t.start;
    pdl_read_advance(r);
    const pdl_xnode *e = pdl_read_expression(r);
    if (!e) return NULL;
    pdl_xnode *n = (pdl_xnode *)no_loader(r, start, e);
    n->u.fault.extends = true;
    r->suspects++;
    return n;
}

/* Skips the words [with|without] context. */
static bool skip_context(pdl_reader *r) {
    if (!pdl_read_is_word(r, "with") && !pdl_read_is_word(r, "without")) return false;
    const pdl_token *next = pdl_read_look(r);
    if (next->kind != PDL_TK_NAME || !pdl_str_is(next->text, "context")) return false;
    pdl_read_advance(r);
    pdl_read_advance(r);
    return true;
}

static const pdl_xnode *read_include(pdl_reader *r) {
    uint32_t start = r->t.start;
    pdl_read_advance(r);
    const pdl_xnode *e = pdl_read_expression(r);
    if (!e) return NULL;
    if (pdl_read_is_word(r, "ignore")) {
        const pdl_token *next = pdl_read_look(r);
        if (next->kind == PDL_TK_NAME && pdl_str_is(next->text, "missing")) {
            pdl_read_advance(r);
            pdl_read_advance(r);
        }
    }
    skip_context(r);
    pdl_xnode *n = (pdl_xnode *)no_loader(r, start, e);
    n->u.fault.strict = true;
    return n;
}

static const pdl_xnode *read_import(pdl_reader *r) {
    uint32_t start = r->t.start;
    pdl_str name;
    pdl_read_advance(r);
    const pdl_xnode *e = pdl_read_expression(r);
    if (!e || !pdl_read_expect_word(r, "as") || !read_plain_name(r, &name)) return NULL;
    skip_context(r);
    pdl_names_set(&r->names, name);
    return no_loader(r, start, e);
}

static bool read_imported_name(pdl_reader *r) {
    pdl_str name;
    if (!read_plain_name(r, &name)) return false;
    if (name.p[0] == '_') {
        pdl_xfail_set(&r->fail, r->arena, "TemplateAssertionError",
                      (pdl_xspan){r->t.start, r->t.end},
                      "names starting with an underline can not be imported");
        return false;
    }
    if (pdl_read_skip_word(r, "as") && !read_plain_name(r, &name)) return false;
    pdl_names_set(&r->names, name);
    return true;
}

static const pdl_xnode *read_from(pdl_reader *r) {
    uint32_t start = r->t.start;
    pdl_read_advance(r);
    const pdl_xnode *e = pdl_read_expression(r);
    if (!e || !pdl_read_expect_word(r, "import")) return NULL;
    for (bool first = true;; first = false) {
        if (!first && !pdl_read_expect(r, PDL_TK_COMMA)) return NULL;
        if (r->t.kind != PDL_TK_NAME) {
            pdl_read_expect(r, PDL_TK_NAME);
            return NULL;
        }
        if (skip_context(r)) break;
        if (!read_imported_name(r)) return NULL;
        if (skip_context(r) || r->t.kind != PDL_TK_COMMA) break;
    }
    return no_loader(r, start, e);
}

/* --- the table -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const pdl_xnode *(*read)(pdl_reader *r);
} tags[] = {
    {"if", read_if},       {"for", read_for},         {"set", read_set},
    {"macro", read_macro}, {"call", read_call_block}, {"filter", read_filter_block},
    {"with", read_with},   {"block", read_block},     {"autoescape", read_autoescape},
    {"print", read_print}, {"include", read_include}, {"import", read_import},
    {"from", read_from},   {"extends", read_extends},
};

static const pdl_xnode *read_statement(pdl_reader *r) {
    if (r->t.kind != PDL_TK_NAME) return pdl_read_fail(r, "tag name expected");
    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++) {
        if (!pdl_str_is(r->t.text, tags[i].name)) continue;
        pdl_open_tag tag = {r->tags, r->t.text};
        r->tags = &tag;
        const pdl_xnode *n = tags[i].read(r);
        r->tags = tag.outer;
        return n;
    }
    return fail_tag(r, r->t.text, r->ends);
}
