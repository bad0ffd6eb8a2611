/* host_view.h -- shows a run of the module as a Live Document: it answers the questions of the
 * viewer's page, while the run is in progress and afterwards. Private to wasm.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_WASM_HOST_VIEW_H
#define PDL_WASM_HOST_VIEW_H

#include "base/buf.h"
#include "effect/secret.h"
#include "lang/program.h"
#include "trace/sink.h"
#include "value/val.h"

typedef struct pdl_wasm_shown pdl_wasm_shown;

/* Makes the view of a run. Keeps a reference to the program. name is borrowed until the view is
 * freed. */
pdl_wasm_shown *pdl_wasm_shown_new(pdl_program *program, const pdl_secrets *secrets, pdl_str name);
void pdl_wasm_shown_free(pdl_wasm_shown *v); /* v may be NULL */
/* Adds the sinks that the view needs to the sinks of the run. */
void pdl_wasm_shown_listen(pdl_wasm_shown *v, pdl_sinks *sinks);
/* Must be called when the run is over. From then on, its whole trace is shown. */
void pdl_wasm_shown_over(pdl_wasm_shown *v);

/* Answers {path, query, body, posted} of the page with {status, type, body}. */
void pdl_wasm_shown_answer(pdl_wasm_shown *v, pdl_vref question, pdl_buf *out);
/* Appends how the boxes have changed since `from` of the question: {from, changes?, over}. */
void pdl_wasm_shown_changes(pdl_wasm_shown *v, pdl_vref question, pdl_buf *out);

#endif
