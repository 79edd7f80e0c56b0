"""Spots, common keys, and matches without missed pairs.

Partitions and prefixes: pairs that they exclude cannot match, however numbers are rounded.
"""

from __future__ import annotations

import itertools
import random
from collections import Counter
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Fingerprint, Match, Relation
from dedupcrawl.detectors.shingling import Shingling
from dedupcrawl.detectors.spotsigs import (
    ANTECEDENTS,
    STOP_WORDS,
    SpotSigs,
    largest_partner,
    partition_of,
    partition_starts,
    prefix_length,
    smallest_in_partition,
    smallest_partner,
    spots,
)
from dedupcrawl.errors import SettingError
from dedupcrawl.page import read_page
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.tools.evaluation.dataset import read_labelled_pages
from tests import oracles
from tests.data import data
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

SPOTSIGS = SpotSigs()
EVERY_PAIR = SpotSigs(filed=0, least=1)


def features(text: str) -> Features:
    return Features(Page.from_text(text))


def fingerprint(text: str, detector: SpotSigs = SPOTSIGS) -> Fingerprint:
    found = detector.fingerprint(features(text))
    assert found is not None
    return found


def compare(new: str, old: str, detector: SpotSigs = SPOTSIGS) -> Match | None:
    return detector.compare(fingerprint(new, detector).sketch, fingerprint(old, detector).sketch)


def meet(new: Fingerprint, old: Fingerprint) -> bool:
    return not set(new.probes or ()).isdisjoint(old.keys)


def spots_of(text: str) -> Counter[tuple[str, ...]]:
    return Counter(spots(features(text).words(), ANTECEDENTS, STOP_WORDS, 2))


def jaccard(left: Counter[tuple[str, ...]], right: Counter[tuple[str, ...]]) -> float:
    return (left & right).total() / (left | right).total()


# -- by hand ------------------------------------------------------------------------------------


def test_the_spots_of_a_sentence() -> None:
    text = "A ferry was late, said the old captain, and it is to wait for a tug at the pier."
    assert list(spots(features(text).words(), ANTECEDENTS, STOP_WORDS, 2)) == [
        ("a", "ferry", "late"),
        ("was", "late", "old"),
        ("said", "old", "captain"),
        ("the", "old", "captain"),
        ("is", "wait", "tug"),
        ("a", "tug", "pier"),
    ]  # behind "the pier" the text ends


def test_the_spots_of_a_chinese_sentence() -> None:
    text = "渔民的孩子在冰面上滑冰，是北港的老习惯。"
    assert list(spots(features(text).words(), ANTECEDENTS, STOP_WORDS, 2)) == [
        ("的", "孩子", "冰面"),
        ("在", "冰面", "滑冰"),
        ("是", "北港", "老"),
        ("的", "老", "习惯"),
    ]


def test_a_spot_distance_of_d_takes_every_dth_word() -> None:
    words = ["the", "one", "two", "three", "four", "five", "six", "seven"]
    assert list(spots(words, {"the": 1}, (), 3)) == [("the", "one", "two", "three")]
    assert list(spots(words, {"the": 2}, (), 3)) == [("the", "two", "four", "six")]
    assert list(spots(words, {"the": 2}, ("two", "four"), 2)) == [("the", "three", "six")]
    assert list(spots(words, {"the": 3}, (), 3)) == []


def test_two_thirds_of_the_spots_in_common() -> None:
    old = "The alpha beta. The gamma delta. The epsilon zeta. The eta theta. The iota kappa."
    new = old.replace("gamma", "digamma")
    match = compare(new, old)
    assert match == Match(4 / 6, Relation.NEAR_DUPLICATE, {"spots": "4 of 6", "sizes": [5, 5]})
    assert compare(new, old, SpotSigs(tau=0.67)) is None


def test_a_spot_counts_as_often_as_it_appears() -> None:
    pair = ("The alpha beta. " * 4 + "The gamma delta. " * 6, "The alpha beta. " * 6 + "The gamma delta. " * 4)
    match = compare(*pair)
    assert match is not None
    assert match.evidence["spots"] == "8 of 12"


# -- no pair is lost ----------------------------------------------------------------------------

VOCABULARY = [f"{stem}{end}" for stem in ("b", "harbour", "北港口", "冰") for end in "abcdef"]
pages = st.lists(
    st.lists(st.sampled_from([*VOCABULARY, "the", "a", "的"]), min_size=5, max_size=60).map(" the ".join),
    min_size=2,
    max_size=8,
)


def copied(text: str, seed: int) -> str:
    """A copy with some words replaced, and some left out at its end."""
    chance = random.Random(seed)
    words = [chance.choice(VOCABULARY) if chance.random() < 0.08 else word for word in text.split()]
    return " ".join(words[: len(words) - chance.randrange(len(words) // 2)])


@settings(max_examples=30, deadline=None)
@given(pages, st.integers(0, 99), st.sampled_from([0.1, 0.3, 0.44, 0.7, 1.0]))
def test_all_pairs_of_brute_force_share_a_key_and_match(texts: list[str], seed: int, tau: float) -> None:
    detector = SpotSigs(tau=tau, filed=0, least=1)
    texts = [*texts, *(copied(text, seed) for text in texts)]
    found = {text: detector.fingerprint(features(text)) for text in texts}
    for new, old in itertools.combinations(found, 2):
        of_new, of_old = found[new], found[old]
        if of_new is None or of_old is None:
            assert not spots_of(new) or not spots_of(old)
            continue
        true = jaccard(spots_of(new), spots_of(old))
        match = detector.compare(of_new.sketch, of_old.sketch)
        assert (match is not None) == (true >= tau)
        if match is not None:
            assert match.similarity == true
            assert meet(of_new, of_old)
            assert meet(of_old, of_new)


def test_all_pairs_of_real_pages_share_one_of_16_keys() -> None:
    rows = list(read_labelled_pages(data("reprints", "dev.jsonl.gz")))
    stories = {row.cluster.partition("#")[0] for row in rows[:5]}
    chosen = [row for row in rows if row.cluster.partition("#")[0] in stories]
    read = [features(read_page(row.html or "", row.url).text) for row in chosen]
    counted = [Counter(spots(page.words(), ANTECEDENTS, STOP_WORDS, 2)) for page in read]
    found = [SPOTSIGS.fingerprint(page) for page in read]
    pairs = 0
    for (new, of_new), (old, of_old) in itertools.combinations(zip(found, counted, strict=True), 2):
        if new and old and jaccard(of_new, of_old) >= SPOTSIGS.tau:
            pairs += 1
            assert SPOTSIGS.compare(new.sketch, old.sketch)
            assert meet(new, old)
            assert meet(old, new)
    assert pairs > 20
    assert max(len(one.keys) for one in found if one) == 16


def test_a_bound_of_the_keys_misses_no_more_than_documented() -> None:
    chance = random.Random(8)
    detector = SpotSigs(filed=4)
    trials, lost, bound = 300, 0, 0.0
    for _ in range(trials):
        words = [f"{chance.randrange(10**9):09}" for _ in range(120)]
        old = " the ".join(words)
        new = " the ".join(word if chance.random() < 0.8 else word[::-1] for word in words)
        true = jaccard(spots_of(new), spots_of(old))
        if true >= detector.tau:
            bound += (1 - true) ** 4
            lost += not meet(fingerprint(new, detector), fingerprint(old, detector))
    assert 0 < lost <= bound + 4 * sqrt(bound)


def test_a_page_looks_only_where_its_copies_can_be() -> None:
    long = " ".join(f"the longword{at} other{at}" for at in range(60))
    short = " ".join(f"the longword{at} other{at}" for at in range(20))
    assert compare(short, long) is None
    assert not meet(fingerprint(short, EVERY_PAIR), fingerprint(long, EVERY_PAIR))
    half = " ".join(f"the longword{at} other{at}" for at in range(30))
    assert compare(half, long) is not None
    assert meet(fingerprint(half), fingerprint(long))


def test_rare_spots_are_the_first_keys() -> None:
    common = " ".join(f"the go up{at}" for at in range(40))
    rare = " ".join(f"the extraordinary circumstance{at}" for at in range(16))
    keys = set(fingerprint(f"{rare} the {common}").keys)
    assert keys == set(fingerprint(f"{common} {rare} the go").keys)
    assert len(keys) == 16


# -- pages --------------------------------------------------------------------------------------

MENU = " ".join(f"Channel{at} Photos Videos Tickets Weather{at} Traffic Login Subscribe" for at in range(20))
FOOTER = " ".join(f"Partner{at} Imprint Privacy Jobs Press{at} Newsletter Contact" for at in range(20))
CHINESE_MENU = " ".join(f"频道{at} 图片 视频 购票 天气{at} 交通 登录 订阅 手机版" for at in range(20))


@pytest.mark.parametrize(
    ("new", "old"), [(f"{MENU} {ENGLISH}", f"{ENGLISH} {FOOTER}"), (f"{CHINESE_MENU} {CHINESE}", f"{CHINESE} {FOOTER}")]
)
def test_copies_inside_noisy_pages_are_found_that_shingling_misses(new: str, old: str) -> None:
    match = compare(new, old)
    assert match is not None
    assert match.relation is Relation.NEAR_DUPLICATE
    assert meet(fingerprint(new), fingerprint(old))
    shingling = Shingling()
    sketches = [shingling.fingerprint(features(text)) for text in (new, old)]
    assert sketches[0] is not None
    assert sketches[1] is not None
    assert shingling.compare(sketches[0].sketch, sketches[1].sketch) is None


@pytest.mark.parametrize(("new", "old"), [(ENGLISH, OTHER_ENGLISH), (CHINESE, OTHER_CHINESE)])
def test_other_stories_in_one_template_do_not_match(new: str, old: str) -> None:
    assert compare(f"{MENU} {new} {FOOTER}", f"{MENU} {old} {FOOTER}") is None


@pytest.mark.parametrize("text", ["", MENU, "the the the the the", "ท่าเรือกลายเป็นน้ำแข็งในตอนกลางคืน", "😀😃"])
def test_a_page_without_spots_has_no_fingerprint(text: str) -> None:
    assert SPOTSIGS.fingerprint(features(text)) is None


def test_a_page_with_fewer_spots_than_wanted_has_no_fingerprint() -> None:
    text = "The alpha beta. The gamma delta. The epsilon zeta."
    assert SPOTSIGS.fingerprint(features(text)) is None
    assert SpotSigs(least=3).fingerprint(features(text)) is not None


def test_other_languages_have_antecedents_of_their_own() -> None:
    text = "Der Hafen fror über Nacht zu, und die Fähren lagen weiß vor den Molen. " * 4
    german = SpotSigs(antecedents={"Der": 1, "die": 1, "den": 1}, stop_words=["und", "vor", "zu"])
    assert SPOTSIGS.fingerprint(features(text)) is None
    assert german.antecedents == {"der": 1, "die": 1, "den": 1}
    assert fingerprint(text, german).keys
    assert german.scheme() != SPOTSIGS.scheme()


def test_what_a_page_costs() -> None:
    found = fingerprint(ENGLISH)
    assert spots_of(ENGLISH).total() == 24
    assert len(found.keys) == 24 - 11 + 1  # a match shares at least 0.44 * 24 spots
    assert len(found.sketch) == 1 + 4 * 24


@pytest.mark.parametrize(
    ("constant", "value", "accepted"),
    [
        ("tau", 0, "above 0"),
        ("tau", 1.01, "at most 1"),
        ("antecedents", {}, "a dict from words to spot distances"),
        ("antecedents", ["the"], "a dict from words to spot distances"),
        ("antecedents", {"the": 0}, "from 1 to 64"),
        ("antecedents", {"the": True}, "whole numbers"),
        ("antecedents", {"of the": 1}, "words"),
        ("antecedents", {3: 1}, "words"),
        ("stop_words", "und", "a list of words"),
        ("stop_words", ["und", ""], "a list of words"),
        ("chain", 0, "from 1 to 16"),
        ("least", 0, "from 1 to 1000"),
        ("filed", -1, "from 0 to 1000"),
        ("seed", 2**64, "from 0"),
    ],
)
def test_constants_that_make_no_sense_are_named(constant: str, value: object, accepted: str) -> None:
    with pytest.raises(SettingError, match=accepted) as caught:
        SpotSigs(**{constant: value})  # type: ignore[arg-type]
    assert caught.value.name == f"detectors['spotsigs'].{constant}"


def test_no_page_has_more_keys_than_a_record_can_count() -> None:
    detector = SpotSigs(filed=0)
    text = " ".join(f"the harbourmaster{n} icebreaker{n}" for n in range(40_000))
    found = fingerprint(text, detector)
    assert len(found.keys) == 4096
    assert len(found.probes or ()) <= 3 * 4096
    assert meet(found, fingerprint(text[: len(text) * 9 // 10], detector))


taus = st.one_of(st.sampled_from([0.1, 0.3, 0.44, 0.5, 0.6, 0.7, 0.9, 1.0]), st.floats(0.05, 1))


def test_the_partitions_for_the_papers_threshold() -> None:
    assert partition_starts(0.44, 8) == (1, 2, 3, 5, 10, 21, 46, 103, 232)
    assert [partition_of(size, 0.44) for size in (1, 2, 3, 4, 5, 45, 46, 102, 103)] == [0, 1, 2, 2, 3, 5, 6, 6, 7]


@pytest.mark.parametrize(
    ("size", "tau", "least", "greatest"),
    [(60, 0.44, 27, 136), (3, 0.1, 1, 30), (10, 0.5, 5, 20), (7, 1.0, 7, 7), (1, 0.44, 1, 2)],
)
def test_partners_by_hand(size: int, tau: float, least: int, greatest: int) -> None:
    assert smallest_partner(size, tau) == least
    assert largest_partner(size, tau) == greatest


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 80), taus)
def test_partners_are_all_sizes_whose_ratio_is_great_enough(size: int, tau: float) -> None:
    limit = int(size / tau) + 3
    partners = [other for other in range(1, limit) if min(size, other) / max(size, other) >= tau]
    assert (smallest_partner(size, tau), largest_partner(size, tau)) == (partners[0], partners[-1])


@settings(max_examples=100, deadline=None)
@given(st.integers(1, 5000), taus)
def test_partners_are_no_further_than_the_next_partition(size: int, tau: float) -> None:
    own = partition_of(size, tau)
    starts = partition_starts(tau, own + 1)
    assert starts[own] <= size < starts[own + 1]
    assert partition_of(smallest_partner(size, tau), tau) >= own - 1
    assert partition_of(largest_partner(size, tau), tau) <= own + 1


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 40), st.integers(1, 40), taus)
def test_a_prefix_is_as_short_as_the_least_overlap_allows(size: int, partner: int, tau: float) -> None:
    if min(size, partner) / max(size, partner) >= tau:
        overlaps = range(1, min(size, partner) + 1)
        needed = next(common for common in overlaps if common / (size + partner - common) >= tau)
        assert prefix_length(size, partner, tau) == size - needed + 1


def test_every_pair_of_small_sets_that_is_alike_shares_an_element_of_its_prefixes() -> None:
    universe = range(7)
    sets = [set(each) for size in range(1, 8) for each in itertools.combinations(universe, size)]
    for tau in (0.3, 0.44, 0.6, 0.75):
        for left, right in itertools.combinations(sets, 2):
            if oracles.jaccard(left, right) >= tau:
                first = sorted(left)[: prefix_length(len(left), smallest_partner(len(left), tau), tau)]
                other = sorted(right)[: prefix_length(len(right), smallest_partner(len(right), tau), tau)]
                assert set(first) & set(other), (tau, left, right)


@pytest.mark.parametrize("tau", [0.44, 0.99, 1.0])
def test_partitions_of_many_sizes_are_remembered_in_few_tables(tau: float) -> None:
    partition_starts.cache_clear()
    for size in range(1, 2000):
        number = partition_of(size, tau)
        assert smallest_in_partition(number, tau) <= size < smallest_in_partition(number + 1, tau)
    assert partition_starts.cache_info().currsize <= 9
