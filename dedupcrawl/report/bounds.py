"""How much a ledger holds, and which pages stay when that is too little."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b


@dataclass(frozen=True, slots=True)
class Bounds:
    """The most that a ledger holds of each kind, however many pages come.

    With these defaults a file stays below some 170 MB, and a process that writes it keeps some 20 MB for it.
    """

    pages: int = 100_000  #: rows; beyond them half of the clusters go
    #: bytes of texts and opinions; beyond them half of the clusters lose theirs
    bulk: int = 64 * 2**20
    text: int = 100_000  #: characters of one text
    title: int = 500  #: characters of one title
    url: int = 4_096  #: characters of one URL
    of_cluster: int = 1_000  #: rows of one cluster; all of its pages are counted
    texts_of_cluster: int = 50  #: texts of one cluster
    hosts: int = 20_000  #: those that come first; what comes from others is counted together
    flows: int = 20_000  #: pairs of hosts; the same
    slices: int = 512  #: spans of time; beyond them each gets twice as long
    misses: int = 1_000  #: near misses of each detector, the nearest


def hash_of(name: str) -> int:
    """Hash the name of a cluster, the same in every ledger, to a whole number of at least 0, below 2⁶²."""
    data = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 2


def is_sampled(hashed: int, level: int) -> bool:
    """Whether what has this hash is among the one in 2^level that stay.

    What stays at a level stayed at all lower ones, so its pages were all there to be counted.
    """
    return not hashed & ((1 << level) - 1)
