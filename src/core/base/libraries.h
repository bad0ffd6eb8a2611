/* libraries.h -- opens libraries when they are first needed, and knows their file names.
 *
 * A build that includes its own copies (the option `bundled` of meson: wheels) opens them by names
 * that no other module uses. Under the usual names the loader would give our copies to other
 * modules of the process, which were linked with the libraries of the system. The static command
 * (the option `inside`) has them linked in, and opens nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_LIBRARIES_H
#define PDL_BASE_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/alloc.h"
#include "base/str.h"

/* Names a function of a library, and says where in a struct of addresses its address is written. */
typedef struct pdl_library_symbol {
    const char *name;
    size_t at;
} pdl_library_symbol;

/* Opens the first of the libraries that is installed; the caller closes it. Returns NULL when no
 * library is installed. */
PDL_MUST void *pdl_library_open(const char *const *names, size_t n);
void pdl_library_close(void *library); /* library may be NULL */

/* Returns the address of a function, or NULL. */
PDL_MUST void *pdl_library_at(void *library, const char *name);

/* Writes the addresses to out. Returns the name of a function that the library does not have, or
 * NULL when it has all functions. */
PDL_MUST const char *pdl_library_find(void *library, const pdl_library_symbol *symbols, size_t n,
                                      void *out);

/* Opens a library and finds its functions. Returns true when it has all functions. The library
 * stays loaded for the life of the process, since OpenSSL cannot be unloaded. */
PDL_MUST bool pdl_library_load(const char *const *names, size_t n_names,
                               const pdl_library_symbol *symbols, size_t n_symbols, void *out);

/* Returns the certificates (PEM) in a command with its libraries inside, for machines without
 * certificates. Returns an empty text in other builds. */
pdl_str pdl_library_certificates(void);
/* Returns true in a command with its libraries inside. */
bool pdl_library_is_inside(void);
/* Finds a module or a policy of the language in a command with its libraries inside. path is the
 * one that the file would have in an installation. Returns false in other builds. */
bool pdl_library_module(const char *path, pdl_str *bytes);

/* The functions of the libraries inside, which the build lists (libraries_inside.c). */
typedef struct pdl_inside_function {
    const char *name;
    const void *at;
} pdl_inside_function;
extern const pdl_inside_function pdl_inside[];
extern const size_t pdl_n_inside;
/* The modules inside, in the order of their paths, which bsearch needs; tools/modules-inside writes
 * the table. */
typedef struct pdl_inside_module {
    const char *path;
    const unsigned char *bytes;
    size_t n;
} pdl_inside_module;
extern const pdl_inside_module pdl_modules_inside[];
extern const size_t pdl_n_modules_inside;

#define PDL_INSIDE_NAME "the command itself"
#ifdef PDL_BUNDLED
#define PDL_CURL_NAMES   "libpdl-http.so"
#define PDL_CRYPTO_NAMES "libpdl-http.so" /* this file contains libcurl and OpenSSL */
#define PDL_SQLITE_NAMES "libpdl-sqlite.so"
#elif defined PDL_INSIDE
#define PDL_CURL_NAMES   PDL_INSIDE_NAME
#define PDL_CRYPTO_NAMES PDL_INSIDE_NAME
#define PDL_SQLITE_NAMES PDL_INSIDE_NAME
#else
/* The last name is for macOS. The system kills a process that opens the libcrypto of macOS, so the
 * name is that of a package's libcrypto, with its version. */
#define PDL_CURL_NAMES                                                                             \
    "libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so", "/usr/lib/libcurl.4.dylib"
#define PDL_CRYPTO_NAMES "libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.so", "libcrypto.3.dylib"
#define PDL_SQLITE_NAMES "libsqlite3.so.0", "libsqlite3.so", "/usr/lib/libsqlite3.dylib"
#endif
/* No package of libpdl contains DuckDB. PDL_DUCKDB names another file. */
#define PDL_DUCKDB_NAMES "libduckdb.so", "libduckdb.so.1", "libduckdb.dylib"

#endif
