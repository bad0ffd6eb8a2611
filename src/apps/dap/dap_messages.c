/* dap_messages.c -- reads and writes messages of the protocol; see debugger.h. A message is a frame
 * with a length, as in the language server protocol. Output of the program is redacted before it
 * becomes a message, because editors keep their consoles.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "base/termsafe.h"
#include "base/utf8.h"
#include "dap/debugger.h"
#include "io/file.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { CHUNK = 65536 };

/* --- writing ---------------------------------------------------------------------------------- */

static void send(debugger *g, const char *type, pdl_val message) {
    pdl_buf json = PDL_BUF, framed = PDL_BUF;
    pdl_err err = {0};
    if (g->released) {
        pdl_drop(message);
        return;
    }
    message = pdl_dict_putz(message, "seq", pdl_int(++g->seq));
    message = pdl_dict_putz(message, "type", pdl_textz(type));
    int flags = PDL_JSON_LOOSE | PDL_JSON_CUT | PDL_JSON_NAN_NULL;
    if (!pdl_json_write(message, flags, 0, &json, &err)) { /* the message is too long */
        pdl_err_fini(&err);
        pdl_buf_clear(&json);
        PDL_PUT(&json, "{}");
    }
    pdl_frame_write(PDL_FRAME_CONTENT, pdl_buf_str(&json), &framed);
    if (!pdl_file_write_fd(g->out, pdl_buf_str(&framed), &err)) g->ended = true;
    pdl_err_fini(&err);
    pdl_buf_fini(&json);
    pdl_buf_fini(&framed);
    pdl_drop(message);
}

void pdl_dap_event(debugger *g, const char *name, pdl_val body) {
    pdl_val m = pdl_dict_putz(pdl_dict_new(4), "event", pdl_textz(name));
    send(g, "event", pdl_dict_putz(m, "body", body));
}

static pdl_val response(pdl_vref request, bool success) {
    pdl_val m =
        pdl_dict_putz(pdl_dict_new(6), "request_seq", pdl_int(pdl_member_int(request, "seq", 0)));
    m = pdl_dict_putz(m, "command", pdl_text(pdl_member_str(request, "command")));
    return pdl_dict_putz(m, "success", pdl_bool(success));
}

void pdl_dap_answer(debugger *g, pdl_vref request, pdl_val body) {
    send(g, "response", pdl_dict_putz(response(request, true), "body", body));
}

void pdl_dap_refuse(debugger *g, pdl_vref request, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    pdl_val text = pdl_text_of_buf(&b);
    pdl_val error = pdl_dict_putz(pdl_dict_new(2), "id", pdl_int(1));
    error = pdl_dict_putz(error, "format", pdl_keep(text));
    pdl_val m = pdl_dict_putz(response(request, false), "message", text);
    m = pdl_dict_putz(m, "body", pdl_dict_putz(pdl_dict_new(1), "error", error));
    send(g, "response", m);
}

void pdl_dap_output(debugger *g, const char *category, pdl_str text, bool untrusted) {
    pdl_buf shown = PDL_BUF, safe = PDL_BUF;
    if (!text.n) return;
    if (g->session)
        pdl_session_redact(g->session, text, &shown);
    else
        pdl_buf_put(&shown, text);
    if (untrusted) pdl_buf_put_shown(&safe, pdl_buf_str(&shown));
    pdl_val body = pdl_dict_putz(pdl_dict_new(2), "category", pdl_textz(category));
    body = pdl_dict_putz(body, "output", pdl_text(pdl_buf_str(untrusted ? &safe : &shown)));
    pdl_dap_event(g, "output", body);
    pdl_buf_fini(&shown);
    pdl_buf_fini(&safe);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Writes a line to standard error about bytes that are not a request, because there is no request
 * that an answer could name. */
static void complain(const char *what, const char *why) {
    pdl_err err = {0};
    pdl_buf line = PDL_BUF, safe = PDL_BUF;
    pdl_buf_putf(&line, "pdl dap: %s%s\n", what, why);
    pdl_buf_put_shown(&safe, pdl_buf_str(&line));
    if (!pdl_file_write_fd(STDERR_FILENO, pdl_buf_str(&safe), &err)) pdl_err_fini(&err);
    pdl_buf_fini(&line);
    pdl_buf_fini(&safe);
}

static bool on_message(void *user, pdl_str message, pdl_err *err) {
    debugger *g = user;
    pdl_val v;
    if (pdl_utf8_check(message) != PDL_NOT_FOUND) {
        complain("a message was left out, since it is not UTF-8", "");
    } else if (!pdl_json_read_document(message, PDL_JSON_PYTHON, &v, err)) {
        complain("a message was left out, since it is not JSON: ", err->msg);
        pdl_err_fini(err);
    } else if (!pdl_is_dict(v)) {
        complain("a message was left out, since it is no JSON object", "");
        pdl_drop(v);
    } else {
        *pdl_vec_push(&g->queue) = v;
    }
    return true;
}

void pdl_dap_read(debugger *g, int timeout_ms) {
    struct pollfd p = {.fd = g->in, .events = POLLIN};
    char chunk[CHUNK];
    pdl_err err = {0};
    if (g->ended || poll(&p, 1, timeout_ms) <= 0) return;
    ssize_t n = read(g->in, chunk, sizeof chunk);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    bool ok = n > 0 ? pdl_frame_feed(&g->reader, (pdl_str){chunk, (size_t)n}, on_message, g, &err)
                    : pdl_frame_end(&g->reader, &err);
    g->ended = g->ended || n <= 0 || !ok;
    g->is_garbled = g->is_garbled || !ok;
    /* when bytes are not a frame, the rest of the stream cannot be read */
    if (!ok) complain(err.msg, "");
    pdl_err_fini(&err);
}

bool pdl_dap_next(debugger *g, pdl_val *out) {
    if (g->queue_head == g->queue.n) {
        g->queue_head = g->queue.n = 0;
        return false;
    }
    *out = g->queue.p[g->queue_head++];
    return true;
}
