/* rsa_wasi.c -- see rsa.h. A module of WebAssembly sends no requests, so it signs nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "io/rsa.h"

#include "base/banned.h"

bool pdl_rsa_sign(pdl_str pem, pdl_str bytes, pdl_buf *out, pdl_err *err) {
    (void)pem, (void)bytes, (void)out;
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "keys of services cannot be used here");
}
