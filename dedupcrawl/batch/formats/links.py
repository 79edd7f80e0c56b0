"""Which records of a WARC file go with which rows: requests, metadata, and continued blocks."""

from __future__ import annotations

from array import array
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from typing import Any

    from dedupcrawl.batch.formats.records import Record

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]

_REFERENCES = (b"warc-concurrent-to", b"warc-refers-to", b"warc-segment-origin-id")
_UNKNOWN, _DROP, _KEEP = 0, 1, 2


class Links:
    """Collects what records refer to each other, and says which are to be kept.

    A record that is no row, and is linked with rows, directly or through others of its kind, is kept if one
    of those rows is; one that is linked with none is kept. It takes some 30 bytes for each record.
    """

    def __init__(self) -> None:
        self._ids = array("Q")
        self._fates = bytearray()
        self._from = array("q")
        self._to = array("Q")

    def add(self, record: Record, keep: bool) -> None:
        """Add the next record; ``keep`` is asked of rows only."""
        place = len(self._fates)
        is_row = record.number is not None
        self._fates.append((_KEEP if keep else _DROP) if is_row else _UNKNOWN)
        self._ids.append(_hash(record.field(b"warc-record-id")))
        # A row refers to other captures of its page as well: to those that it repeats, for one.
        for name in _REFERENCES[:1] if is_row else _REFERENCES:
            for each in record.fields.get(name, ()):
                self._from.append(place)
                self._to.append(_hash(each))

    def kept(self) -> list[bool]:
        """Return of each record whether it is kept."""
        fates = np.frombuffer(bytes(self._fates), np.uint8).copy()
        rows = fates != _UNKNOWN
        one, other = self._edges()
        while len(one):
            before = fates.copy()
            for source, target in ((one, other), (other, one)):
                follows = ~rows[target]
                np.maximum.at(fates, target[follows], fates[source[follows]])
            if np.array_equal(before, fates):
                break
        kept: list[bool] = (fates != _DROP).tolist()
        return kept

    def _edges(self) -> tuple[Numbers, Numbers]:
        """Return which records are linked, those that refer to others and those others."""
        ids, sought = np.array(self._ids, np.uint64), np.array(self._to, np.uint64)
        order = np.argsort(ids, kind="stable")
        places = np.searchsorted(ids, sought, sorter=order)
        places[places == len(ids)] = 0
        found = order[places] if len(ids) else places
        fits = ids[found] == sought if len(ids) else np.zeros(0, bool)
        return np.array(self._from, np.int64)[fits], found[fits]


def _hash(id: bytes) -> int:
    """Return a number for the id of a record; half of the 64 bits would be enough for any file."""
    return int.from_bytes(blake2b(id.strip(b"<> "), digest_size=8).digest(), "big")
