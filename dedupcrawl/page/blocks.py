"""From a parsed page to its blocks and their containers, by way of one string of text with marks, the *stream*.

In Python every visited node costs a proxy object, and creating these takes half as long as parsing the page.
So compiled code (``_walk.pyx``) walks the tree, and writes only what a reader needs: text, block boundaries, links and
metadata. Where it was not built, a stylesheet (libxslt) serves, which takes seven times as long. The stylesheet is the
reference. No parsed tree is too deep for either: the parser stops at 2,048 levels, libxslt at 3,000.

The stream is ``text (MARK head MARK text)*``. A head is

* ``tag class id`` at the start of a block element,
* empty at its end,
* ``NOTE name=value`` for metadata, and ``NOTE`` alone at an ``<hr>``: an element that ends at once. ``discussion=`` is
  written where the page declares that it is a discussion, in JSON-LD or in microdata; ``body=`` and ``hidden=`` at the
  start of a block element that is the body of an article, or not shown (:mod:`dedupcrawl.page.declared`).

The texts are therefore every second part of ``stream.split(MARK)``. Inside a text, ``BREAK`` is a ``<br>``
and a link is ``LINK target ANCHOR label UNLINK``. Only links to web pages count as noise; links to files and anchors
without a target are text like any other. Blocks with links to files are noted (``BlockTree.files``). The marks are
Unicode noncharacters, which are not meant for interchange. A page that contains them anyway is split at wrong places;
no other page is affected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from dedupcrawl.page import compiled
from dedupcrawl.page.declared import BODY, HIDDEN, IS_BODY, IS_HIDDEN, is_opened
from dedupcrawl.page.rules import (
    FILE_TYPES,
    LINK_RUN,
    SEPARATORS,
    SideKind,
    leads_to_page,
    link_noise,
    side_kind,
    word_set,
)
from dedupcrawl.page.stylesheets import RECURSE, StylesheetCache, emit, stylesheet, template

if TYPE_CHECKING:
    from lxml.etree import _Element

    from dedupcrawl.page._blocks import BlockBuilder
    from dedupcrawl.page._walk import TreeReader
    from dedupcrawl.page.options import ReadOptions


MARK = "\ufdd0"
LINK = "\ufdd2"
ANCHOR = "\ufdd3"
UNLINK = "\ufdd4"
BREAK = "\ufdd6"
NOTE = "\ufdd7"

#: Elements that begin and end a block. ``form`` is one and never skipped: ASP.NET puts whole pages into it.
#: Elements whose children are blocks anyway (``tr``, ``tbody``, ``dl``, ``body``…) need no boundary.
BLOCKS = word_set("""
    address article blockquote caption center dd details div dt fieldset figcaption figure form frameset
    h1 h2 h3 h4 h5 h6 header hgroup legend li main ol p pre section summary table td th ul
""")
#: Elements that HTML itself sets apart from the main text. Each is one block, unless that leaves no text.
LANDMARKS = frozenset({"aside", "dialog", "footer", "menu", "nav"})
#: Elements whose content is never read as text.
IGNORED = word_set("""
    applet area audio button canvas embed iframe input map math noembed noframes noscript object
    optgroup option select style svg template textarea video
""")
#: Exceptions: elements that hold the text of a page where a browser shows it there: an accordion of buttons, the
#: fallback of a page that scripts fill.
EMBEDDED = frozenset({"button", "noscript", "object"})
#: Block elements whose class and id show what they are for.
NAMED_BLOCKS = LANDMARKS | {"div", "figure", "form", "ol", "p", "section", "table", "ul"}
#: Elements in ``<head>`` that belong to the text. libxml2 does not know the elements of HTML 5, nor custom
#: ones (``my-app``): in a page without ``<body>``, which HTML allows, they stay in the head with their text.
STRAY_ELEMENTS = "|".join(sorted(BLOCKS | LANDMARKS)) + "|*[contains(name(), '-')]"

_NAMES = '<xsl:text> </xsl:text><xsl:value-of select="@class"/><xsl:text> </xsl:text><xsl:value-of select="@id"/>'
_HEAD = f'<xsl:apply-templates select="title|meta|link|script|{STRAY_ELEMENTS}"/>'
#: Types of schema.org for the page of a discussion.
DISCUSSION_TYPES = ("DiscussionForumPosting", "QAPage")
_PUBLISHED = "substring(substring-after(., '&quot;datePublished&quot;'), 1, 64)"


def flatten(root: _Element, *, open_landmarks: bool = False, open_embedded: bool = False) -> str:
    """Return the stream of a parsed page.

    Args:
        root: the ``<html>`` element.
        open_landmarks: whether landmarks are read like any other block.
        open_embedded: whether the text in ``EMBEDDED`` is read.
    """
    stream = flatten_fast(root, open_landmarks=open_landmarks, open_embedded=open_embedded)
    return stream.decode() if isinstance(stream, bytes) else stream


def flatten_fast(root: _Element, *, open_landmarks: bool = False, open_embedded: bool = False) -> str | bytes:
    """Return the stream of a parsed page, in UTF-8 if the compiled walk has written it.

    Args:
        root: as in :func:`flatten`.
        open_landmarks: as in :func:`flatten`.
        open_embedded: as in :func:`flatten`.
    """
    if compiled.walk is not None:
        stream: bytes | None = _walker(open_landmarks, open_embedded).stream(root)
        if stream is not None:
            return stream
    return flatten_by_stylesheet(root, open_landmarks=open_landmarks, open_embedded=open_embedded)


def flatten_by_stylesheet(root: _Element, *, open_landmarks: bool = False, open_embedded: bool = False) -> str:
    """Return the stream of a parsed page, written by libxslt.

    Args:
        root: as in :func:`flatten`.
        open_landmarks: as in :func:`flatten`.
        open_embedded: as in :func:`flatten`.
    """
    return _tree_walk(open_landmarks, open_embedded)(root)


@cache
def _walker(open_landmarks: bool, open_embedded: bool) -> TreeReader:
    assert compiled.walk is not None
    walker: TreeReader = compiled.walk.TreeReader(
        blocks=BLOCKS - NAMED_BLOCKS,
        named_blocks=NAMED_BLOCKS if open_landmarks else NAMED_BLOCKS - LANDMARKS,
        landmarks=frozenset() if open_landmarks else LANDMARKS,
        ignored=_ignored(open_embedded=open_embedded),
    )
    return walker


def _ignored(*, open_embedded: bool) -> frozenset[str]:
    return IGNORED - EMBEDDED if open_embedded else IGNORED


@cache
def _tree_walk(open_landmarks: bool, open_embedded: bool) -> StylesheetCache:
    return StylesheetCache(_source(open_landmarks=open_landmarks, open_embedded=open_embedded))


def _source(*, open_landmarks: bool, open_embedded: bool) -> str:
    landmark = _block if open_landmarks else _landmark
    return stylesheet(
        template("|".join(sorted(_ignored(open_embedded=open_embedded))) + "|comment()|processing-instruction()"),
        *map(_block, sorted(BLOCKS)),
        *map(landmark, sorted(LANDMARKS)),
        template("br", emit(BREAK)),
        template("hr", emit(MARK, NOTE, MARK, MARK, MARK)),
        template("a", emit(LINK), _value("@href"), emit(ANCHOR), RECURSE, emit(UNLINK)),
        template("/", "<stream>", _metadata(emit("lang"), "/*/@lang"), RECURSE, "</stream>"),
        template("head", _HEAD),
        template("title", _metadata(emit("title"), ".")),
        template("meta[@content]", _metadata(_value("@name|@property|@itemprop|@http-equiv"), "@content")),
        template("link[@rel='canonical']", _metadata(emit("canonical"), "@href")),
        template("time[@datetime]", _metadata(emit("time"), "@datetime"), RECURSE),
        template("script[@type='application/ld+json']", _metadata(emit("ld"), _PUBLISHED), _discussion(".")),
        template("script"),
    )


def _value(path: str) -> str:
    return f'<xsl:value-of select="{path}"/>'


def _block(tag: str) -> str:
    names = _NAMES if tag in NAMED_BLOCKS else ""
    notes = _discussion("@itemtype"), _note_if(IS_BODY, BODY), _note_if(IS_HIDDEN, HIDDEN)
    return template(tag, emit(MARK, tag), names, emit(MARK), *notes, RECURSE, emit(MARK, MARK))


def _discussion(path: str) -> str:
    """Return the source of an instruction that notes a discussion, if the text has the name of such a type."""
    return _note_if(" or ".join(f"contains({path}, '{name}')" for name in DISCUSSION_TYPES), "discussion=")


def _note_if(test: str, note: str) -> str:
    return f'<xsl:if test="{test}">{emit(MARK, NOTE, note, MARK, MARK, MARK)}</xsl:if>'


def _landmark(tag: str) -> str:
    return template(tag, emit(MARK, tag, MARK), _value("normalize-space(.)"), emit(MARK, MARK))


def _metadata(name: str, value: str) -> str:
    return emit(MARK, NOTE) + name + emit("=") + _value(value) + emit(MARK, MARK, MARK)


# -- blocks -------------------------------------------------------------------------------------

#: A shorter text between two links does not end their run ("&", "与"). Measured on aeb and cwced.
SHORT_GAP = 3
#: Elements that rarely contain others. They are not containers, unless their class shows their purpose:
#: their text belongs to the container around them.
LEAF_TAGS = word_set("address caption dd dt figcaption h1 h2 h3 h4 h5 h6 legend li p pre summary th")
#: Elements that name a part of the page. Their links to a place of the page itself (``#usage``, in manuals and
#: accordions) lead nowhere else. Elsewhere such links are a table of contents.
PART_NAMES = word_set("dt h1 h2 h3 h4 h5 h6")
MAX_HEAD_CHARS = 250  #: characters of class and id that are examined; it bounds the cache

#: A block before it is kept or removed: text, length, link length, links, longest run, tag, index of its
#: container. Lengths in UTF-8 bytes. A plain tuple, because a page has hundreds.
RawBlock = tuple[str, int, int, int, int, str, int]

#: A text with its marks, without space around it; the tag of its element, and the index of its container.
MarkedText = tuple[str, str, int]

#: The text without marks, length, link length, links, longest run, and whether the last link is still open,
#: so that the next text begins inside it. Lengths in UTF-8 bytes.
LinkMeasures = tuple[str, int, int, int, int, bool]

NO_LINK, PAGE_LINK, FILE_LINK = 0, 1, 2  #: the link that is open where a text begins or ends

_links = re.compile(f"{LINK}([^{ANCHOR}]*){ANCHOR}([^{UNLINK}{LINK}]*){UNLINK}?")
_own_places = re.compile(f"{LINK}#[^{ANCHOR}]*{ANCHOR}([^{UNLINK}{LINK}]*){UNLINK}")
_separators = SEPARATORS + BREAK
_BODY_NOTE, _HIDDEN_NOTE = NOTE + BODY, NOTE + HIDDEN


@dataclass(slots=True)
class BlockTree:
    """The blocks of a page in reading order, and the containers with text. Parents precede their children."""

    blocks: list[RawBlock] = field(default_factory=list)
    parents: list[int] = field(default_factory=list)  #: for each container its parent, -1 for the first
    sides: list[SideKind] = field(default_factory=list)  #: for each container what its class and id show
    mains: list[int] = field(default_factory=list)  #: containers that are a <main>
    heads: list[str] = field(default_factory=list)  #: for each container ``tag class id``, at most MAX_HEAD_CHARS
    nested: list[int] = field(default_factory=list)  #: containers that are an <article> inside one other
    metadata: list[str] = field(default_factory=list)  #: ``name=value``
    elements: list[str] = field(default_factory=list)  #: for each container its head: ``tag class id``
    bodies: list[int] = field(default_factory=list)  #: containers that are declared the body of an article
    hidden: list[int] = field(default_factory=list)  #: containers that only scripts show
    #: blocks with links to files, by their places: how many, or 0 where they are less than half of the text
    files: dict[int, int] = field(default_factory=dict)
    is_brief: bool = False  #: the main text is declared, and may be shorter than what stands beside it
    is_discussion: bool = False  #: see :mod:`dedupcrawl.page.structure`
    thread: int = -1  #: container of all posts of a discussion, -1 if it is not known
    posts: frozenset[int] = frozenset()  #: containers that are its posts, or parts of them
    around_posts: frozenset[int] = frozenset()  #: containers that hold posts, and what stands beside them


def build_block_tree(stream: str | bytes, options: ReadOptions) -> BlockTree:
    """Build the blocks and containers of a flattened page.

    Args:
        stream: the stream; in UTF-8 it is read by compiled code (``_blocks.pyx``), if that was built.
        options: R1, R2 and S of the link rules.
    """
    if isinstance(stream, str):
        return build_by_reference(stream, options)
    if compiled.blocks is None:
        return build_by_reference(stream.decode(), options)
    tree = BlockTree()
    _builder().build(stream, tree, options)
    return tree


def build_by_reference(stream: str, options: ReadOptions) -> BlockTree:
    """Build the blocks and containers of a flattened page in Python, see :func:`build_block_tree`."""
    tree = BlockTree()
    parts = stream.split(MARK)
    heads = parts[1::2]
    # One split of the stream is faster than a test of each of a thousand heads.
    tree.metadata = [note.partition(MARK)[0] for note in stream.split(NOTE)[1:]]
    make_blocks(tree, _locate_texts(tree, ["", *heads], parts[::2]), options)
    return tree


@cache
def _builder() -> BlockBuilder:
    assert compiled.blocks is not None
    builder: BlockBuilder = compiled.blocks.BlockBuilder(
        classify=_classify_element,
        is_opened=is_opened,
        hidden_side=SideKind.LIKELY,
        make_blocks=make_blocks,
        links=(NO_LINK, PAGE_LINK, FILE_LINK),
        file_types=FILE_TYPES,
        separators=_separators,
        short_gap=SHORT_GAP,
        max_head_chars=MAX_HEAD_CHARS,
        part_names=PART_NAMES,
    )
    return builder


def _locate_texts(tree: BlockTree, heads: list[str], texts: list[str]) -> list[MarkedText]:
    """Return the texts that are not empty, and add the containers that hold them to ``tree``.

    The open elements are kept in lists indexed by depth, so that the end of an element is one subtraction.
    """
    found: list[MarkedText] = []
    opened = ["body"] * (len(heads) + 1)  # heads of the open elements
    containers = [-1] * (len(heads) + 1)  # their containers, -1 where there is none yet
    notes = [""] * (len(heads) + 1)  # what was noted of them: BODY, HIDDEN
    depth = 0
    for head, text in zip(heads, map(str.strip, texts), strict=False):
        if head:
            if head == _BODY_NOTE or (head == _HIDDEN_NOTE and not is_opened(opened[depth][:MAX_HEAD_CHARS])):
                notes[depth] += head
            depth += 1
            opened[depth], containers[depth], notes[depth] = head, -1, ""
        elif depth:
            depth -= 1
        if text:
            tag, _, leaf = _classify_element(opened[depth][:MAX_HEAD_CHARS])
            holder = depth - (leaf and not notes[depth])
            if containers[holder] < 0:
                _make_containers(tree, opened, containers, notes, holder)
            found.append((text, tag, containers[holder]))
    return found


def _make_containers(tree: BlockTree, opened: list[str], containers: list[int], notes: list[str], last: int) -> None:
    """Make containers of the element at depth ``last`` and of its ancestors that have none."""
    parents, sides = tree.parents, tree.sides
    first = last
    while first and containers[first - 1] < 0:
        first -= 1
    parent = containers[first - 1] if first else -1
    for depth in range(first, last + 1):
        head = opened[depth]
        if head == "main":
            tree.mains.append(len(parents))
        elif head == "article" and opened[1:depth].count(head) == 1:
            tree.nested.append(len(parents))
        tree.elements.append(head)
        containers[depth] = len(parents)
        parents.append(parent)
        head = head[:MAX_HEAD_CHARS]
        tree.heads.append(head)
        side = _classify_element(head)[1]
        if _HIDDEN_NOTE in notes[depth]:
            tree.hidden.append(containers[depth])
            side = side or SideKind.LIKELY
        if _BODY_NOTE in notes[depth]:
            tree.bodies.append(containers[depth])
        sides.append(side)
        parent = containers[depth]


def make_blocks(tree: BlockTree, found: list[MarkedText], options: ReadOptions, *, opened: int = NO_LINK) -> int:
    """Normalise the texts, measure their links and add them to the blocks of ``tree``.

    Args:
        tree: the blocks before them.
        found: the texts.
        options: R1, R2 and S of the link rules.
        opened: the link that is open before the first text: NO_LINK, PAGE_LINK or FILE_LINK; returned is that after the
            last.
    """
    blocks = tree.blocks
    for marked, tag, container in found:
        inside = opened == PAGE_LINK
        if tag in PART_NAMES and not inside and LINK in marked:
            marked = _own_places.sub(r"\1", marked).strip()  # noqa: PLW2901
        if LINK in marked or inside:
            if marked[0] == LINK and marked[-1] == UNLINK and not inside and marked.find(LINK, 1) < 0:
                text, length, link_length, links = measure_single_link(marked)
                if text:
                    if not links and marked[1] != ANCHOR:
                        tree.files[len(blocks)] = 1
                    blocks.append((text, length, link_length, links, links, tag, container))
                opened = NO_LINK
            else:
                opened = _add_linked_block(tree, marked, tag, container, options, opened=opened)
        else:
            text = normalize_space(marked)
            if text:
                length = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
                if opened:
                    _note_files(tree, marked, length, opened=opened)
                blocks.append((text, length, 0, 0, 0, tag, container))
            opened = NO_LINK if UNLINK in marked else opened
    return opened


def _add_linked_block(
    tree: BlockTree, marked: str, tag: str, container: int, options: ReadOptions, *, opened: int
) -> int:
    """Add the blocks of a text with links; return its last link if that is still open."""
    text, length, link_length, links, run, inside = measure_links(marked, inside=opened == PAGE_LINK)
    in_file = _file_labels(marked, opened=opened)[1]
    if run > options.link_run and link_noise(length, link_length, run, options) == LINK_RUN:
        marked, text = split_runs(marked, options.link_run)
        length = link_length = byte_length(text)
        rest = measure_links(marked, inside=False)
        if rest[0]:
            _note_files(tree, marked, rest[1], opened=NO_LINK)
            tree.blocks.append((*rest[:5], tag, container))
    elif text:
        _note_files(tree, marked, length, opened=opened)
    if text:
        tree.blocks.append((text, length, link_length, links, run, tag, container))
    return PAGE_LINK if inside else FILE_LINK if in_file else NO_LINK


def _note_files(tree: BlockTree, marked: str, length: int, *, opened: int) -> None:
    """Note the links to files in the next block, a marked text of ``length`` bytes."""
    labels, _ = _file_labels(marked, opened=opened)
    if labels:
        is_most = 2 * byte_length(normalize_space("".join(labels))) >= length
        tree.files[len(tree.blocks)] = len(labels) if is_most else 0


def _file_labels(marked: str, *, opened: int) -> tuple[list[str], bool]:
    """Return the labels of the links to files in a marked text, and whether the last of them is still open."""
    before, *pieces = marked.split(LINK)
    label, closed, _ = before.partition(UNLINK)
    is_open = opened == FILE_LINK and not closed
    labels = [label] if opened == FILE_LINK else []
    for piece in pieces:
        target, anchored, rest = piece.partition(ANCHOR)
        label, closed, _ = rest.partition(UNLINK)
        is_file = bool(target and anchored) and not leads_to_page(target)
        labels += [label] * is_file
        is_open = is_file and not closed
    return labels, is_open


@lru_cache(maxsize=16384)
def _classify_element(head: str) -> tuple[str, SideKind, bool]:
    """Return the tag of an element, what its class and id show, and whether it is a leaf."""
    tag, _, names = head.partition(" ")
    if head in LANDMARKS:  # a landmark that is read inside has names, if only empty ones
        return tag, SideKind.LANDMARK, False
    side = SideKind.LIKELY if tag == "figcaption" else side_kind(names)
    return tag, side, tag in LEAF_TAGS and side is SideKind.NONE


def normalize_space(marked: str) -> str:
    """Collapse white space; a ``<br>`` becomes a line end, and empty lines are left out."""
    text = marked.strip()
    if text.isprintable() and "  " not in text:  # true for most texts: marks are not printable
        return text
    # an UNLINK may remain whose LINK is in an earlier text, where the link leads to no web page
    text = " ".join(text.replace(UNLINK, "").split())
    return "\n".join(filter(None, map(str.strip, text.split(BREAK)))) if BREAK in text else text


def byte_length(text: str) -> int:
    """Return the length of ``text`` in UTF-8 bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def measure_links(marked: str, *, inside: bool) -> LinkMeasures:
    """Measure a marked text without space around it; ``inside``: it begins inside a link."""
    before, *pieces = marked.split(LINK)
    texts = [before]
    labels = ""
    links = run = longest = 0
    if inside:
        labels, closed, _ = before.partition(UNLINK)
        inside = not closed
        links = run = longest = 1
    for piece in pieces:
        target, _, rest = piece.partition(ANCHOR)
        label, closed, after = rest.partition(UNLINK)
        texts.append(label)
        texts.append(after)
        if leads_to_page(target):
            labels += label
            links += 1
            run += 1
            inside = not closed
            if len(after) < SHORT_GAP or not separates_links(after):
                continue
        longest = max(longest, run)
        run = 0
    longest = max(longest, run)
    text = normalize_space("".join(texts).replace(UNLINK, ""))
    length = byte_length(text)
    link_length = min(length, byte_length(normalize_space(labels))) if labels else 0
    return text, length, link_length, links, longest, inside


def measure_single_link(marked: str) -> tuple[str, int, int, int]:
    """Measure a marked text that is one link: its text, length, link length and links (1 or 0).

    Half of the texts with links are such, and this takes a third of the time of :func:`measure_links`.
    """
    target, _, label = marked[1:-1].partition(ANCHOR)
    text = normalize_space(label)
    length = len(text) if text.isascii() else byte_length(text)
    return (text, length, length, 1) if leads_to_page(target) else (text, length, 0, 0)


def separates_links(text: str) -> bool:
    """Return whether a text between two links ends their run; separators do not."""
    return len(text) >= SHORT_GAP and bool(text.strip(_separators))


def split_runs(marked: str, longest: int) -> tuple[str, str]:
    """Split off the runs of more than ``longest`` links.

    Returns the marked text that remains, and the text of the runs without marks.
    """
    remaining, runs, end = [], [], 0
    for start, stop, links in link_runs(marked):
        if links > longest:
            remaining.append(marked[end:start])
            runs.append(_links.sub(r"\2", marked[start:stop]))
            end = stop
    remaining.append(marked[end:])
    return " ".join(remaining), normalize_space(" ".join(runs))


def link_runs(marked: str) -> list[tuple[int, int, int]]:
    """Return start, end and number of links of each run of links in a marked text."""
    runs: list[tuple[int, int, int]] = []
    for link in _links.finditer(marked):
        if not leads_to_page(link[1]):
            continue
        if runs and not separates_links(marked[runs[-1][1] : link.start()]):
            start, _, links = runs.pop()
            runs.append((start, link.end(), links + 1))
        else:
            runs.append((link.start(), link.end(), 1))
    return runs
