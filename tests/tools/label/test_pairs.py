"""The pairs of a batch and of a crawl."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl import Page
from dedupcrawl.errors import DedupError
from dedupcrawl.ledger.ledger_schema import LedgerLimits
from dedupcrawl.tools.label import pairs
from dedupcrawl.tools.label.pairs import (
    COPY,
    FAR,
    MISS,
    NEAR,
    PART,
    kind_of,
    load_batch,
    load_ledgers,
    sampling_order,
    zone_of,
)
from dedupcrawl.utils.iteration import NoProgress
from tests.batch.corpus import Batch, story, write_lines
from tests.tools.label.offers import pair, sampler_of
from tests.tools.label.runs import WORDS, ledger, web
from tests.tools.report.judged_ledgers import changed, write

if TYPE_CHECKING:
    from dedupcrawl.tools.label.pairs import OfferedPair, StratifiedSample


def all_of(sampler: StratifiedSample) -> list[OfferedPair]:
    asked: dict[str, OfferedPair] = {}
    while pair := sampler.next_pair(asked):
        asked[pair.id] = pair
    return list(asked.values())


def test_copies_and_near_misses_are_asked_about_with_their_texts(tmp_path: Path) -> None:
    pages = web(8, 8)
    loaded = load_ledgers([ledger(tmp_path / "run.ledger", pages)])
    texts = {page.url: page.text for page in pages}
    pairs = all_of(loaded.sampler)
    assert {(each.new.text, each.old.text) for each in pairs} == {
        (texts[each.new.url], texts[each.old.url]) for each in pairs
    }
    kinds = {each.new.url: loaded.sampler.stratum(each).kind for each in pairs}
    assert sum("same.example" in url for url in kinds) == 8
    assert all(kind == COPY for url, kind in kinds.items() if "same.example" in url)
    assert MISS in kinds.values()
    assert all(each.is_dropped == (each.relation == "near-duplicate") for each in pairs)
    assert loaded.sampler.around == 0.8
    assert loaded.without_text == 0
    assert loaded.name == "Crawl of the spider news"


def test_nobody_is_asked_about_what_needs_no_person(tmp_path: Path) -> None:
    text = story(1, words=WORDS)
    pages = [
        Page(text=text, url="https://a.example/1"),
        Page(text=text, url="https://b.example/1"),  # identical
        Page(text=text, url="https://a.example/1"),  # unchanged
        Page(text=changed(text, 4), url="https://a.example/1"),  # updated
    ]
    assert all_of(load_ledgers([ledger(tmp_path / "run.ledger", pages)]).sampler) == []


def test_parts_are_asked_about(tmp_path: Path) -> None:
    text = story(2, words=WORDS)
    half = " ".join(text.split()[: WORDS * 2 // 3])
    pages = [Page(text=text, url="https://a.example/1"), Page(text=half, url="https://b.example/1")]
    loaded = load_ledgers([ledger(tmp_path / "run.ledger", pages)])
    (pair,) = all_of(loaded.sampler)
    assert (pair.relation, loaded.sampler.stratum(pair).kind, pair.is_dropped) == ("excerpt", PART, False)


def test_the_same_two_texts_are_asked_about_once(tmp_path: Path) -> None:
    text = story(1, words=WORDS)
    near = changed(text, 3)
    pages = [
        Page(text=text, url="https://a.example/"),
        *(Page(text=near, url=f"https://{n}.example/") for n in range(5)),
    ]
    loaded = load_ledgers([ledger(tmp_path / "run.ledger", pages)])
    (pair,) = all_of(loaded.sampler)
    assert loaded.sampler.stratum(pair).size == 1


def test_workers_find_each_others_pages(tmp_path: Path) -> None:
    """One store, two ledgers: pages dropped by the second worker match pages in the ledger of the first."""
    pages, store = web(6, 0), f"lmdb://{tmp_path / 'store'}"
    write(tmp_path / "1.ledger", pages[::2], store=store)
    write(tmp_path / "2.ledger", pages[1::2], store=store, begin=1_700_009_000.0)
    alone = load_ledgers([tmp_path / "2.ledger"])
    assert (all_of(alone.sampler), alone.without_text) == ([], 6)
    both = load_ledgers([tmp_path / "1.ledger", tmp_path / "2.ledger"])
    assert len(all_of(both.sampler)) == 6
    assert both.without_text == 0


def test_an_older_page_is_shown_as_it_was_when_they_were_compared(tmp_path: Path) -> None:
    text = story(1, words=WORDS)
    pages = [
        Page(text=text, url="https://a.example/1"),
        Page(text=changed(text, 3), url="https://b.example/1"),
        Page(text=story(2, words=WORDS), url="https://a.example/1"),  # rewritten since
    ]
    (pair,) = all_of(load_ledgers([ledger(tmp_path / "run.ledger", pages)]).sampler)
    assert pair.old.text == text


def test_of_a_sampled_ledger_each_pair_represents_several(tmp_path: Path) -> None:
    """If a ledger keeps the texts of some clusters only, these represent all."""
    pages = [replace(page, title="") for page in web(200, 0)]
    room = sum(len(page.text) for page in pages) // 3
    write(tmp_path / "run.ledger", pages, limits=LedgerLimits(content_bytes=room))
    loaded = load_ledgers([tmp_path / "run.ledger"])
    pairs = all_of(loaded.sampler)
    assert len(pairs) < 120
    sizes = {loaded.sampler.stratum(pair) for pair in pairs}
    assert sum(each.size for each in sizes) == pytest.approx(200, rel=0.35)


def test_a_run_has_one_name_and_order_whenever_it_is_opened(tmp_path: Path) -> None:
    path = ledger(tmp_path / "run.ledger", web(5, 5))
    one, other = load_ledgers([path]), load_ledgers([path])
    assert one.sampler.run == other.sampler.run
    assert all_of(one.sampler) == all_of(other.sampler)
    assert ledger(tmp_path / "other.ledger", web(5, 5)) != path
    assert load_ledgers([tmp_path / "other.ledger"]).sampler.run != one.sampler.run


def test_what_is_no_ledger_is_reported(tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("{}\n" * 100)
    with pytest.raises(DedupError, match=r"items\.jsonl"):
        load_ledgers([tmp_path / "items.jsonl"])


PAGES = web(8, 8)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    rows = [{"url": page.url, "text": page.text} for page in PAGES]
    Batch(tmp_path).run(write_lines(tmp_path / "pages.jsonl", rows))
    return tmp_path / "out"


def test_copies_and_near_misses_come_with_the_texts_of_the_inputs(out: Path) -> None:
    loaded = load_batch(out, None, NoProgress())
    texts = {page.url: page.text for page in PAGES}
    pairs = all_of(loaded.sampler)
    assert all(each.new.text == texts[each.new.url] and each.old.text == texts[each.old.url] for each in pairs)
    kinds = {each.new.url: loaded.sampler.stratum(each).kind for each in pairs}
    assert {url for url in kinds if "same.example" in url} == {p.url for p in PAGES if "same.example" in p.url}
    assert all(kind == COPY for url, kind in kinds.items() if "same.example" in url)
    assert MISS in kinds.values()
    assert all(each.is_dropped == (each.relation == "near-duplicate") for each in pairs)
    assert (loaded.sampler.around, loaded.without_text) == (0.8, 0)
    assert load_batch(out, 0.9, NoProgress()).sampler.around == 0.9


def test_pairs_whose_texts_are_gone_are_counted(out: Path) -> None:
    before = load_batch(out, None, NoProgress())
    (out.parent / "pages.jsonl").unlink()
    gone = load_batch(out, None, NoProgress())
    assert all_of(gone.sampler) == []
    assert gone.without_text == len(all_of(before.sampler))


def test_of_many_some_are_read_and_stand_for_all(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_batch(out, None, NoProgress())
    monkeypatch.setattr(pairs, "MAX_TEXTS", 2)
    some = load_batch(out, None, NoProgress())
    copies = [each for each in all_of(some.sampler) if each.relation]
    strata = {some.sampler.stratum(each) for each in copies}
    assert len(copies) == 2 * len(strata)
    of_whole = {whole.sampler.stratum(each) for each in all_of(whole.sampler) if each.relation}
    assert sum(each.size for each in strata) == sum(each.size for each in of_whole)


def test_what_is_no_batch_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DedupError):
        load_batch(tmp_path, None, NoProgress())


RELATIONS = ("near-duplicate", "", "excerpt", "expansion")
SOME = st.lists(st.tuples(st.floats(0, 1), st.sampled_from(RELATIONS), st.sampled_from("abc")), min_size=1, max_size=40)


def drawn(sampler: StratifiedSample, most: int = 10_000) -> list[OfferedPair]:
    asked: set[str] = set()
    found: list[OfferedPair] = []
    while len(found) < most and (one := sampler.next_pair(asked, found[-1] if found else None)):
        asked.add(one.id)
        found.append(one)
    return found


@settings(deadline=None)
@given(SOME)
def test_each_pair_comes_once(given_: list[tuple[float, str, str]]) -> None:
    pairs = [pair(number, *each) for number, each in enumerate(given_)]
    sampler = sampler_of([*pairs, *pairs])
    found = drawn(sampler)
    assert Counter(each.id for each in found) == Counter(each.id for each in pairs)
    sizes = Counter((sampler.stratum(each).kind, sampler.stratum(each).zone) for each in pairs)
    assert all(
        sampler.stratum(each).size == sizes[sampler.stratum(each).kind, sampler.stratum(each).zone] for each in pairs
    )


@settings(deadline=None)
@given(SOME)
def test_a_cluster_comes_again_at_once_only_when_all_that_lie_uppermost_are_of_it(
    given_: list[tuple[float, str, str]],
) -> None:
    pairs = [pair(number, *each) for number, each in enumerate(given_)]
    sampler, asked = sampler_of(pairs), set[str]()
    for before, after in pairwise(drawn(sampler)):
        asked.add(before.id)
        if before.cluster == after.cluster:
            others = [each for each in pairs if each.id not in asked and each.cluster != after.cluster]
            strata = {sampler.stratum(each) for each in others}
            # all other pairs come after one of the same cluster in their stratum
            uppermost = [sampler_of(of, held=100).next_pair(asked) for of in _by_stratum(sampler, pairs).values()]
            heads = [each for each in uppermost if each]
            assert all(each.cluster == before.cluster for each in heads), strata


def _by_stratum(sampler: StratifiedSample, pairs: list[OfferedPair]) -> dict[object, list[OfferedPair]]:
    found: dict[object, list[OfferedPair]] = {}
    for each in pairs:
        found.setdefault(sampler.stratum(each), []).append(each)
    return found


def test_both_sides_of_the_threshold_take_turns_and_the_near_ones_more_often() -> None:
    near = [pair(number, 0.72 + number % 16 / 100, ("near-duplicate", "")[number % 2]) for number in range(200)]
    far = [pair(number, 0.95, "near-duplicate") for number in range(200, 1100)]
    sampler = sampler_of([*near, *far])
    first = Counter((sampler.stratum(each).kind, sampler.stratum(each).zone) for each in drawn(sampler, 80))
    assert first == {(COPY, NEAR): 20, (MISS, NEAR): 20, (COPY, FAR): 40}  # of 100, 100 and 900


def test_answers_change_nothing_about_who_comes() -> None:
    """The order depends only on which pairs were asked about, so these are a sample at any time."""
    pairs = [pair(number, number / 100, RELATIONS[number % 4]) for number in range(100)]
    whole = drawn(sampler_of(pairs))
    assert [each.id for each in drawn(sampler_of(reversed(pairs)), 30)] == [each.id for each in whole[:30]]


def test_every_pair_of_a_stratum_is_as_likely_to_be_among_the_first() -> None:
    pairs = [pair(number, 0.75 + number % 7 / 60) for number in range(20)]
    runs, first = 1_500, 5
    counts = Counter(each.id for run in range(runs) for each in sampling_order(f"run {run}", pairs)[:first])
    expected = runs * first / len(pairs)
    chi_square = sum((counts[each.id] - expected) ** 2 / expected for each in pairs)
    assert chi_square < 43.8  # 19 degrees of freedom, one in a thousand; the hashes are always the same


def test_the_first_ones_are_spread_over_the_similarity() -> None:
    pairs = [pair(number, 0.7 + number / 1000) for number in range(200)]
    for run in range(20):
        bins = Counter(int(each.similarity * 20 + 1e-9) for each in sampling_order(f"run {run}", pairs)[:40])
        assert set(bins) == {14, 15, 16, 17}
        assert max(bins.values()) - min(bins.values()) <= 2


def test_more_than_can_be_held_are_counted() -> None:
    sampler = sampler_of((pair(number) for number in range(1000)), held=50)
    sampler.count("near-duplicate", 0.85)
    found = drawn(sampler)
    assert len(found) == 50
    assert sampler.stratum(found[0]).size == 1001
    assert sampler.remaining(set()) == 50


def test_a_pair_of_a_sample_represents_several() -> None:
    sampler = sampler_of([])
    sampler.add(pair(1), stands_for=8)
    sampler.add(pair(2), stands_for=8)
    assert sampler.stratum(pair(1)).size == 16


@pytest.mark.parametrize(
    ("relation", "kind"), [("", MISS), ("near-duplicate", COPY), ("excerpt", PART), ("expansion", PART)]
)
def test_kinds(relation: str, kind: str) -> None:
    assert kind_of(relation) == kind


@pytest.mark.parametrize(
    ("similarity", "around", "zone"),
    [(0.71, 0.8, NEAR), (0.89, 0.8, NEAR), (0.69, 0.8, FAR), (0.91, 0.8, FAR), (0.95, 0.97, FAR), (0.96, 0.97, NEAR)],
)
def test_what_is_near_depends_on_how_much_lies_above_the_threshold(similarity: float, around: float, zone: str) -> None:
    assert zone_of(similarity, around) == zone


def test_the_same_texts_are_the_same_pair_wherever_they_stand() -> None:
    one, other = pair(1), pair(1)
    turned = type(one)(one.old, one.new, "", 0.5, "exact", "elsewhere")
    assert one.id == other.id == turned.id != pair(2).id
