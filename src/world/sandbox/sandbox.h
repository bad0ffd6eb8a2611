/* sandbox.h -- takes rights away from processes: code workers, commands, tool servers, and all that
 * they start (spec trust 1).
 *
 * A process is not confined by its parent after the start but by a helper before it: the command
 * `pdl` itself, called as `pdl __confine SPEC COMMAND...`. It makes namespaces, by bubblewrap or
 * with its own calls, then gives up what it has (Landlock, seccomp, limits) and executes the
 * command. So the engine keeps one way to start processes, and what confines them is dead simple to
 * look at in a list of processes.
 *
 * Never weaker than asked: what a machine cannot do is a reason to refuse, found out before
 * anything runs.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SANDBOX_SANDBOX_H
#define PDL_SANDBOX_SANDBOX_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"

/* FULL: namespaces for mounts, network, processes and IPC, and the rest. PROCESS: Landlock, seccomp
 * and limits; other processes stay visible, no `net:`. */
typedef enum { PDL_SANDBOX_FULL, PDL_SANDBOX_PROCESS } pdl_sandbox_strength;

typedef struct pdl_sandbox pdl_sandbox; /* a profile that this machine can keep; immutable */

typedef struct pdl_sandbox_options {
    pdl_str profile;         /* "code", or a file; empty: code */
    pdl_vref given;          /* dict: the `sandbox:` of a policy, over the profile; absent: none */
    bool process_is_enough;  /* --sandbox-min process */
    pdl_str given_name;      /* names it in messages; empty: "sandbox" */
    pdl_str given_dir;       /* where its paths begin; absent: dir */
    pdl_str dir;             /* folder of the program, shown for reading */
    const char *const *hide; /* files that are masked: journals, caches; NULL-terminated */
    /* the folders of the Python that it names (PDL_PYTHON, VIRTUAL_ENV, PATH) are shown */
    const char *(*env)(void *user, const char *name);
    void *user;
    const char *helper; /* path of the command `pdl` */
} pdl_sandbox_options;

/* The profile that a value of PDL_SANDBOX asks for: 1, a name or a file; empty: none, which NULL,
 * "" and 0 mean. Borrows the value. */
pdl_str pdl_sandbox_named(const char *value);

/* The profile "code" (as "" an empty dict), or that of a file, whose paths begin in its folder.
 * Owned, also after an error. Errors: usage, schema, syntax, io. */
PDL_MUST bool pdl_sandbox_profile(pdl_str name, pdl_val *out, pdl_err *err);

/* Errors: policy (the machine cannot keep it, with the reason), schema (a profile with mistakes,
 * all of them), io. note: appended what is missing where less than FULL was accepted. */
PDL_MUST bool pdl_sandbox_new(const pdl_sandbox_options *opt, pdl_sandbox **out, pdl_buf *note,
                              pdl_err *err);
void pdl_sandbox_free(pdl_sandbox *s); /* NULL is fine */

/* The profile of a block (a dict), which may only take away. Errors: schema, policy (it widens). */
PDL_MUST bool pdl_sandbox_narrow(const pdl_sandbox *s, pdl_vref given, pdl_sandbox **out,
                                 pdl_err *err);
/* The profile of a tool server in the configuration of the user, which adds; its paths begin in
 * folder. Errors: schema. */
PDL_MUST bool pdl_sandbox_widen(const pdl_sandbox *s, pdl_vref given, pdl_str folder,
                                pdl_sandbox **out, pdl_err *err);
/* Two of them with the same text are the same. Borrowed. */
const char *pdl_sandbox_key(const pdl_sandbox *s);

/* What to start in place of argv (NULL-terminated, borrowed, as are the results' strings, by s and
 * argv). The array is the caller's to free. */
const char **pdl_sandbox_argv(const pdl_sandbox *s, const char *const *argv);
/* What the command sees, NULL-terminated "NAME=value". */
const char *const *pdl_sandbox_env(const pdl_sandbox *s);
/* The environment to start that argv with, so that the command sees env: the helper, which has all
 * rights, must not be steered by variables of the command, such as LD_PRELOAD. One allocation, the
 * caller's to free. */
const char **pdl_sandbox_wrap_env(const char *const *env);

/* Is path written as one below folder, and is it there once links are followed, or would be? Not
 * below "/", nor a folder that does not exist. */
bool pdl_path_stays_in(const char *path, const char *folder);

/* Deputy: may confined code read, write this path, reach this address through the engine? */
bool pdl_sandbox_may_read(const pdl_sandbox *s, const char *path);
bool pdl_sandbox_may_write(const pdl_sandbox *s, const char *path);
bool pdl_sandbox_may_reach(const pdl_sandbox *s, pdl_str url);
/* As open, for the engine itself. In a folder that confined code may write no link leads out of the
 * folder: the code may have put it there for the engine to follow. -1 and errno. *other: path is in
 * no such folder, and is to be opened as usual. */
int pdl_sandbox_open(const pdl_sandbox *s, const char *path, int flags, unsigned mode, bool *other);
/* As open, for confined code that may read path, or write it. Only the place to which the path
 * leads now is judged and opened, without another look at its links, which the code could exchange
 * in between. -1 and errno: EACCES where the code may not. */
int pdl_sandbox_open_for_code(const pdl_sandbox *s, const char *path, int flags, unsigned mode);
/* What of files that programs run at their start is new in folders to write, as a line; nothing
 * where there is none. Not cheap: it looks through the folders again. */
void pdl_sandbox_planted(const pdl_sandbox *s, pdl_buf *note);
/* Nothing can remain of it: no folder to write, no network. */
bool pdl_sandbox_is_closed(const pdl_sandbox *s);
/* Nor are its temporary files in any place that other processes see. */
bool pdl_sandbox_is_sealed(const pdl_sandbox *s);
double pdl_sandbox_seconds(const pdl_sandbox *s); /* 0: the profile sets none */

/* How the helper ends where it is no end of the command: by a signal that no program uses, since a
 * command may end with any status. As a shell would (below): with these codes. */
typedef enum {
    PDL_SANDBOX_ENDED = 0,       /* the command's own end */
    PDL_SANDBOX_SETUP = 119,     /* could not confine: the reason is on standard error */
    PDL_SANDBOX_PROCESSES = 118, /* more processes than the profile allows: all were killed */
    PDL_SANDBOX_NOT_FOUND = 117, /* the command is not there, as seen from inside */
    PDL_SANDBOX_DENIED = 116,    /* it may not be executed */
    PDL_SANDBOX_MEMORY = 115,    /* it was killed when it had all the memory of its profile */
    PDL_SANDBOX_BUSY = 114 /* no room, memory or processes to begin now; reason as for SETUP */
} pdl_sandbox_end;
pdl_sandbox_end pdl_sandbox_end_of(int signal); /* 0: none */
/* The error of such an end: who (a command, code) ended, and what the helper wrote. Returns false
 * where the end has no error of its own. */
bool pdl_sandbox_end_error(pdl_sandbox_end end, const char *who, pdl_str said, pdl_err *err);
/* Does what a command that failed wrote to standard error say that it got no memory? */
bool pdl_sandbox_lacked_memory(pdl_str errors_of_command);

/* Set among the variables of the helper, beside those of pdl_sandbox_wrap_env: a command that
 * cannot be executed is reported as a shell does, by a line and 127 or 126. */
#define PDL_SANDBOX_AS_SHELL "PDL_SANDBOX_AS_SHELL"
/* The helper: argv after `__confine`, or `__confined` inside of bubblewrap. Does not return while
 * the command runs; the exit status of the process. */
int pdl_sandbox_confine(int argc, char **argv, bool inside);

/* What this machine can do, as lines of text or an object of JSON. */
void pdl_sandbox_check(const char *helper, const char *(*env)(void *user, const char *name),
                       void *user, bool json, pdl_buf *out);

#endif
