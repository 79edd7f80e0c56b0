"""The Boolean model."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.boolean import Boolean
from dedupcrawl.errors import SettingError
from dedupcrawl.text.lexicon import built_in, keywords
from tests.detectors.helpers import features, fingerprint, real_pages, share_a_key, small_lexicon
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.detectors.base import Match

DETECTOR = Boolean()
WORDS = [f"{first}{last}" for first in ("brass", "copper", "iron", "slate") for last in "abcdefghijklmnop"]


def compare(new: str, old: str, detector: Boolean = DETECTOR) -> Match | None:
    return detector.compare(fingerprint(detector, new).sketch, fingerprint(detector, old).sketch)


def test_a_worked_example(tmp_path: Path) -> None:
    """idf: pier ln 100, ferry ln 33, ice ln 20, harbour ln 10; the three heaviest are the features."""
    detector = Boolean(count=3, differing=2, lexicon=small_lexicon(tmp_path / "lexicon"))
    match = compare("The pier, the ferry, the harbour.", "The harbour, the ice, the pier.", detector)
    assert match is not None  # pier and harbour in both; ferry, ice
    assert match.evidence == {
        "differing": "2 of 6",
        "lengths": [33, 31],
        "heaviest": ["pier", "ferry", "harbour"],
        "older_heaviest": ["pier", "ice", "harbour"],
    }
    assert match.similarity == pytest.approx(1 - 2 / 6)


@pytest.mark.parametrize(("other", "match"), [(0, True), (1, True), (3, True), (4, False), (32, False)])
def test_six_bits_may_differ(other: int, match: bool) -> None:
    """Each word of 32 that is another changes two bits."""
    found = compare(" ".join(WORDS[other : other + 32]), " ".join(WORDS[:32]))
    assert (found is not None) == match
    if found:
        assert found.evidence["differing"] == f"{2 * other} of 64"


@pytest.mark.parametrize(("extra", "match"), [(0, True), (99, True), (100, True), (101, False)])
def test_a_fifth_of_the_longer_text_may_be_more(extra: int, match: bool) -> None:
    text = " ".join(WORDS[:32])
    text += " x" * ((400 - len(text)) // 2) + "." * (len(text) % 2)
    assert len(text) == 400
    longer = text + "." * extra
    for new, old in ((text, longer), (longer, text)):
        assert (compare(new, old) is not None) == match


def test_copies_match_and_others_do_not() -> None:
    for text in (ENGLISH, CHINESE):
        match = compare(text.upper(), text)
        assert match is not None
        assert match.similarity == 1
    for new, old in itertools.permutations((ENGLISH, OTHER_ENGLISH, CHINESE, OTHER_CHINESE), 2):
        assert compare(new, old) is None


chosen = st.lists(st.sampled_from(WORDS), min_size=12, max_size=12, unique=True)
edits = st.lists(st.tuples(st.integers(0, 11), st.sampled_from(WORDS)), max_size=6)


@given(chosen, edits, st.integers(0, 12))
def test_the_symmetric_difference_decides_and_matches_share_a_key(
    old: list[str], changes: list[tuple[int, str]], differing: int
) -> None:
    detector = Boolean(count=12, differing=differing, length_difference=0.9)
    new = list(old)
    for place, word in changes:
        if word not in new:
            new[place] = word
    mine, other = fingerprint(detector, " ".join(new)), fingerprint(detector, " ".join(old))
    match = detector.compare(mine.sketch, other.sketch)
    assert (match is not None) == (len(set(new) ^ set(old)) <= differing)
    assert match is None or share_a_key(mine, other)
    assert len(mine.keys) == differing + 1


def test_real_pages_match_like_brute_force() -> None:
    pages = [
        ({found.word for found in keywords(page.words(), built_in(), 32)}, page.length, DETECTOR.fingerprint(page))
        for page in real_pages()
    ]
    matches = 0
    for (mine, length, new), (other, older_length, old) in itertools.combinations(pages, 2):
        if new and old:
            near = abs(length - older_length) <= 0.2 * max(length, older_length)
            match = DETECTOR.compare(new.sketch, old.sketch)
            assert (match is not None) == (near and len(mine ^ other) <= 6)
            assert match is None or share_a_key(new, old)
            matches += match is not None
    assert matches


def test_buckets_of_different_pages_stay_small() -> None:
    """A word that occurs in every page fills no bucket."""
    seen: dict[bytes, int] = {}
    for start in range(0, 20_000, 20):
        words = " ".join(f"word{start + i}" for i in range(31))
        for key in fingerprint(DETECTOR, f"{words} everywhere").keys:
            seen[key] = seen.get(key, 0) + 1
    assert sorted(seen.values())[-8] <= 4
    assert max(seen.values()) < 32


@pytest.mark.parametrize("text", ["", "😀" * 200, "buffalo " * 300, "哈" * 4000, " ".join(WORDS[:31])])
def test_a_page_of_too_few_words_has_no_code(text: str) -> None:
    assert DETECTOR.fingerprint(features(text)) is None


def test_the_scheme_distinguishes_lexicons_but_not_their_paths(tmp_path: Path) -> None:
    one, other = small_lexicon(tmp_path / "one"), small_lexicon(tmp_path / "other")
    assert Boolean(lexicon=one).scheme() == Boolean(lexicon=other).scheme()
    assert Boolean(lexicon=one).scheme() != DETECTOR.scheme()


@pytest.mark.parametrize(
    ("constants", "accepted"),
    [
        ({"count": 0}, "from 1 to 256"),
        ({"differing": -1}, "from 0 to 63"),
        ({"differing": 64}, "from 0 to 63"),
        ({"length_difference": 1}, "below 1"),
        ({"length_difference": "a fifth"}, "below 1"),
        ({"seed": -1}, "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, Any], accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        Boolean(**constants)
    assert caught.value.name == f"detectors['boolean'].{next(iter(constants))}"


def test_a_missing_lexicon_is_reported_at_once() -> None:
    with pytest.raises(SettingError, match="lexicon = '/no/such/file'"):
        Boolean(lexicon="/no/such/file")
