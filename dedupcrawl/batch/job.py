"""The description of a batch (:class:`Job`), its fingerprints (:class:`Corpus`), and the order of judging."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from dedupcrawl.batch.columns import LAYOUT_VERSION, FingerprintTable, read_batches
from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.solver import RowJudge
from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.decision import Policy
from dedupcrawl.detectors.base import VERSIONS, Relation
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError, package_version
from dedupcrawl.matching import Matcher
from dedupcrawl.stores import MEMORY
from dedupcrawl.utils.redaction import SecretSeed, hide_password, without_secrets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.formats import Part
    from dedupcrawl.batch.workdir import Workdir


ARRIVAL, LONGEST, NEWEST, OLDEST = PREFERENCES = ("arrival", "longest", "newest", "oldest")
SCORE = "score:"  #: before the name of a column
ACCEPTED = (
    f"{', '.join(PREFERENCES)}, {SCORE}COLUMN (the highest number), or hosts, the most wanted first: "
    "reuters.com,apnews.com"
)
_HOST = re.compile(r"localhost|[^\s/:@]+\.[^\s/:@]+")
#: Fields of the configuration that are recorded elsewhere (detectors) or decide no verdict of a batch.
_CRAWL_ONLY = frozenset({"detectors", "lease", "wait", "ttl"})


@dataclass(frozen=True, slots=True)
class Job:
    """What to read, how to judge it, and where to write it.

    Raises:
        SettingError: a value is not accepted, or two values contradict each other.
    """

    inputs: tuple[str, ...]  #: files, patterns and folders
    out: Path  #: folder for the output
    config: Config = field(default_factory=Config)
    fields: Fields = field(default_factory=Fields)  #: columns that hold the pages
    annotate: bool = False  #: whether to write all rows with their verdicts, or the kept rows alone
    prefer: tuple[str, ...] = ("arrival",)  #: which of several copies is kept: see :func:`check_prefer`
    drop_clusters: bool = False  #: whether the page that would be kept of several copies is dropped too
    revisits: bool = False  #: whether a copy in a WARC file is replaced by a revisit record, or left out
    #: URLs of stores and folders of earlier batches whose pages count as kept. They may hold passwords.
    against: tuple[str, ...] = field(default=(), repr=False)
    update: str = field(default="", repr=False)  #: URL of a store to which the kept fingerprints are exported; "": none
    namespace: str | None = None  #: namespace in these stores; None: the only one that exists
    skip_bad: bool = False  #: whether to leave out and list unreadable rows instead of stopping
    workers: int = 0  #: number of worker processes; 0: one for each core

    def __post_init__(self) -> None:
        check_prefer(self.prefer)
        if self.latest and self.prefer != ("arrival",):
            raise SettingError(
                "--prefer", ",".join(self.prefer), 'no preference with keep = "latest": the newest page is kept'
            )
        if self.drop_clusters and self.latest:
            raise SettingError("--drop-clusters", True, "no --keep latest: pages that replace others would be dropped")
        if self.revisits and (self.annotate or self.drop_clusters):
            accepted = "neither --annotate nor --drop-clusters: a revisit record names the copy that is kept"
            raise SettingError("--revisits", True, accepted)
        for name, where in (*(("--against", each) for each in self.against), ("--update", self.update)):
            if where == MEMORY:
                raise SettingError(name, where, "a store that outlives its process: lmdb://PATH or redis://HOST/DB")
        if self.workers < 0:
            raise SettingError("--workers", self.workers, "a number of processes, or 0 for one for each core")

    @property
    def latest(self) -> bool:
        """Whether the newest copy is kept and the older ones are listed."""
        return self.config.keep == "latest"

    def rules(self) -> RowJudge:
        """Return the rules that decide on the pages.

        If the latest page is kept, an older text under the same URL is dropped too, as in the store of a
        crawl.
        """
        also = VERSIONS if self.latest else frozenset[Relation]()
        return RowJudge(
            Matcher(build_detectors(self.config), self.config.scope, self.config.versions),
            Policy(self.config.drop | also, "first"),
        )

    @property
    def columns(self) -> Fields:
        """The columns that are read, with that of ``--prefer score:COLUMN``."""
        prefer = self.prefer[0]
        score = prefer.removeprefix(SCORE) if prefer.startswith(SCORE) else ""
        return replace(self.fields, score=score, captures=self.revisits)

    @property
    def scheme(self) -> dict[str, dict[str, object]]:
        """The scheme of the fingerprints, as stores record it."""
        return schemes(build_detectors(self.config), self.config)

    @property
    def sketches(self) -> int:
        """The number of sketches of a record."""
        names = [detector.name for detector in build_detectors(self.config)]
        return len(names) + (Exact.name not in names)

    @property
    def fingerprint_digest(self) -> str:
        """A digest of everything that fingerprints depend on, except the pages."""
        parts = (self.scheme, self.reading, asdict(self.columns), self.annotate, LAYOUT_VERSION, package_version())
        return digest((*parts, *self._secret.values()))

    @property
    def reading(self) -> dict[str, object]:
        """The configuration that the text of a page depends on, beyond :attr:`scheme`."""
        return asdict(self.config.reading) | {"min_chars": self.config.min_chars}

    @property
    def _secret(self) -> dict[str, str]:
        """A digest of the secret seed, under "secret"; nothing if the seed is no secret."""
        seed = self.config.seed
        return {"secret": digest(seed.stored().hex())} if isinstance(seed, SecretSeed) else {}

    def request(self) -> dict[str, Any]:
        """Return everything the output depends on as JSON values, without passwords."""
        names = [name for name in CONFIG_FIELDS if name not in _CRAWL_ONLY]
        detectors = self.config.detectors
        own = detectors if isinstance(detectors, Mapping) else {}  # constants set for single detectors
        return {
            "detectors": self.scheme,
            "constants": {name: _to_json(of) for name, of in own.items() if of},
            "reading": self.reading,
            "configuration": {name: without_secrets(_to_json(getattr(self.config, name))) for name in names},
            **self._secret,
            "fields": asdict(self.fields),
            "annotate": self.annotate,
            "prefer": list(self.prefer),
            "drop_clusters": self.drop_clusters,
            "revisits": self.revisits,
            "against": [display_location(where) for where in self.against],
            "namespace": self.namespace if any(map(is_store_url, self.against)) else None,
        }


def is_store_url(where: str) -> bool:
    """Return whether a location is the URL of a store, not a folder."""
    return "://" in where


def display_location(where: str) -> str:
    """Return the URL of a store without its password, or the absolute path of a folder."""
    return hide_password(where) if is_store_url(where) else str(Path(where).resolve())


def digest(values: object) -> str:
    """Return a digest of JSON values: 32 hexadecimal digits."""
    text = json.dumps(values, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _to_json(value: object) -> object:
    """Convert sets, mappings and tuples to JSON values."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return {str(name): _to_json(each) for name, each in value.items()}
    return [_to_json(each) for each in value] if isinstance(value, tuple | list) else value


def check_prefer(prefer: Sequence[str]) -> None:
    """Raise SettingError unless a preference is one of :data:`PREFERENCES`, a score, or consists of host names."""
    one = len(prefer) == 1
    if one and prefer[0].startswith(SCORE) and prefer[0] != SCORE:
        return
    hosts = [name for name in prefer if name not in PREFERENCES]
    if not prefer or not (one or len(hosts) == len(prefer)) or not all(map(_HOST.fullmatch, hosts)):
        raise SettingError("--prefer", ",".join(prefer), ACCEPTED)


def ranked_rows(table: FingerprintTable, prefer: Sequence[str], *, prior: int = 0, latest: bool = False) -> Numbers:
    """Return the rows in the order in which they are judged; ties are in order of arrival.

    The first ``prior`` rows, which are kept already, stay in front. With ``latest`` all rows are sorted
    instead: the newest first, pages without a time last, ties in reverse order of arrival. Times are ignored
    if no row after the prior ones has any.
    """
    if latest:
        times = table.numbers("time")
        if np.isnan(times[prior:]).all():
            times = np.full(len(times), np.nan)
        return np.lexsort((-np.arange(len(times)), np.where(np.isnan(times), np.inf, -times)))
    new = _preference_key(table, prefer)[prior:]
    return np.concatenate([np.arange(prior), prior + np.argsort(new, kind="stable")])


def _preference_key(table: FingerprintTable, prefer: Sequence[str]) -> Numbers:
    """Return a sort key for each row; the most wanted row has the smallest."""
    if prefer[0] == ARRIVAL:
        return np.zeros(len(table))
    if prefer[0] == LONGEST:
        return -table.numbers("length").astype(np.int64)
    if prefer[0] in (NEWEST, OLDEST):
        times = table.numbers("time")  # NaN, for no time, is sorted to the end
        return times if prefer[0] == OLDEST else -times
    if prefer[0].startswith(SCORE):
        return -table.numbers("score")  # rows without a number come last
    ranks = {host.lower(): place for place, host in reversed(list(enumerate(prefer)))}
    urls = (table.url(row) for row in range(len(table)))
    return np.fromiter((_host_rank(url, ranks, len(prefer)) for url in urls), np.int64, len(table))


def _host_rank(url: str, ranks: dict[str, int], last: int) -> int:
    """Return the rank of a URL's host or of its nearest parent domain that has one; else ``last``."""
    try:
        name = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return last
    while name:
        if name in ranks:
            return ranks[name]
        name = name.partition(".")[2]
    return last


@dataclass(frozen=True)
class Corpus:
    """The fingerprints of a run and where they come from."""

    table: FingerprintTable
    prior: int  #: rows at the front that come from earlier batches and stores
    spans: tuple[tuple[Part, int, int], ...]  #: for each part: its first row and the row after its last

    def order(self, job: Job) -> Numbers:
        """Return the rows in the order in which they are judged."""
        return ranked_rows(self.table, job.prefer, prior=self.prior, latest=job.latest)

    def always_kept(self, job: Job) -> int:
        """Return how many rows at the front of :meth:`order` are kept without being judged."""
        return 0 if job.latest else self.prior


def open_corpus(work: Workdir, parts: Sequence[Part], *, prior: bool = True, whole: bool = False) -> Corpus:
    """Map the fingerprints of a run into memory.

    Args:
        work: the folder of the run.
        parts: its inputs.
        prior: put the prior pages in front, if there are any.
        whole: take those of the whole texts, and not those without what sites repeat.
    """
    path_of = work.fingerprints if whole else work.compared
    first = read_batches(work.prior_pages) if prior and work.prior_pages.exists() else []
    batches = [read_batches(path_of(part.name)) for part in parts]
    counts = [sum(batch.num_rows for batch in of_one) for of_one in (first, *batches)]
    spans = pairwise(accumulate(counts))
    return Corpus(
        FingerprintTable([batch for of_one in (first, *batches) for batch in of_one]),
        counts[0],
        tuple((part, start, stop) for part, (start, stop) in zip(parts, spans, strict=True)),
    )
