"""Computes bucket keys from stored sketches, and packs sketches into fewer bytes, by the scheme of a store alone.

The scheme has the constants that shape keys and sketches, but not those that only compare: no detector can be built
from it. The sketches of :class:`~dedupcrawl.detectors.exact.Exact` and :class:`~dedupcrawl.detectors.minhash.MinHash`
are known here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dedupcrawl.detectors.exact import HASH_BYTES, Exact
from dedupcrawl.detectors.lsh import ROUNDS, band_keys
from dedupcrawl.detectors.minhash import HEADER, TAG, MinHash
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.stores.base import KEY_BYTES, bucket_keys, key_personalization
from dedupcrawl.text.features import hasher, is_compiled, loaded, normalizer
from dedupcrawl.text.shingles import MAX_SHINGLE, seeded_constants
from dedupcrawl.utils.redaction import SECRET

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dedupcrawl.stores.redis.value_reader import ValueReader
    from dedupcrawl.text._kernel import RecordBuilder
    from dedupcrawl.utils.redaction import SecretSeed

_LOW, _MORE = 0x7F, 0x80  # bits of a byte of a number: seven of the number, and whether another byte follows


class SketchCodec:
    """The sketches of the records of a store.

    Args:
        exact: index of the hash of the text.
        minhash: index of the sketch of ``minhash``; None if there is none.
        is_key: whether the hash of the text is a key; else it only shows whether a text has changed.
        constants: the scheme of ``minhash``; empty if there is none.
        seed: of its hashes.
    """

    def __init__(
        self, exact: int, minhash: int | None, *, is_key: bool, constants: Mapping[str, Any], seed: int
    ) -> None:
        self._exact, self._minhash, self._is_key = exact, minhash, is_key
        self.minhash = -1 if minhash is None else minhash
        self.count = 1 if minhash is None else 2
        self.slots = int(constants.get("slots", 0))
        self._bands = constants.get("bands", 0), constants.get("rows", 0), seed
        #: computes the keys of a record in one call; None without the kernel
        self.maker = self._new_maker(constants, seed) if minhash is not None and is_compiled() else None

    def _new_maker(self, constants: Mapping[str, Any], seed: int) -> RecordBuilder:
        """Return the compiled object that computes the keys of a record in one call."""
        counts = {"round": ROUNDS, "order": self.slots, "row": constants["rows"], "band": constants["bands"]}
        numbers = [seeded_constants(seed, purpose, count) for purpose, count in counts.items()]
        lengths = constants["characters"], constants["words"]
        sketcher = loaded().Sketcher(tuple, TAG, normalizer(False), hasher(seed), *lengths, *numbers)
        maker: RecordBuilder = loaded().RecordBuilder(
            normalizer(False),
            sketcher,
            seed=0,
            hash_size=HASH_BYTES,
            key_size=KEY_BYTES,
            text_person=key_personalization(self._exact) if self._is_key else None,
            band_person=key_personalization(1 - self._exact),
            is_text_first=self._exact == 0,
            min_chars=0,
        )
        return maker

    def keys(self, sketches: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
        """Return the bucket keys of a record, without that of its URL; None if its sketches are not those of a page."""
        if len(sketches) != self.count:
            return None
        if self.maker is not None:
            return self.maker.keys(sketches[self._exact], sketches[1 - self._exact])
        return self.keys_by_reference(sketches)

    def keys_by_reference(self, sketches: tuple[bytes, ...]) -> tuple[bytes, ...] | None:
        """Return the bucket keys of a record, computed in Python."""
        found: list[tuple[bytes, ...]] = [()] * self.count
        text = sketches[self._exact]
        if text and self._is_key:
            found[self._exact] = (text,)
        if len(text) not in {0, HASH_BYTES}:
            return None
        sketch = sketches[self._minhash] if self._minhash is not None else b""
        if sketch:
            if len(sketch) != HEADER.size + self.slots or sketch[0] != TAG:
                return None
            found[1 - self._exact] = band_keys(np.frombuffer(sketch, np.uint8, offset=HEADER.size), *self._bands)
        return bucket_keys(enumerate(found))

    def pack(self, sketches: tuple[bytes, ...]) -> bytes:
        """Return the sketches of a record that has keys; which of them are empty must be known to unpack them."""
        if self._minhash is None or not sketches[self._minhash]:
            return b"".join(sketches)
        sketch = sketches[self._minhash]
        _, length, shingles = HEADER.unpack_from(sketch)
        packed = _number(length) + _number(shingles) + sketch[HEADER.size :]
        return packed + sketches[1] if self._minhash == 0 else sketches[0] + packed

    def unpack(self, parts: ValueReader, empty: int) -> tuple[bytes, ...]:
        """Read sketches; ``empty`` has a bit for each that is empty. Raises as the reader does."""
        sketches: tuple[bytes, ...] = ()
        for index in range(self.count):
            sketch = b""
            if not empty & 1 << index and index == self._exact:
                sketch = parts.take(HASH_BYTES)
            elif not empty & 1 << index:
                length, shingles = parts.short_number(), parts.short_number()
                sketch = HEADER.pack(TAG, length, shingles) + parts.take(self.slots)
            sketches += (sketch,)
        return sketches


#: The versions of the schemes that are known here.
_SCHEMES = {Exact.name: 1, MinHash.name: 2}


def stored_sketches(scheme: Mapping[str, Any], secret: SecretSeed | None) -> SketchCodec | None:
    """Return the codec of the sketches of records; None if they have sketches of other detectors.

    Args:
        scheme: of the store, by name of detector (:func:`~dedupcrawl.detectors.registry.schemes`).
        secret: the secret seed that the store keeps, if it does.
    """
    names = [name for name in DETECTORS if name in scheme]
    if not names or not {*names} <= {Exact.name, MinHash.name}:
        return None
    if any(not isinstance(scheme[name], dict) or scheme[name].get("version") != _SCHEMES[name] for name in names):
        return None
    has_exact, has_minhash = Exact.name in names, MinHash.name in names
    constants = scheme[MinHash.name] if has_minhash else {}
    seed: Any = secret if constants.get("seed") == SECRET else constants.get("seed", 0)
    if not _is_whole(seed, 0, (1 << 64) - 1) or (has_minhash and not _are_constants(constants)):
        return None
    # Without ``exact``, each record has the hash of its text at the end; see ``Fingerprinter``.
    order = names if has_exact else [*names, Exact.name]
    minhash = order.index(MinHash.name) if has_minhash else None
    return SketchCodec(order.index(Exact.name), minhash, is_key=has_exact, constants=constants, seed=int(seed))


def _are_constants(of_minhash: Mapping[str, Any]) -> bool:
    """Return whether these are constants of ``minhash``: others may have written them to the server."""
    most = {"slots": 256, "bands": 256, "rows": 256, "characters": MAX_SHINGLE, "words": MAX_SHINGLE}
    are_whole = all(_is_whole(of_minhash.get(name), 1, limit) for name, limit in most.items())
    return are_whole and of_minhash["bands"] * of_minhash["rows"] <= of_minhash["slots"]


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _number(number: int) -> bytes:
    found = bytearray()
    while number > _LOW:
        found.append(number & _LOW | _MORE)
        number >>= 7
    found.append(number)
    return bytes(found)
