/* IdentitySketcher, with the values and short facts of a page. */
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

/* Keep the lowest of some hashes, each once. */
static void
add_lowest(Lowest *sample, uint32_t hash)
{
    int at = sample->count;
    while (at > 0 && sample->hashes[at - 1] > hash) {
        at--;
    }
    if ((at > 0 && sample->hashes[at - 1] == hash) || at > MAX_VALUES) {
        return;
    }
    int kept = sample->count > MAX_VALUES ? MAX_VALUES : sample->count;
    memmove(sample->hashes + at + 1, sample->hashes + at, (size_t)(kept - at) * sizeof *sample->hashes);
    sample->hashes[at] = hash;
    sample->count = kept + 1;
}

static PyObject *
lowest_as_list(const Lowest *sample)
{
    PyObject *result = PyList_New(sample->count);
    for (int i = 0; result != NULL && i < sample->count; i++) {
        PyObject *hash = PyLong_FromUnsignedLong(sample->hashes[i]);
        if (hash == NULL) {
            Py_CLEAR(result);
        } else {
            PyList_SET_ITEM(result, i, hash);
        }
    }
    return result;
}

/* Sample the values that are not among others. */
static void
sample_values(const FoundValues *values, const FoundValues *others, Lowest *sample)
{
    sample->count = 0;
    for (int i = 0; i < values->count; i++) {
        int k = 0;
        while (k < others->count && others->hashes[k] != values->hashes[i]) {
            k++;
        }
        if (k == others->count) {
            add_lowest(sample, values->hashes[i] >> (32 - VALUE_BITS) | (uint32_t)!values->is_strong[i] << VALUE_BITS);
        }
    }
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
read_values(const IdentityObject *self, Span text, Span beside, Lowest *inner, Lowest *outer, uint32_t *facts)
{
    FoundValues in_text, in_other, none;
    Facts found = {.crc = CRC_START};
    in_text.count = in_other.count = none.count = 0;
    find_values(self->words, &self->hash, text.bytes, text.size, &in_text, &found);
    if (has_common_han(text.bytes, text.size)) {
        add_han_numbers(&self->numerals, &self->hash, text.bytes, text.size, &found);
    }
    find_values(self->words, &self->hash, beside.bytes, beside.size, &in_other, NULL);
    sample_values(&in_text, &none, inner);
    sample_values(&in_other, &in_text, outer);
    *facts = end_of_crc(found.crc) >> 16;
}

static PyObject *
identity_values(IdentityObject *self, PyObject *args)
{
    Py_buffer text, beside;
    Lowest inner, outer;
    uint32_t facts;
    if (!PyArg_ParseTuple(args, "y*y*", &text, &beside)) {
        return NULL;
    }
    RUN(text.len, read_values(self, SPAN(text), SPAN(beside), &inner, &outer, &facts));
    PyBuffer_Release(&text);
    PyBuffer_Release(&beside);
    return Py_BuildValue("(NNI)", lowest_as_list(&inner), lowest_as_list(&outer), (unsigned int)facts);
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

/* The number of letters a to z at the beginning of a text. */
static inline Py_ssize_t
ascii_letters(const uint8_t *text, Py_ssize_t size)
{
    Py_ssize_t at = 0;
#ifdef HAS_MARKS
    /* Without a branch for each letter: the ends of words cannot be predicted. */
    for (; size - at >= AT_ONCE; at += AT_ONCE) {
        uint64_t others = marked_bytes(text + at, 'a', 'z') ^ HIGHEST_BITS;
        if (others) {
            return at + __builtin_ctzll(others) / 8;
        }
    }
#endif
    while (at < size && text[at] >= 'a' && text[at] <= 'z') {
        at++;
    }
    return at;
}

/* The kinds that a word may be of, by its first two bytes. */
static inline int
kinds_at(const IdentityObject *self, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end)
{
    return self->passing[PAIR_HASH(text[begin], begin + 1 < end ? text[begin + 1] : ' ')];
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

typedef struct {
    uint64_t *items; /* hash, and whether it stands beside the main text in the lowest bit */
    Py_ssize_t count, capacity;
} Shorts;

static int
add_lines(const IdentityObject *self, Span text, int is_beside, Shorts *found)
{
    const uint8_t *line = text.bytes, *end = line + text.size;
    int may_be_of_view = has_view_word(self, text);
    while (line < end) {
        const uint8_t *stop = memchr(line, 0, (size_t)(end - line));
        uint32_t hash;
        stop = stop == NULL ? end : stop;
        if (hash_line(self, line, stop - line, may_be_of_view, &hash)) {
            if (found->count == found->capacity) {
                Py_ssize_t wanted = 2 * found->capacity + 64;
                uint64_t *items = realloc(found->items, (size_t)wanted * sizeof *items);
                if (items == NULL) {
                    return 0;
                }
                found->items = items;
                found->capacity = wanted;
            }
            found->items[found->count++] = (uint64_t)hash << 1 | (unsigned)is_beside;
        }
        line = stop + 1;
    }
    return 1;
}

static int
compare_items(const void *one, const void *other)
{
    uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

Outcome
read_shorts(const IdentityObject *self, Span beside, Span lines, Lowest *sample, Py_ssize_t *count, uint64_t *sum)
{
    Shorts found = {NULL, 0, 0};
    sample->count = 0;
    *count = 0;
    *sum = 0;
    int done = add_lines(self, beside, 1, &found) && add_lines(self, lines, 0, &found);
    if (done && found.count > 1) {
        qsort(found.items, (size_t)found.count, sizeof *found.items, compare_items);
    }
    for (Py_ssize_t i = 0; done && i < found.count; i++) {
        uint64_t hash = found.items[i] >> 1;
        if (i && found.items[i - 1] >> 1 == hash) {
            continue; /* the first one is that of the main text, if it stands there */
        }
        ++*count;
        *sum += hash;
        add_lowest(sample, (uint32_t)(hash >> (32 - VALUE_BITS) << 1 | (found.items[i] & 1)));
    }
    free(found.items);
    return done ? DONE : NO_MEMORY;
}

static PyObject *
identity_shorts(IdentityObject *self, PyObject *args)
{
    Py_buffer beside, lines;
    Lowest sample;
    Py_ssize_t count;
    uint64_t sum;
    Outcome outcome;
    if (!PyArg_ParseTuple(args, "y*y*", &beside, &lines)) {
        return NULL;
    }
    RUN(beside.len + lines.len, outcome = read_shorts(self, SPAN(beside), SPAN(lines), &sample, &count, &sum));
    PyBuffer_Release(&beside);
    PyBuffer_Release(&lines);
    if (outcome != DONE) {
        return PyErr_NoMemory();
    }
    return Py_BuildValue("(NnI)", lowest_as_list(&sample), count > MAX_SHORTS ? MAX_SHORTS + 1 : count,
                         (unsigned int)(sum >> 8 & 0xFFFF));
}

/* The size of a character without spaces around it at a place, 0 for another one; see sentences_of() in
   sentence_sketches.py. */
static int
character_size(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    uint8_t lead = at < size ? text[at] : 0;
    int wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 && lead != 0xE2 ? 3 : 0;
    return at + wanted <= size ? wanted : 0;
}

/* Letters, and the digits after them. */
static Py_ssize_t
end_of_word(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    Py_ssize_t begin = at;
    for (;;) {
        at += ascii_letters(text + at, size - at);
        if (at + 1 >= size || text[at] < 0xC3 || text[at] > 0xDF) {
            break;
        }
        at += 2;
    }
    while (at > begin && at < size && text[at] >= '0' && text[at] <= '9') {
        at++;
    }
    return at;
}

static int
is_mark(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    return at + 2 < size && text[at] == 0xE2 && text[at + 1] >= 0x96 && text[at + 1] <= 0x9F;
}

/* Whether a word belongs to a stamp or a view. */
static int
is_of_stamp(const IdentityObject *self, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end)
{
    int kinds = kinds_at(self, text, begin, end);
    return (kinds & MAY_BE_VIEW && longest_from(&self->words[OF_VIEW], text, end, begin, ANYWHERE) >= 0)
           || (kinds & MAY_BE_STAMP
               && (longest_from(&self->words[CHANGED], text, end, begin, ANYWHERE) == end
                   || longest_from(&self->words[PUBLISHED], text, end, begin, ANYWHERE) == end));
}

/* Whether a word belongs to a stamp, a counter or a view. */
static int
is_passing(const IdentityObject *self, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end)
{
    int kinds = kinds_at(self, text, begin, end);
    return kinds
           && (is_of_stamp(self, text, begin, end)
               || (kinds & MAY_BE_COUNTER && longest_from(&self->words[COUNTED], text, end, begin, ANYWHERE) == end));
}

/* Add the hash of a sentence or value, see ReferenceSketcher.sentences() in identity_sketch.py. */
static void
count_hash(uint8_t *counts, uint32_t hash)
{
    uint32_t key = (hash >> 20) % SUMS_PRIME;
    uint32_t both = (uint32_t)counts[1] << 16 | (uint32_t)counts[2] << 8 | counts[3];
    uint32_t sum = ((both >> 12) + key) % SUMS_PRIME, squares = ((both & 0xFFF) + key * key) % SUMS_PRIME;
    uint8_t *bucket = counts + SUMS_BYTES + (key >> 8);
    counts[0]++;
    counts[1] = (uint8_t)(sum >> 4);
    counts[2] = (uint8_t)(sum << 4 | squares >> 8);
    counts[3] = (uint8_t)squares;
    *bucket = (*bucket + 1) & 3;
}

/* The words of a sentence, each with a space after it. */
typedef struct {
    uint8_t words[MAX_SENTENCE_BYTES + MAX_TOKEN_BYTES + 1];
    Py_ssize_t size;
} Sentence;

static void
end_sentence(const IdentityObject *self, Sentence *sentence, uint8_t *counts)
{
    if (sentence->size) {
        count_hash(counts, hash_bytes(&self->hash, sentence->words, sentence->size - 1));
    }
    sentence->size = 0;
}

static void
append_word(const IdentityObject *self, Sentence *sentence, const uint8_t *word, Py_ssize_t size, Py_ssize_t rest,
            uint8_t *counts)
{
    size = size < MAX_TOKEN_BYTES ? size : MAX_TOKEN_BYTES;
    if (rest >= MAX_TOKEN_BYTES) { /* a fixed number of bytes: those behind the word are overwritten */
        memcpy(sentence->words + sentence->size, word, MAX_TOKEN_BYTES);
    } else {
        memcpy(sentence->words + sentence->size, word, (size_t)size);
    }
    sentence->size += size;
    sentence->words[sentence->size++] = ' ';
    if (sentence->size > MAX_SENTENCE_BYTES) {
        end_sentence(self, sentence, counts);
    }
}

/* Whether a sentence of a line ends before this place. */
static int
is_sentence_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    if (at >= size) {
        return 0;
    }
    if (at >= 3 && memcmp(text + at - 3, "\xe3\x80\x82", 3) == 0) {
        return 1;
    }
    uint8_t last = text[at - 1];
    int is_mark = last == '.' || last == '!' || last == '?' || last == ';';
    return is_mark && (text[at] == ' ' || (text[at] >= 0xE0 && text[at] <= 0xF4));
}

static void
count_line(const IdentityObject *self, const uint8_t *text, Py_ssize_t size, uint8_t *counts)
{
    Sentence sentence = {.size = 0};
    Py_ssize_t at = 0, start = -1;
    while (at < size) {
        Py_ssize_t begin = start < 0 ? at : start, end = end_of_word(text, size, at);
        if (is_mark(text, size, at)) {
            start = begin;
            at += 3;
            at += at < size && text[at] == ' ';
            continue;
        }
        end = end > at ? end : at + character_size(text, size, at);
        if (end > at && !is_passing(self, text, begin, end)) {
            append_word(self, &sentence, text + begin, end - begin, size - begin, counts);
        }
        start = -1;
        at = end > at ? end : at + 1;
        if (size > MAX_LINE_BYTES && is_sentence_end(text, size, at)) {
            end_sentence(self, &sentence, counts);
        }
    }
    end_sentence(self, &sentence, counts);
}

static void
count_sentences(const IdentityObject *self, const uint8_t *text, Py_ssize_t size, uint8_t *counts)
{
    while (size > 0) {
        const uint8_t *end = memchr(text, 0, (size_t)size);
        Py_ssize_t length = end == NULL ? size : end - text;
        count_line(self, text, length, counts);
        if (end == NULL) {
            break;
        }
        size -= length + 1;
        text += length + 1;
    }
}

/* Count the values of lines; "spaced" is room for a copy in which spaces are between them. */
static void
count_values(const IdentityObject *self, Span lines, uint8_t *spaced, uint8_t *counts)
{
    FoundValues values;
    values.count = 0;
    for (Py_ssize_t at = 0; at < lines.size; at++) {
        spaced[at] = lines.bytes[at] ? lines.bytes[at] : ' ';
    }
    find_values(self->words, &self->hash, spaced, lines.size, &values, NULL);
    for (int i = 0; i < values.count; i++) {
        count_hash(counts, values.hashes[i]);
    }
}

/* Count the sentences of lines, and unless "spaced" is NULL their values. It may be the lines, which then change. */
void
read_sentences(const IdentityObject *self, Span lines, uint8_t *spaced, uint8_t *counts)
{
    count_sentences(self, lines.bytes, lines.size, counts);
    if (spaced != NULL) {
        count_values(self, lines, spaced, counts + COUNTS_BYTES);
    }
}

static PyObject *
identity_sentences(IdentityObject *self, PyObject *args)
{
    Py_buffer lines;
    int with_values;
    uint8_t *spaced = NULL, counts[2 * COUNTS_BYTES] = {0};
    if (!PyArg_ParseTuple(args, "y*p", &lines, &with_values)) {
        return NULL;
    }
    if (with_values && (spaced = PyMem_Malloc((size_t)lines.len + 1)) == NULL) {
        PyBuffer_Release(&lines);
        return PyErr_NoMemory();
    }
    RUN(lines.len, read_sentences(self, SPAN(lines), spaced, counts));
    PyMem_Free(spaced);
    PyBuffer_Release(&lines);
    return PyBytes_FromStringAndSize((const char *)counts, with_values ? 2 * COUNTS_BYTES : COUNTS_BYTES);
}

/* Whether a part of a line is a stamp or a counter, see sentence_sketches.py. */
static int
is_stamp_part(const IdentityObject *self, const uint8_t *text, Py_ssize_t size)
{
    int has_number = 0;
    Py_ssize_t start = -1;
    for (Py_ssize_t at = 0, stop = 0; size <= MAX_STAMP_BYTES && at < size; at = stop + 1) {
        for (stop = at; stop < size && text[stop] >= '0' && text[stop] <= '9';) {
            stop++;
        }
        if (stop == at) {
            continue;
        }
        has_number = 1;
        if (is_counting(&self->words[COUNTING], text, at) || is_counted(self->words, text, size, stop)) {
            return 1;
        }
    }
    for (Py_ssize_t at = 0; has_number && at < size;) {
        if (is_mark(text, size, at)) {
            start = start < 0 ? at : start;
            at += 3;
            at += at < size && text[at] == ' ';
            continue;
        }
        Py_ssize_t begin = start < 0 ? at : start, end = end_of_word(text, size, at);
        int character = character_size(text, size, at);
        if (character
            && (word_from(&self->words[CHANGED], text, size, at, ANYWHERE) >= 0
                || word_from(&self->words[PUBLISHED], text, size, at, ANYWHERE) >= 0)) {
            return 1;
        }
        end = end > at ? end : at + character;
        if (end > at && is_of_stamp(self, text, begin, end)) {
            return 1;
        }
        start = -1;
        at = end > at ? end : at + 1;
    }
    return 0;
}

/* The number of lines, and the sum of their hashes. */
typedef struct {
    uint32_t count, sum;
} Signature;

static void
sign_part(const IdentityObject *self, const uint8_t *text, Py_ssize_t size, Signature *signature)
{
    const uint8_t *part = text;
    Py_ssize_t length = size;
    while (length && *part == ' ') {
        part++;
        length--;
    }
    while (length && part[length - 1] == ' ') {
        length--;
    }
    if (length && !is_stamp_part(self, text, size)) {
        signature->count++;
        signature->sum += hash_bytes(&self->hash, part, length);
    }
}

static void
sign_line(const IdentityObject *self, const uint8_t *text, Py_ssize_t size, Signature *signature)
{
    Py_ssize_t begin = 0;
    for (Py_ssize_t at = 1; size > MAX_LINE_BYTES && at < size; at++) {
        if (is_sentence_end(text, size, at)) {
            sign_part(self, text + begin, at - begin, signature);
            begin = at;
        }
    }
    sign_part(self, text + begin, size - begin, signature);
}

void
sign_lines(const IdentityObject *self, Span lines, uint8_t *bytes)
{
    Signature signature = {0, 0};
    const uint8_t *text = lines.bytes, *stop = text + lines.size;
    while (text <= stop) {
        const uint8_t *end = text < stop ? memchr(text, 0, (size_t)(stop - text)) : NULL;
        end = end == NULL ? stop : end;
        sign_line(self, text, end - text, &signature);
        text = end + 1;
    }
    bytes[0] = (uint8_t)(signature.count & 7);
    bytes[1] = (uint8_t)(signature.sum >> 24);
    bytes[2] = (uint8_t)(signature.sum >> 16);
}

static PyObject *
identity_has_view_word(IdentityObject *self, PyObject *lines)
{
    Py_buffer view;
    int found = 0;
    if (PyObject_GetBuffer(lines, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    RUN(view.len, found = has_view_word(self, SPAN(view)));
    PyBuffer_Release(&view);
    return PyBool_FromLong(found);
}

static PyObject *
identity_signature(IdentityObject *self, PyObject *lines)
{
    Py_buffer view;
    uint8_t bytes[SIGNATURE_BYTES];
    if (PyObject_GetBuffer(lines, &view, PyBUF_SIMPLE) < 0) {
        return NULL;
    }
    RUN(view.len, sign_lines(self, SPAN(view), bytes));
    PyBuffer_Release(&view);
    return PyBytes_FromStringAndSize((const char *)bytes, SIGNATURE_BYTES);
}

DEFINE_METHODS(identity_methods, METHOD("names", identity_names, METH_VARARGS),
               METHOD("values", identity_values, METH_VARARGS), METHOD("shorts", identity_shorts, METH_VARARGS),
               METHOD("sentences", identity_sentences, METH_VARARGS), METHOD("signature", identity_signature, METH_O),
               METHOD("has_view_word", identity_has_view_word, METH_O), METHOD("pack", identity_pack, METH_VARARGS),
               METHOD("sketch", identity_sketch, METH_VARARGS))

DEFINE_TYPE(identity_spec, "IdentitySketcher", IdentityObject, 0,
            {Py_tp_new, identity_new}, {Py_tp_dealloc, identity_dealloc}, {Py_tp_methods, identity_methods})
