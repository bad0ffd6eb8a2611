/* debug.h -- PDL_DEBUG categories, PDL_TRACE lines, PDL_STRESS switches. A category that is off
 * costs one test of a bit. Each event is one line, `category text`, which is written to standard
 * error or to PDL_DEBUG_FILE.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_DEBUG_H
#define PDL_BASE_DEBUG_H

#include "base/buf.h"

/*   X(id, doc) */
#define PDL_DEBUG_CATEGORIES(X)                                                                    \
    X(nodes, "syntax trees read")                                                                  \
    X(blocks, "blocks loaded")                                                                     \
    X(expr, "expressions read")                                                                    \
    X(code, "bytecode made")                                                                       \
    X(exec, "every instruction")                                                                   \
    X(sched, "fibers that park and resume")                                                        \
    X(types, "type checks")                                                                        \
    X(effect, "effects that start and end")                                                        \
    X(http, "requests and replies, keys removed")                                                  \
    X(sse, "events of a stream")                                                                   \
    X(worker, "messages of the worker protocol")                                                   \
    X(mcp, "messages and logs of tool servers")                                                    \
    X(journal, "rows written and answered")                                                        \
    X(mem, "live values at the end (counted in builds with assertions)")

enum {
#define X(id, doc) PDL_DBG_BIT_##id,
    PDL_DEBUG_CATEGORIES(X)
#undef X
        PDL_DBG_COUNT
};

typedef struct pdl_debug {
    uint32_t on; /* bit PDL_DBG_BIT_<id> */
    void *file;  /* a FILE *; NULL means standard error */
    /* Appends the part of a line (with its end) that may be written. May hold text back until a
     * later line. When the function is NULL, lines are written unchanged. */
    void (*redact)(void *user, pdl_str line, pdl_buf *out);
    void *redact_user;
    uint64_t sched_seed; /* PDL_STRESS=sched:SEED; 0 when the switch is off */
    bool mute;           /* PDL_STRESS=mute: runs do not announce that they can continue */
    bool split;          /* PDL_STRESS=split: every read returns one byte */
    long drop_after;     /* PDL_STRESS=drop:N; -1 when the switch is off */
    /* PDL_STRESS=slots:N: at most N effects wait and N are open; 0 when the switch is off */
    uint32_t slots;
    /* PDL_STRESS=alloc:N: allocation number N after pdl_debug_init fails; 0 when the switch is
     * off */
    long fail_at;
} pdl_debug;

enum { PDL_DEBUG_WHY = 192 }; /* maximum length of a message in bytes */

/* Applies the switches that hold for the whole process: time:F, cancel:N and room:N. Returns false,
 * with a message in why, when a word is unknown. */
bool pdl_debug_init_process(const char *stress, char why[PDL_DEBUG_WHY]);

/* Reads categories ("exec,http", "all", "help") and stress switches. Returns false, with a message
 * in why, when a word is unknown or the file cannot be opened. alloc:N also holds for the whole
 * process; see pdl_alloc_fail_at. */
bool pdl_debug_init(pdl_debug *d, const char *categories, const char *stress, const char *file,
                    char why[PDL_DEBUG_WHY]);
void pdl_debug_fini(pdl_debug *d);

/* Writes the lines without calling `redact`. */
void pdl_debug_put(const pdl_debug *d, pdl_str lines);
PDL_PRINTF(3, 4)
void pdl_debug_line(const pdl_debug *d, const char *category, const char *fmt, ...);

#define PDL_TRACES(d, id) ((d) && ((d)->on & (1u << PDL_DBG_BIT_##id)))
#define PDL_TRACE(d, id, ...)                                                                      \
    do {                                                                                           \
        if (PDL_TRACES(d, id)) pdl_debug_line((d), #id, __VA_ARGS__);                              \
    } while (0)

#endif
