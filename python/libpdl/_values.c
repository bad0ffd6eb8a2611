/* _values.c -- conversion of values between Python and the library, both ways.
 *
 * None, bool, int, float, str, list, tuple and dict are converted here. _hooks.plain converts some
 * other values to these types (dataclasses, paths, NumPy, dates). The rest is passed by reference
 * (_objects.c).
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <stdlib.h>
#include <string.h>

/* cyclic values are refused at this depth, before the stack overflows */
enum { MAX_DEPTH = 900, MANY = 32 };

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

/* Converts an int by its hexadecimal digits: conversion to decimal digits is slow, and Python
 * limits their number. */
static pdl_value *int_in(pdlpy_engine *e, PyObject *object) {
    int overflow = 0;
    long long i = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (!overflow) return i == -1 && PyErr_Occurred() ? NULL : pdl_value_int(i);
    PyObject *digits = PyNumber_ToBase(object, 16);
    const char *p = digits ? PyUnicode_AsUTF8AndSize(digits, NULL) : NULL;
    pdl_value *v = NULL;
    if (p && p[0] == '-') { /* "-0x.." */
        PyObject *cut = PyUnicode_FromFormat("-%s", p + 3);
        p = cut ? PyUnicode_AsUTF8AndSize(cut, NULL) : NULL;
        if (p) v = pdl_value_int_text(p, 16);
        Py_XDECREF(cut);
    } else if (p)
        v = pdl_value_int_text(p + 2, 16);
    Py_XDECREF(digits);
    if (!v && !PyErr_Occurred()) pdlpy_fail(e->state, "limit", "an integer is too large");
    return v;
}

static bool deeper(pdlpy_place *place) {
    if (place->depth < MAX_DEPTH) {
        place->depth++;
        return true;
    }
    pdlpy_fail(place->engine->state, "limit", "a value is nested too deeply, or holds itself");
    return false;
}

/* Converts a list of n integers that fit into 64 bits. Returns NULL without an exception when the
 * list has other items. */
static pdl_value *ints_in(PyObject *list, Py_ssize_t n) {
    int64_t *numbers = malloc((size_t)n * sizeof *numbers);
    pdl_value *v = NULL;
    Py_ssize_t i = 0;
    for (; numbers && i < n; i++) {
        PyObject *o = PyList_GetItem(list, i);
        int overflow = 0;
        if (!PyLong_CheckExact(o)) break;
        numbers[i] = PyLong_AsLongLongAndOverflow(o, &overflow);
        if (overflow) break;
    }
    if (numbers && i == n) v = pdl_value_ints(numbers, (size_t)n);
    free(numbers);
    return v;
}

/* Adds an object of Python to a list. Returns false, with an exception, when the object cannot be
 * converted. */
static bool push(pdlpy_place *place, pdl_value *list, PyObject *item) {
    Py_INCREF(item); /* hooks may run Python code that changes the container */
    pdl_value *v = pdlpy_to_library(place, item);
    Py_DECREF(item);
    if (v) pdl_value_push(list, v);
    pdl_value_drop(v);
    return v != NULL;
}

static pdl_value *list_in(pdlpy_place *place, PyObject *object) {
    Py_ssize_t n = PyList_Size(object);
    pdl_value *list = n >= MANY ? ints_in(object, n) : NULL;
    if (list) return list;
    list = pdl_value_list();
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyList_Size(object); i++)
        ok = push(place, list, PyList_GetItem(object, i));
    if (ok) return list;
    pdl_value_drop(list);
    return NULL;
}

static pdl_value *tuple_in(pdlpy_place *place, PyObject *object) {
    pdl_value *list = pdl_value_list(), *tuple = NULL;
    bool ok = true;
    for (Py_ssize_t i = 0; ok && i < PyTuple_Size(object); i++)
        ok = push(place, list, PyTuple_GetItem(object, i));
    if (ok) tuple = pdl_value_tuple(list);
    pdl_value_drop(list);
    return tuple;
}

/* Sets a key and its item. Sets *odd for a key that the library cannot have. */
static bool put(pdlpy_place *place, pdl_value *dict, PyObject *key, PyObject *item, bool *odd) {
    pdl_value *k = pdlpy_to_library(place, key), *v = k ? pdlpy_to_library(place, item) : NULL;
    bool ok = v && pdl_value_put_at(dict, k, v);
    *odd = v && !ok;
    pdl_value_drop(k);
    pdl_value_drop(v);
    return ok;
}

/* Converts a dict. A dict with keys that the library cannot have is passed as an object. */
static pdl_value *dict_in(pdlpy_place *place, PyObject *object) {
    pdl_value *dict = pdl_value_dict();
    PyObject *key, *item;
    Py_ssize_t at = 0;
    bool ok = true, odd = false;
    while (ok && PyDict_Next(object, &at, &key, &item)) {
        Py_INCREF(key);
        Py_INCREF(item);
        ok = put(place, dict, key, item, &odd);
        Py_DECREF(key);
        Py_DECREF(item);
    }
    if (ok) return dict;
    pdl_value_drop(dict);
    return odd ? pdlpy_object_in(place, object) : NULL;
}

static pdl_value *handle_in(pdlpy_place *place, PyObject *object) {
    pdlpy_handle *h = (pdlpy_handle *)object;
    if (h->engine == place->engine) return pdl_value_keep(h->value);
    pdlpy_fail(place->engine->state, "usage", "a function or object of another engine");
    return NULL;
}

/* Converts a date. A time that the library cannot represent is passed as an object. */
static pdl_value *date_in(pdlpy_place *place, PyObject *text, PyObject *object) {
    const char *p = PyUnicode_AsUTF8AndSize(text, NULL);
    pdl_value *v = p ? pdl_value_date(p) : NULL;
    PyErr_Clear();
    return v ? v : pdlpy_object_in(place, object);
}

/* Converts the result of _hooks.plain for the object: the object itself, another value, or a date
 * as (text,). */
static pdl_value *other_in(pdlpy_place *place, PyObject *object) {
    if (PyCFunction_Check(object) || PyType_Check(object)) return pdlpy_object_in(place, object);
    Py_INCREF(object);
    PyObject *plain = pdlpy_hook(place->engine->state, "plain", object);
    pdl_value *v = NULL;
    if (plain && plain == object)
        v = pdlpy_object_in(place, object);
    else if (plain && PyTuple_CheckExact(plain) && PyTuple_Size(plain) == 1)
        v = date_in(place, PyTuple_GetItem(plain, 0), object);
    else if (plain)
        v = pdlpy_to_library(place, plain);
    Py_XDECREF(plain);
    return v;
}

/* Converts an object of a subclass of list. A libpdl.Context becomes a context, any other object a
 * list. */
static pdl_value *context_in(pdlpy_place *place, PyObject *object) {
    Py_INCREF(object);
    PyObject *parts = pdlpy_hook(place->engine->state, "parts", object);
    if (!parts || parts == Py_None) {
        Py_XDECREF(parts);
        return parts ? list_in(place, object) : NULL;
    }
    pdl_error *error = NULL;
    pdl_value *list = list_in(place, PyTuple_GetItem(parts, 1)),
              *v = list ? pdl_value_context(list, PyTuple_GetItem(parts, 0) == Py_True, &error)
                        : NULL;
    if (list && !v) pdlpy_raise(place->engine, error);
    pdl_value_drop(list);
    Py_DECREF(parts);
    return v;
}

static pdl_value *to_library(pdlpy_place *place, PyObject *object) {
    if (object == Py_None) return pdl_value_null();
    if (PyUnicode_Check(object)) return text_in(place->engine->state, object);
    if (PyBool_Check(object)) return pdl_value_bool(object == Py_True);
    if (PyLong_Check(object)) return int_in(place->engine, object);
    if (PyFloat_Check(object)) return pdl_value_float(PyFloat_AsDouble(object));
    if (!deeper(place)) return NULL;
    pdl_value *v;
    if (PyList_CheckExact(object))
        v = list_in(place, object);
    else if (PyList_Check(object))
        v = context_in(place, object);
    else if (PyTuple_Check(object))
        v = tuple_in(place, object);
    else if (PyDict_Check(object))
        v = dict_in(place, object);
    else if ((PyObject *)Py_TYPE(object) == place->engine->state->handle_type)
        v = handle_in(place, object);
    else
        v = other_in(place, object);
    place->depth--;
    return v;
}

pdl_value *pdlpy_to_library(pdlpy_place *place, PyObject *object) {
    pdl_value *v = to_library(place, object);
    if (place->engine->origins) pdlpy_recall(place->engine, object, v);
    return v;
}

/* --- to Python ------------------------------ */

static PyObject *int_out(const pdl_value *v) {
    int64_t i;
    if (pdl_value_get_int(v, &i)) return PyLong_FromLongLong(i);
    pdl_value *text = pdl_value_get_int_text(v, 16);
    const char *digits = pdl_value_get_text(text, NULL);
    PyObject *n = digits ? PyLong_FromString(digits, NULL, 16) : PyErr_NoMemory();
    pdl_value_drop(text);
    return n;
}

static PyObject *text_out(const pdl_value *v) {
    size_t n = 0;
    const char *p = pdl_value_get_text(v, &n);
    return PyUnicode_DecodeUTF8(p ? p : "", p ? (Py_ssize_t)n : 0, "replace");
}

/* Converts integers. Returns NULL without an exception when the list has other items. */
static PyObject *ints_out(const pdl_value *v, size_t n) {
    int64_t *numbers = malloc(n * sizeof *numbers);
    bool ok = numbers && pdl_value_get_ints(v, numbers, n);
    PyObject *list = ok ? PyList_New((Py_ssize_t)n) : NULL;
    for (size_t i = 0; list && i < n; i++) {
        PyObject *o = PyLong_FromLongLong(numbers[i]);
        if (!o || PyList_SetItem(list, (Py_ssize_t)i, o) < 0) Py_CLEAR(list);
    }
    free(numbers);
    return list;
}

static PyObject *list_out(pdlpy_place *place, const pdl_value *v) {
    size_t n = pdl_value_len(v), i = 0;
    PyObject *list = n >= MANY ? ints_out(v, n) : NULL;
    place->is_lost |= list && pdl_value_origins(v) == PDL_ORIGINS_PARTS;
    if (list || PyErr_Occurred()) return list;
    list = PyList_New((Py_ssize_t)n);
    pdl_value *item = NULL;
    while (list && pdl_value_next(v, &i, NULL, &item)) {
        PyObject *object = pdlpy_to_python(place, item);
        if (!object || PyList_SetItem(list, (Py_ssize_t)i - 1, object) < 0) Py_CLEAR(list);
    }
    pdl_value_drop(item);
    if (!list || !pdl_value_is_tuple(v)) return list;
    PyObject *tuple = PyList_AsTuple(list);
    Py_DECREF(list);
    return tuple;
}

static bool is_text(const pdl_value *v, const char *text) {
    const char *p = text && *text ? pdl_value_get_text(v, NULL) : NULL;
    return p && strcmp(p, text) == 0;
}

static PyObject *dict_out(pdlpy_place *place, const pdl_value *v) {
    size_t i = 0;
    const char *without = place->without;
    PyObject *dict = PyDict_New();
    pdl_value *key = NULL, *item = NULL;
    place->without = NULL;
    while (dict && pdl_value_next(v, &i, &key, &item)) {
        if (is_text(key, without)) continue;
        PyObject *k = pdlpy_to_python(place, key), *o = k ? pdlpy_to_python(place, item) : NULL;
        if (!o || PyDict_SetItem(dict, k, o) < 0) Py_CLEAR(dict);
        Py_XDECREF(k);
        Py_XDECREF(o);
    }
    pdl_value_drop(key);
    pdl_value_drop(item);
    return dict;
}

static PyObject *set_out(pdlpy_place *place, const pdl_value *v) {
    PyObject *list = list_out(place, v), *set = list ? PySet_New(list) : NULL;
    Py_XDECREF(list);
    return set;
}

/* Makes a handle. Takes v. */
PyObject *pdlpy_handle_new(pdlpy_engine *e, pdl_value *v) {
    pdlpy_handle *h = PyObject_GC_New(pdlpy_handle, (PyTypeObject *)e->state->handle_type);
    if (!h) {
        pdl_value_drop(v);
        return NULL;
    }
    Py_INCREF(e);
    h->engine = e;
    h->value = v;
    PyObject_GC_Track((PyObject *)h);
    return (PyObject *)h;
}

/* Returns the object of Python from which the value was made. For any other value, returns what the
 * hook makes of a handle. */
static PyObject *object_out(pdlpy_place *place, const pdl_value *v, const char *hook) {
    PyObject *object = pdlpy_object_of(v);
    if (object) {
        Py_INCREF(object);
        return object;
    }
    return pdlpy_hook(place->engine->state, hook,
                      pdlpy_handle_new(place->engine, pdl_value_keep(v)));
}

static PyObject *date_out(pdlpy_place *place, const pdl_value *v) {
    pdl_value *text = pdl_value_to_text(v, NULL);
    PyObject *object = text_out(text);
    pdl_value_drop(text);
    return pdlpy_hook(place->engine->state, "date", object);
}

static PyObject *bytes_out(const pdl_value *v) {
    size_t n = 0;
    const char *p = pdl_value_get_bytes(v, &n);
    return PyBytes_FromStringAndSize(p, (Py_ssize_t)n);
}

/* Calls hooks.context((independent, parts)). A message is a part that is a dict. */
static PyObject *context_out(pdlpy_place *place, const pdl_value *v, pdl_context_form form) {
    pdl_value *parts = form == PDL_CONTEXT_MESSAGE ? NULL : pdl_value_context_parts(v);
    PyObject *list = list_out(place, parts ? parts : v);
    pdl_value_drop(parts);
    if (!list) return NULL;
    PyObject *of = form == PDL_CONTEXT_MESSAGE       ? Py_None
                   : form == PDL_CONTEXT_INDEPENDENT ? Py_True
                                                     : Py_False;
    return pdlpy_hook(place->engine->state, "context", Py_BuildValue("(ON)", of, list));
}

static PyObject *container_out(pdlpy_place *place, const pdl_value *v) {
    if (!deeper(place)) return NULL;
    pdl_kind kind = pdl_value_kind(v);
    pdl_context_form form = pdl_value_context_form(v);
    PyObject *object = form != PDL_CONTEXT_NONE  ? context_out(place, v, form)
                       : kind == PDL_KIND_LIST ? list_out(place, v)
                       : kind == PDL_KIND_SET ? set_out(place, v)
                                              : dict_out(place, v);
    place->depth--;
    return object;
}

/* This function is a flat switch over the kinds of values. */
static PyObject *to_python(pdlpy_place *place, const pdl_value *v) {
    bool b = false;
    double d = 0;
    switch (pdl_value_kind(v)) {
    case PDL_KIND_NONE:
    case PDL_KIND_NULL: Py_RETURN_NONE;
    case PDL_KIND_BOOL: pdl_value_get_bool(v, &b); return PyBool_FromLong(b);
    case PDL_KIND_INT: return int_out(v);
    case PDL_KIND_FLOAT: pdl_value_get_float(v, &d); return PyFloat_FromDouble(d);
    case PDL_KIND_TEXT: return text_out(v);
    case PDL_KIND_DATE: return date_out(place, v);
    case PDL_KIND_BYTES: return bytes_out(v);
    case PDL_KIND_FUNCTION: return object_out(place, v, "function");
    case PDL_KIND_OBJECT:
    case PDL_KIND_OTHER: return object_out(place, v, "other");
    case PDL_KIND_LIST:
    case PDL_KIND_DICT:
    case PDL_KIND_SET: break;
    }
    return container_out(place, v);
}

PyObject *pdlpy_to_python(pdlpy_place *place, const pdl_value *v) {
    if (!place->engine->origins) return to_python(place, v);
    bool before = place->is_lost;
    place->is_lost = false;
    PyObject *object = pdlpy_note(place, v, to_python(place, v));
    place->is_lost |= before;
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
    return 0;
}

static void drop_value(pdlpy_engine *e, void *v) { pdl_engine_drop_value(e->engine, v); }

static void handle_dealloc(PyObject *self) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    pdlpy_release(h->engine, drop_value, h->value);
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

/* Returns the value under a key as another handle, when the value of this handle is a dict. Returns
 * None when there is no such key, or when its value has no origins. */
static PyObject *handle_entry(PyObject *self, PyObject *args) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    const char *key;
    if (!PyArg_ParseTuple(args, "s", &key) || !pdlpy_enter(h->engine)) return NULL;
    pdl_value *v = pdl_value_get(h->value, key);
    pdlpy_leave(h->engine);
    if (pdl_value_origins(v) == PDL_ORIGINS_NONE) {
        pdl_value_drop(v);
        Py_RETURN_NONE;
    }
    return pdlpy_handle_new(h->engine, v);
}

/* Returns the value of the handle as an object of Python. A text as argument is a key that the dict
 * of Python does not get. */
static PyObject *handle_python(PyObject *self, PyObject *args) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    pdlpy_place place = {.engine = h->engine};
    if (!PyArg_ParseTuple(args, "|s", &place.without) || !pdlpy_enter(h->engine)) return NULL;
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

/* Returns the declaration of a function for models. Returns None for any other value. */
static PyObject *handle_signature(PyObject *self, PyObject *unused) {
    pdlpy_handle *h = (pdlpy_handle *)self;
    pdlpy_place place = {h->engine, 0};
    (void)unused;
    if (!pdlpy_enter(h->engine)) return NULL;
    pdl_value *v = pdl_value_signature(h->value);
    PyObject *object = pdlpy_to_python(&place, v);
    pdl_value_drop(v);
    pdlpy_leave(h->engine);
    return object;
}

static PyObject *handle_owner(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *owner = ((pdlpy_handle *)self)->engine->owner;
    if (!owner) Py_RETURN_NONE;
    Py_INCREF(owner);
    return owner;
}

static PyMethodDef handle_methods[] = {
    {"signature", handle_signature, METH_NOARGS, NULL},
    {"owner", handle_owner, METH_NOARGS, NULL},
    {"entry", handle_entry, METH_VARARGS, NULL},
    {"text", handle_text, METH_NOARGS, NULL}, {"python", handle_python, METH_VARARGS, NULL}, {0}};

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
