"""The signatures of the library datasketch, for users who own an index of them."""

from __future__ import annotations

import contextlib
import functools
import pkgutil
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import (
    Detector,
    Exhibit,
    Fingerprint,
    Match,
    check_bounds,
    check_integer,
    check_share,
    setting_error,
    sketch_error,
)
from dedupcrawl.detectors.lsh import choose_bands
from dedupcrawl.detectors.relations import MatchBounds, SlotAgreement, TextSize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from dedupcrawl.detectors.base import Opinion
    from dedupcrawl.text.features import Features

_HEADER = struct.Struct("<BBII")
_TAG = 0x44
_VALUE_TYPES = {
    "affine32": "<u4",
    "affine64": "<u8",
    "legacy": "<u4",
}  #: legacy values need no more than 32 bits
_SCHEMES = tuple(_VALUE_TYPES)
_UNITS = ("characters", "words", "segmented")


@dataclass(frozen=True)
class Datasketch(Detector):
    """``datasketch.MinHash``, value by value, and the bands of ``datasketch.MinHashLSH``.

    ``tokens`` is "words" (runs of ``size`` words between white space, joined by a space), "segmented" (the
    same of words that jieba finds, for Chinese) or "characters" (runs of ``size`` characters), all of the
    normalised text, or the dotted name of an own function from the page's text
    to an iterable of bytes. ``hashfunc`` is the dotted name of a hash function, "" for datasketch's default.
    ``permutation_seed`` is datasketch's ``seed``; it does not follow the seed of the configuration, since
    the signatures that a user already has do not either.

    Sketch, little-endian: ``B`` tag 0x44, ``B`` scheme (0 affine32, 1 affine64, 2 legacy), ``I`` length in
    characters, ``I`` distinct tokens, then the hash values, 4 bytes each (affine64: 8).
    """

    name: ClassVar[str] = "datasketch"
    threshold: float = 0.8
    length_ratio: float = 1.10
    containment: float = 0.9
    num_perm: int = 128
    permutation_seed: int = 1
    permutations: str = "affine32"  #: datasketch's ``scheme``; "legacy" for values from before 2.0
    hashfunc: str = ""
    tokens: str = "words"
    size: int = 3
    segmenter: str = "jieba"  #: cuts Chinese for "segmented" tokens
    miss_weight: float = 0.5

    def __post_init__(self) -> None:
        check_bounds(self, "threshold")
        check_integer(self, "num_perm", 2, 4096)
        check_integer(self, "permutation_seed", 0, 2**32 - 1)
        check_integer(self, "size", 1, 64)
        check_share(self, "miss_weight")
        if self.permutations not in _SCHEMES:
            raise setting_error(self, "permutations", f"one of {', '.join(_SCHEMES)}")
        if self.hashfunc:
            self._resolve("hashfunc")
        if self.tokens not in _UNITS:
            self._resolve("tokens")

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the bands of its MinHash; None when it has no token."""
        tokens = list(dict.fromkeys(self._tokens(features)))
        if not tokens:
            return None
        minhash = self._empty.copy()
        minhash.update_batch(tokens)
        values: npt.NDArray[Any] = minhash.hashvalues
        head = _HEADER.pack(_TAG, _SCHEMES.index(self.permutations), max(1, features.length), len(tokens))
        return Fingerprint(self._band_keys(values), head + values.astype(self._stored).tobytes())

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Estimate J as datasketch does, and judge it by the two lengths."""
        new_size, new_values = self._read(new)
        old_size, old_values = self._read(old)
        agreement = SlotAgreement(int(np.count_nonzero(new_values == old_values)), self.num_perm)
        return agreement.judged(new_size, old_size, self._bounds)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the hash values that agree."""
        new_size, new_values = self._read(new)
        old_size, old_values = self._read(old)
        differing = new_values != old_values
        shown = Exhibit.of_places("slots", differing.tobytes())
        agreement = SlotAgreement(self.num_perm - int(np.count_nonzero(differing)), self.num_perm)
        return agreement.weighed(self.name, new_size, old_size, self._bounds, shown)

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes values and bands."""
        bands, rows = self._bands()
        return {
            "version": 1,
            "num_perm": self.num_perm,
            "permutation_seed": self.permutation_seed,
            "permutations": self.permutations,
            "hashfunc": self.hashfunc,
            "tokens": self.tokens,
            "size": self.size,
            "bands": bands,
            "rows": rows,
        }

    def _tokens(self, features: Features) -> Iterable[bytes]:
        if self.tokens in ("words", "segmented"):
            words = features.text.split() if self.tokens == "words" else features.words(self.segmenter)
            return (" ".join(run).encode("utf-8", "surrogatepass") for run in _runs(words, self.size))
        if self.tokens == "characters":
            return (run.encode("utf-8", "surrogatepass") for run in _runs(features.text, self.size))
        cut: Callable[[str], Iterable[bytes]] = self._resolve("tokens")
        return cut(features.page.text)

    @functools.cached_property
    def _empty(self) -> Any:
        from datasketch import MinHash  # noqa: PLC0415 - it brings scipy, a second to load

        return MinHash(
            num_perm=self.num_perm,
            seed=self.permutation_seed,
            hashfunc=self._resolve("hashfunc") if self.hashfunc else None,
            scheme=self.permutations,
        )

    @property
    def _bounds(self) -> MatchBounds:
        return MatchBounds(self.threshold, self.length_ratio, self.containment)

    @property
    def _stored(self) -> str:
        return _VALUE_TYPES[self.permutations]

    def _band_keys(self, values: npt.NDArray[Any]) -> tuple[bytes, ...]:
        bands, rows = self._bands()
        # MinHashLSH files each band under its values in network byte order, in a table of its own.
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
            raise setting_error(
                self, constant, f'{kinds}the dotted name of a function, "package.module:name"'
            )
        return function

    def _read(self, sketch: bytes) -> tuple[TextSize, npt.NDArray[Any]]:
        if len(sketch) < _HEADER.size or sketch[0] != _TAG:
            raise sketch_error(self, sketch)
        _, scheme, length, count = _HEADER.unpack_from(sketch)
        values = np.dtype(self._stored).itemsize * self.num_perm
        if scheme != _SCHEMES.index(self.permutations) or len(sketch) != _HEADER.size + values or not count:
            raise sketch_error(self, sketch)
        return TextSize(length, count), np.frombuffer(sketch, self._stored, offset=_HEADER.size)


def _runs(units: Any, size: int) -> Iterable[Any]:
    """Cut all runs of ``size``; fewer units are one run."""
    return (units[at : at + size] for at in range(max(1, len(units) - size + 1))) if units else ()
