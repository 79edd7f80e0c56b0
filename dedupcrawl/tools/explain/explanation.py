"""An explanation of a verdict, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from dedupcrawl.decision import cluster_of
from dedupcrawl.tools.explain.case import ClusterScan

if TYPE_CHECKING:
    from dedupcrawl.decision import Verdict
    from dedupcrawl.detectors.base import Exhibit, Opinion
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Candidate, ClaimState, Record
    from dedupcrawl.tools.explain.case import ComparedPage, ComparedPair
    from dedupcrawl.tools.explain.configuration import EffectiveConstant
    from dedupcrawl.tools.explain.counterfactuals import Counterfactual


@dataclass(frozen=True, slots=True)
class ListedMember:
    """A page of a cluster, as listed in a run."""

    url: str
    fate: str
    time: float  #: Unix time


@dataclass(frozen=True, slots=True)
class PastVerdict:
    """The verdict of a run on the page."""

    verdict: Verdict
    fate: str  #: "kept", "dropped", …
    time: float  #: Unix time
    cluster: tuple[ListedMember, ...] = ()  #: the pages of the cluster in the run


@dataclass(frozen=True, slots=True)
class Subject:
    """The page to explain: read just now, or a record of the store."""

    url: str
    origin: str  #: where the page comes from, in words
    page: Page | Verdict | None = None  #: a verdict if the page was read and cannot be judged
    held: Candidate | None = None  #: its record in the store
    then: PastVerdict | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why a page has its verdict."""

    url: str
    origin: str  #: where the page comes from, in words
    verdict: Verdict  #: judged by the earlier pages that are in the store now
    held: Candidate | None  #: its record in the store
    length: int | None  #: characters of the normalised text; None: unknown
    silent: tuple[str, ...]  #: detectors that have no fingerprint of it
    pair: ComparedPair | None
    counterfactuals: tuple[Counterfactual, ...]  #: single constants that change the verdict on the pair's new page
    together: tuple[Counterfactual, ...]  #: several constants at once, if no single one of a detector suffices
    constants: tuple[EffectiveConstant, ...]
    remarks: tuple[str, ...] = ()
    then: PastVerdict | None = None
    record: Record | None = None  #: None: it has no fingerprint
    met: int = 0  #: records in the store that share a key with it
    cluster: str | None = None
    scan: ClusterScan = field(default_factory=lambda: ClusterScan(()))

    def as_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "url": self.url,
            "origin": self.origin,
            "verdict": self.verdict.to_dict(),
            "then": _then(self.then) if self.then else None,
            "record": None if self.record is None else self._record(self.record),
            "pair": None if self.pair is None else _pair(self.pair),
            "cluster": None if self.cluster is None else self._cluster(self.cluster),
            "levers": [each.as_dict() for each in self.counterfactuals],
            "together": [each.as_dict() for each in self.together],
            "premises": [each.as_dict() for each in self.constants],
            "remarks": list(self.remarks),
        }

    def _record(self, record: Record) -> dict[str, Any]:
        return {
            "seen": iso_time(record.seen),
            "in_store": self.held is not None,
            "state": state_name(self.held.state if self.held else None),
            "keys": [key.hex() for key in record.keys],
            "length": self.length,
            "silent": list(self.silent),
            "met": self.met,
        }

    def _cluster(self, name: str) -> dict[str, Any]:
        pages = [
            {
                "url": each.record.url,
                "seen": iso_time(each.record.seen),
                "state": state_name(each.state),
                "founder": cluster_of(each.record) == name and not each.record.cluster,
            }
            for each in self.scan.members
        ]
        return {"name": name, "pages": pages, "looked_through": self.scan.scanned}


def iso_time(time: float) -> str:
    """Return a Unix time in UTC.

    >>> iso_time(0)
    '1970-01-01 00:00:00+00:00'
    """
    return datetime.fromtimestamp(time, UTC).isoformat(" ", "seconds")


def state_name(state: ClaimState | None) -> str:
    """Return the state of a record in lower case; "" for a page that is not in the store."""
    return "" if state is None else state.name.lower()


def opinion_as_dict(opinion: Opinion) -> dict[str, Any]:
    """Return plain JSON values."""
    match = opinion.match
    return {
        "detector": opinion.detector,
        "relation": None if match is None else str(match.relation),
        "similarity": opinion.similarity,
        "silent": opinion.silent or None,
        "bars": [{**asdict(bar), "is_met": bar.is_met} for bar in opinion.bars],
        "part_bars": [{**asdict(bar), "is_met": bar.is_met} for bar in opinion.part_bars],
        "figures": dict(opinion.figures),
        "exhibits": [_exhibit(exhibit) for exhibit in opinion.exhibits],
    }


def _exhibit(exhibit: Exhibit) -> dict[str, Any]:
    values = asdict(exhibit)
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _pair(pair: ComparedPair) -> dict[str, Any]:
    return {
        "new": _side(pair.new),
        "old": _side(pair.old),
        "why": str(pair.why),
        "shared_keys": pair.shared,
        "met": pair.met,
        "verdict": pair.verdict.to_dict(),
        "opinions": [opinion_as_dict(opinion) for opinion in pair.opinions],
        "identities": None if pair.identities is None else pair.identities.as_dict(),
    }


def _side(side: ComparedPage) -> dict[str, Any]:
    return {"url": side.url, "seen": iso_time(side.record.seen), "state": state_name(side.state) or None}


def _then(then: PastVerdict) -> dict[str, Any]:
    return {
        "verdict": then.verdict.to_dict(),
        "fate": then.fate,
        "time": iso_time(then.time),
        "cluster": [{**asdict(each), "time": iso_time(each.time)} for each in then.cluster],
    }
