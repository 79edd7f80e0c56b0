"""The lexicon file, and the counting of document frequencies for it.

The file is gzipped JSON Lines. The first line is the header, an object: ``format`` "dedupcrawl-lexicon",
``version`` 1 and the fields of :class:`LexiconHeader`. Every other line is ``["word", document frequency]``,
with the words in sorted order. The last line is the hex BLAKE2b-128 of all lines before it.
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
MAX_WORDS = 2_000_000  #: highest number of words in memory
LANGUAGE_ACCEPTED = 'a code of BCP 47 without region, such as "en", "zh" or "th", or an empty text for any'


class LexiconFileError(DedupError):
    """A file is not a lexicon, or it is damaged."""


@dataclass(frozen=True, slots=True)
class LexiconHeader:
    """The header of a lexicon file."""

    language: str  #: primary subtag of BCP 47; "" if unknown
    segmenter: str  #: segmenter of its Chinese; "" if none was used
    fold_chinese: bool  #: whether traditional characters were read as simplified ones
    documents: int  #: counted documents
    words: int
    missed: int = 0  #: highest number of uncounted documents of a word
    source: str = ""  #: description of the documents


@dataclass(frozen=True, slots=True)
class LexiconCounts:
    """The content of a lexicon file."""

    head: LexiconHeader
    frequencies: Mapping[str, int]
    digest: str  #: hex digest of header and words


def is_language(value: object) -> bool:
    """Whether a value can be the language of a lexicon: a primary subtag of BCP 47, or ""."""
    return isinstance(value, str) and re.fullmatch("([a-z]{2,3})?", value) is not None


def read_counts(data: bytes) -> LexiconCounts:
    """Parse the bytes of a lexicon file.

    Raises:
        LexiconFileError: It is not a lexicon, has another version, or is damaged.
    """
    try:
        body, _, seal = gzip.decompress(data).rstrip(b"\n").rpartition(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise LexiconFileError(f"it is not a gzip file, or is truncated ({error})") from error
    first, *lines = body.split(b"\n")
    fields, digest = _header_fields(first), _digest(body + b"\n")
    if seal.decode("ascii", "replace") != digest:
        raise LexiconFileError("it is damaged: its content does not match its digest")
    try:
        head, pairs = LexiconHeader(**fields), orjson.loads(b"[" + b",".join(lines) + b"]")
        frequencies = {str(word): int(count) for word, count in pairs}
    except (ValueError, TypeError) as error:
        raise LexiconFileError(f"it is damaged: {error}") from error
    if not frequencies or not 1 <= min(frequencies.values()) <= max(frequencies.values()) <= head.documents:
        raise LexiconFileError("it is damaged: a frequency is not from 1 to the number of documents")
    return LexiconCounts(head, frequencies, digest)


def write_counts(path: Path, head: LexiconHeader, frequencies: Mapping[str, int]) -> str:
    """Write a lexicon file atomically and return the hex digest of its content.

    Frequencies are document frequencies, from 1 to ``head.documents``.

    Raises:
        DedupError: The file cannot be written.
    """
    fields: dict[str, object] = {"format": FORMAT, "version": VERSION, **asdict(head)}
    body = b"".join(orjson.dumps(line) + b"\n" for line in (fields, *sorted(frequencies.items())))
    digest = _digest(body)
    data = gzip.compress(body + digest.encode("ascii") + b"\n", 9, mtime=0)
    try:
        with atomic_write(path, concurrent=True) as part:
            part.write_bytes(data)
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error}") from error
    return digest


def _header_fields(line: bytes) -> dict[str, Any]:
    try:
        fields = orjson.loads(line)
        version = fields.pop("version") if fields.pop("format") == FORMAT else None
    except (ValueError, AttributeError, KeyError, TypeError):
        version = None
    if version is None:
        raise LexiconFileError("it is not a lexicon")
    if version != VERSION:
        raise LexiconFileError(f"it has version {version}, this program reads version {VERSION}")
    return cast("dict[str, Any]", fields)


def _digest(body: bytes) -> str:
    return blake2b(body, digest_size=16).hexdigest()


@dataclass
class DocumentFrequencies:
    """Counts of documents per word in bounded memory, exact for at most ``max_words`` different words.

    Above that the rarest words are removed, as in lossy counting (Manku, Motwani, *Approximate frequency
    counts over data streams*, VLDB 2002). A word that occurs again may have been in up to ``missed``
    documents before. Counts are never too high, and too low by at most ``missed``.
    """

    max_words: int = MAX_WORDS
    documents: int = 0
    missed: int = 0
    _counts: Counter[str] = field(default_factory=Counter)
    _missed: dict[str, int] = field(
        default_factory=dict
    )  #: upper bound of the removed count, for words added after a removal

    def add(self, words: Iterable[str]) -> None:
        """Count the distinct words of one document."""
        different = set(words)
        if self.missed:
            new = (word for word in different if word not in self._counts)
            self._missed.update(dict.fromkeys(new, self.missed))
        self._counts.update(different)
        self.documents += 1
        if len(self._counts) > self.max_words:
            self._remove_rarest()

    def frequencies(self, least: int = 1) -> dict[str, int]:
        """Return the words that occur in at least ``least`` documents, with their counts."""
        return {word: count for word, count in self._counts.items() if count >= least}

    def _remove_rarest(self) -> None:
        """Remove the rarest words until half of the capacity is free."""
        bounds = Counter(bound for _, bound in self._bounds())
        left = len(self._counts)
        for bound in sorted(bounds):
            left -= bounds[bound]
            self.missed = bound
            if left <= self.max_words // 2:
                break
        rare = [word for word, bound in self._bounds() if bound <= self.missed]
        for word in rare:
            del self._counts[word]
            self._missed.pop(word, None)

    def _bounds(self) -> Iterator[tuple[str, int]]:
        """Yield every word with the upper bound of its document frequency."""
        return ((word, count + self._missed.get(word, 0)) for word, count in self._counts.items())
