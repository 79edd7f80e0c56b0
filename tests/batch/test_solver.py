from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.columns import FingerprintTable
from dedupcrawl.batch.solver import HotBucketCounts, SolverResult, solve
from dedupcrawl.config import Config
from dedupcrawl.decision import cluster_of
from dedupcrawl.page.model import Page
from dedupcrawl.stores.base import BUCKET_CAP, Record
from tests.batch.corpus import labelled_pages
from tests.batch.verdict_rows import filed, one_by_one, prints_of, rules_of, solution_rows, solved

WORDS = "harbour ferry ice pier night crew winter island signal lamp rope tide anchor engine captain".split()  # noqa: SIM905


@pytest.mark.parametrize("detectors", [("exact", "minhash"), ("simhash",), ("feature_code",), ("combined",)])
def test_the_verdicts_are_those_of_a_crawl(detectors: tuple[str, ...]) -> None:
    config = Config(detectors=detectors)
    prints = filed(config, labelled_pages())
    assert solution_rows(prints, solved(config, prints)) == one_by_one(config, labelled_pages())


@st.composite
def corpora(draw: st.DrawFn) -> list[Page]:
    """Pages of few stories, each cut or lengthened a little, some of them at one address."""
    pages = []
    for number in range(draw(st.integers(0, 25))):
        story, cut, more = draw(st.tuples(st.integers(0, 3), st.integers(0, 30), st.integers(0, 12)))
        words = [f"{WORDS[(7 * story + place) % len(WORDS)]}{(story + place) % 9}" for place in range(90)]
        text = " ".join([*words[cut:], *(f"more{each}" for each in range(more))])
        site = draw(st.sampled_from(["", "https://a.example/1", f"https://b.example/{number}"]))
        pages.append(Page.from_text(draw(st.sampled_from([text, "", "short"])) or text, site))
    return pages


@given(corpora(), st.sampled_from([("exact", "minhash"), ("minhash",), ("simhash",), ("feature_code",)]))
@settings(max_examples=60, deadline=None)
def test_any_corpus_is_judged_as_by_a_crawl(pages: list[Page], detectors: tuple[str, ...]) -> None:
    config = Config(detectors=detectors, min_chars=20)
    prints = filed(config, pages, size=7)
    assert solution_rows(prints, solved(config, prints)) == one_by_one(config, pages)


@given(corpora(), st.integers(0, 25))
@settings(max_examples=30, deadline=None)
def test_what_an_earlier_run_kept_counts_as_kept(pages: list[Page], cut: int) -> None:
    config = Config(min_chars=20)
    prints = filed(config, pages)
    whole = solved(config, prints)
    before = kept_records(prints, whole, cut)
    rest = filed(config, pages[cut:])
    both = FingerprintTable([*prints_of(before, 2).batches, *rest.batches])
    later = solved(config, both, prior=len(before))
    assert solution_rows(both, later)[len(before) :] == solution_rows(prints, whole)[cut:]


def kept_records(prints: FingerprintTable, found: SolverResult, until: int) -> list[Record]:
    """The records of the kept pages among the first, with the clusters that they joined."""
    rows = [row for row in np.flatnonzero(found.keep[:until]).tolist() if prints.judgeable()[row]]
    names = [cluster_of(prints.record(int(found.founder[row]))) for row in rows]
    return [replace(prints.record(row), cluster=name) for row, name in zip(rows, names, strict=True)]


@given(corpora(), st.randoms())
@settings(max_examples=30, deadline=None)
def test_another_order_is_another_crawl(pages: list[Page], random: st.randoms) -> None:  # type: ignore[valid-type]
    config = Config(min_chars=20)
    order = list(range(len(pages)))
    random.shuffle(order)  # type: ignore[attr-defined]
    prints = filed(config, pages)
    found = solution_rows(prints, solved(config, prints, order))
    assert [found[row] for row in order] == one_by_one(config, [pages[row] for row in order])


def _page(number: int, *keys: int, sketch: bytes, text: bytes = b"") -> Record:
    """Return a record; ``text`` is the hash of the text, which follows the sketches if none of them is one."""
    sketches = (sketch, text) if text else (sketch,)
    return Record(f"https://a.example/{number}", tuple(k.to_bytes(6, "big") for k in keys), sketches, float(number))


def _exact(content: int) -> bytes:
    return content.to_bytes(16, "big")


def test_a_page_is_compared_with_the_newest_of_a_crowded_bucket() -> None:
    """All share a key; between the first page and its copy there is one page more than is read of a bucket."""
    config = Config(detectors=("exact",))
    apart = [_page(n, 7, sketch=_exact(n)) for n in range(BUCKET_CAP + 1)]
    near, far = _page(98, 7, sketch=_exact(1)), _page(99, 7, sketch=_exact(0))
    found = solve(prints_of([*apart, near, far], 1), rules_of(config))
    assert found.keep.tolist() == [True] * len(apart) + [False, True]
    assert found.hot_buckets == HotBucketCounts(buckets=1, pages=2, fullest=BUCKET_CAP + 2)


def test_a_long_chain_ends() -> None:
    """Each page is like the one before it alone: every second one stays."""
    config = Config(detectors=("simhash",), min_chars=1)
    bits = [(1 << 3 * min(n, 20)) - 1 for n in range(21)]
    records = [
        _page(n, n, n + 1, sketch=b"\x48" + each.to_bytes(8, "little"), text=_exact(n)) for n, each in enumerate(bits)
    ]
    found = solve(prints_of(records, 2), rules_of(config))
    assert found.keep.tolist() == [n % 2 == 0 for n in range(21)]


def test_ten_thousand_copies_cost_a_comparison_each() -> None:
    compared: list[int] = []
    rules = rules_of(Config(detectors=("exact",)))
    decide = rules.decide

    def counting(record: Record, met: object) -> object:
        pairs = list(met)  # type: ignore[call-overload]
        compared.append(len(pairs))
        return decide(record, pairs)

    rules.decide = counting  # type: ignore[method-assign, assignment]
    records = [_page(n, 7, sketch=_exact(0)) for n in range(10_000)]
    found = solve(prints_of(records, 1), rules)
    assert np.count_nonzero(found.keep) == 1
    assert sum(compared) == len(records) - 1


def test_nothing_is_a_corpus_too() -> None:
    assert len(solve(prints_of([], 1), rules_of(Config())).keep) == 0
