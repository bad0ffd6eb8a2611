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
    /* path of a file that a block wrote -> null, with the labels of the written values */
    pdl_val written;
    pdl_label in_files;   /* the labels of all written values */
    pdl_label from_files; /* labels that a file may have because a process may have changed it */
    /* labels that a changed file may have because a tool may have changed it */
    pdl_label of_tools;
    /* labels that a new file may have: from_files, of_tools, and the origins of what made the
     * file */
    pdl_label in_new_files;
    file_ways ways;
} file_labels;

/* The files of a run that is in progress. */
typedef struct run_files {
    file_labels own;
    pdl_policy_files *store;
    pdl_val policies; /* a text that is equal for runs under the same policies */
    struct run_files *next;
} run_files;

/* pdl_run_files_open adds a run to the runs whose files other runs see, and pdl_run_files_close
 * removes the run. The labels of its files stay. */
void pdl_run_files_open(run_files *run, pdl_policy_files *store, pdl_vref policies);
void pdl_run_files_close(run_files *run);

/* Returns the labels that the result of a process may have, because it may have read any file. */
pdl_label pdl_file_labels_of_process(const file_labels *f);
/* The next three functions return the labels that all other runs may have given to a file, to a
 * file that becomes a program, and to the result of a process. path is an absolute path. A file
 * that has not changed since another run began does not get the labels of the processes of that
 * run. */
pdl_label pdl_run_files_left(const run_files *run, pdl_vref path);
pdl_label pdl_run_files_left_program(const run_files *run, pdl_vref path);
pdl_label pdl_run_files_left_process(const run_files *run);
/* Returns true when another run may have changed any file. */
bool pdl_run_files_any_left(const run_files *run);
/* Returns true when another run may have changed this file. */
bool pdl_run_files_changed(const run_files *run, pdl_str path);

#endif
