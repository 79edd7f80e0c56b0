/* Numbers in a text: runs of the digits 0 to 9, which a single mark may join to one number. */
#include "kernel.h"

enum { BLOCK = 32 }; /* bytes without a digit that are passed over at a time; compilers use vector instructions */

static inline unsigned
is_digit(uint8_t byte)
{
    return (uint8_t)(byte - '0') < 10;
}

static Py_ssize_t
next_digit(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    while (size - at >= BLOCK) {
        unsigned found = 0;
        for (int i = 0; i < BLOCK; i++) {
            found |= is_digit(text[at + i]);
        }
        if (found) {
            break;
        }
        at += BLOCK;
    }
    while (at < size && !is_digit(text[at])) {
        at++;
    }
    return at;
}

int
next_number(const uint8_t *text, Py_ssize_t size, const uint8_t *joins, Py_ssize_t *start, Py_ssize_t *stop)
{
    Py_ssize_t at = next_digit(text, size, *stop);
    if (at == size) {
        return 0;
    }
    *start = at;
    do {
        at++;
        if (size - at >= 2 && joins[text[at]] && is_digit(text[at + 1])) {
            at++;
        }
    } while (at < size && is_digit(text[at]));
    *stop = at;
    return 1;
}
