/* packed_command.c -- starts a packed command; see pack.h. Before the command line is read, the
 * parts are read from the end of the command's file and compared with their hashes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/import_search.h"
#include "base/os.h"
#include "base/packed_files.h"
#include "cli/cli.h"
#include "cli/pack.h"

#include "base/banned.h"

/* `pdl pack` changes the last byte in the copy that it writes, so the compiler must not treat the
 * byte as constant. */
static const volatile char mark[] = "\x7fpdl pack: 1: -";
enum { MARK = sizeof mark - 2 };

pdl_str pdl_pack_mark(void) { return (pdl_str){(const char *)(uintptr_t)mark, MARK}; }
bool pdl_pack_is_packed(void) { return mark[MARK] == '+'; }

typedef struct packed {
    pdl_str file;           /* the bytes of the whole file */
    pdl_str path, folder;   /* the path of the file, owned by the process */
    char *program;          /* the path of the program */
    PDL_VEC(char *) before; /* words that are inserted before the user's words */
} packed;

static uint64_t number_at(const char *p) {
    uint64_t n = 0;
    for (int i = 7; i >= 0; i--) n = n << 8 | (unsigned char)p[i];
    return n;
}

/* Maps the file of this command into memory. */
static bool map_self(packed *x) {
    char path[PATH_MAX];
    struct stat st;
    size_t n = pdl_os_self(path, sizeof path - 1);
    path[n] = 0;
    int fd = n ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && st.st_size > PDL_PACK_TAIL;
    void *p = ok ? mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (p == MAP_FAILED) return false;
    x->file = (pdl_str){p, (size_t)st.st_size};
    x->path = pdl_str_of(pdl_str_dup((pdl_str){path, n}));
    x->folder = pdl_str_sub(x->path, 0, pdl_str_rfind(x->path, PDL_STR("/")));
    return true;
}

/* Returns the path for a name of the index; owned. */
static char *path_of(const packed *x, pdl_str name) {
    pdl_buf b = PDL_BUF;
    pdl_str library = PDL_STR(PDL_PACK_LIBRARY), here = PDL_STR(PDL_PACK_HERE);
    if (pdl_str_starts(name, library))
        pdl_buf_putf(&b, "%.*s/%.*s", PDL_FMT(pdl_find_installed()),
                     PDL_FMT(pdl_str_sub(name, library.n, name.n)));
    else if (pdl_str_starts(name, here))
        pdl_buf_putf(&b, "%.*s/.packed/%.*s", PDL_FMT(x->folder),
                     PDL_FMT(pdl_str_sub(name, here.n, name.n)));
    else if (pdl_str_starts(name, PDL_STR("/")))
        pdl_buf_put(&b, name);
    else
        pdl_buf_putf(&b, "%.*s/%.*s", PDL_FMT(x->folder), PDL_FMT(name));
    return pdl_buf_take(&b);
}

/* Takes the text up to a character, and skips that character. Returns false when the character does
 * not occur. */
static bool take(pdl_str *rest, char end, pdl_str *out) {
    const char *p = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    if (!p) return false;
    size_t n = (size_t)(p - rest->p);
    *out = pdl_str_sub(*rest, 0, n);
    *rest = pdl_str_sub(*rest, n + 1, rest->n);
    return true;
}

static bool has_hash(pdl_str bytes, pdl_str hash) {
    char hex[65];
    pdl_hash_hex(bytes, hex);
    return pdl_str_is(hash, hex);
}

static void add_words(packed *x, const char *word, pdl_str name) {
    bool is_word = pdl_str_find(name, PDL_STR("/"), 0) == PDL_NOT_FOUND;
    *pdl_vec_push(&x->before) = pdl_str_dup(pdl_str_of(word));
    *pdl_vec_push(&x->before) = is_word ? pdl_str_dup(name) : path_of(x, name);
}

/* Takes the part that a line of the index describes. parts: the bytes that are left. */
static bool add_part(packed *x, pdl_str line, pdl_str *parts) {
    pdl_str role, hash, size;
    if (!take(&line, ' ', &role) || !take(&line, ' ', &hash) || !take(&line, ' ', &size) || !line.n)
        return false;
    if (pdl_str_is(role, "policy") || pdl_str_is(role, "replay")) {
        add_words(x, pdl_str_is(role, "policy") ? "--policy" : "--replay", line);
        return true;
    }
    size_t n = (size_t)strtoull(size.p, NULL, 10); /* a blank follows, at which strtoull stops */
    if (n > parts->n || !has_hash(pdl_str_sub(*parts, 0, n), hash)) return false;
    char *path = path_of(x, line);
    if (pdl_str_is(role, "program")) x->program = path;
    pdl_packed_add(path, pdl_str_sub(*parts, 0, n));
    *parts = pdl_str_sub(*parts, n, parts->n);
    return true;
}

static bool read_parts(packed *x) {
    if (!map_self(x)) return false;
    pdl_str tail = pdl_str_sub(x->file, x->file.n - PDL_PACK_TAIL, x->file.n), line;
    if (memcmp(tail.p, PDL_PACK_MAGIC, sizeof PDL_PACK_MAGIC - 1) != 0) return false;
    uint64_t from = number_at(tail.p + 16), index_size = number_at(tail.p + 24);
    size_t end = x->file.n - PDL_PACK_TAIL;
    if (index_size > end || from > end - index_size) return false;
    pdl_str index = pdl_str_sub(x->file, end - (size_t)index_size, end);
    pdl_str parts = pdl_str_sub(x->file, (size_t)from, end - (size_t)index_size);
    unsigned char sum[32];
    pdl_sha256 h;
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, index);
    pdl_sha256_done(&h, sum);
    if (memcmp(sum, tail.p + 32, sizeof sum) != 0) return false;
    while (index.n)
        if (!take(&index, '\n', &line) || !add_part(x, line, &parts)) return false;
    return x->program && !parts.n;
}

/* Options by which the user decides what is done with the program. All other words are passed to
 * the program. */
static const struct {
    const char *word, *verb, *more;
} ways[] = {{"--serve", "serve", NULL}, {"--mcp", "serve", "--mcp"}};

static bool has_recording(const packed *x) {
    for (size_t i = 0; i < x->before.n; i += 2)
        if (strcmp(x->before.p[i], "--replay") == 0) return true;
    return false;
}

int pdl_pack_begin(int *argc, char ***argv) {
    static packed x; /* the process uses the parts until it ends */
    static char **all;
    if (!pdl_pack_is_packed()) return 0;
    if (!read_parts(&x)) {
        pdl_cli_note("pdl: error: this command is not what `pdl pack` wrote: it was changed, or "
                     "cannot be read; pack it again");
        return 1;
    }
    const char *verb = "run", *more = NULL;
    int own = 1;
    for (size_t i = 0; *argc > 1 && i < sizeof ways / sizeof *ways; i++) {
        if (strcmp((*argv)[1], ways[i].word) != 0) continue;
        verb = ways[i].verb;
        more = ways[i].more;
        own = 2;
    }
    if (own == 2 && has_recording(&x)) {
        pdl_cli_note("pdl: error: %s: this command answers from the recording that was packed with "
                     "it, which holds one run; pack it without --replay to serve it",
                     (*argv)[1]);
        return 2;
    }
    size_t n = 0;
    all = PDL_NEW_N(char *, (size_t)*argc + x.before.n + 5);
    all[n++] = (*argv)[0];
    all[n++] = pdl_str_dup(pdl_str_of(verb));
    if (more) all[n++] = pdl_str_dup(pdl_str_of(more));
    for (size_t i = 0; i < x.before.n; i++) all[n++] = x.before.p[i];
    all[n++] = x.program;
    for (int i = own; i < *argc; i++) all[n++] = (*argv)[i];
    all[n] = NULL;
    pdl_vec_fini(&x.before);
    *argc = (int)n;
    *argv = all;
    return 0;
}
