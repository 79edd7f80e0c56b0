/* A page whose identity is sketched: what page_identity.c and page_lines.c share. */
#ifndef DEDUPCRAWL_PAGE_IDENTITY_H
#define DEDUPCRAWL_PAGE_IDENTITY_H

#include "identity.h"

enum { LINE = 0, PART = 1 }; /* separators of text, see values.py */

typedef struct {
    PyObject *folded_heading, *folded_title, *heading, *title;
    PyObject *text, *rest, *stated, *beside;
    Span normalized;                           /* the text and the rest */
    NormalizerObject *plain, *folding;         /* without and with the conversion of Chinese */
    uint64_t seed;
    unsigned int around; /* hash of all text beside the main text */
} PageTexts;

/* What is read of a page before its values are. The caller frees the bytes. */
typedef struct {
    FoundNames names;
    uint8_t *body; /* NULL: no line is the heading or the title */
    Span stripped; /* the body without spaces at its ends */
    EncodedText said, other;
    Span stated, lines; /* parts of `other` */
    int is_about, is_listed, is_brief, is_article;
} ReadPage;

/* A line of a string. The characters up to `end` are read. */
typedef struct {
    PyObject *string;
    Py_ssize_t start, stop, end;
} Line;

static inline int
find_line(Line *line)
{
    if (line->start > line->end) {
        return 0;
    }
    Py_ssize_t stop = PyUnicode_FindChar(line->string, '\n', line->start, line->end, 1);
    line->stop = stop < 0 ? line->end : stop;
    return 1;
}

static inline int
is_name(const Line *line, PyObject *name)
{
    return line->stop - line->start == PyUnicode_GET_LENGTH(name)
           && PyUnicode_Tailmatch(line->string, name, line->start, line->stop, -1) == 1;
}

/* page_lines.c */
Outcome encode_whole(NormalizerObject *normalizer, PyObject *string, EncodedText *encoded);
Outcome read_other(const PageTexts *page, ReadPage *read);
Outcome read_said(const PageTexts *page, ReadPage *read);
Py_ssize_t write_ascii_digits(Span text, uint8_t *out);
int may_have_other_digits(Span text);

#endif
