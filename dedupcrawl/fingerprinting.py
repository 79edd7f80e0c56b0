"""From a page to the record that a store files, or the reason why it cannot be judged."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from dedupcrawl.detectors.exact import Exact
from dedupcrawl.page.model import Kind
from dedupcrawl.stores.base import KEY_BYTES, Record, url_key
from dedupcrawl.text.features import Features, FeaturesBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from dedupcrawl.detectors.base import Detector, Fingerprint
    from dedupcrawl.page.model import Page

BATCH_CHARS = 1 << 18  #: characters of pages that are filed together; with more the arrays leave the cache

#: A rest that is so many times longer than the main text hides it: only equal pages match.
MAX_REST_RATIO = 3


@dataclass(frozen=True, slots=True)
class Uncheckable:
    """A page that no detector can judge."""

    reason: str  #: "empty", "index", "short" or "no-fingerprint"


@dataclass(frozen=True, slots=True)
class Fingerprinter:
    """Turns pages into records.

    A record has a sketch of each detector. Where ``exact`` is none of them its sketch, the hash of the
    text, stands behind the others: it tells whether a page seen again is unchanged.
    """

    detectors: tuple[Detector, ...]
    min_chars: int
    clock: Callable[[], float]
    fold_chinese: bool = False

    def file(self, page: Page, *, track_url: bool = True) -> Record | Uncheckable:
        """Fingerprint ``page``, and file it under its URL too.

        With ``track_url`` it also looks for earlier versions there.
        """
        if page.kind is not Kind.ARTICLE:
            return Uncheckable(str(page.kind))
        features = Features(page, self.fold_chinese)
        if features.length == 0:
            return Uncheckable("empty")
        short = self._says_little(features) or _is_mostly_rest(page)
        prints = [
            detector.fingerprint(features) if not short or detector.name == Exact.name else None
            for detector in (*self.detectors, *self._text_only)
        ]
        return self._filed(page, prints, short, track_url=track_url)

    def file_many(self, pages: Sequence[Page], *, track_url: bool = True) -> list[Record | Uncheckable]:
        """Do as :meth:`file` does with each page, in less time for many small ones."""
        found: list[Record | Uncheckable] = []
        for some in _in_batches(pages):
            if len(some) == 1:
                found.append(self.file(some[0], track_url=track_url))
            else:
                found += self._file_together(some, track_url=track_url)
        return found

    def _file_together(self, pages: Sequence[Page], *, track_url: bool) -> list[Record | Uncheckable]:
        group = FeaturesBatch(pages, fold_chinese=self.fold_chinese)
        short = self._say_little(group)
        texts = [
            page.kind is Kind.ARTICLE and length > 0
            for page, length in zip(pages, group.lengths, strict=True)
        ]
        whole = [text and not poor for text, poor in zip(texts, short, strict=True)]
        prints = [
            detector.fingerprint_many(group, texts if detector.name == Exact.name else whole)
            for detector in (*self.detectors, *self._text_only)
        ]
        found: list[Record | Uncheckable] = []
        for place, (page, length) in enumerate(zip(pages, group.lengths, strict=True)):
            if page.kind is not Kind.ARTICLE:
                found.append(Uncheckable(str(page.kind)))
            elif length == 0:
                found.append(Uncheckable("empty"))
            else:
                of_one = [of_all[place] for of_all in prints]
                found.append(self._filed(page, of_one, short[place], track_url=track_url))
        return found

    @property
    def _text_only(self) -> tuple[Detector, ...]:
        """What hashes the text where none of the detectors does; nothing is filed under it."""
        return () if text_sketch_index(self.detectors) < len(self.detectors) else (Exact(),)

    def _filed(
        self, page: Page, prints: list[Fingerprint | None], short: bool, *, track_url: bool
    ) -> Record | Uncheckable:
        sketches = tuple([each.sketch if each else b"" for each in prints])
        del prints[len(self.detectors) :]
        if not any(prints):
            return Uncheckable("short" if short else "no-fingerprint")
        return self._record(page, prints, sketches, track_url)

    def _say_little(self, group: FeaturesBatch) -> list[bool]:
        """Say of every page whether it is too short, or drowned, as :meth:`file` does."""
        few = [self._too_few(*each) for each in zip(group.lengths, group.letters, strict=True)]
        repeated = group.are_one_word_repeated
        return [
            poor or again or _is_mostly_rest(page)
            for poor, again, page in zip(few, repeated, group.pages, strict=True)
        ]

    def _says_little(self, features: Features) -> bool:
        """Whether a text is too short, or too poor in letters or words, for any but equal ones to match.

        Shingles know nothing of symbols: two pages of emoji and the one word "ok" would be alike. Nor do most
        methods know how often one word is repeated.
        """
        return self._too_few(features.length, features.letters) or features.is_one_word_repeated

    def _too_few(self, length: int, letters: int) -> bool:
        return length < self.min_chars or 2 * letters < max(1, self.min_chars)

    def _record(
        self, page: Page, prints: list[Fingerprint | None], sketches: tuple[bytes, ...], track_url: bool
    ) -> Record:
        url = without_fragment(page.url)
        own = (url_key(url),) if url else ()
        there = [(place, each) for place, each in enumerate(prints) if each]
        keys = probes = _bucket_keys([(place, each.keys) for place, each in there])
        if [each for _, each in there if each.probes is not None]:
            probes = _bucket_keys(
                [(place, each.keys if each.probes is None else each.probes) for place, each in there]
            )
        if track_url:
            probes = own + probes
        return Record(url, own + keys, sketches, self.clock(), probes=probes)


def _is_mostly_rest(page: Page) -> bool:
    """Whether so much else is judged that two pages would be alike whatever their main texts say.

    Where texts T have nothing in common and rests R are the same, J = R / (R + 2T): 0.6 at three times T.
    """
    return len(page.rest) > MAX_REST_RATIO * len(page.text)


def _in_batches(pages: Sequence[Page]) -> Iterator[Sequence[Page]]:
    """Cut pages into runs of bounded size; one that is longer stands alone."""
    begin = size = 0
    for place, page in enumerate(pages):
        length = len(page.text) + len(page.rest)
        if size + length > BATCH_CHARS and place > begin:
            yield pages[begin:place]
            begin, size = place, 0
        size += length
    if len(pages) > begin:
        yield pages[begin:]


def text_sketch_index(detectors: tuple[Detector, ...]) -> int:
    """Return which sketch of a record is the hash of its text: that of ``exact``, else the last."""
    names = [detector.name for detector in detectors]
    return names.index(Exact.name) if Exact.name in names else len(names)


def without_fragment(url: str) -> str:
    """Return the URL that a server sees."""
    return url.partition("#")[0]


def _bucket_keys(keys: Iterable[tuple[int, tuple[bytes, ...]]]) -> tuple[bytes, ...]:
    """Fold the keys of all detectors into one space of buckets, each detector in its own part."""
    folded: dict[bytes, None] = {}
    for index, of_one in keys:
        empty = _key_hasher(index)
        for key in of_one:
            hashed = empty.copy()
            hashed.update(key)
            folded[hashed.digest()] = None
    return tuple(folded)


@functools.cache
def _key_hasher(index: int) -> blake2b:
    """Return what hashes the keys of a detector; only copies of it may be updated."""
    return blake2b(digest_size=KEY_BYTES, person=b"detector%d" % index)
