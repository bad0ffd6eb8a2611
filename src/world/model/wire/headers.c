/* headers.c -- header lines as one list, and the comparison of URLs by which credentials stay with
 * their origin; see headers.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "model/wire/headers.h"

#include "base/os.h"

#include "base/banned.h"

void pdl_headers_add(pdl_headers *h, const char *fmt, ...) {
    pdl_buf line = PDL_BUF;
    va_list ap;
    va_start(ap, fmt);
    pdl_buf_vputf(&line, fmt, ap);
    va_end(ap);
    *pdl_vec_push(h) = pdl_buf_take(&line);
}

static bool is_named(pdl_str line, pdl_str name) {
    return line.n > name.n && line.p[name.n] == ':' &&
           pdl_str_eq_nocase(pdl_str_sub(line, 0, name.n), name);
}

bool pdl_headers_has(const pdl_headers *h, const char *name) {
    for (size_t i = 0; i < h->n; i++)
        if (is_named(pdl_str_of(h->p[i]), pdl_str_of(name))) return true;
    return false;
}

pdl_str pdl_headers_get(const pdl_headers *h, const char *name) {
    size_t skip = strlen(name) + 1;
    for (size_t i = 0; i < h->n; i++) {
        pdl_str line = pdl_str_of(h->p[i]);
        if (is_named(line, pdl_str_of(name))) return pdl_str_trim(pdl_str_sub(line, skip, line.n));
    }
    return (pdl_str){"", 0};
}

/* Adds a header line. Most lines are added here, without a format, because formatting them would
 * take as long as writing the rest of the request. */
static void add_line(pdl_headers *h, const char *name, const char *between, pdl_str value) {
    pdl_buf line = PDL_BUF;
    pdl_buf_put(&line, pdl_str_of(name));
    pdl_buf_put(&line, pdl_str_of(between));
    pdl_buf_put(&line, value);
    *pdl_vec_push(h) = pdl_buf_take(&line);
}

void pdl_headers_default(pdl_headers *h, const char *name, const char *value) {
    if (!pdl_headers_has(h, name)) add_line(h, name, ": ", pdl_str_of(value));
}

void pdl_headers_put(pdl_headers *h, const char *name, const char *value) {
    size_t i = 0;
    while (i < h->n && !is_named(pdl_str_of(h->p[i]), pdl_str_of(name))) i++;
    pdl_headers_add(h, "%s: %s", name, value);
    if (i + 1 == h->n) return;
    pdl_free(h->p[i]);
    h->p[i] = h->p[--h->n];
}

void pdl_headers_bearer(pdl_headers *h, pdl_str token) {
    if (!pdl_headers_has(h, "Authorization")) add_line(h, "Authorization", ": Bearer ", token);
}

static pdl_str name_of(pdl_str line) {
    return pdl_str_sub(line, 0, pdl_str_find(line, PDL_STR(":"), 0));
}

void pdl_headers_show(pdl_str line, pdl_buf *out) {
    pdl_str name = name_of(line);
    bool secret = name.n < line.n && pdl_is_secret_header(name);
    pdl_buf_put(out, secret ? name : line);
    if (secret) PDL_PUT(out, ": ***");
}

void pdl_headers_note(const pdl_headers *h, pdl_secrets *secrets) {
    for (size_t i = 0; secrets && i < h->n; i++) {
        pdl_str line = pdl_str_of(h->p[i]), name = name_of(line);
        if (name.n < line.n)
            pdl_secrets_note_header(secrets, name, pdl_str_sub(line, name.n + 1, line.n));
    }
}

bool pdl_headers_check(const pdl_headers *h, pdl_err *err) {
    for (size_t i = 0; i < h->n; i++)
        if (strpbrk(h->p[i], "\r\n"))
            return pdl_err_set(
                err, PDL_E_config, (pdl_loc){0}, "the header %.*s holds a line end",
                PDL_FMT(pdl_str_sub(name_of(pdl_str_of(h->p[i])), 0, strcspn(h->p[i], "\r\n"))));
    return true;
}

void pdl_headers_fini(pdl_headers *h) {
    for (size_t i = 0; i < h->n; i++) {
        pdl_os_wipe(h->p[i], strlen(h->p[i]));
        pdl_free(h->p[i]);
    }
    pdl_vec_fini(h);
}

/* --- URLs ------------------------------------------------------------------------------------- */

static size_t origin_end(pdl_str url) {
    size_t at = pdl_str_find(url, PDL_STR("://"), 0);
    size_t i = at == PDL_NOT_FOUND ? 0 : at + 3;
    while (i < url.n && url.p[i] != '/' && url.p[i] != '?' && url.p[i] != '#') i++;
    return i;
}

pdl_str pdl_url_host(pdl_str url) {
    size_t at = pdl_str_find(url, PDL_STR("://"), 0), end = origin_end(url);
    pdl_str host = pdl_str_sub(url, at == PDL_NOT_FOUND ? 0 : at + 3, end);
    size_t user = pdl_str_rfind(host, PDL_STR("@"));
    return user == PDL_NOT_FOUND ? host : pdl_str_sub(host, user + 1, host.n);
}

pdl_str pdl_url_path(pdl_str url) {
    size_t start = origin_end(url), end = pdl_str_find(url, PDL_STR("?"), start);
    return pdl_str_sub(url, start, end == PDL_NOT_FOUND ? url.n : end);
}

/* Returns true for "." or "..", also when a dot is written as %2E. */
static bool is_dots(pdl_str part) {
    size_t i = 0, dots = 0;
    while (i < part.n && dots < 3) {
        bool coded = pdl_str_eq_nocase(pdl_str_sub(part, i, i + 3), PDL_STR("%2e"));
        if (!coded && part.p[i] != '.') return false;
        i += coded ? 3 : 1;
        dots++;
    }
    return dots == 1 || dots == 2;
}

bool pdl_url_leaves(pdl_str url, pdl_str base) {
    pdl_str path = pdl_str_starts(url, base) ? pdl_str_sub(url, base.n, url.n) : pdl_url_path(url);
    path = pdl_str_sub(path, 0, pdl_str_find(path, PDL_STR("?"), 0));
    for (size_t from = 0; from <= path.n;) {
        size_t slash = pdl_str_find(path, PDL_STR("/"), from),
               to = slash == PDL_NOT_FOUND ? path.n : slash;
        if (is_dots(pdl_str_sub(path, from, to))) return true;
        from = to + 1;
    }
    return false;
}

bool pdl_url_same_origin(pdl_str a, pdl_str b) {
    if (pdl_str_find(a, PDL_STR("://"), 0) == PDL_NOT_FOUND) return false;
    return pdl_str_eq_nocase(pdl_str_sub(a, 0, origin_end(a)), pdl_str_sub(b, 0, origin_end(b)));
}
