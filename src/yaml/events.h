/* events.h -- private to yaml: events of one source with positions in bytes. events.c is the only
 * user of libyaml.
 *
 * PDL's dialect is PyYAML's, which differs from libyaml in a few places. Where libyaml refuses what
 * PyYAML reads, the reader changes the spelling for libyaml (by one blank or digit) and requests a
 * restart; positions stay those of the source. Where libyaml reads what PyYAML refuses, the reader
 * refuses.
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
    pdl_str anchor,
        tag; /* tag: full name, empty when there is none; anchor.p is NULL when there is none */
    pdl_str text;
    uint32_t start, end;
} pdl_yevent;

typedef struct pdl_yreader pdl_yreader;

/* src has no characters that pdl_yaml_check_chars refuses. */
pdl_yreader *pdl_yreader_new(const pdl_source *src);
void pdl_yreader_free(pdl_yreader *r);

/* The next event. Returns false with err set; or with err unset when pdl_yreader_again() is true,
 * and the caller calls pdl_yreader_restart. */
PDL_MUST bool pdl_yreader_next(pdl_yreader *r, pdl_yevent *e, pdl_err *err);
bool pdl_yreader_again(const pdl_yreader *r);
void pdl_yreader_restart(pdl_yreader *r);

/* Append the tag of e as the source spells it. */
void pdl_yreader_tag(const pdl_yreader *r, const pdl_yevent *e, pdl_buf *out);

/* Inserts a blank after source byte off for libyaml and restarts; false when there were too many of
 * them. */
bool pdl_yreader_space(pdl_yreader *r, uint32_t off);

/* Fill err: a syntax error of class py_class at byte off. Always false. */
PDL_PRINTF(5, 6)
bool pdl_yaml_fail(pdl_err *err, const pdl_source *src, uint32_t off, const char *py_class,
                   const char *fmt, ...);

/* advice.c: adds what to write instead, where the problem is a frequent mistake. */
void pdl_yaml_advise(pdl_err *err);

#endif
