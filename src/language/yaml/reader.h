/* reader.h -- private to yaml: the state of an event reader, which events.c and resync.c share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_READER_H
#define PDL_YAML_READER_H

#include "base/map.h"
#include "yaml/events.h"
#include "yaml/scan.h"

/* Kinds of open collections. PAIR is `a: b` as an item of a flow sequence; INDENTLESS a sequence
 * whose dashes are in the column of the key that it belongs to. */
typedef enum {
    PDL_YF_BLOCK_SEQ,
    PDL_YF_INDENTLESS,
    PDL_YF_BLOCK_MAP,
    PDL_YF_FLOW_SEQ,
    PDL_YF_FLOW_MAP,
    PDL_YF_PAIR
} pdl_yframe_kind;

/* What a collection expects next. FIRST: an item that no ',' precedes. NO_VALUE: nothing, a key
 * without ':' was read in a flow mapping. */
typedef enum { PDL_YS_FIRST, PDL_YS_ITEM, PDL_YS_VALUE, PDL_YS_NO_VALUE, PDL_YS_END } pdl_ystate;

typedef struct pdl_yframe {
    pdl_yframe_kind kind : 8;
    pdl_ystate state : 8;
    int32_t indent; /* column of a block collection */
} pdl_yframe;

/* Before, inside and after documents. BARE: one that begins without `---` and must have content. */
typedef enum {
    PDL_YD_FIRST,
    PDL_YD_BARE,
    PDL_YD_START,
    PDL_YD_CONTENT,
    PDL_YD_END,
    PDL_YD_OVER
} pdl_ydoc;

struct pdl_yreader {
    pdl_yscan scan;
    PDL_VEC(pdl_yframe) frames;
    pdl_ydoc doc;
    pdl_map handles;                /* of %TAG lines of this document: handle -> pdl_ytagdir */
    pdl_buf tag;                    /* of the last event */
    bool owed;                      /* the node whose place was reached has no event yet */
    uint32_t consumed;              /* end of the last token that was taken */
    struct pdl_yrecovery *recovery; /* NULL: strict */
};

/* resync.c: a failure of the reader was put into err; takes it for a note and finds where to
 * continue. Returns false when there is no such place. */
bool pdl_yrecover(pdl_yreader *r, pdl_err *err);
/* The next event that closes what the failure left open. Returns false when there is none. */
bool pdl_yrecover_event(pdl_yreader *r, pdl_yevent *e);

#endif
