/* natives.h -- declarations that natives share. Private to native.
 *
 * The room holds three libraries and the code that calls them:
 *
 *   native.c    rows, binding of arguments, calls, bound methods; but no native
 *   object/     the object model of values: attributes, items, methods of each type, str.format
 *               and %, and the operations on text that methods and filters share
 *   template/   the library of the template engine: filters, tests, globals, and cells, the objects
 *               with state that only templates make
 *   stdlib/     functions for lib/stdlib.pdl and the pattern library
 *
 * template/ and stdlib/ use object/; object/ uses from template/ only the escaping of HTML and the
 * reading of floats.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_NATIVE_NATIVES_H
#define PDL_NATIVE_NATIVES_H

#include "base/buf.h"
#include "base/cancel.h"
#include "base/limits.h"
#include "base/num.h"
#include "native/native.h"

#define PDL_N_UNUSED __attribute__((unused))

/* The parameters of a pdl_native_fn. Most natives use only some of them. */
#define PDL_ARGS                                                                                   \
    PDL_N_UNUSED const pdl_native_env *env, PDL_N_UNUSED const pdl_val *argv,                      \
        PDL_N_UNUSED size_t argc, PDL_N_UNUSED pdl_vref kwargs, PDL_N_UNUSED pdl_val *out,         \
        PDL_N_UNUSED pdl_err *err

/* Parameters of a pdl_native_writer. */
#define PDL_WRITES                                                                                 \
    PDL_N_UNUSED const pdl_native_env *env, PDL_N_UNUSED const pdl_val *argv,                      \
        PDL_N_UNUSED size_t argc, PDL_N_UNUSED pdl_buf *out, PDL_N_UNUSED pdl_err *err

#define PDL_N_COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A flag of values, in addition to the flags in val.h. The value is a tuple that groupby made, and
 * has the attributes `grouper` and `list`.
 */
enum { PDL_F_GROUP = 128 };

/* --- tables of the other files ---------------------------------------------------------------- */

typedef struct pdl_rows {
    const pdl_native *p;
    size_t n;
} pdl_rows;

/* These return tables, which are sorted by name. */
pdl_rows pdl_rows_str(void);
pdl_rows pdl_rows_list(void);
pdl_rows pdl_rows_tuple(void);
pdl_rows pdl_rows_range(void);
pdl_rows pdl_rows_context(void);
pdl_rows pdl_rows_dict(void);
pdl_rows pdl_rows_int(void);
pdl_rows pdl_rows_float(void);
pdl_rows pdl_rows_time(void);
pdl_rows pdl_rows_cell(pdl_vref cell); /* methods of a cycler */
pdl_rows pdl_rows_stdlib(void); /* functions for lib/stdlib.pdl; not listed among the globals */
const pdl_native *pdl_rows_find(pdl_rows t, pdl_str name);
/* Returns the name of the row that is nearest to the given name, or an empty text when no row is
 * near. */
pdl_str pdl_rows_near(pdl_rows t, pdl_str name);
pdl_rows pdl_rows_filters(void);

/* The functions of the rows of filters.c. They are in the files filters_*.c. */
pdl_native_fn pdl_f_abs, pdl_f_attr, pdl_f_default, pdl_f_filesizeformat, pdl_f_float, pdl_f_int,
    pdl_f_length, pdl_f_pprint, pdl_f_random, pdl_f_round, pdl_f_string, pdl_f_sum, pdl_f_tojson;
pdl_native_fn pdl_f_batch, pdl_f_dictsort, pdl_f_first, pdl_f_groupby, pdl_f_items, pdl_f_join,
    pdl_f_last, pdl_f_list, pdl_f_max, pdl_f_min, pdl_f_reverse, pdl_f_slice, pdl_f_sort,
    pdl_f_unique;
pdl_native_fn pdl_f_map, pdl_f_reject, pdl_f_rejectattr, pdl_f_select, pdl_f_selectattr;
pdl_native_fn pdl_f_capitalize, pdl_f_center, pdl_f_format, pdl_f_indent, pdl_f_lower,
    pdl_f_replace, pdl_f_title, pdl_f_trim, pdl_f_truncate, pdl_f_upper, pdl_f_wordcount,
    pdl_f_wordwrap;
pdl_native_fn pdl_f_json, pdl_f_pylist;
pdl_native_writer pdl_w_capitalize, pdl_w_format, pdl_w_lower, pdl_w_upper;
/* Functions of stdlib that are not in stdlib.c, and filters for HTML. */
pdl_native_fn pdl_g_calculate, pdl_g_fill, pdl_g_find_object, pdl_g_slots, pdl_g_tfidf;
pdl_native_fn pdl_g_http, pdl_g_http_next, pdl_g_http_request;
pdl_native_fn pdl_g_find_tool, pdl_g_tool_call, pdl_g_tool_error, pdl_g_tool_request,
    pdl_g_tool_result, pdl_g_tool_text;
pdl_native_fn pdl_f_escape, pdl_f_forceescape, pdl_f_safe, pdl_f_striptags, pdl_f_urlencode,
    pdl_f_urlize, pdl_f_xmlattr;
pdl_native_fn pdl_g_nearest;
/* Methods of text that are not in methods_str.c. */
pdl_native_fn pdl_m_join, pdl_m_lstrip, pdl_m_partition, pdl_m_rpartition, pdl_m_rsplit,
    pdl_m_rstrip, pdl_m_split, pdl_m_splitlines, pdl_m_strip;
pdl_native_fn pdl_m_isalnum, pdl_m_isalpha, pdl_m_isascii, pdl_m_isdecimal, pdl_m_isdigit,
    pdl_m_isidentifier, pdl_m_islower, pdl_m_isnumeric, pdl_m_isprintable, pdl_m_isspace,
    pdl_m_istitle, pdl_m_isupper;

/* Returns an attribute or method of x, never an item. Returns false when x has no such
 * attribute. */
bool pdl_own_attr(pdl_vref x, pdl_str name, pdl_val *out);
/* Returns "'list object' has no attribute 'foo'" as an undefined value. */
pdl_val pdl_no_attribute(pdl_vref x, pdl_str name);

/* --- arguments -------------------------------------------------------------------------------- */

/* Returns true when the argument is present and not null. */
static inline bool pdl_given(pdl_vref v) { return !pdl_is_absent(v) && !pdl_is_null(v); }

/* Reads an integer argument ("'str' object cannot be interpreted as an integer"). Big integers are
 * clamped. When the argument is absent, *out is unchanged. */
PDL_MUST bool pdl_arg_int(pdl_vref v, int64_t *out, pdl_err *err);
/* Do the same as pdl_arg_int, but fail with an OverflowError when the integer has more than 64 or
 * 32 bits, as Python does where its C code takes a Py_ssize_t or an int. */
PDL_MUST bool pdl_arg_size(pdl_vref v, int64_t *out, pdl_err *err);
PDL_MUST bool pdl_arg_c_int(pdl_vref v, int64_t *out, pdl_err *err);
/* Reads the argument `reverse` of a sort, which is an integer or a boolean. An absent argument is
 * false. */
PDL_MUST bool pdl_arg_reverse(pdl_vref v, bool *out, pdl_err *err);
/* Computes bool(v). An undefined value fails unless env is lenient. */
PDL_MUST bool pdl_arg_truth(const pdl_native_env *env, pdl_vref v, bool *out, pdl_err *err);
/* Returns str(v). A string, even a safe string, is returned unchanged. An undefined v gives the
 * empty text when env is lenient, and fails otherwise. */
PDL_MUST bool pdl_arg_text(const pdl_native_env *env, pdl_vref v, pdl_val *out, pdl_err *err);
/* Returns list(v). An undefined v gives the empty list when env is lenient, and fails otherwise. */
PDL_MUST bool pdl_arg_list(const pdl_native_env *env, pdl_vref v, pdl_val *out, pdl_err *err);

/* Returns the class name as Python's messages spell it: "datetime.date". */
const char *pdl_py_type(pdl_vref v);
bool pdl_is_number(pdl_vref v); /* bool, int, float */
static inline bool pdl_is_safe(pdl_vref v) {
    return pdl_is_str(v) && (pdl_flags_of(v) & PDL_F_SAFE) != 0;
}
static inline bool pdl_is_seq(pdl_vref v) { return pdl_is_list(v) || pdl_is(v, PDL_V_TUPLE); }

/* Makes a text of the content of b. The text is safe if `like` is a safe string. Ends b. Error:
 * limit. */
PDL_MUST bool pdl_text_like(pdl_buf *b, pdl_vref like, pdl_val *out, pdl_err *err);
/* Makes a string of s, which is a piece of the string `like`. The result is safe when `like` is
 * safe, and has its labels. */
pdl_val pdl_piece_like(pdl_str s, pdl_vref like);
bool pdl_is_ascii(pdl_vref s); /* each code point has one byte */

/* --- attributes of items (filters map, sort, groupby...) -------------------------------------- */

/* A parsed "address.city" or "age,name.0". It has one path for each part between commas. */
typedef struct pdl_getter {
    pdl_val paths;  /* the paths, each a list of keys; absent when the item itself is the result */
    bool multi;     /* the result is a list with a value for each path */
    bool fold;      /* a text is converted to lower case, for comparisons */
    pdl_vref deflt; /* borrowed; absent when there is no default */
    const pdl_native_env *env;
} pdl_getter;

void pdl_getter_init(pdl_getter *g, pdl_vref attribute, bool multi, bool fold);
void pdl_getter_fini(pdl_getter *g);
PDL_MUST bool pdl_getter_get(const pdl_getter *g, pdl_vref item, pdl_val *out, pdl_err *err);
/* Stores in *out the list of the results of pdl_getter_get for all items. */
PDL_MUST bool pdl_getter_all(const pdl_getter *g, pdl_vref items, pdl_val *out, pdl_err *err);

/* Orders the indices of a list by `keys`, a list of the same length. The order is stable. idx has
 * room for all indices. */
PDL_MUST bool pdl_sort_by(pdl_vref keys, bool reverse, uint32_t *idx, pdl_err *err);
/* Returns the list with its items in the order of keys. */
PDL_MUST bool pdl_sorted(pdl_vref list, pdl_vref keys, bool reverse, pdl_val *out, pdl_err *err);

/* Updates self with a dict or pairs, and then with keywords; each may be absent. Takes self. The
 * errors are the errors of dict(). */
PDL_MUST bool pdl_dict_update(const pdl_native_env *env, pdl_val self, pdl_vref more,
                              pdl_vref kwargs, pdl_val *out, pdl_err *err);

/* --- text ------------------------------------------------------------------------------------- */

void pdl_escape_put(pdl_str s, pdl_buf *out);
void pdl_unescape_put(pdl_str s, pdl_buf *out); /* Python's html.unescape */
/* Does the same as str.join, with Python's error for items that are not text. With safe, does the
 * same as Markup.join, which escapes items. */
PDL_MUST bool pdl_join_text(pdl_vref sep, pdl_vref items, bool safe, pdl_val *out, pdl_err *err);
PDL_MUST bool pdl_replace_text(pdl_str s, pdl_str old, pdl_str with, int64_t count, pdl_buf *out,
                               pdl_err *err);
pdl_str pdl_strip_text(pdl_str s, pdl_str chars, bool blanks, bool left, bool right);
/* Reads the lines of str.splitlines. Each call stores the next line: without its terminator in
 * *line, and with it in *whole. Returns false after the last line. */
bool pdl_next_line(pdl_str s, size_t *pos, pdl_str *line, pdl_str *whole);
/* Appends s with `left` fill characters before it and `right` fill characters after it. */
PDL_MUST bool pdl_pad_text(pdl_buf *out, pdl_str s, size_t left, size_t right, pdl_str fill,
                           pdl_err *err);
PDL_MUST bool pdl_too_long(pdl_err *err); /* sets the error for the limit of text */
/* Computes Python's float(v): numbers, text ("inf", "1_0.5"). Errors are Python's. */
PDL_MUST bool pdl_float_from(pdl_vref v, double *out, pdl_err *err);
/* Computes Python's round(v, digits). */
PDL_MUST bool pdl_round(pdl_vref v, bool has_digits, int64_t digits, pdl_val *out, pdl_err *err);

/* The arguments of str.format. Fields come from pos and from named (a dict, or absent). With
 * escape, unsafe values are escaped, as in Markup.format. */
typedef struct pdl_format_args {
    const pdl_val *pos;
    size_t n_pos;
    pdl_vref named;
    bool escape;
    bool lenient; /* undefined values print as empty text */
} pdl_format_args;
PDL_MUST bool pdl_braces(pdl_str format, const pdl_format_args *args, pdl_val *out, pdl_err *err);

/* Appends ascii(x). */
PDL_MUST bool pdl_ascii_repr(pdl_vref x, pdl_buf *out, pdl_err *err);

/* --- nearest_vectors.c ------------------------------------------------------------------------ */

/* An item of a list, and a score of how well it fits. */
typedef struct pdl_hit {
    double score;
    size_t index;
} pdl_hit;

/* Returns [{index, score}] of the k best of n hits, with the best first. Hits with equal scores
 * keep their order. Sorts hits. */
PDL_MUST bool pdl_hits_best(pdl_hit *hits, size_t n, int64_t k, pdl_val *out, pdl_err *err);

/* --- format_spec.c ---------------------------------------------------------------------------- */

/* Appends a double in one of the forms e E f F g G. A precision below 0 means the default. alt is
 * the flag '#'. */
void pdl_format_double(double v, char type, int precision, bool alt, pdl_buf *out);
/* Writes a short result with a fixed number of decimals to out. Returns its length. Returns 0 when
 * the result is not short, when type is not f or F, or when alt is set. */
size_t pdl_format_fixed(double v, char type, int precision, bool alt, char out[PDL_NUM_MAX]);

#endif
