/* cmd_pack.c -- pdl pack FILE: writes one executable file that contains the pdl command and a
 * program.
 *
 * The program is loaded and checked as by `pdl check`. Each file that is read meanwhile becomes a
 * part of the result: modules, policies with their lock files and lists, settings. So exactly the
 * files that a run would read are packed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "api/import_search.h"
#include "api/policy.h"
#include "api/policy_check.h"
#include "base/libraries.h"
#include "base/packed_files.h"
#include "base/plural.h"
#include "check/report.h"
#include "cli/cli.h"
#include "cli/pack.h"
#include "io/file.h"
#include "lang/load.h"
#include "lang/walk.h"

#include "base/banned.h"

typedef struct packed_part {
    char *name; /* the name that the index has for the part */
    pdl_buf bytes;
    bool is_program;
} packed_part;

typedef struct packer {
    const arguments *a;
    pdl_str file, folder; /* the program and its folder */
    const pdl_str *path;  /* folders of the library */
    size_t n_path;
    PDL_VEC(packed_part) parts;
    PDL_VEC(char *) read;                  /* paths of the files that were read; owned */
    bool python, commands, servers, files; /* features that the result needs to run */
    bool is_static;
} packer;

/* --- the parts -------------------------------------------------------------------------------- */

/* Returns the name of the part that has this path; owned. */
static char *name_of(const packer *k, pdl_str path) {
    pdl_buf b = PDL_BUF;
    size_t n = k->folder.n;
    for (size_t i = 0; i < k->n_path; i++) {
        pdl_str l = k->path[i];
        if (!l.n || !pdl_str_starts(path, l) || path.n <= l.n || path.p[l.n] != '/') continue;
        pdl_buf_putf(&b, PDL_PACK_LIBRARY "%.*s", PDL_FMT(pdl_str_sub(path, l.n + 1, path.n)));
        return pdl_buf_take(&b);
    }
    if (n && pdl_str_starts(path, k->folder) && path.n > n && path.p[n] == '/')
        pdl_buf_put(&b, pdl_str_sub(path, n + 1, path.n));
    else if (!n || pdl_str_starts(path, PDL_STR("/")))
        pdl_buf_put(&b, path);
    else
        pdl_buf_putf(&b, PDL_PACK_HERE "%.*s", PDL_FMT(path));
    return pdl_buf_take(&b);
}

static packed_part *add_part(packer *k, char *name, pdl_str bytes) {
    for (size_t i = 0; i < k->parts.n; i++) {
        if (strcmp(k->parts.p[i].name, name) != 0) continue;
        pdl_free(name);
        return &k->parts.p[i];
    }
    packed_part *p = pdl_vec_push(&k->parts);
    *p = (packed_part){.name = name, .bytes = PDL_BUF};
    pdl_buf_put(&p->bytes, bytes);
    return p;
}

static void on_file(void *user, const char *path, pdl_str bytes) {
    packer *k = user;
    *pdl_vec_push(&k->read) = pdl_str_dup(pdl_str_of(path));
    add_part(k, name_of(k, pdl_str_of(path)), bytes);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const packed_part *)a)->name, ((const packed_part *)b)->name);
}

/* --- what the host must have ------------------------------------------------------------------ */

static void look_at_code(packer *k, const pdl_b_code *code) {
    bool starts = code->args || pdl_str_is(code->lang.s, "command");
    bool is_python = !code->lang.s.n || pdl_str_is(code->lang.s, "ipython") ||
                     pdl_str_is(code->lang.s, "python");
    k->commands |= starts;
    k->python |= is_python && !starts;
}

/* Returns true for a block `read` that reads a file, not standard input. */
static bool is_of_file(const pdl_b_read *b) {
    return b->path && (b->path->kind != PDL_TREE_CONST || !pdl_is_null(b->path->value));
}

static void look_at_block(void *user, const pdl_block *b) {
    packer *k = user;
    if (b->kind == PDL_BLOCK_code) look_at_code(k, PDL_AS(code, b));
    if (b->kind == PDL_BLOCK_import)
        k->servers |= pdl_str_starts(PDL_AS(import, b)->path.s, PDL_STR("tools:"));
    if (b->kind == PDL_BLOCK_read) k->files |= is_of_file(PDL_AS(read, b));
    pdl_block_each_child(b, look_at_block, user);
}

/* --- checking --------------------------------------------------------------------------------- */

static bool report_errors(const packer *k, const pdl_program *p, const pdl_session *s) {
    pdl_check_report r = {.form = PDL_REPORT_TEXT};
    pdl_buf out = PDL_BUF;
    bool failed = false;
    for (size_t i = 0; i < p->diags.n; i++) {
        const pdl_diag *d = &p->diags.p[i];
        if (d->reference_only || d->severity != PDL_DIAG_ERROR) continue;
        failed = true;
        pdl_report_add(&r, d, k->file, &out);
    }
    if (failed) pdl_cli_put_stderr(pdl_buf_str(&out), s);
    pdl_buf_fini(&out);
    return failed;
}

/* Loads and checks the program. Returns the exit code. */
static int collect(packer *k, pdl_session *s, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE);
    pdl_program *p = pdl_program_new();
    pdl_policies *policies = NULL;
    pdl_finder finder = {.file = k->file, .only_files = true};
    bool loaded = false;
    finder.path = k->path = pdl_session_path(s, &k->n_path);
    finder.n_path = k->n_path;
    bool ok = pdl_cli_read_program(k->file, &text, err);
    if (ok) {
        add_part(k, name_of(k, k->file), pdl_buf_str(&text))->is_program = true;
        pdl_program_load(p, k->file, pdl_buf_str(&text), &loaded);
        pdl_session_note(s, p);
        pdl_program_check(p, &(pdl_check_options){.open = pdl_find_open,
                                                  .user = &finder,
                                                  .stdlib = pdl_session_library_text()});
        ok = pdl_session_policies(s, p, &policies, err);
    }
    int code = !ok ? 1 : report_errors(k, p, s) ? 1 : 0;
    if (ok && p->main) look_at_block(k, p->main);
    for (size_t i = 0; ok && i < p->others.n; i++)
        if (p->others.p[i]->main) look_at_block(k, p->others.p[i]->main);
    pdl_policies_free(policies);
    pdl_program_drop(p);
    pdl_buf_fini(&text);
    return code;
}

/* Adds the recording as a part. SQLite refuses to open a file in memory when its head says that a
 * log is beside it, so the head of the part is changed. */
static bool add_recording(packer *k, pdl_err *err) {
    enum { VERSIONS = 18 };
    static const char head[] = "SQLite format 3";
    pdl_buf bytes = PDL_BUF, log = PDL_BUF;
    char *path = pdl_str_dup(k->a->value[OPT_replay]);
    struct stat st;
    pdl_buf_putf(&log, "%s-wal", path);
    bool ok = pdl_file_read(path, &bytes, err);
    bool unfinished = ok && stat(pdl_buf_z(&log), &st) == 0 && st.st_size > 0;
    if (ok && (bytes.len < 100 || memcmp(bytes.p, head, sizeof head) != 0 || unfinished))
        ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0},
                         unfinished ? "the recording %s is in use" : "%s is no recording", path);
    if (ok) {
        bytes.p[VERSIONS] = bytes.p[VERSIONS + 1] = 1;
        add_part(k, pdl_str_dup(PDL_STR(PDL_PACK_HERE "recording")), pdl_buf_str(&bytes));
    }
    pdl_free(path);
    pdl_buf_fini(&log);
    pdl_buf_fini(&bytes);
    return ok;
}

/* --- the command ------------------------------------------------------------------------------ */

static const char *const beside[] = {"pdl-static", "../share/pdl/pdl-static"};

/* Finds the pdl command that becomes a part of the result; owned. Returns NULL when it is not
 * found. */
static char *find_command(const packer *k) {
    if (k->a->given[OPT_command]) return pdl_str_dup(k->a->value[OPT_command]);
    pdl_buf self = PDL_BUF, at = PDL_BUF;
    char *found = NULL;
    if (pdl_file_put_self(&self)) {
        pdl_str folder = pdl_file_folder(pdl_buf_str(&self));
        for (size_t i = 0; i < sizeof beside / sizeof *beside && !found; i++) {
            pdl_buf_clear(&at);
            pdl_buf_putf(&at, "%.*s/%s", PDL_FMT(folder), beside[i]);
            if (pdl_file_kind_of(pdl_buf_z(&at)) == PDL_FILE_REGULAR)
                found = pdl_str_dup(pdl_buf_str(&at));
        }
        if (!found && pdl_library_is_inside()) found = pdl_str_dup(pdl_buf_str(&self));
    }
    pdl_buf_fini(&self);
    pdl_buf_fini(&at);
    return found;
}

/* Returns true for an ELF executable that needs no loader. */
static bool needs_no_loader(pdl_str file) {
    enum { PHOFF = 32, PHSIZE = 54, PHNUM = 56, HEADER = 64, INTERPRETER = 3 };
    if (file.n < HEADER || memcmp(file.p, "\177ELF\2\1", 6) != 0) return false;
    uint64_t at;
    uint16_t size, n;
    memcpy(&at, file.p + PHOFF, sizeof at);
    memcpy(&size, file.p + PHSIZE, sizeof size);
    memcpy(&n, file.p + PHNUM, sizeof n);
    for (uint16_t i = 0; i < n; i++, at += size) {
        uint32_t type;
        if (at > file.n - sizeof type) return false;
        memcpy(&type, file.p + at, sizeof type);
        if (type == INTERPRETER) return false;
    }
    return true;
}

/* Marks the command as packed. */
static bool mark_command(packer *k, const char *path, pdl_buf *whole, pdl_err *err) {
    pdl_str mark = pdl_pack_mark(), file = pdl_buf_str(whole);
    size_t at = pdl_str_find(file, mark, 0);
    if (at == PDL_NOT_FOUND || at + mark.n >= file.n)
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "argument --command: %s is no command pdl of this version", path);
    if (file.p[at + mark.n] == '+')
        return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                           "argument --command: %s is packed itself; name the command pdl", path);
    whole->p[at + mark.n] = '+';
    k->is_static = needs_no_loader(file);
    return true;
}

/* --- the file --------------------------------------------------------------------------------- */

static void put_number(uint64_t n, char *out) {
    for (int i = 0; i < 8; i++) out[i] = (char)(unsigned char)(n >> (8 * i));
}

static void put_index(const packer *k, pdl_buf *out) {
    const arguments *a = k->a;
    for (size_t i = 0; i < k->parts.n; i++) {
        const packed_part *p = &k->parts.p[i];
        char hex[65];
        pdl_hash_hex(pdl_buf_str(&p->bytes), hex);
        pdl_buf_putf(out, "%s %s %zu %s\n", p->is_program ? "program" : "file", hex, p->bytes.len,
                     p->name);
    }
    for (size_t i = 0; i < a->policies.n; i++) {
        pdl_str given = a->policies.p[i];
        bool is_path = memchr(given.p, '/', given.n) || memchr(given.p, '.', given.n);
        char *name = is_path ? name_of(k, given) : pdl_str_dup(given);
        /* a file name without a slash gets ./, because a bare word means a built-in policy */
        bool is_plain = is_path && !strchr(name, '/');
        pdl_buf_putf(out, "policy - 0 %s%s\n", is_plain ? "./" : "", name);
        pdl_free(name);
    }
    if (a->given[OPT_replay]) PDL_PUT(out, "replay - 0 " PDL_PACK_HERE "recording\n");
}

static bool has_good_names(const packer *k, pdl_err *err) {
    for (size_t i = 0; i < k->parts.n; i++)
        for (const char *p = k->parts.p[i].name; *p; p++)
            if ((unsigned char)*p < ' ')
                return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                                   "a name with control characters cannot be packed");
    return true;
}

static bool write_file(const packer *k, const char *path, pdl_str whole, pdl_err *err) {
    char tail[PDL_PACK_TAIL] = PDL_PACK_MAGIC;
    pdl_buf index = PDL_BUF;
    pdl_file_out *out;
    pdl_sha256 h;
    if (!has_good_names(k, err)) return false;
    put_index(k, &index);
    put_number(whole.n, tail + 16);
    put_number(index.len, tail + 24);
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, pdl_buf_str(&index));
    pdl_sha256_done(&h, (unsigned char *)tail + 32);
    bool begun = pdl_file_out_begin(path, &out, err);
    bool ok = begun && pdl_file_out_put(out, whole, err);
    for (size_t i = 0; ok && i < k->parts.n; i++)
        ok = pdl_file_out_put(out, pdl_buf_str(&k->parts.p[i].bytes), err);
    ok = ok && pdl_file_out_put(out, pdl_buf_str(&index), err) &&
         pdl_file_out_put(out, (pdl_str){tail, sizeof tail}, err);
    if (begun) ok = pdl_file_out_end(out, ok, err) && ok;
    pdl_buf_fini(&index);
    return ok && (chmod(path, 0755) == 0 || pdl_file_errno(err, errno, path));
}

/* Prints what a run needs besides the packed file. A run with a recording needs none of this. */
static void say_needs_of_run(const packer *k) {
    const struct {
        bool needed;
        const char *what;
    } all[] = {{k->python, "a Python (`lang: python`)"},
               {k->commands, "the commands that it starts"},
               {k->servers, "the tool servers of its imports"},
               {k->files, "the files that it reads, beside it"}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].needed) pdl_cli_note("pdl: where it runs there must be %s", all[i].what);
}

static void say_needs(const packer *k, const char *path, size_t size) {
    pdl_cli_note("pdl: %s: %zu part%s, %.1f MB", path, k->parts.n, PDL_PLURAL(k->parts.n),
                 (double)size / 1e6);
    if (!k->a->given[OPT_replay]) say_needs_of_run(k);
    if (!k->is_static)
        pdl_cli_note("pdl: where it runs there must be the libraries of the command that was "
                     "packed: it is not static");
}

/* Returns the path of the result, owned: the path of -o, or the program's name without .pdl. */
static char *output_of(const packer *k) {
    if (k->a->given[OPT_output]) return pdl_str_dup(k->a->value[OPT_output]);
    pdl_str name = pdl_file_name(k->file);
    size_t end = pdl_str_ends(name, PDL_STR(".pdl")) ? name.n - 4 : name.n;
    return pdl_str_dup(pdl_str_sub(name, 0, end));
}

/* Returns true when the result would replace the program, or another file that is packed. For files
 * that options name, this is checked when the command line is read. */
static bool is_read(const packer *k, const char *path) {
    char *program = pdl_str_dup(k->file);
    bool same = pdl_file_is_same(program, path);
    pdl_free(program);
    for (size_t i = 0; i < k->read.n && !same; i++) same = pdl_file_is_same(k->read.p[i], path);
    return same;
}

static int write_packed(packer *k, pdl_err *err) {
    char *from = find_command(k), *path = output_of(k);
    pdl_buf bytes = PDL_BUF;
    bool ok = true;
    if (!from)
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "there is no static command beside this one (pdl-static) or in its share "
                         "folder: name that of a release (pdl-linux-PROCESSOR) with --command");
    ok = ok && (!k->a->given[OPT_replay] || add_recording(k, err)) &&
         pdl_file_read(from, &bytes, err) && mark_command(k, from, &bytes, err);
    if (ok) qsort(k->parts.p, k->parts.n, sizeof *k->parts.p, by_name);
    if (ok && is_read(k, path))
        ok = pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                         "%s is what is packed: name another file with -o", path);
    ok = ok && write_file(k, path, pdl_buf_str(&bytes), err);
    if (ok) say_needs(k, path, bytes.len);
    pdl_buf_fini(&bytes);
    pdl_free(from);
    pdl_free(path);
    return ok ? 0 : err->kind == PDL_E_usage ? 2 : 1;
}

int pdl_cli_cmd_pack(const arguments *a) {
    if (!a->files.n) return pdl_cli_refuse(a, "the following arguments are required: FILE");
    if (pdl_str_is(a->files.p[0], "-"))
        return pdl_cli_refuse(a, "argument FILE: a program on standard input has no name");
    packer k = {.a = a, .file = a->files.p[0]};
    pdl_session *s = NULL;
    pdl_err err = {0};
    k.folder = pdl_file_folder(k.file);
    pdl_packed_watch(on_file, &k);
    bool ok = pdl_session_new(
        &(pdl_session_options){
            .program = {.file = k.file, .dir = k.folder},
            .run.purpose = PDL_FOR_CHECKS,
            .guards = {.policies = a->policies.p, .n_policies = a->policies.n},
        },
        &s, &err);
    int code = ok ? collect(&k, s, &err) : 1;
    pdl_packed_watch(NULL, NULL);
    if (code == 0) code = write_packed(&k, &err);
    if (err.kind) pdl_cli_print_error(&err, s);
    pdl_err_fini(&err);
    for (size_t i = 0; i < k.parts.n; i++) {
        pdl_free(k.parts.p[i].name);
        pdl_buf_fini(&k.parts.p[i].bytes);
    }
    pdl_vec_fini(&k.parts);
    for (size_t i = 0; i < k.read.n; i++) pdl_free(k.read.p[i]);
    pdl_vec_fini(&k.read);
    pdl_session_free(s);
    return code;
}
