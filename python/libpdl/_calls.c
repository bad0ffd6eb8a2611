/* _calls.c -- the callbacks of the library: handlers, and requests.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

typedef struct request {
    PyObject_HEAD pdlpy_engine *engine;
    pdl_request *request; /* NULL after the request was answered */
    PyObject *object;     /* the handler or object of Python; may be NULL */
} request;

static PyObject *request_new(const pdlpy_bound *b, pdl_request *r) {
    request *q = PyObject_GC_New(request, (PyTypeObject *)b->engine->state->request_type);
    if (!q) return NULL;
    Py_INCREF(b->engine);
    q->engine = b->engine;
    q->request = r;
    Py_XINCREF(b->object);
    q->object = b->object;
    PyObject_GC_Track((PyObject *)q);
    return (PyObject *)q;
}

/* Returns true for types whose values certainly cannot be awaited. */
static bool is_plain(PyObject *o) {
    return o == Py_None || PyBool_Check(o) || PyLong_Check(o) || PyFloat_Check(o) ||
           PyUnicode_Check(o) || PyList_Check(o) || PyDict_Check(o) || PyTuple_Check(o);
}

/* Passes (request, what) to the Python side; `what` is an awaitable or an exception. Takes what. */
static void hand_over(const pdlpy_bound *b, PyObject *q, PyObject *what) {
    PyObject *done = what ? PyObject_CallFunctionObjArgs(b->engine->owner, q, what, NULL) : NULL;
    if (!done) PyErr_WriteUnraisable(b->object);
    Py_XDECREF(done);
    Py_XDECREF(what);
}

PyObject *pdlpy_caught(void) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (value && trace) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
}

static void no_memory(pdl_request *r) {
    PyErr_Clear();
    pdl_request_refuse(r, "runtime", "Python has no memory left");
}

/* Passes a request to the Python side, together with a new object for the request. Takes what. */
static void give_away(pdlpy_bound *b, pdl_request *r, PyObject *what) {
    PyObject *q = what ? request_new(b, r) : NULL;
    if (q)
        hand_over(b, q, what);
    else {
        Py_XDECREF(what);
        no_memory(r);
    }
    Py_XDECREF(q);
}

void pdlpy_answer(pdlpy_bound *b, pdl_request *r, PyObject *result) {
    if (result && !is_plain(result) && PyObject_HasAttrString(result, "__await__")) {
        give_away(b, r, result);
        return;
    }
    pdlpy_place place = {b->engine, 0};
    pdl_value *v = result ? pdlpy_to_library(&place, result) : NULL;
    pdlpy_recall_inside(b->engine, b->object, v);
    Py_XDECREF(result);
    if (v)
        pdl_request_answer(r, v);
    else
        give_away(b, r, pdlpy_caught());
    pdl_value_drop(v);
}

typedef struct asked {
    pdlpy_bound *bound;
    pdl_request *request;
} asked;

static void ask(void *of) {
    pdlpy_bound *b = ((asked *)of)->bound;
    pdl_request *r = ((asked *)of)->request;
    Py_INCREF(b);
    PyObject *q = request_new(b, r), *result = NULL;
    if (!q)
        no_memory(r);
    else if (!b->object)
        hand_over(b, q, Py_BuildValue(""));
    else if (!(result = PyObject_CallFunctionObjArgs(b->object, q, NULL)))
        hand_over(b, q, pdlpy_caught());
    Py_XDECREF(result);
    Py_XDECREF(q);
    Py_DECREF(b);
}

void pdlpy_called(void *user, pdl_request *r) {
    asked a = {user, r};
    pdlpy_call_back(a.bound->engine, ask, &a);
}

/* --- bound ------------------------------ */

pdlpy_bound *pdlpy_bound_new(pdlpy_engine *e, PyObject *object) {
    pdlpy_bound *b = PyObject_GC_New(pdlpy_bound, (PyTypeObject *)e->state->bound_type);
    if (!b) return NULL;
    Py_INCREF(e);
    Py_INCREF(object);
    b->engine = e;
    b->object = object;
    b->type_name = NULL;
    b->is_value = false;
    PyObject_GC_Track((PyObject *)b);
    return b;
}

static int bound_traverse(PyObject *self, visitproc visit, void *arg) {
    pdlpy_bound *b = (pdlpy_bound *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(b->engine);
    Py_VISIT(b->object);
    return 0;
}

static int bound_clear(PyObject *self) {
    Py_CLEAR(((pdlpy_bound *)self)->object);
    return 0;
}

static void bound_dealloc(PyObject *self) {
    pdlpy_bound *b = (pdlpy_bound *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (b->is_value) b->engine->n_objects--;
    Py_XDECREF(b->object);
    Py_XDECREF(b->type_name);
    Py_DECREF(b->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyType_Slot bound_slots[] = {{Py_tp_traverse, bound_traverse},
                                    {Py_tp_clear, bound_clear},
                                    {Py_tp_dealloc, bound_dealloc},
                                    {0, NULL}};
static PyType_Spec bound_spec = {
    "libpdl._pdl.Bound", sizeof(pdlpy_bound), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, bound_slots};

/* --- request ------------------------------ */

static request *open_request(PyObject *self) {
    request *q = (request *)self;
    if (q->request) return pdlpy_enter(q->engine) ? q : NULL;
    pdlpy_fail(q->engine->state, "usage", "the request was answered already");
    return NULL;
}

static PyObject *request_data(PyObject *self, PyObject *unused) {
    request *q = open_request(self);
    (void)unused;
    if (!q) return NULL;
    pdlpy_place place = {q->engine, 0};
    PyObject *data = pdlpy_to_python(&place, pdl_request_data(q->request));
    pdlpy_leave(q->engine);
    return data;
}

static PyObject *request_answer(PyObject *self, PyObject *value) {
    request *q = open_request(self);
    if (!q) return NULL;
    pdlpy_place place = {q->engine, 0};
    pdl_value *v = pdlpy_to_library(&place, value);
    pdlpy_recall_inside(q->engine, q->object, v);
    if (v) {
        pdl_request_answer(q->request, v);
        q->request = NULL;
    }
    pdl_value_drop(v);
    pdlpy_leave(q->engine);
    return v ? Py_BuildValue("") : NULL;
}

/* Returns the new value of a container that the code has changed in place. Returns NULL when the
 * code has not changed it. *ok is false when an exception is set. */
static pdl_value *changed(pdlpy_place *place, PyObject *now, const pdl_value *before, bool *ok) {
    if (!PyList_Check(now) && !PyDict_Check(now)) return NULL;
    pdl_value *v = pdlpy_to_library(place, now);
    *ok = v != NULL;
    if (!v || !pdl_value_equal(v, before)) return v;
    pdl_value_drop(v);
    return NULL;
}

/* Returns the variables whose values are not those of the request any more. Returns NULL when an
 * exception is set. */
static pdl_value *rebound(pdlpy_place *place, const pdl_request *r, PyObject *variables) {
    pdl_value *vars = pdl_value_get(pdl_request_data(r), "vars"), *all = pdl_value_dict(),
              *key = NULL, *before = NULL;
    size_t i = 0;
    bool ok = true;
    while (ok && pdl_value_next(vars, &i, &key, &before)) {
        const char *name = pdl_value_get_text(key, NULL);
        PyObject *now = name ? PyDict_GetItemString(variables, name) : NULL;
        pdl_value *v = now ? changed(place, now, before, &ok) : NULL;
        if (v) pdl_value_put_at(all, key, v);
        pdl_value_drop(v);
    }
    pdl_value_drop(key);
    pdl_value_drop(before);
    pdl_value_drop(vars);
    if (ok) return all;
    pdl_value_drop(all);
    return NULL;
}

static PyObject *request_answer_code(PyObject *self, PyObject *args) {
    PyObject *result, *variables;
    if (!PyArg_ParseTuple(args, "OO!", &result, &PyDict_Type, &variables)) return NULL;
    request *q = open_request(self);
    if (!q) return NULL;
    pdlpy_place place = {q->engine, 0};
    pdl_value *v = pdlpy_to_library(&place, result),
              *all = v ? rebound(&place, q->request, variables) : NULL;
    if (all) {
        pdl_request_answer_code(q->request, v, all);
        q->request = NULL;
    }
    pdl_value_drop(v);
    pdl_value_drop(all);
    pdlpy_leave(q->engine);
    return all ? Py_BuildValue("") : NULL;
}

static PyObject *request_is_answered(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(!((request *)self)->request);
}

static PyObject *request_refuse(PyObject *self, PyObject *args) {
    const char *kind, *message, *classes = NULL;
    if (!PyArg_ParseTuple(args, "ss|z", &kind, &message, &classes)) return NULL;
    request *q = open_request(self);
    if (!q) return NULL;
    pdl_request_raise(q->request, kind, classes, message);
    q->request = NULL;
    pdlpy_leave(q->engine);
    Py_RETURN_NONE;
}

static PyObject *request_decline(PyObject *self, PyObject *unused) {
    request *q = open_request(self);
    (void)unused;
    if (!q) return NULL;
    pdl_request *r = q->request;
    q->request = NULL;
    pdl_request_decline(r);
    pdlpy_leave(q->engine);
    Py_RETURN_NONE;
}

static PyObject *request_piece(PyObject *self, PyObject *args) {
    const char *text;
    Py_ssize_t n;
    if (!PyArg_ParseTuple(args, "s#", &text, &n)) return NULL;
    request *q = open_request(self);
    if (!q) return NULL;
    bool ok = pdl_request_piece(q->request, text, (size_t)n);
    pdlpy_leave(q->engine);
    return PyBool_FromLong(ok);
}

static PyObject *request_is_cancelled(PyObject *self, PyObject *unused) {
    request *q = (request *)self;
    (void)unused;
    return PyBool_FromLong(!q->request || pdl_request_is_cancelled(q->request));
}

static int request_traverse(PyObject *self, visitproc visit, void *arg) {
    request *q = (request *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(q->engine);
    Py_VISIT(q->object);
    return 0;
}

static int request_clear(PyObject *self) {
    Py_CLEAR(((request *)self)->object);
    return 0;
}

static void forget(pdlpy_engine *e, void *r) {
    (void)e;
    pdl_request_refuse(r, "runtime", "the request was not answered");
}

static void request_dealloc(PyObject *self) {
    request *q = (request *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (q->request) pdlpy_release(q->engine, forget, q->request);
    Py_XDECREF(q->object);
    Py_DECREF(q->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

static PyMethodDef request_methods[] = {{"data", request_data, METH_NOARGS, NULL},
                                        {"answer", request_answer, METH_O, NULL},
                                        {"refuse", request_refuse, METH_VARARGS, NULL},
                                        {"answer_code", request_answer_code, METH_VARARGS, NULL},
                                        {"is_answered", request_is_answered, METH_NOARGS, NULL},
                                        {"decline", request_decline, METH_NOARGS, NULL},
                                        {"piece", request_piece, METH_VARARGS, NULL},
                                        {"is_cancelled", request_is_cancelled, METH_NOARGS, NULL},
                                        {0}};
static PyType_Slot request_slots[] = {{Py_tp_traverse, request_traverse},
                                      {Py_tp_clear, request_clear},
                                      {Py_tp_dealloc, request_dealloc},
                                      {Py_tp_methods, request_methods},
                                      {0, NULL}};
static PyType_Spec request_spec = {
    "libpdl._pdl.Request", sizeof(request), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, request_slots};

bool pdlpy_add_calls(PyObject *module, pdlpy_state *s) {
    return (s->bound_type = pdlpy_add_type(module, &bound_spec)) &&
           (s->request_type = pdlpy_add_type(module, &request_spec));
}
