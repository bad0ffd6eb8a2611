/* process_labels.h -- the labels that processes of code and tool servers remember
 * (process_labels.c). Private to policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_PROCESS_LABELS_H
#define PDL_POLICY_PROCESS_LABELS_H

#include "base/vec.h"
#include "policy/policy.h"

/* The process that runs the code blocks of one profile. */
typedef struct process_memory {
    pdl_val profiles; /* the sandbox profiles of the effects that run in the process */
    uint32_t number;  /* number of this process among all processes, from 1 */
    uint32_t session; /* incremented whenever code begins a new session */
    pdl_label holds;  /* labels of all values that the process got since its session began */
} process_memory;

/* The labels that runs under the same policies have left in processes: process_labels.c. */
struct pdl_policy_memory {
    pdl_policy_memories *all;
    pdl_val policies; /* the digests of the policies */
    PDL_VEC(process_memory) processes;
    pdl_label in_objects; /* labels of all values that any of the processes got */
    /* tool server -> null, which has the labels of the values that the server got */
    pdl_val servers;
    uint32_t n_users;
    bool continues; /* the run began without a policy, so its processes have no numbers */
};
bool pdl_policy_memory_ok(const pdl_policy_memory *m);
/* Returns the labels of files that the runs of m and others have left; borrowed. */
pdl_policy_files *pdl_policy_memory_files(const pdl_policy_memory *m);
/* Returns the index of the process that performs e, and writes the numbers of the process into e.
 * When e begins a new session, the number of the session is new. */
size_t pdl_policy_process_of(pdl_policy_memory *m, pdl_effect *e);
/* Adds the label to those of a tool server. Returns all labels of the server. */
pdl_label pdl_policy_server_learns(pdl_policy_memory *m, pdl_vref server, pdl_label label);
/* Adds the label to those of one session of a process. */
void pdl_policy_process_learns(pdl_policy_memory *m, size_t process, uint32_t session,
                               pdl_label label);

#endif
