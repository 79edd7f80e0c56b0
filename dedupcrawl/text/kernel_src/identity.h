/* Identities of pages: what names.c, identity.c and packing.c share. The reference is ReferenceSketcher in identity_sketch.py,
 * with values.py and identity_codec.py; the constants are those there.
 */
#ifndef DEDUPCRAWL_IDENTITY_H
#define DEDUPCRAWL_IDENTITY_H

#include "types.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_NAMES = 15,
    MAX_VALUES = 6,
    MAX_SEARCHED = 4096,
    MAX_TOKEN_BYTES = 32, /* also characters */
    MAX_SHORT = 40,
    MAX_NAME_CHARS = 1000,
    MAX_COUNTED = 6000,
    MAX_BRIEF = 2000,
    MAX_SIGNED = 2000,
    MAX_SHORTS = 254,
    MIN_TELLING_LENGTH = 4,
    LONG_HEADING = 4,
    HASH_BITS = 14,
    BODY_BYTES = 2,
    VALUE_BITS = 15,
    BUCKETS = 16,
    SUMS_BYTES = 4,
    COUNTS_BYTES = SUMS_BYTES + BUCKETS,
    SUMS_PRIME = 4091,
    MAX_LINE_BYTES = 120,
    MAX_STAMP_BYTES = 80,
    SIGNATURE_BYTES = 3,
    SIGNATURE_BITS = 19,
    SIGNED = 3, /* in place of a number of counts */
    MAX_SENTENCE_BYTES = 1024,
    UNSPACED_RANGES = 16,
    PAIRS = 1024,
    FEW_CHARACTERS = 200, /* of names that need no memory from the heap */
};
enum { DIGIT = 0, TELLING = 1 << HASH_BITS, FILLER = 2 << HASH_BITS, NAME_LIMIT = 3 << HASH_BITS };
enum { HEADING = 1, TITLE = 2, SAID = 4, MAIN = 8, BODY = SAID | MAIN };
enum {
    ALL_NAMES = 1, IS_LONG = 2, HAS_HEADING = 4, HEADING_STANDS = 8, TITLE_STANDS = 16, IS_MISSING = 32, IS_ABOUT = 64,
    IS_BRIEF = 128
};

enum { MAY_BE_VIEW = 1, MAY_BE_STAMP = 2, MAY_BE_COUNTER = 4 }; /* kinds of words that say nothing about a page */

#define PAIR_HASH(one, other) (((unsigned)(one) << 5 ^ (unsigned)(other)) & (PAIRS - 1))

typedef struct {
    PyObject_HEAD
    WordSet words[WORD_SETS];
    ByteHash hash;
    HanNumerals numerals;
    uint8_t passing[PAIRS]; /* by a hash of two bytes the kinds of words that may begin with them */
    Py_UCS4 unspaced[2 * UNSPACED_RANGES]; /* first and last code point of each range */
    Py_ssize_t unspaced_count;
} IdentityObject;

typedef struct {
    uint32_t keys[MAX_NAMES + 1]; /* the lowest, sorted */
    uint8_t flags[MAX_NAMES + 1];
    int count;
} Names;

typedef struct {
    uint32_t hashes[MAX_VALUES + 1];
    int count;
} Lowest;

typedef struct {
    const uint8_t *bytes; /* in UTF-8 */
    Py_ssize_t size;
    uint32_t key; /* class and hash */
    uint8_t name; /* HEADING or TITLE */
    uint8_t is_unspaced;
} Token;

typedef struct {
    Token *tokens;
    Py_ssize_t count;
    uint8_t *end; /* of the bytes of all tokens */
} Tokens;

/* The names of a page. */
typedef struct {
    Token few[FEW_CHARACTERS + FEW_CHARACTERS * 8 / sizeof(Token)];
    Tokens tokens;
    Names names;
    int state; /* what is known about them */
} FoundNames;

typedef struct {
    uint8_t bytes[256];
    uint32_t at; /* bits that are written */
} Bits;

typedef struct {
    const uint8_t *bytes;
    Py_ssize_t size;
} Span;

#define SPAN(buffer) ((Span){(buffer).buf, (buffer).len})

/* A sketch before it is packed. */
typedef struct {
    Names names;
    Lowest inner, outer, shorts;
    unsigned int facts, count, hash;
    int body, state;
    const uint8_t *counts; /* of sentences and values */
    Py_ssize_t counts_size;
} Parts;

static inline int
is_decimal(Py_UCS4 code)
{
    return code < 0x80 ? code >= '0' && code <= '9' : Py_UNICODE_ISDECIMAL(code);
}

static inline int
is_letter_or_digit(Py_UCS4 code)
{
    return code < 0x80 ? Py_ISALNUM(code) : Py_UNICODE_ISALNUM(code);
}

#if defined(__GNUC__) && defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define HAS_MARKS /* the first of several marked bytes is found by an instruction */
#endif

enum { AT_ONCE = 8 }; /* bytes */
#define HIGHEST_BITS (0x80 * UINT64_C(0x0101010101010101))

/* Return the highest bit of each of the next eight bytes that is between two ASCII characters, both included. */
static inline uint64_t
marked_bytes(const uint8_t *text, uint8_t first, uint8_t last)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    uint64_t bytes;
    memcpy(&bytes, text, AT_ONCE);
    uint64_t low = bytes & ~HIGHEST_BITS, from = low + (0x80 - first) * ones, above = low + (0x80 - last - 1) * ones;
    return from & ~above & ~bytes & HIGHEST_BITS;
}

/* names.c */
int read_names(const IdentityObject *self, PyObject *heading, PyObject *title, const uint8_t *text, Py_ssize_t size,
               FoundNames *found);
void free_names(FoundNames *found);
uint32_t names_within(const FoundNames *found, const uint8_t *text, Py_ssize_t size);
int is_about(const Names *names);
int is_long_heading(const Tokens *found, Py_ssize_t count);
PyObject *identity_names(IdentityObject *self, PyObject *args);

/* identity.c */
void read_values(const IdentityObject *self, Span text, Span beside, Lowest *inner, Lowest *outer, uint32_t *facts);
Outcome read_shorts(const IdentityObject *self, Span beside, Span lines, Lowest *sample, Py_ssize_t *count, uint64_t *sum);
void read_sentences(const IdentityObject *self, Span lines, uint8_t *spaced, uint8_t *counts);
void sign_lines(const IdentityObject *self, Span lines, uint8_t *bytes);
int has_view_word(const IdentityObject *self, Span lines);

/* page_identity.c */
PyObject *identity_sketch(IdentityObject *self, PyObject *args);

/* packing.c */
void pack_parts(Parts *parts, Bits *bits);
PyObject *identity_pack(IdentityObject *self, PyObject *args);

#endif
