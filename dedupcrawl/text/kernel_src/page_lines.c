/* The lines of a page that are read apart from its text: what stands beside it, its short lines, and its sentences. */
#include "page_identity.h"

/* -- texts with combining characters ------------------------------------------------------------------------------- */

/* Normalise a string in one piece, in Python if it has combining characters. Takes over the string, which may be NULL. */
Outcome
encode_whole(NormalizerObject *normalizer, PyObject *string, EncodedText *encoded)
{
    PackedText packed;
    int is_packed = string != NULL && pack_string(normalizer, string, &packed);
    Py_XDECREF(string);
    if (!is_packed) {
        return RAISED;
    }
    Py_ssize_t size = utf8_size(&packed);
    uint8_t *bytes = realloc(encoded->bytes, (size_t)size + 1);
    if (bytes != NULL) {
        write_utf8(&packed, (char *)bytes);
        *encoded = (EncodedText){.bytes = bytes, .size = size, .capacity = size, .has_begun = 1};
    }
    free(packed.points);
    return bytes != NULL ? DONE : NO_MEMORY;
}

/* Append the lines of a string that a function accepts to a list; returns 0 with an exception. */
static int
append_lines(const PageTexts *page, PyObject *string, int (*accepts)(const PageTexts *, const Line *), PyObject *lines)
{
    int done = 1;
    Line line = {.string = string, .end = PyUnicode_GET_LENGTH(string)};
    for (; done && find_line(&line); line.start = line.stop + 1) {
        if (accepts(page, &line)) {
            PyObject *text = PyUnicode_Substring(string, line.start, line.stop);
            done = text != NULL && PyList_Append(lines, text) == 0;
            Py_XDECREF(text);
        }
    }
    return done;
}

/* Return the accepted lines of the text, and of the rest unless it is NULL, with separators; NULL with an exception. */
static PyObject *
joined_lines(const PageTexts *page, PyObject *rest, int (*accepts)(const PageTexts *, const Line *))
{
    const char separator = LINE;
    PyObject *lines = PyList_New(0), *between = PyUnicode_FromStringAndSize(&separator, 1), *joined = NULL;
    if (lines != NULL && between != NULL && append_lines(page, page->text, accepts, lines)
        && (rest == NULL || append_lines(page, rest, accepts, lines))) {
        joined = PyUnicode_Join(between, lines);
    }
    Py_XDECREF(lines);
    Py_XDECREF(between);
    return joined;
}

static int
is_said(const PageTexts *page, const Line *line)
{
    return !is_name(line, page->heading) && !is_name(line, page->title);
}

static int
is_short(const PageTexts *Py_UNUSED(page), const Line *line)
{
    return line->stop - line->start <= MAX_SHORT;
}

/* Return what read_other() normalises. */
static PyObject *
joined_other(const PageTexts *page)
{
    PyObject *lines = joined_lines(page, NULL, is_short), *joined = NULL;
    if (lines != NULL) {
        joined = PyUnicode_FromFormat("%U%c%U", page->stated, PART, lines);
        Py_DECREF(lines);
    }
    PyObject *line_break = PyUnicode_FromOrdinal('\n'), *separator = PyUnicode_FromOrdinal(LINE), *result = NULL;
    if (joined != NULL && line_break != NULL && separator != NULL) {
        result = PyUnicode_Replace(joined, line_break, separator, -1);
    }
    Py_XDECREF(joined);
    Py_XDECREF(line_break);
    Py_XDECREF(separator);
    return result;
}

/* -- lines --------------------------------------------------------------------------------------------------------- */

/* Read what stands beside the main text, and its short lines; see other_text() in values.py. */
Outcome
read_other(const PageTexts *page, ReadPage *read)
{
    EncodedText *other = &read->other;
    int has_lines = 0;
    const NormalizationTable *table = &page->plain->table;
    Outcome outcome = add_normalized(table, page->stated, 0, PyUnicode_GET_LENGTH(page->stated), LINE, other);
    outcome = outcome == DONE ? add_separator(PART, other) : outcome;
    Line line = {.string = page->text, .end = PyUnicode_GET_LENGTH(page->text)};
    for (; outcome == DONE && find_line(&line); line.start = line.stop + 1) {
        if (!is_short(page, &line)) {
            continue;
        }
        outcome = has_lines ? add_separator(LINE, other) : DONE;
        has_lines = 1;
        if (outcome == DONE) {
            outcome = add_normalized(table, page->text, line.start, line.stop, LINE, other);
        }
    }
    if (outcome == NEEDS_PYTHON) {
        outcome = encode_whole(page->plain, joined_other(page), other);
    }
    if (outcome == DONE) {
        end_normalized(other);
        const uint8_t *part = memchr(other->bytes, PART, (size_t)other->size);
        read->stated = (Span){other->bytes, part - other->bytes};
        read->lines = (Span){part + 1, other->bytes + other->size - part - 1};
    }
    return outcome;
}

/* Add the lines of a string that are not the heading or the title. */
static Outcome
add_said(const PageTexts *page, PyObject *string, int *has_lines, EncodedText *said)
{
    Outcome outcome = DONE;
    Line line = {.string = string, .end = PyUnicode_GET_LENGTH(string)};
    for (; outcome == DONE && find_line(&line); line.start = line.stop + 1) {
        if (!is_said(page, &line)) {
            continue;
        }
        outcome = *has_lines ? add_separator(LINE, said) : DONE;
        *has_lines = 1;
        if (outcome == DONE) {
            outcome = add_normalized(&page->folding->table, string, line.start, line.stop, LINE, said);
        }
    }
    return outcome;
}

/* Write the digits of other scripts as ASCII ones, see with_ascii_digits() in features.py. Returns the number of bytes. */
Py_ssize_t
write_ascii_digits(Span text, uint8_t *out)
{
    const uint8_t *at = text.bytes, *end = at + text.size;
    uint8_t *begin = out;
    while (at < end) {
        uint8_t next = end - at > 1 ? at[1] : 0, last = end - at > 2 ? at[2] : 0;
        if (*at == 0xD9 && next >= 0xA0 && next <= 0xA9) {
            *out++ = (uint8_t)('0' + next - 0xA0);
            at += 2;
        } else if (*at == 0xDB && next >= 0xB0 && next <= 0xB9) {
            *out++ = (uint8_t)('0' + next - 0xB0);
            at += 2;
        } else if (*at == 0xE0 && (next == 0xA5 || next == 0xA7) && last >= 0xA6 && last <= 0xAF) {
            *out++ = (uint8_t)('0' + last - 0xA6);
            at += 3;
        } else if (*at == 0xE0 && next == 0xB9 && last >= 0x90 && last <= 0x99) {
            *out++ = (uint8_t)('0' + last - 0x90);
            at += 3;
        } else {
            *out++ = *at++;
        }
    }
    return out - begin;
}

int
may_have_other_digits(Span text)
{
    size_t size = (size_t)text.size;
    return size
           && (memchr(text.bytes, 0xD9, size) != NULL || memchr(text.bytes, 0xDB, size) != NULL
               || memchr(text.bytes, 0xE0, size) != NULL);
}

/* Read the lines of the text, see _sample_sentences() in identity_sketch.py. */
Outcome
read_said(const PageTexts *page, ReadPage *read)
{
    int has_lines = 0;
    EncodedText *said = &read->said;
    Outcome outcome = add_said(page, page->text, &has_lines, said);
    if (outcome == DONE && PyUnicode_GET_LENGTH(page->rest)) {
        outcome = add_said(page, page->rest, &has_lines, said);
    }
    if (outcome == NEEDS_PYTHON) {
        PyObject *rest = PyUnicode_GET_LENGTH(page->rest) ? page->rest : NULL;
        outcome = encode_whole(page->folding, joined_lines(page, rest, is_said), said);
    }
    if (outcome == DONE) {
        end_normalized(said);
        Span lines = {said->bytes, said->size};
        said->size = may_have_other_digits(lines) ? write_ascii_digits(lines, said->bytes) : said->size;
    }
    return outcome;
}
