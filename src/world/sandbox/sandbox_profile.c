/* sandbox_profile.c -- reads profiles, which say what a process may do. A list in the profile of a
 * file or a policy adds to the defaults; a list in the profile of a block may only take away.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/word_list.h"
#include "sandbox/sandbox_impl.h"
#include "value/int.h"
#include "yaml/profile.h"

#include "base/banned.h"

enum { PROCESSES = 64, MEMORY_MB = 2048, TMP_MB = 1024, FILE_MB = 1024 };

void pdl_paths_add(path_list *l, pdl_str s) { *pdl_vec_push(l) = pdl_str_dup(s); }

bool pdl_paths_have(const path_list *l, const char *s) {
    return pdl_str_in(pdl_str_of(s), (const char *const *)l->p, l->n);
}

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

void pdl_paths_sort(path_list *l) {
    size_t n = 0;
    if (l->n) qsort(l->p, l->n, sizeof *l->p, by_text);
    for (size_t i = 0; i < l->n; i++) {
        if (n && strcmp(l->p[n - 1], l->p[i]) == 0)
            pdl_free(l->p[i]);
        else
            l->p[n++] = l->p[i];
    }
    l->n = n;
}

/* Returns the first path that is not before the text, or "" when all paths are before it. */
static const char *first_from(const path_list *l, const char *text) {
    size_t from = 0, to = l->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (strcmp(l->p[mid], text) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    return from < l->n ? l->p[from] : "";
}

bool pdl_sorted_have(const path_list *l, const char *path) {
    return strcmp(first_from(l, path), path) == 0;
}

bool pdl_sorted_under(const path_list *l, const char *folder) {
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, "%s/", strcmp(folder, "/") == 0 ? "" : folder);
    bool is = pdl_sorted_have(l, folder) ||
              pdl_str_starts(pdl_str_of(first_from(l, pdl_buf_z(&b))), pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return is;
}

void pdl_paths_fini(path_list *l) {
    for (size_t i = 0; i < l->n; i++) pdl_free(l->p[i]);
    pdl_vec_fini(l);
}

static void copy_list(path_list *to, const path_list *from) {
    for (size_t i = 0; i < from->n; i++) pdl_paths_add(to, pdl_str_of(from->p[i]));
}

void pdl_profile_init(sandbox_profile *p) {
    *p = (sandbox_profile){
        .processes = PROCESSES, .memory_mb = MEMORY_MB, .tmp_mb = TMP_MB, .file_mb = FILE_MB};
}

void pdl_profile_fini(sandbox_profile *p) {
    pdl_paths_fini(&p->read);
    pdl_paths_fini(&p->write);
    pdl_paths_fini(&p->net);
    pdl_paths_fini(&p->env);
}

void pdl_profile_copy(sandbox_profile *to, const sandbox_profile *from) {
    *to = *from;
    to->read = to->write = to->net = to->env = (path_list){0};
    copy_list(&to->read, &from->read);
    copy_list(&to->write, &from->write);
    copy_list(&to->net, &from->net);
    copy_list(&to->env, &from->env);
}

bool pdl_path_is_under(const char *path, const char *folder) {
    size_t n = strlen(folder);
    if (n == 1 && folder[0] == '/') return path[0] == '/';
    return strncmp(path, folder, n) == 0 && (path[n] == 0 || path[n] == '/');
}

/* --- values ----------------------------------------------------------------------------------- */

/* The lists of a profile, which are the first rows of profile.def in their order. */
typedef enum { LIST_READ, LIST_WRITE, LIST_NET, LIST_ENV } list_kind;

typedef struct profile_reader {
    sandbox_profile *p;
    const pdl_profile_source *from;
    bool narrow;
    pdl_buf problems;
} profile_reader;

PDL_PRINTF(2, 3) static void wrong(profile_reader *r, const char *fmt, ...) {
    if (r->problems.len) pdl_buf_putc(&r->problems, '\n');
    pdl_buf_putf(&r->problems, "%.*s: ", PDL_FMT(r->from->what));
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&r->problems, fmt, ap);
    va_end(ap);
}

/* Returns the absolute path with its links followed, or unchanged when it does not exist. "~" is
 * not expanded, because a profile must not mean something else when HOME changes. */
static char *full_path(pdl_str dir, pdl_str path) {
    char real[PATH_MAX], cwd[PATH_MAX];
    pdl_buf b = PDL_BUF;
    bool absolute = path.n && path.p[0] == '/';
    if (!absolute && (!dir.n || dir.p[0] != '/') && getcwd(cwd, sizeof cwd))
        pdl_buf_putf(&b, "%s/", cwd);
    if (!absolute && dir.n) pdl_buf_putf(&b, "%.*s/", PDL_FMT(dir));
    pdl_buf_put(&b, path);
    char *all = pdl_buf_take(&b);
    if (!realpath(all, real)) return all;
    pdl_free(all);
    return pdl_str_dup(pdl_str_of(real));
}

static bool covered(const path_list *l, const char *path) {
    for (size_t i = 0; i < l->n; i++)
        if (pdl_path_is_under(path, l->p[i])) return true;
    return false;
}

/* Returns true when a narrowing profile may name this path. For reading, it may name the paths that
 * every program sees and the paths that may be written. The profile may name a hidden path
 * only if the list names it already, because naming it makes it visible. */
static bool is_inside(const profile_reader *r, list_kind kind, const path_list *before,
                      const char *path) {
    const pdl_profile_source *f = r->from;
    if (f->hidden && covered(f->hidden, path)) return pdl_paths_have(before, path);
    if (covered(before, path)) return true;
    return kind == LIST_READ &&
           (covered(&r->p->write, path) || (f->shown && covered(f->shown, path)));
}

/* Returns true when one of the patterns in net includes everything that this item names. */
static bool is_granted(const path_list *net, const char *item) {
    char host[256];
    const char *colon = strrchr(item, ':');
    if (pdl_paths_have(net, item)) return true;
    /* the item is an IPv6 address */
    if (item[0] == '[' || (colon && strchr(item, ':') != colon)) return false;
    size_t n = colon ? (size_t)(colon - item) : strlen(item);
    if (n >= sizeof host) return false;
    memcpy(host, item, n);
    host[n] = 0;
    return host[0] != '*' &&
           pdl_net_grants(net, host, colon ? (int)strtol(colon + 1, NULL, 10) : 0);
}

static void add_item(profile_reader *r, const char *key, list_kind kind, path_list *to,
                     const path_list *before, pdl_str s) {
    bool path = kind == LIST_READ || kind == LIST_WRITE;
    char *item = path ? full_path(r->from->dir, s) : pdl_str_dup(s);
    if (kind == LIST_ENV && pdl_profile_names_key(s)) {
        wrong(r, "env: %s is the name of a key, and keys are not handed in", item);
    } else if (path && strcmp(item, "/") == 0) {
        wrong(r, "%s: / is everything; name the folders that are needed", key);
    } else if (kind == LIST_NET && !pdl_net_is_item(item)) {
        wrong(r, "net: '%s' should be HOST, HOST:PORT or *.DOMAIN", item);
    } else if (r->narrow && path && !is_inside(r, kind, before, item)) {
        wrong(r, "%s: %s is not in the profile around it, and a block may only take away", key,
              item);
    } else if (r->narrow && kind == LIST_NET && !is_granted(before, item)) {
        wrong(r, "net: '%s' is not in the profile around it, and a block may only take away", item);
    } else if (r->narrow && kind == LIST_ENV && !pdl_paths_have(before, item)) {
        wrong(r, "%s: '%s' is not in the profile around it, and a block may only take away", key,
              item);
    } else if (!pdl_paths_have(to, item)) {
        pdl_paths_add(to, pdl_str_of(item));
    }
    pdl_free(item);
}

static void read_list(profile_reader *r, const char *key, list_kind kind, path_list *list,
                      pdl_vref v) {
    if (!pdl_is_list(v) || pdl_list_len(v) > PDL_PROFILE_MAX_ITEMS) {
        wrong(r, "%s should be a list of at most %d texts", key, PDL_PROFILE_MAX_ITEMS);
        return;
    }
    path_list before = *list;
    if (r->narrow) *list = (path_list){0};
    for (size_t i = 0; i < pdl_list_len(v); i++) {
        pdl_vref x = pdl_list_at(v, i);
        if (!pdl_is_str(x) || !pdl_str_get(x).n || memchr(pdl_str_get(x).p, 0, pdl_str_get(x).n))
            wrong(r, "%s should be a list of texts", key);
        else
            add_item(r, key, kind, list, &before, pdl_str_get(x));
    }
    if (r->narrow) pdl_paths_fini(&before);
}

static void read_number(profile_reader *r, const char *key, int64_t most, int64_t *to, pdl_vref v) {
    int64_t n;
    if (!pdl_is(v, PDL_V_INT) || !pdl_int_get(v, &n) || n < 1 || n > most)
        wrong(r, "%s should be an integer from 1 to %lld", key, (long long)most);
    else if (r->narrow && n > *to)
        wrong(r,
              "%s: %lld is more than the profile around it has (%lld), and a block may only take "
              "away",
              key, (long long)n, (long long)*to);
    else
        *to = n;
}

static void read_seconds(profile_reader *r, pdl_vref v) {
    double s = pdl_is_int(v) ? pdl_num_to_double(v) : pdl_is(v, PDL_V_FLOAT) ? pdl_float_of(v) : 0;
    if (!(s > 0) || s > PDL_PROFILE_MAX_SECONDS)
        wrong(r, "seconds should be a number above 0, at most %d", PDL_PROFILE_MAX_SECONDS);
    else if (r->narrow && r->p->seconds > 0 && s > r->p->seconds)
        wrong(r, "seconds: %g is more than the profile around it has", s);
    else
        r->p->seconds = s;
}

static void read_key(profile_reader *r, pdl_str key, pdl_vref v) {
    size_t n, k = 0;
    const pdl_profile_key *keys = pdl_profile_keys(&n);
    sandbox_profile *p = r->p;
    path_list *const lists[] = {&p->read, &p->write, &p->net, &p->env};
    int64_t *const counts[] = {&p->processes, &p->memory_mb, &p->tmp_mb, &p->file_mb};
    while (k < n && !pdl_str_is(key, keys[k].key)) k++;
    if (k == n) {
        pdl_str near = pdl_profile_nearest(key);
        wrong(r, "no key of a profile: '%.*s'%s%.*s%s", PDL_FMT(key),
              near.n ? "; did you mean '" : "", PDL_FMT(near), near.n ? "'?" : "");
    } else if (keys[k].form == PDL_PROFILE_LIST) {
        read_list(r, keys[k].key, (list_kind)k, lists[k], v);
    } else if (keys[k].form == PDL_PROFILE_COUNT) {
        read_number(r, keys[k].key, keys[k].most, counts[k - PDL_PROFILE_processes], v);
    } else {
        read_seconds(r, v);
    }
}

bool pdl_profile_read(sandbox_profile *p, pdl_vref given, const pdl_profile_source *from,
                      pdl_err *err) {
    profile_reader r = {p, from, from->narrows, PDL_BUF};
    if (!pdl_is_dict(given)) {
        wrong(&r, "a profile should be an object {read, write, net, env, processes, memory, ...}");
    } else {
        for (size_t i = 0; i < pdl_dict_len(given); i++) {
            pdl_vref key = pdl_dict_key_at(given, i);
            if (pdl_is_str(key))
                read_key(&r, pdl_str_get(key), pdl_dict_val_at(given, i));
            else
                wrong(&r, "the keys of a profile are texts");
        }
    }
    bool ok = !r.problems.len;
    if (!ok) {
        pdl_err_set(err, PDL_E_schema, (pdl_loc){0}, "%s", pdl_buf_z(&r.problems));
        err->preformatted = true;
    }
    pdl_buf_fini(&r.problems);
    return ok;
}
