/* endpoint.c -- see endpoint.h. The address of a gateway may have a query, with a version or a key,
 * which belongs after the path of the service.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/ask/endpoint.h"

#include "base/banned.h"

void pdl_endpoint_add(pdl_buf *url, const char *path) {
    static const char *const firsts[] = {"/v1", "/api"};
    pdl_str base = pdl_buf_str(url), whole = pdl_str_of(path);
    if (pdl_str_ends(base, whole)) return;
    for (size_t i = 0; i < sizeof firsts / sizeof firsts[0]; i++) {
        pdl_str first = pdl_str_of(firsts[i]);
        bool leads = pdl_str_starts(whole, first) && whole.n > first.n && whole.p[first.n] == '/';
        if (leads && pdl_str_ends(base, first)) whole = pdl_str_sub(whole, first.n, whole.n);
    }
    pdl_buf_put(url, whole);
}

size_t pdl_endpoint_base(pdl_str base) {
    size_t end = 0;
    while (end < base.n && base.p[end] != '?' && base.p[end] != '#') end++;
    while (end && end < base.n && base.p[end - 1] == '/') end--;
    return end;
}

void pdl_endpoint_query(pdl_buf *url, pdl_str base) {
    size_t from = pdl_str_find(base, PDL_STR("?"), 0), end = pdl_str_find(base, PDL_STR("#"), 0);
    if (end == PDL_NOT_FOUND) end = base.n;
    if (from == PDL_NOT_FOUND || from + 1 >= end) return;
    bool first = pdl_str_find(pdl_buf_str(url), PDL_STR("?"), 0) == PDL_NOT_FOUND;
    pdl_buf_putc(url, first ? '?' : '&');
    pdl_buf_put(url, pdl_str_sub(base, from + 1, end));
}
