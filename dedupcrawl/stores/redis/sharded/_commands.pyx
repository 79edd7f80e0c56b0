# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The commands of buckets, and the requests to each node, in C: a page has twenty of them.

``layout.py`` (``bucket`` and ``place``) and ``wire.py`` (``requests_by_reference``) are the reference, with the same results.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

VERSION = 1

cdef enum:
    KEY = 6  # bytes of a key
    FIELD = 3  # bytes of a field of a bucket in one of several hashes
    REST = 38  # bits of a key without those of its tag

cdef const char* HEXADECIMAL = b"0123456789abcdef"
cdef object _new = tuple.__new__


cdef Py_ssize_t _width(Py_ssize_t number) noexcept:
    """Return how many digits a number has."""
    cdef Py_ssize_t width = 1
    while number >= 10:
        number //= 10
        width += 1
    return width


cdef char* _put_line(char* out, char sign, Py_ssize_t number) noexcept:
    """Write a sign, a number, and the end of the line."""
    cdef Py_ssize_t width = _width(number), at
    out[0] = sign
    for at in range(width, 0, -1):
        out[at] = <char> (c"0" + number % 10)
        number //= 10
    out[width + 1] = c"\r"
    out[width + 2] = c"\n"
    return out + width + 3


cdef bytes _request(tuple words):
    """Return a command in the Redis protocol."""
    cdef Py_ssize_t size = 3 + _width(len(words)), length
    cdef bytes word
    for word in words:
        if word is None:
            raise TypeError("a word that is None")
        length = PyBytes_GET_SIZE(word)
        size += 5 + _width(length) + length
    cdef bytes found = PyBytes_FromStringAndSize(NULL, size)
    cdef char* out = _put_line(PyBytes_AS_STRING(found), c"*", len(words))
    for word in words:
        length = PyBytes_GET_SIZE(word)
        out = _put_line(out, c"$", length)
        memcpy(out, PyBytes_AS_STRING(word), length)
        out[length] = c"\r"
        out[length + 1] = c"\n"
        out += length + 2
    return found


cdef bytes _shelf_name(bytes buckets, uint64_t shelf):
    cdef Py_ssize_t start = PyBytes_GET_SIZE(buckets), width = 1, at
    while shelf >> (4 * width):
        width += 1
    cdef bytes name = PyBytes_FromStringAndSize(NULL, start + width)
    cdef char* out = PyBytes_AS_STRING(name)
    memcpy(out, PyBytes_AS_STRING(buckets), start)
    for at in range(width):
        out[start + at] = HEXADECIMAL[shelf >> (4 * (width - 1 - at)) & 15]
    return name


def bucket_commands(object command, bytes name, object keys, bytes id, list tags, uint64_t shelves):
    """Return a command for the bucket of each key.

    Args:
        command: the class of commands.
        name: of the command.
        keys: of the buckets, each of ``KEY_BYTES`` bytes.
        id: the last word of the command; None: it has none.
        tags: of the layout.
        shelves: number of hashes that the buckets of a tag are in.
    """
    cdef list found = []
    cdef bytes key, field, shelf
    cdef uint64_t bits
    cdef unsigned char* out
    cdef int at
    cdef object tag
    for key in keys:
        if key is None or PyBytes_GET_SIZE(key) != KEY:
            raise ValueError(f"a key of {KEY} bytes is needed: {key!r}")
        bits = 0
        for at in range(KEY):
            bits = bits << 8 | <unsigned char> PyBytes_AS_STRING(key)[at]
        tag = tags[bits >> REST]
        if shelves == 1:
            shelf, field = tag.buckets, key[1:]
        else:
            bits &= (<uint64_t> 1 << REST) - 1
            shelf = _shelf_name(tag.buckets, bits % shelves)
            bits //= shelves
            field = PyBytes_FromStringAndSize(NULL, FIELD)
            out = <unsigned char*> PyBytes_AS_STRING(field)
            for at in range(FIELD):
                out[at] = <unsigned char> (bits >> (8 * (FIELD - 1 - at)) & 0xFF)
        found.append(_new(command, (tag.slot, (name, shelf, field) if id is None else (name, shelf, field, id))))
    return found


def requests(object commands, list owners):
    """Return for each place the numbers of its commands, and their requests."""
    cdef dict found = {}
    cdef Py_ssize_t number = 0
    cdef tuple parts
    for slot, words in commands:
        place = owners[slot]
        parts = found.get(place)
        if parts is None:
            parts = found[place] = ([], [])
        (<list> parts[0]).append(number)
        (<list> parts[1]).append(_request(words))
        number += 1
    return found
