/* _origins.c -- remembers the origins of values while Python has them.
 *
 * A value that a run gives to Python becomes an object of Python, which has no place for origins.
 * So an engine with a policy remembers each object that it returned, and recognises the object when
 * it is passed to the library again: as a variable, in a list, or under another name. When Python
 * makes another object from such an object, the origin of the new object is `data`. Objects that
 * Python shares (small numbers, true, the empty text) cannot have origins, so a container with such
 * a part has its origins as a whole.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "_pdl.h"

/* MANY_BYTES: unused texts are dropped when the remembered texts have so many bytes. */
enum { FEW = 1024, MAX_SMALL = 1024, MANY_BYTES = 64 << 20 };

/* Returns true when all equal values of Python may be this one object: None, a boolean, a small
 * integer, a text or bytes of at most one character, or the empty tuple. */
static bool is_shared(PyObject *object) {
    if (object == Py_None || PyBool_Check(object)) return true;
    if (PyLong_CheckExact(object)) {
        int overflow = 0;
        long long i = PyLong_AsLongLongAndOverflow(object, &overflow);
        return !overflow && i >= -MAX_SMALL && i <= MAX_SMALL;
    }
    if (PyUnicode_CheckExact(object)) return PyUnicode_GetLength(object) < 2;
    if (PyTuple_CheckExact(object)) return PyTuple_Size(object) == 0;
    return PyBytes_CheckExact(object) && PyBytes_Size(object) < 2;
}

static void drop(PyObject *capsule) {
    pdl_engine_drop_value(PyCapsule_GetContext(capsule), PyCapsule_GetPointer(capsule, NULL));
}

/* Returns the key of an object in `origins`. The key is the address of the object. With `inside`,
 * the key is the negative address, under which `origins` has the origins of the object's attributes
 * and of the results of its calls. */
static PyObject *key_of(PyObject *object, bool inside) {
    PyObject *address = PyLong_FromVoidPtr(object);
    if (!address || !inside) return address;
    PyObject *key = PyNumber_Negative(address);
    Py_DECREF(address);
    return key;
}

/* Returns true for a value that is used by calling back into Python. */
static bool is_foreign(const pdl_value *v) {
    pdl_kind kind = pdl_value_kind(v);
    return kind == PDL_KIND_FUNCTION || kind == PDL_KIND_OBJECT;
}

/* Returns an empty dict with the origins of v. An engine that kept v itself would keep the objects
 * of Python in it. */
static pdl_value *only_origins(const pdl_value *v) {
    pdl_value *kept = pdl_value_dict();
    pdl_value_add_origins(kept, v);
    return kept;
}

static size_t size_of(PyObject *object) {
    if (PyUnicode_CheckExact(object)) return (size_t)PyUnicode_GetLength(object);
    return PyBytes_CheckExact(object) ? (size_t)PyBytes_Size(object) : 0;
}

/* Returns what `origins` has of an object: a weak reference to an object that programs use by
 * reference, because such an object may be large, otherwise the object itself. */
static PyObject *hold(PyObject *object, bool by_reference) {
    PyObject *weak = by_reference ? PyWeakref_NewRef(object, NULL) : NULL;
    PyErr_Clear(); /* some types have no weak references */
    if (!weak) Py_INCREF(object);
    return weak ? weak : object;
}

/* Returns true when `held` is what `origins` has of the object. */
static bool refers_to(PyObject *held, PyObject *object) {
    return held == object || (PyWeakref_Check(held) && PyWeakref_GetObject(held) == object);
}

static bool is_unused(PyObject *held) {
    return PyWeakref_Check(held) ? PyWeakref_GetObject(held) == Py_None : Py_REFCNT(held) == 1;
}

/* Remembers the origins of the value v from which an object was made. With `inside`, v has the
 * origins of the object's attributes and of the results of its calls. Returns false with an
 * exception. */
static bool remember(pdlpy_engine *e, PyObject *object, bool inside, const pdl_value *v) {
    pdl_value *origins = only_origins(v);
    PyObject *kept = PyCapsule_New(origins, NULL, drop);
    if (!kept) pdl_value_drop(origins);
    bool ok = kept && PyCapsule_SetContext(kept, e->engine) == 0;
    PyObject *key = ok ? key_of(object, inside) : NULL,
             *held = key ? hold(object, inside || is_foreign(v)) : NULL,
             *pair = held ? PyTuple_Pack(2, held, kept) : NULL;
    ok = pair && PyDict_SetItem(e->origins, key, pair) == 0;
    e->n_bytes += size_of(object);
    Py_XDECREF(key);
    Py_XDECREF(held);
    Py_XDECREF(pair);
    Py_XDECREF(kept);
    return ok;
}

/* Adds the origins of a value of another engine. The names of labels can be read only when no other
 * thread uses that engine. */
static void add_foreign(pdlpy_engine *e, pdl_value *v, const pdlpy_engine *of,
                        const pdl_value *from) {
    bool is_busy = of->depth && of->thread != PyThread_get_thread_ident();
    pdl_engine_add_origins(e->engine, v, is_busy ? NULL : of->engine, from);
}

/* Returns a value with the origins that the engine `of` knows of the object with this key, or NULL.
 * Borrowed. */
static const pdl_value *known_of(const pdlpy_engine *of, PyObject *object, PyObject *key) {
    PyObject *pair = of->origins && key ? PyDict_GetItemWithError(of->origins, key) : NULL;
    if (!pair || !refers_to(PyTuple_GetItem(pair, 0), object)) return NULL;
    return PyCapsule_GetPointer(PyTuple_GetItem(pair, 1), NULL);
}

/* Adds the origins that the engine, or else another one of this process, knows of the object. */
static void recall(pdlpy_engine *e, PyObject *object, bool inside, pdl_value *v) {
    if (!v) return; /* an exception is set */
    PyObject *key = key_of(object, inside);
    const pdl_value *from = known_of(e, object, key);
    if (from) pdl_value_add_origins(v, from);
    for (const pdlpy_engine *o = e->state->engines; o && !from; o = o->next) {
        from = o == e ? NULL : known_of(o, object, key);
        if (from) add_foreign(e, v, o, from);
    }
    Py_XDECREF(key);
    PyErr_Clear();
}

void pdlpy_recall(pdlpy_engine *e, PyObject *object, pdl_value *v) {
    recall(e, object, false, v);
}

void pdlpy_recall_inside(pdlpy_engine *e, PyObject *object, pdl_value *v) {
    if (e->origins && object) recall(e, object, true, v);
}

PyObject *pdlpy_note(pdlpy_place *place, const pdl_value *v, PyObject *object) {
    pdl_origins origins = object ? pdl_value_origins(v) : PDL_ORIGINS_NONE;
    if (origins == PDL_ORIGINS_NONE) return object;
    if (is_shared(object)) {
        place->is_lost = true;
        return object;
    }
    if (origins == PDL_ORIGINS_PARTS && !place->is_lost) return object;
    if (remember(place->engine, object, false, v)) return object;
    Py_DECREF(object);
    return NULL;
}

/* Drops the entry that is the i-th item of `pairs` when nothing else has the object. */
static void drop_unused(pdlpy_engine *e, PyObject *pairs, Py_ssize_t i) {
    PyObject *item = PyList_GetItem(pairs, i);
    if (!is_unused(PyTuple_GetItem(PyTuple_GetItem(item, 1), 0))) return;
    (void)PyDict_DelItem(e->origins, PyTuple_GetItem(item, 0));
    Py_INCREF(Py_None);
    (void)PyList_SetItem(pairs, i, Py_None);
}

/* Begins with the newest entries: the parts of a container are remembered before it, and are
 * unused when the container is gone. */
void pdlpy_sweep(pdlpy_engine *e) {
    if (!e->origins) return;
    if (PyDict_Size(e->origins) < 2 * e->n_swept + FEW && e->n_bytes < MANY_BYTES) return;
    e->n_bytes = 0;
    PyObject *pairs = PyDict_Items(e->origins);
    for (Py_ssize_t i = pairs ? PyList_Size(pairs) : 0; i-- > 0;) drop_unused(e, pairs, i);
    PyErr_Clear();
    Py_XDECREF(pairs);
    e->n_swept = PyDict_Size(e->origins);
}

PyObject *pdlpy_track(PyObject *self, PyObject *unused) {
    pdlpy_state *s = ((pdlpy_engine *)self)->state;
    (void)unused;
    s->tracks = true;
    for (pdlpy_engine *e = s->engines; e; e = e->next)
        if (!e->origins && !(e->origins = PyDict_New())) return NULL;
    Py_RETURN_NONE;
}

/* Returns true when the object is a handle of another engine; v then gets the origins of its
 * value. */
static bool add_handle(pdlpy_engine *e, pdl_value *v, PyObject *object) {
    bool is_handle = (PyObject *)Py_TYPE(object) == e->state->handle_type;
    const pdlpy_handle *h = is_handle ? (pdlpy_handle *)object : NULL;
    if (!h || h->engine == e) return false;
    add_foreign(e, v, h->engine, h->value);
    return true;
}

/* Adds to v the origins of other objects from which it was made. */
static void add_all(pdlpy_place *place, pdl_value *v, PyObject *from) {
    for (Py_ssize_t i = 0; i < PyList_Size(from); i++) {
        if (add_handle(place->engine, v, PyList_GetItem(from, i))) continue;
        pdl_value *one = pdlpy_to_library(place, PyList_GetItem(from, i));
        if (pdl_value_origins(one) != PDL_ORIGINS_NONE) pdl_value_add_origins(v, one);
        pdl_value_drop(one);
        PyErr_Clear(); /* an object that is not a value has no origins */
    }
}

/* Implements derive(object, [objects that it was made of]). Returns the value of the object, with
 * the origins of all these objects, for runs that get the object later. Returns None when none of
 * them has origins. A function or object that was made in Python gets no origins itself, because no
 * text of a run has chosen it. Only its results get them; derive then returns an empty dict that
 * has these origins. */
PyObject *pdlpy_derive(PyObject *self, PyObject *args) {
    pdlpy_engine *e = (pdlpy_engine *)self;
    pdlpy_place place = {.engine = e};
    PyObject *object, *from, *handle = NULL;
    if (!PyArg_ParseTuple(args, "OO!", &object, &PyList_Type, &from) || !pdlpy_enter(e))
        return NULL;
    pdl_value *v = pdlpy_to_library(&place, object);
    bool inside = v && is_foreign(v);
    if (inside) {
        pdl_value_drop(v);
        v = pdl_value_dict();
    }
    if (v) add_all(&place, v, from);
    bool has = pdl_value_origins(v) != PDL_ORIGINS_NONE;
    bool ok = v && (!has || !e->origins || is_shared(object) ||
                    remember(e, object, inside, v));
    if (ok && has)
        handle = pdlpy_handle_new(e, v);
    else
        pdl_value_drop(v);
    pdlpy_leave(e);
    if (handle || !ok) return handle;
    Py_RETURN_NONE;
}
