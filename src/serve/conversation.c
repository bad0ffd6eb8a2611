/* conversation.c -- see conversation.h. A ring: the oldest is dropped when there are too many, or
 * when they are too large together. Conversations that continue each other share their messages;
 * each is counted as a whole, so the real size is smaller.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/conversation.h"

#include <string.h>

#include "base/limits.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { MOST = 1024, MAX_ID = 40 };

typedef struct conversation_entry {
    char id[MAX_ID];
    pdl_val messages;
    size_t bytes;
} entry;

struct conversations {
    entry ring[MOST];
    size_t first, n;
    size_t bytes;
};

conversations *pdl_serve_conversations_new(void) { return PDL_NEW(conversations); }

static entry *at(const conversations *c, size_t i) {
    return (entry *)(uintptr_t)&c->ring[(c->first + i) % MOST];
}

static void drop_oldest(conversations *c) {
    entry *e = at(c, 0);
    c->bytes -= e->bytes;
    pdl_drop(e->messages);
    c->first = (c->first + 1) % MOST;
    c->n--;
}

void pdl_serve_conversations_free(conversations *c) {
    if (!c) return;
    while (c->n) drop_oldest(c);
    pdl_free(c);
}

/* The approximate size of a list: that of its JSON. (size_t)-1: too large. */
static size_t size_of(pdl_vref messages) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_SERVE_CONVERSATIONS_BYTES);
    pdl_err err = {0};
    size_t n = pdl_json_write(messages, PDL_JSON_LOOSE, 0, &b, &err) ? b.len : (size_t)-1;
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    return n;
}

void pdl_serve_conversations_put(conversations *c, pdl_str id, pdl_val messages) {
    size_t bytes = size_of(messages);
    if (id.n >= MAX_ID || bytes > PDL_MAX_SERVE_CONVERSATIONS_BYTES) {
        pdl_drop(messages);
        return;
    }
    while (c->n && (c->n == MOST || c->bytes + bytes > PDL_MAX_SERVE_CONVERSATIONS_BYTES))
        drop_oldest(c);
    entry *e = at(c, c->n++);
    *e = (entry){.messages = messages, .bytes = bytes};
    memcpy(e->id, id.p, id.n);
    c->bytes += bytes;
}

pdl_vref pdl_serve_conversations_find(const conversations *c, pdl_str id) {
    for (size_t i = c->n; i-- > 0;)
        if (pdl_str_is(id, at(c, i)->id)) return at(c, i)->messages;
    return pdl_absent();
}
