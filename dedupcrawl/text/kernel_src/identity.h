/* Identities of pages: what names.c, identity.c and packing.c share. The reference is reference_sketch() in
 * identity_sketch.py, with names.py, values.py and identity_codec.py; the constants are those there.
 */
#ifndef DEDUPCRAWL_IDENTITY_H
#define DEDUPCRAWL_IDENTITY_H

#include "scan.h"
#include "types.h"
#include "values.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_NAMES = 15,
    MAX_VALUES = 16,
    FEW_VALUES = 6,
    FEW_SENTENCES = 8,
    MAX_SENTENCES = 24,
    MAX_COUNT = 255, /* of the items of a page that are counted */
    MAX_SEARCHED = 4096,
    MAX_TOKEN_BYTES = 32, /* also characters */
    MAX_SHORT = 40,
    MAX_NAME_CHARS = 1000,
    MAX_LISTED = 6000,
    HEAD_BYTES = 32, /* of a sentence of a long text */
    MAX_BRIEF = 2000,
    MIN_TELLING_LENGTH = 4,
    MAX_SIGNED = 3, /* letters of a word that a sign belongs to */
    MINUS = 0x2212,
    LONG_NAME = 4,
    HASH_BITS = 14,
    BODY_BYTES = 2,
    VALUE_BITS = 15,
    FULL_BITS = 16,
    MAX_LINE_BYTES = 120,
    MAX_SENTENCE_BYTES = 1024,
    UNSPACED_RANGES = 16,
    PAIRS = 1024,
    FEW_CHARACTERS = 200, /* of names that need no memory from the heap */
};
enum { DIGIT = 0, TELLING = 1 << HASH_BITS, FILLER = 2 << HASH_BITS, NAME_LIMIT = 3 << HASH_BITS };
enum { HEADING = 1, TITLE = 2, SAID = 4, MAIN = 8, BODY = SAID | MAIN };
enum { BESIDE = 1, SAMPLES = 5 };

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

/* The lowest hashes of a page; sentences are in the order of the text, others sorted. */
typedef struct {
    uint16_t hashes[MAX_SENTENCES];
    uint16_t flags[MAX_SENTENCES];
    int size;
    uint32_t number; /* of all hashes; 0 with hashes: not known */
    uint16_t total;  /* their sum */
} Sample;

/* Hashes of 16 bits, each above its flag or its place. The caller frees the memory. */
typedef struct {
    uint32_t *items;
    Py_ssize_t count, capacity;
} Items;

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
    int is_whole, is_long;
} FoundNames;

/* A stream of bits that is written. */
typedef struct {
    uint8_t bytes[256];
    int size;         /* bytes */
    uint64_t pending; /* its lowest `count` bits are behind the bytes */
    int count;
} Packed;

typedef struct {
    const uint8_t *bytes;
    Py_ssize_t size;
} Span;

#define SPAN(buffer) ((Span){(buffer).buf, (buffer).len})

/* A sketch before it is packed. */
typedef struct {
    const FoundNames *names;
    Sample inner, outer, shorts, sentences;
    unsigned int facts, around, body, is_brief, is_article;
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

/* names.c */
int read_names(const IdentityObject *self, PyObject *heading, PyObject *title, const uint8_t *text, Py_ssize_t size,
               FoundNames *found);
void free_names(FoundNames *found);
uint32_t names_within(const FoundNames *found, const uint8_t *text, Py_ssize_t size);
int is_about(const Names *names);

/* identity.c */
void read_values(const IdentityObject *self, Span text, Span beside, int most, Sample *inner, Sample *outer,
                 uint32_t *facts);
Outcome read_shorts(const IdentityObject *self, Span beside, Span lines, Sample *sample);
int has_view_word(const IdentityObject *self, Span lines);
int add_item(Items *found, uint32_t item);
void sample_items(uint32_t *items, Py_ssize_t count, int limit, Sample *sample);

/* sentences.c */
Outcome read_sentences(const IdentityObject *self, Span lines, int most, Sample *sample);
void read_heads(const IdentityObject *self, Span text, Sample *sample);

/* page_identity.c */
PyObject *identity_sketch(IdentityObject *self, PyObject *args);

/* packing.c */
void pack_parts(const Parts *parts, Packed *packed);

#endif
