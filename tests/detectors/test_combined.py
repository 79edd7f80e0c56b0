"""Several detectors combined into one."""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from dedupcrawl.config import Config, recovered
from dedupcrawl.crawl.settings import Options
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.detectors.base import Assessment, Detector, Evidence, Fingerprint, Match, Relation, Threshold
from dedupcrawl.detectors.combined import Combined
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.detectors.feature_codes import FeatureCode
from dedupcrawl.detectors.minhash import MinHash
from dedupcrawl.detectors.random_projection import RandomProjection
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.detectors.shingling import Shingling
from dedupcrawl.errors import SettingError, StoreError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.tools.explain.configuration import constant_name, constant_value, setting_of, with_value
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from collections.abc import Mapping

TEXTS = (
    ENGLISH,
    ENGLISH + " Correspondent.",
    ENGLISH[:560],
    OTHER_ENGLISH,
    CHINESE,
    "本报讯 " + CHINESE,
    OTHER_CHINESE,
    "Ice. 冰。",
    "😀",
)


@dataclass(frozen=True)
class Saying(Detector):
    """Returns the same result for all pages; the first letter of its name is its key."""

    says: Match | None
    called: str = "one"
    here: bool = True
    sought: tuple[bytes, ...] | None = None
    name: ClassVar[str] = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", self.called)

    def fingerprint(self, features: Features) -> Fingerprint | None:
        key = self.called[:1].encode()
        return Fingerprint((key,), key * 3, self.sought) if self.here else None

    def compare(self, new: bytes, old: bytes) -> Match | None:
        return self.says

    def assess(self, new: bytes, old: bytes) -> Assessment:
        measured = self.says.similarity if self.says else 0.5
        met = Threshold("needed", 1, int(self.says is not None), at_least=True, measure="nods")
        figures = self.says.evidence if self.says else {"counted": 0}
        return Assessment(self.name, self.says, measured, figures, (met,), (Evidence("nods", "1"),))

    def scheme(self) -> Mapping[str, object]:
        return {}


NEAR = Match(0.9, Relation.NEAR_DUPLICATE, {"counted": 9})
FAR = Match(0.8, Relation.NEAR_DUPLICATE)
PART = Match(0.99, Relation.EXCERPT)
SAME = Match(1.0, Relation.IDENTICAL)


def fingerprint(detector: Detector, text: str = ENGLISH) -> Fingerprint | None:
    return detector.fingerprint(Features(Page.from_text(text)))


def said(detector: Detector) -> Match | None:
    found = fingerprint(detector)
    assert found is not None
    return detector.compare(found.sketch, found.sketch)


def built(**rules: object) -> Combined:
    (detector,) = build_detectors(Config(detectors={"combined": rules}))
    assert isinstance(detector, Combined)
    return detector


# -- by hand ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "two", "of_all", "of_any"),
    [
        (NEAR, FAR, FAR, NEAR),
        (FAR, NEAR, FAR, NEAR),
        (NEAR, PART, PART, NEAR),
        (SAME, PART, PART, SAME),
        (NEAR, None, None, NEAR),
        (None, PART, None, PART),
        (None, None, None, None),
    ],
)
def test_the_weakest_speaks_for_all_and_the_strongest_for_any(
    one: Match | None, two: Match | None, of_all: Match | None, of_any: Match | None
) -> None:
    members = (Saying(one, "one"), Saying(two, "two"))
    for detector, expected in ((Combined(all_of=members), of_all), (Combined(any_of=members), of_any)):
        match = said(detector)
        if expected is None:
            assert match is None
        else:
            assert match is not None
            assert (match.similarity, match.relation) == (expected.similarity, expected.relation)


def test_evidence_is_that_of_the_members_by_name() -> None:
    members = (Saying(NEAR, "one"), Saying(PART, "two"))
    match = said(Combined(all_of=members))
    assert match is not None
    assert match.evidence == {
        "one": {"similarity": 0.9, "relation": "near-duplicate", "counted": 9},
        "two": {"similarity": 0.99, "relation": "excerpt"},
    }
    assert json.loads(json.dumps(match.evidence)) == match.evidence


def test_all_of_has_the_keys_of_the_first_member() -> None:
    one, two = Saying(NEAR, "one", sought=(b"x", b"y")), Saying(NEAR, "two")
    assert fingerprint(Combined(all_of=(one, two))) == Fingerprint(
        (b"o",), b"\x43\x03\0\0\0\x03\0\0\0ooottt", (b"x", b"y")
    )
    assert fingerprint(Combined(all_of=(two, one))) == Fingerprint((b"t",), b"\x43\x03\0\0\0\x03\0\0\0tttooo", None)


def test_any_of_has_the_keys_of_every_member_with_a_prefix() -> None:
    one, two = Saying(NEAR, "one"), Saying(NEAR, "other")
    found = fingerprint(Combined(any_of=(one, two)))
    assert found == Fingerprint((b"\0o", b"\1o"), b"\x43\x03\0\0\0\x03\0\0\0oooooo")
    looking = fingerprint(Combined(any_of=(Saying(NEAR, "one", sought=(b"x",)), two)))
    assert looking is not None
    assert looking.keys == (b"\0o", b"\1o")
    assert looking.probes == (b"\0x", b"\1o")


def test_a_member_without_fingerprint() -> None:
    here, away = Saying(NEAR, "here"), Saying(SAME, "away", here=False)
    assert fingerprint(Combined(all_of=(here, away))) is None
    assert fingerprint(Combined(any_of=(away, Saying(SAME, "gone", here=False)))) is None
    match = said(Combined(any_of=(away, here)))
    assert match is not None
    assert match.similarity == 0.9
    assert list(match.evidence) == ["here"]


def weighed(detector: Detector) -> Assessment:
    found = fingerprint(detector)
    assert found is not None
    return detector.assess(found.sketch, found.sketch)


def test_all_of_has_the_thresholds_of_every_member_and_the_lowest_similarity() -> None:
    assessment = weighed(Combined(all_of=(Saying(NEAR, "one"), Saying(None, "two"))))
    assert assessment.match is None
    assert assessment.similarity == 0.5
    assert [(threshold.constant, threshold.measure, threshold.is_met) for threshold in assessment.thresholds] == [
        ("one.needed", "nods (one)", True),
        ("two.needed", "nods (two)", False),
    ]
    assert [piece.unit for piece in assessment.evidence] == ["nods (one)", "nods (two)"]
    assert assessment.figures == {
        "one": {"similarity": 0.9, "relation": "near-duplicate", "counted": 9},
        "two": {"similarity": 0.5, "counted": 0},
    }


def test_any_of_has_the_thresholds_of_the_decisive_member_or_of_all_without_a_match() -> None:
    assessment = weighed(Combined(any_of=(Saying(None, "one"), Saying(FAR, "two"), Saying(NEAR, "three"))))
    assert assessment.match is not None
    assert assessment.similarity == 0.9
    assert [threshold.constant for threshold in assessment.thresholds] == ["three.needed"]
    assessment = weighed(Combined(any_of=(Saying(None, "one"), Saying(None, "two"))))
    assert assessment.match is None
    assert [threshold.constant for threshold in assessment.thresholds] == ["one.needed", "two.needed"]


def test_members_that_have_no_two_fingerprints_are_silent() -> None:
    here, away = Saying(NEAR, "here"), Saying(SAME, "away", here=False)
    assessment = weighed(Combined(any_of=(away, here)))
    assert assessment.figures["away"] == {"silent": "neither page has a fingerprint"}
    assert [threshold.constant for threshold in assessment.thresholds] == ["here.needed"]
    only_one, only_other = (
        Combined(any_of=(Saying(NEAR, "one", here=place), Saying(NEAR, "two", here=not place)))
        for place in (True, False)
    )
    of_one, of_other = fingerprint(only_one), fingerprint(only_other)
    assert of_one is not None
    assert of_other is not None
    silent = only_one.assess(of_one.sketch, of_other.sketch)
    assert silent.silent == "its members have no fingerprints of both pages"
    assert not silent.thresholds


# -- against the members ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "members", [(Shingling(), RandomProjection()), (MinHash(), FeatureCode(), Exact()), (FeatureCode(), MinHash())]
)
def test_what_all_or_any_find_is_what_the_members_find(members: tuple[Detector, ...]) -> None:
    of_all, of_any = Combined(all_of=members), Combined(any_of=members)
    for new, old in itertools.product(TEXTS, repeat=2):
        matches = [compared(member, new, old) for member in members]
        assert (compared(of_all, new, old) is not None) == all(matches)
        assert (compared(of_any, new, old) is not None) == any(matches)
        if all(matches):
            assert meet(of_all, new, old)
        if any(match and meet(each, new, old) for each, match in zip(members, matches, strict=True)):
            assert meet(of_any, new, old)


def compared(detector: Detector, new: str, old: str) -> Match | None:
    of_new, of_old = fingerprint(detector, new), fingerprint(detector, old)
    return detector.compare(of_new.sketch, of_old.sketch) if of_new and of_old else None


def meet(detector: Detector, new: str, old: str) -> bool:
    of_new, of_old = fingerprint(detector, new), fingerprint(detector, old)
    assert of_new is not None
    assert of_old is not None
    return not set(of_new.keys if of_new.probes is None else of_new.probes).isdisjoint(of_old.keys)


# -- a user's choice ----------------------------------------------------------------------------


def test_without_a_rule_they_are_henzingers() -> None:
    assert Combined() == Combined(all_of=(Shingling(), RandomProjection())) == built()
    (named,) = build_detectors(Config(detectors=["combined"], seed=4))
    assert named == Combined(all_of=(Shingling(seed=4), RandomProjection(seed=4)))


def test_members_have_constants_of_their_own_and_those_of_the_configuration() -> None:
    chosen = {"combined": {"any_of": {"minhash": {"words": 4}, "exact": {}}}, "exact": None}
    config = Config(detectors=chosen, threshold=0.7, seed=5)  # type: ignore[arg-type]
    assert build_detectors(config) == (
        Exact(seed=5),
        Combined(any_of=(MinHash(threshold=0.7, words=4, seed=5), Exact(seed=5))),
    )


def test_a_combination_of_combinations() -> None:
    inner = {"all_of": ["shingling", "random_projection"]}
    detector = built(any_of={"exact": {}, "combined": inner})
    assert detector == Combined(any_of=(Exact(), Combined()))
    match = said(detector)
    assert match is not None
    assert match.relation is Relation.IDENTICAL
    assert set(match.evidence) == {"exact", "combined"}


def test_schemes_distinguish_members_their_constants_and_their_order() -> None:
    schemes = [
        built(all_of=["exact", "shingling"]).scheme(),
        built(all_of=["shingling", "exact"]).scheme(),
        built(any_of=["exact", "shingling"]).scheme(),
        built(all_of={"exact": {}, "shingling": {"words": 4}}).scheme(),
    ]
    texts = {json.dumps(scheme, sort_keys=True) for scheme in schemes}
    assert len(texts) == len(schemes)
    assert built(all_of={"exact": {}, "shingling": {"needed": 3}}).scheme() == schemes[0]


PLACE = "detectors['combined']"


@pytest.mark.parametrize(
    ("rules", "name", "accepted"),
    [
        ({"all_of": ["exact", "nonsense"]}, f"{PLACE}.all_of", "one of exact, minhash"),
        ({"all_of": {"exact": {}, "minhash": {"words": 0}}}, f"{PLACE}.all_of['minhash'].words", "from 1"),
        ({"any_of": {"exact": {}, "minhash": {"x": 0}}}, f"{PLACE}.any_of['minhash'].x", "any of threshold"),
        ({"any_of": {"exact": {}, "minhash": 8}}, f"{PLACE}.any_of['minhash']", "a dict"),
        ({"all_of": ["exact", "exact"]}, f"{PLACE}.all_of", "each name once"),
        ({"all_of": ["exact"]}, f"{PLACE}.all_of", "from 2 to 16 detectors"),
        ({"all_of": []}, f"{PLACE}.all_of", "from 2 to 16 detectors"),
        ({"any_of": {}}, f"{PLACE}.any_of", "from 2 to 16 detectors"),
        ({"any_of": "exact"}, f"{PLACE}.any_of", "a list of names"),
        ({"any_of": 3}, f"{PLACE}.any_of", "a list of names"),
        ({"all_of": ["exact", "minhash"], "any_of": ["exact", "minhash"]}, PLACE, "either all_of or any_of"),
        ({"some_of": ["exact", "minhash"]}, f"{PLACE}.some_of", "any of all_of, any_of"),
        (
            {"any_of": {"exact": {}, "combined": {"all_of": {"exact": {}, "minhash": {"slots": 3}}}}},
            f"{PLACE}.any_of['combined'].all_of['minhash'].slots",
            "16, 32",
        ),
        (
            {"any_of": {"exact": {}, "combined": {"all_of": ["exact"]}}},
            f"{PLACE}.any_of['combined'].all_of",
            "from 2 to 16 detectors",
        ),
    ],
)
def test_a_choice_that_makes_no_sense_is_named_by_its_place(rules: dict[str, Any], name: str, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        built(**rules)
    assert caught.value.name == name


def test_errors_name_the_path_of_the_setting() -> None:
    from scrapy.settings import Settings

    text = '{"combined": {"all_of": {"exact": {}, "minhash": {"words": 0}}}}'
    config = Options.from_settings(Settings({"DEDUP_DETECTORS": text}), "spider").config
    with pytest.raises(SettingError, match=r"\['combined'\]\.all_of\['minhash'\]\.words = 0"):
        build_detectors(config)


# -- in a store ---------------------------------------------------------------------------------


def test_a_deduplicator_uses_a_combination() -> None:
    with Deduplicator(detectors={"combined": {"any_of": ["exact", "feature_code"]}}) as dedup:
        assert dedup.add(text=ENGLISH, url="https://a.example/").keep
        verdict = dedup.add(text=ENGLISH + " Correspondent.", url="https://b.example/")
        assert verdict.of == "https://a.example/"
        assert verdict.detector == "combined"
        assert list(verdict.evidence) == ["feature_code"]
        assert dedup.add(text=OTHER_ENGLISH, url="https://c.example/").keep


def test_a_damaged_part_is_reported_as_a_damaged_sketch() -> None:
    detector = Combined(all_of=(Exact(), Shingling()))
    found = fingerprint(detector)
    assert found is not None
    head = b"\x43" + (15).to_bytes(4, "little") + found.sketch[5:9]
    with pytest.raises(StoreError, match="not one of detector 'combined'"):
        detector.compare(found.sketch, head + found.sketch[10:])


# -- fields of an item ---------------------------------------------------------------------------


def item(title: str, body: str, url: str = "") -> Page:
    return replace(Page.from_text(f"{title}\n{body}", url), fields=(("title", title), ("body", body)))


def by_fields(**fields: object) -> Config:
    return Config(detectors={"combined": {"fields": fields}})


@pytest.mark.parametrize(
    ("title", "body", "is_copy"),
    [
        ("Ferry late", ENGLISH, True),
        ("Ferry late", ENGLISH.replace("Nobody was hurt", "No one was hurt"), True),
        ("Ferry on time", ENGLISH, False),  # each field for itself: the joined texts are nearly equal
        ("Ferry late", OTHER_ENGLISH, False),
        ("", ENGLISH, False),
        ("Ferry late", "", False),
    ],
)
def test_items_match_if_each_field_does(title: str, body: str, is_copy: bool) -> None:
    config = by_fields(title="exact", body={"minhash": {"threshold": 0.8}})
    with Deduplicator(config=config) as dedup:
        assert dedup.add(item("Ferry late", ENGLISH, "https://a.example/1")).keep
        verdict = dedup.add(item(title, body, "https://b.example/2"))
    assert verdict.keep is not is_copy
    if is_copy:
        assert list(verdict.evidence) == ["title", "body"]


def test_a_field_that_no_item_has_does_not_count() -> None:
    config = by_fields(title="exact", body="minhash")
    with Deduplicator(config=config) as dedup:
        dedup.add(item("", ENGLISH, "https://a.example/1"))
        assert not dedup.add(item("", ENGLISH, "https://b.example/2")).keep
        assert dedup.add(Page.from_text(ENGLISH, "https://c.example/3")).status == "unchecked"


def test_the_order_of_fields_changes_the_scheme_and_each_detector_is_in_it() -> None:
    (detector,) = build_detectors(by_fields(title="exact", body="minhash"))
    fields = detector.scheme()["fields"]
    assert isinstance(fields, dict)
    assert {name: list(one) for name, one in fields.items()} == {"title": ["exact"], "body": ["minhash"]}
    (other,) = build_detectors(by_fields(title="minhash", body="minhash"))
    assert other.scheme() != detector.scheme()


@pytest.mark.parametrize("bodies", [(ENGLISH, ENGLISH), (ENGLISH, OTHER_ENGLISH), ("", ENGLISH)])
def test_compare_and_assess_of_fields_agree(bodies: tuple[str, str]) -> None:
    (detector,) = build_detectors(by_fields(title="exact", body="minhash"))
    prints = [detector.fingerprint(Features(item("Ferry late", body))) for body in bodies]
    sketches = [one.sketch for one in prints if one]
    assert len(sketches) == 2
    match = detector.compare(*sketches)
    assert detector.assess(*sketches).match == match
    assert (match is not None) == (bodies[0] == bodies[1])


def test_a_store_gives_back_the_fields_in_their_order() -> None:
    config = by_fields(title="exact", body={"minhash": {"threshold": 0.9, "slots": 64}})
    scheme = json.loads(json.dumps(schemes(build_detectors(config), config), sort_keys=True))
    (detector,) = build_detectors(recovered(scheme, Config()).config)
    assert isinstance(detector, Combined)
    assert detector.labels == ("title", "body")
    assert schemes([detector], config) == schemes(build_detectors(config), config)


def test_constants_of_a_field_are_named_and_changed() -> None:
    config = by_fields(title="exact", body="minhash")
    name = constant_name(config, "combined", "body.containment")
    assert name == "combined.fields.body.minhash.containment"
    assert setting_of(name) == "DEDUP_ITEM_FIELDS['body']['minhash']['containment']"
    assert constant_value(with_value(config, name, 0.7), name) == 0.7
