/* option_errors.c -- finds the option that an error is about.
 *
 * Files, limits and profiles are not read by the code of the command line. The code that reads them
 * is also used by embedders, and knows no options. The messages of this code name the value
 * ("[Errno 2] No such file or directory: 'p.json'"), and a user who gave five options wants to know
 * which one. So one function finds the option by its value. It does so only for errors before a
 * program runs, because later the same words may come from the program.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/word_list.h"
#include "cli/cli.h"

#include "base/banned.h"

enum { LONGEST_SHOWN = 60 };

static bool is_part(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           pdl_byte_in(c, PDL_STR("_./-"));
}

static bool has_quoted(pdl_str text, pdl_str value) {
    pdl_buf quoted = PDL_BUF;
    pdl_buf_putf(&quoted, "'%.*s'", PDL_FMT(value));
    bool found = pdl_str_find(text, pdl_buf_str(&quoted), 0) != PDL_NOT_FOUND;
    pdl_buf_fini(&quoted);
    return found;
}

/* Returns true when the value is a whole word of the text, and not a part of a longer path. */
static bool has_word(pdl_str text, pdl_str value) {
    for (size_t at = value.n ? pdl_str_find(text, value, 0) : PDL_NOT_FOUND; at != PDL_NOT_FOUND;
         at = pdl_str_find(text, value, at + 1)) {
        size_t end = at + value.n;
        if ((!at || !is_part(text.p[at - 1])) && (end == text.n || !is_part(text.p[end])))
            return true;
    }
    return false;
}

/* Returns true when the text contains the NAME of a value NAME=LEVEL. */
static bool has_name(pdl_str text, pdl_str value) {
    size_t equals = pdl_str_find(value, PDL_STR("="), 0);
    return equals != PDL_NOT_FOUND && equals && has_quoted(text, pdl_str_sub(value, 0, equals));
}

static bool is_named(pdl_str text, const char *name) {
    pdl_buf flag = PDL_BUF;
    pdl_buf_putf(&flag, "--%s", name);
    bool found = pdl_str_find(text, pdl_buf_str(&flag), 0) != PDL_NOT_FOUND;
    pdl_buf_fini(&flag);
    return found;
}

/* Returns true for options whose value may occur in a later error. Numbers and words of a list are
 * checked when the command line is read. Names of columns and runs are left out, because any
 * message may contain such words. */
static bool is_read_later(const option *o) {
    static const char *const others[] = {"N", "K", "MS", "NAME", "COLUMN", "COLUMN=VARIABLE"};
    return o->value && !PDL_STR_IN(pdl_str_of(o->value), others) && !o->choices &&
           o->id != OPT_eval;
}

static const option *option_of_error(const arguments *a, pdl_str text,
                                     bool (*has)(pdl_str text, pdl_str value)) {
    for (size_t i = 0; i < a->values.n; i++) {
        const option *o = pdl_cli_option_of(a->values.p[i].id);
        pdl_str value = a->values.p[i].value;
        if (!value.p || !is_read_later(o)) continue;
        if (pdl_str_starts(value, PDL_STR("@"))) value = pdl_str_sub(value, 1, value.n);
        if (has(text, value)) return o;
    }
    return NULL;
}

void pdl_cli_print_option_error(const arguments *a, const pdl_err *err, const pdl_session *s) {
    if (!err->loc.src && pdl_cli_is_cut(err)) return;
    pdl_str text = pdl_str_of(err->msg);
    const option *o = option_of_error(a, text, has_quoted);
    if (!o) o = option_of_error(a, text, has_word);
    if (!o) o = option_of_error(a, text, has_name);
    bool is_option =
        pdl_str_starts(text, PDL_STR("--")) || pdl_str_starts(text, PDL_STR("argument --"));
    bool is_said = is_option || (o && is_named(text, o->name));
    if (err->loc.src || (!is_option && (!o || is_said))) {
        pdl_cli_print_error(err, s);
        return;
    }
    pdl_err named = {0};
    pdl_str none = PDL_STR("[Errno 2] No such file or directory: ");
    if (is_said)
        pdl_err_set(&named, err->kind, (pdl_loc){0}, "pdl: error: %s", err->msg);
    else if (pdl_str_starts(text, none) && (o->id == OPT_input || o->id == OPT_sandbox))
        pdl_err_set(&named, err->kind, (pdl_loc){0},
                    "pdl: error: argument --%s: there is no file %s", o->name, err->msg + none.n);
    else
        pdl_err_set(&named, err->kind, (pdl_loc){0}, "pdl: error: argument --%s: %s", o->name,
                    err->msg);
    named.preformatted = err->preformatted;
    if (err->hint) pdl_err_hint(&named, "%s", err->hint);
    pdl_cli_print_error(&named, s);
    pdl_err_fini(&named);
}

int pdl_cli_fail_option(const arguments *a, pdl_err *err, const pdl_session *s) {
    pdl_cli_print_option_error(a, err, s);
    int code = err->kind == PDL_E_usage ? 2 : 1;
    pdl_err_fini(err);
    return code;
}

/* Returns the last value of the option NAME for a message "argument --NAME: ..."; NULL when the
 * option has no value, or when the message already contains the value. */
static const pdl_str *value_to_show(const arguments *a, pdl_str message) {
    const pdl_str start = PDL_STR("argument --");
    size_t colon = pdl_str_find(message, PDL_STR(":"), 0);
    if (!pdl_str_starts(message, start) || colon == PDL_NOT_FOUND) return NULL;
    pdl_str name = pdl_str_sub(message, start.n, colon);
    for (size_t i = a->values.n; i-- > 0;) {
        const pdl_str *value = &a->values.p[i].value;
        if (!pdl_str_is(name, pdl_cli_option_of(a->values.p[i].id)->name)) continue;
        bool is_file = pdl_str_starts(*value, PDL_STR("@"));
        pdl_str file = pdl_str_sub(*value, is_file, value->n);
        return value->p && !has_quoted(message, file) ? value : NULL;
    }
    return NULL;
}

int pdl_cli_refuse(const arguments *a, const char *message) {
    pdl_buf b = PDL_BUF;
    bool is_run = a->command->run == pdl_cli_cmd_run;
    const pdl_str *value = value_to_show(a, pdl_str_of(message));
    pdl_buf_putf(&b, "pdl: error: %s", message);
    if (value) {
        pdl_str shown = pdl_utf8_cut(*value, LONGEST_SHOWN);
        bool says_what = pdl_str_find(pdl_str_of(message), PDL_STR("expected"), 0) != PDL_NOT_FOUND;
        pdl_buf_putf(&b, "%s '%.*s%s'", says_what ? ", not" : ":", PDL_FMT(shown),
                     shown.n < value->n ? "..." : "");
    }
    pdl_buf_putf(&b, "\ntry 'pdl %s%s--help'\n", is_run ? "" : a->command->name, is_run ? "" : " ");
    pdl_cli_put_stderr(pdl_buf_str(&b), NULL);
    pdl_buf_fini(&b);
    return 2;
}
