/* embed.c -- turns a file into a C source that holds its bytes: embed IN OUT.c SYMBOL.
 *
 * The source defines `const unsigned char SYMBOL[]`, followed by a NUL that `const size_t
 * SYMBOL_len` does not count. Scripts and style sheets (.js, .css) are held in the form that browsers
 * get: without comments and indentation, which are a seventh of them. Used at build time only; it has
 * nothing to do with embeddings of texts (model/call/embedding_calls.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PER_LINE = 16 };

typedef struct text {
    char *p; /* A NUL follows the last byte. The pointer is NULL when the file cannot be read. */
    size_t n;
} text;

static text read_all(FILE *in) {
    long size = fseek(in, 0, SEEK_END) ? -1 : ftell(in);
    char *p = size < 0 ? NULL : malloc((size_t)size + 1);
    if (!p) return (text){NULL, 0};
    rewind(in);
    text t = {p, fread(p, 1, (size_t)size, in)};
    p[t.n] = 0;
    return t;
}

/* --- without comments ------------------------------------------------------------------------- */

static bool is_blank(char c) { return c && strchr(" \t\r\n", c); }

static bool starts(const char *s, const char *with) { return !strncmp(s, with, strlen(with)); }

/* Copies the line s of n bytes without its comment and the blanks around it. Leaves out the end of
 * the line after `;`, `{` and `,`, where scripts do not need it. Import lines keep their ends, and
 * `export` begins a line, so that viewer/page.c finds both when it makes a page of one file. No
 * text in the scripts has two slashes with a space on each side, or continues on another line.
 * Returns the new end of `out`. */
static char *put_line(const char *s, size_t n, const char *begin, char *out) {
    while (n && is_blank(*s)) s++, n--;
    bool is_comment = n > 1 && s[0] == '/' && s[1] == '/';
    for (size_t i = 0; i + 4 <= n; i++)
        if (!memcmp(s + i, " // ", 4)) n = i;
    while (n && is_blank(s[n - 1])) n--;
    if (!n || is_comment) return out;
    if (starts(s, "export ") && out > begin && out[-1] != '\n') *out++ = '\n';
    memcpy(out, s, n);
    out += n;
    if (starts(s, "import ") || !strchr(";{,", s[n - 1])) *out++ = '\n';
    return out;
}

/* A line becomes longer by at most one byte: the end of a line that is put before `export`. */
static void drop_comments(text *t) {
    char *out = malloc(2 * t->n + 1), *end = out;
    if (!out) exit(1);
    for (const char *s = t->p, *next; *s; s = next) {
        size_t n = strcspn(s, "\n");
        next = s + n + (s[n] == '\n');
        end = put_line(s, n, out, end);
    }
    free(t->p);
    *end = 0;
    *t = (text){out, (size_t)(end - out)};
}

/* Returns true when the next sign that is not white space is the brace that ends a rule of a style
 * sheet. */
static bool ends_rule(const char *s) { return s[strspn(s, " \n")] == '}'; }

/* Removes from a style sheet comments, last semicolons of rules, and the spaces that only people
 * need. No text in the style sheets has a space at such a place, or the beginning of a comment. */
static void shorten_style(text *t) {
    char *end = t->p;
    char before = ';';
    for (const char *s = t->p; *s; s++) {
        const char *close = starts(s, "/*") ? strstr(s, "*/") : NULL;
        if (close) {
            before = '/';
            s = close + 1;
            continue;
        }
        bool is_needed = !strchr("{};:,\n", before) && s[1] && !strchr("{}\n", s[1]);
        bool is_kept = *s == ' ' || *s == '\n' ? is_needed : *s != ';' || !ends_rule(s + 1);
        before = *s;
        if (is_kept) *end++ = *s;
    }
    *end = 0;
    t->n = (size_t)(end - t->p);
}

static void shorten(text *t, const char *name) {
    const char *dot = strrchr(name, '.');
    bool is_style = dot && !strcmp(dot, ".css");
    if (is_style || (dot && !strcmp(dot, ".js"))) drop_comments(t);
    if (is_style) shorten_style(t);
}

/* --- the source ------------------------------------------------------------------------------- */

static void write_source(const text *t, const char *name, const char *symbol, FILE *out) {
    const char *base = strrchr(name, '/');
    fprintf(out, "/* Made from %s by tools/embed. */\n#include <stddef.h>\n\n",
            base ? base + 1 : name);
    fprintf(out,
            "extern const unsigned char %s[];\nextern const size_t %s_len;\n\nconst unsigned char "
            "%s[] = {\n",
            symbol, symbol, symbol);
    for (size_t i = 0; i < t->n; i++)
        fprintf(out, "0x%02x,%s", (unsigned)(unsigned char)t->p[i],
                i % PER_LINE == PER_LINE - 1 ? "\n" : "");
    fprintf(out, "0};\nconst size_t %s_len = %zu;\n", symbol, t->n);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fputs("usage: embed IN OUT.c SYMBOL\n", stderr);
        return 2;
    }
    FILE *in = fopen(argv[1], "rb");
    FILE *out = in ? fopen(argv[2], "wb") : NULL;
    if (!out) {
        fprintf(stderr, "embed: cannot open %s\n", in ? argv[2] : argv[1]);
        return 1;
    }
    text t = read_all(in);
    if (t.p) {
        shorten(&t, argv[1]);
        write_source(&t, argv[1], argv[3], out);
    }
    int failed = !t.p || ferror(in) || ferror(out);
    free(t.p);
    fclose(in);
    if (fclose(out) || failed) {
        fputs("embed: input or output error\n", stderr);
        return 1;
    }
    return 0;
}
