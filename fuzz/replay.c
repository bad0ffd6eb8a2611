/* replay.c -- all fuzz targets in one program, without libFuzzer. `pdl-fuzz-replay TARGET PATH ...`
 * runs one target over files and folders, and `pdl-fuzz-replay --list` prints the names. Where
 * clang is not installed, `--change SECONDS SEED` before the target runs it over random changes of
 * these files for that time. An input that ends the process is left in pdl-fuzz-last.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "fuzz.h"
#include "io/clock.h"
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

/* With --change: the time, the seed of the changes, and the contents of the files. */
static struct {
    double seconds; /* 0 without --change */
    uint64_t seed;
    PDL_VEC(pdl_buf) inputs;
} change;

/* --- random changes --------------------------------------------------------------------------- */

enum { MAX_CHANGES = 6, MAX_BYTES = 4096, MAX_COPY = 64 };

static uint64_t draw(void) { /* splitmix64 */
    uint64_t x = change.seed += 0x9E3779B97F4A7C15u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
}

static size_t below(size_t n) { return n ? (size_t)(draw() % n) : 0; }

static pdl_str some_bytes(void) {
    static const char *const words[] = {"1e400",
                                        "NaN",
                                        "\"\\ud800\"",
                                        "-0",
                                        "null",
                                        "[[[[",
                                        "{\"a\":",
                                        "\n",
                                        "\r\n",
                                        "---",
                                        "\xff",
                                        "\\",
                                        "${",
                                        "}}",
                                        "\"",
                                        ",",
                                        "99999999999999999999"};
    if (draw() & 1) return pdl_str_of(words[below(sizeof words / sizeof words[0])]);
    pdl_str from = pdl_buf_str(&change.inputs.p[below(change.inputs.n)]);
    size_t at = below(from.n), n = below(MAX_COPY);
    return pdl_str_sub(from, at, n < from.n - at ? at + n : from.n);
}

/* Replaces a byte, removes a part, or inserts a word or a part of another input. */
static void change_once(pdl_buf *b) {
    size_t at = below(b->len + 1), n = below(MAX_COPY);
    pdl_buf out = PDL_BUF;
    switch (draw() % 4) {
    case 0:
        if (at < b->len) b->p[at] = (char)draw();
        return;
    case 1:
        pdl_buf_put(&out, pdl_str_sub(pdl_buf_str(b), 0, at));
        if (n < b->len - at) pdl_buf_put(&out, pdl_str_sub(pdl_buf_str(b), at + n, b->len));
        break;
    default:
        pdl_buf_put(&out, pdl_str_sub(pdl_buf_str(b), 0, at));
        pdl_buf_put(&out, some_bytes());
        pdl_buf_put(&out, pdl_str_sub(pdl_buf_str(b), at, b->len));
    }
    if (out.len > MAX_BYTES) pdl_buf_cut(&out, MAX_BYTES);
    pdl_buf_fini(b);
    *b = out;
}

static void keep_input(pdl_str bytes) {
    FILE *f = fopen("pdl-fuzz-last", "wb");
    if (f) (void)fwrite(bytes.p, 1, bytes.n, f);
    if (f) fclose(f);
}

static pdl_buf last; /* the input that runs; an abort writes it to a file */

static void on_abort(int signal) {
    (void)signal;
    keep_input(pdl_buf_str(&last));
}

static void run_changes(target *run) {
    uint64_t end = pdl_clock_ns() + (uint64_t)(change.seconds * 1e9);
    signal(SIGABRT, on_abort);
    signal(SIGALRM, on_abort);
    while (pdl_clock_ns() < end) {
        pdl_buf_clear(&last);
        pdl_buf_put(&last, pdl_buf_str(&change.inputs.p[below(change.inputs.n)]));
        for (size_t i = below(MAX_CHANGES) + 1; i > 0; i--) change_once(&last);
        run((const uint8_t *)(last.len ? last.p : ""), last.len);
        n_run++;
    }
    pdl_buf_fini(&last);
    for (size_t i = 0; i < change.inputs.n; i++) pdl_buf_fini(&change.inputs.p[i]);
    pdl_vec_fini(&change.inputs);
}

/* --- files ------------------------------------------------------------------------------------ */

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
    if (change.seconds > 0) {
        *pdl_vec_push(&change.inputs) = b;
        return;
    }
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
    last = PDL_BUF;
    if (argc > 4 && strcmp(argv[1], "--change") == 0) {
        change.seconds = strtod(argv[2], NULL);
        change.seed = strtoull(argv[3], NULL, 10);
        argc -= 3;
        argv += 3;
    }
    target *run = argc > 1 ? target_of(argv[1]) : NULL;
    if (!run) {
        fputs("usage: pdl-fuzz-replay TARGET PATH ... (--list names the targets)\n", stderr);
        return 2;
    }
    for (int i = 2; i < argc; i++) run_path(run, argv[i]);
    if (change.inputs.n) run_changes(run);
    printf("%zu passed, 0 failed\n", n_run);
    return 0;
}
