"""The pages that count as kept already: those of earlier batches, and of the stores of crawls.

The folder of an earlier batch as a source of pages that are kept already.

The store of a crawl as a source of pages that are kept already.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.corpus import open_corpus, read_batches, read_table
from dedupcrawl.batch.fingerprint_table import (
    LAYOUT_VERSION,
    PART_FIELD,
    FingerprintTable,
    FingerprintTableBuilder,
    ListColumn,
    fill_probes,
    fingerprint_schema,
    pack_keys,
    unpack_keys,
)
from dedupcrawl.batch.job import ARRIVAL, display_location, is_store_url, ranked_rows
from dedupcrawl.batch.verdicts import replaced_prior_pages
from dedupcrawl.batch.workdir import Workdir, read_state
from dedupcrawl.errors import DedupError, SettingError, StoreError, StoreMismatchError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import ClaimState, differences
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.stores.base import Candidate, Store

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    RowLocation = tuple[str, str, int]


@dataclass(frozen=True)
class BatchSource:
    """A finished batch."""

    work: Workdir
    job: dict[str, Any]
    solved: dict[str, Any]

    @classmethod
    def there(cls, where: str, job: Job, *, said_by: str = "") -> Self:
        """Look at a folder.

        Raises:
            DedupError: no batch is there, or one that has not come to its end.
            StoreMismatchError: its fingerprints were made under another configuration.
        """
        work = Workdir(Path(where).resolve())
        told, solved = read_state(work.job), read_state(work.solved)
        remembered = f" ({said_by} stands against it)" if said_by else ""
        if told is None:
            raise DedupError(f"{where}: no folder of a batch{remembered}")
        if solved is None or not work.summary.exists():
            raise DedupError(
                f"{where}: the batch there has not come to its end{remembered}; run it again first"
            )
        _check_same_configuration(where, told, job)
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

    def replaced(self) -> set[RowLocation]:
        """Return the pages that it was given, and that have lost their place to one of its own."""
        return replaced_prior_pages(self.work)

    def batches(self, job: Job, sought: Numbers, without: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Give its kept pages with one of these keys, in the order in which a store would have them."""
        table = pa.Table.from_batches(
            self._kept(sought, without), fingerprint_schema(job.sketches).append(PART_FIELD)
        )
        request = self.job["request"]
        prefer, latest = request["prefer"], request["configuration"]["keep"] == "latest"
        if prefer != [ARRIVAL] or latest:
            prints = FingerprintTable(table.to_batches())
            order = ranked_rows(prints, prefer, latest=latest)
            table = table.take(order[::-1] if latest else order)
        yield from map(fill_probes, table.to_batches())

    def _kept(self, sought: Numbers, without: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Give the kept pages by arrival."""
        for part in (each["name"] for each in self.job["parts"]):
            lost = {row for name, of, row in without if (name, of) == (self.name, part)}
            for batch in self._of(part, sought, lost):
                yield batch.append_column(PART_FIELD, pa.array([part] * len(batch), PART_FIELD.type))

    def _of(self, part: str, sought: Numbers, without: set[int]) -> Iterator[pa.RecordBatch]:
        """Give the kept pages of a part, each with the cluster that it is in."""
        verdicts = read_table(self.work.verdicts(part))
        keep = verdicts.column("keep").to_numpy()
        joined = verdicts.column("joined").to_numpy()
        clusters = verdicts.column("cluster")
        for batch in read_batches(self.work.prints(part)):
            numbers = batch.column("row").to_numpy()
            wanted = keep[numbers] & _has_any_key(batch, sought) & ~np.isin(numbers, list(without))
            if wanted.any():
                picked, rows = batch.filter(pa.array(wanted)), numbers[wanted]
                names = [clusters[row].as_py() if joined[row] else None for row in rows.tolist()]
                place = picked.schema.get_field_index("cluster")
                yield picked.set_column(place, picked.schema.field(place), pa.array(names, pa.binary()))


def _has_any_key(batch: pa.RecordBatch, sought: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return of each row whether it is filed under one of these keys."""
    lists = ListColumn(batch.column("keys"))
    if not len(sought):
        return np.zeros(len(batch), bool)
    places = np.minimum(np.searchsorted(sought, lists.values), len(sought) - 1)
    until = np.concatenate([[0], np.cumsum(sought[places] == lists.values)])
    ends = np.concatenate([[0], np.cumsum(lists.counts)])
    return np.asarray(np.diff(until[ends]) > 0)


def _check_same_configuration(where: str, told: dict[str, Any], job: Job) -> None:
    there, here = told["request"], job.request()
    found = [text for name in ("detectors", "reading") for text in differences(there[name], here[name])]
    if told["layout"] != LAYOUT_VERSION:
        found = [f"layout is {told['layout']} there, {LAYOUT_VERSION} here"]
    if found:
        raise StoreMismatchError(
            f"The batch in {where} was made under another configuration: {'; '.join(found)}. "
            "Use the former settings, or do that batch again."
        )


KEYS_PER_QUERY = 64  #: keys that a store is asked for at a time, so that a server's other clients do not wait
STORE_BATCH_ROWS = 4096  #: rows


@dataclass(frozen=True, slots=True)
class StoreSource:
    """A namespace of a store. What is claimed there, and not committed, may be given back and is left out."""

    url: str
    namespace: str

    @classmethod
    def there(cls, url: str, namespace: str, job: Job) -> Self:
        """Open a store that exists, to see that it can be.

        Raises :class:`~dedupcrawl.errors.StoreError` if it is not there, or was filled under another
        configuration.
        """
        open_existing(url, namespace).close()
        found = cls(url, namespace)
        found._open(job).close()
        return found

    @property
    def name(self) -> str:
        """The URL without its password, and the namespace."""
        return f"{display_location(self.url)} {self.namespace}"

    @property
    def state(self) -> str:
        """Which one it is: what is in it changes all the time."""
        return self.name

    def told(self) -> dict[str, Any]:
        """Say where it is, and whether that is all."""
        where = display_location(self.url)
        return {"where": where, "namespace": self.namespace, "hidden": where != self.url}

    def replaced(self) -> set[RowLocation]:
        """Return nothing: a store has forgotten what was replaced in it."""
        return set()

    def batches(self, job: Job, sought: Numbers, without: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Give its committed pages with one of these keys, in the order in which they were filed."""
        filing = FingerprintTableBuilder(job.sketches)
        with closing(self._open(job)) as store:
            for each in self._candidates(store, sought):
                if each.state is ClaimState.COMMITTED and (self.name, "", each.id) not in without:
                    filing.add(each.id, each.record, time=each.record.seen)
                if len(filing) >= STORE_BATCH_ROWS:
                    yield _with_empty_part(filing.batch())
        if len(filing):
            yield _with_empty_part(filing.batch())

    def _candidates(self, store: Store, sought: Numbers) -> Iterable[Candidate]:
        """Walk the store, or ask it for each key, whichever is less."""
        if store.info().pages <= len(sought):
            known = set(sought.tolist())
            return (
                each for each in store.records() if not known.isdisjoint(pack_keys(each.record.keys).tolist())
            )
        found: dict[int, Candidate] = {}
        for start in range(0, len(sought), KEYS_PER_QUERY):
            keys = unpack_keys(sought[start : start + KEYS_PER_QUERY].tolist())
            found |= {each.id: each for each in store.find(keys)}
        return [each for _, each in sorted(found.items())]

    def _open(self, job: Job) -> Store:
        config = job.config
        return open_store(
            self.url, namespace=self.namespace, scheme=job.scheme, lease=config.lease, ttl=config.ttl
        )


def _with_empty_part(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(PART_FIELD, pa.array([""] * len(batch), PART_FIELD.type))


def existing_namespace(url: str, namespace: str | None) -> str:
    """Return the namespace that is meant: the one that is named, else the only one that is there.

    Raises:
        SettingError: there is none, or more than one.
        StoreError: the store cannot be asked, or is not there.
    """
    if namespace is not None:
        return namespace
    there = list_namespaces(url)
    if len(there) != 1:
        accepted = f"one of {', '.join(map(repr, there))}" if there else "a name: that of the crawl's spider"
        raise SettingError("--namespace", None, accepted)
    return there[0]


def target_namespace(url: str, namespace: str | None) -> str:
    """Return the namespace that a store is to be filled in, whether there is a store yet or not.

    Raises :class:`~dedupcrawl.errors.SettingError` if it has to be named.
    """
    try:
        return existing_namespace(url, namespace)
    except StoreError as error:
        accepted = f"a name: that of the crawl's spider, unless DEDUP_NAMESPACE is set ({error})"
        raise SettingError("--namespace", None, accepted) from None


#: Behind the columns of the fingerprints, and the part that they are of: whose they are.
SOURCE_FIELD = pa.field("source", pa.string())


class PriorSource(Protocol):
    """Where earlier pages are."""

    @property
    def name(self) -> str:
        """How it is shown, without a password."""
        ...

    @property
    def state(self) -> str:
        """What the verdicts of a later batch depend on, as far as it can be told."""
        ...

    def told(self) -> dict[str, Any]:
        """What a later batch has to know to find it again."""
        ...

    def replaced(self) -> set[RowLocation]:
        """Return the pages of other sources that have lost their place to a page of this one."""
        ...

    def batches(self, job: Job, sought: Numbers, without: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Give the kept pages with one of the keys ``sought``, oldest first, and of which part each is.

        ``sought`` rises; ``without`` are pages that are not kept any more.
        """
        ...


def open_prior_sources(job: Job) -> tuple[PriorSource, ...]:
    """Return what a job stands against, the oldest first: what a folder stood against comes before it.

    Raises:
        DedupError: something is not there, or not finished.
        SettingError: it is the job's own output, or there are several namespaces to choose from.
        StoreMismatchError: it was filled under another configuration.
    """
    named = {display_location(where): where for where in job.against}
    if str(job.out.resolve()) in named:
        raise SettingError(
            "--against", named[str(job.out.resolve())], "the folder of another batch than --out"
        )
    found: dict[str, PriorSource] = {}
    for where in job.against:
        for source in _with_predecessors(job, where, named):
            found.setdefault(source.name, source)
    return tuple(found.values())


def _with_predecessors(job: Job, where: str, named: dict[str, str]) -> Iterator[PriorSource]:
    """Give a source, and before it those that it stood against itself."""
    if is_store_url(where):
        yield StoreSource.there(where, existing_namespace(where, job.namespace), job)
        return
    folder = BatchSource.there(where, job)
    for before in folder.against:
        yield _open_predecessor(job, folder, before, named)
    yield folder


def _open_predecessor(
    job: Job, folder: BatchSource, before: dict[str, Any], named: dict[str, str]
) -> PriorSource:
    where = named.get(before["where"], before["where"])
    if before["hidden"] and where not in named.values():
        raise DedupError(
            f"{folder.name} stands against {where}, whose password is not kept: name it in --against too"
        )
    if is_store_url(where):
        return StoreSource.there(where, before["namespace"], job)
    return BatchSource.there(where, job, said_by=folder.name)


def write_prior_pages(job: Job, work: Workdir, parts: Sequence[Part], sources: Sequence[PriorSource]) -> None:
    """Write down those earlier pages that share a key with one of this corpus."""
    if not sources:
        work.given.unlink(missing_ok=True)
        return
    sought = _probe_keys(work, parts)
    without = {place for source in sources for place in source.replaced()}
    columns = pa.schema([*fingerprint_schema(job.sketches), PART_FIELD, SOURCE_FIELD])
    seen: set[tuple[bytes, ...]] = set()
    with (
        atomic_output(work.given) as path,
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, columns) as out,
    ):
        for source in sources:
            for batch in source.batches(job, sought, without):
                fresh = _without_seen(batch, seen) if len(sources) > 1 else batch
                out.write_batch(
                    fresh.append_column(SOURCE_FIELD, pa.array([source.name] * len(fresh), SOURCE_FIELD.type))
                )


def _probe_keys(work: Workdir, parts: Sequence[Part]) -> Numbers:
    """Return the keys under which the pages of these parts look, rising."""
    prints = open_corpus(work, parts, given=False).prints
    return np.unique(np.concatenate([np.zeros(0, np.uint64), *(lists.values for lists in prints.sought())]))


def _without_seen(batch: pa.RecordBatch, seen: set[tuple[bytes, ...]]) -> pa.RecordBatch:
    """Leave out what another source has given: a store has the pages of a batch that was handed to it."""
    columns = [
        batch.column(name) for name in batch.schema.names if name == "url" or name.startswith("sketch_")
    ]
    keep = []
    for page in zip(*(column.to_pylist() for column in columns), strict=True):
        keep.append(page not in seen)
        seen.add(page)
    return batch.filter(pa.array(keep, pa.bool_()))
