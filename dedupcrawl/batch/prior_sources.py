"""Pages that count as kept before a batch starts: those of earlier batches and of the stores of crawls.

Only prior pages that share a key with a page of the corpus are read.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.columns import (
    LAYOUT_VERSION,
    PART_FIELD,
    FingerprintTable,
    FingerprintTableBuilder,
    ListColumn,
    RowValues,
    arrow_array,
    arrow_bytes,
    arrow_strings,
    fill_probes,
    fingerprint_schema,
    numpy_array,
    pack_keys,
    read_batches,
    read_table,
    unpack_keys,
)
from dedupcrawl.batch.job import ARRIVAL, display_location, is_store_url, open_corpus, ranked_rows
from dedupcrawl.batch.verdicts import replaced_prior_pages
from dedupcrawl.batch.workdir import Workdir, read_finished, read_site_tables
from dedupcrawl.errors import DedupError, SettingError, StoreError, StoreMismatchError
from dedupcrawl.sites.site_memory import repeated_lines
from dedupcrawl.stores import list_namespaces, open_existing, open_store
from dedupcrawl.stores.base import ClaimState, check_secret, differences
from dedupcrawl.stores.site_tables import merge_site
from dedupcrawl.utils.redaction import SECRET, SecretSeed
from dedupcrawl.utils.resources import atomic_output

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.job import Job
    from dedupcrawl.stores.base import Candidate, Store

    RowLocation = tuple[str, str, int]  # name of the source, part, row

#: Last column of the table of prior pages: the name of the source.
SOURCE_FIELD = pa.field("source", pa.string())
KEYS_PER_QUERY = 64  #: keys of one query to a store; few, so that other clients of a server do not wait
STORE_BATCH_ROWS = 4096  #: rows of a record batch read from a store


class PriorSource(Protocol):
    """A source of pages that count as kept."""

    @property
    def name(self) -> str:
        """Its location, without a password."""

    @property
    def signature(self) -> str:
        """Changes if the verdicts of a later batch may change, as far as that can be known."""

    def reference(self) -> dict[str, Any]:
        """Return the reference by which a later batch opens the source again, as JSON values."""

    def replaced(self) -> set[RowLocation]:
        """Return the pages of other sources that pages of this one have replaced."""

    def site_tables(self, job: Job) -> dict[str, bytes]:
        """Return its packed tables of sites."""

    def batches(self, job: Job, keys: Numbers, excluded: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Yield the kept pages with any of the keys, the oldest first.

        ``keys`` are integers (:func:`pack_keys`) in ascending order; ``excluded`` pages are not kept any
        more. The columns are those of :func:`fingerprint_schema`, and ``PART_FIELD``.
        """


def open_prior_sources(job: Job) -> tuple[PriorSource, ...]:
    """Open the sources of ``--against``, the oldest first; before a folder come the sources of that batch.

    Raises DedupError if a source does not exist or is not finished, SettingError if it is the output folder
    of the job or its namespace has to be named, StoreMismatchError if it has another configuration.
    """
    named = {display_location(where): where for where in job.against}
    if str(job.out.resolve()) in named:
        raise SettingError("--against", named[str(job.out.resolve())], "the folder of another batch than --out")
    sources: dict[str, PriorSource] = {}
    for where in job.against:
        for source in _with_predecessors(job, where, named):
            sources.setdefault(source.name, source)
    return tuple(sources.values())


def _with_predecessors(job: Job, where: str, named: dict[str, str]) -> Iterator[PriorSource]:
    if is_store_url(where):
        yield StoreSource.open(where, existing_namespace(where, job.namespace), job)
        return
    batch = BatchSource.open(where, job)
    for reference in batch.against:
        yield _open_predecessor(job, batch, reference, named)
    yield batch


def _open_predecessor(job: Job, batch: BatchSource, reference: dict[str, Any], named: dict[str, str]) -> PriorSource:
    where = named.get(reference["where"], reference["where"])
    if reference["hidden"] and where not in named.values():
        raise DedupError(
            f"{batch.name} was compared with {where}, whose password is not stored: name it in --against too"
        )
    if is_store_url(where):
        return StoreSource.open(where, reference["namespace"], job)
    return BatchSource.open(where, job, referrer=batch.name)


def write_prior_pages(job: Job, work: Workdir, parts: Sequence[Part], sources: Sequence[PriorSource]) -> None:
    """Write the prior pages that share a key with a page of these parts."""
    if not sources:
        work.prior_pages.unlink(missing_ok=True)
        return
    table = open_corpus(work, parts, prior=False).table
    keys = np.unique(np.concatenate([np.zeros(0, np.uint64), *(lists.values for lists in table.probes())]))
    excluded = {page for source in sources for page in source.replaced()}
    columns = pa.schema([*fingerprint_schema(job.sketches), PART_FIELD, SOURCE_FIELD])
    seen: set[tuple[bytes, ...]] = set()
    with (
        atomic_output(work.prior_pages) as path,
        pa.OSFile(str(path), "wb") as file,
        pa.ipc.new_file(file, columns) as writer,
    ):
        for source in sources:
            for batch in source.batches(job, keys, excluded):
                new = _without_seen(batch, seen) if len(sources) > 1 else batch
                writer.write_batch(_with_constant(new, SOURCE_FIELD, source.name))


def given_site_tables(job: Job, sources: Sequence[PriorSource]) -> dict[str, bytes]:
    """Return what sites repeat by these sources."""
    found: dict[str, bytes] = {}
    for source in sources if job.config.site_memory else ():
        for site, value in source.site_tables(job).items():
            found[site] = merge_site(found.get(site), value)
    return {site: table for site, value in sorted(found.items()) if (table := repeated_lines(value))}


def _with_constant(batch: pa.RecordBatch, field: pa.Field, value: str) -> pa.RecordBatch:
    return batch.append_column(field, arrow_strings([value] * len(batch)))


def _without_seen(batch: pa.RecordBatch, seen: set[tuple[bytes, ...]]) -> pa.RecordBatch:
    """Leave out pages of another source: a batch may have been exported to a store."""
    columns = [
        batch.column(name) for name in batch.schema.names if name in {"url", "identity"} or name.startswith("sketch_")
    ]
    keep = []
    for page in zip(*(column.to_pylist() for column in columns), strict=True):
        keep.append(page not in seen)
        seen.add(page)
    return batch.filter(arrow_array(np.array(keep, bool)))


@dataclass(frozen=True)
class BatchSource:
    """The output folder of a finished batch (:class:`PriorSource`)."""

    work: Workdir
    job: dict[str, Any]  #: ``job.json``
    solution: dict[str, Any]  #: ``solved.json``

    @classmethod
    def open(cls, where: str, job: Job, *, referrer: str = "") -> Self:
        """Open a folder.

        ``referrer`` is the folder of a batch that names this one as a source, for error messages. Raises
        DedupError without a finished batch, StoreMismatchError if it has another configuration.
        """
        work = Workdir(Path(where).resolve())
        about, solution, _ = read_finished(work, where, f" ({referrer} was compared with it)" if referrer else "")
        _check_same_configuration(where, about, job)
        return cls(work, about, solution)

    @property
    def name(self) -> str:
        """Its absolute path."""
        return str(self.work.out)

    @property
    def signature(self) -> str:
        """Changes with its verdicts."""
        return f"{self.name} {self.solution['signature']}"

    @property
    def against(self) -> list[dict[str, Any]]:
        """References to its own prior sources, the oldest first."""
        return list(self.solution.get("against", []))

    def reference(self) -> dict[str, Any]:
        """Return its path."""
        return {"where": self.name, "namespace": None, "hidden": False}

    def replaced(self) -> set[RowLocation]:
        """Return the prior pages that its own pages have replaced."""
        return replaced_prior_pages(self.work)

    def site_tables(self, job: Job) -> dict[str, bytes]:  # noqa: ARG002
        """Return what sites repeat by that batch."""
        return read_site_tables(self.work)

    def batches(self, job: Job, keys: Numbers, excluded: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Yield its kept pages with any of the keys, in the order in which it judged them."""
        kept = pa.Table.from_batches(self._kept(keys, excluded), fingerprint_schema(job.sketches).append(PART_FIELD))
        request = self.job["request"]
        prefer, latest = request["prefer"], request["configuration"]["keep"] == "latest"
        if prefer != [ARRIVAL] or latest:
            order = ranked_rows(FingerprintTable(kept.to_batches()), prefer, latest=latest)
            kept = kept.take(order[::-1] if latest else order)
        yield from map(fill_probes, kept.to_batches())

    def _kept(self, keys: Numbers, excluded: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Yield the pages in order of arrival."""
        for part in (each["name"] for each in self.job["parts"]):
            replaced = {row for name, of, row in excluded if (name, of) == (self.name, part)}
            for batch in self._kept_of_part(part, keys, replaced):
                yield _with_constant(batch, PART_FIELD, part)

    def _kept_of_part(self, part: str, keys: Numbers, replaced: set[int]) -> Iterator[pa.RecordBatch]:
        """Yield the pages of a part, each with its cluster."""
        verdicts = read_table(self.work.verdicts(part))
        keep = numpy_array(verdicts.column("compared"))
        joined = numpy_array(verdicts.column("joined"))
        clusters = verdicts.column("cluster")
        for batch in read_batches(self.work.compared(part)):
            numbers = numpy_array(batch.column("row"))
            wanted = keep[numbers] & _has_any_key(batch, keys) & ~np.isin(numbers, list(replaced))
            if wanted.any():
                pages, rows = batch.filter(arrow_array(wanted)), numbers[wanted]
                names = [clusters[row].as_py() if joined[row] else None for row in rows.tolist()]
                place = pages.schema.get_field_index("cluster")
                yield pages.set_column(place, pages.schema.field(place), arrow_bytes(names))


def _has_any_key(batch: pa.RecordBatch, keys: Numbers) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Return for each row whether it has any of the keys, which are in ascending order."""
    lists = ListColumn(batch.column("keys"))
    if not len(keys):
        return np.zeros(len(batch), bool)
    places = np.minimum(np.searchsorted(keys, lists.values), len(keys) - 1)
    until = np.concatenate([[0], np.cumsum(keys[places] == lists.values)])
    ends = np.concatenate([[0], np.cumsum(lists.counts)])
    return np.asarray(np.diff(until[ends]) > 0)


def _check_same_configuration(where: str, about: dict[str, Any], job: Job) -> None:
    there, here = about["request"], job.request()
    found = [text for name in ("detectors", "reading") for text in differences(there[name], here[name])]
    if there.get("secret") != here.get("secret"):
        found.append("the secret seed is another one")
    if about["layout"] != LAYOUT_VERSION:
        found = [f"layout is {about['layout']} there, {LAYOUT_VERSION} here"]
    if found:
        raise StoreMismatchError(
            f"The batch in {where} was made under another configuration: {'; '.join(found)}. "
            "Use the former settings, or do that batch again."
        )


@dataclass(frozen=True, slots=True)
class StoreSource:
    """The committed pages of a namespace of a store (:class:`PriorSource`)."""

    url: str
    namespace: str

    @classmethod
    def open(cls, url: str, namespace: str, job: Job) -> Self:
        """Check that a store exists and can be opened; raises StoreError if not."""
        open_existing(url, namespace).close()
        connect(url, namespace, job).close()
        return cls(url, namespace)

    @property
    def name(self) -> str:
        """The URL without its password, and the namespace."""
        return f"{display_location(self.url)} {self.namespace}"

    @property
    def signature(self) -> str:
        """The name alone: the contents of a store change all the time."""
        return self.name

    def reference(self) -> dict[str, Any]:
        """Return URL, namespace, and whether a password was left out."""
        where = display_location(self.url)
        return {"where": where, "namespace": self.namespace, "hidden": where != self.url}

    def replaced(self) -> set[RowLocation]:
        """Return nothing: replaced pages have been removed from a store."""
        return set()

    def site_tables(self, job: Job) -> dict[str, bytes]:
        """Return the tables of the namespace."""
        with closing(connect(self.url, self.namespace, job)) as store:
            return dict(store.sites())

    def batches(self, job: Job, keys: Numbers, excluded: set[RowLocation]) -> Iterator[pa.RecordBatch]:
        """Yield its committed pages with any of the keys, in the order in which they were filed."""
        builder = FingerprintTableBuilder(job.sketches)
        with closing(connect(self.url, self.namespace, job)) as store:
            for each in self._candidates(store, keys):
                if each.state is ClaimState.COMMITTED and (self.name, "", each.id) not in excluded:
                    builder.add(each.id, each.record, RowValues(each.record.seen))
                if len(builder) >= STORE_BATCH_ROWS:
                    yield _with_constant(builder.batch(), PART_FIELD, "")
        if len(builder):
            yield _with_constant(builder.batch(), PART_FIELD, "")

    def _candidates(self, store: Store, keys: Numbers) -> Iterable[Candidate]:
        """Scan the store, or query the keys, whichever is less work."""
        if store.info().pages <= len(keys):
            wanted = set(keys.tolist())
            return (each for each in store.records() if not wanted.isdisjoint(pack_keys(each.record.keys).tolist()))
        found: dict[int, Candidate] = {}
        for start in range(0, len(keys), KEYS_PER_QUERY):
            query = unpack_keys(keys[start : start + KEYS_PER_QUERY].tolist())
            found |= {each.id: each for each in store.find(query)}
        return [each for _, each in sorted(found.items())]


def connect(url: str, namespace: str, job: Job) -> Store:
    """Open a store with the configuration of a job."""
    lease, ttl, seed = job.config.lease, job.config.ttl, job.config.seed
    secret = seed if isinstance(seed, SecretSeed) else None
    store = open_store(url, namespace=namespace, scheme=job.scheme, lease=lease, ttl=ttl, secret=secret)
    try:
        check_secret(url, namespace, store.secret, secret)
    except StoreMismatchError:
        store.close()
        raise
    return store


def with_secret(job: Job) -> Job:
    """Return a job with the secret seed of its store; a job with a number as the seed is returned unchanged.

    The store is the first one in ``against``, else that of ``update``, which is created if it does not exist.

    Raises:
        SettingError: the seed is "secret", and no store keeps it.
        StoreError: the store cannot be opened.
    """
    if job.config.seed != SECRET:
        return job
    stores = [where for where in job.against if is_store_url(where)]
    if not stores and not job.update:
        raise SettingError(
            "seed", SECRET, "a whole number, or --against or --update with a store that keeps the secret"
        )
    drawn = replace(job, config=replace(job.config, seed=SecretSeed.draw()))
    if stores:
        namespace = existing_namespace(stores[0], job.namespace)
        with open_existing(stores[0], namespace) as store:
            return _with_secret_of(store, drawn)
    namespace = target_namespace(job.update, job.namespace)
    secret = drawn.config.seed if isinstance(drawn.config.seed, SecretSeed) else None
    with open_store(job.update, namespace=namespace, scheme=drawn.scheme, secret=secret) as store:
        return _with_secret_of(store, drawn)


def _with_secret_of(store: Store, job: Job) -> Job:
    if store.secret is None:
        raise StoreError("The store keeps no secret seed: use another namespace, or set a number as the seed.")
    return replace(job, config=replace(job.config, seed=store.secret))


def existing_namespace(url: str, namespace: str | None) -> str:
    """Return ``namespace``, or if it is None the only one in the store.

    Raises SettingError if it has none or several, StoreError if it does not exist or cannot be reached.
    """
    if namespace is not None:
        return namespace
    names = list_namespaces(url)
    if len(names) != 1:
        accepted = f"one of {', '.join(map(repr, names))}" if names else "a name: that of the crawl's spider"
        raise SettingError("--namespace", None, accepted)
    return names[0]


def target_namespace(url: str, namespace: str | None) -> str:
    """Return the namespace to fill in a store that may not exist; raises SettingError if it is not named."""
    try:
        return existing_namespace(url, namespace)
    except StoreError as error:
        accepted = f"a name: that of the crawl's spider, unless DEDUP_NAMESPACE is set ({error})"
        raise SettingError("--namespace", None, accepted) from None
