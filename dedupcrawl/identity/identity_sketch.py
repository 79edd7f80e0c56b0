"""The sketch of a page: its *names* (heading and title), *values* (tokens with digits), short facts and sentences.

Values beside the main text, and short facts, are stored only if the main text is not about the name of its page:
beside an article they belong to the site.

All are bottom-k samples: the k lowest hashes in an order that all pages share (Broder, *On the resemblance and
containment of documents*, 1997), so that the samples of two pages can be compared.

A page without main text, which is compared by all its visible text, has a mark of one byte instead of a sketch:
the reason why it stays unchecked if no earlier page has the same text.

Compiled code makes the same sketch, if it could be built. :func:`reference_sketch` is its reference.
"""

from __future__ import annotations

import unicodedata
from array import array
from functools import lru_cache
from typing import TYPE_CHECKING
from zlib import crc32

from dedupcrawl.identity.identity_codec import (
    BESIDE,
    FEW_SENTENCES,
    FEW_VALUES,
    FULL_BITS,
    MAX_SENTENCES,
    MAX_VALUES,
    UNREAD,
    UNREAD_BYTES,
    VALUE_BITS,
    WEAK,
    HashSample,
    Identity,
    pack_identity,
    sample,
)
from dedupcrawl.identity.names import MAX_SEARCHED, UNSPACED, is_about_its_name, is_long_name, own_name, sample_names
from dedupcrawl.identity.token_hashes import hash_of, keyed_bytes
from dedupcrawl.identity.values import (
    BACKWARDS,
    HAN_NUMERALS,
    other_text,
    page_values,
    sentence_heads,
    sentences_of,
    short_facts,
    word_sets,
)
from dedupcrawl.page.rules import VIEW_WORDS
from dedupcrawl.page.signatures import with_layout, without_layout
from dedupcrawl.text.features import (
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
    from collections.abc import Mapping, Sequence

    from dedupcrawl.page.model import Page
    from dedupcrawl.text._kernel import IdentitySketcher

MAX_NAME_CHARS = 1000  #: characters of a heading or title that are read
MAX_LISTED = 6000  #: bytes of a text whose sentences count; of a longer one only the order of their beginnings does
MAX_BRIEF = 2000  #: bytes of a brief text, such as a notice: in a longer one a single date or price is a detail


def sketch_identity(page: Page, text: bytes, seed: int, *, fold_chinese: bool = False) -> bytes:
    """Return the identity of a page: the signature of its layout, and the sketch of its names and values.

    Args:
        page: the page.
        text: its normalised text in UTF-8, see :attr:`dedupcrawl.text.features.Features.encoded`.
        seed: key of the hashes, 0…2⁶⁴ - 1.
        fold_chinese: whether traditional characters of names are converted to simplified ones, as in the text.
    """
    if is_compiled():
        heading, title = (folded_name(name, fold_chinese=fold_chinese) for name in (page.heading, page.title))
        shown, texts, others = (page.heading, page.title), (page.text, page.rest), (page.stated, page.beside)
        tables = normalizer(False), normalizer(fold_chinese)
        sketch = _sketcher_of(seed).sketch((heading, title), shown, texts, *others, text, *tables, seed)
    else:
        sketch = reference_sketch(page, text, seed, fold_chinese=fold_chinese)
    return with_layout(page.layout, sketch, page.removed, page.files)


@lru_cache(CACHED_SEEDS)
def _sketcher_of(seed: int) -> IdentitySketcher:
    """Return the compiled sketcher with the hashes of a seed."""
    forwards, backwards = word_sets()[:-BACKWARDS], word_sets()[-BACKWARDS:]
    sets = (*forwards, tuple(each.encode() for each in VIEW_WORDS), *backwards)
    made: IdentitySketcher = loaded().IdentitySketcher(
        keyed_bytes(seed), array("I", map(ord, UNSPACED)), HAN_NUMERALS, sets
    )
    return made


def reference_sketch(page: Page, text: bytes, seed: int, *, fold_chinese: bool = False) -> bytes:
    """Return the sketch of a page without its layout, see :func:`sketch_identity`."""
    named = [folded_name(name, fold_chinese=fold_chinese) for name in (page.heading, page.title)]
    body = body_of(page, named, text)
    said = [text if body is None else body]
    if not page.heading:  # else what a title says beside it does not matter
        said.append(encode_normalized(page.beside[:MAX_SEARCHED], fold_chinese=fold_chinese))
    names = sample_names(named, text, said, seed)
    is_about = is_about_its_name(names.items)
    beside, lines = (b"", b"") if is_about else other_text(page)
    values = page_values(with_ascii_digits(text), with_ascii_digits(beside))
    table = keyed_bytes(seed)
    is_brief = len(text) < MAX_BRIEF
    is_article = is_about and (not is_brief or is_long_name(own_name(named[0] or named[1])))
    most = MAX_VALUES if is_brief else FEW_VALUES
    inner, outer = (_sample_values(each, most, table) for each in (values.inner, values.outer))
    identity = Identity(
        names,
        inner,
        outer,
        _sample_shorts(short_facts(beside, lines), table),
        _sample_sentences(page, text, FEW_SENTENCES if is_article else MAX_SENTENCES, table, fold_chinese=fold_chinese),
        hash_of(values.facts, table) >> 32 - FULL_BITS,
        0 if body is None else int.from_bytes(seeded_hash(body, FULL_BITS // 8, seed), "big") or 1,
        is_brief,
        is_article,
        _hash_around(page.beside) if page.beside else 0,
    )
    return pack_identity(identity)


def _sample_values(values: Mapping[bytes, bool], most: int, table: bytes) -> HashSample:
    pairs = values.items()
    return sample({hash_of(each, table) >> 32 - VALUE_BITS | WEAK * (not strong): 0 for each, strong in pairs}, most)


def _sample_shorts(facts: Mapping[bytes, bool], table: bytes) -> HashSample:
    found: dict[int, int] = {}
    for each, is_beside in facts.items():
        key = hash_of(each, table) >> 32 - VALUE_BITS << 1
        found[key] = found.get(key, BESIDE) & is_beside
    return sample(found, MAX_VALUES)


def _sample_sentences(page: Page, text: bytes, most: int, table: bytes, *, fold_chinese: bool) -> HashSample:
    is_long = len(text) >= MAX_LISTED
    lines = [line for line in compared_text(page).split("\n") if line not in (page.heading, page.title)]
    said = b"" if is_long else with_ascii_digits(encode_normalized("\0".join(lines), fold_chinese=fold_chinese))
    units = sentence_heads(text) if is_long else sentences_of(said)
    keys = {hash_of(each, table) >> 32 - FULL_BITS: 0 for each in units}  # each at its first place
    found = sample(keys, FEW_SENTENCES if is_long else most, is_sorted=False)
    return HashSample(found.items) if is_long else found


def _hash_around(beside: str) -> int:
    highest = max(beside)  # the narrowest encoding, as CPython stores the string
    encoding = "latin-1" if highest < "\u0100" else "utf-16-le" if highest <= "\uffff" else "utf-32-le"
    return crc32(beside.encode(encoding, "surrogatepass")) & 0xFFFF or 1


def body_of(page: Page, named: Sequence[str], text: bytes) -> bytes | None:
    """Return the normalised text without the lines that are the heading or the title; None if there is no such line.

    Such lines are looked for in the first ``MAX_SEARCHED`` characters. The names are the folded heading and title.
    """
    lines, body, is_shown = compared_text(page)[:MAX_SEARCHED].split("\n"), b" %b " % text, False
    for line, name in {page.heading: named[0], page.title: named[1]}.items():
        normalized = b" %b " % " ".join(name.split()).encode("utf-8", "surrogatepass")
        for _ in range(lines.count(line) if line else 0):
            before, found, after = body.partition(normalized)
            body, is_shown = before + found[:1] + after, True
    return body.strip() if is_shown else None


def unread_identity(page: Page) -> bytes:
    """Return the identity of a page without main text: the reason, "index" or "empty", in place of a sketch."""
    marks = {reason: mark for mark, reason in UNREAD.items()}
    return with_layout(page.layout, marks[str(page.kind)])


def unread_reason(identity: bytes) -> str:
    r"""Return why a page has no main text, "" for one that has.

    >>> unread_reason(bytes(4) + b"\1"), unread_reason(bytes(12))
    ('index', '')
    """
    return UNREAD.get(without_layout(identity), "") if len(identity) == UNREAD_BYTES else ""


def folded_name(name: str, *, fold_chinese: bool) -> str:
    """Return a heading or title as its words are looked for in a normalised text."""
    name = name[:MAX_NAME_CHARS]
    if name.isascii():
        return name.lower()
    folded = decode(simplify(pack(name)) & CODE) if fold_chinese else unicodedata.normalize("NFKC", name).casefold()
    return folded[:MAX_NAME_CHARS]  # folding may lengthen a text
