/* _engine.c -- engines and programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "_pdl.h"

#include <stdlib.h>

/* --- one thread at a time ------------------------------ */

bool pdlpy_enter(pdlpy_engine *e) {
    unsigned long me = PyThread_get_thread_ident();
    if (e->depth && e->thread != me) {
        pdlpy_fail(e->state, "usage", "the engine is in use in another thread");
        return false;
    }
    e->thread = me;
    e->depth++;
    return true;
}

/* Releases an object of the library. This may run Python code, which must not see an exception that
 * is already set. */
static void release_now(pdlpy_engine *e, void (*release)(pdlpy_engine *e, void *thing),
                        void *thing) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    release(e, thing);
    PyErr_Restore(type, value, trace);
}

void pdlpy_leave(pdlpy_engine *e) {
    if (--e->depth) return;
    while (e->trash) {
        pdlpy_trash *t = e->trash;
        e->trash = t->next;
        release_now(e, t->release, t->thing);
        free(t);
    }
}

void pdlpy_release(pdlpy_engine *e, void (*release)(pdlpy_engine *e, void *thing), void *thing) {
    bool is_free = !e->depth || e->thread == PyThread_get_thread_ident();
    pdlpy_trash *t = is_free ? NULL : malloc(sizeof *t);
    if (t) {
        *t = (pdlpy_trash){e->trash, release, thing};
        e->trash = t;
    } else if (is_free)
        /* Without memory for an entry of the trash, an object that another thread's step may use is
         * never released. */
        release_now(e, release, thing);
}

/* --- life ------------------------------ */

const char **pdlpy_texts(PyObject *paths, size_t *n) {
    *n = (size_t)PyList_Size(paths);
    const char **p = calloc(*n + 1, sizeof *p);
    if (!p) {
        PyErr_NoMemory();
        return NULL;
    }
    for (size_t i = 0; i < *n; i++)
        if (!(p[i] = PyUnicode_AsUTF8AndSize(PyList_GetItem(paths, (Py_ssize_t)i), NULL))) {
            free(p);
            return NULL;
        }
    return p;
}

static bool open_engine(pdlpy_engine *e, PyObject *paths, PyObject *policies,
                        pdl_engine_options o) {
    pdl_error *error = NULL;
    o.size = sizeof o;
    o.shared = true;
    const char **p = pdlpy_texts(paths, &o.n_paths), **q = p ? pdlpy_texts(policies, &o.n_policies) : NULL;
    o.paths = p;
    o.policies = q;
    if (q) e->engine = pdl_engine_new(&o, &error);
    free(p);
    free(q);
    if (!q) return false;
    if (!e->engine) pdlpy_raise(e, error);
    return e->engine != NULL;
}

static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *paths, *policies, *owner;
    pdl_engine_options o = {0};
    int no_sandbox;
    (void)kwargs;
    if (!PyArg_ParseTuple(args, "O!IzzzpO!O", &PyList_Type, &paths, &o.jobs, &o.timeout, &o.prices,
                          &o.sandbox, &no_sandbox, &PyList_Type, &policies, &owner))
        return NULL;
    o.no_sandbox = no_sandbox;
    allocfunc alloc = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    pdlpy_engine *e = (pdlpy_engine *)alloc(type, 0);
    if (!e) return NULL;
    e->state = PyType_GetModuleState(type);
    e->module = PyType_GetModule(type);
    Py_XINCREF(e->module);
    Py_INCREF(owner);
    e->owner = owner;
    e->held = PyList_New(0);
    bool tracks = e->state && e->state->tracks && (e->origins = PyDict_New()) != NULL;
    if (e->state && tracks == e->state->tracks && e->held &&
        open_engine(e, paths, policies, o)) {
        e->next = e->state->engines;
        e->state->engines = e;
        return (PyObject *)e;
    }
    Py_DECREF(e);
    return NULL;
}

static int engine_traverse(PyObject *self, visitproc visit, void *arg) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(e->module);
    Py_VISIT(e->held);
    Py_VISIT(e->owner);
    Py_VISIT(e->origins);
    return 0;
}

static int engine_clear(PyObject *self) {
    Py_CLEAR(((pdlpy_engine *)self)->owner);
    Py_CLEAR(((pdlpy_engine *)self)->origins);
    return 0;
}

static void unlist(const pdlpy_engine *e) {
    pdlpy_engine **at = e->state ? &e->state->engines : NULL;
    while (at && *at && *at != e) at = &(*at)->next;
    if (at && *at) *at = e->next;
}

static void engine_dealloc(PyObject *self) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    unlist(e);
    Py_CLEAR(e->origins); /* the handles in it are values of the engine */
    pdl_engine_free(e->engine);
    Py_XDECREF(e->held);
    Py_XDECREF(e->owner);
    Py_XDECREF(e->module);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* --- what it does ------------------------------ */

static PyObject *engine_has_rule(PyObject *self, PyObject *sink) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    pdl_error *error = NULL;
    bool has = false;
    const char *name = PyUnicode_AsUTF8AndSize(sink, NULL);
    if (!name || !pdlpy_enter(e)) return NULL;
    bool ok = pdl_engine_has_rule(e->engine, name, &has, &error);
    pdlpy_leave(e);
    return ok ? PyBool_FromLong(has) : pdlpy_raise(e, error);
}

static PyObject *engine_handle(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    const char *kind, *prefix;
    PyObject *fn;
    pdl_error *error = NULL;
    if (!PyArg_ParseTuple(args, "ssO", &kind, &prefix, &fn) || !pdlpy_enter(e)) return NULL;
    pdlpy_bound *bound = pdlpy_bound_new(e, fn);
    bool kept = bound && PyList_Append(e->held, (PyObject *)bound) == 0;
    bool ok = kept && pdl_engine_handle(e->engine, kind, prefix, pdlpy_called, bound, &error);
    pdlpy_leave(e);
    Py_XDECREF(bound);
    if (ok) Py_RETURN_NONE;
    return kept ? pdlpy_raise(e, error) : NULL;
}

static void drop_program(pdlpy_engine *e, void *program) {
    (void)e;
    pdl_program_free(program);
}

static PyObject *program_box(pdlpy_engine *e, pdl_program *program, pdl_error *error) {
    if (!program) return pdlpy_raise(e, error);
    pdlpy_program *p = PyObject_New(pdlpy_program, (PyTypeObject *)e->state->program_type);
    if (!p) {
        pdl_program_free(program);
        return NULL;
    }
    Py_INCREF(e);
    p->engine = e;
    p->program = program;
    return (PyObject *)p;
}

static PyObject *engine_load_file(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    const char *path;
    pdl_error *error = NULL;
    pdl_program *program;
    if (!PyArg_ParseTuple(args, "s", &path) || !pdlpy_enter(e)) return NULL;
    PyThreadState *unlocked = pdlpy_unlock();
    program = pdl_load_file(e->engine, path, &error);
    pdlpy_relock(unlocked);
    PyObject *box = program_box(e, program, error);
    pdlpy_leave(e);
    return box;
}

static PyObject *engine_load_text(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    const char *text, *name;
    Py_ssize_t n;
    pdl_error *error = NULL;
    pdl_program *program;
    if (!PyArg_ParseTuple(args, "s#z", &text, &n, &name) || !pdlpy_enter(e)) return NULL;
    PyThreadState *unlocked = pdlpy_unlock();
    program = pdl_load_text(e->engine, text, (size_t)n, name, &error);
    pdlpy_relock(unlocked);
    PyObject *box = program_box(e, program, error);
    pdlpy_leave(e);
    return box;
}

static PyObject *checked(pdlpy_engine *e, pdl_value *found, pdl_error *error) {
    pdlpy_place place = {e, 0};
    PyObject *list = pdlpy_take(&place, found, error);
    pdlpy_leave(e);
    return list;
}

static PyObject *engine_check_file(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    const char *path;
    pdl_error *error = NULL;
    pdl_value *found;
    if (!PyArg_ParseTuple(args, "s", &path) || !pdlpy_enter(e)) return NULL;
    PyThreadState *unlocked = pdlpy_unlock();
    found = pdl_check_file(e->engine, path, &error);
    pdlpy_relock(unlocked);
    return checked(e, found, error);
}

static PyObject *engine_check_program(PyObject *self, PyObject *program) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    pdl_error *error = NULL;
    pdl_value *found;
    if ((PyObject *)Py_TYPE(program) != e->state->program_type) {
        PyErr_SetString(PyExc_TypeError, "a program that is loaded");
        return NULL;
    }
    if (!pdlpy_enter(e)) return NULL;
    const pdl_program *p = ((pdlpy_program *)program)->program;
    PyThreadState *unlocked = pdlpy_unlock();
    found = pdl_check_program(e->engine, p, &error);
    pdlpy_relock(unlocked);
    return checked(e, found, error);
}

static PyObject *engine_load_value(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    pdlpy_place place = {e, 0};
    const char *name;
    PyObject *tree, *box = NULL;
    pdl_error *error = NULL;
    if (!PyArg_ParseTuple(args, "Oz", &tree, &name) || !pdlpy_enter(e)) return NULL;
    pdl_value *v = pdlpy_to_library(&place, tree);
    if (v) {
        pdl_program *program = pdl_load_value(e->engine, v, name, &error);
        box = program_box(e, program, error);
    }
    pdl_value_drop(v);
    pdlpy_leave(e);
    return box;
}

static PyObject *engine_explain(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    pdlpy_place place = {e, 0};
    pdlpy_program *program;
    PyObject *inputs;
    pdl_error *error = NULL;
    if (!PyArg_ParseTuple(args, "O!O!", e->state->program_type, &program, &PyDict_Type, &inputs) ||
        !pdlpy_enter(e))
        return NULL;
    pdl_value *in = pdlpy_to_library(&place, inputs);
    pdl_value *v = in ? pdl_explain(e->engine, program->program, in, NULL, &error) : NULL;
    PyObject *found = in ? pdlpy_take(&place, v, error) : NULL;
    pdl_value_drop(in);
    pdlpy_leave(e);
    return found;
}

static PyObject *engine_schema(PyObject *self, PyObject *unused) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    (void)unused;
    return pdlpy_enter(e) ? checked(e, pdl_schema_of_language(), NULL) : NULL;
}

static PyObject *engine_to_yaml(PyObject *self, PyObject *object) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    pdlpy_place place = {e, 0};
    pdl_error *error = NULL;
    if (!pdlpy_enter(e)) return NULL;
    pdl_value *v = pdlpy_to_library(&place, object);
    pdl_value *text = v ? pdl_value_to_yaml(v, &error) : NULL;
    pdl_value_drop(v);
    if (v) return checked(e, text, error);
    pdlpy_leave(e);
    return NULL;
}

static PyObject *engine_page(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    const char *trace, *name;
    Py_ssize_t n;
    pdl_error *error = NULL;
    pdl_value *page;
    if (!PyArg_ParseTuple(args, "s#s", &trace, &n, &name) || !pdlpy_enter(e)) return NULL;
    PyThreadState *unlocked = pdlpy_unlock();
    page = pdl_trace_page(trace, (size_t)n, name, NULL, &error);
    pdlpy_relock(unlocked);
    return checked(e, page, error);
}

static PyObject *engine_builtins(PyObject *self, PyObject *unused) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    (void)unused;
    return pdlpy_enter(e) ? checked(e, pdl_builtins_of_language(), NULL) : NULL;
}

static PyObject *engine_step(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    int timeout_ms;
    size_t n;
    if (!PyArg_ParseTuple(args, "i", &timeout_ms) || !pdlpy_enter(e)) return NULL;
    PyThreadState *unlocked = pdlpy_unlock();
    n = pdl_engine_step(e->engine, timeout_ms);
    pdlpy_relock(unlocked);
    pdlpy_leave(e);
    return PyErr_CheckSignals() < 0 ? NULL : PyLong_FromSize_t(n);
}

static PyObject *engine_fd(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(pdl_engine_fd(((pdlpy_engine *)self)->engine));
}

static PyObject *engine_deadline_ms(PyObject *self, PyObject *unused) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    (void)unused;
    if (!pdlpy_enter(e)) return NULL;
    int ms = pdl_engine_deadline_ms(e->engine);
    pdlpy_leave(e);
    return PyLong_FromLong(ms);
}

/* Returns true when this thread is inside of a step, whose callbacks may not step again. */
static PyObject *engine_is_inside(PyObject *self, PyObject *unused) {
    const pdlpy_engine *e = (pdlpy_engine *)self;
    (void)unused;
    return PyBool_FromLong(e->depth > 0 && e->thread == PyThread_get_thread_ident());
}

static PyObject *engine_start(PyObject *self, PyObject *args, PyObject *kwargs) {
    return pdlpy_run_start((pdlpy_engine *)self, args, kwargs);
}

static PyMethodDef engine_methods[] = {
    {"handle", engine_handle, METH_VARARGS, NULL},
    {"has_rule", engine_has_rule, METH_O, NULL},
    {"track", pdlpy_track, METH_NOARGS, NULL},
    {"derive", pdlpy_derive, METH_VARARGS, NULL},
    {"load_file", engine_load_file, METH_VARARGS, NULL},
    {"load_text", engine_load_text, METH_VARARGS, NULL},
    {"check_file", engine_check_file, METH_VARARGS, NULL},
    {"check_program", engine_check_program, METH_O, NULL},
    {"load_value", engine_load_value, METH_VARARGS, NULL},
    {"explain", engine_explain, METH_VARARGS, NULL},
    {"schema", engine_schema, METH_NOARGS, NULL},
    {"to_yaml", engine_to_yaml, METH_O, NULL},
    {"builtins", engine_builtins, METH_NOARGS, NULL},
    {"page", engine_page, METH_VARARGS, NULL},
    {"start", (PyCFunction)(void (*)(void))engine_start, METH_VARARGS | METH_KEYWORDS, NULL},
    {"step", engine_step, METH_VARARGS, NULL},
    {"fd", engine_fd, METH_NOARGS, NULL},
    {"deadline_ms", engine_deadline_ms, METH_NOARGS, NULL},
    {"is_inside", engine_is_inside, METH_NOARGS, NULL},
    {0}};
static PyType_Slot engine_slots[] = {
    {Py_tp_new, engine_new},         {Py_tp_traverse, engine_traverse}, {Py_tp_clear, engine_clear},
    {Py_tp_dealloc, engine_dealloc}, {Py_tp_methods, engine_methods},   {0, NULL}};
static PyType_Spec engine_spec = {"libpdl._pdl.Engine", sizeof(pdlpy_engine), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, engine_slots};

/* --- programs ------------------------------ */

static void program_dealloc(PyObject *self) {
    pdlpy_program *p = (pdlpy_program *)self;
    PyTypeObject *type = Py_TYPE(self);
    pdlpy_release(p->engine, drop_program, p->program);
    Py_DECREF(p->engine);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *program_tree(PyObject *self, PyObject *unused) {
    pdlpy_program *p = (pdlpy_program *)self;
    (void)unused;
    return pdlpy_enter(p->engine) ? checked(p->engine, pdl_program_tree(p->program), NULL) : NULL;
}

static PyObject *program_text(PyObject *self, PyObject *unused) {
    pdlpy_program *p = (pdlpy_program *)self;
    (void)unused;
    return pdlpy_enter(p->engine) ? checked(p->engine, pdl_program_text(p->program), NULL) : NULL;
}

static PyMethodDef program_methods[] = {
    {"text", program_text, METH_NOARGS, NULL}, {"tree", program_tree, METH_NOARGS, NULL}, {0}};
static PyType_Slot program_slots[] = {
    {Py_tp_dealloc, program_dealloc}, {Py_tp_methods, program_methods}, {0, NULL}};
static PyType_Spec program_spec = {"libpdl._pdl.Program", sizeof(pdlpy_program), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                   program_slots};

bool pdlpy_add_engine(PyObject *module, pdlpy_state *s) {
    return (s->engine_type = pdlpy_add_type(module, &engine_spec)) &&
           (s->program_type = pdlpy_add_type(module, &program_spec));
}
