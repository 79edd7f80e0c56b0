"""Signatures of the library datasketch, for users with an existing index of them."""

from __future__ import annotations

import contextlib
import functools
import pkgutil
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import Detector, Evidence, Fingerprint, Match
from dedupcrawl.detectors.lsh import choose_bands
from dedupcrawl.detectors.relations import MatchLimits, SlotOverlap, TextSize
from dedupcrawl.text.shingles import seeded_hash
from dedupcrawl.utils.optional import import_extra, require_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dedupcrawl.detectors.base import Assessment
    from dedupcrawl.text.features import Features

_HEADER = struct.Struct("<BBII")
_TAG = 0x44
MAX_PERMUTATIONS = 4096  #: highest number of values of a signature
_KEYED_BYTES = 8  #: bytes of a keyed token
#: Type of the stored values by the ``scheme`` of datasketch; legacy values have at most 32 bits.
_VALUE_TYPES = {"affine32": "<u4", "affine64": "<u8", "legacy": "<u4"}
_SCHEMES = tuple(_VALUE_TYPES)
_USER = "The detector datasketch"
_UNITS = ("characters", "words", "segmented")  #: built-in kinds of tokens


@dataclass(frozen=True)
class Datasketch(Detector):
    """The exact values of ``datasketch.MinHash``; the keys are the bands of ``datasketch.MinHashLSH``.

    datasketch hashes tokens to 32 bits with a public function. With a ``seed`` other than 0 a keyed BLAKE2b
    hash of each token is hashed in its place, so that nobody without the seed can steer the values. They are
    then no longer those of an existing index.

    ``tokens`` is "segmented" (runs of ``size`` words, joined by a space; the segmenter cuts Chinese into words),
    "words" (runs of ``size`` strings between white space) or "characters" (runs of ``size`` characters), all of
    the normalised text; or the dotted name of a function from the text of the page to an iterable of bytes.

    Sketch, little-endian: ``B`` tag 0x44, ``B`` scheme (0 affine32, 1 affine64, 2 legacy), ``I`` length in
    characters, ``I`` distinct tokens, then the hash values, 4 bytes each (affine64: 8).
    """

    name: ClassVar[str] = "datasketch"
    threshold: float = 0.8  #: lowest estimated similarity of a near-duplicate, above 0, at most 1
    length_ratio: float = 1.10  #: α, highest ratio of the longer to the shorter text, at least 1
    length_slack: int = 500  #: highest difference of the lengths in characters, 0…10⁹
    containment: float = 0.9  #: lowest share of the shorter page in the longer one for an excerpt, above 0, at most 1
    num_perm: int = 128  #: values of a signature, 2…4096
    permutation_seed: int = 1  #: ``seed`` of datasketch, 0…2^32 - 1; independent of ``seed``
    permutations: str = "affine32"  #: ``scheme`` of datasketch: "affine32", "affine64", or "legacy" (before 2.0)
    hashfunc: str = ""  #: dotted name of a hash function; "": the default of datasketch
    tokens: str = "segmented"  #: "words", "segmented", "characters" or the dotted name of a function
    size: int = 3  #: units (words or characters) of a token, 1…64
    segmenter: str = "jieba"  #: for Chinese in "segmented" tokens
    miss_weight: float = 0.5  #: weight of a missed copy in the choice of bands, above 0, at most 1; as in datasketch
    seed: int = 0  #: key of the tokens, 0…2^64 - 1; 0: the tokens themselves are hashed

    def __post_init__(self) -> None:
        require_extra("datasketch", _USER, "datasketch")
        self.check_bounds("threshold")
        self.check_integer("num_perm", 2, MAX_PERMUTATIONS)
        self.check_integer("permutation_seed", 0, 2**32 - 1)
        self.check_integer("size", 1, 64)
        self.check_share("miss_weight")
        self.check_seed()
        if self.permutations not in _SCHEMES:
            raise self.setting_error("permutations", f"one of {', '.join(_SCHEMES)}")
        if self.hashfunc:
            self._resolve("hashfunc")
        if self.tokens not in _UNITS:
            self._resolve("tokens")

    def fingerprint(self, features: Features) -> Fingerprint | None:
        tokens = list(dict.fromkeys(self._tokens(features)))
        if not tokens:
            return None
        minhash = self._empty.copy()
        minhash.update_batch([seeded_hash(token, _KEYED_BYTES, self.seed) for token in tokens] if self.seed else tokens)
        values: npt.NDArray[Any] = minhash.hashvalues
        head = _HEADER.pack(_TAG, _SCHEMES.index(self.permutations), max(1, features.length), len(tokens))
        return Fingerprint(self._band_keys(values), head + values.astype(self._stored).tobytes())

    def compare(self, new: bytes, old: bytes) -> Match | None:
        new_size, new_values = self._read(new)
        old_size, old_values = self._read(old)
        agreement = SlotOverlap(int(np.count_nonzero(new_values == old_values)), self.num_perm, counts_sets=True)
        return agreement.match(new_size, old_size, self._bounds)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        new_size, new_values = self._read(new)
        old_size, old_values = self._read(old)
        differing = new_values != old_values
        piece = Evidence.of_places("slots", differing.tobytes())
        agreement = SlotOverlap(self.num_perm - int(np.count_nonzero(differing)), self.num_perm, counts_sets=True)
        return agreement.assessment(self.name, new_size, old_size, self._bounds, piece)

    def scheme(self) -> Mapping[str, object]:
        bands, rows = self._bands()
        names = ["num_perm", "permutation_seed", "permutations", "hashfunc", "tokens", "size", "seed"]
        if self.tokens == "segmented":
            names.append("segmenter")
        return {"version": 1, **self.constants(*names), "bands": bands, "rows": rows}

    def _tokens(self, features: Features) -> Iterable[bytes]:
        if self.tokens in ("words", "segmented"):
            words = features.text.split() if self.tokens == "words" else features.words(self.segmenter)
            return (" ".join(run).encode("utf-8", "surrogatepass") for run in _runs(words, self.size))
        if self.tokens == "characters":
            return (run.encode("utf-8", "surrogatepass") for run in _runs(features.text, self.size))
        tokens: Iterable[bytes] = self._resolve("tokens")(features.page.text)
        return tokens

    @functools.cached_property
    def _empty(self) -> Any:
        library = import_extra("datasketch", _USER, "datasketch")  # imports scipy, which takes a second
        return library.MinHash(
            num_perm=self.num_perm,
            seed=self.permutation_seed,
            hashfunc=self._resolve("hashfunc") if self.hashfunc else None,
            scheme=self.permutations,
        )

    @property
    def _bounds(self) -> MatchLimits:
        return MatchLimits(self.threshold, self.length_ratio, self.length_slack, self.containment)

    @property
    def _stored(self) -> str:
        return _VALUE_TYPES[self.permutations]

    def _band_keys(self, values: npt.NDArray[Any]) -> tuple[bytes, ...]:
        bands, rows = self._bands()
        # MinHashLSH stores each band under its values in network byte order, in a separate table.
        return tuple(
            band.to_bytes(2, "big") + values[band * rows : (band + 1) * rows].byteswap().tobytes()
            for band in range(bands)
        )

    def _bands(self) -> tuple[int, int]:
        return choose_bands(self.threshold, self.num_perm, self.miss_weight)

    def _resolve(self, constant: str) -> Callable[..., Any]:
        function: Callable[..., Any] | None = None
        with contextlib.suppress(ValueError, TypeError, ImportError, AttributeError):
            function = pkgutil.resolve_name(getattr(self, constant))
        if not callable(function):
            kinds = '"words", "segmented", "characters" or ' if constant == "tokens" else ""
            raise self.setting_error(constant, f'{kinds}the dotted name of a function, "package.module:name"')
        return function

    def _read(self, sketch: bytes) -> tuple[TextSize, npt.NDArray[Any]]:
        if len(sketch) < _HEADER.size or sketch[0] != _TAG:
            raise self.sketch_error(sketch)
        _, scheme, length, count = _HEADER.unpack_from(sketch)
        values = np.dtype(self._stored).itemsize * self.num_perm
        if (
            scheme != _SCHEMES.index(self.permutations)
            or len(sketch) != _HEADER.size + values
            or not (length and count)
        ):
            raise self.sketch_error(sketch)
        return TextSize(length, count), np.frombuffer(sketch, self._stored, offset=_HEADER.size)


def _runs(units: Any, size: int) -> Iterable[Any]:
    """Return all runs of ``size`` units; fewer units are one run."""
    return (units[i : i + size] for i in range(max(1, len(units) - size + 1))) if units else ()
