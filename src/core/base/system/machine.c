/* machine.c -- see machine.h. Reads /proc/meminfo and the limits of the control group that the
 * process is in. A file that cannot be read sets no limit.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/machine.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

enum { FILE_SIZE = 8192 };

/* The number of free bytes that PDL_STRESS=room:N pretends; 0 without that switch. */
static atomic_size_t said;

void pdl_machine_say_left(size_t bytes) { atomic_store(&said, bytes); }

/* Reads the beginning of a file, without allocating. */
static bool read_file(const char *path, char text[FILE_SIZE]) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return false;
    ssize_t n = read(fd, text, FILE_SIZE - 1);
    close(fd);
    text[n > 0 ? n : 0] = 0;
    return n > 0;
}

/* Reads the number after name at the beginning of a line. */
static bool number_after(const char *text, const char *name, uint64_t *out) {
    size_t n = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, name, n) != 0) continue;
        char *end;
        *out = strtoull(line + n, &end, 10);
        return end != line + n;
    }
    return false;
}

static uint64_t left_in_machine(void) {
    char text[FILE_SIZE];
    uint64_t available, swap = 0;
    if (!read_file("/proc/meminfo", text) || !number_after(text, "MemAvailable:", &available))
        return UINT64_MAX;
    (void)number_after(text, "SwapFree:", &swap);
    return (available + swap) * 1024;
}

/* Returns what is left in the group at the root of the hierarchy as this process sees it, which in
 * a container is the container's group. Pages of files and the kernel's records of files count as
 * free, because the kernel can reclaim them. */
static uint64_t left_in_group(void) {
    char text[FILE_SIZE];
    static const char *const returnable[] = {"inactive_file ", "active_file ", "slab_reclaimable "};
    uint64_t most, used, n;
    if (!read_file("/sys/fs/cgroup/memory.max", text) || !number_after(text, "", &most) ||
        !read_file("/sys/fs/cgroup/memory.current", text) || !number_after(text, "", &used))
        return UINT64_MAX; /* "max" is no number */
    text[0] = 0;
    (void)read_file("/sys/fs/cgroup/memory.stat", text);
    for (size_t i = 0; i < sizeof returnable / sizeof returnable[0]; i++)
        if (number_after(text, returnable[i], &n)) used -= n < used ? n : used;
    return used < most ? most - used : 0;
}

size_t pdl_machine_left(size_t taken) {
    size_t left = atomic_load(&said);
    if (left) {
        left = left > taken ? left - taken : 1;
        atomic_store(&said, left);
        return left;
    }
    uint64_t machine = left_in_machine(), group = left_in_group();
    uint64_t least = group < machine ? group : machine;
    return least < SIZE_MAX ? (size_t)least : SIZE_MAX;
}
