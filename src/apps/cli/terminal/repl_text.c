/* repl_text.c -- decides where an entry ends, makes its program, and completes words; see repl.h.
 *
 * A line that looks like text is a whole entry. An entry that begins a mapping or a list continues
 * until an empty line, like a compound statement in Python's interactive session. The first
 * characters of an entry decide how it ends. So the user never waits for an answer while the
 * session waits for another line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/repl.h"
#include "lang/block.h"
#include "lang/fields.h"
#include "lang/schema.h"
#include "value/json_write.h"

#include "base/banned.h"

static bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static bool begins_mapping(pdl_str s) {
    size_t i = 0;
    while (i < s.n && is_word(s.p[i])) i++;
    return i && i < s.n && s.p[i] == ':' &&
           (i + 1 == s.n || s.p[i + 1] == ' ' || s.p[i + 1] == '\n');
}

static bool begins_list(pdl_str s) {
    return s.n && s.p[0] == '-' && (s.n == 1 || s.p[1] == ' ' || s.p[1] == '\n');
}

static bool begins_flow(pdl_str s) { return s.n && (s.p[0] == '{' || s.p[0] == '['); }

/* Returns true when all brackets are closed. Brackets in quoted texts do not count. */
static bool is_closed(pdl_str s) {
    size_t depth = 0;
    char quote = 0;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        if (quote) {
            if (c == '\\' && quote == '"') i++;
            if (c == quote) quote = 0;
        } else if (c == '"' || c == '\'') {
            quote = c;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && depth) {
            depth--;
        }
    }
    return depth == 0 && !quote;
}

bool pdl_repl_is_whole(pdl_str entry, bool is_empty) {
    if (is_empty) return true;
    if (begins_flow(entry)) return is_closed(entry);
    return !begins_mapping(entry) && !begins_list(entry);
}

void pdl_repl_put_program(pdl_str entry, const char *model, pdl_buf *out) {
    if (begins_mapping(entry) || begins_list(entry) || begins_flow(entry)) {
        pdl_buf_put(out, entry);
        return;
    }
    pdl_str line = pdl_str_trim(entry);
    if (!model) {
        pdl_json_quote(line, 0, out);
    } else {
        PDL_PUT(out, "lastOf:\n- ");
        pdl_json_quote(line, 0, out);
        PDL_PUT(out, "\n- model: ");
        pdl_json_quote(pdl_str_of(model), 0, out);
    }
    PDL_PUT(out, "\n");
}

void pdl_repl_put_item(const char *program, pdl_buf *out) {
    pdl_str rest = pdl_str_of(program);
    const char *indent = "- ";
    /* a program that is a list yields its last result; as an item of `text`, it needs `lastOf` */
    if (begins_list(rest)) {
        PDL_PUT(out, "- lastOf:\n");
        indent = "  ";
    }
    while (rest.n) {
        size_t end = pdl_str_find(rest, PDL_STR("\n"), 0);
        pdl_str line = pdl_str_sub(rest, 0, end);
        pdl_buf_putf(out, "%s%.*s\n", line.n || *indent == '-' ? indent : "", PDL_FMT(line));
        indent = "  ";
        rest = end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(rest, end + 1, rest.n);
    }
}

/* --- completion ------------------------------------------------------------------------------- */

typedef struct filter {
    pdl_str typed;
    void (*put)(void *to, pdl_str word);
    void *to;
    const char *end; /* text that is appended to a completed word */
} filter;

static void put_if(void *user, pdl_str word) {
    const filter *f = user;
    pdl_buf b = PDL_BUF;
    if (!pdl_str_starts(word, f->typed)) return;
    pdl_buf_putf(&b, "%.*s%s", PDL_FMT(word), f->end);
    f->put(f->to, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void each_variable(const repl *r, filter *f) {
    size_t i = 0;
    pdl_value *key = NULL, *item = NULL;
    while (r->inputs && pdl_value_next(r->inputs, &i, &key, &item)) {
        size_t n;
        const char *name = pdl_value_get_text(key, &n);
        if (name) put_if(f, (pdl_str){name, n});
    }
}

/* Visits each key of blocks once. A field of several kinds of blocks has several rows
 * in the table. */
static void each_key(filter *f) {
    size_t n, n_common;
    const pdl_field *rows = pdl_fields(&n), *common = pdl_common_fields(&n_common);
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (strcmp(rows[k].key, rows[i].key) != 0) k++;
        if (k == i) put_if(f, pdl_str_of(rows[i].key));
    }
    for (size_t i = 0; i < n_common; i++) put_if(f, pdl_str_of(common[i].key));
}

void pdl_repl_complete(void *user, pdl_str before, size_t *n_typed,
                       void (*put)(void *to, pdl_str word), void *to) {
    const repl *r = user;
    size_t from = before.n, hole = pdl_str_rfind(before, PDL_STR("${")),
           close = pdl_str_rfind(before, PDL_STR("}"));
    while (from && is_word(before.p[from - 1])) from--;
    filter f = {.typed = pdl_str_sub(before, from, before.n), .put = put, .to = to, .end = ""};
    pdl_str lead = pdl_str_trim(pdl_str_sub(before, 0, from));
    bool in_hole = hole != PDL_NOT_FOUND && (close == PDL_NOT_FOUND || close < hole);
    *n_typed = f.typed.n;
    if (in_hole && pdl_str_ends(lead, PDL_STR("|"))) {
        pdl_each_filter_name(put_if, &f);
    } else if (in_hole) {
        each_variable(r, &f);
    } else if (pdl_str_is(lead, ":")) {
        pdl_repl_each_command(put_if, &f);
    } else if (!lead.n || pdl_str_ends(lead, PDL_STR("-")) || pdl_str_ends(lead, PDL_STR("{")) ||
               pdl_str_ends(lead, PDL_STR(","))) {
        f.end = ": ";
        each_key(&f);
    }
}
