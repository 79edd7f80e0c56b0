"""Versions of one page of a manual: ``/docs/1.2/x.html`` and ``/docs/1.3/x.html``.

Their URLs differ in one segment that is a version, and their names in version numbers only. By default they are
siblings, as pages with other numbers are. With ``DEDUP_VERSIONS = "copies"`` they are copies if their texts match.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from dedupcrawl.errors import DamageError
from dedupcrawl.identity.identity_codec import TELLING, unpack_identity
from dedupcrawl.page.rules import word_set

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.identity.identity_codec import HashSample
    from dedupcrawl.stores.base import Record

COPIES, SIBLINGS = "copies", "siblings"  #: what versions are to each other
VERSIONS = "versions"  #: key of the evidence: the version of the new page, and that of the old one
LATEST = "latest"  #: the version of a page whose URL names none

#: Words for a version that changes. The title of such a page may have one more word than the other ("dev").
MOVING = word_set("current dev devel edge head latest main master next nightly snapshot stable trunk unstable")
MAX_OWN_WORDS = 1  #: own words of the names of a page at such a version, beside numbers
#: Segments of the path of a manual: beside them, a single number of at most two digits is a version.
MANUAL_SEGMENTS = word_set("api doc docs documentation guide guides handbook help javadoc manual manuals reference")

#: "1.2", "v2", "3.0.0-beta.1", "release-1.4", "python-3.11", "8.x": a name, at least two numbers, what precedes it.
_is_version = re.compile(
    r"(?:(?P<name>[a-z]{1,12})[-_]?)?v?\d{1,4}(?:[._]\d{1,4}){1,3}(?:[._]x)?(?:[-._]?(?:a|b|rc|alpha|beta|dev|post|pre|m)"
    r"[-._]?\d{0,4})?|v\d{1,3}|\d{1,3}[._]x",
    re.IGNORECASE,
).fullmatch
_is_number = re.compile(r"\d{1,2}").fullmatch


class VersionPair(NamedTuple):
    """The versions of two pages."""

    new: str
    old: str


def version_pair(new: str, old: str) -> VersionPair | None:
    """Return the versions of two URLs that differ only in a segment of the path that is a version; else None.

    One of the URLs may lack it: it is that of the latest version.

    >>> version_pair("https://x.org/docs/1.3/a.html", "https://x.org/docs/1.2/a.html")
    VersionPair(new='1.3', old='1.2')
    >>> version_pair("https://x.org/docs/a.html", "https://x.org/docs/v2/a.html")
    VersionPair(new='latest', old='v2')
    >>> version_pair("https://x.org/shop/3/a.html", "https://x.org/shop/4/a.html") is None
    True
    """
    try:
        (mine, first), (others, second) = _parts(new), _parts(old)
    except ValueError:  # "http://[": it is no URL
        return None
    if mine != others:
        return None
    if len(first) == len(second):
        differing = [VersionPair(*each) for each in zip(first, second, strict=True) if each[0] != each[1]]
        return differing[0] if len(differing) == 1 and _are_versions(differing[0], {*first, *second}) else None
    if len(first) > len(second):
        added = _added_version(first, second)
        return VersionPair(added, LATEST) if added else None
    added = _added_version(second, first)
    return VersionPair(LATEST, added) if added else None


def _added_version(longer: list[str], shorter: list[str]) -> str:
    """Return the version that is the only segment of one path that the other lacks; "" if it has none."""
    at = next((at for at, pair in enumerate(zip(longer, shorter, strict=False)) if pair[0] != pair[1]), len(shorter))
    added = longer[at].lower()
    is_only = at < len(shorter) and [*longer[:at], *longer[at + 1 :]] == shorter
    return longer[at] if is_only and (_is_version(added) is not None or added in MOVING) else ""


def _parts(url: str) -> tuple[tuple[str, str], list[str]]:
    """Return host and query of a URL, and the segments of its path."""
    parts = urlsplit(url)
    return (parts.netloc.lower().removeprefix("www."), parts.query), parts.path.strip("/").split("/")


def _are_versions(pair: VersionPair, segments: set[str]) -> bool:
    is_manual = not MANUAL_SEGMENTS.isdisjoint(segment.lower() for segment in segments)
    names = set()
    for each in pair:
        found = _is_version(each)
        if found is not None:
            names.add((found["name"] or "v").lower())
        elif each.lower() not in MOVING and not (is_manual and _is_number(each)):
            return False
    return len(names) < 2


def versions_of_page(new: Record, old: Record) -> VersionPair | None:
    """Return the versions of two pages that are versions of one page; None if they are not, or it is not known.

    Whether their texts match is for the caller to find out.
    """
    pair = version_pair(new.url, old.url) if new.url and old.url else None
    if pair is None:
        return None
    try:
        mine, other = unpack_identity(new.identity), unpack_identity(old.identity)
    except DamageError:
        return None
    if mine is None or other is None:
        return None
    sides = ((pair.new, mine.names, other.names), (pair.old, other.names, mine.names))
    return pair if all(_has_only_numbers(*side) for side in sides) else None


def _has_only_numbers(version: str, names: HashSample, other: HashSample) -> bool:
    """Return whether the names of a page differ from the other's in numbers only, or a word for a moving version."""
    own: Sequence[int] = [key for key in names.lacking(other)[0] if key >= TELLING]
    return len(own) <= (MAX_OWN_WORDS if version.lower() in MOVING else 0)
