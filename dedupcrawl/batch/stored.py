"""The store of a crawl as a source of pages that are kept already."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from dedupcrawl.batch.job import shown
from dedupcrawl.batch.schema import PART, Filing, pack_keys, unpack_keys
from dedupcrawl.errors import SettingError, StoreError
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy as np

    from dedupcrawl.batch.job import Job
    from dedupcrawl.stores.base import Candidate, Store

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]
    Place = tuple[str, str, int]

ASKED = 64  #: keys that a store is asked for at a time, so that a server's other clients do not wait
BATCH = 4096  #: rows


@dataclass(frozen=True, slots=True)
class Stored:
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
        return f"{shown(self.url)} {self.namespace}"

    @property
    def state(self) -> str:
        """Which one it is: what is in it changes all the time."""
        return self.name

    def told(self) -> dict[str, Any]:
        """Say where it is, and whether that is all."""
        where = shown(self.url)
        return {"where": where, "namespace": self.namespace, "hidden": where != self.url}

    def replaced(self) -> set[Place]:
        """Return nothing: a store has forgotten what was replaced in it."""
        return set()

    def batches(self, job: Job, sought: Numbers, without: set[Place]) -> Iterator[pa.RecordBatch]:
        """Give its committed pages with one of these keys, in the order in which they were filed."""
        filing = Filing(job.sketches)
        with closing(self._open(job)) as store:
            for each in self._candidates(store, sought):
                if each.state is ClaimState.COMMITTED and (self.name, "", each.id) not in without:
                    filing.add(each.id, each.record, time=each.record.seen)
                if len(filing) >= BATCH:
                    yield _of_no_part(filing.batch())
        if len(filing):
            yield _of_no_part(filing.batch())

    def _candidates(self, store: Store, sought: Numbers) -> Iterable[Candidate]:
        """Walk the store, or ask it for each key, whichever is less."""
        if store.info().pages <= len(sought):
            known = set(sought.tolist())
            return (
                each for each in store.records() if not known.isdisjoint(pack_keys(each.record.keys).tolist())
            )
        found: dict[int, Candidate] = {}
        for start in range(0, len(sought), ASKED):
            keys = unpack_keys(sought[start : start + ASKED].tolist())
            found |= {each.id: each for each in store.find(keys)}
        return [each for _, each in sorted(found.items())]

    def _open(self, job: Job) -> Store:
        config = job.config
        return open_store(
            self.url, namespace=self.namespace, scheme=job.scheme, lease=config.lease, ttl=config.ttl
        )


def _of_no_part(batch: pa.RecordBatch) -> pa.RecordBatch:
    return batch.append_column(PART, pa.array([""] * len(batch), PART.type))


def namespace_in(url: str, namespace: str | None) -> str:
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


def namespace_for(url: str, namespace: str | None) -> str:
    """Return the namespace that a store is to be filled in, whether there is a store yet or not.

    Raises :class:`~dedupcrawl.errors.SettingError` if it has to be named.
    """
    try:
        return namespace_in(url, namespace)
    except StoreError as error:
        accepted = f"a name: that of the crawl's spider, unless DEDUP_NAMESPACE is set ({error})"
        raise SettingError("--namespace", None, accepted) from None
