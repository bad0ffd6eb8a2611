/* term.c -- see term.h. Output is buffered by stdio and flushed when a model's text arrives, when the program
 * waits for the outside, and at the end. */
#include "cli/term.h"

#include <errno.h>
#include <stdio.h>

#include "value/label.h"

#include "base/banned.h"

void term_init(term *t, const pdl_tty_env *env) {
    *t = (term){.color = pdl_tty_color(1, env), .color_err = pdl_tty_color(2, env), .tty = pdl_tty_is(1)};
}

static void check(term *t, bool ok) {
    if (ok || t->broken || t->error) return;
    if (errno == EPIPE) t->broken = true;
    else t->error = errno;
    if (t->on_broken) t->on_broken(t->user);
}

void term_put(term *t, pdl_str text) {
    if (t->broken || t->error || !text.n) return;
    check(t, fwrite(text.p, 1, text.n, stdout) == text.n);
}

void term_flush(term *t) {
    if (t->broken || t->error) return;
    check(t, fflush(stdout) == 0);
}

static const char *color_of(pdl_look look) {
    switch (look) {
    case PDL_LOOK_MODEL: return "\033[32m";
    case PDL_LOOK_CODE: return "\033[35m";
    case PDL_LOOK_FOREIGN:
    case PDL_LOOK_PLAIN: return "";
    }
    PDL_BUG("look %d", (int)look);
}

/* Bytes of the control character at the start of s, 0 when there is none: what would move the cursor, set colours or
 * make the terminal answer. Line ends and tabs are none. */
static size_t control_at(pdl_str s) {
    unsigned char c = (unsigned char)s.p[0];
    if (c == '\n' || c == '\t' || (c == '\r' && s.n > 1 && s.p[1] == '\n')) return 0;
    if (c < 0x20 || c == 0x7f) return 1;
    return c == 0xc2 && s.n > 1 && ((unsigned char)s.p[1] & 0xe0) == 0x80 ? 2 : 0; /* U+0080 to U+009F */
}

/* Text that a model wrote. A terminal gets pictures of control characters; a pipe or file the bytes as they are. */
static void put_foreign(term *t, pdl_str s) {
    size_t from = 0;
    for (size_t i = 0, n; t->tty && i < s.n; i += n ? n : 1) {
        n = control_at(pdl_str_sub(s, i, s.n));
        if (!n) continue;
        unsigned char c = (unsigned char)s.p[i];
        char picture[] = {'\xe2', '\x90', (char)(c == 0x7f ? 0xa1 : 0x80 + c), 0}; /* U+2400 and what follows */
        term_put(t, pdl_str_sub(s, from, i));
        term_put(t, n == 2 ? PDL_STR("\xef\xbf\xbd") : pdl_str_of(picture));
        from = i + n;
    }
    term_put(t, pdl_str_sub(s, from, s.n));
}

void term_show(term *t, pdl_str text, pdl_label label) {
    if (label & PDL_LABEL_foreign) put_foreign(t, text);
    else term_put(t, text);
}

static void put_colored(term *t, pdl_str text, const char *color, bool foreign) {
    bool on = t->color && *color;
    if (on) term_put(t, pdl_str_of(color));
    if (foreign) put_foreign(t, text);
    else term_put(t, text);
    if (on) term_put(t, PDL_STR("\033[0m"));
}

static const char *role_color(pdl_str role) {
    if (pdl_str_is(role, "assistant")) return "\033[32m";
    if (pdl_str_is(role, "system")) return "\033[36m";
    if (pdl_str_is(role, "available_tools")) return "\033[35m";
    return "";
}

static void put_message(term *t, const pdl_event *e) {
    pdl_str role = e->role.n ? e->role : PDL_STR("assistant");
    term_put(t, PDL_STR("\n"));
    put_colored(t, role, "\033[34m", true);
    term_put(t, PDL_STR(": "));
    put_colored(t, e->text, role_color(role), true);
}

static void put_error(term *t, pdl_str text) {
    term_flush(t); /* what was printed before stands before */
    fwrite(text.p, 1, text.n, stderr);
    fflush(stderr);
}

/* A failure that is not the end is red, between the line ends around it. */
static void put_note(term *t, const pdl_event *e) {
    pdl_str s = e->text;
    if (!t->color_err || !e->err) {
        put_error(t, s);
        return;
    }
    size_t start = 0, end = s.n;
    while (start < end && s.p[start] == '\n') start++;
    while (end > start && s.p[end - 1] == '\n') end--;
    put_error(t, pdl_str_sub(s, 0, start));
    put_error(t, PDL_STR("\033[0;31m"));
    put_error(t, pdl_str_sub(s, start, end));
    put_error(t, PDL_STR("\033[0m"));
    put_error(t, pdl_str_sub(s, end, s.n));
}

static void on_event(void *user, const pdl_event *e) {
    term *t = user;
    switch ((int)e->kind) {
    case PDL_EVENT_text:
        put_colored(t, e->text, color_of(e->look), e->look == PDL_LOOK_MODEL || e->look == PDL_LOOK_FOREIGN);
        if (e->look == PDL_LOOK_MODEL) term_flush(t);
        return;
    case PDL_EVENT_message: put_message(t, e); return;
    case PDL_EVENT_out:
        if (e->number == 2) put_error(t, e->text);
        else term_put(t, e->text);
        if (e->number == 1) term_flush(t);
        return;
    case PDL_EVENT_note: put_note(t, e); return;
    case PDL_EVENT_effect: term_flush(t); return;
    default: return;
    }
}

pdl_sink term_sink(term *t) { return (pdl_sink){t, on_event, false}; }

void term_prompt(void *user, pdl_str prompt) {
    (void)prompt; /* printed by the machine, in its place in the output */
    term_flush(user);
}
