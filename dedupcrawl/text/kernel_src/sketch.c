/* Fast Similarity Sketching and its bands; the reference is detectors/lsh.py. Minima and bit sums of other sketches. */
#include "kernel.h"

#include <string.h>

#define UNOWNED UINT64_MAX
#define ROUND_BITS 4
#define VALUE_BITS 60
#define DEFAULT_SLOT_BITS 7
#define LEAST_AGREEMENT 8 /* at least one slot in this number must agree */
#define CHUNK 512 /* hashes that stay in the first cache while all functions are applied to them */

/* Assign to each slot the least (round, value) of the hashes that fall into it. */
static inline void
assign_slot(uint64_t hash, uint64_t round, int shift, uint64_t *owners)
{
    uint64_t value = hash >> ROUND_BITS | round << VALUE_BITS, *owner = owners + (hash >> shift);
    *owner = value < *owner ? value : *owner;
}

/* Assign all slots that random rounds can assign. */
static inline void
assign_all_slots(const uint64_t *hashes, Py_ssize_t count, const SketchScheme *scheme, int shift, uint64_t *owners)
{
    int unowned = 0; /* all slots before it have an owner */
    for (Py_ssize_t i = 0; i < count; i++) {
        assign_slot(hashes[i], 0, shift, owners);
    }
    for (int round = 1; round < ROUNDS; round++) {
        while (unowned < scheme->slots && owners[unowned] != UNOWNED) {
            unowned++;
        }
        if (unowned == scheme->slots) {
            return;
        }
        uint64_t factor = scheme->rounds[round], least = (uint64_t)round << VALUE_BITS;
        if (count < scheme->slots / round) {
            for (Py_ssize_t i = 0; i < count; i++) {
                assign_slot(light_mix(hashes[i] * factor), (uint64_t)round, shift, owners);
            }
        } else { /* Most slots belong to hashes of earlier rounds: a branch is faster then. */
            for (Py_ssize_t i = 0; i < count; i++) {
                uint64_t hash = light_mix_without_last_step(hashes[i] * factor);
                if (UNLIKELY(owners[hash >> shift] >= least)) { /* the last step leaves the highest bits */
                    assign_slot(last_step_of_light_mix(hash), (uint64_t)round, shift, owners);
                }
            }
        }
    }
}

/* Sketch a set of one or more hashes. */
void
sketch_hashes(const uint64_t *hashes, Py_ssize_t count, const SketchScheme *scheme, uint8_t *slots)
{
    uint64_t owners[MAX_SLOTS];
    for (int slot = 0; slot < scheme->slots; slot++) {
        owners[slot] = UNOWNED;
    }
    if (scheme->slot_bits == DEFAULT_SLOT_BITS) { /* A shift by a constant is faster. */
        assign_all_slots(hashes, count, scheme, 64 - DEFAULT_SLOT_BITS, owners);
    } else {
        assign_all_slots(hashes, count, scheme, 64 - scheme->slot_bits, owners);
    }
    for (int slot = 0; slot < scheme->slots; slot++) {
        if (owners[slot] == UNOWNED) {
            least_hashes(hashes, count, scheme->orders + slot, 1, owners + slot);
        }
        slots[slot] = (uint8_t)owners[slot];
    }
}

/* Hash the bands of a sketch to `bands` keys. */
void
hash_bands(const uint8_t *slots, const SketchScheme *scheme, uint64_t *keys)
{
    for (int band = 0; band < scheme->bands; band++) {
        uint64_t sum = scheme->band_offsets[band];
        for (int row = 0; row < scheme->rows; row++) {
            sum += slots[band * scheme->rows + row] * scheme->row_factors[row];
        }
        keys[band] = mix(sum);
    }
}

static uint32_t
read_number(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

/* How a sketch relates to an earlier one; the reference is detectors/minhash.py, compare(). */
static uint8_t
relate_pair(const uint8_t *new, const uint8_t *old, uint8_t tag, int slots, const MatchBounds *bounds)
{
    double length = read_number(new + 1), shingles = read_number(new + 5);
    double old_length = read_number(old + 1), old_shingles = read_number(old + 5);
    if (old[0] != tag || !old_length || !old_shingles) {
        return NO_SKETCH;
    }
    int agreeing = 0;
    for (int slot = 0; slot < slots; slot++) {
        agreeing += new[HEADER_BYTES + slot] == old[HEADER_BYTES + slot];
    }
    if (agreeing * LEAST_AGREEMENT < slots) {
        return UNRELATED;
    }
    double similarity = ((double)agreeing / slots - bounds->chance) / (1 - bounds->chance);
    similarity = similarity > 0 ? similarity : 0;
    double longer = length > old_length ? length : old_length, shorter = length > old_length ? old_length : length;
    int is_similar_length = longer / shorter <= bounds->length_ratio && longer - shorter <= bounds->length_slack;
    if (is_similar_length && similarity >= bounds->similarity) {
        return NEAR_DUPLICATE;
    }
    double common = similarity * (shingles + old_shingles) / (1 + similarity);
    if (length <= old_length) {
        return common / shingles >= bounds->containment ? EXCERPT : UNRELATED;
    }
    return common / old_shingles >= bounds->containment ? EXPANSION : UNRELATED;
}

/* Compare a sketch with `count` others, which stand one after the other. */
void
relate_sketches(const uint8_t *sketch, const uint8_t *others, Py_ssize_t count, uint8_t tag, int slots,
                const MatchBounds *bounds, uint8_t *relations)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        relations[i] = relate_pair(sketch, others + i * (HEADER_BYTES + slots), tag, slots, bounds);
    }
}

/* Return the least light_mix(hash * factor) for each of `functions` factors; UINT64_MAX for no hashes. */
void
least_hashes(const uint64_t *hashes, Py_ssize_t count, const uint64_t *factors, Py_ssize_t functions,
             uint64_t *least)
{
    memset(least, 0xFF, (size_t)functions * sizeof(uint64_t));
    for (Py_ssize_t start = 0; start < count; start += CHUNK) {
        Py_ssize_t stop = count - start < CHUNK ? count : start + CHUNK;
        for (Py_ssize_t function = 0; function < functions; function++) {
            uint64_t factor = factors[function], smallest = least[function];
            for (Py_ssize_t i = start; i < stop; i++) {
                uint64_t hash = light_mix(hashes[i] * factor);
                smallest = hash < smallest ? hash : smallest;
            }
            least[function] = smallest;
        }
    }
}

/* Return for each of 64 bits, the lowest first, the total weight of the hashes that have it; no weights: 1 each. */
void
weigh_bits(const uint64_t *hashes, const int64_t *weights, Py_ssize_t count, int64_t *sums)
{
    /* First the total weight of each value of each byte. Unsigned sums wrap around, like those of numpy. */
    uint64_t totals[8][256];
    memset(totals, 0, sizeof totals);
    for (Py_ssize_t i = 0; i < count; i++) {
        uint64_t weight = weights == NULL ? 1 : (uint64_t)weights[i];
        for (int byte = 0; byte < 8; byte++) {
            totals[byte][hashes[i] >> 8 * byte & 255] += weight;
        }
    }
    /* Then bit by bit: the odd values have the lowest bit; pairs are added up to drop it. */
    for (int byte = 0; byte < 8; byte++) {
        uint64_t *total = totals[byte];
        for (int bit = 0; bit < 8; bit++) {
            uint64_t sum = 0;
            for (int i = 0; i < 128 >> bit; i++) {
                sum += total[2 * i + 1];
                total[i] = total[2 * i] + total[2 * i + 1];
            }
            sums[8 * byte + bit] = (int64_t)sum;
        }
    }
}
