/* bench_load.c -- speed of loading programs: `name value unit` lines, one a stage.
 *
 *     bench_load [--stage NAME [--rounds N]] FILE...
 *
 * Each stage is repeated for a while over all files and its best round counts; with N, for that
 * many rounds, so that instructions can be counted. Stages contain each
 * other: our events, nodes, blocks, blocks and checks, blocks and code. Where libyaml was there at
 * build time, its events are what ours are held against: load_events_of_libyaml is the ratio.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "base/pool.h"
#include "check/check.h"
#include "compile/compile.h"
#include "lang/load.h"
#include "yaml/events.h"
#include "yaml/load.h"
#include "yaml/yaml.h"

#ifdef HAVE_LIBYAML
#include <yaml.h>
#endif

#include "base/banned.h"

enum { MIN_ROUNDS = 5, MAX_FILES = 256 };
static const double ROUND_SECONDS = 1.0; /* time spent on a stage */

typedef struct file {
    pdl_str name, text;
} file;

typedef void stage_fn(const file *f);

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

#ifdef HAVE_LIBYAML
static void libyaml_events(const file *f) {
    yaml_parser_t p;
    yaml_event_t e;
    if (!yaml_parser_initialize(&p)) PDL_BUG("libyaml has no memory");
    yaml_parser_set_input_string(&p, (const unsigned char *)f->text.p, f->text.n);
    yaml_parser_set_encoding(&p, YAML_UTF8_ENCODING);
    for (bool more = true; more && yaml_parser_parse(&p, &e);) {
        more = e.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&e);
    }
    yaml_parser_delete(&p);
}
#endif

/* With what a load needs before them: UTF-8, line ends, characters. */
static void events(const file *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    pdl_err err = {0};
    pdl_yevent e = {0};
    bool ok = pdl_yaml_source(a, f->name, f->text, &src, &err) &&
              pdl_yaml_check_chars(src->text, src, &err);
    pdl_yreader *r = pdl_yreader_new(src);
    while (ok && e.kind != PDL_YEV_STOP) ok = pdl_yreader_next(r, &e, &err);
    if (!ok) PDL_BUG("%s: %s", f->name.p, err.msg);
    pdl_yreader_free(r);
    pdl_arena_free(a);
}

static void nodes(const file *f) {
    pdl_arena *a = pdl_arena_make();
    pdl_source *src;
    const pdl_node *root;
    pdl_err err = {0};
    if (!pdl_yaml_source(a, f->name, f->text, &src, &err) || !pdl_yaml_load(a, src, &root, &err))
        PDL_BUG("%s: %s", f->name.p, err.msg);
    pdl_arena_free(a);
}

static pdl_program *load(const file *f) {
    pdl_program *p = pdl_program_new();
    bool ok;
    pdl_program_load(p, f->name, f->text, &ok);
    if (!ok) PDL_BUG("%s: %.*s", f->name.p, PDL_FMT(p->diags.p[0].text));
    return p;
}

static void blocks(const file *f) { pdl_program_drop(load(f)); }

static void checked(const file *f) {
    pdl_program *p = load(f);
    pdl_program_check(p, &(pdl_check_options){0});
    pdl_program_drop(p);
}

static void compiled(const file *f) {
    pdl_program *p = load(f);
    pdl_interner *names = pdl_interner_new();
    pdl_code_drop(pdl_compile_program(p, names, false));
    pdl_interner_drop(names);
    pdl_program_drop(p);
}

static const struct {
    const char *name;
    stage_fn *fn;
} stages[] = {
#ifdef HAVE_LIBYAML
    {"load_libyaml_events", libyaml_events},
#endif
    {"load_events", events},
    {"load_nodes", nodes},
    {"load_blocks", blocks},
    {"load_checked", checked},
    {"load_compiled", compiled}};

static double best_round(stage_fn *fn, const file *files, size_t n, long rounds) {
    double best = 1e9, begin = now();
    for (long round = 0;
         rounds ? round < rounds : round < MIN_ROUNDS || now() - begin < ROUND_SECONDS; round++) {
        double start = now();
        for (size_t i = 0; i < n; i++) fn(&files[i]);
        double took = now() - start;
        if (took < best) best = took;
    }
    return best;
}

static pdl_str read_file(const char *path) {
    char chunk[65536];
    pdl_buf b = PDL_BUF;
    FILE *in = fopen(path, "rb");
    if (!in) PDL_BUG("cannot open %s", path);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, in)) > 0;)
        pdl_buf_put(&b, (pdl_str){chunk, n});
    fclose(in);
    return pdl_buf_str(&b);
}

int main(int argc, char **argv) {
    file files[MAX_FILES];
    size_t n = 0, bytes = 0;
    const char *only = argc > 2 && strcmp(argv[1], "--stage") == 0 ? argv[2] : NULL;
    bool counted = only && argc > 4 && strcmp(argv[3], "--rounds") == 0;
    long rounds = counted ? strtol(argv[4], NULL, 10) : 0;
    for (int i = only ? rounds ? 5 : 3 : 1; i < argc && n < MAX_FILES; i++, n++) {
        files[n] = (file){pdl_str_of(argv[i]), read_file(argv[i])};
        bytes += files[n].text.n;
    }
    if (!n) {
        fputs("usage: bench_load [--stage NAME [--rounds N]] FILE...\n", stderr);
        return 2;
    }
    /* memory as the command has it */
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
    pdl_pool_enter(pdl_pool_new());
    double ours = 0, theirs = 0;
    printf("load_bytes %zu B\n", bytes);
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (only && strcmp(only, stages[i].name) != 0) continue;
        double took = best_round(stages[i].fn, files, n, rounds);
        printf("%s %.1f MB/s\n", stages[i].name, (double)bytes / took / 1e6);
        printf("%s_time %.2f ms\n", stages[i].name, took * 1e3);
        if (stages[i].fn == events) ours = took;
#ifdef HAVE_LIBYAML
        if (stages[i].fn == libyaml_events) theirs = took;
#endif
    }
    if (ours > 0 && theirs > 0) printf("load_events_of_libyaml %.1f x\n", theirs / ours);
    for (size_t i = 0; i < n; i++) pdl_free((void *)(uintptr_t)files[i].text.p);
    return 0;
}
