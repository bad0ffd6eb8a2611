/* given_files.h -- the files that the host gives to a question, by name: {"lib.pdl": "text"}. The
 * module has no other files. Private to wasm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WASM_GIVEN_FILES_H
#define PDL_WASM_GIVEN_FILES_H

#include "base/buf.h"
#include "base/err.h"
#include "lang/module_name.h"
#include "value/val.h"

typedef struct pdl_wasm_files {
    pdl_vref given; /* a dict of texts, borrowed; any other value means that there are no files */
} pdl_wasm_files;

/* Finds the text of a file by its path. `.` and `..` in the path are resolved first. Returns absent
 * when there is no such file. Borrowed. */
pdl_vref pdl_wasm_file(const pdl_wasm_files *files, pdl_str path);
/* This is a pdl_open_source_fn. user is a pdl_wasm_files. */
bool pdl_wasm_open_source(void *user, const pdl_module_name *module, pdl_buf *name, pdl_buf *bytes,
                          pdl_err *err);

#endif
