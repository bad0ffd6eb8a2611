/* _objects.c -- passes objects of Python to the library by reference. When an expression uses such
 * an object, this file executes the operation. When a value goes back to Python, Python gets the
 * same object. The library has a pdlpy_bound for each object. The library may call the functions of
 * this file with or without the interpreter lock.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

/* --- what is asked ------------------------------ */

/* Returns true when the exception only means that there is no such attribute or item. Any other
 * exception, as from a property, is an error. */
static bool is_missing(bool is_item) {
    bool missing = PyErr_ExceptionMatches(PyExc_AttributeError) ||
                   (is_item && (PyErr_ExceptionMatches(PyExc_TypeError) ||
                                PyErr_ExceptionMatches(PyExc_LookupError)));
    if (missing) PyErr_Clear();
    return missing;
}

/* The arguments and the result of a callback. */
typedef struct asked {
    pdlpy_bound *bound, *other;
    const char *name;
    const pdl_value *a, *b;
    pdl_request *request;
    bool is_repr;
    bool ok;
    size_t n;
    pdl_value *text;
    pdl_error *error;
} asked;

static asked call_back(void (*body)(void *of), asked a) {
    pdlpy_call_back(a.bound->engine, body, &a);
    return a;
}

/* Answers a request for an attribute or an item. Takes found. */
static void answer_look_up(pdlpy_bound *b, pdl_request *r, PyObject *found, bool is_item) {
    if (!found && is_missing(is_item))
        pdl_request_answer(r, NULL);
    else
        pdlpy_answer(b, r, found);
}

static void get_attribute(void *of) {
    asked *a = of;
    PyObject *found = PyObject_GetAttrString(a->bound->object, a->name);
    answer_look_up(a->bound, a->request, found, false);
}

static void attribute(void *object, const char *name, pdl_request *r) {
    call_back(get_attribute, (asked){.bound = object, .name = name, .request = r});
}

static void get_item(void *of) {
    asked *a = of;
    pdlpy_place place = {a->bound->engine, 0};
    PyObject *k = pdlpy_to_python(&place, a->a);
    PyObject *found = k ? PyObject_GetItem(a->bound->object, k) : NULL;
    Py_XDECREF(k);
    answer_look_up(a->bound, a->request, found, true);
}

static void item(void *object, const pdl_value *key, pdl_request *r) {
    call_back(get_item, (asked){.bound = object, .a = key, .request = r});
}

/* Calls fn (may be NULL). Takes fn. */
static void call_with(pdlpy_bound *b, PyObject *fn, const pdl_value *args, const pdl_value *kwargs,
                      pdl_request *r) {
    pdlpy_place place = {b->engine, 0};
    PyObject *list = fn ? pdlpy_to_python(&place, args) : NULL;
    PyObject *tuple = list ? PyList_AsTuple(list) : NULL;
    PyObject *named = tuple && pdl_value_len(kwargs) ? pdlpy_to_python(&place, kwargs) : NULL;
    PyObject *result = tuple && !PyErr_Occurred() ? PyObject_Call(fn, tuple, named) : NULL;
    Py_XDECREF(fn);
    Py_XDECREF(list);
    Py_XDECREF(tuple);
    Py_XDECREF(named);
    pdlpy_answer(b, r, result);
}

static void call_object(void *of) {
    asked *a = of;
    Py_INCREF(a->bound->object);
    call_with(a->bound, a->bound->object, a->a, a->b, a->request);
}

static void call(void *object, const pdl_value *args, const pdl_value *kwargs, pdl_request *r) {
    call_back(call_object, (asked){.bound = object, .a = args, .b = kwargs, .request = r});
}

static void call_named(void *of) {
    asked *a = of;
    PyObject *method = PyObject_GetAttrString(a->bound->object, a->name);
    call_with(a->bound, method, a->a, a->b, a->request);
}

static void call_method(void *object, const char *name, const pdl_value *args,
                        const pdl_value *kwargs, pdl_request *r) {
    asked a = {.bound = object, .name = name, .a = args, .b = kwargs, .request = r};
    call_back(call_named, a);
}

static void list_items(void *of) {
    asked *a = of;
    pdlpy_answer(a->bound, a->request, PySequence_List(a->bound->object));
}

static void iterate(void *object, pdl_request *r) {
    call_back(list_items, (asked){.bound = object, .request = r});
}

static void operate_on(void *of) {
    asked *a = of;
    pdlpy_place place = {a->bound->engine, 0};
    PyObject *what = pdlpy_to_python(&place, a->a);
    PyObject *result = what ? pdlpy_hook(a->bound->engine->state, "operate", what) : NULL;
    pdlpy_answer(a->bound, a->request, result);
}

static void operate(void *object, const pdl_value *operation, pdl_request *r) {
    call_back(operate_on, (asked){.bound = object, .a = operation, .request = r});
}

/* --- what natives read --------------------------------- */

/* Makes an error from the exception that is set. The Python side remembers the exception as the
 * cause of the error. */
static pdl_error *error_of(pdlpy_bound *b) {
    PyObject *raised = pdlpy_caught();
    PyObject *text =
        raised ? PyObject_CallFunctionObjArgs(b->engine->owner, Py_None, raised, NULL) : NULL;
    bool is_text = text && PyUnicode_Check(text);
    const char *message = is_text ? PyUnicode_AsUTF8AndSize(text, NULL) : NULL;
    pdl_error *error = pdl_error_new("code", message);
    PyErr_Clear();
    Py_XDECREF(raised);
    Py_XDECREF(text);
    return error;
}

/* Drops the exception that is set, because the answer of this callback cannot be an error. But
 * Ctrl-C and similar exceptions end the run. */
static void forget_exception(pdlpy_bound *b) {
    if (!PyErr_Occurred()) return;
    if (PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    else
        pdl_error_free(error_of(b));
}

static void measure(void *of) {
    asked *a = of;
    Py_ssize_t n = PyObject_Size(a->bound->object);
    forget_exception(a->bound);
    a->ok = n >= 0;
    if (a->ok) a->n = (size_t)n;
}

static bool length(void *object, size_t *out) {
    asked a = call_back(measure, (asked){.bound = object});
    if (a.ok) *out = a.n;
    return a.ok;
}

static void test_truth(void *of) {
    asked *a = of;
    int is_true = PyObject_IsTrue(a->bound->object);
    if (is_true < 0) a->error = error_of(a->bound);
    a->ok = is_true > 0;
}

static bool truth(void *object, bool *out, pdl_error **error) {
    asked a = call_back(test_truth, (asked){.bound = object});
    *out = a.ok;
    if (a.error) *error = a.error;
    return !a.error;
}

static void write_text(void *of) {
    asked *a = of;
    PyObject *object = a->bound->object;
    PyObject *shown = a->is_repr ? PyObject_Repr(object) : PyObject_Str(object);
    PyObject *bytes = shown ? PyUnicode_AsEncodedString(shown, "utf-8", "replace") : NULL;
    if (bytes)
        a->text = pdl_value_text_n(PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    else
        a->error = error_of(a->bound);
    Py_XDECREF(bytes);
    Py_XDECREF(shown);
}

static pdl_value *text(void *object, bool repr, pdl_error **error) {
    asked a = call_back(write_text, (asked){.bound = object, .is_repr = repr});
    if (a.error) *error = a.error;
    return a.text;
}

static void compare(void *of) {
    asked *a = of;
    a->ok = PyObject_RichCompareBool(a->bound->object, a->other->object, Py_EQ) > 0;
    forget_exception(a->bound);
}

static bool equal(void *a, void *b) {
    return call_back(compare, (asked){.bound = a, .other = b}).ok;
}

/* Returns true for a type with a length and with items. */
static bool has_items(PyTypeObject *type) {
    return (PyType_GetSlot(type, Py_mp_subscript) || PyType_GetSlot(type, Py_sq_item)) &&
           (PyType_GetSlot(type, Py_mp_length) || PyType_GetSlot(type, Py_sq_length));
}

/* Returns the traits that the abstract classes of Python decide: a sequence with slices and a
 * UUID, which int() takes, have the methods of a mapping and of a number without being one. */
static unsigned abstract_traits(const pdlpy_bound *b) {
    Py_INCREF(b->object);
    PyObject *is = pdlpy_hook(b->engine->state, "abstract", b->object);
    unsigned traits = 0;
    if (is && PyTuple_GetItem(is, 0) == Py_True) traits |= PDL_OBJECT_MAPPING;
    if (is && PyTuple_GetItem(is, 1) == Py_True) traits |= PDL_OBJECT_NUMBER;
    Py_XDECREF(is);
    PyErr_Clear();
    return traits;
}

/* Called when the value is made; the interpreter lock is held. */
static const char *type_name(void *object, unsigned *traits) {
    pdlpy_bound *b = object;
    PyTypeObject *type = Py_TYPE(b->object);
    if (PyCallable_Check(b->object)) *traits |= PDL_OBJECT_CALLABLE;
    if (PyType_GetSlot(type, Py_tp_iter)) *traits |= PDL_OBJECT_ITERABLE;
    if (PySequence_Check(b->object)) *traits |= PDL_OBJECT_ITERABLE;
    if (has_items(type)) *traits |= PDL_OBJECT_SEQUENCE;
    if (PyMapping_Check(b->object) || PyNumber_Check(b->object)) *traits |= abstract_traits(b);
    b->type_name = PyObject_GetAttrString((PyObject *)type, "__name__");
    const char *name = b->type_name ? PyUnicode_AsUTF8AndSize(b->type_name, NULL) : NULL;
    PyErr_Clear();
    return name && *name ? name : "object";
}

static void release(void *object) {
    pdlpy_callback back = pdlpy_callback_begin();
    Py_DECREF((PyObject *)object);
    pdlpy_callback_end(back);
}

static const pdl_object_ops ops = {
    .size = sizeof ops,
    .type_name = type_name,
    .attribute = attribute,
    .item = item,
    .call = call,
    .call_method = call_method,
    .iterate = iterate,
    .operate = operate,
    .length = length,
    .truth = truth,
    .text = text,
    .equal = equal,
    .release = release,
};

/* --- both ways ------------------------------ */

pdl_value *pdlpy_object_in(pdlpy_place *place, PyObject *object) {
    pdlpy_bound *b = pdlpy_bound_new(place->engine, object);
    pdl_value *v = b ? pdl_value_object(b, &ops) : NULL;
    if (!b) return NULL;
    Py_CLEAR(b->type_name);
    if (v) {
        b->is_value = true;
        place->engine->n_objects++;
        return v;
    }
    Py_DECREF(b);
    PyErr_NoMemory();
    return NULL;
}

PyObject *pdlpy_object_of(const pdl_value *v) {
    pdlpy_bound *b = pdl_value_object_of(v, &ops);
    return b ? b->object : NULL;
}
