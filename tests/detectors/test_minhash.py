"""Near-duplicates, excerpts and expansions by their shingles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Fingerprint, Match, Relation
from dedupcrawl.detectors.minhash import HEADER, TAG, MinHash
from dedupcrawl.errors import DamageError, SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from tests import oracles
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

MINHASH = MinHash()


def fingerprint(text: str, detector: MinHash = MINHASH) -> Fingerprint:
    found = detector.fingerprint(Features(Page.from_text(text)))
    assert found is not None
    return found


def compare(new: str, old: str, detector: MinHash = MINHASH) -> Match | None:
    return detector.compare(fingerprint(new, detector).sketch, fingerprint(old, detector).sketch)


def met(new: str, old: str) -> bool:
    return not set(fingerprint(new).keys).isdisjoint(fingerprint(old).keys)


@pytest.mark.parametrize(
    ("new", "old"),
    [
        (ENGLISH, ENGLISH),
        (ENGLISH + " By our own correspondent.", ENGLISH),
        (ENGLISH.replace("borrowed drill", "borrowed dril"), ENGLISH),
        (CHINESE, CHINESE),
        ("本报记者报道 " + CHINESE, CHINESE),
        (CHINESE.replace("，", ", ").replace("。", ". "), CHINESE),
    ],
)
def test_copies_share_a_key_and_match(new: str, old: str) -> None:
    match = compare(new, old)
    assert met(new, old)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert match.similarity >= 0.8


@pytest.mark.parametrize(
    ("new", "old"),
    [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE), (ENGLISH[:300] + OTHER_ENGLISH, ENGLISH), (CHINESE, ENGLISH)],
)
def test_others_do_not_match(new: str, old: str) -> None:
    assert compare(new, old) is None


@pytest.mark.parametrize(("whole", "part"), [(ENGLISH, ENGLISH[:560]), (CHINESE, CHINESE[:150])])
def test_a_part_is_an_excerpt_and_the_whole_its_expansion(whole: str, part: str) -> None:
    excerpt, expansion = compare(part, whole), compare(whole, part)
    assert excerpt is not None
    assert excerpt.relation is Relation.EXCERPT
    assert expansion is not None
    assert expansion.relation is Relation.EXPANSION


def test_copies_whose_lengths_differ_too_much_are_no_near_duplicates() -> None:
    byline, story = "2024-03-31 20:00 来源：江边晚报 作者：本报编辑部 ", CHINESE[:170]
    match = compare(byline + story, story)
    assert match is not None
    assert match.evidence["length_ratio"] == 1.2
    assert match.relation is Relation.EXPANSION
    loose = compare(byline + story, story, MinHash(length_ratio=1.2))
    assert loose is not None
    assert loose.relation is Relation.NEAR_DUPLICATE


def test_two_stories_in_one_contain_each() -> None:
    for story in (ENGLISH, OTHER_ENGLISH):
        match = compare(ENGLISH + " " + OTHER_ENGLISH, story, MinHash(containment=0.8))
        assert match is not None
        assert match.relation is Relation.EXPANSION


def test_evidence_has_what_a_person_needs() -> None:
    match = compare(ENGLISH, ENGLISH)
    assert match is not None
    assert match.similarity == 1
    assert match.evidence == {
        "slots": "128 of 128",
        "lengths": [len(ENGLISH)] * 2,
        "length_ratio": 1.0,
        "new_in_old": 1.0,
        "old_in_new": 1.0,
    }


@given(st.integers(0, 40), st.integers(0, 40))
def test_the_estimate_is_near_the_truth(cut: int, start: int) -> None:
    words = ENGLISH.split()
    new, old = " ".join(words[start:]), " ".join(words[: len(words) - cut])
    detector = MinHash(threshold=0.01, length_ratio=99)
    match = compare(new, old, detector)
    true = oracles.jaccard(set(oracles.shingles(new)), set(oracles.shingles(old)))
    assert match is not None
    assert match.similarity == pytest.approx(true, abs=0.16)


def test_a_text_without_letters_has_no_fingerprint() -> None:
    assert MINHASH.fingerprint(Features(Page.from_text("😀 !!! …"))) is None


def test_six_keys_and_137_bytes_a_page() -> None:
    found = fingerprint(ENGLISH)
    assert len(found.keys) == 6
    assert len(found.sketch) == 137
    assert found.probes is None


@pytest.mark.parametrize(
    ("constant", "value", "accepted"),
    [
        ("threshold", 0, "above 0"),
        ("threshold", 1.1, "at most 1"),
        ("threshold", "high", "a number"),
        ("length_ratio", 0.9, "at least 1"),
        ("containment", 2, "at most 1"),
        ("slots", 100, "16, 32, 64, 128 or 256"),
        ("characters", 0, "from 1 to 64"),
        ("words", 2.5, "a whole number"),
        ("filed", 4, "from 16"),
        ("miss_weight", 0, "above 0"),
        ("seed", -1, "from 0"),
        ("seed", True, "a whole number"),
    ],
)
def test_constants_that_make_no_sense_are_named(constant: str, value: object, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        MinHash(**{constant: value})  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['minhash'].{constant}"
    assert caught.value.value == value


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.7, 0.74])
def test_lower_thresholds_have_bands_of_their_own(threshold: float) -> None:
    detector = MinHash(threshold=threshold)
    assert detector.fingerprint(Features(Page.from_text(ENGLISH)))
    assert detector.scheme() != MINHASH.scheme()


@pytest.mark.parametrize("threshold", [0.75, 0.79, 0.85, 0.9, 1.0])
def test_fingerprints_are_the_same_for_thresholds_from_the_floor_on(threshold: float) -> None:
    detector = MinHash(threshold=threshold)
    page = Features(Page.from_text(ENGLISH))
    assert detector.scheme() == MINHASH.scheme()
    assert detector.fingerprint(page) == MINHASH.fingerprint(page)


@pytest.mark.parametrize("floor", [0.6, 0.7, 0.9])
def test_the_floor_can_be_another(floor: float) -> None:
    schemes = [MinHash(threshold=threshold, floor=floor).scheme() for threshold in (floor, 0.95, 1.0)]
    assert schemes[0] == schemes[1] == schemes[2] != MINHASH.scheme()
    assert MinHash(threshold=floor, floor=0.95).scheme() == schemes[0]


def test_what_only_compare_uses_is_no_part_of_the_scheme() -> None:
    assert MinHash(length_ratio=2, containment=0.5).scheme() == MINHASH.scheme()
    assert MinHash(seed=1).scheme() != MINHASH.scheme()


def test_the_numbers_of_shingles_do_not_bound_the_similarity() -> None:
    """Repetitions are counted: a text and the same text three times have J = 1 and a ratio of the numbers of 1 / 3.

    So the numbers cannot show that an estimate is too high, as those of ``datasketch`` can.
    """
    words = " ".join(f"word{number}" for number in range(600))
    once, thrice = fingerprint(words), fingerprint(" ".join([words] * 3))
    sizes = [MINHASH._read(each.sketch)[0].features for each in (once, thrice)]
    assert sizes[1] > 2.9 * sizes[0]
    assessment = MINHASH.assess(thrice.sketch, once.sketch)
    assert assessment.similarity is not None
    assert assessment.similarity > 0.9
    assert "similarity that the sizes allow" not in [threshold.measure for threshold in assessment.thresholds]


# -- many at once -------------------------------------------------------------------------------

SIZES = st.sampled_from([1, 100, 109, 110, 111, 600, 5000])


@st.composite
def many_sketches(draw: st.DrawFn) -> tuple[MinHash, bytes, list[bytes]]:
    """A detector, a sketch, and others that agree with it in more or fewer slots."""
    slots = draw(st.sampled_from([16, 128, 256]))
    detector = MinHash(slots=slots, threshold=draw(st.sampled_from([0.4, 0.8, 1.0])))
    random = draw(st.randoms(use_true_random=False))
    same = random.randbytes(slots)

    def sketch(share: float) -> bytes:
        values = bytes(value if random.random() < share else value ^ random.randrange(1, 256) for value in same)
        return HEADER.pack(TAG, draw(SIZES), draw(SIZES)) + values

    shares = st.lists(st.sampled_from([0.0, 0.1, 0.125, 0.5, 0.8, 0.9, 1.0]), max_size=8)
    others = [sketch(share) for share in draw(shares)] + draw(st.lists(st.just(b""), max_size=1))
    return detector, sketch(1.0), draw(st.permutations(others))


@pytest.mark.parametrize("is_compiled", [True, False])
@given(drawn=many_sketches())
def test_many_sketches_have_the_relations_that_each_has(
    drawn: tuple[MinHash, bytes, list[bytes]], *, is_compiled: bool
) -> None:
    detector, new, olds = drawn
    each = [detector.compare(new, old) if old else None for old in olds]
    with pytest.MonkeyPatch.context() as patch:
        if not is_compiled:
            patch.setattr("dedupcrawl.text.features.kernel", None)
        assert detector.relations(new, olds) == [match and match.relation for match in each]


@pytest.mark.parametrize("is_compiled", [True, False])
def test_one_damaged_sketch_among_many_is_found(monkeypatch: pytest.MonkeyPatch, *, is_compiled: bool) -> None:
    if not is_compiled:
        monkeypatch.setattr("dedupcrawl.text.features.kernel", None)
    sound = fingerprint(ENGLISH).sketch
    for damaged in (sound[:-1], b"\0" + sound[1:], sound[:1] + bytes(4) + sound[5:], sound[:5] + bytes(4) + sound[9:]):
        for new, olds in ((sound, [sound, damaged]), (damaged, [sound])):
            with pytest.raises(DamageError):
                MINHASH.relations(new, olds)
