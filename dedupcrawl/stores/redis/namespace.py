"""What is stored under which key: all keys of a namespace begin alike, and are on one node of a cluster.

Values as they come from the server: checked before they are believed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.stores.codec import decode

PREFIX = "dedupcrawl:"
_UNSAFE = re.compile(r"[%{}]")
_META = re.compile(re.escape(PREFIX) + r"\{(.*)\}:meta", re.DOTALL)


@dataclass(frozen=True, slots=True)
class KeyNames:
    """The keys of one namespace. What is in braces is its hash tag."""

    namespace: str

    def key(self, name: str) -> str:
        """Return one key."""
        tag = _UNSAFE.sub(lambda sign: f"%{ord(sign[0]):02X}", self.namespace)
        return f"{PREFIX}{{{tag}}}:{name}"

    @property
    def all(self) -> tuple[str, ...]:
        """The keys as the script takes them. The compact layout has ``buckets:0``, ``buckets:1``, … too."""
        return tuple(map(self.key, ("meta", "records", "buckets", "claims", "owners", "hot")))


META_PATTERN = f"{PREFIX}{{*}}:meta"  #: matches the key ``meta`` of every namespace


def namespace_of(key: bytes) -> str | None:
    """Return the namespace whose key ``meta`` this is."""
    matched = _META.fullmatch(key.decode("utf-8", "replace"))
    return unquote(matched[1]) if matched else None


TIMESTAMP_BYTES = 6  #: bytes of the moment in front of a record
_MAX_SECONDS = 1e11  # seconds: three thousand years
MAX_CLOCK_SKEW = (
    1.0  #: seconds; beyond, a record was filed by a worker whose clock is wrong, and the server's counts
)


def milliseconds(seconds: float) -> int:
    """Round to the server's unit of time, within what 6 bytes hold."""
    return round(max(-_MAX_SECONDS, min(seconds, _MAX_SECONDS)) * 1000)


def decode_candidate(shown: str, names: KeyNames, hit: tuple[Any, ...]) -> Candidate:
    """Unpack what the script says of a record.

    Raises :class:`~dedupcrawl.errors.StoreError`, naming the key, for a value that is not one of ours.
    """
    id, value, state, mine = hit
    record = decode(value[TIMESTAMP_BYTES:], f"{names.key('records')} {id}")
    seen = int.from_bytes(value[:TIMESTAMP_BYTES], "big") / 1000
    if abs(seen - record.seen) > MAX_CLOCK_SKEW:
        record = replace(record, seen=seen)
    return Candidate(id, record, decode_state(shown, names, id, state), mine=bool(mine))


def decode_state(shown: str, names: KeyNames, id: object, state: int) -> ClaimState:
    """Return the state that a byte stands for."""
    try:
        return ClaimState(state)
    except ValueError:
        raise StoreError(
            f"The store {shown} is damaged: key {names.key('claims')!r} has a value at {id} "
            "that is not one of ours."
        ) from None
