/* rsa.h -- makes signatures with a private key, by OpenSSL's libcrypto, which libcurl depends on.
 * The library is opened when it is first used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_RSA_H
#define PDL_IO_RSA_H

#include "base/buf.h"
#include "base/err.h"

/* Appends the RS256 signature (RSASSA-PKCS1-v1_5 with SHA-256) of bytes, made with the key in PEM
 * text. Error: io, when there is no libcrypto or the text is not an RSA key; the message does not
 * contain the key. */
PDL_MUST bool pdl_rsa_sign(pdl_str pem, pdl_str bytes, pdl_buf *out, pdl_err *err);

#endif
