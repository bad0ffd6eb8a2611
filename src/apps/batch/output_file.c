/* output_file.c -- writes files of JSONL and CSV; see output.h. Rows are gathered and written
 * together, always up to the end of a row. formats/csv_output.c writes the cells of a CSV file.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "base/termsafe.h"
#include "batch/output_impl.h"
#include "io/file.h"
#include "io/tty.h"
#include "value/json_read.h"
#include "value/json_write.h"

#include "base/banned.h"

enum { GATHERED = 1 << 16 };

typedef struct output_file {
    pdl_batch_output output;
    int fd;
    bool owns; /* fd is closed at the end */
    pdl_buf buf;
} output_file;

/* Makes texts of the table harmless for a terminal. A pipe and a file get the texts unchanged. */
static void make_shown(output_file *s) {
    pdl_buf shown = PDL_BUF;
    if (!pdl_tty_is(s->fd)) return;
    pdl_buf_put_shown(&shown, pdl_buf_str(&s->buf));
    pdl_buf_fini(&s->buf);
    s->buf = shown;
}

static bool write_out(output_file *s, pdl_err *err) {
    struct stat st;
    if (!s->buf.len) return true;
    make_shown(s);
    bool regular = fstat(s->fd, &st) == 0 && S_ISREG(st.st_mode);
    if (!pdl_file_write_named(s->fd, s->output.path, pdl_buf_str(&s->buf), err)) {
        /* When the disk is full, a part of a row may have been written. This part is removed, so
         * that readers of the file find whole rows only. */
        if (regular && ftruncate(s->fd, st.st_size) == 0) (void)lseek(s->fd, st.st_size, SEEK_SET);
        return false;
    }
    s->output.size += s->buf.len;
    pdl_buf_clear(&s->buf);
    return true;
}

static bool put_inside(output_file *s, pdl_str json, pdl_err *err) {
    pdl_val row;
    if (!pdl_json_read(json, PDL_JSON_PYTHON, &row, NULL, err)) return false;
    pdl_val named = pdl_dict_new(s->output.inside.n);
    for (size_t i = 0; i < s->output.inside.n; i++) {
        pdl_vref v = pdl_dict_getz(row, s->output.columns.p[i]);
        if (!pdl_is_absent(v)) named = pdl_dict_putz(named, s->output.inside.p[i], pdl_keep(v));
    }
    bool ok = pdl_json_write(named, PDL_JSON_SPACED | PDL_JSON_NAN, 0, &s->buf, err);
    pdl_buf_putc(&s->buf, '\n');
    pdl_drop(named);
    pdl_drop(row);
    return ok;
}

static bool put(pdl_batch_output *base, pdl_str json, pdl_err *err) {
    output_file *s = (output_file *)(void *)base;
    if (base->table.form == PDL_TABLE_csv) {
        if (!pdl_batch_csv_row(base, json, &s->buf, err)) return false;
    } else if (base->inside.n) {
        if (!put_inside(s, json, err)) return false;
    } else {
        pdl_buf_put(&s->buf, json);
        pdl_buf_putc(&s->buf, '\n');
    }
    return s->buf.len < GATHERED || write_out(s, err);
}

static bool flush(pdl_batch_output *base, bool sync, pdl_err *err) {
    output_file *s = (output_file *)(void *)base;
    if (!write_out(s, err)) return false;
    return !sync || base->table.stream || pdl_os_sync(s->fd) || errno == EINVAL ||
           pdl_file_errno(err, errno, base->path);
}

static void close_file(pdl_batch_output *base) {
    output_file *s = (output_file *)(void *)base;
    if (s->owns) close(s->fd);
    pdl_buf_fini(&s->buf);
    pdl_free(s);
}

static const output_ops ops = {put, flush, close_file};

pdl_batch_output *pdl_batch_output_file_new(void) {
    output_file *s = PDL_NEW(output_file);
    s->output.ops = &ops;
    s->fd = STDOUT_FILENO;
    s->buf = PDL_BUF;
    return &s->output;
}

static bool open_file(output_file *s, uint64_t keep, pdl_err *err) {
    const char *path = s->output.path;
    if (s->output.table.standard) return true;
    /* text that was in the file before the shell opened it stays there */
    if (s->output.table.is_open) {
        s->fd = s->output.table.fd;
        return true;
    }
    s->fd = pdl_file_open(path, O_WRONLY | O_CREAT, 0666, err);
    if (s->fd < 0) return false;
    s->owns = true;
    if (pdl_file_kind_of(path) == PDL_FILE_REGULAR &&
        (ftruncate(s->fd, (off_t)keep) != 0 || lseek(s->fd, 0, SEEK_END) < 0))
        return pdl_file_errno(err, errno, path);
    s->output.size = keep;
    return true;
}

bool pdl_batch_output_file_begin(pdl_batch_output *base, uint64_t keep, pdl_err *err) {
    output_file *s = (output_file *)(void *)base;
    if (!open_file(s, keep, err)) return false;
    if (base->table.form == PDL_TABLE_csv && !keep) pdl_batch_csv_header(base, &s->buf);
    return true;
}
