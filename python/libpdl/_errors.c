/* _errors.c -- converts errors of the library to exceptions. The classes of the exceptions are
 * defined in Python (_hooks.py).
 * SPDX-License-Identifier: Apache-2.0 */
#include "_pdl.h"

#include <string.h>

PyObject *pdlpy_hook(pdlpy_state *s, const char *name, PyObject *argument) {
    PyObject *fn = NULL, *result = NULL;
    if (!s->hooks)
        PyErr_SetString(PyExc_RuntimeError, "libpdl._pdl is used without libpdl");
    else if (argument)
        fn = PyObject_GetAttrString(s->hooks, name);
    if (fn) result = PyObject_CallFunctionObjArgs(fn, argument, NULL);
    Py_XDECREF(fn);
    Py_XDECREF(argument);
    return result;
}

/* Makes a str of a text of the library; bytes that are not UTF-8 (names of files) are replaced. */
static PyObject *text_of(const char *text) {
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

PyObject *pdlpy_exception(pdlpy_engine *e, const pdl_error *error) {
    PyObject *fields =
        Py_BuildValue("(NNNIINNiiN)", text_of(error->kind), text_of(error->message),
                      text_of(error->file), error->line, error->column, text_of(error->hint),
                      text_of(error->text), error->exit_code, error->status,
                      text_of(error->path));
    return pdlpy_hook(e->state, "exception", fields);
}

static void set(PyObject *exception) {
    if (!exception) return;
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_DECREF(exception);
}

PyObject *pdlpy_raise(pdlpy_engine *e, pdl_error *error) {
    if (error)
        set(pdlpy_exception(e, error));
    else
        PyErr_SetString(PyExc_SystemError, "libpdl: a failure without an error");
    pdl_error_free(error);
    return NULL;
}

PyObject *pdlpy_fail(pdlpy_state *s, const char *kind, const char *message) {
    PyObject *fields = Py_BuildValue("(sssIIssiis)", kind, message, "", 0u, 0u, "", message, 1, 0, "");
    set(pdlpy_hook(s, "exception", fields));
    return NULL;
}
