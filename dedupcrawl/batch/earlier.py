"""The folder of an earlier batch as a source of pages that are kept already."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.corpus import read_batches, read_table
from dedupcrawl.batch.ordering import ARRIVAL, order_of
from dedupcrawl.batch.prints import Lists, Prints
from dedupcrawl.batch.schema import PART, VERSION, schema, with_probes
from dedupcrawl.batch.superseding import given_that_lost
from dedupcrawl.batch.work import Work, read_state
from dedupcrawl.errors import DedupError, StoreMismatchError
from dedupcrawl.stores.scheme import differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dedupcrawl.batch.job import Job

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Place = tuple[str, str, int]


@dataclass(frozen=True)
class Earlier:
    """A finished batch."""

    work: Work
    job: dict[str, Any]
    solved: dict[str, Any]

    @classmethod
    def there(cls, where: str, job: Job, *, said_by: str = "") -> Self:
        """Look at a folder.

        Raises:
            DedupError: no batch is there, or one that has not come to its end.
            StoreMismatchError: its fingerprints were made under another configuration.
        """
        work = Work(Path(where).resolve())
        told, solved = read_state(work.job), read_state(work.solved)
        remembered = f" ({said_by} stands against it)" if said_by else ""
        if told is None:
            raise DedupError(f"{where}: no folder of a batch{remembered}")
        if solved is None or not work.summary.exists():
            raise DedupError(
                f"{where}: the batch there has not come to its end{remembered}; run it again first"
            )
        _check(where, told, job)
        return cls(work, told, solved)

    @property
    def name(self) -> str:
        """Its whole path."""
        return str(self.work.out)

    @property
    def state(self) -> str:
        """Which verdicts are there."""
        return f"{self.name} {self.solved['signature']}"

    @property
    def against(self) -> list[dict[str, Any]]:
        """What it stood against itself, the oldest first."""
        return list(self.solved.get("against", []))

    def told(self) -> dict[str, Any]:
        """Say where it is."""
        return {"where": self.name, "namespace": None, "hidden": False}

    def replaced(self) -> set[Place]:
        """Return the pages that it was given, and that have lost their place to one of its own."""
        return given_that_lost(self.work)

    def batches(self, job: Job, sought: Numbers, without: set[Place]) -> Iterator[pa.RecordBatch]:
        """Give its kept pages with one of these keys, in the order in which a store would have them."""
        table = pa.Table.from_batches(self._kept(sought, without), schema(job.sketches).append(PART))
        request = self.job["request"]
        prefer, latest = request["prefer"], request["configuration"]["keep"] == "latest"
        if prefer != [ARRIVAL] or latest:
            prints = Prints(table.to_batches())
            order = order_of(prints, prefer, latest=latest)
            table = table.take(order[::-1] if latest else order)
        yield from map(with_probes, table.to_batches())

    def _kept(self, sought: Numbers, without: set[Place]) -> Iterator[pa.RecordBatch]:
        """Give the kept pages by arrival."""
        for part in (each["name"] for each in self.job["parts"]):
            lost = {row for name, of, row in without if (name, of) == (self.name, part)}
            for batch in self._of(part, sought, lost):
                yield batch.append_column(PART, pa.array([part] * len(batch), PART.type))

    def _of(self, part: str, sought: Numbers, without: set[int]) -> Iterator[pa.RecordBatch]:
        """Give the kept pages of a part, each with the cluster that it is in."""
        verdicts = read_table(self.work.verdicts(part))
        keep = verdicts.column("keep").to_numpy()
        joined = verdicts.column("joined").to_numpy()
        clusters = verdicts.column("cluster")
        for batch in read_batches(self.work.prints(part)):
            numbers = batch.column("row").to_numpy()
            wanted = keep[numbers] & _shares(batch, sought) & ~np.isin(numbers, list(without))
            if wanted.any():
                picked, rows = batch.filter(pa.array(wanted)), numbers[wanted]
                names = [clusters[row].as_py() if joined[row] else None for row in rows.tolist()]
                place = picked.schema.get_field_index("cluster")
                yield picked.set_column(place, picked.schema.field(place), pa.array(names, pa.binary()))


def _shares(batch: pa.RecordBatch, sought: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each row whether it is filed under one of these keys."""
    lists = Lists(batch.column("keys"))
    if not len(sought):
        return np.zeros(len(batch), bool)
    places = np.minimum(np.searchsorted(sought, lists.values), len(sought) - 1)
    until = np.concatenate([[0], np.cumsum(sought[places] == lists.values)])
    ends = np.concatenate([[0], np.cumsum(lists.counts)])
    return np.asarray(np.diff(until[ends]) > 0)


def _check(where: str, told: dict[str, Any], job: Job) -> None:
    there, here = told["request"], job.request()
    found = [text for name in ("detectors", "reading") for text in differences(there[name], here[name])]
    if told["layout"] != VERSION:
        found = [f"layout is {told['layout']} there, {VERSION} here"]
    if found:
        raise StoreMismatchError(
            f"The batch in {where} was made under another configuration: {'; '.join(found)}. "
            "Use the former settings, or do that batch again."
        )
