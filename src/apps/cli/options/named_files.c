/* named_files.c -- checks that the files of a command line exist. A misspelt name is a mistake on
 * the command line for every kind of file. It is reported in one sentence, before anything is done,
 * and the exit code is 2. A folder in place of a file is reported in the same way. Files that exist
 * and cannot be read are reported by their readers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <fcntl.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/search_again.h"
#include "io/file.h"

#include "base/banned.h"

/* Options whose value is the name of a file that is read. */
static const opt_id reading[] = {OPT_data_file, OPT_replay,     OPT_prices,     OPT_token_file,
                                 OPT_replies,   OPT_source,     OPT_judge,      OPT_against,
                                 OPT_view_run,  OPT_runs_check, OPT_candidates, OPT_command};

/* Commands all of whose operands are programs, or whose first operand is a program. */
static const struct {
    int (*run)(const arguments *a);
    bool all;
} programs[] = {{pdl_cli_cmd_run, false},   {pdl_cli_cmd_explain, false},
                {pdl_cli_cmd_dump, false},  {pdl_cli_cmd_fmt, true},
                {pdl_cli_cmd_serve, true},  {pdl_cli_cmd_batch, false},
                {pdl_cli_cmd_eval, false},  {pdl_cli_cmd_optimize, false},
                {pdl_cli_cmd_infer, false}, {pdl_cli_cmd_pack, false}};

/* Commands whose operands, from index `from` on, name files or runs. pdl view itself decides which
 * folders it shows. */
static const struct {
    int (*run)(const arguments *a);
    size_t from;
} journals[] = {{pdl_cli_cmd_trace, 0},
                {pdl_cli_cmd_resume, 0},
                {pdl_cli_cmd_runs, 1},
                {pdl_cli_cmd_cache, 1},
                {pdl_cli_cmd_policy, 1}};

/* Options that name a file to be written, whose folder must exist. --trace is not among them,
 * because a trace that cannot be written does not end the run, as in the reference. */
static const opt_id writing[] = {OPT_output, OPT_junit, OPT_html,   OPT_svg,    OPT_md,   OPT_text,
                                 OPT_wire,   OPT_log,   OPT_report, OPT_record, OPT_cache};

static bool is_one_of(opt_id id, const opt_id *ids, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (ids[i] == id) return true;
    return false;
}

/* Returns true for a name that is a path. Other names are words, such as the name of a run or a
 * policy. */
static bool is_path_name(pdl_str name) {
    return name.n && (memchr(name.p, '/', name.n) || memchr(name.p, '.', name.n));
}

/* Returns what must exist: the file that a value names, or the folder of a file to be written.
 * Empty when neither must exist. */
static pdl_str file_in(const arguments *a, opt_id id, pdl_str value) {
    bool is_rows = id == OPT_input || id == OPT_data_rows;
    bool is_table = is_rows || (id == OPT_output && a->command->run == pdl_cli_cmd_batch);
    bool is_path = is_path_name(value);
    if (id == OPT_data || id == OPT_variable)
        return pdl_str_starts(value, PDL_STR("@")) ? pdl_str_sub(value, 1, value.n) : (pdl_str){0};
    /* the reader of tables searches for the file of FILE.db:TABLE */
    if (is_table && memchr(value.p, ':', value.n)) return (pdl_str){0};
    if (is_rows) return value;
    if (id == OPT_keep_rows) return is_path ? value : (pdl_str){0};
    /* the names of profiles and policies may be words and no paths */
    if (id == OPT_policy || id == OPT_sandbox) return is_path ? value : (pdl_str){0};
    if (is_one_of(id, writing, sizeof writing / sizeof *writing)) return pdl_file_folder(value);
    return is_one_of(id, reading, sizeof reading / sizeof *reading) ? value : (pdl_str){0};
}

/* an operand that names a database of this kind may also be the name of a run */
static const char journal[] = "journal";

/* The options and the operands that name databases. The index of an operand is counted from 0. */
static const struct {
    opt_id id;
    int (*run)(const arguments *a);
    size_t operand;
    const char *what;
} databases[] = {
    {OPT_replay, NULL, 0, "recording"},         {OPT_cache, NULL, 0, "cache"},
    {OPT_COUNT, pdl_cli_cmd_trace, 0, journal}, {OPT_COUNT, pdl_cli_cmd_resume, 0, journal},
    {OPT_COUNT, pdl_cli_cmd_runs, 1, journal},  {OPT_COUNT, pdl_cli_cmd_answer, 0, journal},
    {OPT_COUNT, pdl_cli_cmd_cache, 1, "cache"}};

/* Returns the file that an operand names. Where operands are runs, the run with this name comes
 * before a file with this name. Owned; NULL when there is neither. */
static char *file_of(const arguments *a, pdl_str operand) {
    pdl_err ignored = {0};
    char *path;
    bool is_run = false;
    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++)
        is_run = is_run || (databases[i].run == a->command->run && databases[i].what == journal);
    if (!is_run) return pdl_str_dup(operand);
    if (!pdl_cli_durable_path(operand, &path, &ignored)) path = NULL;
    pdl_err_fini(&ignored);
    return path;
}

/* Returns true for a file that is not a database. A damaged database still has some of the bytes
 * with which every database begins. */
static bool is_of_another_kind(pdl_str name) {
    static const char start[] = "SQLite format 3";
    char bytes[sizeof start];
    size_t right = 0, n = 0;
    if (pdl_file_kind_named(name) != PDL_FILE_REGULAR) return false;
    char *path = pdl_str_dup(name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        ssize_t got = read(fd, bytes, sizeof bytes);
        n = got > 0 ? (size_t)got : 0;
        close(fd);
    }
    pdl_free(path);
    for (size_t i = 0; i < n; i++) right += bytes[i] == start[i];
    return n > 0 && right < n / 2;
}

/* Appends the problem with a file that is no database. */
static void put_other_kind(pdl_str name, const char *what, pdl_buf *out) {
    if (is_of_another_kind(name))
        pdl_buf_putf(out, "'%.*s' is no %s: it is a file of another kind", PDL_FMT(name), what);
}

static void put_is_folder(pdl_str name, pdl_buf *out) {
    pdl_buf_putf(out, "'%.*s' is a folder, not a file", PDL_FMT(name));
}

/* Returns true when the file of an option can be no standard stream: a database, a program that is
 * read again, or a command that is made executable. */
static bool has_no_stream(const arguments *a, opt_id id) {
    static const opt_id files[] = {OPT_record,  OPT_replay,   OPT_cache,      OPT_judge,
                                   OPT_against, OPT_view_run, OPT_runs_check, OPT_command};
    return is_one_of(id, files, sizeof files / sizeof *files) ||
           (id == OPT_output && a->command->run == pdl_cli_cmd_pack);
}

/* Appends the problem with the file that a value names. Appends nothing when the file has no
 * problem. */
static void put_fault(const arguments *a, opt_id id, pdl_str value, pdl_buf *out) {
    bool writes = is_one_of(id, writing, sizeof writing / sizeof *writing);
    pdl_str file = value.n ? file_in(a, id, value) : (pdl_str){0}, named = writes ? value : file;
    bool is_standard = pdl_str_is(named, "-");
    if (!named.n) return;
    if (is_standard && has_no_stream(a, id))
        pdl_buf_putf(out, "'-' is no file here; the name of a file that is so called is ./-");
    if (is_standard) return;
    if (file.n && pdl_file_kind_named(file) == PDL_FILE_NONE)
        pdl_buf_putf(out, "there is no %s '%.*s'", writes ? "folder" : "file", PDL_FMT(file));
    else if (pdl_file_kind_named(named) == PDL_FILE_DIR)
        put_is_folder(named, out);
    for (size_t i = 0; i < sizeof databases / sizeof *databases && !out->len; i++)
        if (databases[i].id == id && !databases[i].run)
            put_other_kind(named, databases[i].what, out);
}

static bool has_options(const arguments *a, char **message) {
    for (size_t i = 0; i < a->values.n; i++) {
        const option *o = pdl_cli_option_of(a->values.p[i].id);
        pdl_buf fault = PDL_BUF, b = PDL_BUF;
        put_fault(a, o->id, a->values.p[i].value, &fault);
        if (fault.len) {
            pdl_buf_putf(&b, "argument --%s: %s", o->name, pdl_buf_z(&fault));
            *message = pdl_buf_take(&b);
        }
        pdl_buf_fini(&fault);
        if (*message) return false;
    }
    return true;
}

/* Returns true when the operand is a folder in place of a file. The folder of a search is allowed,
 * because it can be shown and resumed. */
static bool is_wrong_folder(const arguments *a, pdl_str operand) {
    if (!is_path_name(operand) || pdl_file_kind_named(operand) != PDL_FILE_DIR) return false;
    char *file = file_of(a, operand);
    bool is_folder = file && pdl_file_kind_of(file) == PDL_FILE_DIR;
    pdl_free(file);
    if (!is_folder) return false;
    char *search = pdl_cli_search_folder(operand, PDL_SEARCH_STATE);
    pdl_free(search);
    return !search;
}

static bool has_journals(const arguments *a, char **message) {
    for (size_t i = 0; i < sizeof journals / sizeof *journals; i++) {
        if (journals[i].run != a->command->run) continue;
        for (size_t k = journals[i].from; k < a->files.n; k++) {
            if (!is_wrong_folder(a, a->files.p[k])) continue;
            pdl_buf b = PDL_BUF;
            put_is_folder(a->files.p[k], &b);
            *message = pdl_buf_take(&b);
            return false;
        }
    }
    return true;
}

static bool has_databases(const arguments *a, char **message) {
    pdl_buf fault = PDL_BUF;
    for (size_t i = 0; i < sizeof databases / sizeof *databases; i++) {
        size_t k = databases[i].operand;
        if (databases[i].run != a->command->run || k >= a->files.n) continue;
        char *file = file_of(a, a->files.p[k]);
        if (file) put_other_kind(pdl_str_of(file), databases[i].what, &fault);
        pdl_free(file);
    }
    if (fault.len) *message = pdl_str_dup(pdl_buf_str(&fault));
    pdl_buf_fini(&fault);
    return !*message;
}

/* Returns true when an option is given that only prints something and needs no program. */
static bool asks_for_help(const arguments *a) {
    return a->given[OPT_help] || a->given[OPT_version] || a->given[OPT_schema] ||
           a->given[OPT_table];
}

bool pdl_cli_finds_files(const arguments *a, char **message) {
    if (asks_for_help(a)) return true;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        /* the journal has this program */
        if (programs[i].run != a->command->run || a->inference) continue;
        for (size_t k = 0; k < a->files.n && (k == 0 || programs[i].all); k++) {
            pdl_err err = {0};
            if (pdl_cli_program_is_there(a->files.p[k], &err)) continue;
            *message = pdl_str_dup(pdl_str_of(err.msg));
            pdl_err_fini(&err);
            return false;
        }
    }
    return pdl_cli_reads_stdin_once(a, message) && has_journals(a, message) &&
           has_databases(a, message) && has_options(a, message);
}
