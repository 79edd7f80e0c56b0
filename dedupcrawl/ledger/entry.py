"""What a ledger stores about a page: the verdict, its fate, and the earlier pages that it was compared with.

Also the JSON form of verdicts and opinions, and the choice of near misses.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.decision import Status, Verdict, cluster_of
from dedupcrawl.detectors.base import Bar, Exhibit, Match, Opinion, Relation
from dedupcrawl.sites import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dedupcrawl.stores.base import Candidate, Record

    Compare = Callable[[Record, Record], tuple[Opinion, ...]]

NO_HOST = ""  #: stands for pages without a host, and for all hosts beyond the limit of a ledger
MAX_COMPARED = 8  #: unmatched candidates that are compared again, the newest: a crowded bucket has many
MAX_NEAR_MISSES = 3  #: near misses stored with a page
MAX_NAME_CHARS = 255  #: characters of a host or cluster name
MAX_EVIDENCE_BYTES = 16_384  #: JSON of a verdict; longer evidence is not stored: it can quote a page
MAX_OPINIONS_BYTES = 65_536  #: JSON of all comparisons of a page; exhibits are left out of longer ones
_BAR_FIELDS = tuple(each.name for each in fields(Bar))
_EXHIBIT_FIELDS = tuple(each.name for each in fields(Exhibit))


class Fate(StrEnum):
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
    opinions: tuple[Opinion, ...]  #: one for each detector, in their order

    @property
    def nearest(self) -> Opinion | None:
        """The opinion with the highest similarity; None if no detector measured one."""
        measured = [each for each in self.opinions if each.similarity is not None]
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
    comparisons: tuple[Comparison, ...] = ()  #: the related page first, then near misses, most similar first


@dataclass(slots=True)
class EntryHandle:
    """A page in the ledger; identifies it in later updates."""

    id: int
    host: str
    second: int  #: Unix time
    is_unchecked: bool
    cluster: str
    requests: int = 0  #: requests that were not made because the page was dropped
    fate: Fate = Fate.OPEN


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
        compare: returns the opinions of all detectors on a new and an earlier page.
        least: lowest similarity of a near miss, from 0 to 1.
    """
    named = [each for each in candidates if verdict.of is not None and each.record.url == verdict.of]
    others = [each for each in candidates if each not in named and cluster_of(each.record) != verdict.cluster]

    def compared(earlier: Sequence[Candidate]) -> list[Comparison]:
        found = ((each.record, compare(record, each.record)) for each in earlier)
        return [Comparison(old.url, cluster_of(old), opinions) for old, opinions in found]

    related = compared(named)
    if len(related) > 1:
        related.sort(key=lambda each: _match_rank(each, verdict), reverse=True)
    missed = [each for each in compared(others[-MAX_COMPARED:]) if _is_near(each, least)]
    missed.sort(key=_similarity, reverse=True)
    return (*related[:1], *missed[:MAX_NEAR_MISSES])


def _match_rank(comparison: Comparison, verdict: Verdict) -> tuple[bool, float]:
    """Rank the versions of one URL: the version that the deciding detector matched ranks first."""
    opinions = comparison.opinions
    decided = any(each.match is not None and each.detector == verdict.detector for each in opinions)
    return decided, _similarity(comparison)


def _is_near(comparison: Comparison, least: float) -> bool:
    return _similarity(comparison) >= least and not any(each.match for each in comparison.opinions)


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
    if len(written) > MAX_OPINIONS_BYTES:
        bare = (replace(each, opinions=tuple(map(_without_exhibits, each.opinions))) for each in comparisons)
        written = dump_json([_comparison_to_json(each, most_url) for each in bare])
    return zlib.compress(written, 1)


def load_comparisons(data: bytes) -> tuple[Comparison, ...]:
    """Decode what :func:`dump_comparisons` encoded."""
    plain = json.loads(zlib.decompress(data))
    return tuple(Comparison(url, cluster, tuple(map(_load_opinion, of))) for url, cluster, of in plain)


def _comparison_to_json(comparison: Comparison, most_url: int) -> list[object]:
    cluster = storable(comparison.cluster, MAX_NAME_CHARS)
    return [storable(comparison.url, most_url), cluster, list(map(_opinion_to_json, comparison.opinions))]


def _without_exhibits(opinion: Opinion) -> Opinion:
    """Keep the numbers only: words of the page make an opinion long."""
    match = opinion.match and replace(opinion.match, evidence={})
    return replace(opinion, exhibits=(), figures={}, match=match)


def _opinion_to_json(opinion: Opinion) -> dict[str, object]:
    match = opinion.match
    return {
        "detector": opinion.detector,
        "match": match and [match.similarity, str(match.relation), dict(match.evidence)],
        "similarity": opinion.similarity,
        "figures": dict(opinion.figures),
        "bars": _field_values(opinion.bars, _BAR_FIELDS),
        "part_bars": _field_values(opinion.part_bars, _BAR_FIELDS),
        "exhibits": _field_values(opinion.exhibits, _EXHIBIT_FIELDS),
        "silent": opinion.silent,
    }


def _field_values(things: Sequence[object], names: Sequence[str]) -> list[list[object]]:
    return [[getattr(each, name) for name in names] for each in things]


def _load_opinion(plain: dict[str, Any]) -> Opinion:
    match = plain["match"]
    return Opinion(
        **plain
        | {
            "match": match and Match(match[0], Relation(match[1]), match[2]),
            "bars": tuple(Bar(*bar) for bar in plain["bars"]),
            "part_bars": tuple(Bar(*bar) for bar in plain["part_bars"]),
            "exhibits": tuple(_load_exhibit(each) for each in plain["exhibits"]),
        }
    )


def _load_exhibit(values: list[Any]) -> Exhibit:
    unit, agreeing, *elements = values
    return Exhibit(unit, agreeing, *map(tuple, elements))
