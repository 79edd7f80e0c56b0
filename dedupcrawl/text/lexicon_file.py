"""The file of a lexicon: gzip'd JSON Lines, a head and then one line a word.

The first line is the head, an object: ``format`` "dedupcrawl-lexicon", ``version`` 1 and the fields of
:class:`Head`. Every other line is ``["word", document frequency]``, the words in sorted order. The last line
is the hex BLAKE2b-128 of all lines before it.

Counting in how many documents words stand, in bounded memory.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import orjson

from dedupcrawl.errors import DedupError
from dedupcrawl.utils.resources import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path


FORMAT = "dedupcrawl-lexicon"
VERSION = 1
LANGUAGE_ACCEPTED = 'a code of BCP 47 without region, such as "en", "zh" or "th", or an empty text for any'


class LexiconFileError(DedupError):
    """A file is no lexicon, or a damaged one; the message says which."""


@dataclass(frozen=True, slots=True)
class LexiconHeader:
    """What a lexicon says of itself."""

    language: str  #: primary subtag of BCP 47, "" if it was not named
    segmenter: str  #: what cut its Chinese; "" where no word was cut by one
    fold_chinese: bool  #: whether traditional characters were read as simplified ones
    documents: int  #: how many were counted
    words: int
    missed: int = 0  #: so many documents of a word, at most, were not counted
    source: str = ""  #: what was counted, in words


@dataclass(frozen=True, slots=True)
class LexiconCounts:
    """The content of a file: document frequencies, each from 1 to ``head.documents``."""

    head: LexiconHeader
    frequencies: Mapping[str, int]
    digest: str  #: hex, of head and words


def is_language(value: object) -> bool:
    """Whether this can be the language of a lexicon: a primary subtag of BCP 47, or ""."""
    return isinstance(value, str) and re.fullmatch("([a-z]{2,3})?", value) is not None


def read_counts(data: bytes) -> LexiconCounts:
    """Read the bytes of a file.

    Raises:
        LexiconFileError: it is no lexicon, of another version, or damaged.
    """
    try:
        body, _, seal = gzip.decompress(data).rstrip(b"\n").rpartition(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise LexiconFileError(f"it is no gzip file, or is cut off ({error})") from error
    lines = body.split(b"\n")
    fields = _header_fields(lines[0])
    digest = _digest(body + b"\n")
    if seal.decode("ascii", "replace") != digest:
        raise LexiconFileError("it is damaged: its content is not what its digest was made of")
    try:
        head, pairs = LexiconHeader(**fields), orjson.loads(b"[" + b",".join(lines[1:]) + b"]")
        frequencies = {str(word): int(count) for word, count in pairs}
    except (ValueError, TypeError) as error:
        raise LexiconFileError(f"it is damaged: {error}") from error
    if not frequencies or not 1 <= min(frequencies.values()) <= max(frequencies.values()) <= head.documents:
        raise LexiconFileError("it is damaged: a word stands in none, or in more than all documents")
    return LexiconCounts(head, frequencies, digest)


def write_counts(path: Path, head: LexiconHeader, frequencies: Mapping[str, int]) -> str:
    """Write a file in one step, so that nobody ever reads half of it; return its digest.

    Raises:
        DedupError: the file cannot be written.
    """
    body = b"".join(_lines(head, frequencies))
    digest = _digest(body)
    data = gzip.compress(body + digest.encode("ascii") + b"\n", 9, mtime=0)
    try:
        with atomic_write(path, concurrent=True) as part:
            part.write_bytes(data)
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error}") from error
    return digest


def _lines(head: LexiconHeader, frequencies: Mapping[str, int]) -> Iterator[bytes]:
    yield orjson.dumps({"format": FORMAT, "version": VERSION, **asdict(head)}) + b"\n"
    for word in sorted(frequencies):
        yield orjson.dumps([word, frequencies[word]]) + b"\n"


def _header_fields(line: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(line)
        known, version = fields.pop("format") == FORMAT, fields.pop("version")
    except (ValueError, AttributeError, KeyError, TypeError) as error:
        raise LexiconFileError("it is no lexicon") from error
    if not known:
        raise LexiconFileError("it is no lexicon")
    if version != VERSION:
        raise LexiconFileError(f"it is of version {version}, this program reads version {VERSION}")
    return cast("dict[str, Any]", fields)


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


MAX_WORDS = 2_000_000  #: that are counted at a time


@dataclass
class DocumentFrequencies:
    """Document frequencies, exact as long as there are at most ``most`` different words.

    Beyond that the rarest are forgotten, as in lossy counting (Manku, Motwani, *Approximate frequency counts
    over data streams*, VLDB 2002): a word that comes back may have stood in up to ``missed`` documents
    before. So no count is too high, and none is too low by more than ``missed``.
    """

    most: int = MAX_WORDS
    documents: int = 0
    missed: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _missed: dict[str, int] = field(default_factory=dict)  #: of a word that came after some were forgotten

    def add(self, words: Iterable[str]) -> None:
        """Count a document."""
        different = set(words)
        if self.missed:
            new = (word for word in different if word not in self._counts)
            self._missed.update(dict.fromkeys(new, self.missed))
        self._counts.update(different)
        self.documents += 1
        if len(self._counts) > self.most:
            self._forget()

    def frequencies(self, least: int = 1) -> dict[str, int]:
        """Return the words that stand in at least so many documents."""
        return {word: count for word, count in self._counts.items() if count >= least}

    def _forget(self) -> None:
        """Forget the rarest words until half of the room is free again."""
        bounds = Counter(bound for _, bound in self._bounds())
        left = len(self._counts)
        for bound in sorted(bounds):
            left -= bounds[bound]
            self.missed = bound
            if left <= self.most // 2:
                break
        rare = [word for word, bound in self._bounds() if bound <= self.missed]
        for word in rare:
            del self._counts[word]
            self._missed.pop(word, None)

    def _bounds(self) -> Iterator[tuple[str, int]]:
        """Yield every word with the number of documents that it stands in at most."""
        return ((word, count + self._missed.get(word, 0)) for word, count in self._counts.items())
