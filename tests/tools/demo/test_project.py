"""The files in the folder of the demo."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.errors import DedupError
from dedupcrawl.tools.demo.crawl import FEED, DemoFolder, DemoReport

if TYPE_CHECKING:
    from pathlib import Path


def write(file: Path, *urls: str) -> None:
    file.write_text("".join(json.dumps({"url": url, "text": "a\u2028b"}) + "\n" for url in urls))


def test_a_prepared_folder_is_a_scrapy_project(tmp_path: Path) -> None:
    folder = DemoFolder(tmp_path / "deep" / "out")
    folder.prepare(fresh=False)
    folder.prepare(fresh=False)
    assert "dedupcrawl.tools.demo.settings" in (folder.path / "scrapy.cfg").read_text()


def test_a_foreign_project_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine.settings\n")
    (tmp_path / "items.jsonl").write_text("precious")
    with pytest.raises(DedupError, match="folder of its own"):
        DemoFolder(tmp_path).prepare(fresh=True)
    assert (tmp_path / "items.jsonl").read_text() == "precious"


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("")
    with pytest.raises(DedupError, match="out cannot be written"):
        DemoFolder(tmp_path / "out").prepare(fresh=False)


def test_fresh_forgets_items_and_store_and_nothing_else(tmp_path: Path) -> None:
    folder = DemoFolder(tmp_path)
    folder.prepare(fresh=False)
    write(tmp_path / "items.jsonl", "http://a/1")
    (tmp_path / ".scrapy" / "dedup").mkdir(parents=True)
    (tmp_path / "notes.txt").write_text("mine")
    folder.prepare(fresh=True)
    assert folder.kept_urls() == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt", "scrapy.cfg"]


def test_kept_items_gather_over_crawls(tmp_path: Path) -> None:
    folder = DemoFolder(tmp_path)
    write(tmp_path / FEED, "http://a/1", "http://a/2", "http://a/index")
    folder.add_items(lambda url: not url.endswith("index"))
    write(tmp_path / FEED, "http://a/3")
    folder.add_items(lambda _: True)
    folder.remove_last()
    folder.add_items(lambda _: True)
    assert folder.kept_urls() == ["http://a/1", "http://a/2", "http://a/3"]


def test_a_journal_line_that_is_being_written_waits(tmp_path: Path) -> None:
    folder = DemoFolder(tmp_path)
    assert folder.journal() == []
    (tmp_path / "journal.jsonl").write_text('{"url": "http://a/1"}\n{"url": "htt')
    assert folder.journal() == [{"url": "http://a/1"}]


def test_what_a_crawl_writes_anew_is_removed_before_it(tmp_path: Path) -> None:
    folder = DemoFolder(tmp_path)
    write(tmp_path / "items.jsonl", "http://a/1")
    write(tmp_path / "journal.jsonl", "http://a/1")
    folder.write_summary(DemoReport(1, 1, 1, 0, 0, 0))
    folder.remove_last()
    assert [path.name for path in tmp_path.iterdir()] == ["items.jsonl"]


def test_the_summary_has_six_figures(tmp_path: Path) -> None:
    DemoFolder(tmp_path).write_summary(DemoReport(6, 4, 3, 2, 1, 0))
    assert json.loads((tmp_path / "summary.json").read_text()) == {
        "pages": 6,
        "distinct": 4,
        "kept": 3,
        "dropped": 2,
        "wrongly_dropped": 1,
        "missed": 0,
    }
