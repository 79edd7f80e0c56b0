"""The five variants of Tianwang."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.keywords import Keywords, weight_difference
from dedupcrawl.errors import SettingError
from dedupcrawl.text.lexicon import built_in, keywords
from dedupcrawl.text.normalize import normalize
from tests.detectors.helpers import features, fingerprint, real_pages, share_a_key, small_lexicon
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.detectors.base import Match

SUMMARY = "Ice closed the northern basin of the harbour, and the school measured how thick it was."
LIGHT = "pier pier ferry ice harbour "  #: with the small lexicon from the heaviest to the lightest
by_variant = pytest.mark.parametrize("variant", [1, 2, 3, 4, 5])


def md5(text: str) -> str:
    return hashlib.md5(bytes(8) + text.encode(), usedforsecurity=False).hexdigest()


def compare(detector: Keywords, new: str, old: str) -> Match | None:
    return detector.compare(fingerprint(detector, new).sketch, fingerprint(detector, old).sketch)


def evidence(detector: Keywords, text: str) -> dict[str, Any]:
    match = compare(detector, text, text)
    assert match is not None
    return dict(match.evidence)


@pytest.mark.parametrize(
    ("variant", "joined"),
    [
        (2, "pier ferry ice harbour"),
        (3, "ferry harbour ice pier"),
        (4, "pier ferry ice harbour"),
        (5, "ferry harbour ice pier"),
    ],
)
def test_a_worked_example(variant: int, joined: str, tmp_path: Path) -> None:
    """idf: pier ln 100, ferry ln 33, ice ln 20, harbour ln 10; "the" and "and" are stop words."""
    detector = Keywords(variant=variant, count=4, lexicon=small_lexicon(tmp_path / "lexicon"))
    found = evidence(detector, "The ice and the ferry and the pier and the harbour.")
    assert found["md5"] == md5(joined)
    assert found["keywords"] == joined.split()


@by_variant
def test_a_page_matches_itself_and_no_other(variant: int) -> None:
    detector = Keywords(variant=variant)
    for text in (ENGLISH, CHINESE):
        match = compare(detector, text, text)
        assert match is not None
        assert match.similarity == 1
    for new, old in itertools.permutations((ENGLISH, OTHER_ENGLISH, CHINESE, OTHER_CHINESE), 2):
        assert compare(detector, new, old) is None


@pytest.mark.parametrize(("variant", "match"), [(2, False), (3, True), (4, False), (5, False)])
def test_the_order_of_weight_counts_for_some(variant: int, match: bool, tmp_path: Path) -> None:
    detector = Keywords(variant=variant, count=4, lexicon=small_lexicon(tmp_path / "lexicon"))
    assert (compare(detector, f"{LIGHT}{'harbour ' * 5}", LIGHT) is not None) == match


@pytest.mark.parametrize(("variant", "match"), [(2, True), (3, True), (4, False), (5, False)])
def test_the_weights_count_for_some(variant: int, match: bool, tmp_path: Path) -> None:
    detector = Keywords(variant=variant, count=4, lexicon=small_lexicon(tmp_path / "lexicon"))
    assert (compare(detector, f"{LIGHT}{'pier ' * 9}", LIGHT) is not None) == match


@pytest.mark.parametrize("variant", [4, 5])
def test_a_weight_within_the_bound_is_forgiven(variant: int, tmp_path: Path) -> None:
    detector = Keywords(variant=variant, count=4, lexicon=small_lexicon(tmp_path / "lexicon"))
    match = compare(detector, f"{LIGHT * 20}ferry", LIGHT * 20)
    assert match is not None
    assert 0 < 1 - match.similarity < 0.01
    assert match.evidence["difference"] == round(1 - match.similarity, 5)


def test_the_description_is_the_summary() -> None:
    detector = Keywords(variant=1)
    one, other = (detector.fingerprint(features(text, SUMMARY)) for text in (ENGLISH, CHINESE))
    assert one is not None
    assert other is not None
    match = detector.compare(one.sketch, other.sketch)
    assert match is not None
    assert match.evidence == {"md5": md5(SUMMARY.lower()), "summary": SUMMARY.lower()[:80]}


@pytest.mark.parametrize("description", ["", " ", "Harbour News", "哈" * 200])
def test_without_an_informative_description_it_is_the_first_512_bytes(description: str) -> None:
    detector = Keywords(variant=1)
    for text in (ENGLISH, CHINESE * 2):
        found = detector.fingerprint(features(text, description))
        assert found is not None
        digest = hashlib.md5(bytes(8) + normalize(text).encode()[:512], usedforsecurity=False).digest()
        assert found.sketch[4:20] == digest
    assert compare(detector, f"{ENGLISH} More.", ENGLISH) is not None
    assert compare(detector, f"More. {ENGLISH}", ENGLISH) is None


weights = st.lists(st.floats(0.0625, 16, width=32), min_size=3, max_size=3)


@given(weights, weights)
def test_the_difference_of_weights(new: list[float], old: list[float]) -> None:
    squares = sum(w * w for w in new) + sum(w * w for w in old)
    wanted = sum((w - v) ** 2 for w, v in zip(new, old, strict=True)) / squares
    found = weight_difference(np.array(new, np.float32), np.array(old, np.float32))
    assert found == pytest.approx(wanted)
    assert 0 <= found <= 1


@pytest.mark.parametrize("variant", [2, 3, 4, 5])
def test_real_pages_match_like_brute_force(variant: int) -> None:
    detector = Keywords(variant=variant)
    pages = real_pages()
    heaviest = [keywords(page.words(), built_in(), 10) for page in pages]
    prints = [detector.fingerprint(page) for page in pages]
    matches = 0
    for (mine, new), (other, old) in itertools.combinations(zip(heaviest, prints, strict=True), 2):
        if new and old:
            left, right = dict(mine), dict(other)
            wanted = left.keys() == right.keys() and (variant in (3, 5) or list(left) == list(right))
            if wanted and variant >= 4:
                squares = sum(w * w for w in (*left.values(), *right.values()))
                wanted = sum((left[word] - right[word]) ** 2 for word in left) / squares < 0.01
            match = detector.compare(new.sketch, old.sketch)
            assert (match is not None) == wanted
            assert match is None or share_a_key(new, old)
            matches += wanted
    assert matches


@by_variant
def test_there_is_one_key(variant: int) -> None:
    assert len(fingerprint(Keywords(variant=variant), ENGLISH).keys) == 1


@by_variant
@pytest.mark.parametrize("text", ["", "😀" * 200, "buffalo " * 300, "哈" * 4000, "x" * 100_000, "冰", "a b c d"])
def test_a_page_of_too_few_keywords_has_no_fingerprint(variant: int, text: str) -> None:
    assert Keywords(variant=variant).fingerprint(features(text)) is None


def test_the_scheme_distinguishes_lexicons_but_not_their_paths(tmp_path: Path) -> None:
    one, other = small_lexicon(tmp_path / "one"), small_lexicon(tmp_path / "other")
    assert Keywords(lexicon=one).scheme() == Keywords(lexicon=other).scheme()
    assert Keywords(lexicon=one).scheme() != Keywords().scheme()
    assert "lexicon" not in Keywords(variant=1).scheme()


@pytest.mark.parametrize(
    ("constants", "accepted"),
    [
        ({"variant": 0}, "from 1 to 5"),
        ({"variant": 6}, "from 1 to 5"),
        ({"variant": "3"}, "from 1 to 5"),
        ({"count": 0}, "from 1 to 256"),
        ({"difference": 0}, "above 0"),
        ({"difference": 1.5}, "at most 1"),
        ({"seed": 2**64}, "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, Any], accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        Keywords(**constants)
    assert caught.value.name == f"detectors['keywords'].{next(iter(constants))}"


def test_a_missing_lexicon_is_reported_at_once() -> None:
    with pytest.raises(SettingError, match="lexicon = '/no/such/file'"):
        Keywords(lexicon="/no/such/file")
