/* The Python types of the kernel. */
#ifndef DEDUPCRAWL_TYPES_H
#define DEDUPCRAWL_TYPES_H

#include "kernel.h"

typedef struct {
    PyTypeObject *record_builder;
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

typedef struct {
    PyObject_HEAD
    PyTypeObject *result; /* a subclass of tuple */
    NormalizerObject *normalizer;
    HasherObject *hasher;
    Py_ssize_t characters, words; /* tokens of a shingle */
    unsigned char tag;            /* first byte of a sketch */
    SketchScheme scheme;
    Py_buffer rounds, orders, row_factors, band_offsets;
} TextSketcherObject;

extern PyType_Spec record_builder_spec, normalizer_spec, text_spec, hasher_spec, sketcher_spec, identity_spec;

/* Do something with the field of each type in a module's state; its specification is named alike. */
#define EACH_TYPE(DO) DO(record_builder) DO(normalizer) DO(text) DO(hasher) DO(sketcher) DO(identity)

/* Define the specification of a type, with more flags, by its slots. */
#define DEFINE_TYPE(SPEC, NAME, OBJECT, FLAGS, ...)                                    \
    static PyType_Slot SPEC##_slots[] = {__VA_ARGS__, {0, NULL}};                      \
    PyType_Spec SPEC = {                                                               \
        .name = "dedupcrawl.text._kernel." NAME,                                       \
        .basicsize = sizeof(OBJECT),                                                   \
        .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | (FLAGS),              \
        .slots = SPEC##_slots,                                                         \
    };

/* Define the function that frees an object, after statements that release what it has. */
#define DEFINE_DEALLOC(NAME, OBJECT, ...)    \
    static void NAME(OBJECT *self)           \
    {                                        \
        PyTypeObject *type = Py_TYPE(self);  \
        __VA_ARGS__                          \
        type->tp_free(self);                 \
        Py_DECREF(type);                     \
    }

#define DEFINE_METHODS(NAME, ...) static PyMethodDef NAME[] = {__VA_ARGS__, {NULL, NULL, 0, NULL}};
#define METHOD(NAME, FUNCTION, FLAGS) {NAME, (PyCFunction)(void (*)(void))(FUNCTION), FLAGS, NULL}

/* Raise the exception of an outcome other than DONE and NEEDS_PYTHON; returns 0. */
int raise_outcome(Outcome outcome);

/* Return a new reference to the type Text of the module that defines `type`. */
PyTypeObject *text_type_of(PyTypeObject *type);

/* Get a contiguous buffer of `count` items; a negative count accepts any number. Raises ValueError for another size. */
int get_array(PyObject *object, Py_buffer *view, Py_ssize_t item_size, Py_ssize_t count, const char *name);

/* Whether an object is a string that can be read; raises an exception if not. */
int is_string(PyObject *object);

/* Normalise a string; the caller frees the points. Raises an exception if it returns 0, and then owns nothing. */
int pack_string(NormalizerObject *normalizer, PyObject *string, PackedText *text);

/* Sketch the shingles of a text; no shingles have no sketch. Raises an exception if it returns 0. */
int sketch_points(TextSketcherObject *sketcher, const PackedText *text, uint8_t *slots, Py_ssize_t *shingles);

/* Return the bytes of a sketch: tag, length of the text, number of shingles, slots. See detectors/minhash.py. */
PyObject *sketch_as_bytes(unsigned char tag, Py_ssize_t length, Py_ssize_t shingles, const uint8_t *slots, int count);

/* lines.c; the tables are the same whoever makes them */
void make_crc_tables(void);
uint32_t extend_crc(uint32_t crc, const uint8_t *data, Py_ssize_t size);
uint32_t text_crc(PyObject *text);
typedef struct { /* a line in UTF-8; lone surrogates are encoded too */
    uint32_t crc;
    Py_ssize_t size;
} HashedLine;
HashedLine next_line(PyObject *text, Py_ssize_t *place);

/* line_counts.c */
PyObject *module_count_lines(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *module_without_lines(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* packing.c */
PyObject *module_unpack_sketch(PyObject *module, PyObject *sketch);
PyObject *module_names_apart(PyObject *module, PyObject *const *args, Py_ssize_t count);

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
