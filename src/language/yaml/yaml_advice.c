/* yaml_advice.c -- help for the mistakes that beginners make in YAML. The message of the reader
 * says what it cannot read; the help says what to write instead.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "yaml/events.h"

#include "base/banned.h"

/* A failure: the text, the offset where reading failed, the offset where the current token began,
 * and the offset of the outermost open bracket. When no bracket is open, the offset of the bracket
 * is SIZE_MAX. */
typedef struct place {
    pdl_str text;
    size_t at, context, bracket;
} place;

static pdl_str line_before(const place *p) {
    size_t from = p->at;
    while (from && p->text.p[from - 1] != '\n') from--;
    return pdl_str_sub(p->text, from, p->at);
}

/* --- conditions ------------------------------------------------------------------------------- */

/* Returns true when the line is indented and has only a key so far, but continues the text of the
 * line before. */
static bool continues_text(const place *p) {
    pdl_str line = line_before(p), word = pdl_str_trim(line);
    return word.n && word.n < line.n && pdl_str_find(word, PDL_STR(" "), 0) == PDL_NOT_FOUND &&
           line.p[0] == ' ';
}

static bool is_in_expression(const place *p) {
    pdl_str line = line_before(p);
    size_t open = pdl_str_rfind(line, PDL_STR("${")), close = pdl_str_rfind(line, PDL_STR("}"));
    return open != PDL_NOT_FOUND && (close == PDL_NOT_FOUND || close < open);
}

static bool follows_quote(const place *p) {
    pdl_str line = pdl_str_trim(line_before(p));
    return line.n && (line.p[line.n - 1] == '"' || line.p[line.n - 1] == '\'');
}

static size_t indent_at(const place *p, size_t at) {
    size_t from = at, n = 0;
    while (from && p->text.p[from - 1] != '\n') from--;
    while (from + n < p->text.n && p->text.p[from + n] == ' ') n++;
    return n;
}

/* Returns true when the line is indented at most as far as the line of the bracket. The line then
 * belongs to the block around the bracket. */
static bool is_open_on_other_line(const place *p) {
    return p->bracket < p->at && indent_at(p, p->at) <= indent_at(p, p->bracket) &&
           pdl_str_find(pdl_str_sub(p->text, p->bracket, p->at), PDL_STR("\n"), 0) != PDL_NOT_FOUND;
}

static bool is_in_bracket(const place *p) { return p->bracket < p->at; }

static bool follows_dollar(const place *p) {
    return p->at && p->at < p->text.n && p->text.p[p->at] == '{' && p->text.p[p->at - 1] == '$';
}

/* Returns true after a letter or a digit, as in Optional[int]. */
static bool follows_word(const place *p) {
    char c = p->at ? p->text.p[p->at - 1] : ' ';
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool begins_with_percent(const place *p) { return pdl_str_starts(p->text, PDL_STR("%")); }

/* Returns true at `-item` where the lines of a list begin. */
static bool is_dash_without_blank(const place *p) {
    pdl_str rest = pdl_str_sub(p->text, p->context, p->text.n);
    return rest.n > 1 && rest.p[0] == '-' && !pdl_byte_in(rest.p[1], PDL_STR(" -\n"));
}

static const struct {
    const char *letter, *hint;
} unseen[] = {
#define X(letter, words) {letter, "the line has " words},
#include "base/unseen.def"
#undef X
};

static const char *unseen_at(pdl_str s) {
    for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
        if (pdl_str_starts(s, pdl_str_of(unseen[i].letter))) return unseen[i].hint;
    return NULL;
}

/* Returns the hint for a line that has a letter which looks like a blank, or like nothing, where a
 * blank is needed: in its indentation, after a dash, or after the first colon. */
static const char *unseen_advice(const place *p) {
    pdl_str s = pdl_str_sub(p->text, p->context, p->text.n);
    s = pdl_str_sub(s, 0, pdl_str_find(s, PDL_STR("\n"), 0));
    size_t i = 0, colon = pdl_str_find(s, PDL_STR(":"), 0);
    while (i < s.n && pdl_byte_in(s.p[i], PDL_STR(" -"))) i++;
    const char *hint = unseen_at(pdl_str_sub(s, i, s.n));
    if (hint || colon == PDL_NOT_FOUND) return hint;
    return unseen_at(pdl_str_sub(s, colon + 1, s.n));
}

/* Returns the line before, without blanks at its ends; empty lines are skipped. */
static pdl_str line_above(const place *p) {
    size_t end = p->at, from;
    while (end && p->text.p[end - 1] != '\n') end--;
    while (end && pdl_byte_in(p->text.p[end - 1], PDL_STR(" \n"))) end--;
    for (from = end; from && p->text.p[from - 1] != '\n';) from--;
    return pdl_str_trim(pdl_str_sub(p->text, from, end));
}

/* Returns true after a sign that begins a comment in other languages. */
static bool follows_comment(const place *p) {
    pdl_str line = line_above(p);
    return pdl_str_starts(line, PDL_STR("//")) || pdl_str_starts(line, PDL_STR("/*")) ||
           pdl_str_starts(line, PDL_STR("-- "));
}

/* Returns true when a remark ended the text of the line above, and this line was meant to continue
 * that text. After a quote a remark ends nothing. */
static bool follows_remark(const place *p) {
    pdl_str above = line_above(p);
    size_t at = pdl_str_find(above, PDL_STR(" #"), 0);
    return !pdl_str_trim(line_before(p)).n && line_before(p).n && at != PDL_NOT_FOUND && at &&
           !pdl_byte_in(above.p[at - 1], PDL_STR("\"'"));
}

static bool is_triple_quote(const place *p) {
    return p->at > 1 && p->at < p->text.n && pdl_byte_in(p->text.p[p->at], PDL_STR("\"'")) &&
           p->text.p[p->at - 1] == p->text.p[p->at] && p->text.p[p->at - 2] == p->text.p[p->at];
}

static bool is_fence(const place *p) {
    return pdl_str_starts(pdl_str_sub(p->text, p->at, p->text.n), PDL_STR("```"));
}

/* Returns true at `* item`, where a star is the sign of an item. */
static bool is_star_with_blank(const place *p) {
    return p->at && p->at < p->text.n && p->text.p[p->at - 1] == '*' && p->text.p[p->at] == ' ';
}

/* Returns true after a % at the beginning of a line, where YAML expects the name of a directive. */
static bool is_directive(const place *p) {
    return p->at && p->text.p[p->at - 1] == '%' && (p->at == 1 || p->text.p[p->at - 2] == '\n');
}

/* Returns true at the { of `{{ name }}` without quotes. */
static bool is_second_brace(const place *p) {
    return pdl_str_starts(pdl_str_sub(p->text, p->at, p->text.n), PDL_STR("{")) && p->at &&
           p->text.p[p->at - 1] == '{';
}

/* Returns true when this line begins with //, or when the line above has a comment of another
 * language. */
static bool has_slashes(const place *p) {
    const place here = {p->text, p->at, p->at, p->bracket};
    return follows_comment(&here) || pdl_str_starts(pdl_str_trim(line_before(p)), PDL_STR("//")) ||
           pdl_str_starts(pdl_str_sub(p->text, p->at, p->text.n), PDL_STR("//"));
}

static bool follows_brace(const place *p) { return p->at && p->text.p[p->at - 1] == '{'; }

/* Returns true when the line is indented, but less than the line above. */
static bool is_left_of_text(const place *p) {
    pdl_str line = line_before(p);
    size_t start = p->at - line.n, above = start;
    if (pdl_str_trim(line).n || !line.n || !start) return false;
    while (above && pdl_byte_in(p->text.p[above - 1], PDL_STR(" \n"))) above--;
    return indent_at(p, above) > line.n;
}

/* Returns true when the line above the token ends with `: |` or `: >`. */
static bool follows_bar(const place *p) {
    const place here = {p->text, p->context, p->context, p->bracket};
    pdl_str line = line_above(&here);
    return pdl_str_ends(line, PDL_STR(": |")) || pdl_str_ends(line, PDL_STR(": >"));
}

/* --- conditions about the text around the place ----------------------------------------------- */

static pdl_str rest_of_line(const place *p) {
    size_t end = pdl_str_find(p->text, PDL_STR("\n"), p->at);
    return pdl_str_sub(p->text, p->at, end);
}

static bool is_word(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9')) return false;
    }
    return s.n > 0;
}

/* Returns true at `KEY: word: ...` where the word may be a key as well: it does not begin as a
 * sentence does. */
static bool is_key_below_key(const place *p) {
    pdl_str line = line_before(p);
    size_t colon = pdl_str_find(line, PDL_STR(": "), 0);
    if (colon == PDL_NOT_FOUND) return false;
    pdl_str word = pdl_str_trim(pdl_str_sub(line, colon + 1, line.n));
    if (word.n > 2 && pdl_byte_in(word.p[0], PDL_STR("\"'")) && word.p[word.n - 1] == word.p[0])
        word = pdl_str_sub(word, 1, word.n - 1);
    return is_word(word) && !(word.p[0] >= 'A' && word.p[0] <= 'Z');
}

/* Returns true when this line begins with a key, and the line before it is neither a key nor a
 * comment. */
static bool follows_stray_line(const place *p) {
    pdl_str line = line_before(p), above = line_above(p);
    size_t start = p->at - line.n, up = start;
    while (up && pdl_byte_in(p->text.p[up - 1], PDL_STR(" \n"))) up--;
    return is_word(pdl_str_trim(line)) && above.n && indent_at(p, up) == indent_at(p, p->at) &&
           pdl_str_find(above, PDL_STR(": "), 0) == PDL_NOT_FOUND &&
           !pdl_str_ends(above, PDL_STR(":"));
}

static bool is_flow(const place *p) { return p->bracket < p->at; }
/* Returns true at a closing bracket when a bracket is open here or earlier on the line, or when a
 * comma is before it. */
static bool closes_other(const place *p) {
    pdl_str line = pdl_str_trim(line_before(p));
    return is_flow(p) || (line.n && pdl_byte_in(line.p[line.n - 1], PDL_STR(",[{"))) ||
           pdl_str_find(line, PDL_STR("["), 0) != PDL_NOT_FOUND ||
           pdl_str_find(line, PDL_STR("{"), 0) != PDL_NOT_FOUND;
}
static bool is_first_of_line(const place *p) { return !pdl_str_trim(line_before(p)).n; }

/* Returns true when a line `...`, which ends a document, is above the line. Comments may be between
 * them. */
static bool follows_end(const place *p) {
    pdl_str line, rest = pdl_str_sub(p->text, 0, p->at - line_before(p).n);
    do {
        rest = pdl_str_trim(rest);
        size_t nl = pdl_str_rfind(rest, PDL_STR("\n"));
        size_t from = nl == PDL_NOT_FOUND ? 0 : nl + 1;
        line = pdl_str_sub(rest, from, rest.n);
        rest = pdl_str_sub(rest, 0, from);
    } while (pdl_str_starts(line, PDL_STR("#")));
    return pdl_str_is(line, "...");
}

/* Returns true at `{x} and y`: the value ended at the bracket. */
static bool follows_bracket(const place *p) {
    pdl_str line = pdl_str_trim(line_before(p));
    return line.n && pdl_byte_in(line.p[line.n - 1], PDL_STR("}]"));
}

/* Returns true at `a: "x" b: y`. */
static bool is_second_key(const place *p) {
    pdl_str rest = rest_of_line(p);
    size_t colon = pdl_str_find(rest, PDL_STR(":"), 0);
    return follows_quote(p) && colon != PDL_NOT_FOUND && is_word(pdl_str_sub(rest, 0, colon));
}

/* lines that are examined, because an editor calls this for each error of a file */
enum { MAX_LINES = 1000 };

/* Returns true when an item of a list begins on a line above, up to the nearest line that is not
 * indented further than this one. When same is set, the item is in this line's column, otherwise in
 * another one. */
static bool is_below_item(const place *p, bool same) {
    size_t at = p->at - line_before(p).n, here = indent_at(p, p->at);
    for (size_t n = 0; at && n < MAX_LINES; n++) {
        size_t end = at - 1;
        for (at = end; at && p->text.p[at - 1] != '\n';) at--;
        pdl_str line = pdl_str_trim(pdl_str_sub(p->text, at, end));
        size_t indent = indent_at(p, at);
        bool item = pdl_str_starts(line, PDL_STR("- "));
        if (!line.n || pdl_str_starts(line, PDL_STR("#"))) continue;
        if (item && (same ? indent == here : indent != here)) return true;
        if (indent <= here) return false;
    }
    return false;
}

static bool is_item_askew(const place *p) { return is_first_of_line(p) && is_below_item(p, false); }
static bool is_item_after_key(const place *p) {
    return is_first_of_line(p) && !is_below_item(p, true) && !is_below_item(p, false);
}
static bool is_key_among_items(const place *p) {
    return is_first_of_line(p) && is_below_item(p, true);
}

/* --- what is said ----------------------------------------------------------------------------- */

/* The place that the error marks. MARK_CONTEXT and MARK_BRACKET mark the beginning of the text or
 * of the bracket, and MARK_HERE marks the place where reading stopped. */
typedef enum { MARK_HERE, MARK_CONTEXT, MARK_BRACKET } marked;

#define KEYS_OR_LIST                                                                               \
    "a block has keys or is a list: the items of a list are below a key that has no other value"

/* The first row whose condition holds is used. */
static const struct {
    const char *problem;
    bool (*when)(const place *p); /* NULL means always */
    marked mark;
    const char *hint;
} advices[] = {
    {"mapping values are not allowed here", is_in_expression, MARK_HERE,
     "an expression that contains `: ` is put in quotes: '${ ... }'"},
    {"mapping values are not allowed here", continues_text, MARK_HERE,
     "this line continues the text before it: a key begins in the column of the other keys"},
    {"mapping values are not allowed here", follows_comment, MARK_HERE,
     "the line before is no comment: a comment begins with #"},
    {"mapping values are not allowed here", follows_stray_line, MARK_HERE,
     "the line before is neither a key nor a comment: a key is followed by `: `, a comment begins "
     "with #"},
    {"mapping values are not allowed here", is_key_below_key, MARK_HERE,
     "keys below a key are written on separate lines, or in { }; a text that contains `: ` is "
     "put in quotes"},
    {"mapping values are not allowed here", NULL, MARK_HERE,
     "a text that contains `: ` is put in quotes, or after `|` on separate lines"},
    {"sequence entries are not allowed here", NULL, MARK_HERE,
     "a list begins on the line after its key; a text that begins with - is put in quotes"},
    {"mapping keys are not allowed here", NULL, MARK_HERE,
     "a text that begins with ? is put in quotes"},
    {"found character '\\t' that cannot start any token", is_first_of_line, MARK_HERE,
     "tabs may not indent: use spaces"},
    {"found character '\\t' that cannot start any token", NULL, MARK_HERE,
     "write a space in place of the tab"},
    {"found character '@' that cannot start any token", NULL, MARK_HERE,
     "a text that begins with @ is put in quotes"},
    {"found character '`' that cannot start any token", is_fence, MARK_HERE,
     "lines with ``` are no YAML: leave them out"},
    {"found character '`' that cannot start any token", NULL, MARK_HERE,
     "a text that begins with ` is put in quotes"},
    {"found character '%' that cannot start any token", follows_brace, MARK_HERE,
     "for {% if %} and {% for %} there are blocks with `if` and with `for`; a text with {% is put "
     "in quotes"},
    {"found character '%' that cannot start any token", NULL, MARK_HERE,
     "a text that begins with % is put in quotes"},
    {"expected '<document start>'", begins_with_percent, MARK_HERE,
     "a text that begins with % is put in quotes"},
    {"found unexpected end of stream", NULL, MARK_CONTEXT,
     "the quote that opens here is not closed"},
    {"found unknown escape character", NULL, MARK_HERE,
     "in \"...\" a backslash is written \\\\; in '...' it is a letter like others"},
    {"could not find expected ':'", follows_bar, MARK_CONTEXT,
     "the lines of a text after | or > are indented"},
    {"could not find expected ':'", is_dash_without_blank, MARK_CONTEXT,
     "a space follows the dash of an item: - ..."},
    {"expected escape sequence", NULL, MARK_HERE,
     "in \"...\" a backslash is written \\\\; in '...' it is a letter like others"},
    {"could not find expected ':'", NULL, MARK_CONTEXT,
     "a key is followed by `: `; the further lines of a text are indented"},
    {"expected chomping or indentation indicators", NULL, MARK_HERE,
     "the text after | or > begins on the next line; one that begins with them is put in quotes"},
    {"expected a comment or a line break", NULL, MARK_HERE,
     "the text after | or > begins on the next line; one that begins with them is put in quotes"},
    {"expected <block end>, but found '<scalar>'", is_triple_quote, MARK_HERE,
     "a text of several lines follows | on the lines after it; there is no \"\"\""},
    {"expected '<document start>', but found '<scalar>'", is_triple_quote, MARK_HERE,
     "there is no \"\"\": a comment begins with #, and `description:` describes a block"},
    {"expected <block end>, but found '<scalar>'", follows_remark, MARK_HERE,
     "a # ended the text in the line before: put the text in quotes"},
    {"expected <block end>, but found '<scalar>'", is_left_of_text, MARK_HERE,
     "this line is less indented than the text before it"},
    {"expected <block end>, but found '<scalar>'", is_second_key, MARK_HERE,
     "each key of a block begins on a new line"},
    {"expected <block end>, but found '<scalar>'", follows_bracket, MARK_HERE,
     "the value ends at the bracket before this: a text that begins with { or [ is put in quotes"},
    {"expected <block end>, but found '<scalar>'", follows_quote, MARK_HERE,
     "the text ends at the quote before this: put all of it in quotes, and write '' for a ' in "
     "'...', \\\" for a \" in \"...\""},
    {"expected <block end>, but found ','", follows_quote, MARK_HERE,
     "several values are a list: [a, b]"},
    {"expected <block end>, but found ']'", NULL, MARK_HERE, "nothing opens this bracket"},
    {"expected <block end>, but found '}'", NULL, MARK_HERE, "nothing opens this bracket"},
    {"expected <block end>, but found '-'", is_item_askew, MARK_HERE,
     "the items of a list begin in one column"},
    {"expected <block end>, but found '-'", is_item_after_key, MARK_HERE, KEYS_OR_LIST},
    {"expected <block end>, but found '<block sequence start>'", is_item_askew, MARK_HERE,
     "the items of a list begin in one column"},
    {"expected <block end>, but found '<block sequence start>'", is_item_after_key, MARK_HERE,
     KEYS_OR_LIST},
    {"expected <block end>, but found '?'", is_key_among_items, MARK_HERE,
     "a key cannot be among the items of a list: it begins in the column of the other keys "
     "of its block"},
    {"expected <block end>, but found '?'", is_first_of_line, MARK_HERE,
     "the keys of a block begin in one column"},
    {"expected <block end>, but found '<block mapping start>'", is_first_of_line, MARK_HERE,
     "the keys of a block begin in one column"},
    {"expected '<document start>', but found", follows_end, MARK_HERE,
     "the YAML is one document: `...` may be at its end only"},
    {"expected '<document start>', but found '<block mapping start>'", is_first_of_line, MARK_HERE,
     "the keys of a block begin in one column"},
    {"expected '<document start>', but found '<scalar>'", has_slashes, MARK_HERE,
     "a comment begins with #; // is text"},
    {"expected '<document start>', but found '<scalar>'", follows_bracket, MARK_HERE,
     "the value ends at the bracket before this: a text that begins with { or [ is put in quotes"},
    {"expected '<document start>', but found '<scalar>'", follows_quote, MARK_HERE,
     "the text ends at the quote before this: put all of it in quotes, and write '' for a ' in "
     "'...', \\\" for a \" in \"...\""},
    {"expected ',' or '}', but got '<stream end>'", NULL, MARK_BRACKET,
     "the { that opens here is not closed; a text that begins with { is put in quotes"},
    {"expected ',' or ']', but got '<stream end>'", NULL, MARK_BRACKET,
     "the [ that opens here is not closed; a text that begins with [ is put in quotes"},
    {"expected ',' or the end of the collection", NULL, MARK_BRACKET,
     "the bracket that opens here is not closed"},
    {"expected ',' or '}', but got", is_open_on_other_line, MARK_BRACKET,
     "the { that opens here is not closed"},
    {"expected ',' or ']', but got", is_open_on_other_line, MARK_BRACKET,
     "the [ that opens here is not closed"},
    {"expected ',' or '}', but got '?'", NULL, MARK_HERE,
     "inside of { } a text with ? is put in quotes"},
    {"expected ',' or ']', but got '?'", NULL, MARK_HERE,
     "inside of [ ] a text with ? is put in quotes"},
    {"expected ',' or '}', but got '{'", follows_dollar, MARK_HERE,
     "inside of { } an expression is put in quotes: \"${ ... }\""},
    {"expected ',' or ']', but got '{'", follows_dollar, MARK_HERE,
     "inside of [ ] an expression is put in quotes: \"${ ... }\""},
    {"expected ',' or '}', but got '<scalar>'", follows_quote, MARK_HERE,
     "the text ends at the quote before this: a comma or `: ` is missing, or its quotes are to be "
     "others than those in it"},
    {"expected ',' or ']', but got '<scalar>'", follows_quote, MARK_HERE,
     "the text ends at the quote before this: a comma is missing, or its quotes are to be others "
     "than those in it"},
    {"expected ',' or '}', but got", has_slashes, MARK_HERE, "a comment begins with #; // is text"},
    {"expected ',' or '}', but got ':'", NULL, MARK_HERE,
     "a comma is missing before this key, or a text that contains `: ` is not in quotes"},
    {"expected ',' or ']', but got ':'", NULL, MARK_HERE,
     "a comma is missing before this key, or a text that contains `: ` is not in quotes"},
    {"expected ',' or '}', but got ']'", NULL, MARK_HERE, "a { before this is not closed"},
    {"expected ',' or ']', but got '}'", NULL, MARK_HERE, "a [ before this is not closed"},
    {"expected ',' or '}', but got '['", follows_word, MARK_HERE,
     "inside of { } a text with [ is put in quotes"},
    {"expected ',' or '}', but got '{'", follows_word, MARK_HERE,
     "inside of { } a text with { is put in quotes"},
    {"expected ',' or ']', but got '['", follows_word, MARK_HERE,
     "inside of [ ] a text with [ is put in quotes"},
    {"expected ',' or ']', but got '{'", follows_word, MARK_HERE,
     "inside of [ ] a text with { is put in quotes"},
    {"expected ',' or '}', but got", NULL, MARK_HERE,
     "a text that begins with { is put in quotes; an expression is written ${ ... }"},
    {"expected ',' or ']', but got", NULL, MARK_HERE, "a text that begins with [ is put in quotes"},
    {"expected the node content, but found '?'", NULL, MARK_HERE,
     "a text that begins with ? is put in quotes"},
    {"expected the node content, but found '-'", is_open_on_other_line, MARK_BRACKET,
     "the bracket that opens here is not closed, or items are written with - inside of it, where "
     "commas are between them"},
    {"expected the node content, but found '<stream end>'", is_in_bracket, MARK_BRACKET,
     "the bracket that opens here is not closed"},
    {"expected the node content, but found '-'", NULL, MARK_HERE,
     "inside of [ ] and { } items are separated by commas, without -"},
    {"expected the node content, but found ','", is_flow, MARK_HERE,
     "a value is missing before this comma, or the comma is one too many"},
    {"expected the node content, but found ']'", closes_other, MARK_HERE,
     "what is open here is not closed by ]"},
    {"expected the node content, but found '}'", closes_other, MARK_HERE,
     "what is open here is not closed by }"},
    {"expected the node content, but found", NULL, MARK_HERE,
     "a text that begins with this character is put in quotes"},
    {"found unhashable key", is_second_brace, MARK_HERE,
     "a variable is written ${ name }; a text that begins with { is put in quotes"},
    {"found unhashable key", NULL, MARK_HERE, "a key is a text, a number or a word"},
    {"expected alphabetic or numeric character, but found", is_star_with_blank, MARK_HERE,
     "an item of a list begins with `- `; a text that begins with * is put in quotes"},
    {"expected alphabetic or numeric character, but found", is_directive, MARK_HERE,
     "a text that begins with % is put in quotes"},
    {"expected alphabetic or numeric character, but found", NULL, MARK_HERE,
     "a text that begins with * or & is put in quotes"},
    {"found undefined alias", NULL, MARK_HERE,
     "there is no anchor of this name; a text that begins with * is put in quotes"},
    {"but found another document", NULL, MARK_HERE,
     "the YAML is one document: `---` may be at its beginning only"},
    {"could not determine a constructor for the tag '!", NULL, MARK_HERE,
     "a text that begins with ! is put in quotes"},
};

void pdl_yaml_advise(pdl_err *err, size_t context, size_t bracket) {
    if (!err->msg || !err->loc.src || err->hint) return;
    const place p = {err->loc.src->text, err->loc.start, context, bracket};
    const char *letter = strstr(err->msg, "could not find expected ':'") ? unseen_advice(&p) : NULL;
    if (letter) {
        pdl_err_hint(err, "%s", letter);
        if (context < p.at)
            err->mark = (pdl_loc){err->loc.src, (uint32_t)context, (uint32_t)context + 1};
        return;
    }
    for (size_t i = 0; i < sizeof advices / sizeof *advices; i++) {
        if (!strstr(err->msg, advices[i].problem)) continue;
        if (advices[i].when && !advices[i].when(&p)) continue;
        pdl_err_hint(err, "%s", advices[i].hint);
        size_t from = advices[i].mark == MARK_CONTEXT ? context : bracket;
        if (advices[i].mark != MARK_HERE && from < p.at)
            err->mark = (pdl_loc){err->loc.src, (uint32_t)from, (uint32_t)from + 1};
        return;
    }
}
