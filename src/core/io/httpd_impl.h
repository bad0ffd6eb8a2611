/* httpd_impl.h -- the connections and exchanges of httpd.c, and the writer of their answers
 * (httpd_answer.c). Private to these two.
 *
 * A function of httpd_answer.c appends to the output of a connection and sets the events that are
 * watched; it sends nothing, and ends no exchange. Bytes are sent only in the turn of a connection
 * (pdl_httpd_flush), so a user may write in pieces of any size, and a connection is not freed while
 * the user writes. httpd.c decides when an answer is due, how long a client may take, and whether a
 * connection stays open.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_HTTPD_IMPL_H
#define PDL_IO_HTTPD_IMPL_H

#include "base/buf.h"
#include "io/clock.h"
#include "io/http_head.h"
#include "io/httpd.h"

enum {
    HTTPD_SCRATCH = 65536, /* bytes read in a turn of a connection */
    /* When a request with a body of at most this size is refused, its body is read to the end. Such
     * a body is accepted even when all bodies together are too long. */
    SMALL_BODY = 65536
};

typedef enum { READ_HEAD, READ_BODY, ANSWER, LINGER } phase;
/* The result of a step of a connection. GO: continue with the next step. WAIT: wait for the socket.
 * GONE: the connection was freed. */
typedef enum { GO, WAIT, GONE } turn;

typedef struct client {
    pdl_httpd *h;
    struct client *prev, *next;
    struct clients *list;
    int fd;
    pdl_watch *watch;
    phase phase;
    pdl_buf in;     /* received but not read */
    size_t scanned; /* number of bytes of in that were searched for the end of a head */
    pdl_buf out;    /* the first out_at bytes were sent */
    size_t out_at;
    pdl_exchange *x;
    uint64_t end_ms;  /* the time at which a late connection is closed; 0 means never */
    uint64_t last_ms; /* time at which the phase LINGER ends */
    bool in_turn;     /* the running turn will send the output */
    bool closes;      /* the connection closes after the answer was sent */
    bool no_more;     /* the client will send nothing more */
    bool wants_head;  /* the request that is being read is a HEAD */
} client;

/* Connections in order of their last activity. */
typedef struct clients {
    client *first, *last;
} clients;

struct pdl_exchange {
    client *client;
    pdl_buf bytes; /* the head as it was received */
    pdl_http_head head;
    pdl_buf body;
    pdl_chunks chunks;
    int64_t left;    /* number of missing bytes of a body with a known length */
    pdl_buf headers; /* further headers of the answer */
    int status;
    uint64_t sent;
    void *data, *record;
    bool at_head, streams, ended;
};

/* Connections are in three lists. In `idle`, no request waits for the user's answer. In
 * `receiving`, a body is arriving. In `busy`, the user has the request. */
struct pdl_httpd {
    pdl_httpd_options opt;
    pdl_loop *loop;
    int fd;
    uint16_t port;
    pdl_watch *watch;
    pdl_timer *timer;
    clients idle, receiving, busy;
    unsigned n_clients;
    size_t body_bytes; /* sum of all exchanges */
    char scratch[HTTPD_SCRATCH];
};

static inline uint64_t now_ms(void) { return pdl_clock_ns() / 1000000; }

/* Returns true when the list and the exchange of a connection fit its phase. */
static inline bool client_ok(const client *c) {
    bool reads = c->phase == READ_BODY, fits = reads || c->list == &c->h->idle;
    return c->out_at <= c->out.len && (c->phase == ANSWER || (fits && reads == (c->x != NULL)));
}

/* Returns true while the request is answered and either `in` is full or nothing more arrives. */
bool pdl_httpd_is_full(const client *c);
/* Sets the events that are watched. */
void pdl_httpd_watch(client *c);
/* Sends the output. Returns false when the client has closed the connection. */
bool pdl_httpd_flush(client *c);
/* Writes the first lines of an answer. */
void pdl_httpd_put_status(client *c, int status);
/* Appends a header that the server adds. Characters that would end its line are left out. */
void pdl_httpd_put_header(pdl_buf *b, const char *name, const char *value);
/* Returns true when a part of the request's body is missing. */
bool pdl_httpd_still_arrives(const pdl_exchange *x);

#endif
