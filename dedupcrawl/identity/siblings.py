"""Whether two pages of one site whose texts match are about different things.

Near-equal text is a copy only if both pages are about the same thing. A copy under another URL has the same
names, or names that say less ("Print"). *Siblings* are two pages such as two sizes of one screw: each has names or
values that the other lacks, and their text describes both. Names are compared in pairs, so that what a
site adds to all of its titles does not matter.

The terms:

*name*: the heading and the title of a page, as tokens. A *telling* token has four letters or is of a script without
spaces, a *filler* ("the") is any other without digits.
*value*: a number with its unit; *strong* if it is a date, a price or a measure, else *weak*.
*short fact*: a short line, such as a colour in a table.
*body*: the main text without the lines that repeat a name. A page is *about* a name whose telling tokens are in it.
*beside*: on the page, but not in its main text.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import DamageError
from dedupcrawl.identity.identity_codec import (
    BESIDE,
    BODY,
    FILLER,
    HEADING,
    MAIN,
    TELLING,
    TITLE,
    WEAK,
    HashSample,
    unpack_identity,
)
from dedupcrawl.identity.names import MIN_ABOUT, about, is_about_its_name
from dedupcrawl.identity.sentence_sketches import sentences_differ
from dedupcrawl.identity.values import MAX_SHORTS
from dedupcrawl.page.signatures import OTHER, compare_layouts

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.identity.identity_codec import Identity


# Chosen on generated sites and on made copies of labelled pages (docs/methods.md, "Siblings").
MIN_ALIKE = 0.5  #: titles without headings that share at least this part of their tokens are one name
FOREIGN = 0.25  #: a text with less than this share of the telling tokens of both names has nothing to do with them
MIN_TELLING = 2  #: two titles that the texts do not mention differ if each has that many telling tokens of its own
MIN_DIFFERING = 0.5  #: share of its values that each page must have for itself
#: With two layouts, short lines beside the main text are compared only if the pages share this many short lines.
MIN_LABELS = 1

NAMES_IN_TEXT = "names, each in its own text"
HEADINGS = "headings over a text that is about neither"
NUMBERS_IN_NAMES = "numbers in the names"
NAMES_OVER_EQUAL_TEXT = "names over one text that is about neither"
NAME_OF_ONE = "the name of one over a text that is not about it"
VALUES = "values in the text"
VALUES_BESIDE = "values beside a text that is not about the name"
SHORT_FACTS = "short facts with a text that is not about the name"
SENTENCES = "sentences of each text that the other lacks"
SENTENCES_OF_TEMPLATE = "sentences of each text, which is a template by a third page"

UNPACKED = 2048  #: identities that are kept unpacked, about 3 kB each: pages of a template meet the same ones again

#: In place of a reason: an identity is damaged or of an unknown kind. It is not known whether the pages are copies.
UNREADABLE = "unreadable-identity"


def why_siblings(new: bytes, old: bytes, *, equal_text: bool, by_sentences: bool = True) -> str:
    """Return why two pages of one site are not copies of each other; "" if they may be.

    It is ``UNREADABLE`` if an identity cannot be read.

    Args:
        new: identity of one page, see :func:`dedupcrawl.identity.identity_sketch.sketch_identity`. One without names
            and values is a copy of any.
        old: identity of the other.
        equal_text: whether their main texts are equal.
        by_sentences: whether sentences tell the pages apart too. They do not for two versions or parts of one page.
    """
    try:
        mine, other = _unpack(new), _unpack(old)
    except DamageError:
        return UNREADABLE
    if mine is None or other is None:
        return ""
    why = "" if equal_text else _names_in_both_texts(mine, other)
    if why:  # as for nearly all pages of a catalogue, which are compared with dozens of others
        return why
    same_layout = compare_layouts(new, old) != OTHER
    return _why_different_things(mine, other, same_layout=same_layout, equal_text=equal_text, by_sentences=by_sentences)


def _names_in_both_texts(mine: Identity, other: Identity) -> str:
    """Return what :func:`_names_differ` returns for two pages each of which has own names in its text; else ""."""
    if mine.body == other.body >= 0 or (mine.has_long_heading and other.has_long_heading):
        return ""
    (names, is_whole), (others, are_whole) = mine.names, other.names
    if not is_whole or not are_whole:
        return ""
    own, lacking = names.keys() - others.keys(), others.keys() - names.keys()
    for key in own:
        if names[key] & MAIN:
            break
    else:
        return ""
    for key in lacking:
        if others[key] & MAIN:
            return NUMBERS_IN_NAMES if min(own) < TELLING > min(lacking) else NAMES_IN_TEXT
    return ""


def _why_different_things(
    mine: Identity, other: Identity, *, same_layout: bool, equal_text: bool, by_sentences: bool
) -> str:
    same_body = mine.body == other.body >= 0
    is_long = mine.has_long_heading and other.has_long_heading
    why = _names_differ(
        mine.names, other.names, equal_text, same_body=same_body, same_layout=same_layout, is_long=is_long
    )
    if why:
        return why
    # The text is about the name of neither: what the pages say of the item is short, or beside the text.
    is_foreign = not any(is_about_its_name(each.names.items) for each in (mine, other))
    is_brief = mine.is_brief and other.is_brief
    if not equal_text and _values_differ(mine.inner, other.inner, is_brief=is_brief, is_foreign=is_foreign):
        return VALUES
    if is_foreign and _values_differ(mine.outer, other.outer, is_brief=is_brief, is_foreign=True):
        return VALUES_BESIDE
    if is_foreign and _shorts_differ(mine, other, same_layout=same_layout):
        return SHORT_FACTS
    # Sentences are compared only if both pages have a name.
    is_named = bool(mine.names.items and other.names.items)
    is_compared = by_sentences and is_named and not equal_text
    return SENTENCES if is_compared and sentences_differ(mine.sentences, other.sentences) else ""


def why_different(new: bytes, old: bytes, *, equal_text: bool = False, of_template: bool = False) -> str:
    """Return why two pages of different sites are not copies of each other; "" if they may be.

    It is ``UNREADABLE`` if an identity cannot be read.

    Reprints have other titles, other facts beside the text, and more or fewer lines, but the same numbers. So two brief
    texts are different pages if each has a number that the other lacks. A longer text may be read with numbers of the
    site.

    Args:
        new: identity of one page, see :func:`dedupcrawl.identity.identity_sketch.sketch_identity`.
        old: identity of the other.
        equal_text: whether their main texts are equal.
        of_template: whether a third kept page shows that the text of one of them is a template. Then the sentences
            that each has for itself decide, however many they are.
    """
    try:
        mine, other = _unpack(new), _unpack(old)
    except DamageError:
        return UNREADABLE
    if mine is None or other is None:
        return ""
    is_brief = mine.is_brief and other.is_brief
    if is_brief and _any_differs(mine.inner, other.inner):
        return VALUES
    is_compared = of_template and not equal_text
    return SENTENCES_OF_TEMPLATE if is_compared and sentences_differ(mine.sentences, other.sentences) else ""


def _shorts_differ(new: Identity, old: Identity, *, same_layout: bool) -> bool:
    """Return whether each page has a short fact that the other lacks: a print view may have none, or more.

    Lines beside the main text may belong to a template. With two templates they count only if the pages share some.
    """
    mine, other = _without_places(new.shorts), _without_places(old.shorts)
    if not same_layout:
        is_alike = len(mine.items.keys() & other.items.keys()) >= MIN_LABELS
        return (is_alike and _any_differs(mine, other)) or _any_differs(_main_only(new.shorts), _main_only(old.shorts))
    (count, hashed), (others, other_hash) = new.all_shorts, old.all_shorts
    is_one_replaced = 0 < count == others <= MAX_SHORTS and hashed != other_hash
    return is_one_replaced or _any_differs(mine, other)


def _without_places(shorts: HashSample) -> HashSample:
    return shorts._replace(items={key & ~BESIDE: flags for key, flags in shorts.items.items()})


def _main_only(shorts: HashSample) -> HashSample:
    return shorts._replace(items={key: flags for key, flags in shorts.items.items() if not key & BESIDE})


def is_refresh(new: bytes, old: bytes) -> bool:
    """Return whether two versions of a page have the same names, prices, dates and measures.

    It is False if an identity cannot be read.
    """
    try:
        mine, other = _unpack(new), _unpack(old)
    except DamageError:
        return False
    return mine is not None and other is not None and mine.facts == other.facts and _named(mine) == _named(other)


def _named(identity: Identity) -> tuple[int, ...]:
    return tuple(sorted(identity.names.items))


@lru_cache(maxsize=UNPACKED)
def _unpack(identity: bytes) -> Identity | None:
    return unpack_identity(identity)


def _names_differ(
    new: HashSample, old: HashSample, equal_text: bool, *, same_body: bool, same_layout: bool, is_long: bool
) -> str:
    mine, _ = new.lacking(old)
    others, _ = old.lacking(new)
    if not mine or not others:
        return NAME_OF_ONE if _names_one(new, mine, old) or _names_one(old, others, new) else ""
    if is_long and _same_heading(new, old):
        return ""
    pair = _Names(new, mine, old, others)
    if min(mine) < TELLING > min(others):
        return NUMBERS_IN_NAMES
    if not equal_text:
        return _over_other_text(pair, same_body=same_body)
    # Siblings have one template. A view has another, and may have no name but the site's.
    return _over_equal_text(pair) if same_layout or not pair.is_view else ""


class _Names(NamedTuple):
    """The names of two pages, and what each has that the other lacks."""

    new: HashSample
    mine: list[int]
    old: HashSample
    others: list[int]

    def both(self, flag: int) -> bool:
        """Whether own tokens of both pages have this flag."""
        return _any(self.new, self.mine, flag) and _any(self.old, self.others, flag)

    @property
    def headed(self) -> bool:
        return self.both(HEADING)

    @property
    def one_heading(self) -> frozenset[int]:
        """The heading of both pages, which tells nothing about titles that differ; empty if they have two."""
        heading = _heading(self.new)
        return heading if heading == _heading(self.old) else frozenset()

    @property
    def about(self) -> float:
        """The share of a name's own tokens that are in its text: the larger of both shares; a single word counts as 0.

        If both have headings, a section that one title adds is no part of the name.
        """
        flag = HEADING if self.headed else HEADING | TITLE
        named = ((names, [key for key in own if names.items[key] & flag]) for names, own in self._both)
        return max(about(names.items, own) if _telling(own) > 1 else 0.0 for names, own in named)

    @property
    def about_in_body(self) -> float:
        """Like :attr:`about`, without the lines of the text that are a heading or title."""
        return max(about(names.items, own, BODY) if _telling(own) > 1 else 0.0 for names, own in self._both)

    @property
    def is_view(self) -> bool:
        """Whether one page has no heading and says its own names in its title only, and the other is named."""
        first, second = (_is_unnamed(names, own) for names, own in self._both)
        return first != second

    @property
    def _both(self) -> tuple[tuple[HashSample, list[int]], ...]:
        return (self.new, self.mine), (self.old, self.others)


def _over_other_text(pair: _Names, *, same_body: bool) -> str:
    # If only the lines that are the names differ, the names stand in both texts or in none.
    if pair.both(MAIN) and not (same_body and pair.about_in_body >= MIN_ABOUT):
        return NAMES_IN_TEXT
    return HEADINGS if pair.headed and pair.about < MIN_ABOUT else ""


def _over_equal_text(pair: _Names) -> str:
    if pair.about >= MIN_ABOUT:  # one content under two names; one may be "Print"
        return ""
    mine, others = _telling(pair.mine), _telling(pair.others)
    shared = _telling(key for key in pair.new.items.keys() & pair.old.items.keys() if key not in pair.one_heading)
    is_foreign = max(about(each.items, each.items) for each in (pair.new, pair.old)) < FOREIGN
    unlike = is_foreign or shared < MIN_ALIKE * (shared + mine + others)
    told_apart = pair.both(HEADING | BODY) or min(mine, others) >= (1 if is_foreign else MIN_TELLING)
    return NAMES_OVER_EQUAL_TEXT if pair.headed or (unlike and told_apart) else ""


def _telling(keys: Iterable[int]) -> int:
    return sum(key < FILLER for key in keys)


def _names_one(names: HashSample, lacking: Sequence[int], other: HashSample) -> bool:
    """Return whether one page has a name that the other lacks entirely, and the text is not about it.

    The other page may be a view of any page with this text.
    """
    own = _heading(names) or frozenset(names.items)
    if not lacking or not own <= {*lacking} or about(names.items, own) >= MIN_ABOUT:
        return False
    return not _is_site_name(names, own, other) and not _is_titled_like(names, other)


def _is_site_name(names: HashSample, heading: frozenset[int], other: HashSample) -> bool:
    """Return whether a heading names the site: the rest of the title is the heading of the other page."""
    title = {key for key, flags in names.items.items() if flags & TITLE}
    return heading < title and title - heading == _heading(other) and min(heading) >= TELLING


def _is_titled_like(names: HashSample, other: HashSample) -> bool:
    """Return whether a page's title contains the other page's heading, and that page's text is about its heading.

    The page's own heading may be one that many pages have.
    """
    heading = _heading(other)
    is_said = bool(heading) and about(other.items, heading) >= MIN_ABOUT
    return is_said and all(names.items.get(key, 0) & TITLE for key in heading)


def _heading(names: HashSample) -> frozenset[int]:
    return frozenset(key for key, flags in names.items.items() if flags & HEADING)


def _same_heading(new: HashSample, old: HashSample) -> bool:
    """Return whether one heading names both. One that both titles repeat may be that of the site."""
    heading = _heading(new)
    if not heading or heading != _heading(old):
        return False
    return not all(new.items[key] & old.items[key] & TITLE for key in heading)


def _is_unnamed(names: HashSample, own: Iterable[int]) -> bool:
    return not _any(names, names.items, HEADING) and not _any(names, own, BODY)


def _any(names: HashSample, some: Iterable[int], flags: int) -> bool:
    return any(names.items[key] & flags for key in some)


def _values_differ(new: HashSample, old: HashSample, *, is_brief: bool, is_foreign: bool) -> bool:
    """Return whether each page has many values that the other lacks.

    In a brief text, many strong values are enough. If the text is not about the names, one strong value is enough; if
    it is also brief, one value of any kind.
    """
    if _many_differ(new, old):
        return True
    strong = _strong(new), _strong(old)
    if is_foreign:
        return _any_differs(new, old) if is_brief else _any_differs(*strong)
    return is_brief and _many_differ(*strong)


def _strong(values: HashSample) -> HashSample:
    strong = {key: 0 for key in values.items if key < WEAK}
    return HashSample(strong, values.is_whole or len(strong) < len(values.items))


def _any_differs(new: HashSample, old: HashSample) -> bool:
    return bool(new.lacking(old)[0] and old.lacking(new)[0])


def _many_differ(new: HashSample, old: HashSample) -> bool:
    (mine, seen), (others, there) = new.lacking(old), old.lacking(new)
    return bool(mine and others) and len(mine) >= MIN_DIFFERING * seen and len(others) >= MIN_DIFFERING * there
