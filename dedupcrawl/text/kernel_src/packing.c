/* A sketch of an identity as a stream of bits, and what stands in one. The reference is identity_codec.py, and bits.py. */
#include "identity.h"

enum { SIZE_BITS = 5, COUNT_BITS = 8, WIDTH_BITS = 4, PARAMETER_BITS = 4, FILLER_BITS = 2, PLACE_BITS = 4 };

/* -- writing ------------------------------------------------------------------------------------------------------- */

static void
put(Packed *packed, unsigned int number, int bits)
{
    packed->pending = packed->pending << bits | number;
    packed->count += bits;
    while (packed->count >= 8) {
        packed->count -= 8;
        packed->bytes[packed->size++] = (uint8_t)(packed->pending >> packed->count);
    }
}

static int
bit_length(unsigned int number)
{
    int bits = 0;
    while (number >> bits) {
        bits++;
    }
    return bits;
}

static void
put_sorted(Packed *packed, const uint16_t *numbers, int count)
{
    int length = count ? bit_length(numbers[count - 1] / (unsigned int)count) : 0, bits = length ? length - 1 : 0;
    unsigned int next = 0;
    if (count) {
        put(packed, (unsigned int)bits, PARAMETER_BITS);
    }
    for (int i = 0; i < count; i++) {
        unsigned int difference = numbers[i] - next;
        for (unsigned int quotient = difference >> bits; quotient; quotient--) {
            put(packed, 1, 1);
        }
        put(packed, 0, 1);
        put(packed, difference & ((1u << bits) - 1), bits);
        next = numbers[i] + 1u;
    }
}

static void
put_counts(Packed *packed, int size, uint32_t number, unsigned int total)
{
    int is_whole = number == (uint32_t)size;
    put(packed, (unsigned int)size, SIZE_BITS);
    put(packed, !is_whole, 1);
    if (!is_whole) {
        put(packed, number, COUNT_BITS);
        put(packed, total, number ? FULL_BITS : 0);
    }
}

static void
put_values(Packed *packed, const Sample *sample)
{
    uint16_t hashes[MAX_VALUES];
    if (sample->size) {
        put_counts(packed, sample->size, sample->number, sample->total);
        for (int i = 0; i < sample->size; i++) {
            hashes[i] = sample->hashes[i] | sample->flags[i];
        }
        put_sorted(packed, hashes, sample->size);
    }
}

static void
put_sentences(Packed *packed, const Sample *sample)
{
    unsigned int all = 1;
    put_counts(packed, sample->size, sample->number, sample->total);
    for (int i = 0; i < sample->size; i++) {
        all |= sample->hashes[i];
    }
    int width = bit_length(all);
    put(packed, (unsigned int)width - 1, WIDTH_BITS);
    for (int i = 0; i < sample->size; i++) {
        put(packed, sample->hashes[i], width);
    }
}

static int
place_bits(uint32_t key)
{
    return key < FILLER ? PLACE_BITS : FILLER_BITS;
}

void
pack_parts(const Parts *parts, Packed *packed)
{
    const Names *names = &parts->names->names;
    uint16_t keys[MAX_NAMES];
    put(packed, parts->is_brief, 1);
    put(packed, parts->is_article, 1);
    put(packed, parts->body > 0, 1);
    put(packed, parts->inner.size > 0, 1);
    put(packed, parts->outer.size > 0, 1);
    put(packed, parts->shorts.size > 0, 1);
    put(packed, parts->facts, FULL_BITS);
    put(packed, parts->around, FULL_BITS);
    put(packed, parts->body, parts->body ? FULL_BITS : 0);
    put_counts(packed, names->count, parts->names->is_whole ? (uint32_t)names->count : MAX_COUNT, 0);
    for (int i = 0; i < names->count; i++) {
        keys[i] = (uint16_t)names->keys[i];
    }
    put_sorted(packed, keys, names->count);
    put_values(packed, &parts->inner);
    put_values(packed, &parts->outer);
    put_values(packed, &parts->shorts);
    put_sentences(packed, &parts->sentences);
    for (int i = 0; i < names->count; i++) {
        put(packed, names->flags[i], place_bits(names->keys[i]));
    }
    put(packed, 0, packed->count ? 8 - packed->count : 0);
}

/* -- reading ------------------------------------------------------------------------------------------------------- */

/* A stream of bits that is read. `is_sound` becomes 0 where it ends too early, or no writer made it. */
typedef struct {
    const uint8_t *bytes;
    Py_ssize_t left, size; /* bits */
    int is_sound;
} Unread;

static unsigned int
get(Unread *unread, int bits)
{
    unsigned int number = 0;
    unread->is_sound &= bits <= unread->left;
    size_t at = (size_t)(unread->size - unread->left);
    if (unread->is_sound && unread->left >= 24) { /* three bytes hold 16 bits that begin anywhere in the first */
        const uint8_t *bytes = unread->bytes + at / 8;
        number = (unsigned int)bytes[0] << 16 | (unsigned int)bytes[1] << 8 | bytes[2];
        unread->left -= bits;
        return number >> (24 - (int)(at % 8) - bits) & ((1u << bits) - 1);
    }
    while (unread->is_sound && bits) {
        at = (size_t)(unread->size - unread->left);
        int here = 8 - (int)(at % 8), taken = bits < here ? bits : here;
        number = number << taken | (unread->bytes[at / 8] >> (here - taken) & ((1u << taken) - 1));
        bits -= taken;
        unread->left -= taken;
    }
    return number;
}

static void
get_sorted(Unread *unread, uint16_t *numbers, int count)
{
    int bits = count ? (int)get(unread, PARAMETER_BITS) : 0;
    unsigned int next = 0;
    for (int i = 0; unread->is_sound && i < count; i++) {
        while (get(unread, 1)) {
            next += 1u << bits;
            unread->is_sound &= next <= UINT16_MAX;
        }
        next += get(unread, bits);
        unread->is_sound &= next <= UINT16_MAX;
        numbers[i] = (uint16_t)next++;
    }
}

static void
get_sentences(Unread *unread, uint16_t *numbers, int count)
{
    int width = 1 + (int)get(unread, WIDTH_BITS);
    for (int i = 0; i < count; i++) {
        numbers[i] = (uint16_t)get(unread, width);
    }
}

typedef enum { OF_NAMES, OF_VALUES, OF_SHORTS, OF_SENTENCES } SampleKind;

/* Read a sample; the flags of short facts stay in their hashes. */
static void
get_sample(Unread *unread, SampleKind kind, Sample *sample)
{
    int most = kind == OF_NAMES ? MAX_NAMES : kind == OF_SENTENCES ? MAX_SENTENCES : MAX_VALUES;
    int size = (int)get(unread, SIZE_BITS), has_more = (int)get(unread, 1);
    sample->size = size;
    sample->number = (uint32_t)size;
    if (has_more) {
        sample->number = get(unread, COUNT_BITS);
        sample->total = (uint16_t)get(unread, sample->number ? FULL_BITS : 0);
    }
    unread->is_sound &=
        size <= most && (!has_more || sample->number > (uint32_t)size || (sample->number == 0 && size));
    if (unread->is_sound && kind == OF_SENTENCES) {
        get_sentences(unread, sample->hashes, size);
    } else if (unread->is_sound) {
        get_sorted(unread, sample->hashes, size);
    }
    for (int i = 0; unread->is_sound && !has_more && i < size; i++) {
        sample->total = (uint16_t)(sample->total + (sample->hashes[i] & (kind == OF_SHORTS ? ~BESIDE : ~0)));
    }
}

/* A sketch that was read. */
typedef struct {
    unsigned int is_brief, is_article, facts, around, body;
    Sample samples[SAMPLES];
} Unpacked;

static const SampleKind kinds[SAMPLES] = {OF_NAMES, OF_VALUES, OF_VALUES, OF_SHORTS, OF_SENTENCES};

static int
unpack_parts(Unread *unread, Unpacked *found)
{
    int has[SAMPLES] = {1, 0, 0, 0, 1};
    Sample *names = &found->samples[0];
    memset(found, 0, sizeof *found);
    found->is_brief = get(unread, 1);
    found->is_article = get(unread, 1);
    int has_body = (int)get(unread, 1);
    for (int i = 1; i < SAMPLES - 1; i++) {
        has[i] = (int)get(unread, 1);
    }
    found->facts = get(unread, FULL_BITS);
    found->around = get(unread, FULL_BITS);
    found->body = get(unread, has_body ? FULL_BITS : 0);
    for (int i = 0; i < SAMPLES && unread->is_sound; i++) {
        if (has[i]) {
            get_sample(unread, kinds[i], &found->samples[i]);
        }
    }
    for (int i = 0; i < names->size && unread->is_sound; i++) {
        names->flags[i] = (uint16_t)get(unread, place_bits(names->hashes[i]));
    }
    unread->is_sound &= unread->left < 8 && get(unread, (int)unread->left) == 0;
    return unread->is_sound;
}

/* -- comparing ----------------------------------------------------------------------------------------------------- */

enum { LAYOUT_BYTES = 4, REMOVED_BYTES = 6, HAS_MORE = 0x80, MAX_FILE_BYTES = 17 }; /* as in signatures.py */

/* The sketch in a stored identity; of size 0 if it has none, or is damaged. */
static Span
sketch_within(const uint8_t *identity, Py_ssize_t size)
{
    const Span none = {identity, 0};
    if (size <= LAYOUT_BYTES) {
        return none;
    }
    Span sketch = {identity + LAYOUT_BYTES, size - LAYOUT_BYTES};
    if (identity[0] & HAS_MORE) { /* the signature of the removed text is behind it */
        sketch.size -= REMOVED_BYTES;
    }
    if (identity[1] & HAS_MORE && sketch.size > 0) { /* that of files, too, and its size */
        int files = sketch.bytes[sketch.size - 1];
        int is_sound = files % 2 == 1 && files > 1 && files <= MAX_FILE_BYTES;
        sketch.size = is_sound ? sketch.size - files - 1 : 0;
    }
    return sketch.size > 0 ? sketch : none;
}

/* Whether a sample has a hash twice, which no writer makes. */
static int
has_twice(const Sample *sample, unsigned int ignored)
{
    uint64_t seen[16] = {0}; /* a bit for ten bits of each hash: most are compared with no other */
    for (int i = 0; i < sample->size; i++) {
        unsigned int hash = sample->hashes[i] & ~ignored, at = hash >> 1 & 1023;
        int may_be_known = seen[at / 64] >> at % 64 & 1;
        for (int j = 0; may_be_known && j < i; j++) {
            if ((sample->hashes[j] & ~ignored) == hash) {
                return 1;
            }
        }
        seen[at / 64] |= (uint64_t)1 << at % 64;
    }
    return 0;
}

/* What is compared of the names of a page, and of the values in its main text. */
typedef struct {
    uint16_t hashes[MAX_NAMES], own[MAX_NAMES]; /* all names, sorted; those in the main text if all names are known */
    int count, own_count, numbers;              /* the first ones are numbers */
    unsigned int body;
    uint16_t values[MAX_VALUES]; /* sorted */
    int value_count;
    int last_value; /* a higher one may be on the page without being among them */
} ComparedNames;

static int
read_compared_names(const uint8_t *identity, Py_ssize_t size, ComparedNames *found)
{
    Unpacked unpacked;
    Span sketch = sketch_within(identity, size);
    Unread unread = {sketch.bytes, 8 * sketch.size, 8 * sketch.size, 1};
    if (!unpack_parts(&unread, &unpacked) || has_twice(&unpacked.samples[3], BESIDE)
        || has_twice(&unpacked.samples[4], 0)) {
        return 0;
    }
    const Sample *names = &unpacked.samples[0];
    int is_whole = names->number == (uint32_t)names->size;
    found->count = names->size;
    found->own_count = found->numbers = 0;
    found->body = unpacked.body;
    for (int i = 0; i < names->size; i++) {
        found->hashes[i] = names->hashes[i];
        found->numbers += names->hashes[i] < TELLING;
        if (is_whole && names->flags[i] & MAIN) {
            found->own[found->own_count++] = names->hashes[i];
        }
    }
    const Sample *values = &unpacked.samples[1];
    found->value_count = values->size;
    for (int i = 0; i < values->size; i++) {
        found->values[i] = (uint16_t)values->hashes[i];
    }
    int has_all = values->number == (uint32_t)values->size;
    found->last_value = has_all ? UINT16_MAX : values->size ? values->hashes[values->size - 1] : -1;
    return 1;
}

/* Whether all of some sorted hashes are among others. */
static int
are_within(const uint16_t *some, int count, const uint16_t *others, int other_count)
{
    int at = 0;
    for (int i = 0; i < count; i++, at++) {
        while (at < other_count && others[at] < some[i]) {
            at++;
        }
        if (at == other_count || others[at] != some[i]) {
            return 0;
        }
    }
    return 1;
}

/* Whether at least half of the values of a page that could be among those of another, and one, are not. */
static int
has_many_values(const ComparedNames *mine, const ComparedNames *other)
{
    int seen = 0, own = 0;
    for (int at = 0; seen < mine->value_count && mine->values[seen] <= other->last_value; seen++) {
        while (at < other->value_count && other->values[at] < mine->values[seen]) {
            at++;
        }
        own += at == other->value_count || other->values[at] != mine->values[seen];
    }
    return own > 0 && 2 * own >= seen;
}

/* How the names of two pages differ, or their values; the codes are those of _HOW_APART in matching.py. */
static char
compare_names(const ComparedNames *mine, const ComparedNames *other)
{
    if (are_within(mine->own, mine->own_count, other->hashes, other->count)
        || are_within(other->own, other->own_count, mine->hashes, mine->count)
        || (mine->body == other->body && mine->body)) {
        return has_many_values(mine, other) && has_many_values(other, mine) ? 3 : 0;
    }
    int have_numbers = !are_within(mine->hashes, mine->numbers, other->hashes, other->count)
                       && !are_within(other->hashes, other->numbers, mine->hashes, mine->count);
    return have_numbers ? 2 : 1;
}

/* -- Python -------------------------------------------------------------------------------------------------------- */

/* Add a hash to a dictionary; returns 0 with an exception. */
static int
set_item(PyObject *items, unsigned int hash, unsigned int flag)
{
    PyObject *key = PyLong_FromUnsignedLong(hash), *value = PyLong_FromUnsignedLong(flag);
    int done = key != NULL && value != NULL && PyDict_SetItem(items, key, value) == 0;
    Py_XDECREF(key);
    Py_XDECREF(value);
    return done;
}

/* Return (hash -> flag, number, total); NULL with an exception. */
static PyObject *
sample_as_tuple(const Sample *sample, SampleKind kind)
{
    unsigned int place = kind == OF_SHORTS ? BESIDE : 0;
    PyObject *items = PyDict_New();
    int done = items != NULL;
    for (int i = 0; done && i < sample->size; i++) {
        unsigned int hash = sample->hashes[i];
        done = set_item(items, hash & ~place, kind == OF_NAMES ? sample->flags[i] : hash & place);
    }
    if (done && PyDict_GET_SIZE(items) != sample->size) {
        PyErr_SetNone(PyExc_ValueError);
        done = 0;
    }
    if (!done) {
        Py_XDECREF(items);
        return NULL;
    }
    return Py_BuildValue("NII", items, sample->number, (unsigned int)sample->total);
}

static PyObject *
unpacked_as_tuple(const Unpacked *found)
{
    PyObject *samples[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        samples[i] = sample_as_tuple(&found->samples[i], kinds[i]);
        if (samples[i] == NULL) {
            while (i--) {
                Py_DECREF(samples[i]);
            }
            return NULL;
        }
    }
    return Py_BuildValue("NNNNNIIOOI", samples[0], samples[1], samples[2], samples[3], samples[4], found->facts, found->body,
                         found->is_brief ? Py_True : Py_False, found->is_article ? Py_True : Py_False, found->around);
}

/* unpack_sketch(sketch) -> the fields of Identity, each sample as a tuple; ValueError if it is damaged */
PyObject *
module_unpack_sketch(PyObject *Py_UNUSED(module), PyObject *sketch)
{
    Unpacked found;
    if (!PyBytes_Check(sketch)) {
        PyErr_SetString(PyExc_TypeError, "unpack_sketch() takes bytes");
        return NULL;
    }
    Py_ssize_t size = 8 * PyBytes_GET_SIZE(sketch);
    Unread unread = {(const uint8_t *)PyBytes_AS_STRING(sketch), size, size, 1};
    if (!unpack_parts(&unread, &found)) {
        PyErr_SetNone(PyExc_ValueError);
        return NULL;
    }
    return unpacked_as_tuple(&found);
}

/* names_apart(identity, others) -> bytes: how the names of a page, or its values, differ from those of each other page */
PyObject *
module_names_apart(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyBytes_Check(args[0]) || !PyList_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "names_apart() takes an identity and a list of others");
        return NULL;
    }
    ComparedNames mine, other;
    int is_readable = read_compared_names((const uint8_t *)PyBytes_AS_STRING(args[0]), PyBytes_GET_SIZE(args[0]), &mine);
    PyObject *result = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(args[1]));
    for (Py_ssize_t i = 0; result != NULL && i < PyBytes_GET_SIZE(result); i++) {
        PyObject *each = PyList_GET_ITEM(args[1], i);
        if (!PyBytes_Check(each)) {
            PyErr_SetString(PyExc_TypeError, "names_apart() takes identities of bytes");
            Py_CLEAR(result);
            break;
        }
        int is_compared = is_readable
                          && read_compared_names((const uint8_t *)PyBytes_AS_STRING(each), PyBytes_GET_SIZE(each), &other);
        PyBytes_AS_STRING(result)[i] = is_compared ? compare_names(&mine, &other) : 0;
    }
    return result;
}
