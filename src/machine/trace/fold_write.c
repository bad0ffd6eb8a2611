/* fold_write.c -- makes a value of each node; see fold.h. The form of a block is that of
 * lang/dump.h, and this file adds the recorded facts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "lang/dump.h"
#include "trace/fold_attempt.h"
#include "trace/fold_form.h"
#include "trace/fold_shown.h"
#include "trace/fold_tree.h"
#include "value/context.h"
#include "value/func.h"
#include "value/json_write.h"
#include "value/memo.h"
#include "value/promise.h"

#include "base/banned.h"

/* The state of a view of one node. */
typedef struct view_of {
    pdl_fold *fold;
    fold_node *node;
    pdl_str name;          /* name of an entry of defs; p is NULL when there is no name */
    fold_answers *answers; /* answers for a form; NULL when the node is written without a form */
} view_of;

/* --- values ----------------------------------------------------------------------------------- */

/* The state of `shown`, which returns the form of a value in traces (owned): a closure becomes its
 * block, and a context becomes a list of messages. The result is absent when the value keeps its
 * form. */
typedef struct showing {
    pdl_fold *fold;
    pdl_steps steps;
    pdl_memo memo;
} showing;

static pdl_val shown(showing *s, pdl_vref v, unsigned depth);

static pdl_val shown_list(showing *s, pdl_vref v, unsigned depth) {
    pdl_val out = pdl_absent();
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_val x = shown(s, pdl_list_at(v, i), depth + 1);
        if (pdl_is_absent(x)) continue;
        if (pdl_is_absent(out)) out = pdl_keep(v);
        out = pdl_list_set(out, i, x);
    }
    return out;
}

static pdl_val shown_dict(showing *s, pdl_vref v, unsigned depth) {
    pdl_val out = pdl_absent();
    for (size_t i = 0; i < pdl_dict_len(v); i++) {
        pdl_val x = shown(s, pdl_dict_val_at(v, i), depth + 1);
        if (pdl_is_absent(x)) continue;
        if (pdl_is_absent(out)) out = pdl_keep(v);
        out = pdl_dict_put(out, pdl_keep(pdl_dict_key_at(v, i)), x);
    }
    return out;
}

static pdl_val shown_messages(showing *s, pdl_vref v, unsigned depth) {
    pdl_val list = pdl_context_to_list(v), out = shown_list(s, list, depth);
    if (pdl_is_absent(out)) return list;
    pdl_drop(list);
    return out;
}

static pdl_val shown_func(const showing *s, pdl_vref v) {
    const pdl_block *b = pdl_idmap_find(&s->fold->funcs, (uintptr_t)pdl_func_of(v)->block);
    pdl_vref name = pdl_func_of(v)->name;
    return b ? pdl_fold_hole_written(s->fold, b,
                                     pdl_is_str(name) ? pdl_str_get(name) : (pdl_str){0})
             : pdl_absent();
}

static pdl_val shown(showing *s, pdl_vref v, unsigned depth) {
    pdl_vref known;
    if (pdl_is(v, PDL_V_FUNC)) return shown_func(s, v);
    bool context = pdl_is(v, PDL_V_CONTEXT);
    if (!pdl_is_list(v) && !pdl_is_dict(v) && !context) return pdl_absent();
    if (depth >= PDL_MAX_VALUE_DEPTH || !pdl_steps_may_continue(&s->steps)) return pdl_absent();
    if (pdl_memo_find(&s->memo, v, 0, &known)) return pdl_keep(known);
    pdl_val out = context          ? shown_messages(s, v, depth)
                  : pdl_is_list(v) ? shown_list(s, v, depth)
                                   : shown_dict(s, v, depth);
    pdl_memo_put(&s->memo, v, 0, out);
    return out;
}

/* Returns the form that a value has in traces. Takes the value. */
static pdl_val as_shown(pdl_fold *f, pdl_val v) {
    showing s = {.fold = f};
    pdl_val out = pdl_is_absent(v) ? pdl_absent() : shown(&s, v, 0);
    pdl_memo_fini(&s.memo);
    if (pdl_is_absent(out)) return v;
    pdl_drop(v);
    return out;
}

/* Returns the value of a promise, owned; absent when its reply never arrived. */
static pdl_val resolved(pdl_vref v) {
    pdl_err err = {0};
    pdl_val now;
    if (pdl_is_absent(v) || (pdl_may_hold_promise(v) && !pdl_is_absent(pdl_promise_blocking(v))))
        return pdl_absent();
    if (!pdl_promise_resolve(v, &now, &err)) {
        pdl_err_fini(&err);
        return pdl_absent();
    }
    return now;
}

static pdl_val settled(pdl_fold *f, pdl_vref v) { return as_shown(f, resolved(v)); }

/* Returns a list of messages in the form that the trace has. When the list repeats an earlier list,
 * the result names the block that has the earlier list. Takes list. */
static pdl_val messages(const view_of *v, const fold_own *own, fold_list which, pdl_val list) {
    pdl_val id;
    size_t n = pdl_fold_same(v->fold, v->node, own, which, list, &id);
    if (!n) return as_shown(v->fold, list);
    pdl_val more = as_shown(v->fold, pdl_fold_rest(list, n));
    pdl_val d = pdl_dict_putz(pdl_dict_new(2), "pdl__same", id);
    d = pdl_with_label(pdl_dict_putz(d, "pdl__more", more), pdl_label_of(list));
    pdl_drop(list);
    return d;
}

static pdl_vref fact_of(const fold_node *n, const char *key, uint32_t index) {
    const fold_fact *x = pdl_fold_fact(n, key, index);
    return x ? x->value : pdl_absent();
}

/* --- parts ------------------------------------------------------------------------------------ */

/* Finds the execution of a part. The search starts at the part that was found last, because parts
 * run in the order in which they are requested. */
static fold_node *child_node(fold_node *n, const pdl_block *child) {
    for (fold_node *c = n->cursor; c; c = c->next)
        if (c->block == child) return n->cursor = c;
    for (fold_node *c = n->first; c && c != n->cursor; c = c->next)
        if (c->block == child) return n->cursor = c;
    return NULL;
}

bool pdl_fold_is_loop_body(const pdl_block *b, const pdl_block *child) {
    if (b->kind == PDL_BLOCK_repeat) return PDL_AS(repeat, b)->body == child;
    return b->kind == PDL_BLOCK_map && PDL_AS(map, b)->body == child;
}

static bool may_be_tried_again(const pdl_block *b) {
    return b->rare->retry || b->rare->fallback || b->rare->expectations.n;
}

/* Returns true for kinds of blocks that only combine values and make no call. */
static bool is_putting_together(pdl_block_kind k) {
    static const bool kinds[PDL_BLOCK_COUNT] = {
        [PDL_BLOCK_scalar] = true, [PDL_BLOCK_data] = true,    [PDL_BLOCK_message] = true,
        [PDL_BLOCK_text] = true,   [PDL_BLOCK_array] = true,   [PDL_BLOCK_lastOf] = true,
        [PDL_BLOCK_object] = true, [PDL_BLOCK_sequence] = true};
    return kinds[k];
}

/* Returns true when the result of n is the only fact that the trace has about n and its parts. */
static bool is_plain(const pdl_fold *f, const fold_node *n) {
    const pdl_block *b = n->block;
    if (f->whole || f->put_label || n->failure || n->part_failed || n->calls.begun) return false;
    if (!is_putting_together(b->kind) || b->def.s.n || b->rare->defs.n || may_be_tried_again(b))
        return false;
    if (pdl_fold_fact(n, "pdl__decisions", 0) || pdl_fold_fact(n, FOLD_SHOWN, 0)) return false;
    for (const fold_node *c = n->first; c; c = c->next)
        if (!c->plain) return false;
    return true;
}

/* Returns true when the blocks of `input` are written as if they were not executed. Written as
 * executed, these blocks would make up most of the trace of a short call, and `pdl__model_input`
 * already has the messages that they made. An `input` that is a text or an expression is one block,
 * which is written as executed. */
static bool shows_source(const view_of *v, const fold_node *input) {
    pdl_block_kind k = input->block->kind;
    return input->in_input && !v->node->in_input && input->plain && k != PDL_BLOCK_scalar &&
           k != PDL_BLOCK_data && !pdl_is_absent(fact_of(v->node, "pdl__model_input", 0));
}

/* Returns the text of a child that was executed here. Any other child is shown with the id of its
 * last execution at another position, as in the reference; a scalar is absent. */
static pdl_val part(void *user, const pdl_block *b, const pdl_block *child, const char *key,
                    uint32_t index) {
    const view_of *v = user;
    fold_node *c = pdl_fold_is_loop_body(b, child) ? NULL : child_node(v->node, child);
    /* the definitions of a failed attempt stay where they are */
    if (c && v->node->is_attempt && c->entry == PDL_ENTRY_DEF) c = NULL;
    pdl_fold_note_question(
        v->answers,
        (fold_question){.what = FOLD_ASKS_CHILD, .key = key, .index = index, .child = child});
    pdl_val x = c && !shows_source(v, c) ? pdl_fold_hole_text(&c->text)
                : child->kind == PDL_BLOCK_scalar
                    ? pdl_absent()
                    : pdl_fold_hole_written(v->fold, child, (pdl_str){0});
    return pdl_fold_answer(v->answers, NULL, x);
}

static pdl_val add(const view_of *v, pdl_val dict, const char *key, pdl_val x) {
    return pdl_fold_add_entry(v->answers, dict, key, x);
}

static pdl_val id_of(const pdl_block *b, const pdl_path *p) {
    char room[PDL_SHORT_TEXT];
    pdl_buf id = pdl_buf_in(room, sizeof room, PDL_BUF.limit);
    if (!b || b->kind != PDL_BLOCK_function) pdl_path_end(p, PDL_MAX_ID_SEGMENTS, &id);
    pdl_val v = pdl_text(pdl_buf_str(&id));
    pdl_buf_fini(&id);
    return v;
}

static pdl_path *place_of(const fold_node *n) { return n->place ? n->place : n->path; }

/* Returns the id and the context of a model. When the id was cut, the context is absent, because
 * several ids may end in the same way. */
static fold_own own_of(pdl_vref id, pdl_vref context) {
    fold_own own = {id, context};
    if (pdl_str_starts(pdl_str_get(id), PDL_STR("..."))) own.context = pdl_absent();
    return own;
}

/* Adds to a function the name of its entry in defs. */
static pdl_val with_name(pdl_str name, const pdl_block *b, pdl_val dict) {
    if (b->kind != PDL_BLOCK_function || b->def.s.p || !name.p) return dict;
    return pdl_dict_putz(dict, "def", pdl_text(name));
}

/* --- what was not executed -------------------------------------------------------------------- */

/* The state of a view of a block that was not executed at this position. */
typedef struct end_of {
    const pdl_fold *fold;
    pdl_str name; /* name of the block that is being written; p is NULL when it has none */
} end_of;

static pdl_val written_value(const pdl_fold *f, const pdl_block *b, pdl_str name);

static pdl_val written_child(void *user, const pdl_block *b, const pdl_block *child,
                             const char *key, uint32_t index) {
    const end_of *e = user;
    (void)b;
    (void)key;
    (void)index;
    return child->kind == PDL_BLOCK_scalar ? pdl_absent()
                                           : written_value(e->fold, child, (pdl_str){0});
}

static pdl_val written_more(void *user, const pdl_block *b, pdl_dump_place place, pdl_val dict) {
    const end_of *e = user;
    if (place == PDL_DUMP_HEAD)
        return pdl_dict_putz(dict, "pdl__id",
                             id_of(b, pdl_idmap_find(&e->fold->last, (uintptr_t)b)));
    return place == PDL_DUMP_FIELDS ? with_name(e->name, b, dict) : dict;
}

static bool is_of_taking(const char *key) {
    return strcmp(key, "pdl__if_result") == 0 || strcmp(key, "pdl__matched") == 0;
}

/* Called for a block that was not executed at this position. Returns true for a case without a test
 * that was taken in another execution of the block. */
static pdl_val written_fact(void *user, const pdl_block *b, const char *key, uint32_t index) {
    const end_of *e = user;
    if (b->kind != PDL_BLOCK_match || !is_of_taking(key)) return pdl_absent();
    return pdl_idmap_find(&e->fold->taken, (uintptr_t)&PDL_AS(match, b)->cases.p[index])
               ? pdl_bool(true)
               : pdl_absent();
}

/* Makes the value of a block as it is written in the program. The C stack is as deep as the nesting
 * of the source. */
static pdl_val written_value(const pdl_fold *f, const pdl_block *b, pdl_str name) {
    end_of e = {f, name};
    return pdl_block_dump(b, &(pdl_dump_view){&e, written_child, written_fact, written_more});
}

bool pdl_fold_written_json(const pdl_fold *f, const fold_written *w, pdl_buf *out, pdl_err *err) {
    pdl_val v = written_value(f, w->block, w->name ? pdl_str_of(w->name) : (pdl_str){0});
    v = pdl_redact_val(f->secrets, v);
    bool ok = pdl_fold_put_json(v, out, err);
    pdl_drop(v);
    return ok;
}

/* --- match ------------------------------------------------------------------------------------ */

/* Returns the fact of a case that key names: whether its pattern matches, whether its guard is
 * true, or whether the case was taken. Absent when the case was not tried. */
static pdl_val case_value(fold_node *n, const char *key, uint32_t i) {
    const pdl_case *c = &PDL_AS(match, n->block)->cases.p[i];
    pdl_vref fits = fact_of(n, "case", i + 1), holds = fact_of(n, "if", i + 1);
    bool taken = child_node(n, c->then) != NULL;
    if (!taken && pdl_is_absent(fits) && pdl_is_absent(holds))
        return is_of_taking(key) && !c->pattern && !c->cond ? pdl_fold_hole_taken(c) : pdl_absent();
    if (strcmp(key, "pdl__case_result") == 0)
        return pdl_is_absent(fits) ? pdl_absent() : pdl_bool(pdl_val_truth(fits));
    if (strcmp(key, "pdl__matched") == 0) return pdl_bool(taken);
    if (!pdl_is_absent(holds)) return pdl_bool(pdl_val_truth(holds));
    return taken ? pdl_bool(true) : pdl_absent();
}

/* Returns a list of messages in the `input` of a model. The list may name that model, unless
 * another attempt may give the model another id. */
static pdl_val as_input(const view_of *v, pdl_val x) {
    const fold_node *model = v->node->parent;
    if (!pdl_is_list(x) && !pdl_is(x, PDL_V_CONTEXT)) return as_shown(v->fold, x);
    while (model && model->in_input) model = model->parent;
    if (!model || model->block->kind != PDL_BLOCK_model || may_be_tried_again(model->block))
        return messages(v, NULL, FOLD_INPUT, x);
    pdl_val context = resolved(model->context), id = id_of(model->block, place_of(model));
    const fold_own own = own_of(id, context);
    x = messages(v, &own, FOLD_INPUT, x);
    pdl_drop(context);
    pdl_drop(id);
    return x;
}

static pdl_val known_value(const view_of *v, const pdl_block *b, const char *key, uint32_t index) {
    if (b->kind == PDL_BLOCK_match && strncmp(key, "pdl__", 5) == 0)
        return case_value(v->node, key, index);
    if (b->kind == PDL_BLOCK_if && v->node->part_failed)
        return pdl_absent(); /* the condition is noted later, when the branch ends */
    bool of_case = b->kind == PDL_BLOCK_match && strcmp(key, "if") == 0;
    pdl_val x = resolved(fact_of(v->node, key, of_case ? index + 1 : index));
    return v->node->in_input ? as_input(v, x) : as_shown(v->fold, x);
}

static pdl_val value(void *user, const pdl_block *b, const char *key, uint32_t index) {
    const view_of *v = user;
    pdl_fold_note_question(v->answers,
                           (fold_question){.what = FOLD_ASKS_VALUE, .key = key, .index = index});
    return pdl_fold_answer(v->answers, NULL, known_value(v, b, key, index));
}

/* --- what is added to the fields -------------------------------------------------------------- */

/* Returns true when the added entries must be dicts. A form that is filled has these entries in its
 * text already. */
static bool makes_dicts(const view_of *v) { return !v->answers || v->answers->questions; }

/* Adds the timing. of_call says that dict is the call of a model, and not the input that is written
 * for the call. */
static pdl_val add_timing(const view_of *v, bool of_call, pdl_val dict) {
    const fold_node *n = v->node;
    of_call = of_call && !v->fold->whole;
    int64_t end = n->over && !n->part_failed ? n->end : 0;
    pdl_val t = makes_dicts(v) ? pdl_dict_new(4) : pdl_absent();
    t = add(v, t, "start_nanos", pdl_int(n->start));
    if (n->sent && of_call) t = add(v, t, "sent_nanos", pdl_int(n->sent));
    if (n->first_piece && of_call) t = add(v, t, "first_token_nanos", pdl_int(n->first_piece));
    t = add(v, t, "end_nanos", pdl_int(end));
    if (!makes_dicts(v)) return dict;
    return pdl_dict_putz(dict, "pdl__timing", pdl_dict_putz(t, "timezone", pdl_textz("UTC")));
}

static pdl_val put_recorded(pdl_val dict, const char *key, pdl_val expr, pdl_val result) {
    pdl_val e = pdl_dict_puts(pdl_dict_new(2), PDL_STR("pdl__expr"), expr);
    return pdl_dict_putz(dict, key, pdl_dict_puts(e, PDL_STR("pdl__result"), result));
}

/* Returns the input of a model block without a written `input`: a block that yields the context.
 * Takes list. */
static pdl_val default_input(const view_of *v, pdl_val list) {
    const fold_node *n = v->node;
    if (pdl_is_absent(list)) list = pdl_list_new(0);
    pdl_path *place = place_of(n), *up = place ? pdl_path_name(place, "input") : NULL,
             *id = up ? pdl_path_name(up, "data") : NULL;
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "kind", pdl_textz("data"));
    d = pdl_dict_putz(d, "pdl__id", id_of(n->block, id));
    d = pdl_dict_putz(d, "defs", pdl_dict_new(0));
    d = put_recorded(d, "data", pdl_textz("${ pdl_context }"), pdl_keep(list));
    d = pdl_dict_putz(d, "pdl__result", list);
    d = pdl_dict_putz(d, "expectations", pdl_list_new(0));
    d = add_timing(v, false, d);
    pdl_path_drop(id);
    pdl_path_drop(up);
    return pdl_dict_putz(d, "pdl__is_leaf", pdl_bool(true));
}

static bool has_used(const fold_node *n) { return n->usage[0] || n->lost.counts[0]; }

/* Returns the usage of a block: the usage of its calls, and of its failed attempts that the trace
 * does not show elsewhere. */
static pdl_val usage_of(const view_of *v) {
    static const char *const names[] = {"model_calls", "completion_tokens", "prompt_tokens"};
    const fold_node *n = v->node;
    bool whole = v->fold->whole;
    double cost = (n->cost > 0 ? n->cost : 0) + n->lost.cost;
    pdl_val usage = pdl_dict_new(4);
    for (size_t i = 0; i < 3; i++) {
        int64_t lost = whole ? 0 : n->lost.counts[i];
        usage = pdl_dict_putz(usage, names[i], pdl_int(n->usage[i] + lost));
    }
    if ((n->cost >= 0 || n->lost.cost > 0) && !whole)
        usage = pdl_dict_putz(usage, "cost", pdl_float(cost));
    return usage;
}

static pdl_val model_fields(const view_of *v, pdl_val dict) {
    const fold_node *n = v->node;
    pdl_vref input = fact_of(n, "pdl__model_input", 0);
    pdl_val context = resolved(n->context), id = id_of(n->block, place_of(n));
    const fold_own own = own_of(id, context);
    if (!PDL_AS(model, n->block)->input && !pdl_is_absent(input)) {
        pdl_val list = messages(v, &own, FOLD_INPUT, pdl_keep(context));
        dict = pdl_dict_putz(dict, "input", default_input(v, list));
    }
    /* the fallback of a model shows its usage itself */
    if (!n->fell_back || (has_used(n) && !v->fold->whole))
        dict = pdl_dict_putz(dict, "pdl__usage", usage_of(v));
    static const char *const notes[] = {"pdl__attempts", "pdl__structured"};
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        pdl_vref x = fact_of(n, notes[i], 0);
        if (!pdl_is_absent(x) && !v->fold->whole) dict = pdl_dict_putz(dict, notes[i], pdl_keep(x));
    }
    pdl_val sent = resolved(input);
    pdl_fold_same_note(v->fold, n, id, context, sent);
    sent = messages(v, &own, FOLD_INPUT, sent);
    pdl_drop(context);
    pdl_drop(id);
    return add(v, dict, "pdl__model_input", sent);
}

typedef struct iteration {
    uint32_t number;
    const pdl_buf *text;
} iteration;

static int by_number(const void *a, const void *b) {
    const iteration *x = a, *y = b;
    return (x->number > y->number) - (x->number < y->number);
}

/* Returns iterations or calls in the order of their numbers: first the collected ones, then all
 * others. */
static pdl_val items_of(const view_of *v, fold_series *s) {
    const fold_node *n = v->node;
    if (s->gathered) return pdl_fold_hole_items(&s->items);
    s->gathered = true;
    PDL_VEC(iteration) list = {0};
    for (fold_node *c = n->first; c; c = c->next)
        if (pdl_fold_series_of(c) == s) *pdl_vec_push(&list) = (iteration){c->number, &c->text};
    for (size_t i = 0; i < pdl_idmap_places(&s->ahead); i++) {
        const fold_ahead *a = pdl_idmap_at(&s->ahead, i);
        if (a) *pdl_vec_push(&list) = (iteration){a->number, &a->text};
    }
    if (list.n) qsort(list.p, list.n, sizeof *list.p, by_number);
    for (size_t i = 0; i < list.n; i++) pdl_fold_add_item(v->fold, s, list.p[i].text);
    pdl_vec_fini(&list);
    return pdl_fold_hole_items(&s->items);
}

/* Returns the calls of functions in the expressions of the block. */
static pdl_val calls_of(const view_of *v) {
    fold_series *s = &v->node->calls;
    return s->begun ? items_of(v, s) : pdl_absent();
}

/* Returns the attempts that failed and were handled, each as an error block. */
static pdl_val abandoned_of(const view_of *v) {
    fold_series *s = &v->node->attempts;
    return s->items.len ? pdl_fold_hole_items(&s->items) : pdl_absent();
}

/* Adds the body of the called function, or the main block of the file. */
static pdl_val called(const view_of *v, pdl_val dict) {
    fold_node *found = NULL;
    for (fold_node *c = v->node->first; c; c = c->next)
        if (c->entry == PDL_ENTRY_CALL || c->entry == PDL_ENTRY_INCLUDE) found = c;
    return found ? add(v, dict, "pdl__trace", pdl_fold_hole_text(&found->text)) : dict;
}

/* Shortens the list of a block that ended early to the items that were executed. */
static pdl_val cut_list(const fold_node *n, const char *key, pdl_val dict) {
    if (n->over && !n->part_failed) return dict;
    pdl_vref list = pdl_dict_getz(dict, key);
    size_t done = 0;
    for (const fold_node *c = n->first; c; c = c->next)
        done += c->entry == PDL_ENTRY_PART && c->block != n->block->rare->fallback;
    if (!done || !pdl_is_list(list) || done >= pdl_list_len(list)) return dict;
    pdl_val cut = pdl_list_new(done);
    for (size_t i = 0; i < done; i++) cut = pdl_list_push(cut, pdl_keep(pdl_list_at(list, i)));
    return pdl_dict_putz(dict, key, cut);
}

/* Removes the cases after the case that failed. */
static pdl_val cut_cases(const fold_node *n, pdl_val dict) {
    const pdl_cases *cases = &PDL_AS(match, n->block)->cases;
    const fold_node *failed = n->part_failed ? pdl_fold_last_part(n) : NULL;
    if (!failed) return dict;
    pdl_vref list = pdl_dict_getz(dict, "with");
    for (uint32_t i = 0; i < cases->n; i++) {
        if (cases->p[i].then != failed->block) continue;
        pdl_val cut = pdl_list_new(i + 1);
        for (uint32_t k = 0; k <= i; k++) cut = pdl_list_push(cut, pdl_keep(pdl_list_at(list, k)));
        return pdl_dict_putz(dict, "with", cut);
    }
    return dict;
}

static pdl_val fields(const view_of *v, const pdl_block *b, pdl_val dict) {
    const fold_node *n = v->node;
    switch ((int)b->kind) {
    case PDL_BLOCK_model: return model_fields(v, dict);
    case PDL_BLOCK_call: {
        pdl_val args =
            PDL_AS(call, b)->args ? pdl_absent() : settled(v->fold, fact_of(n, "args", 0));
        if (!pdl_is_absent(args)) args = pdl_fold_answer(v->answers, "args", args);
        if (!pdl_is_absent(args)) dict = put_recorded(dict, "args", pdl_dict_new(0), args);
        return called(v, dict);
    }
    case PDL_BLOCK_include:
    case PDL_BLOCK_import: return called(v, dict);
    case PDL_BLOCK_repeat:
    case PDL_BLOCK_map:
        return n->failure && !pdl_fold_last_part(n) && !n->rounds.items.len
                   ? dict
                   : add(v, dict, "pdl__trace", items_of(v, &v->node->rounds));
    case PDL_BLOCK_factor:
        return add(v, dict, "pdl__score", settled(v->fold, fact_of(n, "factor", 0)));
    case PDL_BLOCK_match: return cut_cases(n, dict);
    case PDL_BLOCK_text: return PDL_AS(text, b)->items.single ? dict : cut_list(n, "text", dict);
    case PDL_BLOCK_lastOf:
    case PDL_BLOCK_array:
    case PDL_BLOCK_object:
    case PDL_BLOCK_sequence: return cut_list(n, pdl_block_name(b->kind), dict);
    case PDL_BLOCK_function: return with_name(v->name, b, dict);
    default: return dict;
    }
}

static pdl_val result(const view_of *v, const pdl_block *b, pdl_val dict) {
    if (b->kind == PDL_BLOCK_import || v->node->part_failed) return dict;
    pdl_val x = resolved(fact_of(v->node, "pdl__result", 0));
    return add(v, dict, "pdl__result", v->node->in_input ? as_input(v, x) : as_shown(v->fold, x));
}

static pdl_val head(const view_of *v, const pdl_block *b, pdl_val dict) {
    dict = add(v, dict, "pdl__id", id_of(b, place_of(v->node)));
    bool empty = !pdl_is(v->node->context, PDL_V_CONTEXT) || pdl_context_is_empty(v->node->context);
    if (empty) return dict;
    return add(v, dict, "pdl__context",
               messages(v, NULL, FOLD_CONTEXT, resolved(v->node->context)));
}

/* Adds the labels. The facts that the trace adds are not values of the program, except for the
 * result. */
static pdl_val labels(const view_of *v, pdl_val dict) {
    pdl_val out = pdl_absent();
    if (!v->fold->put_label || v->fold->whole) return dict;
    for (size_t i = 0; i < v->node->facts.n; i++) {
        const fold_fact *x = &v->node->facts.p[i];
        bool result = strcmp(x->key, "pdl__result") == 0;
        if (x->index || (!result && pdl_str_starts(pdl_str_of(x->key), PDL_STR("pdl__")))) continue;
        pdl_val now = settled(v->fold, x->value);
        out = pdl_fold_labels_put(v->fold, out, pdl_str_of(x->key), now);
        if (!pdl_is_absent(now)) pdl_drop(now);
    }
    return add(v, dict, "pdl__labels", out);
}

/* Returns a fact that the reference does not write; absent when it is not shown. A `call` block
 * shows FOLD_TOOL; for a call in an expression, call_value adds FOLD_TOOL instead. */
static pdl_val own_fact(const view_of *v, const char *key) {
    bool of_call = strcmp(key, FOLD_TOOL) == 0;
    if (v->fold->whole || (of_call && v->node->block->kind != PDL_BLOCK_call)) return pdl_absent();
    pdl_val x = resolved(fact_of(v->node, key, 0));
    if (of_call && v->node->entry == PDL_ENTRY_SILENT) {
        pdl_drop(x);
        return pdl_absent();
    }
    return v->node->in_input ? as_input(v, x) : as_shown(v->fold, x);
}

/* Returns true for the outermost block of a replay, else absent. */
static pdl_val replayed_of(const view_of *v) {
    bool is_replay = v->fold->replayed && !v->fold->whole && v->node == v->fold->root;
    return is_replay ? pdl_bool(true) : pdl_absent();
}

static pdl_val more(void *user, const pdl_block *b, pdl_dump_place place, pdl_val dict) {
    const view_of *v = user;
    pdl_fold_note_question(v->answers, (fold_question){.what = FOLD_ASKS_ENTRIES, .place = place});
    switch (place) {
    case PDL_DUMP_HEAD: return head(v, b, dict);
    case PDL_DUMP_FIELDS: return fields(v, b, dict);
    case PDL_DUMP_RESULT: return result(v, b, dict);
    case PDL_DUMP_TAIL: {
        pdl_vref decisions = fact_of(v->node, "pdl__decisions", 0);
        if (v->node->is_attempt)
            return add_timing(v, true, add(v, dict, "pdl__calls", calls_of(v)));
        if (!pdl_is_absent(decisions) && !v->fold->whole)
            dict = add(v, dict, "pdl__decisions", pdl_keep(decisions));
        dict = add(v, dict, FOLD_PARSED, own_fact(v, FOLD_PARSED));
        dict = add(v, dict, FOLD_TOOL, own_fact(v, FOLD_TOOL));
        dict = add(v, dict, FOLD_SHOWN, pdl_fold_shown(v->fold, v->node));
        if (v->node->lost.counts[0] && b->kind != PDL_BLOCK_model && !v->fold->whole)
            dict = add(v, dict, "pdl__usage", usage_of(v));
        dict = add(v, dict, "pdl__calls", calls_of(v));
        dict = add(v, dict, "pdl__abandoned", abandoned_of(v));
        dict = add(v, dict, "pdl__replayed", replayed_of(v));
        return add_timing(v, true, labels(v, dict));
    }
    }
    return dict;
}

/* --- nodes ------------------------------------------------------------------------------------ */

static pdl_val error_block(const fold_node *n, pdl_val program) {
    pdl_val d = pdl_dict_putz(pdl_dict_new(8), "kind", pdl_textz("error"));
    d = pdl_dict_putz(d, "pdl__id", pdl_textz(""));
    d = pdl_dict_putz(d, "defs", pdl_dict_new(0));
    d = pdl_dict_putz(d, "program", program);
    d = pdl_dict_putz(d, "msg", pdl_textz(n->failure));
    d = pdl_dict_putz(d, "expectations", pdl_list_new(0));
    return pdl_dict_putz(d, "pdl__is_leaf", pdl_bool(true));
}

/* Returns true when the reference drops the block around a failure: a block whose definition
 * failed, or a text of a single block (not a list). */
static bool is_lost(const fold_node *n) {
    const fold_node *c = pdl_fold_last_part(n);
    if (!n->part_failed || !c || !(c->failure || c->part_failed)) return false;
    if (c->entry == PDL_ENTRY_DEF) return true;
    const pdl_blocks *text =
        n->block->kind == PDL_BLOCK_text ? &PDL_AS(text, n->block)->items : NULL;
    return text && text->single && c->block == text->p[0];
}

/* Returns the name of n's entry in defs, if n is such an entry. */
static pdl_str def_name(const fold_node *n) {
    const pdl_blocks *defs =
        n->parent && n->entry == PDL_ENTRY_DEF ? &n->parent->block->rare->defs : NULL;
    for (uint32_t i = 0; defs && i < defs->n; i++)
        if (defs->p[i] == n->block) return defs->names[i];
    return (pdl_str){0};
}

static pdl_val node_value(pdl_fold *f, fold_node *n) {
    view_of v = {f, n, n->block->kind == PDL_BLOCK_function ? def_name(n) : (pdl_str){0}, NULL};
    pdl_dump_view view = {&v, part, value, more};
    if (!n->failure) return pdl_block_dump(n->block, &view);
    bool bare = n->block->kind == PDL_BLOCK_scalar && !n->calls.begun;
    return error_block(n, pdl_block_dump(n->block, bare ? NULL : &view));
}

/* Returns true when the dump of n can have a form (fold_form.c). Dumps of other nodes differ too
 * much: models add facts about their call, functions show their name, commands take their value
 * apart, and lists of a failed block are cut. */
static bool has_form(const fold_node *n) {
    const pdl_block *b = n->block;
    if (!n->over || n->failure || n->part_failed || n->attempts.items.len) return false;
    if (b->kind == PDL_BLOCK_model || b->kind == PDL_BLOCK_function) return false;
    return b->kind != PDL_BLOCK_code || !PDL_AS(code, b)->args;
}

static void ask(void *user, const fold_question *q, fold_answers *a) {
    view_of v = *(const view_of *)user;
    v.answers = a;
    const pdl_block *b = v.node->block;
    switch (q->what) { /* each call appends its result to `a` */
    case FOLD_ASKS_VALUE: (void)value(&v, b, q->key, q->index); break;
    case FOLD_ASKS_CHILD: (void)part(&v, b, q->child, q->key, q->index); break;
    case FOLD_ASKS_ENTRIES: (void)more(&v, b, q->place, pdl_absent()); break;
    }
}

static pdl_val dump_for_form(void *user, fold_answers *a) {
    view_of v = *(const view_of *)user;
    v.answers = a;
    return pdl_block_dump(v.node->block, &(pdl_dump_view){&v, part, value, more});
}

static bool put_node(pdl_fold *f, fold_node *n, pdl_buf *out) {
    view_of of = {f, n, (pdl_str){0}, NULL};
    const fold_form_calls calls = {&of, ask, dump_for_form};
    if (has_form(n) && pdl_fold_form_put(f, n, &calls, out)) return true;
    if (f->err.kind) return false;
    pdl_val v = pdl_redact_val(f->secrets, pdl_redact_labelled(f->redaction, node_value(f, n)));
    bool ok = pdl_check_walk(&f->err) && pdl_fold_put_node(f, v, n->level, out);
    pdl_drop(v);
    return ok;
}

void pdl_fold_attempt_write(pdl_fold *f, fold_node *n, pdl_buf *out) {
    if (!f->began) f->n_secrets = pdl_secrets_size(f->secrets);
    f->began = true;
    (void)put_node(f, n, out);
}

/* --- calls ------------------------------------------------------------------------------------ */

/* Adds the place of the body of the called function: a name in an expression does not identify
 * the function, as in `tool.run(x)`. */
static pdl_val put_location(const view_of *v, pdl_val d) {
    const pdl_node *body = v->node->block->node;
    if (v->fold->whole || !body || !body->src) return d;
    pdl_val table =
        pdl_dict_putz(pdl_dict_new(1), "", pdl_int(pdl_source_line(body->src, body->start)));
    pdl_val place = pdl_dict_putz(pdl_dict_new(3), "path", pdl_list_new(0));
    place = pdl_dict_putz(place, "file", pdl_text(body->src->name));
    return pdl_dict_putz(d, "pdl__location", pdl_dict_putz(place, "table", table));
}

/* Makes a `call` block around the body, as in a program that calls the function by a block. */
static pdl_val call_value(const view_of *v) {
    const fold_node *n = v->node;
    pdl_vref name = fact_of(n, FOLD_CALL_NAME, 0);
    pdl_val func = pdl_is_str(name) && pdl_str_get(name).n ? pdl_keep(name) : pdl_textz("function");
    pdl_path *place = place_of(n);
    pdl_val d = pdl_dict_putz(pdl_dict_new(11), "kind", pdl_textz("call"));
    d = pdl_dict_putz(d, "pdl__id", id_of(NULL, place ? place->up : NULL));
    d = pdl_dict_putz(d, "defs", pdl_dict_new(0));
    d = put_location(v, pdl_dict_putz(d, "call", func));
    pdl_vref tool = fact_of(n, FOLD_TOOL, 0);
    if (!pdl_is_absent(tool)) d = pdl_dict_putz(d, FOLD_TOOL, pdl_keep(tool));
    pdl_val args = settled(v->fold, fact_of(n, FOLD_CALL_ARGS, 0));
    d = put_recorded(d, "args", pdl_dict_new(0), pdl_is_absent(args) ? pdl_null() : args);
    d = pdl_dict_putz(d, "pdl__trace", pdl_fold_hole_text(&n->text));
    pdl_val result = settled(v->fold, fact_of(n, "pdl__result", 0));
    bool ok = !n->failure && !n->part_failed;
    if (ok && !pdl_is_absent(result))
        d = pdl_dict_putz(d, "pdl__result", result);
    else
        pdl_drop(result);
    d = pdl_dict_putz(d, "expectations", pdl_list_new(0));
    return pdl_dict_putz(add_timing(v, true, d), "pdl__is_leaf", pdl_bool(true));
}

/* Does nothing for the program of a block `lang: pdl`. The block already has the text of that
 * program. */
void pdl_fold_call_write(pdl_fold *f, fold_node *n) {
    view_of of = {f, n, (pdl_str){0}, NULL};
    pdl_buf text = PDL_BUF;
    if (f->err.kind || pdl_is_absent(fact_of(n, FOLD_CALL_NAME, 0))) return;
    pdl_val v = pdl_redact_val(f->secrets, pdl_redact_labelled(f->redaction, call_value(&of)));
    if (!pdl_fold_put_node(f, v, n->level ? n->level - 1 : 0, &text)) PDL_PUT(&text, "null");
    pdl_drop(v);
    pdl_buf_fini(&n->text);
    n->text = text;
    (void)pdl_fold_shorten(f, &n->text, 0);
}

/* --- writing ---------------------------------------------------------------------------------- */

/* When the run was cancelled and the time of grace is over, a node with long values is written
 * without the values. So the trace stays complete. */
void pdl_fold_node_write(pdl_fold *f, fold_node *n) {
    if (is_lost(n)) { /* the text of the last part replaces the text of n */
        fold_node *last = pdl_fold_last_part(n);
        pdl_fold_note_dropped(n, last);
        pdl_buf text = last->text;
        last->text = n->text;
        n->text = text;
        return;
    }
    if (f->err.kind) return; /* the trace was abandoned */
    n->plain = n->in_input && is_plain(f, n);
    if (!f->began) f->n_secrets = pdl_secrets_size(f->secrets);
    f->began = true;
    if (!put_node(f, n, &n->text) && pdl_err_is_cancel(&f->err)) {
        pdl_err_fini(&f->err);
        pdl_fold_forget_values(n);
        /* no time limit is needed, since the long values are gone */
        const pdl_cancel *scope = pdl_cancel_enter(NULL);
        (void)put_node(f, n, &n->text);
        (void)pdl_cancel_enter(scope);
    }
    if (f->err.kind) PDL_PUT(&n->text, "null");
    (void)pdl_fold_shorten(f, &n->text, 0);
}
