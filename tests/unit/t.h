/* t.h -- helpers of the unit tests: table rows, text assertions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TESTS_T_H
#define PDL_TESTS_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/str.h"

#define T_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* Names the row in the output of a failing test (printed only then, by t_assert_*). */
static size_t t_row __attribute__((unused));
#define T_ROW(i) (t_row = (i))

static inline pdl_str t_str(const char *z) { return pdl_str_of(z); }

/* got equals want, with the row in the message. */
#define t_assert_str(got, want)                                                                    \
    do {                                                                                           \
        pdl_str t_g = (got);                                                                       \
        const char *t_w = (want);                                                                  \
        if (!pdl_str_is(t_g, t_w))                                                                 \
            fail_msg("row %zu: got <%.*s>, want <%s>", t_row, PDL_FMT(t_g), t_w);                  \
    } while (0)

#define t_assert(cond)                                                                             \
    do {                                                                                           \
        if (!(cond)) fail_msg("row %zu: %s does not hold", t_row, #cond);                          \
    } while (0)

#endif
