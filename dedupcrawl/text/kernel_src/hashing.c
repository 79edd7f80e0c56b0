/* Keyed hashes of tokens and shingles; the reference is shingles.py. */
#include "kernel.h"

#include <stdlib.h>
#include <string.h>

#define ANY_ROLE 3u
#define SHORT_SHINGLE 4 /* up to this length every shingle is computed by itself, above it from the one before */

static int
note_long_word(TokenStream *stream, Py_ssize_t start, Py_ssize_t letters)
{
    if (stream->long_count == stream->long_capacity) {
        Py_ssize_t capacity = stream->long_capacity ? 2 * stream->long_capacity : 8;
        if (capacity > PY_SSIZE_T_MAX / (Py_ssize_t)(3 * sizeof(Py_ssize_t))) {
            return 0;
        }
        Py_ssize_t *words = realloc(stream->long_words, (size_t)capacity * 3 * sizeof(Py_ssize_t));
        if (words == NULL) {
            return 0;
        }
        stream->long_words = words;
        stream->long_capacity = capacity;
    }
    Py_ssize_t *word = stream->long_words + 3 * stream->long_count++;
    word[0] = stream->count;
    word[1] = start;
    word[2] = letters;
    return 1;
}

/* Hash all tokens. `stream` must be zero at first, and owns its block also after a failure. */
Outcome
hash_tokens(const PackedText *text, const HashKeys *keys, TokenStream *stream)
{
    Py_ssize_t most = text->letters; /* of tokens */
    if (most > PY_SSIZE_T_MAX / 16 - 1) {
        return NO_MEMORY;
    }
    /* One block for both arrays: in a short text, allocations are a large part of the cost. */
    stream->hashes = malloc(((size_t)most + 1) * (sizeof(uint64_t) + sizeof(uint32_t)));
    if (stream->hashes == NULL) {
        return NO_MEMORY;
    }
    stream->points = (uint32_t *)(stream->hashes + most + 1);
    const uint32_t *points = text->points, *end = points + text->length;
    while (points < end) {
        uint32_t point = *points, role = point >> ROLE_SHIFT;
        if (role == SEPARATOR) {
            points++;
            continue;
        }
        uint64_t hash = keys->letters[point];
        stream->points[stream->count] = point;
        if (role == CHARACTER) {
            stream->characters++;
            points++;
        } else {
            const uint32_t *start = points++;
            /* The 0 after the last point ends the last word. */
            for (int i = 1; *points >> ROLE_SHIFT == WORD && i < MAX_LETTERS; i++, points++) {
                hash += keys->letters[*points] * keys->rising[i];
            }
            if (UNLIKELY(*points >> ROLE_SHIFT == WORD)) {
                while (*points >> ROLE_SHIFT == WORD) {
                    points++;
                }
                if (!note_long_word(stream, start - text->points, points - start)) {
                    return NO_MEMORY;
                }
            }
        }
        stream->hashes[stream->count++] = hash;
    }
    return DONE;
}

void
free_tokens(TokenStream *stream)
{
    free(stream->hashes);
    free(stream->long_words);
    memset(stream, 0, sizeof *stream);
}

static uint64_t
run_polynomial(const uint64_t *hashes, Py_ssize_t length, uint64_t base)
{
    uint64_t run = hashes[0];
    for (Py_ssize_t i = 1; i < length; i++) {
        run = run * base + hashes[i];
    }
    return run;
}

/* Hash the runs of `length` tokens; with a role, only those that start at a token of this role. */
static Py_ssize_t
hash_runs(const TokenStream *stream, Py_ssize_t length, uint64_t base, uint32_t role, uint64_t *result)
{
    const uint64_t *hashes = stream->hashes;
    Py_ssize_t runs = stream->count - length + 1, found = 0;
    if (runs < 1) {
        return 0;
    }
    uint64_t power = base; /* base^length */
    for (Py_ssize_t i = 1; i < length; i++) {
        power *= base;
    }
    uint64_t run = run_polynomial(hashes, length, base);
    for (Py_ssize_t i = 0;; i++) {
        result[found] = mix(run);
        found += role == ANY_ROLE || stream->points[i] >> ROLE_SHIFT == role;
        if (i + 1 == runs) {
            return found;
        }
        run = length <= SHORT_SHINGLE ? run_polynomial(hashes + i + 1, length, base)
                                      : run * base + (hashes[i + length] - hashes[i] * power);
    }
}

/* Hash all shingles, those that start at a character first. `result` has room for `count` + 1 of them. */
Py_ssize_t
hash_shingles(const TokenStream *stream, Py_ssize_t characters, Py_ssize_t words, uint64_t base, uint64_t *result)
{
    if (stream->count == 0) {
        return 0;
    }
    Py_ssize_t found;
    if (stream->characters == 0 || stream->characters == stream->count) {
        found = hash_runs(stream, stream->characters ? characters : words, base, ANY_ROLE, result);
    } else {
        found = hash_runs(stream, characters, base, CHARACTER, result);
        found += hash_runs(stream, words, base, WORD, result + found);
    }
    return found ? found : hash_runs(stream, stream->count, base, ANY_ROLE, result);
}
