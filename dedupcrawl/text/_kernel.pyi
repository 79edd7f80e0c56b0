"""The compiled text kernel, written in C (``kernel_src/``). :mod:`dedupcrawl.text.features` is its only user.

Arrays are contiguous, of the stated item type, and not changed as long as an object uses them. Long work runs
without the GIL. A ``ValueError`` is raised for arrays of another size and for values that are no packed points.
"""

from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar, final

from typing_extensions import Buffer

VERSION: int  # of the calls; an extension of another version is not used
_R = TypeVar("_R", bound=tuple[Any, Any, Any])
_Sample: TypeAlias = tuple[dict[int, int], int, int]  # of an identity: hash → flags, number, total

@final
class Normalizer:
    """Normalises texts with the tables of :mod:`dedupcrawl.text.normalize`."""

    def __new__(
        cls,
        packed: Buffer,  # uint32 of each code point
        sizes: Buffer,  # uint8
        starts: Buffer,  # uint32
        expansions: Buffer,  # uint32, packed points
        folding: Buffer,  # uint32: XOR of each code point, the last for all others; empty: nothing is folded
        pack_in_python: Callable[[str], Buffer],  # normalises a text with combining characters to packed points
    ) -> Normalizer: ...
    def pack(self, text: str, /) -> Text:
        """Normalise a text."""

@final
class Text(Buffer):
    """A normalised text. Its buffer is the packed points as bytes."""

    @property
    def letters(self) -> int:
        """The number of points with a role."""

    def __len__(self) -> int: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def encoded(self) -> bytes:
        """Return the text in UTF-8; lone surrogates are encoded too."""

    def is_one_word_repeated(self) -> bool:
        """Return whether the text is one repeated word, like ``Features.is_one_word_repeated``."""

@final
class Hasher:
    """Hashes tokens and shingles with the keys of one seed, see :mod:`dedupcrawl.text.shingles`."""

    def __new__(
        cls,
        letters: Buffer,  # uint64 of each packed point
        rising: Buffer,  # uint64: powers of the base of words, MAX_LETTERS of them
        shingle_base: int,
        hash_long_word: Callable[[bytes], int],  # of points with 4 bytes each, little-endian
    ) -> Hasher: ...
    def tokens(self, text: Text, /) -> tuple[bytes, bytes]:
        """Return the hash (uint64) and the first packed point (uint32) of each token."""

    def shingles(self, text: Text, characters: int, words: int, /) -> bytes:
        """Return the hashes (uint64) of all shingles, with repetitions."""

@final
class RecordBuilder:
    """Makes what a record has of ``exact`` and ``minhash``, like :mod:`dedupcrawl.fingerprinting`."""

    def __new__(
        cls,
        normalizer: Normalizer,
        sketcher: Sketcher[Any],
        seed: int,  # key of the hash of the text
        hash_size: int,  # bytes of that hash, 1…64
        key_size: int,  # bytes of a bucket key, 1…64
        text_person: bytes | None,  # personalisation of the bucket key of the hash; None: the hash is no key
        band_person: bytes,  # personalisation of the bucket keys of the bands
        is_text_first: bool,  # whether the sketch and the key of ``exact`` come first
        min_chars: int,  # shorter texts are compared by their hash only
    ) -> RecordBuilder: ...
    def make(self, text: str, exact_only: bool, /) -> tuple[bytes, bool, tuple[bytes, ...], tuple[bytes, ...]] | None:
        """Return the normalised text in UTF-8, whether only its hash is compared, the sketches, and the keys.

        ``exact_only`` says that only the hash is compared, whatever the text. None for a text that is empty then.
        """

    def keys(self, text_sketch: bytes, sketch: bytes, /) -> tuple[bytes, ...] | None:
        """Return the keys of a record with these sketches, b"" for none; None if they are not of this maker."""

@final
class Sketcher(Generic[_R]):
    """Sketches sets of shingles, see :mod:`dedupcrawl.detectors.lsh`."""

    def __new__(
        cls,
        result: type[_R],  # a named tuple of three fields: keys, sketch, None
        tag: int,  # first byte of a sketch
        normalizer: Normalizer,
        hasher: Hasher,
        characters: int,  # tokens of a shingle, 1…MAX_SHINGLE
        words: int,
        rounds: Buffer,  # uint64: ROUNDS factors
        orders: Buffer,  # uint64: a factor a slot
        row_factors: Buffer,  # uint64
        band_offsets: Buffer,  # uint64
    ) -> Sketcher[_R]: ...
    def sketch(self, text: Text, /) -> _R | None:
        """Return the distinct keys of the bands, and the sketch of detector ``minhash``; None for no shingles."""

    def sketch_string(self, text: str, /) -> _R | None:
        """Normalise a text, and return its keys and its sketch; None for no shingles."""

@final
class IdentitySketcher:
    """Finds names, values and sentences of pages, and packs them.

    The reference is :func:`dedupcrawl.identity.identity_sketch.reference_sketch`.
    """

    def __new__(
        cls,
        substitution: Buffer,  # of the 256 bytes
        unspaced: Buffer,  # uint32: the first and last code point of each range of scripts without spaces
        numerals: str,  # in Chinese
        words: tuple[
            Sequence[bytes], ...
        ],  # the sets of words of :func:`dedupcrawl.identity.identity_sketch.word_sets`
    ) -> IdentitySketcher: ...
    def sketch(
        self,
        folded: tuple[str, str],  # heading and title, folded
        shown: tuple[str, str],  # heading and title as the page shows them
        texts: tuple[str, str],  # ``Page.text`` and ``Page.rest``
        stated: str,
        beside: str,
        normalized: Buffer,  # the compared text, normalised in UTF-8
        plain: Normalizer,
        folding: Normalizer,  # that of the compared text, which may convert Chinese
        seed: int,
        /,
    ) -> bytes:
        """Return the sketch of a page."""

def utf8_length(text: str, /) -> int:
    """Return the number of bytes of a string in UTF-8, with "?" for each lone surrogate."""

def least_hashes(hashes: Buffer, factors: Buffer, /) -> bytes:
    """Return for each factor (uint64) the least ``light_mix(hash * factor)`` (uint64) of the hashes."""

def weigh_bits(hashes: Buffer, weights: Buffer | None, /) -> bytes:
    """Return 64 sums (int64), the lowest bit first: the weights (int64; None: 1 each) of the hashes with that bit."""

def count_lines(
    text: str, pages: dict[int, int], known: int, most: int, divisor: int, least: int, new: int, runs: int, /
) -> tuple[list[int], list[int], list[int], int, int, int, tuple[int, ...], int]:
    """Return the values of :class:`dedupcrawl.text.lines.LineCounts`."""

def without_lines(text: str, numbers: list[int], least: int, /) -> str:
    """Return a text without the lines whose numbers are not below the least one."""

def relate_sketches(
    sketch: Buffer,  # of a new page
    others: Buffer,  # of earlier pages, one after the other
    tag: int,
    slots: int,
    chance: float,
    similarity: float,
    length_ratio: float,
    length_slack: float,
    containment: float,
    /,
) -> bytes:
    """Return for each of the others a byte: its place in ``RELATIONS`` of :mod:`dedupcrawl.detectors.minhash`."""

def unpack_sketch(sketch: bytes, /) -> tuple[_Sample, _Sample, _Sample, _Sample, _Sample, int, int, bool, bool, int]:
    """Return the fields of :class:`dedupcrawl.identity.identity_codec.Identity`; ``ValueError`` if it is damaged."""

def names_apart(identity: bytes, others: list[bytes], /) -> bytes:
    """Return for each of the others its place in ``_HOW_APART`` of :mod:`dedupcrawl.matching`."""
