/* pdl_toml.c -- see pdl_toml.h. Reads the part of TOML that the file may have: comments, one table,
 * strings, and lists of strings on one line or several. Everything else is refused with its line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "check/pdl_toml.h"
#include "base/utf8.h"

#include "base/banned.h"

/* --- levels ----------------------------------------------------------------------------------- */

static bool set_level(pdl_check_config *c, pdl_str name, pdl_str level, pdl_err *err) {
    static const char *const words[] = {"default", "off", "warning", "error"};
    size_t n;
    const pdl_rule *r = pdl_rule_find(name);
    if (!r) {
        pdl_str near = pdl_rule_near(name);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0}, "there is no rule '%.*s'", PDL_FMT(name));
        if (near.n) pdl_err_hint(err, "did you mean '%.*s'?", PDL_FMT(near));
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (!pdl_str_is(level, words[i])) continue;
        if (r->at_load && (i == PDL_LEVEL_OFF || i == PDL_LEVEL_WARNING))
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "the rule %.*s cannot be %.*s: no program with such an error runs",
                               PDL_FMT(name), PDL_FMT(level));
        c->levels[r - pdl_rules(&n)] = (uint8_t)i;
        return true;
    }
    return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                       "'%.*s' is no level of %.*s: choose off, warning or error", PDL_FMT(level),
                       PDL_FMT(name));
}

bool pdl_check_config_rules(pdl_check_config *c, pdl_str text, pdl_err *err) {
    while (text.n) {
        size_t comma = pdl_str_find(text, PDL_STR(","), 0),
               end = comma == PDL_NOT_FOUND ? text.n : comma;
        pdl_str part = pdl_str_trim(pdl_str_sub(text, 0, end));
        size_t eq = pdl_str_find(part, PDL_STR("="), 0);
        text = pdl_str_sub(text, comma == PDL_NOT_FOUND ? end : end + 1, text.n);
        if (!part.n) continue;
        if (eq == PDL_NOT_FOUND)
            return pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                               "'%.*s' should be NAME=LEVEL, as name-unused=off", PDL_FMT(part));
        if (!set_level(c, pdl_str_trim(pdl_str_sub(part, 0, eq)),
                       pdl_str_trim(pdl_str_sub(part, eq + 1, part.n)), err))
            return false;
    }
    return true;
}

/* --- TOML ------------------------------------------------------------------------------------- */

typedef struct toml_reader {
    pdl_check_config *c;
    pdl_str file, folder, text;
    size_t at;
    unsigned line;
    bool seen[PDL_RULE_COUNT], has_folders; /* a key may be given once */
    pdl_err *err;
} toml_reader;

PDL_PRINTF(2, 3) static bool refuse(toml_reader *r, const char *fmt, ...) {
    pdl_buf text = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&text, fmt, ap);
    va_end(ap);
    pdl_err_set(r->err, PDL_E_usage, (pdl_loc){0}, "%.*s:%u - %.*s", PDL_FMT(r->file), r->line,
                PDL_FMT(pdl_buf_str(&text)));
    pdl_buf_fini(&text);
    return false;
}

static char peek(const toml_reader *r) { return r->at < r->text.n ? r->text.p[r->at] : '\0'; }

/* Skips blanks and a comment, and with `lines` also line ends. */
static void skip(toml_reader *r, bool lines) {
    for (; r->at < r->text.n; r->at++) {
        char ch = r->text.p[r->at];
        if (ch == '#')
            while (r->at + 1 < r->text.n && r->text.p[r->at + 1] != '\n') r->at++;
        else if (ch == '\n' && lines)
            r->line++;
        else if (ch != ' ' && ch != '\t' && ch != '\r')
            return;
    }
}

static bool accept(toml_reader *r, char ch) {
    if (peek(r) != ch || r->at >= r->text.n) return false;
    r->at++;
    return true;
}

/* Reads a string in single or double quotes, without escapes, which the file does not need. */
static bool read_string(toml_reader *r, pdl_str *out) {
    char quote = peek(r);
    size_t from = r->at + 1, to = from;
    if (quote != '"' && quote != '\'') return refuse(r, "expected a text in quotes");
    while (to < r->text.n && r->text.p[to] != quote && r->text.p[to] != '\n') {
        if (r->text.p[to] == '\\' && quote == '"')
            return refuse(r, "escapes are not supported: use single quotes");
        to++;
    }
    if (to >= r->text.n || r->text.p[to] != quote) return refuse(r, "the text has no end");
    *out = pdl_str_sub(r->text, from, to);
    r->at = to + 1;
    return true;
}

static bool is_key(char ch) {
    return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
           ch == '-' || ch == '_';
}

static bool read_key(toml_reader *r, pdl_str *out) {
    size_t from = r->at;
    if (peek(r) == '"' || peek(r) == '\'') return read_string(r, out);
    while (is_key(peek(r))) r->at++;
    *out = pdl_str_sub(r->text, from, r->at);
    return out->n || refuse(r, "expected a key");
}

static void add_folder(toml_reader *r, pdl_str name) {
    pdl_buf path = PDL_BUF;
    if (r->folder.n && !(name.n && name.p[0] == '/'))
        pdl_buf_putf(&path, "%.*s/", PDL_FMT(r->folder));
    pdl_buf_put(&path, name);
    *pdl_vec_push(&r->c->import) = pdl_arena_str(r->c->arena, pdl_buf_str(&path));
    pdl_buf_fini(&path);
}

static bool read_folders(toml_reader *r) {
    pdl_str name;
    if (r->has_folders) return refuse(r, "`import` is there twice");
    r->has_folders = true;
    if (!accept(r, '[')) return refuse(r, "`import` is a list of folders: [\"lib\"]");
    for (;;) {
        skip(r, true);
        if (accept(r, ']')) return true;
        if (!read_string(r, &name)) return false;
        add_folder(r, name);
        skip(r, true);
        if (!accept(r, ',') && peek(r) != ']') return refuse(r, "expected , or ]");
    }
}

static bool read_rule(toml_reader *r, pdl_str name) {
    pdl_str level;
    size_t n;
    if (!read_string(r, &level)) return false;
    pdl_err why = {0};
    if (set_level(r->c, name, level, &why)) {
        bool *seen = &r->seen[pdl_rule_find(name) - pdl_rules(&n)];
        if (*seen) return refuse(r, "the rule %.*s is there twice", PDL_FMT(name));
        *seen = true;
        return true;
    }
    refuse(r, "%s", why.msg);
    if (why.hint) pdl_err_hint(r->err, "%s", why.hint);
    pdl_err_fini(&why);
    return false;
}

/* Reads [rules]. */
static bool read_header(toml_reader *r, bool *rules) {
    pdl_str name;
    if (!read_key(r, &name)) return false;
    if (!accept(r, ']')) return refuse(r, "expected ]");
    if (!pdl_str_is(name, "rules"))
        return refuse(r, "[%.*s] is not known here: a pdl.toml has `import` and [rules]",
                      PDL_FMT(name));
    *rules = true;
    return true;
}

static bool read_entry(toml_reader *r, bool rules) {
    pdl_str key;
    if (!read_key(r, &key)) return false;
    skip(r, false);
    if (!accept(r, '=')) return refuse(r, "expected =");
    skip(r, false);
    if (rules) return read_rule(r, key);
    if (pdl_str_is(key, "import")) return read_folders(r);
    return refuse(r, "'%.*s' is not known here: a pdl.toml has `import` and [rules]", PDL_FMT(key));
}

bool pdl_check_config_read(pdl_check_config *c, pdl_str file, pdl_str folder, pdl_str text,
                           pdl_err *err) {
    text = pdl_utf8_unmarked(text);
    toml_reader r = {.c = c, .file = file, .folder = folder, .text = text, .line = 1, .err = err};
    bool rules = false;
    for (;;) {
        skip(&r, true);
        if (r.at >= text.n) return true;
        if (!(accept(&r, '[') ? read_header(&r, &rules) : read_entry(&r, rules))) return false;
        skip(&r, false);
        if (r.at < text.n && peek(&r) != '\n') return refuse(&r, "expected the end of the line");
    }
}
