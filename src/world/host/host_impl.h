/* host_impl.h -- the state that the files of the host world share.
 *
 *   `host.c`             the world; read, source, sleep, now, random.
 *   `file_write.c`       files that stay open, encodings.
 *   `standard_input.c`   standard input.
 *   `approval.c`         questions of a policy, on the terminal.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_HOST_HOST_IMPL_H
#define PDL_HOST_HOST_IMPL_H

#include "base/vec.h"
#include "host/host.h"
#include "io/line_edit.h"

typedef struct host host;

/* An effect that is answered later: a sleep (timer), a read of standard input or an approval. */
typedef struct host_wait {
    host *h;
    pdl_effect *e;
    pdl_timer *timer;
    bool input, multiline, shown;
    bool asks;    /* the effect is an approval */
    pdl_buf text; /* the lines that were read so far */
} host_wait;

typedef struct host_file {
    char *key; /* made from path, mode and encoding */
    int fd;
    int encoding;
    bool at_start; /* the next text is the first of the file and may need a byte order mark */
} host_file;

struct host {
    pdl_world base;
    pdl_loop *loop;
    pdl_host_options opt;
    PDL_VEC(host_wait *) waits; /* the waiting effects, in the order in which they started */
    PDL_VEC(host_file) files;
    pdl_watch *watch;    /* watches the input descriptor while an effect waits */
    pdl_line_edit *edit; /* line editor of the terminal; NULL until a line is edited */
    bool in_edit;        /* a line is being edited */
    pdl_buf prompt;      /* prompt of the line that is edited */
    pdl_buf in;          /* bytes that were read and not delivered yet */
    size_t in_off;       /* how many bytes of `in` were delivered */
    size_t in_seen;      /* how many bytes after in_off are known to have no line end */
    bool in_end;         /* the end of the input was reached */
    bool in_serving;
    uint32_t asking; /* id of the approval that the terminal shows; 0 while it shows no approval */
    int tty;         /* the terminal while an approval is shown; -1 at other times */
    pdl_watch *tty_watch;
};

/* Returns true when the invariants hold: offsets of delivered and searched input are within what
 * was read; the terminal is open exactly while it shows an approval; a line is edited by an editor,
 * and not while an approval is shown. */
bool pdl_host_ok(const host *h);
pdl_str pdl_host_text(const pdl_effect *e, const char *key); /* p is NULL when there is no text */
bool pdl_host_flag(const pdl_effect *e, const char *key);
/* Opens a file with pdl_file_open, or with the function `open` of the options. */
int pdl_host_open(host *h, const pdl_effect *e, const char *path, int flags, unsigned mode,
                  pdl_err *err);
void pdl_host_newlines(pdl_buf *b);
host_wait *pdl_host_wait_new(host *h, pdl_effect *e); /* takes e */
void pdl_host_wait_end(host_wait *s);                 /* frees s, but not its effect */

void pdl_host_write_file(host *h, pdl_effect *e);
void pdl_host_write_close_all(host *h);

void pdl_host_input_start(host *h, pdl_effect *e);
void pdl_host_input_idle(host *h); /* Stops watching the input when no effect waits. */
void pdl_host_input_close(host *h);
/* Stops reading the terminal while a question is open. */
void pdl_host_input_pause(host *h);
void pdl_host_input_resume(host *h);

void pdl_host_approval_start(host *h, pdl_effect *e);
void pdl_host_approval_idle(host *h); /* called after an effect was cancelled */
void pdl_host_approval_close(host *h);

#endif
