"""Verdicts and opinions as JSON, texts as bytes, and back."""

from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING, Any

import orjson

from dedupcrawl.detectors.base import Match, Relation
from dedupcrawl.detectors.opinion import Bar, Exhibit, Opinion
from dedupcrawl.report.entry import Held
from dedupcrawl.verdict import Status, Verdict

if TYPE_CHECKING:
    from collections.abc import Sequence

_RAW, _PACKED = b"\0", b"\1"
_WORTH_PACKING = 200  #: bytes
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


def pack(data: bytes) -> bytes:
    """Compress bytes if that makes them shorter."""
    packed = zlib.compress(data, 1) if len(data) > _WORTH_PACKING else data
    return _PACKED + packed if len(packed) < len(data) else _RAW + data


def unpack(data: bytes) -> bytes:
    """Return what :func:`pack` was given."""
    return zlib.decompress(data[1:]) if data[:1] == _PACKED else data[1:]


def pack_text(text: str) -> bytes:
    """Write a text as bytes, halves of surrogate pairs included."""
    return pack(text.encode("utf-8", "surrogatepass"))


def unpack_text(data: bytes) -> str:
    """Return what :func:`pack_text` was given."""
    return unpack(data).decode("utf-8", "surrogatepass")


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
    plain: list[list[Any]] = [
        [storable(each.url, most_url), storable(each.cluster, MOST_NAME), list(map(_opinion, each.opinions))]
        for each in held
    ]
    written = to_json(plain)
    if len(written) > MOST_OPINIONS:
        for _, _, opinions in plain:
            for opinion in opinions:
                opinion["exhibits"] = opinion["figures"] = ()
                if opinion["match"]:
                    opinion["match"][2] = {}
        written = to_json(plain)
    return pack(written)


def unpack_held(data: bytes) -> tuple[Held, ...]:
    """Return what :func:`pack_held` was given."""
    plain = json.loads(unpack(data))
    return tuple(Held(url, cluster, tuple(map(_opinion_of, opinions))) for url, cluster, opinions in plain)


def _opinion(opinion: Opinion) -> dict[str, Any]:
    match = opinion.match
    return {
        "detector": opinion.detector,
        "match": match and [match.similarity, str(match.relation), dict(match.evidence)],
        "similarity": opinion.similarity,
        "figures": dict(opinion.figures),
        "bars": [[bar.constant, bar.value, bar.found, bar.at_least] for bar in opinion.bars],
        "exhibits": [
            [each.unit, each.agreeing, each.shared, each.only_new, each.only_old] for each in opinion.exhibits
        ],
        "silent": opinion.silent,
    }


def _opinion_of(plain: dict[str, Any]) -> Opinion:
    match = plain["match"]
    return Opinion(
        detector=plain["detector"],
        match=match and Match(match[0], Relation(match[1]), match[2]),
        similarity=plain["similarity"],
        figures=plain["figures"] or {},
        bars=tuple(Bar(*bar) for bar in plain["bars"]),
        exhibits=tuple(
            Exhibit(unit, agreeing, *map(tuple, rest)) for unit, agreeing, *rest in plain["exhibits"]
        ),
        silent=plain["silent"],
    )
