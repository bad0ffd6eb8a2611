/* source_text.c -- turns the bytes of a file into source text; see yaml.h.
 *
 * UTF-8 and characters are checked here, and line ends become LF, so that all later code can rely
 * on them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "yaml/load.h"
#include "yaml/run.h"
#include "yaml/yaml.h"

#include <string.h>

#include "base/limits.h"

#include "base/banned.h"

/* Copies s with LF for CR LF and CR. */
static void plain_lines(pdl_str s, pdl_buf *out) {
    for (size_t from = 0; from < s.n;) {
        const char *cr = memchr(s.p + from, '\r', s.n - from);
        size_t to = cr ? (size_t)(cr - s.p) : s.n;
        pdl_buf_put(out, pdl_str_sub(s, from, to));
        if (!cr) return;
        pdl_buf_putc(out, '\n');
        from = to + 1;
        if (from < s.n && s.p[from] == '\n') from++;
    }
}

static pdl_source *read_bytes(pdl_arena *a, pdl_str name, pdl_str bytes) {
    pdl_buf b = PDL_BUF;
    bytes = pdl_utf8_unmarked(bytes);
    if (pdl_byte_in('\r', bytes)) {
        plain_lines(bytes, &b);
        bytes = pdl_buf_str(&b);
    }
    pdl_source *src = pdl_source_new(a, name, bytes);
    pdl_buf_fini(&b);
    return src;
}

/* Returns true for UTF-16, as some editors save it: with a mark, or with a NUL in each of the first
 * letters. */
static bool is_wide(pdl_str s) {
    if (pdl_str_starts(s, PDL_STR("\xff\xfe"))) return true;
    if (pdl_str_starts(s, PDL_STR("\xfe\xff"))) return true;
    return s.n > 3 &&
           ((!s.p[0] && !s.p[2] && s.p[1] && s.p[3]) || (s.p[0] && s.p[2] && !s.p[1] && !s.p[3]));
}

/* Reports bytes that are not UTF-8. The excerpt shows the source with U+FFFD in place of the wrong
 * bytes. Positions before the first of these bytes are those of the file. */
static bool not_utf8(pdl_arena *a, pdl_str name, pdl_str bytes, const pdl_utf8_fault *fault,
                     pdl_err *err) {
    pdl_buf repaired = PDL_BUF;
    pdl_utf8_repair(&repaired, bytes);
    pdl_source *src = read_bytes(a, name, pdl_buf_str(&repaired));
    pdl_buf_fini(&repaired);
    pdl_str line = pdl_source_line_text(src, fault->line);
    size_t start = (size_t)(line.p - src->text.p);
    uint32_t at = (uint32_t)(start + pdl_utf8_offset(line, fault->column - 1));
    pdl_err_set(err, PDL_E_syntax, (pdl_loc){src, at, at + 3},
                "byte 0x%02x is not UTF-8 (byte offset %zu)", fault->byte, fault->off);
    if (is_wide(bytes))
        pdl_err_hint(err, "the file is UTF-16: save it as UTF-8");
    else
        pdl_err_hint(err, "the file is in another encoding, such as Latin-1: save it as UTF-8");
    return false;
}

bool pdl_yaml_source(pdl_arena *a, pdl_str name, pdl_str bytes, pdl_source **out, pdl_err *err) {
    pdl_utf8_fault fault;
    if (bytes.n > PDL_MAX_SOURCE_BYTES)
        return pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "%.*s is longer than %d bytes",
                           PDL_FMT(name), PDL_MAX_SOURCE_BYTES);
    if (pdl_yis_simple(bytes)) {
        *out = pdl_source_new(a, name, bytes);
        (*out)->simple = true;
        return true;
    }
    if (pdl_utf8_find_fault(bytes, &fault)) return not_utf8(a, name, bytes, &fault, err);
    *out = read_bytes(a, name, bytes);
    return true;
}

/* Returns true when YAML refuses the code point at i (valid UTF-8, i a lead byte below 0x20, 0x7f,
 * 0xc2 or 0xef). */
static bool refused(pdl_str s, size_t i) {
    unsigned char c = (unsigned char)s.p[i], d = i + 1 < s.n ? (unsigned char)s.p[i + 1] : 0;
    if (c < 0x20) return c != '\t' && c != '\n' && c != '\r';
    if (c == 0x7f) return true;
    if (c == 0xc2) return d < 0xa0 && d != 0x85;
    return c == 0xef && d == 0xbf && (unsigned char)s.p[i + 2] >= 0xbe;
}

/* Returns true when none of the BLOCK bytes from p on has to be checked. Compilers turn this loop
 * into vector instructions. */
enum { BLOCK = 64 };
static bool is_ordinary(const char *p) {
    unsigned char odd = 0;
    for (size_t i = 0; i < BLOCK; i++) {
        unsigned char c = (unsigned char)p[i];
        odd |= (unsigned char)((c < 0x20 && c != '\n') | (c == 0x7f) | (c == 0xc2) | (c == 0xef));
    }
    return !odd;
}

bool pdl_yaml_check_chars(pdl_str s, const pdl_source *src, pdl_err *err) {
    size_t checked = 0; /* bytes that are valid */
    if (src && src->simple) return true;
    for (size_t i = 0; i < s.n; i++) {
        while (i >= checked && s.n - i >= BLOCK && is_ordinary(s.p + i)) i += BLOCK;
        if (i >= s.n) break;
        if (i >= checked) checked = i + BLOCK;
        unsigned char c = (unsigned char)s.p[i];
        if (PDL_LIKELY(c >= 0x20 && c != 0x7f && c != 0xc2 && c != 0xef)) continue;
        if (!refused(s, i)) continue;
        const char *p = s.p + i;
        pdl_err_set(
            err, PDL_E_syntax, (pdl_loc){src, src ? (uint32_t)i : 0, src ? (uint32_t)i + 1 : 0},
            "unacceptable character #x%04x: special characters are not allowed\n  in \"<unicode "
            "string>\", position %zu",
            (unsigned)pdl_utf8_next(&p), pdl_utf8_count(pdl_str_sub(s, 0, i)));
        err->py_class = pdl_str_dup(PDL_STR("ReaderError"));
        if (is_wide(s)) pdl_err_hint(err, "the file is UTF-16: save it as UTF-8");
        return false;
    }
    return true;
}
