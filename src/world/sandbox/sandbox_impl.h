/* sandbox_impl.h -- private to the sandbox room.
 *
 *   sandbox_profile.c  profiles: reading, defaults, narrowing
 *   hidden_paths.c     what in a folder is masked or protected
 *   planted.c          start files that are new after a run
 *   sandbox.c          profile and machine -> the instructions of the helper
 *   deputy.c           what the engine does for confined code, or in folders that it may write
 *   probe.c            what the machine can do
 *   confine.c          the helper: outside, waits, answers signals, limits processes
 *   processes.c        the processes of a sandbox
 *   end.c              ends that are not the command's own
 *   variables.c        the environment of the command, on its way through the helper
 *   namespaces.c       namespaces and mounts with our own calls
 *   bwrap.c            the same by bubblewrap
 *   restrict.c         the helper: limits, Landlock, seccomp, then the command
 *   filter.c           the seccomp filter
 *   sockets.c          unix sockets inside
 *   pair.c             messages between the processes of the helper
 *   proxy.c            the network of a profile with `net:`
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SANDBOX_SANDBOX_IMPL_H
#define PDL_SANDBOX_SANDBOX_IMPL_H

#include <sys/types.h>
#include <time.h>

#include "base/vec.h"
#include "sandbox/sandbox.h"

typedef PDL_VEC(char *) path_list;
void pdl_paths_add(path_list *l, pdl_str s);
bool pdl_paths_have(const path_list *l, const char *s);
void pdl_paths_fini(path_list *l);

/* A profile as it is written, paths from the root. */
typedef struct sandbox_profile {
    path_list read, write, net, env;
    int64_t processes, memory_mb, tmp_mb, file_mb;
    double seconds; /* 0: none */
} sandbox_profile;
void pdl_profile_init(sandbox_profile *p);
void pdl_profile_fini(sandbox_profile *p);
void pdl_profile_copy(sandbox_profile *to, const sandbox_profile *from);
/* Where a profile comes from. */
typedef struct pdl_profile_source {
    pdl_str what, dir; /* names it in messages; where its paths begin */
    bool narrows;      /* it may take away only, and then a list replaces the one before */
    const path_list *shown, *hidden; /* narrows: by the profile around it, whatever that names */
} pdl_profile_source;
/* Adds what a dict says. Error: schema, with all that is wrong. */
bool pdl_profile_read(sandbox_profile *p, pdl_vref given, const pdl_profile_source *from,
                      pdl_err *err);
/* Is path the folder or in it? Both as realpath() gives them. */
bool pdl_path_is_under(const char *path, const char *folder);

/* What of a folder must not be seen, and what must not be changed. */
typedef struct walk_result {
    path_list masked, kept, placeholders; /* placeholders: must not be made; "DIR/" for folders */
    path_list starts; /* what programs run at their start, masked or not, and repositories */
    path_list closed; /* folders that the user, whose they are, cannot look into now */
    size_t n_entries;
} walk_result;
typedef enum { WALK_DONE, WALK_TOO_MANY, WALK_TOO_MANY_HIDDEN, WALK_TOO_DEEP } walk_end;
walk_end pdl_walk_folder(const char *folder, bool writable, walk_result *out);
void pdl_walk_fini(walk_result *w);
/* Is this masked file shown as an empty one? Others cannot be opened. Git ends without `config`. */
bool pdl_walk_shown_empty(const char *path);

typedef enum { BACKEND_NATIVE, BACKEND_BWRAP, BACKEND_NONE } sandbox_backend;

/* The instructions of the helper, as JSON in one argument. */
typedef struct sandbox_spec {
    sandbox_backend backend;
    path_list ro, rw, masked, kept, placeholders, net;
    int64_t processes, memory, tmp, file, landlock; /* landlock: the ABI, no newer one is used */
    char *cwd, *helper;
} sandbox_spec;
void pdl_spec_write(const sandbox_spec *s, pdl_buf *out);
bool pdl_spec_read(const char *text, sandbox_spec *out);
/* The folders between those to write and what is kept in them, outer ones first. A mount for each
 * keeps its name, with which what is below could be replaced. */
void pdl_walk_above(const sandbox_spec *s, path_list *out);

/* A file or folder that was there before the run. */
typedef struct start_mark {
    char *path;
    dev_t dev;
    ino_t ino;
    bool is_link;             /* cannot be mounted over, and another one may get its number: */
    struct timespec changed; /* of a link */
} start_mark;

struct pdl_sandbox {
    sandbox_profile profile;
    sandbox_spec spec;
    pdl_sandbox_strength strength;
    path_list base; /* shown to every profile: the system, the interpreter, the program */
    path_list hide;
    path_list own_env;
    const char *(*getenv)(void *user, const char *name);
    void *user;
    PDL_VEC(const char *) env;
    PDL_VEC(start_mark) marks; /* by path */
    char *dir, *text;
};
/* planted.c: what is there now is not new. */
void pdl_planted_mark(pdl_sandbox *s, const walk_result *w);
void pdl_planted_fini(pdl_sandbox *s);

/* probe.c */
enum { LANDLOCK_TRUNCATES = 3, LANDLOCK_SCOPES = 6 }; /* ABIs that guard truncate() and signals */
typedef struct sandbox_machine {
    bool namespaces, seccomp, bwrap;
    int landlock; /* ABI; 0: none */
    char why_namespaces[160], why_bwrap[240];
} sandbox_machine;
void pdl_machine_probe(sandbox_machine *m, const char *without, bool ask_bwrap);
/* What a profile promises and the strength process does not keep. */
typedef struct sandbox_weakness {
    const char *text;
    bool of_write;    /* only with folders to write */
    int has_landlock; /* the ABI that keeps it; 0: none */
} sandbox_weakness;
extern const sandbox_weakness pdl_weaknesses[];
extern const size_t pdl_n_weaknesses;
bool pdl_weakness_holds(size_t i, const sandbox_machine *m);

/* end.c: what the helper ends by. */
int pdl_sandbox_signal_of(pdl_sandbox_end end);
/* variables.c: makes the environment of this process that of the command. */
void pdl_unwrap_env(void);
/* bwrap.c: executes bubblewrap, which executes the helper inside. Returns when that failed. */
void pdl_bwrap_exec(const sandbox_spec *s, const char *spec, char **argv);
/* The same with all of its options, for a script of the shell. */
void pdl_bwrap_exec_probe(const char *script);
extern const char pdl_bubblewrap[]; /* its path */
/* namespaces.c: in a new process; false with errno and *what when it cannot. */
bool pdl_native_namespaces(const char **what, unsigned uid, unsigned gid);
bool pdl_native_root(const sandbox_spec *s, const char **what);
/* restrict.c: gives up rights; false with errno and *what. */
/* calls: where the monitor answers calls, or -1. */
bool pdl_inside_confine(const sandbox_spec *s, int *calls, const char **what);
/* proxy.c: does one of the items of `net:` name this host and port (0: the item has none)? */
bool pdl_net_grants(const path_list *net, const char *host, int port);
bool pdl_net_is_item(const char *item); /* is it a host, with or without a port, or a domain? */
/* filter.c */
bool pdl_filter_load(const sandbox_spec *s, int *calls);
/* sockets.c: in the monitor, for good; the pair brings where the filter hands calls over. */
void pdl_sockets_serve(int pair);
/* processes.c: those of the sandbox but the calling monitor; is_only: others are not seen. */
size_t pdl_processes_count(bool is_only);
void pdl_processes_kill(bool is_only);
/* The beginning of /proc/PID/FILE, ended by NUL; empty: it is gone. */
void pdl_processes_read(int pid, const char *file, char *text, size_t size);
/* pair.c: fd -1: none. False: nothing more comes. */
void pdl_pair_send(int to, int32_t status, int fd);
bool pdl_pair_receive(int from, int32_t *status, int *fd);
/* proxy.c: a listening socket of the network inside; serves what comes to it. */
int pdl_proxy_listen(int *port);
void pdl_proxy_serve(int listener, const path_list *net);

enum { WATCH_MS = 20, FIRST_FREE_FD = 5, PASS_FD = 5 };

#endif
