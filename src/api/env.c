/* env.c -- see env.h. */
#include "api/env.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "io/file.h"

#include "base/banned.h"

extern char **environ;

enum { MAX_DOTENV = 1 << 20, MIN_SECRET = 6 }; /* shorter values would redact ordinary words */

struct pdl_environ {
    pdl_arena *arena;
    pdl_map vars; /* of the file: name -> char * */
    PDL_VEC(pdl_str) secrets;
};

static pdl_str unquote(pdl_arena *a, pdl_str v) {
    bool quoted = v.n >= 2 && (v.p[0] == '"' || v.p[0] == '\'') && v.p[v.n - 1] == v.p[0];
    if (!quoted) {
        size_t hash = pdl_str_find(v, PDL_STR(" #"), 0);
        return pdl_arena_str(a, pdl_str_trim(hash == PDL_NOT_FOUND ? v : pdl_str_sub(v, 0, hash)));
    }
    bool escapes = v.p[0] == '"';
    v = pdl_str_sub(v, 1, v.n - 1);
    pdl_buf b = PDL_BUF;
    for (size_t i = 0; i < v.n; i++) {
        bool escaped = escapes && v.p[i] == '\\' && i + 1 < v.n;
        if (escaped) i++;
        pdl_buf_putc(&b, escaped && v.p[i] == 'n' ? '\n' : v.p[i]);
    }
    pdl_str out = pdl_arena_str(a, pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return out;
}

static void read_line(pdl_environ *e, pdl_str line) {
    line = pdl_str_trim(line);
    if (pdl_str_starts(line, PDL_STR("export "))) line = pdl_str_trim(pdl_str_sub(line, 7, line.n));
    size_t eq = pdl_str_find(line, PDL_STR("="), 0);
    if (!line.n || line.p[0] == '#' || eq == PDL_NOT_FOUND || eq == 0) return;
    pdl_str name = pdl_arena_str(e->arena, pdl_str_trim(pdl_str_sub(line, 0, eq)));
    pdl_str value = unquote(e->arena, pdl_str_trim(pdl_str_sub(line, eq + 1, line.n)));
    pdl_map_put(&e->vars, name, (void *)(uintptr_t)value.p);
}

static void read_file(pdl_environ *e, const char *path) {
    pdl_buf b = PDL_BUF_INIT(MAX_DOTENV);
    pdl_err err = {0};
    if (pdl_file_read(path, &b, &err)) {
        pdl_str rest = pdl_buf_str(&b);
        while (rest.n) {
            size_t nl = pdl_str_find(rest, PDL_STR("\n"), 0), n = nl == PDL_NOT_FOUND ? rest.n : nl;
            read_line(e, pdl_str_sub(rest, 0, n));
            rest = pdl_str_sub(rest, n + 1, rest.n);
        }
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

/* The nearest .env from the working directory upwards. */
static void find_file(pdl_environ *e) {
    char dir[4096];
    if (!getcwd(dir, sizeof dir)) return;
    for (;;) {
        pdl_buf path = PDL_BUF;
        pdl_buf_putf(&path, "%s/.env", dir);
        bool found = access(pdl_buf_z(&path), R_OK) == 0;
        if (found) read_file(e, pdl_buf_z(&path));
        pdl_buf_fini(&path);
        char *slash = strrchr(dir, '/');
        if (found || !slash || slash == dir) return;
        *slash = 0;
    }
}

static bool says_secret(pdl_str name) {
    static const char *const words[] = {"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (pdl_str_find(name, pdl_str_of(words[i]), 0) != PDL_NOT_FOUND) return true;
    return false;
}

static void note_secret(pdl_environ *e, pdl_str name, pdl_str value) {
    if (value.n >= MIN_SECRET && says_secret(name)) *pdl_vec_push(&e->secrets) = value;
}

/* A header "Bearer abc" is secret as a whole and without its first word. */
void pdl_environ_note(void *env, pdl_str name, pdl_str value, bool always) {
    pdl_environ *e = env;
    if (!always && !says_secret(name)) return;
    size_t blank = always ? pdl_str_find(value, PDL_STR(" "), 0) : PDL_NOT_FOUND;
    pdl_str word = blank == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(value, blank + 1, value.n);
    if (value.n >= MIN_SECRET) *pdl_vec_push(&e->secrets) = pdl_arena_str(e->arena, value);
    if (word.n >= MIN_SECRET) *pdl_vec_push(&e->secrets) = pdl_arena_str(e->arena, word);
}

pdl_environ *pdl_environ_load(void) {
    pdl_environ *e = PDL_NEW(pdl_environ);
    e->arena = pdl_arena_make();
    find_file(e);
    for (char **v = environ; *v; v++) {
        pdl_str s = pdl_str_of(*v);
        size_t eq = pdl_str_find(s, PDL_STR("="), 0);
        if (eq != PDL_NOT_FOUND) note_secret(e, pdl_str_sub(s, 0, eq), pdl_str_sub(s, eq + 1, s.n));
    }
    for (size_t i = 0; i < e->vars.n; i++)
        note_secret(e, e->vars.entries[i].key, pdl_str_of(e->vars.entries[i].value));
    return e;
}

void pdl_environ_free(pdl_environ *e) {
    if (!e) return;
    pdl_map_fini(&e->vars);
    pdl_vec_fini(&e->secrets);
    pdl_arena_free(e->arena);
    pdl_free(e);
}

const char *pdl_environ_get(void *env, const char *name) {
    pdl_environ *e = env;
    const char *v = getenv(name);
    return v ? v : pdl_map_find(&e->vars, pdl_str_of(name));
}

const pdl_str *pdl_environ_secrets(const pdl_environ *e, size_t *n) {
    *n = e->secrets.n;
    return e->secrets.p;
}
