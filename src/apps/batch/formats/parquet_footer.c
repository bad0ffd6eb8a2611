/* parquet_footer.c -- rewrites names in the footer of a Parquet file; see parquet_footer.h.
 *
 * The footer is a struct of Thrift's compact protocol. A field begins with a byte that has its
 * type, and the difference between its number and the number of the previous field. Numbers are
 * varints. The footer is copied value by value. This code understands only the values that lead to
 * names: the list of elements (each column is followed by its parts), and in each chunk of a column
 * the path of that column.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/formats/parquet_footer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "io/file.h"

#include "base/banned.h"

/* The types that the compact protocol has. */
enum {
    T_STOP,
    T_TRUE,
    T_FALSE,
    T_BYTE,
    T_I16,
    T_I32,
    T_I64,
    T_DOUBLE,
    T_BINARY,
    T_LIST,
    T_SET,
    T_MAP,
    T_STRUCT,
    T_UUID
};
enum { DOUBLE_BYTES = 8, UUID_BYTES = 16, LONG_LIST = 15, VARINT_BYTES = 10, MAX_DEEP = 32 };

/* The kinds of values on the path to a name. */
typedef enum { OTHER, FILE_ITSELF, ELEMENT, NAME, PARTS, GROUP, CHUNK, CHUNK_DATA, PATH } meaning;

/* The fields on the path to a name, with their numbers in parquet.thrift. */
static const struct {
    meaning in;
    int field;
    meaning to;
} ways[] = {{FILE_ITSELF, 2, ELEMENT}, {ELEMENT, 4, NAME}, {ELEMENT, 5, PARTS},
            {FILE_ITSELF, 4, GROUP},   {GROUP, 1, CHUNK},  {CHUNK, 3, CHUNK_DATA},
            {CHUNK_DATA, 3, PATH}};

typedef struct footer_walk {
    pdl_str in;
    size_t at;
    pdl_buf *out;
    char *const *names;
    size_t n_names;
    PDL_VEC(size_t) leaves; /* for each chunk of a group, the index of its column */
    /* how many elements were read; the first element describes the whole file */
    size_t elements;
    /* how many columns were read; how many chunks of the present group were read */
    size_t columns, chunks;
    /* open: number of next elements that belong to the present column; parts: number of parts of
     * the present element */
    uint64_t open, parts;
} walk;

static meaning leads_to(meaning in, int field) {
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (ways[i].in == in && ways[i].field == field) return ways[i].to;
    return OTHER;
}

/* --- copying ---------------------------------------------------------------------------------- */

static bool copy_bytes(walk *w, uint64_t n) {
    if (n > w->in.n - w->at) return false;
    pdl_buf_put(w->out, pdl_str_sub(w->in, w->at, w->at + (size_t)n));
    w->at += (size_t)n;
    return true;
}

/* Reads a varint and does not copy it. */
static bool read_varint(walk *w, uint64_t *v) {
    *v = 0;
    for (unsigned i = 0; i < VARINT_BYTES && w->at < w->in.n; i++) {
        unsigned char c = (unsigned char)w->in.p[w->at++];
        *v |= (uint64_t)(c & 0x7f) << 7 * i;
        if (!(c & 0x80)) return true;
    }
    return false;
}

static bool copy_varint(walk *w, uint64_t *v) {
    size_t from = w->at;
    if (!read_varint(w, v)) return false;
    pdl_buf_put(w->out, pdl_str_sub(w->in, from, w->at));
    return true;
}

static void put_varint(uint64_t v, pdl_buf *out) {
    for (; v > 0x7f; v >>= 7) pdl_buf_putc(out, (char)((v & 0x7f) | 0x80));
    pdl_buf_putc(out, (char)v);
}

/* Finds the column whose name is the next text. Returns false when the text names something else,
 * such as a part of a column. */
static bool find_column(const walk *w, meaning m, bool first, size_t *column) {
    if (m == NAME && w->elements && !w->open) *column = w->columns;
    if (m == PATH && first && w->chunks < w->leaves.n) *column = w->leaves.p[w->chunks];
    return *column < w->n_names;
}

static bool copy_text(walk *w, meaning m, bool first) {
    size_t column = w->n_names;
    uint64_t n;
    if (!find_column(w, m, first, &column)) return copy_varint(w, &n) && copy_bytes(w, n);
    if (!read_varint(w, &n) || n > w->in.n - w->at) return false;
    w->at += (size_t)n;
    pdl_str name = pdl_str_of(w->names[column]);
    put_varint(name.n, w->out);
    pdl_buf_put(w->out, name);
    return true;
}

/* --- structure -------------------------------------------------------------------------------- */

static bool copy_value(walk *w, int type, meaning m, bool first, int deep);

/* Returns the type of an item. True and false are types of fields that have no value; in lists and
 * maps each of them is a byte. */
static int type_of_item(int type) { return type == T_TRUE || type == T_FALSE ? T_BYTE : type; }

static bool copy_list(walk *w, meaning m, int deep) {
    size_t from = w->at;
    if (!copy_bytes(w, 1)) return false;
    int head = (unsigned char)w->in.p[from], type = type_of_item(head & 0x0f);
    uint64_t n = (uint64_t)head >> 4;
    if (n == LONG_LIST && !copy_varint(w, &n)) return false;
    for (uint64_t i = 0; i < n; i++)
        if (!copy_value(w, type, m, !i, deep)) return false;
    return true;
}

static bool copy_map(walk *w, int deep) {
    uint64_t n;
    if (!copy_varint(w, &n)) return false;
    size_t from = w->at;
    if (!n) return true;
    if (!copy_bytes(w, 1)) return false;
    int types = (unsigned char)w->in.p[from];
    int key = type_of_item(types >> 4), value = type_of_item(types & 0x0f);
    for (uint64_t i = 0; i < n; i++)
        if (!copy_value(w, key, OTHER, false, deep) || !copy_value(w, value, OTHER, false, deep))
            return false;
    return true;
}

static bool copy_struct(walk *w, meaning m, int deep) {
    for (int field = 0;;) {
        size_t from = w->at;
        uint64_t number;
        if (!copy_bytes(w, 1)) return false;
        int head = (unsigned char)w->in.p[from], type = head & 0x0f;
        if (type == T_STOP) return true;
        field += head >> 4;
        if (!(head >> 4)) {
            if (!copy_varint(w, &number)) return false;
            field = (int)(number >> 1 & 0x7fff);
        }
        if (!copy_value(w, type, leads_to(m, field), false, deep)) return false;
    }
}

/* Counts an element. The count shows whether the next element belongs to the same column or begins
 * another. */
static void count_element(walk *w) {
    if (w->elements++) {
        if (!w->parts) *pdl_vec_push(&w->leaves) = w->columns;
        if (w->open) w->open--;
        w->open += w->parts;
        w->columns += !w->open;
    }
    w->parts = 0;
}

static bool copy_described(walk *w, meaning m, int deep) {
    if (m == GROUP) w->chunks = 0;
    bool ok = copy_struct(w, m, deep + 1);
    if (m == ELEMENT) count_element(w);
    w->chunks += m == CHUNK;
    return ok;
}

static bool copy_value(walk *w, int type, meaning m, bool first, int deep) {
    uint64_t v;
    if (deep > MAX_DEEP) return false;
    switch (type) {
    case T_TRUE:
    case T_FALSE: return true;
    case T_BYTE: return copy_bytes(w, 1);
    case T_I16:
    case T_I32:
    case T_I64:
        if (!copy_varint(w, &v)) return false;
        if (m == PARTS) w->parts = v >> 1;
        return true;
    case T_DOUBLE: return copy_bytes(w, DOUBLE_BYTES);
    case T_BINARY: return copy_text(w, m, first);
    case T_LIST:
    case T_SET: return copy_list(w, m, deep + 1);
    case T_MAP: return copy_map(w, deep + 1);
    case T_STRUCT: return copy_described(w, m, deep);
    case T_UUID: return copy_bytes(w, UUID_BYTES);
    default: return false;
    }
}

/* --- the file --------------------------------------------------------------------------------- */

static const pdl_str magic = {"PAR1", 4};
enum { LENGTH = 4, TAIL = 8 };

static bool put_back(int fd, const char *path, uint64_t at, pdl_buf *footer, pdl_err *err) {
    uint64_t n = footer->len;
    for (size_t i = 0; i < LENGTH; i++) pdl_buf_putc(footer, (char)(n >> 8 * i & 0xff));
    pdl_buf_put(footer, magic);
    if (ftruncate(fd, (off_t)at) != 0 || lseek(fd, 0, SEEK_END) < 0)
        return pdl_file_errno(err, errno, path);
    return pdl_file_write_named(fd, path, pdl_buf_str(footer), err);
}

static bool rename_in(int fd, const char *path, char *const *names, size_t n, pdl_err *err) {
    struct stat st;
    char tail[TAIL];
    uint64_t length = 0;
    if (fstat(fd, &st) != 0) return pdl_file_errno(err, errno, path);
    uint64_t size = (uint64_t)st.st_size;
    if (size < TAIL || !pdl_file_read_at(fd, size - TAIL, tail, TAIL, err)) return false;
    for (size_t i = LENGTH; i-- > 0;) length = length << 8 | (unsigned char)tail[i];
    if (memcmp(tail + LENGTH, magic.p, magic.n) != 0 || length > size - TAIL)
        return pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s: no footer of Parquet", path);
    char *text = pdl_alloc((size_t)length + 1);
    pdl_buf out = PDL_BUF;
    walk w = {.in = {text, (size_t)length}, .out = &out, .names = names, .n_names = n};
    bool ok = pdl_file_read_at(fd, size - TAIL - length, text, (size_t)length, err);
    if (ok && (!copy_described(&w, FILE_ITSELF, 0) || w.at != w.in.n || w.columns != n))
        ok = pdl_err_set(err, PDL_E_io, (pdl_loc){0}, "%s: a footer of unknown form", path);
    ok = ok && put_back(fd, path, size - TAIL - length, &out, err);
    pdl_vec_fini(&w.leaves);
    pdl_buf_fini(&out);
    pdl_free(text);
    return ok;
}

bool pdl_batch_footer_name(const char *path, char *const *names, size_t n, pdl_err *err) {
    int fd = pdl_file_open(path, O_RDWR, 0, err);
    bool ok = fd >= 0 && rename_in(fd, path, names, n, err);
    if (fd >= 0) close(fd);
    return ok;
}
