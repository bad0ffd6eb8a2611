/* secret.h -- finds out what is a secret, and removes secrets from texts (spec execution 14.5).
 *
 * A key leaks in many ways: a service repeats it in an error, a log quotes a header, a trace holds
 * the parameters of a call. If each of these places redacted separately, one would be forgotten. So
 * a session has one register. Every key that a run uses is registered when it becomes known, before
 * the request with it is written down or sent. Keys come from many places: the environment and
 * `.env`; the parameters, headers and address of a call; the tokens that a key was exchanged for;
 * the configuration of tool servers. Everything that is written besides the program's own output
 * (recording, cache, trace, explanation, wire log, debug lines, errors) passes through the
 * register. An empty register, or none (NULL), costs one comparison.
 *
 * There are two rules. First, the name of a place makes its content secret (a parameter `api_key`,
 * a header, the value of a query). This content is replaced, however short it is. Second, a
 * registered text is replaced wherever it occurs, even when a service repeats it. Texts of fewer
 * than PDL_SECRET_MIN bytes are not registered, because they occur in ordinary words. An occurrence
 * is found in its plain form, with the escapes of JSON and Python (to any depth), percent-encoded,
 * and split over pieces of a stream.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_EFFECT_SECRET_H
#define PDL_EFFECT_SECRET_H

#include "base/buf.h"
#include "value/val.h"

#define PDL_SECRET_SHOWN "[REDACTED]"
enum { PDL_SECRET_MIN = 6 };

typedef struct pdl_secrets pdl_secrets;
pdl_secrets *pdl_secrets_new(void);
void pdl_secrets_free(pdl_secrets *s); /* s may be NULL, as in every function here */
bool pdl_secrets_any(const pdl_secrets *s);
/* Returns a number that increases whenever more texts are redacted than before. A text that was
 * written while the number was smaller may have to be redacted again. */
size_t pdl_secrets_size(const pdl_secrets *s);

/* --- registering secrets (secret.c) ----------------------------------------------------------- */

/* Registers text, however short it is: from now on every occurrence of it is redacted. */
void pdl_secrets_add(pdl_secrets *s, pdl_str text);
/* Does what pdl_secrets_add does, but returns false when it was called with this text before. A
 * text that is too long to be remembered as a whole always counts as new. */
bool pdl_secrets_add_first(pdl_secrets *s, pdl_str text);
/* Registers text unless it is too short, or is a placeholder that manuals of local servers give for
 * a key that is not checked. */
void pdl_secrets_note(pdl_secrets *s, pdl_str text);
/* Registers the value of an environment variable when its name indicates a secret, and the user and
 * password of a URL in it. */
void pdl_secrets_note_variable(pdl_secrets *s, pdl_str name, pdl_str value);
/* Returns true when the name says that the value is a key. */
bool pdl_is_secret_variable(pdl_str name);
/* Registers the value of a header, without a first word such as "Bearer", unless headers of that
 * name are shown. */
void pdl_secrets_note_header(pdl_secrets *s, pdl_str name, pdl_str value);
/* Registers user and password of a URL, the parameters of its path, the values of its query and its
 * fragment. */
void pdl_secrets_note_address(pdl_secrets *s, pdl_str url);
/* Registers parts of a model's name that look like keys of services, which a user put into the
 * wrong field. */
void pdl_secrets_note_model(pdl_secrets *s, pdl_str name);
/* Registers keys, headers and URLs among the parameters of a model, also those of its fallbacks. */
void pdl_secrets_note_parameters(pdl_secrets *s, pdl_vref parameters);
/* Registers secrets of a request to the web: headers, user and password, parameters of the path,
 * and those parts of the query whose name or form is that of a key. Other parts of a query are what
 * the program asks for, such as the words of a search. */
void pdl_secrets_note_page(pdl_secrets *s, pdl_vref request);

/* --- places that are secret by their name (secret.c) ------------------------------------------ */

/* Returns true for parameters of a model whose value is secret: those with SECRET in
 * control.def. */
bool pdl_is_secret_parameter(pdl_str name);
/* Returns true for names of parameters and headers whose values are keys (api_key, token,
 * ...authorization..., ...key...). The canonical form of a request has no such values. */
bool pdl_is_secret_key(pdl_str name);
/* Returns true for all headers except some well-known headers that have no key. */
bool pdl_is_secret_header(pdl_str name);
/* Appends a URL for display. Its user and password, the parameters of its path, most values of its
 * query and its fragment are replaced by ***. */
void pdl_address_put(pdl_str url, pdl_buf *out);

/* --- redaction (redact.c) --------------------------------------------------------------------- */

void pdl_redact_text(const pdl_secrets *s, pdl_str text, pdl_buf *out);
/* Calls fn for each occurrence of a secret in text. found is the secret as it is written in
 * text. */
void pdl_secrets_each_in(const pdl_secrets *s, pdl_str text, void (*fn)(void *user, pdl_str found),
                         void *user);
/* Redacts a text that was cut. When the text ends with the first characters of a secret, these are
 * redacted, too. */
void pdl_redact_cut(const pdl_secrets *s, pdl_str text, pdl_buf *out);
/* Redacts all texts in lists and dicts, also keys, and replaces texts at secret places. Parts below
 * the maximum depth of JSON do not change. Takes v. Returns null when the walk was cancelled. */
pdl_val pdl_redact_val(const pdl_secrets *s, pdl_val v);

/* Redacts a text that arrives in pieces. The possible beginning of a secret is held back, a few
 * thousand bytes at most. */
typedef struct pdl_redactor {
    const pdl_secrets *secrets;
    pdl_buf held;
} pdl_redactor;
#define PDL_REDACTOR(secrets) ((pdl_redactor){(secrets), PDL_BUF})
void pdl_redactor_feed(pdl_redactor *h, pdl_str piece, pdl_buf *out);
void pdl_redactor_end(pdl_redactor *h, pdl_buf *out); /* writes the rest; h is empty afterwards */

/* These functions redact lines that contain JSON, such as the events of a stream. A secret may be
 * spread over several lines: it is also found when these lines begin alike and each has a part of
 * it under the same key. pdl_redactor_feed_lines takes whole lines and returns whole lines, perhaps
 * at a later call. */
void pdl_redact_lines(const pdl_secrets *s, pdl_str text, pdl_buf *out);
void pdl_redactor_feed_lines(pdl_redactor *h, pdl_str lines, pdl_buf *out);
void pdl_redactor_end_lines(pdl_redactor *h, pdl_buf *out);

#endif
