/* runs.h -- the folder of durable runs: names, paths, and an index that can always be made again.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_JOURNAL_RUNS_H
#define PDL_JOURNAL_RUNS_H

#include "journal/durable.h"

/* $PDL_RUNS, else $XDG_STATE_HOME/pdl/runs, else ~/.local/state/pdl/runs, made when it is not
 * there. Owned. Errors: io, config (none of these is set). */
PDL_MUST bool pdl_runs_folder(char **out, pdl_err *err);
/* Finds that folder without making it. Returns false when it is not there. Owned. */
bool pdl_runs_folder_there(char **out);
/* Letters, digits and ._- , not beginning with . or -. */
bool pdl_runs_is_id(pdl_str id);
/* A new id: when, and some chance. */
void pdl_runs_make_id(char out[40]);
/* FOLDER/ID.journal. Owned. */
char *pdl_runs_path(const char *folder, pdl_str id);

/* Path of the journal of an id, or of a file: what has a slash in it or is there. Owned. Errors:
 * usage (neither), runtime (there is no such run), those of the folder. */
PDL_MUST bool pdl_runs_find(pdl_str name, char **out, pdl_err *err);

/* Callbacks for the runs of a folder. */
typedef struct pdl_runs_use {
    /* Until it returns false. Its id is the name of its file. */
    bool (*run)(void *user, pdl_str path, const pdl_durable_summary *s);
    /* A journal that this version cannot read, and why. NULL: it is left out. */
    void (*unreadable)(void *user, pdl_str path, const char *why);
    void *user;
} pdl_runs_use;
/* Every run of the folder, newest first; one that was killed before its first row has only its
 * name. Error: io. */
PDL_MUST bool pdl_runs_each(const char *folder, const pdl_runs_use *use, pdl_err *err);
/* Reports to the index what became of a run, so that listing need not look: best effort. */
void pdl_runs_note(const char *folder, pdl_str path);

#endif
