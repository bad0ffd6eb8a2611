/* spill.c -- stores text in memory, and in a file when there is much; see spill.h. The file has no
 * name, so a process that is killed leaves nothing.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "trace/spill.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "io/file.h"

#include "base/banned.h"

enum { IN_MEMORY = 1 << 18 }; /* number of bytes that stay in memory before text goes to the file */

void pdl_spill_init(pdl_spill *s, const char *folder) {
    *s = (pdl_spill){.fd = -1, .rest = PDL_BUF};
    if (folder) s->folder = pdl_str_dup(pdl_str_of(folder));
}

void pdl_spill_fini(pdl_spill *s) {
    if (s->fd >= 0) close(s->fd);
    pdl_buf_fini(&s->rest);
    pdl_free(s->folder);
    *s = (pdl_spill){.fd = -1};
}

/* Moves the text in memory to the file, if a file can be made. */
static bool move_to_file(pdl_spill *s, pdl_err *err) {
    if (s->fd < 0 && !s->no_file) {
        s->fd = pdl_file_scratch(s->folder);
        s->no_file = s->fd < 0;
    }
    if (s->no_file) return true;
    if (!pdl_file_write_fd(s->fd, pdl_buf_str(&s->rest), err)) return false;
    s->in_file += s->rest.len;
    pdl_buf_clear(&s->rest);
    return true;
}

static inline bool spill_ok(const pdl_spill *s) { return s->fd >= 0 || s->in_file == 0; }

bool pdl_spill_add(pdl_spill *s, pdl_str text, uint64_t *at, pdl_err *err) {
    assert(spill_ok(s));
    if (s->rest.len >= IN_MEMORY && !move_to_file(s, err)) return false;
    *at = s->in_file + s->rest.len;
    pdl_buf_put(&s->rest, text);
    return true;
}

bool pdl_spill_read(const pdl_spill *s, uint64_t at, char *to, size_t n, pdl_err *err) {
    assert(spill_ok(s));
    assert(at + n <= s->in_file + s->rest.len);
    if (at < s->in_file) return pdl_file_read_at(s->fd, at, to, n, err);
    memcpy(to, s->rest.p + (at - s->in_file), n);
    return true;
}
