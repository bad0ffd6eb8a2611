/* literals.c -- code that is written in the program and read by something else than Python:
 * commands and programs of PDL. Both fail each time that they are executed, and could be known
 * before.
 *
 * What is computed is not known: the text is complete only when it has no expression.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
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

/* t: the text of `code`, NULL when it is computed or there is none. */
void pdl_checker_command(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t) {
    pdl_err err = {0};
    size_t n = 0;
    const pdl_tree *args = b->args;
    bool none = args && ((args->kind == PDL_TREE_LIST && !args->n) ||
                         (args->kind == PDL_TREE_CONST && pdl_is_list(args->value) &&
                          !pdl_list_len(args->value)));
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

/* The first error of a program whose text is t, at its place in the text. */
void pdl_checker_program(pdl_checker *c, const pdl_b_code *b, const pdl_tree *t) {
    bool ok;
    if (c->quiet) return;
    pdl_program *inner = pdl_program_new();
    pdl_program_load(inner, PDL_STR("code"), pdl_str_get(t->value), &ok);
    for (size_t i = 0; !ok && i < inner->diags.n; i++) {
        const pdl_diag *d = &inner->diags.p[i];
        if (!d->at_load || d->severity != PDL_DIAG_ERROR || d->follows) continue;
        pdl_loc mark = pdl_node_text_loc(t->node, d->mark.start, d->mark.end);
        pdl_diag *own = pdl_checker_diag(c, PDL_RULE_pdl_code, b->code->loc, mark, "PDL: %.*s",
                                         PDL_FMT(d->text));
        if (d->hint.n) pdl_checker_hint(c, own, "%.*s", PDL_FMT(d->hint));
        break;
    }
    pdl_program_drop(inner);
}
