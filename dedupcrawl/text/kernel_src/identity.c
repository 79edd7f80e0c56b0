/* IdentitySketcher, with the values, short facts and sentences of a page. */
#include "identity.h"

static int
add_words(WordSet *set, PyObject *words, int step)
{
    PyObject *list = PySequence_Fast(words, "a set of words must be a sequence");
    if (list == NULL) {
        return 0;
    }
    int done = 1;
    for (Py_ssize_t i = 0; done && i < PySequence_Fast_GET_SIZE(list); i++) {
        PyObject *word = PySequence_Fast_GET_ITEM(list, i);
        if (!PyBytes_Check(word)) {
            PyErr_SetString(PyExc_TypeError, "a word must be bytes");
            done = 0;
        } else if (!add_word(set, (const uint8_t *)PyBytes_AS_STRING(word), PyBytes_GET_SIZE(word), step)) {
            PyErr_NoMemory();
            done = 0;
        }
    }
    Py_DECREF(list);
    return done;
}

/* Note how the words of a kind begin. */
static void
note_begins(IdentityObject *self, PyObject *words, int kind)
{
    for (Py_ssize_t i = 0; i < PySequence_Size(words); i++) {
        PyObject *word = PySequence_GetItem(words, i);
        Py_ssize_t size = PyBytes_GET_SIZE(word);
        const uint8_t *bytes = (const uint8_t *)PyBytes_AS_STRING(word);
        for (int next = 0; size && next < 256; next++) { /* any byte may follow a single one */
            if (size == 1 || next == bytes[1]) {
                self->passing[PAIR_HASH(bytes[0], next)] |= (uint8_t)kind;
            }
        }
        Py_DECREF(word);
    }
}

static int
set_tables(IdentityObject *self, Py_buffer *bytes, Py_buffer *unspaced)
{
    uint8_t seen[256] = {0};
    if (bytes->len != 256 || unspaced->len % 8 || unspaced->len > (Py_ssize_t)sizeof self->unspaced) {
        PyErr_SetString(PyExc_ValueError, "the tables of names have another size");
        return 0;
    }
    memcpy(self->hash.bytes, bytes->buf, 256);
    for (int i = 0; i < 256; i++) {
        seen[self->hash.bytes[i]]++;
        uint32_t crc = (uint32_t)i;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
        }
        self->hash.crc[0][i] = crc;
    }
    for (int i = 0; i < 256; i++) {
        for (int slice = 1; slice < CRC_SLICES; slice++) {
            uint32_t crc = self->hash.crc[slice - 1][i];
            self->hash.crc[slice][i] = self->hash.crc[0][crc & 0xFF] ^ crc >> 8;
        }
    }
    memcpy(self->unspaced, unspaced->buf, (size_t)unspaced->len);
    self->unspaced_count = unspaced->len / 8;
    if (memchr(seen, 0, 256) != NULL) {
        PyErr_SetString(PyExc_ValueError, "the substitution must be a permutation of all bytes");
        return 0;
    }
    return 1;
}

static PyObject *
identity_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"substitution", "unspaced", "numerals", "words", NULL};
    PyObject *numerals, *words;
    Py_buffer bytes, unspaced;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "y*y*UO!", names, &bytes, &unspaced, &numerals, &PyTuple_Type,
                                     &words)) {
        return NULL;
    }
    IdentityObject *self = (IdentityObject *)type->tp_alloc(type, 0);
    int done = self != NULL && set_tables(self, &bytes, &unspaced);
    if (done && PyTuple_GET_SIZE(words) != WORD_SETS) {
        PyErr_Format(PyExc_ValueError, "%d sets of words are needed, not %zd", WORD_SETS, PyTuple_GET_SIZE(words));
        done = 0;
    }
    for (int i = 0; done && i < WORD_SETS; i++) {
        done = add_words(&self->words[i], PyTuple_GET_ITEM(words, i), i < FIRST_BACKWARDS ? 1 : -1);
        int kind = i == OF_VIEW ? MAY_BE_VIEW : i == COUNTED ? MAY_BE_COUNTER : i == CHANGED || i == PUBLISHED ? MAY_BE_STAMP : 0;
        if (done && kind) {
            note_begins(self, PyTuple_GET_ITEM(words, i), kind);
        }
    }
    for (Py_ssize_t i = 0; done && i < PyUnicode_GET_LENGTH(numerals); i++) {
        Py_UCS4 code = PyUnicode_READ_CHAR(numerals, i) & 0xFFFF;
        self->numerals.bits[code / 8] |= (uint8_t)(1 << code % 8);
        self->numerals.begins[code / 64] = 1;
    }
    PyBuffer_Release(&bytes);
    PyBuffer_Release(&unspaced);
    if (!done) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
identity_dealloc(IdentityObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (int i = 0; i < WORD_SETS; i++) {
        free(self->words[i].nodes);
    }
    type->tp_free(self);
    Py_DECREF(type);
}

int
add_item(Items *found, uint32_t item)
{
    if (found->count == found->capacity) {
        Py_ssize_t wanted = 2 * found->capacity + 64;
        uint32_t *items = realloc(found->items, (size_t)wanted * sizeof *items);
        if (items == NULL) {
            return 0;
        }
        found->items = items;
        found->capacity = wanted;
    }
    found->items[found->count++] = item;
    return 1;
}

static int
compare_items(const void *one, const void *other)
{
    uint32_t a = *(const uint32_t *)one, b = *(const uint32_t *)other;
    return (a > b) - (a < b);
}

/* Make the sample of some items, see sample() in identity_codec.py. Of equal hashes the lowest flag counts. */
void
sample_items(uint32_t *items, Py_ssize_t count, int limit, Sample *sample)
{
    uint32_t number = 0, total = 0;
    if (count > 1) {
        qsort(items, (size_t)count, sizeof *items, compare_items);
    }
    sample->size = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (i && items[i - 1] >> 16 == items[i] >> 16) {
            continue;
        }
        if (sample->size < limit) {
            sample->flags[sample->size] = (uint16_t)items[i];
            sample->hashes[sample->size++] = (uint16_t)(items[i] >> 16);
        }
        number++;
        total += items[i] >> 16;
    }
    sample->number = number < MAX_COUNT ? number : MAX_COUNT;
    sample->total = (uint16_t)total;
}

/* Sample the values that are not among others. */
static void
sample_values(const FoundValues *values, const FoundValues *others, int most, Sample *sample)
{
    uint32_t items[MAX_NUMBERS];
    Py_ssize_t count = 0;
    for (int i = 0; i < values->count; i++) {
        int k = 0;
        while (k < others->count && others->hashes[k] != values->hashes[i]) {
            k++;
        }
        if (k == others->count) {
            items[count++] = (values->hashes[i] >> (32 - VALUE_BITS) | (uint32_t)!values->is_strong[i] << VALUE_BITS) << 16;
        }
    }
    sample_items(items, count, most, sample);
}

static int
has_common_han(const uint8_t *text, Py_ssize_t size)
{
    const uint8_t *end = text + size;
    while (size > 1 && (text = memchr(text, 0xE4, (size_t)(end - text - 1))) != NULL) {
        if (text[1] == 0xB8) {
            return 1;
        }
        text++;
        size = end - text;
    }
    return 0;
}

void
read_values(const IdentityObject *self, Span text, Span beside, int most, Sample *inner, Sample *outer, uint32_t *facts)
{
    FoundValues in_text, in_other, none;
    Facts found = {.crc = CRC_START};
    in_text.count = in_other.count = none.count = 0;
    find_values(self->words, &self->hash, text.bytes, text.size, &in_text, &found);
    if (has_common_han(text.bytes, text.size)) {
        add_han_numbers(&self->numerals, &self->hash, text.bytes, text.size, &found);
    }
    find_values(self->words, &self->hash, beside.bytes, beside.size, &in_other, NULL);
    sample_values(&in_text, &none, most, inner);
    sample_values(&in_other, &in_text, most, outer);
    *facts = end_of_crc(found.crc) >> 16;
}

/* Read a code point of UTF-8, or a byte that begins none. */
static Py_UCS4
next_code(const uint8_t *text, Py_ssize_t size, Py_ssize_t *at)
{
    uint8_t lead = text[(*at)++];
    int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : lead >= 0xC0 ? 1 : 0;
    Py_UCS4 code = more == 3 ? lead & 7 : more == 2 ? lead & 15 : more == 1 ? lead & 31 : lead;
    for (; more && *at < size && (text[*at] & 0xC0) == 0x80; more--) {
        code = code << 6 | (text[(*at)++] & 0x3F);
    }
    return code;
}

int
has_view_word(const IdentityObject *self, Span lines)
{
    const uint8_t *text = lines.bytes;
    Py_ssize_t size = lines.size;
    const uint8_t *kinds = self->passing;
    for (Py_ssize_t at = 0; at < size;) {
        if (size - at > AT_ONCE) {
            int any = 0;
            for (int i = 0; i < AT_ONCE; i++) {
                any |= kinds[PAIR_HASH(text[at + i], text[at + i + 1])];
            }
            if (!(any & MAY_BE_VIEW)) {
                at += AT_ONCE;
                continue;
            }
        }
        for (int i = 0; i < AT_ONCE && at < size; i++, at++) {
            if (kinds_at(self, text, at, size) & MAY_BE_VIEW
                && longest_from(&self->words[OF_VIEW], text, size, at, ANYWHERE) >= 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* Hash a line without its digits and marks; returns 0 for one that is no short fact. */
static int
hash_line(const IdentityObject *self, const uint8_t *line, Py_ssize_t size, int may_be_of_view, uint32_t *hash)
{
    uint8_t plain[5 * MAX_SHORT];
    Py_ssize_t length = 0;
    int has_digit = 0, is_apart = 0;
    Py_ssize_t at = 0;
    for (int characters = 0; at < size; characters++) {
        Py_ssize_t start = at, letters = ascii_letters(line + at, size - at);
        characters += letters ? (int)letters - 1 : 0;
        if (characters >= MAX_SHORT) {
            return 0;
        }
        Py_UCS4 code = letters ? line[at] : next_code(line, size, &at);
        int is_digit = !letters && is_decimal(code);
        at += letters;
        has_digit |= is_digit;
        if (is_digit || !(letters || is_letter_or_digit(code))) {
            is_apart = length > 0;
            continue;
        }
        if (is_apart) {
            plain[length++] = ' ';
            is_apart = 0;
        }
        memcpy(plain + length, line + start, (size_t)(at - start));
        length += at - start;
    }
    if (may_be_of_view && has_view_word(self, (Span){line, size})) {
        return 0;
    }
    *hash = hash_bytes(&self->hash, plain, length);
    return length && !(has_digit && is_stamp(&self->words[CHANGED], plain, 0, length));
}

static int
add_lines(const IdentityObject *self, Span text, int is_beside, Items *found)
{
    const uint8_t *line = text.bytes, *end = line + text.size;
    int may_be_of_view = has_view_word(self, text);
    while (line < end) {
        const uint8_t *stop = memchr(line, 0, (size_t)(end - line));
        uint32_t hash;
        stop = stop == NULL ? end : stop;
        if (hash_line(self, line, stop - line, may_be_of_view, &hash)
            && !add_item(found, hash >> (32 - VALUE_BITS) << 17 | (unsigned)is_beside)) {
            return 0;
        }
        line = stop + 1;
    }
    return 1;
}

Outcome
read_shorts(const IdentityObject *self, Span beside, Span lines, Sample *sample)
{
    Items found = {NULL, 0, 0};
    int done = add_lines(self, beside, 1, &found) && add_lines(self, lines, 0, &found);
    if (done) {
        sample_items(found.items, found.count, MAX_VALUES, sample);
    }
    free(found.items);
    return done ? DONE : NO_MEMORY;
}

DEFINE_METHODS(identity_methods, METHOD("sketch", identity_sketch, METH_VARARGS))

DEFINE_TYPE(identity_spec, "IdentitySketcher", IdentityObject, 0,
            {Py_tp_new, identity_new}, {Py_tp_dealloc, identity_dealloc}, {Py_tp_methods, identity_methods})
