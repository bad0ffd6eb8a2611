/* err.c -- makes, wraps, copies and releases errors; see err.h.
 *
 * A message may repeat a value of the program, which may be a gigabyte, so its length is bounded.
 * Chains of causes are walked in loops, because a program decides how long they are.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/err.h"

#include <assert.h>
#include <signal.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/utf8.h"

#include "base/banned.h"

static const struct {
    const char *name;
    int code;
} kinds[] = {{"none", 0},
#define X(id, code, doc) {#id, code},
             PDL_ERR_KINDS(X)
#undef X
};
static_assert(sizeof kinds / sizeof kinds[0] == PDL_E_COUNT, "one row per kind");

const char *pdl_err_kind_name(pdl_err_kind k) {
    assert((unsigned)k < PDL_E_COUNT);
    return kinds[k].name;
}

int pdl_err_exit_code(const pdl_err *err) {
    assert((unsigned)err->kind < PDL_E_COUNT);
    return err->kind == PDL_E_exit ? err->status : kinds[err->kind].code;
}

/* Returns the text, cut at PDL_MAX_MESSAGE_BYTES. The caller frees it. */
PDL_PRINTF(1, 0) static char *format(const char *fmt, va_list ap) {
    enum { SHORT = 512 }; /* number of bytes; most messages are shorter and are formatted once */
    char first[SHORT];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(first, SHORT, fmt, ap);
    if (n < 0) PDL_BUG("bad format %s", fmt);
    bool is_short = n<SHORT, is_cut = n> PDL_MAX_MESSAGE_BYTES;
    size_t len = is_cut ? PDL_MAX_MESSAGE_BYTES : (size_t)n;
    pdl_buf b = PDL_BUF;
    if (is_short)
        pdl_buf_put(&b, (pdl_str){first, len});
    else
        vsnprintf(pdl_buf_room(&b, len), len + 1, fmt, again);
    va_end(again);
    if (is_short) return pdl_buf_take(&b);
    pdl_buf_grown(&b, len);
    if (is_cut) {
        pdl_buf_cut(&b, pdl_utf8_cut(pdl_buf_str(&b), len - 4).n);
        PDL_PUT(&b, "...");
    }
    return pdl_buf_take(&b);
}

bool pdl_err_vset(pdl_err *err, pdl_err_kind kind, pdl_loc loc, const char *fmt, va_list ap) {
    assert(err->kind == PDL_E_NONE);
    err->kind = kind;
    err->loc = loc;
    err->msg = format(fmt, ap);
    return false;
}

bool pdl_err_set(pdl_err *err, pdl_err_kind kind, pdl_loc loc, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_err_vset(err, kind, loc, fmt, ap);
    va_end(ap);
    return false;
}

bool pdl_err_host(pdl_err *err, const char *py_class, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    pdl_err_vset(err, PDL_E_expression, (pdl_loc){0}, fmt, ap);
    va_end(ap);
    err->py_class = pdl_str_dup(pdl_str_of(py_class));
    return false;
}

static char *copy(const char *z) { return z ? pdl_str_dup(pdl_str_of(z)) : NULL; }

bool pdl_err_signal(pdl_err *err, int sig) {
    if (sig == SIGINT)
        pdl_err_set(err, PDL_E_interrupt, (pdl_loc){0}, "Keyboard Interrupt");
    else
        pdl_err_set(err, PDL_E_terminated, (pdl_loc){0}, "ended by a signal");
    err->uncatchable = true;
    return false;
}

bool pdl_err_memory(pdl_err *err, size_t n) {
    if (pdl_alloc_has_room(n)) return true;
    pdl_alloc_low = false; /* the memory that is released now may suffice for the rest of the run */
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "there is no memory for %zu bytes more", n);
}

static void put_before(char **message, pdl_str text) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, text);
    pdl_buf_put(&b, pdl_str_of(*message));
    pdl_free(*message);
    *message = pdl_buf_take(&b);
}

bool pdl_err_wrap(pdl_err *err, pdl_loc loc, const char *fmt, ...) {
    assert(err->kind != PDL_E_NONE);
    pdl_err *cause = PDL_NEW(pdl_err);
    pdl_err_move(cause, err);
    pdl_buf msg = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&msg, fmt, ap);
    va_end(ap);
    PDL_PUT(&msg, ": ");
    size_t before = msg.len;
    pdl_buf_put(&msg, pdl_str_of(cause->msg));
    err->kind = cause->kind;
    err->loc = loc;
    err->mark = cause->mark.src ? cause->mark : cause->loc;
    err->msg = pdl_buf_take(&msg);
    err->plain = copy(cause->plain);
    if (err->plain) put_before(&err->plain, pdl_str_sub(pdl_str_of(err->msg), 0, before));
    err->hint = copy(cause->hint);
    err->py_class = copy(cause->py_class);
    err->detail = copy(cause->detail);
    err->facts = cause->facts;
    err->status = cause->status;
    err->has_status = cause->has_status;
    err->uncatchable = cause->uncatchable;
    err->frames = cause->frames; /* only the outermost error is printed, so it gets the frames */
    err->n_frames = cause->n_frames;
    cause->frames = NULL;
    cause->n_frames = 0;
    err->cause = cause;
    return false;
}

void pdl_err_reword(pdl_err *err, pdl_buf *msg) {
    pdl_free(err->msg);
    pdl_free(err->plain);
    err->msg = pdl_buf_take(msg);
    err->plain = NULL;
}

void pdl_err_put_before(pdl_err *err, pdl_str text) {
    put_before(&err->msg, text);
    if (err->plain) put_before(&err->plain, text);
}

pdl_str pdl_err_in_plain(const pdl_err *err) {
    return pdl_str_of(err->plain ? err->plain : err->msg ? err->msg : "");
}

void pdl_err_at(pdl_err *err, pdl_loc loc) {
    assert(err->kind != PDL_E_NONE);
    if (!err->loc.src) err->loc = loc;
}

void pdl_err_detach(pdl_err *err) {
    for (pdl_err *e = err; e; e = e->cause) {
        if (e->loc.src && !e->preformatted) {
            pdl_buf b = PDL_BUF;
            pdl_loc_put(e->loc, &b);
            pdl_err_put_before(e, pdl_buf_str(&b));
            pdl_buf_fini(&b);
        }
        e->loc = e->mark = (pdl_loc){0};
        for (size_t i = 0; i < e->n_frames; i++) e->frames[i].loc = (pdl_loc){0};
    }
}

/* Replaces a text that err owns. */
PDL_PRINTF(2, 0) static void set_text(char **to, const char *fmt, va_list ap) {
    char *text = format(fmt, ap);
    pdl_free(*to);
    *to = text;
}

void pdl_err_hint(pdl_err *err, const char *fmt, ...) {
    assert(err->kind != PDL_E_NONE);
    va_list ap;
    va_start(ap, fmt);
    set_text(&err->hint, fmt, ap);
    va_end(ap);
}

void pdl_err_plain(pdl_err *err, const char *fmt, ...) {
    assert(err->kind != PDL_E_NONE);
    va_list ap;
    va_start(ap, fmt);
    set_text(&err->plain, fmt, ap);
    va_end(ap);
}

void pdl_err_frame_add(pdl_err *err, pdl_loc loc, const char *fmt, ...) {
    assert(err->kind != PDL_E_NONE);
    va_list ap;
    va_start(ap, fmt);
    err->frames = pdl_realloc_n(err->frames, err->n_frames + 1, sizeof *err->frames);
    err->frames[err->n_frames++] = (pdl_err_frame){format(fmt, ap), loc, false, 0};
    va_end(ap);
}

bool pdl_err_has_tool(const pdl_err *err) {
    size_t i = 0;
    while (i < err->n_frames && !err->frames[i].is_tool) i++;
    return i < err->n_frames;
}

void pdl_err_tool_add(pdl_err *err, pdl_loc loc, uint64_t label, const char *fmt, ...) {
    if (pdl_err_has_tool(err)) return;
    va_list ap;
    va_start(ap, fmt);
    char *what = format(fmt, ap);
    va_end(ap);
    pdl_err_frame_add(err, loc, "%s", what);
    err->frames[err->n_frames - 1].is_tool = true;
    err->frames[err->n_frames - 1].label = label;
    pdl_free(what);
}

void pdl_err_fini(pdl_err *err) {
    pdl_free(err->msg);
    pdl_free(err->plain);
    pdl_free(err->hint);
    pdl_free(err->py_class);
    pdl_free(err->detail);
    for (size_t i = 0; i < err->n_frames; i++) pdl_free(err->frames[i].what);
    pdl_free(err->frames);
    pdl_err *cause = err->cause;
    *err = (pdl_err){0};
    while (cause) { /* this is a loop, because a chain of causes may be long */
        pdl_err *next = cause->cause;
        cause->cause = NULL;
        pdl_err_fini(cause);
        pdl_free(cause);
        cause = next;
    }
}

void pdl_err_move(pdl_err *dst, pdl_err *src) {
    assert(dst->kind == PDL_E_NONE);
    *dst = *src;
    *src = (pdl_err){0};
}

/* Copies all of src except its cause. */
static void copy_one(pdl_err *dst, const pdl_err *src) {
    *dst = *src;
    dst->msg = copy(src->msg);
    dst->plain = copy(src->plain);
    dst->hint = copy(src->hint);
    dst->py_class = copy(src->py_class);
    dst->detail = copy(src->detail);
    dst->frames = NULL;
    dst->n_frames = 0;
    for (size_t i = 0; i < src->n_frames; i++) {
        pdl_err_frame_add(dst, src->frames[i].loc, "%s", src->frames[i].what);
        dst->frames[i].is_tool = src->frames[i].is_tool;
        dst->frames[i].label = src->frames[i].label;
    }
    dst->cause = NULL;
}

void pdl_err_copy(pdl_err *dst, const pdl_err *src) {
    assert(dst->kind == PDL_E_NONE);
    copy_one(dst, src);
    /* this is a loop, because a chain of causes may be long */
    for (; src->cause; src = src->cause, dst = dst->cause) {
        dst->cause = PDL_NEW(pdl_err);
        copy_one(dst->cause, src->cause);
    }
}
