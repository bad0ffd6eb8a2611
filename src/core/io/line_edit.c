/* line_edit.c -- see line_edit.h.
 *
 * libedit reads keys through a function of ours, for three reasons. First, a signal just before a
 * blocking read would be lost, so the read also waits for a second descriptor, to which the
 * signal's handler writes. Second, libedit decodes input by the locale of the process, which is
 * "C", so that a letter that is not ASCII would end the line. This function decodes UTF-8. Third,
 * the wait for the rest of a key sequence, such as that of a cursor key, has to end, because other
 * events of the loop wait meanwhile.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/line_edit.h"

#include <assert.h>
#include <errno.h>
#include <locale.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>

#include "base/err.h"
#include "base/libraries.h"
#include "base/limits.h"
#include "base/termsafe.h"
#include "base/utf8.h"
#include "io/tty.h"

#include "base/banned.h"

/* The part of libedit's interface that is used; its header is not needed to build. */
typedef struct history_event {
    int number;
    const char *text;
} history_event;
typedef struct line_info {
    const char *start, *cursor, *end;
} line_info;
enum { SET_PROMPT = 0, SET_EDITOR = 2, SET_BIND = 4, SET_FUNCTION = 9, SET_HISTORY = 10 };
enum { SET_READ = 13, SET_UNBUFFERED = 15 };
enum {
    HISTORY_SIZE = 1,
    HISTORY_ENTER = 10,
    HISTORY_LOAD = 17,
    HISTORY_SAVE = 18,
    HISTORY_UNIQUE = 20
};
enum { CODE_REFRESH = 4, CODE_ERROR = 6, CODE_REDISPLAY = 8 };
enum { MANY_LINES = 1000, SEQUENCE_MS = 500, END_KEY = 4 /* Ctrl-D */ };

typedef struct edit_api {
    void *(*el_init)(const char *program, FILE *in, FILE *out, FILE *err);
    void (*el_end)(void *el);
    const char *(*el_gets)(void *el, int *n);
    int (*el_set)(void *el, int what, ...);
    int (*el_wset)(void *el, int what, ...);
    const line_info *(*el_line)(void *el);
    int (*el_insertstr)(void *el, const char *text);
    void *(*history_init)(void);
    void (*history_end)(void *history);
    int (*history)(void *history, history_event *event, int what, ...);
} edit_api;

static const pdl_library_symbol edit_symbols[] = {
#define S(name)                                                                                    \
    { #name, offsetof(edit_api, name) }
    S(el_init), S(el_end),       S(el_gets),      S(el_set),      S(el_wset),
    S(el_line), S(el_insertstr), S(history_init), S(history_end), S(history),
#undef S
};

struct pdl_line_edit {
    pdl_line_edit_options opt;
    edit_api api;
    void *el, *history; /* NULL when lines are read without libedit */
    const char *prompt; /* the prompt of the line that is being read */
    /* the locale in which libedit works; 0 when the system has none for UTF-8 */
    locale_t locale;
    size_t n_bytes; /* number of bytes that were read since libedit was called */
    /* number of unread bytes that were typed while the terminal was in line mode */
    size_t n_ahead;
    bool is_first;  /* nothing was read since the terminal entered single-key mode */
    bool in_loop;   /* pdl_line_edit_start was called, and its line has not ended */
    bool is_answer; /* the typed text is the answer to a program */
    bool at_end;    /* Ctrl-D was typed on an empty line, or the terminal is gone */
};

/* The line editor of the process; NULL when there is none. There can be only one, because libedit
 * calls our functions without a pointer to it. */
static pdl_line_edit *the_one;

static bool load(edit_api *api) {
    static const char *const names[] = {"libedit.so.2", "libedit.so", "libedit.dylib"};
    return pdl_library_load(names, sizeof names / sizeof *names, edit_symbols,
                            sizeof edit_symbols / sizeof *edit_symbols, api);
}

static const char *prompt_of(void *el) {
    (void)el;
    return the_one->prompt;
}

/* --- completion ------------------------------------------------------------------------------- */

typedef struct word_list {
    pdl_buf all, common; /* the words with blanks between them, and their common beginning */
    size_t n;
} word_list;

static void add_word(void *to, pdl_str word) {
    word_list *w = to;
    size_t same = 0;
    while (same < word.n && same < w->common.len && word.p[same] == w->common.p[same]) same++;
    if (!w->n++)
        pdl_buf_put(&w->common, word);
    else
        w->common.len = same;
    pdl_buf_putf(&w->all, "%s%.*s", w->n > 1 ? "  " : "", PDL_FMT(word));
}

/* Completes the word to the common beginning of all candidates. Shows the candidates when there is
 * nothing to add. */
static unsigned char complete(void *el, int key) {
    (void)key;
    const pdl_line_edit *e = the_one;
    const line_info *line = e->api.el_line(el);
    pdl_str before = {line->start, (size_t)(line->cursor - line->start)};
    word_list w = {.all = PDL_BUF, .common = PDL_BUF};
    size_t n_typed = 0;
    if (e->is_answer) return CODE_ERROR;
    e->opt.complete(e->opt.user, before, &n_typed, add_word, &w);
    unsigned char code = CODE_ERROR;
    if (w.common.len > n_typed) {
        code = e->api.el_insertstr(el, pdl_buf_z(&w.common) + n_typed) ? CODE_ERROR : CODE_REFRESH;
    } else if (w.n) {
        putchar('\n');
        (void)pdl_write_termsafe(stdout, pdl_buf_str(&w.all));
        putchar('\n');
        code = CODE_REDISPLAY;
    }
    pdl_buf_fini(&w.all);
    pdl_buf_fini(&w.common);
    return code;
}

/* --- keys ------------------------------------------------------------------------------------- */

/* Returns false when the current line must be dropped, or when no byte was typed in time. */
static bool wait_for_byte(const pdl_line_edit *e) {
    struct pollfd fds[] = {{STDIN_FILENO, POLLIN, 0}, {e->opt.wake, POLLIN, 0}};
    int limit_ms = !e->in_loop ? -1 : e->n_bytes ? SEQUENCE_MS : 0, n;
    do n = poll(fds, e->opt.has_wake ? 2 : 1, limit_ms);
    while (n < 0 && errno == EINTR && e->opt.has_wake);
    char bytes[64];
    if (n > 0 && e->opt.has_wake && fds[1].revents) {
        (void)!read(e->opt.wake, bytes, sizeof bytes);
        errno = EINTR;
        return false;
    }
    return n > 0;
}

/* Counts the bytes that are available when the terminal has just entered single-key mode. They were
 * typed earlier: while a program ran, or right after the prompt. */
static void count_ahead(pdl_line_edit *e) {
    int n = 0;
    if (!e->is_first) return;
    e->is_first = false;
    e->n_ahead = ioctl(STDIN_FILENO, FIONREAD, &n) == 0 && n > 0 ? (size_t)n : 0;
}

/* Restores a Ctrl-D that was typed in line mode: Linux takes it for the end of a line and leaves a
 * zero byte in its place. */
static void restore_end_key(pdl_line_edit *e, char *byte) {
    if (!e->n_ahead) return;
    e->n_ahead--;
    if (!*byte) *byte = END_KEY;
}

static int read_byte(pdl_line_edit *e, char *byte) {
    if (e->el) count_ahead(e);
    if (!wait_for_byte(e)) return -1;
    ssize_t n = read(STDIN_FILENO, byte, 1);
    if (n < 0 && errno == EINTR) return -1;
    if (n <= 0) e->at_end = true;
    if (n > 0) restore_end_key(e, byte);
    e->n_bytes += n > 0;
    return (int)n;
}

/* Returns 1 with a character in *out; 0 at the end of input; -1 with errno. */
static int read_key(void *el, wchar_t *out) {
    pdl_line_edit *e = the_one;
    char bytes[5] = {0};
    int n = read_byte(e, bytes);
    if (n <= 0) return n;
    size_t n_all = pdl_utf8_len((unsigned char)bytes[0]);
    for (size_t i = 1; i < n_all; i++)
        if (read_byte(e, bytes + i) != 1 || ((unsigned char)bytes[i] & 0xC0) != 0x80) break;
    const char *p = bytes;
    bool is_valid = pdl_utf8_check(pdl_str_of(bytes)) == PDL_NOT_FOUND;
    *out = is_valid ? (wchar_t)pdl_utf8_next(&p) : 0xFFFD;
    const line_info *line = e->api.el_line(el);
    e->at_end = *out == END_KEY && line->start == line->end;
    return e->at_end ? 0 : 1;
}

/* Enters the locale of libedit. libedit writes characters by the locale of the thread. */
static locale_t enter(const pdl_line_edit *e) {
    return e->locale ? uselocale(e->locale) : (locale_t)0;
}

static void leave(locale_t before) {
    if (before) uselocale(before);
}

/* --- life ------------------------------------------------------------------------------------- */

static void open_history(pdl_line_edit *e) {
    history_event event;
    e->history = e->api.history_init();
    if (!e->history) return;
    e->api.history(e->history, &event, HISTORY_SIZE, MANY_LINES);
    e->api.history(e->history, &event, HISTORY_UNIQUE, 1);
    if (e->opt.history) e->api.history(e->history, &event, HISTORY_LOAD, e->opt.history);
    e->api.el_set(e->el, SET_HISTORY, e->api.history, e->history);
}

static void set_up(pdl_line_edit *e) {
    e->api.el_set(e->el, SET_PROMPT, prompt_of);
    e->api.el_set(e->el, SET_EDITOR, "emacs");
    e->api.el_wset(e->el, SET_READ, read_key);
    open_history(e);
    if (!e->opt.complete) return;
    e->api.el_set(e->el, SET_FUNCTION, "pdl-complete", "complete the word", complete);
    e->api.el_set(e->el, SET_BIND, "^I", "pdl-complete", (char *)NULL);
}

pdl_line_edit *pdl_line_edit_new(const pdl_line_edit_options *options) {
    assert(!the_one);
    pdl_line_edit *e = the_one = PDL_NEW(pdl_line_edit);
    e->opt = *options;
    if (!pdl_tty_is(STDIN_FILENO) || !pdl_tty_is(STDOUT_FILENO) || !load(&e->api)) return e;
    e->locale = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    locale_t before = enter(e);
    e->el = e->api.el_init("pdl", stdin, stdout, stderr);
    if (e->el) set_up(e);
    leave(before);
    return e;
}

bool pdl_line_edit_is_open(void) { return the_one != NULL; }

void pdl_line_edit_free(pdl_line_edit *e) {
    history_event event;
    if (!e) return;
    if (e->history && e->opt.history) {
        mode_t before = umask(077);
        e->api.history(e->history, &event, HISTORY_SAVE, e->opt.history);
        umask(before);
    }
    pdl_line_edit_stop(e);
    if (e->history) e->api.history_end(e->history);
    if (e->el) e->api.el_end(e->el);
    if (e->locale) freelocale(e->locale);
    pdl_free(e);
    the_one = NULL;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads byte by byte, because the bytes after the line belong to later readers. */
static pdl_line_result read_plain(pdl_line_edit *e, pdl_buf *out) {
    for (;;) {
        char c;
        int n = read_byte(e, &c);
        if (n < 0 && errno == EINTR) return PDL_LINE_INTERRUPTED;
        if (n <= 0) return out->len ? PDL_LINE_READ : PDL_LINE_END;
        if (c == '\n' || out->len >= PDL_MAX_SOURCE_BYTES) return PDL_LINE_READ;
        pdl_buf_putc(out, c);
    }
}

static const char *gets_of(pdl_line_edit *e, int *n) {
    locale_t before = enter(e);
    e->n_bytes = 0;
    const char *line = e->api.el_gets(e->el, n);
    int error = errno;
    leave(before);
    errno = error;
    return line;
}

static pdl_line_result take_line(pdl_line_edit *e, const char *line, int n, pdl_buf *out) {
    history_event event;
    if (n > 1 && e->history && !e->is_answer)
        e->api.history(e->history, &event, HISTORY_ENTER, line);
    if (line[n - 1] == '\n') n--;
    pdl_buf_put(out, (pdl_str){line, (size_t)n});
    return PDL_LINE_READ;
}

static pdl_line_result read_edited(pdl_line_edit *e, pdl_buf *out) {
    int n = 0;
    e->at_end = false;
    e->is_first = true;
    const char *line = gets_of(e, &n);
    if (line && n > 0) return take_line(e, line, n, out);
    return !e->at_end && errno == EINTR ? PDL_LINE_INTERRUPTED : PDL_LINE_END;
}

static void set_unbuffered(pdl_line_edit *e, bool on) {
    locale_t before = enter(e);
    e->in_loop = on;
    e->api.el_set(e->el, SET_UNBUFFERED, on ? 1 : 0);
    leave(before);
}

bool pdl_line_edit_start(pdl_line_edit *e, const char *prompt) {
    if (!e->el) return false;
    e->prompt = prompt;
    e->at_end = false;
    putchar('\r');
    pdl_tty_keep(STDIN_FILENO);
    set_unbuffered(e, true);
    e->is_first = true;
    count_ahead(e);
    fflush(stdout);
    return true;
}

pdl_line_result pdl_line_edit_take(pdl_line_edit *e, pdl_buf *out) {
    int n = 0;
    const char *line = gets_of(e, &n);
    pdl_buf_clear(out);
    bool is_whole = line && n > 0 && line[n - 1] == '\n';
    if (!is_whole && !e->at_end) return PDL_LINE_MORE;
    pdl_line_result got = is_whole ? take_line(e, line, n, out) : PDL_LINE_END;
    pdl_line_edit_stop(e);
    return got;
}

void pdl_line_edit_stop(pdl_line_edit *e) {
    if (!e->in_loop) return;
    set_unbuffered(e, false);
    pdl_tty_forget();
}

pdl_line_result pdl_line_edit_read(pdl_line_edit *e, const char *prompt, pdl_buf *out) {
    pdl_buf_clear(out);
    e->prompt = prompt;
    if (e->el) return read_edited(e, out);
    if (pdl_tty_is(STDIN_FILENO)) {
        fputs(prompt, stdout);
        fflush(stdout);
    }
    return read_plain(e, out);
}

bool pdl_line_edit_ask(pdl_line_edit *e, const char *row, pdl_line_result *got, pdl_buf *out) {
    if (!e->el) return false;
    e->is_answer = true;
    putchar('\r');
    *got = pdl_line_edit_read(e, row, out);
    e->is_answer = false;
    return true;
}
