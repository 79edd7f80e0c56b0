"""Values as they come from the server: checked before they are believed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.stores.codec import decode

if TYPE_CHECKING:
    from dedupcrawl.stores.redis.names import Names

STAMP = 6  #: bytes of the moment in front of a record
_EVER = 1e11  # seconds: three thousand years
CLOCKS_AGREE = (
    1.0  #: seconds; beyond, a record was filed by a worker whose clock is wrong, and the server's counts
)


def milliseconds(seconds: float) -> int:
    """Round to the server's unit of time, within what 6 bytes hold."""
    return round(max(-_EVER, min(seconds, _EVER)) * 1000)


def candidate(shown: str, names: Names, hit: tuple[Any, ...]) -> Candidate:
    """Unpack what the script says of a record.

    Raises :class:`~dedupcrawl.errors.StoreError`, naming the key, for a value that is not one of ours.
    """
    id, value, state, mine = hit
    record = decode(value[STAMP:], f"{names.key('records')} {id}")
    seen = int.from_bytes(value[:STAMP], "big") / 1000
    if abs(seen - record.seen) > CLOCKS_AGREE:
        record = replace(record, seen=seen)
    return Candidate(id, record, claim_state(shown, names, id, state), mine=bool(mine))


def claim_state(shown: str, names: Names, id: object, state: int) -> ClaimState:
    """Return the state that a byte stands for."""
    try:
        return ClaimState(state)
    except ValueError:
        raise StoreError(
            f"The store {shown} is damaged: key {names.key('claims')!r} has a value at {id} "
            "that is not one of ours."
        ) from None
