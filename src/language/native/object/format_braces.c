/* format_braces.c -- str.format: "{}", "{0.name[key]!r:>{width}}". A field may name an attribute or
 * an item of an argument, and its format may contain fields, too. The errors are Python's.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/utf8.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/text.h"

#include "base/banned.h"

enum { MAX_NESTING = 2 }; /* a spec may have fields, but the specs of these fields may not */

typedef enum { NUMBERS_UNKNOWN, NUMBERS_AUTO, NUMBERS_WRITTEN } numbering;

typedef struct {
    const pdl_format_args *args;
    numbering numbers;
    size_t next; /* the next automatic number */
    pdl_label label;
    pdl_err *err;
} formatter;

/* A field as written. */
typedef struct {
    pdl_str name, spec;
    uint32_t conversion; /* the code point after `!`; 0 when the field has no `!` */
    bool nested;         /* the spec has braces */
} field;

static bool fail(formatter *f, const char *what) {
    return pdl_err_host(f->err, "ValueError", "%s", what);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads the name that begins at i, up to } : or !. */
static bool read_name(formatter *f, pdl_str s, size_t *i, field *out) {
    size_t from = *i;
    for (; *i < s.n; ++*i) {
        char c = s.p[*i];
        if (c == '{') return fail(f, "unexpected '{' in field name");
        if (c == '[') {
            while (*i < s.n && s.p[*i] != ']') ++*i;
            if (*i == s.n) break;
            continue;
        }
        if (c == '}' || c == ':' || c == '!') {
            out->name = pdl_str_sub(s, from, *i);
            return true;
        }
    }
    return fail(f, "expected '}' before end of string");
}

/* Reads the spec from i on to the brace that closes the field. */
static bool read_spec(formatter *f, pdl_str s, size_t *i, field *out) {
    size_t from = *i, depth = 1;
    for (; *i < s.n; ++*i) {
        if (s.p[*i] == '{') {
            out->nested = true;
            depth++;
        } else if (s.p[*i] == '}' && --depth == 0) {
            out->spec = pdl_str_sub(s, from, *i);
            ++*i;
            return true;
        }
    }
    return fail(f, "unmatched '{' in format spec");
}

/* Reads a field after its opening brace. *i ends after the closing brace. */
static bool read_field(formatter *f, pdl_str s, size_t *i, field *out) {
    *out = (field){.spec = {"", 0}};
    if (!read_name(f, s, i, out)) return false;
    char c = s.p[(*i)++];
    if (c == '}') return true;
    if (c == '!') {
        if (*i == s.n) return fail(f, "end of string while looking for conversion specifier");
        const char *p = s.p + *i;
        out->conversion = pdl_utf8_next(&p);
        *i = (size_t)(p - s.p);
        if (*i == s.n) return fail(f, "unmatched '{' in format spec");
        c = s.p[(*i)++];
        if (c == '}') return true;
        if (c != ':') return fail(f, "expected ':' after conversion specifier");
    }
    return read_spec(f, s, i, out);
}

/* --- the value of a field --------------------------------------------------------------------- */

/* Reads s as an index, which has only digits. Returns false when s is a key. */
static bool as_index(pdl_str s, int64_t *out) {
    int64_t n = 0;
    if (s.n == 0) return false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9') return false;
        if (PDL_MUL_OVERFLOWS(n, (int64_t)10, &n) ||
            PDL_ADD_OVERFLOWS(n, (int64_t)(s.p[i] - '0'), &n))
            n = INT64_MAX / 20;
    }
    *out = n;
    return true;
}

static bool positional(formatter *f, int64_t i, pdl_val *out) {
    if (!f->args->pos) return fail(f, "Format string contains positional fields");
    if ((uint64_t)i >= f->args->n_pos)
        return pdl_err_host(f->err, "IndexError",
                            "Replacement index %lld out of range for positional args tuple",
                            (long long)i);
    *out = pdl_keep(f->args->pos[i]);
    return true;
}

static bool key_error(formatter *f, pdl_str key) {
    pdl_buf b = PDL_BUF;
    pdl_str_repr(key, &b);
    pdl_err_host(f->err, "KeyError", "%s", pdl_buf_z(&b));
    pdl_buf_fini(&b);
    return false;
}

/* Returns the value of the first part of a name. */
static bool first_value(formatter *f, pdl_str name, pdl_val *out) {
    int64_t i;
    bool number = as_index(name, &i);
    if (number || name.n == 0) {
        numbering now = number ? NUMBERS_WRITTEN : NUMBERS_AUTO;
        if (f->numbers != NUMBERS_UNKNOWN && f->numbers != now)
            return fail(
                f,
                number
                    ? "cannot switch from automatic field numbering to manual field specification"
                    : "cannot switch from manual field specification to automatic field numbering");
        f->numbers = now;
        return positional(f, number ? i : (int64_t)f->next++, out);
    }
    if (!pdl_is_absent(f->args->named) && !pdl_is_dict(f->args->named))
        return pdl_err_host(f->err, "TypeError", "'%s' object is not subscriptable",
                            pdl_py_type(f->args->named));
    pdl_vref v = pdl_is_absent(f->args->named) ? pdl_absent() : pdl_dict_gets(f->args->named, name);
    if (pdl_is_absent(v)) return key_error(f, name);
    *out = pdl_keep(v);
    return true;
}

/* Returns x[key], or fails with Python's error. */
static bool item_of(formatter *f, pdl_vref x, pdl_str key, pdl_val *out) {
    int64_t i = 0;
    bool number = as_index(key, &i);
    if (pdl_is_dict(x)) {
        pdl_vref v = number ? pdl_dict_find(x, pdl_int(i)) : pdl_dict_gets(x, key);
        if (pdl_is_absent(v) && number)
            return pdl_err_host(f->err, "KeyError", "%lld", (long long)i);
        if (pdl_is_absent(v)) return key_error(f, key);
        *out = pdl_keep(v);
        return true;
    }
    const char *what = pdl_is_list(x)           ? "list"
                       : pdl_is(x, PDL_V_TUPLE) ? "tuple"
                       : pdl_is_str(x)          ? "string"
                                                : pdl_type_name(x);
    if (!pdl_is_seq(x) && !pdl_is_str(x) && !pdl_is(x, PDL_V_RANGE) && !pdl_is(x, PDL_V_CONTEXT))
        return pdl_err_host(f->err, "TypeError", "'%s' object is not subscriptable",
                            pdl_py_type(x));
    if (!number)
        return pdl_err_host(f->err, "TypeError",
                            pdl_is_str(x) ? "%s indices must be integers, not 'str'"
                                          : "%s indices must be integers or slices, not str",
                            what);
    if (!pdl_item(x, pdl_int(i), out, f->err)) return false;
    if (!pdl_is(*out, PDL_V_UNDEFINED)) return true;
    pdl_drop(*out);
    return pdl_err_host(f->err, "IndexError", "%s index out of range", what);
}

static bool attr_of(formatter *f, pdl_vref x, pdl_str name, pdl_val *out) {
    if (pdl_own_attr(x, name, out)) return true;
    return pdl_err_host(f->err, "AttributeError", "'%s' object has no attribute '%.*s'",
                        pdl_py_type(x), PDL_FMT(name));
}

/* Follows one step ".name" or "[key]" of path from *i on. */
static bool step(formatter *f, pdl_str path, size_t *i, pdl_vref x, pdl_val *out) {
    bool item = path.p[*i] == '[';
    if (!item && path.p[*i] != '.')
        return fail(f, "Only '.' or '[' may follow ']' in format field specifier");
    size_t from = ++*i;
    while (*i < path.n && (item ? path.p[*i] != ']' : path.p[*i] != '.' && path.p[*i] != '[')) ++*i;
    pdl_str name = pdl_str_sub(path, from, *i);
    if (item && *i == path.n) return fail(f, "Missing ']' in format string");
    if (item) ++*i;
    if (name.n == 0) return fail(f, "Empty attribute in format string");
    return item ? item_of(f, x, name, out) : attr_of(f, x, name, out);
}

static bool value_of(formatter *f, pdl_str name, pdl_val *out) {
    size_t i = 0;
    while (i < name.n && name.p[i] != '.' && name.p[i] != '[') i++;
    pdl_val x, next;
    if (!first_value(f, pdl_str_sub(name, 0, i), &x)) return false;
    while (i < name.n) {
        bool ok = step(f, name, &i, x, &next);
        pdl_drop(x);
        if (!ok) return false;
        x = next;
    }
    *out = x;
    return true;
}

/* Applies !s !r !a. Takes x. */
static bool converted(formatter *f, uint32_t how, pdl_val x, pdl_val *out) {
    if (how == 0) {
        *out = x;
        return true;
    }
    pdl_buf b = PDL_BUF;
    bool ok = true;
    if (how == 's')
        ok = pdl_val_str(x, &b, f->err);
    else if (how == 'r')
        ok = pdl_val_repr(x, &b, f->err);
    else if (how == 'a')
        ok = pdl_ascii_repr(x, &b, f->err);
    else if (how > 32 && how < 127)
        ok = pdl_err_host(f->err, "ValueError", "Unknown conversion specifier %c", (char)how);
    else
        ok =
            pdl_err_host(f->err, "ValueError", "Unknown conversion specifier \\x%x", (unsigned)how);
    ok = ok && pdl_text_like(&b, pdl_absent(), out, f->err);
    pdl_buf_fini(&b);
    pdl_drop(x);
    return ok;
}

/* --- writing ---------------------------------------------------------------------------------- */

static bool put_value(formatter *f, pdl_vref x, pdl_str spec, pdl_buf *out) {
    if (f->args->escape && pdl_is_safe(x)) {
        if (spec.n) return fail(f, "Unsupported format specification for Markup.");
        return pdl_buf_add(out, pdl_str_get(x), f->err);
    }
    pdl_val text;
    if (pdl_is(x, PDL_V_UNDEFINED) && f->args->lenient && !spec.n) return true;
    if (pdl_is(x, PDL_V_UNDEFINED)) return pdl_undefined_error(x, f->err);
    if (!pdl_format_value(x, spec, &text, f->err)) return false;
    pdl_buf safe = PDL_BUF;
    if (f->args->escape) pdl_escape_put(pdl_str_get(text), &safe);
    bool ok = pdl_buf_add(out, f->args->escape ? pdl_buf_str(&safe) : pdl_str_get(text), f->err);
    pdl_buf_fini(&safe);
    pdl_drop(text);
    return ok;
}

static bool put_format(formatter *f, pdl_str s, unsigned depth, pdl_buf *out);

static bool put_field(formatter *f, const field *d, unsigned depth, pdl_buf *out) {
    pdl_val x;
    if (!value_of(f, d->name, &x)) return false;
    f->label |= pdl_label_of(x);
    if (!converted(f, d->conversion, x, &x)) return false;
    pdl_buf spec = PDL_BUF_INIT(PDL_MAX_TEXT);
    bool ok = !d->nested || put_format(f, d->spec, depth + 1, &spec);
    ok = ok && put_value(f, x, d->nested ? pdl_buf_str(&spec) : d->spec, out);
    pdl_buf_fini(&spec);
    pdl_drop(x);
    return ok;
}

static bool put_format(formatter *f, pdl_str s, unsigned depth, pdl_buf *out) {
    if (depth >= MAX_NESTING) return fail(f, "Max string recursion exceeded");
    for (size_t i = 0; i < s.n;) {
        size_t from = i;
        while (i < s.n && s.p[i] != '{' && s.p[i] != '}') i++;
        if (!pdl_buf_add(out, pdl_str_sub(s, from, i), f->err)) return false;
        if (i == s.n) break;
        char c = s.p[i++];
        if (i < s.n && s.p[i] == c) { /* a doubled brace is written as one brace */
            if (!pdl_buf_add(out, pdl_str_sub(s, i, i + 1), f->err)) return false;
            i++;
            continue;
        }
        if (c == '}') return fail(f, "Single '}' encountered in format string");
        if (i == s.n) return fail(f, "Single '{' encountered in format string");
        field d;
        if (!read_field(f, s, &i, &d) || !put_field(f, &d, depth, out)) return false;
    }
    return true;
}

bool pdl_braces(pdl_str format, const pdl_format_args *args, pdl_val *out, pdl_err *err) {
    formatter f = {.args = args, .err = err};
    pdl_buf b = PDL_BUF_INIT(PDL_MAX_TEXT);
    if (!put_format(&f, format, 0, &b)) {
        pdl_buf_fini(&b);
        return false;
    }
    *out =
        pdl_with_label(pdl_with_flags(pdl_text_of_buf(&b), args->escape ? PDL_F_SAFE : 0), f.label);
    return true;
}

bool pdl_format_braces(pdl_str format, const pdl_val *pos, size_t n_pos, pdl_vref kwargs,
                       pdl_val *out, pdl_err *err) {
    pdl_format_args args = {pos, n_pos, kwargs, false, false};
    return pdl_braces(format, &args, out, err);
}
