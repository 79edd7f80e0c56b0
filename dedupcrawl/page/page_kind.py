"""The kind of a page: an article, an index of other pages, a request for consent, or empty.

An *index* has guide links and no statement. What is left of it is often the text of a side column, the same on all
lists of the site; two lists must not match because of it. So where the content column is a list, the page is an index,
whatever stands in the side columns. The column is the ``<main>``, or the part with the heading. A title such as
"Tag: rivers" or "归档" is a second sign.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dedupcrawl.page.edges import HEADLINE_BYTES
from dedupcrawl.page.model import Kind
from dedupcrawl.page.rules import (
    CONSENT,
    GUIDE_LINKS,
    KEPT_REASONS,
    LANDMARK,
    LINK_RUN,
    POSITION_REASONS,
    TEASER,
    is_byline,
    is_legal,
    is_statement,
    name_words,
    word_set,
)
from dedupcrawl.page.scoring import MIN_ARTICLE_BYTES
from dedupcrawl.page.structure import HEADINGS, ancestors, common_ancestor, containers_in, headings, page_title

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence

    from dedupcrawl.page.blocks import BlockTree, RawBlock
    from dedupcrawl.page.options import ReadOptions


INDEX_SHARE = 0.5  #: a page with a larger share of guide links and no statement is an index
MAX_LABEL_BYTES = 40  #: a longer line without links is more than a label; links after it that are longer are a list
#: Reasons for which links to pages below a short text may have been removed.
LISTED_REASONS = POSITION_REASONS | {GUIDE_LINKS, LINK_RUN, TEASER}
MIN_LISTED = 3  #: links to pages by their headlines that are a list, without the sign of a title
MAX_BESIDE_BYTES = 3000  #: the text of a side column is not longer
#: Elements and words in class and id of a column beside the content.
SIDE_COLUMNS = word_set("aside footer nav")
SIDE_COLUMN_WORDS = word_set("""
    about aside author bio leftcol profile rightcol secondary side sidebar sidebars widget widgets
""")

#: A sentence before a source or other words. A full stop after less than three letters may be that of an abbreviation.
_has_sentence = re.compile(r"""[^\W\d_]{3}[.!?]["'”’)\]]*\s|[。！？．]""").search
#: The title of a list of the posts with a tag, in a category or of a time, alone or before its name.
_names_list = re.compile(
    r"(?:标签|標籤|分类|分類|归档|歸檔|存档|彙整|(?:tags?|categor(?:y|ies)|archives?)\b)"
    r"\s*(?:云|列表|目录|归档|cloud|list|archives?)*\s*(?:[:：|｜·•_«»—–-]|\Z)",
    re.IGNORECASE,
).match
_has_year = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)").search
#: A line of a program that declares or calls a function. In brackets after a name there may also be a number of pages.
#: With a space before the brackets they are empty, or the name has an underscore or a capital inside.
_is_signature = re.compile(
    r"[A-Za-z_$][\w$]*\((?!\d*\))[^()]*\)|[A-Za-z_$][\w$]* ?\(\)|[A-Za-z$]+(?:_|(?<=[a-z])[A-Z])[\w$]* \([^()]*\)"
).search


def kind_of(tree: BlockTree, reasons: Sequence[str], kept: int, options: ReadOptions) -> Kind:
    """Return the kind of a page.

    Short news need not end as a sentence: a line under the ``<h1>`` of the page, which itself is under a menu, is a
    statement too, and so is one beside the heading in a part that is not mostly links. Above a list of links the same
    line introduces the list. A page with neither, but with a consent text, shows it first. The line of a footer, with
    its copyright, does not make a page with guide links one that asks for consent.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed.
        kept: bytes of main text, without links if the block model chose it.
        options: R1 of the link rules. A block of guide links by R1 is no statement, however long, if its links are
            lines of one element and the block model keeps it.
    """
    if kept <= MAX_BESIDE_BYTES and is_list(tree, reasons):
        return Kind.INDEX
    if kept >= MIN_ARTICLE_BYTES and not _are_labels(tree, reasons):
        return Kind.ARTICLE
    total = guide = asking = listed = 0
    has_statement, has_line, is_headed = tree.is_brief and kept > 0, False, False
    for block, reason in zip(tree.blocks, reasons, strict=True):
        text, length, link_length = block[:3]
        total += 0 if reason is CONSENT and is_legal(text) else length
        guide += length if reason is LANDMARK else link_length
        asking += length if reason is CONSENT else 0
        if reason in KEPT_REASONS and link_length <= options.link_density_noise * length:
            has_statement = has_statement or _states(text, length) or _is_told_first(block)
            has_line = has_line or (is_headed and _is_line(block))
        is_headed = is_headed or (block[5] == "h1" and not link_length)
        listed += link_length if is_headed or _links_headline(block) else 0
    has_statement = has_statement or (has_line and listed <= MAX_LABEL_BYTES)
    if guide > INDEX_SHARE * (total - asking) and not has_statement and not _states_in_column(tree, reasons):
        return Kind.INDEX
    if asking > kept and not has_statement:
        return Kind.CONSENT
    return Kind.ARTICLE if kept else Kind.EMPTY


def _are_labels(tree: BlockTree, reasons: Sequence[str]) -> bool:
    """Return whether the main text is nothing but short lines, as the dates in a list of pages."""
    pairs = zip(tree.blocks, reasons, strict=True)
    return all(block[1] <= MAX_LABEL_BYTES for block, reason in pairs if reason in KEPT_REASONS)


def _states(text: str, length: int) -> bool:
    """Return whether a text is a statement, and not just the number of an item ("12.")."""
    return is_statement(text, length) and any(map(str.isalpha, text))


def listed_below(tree: BlockTree, reasons: Sequence[str], kept: int) -> list[int]:
    """Return the places of a list of pages that a short main text introduces; [] if there is none.

    The list follows the text directly, in its container, and has more text. Under a heading of its own ("More news") it
    may belong to the site.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed.
        kept: bytes of main text.
    """
    texts = [place for place, reason in enumerate(reasons) if reason in KEPT_REASONS]
    if not texts or tree.is_brief or tree.is_discussion:
        return []
    blocks, found = tree.blocks, list[int]()
    top = common_ancestor([blocks[place][6] for place in texts], tree.parents)
    inside = containers_in(top, tree.parents)
    for place in range(texts[-1] + 1, len(blocks)):
        block = blocks[place]
        if not inside[block[6]] or reasons[place] not in LISTED_REASONS:
            break
        if _links_headline(block):
            found.append(place)
        elif block[5] in HEADINGS or block[1] > MAX_LABEL_BYTES:
            break
    links = sum([blocks[place][3] for place in found])
    return found if links > MIN_LISTED and sum([blocks[place][2] for place in found]) > kept else []


def is_list(tree: BlockTree, reasons: Sequence[str]) -> bool:
    """Return whether the content column of a page is a list of links, and its main text was found beside it.

    Args:
        tree: blocks and containers.
        reasons: for each block why it is kept or removed.
    """
    first = next((at for at, reason in enumerate(reasons) if reason in KEPT_REASONS), -1)
    if first < 0 or tree.is_discussion:
        return False
    is_named, main = _names_list(page_title(tree.metadata)) is not None, tree.mains[0] if len(tree.mains) == 1 else -1
    above = ancestors(tree.blocks[first][6], tree.parents)
    is_beside_main = main >= 0 and main not in above
    if not (is_named or is_beside_main or _is_side_column(tree.heads, above)):  # true for most pages
        return False
    kept = {block[6] for block, reason in zip(tree.blocks, reasons, strict=True) if reason in KEPT_REASONS}
    around = common_ancestor([*kept], tree.parents)
    if around <= 0:
        return False
    above = ancestors(around, tree.parents)
    inside, headed = containers_in(around, tree.parents), headings(tree)
    if any(inside[container] for container in headed):
        return False
    if is_named:
        lists = [block[6] for block, reason in zip(tree.blocks, reasons, strict=True) if _is_listed(block, reason)]
        return bool(lists) and not any(inside[container] for container in lists)
    column = main if is_beside_main and not inside[main] else _column(headed, above, tree.parents)
    return column >= 0 and _is_mostly_listed(tree, reasons, column)


def _is_side_column(heads: Sequence[str], above: Iterable[int]) -> bool:
    """Return whether one of the containers around a text is a side column by its tag, class or id."""
    for container in above:
        tag, _, names = heads[container].partition(" ")
        if tag in SIDE_COLUMNS or not SIDE_COLUMN_WORDS.isdisjoint(name_words(names)):
            return True
    return False


def _column(headed: Sequence[int], beside: Container[int], parents: Sequence[int]) -> int:
    """Return the outermost part around the only heading that is in none of the containers ``beside``, or -1."""
    container = headed[0] if len(headed) == 1 else -1
    while container >= 0 and container not in beside and parents[container] not in beside:
        container = parents[container]
    return container


def _is_mostly_listed(tree: BlockTree, reasons: Sequence[str], column: int) -> bool:
    """Return whether most of the text in a container are links to pages by their headlines."""
    inside = containers_in(column, tree.parents)
    total = listed = count = 0
    for block, reason in zip(tree.blocks, reasons, strict=True):
        if inside[block[6]] and reason is not LANDMARK:
            total += block[1]
            if _is_listed(block, reason):
                listed += block[2]
                count += block[3]
    return count >= MIN_LISTED and listed > INDEX_SHARE * total


def _is_listed(block: RawBlock, reason: str) -> bool:
    """Return whether a block that is no main text is little but links to pages, by their headlines."""
    is_removed = reason not in KEPT_REASONS and reason is not LANDMARK
    return is_removed and 2 * block[2] >= block[1] and _links_headline(block)


def _states_in_column(tree: BlockTree, reasons: Sequence[str]) -> bool:
    """Return whether the main text is declared, has lines of a program, or is in one part with the heading, not links.

    It may be short news or a short post under large menus, or a page of a manual. A heading that is a link may be the
    name of the site, and the line beside it is on all pages then. So the title must begin with such a heading, and go
    on with something else.
    """
    kept = [block for block, reason in zip(tree.blocks, reasons, strict=True) if reason in KEPT_REASONS]
    lines = [block for block in kept if block[5] not in HEADINGS and not block[2] and not _is_note(*block[:2])]
    if (
        any(block[5] == "pre" and 2 * block[2] <= block[1] for block in kept)
        or sum([_is_signature(block[0]) is not None for block in kept]) > 1
    ):
        return True
    title = page_title(tree.metadata)
    sites = {block[6] for block in tree.blocks if block[5] == "h1" and block[2] and not _begins(title, block[0])}
    for heading in headings(tree) if lines else ():
        if heading in sites:
            continue
        column = containers_in(common_ancestor([heading, lines[0][6]], tree.parents), tree.parents)
        held = [block for block in tree.blocks if column[block[6]]]
        if sum([block[2] for block in held]) <= INDEX_SHARE * sum([block[1] for block in held]):
            return True
    return False


def _begins(title: str, heading: str) -> bool:
    """Return whether a title begins with a heading, and goes on with something else."""
    return title.startswith(heading) and len(title) > len(heading) and title.count(heading) == 1


def _is_note(text: str, length: int) -> bool:
    """Return whether a text is a credit, a stamp, or a label with a date."""
    return is_byline(text, length) or (length <= MAX_LABEL_BYTES and _has_year(text) is not None)


def _is_told_first(block: RawBlock) -> bool:
    """Return whether a block has a sentence before its source, or before a link that takes less than half of it."""
    text, length, link_length = block[:3]
    return 2 * link_length <= length and _has_sentence(text) is not None and not is_legal(text)


def _is_line(block: RawBlock) -> bool:
    """Return whether a block is longer than a label, and no link, heading, credit or stamp."""
    text, length, link_length, _, _, tag, _ = block
    is_text = length > MAX_LABEL_BYTES and not link_length and tag not in HEADINGS
    return is_text and not is_byline(text, length) and not is_legal(text)


def _links_headline(block: RawBlock) -> bool:
    """Return whether the links of a block name pages, by headlines. Those of a menu are labels."""
    _, _, link_length, links, _, tag, _ = block
    return link_length > 0 and (tag in HEADINGS or link_length >= HEADLINE_BYTES.start * links)
