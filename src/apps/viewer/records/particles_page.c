/* particles_page.c -- makes the document of a durable inference from its journal. The document has
 * the runs, each with its requests. A place in that journal begins with the name of a run,
 * `particle0`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/num.h"
#include "base/vec.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"
#include "viewer/records/many_runs.h"

#include "base/banned.h"

#define PARTICLE "particle"

/* A run of the program, with its requests. */
typedef struct asking_run {
    pdl_str name;   /* the name is in the arena */
    pdl_val blocks; /* the requests as blocks; owned */
    uint64_t calls;
    pdl_buf last; /* the text of the last answer */
    double start, end;
} asking_run;

struct pdl_view_inference {
    pdl_arena *arena;
    pdl_map numbers; /* name of a run -> 1 + its index */
    PDL_VEC(asking_run) all;
    uint64_t calls;
};

pdl_view_inference *pdl_view_inference_begin(void) {
    pdl_view_inference *x = PDL_NEW(pdl_view_inference);
    x->arena = pdl_arena_make();
    return x;
}

static asking_run *particle_of(pdl_view_inference *x, pdl_str place) {
    pdl_str name = pdl_str_sub(place, 0, pdl_str_find(place, PDL_STR("."), 0));
    if (!pdl_str_starts(name, PDL_STR(PARTICLE))) name = PDL_STR("all runs");
    uintptr_t known = (uintptr_t)pdl_map_find(&x->numbers, name);
    if (known) return &x->all.p[known - 1];
    asking_run *p = pdl_vec_push(&x->all);
    *p = (asking_run){
        .name = pdl_arena_str(x->arena, name), .blocks = pdl_list_new(4), .last = PDL_BUF};
    pdl_map_put(&x->numbers, p->name, (void *)(uintptr_t)x->all.n);
    return p;
}

/* Returns the number with which people count the run, from 1. Returns 0 for the part that all runs
 * share. */
static int64_t number_of(pdl_str name) {
    int64_t i = -1;
    bool is = pdl_str_starts(name, PDL_STR(PARTICLE)) &&
              pdl_num_read_int(pdl_str_sub(name, sizeof PARTICLE - 1, name.n), &i);
    return is ? i + 1 : 0;
}

static pdl_val timing_of(double start, double end) {
    static const double nanos = 1e9;
    pdl_val t = pdl_dict_putz(pdl_dict_new(2), "start_nanos", pdl_int((int64_t)(start * nanos)));
    return pdl_dict_putz(t, "end_nanos", pdl_int((int64_t)(end * nanos)));
}

static int64_t count_of(pdl_vref reply, const char *key) {
    int64_t n = pdl_member_int(pdl_member(reply, "usage"), key, 0);
    return n > 0 ? n : 0;
}

static pdl_val model_block(const pdl_view_asked *a) {
    pdl_val b = pdl_dict_putz(pdl_dict_new(8), "kind", pdl_textz("model"));
    pdl_vref content = pdl_member(a->reply, "content"),
             settings = pdl_member(a->request, "parameters");
    b = pdl_dict_putz(b, "pdl__id", pdl_text(a->place));
    b = pdl_dict_putz(b, "model", pdl_text(pdl_member_str(a->request, "model")));
    if (pdl_is_dict(settings)) b = pdl_dict_putz(b, "parameters", pdl_keep(settings));
    if (pdl_is_list(a->messages)) b = pdl_dict_putz(b, "pdl__model_input", pdl_keep(a->messages));
    if (!pdl_is_absent(content)) b = pdl_dict_putz(b, "pdl__result", pdl_keep(content));
    pdl_val usage = pdl_dict_putz(pdl_dict_new(2), "prompt_tokens",
                                  pdl_int(count_of(a->reply, "prompt_tokens")));
    usage = pdl_dict_putz(usage, "completion_tokens",
                          pdl_int(count_of(a->reply, "completion_tokens")));
    return pdl_dict_putz(b, "pdl__usage", usage);
}

/* Returns a request that is not a model call, as the call of a tool. */
static pdl_val other_block(const pdl_view_asked *a) {
    pdl_val b = pdl_dict_putz(pdl_dict_new(8), "kind", pdl_textz("call"));
    b = pdl_dict_putz(b, "call", pdl_text(a->kind));
    b = pdl_dict_putz(b, "pdl__tool", pdl_text(a->kind));
    b = pdl_dict_putz(b, "pdl__id", pdl_text(a->place));
    if (pdl_is_dict(a->request)) b = pdl_dict_putz(b, "args", pdl_keep(a->request));
    return pdl_is_absent(a->reply) ? b : pdl_dict_putz(b, "pdl__result", pdl_keep(a->reply));
}

void pdl_view_inference_add(pdl_view_inference *x, const pdl_view_asked *a) {
    asking_run *p = particle_of(x, a->place);
    bool is_model = pdl_str_is(a->kind, "model");
    pdl_val b = is_model ? model_block(a) : other_block(a);
    pdl_vref answer = is_model ? pdl_member(a->reply, "content") : a->reply;
    pdl_err ignored = {0};
    p->blocks = pdl_list_push(p->blocks,
                              pdl_dict_putz(b, "pdl__timing", timing_of(a->start, a->end)));
    p->calls += is_model;
    x->calls += is_model;
    if (p->start <= 0 || a->start < p->start) p->start = a->start;
    if (a->end > p->end) p->end = a->end;
    if (pdl_is_absent(answer)) return;
    pdl_buf_clear(&p->last);
    if (!pdl_stringify(answer, &p->last, &ignored)) pdl_err_fini(&ignored);
}

/* Adds the row of a run. Takes the requests of the run. */
static void add_row(pdl_run_table *t, asking_run *p) {
    int64_t number = number_of(p->name);
    pdl_buf name = PDL_BUF;
    if (number)
        pdl_buf_putf(&name, "run %lld", (long long)number);
    else
        pdl_buf_put(&name, p->name);
    pdl_val row = pdl_dict_putz(pdl_dict_new(2), "last answer", pdl_text(pdl_buf_str(&p->last)));
    row = pdl_dict_putz(row, "model calls", pdl_int((int64_t)p->calls));
    pdl_run_table_given(t, PDL_STR("run"), pdl_text(pdl_buf_str(&name)));
    pdl_run_table_add(t, pdl_buf_str(&name), pdl_absent(), (pdl_str){"", 0}, row, p->blocks);
    pdl_run_table_time(t, timing_of(p->start, p->end));
    p->blocks = pdl_absent();
    pdl_buf_fini(&name);
}

bool pdl_view_inference_end(pdl_view_inference *x, pdl_str name, const char *state,
                            pdl_view_run **out, pdl_err *err) {
    pdl_run_table t = pdl_run_table_begin();
    pdl_buf title = PDL_BUF, text = PDL_BUF;
    pdl_buf_putf(&title, "Inference of %.*s", PDL_FMT(name));
    pdl_buf_putf(&text, "%zu runs asked models %llu times. The inference %s.\n", x->all.n,
                 (unsigned long long)x->calls, state);
    for (size_t i = 0; i < x->all.n; i++) add_row(&t, &x->all.p[i]);
    pdl_many_runs m = {name, pdl_buf_str(&title), pdl_buf_str(&text), "runs", false};
    bool ok = pdl_many_runs_new(&m, pdl_run_table_take(&t, "runs"), out, err);
    for (size_t i = 0; i < x->all.n; i++) pdl_buf_fini(&x->all.p[i].last);
    pdl_vec_fini(&x->all);
    pdl_map_fini(&x->numbers);
    pdl_arena_free(x->arena);
    pdl_free(x);
    pdl_buf_fini(&title);
    pdl_buf_fini(&text);
    return ok;
}
