/* help_name.c -- pdl help NAME for a name that is no command: a rule of pdl check with its section
 * of the manual, an option with the commands that have it, a kind of error.
 *
 * The section of a rule is that of docs/manual/rules.md, which the command holds; the rest comes
 * out of the tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "cli/options.h"

#include "base/banned.h"

extern const unsigned char pdl_manual_rules[];
extern const size_t pdl_manual_rules_len;

/* Takes a line of a text, without its end. */
static pdl_str take_line(pdl_str *text) {
    size_t n = pdl_str_find(*text, PDL_STR("\n"), 0);
    if (n == PDL_NOT_FOUND) n = text->n;
    pdl_str line = pdl_str_sub(*text, 0, n);
    *text = pdl_str_sub(*text, n + 1, text->n);
    return line;
}

/* Writes a line of Markdown as plain text. */
static void put_plain(pdl_str line, bool is_code, pdl_buf *out) {
    if (is_code) PDL_PUT(out, "    ");
    for (size_t i = 0; i < line.n; i++)
        if (is_code || line.p[i] != '*') pdl_buf_putc(out, line.p[i]);
    pdl_buf_putc(out, '\n');
}

static bool put_rule(pdl_str name, pdl_buf *out) {
    pdl_str text = {(const char *)pdl_manual_rules, pdl_manual_rules_len};
    bool inside = false, is_code = false, blank = true;
    while (text.n) {
        pdl_str line = take_line(&text);
        bool is_head = !is_code && pdl_str_starts(line, PDL_STR("#"));
        if (inside && (is_head || (!is_code && pdl_str_starts(line, PDL_STR("---"))))) break;
        if (is_head && pdl_str_starts(line, PDL_STR("## ")) &&
            pdl_str_eq(pdl_str_sub(line, 3, line.n), name)) {
            inside = true;
            pdl_buf_putf(out, "%.*s, a rule of pdl check\n", PDL_FMT(name));
            blank = false;
        } else if (inside && pdl_str_starts(line, PDL_STR("```"))) {
            is_code = !is_code;
        } else if (inside && (line.n || !blank)) {
            put_plain(line, is_code, out);
            blank = !line.n;
        }
    }
    return inside;
}

static bool has_option(const command *c, opt_id id) {
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++)
        if (*o == id) return true;
    return false;
}

static void put_commands(opt_id id, pdl_buf *out) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    const char *before = "Commands: ";
    for (size_t i = 0; i < n; i++) {
        if (all[i].name[0] == '_' || !has_option(&all[i], id)) continue;
        pdl_buf_putf(out, "%s%s", before, all[i].name);
        before = ", ";
    }
    pdl_buf_putc(out, '\n');
}

/* Options of one name that mean different things have a row each. */
static bool put_option(pdl_str name, pdl_buf *out) {
    size_t begin = out->len;
    for (int id = 0; id < OPT_COUNT; id++) {
        const option *o = pdl_cli_option_of((opt_id)id);
        if (!pdl_str_is(name, o->name)) continue;
        if (out->len > begin) pdl_buf_putc(out, '\n');
        pdl_buf_putf(out, "--%s%s%s\n%s%s.\n", o->name, o->value ? " " : "",
                     o->value ? o->value : "", o->doc, option_note(o));
        if (o->choices) pdl_buf_putf(out, "Values: %s\n", o->choices);
        put_commands(o->id, out);
    }
    return out->len > begin;
}

static bool put_error(pdl_str name, pdl_buf *out) {
    static const struct {
        const char *name, *doc;
        int code;
    } kinds[] = {
#define X(id, exit_code, text) {#id, text, exit_code},
        PDL_ERR_KINDS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (!pdl_str_is(name, kinds[i].name)) continue;
        pdl_buf_putf(out, "%s, a kind of error (exit code %d)\n%s.\n", kinds[i].name,
                     kinds[i].code, kinds[i].doc);
        return true;
    }
    return false;
}

bool pdl_cli_help_name(pdl_str name, pdl_buf *out) {
    while (pdl_str_starts(name, PDL_STR("-"))) name = pdl_str_sub(name, 1, name.n);
    return name.n && (put_rule(name, out) || put_option(name, out) || put_error(name, out));
}
