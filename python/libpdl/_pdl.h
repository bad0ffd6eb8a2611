/* _pdl.h -- declarations that the files of the extension share. It uses only pdl.h and the limited
 * API.
 *
 * The interpreter lock is released while the library computes or waits (Engine.load_*, check_*,
 * step, Run.wait); every callback of the library takes it again. While it is released, another
 * thread may run Python code that reaches the same engine: pdlpy_enter refuses that, and objects
 * that die there meanwhile are kept in the trash of the engine until it is left.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef PDLPY_PDL_H
#define PDLPY_PDL_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030A0000
#include <Python.h>

#include <pdl.h>

typedef struct pdlpy_state {
    PyObject *engine_type, *program_type, *run_type, *request_type, *handle_type, *bound_type;
    PyObject *hooks; /* the module libpdl._hooks, once it is set */
} pdlpy_state;

typedef struct pdlpy_engine pdlpy_engine;

/* An object of the library that died while another thread used the engine. */
typedef struct pdlpy_trash {
    struct pdlpy_trash *next;
    void (*release)(pdlpy_engine *e, void *thing);
    void *thing;
} pdlpy_trash;

struct pdlpy_engine {
    PyObject_HEAD pdl_engine *engine;
    PyObject *module; /* keeps `state` */
    pdlpy_state *state;
    PyObject *held;  /* list: the handlers */
    /* dict: id of an object -> (object, the value that it was made of), so that a text that returns
     * is recognised; NULL: origins are not tracked */
    PyObject *origins;
    Py_ssize_t n_swept; /* size of `origins` when unused entries were last dropped */
    PyObject *owner; /* called with what handlers and functions raise or await */
    unsigned long thread;
    unsigned depth;
    pdlpy_trash *trash;
};

/* A handler, or an object of Python that is a value of the library. */
typedef struct pdlpy_bound {
    PyObject_HEAD pdlpy_engine *engine;
    PyObject *object;
    PyObject *type_name; /* set for an object while its value is made */
} pdlpy_bound;

typedef struct pdlpy_program {
    PyObject_HEAD pdlpy_engine *engine;
    pdl_program *program;
} pdlpy_program;

/* A value that Python has no type for: a function of a program, an object of code. */
typedef struct pdlpy_handle {
    PyObject_HEAD pdlpy_engine *engine;
    pdl_value *value;
} pdlpy_handle;

/* Where a value comes from or goes to. */
typedef struct pdlpy_place {
    pdlpy_engine *engine;
    unsigned depth;
    bool is_lost; /* a part has origins, and its object is a shared one: a small number, true */
} pdlpy_place;

/* --- the interpreter lock (_lock.c) --- */
/* Called around everything that computes or waits in the library. relock stops the thread once
 * Python ends. */
PyThreadState *pdlpy_unlock(void);
void pdlpy_relock(PyThreadState *state);
/* Called around every callback of the library. Both functions stop the thread once Python ends. */
typedef struct pdlpy_callback {
    PyGILState_STATE gil;
    bool was_inside; /* the thread had released the lock with pdlpy_unlock */
} pdlpy_callback;
pdlpy_callback pdlpy_callback_begin(void);
void pdlpy_callback_end(pdlpy_callback c);
/* Makes a callback: calls body(of), inside of the context variables of the run that it is for, if
 * that has separate ones (_contextvars.c). */
void pdlpy_call_back(pdlpy_engine *e, void (*body)(void *of), void *of);
/* Calls body in the given context; NULL: the current one. The lock is held. */
void pdlpy_within(PyObject *context, void (*body)(void *of), void *of);
/* Returns the context variables of a run, borrowed; NULL: it has none. user: that of its task. */
PyObject *pdlpy_context_of(const void *user);
/* Called once, when the module is made. Returns false with an exception. */
bool pdlpy_watch_end(void);

/* --- engine --- */
bool pdlpy_enter(pdlpy_engine *e);
void pdlpy_leave(pdlpy_engine *e);
/* Returns the texts of a list of str, which live as long as the list; the caller frees the array.
 * NULL with an exception. */
const char **pdlpy_texts(PyObject *list, size_t *n);
/* Releases a thing now, or when the engine is free. */
void pdlpy_release(pdlpy_engine *e, void (*release)(pdlpy_engine *e, void *thing), void *thing);
pdlpy_state *pdlpy_state_of(PyObject *object);

/* --- values --- */
/* Returns NULL with an exception. */
pdl_value *pdlpy_to_library(pdlpy_place *place, PyObject *object);
PyObject *pdlpy_to_python(pdlpy_place *place, const pdl_value *v);
PyObject *pdlpy_handle_new(pdlpy_engine *e, pdl_value *v); /* takes v */
/* Converts v. Takes it. NULL means that there is `error`, which it takes as well. */
PyObject *pdlpy_take(pdlpy_place *place, pdl_value *v, pdl_error *error);

/* --- where values are from (_origins.c) --- */
/* Remembers that v became the object, and returns the object. Takes the object; NULL stays NULL. */
PyObject *pdlpy_note(pdlpy_place *place, const pdl_value *v, PyObject *object);
/* Gives v, which was made of the object, the origins of what the object was made of. */
void pdlpy_recall(pdlpy_engine *e, PyObject *object, pdl_value *v);
/* Drops remembered objects that only the engine still has, when there are many. */
void pdlpy_sweep(pdlpy_engine *e);
/* These are methods of Engine: it remembers from now on; a value that was made of others. */
PyObject *pdlpy_track(PyObject *self, PyObject *unused);
PyObject *pdlpy_derive(PyObject *self, PyObject *args);

/* --- errors --- */
/* Sets the exception for an error, which it takes. Always NULL. */
PyObject *pdlpy_raise(pdlpy_engine *e, pdl_error *error);
PyObject *pdlpy_exception(pdlpy_engine *e, const pdl_error *error);
/* Sets an exception. kind is "usage", "limit", ... Always NULL. */
PyObject *pdlpy_fail(pdlpy_state *s, const char *kind, const char *message);
/* Returns hooks.name(argument), NULL with an exception. Takes argument. */
PyObject *pdlpy_hook(pdlpy_state *s, const char *name, PyObject *argument);

/* --- objects of Python as values --- */
/* Makes a value of an object, by reference. NULL with an exception. */
pdl_value *pdlpy_object_in(pdlpy_place *place, PyObject *object);
/* Returns the object that the value is, borrowed; NULL: it is not an object. */
PyObject *pdlpy_object_of(const pdl_value *v);

/* --- callbacks --- */
/* Makes a thing of Python that the library knows. */
pdlpy_bound *pdlpy_bound_new(pdlpy_engine *e, PyObject *object);
void pdlpy_called(void *user, pdl_request *request); /* a pdl_handler_fn; user: a pdlpy_bound */
/* Answers a request with a result, which it takes; NULL: with the exception that is set. */
void pdlpy_answer(pdlpy_bound *b, pdl_request *request, PyObject *result);
/* Returns the exception that is set, and clears it. */
PyObject *pdlpy_caught(void);
/* Implements Run(engine, program, options); see _run.c. */
PyObject *pdlpy_run_start(pdlpy_engine *e, PyObject *args, PyObject *kwargs);

/* These add the types of the files to the module. */
bool pdlpy_add_engine(PyObject *module, pdlpy_state *s);
bool pdlpy_add_run(PyObject *module, pdlpy_state *s);
bool pdlpy_add_calls(PyObject *module, pdlpy_state *s);
bool pdlpy_add_values(PyObject *module, pdlpy_state *s);
PyObject *pdlpy_add_type(PyObject *module, PyType_Spec *spec);

#endif
