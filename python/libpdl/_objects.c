/* _objects.c -- objects of Python as values of the library, by reference: what expressions do with
 * them is done here, and they come back as themselves.
 *
 * The library holds a pdlpy_bound of each. It calls with or without the interpreter lock.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "_pdl.h"

/* --- what is asked ------------------------------ */

/* Was it only that there is no such attribute or item? */
static bool is_missing(void) {
    bool missing = PyErr_ExceptionMatches(PyExc_AttributeError) ||
                   PyErr_ExceptionMatches(PyExc_TypeError) ||
                   PyErr_ExceptionMatches(PyExc_LookupError);
    if (missing) PyErr_Clear();
    return missing;
}

/* Takes found. */
static void answer_look_up(pdlpy_bound *b, pdl_request *r, PyObject *found) {
    if (!found && is_missing())
        pdl_request_answer(r, NULL);
    else
        pdlpy_answer(b, r, found);
}

static void attribute(void *object, const char *name, pdl_request *r) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    answer_look_up(b, r, PyObject_GetAttrString(b->object, name));
    pdlpy_callback_end(back);
}

static void item(void *object, const pdl_value *key, pdl_request *r) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    pdlpy_place place = {b->engine, 0};
    PyObject *k = pdlpy_to_python(&place, key);
    PyObject *found = k ? PyObject_GetItem(b->object, k) : NULL;
    Py_XDECREF(k);
    answer_look_up(b, r, found);
    pdlpy_callback_end(back);
}

/* Takes fn, which may be NULL. */
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

static void call(void *object, const pdl_value *args, const pdl_value *kwargs, pdl_request *r) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    Py_INCREF(b->object);
    call_with(b, b->object, args, kwargs, r);
    pdlpy_callback_end(back);
}

static void call_method(void *object, const char *name, const pdl_value *args,
                        const pdl_value *kwargs, pdl_request *r) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    call_with(b, PyObject_GetAttrString(b->object, name), args, kwargs, r);
    pdlpy_callback_end(back);
}

static void iterate(void *object, pdl_request *r) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    pdlpy_answer(b, r, PySequence_List(b->object));
    pdlpy_callback_end(back);
}

static void operate(void *object, const pdl_value *operation, pdl_request *r) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    pdlpy_place place = {b->engine, 0};
    PyObject *what = pdlpy_to_python(&place, operation);
    pdlpy_answer(b, r, what ? pdlpy_hook(b->engine->state, "operate", what) : NULL);
    pdlpy_callback_end(back);
}

/* --- what natives look at ------------------------------ */

/* The error of the exception that is set; Python remembers it as the cause. */
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

/* An answer without errors: the exception that is set is none, but Ctrl-C and the like end the run. */
static void forget_exception(pdlpy_bound *b) {
    if (!PyErr_Occurred()) return;
    if (PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    else
        pdl_error_free(error_of(b));
}

static bool length(void *object, size_t *out) {
    pdlpy_callback back = pdlpy_callback_begin();
    Py_ssize_t n = PyObject_Size(((pdlpy_bound *)object)->object);
    forget_exception(object);
    if (n >= 0) *out = (size_t)n;
    pdlpy_callback_end(back);
    return n >= 0;
}

static bool truth(void *object, bool *out, pdl_error **error) {
    pdlpy_callback back = pdlpy_callback_begin();
    int is_true = PyObject_IsTrue(((pdlpy_bound *)object)->object);
    if (is_true < 0) *error = error_of(object);
    *out = is_true > 0;
    pdlpy_callback_end(back);
    return is_true >= 0;
}

static pdl_value *text(void *object, bool repr, pdl_error **error) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_bound *b = object;
    PyObject *shown = repr ? PyObject_Repr(b->object) : PyObject_Str(b->object);
    PyObject *bytes = shown ? PyUnicode_AsEncodedString(shown, "utf-8", "replace") : NULL;
    pdl_value *v = NULL;
    if (bytes) v = pdl_value_text_n(PyBytes_AsString(bytes), (size_t)PyBytes_Size(bytes));
    if (!bytes) *error = error_of(b);
    Py_XDECREF(bytes);
    Py_XDECREF(shown);
    pdlpy_callback_end(back);
    return v;
}

static bool equal(void *a, void *b) {
    pdlpy_callback back = pdlpy_callback_begin();
    int same =
        PyObject_RichCompareBool(((pdlpy_bound *)a)->object, ((pdlpy_bound *)b)->object, Py_EQ);
    forget_exception(a);
    pdlpy_callback_end(back);
    return same > 0;
}

/* Called where the value is made, with the lock. */
static const char *type_name(void *object, unsigned *traits) {
    pdlpy_bound *b = object;
    PyTypeObject *type = Py_TYPE(b->object);
    if (PyCallable_Check(b->object)) *traits |= PDL_OBJECT_CALLABLE;
    if (PyType_GetSlot(type, Py_tp_iter)) *traits |= PDL_OBJECT_ITERABLE;
    if (PySequence_Check(b->object)) *traits |= PDL_OBJECT_SEQUENCE | PDL_OBJECT_ITERABLE;
    if (PyMapping_Check(b->object)) *traits |= PDL_OBJECT_MAPPING;
    if (PyNumber_Check(b->object)) *traits |= PDL_OBJECT_NUMBER;
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
    if (v) return v;
    Py_DECREF(b);
    PyErr_NoMemory();
    return NULL;
}

PyObject *pdlpy_object_of(const pdl_value *v) {
    pdlpy_bound *b = pdl_value_object_of(v, &ops);
    return b ? b->object : NULL;
}
