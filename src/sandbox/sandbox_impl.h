/* sandbox_impl.h -- private to the sandbox room.
 *
 *   profile.c    profiles: reading, defaults, narrowing
 *   walk.c       what in a folder is masked or protected
 *   sandbox.c    profile and machine -> what the helper is told
 *   probe.c      what the machine can do
 *   confine.c    the helper: outside, waits, answers signals, limits processes
 *   native.c     namespaces and mounts with our own calls
 *   bwrap.c      the same by bubblewrap
 *   inside.c     the helper: limits, Landlock, seccomp, then the command
 *   filter.c     the seccomp filter
 *   proxy.c      the network of a profile with `net:`
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_SANDBOX_SANDBOX_IMPL_H
#define PDL_SANDBOX_SANDBOX_IMPL_H

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
/* Adds what a dict says. what: names it in messages; dir: where its paths begin. narrow: it may
 * take away only, and then a list replaces the one before. */
bool pdl_profile_read(sandbox_profile *p, pdl_vref given, pdl_str what, pdl_str dir, bool narrow,
                      pdl_err *err);
/* Is path the folder or in it? */
bool pdl_path_is_under(const char *path, const char *folder);

/* What of a folder must not be seen, and what must not be changed. False: too many entries. */
typedef struct walk_result {
    path_list masked, kept, placeholders; /* placeholders: must not be made; "DIR/" for folders */
    size_t n_entries;
} walk_result;
bool pdl_walk_folder(const char *folder, bool writable, walk_result *out);

typedef enum { BACKEND_NATIVE, BACKEND_BWRAP, BACKEND_NONE } sandbox_backend;

/* What the helper is told, as JSON in one argument. */
typedef struct sandbox_spec {
    sandbox_backend backend;
    path_list ro, rw, masked, kept, placeholders, net;
    int64_t processes, memory, tmp, file;
    char *cwd, *helper;
} sandbox_spec;
void pdl_spec_write(const sandbox_spec *s, pdl_buf *out);
bool pdl_spec_read(const char *text, sandbox_spec *out);

/* probe.c */
typedef struct sandbox_machine {
    bool namespaces, seccomp, bwrap;
    int landlock; /* ABI; 0: none */
    char why_namespaces[160], why_bwrap[160];
} sandbox_machine;
void pdl_machine_probe(sandbox_machine *m, const char *without, bool ask_bwrap);

/* bwrap.c: executes bubblewrap, which executes the helper inside. Returns when that failed. */
void pdl_bwrap_exec(const sandbox_spec *s, const char *spec, char **argv);
/* native.c: in a new process; false with errno and *what when it cannot. */
bool pdl_native_namespaces(const char **what, unsigned uid, unsigned gid);
bool pdl_native_root(const sandbox_spec *s, const char **what);
/* inside.c: gives up rights; false with errno and *what. */
bool pdl_inside_confine(const sandbox_spec *s, const char **what);
/* filter.c */
bool pdl_filter_load(bool sockets);
/* proxy.c: a listening socket of the network inside; serves what comes to it. */
int pdl_proxy_listen(int *port);
void pdl_proxy_serve(int listener, const path_list *net);

enum { WATCH_MS = 20, FIRST_FREE_FD = 5, PASS_FD = 5 };

#endif
