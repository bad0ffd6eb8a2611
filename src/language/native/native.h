/* native.h -- C functions that PDL programs call: filters, tests, globals, Python-style methods.
 *
 * A native is a row: name, function, parameters, one line of documentation. Arguments arrive bound
 * to the row's parameters: argv[i] is the i-th parameter or absent. Natives never wait and never
 * re-enter the machine, so that they can be plain C. Their arguments hold no unfilled promise,
 * because the machine resolves promises first. The exception is a row with PDL_N_RAW.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDL_NATIVE_NATIVE_H
#define PDL_NATIVE_NATIVE_H

#include "base/err.h"
#include "value/val.h"

/* The environment of a native, borrowed for the call. */
typedef struct pdl_native_env {
    bool autoescape;
    bool lenient; /* an undefined value prints as nothing, as in Jinja blocks */
    /* Returns a number uniform in [0, 1) from the run's generator. When it is NULL, natives that
     * need it fail. */
    double (*random)(void *user);
    /* Prints at once, outside of the result and the context. When it is NULL, natives that need it
     * fail. */
    void (*show)(void *user, pdl_str text, pdl_label label);
    /* Checks v against a type that is written as a value. Error: schema, when there is no such
     * type; type, when v does not fit. When the function is NULL, natives that need it fail. */
    bool (*check)(void *user, pdl_vref type, pdl_vref v, pdl_err *err);
    /* Takes v, which fits the type, and returns it with labels that say how few values the type
     * allows (pdl_type_bound). The function is NULL when check is NULL. */
    pdl_val (*bound)(void *user, pdl_vref type, pdl_val v);
    /* Returns a variable, borrowed; absent when the variable is undefined. When the function is
     * NULL, natives that need it fail. */
    pdl_vref (*variable)(void *user, pdl_str name);
    void *user;
} pdl_native_env;

/* The variable in which the function of a tool finds, as a dict, the arguments for which it has no
 * parameter (lang/tool_arguments.h). It is unbound when there are none. */
#define PDL_TOOL_OTHERS "pdl_other_arguments"

/* The function of a native. argv has the parameters in the order of the row. In rows with
 * PDL_N_VARARGS, further positional arguments follow in argv[n_max..argc). In rows with
 * PDL_N_KWARGS, kwargs is a dict of unknown keywords, or absent. The result is owned. */
typedef bool pdl_native_fn(const pdl_native_env *env, const pdl_val *argv, size_t argc,
                           pdl_vref kwargs, pdl_val *out, pdl_err *err);

enum {
    PDL_N_VARARGS = 1, /* the native accepts more positional arguments than parameters */
    PDL_N_KWARGS = 2,  /* the native accepts unknown keywords */
    PDL_N_RAW = 4,     /* the native takes promises without waiting for their values */
    /* The native accepts undefined values (default, defined, ...). Other natives fail before the
     * call. */
    PDL_N_UNDEFINED = 8,
    PDL_N_IMPURE = 16, /* the call is not computed at compile time (random, lipsum) */
    /* A method that changes its receiver: the result is a tuple (new receiver, value of the
     * call). */
    PDL_N_MUTATES = 32,
    /* The result is a tuple (kind of an effect, its request). The value of the call is the answer
     * of the effect. The request may hold promises: the native is called again when they are
     * filled.
     */
    PDL_N_EFFECT = 64,
    /* The native sets the labels of the result, so the labels of its arguments are not joined. */
    PDL_N_LABELS = 128,
};

/* Appends the text of a filter's result to out, without making a value. argv and argc are the same
 * as for pdl_native_fn. */
typedef bool pdl_native_writer(const pdl_native_env *env, const pdl_val *argv, size_t argc,
                               struct pdl_buf *out, pdl_err *err);

typedef struct pdl_native {
    const char *name;
    pdl_native_fn *fn;
    /* The names of the parameters, such as "value, d, attribute". The receiver or piped value is
     * first. */
    const char *params;
    /* the minimum number of arguments, including the first; the number of names in params is the
     * maximum */
    uint8_t n_min, n_max;
    uint8_t flags;
    const char *doc; /* one sentence for the page of builtins and for editors */
    /* The name of the Python function in messages ("do_round"). When it is NULL, the name is made
     * from the type ("str.upper"). */
    const char *py_name;
    uint8_t style; /* a pdl_native_style: the words of Python for wrong arguments */
    /* Types of the parameters in their order, and of the result: "iterable, any -> string". A type
     * is any, null, boolean, integer, float, number, string, list, tuple, object, range, undefined,
     * sized (has a length), iterable, or several of these with | between them. A parameter has a
     * type only if values of all other types fail; any other parameter has the type any. A result
     * may also be one of these: "item" is the type of the items of the first argument, "same" is
     * the type of the first argument, "[T]" is a list of T, and "arg1" and "arg2" are the types of
     * the arguments with these numbers, if they are given. The checker reads the types of calls
     * here.
     */
    const char *type;
} pdl_native;

typedef enum {
    PDL_NS_DEF,  /* "do_round() takes from 1 to 3 positional arguments but 4 were given" */
    PDL_NS_ENV,  /* like DEF, but the counts include a hidden leading argument */
    PDL_NS_NONE, /* "str.upper() takes no arguments (1 given)" */
    PDL_NS_ONE,  /* "list.append() takes exactly one argument (2 given)" */
    PDL_NS_POS,  /* "replace expected at least 2 arguments, got 1"; no keywords */
    PDL_NS_SUB,  /* "find() takes at least 1 argument (0 given)"; no keywords */
    PDL_NS_KW,   /* "split() takes at most 2 arguments (3 given)" */
    PDL_NS_NAMED /* "sort() takes no positional arguments" */
} pdl_native_style;

enum { PDL_NATIVE_MAX_ARGS = 16 };

/* These return a row, which is static, or NULL for an unknown name. */
const pdl_native *pdl_filter_find(pdl_str name);
const pdl_native *pdl_test_find(pdl_str name);
const pdl_native *
pdl_global_find(pdl_str name); /* range, dict, lipsum, cycler, joiner, namespace */
/* Returns a method of values of this kind, such as "upper" of a string. Returns NULL for an unknown
 * method. */
const pdl_native *pdl_method_find(pdl_vref receiver, pdl_str name);
/* returns true when x.name of an object x is always a method and never an item */
bool pdl_is_dict_method(pdl_str name);

/* These return tables for docs and completion. The rows are in order, and *n is their number. */
const pdl_native *pdl_filters(size_t *n);
const pdl_native *pdl_tests(size_t *n);
const pdl_native *pdl_globals(size_t *n);
/* A table of natives, for the page of builtins: filters, tests, globals, methods by type, natives
 * of stdlib. */
typedef struct pdl_native_table {
    const char *title;
    const pdl_native *rows;
    size_t n;
} pdl_native_table;
enum { PDL_NATIVE_TABLES = 13 };
/* Returns the i-th table, i < PDL_NATIVE_TABLES. */
pdl_native_table pdl_native_table_at(size_t i);
/* Returns the filter, test or method that a misspelt word means. A word for a filter may also come
 * from another language (native_advice.c). Returns an empty text for an unknown word. */
pdl_str pdl_filter_near(pdl_str name);
pdl_str pdl_test_near(pdl_str name);
pdl_str pdl_method_near(pdl_vref receiver, pdl_str name);
/* Append advice on what to write in place of a filter or a test that does not exist. Append nothing
 * when no advice is known. */
void pdl_filter_advise(pdl_str name, struct pdl_buf *out);
void pdl_test_advise(pdl_str name, struct pdl_buf *out);
/* Appends advice on what to write in place of an undefined name. `called` is set for `len(x)`, and
 * `dotted` for `math.pi`. A name that is used in neither way is usually a variable of the
 * program. */
void pdl_name_advise(pdl_str name, bool called, bool dotted, struct pdl_buf *out);
/* pdl_attribute_advice and pdl_fields_advise give advice on what to write in place of x.name, such
 * as `x.push`, where x has no such attribute. With called, the program calls x.name as a method.
 * pdl_failure_advice gives advice for the message of an operator or filter that failed. When no
 * advice is known, pdl_fields_advise appends nothing, and pdl_attribute_advice and
 * pdl_failure_advice return an empty text. */
pdl_str pdl_attribute_advice(pdl_str name);
/* Returns the next word in the text at *from or later that begins with the name and continues with
 * a dash, such as my-var for the name my, and moves *from to its end. Returns an empty text when
 * there is no such word. */
pdl_str pdl_dashed_name(pdl_str text, pdl_str name, size_t *from);
void pdl_fields_advise(pdl_vref x, pdl_str name, bool called, struct pdl_buf *out);
pdl_str pdl_failure_advice(pdl_str msg);
#define PDL_TEXT_NUMBER "x | int makes a number of a text, x | float one with a fraction"
/* Appends what to write in place of x.name, which is a method that was not called. With
 * hides_field, x is an object with a field of this name. */
void pdl_put_uncalled(pdl_str name, bool hides_field, struct pdl_buf *out);
void pdl_uncalled_advise(pdl_vref receiver, pdl_str name, struct pdl_buf *out);

/* The arguments of a call. All members are borrowed. */
typedef struct pdl_call_args {
    /* positional arguments; the first argument of a filter, test or method is the receiver */
    const pdl_val *pos;
    size_t n_pos;
    const pdl_str *kw_names; /* the names of the keyword arguments, or NULL */
    const pdl_val *kw;       /* their values */
    size_t n_kw;
    pdl_label of_names; /* labels of the keyword names that come from a dict (**d) */
} pdl_call_args;

/* Binds the arguments to the row's parameters and calls its function. Errors are in the words of
 * Python ("do_round() got an unexpected keyword argument 'x'", "upper() takes no arguments (1
 * given)", "... missing 1 required positional argument: 'y'"). */
PDL_MUST bool pdl_native_call(const pdl_native *row, const pdl_native_env *env,
                              const pdl_call_args *args, pdl_val *out, pdl_err *err);

/* Returns the writer for a filter that is called with n positional arguments, of which the piped
 * value is the first. Returns NULL when the call has no writer; pdl_native_call is then used. */
pdl_native_writer *pdl_filter_writer(const pdl_native *filter, size_t n);
/* Does the same as pdl_native_call for a filter that has a writer, outside of autoescape. The
 * arguments have no keywords. On an error, out may have a part of the text. */
PDL_MUST bool pdl_native_write(const pdl_native *row, pdl_native_writer *write,
                               const pdl_native_env *env, const pdl_call_args *args,
                               struct pdl_buf *out, pdl_err *err);

/* Returns a value that is a bound method or a global. It prints as in Python ("<built-in method
 * upper of str object>"), but without an address, and the machine can call it. Takes receiver,
 * which is absent for a global. */
pdl_val pdl_native_value(const pdl_native *row, pdl_val receiver);
const pdl_native *pdl_native_row(pdl_vref v); /* requires a v with the tag PDL_V_NATIVE */
pdl_vref pdl_native_receiver(pdl_vref v);     /* returns absent for a global */

/* --- attribute and item access (spec syntax 4.3) ---------------------------------------------- */

/* Returns x.name, which is the attribute or method, or else the item. When x has neither, returns
 * an undefined value with Python's explanation. */
PDL_MUST bool pdl_attr(pdl_vref x, pdl_str name, pdl_val *out, pdl_err *err);
/* Returns x[key], which is the item, or else the attribute when key is a string. Lists take ints;
 * pdl_slice makes slices. */
PDL_MUST bool pdl_item(pdl_vref x, pdl_vref key, pdl_val *out, pdl_err *err);
/* Returns an undefined value, whose explanation says that x has no item for key. */
pdl_val pdl_no_element(pdl_vref x, pdl_vref key);
/* Reads the argument `attribute` of a filter as paths of keys. "a.b" is [["a", "b"]]. With multi,
 * "a.0,b" is [["a", 0], ["b"]]. */
pdl_val pdl_attribute_paths(pdl_vref attribute, bool multi);
/* Returns x[from:to:step], whose bounds may be null or absent. x is a list, tuple, string, range,
 * context or bytes. */
PDL_MUST bool pdl_slice(pdl_vref x, pdl_vref from, pdl_vref to, pdl_vref step, pdl_val *out,
                        pdl_err *err);
/* Sets the error for the use of an undefined value: an UndefinedError with its explanation. Always
 * returns false. */
bool pdl_undefined_error(pdl_vref undefined, pdl_err *err);

/* Objects with tag PDL_V_CELL or PDL_V_RECORD answer look-ups of attributes through their class.
 * Every class of these objects is the first member of a pdl_attr_class. attr may be NULL. A call of
 * attr stores an owned value, or returns false for an unknown name. */
typedef struct pdl_attr_class {
    pdl_class base;
    bool (*attr)(pdl_vref self, pdl_str name, pdl_val *out);
} pdl_attr_class;

/* Appends Jinja's name of the type of x in messages: "dict object", "None", "datetime.date
 * object". */
void pdl_object_name(pdl_vref x, struct pdl_buf *out);

/* --- cells: objects of templates with state (namespace, cycler, joiner) ----------------------- */

bool pdl_is_namespace(pdl_vref v);
/* Sets a name of a namespace. Takes x. Refuses an x that contains a cell at any depth. */
PDL_MUST bool pdl_namespace_set(pdl_vref ns, pdl_str name, pdl_val x, pdl_err *err);
/* Adds labels to the state of a namespace, a cycler or a joiner, because a choice with these labels
 * changes the state. Does nothing for other values. */
void pdl_cell_choose(pdl_vref v, pdl_label label);
/* Calls a cell: joiner() returns text. Sets *handled to false when the cell cannot be called. */
PDL_MUST bool pdl_cell_call(pdl_vref cell, size_t n_pos, bool *handled, pdl_val *out, pdl_err *err);

/* --- formatting (percent_format.c) ------------------------------------------------------------ */

/* Computes format % args, as in '%s' % x. When lenient is set, undefined values print as empty
 * text. */
PDL_MUST bool pdl_format_percent(pdl_vref format, pdl_vref args, bool lenient, pdl_val *out,
                                 pdl_err *err);
/* Appends the text that pdl_format_percent makes from a tuple of these n arguments. */
PDL_MUST bool pdl_format_percent_put(pdl_vref format, const pdl_val *args, size_t n, bool lenient,
                                     struct pdl_buf *out, pdl_err *err);
PDL_MUST bool pdl_format_braces(pdl_str format, const pdl_val *pos, size_t n_pos, pdl_vref kwargs,
                                pdl_val *out, pdl_err *err);
/* Computes format(x, spec): the mini-language "{:>5}". */
PDL_MUST bool pdl_format_value(pdl_vref x, pdl_str spec, pdl_val *out, pdl_err *err);

/* Does the same as Markup.escape: safe text is unchanged, and the result is safe. */
PDL_MUST bool pdl_escape_html(pdl_vref x, pdl_val *out, pdl_err *err);

/* --- tools (tools.c) -------------------------------------------------------------------------- */

/* Returns the list of tools in the form that services accept. PDL functions become their
 * signatures. Records with a function in `run` or `tool_api` become {type: function, function:
 * ...}. An imported tool server becomes its tools. All other items are unchanged. */
PDL_MUST bool pdl_tools_declare(pdl_vref tools, pdl_val *out, pdl_err *err);

#endif
