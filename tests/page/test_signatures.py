"""The signatures of a page: whether two pages have the same layout, and whether little of them was read."""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from dedupcrawl import Deduplicator, Page, Verdict, read_page
from dedupcrawl.cli import app
from dedupcrawl.config import DROP, Config
from dedupcrawl.decision import Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.errors import DamageError
from dedupcrawl.identity.identity_codec import unpack_identity
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.signatures import (
    LAYOUT_BYTES,
    LITTLE_READ,
    MAX_READ_BYTES,
    REMOVED_BYTES,
    compare_layouts,
    files_part,
    files_signature,
    have_other_files,
    is_little_read,
    layout_signature,
    removed_part,
    removed_signature,
    with_layout,
    without_layout,
)
from dedupcrawl.tools.report.report_model import row_from_verdict, verdict_sentence
from tests.batch.corpus import Batch, annotated_verdicts, crawled, lines, split, verdict_tuples
from tests.texts import ENGLISH, OTHER_ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


MENU = "".join(f'<li><a href="/{name}">{name}</a></li>' for name in ("home", "world", "sport", "money"))


def gazette(text: str, number: int = 1) -> str:
    """An article in the template of a newspaper, whose ids contain the number of the article."""
    return (
        f'<html><head><title>Ice {number}</title></head><body><header id="top"><div class="logo">The Gazette</div>'
        f'<nav><ul>{MENU}</ul></nav></header><div class="page wide"><div id="post-{number}" class="post entry">'
        f"<h1>The ice of the bay</h1><div class='post-body'><p>{text}</p></div></div>"
        '<div class="sidebar"><p>Most read</p></div></div><div id="bottom"><p>All rights reserved</p></div></body>'
    )


def courier(text: str) -> str:
    """The article in another template."""
    return (
        "<html><head><title>Ice</title></head><body><table class=frame><tr><td class=left>Courier</td>"
        f"<td class=right><section class=story><h2>The ice of the bay</h2><p>{text}</p></section></td></tr></table>"
    )


def verdict_on(new: str, old: str, url: str = "https://b.example/1") -> Verdict:
    with Deduplicator() as dedup:
        dedup.add(html=old, url="https://a.example/1")
        return dedup.check(html=new, url=url)


@pytest.mark.parametrize(
    ("new", "relation", "layout"),
    [
        (gazette(ENGLISH, 2), Relation.IDENTICAL, "same"),
        (courier(ENGLISH), Relation.IDENTICAL, "other"),
        (gazette(f"{ENGLISH}</p><p>{OTHER_ENGLISH[:150]}", 2), Relation.EXPANSION, "same"),
        (courier(f"{ENGLISH}</p><p>{OTHER_ENGLISH[:150]}"), Relation.EXPANSION, "other"),
    ],
)
def test_the_four_classes_of_similar_pages(new: str, relation: Relation, layout: str) -> None:
    verdict = verdict_on(new, gazette(ENGLISH))
    assert (verdict.relation, verdict.evidence["layout"]) == (relation, layout)
    assert {"same": "the same layout", "other": "another layout"}[layout] in verdict_sentence(verdict)


def test_a_redesigned_page_is_unchanged_in_another_layout() -> None:
    verdict = verdict_on(courier(ENGLISH), gazette(ENGLISH), "https://a.example/1")
    assert (verdict.relation, verdict.evidence["layout"]) == (Relation.UNCHANGED, "other")


def test_a_report_row_and_an_item_say_it() -> None:
    verdict = verdict_on(courier(ENGLISH), gazette(ENGLISH))
    row = row_from_verdict(verdict, url=verdict.url, host="b.example", time=None, bytes=0, outcome="dropped")
    assert "another layout" in row.why
    evidence = verdict.to_dict()["evidence"]
    assert isinstance(evidence, dict)
    assert evidence["layout"] == "other"


def test_plain_text_has_no_layout() -> None:
    with Deduplicator() as dedup:
        dedup.add(text=ENGLISH, url="https://a.example/1")
        assert "layout" not in dedup.check(text=ENGLISH, url="https://b.example/1").evidence
        assert "layout" not in dedup.check(html=gazette(ENGLISH), url="https://b.example/1").evidence


def test_two_shallow_pages_are_not_equal_for_what_both_lack() -> None:
    one, other = (read_page(f"<{tag}><p>{ENGLISH}</p></{tag}>").layout for tag in ("section", "blockquote"))
    assert compare_layouts(one, other) == "other"
    assert compare_layouts(one, one) == "same"


def test_the_numbers_in_ids_do_not_count_and_neither_does_the_text() -> None:
    assert read_page(gazette(ENGLISH, 1)).layout == read_page(gazette(OTHER_ENGLISH, 789)).layout


def test_signature_and_sketch_stand_one_after_the_other() -> None:
    page = read_page(gazette(ENGLISH), "https://a.example/1")
    with Deduplicator() as dedup:
        record = dedup.fingerprint(page)
    assert not isinstance(record, Verdict)
    assert record.identity[:LAYOUT_BYTES] == page.layout
    assert unpack_identity(record.identity) is not None
    with pytest.raises(DamageError):
        unpack_identity(without_layout(record.identity))
    assert with_layout(b"", b"") == b""
    assert without_layout(with_layout(b"", b"sketch")) == b"sketch"


def test_every_reader_gives_the_layout() -> None:
    found = {
        read_page(gazette(ENGLISH), options=ReadOptions(reader=name)).layout for name in ("blocks", "topic", "text")
    }
    assert found == {read_page(gazette(ENGLISH)).layout}
    assert Page.from_text("words").layout == b""


def test_the_signature_is_the_same_in_every_process() -> None:
    """It is stored: it must not depend on Python's random hashes of texts."""
    elements = ["body", "div page ", "div  post-17", "section story "]
    expected = layout_signature(elements, [-1, 0, 1, 2], 3)
    code = f"from dedupcrawl.page.signatures import layout_signature as s; print(s({elements}, [-1, 0, 1, 2], 3).hex())"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == expected.hex()


def test_explain_shows_it(tmp_path: Path) -> None:
    store = f"lmdb://{tmp_path / 'store'}"
    with Deduplicator(store, "news") as dedup:
        dedup.add(html=gazette(ENGLISH), url="https://a.example/1")
    (tmp_path / "page.html").write_text(courier(ENGLISH), "utf-8")
    command = ["explain", "https://b.example/1", "--store", store, "--file", str(tmp_path / "page.html"), "--quick"]
    shown, as_json = CliRunner().invoke(app, command), CliRunner().invoke(app, [*command, "--json"])
    assert re.search(r"^ *layout +other\b", shown.output, re.MULTILINE), shown.output
    assert json.loads(as_json.output)["verdict"]["evidence"]["layout"] == "other"


# -- text that was not read ---------------------------------------------------------------------

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
    if not files_part(identity):
        assert identity.endswith(without_layout(identity) + removed_part(identity))
    listing = with_layout(b"\1\2\3\4", b"sketch", b"", files_signature(["The river", "A quiet evening"]))
    assert have_other_files(identity, listing) == have_other_files(listing, identity)
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


# -- lists of files ---------------------------------------------------------------------------------


@given(st.lists(st.text(max_size=40), max_size=20), st.sampled_from([b"", removed_signature([INTRO], 100)]))
def test_the_signature_of_files_stands_behind_the_sketch(labels: list[str], removed: bytes) -> None:
    files = files_signature(labels)
    stored = with_layout(b"\1\2\3\4", b"sketch", removed, files)
    parts = without_layout(stored), removed_part(stored), files_part(stored)
    assert parts == (b"sketch", removed, files)
    assert not have_other_files(stored, stored)
    assert with_layout(b"\1\2\3\4", b"", removed, files) == b"\1\2\3\4"


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        (["Lantern song", "Iron gates"], ["Winter at the mill", "Seven swallows"], True),
        (["Lantern song (3:12)", "Iron gates.mp3"], ["Iron gates 4.5 MB", "LANTERN SONG"], False),
        (["Lantern song", "Iron gates"], ["Lantern song"], False),
        (["Lantern song", "Iron gates"], ["Lantern song", "Iron gate"], False),
        (["灯笼之歌", "铁门"], ["磨坊的冬天", "七只燕子"], True),
        (["灯笼之歌", "铁门"], ["铁门", "灯笼之歌"], False),
        (["PDF", "EPUB 3 MB"], ["Lantern song", "Iron gates"], False),
        ([f"Lecture {each}" for each in range(40)], [f"Talk {each}" for each in range(40, 90)], True),
        ([f"Lecture {each}" for each in range(40)], [f"Lecture {each}" for each in range(39)], False),
    ],
)
def test_lists_of_files_differ_if_most_words_of_each_do(one: list[str], other: list[str], differ: bool) -> None:
    stored = [with_layout(b"\1\2\3\4", b"sketch", b"", files_signature(labels)) for labels in (one, other)]
    assert have_other_files(*stored) is have_other_files(*reversed(stored)) is differ


def test_the_signature_of_files_is_stored_and_does_not_change() -> None:
    assert files_signature(["Morning over the river (3.2 MB, MP3)", "旧港"]).hex() == "063e365f96672b6de6a359efc9"
    assert files_signature([f"Track {each}" for each in range(300)]).hex() == "ff004d00870150019a023402fe032903e3"
    assert files_signature(["PDF", "1.4 MB"]) == b""


def test_damaged_files_are_no_sketch() -> None:
    stored = with_layout(b"\1\2\3\4", b"sketch", b"", files_signature(["Lantern song", "Iron gates"]))
    for damaged in (stored[:-1], stored[:-1] + b"\0", stored[:-1] + b"\xff"):
        with pytest.raises(DamageError):
            unpack_identity(damaged)
