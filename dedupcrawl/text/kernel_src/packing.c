/* A sketch of an identity as bytes, see identity_codec.py. */
#include "identity.h"

static void
put(Packed *packed, unsigned int number, int bytes)
{
    while (bytes--) {
        packed->bytes[packed->size++] = (uint8_t)(number >> 8 * bytes);
    }
}

static void
put_size(Packed *packed, int size, unsigned int number, unsigned int total)
{
    int is_whole = number == (unsigned int)size;
    put(packed, (unsigned int)(size | !is_whole << 7), 1);
    if (!is_whole) {
        put(packed, number, 1);
        put(packed, total, 2);
    }
}

static void
put_sample(Packed *packed, const Sample *sample)
{
    put_size(packed, sample->size, sample->number, sample->total);
    for (int i = 0; i < sample->size; i++) {
        put(packed, sample->hashes[i] | sample->flags[i], 2);
    }
}

void
pack_parts(const Parts *parts, Packed *packed)
{
    const Names *names = &parts->names->names;
    put(packed, parts->flags, 1);
    put(packed, parts->facts, 2);
    put(packed, parts->around, 2);
    put(packed, parts->body, 2);
    put_size(packed, names->count, parts->names->is_whole ? (unsigned int)names->count : MAX_COUNT, 0);
    for (int i = 0; i < names->count; i++) {
        put(packed, names->keys[i], 2);
    }
    put_sample(packed, &parts->inner);
    put_sample(packed, &parts->outer);
    put_sample(packed, &parts->shorts);
    put_sample(packed, &parts->sentences);
    for (int i = 0; i < names->count; i += 2) {
        put(packed, (unsigned int)(names->flags[i] << 4 | (i + 1 < names->count ? names->flags[i + 1] : 0)), 1);
    }
}
