"""What is stored under which key: all keys of a namespace begin alike, and are on one node of a cluster."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

PREFIX = "dedupcrawl:"
_UNSAFE = re.compile(r"[%{}]")
_META = re.compile(re.escape(PREFIX) + r"\{(.*)\}:meta", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Names:
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
