/* asked.h -- private to viewer: hashes of what each model call sent. With them a comparison of two
 * runs finds the calls that sent something else, without reading their messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VIEWER_ASKED_H
#define PDL_VIEWER_ASKED_H

#include "viewer/reading/reading.h"

/* Appends [[messages, settings], ...], two hashes for each call in the order of their numbers.
 * Calls with equal hashes sent equal messages, or had the same model and parameters. */
void pdl_asked_json(const pdl_reading *r, pdl_buf *out);

#endif
