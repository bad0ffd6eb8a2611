/* reader.h -- the state of an event reader, which events.c and resync.c share. Private to yaml.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_YAML_READER_H
#define PDL_YAML_READER_H

#include "base/map.h"
#include "yaml/events.h"
#include "yaml/scan.h"

/* The kinds of open collections. PAIR is `a: b` as an item of a flow sequence; INDENTLESS is a
 * sequence whose dashes are in the column of its key. */
typedef enum {
    PDL_YF_BLOCK_SEQ,
    PDL_YF_INDENTLESS,
    PDL_YF_BLOCK_MAP,
    PDL_YF_FLOW_SEQ,
    PDL_YF_FLOW_MAP,
    PDL_YF_PAIR
} pdl_yframe_kind;

/* The next part that a collection expects. FIRST is an item that no ',' precedes. NO_VALUE expects
 * no value, because a key without ':' was read in a flow mapping. */
typedef enum { PDL_YS_FIRST, PDL_YS_ITEM, PDL_YS_VALUE, PDL_YS_NO_VALUE, PDL_YS_END } pdl_ystate;

typedef struct pdl_yframe {
    pdl_yframe_kind kind : 8;
    pdl_ystate state : 8;
    int32_t indent; /* column of a block collection */
} pdl_yframe;

/* The positions before, inside and after documents. BARE is a document that begins without `---`
 * and must have content. */
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
    /* maps the handle of each %TAG line of this document to its pdl_ytagdir */
    pdl_map handles;
    pdl_buf tag;                    /* tag of the last event */
    bool owed;                      /* the node that begins here has no event yet */
    uint32_t consumed;              /* end of the last token that was taken */
    struct pdl_yrecovery *recovery; /* NULL for a strict reader */
};

/* Turns a failure of the reader in err into a note, and finds the place where reading continues
 * (resync.c). Returns false when there is no such place. */
bool pdl_yrecover(pdl_yreader *r, pdl_err *err);
/* Returns true inside of brackets. The scanner may already have read up to the closing bracket, to
 * see whether a colon follows it. */
bool pdl_yreader_in_flow(const pdl_yreader *r);
/* Makes the next event that closes a collection that the failure left open. Returns false when
 * there is none. */
bool pdl_yrecover_event(pdl_yreader *r, pdl_yevent *e);

#endif
