/* usage.c -- usage lines and help, from the tables of options.c. No help is written by hand, so a
 * new option appears in it by its row in the table. The texts of options begin in one column, and
 * lines fit into 80 columns.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "cli/options.h"

#include "base/banned.h"

/* Appends the value of an option, in the form in which it is written after the option's name. */
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

enum { WIDTH = 80, /* columns of a terminal */ COLUMN = 26 /* where the texts of options begin */ };

static void put_blanks(size_t n, pdl_buf *out) {
    while (n--) pdl_buf_putc(out, ' ');
}

/* Continues a line that has `used` columns. The lines after it are indented. Returns the number of
 * columns of the last line, which gets no line end. All texts are ASCII. */
static size_t put_words(pdl_str text, size_t used, size_t indent, pdl_buf *out) {
    bool first = true;
    while (text.n) {
        size_t end = pdl_str_find(text, PDL_STR(" "), 0);
        pdl_str word = pdl_str_sub(text, 0, end == PDL_NOT_FOUND ? text.n : end);
        text = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(text, end + 1, text.n);
        if (!first && used + 1 + word.n > WIDTH) {
            pdl_buf_putc(out, '\n');
            put_blanks(indent, out);
            used = indent;
        } else if (!first) {
            pdl_buf_putc(out, ' ');
            used++;
        }
        pdl_buf_put(out, word);
        used += word.n;
        first = false;
    }
    return used;
}

/* Returns the column at which the second part of a line of a table begins; the indentation of the
 * line when it has one part. */
static size_t second_column(pdl_str line) {
    size_t from = 0, gap;
    while (from < line.n && line.p[from] == ' ') from++;
    gap = pdl_str_find(line, PDL_STR("  "), from);
    if (gap == PDL_NOT_FOUND) return from;
    while (gap < line.n && line.p[gap] == ' ') gap++;
    return gap;
}

/* Appends text. A long line of a table continues below its second column; the lines of a paragraph
 * are filled.
 */
static void put_text(pdl_str text, pdl_buf *out) {
    size_t used = 0; /* number of columns in the last line of the paragraph */
    while (text.n) {
        size_t end = pdl_str_find(text, PDL_STR("\n"), 0);
        pdl_str line = pdl_str_sub(text, 0, end == PDL_NOT_FOUND ? text.n : end);
        text = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(text, end + 1, text.n);
        size_t column = second_column(line);
        size_t word = pdl_str_find(line, PDL_STR(" "), 0);
        if (word == PDL_NOT_FOUND) word = line.n;
        if (used && line.n && !column && used + 1 + word <= WIDTH) {
            pdl_buf_putc(out, ' ');
            used++;
        } else {
            if (used) pdl_buf_putc(out, '\n');
            used = column;
        }
        pdl_buf_put(out, pdl_str_sub(line, 0, column));
        used = put_words(pdl_str_sub(line, column, line.n), used, column, out);
        if (!column && line.n) continue;
        pdl_buf_putc(out, '\n');
        used = 0;
    }
    if (used) pdl_buf_putc(out, '\n');
}

/* Adds one word of a usage line. When the line would be wider than a terminal, it is broken, and
 * the next line is indented by `indent`. */
static void usage_word(pdl_buf *out, size_t *line, size_t indent, pdl_buf *word) {
    pdl_str w = pdl_buf_str(word);
    if (!w.n) return;
    if (out->len - *line + 1 + w.n > WIDTH) {
        pdl_buf_putc(out, '\n');
        *line = out->len;
        put_blanks(indent, out);
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
    pdl_buf_putc(out, '\n');
    put_text(pdl_str_of(c->doc), out);
    PDL_PUT(out, "\nOptions:\n");
    for (const opt_id *o = c->options; *o != OPT_COUNT; o++) {
        const option *row = pdl_cli_option_of(*o);
        pdl_buf left = PDL_BUF, doc = PDL_BUF;
        PDL_PUT(&left, "  ");
        if (row->letter) pdl_buf_putf(&left, "-%c, ", row->letter);
        pdl_buf_putf(&left, "--%s", row->name);
        put_value(row, &left);
        pdl_buf_putf(&doc, "%s%s", row->doc, option_note(row));
        bool fits = left.len + 2 <= COLUMN;
        pdl_buf_put(out, pdl_buf_str(&left));
        if (!fits) pdl_buf_putc(out, '\n');
        put_blanks(fits ? COLUMN - left.len : COLUMN, out);
        (void)put_words(pdl_buf_str(&doc), COLUMN, COLUMN, out);
        pdl_buf_putc(out, '\n');
        pdl_buf_fini(&left);
        pdl_buf_fini(&doc);
    }
    if (!c->text) return;
    pdl_buf_putc(out, '\n');
    put_text(pdl_str_of(c->text), out);
}
