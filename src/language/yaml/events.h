/* events.h -- events of one source with positions in bytes, as PyYAML's parser gives them. Private
 * to yaml.
 *
 * Runs and editors use the same reader. A strict reader stops at the first error, which has the
 * words and the place of PyYAML's error. A tolerant reader (pdl_yreader_new_tolerant) notes the
 * error and continues; see resync.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_EVENTS_H
#define PDL_YAML_EVENTS_H

#include "base/buf.h"
#include "base/err.h"
#include "base/source.h"
#include "yaml/node.h"

typedef enum {
    PDL_YEV_SCALAR,
    PDL_YEV_SEQ,
    PDL_YEV_MAP,
    PDL_YEV_CLOSE,
    PDL_YEV_ALIAS,
    PDL_YEV_DOC,
    PDL_YEV_STOP
} pdl_yevent_kind;

/* Texts are borrowed until the next event. */
typedef struct pdl_yevent {
    pdl_yevent_kind kind;
    pdl_node_style style;
    /* true for an event without a tag; the type of such a SCALAR follows from its text */
    bool plain;
    bool explicit_doc;
    bool missing; /* the source does not have the event; recovery supposes it */
    pdl_str anchor,
        /* the full name of the tag, empty when there is none; anchor.p is NULL when there is no
         * anchor */
        tag;
    pdl_str text;
    uint32_t start, end;
    uint32_t content; /* place where the node begins after its anchor and tag */
} pdl_yevent;

typedef struct pdl_yreader pdl_yreader;

/* Makes a reader. src has no characters that pdl_yaml_check_chars refuses. */
pdl_yreader *pdl_yreader_new(const pdl_source *src);
void pdl_yreader_free(pdl_yreader *r);

/* Reads the next event. STOP is the last event. Returns false with err set after a failure; no more
 * events follow. */
PDL_MUST bool pdl_yreader_next(pdl_yreader *r, pdl_yevent *e, pdl_err *err);

/* Fills err with a syntax error of class py_class at byte off. Always returns false. */
PDL_PRINTF(5, 6)
bool pdl_yaml_fail(pdl_err *err, const pdl_source *src, uint32_t off, const char *py_class,
                   const char *fmt, ...);

/* Adds the text to write instead, when the problem is a frequent mistake. Marks an unclosed text or
 * bracket where it opens (yaml_advice.c). context is the byte at which the unfinished text began.
 * bracket is the byte of the outermost { or [ around this text, or SIZE_MAX. */
void pdl_yaml_advise(pdl_err *err, size_t context, size_t bracket);

#endif
