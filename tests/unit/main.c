/* main.c -- all unit test programs in one, which is linked once. `unit-tests NAME` runs the program
 * NAME in this process, and so does a link to this file with that name; `unit-tests --list` prints
 * the names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "names.h"

#define X(name) int name(void);
UNIT_TESTS(X)
#undef X

static const struct {
    const char *name;
    int (*run)(void);
} programs[] = {
#define X(name) {#name, name},
    UNIT_TESTS(X)
#undef X
};

static const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : argc ? file_name(argv[0]) : "";
    bool lists = strcmp(name, "--list") == 0;
    for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        if (lists) puts(programs[i].name);
        if (strcmp(name, programs[i].name) == 0) return programs[i].run();
    }
    if (!lists) fprintf(stderr, "unit-tests: no program %s; --list names them\n", name);
    return lists ? 0 : 2;
}
