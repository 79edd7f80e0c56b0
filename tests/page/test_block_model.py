"""When the block model is asked, and what it may not choose."""

from __future__ import annotations

import tracemalloc
from itertools import count
from math import inf

import numpy as np
import pytest

from dedupcrawl.page import ReadOptions, block_model, read_page, read_tree
from dedupcrawl.page import time_limit as limits
from dedupcrawl.page.block_features import MIN_OWN_TEXT, BlockFeatures, block_features, is_familiar
from dedupcrawl.page.block_model import CHUNK, ForestTables, needs_no_model, unread_bytes
from dedupcrawl.page.block_reader import classify
from dedupcrawl.page.document import parse
from dedupcrawl.page.rules import REPEATED
from dedupcrawl.page.scoring import MIN_ARTICLE_BYTES
from dedupcrawl.page.time_limit import TooSlowError, time_limit

SENTENCE = "The council of the town met on Monday to talk about the old bridge over the river, closed since March. "
PUBLISHED = '<meta property="article:published_time" content="2024-03-01">'
COMMENTS = "".join(
    f'<div class="comment-body"><p>{SENTENCE}Reader {n} of the paper says that it is too late now.</p></div>'
    for n in range(9)
)

LABELS = f"<table class=sidebar><tr>{''.join(f'<td>Label {n}</td>' for n in range(300))}</tr></table>"


def article(paragraphs: int, beside: str = "", head: str = "") -> str:
    text = "".join(f"<p>{SENTENCE * 2} Part {n} of the report.</p>" for n in range(paragraphs))
    return f"<head>{head}</head><body><div class='story'><h1>The bridge</h1>{text}</div><div>{beside}</div></body>"


def features_of(html: str) -> tuple[BlockFeatures, list[str]]:
    tree, reasons, _ = classify(parse(html), ReadOptions())
    return block_features(tree, reasons), [block[0] for block in tree.blocks]


def test_the_gate_sees_the_page_only_where_it_is_asked() -> None:
    for head, is_asked in (("", False), (PUBLISHED, True)):
        tree, reasons, _ = classify(parse(article(8, beside=COMMENTS, head=head)), ReadOptions())
        used, trained = (block_features(tree, reasons, for_training=each) for each in (False, True))
        assert (used.is_familiar, len(used.page) > 0, len(trained.page) > 0) == (is_asked, is_asked, True)
        assert np.array_equal(used.rows, trained.rows)
        assert not is_asked or np.array_equal(used.page, trained.page)


def settled(html: str) -> bool:
    tree, reasons, kept = classify(parse(html), ReadOptions())
    return needs_no_model(tree, reasons, kept, unread_bytes(tree.blocks, reasons))


def test_the_model_is_not_asked_where_little_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise AssertionError("the model was asked")

    html = article(8, beside="<p>Our office is open on weekdays.</p>")
    assert not is_familiar(classify(parse(html), ReadOptions())[0])
    monkeypatch.setattr(block_model, "load_model", fail)
    assert read_page(html).text.count("Part ") == 8


def test_the_model_is_asked_where_much_was_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    load = block_model.load_model

    def count() -> tuple[ForestTables, ForestTables]:
        asked.append(1)
        return load()

    monkeypatch.setattr(block_model, "load_model", count)
    read_page(article(4, beside=LABELS))
    assert asked


def test_of_an_article_only_statements_left_out_count() -> None:
    assert not settled(article(4, LABELS))
    assert settled(article(4, LABELS, PUBLISHED))


def test_a_short_article_needs_no_model_either_if_nothing_else_was_written() -> None:
    html = article(1, LABELS, PUBLISHED)
    assert MIN_OWN_TEXT < len(SENTENCE * 2) < MIN_ARTICLE_BYTES
    assert settled(html)


@pytest.mark.parametrize(("head", "is_excluded"), [(PUBLISHED, True), ("", False)])
def test_comments_are_no_part_of_an_article_that_has_a_text(head: str, *, is_excluded: bool) -> None:
    features, texts = features_of(article(2, COMMENTS, head))
    by_readers = [excluded for excluded, text in zip(features.excluded, texts, strict=True) if "Reader" in text]
    own = [excluded for excluded, text in zip(features.excluded, texts, strict=True) if "Part" in text]
    assert by_readers == [is_excluded] * 9
    assert own == [False] * 2


def test_posts_are_the_text_of_a_published_page_without_another() -> None:
    features, texts = features_of(f"<head>{PUBLISHED}</head><body><h1>The bridge</h1>{COMMENTS}</body>")
    assert not any(excluded for excluded, text in zip(features.excluded, texts, strict=True) if "Reader" in text)


def test_the_reasons_are_compared_by_value() -> None:
    """Reasons that were pickled and loaded again are equal, but not the same objects."""
    tree, reasons, _ = classify(parse(article(3)), ReadOptions())
    copies = ["".join(list(reason)) for reason in reasons]
    assert np.array_equal(block_features(tree, copies).rows, block_features(tree, reasons).rows)


def test_a_page_of_excluded_blocks_only_stays_as_the_rules_read_it() -> None:
    tree, reasons, _ = classify(parse(article(12, COMMENTS)), ReadOptions())
    assert block_model.corrected_blocks(tree, [REPEATED] * len(reasons), 0, 0) is None


@pytest.mark.parametrize("rows", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK])
def test_blocks_that_are_evaluated_in_parts_have_the_same_sums(rows: int) -> None:
    trees, _ = block_model.load_model()
    features = np.random.default_rng(rows).normal(0, 100, (rows, trees.feature.max() + 1)).astype(np.float32)
    alone = [trees.predict(features[n : n + 1])[0] for n in range(0, rows, 97)]
    assert trees.predict(features)[::97].tolist() == alone


def test_a_page_of_many_small_blocks_takes_little_memory_and_ends_with_the_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    html = "<dl>" + "".join(f"<dt>k{n}<dd>v{n}" for n in range(40_000)) + "</dl>"
    root = parse(html)
    tracemalloc.start()
    try:
        read_tree(root, "https://a.example/", html=html)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 400 * len(html)
    readings = count(1)  # of a clock that goes on by a second each time the limit is checked
    monkeypatch.setattr(limits, "thread_time", lambda: float(next(readings)))
    monkeypatch.setattr(limits, "monotonic", lambda: inf)  # so that the other clock is read
    with pytest.raises(TooSlowError), time_limit(2):  # it is checked after each of three steps
        read_tree(root, "https://a.example/", html=html)
