"""The names and values of two pages: what each has for itself, and why they are siblings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dedupcrawl.decision import COPIES
from dedupcrawl.identity import label_identity
from dedupcrawl.identity_codec import Name, unpack_identity
from dedupcrawl.siblings import is_refresh, site_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from dedupcrawl.config import Config
    from dedupcrawl.decision import Matcher
    from dedupcrawl.identity_codec import Identity, Sample
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Record

UNKNOWN = "?"  #: in place of a name or value of which only the hash is stored
#: Where a name stands, in the order in which it is listed; of "said" and "main" only the last.
_PLACES = ((Name.HEADING, "heading"), (Name.TITLE, "title"), (Name.MAIN, "main text"))


@dataclass(frozen=True, slots=True)
class IdentityPart:
    """A name or value of a page."""

    text: str  #: ``UNKNOWN`` if only its hash is stored
    is_own: bool  #: whether the other page certainly lacks it
    places: tuple[str, ...] = ()  #: of a name: where it stands


@dataclass(frozen=True, slots=True)
class IdentitySide:
    """The names and values of one page."""

    names: tuple[IdentityPart, ...]
    values: tuple[IdentityPart, ...]  #: in the main text
    beside: tuple[IdentityPart, ...]  #: values beside it
    is_whole: bool  #: whether these are all names and values of the page

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "names": [_part(each) for each in self.names],
            "values": [_part(each) for each in self.values],
            "beside": [_part(each) for each in self.beside],
            "whole": self.is_whole,
        }


@dataclass(frozen=True, slots=True)
class IdentityComparison:
    """The names and values of a new and an older page of one site."""

    new: IdentitySide
    old: IdentitySide
    siblings: str  #: why they are siblings; "" if they are not
    is_refresh: bool  #: whether names and all values of the main texts are equal

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "new": self.new.as_dict(),
            "old": self.old.as_dict(),
            "siblings": self.siblings or None,
            "same": self.is_refresh,
        }


def compare_identities(
    new: Record, old: Record, pages: Iterable[Page | None], config: Config, matcher: Matcher
) -> IdentityComparison | None:
    """Compare the identities of two pages; None if one has no identity, or if those of two sites tell nothing apart.

    Args:
        new: the new page.
        old: the older page.
        pages: those of the two pages that have been read. A record has hashes only.
        config: the configuration of the store.
        matcher: that of the configuration.
    """
    mine, other = unpack_identity(new.identity), unpack_identity(old.identity)
    if mine is None or other is None or not (new.url and old.url):
        return None
    found = [each.match.relation for each in matcher.opinions(new, old) if each.match is not None]
    are_copies = not COPIES.isdisjoint(found)
    siblings = "" if new.url == old.url else matcher.why_siblings(new, old, by_sentences=are_copies)
    if not siblings and site_of(new.url) != site_of(old.url):
        return None
    labels = [label_identity(page, int(config.seed), fold_chinese=config.fold_chinese) for page in pages if page]
    names = {key: text for label in labels for key, text in label.names.items()}
    values = {key: text for label in labels for key, text in label.values.items()}
    return IdentityComparison(
        _side(mine, other, names, values),
        _side(other, mine, names, values),
        siblings,
        is_refresh(new.identity, old.identity),
    )


def _side(own: Identity, other: Identity, names: Mapping[int, str], values: Mapping[int, str]) -> IdentitySide:
    return IdentitySide(
        _parts(own.names, other.names, names, with_places=True),
        _parts(own.inner, other.inner, values),
        _parts(own.outer, other.outer, values),
        own.names.is_whole and own.inner.is_whole and own.outer.is_whole,
    )


def _parts(
    own: Sample, other: Sample, texts: Mapping[int, str], *, with_places: bool = False
) -> tuple[IdentityPart, ...]:
    lacking = {*own.lacking(other)[0]}
    return tuple(
        IdentityPart(texts.get(key, UNKNOWN), key in lacking, _places(flags) if with_places else ())
        for key, flags in own.items.items()
    )


def _places(flags: int) -> tuple[str, ...]:
    places = [text for flag, text in _PLACES if flags & flag]
    beside = ["beside it"] if flags & Name.SAID and not flags & Name.MAIN else []
    return (*places, *beside)


def _part(part: IdentityPart) -> dict[str, Any]:
    return {"text": part.text, "own": part.is_own, "places": [*part.places]}
