/* file_write.c -- files that programs write. The first request for a file opens it. The file stays
 * open, under its path, mode and encoding, until the program closes it. Nothing is buffered here: a
 * request is answered when its text is in the file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "host/host_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/utf8.h"
#include "io/file.h"
#include "value/text.h"

#include "base/banned.h"

typedef enum {
    ENC_UTF8,
    ENC_UTF8_SIG,
    ENC_ASCII,
    ENC_LATIN1,
    ENC_UTF16,
    ENC_UTF16_LE,
    ENC_UTF16_BE
} encoding;

static const struct {
    const char *name; /* lower case, '-' instead of '_' and blanks */
    encoding enc;
} encodings[] = {
    {"utf-8", ENC_UTF8},         {"utf8", ENC_UTF8},          {"u8", ENC_UTF8},
    {"cp65001", ENC_UTF8},       {"utf-8-sig", ENC_UTF8_SIG}, {"ascii", ENC_ASCII},
    {"us-ascii", ENC_ASCII},     {"646", ENC_ASCII},          {"latin-1", ENC_LATIN1},
    {"latin1", ENC_LATIN1},      {"iso-8859-1", ENC_LATIN1},  {"iso8859-1", ENC_LATIN1},
    {"8859", ENC_LATIN1},        {"l1", ENC_LATIN1},          {"latin", ENC_LATIN1},
    {"utf-16", ENC_UTF16},       {"utf16", ENC_UTF16},        {"u16", ENC_UTF16},
    {"utf-16-le", ENC_UTF16_LE}, {"utf-16le", ENC_UTF16_LE},  {"utf-16-be", ENC_UTF16_BE},
    {"utf-16be", ENC_UTF16_BE},
};

static bool find_encoding(pdl_str name, int *out, pdl_err *err) {
    char low[24];
    bool fits = name.n > 0 && name.n < sizeof low;
    for (size_t i = 0; fits && i < name.n; i++) {
        char c = name.p[i];
        low[i] = c == '_' || c == ' ' ? '-' : c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    }
    for (size_t i = 0; fits && i < sizeof encodings / sizeof encodings[0]; i++)
        if (pdl_str_is((pdl_str){low, name.n}, encodings[i].name)) {
            *out = (int)encodings[i].enc;
            return true;
        }
    return pdl_err_host(err, "LookupError,Exception", "unknown encoding: %.*s", PDL_FMT(name));
}

/* Stores the flags of open() for Python's mode. */
static bool read_mode(pdl_str mode, int *flags, pdl_err *err) {
    int kind = 0, plus = 0, text = 0, binary = 0;
    bool bad = mode.n == 0;
    for (size_t i = 0; i < mode.n && !bad; i++) {
        char c = mode.p[i];
        if (strchr("rwax", c) && c) {
            bad = kind != 0;
            kind = c;
        } else if (c == '+') {
            bad = plus++;
        } else if (c == 't') {
            bad = text++;
        } else if (c == 'b') {
            bad = binary++;
        } else {
            bad = true;
        }
    }
    if (bad) {
        pdl_buf b = PDL_BUF;
        pdl_str_repr(mode, &b);
        pdl_err_host(err, "ValueError,Exception", "invalid mode: %s", pdl_buf_z(&b));
        pdl_buf_fini(&b);
        return false;
    }
    if (text && binary)
        return pdl_err_host(err, "ValueError,Exception", "can't have text and binary mode at once");
    if (!kind)
        return pdl_err_host(
            err, "ValueError,Exception",
            "Must have exactly one of create/read/write/append mode and at most one plus");
    if (binary)
        return pdl_err_host(err, "ValueError,Exception",
                            "binary mode doesn't take an encoding argument");
    *flags = kind == 'r'   ? 0
             : kind == 'w' ? O_CREAT | O_TRUNC
             : kind == 'a' ? O_CREAT | O_APPEND
                           : O_CREAT | O_EXCL;
    *flags |= plus ? O_RDWR : kind == 'r' ? O_RDONLY : O_WRONLY;
    return true;
}

/* --- encoding --------------------------------------------------------------------------------- */

static bool cannot_encode(pdl_err *err, const char *codec, uint32_t cp, size_t pos, int limit) {
    char shown[16];
    pdl_buf b = PDL_BUF;
    pdl_buf_putf(&b, cp < 0x100 ? "\\x%02x" : cp < 0x10000 ? "\\u%04x" : "\\U%08x", cp);
    size_t n = b.len < sizeof shown ? b.len : sizeof shown - 1;
    memcpy(shown, pdl_buf_z(&b), n);
    shown[n] = 0;
    pdl_buf_fini(&b);
    return pdl_err_host(
        err, "UnicodeEncodeError,UnicodeError,ValueError,Exception",
        "'%s' codec can't encode character '%s' in position %zu: ordinal not in range(%d)", codec,
        shown, pos, limit);
}

static bool put_bytes(pdl_str text, uint32_t limit, const char *codec, pdl_buf *out, pdl_err *err) {
    size_t pos = 0;
    for (const char *p = text.p, *end = text.p + text.n; p < end; pos++) {
        uint32_t cp = pdl_utf8_next(&p);
        if (cp >= limit) return cannot_encode(err, codec, cp, pos, (int)limit);
        pdl_buf_putc(out, (char)cp);
    }
    return true;
}

static void put_unit(pdl_buf *out, uint32_t u, bool big) {
    pdl_buf_putc(out, (char)(big ? u >> 8 : u & 255));
    pdl_buf_putc(out, (char)(big ? u & 255 : u >> 8));
}

static void put_utf16(pdl_str text, bool big, pdl_buf *out) {
    for (const char *p = text.p, *end = text.p + text.n; p < end;) {
        uint32_t cp = pdl_utf8_next(&p);
        if (cp < 0x10000) {
            put_unit(out, cp, big);
        } else {
            put_unit(out, 0xd800 + ((cp - 0x10000) >> 10), big);
            put_unit(out, 0xdc00 + ((cp - 0x10000) & 0x3ff), big);
        }
    }
}

/* Appends text in the encoding of f. */
static bool encode(const host_file *f, pdl_str text, pdl_buf *out, pdl_err *err) {
    if (!text.n) return true;
    switch ((encoding)f->encoding) {
    case ENC_UTF8: pdl_buf_put(out, text); return true;
    case ENC_UTF8_SIG:
        if (f->at_start) PDL_PUT(out, "\xef\xbb\xbf");
        pdl_buf_put(out, text);
        return true;
    case ENC_ASCII: return put_bytes(text, 128, "ascii", out, err);
    case ENC_LATIN1: return put_bytes(text, 256, "latin-1", out, err);
    case ENC_UTF16:
        if (f->at_start) PDL_PUT(out, "\xff\xfe");
        put_utf16(text, false, out);
        return true;
    case ENC_UTF16_LE: put_utf16(text, false, out); return true;
    case ENC_UTF16_BE: put_utf16(text, true, out); return true;
    }
    PDL_BUG("encoding %d", f->encoding);
}

/* --- files ------------------------------------------------------------------------------------ */

static void close_file(host *h, host_file *f) {
    close(f->fd);
    pdl_free(f->key);
    size_t i = (size_t)(f - h->files.p);
    memmove(f, f + 1, (h->files.n - i - 1) * sizeof *f);
    h->files.n--;
}

void pdl_host_write_close_all(host *h) {
    while (h->files.n) close_file(h, &h->files.p[h->files.n - 1]);
    pdl_vec_fini(&h->files);
}

static host_file *find_file(host *h, const char *key) {
    for (size_t i = 0; i < h->files.n; i++)
        if (strcmp(h->files.p[i].key, key) == 0) return &h->files.p[i];
    return NULL;
}

/* The file that an effect names, as Python's open() gets it. */
typedef struct {
    pdl_str path, mode, encoding;
} file_name;

/* Opens a file. When e->continues is set, the content of the file stays in every mode. */
static host_file *open_file(host *h, const pdl_effect *e, const char *key, const file_name *name,
                            pdl_err *err) {
    pdl_str path = name->path, enc = name->encoding;
    int flags = O_RDONLY, encoding_of = ENC_UTF8;
    if (!path.p || memchr(path.p, 0, path.n)) {
        pdl_err_host(err, "ValueError,Exception", "embedded null byte");
        return NULL;
    }
    if (!read_mode(name->mode, &flags, err) || (enc.p && !find_encoding(enc, &encoding_of, err)))
        return NULL;
    if (e->continues) flags &= ~(O_TRUNC | O_EXCL);
    int fd = pdl_host_open(h, e, path.p, flags, 0666, err);
    if (fd < 0) return NULL;
    bool empty = !(flags & O_APPEND) && !e->continues;
    if (!empty) empty = lseek(fd, 0, SEEK_END) == 0;
    host_file *f = pdl_vec_push(&h->files);
    *f = (host_file){.key = pdl_str_dup(pdl_str_of(key)), .fd = fd, .encoding = encoding_of};
    f->at_start = empty;
    return f;
}

static bool write_text(host_file *f, pdl_str text, pdl_err *err) {
    pdl_buf out = PDL_BUF;
    bool ok = encode(f, text, &out, err) && pdl_file_write_fd(f->fd, pdl_buf_str(&out), err);
    if (ok && out.len) f->at_start = false;
    pdl_buf_fini(&out);
    return ok;
}

void pdl_host_write_file(host *h, pdl_effect *e) {
    file_name name = {pdl_host_text(e, "path"), pdl_host_text(e, "mode"),
                      pdl_host_text(e, "encoding")};
    pdl_str text = pdl_host_text(e, "text");
    pdl_err err = {0};
    pdl_buf key = PDL_BUF;
    if (!name.mode.p) name.mode = PDL_STR("w");
    pdl_buf_putf(&key, "%.*s\n%.*s\n%.*s", PDL_FMT(name.mode), PDL_FMT(name.encoding),
                 PDL_FMT(name.path));
    host_file *f = find_file(h, pdl_buf_z(&key));
    if (!f) f = open_file(h, e, pdl_buf_z(&key), &name, &err);
    bool ok = f && (!text.n || write_text(f, text, &err));
    if (f && pdl_host_flag(e, "close")) close_file(h, f);
    pdl_buf_fini(&key);
    if (ok)
        pdl_effect_answer(e, pdl_null(), 0);
    else
        pdl_effect_refuse(e, &err);
}
