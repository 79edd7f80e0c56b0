/* BLAKE2b (RFC 7693), as hashlib.blake2b computes it: with a key of 8 bytes or none, and a personalisation. */
#include "kernel.h"

#include <string.h>

#define BLOCK_BYTES 128
#define DEPTH_AND_FANOUT 0x01010000u /* of a hash that is no tree */

static const uint64_t START[8] = {
    UINT64_C(0x6A09E667F3BCC908), UINT64_C(0xBB67AE8584CAA73B), UINT64_C(0x3C6EF372FE94F82B),
    UINT64_C(0xA54FF53A5F1D36F1), UINT64_C(0x510E527FADE682D1), UINT64_C(0x9B05688C2B3E6C1F),
    UINT64_C(0x1F83D9ABFB41BD6B), UINT64_C(0x5BE0CD19137E2179),
};

static inline uint64_t
rotate(uint64_t value, int bits)
{
    return value >> bits | value << (64 - bits);
}

static inline uint64_t
load(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) {
        value |= (uint64_t)bytes[i] << 8 * i;
    }
    return value;
}

#define MIX(a, b, c, d, x, y)      \
    do {                           \
        a += b + words[x];         \
        d = rotate(d ^ a, 32);     \
        c += d;                    \
        b = rotate(b ^ c, 24);     \
        a += b + words[y];         \
        d = rotate(d ^ a, 16);     \
        c += d;                    \
        b = rotate(b ^ c, 63);     \
    } while (0)

/* A round with its order of the message words. */
#define ROUND(s0, s1, s2, s3, s4, s5, s6, s7, s8, s9, s10, s11, s12, s13, s14, s15) \
    do {                                                                            \
        MIX(v[0], v[4], v[8], v[12], s0, s1);                                       \
        MIX(v[1], v[5], v[9], v[13], s2, s3);                                       \
        MIX(v[2], v[6], v[10], v[14], s4, s5);                                      \
        MIX(v[3], v[7], v[11], v[15], s6, s7);                                      \
        MIX(v[0], v[5], v[10], v[15], s8, s9);                                      \
        MIX(v[1], v[6], v[11], v[12], s10, s11);                                    \
        MIX(v[2], v[7], v[8], v[13], s12, s13);                                     \
        MIX(v[3], v[4], v[9], v[14], s14, s15);                                     \
    } while (0)

static void
compress(uint64_t *state, const uint8_t *block, uint64_t count, int is_last)
{
    uint64_t v[16], words[16];
    for (int i = 0; i < 16; i++) {
        words[i] = load(block + 8 * i);
    }
    for (int i = 0; i < 8; i++) {
        v[i] = state[i];
        v[i + 8] = START[i];
    }
    v[12] ^= count;
    v[14] ^= is_last ? UINT64_MAX : 0;
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    ROUND(11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4);
    ROUND(7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8);
    ROUND(9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13);
    ROUND(2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9);
    ROUND(12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11);
    ROUND(13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10);
    ROUND(6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5);
    ROUND(10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0);
    ROUND(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ROUND(14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3);
    for (int i = 0; i < 8; i++) {
        state[i] ^= v[i] ^ v[i + 8];
    }
}

/* Hash data to `scheme->size` bytes. */
void
blake2b(const HashScheme *scheme, const void *data, Py_ssize_t size, uint8_t *digest)
{
    const uint8_t *bytes = data;
    uint64_t state[8], count = 0, key_bytes = scheme->has_key ? sizeof scheme->key : 0;
    uint8_t block[BLOCK_BYTES] = {0};
    memcpy(state, START, sizeof state);
    state[0] ^= DEPTH_AND_FANOUT | key_bytes << 8 | (uint64_t)scheme->size;
    state[6] ^= load(scheme->person);
    state[7] ^= load(scheme->person + 8);
    if (scheme->has_key) {
        memcpy(block, scheme->key, sizeof scheme->key);
        compress(state, block, count += BLOCK_BYTES, size == 0);
        memset(block, 0, sizeof scheme->key);
    }
    while (size > BLOCK_BYTES) {
        compress(state, bytes, count += BLOCK_BYTES, 0);
        bytes += BLOCK_BYTES;
        size -= BLOCK_BYTES;
    }
    if (size > 0 || !scheme->has_key) {
        memcpy(block, bytes, (size_t)size);
        compress(state, block, count + (uint64_t)size, 1);
    }
    for (int i = 0; i < scheme->size; i++) {
        digest[i] = (uint8_t)(state[i / 8] >> 8 * (i % 8));
    }
}
