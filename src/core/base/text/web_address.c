/* web_address.c -- brings web addresses into normal form; see web_address.h.
 *
 * An address is read from left to right. The function for each part refuses every form that another
 * reader could understand differently.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/web_address.h"

#include <string.h>

#include "base/url.h"

#include "base/banned.h"

enum {
    MAX_BYTES = 8192, /* maximum length of an address in bytes; servers refuse longer addresses */
    MAX_HOST = 253,
    MAX_SHOWN = 80,
};

static bool wrong(pdl_err *err, pdl_str text, const char *why) {
    pdl_buf b = PDL_BUF;
    /* the text before an @ may be a password, even when no @ is shown */
    size_t at = pdl_str_rfind(text, PDL_STR("@"));
    pdl_str shown = pdl_str_sub(text, at == PDL_NOT_FOUND ? 0 : at, text.n);
    bool cut = shown.n > MAX_SHOWN;
    if (cut) shown.n = MAX_SHOWN;
    for (size_t i = 0; i < shown.n; i++)
        pdl_buf_putc(&b, shown.p[i] >= ' ' && shown.p[i] < 127 ? shown.p[i] : '?');
    pdl_err_set(err, PDL_E_bad_request, (pdl_loc){0}, "the address '%s%s%s' %s",
                at == PDL_NOT_FOUND ? "" : "***", pdl_buf_z(&b), cut ? "..." : "", why);
    pdl_buf_fini(&b);
    return false;
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static bool is_host_char(char c) {
    return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '-' || c == '_' || c == '.';
}

/* --- the host --------------------------------------------------------------------------------- */

/* Returns true for four numbers from 0 to 255 in their shortest form. */
static bool is_ipv4(pdl_str s) {
    size_t i = 0;
    for (int part = 0; part < 4; part++) {
        size_t from = i;
        unsigned n = 0;
        while (i < s.n && is_digit(s.p[i]) && i - from < 3) n = n * 10 + (unsigned)(s.p[i++] - '0');
        if (i == from || n > 255 || (i - from > 1 && s.p[from] == '0')) return false;
        if (part < 3 && (i >= s.n || s.p[i++] != '.')) return false;
    }
    return i == s.n;
}

/* Returns true when the last label is a number, such as "0x7f": resolvers read such a host as an
 * address. */
static bool ends_in_number(pdl_str host) {
    size_t dot = pdl_str_rfind(host, PDL_STR("."));
    pdl_str last = pdl_str_sub(host, dot == PDL_NOT_FOUND ? 0 : dot + 1, host.n);
    if (!last.n) return false;
    if (last.n > 1 && last.p[0] == '0' && (last.p[1] | 32) == 'x') return true;
    for (size_t i = 0; i < last.n; i++)
        if (!is_digit(last.p[i])) return false;
    return true;
}

/* Appends the host. An IPv6 address is in brackets. */
static bool put_host(pdl_str whole, pdl_str host, pdl_buf *out, pdl_err *err) {
    bool ipv6 = host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    /* A dot at the end does not change the host, but rules of a policy would not recognise it. */
    if (host.n && host.p[host.n - 1] == '.') host.n--;
    if (!host.n || host.n > MAX_HOST) return wrong(err, whole, "has no valid host");
    for (size_t i = 0; i < host.n; i++) {
        char c = host.p[i];
        bool hex = is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f') || c == ':' || c == '.';
        bool edge = i == 0 || i == host.n - 1;
        if ((unsigned char)c >= 128)
            return wrong(err, whole,
                         "has a host with letters beyond ASCII: write its form that begins "
                         "with xn--");
        if (!(ipv6 ? edge || hex : is_host_char(c))) return wrong(err, whole, "has no valid host");
        pdl_buf_putc(out, c >= 'A' && c <= 'Z' ? (char)(c | 32) : c);
    }
    if (pdl_str_starts(host, PDL_STR(".")) || pdl_str_find(host, PDL_STR(".."), 0) != PDL_NOT_FOUND)
        return wrong(err, whole, "has no valid host");
    if (!ipv6 && ends_in_number(host) && !is_ipv4(host))
        return wrong(err, whole, "has a host that is a number: write four numbers with dots");
    return true;
}

static bool put_port(pdl_str whole, pdl_str port, bool tls, pdl_buf *out, pdl_err *err) {
    unsigned long n = 0;
    for (size_t i = 0; i < port.n; i++) {
        if (!is_digit(port.p[i]) || i > 5) return wrong(err, whole, "has no valid port");
        n = n * 10 + (unsigned long)(port.p[i] - '0');
    }
    if (!port.n || n == (tls ? 443UL : 80UL)) return true;
    if (!n || n > 65535) return wrong(err, whole, "has no valid port");
    pdl_buf_putf(out, ":%lu", n);
    return true;
}

/* Appends host and port. */
static bool put_authority(pdl_str whole, pdl_str s, bool tls, pdl_buf *out, pdl_err *err) {
    if (pdl_str_find(s, PDL_STR("@"), 0) != PDL_NOT_FOUND)
        return wrong(err, whole,
                     "has a user name: give it in a header, or in `auth` by the name of a "
                     "variable");
    size_t bracket = pdl_str_rfind(s, PDL_STR("]"));
    size_t colon = pdl_str_rfind(s, PDL_STR(":"));
    bool port = colon != PDL_NOT_FOUND && (bracket == PDL_NOT_FOUND || colon > bracket);
    size_t end = port ? colon : s.n;
    return put_host(whole, pdl_str_sub(s, 0, end), out, err) &&
           put_port(whole, pdl_str_sub(s, port ? end + 1 : end, s.n), tls, out, err);
}

/* --- path and query --------------------------------------------------------------------------- */

/* Appends s; characters that an address may not contain are percent-encoded. Existing escapes
 * stay. */
static void put_escaped(pdl_str s, pdl_buf *out) { pdl_url_quote(s, "!$&'()*+,;=:@/?%[]|", out); }

static bool is_dots(pdl_str s, int n) {
    int dots = 0;
    size_t i = 0;
    while (i < s.n) {
        bool plain = s.p[i] == '.';
        bool escaped = pdl_str_eq_nocase(pdl_str_sub(s, i, i + 3), PDL_STR("%2e"));
        if (!plain && !escaped) return false;
        i += plain ? 1 : 3;
        dots++;
    }
    return dots == n;
}

/* Appends a path without "." and "..". */
static void put_path(pdl_str path, pdl_buf *out) {
    size_t begin = out->len;
    for (size_t i = 0; i < path.n;) {
        size_t from = path.p[i] == '/' ? i + 1 : i;
        size_t to = pdl_str_find(path, PDL_STR("/"), from);
        if (to == PDL_NOT_FOUND) to = path.n;
        pdl_str part = pdl_str_sub(path, from, to);
        bool last = to == path.n;
        if (is_dots(part, 2)) {
            pdl_str before = pdl_str_sub(pdl_buf_str(out), begin, out->len);
            size_t cut = pdl_str_rfind(before, PDL_STR("/"));
            pdl_buf_cut(out, cut == PDL_NOT_FOUND ? begin : begin + cut);
        }
        if (is_dots(part, 1) || is_dots(part, 2)) {
            if (last) pdl_buf_putc(out, '/');
        } else {
            pdl_buf_putc(out, '/');
            put_escaped(part, out);
        }
        i = to;
    }
    if (out->len == begin) pdl_buf_putc(out, '/');
}

static size_t find_any(pdl_str s, const char *set, size_t from) {
    while (from < s.n && !strchr(set, s.p[from] ? s.p[from] : 1)) from++;
    return from;
}

/* Appends the path and the query in `rest`, which is the text after the authority. */
static void put_rest(pdl_str rest, pdl_buf *out) {
    rest = pdl_str_sub(rest, 0, find_any(rest, "#", 0));
    size_t query = find_any(rest, "?", 0);
    put_path(pdl_str_sub(rest, 0, query), out);
    put_escaped(pdl_str_sub(rest, query, rest.n), out);
}

/* --- reading ---------------------------------------------------------------------------------- */

static const char odd_bytes[] = "has a space, a backslash or a control character";

/* Returns the length of the scheme, which ends before a colon; 0 when s has no scheme. */
static size_t scheme_length(pdl_str s) {
    size_t i = 0;
    while (i < s.n && (is_digit(s.p[i]) || ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z') ||
                       (i && pdl_byte_in(s.p[i], PDL_STR("+-.")))))
        i++;
    return i && i < s.n && s.p[i] == ':' && !is_digit(s.p[0]) ? i : 0;
}

static bool has_odd_bytes(pdl_str s) {
    for (size_t i = 0; i < s.n; i++)
        if ((unsigned char)s.p[i] <= ' ' || s.p[i] == 127 || s.p[i] == '\\') return true;
    return false;
}

bool pdl_web_address_read(pdl_str text, pdl_buf *out, pdl_err *err) {
    text = pdl_str_trim(text);
    size_t n = scheme_length(text);
    pdl_str scheme = pdl_str_sub(text, 0, n);
    bool tls = pdl_str_eq_nocase(scheme, PDL_STR("https"));
    if (text.n > MAX_BYTES) return wrong(err, text, "is too long");
    if (!tls && !pdl_str_eq_nocase(scheme, PDL_STR("http")))
        return wrong(err, text, "should begin with http:// or https://");
    if (has_odd_bytes(text)) return wrong(err, text, odd_bytes);
    if (!pdl_str_starts(pdl_str_sub(text, n, text.n), PDL_STR("://")))
        return wrong(err, text, "should begin with http:// or https://");
    size_t from = n + 3, to = find_any(text, "/?#", from);
    pdl_buf_put(out, tls ? PDL_STR("https://") : PDL_STR("http://"));
    if (!put_authority(text, pdl_str_sub(text, from, to), tls, out, err)) return false;
    put_rest(pdl_str_sub(text, to, text.n), out);
    return true;
}

/* Returns the position where the path begins. */
static size_t path_start(pdl_str address) {
    size_t slashes = pdl_str_find(address, PDL_STR("://"), 0);
    return slashes == PDL_NOT_FOUND ? 0 : find_any(address, "/?#", slashes + 3);
}

pdl_str pdl_web_address_origin(pdl_str address) {
    return pdl_str_sub(address, 0, path_start(address));
}

pdl_str pdl_web_address_authority(pdl_str address) {
    pdl_str origin = pdl_web_address_origin(address);
    size_t slashes = pdl_str_find(origin, PDL_STR("://"), 0);
    return slashes == PDL_NOT_FOUND ? PDL_STR("") : pdl_str_sub(origin, slashes + 3, origin.n);
}

pdl_str pdl_web_address_host(pdl_str address) {
    pdl_str s = pdl_web_address_authority(address);
    size_t bracket = pdl_str_rfind(s, PDL_STR("]")), colon = pdl_str_rfind(s, PDL_STR(":"));
    if (colon == PDL_NOT_FOUND || (bracket != PDL_NOT_FOUND && colon < bracket)) return s;
    return pdl_str_sub(s, 0, colon);
}

pdl_str pdl_web_address_target(pdl_str address) {
    return pdl_str_sub(address, path_start(address), address.n);
}

bool pdl_web_address_join(pdl_str base, pdl_str reference, pdl_buf *out, pdl_err *err) {
    pdl_str ref = pdl_str_trim(reference), target = pdl_web_address_target(base);
    if (scheme_length(ref)) return pdl_web_address_read(ref, out, err);
    if (has_odd_bytes(ref)) return wrong(err, ref, odd_bytes);
    pdl_buf whole = PDL_BUF;
    pdl_str path = pdl_str_sub(target, 0, find_any(target, "?", 0));
    if (pdl_str_starts(ref, PDL_STR("//"))) {
        pdl_buf_put(&whole, pdl_str_sub(base, 0, pdl_str_find(base, PDL_STR("//"), 0)));
    } else {
        pdl_buf_put(&whole, pdl_web_address_origin(base));
        if (!ref.n || ref.p[0] == '#') {
            pdl_buf_put(&whole, target);
        } else if (ref.p[0] == '?') {
            pdl_buf_put(&whole, path);
        } else if (ref.p[0] != '/') {
            size_t slash = pdl_str_rfind(path, PDL_STR("/"));
            pdl_buf_put(&whole, pdl_str_sub(path, 0, slash == PDL_NOT_FOUND ? 0 : slash + 1));
        }
    }
    pdl_buf_put(&whole, ref);
    bool ok = pdl_web_address_read(pdl_buf_str(&whole), out, err);
    pdl_buf_fini(&whole);
    return ok;
}
