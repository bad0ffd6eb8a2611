/* fold.c -- see fold.h: makes nodes from events. fold_node.c decides when nodes are written and
 * freed, and fold_write.c decides their form.
 *
 * Each fiber has its innermost running node. A block that begins becomes a child of that node. The
 * first block of an iteration of a map becomes a child of the map's node, which is the innermost
 * node of the waiting fiber.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/fold.h"

#include <assert.h>

#include "base/word_list.h"
#include "effect/effect.h"
#include "trace/fold_attempt.h"
#include "trace/fold_form.h"
#include "trace/fold_shown.h"
#include "trace/fold_tree.h"
#include "value/int.h"

#include "base/banned.h"

/* --- nodes ------------------------------------------------------------------------------------ */

static fold_node *top_of(const pdl_fold *f, uint32_t fiber) {
    return pdl_idmap_find(&f->tops, (uintptr_t)fiber);
}
static void set_top(pdl_fold *f, uint32_t fiber, fold_node *n) {
    if (n)
        pdl_idmap_put(&f->tops, (uintptr_t)fiber, n);
    else
        pdl_idmap_del(&f->tops, (uintptr_t)fiber);
}

static void set(pdl_path **to, pdl_path *p) {
    pdl_path *kept = p ? pdl_path_keep(p) : NULL;
    pdl_path_drop(*to);
    *to = kept;
}
static void set_path(fold_node *n, const pdl_event *e) {
    set(&n->path, e->path);
    if (e->place) set(&n->place, e->place);
}

/* Returns true when both places are in iterations of one loop and the iteration of b is earlier:
 * the iterations of a map run in any order. Searches NEAR levels up, because bodies are hardly ever
 * deeper. */
static bool iterates_before(const pdl_path *a, const pdl_path *b) {
    enum { NEAR = 64 };
    for (int i = 0; a && b && i < NEAR; i++, a = a->up, b = b->up)
        if (a->up == b->up) return !a->name && !b->name && b->n < a->n;
    return false;
}

/* Records the last execution of a block. A block with definitions is left out: the reference runs a
 * copy of it, and shows the original without an id. */
static void executed(pdl_fold *f, const pdl_block *b, pdl_path *p) {
    pdl_path *last = b->rare->defs.n ? NULL : pdl_idmap_find(&f->last, (uintptr_t)b);
    if (b->rare->defs.n || iterates_before(last, p)) return;
    pdl_path_drop(last);
    pdl_idmap_put(&f->last, (uintptr_t)b, p ? pdl_path_keep(p) : NULL);
}

/* Returns true when the trace shows a block. A trace in the form of the reference leaves out
 * blocks that an expression calls. Blocks of a program that was computed from redacted values
 * are not shown either, because their names and keys are parts of those values. */
static bool shows(const pdl_fold *f, const fold_node *parent, const pdl_event *e) {
    if (pdl_redaction_covers(f->redaction, e->label)) return false;
    if (e->entry == PDL_ENTRY_SILENT) return !f->whole && parent && !parent->silent;
    if (!parent) return e->fiber == 1;
    if (parent->silent) return false;
    pdl_block_kind k = parent->block->kind;
    if (e->entry == PDL_ENTRY_CALL) return k == PDL_BLOCK_call;
    if (e->entry == PDL_ENTRY_INCLUDE) return k == PDL_BLOCK_include || k == PDL_BLOCK_import;
    return true;
}

/* Records that a case without a test was taken. The reference notes this in the program itself. */
static void note_taken(pdl_fold *f, const pdl_block *match, const pdl_block *then) {
    const pdl_cases *cases = &PDL_AS(match, match)->cases;
    for (uint32_t i = 0; i < cases->n; i++) {
        pdl_case *c = &cases->p[i];
        if (c->then == then && !c->pattern && !c->cond) pdl_idmap_put(&f->taken, (uintptr_t)c, c);
    }
}

/* Returns the number of JSON containers between the node of a block and that of a part. */
static unsigned levels_to(const pdl_block *b, const pdl_block *part, pdl_entry entry) {
    if (entry == PDL_ENTRY_DEF) return 2;
    if (entry == PDL_ENTRY_SILENT) return 3;
    if (entry != PDL_ENTRY_PART || part == b->rare->fallback) return 1;
    for (uint32_t i = 0; i < b->rare->expectations.n; i++)
        if (b->rare->expectations.p[i].feedback_block == part) return 3;
    switch ((int)b->kind) {
    case PDL_BLOCK_text: return PDL_AS(text, b)->items.single ? 1 : 2;
    case PDL_BLOCK_lastOf:
    case PDL_BLOCK_array:
    case PDL_BLOCK_object:
    case PDL_BLOCK_sequence: return 2;
    case PDL_BLOCK_repeat:
    case PDL_BLOCK_map: return pdl_fold_is_loop_body(b, part) ? 2 : 1;
    case PDL_BLOCK_match: return 3;
    default: return 1;
    }
}

static const char *intern_key(pdl_fold *f, pdl_str key) {
    for (size_t i = 0; i < f->keys.n; i++) /* there are only a few names of fields */
        if (pdl_str_is(key, f->keys.p[i])) return f->keys.p[i];
    return *pdl_vec_push(&f->keys) = pdl_str_dup(key);
}

/* Notes that a library called a function of the program. Such a function is a tool. */
static void note_tool(pdl_fold *f, fold_node *n, pdl_str name) {
    const char *key = intern_key(f, PDL_STR(FOLD_TOOL));
    if (!pdl_fold_fact(n, key, 0)) pdl_fold_fact_add(n, key, 0, pdl_text(name));
}

/* Begins the body of a function that an expression calls, or a program of `lang: pdl`. */
static void begin_call(pdl_fold *f, fold_node *n, const pdl_event *e) {
    n->number = n->parent->calls.begun++;
    if (pdl_is_absent(e->value)) return;
    if (e->tool) note_tool(f, n, e->key);
    pdl_fold_fact_add(n, intern_key(f, PDL_STR(FOLD_CALL_NAME)), 0, pdl_text(e->key));
    pdl_fold_fact_add(n, intern_key(f, PDL_STR(FOLD_CALL_ARGS)), 0, pdl_keep(e->value));
}

static bool is_input(const pdl_block *b, const pdl_block *part) {
    return b->kind == PDL_BLOCK_model && PDL_AS(model, b)->input == part;
}

static void begin_node(pdl_fold *f, fold_node *n, const pdl_event *e) {
    fold_node *up = n->parent;
    n->block = e->block;
    n->entry = e->entry;
    n->fiber = e->fiber;
    n->number = e->number;
    n->level = up ? up->level + levels_to(up->block, e->block, e->entry) : 0;
    n->start = e->nanos;
    n->silent = !shows(f, up, e) || n->depth > FOLD_DEEPEST;
    n->in_input =
        up && e->entry == PDL_ENTRY_PART && (up->in_input || is_input(up->block, e->block));
    if (e->entry == PDL_ENTRY_SILENT && !n->silent)
        begin_call(f, n, e);
    else if (e->entry == PDL_ENTRY_CALL && e->tool && up && !n->silent)
        note_tool(f, up, e->key);
    else if (up && up->block->kind == PDL_BLOCK_repeat &&
             pdl_fold_is_loop_body(up->block, e->block))
        n->number = up->rounds.begun++;
    if (n->silent && up && up->fiber != e->fiber)
        n->parent = NULL; /* the parent may be freed before n ends */
    if (e->block->kind == PDL_BLOCK_model && !n->silent) n->context = pdl_keep(e->context);
}

static void on_begin(pdl_fold *f, const pdl_event *e) {
    fold_node *up = top_of(f, e->fiber);
    if (!up && e->parent) up = top_of(f, e->parent);
    fold_node *n = pdl_fold_node_new(f, up);
    pdl_programs_add(&f->programs, e->program);
    begin_node(f, n, e);
    set_path(n, e);
    executed(f, e->block, e->path);
    if (up && up->block->kind == PDL_BLOCK_match) note_taken(f, up->block, e->block);
    if (!n->silent && up)
        pdl_fold_node_link(n);
    else if (!n->silent && !f->root)
        f->root = n;
    set_top(f, e->fiber, n);
}

/* Leaves a node. When the outermost block of an iteration ends, its fiber is forgotten. */
static fold_node *leave(pdl_fold *f, const pdl_event *e) {
    fold_node *n = top_of(f, e->fiber);
    if (!n || n->block != e->block) return NULL;
    bool continues = n->parent && n->parent->fiber == e->fiber;
    set_top(f, e->fiber, continues ? n->parent : NULL);
    if (!continues) pdl_fold_same_end(f, n);
    assert(!n->over);
    n->over = true;
    return n;
}

static bool has_fallback_run(const fold_node *n) {
    const fold_node *last = n->block->rare->fallback ? pdl_fold_last_part(n) : NULL;
    return last && last->block == n->block->rare->fallback;
}

static void on_end(pdl_fold *f, const pdl_event *e) {
    fold_node *n = leave(f, e);
    if (!n) return;
    n->fell_back = has_fallback_run(n);
    if (n->fell_back && n->block->kind == PDL_BLOCK_model && !n->silent) {
        /* In the reference, too, the model has the messages of the fallback as its context. */
        pdl_drop(n->context);
        n->context = pdl_keep(e->context);
    }
    n->end = e->nanos;
    const pdl_block *b = n->block;
    bool has_result = !b->contribute.given || b->contribute.result;
    if (b->rare->parser && has_result && !n->silent && !n->fell_back)
        pdl_fold_fact_add(n, intern_key(f, PDL_STR(FOLD_PARSED)), 0, pdl_keep(e->value));
    if (n->answer_failed && !n->fell_back) { /* the block has not read the answer yet */
        n->failure = n->answer_failed;
        n->answer_failed = NULL;
    }
    if (n->path != e->path) {
        set_path(n, e); /* the path has a segment for the attempt that succeeded */
        executed(f, e->block, e->path);
    }
    pdl_fold_node_over(f, n);
}

/* Returns the message of an error, or the mark of the redaction when the trace does not show this
 * text. Owned. e is the effect that failed; NULL when no effect failed. */
static char *failure_text(const pdl_fold *f, const pdl_err *err, const pdl_effect *e) {
    if (!err || !err->msg) return pdl_str_dup(PDL_STR(""));
    pdl_label label = err->has_words ? err->words : err->label | (e ? pdl_effect_label(e) : 0);
    if (!pdl_redaction_covers(f->redaction, label)) return pdl_str_dup(pdl_str_of(err->msg));
    pdl_buf b = PDL_BUF;
    pdl_redaction_put(f->redaction, label, &b);
    return pdl_buf_take(&b);
}

static void note_failure(const pdl_fold *f, fold_node *n, const pdl_event *e) {
    if (n->part_failed || n->silent) return;
    n->end = e->nanos;
    n->part_failed = n->block->kind == PDL_BLOCK_call && e->err && e->err->kind == PDL_E_type;
    /* the call was refused, so the block is shown without its message */
    if (n->part_failed) return;
    n->failure = failure_text(f, e->err, NULL);
}

static void on_fail(pdl_fold *f, const pdl_event *e) {
    fold_node *n = leave(f, e);
    if (!n) return;
    if (n->parent && !n->silent && n->entry != PDL_ENTRY_SILENT) n->parent->part_failed = true;
    note_failure(f, n, e);
    pdl_fold_node_over(f, n);
}

static bool stays_for_all_attempts(const char *key, bool kept) {
    static const char *const keys[] = {"pdl__decisions", FOLD_CALL_NAME, FOLD_CALL_ARGS, FOLD_TOOL,
                                       FOLD_SHOWN};
    if (strcmp(key, "pdl__attempts") == 0) return !kept;
    return PDL_STR_IN(pdl_str_of(key), keys);
}

/* Moves the usage of a failed attempt that the trace shows to `kept`, and forgets the times of the
 * attempt. Only the call of a model has a separate time for each attempt; other blocks began with
 * their first attempt. */
static void forget_attempt(fold_node *n, int64_t now) {
    n->kept.counts[0] += n->usage[0];
    n->kept.counts[1] += n->usage[1];
    n->kept.counts[2] += n->usage[2];
    if (n->cost > 0) n->kept.cost += n->cost;
    memset(n->usage, 0, sizeof n->usage);
    n->cost = -1;
    n->sent = n->first_piece = 0;
    if (n->block->kind == PDL_BLOCK_model) n->start = now;
}

/* Puts the parts of a failed attempt aside. The definitions stay, because they were made before the
 * attempt. */
static void on_attempt(pdl_fold *f, const pdl_event *e) {
    fold_node *n = top_of(f, e->fiber);
    if (!n || n->block != e->block) return;
    char *message = failure_text(f, e->err, NULL);
    bool kept = pdl_fold_keep_attempt(f, n, message, e->nanos);
    pdl_free(message);
    if (kept) forget_attempt(n, e->nanos);
    set_path(n, e); /* the path has a segment for the attempt */
    executed(f, e->block, e->path);
    pdl_fold_give_up_parts(f, n, kept);
    n->part_failed = n->waits = false;
    pdl_free(n->answer_failed);
    n->answer_failed = NULL;
    size_t kept_facts = 0; /* the requests of a failed model call are shown for all attempts */
    for (size_t i = 0; i < n->facts.n; i++) {
        const char *key = n->facts.p[i].key;
        if (stays_for_all_attempts(key, kept))
            n->facts.p[kept_facts++] = n->facts.p[i];
        else
            pdl_drop(n->facts.p[i].value);
    }
    pdl_fold_facts_cut(n, kept_facts);
}

static void on_field(pdl_fold *f, const pdl_event *e) {
    fold_node *n = top_of(f, e->fiber);
    if (pdl_str_is(e->key, FOLD_SHOWN)) {
        pdl_fold_note_shown(n, intern_key(f, e->key), e->value);
        return;
    }
    if (!n || n->block != e->block) return;
    if (pdl_is(e->value, PDL_V_FUNC) && n->block->kind == PDL_BLOCK_function)
        pdl_idmap_put(&f->funcs, (uintptr_t)n->block, (void *)(uintptr_t)n->block);
    if (n->silent) return;
    if (pdl_str_is(e->key, "pdl__model_input") && e->path) {
        set(&n->path, e->path);
        pdl_fold_set_call(f, n, e->path);
    }
    const char *key = intern_key(f, e->key);
    fold_fact *old = pdl_fold_fact(n, key, e->number);
    if (!old) {
        pdl_fold_fact_add(n, key, e->number, pdl_keep(e->value));
        return;
    }
    pdl_drop(old->value);
    old->value = pdl_keep(e->value);
}

static void on_usage(pdl_fold *f, const pdl_event *e) {
    fold_node *n = pdl_idmap_find(&f->calls, (uintptr_t)e->path);
    int64_t completion = 0, prompt = 0;
    if (!n || !pdl_is_dict(e->value)) return;
    (void)pdl_int_get(pdl_dict_getz(e->value, "completion_tokens"), &completion);
    (void)pdl_int_get(pdl_dict_getz(e->value, "prompt_tokens"), &prompt);
    n->usage[0]++;
    n->usage[1] += completion;
    n->usage[2] += prompt;
    pdl_vref cost = pdl_dict_getz(e->value, "cost");
    if (pdl_is_int(cost) || pdl_is(cost, PDL_V_FLOAT))
        n->cost = (n->cost > 0 ? n->cost : 0) + pdl_num_to_double(cost);
}

/* Returns the failed attempts of a call. When the trace does not show the request, the name of the
 * model and the words of the service, which may repeat the request, are left out. Owned. */
static pdl_val attempts_shown(const pdl_fold *f, pdl_vref attempts, const pdl_effect *e) {
    static const char *const texts[] = {"model", "message"};
    pdl_label label = e ? pdl_effect_label(e) : 0;
    if (!pdl_is_list(attempts) || !pdl_redaction_covers(f->redaction, label))
        return pdl_keep(attempts);
    pdl_val out = pdl_list_new(pdl_list_len(attempts));
    for (size_t i = 0; i < pdl_list_len(attempts); i++) {
        pdl_val one = pdl_keep(pdl_list_at(attempts, i));
        for (size_t k = 0; pdl_is_dict(one) && k < sizeof texts / sizeof texts[0]; k++) {
            pdl_vref text = pdl_dict_getz(one, texts[k]);
            if (pdl_is_absent(text)) continue;
            one = pdl_dict_putz(one, texts[k],
                                pdl_redact_leaves(f->redaction, label, pdl_keep(text)));
        }
        out = pdl_list_push(out, one);
    }
    return out;
}

/* Records how a call was made. how is the value of the event, {attempts, structured}, or absent. */
static void note_call(pdl_fold *f, fold_node *n, pdl_vref how, const pdl_effect *e) {
    static const char *const names[][2] = {{"attempts", "pdl__attempts"},
                                           {"structured", "pdl__structured"}};
    for (size_t i = 0; pdl_is_dict(how) && i < sizeof names / sizeof names[0]; i++) {
        if (pdl_is_absent(pdl_dict_getz(how, names[i][0]))) continue;
        pdl_val v = attempts_shown(f, pdl_dict_getz(how, names[i][0]), e);
        fold_fact *old = pdl_fold_fact(n, names[i][1], 0);
        if (old && pdl_is_list(old->value) && pdl_is_list(v))
            old->value = pdl_list_concat(old->value, v);
        else if (!old)
            pdl_fold_fact_add(n, intern_key(f, pdl_str_of(names[i][1])), 0, pdl_keep(v));
        pdl_drop(v);
    }
}

static double nanos_of(pdl_vref dict, const char *key) {
    pdl_vref v = pdl_is_dict(dict) ? pdl_dict_getz(dict, key) : pdl_absent();
    return pdl_is(v, PDL_V_FLOAT) && pdl_float_of(v) > 0 ? pdl_float_of(v) * 1e9 : 0;
}

/* Records when the answered request was sent. Before that time, the call waited (for its turn, for
 * a rate, before another attempt) and its earlier attempts failed. */
static void note_sent(fold_node *n, const pdl_reply *reply, pdl_vref how) {
    double before = reply ? pdl_reply_waited(reply) * 1e9 : 0;
    pdl_vref tried = pdl_is_dict(how) ? pdl_dict_getz(how, "attempts") : pdl_absent();
    for (size_t i = 0; pdl_is_list(tried) && i < pdl_list_len(tried); i++) {
        pdl_vref one = pdl_list_at(tried, i);
        bool is_last = pdl_is_dict(one) && pdl_text_is(pdl_dict_getz(one, "next"), "none");
        if (!is_last) before += nanos_of(one, "seconds");
    }
    if (n->sent && before < (double)(n->end - n->sent)) n->sent += (int64_t)before;
}

static void on_effect(pdl_fold *f, const pdl_event *e) {
    fold_node *n = e->path && e->effect->kind == PDL_EFFECT_model
                       ? pdl_idmap_find(&f->calls, (uintptr_t)e->path)
                       : NULL;
    if (n) n->sent = e->nanos;
}

/* Returns true when the answer reports its tokens. Otherwise no usage event follows. */
static bool has_counts(pdl_vref reply) {
    pdl_vref usage = pdl_is_dict(reply) ? pdl_dict_getz(reply, "usage") : pdl_absent();
    int64_t n;
    return pdl_is_dict(usage) && pdl_int_get(pdl_dict_getz(usage, "prompt_tokens"), &n) &&
           pdl_int_get(pdl_dict_getz(usage, "completion_tokens"), &n);
}

/* Records a reply. A model block ends before its reply arrives, so an unhandled failure has no
 * running block that reports it. */
static void on_reply(pdl_fold *f, const pdl_event *e) {
    fold_node *n = e->caller ? pdl_idmap_find(&f->calls, (uintptr_t)e->caller) : NULL;
    if (!n) return;
    n->end = e->nanos;
    n->waits = false;
    if (!f->whole && !e->err && e->reply && !has_counts(e->reply->value)) n->usage[0]++;
    note_call(f, n, e->value, e->effect);
    note_sent(n, e->reply, e->value);
    if (!e->err || n->failure || n->part_failed) return;
    char **failure = n->over ? &n->failure : &n->answer_failed;
    pdl_free(*failure);
    *failure = failure_text(f, e->err, e->effect);
}

static void on_piece(pdl_fold *f, const pdl_event *e) {
    fold_node *n = e->caller ? pdl_idmap_find(&f->calls, (uintptr_t)e->caller) : NULL;
    if (n && !n->first_piece) n->first_piece = e->nanos;
}

/* Returns a decision for the trace, owned. When a person was asked, the decision has the time of
 * the answer. */
static pdl_val decision_of(const pdl_event *e) {
    bool answered = !pdl_is_absent(pdl_dict_getz(e->value, "answered"));
    pdl_val d = pdl_keep(e->value);
    return answered ? pdl_dict_putz(d, "nanos", pdl_int(e->nanos)) : d;
}

/* Records what a policy decided about an effect of the block. */
static void on_decision(pdl_fold *f, const pdl_event *e) {
    fold_node *n = e->caller ? pdl_idmap_find(&f->calls, (uintptr_t)e->caller) : NULL;
    if (!n) n = top_of(f, e->fiber);
    if (!n || n->silent) return;
    fold_fact *old = pdl_fold_fact(n, "pdl__decisions", 0);
    if (old)
        old->value = pdl_list_push(old->value, decision_of(e));
    else
        pdl_fold_fact_add(n, intern_key(f, PDL_STR("pdl__decisions")), 0,
                          pdl_list_push(pdl_list_new(1), decision_of(e)));
}

/* Events without a function are not in a trace. */
static void (*const handlers[PDL_EVENT_COUNT])(pdl_fold *f, const pdl_event *e) = {
    [PDL_EVENT_block_begin] = on_begin, [PDL_EVENT_block_end] = on_end,
    [PDL_EVENT_block_fail] = on_fail,   [PDL_EVENT_field] = on_field,
    [PDL_EVENT_attempt] = on_attempt,   [PDL_EVENT_usage] = on_usage,
    [PDL_EVENT_reply] = on_reply,       [PDL_EVENT_piece] = on_piece,
    [PDL_EVENT_decision] = on_decision, [PDL_EVENT_effect] = on_effect,
};

static void on_event(void *user, const pdl_event *e) {
    if (e->kind != PDL_EVENT_usage)
        pdl_fold_queue_turn(user); /* a model is not written between its reply and its usage */
    if (handlers[e->kind]) handlers[e->kind](user, e);
}

pdl_fold *pdl_fold_new(pdl_program *program, const pdl_secrets *secrets, const char *folder) {
    pdl_fold *f = PDL_NEW(pdl_fold);
    f->program = pdl_program_keep(program);
    f->secrets = secrets;
    pdl_spill_init(&f->spill, folder);
    return f;
}

void pdl_fold_redact(pdl_fold *f, const pdl_redaction *redaction) { f->redaction = redaction; }

void pdl_fold_whole(pdl_fold *f) { f->whole = true; }
void pdl_fold_replayed(pdl_fold *f) { f->replayed = true; }

void pdl_fold_labels(pdl_fold *f, pdl_fold_label_fn *put, const void *user) {
    f->put_label = put;
    f->label_user = user;
}

pdl_sink pdl_fold_sink(pdl_fold *f) { return (pdl_sink){f, on_event, true}; }

static void free_maps(pdl_fold *f) {
    for (size_t i = 0; i < pdl_idmap_places(&f->last); i++)
        pdl_path_drop(pdl_idmap_at(&f->last, i));
    pdl_idmap *const maps[] = {&f->tops, &f->calls, &f->last, &f->taken, &f->funcs, &f->holes};
    for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) pdl_idmap_fini(maps[i]);
}

static void written_fini(fold_written *w) {
    pdl_free(w->name);
    pdl_buf_fini(&w->text);
}

void pdl_fold_free(pdl_fold *f) {
    if (!f) return;
    pdl_fold_nodes_free(f);
    pdl_fold_forms_free(f);
    pdl_fold_same_free(f);
    free_maps(f);
    for (size_t i = 0; i < f->written.n; i++) written_fini(&f->written.p[i]);
    pdl_programs_fini(&f->programs);
    for (size_t i = 0; i < f->keys.n; i++) pdl_free(f->keys.p[i]);
    pdl_vec_fini(&f->written);
    pdl_vec_fini(&f->keys);
    pdl_spill_fini(&f->spill);
    pdl_err_fini(&f->err);
    pdl_program_drop(f->program);
    pdl_free(f);
}
