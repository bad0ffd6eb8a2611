/* runs.h -- the folder of durable runs: names, paths, and an index that can always be made
 * again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RUNS_H
#define PDL_JOURNAL_RUNS_H

#include "journal/durable.h"

/* Returns the first of these that is known: $PDL_RUNS, $XDG_STATE_HOME/pdl/runs,
 * ~/.local/state/pdl/runs. Makes the folder when it does not exist. Owned. Errors: usage (the
 * folder cannot be made), config (none of these variables is set). */
PDL_MUST bool pdl_runs_folder(char **out, pdl_err *err);
/* Finds the folder of runs without making it. Returns false when it does not exist. *out is
 * owned. */
bool pdl_runs_folder_there(char **out);
/* Returns true when id has 1 to 100 characters, which are letters, digits or . _ -, and begins with
 * neither . nor -. */
bool pdl_runs_is_id(pdl_str id);
/* Makes a new id from the time and random digits. */
void pdl_runs_make_id(char out[40]);
/* Returns the path FOLDER/ID.journal. Owned. */
char *pdl_runs_path(const char *folder, pdl_str id);

/* Returns the journal of an id or of a file (a name that has a slash or exists). Owned. Errors:
 * usage (the name is neither an id nor a file, or there is no such run), io, those of the folder.
 */
PDL_MUST bool pdl_runs_find(pdl_str name, char **out, pdl_err *err);

/* Callbacks for the runs of a folder. */
typedef struct pdl_runs_use {
    /* Receives the runs until it returns false. The id of a run is the name of its file. */
    bool (*run)(void *user, pdl_str path, const pdl_durable_summary *s);
    /* Receives a journal that this version cannot read, and the reason. When the function is NULL,
     * such a journal is left out. */
    void (*unreadable)(void *user, pdl_str path, const char *why);
    void *user;
} pdl_runs_use;
/* Lists every run of the folder, newest first. A run that was killed before its first row has only
 * its name. Error: io. */
PDL_MUST bool pdl_runs_each(const char *folder, const pdl_runs_use *use, pdl_err *err);
/* Returns the entry of a run in a list of runs, in the form that programs get: a dict, owned. Times
 * are seconds, or null when there is none. */
pdl_val pdl_runs_summary(const pdl_durable_summary *s);
/* Updates the index after a run, so that a list of runs need not read the journal. Failures are
 * ignored. */
void pdl_runs_note(const char *folder, pdl_str path);

#endif
