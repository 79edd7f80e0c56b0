"""All that a run over a corpus is told.

Which of several copies comes first, and so is kept: the order in which pages are judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from dedupcrawl.batch.fingerprint_table import LAYOUT_VERSION
from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.solver import Rules
from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.decision import Matcher, Policy
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError, package_version
from dedupcrawl.stores.opening import MEMORY
from dedupcrawl.utils.formatting import hide_password

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from dedupcrawl.batch.fingerprint_table import FingerprintTable

    Numbers = np.ndarray[tuple[int], np.dtype[Any]]


ARRIVAL, LONGEST, NEWEST, OLDEST = PREFERENCES = ("arrival", "longest", "newest", "oldest")
ACCEPTED = f"{', '.join(PREFERENCES)}, or hosts, the most wanted first: reuters.com,apnews.com"
_HOST = re.compile(r"localhost|[^\s/:@]+\.[^\s/:@]+")


def check_prefer(prefer: Sequence[str]) -> None:
    """Raise :class:`~dedupcrawl.errors.SettingError` for a preference that is none."""
    hosts = [name for name in prefer if name not in PREFERENCES]
    one = len(prefer) == 1
    if not prefer or not (one or len(hosts) == len(prefer)) or not all(map(_HOST.fullmatch, hosts)):
        raise SettingError("--prefer", ",".join(prefer), ACCEPTED)


def ranked_rows(
    prints: FingerprintTable, prefer: Sequence[str], *, given: int = 0, latest: bool = False
) -> Numbers:
    """Return the rows in the order in which they are judged.

    The first ``given`` rows, which are kept already, stay in front, unless the latest page is to win: then
    they have to stand up to the newer ones like all others. What is equal comes by arrival; where the latest
    wins, the last that arrived is first, and times do not count where no page behind the given ones has any.
    """
    if latest:
        times = prints.numbers("time")
        return _newest_first(times if not np.isnan(times[given:]).all() else np.full(len(times), np.nan))
    behind = _preference_key(prints, prefer)[given:]
    return np.concatenate([np.arange(given), given + np.argsort(behind, kind="stable")])


def _preference_key(prints: FingerprintTable, prefer: Sequence[str]) -> Numbers:
    """Return a number for each row, the least for the one that is wanted most."""
    if prefer[0] == ARRIVAL:
        return np.zeros(len(prints))
    if prefer[0] == LONGEST:
        return -prints.numbers("length").astype(np.int64)
    if prefer[0] in (NEWEST, OLDEST):
        times = prints.numbers("time")  # NaN, where there is none, is sorted to the end
        return times if prefer[0] == OLDEST else -times
    return _host_ranks((prints.url(row) for row in range(len(prints))), prefer, len(prints))


def _newest_first(times: Numbers) -> Numbers:
    """Return the newest first; of equals, and of those without a time, the last that arrived."""
    return np.lexsort((-np.arange(len(times)), np.where(np.isnan(times), np.inf, -times)))


def _host_ranks(urls: Iterable[str], hosts: Sequence[str], rows: int) -> Numbers:
    places = {host.lower(): place for place, host in reversed(list(enumerate(hosts)))}
    return np.fromiter((_host_rank(url, places, len(hosts)) for url in urls), np.int64, rows)


def _host_rank(url: str, places: dict[str, int], nowhere: int) -> int:
    """Return the place of a URL's host, or of the nearest domain above it that is named."""
    try:
        name = (urlsplit(url).hostname or "").rstrip(".")
    except ValueError:
        return nowhere
    while name:
        if name in places:
            return places[name]
        name = name.partition(".")[2]
    return nowhere


_CRAWL_ONLY = frozenset(
    {"detectors", "lease", "wait", "ttl"}
)  #: decide no verdict, or are told in another way


@dataclass(frozen=True, slots=True)
class Job:
    """What to read, how to judge it, and where to write it.

    Raises :class:`~dedupcrawl.errors.SettingError` for what makes no sense together.
    """

    inputs: tuple[str, ...]  #: files, globs and folders
    out: Path
    config: Config = field(default_factory=Config)
    fields: Fields = field(default_factory=Fields)
    annotate: bool = False  #: whether all rows are written, with what is said of them, or the kept ones alone
    prefer: tuple[str, ...] = ("arrival",)  #: which of several copies is kept: see ``ordering``
    against: tuple[str, ...] = ()  #: stores, and folders of earlier batches, whose pages count as kept
    update: str = ""  #: URL of a store that gets the kept fingerprints; "": none
    namespace: str | None = None  #: of these stores; None: the only one that is there
    skip_bad: bool = False  #: whether what cannot be read is left out and listed, or ends the run
    workers: int = 0  #: processes; 0: one for each core

    def __post_init__(self) -> None:
        check_prefer(self.prefer)
        if self.latest and self.prefer != ("arrival",):
            raise SettingError(
                "--prefer", ",".join(self.prefer), 'nothing beside keep = "latest": the newest page is kept'
            )
        for name, where in (*(("--against", each) for each in self.against), ("--update", self.update)):
            if where == MEMORY:
                raise SettingError(
                    name, where, "a store that outlives its process: lmdb://PATH or redis://HOST/DB"
                )
        if self.workers < 0:
            raise SettingError("--workers", self.workers, "a number of processes, or 0 for one a core")

    @property
    def latest(self) -> bool:
        """Whether the newest copy is kept, and the older ones are listed."""
        return self.config.keep == "latest"

    def rules(self) -> Rules:
        """Return what decides a verdict.

        Where the latest page is kept, an older text under its URL goes too, as it does in a crawl's store.
        """
        also = {Relation.UPDATED} if self.latest else set()
        return Rules(Matcher(build_detectors(self.config)), Policy(self.config.drop | also, "first"))

    @property
    def scheme(self) -> dict[str, dict[str, object]]:
        """What the fingerprints depend on, as stores know it."""
        return schemes(build_detectors(self.config), self.config)

    @property
    def sketches(self) -> int:
        """How many sketches a record has."""
        names = [detector.name for detector in build_detectors(self.config)]
        return len(names) + (Exact.name not in names)

    @property
    def making(self) -> str:
        """Return a digest of all that fingerprints depend on but the pages."""
        return digest((self.scheme, self.reading, asdict(self.fields), LAYOUT_VERSION, package_version()))

    @property
    def reading(self) -> dict[str, object]:
        """What a page's text depends on, beyond what stores know of."""
        return asdict(self.config.reading) | {"min_chars": self.config.min_chars}

    def _own_constants(self) -> dict[str, Any]:
        """Return the constants that single detectors were given, those that only comparing uses too."""
        chosen = self.config.detectors
        return (
            {name: _to_json(of) for name, of in chosen.items() if of} if isinstance(chosen, Mapping) else {}
        )

    def request(self) -> dict[str, Any]:
        """Return what decides the output, in JSON values; passwords are hidden."""
        constants = {
            name: _to_json(getattr(self.config, name)) for name in CONFIG_FIELDS if name not in _CRAWL_ONLY
        }
        return {
            "detectors": self.scheme,
            "constants": self._own_constants(),
            "reading": self.reading,
            "configuration": constants,
            "fields": asdict(self.fields),
            "annotate": self.annotate,
            "prefer": list(self.prefer),
            "against": [display_location(where) for where in self.against],
            "namespace": self.namespace if any(map(is_store_url, self.against)) else None,
        }


def is_store_url(where: str) -> bool:
    """Whether a user means a store, not a folder."""
    return "://" in where


def display_location(where: str) -> str:
    """Return a store's URL without its password, or a folder's whole path."""
    return hide_password(where) if is_store_url(where) else str(Path(where).resolve())


def digest(told: object) -> str:
    """Return a short name of JSON values; equal ones have the same."""
    text = json.dumps(told, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _to_json(value: object) -> object:
    """Return what JSON makes of a value."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return {str(name): _to_json(each) for name, each in value.items()}
    return [_to_json(each) for each in value] if isinstance(value, tuple | list) else value
