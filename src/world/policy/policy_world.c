/* policy_world.c -- the world that asks the policies (policy.h).
 *
 *   start -> the sinks that the effect would reach, one after the other
 *         -> refused: answered with an error of kind policy; nothing has happened
 *         -> to be approved: a question goes to the next world as an effect (approvals.c)
 *         -> allowed: the labels that the reply will have are set; on to the next world
 *
 * This world comes before journals, so a replay is judged again by the same rules, and the
 * recording answers the questions.
 *
 * This file also collects the labels of everything that was given to a code worker
 * (process_labels.c) or written to files, because neither forgets anything. A value that comes from
 * a worker, or from a process that may have read a file, gets all labels collected before.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>
#include <string.h>

#include "policy/policy_impl.h"
#include "value/member.h"

#include "base/banned.h"

static policy_front *of(pdl_world *w) { return (policy_front *)(void *)w; }

/* --- events ----------------------------------------------------------------------------------- */

/* Reports a decision to `asker`, unless it allows an action without labels. The sink of the effect
 * cannot be used, because it may have been replaced when the effect was forwarded. */
static void report_to(policy_front *r, pdl_effect_sink asker, const pdl_effect *e,
                      const pdl_policy_ask *ask, const pdl_decision *d, const char *outcome) {
    pdl_label any = 0;
    for (size_t i = 0; i < ask->n; i++) any |= pdl_label_origins(ask->args[i].label);
    if (!asker.decided || (!any && d->verdict == PDL_VERDICT_ALLOW)) return;
    pdl_val v = pdl_policy_decision_value(r->opt.policies, &r->sources, ask, d, outcome);
    asker.decided(asker.user, e, v);
    pdl_drop(v);
}

static void report(policy_front *r, const pdl_effect *e, const pdl_policy_ask *ask,
                   const pdl_decision *d, const char *outcome) {
    report_to(r, e->sink, e, ask, d, outcome);
}

void pdl_policy_refuse(policy_front *r, judging *j, const char *outcome, const char *why) {
    const pdl_policy_ask *ask = &j->asks.asks.p[j->next];
    pdl_err err = {0};
    report(r, j->e, ask, &j->decision, outcome);
    pdl_policy_refusal(r, ask, &j->decision, why, j->e->loc, &err);
    pdl_asks_fini(&j->asks);
    pdl_effect_refuse(j->e, &err);
}

/* --- labels in processes and files ------------------------------------------------------------ */

static pdl_val full_path(pdl_str path) {
    pdl_buf b = PDL_BUF;
    pdl_policy_full_path((pdl_str){0}, path, true, &b);
    return pdl_text_of_buf(&b);
}

static void note_write(policy_front *r, const pdl_effect *e) {
    pdl_vref path = pdl_dict_getz(e->request, "path");
    pdl_label label = pdl_label_of(e->request) | e->control;
    if (!label || !pdl_is_str(path)) return;
    file_labels *own = &r->files.own;
    pdl_val key = full_path(pdl_str_get(path));
    pdl_vref before = pdl_dict_find(own->written, key);
    if (!pdl_is_absent(before)) label |= pdl_label_of(before);
    own->written = pdl_dict_put(own->written, key, pdl_with_label(pdl_null(), label));
    own->in_files |= label;
}

/* Returns the labels of what a process prints, because it may have read any file. */
static pdl_label label_of_files(const policy_front *r) {
    return pdl_file_labels_of_process(&r->files.own) | pdl_run_files_left_process(&r->files);
}

/* Returns the labels of a file that was written here, or that a process may have written. */
static pdl_label label_of_file(policy_front *r, const pdl_effect *e) {
    pdl_vref path = pdl_dict_getz(e->request, "path");
    const file_labels *own = &r->files.own;
    if (!pdl_is_str(path)) return own->from_files;
    pdl_val key = full_path(pdl_str_get(path));
    pdl_vref here = pdl_dict_find(own->written, key);
    pdl_label label = pdl_is_absent(here) ? 0 : pdl_label_of(here);
    label |= pdl_run_files_left(&r->files, key);
    pdl_drop(key);
    if (own->of_tools && pdl_ways_changed(&own->ways, pdl_str_get(path))) label |= own->of_tools;
    return label | own->from_files;
}

static void forget_flight(flight *f) {
    flight **at = &f->front->flights;
    while (*at != f) at = &(*at)->link;
    *at = f->link;
    pdl_free(f);
}

static void flight_piece(void *user, const pdl_effect *e, pdl_str text) {
    flight *f = user;
    if (f->asker.piece) f->asker.piece(f->asker.user, e, text);
}

static void flight_extra(void *user, const pdl_effect *e, pdl_vref extra) {
    flight *f = user;
    f->asker.extra(f->asker.user, e, extra);
}

static void flight_decided(void *user, const pdl_effect *e, pdl_vref decision) {
    flight *f = user;
    f->asker.decided(f->asker.user, e, decision);
}

/* Makes the flight f the sink of e; answers then come to `reply` first. */
static void fly(flight *f, pdl_effect *e,
                void (*reply)(void *user, const pdl_effect *e, const pdl_reply *reply)) {
    e->sink = (pdl_effect_sink){.user = f,
                                .piece = flight_piece,
                                .reply = reply,
                                .decided = f->asker.decided ? flight_decided : NULL,
                                .extra = f->asker.extra ? flight_extra : NULL};
}

/* Notes that a file may now have the labels of the process. A process may also copy files that it
 * did not get from the program. So a file that is new has the origin of the process as well, as if
 * the process had printed the file. */
static void note_process(policy_front *r, const pdl_effect *e, pdl_label label) {
    if (r->opt.leaves_files && !r->opt.leaves_files(r->opt.user, e)) return;
    file_labels *own = &r->files.own;
    pdl_ways_note(&own->ways, r->opt.folder);
    own->from_files |= label;
    own->in_new_files |= label | (e->is_trusted ? 0 : pdl_effect_origin(e->kind));
}

static void note_code(policy_front *r, const pdl_effect *e, const flight *f, pdl_label label) {
    pdl_policy_memory *m = r->opt.memory;
    pdl_policy_process_learns(m, f->process, f->session, label);
    note_process(r, e, label | m->processes.p[f->process].holds);
}

static void code_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    flight *f = user;
    pdl_effect_sink asker = f->asker;
    note_code(f->front, e, f, pdl_label_of(e->request) | e->added_labels);
    forget_flight(f);
    if (asker.reply) asker.reply(asker.user, e, reply);
}

static void watch_code(policy_front *r, pdl_effect *e) {
    pdl_policy_memory *m = r->opt.memory;
    flight *f = PDL_NEW(flight);
    size_t process = pdl_policy_process_of(m, e);
    *f = (flight){.front = r,
                  .asker = e->sink,
                  .id = e->id,
                  .session = e->session,
                  .process = process,
                  .link = r->flights};
    r->flights = f;
    fly(f, e, code_reply);
    note_code(r, e, f, pdl_label_of(e->request) | e->control);
    /* a remote object may belong to any session */
    e->added_labels |= e->kind == PDL_EFFECT_object ? m->in_objects : m->processes.p[process].holds;
    e->added_labels |= label_of_files(r);
}

/* --- files that become programs --------------------------------------------------------------- */

/* Returns true for a file that the run may have written. Such a file is a computed program: text
 * that a model wrote into it would otherwise run as the author's. A process may have written any
 * file, so a file that changed since the run began counts as written by the run. For a resumed run
 * the beginning is not known, so every file counts. */
static bool may_be_written(const policy_front *r, pdl_str path) {
    return r->opt.began_earlier || pdl_ways_changed(&r->files.own.ways, path);
}

/* Returns the path of a program. When the program was searched for, the path is in the reply {path,
 * text}. */
static pdl_str path_of_program(const pdl_effect *e, pdl_vref found) {
    pdl_vref path = pdl_member(pdl_is_dict(found) ? found : e->request, "path");
    return pdl_is_str(path) ? pdl_str_get(path) : (pdl_str){"", 0};
}

static pdl_label label_of_program(const policy_front *r, const pdl_effect *e, pdl_vref found) {
    if (pdl_is_null(found)) return 0;
    const file_labels *own = &r->files.own;
    pdl_str path = path_of_program(e, found);
    pdl_val key = full_path(path);
    pdl_vref here = pdl_dict_find(own->written, key);
    pdl_label label = pdl_is_absent(here) ? 0 : pdl_label_of(here);
    label |= pdl_run_files_left_program(&r->files, key);
    pdl_drop(key);
    if (own->from_files && may_be_written(r, path)) label |= own->from_files;
    if (own->in_new_files && pdl_ways_changed(&own->ways, path)) label |= own->in_new_files;
    return pdl_label_built(label);
}

/* Judges the text of a program, without asking a question. */
static bool may_be_run(policy_front *r, pdl_effect_sink asker, const pdl_effect *e,
                       pdl_policy_ask *ask, const char *why, pdl_err *err) {
    ask->n = 1;
    ask->folder = r->opt.folder;
    ask->modules = e->modules;
    ask->readers = &r->readers;
    pdl_decision d = pdl_policies_judge(r->opt.policies, ask);
    bool ok = d.verdict == PDL_VERDICT_ALLOW;
    report_to(r, asker, e, ask, &d, ok ? "allow" : "deny");
    if (!ok) pdl_policy_refusal(r, ask, &d, why, e->loc, err);
    return ok;
}

/* Judges a program from a file that the run may have written. It is judged like a computed
 * program. */
static bool may_file_be_run(policy_front *r, const pdl_effect *e, pdl_vref found, pdl_label label,
                            pdl_err *err) {
    pdl_vref text = pdl_is_dict(found) ? pdl_member(found, "text") : found;
    pdl_argument arg = {.name = PDL_STR("text"), .value = text, .label = label};
    pdl_policy_ask ask = {.sink = e->is_import ? PDL_SINK_import : PDL_SINK_include,
                          .name = path_of_program(e, found),
                          .name_label = pdl_label_of(e->request),
                          .args = &arg};
    return may_be_run(r, e->sink, e, &ask, "the run may have written it", err);
}

static void program_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    flight *f = user;
    pdl_effect_sink asker = f->asker;
    pdl_effect *own = f->effect;
    policy_front *r = f->front;
    pdl_label label = reply->err.kind ? 0 : label_of_program(r, e, reply->value);
    pdl_reply refused = {.value = pdl_absent()};
    forget_flight(f);
    own->sink = asker; /* decisions about the file are reported to the original sink */
    own->added_labels |= label;
    bool ok = !label || may_file_be_run(r, own, reply->value, label, &refused.err);
    if (asker.reply) asker.reply(asker.user, e, ok ? reply : &refused);
    pdl_err_fini(&refused.err);
}

pdl_label pdl_policy_label_of_code(const pdl_effect *code) {
    return pdl_label_built(pdl_label_of(code->request) | code->control | code->added_labels);
}

bool pdl_policy_world_may_run(pdl_world *w, const pdl_effect *code, pdl_vref text, pdl_err *err) {
    policy_front *r = of(w);
    pdl_argument arg = {
        .name = PDL_STR("text"), .value = text, .label = pdl_policy_label_of_code(code)};
    pdl_policy_ask ask = {.sink = PDL_SINK_pdl, .args = &arg};
    flight *f = r->flights;
    while (f && f->id != code->id) f = f->link;
    return may_be_run(r, f ? f->asker : (pdl_effect_sink){0}, code, &ask, "code made it", err);
}

/* Replaces the sink of e by `reply`, whose user is a flight. */
static flight *watch(policy_front *r, pdl_effect *e,
                     void (*reply)(void *user, const pdl_effect *e, const pdl_reply *reply)) {
    flight *f = PDL_NEW(flight);
    *f = (flight){.front = r, .asker = e->sink, .effect = e, .id = e->id, .link = r->flights};
    r->flights = f;
    fly(f, e, reply);
    return f;
}

static void watch_program(policy_front *r, pdl_effect *e) {
    /* when there are no such labels, no file can have an untrusted value */
    const file_labels *own = &r->files.own;
    bool any = own->from_files || own->in_files || own->in_new_files;
    if (any || pdl_run_files_any_left(&r->files)) watch(r, e, program_reply);
}

/* --- allowed ---------------------------------------------------------------------------------- */

static void readers_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    flight *f = user;
    pdl_effect_sink asker = f->asker;
    pdl_readers_note(&f->front->readers, f->front->opt.policies, f->named, f->bit, e->kind,
                     reply->err.kind ? pdl_absent() : reply->value);
    f->effect->sink = asker;
    forget_flight(f);
    if (asker.reply) asker.reply(asker.user, e, reply);
}

/* Replaces the sink of e when the reply itself says who may read it. */
static void watch_readers(policy_front *r, pdl_effect *e, pdl_label named, pdl_label bit) {
    named &= pdl_readers_of_answers(r->opt.policies);
    if (!named) return;
    flight *f = watch(r, e, readers_reply);
    f->named = named;
    f->bit = bit;
}

typedef struct started_labels {
    policy_front *front;
    const pdl_effect *e;
    pdl_label named;
    bool is_trusted;
} started_labels;

/* Adds the labels of a command that the executed command starts. */
static void label_started(void *user, const pdl_command_word *words, size_t n, pdl_str by,
                          size_t choosing) {
    started_labels *s = user;
    const pdl_policies *p = s->front->opt.policies;
    bool is_trusted = false;
    (void)n;
    (void)by;
    s->named |= choosing ? pdl_policies_label_of_any(p, PDL_EFFECT_command)
                         : pdl_policies_label_of(p, PDL_EFFECT_command, words[0].text,
                                                 s->front->opt.folder, s->e->modules, &is_trusted);
    s->is_trusted = s->is_trusted && is_trusted;
}

/* Returns true when neither this run nor another one can have changed the file, so that it still
 * has the content that the user trusts. In a replay, a missing file counts as unchanged. */
static bool is_as_trusted(const policy_front *r, pdl_str path) {
    if (r->opt.replays && pdl_ways_missing(path)) return true;
    return !pdl_ways_changed(&r->files.own.ways, path) && !pdl_run_files_changed(&r->files, path);
}

/* Sets the labels that the reply gets because of the policies, in addition to those of its kind and
 * request. */
static void set_labels(policy_front *r, pdl_effect *e) {
    pdl_arena *arena = pdl_arena_make();
    bool is_trusted = false;
    pdl_label named = pdl_policies_label_of(r->opt.policies, e->kind, pdl_subject_of(e, arena),
                                            r->opt.folder, e->modules, &is_trusted);
    if (e->kind == PDL_EFFECT_read && is_trusted)
        is_trusted = is_as_trusted(r, pdl_subject_of(e, arena));
    if (e->kind == PDL_EFFECT_command) {
        started_labels s = {r, e, named, is_trusted};
        pdl_effect_each_start(e, arena, label_started, &s);
        named = s.named;
        is_trusted = s.is_trusted;
    }
    pdl_arena_free(arena);
    if (e->kind == PDL_EFFECT_tool && pdl_tool_use_of(e).lists) {
        /* With a lock, a person has approved the definitions. The labels that a policy
         * gives to replies of tools do not apply to the list of tool definitions. */
        is_trusted = is_trusted || pdl_policies_have_locks(r->opt.policies);
        named = 0;
    }
    e->is_trusted = is_trusted;
    e->added_labels |= pdl_label_built(named);
    if (e->kind == PDL_EFFECT_read) e->added_labels |= label_of_file(r, e);
    if (e->kind == PDL_EFFECT_command) {
        note_process(r, e, pdl_label_of(e->request) | e->control);
        e->added_labels |= label_of_files(r);
    }
    pdl_label own = is_trusted ? 0 : pdl_effect_origin(e->kind);
    if (!own && !named) return;
    pdl_label bit = pdl_sources_add(&r->sources, e, pdl_label_origins(own | named));
    e->added_labels |= bit;
    watch_readers(r, e, named, bit);
}

/* Adds to the reply the labels that the server has received, from this call, or from other calls
 * before it answers this call. */
static void add_server(policy_front *r, pdl_effect *e, pdl_label label) {
    pdl_vref server = pdl_dict_getz(e->request, "server");
    if (pdl_is_str(server))
        e->added_labels |= pdl_policy_server_learns(r->opt.memory, server, label);
}

static void tool_reply(void *user, const pdl_effect *e, const pdl_reply *reply) {
    flight *f = user;
    pdl_effect_sink asker = f->asker;
    pdl_effect *own = f->effect;
    policy_front *r = f->front;
    forget_flight(f);
    own->sink = asker;
    add_server(r, own, 0);
    own->added_labels |= label_of_files(r);
    if (asker.reply) asker.reply(asker.user, e, reply);
}

/* Forwards the use of a tool. A tool may write files on this machine, so new and changed files may
 * have the labels of the call. */
static void watch_tool(policy_front *r, pdl_effect *e) {
    pdl_label label = pdl_label_of(e->request) | e->control | e->chosen;
    pdl_ways_note(&r->files.own.ways, r->opt.folder);
    add_server(r, e, label);
    if (!pdl_tool_use_of(e).lists) {
        r->files.own.of_tools |= label;
        r->files.own.in_new_files |= label | (e->is_trusted ? 0 : pdl_effect_origin(e->kind));
    }
    watch(r, e, tool_reply);
}

/* Returns true for the call of a tool that the user declares read-only. */
static bool is_read_only(const policy_front *r, const pdl_effect *e) {
    pdl_vref server = pdl_dict_getz(e->request, "server"), name = pdl_dict_getz(e->request, "name");
    pdl_buf tool = PDL_BUF;
    if (!pdl_text_is(pdl_dict_getz(e->request, "op"), "call") || !pdl_is_str(server) ||
        !pdl_is_str(name))
        return false;
    pdl_buf_putf(&tool, "%.*s/%.*s", PDL_FMT(pdl_str_get(server)), PDL_FMT(pdl_str_get(name)));
    bool is = pdl_policy_is_read_only(r->opt.policies, pdl_buf_str(&tool));
    pdl_buf_fini(&tool);
    return is;
}

void pdl_policy_forward(policy_front *r, pdl_effect *e) {
    if (e->kind == PDL_EFFECT_tool) e->repeatable |= is_read_only(r, e);
    if (e->kind == PDL_EFFECT_tool) watch_tool(r, e);
    if (e->kind == PDL_EFFECT_code || e->kind == PDL_EFFECT_object) watch_code(r, e);
    if (e->kind == PDL_EFFECT_source) watch_program(r, e);
    r->world.next->ops->start(r->world.next, e);
}

/* Returns true when the effect may be written to a durable journal. Otherwise answers it with an
 * error and returns false. */
static bool may_last(policy_front *r, pdl_effect *e) {
    pdl_label label = pdl_effect_label(e);
    if (pdl_policies_allow_durable(r->opt.policies, label)) return true;
    pdl_buf names = PDL_BUF;
    pdl_err err = {0};
    pdl_policies_put_label(r->opt.policies, pdl_label_origins(label), &names);
    pdl_err_set(&err, PDL_E_policy, e->loc,
                "the policy refuses that a durable run holds what comes from %s (durable: deny)",
                pdl_buf_z(&names));
    pdl_buf_fini(&names);
    pdl_effect_refuse(e, &err);
    return false;
}

static void let_pass(policy_front *r, pdl_effect *e) {
    if (e->kind == PDL_EFFECT_permit) {
        pdl_label dropped = pdl_endorsed_labels(r->opt.policies, e);
        pdl_effect_answer(e, dropped ? pdl_int((int64_t)dropped) : pdl_null(), 0);
        return;
    }
    if (e->kind == PDL_EFFECT_write) note_write(r, e);
    set_labels(r, e);
    if (r->opt.is_durable && pdl_effect_has(e->kind, PDL_EFFECT_KEPT) && !may_last(r, e)) return;
    if (!pdl_lock_takes(r, e)) pdl_policy_forward(r, e);
}

/* --- start ------------------------------------------------------------------------------------ */

/* Returns true when the ask is about the start of a server that runs already, because its start was
 * allowed before. */
static bool is_started(const policy_front *r, const pdl_policy_ask *ask) {
    return ask->sink == PDL_SINK_server && !pdl_is_absent(pdl_dict_gets(r->servers, ask->name));
}

static void note_server(policy_front *r, const pdl_policy_ask *ask) {
    if (ask->sink == PDL_SINK_server)
        r->servers = pdl_dict_puts(r->servers, ask->name, pdl_bool(true));
}

void pdl_policy_allow_ask(policy_front *r, judging *j, const char *outcome) {
    const pdl_policy_ask *ask = &j->asks.asks.p[j->next++];
    bool asked = j->decision.verdict != PDL_VERDICT_ALLOW;
    j->approved = j->approved || asked;
    if (asked || !ask->started_by.n) report(r, j->e, ask, &j->decision, outcome);
    note_server(r, ask);
}

/* Returns true when the decision is only noted, because the effect will not be executed. */
static bool is_foreseen(const policy_front *r, const judging *j) {
    pdl_err err = {0};
    bool asks = j->decision.verdict == PDL_VERDICT_APPROVE;
    if (!r->opt.foresee || j->decision.verdict == PDL_VERDICT_ALLOW) return false;
    pdl_policy_refusal(r, &j->asks.asks.p[j->next], &j->decision,
                       asks ? "unless a person approves it" : NULL, j->e->loc, &err);
    bool is = r->opt.foresee(r->opt.user, j->e, &err);
    pdl_err_fini(&err);
    return is;
}

void pdl_policy_continue(policy_front *r, judging *j) {
    while (j->next < j->asks.asks.n) {
        const pdl_policy_ask *ask = &j->asks.asks.p[j->next];
        if (is_started(r, ask)) {
            j->next++;
            continue;
        }
        j->decision = pdl_policies_judge(r->opt.policies, ask);
        if (is_foreseen(r, j)) {
            j->next++;
            continue;
        }
        if (j->decision.verdict == PDL_VERDICT_DENY) {
            pdl_policy_refuse(r, j, "deny", NULL);
            return;
        }
        /* this command is a part of an action that a person has approved */
        bool shown = j->approved && ask->started_by.n;
        if (j->decision.verdict == PDL_VERDICT_ALLOW || shown)
            pdl_policy_allow_ask(r, j, shown ? "approved" : "allow");
        else if (!pdl_policy_approve(r, j))
            return;
    }
    pdl_asks_fini(&j->asks);
    let_pass(r, j->e);
}

static void start(pdl_world *w, pdl_effect *e) {
    policy_front *r = of(w);
    judging j = {.e = e};
    assert(pdl_policy_front_ok(r));
    pdl_asks_of(r->opt.policies, e, r->opt.folder, &j.asks);
    for (size_t i = 0; i < j.asks.asks.n; i++) j.asks.asks.p[i].readers = &r->readers;
    pdl_policy_continue(r, &j);
}

/* --- the world -------------------------------------------------------------------------------- */

static void cancel(pdl_world *w, uint32_t id) {
    policy_front *r = of(w);
    assert(pdl_policy_front_ok(r));
    if (pdl_approvals_cancel(r, id) || pdl_lock_cancel(r, id)) return;
    r->world.next->ops->cancel(r->world.next, id);
    for (flight *f = r->flights, *next; f; f = next) {
        next = f->link;
        if (f->id == id) forget_flight(f);
    }
}

static bool poll(pdl_world *w, int timeout_ms) {
    policy_front *r = of(w);
    assert(pdl_policy_front_ok(r));
    return r->world.next->ops->poll(r->world.next, timeout_ms);
}

static void close_world(pdl_world *w) {
    policy_front *r = of(w);
    pdl_approvals_close(r);
    while (r->flights) forget_flight(r->flights);
    pdl_lock_close(r);
    pdl_sources_fini(&r->sources);
    pdl_readers_fini(&r->readers);
    pdl_drop(r->answers);
    pdl_drop(r->servers);
    pdl_drop(r->accepted);
    pdl_run_files_close(&r->files);
    pdl_policy_memory_leave(r->opt.memory);
    pdl_free(r);
}

static const pdl_world_ops ops = {
    .start = start, .cancel = cancel, .poll = poll, .close = close_world};

pdl_world *pdl_policy_world_new(const pdl_policy_options *opt, pdl_world *next) {
    policy_front *r = PDL_NEW(policy_front);
    r->world.ops = &ops;
    r->world.next = next;
    r->opt = *opt;
    r->sources.folder = opt->folder;
    r->answers = pdl_dict_new(0);
    r->servers = pdl_dict_new(0);
    r->accepted = pdl_dict_new(0);
    pdl_run_files_open(&r->files, pdl_policy_memory_files(opt->memory), opt->memory->policies);
    r->most_questions = MAX_APPROVALS;
    for (size_t i = 0; i < opt->policies->all.n; i++) {
        uint32_t n = opt->policies->all.p[i]->approvals;
        if (i == 0 || n < r->most_questions) r->most_questions = n;
    }
    return &r->world;
}

void pdl_policy_world_continues(pdl_world *w) { of(w)->opt.memory->continues = true; }

pdl_label pdl_policy_world_in_code(const pdl_world *w) {
    return ((const policy_front *)(const void *)w)->opt.memory->in_objects;
}
