/* Scans of a text for the places at which something may begin: a word of a set, or a byte of a range. */
#ifndef DEDUPCRAWL_SCAN_H
#define DEDUPCRAWL_SCAN_H

#include "words.h"

#include <string.h>

/* Return where the longest word ends that begins at `at`, -1 for none. At most places none begins. */
static inline Py_ssize_t
word_from(const WordSet *set, const uint8_t *text, Py_ssize_t size, Py_ssize_t at, WordEnd end)
{
    return at < size && set->first[text[at]] ? longest_from(set, text, size, at, end) : -1;
}

/* Return where the longest word begins that ends before `at`, -1 for none. */
static inline Py_ssize_t
word_until(const WordSet *set, const uint8_t *text, Py_ssize_t at, WordEnd end)
{
    return at > 0 && set->first[text[at - 1]] ? longest_until(set, text, at, end) : -1;
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

#endif
