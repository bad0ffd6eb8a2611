/* attribute.c -- computes x.name, x[key] and x[a:b:c] by the rules of Jinja for Python objects
 * (spec syntax 4.3). x.name is an attribute or else an item, and x[key] is an item or else an
 * attribute. When neither exists, the result is an undefined value, which fails with an explanation
 * when it is used.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/native.h"

#include "base/utf8.h"
#include "native/natives.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/promise.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

/* --- what is missing -------------------------------------------------------------------------- */

/* Appends the name of a type. Types outside of Python's builtins are named with their module. */
void pdl_object_name(pdl_vref x, pdl_buf *out) {
    const char *module = "";
    pdl_tag t = pdl_tag_of(x);
    if (t == PDL_V_NULL || t == PDL_V_ABSENT) {
        PDL_PUT(out, "None");
        return;
    }
    if (pdl_is_safe(x))
        module = "markupsafe.";
    else if (t == PDL_V_DATE || t == PDL_V_DATETIME)
        module = "datetime.";
    else if (t == PDL_V_CONTEXT)
        module = "pdl.pdl_context.";
    else if (t == PDL_V_FUNC)
        module = "pdl.pdl_ast.";
    pdl_buf_putf(out, "%s%s object", module, pdl_type_name(x));
}

pdl_val pdl_no_element(pdl_vref x, pdl_vref key) {
    pdl_buf b = PDL_BUF;
    pdl_object_name(x, &b);
    PDL_PUT(&b, " has no element ");
    pdl_val_show(key, true, 200, &b);
    return pdl_undefined(pdl_text_of_buf(&b));
}

enum { LONGEST_NAME = 1000 }; /* the maximum number of bytes of a name in a message */
pdl_val pdl_no_attribute(pdl_vref x, pdl_str name) {
    pdl_buf b = PDL_BUF, type = PDL_BUF;
    pdl_object_name(x, &type);
    pdl_str_repr(pdl_buf_str(&type), &b);
    PDL_PUT(&b, " has no attribute ");
    pdl_str_repr(pdl_utf8_cut(name, LONGEST_NAME), &b);
    if (name.n > LONGEST_NAME) PDL_PUT(&b, "...");
    pdl_buf_fini(&type);
    return pdl_undefined(pdl_text_of_buf(&b));
}

/* --- attributes ------------------------------------------------------------------------------- */

static bool time_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    pdl_time t = pdl_time_get(x);
    const struct {
        const char *name;
        int value;
        bool of_date;
    } parts[] = {{"year", t.year, true},        {"month", t.month, true},
                 {"day", t.day, true},          {"hour", t.hour, false},
                 {"minute", t.minute, false},   {"second", t.second, false},
                 {"microsecond", t.usec, false}};
    for (size_t i = 0; i < PDL_N_COUNT(parts); i++) {
        if (!pdl_str_is(name, parts[i].name) || (pdl_is(x, PDL_V_DATE) && !parts[i].of_date))
            continue;
        *out = pdl_int(parts[i].value);
        return true;
    }
    return false;
}

/* Reads an attribute of a number: real, imag, numerator or denominator. */
static bool number_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    bool whole = !pdl_is(x, PDL_V_FLOAT);
    if (pdl_str_is(name, "real") || (whole && pdl_str_is(name, "numerator"))) {
        *out = pdl_is_bool(x) ? pdl_int(pdl_bool_of(x)) : pdl_keep(x);
    } else if (pdl_str_is(name, "imag")) {
        *out = whole ? pdl_int(0) : pdl_float(0.0);
    } else if (whole && pdl_str_is(name, "denominator")) {
        *out = pdl_int(1);
    } else {
        return false;
    }
    return true;
}

static bool range_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    int64_t start, stop, step;
    pdl_range_get(x, &start, &stop, &step);
    if (pdl_str_is(name, "start"))
        *out = pdl_int(start);
    else if (pdl_str_is(name, "stop"))
        *out = pdl_int(stop);
    else if (pdl_str_is(name, "step"))
        *out = pdl_int(step);
    else
        return false;
    return true;
}

/* Returns the description, which is in the tool declaration: signature.function.description. */
static pdl_vref func_description(const pdl_func *f) {
    if (!pdl_is_dict(f->signature)) return pdl_null();
    pdl_vref inner = pdl_dict_getz(f->signature, "function");
    pdl_vref text = pdl_is_dict(inner) ? pdl_dict_getz(inner, "description") : pdl_absent();
    return pdl_is_absent(text) ? pdl_null() : text;
}

/* Reads an attribute of a function. The result has the labels of the signature, because all
 * attributes of a tool's function come from the server of the tool. */
static bool func_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    const pdl_func *f = pdl_func_about(x);
    pdl_vref v;
    if (pdl_str_is(name, "signature"))
        v = f->signature;
    else if (pdl_str_is(name, "function"))
        v = f->params;
    else if (pdl_str_is(name, "spec"))
        v = f->spec;
    else if (pdl_str_is(name, "description"))
        v = func_description(f);
    else if (pdl_str_is(name, "name"))
        v = f->name;
    else
        return false;
    *out = pdl_with_label(pdl_keep(v), pdl_label_of(f->signature));
    return true;
}

static bool cell_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    const pdl_attr_class *cls = (const pdl_attr_class *)(const void *)pdl_class_of(x);
    return cls->attr && cls->attr(x, name, out);
}

/* Reads the attribute `grouper` or `list` of a group made by groupby. */
static bool group_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    if (!(pdl_flags_of(x) & PDL_F_GROUP) || pdl_list_len(x) != 2) return false;
    if (pdl_str_is(name, "grouper"))
        *out = pdl_keep(pdl_list_at(x, 0));
    else if (pdl_str_is(name, "list"))
        *out = pdl_keep(pdl_list_at(x, 1));
    else
        return false;
    return true;
}

static bool plain_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    pdl_tag t = pdl_tag_of(x);
    if (t == PDL_V_DATE || t == PDL_V_DATETIME) return time_attr(x, name, out);
    if (pdl_is_number(x)) return number_attr(x, name, out);
    if (t == PDL_V_RANGE) return range_attr(x, name, out);
    if (t == PDL_V_FUNC) return func_attr(x, name, out);
    if (t == PDL_V_TUPLE) return group_attr(x, name, out);
    if (t == PDL_V_CELL || t == PDL_V_RECORD) return cell_attr(x, name, out);
    return false;
}

bool pdl_own_attr(pdl_vref x, pdl_str name, pdl_val *out) {
    const pdl_native *row = pdl_method_find(x, name);
    if (row) {
        *out = pdl_native_value(row, pdl_keep(x));
        return true;
    }
    if (!plain_attr(x, name, out)) return false;
    if (!pdl_is(x, PDL_V_CELL)) *out = pdl_with_label(*out, pdl_label_of(x));
    return true;
}

bool pdl_attr(pdl_vref x, pdl_str name, pdl_val *out, pdl_err *err) {
    if (pdl_is(x, PDL_V_UNDEFINED)) return pdl_undefined_error(x, err);
    if (pdl_own_attr(x, name, out)) return true;
    if (pdl_is_dict(x)) {
        pdl_vref v = pdl_dict_gets(x, name);
        if (!pdl_is_absent(v)) {
            *out = pdl_keep(v);
            return true;
        }
    }
    *out = pdl_no_attribute(x, name);
    return true;
}

/* --- items ------------------------------------------------------------------------------------ */

/* Reads an index into a sequence of n items. A negative index counts from the end. Returns false
 * when key is not a whole number or is out of range. */
static bool index_in(pdl_vref key, size_t n, size_t *out) {
    int64_t i;
    if ((!pdl_is_int(key) && !pdl_is_bool(key)) || !pdl_int_get(key, &i)) return false;
    if (i < 0) i += (int64_t)n;
    if (i < 0 || (uint64_t)i >= n) return false;
    *out = (size_t)i;
    return true;
}

static bool seq_len(pdl_vref x, size_t *n) {
    pdl_tag t = pdl_tag_of(x);
    if (t == PDL_V_CONTEXT) {
        *n = pdl_context_count(x);
        return true;
    }
    if (t == PDL_V_LIST || t == PDL_V_TUPLE || t == PDL_V_STR || t == PDL_V_RANGE ||
        t == PDL_V_BYTES)
        return pdl_val_len(x, n);
    return false;
}

bool pdl_is_ascii(pdl_vref s) { return pdl_text_len_cp(s) == pdl_str_get(s).n; }

static pdl_val chars(pdl_vref s, size_t from, size_t to) {
    if (!pdl_is_ascii(s))
        return pdl_with_flags(pdl_text_slice(s, from, to), pdl_flags_of(s) & PDL_F_SAFE);
    return pdl_piece_like(pdl_str_sub(pdl_str_get(s), from, to), s);
}

static pdl_val seq_at(pdl_vref x, size_t i) {
    pdl_tag t = pdl_tag_of(x);
    if (t == PDL_V_LIST || t == PDL_V_TUPLE) return pdl_keep(pdl_list_at(x, i));
    pdl_val v;
    if (t == PDL_V_STR)
        v = chars(x, i, i + 1);
    else if (t == PDL_V_CONTEXT)
        return pdl_with_label(pdl_context_at(x, i), pdl_label_of(x));
    else if (t == PDL_V_RANGE)
        v = pdl_int(pdl_range_at(x, i));
    else
        v = pdl_int((unsigned char)pdl_bytes_get(x).p[i]);
    return pdl_with_label(v, pdl_label_of(x));
}

bool pdl_item(pdl_vref x, pdl_vref key, pdl_val *out, pdl_err *err) {
    if (pdl_is(x, PDL_V_UNDEFINED)) return pdl_undefined_error(x, err);
    size_t n, i;
    if (pdl_is_dict(x) && pdl_is_hashable(key)) {
        pdl_vref v = pdl_dict_find(x, key);
        if (!pdl_is_absent(v)) {
            *out = pdl_keep(v);
            return true;
        }
    } else if (seq_len(x, &n) && index_in(key, n, &i)) {
        *out = seq_at(x, i);
        return true;
    }
    pdl_vref fetched = pdl_is(x, PDL_V_HANDLE) ? pdl_handle_of(x)->fetched : pdl_absent();
    if (!pdl_is_absent(fetched)) fetched = pdl_dict_find(fetched, key);
    if (!pdl_is_absent(fetched)) {
        *out = pdl_keep(pdl_promise_of(fetched)->value);
        return true;
    }
    if (!pdl_check_walk(err)) return false;
    if (!pdl_is_str(key))
        *out = pdl_no_element(x, key);
    else if (!pdl_own_attr(x, pdl_str_get(key), out))
        *out = pdl_no_attribute(x, pdl_str_get(key));
    return true;
}

/* --- slices ----------------------------------------------------------------------------------- */

static bool bound_of(pdl_vref v, int64_t dflt, int64_t *out, pdl_err *err) {
    *out = dflt;
    if (!pdl_given(v)) return true;
    if (pdl_is(v, PDL_V_UNDEFINED) || (!pdl_is_int(v) && !pdl_is_bool(v)))
        return pdl_err_host(err, "TypeError",
                            "slice indices must be integers or None or have an __index__ method");
    return pdl_arg_int(v, out, err);
}

/* Moves a bound into the sequence: into [0, n] for steps forward, and into [-1, n-1] for steps
 * backward. */
static int64_t clamp(int64_t i, int64_t n, bool back) {
    if (i < 0) i = i < -n ? -1 : i + n;
    if (i < 0) return back ? -1 : 0;
    return i >= n ? (back ? n - 1 : n) : i;
}

typedef struct {
    int64_t from, to, step;
    size_t count;
} span;

static bool span_of(pdl_vref from, pdl_vref to, pdl_vref step, size_t len, span *s, pdl_err *err) {
    int64_t n = (int64_t)len;
    if (!bound_of(step, 1, &s->step, err)) return false;
    if (s->step == 0) return pdl_err_host(err, "ValueError", "slice step cannot be zero");
    if (s->step < -INT64_MAX) s->step = -INT64_MAX;
    bool back = s->step < 0;
    if (!bound_of(from, back ? INT64_MAX : 0, &s->from, err)) return false;
    if (!bound_of(to, back ? INT64_MIN : INT64_MAX, &s->to, err)) return false;
    s->from = clamp(s->from, n, back);
    s->to = clamp(s->to, n, back);
    uint64_t dist = 0, by = back ? (uint64_t)-s->step : (uint64_t)s->step;
    if (back && s->from > s->to) dist = (uint64_t)(s->from - s->to);
    if (!back && s->to > s->from) dist = (uint64_t)(s->to - s->from);
    s->count = dist ? (size_t)((dist - 1) / by + 1) : 0;
    return true;
}

static size_t span_at(const span *s, size_t k) { return (size_t)(s->from + (int64_t)k * s->step); }

static pdl_val slice_list(pdl_vref x, const span *s) {
    pdl_val list = pdl_list_new(s->count);
    for (size_t k = 0; k < s->count && pdl_walk_may_continue_at(k); k++)
        list = pdl_list_push(list, seq_at(x, span_at(s, k)));
    return pdl_is(x, PDL_V_TUPLE) ? pdl_list_as_tuple(list) : list;
}

/* Slices text. If the step is not 1 and the text is not ASCII, one walk first finds where each code
 * point begins. */
static pdl_val slice_text(pdl_vref x, const span *s) {
    pdl_str t = pdl_str_get(x);
    if (s->step == 1) return chars(x, (size_t)s->from, (size_t)s->from + s->count);
    bool ascii = pdl_is_ascii(x);
    uint32_t *off = NULL;
    if (!ascii) { /* the byte offset of each code point */
        off = PDL_NEW_N(uint32_t, pdl_text_len_cp(x) + 1);
        size_t n = 0;
        for (size_t i = 0; i < t.n && pdl_walk_may_continue_at(i); i++)
            if (((unsigned char)t.p[i] & 0xc0) != 0x80) off[n++] = (uint32_t)i;
        off[n] = (uint32_t)t.n;
    }
    pdl_buf b = PDL_BUF;
    for (size_t k = 0; k < s->count && pdl_walk_may_continue_at(k); k++) {
        size_t i = span_at(s, k);
        if (ascii)
            pdl_buf_putc(&b, t.p[i]);
        else
            pdl_buf_put(&b, pdl_str_sub(t, off[i], off[i + 1]));
    }
    pdl_free(off);
    pdl_val v = pdl_text_of_buf(&b);
    return pdl_with_flags(v, pdl_flags_of(x) & PDL_F_SAFE);
}

static pdl_val slice_bytes(pdl_vref x, const span *s) {
    pdl_buf b = PDL_BUF;
    for (size_t k = 0; k < s->count && pdl_walk_may_continue_at(k); k++)
        pdl_buf_putc(&b, pdl_bytes_get(x).p[span_at(s, k)]);
    pdl_val v = pdl_bytes(pdl_buf_str(&b));
    pdl_buf_fini(&b);
    return v;
}

static pdl_val slice_range(pdl_vref x, const span *s) {
    int64_t start, stop, step;
    pdl_range_get(x, &start, &stop, &step);
    (void)stop;
    uint64_t first = (uint64_t)start + (uint64_t)s->from * (uint64_t)step,
             end = (uint64_t)start + (uint64_t)s->to * (uint64_t)step;
    return pdl_range_new((int64_t)first, (int64_t)end,
                         (int64_t)((uint64_t)step * (uint64_t)s->step));
}

bool pdl_slice(pdl_vref x, pdl_vref from, pdl_vref to, pdl_vref step, pdl_val *out, pdl_err *err) {
    if (pdl_is(x, PDL_V_UNDEFINED)) return pdl_undefined_error(x, err);
    size_t n;
    if (pdl_is_dict(x)) return pdl_err_host(err, "TypeError", "unhashable type: 'slice'");
    if (!seq_len(x, &n))
        return pdl_err_host(err, "TypeError", "'%s' object is not subscriptable", pdl_py_type(x));
    span s;
    if (!span_of(from, to, step, n, &s, err)) return false;
    pdl_tag t = pdl_tag_of(x);
    pdl_val v = t == PDL_V_STR     ? slice_text(x, &s)
                : t == PDL_V_BYTES ? slice_bytes(x, &s)
                : t == PDL_V_RANGE ? slice_range(x, &s)
                                   : slice_list(x, &s);
    *out = pdl_with_label(v, pdl_label_of(x));
    return true;
}
