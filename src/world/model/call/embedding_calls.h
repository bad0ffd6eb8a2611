/* embedding_calls.h -- turns texts into vectors. One effect is split into requests, and earlier
 * answers are kept for the run, so that a text is paid for once. Private to model (spec providers
 * 18).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_EMBEDDING_CALLS_H
#define PDL_MODEL_EMBEDDING_CALLS_H

#include "model/call/call.h"

/* Takes e and answers it, at once or later. */
void pdl_embed_start(pdl_calls *calls, pdl_effect *e);
/* Ends the embedding with this id, if there is one; its callbacks do not run any more. */
bool pdl_embed_cancel(pdl_calls *calls, uint32_t id);
/* Ends all embeddings and releases the vectors that were kept. */
void pdl_embed_close(pdl_calls *calls);

/* --- functions of dialects that calls and embeddings share ------------------------------------ */

/* dialect_azure.c. Appends the path for `what`: "chat/completions" or "embeddings". */
void pdl_azure_path(const pdl_ask *a, const char *what, pdl_buf *path);
/* dialect_gemini.c. Appends the path of a Google model at Vertex AI, without its method. Error:
 * config. */
PDL_MUST bool pdl_vertex_path(const pdl_ask *a, pdl_buf *path, pdl_err *err);
/* dialect_watsonx.c. Appends the path for what ("text/embeddings") and adds model_id and project_id
 * or space_id to the body. */
PDL_MUST bool pdl_watsonx_head(const pdl_ask *a, const char *what, pdl_buf *path, pdl_val *body,
                               pdl_err *err);

#endif
