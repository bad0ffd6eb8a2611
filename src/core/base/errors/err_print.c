/* err_print.c -- pdl_err_print of err.h: the only code that lays out an error for people. A message
 * begins with FILE:LINE - MESSAGE, which tools for the reference match. Everything that libpdl adds
 * is on indented lines above and below the message.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/utf8.h"

#include "base/banned.h"

enum {
    SHOWN_FRAMES = 20,
    SHOWN_COLUMNS = 100, /* number of columns of a source line that are shown */
    /* number of columns before the mark, when the beginning of the line is left out */
    LEAD_COLUMNS = 30,
    TAB = 4,
    GUTTER = 5,        /* width of the line number */
    LONGEST_CYCLE = 4, /* length of the longest group of frames whose repetition is recognised */
    REPEATS = 3,       /* a group that repeats at least this often is shown only once */
    MAX_LINES = 30,    /* only the beginning and the end of a message with more lines are shown */
    FIRST_LINES = 4,
    LAST_LINES = 10,  /* Python's tracebacks have the cause at their end */
    MAX_BYTES = 1200, /* number of bytes of a line of a message or hint that are shown */
    FIRST_BYTES = 400,
    LAST_BYTES = 200,
};

static void put_place(pdl_loc loc, pdl_buf *out) {
    if (loc.src->name.n) {
        pdl_buf_put(out, loc.src->name);
        pdl_buf_putc(out, ':');
    } else {
        PDL_PUT(out, "line ");
    }
    pdl_buf_putf(out, "%u", pdl_loc_line(loc));
}

/* Returns true for a character that a person cannot see, or that changes the order of text. Joiners
 * are no such characters, since scripts and emoji need them. */
static bool is_unseen(uint32_t cp) {
    enum { NON_JOINER = 0x200c, JOINER = 0x200d };
    return cp >= 0x80 && cp != NON_JOINER && cp != JOINER && !pdl_cp_is_printable(cp);
}

/* Returns how many columns cp takes in the excerpt. A tab counts as blanks, a control character as
 * one sign. An unseen character has the width of its name: <U+00A0>. */
static int shown_width(uint32_t cp) {
    if (cp == '\t') return TAB;
    if (is_unseen(cp)) return cp < 0x10000 ? 8 : cp < 0x100000 ? 9 : 10;
    if (!pdl_cp_is_printable(cp)) return 1;
    int w = pdl_cp_width(cp);
    return w < 0 ? 1 : w;
}

static void put_shown(uint32_t cp, pdl_buf *out) {
    if (cp == '\t')
        PDL_PUT(out, "    ");
    else if (cp < 0x20 || cp == 0x7f)
        pdl_buf_putc(out, '?');
    else if (is_unseen(cp))
        pdl_buf_putf(out, "<U+%04X>", (unsigned)cp);
    else if (!pdl_cp_is_printable(cp))
        PDL_PUT(out, "\xef\xbf\xbd");
    else
        pdl_buf_put_cp(out, cp);
}

/* Returns a byte offset in line such that about `columns` columns lie between it and `at` (at <=
 * line.n). */
static size_t step_back(pdl_str line, size_t at, int columns) {
    while (at > 0 && columns > 0) {
        do at--;
        while (at > 0 && ((unsigned char)line.p[at] & 0xc0) == 0x80);
        const char *p = line.p + at;
        columns -= shown_width(pdl_utf8_next(&p));
    }
    return at;
}

/* Returns the offset of the first byte of line that is shown, chosen so that the mark at `start` is
 * visible. */
static size_t window_start(pdl_str line, size_t start) {
    size_t far = step_back(line, start, SHOWN_COLUMNS - LEAD_COLUMNS);
    return far == 0 ? 0 : step_back(line, start, LEAD_COLUMNS);
}

static void put_repeat(pdl_buf *out, char c, int n) {
    for (int i = 0; i < n; i++) pdl_buf_putc(out, c);
}

/* The mark is the bytes from start to end of a line. `before` and `inside` are the numbers of shown
 * columns before the mark and in it. */
typedef struct {
    size_t start, end;
    int before, inside;
} marked;

/* Writes the part of line in which the mark is in view, and measures the columns. */
static void put_window(pdl_str line, marked *m, pdl_buf *out) {
    size_t from = window_start(line, m->start);
    int column = 0;
    m->before = m->inside = 0;
    if (from > 0) {
        PDL_PUT(out, "...");
        m->before = 3;
    }
    for (size_t i = from; i < line.n;) {
        const char *p = line.p + i;
        uint32_t cp = pdl_utf8_next(&p);
        int width = shown_width(cp);
        if (column + width > SHOWN_COLUMNS) {
            PDL_PUT(out, "...");
            return;
        }
        put_shown(cp, out);
        column += width;
        if (i < m->start)
            m->before += width;
        else if (i < m->end)
            m->inside += width;
        i = (size_t)(p - line.p);
    }
}

/* Returns the last n bytes of s, or fewer, so that the result begins with a whole character. */
static pdl_str end_of(pdl_str s, size_t n) {
    size_t from = s.n > n ? s.n - n : 0;
    while (from < s.n && ((unsigned char)s.p[from] & 0xc0) == 0x80) from++;
    return pdl_str_sub(s, from, s.n);
}

/* Writes s with escapes such as \u202e for unseen characters. ASCII control characters are not
 * escaped, because termsafe.h replaces them. */
static void put_named(pdl_str s, pdl_buf *out) {
    if (pdl_utf8_check(s) != PDL_NOT_FOUND) {
        pdl_buf_put(out, s); /* s is a path */
        return;
    }
    for (const char *p = s.p, *end = s.p + s.n; p < end;) {
        const char *from = p;
        uint32_t cp = pdl_utf8_next(&p);
        if (!is_unseen(cp))
            pdl_buf_put(out, (pdl_str){from, (size_t)(p - from)});
        else
            pdl_buf_putf(out, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
    }
}

static void put_line(pdl_str line, pdl_buf *out) {
    if (line.n <= MAX_BYTES) {
        put_named(line, out);
        return;
    }
    put_named(pdl_utf8_cut(line, FIRST_BYTES), out);
    PDL_PUT(out, " ... ");
    put_named(end_of(line, LAST_BYTES), out);
}

/* Removes the first line from *rest, and returns it. */
static pdl_str take_line(pdl_str *rest) {
    const char *end = rest->n ? memchr(rest->p, '\n', rest->n) : NULL;
    pdl_str line = {rest->p, end ? (size_t)(end - rest->p) : rest->n};
    *rest = pdl_str_sub(*rest, end ? line.n + 1 : rest->n, rest->n);
    return line;
}

/* A message may contain values of the program, which are texts of any length. The error itself
 * keeps what is left out here, for `fallback` and the trace. */
static void put_message(pdl_str text, pdl_buf *out) {
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++) n += text.p[i] == '\n';
    for (size_t i = 0; i < n; i++) {
        pdl_str line = take_line(&text);
        if (n > MAX_LINES && i >= FIRST_LINES && i + LAST_LINES < n) {
            if (i == FIRST_LINES)
                pdl_buf_putf(out, "... (%zu lines)\n", n - FIRST_LINES - LAST_LINES);
            continue;
        }
        put_line(line, out);
        pdl_buf_putc(out, '\n');
    }
}

/* Writes a hint. A hint is one line. */
static void put_hint(const char *before, const char *hint, pdl_buf *out) {
    pdl_buf b = PDL_BUF;
    for (const char *p = hint; *p; p++) pdl_buf_putc(&b, *p == '\n' || *p == '\r' ? ' ' : *p);
    pdl_buf_put(out, pdl_str_of(before));
    put_line(pdl_buf_str(&b), out);
    pdl_buf_putc(out, '\n');
    pdl_buf_fini(&b);
}

static void put_note(const pdl_err *err, uint32_t column, pdl_buf *out) {
    pdl_buf_putf(out, " column %u", column);
    if (err->hint)
        put_hint("; ", err->hint, out);
    else
        pdl_buf_putc(out, '\n');
}

static void put_excerpt(const pdl_err *err, pdl_loc mark, pdl_buf *out) {
    const pdl_source *src = mark.src;
    uint32_t line1 = pdl_source_line(src, mark.start);
    pdl_str line = pdl_source_line_text(src, line1);
    size_t line_off = line.p ? (size_t)(line.p - src->text.p) : 0;
    size_t start = mark.start - line_off, end = mark.end - line_off;
    if (start > line.n) start = line.n;
    if (end > line.n) end = line.n;
    if (pdl_str_trim(line).n == 0) { /* an empty line has no excerpt */
        if (err->hint) put_hint("  ", err->hint, out);
        return;
    }
    marked m = {.start = start, .end = end};
    pdl_buf_putf(out, "%*u | ", GUTTER, line1);
    put_window(line, &m, out);
    pdl_buf_putc(out, '\n');
    if (mark.end <= mark.start) {
        if (err->hint) {
            pdl_buf_putf(out, "%*s | ", GUTTER, "");
            put_hint("", err->hint, out);
        }
        return;
    }
    pdl_buf_putf(out, "%*s | ", GUTTER, "");
    put_repeat(out, ' ', m.before);
    put_repeat(out, '^', m.inside > 0 ? m.inside : 1);
    put_note(err, pdl_source_column(src, mark.start), out);
}

static void put_frame(const pdl_err_frame *f, pdl_buf *out) {
    pdl_buf_putf(out, "  in %s", f->what);
    if (f->loc.src) {
        PDL_PUT(out, ", ");
        put_place(f->loc, out);
        pdl_buf_putf(out, ", column %u", pdl_source_column(f->loc.src, f->loc.start));
    }
}

static bool is_same_frame(const pdl_err_frame *a, const pdl_err_frame *b) {
    return a->loc.src == b->loc.src && a->loc.start == b->loc.start &&
           strcmp(a->what, b->what) == 0;
}

/* Returns how many times the n frames at index i occur one after the other, the first time
 * included. */
static size_t count_repeats(const pdl_err *err, size_t i, size_t n) {
    size_t k = i + n;
    while (k < err->n_frames && is_same_frame(&err->frames[k], &err->frames[k - n])) k++;
    return (k - i) / n;
}

/* Writes how often the same frames occur. The list of frames has a ceiling, so for a group at its
 * end this number is a lower bound. */
static void put_times(size_t n, size_t times, bool at_end, pdl_buf *out) {
    pdl_buf_put(out, n > 1 ? PDL_STR(" (these ") : PDL_STR(" ("));
    if (n > 1) pdl_buf_putf(out, "%zu, ", n);
    pdl_buf_putf(out, "%zu times%s)", times, at_end ? " or more" : "");
}

/* Returns the index of the first frame that is printed. For an error inside a library, the frames
 * inside the library are left out: the excerpt already shows the line that calls the library. */
static size_t first_frame(const pdl_err *err) {
    size_t i = 0;
    if (!err->skips_library) return 0;
    while (i < err->n_frames &&
           (err->frames[i].loc.src != err->loc.src || err->frames[i].loc.start != err->loc.start))
        i++;
    return i < err->n_frames ? i + 1 : i;
}

/* A recursion without an end fills the list with the same few frames. They are shown once, with the
 * number of repetitions. */
static void put_frames(const pdl_err *err, pdl_buf *out) {
    size_t i = first_frame(err);
    for (size_t shown = 0; i < err->n_frames && shown < SHOWN_FRAMES;) {
        size_t n = 1, times = 1;
        while (n <= LONGEST_CYCLE && (times = count_repeats(err, i, n)) < REPEATS) n++;
        if (n > LONGEST_CYCLE) n = times = 1;
        for (size_t k = 0; k < n; k++, shown++) {
            if (err->frames[i + k].is_tool) continue;
            put_frame(&err->frames[i + k], out);
            if (times > 1 && k == n - 1) put_times(n, times, i + n * times == err->n_frames, out);
            pdl_buf_putc(out, '\n');
        }
        i += n * times;
    }
    if (i < err->n_frames) pdl_buf_putf(out, "  ... %zu more\n", err->n_frames - i);
}

/* When a call of a tool failed, writes this call above the message. Nothing below the message names
 * the call, since the frames inside of a library are not printed. */
static void put_tool(const pdl_err *err, pdl_buf *out) {
    for (size_t i = 0; i < err->n_frames; i++) {
        if (!err->frames[i].is_tool) continue;
        put_frame(&err->frames[i], out);
        pdl_buf_putc(out, '\n');
    }
}

void pdl_err_print(const pdl_err *err, bool rich, pdl_buf *out) {
    if (rich) put_tool(err, out);
    if (err->loc.src && !err->preformatted) {
        put_place(err->loc, out);
        PDL_PUT(out, " - ");
    }
    pdl_str text = pdl_str_of(err->msg ? err->msg : pdl_err_kind_name(err->kind));
    if (rich && !err->preformatted) {
        put_message(text, out);
    } else {
        pdl_buf_put(out, text);
        pdl_buf_putc(out, '\n');
    }
    if (!rich) return;
    pdl_loc mark = err->mark.src ? err->mark : err->loc;
    if (mark.src)
        put_excerpt(err, mark, out);
    else if (err->hint)
        put_hint("  ", err->hint, out);
    put_frames(err, out);
}
