# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Commands, requests, values and buckets of a sharded namespace, in C: a page has twenty commands.

``layout.py``, ``wire.py``, ``packed_values.py`` and ``protocol.py`` are the reference, with the same results.
"""

from zlib import crc32

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

VERSION = 4

cdef enum:
    KEY = 6  # bytes of a key
    FIELD = 3  # bytes of a field of a bucket in one of several hashes
    REST = 38  # bits of a key without those of its tag
    TIME = 6  # bytes of a time
    AHEAD = 1000
    FAR = 0xFFFF
    LEAN = 0xE0
    IDENTITY = 16
    CLUSTER = 8
    LOW = 3  # bytes of the time seen that milliseconds lack
    SKETCH_HEAD = 9  # bytes of a sketch of minhash: a tag, and two numbers
    MOST = 255  # bytes of an identity or a cluster
    PIECES_SHIFT = 4
    FIELD_BITS = 0x3F

cdef double SECOND = 1 << 22
cdef double MAX_SECONDS = 1e11

cdef const char* HEXADECIMAL = b"0123456789abcdef"

cdef extern from *:
    """
    /* A named tuple of a number and a tuple of bytes, without the call of its class. The garbage collector need not
       look at either of them, and does not: there are twenty for each page. */
    static PyObject *named_pair(PyObject *type, PyObject *first, PyObject *second) {
        PyObject *made = ((PyTypeObject *)type)->tp_alloc((PyTypeObject *)type, 2);
        if (made != NULL) {
            Py_INCREF(first);
            Py_INCREF(second);
            PyTuple_SET_ITEM(made, 0, first);
            PyTuple_SET_ITEM(made, 1, second);
    #if PY_VERSION_HEX >= 0x030E0000
            ((PyTupleObject *)made)->ob_hash = -1; /* not known yet */
    #endif
            PyObject_GC_UnTrack(made);
            PyObject_GC_UnTrack(second);
        }
        return made;
    }
    """
    object named_pair(object type, object first, object second)  # a class of the layout


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


cdef tuple _tag(list tags, Py_ssize_t number):
    """Return a tag of the layout: slot, and the names of its records, stages and buckets."""
    found = tags[number]
    if not isinstance(found, tuple):
        raise TypeError("a tag that is no tuple")
    return <tuple> found


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
    cdef tuple tag, words
    for key in keys:
        if key is None or PyBytes_GET_SIZE(key) != KEY:
            raise ValueError(f"a key of {KEY} bytes is needed: {key!r}")
        bits = 0
        for at in range(KEY):
            bits = bits << 8 | <unsigned char> PyBytes_AS_STRING(key)[at]
        tag = _tag(tags, bits >> REST)
        if shelves == 1:
            shelf, field = tag[3], PyBytes_FromStringAndSize(PyBytes_AS_STRING(key) + 1, KEY - 1)
        else:
            bits &= (<uint64_t> 1 << REST) - 1
            shelf = _shelf_name(tag[3], bits % shelves)
            bits //= shelves
            field = PyBytes_FromStringAndSize(NULL, FIELD)
            out = <unsigned char*> PyBytes_AS_STRING(field)
            for at in range(FIELD):
                out[at] = <unsigned char> (bits >> (8 * (FIELD - 1 - at)) & 0xFF)
        words = (name, shelf, field) if id is None else (name, shelf, field, id)
        found.append(named_pair(command, tag[0], words))
    return found


def requests(object commands, list owners):
    """Return for each place the numbers of its commands, and their requests."""
    cdef dict found = {}
    cdef Py_ssize_t number = 0, at
    cdef object command, place
    cdef tuple parts
    cdef list places = [], all_parts = []  # few, and found by identity: faster than by their hashes
    for command in commands:
        if not isinstance(command, tuple):
            raise TypeError("a command that is no tuple")
        place = owners[<Py_ssize_t> (<tuple> command)[0]]
        for at in range(len(places)):
            if places[at] is place:
                parts = <tuple> all_parts[at]
                break
        else:
            parts = found.get(place)
            if parts is None:
                parts = found[place] = ([], [])
            places.append(place)
            all_parts.append(parts)
        (<list> parts[0]).append(number)
        (<list> parts[1]).append(_request((<tuple> command)[1]))
        number += 1
    return found


cdef bytes _with_bits(bytes id, int bits, bytes letter):
    """Return a letter, and the field of a record with these bits in place of those of the tag."""
    cdef Py_ssize_t before = PyBytes_GET_SIZE(letter), size = PyBytes_GET_SIZE(id) - 1
    cdef bytes field = PyBytes_FromStringAndSize(NULL, before + size)
    cdef char* out = PyBytes_AS_STRING(field)
    memcpy(out, PyBytes_AS_STRING(letter), before)
    memcpy(out + before, PyBytes_AS_STRING(id) + 1, size)
    out[before] = <char> (out[before] & FIELD_BITS | bits << 6)
    return field


cdef bytes _records_of(tuple tag, bytes id, uint64_t shelves):
    """Return the hash of a record."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(id)
    cdef uint64_t bits = 0
    cdef Py_ssize_t at
    if not shelves or not data[1] >> PIECES_SHIFT & 3:
        return tag[1]
    for at in range(2, PyBytes_GET_SIZE(id)):
        bits = bits << 8 | data[at]
    return _shelf_name(tag[1], bits % shelves)


cdef tuple _tag_of(list tags, bytes id):
    if PyBytes_GET_SIZE(id) < 3:
        raise ValueError(f"an id is needed: {id!r}")
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(id)
    return _tag(tags, data[0] << 2 | data[1] >> 6)


def record_place(list tags, bytes id not None, uint64_t shelves):
    """Return slot, hash, stages and first field of a record."""
    cdef tuple tag = _tag_of(tags, id)
    return tag[0], _records_of(tag, id, shelves), tag[2], _with_bits(id, 0, b"")


def peek_command(object command, list tags, bytes id not None, uint64_t shelves):
    """Return the command that reads a record and its mark."""
    cdef tuple tag = _tag_of(tags, id), words
    cdef bytes records = _records_of(tag, id, shelves), first = _with_bits(id, 0, b""), mark = _with_bits(id, 3, b"")
    cdef int pieces = <uint8_t> PyBytes_AS_STRING(id)[1] >> PIECES_SHIFT & 3
    if pieces < 2:
        words = (b"HMGET", records, first, mark)
    elif pieces == 2:
        words = (b"HMGET", records, first, _with_bits(id, 1, b""), mark)
    else:
        words = (b"HMGET", records, first, _with_bits(id, 1, b""), _with_bits(id, 2, b""), mark)
    return named_pair(command, tag[0], words)


def claim_command(object command, list tags, bytes id not None):
    """Return the command that turns a pending record into an open claim."""
    cdef tuple tag = _tag_of(tags, id)
    return named_pair(command, tag[0], (b"HDEL", tag[2], _with_bits(id, 0, b"p")))


def seal_commands(object command, list tags, bytes id not None, uint64_t shelves):
    """Return the commands that make a claim permanent, and remove its stage."""
    cdef tuple tag = _tag_of(tags, id)
    cdef tuple stage = (b"HDEL", tag[2], _with_bits(id, 0, b"p"), _with_bits(id, 0, b"w"), _with_bits(id, 0, b"o"))
    return [
        named_pair(command, tag[0], (b"HDEL", _records_of(tag, id, shelves), _with_bits(id, 3, b""))),
        named_pair(command, tag[0], stage),
    ]


def place_replies(list replies not None, list numbers not None, list answers not None):
    """Put answers into their places among the replies; return False if one is an error."""
    cdef Py_ssize_t at
    if len(numbers) != len(answers):
        raise ValueError("not as many answers as commands")
    for answer in answers:
        if isinstance(answer, Exception):
            return False
    for at in range(len(answers)):
        replies[<Py_ssize_t> numbers[at]] = answers[at]
    return True


def others_in(object keys, object packed, bytes own not None, Py_ssize_t size):
    """Return by key the ids of buckets, without ``own``; keys without others are left out."""
    cdef dict found = {}
    cdef dict ids
    cdef bytes there, id
    cdef Py_ssize_t at
    for key, each in zip(keys, packed):
        there = each
        if there is None or not there or there == own:
            continue
        if PyBytes_GET_SIZE(there) % size:
            raise ValueError("a bucket with a part of an id")
        ids = found.get(key)
        if ids is None:
            ids = found[key] = {}
        if PyBytes_GET_SIZE(there) == size:  # as in most buckets
            ids[there] = None
            continue
        for at in range(0, PyBytes_GET_SIZE(there), size):
            id = there[at : at + size]
            if id != own:
                ids[id] = None
    for key in found:
        found[key] = list(found[key])
    return found


cdef uint8_t* _put_part(uint8_t* out, bytes part) noexcept:
    memcpy(out, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
    return out + PyBytes_GET_SIZE(part)


cdef uint8_t* _put_varint(uint8_t* out, uint32_t number) noexcept:
    while number > 0x7F:
        out[0] = <uint8_t> (number & 0x7F | 0x80)
        number >>= 7
        out += 1
    out[0] = <uint8_t> number
    return out + 1


cdef uint8_t* _put_time(uint8_t* out, uint64_t number) noexcept:
    cdef int at
    for at in range(TIME):
        out[at] = <uint8_t> (number >> (8 * (TIME - 1 - at)))
    return out + TIME


cdef uint32_t _little(const uint8_t* data) noexcept:
    return data[0] | data[1] << 8 | data[2] << 16 | <uint32_t> data[3] << 24


def pack_value(int64_t filed, int64_t seen, record, bytes cluster not None, int minhash, bytes url not None):
    """Return a record without its keys as a value; None if Python must pack it.

    Args:
        filed, seen: milliseconds of the servers' clock.
        record: the record; its sketches are those of the detectors.
        cluster: its cluster, encoded.
        minhash: index of the sketch of ``minhash``; -1: none.
        url: its URL, packed.
    """
    cdef double time = record.seen
    cdef bytes identity = record.identity, sketch
    cdef tuple sketches = record.sketches
    cdef int64_t ago = filed - seen + AHEAD
    cdef int index, head = LEAN
    if not -MAX_SECONDS < time < MAX_SECONDS or filed < 0 or seen < 0 or max(filed, seen) >> (8 * TIME):
        return None
    if PyBytes_GET_SIZE(identity) > MOST or PyBytes_GET_SIZE(cluster) > MOST:
        return None
    cdef Py_ssize_t start = TIME + 2 if 0 <= ago < FAR else 2 * TIME + 2
    cdef Py_ssize_t size = start + 5 + LOW + 2 + len(identity) + len(cluster) + len(url) + 2
    for index in range(len(sketches)):
        sketch = sketches[index]
        size += len(sketch)  # the two numbers of minhash take no more than their head and two bytes
        if index == minhash and sketch and PyBytes_GET_SIZE(sketch) < SKETCH_HEAD:
            return None
    cdef bytes space = PyBytes_FromStringAndSize(NULL, size)
    cdef uint8_t* begin = <uint8_t*> PyBytes_AS_STRING(space)
    cdef uint8_t* out = _put_time(begin, filed)
    if 0 <= ago < FAR:
        out[0], out[1] = <uint8_t> (ago >> 8), <uint8_t> ago
    else:
        out[0] = out[1] = 0xFF
        _put_time(out + 2, seen)
    cdef int64_t low = <int64_t> rint(time * SECOND)
    out = begin + start + 5
    out[0], out[1], out[2] = <uint8_t> (low >> 16), <uint8_t> (low >> 8), <uint8_t> low
    out += LOW
    if identity:
        head |= IDENTITY
        out[0] = <uint8_t> PyBytes_GET_SIZE(identity)
        out = _put_part(out + 1, identity)
    if cluster:
        head |= CLUSTER
        out[0] = <uint8_t> PyBytes_GET_SIZE(cluster)
        out = _put_part(out + 1, cluster)
    for index in range(len(sketches)):
        sketch = sketches[index]
        if not sketch:
            head |= 1 << index
        elif index == minhash:
            out = _put_varint(out, _little(<const uint8_t*> PyBytes_AS_STRING(sketch) + 1))
            out = _put_varint(out, _little(<const uint8_t*> PyBytes_AS_STRING(sketch) + 5))
            memcpy(out, PyBytes_AS_STRING(sketch) + SKETCH_HEAD, PyBytes_GET_SIZE(sketch) - SKETCH_HEAD)
            out += PyBytes_GET_SIZE(sketch) - SKETCH_HEAD
        else:
            out = _put_part(out, sketch)
    out = _put_part(out, url)
    cdef bytes value = PyBytes_FromStringAndSize(<const char*> begin, out - begin)
    cdef uint32_t checksum = _checksum(value, start, head)
    out = <uint8_t*> PyBytes_AS_STRING(value) + start
    out[0] = <uint8_t> head
    out[1], out[2] = <uint8_t> (checksum >> 24), <uint8_t> (checksum >> 16)
    out[3], out[4] = <uint8_t> (checksum >> 8), <uint8_t> checksum
    return value


cdef uint32_t _checksum(bytes value, Py_ssize_t start, int head):
    cdef object data = memoryview(value)
    return crc32(data[start + 5 :], crc32(data[:start], head))


def unpack_value(bytes value not None, int count, int minhash, Py_ssize_t slots, Py_ssize_t hash_bytes, int tag):
    """Return the parts of a value without keys; None if Python must unpack it, or say what is wrong with it.

    Args:
        value: the value.
        count: number of sketches.
        minhash: index of the sketch of ``minhash``; -1: none.
        slots: of that sketch.
        hash_bytes: size of the other sketch.
        tag: first byte of the sketch of ``minhash``.

    Returns:
        The low bits of the time seen, the identity, the encoded cluster, the sketches, and the packed URL.
    """
    cdef const uint8_t* begin = <const uint8_t*> PyBytes_AS_STRING(value)
    cdef Py_ssize_t size = PyBytes_GET_SIZE(value), at = TIME + 2, length
    if size > at and begin[TIME] == 0xFF and begin[TIME + 1] == 0xFF:
        at += TIME
    if at + 5 + LOW >= size or begin[at] & LEAN != LEAN:
        return None
    cdef int head = begin[at], index, shift
    if _checksum(value, at, head) != (
        <uint32_t> begin[at + 1] << 24 | begin[at + 2] << 16 | begin[at + 3] << 8 | begin[at + 4]
    ):
        return None
    at += 5
    cdef uint32_t low = begin[at] << 16 | begin[at + 1] << 8 | begin[at + 2]
    cdef uint64_t wide
    cdef bytes identity = b"", cluster = b"", sketch
    cdef uint8_t* out
    cdef list sketches = []
    at += LOW
    if head & IDENTITY:
        length = begin[at]
        if at + 1 + length >= size:
            return None
        identity = value[at + 1 : at + 1 + length]
        at += 1 + length
    if head & CLUSTER:
        length = begin[at]
        if at + 1 + length >= size:
            return None
        cluster = value[at + 1 : at + 1 + length]
        at += 1 + length
    for index in range(count):
        if head & 1 << index:
            sketches.append(b"")
        elif index != minhash:
            if at + hash_bytes >= size:
                return None
            sketches.append(value[at : at + hash_bytes])
            at += hash_bytes
        else:
            sketch = PyBytes_FromStringAndSize(NULL, SKETCH_HEAD + slots)
            out = <uint8_t*> PyBytes_AS_STRING(sketch)
            out[0] = <uint8_t> tag
            for length in range(2):
                wide = shift = 0
                while True:
                    if at >= size or shift > 28:
                        return None
                    wide |= <uint64_t> (begin[at] & 0x7F) << shift
                    shift += 7
                    at += 1
                    if not begin[at - 1] & 0x80:
                        break
                if wide > 0xFFFFFFFF:
                    return None
                for shift in range(4):
                    out[1 + 4 * length + shift] = <uint8_t> (wide >> (8 * shift))
            if at + slots >= size:
                return None
            memcpy(out + SKETCH_HEAD, begin + at, slots)
            at += slots
            sketches.append(sketch)
    return low, identity, cluster, tuple(sketches), value[at:]
