/* http_head.h -- the head of an HTTP/1.1 request, and bodies in chunks, as RFC 9112 has them. Pure
 * parsing: no sockets.
 *
 * Strict where two readers could disagree about where a request ends: lines end with CR LF, a
 * header that is folded or has a blank before its colon, two lengths, or a length and an encoding
 * are all refused.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_HTTP_HEAD_H
#define PDL_IO_HTTP_HEAD_H

#include "base/buf.h"
#include "base/vec.h"

enum {
    PDL_HTTP_MAX_HEAD = 32768, /* bytes of a head, its last empty line included */
    PDL_HTTP_MAX_FIELDS = 100,
    PDL_HTTP_MAX_CHUNK_LINE = 4096, /* a size with its extensions; all trailers together */
};

typedef struct pdl_http_field {
    pdl_str name, value;
} pdl_http_field;

typedef struct pdl_http_head {
    pdl_str method;
    char *path; /* decoded, without the query, UTF-8 without control characters; owned */
    PDL_VEC(pdl_http_field) fields;
    int64_t length;  /* of the body; -1: in chunks */
    bool has_length; /* Content-Length is given */
    bool keep_alive, expects_continue, is_1_0;
} pdl_http_head;

/* Where the head ends: the offset behind its empty line; 0: it is not complete; PDL_NOT_FOUND: it
 * never will be (a line that ends with LF alone). *scanned: what earlier calls have looked at, 0 at
 * first. */
size_t pdl_http_head_end(pdl_str bytes, size_t *scanned);

/* Reads a complete head, whose bytes must outlive the result. 0, or the status that refuses it,
 * with the reason in *why (static). In both cases pdl_http_head_fini. */
int pdl_http_head_read(pdl_str bytes, pdl_http_head *out, const char **why);
void pdl_http_head_fini(pdl_http_head *h);
/* The value of a field, the first where there are several; p == NULL: absent. */
pdl_str pdl_http_head_field(const pdl_http_head *h, const char *name);

/* A body in chunks. All-zero is its beginning. */
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
    uint64_t left; /* of the data of a chunk */
    unsigned digits, line, trailer;
} pdl_chunks;

/* Takes bytes from the front of *in. True: *data is the next piece of the body, empty when *in is
 * used up or the body has ended (c->at == CHUNK_END). False: this is no body in chunks. */
bool pdl_chunks_take(pdl_chunks *c, pdl_str *in, pdl_str *data);

#endif
