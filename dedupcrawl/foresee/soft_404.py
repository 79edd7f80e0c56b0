"""Pages that are not found although their status says 200: "soft 404".

One URL of a host that cannot exist tells what the host sends instead of a page. It is compared with each later page
of the host, by the detectors. A page without a fingerprint, because its text is short or a list, is compared by the
hash of all its text.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from dedupcrawl.decision import Status, Verdict
from dedupcrawl.detectors.base import DUPLICATE_RELATIONS, Relation
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.sites.registrable_domain import host_of
from dedupcrawl.stores.base import Candidate, ClaimState, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.deduplicator import Deduplicator
    from dedupcrawl.page import Page

SOFT_404 = "soft-404"  #: reason of the verdict on such a page
MAX_HOSTS = 10_000  #: hosts that are probed in a crawl

#: What is known of a page: its fingerprint, or the hash of its text.
Signature: TypeAlias = Record | bytes


def impossible_url(url: str) -> str:
    """Return a URL of the same host that does not exist; always the same one, so that a cache knows it.

    >>> impossible_url("https://a.example/news/7?x=1")
    'https://a.example/17962b3319a2bd0b27f6e99d'
    """
    parts = urlsplit(url)
    token = blake2b(f"not found on {parts.netloc.lower()}".encode("utf-8", "replace"), digest_size=12).hexdigest()
    return f"{parts.scheme}://{parts.netloc}/{token}"


class NotFoundPages:
    """What hosts send in place of pages that do not exist.

    Args:
        dedup: makes and compares fingerprints. Nothing is filed.
    """

    def __init__(self, dedup: Deduplicator) -> None:
        self._dedup = dedup
        self._signatures: dict[str, Signature | None] = {}

    def begin_probe(self, url: str) -> bool:
        """Return whether the host of a URL should be probed: once."""
        host = host_of(url)
        if not host or host in self._signatures or len(self._signatures) >= MAX_HOSTS:
            return False
        self._signatures[host] = None
        return True

    def signature(self, page: Page) -> Signature | None:
        """Return what is known of a page; None if it has no text."""
        found = self._dedup.fingerprint(page, track_url=False)
        return _text_hash(page) if isinstance(found, Verdict) else found

    def learn(self, url: str, signature: Signature, stored: Sequence[Candidate]) -> None:
        """Remember what a host has sent for its impossible URL.

        Unless it repeats a stored page, such as the front page: copies of that are dropped anyway.

        Args:
            url: the impossible URL.
            signature: of the page that was sent.
            stored: the stored pages that have a key in common with it.
        """
        is_stored = isinstance(signature, Record) and self._among(stored, signature).relation in DUPLICATE_RELATIONS
        if not is_stored:
            self._signatures[host_of(url)] = signature

    def knows(self, url: str) -> bool:
        """Whether pages of the host of a URL can be recognised."""
        return self._signatures.get(host_of(url)) is not None

    def compare(self, page: Page) -> Verdict | None:
        """Return the verdict on a page that its host sends for pages that do not exist; None: it is another page.

        The page that it repeats is the one behind the impossible URL.
        """
        known = self._signatures.get(host_of(page.url))
        return None if known is None else self.compare_with(known, page)

    def compare_with(self, known: Signature, page: Page) -> Verdict | None:
        """Return the verdict on a page that repeats this one; None: it is another page."""
        found = self.signature(page)
        if isinstance(known, Record) and isinstance(found, Record):
            verdict = self._among([Candidate(0, known, ClaimState.COMMITTED, mine=False)], found)
            return verdict if verdict.relation in DUPLICATE_RELATIONS else None
        if found is None or known != found:
            return None
        of = impossible_url(page.url)
        return Verdict(page.url, Status.DUPLICATE, False, Relation.IDENTICAL, of, detector=Exact.name)

    def _among(self, others: Sequence[Candidate], new: Record) -> Verdict:
        return self._dedup.verdict_among(others, new, new.url)


def _text_hash(page: Page) -> bytes | None:
    """Return a hash of all text of a page; None if it has none."""
    text = "\0".join((page.title, page.text, page.rest, page.visible))
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest() if text.strip("\0") else None
