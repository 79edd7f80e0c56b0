"""What is noted of a page: the verdict, and the earlier pages that it was held against.

What becomes of a page, and what is remembered of it until that is known.

What a page was held against: the page that it relates to, and those that it nearly matched.

Verdicts and opinions as JSON, and back.

Where a page comes from.
"""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from dedupcrawl.decision import cluster_of
from dedupcrawl.detectors.base import Bar, Exhibit, Match, Opinion, Relation
from dedupcrawl.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from dedupcrawl.stores.base import Candidate, Record

    Compare = Callable[[Record, Record], tuple[Opinion, ...]]


@dataclass(frozen=True, slots=True)
class Comparison:
    """An earlier page that a page was held against, matched or not."""

    url: str  #: of the earlier page
    cluster: str  #: of the earlier page
    opinions: tuple[Opinion, ...]  #: one for each detector in use, in their order

    @property
    def nearest(self) -> Opinion | None:
        """The opinion with the highest similarity, of those that measured one."""
        measured = [each for each in self.opinions if each.similarity is not None]
        return max(measured, key=lambda each: each.similarity or 0.0, default=None)


@dataclass(frozen=True, slots=True)
class Entry:
    """A page of a run."""

    url: str
    time: float  #: Unix time at which it was judged, or was fetched
    verdict: Verdict
    bytes: int  #: of the body (of the text, where items are judged)
    title: str = ""
    text: str = ""  #: main text; "" where there is none to show
    requests: int = 0  #: that were not made since it was dropped
    held: tuple[Comparison, ...] = ()  #: the page that it relates to first, then near misses, nearest first


class Fate(StrEnum):
    """What became of a page."""

    OPEN = "open"  #: it was judged; its item is under way, or its crawl was killed
    KEPT = "kept"
    DROPPED = "dropped"
    RELEASED = "released"  #: a later pipeline refused its items, or a feed was not stored


@dataclass(slots=True)
class EntryHandle:
    """A page that was written down; what becomes of it is told later."""

    id: int
    host: str
    second: int  #: Unix time
    is_unchecked: bool
    cluster: str
    requests: int = 0  #: that were not made since it was dropped
    fate: Fate = Fate.OPEN


MAX_COMPARED = 8  #: pages that did not match and are weighed, the latest ones: a crowded bucket has many more
MAX_NEAR_MISSES = 3  #: near misses of one page


def select_comparisons(
    verdict: Verdict, record: Record, candidates: Sequence[Candidate], weigh: Compare, least: float
) -> tuple[Comparison, ...]:
    """Return the page that the verdict names, then near misses, the nearest first.

    Args:
        verdict: on the page.
        record: of the page.
        candidates: what it was compared with.
        weigh: says what each detector thinks of two pages.
        least: similarity of a near miss, by the detector to which the two look most alike.
    """
    named = [each for each in candidates if verdict.of is not None and each.record.url == verdict.of]
    others = [each for each in candidates if each not in named and cluster_of(each.record) != verdict.cluster]
    related = _compared(named, record, weigh)
    if len(related) > 1:
        related.sort(key=lambda held: _match_rank(held, verdict), reverse=True)
    if not others:
        return tuple(related[:1])
    missed = [held for held in _compared(others[-MAX_COMPARED:], record, weigh) if _is_near(held, least)]
    missed.sort(key=_similarity, reverse=True)
    return (*related[:1], *missed[:MAX_NEAR_MISSES])


def _compared(candidates: Iterable[Candidate], new: Record, weigh: Compare) -> list[Comparison]:
    return [
        Comparison(each.record.url, cluster_of(each.record), weigh(new, each.record)) for each in candidates
    ]


def _match_rank(held: Comparison, verdict: Verdict) -> tuple[bool, float]:
    """Tell which of several versions of a page the verdict means."""
    decided = any(each.match is not None and each.detector == verdict.detector for each in held.opinions)
    return decided, _similarity(held)


def _is_near(held: Comparison, least: float) -> bool:
    return _similarity(held) >= least and not any(each.match for each in held.opinions)


def _similarity(held: Comparison) -> float:
    nearest = held.nearest
    return -1.0 if nearest is None or nearest.similarity is None else nearest.similarity


_BAR_FIELDS = tuple(each.name for each in fields(Bar))
_EXHIBIT_FIELDS = tuple(each.name for each in fields(Exhibit))
MAX_NAME_CHARS = 255  #: characters of a host or a cluster
MAX_EVIDENCE_BYTES = 16_384  #: bytes of JSON; a word that a page made up may be as long as the page
MAX_OPINIONS_BYTES = 65_536  #: the same


def storable(text: str, most: int) -> str:
    """Cut a text, and replace what cannot be written as UTF-8: halves of surrogate pairs."""
    text = text[:most]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def dump_json(value: object) -> bytes:
    """Write plain values as JSON, odd ones (halves of surrogate pairs, long integers) included."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, default=str).encode()


def dump_verdict(verdict: Verdict, most_url: int) -> str:
    """Write all of a verdict but the URL of its page."""
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
    """Read a verdict."""
    plain = json.loads(written)
    relation = plain.pop("relation", None)
    status = Status(plain.pop("status"))
    return Verdict(url=url, status=status, relation=Relation(relation) if relation else None, **plain)


def dump_comparisons(held: Sequence[Comparison], most_url: int) -> bytes:
    """Write the pages that a page was held against; exhibits go when they are out of proportion."""
    written = dump_json([_comparison_to_json(each, most_url) for each in held])
    if len(written) > MAX_OPINIONS_BYTES:
        written = dump_json([_comparison_to_json(each, most_url, _without_exhibits) for each in held])
    return zlib.compress(written, 1)


def load_comparisons(data: bytes) -> tuple[Comparison, ...]:
    """Return what :func:`pack_held` was given."""
    plain = json.loads(zlib.decompress(data))
    return tuple(
        Comparison(url, cluster, tuple(map(_opinion_from_json, opinions))) for url, cluster, opinions in plain
    )


def _comparison_to_json(
    held: Comparison, most_url: int, reduce: Callable[[Opinion], Opinion] | None = None
) -> list[object]:
    opinions = map(reduce, held.opinions) if reduce else held.opinions
    return [
        storable(held.url, most_url),
        storable(held.cluster, MAX_NAME_CHARS),
        list(map(_opinion_to_json, opinions)),
    ]


def _without_exhibits(opinion: Opinion) -> Opinion:
    """Leave the numbers: what makes an opinion long are words of the page."""
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


def _opinion_from_json(plain: dict[str, Any]) -> Opinion:
    match = plain["match"]
    return Opinion(
        detector=plain["detector"],
        match=match and Match(match[0], Relation(match[1]), match[2]),
        similarity=plain["similarity"],
        figures=plain["figures"],
        bars=tuple(Bar(*bar) for bar in plain["bars"]),
        part_bars=tuple(Bar(*bar) for bar in plain["part_bars"]),
        exhibits=tuple(_exhibit_from_json(each) for each in plain["exhibits"]),
        silent=plain["silent"],
    )


def _exhibit_from_json(values: list[Any]) -> Exhibit:
    unit, agreeing, *elements = values
    return Exhibit(unit, agreeing, *map(tuple, elements))


NO_HOST = ""  #: stands for all hosts that are not counted one by one, and for pages without any


def host_of(url: str) -> str:
    """Return host and port of a URL in lower case, without user and password; "" if it has none."""
    try:
        place = urlsplit(url).netloc
    except ValueError:  # a bracket that is not closed
        return ""
    return storable(place.rpartition("@")[2].lower(), MAX_NAME_CHARS)
