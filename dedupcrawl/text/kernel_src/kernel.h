/* The text kernel: normalisation, token hashes, shingles and sketches in C.
 *
 * The numpy code in normalize.py, shingles.py, features.py and detectors/lsh.py is the reference. Every function here
 * returns the same bits; tests/text/test_kernel.py compares both. So does identity_sketch.py for the sketches of identities. All tables and constants come from there, so that
 * nothing is defined twice. Products and sums of hashes wrap around at 2^64.
 */
#ifndef DEDUPCRAWL_KERNEL_H
#define DEDUPCRAWL_KERNEL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#define KERNEL_VERSION 13 /* raised with every change of what Python calls; features.py requires it */

/* A packed point: 21 bits of code point, above them 2 bits of role. See normalize.py. */
#define CODE_POINTS 0x110000u
#define ROLE_SHIFT 21
#define CODE_MASK ((1u << ROLE_SHIFT) - 1)
#define PACKED_LIMIT (3u << ROLE_SHIFT) /* all packed points are below: the roles are 0, 1 and 2 */
#define RESIZED (1u << 29)              /* in a table only: the code point is removed, or becomes several */
#define COMBINES (1u << 30)             /* in a table only: the result depends on the neighbours */
#define SPACE 0x20u
#define SEPARATOR 0u
#define WORD 1u
#define CHARACTER 2u

#define MAX_LETTERS 64 /* letters of a word that is hashed by a polynomial */
#define MAX_SHINGLE 64 /* tokens of a shingle */
#define MAX_SLOTS 256  /* slots of a sketch */
#define ROUNDS 16      /* random rounds of a sketch */
#define KEY_BYTES 8    /* of the key of a band */
#define HEADER_BYTES 9 /* of a sketch */
#define MAX_DIGEST 64 /* bytes of a BLAKE2b hash */
#define LONG_WORK 16384 /* minimum code points or hashes: then the GIL is released */

#if defined(__GNUC__)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#else
#define UNLIKELY(condition) (condition)
#endif

/* The outcome of code that runs without the GIL and so cannot raise an exception. */
typedef enum { DONE, NEEDS_PYTHON, NO_MEMORY, BAD_TABLE, RAISED } Outcome; /* RAISED: with the GIL, there is an exception */

typedef struct {
    const uint32_t *packed;     /* CODE_POINTS entries: normalisation, role and flags of each code point */
    const uint8_t *sizes;       /* CODE_POINTS entries: number of code points in the normalisation */
    const uint32_t *starts;     /* CODE_POINTS entries: their start in `expansions`, if RESIZED */
    const uint32_t *expansions; /* packed points without flags */
    Py_ssize_t expansion_count;
    const uint32_t *folding;    /* by code point its XOR with the folded one; the last entry is for all others */
    Py_ssize_t folding_count;   /* 0: nothing is folded */
} NormalizationTable;

typedef struct {
    uint32_t *points; /* `length` packed points and one 0, which ends the last word */
    Py_ssize_t length;
    Py_ssize_t letters; /* points with a role */
    int is_ascii;
} PackedText;

typedef struct {
    const uint64_t *letters; /* PACKED_LIMIT entries: the random number of each packed point, 0 for separators */
    const uint64_t *rising;  /* MAX_LETTERS entries: powers of the base of words */
    uint64_t shingle_base;
} HashKeys;

typedef struct {
    uint64_t *hashes;       /* of the tokens; of words with more than MAX_LETTERS letters only the beginning */
    uint32_t *points;       /* in the same block: the first packed point of each token; its role tells words from characters */
    Py_ssize_t count;
    Py_ssize_t characters;  /* tokens that are characters */
    Py_ssize_t *long_words; /* triples: index of the token, of its first point, number of letters */
    Py_ssize_t long_count;
    Py_ssize_t long_capacity;
} TokenStream;

typedef struct {
    int slots;     /* a power of two from 2 to MAX_SLOTS */
    int slot_bits; /* its binary logarithm */
    int bands, rows;
    const uint64_t *rounds; /* ROUNDS factors */
    const uint64_t *orders; /* `slots` factors */
    const uint64_t *row_factors;
    const uint64_t *band_offsets;
} SketchScheme;

typedef struct {
    int size;    /* of a hash in bytes, at most MAX_DIGEST */
    int has_key; /* whether there is a key */
    uint8_t key[8];
    uint8_t person[16]; /* personalisation, padded with zeros */
} HashScheme;

/* The bounds of a match, as in detectors/relations.py. */
typedef struct {
    double chance;       /* share of slots that agree by chance */
    double similarity;   /* lowest of a near-duplicate */
    double length_ratio; /* highest */
    double length_slack; /* characters, highest difference */
    double containment;  /* lowest of an excerpt or an expansion */
} MatchBounds;

/* How a new page relates to an earlier one, a byte each; detectors/minhash.py has the same numbers. */
enum { UNRELATED, NEAR_DUPLICATE, EXCERPT, EXPANSION, NO_SKETCH };

/* The finaliser of MurmurHash3. */
static inline uint64_t
mix(uint64_t hash)
{
    hash ^= hash >> 33;
    hash *= UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 33;
    hash *= UINT64_C(0xC4CEB9FE1A85EC53);
    hash ^= hash >> 33;
    return hash;
}

/* One multiplication is enough for hashes that were well mixed before. */
static inline uint64_t
light_mix_without_last_step(uint64_t hash)
{
    return (hash ^ hash >> 32) * UINT64_C(0xFF51AFD7ED558CCD);
}

/* It leaves the highest 29 bits as they are. */
static inline uint64_t
last_step_of_light_mix(uint64_t hash)
{
    return hash ^ hash >> 29;
}

static inline uint64_t
light_mix(uint64_t hash)
{
    return last_step_of_light_mix(light_mix_without_last_step(hash));
}

/* Write a code point in UTF-8; returns the end of it. */
static inline uint8_t *
put_utf8(uint8_t *out, uint32_t code)
{
    if (code < 0x80) {
        *out++ = (uint8_t)code;
        return out;
    }
    if (code < 0x800) {
        *out++ = (uint8_t)(0xC0 | code >> 6);
    } else {
        if (code < 0x10000) {
            *out++ = (uint8_t)(0xE0 | code >> 12);
        } else {
            *out++ = (uint8_t)(0xF0 | code >> 18);
            *out++ = (uint8_t)(0x80 | (code >> 12 & 0x3F));
        }
        *out++ = (uint8_t)(0x80 | (code >> 6 & 0x3F));
    }
    *out++ = (uint8_t)(0x80 | (code & 0x3F));
    return out;
}

/* normalize.c */
Outcome pack_text(const NormalizationTable *table, PyObject *text, PackedText *result);
Outcome copy_points(const NormalizationTable *table, const uint32_t *points, Py_ssize_t count, PackedText *result);
Py_ssize_t utf8_size(const PackedText *text);
void write_utf8(const PackedText *text, char *out);
Py_ssize_t utf8_length(PyObject *text); /* bytes of a string in UTF-8, with "?" for each lone surrogate */
Outcome is_one_word_repeated(const PackedText *text, int *result);


/* Normalised text in UTF-8 that is written piece by piece. All zeros is an empty one; the caller frees the bytes. */
typedef struct {
    uint8_t *bytes;
    Py_ssize_t size, capacity;
    int has_begun; /* whether the last byte is no space; at the beginning it counts as one */
} EncodedText;

Outcome add_normalized(const NormalizationTable *table, PyObject *text, Py_ssize_t start, Py_ssize_t stop,
                       uint32_t line_break, EncodedText *result);
Outcome add_separator(uint8_t separator, EncodedText *result);
void end_normalized(EncodedText *result);

/* blake2b.c */
void blake2b(const HashScheme *scheme, const void *data, Py_ssize_t size, uint8_t *digest);

/* hashing.c */
Outcome hash_tokens(const PackedText *text, const HashKeys *keys, TokenStream *stream);
void free_tokens(TokenStream *stream);
Py_ssize_t hash_shingles(const TokenStream *stream, Py_ssize_t characters, Py_ssize_t words, uint64_t base,
                         uint64_t *result);

/* sketch.c */
void sketch_hashes(const uint64_t *hashes, Py_ssize_t count, const SketchScheme *scheme, uint8_t *slots);
void hash_bands(const uint8_t *slots, const SketchScheme *scheme, uint64_t *keys);
void relate_sketches(const uint8_t *sketch, const uint8_t *others, Py_ssize_t count, uint8_t tag, int slots,
                     const MatchBounds *bounds, uint8_t *relations);
void least_hashes(const uint64_t *hashes, Py_ssize_t count, const uint64_t *factors, Py_ssize_t functions,
                  uint64_t *least);
void weigh_bits(const uint64_t *hashes, const int64_t *weights, Py_ssize_t count, int64_t *sums);

#endif
