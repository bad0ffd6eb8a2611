/* particles_page.c -- makes the document of a durable inference from its journal. The document has
 * the runs, each with its requests. When the inference has ended, the runs are rows of the tables
 * below the values of its distribution.
 *
 * A place in that journal begins with a lineage, such as `particle0`, or `round2.particle0` after
 * two rounds of resampling. So the requests of a run are those of several lineages: its own, and
 * those of the runs that it is a copy of. Copies share requests, and only the first of these runs
 * shows them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/arena.h"
#include "base/map.h"
#include "base/nanos.h"
#include "base/num.h"
#include "base/vec.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/member.h"
#include "value/text.h"
#include "viewer/records/many_runs.h"

#include "base/banned.h"

#define PARTICLE "particle"
#define SHARED   "all runs" /* the name of the part that all runs share */

/* A run of the program, with its requests. */
typedef struct asking_run {
    pdl_str name;   /* the name is in the arena */
    pdl_val blocks; /* the requests as blocks; owned */
    uint64_t calls;
    pdl_buf last; /* the text of the last answer */
    double start, end;
    size_t owner; /* the run of the distribution that has shown the requests, from 1; or 0 */
} asking_run;

struct pdl_view_inference {
    pdl_arena *arena;
    pdl_map numbers; /* name of a run -> 1 + its index */
    PDL_VEC(asking_run) all;
    uint64_t calls;
    /* the lineages of the runs of the distribution; absent when there is no distribution */
    pdl_val lineages;
};

pdl_view_inference *pdl_view_inference_begin(void) {
    pdl_view_inference *x = PDL_NEW(pdl_view_inference);
    x->arena = pdl_arena_make();
    x->lineages = pdl_absent();
    return x;
}

/* Returns the number in a part of a place, such as 2 in "round2"; -1 when the part has another
 * form. */
static int64_t number_in(pdl_str part, const char *word) {
    int64_t n = -1;
    pdl_str before = pdl_str_of(word);
    bool is =
        pdl_str_starts(part, before) && pdl_num_read_int(pdl_str_sub(part, before.n, part.n), &n);
    return is ? n : -1;
}

/* Returns the first part of a place, up to a dot, when it belongs to a lineage, such as "round2";
 * otherwise an empty text. */
static pdl_str lineage_part(pdl_str place) {
    pdl_str part = pdl_str_sub(place, 0, pdl_str_find(place, PDL_STR("."), 0));
    bool is = number_in(part, "round") >= 0 || number_in(part, PARTICLE) >= 0 ||
              number_in(part, "try") >= 0;
    return is ? part : (pdl_str){"", 0};
}

/* Returns the part of a place that names the lineage, such as "round2.particle0"; SHARED when the
 * place names none. */
static pdl_str lineage_of(pdl_str place) {
    size_t n = 0;
    for (pdl_str part; n <= place.n; n += part.n + 1) {
        part = lineage_part(pdl_str_sub(place, n, place.n));
        if (!part.n) break;
    }
    return n ? pdl_str_sub(place, 0, n - 1) : PDL_STR(SHARED);
}

static asking_run *find_run(const pdl_view_inference *x, pdl_str name) {
    uintptr_t known = (uintptr_t)pdl_map_find(&x->numbers, name);
    return known ? &x->all.p[known - 1] : NULL;
}

static asking_run *particle_of(pdl_view_inference *x, pdl_str place) {
    pdl_str name = lineage_of(place);
    uintptr_t known = (uintptr_t)pdl_map_find(&x->numbers, name);
    if (known) return &x->all.p[known - 1];
    asking_run *p = pdl_vec_push(&x->all);
    *p = (asking_run){
        .name = pdl_arena_str(x->arena, name), .blocks = pdl_list_new(4), .last = PDL_BUF};
    pdl_map_put(&x->numbers, p->name, (void *)(uintptr_t)x->all.n);
    return p;
}

/* Appends the name of a run for people, who count from 1: "run 4 of round 2, try 3" for
 * "round2.particle3.try2". */
static void put_name(pdl_str name, pdl_buf *out) {
    int64_t round = 0, number = -1, try = 0;
    pdl_str rest = name;
    while (rest.n) {
        pdl_str part = pdl_str_take(&rest, PDL_STR("."));
        if (pdl_str_starts(part, PDL_STR("round"))) round = number_in(part, "round");
        if (pdl_str_starts(part, PDL_STR(PARTICLE))) number = number_in(part, PARTICLE);
        if (pdl_str_starts(part, PDL_STR("try"))) try = number_in(part, "try");
    }
    if (number < 0) {
        pdl_buf_put(out, name);
        return;
    }
    pdl_buf_putf(out, "run %lld", (long long)number + 1);
    if (round) pdl_buf_putf(out, " of round %lld", (long long)round);
    if (try) pdl_buf_putf(out, ", try %lld", (long long)try + 1);
}

static pdl_val timing_of(double start, double end) {
    pdl_val t = pdl_dict_putz(pdl_dict_new(2), "start_nanos", pdl_int(pdl_nanos_of(start)));
    return pdl_dict_putz(t, "end_nanos", pdl_int(pdl_nanos_of(end)));
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
    usage =
        pdl_dict_putz(usage, "completion_tokens", pdl_int(count_of(a->reply, "completion_tokens")));
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
    p->blocks =
        pdl_list_push(p->blocks, pdl_dict_putz(b, "pdl__timing", timing_of(a->start, a->end)));
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
    pdl_buf name = PDL_BUF;
    put_name(p->name, &name);
    pdl_val row = pdl_dict_putz(pdl_dict_new(2), "last answer", pdl_text(pdl_buf_str(&p->last)));
    row = pdl_dict_putz(row, "model calls", pdl_int((int64_t)p->calls));
    pdl_run_table_given(t, PDL_STR("run"), pdl_text(pdl_buf_str(&name)));
    pdl_run_table_add(t, pdl_buf_str(&name), pdl_absent(), (pdl_str){"", 0}, row, p->blocks);
    pdl_run_table_time(t, timing_of(p->start, p->end));
    p->blocks = pdl_absent();
    pdl_buf_fini(&name);
}

/* --- with its distribution -------------------------------------------------------------------- */

/* Appends the requests of one part of a lineage to those of run number `run`. Requests that an
 * earlier run has shown are not repeated: *as gets the number of that run, counted from 1. */
static void take_requests(asking_run *p, size_t run, pdl_val *asked, int64_t *calls, size_t *as) {
    if (p->owner && p->owner != run + 1) *as = p->owner;
    if (p->owner) return;
    p->owner = run + 1;
    *calls += (int64_t)p->calls;
    for (size_t i = 0; i < pdl_list_len(p->blocks); i++)
        *asked = pdl_list_push(*asked, pdl_keep(pdl_list_at(p->blocks, i)));
}

static pdl_val requests_of(void *user, size_t run, pdl_val *row) {
    pdl_view_inference *x = user;
    bool has = run < pdl_list_len(x->lineages);
    pdl_vref lineage = has ? pdl_list_at(x->lineages, run) : pdl_absent();
    pdl_val asked = pdl_list_new(4);
    size_t as = 0, n = pdl_is_list(lineage) ? pdl_list_len(lineage) : 0;
    int64_t calls = 0;
    asking_run *shared = find_run(x, PDL_STR(SHARED));
    bool may_begin_as_other = shared || n > 1;
    if (shared) take_requests(shared, run, &asked, &calls, &as);
    while (n--) {
        pdl_vref name = pdl_list_at(lineage, n);
        asking_run *p = pdl_is_str(name) ? find_run(x, pdl_str_get(name)) : NULL;
        if (p) take_requests(p, run, &asked, &calls, &as);
    }
    *row = pdl_dict_putz(*row, "model calls", pdl_int(calls));
    if (may_begin_as_other) {
        pdl_buf begins = PDL_BUF;
        if (as) pdl_buf_putf(&begins, "run %zu", as);
        *row = pdl_dict_putz(*row, "begins as", pdl_text(pdl_buf_str(&begins)));
        pdl_buf_fini(&begins);
    }
    return asked;
}

/* Adds a row for the runs without a result, which failed or were replaced by copies of others. */
static void add_rest(void *user, pdl_run_table *t) {
    pdl_view_inference *x = user;
    pdl_run_table runs = pdl_run_table_begin();
    int64_t n = 0;
    for (size_t i = 0; i < x->all.n; i++) {
        if (x->all.p[i].owner) continue;
        add_row(&runs, &x->all.p[i]);
        n++;
    }
    pdl_val table = pdl_run_table_take(&runs, "runs");
    pdl_val row = pdl_dict_putz(pdl_dict_new(3), "value", pdl_textz("no result"));
    row = pdl_dict_putz(row, "runs", pdl_int(n));
    if (n)
        pdl_run_table_add(t, PDL_STR("value"), pdl_absent(), PDL_STR("no result"), row, table);
    else
        pdl_drop(row), pdl_drop(table);
}

bool pdl_view_inference_end(pdl_view_inference *x, const pdl_view_ended *e, pdl_view_run **out,
                            pdl_err *err) {
    pdl_buf title = PDL_BUF, text = PDL_BUF;
    bool ok;
    pdl_buf_putf(&title, "Inference of %.*s", PDL_FMT(e->name));
    if (pdl_is_distribution(e->result) && pdl_is_list(pdl_member(e->result, "lineages"))) {
        x->lineages = pdl_keep(pdl_member(e->result, "lineages"));
        ok = pdl_distribution_page(e->result,
                                   &(pdl_distribution_parts){.file = e->name,
                                                             .title = pdl_buf_str(&title),
                                                             .requests = requests_of,
                                                             .rest = add_rest,
                                                             .user = x},
                                   out, err);
    } else {
        pdl_run_table t = pdl_run_table_begin();
        pdl_put_counted("", x->all.n, " runs asked models ", &text);
        pdl_put_counted("", x->calls, " times. The inference ", &text);
        pdl_buf_putf(&text, "%s.\n", e->state);
        for (size_t i = 0; i < x->all.n; i++) add_row(&t, &x->all.p[i]);
        pdl_many_runs m = {e->name, pdl_buf_str(&title), pdl_buf_str(&text), "runs", false, 0};
        ok = pdl_many_runs_new(&m, pdl_run_table_take(&t, "runs"), out, err);
    }
    for (size_t i = 0; i < x->all.n; i++) pdl_drop(x->all.p[i].blocks);
    pdl_drop(x->lineages);
    for (size_t i = 0; i < x->all.n; i++) pdl_buf_fini(&x->all.p[i].last);
    pdl_vec_fini(&x->all);
    pdl_map_fini(&x->numbers);
    pdl_arena_free(x->arena);
    pdl_free(x);
    pdl_buf_fini(&title);
    pdl_buf_fini(&text);
    return ok;
}
