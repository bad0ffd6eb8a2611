/* usage.c -- usage lines and help, from the tables of options.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/options.h"

#include "base/banned.h"

/* The value of an option as it is written after its name. */
static void put_value(const option *o, pdl_buf *out) {
    const char *value = o->choices ? o->choices : o->value;
    if (option_needs_value(o)) pdl_buf_putf(out, " %s", value);
    if (o->kind == OPT_MAYBE) pdl_buf_putf(out, " [%s]", value);
    if (o->kind == OPT_ATTACHED) pdl_buf_putf(out, "[=%s]", value);
}

static void option_usage(const option *o, pdl_buf *out) {
    if (o->letter)
        pdl_buf_putf(out, "-%c", o->letter);
    else
        pdl_buf_putf(out, "--%s", o->name);
    put_value(o, out);
}

/* Adds one word of a usage line; a line that would be wider than a terminal is broken, the next one
 * indented to 'indent'. */
static void usage_word(pdl_buf *out, size_t *line, size_t indent, pdl_buf *word) {
    enum { WIDTH = 80 };
    pdl_str w = pdl_buf_str(word);
    if (!w.n) return;
    if (out->len - *line + 1 + w.n > WIDTH) {
        pdl_buf_putc(out, '\n');
        *line = out->len;
        for (size_t i = 0; i < indent; i++) pdl_buf_putc(out, ' ');
    } else
        pdl_buf_putc(out, ' ');
    pdl_buf_put(out, w);
    pdl_buf_clear(word);
}

static void put_usage(const command *c, pdl_buf *out) {
    size_t line = out->len;
    pdl_buf word = PDL_BUF;
    PDL_PUT(out, "usage: pdl");
    if (c->run != pdl_cli_cmd_run) pdl_buf_putf(out, " %s", c->name);
    size_t indent = out->len - line + 1;
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++) {
        PDL_PUT(&word, "[");
        option_usage(pdl_cli_option_of(*o), &word);
        PDL_PUT(&word, "]");
        usage_word(out, &line, indent, &word);
    }
    pdl_buf_putf(&word, "%s", c->operands);
    usage_word(out, &line, indent, &word);
    pdl_buf_putc(out, '\n');
    pdl_buf_fini(&word);
}

void pdl_cli_help_write(const command *c, pdl_buf *out) {
    put_usage(c, out);
    pdl_buf_putf(out, "\n%s\n\nOptions:\n", c->doc);
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++) {
        const option *row = pdl_cli_option_of(*o);
        pdl_buf left = PDL_BUF;
        if (row->letter) pdl_buf_putf(&left, "-%c, ", row->letter);
        pdl_buf_putf(&left, "--%s", row->name);
        put_value(row, &left);
        pdl_buf_putf(out, "  %-30s %s%s\n", pdl_buf_z(&left), row->doc, option_note(row));
        pdl_buf_fini(&left);
    }
    if (c->text) pdl_buf_putf(out, "\n%s", c->text);
}
