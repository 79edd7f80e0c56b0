"""Whether two pages whose texts match are about different things.

Two matching pages are *siblings*, such as two sizes of one screw, if each certainly has a unit that the other lacks: a
name, a value, a short fact or a sentence. A view of a page ("Print") has more units or fewer, but none of its own
beside one that it lacks. What the text is about decides which units count:

* Names count if they stand in the text, or if the text is about neither of them.
* If the text is about the name of its page, it is an article. Then half of its values must be its own, and beside it
  nothing counts. Sentences count if the text is brief and both have equally many: an edit removes or adds some.
* If it is about the name of neither page, one value, fact or sentence of its own is enough.
* Pages of two sites have names and surroundings of their own: only the text counts, and the order of its sentences.

A *telling* token of a name has four letters, or a sign at its end ("C++"), or is of a script without spaces; a *filler*
("the") is any other without digits. The *body* is the main text without the lines that repeat a name. A page is *about*
a name whose telling tokens are in it. *Beside* is what the page has around its main text.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.errors import DamageError
from dedupcrawl.identity.identity_codec import (
    BESIDE,
    BODY,
    FILLER,
    HEADING,
    MAIN,
    MAX_COUNT,
    TELLING,
    TITLE,
    WEAK,
    HashSample,
    unpack_identity,
)
from dedupcrawl.identity.names import MIN_ABOUT, about, is_about_its_name
from dedupcrawl.page.signatures import OTHER, compare_layouts, have_other_files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.identity.identity_codec import Identity


# Chosen on generated sites and on made copies of labelled pages (docs/methods-siblings.md, "Siblings").
FOREIGN = 0.25  #: a text with less than this share of the telling tokens of both names has nothing to do with them
MIN_TELLING = 2  #: two titles over one text differ if each has that many telling tokens of its own
MIN_DIFFERING = 0.5  #: share of its values that each page must have for itself
MIN_OWN_VALUES = 3  #: the same on two sites, as a number, in texts that are not brief
MIN_COMMON, MAX_INVERTED = 4, 0.25  #: common sentences whose order counts, and share of their pairs in another order

NAMES_IN_TEXT = "names, each in its own text"
HEADINGS = "headings over a text that is about neither"
NUMBERS_IN_NAMES = "numbers in the names"
NAMES_OVER_EQUAL_TEXT = "names over one text that is about neither"
NAME_OF_ONE = "the name of one over a text that is not about it"
VALUES = "values in the text"
VALUES_BESIDE = "values beside a text that is not about the name"
SHORT_FACTS = "short facts with a text that is not about the name"
FILES = "lists of files"
SENTENCES = "sentences of each text that the other lacks"
SENTENCES_OF_TEMPLATE = "sentences of each text, which is a template by a third page"
ORDER = "the order of the sentences"
UNPACKED = 2048  #: identities that are kept unpacked, about 4 kB each: pages of a template meet the same ones again

#: In place of a reason: an identity is damaged or of an unknown kind. It is not known whether the pages are copies.
UNREADABLE = "unreadable-identity"


def why_siblings(new: bytes, old: bytes, *, equal_text: bool, by_sentences: bool = True) -> str:
    """Return why two pages of one site are no copies; "" if they may be, ``UNREADABLE`` if an identity is damaged.

    Args:
        new: identity of one page, see :func:`dedupcrawl.identity.identity_sketch.sketch_identity`. One without names
            and values is a copy of any.
        old: identity of the other.
        equal_text: whether their main texts are equal.
        by_sentences: whether sentences tell the pages apart too. They do not for two versions or parts of one page.
    """
    both = _both(new, old)
    if isinstance(both, str):
        return both
    mine, other = both
    why = "" if equal_text else _names_in_both_texts(mine, other)
    if why or have_other_files(new, old):
        return why or FILES
    same_layout = compare_layouts(new, old) != OTHER
    return _why_different_things(mine, other, same_layout=same_layout, equal_text=equal_text, by_sentences=by_sentences)


def reference_names_apart(new: bytes, olds: list[bytes]) -> Sequence[str]:
    """Return the result of :func:`dedupcrawl.matching.names_apart`, like compiled code."""
    pairs = [_both(new, old) for old in olds]
    return ["" if isinstance(pair, str) else _names_in_both_texts(*pair) for pair in pairs]


class _KnownIdentity(NamedTuple):
    """An identity, and what is found out about it once for all pages that it is compared with."""

    identity: Identity
    names: frozenset[int]
    in_text: frozenset[int]  #: names in the main text; none if the sketch lacks names of the page
    is_about_its_name: bool


@lru_cache(UNPACKED)
def _known(identity: bytes) -> _KnownIdentity | None:
    """Unpack an identity; errors and None as those of :func:`unpack_identity`."""
    found = unpack_identity(identity)
    if found is None:
        return None
    names = found.names.items
    in_text = [key for key, flags in names.items() if flags & MAIN] if found.names.is_whole else []
    return _KnownIdentity(found, frozenset(names), frozenset(in_text), is_about_its_name(names))


def _both(new: bytes, old: bytes) -> tuple[_KnownIdentity, _KnownIdentity] | str:
    """Unpack two identities; "" if a page has none, ``UNREADABLE`` if one is damaged."""
    try:
        mine, other = _known(new), _known(old)
    except DamageError:
        return UNREADABLE
    return (mine, other) if mine is not None and other is not None else ""


def _names_in_both_texts(mine: _KnownIdentity, other: _KnownIdentity) -> str:
    """Return how the names differ if each page certainly has own ones in its text, and another text; else ""."""
    if mine.in_text <= other.names or other.in_text <= mine.names or mine.identity.body == other.identity.body > 0:
        return ""
    have_numbers = min(mine.names - other.names) < TELLING > min(other.names - mine.names)
    return NUMBERS_IN_NAMES if have_numbers else NAMES_IN_TEXT


def _why_different_things(
    new: _KnownIdentity, old: _KnownIdentity, *, same_layout: bool, equal_text: bool, by_sentences: bool
) -> str:
    mine, other, pair = new.identity, old.identity, _Names.of(new.identity, old.identity)
    if why := pair.why_different(equal_text=equal_text, same_layout=same_layout):
        return why
    # The text is about the name of neither: what the pages say of the item is short, or beside the text.
    is_foreign = not (new.is_about_its_name or old.is_about_its_name)
    is_brief = mine.is_brief and other.is_brief
    if not equal_text and _values_differ(mine.inner, other.inner, is_brief=is_brief, is_foreign=is_foreign):
        return VALUES
    if is_foreign and _values_differ(mine.outer, other.outer, is_brief=is_brief, is_foreign=True):
        return VALUES_BESIDE
    # Short lines beside the text belong to the template: they count if both pages have it. Equal texts have equal ones.
    if is_foreign and mine.shorts.differs(other.shorts, BESIDE * (not same_layout), only=BESIDE * equal_text):
        return SHORT_FACTS
    # Sentences are compared only if both pages have a name.
    is_compared = by_sentences and not equal_text and mine.names.items and other.names.items
    return SENTENCES if is_compared and _sentences_differ(mine, other, adds_word=pair.adds_word) else ""


def _sentences_differ(mine: Identity, other: Identity, *, adds_word: bool) -> bool:
    """Return whether each page has sentences of its own.

    When an article is edited some of its sentences or numbers change. Two pages of a template have equally many.
    """
    if adds_word or not (mine.is_article or other.is_article):
        return mine.sentences.differs(other.sentences)
    are_forms = mine.is_brief and other.is_brief and mine.sentences.number == other.sentences.number
    return are_forms and (mine.sentences.is_as_many(other.sentences) or mine.inner.is_as_many(other.inner))


def why_different(new: bytes, old: bytes, *, equal_text: bool = False, of_template: bool = False) -> str:
    """Return why two pages of two sites are no copies; "" if they may be, ``UNREADABLE`` if an identity is damaged.

    Reprints have other titles, other facts beside the text, and more or fewer lines, but the same numbers. So two brief
    texts are different pages if each has a number that the other lacks. A longer text may be read with a number of the
    site: there half must differ, and three. Texts that differ in short facts alone are two forms that were filled in
    (colour, maker). Two lists of the same short texts, as of news, have them in another order.

    Args:
        new: identity of one page, see :func:`dedupcrawl.identity.identity_sketch.sketch_identity`.
        old: identity of the other.
        equal_text: whether their main texts are equal.
        of_template: whether a third kept page shows that the text of one of them is a template. Then the sentences
            that each has for itself decide, however many they are.
    """
    both = _both(new, old)
    if isinstance(both, str):
        return both
    mine, other = (each.identity for each in both)
    why = VALUES if _have_other_numbers(mine, other) else FILES if have_other_files(new, old) else ""
    if why or equal_text:
        return why
    if are_reordered(mine.sentences.items, other.sentences.items):
        return ORDER
    if _have_other_facts(mine, other):
        return SHORT_FACTS
    return SENTENCES_OF_TEMPLATE if of_template and mine.sentences.differs(other.sentences) else ""


def _have_other_numbers(mine: Identity, other: Identity) -> bool:
    """Return whether each page has a number of its own in a brief text, or else many, as in a table of facts."""
    if mine.is_brief and other.is_brief:
        return mine.inner.differs(other.inner)
    return _many_differ(mine.inner, other.inner, MIN_OWN_VALUES)


def _have_other_facts(mine: Identity, other: Identity) -> bool:
    """Return whether two texts with equally many sentences differ in short facts alone, and share some: two forms."""
    pairs, shared = ((mine, other), (other, mine)), mine.shorts.items.keys() & other.shorts.items
    is_form = mine.sentences.number == other.sentences.number > 0 and any(not mine.shorts.items[key] for key in shared)
    return is_form and all(
        len(one.shorts.own(two.shorts, BESIDE)) >= max(1, len(one.sentences.own(two.sentences))) for one, two in pairs
    )


def are_reordered(mine: Iterable[int], others: Iterable[int]) -> bool:
    """Return whether many pairs of common sentences stand in the other order.

    >>> are_reordered([1, 2, 3, 4, 9], [8, 3, 4, 1, 2]), are_reordered([1, 2, 3, 4], [2, 1, 3, 4])
    (True, False)
    """
    places = {each: place for place, each in enumerate(others)}
    pairs = [*combinations([places[each] for each in mine if each in places], 2)]
    return len(pairs) >= comb(MIN_COMMON, 2) and sum(one > two for one, two in pairs) > MAX_INVERTED * len(pairs)


def is_refresh(new: bytes, old: bytes) -> bool:
    """Return whether two versions of a page have equal names, prices, dates and measures; False if one is damaged."""
    both = _both(new, old)
    facts = () if isinstance(both, str) else [(each.identity.facts, each.names) for each in both]
    return len({*facts}) == 1


class _Names(NamedTuple):
    """The names of two pages, and what each certainly has that the other lacks."""

    both: tuple[tuple[HashSample, list[int], HashSample], ...]  #: of each page: all, its own, and those of the other
    same_body: bool  #: whether the texts without the lines of the names are equal
    same_around: bool  #: whether all text beside the main text is equal

    @classmethod
    def of(cls, new: Identity, old: Identity) -> _Names:
        mine, others = new.names.lacking(old.names)[0], old.names.lacking(new.names)[0]
        both = (new.names, mine, old.names), (old.names, others, new.names)
        return cls(both, new.body == old.body > 0, new.around == old.around > 0)

    def why_different(self, *, equal_text: bool, same_layout: bool) -> str:
        """Return how the names differ; "" if they may be those of one page."""
        mine, others = (own for _, own, _ in self.both)
        if not mine or not others:
            return NAME_OF_ONE if any(_names_one(*each, same_layout) for each in self.both) else ""
        if min(mine) < TELLING > min(others):
            return NUMBERS_IN_NAMES
        if not equal_text:
            return self._over_other_text()
        if self.same_around and not any(_any(names, own, HEADING | BODY) for names, own, _ in self.both):
            return ""  # nothing on the pages differs but their titles
        # Siblings have one template. A view has another, and may have no name but the site's.
        return self._over_equal_text() if same_layout or not self._is_view else ""

    @property
    def adds_word(self) -> bool:
        """Whether one name only has more telling words, and one of them stands in its heading and its text."""
        added = [names.items[key] & (HEADING | BODY) for names, own, _ in self.both for key in own if key < FILLER]
        return not all(own for _, own, _ in self.both) and HEADING | BODY in added

    def _have(self, flag: int) -> bool:
        """Whether own tokens of both pages have this flag."""
        return all(_any(names, own, flag) for names, own, _ in self.both)

    def _about(self, own_place: int = HEADING | TITLE, place: int = MAIN) -> float:
        """Return the share of a name's own tokens that are in its text: the larger of both; a single word counts 0."""
        named = ((names, [key for key in own if names.items[key] & own_place]) for names, own, _ in self.both)
        return max(about(names.items, own, place) if _telling(own) > 1 else 0.0 for names, own in named)

    @property
    def _is_view(self) -> bool:
        """Whether one page has no heading and says its own names in its title only, and the other is named."""
        first, second = (_heading(names) or _any(names, own, BODY) for names, own, _ in self.both)
        return bool(first) != bool(second)

    def _over_other_text(self) -> str:
        # If only the lines that are the names differ, the names stand in both texts or in none.
        if self._have(MAIN) and not (self.same_body and self._about(place=BODY) >= MIN_ABOUT):
            return NAMES_IN_TEXT
        return HEADINGS if self._have(HEADING) and self._about(HEADING) < MIN_ABOUT else ""

    def _over_equal_text(self) -> str:
        headed = self._have(HEADING)
        # One content under two names; one may be "Print". A section that one title adds is no part of a heading.
        if self._about(HEADING if headed else HEADING | TITLE) >= MIN_ABOUT:
            return ""
        is_foreign = max(about(each.items, each.items) for each, _, _ in self.both) < FOREIGN
        told_apart = headed or is_foreign or min(_telling(own) for _, own, _ in self.both) >= MIN_TELLING
        return NAMES_OVER_EQUAL_TEXT if told_apart else ""


def _telling(keys: Iterable[int]) -> int:
    return sum(key < FILLER for key in keys)


def _names_one(names: HashSample, lacking: Sequence[int], other: HashSample, same_layout: bool) -> bool:
    """Return whether one page has a name that the other lacks entirely, and the text is not about it.

    The other page may be a view of any page with this text, but not if the heading adds words to its heading.
    """
    own, heading = _heading(names) or frozenset(names.items), _heading(other)
    if not lacking or about(names.items, own) >= MIN_ABOUT:
        return False
    if not own <= {*lacking}:
        return same_layout and frozenset() < heading < own and _telling(own & {*lacking}) > 0
    # Its own heading may be one that many pages have, and its title may contain that of the other.
    is_titled_like = all(names.items.get(key, 0) & TITLE for key in heading)
    return not (heading and is_titled_like and about(other.items, heading) >= MIN_ABOUT)


def _heading(names: HashSample) -> frozenset[int]:
    return frozenset(key for key, flags in names.items.items() if flags & HEADING)


def _any(names: HashSample, some: Iterable[int], flags: int) -> bool:
    return any(names.items[key] & flags for key in some)


def _values_differ(new: HashSample, old: HashSample, *, is_brief: bool, is_foreign: bool) -> bool:
    """Return whether each page has many values that the other lacks.

    In a brief text, many strong values are enough. If the text is not about the names, one strong value is enough; if
    it is also brief, one value of any kind.
    """
    strong = _strong(new), _strong(old)
    if is_foreign and (new.differs(old) if is_brief else strong[0].differs(strong[1])):
        return True
    return _many_differ(new, old) or (is_brief and _many_differ(*strong))


def _strong(values: HashSample) -> HashSample:
    strong = {key: 0 for key in values.items if key < WEAK}
    is_whole = values.is_whole or len(strong) < len(values.items)
    return HashSample(strong, len(strong) if is_whole else MAX_COUNT)


def _many_differ(new: HashSample, old: HashSample, least: int = 1) -> bool:
    (mine, seen), (others, there) = new.lacking(old), old.lacking(new)
    return len(mine) >= max(least, MIN_DIFFERING * seen) and len(others) >= max(least, MIN_DIFFERING * there)
