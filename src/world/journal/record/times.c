/* times.c -- reads the times of a recording, so that the trace of a replay shows the times of the
 * recorded run; see times.h. A place may occur more than once; then its times are used in their
 * order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/times.h"

#include "base/map.h"
#include "base/vec.h"
#include "effect/effect.h"
#include "journal/recording_file.h"

#include "base/banned.h"

/* The latest accepted time. The difference of two accepted times fits into an int64_t. */
#define LATEST ((int64_t)1 << 62)

/* The times of one place. */
typedef struct place_times {
    char *place; /* owned; the key, which may hold any character */
    PDL_VEC(int64_t) starts, ends, replies;
    size_t i_start, i_end, i_reply; /* how many times of each kind were used so far */
} place_times;

struct pdl_times {
    pdl_map places;
    int64_t latest;
};

static place_times *at(pdl_times *t, pdl_str place) {
    place_times *p = pdl_map_find(&t->places, place);
    if (p) return p;
    p = PDL_NEW(place_times);
    p->place = pdl_str_dup(place);
    pdl_map_put(&t->places, (pdl_str){p->place, place.n}, p);
    return p;
}

/* Returns the place without the number of an attempt. A retried block has the number in its id when
 * it ends, but not when it begins.
 */
static pdl_str without_attempt(pdl_str place) {
    size_t dot = pdl_str_rfind(place, PDL_STR("."));
    if (dot == PDL_NOT_FOUND ||
        !pdl_str_starts(pdl_str_sub(place, dot, place.n), PDL_STR(".retry")))
        return place;
    return pdl_str_sub(place, 0, dot);
}

static int64_t some_time(int64_t nanos) { return nanos < 0 ? 0 : nanos > LATEST ? LATEST : nanos; }

static bool on_block(void *user, pdl_str place, int64_t start, int64_t end) {
    pdl_times *t = user;
    start = some_time(start);
    end = some_time(end);
    place_times *first = at(t, without_attempt(place)), *last = at(t, place);
    *pdl_vec_push(&first->starts) = start;
    *pdl_vec_push(&last->ends) = end;
    if (!t->latest || start < t->latest) t->latest = start;
    return true;
}

static bool on_effect(void *user, const db_effect *e) {
    double end = (e->start + (e->seconds > 0 ? e->seconds : 0)) * 1e9;
    place_times *p = at(user, e->place);
    *pdl_vec_push(&p->replies) = end > 0 && end < (double)LATEST ? (int64_t)end : 0;
    return true;
}

bool pdl_times_read(pdl_str path, pdl_times **out, pdl_err *err) {
    db *d;
    if (!pdl_journal_db_open(path, &d, err)) return false;
    pdl_times *t = PDL_NEW(pdl_times);
    bool ok = pdl_journal_db_each_block(d, on_block, t, err) &&
              pdl_journal_db_each(d, NULL, on_effect, t, err);
    pdl_journal_db_close(d);
    if (ok)
        *out = t;
    else
        pdl_times_free(t);
    return ok;
}

void pdl_times_free(pdl_times *t) {
    if (!t) return;
    for (size_t i = 0; i < t->places.n; i++) {
        place_times *p = t->places.entries[i].value;
        pdl_vec_fini(&p->starts);
        pdl_vec_fini(&p->ends);
        pdl_vec_fini(&p->replies);
        pdl_free(p->place);
        pdl_free(p);
    }
    pdl_map_fini(&t->places);
    pdl_free(t);
}

int64_t pdl_times_of(void *user, const pdl_event *e) {
    pdl_times *t = user;
    bool begins = e->kind == PDL_EVENT_block_begin,
         ends = e->kind == PDL_EVENT_block_end || e->kind == PDL_EVENT_block_fail,
         reply = e->kind == PDL_EVENT_reply;
    if (e->kind == PDL_EVENT_piece) return 0; /* no recording has the time of a piece */
    if (!begins && !ends && !reply) return t->latest;
    pdl_buf place = PDL_BUF;
    pdl_path_text(reply ? e->effect->place : e->path, &place);
    place_times *p = pdl_map_find(&t->places, pdl_buf_str(&place));
    pdl_buf_fini(&place);
    int64_t found = 0;
    if (p && begins && p->i_start < p->starts.n)
        found = p->starts.p[p->i_start++];
    else if (p && ends && p->i_end < p->ends.n)
        found = p->ends.p[p->i_end++];
    else if (p && reply && p->i_reply < p->replies.n)
        found = p->replies.p[p->i_reply++];
    if (found > t->latest) t->latest = found;
    return found ? found : t->latest;
}
