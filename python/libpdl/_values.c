/* _values.c -- values of Python and of the library, both ways.
 *
 * None, bool, int, float, str, list, tuple, dict with text keys, and functions go over here; what
 * else there is (dataclasses, paths, dates, NumPy) is first made one of these by _hooks.plain.
 *
 * SPDX-License-Identifier: Apache-2.0 */
#include "_pdl.h"

#include <string.h>

enum { MAX_DEPTH = 900 }; /* cyclic values end here, and so does the stack */

/* --- to the library ------------------------------ */

static pdl_value *text_in(pdlpy_state *s, PyObject *object) {
    Py_ssize_t n = 0;
    const char *p = PyUnicode_AsUTF8AndSize(object, &n);
    pdl_value *v = p ? pdl_value_text_n(p, (size_t)n) : NULL;
    if (v) return v;
    if (!p && !PyErr_ExceptionMatches(PyExc_UnicodeError)) return NULL;
    PyErr_Clear();
    pdlpy_fail(s, "usage", p ? "a text is longer than 2 GiB" : "a text holds a lone surrogate");
    return NULL;
}

static pdl_value *json_in(pdlpy_engine *e, PyObject *digits) {
    pdl_error *error = NULL;
    Py_ssize_t n = 0;
    const char *p = digits ? PyUnicode_AsUTF8AndSize(digits, &n) : NULL;
    pdl_value *v = p ? pdl_value_from_json(p, (size_t)n, &error) : NULL;
    if (p && !v) pdlpy_raise(e, error);
    Py_XDECREF(digits);
    return v;
}

static pdl_value *int_in(pdlpy_engine *e, PyObject *object) {
    int overflow = 0;
    long long i = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) return i == -1 && PyErr_Occurred() ? NULL : pdl_value_int(i);
    Py_INCREF(object);
    return json_in(e, pdlpy_hook(e->state, "digits", object));
}

static bool deeper(pdlpy_place *place) {
    if (place->depth < MAX_DEPTH) {
        place->depth++;
        return true;
    }
    pdlpy_fail(place->engine->state, "limit", "a value is nested too deeply, or holds itself");
    return false;
}

/* Takes item's handle; whether it could be added. */
static bool push(pdlpy_place *place, pdl_value *list, PyObject *item) {
    Py_INCREF(item); /* hooks may run Python code that changes the container */
    pdl_value *v = pdlpy_to_library(place, item);
    Py_DECREF(item);
    if (v) pdl_value_push(list, v);
    pdl_value_drop(v);
    return v != NULL;
}

static pdl_value *list_in(pdlpy_place *place, PyObject *object) {
    bool is_list = PyList_Check(object);
    pdl_value *list = pdl_value_list();
    bool ok = true;
    for (Py_ssize_t i = 0; ok; i++) {
        if (i >= (is_list ? PyList_Size(object) : PyTuple_Size(object))) break;
        ok = push(place, list, is_list ? PyList_GetItem(object, i) : PyTuple_GetItem(object, i));
    }
    if (ok) return list;
    pdl_value_drop(list);
    return NULL;
}

static const char *key_in(pdlpy_state *s, PyObject *key) {
    Py_ssize_t n = 0;
    if (!PyUnicode_Check(key)) {
        PyErr_Format(PyExc_NotImplementedError,
                     "keys of dicts that are no text cannot be given to a program yet: %R", key);
        return NULL;
    }
    const char *p = PyUnicode_AsUTF8AndSize(key, &n);
    if (p && strlen(p) == (size_t)n) return p;
    if (!p && !PyErr_ExceptionMatches(PyExc_UnicodeError)) return NULL;
    PyErr_Clear();
    pdlpy_fail(s, "usage", "a key holds a NUL or a lone surrogate");
    return NULL;
}

static bool put(pdlpy_place *place, pdl_value *dict, PyObject *key, PyObject *item) {
    const char *name = key_in(place->engine->state, key);
    pdl_value *v = name ? pdlpy_to_library(place, item) : NULL;
    if (v) pdl_value_put(dict, name, v);
    pdl_value_drop(v);
    return v != NULL;
}

static pdl_value *dict_in(pdlpy_place *place, PyObject *object) {
    pdl_value *dict = pdl_value_dict();
    PyObject *key, *item;
    Py_ssize_t at = 0;
    bool ok = true;
    while (ok && PyDict_Next(object, &at, &key, &item)) {
        Py_INCREF(key);
        Py_INCREF(item);
        ok = put(place, dict, key, item);
        Py_DECREF(key);
        Py_DECREF(item);
    }
    if (ok) return dict;
    pdl_value_drop(dict);
    return NULL;
}

static pdl_value *function_in(pdlpy_place *place, PyObject *fn) {
    PyObject *name = PyObject_GetAttrString(fn, "__name__");
    if (!name) PyErr_Clear();
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
    PyErr_Clear();
    PyObject *bound = pdlpy_bound_new(place->engine, fn, place->held, true);
    pdl_value *v = NULL;
    if (bound && PyList_Append(place->held, bound) == 0) /* the library holds it no longer */
        v = pdl_value_function(text ? text : "function", pdlpy_called, bound);
    Py_XDECREF(bound);
    Py_XDECREF(name);
    return v;
}

static pdl_value *handle_in(pdlpy_place *place, PyObject *object) {
    pdlpy_handle *h = (pdlpy_handle *)object;
    if (h->engine != place->engine) {
        pdlpy_fail(place->engine->state, "usage", "a function or object of another engine");
        return NULL;
    }
    if (PyList_Append(place->held, object) < 0) return NULL; /* and what it may call */
    return pdl_value_keep(h->value);
}

/* What _hooks.plain makes of the object. */
static pdl_value *other_in(pdlpy_place *place, PyObject *object) {
    Py_INCREF(object);
    PyObject *plain = pdlpy_hook(place->engine->state, "plain", object);
    pdl_value *v = NULL;
    if (plain && plain == object)
        v = function_in(place, object);
    else if (plain)
        v = pdlpy_to_library(place, plain);
    Py_XDECREF(plain);
    return v;
}

pdl_value *pdlpy_to_library(pdlpy_place *place, PyObject *object) {
    if (object == Py_None) return pdl_value_null();
    if (PyBool_Check(object)) return pdl_value_bool(object == Py_True);
    if (PyLong_Check(object)) return int_in(place->engine, object);
    if (PyFloat_Check(object)) return pdl_value_float(PyFloat_AsDouble(object));
    if (PyUnicode_Check(object)) return text_in(place->engine->state, object);
    if (!deeper(place)) return NULL;
    pdl_value *v;
    if (PyList_Check(object) || PyTuple_Check(object))
        v = list_in(place, object);
    else if (PyDict_Check(object))
        v = dict_in(place, object);
    else if ((PyObject *)Py_TYPE(object) == place->engine->state->handle_type)
        v = handle_in(place, object);
    else
        v = other_in(place, object);
    place->depth--;
    return v;
}

/* --- to Python ------------------------------ */

static PyObject *int_out(pdlpy_engine *e, const pdl_value *v) {
    int64_t i;
    if (pdl_value_get_int(v, &i)) return PyLong_FromLongLong(i);
    pdl_error *error = NULL;
    pdl_value *text = pdl_value_to_json(v, 0, &error);
    if (!text) return pdlpy_raise(e, error);
    PyObject *digits = PyUnicode_FromString(pdl_value_get_text(text, NULL));
    pdl_value_drop(text);
    return pdlpy_hook(e->state, "number", digits);
}

static PyObject *text_out(const pdl_value *v) {
    size_t n = 0;
    const char *p = pdl_value_get_text(v, &n);
    return PyUnicode_DecodeUTF8(p ? p : "", p ? (Py_ssize_t)n : 0, "replace");
}

static PyObject *list_out(pdlpy_place *place, const pdl_value *v) {
    size_t n = pdl_value_len(v);
    PyObject *list = PyList_New((Py_ssize_t)n);
    for (size_t i = 0; list && i < n; i++) {
        pdl_value *item = pdl_value_at(v, i);
        PyObject *object = pdlpy_to_python(place, item);
        pdl_value_drop(item);
        if (object && PyList_SetItem(list, (Py_ssize_t)i, object) == 0) continue;
        Py_CLEAR(list);
    }
    return list;
}

/* A tuple has come as a list. Takes key. */
static PyObject *hashable(PyObject *key) {
    PyObject *tuple = PyList_AsTuple(key);
    Py_DECREF(key);
    return tuple;
}

static PyObject *dict_out(pdlpy_place *place, const pdl_value *v) {
    size_t n = pdl_value_len(v);
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < n; i++) {
        pdl_value *key = pdl_value_key_at(v, i), *item = pdl_value_at(v, i);
        PyObject *k = pdlpy_to_python(place, key), *o = k ? pdlpy_to_python(place, item) : NULL;
        if (k && PyList_Check(k)) k = hashable(k);
        if (!k || !o || PyDict_SetItem(dict, k, o) < 0) Py_CLEAR(dict);
        Py_XDECREF(k);
        Py_XDECREF(o);
        pdl_value_drop(key);
        pdl_value_drop(item);
    }
    return dict;
}

/* Takes v. */
PyObject *pdlpy_handle_new(pdlpy_place *place, pdl_value *v) {
    PyTypeObject *type = (PyTypeObject *)place->engine->state->handle_type;
    pdlpy_handle *h = PyObject_GC_New(pdlpy_handle, type);
    if (!h) {
        pdl_value_drop(v);
        return NULL;
    }
    Py_INCREF(place->engine);
    Py_INCREF(place->held);
    h->engine = place->engine;
    h->held = place->held;
    h->value = v;
    PyObject_GC_Track((PyObject *)h);
    return (PyObject *)h;
}

static PyObject *other_out(pdlpy_place *place, const pdl_value *v) {
    return pdlpy_hook(place->engine->state, "other", pdlpy_handle_new(place, pdl_value_keep(v)));
}

/* Flat switch over the kinds. */
PyObject *pdlpy_to_python(pdlpy_place *place, const pdl_value *v) {
    bool b = false;
    double d = 0;
    PyObject *object = NULL;
    switch (pdl_value_kind(v)) {
    case PDL_KIND_NONE:
    case PDL_KIND_NULL: Py_RETURN_NONE;
    case PDL_KIND_BOOL: pdl_value_get_bool(v, &b); return PyBool_FromLong(b);
    case PDL_KIND_INT: return int_out(place->engine, v);
    case PDL_KIND_FLOAT: pdl_value_get_float(v, &d); return PyFloat_FromDouble(d);
    case PDL_KIND_TEXT: return text_out(v);
    case PDL_KIND_OTHER: return other_out(place, v);
    case PDL_KIND_LIST:
    case PDL_KIND_DICT: break;
    }
    if (!deeper(place)) return NULL;
    object = pdl_value_kind(v) == PDL_KIND_LIST ? list_out(place, v) : dict_out(place, v);
    place->depth--;
    return object;
}

PyObject *pdlpy_take(pdlpy_place *place, pdl_value *v, pdl_error *error) {
    if (!v) return pdlpy_raise(place->engine, error);
    PyObject *object = pdlpy_to_python(place, v);
    pdl_value_drop(v);
    return object;
}

/* --- handles ------------------------------ */

static int handle_traverse(PyObject *self, visitproc visit, void *arg) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(h->engine);
    Py_VISIT(h->held);
    return 0;
}

static void drop_value(void *v) { pdl_value_drop(v); }

/* Nothing is cleared before: what the value may call lives as long as the value. */
static void handle_dealloc(PyObject *self) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    pdlpy_release(h->engine, drop_value, h->value);
    Py_DECREF(h->held);
    Py_DECREF(h->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyObject *handle_text(PyObject *self, PyObject *unused) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    (void)unused;
    if (!pdlpy_enter(h->engine)) return NULL;
    pdl_error *error = NULL;
    pdl_value *text = pdl_value_to_text(h->value, &error);
    pdlpy_leave(h->engine);
    if (!text) return pdlpy_raise(h->engine, error);
    PyObject *object = text_out(text);
    pdl_value_drop(text);
    return object;
}

/* The value that was kept for later. */
static PyObject *handle_python(PyObject *self, PyObject *unused) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    pdlpy_place place = {h->engine, h->held, 0};
    (void)unused;
    if (!pdlpy_enter(h->engine)) return NULL;
    PyObject *object = pdlpy_to_python(&place, h->value);
    pdlpy_leave(h->engine);
    return object;
}

static PyObject *handle_compare(PyObject *a, PyObject *b, int op) {
    if (Py_TYPE(a) != Py_TYPE(b) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
    pdlpy_handle *x = (pdlpy_handle *)a, *y = (pdlpy_handle *)b;
    bool equal = x->engine == y->engine && pdl_value_equal(x->value, y->value);
    return PyBool_FromLong(equal == (op == Py_EQ));
}

static PyMethodDef handle_methods[] = {
    {"text", handle_text, METH_NOARGS, NULL}, {"python", handle_python, METH_NOARGS, NULL}, {0}};

static PyType_Slot handle_slots[] = {{Py_tp_traverse, handle_traverse},
                                     {Py_tp_dealloc, handle_dealloc},
                                     {Py_tp_richcompare, handle_compare},
                                     {Py_tp_methods, handle_methods},
                                     {0, NULL}};
static PyType_Spec handle_spec = {
    "libpdl._pdl.Handle", sizeof(pdlpy_handle), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, handle_slots};

bool pdlpy_add_values(PyObject *module, pdlpy_state *s) {
    return (s->handle_type = pdlpy_add_type(module, &handle_spec)) != NULL;
}
