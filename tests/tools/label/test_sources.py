"""The pairs of a batch and of a crawl."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Page
from dedupcrawl.errors import DedupError
from dedupcrawl.ledger.ledger_schema import LedgerLimits
from dedupcrawl.tools.label import sources
from dedupcrawl.tools.label.sampling import COPY, MISS, PART
from dedupcrawl.tools.label.sources import load_batch, load_ledgers
from dedupcrawl.utils.iteration import NoProgress
from tests.batch.corpus import Batch, story, write_lines
from tests.tools.label.runs import WORDS, ledger, web
from tests.tools.report.judged_ledgers import changed, write

if TYPE_CHECKING:
    from dedupcrawl.tools.label.sampling import OfferedPair, StratifiedSampler


def all_of(sampler: StratifiedSampler) -> list[OfferedPair]:
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
    monkeypatch.setattr(sources, "MAX_TEXTS", 2)
    some = load_batch(out, None, NoProgress())
    copies = [each for each in all_of(some.sampler) if each.relation]
    strata = {some.sampler.stratum(each) for each in copies}
    assert len(copies) == 2 * len(strata)
    of_whole = {whole.sampler.stratum(each) for each in all_of(whole.sampler) if each.relation}
    assert sum(each.size for each in strata) == sum(each.size for each in of_whole)


def test_what_is_no_batch_is_reported(tmp_path: Path) -> None:
    with pytest.raises(DedupError):
        load_batch(tmp_path, None, NoProgress())
