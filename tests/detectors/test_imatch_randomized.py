"""I-Match over lexicons that lack random terms."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.imatch import IMatch, IMatchRandomized, signature
from dedupcrawl.errors import SettingError
from dedupcrawl.text.lexicon import built_in
from tests.detectors.helpers import features, fingerprint, real_pages, share_a_key, small_lexicon
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

if TYPE_CHECKING:
    from pathlib import Path

    from dedupcrawl.detectors.base import Match

DETECTOR = IMatchRandomized()
WORDS = tuple(word for word in built_in("en") if 0.2 <= (built_in("en").nidf(word) or 0) <= 0.8)


def compare(new: str, old: str, detector: IMatchRandomized = DETECTOR) -> Match | None:
    return detector.compare(fingerprint(detector, new).sketch, fingerprint(detector, old).sketch)


def lexicons(detector: IMatchRandomized, words: tuple[str, ...]) -> list[set[str]]:
    """What the lexicon and each of the further ones hold of some words."""
    held = detector.kept_terms([word.encode() for word in words])
    return [set(words), *({word for word, kept in zip(words, row, strict=True) if kept} for row in held)]


def test_each_lexicon_lacks_its_own_random_share() -> None:
    first, *further = lexicons(DETECTOR, WORDS)
    assert len(WORDS) > 10_000
    assert len(further) == 10
    for lexicon in further:
        assert len(first - lexicon) == pytest.approx(0.3 * len(first), rel=0.05)
    for one, other in itertools.combinations(further, 2):
        assert len(first - one - other) == pytest.approx(0.09 * len(first), rel=0.1)


def test_a_lexicon_lacks_the_same_terms_on_every_page_but_not_under_every_seed() -> None:
    some = WORDS[::100]
    for word in some[:20]:
        assert [word in one for one in lexicons(DETECTOR, (word,))] == [word in one for one in lexicons(DETECTOR, some)]
    assert lexicons(IMatchRandomized(seed=1), some) != lexicons(DETECTOR, some)
    assert lexicons(IMatchRandomized(lexicons=3), some) == lexicons(DETECTOR, some)[:4]


def test_a_worked_example(tmp_path: Path) -> None:
    """The signatures of a page of four terms are those of what each lexicon holds of them."""
    detector = IMatchRandomized(least_terms=1, lexicon=small_lexicon(tmp_path / "lexicon"))
    terms = ("ferry", "harbour", "ice", "pier")
    wanted = [
        signature(sorted(word.encode() for word in one), detector.seed)[:8] for one in lexicons(detector, terms) if one
    ]
    found = fingerprint(detector, "The pier, the harbour, the ferry, the ice: the krill.")
    assert b"".join(dict.fromkeys(wanted)) in found.sketch
    assert len(found.keys) == len(set(wanted)) > 1


@pytest.mark.parametrize("changes", range(1, 4))
def test_as_many_changes_are_forgiven_as_chance_has_it(changes: int) -> None:
    """A lexicon lacks d terms with probability p^d, so a page is found with 1 - (1 - p^d)^K."""
    found, pages = 0, 400
    for at in range(pages):
        text = WORDS[at * 25 : at * 25 + 20]
        other = (*text[changes:], *(f"unheard{i}" for i in range(changes)))
        found += compare(" ".join(other), " ".join(text)) is not None
        plain = IMatch()
        assert (
            plain.compare(fingerprint(plain, " ".join(other)).sketch, fingerprint(plain, " ".join(text)).sketch) is None
        )
    assert found / pages == pytest.approx(1 - (1 - 0.3**changes) ** 10, abs=0.08)


def test_copies_match_and_others_do_not() -> None:
    match = compare(ENGLISH.upper(), ENGLISH)
    assert match is not None
    assert match.similarity == 1
    assert match.evidence["terms"] == [48, 48]
    for new, old in itertools.permutations((ENGLISH, OTHER_ENGLISH, CHINESE, OTHER_CHINESE), 2):
        assert compare(new, old) is None


words = st.lists(st.sampled_from(WORDS[:30]), min_size=1, max_size=5, unique=True)


@given(words, words, st.integers(0, 50))
def test_a_common_signature_matches_unless_it_is_empty(new: list[str], old: list[str], seed: int) -> None:
    detector = IMatchRandomized(seed=seed, dropped=0.6, least_terms=1)
    held = lexicons(detector, WORDS[:30])
    signatures, others = ({frozenset(one & set(text)) for one in held} - {frozenset()} for text in (new, old))
    mine, other = fingerprint(detector, " ".join(new)), fingerprint(detector, " ".join(old))
    match = detector.compare(mine.sketch, other.sketch)
    assert (match is not None) == bool(signatures & others) == share_a_key(mine, other)
    if match:
        most = max(len(signatures), len(others))
        assert match.evidence["signatures"] == f"{len(signatures & others)} of {most}"


def test_real_pages_match_like_brute_force() -> None:
    plain, found = IMatch(), []
    for page in real_pages():
        terms = {term.word for term in plain.terms(page)}
        held = lexicons(DETECTOR, tuple(terms)) if terms else []
        found.append(({frozenset(one) for one in held if one}, DETECTOR.fingerprint(page)))
    matches = 0
    for (mine, new), (other, old) in itertools.combinations(found, 2):
        if new and old:
            match = DETECTOR.compare(new.sketch, old.sketch)
            assert (match is not None) == bool(mine & other) == share_a_key(new, old)
            matches += match is not None
    assert matches


@pytest.mark.parametrize("text", ["", "😀" * 200, "the and of to " * 50, "За ночь гавань замёрзла и Microsoft"])
def test_a_page_without_enough_known_terms_has_no_signature(text: str) -> None:
    assert DETECTOR.fingerprint(features(text)) is None


def test_the_scheme_is_that_of_imatch_and_more() -> None:
    assert DETECTOR.scheme() == {**IMatch().scheme(), "lexicons": 10, "dropped": 0.3}


@pytest.mark.parametrize(
    ("constants", "accepted"),
    [
        ({"lexicons": 0}, "from 1 to 64"),
        ({"dropped": 0.0}, "below 1"),
        ({"dropped": 1.0}, "below 1"),
        ({"dropped": "0.3"}, "below 1"),
        ({"lowest": 0.9}, "at most highest"),
    ],
)
def test_constants_that_make_no_sense_are_named(constants: dict[str, Any], accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        IMatchRandomized(**constants)
    assert caught.value.name == f"detectors['imatch_randomized'].{next(iter(constants))}"


def test_short_texts_that_share_a_word_do_not_match() -> None:
    """A lexicon that lacks the two words in which they differ would be found among ten 61 times in 100."""
    assert DETECTOR.fingerprint(features("Ferry timetable")) is None
    matches = [
        compare("Ferry timetable", "Ferry prices", IMatchRandomized(seed=seed, least_terms=1)) for seed in range(20)
    ]
    assert any(matches)
