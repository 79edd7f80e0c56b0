"""All kinds of sites by name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.sites import (
    abroad,
    boards,
    catalogues,
    chinese,
    forums,
    generic,
    notices,
    offices,
    press,
    reference,
    shops,
    technical,
)
from tests.sites.building import pages_of
from tests.sites.words import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tests.sites.model import Blueprint, Harder, Site

KINDS: Mapping[str, Callable[[Writer], Blueprint]] = {
    **shops.KINDS,
    **notices.KINDS,
    **press.KINDS,
    **forums.KINDS,
    **reference.KINDS,
    **chinese.KINDS,
    **technical.KINDS,
    **generic.KINDS,
    **catalogues.KINDS,
    **offices.KINDS,
    **abroad.KINDS,
    **boards.KINDS,
}


def build(kind: str, seed: int = 0, harder: Iterable[Harder] = ()) -> Site:
    """Build a site.

    Args:
        kind: a key of :data:`KINDS`.
        seed: the pages of two seeds have other names and numbers; if one is even and the other odd, also other
            words, wordings and templates.
        harder: what makes the pages harder to tell apart.
    """
    writer = Writer(kind, seed)
    return pages_of(KINDS[kind](writer), writer, frozenset(harder))
