/* The extension module dedupcrawl.text._kernel; features.py uses it, and _kernel.pyi documents it. */
#include "types.h"

int
raise_outcome(Outcome outcome)
{
    if (outcome == NO_MEMORY) {
        PyErr_NoMemory();
    } else if (outcome != RAISED) {
        PyErr_SetString(PyExc_ValueError, "a table or a text has a value that is not a packed point");
    }
    return 0;
}

PyTypeObject *
text_type_of(PyTypeObject *type)
{
    ModuleState *state = PyType_GetModuleState(type);
    return state == NULL ? NULL : (PyTypeObject *)Py_NewRef(state->text);
}

int
get_array(PyObject *object, Py_buffer *view, Py_ssize_t item_size, Py_ssize_t count, const char *name)
{
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS) < 0) {
        return 0;
    }
    if (view->itemsize != item_size || (count >= 0 && view->len != count * item_size)
        || (uintptr_t)view->buf % (uintptr_t)item_size != 0) {
        PyErr_Format(PyExc_ValueError, "the array %s has %zd bytes with %zd an item", name, view->len, view->itemsize);
        PyBuffer_Release(view);
        return 0;
    }
    return 1;
}

/* utf8_length(text) -> int: the number of bytes of a string in UTF-8, with "?" for each lone surrogate */
static PyObject *
module_utf8_length(PyObject *Py_UNUSED(module), PyObject *text)
{
    if (!is_string(text)) {
        return NULL;
    }
    return PyLong_FromSsize_t(utf8_length(text));
}

/* least_hashes(hashes, factors) -> bytes: the least hash under each of the functions that the factors define */
static PyObject *
module_least_hashes(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    Py_buffer hashes, factors;
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "least_hashes() takes hashes and factors");
        return NULL;
    }
    if (!get_array(args[0], &hashes, sizeof(uint64_t), -1, "hashes")) {
        return NULL;
    }
    PyObject *result = NULL;
    if (get_array(args[1], &factors, sizeof(uint64_t), -1, "factors")) {
        Py_ssize_t number = hashes.len / 8, functions = factors.len / 8;
        uint64_t *least = PyMem_Calloc((size_t)functions + 1, sizeof(uint64_t));
        if (least == NULL) {
            PyErr_NoMemory();
        } else {
            RUN(number, least_hashes(hashes.buf, number, factors.buf, functions, least));
            result = PyBytes_FromStringAndSize((const char *)least, functions * 8);
            PyMem_Free(least);
        }
        PyBuffer_Release(&factors);
    }
    PyBuffer_Release(&hashes);
    return result;
}

/* weigh_bits(hashes, weights or None) -> bytes: 64 int64, the total weight of the hashes with each bit, lowest first */
static PyObject *
module_weigh_bits(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    Py_buffer hashes, weights = {.buf = NULL, .obj = NULL};
    int64_t sums[64];
    if (count != 2) {
        PyErr_SetString(PyExc_TypeError, "weigh_bits() takes hashes and weights");
        return NULL;
    }
    if (!get_array(args[0], &hashes, sizeof(uint64_t), -1, "hashes")) {
        return NULL;
    }
    Py_ssize_t number = hashes.len / 8;
    if (args[1] != Py_None && !get_array(args[1], &weights, sizeof(int64_t), number, "weights")) {
        PyBuffer_Release(&hashes);
        return NULL;
    }
    RUN(number, weigh_bits(hashes.buf, weights.buf, number, sums));
    PyBuffer_Release(&hashes);
    if (weights.obj != NULL) {
        PyBuffer_Release(&weights);
    }
    return PyBytes_FromStringAndSize((const char *)sums, sizeof sums);
}

/* relate_sketches(sketch, others, tag, slots, chance, similarity, length_ratio, length_slack, containment) -> bytes: how
 * the sketch of a new page relates to each of the others, which stand one after the other */
static PyObject *
module_relate_sketches(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer sketch, others;
    unsigned char tag;
    int slots;
    MatchBounds bounds;
    if (!PyArg_ParseTuple(args, "y*y*biddddd", &sketch, &others, &tag, &slots, &bounds.chance, &bounds.similarity,
                          &bounds.length_ratio, &bounds.length_slack, &bounds.containment)) {
        return NULL;
    }
    PyObject *result = NULL;
    Py_ssize_t size = HEADER_BYTES + (Py_ssize_t)slots;
    if (slots < 1 || slots > MAX_SLOTS || sketch.len != size || others.len % size) {
        PyErr_SetString(PyExc_ValueError, "relate_sketches() takes sketches of as many slots");
    } else {
        result = PyBytes_FromStringAndSize(NULL, others.len / size);
    }
    if (result != NULL) {
        relate_sketches(sketch.buf, others.buf, others.len / size, tag, slots, &bounds,
                        (uint8_t *)PyBytes_AS_STRING(result));
    }
    PyBuffer_Release(&sketch);
    PyBuffer_Release(&others);
    return result;
}

static PyMethodDef functions[] = {
    METHOD("utf8_length", module_utf8_length, METH_O),
    METHOD("least_hashes", module_least_hashes, METH_FASTCALL),
    METHOD("weigh_bits", module_weigh_bits, METH_FASTCALL),
    METHOD("count_lines", module_count_lines, METH_FASTCALL),
    METHOD("without_lines", module_without_lines, METH_FASTCALL),
    METHOD("relate_sketches", module_relate_sketches, METH_VARARGS),
    METHOD("unpack_sketch", module_unpack_sketch, METH_O),
    METHOD("names_apart", module_names_apart, METH_FASTCALL),
    {NULL, NULL, 0, NULL},
};

static int
add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type != NULL && PyModule_AddType(module, *type) == 0;
}

static int
module_exec(PyObject *module)
{
    ModuleState *state = PyModule_GetState(module);
    make_crc_tables();
#define ADD(TYPE)                                              \
    if (!add_type(module, &TYPE##_spec, &state->TYPE)) {       \
        return -1;                                             \
    }
    EACH_TYPE(ADD)
    return PyModule_AddIntConstant(module, "VERSION", KERNEL_VERSION);
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    ModuleState *state = PyModule_GetState(module);
#define VISIT(TYPE) Py_VISIT(state->TYPE);
    EACH_TYPE(VISIT)
    return 0;
}

static int
module_clear(PyObject *module)
{
    ModuleState *state = PyModule_GetState(module);
#define CLEAR(TYPE) Py_CLEAR(state->TYPE);
    EACH_TYPE(CLEAR)
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dedupcrawl.text._kernel",
    .m_size = sizeof(ModuleState),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC
PyInit__kernel(void)
{
    return PyModuleDef_Init(&definition);
}
