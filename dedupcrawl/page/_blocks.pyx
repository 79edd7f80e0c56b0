# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Blocks and containers from the stream of a page, as :mod:`dedupcrawl.page.blocks` makes them, but in C.

The functions of that module are the reference. Each text is measured in one pass over its bytes in UTF-8, where Python
makes a new string at every step. Rare cases are left to the reference: runs of links in the text of a block, headings
with links to a place of the page, and targets whose file type has other letters than ASCII.
"""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memchr, memcmp, memcpy

ctypedef const unsigned char* Text

# The marks of blocks.py in UTF-8: two common bytes, then one of these.
cdef enum:
    FIRST_BYTE = 0xEF
    SECOND_BYTE = 0xB7
    MARK = 0x90
    LINK = 0x92
    ANCHOR = 0x93
    UNLINK = 0x94
    BREAK = 0x96
    NOTE = 0x97
    MARK_SIZE = 3

cdef enum:
    PLAIN  # a byte that is copied
    SPACE  # ASCII white space
    LEAD  # the first byte of a character that may be white space or a mark
    MAX_TYPES = 128
    MAX_SEPARATORS = 128
    MAX_FOREIGN_TYPE = 16  # bytes; a longer text has more characters than any file type
    MAX_ASCII_TYPE = 7

# Waiting white space of a text that is normalised.
cdef enum:
    NOTHING
    BLANK
    LINE_END

cdef unsigned char CLASSES[256]

cdef struct Span:
    Text start
    Text end

cdef struct Writer:
    char* text  # NULL: only the size is needed
    Py_ssize_t size
    int waiting

cdef struct Level:
    Span head
    Py_ssize_t container  # -1: none yet
    bint is_known  # its head was decoded and classified
    bint is_body  # it is declared the body of an article
    bint is_hidden  # only scripts show it

cdef struct Measures:
    Py_ssize_t length
    Py_ssize_t link_length
    Py_ssize_t links
    Py_ssize_t longest
    bint inside
    Py_ssize_t files  # links to files
    Py_ssize_t file_length  # of their labels
    bint in_file  # the last link, to a file, is open


cdef void _fill_classes() noexcept:
    cdef int byte
    for byte in range(256):
        if byte == 0x20 or 0x09 <= byte <= 0x0D or 0x1C <= byte <= 0x1F:
            CLASSES[byte] = SPACE
        else:
            CLASSES[byte] = LEAD if byte in (0xC2, 0xE1, 0xE2, 0xE3, FIRST_BYTE) else PLAIN

_fill_classes()


cdef class BlockBuilder:
    """Builds the blocks of pages.

    Args:
        classify: ``blocks._classify_element``.
        is_opened: ``declared.is_opened``.
        hidden_side: what a container is that only scripts show, if its class and id show nothing.
        make_blocks: ``blocks.make_blocks``, for the rare cases.
        links: ``blocks.NO_LINK``, ``PAGE_LINK`` and ``FILE_LINK``.
        file_types: extensions of files that are no web pages.
        separators: characters that do not end a run of links.
        short_gap: ``blocks.SHORT_GAP``.
        max_head_chars: ``blocks.MAX_HEAD_CHARS``.
        part_names: ``blocks.PART_NAMES``.
    """

    cdef object classify, is_opened, hidden_side, make_blocks, links, file_types, part_names
    cdef Py_ssize_t short_gap, max_head_chars
    cdef uint64_t types[MAX_TYPES]
    cdef uint32_t separators[MAX_SEPARATORS]
    cdef int type_count, separator_count

    def __init__(
        self, *, classify, is_opened, hidden_side, make_blocks, links, file_types, separators, short_gap,
        max_head_chars, part_names,
    ):
        self.classify, self.is_opened, self.hidden_side = classify, is_opened, hidden_side
        self.make_blocks, self.links = make_blocks, links
        self.file_types = file_types
        self.part_names = part_names
        self.short_gap = short_gap
        self.max_head_chars = max_head_chars
        if len(file_types) > MAX_TYPES or len(separators) > MAX_SEPARATORS:
            raise ValueError("too many file types or separators")
        for name in sorted(file_types):
            encoded = name.encode("ascii")
            if len(encoded) > MAX_ASCII_TYPE:
                raise ValueError("a file type is too long")
            self.types[self.type_count] = _packed(encoded, len(encoded))
            self.type_count += 1
        for sign in separators:
            self.separators[self.separator_count] = ord(sign)
            self.separator_count += 1

    def build(self, bytes stream not None, tree not None, options not None):
        """Add the blocks, containers and metadata of a stream in UTF-8 to an empty ``BlockTree``."""
        cdef _Builder builder = _Builder(self, stream, tree, options)
        tree.metadata = _metadata(stream)
        builder.read()


cdef class _Builder:
    """Builds the blocks of one page."""

    cdef BlockBuilder rules
    cdef bytes stream
    cdef object options
    cdef double least_noise, least_content  # R1 and R2
    cdef Py_ssize_t link_run
    cdef object tree
    cdef dict files  # of the tree, as the lists
    cdef list blocks, parents, sides, mains, heads, nested, elements, bodies, hidden  # of the tree
    cdef list known_heads, known_kinds  # of each level: its head and what it shows
    cdef Level* levels
    cdef Py_ssize_t depth, room
    cdef char* scratch
    cdef bint inside  # a link to a web page is open
    cdef bint in_file  # a link to a file is open

    def __cinit__(self, BlockBuilder rules, bytes stream, tree, options):
        self.rules = rules
        self.stream = stream
        self.options = options
        self.least_noise = options.link_density_noise
        self.least_content = options.link_density_content
        self.link_run = options.link_run
        self.blocks, self.parents, self.sides, self.mains = tree.blocks, tree.parents, tree.sides, tree.mains
        self.heads, self.nested, self.elements = tree.heads, tree.nested, tree.elements
        self.bodies, self.hidden = tree.bodies, tree.hidden
        self.tree, self.files = tree, tree.files
        self.known_heads, self.known_kinds = [None], [None]
        self.room = 64
        self.levels = <Level*>malloc(self.room * sizeof(Level))
        self.scratch = <char*>malloc(PyBytes_GET_SIZE(stream) + 1)
        if self.levels is NULL or self.scratch is NULL:
            raise MemoryError
        self.levels[0] = Level(Span(<Text>b"body", <Text>b"body" + 4), -1, False, False, False)

    def __dealloc__(self):
        free(self.levels)
        free(self.scratch)

    cdef int read(self) except -1:
        """Read the texts of the stream, each after the head of the element that begins or ends there."""
        cdef Text at = <Text>PyBytes_AS_STRING(self.stream)
        cdef Text end = at + PyBytes_GET_SIZE(self.stream)
        cdef Text stop
        cdef Span head = Span(at, at)
        cdef Span text
        while True:
            stop = _find(at, end, MARK)
            if head.end > head.start:
                self.open(head)
            elif self.depth:
                self.depth -= 1
            text = _stripped(at, stop)
            if text.end > text.start:
                self.add_text(text)
            if stop == end:
                return 0
            head.start = stop + MARK_SIZE
            head.end = _find(head.start, end, MARK)
            if head.end == end:  # the last head has no text
                return 0
            at = head.end + MARK_SIZE

    cdef int open(self, Span head) except -1:
        """Open an element with this head; a note of what the element around it is ends at once."""
        cdef Level* levels
        if _is(head, b"\xef\xb7\x97body=", 8):
            self.levels[self.depth].is_body = True
        elif _is(head, b"\xef\xb7\x97hidden=", 10) and not self.rules.is_opened(self.around()):
            self.levels[self.depth].is_hidden = True
        self.depth += 1
        if self.depth == self.room:
            levels = <Level*>realloc(self.levels, 2 * self.room * sizeof(Level))
            if levels is NULL:
                raise MemoryError
            self.levels = levels
            self.room *= 2
        if self.depth == len(self.known_heads):
            self.known_heads.append(None)
            self.known_kinds.append(None)
        self.levels[self.depth] = Level(head, -1, False, False, False)
        return 0

    cdef str around(self):
        """Return the head of the innermost open element."""
        return self.shortened(_decode(self.levels[self.depth].head))

    cdef tuple kind(self, Py_ssize_t depth):
        """Return the tag of an open element, what its class and id show, and whether it is a leaf."""
        cdef Level* level = &self.levels[depth]
        cdef str head
        if not level.is_known:
            head = _decode(level.head)
            self.known_heads[depth] = head
            self.known_kinds[depth] = self.rules.classify(self.shortened(head))
            level.is_known = True
        return <tuple>self.known_kinds[depth]

    cdef str shortened(self, str head):
        return head if len(head) <= self.rules.max_head_chars else head[: self.rules.max_head_chars]

    cdef int add_text(self, Span text) except -1:
        """Add the block of a text, and the containers that hold it."""
        cdef tuple kind = self.kind(self.depth)
        cdef Level* level = &self.levels[self.depth]
        cdef Py_ssize_t holder = self.depth - (1 if kind[2] and not (level.is_body or level.is_hidden) else 0)
        if self.levels[holder].container < 0:
            self.add_containers(holder)
        return self.add_block(text, kind[0], self.levels[holder].container)

    cdef int add_containers(self, Py_ssize_t last) except -1:
        """Make containers of the element at depth ``last`` and of its ancestors that have none."""
        cdef Py_ssize_t first = last, depth, parent
        cdef str head
        while first and self.levels[first - 1].container < 0:
            first -= 1
        parent = self.levels[first - 1].container if first else -1
        for depth in range(first, last + 1):
            kind = self.kind(depth)
            head = <str>self.known_heads[depth]
            if _is(self.levels[depth].head, b"main", 4):
                self.mains.append(len(self.parents))
            elif _is(self.levels[depth].head, b"article", 7) and self.articles_around(depth) == 1:
                self.nested.append(len(self.parents))
            self.elements.append(head)
            self.levels[depth].container = len(self.parents)
            self.parents.append(parent)
            self.heads.append(self.shortened(head))
            side = kind[1]
            if self.levels[depth].is_hidden:
                self.hidden.append(self.levels[depth].container)
                side = side or self.rules.hidden_side
            if self.levels[depth].is_body:
                self.bodies.append(self.levels[depth].container)
            self.sides.append(side)
            parent = self.levels[depth].container
        return 0

    cdef Py_ssize_t articles_around(self, Py_ssize_t depth):
        cdef Py_ssize_t at, count = 0
        for at in range(1, depth):
            count += _is(self.levels[at].head, b"article", 7)
        return count

    cdef int add_block(self, Span marked, object tag, Py_ssize_t container) except -1:
        """Normalise a text and measure its links; add it as a block."""
        cdef Writer writer = Writer(self.scratch, 0, NOTHING)
        cdef Writer names = Writer(NULL, 0, NOTHING)  # labels of links to files
        cdef Measures found
        cdef Text link = _find(marked.start, marked.end, LINK)
        if link == marked.end and not self.inside:
            _write(&writer, marked.start, marked.end)
            found = Measures(writer.size, 0, 0, 0, False, 0, 0, False)
            if self.in_file:
                self.measure_rest_of_file_link(marked.start, marked.end, &names, &found)
                self.in_file = found.in_file
        elif not self.inside and _has_own_place(link, marked.end) and tag in self.rules.part_names:
            return self.leave_to_reference(marked, tag, container)
        elif self.is_single_link(marked, link):
            found = self.measure_single_link(marked, &writer)
            self.in_file = False
        else:
            found = self.measure_links(marked, &writer)
            if found.longest > self.link_run and self.has_noise_in_run(found):
                return self.leave_to_reference(marked, tag, container)
            self.inside, self.in_file = found.inside, found.in_file
        if found.length:
            if found.files:
                self.files[len(self.blocks)] = found.files if 2 * found.file_length >= found.length else 0
            text = PyUnicode_DecodeUTF8(self.scratch, found.length, NULL)
            self.blocks.append((text, found.length, found.link_length, found.links, found.longest, tag, container))
        return 0

    cdef int leave_to_reference(self, Span marked, object tag, Py_ssize_t container) except -1:
        none, page, file = self.rules.links
        opened = self.rules.make_blocks(
            self.tree, [(_decode(marked), tag, container)], self.options,
            opened=page if self.inside else file if self.in_file else none,
        )
        self.inside, self.in_file = opened == page, opened == file
        return 0

    cdef int measure_rest_of_file_link(self, Text start, Text end, Writer* names, Measures* found) noexcept:
        """Measure the label of a link to a file that is open where a text begins."""
        cdef Text closing = _find(start, end, UNLINK)
        _write(names, start, closing)
        found.files, found.file_length, found.in_file = 1, names.size, closing == end
        return 0

    cdef bint has_noise_in_run(self, Measures found) noexcept:
        """Return whether the links of a text with a long run are noise only there; see ``rules.link_noise``."""
        return (
            not found.link_length > self.least_noise * found.length
            and found.link_length >= self.least_content * found.length
        )

    cdef bint is_single_link(self, Span marked, Text link) noexcept:
        cdef Text last = marked.end - MARK_SIZE
        return (
            not self.inside
            and link == marked.start
            and last > link
            and _is_mark(last, UNLINK)
            and _find(link + MARK_SIZE, marked.end, LINK) is marked.end
        )

    cdef Measures measure_single_link(self, Span marked, Writer* writer) except *:
        cdef Text end = marked.end - MARK_SIZE
        cdef Text anchor = _find(marked.start + MARK_SIZE, end, ANCHOR)
        cdef bint leads = self.leads_to_page(Span(marked.start + MARK_SIZE, anchor))
        cdef bint is_file = not leads and anchor != marked.start + MARK_SIZE
        if anchor != end:
            _write(writer, anchor + MARK_SIZE, end)
        return Measures(writer.size, writer.size if leads else 0, leads, leads, False, is_file, writer.size, False)

    cdef Measures measure_links(self, Span marked, Writer* writer) except *:
        """Measure a text, a link at a time; see ``blocks.measure_links``."""
        cdef Measures found = Measures(0, 0, 0, 0, self.inside, 0, 0, False)
        cdef Writer labels = Writer(NULL, 0, NOTHING)
        cdef Writer names = Writer(NULL, 0, NOTHING)  # labels of links to files
        cdef Text link = _find(marked.start, marked.end, LINK)
        cdef Text target, anchor, label, closing, after
        cdef Py_ssize_t run = 0
        _write(writer, marked.start, link)
        if self.inside:
            closing = _find(marked.start, link, UNLINK)
            _write(&labels, marked.start, closing)
            found.inside = closing == link
            found.links = run = found.longest = 1
        elif self.in_file:
            self.measure_rest_of_file_link(marked.start, link, &names, &found)
        while link != marked.end:
            target = link + MARK_SIZE
            link = _find(target, marked.end, LINK)
            anchor = _find(target, link, ANCHOR)
            label = anchor if anchor == link else anchor + MARK_SIZE
            closing = _find(label, link, UNLINK)
            after = closing if closing == link else closing + MARK_SIZE
            _write(writer, label, closing)
            _write(writer, after, link)
            found.in_file = False
            if self.leads_to_page(Span(target, anchor)):
                _write(&labels, label, closing)
                found.links += 1
                run += 1
                found.inside = closing == link
                if not self.separates_links(after, link):
                    continue
            elif anchor != target and anchor != link:
                _write(&names, label, closing)
                found.files += 1
                found.in_file = closing == link
            found.longest = max(found.longest, run)
            run = 0
        found.longest = max(found.longest, run)
        found.length = writer.size
        found.link_length = min(found.length, labels.size)
        found.file_length = names.size
        return found

    cdef bint separates_links(self, Text at, Text end) noexcept:
        """Return whether a text between two links is long enough, and more than separators."""
        cdef Py_ssize_t characters = 0
        cdef bint has_text = False
        while at < end:
            has_text = has_text or not self.is_separator(_code_point(at, end))
            at = _next(at, end)
            characters += 1
            if has_text and characters >= self.rules.short_gap:
                return True
        return False

    cdef bint is_separator(self, uint32_t code) noexcept:
        cdef int index
        for index in range(self.rules.separator_count):
            if self.rules.separators[index] == code:
                return True
        return False

    cdef bint leads_to_page(self, Span target) except -1:
        """Return whether a link leads to a web page; see ``rules.leads_to_page``."""
        cdef Text at = target.start
        if target.start == target.end or self.is_file_type(_after_last_dot(target)):
            return False
        while at < target.end and at[0] != c"?" and at[0] != c"#":
            at += 1
        return at == target.end or not self.is_file_type(_after_last_dot(Span(target.start, at)))

    cdef bint is_file_type(self, Span ending) except -1:
        cdef Py_ssize_t size = ending.end - ending.start
        cdef int index
        cdef uint64_t packed
        for index in range(min(size, MAX_FOREIGN_TYPE)):
            if ending.start[index] >= 0x80:
                return size <= MAX_FOREIGN_TYPE and _decode(ending).lower() in self.rules.file_types
        if size > MAX_ASCII_TYPE:
            return False
        packed = _packed(ending.start, size)
        for index in range(self.rules.type_count):
            if self.rules.types[index] == packed:
                return True
        return False


cdef list _metadata(bytes stream):
    """Return the ``name=value`` of each note."""
    cdef Text end = <Text>PyBytes_AS_STRING(stream) + PyBytes_GET_SIZE(stream)
    cdef Text note = _find(<Text>PyBytes_AS_STRING(stream), end, NOTE)
    cdef Text start
    cdef list found = []
    while note != end:
        start = note + MARK_SIZE
        note = _find(start, end, NOTE)
        found.append(_decode(Span(start, _find(start, note, MARK))))
    return found


cdef inline str _decode(Span text):
    return PyUnicode_DecodeUTF8(<const char*>text.start, text.end - text.start, NULL)


cdef inline bint _is(Span text, const char* word, Py_ssize_t size) noexcept:
    return text.end - text.start == size and memcmp(text.start, word, size) == 0


cdef inline bint _is_mark(Text at, unsigned char mark) noexcept:
    return at[0] == FIRST_BYTE and at[1] == SECOND_BYTE and at[2] == mark


cdef inline Text _find(Text at, Text end, unsigned char mark) noexcept:
    """Return the place of the next mark of this kind, or ``end``."""
    while end - at >= MARK_SIZE:
        at = <Text>memchr(at, FIRST_BYTE, end - at - (MARK_SIZE - 1))
        if at == NULL:
            return end
        if _is_mark(at, mark):
            return at
        at += 1
    return end


cdef inline bint _has_own_place(Text link, Text end) noexcept:
    """Return whether one of the links leads to a place of the page itself."""
    while link != end:
        if end - link > MARK_SIZE and link[MARK_SIZE] == c"#":
            return True
        link = _find(link + MARK_SIZE, end, LINK)
    return False


cdef inline Py_ssize_t _space_size(Text at, Text end) noexcept:
    """Return the bytes of the white space at a place, one character as in ``str.isspace``; 0: there is none."""
    cdef unsigned char first = at[0]
    if CLASSES[first] != LEAD:
        return 1 if CLASSES[first] == SPACE else 0
    if first == 0xC2:
        return 2 if end - at > 1 and (at[1] == 0x85 or at[1] == 0xA0) else 0
    if end - at < 3:
        return 0
    if first == 0xE2:
        if at[1] == 0x80:
            return 3 if at[2] <= 0x8A or at[2] == 0xA8 or at[2] == 0xA9 or at[2] == 0xAF else 0
        return 3 if at[1] == 0x81 and at[2] == 0x9F else 0
    if first == 0xE1:
        return 3 if at[1] == 0x9A and at[2] == 0x80 else 0
    return 3 if first == 0xE3 and at[1] == 0x80 and at[2] == 0x80 else 0


cdef inline Span _stripped(Text start, Text end) noexcept:
    """Return a text without white space around it."""
    cdef Text last
    cdef Py_ssize_t size
    while start < end:
        size = _space_size(start, end)
        if not size:
            break
        start += size
    while start < end:
        last = end - 1
        while last > start and (last[0] & 0xC0) == 0x80:
            last -= 1
        if not _space_size(last, end):
            break
        end = last
    return Span(start, end)


cdef inline void _write(Writer* out, Text at, Text end) noexcept:
    """Add a part of a text: white space is collapsed, a BREAK ends a line, an UNLINK is left out."""
    cdef Text start
    cdef Py_ssize_t size
    while at < end:
        start = at
        while at < end and (CLASSES[at[0]] == PLAIN or (at > start and _is_single_space(at, end))):
            at += 1
        if at > start:
            _copy(out, start, at - start)
            continue
        size = _space_size(at, end)
        if size:
            out.waiting = out.waiting or BLANK
            at += size
        elif end - at >= MARK_SIZE and _is_mark(at, UNLINK):
            at += MARK_SIZE
        elif end - at >= MARK_SIZE and _is_mark(at, BREAK):
            out.waiting = LINE_END
            at += MARK_SIZE
        else:
            _copy(out, at, 1)
            at += 1


cdef inline bint _is_single_space(Text at, Text end) noexcept:
    """Return whether a blank between two words stays as it is, so that both are copied at once."""
    return at[0] == c" " and at + 1 < end and CLASSES[at[1]] == PLAIN


cdef inline void _copy(Writer* out, Text start, Py_ssize_t size) noexcept:
    if out.waiting:
        if out.size:
            if out.text != NULL:
                out.text[out.size] = c"\n" if out.waiting == LINE_END else c" "
            out.size += 1
        out.waiting = NOTHING
    if out.text != NULL:
        memcpy(out.text + out.size, start, size)
    out.size += size


cdef inline Text _next(Text at, Text end) noexcept:
    """Return the place of the next character."""
    at += 1
    while at < end and (at[0] & 0xC0) == 0x80:
        at += 1
    return at


cdef inline uint32_t _code_point(Text at, Text end) noexcept:
    """Return the character at a place."""
    cdef uint32_t code = at[0]
    if code >= 0xC0:
        code &= 0x1F if code < 0xE0 else 0x0F if code < 0xF0 else 0x07
    end = _next(at, end)
    at += 1
    while at < end:
        code = code << 6 | at[0] & 0x3F
        at += 1
    return code


cdef inline Span _after_last_dot(Span text) noexcept:
    """Return what follows the last dot, or the whole text without any."""
    cdef Text at = text.end
    while at > text.start and (at - 1)[0] != c".":
        at -= 1
    return Span(at, text.end)


cdef inline uint64_t _packed(Text text, Py_ssize_t size) noexcept:
    """Return up to seven ASCII characters in lower case and their number in eight bytes."""
    cdef uint64_t packed = <uint64_t>size << 56
    cdef Py_ssize_t index
    cdef unsigned char sign
    for index in range(size):
        sign = text[index]
        packed |= <uint64_t>(sign + 32 if c"A" <= sign <= c"Z" else sign) << 8 * index
    return packed
