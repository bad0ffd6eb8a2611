/* libraries.h -- file names of the libraries that are opened when they are first needed.
 *
 * A build that brings its own (the option `bundled` of meson: wheels) opens them by names that
 * nobody else uses: under the usual ones the loader would give ours to other modules of the
 * process, which were linked with the system's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_LIBRARIES_H
#define PDL_BASE_LIBRARIES_H

#ifdef PDL_BUNDLED
#define PDL_CURL_NAMES "libpdl-http.so"
#define PDL_CRYPTO_NAMES "libpdl-http.so" /* OpenSSL is in it */
#define PDL_SQLITE_NAMES "libpdl-sqlite.so"
#else
#define PDL_CURL_NAMES "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"
#define PDL_CRYPTO_NAMES "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so"
#define PDL_SQLITE_NAMES "libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib"
#endif
/* Nobody brings it along; PDL_DUCKDB names another file. */
#define PDL_DUCKDB_NAMES "libduckdb.so", "libduckdb.so.1", "libduckdb.dylib"

#endif
