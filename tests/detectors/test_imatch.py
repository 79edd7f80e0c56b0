"""I-Match."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.imatch import IMatch
from dedupcrawl.errors import SettingError
from dedupcrawl.text.features import Features
from dedupcrawl.text.lexicon import built_in
from tests.detectors.helpers import features, fingerprint, real_pages, share_a_key, small_lexicon
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.detectors.base import Match

DETECTOR = IMatch()


def compare(new: str, old: str, detector: IMatch = DETECTOR) -> Match | None:
    return detector.compare(fingerprint(detector, new).sketch, fingerprint(detector, old).sketch)


def brute_force(page: Features) -> frozenset[str]:
    """The terms of a page, by set arithmetic."""
    lexicon, words = built_in(), set(page.words())
    terms = {word for word in words if word in lexicon and 0.2 <= (lexicon.nidf(word) or 0) <= 0.8}
    return frozenset(terms if len(terms) >= max(8, 0.2 * len(words)) else ())


def test_a_worked_example(tmp_path: Path) -> None:
    """Normalised idf: the 0, and 0.02, harbour 1/3, ice 0.43, ferry 0.51, pier 2/3, krill 1."""
    detector = IMatch(least_terms=1, lexicon=small_lexicon(tmp_path / "lexicon"))
    text = "The pier, the harbour and the krill: ICE, ice and unheard."
    match = compare(text, text, detector)
    assert match is not None
    assert match.evidence == {
        "signature": hashlib.sha1(bytes(8) + b"harbour ice pier", usedforsecurity=False).hexdigest(),
        "terms": 3,
        "rarest": ["pier", "ice", "harbour"],
    }


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ("the and the", True),  # too common
        ("krill", True),  # too rare
        ("unheard", True),  # not in the lexicon
        ("ice pier", True),  # there already, and counts once
        ("ferry", False),
    ],
)
def test_only_unique_terms_within_the_band_count(change: str, match: bool, tmp_path: Path) -> None:
    detector = IMatch(least_terms=1, lexicon=small_lexicon(tmp_path / "lexicon"))
    assert (compare(f"{change} pier harbour ice", "ice harbour pier", detector) is not None) == match


def test_the_band_is_closed_and_can_be_set(tmp_path: Path) -> None:
    lexicon = small_lexicon(tmp_path / "lexicon")
    everything = IMatch(least_terms=1, lexicon=lexicon, lowest=0, highest=1)
    assert compare("the ice krill", "ice krill", everything) is None
    assert compare("the ice", "the krill", IMatch(least_terms=1, lexicon=lexicon, lowest=0, highest=0)) is not None


def test_copies_match_and_others_do_not() -> None:
    assert compare(ENGLISH.upper(), ENGLISH) is not None
    assert compare(CHINESE.replace("。", "！"), CHINESE) is not None
    assert compare(ENGLISH.replace("Fishermen", "Bakers"), ENGLISH) is None
    for new, old in itertools.permutations((ENGLISH, OTHER_ENGLISH, CHINESE, OTHER_CHINESE), 2):
        assert compare(new, old) is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "😀" * 200,
        "the and of to " * 50,
        "За ночь гавань замёрзла, и к утру паромы стояли белыми у причалов. Новости, Microsoft и Google.",
        "تجمد الميناء أثناء الليل، وفي الصباح كانت العبارات بيضاء. لم يصب أحد بأذى. facebook news",
    ],
)
def test_a_page_without_enough_known_terms_has_no_signature(text: str) -> None:
    assert DETECTOR.fingerprint(features(text)) is None


def test_how_small_a_share_of_known_terms_is_enough(tmp_path: Path) -> None:
    lexicon = small_lexicon(tmp_path / "lexicon")
    assert IMatch(least_terms=1, lexicon=lexicon).fingerprint(features("ice one two three four")) is not None
    assert IMatch(least_terms=1, lexicon=lexicon).fingerprint(features("ice one two three four five")) is None
    assert (
        IMatch(least_terms=1, lexicon=lexicon, least_share=0).fingerprint(features("ice one two three four five"))
        is not None
    )


def test_a_repeated_word_is_one_term() -> None:
    detector = IMatch(least_terms=1)
    assert compare("harbour " * 300, "harbour " * 200, detector) is not None
    assert compare("harbour " * 300, "breakfast " * 300, detector) is None


def test_fewer_terms_than_least_terms_are_no_signature() -> None:
    """The lexicon contains the same two words of both headlines."""
    headlines = "Interview: Xyzzyowski on the harbour", "Interview: Plughberger on the harbour"
    assert [DETECTOR.fingerprint(features(headline)) for headline in headlines] == [None, None]
    assert compare(*headlines, IMatch(least_terms=2)) is not None


@pytest.fixture(scope="module")
def lexicon(tmp_path_factory: pytest.TempPathFactory) -> str:
    return small_lexicon(tmp_path_factory.mktemp("imatch") / "lexicon")


words = st.lists(st.sampled_from(["the", "harbour", "ice", "ferry", "pier", "krill", "unheard"]), max_size=9)


@given(words, words)
def test_equal_sets_of_terms_match(lexicon: str, new: list[str], old: list[str]) -> None:
    detector = IMatch(least_terms=1, lexicon=lexicon, least_share=0)
    mine, other = (detector.fingerprint(features(" ".join(text))) for text in (new, old))
    terms, others = (set(text) & {"harbour", "ice", "ferry", "pier"} for text in (new, old))
    assert (mine is not None) == bool(terms)
    if mine and other:
        match = detector.compare(mine.sketch, other.sketch)
        assert (match is not None) == (terms == others) == share_a_key(mine, other)


def test_real_pages_match_like_brute_force() -> None:
    found = [(brute_force(page), DETECTOR.fingerprint(page)) for page in real_pages()]
    assert all((one is None) == (not terms) for terms, one in found)
    matches = 0
    for (mine, new), (other, old) in itertools.combinations(found, 2):
        if new and old:
            match = DETECTOR.compare(new.sketch, old.sketch)
            assert (match is not None) == (mine == other) == share_a_key(new, old)
            matches += match is not None
    assert matches


@pytest.mark.parametrize(
    ("constants", "accepted"),
    [
        ({"lowest": -0.1}, "from 0 to 1"),
        ({"highest": 1.1}, "from 0 to 1"),
        ({"highest": "0.8"}, "from 0 to 1"),
        ({"least_share": 2}, "from 0 to 1"),
        ({"least_terms": 0}, "from 1"),
        ({"lowest": 0.9}, "at most highest"),
        ({"seed": -1}, "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, Any], accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        IMatch(**constants)
    assert caught.value.name == f"detectors['imatch'].{next(iter(constants))}"


def test_a_missing_lexicon_is_reported_at_once() -> None:
    with pytest.raises(SettingError, match="lexicon = '/no/such/file'"):
        IMatch(least_terms=1, lexicon="/no/such/file")
