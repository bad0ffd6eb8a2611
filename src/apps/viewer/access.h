/* access.h -- private to viewer: decides which requests are answered.
 *
 * The prompts and answers of a run may contain secrets, and every program on this machine, and
 * every web page in its browsers, can send requests to a port of loopback. So knowing the port is
 * not enough. A printed address carries a secret, and works once. The secret is exchanged for a
 * cookie. Scripts of other pages cannot read the cookie, and browsers do not send it with requests
 * of other pages. Host and Origin are compared with the address of the server, because an attacker
 * can make another name resolve to loopback. Only the headers of a request are needed for all of
 * this.
 *
 * No other page may show this one in a frame, unless the user named its origin: editors show web
 * pages in their own frames. Browsers send no strict cookie from a frame of another site; such a
 * frame gets a partitioned cookie, which is sent only from frames of the same top page.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ACCESS_H
#define PDL_VIEWER_ACCESS_H

#include "base/buf.h"
#include "base/err.h"
#include "io/httpd.h"

typedef struct pdl_access pdl_access;

/* Makes the rules of access of a server. host is borrowed. frames is described in
 * pdl_viewer_options. Error: io, when the system gives no random numbers. */
PDL_MUST bool pdl_access_new(const char *host, pdl_str frames, pdl_access **out, pdl_err *err);
void pdl_access_free(pdl_access *a); /* a may be NULL */

/* Appends a new address that opens the page once, at this port. */
void pdl_access_put_address(pdl_access *a, uint16_t port, pdl_buf *out);
/* Returns true when the newest address was used. */
bool pdl_access_was_opened(const pdl_access *a);

/* Decides by the headers of a request. Returns false when the request was refused; x is then
 * answered. */
bool pdl_access_check(const pdl_access *a, uint16_t port, pdl_exchange *x);
/* Answers a request for /open/SECRET. */
void pdl_access_open(pdl_access *a, uint16_t port, pdl_exchange *x, pdl_str secret);

/* Answers with the headers that every answer needs. */
void pdl_access_answer(pdl_exchange *x, int status, const char *type, pdl_str body);
/* Begins an answer that is sent in pieces. */
void pdl_access_begin(pdl_exchange *x, const char *type);
void pdl_access_refuse(pdl_exchange *x, int status, const char *why);
/* Answers with the JSON in b, and empties b. */
void pdl_access_answer_json(pdl_exchange *x, pdl_buf *b);

#endif
