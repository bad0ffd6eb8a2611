/* code_blocks.c -- code blocks and calls of models, as far as they can be checked without running
 * them. Python code is compiled by a Python process of the caller (pdl_check_options.python), and
 * templates are read here. Models are looked up in the tables of providers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "check/infer.h"
#include "lang/walk.h"

#include "base/banned.h"

/* --- code ------------------------------------------------------------------------------------- */

/* Returns the text of the code when it is written in the program. Returns NULL when the code is
 * computed. */
static const pdl_tree *literal_code(const pdl_b_code *b) {
    if (!b->code || b->code->kind != PDL_BLOCK_scalar) return NULL;
    const pdl_tree *t = PDL_AS(scalar, b->code)->value;
    return t->kind == PDL_TREE_CONST && pdl_is_str(t->value) ? t : NULL;
}

static void use_name(pdl_checker *c, pdl_str name) {
    pdl_binding *b = pdl_scope_binding(&c->scope, name);
    if (b) b->is_used = true;
}

static bool is_word(char ch) {
    return ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') ||
           (ch >= 'A' && ch <= 'Z') || (unsigned char)ch >= 0x80;
}

void pdl_checker_use_words(pdl_checker *c, pdl_str text) {
    for (size_t i = 0; i < text.n;) {
        size_t from = i;
        while (i < text.n && is_word(text.p[i])) i++;
        if (i > from) use_name(c, pdl_str_sub(text, from, i));
        i += i == from;
    }
}

/* --- `scope`: the variables of the code ------------------------------------------------------- */

/* Returns true for an object whose fields are all known. */
static bool is_complete(const pdl_ty *scope) {
    return scope->kinds == PDL_TY_DICT && (scope->closed || scope->has_value);
}

static bool has_variable(pdl_checker *c, const pdl_ty *scope, pdl_str name) {
    bool known;
    if (!scope) return pdl_checker_has(c, name);
    return !is_complete(scope) ||
           pdl_ty_field_of(pdl_checker_arena(c), scope, name, &known) != NULL;
}

/* Defines the names that a template reads, with the types that `scope` gives them. The template
 * does not see the program's variables. */
static void define_variables(pdl_checker *c, const pdl_ty *scope, const pdl_expr *e) {
    for (uint32_t i = 0; i < e->n_free; i++) {
        bool known;
        const pdl_ty *t = pdl_ty_field_of(pdl_checker_arena(c), scope, e->free_names[i], &known);
        if (t || !is_complete(scope))
            pdl_scope_define(&c->scope, PDL_DEF_VARIABLE, e->free_names[i], t ? t : &pdl_ty_any,
                             (pdl_loc){0})
                ->is_used = true;
        else
            pdl_scope_forget(&c->scope, e->free_names[i], false);
    }
}

/* Returns the type of `scope`. Returns NULL when the code sees the variables of the program. */
static const pdl_ty *scope_of(pdl_checker *c, const pdl_b_code *b) {
    bool quiet = c->quiet;
    if (!b->scope) return NULL;
    c->quiet = true;
    const pdl_ty *t = pdl_checker_tree(c, b->scope);
    c->quiet = quiet;
    return t;
}

/* --- templates -------------------------------------------------------------------------------- */

/* Reads the options. Returns false when they are unknown or wrong. */
static bool read_options(pdl_checker *c, const pdl_b_code *b, pdl_xoptions *out) {
    bool quiet = c->quiet;
    pdl_err err = {0};
    if (!b->parameters) return true;
    c->quiet = true;
    const pdl_ty *t = pdl_checker_tree(c, b->parameters);
    c->quiet = quiet;
    if (!t->has_value || !pdl_is_dict(t->value)) return false;
    bool ok = pdl_expr_options(pdl_checker_arena(c), t->value, out, &err);
    if (!ok)
        pdl_checker_diag(c, PDL_RULE_jinja_syntax, pdl_field_loc(&b->head, "parameters"),
                         pdl_checker_value_loc(&b->head, "parameters"), "Jinja Code error: %s",
                         err.msg);
    pdl_err_fini(&err);
    return ok;
}

/* Reads the literal text t of a Jinja block as the run will. When the text or its options are
 * unknown, any name counts as read. */
static void check_jinja(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t) {
    pdl_xoptions options = {0};
    if (!read_options(c, b, &options) || !t) {
        c->reads_all = true;
        return;
    }
    const pdl_expr *e = pdl_expr_read_template(pdl_checker_arena(c), pdl_str_get(t->value),
                                               &options, &pdl_known_xnames);
    for (uint32_t i = 0; i < e->n_free; i++) use_name(c, e->free_names[i]);
    if (e->form != PDL_X_BROKEN) {
        const pdl_ty *scope = scope_of(c, b);
        size_t mark = pdl_scope_mark(&c->scope);
        if (scope) define_variables(c, scope, e);
        pdl_checker_template(c, e, t->node, b->code->loc);
        pdl_scope_back(&c->scope, mark);
        return;
    }
    pdl_checker_use_words(c, e->source);
    pdl_diag *d =
        pdl_checker_diag(c, pdl_infer_fault_rule(e->fault, PDL_RULE_jinja_syntax), b->code->loc,
                         pdl_node_text_loc(t->node, e->fault->start, e->fault->end),
                         "Jinja Code error: %s: %.*s", e->fault->cls, PDL_FMT(e->fault->msg));
    if (e->fault->hint.n) pdl_checker_hint(c, d, "%.*s", PDL_FMT(e->fault->hint));
}

/* --- Python ----------------------------------------------------------------------------------- */

static void report_broken(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t,
                          const pdl_python_report *r) {
    const pdl_loc at = pdl_node_text_loc(t->node, (uint32_t)r->start, (uint32_t)r->end);
    pdl_str message = pdl_buf_str(&r->message);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_python_syntax, b->code->loc, at, "Python: %.*s",
                                   PDL_FMT(message));
    if (pdl_str_starts(message, PDL_STR("'return' outside function")))
        pdl_checker_hint(c, d, "write `result = ...`: it is the value of the block");
}

/* Reports a name that nothing defines. The rule is a warning, because the name may be read in a
 * branch or a function that never runs. */
static void report_name(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t, const pdl_ty *scope,
                        pdl_vref row) {
    pdl_str name = pdl_str_get(pdl_list_at(row, 0));
    uint32_t from = (uint32_t)pdl_int_of(pdl_list_at(row, 1)),
             to = (uint32_t)pdl_int_of(pdl_list_at(row, 2));
    if (has_variable(c, scope, name)) return;
    pdl_loc at = pdl_node_text_loc(t->node, from, to);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_name_undefined, b->code->loc, at,
                                   "Python: '%.*s' is undefined", PDL_FMT(name));
    if (!scope) pdl_checker_suggest(c, d, at, name);
}

static void check_python(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t) {
    if (t)
        pdl_checker_use_words(c, pdl_str_get(t->value));
    else
        c->reads_all = true;
    if (!t || c->quiet || !c->opt->python) return;
    pdl_python_report r = {.message = PDL_BUF, .names = pdl_absent()};
    c->opt->python(c->opt->python_user, pdl_str_get(t->value), &r);
    const pdl_ty *scope = scope_of(c, b);
    bool names = !c->opt->no_names && !c->open_ended && !c->outer_unknown;
    if (r.message.len) report_broken(c, b, t, &r);
    for (size_t i = 0; names && pdl_is_list(r.names) && i < pdl_list_len(r.names); i++)
        report_name(c, b, t, scope, pdl_list_at(r.names, i));
    if (names && r.no_result && !has_variable(c, scope, PDL_STR("result"))) {
        pdl_diag *d =
            pdl_checker_diag(c, PDL_RULE_python_result, b->code->loc, pdl_node_loc(t->node),
                             "the code never sets `result`, which is the value of the block");
        pdl_checker_hint(c, d, "write `result = ...`");
    }
    if (!pdl_is_absent(r.names)) pdl_drop(r.names);
    pdl_buf_fini(&r.message);
}

const pdl_ty *pdl_checker_code(pdl_checker *c, const pdl_b_code *b) {
    pdl_str lang = b->lang.s;
    const pdl_tree *t = literal_code(b);
    if (pdl_str_eq_nocase(lang, PDL_STR("jinja"))) {
        check_jinja(c, b, t);
        return &pdl_ty_str;
    }
    if (b->args || pdl_str_eq_nocase(lang, PDL_STR("command"))) {
        pdl_checker_command(c, b, t);
        return &pdl_ty_str;
    }
    c->scope.epoch++; /* lists and objects may have been changed in place */
    c->may_exit = true;
    if (!lang.p || pdl_str_eq_nocase(lang, PDL_STR("python"))) {
        check_python(c, b, t);
        return &pdl_ty_any;
    }
    c->reads_all = true;
    if (t && pdl_str_eq_nocase(lang, PDL_STR("pdl"))) pdl_checker_program(c, b, t);
    return pdl_str_eq_nocase(lang, PDL_STR("pdl")) ? &pdl_ty_any : &pdl_ty_str;
}

/* --- models ----------------------------------------------------------------------------------- */

/* Returns the name of the model when it is known. */
static pdl_str known_text(pdl_checker *c, const pdl_tree *t) {
    bool quiet = c->quiet;
    c->quiet = true;
    const pdl_ty *type = pdl_checker_tree(c, t);
    c->quiet = quiet;
    return type->has_value && pdl_is_str(type->value) ? pdl_str_get(type->value) : (pdl_str){0};
}

/* Returns true for the name of a field of blocks. No service has a parameter of this name. */
static bool is_block_field(pdl_str key) {
    static const char *const fields[] = {"fallback", "retry", "parser", "spec",
                                         "def",      "defs",  "budget", "contribute"};
    return PDL_STR_IN(key, fields);
}

static void report_parameter(pdl_checker *c, const pdl_node *key, pdl_str model, pdl_str near) {
    pdl_diag *d =
        pdl_checker_diag(c, PDL_RULE_parameter_unknown, pdl_node_loc(key), pdl_node_loc(key),
                         "'%.*s' is no parameter of %.*s", PDL_FMT(key->text), PDL_FMT(model));
    if (is_block_field(key->text))
        pdl_checker_hint(c, d, "`%.*s` is a field of the block: write it beside `parameters`",
                         PDL_FMT(key->text));
    if (!near.n || is_block_field(key->text)) return;
    pdl_checker_hint(c, d, "did you mean '%.*s'?", PDL_FMT(near));
    if (d) pdl_program_edit(c->p, d, pdl_node_loc(key), near);
}

/* Checks the values of parameters, as far as they are known. */
static void check_values(pdl_checker *c, const pdl_tree *t, const pdl_node *n, pdl_str model) {
    bool quiet = c->quiet, entries = t->kind == PDL_TREE_MAP && t->n == n->n;
    for (uint32_t i = 0; i < n->n; i++) {
        pdl_str name = n->pairs[i].key->text;
        const pdl_ty *type = &pdl_ty_any;
        if (n->pairs[i].key->kind != PDL_NODE_SCALAR) continue;
        c->quiet = true;
        if (entries) type = pdl_checker_tree(c, t->items[i]);
        c->quiet = quiet;
        if (t->kind == PDL_TREE_CONST && !pdl_is_absent(pdl_dict_gets(t->value, name)))
            type = pdl_ty_of_value(pdl_checker_arena(c), pdl_dict_gets(t->value, name));
        if (pdl_checker_sent(c, name, entries ? t->items[i] : NULL, type, n->pairs[i].value,
                             pdl_node_loc(n->pairs[i].value)))
            pdl_checker_parameter(c, n->pairs[i].value, model, name, type);
    }
}

/* Checks the parameters that are written in the block. */
static void check_parameters(pdl_checker *c, const pdl_b_model *b, pdl_str model) {
    const pdl_node *n = b->parameters ? b->parameters->node : NULL;
    if (n && b->parameters->kind == PDL_TREE_CONST && pdl_is_str(b->parameters->value)) {
        pdl_diag *d =
            pdl_checker_diag(c, PDL_RULE_parameter_value, pdl_field_loc(&b->head, "parameters"),
                             pdl_node_loc(n), "`parameters` is an object, and this is a text");
        pdl_checker_hint(c, d, "write parameters: {NAME: VALUE}");
    }
    if (!n || n->kind != PDL_NODE_MAP) return;
    for (uint32_t i = 0; i < n->n; i++) {
        const pdl_node *key = n->pairs[i].key;
        pdl_str near = {0};
        if (key->kind != PDL_NODE_SCALAR) continue;
        if (is_block_field(key->text) ||
            !c->opt->models->parameter(c->opt->models->user, model, key->text, &near))
            report_parameter(c, key, model, near);
    }
    check_values(c, b->parameters, n, model);
}

static void report_nameless(pdl_checker *c, const pdl_b_model *b) {
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_model_unknown, pdl_field_loc(&b->head, "model"),
                                   pdl_checker_value_loc(&b->head, "model"),
                                   "the name of the model is empty");
    pdl_checker_hint(c, d, "a model is named PROVIDER/MODEL");
}

void pdl_checker_model(pdl_checker *c, const pdl_b_model *b) {
    const pdl_check_models *m = c->opt->models;
    pdl_str model = m && !c->quiet ? known_text(c, b->model) : (pdl_str){0};
    if (model.p && !pdl_str_trim(model).n) report_nameless(c, b);
    if (!pdl_str_trim(model).n || (b->platform.s.p && !pdl_str_is(b->platform.s, "litellm")))
        return;
    pdl_loc loc = pdl_field_loc(&b->head, "model"), mark = pdl_checker_value_loc(&b->head, "model");
    pdl_buf text = PDL_BUF, near = PDL_BUF;
    const pdl_node *parameters = b->parameters ? b->parameters->node : NULL;
    if (!m->provider(m->user, model, parameters, &text, &near)) {
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_model_unknown, loc, mark, "%.*s",
                                       PDL_FMT(pdl_buf_str(&text)));
        if (pdl_str_starts(model, PDL_STR("$")))
            pdl_checker_hint(c, d,
                             "no text takes a variable of the environment: start with -d "
                             "model=\"%.*s\", and write model: ${ model }",
                             PDL_FMT(model));
        else if (near.len)
            pdl_checker_hint(c, d, "did you mean '%s'?", pdl_buf_z(&near));
        else if (!pdl_byte_in('/', model))
            pdl_checker_hint(
                c, d, "a model is named PROVIDER/MODEL; a model of ollama is ollama_chat/%.*s",
                PDL_FMT(model));
    } else {
        check_parameters(c, b, model);
        if (m->key && !m->key(m->user, model, parameters, &text))
            pdl_checker_diag(c, PDL_RULE_key_missing, loc, mark, "%.*s",
                             PDL_FMT(pdl_buf_str(&text)));
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&near);
}
