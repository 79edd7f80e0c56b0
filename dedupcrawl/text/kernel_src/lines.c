/* The lines of a string, with their hashes. The reference is text/lines.py. */
#include "types.h"

#include <string.h>

#if defined(__GNUC__) && defined(__x86_64__)
#include <immintrin.h>
#define HAS_FOLDING 1
#endif

#define CRC_TABLES 16 /* bytes that are read at a time */
#define CRC_POLYNOMIAL 0xEDB88320u
#define CHUNK 1024 /* code points that are encoded at a time */
#define STEP 16    /* of these in one step where they are ASCII */

static uint32_t crc_tables[CRC_TABLES][256];
static int can_fold; /* whether the processor multiplies polynomials */

void
make_crc_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t crc = i;
        for (int bit = 0; bit < 8; bit++) {
            crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL : 0);
        }
        crc_tables[0][i] = crc;
    }
    for (int table = 1; table < CRC_TABLES; table++) {
        for (int i = 0; i < 256; i++) {
            uint32_t before = crc_tables[table - 1][i];
            crc_tables[table][i] = before >> 8 ^ crc_tables[0][before & 0xFF];
        }
    }
#ifdef HAS_FOLDING
    can_fold = __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
#endif
}

#define AT(TABLE, WORD, BYTE) crc_tables[TABLE][(WORD) >> 8 * (BYTE)&0xFF]
#define FOUR(TABLE, WORD) \
    (AT((TABLE) + 3, WORD, 0) ^ AT((TABLE) + 2, WORD, 1) ^ AT((TABLE) + 1, WORD, 2) ^ AT(TABLE, WORD, 3))

static inline uint32_t
little_endian(const uint8_t *data)
{
    return (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16 | (uint32_t)data[3] << 24;
}

#ifdef HAS_FOLDING
#define FOLD(STATE, FACTORS) \
    _mm_xor_si128(_mm_clmulepi64_si128(STATE, FACTORS, 0x00), _mm_clmulepi64_si128(STATE, FACTORS, 0x11))
#define LOAD(DATA) _mm_loadu_si128((const __m128i *)(DATA))
#define FOLDED_BYTES 16

/* Go on with a CRC-32 of a multiple of 16 bytes, by products of polynomials: V. Gopal and others, "Fast CRC Computation
 * for Generic Polynomials Using PCLMULQDQ Instruction", Intel, 2009, with the constants of its reflected variant. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t
fold_into_crc(uint32_t crc, const uint8_t *data, Py_ssize_t size)
{
    const __m128i by_four = _mm_set_epi64x(0x01C6E41596, 0x0154442BD4);
    const __m128i by_one = _mm_set_epi64x(0x00CCAA009E, 0x01751997D0);
    const __m128i to_half = _mm_set_epi64x(0, 0x0163CD6124);
    const __m128i barrett = _mm_set_epi64x(0x01F7011641, 0x01DB710641);
    const __m128i low = _mm_setr_epi32(~0, 0, ~0, 0);
    __m128i state = _mm_xor_si128(LOAD(data), _mm_cvtsi32_si128((int)crc));
    data += 16, size -= 16;
    if (size >= 112) {
        __m128i two = LOAD(data), three = LOAD(data + 16), four = LOAD(data + 32);
        for (data += 48, size -= 48; size >= 64; data += 64, size -= 64) {
            state = _mm_xor_si128(FOLD(state, by_four), LOAD(data));
            two = _mm_xor_si128(FOLD(two, by_four), LOAD(data + 16));
            three = _mm_xor_si128(FOLD(three, by_four), LOAD(data + 32));
            four = _mm_xor_si128(FOLD(four, by_four), LOAD(data + 48));
        }
        state = _mm_xor_si128(FOLD(state, by_one), two);
        state = _mm_xor_si128(FOLD(state, by_one), three);
        state = _mm_xor_si128(FOLD(state, by_one), four);
    }
    for (; size >= 16; data += 16, size -= 16) {
        state = _mm_xor_si128(FOLD(state, by_one), LOAD(data));
    }
    state = _mm_xor_si128(_mm_srli_si128(state, 8), _mm_clmulepi64_si128(state, by_one, 0x10));
    __m128i rest = _mm_srli_si128(state, 4);
    state = _mm_xor_si128(_mm_clmulepi64_si128(_mm_and_si128(state, low), to_half, 0x00), rest);
    __m128i product = _mm_clmulepi64_si128(_mm_and_si128(state, low), barrett, 0x10);
    product = _mm_clmulepi64_si128(_mm_and_si128(product, low), barrett, 0x00);
    return (uint32_t)_mm_extract_epi32(_mm_xor_si128(state, product), 1);
}
#endif

/* Go on with a CRC-32 (that of zlib, before its last inversion); by tables 16 bytes at a time ("slicing"). */
uint32_t
extend_crc(uint32_t crc, const uint8_t *data, Py_ssize_t size)
{
#ifdef HAS_FOLDING
    if (can_fold && size >= FOLDED_BYTES) {
        Py_ssize_t folded = size - size % FOLDED_BYTES;
        crc = fold_into_crc(crc, data, folded);
        data += folded;
        size -= folded;
    }
#endif
    for (; size >= CRC_TABLES; data += CRC_TABLES, size -= CRC_TABLES) {
        uint32_t one = little_endian(data) ^ crc, two = little_endian(data + 4);
        uint32_t three = little_endian(data + 8), four = little_endian(data + 12);
        crc = FOUR(12, one) ^ FOUR(8, two) ^ FOUR(4, three) ^ FOUR(0, four);
    }
    if (size >= 8) {
        uint32_t one = little_endian(data) ^ crc, two = little_endian(data + 4);
        crc = FOUR(4, one) ^ FOUR(0, two);
        data += 8, size -= 8;
    }
    if (size >= 4) {
        uint32_t one = little_endian(data) ^ crc;
        crc = FOUR(0, one);
        data += 4, size -= 4;
    }
    while (size-- > 0) {
        crc = crc >> 8 ^ crc_tables[0][(crc ^ *data++) & 0xFF];
    }
    return crc;
}

/* Write a code point that takes three bytes, and one byte behind it. */
static inline uint8_t *
put_three(uint8_t *out, uint32_t code)
{
#if PY_LITTLE_ENDIAN
    uint32_t bytes = (0xE0 | code >> 12) | (0x80 | (code >> 6 & 0x3F)) << 8 | (0x80 | (code & 0x3F)) << 16;
    memcpy(out, &bytes, sizeof bytes); /* one store */
    return out + 3;
#else
    return put_utf8(out, code);
#endif
}

/* Define the function that copies `STEP` code points if they are ASCII, and none is a newline; returns whether. */
#define DEFINE_COPY(NAME, POINT)                            \
    static inline int NAME(const POINT *points, uint8_t *out) \
    {                                                       \
        for (int k = 0; k < STEP; k++) {                    \
            if (points[k] >= 0x80 || points[k] == '\n') {   \
                return 0;                                   \
            }                                               \
            out[k] = (uint8_t)points[k];                    \
        }                                                   \
        return 1;                                           \
    }

DEFINE_COPY(copy_ucs4, Py_UCS4)
#ifdef HAS_FOLDING
/* Store 16 characters unless one is a newline; returns whether. */
static inline int
store_without_newline(__m128i characters, uint8_t *out)
{
    if (_mm_movemask_epi8(_mm_cmpeq_epi8(characters, _mm_set1_epi8('\n')))) {
        return 0;
    }
    _mm_storeu_si128((__m128i *)out, characters);
    return 1;
}

static inline int
copy_ucs1(const Py_UCS1 *points, uint8_t *out)
{
    __m128i all = LOAD(points);
    return !_mm_movemask_epi8(all) && store_without_newline(all, out);
}

static inline int
copy_ucs2(const Py_UCS2 *points, uint8_t *out)
{
    __m128i one = LOAD(points), two = LOAD(points + 8);
    __m128i high = _mm_and_si128(_mm_or_si128(one, two), _mm_set1_epi16((short)0xFF80));
    int is_ascii = _mm_movemask_epi8(_mm_cmpeq_epi16(high, _mm_setzero_si128())) == 0xFFFF;
    return is_ascii && store_without_newline(_mm_packus_epi16(one, two), out);
}

/* Encode code points as long as eight in a row take three bytes each; returns how many. Up to four bytes behind them are
 * written. */
__attribute__((target("ssse3"))) static Py_ssize_t
encode_threes(const Py_UCS2 *points, Py_ssize_t count, uint8_t *out)
{
    const __m128i zero = _mm_setzero_si128(), above = _mm_set1_epi16((short)0xF800);
    const __m128i packed = _mm_setr_epi8(0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1);
    Py_ssize_t i = 0;
    for (; count - i >= 8; i += 8) {
        __m128i all = LOAD(points + i), halves[] = {_mm_unpacklo_epi16(all, zero), _mm_unpackhi_epi16(all, zero)};
        if (_mm_movemask_epi8(_mm_cmpeq_epi16(_mm_and_si128(all, above), zero))) {
            break;
        }
        for (int half = 0; half < 2; half++, out += 12) {
            __m128i first = _mm_srli_epi32(halves[half], 12);
            __m128i second = _mm_and_si128(_mm_slli_epi32(halves[half], 2), _mm_set1_epi32(0x3F00));
            __m128i third = _mm_and_si128(_mm_slli_epi32(halves[half], 16), _mm_set1_epi32(0x3F0000));
            __m128i bytes = _mm_or_si128(_mm_or_si128(first, second), _mm_or_si128(third, _mm_set1_epi32(0x8080E0)));
            _mm_storeu_si128((__m128i *)out, _mm_shuffle_epi8(bytes, packed));
        }
    }
    return i;
}

#define UCS2_THREES(POINTS, COUNT, OUT) (can_fold ? encode_threes(POINTS, COUNT, OUT) : 0)
#else
DEFINE_COPY(copy_ucs1, Py_UCS1)
DEFINE_COPY(copy_ucs2, Py_UCS2)
#define UCS2_THREES(POINTS, COUNT, OUT) 0
#endif
#define NO_THREES(POINTS, COUNT, OUT) 0

/* Define the function that hashes a line of a string with code points of a type, from `*place` on, and moves that behind
 * its newline. Runs of ASCII are copied `STEP` code points at a time by `COPY`, and those of three bytes each are encoded by
 * `THREES`. */
#define DEFINE_HASH_LINE(NAME, POINT, COPY, THREES)                                           \
    static HashedLine NAME(const POINT *points, Py_ssize_t length, Py_ssize_t *place)         \
    {                                                                                         \
        HashedLine line = {.crc = ~0u, .size = 0};                                            \
        uint8_t encoded[4 * CHUNK];                                                           \
        Py_ssize_t i = *place;                                                                \
        while (i < length && points[i] != '\n') {                                             \
            uint8_t *end = encoded;                                                           \
            Py_ssize_t until = length - i > CHUNK ? i + CHUNK : length;                       \
            while (i < until && points[i] != '\n') {                                          \
                while (i + STEP <= until) {                                                   \
                    if (!COPY(points + i, end)) {                                             \
                        break;                                                                \
                    }                                                                         \
                    i += STEP;                                                                \
                    end += STEP;                                                              \
                }                                                                             \
                Py_ssize_t threes = THREES(points + i, until - i, end);                       \
                i += threes;                                                                  \
                end += 3 * threes;                                                            \
                Py_ssize_t next = until - i > STEP / 2 ? i + STEP / 2 : until;                \
                for (; i < next; i++) {                                                       \
                    uint32_t code = points[i];                                                \
                    if (code >= 0x800 && code < 0x10000) {                                    \
                        end = put_three(end, code);                                           \
                    } else if (code != '\n') {                                                \
                        end = put_utf8(end, code);                                            \
                    } else {                                                                  \
                        break;                                                                \
                    }                                                                         \
                }                                                                             \
            }                                                                                 \
            line.crc = extend_crc(line.crc, encoded, end - encoded);                          \
            line.size += end - encoded;                                                       \
        }                                                                                     \
        *place = i + 1;                                                                       \
        line.crc = ~line.crc;                                                                 \
        return line;                                                                          \
    }

DEFINE_HASH_LINE(hash_ucs1_line, Py_UCS1, copy_ucs1, NO_THREES)
DEFINE_HASH_LINE(hash_ucs2_line, Py_UCS2, copy_ucs2, UCS2_THREES)
DEFINE_HASH_LINE(hash_ucs4_line, Py_UCS4, copy_ucs4, NO_THREES)

/* Hash the line that begins at a place, and move that behind its newline. */
HashedLine
next_line(PyObject *text, Py_ssize_t *place)
{
    const void *data = PyUnicode_DATA(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_IS_ASCII(text)) {
        const uint8_t *start = (const uint8_t *)data + *place;
        const uint8_t *newline = *place < length ? memchr(start, '\n', (size_t)(length - *place)) : NULL;
        Py_ssize_t size = newline == NULL ? length - *place : newline - start;
        *place += size + 1;
        return (HashedLine){.crc = ~extend_crc(~0u, start, size), .size = size};
    }
    switch (PyUnicode_KIND(text)) {
    case PyUnicode_1BYTE_KIND:
        return hash_ucs1_line(data, length, place);
    case PyUnicode_2BYTE_KIND:
        return hash_ucs2_line(data, length, place);
    default:
        return hash_ucs4_line(data, length, place);
    }
}

/* Return the CRC-32 of a string as CPython stores it: in the narrowest width that all its code points have, the lowest byte
 * first. */
uint32_t
text_crc(PyObject *text)
{
    int width = (int)PyUnicode_KIND(text);
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);
    if (PY_LITTLE_ENDIAN || width == 1) {
        return ~extend_crc(~0u, PyUnicode_DATA(text), length * width);
    }
    uint32_t crc = ~0u;
    for (Py_ssize_t i = 0; i < length; i++) {
        Py_UCS4 code = PyUnicode_READ_CHAR(text, i);
        const uint8_t bytes[] = {code & 0xFF, code >> 8 & 0xFF, code >> 16 & 0xFF, code >> 24};
        crc = extend_crc(crc, bytes, width);
    }
    return ~crc;
}
