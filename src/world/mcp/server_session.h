/* server_session.h -- a session with one server, its requests in flight, and the two transports.
 * Private to mcp.
 *
 * A job is an effect that waits; a call is a request on the wire. The session speaks JSON-RPC and
 * does not know pipes and HTTP; a transport carries single messages and does not know tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_SERVER_SESSION_H
#define PDL_MCP_SERVER_SESSION_H

#include "base/vec.h"
#include "io/http.h"
#include "mcp/server_config.h"

typedef struct session session;

typedef struct mcp_job {
    pdl_effect *e; /* owned */
    bool again;    /* the job was sent before, in a session that the server forgot */
} job;

typedef enum {
    CALL_INITIALIZE,
    /* The notification after the handshake, which must arrive before anything else is sent. */
    CALL_INITIALIZED,
    CALL_LIST, /* one page of the tools */
    CALL_JOB,
} call_kind;

typedef struct call {
    session *s;
    call_kind kind;
    uint64_t id;    /* number on the wire; unique in the session */
    job job;        /* for CALL_JOB */
    uint32_t epoch; /* number of the server's session in which the call was sent */
    pdl_timer *limit;
    uint64_t start_ns;
} call;

/* Carries messages of one session. A transport reports failures through pdl_mcp_session_failed and
 * the like, never from inside these functions. */
typedef struct transport {
    bool ordered; /* messages arrive in the order in which they are sent */
    bool (*open)(session *s, pdl_err *err);
    /* Sends one message. c is the call that the message makes; NULL for an answer, and for a
     * notification other than CALL_INITIALIZED. */
    void (*send)(session *s, pdl_str json, const call *c);
    /* called when the answer to c is not needed any more */
    void (*forget)(session *s, const call *c);
    void (*finish)(session *s); /* begins an orderly end */
    bool (*finished)(const session *s);
    /* sends the signal SIGTERM or SIGKILL to a server that has not ended in time */
    void (*insist)(session *s, int sig);
    void (*close)(session *s); /* releases everything at once */
} transport;
extern const transport pdl_mcp_transport_stdio, pdl_mcp_transport_http;
/* returns 0 when the server has no process */
int pdl_mcp_stdio_pid(const session *s);

typedef enum { SESSION_NEW, SESSION_STARTING, SESSION_READY } session_state;

struct session {
    struct mcp_world *world;
    pdl_arena *arena; /* owns config */
    server_config config;
    const transport *via;
    session_state state;
    uint64_t next_id;
    uint32_t epoch;
    const char *version;   /* negotiated; static */
    bool pushes;           /* the server announces changes of its list of tools */
    PDL_VEC(call *) calls; /* calls on the wire */
    PDL_VEC(job) jobs;     /* jobs that wait for the session, or for the list of tools */
    /* When the server takes one call at a time: jobs that wait for their turn. The first of them is
     * at next_turn. */
    PDL_VEC(job) turn;
    size_t next_turn;
    size_t n_sent; /* how many calls on the wire are jobs */
    /* id of the call whose answer the transport is reading; 0 when it is unknown */
    uint64_t expected;
    bool taking_turns; /* send_turns is running */
    pdl_timer *after_cancel;
    pdl_val tools; /* list of the allowed tools, absent until it is known */
    /* dict from name to tool while the pages of the list are read; absent at other times */
    pdl_val pages;
    size_t n_pages, list_bytes;
    /* dict of the cursors that the server has sent, to detect a repeated one */
    pdl_val cursors;
    uint64_t list_start_ns; /* when the first page was requested */
    /* Number of sessions that the server forgot during a request for the list, since the last
     * list. */
    unsigned n_lost;
    size_t n_junk;     /* how many texts since the start were not messages */
    size_t n_stray;    /* how many answers since the start were to no open request */
    size_t text_bytes; /* bytes of the message that is being read */
    uint64_t begun_ns; /* when the server was started */
    /* Since the start of the server: requests that it sent, and bytes that it wrote while no call
     * was open. */
    size_t n_asked, unasked_bytes;
    struct child *child; /* stdio */
    struct posts *posts; /* HTTP */
};

typedef struct mcp_world {
    pdl_world base;
    pdl_loop *loop;
    pdl_mcp_options opt;
    pdl_http *http; /* NULL until it is needed */
    PDL_VEC(session *) sessions;
} mcp_world;

/* takes the arena of the configuration */
session *pdl_mcp_session_new(mcp_world *r, pdl_arena *a, const server_config *c);
void pdl_mcp_session_free(session *s);
/* Returns true when the invariants hold: each call has a number that was given out, in this session
 * of the server or an earlier one; jobs take turns only when the server takes one call at a time;
 * the list of tools is known or is being read, and not both. */
bool pdl_mcp_session_ok(const session *s);
void pdl_mcp_session_take(session *s, pdl_effect *e); /* takes e */
/* returns false when the effect is not a job of this session */
bool pdl_mcp_session_cancel(session *s, uint32_t effect);
bool pdl_mcp_session_is_busy(const session *s);
void pdl_mcp_session_forget_calls(session *s); /* drops all calls and jobs without an answer */

/* For transports: handles a text from the server, which is one message or a list of messages.
 * Returns false when the text is not a message. */
bool pdl_mcp_session_message(session *s, pdl_str text);
/* called when CALL_INITIALIZED has arrived at the server */
void pdl_mcp_session_greeted(session *s);
/* Fails all jobs that wait, because the connection has ended. Takes the content of err. */
void pdl_mcp_session_failed(session *s, pdl_err *err);
/* Fails one call; does nothing when it is not on the wire any more. Takes the content of err. */
void pdl_mcp_session_call_failed(session *s, uint64_t id, pdl_err *err);
/* Starts a new session and sends the call again, because the server has forgotten the session of
 * this call. Returns false when the call was sent twice already or belongs to the handshake; the
 * call is then still on the wire. */
PDL_MUST bool pdl_mcp_session_lost(session *s, uint64_t id);
/* Lets the next use start a new session, because the server forgot this one while no call was
 * open. */
void pdl_mcp_session_expired(session *s);
/* Writes the trace context of requests for this effect. Returns false when there is none. */
bool pdl_mcp_traceparent(const session *s, const pdl_effect *e, char out[56]);
bool pdl_mcp_session_waits_for(const session *s, uint64_t id);
/* Sets the error "tool server NAME: ...". Always returns false. */
PDL_PRINTF(3, 4) bool pdl_mcp_server_error(const session *s, pdl_err *err, const char *fmt, ...);
/* Sets the error "MCP error CODE: MESSAGE" for an error object of JSON-RPC. */
void pdl_mcp_rpc_error(pdl_vref error, pdl_err *err);

/* unasked_messages.c. Answers a request of the server. Returns false when the request cannot be
 * answered; it then counts as junk. */
PDL_MUST bool pdl_mcp_session_asked(session *s, pdl_str method, pdl_vref id);
/* Counts received bytes. Transports call this when they do not limit the bytes of a server
 * themselves. Returns false when no call is open and the bytes exceed the allowance; the session
 * has ended then. */
PDL_MUST bool pdl_mcp_session_counts(session *s, size_t bytes);

/* tool_result.c. Adds the allowed tools of one page to `tools`, a dict from name to tool. */
PDL_MUST bool pdl_mcp_tools_add(const server_config *c, pdl_vref page, pdl_val *tools,
                                pdl_err *err);
/* Finds the cursor of the next page, borrowed; absent after the last page. A cursor is a text by
 * the protocol; numbers are sent back unchanged. Returns false for any other value. */
PDL_MUST bool pdl_mcp_next_cursor(pdl_vref page, pdl_vref *next);
pdl_val pdl_mcp_tools_list(pdl_vref tools);
PDL_MUST bool pdl_mcp_call_result(pdl_vref result, pdl_val *out, pdl_err *err);

#endif
