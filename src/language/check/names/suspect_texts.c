/* suspect_texts.c -- texts that are written as if they were not YAML: a key without a blank after
 * its colon, a text that a # cuts, commands with the signs of a shell.
 *
 * YAML accepts all of them, and reads something else. Each rule examines how the text is written,
 * not what YAML made of it. Forms that correct programs have as well are not reported: `#` before a
 * blank is a remark, and a URL has a colon without a blank.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "base/word_list.h"
#include "check/checker.h"
#include "lang/fields.h"

#include "base/banned.h"

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }

static bool is_word_byte(char ch) {
    return is_digit(ch) || ch == '_' || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}

/* --- a key without a blank after its colon ---------------------------------------------------- */

/* Returns true for a key that a block may begin with. */
static bool is_field(pdl_str word) {
    size_t n, n_rows;
    const pdl_field *own = pdl_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (own[i].key[0] && pdl_str_is(word, own[i].key)) return true;
    const pdl_field *common = pdl_common_fields(&n);
    for (size_t i = 0; i < n; i++)
        if (pdl_str_is(word, common[i].key)) return true;
    const pdl_select_row *rows = pdl_selecting_keys(&n_rows);
    for (size_t i = 0; i < n_rows; i++)
        if (pdl_str_is(word, rows[i].key)) return true;
    return false;
}

/* Returns true when only blanks and dashes are before n on its line. */
static bool begins_line(const pdl_node *n) {
    size_t at = n->start;
    while (at && pdl_byte_in(n->src->text.p[at - 1], PDL_STR(" -"))) at--;
    return at == 0 || n->src->text.p[at - 1] == '\n';
}

/* Reports `text:hi` and `text = hi` in the place of a block. */
static void check_key(pdl_checker *c, const pdl_block *b) {
    const pdl_node *n = b->node;
    if (!pdl_node_is_str(n) || n->style != PDL_STYLE_PLAIN || n->shared || !n->src) return;
    size_t end = 0, at;
    while (end < n->text.n && is_word_byte(n->text.p[end])) end++;
    for (at = end; at < n->text.n && n->text.p[at] == ' ';) at++;
    pdl_str key = pdl_str_sub(n->text, 0, end), rest = pdl_str_sub(n->text, at, n->text.n);
    bool colon = at == end && pdl_str_starts(rest, PDL_STR(":")), uri = false;
    uri = colon && (pdl_str_starts(rest, PDL_STR("://")) || pdl_byte_in(',', rest));
    if (!end || uri || !(colon || pdl_str_starts(rest, PDL_STR("="))) || !begins_line(n) ||
        pdl_str_starts(rest, PDL_STR("==")) || !is_field(key))
        return;
    pdl_loc mark = pdl_node_text_loc(n, 0, at + 1);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_key_text, b->loc, mark,
                                   "this is a text, not the field `%.*s`", PDL_FMT(key));
    pdl_checker_hint(c, d, "a key is followed by a colon and a space: %.*s: ...", PDL_FMT(key));
}

/* Reports {x:1}, an object with the key "x:1". */
static void check_flow_key(pdl_checker *c, const pdl_pair *pair) {
    const pdl_node *key = pair->key;
    if (!pdl_node_is_str(key) || key->style != PDL_STYLE_PLAIN || !pdl_node_is_null(pair->value))
        return;
    size_t at = pdl_str_find(key->text, PDL_STR(":"), 0);
    if (at == PDL_NOT_FOUND || !at || at + 1 == key->text.n || pair->value->text.n) return;
    pdl_str shown = pdl_utf8_cut(key->text, 40);
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_key_text, pdl_node_loc(key), pdl_node_loc(key),
                                   "the key is '%.*s', and has no value", PDL_FMT(shown));
    pdl_checker_hint(c, d, "a space follows the colon: {%.*s: %.*s}",
                     PDL_FMT(pdl_str_sub(shown, 0, at)),
                     PDL_FMT(pdl_str_sub(shown, at + 1, shown.n)));
}

/* --- a text that # cuts ----------------------------------------------------------------------- */

/* Returns true after `text:` and after the dash of an item, where a text is expected. */
static bool is_text_due(pdl_str all, size_t at) {
    size_t from = at;
    while (from && all.p[from - 1] != '\n') from--;
    pdl_str before = pdl_str_trim(pdl_str_sub(all, from, at));
    return pdl_str_ends(before, PDL_STR("text:")) || pdl_str_ends(before, PDL_STR("-"));
}

/* Reports `issue #5` and `#tag`: the # of a remark is followed by a blank or another #. Where a
 * text is expected and there is none, `# Title` is reported, too. */
static void check_cut(pdl_checker *c, const pdl_node *n) {
    bool empty = pdl_node_is_null(n) && !n->text.n;
    if (n->style != PDL_STYLE_PLAIN || !n->src || n->shared || !(empty || pdl_node_is_str(n)))
        return;
    pdl_str all = n->src->text;
    size_t from = n->end, at = from;
    while (at < all.n && all.p[at] == ' ') at++;
    if (at + 1 >= all.n || all.p[at] != '#' || (at == from && !empty)) return;
    bool is_remark = !is_word_byte(all.p[at + 1]) && all.p[at + 1] != '{';
    if (is_remark && !(empty && is_text_due(all, at))) return;
    size_t end = pdl_str_find(all, PDL_STR("\n"), at);
    if (end == PDL_NOT_FOUND) end = all.n;
    pdl_loc mark = {n->src, (uint32_t)at, (uint32_t)end};
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_text_cut, mark, mark,
                                   empty ? "the text is empty: # begins a comment"
                                         : "the text ends here: # begins a comment");
    pdl_checker_hint(c, d, "put a text with # in quotes; a comment is written `# ...`");
}

/* --- an item that continues a text ------------------------------------------------------------ */

/* Reports `- b` below `- a` when it is indented more. It is then no item of the list, but the next
 * words of the text `a`. */
static void check_item(pdl_checker *c, const pdl_node *n) {
    if (!pdl_node_is_str(n) || n->style != PDL_STYLE_PLAIN || !n->src || n->shared) return;
    pdl_str all = n->src->text;
    for (size_t i = n->start; i < n->end; i++) {
        size_t at = i + 1;
        if (all.p[i] != '\n') continue;
        while (at < n->end && all.p[at] == ' ') at++;
        if (!pdl_str_starts(pdl_str_sub(all, at, n->end), PDL_STR("- "))) continue;
        pdl_loc mark = {n->src, (uint32_t)at, (uint32_t)at + 1};
        pdl_diag *d = pdl_checker_diag(c, PDL_RULE_key_text, mark, mark,
                                       "this line continues the text before it");
        pdl_checker_hint(c, d,
                         "the items of a list begin in one column; a text of several lines "
                         "follows |");
        return;
    }
}

void pdl_checker_lint_pair(pdl_checker *c, const pdl_node *map, const pdl_pair *pair) {
    if (map->style == PDL_STYLE_FLOW) check_flow_key(c, pair);
}

/* --- commands --------------------------------------------------------------------------------- */

/* Returns the end of the ${ ... }, of the quoted text or of the escaped byte that begins at `at`.
 * For every other byte, returns the offset of the next one. */
static size_t after(pdl_str s, size_t at) {
    size_t open = 0, i = at + 1;
    if (s.p[at] == '\'' || s.p[at] == '"') {
        while (i < s.n && s.p[i] != s.p[at]) i += s.p[i] == '\\' && s.p[at] == '"' ? 2 : 1;
        return i < s.n ? i + 1 : s.n;
    }
    if (s.p[at] == '\\') return i < s.n ? i + 1 : i;
    if (s.p[at] != '$' || i >= s.n || s.p[i] != '{') return i;
    for (; i < s.n; i++) {
        open += s.p[i] == '{';
        if (s.p[i] == '}' && --open == 0) return i + 1;
    }
    return s.n;
}

/* For a word to which a shell gives a special meaning, returns what happens to the word without a
 * shell, as a part of a message. Returns NULL for other words. */
static const char *shell_word(pdl_str w) {
    static const char *const signs[] = {"|",  "||", "&&", ">",    ">>", "<",
                                        "<<", "&",  ";",  "2>&1", "2>", "&>"};
    if (PDL_STR_IN(w, signs)) return "is one of its arguments";
    if (w.n > 1 && w.p[0] == '$' && (w.p[1] == '(' || (is_word_byte(w.p[1]) && !is_digit(w.p[1]))))
        return "stays as it is";
    if (w.n > 1 && w.p[w.n - 1] == ';' && is_word_byte(w.p[w.n - 2])) return "stays as it is";
    return pdl_str_starts(w, PDL_STR("~/")) ? "stays as it is" : NULL;
}

/* Returns true when a line of a text with | ends here, and no backslash continues it. A text with >
 * counts as one line. */
static bool is_end(const pdl_node *n, size_t at) {
    return at && n->style == PDL_STYLE_LITERAL && n->text.p[at - 1] != '\\';
}

/* Reports a second line in a command: it is no second command, but its words are further arguments
 * of the first line. */
static void second_line(pdl_checker *c, const pdl_b_code *b, size_t from, size_t to) {
    const pdl_node *n = b->code->node;
    pdl_diag *d = pdl_checker_diag(
        c, PDL_RULE_shell_sign, b->code->loc, pdl_node_text_loc(n, from, to),
        "no shell reads the command: the words of this line are arguments of the first one");
    pdl_checker_hint(c, d,
                     "write args: [sh, -c, '...'] in place of `code`; a long command follows >");
}

/* Reports the first word that needs a shell, which a command does not have. */
static void check_command(pdl_checker *c, const pdl_b_code *b) {
    const pdl_node *n = b->code ? b->code->node : NULL;
    if (!n || !pdl_node_is_str(n) || !pdl_str_eq_nocase(b->lang.s, PDL_STR("command"))) return;
    bool ended = false; /* a line with words has ended */
    for (size_t i = 0; i < n->text.n;) {
        size_t from = i;
        while (i < n->text.n && !pdl_byte_in(n->text.p[i], PDL_STR(" \n\t"))) i = after(n->text, i);
        if (i > from && ended) {
            second_line(c, b, from, i);
            return;
        }
        pdl_str word = pdl_str_sub(n->text, from, i);
        const char *what = shell_word(word);
        if (what) {
            pdl_diag *d = pdl_checker_diag(
                c, PDL_RULE_shell_sign, b->code->loc, pdl_node_text_loc(n, from, i),
                "no shell reads the command: `%.*s` %s", PDL_FMT(pdl_utf8_cut(word, 40)), what);
            pdl_checker_hint(c, d, "write args: [sh, -c, '...'] in place of `code`");
            return;
        }
        if (i == from && n->text.p[i] == '\n' && is_end(n, i)) ended = true;
        i += i == from;
    }
}

/* Reports typographic quotes around a whole text. Quotes inside of a text are meant. */
static void check_quotes(pdl_checker *c, const pdl_node *n) {
    static const char *const quotes[][2] = {{"\u201c", "\u201d"}, {"\u2018", "\u2019"}};
    if (!pdl_node_is_str(n) || n->style != PDL_STYLE_PLAIN) return;
    for (size_t i = 0; i < 2; i++) {
        pdl_str open = pdl_str_of(quotes[i][0]), close = pdl_str_of(quotes[i][1]);
        if (!pdl_str_starts(n->text, open) || !pdl_str_ends(n->text, close)) continue;
        if (pdl_str_find(n->text, close, 0) + close.n != n->text.n) continue;
        pdl_diag *d =
            pdl_checker_diag(c, PDL_RULE_text_quotes, pdl_node_loc(n), pdl_node_loc(n),
                             "%s and %s are part of the text", quotes[i][0], quotes[i][1]);
        pdl_checker_hint(c, d, "the quotes of YAML are \" and '");
    }
}

/* Reports a name that cannot be a name in an expression: my-var, my var, ${ x }. */
void pdl_checker_lint_name(pdl_checker *c, pdl_str s, pdl_loc loc, pdl_loc mark) {
    bool ok = s.n && !is_digit(s.p[0]);
    for (size_t i = 0; i < s.n; i++) ok = ok && (is_word_byte(s.p[i]) || (s.p[i] & 0x80));
    if (ok || !s.p) return;
    pdl_diag *d = pdl_checker_diag(c, PDL_RULE_name_form, loc, mark,
                                   "no expression can read a variable named '%.*s'",
                                   PDL_FMT(pdl_utf8_cut(s, 40)));
    bool expr = pdl_str_starts(s, PDL_STR("${"));
    pdl_checker_hint(c, d,
                     expr ? "write the name without ${ }"
                          : "a name has letters, digits and _, and begins with no digit");
}

void pdl_checker_lint_written(pdl_checker *c, const pdl_block *b) {
    const pdl_node *text = b->kind == PDL_BLOCK_text && b->node && b->node->kind == PDL_NODE_MAP
                               ? pdl_node_find(b->node, PDL_STR("text"), NULL)
                               : NULL;
    if (text) pdl_checker_norway_text(c, text);
    if (b->def.s.p) pdl_checker_lint_name(c, b->def.s, b->def.loc, pdl_checker_value_loc(b, "def"));
    if (b->kind == PDL_BLOCK_code) check_command(c, PDL_AS(code, b));
    const pdl_node *n = b->node;
    if (b->kind == PDL_BLOCK_data && PDL_AS(data, b)->data) n = PDL_AS(data, b)->data->node;
    if (!n || n->kind != PDL_NODE_SCALAR) return;
    check_cut(c, n);
    check_item(c, n);
    if (b->kind != PDL_BLOCK_scalar) return;
    check_key(c, b);
    check_quotes(c, n);
}
