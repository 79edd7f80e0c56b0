"""Document frequencies of words, and keywords by TF-IDF.

The idf of a word is ln(N / n) if n of N documents contain it (Spärck Jones, *A statistical interpretation of
term specificity and its application in retrieval*, 1972; jieba computes the same).

The built-in lexicon needs no file. Its Chinese part is the table of jieba: 270,132 words in 1,088,899
documents. Its English part has the 30,000 most frequent words of wordfreq 3.1.1 by Robyn Speer
(github.com/rspeer/wordfreq, data under CC BY-SA 4.0). wordfreq gives the share p of a word in running text. A
document of 500 words, a typical article, contains the word with probability 1 - exp(-500 p). These are stored
as frequencies in a nominal million documents, rounded to three digits.

A lexicon file is gzipped JSON Lines. The first line is the header, an object: ``format`` "dedupcrawl-lexicon",
``version`` 1 and the fields of :class:`LexiconHeader`. Every other line is ``["word", document frequency]``,
with the words in sorted order. The last line is the hex BLAKE2b-128 of all lines before it.
"""

from __future__ import annotations

import functools
import gzip
import math
import re
import zlib
from collections import Counter
from dataclasses import asdict, dataclass, field
from functools import cached_property
from hashlib import blake2b
from heapq import nlargest
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import orjson

from dedupcrawl.errors import DedupError, SettingError
from dedupcrawl.text.words import JIEBA_SEGMENTERS, is_han
from dedupcrawl.utils.optional import require_extra
from dedupcrawl.utils.resources import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

BUILT_IN = ("zh", "en")
_MIN_KEYWORD_LENGTH = 2  #: lowest length of a keyword in characters
_STOP_IDF = math.log(2)  #: idf of a word in half of all documents
_ACCEPTED = "the path of a file made by `dedupcrawl lexicon build`, or an empty text for the built-in one"


@dataclass(frozen=True)
class LanguageLexicon:
    """The words of one language."""

    idfs: Mapping[str, float]
    documents: int

    @cached_property
    def least(self) -> float:
        """The idf of the most frequent word."""
        return min(self.idfs.values())

    @cached_property
    def greatest(self) -> float:
        """The idf of the rarest word."""
        return max(self.idfs.values())

    @cached_property
    def median(self) -> float:
        """The median idf."""
        return sorted(self.idfs.values())[len(self.idfs) // 2]

    def nidf(self, word: str) -> float | None:
        """Return the normalised idf, 0 (most frequent) … 1 (rarest); ``None`` for an unknown word."""
        idf = self.idfs.get(word)
        if idf is None:
            return None
        return (idf - self.least) / (self.greatest - self.least) if self.greatest > self.least else 0.0


@dataclass(frozen=True)
class Lexicon:
    """The idf of words. Words are normalised as :func:`dedupcrawl.text.words.words` returns them."""

    documents: int  #: counted documents of all languages
    language: str  #: primary subtag of BCP 47; "" if unknown or several
    segmenter: str  #: segmenter of its Chinese; "" if none was used
    digest: str  #: hex digest of the content; part of the scheme of detectors
    parts: tuple[LanguageLexicon, ...]  #: one per language; no word is in two
    fold_chinese: bool | None = None  #: whether its Chinese was folded; None: fits both

    def idf(self, word: str) -> float | None:
        """Return ln(N / n); ``None`` for an unknown word."""
        for part in self.parts:
            idf = part.idfs.get(word)
            if idf is not None:
                return idf
        return None

    def nidf(self, word: str) -> float | None:
        """Return the normalised idf, 0…1; ``None`` for an unknown word.

        It is (idf - least) / (greatest - least) within the language of the word (Chowdhury, Frieder,
        Grossman, McCabe, *Collection statistics for fast duplicate document detection*, ACM TOIS 2002).
        """
        for part in self.parts:
            nidf = part.nidf(word)
            if nidf is not None:
                return nidf
        return None

    def weight(self, word: str) -> float:
        """Return the idf; for an unknown word the median of its language, like jieba."""
        idf = self.idf(word)
        if idf is not None:
            return idf
        # With two languages the first is Chinese.
        return self.parts[0 if len(self.parts) == 1 or is_han(word) else 1].median

    def __len__(self) -> int:
        return sum(len(part.idfs) for part in self.parts)

    def __contains__(self, word: object) -> bool:
        return any(word in part.idfs for part in self.parts)

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(word for part in self.parts for word in part.idfs))

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return self.digest == other.digest if isinstance(other, Lexicon) else NotImplemented


def open_lexicon(path: str, *, segmenter: str, language: str = "", fold_chinese: bool | None = None) -> Lexicon:
    """Open a lexicon file or the built-in lexicon.

    Args:
        path: Path of the file; "" for the built-in lexicon.
        segmenter: The configured segmenter. A lexicon without segmented words fits any.
        language: Required language; "" for any. A lexicon without a language fits any.
        fold_chinese: Whether Chinese is folded before the lookup; ``None`` to skip this check.

    Raises:
        SettingError: The file is missing, damaged, or does not fit.
        MissingPackageError: jieba is not installed, whose table the built-in lexicon reads.
    """
    if not isinstance(path, str):
        raise SettingError("lexicon", path, _ACCEPTED)
    if not path:
        return built_in(language)
    try:
        lexicon = read_lexicon(path)
    except LexiconFileError as error:
        raise SettingError("lexicon", path, f"{_ACCEPTED}; this one cannot be read: {error}") from error
    used, folded, problem = lexicon.segmenter, lexicon.fold_chinese, ""
    if used not in ("", segmenter) and not {used, segmenter} <= set(JIEBA_SEGMENTERS):
        problem = f"its words are from the segmenter {used!r}, the configured one is {segmenter!r}"
    elif None not in (fold_chinese, folded) and folded != fold_chinese:
        problem = f"it was counted with fold_chinese = {folded}, configured is {fold_chinese}"
    elif language and lexicon.language not in ("", language):
        problem = f"its language is {lexicon.language!r}, required is {language!r}"
    if problem:
        raise SettingError("lexicon", path, f"{_ACCEPTED}; {problem}")
    return lexicon


def read_lexicon(path: str) -> Lexicon:
    """Read a lexicon file, or return it from the cache if the file has not changed.

    Raises:
        LexiconFileError: The file is missing or damaged.
    """
    try:
        stat = Path(path).stat()
        return _read_cached(path, stat.st_mtime_ns, stat.st_size)
    except (OSError, ValueError) as error:  # a path with a null byte is a ValueError
        raise LexiconFileError(getattr(error, "strerror", None) or str(error)) from error


@functools.cache
def built_in(language: str = "") -> Lexicon:
    """Return the built-in lexicon of a language, "zh" or "en", or "" for both.

    Raises:
        SettingError: There is no built-in lexicon of this language.
        MissingPackageError: jieba is not installed, which has the Chinese one.
    """
    if language == "en":
        data = resources.files("dedupcrawl.text").joinpath("data", "en.lexicon.gz").read_bytes()
        return _lexicon_of_counts(read_counts(data), language)
    if language == "zh":
        return _jieba_lexicon()
    if language:
        problem = f"built in are {' and '.join(BUILT_IN)}, required is {language!r}"
        raise SettingError("lexicon", "", f"{_ACCEPTED}; {problem}")
    chinese, english = _jieba_lexicon(), built_in("en")
    digest = blake2b((chinese.digest + english.digest).encode(), digest_size=16).hexdigest()
    documents = chinese.documents + english.documents
    return Lexicon(documents, "", chinese.segmenter, digest, (*chinese.parts, *english.parts))


@functools.lru_cache(maxsize=4)
def _read_cached(path: str, changed: int, size: int) -> Lexicon:
    del changed, size  # part of the cache key only
    counts = read_counts(Path(path).read_bytes())
    return _lexicon_of_counts(counts, counts.head.language)


def _lexicon_of_counts(counts: LexiconCounts, language: str) -> Lexicon:
    documents = counts.head.documents
    idfs = {word: math.log(documents / n) for word, n in counts.frequencies.items()}
    segmenter = counts.head.segmenter
    folded = counts.head.fold_chinese if segmenter else None  # without a segmenter it has no Chinese
    return Lexicon(documents, language, segmenter, counts.digest, (LanguageLexicon(idfs, documents),), folded)


def _jieba_lexicon() -> Lexicon:
    """Read the idf table of jieba's keyword extraction, without importing jieba."""
    [folder] = require_extra("jieba", "The built-in lexicon", "zh").submodule_search_locations or [""]
    data = Path(folder, "analyse", "idf.txt").read_bytes()
    lines = (line.split(" ") for line in data.decode("utf-8").splitlines())
    idfs = {word: float(idf) for word, idf in lines}
    documents = round(math.exp(max(idfs.values())))  # the rarest words occur in one document
    digest = blake2b(data, digest_size=16).hexdigest()
    return Lexicon(documents, "zh", "jieba", digest, (LanguageLexicon(idfs, documents),))


class WeightedTerm(NamedTuple):
    """A word and its weight in a text."""

    word: str
    weight: float  #: TF-IDF: share of the counted words, times idf


def keywords(words: Iterable[str], lexicon: Lexicon, count: int) -> list[WeightedTerm]:
    """Return the words with the highest TF-IDF weights.

    Words of one character and stop words, which occur in half of all documents or more, are not counted. An
    unknown word has the median idf. For Chinese and the built-in lexicon the result is that of
    ``jieba.analyse.extract_tags`` (github.com/fxsjy/jieba). The literature on duplicate web pages calls the
    share of a word its density.

    Args:
        words: The words of the text in order.
        lexicon: The idf of words.
        count: Highest number of keywords.

    Returns:
        The keywords by descending weight; equal weights are in the order of the text.
    """
    found = Counter(word for word in words if len(word) >= _MIN_KEYWORD_LENGTH)
    idfs = {word: lexicon.weight(word) for word in found}
    counted = {word: times for word, times in found.items() if idfs[word] > _STOP_IDF}
    total = sum(counted.values())
    weights = {word: times * (idfs[word] / total) for word, times in counted.items()}
    return [WeightedTerm(word, weights[word]) for word in nlargest(count, weights, key=weights.__getitem__)]


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
class DocumentCounts:
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
