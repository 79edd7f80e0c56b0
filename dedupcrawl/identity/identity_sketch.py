"""The sketch of a page: its *names* (heading and title), *values* (tokens with digits), short facts and sentences.

Values beside the main text, and short facts, are stored only if the main text is not about the name of its page:
beside an article they belong to the site.

Names, values and short facts are bottom-k samples: the k lowest hashes in an order that all pages share (Broder, *On
the resemblance and containment of documents*, 1997), so that the samples of two pages can be compared.

A page without main text, which is compared by all its visible text, has a mark of one byte instead of a sketch:
the reason why it stays unchecked if no earlier page has the same text.

Compiled code finds names and values, if it could be built. Otherwise its reference :class:`ReferenceSketcher` finds
them.
"""

from __future__ import annotations

import unicodedata
from array import array
from functools import lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.identity.identity_codec import (
    BESIDE,
    BODY,
    BODY_BITS,
    FACTS_BITS,
    FILLER,
    HEADING,
    MAX_NAMES,
    MAX_VALUES,
    SAID,
    TITLE,
    UNREAD,
    UNREAD_BYTES,
    VALUE_BITS,
    WEAK,
    HashSample,
    Identity,
    pack_identity,
)
from dedupcrawl.identity.names import (
    UNSPACED,
    VIEW_WORDS,
    is_about_its_name,
    is_long_heading,
    name_key,
    own_name,
    stands_in,
)
from dedupcrawl.identity.sentence_sketches import (
    MAX_TOKEN_BYTES,
    POINTING_BEGINS,
    count_hashes,
    has_view_word,
    lines_of,
    sentences_of,
    sign_hashes,
    without_view_lines,
)
from dedupcrawl.identity.token_hashes import hash_of, hashes_of, keyed_bytes
from dedupcrawl.identity.values import (
    BACKWARDS,
    HAN_NUMERALS,
    MAX_SHORTS,
    other_text,
    page_values,
    short_facts,
    word_sets,
)
from dedupcrawl.page.signatures import with_layout, without_layout
from dedupcrawl.text.features import (
    Features,
    compared_text,
    encode_normalized,
    is_compiled,
    loaded,
    normalizer,
    with_ascii_digits,
)
from dedupcrawl.text.normalize import CODE, decode, pack, simplify
from dedupcrawl.text.shingles import CACHED_SEEDS, seeded_hash

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from dedupcrawl.page.model import Page
    from dedupcrawl.text._kernel import IdentitySketcher

MAX_SEARCHED = 4096  #: bytes of a text in which names are looked for
MAX_NAME_CHARS = 1000  #: characters of a heading or title that are read
MAX_COUNTED = 6000  #: maximum bytes of a text with counted sentences that is not about its name; else it must be brief
MAX_BRIEF = 2000  #: bytes of a brief text, such as a notice: in a longer one a single date or price is a detail
MAX_SIGNED = 2000  #: maximum characters of a text about its name with signed lines: a form, rather than an article


_CONTINUING = bytes(range(0x80, 0xC0))  #: all bytes of a character but its first one


def sketch_identity(page: Page, text: bytes, seed: int, *, fold_chinese: bool = False) -> bytes:
    """Return the identity of a page: the signature of its layout, and the sketch of its names and values.

    It has 10 to 90 bytes.

    Args:
        page: the page.
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        seed: key of the hashes, 0…2⁶⁴ - 1.
        fold_chinese: whether traditional characters of names are converted to simplified ones, as in the text.
    """
    sketcher = sketcher_of(seed)
    named = (_folded_name(page.heading, fold_chinese=fold_chinese), _folded_name(page.title, fold_chinese=fold_chinese))
    sketch = None
    if not isinstance(sketcher, ReferenceSketcher):
        plain = normalizer(False)
        folding = normalizer(True) if fold_chinese else plain
        shown, texts = (page.heading, page.title), (page.text, page.rest)
        sketch = sketcher.sketch(named, shown, texts, page.stated, page.beside, text, plain, folding, seed)
    if sketch is None:
        sketch = _sketch_in_steps(page, named, text, sketcher, seed, fold_chinese=fold_chinese)
    return with_layout(page.layout, sketch, page.removed)


def _sketch_in_steps(
    page: Page,
    named: tuple[str, str],
    text: bytes,
    sketcher: ReferenceSketcher | IdentitySketcher,
    seed: int,
    *,
    fold_chinese: bool,
) -> bytes:
    """Return the sketch of a page, see :func:`sketch_identity`; ``named`` are the folded heading and title."""
    heading, title = named
    names, state = sketcher.names(heading, title, text)
    is_about = bool(state & IS_ABOUT)
    body = body_of(page, named, state, text) if state & (HEADING_STANDS | TITLE_STANDS) else None
    if body is not None:
        inside, _ = sketcher.names(heading, title, body)
        names = {key: flags & ~SAID | inside[key] & SAID for key, flags in names.items()}
    # The heading is shown anyway: what a title says beside it does not matter.
    if state & IS_MISSING and page.beside and not state & HAS_HEADING:
        beside = encode_normalized(page.beside[:MAX_SEARCHED], fold_chinese=fold_chinese)
        inside, _ = sketcher.names(heading, title, beside)
        names = {key: flags | inside[key] & SAID for key, flags in names.items()}
    if body is not None:
        is_about = is_about_its_name(names)
    stated, lines = (b"", b"") if is_about else other_text(page)
    is_brief = len(text) < MAX_BRIEF
    is_counted = len(text) < MAX_COUNTED and len(text) < _most_counted(state, title, is_about=is_about)
    is_signed = is_about and _may_be_signed(text)
    text = with_ascii_digits(text)
    said = _said_lines(page, state, sketcher, fold_chinese=fold_chinese) if is_counted or is_signed else b""
    counts = sketcher.signature(said) if is_signed else b""
    if is_counted:
        counts += sketcher.sentences(said, is_brief and not is_about)
    return sketcher.pack(
        names,
        sketcher.values(text, with_ascii_digits(stated) if stated else stated),
        _NO_SHORTS if is_about else sketcher.shorts(stated, lines),
        (-1 if body is None else int.from_bytes(seeded_hash(body, BODY_BITS // 8, seed), "big"), counts),
        state & (ALL_NAMES | IS_LONG) | IS_BRIEF * is_brief,
    )


#: What is known about the names of a page. ``HEADING_STANDS`` and ``TITLE_STANDS``: a name stands in the text, and none
#: of the heading or title is missing there. The last one is about the text.
ALL_NAMES, IS_LONG, HAS_HEADING, HEADING_STANDS, TITLE_STANDS, IS_MISSING, IS_ABOUT, IS_BRIEF = (
    1 << bit for bit in range(8)
)


#: The samples of the values of the main text and of those beside it, and the hash of the facts. A sample is sorted, and
#: has at most one hash more than is stored: then it is not whole.
FoundValues = tuple[list[int], list[int], int]
#: The sample of the short facts, their number, at most ``MAX_SHORTS + 1``, and the hash of them all.
FoundShorts = tuple[list[int], int, int]
_NO_SHORTS: FoundShorts = ([], 0, 0)


class ReferenceSketcher:
    """Finds names and values of pages, and packs them.

    Args:
        seed: key of the hashes.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._table = keyed_bytes(seed)

    def names(self, heading: str, title: str, text: bytes) -> tuple[dict[int, int], int]:
        """Return the sample of a page's names with their flags, sorted, and what is known about them.

        Args:
            heading: the folded heading.
            title: the folded title.
            text: the normalised text in which the names are looked for.
        """
        own = own_name(heading), own_name(title)
        tokens = sorted((name_key(token[:MAX_TOKEN_BYTES], self._seed), token) for token in own[0] | own[1])
        names: dict[int, int] = {}
        text, is_whole = text[:MAX_SEARCHED], True
        for key, token in tokens:
            is_whole = key in names or len(names) < MAX_NAMES
            if not is_whole:
                break
            flags = names.get(key, 0) | HEADING * (token in own[0]) | TITLE * (token in own[1])
            names[key] = flags | BODY if key < FILLER and stands_in(token, text) else flags
        missing = reduce(or_, (flags for key, flags in names.items() if key < FILLER and not flags & SAID), 0)
        stands = bool(reduce(or_, names.values(), 0) & SAID)
        state = ALL_NAMES * is_whole | IS_LONG * is_long_heading(own[0]) | HAS_HEADING * bool(own[0])
        state |= HEADING_STANDS * (stands and not missing & HEADING) | TITLE_STANDS * (stands and not missing & TITLE)
        return names, state | IS_MISSING * bool(missing) | IS_ABOUT * is_about_its_name(names)

    def values(self, text: bytes, beside: bytes) -> FoundValues:
        """Return the values of a page.

        Args:
            text: its normalised text.
            beside: the text beside it, see :func:`dedupcrawl.identity.values.other_text`.
        """
        found = page_values(text, beside)
        inner, outer = (
            sorted(
                {
                    each >> 32 - VALUE_BITS | (0 if is_strong else WEAK)
                    for each, is_strong in zip(self._hashes(values), values.values(), strict=True)
                }
            )
            for values in (found.inner, found.outer)
        )
        return inner[: MAX_VALUES + 1], outer[: MAX_VALUES + 1], self._hash(found.facts) >> 32 - FACTS_BITS

    def shorts(self, beside: bytes, lines: bytes) -> FoundShorts:
        """Return the short facts of a page.

        Args:
            beside: the text beside the main text, see :func:`dedupcrawl.identity.values.other_text`.
            lines: the short lines of the main text.
        """
        # A line of both is one of the main text, as the later one.
        facts = short_facts(beside, lines)
        found = {each: BESIDE * is_beside for each, is_beside in zip(self._hashes(facts), facts.values(), strict=True)}
        sample = sorted({each >> 32 - VALUE_BITS << 1 | is_beside for each, is_beside in found.items()})
        return sample[: MAX_VALUES + 1], min(len(found), MAX_SHORTS + 1), sum(found) >> 8 & (1 << FACTS_BITS) - 1

    def sentences(self, lines: bytes, with_values: bool) -> bytes:
        """Return the counts of a page's sentences, and of its values.

        The counts are the number modulo 256, the sums of the hashes and of their squares modulo
        :data:`~dedupcrawl.identity.sentence_sketches.PRIME`, and the numbers in ``BUCKETS`` buckets, modulo 4. They are
        linear, so that the counts of two pages can be subtracted.

        Args:
            lines: its normalised lines, with NUL between them.
            with_values: whether to count its values.
        """
        counts = count_hashes(self._hashes(sentences_of(lines)))
        if not with_values:
            return counts
        return counts + count_hashes({*self._hashes(page_values(lines.replace(b"\0", b" ")).inner)})

    def signature(self, lines: bytes) -> bytes:
        """Return the signature of a page's lines: their number modulo 8, and a hash of them.

        Args:
            lines: its normalised lines, with NUL between them.
        """
        return sign_hashes([self._hash(each) for each in lines_of(lines)])

    has_view_word = staticmethod(has_view_word)

    @staticmethod
    def pack(
        names: dict[int, int], values: FoundValues, shorts: FoundShorts, said: tuple[int, bytes], state: int
    ) -> bytes:
        """Return the bytes of a sketch.

        Args:
            names: see :meth:`names`.
            values: see :meth:`values`.
            shorts: see :meth:`shorts`.
            said: the hash of the body, -1 without one, and the counts of :meth:`sentences`, behind the
                :meth:`signature` of the lines of a text that is about the name; each may be empty.
            state: ``ALL_NAMES``, ``IS_LONG`` and ``IS_BRIEF``.
        """
        inner, outer, short = (
            HashSample(dict.fromkeys(each[:MAX_VALUES], 0), len(each) <= MAX_VALUES)
            for each in (*values[:2], shorts[0])
        )
        return pack_identity(
            Identity(
                HashSample(names, bool(state & ALL_NAMES)),
                inner,
                outer,
                values[2],
                said[0],
                short,
                (0, 0) if short.is_whole else shorts[1:],
                bool(state & IS_LONG),
                bool(state & IS_BRIEF),
                said[1],
            )
        )

    def _hash(self, text: bytes) -> int:
        return hash_of(text, self._table)

    def _hashes(self, tokens: Collection[bytes]) -> list[int]:
        """Return the hashes of tokens without line breaks."""
        return hashes_of(tokens, self._table)


@lru_cache(CACHED_SEEDS)
def sketcher_of(seed: int) -> ReferenceSketcher | IdentitySketcher:
    """Return the sketcher of identities with the hashes of a seed: compiled code, or without it the reference."""
    if not is_compiled():
        return ReferenceSketcher(seed)
    forwards, backwards = word_sets()[:-BACKWARDS], word_sets()[-BACKWARDS:]
    sets = (*forwards, tuple(each.encode() for each in VIEW_WORDS), POINTING_BEGINS, *backwards)
    made: IdentitySketcher = loaded().IdentitySketcher(
        keyed_bytes(seed), array("I", map(ord, UNSPACED)), HAN_NUMERALS, sets
    )
    return made


_MARKS = {reason: mark for mark, reason in UNREAD.items()}


def unread_identity(page: Page) -> bytes:
    """Return the identity of a page without main text: the reason, "index" or "empty", in place of a sketch."""
    return with_layout(page.layout, _MARKS[str(page.kind)])


def unread_reason(identity: bytes) -> str:
    r"""Return why a page has no main text, "" for one that has.

    >>> unread_reason(bytes(4) + b"\1"), unread_reason(bytes(12))
    ('index', '')
    """
    return UNREAD.get(without_layout(identity), "") if len(identity) == UNREAD_BYTES else ""


def body_of(page: Page, named: Sequence[str], state: int, text: bytes) -> bytes | None:
    """Return the normalised text without the lines that are the heading or the title; None if there is no such line.

    Such lines are looked for in the first ``MAX_SEARCHED`` characters.

    Args:
        page: the page.
        named: the folded heading and title.
        state: what is known about them.
        text: the normalised text of the page.
    """
    whole = compared_text(page)[:MAX_SEARCHED]
    shown = {page.heading: (named[0], HEADING_STANDS), page.title: (named[1], TITLE_STANDS)}
    lines = {line: name for line, (name, flag) in shown.items() if line and state & flag and line in whole}
    if not lines:
        return None
    all_lines, body, is_shown = whole.split("\n"), b" %b " % text, False
    for line, name in lines.items():
        normalized = b" %b " % " ".join(name.split()).encode("utf-8", "surrogatepass")
        for _ in range(all_lines.count(line)):
            before, found, after = body.partition(normalized)
            body, is_shown = before + found[:1] + after, True
    return body.strip() if is_shown else None


def _said_lines(page: Page, state: int, sketcher: ReferenceSketcher | IdentitySketcher, *, fold_chinese: bool) -> bytes:
    """Return the normalised lines of the text, without those that only views have; NUL is between them.

    Lines that are the heading or title are left out if the name stands elsewhere in the text, see :func:`body_of`.
    """
    named = {name for name, flag in ((page.heading, HEADING_STANDS), (page.title, TITLE_STANDS)) if state & flag}
    text = compared_text(page)
    if any(f"\n{name}\n" in f"\n{text}\n" for name in named):  # of few pages: lines are split slowly
        text = "\n".join([line for line in text.split("\n") if line not in named])
    lines = encode_normalized(text.replace("\n", "\0"), fold_chinese=fold_chinese)
    return with_ascii_digits(without_view_lines(lines, sketcher.has_view_word))


def _may_be_signed(text: bytes) -> bool:
    """Return whether a text has less than ``MAX_SIGNED`` characters, of three bytes on average at most."""
    if len(text) < MAX_SIGNED:
        return True
    is_long = len(text) >= 3 * MAX_SIGNED or text.isascii()
    return not is_long and len(text.translate(None, _CONTINUING)) < MAX_SIGNED


def _most_counted(state: int, title: str, *, is_about: bool) -> int:
    """Return the maximum length of a text with counted sentences. Those of an article are not counted.

    An article has a long heading, or no heading and a long title that stands in its text.
    """
    if not is_about:
        return MAX_COUNTED
    is_titled = state & TITLE_STANDS and not state & HAS_HEADING and is_long_heading(own_name(title))
    return 0 if state & IS_LONG or is_titled else MAX_BRIEF


class SketchTexts(NamedTuple):
    """The texts behind the hashes of a sketch."""

    names: dict[int, str]
    values: dict[int, str]  #: of the main text and beside it


def label_identity(page: Page, seed: int, *, fold_chinese: bool = False) -> SketchTexts:
    """Return the texts of all names and values of a page, by their hashes in sketches under ``seed``."""
    heading, title = (own_name(_folded_name(name, fold_chinese=fold_chinese)) for name in (page.heading, page.title))
    found = page_values(
        with_ascii_digits(Features(page, fold_chinese).encoded), with_ascii_digits(other_text(page).beside)
    )
    table = keyed_bytes(seed)
    return SketchTexts(
        {name_key(token[:MAX_TOKEN_BYTES], seed): token for token in heading | title},
        {
            hash_of(value, table) >> 32 - VALUE_BITS | WEAK * (not is_strong): value.decode("utf-8", "replace")
            for value, is_strong in (found.inner | found.outer).items()
        },
    )


def _folded_name(name: str, *, fold_chinese: bool) -> str:
    name = name[:MAX_NAME_CHARS]
    if name.isascii():
        return name.lower()
    folded = decode(simplify(pack(name)) & CODE) if fold_chinese else unicodedata.normalize("NFKC", name).casefold()
    return folded[:MAX_NAME_CHARS]  # folding may lengthen a text
