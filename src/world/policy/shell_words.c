/* shell_words.c -- reads a shell script as simple commands, so that policies know which commands it
 * runs, with which words. Only forms whose meaning is certain are read: quotes, "$1" and "$@",
 * lists and pipes, redirections, if, while and for. Any other form (substitution of commands,
 * splitting, functions, case) ends the reading, and the policy treats the script as if it could
 * start any command.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <string.h>

#include "base/vec.h"
#include "base/word_list.h"
#include "policy/launchers.h"

#include "base/banned.h"

enum { MAX_WORDS = 200, MAX_COMMANDS = 200 };

typedef struct shell_script {
    pdl_arena *arena;
    pdl_str text;
    size_t at, commands;
    const pdl_command_word *arguments;
    size_t n_arguments;
    pdl_label of_arguments; /* labels of all arguments together */
    bool writes;            /* a redirection wrote a file */
    bool passed_on; /* a pipe or a file may have passed the arguments to the commands that follow */
    PDL_VEC(pdl_command_word) words, files; /* files: the files of redirections */
    void (*fn)(void *user, const pdl_command_word *words, size_t n);
    void *user;
} shell_script;

/* A word while it is read. */
typedef struct half_word {
    pdl_buf text;
    bool begun, quoted, unknown; /* unknown: a variable is a part of it */
} half_word;

static char here(const shell_script *s) { return s->at < s->text.n ? s->text.p[s->at] : '\0'; }

static bool ends_word(char c) { return !c || strchr(" \t\n;|&()<>", c) != NULL; }

static bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Reads $NAME or ${NAME} after the dollar. Returns false for any other form. */
static bool read_variable(shell_script *s, pdl_str *name) {
    bool braces = here(s) == '{';
    if (braces) s->at++;
    size_t from = s->at;
    if (here(s) == '@' || here(s) == '#' || here(s) == '?')
        s->at++;
    else if (here(s) >= '0' && here(s) <= '9' && !braces)
        s->at++;
    else
        while (is_name_char(here(s))) s->at++;
    *name = pdl_str_sub(s->text, from, s->at);
    if (!name->n) return false;
    if (!braces) return true;
    return here(s) == '}' && ++s->at;
}

static void push(shell_script *s, pdl_str text, pdl_vref value, pdl_label label) {
    *pdl_vec_push(&s->words) = (pdl_command_word){text, value, label};
}

/* Reads "$1" or "$@" as a whole word, with the quotes. Returns true when the word has this form. */
static bool read_argument(shell_script *s) {
    size_t from = s->at, number = 0;
    pdl_str name;
    s->at += 2; /* steps over the quote and the dollar */
    if (read_variable(s, &name) && here(s) == '"') {
        s->at++;
        bool ends = ends_word(here(s));
        bool digits = name.n <= 3;
        for (size_t i = 0; digits && i < name.n; i++) {
            digits = name.p[i] >= '0' && name.p[i] <= '9';
            number = number * 10 + (size_t)(name.p[i] - '0');
        }
        if (ends && pdl_str_is(name, "@")) {
            for (size_t i = 1; i < s->n_arguments; i++) *pdl_vec_push(&s->words) = s->arguments[i];
            return true;
        }
        if (ends && digits) {
            if (number < s->n_arguments)
                *pdl_vec_push(&s->words) = s->arguments[number];
            else
                push(s, (pdl_str){"", 0}, pdl_absent(), 0);
            return true;
        }
    }
    s->at = from;
    return false;
}

/* Reads what is between double quotes. */
static bool read_quoted(shell_script *s, half_word *w) {
    pdl_str name;
    while (here(s) && here(s) != '"') {
        char c = s->text.p[s->at++];
        if (c == '`') return false;
        if (c == '$') {
            if (!read_variable(s, &name) || pdl_str_is(name, "@")) return false;
            w->unknown = true;
        } else if (c == '\\' && here(s) && strchr("$`\"\\\n", here(s))) {
            if (here(s) != '\n') pdl_buf_putc(&w->text, here(s));
            s->at++;
        } else {
            pdl_buf_putc(&w->text, c);
        }
    }
    return here(s) == '"' && ++s->at;
}

/* Reads the next part of a word. Returns false when its meaning is not certain. */
static bool read_part(shell_script *s, half_word *w) {
    char c = s->text.p[s->at++];
    w->begun = true;
    switch (c) {
    case '\'': {
        size_t end = pdl_str_find(s->text, PDL_STR("'"), s->at);
        if (end == PDL_NOT_FOUND) return false;
        pdl_buf_put(&w->text, pdl_str_sub(s->text, s->at, end));
        s->at = end + 1;
        w->quoted = true;
        return true;
    }
    case '"': w->quoted = true; return read_quoted(s, w);
    case '\\':
        if (!here(s)) return false;
        if (here(s) != '\n') pdl_buf_putc(&w->text, here(s));
        s->at++;
        return true;
    case '$':
    case '`': return false; /* a substitution may become several words */
    default: pdl_buf_putc(&w->text, c); return true;
    }
}

/* Reads a word and adds it. Returns false when the meaning of the word is not certain. */
static bool read_word(shell_script *s) {
    half_word w = {.text = PDL_BUF};
    bool ok = true, glob = false;
    if (s->words.n >= MAX_WORDS) return false;
    if (here(s) == '"' && s->at + 1 < s->text.n && s->text.p[s->at + 1] == '$' && read_argument(s))
        return true;
    while (ok && !ends_word(here(s))) {
        glob = glob || strchr("*?[{", here(s));
        ok = read_part(s, &w);
    }
    pdl_str text = pdl_arena_str(s->arena, pdl_buf_str(&w.text));
    pdl_buf_fini(&w.text);
    /* a word that is only a brace or a bracket is not a pattern */
    bool whole = pdl_str_is(text, "{") || pdl_str_is(text, "[");
    if (ok && !s->words.n && glob && !whole) return false;
    if (ok && w.unknown)
        push(s, (pdl_str){0}, pdl_absent(), s->of_arguments);
    else if (ok)
        push(s, text, pdl_absent(), 0);
    return ok;
}

/* --- commands --------------------------------------------------------------------------------- */

static bool is_assignment(pdl_str s) {
    size_t i = 0;
    while (i < s.n && is_name_char(s.p[i])) i++;
    return i > 0 && i < s.n && s.p[i] == '=';
}

/* Ends a command. Words before the name are left out: reserved words and assignments. The command's
 * own words are followed by the files of redirections and by one word for the input that it may
 * read. Returns false for a form whose meaning is not certain. */
static bool end_command(shell_script *s) {
    static const char *const before[] = {"if",   "then",  "elif",  "else", "fi", "do",
                                         "done", "while", "until", "!",    "{",  "}"};
    static const char *const hard[] = {"case", "select", "function", "[[", "coproc", "let"};
    size_t i = 0, n = s->words.n;
    const pdl_command_word *w = s->words.p;
    bool ok = true;
    while (i < n && w[i].text.p && (PDL_STR_IN(w[i].text, before) || is_assignment(w[i].text))) i++;
    if (i < n && w[i].text.p) {
        ok = !PDL_STR_IN(w[i].text, hard);
        bool loop = pdl_str_is(w[i].text, "for");
        if (ok && !loop) {
            for (size_t k = 0; k < s->files.n; k++) *pdl_vec_push(&s->words) = s->files.p[k];
            if (s->passed_on && pdl_label_origins(s->of_arguments))
                push(s, (pdl_str){0}, pdl_absent(), s->of_arguments);
            s->fn(s->user, s->words.p + i, s->words.n - i);
        }
    } else if (i < n) {
        ok = false; /* the command is the value of a variable */
    }
    s->words.n = s->files.n = 0;
    return ok && ++s->commands <= MAX_COMMANDS;
}

static bool is_number(pdl_str s) {
    size_t i = 0;
    while (i < s.n && s.p[i] >= '0' && s.p[i] <= '9') i++;
    return i == s.n && s.n > 0;
}

/* Reads a redirection and the word that follows it. */
static bool read_redirection(shell_script *s) {
    size_t from = s->at;
    while (here(s) && strchr("<>&|", here(s))) s->at++;
    pdl_str op = pdl_str_sub(s->text, from, s->at);
    if (pdl_str_starts(op, PDL_STR("<<")) || op.n > 3 || here(s) == '(') return false;
    while (here(s) == ' ' || here(s) == '\t') s->at++;
    if (ends_word(here(s))) return false;
    size_t before = s->words.n;
    bool number = before && from && s->text.p[from - 1] >= '0' && s->text.p[from - 1] <= '9';
    /* the number belongs to the redirection, as in 2>FILE */
    if (number && is_number(s->words.p[before - 1].text)) before = --s->words.n;
    /* when no word was read before, the file must not be taken for the command */
    bool named = before > 0;
    if (!named) push(s, PDL_STR(">"), pdl_absent(), 0);
    bool ok = read_word(s);
    bool is_null = ok && s->words.n == before + !named + 1 && s->words.p[s->words.n - 1].text.p &&
                   pdl_str_is(s->words.p[s->words.n - 1].text, "/dev/null");
    bool is_copy = op.p[op.n - 1] == '&'; /* the redirection copies a descriptor, as in 2>&1 */
    s->writes = s->writes || (!is_null && !is_copy && memchr(op.p, '>', op.n));
    for (size_t i = before + !named; ok && i < s->words.n; i++)
        *pdl_vec_push(&s->files) = s->words.p[i];
    s->words.n = before;
    return ok;
}

static bool read_token(shell_script *s) {
    char c = here(s);
    switch (c) {
    case ' ':
    case '\t': s->at++; return true;
    case '#':
        while (here(s) && here(s) != '\n') s->at++;
        return true;
    case '(':
        if (s->words.n) return false; /* a parenthesis after a word defines a function */
        s->at++;
        return here(s) != '(';
    case '\n':
    case ';':
    case '&':
    case '|':
    case ')':
        if (c == '&' && s->at + 1 < s->text.n && s->text.p[s->at + 1] == '>')
            return read_redirection(s);
        s->at++;
        bool piped = c == '|' && here(s) != '|' && !(s->at > 1 && s->text.p[s->at - 2] == '|');
        bool ended = end_command(s);
        s->passed_on = s->passed_on || piped || s->writes;
        return ended;
    case '<':
    case '>': return read_redirection(s);
    default: return read_word(s);
    }
}

bool pdl_shell_words(pdl_arena *arena, pdl_str text, const pdl_command_word *arguments, size_t n,
                     void (*fn)(void *user, const pdl_command_word *words, size_t n), void *user) {
    shell_script s = {.arena = arena,
                      .text = text,
                      .arguments = arguments,
                      .n_arguments = n,
                      .fn = fn,
                      .user = user};
    bool ok = pdl_str_find(text, (pdl_str){"\0", 1}, 0) == PDL_NOT_FOUND;
    for (size_t i = 0; i < n; i++) s.of_arguments |= arguments[i].label;
    while (ok && s.at < text.n) ok = read_token(&s);
    ok = ok && end_command(&s);
    pdl_vec_fini(&s.words);
    pdl_vec_fini(&s.files);
    return ok;
}
