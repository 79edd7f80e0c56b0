"""All that a run over a corpus is told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from dedupcrawl.batch.formats.base import Fields
from dedupcrawl.batch.ordering import check_prefer
from dedupcrawl.batch.schema import VERSION
from dedupcrawl.batch.solving import Rules
from dedupcrawl.config import CONFIG_FIELDS, Config
from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import SettingError
from dedupcrawl.formatting import hide_password
from dedupcrawl.judging import Judge
from dedupcrawl.policy import Policy
from dedupcrawl.stores.opening import MEMORY
from dedupcrawl.version import our_version

if TYPE_CHECKING:
    from typing import Any

_OF_A_CRAWL = frozenset(
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
        return Rules(Judge(build_detectors(self.config)), Policy(self.config.drop | also, "first"))

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
        return digest((self.scheme, self.reading, asdict(self.fields), VERSION, our_version()))

    @property
    def reading(self) -> dict[str, object]:
        """What a page's text depends on, beyond what stores know of."""
        return asdict(self.config.reading) | {"min_chars": self.config.min_chars}

    def _own_constants(self) -> dict[str, Any]:
        """Return the constants that single detectors were given, those that only comparing uses too."""
        chosen = self.config.detectors
        return {name: _plain(of) for name, of in chosen.items() if of} if isinstance(chosen, Mapping) else {}

    def request(self) -> dict[str, Any]:
        """Return what decides the output, in JSON values; passwords are hidden."""
        constants = {
            name: _plain(getattr(self.config, name)) for name in CONFIG_FIELDS if name not in _OF_A_CRAWL
        }
        return {
            "detectors": self.scheme,
            "constants": self._own_constants(),
            "reading": self.reading,
            "configuration": constants,
            "fields": asdict(self.fields),
            "annotate": self.annotate,
            "prefer": list(self.prefer),
            "against": [shown(where) for where in self.against],
            "namespace": self.namespace if any(map(is_store, self.against)) else None,
        }


def is_store(where: str) -> bool:
    """Whether a user means a store, not a folder."""
    return "://" in where


def shown(where: str) -> str:
    """Return a store's URL without its password, or a folder's whole path."""
    return hide_password(where) if is_store(where) else str(Path(where).resolve())


def digest(told: object) -> str:
    """Return a short name of JSON values; equal ones have the same."""
    text = json.dumps(told, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def _plain(value: object) -> object:
    """Return what JSON makes of a value."""
    if isinstance(value, AbstractSet):
        return sorted(value, key=str)
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, tuple | list) else value
