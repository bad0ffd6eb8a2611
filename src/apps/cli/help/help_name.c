/* help_name.c -- pdl help NAME, for a name that is not a command. A rule of pdl check and a message
 * are shown with their section of the manual. A field and a builtin are shown with their row, an
 * option with the commands that have it, and a kind of error with its exit code. The options,
 * fields and builtins that a message names are shown after the sections of the message.
 *
 * Sections and rows come from the pages of the manual that are inside the command; everything else
 * comes from the tables.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "cli/manual.h"
#include "cli/options.h"

#include "base/banned.h"

enum { MAX_SECTIONS = 3 }; /* when more sections fit, only their headings are shown */
enum { MAX_WORDS = 64, MIN_RUN = 4 };

/* The words of a message that a user gave. */
typedef struct given_words {
    pdl_str p[MAX_WORDS];
    size_t n;
} given_words;

/* Selects the sections of messages that are shown. When `run` is set, these are the sections whose
 * longest run of shared words has this length. Otherwise, these are the sections whose heading is
 * `name`, or in which a message has the form `form`. */
typedef struct section_filter {
    pdl_str name, form;
    const given_words *words;
    size_t run;
} section_filter;

static bool put_rule(pdl_str name, pdl_buf *out) {
    manual_walk w = {0};
    for (manual_section s; pdl_manual_next(&w, &s);) {
        if (s.is_first || !pdl_str_is(s.page, "docs/manual/rules.md") ||
            !pdl_str_eq(s.heading, name))
            continue;
        pdl_buf_putf(out, "%.*s, a rule of pdl check\n\n", PDL_FMT(name));
        pdl_manual_put(s.body, out);
        return true;
    }
    return false;
}

/* Returns a message without "FILE:LINE - " or "pdl: error:" before it. The text is absent when the
 * line is not a message. */
static pdl_str message_of(pdl_str line) {
    pdl_str prefix = PDL_STR("pdl: error: "), dash = PDL_STR(" - ");
    if (pdl_str_starts(line, prefix)) return pdl_str_sub(line, prefix.n, line.n);
    size_t at = pdl_str_find(line, dash, 0), digit = at;
    if (at == PDL_NOT_FOUND || line.p[0] == ' ') return (pdl_str){0};
    while (digit && line.p[digit - 1] >= '0' && line.p[digit - 1] <= '9') digit--;
    if (digit == at || !digit || line.p[digit - 1] != ':') return (pdl_str){0};
    return pdl_str_sub(line, at + dash.n, line.n);
}

/* Writes the part that all messages of one form share, in small letters and without quoted names
 * and numbers. */
static void put_form(pdl_str message, pdl_buf *out) {
    pdl_buf_clear(out);
    for (size_t i = 0; i < message.n; i++) {
        char c = message.p[i];
        size_t end = c == '\'' ? pdl_str_find(message, PDL_STR("'"), i + 1) : PDL_NOT_FOUND;
        if (end != PDL_NOT_FOUND) {
            PDL_PUT(out, "''");
            i = end;
        } else if (c < '0' || c > '9') {
            pdl_buf_putc(out, pdl_lower(c));
        }
    }
}

/* Returns true when the section shows a message that has this form. */
static bool says(pdl_str body, pdl_str form, pdl_buf *room) {
    while (body.n) {
        pdl_str message = message_of(pdl_manual_take_line(&body));
        if (!message.n) continue;
        put_form(message, room);
        if (pdl_str_find(pdl_buf_str(room), form, 0) != PDL_NOT_FOUND) return true;
    }
    return false;
}

static given_words words_of(pdl_str text) {
    given_words out = {.n = 0};
    while (text.n && out.n < MAX_WORDS) {
        pdl_str word = pdl_str_take(&text, PDL_STR(" "));
        if (word.n) out.p[out.n++] = word;
    }
    return out;
}

/* Returns the length of the longest run of words that a message shares with the given words. */
static size_t longest_run(pdl_str message, const given_words *given) {
    size_t runs[MAX_WORDS + 1] = {0}, best = 0;
    while (message.n) {
        pdl_str word = pdl_str_take(&message, PDL_STR(" "));
        for (size_t i = given->n; i > 0; i--) {
            runs[i] = pdl_str_eq_nocase(given->p[i - 1], word) ? runs[i - 1] + 1 : 0;
            if (runs[i] > best) best = runs[i];
        }
    }
    return best;
}

/* Returns the longest run of all messages that a section shows. */
static size_t run_in(pdl_str body, const given_words *given) {
    size_t best = 0;
    while (body.n) {
        size_t run = longest_run(message_of(pdl_manual_take_line(&body)), given);
        if (run > best) best = run;
    }
    return best;
}

static bool fits(const manual_section *s, const section_filter *w, pdl_buf *room) {
    if (w->run) return run_in(s->body, w->words) == w->run;
    if (s->is_first || !pdl_str_starts(s->page, PDL_STR("docs/manual/messages-"))) return false;
    return w->name.n ? pdl_manual_is_named(s->heading, w->name) : says(s->body, w->form, room);
}

/* Writes the sections of messages that fit. When there are many, only their headings are
 * written. */
static bool put_sections(section_filter what, pdl_buf *out) {
    manual_walk w = {0};
    pdl_buf room = PDL_BUF, texts = PDL_BUF, headings = PDL_BUF;
    size_t n = 0;
    for (manual_section s; pdl_manual_next(&w, &s);) {
        if (!fits(&s, &what, &room)) continue;
        if (n++) pdl_buf_putc(&texts, '\n');
        pdl_manual_put_plain(s.heading, &texts);
        pdl_buf_putf(&texts, " (%.*s)\n\n", PDL_FMT(s.page));
        pdl_manual_put(s.body, &texts);
        PDL_PUT(&headings, "  ");
        pdl_manual_put_plain(s.heading, &headings);
        pdl_buf_putc(&headings, '\n');
    }
    if (n > MAX_SECTIONS)
        pdl_buf_putf(out, "%zu sections have such a message (pdl docs HEADING shows one):\n", n);
    pdl_buf_put(out, pdl_buf_str(n > MAX_SECTIONS ? &headings : &texts));
    pdl_buf_fini(&room);
    pdl_buf_fini(&texts);
    pdl_buf_fini(&headings);
    return n > 0;
}

/* Writes the sections of all pages that show the message with the longest run of the same words. A
 * run ends where the message has a name that comes from the program. */
static bool put_nearest_message(pdl_str message, pdl_buf *out) {
    given_words given = words_of(message);
    size_t best = 0;
    manual_walk w = {0};
    for (manual_section s; given.n >= MIN_RUN && pdl_manual_next(&w, &s);) {
        size_t run = run_in(s.body, &given);
        if (run > best) best = run;
    }
    return best >= MIN_RUN && put_sections((section_filter){.words = &given, .run = best}, out);
}

/* Searches a message in four ways: by the heading of a section, by all its words, by the words
 * before its colon, and by a run of words. The text after the colon usually comes from the program.
 * A single word is not searched, because too many messages have it. */
static bool put_message(pdl_str name, pdl_buf *out) {
    pdl_buf form = PDL_BUF;
    pdl_str message = message_of(name);
    if (!message.n) message = name;
    put_form(message, &form);
    pdl_str all = pdl_str_trim(pdl_buf_str(&form));
    size_t colon = pdl_str_find(all, PDL_STR(":"), 0);
    pdl_str before = pdl_str_sub(all, 0, colon == PDL_NOT_FOUND ? 0 : colon);
    bool ok = put_sections((section_filter){.name = name}, out);
    if (!ok && pdl_str_find(all, PDL_STR(" "), 0) != PDL_NOT_FOUND)
        ok = put_sections((section_filter){.form = all}, out);
    if (!ok && pdl_str_find(before, PDL_STR(" "), 0) != PDL_NOT_FOUND)
        ok = put_sections((section_filter){.form = before}, out);
    if (!ok) ok = put_nearest_message(message, out);
    pdl_buf_fini(&form);
    return ok;
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

static bool is_option_named(const option *o, pdl_str name) {
    return pdl_str_is(name, o->name) || (name.n == 1 && o->letter == name.p[0]);
}

/* Writes an option. When options of one name have different meanings, each has its own row. */
static bool put_option(pdl_str name, pdl_buf *out) {
    size_t begin = out->len;
    for (int id = 0; id < OPT_COUNT; id++) {
        const option *o = pdl_cli_option_of((opt_id)id);
        if (!is_option_named(o, name)) continue;
        if (out->len) pdl_buf_putc(out, '\n');
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
        pdl_buf_putf(out, "%s, a kind of error (exit code %d)\n%s.\n", kinds[i].name, kinds[i].code,
                     kinds[i].doc);
        return true;
    }
    return false;
}

/* Takes the next cell from a row of a table. A bar inside a cell has a backslash before it. */
static pdl_str take_cell(pdl_str *row) {
    size_t n = 0;
    while (n < row->n && (row->p[n] != '|' || (n && row->p[n - 1] == '\\'))) n++;
    pdl_str cell = pdl_str_trim(pdl_str_sub(*row, 0, n));
    *row = pdl_str_sub(*row, n < row->n ? n + 1 : n, row->n);
    return cell;
}

/* Returns true when a cell, without marks, names this field, filter, test, function or method. For
 * example, stdlib.fill(text, values) has the names fill and stdlib.fill. */
static bool names(pdl_str cell, pdl_str name) {
    size_t end = pdl_str_find(cell, PDL_STR("("), 0);
    pdl_str whole = pdl_str_sub(cell, 0, end == PDL_NOT_FOUND ? cell.n : end);
    size_t dot = pdl_str_rfind(whole, PDL_STR("."));
    return pdl_str_eq(whole, name) ||
           (dot != PDL_NOT_FOUND && pdl_str_eq(pdl_str_sub(whole, dot + 1, whole.n), name));
}

/* Writes a row: the name, its owner, its description, and the example if the page has one. */
static void put_row(pdl_str cell, pdl_str of, pdl_str row, pdl_buf *out) {
    if (out->len) pdl_buf_putc(out, '\n');
    pdl_buf_putf(out, "%.*s (%s", PDL_FMT(cell), pdl_str_starts(of, PDL_STR("**")) ? "block " : "");
    pdl_manual_put_plain(of, out);
    PDL_PUT(out, ")\n");
    pdl_manual_put_plain(take_cell(&row), out);
    pdl_buf_putc(out, '\n');
    pdl_str example = take_cell(&row), result = take_cell(&row);
    if (!result.n) return;
    PDL_PUT(out, "Example: ");
    pdl_manual_put_plain(example, out);
    PDL_PUT(out, " gives ");
    pdl_manual_put_plain(result, out);
    pdl_buf_putc(out, '\n');
}

/* Writes the rows of a section that have this name. In the table of blocks, a row in bold begins
 * the fields of a block. */
static void put_rows_of(const manual_section *s, pdl_str name, pdl_buf *out) {
    pdl_str body = s->body, of = s->heading;
    pdl_buf plain = PDL_BUF;
    while (body.n) {
        pdl_str row = pdl_manual_take_line(&body);
        bool is_head = pdl_str_starts(body, PDL_STR("|---"));
        if (is_head || !pdl_str_starts(row, PDL_STR("| "))) continue;
        row = pdl_str_sub(row, 1, row.n);
        pdl_str cell = take_cell(&row);
        pdl_buf_clear(&plain);
        pdl_manual_put_plain(cell, &plain);
        if (pdl_str_starts(cell, PDL_STR("**")))
            of = cell;
        else if (names(pdl_buf_str(&plain), name))
            put_row(pdl_buf_str(&plain), of, row, out);
    }
    pdl_buf_fini(&plain);
}

/* Writes rows about fields of blocks, and about functions and filters of expressions. */
static bool put_rows(pdl_str name, pdl_buf *out) {
    size_t begin = out->len;
    manual_walk w = {0};
    for (manual_section s; pdl_manual_next(&w, &s);) {
        bool is_field =
            pdl_str_is(s.page, "docs/manual/quick-reference.md") &&
            (pdl_str_is(s.heading, "Blocks") || pdl_str_starts(s.heading, PDL_STR("Fields of ")));
        if (is_field || pdl_str_is(s.page, "docs/manual/builtins.md")) put_rows_of(&s, name, out);
    }
    return out->len > begin;
}

/* Returns the part of a word that names an option: format of --format=json, t of -t. */
static pdl_str option_name(pdl_str word) {
    size_t end = pdl_str_find(word, PDL_STR("="), 0), begin = 0;
    if (end == PDL_NOT_FOUND) end = word.n;
    while (begin < end && word.p[begin] == '-') begin++;
    return pdl_str_sub(word, begin, end);
}

/* Returns the part of a word of a message that may be an option: --data of "-d/--data:". */
static pdl_str option_in(pdl_str word) {
    size_t begin = pdl_str_find(word, PDL_STR("--"), 0);
    if (begin == PDL_NOT_FOUND) return (pdl_str){0};
    size_t end = begin;
    while (end < word.n && (word.p[end] == '-' || pdl_cp_is_alnum((unsigned char)word.p[end])))
        end++;
    return pdl_str_sub(word, begin, end);
}

/* Returns the name between backticks in a word of a message, such as a field. */
static pdl_str quoted_in(pdl_str word) {
    size_t begin = pdl_str_find(word, PDL_STR("`"), 0);
    size_t end = begin == PDL_NOT_FOUND ? begin : pdl_str_find(word, PDL_STR("`"), begin + 1);
    return end == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(word, begin + 1, end);
}

/* Writes the rows of each option, field and builtin that a message names. */
static bool put_names_in(pdl_str message, pdl_buf *out) {
    pdl_buf rows = PDL_BUF;
    given_words given = words_of(message);
    pdl_str shown[MAX_WORDS];
    size_t n = 0;
    for (size_t i = 0; i < given.n; i++) {
        pdl_str opt = option_in(given.p[i]), name = opt.n ? opt : quoted_in(given.p[i]);
        bool is_shown = false;
        for (size_t k = 0; k < n; k++) is_shown |= pdl_str_eq(shown[k], name);
        if (is_shown || !name.n) continue;
        if (opt.n ? put_option(option_name(opt), &rows) : put_rows(name, &rows)) shown[n++] = name;
    }
    if (n)
        pdl_buf_putf(out, "%sNames in this message:\n\n%.*s", out->len ? "\n" : "",
                     PDL_FMT(pdl_buf_str(&rows)));
    pdl_buf_fini(&rows);
    return n > 0;
}

bool pdl_cli_help_name(pdl_str name, pdl_buf *out) {
    if (!name.n) return false;
    if (pdl_str_find(name, PDL_STR(" "), 0) != PDL_NOT_FOUND) {
        bool has_section = put_message(name, out);
        return put_names_in(name, out) || has_section;
    }
    if (name.p[0] == '-') return put_option(option_name(name), out);
    bool is_of_language = put_rows(name, out);
    return put_rule(name, out) || put_option(name, out) || is_of_language || put_error(name, out) ||
           put_message(name, out);
}

pdl_str pdl_cli_help_nearest(pdl_str name) {
    size_t n;
    const command *all = pdl_cli_commands(&n);
    PDL_VEC(pdl_str) names = {0};
    bool is_option = pdl_str_starts(name, PDL_STR("-"));
    for (int id = 0; id < OPT_COUNT; id++)
        *pdl_vec_push(&names) = pdl_str_of(pdl_cli_option_of((opt_id)id)->name);
    for (size_t i = 0; !is_option && i < n; i++)
        if (all[i].name[0] != '_') *pdl_vec_push(&names) = pdl_str_of(all[i].name);
    manual_walk w = {0};
    for (manual_section s; !is_option && pdl_manual_next(&w, &s);)
        if (pdl_str_is(s.page, "docs/manual/rules.md")) *pdl_vec_push(&names) = s.heading;
    pdl_str near = pdl_str_nearest(option_name(name), names.p, names.n);
    pdl_vec_fini(&names);
    return near;
}
