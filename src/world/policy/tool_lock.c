/* tool_lock.c -- compares definitions of tools with lock files (spec trust 3).
 *
 * The definition of a tool is text that a server wrote, and the model reads it as instructions: a
 * server that was checked once may send something else tomorrow. A lock file holds the hash of each
 * definition that its user has seen. A list of the server's tools contains only those that are
 * locked, or that a person has approved just now; no other tool can be called. When a call arrives
 * before the tools of its server were listed, the list is requested first.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/policy_impl.h"

#include "base/hash.h"
#include "value/int.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

/* A use of tools that waits until the definitions of its server have been examined. */
typedef struct listing {
    policy_front *front;
    pdl_effect *e;
    pdl_val server;
    /* id of the list or the question in flight; 0 while another waiting use requests the list */
    uint32_t id;
    /* the tools as the server describes them; absent until the list has arrived */
    pdl_val tools;
    pdl_val passed;    /* the tools that are locked, or that a person approved */
    pdl_val left_out;  /* the other tools: name -> reason, as a part of a sentence */
    size_t next;       /* index of the tool that is examined */
    bool looks, again; /* looks: look_on is running; again: a question was answered while it ran */
    bool answered;     /* a person has answered the last question, which is not reported yet */
    char hash[65];     /* hash of the examined definition */
    double seconds;
    struct listing *link;
} listing;

/* --- lock files ------------------------------------------------------------------------------- */

bool pdl_tool_hash(pdl_vref definition, char out[65], pdl_err *err) {
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = pdl_json_write(definition, PDL_JSON_SORT, 0, &b, err);
    if (ok) pdl_hash_hex(pdl_buf_str(&b), out);
    pdl_buf_fini(&b);
    return ok;
}

static bool is_lock(pdl_vref servers) {
    for (size_t i = 0, n = pdl_dict_len(servers); i < n; i++) {
        pdl_vref tools = pdl_dict_val_at(servers, i);
        if (!pdl_is_dict(tools)) return false;
        for (size_t k = 0; k < pdl_dict_len(tools); k++)
            if (!pdl_is_str(pdl_dict_val_at(tools, k))) return false;
    }
    return true;
}

/* Returns true for a version of lock files that this code knows. A later version may use the same
 * words with another meaning. */
static bool is_version(pdl_vref lock) {
    int64_t n;
    return pdl_is(lock, PDL_V_INT) && pdl_int_get(lock, &n) && n == 1;
}

bool pdl_lock_read(pdl_str name, pdl_str bytes, pdl_val *out, pdl_err *err) {
    pdl_val v;
    pdl_err why = {0};
    bool ok = pdl_json_read_document(bytes, 0, &v, &why);
    pdl_vref servers = ok && pdl_is_dict(v) ? pdl_dict_getz(v, "servers") : pdl_absent();
    bool fits = pdl_is_dict(servers) && is_lock(servers) && is_version(pdl_dict_getz(v, "lock"));
    if (fits)
        *out = pdl_keep(servers);
    else
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%.*s is no lock file: %s", PDL_FMT(name),
                    ok ? "it should be {\"lock\": 1, \"servers\": {SERVER: {TOOL: HASH}}}, as `pdl "
                         "policy lock` writes it"
                       : why.msg);
    if (ok) pdl_drop(v);
    pdl_err_fini(&why);
    return fits;
}

bool pdl_lock_write(pdl_vref servers, pdl_buf *out, pdl_err *err) {
    pdl_val v = pdl_dict_putz(pdl_dict_new(2), "lock", pdl_int(1));
    v = pdl_dict_putz(v, "servers", pdl_keep(servers));
    bool ok = pdl_json_write(v, PDL_JSON_SORT, 2, out, err);
    pdl_drop(v);
    if (ok) pdl_buf_putc(out, '\n');
    return ok;
}

pdl_str pdl_policies_lock_path(const pdl_policies *p, pdl_loc *loc) {
    if (!p->all.n) return (pdl_str){0};
    *loc = p->all.p[p->all.n - 1]->lock_loc;
    return p->all.p[p->all.n - 1]->lock;
}

bool pdl_policies_lock(pdl_policies *p, pdl_str name, pdl_str bytes, pdl_err *err) {
    policy *last = p->all.p[p->all.n - 1];
    last->lock = pdl_arena_str(p->arena, name);
    return pdl_lock_read(name, bytes, &last->locked, err);
}

bool pdl_policies_have_locks(const pdl_policies *p) {
    for (size_t i = 0; i < p->all.n; i++)
        if (pdl_is_dict(p->all.p[i]->locked)) return true;
    return false;
}

/* Returns NULL when every lock has exactly this definition; otherwise the reason, and in *lock the
 * name of the lock that differs. */
static const char *why_unknown(const pdl_policies *p, pdl_str server, pdl_str tool,
                               const char *hash, pdl_str *lock) {
    for (size_t i = 0; i < p->all.n; i++) {
        const policy *one = p->all.p[i];
        if (!pdl_is_dict(one->locked)) continue;
        *lock = one->lock;
        pdl_vref tools = pdl_dict_gets(one->locked, server);
        pdl_vref known = pdl_is_dict(tools) ? pdl_dict_gets(tools, tool) : pdl_absent();
        if (pdl_is_absent(known)) return "is not in the lock file";
        if (!pdl_text_is(known, hash)) return "has changed since it was locked";
    }
    return NULL;
}

/* --- uses that wait --------------------------------------------------------------------------- */

static pdl_vref get(const pdl_effect *e, const char *key) {
    return pdl_is_dict(e->request) ? pdl_dict_getz(e->request, key) : pdl_absent();
}

static bool is_list(const pdl_effect *e) { return pdl_tool_use_of(e).lists; }

static void drop_listing(listing *l) {
    listing **at = &l->front->listings;
    while (*at != l) at = &(*at)->link;
    *at = l->link;
    pdl_drop(l->server);
    pdl_drop(l->tools);
    pdl_drop(l->passed);
    pdl_drop(l->left_out);
    pdl_free(l);
}

static bool is_under_way(const policy_front *r, pdl_vref server) {
    for (const listing *l = r->listings; l; l = l->link)
        if (l->id && pdl_val_eq(l->server, server)) return true;
    return false;
}

/* Continues the other uses of the same server, which have waited, until one of them requests a list
 * again. Takes server. */
static void wake_others(policy_front *r, pdl_val server) {
    for (listing *l = r->listings; l && !is_under_way(r, server);) {
        if (!pdl_val_eq(l->server, server)) {
            l = l->link;
            continue;
        }
        pdl_effect *e = l->e;
        drop_listing(l);
        if (!pdl_lock_takes(r, e)) pdl_policy_forward(r, e);
        l = r->listings; /* the use that was continued may have changed the list of waiting uses */
    }
    pdl_drop(server);
}

static void fail_listing(listing *l, const pdl_err *why) {
    pdl_err err = {0};
    pdl_effect *e = l->e;
    policy_front *r = l->front;
    pdl_val server = pdl_keep(l->server);
    pdl_err_copy(&err, why);
    drop_listing(l);
    pdl_effect_refuse(e, &err);
    wake_others(r, server);
}

/* --- definitions, one after the other --------------------------------------------------------- */

static void look_on(listing *l);

static void no_piece(void *user, const pdl_effect *e, pdl_str text) {
    (void)user;
    (void)e;
    (void)text;
}

static void pass_tool(listing *l) {
    l->passed = pdl_list_push(l->passed, pdl_keep(pdl_list_at(l->tools, l->next)));
    l->next++;
}

static pdl_val answer_key(const listing *l, pdl_str tool) {
    return pdl_textf("definition %.*s/%.*s %s", PDL_FMT(pdl_str_get(l->server)), PDL_FMT(tool),
                     l->hash);
}

static pdl_str name_of(pdl_vref definition) {
    pdl_vref name = pdl_is_dict(definition) ? pdl_dict_getz(definition, "name") : pdl_absent();
    return pdl_is_str(name) ? pdl_str_get(name) : (pdl_str){"", 0};
}

static void on_answer(void *user, const pdl_effect *q, const pdl_reply *reply) {
    listing *l = user;
    bool yes = !reply->err.kind && pdl_is_bool(reply->value) && pdl_bool_of(reply->value);
    (void)q;
    l->answered = !reply->err.kind;
    pdl_val key = answer_key(l, name_of(pdl_list_at(l->tools, l->next)));
    l->front->answers = pdl_dict_put(l->front->answers, key, pdl_bool(yes));
    l->again = true;
    if (!l->looks) look_on(l);
}

static void report(listing *l, const pdl_policy_ask *ask, pdl_str lock, const char *outcome) {
    policy_front *r = l->front;
    pdl_decision d = {
        .verdict = PDL_VERDICT_APPROVE, .arg = ask->args, .policy = lock, .answered = l->answered};
    l->answered = false;
    if (!l->e->sink.decided) return;
    pdl_val v = pdl_policy_decision_value(r->opt.policies, &r->sources, ask, &d, outcome);
    l->e->sink.decided(l->e->sink.user, l->e, v);
    pdl_drop(v);
}

static void ask_person(listing *l, const char *why, const pdl_policy_ask *ask) {
    policy_front *r = l->front;
    pdl_buf what = PDL_BUF;
    pdl_buf_putf(&what, "may this tool be used? Its definition %s", why);
    l->id = r->opt.first_id + ++r->next_id;
    pdl_path *at = pdl_path_name(l->e->place, "definition");
    pdl_path *place = pdl_path_index(at, (uint32_t)l->next);
    pdl_effect *question = pdl_effect_new(
        PDL_EFFECT_approval, (pdl_effect_at){l->id, place, l->e->seq, l->e->loc},
        pdl_policy_question(r->opt.policies, &r->sources, pdl_buf_z(&what), ask, NULL),
        (pdl_effect_sink){.user = l, .piece = no_piece, .reply = on_answer});
    pdl_buf_fini(&what);
    pdl_path_drop(place);
    pdl_path_drop(at);
    r->n_questions++;
    r->world.next->ops->start(r->world.next, question);
}

/* Leaves out a tool, with a message that gives the reason and the remedy. */
static void leave_out(listing *l, pdl_str tool, const char *why, pdl_str lock) {
    pdl_str server = pdl_str_get(l->server);
    pdl_val reason = pdl_textf("its definition %s (%.*s) and was not approved; `pdl policy lock "
                               "%.*s %.*s` shows and accepts it",
                               why, PDL_FMT(lock), PDL_FMT(lock), PDL_FMT(server));
    l->left_out = pdl_dict_puts(l->left_out, tool, reason);
    l->next++;
}

/* Examines one tool. Returns true when the result is known, so that the next tool may be
 * examined. */
static bool look_at_tool(listing *l) {
    policy_front *r = l->front;
    pdl_err err = {0};
    pdl_vref definition = pdl_list_at(l->tools, l->next);
    pdl_str tool = name_of(definition), lock = {"", 0};
    if (!pdl_tool_hash(definition, l->hash, &err)) {
        pdl_err_fini(&err);
        l->next++; /* no lock can have a definition that is not JSON */
        return true;
    }
    const char *why = why_unknown(r->opt.policies, pdl_str_get(l->server), tool, l->hash, &lock);
    if (!why) {
        pass_tool(l);
        return true;
    }
    pdl_val key = answer_key(l, tool), text = pdl_absent();
    pdl_vref known = pdl_dict_find(r->answers, key);
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    pdl_val name = pdl_textf("%.*s/%.*s", PDL_FMT(pdl_str_get(l->server)), PDL_FMT(tool));
    if (pdl_json_write(definition, PDL_JSON_SORT, 0, &b, &err)) text = pdl_text_of_buf(&b);
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
    pdl_argument arg = {
        .name = PDL_STR("definition"), .value = text, .label = pdl_label_built(PDL_LABEL_tool)};
    pdl_policy_ask ask = {PDL_SINK_tool, pdl_str_get(name), arg.label, &arg, 1,
                          r->opt.folder, l->e->modules,     NULL,      {0},  0,
                          false};
    bool answered = pdl_is_bool(known) || r->n_questions >= r->most_questions;
    bool yes = pdl_is_bool(known) && pdl_bool_of(known);
    if (answered) report(l, &ask, lock, yes ? "approved" : "refused");
    pdl_drop(key);
    if (answered && yes) pass_tool(l);
    if (answered && !yes) leave_out(l, tool, why, lock);
    if (!answered) ask_person(l, why, &ask);
    pdl_drop(text);
    pdl_drop(name);
    return answered;
}

/* Adds the names of the tools that were left out, with the reason and without their definitions, so
 * that no reader of the list uses them as tools. */
static pdl_val with_left_out(pdl_val passed, pdl_vref left_out) {
    for (size_t i = 0; i < pdl_dict_len(left_out); i++) {
        pdl_val d = pdl_dict_putz(pdl_dict_new(2), "name", pdl_keep(pdl_dict_key_at(left_out, i)));
        d = pdl_dict_putz(d, PDL_TOOL_LEFT_OUT, pdl_keep(pdl_dict_val_at(left_out, i)));
        passed = pdl_list_push(passed, d);
    }
    return passed;
}

static void finish(listing *l) {
    policy_front *r = l->front;
    pdl_effect *e = l->e;
    pdl_val names = pdl_keep(l->left_out), server = pdl_keep(l->server);
    pdl_val passed = pdl_keep(l->passed), left_out = pdl_keep(l->left_out);
    double seconds = l->seconds;
    for (size_t i = 0; i < pdl_list_len(passed); i++)
        names = pdl_dict_puts(names, name_of(pdl_list_at(passed, i)), pdl_bool(true));
    r->accepted = pdl_dict_put(r->accepted, pdl_keep(server), names);
    drop_listing(l);
    if (is_list(e)) {
        /* a raw request of the protocol, which is answered with the tools of all pages */
        bool raw = !pdl_text_is(get(e, "op"), "list");
        pdl_val list =
            raw ? pdl_dict_putz(pdl_dict_new(1), "tools", passed) : with_left_out(passed, left_out);
        pdl_effect_answer(e, list, seconds);
    } else {
        pdl_drop(passed);
        if (!pdl_lock_takes(r, e)) pdl_policy_forward(r, e);
    }
    pdl_drop(left_out);
    wake_others(r, server);
}

/* Examines the tools one after the other. A question may be answered at once, before ask_person
 * returns: then the loop continues. */
static void look_on(listing *l) {
    l->looks = true;
    while (l->next < pdl_list_len(l->tools)) {
        l->again = false;
        if (look_at_tool(l) || l->again) continue;
        l->looks = false;
        return;
    }
    l->looks = false;
    finish(l);
}

static void on_list(void *user, const pdl_effect *e, const pdl_reply *reply) {
    listing *l = user;
    (void)e;
    if (reply->err.kind) {
        fail_listing(l, &reply->err);
        return;
    }
    l->tools = pdl_is_list(reply->value) ? pdl_keep(reply->value) : pdl_list_new(0);
    l->seconds = reply->seconds;
    look_on(l);
}

/* --- the uses --------------------------------------------------------------------------------- */

static void begin(policy_front *r, pdl_effect *e) {
    listing *l = PDL_NEW(listing);
    *l = (listing){.front = r,
                   .e = e,
                   .server = pdl_keep(get(e, "server")),
                   .tools = pdl_absent(),
                   .passed = pdl_list_new(4),
                   .left_out = pdl_dict_new(0)};
    bool waits = is_under_way(r, l->server);
    l->link = r->listings;
    r->listings = l;
    if (waits) return;
    l->id = r->opt.first_id + ++r->next_id;
    pdl_val request = pdl_dict_putz(pdl_dict_new(2), "server", pdl_keep(l->server));
    request = pdl_dict_putz(request, "op", pdl_textz("list"));
    pdl_path *place = is_list(e) ? pdl_path_keep(e->place) : pdl_path_name(e->place, "definitions");
    pdl_effect *list =
        pdl_effect_new(PDL_EFFECT_tool, (pdl_effect_at){l->id, place, e->seq, e->loc}, request,
                       (pdl_effect_sink){.user = l, .piece = no_piece, .reply = on_list});
    pdl_path_drop(place);
    r->world.next->ops->start(r->world.next, list);
}

/* Refuses a call. known: the reason, as `finish` writes it; absent when the server has no tool of
 * this name. */
static void refuse_unlocked(pdl_effect *e, pdl_vref tool, pdl_vref known) {
    pdl_err err = {0};
    pdl_str name = pdl_is_str(tool) ? pdl_str_get(tool) : (pdl_str){"", 0};
    pdl_err_set(&err, PDL_E_policy, e->loc, "the policy refuses tool %.*s/%.*s: %.*s",
                PDL_FMT(pdl_str_get(get(e, "server"))), PDL_FMT(name),
                PDL_FMT(pdl_is_str(known) ? pdl_str_get(known)
                                          : PDL_STR("it is not among those that the server names, "
                                                    "so no lock file can have it")));
    pdl_effect_refuse(e, &err);
}

bool pdl_lock_takes(policy_front *r, pdl_effect *e) {
    if (e->kind != PDL_EFFECT_tool || !pdl_policies_have_locks(r->opt.policies)) return false;
    pdl_vref server = get(e, "server"), tool = pdl_tool_use_of(e).name;
    if (!pdl_is_str(server) || (!is_list(e) && pdl_is_absent(tool))) return false;
    pdl_vref accepted = pdl_dict_find(r->accepted, server);
    if (is_list(e) || pdl_is_absent(accepted)) {
        begin(r, e);
        return true;
    }
    pdl_vref known = pdl_is_str(tool) ? pdl_dict_find(accepted, tool) : pdl_absent();
    if (pdl_is_bool(known)) return false;
    refuse_unlocked(e, tool, known);
    return true;
}

bool pdl_lock_cancel(policy_front *r, uint32_t id) {
    listing *l = r->listings;
    while (l && l->e->id != id) l = l->link;
    if (!l) return false;
    uint32_t inner = l->id;
    pdl_val server = pdl_keep(l->server);
    pdl_effect_free(l->e);
    drop_listing(l);
    if (inner) r->world.next->ops->cancel(r->world.next, inner);
    if (inner)
        wake_others(r, server);
    else
        pdl_drop(server);
    return true;
}

void pdl_lock_close(policy_front *r) {
    while (r->listings) {
        listing *l = r->listings;
        if (l->id) r->world.next->ops->cancel(r->world.next, l->id);
        pdl_effect_free(l->e);
        drop_listing(l);
    }
}
