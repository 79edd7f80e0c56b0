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


#: Kinds of sites that reprint pages of others, by whether they are Chinese.
ABROAD = {False: ("bios", "offers", "jobs"), True: ("notices-zh", "flash")}


def build(kind: str, seed: int = 0, harder: Iterable[Harder] = (), *, abroad: bool = False) -> Site:
    """Build a site.

    Args:
        kind: a key of :data:`KINDS`.
        seed: the pages of two seeds have other names and numbers; if one is even and the other odd, also other
            words, wordings and templates.
        harder: what makes the pages harder to tell apart.
        abroad: whether other sites reprint a third of its pages.
    """
    writer = Writer(kind, seed)
    plan = KINDS[kind](writer)
    return pages_of(plan, writer, frozenset(harder), _others(plan, kind, seed) if abroad else ())


def _others(plan: Blueprint, kind: str, seed: int) -> list[Blueprint]:
    """Return sites of other kinds and hosts in the language of a site."""
    names = ABROAD[plan.frame.language.startswith("zh")]
    # With the other seed: other words, wordings and templates.
    return [KINDS[name](Writer(f"{name} of {kind}", seed + 1)) for name in names if name != kind]
