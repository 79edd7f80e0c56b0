/* The values of a text, and the hash of bytes that they and names have: values.c. */
#ifndef DEDUPCRAWL_VALUES_H
#define DEDUPCRAWL_VALUES_H

#include "words.h"

#define CRC_START 0xFFFFFFFFu
#define CRC_SLICES 8 /* bytes of a step */
#define HASH_FACTOR 0x9E3779B1u /* 2^32 / golden ratio */
#define MAX_NUMBERS 128

/* The Chinese numerals, a bit for each code point below 0x10000. */
typedef struct {
    uint8_t bits[0x10000 / 8];
    uint8_t begins[0x10000 / 64]; /* by the upper bits of code points, those of the first two bytes: whether one has them */
} HanNumerals;

/* A keyed hash of bytes: a substitution, then a CRC. */
typedef struct {
    uint8_t bytes[256]; /* the substitution */
    uint32_t crc[CRC_SLICES][256]; /* of a byte, and of one with one to seven zeros after it */
} ByteHash;

typedef struct {
    uint32_t hashes[MAX_NUMBERS];
    uint8_t is_strong[MAX_NUMBERS];
    int count;
} FoundValues;

typedef struct {
    uint32_t crc;
    Py_ssize_t count;
} Facts;

uint32_t add_to_crc(const ByteHash *hash, uint32_t crc, const uint8_t *text, Py_ssize_t size);
uint32_t end_of_crc(uint32_t crc);
uint32_t hash_bytes(const ByteHash *hash, const uint8_t *text, Py_ssize_t size);
int is_counted(const WordSet *words, const uint8_t *text, Py_ssize_t size, Py_ssize_t at);
int is_counting(const WordSet *words, const uint8_t *text, Py_ssize_t start);
int is_stamp(const WordSet *words, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end);

/* Find the values of a text, and its facts unless they are NULL. */
void find_values(const WordSet *words, const ByteHash *hash, const uint8_t *text, Py_ssize_t size, FoundValues *found,
                 Facts *facts);
void add_han_numbers(const HanNumerals *numerals, const ByteHash *hash, const uint8_t *text, Py_ssize_t size, Facts *facts);

#endif
