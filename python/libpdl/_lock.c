/* _lock.c -- releases the interpreter lock and takes it again, even while the process ends. A
 * daemon thread may be inside of the library when the main thread ends the process. At that moment
 * Python ends, and the C library ends all other libraries (libuv, OpenSSL). A thread that still
 * waits for a command or a connection would call code that has ended. So the threads inside of the
 * library are counted. While Python ends, a thread that reaches a callback stops forever, like any
 * thread that wants the lock. The process waits until no thread is inside any more, which takes a
 * moment, because each wait inside of the library returns after 50 ms at most. Only the thread that
 * ends Python continues, since objects that are released at the end of Python may call the library.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { LONGEST_WAIT_MS = 2000 };

static atomic_int inside;
static _Thread_local bool is_inside;

static struct {
    atomic_bool known;
    pthread_t thread; /* the thread that ends Python */
} last;

static void set_inside(bool now) {
    if (is_inside == now) return;
    is_inside = now;
    atomic_fetch_add(&inside, now ? 1 : -1);
}

static void stop_if_over(void) {
    bool may_continue = atomic_load(&last.known) && pthread_equal(last.thread, pthread_self());
    if (Py_IsInitialized() || may_continue) return;
    set_inside(false);
    for (;;) pause();
}

PyThreadState *pdlpy_unlock(void) {
    set_inside(true);
    return PyEval_SaveThread();
}

void pdlpy_relock(PyThreadState *state) {
    set_inside(false);
    PyEval_RestoreThread(state); /* this does not return while Python ends */
}

pdlpy_callback pdlpy_callback_begin(void) {
    pdlpy_callback c = {.was_inside = is_inside};
    set_inside(false);
    stop_if_over();
    c.gil = PyGILState_Ensure();
    return c;
}

void pdlpy_callback_end(pdlpy_callback c) {
    PyGILState_Release(c.gil);
    set_inside(c.was_inside);
    if (c.was_inside) stop_if_over();
}

/* --- the end ------------------------------ */

static void wait_for_others(void) {
    const struct timespec ms = {.tv_nsec = 1000000};
    for (int i = 0; i < LONGEST_WAIT_MS && atomic_load(&inside) > 0; i++) nanosleep(&ms, NULL);
}

/* Called after a fork: only the thread that forked is in the new process. */
static void forked(void) { atomic_store(&inside, is_inside ? 1 : 0); }

static PyObject *ends_here(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    last.thread = pthread_self();
    atomic_store(&last.known, true);
    Py_RETURN_NONE;
}

static PyMethodDef at_exit = {"ends_here", ends_here, METH_NOARGS, NULL};

bool pdlpy_watch_end(void) {
    PyObject *module = PyImport_ImportModule("atexit");
    PyObject *fn = module ? PyCFunction_NewEx(&at_exit, NULL, NULL) : NULL;
    PyObject *done = fn ? PyObject_CallMethod(module, "register", "O", fn) : NULL;
    bool ok = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(fn);
    Py_XDECREF(module);
    return ok && Py_AtExit(wait_for_others) == 0 && pthread_atfork(NULL, NULL, forked) == 0;
}
