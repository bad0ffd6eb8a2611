/* uri.c -- resolves references for $id and $ref, by RFC 3986, section 5.2.
 *
 * The parts of a URI are slices of its text. Only the path is rewritten, because its "." and ".."
 * are removed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "types/schema.h"

#include "base/url.h"

#include "base/banned.h"

/* The parts, without their delimiters. The p of an absent part is NULL. */
typedef struct uri {
    pdl_str scheme, authority, path, query;
} uri;

static bool is_scheme(pdl_str s) {
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool alpha = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        bool more = (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!alpha && !(i > 0 && more)) return false;
    }
    return s.n > 0;
}

/* Splits s, without its fragment. */
static uri split(pdl_str s) {
    uri u = {{0}, {0}, {0}, {0}};
    size_t colon = pdl_str_find(s, PDL_STR(":"), 0);
    if (colon != PDL_NOT_FOUND && is_scheme(pdl_str_sub(s, 0, colon))) {
        u.scheme = pdl_str_sub(s, 0, colon);
        s = pdl_str_sub(s, colon + 1, s.n);
    }
    size_t q = pdl_str_find(s, PDL_STR("?"), 0);
    if (q != PDL_NOT_FOUND) {
        u.query = pdl_str_sub(s, q + 1, s.n);
        s = pdl_str_sub(s, 0, q);
    }
    if (pdl_str_starts(s, PDL_STR("//"))) {
        size_t end = pdl_str_find(s, PDL_STR("/"), 2);
        u.authority = pdl_str_sub(s, 2, end == PDL_NOT_FOUND ? s.n : end);
        s = pdl_str_sub(s, 2 + u.authority.n, s.n);
    }
    u.path = s;
    return u;
}

/* Appends the path without its steps "." and "..". */
static void remove_dots(pdl_str path, pdl_buf *out) {
    size_t base = out->len;
    for (size_t i = 0; i < path.n;) {
        size_t end = pdl_str_find(path, PDL_STR("/"), i);
        bool last = end == PDL_NOT_FOUND;
        pdl_str seg = pdl_str_sub(path, i, last ? path.n : end);
        i = last ? path.n : end + 1;
        if (pdl_str_is(seg, "..")) {
            pdl_str done = pdl_str_sub(pdl_buf_str(out), base, out->len);
            pdl_str up = pdl_str_ends(done, PDL_STR("/")) ? pdl_str_sub(done, 0, done.n - 1) : done;
            size_t cut = pdl_str_rfind(up, PDL_STR("/"));
            if (cut != PDL_NOT_FOUND) pdl_buf_cut(out, base + cut + 1);
        } else if (!pdl_str_is(seg, ".")) {
            pdl_buf_put(out, seg);
            if (!last) pdl_buf_putc(out, '/');
        }
    }
}

static void put_path(const uri *b, const uri *r, pdl_buf *out) {
    if (r->path.n == 0) {
        pdl_buf_put(out, b->path);
        return;
    }
    if (r->path.p[0] == '/') {
        remove_dots(r->path, out);
        return;
    }
    pdl_buf merged = PDL_BUF;
    size_t slash = pdl_str_rfind(b->path, PDL_STR("/"));
    if (b->authority.p && b->path.n == 0)
        PDL_PUT(&merged, "/");
    else if (slash != PDL_NOT_FOUND)
        pdl_buf_put(&merged, pdl_str_sub(b->path, 0, slash + 1));
    pdl_buf_put(&merged, r->path);
    remove_dots(pdl_buf_str(&merged), out);
    pdl_buf_fini(&merged);
}

void pdl_uri_resolve(pdl_arena *a, pdl_str base, pdl_str ref, pdl_str *out, pdl_str *fragment) {
    size_t hash = pdl_str_find(ref, PDL_STR("#"), 0);
    *fragment = hash == PDL_NOT_FOUND ? (pdl_str){0} : pdl_str_sub(ref, hash + 1, ref.n);
    if (hash != PDL_NOT_FOUND) ref = pdl_str_sub(ref, 0, hash);
    if (ref.n == 0) {
        *out = base;
        return;
    }
    uri b = split(base), r = split(ref);
    pdl_buf t = PDL_BUF;
    pdl_str query = r.query;
    pdl_str scheme = r.scheme.n ? r.scheme : b.scheme;
    if (scheme.n) {
        pdl_buf_put(&t, scheme);
        PDL_PUT(&t, ":");
    }
    if (r.scheme.n || r.authority.p) {
        if (r.authority.p) {
            PDL_PUT(&t, "//");
            pdl_buf_put(&t, r.authority);
        }
        if (r.authority.p)
            remove_dots(r.path, &t);
        else
            pdl_buf_put(&t, r.path); /* urn:x:y */
    } else {
        if (b.authority.p) {
            PDL_PUT(&t, "//");
            pdl_buf_put(&t, b.authority);
        }
        put_path(&b, &r, &t);
        if (r.path.n == 0 && !query.p) query = b.query;
    }
    if (query.p) {
        PDL_PUT(&t, "?");
        pdl_buf_put(&t, query);
    }
    *out = pdl_arena_str(a, pdl_buf_str(&t));
    pdl_buf_fini(&t);
}

pdl_str pdl_uri_unquote(pdl_arena *a, pdl_str s) {
    if (pdl_str_find(s, PDL_STR("%"), 0) == PDL_NOT_FOUND) return s;
    pdl_buf t = PDL_BUF;
    pdl_url_unquote(s, &t);
    pdl_str out = pdl_arena_str(a, pdl_buf_str(&t));
    pdl_buf_fini(&t);
    return out;
}
