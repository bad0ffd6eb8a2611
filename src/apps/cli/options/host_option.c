/* host_option.c -- reads --host, the address at which a server listens.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/options.h"
#include "io/httpd.h"

#include "base/banned.h"

pdl_str pdl_cli_host(const arguments *a) {
    pdl_str host = a->given[OPT_host] ? a->value[OPT_host] : PDL_STR("127.0.0.1");
    bool in_brackets = pdl_str_starts(host, PDL_STR("[")) && pdl_str_ends(host, PDL_STR("]"));
    return in_brackets ? pdl_str_sub(host, 1, host.n - 1) : host;
}

void pdl_cli_put_local_origin(const arguments *a, uint16_t port, pdl_buf *out) {
    pdl_str host = pdl_cli_host(a);
    if (pdl_str_is(host, "0.0.0.0")) host = PDL_STR("127.0.0.1");
    if (pdl_str_is(host, "::")) host = PDL_STR("::1");
    pdl_httpd_put_origin(host, port, out);
}
