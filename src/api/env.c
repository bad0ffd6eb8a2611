/* env.c -- see env.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/env.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "io/file.h"

#include "base/banned.h"

extern char **environ;

enum { MAX_DOTENV = 1 << 20 };

struct pdl_environ {
    pdl_arena *arena;
    pdl_map vars; /* of the file: name -> char * */
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
        pdl_str rest = pdl_utf8_unmarked(pdl_buf_str(&b));
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

pdl_environ *pdl_environ_load(pdl_secrets *secrets) {
    pdl_environ *e = PDL_NEW(pdl_environ);
    e->arena = pdl_arena_make();
    find_file(e);
    for (char **v = environ; *v; v++) {
        pdl_str s = pdl_str_of(*v);
        size_t eq = pdl_str_find(s, PDL_STR("="), 0);
        if (eq != PDL_NOT_FOUND)
            pdl_secrets_note_variable(secrets, pdl_str_sub(s, 0, eq), pdl_str_sub(s, eq + 1, s.n));
    }
    for (size_t i = 0; i < e->vars.n; i++)
        pdl_secrets_note_variable(secrets, e->vars.entries[i].key,
                                  pdl_str_of(e->vars.entries[i].value));
    return e;
}

void pdl_environ_each_key(const pdl_environ *e, void (*fn)(void *user, pdl_str name, pdl_str value),
                          void *user) {
    for (char **v = environ; *v; v++) {
        pdl_str s = pdl_str_of(*v);
        size_t eq = pdl_str_find(s, PDL_STR("="), 0);
        if (eq != PDL_NOT_FOUND && pdl_is_secret_variable(pdl_str_sub(s, 0, eq)))
            fn(user, pdl_str_sub(s, 0, eq), pdl_str_sub(s, eq + 1, s.n));
    }
    for (size_t i = 0; i < e->vars.n; i++)
        if (pdl_is_secret_variable(e->vars.entries[i].key))
            fn(user, e->vars.entries[i].key, pdl_str_of(e->vars.entries[i].value));
}

void pdl_environ_free(pdl_environ *e) {
    if (!e) return;
    pdl_map_fini(&e->vars);
    pdl_arena_free(e->arena);
    pdl_free(e);
}

const char *pdl_environ_get(void *env, const char *name) {
    pdl_environ *e = env;
    const char *v = getenv(name);
    return v ? v : pdl_map_find(&e->vars, pdl_str_of(name));
}
