"""Spots: the short chains of content words behind words that only running text has.

Which sets can be alike at all: no pair is compared whose sizes, or first elements, rule a match out.

Two sets of a ≤ b elements have a Jaccard similarity J ≥ τ only if a ≥ τ·b, and only if they share
o ≥ τ·(a + b) / (1 + τ) of them. So sizes fall into partitions, each so wide that the partners of a set are in
its own or a neighbouring one (Theobald, Siddharth, Paepcke, *SpotSigs*, SIGIR 2008). And in an order that
is the same for all sets, the first element that two such sets share is among the first a - o + 1 of the one
and the first b - o + 1 of the other (prefix filter: Chaudhuri, Ganti, Kaushik, ICDE 2006). Every bound is
found with the very division that J is computed with, so that no rounding loses a pair.

Near-duplicates by their spots: what running text says behind its commonest words.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from math import ceil, floor
from types import MappingProxyType
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import numpy.typing as npt

from dedupcrawl.detectors.base import (
    Bar,
    Detector,
    Exhibit,
    Fingerprint,
    Match,
    Opinion,
    Relation,
    check_integer,
    check_seed,
    check_share,
    setting_error,
    sketch_error,
)
from dedupcrawl.detectors.lsh import bucket_keys
from dedupcrawl.text.hashing import seeded_hash
from dedupcrawl.text.normalize import normalize

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from dedupcrawl.text.features import Features


#: English ones as in the paper, and Chinese ones; each with its spot distance.
ANTECEDENTS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("the", "a", "an", "is", "was", "said", "的", "了", "是", "在", "和"), 1)
)

# The closed classes of English (articles, pronouns, prepositions, conjunctions, auxiliaries, and what is
# left of contractions at an apostrophe) and of Chinese (particles, pronouns, prepositions, conjunctions,
# the commonest adverbs, modal verbs and localisers, in both scripts), put down for this package.
_ENGLISH = """
a an the this that these those i me my mine myself we us our ours ourselves you your yours yourself
yourselves he him his himself she her hers herself it its itself they them their theirs themselves who
whom whose which what am is are was were be been being have has had having do does did doing done will
would shall should can could may might must ought about above across after against along among around as
at before behind below beneath beside between beyond by despite down during except for from in inside
into like near of off on onto out outside over past per since than through throughout to toward towards
under until up upon via with within without and but or nor so yet if because while whereas although
though unless whether when where why how not no any some all both each either neither every other another
such only own same too very just also even still ever never there here then now again once more most much
many few less least said says s t d m ll re ve
"""
_CHINESE = """
的 了 着 过 地 得 之 所 吗 呢 吧 啊 么 们 是 有 在 和 与 及 或 而 且 并 但 则 若 即 却 因 故 虽 以及 并且
而且 但是 因为 所以 如果 虽然 然而 或者 由于 因此 不过 我 你 您 他 她 它 我们 你们 他们 她们 它们 咱们
自己 这 那 哪 谁 其 此 该 各 每 某 这个 那个 这些 那些 这样 那样 这里 那里 这种 那种 什么 怎么 怎样 如何
为 对 从 向 到 把 被 让 给 以 于 由 用 将 按 据 比 跟 同 为了 对于 关于 根据 通过 就 都 也 还 又 再 才 只
很 更 最 太 不 没 没有 已 已经 正在 曾 曾经 会 能 可 可以 要 应 应该 必须 能够 上 下 中 里 内 外 前 后
之间 其中 等 个 一 一个 一些 来 去 著 過 嗎 麼 們 與 並 則 卻 雖 並且 因為 雖然 由於 我們 你們 他們 她們
它們 咱們 這 誰 該 這個 那個 這些 這樣 那樣 這裡 那裡 這種 那種 什麼 怎麼 怎樣 為 對 從 讓 給 將 據 為了
對於 關於 根據 通過 還 纔 沒 沒有 已經 會 應 應該 必須 能夠 裡 裏 內 後 之間 個 一個 來
"""
#: What is no content word.
STOP_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())


def spots(
    words: Sequence[str], antecedents: Mapping[str, int], stop_words: Container[str], chain: int
) -> Iterator[tuple[str, ...]]:
    """Yield the spot behind every antecedent: itself, then ``chain`` content words.

    Content words are those that are neither stop words nor antecedents; of them the chain takes every d-th,
    d the antecedent's spot distance. A chain that the end of the text cuts short is none.
    """
    content: list[str] = []
    found: list[tuple[str, int]] = []
    for word in words:
        if word in antecedents:
            found.append((word, len(content)))
        elif word not in stop_words:
            content.append(word)
    for antecedent, behind in found:
        distance = antecedents[antecedent]
        links = content[behind + distance - 1 : behind + distance * chain : distance]
        if len(links) == chain:
            yield antecedent, *links


_FIRST_PARTITIONS = 16  #: partitions that are numbered at once; then twice as many, and so on


def smallest_partner(size: int, tau: float) -> int:
    """Return the size of the smallest set that can be as alike as ``tau``, 0…1, to one of ``size``."""
    partner = max(1, floor(size * tau))
    while partner > 1 and (partner - 1) / size >= tau:
        partner -= 1
    while partner / size < tau:
        partner += 1
    return partner


def largest_partner(size: int, tau: float) -> int:
    """Return the size of the largest set that can be as alike as ``tau``, 0…1, to one of ``size``."""
    partner = max(size, ceil(size / tau))
    while size / (partner + 1) >= tau:
        partner += 1
    while size / partner < tau:
        partner -= 1
    return partner


def prefix_length(size: int, partner: int, tau: float) -> int:
    """Return how many of ``size`` elements are sure to hold one of those shared with a match.

    ``partner`` is the least size that the match may have.
    """
    common = max(1, floor(tau * (size + partner) / (1 + tau)) - 1)
    while common / (size + partner - common) < tau:
        common += 1
    return size - common + 1


def partition_of(size: int, tau: float) -> int:
    """Return the number of the partition in which a size is, from 0."""
    last = _FIRST_PARTITIONS
    while size >= partition_starts(tau, last)[-1]:
        last *= 2
    return bisect_right(partition_starts(tau, last), size) - 1


def smallest_in_partition(number: int, tau: float) -> int:
    """Return the smallest size in a partition."""
    return partition_starts(tau, max(_FIRST_PARTITIONS, 1 << number.bit_length()))[number]


@functools.cache  # of powers of two only: near tau = 1 nearly every size has a partition of its own
def partition_starts(tau: float, last: int) -> tuple[int, ...]:
    """Return the smallest size in each partition from 0 to ``last``.

    The largest size in one has no partner beyond the next.
    """
    starts = [1, 2]
    while len(starts) <= last:
        starts.append(max(starts[-1] + 1, largest_partner(starts[-1] - 1, tau) + 1))
    return tuple(starts)


Elements = npt.NDArray[np.uint32]

_TAG = b"\x54"
_COMMON_FLAG = 1 << 31  #: stands in the elements of common spots, so that the rare ones come first
_MAX_KEYS = 4096  #: of a page, whatever ``filed`` says: a record counts them in 16 bits
_RARE_WORD_BYTES = (
    7.5  #: UTF-8 bytes of a word in a rare spot, on average: seven letters or three Han characters
)
_PARTITION_SHIFT = np.uint64(32)  #: bits of a key below the number of the partition


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
        check_integer(self, "chain", 1, 16)
        check_integer(self, "least", 1, 1000)
        check_integer(self, "filed", 0, 1000)
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
        smallest = smallest_partner(size, self.tau)
        own = partition_of(size, self.tau)
        near = range(
            partition_of(smallest, self.tau), partition_of(largest_partner(size, self.tau), self.tau) + 1
        )
        keys = self._keys(elements, own, smallest)
        probes = [
            key
            for at in near
            for key in self._keys(elements, at, max(smallest, smallest_in_partition(at, self.tau)))
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
        number = int.from_bytes(seeded_hash(text, 4, self.seed), "little") % _COMMON_FLAG
        return number if sum(map(len, links)) >= _RARE_WORD_BYTES * len(links) else number | _COMMON_FLAG

    def _keys(self, elements: Elements, at: int, partner: int) -> tuple[bytes, ...]:
        """Return the keys in a partition that a match of ``partner`` or more elements has too."""
        count = prefix_length(len(elements), partner, self.tau)
        first = elements[: min(count, self.filed or _MAX_KEYS)].astype(np.uint64)
        return bucket_keys(first | np.uint64(at) << _PARTITION_SHIFT)

    def _read(self, sketch: bytes) -> Elements:
        if len(sketch) < 1 + 4 or len(sketch) % 4 != 1 or sketch[:1] != _TAG:
            raise sketch_error(self, sketch)
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
