/* fold.h -- the trace of a run: events folded into the program's tree (spec execution 14).
 *
 * Every block that was executed is replaced by a record of its execution; the rest stays as
 * written. The machine itself does not build the tree. The machine reports events, and everything
 * else that shows the run (terminal, journal, telemetry) reads the same events. So none of them can
 * disagree with the trace, and a run without a trace pays nothing for it. Finished parts are made
 * into text during the run and written to a temporary file, so memory holds only what is open
 * (fold_node.c explains how).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_TRACE_FOLD_H
#define PDL_TRACE_FOLD_H

#include "effect/secret.h"
#include "lang/program.h"
#include "trace/sink.h"
#include "value/label.h"

typedef struct pdl_fold pdl_fold;

/* Makes a fold, and keeps a reference to the program. The secrets of the register are redacted,
 * even when they are registered after the text was written. The register is borrowed until free,
 * and may be NULL. folder is the folder in which a long trace is written, to a file without a name.
 * NULL means the default folder. */
pdl_fold *pdl_fold_new(pdl_program *program, const pdl_secrets *secrets, const char *folder);
void pdl_fold_free(pdl_fold *f); /* f may be NULL */

/* Redacts values that the redaction (borrowed until free) covers. Called before the first event. */
void pdl_fold_redact(pdl_fold *f, const pdl_redaction *redaction);

/* Limits the trace to what the reference writes: calls in expressions are left out, and all lists
 * of messages are whole. Called before the first event. */
void pdl_fold_whole(pdl_fold *f);

/* Marks the trace as the trace of a replay: the outermost block gets `pdl__replayed`. The times in
 * such a trace are the times of the recording. Called before the first event. */
void pdl_fold_replayed(pdl_fold *f);

/* Makes the trace name the origins of values, as `pdl__labels`; put appends the name of one origin.
 * Called before the first event. */
typedef void pdl_fold_label_fn(const void *user, pdl_label origin, pdl_buf *out);
void pdl_fold_labels(pdl_fold *f, pdl_fold_label_fn *put, const void *user);

/* Returns the sink, which is added to the sinks of one run. */
pdl_sink pdl_fold_sink(pdl_fold *f);

/* Called after the last event: makes the text of blocks that have not ended, as in a run that was
 * cancelled. The caller has entered the scope of the run (base/cancel.h), so that values of any
 * size take PDL_GRACE_MS at most. */
void pdl_fold_write_rest(pdl_fold *f);
/* Called after the last event: writes the trace in pieces, as one line of JSON without a newline.
 * May be called more than once. Stops when put returns false. Errors: limit, io, and the errors of
 * put. */
typedef bool pdl_fold_put_fn(void *user, pdl_str piece, pdl_err *err);
pdl_fold_put_fn pdl_fold_put_buf; /* appends to a pdl_buf, which is `user` */
PDL_MUST bool pdl_fold_write(pdl_fold *f, pdl_fold_put_fn *put, void *user, pdl_err *err);
/* Appends the trace as one text. */
PDL_MUST bool pdl_fold_json(pdl_fold *f, pdl_buf *out, pdl_err *err);

#endif
