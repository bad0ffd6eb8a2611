/* sigv4.h -- AWS Signature Version 4 of a POST without query, for services that take a signature
 * instead of a key. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_SIGV4_H
#define PDL_MODEL_SIGV4_H

#include "base/buf.h"

typedef struct pdl_sigv4 {
    pdl_str access_key, secret_key;
    pdl_str session_token; /* may be empty */
    pdl_str region, service;
    pdl_str timestamp; /* "20240102T030405Z" */
    pdl_str host;
    pdl_str path; /* path as it is in the request: percent-encoded once */
    pdl_str content_type, body;
} pdl_sigv4;

/* Appends the value of the Authorization header. The signed headers are content-type, host,
 * x-amz-date and, with a session token, x-amz-security-token. */
void pdl_sigv4_write(const pdl_sigv4 *s, pdl_buf *out);

/* Appends the time in the form in which it is signed. wall_ns: ns since 1970. */
void pdl_sigv4_time(int64_t wall_ns, pdl_buf *out);

#endif
