/* policies.c -- reads the policies of a session; see policies.h. A word without a slash or a dot is
 * the name of a built-in policy.
 *
 * A built-in policy comes from the installation, and never from a file of the same name in a folder
 * for imports. Otherwise, anyone who can write to that folder could weaken the policy of users who
 * write `--policy careful`. Moreover, durable runs compare built-in policies by their names alone.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "api/session/policies.h"

#include <errno.h>

#include "api/policy.h"
#include "base/limits.h"
#include "io/file.h"
#include "value/text.h"

#include "base/banned.h"

static const char *const built_in[] = {"default", "careful", "strict"};
enum { N_BUILT_IN = sizeof built_in / sizeof built_in[0] };

static bool is_word(pdl_str s) {
    return s.n && pdl_str_find(s, PDL_STR("/"), 0) == PDL_NOT_FOUND &&
           pdl_str_find(s, PDL_STR("."), 0) == PDL_NOT_FOUND;
}

bool pdl_policies_built_in(const pdl_policy_source *from, pdl_str name, pdl_buf *text,
                           pdl_err *err) {
    pdl_str known[N_BUILT_IN];
    size_t k = 0;
    for (size_t i = 0; i < N_BUILT_IN; i++) known[i] = pdl_str_of(built_in[i]);
    while (k < N_BUILT_IN && !pdl_str_eq(name, known[k])) k++;
    if (k == N_BUILT_IN) {
        pdl_str near = pdl_str_nearest(name, known, N_BUILT_IN);
        pdl_buf here = PDL_BUF;
        pdl_buf_putf(&here, "./%.*s", PDL_FMT(name));
        if (!near.n && pdl_file_kind_of(pdl_buf_z(&here)) != PDL_FILE_NONE)
            near = pdl_buf_str(&here);
        pdl_err_set(err, PDL_E_usage, (pdl_loc){0},
                    "there is no policy '%.*s': built in are default, careful and strict; "
                    "another one is a file, with its path%s%.*s%s",
                    PDL_FMT(name), near.n ? "; did you mean '" : "", PDL_FMT(near),
                    near.n ? "'?" : "");
        pdl_buf_fini(&here);
        return false;
    }
    pdl_buf file = PDL_BUF;
    bool found = false, ok = false;
    for (size_t i = 0; i < from->n_path && !found; i++) {
        pdl_buf_clear(&file);
        pdl_buf_putf(&file, "%.*s/lib/policies/%.*s.yaml", PDL_FMT(from->path[i]), PDL_FMT(name));
        found = pdl_file_kind_of(pdl_buf_z(&file)) != PDL_FILE_NONE;
        ok = found && pdl_file_read(pdl_buf_z(&file), text, err);
    }
    pdl_buf_fini(&file);
    if (found) return ok;
    return pdl_err_set(err, PDL_E_io, (pdl_loc){0},
                       "the library has no lib/policies/%.*s.yaml: it is not installed completely",
                       PDL_FMT(name));
}

static void begin(pdl_policies **all, const pdl_policy_source *from) {
    if (!*all) *all = pdl_policies_new(from->names);
}

static void note_file(const pdl_policy_source *from, const pdl_buf *file) {
    if (from->on_file) from->on_file(from->user, pdl_buf_str(file));
}

/* Reads a file, or takes its kept text. */
static bool read_text(const pdl_policy_source *from, const char *file, pdl_buf *text,
                      pdl_err *err) {
    pdl_vref kept = pdl_is_dict(from->kept) ? pdl_dict_getz(from->kept, file) : pdl_absent();
    if (pdl_is_str(kept))
        pdl_buf_put(text, pdl_str_get(kept));
    else if (!pdl_file_read_within(file, PDL_FILE_FIFO_MS, text, err))
        return false;
    if (from->read) *from->read = pdl_dict_putz(*from->read, file, pdl_text(pdl_buf_str(text)));
    return true;
}

static bool read_file(const pdl_policy_source *from, const char *file, pdl_buf *text,
                      pdl_err *err) {
    pdl_err why = {0};
    if (read_text(from, file, text, &why)) return true;
    pdl_file_kind kind = pdl_file_kind_of(file);
    bool missing = kind == PDL_FILE_NONE && errno == ENOENT;
    pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "the policy %s cannot be read: %s", file,
                missing                ? "there is no such file"
                : kind == PDL_FILE_DIR ? "it is a folder"
                                       : why.msg);
    pdl_err_fini(&why);
    return false;
}

/* A file that the most recently added policy names. */
typedef struct named_file {
    const char *what;
    pdl_str policy, path; /* path is relative to the folder of the policy */
    pdl_loc loc;
} named_file;

/* Reads the file, and puts its path into file. A policy that names a missing file is as wrong as a
 * policy that names a file with the wrong content. The error has its place as text, because the
 * policies are released when the session cannot be made. */
static bool read_beside(const pdl_policy_source *from, const named_file *n, pdl_buf *file,
                        pdl_buf *text, pdl_err *err) {
    pdl_err why = {0};
    pdl_str folder = pdl_file_folder(n->policy);
    if (folder.n && n->path.n && n->path.p[0] != '/') pdl_buf_putf(file, "%.*s/", PDL_FMT(folder));
    pdl_buf_put(file, n->path);
    note_file(from, file);
    if (read_text(from, pdl_buf_z(file), text, &why)) return true;
    bool is_missing = pdl_file_kind_of(pdl_buf_z(file)) == PDL_FILE_NONE;
    pdl_buf place = PDL_BUF;
    pdl_loc_put(n->loc, &place);
    pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s%s %s cannot be read: %s", pdl_buf_z(&place),
                n->what, pdl_buf_z(file), is_missing ? "there is no such file" : why.msg);
    err->preformatted = true;
    pdl_buf_fini(&place);
    pdl_err_fini(&why);
    return false;
}

static bool read_lock(pdl_policies *all, const pdl_policy_source *from, pdl_str policy,
                      pdl_err *err) {
    named_file n = {.what = "the lock file", .policy = policy};
    n.path = pdl_policies_lock_path(all, &n.loc);
    if (!n.path.n) return true;
    pdl_buf file = PDL_BUF, text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
    bool ok = read_beside(from, &n, &file, &text, err);
    if (!ok) pdl_err_hint(err, "`pdl policy lock %s` writes it", pdl_buf_z(&file));
    ok = ok && pdl_policies_lock(all, pdl_buf_str(&file), pdl_buf_str(&text), err);
    pdl_buf_fini(&file);
    pdl_buf_fini(&text);
    return ok;
}

/* Reads the files with lists of texts that the most recently added policy names. */
static bool read_lists(pdl_policies *all, const pdl_policy_source *from, pdl_str policy,
                       pdl_err *err) {
    bool ok = true;
    named_file n = {.what = "the list", .policy = policy};
    for (size_t i = 0; ok && (n.path = pdl_policies_list_path(all, i, &n.loc)).p; i++) {
        pdl_buf file = PDL_BUF, text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES);
        ok = read_beside(from, &n, &file, &text, err);
        if (ok) pdl_policies_put_list(all, i, pdl_buf_str(&text));
        pdl_buf_fini(&file);
        pdl_buf_fini(&text);
    }
    return ok;
}

static bool read_named(pdl_policies **all, const pdl_policy_source *from, pdl_str folder,
                       pdl_str name, pdl_err *err) {
    pdl_buf text = PDL_BUF_INIT((size_t)PDL_MAX_SOURCE_BYTES), file = PDL_BUF;
    bool ok;
    begin(all, from);
    if (is_word(name)) {
        ok = pdl_policies_built_in(from, name, &text, err) &&
             pdl_policies_add(*all, name, pdl_buf_str(&text), true, err);
    } else {
        bool moved = folder.n && name.n && name.p[0] != '/';
        if (moved) pdl_buf_putf(&file, "%.*s/", PDL_FMT(folder));
        pdl_buf_put(&file, name);
        note_file(from, &file);
        ok = read_file(from, pdl_buf_z(&file), &text, err) &&
             pdl_policies_add(*all, pdl_buf_str(&file), pdl_buf_str(&text), false, err) &&
             read_lock(*all, from, pdl_buf_str(&file), err) &&
             read_lists(*all, from, pdl_buf_str(&file), err);
    }
    pdl_buf_fini(&text);
    pdl_buf_fini(&file);
    return ok;
}

bool pdl_policies_read_file(pdl_policies **all, const pdl_policy_source *from, pdl_str name,
                            pdl_err *err) {
    return read_named(all, from, (pdl_str){0}, name, err);
}

bool pdl_policies_read_node(pdl_policies **all, const pdl_policy_source *from, pdl_str file,
                            const pdl_node *n, pdl_err *err) {
    begin(all, from);
    if (pdl_node_is_null(n)) return true;
    /* this file names the policy, or contains it */
    if (from->on_file) from->on_file(from->user, file);
    if (!pdl_node_is_str(n))
        return pdl_policies_add_node(*all, file, n, err) && read_lock(*all, from, file, err) &&
               read_lists(*all, from, file, err);
    if (read_named(all, from, from->folder, n->text, err)) return true;
    pdl_err_at(err, pdl_node_loc(n));
    return false;
}
