"""The content of a ledger: the entry of a page, and the tables, the limits and the opening of its SQLite file.

An entry is the verdict on a page, its outcome, and the earlier pages that it was compared with: the JSON form of
verdicts and assessments, and the choice of near misses.

The file is in write-ahead mode: data that was written survives a killed process and can be read during a run.
Only a checkpoint waits for the disk.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.decision import Status, Verdict, cluster_of
from dedupcrawl.detectors.base import Assessment, Evidence, Match, Relation, Threshold
from dedupcrawl.errors import DedupError
from dedupcrawl.sites.registrable_domain import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.base import Candidate, Record

    Compare = Callable[[Record, Record], tuple[Assessment, ...]]


NO_HOST = ""  #: stands for pages without a host, and for all hosts beyond the limit of a ledger
MAX_COMPARED = 8  #: unmatched candidates that are compared again, the newest: a hot bucket has many
MAX_NEAR_MISSES = 3  #: near misses stored with a page
MAX_NAME_CHARS = 255  #: characters of a host or cluster name
MAX_EVIDENCE_BYTES = 16_384  #: JSON of a verdict; longer evidence is not stored: it can quote a page
MAX_ASSESSMENTS_BYTES = 65_536  #: JSON of all comparisons of a page; evidence is left out of longer ones
_THRESHOLD_FIELDS = tuple(each.name for each in fields(Threshold))
_EVIDENCE_FIELDS = tuple(each.name for each in fields(Evidence))


class Outcome(StrEnum):
    """What happened to a page."""

    OPEN = "open"  #: its verdict is known; its item is in progress, or the crawl was killed
    KEPT = "kept"
    DROPPED = "dropped"
    RELEASED = "released"  #: a later pipeline dropped its items, or a feed was not stored


@dataclass(frozen=True, slots=True)
class Comparison:
    """An earlier page that a page was compared with, matched or not."""

    url: str  #: of the earlier page
    cluster: str  #: of the earlier page
    assessments: tuple[Assessment, ...]  #: one for each detector, in their order

    @property
    def nearest(self) -> Assessment | None:
        """The assessment with the highest similarity; None if no detector measured one."""
        measured = [each for each in self.assessments if each.similarity is not None]
        return max(measured, key=lambda each: each.similarity or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of a run."""

    url: str  #: of the page
    time: float  #: Unix time of the verdict, or of the download
    verdict: Verdict
    bytes: int  #: of the response body; of the text if items are checked
    title: str = ""
    text: str = ""  #: main text; "" if there is none
    requests: int = 0  #: requests that were not made because the page was dropped
    notes: tuple[str, ...] = ()  #: how the compared text differs from the main text, a sentence each
    comparisons: tuple[Comparison, ...] = ()  #: the related page first, then near misses, most similar first


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A rule of a site by which requests were foreseen to lead to copies."""

    site: str
    text: str  #: such as "?ref=* on shop.example/item/#"
    groups: int  #: groups of pages that are its evidence
    requests: int  #: foreseen requests: skipped ones and probes
    probes: int  #: foreseen pages that were downloaded, and compared
    wrong: int  #: of them, those that were no copies
    active: bool  #: whether it acts
    copy: str  #: URL of a copy
    of: str  #: URL of the page that it repeats
    discarder: str = ""  #: the rule for ``duplicate-url-discarder``, as JSON; "" if it has no such rule


@dataclass(slots=True)
class EntryState:
    """A page in the ledger; identifies it in later updates."""

    id: int
    host: str
    second: int  #: Unix time
    is_unchecked: bool
    cluster: str
    requests: int = 0  #: requests that were not made because the page was dropped
    outcome: Outcome = Outcome.OPEN


def stored_host(url: str) -> str:
    """Return host and port of a URL, shortened if need be; ``NO_HOST`` if it has none."""
    return storable(host_of(url), MAX_NAME_CHARS)


# -- near misses ------------------------------------------------------------------------------


def select_comparisons(
    verdict: Verdict, record: Record, candidates: Sequence[Candidate], compare: Compare, least: float
) -> tuple[Comparison, ...]:
    """Return the page that the verdict names, then near misses, most similar first.

    Args:
        verdict: of the page.
        record: of the page.
        candidates: stored pages that share a key with it.
        compare: returns the assessments of all detectors on a new and an earlier page.
        least: lowest similarity of a near miss, from 0 to 1.
    """
    named = [each for each in candidates if verdict.of is not None and each.record.url == verdict.of]
    others = [each for each in candidates if each not in named and cluster_of(each.record) != verdict.cluster]

    def compared(earlier: Sequence[Candidate]) -> list[Comparison]:
        found = ((each.record, compare(record, each.record)) for each in earlier)
        return [Comparison(old.url, cluster_of(old), assessments) for old, assessments in found]

    related = compared(named)
    if len(related) > 1:
        related.sort(key=lambda each: _match_rank(each, verdict), reverse=True)
    missed = [each for each in compared(others[-MAX_COMPARED:]) if _is_near(each, least)]
    missed.sort(key=_similarity, reverse=True)
    return (*related[:1], *missed[:MAX_NEAR_MISSES])


def _match_rank(comparison: Comparison, verdict: Verdict) -> tuple[bool, float]:
    """Rank the versions of one URL: the version that the deciding detector matched ranks first."""
    assessments = comparison.assessments
    decided = any(each.match is not None and each.detector == verdict.detector for each in assessments)
    return decided, _similarity(comparison)


def _is_near(comparison: Comparison, least: float) -> bool:
    return _similarity(comparison) >= least and not any(each.match for each in comparison.assessments)


def _similarity(comparison: Comparison) -> float:
    nearest = comparison.nearest
    return -1.0 if nearest is None or nearest.similarity is None else nearest.similarity


# -- JSON -------------------------------------------------------------------------------------


def storable(text: str, most: int) -> str:
    """Truncate a text to ``most`` characters, and replace lone surrogates, which UTF-8 cannot encode."""
    text = text[:most]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def dump_json(value: object) -> bytes:
    """Encode plain values as JSON, including lone surrogates and integers beyond 64 bits."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, default=str).encode()


def dump_verdict(verdict: Verdict, most_url: int) -> str:
    """Encode a verdict without the URL of its page; other URLs have at most ``most_url`` characters."""
    plain = verdict.to_dict()
    del plain["url"]
    for name in ("of", "supersedes"):
        if name in plain:
            plain[name] = storable(str(plain[name]), most_url)
    written = dump_json(plain)
    if len(written) > MAX_EVIDENCE_BYTES:
        written = dump_json({name: value for name, value in plain.items() if name != "evidence"})
    return written.decode()


def load_verdict(url: str, written: str) -> Verdict:
    """Decode a verdict on the page with this URL."""
    plain = json.loads(written)
    relation = plain.pop("relation", None)
    status = Status(plain.pop("status"))
    return Verdict(url=url, status=status, relation=Relation(relation) if relation else None, **plain)


def dump_comparisons(comparisons: Sequence[Comparison], most_url: int) -> bytes:
    """Encode comparisons; URLs have at most ``most_url`` characters."""
    written = dump_json([_comparison_to_json(each, most_url) for each in comparisons])
    if len(written) > MAX_ASSESSMENTS_BYTES:
        bare = (replace(each, assessments=tuple(map(_without_evidence, each.assessments))) for each in comparisons)
        written = dump_json([_comparison_to_json(each, most_url) for each in bare])
    return zlib.compress(written, 1)


def load_comparisons(data: bytes) -> tuple[Comparison, ...]:
    """Decode what :func:`dump_comparisons` encoded."""
    plain = json.loads(zlib.decompress(data))
    return tuple(Comparison(url, cluster, tuple(map(_load_assessment, of))) for url, cluster, of in plain)


def _comparison_to_json(comparison: Comparison, most_url: int) -> list[object]:
    cluster = storable(comparison.cluster, MAX_NAME_CHARS)
    return [storable(comparison.url, most_url), cluster, list(map(_assessment_to_json, comparison.assessments))]


def _without_evidence(assessment: Assessment) -> Assessment:
    """Keep the numbers only: words of the page make an assessment long."""
    match = assessment.match and replace(assessment.match, evidence={})
    return replace(assessment, evidence=(), figures={}, match=match)


def _assessment_to_json(assessment: Assessment) -> dict[str, object]:
    match = assessment.match
    return {
        "detector": assessment.detector,
        "match": match and [match.similarity, str(match.relation), dict(match.evidence)],
        "similarity": assessment.similarity,
        "figures": dict(assessment.figures),
        "thresholds": _field_values(assessment.thresholds, _THRESHOLD_FIELDS),
        "part_thresholds": _field_values(assessment.part_thresholds, _THRESHOLD_FIELDS),
        "evidence": _field_values(assessment.evidence, _EVIDENCE_FIELDS),
        "silent": assessment.silent,
    }


def _field_values(things: Sequence[object], names: Sequence[str]) -> list[list[object]]:
    return [[getattr(each, name) for name in names] for each in things]


def _load_assessment(plain: dict[str, Any]) -> Assessment:
    match = plain["match"]
    return Assessment(
        **plain
        | {
            "match": match and Match(match[0], Relation(match[1]), match[2]),
            "thresholds": tuple(Threshold(*threshold) for threshold in plain["thresholds"]),
            "part_thresholds": tuple(Threshold(*threshold) for threshold in plain["part_thresholds"]),
            "evidence": tuple(_load_evidence(each) for each in plain["evidence"]),
        }
    )


def _load_evidence(values: list[Any]) -> Evidence:
    unit, agreeing, *elements = values
    return Evidence(unit, agreeing, *map(tuple, elements))


# -- the file -----------------------------------------------------------------------------------

APPLICATION_ID = 0x64647570  #: "ddup", marks the SQLite files of dedupcrawl
SCHEMA_VERSION = 2  #: incremented when the tables change
BUSY_TIMEOUT = 30.0  #: seconds to wait for another process that locks the file
_WAL_BYTES = 16 * 2**20  #: size to which the write-ahead log is truncated
_SCHEMA = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, began REAL, ended REAL, about TEXT);
CREATE TABLE state (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE counts (name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE detectors (name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;
CREATE TABLE hosts (name TEXT PRIMARY KEY, pages INTEGER, kept INTEGER, dropped INTEGER) WITHOUT ROWID;
CREATE TABLE flows (copy TEXT, source TEXT, n INTEGER, PRIMARY KEY (copy, source)) WITHOUT ROWID;
CREATE TABLE slices (place INTEGER PRIMARY KEY, kept INTEGER, dropped INTEGER, unchecked INTEGER);
CREATE TABLE bins (detector TEXT, bin INTEGER, matched INTEGER, n INTEGER,
                   PRIMARY KEY (detector, bin, matched)) WITHOUT ROWID;
CREATE TABLE clusters (name TEXT PRIMARY KEY, hash INTEGER, pages INTEGER, first REAL, last REAL)
                       WITHOUT ROWID;
CREATE TABLE pages (id INTEGER PRIMARY KEY, hash INTEGER, url TEXT, time REAL, bytes INTEGER, title TEXT,
                    requests INTEGER, outcome TEXT, cluster TEXT, verdict TEXT);
CREATE INDEX pages_by_url ON pages (url);
CREATE INDEX pages_by_cluster ON pages (cluster);
CREATE TABLE bulk (page INTEGER PRIMARY KEY, size INTEGER, text BLOB, held BLOB, notes TEXT);
CREATE TABLE misses (id INTEGER PRIMARY KEY, detector TEXT, similarity REAL, page INTEGER, place INTEGER,
                     old TEXT);
"""


@dataclass(frozen=True, slots=True)
class LedgerLimits:
    """The largest amounts that a ledger stores, for any number of pages.

    With these defaults a file stays below about 170 MB, and its writer uses about 20 MB of memory.
    """

    pages: int = 100_000  #: rows; beyond them half of the clusters are deleted
    content_bytes: int = 64 * 2**20  #: texts and comparisons; beyond them half of the clusters lose theirs
    text_chars: int = 100_000  #: of one text
    title_chars: int = 500  #: of one title
    url_chars: int = 4_096  #: of one URL
    cluster_pages: int = 1_000  #: rows of one cluster; all of its pages are counted
    cluster_texts: int = 50  #: texts of one cluster
    hosts: int = 20_000  #: the first ones; all later hosts are counted together
    flows: int = 20_000  #: pairs of hosts, likewise
    slices: int = 512  #: time slices; beyond them their length doubles
    misses: int = 1_000  #: near misses of each detector, the most similar ones


def sampling_hash(name: str) -> int:
    """Hash the name of a cluster to an integer from 0 to 2⁶² - 1, the same in every ledger."""
    data = name.encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 2


def is_sampled(hashed: int, level: int) -> bool:
    """Whether the sample of one in 2^level clusters includes this hash.

    The sample of a level is a part of the samples of all lower levels, so all pages of its clusters were counted.
    """
    return not hashed & ((1 << level) - 1)


def create_database(path: Path) -> sqlite3.Connection:
    """Create a file with empty tables, and open it for writing."""
    connection = _connect(path, "rwc")
    connection.executescript(
        f"PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION}; BEGIN; {_SCHEMA} COMMIT;"
    )
    return _configured(connection)


def open_for_writing(path: Path) -> sqlite3.Connection:
    """Open an existing ledger to append to it; raises DedupError if it is damaged or no ledger."""
    return _configured(_connect_checked(path, "rw"))


def open_for_reading(path: Path) -> sqlite3.Connection:
    """Open a snapshot of a ledger; raises DedupError if it is missing, damaged, or no ledger."""
    if not path.is_file():
        raise DedupError(f"{path} is not a file" if path.exists() else f"{path} does not exist")
    with ledger_errors(path):
        connection = _connect_checked(path, "ro")
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM runs").fetchone()  # the first query takes the snapshot
        return connection


def require_ledger(path: Path) -> None:
    """Raise DedupError if the file is not a ledger, and so must not be overwritten."""
    with ledger_errors(path):
        connection = _connect(path, "ro")
        application = _pragma(connection, "application_id")
        connection.close()
    if application != APPLICATION_ID:
        raise DedupError(f"{path} is no ledger of dedupcrawl, so it is not overwritten")


def checkpoint(connection: sqlite3.Connection) -> None:
    """Move the log into the database file and delete it, unless another process is reading."""
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA busy_timeout = 1000")
        connection.execute("PRAGMA journal_mode = DELETE")


@contextmanager
def ledger_errors(path: Path) -> Iterator[None]:
    """Convert SQLite errors to DedupError with the name of the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise DedupError(f"The ledger {path} cannot be used: {error}") from None
    except sqlite3.DatabaseError as error:
        raise DedupError(f"{path} is no ledger of dedupcrawl, or is damaged: {error}") from None


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(uri, uri=True, timeout=BUSY_TIMEOUT, isolation_level=None, check_same_thread=False)


def _connect_checked(path: Path, mode: str) -> sqlite3.Connection:
    connection = _connect(path, mode)
    try:
        _check_schema(path, connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_schema(path: Path, connection: sqlite3.Connection) -> None:
    if _pragma(connection, "application_id") != APPLICATION_ID:
        raise DedupError(f"{path} is no ledger of dedupcrawl")
    version = _pragma(connection, "user_version")
    if version != SCHEMA_VERSION:
        raise DedupError(
            f"{path} is a ledger of layout {version}; this version of dedupcrawl reads layout {SCHEMA_VERSION}"
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


def _configured(connection: sqlite3.Connection) -> sqlite3.Connection:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_BYTES}")
    return connection
