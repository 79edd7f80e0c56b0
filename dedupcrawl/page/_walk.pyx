# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The walk over a parsed page in C: the stream of :mod:`dedupcrawl.page.blocks`, without its stylesheet.

It reads the fields of libxml2's nodes through lxml's public C API, and changes nothing. The GIL is held, so no other
thread changes the tree meanwhile; the argument keeps it alive. No function is recursive, so no tree is too deep.
A page with nodes that HTML does not have (an entity that was not replaced, for example) is left to the stylesheet.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdlib cimport free, realloc
from libc.string cimport memchr, memcmp, memcpy, memmove, strchr, strcmp, strlen
from lxml.includes.etreepublic cimport _Element, import_lxml__etree, rootNodeOrRaise
from lxml.includes.tree cimport (
    XML_CDATA_SECTION_NODE,
    XML_COMMENT_NODE,
    XML_DTD_NODE,
    XML_ELEMENT_NODE,
    XML_PI_NODE,
    XML_TEXT_NODE,
    xmlAttr,
    xmlNode,
)

import_lxml__etree()

# The marks of blocks.py in UTF-8.
cdef const char* MARK = b"\xef\xb7\x90"
cdef const char* LINK = b"\xef\xb7\x92"
cdef const char* ANCHOR = b"\xef\xb7\x93"
cdef const char* UNLINK = b"\xef\xb7\x94"
cdef const char* BREAK = b"\xef\xb7\x96"
cdef const char* END = b"\xef\xb7\x90\xef\xb7\x90"  # MARK MARK
cdef const char* END_NOTE = b"\xef\xb7\x90\xef\xb7\x90\xef\xb7\x90"  # MARK MARK MARK
cdef const char* START_NOTE = b"\xef\xb7\x90\xef\xb7\x97"  # MARK NOTE
cdef const char* PUBLISHED = b'"datePublished"'
cdef const char* POSTING = b"DiscussionForumPosting"
cdef const char* QUESTION = b"QAPage"
cdef const char* BODY = b"articleBody"

# What an element is.
cdef enum:
    OTHER
    BLOCK
    NAMED_BLOCK
    LANDMARK
    IGNORED
    BR
    HR
    ANCHOR_ELEMENT
    HEAD
    TITLE
    META
    LINK_ELEMENT
    TIME
    SCRIPT

# Why a walk ended early.
cdef enum Error:
    NONE
    UNKNOWN_NODE
    NO_MEMORY

cdef enum:
    PUBLISHED_SIZE = 15
    POSTING_SIZE = 22
    QUESTION_SIZE = 6
    BODY_SIZE = 11
    PUBLISHED_CHARACTERS = 64  # of the value
    MAX_HIDING = 8  # names of elements whose pictures are left out
    SLOTS = 512  # of the table of names, a power of two; it holds about 80

cdef struct Name:
    const char* text
    unsigned char kind

cdef struct Buffer:
    char* data
    size_t used
    size_t room
    Error error  # why the walk ends


cdef class TreeReader:
    """Walks trees.

    Args:
        blocks: names of elements that begin and end a block.
        named_blocks: those whose class and id belong to the stream.
        landmarks: elements that are one block without links.
        ignored: elements that are left out.
    """

    cdef Name names[SLOTS]
    cdef list keys  # keeps the names alive

    def __init__(self, *, blocks, named_blocks, landmarks, ignored):
        self.keys = []
        for kind, names in (
            (BLOCK, blocks),
            (NAMED_BLOCK, named_blocks),
            (LANDMARK, landmarks),
            (IGNORED, ignored),
            (BR, ("br",)),
            (HR, ("hr",)),
            (ANCHOR_ELEMENT, ("a",)),
            (HEAD, ("head",)),
            (TITLE, ("title",)),
            (META, ("meta",)),
            (LINK_ELEMENT, ("link",)),
            (TIME, ("time",)),
            (SCRIPT, ("script",)),
        ):
            for name in names:
                self._add(name.encode(), kind)

    cdef int _add(self, bytes name, int kind) except -1:
        cdef unsigned int slot = _hash(name)
        if len(self.keys) >= SLOTS // 2:
            raise ValueError("too many names of elements")
        while self.names[slot].text is not NULL:
            slot = (slot + 1) & (SLOTS - 1)
        self.keys.append(name)
        self.names[slot].text = name
        self.names[slot].kind = kind
        return 0

    def stream(self, root not None):
        """Return the stream of an element's page in UTF-8, or None for a page with nodes that HTML does not have."""
        cdef _Element element = rootNodeOrRaise(root)
        cdef Buffer out = Buffer(NULL, 0, 0, NONE)
        try:
            self._document(&out, element._c_node)
            if out.error == NO_MEMORY:
                raise MemoryError
            return None if out.error == UNKNOWN_NODE else PyBytes_FromStringAndSize(out.data, out.used)
        finally:
            free(out.data)

    cdef void _document(self, Buffer* out, xmlNode* root) noexcept:
        """Write the stream of a page: of the whole document if the element is its root, else of the element."""
        cdef xmlNode* node = root.doc.children
        _put_note(out, b"lang", _attribute(root, b"lang"))
        while node is not NULL and node.type != XML_ELEMENT_NODE:
            node = node.next
        if node is not root:
            self._walk(out, root)
            return
        node = root.doc.children
        while node is not NULL and not out.error:
            if node.type != XML_DTD_NODE:
                self._walk(out, node)
            node = node.next

    cdef void _walk(self, Buffer* out, xmlNode* root) noexcept:
        """Write what is in a node, in the order of the document."""
        cdef xmlNode* node = root
        cdef unsigned char kind
        cdef Buffer opened = Buffer(NULL, 0, 0, NONE)  # the kinds of the open elements
        while not out.error:
            kind = OTHER
            if self._enter(out, node, opened.used and opened.data[opened.used - 1] == HEAD, &kind):
                if node.children is not NULL:
                    _put_bytes(&opened, <char*>&kind, 1)
                    if opened.error:
                        out.error = opened.error
                        break
                    node = node.children
                    continue
                _leave(out, kind)
            while node is not root and node.next is NULL:
                node = node.parent
                opened.used -= 1
                _leave(out, opened.data[opened.used])
            if node is root:
                break
            node = node.next
        free(opened.data)

    cdef bint _enter(self, Buffer* out, xmlNode* node, bint in_head, unsigned char* kind) noexcept:
        """Write what comes before the content of a node; return whether the content is read."""
        if node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE:
            if not in_head:
                _put(out, <const char*>node.content)
            return False
        if node.type == XML_COMMENT_NODE or node.type == XML_PI_NODE:
            return False
        if node.type != XML_ELEMENT_NODE or (node.ns is not NULL and node.ns.href is NULL):
            out.error = UNKNOWN_NODE
            return False
        kind[0] = OTHER if node.ns is not NULL else self._kind(<const char*>node.name)
        if in_head and not _is_read_in_head(node, kind[0]):
            return False
        if kind[0] == OTHER or kind[0] == HEAD:
            return True
        if kind[0] == BLOCK or kind[0] == NAMED_BLOCK:
            _start_block(out, node, kind[0])
            return True
        if kind[0] == ANCHOR_ELEMENT:
            _put(out, LINK)
            _put_attribute(out, _attribute(node, b"href"))
            _put(out, ANCHOR)
            return True
        return _enter_leaf(out, node, kind[0])

    cdef inline unsigned char _kind(self, const char* name) noexcept:
        cdef unsigned int slot = _hash(name)
        while self.names[slot].text is not NULL:
            if strcmp(self.names[slot].text, name) == 0:
                return self.names[slot].kind
            slot = (slot + 1) & (SLOTS - 1)
        return OTHER


def alternative_texts(root not None, tuple hiding not None):
    """Return the alternative texts of the pictures in an element, without those in elements with names in ``hiding``.

    None is returned for a page with nodes that HTML does not have.
    """
    cdef _Element element = rootNodeOrRaise(root)
    cdef xmlNode* top = element._c_node
    cdef xmlNode* node = top.parent
    cdef Buffer out = Buffer(NULL, 0, 0, NONE)
    cdef list found = []
    cdef const char* names[MAX_HIDING + 1]
    _fill(names, hiding)
    while node is not NULL and node.type == XML_ELEMENT_NODE:
        if _is_one_of(node, names):
            return found
        node = node.parent
    node = top
    try:
        while True:
            if node.type == XML_ELEMENT_NODE:
                if _is_element(node, b"img"):
                    out.used = 0
                    _put_attribute(&out, _attribute(node, b"alt"))
                    if out.error == NO_MEMORY:
                        raise MemoryError
                    if out.error:
                        return None
                    if out.used:
                        found.append(out.data[:out.used].decode("utf-8"))
                if node.children is not NULL and not _is_one_of(node, names):
                    node = node.children
                    continue
            while node is not top and node.next is NULL:
                node = node.parent
            if node is top:
                return found
            node = node.next
    finally:
        free(out.data)


def texts_within(root not None, bytes container not None, tuple hiding not None):
    """Return the texts in the elements of a document that are called ``container``, but for those in ``hiding``.

    None is returned for a page with nodes that HTML does not have.
    """
    cdef _Element element = rootNodeOrRaise(root)
    cdef xmlNode* node = element._c_node.doc.children
    cdef xmlNode* outer = NULL  # the outermost container around the node
    cdef const char* names[MAX_HIDING + 1]
    cdef list found = []
    _fill(names, hiding)
    while node is not NULL:
        if node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE:
            if outer is not NULL and node.content is not NULL:
                found.append((<const char*>node.content).decode("utf-8"))
        elif node.type == XML_ELEMENT_NODE:
            if node.children is not NULL and not _is_one_of(node, names):
                if outer is NULL and _is_element(node, container):
                    outer = node
                node = node.children
                continue
        elif node.type != XML_COMMENT_NODE and node.type != XML_PI_NODE and node.type != XML_DTD_NODE:
            return None
        while node.next is NULL:
            node = node.parent
            if node is NULL or node.type != XML_ELEMENT_NODE:
                return found
            if node is outer:
                outer = NULL
        node = node.next
    return found


cdef int _fill(const char** names, tuple given) except -1:
    """Write the names, and NULL behind them; the tuple keeps them alive."""
    cdef Py_ssize_t place
    cdef bytes name
    if len(given) > MAX_HIDING:
        raise ValueError("too many names of elements")
    for place in range(len(given)):
        name = given[place]
        names[place] = name
    names[len(given)] = NULL
    return 0


cdef bint _is_one_of(xmlNode* node, const char** names) noexcept:
    while names[0] is not NULL:
        if _is_element(node, names[0]):
            return True
        names += 1
    return False


cdef inline bint _is_element(xmlNode* node, const char* name) noexcept:
    """Return whether an element without a namespace has this name."""
    return (
        node.name[0] == name[0]
        and strcmp(<const char*>node.name, name) == 0
        and (node.ns is NULL or node.ns.href is NULL)
    )


cdef inline unsigned int _hash(const char* name) noexcept:
    """FNV-1a, folded (http://www.isthe.com/chongo/tech/comp/fnv/)."""
    cdef unsigned int value = 2166136261u
    while name[0]:
        value = (value ^ <unsigned char>name[0]) * 16777619u
        name += 1
    return (value ^ (value >> 15)) & (SLOTS - 1)


cdef inline bint _is_read_in_head(xmlNode* node, unsigned char kind) noexcept:
    """Return whether an element in <head> belongs to the stream: metadata, and what the parser left there."""
    if kind in (TITLE, META, LINK_ELEMENT, SCRIPT, BLOCK, NAMED_BLOCK, LANDMARK):
        return True
    if strchr(<const char*>node.name, c"-") is not NULL:
        return True
    return node.ns is not NULL and node.ns.prefix is not NULL and strchr(<const char*>node.ns.prefix, c"-") is not NULL


cdef inline void _start_block(Buffer* out, xmlNode* node, unsigned char kind) noexcept:
    _put(out, MARK)
    _put(out, <const char*>node.name)
    if kind == NAMED_BLOCK:
        _put(out, b" ")
        _put_attribute(out, _attribute(node, b"class"))
        _put(out, b" ")
        _put_attribute(out, _attribute(node, b"id"))
    _put(out, MARK)
    if node.properties is not NULL:
        _put_notes(out, node)


cdef void _put_notes(Buffer* out, xmlNode* node) noexcept:
    """Write that an element is a discussion, the body of an article, or not shown, if its attributes say so.

    The end of the buffer is used to join their values. Of several attributes of one name the first one counts.
    """
    cdef xmlAttr* attribute = node.properties
    cdef xmlAttr* item_type = NULL
    cdef xmlAttr* item_property = NULL
    cdef xmlAttr* style = NULL
    cdef xmlAttr* hidden = NULL
    cdef bint is_shown_later = False
    cdef const char* name
    while attribute is not NULL:
        name = <const char*>attribute.name
        if name[0] == c"i":
            if item_type is NULL and _is_named(attribute, b"itemtype"):
                item_type = attribute
            elif item_property is NULL and _is_named(attribute, b"itemprop"):
                item_property = attribute
        elif name[0] == c"s":
            if style is NULL and _is_named(attribute, b"style"):
                style = attribute
        elif name[0] == c"h":
            if hidden is NULL and _is_named(attribute, b"hidden"):
                hidden = attribute
        elif name[0] == c"q" or name[0] == c"n":
            is_shown_later = is_shown_later or _is_named(attribute, b"q-show") or _is_named(attribute, b"ng-show")
        attribute = attribute.next
    if item_type is not NULL and _value_has(out, item_type, _names_discussion):
        _put_note(out, b"discussion", NULL)
    if item_property is not NULL and _value_has(out, item_property, _names_body):
        _put_note(out, b"body", NULL)
    if not is_shown_later:
        is_shown_later = style is not NULL and _value_has(out, style, _hides)
    if not is_shown_later:
        is_shown_later = hidden is not NULL and not _value_has(out, hidden, _is_until_found)
    if is_shown_later and not (
        _has_value(out, node, b"role", b"tabpanel") or _has_value(out, node, b"role", b"region")
    ):
        _put_note(out, b"hidden", NULL)


ctypedef bint (*Test)(const char* data, size_t start, size_t end) noexcept


cdef bint _value_has(Buffer* out, xmlAttr* attribute, Test test) noexcept:
    """Return whether the value of an attribute passes a test. The end of the buffer is used to join the value."""
    cdef size_t start = out.used
    cdef bint found
    _put_attribute(out, attribute)
    found = not out.error and test(out.data, start, out.used)
    out.used = start
    return found


cdef bint _names_body(const char* data, size_t start, size_t end) noexcept:
    """Return whether a text has the name of schema.org's property for the body of an article."""
    return _contains(data, start, end, BODY, BODY_SIZE)


cdef bint _is_until_found(const char* data, size_t start, size_t end) noexcept:
    """Return whether the value of ``hidden`` says that the browser shows the element in which it finds a text."""
    return _folded_begins(data, start, end, b"until-found", False) and end - start == 11


cdef bint _hides(const char* data, size_t start, size_t end) noexcept:
    """Return whether a style contains ``display:none``, in any case and with any white space."""
    while start < end:
        if (data[start] | 0x20) == c"d" and _folded_begins(data, start, end, b"display:none", True):
            return True
        start += 1
    return False


cdef bint _folded_begins(const char* data, size_t place, size_t end, const char* part, bint skips_space) noexcept:
    """Return whether a text begins with ``part`` at a place, ASCII letters in any case."""
    cdef char letter
    while part[0]:
        if place == end:
            return False
        letter = data[place]
        place += 1
        if skips_space and (letter == c" " or letter == c"\t" or letter == c"\n" or letter == c"\r"):
            continue
        if c"A" <= letter <= c"Z":
            letter |= 0x20
        if letter != part[0]:
            return False
        part += 1
    return True


cdef bint _names_discussion(const char* data, size_t start, size_t end) noexcept:
    """Return whether a text has the name of a schema.org type of discussions."""
    return _contains(data, start, end, POSTING, POSTING_SIZE) or _contains(data, start, end, QUESTION, QUESTION_SIZE)


cdef inline bint _contains(const char* data, size_t start, size_t end, const char* part, size_t size) noexcept:
    """Return whether a text has this part."""
    if end - start < size:
        return False
    return _find(data, start, end, part, size) != end or memcmp(data + end - size, part, size) == 0


cdef inline void _leave(Buffer* out, unsigned char kind) noexcept:
    """Write what comes after the content of an element."""
    if kind == BLOCK or kind == NAMED_BLOCK:
        _put(out, END)
    elif kind == ANCHOR_ELEMENT:
        _put(out, UNLINK)


cdef bint _enter_leaf(Buffer* out, xmlNode* node, unsigned char kind) noexcept:
    """Write an element that is complete in itself; return whether it is none, so that its content is read."""
    if kind == BR:
        _put(out, BREAK)
    elif kind == HR:
        _put(out, START_NOTE)
        _put(out, END_NOTE)
    elif kind == LANDMARK:
        _put_landmark(out, node)
    elif kind == TITLE:
        _start_note(out, b"title")
        _put_content(out, node)
        _put(out, END_NOTE)
    elif kind == SCRIPT:
        if _has_value(out, node, b"type", b"application/ld+json"):
            _put_published(out, node)
    elif kind != IGNORED:
        return _enter_metadata(out, node, kind)
    return False


cdef bint _enter_metadata(Buffer* out, xmlNode* node, unsigned char kind) noexcept:
    """Write what an element declares; return whether its content is read."""
    cdef xmlAttr* value
    if kind == TIME:
        value = _attribute(node, b"datetime")
        if value is not NULL:
            _put_note(out, b"time", value)
        return True
    if kind == LINK_ELEMENT:
        if not _has_value(out, node, b"rel", b"canonical"):
            return True
        _put_note(out, b"canonical", _attribute(node, b"href"))
        return False
    value = _attribute(node, b"content")
    if value is NULL:
        return True
    _put(out, START_NOTE)
    _put_attribute(out, _naming_attribute(node))
    _put(out, b"=")
    _put_attribute(out, value)
    _put(out, END_NOTE)
    return False


cdef void _put_landmark(Buffer* out, xmlNode* node) noexcept:
    """Write a landmark: its text as one block, white space collapsed as by XPath's normalize-space()."""
    cdef size_t start
    _put(out, MARK)
    _put(out, <const char*>node.name)
    _put(out, MARK)
    start = out.used
    _put_content(out, node)
    if not out.error:
        out.used = start + _collapse(out.data + start, out.used - start)
    _put(out, END)


cdef size_t _collapse(char* text, size_t size) noexcept:
    """Collapse XML's white space in place; return the new size."""
    cdef size_t place, used = 0
    cdef bint is_pending = False
    for place in range(size):
        if text[place] == c" " or text[place] == c"\t" or text[place] == c"\n" or text[place] == c"\r":
            is_pending = used > 0
            continue
        if is_pending:
            text[used] = c" "
            used += 1
            is_pending = False
        text[used] = text[place]
        used += 1
    return used


cdef void _put_published(Buffer* out, xmlNode* node) noexcept:
    """Write what follows the name of the date in a script with structured data, and whether it is of a discussion."""
    cdef size_t start, place
    cdef bint is_discussion = False
    _start_note(out, b"ld")
    start = out.used
    _put_content(out, node)
    if not out.error:
        is_discussion = _names_discussion(out.data, start, out.used)
        place = _find(out.data, start, out.used, PUBLISHED, PUBLISHED_SIZE)
        out.used = _move_characters(out.data, place, out.used, start)
    _put(out, END_NOTE)
    if is_discussion:
        _put_note(out, b"discussion", NULL)


cdef size_t _find(const char* data, size_t start, size_t end, const char* part, size_t size) noexcept:
    """Return the place after the first occurrence of ``part``, or ``end``."""
    cdef const char* at
    while end >= size + start:
        at = <const char*>memchr(data + start, part[0], end - start - size + 1)
        if at is NULL:
            return end
        start = at - data
        if memcmp(at, part, size) == 0:
            return start + size
        start += 1
    return end


cdef size_t _move_characters(char* data, size_t place, size_t end, size_t target) noexcept:
    """Move the first characters of a text to ``target``; return where they end."""
    cdef size_t start = place
    cdef int characters = 0
    while place < end:
        if (data[place] & 0xC0) != 0x80:  # the first byte of a character
            if characters == PUBLISHED_CHARACTERS:
                break
            characters += 1
        place += 1
    if place > start:
        memmove(data + target, data + start, place - start)
    return target + (place - start)


cdef inline void _start_note(Buffer* out, const char* name) noexcept:
    _put(out, START_NOTE)
    _put(out, name)
    _put(out, b"=")


cdef inline void _put_note(Buffer* out, const char* name, xmlAttr* value) noexcept:
    _start_note(out, name)
    _put_attribute(out, value)
    _put(out, END_NOTE)


cdef inline xmlAttr* _attribute(xmlNode* node, const char* name) noexcept:
    """Return the attribute ``@name`` as XPath finds it, or NULL."""
    cdef xmlAttr* attribute = node.properties
    while attribute is not NULL and not _is_named(attribute, name):
        attribute = attribute.next
    return attribute


cdef inline bint _is_named(xmlAttr* attribute, const char* name) noexcept:
    return strcmp(<const char*>attribute.name, name) == 0 and (attribute.ns is NULL or attribute.ns.prefix is NULL)


cdef xmlAttr* _naming_attribute(xmlNode* node) noexcept:
    """Return the first attribute that names what an element declares, or NULL."""
    cdef xmlAttr* attribute = node.properties
    while attribute is not NULL and not (
        _is_named(attribute, b"name")
        or _is_named(attribute, b"property")
        or _is_named(attribute, b"itemprop")
        or _is_named(attribute, b"http-equiv")
    ):
        attribute = attribute.next
    return attribute


cdef bint _has_value(Buffer* out, xmlNode* node, const char* name, const char* value) noexcept:
    """Return whether an attribute has this value. The end of the buffer is used to join its parts."""
    cdef xmlAttr* attribute = _attribute(node, name)
    cdef size_t start = out.used, size = strlen(value)
    cdef bint is_equal
    if attribute is NULL:
        return False
    _put_attribute(out, attribute)
    is_equal = not out.error and out.used - start == size and memcmp(out.data + start, value, size) == 0
    out.used = start
    return is_equal


cdef void _put_attribute(Buffer* out, xmlAttr* attribute) noexcept:
    """Write the value of an attribute; of none nothing is written."""
    cdef xmlNode* node = NULL if attribute is NULL else attribute.children
    while node is not NULL:
        if node.type != XML_TEXT_NODE:
            out.error = UNKNOWN_NODE
            return
        _put(out, <const char*>node.content)
        node = node.next


cdef void _put_content(Buffer* out, xmlNode* top) noexcept:
    """Write all text in an element: its string-value in XPath."""
    cdef xmlNode* node = top.children
    while node is not NULL:
        if node.type == XML_TEXT_NODE or node.type == XML_CDATA_SECTION_NODE:
            _put(out, <const char*>node.content)
        elif node.type == XML_ELEMENT_NODE:
            if node.children is not NULL:
                node = node.children
                continue
        elif node.type != XML_COMMENT_NODE and node.type != XML_PI_NODE:
            out.error = UNKNOWN_NODE
            return
        while node.next is NULL:
            node = node.parent
            if node is top:
                return
        node = node.next


cdef inline void _put(Buffer* out, const char* text) noexcept:
    if text is not NULL:
        _put_bytes(out, text, strlen(text))


cdef inline void _put_bytes(Buffer* out, const char* text, size_t size) noexcept:
    cdef char* data
    cdef size_t room
    if not size:  # there may be no buffer yet
        return
    if size > out.room - out.used:
        room = 2 * (out.used + size) + 4096
        data = NULL if out.error else <char*>realloc(out.data, room)
        if data is NULL:
            out.error = out.error or NO_MEMORY
            return
        out.data, out.room = data, room
    memcpy(out.data + out.used, text, size)
    out.used += size
