/* program_operand.c -- finds the program among the operands, and reads its text: from a file,
 * standard input, or the operand of -e. A user may leave out the suffix, pipe the program, or
 * misspell its name. Each of these cases is decided here, and a wrong name leads to a message with
 * the likely file or command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "io/file.h"

#include "base/banned.h"

/* The file name for the text of -e. The address of this text is compared, and not its characters,
 * since a user may have a file with this name. */
static const char eval_name[] = "-e";
static pdl_str eval_text;

/* --- which program ---------------------------------------------------------------------------- */

/* Returns the name with the suffix of programs; owned. */
static char *with_suffix(pdl_str file) {
    pdl_buf b = PDL_BUF;
    pdl_buf_put(&b, file);
    PDL_PUT(&b, ".pdl");
    return pdl_buf_take(&b);
}

/* Finds the file X, or else X.pdl. */
static void find_file(arguments *a, pdl_str *file) {
    if (pdl_str_is(*file, "-") || pdl_str_ends(*file, PDL_STR(".pdl"))) return;
    char *other = with_suffix(*file);
    pdl_file_kind kind = pdl_file_kind_named(*file);
    bool there =
        pdl_file_kind_of(other) != PDL_FILE_NONE && pdl_file_kind_of(other) != PDL_FILE_DIR;
    if (there && (kind == PDL_FILE_NONE || kind == PDL_FILE_DIR)) {
        *file = pdl_str_of(other);
        *pdl_vec_push(&a->owned) = other;
        return;
    }
    if (there)
        pdl_cli_note("pdl: note: there are %.*s and %s; this is %.*s", PDL_FMT(*file), other,
                     PDL_FMT(*file));
    pdl_free(other);
}

/* Prints a note that a command word is also the name of a program. */
static void note_command(const char *word) {
    char *other = with_suffix(pdl_str_of(word));
    const char *names[] = {word, other};
    for (size_t i = 0; i < 2; i++)
        if (pdl_file_kind_of(names[i]) == PDL_FILE_REGULAR) {
            pdl_cli_note("pdl: note: %s is a command; the program is ./%s", word, names[i]);
            break;
        }
    pdl_free(other);
}

static bool takes_programs(const command *c) {
    return c->run == pdl_cli_cmd_run || c->run == pdl_cli_cmd_check ||
           c->run == pdl_cli_cmd_explain || c->run == pdl_cli_cmd_dump ||
           c->run == pdl_cli_cmd_fmt || c->run == pdl_cli_cmd_serve;
}

/* Returns true when a program is on standard input. The byte that is read for this test is put
 * back. */
static bool is_on_stdin(void) {
    if (pdl_tty_is(0)) return false;
    int c = getc(stdin);
    return c != EOF && ungetc(c, stdin) != EOF;
}

static bool asks_for_no_program(const arguments *a) {
    return a->given[OPT_help] || a->given[OPT_version] || a->given[OPT_schema];
}

/* Returns the message for a missing program. The message says so when an option may have taken the
 * program as its value. */
static char *missing(const arguments *a) {
    pdl_buf b = PDL_BUF;
    PDL_PUT(&b, "the following arguments are required: FILE");
    for (size_t i = 0; i < a->values.n; i++) {
        pdl_str v = a->values.p[i].value;
        if (!pdl_str_ends(v, PDL_STR(".pdl"))) continue;
        const char *name = pdl_cli_option_of(a->values.p[i].id)->name;
        pdl_buf_putf(&b, " (--%s took %.*s for its value: put FILE before it)", name, PDL_FMT(v));
        break;
    }
    return pdl_buf_take(&b);
}

/* Splits the operands of a run: the first operand is the program, and all others are passed to it.
 * any: a command word is given. */
static bool split_operands(arguments *a, bool any, char **message) {
    size_t own = 1;
    if (a->given[OPT_eval]) {
        eval_text = a->value[OPT_eval];
        own = 0;
    } else if (!a->files.n) {
        for (size_t i = 0; i < OPT_COUNT; i++) any = any || a->given[i];
        *message = any ? missing(a) : NULL;
        if (strstr(any ? *message : "", "took") || !is_on_stdin()) return !any;
        pdl_free(*message);
        *message = NULL;
        *pdl_vec_push(&a->files) = PDL_STR("-");
    }
    for (size_t i = own; i < a->files.n; i++) *pdl_vec_push(&a->args) = a->files.p[i];
    a->files.n = own;
    if (!own) *pdl_vec_push(&a->files) = (pdl_str){eval_name, sizeof eval_name - 1};
    return true;
}

bool pdl_cli_find_program(arguments *a, const char *word, char **message) {
    *message = NULL;
    if (word) note_command(word);
    if (asks_for_no_program(a) || !takes_programs(a->command)) return true;
    if (a->command->run == pdl_cli_cmd_run && !split_operands(a, word != NULL, message))
        return false;
    if (a->command->run != pdl_cli_cmd_run && a->given[OPT_eval]) {
        eval_text = a->value[OPT_eval];
        *pdl_vec_push(&a->files) = (pdl_str){eval_name, sizeof eval_name - 1};
        if (a->files.n > 1) {
            *message = pdl_str_dup(PDL_STR("-e is the program: leave FILE out"));
            return false;
        }
    }
    for (size_t i = 0; i < a->files.n; i++)
        if (a->files.p[i].p != eval_name) find_file(a, &a->files.p[i]);
    return true;
}

/* --- its text --------------------------------------------------------------------------------- */

/* Reads the whole of standard input. */
static bool read_stdin(pdl_buf *out, pdl_err *err) {
    char chunk[65536];
    size_t most = pdl_file_most_of(STDIN_FILENO, out->limit);
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, stdin)) > 0;)
        if (out->len + n > most && most < out->limit)
            return pdl_file_endless(err, STDIN_FILENO, NULL);
        else if (!pdl_buf_add(out, (pdl_str){chunk, n}, err))
            return false;
    return !ferror(stdin) || pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                                         "cannot read standard input: %s", strerror(errno));
}

/* Words that other tools use for a command, and the name of that command in pdl. */
static const struct {
    const char *word, *name;
} other_words[] = {{"lint", "check"},      {"validate", "check"}, {"typecheck", "check"},
                   {"format", "fmt"},      {"init", "new"},       {"create", "new"},
                   {"exec", "run"},        {"start", "run"},      {"execute", "run"},
                   {"evaluate", "eval"},   {"benchmark", "eval"}, {"debug", "dap"},
                   {"history", "runs"},    {"ls", "runs"},        {"list", "runs"},
                   {"build", "pack"},      {"compile", "pack"},   {"shell", "repl"},
                   {"continue", "resume"}, {"server", "serve"},   {"ui", "view"}};

/* Returns the command that the user may have meant by a word; empty when there is none. */
static pdl_str similar_command(pdl_str word) {
    for (size_t i = 0; i < sizeof other_words / sizeof *other_words; i++)
        if (pdl_str_is(word, other_words[i].word)) return pdl_str_of(other_words[i].name);
    enum { MAX_NAMES = 64 };
    pdl_str names[MAX_NAMES];
    size_t n, shown = 0;
    const command *all = pdl_cli_commands(&n);
    for (size_t i = 0; i < n && shown < MAX_NAMES; i++)
        if (all[i].name[0] != '_') names[shown++] = pdl_str_of(all[i].name);
    return pdl_str_nearest(word, names, shown);
}

/* Reports a missing file, and suggests a file with a similar name, or a command. */
static bool no_file(pdl_str given, pdl_err *err) {
    char *room = pdl_alloc(given.n + 1);
    pdl_str file = pdl_file_plain(given, room), own = pdl_file_name(file),
            dir = pdl_file_folder(file), near_command = {0};
    char *folder = pdl_str_dup(dir.n ? dir : PDL_STR(".")),
         *near = pdl_file_similar(folder, own, (pdl_str){0});
    if (!near) near = pdl_file_similar(folder, own, PDL_STR(".pdl"));
    if (!pdl_file_folder(given).n) near_command = similar_command(file);
    if (near)
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "there is no file %.*s; did you mean %.*s%s?",
                    PDL_FMT(file), PDL_FMT(pdl_str_sub(file, 0, file.n - own.n)), near);
    else if (near_command.n)
        pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                    "there is no file and no command %.*s; did you mean pdl %.*s?", PDL_FMT(file),
                    PDL_FMT(near_command));
    else
        pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "there is no file %.*s",
                    PDL_FMT(pdl_cli_visible(file)));
    pdl_free(near);
    pdl_free(folder);
    pdl_free(room);
    return false;
}

bool pdl_cli_program_is_there(pdl_str file, pdl_err *err) {
    if (file.p == eval_name || pdl_str_is(file, "-")) return true;
    pdl_file_kind kind = pdl_file_kind_named(file);
    if (kind == PDL_FILE_NONE) return no_file(file, err);
    return kind != PDL_FILE_DIR ||
           pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                       "%.*s is a directory: give the name of a program in it", PDL_FMT(file));
}

bool pdl_cli_read_program(pdl_str file, pdl_buf *out, pdl_err *err) {
    if (file.p == eval_name) return pdl_buf_add(out, eval_text, err);
    if (pdl_str_is(file, "-")) return read_stdin(out, err);
    if (!pdl_cli_program_is_there(file, err)) return false;
    char *path = pdl_str_dup(file);
    bool ok = pdl_file_read(path, out, err);
    pdl_free(path);
    return ok;
}
