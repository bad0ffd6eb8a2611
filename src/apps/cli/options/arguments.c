/* arguments.c -- reads the command line into `arguments`. The rules are those that users of the
 * reference's command know: a long option may be shortened to a unique beginning, and a value may
 * follow in the same word (`--name=value`, `-xVALUE`).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/word_list.h"
#include "cli/options.h"
#include "io/file.h"

#include "base/banned.h"

PDL_PRINTF(2, 3) static bool wrong(char **message, const char *fmt, ...) {
    pdl_buf b = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&b, fmt, ap);
    va_end(ap);
    *message = pdl_buf_take(&b);
    return false;
}

static bool is_choice(const char *choices, pdl_str v) {
    pdl_str rest =
        pdl_str_sub(pdl_str_of(choices), 1, strlen(choices) - 1); /* removes the braces */
    for (;;) {
        size_t bar = pdl_str_find(rest, PDL_STR(","), 0), n = bar == PDL_NOT_FOUND ? rest.n : bar;
        if (pdl_str_eq(pdl_str_sub(rest, 0, n), v)) return true;
        if (bar == PDL_NOT_FOUND) return false;
        rest = pdl_str_sub(rest, n + 1, rest.n);
    }
}

static bool wrong_choice(const option *o, pdl_str value, char **message) {
    pdl_buf words = PDL_BUF;
    for (const char *p = o->choices + 1; p[1]; p++) { /* removes the braces */
        pdl_buf_putc(&words, *p);
        if (*p == ',') pdl_buf_putc(&words, ' ');
    }
    wrong(message, "argument --%s: invalid choice: '%.*s' (choose from %s)", o->name,
          PDL_FMT(value), pdl_buf_z(&words));
    pdl_buf_fini(&words);
    return false;
}

/* Returns true when an empty value is a mistake. The usual reason is a variable of the shell that
 * is not set, for example in `--policy "$POLICY"`. */
static bool needs_text(const option *o) {
    static const char *const texts[] = {"FILE",    "PROGRAM",    "ROWS",   "OUT",
                                        "PROFILE", "NAME=LEVEL", "COLUMN", "PLACE",
                                        "ADDRESS", "URL",        "NAME",   "GLOB"};
    return PDL_STR_IN(pdl_str_of(o->value), texts);
}

static bool take(arguments *a, const option *o, pdl_str value, char **message) {
    if (value.p && !value.n && needs_text(o)) {
        wrong(message, "argument --%s: expected %s, not ''", o->name, o->value);
        return false;
    }
    if (value.p && o->choices && !is_choice(o->choices, value))
        return wrong_choice(o, value, message);
    if (pdl_cli_is_default_output(a, o->id, value)) return true;
    value = pdl_cli_stream_of(o->id, value);
    a->given[o->id] = true;
    a->value[o->id] = value;
    if (value.p) *pdl_vec_push(&a->values) = (struct given_value){o->id, value};
    if (o->id == OPT_policy) *pdl_vec_push(&a->policies) = value;
    return true;
}

/* Words of earlier versions and of other commands. These words are too different from the right
 * words to be suggested by similarity. */
static const struct {
    int (*run)(const arguments *a);
    const char *old, *now;
} renamed[] = {{pdl_cli_cmd_dump, "types", "specs"},
               {pdl_cli_cmd_runs, "keep", "older-than"},
               {pdl_cli_cmd_cache, "format", "json"},
               {pdl_cli_cmd_cache, "keep", "older-than"}};

/* Returns true for the name of an option that commands have, or that most commands of other
 * programs have. A word with such a name is hardly meant as a variable of the program. */
static bool is_option_elsewhere(pdl_str name) {
    static const char *const usual[] = {"quiet", "silent", "debug", "config", "log-level", "force"};
    if (PDL_STR_IN(name, usual)) return true;
    for (int id = 0; id < OPT_COUNT; id++)
        if (pdl_str_is(name, pdl_cli_option_of((opt_id)id)->name)) return true;
    return false;
}

static pdl_str now_called(const command *c, pdl_str name) {
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (renamed[i].run == c->run && pdl_str_is(name, renamed[i].old))
            return pdl_str_of(renamed[i].now);
    return (pdl_str){0};
}

/* Names that options have in the reference's command, in the specification, or in other commands of
 * pdl. A user must write such a name in full. */
static const struct {
    int (*run)(const arguments *a);
    const char *name;
    char letter;
    opt_id id;
} also_called[] = {{pdl_cli_cmd_infer, "num-particles", 0, OPT_particles},
                   {pdl_cli_cmd_infer, "viz", 0, OPT_bars},
                   {pdl_cli_cmd_optimize, "input", 'i', OPT_data_rows},
                   {pdl_cli_cmd_sandbox, "check", 0, OPT_show_machine}};

static const option *find_by_other_name(const command *c, pdl_str name) {
    for (size_t i = 0; i < sizeof also_called / sizeof *also_called; i++)
        if (also_called[i].run == c->run && pdl_str_is(name, also_called[i].name))
            return pdl_cli_option_of(also_called[i].id);
    return NULL;
}

/* Returns the option that has a long name, given exactly or as a unique beginning. Otherwise sets
 * *message and returns NULL. */
static const option *find_long(const command *c, pdl_str name, char **message) {
    const option *found = NULL;
    pdl_str names[OPT_COUNT];
    size_t n = 0;
    for (const opt_id *id = c->options; *id != OPT_COUNT; id++) {
        const option *o = pdl_cli_option_of(*id);
        names[n++] = pdl_str_of(o->name);
        if (pdl_str_is(name, o->name)) return o;
        if (!pdl_str_starts(names[n - 1], name)) continue;
        if (found) {
            wrong(message, "ambiguous option: --%.*s could match --%s, --%s", PDL_FMT(name),
                  found->name, o->name);
            return NULL;
        }
        found = o;
    }
    if (!found) found = find_by_other_name(c, name);
    if (found) return found;
    pdl_str near = now_called(c, name);
    if (!near.p) near = pdl_str_nearest(name, names, n);
    bool may_be_variable = c->run == pdl_cli_cmd_run && !is_option_elsewhere(name);
    if (near.p)
        wrong(message, "unrecognized arguments: --%.*s; did you mean --%.*s?", PDL_FMT(name),
              PDL_FMT(near));
    else
        wrong(message, "unrecognized arguments: --%.*s%s", PDL_FMT(name),
              may_be_variable ? " (a variable of the program: -d NAME=VALUE)" : "");
    return NULL;
}

static const option *find_letter(const command *c, char letter) {
    for (const opt_id *id = c->options; *id != OPT_COUNT; id++)
        if (pdl_cli_option_of(*id)->letter == letter) return pdl_cli_option_of(*id);
    for (size_t i = 0; i < sizeof also_called / sizeof *also_called; i++)
        if (also_called[i].run == c->run && also_called[i].letter == letter)
            return pdl_cli_option_of(also_called[i].id);
    return NULL;
}

/* The words of the command line, and the index of the word that is being read. */
typedef struct {
    char **argv;
    int argc, at;
} words;

/* Adds to the message about a word that begins with a dash how to name a file that is so called. */
static bool name_file(const char *word, char **message) {
    if (pdl_file_kind_of(word) != PDL_FILE_REGULAR) return false;
    char *why = *message;
    wrong(message, "%s; the file is ./%s", why, word);
    pdl_free(why);
    return false;
}

/* Takes an option with its value, which may be the next word. attached: the value, when it is in
 * the same word. */
static bool take_with_value(arguments *a, const option *o, pdl_str attached, words *w,
                            char **message) {
    if (o->kind == OPT_FLAG) {
        if (attached.p) {
            wrong(message, "argument --%s: takes no value", o->name);
            return name_file(w->argv[w->at], message);
        }
        return take(a, o, attached, message);
    }
    if (attached.p || o->kind == OPT_ATTACHED) return take(a, o, attached, message);
    const char *next = w->at + 1 < w->argc ? w->argv[w->at + 1] : NULL;
    bool is_dashed = next && next[0] == '-' && next[1] != 0,
         is_number = is_dashed && next[1] >= '0' && next[1] <= '9';
    bool is_value =
        next && (!is_dashed || (option_needs_value(o) && (is_number || strchr(next, ' '))));
    if (is_value) return take(a, o, pdl_str_of(w->argv[++w->at]), message);
    if (o->kind == OPT_MAYBE) return take(a, o, attached, message);
    if (!o->letter) return wrong(message, "argument --%s: expected one argument", o->name);
    return wrong(message, "argument -%c/--%s: expected one argument", o->letter, o->name);
}

static bool read_one(arguments *a, words *w, char **message) {
    pdl_str word = pdl_str_of(w->argv[w->at]);
    if (pdl_str_starts(word, PDL_STR("--"))) {
        size_t eq = pdl_str_find(word, PDL_STR("="), 0);
        pdl_str name = pdl_str_sub(word, 2, eq == PDL_NOT_FOUND ? word.n : eq);
        const option *o = find_long(a->command, name, message);
        if (!o) return false;
        pdl_str value =
            eq == PDL_NOT_FOUND ? (pdl_str){0} : (pdl_str){word.p + eq + 1, word.n - eq - 1};
        return take_with_value(a, o, value, w, message);
    }
    const option *o = find_letter(a->command, word.p[1]);
    if (!o) {
        wrong(message, "unrecognized arguments: %s", w->argv[w->at]);
        return name_file(w->argv[w->at], message);
    }
    pdl_str value = word.n > 2 ? (pdl_str){word.p + 2, word.n - 2} : (pdl_str){0};
    return take_with_value(a, o, value, w, message);
}

/* Returns the maximum number of operands, which is the number of words in their description. There
 * is no maximum when the last word ends in dots. */
static size_t most_operands(const command *c) {
    pdl_str s = pdl_str_of(c->operands);
    size_t n = s.n > 0;
    for (size_t i = 0; i < s.n; i++) n += s.p[i] == ' ';
    return pdl_str_ends(s, PDL_STR("...")) ? (size_t)-1 : n;
}

/* Returns true when `path`, by which the process was started, has this name. */
static bool is_called(const char *path, const char *name) {
    const char *last = path ? strrchr(path, '/') : NULL;
    return path && strcmp(last ? last + 1 : path, name) == 0;
}

/* Returns true when the word is an option that `pdl help` explains, and not an option of `pdl help`
 * itself. */
static bool is_asked_about(const command *c, const char *word) {
    return c->run == pdl_cli_cmd_help && strcmp(word, "-h") != 0 && strcmp(word, "--help") != 0;
}

bool pdl_cli_arguments_read(int argc, char **argv, arguments *out, const char **word,
                            char **message) {
    size_t n;
    const command *table = pdl_cli_commands(&n);
    *out = (arguments){.command = &table[0]};
    *word = NULL;
    int i = 1;
    for (size_t k = 0; argc > 1 && k < n; k++) {
        if (strcmp(argv[1], table[k].name) != 0) continue;
        out->command = &table[k];
        *word = argv[1];
        i = 2;
    }
    if (is_called(argv[0], "pdl-infer"))
        for (size_t k = 0; k < n; k++)
            if (table[k].run == pdl_cli_cmd_infer) {
                out->command = &table[k];
                out->is_reference = true;
                *word = NULL;
                i = 1;
            }
    bool only_files = false;
    for (words w = {argv, argc, i}; w.at < argc; w.at++) {
        const char *arg = argv[w.at];
        bool is_option = !only_files && arg[0] == '-' && arg[1];
        if (is_option && strcmp(arg, "--") == 0)
            only_files = true;
        else if (!is_option || is_asked_about(out->command, arg))
            *pdl_vec_push(&out->files) = pdl_str_of(arg);
        else if (!read_one(out, &w, message))
            return false;
    }
    size_t most = most_operands(out->command);
    if (out->files.n > most)
        return wrong(message, "unrecognized arguments: %.*s",
                     PDL_FMT(pdl_cli_visible(out->files.p[most])));
    return true;
}

void pdl_cli_arguments_fini(arguments *a) {
    pdl_vec_fini(&a->files);
    pdl_vec_fini(&a->values);
    pdl_vec_fini(&a->policies);
    pdl_vec_fini(&a->args);
    for (size_t i = 0; i < a->owned.n; i++) pdl_free(a->owned.p[i]);
    pdl_vec_fini(&a->owned);
}
