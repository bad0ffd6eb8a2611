/* call_table.c -- writes the table of model calls; see call_table.h. A person looks for the slow
 * and the expensive calls, so the calls are sorted by any column, and the tools around them are
 * listed for the strip.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "viewer/reading/call_table.h"

#include <stdlib.h>

#include "base/utf8.h"
#include "value/json_put.h"
#include "value/text.h"
#include "viewer/box_json.h"
#include "viewer/reading/printing.h"

#include "base/banned.h"

enum { NANOS_PER_MICRO = 1000, SHORT = 120, MAX_TOOLS = 400 };

static pdl_vref usage_of(const pdl_box *b) { return pdl_box_get(b, "pdl__usage"); }

static double cost_of(const pdl_box *b) {
    pdl_vref usage = usage_of(b);
    pdl_vref cost = pdl_is_dict(usage) ? pdl_dict_getz(usage, "cost") : pdl_absent();
    return pdl_is(cost, PDL_V_FLOAT) ? pdl_float_of(cost) : 0;
}

void pdl_put_usage(const pdl_box *b, pdl_buf *out) {
    int64_t in = pdl_usage_count(usage_of(b), "prompt_tokens"),
            made = pdl_usage_count(usage_of(b), "completion_tokens");
    if (in) pdl_json_put_int(out, "tokens_in", in);
    if (made) pdl_json_put_int(out, "tokens_out", made);
    if (cost_of(b) > 0) pdl_json_put_value(out, "cost", pdl_dict_getz(usage_of(b), "cost"));
}

int64_t pdl_call_network(const pdl_reading *r, uint32_t box) {
    const pdl_box *b = &r->doc->boxes.p[box];
    if (!b->start || b->end <= b->start) return 0;
    return b->end - b->start - pdl_doc_waited(r->doc, box);
}

/* Returns the tool that contains the box, or else the variable; empty when there is neither. */
static pdl_str who_called(const pdl_reading *r, uint32_t box) {
    pdl_str variable = {0};
    for (uint32_t i = box;; i = r->doc->boxes.p[i].parent) {
        const pdl_box *b = &r->doc->boxes.p[i];
        if (pdl_box_tool(b).n) return pdl_box_tool(b);
        pdl_str name = pdl_box_variable(b);
        if (name.n && !pdl_box_is_kind(b, "function")) variable = name;
        if (!i) return variable;
    }
}

static void put_moment(const pdl_reading *r, const char *name, int64_t at, pdl_buf *out) {
    int64_t zero = r->digests[0].start;
    if (zero && at >= zero) pdl_json_put_int(out, name, (at - zero) / NANOS_PER_MICRO);
}

static void put_line(const pdl_reading *r, uint32_t number, pdl_buf *out) {
    uint32_t box = r->by_number[number - 1];
    const pdl_box *b = &r->doc->boxes.p[box];
    pdl_vref model = pdl_box_get(b, "model");
    pdl_buf reply = PDL_BUF, text = PDL_BUF;
    int64_t waited = pdl_doc_waited(r->doc, box), took = pdl_call_network(r, box);
    if (pdl_is_dict(model)) model = pdl_dict_getz(model, "pdl__result");
    pdl_box_print(r->doc, box, &reply);
    pdl_put_unescaped(pdl_utf8_cut(pdl_buf_str(&reply), SHORT), &text);
    pdl_json_open(out, '{');
    pdl_json_put_int(out, "call", number);
    pdl_json_put_int(out, "box", box);
    if (who_called(r, box).n) pdl_json_put_text(out, "who", who_called(r, box));
    if (pdl_is_str(model)) pdl_json_put_text(out, "model", pdl_utf8_cut(pdl_str_get(model), SHORT));
    pdl_json_put_text(out, "text", pdl_buf_str(&text));
    if (b->start) put_moment(r, "start", b->start, out);
    if (b->state != PDL_BOX_RUNNING && b->end >= b->start) put_moment(r, "end", b->end, out);
    if (b->state != PDL_BOX_RUNNING && took > 0)
        pdl_json_put_int(out, "took", took / NANOS_PER_MICRO);
    if (waited) pdl_json_put_int(out, "waited", waited / NANOS_PER_MICRO);
    pdl_put_usage(b, out);
    if (b->state == PDL_BOX_RUNNING) pdl_json_put_text(out, "state", PDL_STR("running"));
    if (b->state == PDL_BOX_FAILED) pdl_json_put_text(out, "state", PDL_STR("failed"));
    pdl_buf_putc(out, '}');
    pdl_buf_fini(&reply);
    pdl_buf_fini(&text);
}

/* --- order ------------------------------------------------------------------------------------ */

typedef struct sorted_call {
    double key;
    uint32_t number;
} sorted_call;

static int by_key(const void *a, const void *b) {
    const sorted_call *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? 1 : -1;
    return (x->number > y->number) - (x->number < y->number);
}

static double key_of(const pdl_reading *r, uint32_t box, pdl_str sort) {
    const pdl_box *b = &r->doc->boxes.p[box];
    if (pdl_str_is(sort, "took") || pdl_str_is(sort, "time"))
        return (double)pdl_call_network(r, box);
    if (pdl_str_is(sort, "waited")) return (double)pdl_doc_waited(r->doc, box);
    if (pdl_str_is(sort, "tokens")) return (double)pdl_usage_tokens(usage_of(b));
    if (pdl_str_is(sort, "tokens_in")) return (double)pdl_usage_count(usage_of(b), "prompt_tokens");
    if (pdl_str_is(sort, "tokens_out"))
        return (double)pdl_usage_count(usage_of(b), "completion_tokens");
    if (pdl_str_is(sort, "cost")) return cost_of(b);
    return 0;
}

static void put_tools(const pdl_reading *r, pdl_buf *out) {
    size_t n = 0;
    pdl_json_put_key(out, "tools");
    pdl_json_open(out, '[');
    for (uint32_t i = 0; r->n_calls && i < r->doc->boxes.n && n < MAX_TOOLS; i++) {
        const pdl_box *b = &r->doc->boxes.p[i];
        if (!pdl_box_tool(b).n || !b->start || b->end <= b->start) continue;
        n++;
        pdl_json_open(out, '{');
        pdl_json_put_text(out, "name", pdl_utf8_cut(pdl_box_tool(b), SHORT));
        put_moment(r, "start", b->start, out);
        put_moment(r, "end", b->end, out);
        pdl_buf_putc(out, '}');
    }
    pdl_buf_putc(out, ']');
}

void pdl_call_table(const pdl_reading *r, pdl_str sort, uint32_t n, pdl_buf *out) {
    PDL_VEC(sorted_call) calls = {0};
    for (uint32_t i = 0; i < r->n_calls; i++)
        *pdl_vec_push(&calls) = (sorted_call){key_of(r, r->by_number[i], sort), i + 1};
    if (calls.n) qsort(calls.p, calls.n, sizeof *calls.p, by_key);
    pdl_json_open(out, '{');
    pdl_json_put_key(out, "items");
    pdl_json_open(out, '[');
    for (size_t i = 0; i < calls.n && i < n; i++) put_line(r, calls.p[i].number, out);
    pdl_buf_putc(out, ']');
    put_tools(r, out);
    pdl_json_put_int(out, "total", r->n_calls);
    pdl_buf_putc(out, '}');
    pdl_vec_fini(&calls);
}
