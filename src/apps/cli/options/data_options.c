/* data_options.c -- variables from the command line: --data in its forms, --data-file, and the
 * operands that belong to the program. A word on the command line may be meant in several ways, so
 * a word that is no mapping gets a hint that shows the right form.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"
#include "cli/cli.h"
#include "io/file.h"
#include "value/type_words.h"
#include "yaml/yaml.h"

#include "base/banned.h"

enum { MAX_SHOWN = 60 }; /* maximum number of bytes of a value that a message shows */

/* Adds the variables of a mapping to *vars, in which they replace variables of the same names.
 * what: the option, for the message. */
static bool add_mapping(pdl_str text, const char *what, pdl_val *vars, pdl_err *err) {
    pdl_val v;
    uint32_t line = 0, column = 0;
    if (!pdl_yaml_read_written(text, &v, &line, &column, err)) {
        pdl_err inner = {0};
        pdl_err_move(&inner, err);
        if (line)
            pdl_err_set(err, PDL_E_syntax, (pdl_loc){0}, "%s:%u - %s (column %u)", what, line,
                        inner.msg, column);
        else
            pdl_err_set(err, PDL_E_syntax, (pdl_loc){0}, "%s: %s", what, inner.msg);
        if (inner.hint) pdl_err_hint(err, "%s", inner.hint);
        pdl_err_fini(&inner);
        return false;
    }
    if (!pdl_is_dict(v)) {
        bool is_shown =
            text.n && text.n < MAX_SHOWN && pdl_str_starts(pdl_str_of(what), PDL_STR("--"));
        pdl_err_set(err, PDL_E_type, (pdl_loc){0},
                    "%s should be a YAML mapping from names to values but is %s%s%.*s", what,
                    text.n ? pdl_type_plain(v) : "empty", is_shown ? ": " : "",
                    is_shown ? (int)text.n : 0, text.p);
        pdl_drop(v);
        return false;
    }
    *vars = pdl_dict_merge(*vars, v);
    pdl_drop(v);
    return true;
}

static bool add_file(pdl_str name, pdl_val *vars, pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    char *path = pdl_str_dup(name);
    bool ok = pdl_file_read(path, &b, err) && add_mapping(pdl_buf_str(&b), path, vars, err);
    pdl_free(path);
    pdl_buf_fini(&b);
    return ok;
}

/* --- NAME=VALUE ------------------------------------------------------------------------------- */

static bool is_name_byte(char c, size_t at) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (at && c >= '0' && c <= '9');
}

/* Returns the position of the equals sign; PDL_NOT_FOUND when the text does not have the form
 * NAME=VALUE. */
static size_t find_equals(pdl_str text) {
    size_t i = 0;
    while (i < text.n && is_name_byte(text.p[i], i)) i++;
    return i && i < text.n && text.p[i] == '=' ? i : PDL_NOT_FOUND;
}

/* Adds a variable. The value is YAML, so 1 is a number and [a, b] is a list. A value that is not
 * YAML is a text. */
static void add_pair(pdl_str name, pdl_str value, pdl_val *vars) {
    pdl_val v;
    uint32_t line, column;
    pdl_err ignored = {0};
    if (!value.n || !pdl_yaml_read_written(value, &v, &line, &column, &ignored))
        v = pdl_text(value);
    pdl_err_fini(&ignored);
    *vars = pdl_dict_puts(*vars, name, v);
}

/* Adds a hint for a word that is not a mapping: a name without its value, `a = 1` or `a:1`, or the
 * name of a file. Always returns false. */
static bool hint_form(pdl_str text, pdl_err *err) {
    size_t n = 0;
    if (err->kind != PDL_E_type || err->hint) return false;
    while (n < text.n && is_name_byte(text.p[n], n)) n++;
    pdl_str name = pdl_str_sub(text, 0, n), rest = pdl_str_trim(pdl_str_sub(text, n, text.n));
    char *path = pdl_str_dup(text);
    bool is_file = pdl_file_kind_of(path) == PDL_FILE_REGULAR;
    pdl_free(path);
    if (is_file)
        pdl_err_hint(err,
                     "%.*s is a file: write -d @%.*s for the variables in it, or put it before the "
                     "options when it is the program",
                     PDL_FMT(text), PDL_FMT(text));
    else if (n && (!rest.n || rest.p[0] == '=' || rest.p[0] == ':')) {
        rest = pdl_str_trim(pdl_str_sub(rest, 1, rest.n));
        if (!rest.n) rest = PDL_STR("VALUE");
        const char *quote = pdl_str_find(rest, PDL_STR(" "), 0) == PDL_NOT_FOUND ? "" : "'";
        pdl_err_hint(err, "write -d %s%.*s=%.*s%s", quote, PDL_FMT(name), PDL_FMT(rest), quote);
    } else
        pdl_err_hint(err, "write -d NAME=VALUE, -d @FILE or -d 'NAME: VALUE'");
    return false;
}

/* Adds variables. name: the option, for messages. */
static bool add_data(pdl_str text, const char *name, pdl_val *vars, pdl_err *err) {
    size_t equals = find_equals(text);
    if (equals != PDL_NOT_FOUND) {
        add_pair(pdl_str_sub(text, 0, equals), pdl_str_sub(text, equals + 1, text.n), vars);
        return true;
    }
    if (pdl_str_starts(text, PDL_STR("@")))
        return add_file(pdl_str_sub(text, 1, text.n), vars, err);
    return add_mapping(text, name, vars, err) || hint_form(text, err);
}

/* --- all -------------------------------------------------------------------------------------- */

/* Returns pdl_args, a list of texts. It exists in every run, so that a program can test whether it
 * has items. */
static pdl_val args_of(const arguments *a) {
    pdl_val list = pdl_list_new(a->args.n);
    for (size_t i = 0; i < a->args.n; i++) {
        pdl_buf b = PDL_BUF;
        pdl_utf8_repair(&b, a->args.p[i]);
        list = pdl_list_push(list, pdl_text_of_buf(&b));
    }
    return list;
}

const char *pdl_cli_data_giver(const arguments *a) {
    if (!a->given[OPT_data] && !a->given[OPT_variable]) return "--data-file";
    if (a->given[OPT_data_file]) return "-d or --data-file";
    return a->given[OPT_data] ? "--data" : "--variable";
}

bool pdl_cli_read_data(const arguments *a, pdl_val *vars, pdl_err *err) {
    bool ok = true;
    *vars = pdl_dict_new(0);
    if (a->command->run == pdl_cli_cmd_run || a->command->run == pdl_cli_cmd_view)
        *vars = pdl_dict_putz(*vars, "pdl_args", args_of(a));
    if (a->given[OPT_data_file]) ok = add_file(a->value[OPT_data_file], vars, err);
    for (size_t i = 0; ok && i < a->values.n; i++)
        if (a->values.p[i].id == OPT_data || a->values.p[i].id == OPT_variable)
            ok = add_data(a->values.p[i].value,
                          a->values.p[i].id == OPT_data ? "--data" : "--variable", vars, err);
    if (!ok) {
        if (err->kind == PDL_E_type || err->kind == PDL_E_syntax) err->kind = PDL_E_usage;
        pdl_drop(*vars);
        *vars = pdl_absent();
    }
    return ok;
}
