"""From a page to the record that a store files, or the reason why it cannot be judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING

from dedupcrawl.detectors.exact import Exact
from dedupcrawl.page.model import Kind
from dedupcrawl.stores.base import KEY_BYTES, Record, url_key
from dedupcrawl.text.features import Features

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from dedupcrawl.detectors.base import Detector, Fingerprint
    from dedupcrawl.page.model import Page

#: A rest that is so many times longer than the main text hides it: only equal pages match.
DROWNED = 3


@dataclass(frozen=True, slots=True)
class Unfit:
    """A page that no detector can judge."""

    reason: str  #: "empty", "index", "short" or "no-fingerprint"


@dataclass(frozen=True, slots=True)
class Filer:
    """Turns pages into records.

    A record has a sketch of each detector. Where ``exact`` is none of them its sketch, the hash of the
    text, stands behind the others: it tells whether a page seen again is unchanged.
    """

    detectors: tuple[Detector, ...]
    min_chars: int
    clock: Callable[[], float]
    fold_chinese: bool = False

    def file(self, page: Page, *, track_url: bool = True) -> Record | Unfit:
        """Fingerprint ``page``, and file it under its URL too.

        With ``track_url`` it also looks for earlier versions there.
        """
        if page.kind is not Kind.ARTICLE:
            return Unfit(str(page.kind))
        features = Features(page, self.fold_chinese)
        if features.length == 0:
            return Unfit("empty")
        short = self._says_little(features) or _is_drowned(page)
        prints = [
            detector.fingerprint(features) if not short or detector.name == Exact.name else None
            for detector in self.detectors
        ]
        if not any(prints):
            return Unfit("short" if short else "no-fingerprint")
        record = self._record(page, prints, track_url)
        if text_place(self.detectors) < len(self.detectors):
            return record
        text = Exact().fingerprint(features)
        return replace(record, sketches=(*record.sketches, text.sketch if text else b""))

    def _says_little(self, features: Features) -> bool:
        """Whether a text is too short, or too poor in letters or words, for any but equal ones to match.

        Shingles know nothing of symbols: two pages of emoji and the one word "ok" would be alike. Nor do most
        methods know how often one word is repeated.
        """
        too_few = features.length < self.min_chars or 2 * features.letters < max(1, self.min_chars)
        return too_few or features.is_one_word_repeated

    def _record(self, page: Page, prints: list[Fingerprint | None], track_url: bool) -> Record:
        url = without_fragment(page.url)
        own = (url_key(url),) if url else ()
        keys = _bucket_keys((i, p.keys) for i, p in enumerate(prints) if p)
        probes = keys
        if any(p and p.probes is not None for p in prints):
            sought = ((i, p.keys if p.probes is None else p.probes) for i, p in enumerate(prints) if p)
            probes = _bucket_keys(sought)
        sketches = tuple(p.sketch if p else b"" for p in prints)
        if track_url:
            probes = own + probes
        return Record(url=url, keys=own + keys, sketches=sketches, seen=self.clock(), probes=probes)


def _is_drowned(page: Page) -> bool:
    """Whether so much else is judged that two pages would be alike whatever their main texts say.

    Where texts T have nothing in common and rests R are the same, J = R / (R + 2T): 0.6 at three times T.
    """
    return len(page.rest) > DROWNED * len(page.text)


def text_place(detectors: tuple[Detector, ...]) -> int:
    """Return which sketch of a record is the hash of its text: that of ``exact``, else the last."""
    names = [detector.name for detector in detectors]
    return names.index(Exact.name) if Exact.name in names else len(names)


def without_fragment(url: str) -> str:
    """Return the URL that a server sees."""
    return url.partition("#")[0]


def _bucket_keys(keys: Iterable[tuple[int, tuple[bytes, ...]]]) -> tuple[bytes, ...]:
    """Fold the keys of all detectors into one space of buckets, each detector in its own part."""
    folded = (
        blake2b(key, digest_size=KEY_BYTES, person=b"detector%d" % index).digest()
        for index, of_one in keys
        for key in of_one
    )
    return tuple(dict.fromkeys(folded))
