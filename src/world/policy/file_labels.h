/* file_labels.h -- the labels of what a run has written to files, and of what the other runs of the
 * same engine, interactive session or server have left in files. Private to policy.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_POLICY_FILE_LABELS_H
#define PDL_POLICY_FILE_LABELS_H

#include "policy/file_identity.h"
#include "policy/policy.h"

typedef struct file_labels {
    pdl_val written; /* path of a file that a block wrote -> null, with the labels of the values */
    pdl_label in_files;     /* the labels of all these values */
    pdl_label from_files;   /* labels that a file may have because a process may have changed it */
    pdl_label of_tools;     /* labels that a file which has changed may have because of a tool */
    pdl_label in_new_files; /* both, and the origins of the processes */
    file_ways ways;
} file_labels;

/* The files of a run that continues. */
typedef struct run_files {
    file_labels own;
    pdl_policy_files *store;
    pdl_val policies; /* a text that is equal for runs under the same policies */
    struct run_files *next;
} run_files;

/* Adds a run to those whose files the others see, and removes it. The labels of its files stay. */
void pdl_run_files_open(run_files *run, pdl_policy_files *store, pdl_vref policies);
void pdl_run_files_close(run_files *run);

/* Returns the labels that the result of a process may have, because it may have read any file. */
pdl_label pdl_file_labels_of_process(const file_labels *f);
/* Return the labels that a file, a file that becomes a program, and the result of a process have
 * because of all other runs. The path is full; this asks more exactly than the run itself: only a
 * file that has changed since the others began may have the labels of a process. */
pdl_label pdl_run_files_left(const run_files *run, pdl_vref path);
pdl_label pdl_run_files_left_program(const run_files *run, pdl_vref path);
pdl_label pdl_run_files_left_process(const run_files *run);
/* Returns true when another run may have changed any file. */
bool pdl_run_files_any_left(const run_files *run);
/* Returns true when another run may have changed this file. */
bool pdl_run_files_changed(const run_files *run, pdl_str path);

#endif
