"""Verdicts and opinions as JSON, and back."""

from __future__ import annotations

import json
import zlib
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.detectors.base import Bar, Exhibit, Match, Opinion, Relation
from dedupcrawl.report.entry import Held
from dedupcrawl.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BAR = tuple(each.name for each in fields(Bar))
_EXHIBIT = tuple(each.name for each in fields(Exhibit))
MOST_NAME = 255  #: characters of a host or a cluster
MOST_EVIDENCE = 16_384  #: bytes of JSON; a word that a page made up may be as long as the page
MOST_OPINIONS = 65_536  #: the same


def storable(text: str, most: int) -> str:
    """Cut a text, and replace what cannot be written as UTF-8: halves of surrogate pairs."""
    text = text[:most]
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def to_json(value: object) -> bytes:
    """Write plain values as JSON, odd ones (halves of surrogate pairs, long integers) included."""
    try:
        return orjson.dumps(value)
    except TypeError:
        return json.dumps(value, default=str).encode()


def verdict_json(verdict: Verdict, most_url: int) -> str:
    """Write all of a verdict but the URL of its page."""
    plain = verdict.to_dict()
    del plain["url"]
    for name in ("of", "supersedes"):
        if name in plain:
            plain[name] = storable(str(plain[name]), most_url)
    written = to_json(plain)
    if len(written) > MOST_EVIDENCE:
        written = to_json({name: value for name, value in plain.items() if name != "evidence"})
    return written.decode()


def verdict_of(url: str, written: str) -> Verdict:
    """Read a verdict."""
    plain = json.loads(written)
    relation = plain.pop("relation", None)
    status = Status(plain.pop("status"))
    return Verdict(url=url, status=status, relation=Relation(relation) if relation else None, **plain)


def pack_held(held: Sequence[Held], most_url: int) -> bytes:
    """Write the pages that a page was held against; exhibits go when they are out of proportion."""
    written = to_json([_plain(each, most_url) for each in held])
    if len(written) > MOST_OPINIONS:
        written = to_json([_plain(each, most_url, _without_exhibits) for each in held])
    return zlib.compress(written, 1)


def unpack_held(data: bytes) -> tuple[Held, ...]:
    """Return what :func:`pack_held` was given."""
    plain = json.loads(zlib.decompress(data))
    return tuple(Held(url, cluster, tuple(map(_opinion_of, opinions))) for url, cluster, opinions in plain)


def _plain(held: Held, most_url: int, reduce: Callable[[Opinion], Opinion] | None = None) -> list[object]:
    opinions = map(reduce, held.opinions) if reduce else held.opinions
    return [storable(held.url, most_url), storable(held.cluster, MOST_NAME), list(map(_opinion, opinions))]


def _without_exhibits(opinion: Opinion) -> Opinion:
    """Leave the numbers: what makes an opinion long are words of the page."""
    match = opinion.match and replace(opinion.match, evidence={})
    return replace(opinion, exhibits=(), figures={}, match=match)


def _opinion(opinion: Opinion) -> dict[str, object]:
    match = opinion.match
    return {
        "detector": opinion.detector,
        "match": match and [match.similarity, str(match.relation), dict(match.evidence)],
        "similarity": opinion.similarity,
        "figures": dict(opinion.figures),
        "bars": _rows(opinion.bars, _BAR),
        "part_bars": _rows(opinion.part_bars, _BAR),
        "exhibits": _rows(opinion.exhibits, _EXHIBIT),
        "silent": opinion.silent,
    }


def _rows(things: Sequence[object], names: Sequence[str]) -> list[list[object]]:
    return [[getattr(each, name) for name in names] for each in things]


def _opinion_of(plain: dict[str, Any]) -> Opinion:
    match = plain["match"]
    return Opinion(
        detector=plain["detector"],
        match=match and Match(match[0], Relation(match[1]), match[2]),
        similarity=plain["similarity"],
        figures=plain["figures"],
        bars=tuple(Bar(*bar) for bar in plain["bars"]),
        part_bars=tuple(Bar(*bar) for bar in plain["part_bars"]),
        exhibits=tuple(_exhibit_of(each) for each in plain["exhibits"]),
        silent=plain["silent"],
    )


def _exhibit_of(values: list[Any]) -> Exhibit:
    unit, agreeing, *elements = values
    return Exhibit(unit, agreeing, *map(tuple, elements))
