/* pyvalues.h -- the types beyond JSON that expressions, YAML and code make: set, bytes, date,
 * datetime, range, dict views, undefined. Tuples are in val.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_VALUE_PYVALUES_H
#define PDL_VALUE_PYVALUES_H

#include "base/buf.h"
#include "value/val.h"

/* Makes a set from a dict whose values are null; it keeps the order of insertion. Takes the
 * dict. */
pdl_val pdl_set_from_dict(pdl_val dict);
pdl_vref pdl_set_dict(pdl_vref set);

pdl_val pdl_bytes(pdl_str bytes); /* may be any bytes; they are copied */
pdl_str pdl_bytes_get(pdl_vref v);

typedef struct {
    int year, month, day; /* 1..9999, 1..12, 1..31 */
    int hour, minute, second, usec;
    bool has_zone;
    int zone_seconds; /* east of UTC */
} pdl_time;

/* Makes a date or datetime. Error: ValueError with Python's text ("day is out of range for month",
 * "month must be in 1..12") when the fields are not a date of the proleptic Gregorian calendar. */
PDL_MUST bool pdl_date_new(const pdl_time *t, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_datetime_new(const pdl_time *t, pdl_val *out, pdl_err *err);
pdl_time pdl_time_get(pdl_vref v); /* v must be a date or datetime */
bool pdl_time_read(pdl_str iso, bool *is_date,
                   pdl_time *out); /* reads the output of str(), as fromisoformat does */
/* sep is ' ' for str() and 'T' for isoformat() */
void pdl_time_iso(pdl_vref v, char sep, pdl_buf *out);
PDL_MUST bool pdl_time_strftime(pdl_vref v, pdl_str format, pdl_val *out, pdl_err *err);

pdl_val pdl_range_new(int64_t start, int64_t stop, int64_t step); /* step must not be 0 */
void pdl_range_get(pdl_vref v, int64_t *start, int64_t *stop, int64_t *step);
size_t pdl_range_len(pdl_vref v);
int64_t pdl_range_at(pdl_vref v, size_t i);

typedef enum { PDL_VIEW_KEYS, PDL_VIEW_VALUES, PDL_VIEW_ITEMS } pdl_view_kind;
pdl_val pdl_view_new(pdl_val dict, pdl_view_kind kind); /* takes dict */
pdl_view_kind pdl_view_kind_of(pdl_vref v);
pdl_vref pdl_view_dict(pdl_vref v);

/* Makes an undefined value with its explanation, "'x' is undefined". Takes why, a text. */
pdl_val pdl_undefined(pdl_val why);
pdl_vref pdl_undefined_why(pdl_vref v);

/* Iterates over every kind of iterable value: list, tuple, str (code points), dict (keys), set,
 * range, view, context, bytes. pdl_iter_next gives owned items. An iterator of zeros has ended.
 * Error of init: TypeError "'int' object is not iterable". */
typedef struct pdl_iter {
    pdl_val over; /* the value whose items are read; owned */
    size_t i, n;
    size_t off; /* the offset in bytes, for strings */
} pdl_iter;
PDL_MUST bool pdl_iter_init(pdl_iter *it, pdl_vref v, pdl_err *err);
bool pdl_iter_next(pdl_iter *it, pdl_val *out);
void pdl_iter_fini(pdl_iter *it);
/* Computes Python's len(). Returns false when v has no length. */
bool pdl_val_len(pdl_vref v, size_t *out);
/* Makes list(v). */
PDL_MUST bool pdl_val_to_list(pdl_vref v, pdl_val *out, pdl_err *err);

#endif
