/* manual.c -- the sections of the manual that the command holds.
 *
 * The text is llms-full.txt, which tools/assistant-pages writes. This file has the pages one after
 * the other, and before each page a comment with the name of its file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/manual.h"

#include "base/banned.h"

extern const unsigned char pdl_manual_text[];
extern const size_t pdl_manual_text_len;

enum { WHOLE_WORD = 3 };

static const pdl_str page_mark = {"<!-- docs/", 10}, mark_end = {" -->", 4};
/* A line of code has this indentation when no fence is around it. */
static const pdl_str indentation = {"    ", 4};

pdl_str pdl_manual_take_line(pdl_str *text) {
    size_t n = pdl_str_find(*text, PDL_STR("\n"), 0);
    if (n == PDL_NOT_FOUND) n = text->n;
    pdl_str line = pdl_str_sub(*text, 0, n);
    *text = pdl_str_sub(*text, n < text->n ? n + 1 : n, text->n);
    return line;
}

static bool is_fence(pdl_str line) { return pdl_str_starts(pdl_str_trim(line), PDL_STR("```")); }

static bool is_letter(char c) {
    return (c >= '0' && c <= '9') || (pdl_lower(c) >= 'a' && pdl_lower(c) <= 'z') || (c & 0x80);
}

/* Returns the level of a heading; 0 for a line that is not a heading. */
static size_t level_of(pdl_str line) {
    size_t n = 0;
    while (n < line.n && line.p[n] == '#') n++;
    return n < line.n && line.p[n] == ' ' ? n : 0;
}

/* Returns the text to the next heading or page, and leaves the rest in *text. */
static pdl_str take_body(pdl_str *text) {
    pdl_str begin = *text;
    bool is_code = false;
    while (text->n) {
        pdl_str after = *text, line = pdl_manual_take_line(&after);
        if (!is_code && (level_of(line) || pdl_str_starts(line, page_mark))) break;
        is_code ^= is_fence(line);
        *text = after;
    }
    return pdl_str_sub(begin, 0, begin.n - text->n);
}

bool pdl_manual_next(manual_walk *w, manual_section *s) {
    if (!w->begun) w->rest = (pdl_str){(const char *)pdl_manual_text, pdl_manual_text_len};
    w->begun = true;
    while (w->rest.n) {
        pdl_str line = pdl_manual_take_line(&w->rest);
        size_t level = level_of(line);
        if (pdl_str_starts(line, page_mark)) {
            size_t end = pdl_str_find(line, mark_end, 0);
            w->page = pdl_str_sub(line, page_mark.n - 5, end == PDL_NOT_FOUND ? line.n : end);
        }
        if (!level) continue;
        *s = (manual_section){.page = w->page, .is_first = level == 1};
        s->heading = pdl_str_trim(pdl_str_sub(line, level, line.n));
        if (s->is_first) w->title = s->heading;
        s->title = w->title;
        s->body = take_body(&w->rest);
        return true;
    }
    return false;
}

/* Returns the end of a link [words](target) that begins at i; 0 when no link begins there. *words
 * gets the part that a reader sees. */
static size_t link_end(pdl_str line, size_t i, pdl_str *words) {
    size_t mid = pdl_str_find(line, PDL_STR("]("), i);
    size_t end = mid == PDL_NOT_FOUND ? mid : pdl_str_find(line, PDL_STR(")"), mid);
    if (end == PDL_NOT_FOUND) return 0;
    *words = pdl_str_sub(line, i + 1, mid);
    return pdl_str_find(*words, PDL_STR("["), 0) == PDL_NOT_FOUND ? end + 1 : 0;
}

/* Writes a line without marks of emphasis and without the targets of links. Code between backticks
 * is not changed. */
static void put_line(pdl_str line, pdl_buf *out) {
    bool is_code = false;
    for (size_t i = 0; i < line.n; i++) {
        pdl_str words;
        size_t end = !is_code && line.p[i] == '[' ? link_end(line, i, &words) : 0;
        if (line.p[i] == '`') is_code = !is_code;
        if (end) {
            /* the words of a link contain no link, so this recursion ends */
            put_line(words, out);
            i = end - 1;
        } else if (is_code || line.p[i] != '*') {
            pdl_buf_putc(out, line.p[i]);
        }
    }
}

void pdl_manual_put_plain(pdl_str text, pdl_buf *out) {
    for (size_t i = 0; i < text.n; i++) {
        bool is_escape = text.p[i] == '\\' && i + 1 < text.n && text.p[i + 1] == '|';
        if (text.p[i] != '`' && text.p[i] != '*' && !is_escape) pdl_buf_putc(out, text.p[i]);
    }
}

/* Returns a text without the empty lines before it and the blanks and line ends after it.
 * Its first line keeps its indentation, which makes it a line of code. */
static pdl_str without_empty_lines(pdl_str text) {
    pdl_str trimmed = pdl_str_trim(text);
    size_t begin = (size_t)(trimmed.p - text.p), end = begin + trimmed.n;
    while (begin && text.p[begin - 1] != '\n') begin--;
    return pdl_str_sub(text, begin, end);
}

void pdl_manual_put(pdl_str body, pdl_buf *out) {
    bool is_code = false, blank = true;
    body = without_empty_lines(body);
    while (body.n) {
        pdl_str line = pdl_manual_take_line(&body);
        if (is_fence(line)) {
            is_code = !is_code;
            if (!is_code || blank) continue;
            line.n = 0; /* an empty line comes before code */
        }
        if (!line.n && blank) continue;
        blank = !line.n;
        if (is_code && line.n) pdl_buf_put(out, indentation);
        if (is_code || pdl_str_starts(line, indentation)) {
            pdl_buf_put(out, line);
        } else {
            put_line(line, out);
        }
        pdl_buf_putc(out, '\n');
    }
}

/* Returns the next character of an anchor, from i on, and moves i past it; NUL at the end. */
static char anchor_char(pdl_str text, size_t *i) {
    while (*i < text.n) {
        char c = text.p[(*i)++];
        if (c == '_' || is_letter(c)) return pdl_lower(c);
        if (c == ' ' || c == '-') return '-';
    }
    return '\0';
}

bool pdl_manual_is_named(pdl_str heading, pdl_str name) {
    for (size_t i = 0, j = 0;;) {
        char a = anchor_char(heading, &i), b = anchor_char(name, &j);
        if (a != b) return false;
        if (!a) return heading.n > 0 && name.n > 0;
    }
}

size_t pdl_manual_count(pdl_str text, pdl_str word) {
    size_t count = 0;
    if (!word.n) return 0;
    for (size_t i = 0; i + word.n <= text.n; i++) {
        if (pdl_lower(text.p[i]) != pdl_lower(word.p[0]) || (i && is_letter(text.p[i - 1])))
            continue;
        if (!pdl_str_eq_nocase(pdl_str_sub(text, i, i + word.n), word)) continue;
        bool whole = i + word.n == text.n || !is_letter(text.p[i + word.n]);
        count += whole ? WHOLE_WORD : 1;
    }
    return count;
}
