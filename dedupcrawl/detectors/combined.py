"""Several detectors combined into one: all of them must match, or any, or one for each field of an item."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, ClassVar, cast

from dedupcrawl.detectors.base import Assessment, Detector, Fingerprint, Match, Relation, no_assessment
from dedupcrawl.detectors.random_projection import RandomProjection
from dedupcrawl.detectors.shingling import Shingling
from dedupcrawl.errors import DamageError, SettingError
from dedupcrawl.page.time_limit import check_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from dedupcrawl.detectors.base import Threshold
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
    """``all_of`` or ``any_of`` other detectors, or one for each of ``fields``.

    By default all of ``shingling`` and ``random_projection``.

    Henzinger (*Finding near-duplicate web pages: a large-scale evaluation of algorithms*, SIGIR 2006)
    accepted only the pairs that both methods find.

    ``all_of``: Two pages match if they match for every member. The result is the weakest match, by relation
    and then by similarity. Such a pair also matches for the first member, so its keys suffice: name the
    member with the fewest keys first. A page has a fingerprint if it has one of every member.

    ``any_of``: Two pages match if they match for any member. The result is the strongest match. The keys are
    those of all members that have a fingerprint of the page, prefixed with the position of the member.

    ``fields``: Two items match if each of these fields matches, by its own detector. A field that both items lack, or
    that is empty in both, does not count; one that only one of them has is no match. The result is the weakest match.
    The keys are those of the first field with a text, prefixed with its position. Only items have fields: other pages
    have no fingerprint.

    Sketch, little-endian: ``B`` tag 0x43, ``I`` for the length of each member's sketch (0: none), then the
    sketches.
    """

    name: ClassVar[str] = "combined"
    all_of: tuple[Detector, ...] | None = None  #: 2 to 16 members that must all match
    any_of: tuple[Detector, ...] | None = None  #: 2 to 16 members, any of which must match
    fields: tuple[tuple[str, Detector], ...] | None = None  #: 1 to 16 item fields, each with its detector

    def __post_init__(self) -> None:
        if self.fields is not None:
            self._check_fields(self.fields)
            return
        if self.all_of is None and self.any_of is None:
            object.__setattr__(self, "all_of", (Shingling(), RandomProjection()))
        if self.all_of is not None and self.any_of is not None:
            raise SettingError("detectors['combined']", self._rules(), "either all_of or any_of")
        for rule, names in self._rules().items():
            if not 2 <= len(names) <= _MAX_MEMBERS or len(set(names)) != len(names):
                accepted = f"from 2 to {_MAX_MEMBERS} detectors, each name once"
                raise SettingError(f"detectors['combined'].{rule}", names, accepted)

    def _check_fields(self, fields: tuple[tuple[str, Detector], ...]) -> None:
        if self.all_of is not None or self.any_of is not None:
            raise SettingError("detectors['combined']", self._rules(), "fields, all_of or any_of")
        if not 1 <= len(fields) <= _MAX_MEMBERS:
            raise SettingError("detectors['combined'].fields", dict(fields), f"from 1 to {_MAX_MEMBERS} fields")

    @property
    def members(self) -> tuple[Detector, ...]:
        """The detectors in the order of the setting."""
        return (self.all_of or ()) + (self.any_of or ()) + tuple(member for _, member in self.fields or ())

    @property
    def labels(self) -> tuple[str, ...]:
        """The name of each member, or its field."""
        return tuple(name for name, _ in self.fields or ()) or tuple(member.name for member in self.members)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        if self.fields is not None:
            return self._fingerprint_fields(features)
        found: list[Fingerprint | None] = []
        for member in self.members:
            check_time()
            found.append(member.fingerprint(features))
            if self.all_of and found[-1] is None:
                return None
        present = {i: one for i, one in enumerate(found) if one}
        if not present:
            return None
        sketch = _pack(found)
        if self.all_of:
            return present[0]._replace(sketch=sketch)
        keys = _prefix_keys({i: one.keys for i, one in present.items()})
        probes = _prefix_keys({i: one.keys if one.probes is None else one.probes for i, one in present.items()})
        return Fingerprint(keys, sketch, None if probes == keys else probes)

    def _fingerprint_fields(self, features: Features) -> Fingerprint | None:
        """Return the fingerprint of an item; None if a field with a text has none."""
        texts = dict(features.page.fields)
        found: list[Fingerprint | None] = []
        for name, member in self.fields or ():
            check_time()
            text = texts.get(name, "")
            found.append(member.fingerprint(features.features_of(text)) if text.strip() else None)
            if text.strip() and found[-1] is None:
                return None
        place = next((place for place, one in enumerate(found) if one), None)
        if place is None or (first := found[place]) is None:
            return None
        probes = None if first.probes is None else _prefix_keys({place: first.probes})
        return Fingerprint(_prefix_keys({place: first.keys}), _pack(found), probes)

    def compare(self, new: bytes, old: bytes) -> Match | None:
        matches: dict[str, Match] = {}
        for label, member, new_part, old_part in self._parts(new, old):
            try:
                match = member.compare(new_part, old_part) if new_part and old_part else None
            except DamageError as error:
                raise self.sketch_error(old) from error
            if match is not None:
                matches[label] = match
            elif not self.any_of:
                return None
        if not matches:
            return None
        decisive = (max if self.any_of else min)(matches.values(), key=_strength)
        evidence = {name: _match_evidence(match) for name, match in matches.items()}
        return Match(decisive.similarity, decisive.relation, evidence)

    def assess(self, new: bytes, old: bytes) -> Assessment:
        """Assess the pair with every member. Thresholds and evidence have the names of the members.

        ``any_of`` has the thresholds of the member with the strongest match. Without a match it has those of all
        members, because each of them would suffice.
        """
        match = self.compare(new, old)
        assessments = [
            replace(member.assess(*sketches), detector=label) if all(sketches) else no_assessment(label, *sketches)
            for label, member, *sketches in self._parts(new, old)
        ]
        known = [assessment for assessment in assessments if not assessment.silent]
        if not known or (not self.any_of and len(known) < len(assessments)):
            return Assessment(self.name, None, silent="its members have no fingerprints of both pages")
        decisive = [_strongest(known)] if self.any_of and match else known
        return Assessment(
            self.name,
            match,
            match.similarity if match else self._similarity(known),
            {assessment.detector: _assessment_evidence(assessment) for assessment in assessments},
            tuple(
                threshold
                for assessment in decisive
                for threshold in _member_thresholds(assessment.detector, assessment.thresholds)
            ),
            tuple(
                replace(piece, unit=f"{piece.unit} ({assessment.detector})")
                for assessment in known
                for piece in assessment.evidence
            ),
            part_thresholds=_member_part_thresholds(decisive),
        )

    def scheme(self) -> Mapping[str, object]:
        if self.fields is not None:
            described = {name: {one.name: dict(one.scheme())} for name, one in self.fields}
            return {"version": 1, "fields": described, "order": [name for name, _ in self.fields]}
        schemes = {member.name: dict(member.scheme()) for member in self.members}
        return {"version": 1, **self._rules(), "members": schemes}

    def _rules(self) -> dict[str, list[str]]:
        """Return the names of the members."""
        rules = {"all_of": self.all_of, "any_of": self.any_of}
        return {rule: [member.name for member in members] for rule, members in rules.items() if members is not None}

    def _similarity(self, assessments: list[Assessment]) -> float | None:
        """Return the similarity of a pair that does not match, or ``None``."""
        found = [assessment.similarity for assessment in assessments if assessment.similarity is not None]
        if not self.any_of:
            return min(found) if len(found) == len(assessments) else None
        return max(found, default=None)

    def _parts(self, new: bytes, old: bytes) -> Iterator[tuple[str, Detector, bytes, bytes]]:
        """Yield the label of each member, the member, and its two sketches; no field without a text in either item."""
        parts = zip(self.labels, self.members, self._read(new), self._read(old), strict=True)
        return (part for part in parts if self.fields is None or part[2] or part[3])

    def _read(self, sketch: bytes) -> list[bytes]:
        head = struct.Struct(f"<B{len(self.members)}I")
        if len(sketch) < head.size or sketch[0] != _TAG:
            raise self.sketch_error(sketch)
        _, *lengths = head.unpack_from(sketch)
        bounds = list(accumulate(lengths, initial=head.size))
        if bounds[-1] != len(sketch):
            raise self.sketch_error(sketch)
        return [sketch[start:stop] for start, stop in pairwise(bounds)]


def _pack(found: list[Fingerprint | None]) -> bytes:
    """Return the sketches of the members as one."""
    sketches = [one.sketch if one else b"" for one in found]
    return struct.pack(f"<B{len(sketches)}I", _TAG, *map(len, sketches)) + b"".join(sketches)


def _prefix_keys(keys: Mapping[int, tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """Prefix keys with the position of their member, so that keys of different members differ."""
    return tuple(bytes((i,)) + key for i, member_keys in keys.items() for key in member_keys)


def _strength(match: Match) -> tuple[int, float]:
    return _WEAKEST_FIRST.index(match.relation), match.similarity


def _match_evidence(match: Match) -> dict[str, object]:
    return {"similarity": round(match.similarity, 4), "relation": str(match.relation), **match.evidence}


def _strongest(assessments: list[Assessment]) -> Assessment:
    """Return the assessment with the strongest match; at least one has a match."""
    return max((one for one in assessments if one.match), key=lambda one: _strength(cast("Match", one.match)))


def _assessment_evidence(assessment: Assessment) -> dict[str, object]:
    """Return an assessment in the form of the evidence of a match."""
    if assessment.match:
        return _match_evidence(assessment.match)
    if assessment.silent:
        return {"silent": assessment.silent}
    measured = {} if assessment.similarity is None else {"similarity": round(assessment.similarity, 4)}
    return {**measured, **assessment.figures}


def _member_thresholds(member: str, thresholds: tuple[Threshold, ...]) -> Iterator[Threshold]:
    for threshold in thresholds:
        constant = f"{member}.{threshold.constant}" if threshold.constant else ""
        yield replace(threshold, constant=constant, measure=f"{threshold.measure} ({member})")


def _member_part_thresholds(assessments: list[Assessment]) -> tuple[Threshold, ...]:
    """Return the conditions of an excerpt or expansion; members without such conditions add their thresholds."""
    if not any(assessment.part_thresholds for assessment in assessments):
        return ()
    found: list[Threshold] = []
    for assessment in assessments:
        is_near = assessment.match and assessment.match.relation is Relation.NEAR_DUPLICATE
        thresholds = assessment.thresholds if is_near or not assessment.part_thresholds else assessment.part_thresholds
        found += _member_thresholds(assessment.detector, thresholds)
    return tuple(found)
