/* The sentences of a page, and their beginnings in a long text. The reference is values.py. */
#include "identity.h"

/* -- sentences of a text that is not long ------------------------------------------------------------------------- */

/* The size of a character without spaces around it at a place, 0 for another one; see sentences_of() in
   values.py. */
static int
character_size(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    uint8_t lead = at < size ? text[at] : 0;
    int wanted = lead >= 0xF0 ? 4 : lead >= 0xE0 && lead != 0xE2 ? 3 : 0;
    return at + wanted <= size ? wanted : 0;
}

/* Letters, and the digits after them. */
static Py_ssize_t
end_of_word(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    Py_ssize_t begin = at;
    for (;;) {
        at += ascii_letters(text + at, size - at);
        if (at + 1 >= size || text[at] < 0xC3 || text[at] > 0xDF) {
            break;
        }
        at += 2;
    }
    while (at > begin && at < size && text[at] >= '0' && text[at] <= '9') {
        at++;
    }
    return at;
}

static int
is_mark(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    return at + 2 < size && text[at] == 0xE2 && text[at + 1] >= 0x96 && text[at + 1] <= 0x9F;
}

/* Whether a word belongs to a stamp, a counter or a view. */
static int
is_passing(const IdentityObject *self, const uint8_t *text, Py_ssize_t begin, Py_ssize_t end)
{
    int kinds = kinds_at(self, text, begin, end);
    return (kinds & MAY_BE_VIEW && longest_from(&self->words[OF_VIEW], text, end, begin, ANYWHERE) >= 0)
           || (kinds & MAY_BE_STAMP
               && (longest_from(&self->words[CHANGED], text, end, begin, ANYWHERE) == end
                   || longest_from(&self->words[PUBLISHED], text, end, begin, ANYWHERE) == end))
           || (kinds & MAY_BE_COUNTER && longest_from(&self->words[COUNTED], text, end, begin, ANYWHERE) == end);
}

/* The words of a sentence of a text that is not long, each with a space after it. */
typedef struct {
    Items found; /* the sentences before it, with their places */
    int has_address;
    Py_ssize_t size;
    uint8_t words[MAX_SENTENCE_BYTES + MAX_TOKEN_BYTES + 1];
} Sentence;

static int
end_sentence(const IdentityObject *self, Sentence *sentence)
{
    Py_ssize_t size = sentence->size > MAX_SENTENCE_BYTES ? MAX_SENTENCE_BYTES : sentence->size - 1;
    Items *found = &sentence->found;
    int is_left_out = size < 0 || sentence->has_address;
    sentence->size = sentence->has_address = 0;
    return is_left_out
           || add_item(found, (hash_bytes(&self->hash, sentence->words, size) & 0xFFFF0000u) | (uint32_t)found->count);
}

/* Append a word; "rest" is the number of bytes from its first one to the end of the text. */
static void
append_word(Sentence *sentence, const uint8_t *word, Py_ssize_t size, Py_ssize_t rest)
{
    sentence->has_address |= size == 3 && memcmp(word, "www", 3) == 0;
    if (sentence->size > MAX_SENTENCE_BYTES) {
        return;
    }
    size = size < MAX_TOKEN_BYTES ? size : MAX_TOKEN_BYTES;
    if (rest >= MAX_TOKEN_BYTES) { /* a fixed number of bytes: those behind the word are overwritten */
        memcpy(sentence->words + sentence->size, word, MAX_TOKEN_BYTES);
    } else {
        memcpy(sentence->words + sentence->size, word, (size_t)size);
    }
    sentence->size += size;
    sentence->words[sentence->size++] = ' ';
}

/* Whether a sentence of a line ends before this place. */
static int
is_sentence_end(const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    if (at >= size) {
        return 0;
    }
    if (at >= 3 && memcmp(text + at - 3, "\xe3\x80\x82", 3) == 0) {
        return 1;
    }
    uint8_t last = text[at - 1];
    int is_mark = last == '.' || last == '!' || last == '?' || last == ';';
    return is_mark && (text[at] == ' ' || (text[at] >= 0xE0 && text[at] <= 0xF4));
}

static int
add_sentences(const IdentityObject *self, const uint8_t *text, Py_ssize_t size, Sentence *sentence)
{
    Py_ssize_t at = 0, start = -1;
    int done = 1;
    while (done && at < size) {
        Py_ssize_t begin = start < 0 ? at : start, end = end_of_word(text, size, at);
        if (is_mark(text, size, at)) {
            start = begin;
            at += 3;
            at += at < size && text[at] == ' ';
            continue;
        }
        end = end > at ? end : at + character_size(text, size, at);
        if (end > at && !is_passing(self, text, begin, end)) {
            append_word(sentence, text + begin, end - begin, size - begin);
        } else if (text[at] == ':' && size - at > 2 && text[at + 1] == '/' && text[at + 2] == '/') {
            sentence->has_address = 1;
        }
        start = -1;
        at = end > at ? end : at + 1;
        if (done && size > MAX_LINE_BYTES && is_sentence_end(text, size, at)) {
            done = end_sentence(self, sentence);
        }
    }
    return done && end_sentence(self, sentence);
}

/* Put sentences in the order of their places. */
static void
order_by_place(Sample *sample)
{
    for (int i = 1; i < sample->size; i++) {
        uint16_t hash = sample->hashes[i], place = sample->flags[i];
        int at = i;
        for (; at && sample->flags[at - 1] > place; at--) {
            sample->hashes[at] = sample->hashes[at - 1];
            sample->flags[at] = sample->flags[at - 1];
        }
        sample->hashes[at] = hash;
        sample->flags[at] = place;
    }
    memset(sample->flags, 0, sizeof sample->flags);
}

/* Sample the sentences of lines. */
Outcome
read_sentences(const IdentityObject *self, Span lines, int most, Sample *sample)
{
    Sentence sentence;
    const uint8_t *line = lines.bytes, *end = line + lines.size;
    int done = 1;
    sentence.found = (Items){NULL, 0, 0};
    sentence.size = sentence.has_address = 0;
    while (done && line < end) {
        const uint8_t *stop = memchr(line, 0, (size_t)(end - line));
        stop = stop == NULL ? end : stop;
        done = add_sentences(self, line, stop - line, &sentence);
        line = stop + 1;
    }
    if (done) {
        sample_items(sentence.found.items, sentence.found.count, most, sample);
        order_by_place(sample);
    }
    free(sentence.found.items);
    return done ? DONE : NO_MEMORY;
}

/* -- beginnings of sentences of a long text ----------------------------------------------------------------------- */

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
