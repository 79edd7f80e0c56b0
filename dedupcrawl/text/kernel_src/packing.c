/* A sketch of an identity as bytes, see identity_codec.py. */
#include "identity.h"

/* Write a number of up to 32 bits, a byte at a time. */
static void
put(Bits *bits, uint32_t number, int size)
{
    while (size > 0 && bits->at < 8 * sizeof bits->bytes) {
        int room = 8 - (int)(bits->at % 8), taken = size < room ? size : room;
        size -= taken;
        bits->bytes[bits->at / 8] |= (uint8_t)((number >> size & ((1u << taken) - 1)) << (room - taken));
        bits->at += (uint32_t)taken;
    }
}

/* Write sorted hashes as gaps, see identity_codec.py. */
static void
put_gaps(Bits *bits, const uint32_t *hashes, int count, int size, int is_whole)
{
    int low = size - !is_whole;
    uint32_t high = 0, mask = (UINT32_C(1) << size) - 1;
    for (int rest = count; rest; rest >>= 1) {
        low--;
    }
    for (int i = 0; i < count; i++) {
        uint32_t hash = hashes[i] & mask;
        bits->at += (hash >> low) - high;
        high = hash >> low;
        put(bits, 1, 1);
        put(bits, hash & ((UINT32_C(1) << low) - 1), low);
    }
}

/* Take a list of sorted hashes below a limit; raises an exception if it returns 0. */
static int
get_lowest(PyObject *list, uint32_t limit, Lowest *sample)
{
    if (!PyList_Check(list) || PyList_GET_SIZE(list) > MAX_VALUES + 1) {
        PyErr_SetString(PyExc_ValueError, "a sample is a list of a few hashes");
        return 0;
    }
    sample->count = (int)PyList_GET_SIZE(list);
    for (int i = 0; i < sample->count; i++) {
        unsigned long hash = PyLong_AsUnsignedLong(PyList_GET_ITEM(list, i));
        if (hash >= limit || (i && hash <= sample->hashes[i - 1])) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "the hashes of a sample are sorted, and smaller");
            }
            return 0;
        }
        sample->hashes[i] = (uint32_t)hash;
    }
    return 1;
}

static int
get_names(PyObject *dict, Names *names)
{
    Py_ssize_t at = 0;
    PyObject *key, *flags;
    names->count = 0;
    while (PyDict_Next(dict, &at, &key, &flags)) {
        unsigned long hash = PyLong_AsUnsignedLong(key), where = PyLong_AsUnsignedLong(flags);
        int i = names->count;
        if (PyErr_Occurred() || i == MAX_NAMES || hash >= NAME_LIMIT || where > 15 || !(where & 3)
            || (i && hash <= names->keys[i - 1])) {
            if (!PyErr_Occurred()) {
                PyErr_SetString(PyExc_ValueError, "names are a few sorted hashes, each with its flags");
            }
            return 0;
        }
        names->keys[i] = (uint32_t)hash;
        names->flags[i] = (uint8_t)where;
        names->count++;
    }
    return 1;
}

/* The strong values of a sample come first. */
static int
count_strong(const Lowest *values)
{
    int count = 0;
    while (count < values->count && values->hashes[count] < 1 << VALUE_BITS) {
        count++;
    }
    return count;
}

static int
cut_sample(Lowest *sample)
{
    int is_whole = sample->count <= MAX_VALUES;
    sample->count -= !is_whole;
    return is_whole;
}

static void
put_values(Bits *bits, const Lowest *values, int is_whole)
{
    int strong = count_strong(values);
    put_gaps(bits, values->hashes, strong, VALUE_BITS, is_whole);
    put_gaps(bits, values->hashes + strong, values->count - strong, VALUE_BITS, is_whole);
}

static void
put_counts(Bits *bits, const Lowest *values)
{
    put(bits, (uint32_t)count_strong(values), 3);
    put(bits, (uint32_t)(values->count - count_strong(values)), 3);
}

static void
put_name_flags(Bits *bits, const Names *names, int where, int has_body)
{
    for (int i = 0; i < names->count; i++) {
        int flags = names->flags[i], own = flags & (HEADING | TITLE);
        if (where == (HEADING | TITLE)) {
            put(bits, own == (HEADING | TITLE) ? 0 : own == HEADING ? 3 : 2, own == (HEADING | TITLE) ? 1 : 2);
        }
        if (names->keys[i] >= FILLER) {
            continue;
        }
        if (where & HEADING && !has_body) {
            put(bits, (flags & BODY) == BODY, 1);
        } else {
            put(bits, (uint32_t)(flags >> 2), 2);
        }
    }
}

void
pack_parts(Parts *parts, Bits *bits)
{
    Names *names = &parts->names;
    int bounds[4] = {0, 0, 0, names->count}, where = 0, has_body = parts->body >= 0;
    for (int i = 0; i < names->count; i++) {
        bounds[1] += names->keys[i] < TELLING;
        bounds[2] += names->keys[i] < FILLER;
        where |= names->flags[i] & (HEADING | TITLE);
    }
    int all_names = (parts->state & ALL_NAMES) != 0, all_inner = cut_sample(&parts->inner);
    int all_outer = cut_sample(&parts->outer), all_shorts = cut_sample(&parts->shorts);
    int has_beside = parts->outer.count || parts->shorts.count || parts->counts_size;
    put(bits, (uint32_t)(has_body << 7 | !!(parts->state & IS_BRIEF) << 6 | !!(parts->state & IS_LONG) << 5
                         | all_names << 4 | all_inner << 3 | has_beside << 2 | !!(where & HEADING) << 1 | !!(where & TITLE)),
        8);
    for (int i = 0; i < 3; i++) {
        put(bits, (uint32_t)(bounds[i + 1] - bounds[i]), 4);
    }
    put_counts(bits, &parts->inner);
    put(bits, parts->facts, 16);
    if (has_body) {
        put(bits, (uint32_t)parts->body, 16);
    }
    if (parts->counts_size % COUNTS_BYTES) {
        put(bits, SIGNED, 2);
        put(bits, (uint32_t)parts->counts[0] << 16 | (uint32_t)parts->counts[1] << 8 | parts->counts[2], SIGNATURE_BITS);
        put(bits, parts->counts_size > SIGNATURE_BYTES, 1);
        for (Py_ssize_t i = SIGNATURE_BYTES; i < parts->counts_size; i++) {
            put(bits, parts->counts[i], i - SIGNATURE_BYTES < SUMS_BYTES ? 8 : 2);
        }
    } else if (has_beside) {
        put(bits, (uint32_t)(parts->counts_size / COUNTS_BYTES), 2);
        put(bits, (uint32_t)(all_outer << 1 | all_shorts), 2);
        put_counts(bits, &parts->outer);
        put(bits, (uint32_t)parts->shorts.count, 3);
        for (Py_ssize_t i = 0; i < parts->counts_size; i++) {
            put(bits, parts->counts[i], i % COUNTS_BYTES < SUMS_BYTES ? 8 : 2);
        }
        if (!all_shorts) {
            put(bits, parts->count, 8);
            put(bits, parts->hash, 16);
        }
    }
    for (int i = 0; i < 3; i++) {
        put_gaps(bits, names->keys + bounds[i], bounds[i + 1] - bounds[i], HASH_BITS, all_names);
    }
    put_name_flags(bits, names, where, has_body);
    put_values(bits, &parts->inner, all_inner);
    put_values(bits, &parts->outer, all_outer);
    put_gaps(bits, parts->shorts.hashes, parts->shorts.count, VALUE_BITS + 1, all_shorts);
}

PyObject *
identity_pack(IdentityObject *Py_UNUSED(self), PyObject *args)
{
    PyObject *names, *inner, *outer, *shorts;
    Parts parts;
    Bits bits = {.at = 0};
    if (!PyArg_ParseTuple(args, "O!(OOI)(OII)(iy#)i", &PyDict_Type, &names, &inner, &outer, &parts.facts, &shorts,
                          &parts.count, &parts.hash, &parts.body, &parts.counts, &parts.counts_size,
                          &parts.state)
        || !get_names(names, &parts.names) || !get_lowest(inner, 2 << VALUE_BITS, &parts.inner)
        || !get_lowest(outer, 2 << VALUE_BITS, &parts.outer) || !get_lowest(shorts, 2 << VALUE_BITS, &parts.shorts)) {
        return NULL;
    }
    if (parts.facts > 0xFFFF || parts.count > 0xFF || parts.hash > 0xFFFF || parts.body > 0xFFFF
        || (parts.counts_size % COUNTS_BYTES && parts.counts_size != SIGNATURE_BYTES
            && parts.counts_size != SIGNATURE_BYTES + COUNTS_BYTES)
        || parts.counts_size > 2 * COUNTS_BYTES) {
        PyErr_SetString(PyExc_ValueError, "a hash or a number has too many bits");
        return NULL;
    }
    pack_parts(&parts, &bits);
    return PyBytes_FromStringAndSize((const char *)bits.bytes, (Py_ssize_t)(bits.at + 7) / 8);
}
