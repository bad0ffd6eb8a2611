/* wirelog.h -- the literal requests and replies of calls without their secrets, for --wire. Private
 * to model.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MODEL_WIRELOG_H
#define PDL_MODEL_WIRELOG_H

#include "model/call/call.h"

/* Lines "#CALL > ..." and "#CALL < ...", passed to the options' wire, if there is one. */
void pdl_wire_sent(const pdl_call *c, const pdl_http_request *r);
void pdl_wire_data(pdl_call *c, pdl_str bytes); /* of a stream: written at its end */
void pdl_wire_received(pdl_call *c, const pdl_http_reply *r);

#endif
