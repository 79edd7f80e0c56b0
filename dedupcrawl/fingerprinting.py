"""From a page to its record: the sketches and keys of all detectors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.detectors.exact import HASH_BYTES, Exact
from dedupcrawl.identity.identity_sketch import sketch_identity, unread_identity
from dedupcrawl.page.model import TOO_LARGE, Kind, Page
from dedupcrawl.page.signatures import LITTLE_READ, with_layout
from dedupcrawl.page.time_limit import check_time
from dedupcrawl.sites.registrable_domain import host_of
from dedupcrawl.stores.base import KEY_BYTES, Record, RecordContext, bucket_keys, key_personalization, url_key
from dedupcrawl.text.features import Features, FeaturesBatch, compared_text, is_compiled, loaded, normalizer
from dedupcrawl.text.normalize import expanded_length

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from dedupcrawl.detectors.base import Detector, Fingerprint
    from dedupcrawl.stores.site_tables import SiteView
    from dedupcrawl.text._kernel import RecordBuilder

#: Why a page whose whole text its site repeats is unchecked.
TEMPLATE = "template"
BATCH_CHARS = 1 << 18  #: highest number of characters fingerprinted together; with more the arrays exceed the CPU cache

#: If the other text of a page is more than this many times longer than the main text, only equal pages match.
MAX_REST_RATIO = 3
#: Only a page with less compared text, in UTF-8 bytes, can be ``little-read``: an article may have many comments.
MAX_LITTLE_BYTES = 600
#: Such a page is ``little-read`` if this many times more text was removed than is compared. This is true of no page of
#: aeb and cwced, and of no reprint.
LITTLE_READ_RATIO = 10

#: A text of more than ``LONG_TEXT`` characters is ``too-large`` if normalisation makes it more than this many times
#: longer. One character may become 18 (U+FDFA); the text of no page of aeb and cwced grows by more than 8 %.
LONG_TEXT, MAX_EXPANSION = 1 << 18, 2


@dataclass(frozen=True, slots=True)
class UncheckedPage:
    """A page that no detector can compare."""

    reason: str  #: "empty", "index", "consent", "little-read", "too-large", "short" or "no-fingerprint"


class TextFingerprint(NamedTuple):
    """What the detectors make of a text."""

    text: bytes  #: normalised, in UTF-8
    exact_only: bool  #: whether only its hash is compared
    sketches: tuple[bytes, ...]  #: as in a record
    keys: tuple[bytes, ...]  #: bucket keys without that of the URL
    probes: tuple[bytes, ...]  #: the same to search under


@dataclass(frozen=True)
class Fingerprinter:
    """Turns pages into records.

    A record has one sketch per detector. If ``exact`` is not in use, its sketch, the hash of the text, is
    appended: it shows whether a page seen again is unchanged.
    """

    detectors: tuple[Detector, ...]  #: in the order of the sketches
    min_chars: int  #: shorter texts are compared by ``exact`` only
    clock: Callable[[], float]  #: returns the Unix time in seconds
    seed: int = 0  #: key of the hashes in identities
    fold_chinese: bool = False  #: whether to convert traditional characters to simplified ones

    def fingerprint(
        self, page: Page, *, track_url: bool = True, view: SiteView | None = None
    ) -> Record | UncheckedPage:
        """Fingerprint a page; with ``track_url`` its record is also compared with earlier ones of its URL.

        Args:
            page: the page.
            track_url: as above.
            view: the page as its site knows it. What the site repeats is not compared.

        Raises :class:`~dedupcrawl.page.time_limit.TooSlowError` beyond a limit that is in force.
        """
        page = page.as_compared()
        compared = _comparable(page)
        made = self._sketches(compared, exact_only=_is_mostly_rest(compared) or bool(page.visible))
        if isinstance(made, UncheckedPage):
            return made
        if not made.keys:
            return _without_fingerprint(page, made.exact_only)
        record = self._record(page, made, track_url=track_url)
        if view is None:
            return record
        part = self.without_repeated(record, view.own, is_template=view.is_template and not page.visible)
        context = part.context or RecordContext()
        return part if context.reason else replace(part, context=replace(context, view=view))

    def fingerprint_text(self, text: str) -> TextFingerprint | None:
        """Return what the detectors make of a plain text, as of a page with this main text, without a page for it.

        None if it is long or cannot be compared: :meth:`fingerprint` says why.
        """
        builder = self._record_builder if is_compiled() and len(text) <= LONG_TEXT and not text.isspace() else None
        found = builder and builder.make(text, False)
        if not found:
            return None
        made, is_exact, sketches, keys = found
        return TextFingerprint(made, is_exact, sketches, keys, keys) if keys else None

    def record(self, page: Page, made: TextFingerprint) -> Record:
        """Return the record of a page whose text has this fingerprint; see :meth:`fingerprint`."""
        return self._record(page, made, track_url=True)

    def _sketches(self, compared: Page, *, exact_only: bool) -> TextFingerprint | UncheckedPage:
        """Return what the detectors make of a text, without keys if none of them can compare it."""
        uncheckable = _without_usable_text(compared)
        if uncheckable:
            return uncheckable
        if is_compiled() and self._record_builder is not None:
            check_time()
            found = self._record_builder.make(compared_text(compared), exact_only)
            check_time()
            if found is None:
                return UncheckedPage("empty")
            text, is_exact, sketches, keys = found
            return TextFingerprint(text, is_exact, sketches, keys, keys)
        features = Features(compared, self.fold_chinese)
        if features.length == 0:
            return UncheckedPage("empty")
        check_time()
        exact_only = (
            exact_only or self._is_too_short(features.length, features.letters) or features.is_one_word_repeated
        )
        prints: list[Fingerprint | None] = []
        for detector in (*self.detectors, *self._text_hash):
            check_time()
            is_used = not exact_only or detector.name == Exact.name
            prints.append(detector.fingerprint(features) if is_used else None)
        check_time()
        return self._joined(features.encoded, exact_only, prints)

    def without_repeated(self, record: Record, own: str | None, *, is_template: bool) -> Record:
        """Return the record of a page whose site repeats some of its text.

        It is filed under the rest of its text, and searched for by this and by the whole text. The hash of the text
        remains that of the whole one, so that a page that is seen again is unchanged whatever its site repeats by then.

        Args:
            record: of the whole text, which finds earlier pages of its URL too.
            own: the text without what the site repeats; None: all is compared.
            is_template: whether the site repeats all of the text. Then only the URL finds the page.
        """
        by_url = tuple([key for key in record.keys[:1] if record.url and key == url_key(record.url)])
        if is_template:
            probes = tuple([key for key in record.lookup_keys if key in by_url])
            return replace(record, keys=by_url, probes=probes, context=RecordContext(reason=TEMPLATE))
        at = text_sketch_index(self.detectors)
        others = (*record.sketches[:at], b"", *record.sketches[at + 1 :])
        if own is None or not any(others):  # only the hash of the text is compared
            return record
        part = self._sketches(Page.from_text(own), exact_only=False)
        if isinstance(part, UncheckedPage) or not part.keys or part.exact_only:
            return record
        probes = tuple(dict.fromkeys((*record.lookup_keys, *part.probes)))
        sketches = (*part.sketches[:at], record.sketches[at], *part.sketches[at + 1 :])
        keys = by_url + self._keys_of_part(part, record.sketches[at], at)
        return replace(record, keys=keys, sketches=sketches, probes=probes, context=RecordContext(others))

    def _keys_of_part(self, part: TextFingerprint, text_hash: bytes, at: int) -> tuple[bytes, ...]:
        """Return the keys of a part of a text, with the hash of the whole text in place of its own.

        They are in the order in which a store computes them again from the sketches: by detector.
        """
        if at == len(self.detectors):
            return part.keys
        own = frozenset(bucket_keys([(at, (part.sketches[at],))]))
        text_key = bucket_keys([(at, (text_hash,))])
        keys = tuple([key for key in part.keys if key not in own])
        return (*text_key, *keys) if at == 0 else (*keys, *text_key)

    def fingerprint_many(
        self, pages: Sequence[Page], views: Sequence[SiteView | None] = (), *, track_url: bool = True
    ) -> list[Record | UncheckedPage]:
        """Return the record of each page. With numpy this is faster than one by one if many pages are short."""
        each_view = views or [None] * len(pages)
        pairs = zip(pages, each_view, strict=True)
        if is_compiled():
            return [self.fingerprint(page, track_url=track_url, view=view) for page, view in pairs]
        found = self._fingerprint_batches(pages, track_url=track_url)
        return [
            self.fingerprint(page, track_url=track_url, view=view)
            if view is not None and (view.own is not None or view.is_template)
            else replace(record, context=RecordContext(view=view))
            if view is not None and isinstance(record, Record)
            else record
            for (page, view), record in zip(pairs, found, strict=True)
        ]

    def _fingerprint_batches(self, pages: Sequence[Page], *, track_url: bool) -> list[Record | UncheckedPage]:
        found: list[Record | UncheckedPage] = []
        for batch in _in_batches(pages):
            if len(batch) == 1:
                found.append(self.fingerprint(batch[0], track_url=track_url))
            else:
                found += self._fingerprint_batch(batch, track_url=track_url)
        return found

    def _fingerprint_batch(self, pages: Sequence[Page], *, track_url: bool) -> list[Record | UncheckedPage]:
        pages = [page.as_compared() for page in pages]
        compared = [_comparable(page) for page in pages]
        batch = FeaturesBatch(compared, fold_chinese=self.fold_chinese)
        sizes = zip(batch.lengths, batch.letters, batch.are_one_word_repeated, compared, strict=True)
        exact_only = [
            self._is_too_short(length, letters) or repeated or _is_mostly_rest(page) or bool(page.visible)
            for length, letters, repeated, page in sizes
        ]
        unfit = [_without_usable_text(page) for page in compared]
        texts = [reason is None and length > 0 for reason, length in zip(unfit, batch.lengths, strict=True)]
        full = [text and not only for text, only in zip(texts, exact_only, strict=True)]
        prints = [
            detector.fingerprint_many(batch, texts if detector.name == Exact.name else full)
            for detector in (*self.detectors, *self._text_hash)
        ]
        found: list[Record | UncheckedPage] = []
        for index, page in enumerate(pages):
            if texts[index]:
                of_page = [of_detector[index] for of_detector in prints]
                made = self._joined(batch.encoded[index], exact_only[index], of_page)
                is_made = bool(made.keys)
                found.append(
                    self._record(page, made, track_url=track_url)
                    if is_made
                    else _without_fingerprint(page, exact_only[index])
                )
            else:
                found.append(unfit[index] or UncheckedPage("empty"))
        return found

    @property
    def _text_hash(self) -> tuple[Detector, ...]:
        """The detector that hashes the text if none in use does. It adds a sketch, but no keys."""
        return () if text_sketch_index(self.detectors) < len(self.detectors) else (Exact(),)

    def _is_too_short(self, length: int, letters: int) -> bool:
        """Whether a text has too few characters or letters for any but equal texts to match.

        Shingles ignore symbols: two different pages of emoji with the single word "ok" would match.
        """
        return length < self.min_chars or 2 * letters < max(1, self.min_chars)

    @cached_property
    def _record_builder(self) -> RecordBuilder | None:
        """Makes all sketches and keys of a record in one call; None if not just ``exact`` and ``minhash`` are used."""
        detectors = (*self.detectors, *self._text_hash)
        names = [detector.name for detector in detectors]
        if sorted(names) != ["exact", "minhash"]:
            return None
        from dedupcrawl.detectors.minhash import MinHash  # noqa: PLC0415  # not loaded unless it is in use

        exact, minhash = detectors[names.index("exact")], detectors[names.index("minhash")]
        assert isinstance(exact, Exact)
        assert isinstance(minhash, MinHash)
        if minhash.sketcher is None:
            return None
        maker: RecordBuilder = loaded().RecordBuilder(
            normalizer(self.fold_chinese),
            minhash.sketcher,
            seed=int(exact.seed),
            hash_size=HASH_BYTES,
            key_size=KEY_BYTES,
            text_person=None if self._text_hash else key_personalization(names.index("exact")),
            band_person=key_personalization(names.index("minhash")),
            is_text_first=names[0] == "exact",
            min_chars=self.min_chars,
        )
        return maker

    def _joined(self, text: bytes, exact_only: bool, prints: list[Fingerprint | None]) -> TextFingerprint:
        """Return what the detectors made of a text, without keys if none of them can compare it."""
        sketches = tuple([each.sketch if each else b"" for each in prints])
        found = [(index, each) for index, each in enumerate(prints[: len(self.detectors)]) if each]
        keys = probes = bucket_keys([(index, each.keys) for index, each in found])
        if [each for _, each in found if each.probes is not None]:
            probes = bucket_keys([(index, each.keys if each.probes is None else each.probes) for index, each in found])
        return TextFingerprint(text, exact_only, sketches, keys, probes)

    def _record(self, page: Page, made: TextFingerprint, *, track_url: bool) -> Record:
        url = without_fragment(page.url)
        own = (url_key(url),) if url else ()
        probes = own + made.probes if track_url else made.probes
        identity = self._identity(page, made.text)
        return Record(url, own + made.keys, made.sketches, self.clock(), probes=probes, identity=identity)

    def _identity(self, page: Page, text: bytes) -> bytes:
        if page.visible:
            return unread_identity(page)
        if not page.url:  # no other page is of its site
            return with_layout(page.layout, b"")
        return sketch_identity(page, text, self.seed, fold_chinese=self.fold_chinese)


def _comparable(page: Page) -> Page:
    """Return the page with its compared text as its text.

    A page without main text is compared by the hash of its title and all its visible text, with pages of its own host
    only: other sites with the same software show the same lists and messages.
    """
    if not page.visible:
        return page
    text = "\n".join((host_of(page.url), page.title, page.visible))
    return replace(page, text=text, rest="", kind=Kind.ARTICLE)


def _without_usable_text(page: Page) -> UncheckedPage | None:
    """Return why the page has no text that represents it, or why its text cannot be processed; else None."""
    if page.kind is not Kind.ARTICLE:
        return UncheckedPage(str(page.kind))
    if len(page.text) + len(page.rest) < MAX_LITTLE_BYTES < page.unread:
        main, rest = (len(part.encode("utf-8", "replace")) for part in (page.text, page.rest))
        if main + rest < MAX_LITTLE_BYTES and page.unread - rest > LITTLE_READ_RATIO * (main + rest):
            return UncheckedPage(LITTLE_READ)
    if len(page.text) + len(page.rest) > LONG_TEXT:
        text = compared_text(page)
        if expanded_length(text) > MAX_EXPANSION * len(text):
            return UncheckedPage(TOO_LARGE)
    return None


def _without_fingerprint(page: Page, exact_only: bool) -> UncheckedPage:
    """Return why no detector in use can compare a page."""
    if page.visible:  # only the detector ``exact`` compares it
        return UncheckedPage(str(page.kind))
    return UncheckedPage("short" if exact_only else "no-fingerprint")


def _is_mostly_rest(page: Page) -> bool:
    """Whether a page has so much other text that two pages would match with different main texts.

    If main texts T have nothing in common and rests R are equal, J = R / (R + 2T): 0.6 for R = 3T.
    """
    return len(page.rest) > MAX_REST_RATIO * len(page.text)


def _in_batches(pages: Sequence[Page]) -> Iterator[Sequence[Page]]:
    """Yield batches of at most ``BATCH_CHARS`` characters; a longer page is a batch of its own."""
    begin = size = 0
    for index, page in enumerate(pages):
        length = len(page.text) + len(page.rest)
        if size + length > BATCH_CHARS and index > begin:
            yield pages[begin:index]
            begin, size = index, 0
        size += length
    if len(pages) > begin:
        yield pages[begin:]


def text_sketch_index(detectors: tuple[Detector, ...]) -> int:
    """Return which sketch of a record is the hash of its text: that of ``exact``, or the last one."""
    names = [detector.name for detector in detectors]
    return names.index(Exact.name) if Exact.name in names else len(names)


def sketch_count(names: Collection[str]) -> int:
    """Return how many sketches the record of a page has, for detectors with these names."""
    return len(names) + (Exact.name not in names)


def without_fragment(url: str) -> str:
    """Return the URL as it is sent to a server."""
    return url.partition("#")[0]
