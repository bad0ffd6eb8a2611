/* access.h -- private to viewer: decides which requests are answered.
 *
 * Whoever may read a run's prompts and answers may learn secrets from them, and every program and
 * every web page of this machine can send requests to a port of loopback. So nothing is answered by
 * address alone: an address that was printed carries a secret, works once, and is exchanged for a
 * cookie that scripts of other pages cannot read and that browsers do not send with their requests.
 * Host and Origin are compared with the address that is served, against names that others resolve
 * to loopback. All of this is decided on the headers of a request.
 *
 * No other page may show this one in a frame, unless the user named its origin: editors show web
 * pages in their own frames. Browsers send no strict cookie from a frame of another site; such
 * a frame gets one that is partitioned, which is sent from frames of the same top page alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ACCESS_H
#define PDL_VIEWER_ACCESS_H

#include "base/buf.h"
#include "base/err.h"
#include "io/httpd.h"

typedef struct pdl_access pdl_access;

/* host: borrowed; frames: see pdl_viewer_options. Error: io, without random numbers. */
PDL_MUST bool pdl_access_new(const char *host, pdl_str frames, pdl_access **out, pdl_err *err);
void pdl_access_free(pdl_access *a); /* NULL is fine */

/* Appends a new address that opens the page once, at this port. */
void pdl_access_put_address(pdl_access *a, uint16_t port, pdl_buf *out);
/* Returns true when the newest address was used. */
bool pdl_access_was_opened(const pdl_access *a);

/* Decides on the headers of a request; false: x was answered. */
bool pdl_access_check(const pdl_access *a, uint16_t port, pdl_exchange *x);
/* Answers a request for /open/SECRET. */
void pdl_access_open(pdl_access *a, uint16_t port, pdl_exchange *x, pdl_str secret);

/* Answers with the headers that every answer has. */
void pdl_access_answer(pdl_exchange *x, int status, const char *type, pdl_str body);
void pdl_access_begin(pdl_exchange *x, const char *type); /* in pieces */
void pdl_access_refuse(pdl_exchange *x, int status, const char *why);
void pdl_access_answer_json(pdl_exchange *x, pdl_buf *b); /* empties b */

#endif
