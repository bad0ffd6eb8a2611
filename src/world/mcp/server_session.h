/* server_session.h -- private to mcp: a session with one server, its requests in flight, and the
 * two transports.
 *
 * A job is an effect that waits; a call is a request on the wire. The session speaks JSON-RPC and
 * knows nothing of pipes and HTTP; a transport carries single messages and knows nothing of tools.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_MCP_SERVER_SESSION_H
#define PDL_MCP_SERVER_SESSION_H

#include "base/vec.h"
#include "io/http.h"
#include "mcp/server_list.h"

typedef struct session session;

typedef struct mcp_job {
    pdl_effect *e; /* owned */
    bool again;    /* was sent before, in a session that the server forgot */
} job;

typedef enum {
    CALL_INITIALIZE,
    /* the notification after it, which must arrive before anything else is sent */
    CALL_INITIALIZED,
    CALL_LIST, /* one page of the tools */
    CALL_JOB,
} call_kind;

typedef struct call {
    session *s;
    call_kind kind;
    uint64_t id;    /* on the wire; unique in the session */
    job job;        /* of CALL_JOB */
    uint32_t epoch; /* session of the server in which the call was sent */
    pdl_timer *limit;
    uint64_t start_ns;
} call;

/* Carries messages of one session. It reports failures through pdl_mcp_session_failed and the like,
 * never from inside these functions. */
typedef struct transport {
    bool ordered; /* messages arrive in the order they are sent in */
    bool (*open)(session *s, pdl_err *err);
    /* One message. c: the request that it is; NULL: a notification or an answer. */
    void (*send)(session *s, pdl_str json, const call *c);
    void (*forget)(session *s, const call *c); /* its answer is not needed any more */
    void (*finish)(session *s);                /* begins an orderly end */
    bool (*finished)(const session *s);
    void (*insist)(session *s, int sig); /* it has not ended in time: SIGTERM, then SIGKILL */
    void (*close)(session *s);           /* releases everything at once */
} transport;
extern const transport pdl_mcp_transport_stdio, pdl_mcp_transport_http;
int pdl_mcp_stdio_pid(const session *s); /* 0: it does not run */

typedef enum { SESSION_NEW, SESSION_STARTING, SESSION_READY } session_state;

struct session {
    struct mcp_world *world;
    pdl_arena *arena; /* of config */
    server_config config;
    const transport *via;
    session_state state;
    uint64_t next_id;
    uint32_t epoch;
    const char *version;   /* negotiated; static */
    bool pushes;           /* the server announces changes of the list of tools */
    PDL_VEC(call *) calls; /* on the wire */
    PDL_VEC(job) jobs;     /* wait for the session, or for the list */
    PDL_VEC(job)
    /* of a server that takes one call after the other: wait for their turn, from next_turn on */
    turn;
    size_t next_turn;
    size_t n_sent;     /* calls on the wire that are jobs */
    uint64_t expected; /* the call that a message of its own answers; 0: not known */
    bool taking_turns; /* send_turns is at work further up */
    pdl_timer *after_cancel;
    pdl_val tools; /* list as allowed, absent: not known */
    pdl_val pages; /* while they are read, dict from name to tool; absent: they are not */
    size_t n_pages, list_bytes;
    pdl_val cursors;        /* dict of those that were given */
    uint64_t list_start_ns; /* when the first page was asked for */
    /* How often the list was requested in a session that the server then forgot, since the last
     * list arrived. */
    unsigned n_lost;
    size_t n_junk;       /* texts that were no message, since it was started */
    size_t text_bytes;   /* of the message that is being read */
    uint64_t begun_ns;   /* when it was started */
    /* what it has asked us and has written while nothing waited for it, since then */
    size_t n_asked, unasked_bytes;
    struct child *child; /* stdio */
    struct posts *posts; /* HTTP */
};

typedef struct mcp_world {
    pdl_world base;
    pdl_loop *loop;
    pdl_mcp_options opt;
    pdl_http *http; /* NULL until needed */
    PDL_VEC(session *) sessions;
} mcp_world;

/* mcp_session.c */
session *pdl_mcp_session_new(mcp_world *r, pdl_arena *a, const server_config *c); /* takes a */
void pdl_mcp_session_free(session *s);
void pdl_mcp_session_take(session *s, pdl_effect *e); /* takes e */
/* false: the effect is not one of its jobs */
bool pdl_mcp_session_cancel(session *s, uint32_t effect);
bool pdl_mcp_session_is_busy(const session *s);
void pdl_mcp_session_forget_calls(session *s); /* before it ends, when no job waits */

/* For transports. A text from the server: one message, or a list of them. Returns false when it is
 * none. */
bool pdl_mcp_session_message(session *s, pdl_str text);
void pdl_mcp_session_greeted(session *s); /* CALL_INITIALIZED has arrived */
/* The connection has ended: fails everything that waits. Takes the content of err. */
void pdl_mcp_session_failed(session *s, pdl_err *err);
/* Fails call id only; does nothing when it is not on the wire any more. Takes the content of err.
 */
void pdl_mcp_session_call_failed(session *s, uint64_t id, pdl_err *err);
/* The server does not know the session of this call any more: starts a new session and sends the
 * call once more. Returns false when that was done before; the call is then still on the wire. */
PDL_MUST bool pdl_mcp_session_lost(session *s, uint64_t id);
/* The same, noticed while no call was open: the next use starts a new session. */
void pdl_mcp_session_expired(session *s);
/* The trace context of requests for this effect; false: there is none. */
bool pdl_mcp_traceparent(const session *s, const pdl_effect *e, char out[56]);
bool pdl_mcp_session_waits_for(const session *s, uint64_t id);
/* "tool server NAME: ..."; always false. */
PDL_PRINTF(3, 4) bool pdl_mcp_server_error(const session *s, pdl_err *err, const char *fmt, ...);
/* "MCP error CODE: MESSAGE" for an error object of JSON-RPC. */
void pdl_mcp_rpc_error(pdl_vref error, pdl_err *err);

/* unasked.c */
/* Answers a request of the server. Returns false for one that cannot be answered: it is junk. */
PDL_MUST bool pdl_mcp_session_asked(session *s, pdl_str method, pdl_vref id);
/* For transports without a limit of their own. So many bytes have come; false: nothing waits for
 * them and they are too many, so the session has ended. */
PDL_MUST bool pdl_mcp_session_counts(session *s, size_t bytes);

/* result.c: results of the server as replies. */
/* The tools of a page that are allowed, into the dict from name to tool. */
PDL_MUST bool pdl_mcp_tools_add(const server_config *c, pdl_vref page, pdl_val *tools,
                                pdl_err *err);
pdl_val pdl_mcp_tools_list(pdl_vref tools);
PDL_MUST bool pdl_mcp_call_result(pdl_vref result, pdl_val *out, pdl_err *err);

#endif
