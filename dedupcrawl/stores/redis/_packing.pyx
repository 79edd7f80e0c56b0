# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records, URLs and requests, packed and sent in C.

:mod:`~dedupcrawl.stores.redis.packed_records`, ``packed_urls`` and ``transports`` are the reference, with the same results.
"""

from cpython.buffer cimport PyBUF_READ
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.memoryview cimport PyMemoryView_FromMemory
from libc.errno cimport EINTR, errno
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy
from os import strerror
from zlib import crc32

from dedupcrawl.stores.base import Record

cdef extern from *:
    """
    #ifdef __linux__
    #include <sys/socket.h>
    enum { LINUX = 1 };
    #define send_some(fd, data, size) send(fd, data, size, MSG_NOSIGNAL)
    #define receive_some(fd, room, size) recv(fd, room, size, 0)
    #else
    enum { LINUX = 0 };
    #define send_some(fd, data, size) (-1)
    #define receive_some(fd, room, size) (-1)
    #endif
    """
    const bint LINUX
    Py_ssize_t send_some(int fd, const char* data, size_t size) nogil
    Py_ssize_t receive_some(int fd, char* room, size_t size) nogil

VERSION = 3  # of what Python expects of this module
CAN_EXCHANGE = bool(LINUX)

cdef enum:
    END = 0  # symbols of packed_urls
    CAPITAL = 1
    RUN = 2
    FIRST_WORD = 3
    MAX_WORDS = 12
    MIN_RUN = 12  # digits of a run
    MAX_RUN = 126
    HEX = 1  # kinds of characters
    UPPER = 2
    OTHER = 4
    PREFIX = 5  # bytes of a record before what its checksum covers
    SEEN = 3  # bytes
    MANY = 255  # a number from which on it takes five bytes
    SKETCHES = 7  # bits of the head
    CLUSTER = 8
    IDENTITY = 16
    NUMBER = 20  # most digits of a number, with its sign
    LENGTH = 24  # most bytes of the length of a part of a request, with the ends of lines
    ON_STACK = 2048
    MIN_BYTES = 10  # of a record
    HALF_RANGE = 1 << 23  # of the time seen
    RECEIVED = 4096  # bytes of a reply that are received at once
    MIN_NUMBER = 4  # bytes of a reply that is a number
    MAX_NUMBER = 20  # of one that 64 bits hold in any case
    MAX_COMPARED = 200  # keys that are compared one by one, to find one that occurs twice

cdef double MAX_SECONDS = 1e11
cdef int64_t MAX_MILLISECONDS = 1 << 41  # in 2039; the units of a time before have 53 bits
cdef const char* DIGITS = b"0123456789abcdef"
cdef bytes KEYS = b"="  # in place of keys to search under that are those of the record


cdef struct Room:
    uint8_t on_stack[ON_STACK]
    uint8_t* begin


cdef uint8_t* _take(Room* room, Py_ssize_t size) except NULL:
    """Return room for some bytes, from the heap if there are many; :func:`_give_back` must follow."""
    room.begin = <uint8_t*> room.on_stack if size <= ON_STACK else <uint8_t*> malloc(size)
    if room.begin == NULL:
        raise MemoryError
    return room.begin


cdef void _give_back(Room* room) noexcept:
    if room.begin != room.on_stack:
        free(room.begin)


cdef uint8_t* _put_number(uint8_t* out, Py_ssize_t number) noexcept:
    cdef int shift
    if number < MANY:
        out[0] = <uint8_t> number
        return out + 1
    out[0] = MANY
    for shift in range(4):
        out[1 + shift] = <uint8_t> (number >> (24 - 8 * shift))
    return out + 5


cdef uint8_t* _put(uint8_t* out, bytes part) noexcept:
    memcpy(out, PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part))
    return out + PyBytes_GET_SIZE(part)


cdef int _symbol(const uint8_t* packed, Py_ssize_t size, Py_ssize_t n) noexcept:
    """Return a symbol; behind the last byte all bits are 0."""
    cdef Py_ssize_t at = 6 * n // 8
    cdef int two = packed[at] << 8 | (packed[at + 1] if at + 1 < size else 0)
    return two >> (10 - 6 * n % 8) & 63


cdef int _digit(uint8_t character) noexcept:
    return character - 48 if character < 97 else character - 87


cdef const uint8_t* _read_number(const uint8_t* at, const uint8_t* end, Py_ssize_t* number) noexcept:
    """Read a number; return where it ends, NULL if that is behind the end."""
    if at == NULL or at >= end:
        return NULL
    number[0] = at[0]
    if at[0] < MANY:
        return at + 1
    if at + 5 > end:
        return NULL
    number[0] = <Py_ssize_t> at[1] << 24 | <Py_ssize_t> at[2] << 16 | at[3] << 8 | at[4]
    return at + 5


cdef str _text_in(bytes text):
    """Return a text; None for what is not UTF-8."""
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return None


cdef class UrlPacker:
    """Packs URLs.

    Args:
        starts: those of URLs, the longer ones first; the last is empty.
        words: those that have symbols, in the order in which they are looked for.
        characters: those that have symbols.
    """

    cdef tuple starts, words
    cdef uint8_t symbols[256]
    cdef uint8_t kinds[256]
    cdef uint8_t first_words[256]  # the number of the first word that begins with a character, from 1 on
    cdef uint8_t characters[64]  # of the symbols
    cdef int word_count, longest
    cdef int word_sizes[MAX_WORDS]
    cdef const char* word_texts[MAX_WORDS]

    def __init__(self, *, tuple starts, tuple words, bytes characters):
        cdef int n
        cdef bytes word
        if len(words) > MAX_WORDS or FIRST_WORD + len(words) + len(characters) > 64:
            raise ValueError("too many symbols")
        self.starts, self.words, self.word_count = starts, words, len(words)
        self.longest = max(map(len, words))
        for n in range(256):
            self.kinds[n] = OTHER
        for n in range(self.word_count - 1, -1, -1):
            word = self.words[n]
            self.word_sizes[n], self.word_texts[n] = <int> len(word), PyBytes_AS_STRING(word)
            self.first_words[word[0]] = n + 1
        cdef int character
        for n in range(<int> len(characters)):
            character = characters[n]
            self.symbols[character] = <uint8_t> (FIRST_WORD + self.word_count + n)
            self.characters[self.symbols[character]] = <uint8_t> character
            self.kinds[character] = HEX if 48 <= character < 58 or 97 <= character < 103 else 0
        for character in range(65, 91):
            self.symbols[character] = self.symbols[character + 32]
            self.kinds[character] = UPPER

    cdef str _unpacked(self, const uint8_t* packed, Py_ssize_t size):
        """Return the URL of at least one byte; None for one that was not packed so."""
        cdef Py_ssize_t starts = len(self.starts), space
        cdef int start = packed[0]
        cdef bytes first, url
        if start >= 2 * starts:
            return None
        first = self.starts[start % starts]
        packed += 1
        size -= 1
        if start >= starts:
            return _text_in(first + PyBytes_FromStringAndSize(<const char*> packed, size))
        cdef Room room
        space = PyBytes_GET_SIZE(first) + (8 * size // 6 + 2) * self.longest + 2 * size
        cdef char* begin = <char*> _take(&room, space)
        memcpy(begin, PyBytes_AS_STRING(first), PyBytes_GET_SIZE(first))
        cdef char* end = self._unpack(packed, size, begin + PyBytes_GET_SIZE(first))
        url = None if end == NULL else PyBytes_FromStringAndSize(begin, end - begin)
        _give_back(&room)
        return None if url is None else _text_in(url)

    cdef char* _unpack(self, const uint8_t* packed, Py_ssize_t size, char* out) noexcept:
        """Write what symbols stand for; return its end, NULL for symbols that were not packed so."""
        cdef Py_ssize_t count = 0, n, at
        cdef int symbol, character, is_capital = 0, k
        while 6 * count < 8 * size and _symbol(packed, size, count) != END:
            count += 1
        at = (6 * (count + 1) + 7) // 8
        n = 0
        while n < count:
            symbol = _symbol(packed, size, n)
            n += 1
            if symbol == CAPITAL:
                if is_capital:
                    return NULL
                is_capital = 32
                continue
            if symbol == RUN:
                k = _symbol(packed, size, n) if n < count else 0
                n += 1
                if k < MIN_RUN // 2 or at + k > size or is_capital:
                    return NULL
                while k:
                    out[0], out[1] = DIGITS[packed[at] >> 4], DIGITS[packed[at] & 15]
                    out += 2
                    at += 1
                    k -= 1
                continue
            if symbol < FIRST_WORD + self.word_count:
                k = symbol - FIRST_WORD
                if is_capital:
                    return NULL
                memcpy(out, self.word_texts[k], self.word_sizes[k])
                out += self.word_sizes[k]
                continue
            character = self.characters[symbol]
            if is_capital and not 97 <= character < 123 or not character:
                return NULL
            out[0] = <char> (character - is_capital)
            out += 1
            is_capital = 0
        return NULL if is_capital else out

    def unpack_url(self, bytes packed not None):
        if not packed:
            return None
        return self._unpacked(<const uint8_t*> PyBytes_AS_STRING(packed), PyBytes_GET_SIZE(packed))

    def pack_url(self, str url not None):
        return self._url(url.encode("utf-8", "surrogatepass"))

    cdef bytes _url(self, bytes url):
        """Return a URL in UTF-8, packed."""
        cdef const uint8_t* text = <const uint8_t*> PyBytes_AS_STRING(url)
        cdef Py_ssize_t size = PyBytes_GET_SIZE(url), at, length = 0
        cdef int start = 0, kinds = 0
        cdef bytes each, packed
        for each in self.starts:
            length = PyBytes_GET_SIZE(each)
            if length <= size and memcmp(text, PyBytes_AS_STRING(each), length) == 0:
                break
            start += 1
        text += length
        size -= length
        for at in range(size):
            kinds |= self.kinds[text[at]]
        if not kinds & OTHER:
            packed = self._symbols(text, size, start)
            if not kinds & UPPER or PyBytes_GET_SIZE(packed) <= size:
                return packed
        return bytes((len(self.starts) + start,)) + text[:size]

    cdef bytes _symbols(self, const uint8_t* text, Py_ssize_t size, int start):
        """Return a text of letters and ``characters`` as symbols of six bits, after a byte for its start."""
        cdef Room room  # for the text with symbols of words, all symbols, and the bytes of the runs
        cdef uint8_t* words = _take(&room, 4 * size + 8)
        cdef uint8_t* symbols = words + size
        cdef uint8_t* runs = symbols + 2 * size + 4
        cdef Py_ssize_t at = 0, end = 0, count = 0, run_bytes = 0, digits, whole
        cdef int n
        while at < size:
            n = self._word_at(text + at, size - at)
            if n:
                words[end] = FIRST_WORD + n - 1
                at += self.word_sizes[n - 1]
            else:
                words[end] = text[at]
                at += 1
            end += 1
        at = 0
        while at < end:
            digits = 0
            while at + digits < end and digits < MAX_RUN and self.kinds[words[at + digits]] == HEX:
                digits += 1
            if digits >= MIN_RUN:
                symbols[count], symbols[count + 1] = RUN, <uint8_t> (digits // 2)
                count += 2
                for n in range(<int> (digits // 2)):
                    runs[run_bytes] = <uint8_t> (_digit(words[at]) << 4 | _digit(words[at + 1]))
                    run_bytes += 1
                    at += 2
                continue
            for n in range(<int> max(digits, 1)):
                if self.kinds[words[at]] == UPPER:
                    symbols[count] = CAPITAL
                    count += 1
                symbols[count] = self.symbols[words[at]] if words[at] >= 32 else words[at]
                count += 1
                at += 1
        if run_bytes:
            symbols[count] = END
            count += 1
        whole = (6 * count + 7) // 8
        for n in range(3):
            symbols[count + n] = 0  # the last bytes may need them
        cdef bytes packed = PyBytes_FromStringAndSize(NULL, 1 + whole + run_bytes)
        cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(packed)
        out[0] = <uint8_t> start
        cdef uint32_t four
        for at in range(whole):
            n = <int> (at // 3 * 4)
            four = symbols[n] << 18 | symbols[n + 1] << 12 | symbols[n + 2] << 6 | symbols[n + 3]
            out[1 + at] = <uint8_t> (four >> (16 - 8 * (at % 3)))
        memcpy(out + 1 + whole, runs, run_bytes)
        _give_back(&room)
        return packed

    cdef int _word_at(self, const uint8_t* text, Py_ssize_t size) noexcept:
        """Return the number of the word with which a text begins, from 1 on; 0 without one."""
        cdef int n = self.first_words[text[0]]
        while n and n <= self.word_count:
            if self.word_sizes[n - 1] <= size and memcmp(text, self.word_texts[n - 1], self.word_sizes[n - 1]) == 0:
                return n
            n += 1
        return 0


cdef class RecordPacker:
    """Packs records.

    Args:
        urls: packs their URLs.
        version, key_bytes, identity_bytes, max_size: constants of ``packed_records``.
        second: the units of the time seen in a second.
        max_skew: the units by which the times of a worker and of a server may differ.
    """

    cdef UrlPacker urls
    cdef Py_ssize_t key_bytes, identity_bytes, max_size
    cdef int version
    cdef double second
    cdef int64_t max_skew

    def __init__(self, UrlPacker urls not None, *, int version, key_bytes, identity_bytes, max_size, second, max_skew):
        self.urls, self.version, self.second, self.max_skew = urls, version, second, max_skew
        self.key_bytes, self.identity_bytes, self.max_size = key_bytes, identity_bytes, max_size

    def pack_offer(self, record, double now):
        cdef object probes = record.probes
        cdef object keys = record.keys
        cdef double age = now - <double> record.seen
        if type(keys) is not tuple or not -MAX_SECONDS < age < MAX_SECONDS or len(keys) > MAX_COMPARED:
            return None
        cdef bytes joined = _joined(keys, self.key_bytes, True), searched = KEYS
        if probes is not None and probes != keys:
            searched = _joined(probes, self.key_bytes, False) if type(probes) is tuple else None
        if joined is None or searched is None:
            return None
        cdef bytes value = self._record(record, joined)
        if value is None:
            return None
        return <int64_t> rint(age * 1000), value, joined, searched

    def pack_record(self, record):
        cdef bytes joined = _joined(record.keys, self.key_bytes, False)
        return None if joined is None else self._record(record, joined)

    cdef bytes _record(self, record, bytes joined):
        """Return a record with these keys, packed; None if it does not fit."""
        cdef tuple keys = record.keys, sketches = record.sketches
        cdef bytes identity = record.identity, part
        cdef str cluster = record.cluster
        cdef double seen = record.seen
        cdef Py_ssize_t count = len(sketches), total
        cdef int head = self.version << 5 | <int> min(count, SKETCHES)
        if PyBytes_GET_SIZE(identity) > self.identity_bytes or not -MAX_SECONDS < seen < MAX_SECONDS:
            return None
        if max(count, len(keys)) > self.max_size:
            return None
        cdef list parts = list(sketches)
        if identity:
            head |= IDENTITY
            parts.append(identity)
        if cluster:
            head |= CLUSTER
            parts.append(cluster.encode("utf-8", "surrogatepass"))
        cdef bytes url = self.urls._url((<str?> record.url).encode("utf-8", "surrogatepass"))
        total = PREFIX + SEEN + 10 + 5 * len(parts) + len(keys) * self.key_bytes + PyBytes_GET_SIZE(url)
        for each in parts:
            if not PyBytes_CheckExact(each) or PyBytes_GET_SIZE(each) > self.max_size:
                return None
            total += PyBytes_GET_SIZE(each)
        cdef Room room
        cdef uint8_t* begin = _take(&room, total)
        cdef uint8_t* out = begin + PREFIX
        cdef int64_t low = <int64_t> rint(seen * self.second)
        out[0], out[1], out[2] = <uint8_t> (low >> 16), <uint8_t> (low >> 8), <uint8_t> low
        out = _put_number(out + SEEN, len(keys))
        out = _put(out, joined)
        if count >= SKETCHES:
            out = _put_number(out, count)
        for each in parts:
            out = _put_number(out, PyBytes_GET_SIZE(each))
        for each in parts:
            out = _put(out, <bytes> each)
        out = _put(out, url)
        cdef bytes packed = PyBytes_FromStringAndSize(<char*> begin, out - begin)
        _give_back(&room)
        cdef uint32_t checksum = _checksum(packed, head)
        out = <uint8_t*> PyBytes_AS_STRING(packed)
        out[0] = <uint8_t> head
        out[1], out[2] = <uint8_t> (checksum >> 24), <uint8_t> (checksum >> 16)
        out[3], out[4] = <uint8_t> (checksum >> 8), <uint8_t> checksum
        return packed

    def unpack_record(self, bytes value not None, milliseconds):
        cdef const uint8_t* at = <const uint8_t*> PyBytes_AS_STRING(value)
        cdef const uint8_t* end = at + PyBytes_GET_SIZE(value)
        if end - at < MIN_BYTES or at[0] >> 5 != self.version or not 0 <= milliseconds < MAX_MILLISECONDS:
            return None
        cdef int head = at[0]
        cdef uint32_t checksum = <uint32_t> at[1] << 24 | at[2] << 16 | at[3] << 8 | at[4]
        if _checksum(value, head) != checksum:
            return None
        cdef int64_t low = at[PREFIX] << 16 | at[PREFIX + 1] << 8 | at[PREFIX + 2]
        cdef Py_ssize_t count, size, sketches = head & SKETCHES, n
        at = _read_number(at + PREFIX + SEEN, end, &count)
        if at == NULL or count * self.key_bytes > end - at:
            return None
        cdef list keys = [], parts = [], sizes = []
        for n in range(count):
            keys.append(PyBytes_FromStringAndSize(<const char*> at, self.key_bytes))
            at += self.key_bytes
        if sketches == SKETCHES:
            at = _read_number(at, end, &sketches)
        if at == NULL or sketches > end - at:
            return None
        for n in range(sketches + (head & IDENTITY != 0) + (head & CLUSTER != 0)):
            at = _read_number(at, end, &size)
            if at == NULL:
                return None
            sizes.append(size)
        for length in sizes:
            size = length
            if size >= end - at:  # a URL takes at least one byte
                return None
            parts.append(PyBytes_FromStringAndSize(<const char*> at, size))
            at += size
        cdef str url = self.urls._unpacked(at, end - at) if at < end else None
        if url is None:
            return None
        cluster = _text_in(<bytes> parts.pop()) if head & CLUSTER else ""
        if cluster is None:
            return None
        identity = parts.pop() if head & IDENTITY else b""
        if len(identity) > self.identity_bytes:
            return None
        return Record(url, tuple(keys), tuple(parts), self._time_seen(low, milliseconds), cluster, None, identity)

    cdef double _time_seen(self, int64_t low, int64_t milliseconds) noexcept:
        """Return the same as in ``packed_records``, for times before 2039."""
        cdef int64_t near = <int64_t> rint(<double> (milliseconds * <int64_t> self.second) / 1000.0)
        cdef int64_t skew = ((low - near + HALF_RANGE) & (2 * HALF_RANGE - 1)) - HALF_RANGE
        if skew > self.max_skew or -skew > self.max_skew:
            return <double> milliseconds / 1000.0
        return <double> (near + skew) / self.second


cdef tuple _NUMBERS = tuple([b"%d" % n for n in range(256)])


cdef bytes _text(part):
    if type(part) is not int:
        return str(part).encode()
    return <bytes> _NUMBERS[part] if 0 <= part < 256 else b"%d" % part


cdef uint32_t _checksum(bytes packed, int head) except? 0:
    """Return the checksum of a record: of what follows the prefix."""
    cdef char* begin = PyBytes_AS_STRING(packed)
    return crc32(PyMemoryView_FromMemory(begin + PREFIX, PyBytes_GET_SIZE(packed) - PREFIX, PyBUF_READ), head)


cdef bytes _joined(tuple keys, Py_ssize_t key_bytes, bint distinct):
    """Return keys as one string; None for a key of another size, and for one that occurs twice among keys that must not."""
    cdef bytes joined = PyBytes_FromStringAndSize(NULL, len(keys) * key_bytes)
    cdef char* begin = PyBytes_AS_STRING(joined)
    cdef char* out = begin
    cdef char* other
    for key in keys:
        if not PyBytes_CheckExact(key) or PyBytes_GET_SIZE(key) != key_bytes:
            return None
        memcpy(out, PyBytes_AS_STRING(key), key_bytes)
        if distinct:
            other = begin
            while other < out:
                if memcmp(other, out, key_bytes) == 0:
                    return None
                other += key_bytes
        out += key_bytes
    return joined


def pack_request(Py_ssize_t count, bytes head not None, rest not None):
    cdef list parts = []
    cdef Py_ssize_t total = LENGTH + PyBytes_GET_SIZE(head), length
    for part in rest:
        if not PyBytes_CheckExact(part):
            part = _text(part)
        parts.append(part)
        total += PyBytes_GET_SIZE(part) + LENGTH
    cdef Room room
    cdef char* begin = <char*> _take(&room, total)
    cdef char* out = _put_length(begin, b"*", count)
    memcpy(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    out += PyBytes_GET_SIZE(head)
    for part in parts:
        length = PyBytes_GET_SIZE(part)
        out = _put_length(out, b"$", length)
        memcpy(out, PyBytes_AS_STRING(part), length)
        out[length], out[length + 1] = 13, 10
        out += length + 2
    cdef bytes request = PyBytes_FromStringAndSize(begin, out - begin)
    _give_back(&room)
    return request


cdef char* _put_length(char* out, char mark, Py_ssize_t length) noexcept:
    cdef char digits[NUMBER]
    cdef int n = NUMBER
    while n == NUMBER or length:
        n -= 1
        digits[n] = <char> (48 + length % 10)
        length //= 10
    out[0] = mark
    memcpy(out + 1, digits + n, NUMBER - n)
    out += 1 + NUMBER - n
    out[0], out[1] = 13, 10
    return out + 2


def exchange(socket, bytes request not None):
    cdef const char* data = PyBytes_AS_STRING(request)
    cdef Py_ssize_t left = PyBytes_GET_SIZE(request), count
    cdef char[RECEIVED] room
    cdef int problem, place
    while left > 0:
        place = socket.fileno()  # another thread may close the socket, and open a file with its number
        with nogil:
            count = send_some(place, data, left)
            problem = errno
        if count >= 0:
            data += count
            left -= count
        else:
            _raise_unless_interrupted(problem)
    while True:
        place = socket.fileno()
        with nogil:
            count = receive_some(place, room, RECEIVED)
            problem = errno
        if count >= 0:
            return _received(room, count)
        _raise_unless_interrupted(problem)


cdef int _raise_unless_interrupted(int problem) except -1:
    if problem != EINTR:
        raise OSError(problem, strerror(problem))
    return PyErr_CheckSignals()


cdef object _received(const char* reply, Py_ssize_t size):
    """Return the number that a reply is, or its bytes."""
    cdef int64_t number = 0
    cdef Py_ssize_t at
    if not MIN_NUMBER <= size <= MAX_NUMBER or reply[0] != b":" or reply[size - 2] != 13 or reply[size - 1] != 10:
        return PyBytes_FromStringAndSize(reply, size)
    for at in range(1, size - 2):
        if not 48 <= reply[at] < 58:
            return PyBytes_FromStringAndSize(reply, size)
        number = 10 * number + reply[at] - 48
    return number
