/* surroundings.c -- opens and ends what surrounds every run: variables, secrets, the loop, folders,
 * prices. Secrets are removed from debug lines here, too.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/session_impl.h"

#include "base/limits.h"
#include "io/file.h"
#include "io/loop.h"

#include "base/banned.h"

const char *pdl_session_env_of(void *user, const char *name) {
    return pdl_environ_get(((pdl_session *)user)->around.env, name);
}

const char *pdl_session_env_of_file(void *user, const char *name) {
    return pdl_environ_of_file(((pdl_session *)user)->around.env, name);
}

const char *pdl_session_setting(const pdl_session *s, pdl_session_purpose needed,
                                const char *name) {
    return s->opt.run.purpose <= needed ? pdl_environ_get(s->around.env, name) : NULL;
}

void pdl_session_name_setting(pdl_err *err, const char *name) {
    const pdl_str none = PDL_STR("[Errno 2] No such file or directory: ");
    err->kind = PDL_E_usage;
    if (pdl_str_starts(pdl_str_of(err->msg), none)) {
        pdl_err plain = {0};
        pdl_err_set(&plain, PDL_E_usage, err->loc, "there is no file %s", err->msg + none.n);
        pdl_err_fini(err);
        *err = plain;
    }
    if (!err->hint) pdl_err_hint(err, "%s in the environment says so", name);
}

bool pdl_session_blame_option(pdl_err *err) {
    static const pdl_err_kind contents[] = {PDL_E_syntax, PDL_E_schema, PDL_E_config,
                                            PDL_E_bad_request, PDL_E_limit};
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++)
        if (err->kind == contents[i]) err->kind = PDL_E_usage;
    return false;
}

static void find_path(pdl_session *s) {
    s->around.folders = pdl_api_folders(s->loaded.arena, pdl_environ_get(s->around.env, "PDL_PATH"),
                                        s->opt.program.path, s->opt.program.n_path);
}

/* Reads the table of prices. A file that cannot be read is an error before anything runs, and a
 * file that is no such table is a wrong option. */
static bool read_prices(pdl_session *s, pdl_err *err) {
    const char *named = pdl_session_setting(s, PDL_FOR_RUNS, "PDL_PRICES");
    pdl_str path = s->opt.models.prices.n ? s->opt.models.prices : pdl_str_of(named ? named : "");
    bool replays = s->opt.files.replay.n && !s->opt.reports.prefix;
    if (!path.n || replays) return true;
    pdl_buf text = PDL_BUF_INIT(PDL_MAX_TEXT);
    char *name = pdl_str_dup(path);
    bool ok = (pdl_file_read(name, &text, err) &&
               pdl_prices_read(pdl_buf_str(&text), name, &s->around.prices, err)) ||
              pdl_session_blame_option(err);
    if (!ok && !s->opt.models.prices.n) pdl_session_name_setting(err, "PDL_PRICES");
    pdl_free(name);
    pdl_buf_fini(&text);
    return ok;
}

static void redact_line(void *user, pdl_str line, pdl_buf *out) {
    pdl_session *s = user;
    pdl_redactor_feed_lines(&s->around.debug_redactor, line, out);
}

/* Redacts debug lines; lines that are held back are written at the end of the session. */
static void redact_debug(pdl_session *s) {
    s->around.debug_redactor = PDL_REDACTOR(s->around.secrets);
    if (!s->opt.reports.debug || s->opt.reports.debug->redact) return;
    s->opt.reports.debug->redact = redact_line;
    s->opt.reports.debug->redact_user = s;
}

static void show_debug(pdl_session *s) {
    pdl_buf rest = PDL_BUF;
    pdl_redactor_end_lines(&s->around.debug_redactor, &rest);
    if (s->opt.reports.debug && s->opt.reports.debug->redact_user == s) {
        s->opt.reports.debug->redact = NULL;
        s->opt.reports.debug->redact_user = NULL;
        pdl_debug_put(s->opt.reports.debug, pdl_buf_str(&rest));
    }
    pdl_buf_fini(&rest);
}

static bool open_own(pdl_session *s, pdl_err *err) {
    pdl_around *a = &s->around;
    a->secrets = pdl_secrets_new();
    a->env = pdl_environ_load(a->secrets,
                              &(pdl_environ_notes){s->opt.reports.note, s->opt.reports.sink.user});
    redact_debug(s);
    a->loop = pdl_loop_try();
    if (!a->loop)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "no event loop: out of descriptors");
    find_path(s);
    return read_prices(s, err);
}

bool pdl_around_open(pdl_session *s, pdl_err *err) {
    if (!s->group.shared) return open_own(s, err);
    const pdl_around *engine = &s->group.shared->around;
    s->around = (pdl_around){.env = engine->env,
                             .secrets = engine->secrets,
                             .loop = engine->loop,
                             .folders = engine->folders};
    return true;
}

void pdl_around_end(pdl_session *s) {
    pdl_around *a = &s->around;
    pdl_prices_free(a->prices);
    if (s->opt.host.shared) return;
    pdl_loop_free(a->loop);
    pdl_environ_free(a->env);
    show_debug(s);
    pdl_secrets_free(a->secrets);
}

bool pdl_around_ok(const pdl_around *a) { return a->env && a->secrets && a->loop; }
