/* doc_text.h -- the text of an open file, and positions in it. Private to lsp.
 *
 * Clients count characters in UTF-16 units, or in bytes when they agreed to UTF-8. Their lines end
 * with LF, CR LF or CR. The server counts bytes. The text is kept with LF line ends, because trees
 * are read from this form and have its offsets. Other line ends change only offsets, and no
 * position of the client.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_LSP_DOC_TEXT_H
#define PDL_LSP_DOC_TEXT_H

#include "base/buf.h"
#include "base/vec.h"

enum { PDL_LSP_STRIDE = 1024 };

typedef struct lsp_pos {
    uint32_t line, ch; /* both count from 0; ch counts in the units of the text */
} lsp_pos;

typedef struct lsp_range {
    lsp_pos from, to;
} lsp_range;

typedef struct lsp_text {
    pdl_buf b;               /* valid UTF-8, LF line ends, without a byte order mark */
    PDL_VEC(uint32_t) lines; /* offset of each line's first byte; at least one */
    PDL_VEC(uint32_t) units; /* UTF-16 units before each PDL_LSP_STRIDE-th byte */
    bool utf8;               /* ch counts bytes instead of UTF-16 units */
} lsp_text;

/* Returns true for a byte that may be a part of a name. Names may have letters of any script, whose
 * bytes are 0x80 or above. */
static inline bool pdl_lsp_is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
           (unsigned char)c >= 0x80;
}

/* Replaces the whole text. bytes: as the client sent them. */
void pdl_lsp_text_set(lsp_text *t, pdl_str bytes);
void pdl_lsp_text_replace(lsp_text *t, lsp_range range, pdl_str with);
void pdl_lsp_text_fini(lsp_text *t);
/* Returns true when the invariants hold: the first line begins at 0, the last line begins within
 * the text, and there is one mark for each stride. An all-zero text has no line. */
bool pdl_lsp_text_ok(const lsp_text *t);

static inline pdl_str pdl_lsp_text_str(const lsp_text *t) { return pdl_buf_str(&t->b); }

/* Returns the offset of a position. A position beyond the end of a line or of the text means that
 * end; a position inside a character means the start of the character. */
size_t pdl_lsp_text_offset(const lsp_text *t, lsp_pos pos);
lsp_pos pdl_lsp_text_pos(const lsp_text *t, size_t off);
static inline lsp_range pdl_lsp_text_range(const lsp_text *t, size_t from, size_t to) {
    return (lsp_range){pdl_lsp_text_pos(t, from), pdl_lsp_text_pos(t, to)};
}

/* These functions return the line (from 0) of an offset, the text of a line without its end, and
 * the offset at which a line begins. */
uint32_t pdl_lsp_text_line(const lsp_text *t, size_t off);
pdl_str pdl_lsp_text_line_str(const lsp_text *t, uint32_t line);
static inline size_t pdl_lsp_text_line_start(const lsp_text *t, uint32_t line) {
    return line < t->lines.n ? t->lines.p[line] : t->b.len;
}

#endif
