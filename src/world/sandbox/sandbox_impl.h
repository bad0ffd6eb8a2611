/* sandbox_impl.h -- the types and functions that the files of the sandbox share.
 *
 *   `sandbox_profile.c`       profiles: reading, defaults, narrowing.
 *   `hidden_paths.c`          what in a folder is masked or protected.
 *   `links.c`                 links on the way to a file.
 *   `planted_files.c`         start files that are new after a run.
 *   `sandbox.c`               profile and machine -> the instructions of the helper.
 *   `confused_deputy.c`       what the engine does for confined code, and in its folders.
 *   `net_items.c`             the items of `net:`.
 *   `sandbox_errors.c`        messages about ends that the helper causes.
 *   `helper_instructions.c`   the instructions of the helper as text.
 *   `command_environment.c`   the environment of the command, passed through the helper.
 *
 * In linux/:
 *   `probe.c`                 the abilities of the machine.
 *   `confine.c`               the helper: starts the command, forwards signals, counts processes.
 *   `processes.c`             the processes of a sandbox.
 *   `mounts.c`                which folders are mounted, in which order.
 *   `namespaces.c`            namespaces and mounts with direct system calls.
 *   `bwrap.c`                 namespaces and mounts by bubblewrap.
 *   `restrict.c`              the rights of the command: limits, capabilities, Landlock, seccomp.
 *   `seccomp.c`               the filter of system calls.
 *   `sockets.c`               unix sockets inside.
 *   `helper_messages.c`       messages between the processes of the helper.
 *   `proxy.c`                 the network of a profile with `net:`.
 *
 * In darwin/:
 *   `seatbelt.c`              the abilities of macOS; the helper with sandbox-exec.
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
/* Sorts the paths, and removes those that occur again. */
void pdl_paths_sort(path_list *l);
/* The first function returns true when a sorted list has the path, the second when the list has a
 * path in this folder. */
bool pdl_sorted_have(const path_list *l, const char *path);
bool pdl_sorted_under(const path_list *l, const char *folder);

/* A profile as it was written, but with absolute paths. */
typedef struct sandbox_profile {
    path_list read, write, net, env;
    int64_t processes, memory_mb, tmp_mb, file_mb;
    double seconds; /* 0 means no limit */
} sandbox_profile;
void pdl_profile_init(sandbox_profile *p);
void pdl_profile_fini(sandbox_profile *p);
void pdl_profile_copy(sandbox_profile *to, const sandbox_profile *from);
/* The source of a profile. */
typedef struct pdl_profile_source {
    /* the name of the profile in messages, and the folder to which its paths are relative */
    pdl_str what, dir;
    /* the profile may only take rights away, and its lists replace earlier lists */
    bool narrows;
    /* when `narrows` is set: paths of the surrounding profile that may be named again */
    const path_list *shown, *hidden;
} pdl_profile_source;
/* Applies a dict to a profile. Error: schema, with all mistakes. */
bool pdl_profile_read(sandbox_profile *p, pdl_vref given, const pdl_profile_source *from,
                      pdl_err *err);
/* Returns true when path is the folder or in it. Both are results of realpath(). */
bool pdl_path_is_under(const char *path, const char *folder);

/* links.c. Appends the links that are followed on the way to a file. The folders in their paths are
 * no links. */
void pdl_links_on_way(const char *path, path_list *out);

/* The paths of a folder that code must not see, and the paths that code must not change. */
typedef struct walk_result {
    /* placeholders: files that must not be made; the name of a folder ends with "/" */
    path_list masked, kept, placeholders;
    path_list starts; /* files that programs run at their start, masked or not, and repositories */
    path_list whole;  /* folders that have many files, all of which are masked */
    path_list closed; /* folders of the user that are not readable at present */
    size_t n_entries;
} walk_result;
typedef enum { WALK_DONE, WALK_TOO_MANY, WALK_TOO_MANY_MASKED, WALK_TOO_DEEP } walk_end;
walk_end pdl_walk_folder(const char *folder, bool writable, walk_result *out);
/* Notes that code must not make a pdl.toml in the folder of the program, nor in the folders above
 * it, up to the folder that may be written. Elsewhere an empty file with this name would only be in
 * the way of the code. */
void pdl_walk_project(const char *program, const char *folder, walk_result *out);
void pdl_walk_fini(walk_result *w);
/* Returns true when the sandbox shows this masked file as an empty file, because git fails without
 * a `config`. Other masked files cannot be opened. */
bool pdl_walk_shown_empty(const char *path);

typedef enum { BACKEND_NATIVE, BACKEND_BWRAP, BACKEND_NONE } sandbox_backend;

/* The instructions of the helper, which gets them as JSON in its arguments. */
typedef struct sandbox_spec {
    sandbox_backend backend;
    path_list ro, rw, masked, kept, placeholders, net; /* masked is sorted */
    path_list own; /* masked files of this run; folders that contain them cannot be renamed */
    int64_t processes, memory, tmp, file, landlock; /* landlock: the newest ABI that is used */
    char *cwd, *helper;
} sandbox_spec;
void pdl_spec_write(const sandbox_spec *s, pdl_buf *out);
/* helper_instructions.c. Appends the text as arguments of a process. */
void pdl_spec_split(const char *text, path_list *parts);
/* Reads the instructions from these arguments. Returns the rest, which is the command; NULL when
 * the instructions are wrong, or there is no command. */
char **pdl_spec_read(char **argv, sandbox_spec *out);
void pdl_spec_fini(sandbox_spec *s);
/* Appends the parent folders of protected paths, up to the folder that may be written, outer ones
 * first. Each gets a mount, so that it cannot be renamed: with a renamed parent, the protected
 * paths could be replaced. */
void pdl_walk_above(const sandbox_spec *s, path_list *out);
/* Appends the folders that are mounted, borrowed, in this order: an outer folder before the folders
 * inside it, so that it does not cover them. A folder that may be read and written occurs once. */
typedef PDL_VEC(const char *) mount_list;
void pdl_mounts_of(const sandbox_spec *s, mount_list *out);
/* Returns true when a protected path exists and is no link; such a path is mounted over. A link is
 * protected as a name, and its target under its own path. *is_folder: the path is a folder. root:
 * prefix of the path when the process is not in the new root yet. */
bool pdl_can_mount_over(const char *root, const char *path, bool *is_folder);

/* A file or folder that existed when the run began. */
typedef struct start_mark {
    char *path;
    dev_t dev;
    ino_t ino;
    /* a link cannot be mounted over, and a new link may get the inode number of an old one */
    bool is_link;
    int64_t changed_ns; /* time at which a link was last changed */
} start_mark;

struct pdl_sandbox {
    sandbox_profile profile;
    sandbox_spec spec;
    pdl_sandbox_strength strength;
    /* paths that every profile shows: the system, the interpreter and the program */
    path_list base;
    path_list mask;
    path_list keep; /* files that code must not change */
    path_list own_env;
    const char *(*getenv)(void *user, const char *name);
    void *user;
    PDL_VEC(const char *) env;
    PDL_VEC(start_mark) marks; /* sorted by path */
    char *dir, *text;
    path_list parts; /* the text as arguments of the helper */
};
/* Returns true when the invariants of a complete sandbox hold: it has the strength PROCESS exactly
 * when it has no namespaces; the helper gets every folder that the profile lets the command write;
 * the environment ends with NULL; marks are in the order of their paths. */
bool pdl_sandbox_ok(const pdl_sandbox *s);
/* planted_files.c. Notes the files that exist now, so that these files do not count as new after
 * the run. */
void pdl_planted_mark(pdl_sandbox *s, const walk_result *w);
void pdl_planted_fini(pdl_sandbox *s);

/* The first ABI of Landlock that restricts truncate(), and the first that restricts signals. */
enum { LANDLOCK_TRUNCATES = 3, LANDLOCK_SCOPES = 6 };
typedef struct sandbox_machine {
    bool namespaces, seccomp, bwrap;
    int landlock; /* ABI of Landlock; 0 when there is none */
    /* a missing feature without which nothing can be confined; NULL when none is missing */
    const char *lacks;
    char why_namespaces[160], why_bwrap[240];
} sandbox_machine;
void pdl_machine_probe(sandbox_machine *m, const char *without, bool ask_bwrap);
/* A guarantee of profiles that the strength PROCESS does not give. */
typedef struct sandbox_weakness {
    const char *text;
    bool of_write; /* the guarantee matters only for profiles with folders to write */
    /* first ABI of Landlock that gives the guarantee; 0 when no ABI gives it */
    int has_landlock;
} sandbox_weakness;
extern const sandbox_weakness pdl_weaknesses[];
extern const size_t pdl_n_weaknesses;
bool pdl_weakness_holds(size_t i, const sandbox_machine *m);

/* Returns the signal by which the helper reports this end. Defined in the file of each platform. */
int pdl_sandbox_signal_of(pdl_sandbox_end end);
/* command_environment.c. Makes the environment of the command the environment of this process. */
void pdl_unwrap_env(void);
/* bwrap.c. Becomes bubblewrap, which executes the helper inside with these arguments. Returns only
 * on failure. */
void pdl_bwrap_exec(const sandbox_spec *s, char **argv);
/* Becomes bubblewrap with all options that a sandbox uses, and runs a shell script inside. */
void pdl_bwrap_exec_probe(const char *script);
extern const char pdl_bubblewrap[]; /* path of bubblewrap */
/* namespaces.c. Moves this process into new namespaces. Returns false with errno and *what on
 * failure. */
bool pdl_native_namespaces(const char **what, unsigned uid, unsigned gid);
bool pdl_native_root(const sandbox_spec *s, const char **what);
/* restrict.c. Drops rights. *calls: descriptor on which the monitor answers calls, or -1. Returns
 * false with errno and *what on failure. */
bool pdl_inside_confine(const sandbox_spec *s, int *calls, const char **what);
/* net_items.c. Splits HOST or HOST:PORT; an IPv6 address is in brackets. *port is 0 when there is
 * none, which means any port, and -1 when the text after the colon is not a port. */
enum { PDL_NET_MAX_HOST = 256 };
void pdl_net_split(const char *item, char *host, int *port);
/* Returns true when an item of `net:` names this host and port. The port is 0 when the address has
 * none. */
bool pdl_net_grants(const path_list *net, const char *host, int port);
/* Returns true for a host with or without a port, and for a domain. */
bool pdl_net_is_item(const char *item);
/* seccomp.c */
bool pdl_filter_load(const sandbox_spec *s, int *calls);
/* sockets.c. Starts a thread of the monitor that answers calls. The descriptor on which the filter
 * passes the calls arrives over the pair. */
void pdl_sockets_serve(int pair);
/* processes.c. Counts the processes of the sandbox, without the monitor, which is the caller.
 * is_only: only processes of the sandbox are visible. */
size_t pdl_processes_count(bool is_only);
void pdl_processes_kill(bool is_only);
/* Reads the beginning of /proc/PID/FILE, ended by NUL; empty when the process has ended. */
void pdl_processes_read(int pid, const char *file, char *text, size_t size);
/* helper_messages.c. Sends a message; with fd -1 it has no descriptor. pdl_pair_receive returns
 * false when the pair is closed. */
void pdl_pair_send(int to, int32_t status, int fd);
bool pdl_pair_receive(int from, int32_t *status, int *fd);
/* proxy.c. Returns a listening socket of the network inside, or -1; pdl_proxy_serve serves its
 * connections. */
int pdl_proxy_listen(int *port);
void pdl_proxy_serve(int listener, const path_list *net);

enum { WATCH_MS = 20, FIRST_FREE_FD = 5, PASS_FD = 5 };

#endif
