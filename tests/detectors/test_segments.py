"""Segment signatures."""

from __future__ import annotations

import hashlib
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Match
from dedupcrawl.detectors.segments import Segments, cut_into_segments, paragraphs
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize
from tests.detectors.helpers import features, fingerprint, real_pages, share_a_key
from tests.texts import CHINESE, ENGLISH, OTHER_ENGLISH

DETECTOR = Segments()
EIGHT = [f"Paragraph number {i} is about {word}." for i, word in enumerate(ENGLISH.split()[1:9])]


def compare(new: str, old: str, detector: Segments = DETECTOR) -> Match | None:
    return detector.compare(fingerprint(detector, new).sketch, fingerprint(detector, old).sketch)


def changed(places: range) -> str:
    return "\n".join("Quite another one." + str(i) if i in places else line for i, line in enumerate(EIGHT))


def test_a_worked_example() -> None:
    detector = Segments(count=3, equal=2)
    hashes = [hashlib.blake2b(word, digest_size=8, key=bytes(8)).digest() for word in (b"one", b"two", b"three")]
    found = fingerprint(detector, "One\n  TWO \n\nthree")
    assert found.sketch == b"S" + b"".join(hashes)
    assert found.keys == tuple(sorted(hashes)[:2])


@pytest.mark.parametrize(("differing", "match"), [(0, True), (1, True), (2, True), (3, False), (8, False)])
def test_six_of_eight_segments_match(differing: int, match: bool) -> None:
    found = compare(changed(range(differing)), "\n".join(EIGHT))
    assert (found is not None) == match
    if found:
        assert found.similarity == (8 - differing) / 8
        assert found.evidence["segments"] == f"{8 - differing} of 8"
        assert found.evidence["equal"] == list(range(differing + 1, 9))


def test_segments_may_have_changed_places() -> None:
    found = compare("\n".join(reversed(EIGHT)), "\n".join(EIGHT))
    assert found is not None
    assert found.similarity == 1


def test_case_width_and_spaces_do_not_count() -> None:
    found = compare("\n \n".join(f"  {line.upper()}\u3000" for line in EIGHT), "\n".join(EIGHT))
    assert found is not None
    assert found.similarity == 1


def test_without_paragraphs_the_parts_are_equal() -> None:
    assert cut_into_segments([ENGLISH], 8) == [ENGLISH[685 * i // 8 : 685 * (i + 1) // 8] for i in range(8)]
    assert compare(ENGLISH[:-30] + "no" * 15, ENGLISH) is not None
    assert compare(OTHER_ENGLISH, ENGLISH) is None
    assert compare("An " + ENGLISH, ENGLISH) is None  # all that follows has moved


@given(st.lists(st.text("ab c", min_size=1, max_size=20).map(normalize).filter(bool), max_size=40), st.integers(1, 12))
def test_segments_make_up_the_text(lines: list[str], count: int) -> None:
    text = " ".join(lines)
    segments = cut_into_segments(lines, count)
    if len(lines) < count and len(text) < 5 * count:
        assert segments == []
        return
    assert len(segments) == count
    assert all(segments)
    assert (" " if len(lines) >= count else "").join(segments) == text


def test_cuts_are_near_to_equal_parts() -> None:
    lines = ["x" * length for length in (100, 5, 95, 3, 97, 100)]
    assert [len(segment) for segment in cut_into_segments(lines, 4)] == [100, 101, 101, 100]


def test_paragraphs_are_those_of_the_text_and_of_the_rest() -> None:
    page = Page(url="", text="First\n\n Second\0Third ", rest="The  rest")
    assert paragraphs(Features(page)) == ["first", "second", "third", "the rest"]
    assert paragraphs(Features(Page.from_text("漢\n字"), fold_chinese=True)) == ["汉", "字"]


segment = st.sampled_from("abcdefghij")


@given(st.lists(segment, min_size=8, max_size=8), st.lists(segment, min_size=8, max_size=8), st.integers(1, 8))
def test_pages_match_when_m_segments_are_common_and_share_a_key(new: list[str], old: list[str], equal: int) -> None:
    detector = Segments(equal=equal)
    mine, other = (detector.fingerprint(features("\n".join(new))), detector.fingerprint(features("\n".join(old))))
    assert (mine is None) == (len(set(new)) < equal)
    if mine and other:
        match = detector.compare(mine.sketch, other.sketch)
        assert (match is not None) == (len(set(new) & set(old)) >= equal)
        assert match is None or share_a_key(mine, other)
        assert len(mine.keys) == len(set(new)) - equal + 1


def test_real_pages_match_like_brute_force() -> None:
    matches = 0
    segments = [(cut_into_segments(paragraphs(page), 8), DETECTOR.fingerprint(page)) for page in real_pages()]
    for (mine, new), (other, old) in itertools.combinations(segments, 2):
        if new and old:
            match = DETECTOR.compare(new.sketch, old.sketch)
            assert (match is not None) == (len(set(mine) & set(other)) >= 6)
            assert match is None or share_a_key(new, old)
            matches += match is not None
    assert matches


@pytest.mark.parametrize("text", ["", "冰冰冰冰冰", "buffalo " * 300, "哈" * 4000, "x" * 100_000, "word"])
def test_what_is_short_or_repeats_itself_has_no_fingerprint(text: str) -> None:
    assert DETECTOR.fingerprint(features(text)) is None


def test_a_chinese_page_of_one_paragraph_has_one() -> None:
    assert compare(CHINESE, CHINESE) is not None


@pytest.mark.parametrize(
    ("constants", "accepted"),
    [
        ({"count": 0}, "from 1 to 64"),
        ({"equal": 9}, "from 1 to 8"),
        ({"equal": 0}, "from 1 to 8"),
        ({"seed": -1}, "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, int], accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        Segments(**constants)
    assert caught.value.name == f"detectors['segments'].{next(iter(constants))}"


def test_a_text_too_short_for_five_characters_a_segment_has_no_fingerprint() -> None:
    """Of parts of one or two characters, six in eight are soon the same."""
    for text in ("0 1 2 3 4 5 6 7", "1 2 3 4 5 6 7 8", "hello world 1"):
        assert DETECTOR.fingerprint(features(text)) is None
    assert DETECTOR.fingerprint(features("the ferries stood white at their piers.."))
