/* processes.c -- the processes of a sandbox, as its monitor sees them in /proc: all visible
 * processes when the sandbox has a namespace of processes, and otherwise the descendants of the
 * monitor. The whole table is read at once, and each chain of parents is followed once, whatever
 * its length.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/sandbox_impl.h"

#include "base/banned.h"

typedef enum { OPEN, INSIDE, OUTSIDE } place_of_process;

typedef struct process_entry {
    int pid, parent;
    place_of_process place;
} process_entry;

typedef PDL_VEC(process_entry) process_list;

void pdl_processes_read(int pid, const char *file, char *text, size_t size) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = 0;
}

/* Returns 0 when the process has ended. */
static int parent_of(int pid) {
    char text[512];
    int parent = 0;
    pdl_processes_read(pid, "stat", text, sizeof text);
    const char *end = strrchr(text, ')');
    return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

static int by_pid(const void *a, const void *b) {
    int x = ((const process_entry *)a)->pid, y = ((const process_entry *)b)->pid;
    return x < y ? -1 : x > y;
}

static process_entry *find(const process_list *l, int pid) {
    process_entry key = {.pid = pid};
    return l->n ? bsearch(&key, l->p, l->n, sizeof key, by_pid) : NULL;
}

/* Follows the parents of e to a process whose place is known, and marks the processes on the way
 * with that place. */
static void place(const process_list *l, process_entry *e, int root) {
    place_of_process found = OPEN;
    size_t steps = 0;
    for (process_entry *at = e; found == OPEN; steps++) {
        process_entry *up = find(l, at->parent);
        found = at->parent == root ? INSIDE : !up || steps > l->n ? OUTSIDE : up->place;
        at = up;
    }
    for (process_entry *at = e; at && at->place == OPEN; at = find(l, at->parent))
        at->place = found;
}

static void read_all(bool is_only, process_list *out) {
    int self = (int)getpid();
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && (e = readdir(d));) {
        int pid = isdigit((unsigned char)e->d_name[0]) ? (int)strtol(e->d_name, NULL, 10) : 0;
        if (pid <= 1 || pid == self) continue;
        process_entry one = {.pid = pid, .parent = is_only ? self : parent_of(pid)};
        *pdl_vec_push(out) = one;
    }
    if (d) closedir(d);
    if (out->n) qsort(out->p, out->n, sizeof *out->p, by_pid);
    for (size_t i = 0; i < out->n; i++)
        if (out->p[i].place == OPEN) place(out, &out->p[i], self);
}

static size_t each_process(bool is_only, bool kills) {
    process_list all = {0};
    size_t n = 0;
    read_all(is_only, &all);
    for (size_t i = 0; i < all.n; i++) {
        if (all.p[i].place != INSIDE) continue;
        n++;
        if (kills) kill(all.p[i].pid, SIGKILL);
    }
    pdl_vec_fini(&all);
    return n;
}

size_t pdl_processes_count(bool is_only) { return each_process(is_only, false); }

void pdl_processes_kill(bool is_only) {
    enum { TRIES = 50, PAUSE_US = 2000 };
    for (int i = 0; i < TRIES && each_process(is_only, true); i++) {
        while (waitpid(-1, NULL, WNOHANG) > 0) {}
        usleep(PAUSE_US);
    }
}
