"""Claims of the sources that are quick to check; ``benchmarks/claims.py`` checks all of them."""

from __future__ import annotations

from itertools import islice

import pytest

from benchmarks.claims import RATIOS, UNBOUND, report
from benchmarks.links import LinkCounts, Sample, anchors, bundled, count_all_links, count_links, marked, shares
from benchmarks.punctuation import judge_by_punctuation, punctuation_string
from dedupcrawl.config import Config
from dedupcrawl.detectors.base import MAX_LENGTH_SLACK
from dedupcrawl.page import ReadOptions
from dedupcrawl.tools.evaluation.dataset import ParsedPageCache, read_labelled_pages
from tests.data import data

MENU = "".join(f'<a href="/{name}">{name}</a> | ' for name in ("Home", "Health", "Sport", "Money", "Travel"))
PAGE = f"""
<nav>{MENU}</nav>
<div>By <a href="/ann">Ann Lee</a> for the Gazette, from our office in the north of the city</div>
<div>Mumps is back, says the <a href="/who">world health body</a>, and it asks parents to
look at <a href="/card.pdf">the card</a> of their children. Health is what matters most to us all.</div>
<div><a href="/1">One story</a></div>
""".encode()
TRUTH = (
    "Mumps is back, says the world health body, and it asks parents to\nlook at the card of their children. "
    "Health is what matters most to us all."
)
SAMPLE = Sample(PAGE, TRUTH)


def test_links_are_judged_one_by_one() -> None:
    found = {anchor.label: anchor for anchor in anchors(PAGE, ReadOptions())}
    assert list(found) == ["Home", "Health", "Sport", "Money", "Travel", "Ann Lee", "world health body", "One story"]
    assert [label for label, anchor in found.items() if anchor.kept] == ["Ann Lee", "world health body"]
    assert found["world health body"].sentence == "saystheworldhealthbody,andit"
    assert found["Sport"].sentence == ""
    assert "the card" not in found  # a file: the rules never touch it


def test_the_definitions_differ_in_words_that_also_stand_in_a_menu() -> None:
    by_text = count_links(SAMPLE, ReadOptions(), in_sentence=False)
    assert by_text == LinkCounts(statements=2, statements_kept=1, guides=6, guides_removed=5)  # "Health" of the menu
    in_sentence = count_links(SAMPLE, ReadOptions(), in_sentence=True)
    assert in_sentence == LinkCounts(statements=1, statements_kept=1, guides=7, guides_removed=6)  # "Ann Lee" stays


def test_runs_in_mixed_blocks_lose_their_links_only() -> None:
    tags = "".join(f'<a href="/t{n}">tag {n}</a> ' for n in range(5))
    page = f"<div>A short text with <a href='/in'>one link</a> inside and no more. Tags: {tags}</div>".encode()
    kept = {anchor.label: anchor.kept for anchor in anchors(page, ReadOptions())}
    assert kept == {"one link": True, **{f"tag {n}": False for n in range(5)}}


def test_shares_are_of_links_and_of_pages() -> None:
    found = shares(
        [LinkCounts(2, 2, 10, 10), LinkCounts(2, 1, 10, 9), LinkCounts(0, 0, 20, 10), LinkCounts(0, 0, 0, 0)]
    )
    assert (found.kept, found.pages_keeping_all) == (0.75, 0.5)
    removed = [found.removed, found.pages_rid_of_all, found.pages_rid_of_most]
    assert removed == pytest.approx([29 / 40, 1 / 3, 2 / 3])


def test_the_reader_cuts_what_the_rules_leave_outside_the_main_text() -> None:
    paragraphs = "".join(
        f"<p>Rain fell on day {n}, as the <a href='/office{n}'>weather office</a> said, and rivers rose.</p>"
        for n in range(5)
    )
    page = f"<main>{paragraphs}</main><div>Read on <a href='/x'>page two</a> or go back to the start</div>"
    by_rules, by_reader = (
        {anchor.label: anchor.kept for anchor in anchors(page, ReadOptions(), whole=whole)} for whole in (False, True)
    )
    assert by_rules == {"weather office": True, "page two": True}
    assert by_reader == {"weather office": True, "page two": False}


@pytest.mark.parametrize("in_sentence", [False, True])
def test_on_the_bundled_pages_statement_links_stay_and_guide_links_go(*, in_sentence: bool) -> None:
    """The source: at least 98 in 100 of both. By their text alone, menus hold statements too: they go."""
    found = shares(count_all_links(bundled(), in_sentence=in_sentence, whole=True))
    assert found.guides > 3000
    assert found.removed >= 0.98
    assert found.statements >= 40
    assert not in_sentence or found.kept >= 0.98


@pytest.mark.parametrize("name", ["aeb", "cwced"])
def test_link_rules_keep_links_in_sentences(name: str) -> None:
    """The source claims this for all pages. The removed guide links are in the docs: fewer than claimed."""
    found = shares(count_all_links(marked(data("pages", name)), in_sentence=True))
    assert found.statements > 200
    assert found.kept >= 0.98


@pytest.fixture(scope="module")
def cache() -> ParsedPageCache:
    return ParsedPageCache(read_labelled_pages(data("reprints", "dev.jsonl.gz")))


def test_length_ratio_more_than_halves_wrong_drops(cache: ParsedPageCache) -> None:
    """The source: 26 → 9 of 902 pages."""
    without = report(cache, "feature_code", length_ratio=UNBOUND, length_slack=MAX_LENGTH_SLACK)
    bound = report(cache, "feature_code", length_ratio=1.10, length_slack=MAX_LENGTH_SLACK)
    assert 1.10 in RATIOS
    assert 2 * bound.wrongly_dropped < without.wrongly_dropped
    assert 2 * bound.pairs.false_positives < without.pairs.false_positives
    assert bound.rightly_dropped > without.rightly_dropped
    default = report(cache, "feature_code")
    assert default.wrongly_dropped < bound.wrongly_dropped
    assert default.missed == bound.missed


def test_punctuation_strings_find_only_copies_that_are_equal_word_for_word(cache: ParsedPageCache) -> None:
    """The source: precision 100 %, and the lowest recall of its three methods."""
    strings, boolean = judge_by_punctuation(cache.read(Config())), report(cache, "boolean")
    assert strings.drops.precision > 0.98
    assert 0.1 < strings.drops.recall < boolean.drops.recall


def test_a_punctuation_string_joins_what_is_around_the_marks() -> None:
    text = "雨下了一天。安说：“河水涨了！”"
    assert punctuation_string(text) == "天。安说：“：“河了！”！”"
    assert punctuation_string("no mark") == ""


def test_spots_find_copies_in_noisy_pages_that_shingles_miss() -> None:
    rows = islice(read_labelled_pages(data("reprints", "dev.jsonl.gz")), 300)
    cache = ParsedPageCache(rows)
    spots, plain = (report(cache, name, reader="text") for name in ("spotsigs", "shingling"))
    missed = [{each.row.id for each in one.mistakes if each.kind == "missed"} for one in (spots, plain)]
    assert len(missed[1] - missed[0]) > 50
    assert not missed[0] - missed[1]
