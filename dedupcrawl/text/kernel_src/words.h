/* Sets of words that are looked for at a place of a text, as tries: words.c. */
#ifndef DEDUPCRAWL_WORDS_H
#define DEDUPCRAWL_WORDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

/* Words that begin with the same letters share nodes. Siblings are chained. */
typedef struct {
    uint16_t child, next; /* indices of nodes, 0 for none */
    uint8_t byte, is_word;
} WordNode;

typedef struct {
    WordNode *nodes;
    int count, capacity;
    uint16_t first[256]; /* by byte the node of words that begin with it */
} WordSet;

/* What may stand beside a word: anything, no byte of a letter or digit, no letter, no letter of ASCII. */
typedef enum { ANYWHERE, AT_WORDS, AT_LETTERS, AT_ASCII } WordEnd;

/* The sets of words, in the order of identity_sketch.py. */
typedef enum {
    COUNTED, COUNTED_OPEN, PASSING, MONTHS, UNITS, UNITS_OPEN, CHANGED, PUBLISHED, OF_VIEW, VIEW_WORDS,
    COUNTING, SINCE, MONTHS_BEFORE, CURRENCIES, WORD_SETS
} WordKind;
#define FIRST_BACKWARDS COUNTING /* this set and those after it are looked for backwards */

int add_word(WordSet *set, const uint8_t *word, Py_ssize_t size, int step);
Py_ssize_t longest_from(const WordSet *set, const uint8_t *text, Py_ssize_t size, Py_ssize_t at, WordEnd end);
Py_ssize_t longest_until(const WordSet *set, const uint8_t *text, Py_ssize_t at, WordEnd end);

/* A letter or digit; texts are folded. Bytes of characters outside ASCII count as letters. */
static inline int
is_letter_byte(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte >= 0x80;
}

#endif
