"""Pages of one site that match only in a small part that was read."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Deduplicator
from dedupcrawl.config import DROP, Config
from dedupcrawl.detectors.base import Relation
from dedupcrawl.layout import LITTLE_READ, compare_layouts, is_little_read, removed_part, with_layout, without_layout
from dedupcrawl.page import read_page
from dedupcrawl.page.signatures import LAYOUT_BYTES, MAX_READ_BYTES, REMOVED_BYTES, removed_signature
from dedupcrawl.verdict import Status
from tests.batch.corpus import Batch, annotated_verdicts, crawled, lines, split, verdict_tuples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from dedupcrawl.verdict import Verdict

INTRO = (
    "Our team answers every question by phone and by mail within two working days, and returns are free of charge for "
    "all customers in this country. Prices include the statutory tax; delivery costs depend on weight and are shown "
    "before you order. The goods remain our property until they are paid in full, and damage in transit must be told "
    "to the carrier at once. We accept cards, transfers and payment on account for schools, offices and public bodies "
    "after a short check of credit. Photographs are examples; small changes in colour are no ground for complaint. "
    "Further conditions apply to orders from abroad, to goods made to measure and to parts that are no longer made. "
    "Whoever stays with us may write a few lines into this book, and we answer all of them before the season ends."
)
WORDS = (
    *("river", "stone", "market", "winter", "garden", "letter", "bridge", "teacher", "morning", "village", "forest"),
    *("engine", "paper", "window", "doctor", "street", "summer", "captain", "music", "kitchen", "harbour", "ladder"),
    *("silver", "planet", "ticket", "farmer", "basket", "copper", "meadow", "lantern"),
)


def sentences(chance: random.Random, count: int) -> str:
    return " ".join(" ".join(chance.choices(WORDS, k=12)).capitalize() + "." for _ in range(count))


def comments(chance: random.Random) -> str:
    return "".join(
        f"<div class=comment><b>{chance.choice(WORDS)}</b><p>{sentences(chance, 4)}</p></div>" for _ in range(12)
    )


def cells(chance: random.Random) -> str:
    one = chance.choices
    rows = (f"<tr><td>{' '.join(one(WORDS, k=2))}<td>{one(WORDS)[0]}<td>{one(WORDS)[0]}</tr>" for _ in range(40))
    return f"<table>{''.join(rows)}</table>"


def aside(chance: random.Random) -> str:
    return f"<aside>{''.join(f'<p>{sentences(chance, 4)}</p>' for _ in range(12))}</aside>"


def html(removed: str, intro: str = INTRO) -> str:
    return f"<title>Guests</title><nav><a href=/>Home</a></nav><h1>Guests</h1><div><p>{intro}</p></div>{removed}"


def guestbook(pages: int) -> list[dict[str, str]]:
    """Return rows of a batch: pages of a guestbook with one introduction."""
    chance = random.Random(5)
    return [{"url": f"https://guests.example/{number}", "html": html(comments(chance))} for number in range(pages)]


def verdicts(
    pages: list[str], hosts: tuple[str, ...] = ("a.example",), drop: frozenset[Relation] = DROP
) -> list[Verdict]:
    with Deduplicator(drop=drop) as dedup:
        return [
            dedup.add(html=page, url=f"https://{hosts[number % len(hosts)]}/{number}")
            for number, page in enumerate(pages)
        ]


@pytest.mark.parametrize("make", [comments, aside])
def test_pages_that_differ_in_what_was_removed_are_kept(make: Callable[[random.Random], str]) -> None:
    chance = random.Random(5)
    found = verdicts([html(make(chance)) for _ in range(8)], drop=DROP | {Relation.SIBLING})
    assert [(each.status, each.reason, each.of, each.keep) for each in found[1:]] == [
        (Status.UNCHECKED, LITTLE_READ, "https://a.example/0", True)
    ] * 7
    assert found[0].status is Status.UNIQUE


def test_pages_that_differ_in_short_facts_are_siblings() -> None:
    chance = random.Random(5)
    found = verdicts([html(cells(chance)) for _ in range(8)])
    assert [(each.relation, each.keep) for each in found[1:]] == [(Relation.SIBLING, True)] * 7


@pytest.mark.parametrize("make", [comments, cells, aside])
def test_pages_with_the_same_removed_text_are_copies(make: Callable[[random.Random], str]) -> None:
    removed = make(random.Random(5))
    longer = f"{removed}<p>Seen 12 times today.</p>"  # a counter
    links = "".join(f"<aside><a href=/{word}>{word} and the {word}s</a></aside>" for word in WORDS[:4])
    found = verdicts([html(removed), html(removed), html(longer), html(f"{links}{removed}"), html("")])
    assert [each.relation for each in found[1:]] == [Relation.IDENTICAL] * 4


def test_what_other_sites_show_beside_a_text_does_not_matter() -> None:
    chance = random.Random(5)
    found = verdicts([html(comments(chance)) for _ in range(2)], ("a.example", "b.example"))
    assert found[1].relation is Relation.IDENTICAL


def test_comments_on_an_article_do_not_matter() -> None:
    chance = random.Random(5)
    article = f"{INTRO} {sentences(chance, 80)}"
    assert len(article) > MAX_READ_BYTES
    found = verdicts([html(comments(chance), article) for _ in range(2)])
    assert found[1].relation is Relation.IDENTICAL


def test_a_batch_keeps_the_pages_that_a_crawl_keeps(tmp_path: Path) -> None:
    chance = random.Random(5)
    same = html(aside(chance))
    pages = [html(comments(chance)), same, html(comments(chance)), same, html("")]
    rows = [{"url": f"https://a.example/{number}", "html": page} for number, page in enumerate(pages)]
    for config in (Config(), Config(drop=DROP | {Relation.SIBLING})):
        found = crawled(config, rows)
        assert [each.reason for each in found].count(LITTLE_READ) == 2
        batch = Batch(tmp_path / str(len(config.drop)), config)
        summary = batch.run(split(rows, batch.folder / "in", 1), annotate=True)
        told = [row for path in sorted((batch.folder / "out").glob("*.jsonl")) for row in lines(path)]
        assert annotated_verdicts(told) == verdict_tuples(found)
        assert summary["unchecked"] == {LITTLE_READ: 2}


def test_a_page_has_a_signature_only_if_little_was_read() -> None:
    chance = random.Random(5)
    assert len(read_page(html(comments(chance))).removed) == REMOVED_BYTES
    assert read_page(html("<p>Closed on Mondays.</p>")).removed == b""
    assert read_page(html("".join(f"<li><a href=/{word}>{word * 40}</a>" for word in WORDS))).removed == b""
    assert removed_signature([INTRO], len(INTRO) + 1) == b""
    assert removed_signature([INTRO * 9], MAX_READ_BYTES + 1) == b""


@given(st.binary(max_size=300).filter(lambda value: not value or len(value) > LAYOUT_BYTES))
def test_any_stored_bytes_are_compared_without_error(identity: bytes) -> None:
    other = with_layout(b"\1\2\3\4", b"sketch", removed_signature([INTRO], 100))
    assert is_little_read(identity, other) == is_little_read(other, identity)
    assert identity.endswith(without_layout(identity) + removed_part(identity))
    assert compare_layouts(identity, other) in {"", "same", "other"}


@given(st.text(max_size=3000), st.text(max_size=3000), st.integers(0, MAX_READ_BYTES))
def test_signatures_of_any_texts_are_compared(one: str, two: str, read: int) -> None:
    stored = [with_layout(b"\1\2\3\4", b"sketch", removed_signature([text], read)) for text in (one, two)]
    assert [without_layout(each) for each in stored] == [b"sketch"] * 2
    assert [len(removed_part(each)) in {0, REMOVED_BYTES} for each in stored] == [True, True]
    assert not is_little_read(stored[0], stored[0])
    assert is_little_read(*stored) == is_little_read(*reversed(stored))
    assert compare_layouts(*stored) == "same"


def test_the_signature_of_a_text_is_stored_and_does_not_change() -> None:
    assert removed_signature([INTRO], 100).hex() == "7ce69f51514d"
    assert removed_signature(["公告 " + "拟录用人员名单予以公示。" * 500], 100).hex() == "ff3040001021"
