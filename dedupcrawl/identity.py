"""The identity of a page on its own site: a small sketch of its names and values.

Pages of one site may share a template, terms of sale, a consent text or an author's biography, and with them
nearly all text that is read as main text. A few words tell such pages apart: the *names* (heading and title)
and the *values* (tokens with digits: sizes, dates, prices). :mod:`dedupcrawl.siblings` compares two sketches, and
:mod:`dedupcrawl.identity_codec` packs them.

Values beside the main text and short facts are stored only of a page whose main text is not about its name: beside an
article they belong to the site.

Names, values and short facts are bottom-k samples: the k lowest hashes in an order that all pages share (Broder, *On
the resemblance and containment of documents*, 1997), so that the samples of two pages can be compared.

A page without main text, which is compared by all its visible text, has a mark of one byte instead of a sketch:
the reason why it stays unchecked if no earlier page has the same text.

Compiled code finds names and values where it could be built. :class:`ReferenceSketcher` is its reference, and takes its
place elsewhere.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from functools import cache, lru_cache, reduce
from operator import or_
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from dedupcrawl.identity_codec import (
    BESIDE,
    BODY,
    BODY_BITS,
    DIGIT,
    FACTS_BITS,
    FILLER,
    HASH_BITS,
    HEADING,
    MAIN,
    MAX_NAMES,
    MAX_VALUES,
    SAID,
    TELLING,
    TITLE,
    UNREAD,
    UNREAD_BYTES,
    VALUE_BITS,
    WEAK,
    Identity,
    Sample,
    pack_identity,
)
from dedupcrawl.page.rules import word_set
from dedupcrawl.page.signatures import with_layout, without_layout
from dedupcrawl.sentence_sketches import (
    MAX_TOKEN_BYTES,
    POINTING_BEGINS,
    count_hashes,
    has_view_word,
    lines_of,
    sentences_of,
    sign_hashes,
    without_view_lines,
)
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
from dedupcrawl.text.shingles import CACHED_SEEDS, seeded_hash, split_mix
from dedupcrawl.values import BACKWARDS, HAN_NUMERALS, MAX_SHORTS, other_text, page_values, short_facts, word_sets

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from dedupcrawl.page.model import Page
    from dedupcrawl.text._kernel import IdentitySketcher

MIN_TELLING_LENGTH = 4  #: shorter words ("the", "of") do not show what a text is about
MAX_SEARCHED = 4096  #: bytes of a text in which names are looked for
MAX_NAME_CHARS = 1000  #: characters of a heading or title that are read
MAX_COUNTED = 6000  #: bytes of a text that is not about its name, whose sentences are counted; else it must be brief
MAX_BRIEF = 2000  #: bytes of a brief text, such as a notice: in a longer one a single date or price is a detail
MAX_SIGNED = 2000  #: characters of a text about its name, whose lines are signed: a form, rather than an article
MIN_ABOUT = 0.5  #: a text with at least this share of a name's telling tokens is about that name
#: Telling tokens of a heading that names one page, not a kind of pages ("Our doctors"). A pair of characters of a text
#: without spaces counts as a third of one.
LONG_HEADING = 4
#: Words of titles that name a view of a page, not its topic.
VIEW_WORDS = word_set(
    "print printer printable friendly version amp mobile page view untitled 打印 印本 本页 列印"
    " druckversion druckansicht drucken druckbare ansicht seite"
    " imprimer imprimable impression imprimir impresión imprimible versión versão impressão para página"
    " stampa stampare stampabile versione pagina afdrukken afdrukversie printversie utskrift utskriftsvänlig skriv"
    " wersja druku drukuj wydruk печать печати версия для страницы распечатать"
    " 印刷 刷用 用ペ ペー ージ 印刷用 인쇄 쇄용"
)

_HASHED = 0xFFFFFFFF
_MULTIPLIER = 0x9E3779B1  #: 2^32 / golden ratio: spreads the low bits of a CRC to the high ones

_words = re.compile(r"[^\W_]+").findall
#: The first and the last character of each range of scripts without spaces.
_UNSPACED = "\u0e00\u0eff\u1000\u109f\u1780\u17ff\u3040\u30ff\u3400\u9fff\uf900\ufaff"
_UNSPACED_RUN = f"[{''.join(map('-'.join, zip(_UNSPACED[::2], _UNSPACED[1::2], strict=True)))}]+"
_LETTERS = frozenset(
    (*b"abcdefghijklmnopqrstuvwxyz0123456789", *range(0x80, 0x100))
)  #: bytes within words of a folded text
_unspaced_parts = re.compile(f"({_UNSPACED_RUN})").split
_is_unspaced = re.compile(_UNSPACED_RUN).match
_has_digit = re.compile(r"\d").search


def name_tokens(text: str) -> list[str]:
    """Return the words of a folded name; text without spaces gives pairs of characters.

    A single Han character would occur in most texts by accident; a pair rarely does.

    >>> name_tokens("bolt m3, 沪指涨")
    ['bolt', 'm3', '沪指', '指涨']
    """
    found = _words(text)
    if text.isascii():
        return found
    tokens: list[str] = []
    for word in found:
        for part in filter(None, _unspaced_parts(word)):
            if _is_unspaced(part):
                tokens += [part[at : at + 2] for at in range(max(1, len(part) - 1))]
            else:
                tokens.append(part)
    return tokens


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
    sketcher = _sketcher(seed)
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
    body = _body(page, named, state, text) if state & (HEADING_STANDS | TITLE_STANDS) else None
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
        self._table = _keyed_bytes(seed)

    def names(self, heading: str, title: str, text: bytes) -> tuple[dict[int, int], int]:
        """Return the sample of a page's names with their flags, sorted, and what is known about them.

        Args:
            heading: the folded heading.
            title: the folded title.
            text: the normalised text in which the names are looked for.
        """
        own = _own_name(heading), _own_name(title)
        tokens = sorted((_name_key(token[:MAX_TOKEN_BYTES], self._seed), token) for token in own[0] | own[1])
        names: dict[int, int] = {}
        text, is_whole = text[:MAX_SEARCHED], True
        for key, token in tokens:
            is_whole = key in names or len(names) < MAX_NAMES
            if not is_whole:
                break
            flags = names.get(key, 0) | HEADING * (token in own[0]) | TITLE * (token in own[1])
            names[key] = flags | BODY if key < FILLER and _stands(token, text) else flags
        missing = reduce(or_, (flags for key, flags in names.items() if key < FILLER and not flags & SAID), 0)
        stands = bool(reduce(or_, names.values(), 0) & SAID)
        state = ALL_NAMES * is_whole | IS_LONG * _is_long(own[0]) | HAS_HEADING * bool(own[0])
        state |= HEADING_STANDS * (stands and not missing & HEADING) | TITLE_STANDS * (stands and not missing & TITLE)
        return names, state | IS_MISSING * bool(missing) | IS_ABOUT * is_about_its_name(names)

    def values(self, text: bytes, beside: bytes) -> FoundValues:
        """Return the values of a page.

        Args:
            text: its normalised text.
            beside: the text beside it, see :func:`dedupcrawl.values.other_text`.
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
            beside: the text beside the main text, see :func:`dedupcrawl.values.other_text`.
            lines: the short lines of the main text.
        """
        # A line of both is one of the main text, as the later one.
        facts = short_facts(beside, lines)
        found = {each: BESIDE * is_beside for each, is_beside in zip(self._hashes(facts), facts.values(), strict=True)}
        sample = sorted({each >> 32 - VALUE_BITS << 1 | is_beside for each, is_beside in found.items()})
        return sample[: MAX_VALUES + 1], min(len(found), MAX_SHORTS + 1), sum(found) >> 8 & (1 << FACTS_BITS) - 1

    def sentences(self, lines: bytes, with_values: bool) -> bytes:
        """Return the counts of a page's sentences, and of its values.

        Of each these are the number modulo 256, the sums of the hashes and of their squares modulo
        :data:`~dedupcrawl.sentence_sketches.PRIME`, and the numbers in ``BUCKETS`` buckets, modulo 4. They are linear,
        so that those of two pages can be subtracted.

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
            Sample(dict.fromkeys(each[:MAX_VALUES], 0), len(each) <= MAX_VALUES) for each in (*values[:2], shorts[0])
        )
        return pack_identity(
            Identity(
                Sample(names, bool(state & ALL_NAMES)),
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
        return _hash_of(text, self._table)

    def _hashes(self, tokens: Collection[bytes]) -> list[int]:
        """Return the hashes of tokens without line breaks."""
        table = self._table
        parts = b"\n".join(tokens).translate(table).split(table[10:11]) if tokens else ()
        return [crc32(part) * _MULTIPLIER & _HASHED for part in parts]


@lru_cache(CACHED_SEEDS)
def _sketcher(seed: int) -> ReferenceSketcher | IdentitySketcher:
    if not is_compiled():
        return ReferenceSketcher(seed)
    forwards, backwards = word_sets()[:-BACKWARDS], word_sets()[-BACKWARDS:]
    sets = (*forwards, tuple(each.encode() for each in VIEW_WORDS), POINTING_BEGINS, *backwards)
    made: IdentitySketcher = loaded().IdentitySketcher(
        _keyed_bytes(seed), array("I", map(ord, _UNSPACED)), HAN_NUMERALS, sets
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


def _body(page: Page, named: Sequence[str], state: int, text: bytes) -> bytes | None:
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

    Lines that are the heading or title are left out if the name stands elsewhere in the text, see :func:`_body`.
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
    """Return how long a text may be whose sentences are counted: those of an article are not.

    An article has a long heading, or no heading and a long title that stands in its text.
    """
    if not is_about:
        return MAX_COUNTED
    is_titled = state & TITLE_STANDS and not state & HAS_HEADING and _is_long(_own_name(title))
    return 0 if state & IS_LONG or is_titled else MAX_BRIEF


def _is_long(heading: Iterable[str]) -> bool:
    telling = [token for token in heading if _class_of(token[:MAX_TOKEN_BYTES]) == TELLING]
    pairs = 0 if "".join(telling).isascii() else sum(bool(_is_unspaced(token)) for token in telling)
    return len(telling) - pairs + pairs / 3 >= LONG_HEADING


class Labels(NamedTuple):
    """The texts behind the hashes of a sketch."""

    names: dict[int, str]
    values: dict[int, str]  #: of the main text and beside it


def label_identity(page: Page, seed: int, *, fold_chinese: bool = False) -> Labels:
    """Return the texts of all names and values of a page, by their hashes in sketches under ``seed``."""
    heading, title = (_own_name(_folded_name(name, fold_chinese=fold_chinese)) for name in (page.heading, page.title))
    found = page_values(
        with_ascii_digits(Features(page, fold_chinese).encoded), with_ascii_digits(other_text(page).beside)
    )
    table = _keyed_bytes(seed)
    return Labels(
        {_name_key(token[:MAX_TOKEN_BYTES], seed): token for token in heading | title},
        {
            _hash_of(value, table) >> 32 - VALUE_BITS | WEAK * (not is_strong): value.decode("utf-8", "replace")
            for value, is_strong in (found.inner | found.outer).items()
        },
    )


def _folded_name(name: str, *, fold_chinese: bool) -> str:
    name = name[:MAX_NAME_CHARS]
    if name.isascii():
        return name.lower()
    folded = decode(simplify(pack(name)) & CODE) if fold_chinese else unicodedata.normalize("NFKC", name).casefold()
    return folded[:MAX_NAME_CHARS]  # folding may lengthen a text


def _own_name(name: str) -> set[str]:
    return {*name_tokens(name)} - VIEW_WORDS


@lru_cache(maxsize=16384)
def _name_key(token: str, seed: int) -> int:
    """Return the class of a token and its hash. The names of a site's pages have most words in common."""
    hashed = _hash_of(token.encode("utf-8", "surrogatepass")[:MAX_TOKEN_BYTES], _keyed_bytes(seed))
    return _class_of(token) | hashed >> 32 - HASH_BITS


def _class_of(token: str) -> int:
    if _has_digit(token):
        return DIGIT
    return TELLING if len(token) >= MIN_TELLING_LENGTH or _is_unspaced(token) else FILLER


def is_about_its_name(names: Mapping[int, int]) -> bool:
    """Return whether the body of a page is about its heading, or without a heading its title.

    A single word proves nothing: "Decision" may stand above and in many texts.
    """
    own = [key for key, flags in names.items() if flags & HEADING] or [*names]
    return len([key for key in own if key < FILLER]) > 1 and about(names, own, BODY) >= MIN_ABOUT


def about(names: Mapping[int, int], some: Iterable[int], place: int = MAIN) -> float:
    """Return how many of the telling ones among some tokens of a name stand in the main text, or its body, 0…1."""
    telling = [key for key in some if key < FILLER]
    return sum(names[key] & place == place for key in telling) / len(telling) if telling else 0.0


def _hash_of(text: bytes, table: bytes) -> int:
    """Return a keyed hash of 32 bits: a secret substitution of the bytes, which is not linear, then a CRC."""
    return crc32(text.translate(table)) * _MULTIPLIER & _HASHED


@cache
def _keyed_bytes(seed: int) -> bytes:
    """Return a permutation of all bytes that depends on the seed."""
    order = list(range(256))
    state = seed
    for place in range(255, 0, -1):
        state = split_mix(state)
        other = state % (place + 1)
        order[place], order[other] = order[other], order[place]
    return bytes(order)


def _stands(token: str, text: bytes) -> bool:
    """Return whether a token stands in a normalised text, as a whole word where words have ends."""
    word = token.encode("utf-8", "surrogatepass")
    at = text.find(word)
    if at < 0 or (not token.isascii() and _is_unspaced(token)):
        return at >= 0
    while at >= 0:
        end = at + len(word)
        if (end == len(text) or text[end] not in _LETTERS) and (at == 0 or text[at - 1] not in _LETTERS):
            return True
        at = text.find(word, end)
    return False
