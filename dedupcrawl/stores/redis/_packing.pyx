# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Records, URLs and requests, packed in C.

:mod:`~dedupcrawl.stores.redis.packed_records`, ``packed_urls`` and ``transports`` are the reference, with the same results.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.math cimport rint
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.stdio cimport snprintf
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy, strlen
from zlib import crc32

VERSION = 1

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

cdef double MAX_SECONDS = 1e11


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


cdef int _digit(uint8_t character) noexcept:
    return character - 48 if character < 97 else character - 87


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
    cdef int word_count
    cdef int word_sizes[MAX_WORDS]
    cdef const char* word_texts[MAX_WORDS]

    def __init__(self, *, tuple starts, tuple words, bytes characters):
        cdef int n
        cdef bytes word
        if len(words) > MAX_WORDS or FIRST_WORD + len(words) + len(characters) > 64:
            raise ValueError("too many symbols")
        self.starts, self.words, self.word_count = starts, words, len(words)
        for n in range(256):
            self.symbols[n], self.kinds[n], self.first_words[n] = 0, OTHER, 0
        for n in range(self.word_count - 1, -1, -1):
            word = self.words[n]
            self.word_sizes[n], self.word_texts[n] = <int> len(word), PyBytes_AS_STRING(word)
            self.first_words[word[0]] = n + 1
        cdef int character
        for n in range(<int> len(characters)):
            character = characters[n]
            self.symbols[character] = <uint8_t> (FIRST_WORD + self.word_count + n)
            self.kinds[character] = HEX if 48 <= character < 58 or 97 <= character < 103 else 0
        for character in range(65, 91):
            self.symbols[character] = self.symbols[character + 32]
            self.kinds[character] = UPPER

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
        packed = PyBytes_FromStringAndSize(NULL, 1 + size)
        cdef uint8_t* out = <uint8_t*> PyBytes_AS_STRING(packed)
        out[0] = <uint8_t> (len(self.starts) + start)
        memcpy(out + 1, text, size)
        return packed

    cdef bytes _symbols(self, const uint8_t* text, Py_ssize_t size, int start):
        """Return a text of letters and ``characters`` as symbols of six bits, after a byte for its start."""
        cdef uint8_t on_stack[ON_STACK]
        cdef Py_ssize_t space = 4 * size + 8  # the text with symbols of words, all symbols, and the bytes of the runs
        cdef uint8_t* words = on_stack
        if space > ON_STACK:
            words = <uint8_t*> malloc(space)
            if words == NULL:
                raise MemoryError
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
            four = symbols[n] << 18 | symbols[n + 1] << 12
            if at % 3:
                four |= symbols[n + 2] << 6
            if at % 3 == 2:
                four |= symbols[n + 3]
            out[1 + at] = <uint8_t> (four >> (16 - 8 * (at % 3)))
        memcpy(out + 1 + whole, runs, run_bytes)
        if words != on_stack:
            free(words)
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
    """

    cdef UrlPacker urls
    cdef Py_ssize_t key_bytes, identity_bytes, max_size
    cdef int version
    cdef double second

    def __init__(self, UrlPacker urls not None, *, int version, key_bytes, identity_bytes, max_size, second):
        self.urls, self.version, self.second = urls, version, second
        self.key_bytes, self.identity_bytes, self.max_size = key_bytes, identity_bytes, max_size

    def pack_record(self, record):
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
        for key in keys:
            if not PyBytes_CheckExact(key) or PyBytes_GET_SIZE(key) != self.key_bytes:
                return None
        for each in parts:
            if not PyBytes_CheckExact(each) or PyBytes_GET_SIZE(each) > self.max_size:
                return None
            total += PyBytes_GET_SIZE(each)
        cdef uint8_t on_stack[ON_STACK]
        cdef uint8_t* begin = on_stack
        if total > ON_STACK:
            begin = <uint8_t*> malloc(total)
            if begin == NULL:
                raise MemoryError
        cdef uint8_t* out = begin + PREFIX
        cdef int64_t low = <int64_t> rint(seen * self.second)
        out[0], out[1], out[2] = <uint8_t> (low >> 16), <uint8_t> (low >> 8), <uint8_t> low
        out = _put_number(out + SEEN, len(keys))
        for key in keys:
            out = _put(out, <bytes> key)
        if count >= SKETCHES:
            out = _put_number(out, count)
        for each in parts:
            out = _put_number(out, PyBytes_GET_SIZE(each))
        for each in parts:
            out = _put(out, <bytes> each)
        out = _put(out, url)
        cdef bytes packed = PyBytes_FromStringAndSize(<char*> begin, out - begin)
        if begin != on_stack:
            free(begin)
        cdef uint32_t checksum = crc32(memoryview(packed)[PREFIX:], head)
        out = <uint8_t*> PyBytes_AS_STRING(packed)
        out[0] = <uint8_t> head
        out[1], out[2] = <uint8_t> (checksum >> 24), <uint8_t> (checksum >> 16)
        out[3], out[4] = <uint8_t> (checksum >> 8), <uint8_t> checksum
        return packed


cdef tuple _NUMBERS = tuple([b"%d" % n for n in range(256)])


cdef bytes _text(part):
    if type(part) is not int:
        return str(part).encode()
    return <bytes> _NUMBERS[part] if 0 <= part < 256 else b"%d" % part


def pack_request(Py_ssize_t count, bytes head not None, rest not None):
    cdef tuple given = tuple(rest)
    cdef list parts = []
    cdef Py_ssize_t total = LENGTH + PyBytes_GET_SIZE(head), length
    cdef char number[LENGTH]
    for part in given:
        if not PyBytes_CheckExact(part):
            part = _text(part)
        parts.append(part)
        total += PyBytes_GET_SIZE(part) + LENGTH
    cdef char on_stack[ON_STACK]
    cdef char* begin = on_stack
    if total > ON_STACK:
        begin = <char*> malloc(total)
        if begin == NULL:
            raise MemoryError
    cdef char* out = begin + snprintf(begin, LENGTH, b"*%zd\r\n", count)
    memcpy(out, PyBytes_AS_STRING(head), PyBytes_GET_SIZE(head))
    out += PyBytes_GET_SIZE(head)
    for part in parts:
        length = PyBytes_GET_SIZE(part)
        out = _put_length(out, length)
        memcpy(out, PyBytes_AS_STRING(part), length)
        out[length], out[length + 1] = 13, 10
        out += length + 2
    cdef bytes request = PyBytes_FromStringAndSize(begin, out - begin)
    if begin != on_stack:
        free(begin)
    return request


cdef char* _put_length(char* out, Py_ssize_t length) noexcept:
    cdef char digits[NUMBER]
    cdef int n = NUMBER
    while n == NUMBER or length:
        n -= 1
        digits[n] = <char> (48 + length % 10)
        length //= 10
    out[0] = 36  # "$"
    memcpy(out + 1, digits + n, NUMBER - n)
    out += 1 + NUMBER - n
    out[0], out[1] = 13, 10
    return out + 2
