/* events.h -- private to yaml: events of one source with positions in bytes, as PyYAML's parser
 * gives them.
 *
 * One reader for runs and for editors. A strict reader stops at the first error, which is PyYAML's
 * in words and place. A tolerant one (pdl_yreader_recover) keeps a note of it and continues:
 * resync.c.
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
    bool plain; /* SCALAR without a tag that is resolved by its text; SEQ, MAP without a tag */
    bool explicit_doc;
    bool missing; /* recovery supposes it: nothing is written there */
    pdl_str anchor,
        tag; /* tag: full name, empty when there is none; anchor.p is NULL when there is none */
    pdl_str text;
    uint32_t start, end;
    uint32_t content; /* start without anchor and tag */
} pdl_yevent;

typedef struct pdl_yreader pdl_yreader;

/* src has no characters that pdl_yaml_check_chars refuses. */
pdl_yreader *pdl_yreader_new(const pdl_source *src);
void pdl_yreader_free(pdl_yreader *r);

/* The next event; STOP is the last one. Returns false with err set, after which there are no
 * more. */
PDL_MUST bool pdl_yreader_next(pdl_yreader *r, pdl_yevent *e, pdl_err *err);

/* Fill err: a syntax error of class py_class at byte off. Always false. */
PDL_PRINTF(5, 6)
bool pdl_yaml_fail(pdl_err *err, const pdl_source *src, uint32_t off, const char *py_class,
                   const char *fmt, ...);

/* yaml_advice.c: adds what to write instead, where the problem is a frequent mistake, and marks
 * what is not closed where it opens. context: the byte where began what was being read; bracket:
 * that of the outermost { or [ around it, SIZE_MAX: none. */
void pdl_yaml_advise(pdl_err *err, size_t context, size_t bracket);

#endif
