"""Writing a verdict into an item."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter

from dedupcrawl.verdict import Status

if TYPE_CHECKING:
    from dedupcrawl.verdict import Verdict

FIELD = "dedup"


def tag(item: Any, verdict: Verdict) -> None:
    """Write the verdict into the field ``dedup`` of an item that takes one; leave others as they are."""
    # What an item class does with a foreign field is its own affair: KeyError, AttributeError of a
    # frozen class, ValidationError of pydantic, TypeError of what is no item at all…
    with suppress(Exception):
        ItemAdapter(item)[FIELD] = verdict.to_dict()


def is_telling(verdict: Verdict) -> bool:
    """Whether a verdict says more than that the page is new."""
    return verdict.status is not Status.UNIQUE or verdict.relation is not None
