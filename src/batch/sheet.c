/* sheet.c -- see sheet.h. Rows are gathered and written together, always up to the end of a row.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "batch/sheet.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"
#include "io/file.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { GATHERED = 1 << 16 };

struct batch_sheet {
    pdl_table table;
    int fd;
    bool owns;
    char *path;              /* owned */
    PDL_VEC(char *) columns; /* owned */
    pdl_buf buf;
    uint64_t size;
};

const char *pdl_batch_own_column(size_t i) {
    static const char *const names[] = {"result", "error", "place"};
    return names[i];
}

/* --- CSV -------------------------------------------------------------------------------------- */

static void put_cell(pdl_str text, pdl_buf *out) {
    bool quoted = false;
    for (size_t i = 0; i < text.n && !quoted; i++)
        quoted = pdl_byte_in(text.p[i], PDL_STR(",\"\r\n"));
    if (!quoted) {
        pdl_buf_put(out, text);
        return;
    }
    pdl_buf_putc(out, '"');
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '"') pdl_buf_putc(out, '"');
        pdl_buf_putc(out, text.p[i]);
    }
    pdl_buf_putc(out, '"');
}

/* A text is written as it is, everything else as JSON; the result always is JSON, so that the text
 * "1" and the number 1 stay apart. Nothing at all is an empty cell. */
static bool put_csv_value(pdl_vref v, bool as_json, pdl_buf *out, pdl_err *err) {
    if (pdl_is_absent(v) || pdl_is_null(v)) return true;
    if (pdl_is_str(v) && !as_json) {
        put_cell(pdl_str_get(v), out);
        return true;
    }
    pdl_buf text = PDL_BUF;
    bool ok = pdl_json_write(v, PDL_JSON_SPACED, 0, &text, err);
    if (ok) put_cell(pdl_buf_str(&text), out);
    pdl_buf_fini(&text);
    return ok;
}

static void put_header(sheet *s) {
    for (size_t i = 0; i < s->columns.n; i++) {
        if (i) pdl_buf_putc(&s->buf, ',');
        put_cell(pdl_str_of(s->columns.p[i]), &s->buf);
    }
    pdl_buf_putc(&s->buf, '\n');
}

static bool put_csv(sheet *s, pdl_str json, pdl_err *err) {
    pdl_val row;
    size_t start = s->buf.len;
    if (!pdl_json_read(json, PDL_JSON_PYTHON, &row, NULL, err)) return false;
    pdl_vref failed = pdl_dict_getz(row, pdl_batch_own_column(BATCH_ERROR));
    bool ok = true;
    for (size_t i = 0; ok && i < s->columns.n; i++) {
        bool is_result = i + BATCH_OWN_COLUMNS - BATCH_RESULT == s->columns.n;
        pdl_vref v = pdl_dict_getz(row, s->columns.p[i]);
        if (i) pdl_buf_putc(&s->buf, ',');
        if (is_result && pdl_is_null(v) && pdl_is_null(failed))
            PDL_PUT(&s->buf, "null"); /* a result, not the lack of one */
        else
            ok = put_csv_value(v, is_result, &s->buf, err);
    }
    pdl_buf_putc(&s->buf, '\n');
    if (!ok) pdl_buf_cut(&s->buf, start);
    pdl_drop(row);
    return ok;
}

/* --- all -------------------------------------------------------------------------------------- */

bool pdl_batch_sheet_size(const pdl_table *t, uint64_t *size) {
    struct stat st;
    char *path = pdl_str_dup(t->path);
    bool there = !t->standard && stat(path, &st) == 0;
    *size = there && st.st_size > 0 ? (uint64_t)st.st_size : 0;
    pdl_free(path);
    return there;
}

static bool open_file(sheet *s, uint64_t keep, pdl_err *err) {
    if (s->table.standard) return true;
    s->fd = pdl_file_open(s->path, O_WRONLY | O_CREAT, 0666, err);
    if (s->fd < 0) return false;
    s->owns = true;
    if (pdl_file_kind_of(s->path) == PDL_FILE_REGULAR &&
        (ftruncate(s->fd, (off_t)keep) != 0 || lseek(s->fd, 0, SEEK_END) < 0))
        return pdl_file_errno(err, errno, s->path);
    s->size = keep;
    return true;
}

bool pdl_batch_sheet_open(const pdl_table *t, const pdl_str *columns, size_t n, uint64_t keep,
                          sheet **out, pdl_err *err) {
    sheet *s = PDL_NEW(sheet);
    s->table = *t;
    s->fd = STDOUT_FILENO;
    s->buf = PDL_BUF;
    s->path = pdl_str_dup(t->standard ? PDL_STR("standard output") : t->path);
    for (size_t i = 0; i < n; i++) *pdl_vec_push(&s->columns) = pdl_str_dup(columns[i]);
    if (!open_file(s, keep, err)) {
        pdl_batch_sheet_close(s);
        return false;
    }
    if (t->form == PDL_TABLE_csv && !keep) put_header(s);
    *out = s;
    return true;
}

static bool write_out(sheet *s, pdl_err *err) {
    if (!s->buf.len) return true;
    if (!pdl_file_write_fd(s->fd, pdl_buf_str(&s->buf), err)) return false;
    s->size += s->buf.len;
    pdl_buf_clear(&s->buf);
    return true;
}

bool pdl_batch_sheet_put(sheet *s, pdl_str json, pdl_err *err) {
    if (s->table.form == PDL_TABLE_csv) {
        if (!put_csv(s, json, err)) return false;
    } else {
        pdl_buf_put(&s->buf, json);
        pdl_buf_putc(&s->buf, '\n');
    }
    return s->buf.len < GATHERED || write_out(s, err);
}

bool pdl_batch_sheet_flush(sheet *s, bool sync, uint64_t *size, pdl_err *err) {
    if (!write_out(s, err)) return false;
    *size = s->size;
    return !sync || s->table.standard || fdatasync(s->fd) == 0 || errno == EINVAL ||
           pdl_file_errno(err, errno, s->path);
}

void pdl_batch_sheet_close(sheet *s) {
    if (!s) return;
    if (s->owns) close(s->fd);
    for (size_t i = 0; i < s->columns.n; i++) pdl_free(s->columns.p[i]);
    pdl_vec_fini(&s->columns);
    pdl_buf_fini(&s->buf);
    pdl_free(s->path);
    pdl_free(s);
}
