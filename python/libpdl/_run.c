/* _run.c -- runs: a task of the library, its callbacks and its results.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

typedef struct run {
    PyObject_HEAD pdlpy_engine *engine;
    pdl_task *task;
    PyObject *text, *error_text, *message, *done; /* callables; each may be NULL */
    /* replaces text and message: gets all text that is shown, with the source of each piece */
    PyObject *shown;
    PyObject *budget; /* the library reads it while the run lasts */
    /* the context variables of the asyncio task that began the run; NULL before the run has begun,
     * or without such a task */
    PyObject *context;
    /* the incomplete character at the end of the last piece, separately for the text and for error
     * output */
    struct cut {
        char bytes[4];
        unsigned n;
    } cut[2];
    /* the signal that arrived while a thread waited for the run; 0 without a signal */
    volatile int interrupted;
} run;

/* --- callbacks ------------------------------ */

/* Handles an exception of a callback, which has no caller that could receive it. Ctrl-C and the
 * like, which may arrive at any time, end the run; the caller that waits for the run raises
 * them. */
static void callback_failed(run *r, PyObject *fn) {
    if (PyErr_ExceptionMatches(PyExc_Exception) || !r->engine->owner) {
        PyErr_WriteUnraisable(fn);
        return;
    }
    PyObject *raised = pdlpy_caught();
    PyObject *known = PyObject_CallFunctionObjArgs(r->engine->owner, Py_None, raised, NULL);
    if (!known) PyErr_WriteUnraisable(fn);
    Py_XDECREF(known);
    Py_XDECREF(raised);
    pdl_task_cancel(r->task);
}

typedef struct call {
    run *run;
    PyObject *fn, *argument, *done;
} call;

/* Calls a callback. The callback may release the run, which owns the callback. */
static void make_call(void *of) {
    call *c = of;
    Py_INCREF(c->run);
    Py_INCREF(c->fn);
    c->done = PyObject_CallFunctionObjArgs(c->fn, c->argument, NULL);
    if (!c->done) callback_failed(c->run, c->fn);
    Py_DECREF(c->fn);
    Py_DECREF(c->run);
}

/* Calls fn with an argument, whose reference it takes. */
static void pass_to(run *r, PyObject *fn, PyObject *argument) {
    if (!fn) { /* the run was released */
        Py_XDECREF(argument);
        return;
    }
    call c = {r, fn, argument, NULL};
    if (argument)
        pdlpy_within(r->context, make_call, &c);
    else
        callback_failed(r, fn);
    Py_XDECREF(c.done);
    Py_XDECREF(argument);
}

/* Makes a str from the whole characters of text, and keeps the rest in `cut`. The text may contain
 * any bytes, because code writes them. */
static PyObject *decoded(struct cut *cut, const char *text, size_t n) {
    PyObject *joined = PyBytes_FromStringAndSize(cut->bytes, (Py_ssize_t)cut->n);
    PyBytes_ConcatAndDel(&joined, PyBytes_FromStringAndSize(text, (Py_ssize_t)n));
    if (!joined) return NULL;
    Py_ssize_t all = PyBytes_Size(joined), used = 0;
    const char *p = PyBytes_AsString(joined);
    PyObject *s = PyUnicode_DecodeUTF8Stateful(p, all, "replace", &used);
    cut->n = all - used < (Py_ssize_t)sizeof cut->bytes ? (unsigned)(all - used) : 0;
    memcpy(cut->bytes, p + used, cut->n);
    Py_DECREF(joined);
    return s;
}

/* Passes text to *fn. *fn is read while the lock is held, because another thread may release the
 * run. */
static void give(run *r, PyObject *const *fn, struct cut *cut, const char *text, size_t n) {
    pdlpy_callback back = pdlpy_callback_begin();
    PyObject *s = cut->n ? decoded(cut, text, n)
                         : PyUnicode_DecodeUTF8Stateful(text, (Py_ssize_t)n, "strict", NULL);
    if (!s && !cut->n) {
        PyErr_Clear();
        s = decoded(cut, text, n);
    }
    pass_to(r, *fn, s);
    pdlpy_callback_end(back);
}

static void on_text(void *user, const char *text, size_t n) {
    run *r = user;
    give(r, &r->text, &r->cut[0], text, n);
}

static void on_error_text(void *user, const char *text, size_t n) {
    run *r = user;
    give(r, &r->error_text, &r->cut[1], text, n);
}

static void on_message(void *user, const char *role, const char *text, size_t n) {
    pdlpy_callback back = pdlpy_callback_begin();
    pass_to(user, ((run *)user)->message, Py_BuildValue("(sy#)", role, text, (Py_ssize_t)n));
    pdlpy_callback_end(back);
}

/* Passes on an event: (kind, who, text, untrusted). kind is "text", "message" or "out"; who is the
 * role of a message, or the source of other text. */
static void on_report(void *user, const pdl_report *e) {
    bool is_message = strcmp(e->kind, "message") == 0;
    bool is_out = strcmp(e->kind, "out") == 0 && e->number != 2;
    if (!is_message && !is_out && strcmp(e->kind, "text") != 0) return;
    pdlpy_callback back = pdlpy_callback_begin();
    pass_to(user, ((run *)user)->shown,
         Py_BuildValue("(ssy#i)", e->kind, is_message ? e->role : e->look, e->text,
                       (Py_ssize_t)e->n_text, (int)e->untrusted));
    pdlpy_callback_end(back);
}

static void on_done(void *user, pdl_task *task) {
    pdlpy_callback back = pdlpy_callback_begin();
    run *r = user;
    (void)task;
    if (r->done) pass_to(r, r->done, Py_BuildValue(""));
    pdlpy_callback_end(back);
}

PyObject *pdlpy_context_of(const void *user) { return user ? ((const run *)user)->context : NULL; }

/* --- life ------------------------------ */

static void keep(PyObject **slot, PyObject *object) {
    if (!object || object == Py_None) return;
    Py_INCREF(object);
    *slot = object;
}

static pdl_task *start_program(run *r, pdlpy_program *program, PyObject *inputs,
                               pdl_task_options *o, pdl_error **error) {
    pdlpy_place place = {r->engine, 0};
    pdl_value *in = pdlpy_to_library(&place, inputs);
    o->inputs = in;
    pdl_task *t = in ? pdl_task_start(r->engine->engine, program->program, o, error) : NULL;
    pdl_value_drop(in);
    return t;
}

/* Starts a call. inputs: (list of arguments, dict of named ones). */
static pdl_task *start_call(run *r, pdlpy_handle *function, PyObject *inputs, pdl_task_options *o,
                            pdl_error **error) {
    pdlpy_place place = {r->engine, 0};
    PyObject *list = PyTuple_GetItem(inputs, 0), *dict = list ? PyTuple_GetItem(inputs, 1) : NULL;
    pdl_value *args = dict ? pdlpy_to_library(&place, list) : NULL,
              *kwargs = args ? pdlpy_to_library(&place, dict) : NULL;
    pdl_task *t = NULL;
    if (kwargs) t = pdl_value_call(r->engine->engine, function->value, args, kwargs, o, error);
    pdl_value_drop(args);
    pdl_value_drop(kwargs);
    return t;
}

static bool begin(run *r, PyObject *what, PyObject *inputs, pdl_task_options *o) {
    pdl_error *error = NULL;
    bool is_call = (PyObject *)Py_TYPE(what) == r->engine->state->handle_type;
    o->size = sizeof *o;
    o->user = r;
    o->text = r->text ? on_text : NULL;
    o->error_text = r->error_text ? on_error_text : NULL;
    o->message = r->message ? on_message : NULL;
    o->report = r->shown ? on_report : NULL;
    o->done = on_done;
    o->interrupt = &r->interrupted;
    r->task = is_call ? start_call(r, (pdlpy_handle *)what, inputs, o, &error)
                      : start_program(r, (pdlpy_program *)what, inputs, o, &error);
    if (!r->task && !PyErr_Occurred()) pdlpy_raise(r->engine, error);
    return r->task != NULL;
}

static run *run_new(pdlpy_engine *e) {
    run *r = PyObject_GC_New(run, (PyTypeObject *)e->state->run_type);
    if (!r) return NULL;
    memset((char *)r + sizeof(PyObject), 0, sizeof *r - sizeof(PyObject));
    Py_INCREF(e);
    r->engine = e;
    PyObject_GC_Track((PyObject *)r);
    return r;
}

PyObject *pdlpy_run_start(pdlpy_engine *e, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"program", "inputs", "output", "text",   "error_text",
                            "message", "done",   "record", "replay", "trace",
                            "cache",   "budget", "shown",  "alone",  "context",
                            "policies", "sandbox", NULL};
    PyObject *program, *inputs, *text, *error_text, *message, *done, *budget = Py_None;
    PyObject *shown = NULL, *context = NULL, *policies = NULL;
    pdl_task_options o = {0};
    int output = 0, trace = 0, alone = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOiOOOO|zzizOOpOO!z", names, &program, &inputs,
                                     &output, &text, &error_text, &message, &done, &o.record,
                                     &o.replay, &trace, &o.cache, &budget, &shown, &alone, &context,
                                     &PyList_Type, &policies, &o.sandbox))
        return NULL;
    PyObject *type = (PyObject *)Py_TYPE(program);
    bool fits = type == e->state->program_type
                    ? PyDict_Check(inputs)
                    : type == e->state->handle_type && PyTuple_Check(inputs);
    if (!fits) {
        PyErr_SetString(PyExc_TypeError, "a program with a dict, or a function with its arguments");
        return NULL;
    }
    if (budget != Py_None && !(o.budget = PyUnicode_AsUTF8AndSize(budget, NULL))) return NULL;
    const char **named = policies ? pdlpy_texts(policies, &o.n_policies) : NULL;
    if (policies && !named) return NULL;
    o.policies = named;
    run *r = pdlpy_enter(e) ? run_new(e) : NULL;
    if (!r) {
        free(named);
        return NULL;
    }
    pdlpy_sweep(e);
    o.output = (pdl_output)output;
    o.trace = trace != 0;
    o.trace_whole = trace > 1;
    o.alone = alone;
    keep(&r->text, text);
    keep(&r->error_text, error_text);
    keep(&r->message, message);
    keep(&r->done, done);
    keep(&r->shown, shown);
    keep(&r->budget, budget);
    bool ok = begin(r, program, inputs, &o);
    free(named);
    keep(&r->context, context); /* callbacks during begin() run in the context of the caller */
    pdlpy_leave(e);
    if (ok) return (PyObject *)r;
    Py_DECREF(r);
    return NULL;
}

static int run_traverse(PyObject *self, visitproc visit, void *arg) {
    run *r = (run *)self;
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(r->engine);
    Py_VISIT(r->text);
    Py_VISIT(r->error_text);
    Py_VISIT(r->message);
    Py_VISIT(r->done);
    Py_VISIT(r->shown);
    Py_VISIT(r->context);
    return 0;
}

static void clear_callbacks(run *r) {
    Py_CLEAR(r->text);
    Py_CLEAR(r->error_text);
    Py_CLEAR(r->message);
    Py_CLEAR(r->done);
    Py_CLEAR(r->shown);
    Py_CLEAR(r->context);
}

static int run_clear(PyObject *self) {
    clear_callbacks((run *)self);
    return 0;
}

static void end_run(pdlpy_engine *e, void *self) {
    run *r = self;
    PyTypeObject *type = Py_TYPE(self);
    (void)e;
    if (r->task) pdl_task_free(r->task);
    Py_XDECREF(r->budget);
    Py_DECREF(r->engine);
    PyObject_GC_Del(self);
    Py_DECREF(type);
}

/* Ends a task that is not referenced any more, without a callback. While another thread is in a
 * step of the engine, that step may still use the task and the run, so both end after the step. */
static void run_dealloc(PyObject *self) {
    run *r = (run *)self;
    PyObject_GC_UnTrack(self);
    clear_callbacks(r);
    pdlpy_release(r->engine, end_run, r);
}

/* --- Ctrl-C ------------------------------
 *
 * Python acts on a signal between two of its instructions, and one operation of an expression may
 * take seconds. So while a thread waits for a run, our own handler notifies the library and then
 * calls Python's handler. Ours is set only in the main thread, and only when Python's handler
 * raises KeyboardInterrupt there. */

static volatile int *watched; /* the flag of the run for which a thread waits */
static struct sigaction pythons;

static void on_ctrl_c(int number) {
    if (watched) *watched = number;
    pythons.sa_handler(number);
}

static bool raises_interrupt(void) {
    static PyObject *look, *usual, *number; /* kept, because an import is slow */
    if (!usual) {
        PyObject *signals = PyImport_ImportModule("_signal");
        look = signals ? PyObject_GetAttrString(signals, "getsignal") : NULL;
        number = look ? PyLong_FromLong(SIGINT) : NULL;
        usual = number ? PyObject_GetAttrString(signals, "default_int_handler") : NULL;
        Py_XDECREF(signals);
    }
    PyObject *now = usual ? PyObject_CallFunctionObjArgs(look, number, NULL) : NULL;
    bool raises = now && now == usual;
    PyErr_Clear();
    Py_XDECREF(now);
    return raises;
}

static bool watch_ctrl_c(run *r) {
    struct sigaction before, ours = {.sa_handler = on_ctrl_c};
    if (watched || !pdlpy_is_first_thread() || !raises_interrupt() ||
        sigaction(SIGINT, NULL, &before) != 0 || (before.sa_flags & SA_SIGINFO) ||
        before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)
        return false;
    pythons = before;
    ours.sa_mask = before.sa_mask;
    ours.sa_flags = before.sa_flags;
    watched = &r->interrupted;
    if (sigaction(SIGINT, &ours, NULL) == 0) return true;
    watched = NULL;
    return false;
}

/* Restores the handler of Ctrl-C. A handler that a callback has set meanwhile is kept. */
static void unwatch_ctrl_c(void) {
    struct sigaction now;
    if (sigaction(SIGINT, NULL, &now) == 0 && now.sa_handler == on_ctrl_c)
        sigaction(SIGINT, &pythons, NULL);
    watched = NULL;
}

/* --- methods ------------------------------ */

static PyObject *run_wait(PyObject *self, PyObject *args) {
    run *r = (run *)self;
    int timeout_ms;
    pdl_state state;
    if (!PyArg_ParseTuple(args, "i", &timeout_ms) || !pdlpy_enter(r->engine)) return NULL;
    Py_INCREF(self); /* a callback may release the last reference */
    bool watches = watch_ctrl_c(r);
    PyThreadState *unlocked = pdlpy_unlock();
    state = pdl_task_wait(r->task, timeout_ms);
    pdlpy_relock(unlocked);
    if (watches) unwatch_ctrl_c();
    pdlpy_leave(r->engine);
    Py_DECREF(self);
    return PyErr_CheckSignals() < 0 ? NULL : PyLong_FromLong(state);
}

static PyObject *run_cancel(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    PyThreadState *unlocked = pdlpy_unlock();
    pdl_task_cancel(r->task);
    pdlpy_relock(unlocked);
    pdlpy_leave(r->engine);
    Py_RETURN_NONE;
}

static PyObject *run_state(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(pdl_task_state(((run *)self)->task));
}

/* Returns the descriptor that another event loop watches, for a run that has a separate loop. */
static PyObject *run_fd(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromLong(pdl_task_fd(((run *)self)->task));
}

static PyObject *run_deadline_ms(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    int ms = pdl_task_deadline_ms(r->task);
    pdlpy_leave(r->engine);
    return PyLong_FromLong(ms);
}

static PyObject *taken(run *r, pdl_value *v, pdl_error *error) {
    pdlpy_place place = {r->engine, 0};
    PyObject *object = pdlpy_take(&place, v, error);
    pdlpy_leave(r->engine);
    return object;
}

/* Returns a handle of v instead of an object of Python: the conversion is slow, and v may never be
 * used. */
static PyObject *later(run *r, pdl_value *v, pdl_error *error) {
    PyObject *handle = v ? pdlpy_handle_new(r->engine, v) : pdlpy_raise(r->engine, error);
    pdlpy_leave(r->engine);
    return handle;
}

/* Releases the task, and with it the callbacks. Results that were read from it remain valid. */
static PyObject *run_release(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    pdl_task_free(r->task);
    r->task = NULL;
    pdlpy_leave(r->engine);
    clear_callbacks(r);
    Py_RETURN_NONE;
}

static PyObject *run_result(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    pdl_error *error = NULL;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    return taken(r, pdl_task_result(r->task, &error), error);
}

static PyObject *run_result_text(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    pdl_error *error = NULL;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    pdl_value *v = pdl_task_result(r->task, &error);
    pdl_value *text = v ? pdl_value_to_text(v, &error) : NULL;
    pdl_value_drop(v);
    return taken(r, text, error);
}

static PyObject *run_variables(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    pdl_error *error = NULL;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    return later(r, pdl_task_variables(r->task, &error), error);
}

static PyObject *run_messages(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    pdl_error *error = NULL;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    return later(r, pdl_task_context(r->task, &error), error);
}

/* Returns true when values of the engine have objects of Python. The garbage collector does not see
 * these objects, so a handle in a result keeps them, and what they refer to, for as long as the
 * result exists. Returns false for an engine that remembers origins, since it would remember every
 * converted value. */
static PyObject *run_has_objects(PyObject *self, PyObject *unused) {
    const pdlpy_engine *e = ((run *)self)->engine;
    (void)unused;
    return PyBool_FromLong(e->n_objects > 0 && !e->origins);
}

static PyObject *run_usage(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    (void)unused;
    return pdlpy_enter(r->engine) ? taken(r, pdl_task_usage(r->task), NULL) : NULL;
}

static PyObject *run_trace(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    pdl_error *error = NULL;
    (void)unused;
    if (!pdlpy_enter(r->engine)) return NULL;
    return taken(r, pdl_task_trace(r->task, &error), error);
}

static PyObject *run_score(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyFloat_FromDouble(pdl_task_score(((run *)self)->task));
}

static PyObject *run_error(PyObject *self, PyObject *unused) {
    run *r = (run *)self;
    const pdl_error *error = pdl_task_error(r->task);
    (void)unused;
    return error ? pdlpy_exception(r->engine, error) : Py_BuildValue("");
}

static PyMethodDef run_methods[] = {{"wait", run_wait, METH_VARARGS, NULL},
                                    {"cancel", run_cancel, METH_NOARGS, NULL},
                                    {"state", run_state, METH_NOARGS, NULL},
                                    {"fd", run_fd, METH_NOARGS, NULL},
                                    {"deadline_ms", run_deadline_ms, METH_NOARGS, NULL},
                                    {"result", run_result, METH_NOARGS, NULL},
                                    {"result_text", run_result_text, METH_NOARGS, NULL},
                                    {"variables", run_variables, METH_NOARGS, NULL},
                                    {"messages", run_messages, METH_NOARGS, NULL},
                                    {"has_objects", run_has_objects, METH_NOARGS, NULL},
                                    {"usage", run_usage, METH_NOARGS, NULL},
                                    {"score", run_score, METH_NOARGS, NULL},
                                    {"trace", run_trace, METH_NOARGS, NULL},
                                    {"error", run_error, METH_NOARGS, NULL},
                                    {"release", run_release, METH_NOARGS, NULL},
                                    {0}};
static PyType_Slot run_slots[] = {{Py_tp_traverse, run_traverse},
                                  {Py_tp_clear, run_clear},
                                  {Py_tp_dealloc, run_dealloc},
                                  {Py_tp_methods, run_methods},
                                  {0, NULL}};
static PyType_Spec run_spec = {
    "libpdl._pdl.Run", sizeof(run), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, run_slots};

bool pdlpy_add_run(PyObject *module, pdlpy_state *s) {
    return (s->run_type = pdlpy_add_type(module, &run_spec)) != NULL;
}
