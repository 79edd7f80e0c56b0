/* The Python types of the kernel. */
#ifndef DEDUPCRAWL_TYPES_H
#define DEDUPCRAWL_TYPES_H

#include "kernel.h"

typedef struct {
    PyTypeObject *normalizer, *text, *hasher, *sketcher, *identity;
} ModuleState;

typedef struct {
    PyObject_HEAD
    PackedText packed;
} TextObject;

typedef struct {
    PyObject_HEAD
    PyTypeObject *text_type;
    PyObject *pack_in_python; /* called with a string that has combining characters */
    NormalizationTable table;
    Py_buffer packed, sizes, starts, expansions, folding;
} NormalizerObject;

typedef struct {
    PyObject_HEAD
    PyTypeObject *text_type;
    HashKeys keys;
    PyObject *hash_long_word; /* called with the packed points of a word, 4 bytes each, little-endian */
    Py_buffer letters, rising;
} HasherObject;

extern PyType_Spec normalizer_spec, text_spec, hasher_spec, sketcher_spec, identity_spec;

/* Raise the exception of an outcome other than DONE and NEEDS_PYTHON; returns 0. */
int raise_outcome(Outcome outcome);

/* Return a new reference to the type Text of the module that defines `type`. */
PyTypeObject *text_type_of(PyTypeObject *type);

/* Get a contiguous buffer of `count` items; a negative count accepts any number. Raises ValueError for another size. */
int get_array(PyObject *object, Py_buffer *view, Py_ssize_t item_size, Py_ssize_t count, const char *name);

/* Normalise a string; the caller frees the points. Raises an exception if it returns 0, and then owns nothing. */
int pack_string(NormalizerObject *normalizer, PyObject *string, PackedText *text);

/* Run a statement; without the GIL if the work is long. */
#define RUN(work, statement)               \
    do {                                   \
        if ((work) >= LONG_WORK) {         \
            Py_BEGIN_ALLOW_THREADS         \
            statement;                     \
            Py_END_ALLOW_THREADS           \
        } else {                           \
            statement;                     \
        }                                  \
    } while (0)

#endif
