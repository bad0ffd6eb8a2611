/* _pdl.h -- declarations that the files of the extension share. The extension uses only pdl.h and
 * the limited API.
 *
 * The interpreter lock is released while the library computes or waits (Engine.load_*, check_*,
 * step, Run.wait); every callback of the library takes it again. While it is released, another
 * thread may run Python code that uses the same engine; pdlpy_enter refuses that. Objects that the
 * other thread releases meanwhile are kept in the trash of the engine until the first thread has
 * left it.
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
    PyObject *hooks; /* the module libpdl._hooks; NULL until it is set */
    struct pdlpy_engine *engines; /* all that exist, linked by `next` */
    bool tracks; /* the engines remember origins, because one of them has a policy */
} pdlpy_state;

typedef struct pdlpy_engine pdlpy_engine;

/* An object of the library that was released while another thread used the engine. */
typedef struct pdlpy_trash {
    struct pdlpy_trash *next;
    void (*release)(pdlpy_engine *e, void *thing);
    void *thing;
} pdlpy_trash;

struct pdlpy_engine {
    PyObject_HEAD pdl_engine *engine;
    PyObject *module; /* a reference that keeps `state` alive */
    pdlpy_state *state;
    PyObject *held; /* list: the handlers */
    /* dict: id of an object -> (object, a value with its origins), which recognises an object that is
     * passed back; NULL when origins are not tracked */
    PyObject *origins;
    Py_ssize_t n_swept; /* the size of `origins` when unused entries were last dropped */
    size_t n_bytes;     /* about the size of what was remembered since then */
    size_t n_objects;   /* the objects of Python that values of the library have */
    /* called with exceptions that handlers and functions raise, and with awaitables that they
     * return */
    PyObject *owner;
    unsigned long thread;
    unsigned depth;
    pdlpy_trash *trash;
    pdlpy_engine *next;
};

/* A handler, or an object of Python that is a value of the library. */
typedef struct pdlpy_bound {
    PyObject_HEAD pdlpy_engine *engine;
    PyObject *object;
    PyObject *type_name; /* set while the value of an object is being made */
    bool is_value;       /* counted in n_objects */
} pdlpy_bound;

typedef struct pdlpy_program {
    PyObject_HEAD pdlpy_engine *engine;
    pdl_program *program;
} pdlpy_program;

/* A value for which Python has no type: a function of a program, or an object of Python code. */
typedef struct pdlpy_handle {
    PyObject_HEAD pdlpy_engine *engine;
    pdl_value *value;
} pdlpy_handle;

/* Where a value comes from, or where it goes. */
typedef struct pdlpy_place {
    pdlpy_engine *engine;
    unsigned depth;
    /* a part has origins, and its object is a shared one (a small number, true) that cannot have
     * them */
    bool is_lost;
    const char *without; /* a key of the outer dict that Python does not get; may be NULL */
} pdlpy_place;

/* --- the interpreter lock (_lock.c) --- */
/* Called before and after every operation that computes or waits in the library. relock stops the
 * thread when Python ends. */
PyThreadState *pdlpy_unlock(void);
void pdlpy_relock(PyThreadState *state);
/* The state of a callback of the library between pdlpy_callback_begin and pdlpy_callback_end, which
 * every callback calls. Both functions stop the thread when Python ends. */
typedef struct pdlpy_callback {
    PyGILState_STATE gil;
    bool was_inside; /* the thread had released the lock with pdlpy_unlock */
} pdlpy_callback;
pdlpy_callback pdlpy_callback_begin(void);
void pdlpy_callback_end(pdlpy_callback c);
/* Makes a callback: calls body(of) inside of the context variables of the run to which the callback
 * belongs, if the run has separate ones (_contextvars.c). */
void pdlpy_call_back(pdlpy_engine *e, void (*body)(void *of), void *of);
/* Calls body in the given context, or in the current context when it is NULL. The lock is held. */
void pdlpy_within(PyObject *context, void (*body)(void *of), void *of);
/* Returns the context variables of a run, borrowed. Returns NULL when the run has no separate
 * variables. user is the `user` of the run's task. */
PyObject *pdlpy_context_of(const void *user);
/* Called once, when the module is made. Returns false with an exception. */
bool pdlpy_watch_end(void);

/* --- engine --- */
bool pdlpy_enter(pdlpy_engine *e);
void pdlpy_leave(pdlpy_engine *e);
/* Returns the texts of a list of str, which live as long as the list; the caller frees the array.
 * Returns NULL when an exception is set. */
const char **pdlpy_texts(PyObject *list, size_t *n);
/* Releases an object of the library now, or when no thread uses the engine any more. */
void pdlpy_release(pdlpy_engine *e, void (*release)(pdlpy_engine *e, void *thing), void *thing);
pdlpy_state *pdlpy_state_of(PyObject *object);

/* --- values --- */
/* Returns NULL when an exception is set. */
pdl_value *pdlpy_to_library(pdlpy_place *place, PyObject *object);
PyObject *pdlpy_to_python(pdlpy_place *place, const pdl_value *v);
PyObject *pdlpy_handle_new(pdlpy_engine *e, pdl_value *v); /* takes v */
/* Converts v, which it takes, to an object. When v is NULL, raises `error`, which it takes as
 * well. */
PyObject *pdlpy_take(pdlpy_place *place, pdl_value *v, pdl_error *error);

/* --- where values are from (_origins.c) --- */
/* Remembers that the object was made from v, and returns the object. Takes the object. Returns NULL
 * for NULL. */
PyObject *pdlpy_note(pdlpy_place *place, const pdl_value *v, PyObject *object);
/* Adds to v the origins of the value from which the object was made. v was made from
 * that object. */
void pdlpy_recall(pdlpy_engine *e, PyObject *object, pdl_value *v);
/* Called when v is the result of calling an object, or of reading an attribute of the object. Adds
 * to v the origins of the values from which a cell of Python made the object. The object may be
 * NULL. */
void pdlpy_recall_inside(pdlpy_engine *e, PyObject *object, pdl_value *v);
/* Drops remembered objects when there are many. Only objects to which the engine alone has
 * references are dropped. */
void pdlpy_sweep(pdlpy_engine *e);
/* Methods of Engine: track makes all engines remember origins from now on; derive returns the value of an
 * object with the origins of the objects it was made of. */
PyObject *pdlpy_track(PyObject *self, PyObject *unused);
PyObject *pdlpy_derive(PyObject *self, PyObject *args);

/* --- errors --- */
/* Sets the exception for an error, which it takes. Always returns NULL. */
PyObject *pdlpy_raise(pdlpy_engine *e, pdl_error *error);
PyObject *pdlpy_exception(pdlpy_engine *e, const pdl_error *error);
/* Sets an exception. kind is "usage", "limit", ... Always returns NULL. */
PyObject *pdlpy_fail(pdlpy_state *s, const char *kind, const char *message);
/* Returns hooks.name(argument), or NULL when an exception is set. Takes argument. */
PyObject *pdlpy_hook(pdlpy_state *s, const char *name, PyObject *argument);

/* --- objects of Python as values --- */
/* Makes a value of an object, by reference. Returns NULL when an exception is set. */
pdl_value *pdlpy_object_in(pdlpy_place *place, PyObject *object);
/* Returns the object from which the value was made, borrowed. Returns NULL for a value that was not
 * made from an object. */
PyObject *pdlpy_object_of(const pdl_value *v);

/* --- callbacks --- */
/* Makes the struct by which the library refers to a handler or an object of Python. */
pdlpy_bound *pdlpy_bound_new(pdlpy_engine *e, PyObject *object);
void pdlpy_called(void *user, pdl_request *request); /* a pdl_handler_fn; user: a pdlpy_bound */
/* Answers a request with a result, which it takes. When the result is NULL, answers with the
 * exception that is set. */
void pdlpy_answer(pdlpy_bound *b, pdl_request *request, PyObject *result);
/* Returns the exception that is set, and clears it. */
PyObject *pdlpy_caught(void);
/* Returns true in the thread that the process began with, which handles the signals of Python. Each
 * system has a file for this function: _thread_linux.c, _thread_darwin.c. */
bool pdlpy_is_first_thread(void);
/* Implements Run(engine, program, options); see _run.c. */
PyObject *pdlpy_run_start(pdlpy_engine *e, PyObject *args, PyObject *kwargs);

/* The functions below add the types of their files to the module. */
bool pdlpy_add_engine(PyObject *module, pdlpy_state *s);
bool pdlpy_add_run(PyObject *module, pdlpy_state *s);
bool pdlpy_add_calls(PyObject *module, pdlpy_state *s);
bool pdlpy_add_values(PyObject *module, pdlpy_state *s);
PyObject *pdlpy_add_type(PyObject *module, PyType_Spec *spec);

#endif
