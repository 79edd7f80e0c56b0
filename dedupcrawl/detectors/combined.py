"""Several detectors that speak as one: all of them must match, or any."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar, cast

from dedupcrawl.detectors.base import (
    Detector,
    Fingerprint,
    Match,
    Opinion,
    Relation,
    no_opinion,
    sketch_error,
)
from dedupcrawl.detectors.random_projection import RandomProjection
from dedupcrawl.detectors.shingling import Shingling
from dedupcrawl.errors import SettingError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.detectors.base import Bar, Exhibit
    from dedupcrawl.text.features import Features

_TAG = 0x43
_MAX_MEMBERS = 16  #: members: as many as anybody could name
_WEAKEST_FIRST = (
    Relation.UPDATED,
    Relation.EXCERPT,
    Relation.EXPANSION,
    Relation.NEAR_DUPLICATE,
    Relation.IDENTICAL,
    Relation.UNCHANGED,
)


@dataclass(frozen=True)
class Combined(Detector):
    """``all_of`` or ``any_of`` other detectors; without either, all of Henzinger's two.

    Henzinger (*Finding near-duplicate web pages: a large-scale evaluation of algorithms*, SIGIR 2006) let
    only those pairs stand that both shingling and random projection find.

    ``all_of``: two pages match when they do for every member; the weakest match, by its relation and then
    its similarity, is that of the whole. A match of all is one of the first member, so its keys suffice: put
    first the one whose keys are fewest. A page has a fingerprint when every member has one.
    ``any_of``: they match when they do for some member, and the strongest match is that of the whole. A page
    is filed under the keys of all members that have a fingerprint of it, each in a space of its own.

    Sketch, little-endian: ``B`` tag 0x43, the length of each member's sketch as ``I`` (0: it has none), then
    the sketches.
    """

    name: ClassVar[str] = "combined"
    all_of: tuple[Detector, ...] | None = None
    any_of: tuple[Detector, ...] | None = None

    def __post_init__(self) -> None:
        if self.all_of is None and self.any_of is None:
            object.__setattr__(self, "all_of", (Shingling(), RandomProjection()))
        if self.all_of is not None and self.any_of is not None:
            both = {rule: _names(members) for rule, members in self._rules().items()}
            raise SettingError("detectors['combined']", both, "either all_of or any_of")
        for rule, members in self._rules().items():
            names = _names(members)
            if not 2 <= len(names) <= _MAX_MEMBERS or len(set(names)) != len(names):
                accepted = f"from 2 to {_MAX_MEMBERS} detectors, each name once"
                raise SettingError(f"detectors['combined'].{rule}", names, accepted)

    @property
    def members(self) -> tuple[Detector, ...]:
        """The detectors in the order in which they were named."""
        return (self.all_of or ()) + (self.any_of or ())

    def fingerprint(self, features: Features) -> Fingerprint | None:
        """File the page under the keys of the first member, or of any."""
        found: list[Fingerprint | None] = []
        for member in self.members:
            found.append(member.fingerprint(features))
            if self.all_of and found[-1] is None:
                return None
        present = {place: one for place, one in enumerate(found) if one}
        if not present:
            return None
        sketch = _pack_sketches([one.sketch if one else b"" for one in found])
        if self.all_of:
            return replace(present[0], sketch=sketch)
        keys = _prefix_keys({place: one.keys for place, one in present.items()})
        probes = _prefix_keys(
            {place: one.keys if one.probes is None else one.probes for place, one in present.items()}
        )
        return Fingerprint(keys, sketch, None if probes == keys else probes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        """Let every member compare what it made of the two pages."""
        of_new, of_old = self._read(new), self._read(old)
        matches: dict[str, Match] = {}
        for member, its_new, its_old in zip(self.members, of_new, of_old, strict=True):
            match = self._compared(member, its_new, its_old) if its_new and its_old else None
            if match is not None:
                matches[member.name] = match
            elif self.all_of:
                return None
        if not matches:
            return None
        speaking = (min if self.all_of else max)(matches.values(), key=_strength)
        evidence = {name: _match_evidence(match) for name, match in matches.items()}
        return Match(speaking.similarity, speaking.relation, evidence)

    def weigh(self, new: bytes, old: bytes) -> Opinion:
        """Say what every member says; bars and exhibits are theirs, by their names.

        ``all_of``: the bars of all. ``any_of``: those of the member whose match is that of the whole; where
        none matches those of all, for each of them would do.
        """
        match = self.compare(new, old)
        opinions = list(self._weighed(new, old))
        heard = [each for each in opinions if not each.silent]
        if not heard or (self.all_of and len(heard) < len(opinions)):
            return Opinion(self.name, None, silent="its members have no fingerprints of both pages")
        heeded = [_strongest(heard)] if self.any_of and match else heard
        return Opinion(
            self.name,
            match,
            match.similarity if match else self._measured(heard),
            {each.detector: _opinion_evidence(each) for each in opinions},
            tuple(bar for each in heeded for bar in _member_bars(each.detector, each.bars)),
            tuple(shown for each in heard for shown in _member_exhibits(each)),
            part_bars=_member_part_bars(heeded),
        )

    def scheme(self) -> Mapping[str, object]:
        """Return the members and their schemes in order: sketches stand in it, and the first has the keys."""
        names = {rule: _names(members) for rule, members in self._rules().items()}
        return {"version": 1, **names, "members": {each.name: dict(each.scheme()) for each in self.members}}

    def _rules(self) -> dict[str, tuple[Detector, ...]]:
        rules = {"all_of": self.all_of, "any_of": self.any_of}
        return {rule: members for rule, members in rules.items() if members is not None}

    def _compared(self, member: Detector, new: bytes, old: bytes) -> Match | None:
        try:
            return member.compare(new, old)
        except StoreError as error:
            raise sketch_error(self, old) from error

    def _weighed(self, new: bytes, old: bytes) -> Iterator[Opinion]:
        for member, its_new, its_old in zip(self.members, self._read(new), self._read(old), strict=True):
            yield (
                member.weigh(its_new, its_old)
                if its_new and its_old
                else no_opinion(member.name, its_new, its_old)
            )

    def _measured(self, opinions: list[Opinion]) -> float | None:
        """Return the similarity of a pair that does not match, where it has one."""
        found = [each.similarity for each in opinions if each.similarity is not None]
        if self.all_of:
            return min(found) if len(found) == len(opinions) else None
        return max(found, default=None)

    def _read(self, sketch: bytes) -> list[bytes]:
        head = struct.Struct(f"<B{len(self.members)}I")
        if len(sketch) < head.size or sketch[0] != _TAG:
            raise sketch_error(self, sketch)
        _, *lengths = head.unpack_from(sketch)
        cuts = list(accumulate(lengths, initial=head.size))
        if cuts[-1] != len(sketch):
            raise sketch_error(self, sketch)
        return [sketch[start:stop] for start, stop in pairwise(cuts)]


def _pack_sketches(sketches: list[bytes]) -> bytes:
    head = struct.pack(f"<B{len(sketches)}I", _TAG, *map(len, sketches))
    return head + b"".join(sketches)


def _prefix_keys(keys: Mapping[int, tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """Keep the keys of each member apart from those of the others."""
    return tuple(bytes((place,)) + key for place, of_one in keys.items() for key in of_one)


def _names(members: tuple[Detector, ...]) -> list[str]:
    return [member.name for member in members]


def _strength(match: Match) -> tuple[int, float]:
    return _WEAKEST_FIRST.index(match.relation), match.similarity


def _match_evidence(match: Match) -> dict[str, object]:
    return {"similarity": round(match.similarity, 4), "relation": str(match.relation), **match.evidence}


def _strongest(opinions: list[Opinion]) -> Opinion:
    """Return the opinion with the strongest match; there is one."""
    return max(
        (each for each in opinions if each.match), key=lambda each: _strength(cast("Match", each.match))
    )


def _opinion_evidence(opinion: Opinion) -> dict[str, object]:
    """Say of an opinion what evidence says of a match."""
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
    """Name what makes a pair a part: the bars of a part of members that know parts, of others their own."""
    if not any(each.part_bars for each in opinions):
        return ()
    whole = [
        not each.part_bars or (each.match and each.match.relation is Relation.NEAR_DUPLICATE)
        for each in opinions
    ]
    pairs = zip(opinions, whole, strict=True)
    return tuple(
        bar
        for each, own in pairs
        for bar in _member_bars(each.detector, each.bars if own else each.part_bars)
    )


def _member_exhibits(opinion: Opinion) -> Iterator[Exhibit]:
    for exhibit in opinion.exhibits:
        yield replace(exhibit, unit=f"{exhibit.unit} ({opinion.detector})")
