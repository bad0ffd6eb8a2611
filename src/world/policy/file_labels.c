/* file_labels.c -- labels of files, between runs; see file_labels.h.
 *
 * Files outlive runs. Runs under the same policies see all labels that the others have left. Runs
 * under other policies have the same files, but see only the labels whose meaning no policy
 * decides. Labels of files are stored without their bits of sources, because such a bit means
 * another source in another run.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/file_labels.h"

#include "base/vec.h"

#include "base/banned.h"

/* labels that ended runs under the same policies have left */
typedef struct ended_files {
    pdl_val policies;
    file_labels files;
} ended_files;

struct pdl_policy_files {
    file_labels any; /* labels that all ended runs have left */
    PDL_VEC(ended_files) ended;
    run_files *running;
};

enum { MAX_ENDED = 64 }; /* sets of policies with their own labels; further sets see only `any` */

/* labels that mean the same under all policies, and labels that mean the same under equal
 * policies */
static const pdl_label common = ((pdl_label)1 << PDL_LABEL_NAMED_BIT) - 1,
                       every = (pdl_label)PDL_LABEL_ORIGINS;

static void init(file_labels *f) {
    *f = (file_labels){.written = pdl_dict_new(0)};
    pdl_ways_init(&f->ways);
}

static void fini(file_labels *f) {
    pdl_drop(f->written);
    pdl_ways_fini(&f->ways);
}

pdl_policy_files *pdl_policy_files_new(void) {
    pdl_policy_files *store = PDL_NEW(pdl_policy_files);
    init(&store->any);
    return store;
}

void pdl_policy_files_free(pdl_policy_files *store) {
    if (!store) return;
    for (size_t i = 0; i < store->ended.n; i++) {
        pdl_drop(store->ended.p[i].policies);
        fini(&store->ended.p[i].files);
    }
    pdl_vec_fini(&store->ended);
    fini(&store->any);
    pdl_free(store);
}

static const file_labels *find(const pdl_policy_files *store, pdl_vref policies) {
    for (size_t i = 0; i < store->ended.n; i++)
        if (pdl_val_eq(store->ended.p[i].policies, policies)) return &store->ended.p[i].files;
    return NULL;
}

void pdl_run_files_open(run_files *run, pdl_policy_files *store, pdl_vref policies) {
    *run = (run_files){.store = store, .policies = pdl_keep(policies), .next = store->running};
    init(&run->own);
    store->running = run;
    if (find(store, policies) || store->ended.n == MAX_ENDED) return;
    ended_files *e = pdl_vec_push(&store->ended);
    *e = (ended_files){.policies = pdl_keep(policies)};
    init(&e->files); /* called now, because the run has not changed a file yet */
}

static pdl_label abroad(pdl_label l, pdl_label known) {
    return pdl_label_elsewhere(l & ~(every & ~known));
}

static void join(file_labels *f, const file_labels *run, pdl_label known) {
    for (size_t i = 0; i < pdl_dict_len(run->written); i++) {
        pdl_vref path = pdl_dict_key_at(run->written, i), before = pdl_dict_find(f->written, path);
        pdl_label label = abroad(pdl_label_of(pdl_dict_val_at(run->written, i)), known);
        if (!pdl_is_absent(before)) label |= pdl_label_of(before);
        f->written = pdl_dict_put(f->written, pdl_keep(path), pdl_with_label(pdl_null(), label));
    }
    f->in_files |= abroad(run->in_files, known);
    f->from_files |= abroad(run->from_files, known);
    f->of_tools |= abroad(run->of_tools, known);
    f->in_new_files |= abroad(run->in_new_files, known);
    if (pdl_is_absent(f->ways.folders) && !pdl_is_absent(run->ways.folders))
        f->ways.folders = pdl_keep(run->ways.folders);
}

void pdl_run_files_close(run_files *run) {
    pdl_policy_files *store = run->store;
    run_files **at = &store->running;
    while (*at != run) at = &(*at)->next;
    *at = run->next;
    for (size_t i = 0; i < store->ended.n; i++)
        if (pdl_val_eq(store->ended.p[i].policies, run->policies))
            join(&store->ended.p[i].files, &run->own, every);
    join(&store->any, &run->own, common);
    fini(&run->own);
    pdl_drop(run->policies);
}

/* --- the labels of a file --------------------------------------------------------------------- */

/* Returns the labels of a file: those that blocks gave it, and those of processes if it has
 * changed. */
static pdl_label label_of(const file_labels *f, pdl_vref path, pdl_label of_processes) {
    pdl_vref here = pdl_dict_find(f->written, path);
    pdl_label label = pdl_is_absent(here) ? 0 : pdl_label_of(here);
    bool asks = (of_processes | label) != label;
    return asks && pdl_ways_changed(&f->ways, pdl_str_get(path)) ? label | of_processes : label;
}

static pdl_label of_file(const file_labels *f, pdl_vref path) {
    return label_of(f, path, f->from_files | f->of_tools);
}

static pdl_label of_program(const file_labels *f, pdl_vref path) {
    return label_of(f, path, f->in_new_files);
}

static pdl_label of_process(const file_labels *f, pdl_vref path) {
    (void)path;
    return pdl_file_labels_of_process(f);
}

static pdl_label of_any(const file_labels *f, pdl_vref path) {
    (void)path;
    return f->in_files | f->in_new_files;
}

pdl_label pdl_file_labels_of_process(const file_labels *f) { return f->in_files | f->from_files; }

/* Joins the labels that all other runs give to a file. of: returns the labels that one run gives to
 * the file. */
static pdl_label of_others(const run_files *run, pdl_vref path,
                           pdl_label (*of)(const file_labels *f, pdl_vref path)) {
    const pdl_policy_files *store = run->store;
    const file_labels *same = find(store, run->policies);
    pdl_label label = of(&store->any, path) | (same ? of(same, path) : 0);
    for (const run_files *r = store->running; r; r = r->next) {
        pdl_label known = pdl_val_eq(r->policies, run->policies) ? every : common;
        if (r != run) label |= abroad(of(&r->own, path), known);
    }
    return label;
}

pdl_label pdl_run_files_left(const run_files *run, pdl_vref path) {
    return of_others(run, path, of_file);
}

pdl_label pdl_run_files_left_program(const run_files *run, pdl_vref path) {
    return of_others(run, path, of_program);
}

pdl_label pdl_run_files_left_process(const run_files *run) {
    return of_others(run, pdl_absent(), of_process);
}

bool pdl_run_files_any_left(const run_files *run) {
    return of_others(run, pdl_absent(), of_any) != 0;
}

bool pdl_run_files_changed(const run_files *run, pdl_str path) {
    return pdl_run_files_any_left(run) && pdl_ways_changed(&run->store->any.ways, path);
}
