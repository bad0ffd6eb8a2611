/* memory.c -- running out of memory becomes an error of the program.
 *
 * Every allocation may fail, but code that handled each failure would be most of the code and never
 * be tested. So allocation never fails for its caller (base/alloc.h): a run keeps a reserve, which
 * is released when malloc fails, and the next block, call or turn of a loop raises an ordinary
 * error with its place. When even the reserve was not enough, the process ends, and its last
 * message names the place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>

#include "base/termsafe.h"
#include "vm/fiber.h"
#include "vm/run.h"

#include "base/banned.h"

enum {
    RESERVE = 2 *
              /* for one instruction (large requests check first) and for leaving the program */
              PDL_ALLOC_LARGE,
    WORDS = 1 << 16, /* for the message */
};

/* pdl_alloc_watch.give */
static bool release_reserve(void *user, size_t n) {
    pdl_run *r = user;
    if (!r->reserve) return false;
    pdl_free(r->reserve);
    r->reserve = NULL;
    r->failed_size = n;
    r->turns = UINT32_MAX - 1;
    return true;
}

/* pdl_alloc_watch.last_words */
static void report_oom(void *user, size_t n) {
    pdl_run *r = user;
    pdl_err err = {0};
    pdl_buf b = PDL_BUF;
    pdl_free(r->report_reserve);
    r->report_reserve = NULL;
    pdl_loc at = r->current ? pdl_fiber_loc(r->current) : (pdl_loc){0};
    pdl_err_set(&err, PDL_E_limit, at, "%sout of memory (%zu bytes asked for)",
                at.src ? "" : "pdl: error: ", n);
    pdl_err_print(&err, true, &b);
    fflush(stdout); /* earlier output comes first */
    (void)pdl_write_termsafe(stderr, pdl_buf_str(&b));
}

pdl_alloc_watch pdl_run_watch(pdl_run *r) {
    if (!r->reserve && !r->failed_size) r->reserve = pdl_alloc_try(RESERVE);
    if (!r->report_reserve) r->report_reserve = pdl_alloc_try(WORDS);
    return pdl_alloc_set_watch((pdl_alloc_watch){release_reserve, report_oom, r});
}

void pdl_run_unwatch(pdl_run *r) {
    pdl_free(r->reserve);
    pdl_free(r->report_reserve);
    r->reserve = r->report_reserve = NULL;
}

bool pdl_run_has_memory(pdl_run *r, pdl_err *err) {
    if (PDL_LIKELY(!r->failed_size)) return true;
    size_t n = r->failed_size;
    r->failed_size = 0;
    return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "out of memory (%zu bytes asked for)", n);
}
