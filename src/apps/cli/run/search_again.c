/* search_again.c -- pdl resume of a durable search: runs the same command again in the folder of
 * the search. The folder has the answers that were paid for.
 *
 * A search draws the same random numbers each time and sends its requests in the same order. So it
 * reaches the point where it was killed without sending a request that was answered before. The
 * search needs the words of its command and the folder in which the command was given.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/search_again.h"
#include "io/file.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

static pdl_val with_word(pdl_val list, const option *o, pdl_str value) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "--%s", o->name);
    if (value.p) pdl_buf_putf(&b, "=%.*s", PDL_FMT(value));
    return pdl_list_push(list, pdl_text_of_buf(&b));
}

void pdl_cli_put_file(const arguments *given, opt_id id, pdl_buf *out) {
    char here[PATH_MAX];
    pdl_str name = given->value[id];
    if (name.n && name.p[0] != '/' && !pdl_str_is(name, "-") && getcwd(here, sizeof here))
        pdl_buf_putf(out, "%s/", here);
    pdl_buf_put(out, name);
}

pdl_val pdl_cli_words_of(const arguments *a, opt_resume kept) {
    pdl_val words = pdl_list_new(16);
    for (const opt_id *id = a->command->options; *id != OPT_COUNT; id++)
        if (a->given[*id] && pdl_cli_option_of(*id)->kind == OPT_FLAG &&
            pdl_cli_resume_has(*id, kept))
            words = with_word(words, pdl_cli_option_of(*id), (pdl_str){0});
    for (size_t i = 0; i < a->values.n; i++) {
        const option *o = pdl_cli_option_of(a->values.p[i].id);
        pdl_buf file = PDL_BUF;
        if (!pdl_cli_resume_has(o->id, kept)) continue;
        /* an inference may be continued from another folder */
        bool is_found_anywhere = kept == KEPT_INFER && o->id == OPT_prices;
        if (is_found_anywhere) pdl_cli_put_file(a, o->id, &file);
        words = with_word(words, o, is_found_anywhere ? pdl_buf_str(&file) : a->values.p[i].value);
        pdl_buf_fini(&file);
    }
    /* "--" comes before the names of files, because a name may begin with a dash. */
    if (a->files.n) words = pdl_list_push(words, pdl_textz("--"));
    for (size_t i = 0; i < a->files.n; i++) words = pdl_list_push(words, pdl_text(a->files.p[i]));
    return words;
}

void pdl_cli_search_command(const arguments *a, pdl_buf *out) {
    pdl_val words = pdl_cli_words_of(a, KEPT_SEARCH);
    char here[PATH_MAX];
    pdl_err ignored = {0};
    pdl_val d = pdl_dict_putz(pdl_dict_new(4), "words", words);
    d = pdl_dict_putz(d, "folder", pdl_textz(getcwd(here, sizeof here) ? here : "."));
    if (!pdl_json_write(d, PDL_JSON_SPACED | PDL_JSON_LOOSE, 0, out, &ignored))
        pdl_err_fini(&ignored);
    pdl_drop(d);
}

char *pdl_cli_search_folder(pdl_str name, const char *file) {
    bool is_path = pdl_str_find(name, PDL_STR("/"), 0) != PDL_NOT_FOUND;
    for (int i = 0; i < 2 - is_path; i++) {
        pdl_buf folder = PDL_BUF, path = PDL_BUF;
        pdl_buf_putf(&folder, "%s%.*s", i ? "experiments/" : "", PDL_FMT(name));
        pdl_buf_putf(&path, "%s/%s", pdl_buf_z(&folder), file);
        bool has_file = pdl_file_kind_of(pdl_buf_z(&path)) == PDL_FILE_REGULAR;
        pdl_buf_fini(&path);
        if (has_file) return pdl_buf_take(&folder);
        pdl_buf_fini(&folder);
    }
    return NULL;
}

/* Reads the text of a state: the words and the working folder of the command. */
static bool read_words(const char *path, pdl_str text, pdl_val *out, pdl_err *err) {
    pdl_err why = {0};
    if (!pdl_json_read(text, 0, out, NULL, &why)) {
        *out = pdl_absent();
        pdl_err_set(err, why.kind, (pdl_loc){0}, "%s: %s", path, why.msg);
        pdl_err_fini(&why);
        return false;
    }
    if (pdl_is_dict(*out) && pdl_is_list(pdl_dict_getz(*out, "words")) &&
        pdl_is_str(pdl_dict_getz(*out, "folder")))
        return true;
    pdl_drop(*out);
    *out = pdl_absent();
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "%s is not the state of a search", path);
}

/* Replaces references to keys in the text of a state by the keys. */
static bool fill_keys(const char *path, pdl_str text, pdl_buf *filled, pdl_err *err) {
    pdl_err why = {0};
    if (pdl_session_fill_keys(text, filled, &why)) return true;
    pdl_err_set(err, why.kind, (pdl_loc){0}, "%s: %s", path, why.msg);
    pdl_err_fini(&why);
    return false;
}

/* Returns the folder in which the command was given; owned. NULL with an error. The name of the
 * folder may contain a reference to a key, which must then be in the environment. */
static char *home_of(const char *path, pdl_str text, pdl_err *err) {
    pdl_val state, home = pdl_absent();
    pdl_buf name = PDL_BUF, filled = PDL_BUF;
    if (!read_words(path, text, &state, err)) return NULL;
    bool ok = pdl_json_write(pdl_dict_getz(state, "folder"), PDL_JSON_LOOSE, 0, &name, err) &&
              fill_keys(path, pdl_buf_str(&name), &filled, err) &&
              pdl_json_read(pdl_buf_str(&filled), 0, &home, NULL, err);
    char *out = ok ? pdl_str_dup(pdl_str_get(home)) : NULL;
    if (ok) pdl_drop(home);
    pdl_drop(state);
    pdl_buf_fini(&name);
    pdl_buf_fini(&filled);
    return out;
}

static bool enter_home(const char *path, pdl_str text, pdl_err *err) {
    char *home = home_of(path, text, err);
    bool ok = home && (chdir(home) == 0 || pdl_file_errno(err, errno, home));
    pdl_free(home);
    return ok;
}

/* Reads the state of a search, and enters the working folder of its command. The file .env in that
 * folder may have the keys that the state refers to. */
static bool read_state(const char *folder, pdl_val *out, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_SOURCE_BYTES_SIZE), filled = PDL_BUF, name = PDL_BUF;
    pdl_buf_putf(&name, "%s/" PDL_SEARCH_STATE, folder);
    const char *path = pdl_buf_z(&name);
    bool ok = pdl_file_read(path, &text, err) && enter_home(path, pdl_buf_str(&text), err) &&
              fill_keys(path, pdl_buf_str(&text), &filled, err) &&
              read_words(path, pdl_buf_str(&filled), out, err);
    pdl_buf_fini(&text);
    pdl_buf_fini(&filled);
    pdl_buf_fini(&name);
    return ok;
}

/* Removes the options without the bit `kept`. */
static void keep_only(arguments *a, opt_resume kept) {
    size_t n = 0;
    for (int id = 0; id < OPT_COUNT; id++) {
        if (pdl_cli_resume_has((opt_id)id, kept)) continue;
        a->given[id] = false;
        a->value[id] = (pdl_str){0};
    }
    for (size_t i = 0; i < a->values.n; i++)
        if (pdl_cli_resume_has(a->values.p[i].id, kept)) a->values.p[n++] = a->values.p[i];
    a->values.n = n;
    if (!pdl_cli_resume_has(OPT_policy, kept)) a->policies.n = 0;
}

int pdl_cli_run_words(const char *name, pdl_vref words, opt_resume kept,
                      void (*begin)(void *user, arguments *a), void *user) {
    size_t n = pdl_list_len(words);
    char **argv = PDL_NEW_N(char *, n + 3), *message = NULL;
    arguments a;
    const char *word;
    argv[0] = pdl_str_dup(PDL_STR("pdl"));
    argv[1] = pdl_str_dup(pdl_str_of(name));
    for (size_t i = 0; i < n; i++) {
        pdl_vref w = pdl_list_at(words, i);
        argv[i + 2] = pdl_str_dup(pdl_is_str(w) ? pdl_str_get(w) : PDL_STR(""));
    }
    bool ok = pdl_cli_arguments_read((int)n + 2, argv, &a, &word, &message);
    keep_only(&a, kept);
    begin(user, &a);
    /* the journal of an inference contains the program, too */
    ok = ok && (a.inference || pdl_cli_find_program(&a, word, &message)) &&
         pdl_cli_finds_files(&a, &message) && pdl_cli_spares_files(&a, &message);
    int code = ok ? a.command->run(&a) : pdl_cli_refuse(&a, message);
    pdl_free(message);
    pdl_cli_arguments_fini(&a);
    for (size_t i = 0; i < n + 2; i++) pdl_free(argv[i]);
    pdl_free(argv);
    return code;
}

void pdl_cli_replace_value(arguments *a, opt_id id, pdl_str value) {
    a->value[id] = value;
    for (size_t i = 0; i < a->values.n; i++)
        if (a->values.p[i].id == id) a->values.p[i].value = value;
}

typedef struct continued_search {
    const arguments *given;
    const char *folder;
    pdl_str wire, prices; /* paths are made absolute, because the working folder changes */
} continued_search;

/* Sets an option to the value that the command line of the resume gives. */
static void take_given(const continued_search *c, opt_id id, arguments *a) {
    a->given[id] = c->given->given[id];
    pdl_cli_replace_value(a, id,
                          id == OPT_wire     ? c->wire
                          : id == OPT_prices ? c->prices
                                             : c->given->value[id]);
}

/* Sets the folder, and the options that the resume may change. An option that the state keeps has
 * the value of the state, unless the command line of the resume gives a value. */
static void take_folder(void *user, arguments *a) {
    const continued_search *c = user;
    a->continued = pdl_str_of(c->folder);
    for (opt_id id = 0; id < OPT_COUNT; id++)
        if (pdl_cli_resume_has(id, GIVEN_SEARCH) &&
            (c->given->given[id] || !pdl_cli_resume_has(id, KEPT_SEARCH)))
            take_given(c, id, a);
}

static int fail(pdl_err *err) {
    pdl_cli_print_error(err, NULL);
    return 2;
}

int pdl_cli_search_resume(const arguments *given, char *folder) {
    char absolute[PATH_MAX], there[PATH_MAX];
    const char *from = realpath(folder, absolute);
    pdl_val state = pdl_absent();
    pdl_err err = {0};
    const char *why = NULL;
    int code;
    pdl_buf wire = PDL_BUF, prices = PDL_BUF;
    pdl_cli_put_file(given, OPT_wire, &wire);
    pdl_cli_put_file(given, OPT_prices, &prices);
    for (size_t i = 0; i < OPT_COUNT; i++)
        if (given->given[i] && !pdl_cli_resume_has((opt_id)i, GIVEN_SEARCH))
            why = "a search is continued with the options that it has: give none but --prices, "
                  "--wire and --otlp";
    bool ok = !why && read_state(folder, &state, &err);
    bool is_here = ok && from && realpath(folder, there) && strcmp(from, there) == 0;
    continued_search c = {given, from && !is_here ? absolute : folder, pdl_buf_str(&wire),
                          pdl_buf_str(&prices)};
    if (ok)
        code = pdl_cli_run_words("optimize", pdl_dict_getz(state, "words"), KEPT_SEARCH,
                                 take_folder, &c);
    else if (why)
        code = pdl_cli_refuse(given, why);
    else
        code = fail(&err);
    if (!pdl_is_absent(state)) pdl_drop(state);
    pdl_err_fini(&err);
    pdl_buf_fini(&wire);
    pdl_buf_fini(&prices);
    pdl_free(folder);
    return code;
}
