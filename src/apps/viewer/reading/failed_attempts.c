/* failed_attempts.c -- finds attempts of a block that failed before a retry or a fallback; see
 * failed_attempts.h.
 *
 * A trace has the attempts in the member `pdl__abandoned` of their block, each as an error block.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/failed_attempts.h"

#include "viewer/reading/digest.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

enum { DEEPEST = 64 };

bool pdl_box_is_attempt(const pdl_box *b) { return b->abandoned && pdl_step_is_in(b, "abandoned"); }

uint32_t pdl_box_attempts(const pdl_doc *d, uint32_t i) {
    const pdl_box *b = &d->boxes.p[i];
    uint32_t n = 0;
    while (n < b->n_children && pdl_box_is_attempt(&d->boxes.p[b->first + n])) n++;
    return n;
}

bool pdl_box_is_model_call(const pdl_doc *d, uint32_t i) {
    const pdl_box *b = &d->boxes.p[i];
    bool was_asked = !pdl_is_absent(pdl_box_get(b, "pdl__model_input"));
    return pdl_box_is_kind(b, "model") && (was_asked || !pdl_box_attempts(d, i));
}

/* Returns true when the fallback of the box was executed. */
static bool fell_back(const pdl_doc *d, const pdl_box *b) {
    for (uint32_t k = b->first; k < b->first + b->n_children; k++)
        if (pdl_step_is_in(&d->boxes.p[k], "fallback")) return true;
    return false;
}

void pdl_attempt_put_title(const pdl_doc *d, uint32_t i, pdl_buf *out) {
    uint32_t parent = d->boxes.p[i].parent, number = i - d->boxes.p[parent].first + 1;
    const pdl_box *around = &d->boxes.p[d->boxes.p[parent].parent];
    bool is_last = number == pdl_box_attempts(d, parent);
    if (is_last && fell_back(d, &d->boxes.p[parent]))
        PDL_PUT(out, "Failed; its fallback was used");
    else if (is_last && pdl_box_is_kind(around, "error")) /* the block has failed */
        pdl_buf_putf(out, "Attempt %u failed", number);
    else
        pdl_buf_putf(out, "Attempt %u failed and was repeated", number);
}

/* Appends the text that a box of the attempt had printed. The recursion ends at DEEPEST. */
static void put_made(const pdl_doc *d, uint32_t i, unsigned depth, pdl_buf *out) {
    const pdl_box *b = &d->boxes.p[i];
    pdl_printing how = pdl_box_printing(b);
    bool is_error = pdl_box_is_kind(b, "error"); /* the failed block is inside of this box */
    uint32_t parts = 0;
    if (how == PDL_PRINTS_RESULT) pdl_box_print(d, i, out);
    if (how != PDL_PRINTS_PARTS || depth > DEEPEST) return;
    for (uint32_t k = b->first; k < b->first + b->n_children; k++) {
        const pdl_box *c = &d->boxes.p[k];
        bool prints = is_error || (!pdl_box_is_attempt(c) && pdl_child_prints(b, c));
        if (!prints || pdl_box_has_no_result(c)) continue;
        if (parts++) pdl_buf_put(out, pdl_box_separator(b));
        put_made(d, k, depth + 1, out);
    }
}

void pdl_attempt_put_text(const pdl_doc *d, uint32_t i, pdl_buf *out) { put_made(d, i, 0, out); }
