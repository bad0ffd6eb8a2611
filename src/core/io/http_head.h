/* http_head.h -- the head of an HTTP/1.1 request, and chunked bodies, after RFC 9112. This code
 * only parses, and has no sockets. It is strict where two readers could disagree about where a
 * request ends (request smuggling). Lines must end with CR LF. A folded header, a blank before a
 * colon, two lengths, or a length together with an encoding are refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_HTTP_HEAD_H
#define PDL_IO_HTTP_HEAD_H

#include "base/buf.h"
#include "base/vec.h"

enum {
    PDL_HTTP_MAX_HEAD = 32768, /* maximum size of a head with its last empty line */
    PDL_HTTP_MAX_FIELDS = 100,
    /* maximum size of a chunk's length with its extensions, and of all trailers together */
    PDL_HTTP_MAX_CHUNK_LINE = 4096,
};

typedef struct pdl_http_field {
    pdl_str name, value;
} pdl_http_field;

typedef struct pdl_http_head {
    pdl_str method;
    char *path;    /* decoded, without the query, UTF-8 without control characters; owned */
    pdl_str query; /* the part of the target after the question mark, not decoded */
    PDL_VEC(pdl_http_field) fields;
    int64_t length;  /* length of the body; -1 for a chunked body */
    bool has_length; /* Content-Length is present */
    bool keep_alive, expects_continue, is_1_0;
} pdl_http_head;

/* Returns the offset after the empty line that ends the head. Returns 0 while the head is
 * incomplete, and PDL_NOT_FOUND when it can never be complete (a line ends with LF only). *scanned
 * says how far earlier calls have searched; it is 0 at first. */
size_t pdl_http_head_end(pdl_str bytes, size_t *scanned);

/* Returns the reason why no request begins with these bytes (static), or NULL when one may. After a
 * reason, the caller does not wait for more bytes: a client that speaks TLS, for example, sends no
 * more bytes before it gets an answer.
 */
const char *pdl_http_head_nonsense(pdl_str bytes);

/* Reads a complete head, whose bytes must outlive the result. Returns 0, or the status that refuses
 * the head, with the reason in *why (static). The caller calls pdl_http_head_fini in both cases. */
int pdl_http_head_read(pdl_str bytes, pdl_http_head *out, const char **why);
void pdl_http_head_fini(pdl_http_head *h);
/* Returns the value of a field. When there are several, returns the first one. p is NULL when there
 * is no such field. */
pdl_str pdl_http_head_field(const pdl_http_head *h, const char *name);

/* Appends the decoded value of a parameter of the query. Returns false when there is no such
 * parameter. */
bool pdl_http_head_parameter(const pdl_http_head *h, const char *name, pdl_buf *out);

/* The state of reading a chunked body. All members are zero at the beginning of a body. */
typedef struct pdl_chunks {
    enum {
        CHUNK_SIZE,
        CHUNK_EXTENSION,
        CHUNK_SIZE_LF,
        CHUNK_DATA,
        CHUNK_CR,
        CHUNK_LF,
        CHUNK_TRAILER,
        CHUNK_TRAILER_LF,
        CHUNK_END
    } at;
    uint64_t left; /* bytes of the chunk that have not arrived */
    unsigned digits, line, trailer;
} pdl_chunks;

/* Takes bytes from the start of *in. Returns true with the next piece of the body in *data. The
 * piece is empty when *in is used up or the body has ended (c->at == CHUNK_END). Returns false when
 * this is not a valid chunked body. */
bool pdl_chunks_take(pdl_chunks *c, pdl_str *in, pdl_str *data);

#endif
