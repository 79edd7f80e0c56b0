"""The file of a lexicon: gzip'd JSON Lines, a head and then one line a word.

The first line is the head, an object: ``format`` "dedupcrawl-lexicon", ``version`` 1 and the fields of
:class:`Head`. Every other line is ``["word", document frequency]``, the words in sorted order. The last line
is the hex BLAKE2b-128 of all lines before it.
"""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, cast

import orjson

from dedupcrawl.atomic import replacing
from dedupcrawl.errors import DedupError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

FORMAT = "dedupcrawl-lexicon"
VERSION = 1
LANGUAGE_ACCEPTED = 'a code of BCP 47 without region, such as "en", "zh" or "th", or an empty text for any'


class LexiconFileError(DedupError):
    """A file is no lexicon, or a damaged one; the message says which."""


@dataclass(frozen=True, slots=True)
class Head:
    """What a lexicon says of itself."""

    language: str  #: primary subtag of BCP 47, "" if it was not named
    segmenter: str  #: what cut its Chinese; "" where no word was cut by one
    fold_chinese: bool  #: whether traditional characters were read as simplified ones
    documents: int  #: how many were counted
    words: int
    missed: int = 0  #: so many documents of a word, at most, were not counted
    source: str = ""  #: what was counted, in words


@dataclass(frozen=True, slots=True)
class Counts:
    """The content of a file: document frequencies, each from 1 to ``head.documents``."""

    head: Head
    frequencies: Mapping[str, int]
    digest: str  #: hex, of head and words


def is_language(value: object) -> bool:
    """Whether this can be the language of a lexicon: a primary subtag of BCP 47, or ""."""
    return isinstance(value, str) and re.fullmatch("([a-z]{2,3})?", value) is not None


def read_counts(data: bytes) -> Counts:
    """Read the bytes of a file.

    Raises:
        LexiconFileError: it is no lexicon, of another version, or damaged.
    """
    try:
        body, _, seal = gzip.decompress(data).rstrip(b"\n").rpartition(b"\n")
    except (OSError, EOFError, zlib.error) as error:
        raise LexiconFileError(f"it is no gzip file, or is cut off ({error})") from error
    lines = body.split(b"\n")
    fields = _fields(lines[0])
    digest = _digest(body + b"\n")
    if seal.decode("ascii", "replace") != digest:
        raise LexiconFileError("it is damaged: its content is not what its digest was made of")
    try:
        head, pairs = Head(**fields), orjson.loads(b"[" + b",".join(lines[1:]) + b"]")
        frequencies = {str(word): int(count) for word, count in pairs}
    except (ValueError, TypeError) as error:
        raise LexiconFileError(f"it is damaged: {error}") from error
    if not frequencies or not 1 <= min(frequencies.values()) <= max(frequencies.values()) <= head.documents:
        raise LexiconFileError("it is damaged: a word stands in none, or in more than all documents")
    return Counts(head, frequencies, digest)


def write_counts(path: Path, head: Head, frequencies: Mapping[str, int]) -> str:
    """Write a file in one step, so that nobody ever reads half of it; return its digest.

    Raises:
        DedupError: the file cannot be written.
    """
    body = b"".join(_lines(head, frequencies))
    digest = _digest(body)
    data = gzip.compress(body + digest.encode("ascii") + b"\n", 9, mtime=0)
    try:
        with replacing(path, concurrent=True) as part:
            part.write_bytes(data)
    except OSError as error:
        raise DedupError(f"{path}: cannot be written: {error}") from error
    return digest


def _lines(head: Head, frequencies: Mapping[str, int]) -> Iterator[bytes]:
    yield orjson.dumps({"format": FORMAT, "version": VERSION, **asdict(head)}) + b"\n"
    for word in sorted(frequencies):
        yield orjson.dumps([word, frequencies[word]]) + b"\n"


def _fields(line: bytes) -> dict[str, Any]:
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
