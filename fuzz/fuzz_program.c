/* fuzz_program.c -- a whole program, in a world that computes its answers from the questions
 * (world.h). Properties: the program is refused with problems, or two runs of it have equal
 * results, output, traces and effects. One run gets its replies at once, and the other gets them
 * late and in reverse order.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "machine.h"
#include "world.h"

#include "lang/program.h"
#include "trace/fold.h"

/* The observable facts about a run. */
typedef struct told {
    bool over, done; /* over: the run ended in time; done: it ended without an error */
    pdl_buf result, output, trace, effects;
} told;

static void listen(void *user, const pdl_event *e) {
    told *t = user;
    if (e->kind == PDL_EVENT_text || e->kind == PDL_EVENT_out || e->kind == PDL_EVENT_note) {
        pdl_buf_putf(&t->output, "%u:", e->kind == PDL_EVENT_out ? e->number : 1);
        pdl_buf_put(&t->output, e->text);
    }
}

static pdl_step run_for_a_while(pdl_run *r, pdl_world *w) {
    pdl_step s = PDL_STEP_WAIT;
    for (int turns = 0, polls = 0; turns < FUZZ_TURNS && polls < 1000 && s == PDL_STEP_WAIT;
         polls++) {
        s = pdl_run_step(r);
        if (s != PDL_STEP_WAIT) break;
        if (pdl_run_is_ready(r))
            turns++;
        else if (!w->ops->poll(w, 0))
            break;
    }
    return s;
}

static void run_once(pdl_program *p, bool later, told *t) {
    fuzz_world world = {.base = {&fuzz_world_ops}, .later = later};
    pdl_interner *names = pdl_interner_new();
    pdl_code *code = pdl_compile_program(p, names, true);
    pdl_fold *fold = pdl_fold_new(p, NULL, NULL);
    pdl_fold_whole(fold); /* which block a list of messages names depends on the order of replies */
    pdl_run_options opt = {
        .names = names, .world = &world.base, .build = fuzz_build, .build_user = names};
    pdl_sinks_add(&opt.sinks, (pdl_sink){t, listen, false});
    pdl_sinks_add(&opt.sinks, pdl_fold_sink(fold));
    pdl_run *r = pdl_run_new(&opt);
    pdl_run_start(r, code, pdl_absent());
    pdl_step s = run_for_a_while(r, &world.base);
    pdl_err err = {0};
    t->over = s != PDL_STEP_WAIT;
    t->done = s == PDL_STEP_DONE;
    if (t->done && !pdl_val_repr(pdl_run_result(r), &t->result, &err)) pdl_err_fini(&err);
    if (s == PDL_STEP_FAIL) pdl_buf_put(&t->result, pdl_str_of(pdl_run_error(r)->msg));
    if (t->over && !pdl_fold_json(fold, &t->trace, &err)) pdl_err_fini(&err);
    pdl_run_free(r);
    fuzz_world_asked(&world, &t->effects);
    fuzz_world_fini(&world);
    pdl_fold_free(fold);
    pdl_code_drop(code);
    pdl_interner_drop(names);
}

static void told_fini(told *t) {
    pdl_buf_fini(&t->result);
    pdl_buf_fini(&t->output);
    pdl_buf_fini(&t->trace);
    pdl_buf_fini(&t->effects);
}

static bool same(const pdl_buf *a, const pdl_buf *b) {
    return pdl_str_eq(pdl_buf_str(a), pdl_buf_str(b));
}

/* Less is compared in two cases: closures and objects are shown with their addresses, and an error
 * ends calls that have begun already. */
static void compare(const told *a, const told *b) {
    FUZZ_MUST(a->done == b->done);
    if (pdl_str_find(pdl_buf_str(&a->result), PDL_STR(" at 0x"), 0) != PDL_NOT_FOUND) return;
    FUZZ_MUST(same(&a->result, &b->result));
    FUZZ_MUST(same(&a->output, &b->output));
    if (!a->done) return;
    FUZZ_MUST(same(&a->trace, &b->trace));
    FUZZ_MUST(same(&a->effects, &b->effects));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 1 << 16) return 0;
    pdl_buf text = fuzz_text(data, size);
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, PDL_STR(""), pdl_buf_str(&text), &ok);
    if (ok) {
        told a = {.result = PDL_BUF, .output = PDL_BUF, .trace = PDL_BUF, .effects = PDL_BUF},
             b = a;
        run_once(p, false, &a);
        if (a.over) {
            run_once(p, true, &b);
            if (b.over) compare(&a, &b);
        }
        told_fini(&a);
        told_fini(&b);
    }
    pdl_program_drop(p);
    pdl_buf_fini(&text);
    return 0;
}
