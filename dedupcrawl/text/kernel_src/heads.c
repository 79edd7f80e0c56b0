/* The beginnings of the sentences of a long text. */
#include "identity.h"

/* The lowest hashes of the beginnings of sentences, sorted, each with its first place. */
typedef struct {
    uint16_t hashes[FEW_SENTENCES];
    const uint8_t *places[FEW_SENTENCES];
    int size;
} Heads;

static void
add_head(Heads *heads, uint16_t hash, const uint8_t *place)
{
    int at = heads->size;
    while (at && heads->hashes[at - 1] > hash) {
        at--;
    }
    if (at && heads->hashes[at - 1] == hash) {
        heads->places[at - 1] = place < heads->places[at - 1] ? place : heads->places[at - 1];
        return;
    }
    if (at == FEW_SENTENCES) {
        return;
    }
    heads->size += heads->size < FEW_SENTENCES;
    for (int i = heads->size - 1; i > at; i--) {
        heads->hashes[i] = heads->hashes[i - 1];
        heads->places[i] = heads->places[i - 1];
    }
    heads->hashes[at] = hash;
    heads->places[at] = place;
}

/* Add what stands after each full stop. */
static void
add_heads(const IdentityObject *self, Span text, const char *stop, Heads *heads)
{
    Py_ssize_t size = (Py_ssize_t)strlen(stop);
    const uint8_t *at = text.bytes, *end = at + text.size - size - HEAD_BYTES;
    while (at <= end && (at = memchr(at, (uint8_t)*stop, (size_t)(end - at + 1))) != NULL) {
        if (memcmp(at, stop, (size_t)size) == 0) {
            add_head(heads, (uint16_t)(hash_bytes(&self->hash, at + size, HEAD_BYTES) >> 16), at);
        }
        at++;
    }
}

/* Sample the beginnings of sentences of a long text, in its order; see sentence_heads() in values.py. */
void
read_heads(const IdentityObject *self, Span text, Sample *sample)
{
    Heads heads = {.size = 0};
    add_heads(self, text, ". ", &heads);
    add_heads(self, text, "\xe3\x80\x82", &heads);
    for (int i = 0; i < heads.size; i++) {
        int at = 0;
        for (int k = 0; k < heads.size; k++) {
            at += heads.places[k] < heads.places[i];
        }
        sample->hashes[at] = heads.hashes[i];
    }
    sample->size = heads.size;
}
