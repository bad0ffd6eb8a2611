/* sandbox_impl.h -- the types and functions that the files of the sandbox share.
 *
 *   sandbox_profile.c  profiles: reading, defaults, narrowing
 *   hidden_paths.c     what in a folder is masked or protected
 *   planted.c          start files that are new after a run
 *   sandbox.c          profile and machine -> the instructions of the helper
 *   deputy.c           actions of the engine for confined code, or in folders that it may write
 *   net_items.c        the items of `net:`
 *   end.c              messages of the ends that are not the command's
 *   variables.c        the environment of the command, passed through the helper
 *
 * in linux/:
 *   probe.c            the abilities of the machine
 *   confine.c          the helper: outside, waits, answers signals, limits processes
 *   processes.c        the processes of a sandbox
 *   namespaces.c       namespaces and mounts with direct system calls
 *   bwrap.c            namespaces and mounts by bubblewrap
 *   restrict.c         the helper: limits, Landlock, seccomp, then the command
 *   filter.c           the seccomp filter
 *   sockets.c          unix sockets inside
 *   pair.c             messages between the processes of the helper
 *   proxy.c            the network of a profile with `net:`
 *
 * in darwin/:
 *   seatbelt.c         the abilities of macOS, and the helper, by sandbox-exec
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SANDBOX_SANDBOX_IMPL_H
#define PDL_SANDBOX_SANDBOX_IMPL_H

#include <sys/types.h>

#include "base/vec.h"
#include "sandbox/sandbox.h"

typedef PDL_VEC(char *) path_list;
void pdl_paths_add(path_list *l, pdl_str s);
bool pdl_paths_have(const path_list *l, const char *s);
void pdl_paths_fini(path_list *l);

/* A profile as written, with paths from the root. */
typedef struct sandbox_profile {
    path_list read, write, net, env;
    int64_t processes, memory_mb, tmp_mb, file_mb;
    double seconds; /* 0: no limit */
} sandbox_profile;
void pdl_profile_init(sandbox_profile *p);
void pdl_profile_fini(sandbox_profile *p);
void pdl_profile_copy(sandbox_profile *to, const sandbox_profile *from);
/* The source of a profile. */
typedef struct pdl_profile_source {
    pdl_str what, dir; /* name in messages; folder to which its paths are relative */
    bool narrows;      /* it may only take rights away, and a list replaces the previous one */
    /* with narrows: paths of the profile around it that may be named again */
    const path_list *shown, *hidden;
} pdl_profile_source;
/* Applies a dict to a profile. Error: schema, with all mistakes. */
bool pdl_profile_read(sandbox_profile *p, pdl_vref given, const pdl_profile_source *from,
                      pdl_err *err);
/* Returns true when path is the folder or in it. Both are results of realpath(). */
bool pdl_path_is_under(const char *path, const char *folder);

/* The paths of a folder that must not be seen, and those that must not be changed. */
typedef struct walk_result {
    /* placeholders: files that must not be made; "DIR/" for folders */
    path_list masked, kept, placeholders;
    path_list starts; /* files that programs run at their start, masked or not, and repositories */
    path_list closed; /* folders of the user that he cannot read now */
    size_t n_entries;
} walk_result;
typedef enum { WALK_DONE, WALK_TOO_MANY, WALK_TOO_MANY_MASKED, WALK_TOO_DEEP } walk_end;
walk_end pdl_walk_folder(const char *folder, bool writable, walk_result *out);
void pdl_walk_fini(walk_result *w);
/* Returns true when this masked file is shown as an empty one, because git fails without `config`.
 * Other masked files cannot be opened. */
bool pdl_walk_shown_empty(const char *path);

typedef enum { BACKEND_NATIVE, BACKEND_BWRAP, BACKEND_NONE } sandbox_backend;

/* The instructions of the helper; one argument has them as JSON. */
typedef struct sandbox_spec {
    sandbox_backend backend;
    path_list ro, rw, masked, kept, placeholders, net;
    int64_t processes, memory, tmp, file, landlock; /* landlock: the newest ABI that is used */
    char *cwd, *helper;
} sandbox_spec;
void pdl_spec_write(const sandbox_spec *s, pdl_buf *out);
bool pdl_spec_read(const char *text, sandbox_spec *out);
/* Appends the folders between those to write and the protected paths in them, outer ones first.
 * Each gets a mount, which keeps its name: with a rename the paths below could be replaced. */
void pdl_walk_above(const sandbox_spec *s, path_list *out);
/* Appends the folders that are mounted, borrowed, in their order: outer ones first, so that an
 * inner one is not covered. One that may be read and written is in it once. */
typedef PDL_VEC(const char *) mount_list;
void pdl_mounts_of(const sandbox_spec *s, mount_list *out);
/* Returns true when a protected path is there and can be mounted over: a link cannot, and what it
 * points to is protected by its own path. *is_folder: it is a folder. root: goes before the path,
 * for a root that is not entered yet. */
bool pdl_can_mount_over(const char *root, const char *path, bool *is_folder);

/* A file or folder that existed before the run. */
typedef struct start_mark {
    char *path;
    dev_t dev;
    ino_t ino;
    /* a link cannot be mounted over, and another one may get its number */
    bool is_link;
    int64_t changed_ns; /* time of the change of a link */
} start_mark;

struct pdl_sandbox {
    sandbox_profile profile;
    sandbox_spec spec;
    pdl_sandbox_strength strength;
    path_list base; /* shown to every profile: the system, the interpreter, the program */
    path_list mask;
    path_list own_env;
    const char *(*getenv)(void *user, const char *name);
    void *user;
    PDL_VEC(const char *) env;
    PDL_VEC(start_mark) marks; /* sorted by path */
    char *dir, *text;
};
/* Invariants of a complete sandbox: it has the strength process exactly when it has no namespaces;
 * the helper gets every folder that the profile lets the command write; the environment ends with
 * NULL; marks are in the order of their paths. */
bool pdl_sandbox_ok(const pdl_sandbox *s);
/* planted.c. Notes that the files that exist now are not new. */
void pdl_planted_mark(pdl_sandbox *s, const walk_result *w);
void pdl_planted_fini(pdl_sandbox *s);

/* The platform's file. The ABIs of Landlock that guard truncate(), and signals. */
enum { LANDLOCK_TRUNCATES = 3, LANDLOCK_SCOPES = 6 };
typedef struct sandbox_machine {
    bool namespaces, seccomp, bwrap;
    int landlock;         /* ABI; 0 when there is none */
    const char *lacks; /* what it takes to confine at all and is not there; NULL: nothing */
    char why_namespaces[160], why_bwrap[240];
} sandbox_machine;
void pdl_machine_probe(sandbox_machine *m, const char *without, bool ask_bwrap);
/* A promise of a profile that the strength process does not keep. */
typedef struct sandbox_weakness {
    const char *text;
    bool of_write;    /* only for profiles with folders to write */
    int has_landlock; /* the ABI that keeps it; 0 when none does */
} sandbox_weakness;
extern const sandbox_weakness pdl_weaknesses[];
extern const size_t pdl_n_weaknesses;
bool pdl_weakness_holds(size_t i, const sandbox_machine *m);

/* The platform's file. Returns the signal by which the helper ends. */
int pdl_sandbox_signal_of(pdl_sandbox_end end);
/* variables.c. Makes the environment of this process that of the command. */
void pdl_unwrap_env(void);
/* bwrap.c. Executes bubblewrap, which executes the helper inside. Returns when that failed. */
void pdl_bwrap_exec(const sandbox_spec *s, const char *spec, char **argv);
/* Executes bubblewrap with all of its options, for a script of the shell. */
void pdl_bwrap_exec_probe(const char *script);
extern const char pdl_bubblewrap[]; /* path of bubblewrap */
/* namespaces.c. Enters new namespaces, in a new process. Returns false with errno and *what on
 * failure. */
bool pdl_native_namespaces(const char **what, unsigned uid, unsigned gid);
bool pdl_native_root(const sandbox_spec *s, const char **what);
/* restrict.c. Drops rights. *calls: descriptor on which the monitor answers calls, or -1. Returns
 * false with errno and *what on failure. */
bool pdl_inside_confine(const sandbox_spec *s, int *calls, const char **what);
/* net_items.c. Splits HOST or HOST:PORT; an address of version 6 is in brackets. port 0: any. */
enum { PDL_NET_MAX_HOST = 256 };
void pdl_net_split(const char *item, char *host, int *port);
/* Returns true when one of the items of `net:` names this host and port (0: the item has
 * none). */
bool pdl_net_grants(const path_list *net, const char *host, int port);
/* true for a host, with or without a port, and for a domain */
bool pdl_net_is_item(const char *item);
/* filter.c */
bool pdl_filter_load(const sandbox_spec *s, int *calls);
/* sockets.c. Answers calls in the monitor, without returning; the pair brings the descriptor on
 * which the filter hands calls over. */
void pdl_sockets_serve(int pair);
/* processes.c. Counts the processes of the sandbox without the calling monitor; is_only: no others
 * are visible. */
size_t pdl_processes_count(bool is_only);
void pdl_processes_kill(bool is_only);
/* Reads the beginning of /proc/PID/FILE, ended by NUL; empty when the process has ended. */
void pdl_processes_read(int pid, const char *file, char *text, size_t size);
/* pair.c. Sends a message; fd -1: without a descriptor. pdl_pair_receive returns false when the
 * pair is closed. */
void pdl_pair_send(int to, int32_t status, int fd);
bool pdl_pair_receive(int from, int32_t *status, int *fd);
/* proxy.c. Returns a listening socket of the network inside; pdl_proxy_serve serves its
 * connections. */
int pdl_proxy_listen(int *port);
void pdl_proxy_serve(int listener, const path_list *net);

enum { WATCH_MS = 20, FIRST_FREE_FD = 5, PASS_FD = 5 };

#endif
