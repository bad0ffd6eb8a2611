/* _contextvars.c -- calls each callback inside of the context variables of its run. Under asyncio,
 * one step continues the runs of many tasks, so the context variables of the task that makes the
 * step belong to another run. Each run therefore has a copy of the variables of the task that
 * started it, and its callbacks are called inside of that copy, like those of asyncio. The limited
 * API can enter a context only by `context.run(callable)`, so the body of a callback becomes a
 * callable. A context can be entered only once at a time. A callback that is called inside of
 * another callback of the same run (for the text of an object that a function returns) is inside of
 * the context already.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

typedef struct entry {
    void (*body)(void *of);
    void *of;
    bool was_called;
} entry;

static _Thread_local PyObject *innermost; /* the context that was entered most recently; borrowed */

static PyObject *enter(PyObject *self, PyObject *unused) {
    entry *e = PyCapsule_GetPointer(self, NULL);
    (void)unused;
    if (!e) return NULL;
    e->was_called = true;
    e->body(e->of);
    Py_RETURN_NONE;
}

static PyMethodDef entering = {"callback", enter, METH_NOARGS, NULL};

static void run_in(PyObject *context, entry *e) {
    PyObject *self = context ? PyCapsule_New(e, NULL, NULL) : NULL;
    PyObject *fn = self ? PyCFunction_NewEx(&entering, self, NULL) : NULL;
    PyObject *done = fn ? PyObject_CallMethod(context, "run", "O", fn) : NULL;
    if (!done) PyErr_Clear(); /* there is no memory, or the context was entered before */
    Py_XDECREF(done);
    Py_XDECREF(fn);
    Py_XDECREF(self);
}

void pdlpy_within(PyObject *context, void (*body)(void *of), void *of) {
    entry e = {body, of, false};
    PyObject *before = innermost;
    if (context && context != before) {
        Py_INCREF(context);
        innermost = context;
        run_in(context, &e);
        PyObject *copy = e.was_called ? NULL : PyObject_CallMethod(context, "copy", NULL);
        if (copy) run_in(copy, &e);
        PyErr_Clear();
        Py_XDECREF(copy);
        innermost = before;
        Py_DECREF(context);
    }
    if (!e.was_called) body(of);
}

void pdlpy_call_back(pdlpy_engine *e, void (*body)(void *of), void *of) {
    pdlpy_callback back = pdlpy_callback_begin();
    pdlpy_within(pdlpy_context_of(pdl_engine_current_user(e->engine)), body, of);
    pdlpy_callback_end(back);
}
