/* The names of a page: tokens of its heading and title, and where they stand. */
#include "identity.h"

static int
is_unspaced(const IdentityObject *self, Py_UCS4 code)
{
    if (code < self->unspaced[0]) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < self->unspaced_count; i++) {
        if (code >= self->unspaced[2 * i] && code <= self->unspaced[2 * i + 1]) {
            return 1;
        }
    }
    return 0;
}

/* Add the token of some characters, unless it names a view of a page. */
static void
add_token(const IdentityObject *self, Tokens *found, PyObject *text, Py_ssize_t start, Py_ssize_t stop, int name)
{
    int kind = PyUnicode_KIND(text), has_digit = 0;
    const void *data = PyUnicode_DATA(text);
    Token *token = &found->tokens[found->count];
    token->bytes = found->end;
    for (Py_ssize_t i = start; i < stop; i++) {
        Py_UCS4 code = PyUnicode_READ(kind, data, i);
        has_digit |= i - start < MAX_TOKEN_BYTES && is_decimal(code);
        found->end = put_utf8(found->end, code);
    }
    token->size = found->end - token->bytes;
    if (word_from(&self->words[VIEW_WORDS], token->bytes, token->size, 0, ANYWHERE) == token->size) {
        found->end = (uint8_t *)token->bytes;
        return;
    }
    token->is_unspaced = (uint8_t)is_unspaced(self, PyUnicode_READ(kind, data, start));
    int is_telling = stop - start >= MIN_TELLING_LENGTH || token->is_unspaced
                     || !is_letter_or_digit(PyUnicode_READ(kind, data, stop - 1));
    uint32_t hash = hash_bytes(&self->hash, token->bytes, token->size < MAX_TOKEN_BYTES ? token->size : MAX_TOKEN_BYTES);
    token->key = (has_digit ? DIGIT : is_telling ? TELLING : FILLER) | hash >> (32 - HASH_BITS);
    token->name = (uint8_t)name;
    found->count++;
}

/* Return the end of the signs after a short word that belong to it: C++, F#, AA+, A-; without any the end of the word. */
static Py_ssize_t
end_of_signs(const IdentityObject *self, PyObject *text, Py_ssize_t start, Py_ssize_t stop)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text), end = stop;
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    for (Py_ssize_t i = start; i < stop; i++) {
        Py_UCS4 code = PyUnicode_READ(kind, data, i);
        if (stop - start > MAX_SIGNED || code < 'a' || code > 'z') {
            return stop;
        }
    }
    Py_UCS4 code = 0;
    while (end < size && (code = PyUnicode_READ(kind, data, end), code == '+' || code == '#')) {
        end++;
    }
    if (end == stop && stop - start == 1 && end < size && (code == '-' || code == MINUS)) {
        end++;
    }
    if (end == size) {
        return end;
    }
    code = PyUnicode_READ(kind, data, end);
    return code == '+' || code == '#' || (is_letter_or_digit(code) && !is_unspaced(self, code)) ? stop : end;
}

/* Add the words of a name; text without spaces gives pairs of characters. */
static void
add_tokens(const IdentityObject *self, Tokens *found, PyObject *text, int name)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text), at = 0;
    int kind = PyUnicode_KIND(text);
    const void *data = PyUnicode_DATA(text);
    while (at < size) {
        Py_UCS4 code = PyUnicode_READ(kind, data, at);
        if (!is_letter_or_digit(code)) {
            at++;
            continue;
        }
        int unspaced = is_unspaced(self, code);
        Py_ssize_t start = at;
        do {
            at++;
        } while (at < size && (code = PyUnicode_READ(kind, data, at), is_letter_or_digit(code))
                 && is_unspaced(self, code) == unspaced);
        if (!unspaced) {
            at = end_of_signs(self, text, start, at);
        }
        if (!unspaced || at - start == 1) {
            add_token(self, found, text, start, at, name);
            continue;
        }
        for (Py_ssize_t i = start; i < at - 1; i++) {
            add_token(self, found, text, i, i + 2, name);
        }
    }
}

/* Whether a heading names one page: enough different telling tokens. A pair of characters counts a third. */
static int
is_long_name(const Tokens *found, Py_ssize_t count)
{
    const Token *known[3 * LONG_NAME];
    int thirds = 0, distinct = 0;
    for (Py_ssize_t i = 0; i < count && thirds < 3 * LONG_NAME; i++) {
        const Token *token = &found->tokens[i];
        int k = 0;
        while (k < distinct && !(known[k]->size == token->size && !memcmp(known[k]->bytes, token->bytes, (size_t)token->size))) {
            k++;
        }
        /* The class of a long token is that of its beginning. */
        if (k == distinct && token->key >= TELLING && token->key < FILLER) {
            known[distinct++] = token;
            thirds += token->is_unspaced ? 1 : 3;
        }
    }
    return thirds >= 3 * LONG_NAME;
}

static void
sample_names(const Tokens *found, Names *names)
{
    names->count = 0;
    for (Py_ssize_t i = 0; i < found->count; i++) {
        uint32_t key = found->tokens[i].key;
        int at = names->count;
        while (at > 0 && names->keys[at - 1] > key) {
            at--;
        }
        if (at > 0 && names->keys[at - 1] == key) {
            names->flags[at - 1] |= found->tokens[i].name;
            continue;
        }
        if (at > MAX_NAMES) {
            continue;
        }
        int kept = names->count > MAX_NAMES ? MAX_NAMES : names->count;
        memmove(names->keys + at + 1, names->keys + at, (size_t)(kept - at) * sizeof *names->keys);
        memmove(names->flags + at + 1, names->flags + at, (size_t)(kept - at));
        names->keys[at] = key;
        names->flags[at] = found->tokens[i].name;
        names->count = kept + 1;
    }
}

/* Whether a token stands at a place, as a whole word where words have ends. */
static int
stands_at(const Token *token, const uint8_t *text, Py_ssize_t size, Py_ssize_t at)
{
    Py_ssize_t end = at + token->size;
    if (end > size || (!token->is_unspaced && at && is_letter_byte(text[at - 1]))) {
        return 0;
    }
    return memcmp(text + at, token->bytes, (size_t)token->size) == 0
           && (token->is_unspaced || end == size || !is_letter_byte(text[end]));
}

enum { BLOCK = 64 }; /* places that are examined at a time; compilers use vector instructions */

/* Whether a token may begin at one of the places of a block: three of its bytes stand there. */
static inline int
may_begin(const Token *token, const uint8_t *block)
{
    Py_ssize_t last = token->size - 1;
    const uint8_t *seconds = block + (last > 0), *lasts = block + last;
    uint8_t first = token->bytes[0], second = token->bytes[last > 0], end = token->bytes[last], found = 0;
    for (int i = 0; i < BLOCK; i++) {
        found |= (uint8_t)((block[i] == first) & (seconds[i] == second) & (lasts[i] == end));
    }
    return found;
}

/* Whether a token stands in a text. */
static int
stands(const Token *token, const uint8_t *text, Py_ssize_t size)
{
    Py_ssize_t end = size - token->size + 1; /* of the places where it can begin */
    for (Py_ssize_t at = 0; at < end;) {
        Py_ssize_t stop = end - at < BLOCK ? end : at + BLOCK;
        if (stop == at + BLOCK && !may_begin(token, text + at)) {
            at = stop;
            continue;
        }
        for (; at < stop; at++) {
            if (text[at] == token->bytes[0] && stands_at(token, text, size, at)) {
                return 1;
            }
        }
    }
    return 0;
}

static int
index_of(const Names *names, uint32_t key)
{
    for (int i = 0; i < names->count; i++) {
        if (names->keys[i] == key) {
            return i;
        }
    }
    return -1;
}

static int
are_same(const Token *one, const Token *other)
{
    return one != NULL && one->size == other->size && memcmp(one->bytes, other->bytes, (size_t)one->size) == 0;
}

/* Set the flags of the names that stand at the beginning of a text. Fillers are not looked for. */
static void
place_names(const Tokens *found, Names *names, const uint8_t *text, Py_ssize_t size)
{
    const Token *searched[MAX_NAMES] = {NULL}; /* by name the last one: heading and title share most tokens */
    size = size < MAX_SEARCHED ? size : MAX_SEARCHED;
    for (Py_ssize_t i = 0; i < found->count; i++) {
        const Token *token = &found->tokens[i];
        int at = token->key < FILLER ? index_of(names, token->key) : -1;
        if (at < 0 || names->flags[at] & BODY || are_same(searched[at], token)) {
            continue;
        }
        searched[at] = token;
        names->flags[at] |= stands(token, text, size) ? BODY : 0;
    }
}

/* Whether the text is about the heading, or without one the title; see is_about_its_name() in names.py. */
int
is_about(const Names *names)
{
    int has_heading = 0, telling = 0, said = 0;
    for (int i = 0; i < names->count; i++) {
        has_heading |= names->flags[i] & HEADING;
    }
    for (int i = 0; i < names->count; i++) {
        if (names->keys[i] < FILLER && (!has_heading || names->flags[i] & HEADING)) {
            telling++;
            said += (names->flags[i] & BODY) == BODY;
        }
    }
    return telling > 1 && 2 * said >= telling;
}

/* Find the names of a page in its text. The caller ends with free_names(). Returns 0 without memory. */
int
read_names(const IdentityObject *self, PyObject *heading, PyObject *title, const uint8_t *text, Py_ssize_t size,
           FoundNames *found)
{
    /* No character belongs to more than two tokens. */
    size_t characters = (size_t)(PyUnicode_GET_LENGTH(heading) + PyUnicode_GET_LENGTH(title));
    Tokens *tokens = &found->tokens;
    *tokens = (Tokens){.tokens = found->few};
    if (characters >= FEW_CHARACTERS) {
        tokens->tokens = malloc((characters + 1) * (sizeof(Token) + 8));
    }
    if (tokens->tokens == NULL) {
        return 0;
    }
    tokens->end = (uint8_t *)(tokens->tokens + characters + 1);
    add_tokens(self, tokens, heading, HEADING);
    Py_ssize_t of_heading = tokens->count;
    add_tokens(self, tokens, title, TITLE);
    Names *names = &found->names;
    sample_names(tokens, names);
    found->is_whole = names->count <= MAX_NAMES;
    names->count = found->is_whole ? names->count : MAX_NAMES;
    place_names(tokens, names, text, size);
    /* The heading, or without one the title. */
    found->is_long = is_long_name(tokens, PyUnicode_GET_LENGTH(heading) ? of_heading : tokens->count);
    return 1;
}

void
free_names(FoundNames *found)
{
    if (found->tokens.tokens != found->few) {
        free(found->tokens.tokens);
    }
}

/* Return which of the names stand in another text of the page, a bit for each. */
uint32_t
names_within(const FoundNames *found, const uint8_t *text, Py_ssize_t size)
{
    Names names = found->names;
    uint32_t within = 0;
    for (int i = 0; i < names.count; i++) {
        names.flags[i] = 0;
    }
    place_names(&found->tokens, &names, text, size);
    for (int i = 0; i < names.count; i++) {
        within |= (uint32_t)(names.flags[i] != 0) << i;
    }
    return within;
}
