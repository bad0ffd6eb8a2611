/* store_messages.c -- the messages of a durable run, as nodes of a tree; see store.h. The file has
 * no index of the hashes of messages: with an index, each message would cost a write of a page at a
 * random place.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "journal/durable/store/store_impl.h"

#include "base/banned.h"

/* Returns a number other than 0 from the beginning of a hash, which is in hexadecimal digits. */
static uintptr_t number_of(pdl_str hash) {
    enum { DIGITS = 2 * sizeof(uintptr_t) };
    uintptr_t n = 0;
    for (size_t i = 0; i < hash.n && i < DIGITS; i++) {
        unsigned char c = (unsigned char)hash.p[i];
        n = n << 4 | (c <= '9' ? c & 15 : (c + 9) & 15);
    }
    return n ? n : 1;
}

static bool on_hash(void *user, sql *q, sql_row *row) {
    pdl_store *s = user;
    uintptr_t id = (uintptr_t)pdl_sql_int(q, row, 0);
    /* the map has numbers in the place of pointers */
    pdl_idmap_put(&s->by_hash, number_of(pdl_sql_text(q, row, 1)), (void *)id);
    return true;
}

static bool read_hashes(pdl_store *s, pdl_err *err) {
    if (s->has_hashes) return true;
    s->has_hashes = true;
    return pdl_sql_run(s->q, ST_HASHES, NULL, 0, (sql_rows){on_hash, s}, err);
}

void pdl_store_forget_hashes(pdl_store *s) {
    s->has_hashes = false;
    pdl_idmap_fini(&s->by_hash);
}

struct compared_hash {
    pdl_str hash;
    bool same;
};

static bool on_compared(void *user, sql *q, sql_row *row) {
    struct compared_hash *c = user;
    c->same = pdl_str_eq(pdl_sql_text(q, row, 0), c->hash);
    return false;
}

/* Two hashes may begin alike, so the whole hash is compared. */
static bool find(pdl_store *s, pdl_str hash, int64_t *id, pdl_err *err) {
    struct compared_hash c = {.hash = hash};
    *id = 0;
    if (!read_hashes(s, err)) return false;
    int64_t found = (int64_t)(uintptr_t)pdl_idmap_find(&s->by_hash, number_of(hash));
    if (!found) return true;
    /* the transaction that follows begins now, so that reading needs no separate locks */
    if (s->writes && s->level && !pdl_store_start(s, err)) return false;
    if (!pdl_sql_run(s->q, ST_HASH_OF, (sql_arg[]){SQL_I(found)}, 1, (sql_rows){on_compared, &c},
                     err))
        return false;
    if (c.same) *id = found;
    return true;
}

bool pdl_store_message(pdl_store *s, int64_t up, pdl_str hash, pdl_str text, int64_t *id,
                       pdl_err *err) {
    if (!find(s, hash, id, err)) return false;
    if (*id || !s->writes) return true;
    sql_arg args[] = {SQL_I(up), SQL_S(hash), SQL_S(text)};
    if (!pdl_store_write(s, ST_ADD_MESSAGE, args, 3, err)) return false;
    *id = pdl_sql_last_id(s->q);
    pdl_idmap_put(&s->by_hash, number_of(hash), (void *)(uintptr_t)*id);
    return true;
}

struct message_node {
    int64_t up;
    pdl_buf *text;
};

static bool on_node(void *user, sql *q, sql_row *row) {
    struct message_node *n = user;
    n->up = pdl_sql_int(q, row, 0);
    pdl_buf_put(n->text, pdl_sql_text(q, row, 1));
    return false;
}

/* Appends the list. A crafted file may contain a ring of nodes, so each node must have a larger id
 * than the node before it in the list. */
bool pdl_store_messages(pdl_store *s, int64_t id, pdl_buf *out, pdl_err *err) {
    PDL_VEC(pdl_buf) all = {0};
    bool ok = true;
    while (ok && id > 0) {
        pdl_buf text = PDL_BUF;
        struct message_node n = {0, &text};
        ok = pdl_sql_run(s->q, ST_AT_MESSAGE, (sql_arg[]){SQL_I(id)}, 1, (sql_rows){on_node, &n},
                         err);
        *pdl_vec_push(&all) = text;
        if (ok && n.up >= id)
            ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "%s is damaged: a ring of messages",
                             pdl_sql_path(s->q).p);
        id = n.up;
    }
    pdl_buf_putc(out, '[');
    for (size_t i = all.n; i-- > 0;) {
        pdl_buf_put(out, pdl_buf_str(&all.p[i]));
        if (i) pdl_buf_putc(out, ',');
        pdl_buf_fini(&all.p[i]);
    }
    pdl_buf_putc(out, ']');
    pdl_vec_fini(&all);
    return ok;
}
