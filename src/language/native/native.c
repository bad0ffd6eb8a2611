/* native.c -- finds rows, binds arguments by the rules of Python, and makes values of bound
 * methods.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/native.h"

#include <assert.h>

#include "value/label.h"

#include "base/plural.h"
#include "native/natives.h"
#include "value/int.h"
#include "value/pyvalues.h"
#include "value/text.h"

#include "base/banned.h"

/* --- tables ----------------------------------------------------------------------------------- */

/* Compares a name with the name of a row. Compares byte by byte, because two names differ early and
 * the length of a row's name is not known. */
static inline int compare(pdl_str name, const char *z) {
    size_t i = 0;
    while (i < name.n && z[i] && name.p[i] == z[i]) i++;
    return i < name.n ? (z[i] ? (unsigned char)name.p[i] - (unsigned char)z[i] : 1)
                      : -(z[i] != '\0');
}

const pdl_native *pdl_rows_find(pdl_rows t, pdl_str name) {
    size_t lo = 0, hi = name.n ? t.n : 0; /* no row has an empty name */
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        assert(mid == 0 || strcmp(t.p[mid - 1].name, t.p[mid].name) < 0); /* the rows are sorted */
        int c = compare(name, t.p[mid].name);
        if (c == 0) return &t.p[mid];
        if (c < 0)
            hi = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

enum { MAX_NEAR = 80 }; /* larger than the number of rows of the longest table */

pdl_str pdl_rows_near(pdl_rows t, pdl_str name) {
    pdl_str names[MAX_NEAR];
    size_t n = 0;
    for (size_t i = 0; i < t.n && n < MAX_NEAR; i++) names[n++] = pdl_str_of(t.p[i].name);
    return pdl_str_nearest(name, names, n);
}

static pdl_rows methods_of(pdl_vref v) {
    pdl_tag t = pdl_tag_of(v);
    if (t == PDL_V_STR) return pdl_rows_str();
    if (t == PDL_V_LIST) return pdl_rows_list();
    if (t == PDL_V_TUPLE) return pdl_rows_tuple();
    if (t == PDL_V_RANGE) return pdl_rows_range();
    if (t == PDL_V_CONTEXT) return pdl_rows_context();
    if (t == PDL_V_DICT) return pdl_rows_dict();
    if (pdl_is_int(v) || t == PDL_V_BOOL) return pdl_rows_int();
    if (t == PDL_V_FLOAT) return pdl_rows_float();
    if (t == PDL_V_DATE || t == PDL_V_DATETIME) return pdl_rows_time();
    if (t == PDL_V_CELL) return pdl_rows_cell(v);
    return (pdl_rows){0};
}

const pdl_native *pdl_method_find(pdl_vref receiver, pdl_str name) {
    return pdl_rows_find(methods_of(receiver), name);
}

pdl_str pdl_method_near(pdl_vref receiver, pdl_str name) {
    return pdl_rows_near(methods_of(receiver), name);
}

bool pdl_is_dict_method(pdl_str name) { return pdl_rows_find(pdl_rows_dict(), name) != NULL; }

typedef struct {
    const char *title;
    pdl_rows (*rows)(void);
} listed;

static pdl_rows filter_rows(void) {
    size_t n;
    const pdl_native *p = pdl_filters(&n);
    return (pdl_rows){p, n};
}

static pdl_rows test_rows(void) {
    size_t n;
    const pdl_native *p = pdl_tests(&n);
    return (pdl_rows){p, n};
}

static pdl_rows global_rows(void) {
    size_t n;
    const pdl_native *p = pdl_globals(&n);
    return (pdl_rows){p, n};
}

pdl_native_table pdl_native_table_at(size_t i) {
    static const listed all[PDL_NATIVE_TABLES] = {
        {"Filters", filter_rows},
        {"Tests", test_rows},
        {"Functions", global_rows},
        {"Methods of texts", pdl_rows_str},
        {"Methods of lists", pdl_rows_list},
        {"Methods of tuples", pdl_rows_tuple},
        {"Methods of ranges", pdl_rows_range},
        {"Methods of contexts", pdl_rows_context},
        {"Methods of objects", pdl_rows_dict},
        {"Methods of whole numbers", pdl_rows_int},
        {"Methods of floats", pdl_rows_float},
        {"Methods of dates", pdl_rows_time},
        {"Natives of stdlib and of its functions", pdl_rows_stdlib},
    };
    pdl_rows r = all[i].rows();
    return (pdl_native_table){all[i].title, r.p, r.n};
}

/* --- wording of wrong calls ------------------------------------------------------------------- */

/* Returns the i-th name of "a, b, c". */
static pdl_str param_at(const char *params, size_t i) {
    const char *p = params;
    for (;; p++) {
        const char *end = strchr(p, ',');
        if (i-- == 0) return (pdl_str){p, end ? (size_t)(end - p) : strlen(p)};
        if (!end) return (pdl_str){0};
        p = end + 1; /* the loop skips the blank after the comma */
    }
}

typedef struct {
    const pdl_native *row;
    const pdl_val *pos;
    size_t n_pos;
    pdl_err *err;
} call;

/* Appends the name of the native: "do_round", "str.upper" or "append". */
static void put_name(const call *c, bool with_type, pdl_buf *b) {
    if (!c->row->py_name && with_type && c->n_pos) pdl_buf_putf(b, "%s.", pdl_type_name(c->pos[0]));
    pdl_buf_put(b, pdl_str_of(c->row->py_name ? c->row->py_name : c->row->name));
}

static bool fail_with(const call *c, pdl_buf *b) {
    pdl_err_host(c->err, "TypeError", "%s", pdl_buf_z(b));
    pdl_buf_fini(b);
    return false;
}

static size_t hidden(const call *c) { return c->row->style == PDL_NS_ENV ? 1 : 0; }

/* Returns 1 for the receiver of a method, which the counts of arguments leave out. Returns 0 for
 * other natives. */
static size_t receiver(const call *c) { return c->row->py_name ? 0 : 1; }

static void put_too_many(const call *c, pdl_buf *b) {
    size_t min = c->row->n_min + hidden(c), max = c->row->n_max + hidden(c),
           n = c->n_pos + hidden(c);
    put_name(c, true, b);
    if (min == max)
        pdl_buf_putf(b, "() takes %zu positional argument%s", max, PDL_PLURAL(max));
    else
        pdl_buf_putf(b, "() takes from %zu to %zu positional arguments", min, max);
    pdl_buf_putf(b, " but %zu %s given", n, n == 1 ? "was" : "were");
}

/* Appends the error for a wrong number of positional arguments, in Python's words for functions
 * written in C. */
static void put_count(const call *c, pdl_buf *b) {
    size_t min = c->row->n_min - receiver(c), max = c->row->n_max - receiver(c),
           n = c->n_pos - receiver(c);
    if (c->row->style == PDL_NS_NONE || (c->row->style == PDL_NS_ONE)) {
        put_name(c, true, b);
        pdl_buf_putf(b,
                     c->row->style == PDL_NS_NONE ? "() takes no arguments (%zu given)"
                                                  : "() takes exactly one argument (%zu given)",
                     n);
        return;
    }
    put_name(c, false, b);
    if (c->row->style == PDL_NS_NAMED) {
        pdl_buf_putf(b, "() takes no positional arguments");
        return;
    }
    size_t bound = n < min ? min : max;
    const char *how = min == max ? "" : n < min ? "at least " : "at most ";
    if (c->row->style == PDL_NS_POS) {
        pdl_buf_putf(b, " expected %s%zu argument%s, got %zu", how, bound, PDL_PLURAL(bound), n);
        return;
    }
    pdl_buf_putf(b, "() takes %s%zu argument%s (%zu given)", min == max ? "exactly " : how, bound,
                 PDL_PLURAL(bound), n);
}

static bool wrong_count(const call *c) {
    pdl_buf b = PDL_BUF;
    if (c->row->style <= PDL_NS_ENV)
        put_too_many(c, &b);
    else
        put_count(c, &b);
    return fail_with(c, &b);
}

static bool missing(const call *c, const pdl_val *argv) {
    if (c->row->style >= PDL_NS_NONE) return wrong_count(c);
    size_t n = 0, done = 0;
    for (size_t i = 0; i < c->row->n_min; i++) n += pdl_is_absent(argv[i]);
    pdl_buf b = PDL_BUF;
    put_name(c, true, &b);
    pdl_buf_putf(&b, "() missing %zu required positional argument%s: ", n, PDL_PLURAL(n));
    for (size_t i = 0; i < c->row->n_min; i++) {
        if (!pdl_is_absent(argv[i])) continue;
        if (done) pdl_buf_put(&b, pdl_str_of(n == 2 ? " and " : done + 1 == n ? ", and " : ", "));
        pdl_str name = param_at(c->row->params, i);
        pdl_buf_putf(&b, "'%.*s'", PDL_FMT(name));
        done++;
    }
    return fail_with(c, &b);
}

static bool wrong_keyword(const call *c, pdl_str name) {
    pdl_buf b = PDL_BUF;
    if (c->row->style >= PDL_NS_KW) {
        pdl_buf_putf(&b, "'%.*s' is an invalid keyword argument for ", PDL_FMT(name));
        put_name(c, false, &b);
        PDL_PUT(&b, "()");
    } else if (c->row->style >= PDL_NS_NONE) {
        put_name(c, c->row->style != PDL_NS_SUB, &b);
        PDL_PUT(&b, "() takes no keyword arguments");
    } else {
        put_name(c, true, &b);
        pdl_buf_putf(&b, "() got an unexpected keyword argument '%.*s'", PDL_FMT(name));
    }
    return fail_with(c, &b);
}

/* Fails because a keyword names the parameter `at`, which has a positional argument. */
static bool given_twice(const call *c, pdl_str name, size_t at) {
    pdl_buf b = PDL_BUF;
    if (c->row->style >= PDL_NS_KW) {
        PDL_PUT(&b, "argument for ");
        put_name(c, false, &b);
        pdl_buf_putf(&b, "() given by name ('%.*s') and position (%zu)", PDL_FMT(name),
                     at + 1 - receiver(c));
    } else {
        put_name(c, c->row->style <= PDL_NS_ENV, &b);
        pdl_buf_putf(&b, "() got multiple values for argument '%.*s'", PDL_FMT(name));
    }
    return fail_with(c, &b);
}

static size_t n_params(const pdl_native *row) { return row->n_max; }

static bool takes_no_keywords(const pdl_native *row) {
    return row->style >= PDL_NS_NONE && row->style <= PDL_NS_SUB && !(row->flags & PDL_N_KWARGS);
}

/* Returns the index of the parameter that a keyword names, or PDL_NOT_FOUND. A parameter with an
 * empty name is given only by its position. */
static size_t param_index(const pdl_native *row, pdl_str name) {
    if (takes_no_keywords(row) || !name.n) return PDL_NOT_FOUND;
    for (size_t i = 0; i < n_params(row); i++)
        if (pdl_str_eq(param_at(row->params, i), name)) return i;
    return PDL_NOT_FOUND;
}

/* Binds keywords to their places in argv, or to *extra. */
static bool bind_keywords(const call *c, pdl_val *argv, const pdl_call_args *args, pdl_val *extra) {
    for (size_t i = 0; i < args->n_kw; i++) {
        pdl_str name = args->kw_names[i];
        size_t at = param_index(c->row, name);
        if (at == PDL_NOT_FOUND) {
            if (!(c->row->flags & PDL_N_KWARGS)) return wrong_keyword(c, name);
            if (pdl_is_absent(*extra)) *extra = pdl_dict_new(args->n_kw);
            *extra = pdl_dict_puts(*extra, name, pdl_keep(args->kw[i]));
        } else if (!pdl_is_absent(argv[at])) {
            return given_twice(c, name, at);
        } else {
            argv[at] = args->kw[i]; /* borrowed, like all items of argv */
        }
    }
    return true;
}

static bool check_undefined(const pdl_native *row, const pdl_native_env *env, const pdl_val *v,
                            size_t n, pdl_err *err) {
    if ((row->flags & PDL_N_UNDEFINED) || env->lenient) return true;
    for (size_t i = 0; i < n; i++)
        if (pdl_is(v[i], PDL_V_UNDEFINED)) return pdl_undefined_error(v[i], err);
    return true;
}

/* Gives the result r of a native the labels of the arguments. Takes r. */
static pdl_val with_labels(const pdl_native *row, const pdl_val *argv, size_t argc, pdl_vref extra,
                           pdl_val r) {
    if (row->flags & PDL_N_LABELS) return r;
    pdl_label l = pdl_is_absent(extra) ? 0 : pdl_label_of(extra);
    for (size_t i = 0; i < argc; i++) l = pdl_label_combined(l, pdl_label_of(argv[i]));
    if (pdl_is_bool(r) && l) {
        l = pdl_label_of_truth(l);
        r = pdl_relabelled(r, pdl_label_of_truth(pdl_label_of(r)));
    }
    return pdl_with_label(r, l);
}

/* Binds arguments in the general case: more or fewer arguments than parameters, or arguments by
 * name. */
static bool bind_and_call(const pdl_native *row, const pdl_native_env *env,
                          const pdl_call_args *args, pdl_val *out, pdl_err *err) {
    const pdl_val *pos = args->pos;
    size_t n = n_params(row), n_pos = args->n_pos;
    call c = {row, pos, n_pos, err};
    if (args->n_kw > 0 && takes_no_keywords(row)) return wrong_keyword(&c, args->kw_names[0]);
    if (row->style == PDL_NS_NAMED ? n_pos > 1 : n_pos > n && !(row->flags & PDL_N_VARARGS))
        return wrong_count(&c);
    if (row->style == PDL_NS_KW && n_pos + args->n_kw > n) {
        c.n_pos += args->n_kw;
        return wrong_count(&c);
    }
    if (!check_undefined(row, env, pos, n_pos, err) ||
        !check_undefined(row, env, args->kw, args->n_kw, err))
        return false;

    pdl_val local[PDL_NATIVE_MAX_ARGS], *argv = local, extra = pdl_absent();
    size_t argc = n_pos > n ? n_pos : n;
    if (argc > PDL_NATIVE_MAX_ARGS) argv = PDL_NEW_N(pdl_val, argc);
    for (size_t i = 0; i < argc; i++) argv[i] = i < n_pos ? pos[i] : pdl_absent();
    bool ok = bind_keywords(&c, argv, args, &extra);
    for (size_t i = 0; ok && i < row->n_min; i++)
        if (pdl_is_absent(argv[i])) ok = missing(&c, argv);
    ok = ok && row->fn(env, argv, argc, extra, out, err);
    if (ok) *out = with_labels(row, argv, argc, extra, *out);
    pdl_drop(extra);
    if (argv != local) pdl_free(argv);
    return ok;
}

static bool takes_as_given(const pdl_native *row, size_t n) {
    if (row->style == PDL_NS_NAMED && n > 1) return false;
    return n == n_params(row) || (n > n_params(row) && (row->flags & PDL_N_VARARGS));
}

/* Returns ok, unless a walk over values inside of the native was cancelled. Then out is invalid:
 * drops out, sets the error and returns false. */
static inline bool with_result(bool ok, pdl_val out, pdl_err *err) {
    if (PDL_LIKELY(!pdl_is_walk_cancelled())) return ok;
    if (ok)
        pdl_drop(out);
    else
        pdl_err_fini(err);
    return pdl_check_walk(err);
}

static bool call_as_given(const pdl_native *row, const pdl_native_env *env, const pdl_val *pos,
                          size_t n, pdl_val *out, pdl_err *err) {
    if (!check_undefined(row, env, pos, n, err) || !row->fn(env, pos, n, pdl_absent(), out, err))
        return false;
    *out = with_labels(row, pos, n, pdl_absent(), *out);
    return true;
}

bool pdl_native_call(const pdl_native *row, const pdl_native_env *env, const pdl_call_args *args,
                     pdl_val *out, pdl_err *err) {
    assert(row->fn && env && (args->n_pos == 0 || args->pos));
    assert(args->n_kw == 0 || (args->kw_names && args->kw));
    /* a filter such as map calls other natives for many items */
    if (!pdl_check_cancel_often(err)) return false;
    bool ok = PDL_UNLIKELY(args->n_kw || !takes_as_given(row, args->n_pos))
                  ? bind_and_call(row, env, args, out, err)
                  : call_as_given(row, env, args->pos, args->n_pos, out, err);
    return with_result(ok, *out, err);
}

static pdl_native_writer *writer_of(const pdl_native *row) {
    static const struct {
        pdl_native_fn *fn;
        pdl_native_writer *write;
    } writers[] = {
        {pdl_f_capitalize, pdl_w_capitalize},
        {pdl_f_format, pdl_w_format},
        {pdl_f_lower, pdl_w_lower},
        {pdl_f_upper, pdl_w_upper},
    };
    for (size_t i = 0; i < PDL_N_COUNT(writers); i++)
        if (row->fn == writers[i].fn) return writers[i].write;
    return NULL;
}

pdl_native_writer *pdl_filter_writer(const pdl_native *row, size_t n) {
    return takes_as_given(row, n) ? writer_of(row) : NULL;
}

bool pdl_native_write(const pdl_native *row, pdl_native_writer *write, const pdl_native_env *env,
                      const pdl_call_args *args, pdl_buf *out, pdl_err *err) {
    assert(!args->n_kw);
    return pdl_check_cancel_often(err) && check_undefined(row, env, args->pos, args->n_pos, err) &&
           write(env, args->pos, args->n_pos, out, err);
}

/* --- bound methods and globals as values ------------------------------------------------------ */

typedef struct {
    pdl_ext ext;
    const pdl_native *row;
    pdl_val receiver;
} bound;

static const bound *bound_of(const pdl_obj *o) { return (const bound *)(const void *)o; }

static pdl_vref bound_child(const pdl_obj *o, size_t i) {
    return i == 0 ? bound_of(o)->receiver : pdl_absent();
}

static void bound_text(const pdl_obj *o, bool repr, pdl_buf *out) {
    (void)repr;
    const bound *b = bound_of(o);
    const char *py = b->row->py_name ? b->row->py_name : b->row->name;
    if (!pdl_is_absent(b->receiver)) {
        pdl_buf_putf(out, "<built-in method %s of %s object>", b->row->name,
                     pdl_type_name(b->receiver));
    } else if (pdl_str_is(pdl_str_of(b->row->name), "lipsum")) {
        pdl_buf_putf(out, "<function %s>", py);
    } else {
        pdl_buf_putf(out, "<class '%s'>", py);
    }
}

static const pdl_class bound_class = {"builtin_function_or_method", bound_child, NULL, bound_text};
static const pdl_class type_class = {"type", bound_child, NULL, bound_text};

pdl_val pdl_native_value(const pdl_native *row, pdl_val recv) {
    bound *b =
        pdl_ext_new(PDL_V_NATIVE, pdl_is_absent(recv) ? &type_class : &bound_class, sizeof *b);
    unsigned flags = pdl_is_absent(recv) ? 0 : pdl_flags_of(recv) & (PDL_F_PROMISE | PDL_F_HANDLE);
    pdl_label l = pdl_label_of(recv);
    b->row = row;
    b->receiver = recv;
    return pdl_with_label(pdl_from_obj(PDL_V_NATIVE, &b->ext.head, flags), l);
}

const pdl_native *pdl_native_row(pdl_vref v) { return bound_of(pdl_obj_of(v))->row; }

pdl_vref pdl_native_receiver(pdl_vref v) { return bound_of(pdl_obj_of(v))->receiver; }

/* --- arguments -------------------------------------------------------------------------------- */

bool pdl_undefined_error(pdl_vref undefined, pdl_err *err) {
    pdl_vref why = pdl_undefined_why(undefined);
    pdl_str s = pdl_is_str(why) ? pdl_str_get(why) : (pdl_str){"", 0};
    return pdl_err_host(err, "UndefinedError", "%.*s", PDL_FMT(s));
}

const char *pdl_py_type(pdl_vref v) {
    if (pdl_is(v, PDL_V_DATE)) return "datetime.date";
    if (pdl_is(v, PDL_V_DATETIME)) return "datetime.datetime";
    return pdl_type_name(v);
}

bool pdl_is_number(pdl_vref v) { return pdl_is_int(v) || pdl_is_bool(v) || pdl_is(v, PDL_V_FLOAT); }

bool pdl_arg_truth(const pdl_native_env *env, pdl_vref v, bool *out, pdl_err *err) {
    if (pdl_is(v, PDL_V_UNDEFINED) && !env->lenient) return pdl_undefined_error(v, err);
    *out = !pdl_is_absent(v) && pdl_val_truth(v);
    return true;
}

bool pdl_arg_text(const pdl_native_env *env, pdl_vref v, pdl_val *out, pdl_err *err) {
    if (pdl_is(v, PDL_V_UNDEFINED) && !env->lenient) return pdl_undefined_error(v, err);
    if (!pdl_is_str(v)) return pdl_val_str_val(v, out, err);
    *out = pdl_keep(v);
    return true;
}

bool pdl_arg_list(const pdl_native_env *env, pdl_vref v, pdl_val *out, pdl_err *err) {
    if (!pdl_is(v, PDL_V_UNDEFINED)) return pdl_val_to_list(v, out, err);
    if (!env->lenient) return pdl_undefined_error(v, err);
    *out = pdl_list_new(0);
    return true;
}

bool pdl_arg_c_int(pdl_vref v, int64_t *out, pdl_err *err) {
    return pdl_arg_int(v, out, err) &&
           ((*out >= INT32_MIN && *out <= INT32_MAX) ||
            pdl_err_host(err, "OverflowError", "Python int too large to convert to C int"));
}

bool pdl_arg_size(pdl_vref v, int64_t *out, pdl_err *err) {
    int64_t ignored;
    return pdl_arg_int(v, out, err) &&
           (pdl_is_absent(v) || pdl_is_bool(v) || pdl_int_get(v, &ignored) ||
            pdl_err_host(err, "OverflowError", "Python int too large to convert to C ssize_t"));
}

bool pdl_arg_reverse(pdl_vref v, bool *out, pdl_err *err) {
    int64_t n = 0;
    if (!pdl_arg_c_int(v, &n, err)) return false;
    *out = n != 0;
    return true;
}

bool pdl_arg_int(pdl_vref v, int64_t *out, pdl_err *err) {
    if (pdl_is_absent(v)) return true;
    if (!pdl_is_int(v) && !pdl_is_bool(v))
        return pdl_err_host(err, "TypeError", "'%s' object cannot be interpreted as an integer",
                            pdl_py_type(v));
    if (!pdl_int_get(v, out)) *out = pdl_int_sign(v) < 0 ? INT64_MIN : INT64_MAX;
    return true;
}
