/* json_write.h -- writes a value as JSON text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_JSON_WRITE_H
#define PDL_VALUE_JSON_WRITE_H

#include "base/buf.h"
#include "value/val.h"

enum {
    PDL_JSON_ASCII = 1,  /* writes every code point beyond ASCII as \uXXXX */
    PDL_JSON_SPACED = 2, /* ", " and ": " (Python's default); otherwise no blanks */
    PDL_JSON_SORT = 4, /* sorts keys by their text; with no other flag this is the canonical form */
    PDL_JSON_NAN = 8,  /* writes NaN, Infinity and -Infinity; without the flag they are an error */
    /* Values that are not JSON (dates, handles, contexts, functions...) become their str(); tuples,
     * sets, ranges and views become lists. Without this flag such a value is an error (TypeError
     * "Object of type date is not JSON serializable"), unless it is a tuple or a handle with a JSON
     * form. */
    PDL_JSON_LOOSE = 16,
    /* Contexts become the list of their messages, with or without PDL_JSON_LOOSE. */
    PDL_JSON_CONTEXT = 64,
    /* Containers deeper than PDL_MAX_JSON_DEPTH become "..."; without this flag they are an
     * error. */
    PDL_JSON_CUT = 32,
    PDL_JSON_NAN_NULL = 128, /* writes null for NaN, Infinity and -Infinity */
};

enum { PDL_JSON_MAX_INDENT = 100 };

/* Writes v. indent is 0 for one line, otherwise the number of spaces of a level, at most
 * PDL_JSON_MAX_INDENT. With an indent the separators are "," newline and ": ". Keys that are
 * numbers, bools or null are converted by the rules of Python's json. Error: type, limit. */
PDL_MUST bool pdl_json_write(pdl_vref v, int flags, int indent, pdl_buf *out, pdl_err *err);
/* Writes v with any text, also an empty one, as the indentation of a level. When unit is NULL, the
 * result has one line. */
PDL_MUST bool pdl_json_write_lines(pdl_vref v, int flags, const pdl_str *unit, pdl_buf *out,
                                   pdl_err *err);

/* Writes at most the first n bytes of the text of pdl_json_write, for a preview. The bytes may end
 * inside of a character. Returns false when the text was cut, or on an error; out then has the
 * beginning. */
PDL_MUST bool pdl_json_write_begin(pdl_vref v, int flags, int indent, size_t n, pdl_buf *out,
                                   pdl_err *err);

/* Writes v in one line, as a part of JSON inside of `depth` containers. `other` is called for a
 * value that has no form in JSON, with the number of containers around it. It writes the value and
 * returns true, or it returns false. In the second case the flags decide about the value. */
typedef struct pdl_json_part {
    int flags;
    unsigned depth; /* the number of containers around v */
    bool (*other)(void *user, pdl_vref v, unsigned depth, pdl_buf *out);
    /* Called after each PDL_BUF_CHECK_EVERY bytes; may take text from the end of out. May be
     * NULL. */
    bool (*room)(void *user, pdl_buf *out, pdl_err *err);
    void *user;
} pdl_json_part;
PDL_MUST bool pdl_json_write_part(pdl_vref v, const pdl_json_part *part, pdl_buf *out,
                                  pdl_err *err);

/* Writes the string s quoted and escaped. The only flag is PDL_JSON_ASCII. */
void pdl_json_quote(pdl_str s, int flags, pdl_buf *out);
/* Works as pdl_json_quote for a text of a program, which may have any length. Returns false, with
 * an unfinished text in out, when the work is cancelled or there is no memory. */
PDL_MUST bool pdl_json_quote_long(pdl_str s, int flags, pdl_buf *out, pdl_err *err);

#endif
