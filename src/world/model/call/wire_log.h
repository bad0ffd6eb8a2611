/* wire_log.h -- the log of literal requests and replies of calls, without their secrets, for
 * --wire. Private to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_WIRE_LOG_H
#define PDL_MODEL_WIRE_LOG_H

#include "model/call/call.h"

/* Writes the lines "#CALL > ..." and "#CALL < ..." and passes them to the option `wire`, if it is
 * set. */
void pdl_wire_sent(const pdl_call *c, const pdl_http_request *r);
/* collects the text of a stream; the text is written when the stream ends */
void pdl_wire_data(pdl_call *c, pdl_str bytes);
void pdl_wire_received(pdl_call *c, const pdl_http_reply *r);

#endif
