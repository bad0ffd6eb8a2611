/* host.c -- the world and its small effects; see host.h. Files that stay open are in file_write.c,
 * standard input is in standard_input.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host/host.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/pace.h"
#include "base/packed_files.h"
#include "base/utf8.h"
#include "base/word_list.h"
#include "host/host_impl.h"
#include "io/clock.h"
#include "io/entropy.h"
#include "io/file.h"
#include "value/int.h"
#include "value/label.h"

#include "base/banned.h"

static host *host_of(pdl_world *w) { return (host *)(void *)w; }

static void refuse(pdl_effect *e, pdl_err_kind kind, const char *msg) {
    pdl_err err = {0};
    pdl_err_set(&err, kind, (pdl_loc){0}, "%s", msg);
    pdl_effect_refuse(e, &err);
}

pdl_str pdl_host_text(const pdl_effect *e, const char *key) {
    pdl_vref v = pdl_dict_getz(e->request, key);
    return pdl_is_str(v) ? pdl_str_get(v) : (pdl_str){0};
}

bool pdl_host_flag(const pdl_effect *e, const char *key) {
    pdl_vref v = pdl_dict_getz(e->request, key);
    return pdl_is_bool(v) && pdl_bool_of(v);
}

/* --- read, source ----------------------------------------------------------------------------- */

/* Replaces every line end by a newline, in place. */
void pdl_host_newlines(pdl_buf *b) {
    char *cr = b->len ? memchr(b->p, '\r', b->len) : NULL;
    if (!cr) return;
    size_t to = (size_t)(cr - b->p);
    for (size_t i = to; i < b->len; i++) {
        char c = b->p[i];
        if (c == '\r' && i + 1 < b->len && b->p[i + 1] == '\n') continue;
        b->p[to++] = c == '\r' ? '\n' : c;
    }
    pdl_buf_cut(b, to);
}

int pdl_host_open(host *h, const pdl_effect *e, const char *path, int flags, unsigned mode,
                  pdl_err *err) {
    bool other = true;
    int fd = h->opt.open ? h->opt.open(h->opt.open_user, e, path,
                                       flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode, &other)
                         : -1;
    if (other) return pdl_file_open(path, flags, mode, err);
    if (fd >= 0) return fd;
    if (errno == EXDEV)
        pdl_err_set(err, PDL_E_policy, (pdl_loc){0},
                    "%s: a link leads out of the folder that confined code may write", path);
    else
        pdl_file_errno(err, errno, path);
    return -1;
}

static bool read_whole(host *h, const pdl_effect *e, const char *path, pdl_buf *out, pdl_err *err) {
    /* a part of the packed command is not in a folder that code could write, so it is read
     * directly */
    if (!h->opt.open || pdl_packed_find(path, NULL)) return pdl_file_read(path, out, err);
    int fd = pdl_host_open(h, e, path, O_RDONLY, 0, err);
    if (fd < 0) return false;
    bool ok = pdl_file_read_open(fd, path, out, err);
    close(fd);
    return ok;
}

static bool is_missing(const pdl_err *err) {
    return err->py_class && strncmp(err->py_class, "FileNotFoundError", 17) == 0;
}

static bool is_folder(const pdl_err *err) {
    return err->py_class && strncmp(err->py_class, "IsADirectoryError", 17) == 0;
}

/* Adds the place of the fault as a hint. The message has the same text as in the reference. A byte
 * order mark of UTF-16 says what the file is. */
static void hint_fault(pdl_err *err, pdl_str shown, pdl_str bytes, const pdl_utf8_fault *f) {
    bool utf16 =
        pdl_str_starts(bytes, PDL_STR("\xff\xfe")) || pdl_str_starts(bytes, PDL_STR("\xfe\xff"));
    pdl_err_hint(err, "%.*s:%u, column %u: byte 0x%02x is not UTF-8%s", PDL_FMT(shown), f->line,
                 f->column, f->byte, utf16 ? "; the file is UTF-16: save it as UTF-8" : "");
}

/* Returns true for names that people often write when they mean standard input, or a question to a
 * person. */
static bool is_question(pdl_str name) {
    static const char *const inputs[] = {"stdin", "-", "input", "user", "sys.stdin"};
    if (PDL_STR_IN(name, inputs)) return true;
    pdl_str end = pdl_str_trim(name);
    return end.n && pdl_byte_in(end.p[end.n - 1], PDL_STR("?:"));
}

static void read_file(host *h, pdl_effect *e) {
    pdl_str path = pdl_host_text(e, "path"), shown = pdl_host_text(e, "shown");
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_err err = {0}, out = {0};
    bool ok = path.p && !memchr(path.p, 0, path.n) && read_whole(h, e, path.p, &b, &err);
    if (!shown.p) shown = path;
    pdl_utf8_fault fault = {0};
    if (ok && !pdl_utf8_find_fault(pdl_buf_str(&b), &fault)) {
        pdl_host_newlines(&b);
        pdl_effect_answer(e, pdl_text_of_buf(&b), 0);
    } else if (err.uncatchable || err.kind == PDL_E_budget || err.kind == PDL_E_policy) {
        pdl_effect_refuse(e, &err);
    } else {
        bool missing = !ok && is_missing(&err);
        pdl_err_set(&out, PDL_E_io, (pdl_loc){0},
                    missing ? "file %.*s not found" : "Fail to open file %.*s", PDL_FMT(shown));
        const char *py_class = missing ? "FileNotFoundError,OSError,Exception"
                               : ok    ? "UnicodeDecodeError,ValueError,Exception"
                                       : err.py_class;
        out.py_class = py_class ? pdl_str_dup(pdl_str_of(py_class)) : NULL;
        if (ok) hint_fault(&out, shown, pdl_buf_str(&b), &fault);
        if (is_folder(&err))
            pdl_err_hint(&out, "it is a folder");
        else if (!missing && err.msg)
            pdl_err_hint(&out, "%s", err.msg);
        if (missing && pdl_str_find(shown, PDL_STR(":/"), 0) != PDL_NOT_FOUND)
            pdl_err_hint(&out, "`read` reads files; stdlib.http(URL).text is a page");
        else if (missing && pdl_str_starts(shown, PDL_STR("~")))
            pdl_err_hint(&out, "only a shell knows ~: give the folder, -d home=\"$HOME\", and "
                               "write ${ home }/FILE");
        else if (missing && pdl_byte_in('*', shown))
            pdl_err_hint(&out, "only a shell knows *: `read` reads one file");
        else if (missing && is_question(shown))
            pdl_err_hint(&out, "`read` names a file; without one it reads what a person types, and "
                               "`message: ...` asks for it");
        pdl_effect_refuse(e, &out);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

/* The result of reading a program file into b. SOURCE_MISSING: there is no such file;
 * SOURCE_ANSWERED: the effect was answered with an error. */
typedef enum { SOURCE_FOUND, SOURCE_MISSING, SOURCE_ANSWERED } source_state;

static source_state open_source(host *h, pdl_effect *e, pdl_str path, pdl_buf *b) {
    pdl_err err = {0};
    if (!path.p || memchr(path.p, 0, path.n)) {
        refuse(e, PDL_E_io, "not a path");
        return SOURCE_ANSWERED;
    }
    if (read_whole(h, e, path.p, b, &err)) {
        pdl_utf8_fault fault;
        if (!pdl_utf8_find_fault(pdl_buf_str(b), &fault)) return SOURCE_FOUND;
        pdl_err_set(&err, PDL_E_io, (pdl_loc){0}, "%.*s is not UTF-8", PDL_FMT(path));
        hint_fault(&err, path, pdl_buf_str(b), &fault);
    } else if (is_missing(&err)) {
        pdl_err_fini(&err);
        return SOURCE_MISSING;
    } else if (is_folder(&err)) {
        pdl_err_hint(&err, "it is a folder: name a file in it");
    }
    pdl_effect_refuse(e, &err);
    return SOURCE_ANSWERED;
}

static void find_source(host *h, pdl_effect *e, pdl_str path, pdl_vref folders) {
    pdl_buf full = PDL_BUF, text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    source_state s = SOURCE_MISSING;
    /* an answer releases the request, which has the folders */
    for (size_t i = 0; s == SOURCE_MISSING && i < pdl_list_len(folders); i++) {
        pdl_buf_clear(&full);
        pdl_buf_putf(&full, "%.*s/%.*s", PDL_FMT(pdl_str_get(pdl_list_at(folders, i))),
                     PDL_FMT(path));
        s = open_source(h, e, (pdl_str){pdl_buf_z(&full), full.len}, &text);
    }
    if (s == SOURCE_FOUND) {
        pdl_val found = pdl_dict_putz(pdl_dict_new(2), "path", pdl_text(pdl_buf_str(&full)));
        pdl_effect_answer(e, pdl_dict_putz(found, "text", pdl_text_of_buf(&text)), 0);
    } else if (s == SOURCE_MISSING) {
        pdl_effect_answer(e, pdl_null(), 0);
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&full);
}

static void read_source(host *h, pdl_effect *e) {
    pdl_vref folders = pdl_dict_getz(e->request, "under");
    if (pdl_is_list(folders)) {
        find_source(h, e, pdl_host_text(e, "path"), folders);
        return;
    }
    pdl_buf b = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    source_state s = open_source(h, e, pdl_host_text(e, "path"), &b);
    if (s == SOURCE_FOUND) pdl_effect_answer(e, pdl_text_of_buf(&b), 0);
    if (s == SOURCE_MISSING) pdl_effect_answer(e, pdl_null(), 0);
    pdl_buf_fini(&b);
}

/* --- sleep, now, random ----------------------------------------------------------------------- */

static void wake(void *user) {
    host_wait *s = user;
    pdl_effect *e = s->e;
    s->timer = NULL;
    pdl_host_wait_end(s);
    pdl_effect_answer(e, pdl_null(), 0);
}

static void start_sleep(host *h, pdl_effect *e) {
    pdl_vref v = pdl_dict_getz(e->request, "seconds");
    double seconds = pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v)
                     : pdl_is_int(v)        ? pdl_num_to_double(v)
                                            : 0;
    if (!(seconds > 0)) {
        pdl_effect_answer(e, pdl_null(), 0);
        return;
    }
    host_wait *s = pdl_host_wait_new(h, e);
    double ms = ceil(seconds * 1000);
    uint64_t wait_ms = pdl_pace_ms(ms < 1e15 ? (uint64_t)ms : (uint64_t)1e15);
    s->timer = pdl_timer_start(h->loop, wait_ms, wake, s);
}

static void answer_now(pdl_effect *e) {
    pdl_effect_answer(e, pdl_float((double)pdl_clock_wall_ns() / 1e9), 0);
}

static void answer_random(pdl_effect *e) {
    pdl_effect_answer(e, pdl_int((int64_t)pdl_rand_fresh_seed()), 0);
}

/* --- waiting effects -------------------------------------------------------------------------- */

host_wait *pdl_host_wait_new(host *h, pdl_effect *e) {
    host_wait *s = PDL_NEW(host_wait);
    s->h = h;
    s->e = e;
    *pdl_vec_push(&h->waits) = s;
    return s;
}

void pdl_host_wait_end(host_wait *s) {
    host *h = s->h;
    size_t i = 0;
    while (i < h->waits.n && h->waits.p[i] != s) i++;
    assert(i < h->waits.n); /* a wait ends only once */
    memmove(&h->waits.p[i], &h->waits.p[i + 1], (h->waits.n - i - 1) * sizeof(host_wait *));
    h->waits.n--;
    pdl_timer_stop(s->timer);
    pdl_buf_fini(&s->text);
    pdl_free(s);
}

bool pdl_host_ok(const host *h) {
    for (size_t i = 0; i < h->waits.n; i++)
        if (h->waits.p[i]->h != h || !h->waits.p[i]->e) return false;
    return h->in_off <= h->in.len && h->in_seen <= h->in.len - h->in_off &&
           (h->asking != 0) == (h->tty >= 0) && (!h->tty_watch || h->asking) &&
           (!h->in_edit || (h->edit && !h->asking));
}

/* --- the world -------------------------------------------------------------------------------- */

static void start(pdl_world *w, pdl_effect *e) {
    host *h = host_of(w);
    if (!pdl_is_dict(e->request))
        refuse(e, PDL_E_runtime, "a request that is not an object");
    else if (e->kind == PDL_EFFECT_read)
        read_file(h, e);
    else if (e->kind == PDL_EFFECT_write)
        pdl_host_write_file(h, e);
    else if (e->kind == PDL_EFFECT_input)
        pdl_host_input_start(h, e);
    else if (e->kind == PDL_EFFECT_source)
        read_source(h, e);
    else if (e->kind == PDL_EFFECT_approval)
        pdl_host_approval_start(h, e);
    else if (e->kind == PDL_EFFECT_sleep)
        start_sleep(h, e);
    else if (e->kind == PDL_EFFECT_now)
        answer_now(e);
    else if (e->kind == PDL_EFFECT_random)
        answer_random(e);
    else
        refuse(e, PDL_E_runtime, "no world answers effects of this kind");
    assert(pdl_host_ok(h));
}

static void cancel(pdl_world *w, uint32_t id) {
    host *h = host_of(w);
    for (size_t i = 0; i < h->waits.n; i++) {
        host_wait *s = h->waits.p[i];
        if (s->e->id != id) continue;
        pdl_effect_free(s->e);
        pdl_host_wait_end(s);
        pdl_host_input_idle(h);
        pdl_host_approval_idle(h);
        assert(pdl_host_ok(h));
        return;
    }
}

static bool poll_world(pdl_world *w, int timeout_ms) {
    host *h = host_of(w);
    if (!h->waits.n) return false;
    pdl_loop_run(h->loop, timeout_ms);
    assert(pdl_host_ok(h));
    return true;
}

static void close_world(pdl_world *w) {
    host *h = host_of(w);
    while (h->waits.n) {
        pdl_effect_free(h->waits.p[h->waits.n - 1]->e);
        pdl_host_wait_end(h->waits.p[h->waits.n - 1]);
    }
    pdl_vec_fini(&h->waits);
    pdl_host_approval_close(h);
    pdl_host_input_close(h);
    pdl_host_write_close_all(h);
    pdl_free(h);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll_world, .close = close_world};

pdl_world *pdl_host_world_new(pdl_loop *loop, const pdl_host_options *opt) {
    host *h = PDL_NEW(host);
    h->base.ops = &ops;
    h->loop = loop;
    h->tty = -1;
    if (opt) h->opt = *opt;
    if (!h->opt.has_input_fd) h->opt.input_fd = 0;
    return &h->base;
}
