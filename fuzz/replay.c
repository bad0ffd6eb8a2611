/* replay.c -- main of a fuzz target without libFuzzer: runs the files and folders it is given.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"

static size_t n_run;

static void run_file(const char *path) {
    FILE *f = fopen(path, "rb");
    pdl_buf b = PDL_BUF;
    char chunk[4096];
    if (!f) {
        perror(path);
        exit(1);
    }
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, f)) > 0;)
        pdl_buf_put(&b, (pdl_str){chunk, n});
    fclose(f);
    LLVMFuzzerTestOneInput((const uint8_t *)(b.len ? b.p : ""), b.len);
    pdl_buf_fini(&b);
    n_run++;
}

static void run_path(const char *path) {
    struct stat st;
    DIR *d = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (!d) {
        run_file(path);
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.') run_file(pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
    closedir(d);
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) run_path(argv[i]);
    printf("%zu passed, 0 failed\n", n_run);
    return 0;
}
