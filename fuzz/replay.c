/* replay.c -- all fuzz targets in one program, without libFuzzer: `pdl-fuzz-replay TARGET PATH ...`
 * runs one over files and folders, `pdl-fuzz-replay --list` names them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "names.h"

typedef int target(const uint8_t *data, size_t size);

#define X(name) target fuzz_target_##name;
FUZZ_TARGETS(X)
#undef X

static const struct {
    const char *name;
    target *run;
} targets[] = {
#define X(name) {#name, fuzz_target_##name},
    FUZZ_TARGETS(X)
#undef X
};

static size_t n_run;

static void run_file(target *run, const char *path) {
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
    run((const uint8_t *)(b.len ? b.p : ""), b.len);
    pdl_buf_fini(&b);
    n_run++;
}

static void run_path(target *run, const char *path) {
    struct stat st;
    DIR *d = stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? opendir(path) : NULL;
    if (!d) {
        run_file(run, path);
        return;
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        pdl_buf b = PDL_BUF;
        pdl_buf_putf(&b, "%s/%s", path, e->d_name);
        if (e->d_name[0] != '.') run_file(run, pdl_buf_z(&b));
        pdl_buf_fini(&b);
    }
    closedir(d);
}

static target *target_of(const char *name) {
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++)
        if (strcmp(name, targets[i].name) == 0) return targets[i].run;
    return NULL;
}

static int list(void) {
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) puts(targets[i].name);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "--list") == 0) return list();
    target *run = argc > 1 ? target_of(argv[1]) : NULL;
    if (!run) {
        fputs("usage: pdl-fuzz-replay TARGET PATH ... (--list names the targets)\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) run_path(run, argv[i]);
    printf("%zu passed, 0 failed\n", n_run);
    return 0;
}
