/* prefix_report.c -- compares the beginnings of the calls of a run; see prefix_report.h.
 *
 * A call is a list of units: the members of its request, in the order in which the provider reads
 * them. In a list of messages, each message is a unit. Calls with the same first units are found by
 * a chained hash, so that the time for a long chat grows only with its text. Of several such calls,
 * the report uses the call whose next unit shares the longest beginning with the next unit of this
 * call. When two calls differ inside a unit, the text between the common beginning and the common
 * end is the value that differs. Equal text after that value could have been found by the cache, so
 * it is the cost of the difference.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/report/prefix_impl.h"

#include "base/hash.h"
#include "base/idmap.h"
#include "base/nanos.h"
#include "base/pace.h"
#include "model/preview.h"
#include "model/prompt_cache.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/parts_text.h"
#include "value/text.h"

#include "base/banned.h"

typedef struct unit {
    pdl_val json;    /* the bytes that are compared */
    pdl_val content; /* the text of a message, or absent */
    bool is_message;
    bool ends;      /* the provider keeps a beginning that ends after this unit */
    uint64_t chain; /* hash of this unit and of all units before it */
    size_t before;  /* number of the previous call with the same key, or 0 */
} unit;

typedef struct prefix_call {
    PDL_VEC(unit) units;
    char *place, *file;
    uint32_t line, id;
    pdl_val model, parameters, provider;
    /* tokens that the service found in its cache; -1 when it does not report them */
    int64_t cached;
    int64_t nanos; /* when the call was made; 0 when that is not known */
    /* seconds for which the provider keeps the request after its last use; 0 when that is
     * unknown */
    int64_t kept;
    bool is_earlier; /* the call was made in an earlier run */
    /* number of the earlier call that shares the longest beginning with this call, or 0; the first
     * call has the number 1 */
    size_t with;
    size_t before;   /* number of the previous call of the same model, or 0 */
    pdl_val differs; /* the first difference and its cause, or null */
    size_t behind;   /* equal bytes of the text after the value that differs */
} prefix_call;

struct pdl_prefix {
    PDL_VEC(prefix_call) calls;
    pdl_idmap ends; /* key of a chain -> number of the last call that begins with its units */
    pdl_idmap by_id;
    size_t first; /* index of the first call in the last run */
    bool causes;
    pdl_world *model;
    const pdl_prices *prices;
    made_texts made;
};

pdl_prefix *pdl_prefix_new(bool causes) {
    pdl_prefix *p = PDL_NEW(pdl_prefix);
    p->causes = causes;
    return p;
}

static void call_fini(prefix_call *c) {
    for (size_t i = 0; i < c->units.n; i++) {
        pdl_drop(c->units.p[i].json);
        pdl_drop(c->units.p[i].content);
    }
    pdl_vec_fini(&c->units);
    pdl_free(c->place);
    pdl_free(c->file);
    pdl_drop(c->model);
    pdl_drop(c->parameters);
    pdl_drop(c->provider);
    pdl_drop(c->differs);
}

void pdl_prefix_free(pdl_prefix *p) {
    if (!p) return;
    for (size_t i = 0; i < p->calls.n; i++) call_fini(&p->calls.p[i]);
    pdl_vec_fini(&p->calls);
    pdl_idmap_fini(&p->ends);
    pdl_idmap_fini(&p->by_id);
    pdl_made_texts_clear(&p->made);
    pdl_free(p);
}

/* --- calls as units --------------------------------------------------------------------------- */

/* Returns the text of a message, or the texts of its parts together. Owned; absent when the message
 * has no text. */
static pdl_val text_of(pdl_vref v) {
    static const char *const names[] = {"content", "parts", "text"};
    pdl_vref in = v;
    for (size_t i = 0; pdl_is_dict(in) && i < sizeof names / sizeof *names; i++) {
        pdl_vref inner = pdl_dict_getz(in, names[i]);
        if (!pdl_is_absent(inner)) in = inner;
    }
    if (pdl_is_str(in)) return pdl_keep(in);
    pdl_buf all = PDL_BUF;
    if (pdl_put_parts_text(in, &all)) return pdl_text_of_buf(&all);
    pdl_buf_fini(&all);
    return pdl_absent();
}

/* Mixes all bits of x into all bits of the result. Different numbers give different results. */
static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Adds a unit. `sent` is the unit as it is sent, with its marks. */
static void add_unit(prefix_call *c, pdl_vref v, pdl_vref sent, bool is_message) {
    pdl_buf b = PDL_BUF;
    pdl_err ignored = {0};
    if (!pdl_json_write(v, PDL_JSON_LOOSE, 0, &b, &ignored)) pdl_err_fini(&ignored);
    uint64_t before =
        c->units.n ? c->units.p[c->units.n - 1].chain : pdl_hash_str(pdl_str_get(c->model));
    uint64_t own = (uint64_t)pdl_hash_str(pdl_buf_str(&b)) << 32 | (b.len & UINT32_MAX);
    *pdl_vec_push(&c->units) = (unit){
        .content = text_of(v),
        .is_message = is_message,
        .ends = pdl_prefix_ends(pdl_str_get(c->provider), sent),
        .chain = mixed(mixed(before) + own),
    };
    c->units.p[c->units.n - 1].json = pdl_text_of_buf(&b);
}

static void add_member(prefix_call *c, pdl_vref body, pdl_vref sent, pdl_str name) {
    pdl_vref v = pdl_dict_gets(body, name), marked = pdl_dict_gets(sent, name);
    if (pdl_is_absent(v) || pdl_is_null(v)) return;
    bool messages = pdl_str_is(name, "messages") || pdl_str_is(name, "contents");
    if (messages && pdl_is_list(v))
        for (size_t i = 0; i < pdl_list_len(v); i++)
            add_unit(c, pdl_list_at(v, i), pdl_list_at(marked, i), true);
    else
        add_unit(c, v, marked, false);
}

static void add_units(prefix_call *c, pdl_vref body, pdl_vref sent) {
    pdl_str order = pdl_str_of(pdl_prefix_facts_of(pdl_str_get(c->provider))->order);
    for (size_t from = 0; from < order.n;) {
        size_t blank = pdl_str_find(order, PDL_STR(" "), from),
               to = blank == PDL_NOT_FOUND ? order.n : blank;
        add_member(c, body, sent, pdl_str_sub(order, from, to));
        from = to + 1;
    }
}

/* Adds the request as it would be sent, and sets the name of the provider. Returns false for a call
 * that sends nothing. */
static bool add_request(pdl_prefix *p, const pdl_effect *e, prefix_call *c) {
    pdl_val shown = pdl_absent();
    pdl_err ignored = {0};
    if (!pdl_model_preview(p->model, e, &shown, &ignored)) {
        /* when the request cannot be written, the values of the program are compared instead */
        pdl_err_fini(&ignored);
        c->provider = pdl_textz("");
        add_units(c, e->request, e->request);
        return true;
    }
    pdl_vref provider = pdl_dict_getz(shown, "provider"), sent = pdl_dict_getz(shown, "body");
    c->provider = pdl_is_str(provider) ? pdl_keep(provider) : pdl_textz("");
    bool is_request = pdl_is_dict(sent);
    if (is_request) {
        pdl_val body = pdl_prefix_unmarked(pdl_str_get(c->provider), pdl_keep(sent));
        c->kept = pdl_prefix_kept(pdl_str_get(c->provider), sent);
        add_units(c, body, sent);
        pdl_drop(body);
    }
    pdl_drop(shown);
    return is_request;
}

/* Returns the key of a chain, never 0. On a machine with 32-bit addresses the key has half of the
 * bits. */
static uintptr_t key_of(uint64_t chain) { return (uintptr_t)(chain ^ chain >> 32) | 1; }

static uintptr_t model_key(const prefix_call *c) {
    return key_of(mixed(pdl_hash_str(pdl_str_get(c->model))));
}

/* Returns true when both calls have the same first n units; for n = 0, the same model. The chains
 * of the calls are compared, because different chains may have the same key. */
static bool begins_so(const prefix_call *c, const prefix_call *other, size_t n) {
    if (!n) return pdl_str_eq(pdl_str_get(c->model), pdl_str_get(other->model));
    return other->units.n >= n && c->units.p[n - 1].chain == other->units.p[n - 1].chain;
}

static size_t common_start(pdl_str a, pdl_str b) {
    size_t n = 0, most = a.n < b.n ? a.n : b.n;
    while (n < most && a.p[n] == b.p[n]) n++;
    while (n > 0 && n < a.n && ((unsigned char)a.p[n] & 0xc0) == 0x80) n--;
    return n;
}

static pdl_str json_of(const prefix_call *c, size_t i) { return pdl_str_get(c->units.p[i].json); }

static size_t call_with(const pdl_prefix *p, uintptr_t key) {
    return (size_t)(uintptr_t)pdl_idmap_find(&p->ends, key);
}

/* Searches the calls with one key, from `at` on. Returns the call that has the first n units of c
 * and whose next unit shares the longest beginning with the next unit of c. Of several such calls,
 * returns the last. Returns 0 when there is no such call. */
static size_t most_alike(const pdl_prefix *p, const prefix_call *c, size_t n, size_t at) {
    enum { MAX_COMPARED = 16 };
    size_t best = 0, most = 0;
    for (size_t i = 0; at && i < MAX_COMPARED; i++) {
        const prefix_call *other = &p->calls.p[at - 1];
        /* this call has the key for fewer units, so it has no next unit to compare */
        if (other->units.n < n) break;
        bool both = n < c->units.n && n < other->units.n;
        size_t same = both ? common_start(json_of(c, n), json_of(other, n)) : 0;
        if (begins_so(c, other, n) && (!best || same > most)) {
            most = same;
            best = at;
        }
        at = n ? other->units.p[n - 1].before : other->before;
    }
    return best;
}

/* Finds the earlier call that shares the longest beginning with c. Returns its number, from 1; 0
 * when no call shares a beginning. */
static size_t find_earlier(const pdl_prefix *p, const prefix_call *c) {
    for (size_t n = c->units.n; n > 0; n--) {
        size_t at = most_alike(p, c, n, call_with(p, key_of(c->units.p[n - 1].chain)));
        if (at) return at;
    }
    return most_alike(p, c, 0, call_with(p, model_key(c)));
}

static void note_ends(pdl_prefix *p, size_t at) {
    prefix_call *c = &p->calls.p[at];
    void *number = (void *)(uintptr_t)(at + 1);
    for (size_t i = 0; i < c->units.n; i++) {
        uintptr_t key = key_of(c->units.p[i].chain);
        c->units.p[i].before = call_with(p, key);
        pdl_idmap_put(&p->ends, key, number);
    }
    c->before = call_with(p, model_key(c));
    pdl_idmap_put(&p->ends, model_key(c), number);
}

/* --- comparing -------------------------------------------------------------------------------- */

typedef struct compared {
    const prefix_call *with; /* NULL when no earlier call begins in the same way */
    /* numbers of shared units, messages and bytes; the bytes include the shared beginning of the
     * next unit */
    size_t units, messages, bytes;
    bool differs; /* both calls have another unit after the shared units */
    /* equal bytes at the beginning of that unit, at its end, and in the units after it */
    size_t in_unit, tail, after;
    size_t behind; /* bytes of the text that follow the value that differs */
} compared;

static size_t common_end(pdl_str a, pdl_str b, size_t start) {
    size_t n = 0, most = (a.n < b.n ? a.n : b.n) - start;
    while (n < most && a.p[a.n - 1 - n] == b.p[b.n - 1 - n]) n++;
    return n;
}

static compared compare(const prefix_call *c, const prefix_call *with) {
    compared r = {.with = with};
    if (!with) return r;
    size_t most = c->units.n < with->units.n ? c->units.n : with->units.n, i = 0;
    for (; i < most && pdl_str_eq(json_of(c, i), json_of(with, i)); i++) {
        r.bytes += json_of(c, i).n;
        r.messages += c->units.p[i].is_message;
    }
    r.units = i;
    r.differs = i < most;
    if (!r.differs) return r;
    r.in_unit = common_start(json_of(c, i), json_of(with, i));
    r.tail = r.behind = common_end(json_of(c, i), json_of(with, i), r.in_unit);
    r.bytes += r.in_unit;
    for (size_t k = i + 1; k < most && pdl_str_eq(json_of(c, k), json_of(with, k)); k++)
        r.after += json_of(c, k).n;
    return r;
}

/* --- the report ------------------------------------------------------------------------------- */

enum { BYTES_OF_TOKEN = 4 };

typedef struct sums {
    size_t calls, bytes, shared, expired_calls;
    int64_t cached, lost, expired;
    double cost, expired_cost;
    bool knows_cached, knows_cost;
    pdl_val by_origin; /* {origin: tokens} */
} sums;

static size_t length_of(const prefix_call *c) {
    size_t n = 0;
    for (size_t i = 0; i < c->units.n; i++) n += json_of(c, i).n;
    return n;
}

/* Returns the length of the run of equal bytes of a and b around an anchor: the n bytes of a that
 * begin at `anchor`. Returns 0 when b does not contain the anchor. Bytes before `from` do not
 * count. */
static size_t run_around(pdl_str a, pdl_str b, size_t from, size_t anchor, size_t n) {
    size_t at = pdl_str_find(b, pdl_str_sub(a, anchor, anchor + n), from), before = 0;
    if (at == PDL_NOT_FOUND) return 0;
    while (anchor - before > from && at - before > from &&
           a.p[anchor - before - 1] == b.p[at - before - 1])
        before++;
    return before + common_start(pdl_str_sub(a, anchor, a.n), pdl_str_sub(b, at, b.n));
}

/* Returns the length of the longest run of equal bytes after the difference. For example, a prompt
 * has such a run when it has fixed instructions between a date and a question, which both change.
 * Returns 0 when the run is shorter than half of the text after the difference, because lists of
 * similar texts have short runs by chance. */
static size_t equal_again(const prefix_call *c, const compared *r) {
    enum { ANCHOR = 48, MAX_PROBES = 64 };
    pdl_str a = json_of(c, r->units), b = json_of(r->with, r->units);
    size_t start = r->in_unit, found = 0;
    if (r->behind != r->tail && a.n > r->behind + start) start = a.n - r->behind;
    size_t step = (a.n - start) / MAX_PROBES;
    if (step < ANCHOR) step = ANCHOR;
    for (size_t at = start; at + ANCHOR <= a.n; at += step) {
        size_t run = run_around(a, b, r->in_unit, at, ANCHOR);
        if (run > found) found = run;
    }
    return found >= (a.n - start) / 2 ? found : 0;
}

/* Returns how many more tokens the provider would have found without the difference. */
static int64_t lost_tokens(const prefix_call *c, const compared *r) {
    const pdl_prefix_facts *f = pdl_prefix_facts_of(pdl_str_get(c->provider));
    /* fewer equal bytes are ignored: any two messages share quotes, braces and some words */
    enum { MIN_BYTES = 16 };
    size_t more = (r->tail < r->behind ? r->tail : r->behind) + r->after;
    size_t run = r->differs ? equal_again(c, r) : 0;
    if (run > more) more = run;
    if (!r->differs || more < MIN_BYTES) return 0;
    return pdl_prefix_found(f, (int64_t)((r->bytes + more) / BYTES_OF_TOKEN)) -
           pdl_prefix_found(f, (int64_t)(r->bytes / BYTES_OF_TOKEN));
}

static const char *remedy_for(pdl_str origin) {
    if (pdl_str_is(origin, "order")) return "sort the keys or the items";
    if (pdl_str_is(origin, "counter") || pdl_str_is(origin, "program"))
        return "move it below what stays the same, or drop it";
    return "move it below what stays the same";
}

/* Returns a description of the first difference, owned: its place in the request, and its cause. */
static pdl_val difference(const pdl_prefix *p, const prefix_call *c, compared *r) {
    const unit *u = &c->units.p[r->units], *other = &r->with->units.p[r->units];
    bool texts = pdl_is_str(u->content) && pdl_is_str(other->content);
    pdl_str text = texts ? pdl_str_get(u->content) : pdl_str_get(u->json);
    size_t at = texts ? common_start(text, pdl_str_get(other->content)) : r->in_unit, end = 0;
    pdl_val d = pdl_dict_putz(pdl_dict_new(9), "message",
                              u->is_message ? pdl_int((int64_t)r->messages) : pdl_null());
    d = pdl_dict_putz(d, "byte", pdl_int((int64_t)at));
    pdl_val made =
        pdl_made_by(&p->made, text, !texts, at < text.n ? at : text.n - (text.n > 0), &end);
    /* the values themselves may end alike; that end does not count as text after the value */
    if (end && end <= text.n) r->behind = text.n - end;
    static const char *const names[] = {"block", "variable", "file", "line", "used", "origin"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        pdl_vref v = pdl_is_dict(made) ? pdl_dict_getz(made, names[i]) : pdl_absent();
        d = pdl_dict_putz(d, names[i], pdl_is_absent(v) ? pdl_null() : pdl_keep(v));
    }
    if (!pdl_is_dict(made)) d = pdl_dict_putz(d, "origin", pdl_textz("program"));
    pdl_drop(made);
    return d;
}

/* Finds the cause of the first difference. The texts that the program has made so far are searched,
 * so this is done when the call is made. */
static void find_cause(const pdl_prefix *p, prefix_call *c) {
    compared r = compare(c, &p->calls.p[c->with - 1]);
    if (!r.differs) return;
    c->differs = difference(p, c, &r);
    c->behind = r.behind;
}

/* --- what a run sends ------------------------------------------------------------------------- */

static void take_call(pdl_prefix *p, const pdl_effect *e, int64_t nanos) {
    pdl_buf place = PDL_BUF;
    pdl_vref model = pdl_dict_getz(e->request, "model"),
             parameters = pdl_dict_getz(e->request, "parameters");
    prefix_call c = {
        .id = e->id, .cached = -1, .nanos = nanos, .provider = pdl_absent(), .differs = pdl_null()};
    if (!pdl_is_str(model)) return;
    c.model = pdl_keep(model);
    c.parameters = pdl_is_absent(parameters) ? pdl_null() : pdl_keep(parameters);
    if (!add_request(p, e, &c)) {
        call_fini(&c);
        return;
    }
    pdl_path_text(e->place, &place);
    c.place = pdl_buf_take(&place);
    c.file = e->loc.src ? pdl_str_dup(e->loc.src->name) : NULL;
    c.line = e->loc.src ? pdl_loc_line(e->loc) : 0;
    c.with = find_earlier(p, &c);
    if (p->causes && c.with) find_cause(p, &c);
    *pdl_vec_push(&p->calls) = c;
    pdl_idmap_put(&p->by_id, e->id, (void *)(uintptr_t)p->calls.n);
    note_ends(p, p->calls.n - 1);
}

static void take_reply(pdl_prefix *p, const pdl_event *e) {
    size_t at = (size_t)(uintptr_t)pdl_idmap_find(&p->by_id, e->effect->id);
    pdl_vref v = e->reply->value, usage = pdl_is_dict(v) ? pdl_dict_getz(v, "usage") : pdl_absent(),
             details =
                 pdl_is_dict(usage) ? pdl_dict_getz(usage, "prompt_tokens_details") : pdl_absent();
    int64_t n;
    /* A replay emits an effect before it knows when the recorded run sent this effect. */
    if (at && e->nanos > 0) p->calls.p[at - 1].nanos = e->nanos - pdl_nanos_of(e->reply->seconds);
    if (at && pdl_is_dict(details) && pdl_int_get(pdl_dict_getz(details, "cached_tokens"), &n))
        p->calls.p[at - 1].cached = n;
}

static void on_event(void *user, const pdl_event *e) {
    pdl_prefix *p = user;
    if (p->causes) pdl_made_texts_take(&p->made, e);
    if (e->kind == PDL_EVENT_effect && e->effect->kind == PDL_EFFECT_model)
        take_call(p, e->effect, e->nanos);
    else if (e->kind == PDL_EVENT_reply && e->effect->kind == PDL_EFFECT_model)
        take_reply(p, e);
}

pdl_sink pdl_prefix_sink(pdl_prefix *p, pdl_world *model, const pdl_prices *prices) {
    p->model = model;
    p->prices = prices;
    p->first = p->calls.n;
    for (size_t i = 0; i < p->calls.n; i++) p->calls.p[i].is_earlier = true;
    pdl_idmap_fini(&p->by_id);
    p->by_id = (pdl_idmap){0};
    pdl_made_texts_clear(&p->made);
    return (pdl_sink){p, on_event, p->causes};
}

/* --- what is lost ----------------------------------------------------------------------------- */

/* Stores the additional cost of tokens that were not in the cache. Returns false, and stores 0,
 * when there is no price. */
static bool price_of(const pdl_prefix *p, const prefix_call *c, int64_t tokens, double *cost) {
    pdl_price price;
    bool known = pdl_price_find(p->prices, pdl_str_get(c->model), c->parameters, &price);
    *cost = known ? (double)tokens * (price.input - price.cached_input) : 0;
    return known;
}

static pdl_val lost_of(const pdl_prefix *p, const prefix_call *c, int64_t tokens, sums *all) {
    double cost;
    bool known = price_of(p, c, tokens, &cost);
    all->lost += tokens;
    all->cost += cost;
    all->knows_cost = all->knows_cost || known;
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "tokens", pdl_int(tokens));
    return pdl_dict_putz(d, "cost", known ? pdl_float(cost) : pdl_null());
}

/* --- times to live ---------------------------------------------------------------------------- */

/* Returns how many tokens of c the provider finds while it keeps the other call. */
static int64_t expected_tokens(const prefix_call *c, const prefix_call *other) {
    const pdl_prefix_facts *f = pdl_prefix_facts_of(pdl_str_get(c->provider));
    compared r = compare(c, other);
    size_t bytes = f->marks ? 0 : r.bytes, all = 0;
    for (size_t i = 0; f->marks && i < r.units; i++) {
        all += json_of(c, i).n;
        if (other->units.p[i].ends) bytes = all;
    }
    return pdl_prefix_found(f, (int64_t)(bytes / BYTES_OF_TOKEN));
}

/* Finds the call that last used the beginning that c shares with earlier calls. The calls with the
 * same first units are examined, beginning with the latest. *kept gets the longest time for which
 * the provider keeps one of them. Returns NULL when a time is unknown, or when the provider still
 * kept one of the calls. */
static const prefix_call *last_use(const pdl_prefix *p, const prefix_call *c, const compared *r,
                                   int64_t *kept) {
    enum { MAX_COMPARED = 16 };
    int64_t tokens = expected_tokens(c, r->with);
    const prefix_call *last = NULL;
    size_t at = r->units ? c->units.p[r->units - 1].before : c->before;
    *kept = 0;
    for (size_t i = 0; at && i < MAX_COMPARED; i++) {
        const prefix_call *other = &p->calls.p[at - 1];
        if (other->units.n < r->units) break;
        bool has_it = expected_tokens(c, other) >= tokens;
        int64_t kept_ms = (int64_t)pdl_pace_ms((uint64_t)other->kept * 1000);
        if (has_it && (!other->nanos || !other->kept)) return NULL;
        if (has_it && (c->nanos - other->nanos) / 1000000 < kept_ms) return NULL;
        if (has_it && !last) last = other;
        if (has_it && other->kept > *kept) *kept = other->kept;
        at = r->units ? other->units.p[r->units - 1].before : other->before;
    }
    return last;
}

/* Returns how many tokens the provider did not find in its cache although an earlier call shared
 * them. Returns 0 when it found about as many as expected, or does not report how many it found. */
static int64_t missed_tokens(const prefix_call *c, const compared *r) {
    const pdl_prefix_facts *f = pdl_prefix_facts_of(pdl_str_get(c->provider));
    int64_t tokens = expected_tokens(c, r->with), missed = tokens - c->cached;
    /* the number of tokens is an estimate */
    return c->cached >= 0 && missed > f->step + tokens / 25 ? missed : 0;
}

/* Describes what a call lost because the provider no longer kept its beginning; null for other
 * calls. Owned. */
static pdl_val expired_of(const pdl_prefix *p, const prefix_call *c, const compared *r, sums *all) {
    int64_t kept = 0, missed = c->nanos && r->with ? missed_tokens(c, r) : 0;
    const prefix_call *last = missed ? last_use(p, c, r, &kept) : NULL;
    const pdl_prefix_facts *f = pdl_prefix_facts_of(pdl_str_get(c->provider));
    double cost;
    if (!last) return pdl_null();
    double seconds = (double)(c->nanos - last->nanos) / 1e9;
    bool longer =
        f->longer > kept && seconds * 1000 < (double)pdl_pace_ms((uint64_t)f->longer * 1000);
    bool known = price_of(p, c, missed, &cost);
    all->expired_calls++;
    all->expired += missed;
    all->expired_cost += cost;
    all->knows_cost = all->knows_cost || known;
    pdl_val d = pdl_dict_putz(pdl_dict_new(5), "seconds", pdl_float(seconds));
    d = pdl_dict_putz(d, "kept", pdl_int(kept));
    d = pdl_dict_putz(d, "tokens", pdl_int(missed));
    d = pdl_dict_putz(d, "cost", known ? pdl_float(cost) : pdl_null());
    return pdl_dict_putz(d, "remedy", longer ? pdl_textz(f->how) : pdl_null());
}

static void count_origin(sums *all, pdl_str origin, int64_t tokens) {
    int64_t before = 0;
    if (!pdl_int_get(pdl_dict_gets(all->by_origin, origin), &before)) before = 0;
    all->by_origin = pdl_dict_puts(all->by_origin, origin, pdl_int(before + tokens));
}

static pdl_val shared_of(const pdl_prefix *p, const compared *r) {
    pdl_val d = pdl_dict_new(3);
    int64_t number = r->with ? (int64_t)(r->with - p->calls.p) - (int64_t)p->first + 1 : 0;
    d = pdl_dict_putz(d, "call",
                      !r->with              ? pdl_null()
                      : r->with->is_earlier ? pdl_textz("earlier run")
                                            : pdl_int(number));
    d = pdl_dict_putz(d, "bytes", pdl_int((int64_t)r->bytes));
    return pdl_dict_putz(d, "messages", pdl_int((int64_t)r->messages));
}

static pdl_val report_call(const pdl_prefix *p, size_t at, sums *all) {
    const prefix_call *c = &p->calls.p[at];
    compared r = compare(c, c->with ? &p->calls.p[c->with - 1] : NULL);
    r.behind = c->behind;
    int64_t lost = lost_tokens(c, &r);
    pdl_val d = pdl_dict_putz(pdl_dict_new(10), "call", pdl_int((int64_t)(at - p->first) + 1));
    d = pdl_dict_putz(d, "place", pdl_textz(c->place));
    d = pdl_dict_putz(d, "file", c->file ? pdl_textz(c->file) : pdl_null());
    d = pdl_dict_putz(d, "line", c->line ? pdl_int(c->line) : pdl_null());
    d = pdl_dict_putz(d, "bytes", pdl_int((int64_t)length_of(c)));
    d = pdl_dict_putz(d, "shared", shared_of(p, &r));
    d = pdl_dict_putz(d, "cached_tokens", c->cached < 0 ? pdl_null() : pdl_int(c->cached));
    pdl_str origin = pdl_is_dict(c->differs) ? pdl_member_str(c->differs, "origin") : (pdl_str){0};
    d = pdl_dict_putz(d, "remedy", lost ? pdl_textz(remedy_for(origin)) : pdl_null());
    if (lost) count_origin(all, origin, lost);
    d = pdl_dict_putz(d, "differs", pdl_keep(c->differs));
    d = pdl_dict_putz(d, "lost", lost_of(p, c, lost, all));
    d = pdl_dict_putz(d, "expired", expired_of(p, c, &r, all));
    all->calls++;
    all->bytes += length_of(c);
    all->shared += r.bytes;
    all->cached += c->cached > 0 ? c->cached : 0;
    all->knows_cached = all->knows_cached || c->cached >= 0;
    return d;
}

int pdl_prefix_share(const pdl_prefix *p, uint32_t effect) {
    size_t at = (size_t)(uintptr_t)pdl_idmap_find(&p->by_id, effect);
    const prefix_call *c = at ? &p->calls.p[at - 1] : NULL;
    if (!c || !c->with) return -1;
    size_t n = length_of(c), shared = compare(c, &p->calls.p[c->with - 1]).bytes;
    return n ? (int)(shared * 100 / n) : 0;
}

pdl_val pdl_prefix_report(pdl_prefix *p) {
    pdl_val calls = pdl_list_new(p->calls.n);
    sums all = {.by_origin = pdl_dict_new(4)};
    for (size_t i = p->first; i < p->calls.n; i++)
        calls = pdl_list_push(calls, report_call(p, i, &all));
    pdl_val t = pdl_dict_putz(pdl_dict_new(6), "calls", pdl_int((int64_t)all.calls));
    t = pdl_dict_putz(t, "bytes", pdl_int((int64_t)all.bytes));
    t = pdl_dict_putz(t, "shared_bytes", pdl_int((int64_t)all.shared));
    t = pdl_dict_putz(t, "cached_tokens", all.knows_cached ? pdl_int(all.cached) : pdl_null());
    pdl_val lost = pdl_dict_putz(pdl_dict_new(3), "tokens", pdl_int(all.lost));
    lost = pdl_dict_putz(lost, "cost", all.knows_cost ? pdl_float(all.cost) : pdl_null());
    lost = pdl_dict_putz(lost, "by_origin", all.by_origin);
    t = pdl_dict_putz(t, "lost", lost);
    pdl_val expired = pdl_dict_putz(pdl_dict_new(3), "calls", pdl_int((int64_t)all.expired_calls));
    expired = pdl_dict_putz(expired, "tokens", pdl_int(all.expired));
    expired =
        pdl_dict_putz(expired, "cost", all.knows_cost ? pdl_float(all.expired_cost) : pdl_null());
    t = pdl_dict_putz(t, "expired", expired);
    pdl_val out = pdl_dict_putz(pdl_dict_new(2), "calls", calls);
    return pdl_dict_putz(out, "total", t);
}
