/* unasked_messages.c -- limits the messages that a server sends unasked: its requests, and its
 * output while no call is open.
 *
 * Each request of a server costs a message, and over HTTP a connection. Output while no call is
 * open costs time, and no time limit of a call applies to it. So a session has an allowance of
 * requests and of such output, which grows with the age of the session. The session ends when the
 * server exceeds the allowance. Output while a call is open is bounded by the limits of the call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <math.h>

#include "base/limits.h"
#include "io/clock.h"
#include "mcp/server_session.h"
#include "value/json_write.h"

#include "base/banned.h"

enum {
    METHOD_NOT_FOUND = -32601,
    MAX_ID = 256, /* maximum length of an id of the server's requests, which our answer repeats */
    ASKS_A_SECOND = 10,
    UNASKED_A_SECOND = 1000000,
};

static bool is_within(const session *s, size_t used, size_t at_once, size_t a_second) {
    uint64_t seconds = (pdl_clock_ns() - s->begun_ns) / 1000000000;
    return used <= at_once || used - at_once <= seconds * a_second;
}

static void end_flood(session *s, const char *what) {
    pdl_err err = {0};
    pdl_mcp_server_error(s, &err, "%s", what);
    err.kind = PDL_E_limit;
    pdl_mcp_session_failed(s, &err);
}

bool pdl_mcp_session_counts(session *s, size_t bytes) {
    if (s->calls.n || s->state == SESSION_NEW) return true;
    s->unasked_bytes += bytes;
    if (is_within(s, s->unasked_bytes, PDL_MAX_TOOL_UNASKED_BYTES, UNASKED_A_SECOND)) return true;
    end_flood(s, "it writes without end although nothing waits for it");
    return false;
}

/* Returns true for an id that our answer can repeat: a number, or a text that is not long. */
static bool is_id(pdl_vref id) {
    if (pdl_is_str(id)) return pdl_str_get(id).n <= MAX_ID;
    return pdl_is(id, PDL_V_INT) || (pdl_is(id, PDL_V_FLOAT) && isfinite(pdl_float_of(id)));
}

/* Answers a request of the server. Only `ping` is supported; other requests get an error. */
bool pdl_mcp_session_asked(session *s, pdl_str method, pdl_vref id) {
    pdl_buf b = PDL_BUF;
    pdl_err err = {0};
    if (!is_id(id)) return false;
    if (!is_within(s, ++s->n_asked, PDL_MAX_TOOL_ASKS, ASKS_A_SECOND)) {
        end_flood(s, "it sends requests without end");
        return true;
    }
    pdl_val d = pdl_dict_putz(pdl_dict_new(3), "jsonrpc", pdl_textz("2.0"));
    d = pdl_dict_putz(d, "id", pdl_keep(id));
    if (pdl_str_is(method, "ping")) {
        d = pdl_dict_putz(d, "result", pdl_dict_new(0));
    } else {
        pdl_val e = pdl_dict_putz(pdl_dict_new(2), "code", pdl_int(METHOD_NOT_FOUND));
        d = pdl_dict_putz(d, "error", pdl_dict_putz(e, "message", pdl_textz("Method not found")));
    }
    if (pdl_json_write(d, 0, 0, &b, &err)) s->via->send(s, pdl_buf_str(&b), NULL);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_drop(d);
    return true;
}
