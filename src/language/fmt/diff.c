/* diff.c -- see diff.h: Myers' shortest edit script over lines, written as a unified diff.
 *
 * The formatter changes lines in place, so the script is short. The work grows with the square of
 * the number of edits, so beyond MAX_EDITS the differing part is shown as one replacement.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "fmt/diff.h"

#include <assert.h>

#include "base/vec.h"

#include "base/banned.h"

enum { CONTEXT = 3, MAX_EDITS = 1500 };

typedef PDL_VEC(pdl_str) lines;

/* One line of the script: ' ', '-' or '+'. */
typedef struct edit_line {
    char sign;
    pdl_str text;
} edit_line;

typedef struct diff_script {
    lines a, b;
    PDL_VEC(edit_line) rows; /* the rows are in reverse order */
} diff_script;

static void split(pdl_str s, lines *out) {
    while (s.n) {
        size_t lf = pdl_str_find(s, PDL_STR("\n"), 0), n = lf == PDL_NOT_FOUND ? s.n : lf + 1;
        *pdl_vec_push(out) = pdl_str_sub(s, 0, n);
        s = pdl_str_sub(s, n, s.n);
    }
}

static void add_row(diff_script *s, char sign, pdl_str text) {
    *pdl_vec_push(&s->rows) = (edit_line){sign, text};
}

/* Returns the middle of the row for d edits. v has the rows for 0, 1, ... edits, one after another.
 * The row has an entry for each diagonal from -d to d: how many lines of the old text d edits reach
 * at most. */
static int32_t *row_of(int32_t *v, int32_t d) { return v + (size_t)d * (size_t)d + (size_t)d; }

static int32_t step_x(const int32_t *prev, int32_t d, int32_t k) {
    if (!d) return 0;
    if (k == -d || (k != d && prev[k - 1] < prev[k + 1])) return prev[k + 1];
    return prev[k - 1] + 1;
}

/* Returns the number of edits between the n lines from a and the m lines from b, or -1 when there
 * are more than MAX_EDITS. Writes the rows of row_of to v. */
static int32_t search(const pdl_str *a, int32_t n, const pdl_str *b, int32_t m, int32_t *v) {
    for (int32_t d = 0; d <= MAX_EDITS; d++) {
        const int32_t *prev = d ? row_of(v, d - 1) : NULL;
        int32_t *row = row_of(v, d);
        for (int32_t k = -d; k <= d; k += 2) {
            int32_t x = step_x(prev, d, k), y = x - k;
            while (x < n && y >= 0 && y < m && pdl_str_eq(a[x], b[y])) x++, y++;
            row[k] = x;
            if (x >= n && y >= m) return d;
        }
    }
    return -1;
}

/* Adds the rows of d edits, from the last to the first. They make y lines of b from x lines of a. v
 * is what the search wrote. */
static void trace(diff_script *s, size_t head, int32_t x, int32_t y, int32_t *v, int32_t d) {
    const pdl_str *a = s->a.p + head, *b = s->b.p + head;
    for (; d > 0; d--) {
        const int32_t *prev = row_of(v, d - 1);
        int32_t k = x - y, from = step_x(prev, d, k);
        bool down = k == -d || (k != d && prev[k - 1] < prev[k + 1]);
        for (; x > from; x--, y--) add_row(s, ' ', a[x - 1]);
        if (down)
            add_row(s, '+', b[--y]);
        else
            add_row(s, '-', a[--x]);
    }
    for (; x > 0; x--) add_row(s, ' ', a[x - 1]);
}

static void find_script(diff_script *s) {
    size_t head = 0, tail = 0, na = s->a.n, nb = s->b.n;
    while (head < na && head < nb && pdl_str_eq(s->a.p[head], s->b.p[head])) head++;
    while (tail < na - head && tail < nb - head &&
           pdl_str_eq(s->a.p[na - 1 - tail], s->b.p[nb - 1 - tail]))
        tail++;
    const pdl_str *a = s->a.p + head, *b = s->b.p + head;
    size_t n = na - head - tail, m = nb - head - tail;
    size_t cells = (size_t)(MAX_EDITS + 1) * (MAX_EDITS + 2);
    size_t most = n + m < MAX_EDITS ? (n + m + 1) * (n + m + 2) : cells;
    int32_t *v = PDL_NEW_N(int32_t, most + 1);
    int32_t d = search(a, (int32_t)n, b, (int32_t)m, v);
    for (size_t i = 0; i < tail; i++) add_row(s, ' ', s->a.p[na - 1 - i]);
    if (d >= 0) trace(s, head, (int32_t)n, (int32_t)m, v, d);
    for (size_t i = m; d < 0 && i; i--) add_row(s, '+', b[i - 1]);
    for (size_t i = n; d < 0 && i; i--) add_row(s, '-', a[i - 1]);
    for (size_t i = head; i; i--) add_row(s, ' ', s->a.p[i - 1]);
    pdl_free(v);
}

/* Invariants: the rows without additions are the lines of the old text in their order. The rows
 * without removals are the lines of the new text in their order. */
static inline bool script_ok(const diff_script *s) {
    size_t a = s->a.n, b = s->b.n;
    for (size_t i = 0; i < s->rows.n; i++) { /* the rows are in the reverse order of the texts */
        const edit_line *row = &s->rows.p[i];
        if (row->sign != '+' && (!a || !pdl_str_eq(s->a.p[--a], row->text))) return false;
        if (row->sign != '-' && (!b || !pdl_str_eq(s->b.p[--b], row->text))) return false;
    }
    return !a && !b;
}

static const edit_line *row_at(const diff_script *s, size_t i) {
    return &s->rows.p[s->rows.n - 1 - i];
}

/* Writes rows [from, to) as one hunk; line numbers from 0. */
static void put_hunk(const diff_script *s, size_t from, size_t to, size_t line_a, size_t line_b,
                     pdl_buf *out) {
    size_t na = 0, nb = 0;
    for (size_t i = from; i < to; i++) {
        na += row_at(s, i)->sign != '+';
        nb += row_at(s, i)->sign != '-';
    }
    pdl_buf_putf(out, "@@ -%zu,%zu +%zu,%zu @@\n", line_a + (na > 0), na, line_b + (nb > 0), nb);
    for (size_t i = from; i < to; i++) {
        pdl_str text = row_at(s, i)->text;
        pdl_buf_putc(out, row_at(s, i)->sign);
        pdl_buf_put(out, text);
        if (!pdl_str_ends(text, PDL_STR("\n"))) PDL_PUT(out, "\n\\ No newline at end of file\n");
    }
}

/* Returns the end of the hunk whose first change is row i. A hunk ends CONTEXT lines after its last
 * change. */
static size_t hunk_end(const diff_script *s, size_t i) {
    size_t last = i;
    for (; i < s->rows.n && i - last <= 2 * CONTEXT; i++)
        if (row_at(s, i)->sign != ' ') last = i;
    last += CONTEXT + 1;
    return last < s->rows.n ? last : s->rows.n;
}

void pdl_diff(pdl_str name, pdl_str before, pdl_str after, pdl_buf *out) {
    diff_script s = {0};
    size_t line_a = 0, line_b = 0, done = 0; /* numbers of the lines at row `done` */
    split(before, &s.a);
    split(after, &s.b);
    find_script(&s);
    assert(script_ok(&s));
    pdl_buf_putf(out, "--- %.*s\n+++ %.*s\n", PDL_FMT(name), PDL_FMT(name));
    for (size_t i = 0; i < s.rows.n; i++) {
        if (row_at(&s, i)->sign == ' ') continue;
        size_t from = i - done > CONTEXT ? i - CONTEXT : done, to = hunk_end(&s, i);
        line_a += from - done;
        line_b += from - done;
        put_hunk(&s, from, to, line_a, line_b, out);
        for (size_t k = from; k < to; k++) {
            line_a += row_at(&s, k)->sign != '+';
            line_b += row_at(&s, k)->sign != '-';
        }
        done = to;
        i = to - 1;
    }
    pdl_vec_fini(&s.a);
    pdl_vec_fini(&s.b);
    pdl_vec_fini(&s.rows);
}
