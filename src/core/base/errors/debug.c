/* debug.c -- reads PDL_DEBUG and PDL_STRESS, and writes the lines of a trace; see debug.h.
 *
 * Some switches of PDL_STRESS hold for the whole process and are applied when they are read. The
 * others are members of the struct, where the code of a run finds them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/debug.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/machine.h"
#include "base/num.h"
#include "base/pace.h"
#include "base/termsafe.h"

#include "base/banned.h"

static const struct {
    const char *name, *doc;
} categories_known[] = {
#define X(id, doc) {#id, doc},
    PDL_DEBUG_CATEGORIES(X)
#undef X
};

/* Returns the part of *rest before the next comma, without blanks, and moves *rest past the
 * comma. */
static pdl_str next_word(pdl_str *rest) {
    size_t comma = pdl_str_find(*rest, PDL_STR(","), 0);
    pdl_str word = pdl_str_trim(pdl_str_sub(*rest, 0, comma));
    *rest = comma == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(*rest, comma + 1, rest->n);
    return word;
}

static void print_help(void) {
    fputs("PDL_DEBUG takes category names separated by commas, or all:\n", stderr);
    for (size_t i = 0; i < PDL_DBG_COUNT; i++)
        fprintf(stderr, "  %-8s %s\n", categories_known[i].name, categories_known[i].doc);
}

static bool add_category(pdl_debug *d, pdl_str word, char why[PDL_DEBUG_WHY]) {
    if (word.n == 0) return true;
    if (pdl_str_is(word, "all")) {
        d->on = (1u << PDL_DBG_COUNT) - 1;
        return true;
    }
    if (pdl_str_is(word, "help")) {
        print_help();
        return true;
    }
    for (size_t i = 0; i < PDL_DBG_COUNT; i++)
        if (pdl_str_is(word, categories_known[i].name)) {
            d->on |= 1u << i;
            return true;
        }
    snprintf(why, PDL_DEBUG_WHY, "PDL_DEBUG: unknown category '%.*s' (help lists them)",
             word.n > 40 ? 40 : (int)word.n, word.p);
    return false;
}

/* Reads the number after "NAME:" in word. Returns false when word is something else. */
static bool numbered(pdl_str word, const char *name, unsigned long long *out) {
    pdl_str head = pdl_str_of(name);
    if (!pdl_str_starts(word, head) || word.n == head.n || word.n - head.n > 19) return false;
    char digits[20] = {0}, *end;
    memcpy(digits, word.p + head.n, word.n - head.n);
    if (digits[0] < '0' || digits[0] > '9') return false;
    errno = 0;
    *out = strtoull(digits, &end, 10);
    return *end == 0 && errno == 0;
}

static bool set_pace(pdl_str word) {
    pdl_str head = PDL_STR("time:");
    double factor;
    if (!pdl_str_starts(word, head)) return false;
    if (!pdl_num_read_double(pdl_str_sub(word, head.n, word.n), &factor)) return false;
    if (!(factor >= 0 && factor <= PDL_PACE_MAX)) return false;
    pdl_pace_say(factor);
    return true;
}

static bool add_stress(pdl_debug *d, pdl_str word, char why[PDL_DEBUG_WHY]) {
    unsigned long long n;
    if (word.n == 0) return true;
    if (pdl_str_is(word, "split"))
        d->split = true;
    else if (pdl_str_is(word, "mute"))
        d->mute = true;
    else if (numbered(word, "sched:", &n))
        d->sched_seed = n;
    else if (numbered(word, "drop:", &n) && n <= INT32_MAX)
        d->drop_after = (long)n;
    else if (numbered(word, "alloc:", &n) && n && n <= INT32_MAX)
        d->fail_at = (long)n;
    else if (numbered(word, "room:", &n) && n && n <= INT32_MAX)
        pdl_machine_say_left((size_t)n << 20);
    else if (numbered(word, "cancel:", &n) && n && n <= INT32_MAX)
        pdl_cancel_say_after((long)n);
    else if (numbered(word, "slots:", &n) && n && n <= INT32_MAX)
        d->slots = (uint32_t)n;
    else if (!set_pace(word)) {
        snprintf(why, PDL_DEBUG_WHY,
                 "PDL_STRESS: unknown switch '%.*s' (known: sched:SEED, mute, split, drop:N, "
                 "alloc:N, room:N, time:F, slots:N, cancel:N)",
                 word.n > 40 ? 40 : (int)word.n, word.p);
        return false;
    }
    return true;
}

bool pdl_debug_init_process(const char *stress, char why[PDL_DEBUG_WHY]) {
    pdl_debug ignored = {0};
    why[0] = 0;
    for (pdl_str rest = pdl_str_of(stress); rest.n;)
        if (!add_stress(&ignored, next_word(&rest), why)) return false;
    return true;
}

bool pdl_debug_init(pdl_debug *d, const char *categories, const char *stress, const char *file,
                    char why[PDL_DEBUG_WHY]) {
    *d = (pdl_debug){.drop_after = -1};
    why[0] = 0;
    for (pdl_str rest = pdl_str_of(categories); rest.n;)
        if (!add_category(d, next_word(&rest), why)) return false;
    for (pdl_str rest = pdl_str_of(stress); rest.n;)
        if (!add_stress(d, next_word(&rest), why)) return false;
    if (d->fail_at) pdl_alloc_fail_at(d->fail_at);
    if (!d->on || !file || !*file) return true;
    int fd = open(file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                  0600); /* the file may hold secrets: only its owner reads it */
    d->file = fd < 0 ? NULL : fdopen(fd, "a");
    if (d->file) return true;
    if (fd >= 0) close(fd);
    snprintf(why, PDL_DEBUG_WHY, "PDL_DEBUG_FILE: cannot open %.90s", file);
    return false;
}

void pdl_debug_fini(pdl_debug *d) {
    if (d->file) fclose(d->file);
    *d = (pdl_debug){.drop_after = -1};
}

void pdl_debug_put(const pdl_debug *d, pdl_str lines) {
    FILE *f = d->file ? d->file : stderr;
    /* all lines are written in one piece, even when several threads trace */
    (void)pdl_write_termsafe(f, lines);
    fflush(f);
}

void pdl_debug_line(const pdl_debug *d, const char *category, const char *fmt, ...) {
    pdl_buf line = PDL_BUF, shown = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_putf(&line, "%s ", category);
    pdl_buf_vputf(&line, fmt, ap);
    pdl_buf_putc(&line, '\n');
    va_end(ap);
    if (d->redact) d->redact(d->redact_user, pdl_buf_str(&line), &shown);
    pdl_debug_put(d, pdl_buf_str(d->redact ? &shown : &line));
    pdl_buf_fini(&shown);
    pdl_buf_fini(&line);
}
