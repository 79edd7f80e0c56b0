/* Sets of words that are looked for at a place of a text, as tries. */
#include "words.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 0xFFFF };

static int
reserve_node(WordSet *set)
{
    if (set->count < set->capacity) {
        return 1;
    }
    int wanted = set->capacity ? 2 * set->capacity : 256;
    WordNode *nodes = set->count == MOST_NODES ? NULL : realloc(set->nodes, (size_t)wanted * sizeof *nodes);
    if (nodes == NULL) {
        return 0;
    }
    set->nodes = nodes;
    set->capacity = wanted;
    if (set->count == 0) { /* the index 0 means that there is no node */
        memset(nodes, 0, sizeof *nodes);
        set->count = 1;
    }
    return 1;
}

/* Add a word, `step` is -1 for one that is looked for backwards. Returns 0 without memory. */
int
add_word(WordSet *set, const uint8_t *word, Py_ssize_t size, int step)
{
    int node = 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        uint8_t byte = word[step > 0 ? i : size - 1 - i];
        int next = node == 0 ? set->first[byte] : set->nodes[node].child;
        while (next && set->nodes[next].byte != byte) {
            next = set->nodes[next].next;
        }
        if (next == 0) {
            if (!reserve_node(set)) {
                return 0;
            }
            next = set->count++;
            uint16_t *head = node == 0 ? &set->first[byte] : &set->nodes[node].child;
            set->nodes[next] = (WordNode){.next = *head, .byte = byte};
            *head = (uint16_t)next;
        }
        node = next;
    }
    if (node) {
        set->nodes[node].is_word = 1;
    }
    return 1;
}

static inline int
find_child(const WordSet *set, int node, uint8_t byte)
{
    int next = node == 0 ? set->first[byte] : set->nodes[node].child;
    while (next && set->nodes[next].byte != byte) {
        next = set->nodes[next].next;
    }
    return next;
}

Py_ssize_t
longest_from(const WordSet *set, const uint8_t *text, Py_ssize_t size, Py_ssize_t at, WordEnd end)
{
    Py_ssize_t found = -1;
    int node = 0;
    while (at < size && (node = find_child(set, node, text[at])) != 0) {
        at++;
        if (set->nodes[node].is_word && (end == ANYWHERE || at == size || !is_letter_byte(text[at]))) {
            found = at;
        }
    }
    return found;
}

Py_ssize_t
longest_until(const WordSet *set, const uint8_t *text, Py_ssize_t at, WordEnd end)
{
    Py_ssize_t found = -1;
    int node = 0;
    while (at > 0 && (node = find_child(set, node, text[at - 1])) != 0) {
        at--;
        if (set->nodes[node].is_word) {
            uint8_t before = at ? text[at - 1] : ' ';
            int is_letter = before >= 'a' && before <= 'z';
            if (end == ANYWHERE || !(is_letter || (end == AT_LETTERS && before >= 0x80))) {
                found = at;
            }
        }
    }
    return found;
}
