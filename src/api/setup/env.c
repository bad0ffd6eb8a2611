/* env.c -- finds and reads the `.env` file, and looks variables up; see env.h. The file may have
 * come with a program from a stranger. So it cannot override the process, and it cannot set
 * variables that decide what is executed, seen or sent.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/setup/env.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/setup/dotenv.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "base/word_list.h"
#include "io/file.h"

#include "base/banned.h"

extern char **environ;

enum { MAX_DOTENV = 1 << 20 };

struct pdl_environ {
    pdl_arena *arena;
    pdl_map vars; /* variables of the file: name -> char * */
};

/* The state while a file is read. */
typedef struct env_reading {
    pdl_environ *e;
    const char *path;
    const pdl_environ_notes *notes;
    unsigned n_wrong;
    /* the reason why the statement that is being read sets nothing; NULL when it is correct */
    const char *refused;
} reading;

/* Variables of this project that a file may set. None of them decides what is executed, seen or
 * sent, or what a run may cost, because a file may have come with the program. */
static const char *const harmless[] = {"PDL_CODE_MEMORY", "PDL_CODE_TIMEOUT", "PDL_POLICY",
                                       "PDL_TIMEOUT", "PDL_VERBOSE_ASYNC"};
/* Other variables that choose which programs are executed, which folders code sees, or to whom
 * spans are sent. */
static const char *const choosing[] = {"HOME", "OTEL_EXPORTER_OTLP_ENDPOINT",
                                       "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "PATH", "VIRTUAL_ENV"};

static bool is_exported(pdl_str name) {
    char *z = pdl_str_dup(name);
    bool found = getenv(z) != NULL;
    pdl_free(z);
    return found;
}

static bool may_set(pdl_str name) {
    if (pdl_str_starts(name, PDL_STR("PDL_"))) return PDL_STR_IN(name, harmless);
    return !PDL_STR_IN(name, choosing);
}

static void note(const reading *r, pdl_str text) {
    if (r->notes && r->notes->fn) r->notes->fn(r->notes->user, text);
}

static const char *put(void *user, pdl_str name, pdl_str value) {
    reading *r = user;
    pdl_arena *a = r->e->arena;
    const char *refused = r->refused;
    r->refused = NULL;
    if (refused || !may_set(name)) {
        if (is_exported(name)) return NULL; /* such a line would have no effect */
        return refused ? refused : "only the environment of the process sets this variable";
    }
    pdl_map_put(&r->e->vars, pdl_arena_str(a, name), (void *)(uintptr_t)pdl_arena_str(a, value).p);
    return NULL;
}

/* Refuses to copy a key of the process into a variable of the file. Such a variable may have
 * another purpose: it may be an address, or a key for another host. */
static const char *get(void *user, const char *name) {
    reading *r = user;
    const char *value = getenv(name);
    if (value && *value && pdl_is_secret_variable(pdl_str_of(name)))
        r->refused = "it would copy a key of the environment";
    return value ? value : pdl_environ_get(r->e, name);
}

static void wrong(void *user, unsigned line, const char *why) {
    enum { SHOWN = 5 };
    reading *r = user;
    pdl_buf b = PDL_BUF;
    r->refused = NULL;
    if (++r->n_wrong > SHOWN) return;
    pdl_buf_putf(&b, "%s:%u: %s; the line sets nothing", r->path, line, why);
    if (r->n_wrong == SHOWN) PDL_PUT(&b, " (further ones are not shown)");
    note(r, pdl_buf_str(&b));
    pdl_buf_fini(&b);
}

static void read_file(pdl_environ *e, const char *path, const pdl_environ_notes *notes) {
    pdl_buf b = PDL_BUF_INIT(MAX_DOTENV);
    pdl_err err = {0};
    reading r = {.e = e, .path = path, .notes = notes};
    if (pdl_file_read_found(path, PDL_FILE_FIFO_MS, &b, &err)) {
        pdl_dotenv_read(pdl_utf8_unmarked(pdl_buf_str(&b)),
                        &(pdl_dotenv_user){&r, put, get, wrong});
    } else {
        pdl_buf why = PDL_BUF;
        pdl_buf_putf(&why, "%s; nothing of it is set", err.msg);
        note(&r, pdl_buf_str(&why));
        pdl_buf_fini(&why);
    }
    pdl_err_fini(&err);
    pdl_buf_fini(&b);
}

/* Finds the nearest .env from the working directory upwards. */
static void find_file(pdl_environ *e, const pdl_environ_notes *notes) {
    char dir[4096];
    if (!getcwd(dir, sizeof dir)) return;
    for (;;) {
        pdl_buf path = PDL_BUF;
        pdl_buf_putf(&path, "%s/.env", dir);
        bool found = access(pdl_buf_z(&path), R_OK) == 0;
        if (found) read_file(e, pdl_buf_z(&path), notes);
        pdl_buf_fini(&path);
        char *slash = strrchr(dir, '/');
        if (found || !slash || slash == dir) return;
        *slash = 0;
    }
}

pdl_environ *pdl_environ_load(pdl_secrets *secrets, const pdl_environ_notes *notes) {
    pdl_environ *e = PDL_NEW(pdl_environ);
    e->arena = pdl_arena_make();
    find_file(e, notes);
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

/* Returns true for a variable that restricts where a key of the process may be sent (NAME_HOSTS for
 * NAME). A line of the file that sets such a variable is ignored, because the file may have come
 * with the program. */
static bool binds_a_key_of_the_process(pdl_str name) {
    pdl_str end = PDL_STR("_HOSTS");
    if (!pdl_str_ends(name, end)) return false;
    return name.n > end.n && is_exported(pdl_str_sub(name, 0, name.n - end.n));
}

const char *pdl_environ_of_file(void *env, const char *name) {
    return pdl_map_find(&((pdl_environ *)env)->vars, pdl_str_of(name));
}

const char *pdl_environ_get(void *env, const char *name) {
    pdl_environ *e = env;
    const char *v = getenv(name);
    if (!v && binds_a_key_of_the_process(pdl_str_of(name))) return NULL;
    return v ? v : pdl_map_find(&e->vars, pdl_str_of(name));
}
