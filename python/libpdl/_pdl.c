/* _pdl.c -- the extension module libpdl._pdl, which adds the types of the other files. Only the
 * modules of libpdl use it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "_pdl.h"

PyObject *pdlpy_add_type(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, (PyTypeObject *)type) == 0) return type;
    Py_XDECREF(type);
    return NULL;
}

static PyObject *set_hooks(PyObject *module, PyObject *hooks) {
    pdlpy_state *s = PyModule_GetState(module);
    PyObject *before = s->hooks;
    Py_INCREF(hooks);
    s->hooks = hooks;
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

/* Returns true in the main interpreter. During a wait, the library calls back into the main
 * interpreter, because it does not know others. */
static bool is_main_interpreter(void) {
    if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return true;
    PyErr_SetString(PyExc_ImportError, "libpdl cannot be used in a sub-interpreter");
    return false;
}

static int fill(PyObject *module) {
    pdlpy_state *s = PyModule_GetState(module);
    bool ok = is_main_interpreter() && pdlpy_watch_end() && pdlpy_add_values(module, s) &&
              pdlpy_add_calls(module, s) && pdlpy_add_engine(module, s) &&
              pdlpy_add_run(module, s) &&
              PyModule_AddStringConstant(module, "version", pdl_version()) == 0;
    return ok ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
    pdlpy_state *s = PyModule_GetState(module);
    Py_VISIT(s->engine_type);
    Py_VISIT(s->program_type);
    Py_VISIT(s->run_type);
    Py_VISIT(s->request_type);
    Py_VISIT(s->handle_type);
    Py_VISIT(s->bound_type);
    Py_VISIT(s->hooks);
    return 0;
}

static int clear(PyObject *module) {
    pdlpy_state *s = PyModule_GetState(module);
    Py_CLEAR(s->hooks);
    return 0;
}

static void release(void *module) {
    pdlpy_state *s = PyModule_GetState(module);
    Py_CLEAR(s->hooks);
    Py_CLEAR(s->engine_type);
    Py_CLEAR(s->program_type);
    Py_CLEAR(s->run_type);
    Py_CLEAR(s->request_type);
    Py_CLEAR(s->handle_type);
    Py_CLEAR(s->bound_type);
}

static PyMethodDef functions[] = {{"set_hooks", set_hooks, METH_O, NULL}, {0}};
static PyModuleDef_Slot slots[] = {{Py_mod_exec, fill}, {0, NULL}};
static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "libpdl._pdl",
                                 NULL,
                                 sizeof(pdlpy_state),
                                 functions,
                                 slots,
                                 traverse,
                                 clear,
                                 release};

PyMODINIT_FUNC PyInit__pdl(void);
PyMODINIT_FUNC PyInit__pdl(void) { return PyModuleDef_Init(&definition); }
