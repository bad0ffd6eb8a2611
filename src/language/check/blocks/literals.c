/* literals.c -- code that is written in the program and not read by Python: commands and programs
 * of PDL. A fault in a command or program makes every execution fail, so the check can find it.
 *
 * Computed code is unknown: the text is complete only when it has no expression.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/shlex.h"
#include "check/checker.h"
#include "lang/load.h"

#include "base/banned.h"

/* --- commands --------------------------------------------------------------------------------- */

static bool count_word(void *user, pdl_str word) {
    size_t *n = user;
    (void)word;
    ++*n;
    return true;
}

/* Checks a command. t is the text of `code`; NULL when it is computed or absent. */
void pdl_checker_command(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t) {
    pdl_err err = {0};
    size_t n = 0;
    const pdl_tree *args = b->args;
    bool none =
        args &&
        ((args->kind == PDL_TREE_LIST && !args->n) ||
         (args->kind == PDL_TREE_CONST && pdl_is_list(args->value) && !pdl_list_len(args->value)));
    pdl_loc loc = t ? b->code->loc : pdl_field_loc(&b->head, "args"),
            mark = pdl_checker_value_loc(&b->head, t ? "code" : "args");
    bool ok = !t || pdl_shlex_split(pdl_str_get(t->value), count_word, &n, &err);
    if (!ok)
        pdl_checker_diag(c, PDL_RULE_command, loc, mark, "the command cannot be read: %s", err.msg);
    else if (t ? !n : none)
        pdl_checker_diag(c, PDL_RULE_command, loc, mark, "the command has no word");
    pdl_err_fini(&err);
}

/* --- programs --------------------------------------------------------------------------------- */

static void report_at(pdl_checker *c, pdl_rule_id rule, const pdl_b_code *b, const pdl_tree *t,
                      const pdl_diag *d, const char *before) {
    pdl_loc mark = pdl_node_text_loc(t->node, d->mark.start, d->mark.end);
    pdl_diag *own = pdl_checker_diag(c, rule, rule == PDL_RULE_pdl_code ? b->code->loc : mark, mark,
                                     "%s%.*s", before, PDL_FMT(d->text));
    if (d->hint.n) pdl_checker_hint(c, own, "%.*s", PDL_FMT(d->hint));
}

/* Reports old forms in the text of a program. Its variables and effects depend on where it runs, so
 * nothing else is reported. */
static void report_old_forms(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t,
                             pdl_program *inner) {
    enum { MAX_INSIDE = 4 };
    size_t n;
    pdl_check_options bare = *c->opt;
    pdl_modules none = {0};
    bare.no_names = true;
    bare.open = NULL;
    bare.input = NULL;
    bare.models = NULL;
    pdl_checker in = {.p = inner,
                      .opt = &bare,
                      .modules = &none,
                      .scope = {.arena = inner->arena},
                      .inside = c->inside + 1};
    if (c->inside >= MAX_INSIDE || c->opt->no_lint) return;
    pdl_checker_predefine(&in);
    pdl_checker_block(&in, inner->main, (pdl_str){0});
    assert(pdl_checker_ok(&in) && !in.caught);
    pdl_scope_state_fini(&in.scope);
    pdl_vec_fini(&in.spine);
    pdl_checker_forget_prompts(&in);
    pdl_checker_modules_fini(&none, inner);
    for (size_t i = 0; i < inner->diags.n; i++) {
        const pdl_rule *r = pdl_rule_find(pdl_str_of(inner->diags.p[i].code));
        if (pdl_rule_is_old_form(r))
            report_at(c, (pdl_rule_id)(r - pdl_rules(&n)), b, t, &inner->diags.p[i], "");
    }
}

/* Reports the first error of a program whose text is t, at its place in the text. Without an error,
 * reports the old forms in the text. */
void pdl_checker_program(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t) {
    bool ok;
    if (c->quiet) return;
    pdl_program *inner = pdl_program_new();
    pdl_program_load(inner, PDL_STR("code"), pdl_str_get(t->value), &ok);
    for (size_t i = 0; !ok && i < inner->diags.n; i++) {
        const pdl_diag *d = &inner->diags.p[i];
        if (!d->at_load || d->severity != PDL_DIAG_ERROR || d->follows) continue;
        report_at(c, PDL_RULE_pdl_code, b, t, d, "PDL: ");
        break;
    }
    if (ok) report_old_forms(c, b, t, inner);
    pdl_program_drop(inner);
}
