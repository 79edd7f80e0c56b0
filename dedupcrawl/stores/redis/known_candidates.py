"""The candidates that a worker has received from a server, which need not be sent again.

The pages of a template have mostly the same candidates, dozens of them. For each key under which candidates were found,
the table has a *mark*: the worker has received all live records under the key with an id up to the mark. Records that
are filed later have higher ids. The server sends, up to the mark, 12 bytes of each candidate in place of some hundred
(``lua/lookups.lua``, ``find_new``):

=====  =====  =================================================
field  bytes  meaning
=====  =====  =================================================
id         6  of the record
check      4  CRC-32 of its packed bytes
state      1  of its claim, :class:`~dedupcrawl.stores.base.ClaimState`
mine       1  1 for an own claim, else 0
=====  =====  =================================================

A record with another CRC is asked for: a server that has lost its latest writes may give an id again.
"""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any

from dedupcrawl.stores.base import Candidate, ClaimState
from dedupcrawl.stores.records import CACHED_RECORDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.stores.base import Record

MAX_MARKS = 8192  #: keys with a mark, about 150 bytes each; of more, those that were marked first go

_ROW = Struct(">6s4sBB")
KNOWN_BYTES = _ROW.size  #: of a row
#: Where the CRC is in a packed record (``packed_records.py``), and where in a value that the server sends, which begins
#: with the time.
_IN_RECORD, _IN_VALUE = slice(1, 5), slice(7, 11)


class KnownCandidateTable:
    """The candidates that one store object has received or filed. Thread-safe.

    Args:
        most: records that are kept, at least 1; the one that was received first goes first.
        most_marks: keys that have a mark, at least 1.
    """

    def __init__(self, most: int = CACHED_RECORDS, most_marks: int = MAX_MARKS) -> None:
        self._most, self._most_marks = most, most_marks
        self._candidates: dict[int, tuple[bytes, Candidate]] = {}  # by id: CRC, and the record as a committed one
        self._marks: dict[bytes, int] = {}
        self._lock = Lock()

    def mark(self, probes: Iterable[bytes]) -> int:
        """Return the highest mark of these keys, 0 if none has one."""
        marks = self._marks
        return max((marks[key] for key in probes if key in marks), default=0)

    def read(self, rows: bytes) -> tuple[list[Candidate], list[bytes]]:
        """Return the candidates of the rows of a reply, and the ids, as 6 bytes, of those that are not known here."""
        found: list[Candidate] = []
        lacking: list[bytes] = []
        for packed, check, state, mine in _ROW.iter_unpack(rows):
            known = self._candidates.get(int.from_bytes(packed, "big"))
            if known is None or known[0] != check:
                lacking.append(packed)
            elif state == ClaimState.COMMITTED:
                found.append(known[1])
            else:
                found.append(Candidate(known[1].id, known[1].record, ClaimState(state), bool(mine)))
        return found, lacking

    def add(
        self, found: Sequence[Candidate], received: Iterable[tuple[Candidate, Sequence[Any]]], probes: Iterable[bytes]
    ) -> None:
        """Note the candidates of a page.

        Args:
            found: all candidates, by rising id.
            received: those that the server has sent, with their replies.
            probes: keys of which all live records were found, or are known up to their mark.
        """
        if not found:
            return
        with self._lock:
            keys: set[bytes] = set()
            for candidate, (_, value, *_) in received:
                keys.update(candidate.record.keys)
                self._keep(candidate.id, value[_IN_VALUE], candidate.record)
            for key in probes:
                if key in keys or key in self._marks:
                    self._raise_mark(key, found[-1].id)

    def add_filed(self, id: int, record: Record, packed: bytes, since: int) -> None:
        """Note a record that this worker has filed.

        Args:
            id: of the record.
            record: the record.
            packed: its bytes as they were sent.
            since: the offer was made by somebody who knew all candidates up to this id.
        """
        with self._lock:
            keys = [key for key in record.lookup_keys if self._marks.get(key) == since]
            if keys:
                self._keep(id, packed[_IN_RECORD], replace(record, probes=None, context=None))
                for key in keys:
                    self._raise_mark(key, id)

    def clear(self) -> None:
        """Forget everything: the server has lost its data."""
        with self._lock:
            self._candidates.clear()
            self._marks.clear()

    def _keep(self, id: int, check: bytes, record: Record) -> None:
        self._candidates[id] = check, Candidate(id, record, ClaimState.COMMITTED, mine=False)
        if len(self._candidates) > self._most:
            del self._candidates[next(iter(self._candidates))]

    def _raise_mark(self, key: bytes, id: int) -> None:
        self._marks[key] = max(id, self._marks.get(key, 0))
        if len(self._marks) > self._most_marks:
            del self._marks[next(iter(self._marks))]
