/* Normalised text as packed points; the reference is normalize.py. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define REPEATED_LIMIT 64 /* letters of a repeated word, LONGEST_REPEATED in features.py */
#define LENGTH_BLOCK 4096
#define BEGINNING 512     /* points that are checked first for a repeated word */

static int
reserve_points(PackedText *text, Py_ssize_t *capacity, Py_ssize_t needed)
{
    if (needed <= *capacity) {
        return 1;
    }
    Py_ssize_t wanted = needed > PY_SSIZE_T_MAX / 8 ? needed : needed + needed / 2;
    if (wanted > PY_SSIZE_T_MAX / (Py_ssize_t)sizeof(uint32_t) - 1) {
        return 0;
    }
    uint32_t *points = realloc(text->points, ((size_t)wanted + 1) * sizeof(uint32_t));
    if (points == NULL) {
        return 0;
    }
    text->points = points;
    *capacity = wanted;
    return 1;
}

/* Whether a code that has no single packed point has an expansion in the table. */
static Outcome
check_expansion(const NormalizationTable *table, uint32_t point, Py_ssize_t start, Py_ssize_t size)
{
    if (point & COMBINES) {
        return NEEDS_PYTHON;
    }
    return !(point & RESIZED) || start > table->expansion_count - size ? BAD_TABLE : DONE;
}

/* Append a packed point unless it is a second space in a row. Without a branch: texts are hard to predict. */
#define APPEND(point)                                        \
    do {                                                     \
        uint32_t is_space = (point) == SPACE;                \
        points[length] = (point);                            \
        length += !(is_space & after_space);                 \
        letters += (point) >= (WORD << ROLE_SHIFT);          \
        after_space = is_space;                              \
    } while (0)

/* One function for each width of CPython's strings. */
#define DEFINE_PACK(NAME, TYPE)                                                                        \
    static Outcome NAME(const NormalizationTable *table, const TYPE *text, Py_ssize_t count,           \
                        PackedText *result)                                                            \
    {                                                                                                  \
        uint32_t *points = result->points;                                                             \
        Py_ssize_t length = 0, letters = 0, capacity = count;                                          \
        uint32_t after_space = 1;                                                                      \
        for (Py_ssize_t i = 0; i < count; i++) {                                                       \
            uint32_t code = text[i];                                                                   \
            if (sizeof(TYPE) == 4 && UNLIKELY(code >= CODE_POINTS)) {                                  \
                return BAD_TABLE;                                                                      \
            }                                                                                          \
            uint32_t point = table->packed[code];                                                      \
            if (UNLIKELY(point >= PACKED_LIMIT)) {                                                     \
                Py_ssize_t start = table->starts[code], size = table->sizes[code];                     \
                Outcome outcome = check_expansion(table, point, start, size);                          \
                if (outcome != DONE) {                                                                 \
                    return outcome;                                                                    \
                }                                                                                      \
                if (!reserve_points(result, &capacity, length + size + (count - i))) {                 \
                    return NO_MEMORY;                                                                  \
                }                                                                                      \
                points = result->points;                                                               \
                for (Py_ssize_t j = 0; j < size; j++) {                                                \
                    uint32_t expanded = table->expansions[start + j];                                  \
                    if (expanded >= PACKED_LIMIT) {                                                    \
                        return BAD_TABLE;                                                              \
                    }                                                                                  \
                    APPEND(expanded);                                                                  \
                }                                                                                      \
                continue;                                                                              \
            }                                                                                          \
            APPEND(point);                                                                             \
        }                                                                                              \
        length -= length > 0 && after_space;                                                           \
        points[length] = 0;                                                                            \
        result->length = length;                                                                       \
        result->letters = letters;                                                                     \
        return DONE;                                                                                   \
    }

DEFINE_PACK(pack_latin, uint8_t)
DEFINE_PACK(pack_basic, uint16_t)
DEFINE_PACK(pack_full, uint32_t)

/* Whether a point is one of OPERATORS in normalize.py, without a role. */
static inline int
is_operator(uint32_t point)
{
    return point == '+' || (point >= '<' && point <= '>') || point == 0xB1 || point == 0xD7 || point == 0xF7
           || point == 0x2212 || point == 0x2260 || point == 0x2264 || point == 0x2265;
}

/* Whether a point is one of AROUND_NUMBERS in normalize.py. */
static inline int
is_around_number(uint32_t point)
{
    return point == 0x20AC || point == 0xA3 || point == 0xA5
           || (point != 0 && point < 0x80 && strchr(" ()[]{}$%", (int)point) != NULL);
}

static inline int
is_digit(uint32_t point)
{
    return point >= ('0' | WORD << ROLE_SHIFT) && point <= ('9' | WORD << ROLE_SHIFT);
}

/* Give each sign of arithmetic between two numbers the role of a token; see mark_operators in normalize.py. */
static void
mark_operators(PackedText *text)
{
    uint32_t *points = text->points;
    for (Py_ssize_t i = 1; i < text->length - 1; i++) {
        if (!UNLIKELY(is_operator(points[i]))) {
            continue;
        }
        Py_ssize_t before = i - 1, after = i + 1;
        while (before > 0 && is_around_number(points[before])) {
            before--;
        }
        while (after < text->length - 1 && is_around_number(points[after])) {
            after++;
        }
        if (is_digit(points[before]) && is_digit(points[after])) {
            points[i] |= CHARACTER << ROLE_SHIFT;
            text->letters++;
        }
    }
}

/* Fold Chinese in place. The XOR leaves the role, because folding has no bits above the code. */
static void
fold_points(const NormalizationTable *table, PackedText *text)
{
    Py_ssize_t last = table->folding_count - 1;
    if (last < 0) {
        return;
    }
    for (Py_ssize_t i = 0; i < text->length; i++) {
        Py_ssize_t code = text->points[i] & CODE_MASK;
        text->points[i] ^= table->folding[code < last ? code : last] & CODE_MASK;
    }
}

static uint32_t *
new_points(Py_ssize_t count)
{
    if (count > PY_SSIZE_T_MAX / (Py_ssize_t)sizeof(uint32_t) - 1) {
        return NULL;
    }
    return malloc(((size_t)count + 1) * sizeof(uint32_t));
}

/* Normalise a string. `result` owns the points also after a failure. */
Outcome
pack_text(const NormalizationTable *table, PyObject *text, PackedText *result)
{
    Py_ssize_t count = PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    result->points = new_points(count);
    if (result->points == NULL) {
        return NO_MEMORY;
    }
    result->is_ascii = PyUnicode_IS_ASCII(text); /* what normalisation does not change */
    Outcome outcome = kind == PyUnicode_1BYTE_KIND   ? pack_latin(table, data, count, result)
                      : kind == PyUnicode_2BYTE_KIND ? pack_basic(table, data, count, result)
                                                     : pack_full(table, data, count, result);
    if (outcome == DONE) {
        mark_operators(result);
        fold_points(table, result);
    }
    return outcome;
}

/* Take over points that Python has normalised. */
Outcome
copy_points(const NormalizationTable *table, const uint32_t *points, Py_ssize_t count, PackedText *result)
{
    result->points = new_points(count);
    if (result->points == NULL) {
        return NO_MEMORY;
    }
    result->length = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        uint32_t point = points[i];
        if (point >= PACKED_LIMIT || (point & CODE_MASK) >= CODE_POINTS) {
            return BAD_TABLE;
        }
        result->points[i] = point;
        result->letters += point >= (WORD << ROLE_SHIFT);
    }
    result->points[count] = 0;
    fold_points(table, result);
    return DONE;
}

Py_ssize_t
utf8_size(const PackedText *text)
{
    if (text->is_ascii) {
        return text->length;
    }
    Py_ssize_t size = text->length; /* at most 4 bytes a point; 4 bytes a point are in memory already */
    for (Py_ssize_t i = 0; i < text->length; i++) {
        uint32_t code = text->points[i] & CODE_MASK;
        size += (code >= 0x80) + (code >= 0x800) + (code >= 0x10000);
    }
    return size;
}

/* Write `utf8_size` bytes. Lone surrogates are encoded like other code points. */
void
write_utf8(const PackedText *text, char *out)
{
    const uint32_t *points = text->points;
    if (text->is_ascii) {
        for (Py_ssize_t i = 0; i < text->length; i++) {
            out[i] = (char)(points[i] & 0x7F);
        }
        return;
    }
    uint8_t *end = (uint8_t *)out;
    for (Py_ssize_t i = 0; i < text->length; i++) {
        end = put_utf8(end, points[i] & CODE_MASK);
    }
}

/* Make room for so many code points in UTF-8. */
static int
reserve_bytes(EncodedText *text, Py_ssize_t points)
{
    if (points > (PY_SSIZE_T_MAX / 2 - text->size) / 4) {
        return 0;
    }
    Py_ssize_t needed = text->size + 4 * points;
    if (needed <= text->capacity) {
        return 1;
    }
    Py_ssize_t wanted = needed + text->capacity / 2;
    uint8_t *bytes = realloc(text->bytes, (size_t)wanted);
    if (bytes == NULL) {
        return 0;
    }
    text->bytes = bytes;
    text->capacity = wanted;
    return 1;
}

/* Convert the Chinese of a code point. */
static inline uint32_t
fold_code(const NormalizationTable *table, uint32_t code)
{
    uint32_t last = (uint32_t)table->folding_count - 1;
    return table->folding_count ? code ^ (table->folding[code < last ? code : last] & CODE_MASK) : code;
}

/* Write a normalised point at `out`, unless it is a second space in a row. ASCII without a branch. */
#define PUT(point)                                               \
    do {                                                         \
        uint32_t put = (point) & CODE_MASK;                      \
        if (put < 0x80) {                                        \
            *out = (uint8_t)put;                                 \
            out += (put != SPACE) | has_begun;                   \
            has_begun = put != SPACE;                            \
        } else {                                                 \
            out = put_utf8(out, fold_code(table, put));          \
            has_begun = 1;                                       \
        }                                                        \
    } while (0)

enum { PLAIN = 16 }; /* characters that are written at a time */

#ifdef __SSE2__
/* Write characters in lower case if all are printable ASCII, without two spaces in a row; returns whether. The tables say
 * the same of them. */
static inline int
put_plain(__m128i all, int has_begun, uint8_t *out)
{
    const __m128i limits[] = {_mm_set1_epi8(0x1F), _mm_set1_epi8(0x7F), _mm_set1_epi8('A' - 1), _mm_set1_epi8('Z' + 1)};
    __m128i printable = _mm_and_si128(_mm_cmpgt_epi8(all, limits[0]), _mm_cmplt_epi8(all, limits[1]));
    __m128i upper = _mm_and_si128(_mm_cmpgt_epi8(all, limits[2]), _mm_cmplt_epi8(all, limits[3]));
    int spaces = _mm_movemask_epi8(_mm_cmpeq_epi8(all, _mm_set1_epi8(SPACE)));
    if (_mm_movemask_epi8(printable) != 0xFFFF || (spaces & (spaces << 1 | !has_begun))) {
        return 0;
    }
    _mm_storeu_si128((__m128i *)out, _mm_or_si128(all, _mm_and_si128(upper, _mm_set1_epi8(0x20))));
    return 1;
}

#define LOAD(TEXT) _mm_loadu_si128((const __m128i *)(TEXT))
#define PUT_LATIN(TEXT) put_plain(LOAD(TEXT), has_begun, out)
#define PUT_BASIC(TEXT) put_plain(_mm_packus_epi16(LOAD(TEXT), LOAD((TEXT) + PLAIN / 2)), has_begun, out)
#else
#define PUT_LATIN(TEXT) 0
#define PUT_BASIC(TEXT) 0
#endif
#define PUT_FULL(TEXT) 0

/* One function for each width of CPython's strings. Characters are tried together by `PUT_SOME`, else one after the other. */
#define DEFINE_ADD(NAME, TYPE, PUT_SOME)                                                                                    \
    static Outcome NAME(const NormalizationTable *table, const TYPE *text, Py_ssize_t count, uint32_t line_break, \
                        EncodedText *result)                                                                      \
    {                                                                                                             \
        uint8_t *out = result->bytes + result->size;                                                              \
        int has_begun = result->has_begun;                                                                        \
        Py_ssize_t next_try = 0;                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                  \
            for (; i >= next_try && count - i > PLAIN; i += PLAIN) {                                              \
                if (!PUT_SOME(text + i)) {                                                                        \
                    next_try = i + PLAIN;                                                                         \
                    break;                                                                                        \
                }                                                                                                 \
                out += PLAIN;                                                                                     \
                has_begun = out[-1] != SPACE;                                                                     \
            }                                                                                                     \
            uint32_t code = text[i] == '\n' ? line_break : text[i];                                               \
            if (sizeof(TYPE) == 4 && UNLIKELY(code >= CODE_POINTS)) {                                             \
                return BAD_TABLE;                                                                                 \
            }                                                                                                     \
            uint32_t point = table->packed[code];                                                                 \
            if (!UNLIKELY(point >= PACKED_LIMIT)) {                                                               \
                PUT(point);                                                                                       \
                continue;                                                                                         \
            }                                                                                                     \
            Py_ssize_t start = table->starts[code], size = table->sizes[code];                                    \
            Outcome outcome = check_expansion(table, point, start, size);                                         \
            if (outcome != DONE) {                                                                                \
                return outcome;                                                                                   \
            }                                                                                                     \
            result->size = out - result->bytes;                                                                   \
            if (!reserve_bytes(result, size + (count - i))) {                                                     \
                return NO_MEMORY;                                                                                 \
            }                                                                                                     \
            out = result->bytes + result->size;                                                                   \
            for (Py_ssize_t j = 0; j < size; j++) {                                                               \
                PUT(table->expansions[start + j]);                                                                \
            }                                                                                                     \
        }                                                                                                         \
        result->size = out - result->bytes;                                                                       \
        result->has_begun = has_begun;                                                                            \
        return DONE;                                                                                              \
    }

DEFINE_ADD(add_latin, uint8_t, PUT_LATIN)
DEFINE_ADD(add_basic, uint16_t, PUT_BASIC)
DEFINE_ADD(add_full, uint32_t, PUT_FULL)

/* Normalise a part of a string, after what was normalised before; "line_break" takes the place of line breaks. */
Outcome
add_normalized(const NormalizationTable *table, PyObject *text, Py_ssize_t start, Py_ssize_t stop, uint32_t line_break,
               EncodedText *result)
{
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    if (!reserve_bytes(result, stop - start)) {
        return NO_MEMORY;
    }
    return kind == PyUnicode_1BYTE_KIND   ? add_latin(table, (const uint8_t *)data + start, stop - start, line_break, result)
           : kind == PyUnicode_2BYTE_KIND ? add_basic(table, (const uint16_t *)data + start, stop - start, line_break, result)
                                          : add_full(table, (const uint32_t *)data + start, stop - start, line_break, result);
}

/* Write a control character that normalisation leaves. */
Outcome
add_separator(uint8_t separator, EncodedText *result)
{
    if (!reserve_bytes(result, 1)) {
        return NO_MEMORY;
    }
    result->bytes[result->size++] = separator;
    result->has_begun = 1;
    return DONE;
}

/* Remove a space at the end. */
void
end_normalized(EncodedText *result)
{
    result->size -= result->size > 0 && !result->has_begun;
}

/* One function for each width of CPython's strings. Sums of a block have 32 bits: compilers use vector instructions. */
#define DEFINE_UTF8_LENGTH(NAME, TYPE)                                                              \
    static Py_ssize_t NAME(const TYPE *text, Py_ssize_t count)                                      \
    {                                                                                               \
        Py_ssize_t size = count;                                                                    \
        while (count > 0) {                                                                         \
            int block = count < LENGTH_BLOCK ? (int)count : LENGTH_BLOCK;                           \
            uint32_t more = 0;                                                                      \
            for (int i = 0; i < block; i++) {                                                       \
                uint32_t code = text[i], is_surrogate = (code & 0xFFFFF800u) == 0xD800;             \
                more += (code >= 0x80) + (code >= 0x800) + (code >= 0x10000) - 2 * is_surrogate;    \
            }                                                                                       \
            size += more;                                                                           \
            text += block;                                                                          \
            count -= block;                                                                         \
        }                                                                                           \
        return size;                                                                                \
    }

DEFINE_UTF8_LENGTH(latin_utf8_length, uint8_t)
DEFINE_UTF8_LENGTH(basic_utf8_length, uint16_t)
DEFINE_UTF8_LENGTH(full_utf8_length, uint32_t)

Py_ssize_t
utf8_length(PyObject *text)
{
    Py_ssize_t count = PyUnicode_GET_LENGTH(text);
    const void *data = PyUnicode_DATA(text);
    int kind = PyUnicode_KIND(text);
    if (PyUnicode_IS_ASCII(text)) {
        return count;
    }
    return kind == PyUnicode_1BYTE_KIND   ? latin_utf8_length(data, count)
           : kind == PyUnicode_2BYTE_KIND ? basic_utf8_length(data, count)
                                          : full_utf8_length(data, count);
}

static Py_ssize_t
gather_letters(const uint32_t *points, Py_ssize_t count, uint32_t *letters)
{
    Py_ssize_t found = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (points[i] >= (WORD << ROLE_SHIFT)) {
            letters[found++] = points[i];
        }
    }
    return found;
}

static int
equals_shifted(const uint32_t *letters, Py_ssize_t shift, Py_ssize_t count)
{
    return memcmp(letters + shift, letters, (size_t)count * sizeof(uint32_t)) == 0;
}

/* Whether letters are one word, two or more times; features.py explains why one period of a long text suffices. */
static int
are_one_word_repeated(const uint32_t *letters, Py_ssize_t count)
{
    Py_ssize_t longest = count / 2 < REPEATED_LIMIT ? count / 2 : REPEATED_LIMIT;
    int is_long = count >= 4 * REPEATED_LIMIT;
    Py_ssize_t head = is_long ? 2 * REPEATED_LIMIT : longest;
    for (Py_ssize_t period = 1; period <= longest; period++) {
        if (equals_shifted(letters, period, head)) {
            int repeats = equals_shifted(letters, period, count - period);
            if (repeats || is_long) {
                return repeats;
            }
        }
    }
    return 0;
}

Outcome
is_one_word_repeated(const PackedText *text, int *result)
{
    uint32_t beginning[BEGINNING];
    Py_ssize_t length = text->length < BEGINNING ? text->length : BEGINNING;
    Py_ssize_t found = gather_letters(text->points, length, beginning);
    *result = (found < 2 * REPEATED_LIMIT && length < text->length) || are_one_word_repeated(beginning, found);
    if (!*result || length == text->length) {
        return DONE; /* true of most texts: the beginning of a repetition is itself repeated */
    }
    uint32_t *letters = malloc(((size_t)text->letters + 1) * sizeof(uint32_t));
    if (letters == NULL) {
        return NO_MEMORY;
    }
    found = gather_letters(text->points, text->length, letters);
    *result = are_one_word_repeated(letters, found);
    free(letters);
    return DONE;
}
