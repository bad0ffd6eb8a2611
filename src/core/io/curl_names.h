/* curl_names.h -- libcurl's functions, found by name at run time. Private to io.
 *
 * If libcurl were linked, it would load a dozen further libraries at each start of the command.
 * Most programs call no model, and a machine without libcurl still runs them. So the library is
 * opened at the first request, and everything is called through this table. Its types are those of
 * libcurl's header, so that the compiler finds a wrong argument.
 *
 * A new function is added here alone, by its name without the prefix curl_.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_IO_CURL_NAMES_H
#define PDL_IO_CURL_NAMES_H

#include <stdbool.h>

#include <curl/curl.h>

/* clang-format off */
#define PDL_CURL_FUNCTIONS(X)                                                                      \
    X(global_init) X(global_init_mem) X(global_cleanup) X(easy_init) X(easy_setopt)                \
    X(easy_getinfo) X(easy_reset) X(easy_cleanup) X(easy_strerror) X(multi_init) X(multi_setopt)   \
    X(multi_add_handle) X(multi_remove_handle) X(multi_socket_action) X(multi_info_read)           \
    X(multi_cleanup) X(slist_append) X(slist_free_all) X(share_init) X(share_setopt)               \
    X(share_cleanup) X(version_info) X(url) X(url_set) X(url_cleanup)
/* clang-format on */

/* `c->easy_init()` is curl_easy_init(). */
typedef struct pdl_curl {
#define X(name) __typeof__(&curl_##name) name;
    PDL_CURL_FUNCTIONS(X)
#undef X
} pdl_curl;

/* Opens the library, once for each table. Returns false when it is not installed, or is too old to
 * have one of the functions. It stays loaded for the life of the process, because OpenSSL cannot be
 * unloaded. */
bool pdl_curl_open(pdl_curl *out);

#endif
