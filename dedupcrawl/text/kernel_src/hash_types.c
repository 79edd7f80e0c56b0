/* Hasher and Sketcher: packed points become tokens, shingles, a sketch and its keys. */
#include "types.h"

#include <stdlib.h>
#include <string.h>

static PyObject *
hasher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"letters", "rising", "shingle_base", "hash_long_word", NULL};
    PyObject *letters, *rising, *function;
    unsigned long long base;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOKO", names, &letters, &rising, &base, &function)) {
        return NULL;
    }
    HasherObject *self = (HasherObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->text_type = text_type_of(type);
    self->hash_long_word = Py_NewRef(function);
    if (!get_array(letters, &self->letters, sizeof(uint64_t), PACKED_LIMIT, "letters")
        || !get_array(rising, &self->rising, sizeof(uint64_t), MAX_LETTERS, "rising")) {
        Py_DECREF(self);
        return NULL;
    }
    self->keys = (HashKeys){.letters = self->letters.buf, .rising = self->rising.buf, .shingle_base = base};
    return (PyObject *)self;
}

DEFINE_DEALLOC(hasher_dealloc, HasherObject,
               Py_XDECREF(self->text_type); Py_XDECREF(self->hash_long_word); PyBuffer_Release(&self->letters);
               PyBuffer_Release(&self->rising);)

/* Return the points as bytes, 4 each, little-endian. */
static PyObject *
points_as_bytes(const uint32_t *points, Py_ssize_t count)
{
    PyObject *result = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint32_t));
    if (result != NULL) {
        unsigned char *out = (unsigned char *)PyBytes_AS_STRING(result);
        for (Py_ssize_t i = 0; i < 4 * count; i++) {
            out[i] = (unsigned char)(points[i / 4] >> 8 * (i % 4));
        }
    }
    return result;
}

/* Hash one word of more than MAX_LETTERS letters by the function of the hasher. */
static int
hash_long_word(HasherObject *hasher, const uint32_t *points, Py_ssize_t letters, uint64_t *hash)
{
    PyObject *word = points_as_bytes(points, letters);
    PyObject *number = word == NULL ? NULL : PyObject_CallOneArg(hasher->hash_long_word, word);
    Py_XDECREF(word);
    if (number == NULL) {
        return 0;
    }
    *hash = PyLong_AsUnsignedLongLong(number);
    Py_DECREF(number);
    return !PyErr_Occurred();
}

/* Hash the tokens of a text, long words included. If it returns 0, an exception is raised and the stream is freed. */
static int
hash_tokens_of(const PackedText *text, HasherObject *hasher, TokenStream *stream)
{
    Outcome outcome;
    memset(stream, 0, sizeof *stream);
    RUN(text->length, outcome = hash_tokens(text, &hasher->keys, stream));
    if (outcome != DONE) {
        raise_outcome(outcome);
        free_tokens(stream);
        return 0;
    }
    for (Py_ssize_t i = 0; i < stream->long_count; i++) {
        const Py_ssize_t *word = stream->long_words + 3 * i;
        if (!hash_long_word(hasher, text->points + word[1], word[2], stream->hashes + word[0])) {
            free_tokens(stream);
            return 0;
        }
    }
    return 1;
}

static TextObject *
as_text(HasherObject *hasher, PyObject *object)
{
    if (!Py_IS_TYPE(object, hasher->text_type)) {
        PyErr_Format(PyExc_TypeError, "a Text is needed, not %.100s", Py_TYPE(object)->tp_name);
        return NULL;
    }
    return (TextObject *)object;
}

/* Whether shingles may have these lengths; raises ValueError if not. */
static int
are_lengths(Py_ssize_t characters, Py_ssize_t words)
{
    if (characters < 1 || characters > MAX_SHINGLE || words < 1 || words > MAX_SHINGLE) {
        PyErr_Format(PyExc_ValueError, "shingles of %zd and %zd tokens: 1 to %d are accepted", characters, words,
                     MAX_SHINGLE);
        return 0;
    }
    return 1;
}

/* Return the hashes of all shingles of a text as a new array, or NULL with an exception. */
static uint64_t *
new_shingles(HasherObject *hasher, const PackedText *text, Py_ssize_t characters, Py_ssize_t words, Py_ssize_t *count)
{
    TokenStream stream;
    if (!hash_tokens_of(text, hasher, &stream)) {
        return NULL;
    }
    /* No token array is longer than the text, so the size does not overflow. */
    uint64_t *shingles = malloc(((size_t)stream.count + 1) * sizeof(uint64_t));
    if (shingles == NULL) {
        PyErr_NoMemory();
    } else {
        RUN(stream.count, *count = hash_shingles(&stream, characters, words, hasher->keys.shingle_base, shingles));
    }
    free_tokens(&stream);
    return shingles;
}

static PyObject *
hasher_tokens(HasherObject *self, PyObject *object)
{
    TextObject *text = as_text(self, object);
    TokenStream stream;
    if (text == NULL || !hash_tokens_of(&text->packed, self, &stream)) {
        return NULL;
    }
    PyObject *result = Py_BuildValue("(y#y#)", (const char *)stream.hashes,
                                     stream.count * (Py_ssize_t)sizeof(uint64_t), (const char *)stream.points,
                                     stream.count * (Py_ssize_t)sizeof(uint32_t));
    free_tokens(&stream);
    return result;
}

static PyObject *
hasher_shingles(HasherObject *self, PyObject *args)
{
    PyObject *text;
    Py_ssize_t characters, words, found = 0;
    if (!PyArg_ParseTuple(args, "O!nn", self->text_type, &text, &characters, &words)
        || !are_lengths(characters, words)) {
        return NULL;
    }
    uint64_t *shingles = new_shingles(self, &((TextObject *)text)->packed, characters, words, &found);
    if (shingles == NULL) {
        return NULL;
    }
    PyObject *result = PyBytes_FromStringAndSize((const char *)shingles, found * (Py_ssize_t)sizeof(uint64_t));
    free(shingles);
    return result;
}

DEFINE_METHODS(hasher_methods, METHOD("tokens", hasher_tokens, METH_O),
               METHOD("shingles", hasher_shingles, METH_VARARGS))

DEFINE_TYPE(hasher_spec, "Hasher", HasherObject, 0,
            {Py_tp_new, hasher_new}, {Py_tp_dealloc, hasher_dealloc}, {Py_tp_methods, hasher_methods})

static PyObject *
sketcher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"result", "tag", "normalizer", "hasher", "characters", "words", "rounds", "orders", "row_factors", "band_offsets", NULL};
    PyObject *result, *normalizer, *hasher, *rounds, *orders, *row_factors, *band_offsets;
    Py_ssize_t characters, words;
    unsigned char tag;
    ModuleState *state = PyType_GetModuleState(type);
    if (state == NULL
        || !PyArg_ParseTupleAndKeywords(args, kwargs, "O!bO!O!nnOOOO", names, &PyType_Type, &result, &tag, state->normalizer, &normalizer, state->hasher, &hasher, &characters,
                                        &words, &rounds, &orders, &row_factors, &band_offsets)
        || !are_lengths(characters, words)) {
        return NULL;
    }
    if (!PyType_IsSubtype((PyTypeObject *)result, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "the result must be a named tuple");
        return NULL;
    }
    TextSketcherObject *self = (TextSketcherObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->result = (PyTypeObject *)Py_NewRef(result);
    self->normalizer = (NormalizerObject *)Py_NewRef(normalizer);
    self->hasher = (HasherObject *)Py_NewRef(hasher);
    self->characters = characters;
    self->words = words;
    self->tag = tag;
    if (!get_array(rounds, &self->rounds, sizeof(uint64_t), ROUNDS, "rounds")
        || !get_array(orders, &self->orders, sizeof(uint64_t), -1, "orders")
        || !get_array(row_factors, &self->row_factors, sizeof(uint64_t), -1, "row_factors")
        || !get_array(band_offsets, &self->band_offsets, sizeof(uint64_t), -1, "band_offsets")) {
        Py_DECREF(self);
        return NULL;
    }
    Py_ssize_t slots = self->orders.len / 8, rows = self->row_factors.len / 8, bands = self->band_offsets.len / 8;
    if (slots < 2 || slots > MAX_SLOTS || (slots & (slots - 1)) || rows > slots || bands > slots
        || rows * bands > slots) {
        PyErr_Format(PyExc_ValueError, "%zd bands of %zd rows do not fit into %zd slots", bands, rows, slots);
        Py_DECREF(self);
        return NULL;
    }
    self->scheme = (SketchScheme){
        .slots = (int)slots,
        .bands = (int)bands,
        .rows = (int)rows,
        .rounds = self->rounds.buf,
        .orders = self->orders.buf,
        .row_factors = self->row_factors.buf,
        .band_offsets = self->band_offsets.buf,
    };
    while (1 << self->scheme.slot_bits < slots) {
        self->scheme.slot_bits++;
    }
    return (PyObject *)self;
}

DEFINE_DEALLOC(sketcher_dealloc, TextSketcherObject,
               Py_XDECREF(self->result); Py_XDECREF(self->normalizer); Py_XDECREF(self->hasher);
               PyBuffer_Release(&self->rounds); PyBuffer_Release(&self->orders); PyBuffer_Release(&self->row_factors);
               PyBuffer_Release(&self->band_offsets);)

static PyObject *
key_as_bytes(uint64_t key)
{
    unsigned char bytes[KEY_BYTES];
    for (int i = 0; i < KEY_BYTES; i++) {
        bytes[i] = (unsigned char)(key >> 8 * i);
    }
    return PyBytes_FromStringAndSize((const char *)bytes, KEY_BYTES);
}

/* Return a tuple of the distinct keys of a sketch. */
static PyObject *
keys_of(const uint8_t *slots, const SketchScheme *scheme)
{
    uint64_t keys[MAX_SLOTS];
    Py_ssize_t distinct = 0;
    hash_bands(slots, scheme, keys);
    for (int band = 0; band < scheme->bands; band++) {
        Py_ssize_t known = 0;
        while (known < distinct && keys[known] != keys[band]) {
            known++;
        }
        keys[known] = keys[band];
        distinct += known == distinct;
    }
    PyObject *result = PyTuple_New(distinct);
    for (Py_ssize_t i = 0; result != NULL && i < distinct; i++) {
        PyObject *key = key_as_bytes(keys[i]);
        if (key == NULL) {
            Py_CLEAR(result);
        } else {
            PyTuple_SET_ITEM(result, i, key);
        }
    }
    return result;
}

PyObject *
sketch_as_bytes(unsigned char tag, Py_ssize_t length, Py_ssize_t shingles, const uint8_t *slots, int count)
{
    unsigned char bytes[HEADER_BYTES + MAX_SLOTS];
    if ((uint64_t)length > UINT32_MAX || (uint64_t)shingles > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "a text of more than 2^32 characters has no sketch");
        return NULL;
    }
    bytes[0] = tag;
    for (int i = 0; i < 4; i++) {
        bytes[1 + i] = (unsigned char)(length >> 8 * i);
        bytes[5 + i] = (unsigned char)(shingles >> 8 * i);
    }
    memcpy(bytes + HEADER_BYTES, slots, (size_t)count);
    return PyBytes_FromStringAndSize((const char *)bytes, HEADER_BYTES + count);
}

/* Return the result (keys, sketch, None), or NULL with an exception. A named tuple is built as tuple.__new__ does. */
static PyObject *
new_result(TextSketcherObject *self, const PackedText *text, Py_ssize_t shingles, const uint8_t *slots)
{
    PyObject *keys = keys_of(slots, &self->scheme);
    PyObject *sketch = sketch_as_bytes(self->tag, text->length, shingles, slots, self->scheme.slots);
    PyObject *result = keys == NULL || sketch == NULL ? NULL : self->result->tp_alloc(self->result, 3);
    if (result == NULL) {
        Py_XDECREF(keys);
        Py_XDECREF(sketch);
        return NULL;
    }
    PyTuple_SET_ITEM(result, 0, keys);
    PyTuple_SET_ITEM(result, 1, sketch);
    PyTuple_SET_ITEM(result, 2, Py_NewRef(Py_None));
    return result;
}

int
sketch_points(TextSketcherObject *self, const PackedText *text, uint8_t *slots, Py_ssize_t *found)
{
    *found = 0;
    uint64_t *shingles = new_shingles(self->hasher, text, self->characters, self->words, found);
    if (shingles == NULL) {
        return 0;
    }
    if (*found) {
        RUN(*found, sketch_hashes(shingles, *found, &self->scheme, slots));
    }
    free(shingles);
    return 1;
}

/* Return the keys and the sketch of a text, or None for no shingles. */
static PyObject *
sketch_packed(TextSketcherObject *self, const PackedText *text)
{
    uint8_t slots[MAX_SLOTS];
    Py_ssize_t found;
    if (!sketch_points(self, text, slots, &found)) {
        return NULL;
    }
    if (found == 0) {
        Py_RETURN_NONE;
    }
    return new_result(self, text, found, slots);
}

static PyObject *
sketcher_sketch(TextSketcherObject *self, PyObject *object)
{
    TextObject *text = as_text(self->hasher, object);
    return text == NULL ? NULL : sketch_packed(self, &text->packed);
}

static PyObject *
sketcher_sketch_string(TextSketcherObject *self, PyObject *string)
{
    PackedText text;
    if (!pack_string(self->normalizer, string, &text)) {
        return NULL;
    }
    PyObject *result = sketch_packed(self, &text);
    free(text.points);
    return result;
}

DEFINE_METHODS(sketcher_methods, METHOD("sketch", sketcher_sketch, METH_O),
               METHOD("sketch_string", sketcher_sketch_string, METH_O))

DEFINE_TYPE(sketcher_spec, "Sketcher", TextSketcherObject, 0,
            {Py_tp_new, sketcher_new}, {Py_tp_dealloc, sketcher_dealloc}, {Py_tp_methods, sketcher_methods})
