/* emit_data.c -- trees of data whose strings are expressions, and the small leaf blocks. A tree
 * without expressions is one constant; in any other tree each string is evaluated and the
 * containers are built around the values. The exhaustive switch over the kinds of blocks is here,
 * too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "compile/emit.h"

#include "lang/tool_server_program.h"

#include "base/banned.h"

/* Emits a tree. The C stack is as deep as the YAML source, which the reader bounds. */
void pdl_emit_tree(pdl_emit *e, const pdl_tree *t) {
    switch (t->kind) {
    case PDL_TREE_CONST: pdl_emit_const(e, pdl_keep(t->value)); return;
    case PDL_TREE_EXPR: pdl_emit_expr(e, pdl_tree_expr(t), t->node, t->loc); return;
    case PDL_TREE_LIST:
        for (uint32_t i = 0; i < t->n; i++) pdl_emit_tree(e, t->items[i]);
        emit_LIST(e, t->n);
        return;
    case PDL_TREE_MAP:
        for (uint32_t i = 0; i < t->n; i++) {
            pdl_emit_tree(e, t->keys[i]);
            pdl_emit_tree(e, t->items[i]);
        }
        emit_DICT(e, t->n);
        return;
    }
}

void pdl_emit_tree_at(pdl_emit *e, const pdl_tree *t, pdl_loc loc) {
    if (t->kind == PDL_TREE_EXPR) {
        pdl_emit_expr(e, pdl_tree_expr(t), t->node, loc);
    } else if (t->kind == PDL_TREE_LIST) {
        for (uint32_t i = 0; i < t->n; i++) pdl_emit_tree_at(e, t->items[i], loc);
        emit_LIST(e, t->n);
    } else {
        pdl_emit_tree(e, t);
    }
}

static void emit_or_default(pdl_emit *e, const pdl_tree *t, pdl_val dflt) {
    if (t) {
        pdl_emit_tree(e, t);
        pdl_drop(dflt);
    } else {
        pdl_emit_const(e, dflt);
    }
}

void pdl_emit_read(pdl_emit *e, const pdl_b_read *b, const pdl_blockinfo *info) {
    if (b->path) {
        pdl_emit_tree(e, b->path);
        pdl_emit_trace_field(e, "read");
        emit_READ_FILE(e, b);
    } else {
        emit_INPUT(e, b);
    }
    emit_AWAIT(e);
    emit_READ_END(e, b);
    emit_MESSAGE(e, info->no_context ? PDL_MESSAGE_SILENT : PDL_MESSAGE_PLAIN, NULL);
    emit_EMIT(e, false);
}

void pdl_emit_message(pdl_emit *e, const pdl_b_message *b) {
    emit_PART_BEGIN(e, false);
    pdl_emit_block(e, b->content,
                   (pdl_pos){.seg = PDL_SEG_NAME, .name = PDL_STR("content"), .no_context = true});
    emit_PART_END(e);
    emit_or_default(e, b->name, pdl_null());
    emit_or_default(e, b->tool_call_id, pdl_null());
    emit_or_default(e, b->tool_calls, pdl_null());
    emit_TO_MESSAGE(e);
}

void pdl_emit_aggregator(pdl_emit *e, const pdl_b_aggregator *b) {
    const pdl_agg *g = b->aggregator;
    if (!g->is_file) {
        emit_AGGREGATOR(e, false);
        return;
    }
    pdl_emit_record(e, PDL_RECORD_aggregator, g);
    emit_AGGREGATOR(e, true);
}

/* Returns the text of `get` as an expression: `${ TEXT }`. */
static const pdl_expr *get_expr(pdl_emit *e, pdl_str text) {
    static const pdl_xnames names = {0};
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "${ %.*s }", PDL_FMT(text));
    const pdl_expr *x = pdl_expr_read(e->a, pdl_buf_str(&b), &names);
    pdl_buf_fini(&b);
    return x;
}

static void emit_get(pdl_emit *e, const pdl_b_get *b, const pdl_blockinfo *info) {
    pdl_emit_expr(e, get_expr(e, b->get.s), NULL, b->get.loc);
    emit_MESSAGE(e, info->no_context ? PDL_MESSAGE_SILENT : PDL_MESSAGE_UNPLACED, NULL);
    emit_EMIT(e, false);
}

static void emit_data_block(pdl_emit *e, const pdl_b_data *b, const pdl_blockinfo *info) {
    pdl_emit_tree(e, b->data);
    if (!b->raw.value) pdl_emit_trace_field(e, "data");
    emit_MESSAGE(e, info->no_context ? PDL_MESSAGE_SILENT : PDL_MESSAGE_UNPLACED, NULL);
    emit_EMIT(e, false);
}

/* A run that ignores factors does not evaluate them (spec execution 11.2). */
static void emit_factor(pdl_emit *e, const pdl_b_factor *b) {
    emit_FACTOR_COUNTS(e);
    uint32_t skipped = emit_JUMP_FALSE(e, PDL_LATER);
    pdl_emit_tree(e, b->factor);
    pdl_emit_trace_field(e, "factor");
    emit_FACTOR(e, b);
    uint32_t end = emit_JUMP(e, PDL_LATER);
    pdl_emit_patch(e, skipped);
    emit_FACTOR_SKIPPED(e);
    pdl_emit_patch(e, end);
}

static void emit_scalar(pdl_emit *e, const pdl_b_scalar *b, const pdl_blockinfo *info) {
    pdl_emit_tree(e, b->value);
    pdl_emit_trace_field(e, "data");
    emit_MESSAGE(e, info->no_context ? PDL_MESSAGE_SILENT : PDL_MESSAGE_PLAIN, NULL);
    emit_EMIT(e, false);
}

static void emit_object(pdl_emit *e, const pdl_b_object *b, pdl_blockinfo *info) {
    if (!b->fields.is_map) {
        pdl_join join = {.kind = PDL_JOIN_OBJECT, .loc = pdl_field_loc(&b->head, "object")};
        pdl_emit_list_body(e, &b->fields, info, &join);
        return;
    }
    for (uint32_t i = 0; i < b->fields.n; i++) {
        pdl_emit_text(e, b->fields.names[i]);
        pdl_emit_block(e, b->fields.p[i],
                       (pdl_pos){.seg = PDL_SEG_NAME, .name = b->fields.names[i]});
        emit_CHILD(e);
    }
    emit_DICT(e, b->fields.n);
}

/* Emits the search for the file in the first n places, one after the other. Pushes its path and its
 * text. */
static void emit_source(pdl_emit *e, const pdl_block *b, uint32_t n) {
    uint32_t found[PDL_FILE_PLACES];
    for (uint32_t i = 0; i < n; i++) {
        emit_SOURCE(e, (pdl_file_place)i, b);
        emit_AWAIT(e);
        found[i] = emit_SOURCE_FOUND(e, PDL_LATER);
    }
    emit_SOURCE_MISSING(e, b);
    for (uint32_t i = 0; i < n; i++) pdl_emit_patch(e, found[i]);
}

static void emit_include(pdl_emit *e, const pdl_block *b) {
    emit_source(e, b, PDL_IN_PATH);
    emit_INCLUDE(e, b);
    emit_CHILD(e);
}

static void emit_import(pdl_emit *e, const pdl_block *b) {
    bool tools = pdl_str_starts(PDL_AS(import, b)->path.s, PDL_STR(PDL_TOOLS_PREFIX));
    if (tools) {
        emit_TOOL_LIST(e, b);
        emit_AWAIT(e);
        emit_TOOL_MODULE(e, b);
    } else {
        emit_source(e, b, PDL_FILE_PLACES);
        emit_MODULE(e);
    }
    uint32_t known = emit_IMPORT_KNOWN(e, PDL_LATER);
    if (tools)
        pdl_emit_const(e, pdl_absent());
    else
        emit_STDLIB(e);
    emit_IMPORT(e, b);
    /* IMPORT_KNOWN jumps over this instruction, because the first import has printed the object */
    emit_EMIT(e, false);
    pdl_emit_patch(e, known);
}

static const pdl_join lastof_join = {.kind = PDL_JOIN_LASTOF},
                      array_join = {.kind = PDL_JOIN_ARRAY}, text_join = {.kind = PDL_JOIN_TEXT};

/* Emits the body of a block by its kind. This is the exhaustive switch of the compiler. */
void pdl_emit_body(pdl_emit *e, const pdl_block *b, pdl_blockinfo *info, pdl_pos pos) {
    switch (b->kind) {
    case PDL_BLOCK_text: pdl_emit_list_body(e, &PDL_AS(text, b)->items, info, &text_join); return;
    case PDL_BLOCK_lastOf:
        pdl_emit_list_body(e, &PDL_AS(lastOf, b)->items, info, &lastof_join);
        return;
    case PDL_BLOCK_array:
        pdl_emit_list_body(e, &PDL_AS(array, b)->items, info, &array_join);
        return;
    case PDL_BLOCK_object: emit_object(e, PDL_AS(object, b), info); return;
    case PDL_BLOCK_sequence:
        pdl_emit_list_body(e, &PDL_AS(sequence, b)->items, info, PDL_AS(sequence, b)->join);
        return;
    case PDL_BLOCK_if: pdl_emit_if(e, PDL_AS(if, b), info); return;
    case PDL_BLOCK_match: pdl_emit_match(e, PDL_AS(match, b), info); return;
    case PDL_BLOCK_repeat: pdl_emit_repeat(e, PDL_AS(repeat, b), info); return;
    case PDL_BLOCK_map: pdl_emit_map(e, PDL_AS(map, b), info); return;
    case PDL_BLOCK_include: emit_include(e, b); return;
    case PDL_BLOCK_import: emit_import(e, b); return;
    case PDL_BLOCK_function: pdl_emit_function(e, PDL_AS(function, b), pos); return;
    case PDL_BLOCK_call: pdl_emit_call(e, PDL_AS(call, b)); return;
    case PDL_BLOCK_model: pdl_emit_model(e, PDL_AS(model, b)); return;
    case PDL_BLOCK_code: pdl_emit_code(e, PDL_AS(code, b), info); return;
    case PDL_BLOCK_get: emit_get(e, PDL_AS(get, b), info); return;
    case PDL_BLOCK_data: emit_data_block(e, PDL_AS(data, b), info); return;
    case PDL_BLOCK_message: pdl_emit_message(e, PDL_AS(message, b)); return;
    case PDL_BLOCK_read: pdl_emit_read(e, PDL_AS(read, b), info); return;
    case PDL_BLOCK_factor: emit_factor(e, PDL_AS(factor, b)); return;
    case PDL_BLOCK_aggregator: pdl_emit_aggregator(e, PDL_AS(aggregator, b)); return;
    case PDL_BLOCK_error:
        emit_ERROR(e, pdl_emit_add_const(e, pdl_text(PDL_AS(error, b)->msg.s)));
        return;
    case PDL_BLOCK_empty: pdl_emit_text(e, PDL_STR("")); return;
    case PDL_BLOCK_scalar: emit_scalar(e, PDL_AS(scalar, b), info); return;
    case PDL_BLOCK_COUNT: break;
    }
    PDL_BUG("block kind %d", (int)b->kind);
}
