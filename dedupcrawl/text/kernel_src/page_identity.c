/* The sketch of a page in one call. The reference is reference_sketch() in identity_sketch.py. */
#include "page_identity.h"

/* -- lines that are names ------------------------------------------------------------------------------------------ */

/* Return how many lines at the beginning of a string are a name. */
static Py_ssize_t
count_in(PyObject *string, Py_ssize_t end, PyObject *name)
{
    Py_ssize_t count = 0, size = PyUnicode_GET_LENGTH(string);
    for (Line line = {.string = string, .end = end < size ? end : size}; find_line(&line); line.start = line.stop + 1) {
        count += is_name(&line, name);
    }
    return count;
}

/* Return how many lines at the beginning of the compared text are a name. */
static Py_ssize_t
count_shown(const PageTexts *page, PyObject *name)
{
    Py_ssize_t rest = MAX_SEARCHED - PyUnicode_GET_LENGTH(page->text) - 1;
    return count_in(page->text, MAX_SEARCHED, name) + (rest > 0 ? count_in(page->rest, rest, name) : 0);
}

/* Write the words of a folded name, with spaces around them; returns the number of bytes. */
static Py_ssize_t
write_words(PyObject *name, uint8_t *out)
{
    uint8_t *end = out;
    *end++ = ' ';
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(name); i++) {
        Py_UCS4 code = PyUnicode_READ_CHAR(name, i);
        if (!Py_UNICODE_ISSPACE(code)) {
            end = put_utf8(end, code);
        } else if (end[-1] != ' ') {
            *end++ = ' ';
        }
    }
    if (end[-1] != ' ' || end == out + 1) {
        *end++ = ' ';
    }
    return end - out;
}

/* Find the words of a name in a text. */
static uint8_t *
find_words(uint8_t *text, const uint8_t *end, const uint8_t *words, Py_ssize_t size)
{
    while (end - text >= size) { /* the first byte is a space, and frequent: the second one is looked for */
        uint8_t *second = memchr(text + 1, words[1], (size_t)(end - text - size + 1));
        if (second == NULL || memcmp(second - 1, words, (size_t)size) == 0) {
            return second == NULL ? NULL : second - 1;
        }
        text = second;
    }
    return NULL;
}

/* Remove a name from the body so many times; a space is left. */
static void
remove_words(ReadPage *read, PyObject *name, Py_ssize_t count)
{
    uint8_t words[4 * MAX_NAME_CHARS + 2], *end = read->body + read->stripped.size;
    Py_ssize_t size = write_words(name, words);
    for (uint8_t *at; count > 0 && (at = find_words(read->body, end, words, size)) != NULL; count--) {
        memmove(at + 1, at + size, (size_t)(end - at - size));
        end -= size - 1;
    }
    read->stripped.size = end - read->body;
}

static int
is_white(uint8_t byte)
{
    return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

static void
strip(Span *text)
{
    while (text->size && is_white(text->bytes[text->size - 1])) {
        text->size--;
    }
    while (text->size && is_white(*text->bytes)) {
        text->bytes++;
        text->size--;
    }
}

/* Copy the text with a space before and behind it. */
static int
copy_body(const PageTexts *page, ReadPage *read)
{
    Py_ssize_t size = page->normalized.size;
    read->body = malloc((size_t)size + 2);
    if (read->body == NULL) {
        return 0;
    }
    memcpy(read->body + 1, page->normalized.bytes, (size_t)size);
    read->body[0] = read->body[size + 1] = ' ';
    read->stripped = (Span){read->body, size + 2};
    return 1;
}

/* Make the text without the lines that are the heading or the title, if there are any; see body_of() in identity_sketch.py. */
static Outcome
read_body(const PageTexts *page, ReadPage *read)
{
    PyObject *const lines[] = {page->heading, page->title}, *const names[] = {page->folded_heading, page->folded_title};
    for (int i = PyUnicode_Compare(page->heading, page->title) == 0; i < 2; i++) {
        Py_ssize_t count = PyUnicode_GET_LENGTH(lines[i]) ? count_shown(page, lines[i]) : 0;
        if (count && read->body == NULL && !copy_body(page, read)) {
            return NO_MEMORY;
        }
        if (count) {
            remove_words(read, names[i], count);
        }
    }
    if (read->body != NULL) {
        strip(&read->stripped);
    }
    return DONE;
}

/* -- names --------------------------------------------------------------------------------------------------------- */

/* Mark the names that stand beside the main text. */
static Outcome
search_beside(const PageTexts *page, ReadPage *read)
{
    EncodedText beside = {.bytes = NULL};
    Names *names = &read->names.names;
    Py_ssize_t whole = PyUnicode_GET_LENGTH(page->beside), size = whole < MAX_SEARCHED ? whole : MAX_SEARCHED;
    Outcome outcome = add_normalized(&page->folding->table, page->beside, 0, size, '\n', &beside);
    if (outcome == NEEDS_PYTHON) {
        outcome = encode_whole(page->folding, PyUnicode_Substring(page->beside, 0, size), &beside);
    }
    if (outcome == DONE) {
        end_normalized(&beside);
        uint32_t within = names_within(&read->names, beside.bytes, beside.size);
        for (int i = 0; i < names->count; i++) {
            names->flags[i] |= within >> i & 1 ? SAID : 0;
        }
    }
    free(beside.bytes);
    return outcome;
}

static Outcome
place_all_names(const PageTexts *page, ReadPage *read)
{
    Names *names = &read->names.names;
    Outcome outcome = read_body(page, read);
    if (outcome == DONE && read->body != NULL) {
        uint32_t within = names_within(&read->names, read->stripped.bytes, read->stripped.size);
        for (int i = 0; i < names->count; i++) {
            names->flags[i] = (uint8_t)((names->flags[i] & ~SAID) | (within >> i & 1 ? SAID : 0));
        }
    }
    if (outcome == DONE && !PyUnicode_GET_LENGTH(page->heading) && PyUnicode_GET_LENGTH(page->beside)) {
        outcome = search_beside(page, read);
    }
    read->is_about = is_about(names);
    return outcome;
}

/* -- the sketch ---------------------------------------------------------------------------------------------------- */

static Outcome
read_page(const PageTexts *page, ReadPage *read)
{
    Outcome outcome = place_all_names(page, read);
    read->is_listed = page->normalized.size < MAX_LISTED;
    read->is_brief = page->normalized.size < MAX_BRIEF;
    read->is_article = read->is_about && (!read->is_brief || read->names.is_long);
    if (outcome == DONE && !read->is_about) {
        outcome = read_other(page, read);
    }
    return outcome == DONE && read->is_listed ? read_said(page, read) : outcome;
}

static unsigned int
hash_body(const PageTexts *page, Span body)
{
    HashScheme scheme = {.size = BODY_BYTES, .has_key = 1};
    uint8_t digest[BODY_BYTES];
    for (int i = 0; i < 8; i++) {
        scheme.key[i] = (uint8_t)(page->seed >> 8 * i);
    }
    blake2b(&scheme, body.bytes, body.size, digest);
    unsigned int hash = (unsigned int)(digest[0] << 8 | digest[1]);
    return hash ? hash : 1;
}

/* Find the values, with the digits of other scripts as ASCII ones. */
static Outcome
find_all_values(const IdentityObject *self, const PageTexts *page, const ReadPage *read, Parts *parts)
{
    Span text = page->normalized, stated = read->stated;
    uint8_t *copy = NULL;
    if (may_have_other_digits(text) || may_have_other_digits(stated)) {
        copy = malloc((size_t)(text.size + stated.size) + 1);
        if (copy == NULL) {
            return NO_MEMORY;
        }
        text = (Span){copy, write_ascii_digits(text, copy)};
        stated = (Span){copy + text.size, write_ascii_digits(stated, copy + text.size)};
    }
    read_values(self, text, stated, read->is_brief ? MAX_VALUES : FEW_VALUES, &parts->inner, &parts->outer, &parts->facts);
    free(copy);
    return DONE;
}

/* Make what is packed. */
static Outcome
make_parts(const IdentityObject *self, const PageTexts *page, const ReadPage *read, Parts *parts)
{
    Outcome outcome = find_all_values(self, page, read, parts);
    if (outcome == DONE && read->is_listed) {
        outcome = read_sentences(self, (Span){read->said.bytes, read->said.size},
                                 read->is_article ? FEW_SENTENCES : MAX_SENTENCES, &parts->sentences);
    } else if (!read->is_listed) { /* the number stays 0 */
        read_heads(self, page->normalized, &parts->sentences);
    }
    if (outcome == DONE && !read->is_about) {
        outcome = read_shorts(self, read->stated, read->lines, &parts->shorts);
    }
    parts->is_brief = (unsigned int)read->is_brief;
    parts->is_article = (unsigned int)read->is_article;
    parts->around = page->around;
    parts->body = read->body == NULL ? 0 : hash_body(page, read->stripped);
    return outcome;
}

/* Hash all text beside the main text; 0 if there is none. */
static unsigned int
hash_around(PyObject *beside)
{
    unsigned int hash = text_crc(beside) & 0xFFFF;
    return PyUnicode_GET_LENGTH(beside) == 0 ? 0 : hash ? hash : 1;
}

static Outcome
sketch_page(const IdentityObject *self, const PageTexts *page, Packed *packed)
{
    ReadPage read;
    memset((char *)&read + sizeof read.names, 0, sizeof read - sizeof read.names);
    if (!read_names(self, page->folded_heading, page->folded_title, page->normalized.bytes, page->normalized.size,
                    &read.names)) {
        return NO_MEMORY;
    }
    Outcome outcome = read_page(page, &read);
    if (outcome == DONE) {
        Parts parts = {.names = &read.names};
        RUN(page->normalized.size, outcome = make_parts(self, page, &read, &parts));
        pack_parts(&parts, packed);
    }
    free_names(&read.names);
    free(read.body);
    free(read.said.bytes);
    free(read.other.bytes);
    return outcome;
}

PyObject *
identity_sketch(IdentityObject *self, PyObject *args)
{
    PageTexts page;
    NormalizerObject *plain, *folding;
    Py_buffer normalized;
    unsigned long long seed;
    ModuleState *state = PyType_GetModuleState(Py_TYPE(self));
    if (state == NULL
        || !PyArg_ParseTuple(args, "(UU)(UU)(UU)UUy*O!O!K", &page.folded_heading, &page.folded_title, &page.heading,
                             &page.title, &page.text, &page.rest, &page.stated, &page.beside, &normalized,
                             state->normalizer, &plain, state->normalizer, &folding, &seed)) {
        return NULL;
    }
    if (PyUnicode_GET_LENGTH(page.folded_heading) > MAX_NAME_CHARS || PyUnicode_GET_LENGTH(page.folded_title) > MAX_NAME_CHARS) {
        PyBuffer_Release(&normalized);
        return PyErr_Format(PyExc_ValueError, "a name has at most %d characters", MAX_NAME_CHARS);
    }
    page.normalized = SPAN(normalized);
    page.plain = plain;
    page.folding = folding;
    page.seed = seed;
    page.around = hash_around(page.beside);
    Packed packed = {.size = 0};
    Outcome outcome = sketch_page(self, &page, &packed);
    PyBuffer_Release(&normalized);
    if (outcome != DONE) {
        raise_outcome(outcome);
        return NULL;
    }
    return PyBytes_FromStringAndSize((const char *)packed.bytes, packed.size);
}
