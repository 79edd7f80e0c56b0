/* RecordBuilder: a string becomes the sketches and bucket keys of a record. The reference is fingerprinting.py. */
#include "types.h"

#include <stdlib.h>
#include <string.h>

#define MAX_KEYS (MAX_SLOTS + 1) /* at most a band a slot, and the hash of the text */

typedef struct {
    PyObject_HEAD
    NormalizerObject *normalizer;
    TextSketcherObject *sketcher;
    HashScheme text;      /* of the normalised text: the sketch of detector "exact" */
    HashScheme text_key;  /* of the bucket key of that sketch; its size is 0 if the sketch is no key */
    HashScheme band_key;  /* of the bucket keys of the bands */
    int is_text_first;    /* whether the sketch of the text is the first one */
    Py_ssize_t min_chars; /* shorter texts are compared by their hash only */
} RecordBuilderObject;

static int
get_person(const Py_buffer *given, HashScheme *scheme)
{
    if (given->len > (Py_ssize_t)sizeof scheme->person) {
        PyErr_Format(PyExc_ValueError, "a personalisation of %zd bytes: at most %zd are accepted", given->len,
                     (Py_ssize_t)sizeof scheme->person);
        return 0;
    }
    memcpy(scheme->person, given->buf, (size_t)given->len);
    return 1;
}

static PyObject *
maker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"normalizer",  "sketcher",    "seed",          "hash_size", "key_size",
                            "text_person", "band_person", "is_text_first", "min_chars", NULL};
    PyObject *normalizer, *sketcher;
    unsigned long long seed;
    int hash_size, key_size, is_text_first;
    Py_ssize_t min_chars;
    Py_buffer text_person = {.buf = NULL, .obj = NULL}, band_person;
    ModuleState *state = PyType_GetModuleState(type);
    if (state == NULL
        || !PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!Kiiz*y*pn", names, state->normalizer, &normalizer,
                                        state->sketcher, &sketcher, &seed, &hash_size, &key_size, &text_person,
                                        &band_person, &is_text_first, &min_chars)) {
        return NULL;
    }
    RecordBuilderObject *self = (RecordBuilderObject *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->normalizer = (NormalizerObject *)Py_NewRef(normalizer);
        self->sketcher = (TextSketcherObject *)Py_NewRef(sketcher);
        self->text = (HashScheme){.size = hash_size, .has_key = 1};
        for (int i = 0; i < 8; i++) {
            self->text.key[i] = (uint8_t)(seed >> 8 * i);
        }
        self->text_key.size = text_person.buf == NULL ? 0 : key_size;
        self->band_key.size = key_size;
        self->is_text_first = is_text_first;
        self->min_chars = min_chars;
        int is_size = hash_size >= 1 && hash_size <= MAX_DIGEST && key_size >= 1 && key_size <= MAX_DIGEST;
        if (!is_size) {
            PyErr_Format(PyExc_ValueError, "hashes of %d and %d bytes: 1 to %d are accepted", hash_size, key_size,
                         MAX_DIGEST);
        }
        if (!is_size || (text_person.buf != NULL && !get_person(&text_person, &self->text_key))
            || !get_person(&band_person, &self->band_key)) {
            Py_CLEAR(self);
        }
    }
    PyBuffer_Release(&text_person);
    PyBuffer_Release(&band_person);
    return (PyObject *)self;
}

DEFINE_DEALLOC(maker_dealloc, RecordBuilderObject, Py_XDECREF(self->normalizer); Py_XDECREF(self->sketcher);)

/* What is made of a text, before it becomes Python objects. */
typedef struct {
    uint8_t hash[MAX_DIGEST];
    int has_hash;
    uint8_t slots[MAX_SLOTS];
    Py_ssize_t shingles; /* 0: there are no slots */
    uint8_t keys[MAX_KEYS][MAX_DIGEST];
    Py_ssize_t key_count;
} Made;

static void
encode_and_hash(const PackedText *text, const HashScheme *scheme, char *encoded, Py_ssize_t size, uint8_t *hash)
{
    write_utf8(text, encoded);
    blake2b(scheme, encoded, size, hash);
}

/* Add the bucket key of a detector's key unless it is known. */
static void
add_key(Made *made, const HashScheme *scheme, const uint8_t *key, Py_ssize_t size)
{
    uint8_t *hashed = made->keys[made->key_count];
    blake2b(scheme, key, size, hashed);
    for (Py_ssize_t i = 0; i < made->key_count; i++) {
        if (memcmp(made->keys[i], hashed, (size_t)scheme->size) == 0) {
            return;
        }
    }
    made->key_count++;
}

static void
add_text_key(const RecordBuilderObject *self, Made *made)
{
    if (self->text_key.size && made->has_hash) {
        add_key(made, &self->text_key, made->hash, self->text.size);
    }
}

static void
add_keys(const RecordBuilderObject *self, Made *made)
{
    uint64_t bands[MAX_SLOTS];
    const SketchScheme *scheme = &self->sketcher->scheme;
    if (self->is_text_first) {
        add_text_key(self, made);
    }
    if (made->shingles) {
        hash_bands(made->slots, scheme, bands);
    }
    for (int band = 0; made->shingles && band < scheme->bands; band++) {
        uint8_t key[KEY_BYTES];
        for (int i = 0; i < KEY_BYTES; i++) {
            key[i] = (uint8_t)(bands[band] >> 8 * i);
        }
        add_key(made, &self->band_key, key, KEY_BYTES);
    }
    if (!self->is_text_first) {
        add_text_key(self, made);
    }
}

static PyObject *
keys_as_tuple(const RecordBuilderObject *self, const Made *made)
{
    PyObject *result = PyTuple_New(made->key_count);
    for (Py_ssize_t i = 0; result != NULL && i < made->key_count; i++) {
        PyObject *key = PyBytes_FromStringAndSize((const char *)made->keys[i], self->band_key.size);
        if (key == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, key);
        }
    }
    return result;
}

/* Return (text in UTF-8, whether only its hash is compared, sketches, keys). Takes over `encoded`. */
static PyObject *
new_record(const RecordBuilderObject *self, const PackedText *text, const Made *made, PyObject *encoded, int exact_only)
{
    PyObject *hash = PyBytes_FromStringAndSize((const char *)made->hash, self->text.size);
    PyObject *sketch = made->shingles ? sketch_as_bytes(self->sketcher->tag, text->length, made->shingles, made->slots,
                                                        self->sketcher->scheme.slots)
                                      : PyBytes_FromStringAndSize(NULL, 0);
    PyObject *keys = keys_as_tuple(self, made), *sketches = NULL, *result = NULL;
    if (hash != NULL && sketch != NULL && keys != NULL) {
        sketches = self->is_text_first ? PyTuple_Pack(2, hash, sketch) : PyTuple_Pack(2, sketch, hash);
    }
    if (sketches != NULL) {
        result = PyTuple_Pack(4, encoded, exact_only ? Py_True : Py_False, sketches, keys);
    }
    Py_XDECREF(hash);
    Py_XDECREF(sketch);
    Py_XDECREF(keys);
    Py_XDECREF(sketches);
    Py_DECREF(encoded);
    return result;
}

/* Whether a text has too little to be compared by anything but its hash; -1 with an exception. */
static int
is_exact_only(const RecordBuilderObject *self, const PackedText *text)
{
    Py_ssize_t least = self->min_chars < 1 ? 1 : self->min_chars;
    if (text->length < self->min_chars || 2 * text->letters < least) {
        return 1;
    }
    int repeated = 0;
    Outcome outcome;
    RUN(text->length, outcome = is_one_word_repeated(text, &repeated));
    return outcome == DONE ? repeated : raise_outcome(outcome) - 1;
}

static PyObject *
make_record(const RecordBuilderObject *self, const PackedText *text, int exact_only)
{
    Made made;
    made.shingles = made.key_count = 0;
    made.has_hash = 1;
    exact_only = exact_only ? 1 : is_exact_only(self, text);
    if (exact_only < 0 || (!exact_only && !sketch_points(self->sketcher, text, made.slots, &made.shingles))) {
        return NULL;
    }
    Py_ssize_t size = utf8_size(text);
    PyObject *encoded = PyBytes_FromStringAndSize(NULL, size);
    if (encoded == NULL) {
        return NULL;
    }
    RUN(size, encode_and_hash(text, &self->text, PyBytes_AS_STRING(encoded), size, made.hash));
    add_keys(self, &made);
    return new_record(self, text, &made, encoded, exact_only);
}

static PyObject *
maker_make(RecordBuilderObject *self, PyObject *const *args, Py_ssize_t count)
{
    PackedText text;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "make() takes a text, and whether only its hash is compared");
        return NULL;
    }
    int exact_only = PyObject_IsTrue(args[1]);
    if (exact_only < 0 || !pack_string(self->normalizer, args[0], &text)) {
        return NULL;
    }
    PyObject *result = text.length ? make_record(self, &text, exact_only) : Py_NewRef(Py_None);
    free(text.points);
    return result;
}

/* Whether sketches of these sizes are ones of this maker; an empty one is none. */
static int
are_sketches(const RecordBuilderObject *self, PyObject *hash, PyObject *sketch)
{
    Py_ssize_t size = PyBytes_GET_SIZE(sketch), hashed = PyBytes_GET_SIZE(hash);
    return (!hashed || hashed == self->text.size)
           && (!size
               || (size == HEADER_BYTES + self->sketcher->scheme.slots
                   && (uint8_t)PyBytes_AS_STRING(sketch)[0] == self->sketcher->tag));
}

static PyObject *
maker_keys(RecordBuilderObject *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyBytes_Check(args[0]) || !PyBytes_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "keys() takes the hash of a text, and a sketch");
        return NULL;
    }
    if (!are_sketches(self, args[0], args[1])) {
        Py_RETURN_NONE;
    }
    Made made;
    made.key_count = 0;
    made.shingles = PyBytes_GET_SIZE(args[1]) ? 1 : 0;
    made.has_hash = PyBytes_GET_SIZE(args[0]) ? 1 : 0;
    memcpy(made.hash, PyBytes_AS_STRING(args[0]), (size_t)PyBytes_GET_SIZE(args[0]));
    if (made.shingles) {
        memcpy(made.slots, PyBytes_AS_STRING(args[1]) + HEADER_BYTES, (size_t)self->sketcher->scheme.slots);
    }
    add_keys(self, &made);
    return keys_as_tuple(self, &made);
}

DEFINE_METHODS(maker_methods, METHOD("keys", maker_keys, METH_FASTCALL), METHOD("make", maker_make, METH_FASTCALL))

DEFINE_TYPE(record_builder_spec, "RecordBuilder", RecordBuilderObject, 0,
            {Py_tp_new, maker_new}, {Py_tp_dealloc, maker_dealloc}, {Py_tp_methods, maker_methods})
