"""SpotSigs: spots, which are chains of content words after the antecedents of running text.

Sizes and prefixes restrict the pairs that are compared. Two sets of a ≤ b elements have a Jaccard similarity
J ≥ τ only if a ≥ τ·b and if they share o ≥ τ·(a + b) / (1 + τ) elements. Therefore sizes are divided into
partitions, each so wide that all partners of a set are in its own or a neighbouring partition (Theobald,
Siddharth, Paepcke, *SpotSigs*, SIGIR 2008). In an order that is the same for all sets, the first common
element of two such sets is among the first a - o + 1 and the first b - o + 1 elements (prefix filter:
Chaudhuri, Ganti, Kaushik, ICDE 2006). All bounds use the same division as J, so that rounding loses no pair.
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

from dedupcrawl.detectors.base import Bar, Detector, Exhibit, Fingerprint, Match, Opinion, Relation
from dedupcrawl.detectors.lsh import bucket_keys, is_rising
from dedupcrawl.text.normalize import normalize
from dedupcrawl.text.shingles import seeded_hash

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence

    from dedupcrawl.text.features import Features


Elements = npt.NDArray[np.uint32]

_TAG = b"\x54"
_COMMON_FLAG = 1 << 31  #: flag in the elements of common spots, so that rare ones sort first
_MAX_KEYS = 4096  #: highest number of keys of a page; a record counts them in 16 bits
_RARE_WORD_BYTES = 7.5  #: average UTF-8 bytes per word of a rare spot: seven letters or three Han characters
_PARTITION_SHIFT = np.uint64(32)  #: bits of a key below the partition number
_FIRST_PARTITIONS = 16  #: partitions computed at first; the number is then doubled as needed
#: Antecedents with their spot distances: the English ones of the paper, and Chinese ones.
ANTECEDENTS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(("the", "a", "an", "is", "was", "said", "的", "了", "是", "在", "和"), 1)
)

# The closed word classes of English (articles, pronouns, prepositions, conjunctions, auxiliaries, and the
# parts of contractions after an apostrophe) and of Chinese (particles, pronouns, prepositions, conjunctions,
# the most frequent adverbs, modal verbs and localisers, in both scripts), compiled for this package.
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
#: Words that are not content words.
STOP_WORDS = frozenset(f"{_ENGLISH} {_CHINESE}".split())


@dataclass(frozen=True)
class SpotSigs(Detector):
    """Spot signatures (Theobald, Siddharth, Paepcke, *SpotSigs*, SIGIR 2008).

    A spot is an antecedent, a word as frequent as "the", and the ``chain`` content words after it.
    Navigation, lists and captions have few spots, so that copies are found in different templates. Two pages
    match if the Jaccard similarity of their multisets of spots is at least ``tau``.

    The i-th occurrence of a spot is a separate element, so that the multisets become sets. The keys of a page
    are the first elements of its prefix within the partition of its size: rare spots first (long words are
    rare), then by hash. Its probes are all partitions with possible matches. At most ``filed`` elements of
    the prefix are keys. A pair is missed only if none of them is common: with similarity J among the rare
    spots, with a probability below (1 - J)^filed. ``filed = 0`` misses no pair (up to 4,096 keys).

    Elements are 31-bit hashes. Once in 200,000 comparisons two pages of 100 spots each have equal hashes of
    different spots; the error of J is then below 0.01.

    Sketch, little-endian: ``B`` tag 0x54, then the elements, ``I`` each, in ascending order. A page with
    fewer than ``least`` elements has no fingerprint, because otherwise all pages with the same single spot
    would match.
    """

    name: ClassVar[str] = "spotsigs"
    tau: float = 0.44  #: τ, lowest Jaccard similarity of a match, above 0, at most 1
    #: word → spot distance d, 1…64: the chain takes every d-th content word
    antecedents: Mapping[str, int] = field(default_factory=lambda: dict(ANTECEDENTS), hash=False)
    stop_words: Collection[str] = STOP_WORDS  #: words besides the antecedents that are not content words
    chain: int = 2  #: c, content words of a spot, 1…16
    least: int = 4  #: lowest number of spots of a page, 1…1000; the bound of the authors' program
    filed: int = 16  #: highest number of keys of a page, 0…1000; 0: as many as are needed to miss no pair
    segmenter: str = "jieba"  #: segmenter for Chinese
    seed: int = 0  #: seed of all hashes, 0…2^64 - 1

    def __post_init__(self) -> None:
        self.check_share("tau")
        self.check_integer("chain", 1, 16)
        self.check_integer("least", 1, 1000)
        self.check_integer("filed", 0, 1000)
        self.check_seed()
        object.__setattr__(self, "antecedents", self._checked_antecedents())
        object.__setattr__(self, "stop_words", self._checked_stop_words())

    def fingerprint(self, features: Features) -> Fingerprint | None:
        elements, tau = self._elements(features.words(self.segmenter)), self.tau
        size = len(elements)
        if size < self.least:
            return None
        smallest = smallest_partner(size, tau)
        keys = self._keys(elements, partition_of(size, tau), smallest)
        last = partition_of(largest_partner(size, tau), tau)
        probes: list[bytes] = []
        for number in range(partition_of(smallest, tau), last + 1):
            probes += self._keys(elements, number, max(smallest, smallest_in_partition(number, tau)))
        return Fingerprint(keys, _TAG + elements.astype("<u4").tobytes(), tuple(probes))

    def compare(self, new: bytes, old: bytes) -> Match | None:
        new_elements, old_elements = self._read(new), self._read(old)
        sizes = len(new_elements), len(old_elements)
        if min(sizes) / max(sizes) < self.tau:
            return None
        similarity, evidence = _measure(new_elements, old_elements)
        return Match(similarity, Relation.NEAR_DUPLICATE, evidence) if similarity >= self.tau else None

    def assess(self, new: bytes, old: bytes) -> Opinion:
        both = self._read(new), self._read(old)
        similarity, evidence = _measure(*both)
        bar = Bar("tau", self.tau, similarity, at_least=True, measure="similarity")
        names = ([f"{element:08x}" for element in elements.tolist()] for elements in both)
        exhibit = Exhibit.of_elements("spots", *names)
        return Opinion(self.name, self.compare(new, old), similarity, evidence, (bar,), (exhibit,))

    def scheme(self) -> Mapping[str, object]:
        stop_words = "\n".join(sorted(self.stop_words)).encode()
        return {
            "version": 1,
            "tau": self.tau,
            "antecedents": dict(self.antecedents),
            "stop_words": blake2b(stop_words, digest_size=8).hexdigest(),
            **self.constants("chain", "filed", "segmenter", "seed"),
        }

    def _elements(self, words: tuple[str, ...]) -> Elements:
        """Number the occurrences of each spot, and hash every occurrence."""
        found = Counter(spots(words, self.antecedents, self.stop_words, self.chain))
        elements = {self._element(spot, i) for spot, count in found.items() for i in range(count)}
        return np.array(sorted(elements), np.uint32)

    def _element(self, spot: tuple[str, ...], occurrence: int) -> int:
        """Hash an occurrence of a spot to 31 bits; bit 31 is set for common spots."""
        antecedent, *links = (word.encode("utf-8", "surrogatepass") for word in spot)
        text = b"\0".join((b"%d" % occurrence, antecedent, *links))
        number = int.from_bytes(seeded_hash(text, 4, self.seed), "little") % _COMMON_FLAG
        return number if sum(map(len, links)) >= _RARE_WORD_BYTES * len(links) else number | _COMMON_FLAG

    def _keys(self, elements: Elements, number: int, partner: int) -> tuple[bytes, ...]:
        """Return the keys in a partition for matches of ``partner`` or more elements."""
        count = prefix_length(len(elements), partner, self.tau)
        first = elements[: min(count, self.filed or _MAX_KEYS)].astype(np.uint64)
        return bucket_keys(first | np.uint64(number) << _PARTITION_SHIFT)

    def _read(self, sketch: bytes) -> Elements:
        if len(sketch) < 1 + 4 or len(sketch) % 4 != 1 or sketch[:1] != _TAG:
            raise self.sketch_error(sketch)
        elements = np.frombuffer(sketch, "<u4", offset=1)
        if not is_rising(elements):
            raise self.sketch_error(sketch)
        return elements

    def _checked_antecedents(self) -> Mapping[str, int]:
        given: object = self.antecedents
        accepted = "a dict from words to spot distances, whole numbers from 1 to 64"
        if not isinstance(given, Mapping) or not given:
            raise self.setting_error("antecedents", accepted)
        for word, distance in given.items():
            is_integer = isinstance(distance, int) and not isinstance(distance, bool)
            if not _is_word(word) or not is_integer or not 1 <= distance <= 64:
                raise self.setting_error("antecedents", accepted)
        return {normalize(word): given[word] for word in sorted(given)}

    def _checked_stop_words(self) -> Collection[str]:
        given: object = self.stop_words
        if isinstance(given, str) or not isinstance(given, Collection) or not all(map(_is_word, given)):
            raise self.setting_error("stop_words", "a list of words")
        return frozenset(map(normalize, given))


def spots(
    words: Sequence[str], antecedents: Mapping[str, int], stop_words: Container[str], chain: int
) -> Iterator[tuple[str, ...]]:
    """Yield the spot after every antecedent: the antecedent itself, then ``chain`` content words.

    Content words are neither stop words nor antecedents. The chain takes every d-th of them, with the spot
    distance d of the antecedent. A chain that the end of the text cuts short is not used.
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


def smallest_partner(size: int, tau: float) -> int:
    """Return the smallest size of a set with a similarity of ``tau``, 0…1, to a set of ``size``."""
    partner = max(1, floor(size * tau))
    while partner > 1 and (partner - 1) / size >= tau:
        partner -= 1
    while partner / size < tau:
        partner += 1
    return partner


def largest_partner(size: int, tau: float) -> int:
    """Return the largest size of a set with a similarity of ``tau``, 0…1, to a set of ``size``."""
    partner = max(size, ceil(size / tau))
    while size / (partner + 1) >= tau:
        partner += 1
    while size / partner < tau:
        partner -= 1
    return partner


def prefix_length(size: int, partner: int, tau: float) -> int:
    """Return how many of ``size`` elements always include one of a match of ``partner`` or more elements."""
    common = max(1, floor(tau * (size + partner) / (1 + tau)) - 1)
    while common / (size + partner - common) < tau:
        common += 1
    return size - common + 1


def partition_of(size: int, tau: float) -> int:
    """Return the number of the partition of a size, from 0."""
    last = _FIRST_PARTITIONS
    while size >= partition_starts(tau, last)[-1]:
        last *= 2
    return bisect_right(partition_starts(tau, last), size) - 1


def smallest_in_partition(number: int, tau: float) -> int:
    """Return the smallest size in a partition."""
    return partition_starts(tau, max(_FIRST_PARTITIONS, 1 << number.bit_length()))[number]


@functools.cache  # of powers of two only: near tau = 1 nearly every size has its own partition
def partition_starts(tau: float, last: int) -> tuple[int, ...]:
    """Return the smallest size of each partition from 0 to ``last``.

    The largest size of a partition has no partner beyond the next partition.
    """
    starts = [1, 2]
    while len(starts) <= last:
        starts.append(max(starts[-1] + 1, largest_partner(starts[-1] - 1, tau) + 1))
    return tuple(starts)


def _measure(new: Elements, old: Elements) -> tuple[float, dict[str, object]]:
    """Return similarity and evidence."""
    common = len(np.intersect1d(new, old, assume_unique=True))
    union = len(new) + len(old) - common
    return common / union, {"spots": f"{common} of {union}", "sizes": [len(new), len(old)]}


def _is_word(word: object) -> bool:
    return isinstance(word, str) and len(normalize(word).split()) == 1
