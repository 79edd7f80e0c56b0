"""What a namespace says of itself: its format, its layout, and under which configuration it was filled."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.scheme import check_scheme

if TYPE_CHECKING:
    from dedupcrawl.stores.redis.calls import Calls

FORMAT = "1"  #: of the values, and of how they hang together


@dataclass(frozen=True, slots=True)
class Admission:
    """A namespace as a store object found or made it."""

    mark: bytes  #: format, layout and random digits, for a namespace that was made anew is another one
    layout: str
    scheme: str


def admit(
    calls: Calls, shown: str, namespace: str, key: str, *, scheme: str | None, layout: str | None
) -> Admission:
    """Let a configuration into a namespace, making it if it is new.

    Args:
        calls: the script.
        shown: how the user calls the store.
        namespace: which part of it.
        key: under which key it says so, for messages.
        scheme: JSON of the configuration; None: whichever the namespace has, and it must exist.
        layout: how it is laid out; None: as it is, ``hash`` for a new one.

    Raises:
        StoreMismatchError: the namespace was filled under another configuration.
        StoreError: another version filled it, in another layout, or it is not there.
    """
    new = f"{FORMAT} {layout or LAYOUTS[0]} {secrets.token_hex(6)}"
    mark, there = calls("admit", new, scheme or "")
    if mark is None and there is None:
        raise StoreError(f"The store {shown} has no namespace {namespace!r}.")
    found = _checked(mark, there, shown, key)
    if layout not in {None, found.layout}:
        raise StoreError(
            f"The store {shown} cannot be opened: namespace {namespace!r} has layout {found.layout!r}, and "
            f"its URL says {layout!r}; export it, and import it into another namespace, to change that."
        )
    check_scheme(shown, namespace, found.scheme, scheme or found.scheme)
    return found


def _checked(mark: bytes | None, scheme: bytes | None, shown: str, key: str) -> Admission:
    """Refuse what we have not written."""
    parts = (mark or b"").decode("ascii", "replace").split(" ")
    if len(parts) == 3 and parts[0] != FORMAT and parts[0].isdigit():
        raise StoreError(
            f"The store {shown} cannot be opened: it has format {parts[0]}, "
            f"and this version reads format {FORMAT}."
        )
    if len(parts) != 3 or parts[1] not in LAYOUTS or not _is_object(scheme or b""):
        raise StoreError(f"The store {shown} is damaged: key {key!r} has a value that is not one of ours.")
    return Admission(mark or b"", parts[1], (scheme or b"").decode())


def _is_object(scheme: bytes) -> bool:
    try:
        return isinstance(json.loads(scheme), dict)
    except ValueError:
        return False
