/* regex_translate.h -- Python `re` patterns checked and rewritten for PCRE2. Used by regex.c only.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_BASE_REGEX_TRANSLATE_H
#define PDL_BASE_REGEX_TRANSLATE_H

#include "base/buf.h"
#include "base/map.h"

enum {
    PDL_RX_NOCASE = 1,
    PDL_RX_MULTILINE = 2,
    PDL_RX_DOTALL = 4,
    PDL_RX_VERBOSE = 8,
    PDL_RX_ASCII = 16
};

/* A translated pattern. Groups keep their numbers; names are looked up here, since PCRE2 gets
 * none. */
typedef struct pdl_regex_text {
    pdl_buf text;   /* the pattern for PCRE2, to be compiled with UTF and UCP */
    unsigned flags; /* PDL_RX_* that hold from the start of the pattern */
    size_t groups;  /* number of groups, without group 0 */
    /* The pattern needs PCRE2's interpreter, because PCRE2's machine code keeps captures of
     * possessive groups that failed. */
    bool plain;
    pdl_map names; /* name (a slice of the pattern) -> (void *)(uintptr_t)number */
} pdl_regex_text;

/* Fills out, which is all-zero before the call. The caller releases it, also after a failure.
 * Errors are those of pdl_regex_new. */
PDL_MUST bool pdl_regex_translate(pdl_str pattern, unsigned flags, pdl_regex_text *out,
                                  pdl_err *err);
void pdl_regex_text_fini(pdl_regex_text *t);

#endif
