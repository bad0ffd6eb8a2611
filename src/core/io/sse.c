/* sse.c -- see sse.h. A line that arrives in one piece is passed on as a slice of the input. Only
 * lines that the network has cut are copied.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/sse.h"

#include <assert.h>

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"

#include "base/banned.h"

static bool hand_out(pdl_str line, pdl_line_fn *fn, void *user, pdl_err *err) {
    if (PDL_LIKELY(pdl_utf8_check(line) == PDL_NOT_FOUND)) return fn(user, line, err);
    pdl_buf fixed = PDL_BUF;
    pdl_utf8_repair(&fixed, line);
    bool ok = fn(user, pdl_buf_str(&fixed), err);
    pdl_buf_fini(&fixed);
    return ok;
}

static size_t max_line(const pdl_lines *r) {
    return r->max_line ? r->max_line : (size_t)PDL_MAX_SSE_LINE_BYTES;
}

static bool keep_part(pdl_lines *r, pdl_str bytes, pdl_err *err) {
    size_t max = max_line(r);
    if (bytes.n > max || r->part.len > max - bytes.n)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "a line of the stream is longer than %zu bytes", max);
    r->part.limit = (size_t)-1 >> 2;
    pdl_buf_put(&r->part, bytes);
    return true;
}

/* Ends a line that consists of the stored part and the slice. */
static bool end_line(pdl_lines *r, pdl_str slice, pdl_line_fn *fn, void *user, pdl_err *err) {
    if (r->part.len == 0) {
        if (slice.n > max_line(r)) return keep_part(r, slice, err);
        return hand_out(slice, fn, user, err);
    }
    if (!keep_part(r, slice, err)) return false;
    /* fn may call this reader again, so the buffer must not change meanwhile */
    pdl_buf line = r->part;
    r->part = (pdl_buf){0};
    bool ok = hand_out(pdl_buf_str(&line), fn, user, err);
    if (r->part.p) {
        pdl_buf_fini(&line);
    } else {
        pdl_buf_clear(&line);
        r->part = line;
    }
    return ok;
}

/* Returns the offset of the first LF or CR from `from` on, or the end. *lf remembers the next LF,
 * so that it is searched only once. */
static size_t find_end(pdl_str s, size_t from, size_t *lf) {
    if (*lf == PDL_NOT_FOUND || *lf < from) {
        const char *p = from < s.n ? memchr(s.p + from, '\n', s.n - from) : NULL;
        *lf = p ? (size_t)(p - s.p) : s.n;
    }
    const char *cr = *lf > from ? memchr(s.p + from, '\r', *lf - from) : NULL;
    return cr ? (size_t)(cr - s.p) : *lf;
}

bool pdl_lines_feed(pdl_lines *r, pdl_str bytes, pdl_line_fn *fn, void *user, pdl_err *err) {
    size_t pos = 0, lf = PDL_NOT_FOUND;
    if (bytes.n && r->after_cr) {
        r->after_cr = false;
        if (bytes.p[0] == '\n') pos = 1;
    }
    while (pos < bytes.n) {
        size_t end = find_end(bytes, pos, &lf);
        pdl_str slice = pdl_str_sub(bytes, pos, end);
        if (end == bytes.n) return keep_part(r, slice, err);
        pos = end + 1;
        if (bytes.p[end] == '\r') {
            if (pos == bytes.n)
                r->after_cr = true;
            else if (bytes.p[pos] == '\n')
                pos++;
        }
        if (!end_line(r, slice, fn, user, err)) return false;
    }
    return true;
}

bool pdl_lines_end(pdl_lines *r, pdl_line_fn *fn, void *user, pdl_err *err) {
    if (r->part.len == 0) return true;
    return end_line(r, (pdl_str){0}, fn, user, err);
}

void pdl_lines_fini(pdl_lines *r) {
    pdl_buf_fini(&r->part);
    *r = (pdl_lines){.max_line = r->max_line};
}

/* --- events ----------------------------------------------------------------------------------- */

typedef struct sse_feed {
    pdl_sse *s;
    pdl_sse_fn *fn;
    void *user;
} sse_feed;

/* Adds a data line. The limit is for all data lines of one event together. */
static bool add_data(pdl_sse *s, pdl_str value, pdl_err *err) {
    size_t max = max_line(&s->lines);
    s->data.limit = s->name.limit = (size_t)-1 >> 2;
    if (s->data.len > max || value.n > max - s->data.len)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0},
                           "an event of the stream is longer than %zu bytes", max);
    if (s->has_data) pdl_buf_putc(&s->data, '\n');
    pdl_buf_put(&s->data, value);
    s->has_data = true;
    return true;
}

/* Reports an event. complete says whether the blank line at the end of the event was read. */
static bool dispatch(sse_feed *f, bool complete, pdl_err *err) {
    pdl_sse *s = f->s;
    bool ok = true;
    if (complete && s->has_id) {
        pdl_buf old = s->id;
        s->id = s->next_id;
        s->next_id = old;
    }
    s->has_id = false;
    if (s->has_data || pdl_str_is(pdl_buf_str(&s->name), "error")) {
        s->has_data = false;
        ok = f->fn(f->user, pdl_buf_str(&s->name), pdl_buf_str(&s->data), err);
    }
    pdl_buf_clear(&s->data);
    pdl_buf_clear(&s->name);
    return ok;
}

/* Reads the value after "field:" and one blank. Returns false when the line is something else. */
static bool field(pdl_str line, pdl_str name, pdl_str *value) {
    if (!pdl_str_starts(line, name)) return false;
    if (line.n == name.n) {
        *value = (pdl_str){0};
        return true;
    }
    if (line.p[name.n] != ':') return false;
    size_t from = name.n + 1;
    if (from < line.n && line.p[from] == ' ') from++;
    *value = pdl_str_sub(line, from, line.n);
    return true;
}

static void set_id(pdl_sse *s, pdl_str value) {
    for (size_t i = 0; i < value.n; i++)
        if ((unsigned char)value.p[i] < ' ' || value.p[i] == 0x7f) return;
    if (value.n > PDL_MAX_SSE_ID) return;
    pdl_buf_clear(&s->next_id);
    s->next_id.limit = PDL_MAX_SSE_ID + 1;
    pdl_buf_put(&s->next_id, value);
    s->has_id = true;
}

static void set_retry(pdl_sse *s, pdl_str value) {
    int64_t ms;
    if (value.n <= 9 && pdl_num_read_int(value, &ms) && ms >= 0) s->retry_ms = (uint64_t)ms;
}

/* Ends the event that was read so far, and adds an event for the error. */
static bool add_error(sse_feed *f, pdl_str value, pdl_err *err) {
    if (!dispatch(f, false, err)) return false;
    f->s->name.limit = (size_t)-1 >> 2;
    PDL_PUT(&f->s->name, "error");
    return add_data(f->s, value, err);
}

/* Keeps a line that is not a field. A server that does not send events reports its error in such a
 * line. */
static void keep_stray(pdl_sse *s, pdl_str line) {
    s->stray.limit = PDL_MAX_SSE_STRAY + 1;
    if (s->stray.len >= PDL_MAX_SSE_STRAY) return;
    if (s->stray.len) pdl_buf_putc(&s->stray, '\n');
    pdl_buf_put(&s->stray, pdl_utf8_cut(line, PDL_MAX_SSE_STRAY - s->stray.len));
}

/* Reads one line. Blanks before a field are skipped, because an event of a server that indents its
 * fields would be lost without a word. */
static bool sse_line(void *user, pdl_str line, pdl_err *err) {
    sse_feed *f = user;
    pdl_sse *s = f->s;
    pdl_str value;
    if (!s->not_first) {
        s->not_first = true;
        line = pdl_utf8_unmarked(line);
    }
    if (line.n == 0) return dispatch(f, true, err);
    while (line.n && (line.p[0] == ' ' || line.p[0] == '\t')) line = pdl_str_sub(line, 1, line.n);
    if (line.n == 0) return true;
    if (field(line, PDL_STR("data"), &value)) return add_data(s, value, err);
    if (field(line, PDL_STR("error"), &value)) return add_error(f, value, err);
    if (field(line, PDL_STR("event"), &value)) {
        pdl_buf_clear(&s->name);
        s->name.limit = (size_t)-1 >> 2;
        pdl_buf_put(&s->name, value);
    } else if (field(line, PDL_STR("id"), &value)) {
        set_id(s, value);
    } else if (field(line, PDL_STR("retry"), &value)) {
        set_retry(s, value);
    } else if (line.p[0] != ':') {
        keep_stray(s, line);
    }
    return true;
}

bool pdl_sse_feed(pdl_sse *s, pdl_str bytes, pdl_sse_fn *fn, void *user, pdl_err *err) {
    sse_feed f = {s, fn, user};
    return pdl_lines_feed(&s->lines, bytes, sse_line, &f, err);
}

bool pdl_sse_end(pdl_sse *s, pdl_sse_fn *fn, void *user, pdl_err *err) {
    sse_feed f = {s, fn, user};
    return pdl_lines_end(&s->lines, sse_line, &f, err) && dispatch(&f, false, err);
}

void pdl_sse_fini(pdl_sse *s) {
    pdl_lines_fini(&s->lines);
    pdl_buf_fini(&s->data);
    pdl_buf_fini(&s->name);
    pdl_buf_fini(&s->id);
    pdl_buf_fini(&s->next_id);
    pdl_buf_fini(&s->stray);
    s->retry_ms = 0;
    s->has_data = s->has_id = s->not_first = false;
}

void pdl_sse_write(pdl_str name, pdl_str data, pdl_buf *out) {
    if (name.n) {
        PDL_PUT(out, "event: ");
        pdl_buf_put(out, name);
        pdl_buf_putc(out, '\n');
    }
    for (size_t pos = 0; pos <= data.n;) {
        size_t end = pos;
        while (end < data.n && data.p[end] != '\n' && data.p[end] != '\r') end++;
        PDL_PUT(out, "data: ");
        pdl_buf_put(out, pdl_str_sub(data, pos, end));
        pdl_buf_putc(out, '\n');
        pos = end + (end + 1 < data.n && data.p[end] == '\r' && data.p[end + 1] == '\n' ? 2 : 1);
    }
    pdl_buf_putc(out, '\n');
}
