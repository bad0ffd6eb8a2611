/* fence.c -- reads Markdown fences; see fence.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/fence.h"

#include "base/banned.h"

#define FENCE PDL_STR("```")

/* Returns the offset after the line that begins at `at`; the text's length after the last line. */
static size_t line_end(pdl_str s, size_t at) {
    size_t lf = pdl_str_find(s, PDL_STR("\n"), at);
    return lf == PDL_NOT_FOUND ? s.n : lf + 1;
}

bool pdl_fence_next(pdl_str text, size_t *at, pdl_str *body) {
    size_t open = pdl_str_find(text, FENCE, *at);
    if (open == PDL_NOT_FOUND) return false;
    size_t from = line_end(text, open), close = pdl_str_find(text, FENCE, from);
    *at = close == PDL_NOT_FOUND ? text.n : close + FENCE.n;
    *body = pdl_str_sub(text, from, close == PDL_NOT_FOUND ? text.n : close);
    return true;
}

pdl_str pdl_fence_inside(pdl_str text) {
    pdl_str s = pdl_str_trim(text), body;
    size_t at = 0;
    bool fenced = pdl_str_starts(s, FENCE) && pdl_fence_next(s, &at, &body) && at == s.n;
    return fenced && pdl_str_ends(s, PDL_STR("\n```")) ? body : text;
}
