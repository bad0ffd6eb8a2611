/* launchers.c -- finds the commands that a command starts, as far as its words show them. Commands
 * such as env, sudo, timeout, xargs, find -exec and the script of a shell (shell_words.c) start
 * others; launchers.def lists them. A rule for `command rm` must not be bypassed with one of these.
 * When the words do not show which command is started, it may be any command, and every rule that
 * names a command counts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy/launchers.h"
#include "base/glob.h"

#include "base/banned.h"

enum { MAX_NESTED_STARTS = 8 };

typedef enum {
    FORM_AFTER,
    FORM_ENV,
    FORM_ITEMS,
    FORM_APPLET,
    FORM_SHELL,
    FORM_FIND,
    FORM_WITH,
    FORM_AWK,
    FORM_SET,
    FORM_ANY
} launcher_form;

typedef struct launcher {
    const char *name;
    launcher_form form;
    const char *flags, *valued;
    unsigned operands;
} launcher;

static const launcher launchers[] = {
#define L(name, form, flags, valued, operands) {name, FORM_##form, flags, valued, operands},
#include "policy/launchers.def"
};
enum { N_LAUNCHERS = sizeof launchers / sizeof launchers[0] };

static pdl_str base_of(pdl_str s) {
    size_t slash = pdl_str_rfind(s, PDL_STR("/"));
    return slash == PDL_NOT_FOUND ? s : pdl_str_sub(s, slash + 1, s.n);
}

static const launcher *find_launcher(pdl_str name) {
    for (size_t i = 0; i < N_LAUNCHERS; i++)
        if (pdl_glob_fits(pdl_str_of(launchers[i].name), base_of(name), PDL_GLOB_ONE))
            return &launchers[i];
    return NULL;
}

/* Returns true when a list of words contains this word. */
static bool has_word(const char *list, pdl_str word) {
    pdl_str rest = pdl_str_of(list);
    while (rest.n)
        if (pdl_str_eq(pdl_str_take(&rest, PDL_STR(" ")), word)) return true;
    return false;
}

static bool has_letter(const char *list, char letter) {
    char option[] = {'-', letter};
    return has_word(list, (pdl_str){option, 2});
}

static bool is_number(pdl_str s) {
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') i++;
    return i == s.n && s.n > 0;
}

static bool is_assignment(pdl_str s) {
    size_t eq = pdl_str_find(s, PDL_STR("="), 0);
    return eq != PDL_NOT_FOUND && eq > 0;
}

/* --- options ---------------------------------------------------------------------------------- */

/* Steps over the option at *i and its value. Returns false for an unknown option. */
static bool pass_option(const launcher *l, const pdl_command_word *words, size_t n, size_t *i) {
    pdl_str s = words[*i].text;
    size_t eq = pdl_str_find(s, PDL_STR("="), 0);
    bool is_long = pdl_str_starts(s, PDL_STR("--"));
    if (is_long && eq != PDL_NOT_FOUND) {
        pdl_str name = pdl_str_sub(s, 0, eq);
        ++*i;
        return has_word(l->flags, name) || has_word(l->valued, name);
    }
    if (is_long || s.n == 1) {
        bool valued = has_word(l->valued, s);
        *i += valued ? 2 : 1;
        return *i <= n && (valued || has_word(l->flags, s));
    }
    ++*i;
    if (has_word(l->flags, PDL_STR("-#")) && is_number(pdl_str_sub(s, 1, s.n))) return true;
    for (size_t k = 1; k < s.n; k++) {
        if (has_letter(l->flags, s.p[k])) continue;
        if (!has_letter(l->valued, s.p[k])) return false;
        if (k + 1 < s.n) return true; /* the rest of the word is the value */
        ++*i;
        return *i <= n;
    }
    return true;
}

/* Returns the index of the first word of the started command; n when there is no command,
 * PDL_NOT_FOUND when it is unknown. */
static size_t find_command(const launcher *l, const pdl_command_word *words, size_t n) {
    size_t i = 1, left = l->operands;
    bool options = true;
    while (i < n) {
        pdl_str s = words[i].text;
        if (!s.p) return PDL_NOT_FOUND;
        if (options && pdl_str_is(s, "--")) {
            options = false;
            i++;
        } else if (options && s.n && s.p[0] == '-') {
            if (!pass_option(l, words, n, &i)) return PDL_NOT_FOUND;
        } else if (l->form == FORM_ENV && is_assignment(s)) {
            options = false;
            i++;
        } else if (left) {
            options = false;
            left--;
            i++;
        } else {
            return s.n && s.p[0] == '-' ? PDL_NOT_FOUND : i;
        }
    }
    return n;
}

/* --- forms ------------------------------------------------------------------------------------ */

typedef struct starts {
    pdl_arena *arena;
    pdl_started_fn fn;
    void *user;
    unsigned depth;
} starts;

static void find_starts(starts *s, const pdl_command_word *words, size_t n);

/* Reports that any command may be started. choosing: how many words, from the first on, may decide
 * which command it is. */
static void may_be_any(const starts *s, const pdl_command_word *words, size_t n, size_t choosing) {
    s->fn(s->user, words, n, base_of(words[0].text), choosing < n ? choosing : n);
}

/* Reports a started command, and then the commands that it starts itself. */
static void start(starts *s, const pdl_command_word *by, size_t n_by, const pdl_command_word *words,
                  size_t n) {
    if (!n) return;
    if (!words[0].text.p || s->depth == MAX_NESTED_STARTS) {
        may_be_any(s, by, n_by, n_by);
        return;
    }
    s->fn(s->user, words, n, base_of(by[0].text), 0);
    s->depth++;
    find_starts(s, words, n);
    s->depth--;
}

/* Starts the command after assignments such as PATH=... . The assignments may decide which program
 * the command is, and what it does. With has_items, the command also gets arguments that are not
 * known here, because the words before the command choose them (as for xargs). When these words
 * have an origin, one word without a value represents all those arguments. */
static void start_after(starts *s, const pdl_command_word *words, size_t n, size_t at,
                        bool has_items) {
    pdl_label label = 0, choice = 0;
    pdl_command_word *own = pdl_arena_new_n(s->arena, pdl_command_word, n - at + 1);
    for (size_t i = 1; i < at; i++)
        if (is_assignment(words[i].text)) label |= words[i].label;
    for (size_t i = at; i < n; i++) own[i - at] = words[i];
    for (size_t i = 1; has_items && i < at; i++) choice |= words[i].label;
    if (at == n) return;
    own[0].label |= label;
    own[n - at] = (pdl_command_word){.value = pdl_absent(), .label = choice};
    start(s, words, n, own, n - at + (pdl_label_origins(choice) ? 1 : 0));
}

typedef struct script_commands {
    starts *s;
    const pdl_command_word *by;
    size_t n_by;
} script_commands;

static void start_of_script(void *user, const pdl_command_word *words, size_t n) {
    script_commands *c = user;
    start(c->s, c->by, c->n_by, words, n);
}

/* Finds the script of a shell. The script is the word after the options when one of the options is
 * -c. Otherwise the script is a file. */
static void start_shell(starts *s, const pdl_command_word *words, size_t n) {
    size_t i = 1;
    bool is_text = false, more = true;
    while (more && i < n) {
        pdl_str w = words[i].text;
        more = w.p && w.n > 1 && (w.p[0] == '-' || w.p[0] == '+') && !pdl_str_is(w, "--");
        if (!more) break;
        bool is_long = pdl_str_starts(w, PDL_STR("--"));
        char last = w.p[w.n - 1];
        bool valued = is_long ? pdl_str_is(w, "--rcfile") || pdl_str_is(w, "--init-file")
                              : last == 'o' || last == 'O';
        is_text = is_text || (!is_long && pdl_str_find(w, PDL_STR("c"), 0) != PDL_NOT_FOUND);
        i += valued ? 2 : 1;
    }
    if (i < n && words[i].text.p && pdl_str_is(words[i].text, "--")) i++;
    script_commands c = {s, words, n};
    bool known = i < n && words[i].text.p;
    if (known && !is_text)
        start(s, words, n, words + i, n - i);
    else if (!known || pdl_label_origins(words[i].label) ||
             !pdl_shell_words(s->arena, words[i].text, words + i + 1, n - i - 1, start_of_script,
                              &c))
        may_be_any(s, words, n, known ? i + 1 : n);
}

/* Moves *i to the end of the command of `find` that begins after the word at *i, which is -exec or
 * similar. Returns false for any other word. */
static bool pass_exec(const pdl_command_word *words, size_t n, size_t *i) {
    pdl_str w = words[*i].text;
    if (!pdl_str_is(w, "-exec") && !pdl_str_is(w, "-execdir") && !pdl_str_is(w, "-ok") &&
        !pdl_str_is(w, "-okdir"))
        return false;
    for (++*i; *i < n && words[*i].text.p; ++*i)
        if (pdl_str_is(words[*i].text, ";") || pdl_str_is(words[*i].text, "+")) break;
    return true;
}

/* Finds the commands of `find`, each between -exec and ";" or "+". Where such a command has {},
 * it gets the files that the folders and tests of `find` choose. */
static void start_found(starts *s, const pdl_command_word *words, size_t n) {
    pdl_label choice = 0;
    for (size_t i = 1; i < n; i++) {
        if (!words[i].text.p) {
            may_be_any(s, words, n, n);
            return;
        }
        if (!pass_exec(words, n, &i)) choice |= words[i].label;
    }
    for (size_t i = 1; i < n; i++) {
        size_t from = i + 1;
        if (!pass_exec(words, n, &i)) continue;
        pdl_command_word *own = pdl_arena_new_n(s->arena, pdl_command_word, i - from + 1);
        for (size_t k = from; k < i; k++) {
            own[k - from] = words[k];
            if (words[k].text.p && pdl_str_find(words[k].text, PDL_STR("{}"), 0) != PDL_NOT_FOUND)
                own[k - from].label |= choice;
        }
        start(s, words, n, own, i - from);
    }
}

/* Returns the index of the first word that is an option of the list, alone or together with other
 * letters (-ne), or whose text is unknown; 0 when there is none. */
static size_t find_option(const launcher *l, const pdl_command_word *words, size_t n) {
    for (size_t i = 1; i < n; i++) {
        pdl_str w = words[i].text;
        if (!w.p || has_word(l->flags, w)) return i;
        if (pdl_str_starts(w, PDL_STR("+")) && has_word(l->flags, PDL_STR("+"))) return i;
        size_t eq = pdl_str_find(w, PDL_STR("="), 0);
        if (eq != PDL_NOT_FOUND && has_word(l->flags, pdl_str_sub(w, 0, eq))) return i;
        bool cluster = w.n > 1 && w.p[0] == '-' && w.p[1] != '-';
        for (size_t k = 1; cluster && k < w.n; k++)
            if (has_letter(l->flags, w.p[k])) return i;
    }
    return 0;
}

/* Returns true when an awk program may start commands. */
static bool may_awk_start(const pdl_command_word *words, size_t n) {
    for (size_t i = 1; i < n; i++) {
        pdl_str w = words[i].text;
        if (!w.p || pdl_str_find(w, PDL_STR("system"), 0) != PDL_NOT_FOUND ||
            pdl_str_find(w, PDL_STR("|"), 0) != PDL_NOT_FOUND ||
            pdl_str_find(w, PDL_STR("@"), 0) != PDL_NOT_FOUND ||
            (pdl_str_starts(w, PDL_STR("-")) && !pdl_str_starts(w, PDL_STR("-F")) &&
             !pdl_str_starts(w, PDL_STR("-v"))))
            return true;
    }
    return false;
}

/* Returns true when `set` gives the script other arguments. */
static bool sets_arguments(const pdl_command_word *words, size_t n) {
    for (size_t i = 1; i < n; i++) {
        pdl_str w = words[i].text;
        if (!w.p || !w.n || (w.p[0] != '-' && w.p[0] != '+') || pdl_str_is(w, "--")) return true;
    }
    return false;
}

static void find_starts(starts *s, const pdl_command_word *words, size_t n) {
    const launcher *l = n && words[0].text.p ? find_launcher(words[0].text) : NULL;
    if (!l) return;
    size_t at = 1;
    switch (l->form) {
    case FORM_AFTER:
    case FORM_ENV:
    case FORM_ITEMS:
        at = find_command(l, words, n);
        if (at == PDL_NOT_FOUND)
            may_be_any(s, words, n, n);
        else
            start_after(s, words, n, at, l->form == FORM_ITEMS);
        return;
    case FORM_APPLET: start(s, words, n, words + 1, n - 1); return;
    case FORM_SHELL: start_shell(s, words, n); return;
    case FORM_FIND: start_found(s, words, n); return;
    case FORM_WITH:
        at = find_option(l, words, n);
        if (at) may_be_any(s, words, n, at + 2);
        return;
    case FORM_AWK:
        if (may_awk_start(words, n)) may_be_any(s, words, n, n);
        return;
    case FORM_SET:
        if (sets_arguments(words, n)) may_be_any(s, words, n, n);
        return;
    case FORM_ANY: may_be_any(s, words, n, n); return;
    }
}

void pdl_command_each_start(pdl_arena *arena, const pdl_command_word *words, size_t n,
                            pdl_started_fn fn, void *user) {
    starts s = {.arena = arena, .fn = fn, .user = user};
    find_starts(&s, words, n);
}
