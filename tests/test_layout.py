"""Whether two related pages have the same layout: the four classes of similar pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator, Page, Verdict, read_page
from dedupcrawl.cli import app
from dedupcrawl.detectors.base import Relation
from dedupcrawl.identity_codec import unpack_identity
from dedupcrawl.layout import compare_layouts, with_layout, without_layout
from dedupcrawl.page.options import ReadOptions
from dedupcrawl.page.signatures import LAYOUT_BYTES, layout_signature
from dedupcrawl.tools.report.report_model import row_from_verdict
from dedupcrawl.verdict_text import why
from tests.texts import ENGLISH, OTHER_ENGLISH

if TYPE_CHECKING:
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
    assert {"same": "the same layout", "other": "another layout"}[layout] in why(verdict)


def test_a_redesigned_page_is_unchanged_in_another_layout() -> None:
    verdict = verdict_on(courier(ENGLISH), gazette(ENGLISH), "https://a.example/1")
    assert (verdict.relation, verdict.evidence["layout"]) == (Relation.UNCHANGED, "other")


def test_a_report_row_and_an_item_say_it() -> None:
    verdict = verdict_on(courier(ENGLISH), gazette(ENGLISH))
    row = row_from_verdict(verdict, url=verdict.url, host="b.example", time=None, bytes=0, fate="dropped")
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
        record = dedup.file(page)
    assert not isinstance(record, Verdict)
    assert record.identity[:LAYOUT_BYTES] == page.layout
    assert unpack_identity(record.identity) is not None
    assert unpack_identity(without_layout(record.identity)) is None
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
