"""The readers in docs/readers.md run as they are written there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.decision import Status
from dedupcrawl.page import Kind, ReadOptions, read_page
from tests.crawl.site import fancy, plain, text
from tests.data import ROOT
from tests.page.samples import CHINESE, CHINESE_TWO, PARAGRAPH, SECOND, article, links

if TYPE_CHECKING:
    from pathlib import Path

_examples = re.compile(r"```python\n# (\w+)\.py\n(.*?)```", re.DOTALL).findall


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write every example to a file of the name in its first line."""
    for name, code in _examples((ROOT / "docs" / "readers.md").read_text(encoding="utf-8")):
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.parametrize(("first", "second"), [(PARAGRAPH, SECOND), (CHINESE * 3, CHINESE_TWO * 3)])
def test_trafilatura_reads_main_text(first: str, second: str) -> None:
    html = f"<title>Flood</title><nav>{' '.join(links(8))}</nav>{article('')}<footer>Imprint</footer>"
    html = html.replace(PARAGRAPH, first).replace(SECOND, second)
    page = read_page(html, "https://a.example/", options=ReadOptions(reader="own_readers:read"))
    assert page.text.split("\n") == [first, second]
    assert (page.title, page.kind) == ("Flood", Kind.ARTICLE)


def test_trafilatura_finds_copies_in_other_templates() -> None:
    dedup = Deduplicator(reader="own_readers:read")
    pages = [plain("Ice", text(1)), fancy("Ice", text(1)), fancy("Snow", text(2))]
    verdicts = [dedup.add(html=html, url=f"https://{n}.example/") for n, html in enumerate(pages)]
    assert [verdict.status for verdict in verdicts] == [Status.UNIQUE, Status.DUPLICATE, Status.UNIQUE]


def test_a_page_object_of_a_reader_is_judged_although_it_lists_links() -> None:
    offers = "".join(f'<li class="offer"><a href="/{n}">A saw of size {n}, like new</a></li>' for n in range(40))
    html = f"<h1>Saws</h1><ul>{offers}</ul>"
    assert Deduplicator().add(html=html).reason == "index"
    dedup = Deduplicator(reader="listings:read")
    page = dedup.read(html=html, url="https://a.example/")
    assert page.url == "https://a.example/"
    assert dedup.add(html=html, url="https://a.example/").status is Status.UNIQUE
    assert dedup.add(html=html, url="https://b.example/").status is Status.DUPLICATE


def test_the_patents_reader_with_another_constant() -> None:
    longest = " ".join(f"word{n}" for n in range(40))
    other = " ".join(f"word{n}" if n < 5 else f"other{n}" for n in range(20))  # 5 of 20 words
    html = f"<div>{longest}</div><div>{other}</div>"
    assert read_page(html, options=ReadOptions(reader="topic")).text == longest
    assert read_page(html, options=ReadOptions(reader="wider_topic:read")).text == f"{longest}\n{other}"
