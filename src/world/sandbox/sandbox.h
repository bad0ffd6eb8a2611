/* sandbox.h -- takes rights away from processes: code workers, commands, tool servers, and
 * everything that they start (spec trust 1).
 *
 * A process is confined before it starts, by a helper: the command `pdl` itself, called as `pdl
 * __confine SPEC COMMAND...`. The helper makes namespaces, by bubblewrap or with direct system
 * calls, then drops its rights (Landlock, seccomp, limits) and executes the command. So the engine
 * has only one way to start processes, and a list of the processes of the machine shows how each
 * one is confined.
 *
 * A sandbox is never weaker than requested: if a machine cannot enforce it, the run is refused
 * before anything is started.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SANDBOX_SANDBOX_H
#define PDL_SANDBOX_SANDBOX_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"

/* FULL means namespaces for mounts, network, processes and IPC, and everything in PROCESS. PROCESS
 * means Landlock, seccomp and limits: other processes stay visible, and `net:` is not possible. */
typedef enum { PDL_SANDBOX_FULL, PDL_SANDBOX_PROCESS } pdl_sandbox_strength;

/* A profile that this machine can enforce. Only pdl_sandbox_keep changes it. */
typedef struct pdl_sandbox pdl_sandbox;

typedef struct pdl_sandbox_options {
    pdl_str profile; /* "code", or the name of a file; an empty text means "code" */
    /* dict: the `sandbox:` of a policy, applied over the profile; may be absent */
    pdl_vref given;
    bool process_is_enough; /* set by --sandbox-min process */
    /* name of the given profile in messages; when it is empty, messages say "sandbox" */
    pdl_str given_name;
    /* folder to which the paths of `given` are relative; when it is empty, they are relative to
     * `dir` */
    pdl_str given_dir;
    pdl_str dir; /* folder of the program, which the sandbox shows for reading */
    /* Files to be masked, such as journals and caches; NULL-terminated. Devices, pipes and folders
     * that have the program or the working folder in them stay visible. */
    const char *const *mask;
    /* Files that decide about the run: policies, profiles, prices. In folders that code may write,
     * code can read these files but not change them. NULL-terminated; may be NULL. */
    const char *const *keep;
    /* Returns a variable of the environment. The folders of the Python that the environment names
     * (PDL_PYTHON, VIRTUAL_ENV, PATH) are shown. */
    const char *(*env)(void *user, const char *name);
    void *user;
    const char *helper; /* path of the command `pdl` itself */
} pdl_sandbox_options;

/* Returns the profile that a value of PDL_SANDBOX requests: "code" for "1", otherwise the value, a
 * name or a file. The result is empty when the value is NULL, "" or "0", which request no profile.
 * Borrows the value. */
pdl_str pdl_sandbox_named(const char *value);

/* Reads a profile: an empty dict for "code" or "", otherwise a file, whose paths are relative to
 * the file's folder. *out is owned, also after an error. Errors: usage, schema, syntax, io. */
PDL_MUST bool pdl_sandbox_profile(pdl_str name, pdl_val *out, pdl_err *err);

/* Makes a sandbox. Errors: policy (the machine cannot enforce it, with the reason), schema (all
 * mistakes of the profile), usage, syntax, io. note gets a text about what a strength below FULL
 * lacks, about paths of the profile that do not exist, and about files of runs that stay
 * visible. */
PDL_MUST bool pdl_sandbox_new(const pdl_sandbox_options *opt, pdl_sandbox **out, pdl_buf *note,
                              pdl_err *err);
void pdl_sandbox_free(pdl_sandbox *s); /* s may be NULL */

/* Adds a file to the files that processes started from now on cannot change. */
void pdl_sandbox_keep(pdl_sandbox *s, const char *path);

/* Makes a sandbox by applying the profile of a block (a dict) to s. The profile may only take
 * rights away. Errors: schema (also when the profile grants more), policy (too many files to
 * hide). */
PDL_MUST bool pdl_sandbox_narrow(const pdl_sandbox *s, pdl_vref given, pdl_sandbox **out,
                                 pdl_err *err);
/* Makes a sandbox by applying to s the profile of a tool server in the user's configuration, which
 * may add rights. The paths in the profile are relative to folder. Errors: as for
 * pdl_sandbox_narrow. */
PDL_MUST bool pdl_sandbox_widen(const pdl_sandbox *s, pdl_vref given, pdl_str folder,
                                pdl_sandbox **out, pdl_err *err);
/* Returns a text that is equal for equal sandboxes. Borrowed. */
const char *pdl_sandbox_key(const pdl_sandbox *s);

/* Returns the command to start instead of argv (NULL-terminated, borrowed; s and argv own the
 * strings of the result). The caller frees the array. */
const char **pdl_sandbox_argv(const pdl_sandbox *s, const char *const *argv);
/* Returns the environment that the command sees: NULL-terminated "NAME=value". */
const char *const *pdl_sandbox_env(const pdl_sandbox *s);
/* Returns the environment with which the result of pdl_sandbox_argv is started, so that the command
 * sees env. The helper runs with all rights, so variables for the command, such as LD_PRELOAD, must
 * not affect the helper. The result is one allocation, which the caller frees. */
const char **pdl_sandbox_wrap_env(const char *const *env);

/* Returns true when path is inside folder, as it is written and after its links are followed. path
 * need not exist. Returns false when folder is "/" or does not exist. */
bool pdl_path_stays_in(const char *path, const char *folder);

/* These functions return true when confined code may read this path, write it, or reach this
 * address, through the engine. */
bool pdl_sandbox_may_read(const pdl_sandbox *s, const char *path);
bool pdl_sandbox_may_write(const pdl_sandbox *s, const char *path);
bool pdl_sandbox_may_reach(const pdl_sandbox *s, pdl_str url);
/* Opens a file for the engine itself. When path is in a folder that confined code may write, no
 * link may lead out of that folder, because code may have made the link for the engine to follow.
 * Returns -1 and errno on failure. *other is set when path is in no such folder; then the caller
 * opens it as usual. */
int pdl_sandbox_open(const pdl_sandbox *s, const char *path, int flags, unsigned mode, bool *other);
/* Opens a file for confined code that may read path, or write it. The place to which the path leads
 * is found once, judged and opened. Links are not read a second time, because the code could
 * exchange them in between. Returns -1 and errno on failure: EACCES when the code may not read or
 * write the place. */
int pdl_sandbox_open_for_code(const pdl_sandbox *s, const char *path, int flags, unsigned mode);
/* Appends a line about the folders that code may write. It lists new files in them that programs
 * run at their start, and the folders that cannot be searched. Appends nothing when there are none.
 * This is slow, because it reads all these folders again. */
void pdl_sandbox_planted(const pdl_sandbox *s, pdl_buf *note);
/* Returns true when a process in the sandbox can leave nothing after its end: it has no folder to
 * write and no network. */
bool pdl_sandbox_is_closed(const pdl_sandbox *s);
/* Returns true when the sandbox is closed and, in addition, other processes cannot see its
 * temporary files. */
bool pdl_sandbox_is_sealed(const pdl_sandbox *s);
/* returns 0 when the profile sets no limit of time */
double pdl_sandbox_seconds(const pdl_sandbox *s);

/* The reasons for which the helper ends when the command did not end by itself. A command may end
 * with any status, so the helper then ends by a signal that no program uses. A helper that is
 * called as a shell (PDL_SANDBOX_AS_SHELL) ends with these numbers as its status. */
typedef enum {
    PDL_SANDBOX_ENDED = 0, /* the command ended, and the helper ended in the same way */
    /* the sandbox could not be made: the reason is on standard error */
    PDL_SANDBOX_SETUP = 119,
    PDL_SANDBOX_PROCESSES = 118, /* more processes than the profile allows: all were killed */
    PDL_SANDBOX_NOT_FOUND = 117, /* the command does not exist inside */
    PDL_SANDBOX_DENIED = 116,    /* the command may not be executed */
    /* the command was killed when it had used all the memory of its profile */
    PDL_SANDBOX_MEMORY = 115,
    /* the machine had no space, memory or process to begin now; the reason is on standard error */
    PDL_SANDBOX_BUSY = 114
} pdl_sandbox_end;
pdl_sandbox_end pdl_sandbox_end_of(int signal); /* returns 0 for other signals */
/* Sets the error for this end of a helper. who: the part that ended (a command, code); said: the
 * text that the helper wrote. Returns false when this end has no special error. */
bool pdl_sandbox_end_error(pdl_sandbox_end end, const char *who, pdl_str said, pdl_err *err);
/* Returns true when a failed command wrote to standard error that it got no memory. */
bool pdl_sandbox_lacked_memory(pdl_str errors_of_command);

/* A variable of the helper, which is added to the result of pdl_sandbox_wrap_env. When it is set, a
 * command that cannot be executed is reported as a shell would: by a line of text, and by the
 * status 127 or 126. */
#define PDL_SANDBOX_AS_SHELL "PDL_SANDBOX_AS_SHELL"
/* Runs the helper: argv has the words after `__confine`, or after `__confined` inside bubblewrap.
 * Does not return while the command runs. Returns the exit status of the process. */
int pdl_sandbox_confine(int argc, char **argv, bool inside);

/* Appends the abilities of this machine, either as lines of text or as a JSON object. */
void pdl_sandbox_check(const char *helper, const char *(*env)(void *user, const char *name),
                       void *user, bool json, pdl_buf *out);

#endif
