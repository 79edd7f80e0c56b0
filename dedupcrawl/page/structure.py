"""The parts of a page: the text under its heading, sections of a manual, code listings, lists of links, discussions.

A theme may put a whole page into a part with the class of a menu. What the author declared is stronger than such a
name: the body of an article, the only ``<article>``, the ``<h1>`` that the ``<title>`` repeats.

Manuals name a section after its heading, put each line of a listing into an element of its own, and list their
subjects by links. The rules for side parts, labels and menus would take such parts out of the text around them. Each
function here names the sign that tells them apart.

On an article, comments and other articles inside it are by other authors, and are left out. In a *discussion*, a page
of a forum or of questions and answers, they are the text. Such a page declares this by a type of
schema.org (``DiscussionForumPosting``, ``QAPage``), by its generator, or by the classes that forum software gives to a
post.
The words "post", "comment" and "thread" alone prove nothing, because blogs use them too.

The signs were chosen on one half of the hosts of the labelled set wcxb and tried on the other
(docs/methods-reading.md, "Container choice" and "Discussions").
"""

from __future__ import annotations

import re
from collections import Counter
from enum import IntEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Protocol

from dedupcrawl.page import compiled
from dedupcrawl.page.rules import (
    EDGE,
    GUIDE_LINKS,
    MAIN_TEXT,
    OUTSIDE,
    POOR_CONTAINER,
    POSITION_REASONS,
    REPEATED,
    SideKind,
    is_byline,
    is_section,
    name_words,
    points_elsewhere,
    word_set,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from dedupcrawl.page.blocks import BlockTree, RawBlock


HEADINGS = word_set("h1 h2 h3 h4 h5 h6")
NAMING_HEADINGS = word_set("h1 h2 h3")  #: one of them names the page
TERM = "dt"
TITLES = HEADINGS | {TERM}  #: blocks that name what follows
#: Marks of a link to the heading that they follow; the last one is the chain in the font of Sphinx's themes.
PERMALINKS = ("¶", "#", "§", "🔗", "\uf0c1")
HEADING_BOOST = 20.0  #: factor for text under the heading where no container has a clear score
FACTS = word_set("dd dt li td th")
MIN_FACTS = 4  #: names with values, or items; fewer are the author, date and section of a text
RECORD_FACTS = range(MIN_FACTS, 41)  #: numbers of adjacent cells and items; more are a table
TRAILING_FACTS = range(3, 41)  #: the same after a text: fewer are labels, such as a category and a source
#: An item that begins with an amount ("2 eggs", "½ cup"), or ends with one and its unit ("面粉 200 克").
_has_amount = re.compile(r"\W*[\d½¼¾⅓⅔⅛]|.*\d\s*[^\W\d]{0,4}\Z", re.DOTALL).match
MIN_CLEAR_SCORE = 800.0  #: where no container has more, heading and declarations decide too, not the size alone
MAX_BESIDE_TEXT = 3000.0  #: positive scores of the texts beside a short one that is declared the text of the page
COLONS = (":", "：")
TITLE_ENTRY = "title="  #: beginning of the entry in the metadata that has the ``<title>``
MIN_REPEATED_BYTES = 100  #: a block of at least this length with the text of an earlier one is a second copy
QUOTATION = "blockquote"  #: the tag with which the head of its container begins
NAMING = {TERM: ("dd", "p"), "td": ("td",)}  #: tags of names, and of the blocks that they may name


def heading_container(blocks: Sequence[RawBlock]) -> int:
    """Return the container of the page's only ``<h1>``, or -1. One that is a link is the site's name."""
    found = [block[6] for block in blocks if block[5] == "h1" and not block[2]]
    return found[0] if len(found) == 1 else -1


def ancestors(container: int, parents: Sequence[int]) -> set[int]:
    """Return a container (-1: none) and all those around it."""
    found = set()
    while container >= 0:
        found.add(container)
        container = parents[container]
    return found


def with_ancestors(containers: Iterable[int], parents: Sequence[int]) -> set[int]:
    """Return these containers (-1: none) and all those around them."""
    return set[int]().union(*[ancestors(container, parents) for container in containers])


def descendants(containers: Iterable[int], parents: Sequence[int]) -> set[int]:
    """Return the containers within any of these, without themselves. Parents precede their children."""
    tops, found = {*containers}, set[int]()
    for child, parent in enumerate(parents):
        if parent in tops or parent in found:
            found.add(child)
    return found


def declared_text(tree: BlockTree) -> list[int]:
    """Return the containers that are declared the text of the page: each body of an article, or the only article."""
    if tree.bodies:
        return tree.bodies
    return [tree.heads.index("article")] if tree.heads.count("article") == 1 else []


class ScoreTable(Protocol):
    """The sums of each container; those with ``all`` include its descendants."""

    positive: list[float]
    all_positive: list[float]
    all_plain: list[int]


def brief_text(tree: BlockTree, texts: Sequence[int], best: int, sums: ScoreTable) -> int:
    """Return the container of a declared text that may be shorter than what stands beside it, or -1.

    A declared text that stands within the best container, beside text of that container, may be its introduction only.
    So may one beside a far longer text. An article must hold the heading of the page: a list of other posts may show
    one of them only.

    Args:
        tree: blocks and containers.
        texts: the declared texts.
        best: the container with the best score.
        sums: the scores of the containers.
    """
    text = texts[0] if len(texts) == 1 else -1
    if text <= 0 or tree.is_discussion or text in ancestors(best, tree.parents):
        return -1
    is_part = best in ancestors(text, tree.parents) and sums.positive[best] > 0
    is_long = sums.all_positive[text] >= MIN_CLEAR_SCORE or sums.all_positive[best] > MAX_BESIDE_TEXT
    if is_part or is_long or not sums.all_plain[text]:
        return -1
    if tree.bodies:
        return text
    inside = containers_in(text, tree.parents)
    is_headed = sums.all_positive[text] > 0 and any(inside[container] for container in headings(tree))
    return text if is_headed else -1


def hidden_beside(tree: BlockTree, texts: Sequence[int]) -> set[int]:
    """Return the containers in hidden parts that are neither in nor around a declared text.

    Such a part may be longer than a short text. Within a text it is a side part like others. So are all hidden parts of
    a page that declares no text.
    """
    found: set[int] = set()
    if not texts or not tree.hidden:
        return found
    around = with_ancestors(texts, tree.parents)
    inside = {*texts}
    for container, parent in enumerate(tree.parents):  # parents precede their children
        if parent in inside:
            inside.add(container)
        elif parent in found or (container in tree.hidden and container not in around):
            found.add(container)
    return found


def title_container(titles: Sequence[RawBlock], metadata: Sequence[str]) -> int:
    """Return the container of that ``<h1>`` of several that the title of the page contains, or -1.

    It is the longest such heading. One that is a link is the name of the site.

    Args:
        titles: the headings of the page.
        metadata: ``name=value`` as in the stream.
    """
    found = [block for block in titles if block[5] == "h1" and not block[2]]
    if len(found) < 2:
        return -1
    title = folded_line(page_title(metadata))
    found = [block for block in found if folded_line(block[0]) in title]
    longest = max([block[1] for block in found], default=0)
    places = [block[6] for block in found if block[1] == longest]
    return places[0] if len(places) == 1 else -1


def headings(tree: BlockTree) -> list[int]:
    """Return the containers of each ``<h1>`` that is no link; without any, of the longest heading in the title."""
    found = [block[6] for block in tree.blocks if block[5] == "h1" and not block[2]]
    if found:
        return found
    title = folded_line(page_title(tree.metadata))
    named = [block for block in tree.blocks if block[5] in NAMING_HEADINGS and folded_line(block[0]) in title]
    return [max(reversed(named), key=lambda block: block[1])[6]] if named else []


def page_title(metadata: Sequence[str]) -> str:
    """Return the ``<title>`` in the metadata of a stream, or ""."""
    return next((entry.partition("=")[2].strip() for entry in metadata if entry.startswith(TITLE_ENTRY)), "")


def folded_line(text: str) -> str:
    """Return a text in lower case, its white space as single spaces."""
    return " ".join(text.split()).casefold()


def boost_heading(own: Sequence[float], parents: Sequence[int], headed: int) -> list[float]:
    """Multiply the scores under the heading: terms of sale may be longer than the text on the product."""
    under = {headed}
    boosted: list[float] = []
    for child, (value, parent) in enumerate(zip(own, parents, strict=True)):
        if headed >= 0 and parent in under:
            under.add(child)
        boosted.append(value * HEADING_BOOST if child in under else value)
    return boosted


def linked_sections(titles: Sequence[RawBlock]) -> set[int]:
    """Return the containers of those titles that end with the mark of a permalink.

    Such a container is a section, and its id repeats the words of the heading: "cookies" and "respond-to-comments" say
    what it is about, not what it is for.
    """
    return {block[6] for block in titles if block[0].endswith(PERMALINKS)}


def around_sections(container: int, parents: Sequence[int], heads: Sequence[str], sections: set[int], last: int) -> int:
    """Return the container around all sections and quotations that a container is in: each is a part of one text.

    A line below a long quotation is what tells the page from other answers, and from the page that it quotes.

    Args:
        container: the container, which is returned if it is in neither.
        parents: for each container its parent.
        heads: for each container ``tag class id``.
        sections: those known by the mark of a permalink; those known by their class are added.
        last: the ancestor at which the search ends, -1: the root.
    """
    found = container
    while container >= 0 and container != last:
        if container in sections or is_section(heads[container]) or heads[container].startswith(QUOTATION):
            found = max(0, parents[container])
        container = parents[container]
    return found


def listing_containers(heads: Sequence[str], parents: Sequence[int]) -> set[int]:
    """Return each ``<pre>`` that contains blocks, and the containers in it: a highlighter put each line into one."""
    if "pre" not in heads:
        return set()
    found: set[int] = set()
    for container, head in enumerate(heads):  # parents precede their children
        if head == "pre" or parents[container] in found:
            found.add(container)
    return found


def rejoin_lists(blocks: Sequence[RawBlock], reasons: list[str]) -> int:
    """Set the reason MAIN_TEXT for items of lists between two blocks of the main text; return their bytes beside links.

    These are items that are more than a link, links in a list that a line of the text introduces with a colon, and
    links that name what follows them in the text: a term before its definition, a cell before the next cell.
    """
    if MAIN_TEXT not in reasons:
        return 0
    first = reasons.index(MAIN_TEXT)
    inside = reasons[first : len(reasons) - reasons[::-1].index(MAIN_TEXT)]
    if POOR_CONTAINER not in inside and GUIDE_LINKS not in inside:
        return 0
    found, is_introduced = [], False
    for place, reason in enumerate(inside, first):
        tag = blocks[place][5]
        if tag == "li":
            is_item = reason is POOR_CONTAINER or (is_introduced and reason is GUIDE_LINKS)
        else:
            is_introduced = reason is MAIN_TEXT and _introduces_list(blocks[place][0])
            is_item = tag in NAMING and reason is GUIDE_LINKS and _is_named(blocks, reasons, place)
        if is_item:
            found.append(place)
    for place in found:
        reasons[place] = MAIN_TEXT
    return sum([blocks[place][1] - blocks[place][2] for place in found])


def join_leading_facts(blocks: Sequence[RawBlock], reasons: list[str]) -> int:
    """Set the reason MAIN_TEXT for facts between the only ``<h1>`` and the main text; return their bytes.

    See :func:`leading_facts`.
    """
    found = leading_facts(blocks, reasons, reasons.index(MAIN_TEXT)) if MAIN_TEXT in reasons else []
    for place in found:
        reasons[place] = MAIN_TEXT
    return sum([blocks[place][1] for place in found])


def join_trailing_facts(blocks: Sequence[RawBlock], reasons: list[str]) -> int:
    """Set the reason MAIN_TEXT for a list or table with which the main container ends; return its bytes.

    These are adjacent cells, terms or items without links, with their heading: opening hours, features, a result.
    Each is short, so the edge is trimmed before them. Bylines are no facts.
    """
    if MAIN_TEXT not in reasons:
        return 0
    first = place = len(reasons) - reasons[::-1].index(MAIN_TEXT)
    if place < len(blocks) and blocks[place][5] in HEADINGS and reasons[place] is EDGE and not blocks[place][2]:
        first = place = place + 1
    while place < len(blocks) and blocks[place][5] in FACTS and reasons[place] is EDGE and not blocks[place][2]:
        place += 1
    found = [at for at in range(first, place) if not is_byline(*blocks[at][:2])]
    if len(found) not in TRAILING_FACTS:
        return 0
    named = first - 1
    found += [named] * (reasons[named] is EDGE)
    for at in found:
        reasons[at] = MAIN_TEXT
    return sum([blocks[at][1] for at in found])


def leading_facts(blocks: Sequence[RawBlock], reasons: Sequence[str], first: int) -> list[int]:
    """Return the places of facts between the main text and the heading above it, with their own headings.

    These are adjacent cells or terms without links, a record above a description; or items with amounts, the
    ingredients of a recipe. Short as they are, they would fall out of the text in most templates.

    The heading is the only ``<h1>``. A bare view, such as that for printers, may have another one or none: there only
    facts that nothing but a heading separates from the text belong to it.

    Args:
        blocks: the blocks of the page.
        reasons: for each block why it is kept or removed.
        first: the place of the first block of the main text.
    """
    titles = [place for place, block in enumerate(blocks[:first]) if block[5] == "h1" and not block[2]]
    above = titles[0] if len(titles) == 1 else _heading_of_facts(blocks, first)
    if first - above <= MIN_FACTS:
        return []
    found: list[int] = []
    run: list[int] = []
    for place in range(above + 1, first + 1):
        if place < first and blocks[place][5] in FACTS:
            run.append(place)
            continue
        if len(run) in RECORD_FACTS and all(reasons[at] in POSITION_REASONS and not blocks[at][2] for at in run):
            own = [at for at in run if not is_byline(*blocks[at][:2])]
            if _is_record([blocks[at] for at in own]):
                named = run[0] - 1
                found += [named, *own] if named > above and blocks[named][5] in HEADINGS else own
        run = []
    return found


def _heading_of_facts(blocks: Sequence[RawBlock], first: int) -> int:
    """Return the place of the heading above all facts that lead to the main text, or of the block before these, or -1.

    Only facts and headings stand between it and the text. Of several headings the first one names the page.
    """
    place = first - 1
    while place >= 0 and (blocks[place][5] in FACTS or (blocks[place][5] in HEADINGS and not blocks[place][2])):
        place -= 1
    return place + 1 if place + 1 < first and blocks[place + 1][5] in HEADINGS else place


def _is_record(run: Sequence[RawBlock]) -> bool:
    """Return whether adjacent facts are a record or a list of amounts, and no list of choices."""
    items = [block[0] for block in run if block[5] == "li"]
    size = len(items) + (len(run) - len(items)) / 2  # a name and a value are two cells
    return size >= MIN_FACTS and 2 * sum([_has_amount(text) is not None for text in items]) >= len(items)


def _introduces_list(text: str) -> bool:
    return text.endswith(COLONS) and not points_elsewhere(text)


def _is_named(blocks: Sequence[RawBlock], reasons: Sequence[str], place: int) -> bool:
    """Return whether the block after a name has the thing that it names; the last block of a page is no name."""
    return reasons[place + 1] is MAIN_TEXT and blocks[place + 1][5] in NAMING[blocks[place][5]]


def repeated_blocks(blocks: list[RawBlock]) -> list[int]:
    """Return the places of long blocks with the text of an earlier one (a copy for printers, for example)."""
    if compiled.choice is not None:
        places: list[int] = compiled.choice.repeated_blocks(blocks, MIN_REPEATED_BYTES)
        return places
    lengths = Counter([block[1] for block in blocks if block[1] >= MIN_REPEATED_BYTES])
    shared = {length for length, count in lengths.items() if count > 1}
    if not shared:
        return []  # texts are hashed only where their lengths are equal
    found, seen = [], set[str]()
    for place, block in enumerate(blocks):
        if block[1] in shared:
            if block[0] in seen:
                found.append(place)
            seen.add(block[0])
    return found


def mark_repeated(blocks: list[RawBlock], reasons: list[str], places: list[int]) -> None:
    """Set the reason REPEATED for those of ``places`` outside whose text is in the main text."""
    if not places:
        return
    main = {block[0] for block, reason in zip(blocks, reasons, strict=True) if reason is MAIN_TEXT}
    for place in places:
        if reasons[place] is OUTSIDE and blocks[place][0] in main:
            reasons[place] = REPEATED


# -- discussions --------------------------------------------------------------------------------

DECLARED = "discussion="  #: the note of a page that declares itself a discussion, see ``blocks``
#: Names in ``<meta name=generator>`` of programs for discussions.
SOFTWARE = ("discourse", "xenforo", "phpbb", "vbulletin", "invision", "flarum", "nodebb", "vanilla")
#: Classes of the page of a discussion, around more than the posts.
PAGE_CLASSES = word_set("comment-tree commentarea lemmy-site")
#: Classes of a post, or of its text, in the templates of these programs.
POST_CLASSES = word_set("""
    crawler-post topic-body topic-post
    message--post message-body message-userContent messageContent messageText
    postbody
    b-post__content js-post__content-text postbit postbitlegacy
    author_statistics postbit_buttons
    cPost ipsComment ipsComment_content ipsEntry ipsEntry__content
    CommentPost Post-body PostStream
    ItemComment ItemDiscussion MessageList
    plhin
    answercell js-post-body postcell
    bbp-reply-content bbp-topic-content
""")
#: Beginnings of the id of a post, before its number: vBulletin, Discuz!, Simple Machines.
POST_IDS = ("post_message_", "postmessage_", "msg_")
MIN_THREAD_SHARE = 0.5  #: of the text beside links and landmarks: less is comments on something else
#: Parts beside a post: its author's signature and figures, and the reactions of readers.
BESIDE_WORDS = word_set("badges extras flair likes reactions sig signature signatures statistics stats")


class DiscussionKind(IntEnum):
    """The part of a discussion that an element is, by its class and id."""

    NONE = 0
    POST = 1  #: it is a post, or a part of one
    PAGE = 2  #: it is around a discussion


def mark_discussion(tree: BlockTree) -> None:
    """Note in the tree of a page whether it is a discussion; if so, comments and inner articles are no side parts."""
    kinds = [*map(discussion_kind, tree.heads)]
    posts = [container for container, kind in enumerate(kinds) if kind is DiscussionKind.POST] if any(kinds) else []
    tree.thread = thread_container(tree, posts)
    if tree.thread < 0 and DiscussionKind.PAGE not in kinds and not any(map(_declares, tree.metadata)):
        return
    tree.is_discussion = True
    tree.posts = frozenset(posts)
    tree.around_posts = frozenset().union(*(ancestors(tree.parents[post], tree.parents) for post in posts))
    tree.nested.clear()
    for container, side in enumerate(tree.sides):
        if is_beside_post(tree.heads[container]):
            tree.sides[container] = SideKind.LIKELY
        elif side is SideKind.COMMENTS:
            tree.sides[container] = SideKind.NONE
    for container in posts:
        tree.sides[container] = SideKind.NONE


def thread_container(tree: BlockTree, posts: Sequence[int]) -> int:
    """Return the container around all posts, -1 if it has less than half of the text: then the posts are comments."""
    thread = common_ancestor(posts, tree.parents)
    if thread < 0:
        return -1
    inside = containers_in(thread, tree.parents)
    text = [(block[6], block[1] - block[2]) for block in tree.blocks if tree.sides[block[6]] is not SideKind.LANDMARK]
    held = sum([length for container, length in text if inside[container]])
    return thread if held >= MIN_THREAD_SHARE * sum([length for _, length in text]) else -1


def containers_in(top: int, parents: Sequence[int]) -> list[bool]:
    """Return for each container whether it is ``top`` or in it."""
    inside = [False] * len(parents)
    inside[top] = True
    for container in range(top + 1, len(parents)):
        inside[container] = inside[parents[container]]
    return inside


def common_ancestor(containers: Sequence[int], parents: Sequence[int]) -> int:
    """Return the innermost container around all of these, -1 for none. Parents precede their children."""
    found = containers[0] if containers else -1
    for container in containers:
        other = container
        while found != other:
            found, other = (parents[found], other) if found > other else (found, parents[other])
    return found


@lru_cache(maxsize=16384)
def discussion_kind(head: str) -> DiscussionKind:
    """Return what ``tag class id`` of an element shows.

    >>> heads = ("div message-body js-post", "div post postmessage_31", "div post msg_text")
    >>> [discussion_kind(head).name for head in heads]
    ['POST', 'POST', 'NONE']
    """
    names = head.split()[1:]
    if not POST_CLASSES.isdisjoint(names) or any(map(_is_post_id, names)):
        return DiscussionKind.POST
    return DiscussionKind.NONE if PAGE_CLASSES.isdisjoint(names) else DiscussionKind.PAGE


def _is_post_id(name: str) -> bool:
    return name.startswith(POST_IDS) and name.rpartition("_")[2].isdigit()


def _declares(entry: str) -> bool:
    """Return whether ``name=value`` of a page declares it a discussion."""
    if entry[:1] not in "gG":  # most entries
        return entry == DECLARED
    if entry[:9].lower() == "generator":
        program = entry.lower()
        return any(name in program for name in SOFTWARE)
    return entry == DECLARED


@lru_cache(maxsize=16384)
def is_beside_post(head: str) -> bool:
    """Return whether ``tag class id`` of an element in a discussion is that of a signature or of figures.

    >>> is_beside_post("div message-signature "), is_beside_post("div message-body ")
    (True, False)
    """
    return not BESIDE_WORDS.isdisjoint(name_words(head.partition(" ")[2]))


def listed_headings(blocks: Sequence[RawBlock], reasons: Sequence[str], kept: Collection[str]) -> int:
    """Return how many headings that are links stand within the main text: a page that lists others has them.

    Args:
        blocks: of the page.
        reasons: of each block.
        kept: the reasons of blocks of the main text.
    """
    found = pending = 0
    is_inside = False
    for block, reason in zip(blocks, reasons, strict=True):
        if reason in kept:
            found += pending
            pending, is_inside = 0, True
        if block[5] in HEADINGS and 2 * block[2] > block[1] > 0:
            pending += 1
        if not is_inside:
            pending = min(pending, 1)  # the heading of the first page that is listed
    return found
