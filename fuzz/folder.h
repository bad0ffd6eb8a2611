/* folder.h -- a folder for the files of one input. It is in memory where the system has such a
 * place, because the tested code syncs its files, which takes most of the time on a disk.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_FUZZ_FOLDER_H
#define PDL_FUZZ_FOLDER_H

#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

#include "fuzz.h"

/* Keeps a library loaded. Otherwise the library is closed after its last use, and loading it again
 * for each input takes a third of the time. */
static inline void fuzz_keep_library(const char *name) {
    static void *kept;
    if (!kept) kept = dlopen(name, RTLD_NOW);
}

typedef struct fuzz_folder {
    char path[200];
} fuzz_folder;

static inline fuzz_folder fuzz_folder_new(void) {
    fuzz_folder f;
    const char *tmp = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : getenv("TMPDIR");
    snprintf(f.path, sizeof f.path, "%s/pdl-fuzz-XXXXXX", tmp ? tmp : "/tmp");
    FUZZ_MUST(mkdtemp(f.path));
    return f;
}

/* Returns the path of a file in the folder. Owned. */
static inline char *fuzz_file(const fuzz_folder *f, const char *name) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/%s", f->path, name);
    return pdl_buf_take(&b);
}

static inline void fuzz_write(const char *path, pdl_str bytes) {
    FILE *f = fopen(path, "wb");
    FUZZ_MUST(f && fwrite(bytes.p, 1, bytes.n, f) == bytes.n && fclose(f) == 0);
}

/* Removes the folder and the files in it. */
static inline void fuzz_folder_remove(const fuzz_folder *f) {
    DIR *d = opendir(f->path);
    FUZZ_MUST(d);
    for (struct dirent *e; (e = readdir(d));) {
        char *path = fuzz_file(f, e->d_name);
        if (e->d_name[0] != '.') unlink(path);
        pdl_free(path);
    }
    closedir(d);
    FUZZ_MUST(rmdir(f->path) == 0);
}

#endif
