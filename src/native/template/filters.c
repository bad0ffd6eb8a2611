/* filters.c -- the table of filters (spec language-syntax 4.5), sorted by name. Functions are in
 * filters_*.c.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "native/natives.h"

#include "base/banned.h"

enum { UNDEF = PDL_N_UNDEFINED, VAR = PDL_N_VARARGS, KW = PDL_N_KWARGS, IMPURE = PDL_N_IMPURE };

static const pdl_native filters[] = {
    /* name, function, parameters, arguments, flags, documentation, host's name, style */
    {"abs", pdl_f_abs, "x", 1, 1, 0, "The absolute value of a number.", "abs", PDL_NS_ONE},
    {"attr", pdl_f_attr, "obj, name", 2, 2, 0, "An attribute or method, never an item.", "do_attr",
     PDL_NS_ENV},
    {"batch", pdl_f_batch, "value, linecount, fill_with", 2, 3, 0,
     "Lists of linecount items each, the last one filled up.", "do_batch", PDL_NS_DEF},
    {"capitalize", pdl_f_capitalize, "s", 1, 1, 0,
     "First letter in upper case, the others in lower case.", "do_capitalize", PDL_NS_DEF},
    {"center", pdl_f_center, "value, width", 1, 2, 0, "The text in the middle of a field.",
     "do_center", PDL_NS_DEF},
    {"count", pdl_f_length, "obj", 1, 1, 0, "Number of items.", "len", PDL_NS_ONE},
    {"d", pdl_f_default, "value, default_value, boolean", 1, 3, UNDEF,
     "The value, or another one when it is undefined.", "do_default", PDL_NS_DEF},
    {"default", pdl_f_default, "value, default_value, boolean", 1, 3, UNDEF,
     "The value, or another one when it is undefined.", "do_default", PDL_NS_DEF},
    {"dictsort", pdl_f_dictsort, "value, case_sensitive, by, reverse", 1, 4, 0,
     "Pairs of an object in order of key or value.", "do_dictsort", PDL_NS_DEF},
    {"e", pdl_f_escape, "s", 1, 1, 0, "The text with & < > ' \" written as HTML entities.",
     "escape", PDL_NS_ONE},
    {"escape", pdl_f_escape, "s", 1, 1, 0, "The text with & < > ' \" written as HTML entities.",
     "escape", PDL_NS_ONE},
    {"filesizeformat", pdl_f_filesizeformat, "value, binary", 1, 2, 0,
     "A number of bytes for people: 13 kB, 4.1 MB.", "do_filesizeformat", PDL_NS_DEF},
    {"first", pdl_f_first, "seq", 1, 1, 0, "The first item; undefined when there is none.",
     "sync_do_first", PDL_NS_ENV},
    {"float", pdl_f_float, "value, default", 1, 2, 0, "The value as a float, or the default.",
     "do_float", PDL_NS_DEF},
    {"forceescape", pdl_f_forceescape, "value", 1, 1, 0,
     "As escape, also for text that is marked safe.", "do_forceescape", PDL_NS_DEF},
    {"format", pdl_f_format, "value", 1, 1, VAR | KW,
     "The text as a printf format of the arguments.", "do_format", PDL_NS_DEF},
    {"groupby", pdl_f_groupby, "value, attribute, default, case_sensitive", 2, 4, 0,
     "Pairs of a value of the attribute and the list of items that have it.", "sync_do_groupby",
     PDL_NS_ENV},
    {"indent", pdl_f_indent, "s, width, first, blank", 1, 4, 0, "Lines after the first indented.",
     "do_indent", PDL_NS_DEF},
    {"int", pdl_f_int, "value, default, base", 1, 3, 0, "The value as an integer, or the default.",
     "do_int", PDL_NS_DEF},
    {"items", pdl_f_items, "value", 1, 1, UNDEF, "Pairs of key and value of an object.", "do_items",
     PDL_NS_DEF},
    {"join", pdl_f_join, "value, d, attribute", 1, 3, 0, "The items as one text, with a separator.",
     "sync_do_join", PDL_NS_ENV},
    {"json", pdl_f_json, "value, ascii", 1, 2, 0,
     "JSON text as models see it: keys in their order, non-ASCII as it is unless `ascii`, no HTML "
     "escapes.",
     "do_json", PDL_NS_DEF},
    {"last", pdl_f_last, "seq", 1, 1, 0, "The last item; undefined when there is none.", "do_last",
     PDL_NS_ENV},
    {"length", pdl_f_length, "obj", 1, 1, 0, "Number of items.", "len", PDL_NS_ONE},
    {"list", pdl_f_list, "value", 1, 1, 0,
     "The items as a list; the characters of a text, the keys of an object.", "sync_do_list",
     PDL_NS_DEF},
    {"lower", pdl_f_lower, "s", 1, 1, 0, "The text in lower case.", "do_lower", PDL_NS_DEF},
    {"map", pdl_f_map, "value", 1, 1, VAR | KW,
     "The results of a filter, or an attribute, of each item.", "sync_do_map", PDL_NS_ENV},
    {"max", pdl_f_max, "value, case_sensitive, attribute", 1, 3, 0, "The largest item.", "do_max",
     PDL_NS_ENV},
    {"min", pdl_f_min, "value, case_sensitive, attribute", 1, 3, 0, "The smallest item.", "do_min",
     PDL_NS_ENV},
    {"pprint", pdl_f_pprint, "value", 1, 1, UNDEF, "The value printed over lines, for people.",
     "do_pprint", PDL_NS_DEF},
    {"pylist", pdl_f_pylist, "value", 1, 1, 0, "A list of texts in Python's form: ['a', 'b'].",
     "do_pylist", PDL_NS_DEF},
    {"random", pdl_f_random, "seq", 1, 1, IMPURE, "One of the items.", "do_random", PDL_NS_ENV},
    {"reject", pdl_f_reject, "value", 1, 1, VAR | KW, "The items that fail a test.",
     "sync_do_reject", PDL_NS_ENV},
    {"rejectattr", pdl_f_rejectattr, "value", 1, 1, VAR | KW,
     "The items whose attribute fails a test.", "sync_do_rejectattr", PDL_NS_ENV},
    {"replace", pdl_f_replace, "s, old, new, count", 3, 4, 0,
     "The text with one part replaced by another.", "do_replace", PDL_NS_ENV},
    {"reverse", pdl_f_reverse, "value", 1, 1, 0, "The text or the items backwards.", "do_reverse",
     PDL_NS_DEF},
    {"round", pdl_f_round, "value, precision, method", 1, 3, 0,
     "The number rounded: common, ceil or floor.", "do_round", PDL_NS_DEF},
    {"safe", pdl_f_safe, "value", 1, 1, 0, "The text marked as safe for HTML.", "do_mark_safe",
     PDL_NS_DEF},
    {"select", pdl_f_select, "value", 1, 1, VAR | KW, "The items that pass a test.",
     "sync_do_select", PDL_NS_ENV},
    {"selectattr", pdl_f_selectattr, "value", 1, 1, VAR | KW,
     "The items whose attribute passes a test.", "sync_do_selectattr", PDL_NS_ENV},
    {"slice", pdl_f_slice, "value, slices, fill_with", 2, 3, 0,
     "The items dealt to a number of lists.", "sync_do_slice", PDL_NS_DEF},
    {"sort", pdl_f_sort, "value, reverse, case_sensitive, attribute", 1, 4, 0,
     "The items in order.", "do_sort", PDL_NS_ENV},
    {"string", pdl_f_string, "s", 1, 1, 0, "The value as text.", "soft_str", PDL_NS_DEF},
    {"striptags", pdl_f_striptags, "value", 1, 1, 0, "The text without SGML tags, blanks squeezed.",
     "do_striptags", PDL_NS_DEF},
    {"sum", pdl_f_sum, "iterable, attribute, start", 1, 3, 0, "The sum of the items.",
     "sync_do_sum", PDL_NS_ENV},
    {"title", pdl_f_title, "s", 1, 1, 0, "Each word with its first letter in upper case.",
     "do_title", PDL_NS_DEF},
    {"tojson", pdl_f_tojson, "value, indent", 1, 2, UNDEF,
     "JSON text with sorted keys, safe inside HTML.", "do_tojson", PDL_NS_ENV},
    {"trim", pdl_f_trim, "value, chars", 1, 2, 0,
     "The text without blanks, or given characters, at its ends.", "do_trim", PDL_NS_DEF},
    {"truncate", pdl_f_truncate, "s, length, killwords, end, leeway", 1, 5, 0,
     "The text cut to a length.", "do_truncate", PDL_NS_ENV},
    {"unique", pdl_f_unique, "value, case_sensitive, attribute", 1, 3, 0,
     "The items without repetitions.", "sync_do_unique", PDL_NS_ENV},
    {"upper", pdl_f_upper, "s", 1, 1, 0, "The text in upper case.", "do_upper", PDL_NS_DEF},
    {"urlencode", pdl_f_urlencode, "value", 1, 1, 0, "Percent-encoding; an object becomes a query.",
     "do_urlencode", PDL_NS_DEF},
    {"urlize", pdl_f_urlize, "value, trim_url_limit, nofollow, target, rel, extra_schemes", 1, 6, 0,
     "Addresses in the text as HTML links.", "do_urlize", PDL_NS_ENV},
    {"wordcount", pdl_f_wordcount, "s", 1, 1, 0, "Number of words.", "do_wordcount", PDL_NS_DEF},
    {"wordwrap", pdl_f_wordwrap, "s, width, break_long_words, wrapstring, break_on_hyphens", 1, 5,
     0, "The text in lines of a width.", "do_wordwrap", PDL_NS_ENV},
    {"xmlattr", pdl_f_xmlattr, "d, autospace", 1, 2, 0, "An object as attributes of an HTML tag.",
     "do_xmlattr", PDL_NS_ENV},
};

static pdl_rows rows(void) { return (pdl_rows){filters, PDL_N_COUNT(filters)}; }

const pdl_native *pdl_filter_find(pdl_str name) { return pdl_rows_find(rows(), name); }

const pdl_native *pdl_filters(size_t *n) {
    *n = PDL_N_COUNT(filters);
    return filters;
}

pdl_str pdl_filter_near(pdl_str name) { return pdl_rows_near(rows(), name); }
