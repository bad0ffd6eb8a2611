/* journal.c -- the part that recording and replaying share: the keys by which effects are found,
 * and errors as JSON; see journal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "journal/journal.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "base/utf8.h"
#include "journal/recording_impl.h"
#include "journal/store.h"
#include "value/int.h"

#include "base/banned.h"

/* Returns the request of a `read` in the form in which it is compared. `shown`, the path that
 * messages show, is removed. With `twice`, `shown` is set to the path instead. Takes request. */
static pdl_val put_shown(pdl_val request, bool twice) {
    pdl_vref path = pdl_dict_getz(request, "path");
    if (twice) return pdl_dict_putz(request, "shown", pdl_keep(path));
    pdl_val key = pdl_textz("shown");
    request = pdl_dict_del(request, key);
    pdl_drop(key);
    return request;
}

void pdl_journal_put_place(const pdl_redaction *m, pdl_label label, const pdl_path *place,
                           pdl_buf *out) {
    pdl_buf instead = PDL_BUF;
    if (pdl_redaction_covers(m, label)) {
        pdl_redaction_put(m, label, &instead);
        pdl_path_put_hidden(place, "code", pdl_buf_str(&instead), out);
    } else {
        pdl_path_text(place, out);
    }
    pdl_buf_fini(&instead);
}

/* Makes the identity of an effect: its place, number and kind, and the hash of its request. Secrets
 * and control parameters are not in the request. */
bool pdl_journal_key(const journal_form *form, const pdl_effect *e, journal_id *out, pdl_err *err) {
    out->place = out->request = PDL_BUF;
    pdl_journal_put_place(form->redaction, pdl_effect_label(e), e->place, &out->place);
    pdl_val request = pdl_effect_moved(e, form->folder, form->prefix);
    if (e->kind == PDL_EFFECT_read) request = put_shown(request, form->twice);
    request = pdl_redact_labelled(form->redaction, request);
    bool ok = pdl_effect_canonical(e->kind, request, form->secrets, &out->request, err);
    pdl_drop(request);
    if (!ok) {
        pdl_journal_id_fini(out);
        return false;
    }
    pdl_hash_hex(pdl_buf_str(&out->request), out->hash);
    pdl_buf all = PDL_BUF;
    pdl_buf_put(&all, pdl_buf_str(&out->place));
    pdl_buf_putf(&all, "\n%u\n%s\n%s", e->seq, pdl_effect_kind_name(e->kind), out->hash);
    pdl_sha256 h;
    unsigned char digest[32];
    pdl_sha256_init(&h);
    pdl_sha256_add(&h, pdl_buf_str(&all));
    pdl_sha256_done(&h, digest);
    memcpy(&out->key, digest, sizeof out->key);
    pdl_buf_fini(&all);
    return true;
}

journal_form pdl_journal_form_of(const pdl_journal *j) {
    return (journal_form){.secrets = j->secrets,
                          .redaction = j->redaction,
                          .folder = pdl_str_of(j->folder ? j->folder : "")};
}

void pdl_journal_id_fini(journal_id *id) {
    pdl_buf_fini(&id->place);
    pdl_buf_fini(&id->request);
}

/* --- errors as values ------------------------------------------------------------------------- */

static pdl_val put_z(pdl_val d, const char *key, const char *z) {
    return z ? pdl_dict_putz(d, key, pdl_textz(z)) : d;
}

/* Adds the facts of an error to its dict. Takes d. */
static pdl_val put_detail(pdl_val d, const pdl_err *e) {
    pdl_val facts = pdl_effect_error_facts(e);
    pdl_buf text = PDL_BUF;
    pdl_err ignored = {0};
    if (pdl_dict_len(facts) && pdl_effect_encode(facts, &text, &ignored))
        d = pdl_dict_putz(d, "detail", pdl_text_of_buf(&text));
    pdl_err_fini(&ignored);
    pdl_buf_fini(&text);
    pdl_drop(facts);
    return d;
}

static bool is_of_path(char c) {
    unsigned char u = (unsigned char)c;
    return u >= 0x80 || pdl_cp_is_alnum(u) || strchr("/._-", c);
}

/* Returns the text with the path `from` replaced by `to`. Occurrences that are a part of a longer
 * path stay. */
static pdl_val with_path(pdl_str text, pdl_str from, pdl_str to) {
    pdl_buf b = PDL_BUF;
    size_t done = 0;
    for (size_t at = 0; from.n && (at = pdl_str_find(text, from, at)) != PDL_NOT_FOUND;) {
        size_t end = at + from.n;
        bool inside =
            (at > 0 && is_of_path(text.p[at - 1])) || (end < text.n && is_of_path(text.p[end]));
        if (!inside) {
            pdl_buf_put(&b, pdl_str_sub(text, done, at));
            pdl_buf_put(&b, to);
            done = end;
        }
        at = end;
    }
    pdl_buf_put(&b, pdl_str_sub(text, done, text.n));
    return pdl_text_of_buf(&b);
}

/* Replaces the path in a message about the file that e requests. The message of a run shows a path
 * that depends on the folder where the run was started. The recorded message has the path of the
 * request instead. With `record`, returns the recorded message for the message of a run; otherwise
 * the reverse. */
static pdl_val moved_message(const pdl_effect *e, pdl_str folder, pdl_str text, bool record) {
    pdl_vref path = pdl_dict_getz(e->request, "path"), shown = pdl_dict_getz(e->request, "shown");
    if (!pdl_is_str(path)) return pdl_text(text);
    pdl_val request = pdl_effect_moved(e, folder, (pdl_str){"", 0});
    pdl_str here = pdl_str_get(pdl_is_str(shown) ? shown : path),
            there = pdl_str_get(pdl_dict_getz(request, "path"));
    pdl_val out = record ? with_path(text, here, there) : with_path(text, there, here);
    pdl_drop(request);
    return out;
}

/* Returns an error as a dict. Positions in the source are not stored: in a replay, the block that
 * requests the effect has its own position. */
pdl_val pdl_journal_error_value(pdl_str folder, const pdl_effect *asked, const pdl_err *e) {
    assert(e->kind != PDL_E_NONE);
    pdl_val d = pdl_dict_putz(pdl_dict_new(6), "kind", pdl_textz(pdl_err_kind_name(e->kind)));
    if (e->msg)
        d = pdl_dict_putz(d, "message", moved_message(asked, folder, pdl_str_of(e->msg), true));
    d = put_z(d, "hint", e->hint);
    d = put_z(d, "py_class", e->py_class);
    d = put_detail(d, e);
    if (e->has_status) d = pdl_dict_putz(d, "status", pdl_int(e->status));
    if (e->uncatchable) d = pdl_dict_putz(d, "final", pdl_bool(true));
    if (e->preformatted) d = pdl_dict_putz(d, "bare", pdl_bool(true));
    return d;
}

static char *get_z(pdl_vref d, const char *key) {
    pdl_vref v = pdl_dict_getz(d, key);
    return pdl_is_str(v) ? pdl_str_dup(pdl_str_get(v)) : NULL;
}

static pdl_err_kind kind_of(pdl_vref v) {
    for (int k = 1; k < PDL_E_COUNT; k++)
        if (pdl_is_str(v) && pdl_text_is(v, pdl_err_kind_name((pdl_err_kind)k)))
            return (pdl_err_kind)k;
    return PDL_E_runtime;
}

void pdl_journal_error_read(pdl_str folder, const pdl_effect *asked, pdl_vref v, pdl_err *out) {
    assert(out->kind == PDL_E_NONE);
    pdl_vref msg = pdl_dict_getz(v, "message"), status = pdl_dict_getz(v, "status");
    pdl_val text =
        moved_message(asked, folder, pdl_is_str(msg) ? pdl_str_get(msg) : PDL_STR(""), false);
    pdl_err_set(out, kind_of(pdl_dict_getz(v, "kind")), (pdl_loc){0}, "%.*s",
                PDL_FMT(pdl_str_get(text)));
    pdl_drop(text);
    out->hint = get_z(v, "hint");
    out->py_class = get_z(v, "py_class");
    if (!out->py_class) out->py_class = get_z(v, "foreign"); /* the name in older journals */
    pdl_vref detail = pdl_dict_getz(v, "detail");
    if (pdl_is_str(detail)) pdl_effect_error_facts_read(pdl_str_get(detail), out);
    int64_t n = 0;
    out->has_status = pdl_int_get(status, &n) && n >= INT_MIN && n <= INT_MAX;
    if (out->has_status) out->status = (int)n;
    out->uncatchable = pdl_is_bool(pdl_dict_getz(v, "final"));
    out->preformatted = pdl_is_bool(pdl_dict_getz(v, "bare"));
}

/* --- public ----------------------------------------------------------------------------------- */

pdl_world *pdl_journal_world(pdl_journal *j, pdl_world *next) {
    j->world.next = next;
    return &j->world;
}

bool pdl_journal_finish(pdl_journal *j, pdl_err *err) {
    if (!j->problem.kind && pdl_journal_db_commit(j->db, &j->problem)) return true;
    pdl_err_copy(err, &j->problem);
    return false;
}

void pdl_journal_redact(pdl_journal *j, const pdl_secrets *secrets) { j->secrets = secrets; }
void pdl_journal_redact_labels(pdl_journal *j, const pdl_redaction *redaction) {
    j->redaction = redaction;
}
void pdl_journal_folder(pdl_journal *j, pdl_str folder) {
    while (folder.n > 1 && folder.p[folder.n - 1] == '/') folder.n--;
    pdl_free(j->folder);
    j->folder = pdl_str_is(folder, ".") ? NULL : pdl_str_dup(folder);
}

void pdl_journal_debug(pdl_journal *j, const pdl_debug *debug) { j->debug = debug; }

void pdl_journal_forget(pdl_journal *j) { pdl_journal_db_forget(j->db); }

void pdl_journal_close(pdl_journal *j) {
    if (!j) return;
    j->fini(j);
    pdl_journal_db_close(j->db);
    pdl_err_fini(&j->problem);
    pdl_free(j->folder);
    pdl_free(j);
}

/* --- its program ------------------------------------------------------------------------------ */

/* Reads a dict that the recording has under a key; absent when it has none. */
static bool read_dict(db *d, const char *key, pdl_val *out, pdl_err *err) {
    pdl_buf json = PDL_BUF;
    *out = pdl_absent();
    bool ok = pdl_journal_db_get_info(d, key, &json, err) &&
              (!json.len || pdl_effect_decode(pdl_buf_str(&json), out, err));
    if (ok && !pdl_is_absent(*out) && !pdl_is_dict(*out))
        ok = pdl_err_set(err, PDL_E_replay, (pdl_loc){0}, "%.*s is damaged: its %s are no object",
                         PDL_FMT(pdl_journal_db_path(d)), key);
    pdl_buf_fini(&json);
    return ok;
}

bool pdl_journal_is(pdl_str path) { return pdl_store_is_ours(path) && !pdl_store_is(path); }

bool pdl_journal_read_program(pdl_str path, pdl_journal_program *out, pdl_err *err) {
    db *d;
    *out = (pdl_journal_program){PDL_BUF, PDL_BUF, pdl_absent(), pdl_absent()};
    if (!pdl_journal_db_open(path, &d, err)) return false;
    bool ok = pdl_journal_db_get_info(d, "program", &out->file, err) &&
              pdl_journal_db_get_info(d, "text", &out->text, err) &&
              read_dict(d, "inputs", &out->inputs, err) &&
              read_dict(d, "policies", &out->policies, err);
    pdl_journal_db_close(d);
    if (!ok) pdl_journal_program_fini(out);
    return ok;
}

void pdl_journal_program_fini(pdl_journal_program *p) {
    pdl_buf_fini(&p->file);
    pdl_buf_fini(&p->text);
    pdl_drop(p->inputs);
    pdl_drop(p->policies);
    p->inputs = p->policies = pdl_absent();
}

struct each {
    bool (*fn)(void *user, const pdl_journal_row *row);
    void *user;
};

static bool on_row(void *user, const db_effect *e) {
    struct each *x = user;
    pdl_journal_row row = {.id = e->id,
                           .place = e->place,
                           .kind = e->kind,
                           .request = e->request,
                           .reply = e->reply,
                           .error = e->error,
                           .seq = e->seq,
                           .start = e->start,
                           .seconds = e->seconds};
    return x->fn(x->user, &row);
}

bool pdl_journal_each(pdl_str path, bool (*fn)(void *user, const pdl_journal_row *row), void *user,
                      pdl_err *err) {
    db *d;
    if (!pdl_journal_db_open(path, &d, err)) return false;
    bool ok = pdl_journal_db_each(d, NULL, on_row, &(struct each){fn, user}, err);
    pdl_journal_db_close(d);
    return ok;
}
