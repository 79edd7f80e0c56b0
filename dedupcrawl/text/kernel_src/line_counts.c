/* The lines of a text as its site knows them. The reference is text/lines.py. */
#include "types.h"

typedef struct {
    uint32_t crc;
    Py_ssize_t size;    /* bytes */
    long own, pages;    /* that have the line itself; that have it or its run */
    Py_ssize_t near;    /* lines to the next one that a page has, or to an end of the text */
    Py_ssize_t as_near; /* of the long new lines, how many are `index + 1` lines away: of no use to this line */
} Line;

typedef struct {
    PyObject *hash;
    long pages;
} Run;

typedef struct {
    Line *lines;
    Run *runs;
    PyObject *hashes; /* list */
    Py_ssize_t count, capacity, run_count;
    PyObject *table;
} Lines;

/* Which lines of a page are counted if it is kept. */
typedef struct {
    Py_ssize_t least; /* bytes of such a line */
    Py_ssize_t new;   /* lines that no page has */
    Py_ssize_t runs;  /* runs that no page has; 0: runs are not looked up */
} LineLimits;

/* Return on how many pages a line or a run is; -1 with an exception. */
static long
pages_of(PyObject *table, PyObject *hash)
{
    PyObject *found = PyDict_GetItemWithError(table, hash);
    long pages = found != NULL ? PyLong_AsLong(found) : PyErr_Occurred() ? -1 : 0;
    if (pages < 0 && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "a line on a negative number of pages");
    }
    return pages < 0 ? -1 : pages;
}

/* Make room for one more line; returns 0 with an exception. */
static int
has_room(Lines *all)
{
    if (all->count < all->capacity) {
        return 1;
    }
    Py_ssize_t capacity = all->capacity ? 2 * all->capacity : 64;
    Line *lines = PyMem_Realloc(all->lines, (size_t)capacity * sizeof *lines);
    if (lines == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    all->lines = lines;
    all->capacity = capacity;
    return 1;
}

static int
add_line(Lines *all, HashedLine line)
{
    PyObject *hash = has_room(all) ? PyLong_FromUnsignedLong(line.crc) : NULL;
    long pages = hash == NULL ? -1 : pages_of(all->table, hash);
    int added = pages >= 0 && PyList_Append(all->hashes, hash) == 0;
    Py_XDECREF(hash);
    if (added) {
        all->lines[all->count++] = (Line){.crc = line.crc, .size = line.size, .own = pages, .pages = pages};
    }
    return added;
}

static int
add_lines(Lines *all, PyObject *text, Py_ssize_t most)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), place = 0;
    while (all->count < most && place <= length) {
        if (!add_line(all, next_line(text, &place))) {
            return 0;
        }
    }
    return 1;
}

/* Add a run of lines, each of which is on as many pages at least. */
static int
add_run(Lines *all, Py_ssize_t start, Py_ssize_t stop, uint32_t crc)
{
    PyObject *hash = PyLong_FromUnsignedLong(crc);
    long pages = hash == NULL ? -1 : pages_of(all->table, hash);
    if (pages < 0) {
        Py_XDECREF(hash);
        return 0;
    }
    all->runs[all->run_count++] = (Run){hash, pages};
    for (Line *line = all->lines + start; line < all->lines + stop; line++) {
        line->pages = line->pages > pages ? line->pages : pages;
    }
    return 1;
}

/* Find the runs of two lines and more, each of which ends with a line whose hash is a multiple of `divisor`. */
static int
add_runs(Lines *all, uint32_t divisor)
{
    all->runs = PyMem_Calloc((size_t)all->count / 2 + 1, sizeof *all->runs);
    if (all->runs == NULL) {
        PyErr_NoMemory();
        return 0;
    }
    uint32_t crc = ~0u;
    for (Py_ssize_t i = 0, start = 0; i < all->count; i++) {
        uint32_t line = all->lines[i].crc;
        const uint8_t bytes[] = {line >> 24, line >> 16 & 0xFF, line >> 8 & 0xFF, line & 0xFF};
        crc = extend_crc(crc, bytes, sizeof bytes);
        if (line % divisor && i + 1 < all->count) {
            continue;
        }
        if (i > start && !add_run(all, start, i + 1, ~crc)) {
            return 0;
        }
        start = i + 1;
        crc = ~0u;
    }
    return 1;
}

static inline int
is_new(const Line *line, const LineLimits *limits)
{
    return !line->pages && line->size >= limits->least;
}

/* Find how near each new line is to a line that a page has, or to an end of the text; returns how many are long. */
static Py_ssize_t
measure_nearness(Lines *all, const LineLimits *limits)
{
    Py_ssize_t far = 0, found = 0;
    for (Line *line = all->lines; line < all->lines + all->count; line++) {
        line->near = far = line->pages ? 0 : far + 1;
        line->as_near = 0;
    }
    far = 0;
    for (Line *line = all->lines + all->count; line-- > all->lines;) {
        far = line->pages ? 0 : far + 1;
        line->near = line->near < far ? line->near : far;
        if (is_new(line, limits)) {
            all->lines[line->near - 1].as_near++;
            found++;
        }
    }
    return found;
}

/* Append the hashes of the nearest new lines, in order; of those that are as near, the last ones. Returns how many, -1 with
 * an exception. */
static Py_ssize_t
append_nearest(PyObject *counted, Lines *all, const LineLimits *limits)
{
    Py_ssize_t found = measure_nearness(all, limits), left = found < limits->new ? found : limits->new, farthest = 0;
    Py_ssize_t number = left;
    while (farthest < all->count && left >= all->lines[farthest].as_near) {
        left -= all->lines[farthest++].as_near;
    }
    /* All up to `farthest` lines away, and the last `left` of those that are one more. */
    Py_ssize_t skipped = farthest < all->count ? all->lines[farthest].as_near - left : 0;
    for (Py_ssize_t i = 0; i < all->count; i++) {
        const Line *line = all->lines + i;
        int is_far = line->near > farthest + 1 || (line->near == farthest + 1 && skipped > 0);
        if (!is_new(line, limits)) {
            continue;
        }
        skipped -= line->near == farthest + 1;
        if (!is_far && PyList_Append(counted, PyList_GET_ITEM(all->hashes, i)) < 0) {
            return -1;
        }
    }
    return number;
}

/* Append the runs that a page has, or else the first and last others; returns how many, -1 with an exception. */
static Py_ssize_t
append_runs(PyObject *counted, const Lines *all, int are_new, Py_ssize_t most)
{
    Py_ssize_t found = 0, place = 0;
    for (Py_ssize_t i = 0; i < all->run_count; i++) {
        found += (all->runs[i].pages == 0) == are_new;
    }
    Py_ssize_t number = found < most ? found : most, first = number / 2, last = found - (number - first);
    for (Py_ssize_t i = 0; i < all->run_count; i++) {
        if ((all->runs[i].pages == 0) != are_new) {
            continue;
        }
        int is_counted = place < first || place >= last;
        place++;
        if (is_counted && PyList_Append(counted, all->runs[i].hash) < 0) {
            return -1;
        }
    }
    return number;
}

/* Return the hashes to count as a tuple: what a page has, then `fresh` new ones. */
static PyObject *
counted_hashes(Lines *all, const LineLimits *limits, Py_ssize_t *fresh)
{
    PyObject *counted = PyList_New(0), *result = NULL;
    for (Py_ssize_t i = 0; counted != NULL && i < all->count; i++) {
        if (all->lines[i].own && all->lines[i].size >= limits->least
            && PyList_Append(counted, PyList_GET_ITEM(all->hashes, i)) < 0) {
            Py_CLEAR(counted);
        }
    }
    if (counted != NULL && append_runs(counted, all, 0, all->run_count) >= 0) {
        Py_ssize_t lines = append_nearest(counted, all, limits);
        Py_ssize_t runs = lines < 0 ? -1 : append_runs(counted, all, 1, limits->runs);
        *fresh = lines + runs;
        result = runs < 0 ? NULL : PyList_AsTuple(counted);
    }
    Py_XDECREF(counted);
    return result;
}

/* Return the sizes of the lines, or their pages, as a list. */
static PyObject *
numbers_of(const Lines *all, int are_sizes)
{
    PyObject *numbers = PyList_New(all->count);
    for (Py_ssize_t i = 0; numbers != NULL && i < all->count; i++) {
        const Line *line = all->lines + i;
        PyObject *number = are_sizes ? PyLong_FromSsize_t(line->size) : PyLong_FromLong(line->pages);
        if (number == NULL) {
            Py_CLEAR(numbers);
        } else {
            PyList_SET_ITEM(numbers, i, number);
        }
    }
    return numbers;
}

static PyObject *
lines_as_tuple(Lines *all, const LineLimits *limits, long least)
{
    Py_ssize_t fresh = 0, total = 0, new = 0, known = 0;
    for (const Line *line = all->lines; line < all->lines + all->count; line++) {
        total += line->size;
        new += line->pages ? 0 : line->size;
        known += line->pages >= least ? line->size : 0;
    }
    PyObject *sizes = numbers_of(all, 1), *pages = numbers_of(all, 0), *result = NULL;
    PyObject *counted = sizes != NULL && pages != NULL ? counted_hashes(all, limits, &fresh) : NULL;
    if (counted != NULL) {
        result = Py_BuildValue("OOOnnnOn", all->hashes, sizes, pages, total, new, known, counted, fresh);
    }
    Py_XDECREF(sizes);
    Py_XDECREF(pages);
    Py_XDECREF(counted);
    return result;
}

static void
free_lines(Lines *all)
{
    for (Py_ssize_t i = 0; i < all->run_count; i++) {
        Py_DECREF(all->runs[i].hash);
    }
    PyMem_Free(all->runs);
    PyMem_Free(all->lines);
    Py_XDECREF(all->hashes);
}

/* count_lines(text, pages, known, most, divisor, least, new, runs) -> the values of LineCounts */
PyObject *
module_count_lines(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 8 || !is_string(args[0]) || !PyDict_Check(args[1])) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "count_lines() takes a text, a dictionary, and six numbers");
        }
        return NULL;
    }
    LineLimits limits = {PyLong_AsSsize_t(args[5]), PyLong_AsSsize_t(args[6]), PyLong_AsSsize_t(args[7])};
    long least = PyLong_AsLong(args[2]), divisor = PyLong_AsLong(args[4]);
    Py_ssize_t most = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (limits.new < 0 || limits.runs < 0 || divisor < 1 || divisor > UINT16_MAX) {
        return PyErr_Format(PyExc_ValueError, "%zd lines, %zd runs, by %ld", limits.new, limits.runs, divisor);
    }
    Lines all = {.hashes = PyList_New(0), .table = args[1]};
    PyObject *result = NULL;
    if (all.hashes != NULL && add_lines(&all, args[0], most) && (!limits.runs || add_runs(&all, (uint32_t)divisor))) {
        result = lines_as_tuple(&all, &limits, least);
    }
    free_lines(&all);
    return result;
}

/* Append the lines from `start` to `stop` of a text to a list; returns 0 with an exception. */
static int
append_part(PyObject *parts, PyObject *text, Py_ssize_t start, Py_ssize_t stop)
{
    PyObject *part = PyUnicode_Substring(text, start, stop);
    int added = part != NULL && PyList_Append(parts, part) == 0;
    Py_XDECREF(part);
    return added;
}

/* Append the parts of a text between the lines whose numbers are not below the least one. */
static int
append_parts(PyObject *parts, PyObject *text, PyObject *numbers, long least)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text), start = 0, at = 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(numbers) && at <= length; i++) {
        Py_ssize_t newline = PyUnicode_FindChar(text, '\n', at, length, 1), stop = newline < 0 ? length : newline;
        long number = PyLong_AsLong(PyList_GET_ITEM(numbers, i));
        if (number == -1 && PyErr_Occurred()) {
            return 0;
        }
        if (number >= least) {
            if (at > start && !append_part(parts, text, start, at - 1)) {
                return 0;
            }
            start = stop + 1;
        }
        at = stop + 1;
    }
    return start > length || append_part(parts, text, start, length);
}

/* without_lines(text, numbers, least) -> the text without the lines whose numbers are not below the least one */
PyObject *
module_without_lines(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !is_string(args[0]) || !PyList_Check(args[1])) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "without_lines() takes a text, a list, and a number");
        }
        return NULL;
    }
    long least = PyLong_AsLong(args[2]);
    PyObject *parts = PyErr_Occurred() ? NULL : PyList_New(0), *newline = PyUnicode_FromOrdinal('\n'), *result = NULL;
    if (parts != NULL && newline != NULL && append_parts(parts, args[0], args[1], least)) {
        result = PyUnicode_Join(newline, parts);
    }
    Py_XDECREF(parts);
    Py_XDECREF(newline);
    return result;
}
