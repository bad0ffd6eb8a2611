/* fold.h -- the trace of a run: events folded into the program's tree (spec language-execution 14).
 *
 * Every block that was executed is replaced by what is known of its execution; the rest stays as written.
 * Values that wait for a reply are resolved when the tree is written.
 */
#ifndef PDL_TRACE_FOLD_H
#define PDL_TRACE_FOLD_H

#include "lang/program.h"
#include "effect/secret.h"
#include "trace/sink.h"

typedef struct pdl_fold pdl_fold;

/* The program is kept. The tree does not show what is in the register (borrowed until free; NULL: none). */
pdl_fold *pdl_fold_new(pdl_program *program, const pdl_secrets *secrets);
void pdl_fold_free(pdl_fold *f); /* NULL is fine */

/* To be added to the sinks of one run. */
pdl_sink pdl_fold_sink(pdl_fold *f);

/* The tree so far as an owned value; after the end of the run it is the trace. */
pdl_val pdl_fold_value(const pdl_fold *f);
/* The same as one line of JSON without a newline. Error: limit. */
PDL_MUST bool pdl_fold_json(const pdl_fold *f, pdl_buf *out, pdl_err *err);

#endif
