/* emit_block.c -- emits the steps of every block, in their order (spec execution 2): enter, budget,
 * defs, attempts of (body, parser, spec, expectations), fallback, def, contribute, leave.
 *
 * A block passes more than its value to its neighbours: the variables that it defined, the messages
 * that it added, its role, and whether it may print. These are registers of the fiber (vm/fiber.h).
 * ENTER saves them at the start of a block, and LEAVE restores them; PART_BEGIN and PART_END do so
 * for a part that contributes nothing itself. The compiler places these instructions, because it
 * sees where they are not needed: a plain value in a list needs none of them. What must stay true:
 * each begin has its end on every path through the code; an error skips the ends, so handlers
 * restore what they recorded (vm/blocks/retry.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include <assert.h>

#include "lang/walk.h"

#include "base/banned.h"

void pdl_emit_set_loc(pdl_emit *e, pdl_loc loc) { pdl_emit_at_site(e, NULL, NULL, loc); }

pdl_loc pdl_emit_field_loc(const pdl_block *b, const char *key) { return pdl_field_loc(b, key); }

void pdl_emit_trace_field(pdl_emit *e, const char *key) { pdl_emit_trace_case(e, key, 0); }

void pdl_emit_trace_case(pdl_emit *e, const char *key, uint32_t number) {
    if (!e->trace) return;
    pdl_field_info *field = pdl_arena_new(e->a, pdl_field_info);
    *field = (pdl_field_info){key, number};
    emit_TRACE_FIELD(e, field);
}

/* Returns true when there can be another attempt. `retry: 0` allows no other attempt; it only gives
 * the first attempt a number. */
static bool retries(const pdl_retry *r) { return r && (r->is_object || r->count); }

/* Returns true when a value is an expression that may call a function. */
static bool may_call(const pdl_tree *t) {
    if (!t || t->kind != PDL_TREE_EXPR) return false;
    pdl_str source = t->text->source;
    return source.n && memchr(source.p, '(', source.n);
}

/* Sets *found when another attempt at b may print another text: b contains a model, code or a read,
 * or may reach one of these through a function, a call in an expression, or another file. */
static void find_changing(void *user, const pdl_block *b) {
    bool *found = user;
    if (*found || !b) return;
    *found = b->kind == PDL_BLOCK_model || b->kind == PDL_BLOCK_call ||
             b->kind == PDL_BLOCK_include || b->kind == PDL_BLOCK_code ||
             b->kind == PDL_BLOCK_read ||
             (b->kind == PDL_BLOCK_scalar && may_call(PDL_AS(scalar, b)->value)) ||
             (b->kind == PDL_BLOCK_data && may_call(PDL_AS(data, b)->data));
    if (!*found) pdl_block_each_child(b, find_changing, user);
}

/* Returns true when `spec` may refuse the output of the block. The type `string` refuses neither
 * the result of a list under `text` nor that of a model, because both are texts. With a parser the
 * output is printed after it was accepted. */
static bool is_checked(const pdl_block *b) {
    const pdl_type *t = b->rare->spec.type;
    if (!t || b->rare->parser) return false;
    bool gives_text = b->kind == PDL_BLOCK_text || b->kind == PDL_BLOCK_model;
    bool is_string = pdl_type_kind_of(t) == PDL_TYPE_base && pdl_type_base_of(t) == PDL_BASE_string;
    return !(gives_text && is_string);
}

/* Returns true when the output of the block waits until it is accepted, since it may be refused.
 * Before another attempt or a fallback, output that is the same in each attempt need not wait, as
 * in the conformance kit. A fallback alone refuses nothing, so its text follows the earlier output.
 * An unmet expectation is no failure, so output does not wait for expectations. */
static bool is_refusable(const pdl_block *b) {
    bool changes = false, checked = is_checked(b);
    if (!retries(b->rare->retry) && !checked) return false;
    if (!retries(b->rare->retry) && !b->rare->fallback) return true;
    find_changing(&changes, b);
    return changes;
}

/* Returns true when `contribute` gives the block another result. */
static bool is_replaced(const pdl_block *b) {
    for (uint32_t i = 0; i < b->contribute.n; i++) {
        const pdl_contribute *c = &b->contribute.p[i];
        if (c->target == PDL_TO_RESULT && c->value) return true;
    }
    return false;
}

static pdl_blockinfo *info_of(pdl_emit *e, const pdl_block *b, pdl_pos pos) {
    pdl_blockinfo *i = pdl_arena_new(e->a, pdl_blockinfo);
    i->block = b;
    i->seg = pos.seg;
    i->index = pos.index;
    if (pos.name.p) i->name = pdl_emit_segment(e, pos.name);
    if (b->rare->role.s.p) {
        emit_place here_place = {e->site, e->start, e->end};
        i->role = pdl_text(b->rare->role.s);
        pdl_emit_add_const(e, i->role); /* the constant table owns the constant */
        pdl_emit_at_place(e, here_place);
    } else {
        i->role = pdl_absent();
    }
    i->no_result = b->contribute.given && !b->contribute.result;
    i->adds_no_messages = b->contribute.given && !b->contribute.context;
    i->no_context = pos.no_context || i->adds_no_messages;
    i->has_parser = b->rare->parser != NULL;
    i->is_replaced = is_replaced(b);
    i->leaf = !pdl_block_is_structured(b->kind);
    i->has_retry = b->rare->retry != NULL;
    i->has_handler = retries(b->rare->retry) || b->rare->fallback || b->rare->expectations.n;
    i->is_refusable = is_refusable(b);
    i->kind = pdl_block_trace_name(b->kind);
    return i;
}

/* Emits one entry of defs. The entry prints nothing. Its result is bound to the name, and the
 * variables that its block defines are dropped. */
static void emit_definition(pdl_emit *e, const pdl_blocks *defs, uint32_t i) {
    pdl_str name = defs->names[i];
    emit_PART_BEGIN(e, true);
    pdl_emit_block(e, defs->p[i],
                   (pdl_pos){
                       .seg = PDL_SEG_DEFS,
                       .name = name,
                       .no_context = true,
                       .def_name = name,
                   });
    emit_PART_END(e);
    emit_SURVIVED(e);
    if (pdl_str_is(name, "pdl_context"))
        emit_SET_CONTEXT(e);
    else
        emit_BIND(e, pdl_emit_intern(e, name));
}

static void field_defs(pdl_emit *e, const pdl_block *b) {
    for (uint32_t i = 0; i < b->rare->defs.n; i++) emit_definition(e, &b->rare->defs, i);
}

void pdl_emit_record(pdl_emit *e, pdl_record record, const void *base) {
    assert(base);
    size_t n;
    const pdl_record_part *parts = pdl_record_parts(record, &n);
    for (size_t i = 0; i < n; i++) {
        const pdl_tree *tree = pdl_record_part_at(base, &parts[i]);
        if (parts[i].type == PDL_RT_NOTE) continue;
        if (tree)
            pdl_emit_tree(e, tree);
        else
            pdl_emit_const(e, pdl_record_default(record, parts[i].key));
    }
}

static void field_budget(pdl_emit *e, const pdl_block *b) {
    if (!b->rare->budget) return;
    pdl_emit_set_loc(e, b->rare->budget->loc);
    pdl_emit_record(e, PDL_RECORD_budget, b->rare->budget);
    emit_BUDGET(e);
}

static void field_retry(pdl_emit *e, const pdl_block *b) {
    const pdl_retry *r = b->rare->retry;
    if (!r) {
        if (b->rare->expectations.n || b->rare->fallback) emit_RETRY_INIT(e, 0);
        return;
    }
    pdl_emit_set_loc(e, b->loc);
    if (!r->is_object) {
        pdl_emit_const(e, pdl_int(r->count));
        emit_RETRY_INIT(e, 1);
        return;
    }
    pdl_emit_record(e, PDL_RECORD_retry, r);
    emit_RETRY_INIT(e, 6);
}

/* Emits stdlib.expectations.feedback. */
static void emit_default_feedback(pdl_emit *e) {
    emit_NAME(e, pdl_emit_intern(e, PDL_STR("stdlib")));
    pdl_emit_attr(e, PDL_STR("expectations"));
    pdl_emit_attr(e, PDL_STR("feedback"));
}

static void emit_expectations(pdl_emit *e, const pdl_block *b, uint32_t attempt) {
    for (uint32_t i = 0; i < b->rare->expectations.n; i++) {
        const pdl_expectation *x = &b->rare->expectations.p[i];
        pdl_emit_set_loc(e, x->loc);
        pdl_emit_tree(e, x->expect);
        if (x->feedback)
            pdl_emit_tree(e, x->feedback);
        else if (x->feedback_block)
            pdl_emit_value_of(e, x->feedback_block,
                              (pdl_pos){
                                  .seg = PDL_SEG_NAME,
                                  .name = PDL_STR("feedback"),
                                  .no_context = true,
                              });
        else
            emit_default_feedback(e);
        emit_EXPECT(e);
        emit_EXPECT_DONE(e);
    }
    if (!b->rare->expectations.n) return;
    uint32_t met = emit_EXPECT_RETRY(e, PDL_LATER);
    emit_AWAIT(e);
    emit_EXPECT_AGAIN(e, attempt);
    pdl_emit_patch(e, met);
}

static void field_def(pdl_emit *e, const pdl_block *b) {
    if (!b->def.s.p) return;
    pdl_emit_set_loc(e, b->def.loc);
    emit_BIND_KEEP(e, pdl_emit_intern(e, b->def.s));
}

static void field_contribute(pdl_emit *e, const pdl_block *b) {
    for (uint32_t i = 0; i < b->contribute.n; i++) {
        const pdl_contribute *c = &b->contribute.p[i];
        bool plain = c->target == PDL_TO_RESULT || c->target == PDL_TO_CONTEXT;
        if (plain && !c->value) continue;
        pdl_emit_set_loc(e, c->loc);
        if (c->value) pdl_emit_tree(e, c->value);
        emit_CONTRIBUTE(e, c->value != NULL, c);
    }
}

/* Emits `endorse`: its check reads the result of the block as the variable pdl_value. */
static void emit_endorse(pdl_emit *e, const pdl_block *b) {
    const pdl_endorse_field *endorse = b->rare->endorse;
    if (!endorse) return;
    pdl_emit_set_loc(e, endorse->loc);
    emit_AWAIT(e);
    emit_PART_BEGIN(e, true);
    emit_BIND_KEEP(e, pdl_emit_intern(e, PDL_STR("pdl_value")));
    pdl_emit_record(e, PDL_RECORD_endorse, endorse);
    emit_PART_END(e);
    pdl_emit_set_loc(e, endorse->loc);
    emit_ENDORSE(e);
    emit_AWAIT(e);
    emit_ENDORSED(e);
}

static void emit_parse_check(pdl_emit *e, const pdl_block *b) {
    if (b->rare->parser) {
        pdl_emit_set_loc(e, b->rare->parser->loc);
        emit_PARSE(e, b);
    }
    if (b->rare->spec.type && b->kind != PDL_BLOCK_function) {
        pdl_emit_set_loc(e, b->rare->spec.loc);
        emit_CHECK(e, false, b);
    }
    emit_endorse(e, b);
}

/* Emits the printing of a value once it was accepted by `spec` and by the expectations. */
static void emit_show(pdl_emit *e, const pdl_blockinfo *info) {
    if (info->is_replaced || (!info->has_parser && !info->silent)) return;
    emit_UNMUTE(e);
    emit_EMIT(e, false);
}

static void emit_fallback(pdl_emit *e, const pdl_block *b, const pdl_blockinfo *info) {
    if (info->is_replaced) emit_MUTE(e);
    pdl_emit_block(e, b->rare->fallback,
                   (pdl_pos){
                       .seg = PDL_SEG_NAME,
                       .name = PDL_STR("fallback"),
                       .no_context = info->no_context,
                   });
    if (!info->leaf) emit_CHILD(e);
    if (b->rare->spec.type) {
        pdl_emit_set_loc(e, b->rare->fallback->loc);
        emit_CHECK(e, true, b);
        emit_AWAIT(e);
    }
    emit_CATCH_END(e);
}

static void emit_attempts(pdl_emit *e, const pdl_block *b, pdl_blockinfo *info, pdl_pos pos) {
    if (!info->has_handler) {
        pdl_emit_body(e, b, info, pos);
        pdl_emit_trace_field(e, "pdl__result");
        emit_parse_check(e, b);
        emit_show(e, info);
        return;
    }
    uint32_t attempt = pdl_emit_next_index(e);
    uint32_t handler = emit_TRY(e, PDL_LATER);
    pdl_emit_body(e, b, info, pos);
    pdl_emit_trace_field(e, "pdl__result");
    emit_parse_check(e, b);
    pdl_emit_set_loc(e, b->loc);
    emit_AWAIT(e);
    emit_expectations(e, b, attempt);
    emit_show(e, info);
    emit_TRY_END(e);
    uint32_t done = emit_JUMP(e, PDL_LATER);
    pdl_emit_patch(e, handler);
    pdl_emit_set_loc(e, b->loc);
    uint32_t give_up = b->rare->fallback ? emit_CATCH_FALLBACK(e, PDL_LATER) : emit_CATCH(e);
    emit_AWAIT(e);
    emit_RETRY_AGAIN(e, attempt);
    if (b->rare->fallback) {
        pdl_emit_patch(e, give_up);
        emit_fallback(e, b, info);
    }
    pdl_emit_patch(e, done);
}

/* The common fields that are emitted before and after the body, in the order of common.def: each
 * row BEFORE or AFTER needs a function field_MEMBER above. */
#define NEVER(member)
#define WITHIN(member)
static void emit_fields_before(pdl_emit *e, const pdl_block *b) {
#define BEFORE(member) field_##member(e, b);
#define AFTER(member)
#define C(where, part, member, key, type, when, doc) when(member)
#include "lang/common.def"
#undef BEFORE
#undef AFTER
}

static void emit_fields_after(pdl_emit *e, const pdl_block *b) {
#define BEFORE(member)
#define AFTER(member)                                field_##member(e, b);
#define C(where, part, member, key, type, when, doc) when(member)
#include "lang/common.def"
#undef BEFORE
#undef AFTER
}

/* Emits a plain value, which makes a message and output, but no record of a block. */
static void emit_plain(pdl_emit *e, const pdl_block *b, pdl_blockinfo *info) {
    pdl_emit_tree(e, PDL_AS(scalar, b)->value);
    emit_MESSAGE(e, info->no_context ? PDL_MESSAGE_SILENT : PDL_MESSAGE_PLAIN, info);
    emit_EMIT(e, false);
}

void pdl_emit_block(pdl_emit *e, const pdl_block *b, pdl_pos pos) {
    emit_place old = {e->site, e->start, e->end};
    pdl_blockinfo *info = info_of(e, b, pos);
    pdl_emit_set_loc(e, b->loc);
    if (b->kind == PDL_BLOCK_scalar && !e->trace) {
        emit_plain(e, b, info);
        pdl_emit_at_place(e, old);
        return;
    }
    info->silent = pdl_block_silences_parts(b);
    emit_ENTER(e, info);
    emit_fields_before(e, b);
    if (info->is_refusable) emit_HOLD(e);
    if (info->silent || info->has_parser || info->is_replaced) emit_MUTE(e);
    pdl_emit_set_loc(e, b->loc);
    emit_attempts(e, b, info, pos);
    if (info->is_refusable) emit_RELEASE(e);
    emit_fields_after(e, b);
    pdl_emit_set_loc(e, b->loc);
    if (info->is_replaced) {
        emit_UNMUTE(e);
        emit_EMIT(e, false);
    }
    if (info->no_result) emit_DISCARD_RESULT(e);
    emit_LEAVE(e);
    pdl_emit_at_place(e, old);
}

void pdl_emit_value_of(pdl_emit *e, const pdl_block *b, pdl_pos pos) {
    emit_PART_BEGIN(e, true);
    pdl_emit_block(e, b, pos);
    emit_PART_END(e);
}
