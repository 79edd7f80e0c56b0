"""Several detectors combined into one: all of them must match, or any."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar, cast

from dedupcrawl.detectors.base import Detector, Fingerprint, Match, Opinion, Relation, no_opinion
from dedupcrawl.detectors.random_projection import RandomProjection
from dedupcrawl.detectors.shingling import Shingling
from dedupcrawl.errors import DamageError, SettingError
from dedupcrawl.page.document import check_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.detectors.base import Bar
    from dedupcrawl.text.features import Features

_TAG = 0x43
_MAX_MEMBERS = 16  #: highest number of members, ample for all detectors
_WEAKEST_FIRST = (  # the order of relations by strength
    Relation.UPDATED,
    Relation.EXCERPT,
    Relation.EXPANSION,
    Relation.NEAR_DUPLICATE,
    Relation.IDENTICAL,
    Relation.UNCHANGED,
)


@dataclass(frozen=True)
class Combined(Detector):
    """``all_of`` or ``any_of`` other detectors; by default all of ``shingling`` and ``random_projection``.

    Henzinger (*Finding near-duplicate web pages: a large-scale evaluation of algorithms*, SIGIR 2006)
    accepted only the pairs that both methods find.

    ``all_of``: Two pages match if they match for every member. The result is the weakest match, by relation
    and then by similarity. Such a pair also matches for the first member, so its keys suffice: name the
    member with the fewest keys first. A page has a fingerprint if it has one of every member.

    ``any_of``: Two pages match if they match for any member. The result is the strongest match. The keys are
    those of all members that have a fingerprint of the page, prefixed with the position of the member.

    Sketch, little-endian: ``B`` tag 0x43, ``I`` for the length of each member's sketch (0: none), then the
    sketches.
    """

    name: ClassVar[str] = "combined"
    all_of: tuple[Detector, ...] | None = None  #: 2 to 16 members that must all match
    any_of: tuple[Detector, ...] | None = None  #: 2 to 16 members, any of which must match

    def __post_init__(self) -> None:
        if self.all_of is None and self.any_of is None:
            object.__setattr__(self, "all_of", (Shingling(), RandomProjection()))
        if self.all_of is not None and self.any_of is not None:
            raise SettingError("detectors['combined']", self._rules(), "either all_of or any_of")
        for rule, names in self._rules().items():
            if not 2 <= len(names) <= _MAX_MEMBERS or len(set(names)) != len(names):
                accepted = f"from 2 to {_MAX_MEMBERS} detectors, each name once"
                raise SettingError(f"detectors['combined'].{rule}", names, accepted)

    @property
    def members(self) -> tuple[Detector, ...]:
        """The detectors in the order of the setting."""
        return (self.all_of or ()) + (self.any_of or ())

    def fingerprint(self, features: Features) -> Fingerprint | None:
        found: list[Fingerprint | None] = []
        for member in self.members:
            check_time()
            found.append(member.fingerprint(features))
            if self.all_of and found[-1] is None:
                return None
        present = {i: one for i, one in enumerate(found) if one}
        if not present:
            return None
        sketches = [one.sketch if one else b"" for one in found]
        sketch = struct.pack(f"<B{len(sketches)}I", _TAG, *map(len, sketches)) + b"".join(sketches)
        if self.all_of:
            return present[0]._replace(sketch=sketch)
        keys = _prefix_keys({i: one.keys for i, one in present.items()})
        probes = _prefix_keys({i: one.keys if one.probes is None else one.probes for i, one in present.items()})
        return Fingerprint(keys, sketch, None if probes == keys else probes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        matches: dict[str, Match] = {}
        for member, new_part, old_part in zip(self.members, self._read(new), self._read(old), strict=True):
            try:
                match = member.compare(new_part, old_part) if new_part and old_part else None
            except DamageError as error:
                raise self.sketch_error(old) from error
            if match is not None:
                matches[member.name] = match
            elif self.all_of:
                return None
        if not matches:
            return None
        decisive = (min if self.all_of else max)(matches.values(), key=_strength)
        evidence = {name: _match_evidence(match) for name, match in matches.items()}
        return Match(decisive.similarity, decisive.relation, evidence)

    def assess(self, new: bytes, old: bytes) -> Opinion:
        """Assess the pair with every member. Bars and exhibits carry the names of the members.

        ``any_of`` has the bars of the member with the strongest match. Without a match it has those of all
        members, because each of them would suffice.
        """
        match = self.compare(new, old)
        parts = zip(self.members, self._read(new), self._read(old), strict=True)
        opinions = [
            member.assess(*sketches) if all(sketches) else no_opinion(member.name, *sketches)
            for member, *sketches in parts
        ]
        known = [opinion for opinion in opinions if not opinion.silent]
        if not known or (self.all_of and len(known) < len(opinions)):
            return Opinion(self.name, None, silent="its members have no fingerprints of both pages")
        decisive = [_strongest(known)] if self.any_of and match else known
        return Opinion(
            self.name,
            match,
            match.similarity if match else self._similarity(known),
            {opinion.detector: _opinion_evidence(opinion) for opinion in opinions},
            tuple(bar for opinion in decisive for bar in _member_bars(opinion.detector, opinion.bars)),
            tuple(
                replace(exhibit, unit=f"{exhibit.unit} ({opinion.detector})")
                for opinion in known
                for exhibit in opinion.exhibits
            ),
            part_bars=_member_part_bars(decisive),
        )

    def scheme(self) -> Mapping[str, object]:
        schemes = {member.name: dict(member.scheme()) for member in self.members}
        return {"version": 1, **self._rules(), "members": schemes}

    def _rules(self) -> dict[str, list[str]]:
        """Return the names of the members."""
        rules = {"all_of": self.all_of, "any_of": self.any_of}
        return {rule: [member.name for member in members] for rule, members in rules.items() if members is not None}

    def _similarity(self, opinions: list[Opinion]) -> float | None:
        """Return the similarity of a pair that does not match, or ``None``."""
        found = [opinion.similarity for opinion in opinions if opinion.similarity is not None]
        if self.all_of:
            return min(found) if len(found) == len(opinions) else None
        return max(found, default=None)

    def _read(self, sketch: bytes) -> list[bytes]:
        head = struct.Struct(f"<B{len(self.members)}I")
        if len(sketch) < head.size or sketch[0] != _TAG:
            raise self.sketch_error(sketch)
        _, *lengths = head.unpack_from(sketch)
        bounds = list(accumulate(lengths, initial=head.size))
        if bounds[-1] != len(sketch):
            raise self.sketch_error(sketch)
        return [sketch[start:stop] for start, stop in pairwise(bounds)]


def _prefix_keys(keys: Mapping[int, tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """Prefix keys with the position of their member, so that keys of different members differ."""
    return tuple(bytes((i,)) + key for i, member_keys in keys.items() for key in member_keys)


def _strength(match: Match) -> tuple[int, float]:
    return _WEAKEST_FIRST.index(match.relation), match.similarity


def _match_evidence(match: Match) -> dict[str, object]:
    return {"similarity": round(match.similarity, 4), "relation": str(match.relation), **match.evidence}


def _strongest(opinions: list[Opinion]) -> Opinion:
    """Return the opinion with the strongest match; at least one has a match."""
    return max((one for one in opinions if one.match), key=lambda one: _strength(cast("Match", one.match)))


def _opinion_evidence(opinion: Opinion) -> dict[str, object]:
    """Return an opinion in the form of the evidence of a match."""
    if opinion.match:
        return _match_evidence(opinion.match)
    if opinion.silent:
        return {"silent": opinion.silent}
    measured = {} if opinion.similarity is None else {"similarity": round(opinion.similarity, 4)}
    return {**measured, **opinion.figures}


def _member_bars(member: str, bars: tuple[Bar, ...]) -> Iterator[Bar]:
    for bar in bars:
        constant = f"{member}.{bar.constant}" if bar.constant else ""
        yield replace(bar, constant=constant, measure=f"{bar.measure} ({member})")


def _member_part_bars(opinions: list[Opinion]) -> tuple[Bar, ...]:
    """Return the conditions of an excerpt or expansion; members without such conditions add their bars."""
    if not any(opinion.part_bars for opinion in opinions):
        return ()
    found: list[Bar] = []
    for opinion in opinions:
        is_near = opinion.match and opinion.match.relation is Relation.NEAR_DUPLICATE
        bars = opinion.bars if is_near or not opinion.part_bars else opinion.part_bars
        found += _member_bars(opinion.detector, bars)
    return tuple(found)
