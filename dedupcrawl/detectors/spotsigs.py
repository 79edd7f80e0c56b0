"""Near-duplicates by their spots: what running text says behind its commonest words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.antecedents import ANTECEDENTS, STOP_WORDS, spots
from dedupcrawl.detectors.base import Bar, Detector, Exhibit, Fingerprint, Match, Opinion, Relation
from dedupcrawl.detectors.checks import check_seed, check_share, check_whole, foreign_sketch, setting_error
from dedupcrawl.detectors.keys import bucket_keys
from dedupcrawl.detectors.pruning import (
    greatest_partner,
    least_in,
    least_partner,
    partition,
    prefix,
)
from dedupcrawl.text.hashing import seeded_hash
from dedupcrawl.text.normalize import normalize

if TYPE_CHECKING:
    from dedupcrawl.text.features import Features

Elements = npt.NDArray[np.uint32]

_TAG = b"\x54"
_COMMON = 1 << 31  #: stands in the elements of common spots, so that the rare ones come first
_MOST_KEYS = 4096  #: of a page, whatever ``filed`` says: a record counts them in 16 bits
_RARE_BYTES = 7.5  #: UTF-8 bytes of a word in a rare spot, on average: seven letters or three Han characters
_PARTITION = np.uint64(32)  #: bits of a key below the number of the partition


@dataclass(frozen=True)
class SpotSigs(Detector):
    """Spot signatures (Theobald, Siddharth, Paepcke, *SpotSigs*, SIGIR 2008).

    A spot is an antecedent, a word as common as "the", and the ``chain`` content words behind it. Navigation,
    lists and captions have few of them, so that copies are told in the midst of other templates. Two
    pages match when the Jaccard similarity of their multisets of spots is at least ``tau``.

    The i-th appearance of a spot is an element of its own: the multisets become sets. A page is filed under
    the first elements of its prefix, those of rare spots (long words are rare) before all others and by hash
    among themselves, within the partition of its size; it looks into all partitions where a match can be.
    Of the prefix at most ``filed`` elements are keys. A pair is lost only if all of them miss what it
    shares: with similarity J among the rare spots less often than (1 - J)^filed. ``filed = 0`` loses none
    (it files up to 4,096 elements).

    Elements are 31-bit hashes: two pages of 100 spots each take different ones for equal once in 200,000
    comparisons, and then J is off by less than 0.01.

    Sketch, little-endian: ``B`` tag 0x54, then the elements, ``I`` each, rising. A page with fewer than
    ``least`` of them has no sketch: one spot says nothing, and all pages that have it would be alike.
    """

    name: ClassVar[str] = "spotsigs"
    tau: float = 0.44
    #: word → spot distance d: every d-th content word behind it is taken
    antecedents: Mapping[str, int] = field(default_factory=lambda: dict(ANTECEDENTS), hash=False)
    stop_words: Collection[str] = STOP_WORDS  #: besides the antecedents, what is no content word
    chain: int = 2  #: c
    least: int = 4  #: spots of a page
    filed: int = 16  #: most keys of a page; 0: as many as it takes to lose no pair
    segmenter: str = "jieba"
    seed: int = 0

    def __post_init__(self) -> None:
        check_share(self, "tau")
        check_whole(self, "chain", 1, 16)
        check_whole(self, "least", 1, 1000)
        check_whole(self, "filed", 0, 1000)
        check_seed(self)
        object.__setattr__(self, "antecedents", self._checked_antecedents())
        object.__setattr__(self, "stop_words", self._checked_stop_words())

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under its first spots; None when it has too few."""
        words = features.words(self.segmenter)
        elements = self._elements(words)
        size = len(elements)
        if size < self.least:
            return None
        smallest = least_partner(size, self.tau)
        own = partition(size, self.tau)
        near = range(partition(smallest, self.tau), partition(greatest_partner(size, self.tau), self.tau) + 1)
        keys = self._keys(elements, own, smallest)
        probes = [
            key for at in near for key in self._keys(elements, at, max(smallest, least_in(at, self.tau)))
        ]
        return Fingerprint(keys, _TAG + elements.astype("<u4").tobytes(), tuple(probes))

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Compare the two sets of elements."""
        of_new, of_old = self._read(new), self._read(old)
        sizes = len(of_new), len(of_old)
        if min(sizes) / max(sizes) < self.tau:
            return None
        common = len(np.intersect1d(of_new, of_old, assume_unique=True))
        union = sum(sizes) - common
        if common / union < self.tau:
            return None
        evidence = {"spots": f"{common} of {union}", "sizes": list(sizes)}
        return Match(common / union, Relation.NEAR_DUPLICATE, evidence)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Show the spots by their hashes."""
        of_new, of_old = self._read(new), self._read(old)
        common = len(np.intersect1d(of_new, of_old, assume_unique=True))
        union = len(of_new) + len(of_old) - common
        similarity = common / union
        names = ([f"{element:08x}" for element in elements.tolist()] for elements in (of_new, of_old))
        return Opinion(
            self.name,
            self.compare(new, old),
            similarity,
            {"spots": f"{common} of {union}", "sizes": [len(of_new), len(of_old)]},
            (Bar("tau", self.tau, similarity, at_least=True, measure="similarity"),),
            (Exhibit.of_elements("spots", *names),),
        )

    def scheme(self) -> Mapping[str, object]:
        """Everything that shapes spots and keys."""
        stop_words = "\n".join(sorted(self.stop_words)).encode()
        return {
            "version": 1,
            "tau": self.tau,
            "antecedents": dict(self.antecedents),
            "stop_words": blake2b(stop_words, digest_size=8).hexdigest(),
            "chain": self.chain,
            "filed": self.filed,
            "segmenter": self.segmenter,
            "seed": self.seed,
        }

    def _elements(self, words: tuple[str, ...]) -> Elements:
        """Number the appearances of each spot, and hash every one."""
        found = Counter(spots(words, self.antecedents, self.stop_words, self.chain))
        elements = {self._element(spot, place) for spot, count in found.items() for place in range(count)}
        return np.array(sorted(elements), np.uint32)

    def _element(self, spot: tuple[str, ...], place: int) -> int:
        """Hash an appearance of a spot to 31 bits; above them stands whether the spot is common."""
        antecedent, *links = (word.encode("utf-8", "surrogatepass") for word in spot)
        text = b"\0".join((b"%d" % place, antecedent, *links))
        number = int.from_bytes(seeded_hash(text, 4, self.seed), "little") % _COMMON
        return number if sum(map(len, links)) >= _RARE_BYTES * len(links) else number | _COMMON

    def _keys(self, elements: Elements, at: int, partner: int) -> tuple[bytes, ...]:
        """Return the keys in a partition that a match of ``partner`` or more elements has too."""
        count = prefix(len(elements), partner, self.tau)
        first = elements[: min(count, self.filed or _MOST_KEYS)].astype(np.uint64)
        return bucket_keys(first | np.uint64(at) << _PARTITION)

    def _read(self, sketch: bytes) -> Elements:
        if len(sketch) < 1 + 4 or len(sketch) % 4 != 1 or sketch[:1] != _TAG:
            raise foreign_sketch(self, sketch)
        return np.frombuffer(sketch, "<u4", offset=1)

    def _checked_antecedents(self) -> Mapping[str, int]:
        given: object = self.antecedents
        accepted = "a dict from words to spot distances, whole numbers from 1 to 64"
        if not isinstance(given, Mapping) or not given:
            raise setting_error(self, "antecedents", accepted)
        for word, distance in given.items():
            whole = isinstance(distance, int) and not isinstance(distance, bool)
            if not _is_word(word) or not whole or not 1 <= distance <= 64:
                raise setting_error(self, "antecedents", accepted)
        return {normalize(word): given[word] for word in sorted(given)}

    def _checked_stop_words(self) -> Collection[str]:
        given: object = self.stop_words
        if isinstance(given, str) or not isinstance(given, Collection) or not all(map(_is_word, given)):
            raise setting_error(self, "stop_words", "a list of words")
        return frozenset(map(normalize, given))


def _is_word(word: object) -> bool:
    return isinstance(word, str) and len(normalize(word).split()) == 1
