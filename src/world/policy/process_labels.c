/* process_labels.c -- the labels of all values that processes of code blocks and tool servers have
 * got, for all runs that may share them.
 *
 * A process forgets nothing, so its label is the join of the labels of all values that it got. A
 * process also outlives runs: rows of a batch, requests of a server, and tasks of an engine reach
 * the same process. If each run had its own list, the labels of earlier runs would be lost. So
 * there is one list for all runs that ask the same policies, and this list numbers the processes.
 * Each effect of code carries the number of its process, and src/world/worker starts processes by
 * these numbers alone. So the list and the processes that are alive cannot differ, even when a
 * journal between them answers an effect. Runs under other policies have other processes, since a
 * label that one policy names has no meaning in another.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <assert.h>

#include "base/vec.h"
#include "policy/policy_impl.h"

#include "base/banned.h"

struct pdl_policy_memories {
    PDL_VEC(pdl_policy_memory *) all;
    uint32_t n_processes;
    pdl_policy_files *files;
    bool owns_files;
};

enum { MAX_KEPT = 16 }; /* how many lists are kept; the processes of each list may be alive */

/* Returns true when the invariants hold: each label of a process is the label of a value that some
 * process got; the number of each process was given out before. */
bool pdl_policy_memory_ok(const pdl_policy_memory *m) {
    for (size_t i = 0; i < m->processes.n; i++) {
        const process_memory *p = &m->processes.p[i];
        if ((p->holds & ~m->in_objects) || p->number > m->all->n_processes) return false;
    }
    return true;
}

pdl_policy_memories *pdl_policy_memories_new(pdl_policy_files *files) {
    pdl_policy_memories *all = PDL_NEW(pdl_policy_memories);
    all->owns_files = !files;
    all->files = files ? files : pdl_policy_files_new();
    return all;
}

pdl_policy_files *pdl_policy_memory_files(const pdl_policy_memory *m) { return m->all->files; }

static void free_memory(pdl_policy_memory *m) {
    for (size_t i = 0; i < m->processes.n; i++) pdl_drop(m->processes.p[i].profiles);
    pdl_vec_fini(&m->processes);
    pdl_drop(m->policies);
    pdl_drop(m->servers);
    pdl_free(m);
}

void pdl_policy_memories_free(pdl_policy_memories *all) {
    if (!all) return;
    for (size_t i = 0; i < all->all.n; i++) free_memory(all->all.p[i]);
    pdl_vec_fini(&all->all);
    if (all->owns_files) pdl_policy_files_free(all->files);
    pdl_free(all);
}

/* Returns a text that is equal for two sets of the same policies in the same order. The order
 * matters because the names of labels are numbered in this order. */
static pdl_val key_of(const pdl_policies *p) {
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < pdl_policies_count(p); i++)
        pdl_buf_putf(&b, "%.*s%s\n", PDL_FMT(pdl_policies_digest(p, i)),
                     p->all.p[i]->module ? " of a module" : "");
    return pdl_text_of_buf(&b);
}

/* Begins a new session in every process, in which no value was received. */
static void begin_again(pdl_policy_memory *m) {
    for (size_t i = 0; i < m->processes.n; i++) {
        m->processes.p[i].holds = 0;
        m->processes.p[i].session++;
    }
    m->in_objects = 0;
    pdl_drop(m->servers);
    m->servers = pdl_dict_new(0);
}

/* Removes the bits of sources, which belong to one world and have no meaning in others. */
static void forget_sources(pdl_policy_memory *m) {
    for (size_t i = 0; i < m->processes.n; i++)
        m->processes.p[i].holds = pdl_label_elsewhere(m->processes.p[i].holds);
    m->in_objects = pdl_label_elsewhere(m->in_objects);
    pdl_val kept = pdl_dict_new(pdl_dict_len(m->servers));
    for (size_t i = 0; i < pdl_dict_len(m->servers); i++) {
        pdl_label label = pdl_label_elsewhere(pdl_label_of(pdl_dict_val_at(m->servers, i)));
        kept = pdl_dict_put(kept, pdl_keep(pdl_dict_key_at(m->servers, i)),
                            pdl_with_label(pdl_null(), label));
    }
    pdl_drop(m->servers);
    m->servers = kept;
}

/* Returns a list without labels. When there are many lists, returns a list that no run uses, and
 * its processes begin new sessions. Otherwise returns a new list. */
static pdl_policy_memory *take_unused(pdl_policy_memories *all) {
    for (size_t i = 0; all->all.n >= MAX_KEPT && i < all->all.n; i++) {
        pdl_policy_memory *m = all->all.p[i];
        if (m->n_users) continue;
        begin_again(m);
        pdl_drop(m->policies);
        return m;
    }
    pdl_policy_memory *m = PDL_NEW(pdl_policy_memory);
    *pdl_vec_push(&all->all) = m;
    m->all = all;
    m->servers = pdl_dict_new(0);
    return m;
}

pdl_policy_memory *pdl_policy_memory_join(pdl_policy_memories *all, const pdl_policies *p) {
    pdl_val key = key_of(p);
    pdl_policy_memory *m = NULL;
    for (size_t i = 0; i < all->all.n && !m; i++)
        if (pdl_val_eq(all->all.p[i]->policies, key)) m = all->all.p[i];
    if (m) {
        forget_sources(m);
        pdl_drop(key);
    } else {
        m = take_unused(all);
        m->policies = key;
    }
    m->n_users++;
    assert(pdl_policy_memory_ok(m));
    return m;
}

void pdl_policy_memory_leave(pdl_policy_memory *m) {
    if (!m) return;
    assert(m->n_users && pdl_policy_memory_ok(m));
    m->n_users--;
}

size_t pdl_policy_process_of(pdl_policy_memory *m, pdl_effect *e) {
    size_t i = 0;
    bool none = pdl_is_absent(e->sandbox);
    while (i < m->processes.n && (pdl_is_absent(m->processes.p[i].profiles) != none ||
                                  (!none && !pdl_val_eq(m->processes.p[i].profiles, e->sandbox))))
        i++;
    if (i == m->processes.n)
        *pdl_vec_push(&m->processes) = (process_memory){
            .profiles = pdl_keep(e->sandbox), .number = m->continues ? 0 : ++m->all->n_processes};
    process_memory *p = &m->processes.p[i];
    if (pdl_effect_begins_session(e)) {
        p->holds = 0;
        p->session++;
    }
    e->process = p->number;
    e->session = p->session;
    assert(pdl_policy_memory_ok(m));
    return i;
}

void pdl_policy_process_learns(pdl_policy_memory *m, size_t process, uint32_t session,
                               pdl_label label) {
    process_memory *p = &m->processes.p[process];
    if (m->n_users > 1) label = pdl_label_elsewhere(label);
    if (p->session == session) p->holds |= label;
    m->in_objects |= label;
    assert(pdl_policy_memory_ok(m));
}

pdl_label pdl_policy_server_learns(pdl_policy_memory *m, pdl_vref server, pdl_label label) {
    pdl_val key = pdl_relabelled(pdl_keep(server), 0);
    pdl_vref before = pdl_dict_find(m->servers, key);
    if (m->n_users > 1) label = pdl_label_elsewhere(label);
    if (!pdl_is_absent(before)) label |= pdl_label_of(before);
    m->servers = pdl_dict_put(m->servers, key, pdl_with_label(pdl_null(), label));
    return label;
}
