/* found_secrets.c -- records secrets that are in no variable of the environment: the run found them
 * in a value.
 *
 * In the file, a key of the environment is replaced by its name (secret_references.h). A token that
 * a service makes while the run is in progress has no name that another process could look up. So
 * texts with this token are in the file unchanged. Commands that show the run later must redact it.
 * So each such secret becomes a line of the fact `secrets`, in the transaction of the first row
 * that contains it. A secret that is in no row is not written, so the file never reveals more than
 * its rows do.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/durable/durable_impl.h"
#include "value/json_read.h"

#include "base/banned.h"

#define FACT "secrets"

static void read_lines(const pdl_durable *d, pdl_buf *out) {
    /* an error of the file is ignored here, because reading the file reports it */
    pdl_err ignored = {0};
    if (!pdl_store_get(d->file.store, FACT, out, &ignored)) pdl_buf_clear(out);
    pdl_err_fini(&ignored);
}

static void each_line(const pdl_durable *d, void (*fn)(void *user, pdl_str line), void *user) {
    pdl_buf lines = PDL_BUF;
    read_lines(d, &lines);
    for (pdl_str rest = pdl_buf_str(&lines); rest.n;) {
        size_t end = pdl_str_find(rest, PDL_STR("\n"), 0);
        fn(user, pdl_str_sub(rest, 0, end));
        rest = pdl_str_sub(rest, end == PDL_NOT_FOUND ? rest.n : end + 1, rest.n);
    }
    pdl_buf_fini(&lines);
}

/* --- writing ---------------------------------------------------------------------------------- */

struct secret_search {
    pdl_durable *server; /* the durable run that owns the file: this run, or its server */
    pdl_buf lines;       /* the new text of the fact; empty when it does not change */
};

static void remember(void *user, pdl_str line) { (void)pdl_secrets_add_first(user, line); }

static void on_secret(void *user, pdl_str found) {
    struct secret_search *f = user;
    if (!f->server->file.secrets) {
        f->server->file.secrets = pdl_secrets_new();
        each_line(f->server, remember, f->server->file.secrets);
    }
    if (!pdl_secrets_add_first(f->server->file.secrets, found)) return;
    if (!f->lines.len) read_lines(f->server, &f->lines);
    pdl_buf_put(&f->lines, found);
    pdl_buf_putc(&f->lines, '\n');
}

bool pdl_durable_keep_secrets(pdl_durable *d, pdl_str json, pdl_err *err) {
    pdl_durable *server = d->group.server ? d->group.server : d;
    struct secret_search f = {server, PDL_BUF};
    if (!pdl_secrets_any(d->setup.opt.secrets)) return true;
    pdl_secrets_each_in(d->setup.opt.secrets, json, on_secret, &f);
    bool ok = !f.lines.len || pdl_store_put(d->file.store, FACT, pdl_buf_str(&f.lines), err);
    pdl_buf_fini(&f.lines);
    return ok;
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Registers the secret in a line of the fact `secrets`. The line has the escapes of a JSON
 * string. */
static void note_line(void *user, pdl_str line) {
    pdl_buf quoted = PDL_BUF;
    pdl_val v = pdl_absent();
    pdl_err ignored = {0};
    pdl_buf_putf(&quoted, "\"%.*s\"", PDL_FMT(line));
    bool whole = pdl_json_read(pdl_buf_str(&quoted), 0, &v, NULL, &ignored) && pdl_is_str(v);
    /* a line that was cut off may end inside an escape */
    pdl_secrets_note(user, whole ? pdl_str_get(v) : line);
    pdl_drop(v);
    pdl_err_fini(&ignored);
    pdl_buf_fini(&quoted);
}

void pdl_durable_note_secrets(const pdl_durable *d, pdl_secrets *s) { each_line(d, note_line, s); }
