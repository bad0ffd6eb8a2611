/* text.c -- writes values as text: pdl_stringify, and Python's str and repr; see text.h.
 *
 * One recursive walk (printer.h) writes all of them. It has a depth limit and a ceiling for the
 * text, because values that share their parts can be much longer as text than in memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "value/text.h"

#include "base/limits.h"
#include "base/num.h"
#include "base/utf8.h"
#include "value/context.h"
#include "value/func.h"
#include "value/handle.h"
#include "value/int.h"
#include "value/json_write.h"
#include "value/printer.h"
#include "value/promise.h"
#include "value/pyvalues.h"

#include "base/banned.h"

/* --- strings and bytes ------------------------------------------------------------------------ */

/* Number of bytes of a long text between two checks for cancellation; they take a few
 * milliseconds. */
enum { PART = 1 << 20 };

static const char hex[] = "0123456789abcdef";

static void put_hex(const char *prefix, int digits, uint32_t v, pdl_buf *out) {
    pdl_buf_put(out, pdl_str_of(prefix));
    for (int i = digits - 1; i >= 0; i--) pdl_buf_putc(out, hex[v >> (4 * i) & 15]);
}

/* Returns the quote that Python chooses: ' unless the text has a ' and no ". */
static char quote_for(pdl_str s) {
    bool has_single = s.n && memchr(s.p, '\'', s.n);
    return has_single && !memchr(s.p, '"', s.n) ? '"' : '\'';
}

/* Appends the escape of an ASCII character, which both kinds of repr share. Returns false when c
 * needs no escape. */
static bool put_ascii_escape(unsigned char c, char quote, pdl_buf *out) {
    if (c == '\n')
        PDL_PUT(out, "\\n");
    else if (c == '\r')
        PDL_PUT(out, "\\r");
    else if (c == '\t')
        PDL_PUT(out, "\\t");
    else if (c == '\\' || c == (unsigned char)quote) {
        pdl_buf_putc(out, '\\');
        pdl_buf_putc(out, (char)c);
    } else if (c < 0x20 || c == 0x7f)
        put_hex("\\x", 2, c, out);
    else
        return false;
    return true;
}

static void put_code_point(const char **p, pdl_buf *out) {
    const char *from = *p;
    uint32_t cp = pdl_utf8_next(p);
    if (pdl_cp_is_printable(cp))
        pdl_buf_put(out, (pdl_str){from, (size_t)(*p - from)});
    else if (cp < 0x100)
        put_hex("\\x", 2, cp, out);
    else if (cp < 0x10000)
        put_hex("\\u", 4, cp, out);
    else
        put_hex("\\U", 8, cp, out);
}

static void put_escaped(pdl_str s, char quote, pdl_buf *out) {
    const char *p = s.p, *end = s.n ? s.p + s.n : s.p;
    while (p < end) {
        const char *from = p;
        while (p < end && *p >= ' ' && *p < 0x7f && *p != '\\' && *p != quote) p++;
        if (p > from) pdl_buf_put(out, (pdl_str){from, (size_t)(p - from)});
        if (p == end) break;
        if ((unsigned char)*p >= 0x80)
            put_code_point(&p, out);
        else
            put_ascii_escape((unsigned char)*p++, quote, out);
    }
}

void pdl_str_repr(pdl_str s, pdl_buf *out) {
    char quote = quote_for(s);
    pdl_buf_putc(out, quote);
    put_escaped(s, quote, out);
    pdl_buf_putc(out, quote);
}

bool pdl_str_repr_long(pdl_str s, pdl_buf *out, pdl_err *err) {
    char quote = quote_for(s);
    pdl_buf_putc(out, quote);
    while (s.n) {
        pdl_str part = pdl_utf8_cut(s, PART);
        put_escaped(part, quote, out);
        if (part.n < s.n && !pdl_buf_check(out, err)) return false;
        s = pdl_str_sub(s, part.n, s.n);
    }
    pdl_buf_putc(out, quote);
    return true;
}

static bool put_bytes(pdl_str s, pdl_buf *out, pdl_err *err) {
    char quote = quote_for(s);
    pdl_buf_putc(out, 'b');
    pdl_buf_putc(out, quote);
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (i % PART == PART - 1 && !pdl_buf_check(out, err)) return false;
        if (c >= 0x80)
            put_hex("\\x", 2, c, out);
        else if (!put_ascii_escape(c, quote, out))
            pdl_buf_putc(out, (char)c);
    }
    pdl_buf_putc(out, quote);
    return true;
}

/* --- dates ------------------------------------------------------------------------------------ */

static void put_zone(int seconds, pdl_buf *out) {
    if (seconds == 0) {
        PDL_PUT(out, ", tzinfo=datetime.timezone.utc");
        return;
    }
    PDL_PUT(out, ", tzinfo=datetime.timezone(datetime.timedelta(");
    if (seconds < 0) { /* a timedelta has positive seconds */
        seconds += 86400;
        PDL_PUT(out, "days=-1");
        if (seconds) PDL_PUT(out, ", ");
    }
    if (seconds) pdl_buf_putf(out, "seconds=%d", seconds);
    PDL_PUT(out, "))");
}

static void put_time(pdl_vref v, bool repr, pdl_buf *out) {
    if (!repr) {
        pdl_time_iso(v, ' ', out);
        return;
    }
    pdl_time t = pdl_time_get(v);
    if (pdl_is(v, PDL_V_DATE)) {
        pdl_buf_putf(out, "datetime.date(%d, %d, %d)", t.year, t.month, t.day);
        return;
    }
    pdl_buf_putf(out, "datetime.datetime(%d, %d, %d, %d, %d", t.year, t.month, t.day, t.hour,
                 t.minute);
    if (t.second || t.usec) pdl_buf_putf(out, ", %d", t.second);
    if (t.usec) pdl_buf_putf(out, ", %d", t.usec);
    if (t.has_zone) put_zone(t.zone_seconds, out);
    pdl_buf_putc(out, ')');
}

/* --- containers ------------------------------------------------------------------------------- */

static bool enter(pdl_printer *p) {
    if (p->depth >= PDL_MAX_VALUE_DEPTH)
        return pdl_err_set(p->err, PDL_E_limit, (pdl_loc){0},
                           "value is nested deeper than %d levels", PDL_MAX_VALUE_DEPTH);
    p->depth++;
    return true;
}

static bool put_items(pdl_printer *p, pdl_vref v, char open, char close) {
    if (!enter(p)) return false;
    pdl_buf_putc(p->out, open);
    size_t n = pdl_list_len(v);
    for (size_t i = 0; i < n; i++) {
        if (i) PDL_PUT(p->out, ", ");
        if (!pdl_print(p, pdl_list_at(v, i), true)) return false;
    }
    if (n == 1 && open == '(') pdl_buf_putc(p->out, ',');
    pdl_buf_putc(p->out, close);
    p->depth--;
    return true;
}

static bool put_dict(pdl_printer *p, pdl_vref d) {
    if (!enter(p)) return false;
    pdl_buf_putc(p->out, '{');
    size_t first = pdl_dict_first_shown(d);
    for (size_t i = first, n = pdl_dict_len(d); i < n; i++) {
        if (i > first) PDL_PUT(p->out, ", ");
        if (!pdl_print(p, pdl_dict_key_at(d, i), true)) return false;
        PDL_PUT(p->out, ": ");
        if (!pdl_print(p, pdl_dict_val_at(d, i), true)) return false;
    }
    pdl_buf_putc(p->out, '}');
    p->depth--;
    return true;
}

/* Appends the keys or the values of a dict, or its pairs (key, value). */
static bool put_parts(pdl_printer *p, pdl_vref d, bool keys, bool values) {
    if (!enter(p)) return false;
    for (size_t i = 0, n = pdl_dict_len(d); i < n; i++) {
        if (i) PDL_PUT(p->out, ", ");
        if (keys && values) pdl_buf_putc(p->out, '(');
        if (keys && !pdl_print(p, pdl_dict_key_at(d, i), true)) return false;
        if (keys && values) PDL_PUT(p->out, ", ");
        if (values && !pdl_print(p, pdl_dict_val_at(d, i), true)) return false;
        if (keys && values) pdl_buf_putc(p->out, ')');
    }
    p->depth--;
    return true;
}

static bool put_set(pdl_printer *p, pdl_vref v) {
    pdl_vref d = pdl_set_dict(v);
    if (pdl_dict_len(d) == 0) {
        PDL_PUT(p->out, "set()");
        return true;
    }
    pdl_buf_putc(p->out, '{');
    if (!put_parts(p, d, true, false)) return false;
    pdl_buf_putc(p->out, '}');
    return true;
}

static bool put_view(pdl_printer *p, pdl_vref v) {
    pdl_view_kind k = pdl_view_kind_of(v);
    pdl_buf_put(p->out, k == PDL_VIEW_KEYS     ? PDL_STR("dict_keys([")
                        : k == PDL_VIEW_VALUES ? PDL_STR("dict_values([")
                                               : PDL_STR("dict_items(["));
    if (!put_parts(p, pdl_view_dict(v), k != PDL_VIEW_VALUES, k != PDL_VIEW_KEYS)) return false;
    PDL_PUT(p->out, "])");
    return true;
}

static void put_range(pdl_vref v, pdl_buf *out) {
    int64_t start, stop, step;
    pdl_range_get(v, &start, &stop, &step);
    pdl_buf_putf(out, "range(%lld, %lld", (long long)start, (long long)stop);
    if (step != 1) pdl_buf_putf(out, ", %lld", (long long)step);
    pdl_buf_putc(out, ')');
}

/* --- the walk --------------------------------------------------------------------------------- */

static void put_ext(pdl_vref v, bool repr, pdl_buf *out) {
    const pdl_class *cls = pdl_class_of(v);
    if (cls->text)
        cls->text(pdl_obj_of(v), repr, out);
    else
        pdl_buf_putf(out, "<%s object>", cls->type_name);
}

static void put_func(pdl_vref v, pdl_buf *out) {
    pdl_vref name = pdl_func_of(v)->name;
    PDL_PUT(out, "<function");
    if (pdl_is_str(name)) {
        pdl_buf_putc(out, ' ');
        pdl_buf_put(out, pdl_str_get(name));
    }
    pdl_buf_putc(out, '>');
}

static bool put_string(pdl_printer *p, pdl_vref v, bool repr) {
    if (!repr) {
        pdl_buf_put(p->out, pdl_str_get(v));
        return true;
    }
    bool is_safe = (pdl_flags_of(v) & PDL_F_SAFE) != 0;
    if (is_safe) PDL_PUT(p->out, "Markup(");
    if (!pdl_str_repr_long(pdl_str_get(v), p->out, p->err)) return false;
    if (is_safe) pdl_buf_putc(p->out, ')');
    return true;
}

static void put_number(pdl_vref v, pdl_buf *out) {
    char t[PDL_NUM_MAX];
    size_t n =
        pdl_is(v, PDL_V_FLOAT) ? pdl_num_double(pdl_float_of(v), t) : pdl_num_int(pdl_int_of(v), t);
    pdl_buf_put(out, (pdl_str){t, n});
}

static void set_check(pdl_printer *p) {
    size_t room = p->stop > p->out->len ? p->stop - p->out->len : 0;
    p->check_at = p->out->len + (room < PDL_BUF_CHECK_EVERY ? room : PDL_BUF_CHECK_EVERY);
}

PDL_COLD static bool check_room(pdl_printer *p) {
    if (p->out->len > p->stop)
        return pdl_err_set(p->err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                           PDL_MAX_TEXT);
    set_check(p);
    return pdl_buf_check(p->out, p->err);
}

/* One flat switch with a line for each tag. */
bool pdl_print(pdl_printer *p, pdl_vref v, bool repr) {
    while (pdl_is(v, PDL_V_PROMISE) && pdl_promise_of(v)->state == PDL_PROMISE_FILLED)
        v = pdl_promise_of(v)->value;
    pdl_buf *out = p->out;
    if (PDL_UNLIKELY(out->len > p->check_at) && !check_room(p)) return false;
    switch (pdl_tag_of(v)) {
    case PDL_V_ABSENT: PDL_PUT(out, "<absent>"); return true;
    case PDL_V_NULL: PDL_PUT(out, "None"); return true;
    case PDL_V_BOOL:
        pdl_buf_put(out, pdl_bool_of(v) ? PDL_STR("True") : PDL_STR("False"));
        return true;
    case PDL_V_INT:
    case PDL_V_FLOAT: put_number(v, out); return true;
    case PDL_V_BIGINT: pdl_int_write(v, 10, out); return true;
    case PDL_V_STR: return put_string(p, v, repr);
    case PDL_V_LIST: return put_items(p, v, '[', ']');
    case PDL_V_TUPLE: return put_items(p, v, '(', ')');
    case PDL_V_DICT: return put_dict(p, v);
    case PDL_V_SET: return put_set(p, v);
    case PDL_V_BYTES: return put_bytes(pdl_bytes_get(v), out, p->err);
    case PDL_V_DATE:
    case PDL_V_DATETIME: put_time(v, repr, out); return true;
    case PDL_V_RANGE: put_range(v, out); return true;
    case PDL_V_VIEW: return put_view(p, v);
    case PDL_V_CONTEXT: return enter(p) && pdl_print_context(p, v) && (p->depth--, true);
    case PDL_V_UNDEFINED:
        if (repr) PDL_PUT(out, "Undefined"); /* str() of Jinja's undefined value is empty */
        return true;
    case PDL_V_FUNC: put_func(v, out); return true;
    case PDL_V_PROMISE: PDL_PUT(out, "<pending>"); return true;
    case PDL_V_HANDLE: return pdl_handle_text(v, repr, out, p->err);
    case PDL_V_NATIVE:
    case PDL_V_CELL:
    case PDL_V_AGGREGATOR:
    case PDL_V_RECORD: put_ext(v, repr, out); return true;
    case PDL_V_COUNT: break;
    }
    PDL_BUG("value with tag %d", (int)pdl_tag_of(v));
}

/* --- public ----------------------------------------------------------------------------------- */

static bool print_all(pdl_vref v, bool repr, pdl_buf *out, pdl_err *err) {
    size_t start = out->len;
    pdl_printer p = {.out = out, .err = err, .stop = start + PDL_MAX_TEXT};
    set_check(&p);
    size_t limit = pdl_buf_unlimit(out);
    bool ok = pdl_print(&p, v, repr) && pdl_check_walk(err);
    return pdl_buf_relimit(out, limit, start, ok, err);
}

bool pdl_val_str(pdl_vref v, pdl_buf *out, pdl_err *err) { return print_all(v, false, out, err); }

bool pdl_val_repr(pdl_vref v, pdl_buf *out, pdl_err *err) { return print_all(v, true, out, err); }

bool pdl_stringify(pdl_vref v, pdl_buf *out, pdl_err *err) {
    while (pdl_is(v, PDL_V_PROMISE) && pdl_promise_of(v)->state == PDL_PROMISE_FILLED)
        v = pdl_promise_of(v)->value;
    if (pdl_is_str(v)) {
        pdl_buf_put(out, pdl_str_get(v));
        return true;
    }
    if (pdl_is(v, PDL_V_FUNC)) return true;
    pdl_err why = {0};
    if (pdl_json_write(v, PDL_JSON_ASCII | PDL_JSON_SPACED | PDL_JSON_NAN, 0, out, &why))
        return true;
    if (why.kind == PDL_E_limit || pdl_err_is_cancel(&why)) {
        pdl_err_move(err, &why);
        return false;
    }
    pdl_err_fini(&why); /* a value that is not JSON gets Python's text of the whole value */
    return pdl_val_str(v, out, err);
}

typedef bool print_fn(pdl_vref v, pdl_buf *out, pdl_err *err);

static bool as_value(pdl_vref v, print_fn *print, pdl_val *out, pdl_err *err) {
    if (pdl_is_str(v)) {
        *out = pdl_keep(v);
        return true;
    }
    pdl_buf b = PDL_BUF;
    bool ok = print(v, &b, err);
    if (ok && b.len > PDL_MAX_TEXT)
        ok = pdl_err_set(err, PDL_E_limit, (pdl_loc){0}, "text is longer than %zu bytes",
                         PDL_MAX_TEXT);
    if (ok) *out = pdl_with_label(pdl_text_of_buf(&b), pdl_label_of(v));
    pdl_buf_fini(&b);
    return ok;
}

bool pdl_stringify_val(pdl_vref v, pdl_val *out, pdl_err *err) {
    return as_value(v, pdl_stringify, out, err);
}

bool pdl_val_str_val(pdl_vref v, pdl_val *out, pdl_err *err) {
    return as_value(v, pdl_val_str, out, err);
}

void pdl_val_show(pdl_vref v, bool repr, size_t max, pdl_buf *out) {
    size_t start = out->len;
    pdl_err err = {0};
    pdl_printer p = {.out = out, .err = &err, .stop = start + max};
    set_check(&p);
    bool ok;
    /* a large text is cut before it is copied, since most of it would be cut off anyway */
    if (pdl_is_str(v) && pdl_str_get(v).n > max) {
        pdl_str s = pdl_str_sub(pdl_str_get(v), 0, max);
        while (s.n && ((unsigned char)pdl_str_get(v).p[s.n] & 0xc0) == 0x80) s.n--;
        if (repr)
            pdl_str_repr(s, out);
        else
            pdl_buf_put(out, s);
        ok = false;
    } else {
        ok = pdl_print(&p, v, repr);
    }
    /* the caller cannot receive errors */
    if (pdl_err_is_cancel(&err)) (void)pdl_cancel_walk();
    pdl_err_fini(&err);
    if (ok && out->len - start <= max) return;
    size_t cut = out->len < start + max ? out->len : start + max;
    while (cut > start && cut < out->len && ((unsigned char)out->p[cut] & 0xc0) == 0x80) cut--;
    pdl_buf_cut(out, cut);
    PDL_PUT(out, "...");
}
