/* secret.h -- secrets do not show: what is one, and texts without them (spec execution 14.5).
 *
 * A session has one register. Every key that a run comes to use is told to it where it becomes
 * known, which is before the request with it is written down or sent: from the environment and
 * `.env`, the parameters of a call, its headers, user, password and query of its address, the
 * tokens that a key was exchanged for, the configuration of tool servers. Whatever is written
 * beside the program's own output (recording, cache, trace, explanation, wire log, debug lines,
 * errors) goes through the register on its way. An empty register, or none (NULL), costs one
 * comparison.
 *
 * Two rules hide. A place is secret by its name (a parameter `api_key`, a header, the value of a
 * query): what stands there is replaced, however short. A text that was registered is replaced
 * wherever it occurs, also where a service repeats it; one of fewer than PDL_SECRET_LEAST bytes is
 * not registered, since it would be found in ordinary words. An occurrence is found as it is, with
 * the escapes of JSON and Python (to any depth), percent-encoded, and split over pieces of a
 * stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_SECRET_H
#define PDL_EFFECT_SECRET_H

#include "base/buf.h"
#include "value/val.h"

#define PDL_SECRET_SHOWN "[REDACTED]"
enum { PDL_SECRET_LEAST = 6 };

typedef struct pdl_secrets pdl_secrets;
pdl_secrets *pdl_secrets_new(void);
void pdl_secrets_free(
    pdl_secrets *s); /* NULL is fine, as for every function here that takes a register */
bool pdl_secrets_any(const pdl_secrets *s);
/* Grows with every text that is registered for the first time. */
size_t pdl_secrets_size(const pdl_secrets *s);

/* --- telling what is secret (secret.c) -------------------------------------------------------- */

/* Every occurrence of text is hidden from now on, however short it is. */
void pdl_secrets_add(pdl_secrets *s, pdl_str text);
/* The same unless it is too short, or the word that manuals of local servers give for a key that
 * nobody asks for. */
void pdl_secrets_note(pdl_secrets *s, pdl_str text);
/* A variable of the environment: its value when its name says so, and user and password of an
 * address. */
void pdl_secrets_note_variable(pdl_secrets *s, pdl_str name, pdl_str value);
/* The value of a header, without a first word such as "Bearer", unless headers of that name are
 * shown. */
void pdl_secrets_note_header(pdl_secrets *s, pdl_str name, pdl_str value);
/* User and password of an address, and what its query says. */
void pdl_secrets_note_address(pdl_secrets *s, pdl_str url);
/* Keys, headers and addresses among the parameters of a model, also those of its fallbacks. */
void pdl_secrets_note_parameters(pdl_secrets *s, pdl_vref parameters);

/* --- places that are secret by their name (secret.c) ------------------------------------------ */

/* Parameters of a model whose value is secret: those of control.def. */
bool pdl_is_secret_parameter(pdl_str name);
/* True for names of parameters and headers whose values are no part of what is asked (api_key,
 * token, ...authorization..., ...key). */
bool pdl_is_secret_key(pdl_str name);
/* Headers are secret but for those that everybody sends. */
bool pdl_is_secret_header(pdl_str name);
/* An address as it may be shown: user, password and values of the query are ***. */
void pdl_address_put(pdl_str url, pdl_buf *out);

/* --- hiding (hide.c) -------------------------------------------------------------------------- */

void pdl_hide_text(const pdl_secrets *s, pdl_str text, pdl_buf *out);
/* Text that was cut: a secret that its end cuts is hidden as well. */
void pdl_hide_cut(const pdl_secrets *s, pdl_str text, pdl_buf *out);
/* A value with the same done to all texts in lists and dicts, keys too, and with the texts at
 * secret places replaced. What is nested deeper than JSON is written stays. Takes v. */
pdl_val pdl_hide_val(const pdl_secrets *s, pdl_val v);

/* A text that comes in pieces. What may be the beginning of a secret is held back, a few thousand
 * bytes at most. */
typedef struct pdl_hider {
    const pdl_secrets *secrets;
    pdl_buf held;
} pdl_hider;
#define PDL_HIDER(secrets) ((pdl_hider){(secrets), PDL_BUF})
void pdl_hider_feed(pdl_hider *h, pdl_str piece, pdl_buf *out);
void pdl_hider_end(pdl_hider *h, pdl_buf *out); /* the rest; h is empty again */

/* Lines that carry JSON, such as the events of a stream: also hides what stands in pieces in the
 * texts of several lines, under the same key behind the same beginning of the line. Feed takes
 * whole lines and gives back whole lines, sooner or later. */
void pdl_hide_lines(const pdl_secrets *s, pdl_str text, pdl_buf *out);
void pdl_hider_feed_lines(pdl_hider *h, pdl_str lines, pdl_buf *out);
void pdl_hider_end_lines(pdl_hider *h, pdl_buf *out);

#endif
