/* embed.h -- texts to vectors: an effect split into requests; earlier answers are kept for the run.
 * Private to model (spec providers 18).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_EMBED_H
#define PDL_MODEL_EMBED_H

#include "model/call/call.h"

/* Take e and answer it, at once or later. */
void pdl_embed_start(pdl_calls *calls, pdl_effect *e);
/* Ends the embedding with this id, if there is one; its callbacks do not run any more. */
bool pdl_embed_cancel(pdl_calls *calls, uint32_t id);
/* Ends all embeddings and releases the kept vectors. */
void pdl_embed_close(pdl_calls *calls);

/* --- of dialects whose addresses embeddings share --------------------------------------------- */

/* dialect_azure.c: what: "chat/completions", "embeddings". */
void pdl_azure_path(const pdl_ask *a, const char *what, pdl_buf *path);
/* dialect_gemini.c: path of a model of Google at Vertex AI, without its method. Errors: config. */
PDL_MUST bool pdl_vertex_path(const pdl_ask *a, pdl_buf *path, pdl_err *err);
/* dialect_watsonx.c: path for what ("text/embeddings") and model_id, project_id or space_id of the
 * body. */
PDL_MUST bool pdl_watsonx_head(const pdl_ask *a, const char *what, pdl_buf *path, pdl_val *body,
                               pdl_err *err);

#endif
