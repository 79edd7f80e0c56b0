"""The compiled text kernel, and whether it is in use.

From text to sketch, the kernel (C, in ``kernel_src/``) does the work of :mod:`~dedupcrawl.text.normalize`,
:mod:`~dedupcrawl.text.shingles` and :mod:`~dedupcrawl.detectors.lsh`, with the same results bit for bit. The numpy
code is the reference, and serves where the kernel could not be built. All tables and constants of the kernel are
those of the numpy code, so the version of Unicode is the same too.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from dedupcrawl.text.normalize import ROLE_SHIFT, Role, kernel_tables, pack
from dedupcrawl.text.shingles import CACHED_SEEDS, Tokens, hash_long_word, kernel_keys
from dedupcrawl.utils.optional import load_extension

if TYPE_CHECKING:
    from types import ModuleType

    import numpy.typing as npt

    from dedupcrawl.text._kernel import Hasher, Normalizer, Text
    from dedupcrawl.text.normalize import Points
    from dedupcrawl.text.shingles import Hashes

    Counts = npt.NDArray[np.int64]

_VERSION = 7  #: of the extension, ``KERNEL_VERSION`` in ``kernel.h``
_CHARACTER = np.uint32(Role.CHARACTER)


_kernel, _why_not = load_extension("dedupcrawl.text._kernel", _VERSION)


def is_compiled() -> bool:
    """Return whether the compiled kernel is in use."""
    return _kernel is not None


def description() -> str:
    """Return in a few words which code turns texts into sketches, and why."""
    return "compiled" if is_compiled() else f"numpy ({_why_not})"


def loaded() -> ModuleType:
    """Return the extension module, which must be in use."""
    assert _kernel is not None
    return _kernel


def compile_text(text: str, *, fold_chinese: bool = False) -> Text | None:
    """Normalise a text for the kernel; None if the kernel is not in use.

    Args:
        text: the text.
        fold_chinese: whether to convert traditional characters to simplified ones.
    """
    return None if _kernel is None else normalizer(fold_chinese).pack(text)


def points_of(text: Text) -> Points:
    """Return the packed points of a text, read-only."""
    return np.frombuffer(memoryview(text), np.uint32)


def tokens_of(text: Text, seed: int) -> Tokens:
    """Return the token stream, like :func:`~dedupcrawl.text.shingles.tokens`; the arrays are read-only."""
    hashes, first = hasher(seed).tokens(text)
    points = np.frombuffer(first, np.uint32)
    return Tokens(np.frombuffer(hashes, np.uint64), points >> ROLE_SHIFT == _CHARACTER, points)


def shingles_of(text: Text, characters: int, words: int, seed: int) -> Hashes:
    """Return the hashes of all shingles, like :func:`~dedupcrawl.text.shingles.shingles`; read-only."""
    return np.frombuffer(hasher(seed).shingles(text, characters, words), np.uint64)


@functools.cache
def normalizer(fold_chinese: bool) -> Normalizer:
    """Return the normaliser; the kernel must be in use."""
    made: Normalizer = loaded().Normalizer(*kernel_tables(fold_chinese=fold_chinese), pack)
    return made


@functools.lru_cache(CACHED_SEEDS)
def hasher(seed: int) -> Hasher:
    """Return the hasher of a seed; the kernel must be in use."""
    made: Hasher = loaded().Hasher(*kernel_keys(seed), functools.partial(hash_long_word, seed=seed))
    return made


def utf8_length(text: str) -> int:
    """Return the number of bytes of a text in UTF-8, with "?" for each lone surrogate."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-8", "replace")) if _kernel is None else _kernel.utf8_length(text)


def least_hashes(hashes: Hashes, factors: Hashes) -> Hashes | None:
    """Return for each factor the least ``light_mix(hash * factor)``; None if the kernel is not in use."""
    return None if _kernel is None else np.frombuffer(_kernel.least_hashes(hashes, factors), np.uint64)


def weigh_bits(hashes: Hashes, weights: Counts | None) -> Counts | None:
    """Return the total weight of the hashes with each bit, the lowest first; None if the kernel is not in use."""
    return None if _kernel is None else np.frombuffer(_kernel.weigh_bits(hashes, weights), np.int64)
