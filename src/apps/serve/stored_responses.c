/* stored_responses.c -- stores responses and their messages in a ring; see stored_responses.h. The
 * oldest response is dropped when there are too many, or when they are too large together. A
 * conversation that continues another one shares the messages of the earlier one. But each
 * conversation is counted with all its messages, so the real size is smaller than the sum. A
 * response that a client removes leaves an empty place, which counts until it is the oldest.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/stored_responses.h"

#include <assert.h>
#include <string.h>

#include "base/limits.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { MAX_ENTRIES = 1024, MAX_ID = 40 };

typedef struct conversation_entry {
    /* "" when the response was removed; its place becomes free when it is the oldest */
    char id[MAX_ID];
    pdl_val messages, response;
    size_t bytes;
} entry;

struct conversations {
    entry ring[MAX_ENTRIES];
    size_t first, n;
    size_t bytes;
};

conversations *pdl_serve_conversations_new(void) { return PDL_NEW(conversations); }

static entry *at(const conversations *c, size_t i) {
    return (entry *)(uintptr_t)&c->ring[(c->first + i) % MAX_ENTRIES];
}

/* Empties an entry. The entry stays at its place, so that the order of the other entries does not
 * change. */
static void clear(conversations *c, entry *e) {
    assert(c->bytes >= e->bytes);
    c->bytes -= e->bytes;
    pdl_drop(e->messages);
    pdl_drop(e->response);
    *e = (entry){.messages = pdl_absent(), .response = pdl_absent()};
}

static void drop_oldest(conversations *c) {
    clear(c, at(c, 0));
    c->first = (c->first + 1) % MAX_ENTRIES;
    c->n--;
}

void pdl_serve_conversations_free(conversations *c) {
    if (!c) return;
    while (c->n) drop_oldest(c);
    pdl_free(c);
}

/* Returns the approximate size of the messages and the response, which is the length of their JSON.
 * Returns (size_t)-1 when they are too large. */
static size_t size_of(pdl_vref messages, pdl_vref response) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_SERVE_CONVERSATIONS_BYTES);
    pdl_err err = {0};
    bool fits = pdl_json_write(messages, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &b, &err) &&
                pdl_json_write(response, PDL_JSON_LOOSE | PDL_JSON_NAN_NULL, 0, &b, &err);
    size_t n = fits ? b.len : (size_t)-1;
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    return n;
}

void pdl_serve_conversations_put(conversations *c, pdl_str id, pdl_val messages, pdl_val response) {
    size_t bytes = size_of(messages, response);
    if (id.n >= MAX_ID || bytes > PDL_MAX_SERVE_CONVERSATIONS_BYTES) {
        pdl_drop(messages);
        pdl_drop(response);
        return;
    }
    while (c->n && (c->n == MAX_ENTRIES || c->bytes + bytes > PDL_MAX_SERVE_CONVERSATIONS_BYTES))
        drop_oldest(c);
    entry *e = at(c, c->n++);
    *e = (entry){.messages = messages, .response = response, .bytes = bytes};
    memcpy(e->id, id.p, id.n);
    c->bytes += bytes;
}

/* Finds the entry of a response. Returns NULL when no response with this id is stored. */
static entry *find(const conversations *c, pdl_str id) {
    for (size_t i = c->n; id.n && i-- > 0;)
        if (pdl_str_is(id, at(c, i)->id)) return at(c, i);
    return NULL;
}

pdl_vref pdl_serve_conversations_messages(const conversations *c, pdl_str id) {
    const entry *e = find(c, id);
    return e ? e->messages : pdl_absent();
}

pdl_vref pdl_serve_conversations_response(const conversations *c, pdl_str id) {
    const entry *e = find(c, id);
    return e ? e->response : pdl_absent();
}

bool pdl_serve_conversations_remove(conversations *c, pdl_str id) {
    entry *e = find(c, id);
    if (e) clear(c, e);
    return e != NULL;
}
