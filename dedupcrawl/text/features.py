"""Features of pages, computed on first use and shared by all detectors; by the compiled text kernel where it is in use.

From text to sketch, the kernel (C, in ``kernel_src/``) does the work of :mod:`~dedupcrawl.text.normalize`,
:mod:`~dedupcrawl.text.shingles` and :mod:`~dedupcrawl.detectors.lsh`, with the same results bit for bit. The numpy
code is the reference, and serves where the kernel could not be built. All tables and constants of the kernel are
those of the numpy code, so the version of Unicode is the same too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache, partial
from typing import TYPE_CHECKING, overload

import numpy as np

from dedupcrawl.page.model import Page
from dedupcrawl.text.normalize import (
    CODE,
    ROLE,
    ROLE_SHIFT,
    CharacterKind,
    PackedTexts,
    decode,
    kernel_tables,
    pack,
    pack_many,
    simplify,
)
from dedupcrawl.text.shingles import (
    CACHED_SEEDS,
    ShingleBatch,
    TokenTable,
    hash_long_word,
    kernel_keys,
    located_tokens,
    shingles,
    shingles_of_many,
    token_spans,
    tokens,
)
from dedupcrawl.text.words import sentence_ends, words
from dedupcrawl.utils.optional import load_extension

if TYPE_CHECKING:
    from types import ModuleType

    import numpy.typing as npt

    from dedupcrawl.text._kernel import Hasher, Normalizer, Text
    from dedupcrawl.text.normalize import Indices, Points
    from dedupcrawl.text.shingles import Hashes

    Counts = npt.NDArray[np.int64]


KERNEL_VERSION = 13  #: of the extension, ``KERNEL_VERSION`` in ``kernel.h``
_CHARACTER = np.uint32(CharacterKind.CHARACTER)


kernel, _why_not = load_extension("dedupcrawl.text._kernel", KERNEL_VERSION)


def is_compiled() -> bool:
    """Return whether the compiled kernel is in use."""
    return kernel is not None


def kernel_description() -> str:
    """Return in a few words which code turns texts into sketches, and why."""
    return "compiled" if is_compiled() else f"numpy ({_why_not})"


def loaded() -> ModuleType:
    """Return the extension module, which must be in use."""
    assert kernel is not None
    return kernel


def compile_text(text: str, *, fold_chinese: bool = False) -> Text | None:
    """Normalise a text for the kernel; None if the kernel is not in use.

    Args:
        text: the text.
        fold_chinese: whether to convert traditional characters to simplified ones.
    """
    return None if kernel is None else normalizer(fold_chinese).pack(text)


def points_of(text: Text) -> Points:
    """Return the packed points of a text, read-only."""
    return np.frombuffer(memoryview(text), np.uint32)


def tokens_of(text: Text, seed: int) -> TokenTable:
    """Return the token stream, like :func:`~dedupcrawl.text.shingles.tokens`; the arrays are read-only."""
    hashes, first = hasher(seed).tokens(text)
    points = np.frombuffer(first, np.uint32)
    return TokenTable(np.frombuffer(hashes, np.uint64), points >> ROLE_SHIFT == _CHARACTER, points)


def shingles_of(text: Text, characters: int, words: int, seed: int) -> Hashes:
    """Return the hashes of all shingles, like :func:`~dedupcrawl.text.shingles.shingles`; read-only."""
    return np.frombuffer(hasher(seed).shingles(text, characters, words), np.uint64)


@cache
def normalizer(fold_chinese: bool) -> Normalizer:
    """Return the normaliser; the kernel must be in use."""
    made: Normalizer = loaded().Normalizer(*kernel_tables(fold_chinese=fold_chinese), pack)
    return made


@lru_cache(CACHED_SEEDS)
def hasher(seed: int) -> Hasher:
    """Return the hasher of a seed; the kernel must be in use."""
    made: Hasher = loaded().Hasher(*kernel_keys(seed), partial(hash_long_word, seed=seed))
    return made


def utf8_length(text: str) -> int:
    """Return the number of bytes of a text in UTF-8, with "?" for each lone surrogate."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "replace")) if kernel is None else kernel.utf8_length(text)


def least_hashes(hashes: Hashes, factors: Hashes) -> Hashes | None:
    """Return for each factor the least ``light_mix(hash * factor)``; None if the kernel is not in use."""
    return None if kernel is None else np.frombuffer(kernel.least_hashes(hashes, factors), np.uint64)


def weigh_bits(hashes: Hashes, weights: Counts | None) -> Counts | None:
    """Return the total weight of the hashes with each bit, the lowest first; None if the kernel is not in use."""
    return None if kernel is None else np.frombuffer(kernel.weigh_bits(hashes, weights), np.int64)


def relate_sketches(sketch: bytes, others: bytes, tag: int, slots: int, bounds: tuple[float, ...]) -> bytes | None:
    """Return how a MinHash sketch relates to each of many (``detectors/minhash.py``); None without the kernel."""
    return None if kernel is None else kernel.relate_sketches(sketch, others, tag, slots, *bounds)


# -- features -----------------------------------------------------------------------------------

LONGEST_REPEATED = 64  #: highest number of letters and digits of a repeated word
_BEGINNING_LENGTH = 512  #: characters checked first for a repeated word
_HEAD_LETTERS = 8  #: letters that must recur for a repetition


@dataclass(frozen=True)
class Features:
    """The features of one page, computed on first use."""

    page: Page
    fold_chinese: bool = False  #: read traditional characters as simplified ones
    _words: dict[str, tuple[str, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _tokens: dict[int, TokenTable] = field(default_factory=dict, init=False, repr=False, compare=False)
    _shingles: dict[tuple[int, int, int], Hashes] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def compiled(self) -> Text | None:
        """The normalised text for the compiled kernel; None if it is not in use."""
        return compile_text(compared_text(self.page), fold_chinese=self.fold_chinese)

    @cached_property
    def packed(self) -> Points:
        """The normalised text as packed points, see :func:`~dedupcrawl.text.normalize.pack`.

        It is the main text, followed by ``Page.rest``.
        """
        if self.compiled is not None:
            return points_of(self.compiled)
        packed = pack(compared_text(self.page))
        return simplify(packed) if self.fold_chinese else packed

    @cached_property
    def points(self) -> Points:
        """The code points of the normalised text, uint32."""
        return self.packed & CODE

    @cached_property
    def text(self) -> str:
        """The normalised text."""
        return decode(self.points)

    @cached_property
    def encoded(self) -> bytes:
        """The normalised text in UTF-8; lone surrogates are encoded too."""
        if self.compiled is not None:
            return self.compiled.encoded()
        return self.text.encode("utf-8", "surrogatepass")

    @property
    def length(self) -> int:
        """Length of the normalised text in characters."""
        return len(self.packed if self.compiled is None else self.compiled)

    @property
    def letters(self) -> int:
        """The number of letters, digits and marks in the text. Tokens consist of these only."""
        if self.compiled is not None:
            return self.compiled.letters
        return int(np.count_nonzero(self.packed & ROLE))

    @property
    def is_one_word_repeated(self) -> bool:
        """Whether the text is one repeated word, whatever separates its repetitions."""
        if self.compiled is not None:
            return self.compiled.is_one_word_repeated()
        beginning = _letter_points(self.packed[:_BEGINNING_LENGTH])
        if len(beginning) >= 2 * LONGEST_REPEATED and not is_one_word_repeated(beginning):
            return False  # true of most texts: the beginning of a repetition is itself repeated
        return is_one_word_repeated(_letter_points(self.packed))

    @cached_property
    def sentence_ends(self) -> tuple[int, ...]:
        """The index after the closing mark of each sentence in :attr:`text`."""
        return sentence_ends(self.text)

    @cached_property
    def full_stops(self) -> tuple[int, ...]:
        """The index after each full stop that ends a sentence in :attr:`text`."""
        return sentence_ends(self.text, only_full_stops=True)

    def tokens(self, seed: int) -> TokenTable:
        """Return the token stream with hashes keyed by a seed, see :mod:`dedupcrawl.text.shingles`."""
        if seed not in self._tokens:
            compiled = self.compiled
            self._tokens[seed] = tokens(self.packed, seed) if compiled is None else tokens_of(compiled, seed)
        return self._tokens[seed]

    @cached_property
    def token_spans(self) -> tuple[Indices, Indices]:
        """For each token its start and its stop in :attr:`text`."""
        return token_spans(self.packed)

    def words(self, segmenter: str = "jieba") -> tuple[str, ...]:
        """Return the words of :attr:`text`, see :func:`dedupcrawl.text.words.words`."""
        if segmenter not in self._words:
            self._words[segmenter] = words(self.text, segmenter)
        return self._words[segmenter]

    def features_of(self, text: str) -> Features:
        """Return the features of another text of the page, such as its title, with the same normalisation."""
        return Features(Page.from_text(text), self.fold_chinese)

    def shingles(self, characters: int, words: int, seed: int) -> Hashes:
        """Return the hashes of all shingles, see :func:`dedupcrawl.text.shingles.shingles`."""
        scheme = (characters, words, seed)
        if scheme not in self._shingles:
            compiled = self.compiled
            self._shingles[scheme] = (
                shingles(self.tokens(seed), *scheme) if compiled is None else shingles_of(compiled, *scheme)
            )
        return self._shingles[scheme]


class FeaturesBatch(Sequence[Features]):
    """The features of several pages, at least one, computed together.

    This is faster than :class:`Features` for texts of a few thousand characters, as long as the arrays fit
    into the processor cache. ``fold_chinese`` reads traditional characters as simplified ones.
    """

    def __init__(self, pages: Sequence[Page], *, fold_chinese: bool = False) -> None:
        self.pages = pages
        self._fold_chinese = fold_chinese
        self._features: list[Features | None] = [None] * len(pages)
        self._shingles: dict[tuple[int, int, int], ShingleBatch] = {}

    def __len__(self) -> int:
        return len(self.pages)

    @overload
    def __getitem__(self, index: int) -> Features: ...
    @overload
    def __getitem__(self, index: slice) -> list[Features]: ...
    def __getitem__(self, index: int | slice) -> Features | list[Features]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        features = self._features[index]
        if features is None:
            features = self._features[index] = Features(self.pages[index], self._fold_chinese)
        return features

    @cached_property
    def lengths(self) -> list[int]:
        """The length of each normalised text in characters."""
        lengths: list[int] = (self._texts.stops - self._texts.starts).tolist()
        return lengths

    @cached_property
    def letters(self) -> list[int]:
        """The number of letters, digits and marks of each text."""
        counts: list[int] = np.diff(self._letters_before, append=len(self._letters)).tolist()
        return counts

    @cached_property
    def are_one_word_repeated(self) -> list[bool]:
        """Whether each text is one repeated word."""
        texts = enumerate(zip(self.letters, self._recurring, strict=True))
        return [
            (recurs or letters < 2 * LONGEST_REPEATED) and self[i].is_one_word_repeated
            for i, (letters, recurs) in texts
        ]

    @cached_property
    def encoded(self) -> list[bytes]:
        """Each normalised text in UTF-8; lone surrogates are encoded too."""
        texts = self._texts
        joined = decode(texts.packed & CODE)
        spans = zip(texts.starts.tolist(), texts.stops.tolist(), strict=True)
        return [joined[start:stop].encode("utf-8", "surrogatepass") for start, stop in spans]

    def shingles(self, characters: int, words: int, seed: int) -> ShingleBatch:
        """Return the hashes of all shingles of all texts, like :meth:`Features.shingles`."""
        scheme = (characters, words, seed)
        if scheme not in self._shingles:
            texts = self._texts
            stream, starts = located_tokens(texts.packed, seed)
            bounds = np.append(np.searchsorted(starts, texts.starts), len(starts))
            self._shingles[scheme] = shingles_of_many(stream, bounds, *scheme)
        return self._shingles[scheme]

    @cached_property
    def _texts(self) -> PackedTexts:
        texts = pack_many([compared_text(page) for page in self.pages])
        return texts._replace(packed=simplify(texts.packed)) if self._fold_chinese else texts

    @cached_property
    def _letters(self) -> Indices:
        """The indices of the letters of all texts."""
        return np.flatnonzero(self._texts.packed > CODE)  # points with a role

    @cached_property
    def _letters_before(self) -> Indices:
        return np.searchsorted(self._letters, self._texts.starts)

    @property
    def _recurring(self) -> list[bool]:
        """Whether the first letters of each text recur soon; undefined for short texts."""
        letters = self._letters
        if not len(letters):
            return [False] * len(self)
        span = self._letters_before[:, None] + np.arange(LONGEST_REPEATED + _HEAD_LETTERS)
        beginnings = self._texts.packed[letters[np.minimum(span, len(letters) - 1)]]
        data, width = beginnings.tobytes(), beginnings.itemsize
        head, step = width * _HEAD_LETTERS, width * (LONGEST_REPEATED + _HEAD_LETTERS)
        rows = range(0, len(data), step)
        return [data.find(data[row : row + head], row + width, row + step) >= 0 for row in rows]


def is_one_word_repeated(letters: Points) -> bool:
    """Whether letters and digits are one word or phrase, two or more times; the last may be incomplete."""
    data, width = letters.tobytes(), letters.itemsize
    longest = min(LONGEST_REPEATED, len(letters) // 2)
    periods = np.flatnonzero(letters[1 : longest + 1] == letters[:1]) + 1
    is_long = len(letters) >= 4 * LONGEST_REPEATED
    head = data[: width * (2 * LONGEST_REPEATED if is_long else longest)]
    shifts = [width * period for period in periods.tolist() if data.startswith(head, width * period)]
    # A head that is longer than two periods together has their greatest common divisor as a period (Fine, Wilf,
    # Uniqueness theorems for periodic functions, 1965): where the shortest one ends, the others end too.
    return any(data[shift:] == data[:-shift] for shift in (shifts[:1] if is_long else shifts))


def encode_normalized(text: str, *, fold_chinese: bool = False) -> bytes:
    """Return a normalised text in UTF-8; lone surrogates are encoded too.

    Args:
        text: the text.
        fold_chinese: whether to convert traditional characters to simplified ones.
    """
    compiled = compile_text(text, fold_chinese=fold_chinese)
    if compiled is not None:
        return compiled.encoded()
    packed = pack(text)
    return decode((simplify(packed) if fold_chinese else packed) & CODE).encode("utf-8", "surrogatepass")


def compared_text(page: Page) -> str:
    """Return the text of a page that detectors compare."""
    text = page.text if page.compared is None else page.compared
    return f"{text}\n{page.rest}" if page.rest else text


def _letter_points(packed: Points) -> Points:
    letters: Points = packed[(packed & ROLE) != 0]
    return letters


#: Arabic, Persian, Devanagari, Bengali, Thai.
_other_digits = re.compile(rb"\xd9[\xa0-\xa9]|\xdb[\xb0-\xb9]|\xe0(?:[\xa5\xa7][\xa6-\xaf]|\xb9[\x90-\x99])").sub


def with_ascii_digits(text: bytes) -> bytes:
    """Return a normalised text with the digits of other scripts as ASCII ones.

    >>> with_ascii_digits("٢٠١٥ km".encode())
    b'2015 km'
    """
    if text.isascii() or not (b"\xd9" in text or b"\xdb" in text or b"\xe0" in text):  # a tenth of the search
        return text
    return _other_digits(lambda found: b"%d" % int(found[0].decode()), text)
