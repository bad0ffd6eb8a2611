/* encode.h -- private to the room: the tagged JSON form of values with options. */
#ifndef PDL_EFFECT_ENCODE_H
#define PDL_EFFECT_ENCODE_H

#include "base/buf.h"
#include "base/err.h"
#include "value/val.h"

enum {
    PDL_ENC_SORT = 1,   /* keys in order of their text */
    PDL_ENC_REDACT = 2, /* strings under secret keys are written as [REDACTED] */
};

PDL_MUST bool pdl_effect_encode_with(pdl_vref v, int flags, bool (*secret)(pdl_str key), pdl_buf *out,
                                     pdl_err *err);

#endif
