/* Normalizer and Text: a string becomes packed points. */
#include "types.h"

#include <stdlib.h>
#include <string.h>

static PyObject *
normalizer_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"packed", "sizes", "starts", "expansions", "folding", "pack_in_python", NULL};
    PyObject *packed, *sizes, *starts, *expansions, *folding, *function;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOO", names, &packed, &sizes, &starts, &expansions, &folding,
                                     &function)) {
        return NULL;
    }
    NormalizerObject *self = (NormalizerObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->text_type = text_type_of(type);
    self->pack_in_python = Py_NewRef(function);
    if (!get_array(packed, &self->packed, sizeof(uint32_t), CODE_POINTS, "packed")
        || !get_array(sizes, &self->sizes, 1, CODE_POINTS, "sizes")
        || !get_array(starts, &self->starts, sizeof(uint32_t), CODE_POINTS, "starts")
        || !get_array(expansions, &self->expansions, sizeof(uint32_t), -1, "expansions")
        || !get_array(folding, &self->folding, sizeof(uint32_t), -1, "folding")) {
        Py_DECREF(self);
        return NULL;
    }
    self->table = (NormalizationTable){
        .packed = self->packed.buf,
        .sizes = self->sizes.buf,
        .starts = self->starts.buf,
        .expansions = self->expansions.buf,
        .expansion_count = self->expansions.len / (Py_ssize_t)sizeof(uint32_t),
        .folding = self->folding.buf,
        .folding_count = self->folding.len / (Py_ssize_t)sizeof(uint32_t),
    };
    return (PyObject *)self;
}

DEFINE_DEALLOC(normalizer_dealloc, NormalizerObject,
               Py_XDECREF(self->text_type); Py_XDECREF(self->pack_in_python); PyBuffer_Release(&self->packed);
               PyBuffer_Release(&self->sizes); PyBuffer_Release(&self->starts); PyBuffer_Release(&self->expansions);
               PyBuffer_Release(&self->folding);)

/* Take over the points that Python has normalised. */
static int
pack_in_python(NormalizerObject *self, PyObject *string, PackedText *text)
{
    Py_buffer points;
    Outcome outcome;
    PyObject *array = PyObject_CallOneArg(self->pack_in_python, string);
    if (array == NULL) {
        return 0;
    }
    int found = get_array(array, &points, sizeof(uint32_t), -1, "points");
    Py_DECREF(array);
    if (!found) {
        return 0;
    }
    Py_ssize_t length = points.len / (Py_ssize_t)sizeof(uint32_t);
    RUN(length, outcome = copy_points(&self->table, points.buf, length, text));
    PyBuffer_Release(&points);
    return outcome == DONE || raise_outcome(outcome);
}

int
is_string(PyObject *object)
{
    if (!PyUnicode_Check(object)) {
        PyErr_Format(PyExc_TypeError, "a string is needed, not %.100s", Py_TYPE(object)->tp_name);
        return 0;
    }
#if PY_VERSION_HEX < 0x030C0000
    return PyUnicode_READY(object) == 0; /* strings of old extension modules */
#else
    return 1;
#endif
}

int
pack_string(NormalizerObject *self, PyObject *string, PackedText *text)
{
    Outcome outcome;
    memset(text, 0, sizeof *text);
    if (!is_string(string)) {
        return 0;
    }
    RUN(PyUnicode_GET_LENGTH(string), outcome = pack_text(&self->table, string, text));
    if (outcome == DONE) {
        return 1;
    }
    free(text->points);
    memset(text, 0, sizeof *text);
    if (outcome != NEEDS_PYTHON) {
        return raise_outcome(outcome);
    }
    if (!pack_in_python(self, string, text)) {
        free(text->points);
        return 0;
    }
    return 1;
}

static PyObject *
normalizer_pack(NormalizerObject *self, PyObject *string)
{
    PackedText packed;
    if (!pack_string(self, string, &packed)) {
        return NULL;
    }
    TextObject *text = (TextObject *)self->text_type->tp_alloc(self->text_type, 0);
    if (text == NULL) {
        free(packed.points);
        return NULL;
    }
    text->packed = packed;
    return (PyObject *)text;
}

DEFINE_METHODS(normalizer_methods, METHOD("pack", normalizer_pack, METH_O))

DEFINE_TYPE(normalizer_spec, "Normalizer", NormalizerObject, 0,
            {Py_tp_new, normalizer_new}, {Py_tp_dealloc, normalizer_dealloc}, {Py_tp_methods, normalizer_methods})

DEFINE_DEALLOC(text_dealloc, TextObject, free(self->packed.points);)

static Py_ssize_t
text_length(TextObject *self)
{
    return self->packed.length;
}

static int
text_getbuffer(TextObject *self, Py_buffer *view, int flags)
{
    static const uint32_t nothing = 0;
    void *points = self->packed.points ? (void *)self->packed.points : (void *)&nothing;
    return PyBuffer_FillInfo(view, (PyObject *)self, points, self->packed.length * (Py_ssize_t)sizeof(uint32_t), 1, flags);
}

static PyObject *
text_letters(TextObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromSsize_t(self->packed.letters);
}

static PyObject *
text_encoded(TextObject *self, PyObject *Py_UNUSED(ignored))
{
    Py_ssize_t size = utf8_size(&self->packed);
    PyObject *result = PyBytes_FromStringAndSize(NULL, size);
    if (result != NULL) {
        RUN(size, write_utf8(&self->packed, PyBytes_AS_STRING(result)));
    }
    return result;
}

static PyObject *
text_is_one_word_repeated(TextObject *self, PyObject *Py_UNUSED(ignored))
{
    int repeated = 0;
    Outcome outcome;
    RUN(self->packed.length, outcome = is_one_word_repeated(&self->packed, &repeated));
    if (outcome != DONE) {
        raise_outcome(outcome);
        return NULL;
    }
    return PyBool_FromLong(repeated);
}

DEFINE_METHODS(text_methods, METHOD("encoded", text_encoded, METH_NOARGS),
               METHOD("is_one_word_repeated", text_is_one_word_repeated, METH_NOARGS))

static PyGetSetDef text_attributes[] = {
    {"letters", (getter)text_letters, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

DEFINE_TYPE(text_spec, "Text", TextObject, Py_TPFLAGS_DISALLOW_INSTANTIATION,
            {Py_tp_dealloc, text_dealloc}, {Py_sq_length, text_length}, {Py_bf_getbuffer, text_getbuffer},
            {Py_tp_methods, text_methods}, {Py_tp_getset, text_attributes})
