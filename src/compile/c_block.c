/* c_block.c -- what every block does, in order (spec execution 2): enter, budget, defs, attempts of (body, parser,
 * spec, expectations), fallback, def, contribute, leave. */
#include "compile/emit.h"

#include "base/banned.h"

void c_at(pdl_emit *e, pdl_loc loc) {
    at_site(e, NULL, NULL, loc);
}

pdl_loc c_field_loc(const pdl_block *b, const char *key) { return pdl_field_loc(b, key); }

void c_trace_field(pdl_emit *e, const char *key) { c_trace_case(e, key, 0); }

void c_trace_case(pdl_emit *e, const char *key, uint32_t number) {
    if (!e->trace) return;
    pdl_field_info *field = pdl_arena_new(e->a, pdl_field_info);
    *field = (pdl_field_info){key, number};
    emit(e, PDL_OP_TRACE_FIELD, 0, 0, add_ptr(e, field));
}

/* Can there be another attempt? `retry: 0` only numbers the first one. */
static bool retries(const pdl_retry *r) { return r && (r->is_object || r->count); }

static pdl_info *info_of(pdl_emit *e, const pdl_block *b, pdl_pos pos) {
    pdl_info *i = pdl_arena_new(e->a, pdl_info);
    i->block = b;
    i->seg = pos.seg;
    i->index = pos.index;
    if (pos.name.p) i->name = segment(e, pos.name);
    if (b->more->role.s.p) {
        emit_place here_place = {e->site, e->start, e->end};
        i->role = pdl_text(b->more->role.s);
        add_const(e, i->role); /* the constant table owns it */
        at_place(e, here_place);
    } else {
        i->role = pdl_absent();
    }
    i->no_result = b->contribute.given && !b->contribute.result;
    i->untold = b->contribute.given && !b->contribute.context;
    i->no_context = pos.no_context || i->untold;
    i->has_parser = b->more->parser != NULL;
    i->leaf = !pdl_block_is_structured(b->kind);
    i->has_retry = b->more->retry != NULL;
    i->has_handler = retries(b->more->retry) || b->more->fallback || b->more->expectations.n;
    i->kind = pdl_block_trace_name(b->kind);
    return i;
}

/* One entry of defs: silent, its own definitions dropped, its result bound to the name. */
static void c_def(pdl_emit *e, const pdl_blocks *defs, uint32_t i) {
    pdl_str name = defs->names[i];
    emit(e, PDL_OP_SUB_BEGIN, 1, 0, 0);
    c_block(e, defs->p[i], (pdl_pos){
        .seg = PDL_SEG_DEFS, .name = name, .no_context = true, .def_name = name,
    });
    emit(e, PDL_OP_SUB_END, 0, 0, 0);
    if (pdl_str_is(name, "pdl_context")) emit(e, PDL_OP_SET_CONTEXT, 0, 0, 0);
    else emit(e, PDL_OP_BIND, 0, 0, name_of(e, name));
}

static void c_budget(pdl_emit *e, const pdl_budget_field *b) {
    const pdl_tree *parts[] = {b->calls, b->tokens, b->cost, b->seconds};
    c_at(e, b->loc);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        if (parts[i]) c_tree(e, parts[i]);
        else emit_const(e, pdl_absent());
    }
    emit(e, PDL_OP_BUDGET, 0, 0, 0);
}

static void c_retry(pdl_emit *e, const pdl_block *b) {
    const pdl_retry *r = b->more->retry;
    if (!r) {
        if (b->more->expectations.n || b->more->fallback) emit(e, PDL_OP_RETRY_INIT, 0, 0, 0);
        return;
    }
    c_at(e, b->loc);
    if (!r->is_object) {
        emit_const(e, pdl_int(r->count));
        emit(e, PDL_OP_RETRY_INIT, 0, 0, 1);
        return;
    }
    const pdl_tree *fields[] = {r->tries, r->delay, r->max_delay, r->backoff, r->jitter, r->exceptions};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i]) c_tree(e, fields[i]);
        else emit_const(e, pdl_absent());
    }
    emit(e, PDL_OP_RETRY_INIT, 0, 1, 6);
}

/* stdlib.expectations.feedback */
static void c_default_feedback(pdl_emit *e) {
    emit(e, PDL_OP_NAME, 0, 0, name_of(e, PDL_STR("stdlib")));
    emit_attr(e, PDL_STR("expectations"));
    emit_attr(e, PDL_STR("feedback"));
}

static void c_expectations(pdl_emit *e, const pdl_block *b, uint32_t attempt) {
    for (uint32_t i = 0; i < b->more->expectations.n; i++) {
        const pdl_expectation *x = &b->more->expectations.p[i];
        c_at(e, x->loc);
        c_tree(e, x->expect);
        if (x->feedback) c_tree(e, x->feedback);
        else if (x->feedback_block) c_sub(e, x->feedback_block, (pdl_pos){
            .seg = PDL_SEG_NAME, .name = PDL_STR("feedback"), .no_context = true,
        });
        else c_default_feedback(e);
        emit(e, PDL_OP_EXPECT, 0, 0, 0);
        emit(e, PDL_OP_EXPECT_DONE, 0, 0, 0);
    }
    if (!b->more->expectations.n) return;
    uint32_t met = emit_jump(e, PDL_OP_EXPECT_RETRY);
    emit(e, PDL_OP_AWAIT, 0, 0, 0);
    emit(e, PDL_OP_EXPECT_AGAIN, 0, 0, attempt);
    patch(e, met);
}

static void c_contribute(pdl_emit *e, const pdl_block *b) {
    for (uint32_t i = 0; i < b->contribute.n; i++) {
        const pdl_contribute *c = &b->contribute.p[i];
        bool plain = c->target == PDL_TO_RESULT || c->target == PDL_TO_CONTEXT;
        if (plain && !c->value) continue;
        c_at(e, c->loc);
        if (c->value) c_tree(e, c->value);
        emit(e, PDL_OP_CONTRIBUTE, c->value != NULL, 0, add_ptr(e, c));
    }
}

static void c_parse_check(pdl_emit *e, const pdl_block *b, const pdl_info *info) {
    if (b->more->parser) {
        c_at(e, b->more->parser_loc);
        emit(e, PDL_OP_PARSE, 0, 0, add_ptr(e, b));
        emit(e, PDL_OP_LOUD, 0, 0, 0);
        emit(e, PDL_OP_EMIT, 0, 0, 0);
    } else if (info->mute) {
        emit(e, PDL_OP_LOUD, 0, 0, 0);
        emit(e, PDL_OP_EMIT, 0, 0, 0);
    }
    if (b->more->spec && b->kind != PDL_BLOCK_function) {
        c_at(e, b->more->spec_loc);
        emit(e, PDL_OP_CHECK, 0, 0, add_ptr(e, b));
    }
}

static void c_fallback(pdl_emit *e, const pdl_block *b, const pdl_info *info) {
    c_block(e, b->more->fallback, (pdl_pos){
        .seg = PDL_SEG_NAME, .name = PDL_STR("fallback"), .no_context = info->no_context,
    });
    if (!info->leaf) emit(e, PDL_OP_CHILD, 0, 0, 0);
    if (b->more->spec) {
        c_at(e, b->more->fallback->loc);
        emit(e, PDL_OP_CHECK, 1, 0, add_ptr(e, b));
        emit(e, PDL_OP_AWAIT, 0, 0, 0);
    }
    emit(e, PDL_OP_CATCH_END, 0, 0, 0);
}

static void c_attempts(pdl_emit *e, const pdl_block *b, pdl_info *info, pdl_pos pos) {
    if (!info->has_handler) {
        c_body(e, b, info, pos);
        c_trace_field(e, "pdl__result");
        c_parse_check(e, b, info);
        return;
    }
    uint32_t attempt = here(e);
    uint32_t handler = emit_jump(e, PDL_OP_TRY);
    c_body(e, b, info, pos);
    c_trace_field(e, "pdl__result");
    c_parse_check(e, b, info);
    c_at(e, b->loc);
    emit(e, PDL_OP_AWAIT, 0, 0, 0);
    c_expectations(e, b, attempt);
    emit(e, PDL_OP_TRY_END, 0, 0, 0);
    uint32_t done = emit_jump(e, PDL_OP_JUMP);
    patch(e, handler);
    c_at(e, b->loc);
    uint32_t give_up = emit_jump(e, PDL_OP_CATCH);
    e->code->ins.p[give_up].b = b->more->fallback != NULL;
    emit(e, PDL_OP_AWAIT, 0, 0, 0);
    emit(e, PDL_OP_RETRY_AGAIN, 0, 0, attempt);
    patch(e, give_up);
    if (b->more->fallback) c_fallback(e, b, info);
    patch(e, done);
}

static bool mutes_parts(const pdl_block *b) {
    switch ((int)b->kind) {
    case PDL_BLOCK_array: case PDL_BLOCK_object: case PDL_BLOCK_map: return true;
    case PDL_BLOCK_repeat: {
        const pdl_join *j = PDL_AS(repeat, b)->join;
        return j && j->kind != PDL_JOIN_TEXT;
    }
    case PDL_BLOCK_sequence: {
        pdl_join_kind k = PDL_AS(sequence, b)->join->kind;
        return k != PDL_JOIN_TEXT && k != PDL_JOIN_LASTOF;
    }
    default: return false;
    }
}

/* A plain value in a list: no record of its own, only its message and its printing. */
static void c_plain(pdl_emit *e, const pdl_block *b, pdl_info *info) {
    c_tree(e, PDL_AS(scalar, b)->value);
    emit(e, PDL_OP_MESSAGE, info->no_context ? 2 : 0, 0, add_ptr(e, info) + 1);
    emit(e, PDL_OP_EMIT, 2, 0, 0);
}

void c_block(pdl_emit *e, const pdl_block *b, pdl_pos pos) {
    emit_place old = {e->site, e->start, e->end};
    pdl_info *info = info_of(e, b, pos);
    c_at(e, b->loc);
    if (b->kind == PDL_BLOCK_scalar && !e->trace) {
        c_plain(e, b, info);
        at_place(e, old);
        return;
    }
    info->mute = mutes_parts(b);
    emit(e, PDL_OP_ENTER, 0, 0, add_ptr(e, info));
    if (b->more->budget) c_budget(e, b->more->budget);
    for (uint32_t i = 0; i < b->more->defs.n; i++) c_def(e, &b->more->defs, i);
    c_retry(e, b);
    if (info->mute || info->has_parser) emit(e, PDL_OP_QUIET, 0, 0, 0);
    c_at(e, b->loc);
    c_attempts(e, b, info, pos);
    if (b->def.s.p) {
        c_at(e, b->def.loc);
        emit(e, PDL_OP_BIND_KEEP, 0, 0, name_of(e, b->def.s));
    }
    c_contribute(e, b);
    c_at(e, b->loc);
    if (info->no_result) emit(e, PDL_OP_RESULT_NONE, 0, 0, 0);
    emit(e, PDL_OP_LEAVE, 0, 0, 0);
    at_place(e, old);
}

void c_sub(pdl_emit *e, const pdl_block *b, pdl_pos pos) {
    emit(e, PDL_OP_SUB_BEGIN, 1, 0, 0);
    c_block(e, b, pos);
    emit(e, PDL_OP_SUB_END, 0, 0, 0);
}
