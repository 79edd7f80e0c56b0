from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.page import ReadOptions
from dedupcrawl.tools.evaluation.extraction import (
    PageSetError,
    ShingleOverlap,
    evaluate_extraction,
    load_pages,
    overlap,
    score,
    shingles,
)
from tests.data import data
from tests.page.samples import CHINESE, PARAGRAPH, SECOND, article, links

if TYPE_CHECKING:
    from pathlib import Path

# -- the metric -----------------------------------------------------------------------------------


def test_shingles_are_runs_of_four_words() -> None:
    assert shingles("a b, c d-e") == Counter([("a", "b", "c", "d"), ("b", "c", "d", "e")])


def test_a_short_text_is_one_shingle_and_an_empty_one_none() -> None:
    assert shingles("Hello, world!") == Counter([("Hello", "world")])
    assert shingles(" … ") == Counter()


def test_chinese_characters_are_words() -> None:
    assert shingles("河水涨了2米 GDP") == Counter(
        [("河", "水", "涨", "了"), ("水", "涨", "了", "2"), ("涨", "了", "2", "米"), ("了", "2", "米", "GDP")]
    )


def test_shingles_are_counted_as_often_as_they_stand() -> None:
    assert overlap("a b c d a b c d", "a b c d") == ShingleOverlap(right=1, wrong=0, missed=4)
    assert overlap("a b c d", "a b c d a b c d") == ShingleOverlap(right=1, wrong=4, missed=0)


def test_f1_is_made_of_the_means() -> None:
    f1, precision, recall = score([ShingleOverlap(3, 1, 0), ShingleOverlap(1, 0, 3)])
    assert (precision, recall) == (0.875, 0.625)
    assert f1 == pytest.approx(2 * 0.875 * 0.625 / 1.5)


def test_a_page_where_nothing_was_found_has_no_precision() -> None:
    assert score([ShingleOverlap(4, 0, 0), ShingleOverlap(0, 0, 4)])[1:] == (1.0, 0.5)


def test_a_page_where_nothing_was_to_be_found_has_no_recall() -> None:
    assert score([ShingleOverlap(4, 0, 0), ShingleOverlap(0, 4, 0)])[1:] == (0.5, 1.0)


def test_nothing_at_all_scores_nothing() -> None:
    assert score([]) == (0, 0, 0)
    assert score([ShingleOverlap(0, 0, 0)]) == (0, 0, 0)


@given(st.text("ab 河", max_size=40), st.text("ab 河", max_size=40))
def test_overlap_counts_both_sides(true: str, found: str) -> None:
    both = overlap(true, found)
    assert both.right + both.missed == shingles(true).total()
    assert both.right + both.wrong == shingles(found).total()
    assert both.right == overlap(found, true).right
    assert (both.wrong == both.missed == 0) == (shingles(true) == shingles(found))


# -- page sets ------------------------------------------------------------------------------------


def page_set(folder: Path, pages: dict[str, tuple[bytes, str]]) -> Path:
    (folder / "html").mkdir()
    with (folder / "truth.jsonl").open("w", encoding="utf-8") as truth:
        for name, (html, text) in pages.items():
            (folder / "html" / f"{name}.html.gz").write_bytes(gzip.compress(html))
            truth.write(json.dumps({"id": name, "url": f"http://{name}/", "text": text}) + "\n")
    return folder


def test_a_set_is_read_and_scored(tmp_path: Path) -> None:
    folder = page_set(
        tmp_path,
        {
            "english": (article(" ".join(links(9))).encode(), f"{PARAGRAPH}\n\n{SECOND}"),
            "chinese": (f"<meta charset=gb2312><p>{CHINESE}</p>".encode("gbk"), CHINESE),
        },
    )
    report = evaluate_extraction(folder, repeats=1).to_dict()
    assert list(report) == ["pages", "f1", "precision", "recall", "ms_per_page", "ratio_to_parse"]
    assert (report["pages"], report["f1"]) == (2, 1)
    assert report["ms_per_page"] > 0
    assert report["ratio_to_parse"] > 0
    assert json.loads(json.dumps(report)) == report


def test_options_reach_the_reader(tmp_path: Path) -> None:
    text = f"{PARAGRAPH} {' '.join(links(4))} {SECOND}"
    folder = page_set(tmp_path, {"a": (f"<div><p>{text}</p></div>".encode(), f"{PARAGRAPH} {SECOND}")})
    strict = ReadOptions(link_density_content=0, link_run=0)
    assert evaluate_extraction(folder, strict, repeats=1).precision > evaluate_extraction(folder, repeats=1).precision


def test_rows_hold_what_the_files_hold(tmp_path: Path) -> None:
    folder = page_set(tmp_path, {"a": (b"<p>\xb0\xa1", "x")})
    (row,) = load_pages(folder)
    assert (row.id, row.url, row.html, row.text) == ("a", "http://a/", b"<p>\xb0\xa1", "x")


def test_a_folder_without_truth(tmp_path: Path) -> None:
    with pytest.raises(PageSetError, match=r"no page set.*truth\.jsonl"):
        evaluate_extraction(tmp_path)
    with pytest.raises(PageSetError, match=r"no page set.*truth\.jsonl"):
        evaluate_extraction(tmp_path / "absent")


def test_a_set_without_pages(tmp_path: Path) -> None:
    (tmp_path / "truth.jsonl").write_text("\n")
    with pytest.raises(PageSetError, match="holds no page"):
        evaluate_extraction(tmp_path)


@pytest.mark.parametrize(
    ("line", "message"),
    [("{", "line 2: no JSON"), ("[]", "line 2: expected"), ('{"id": 1, "text": ""}', "line 2: expected")],
)
def test_a_garbled_truth(tmp_path: Path, line: str, message: str) -> None:
    folder = page_set(tmp_path, {"a": (b"<p>a", "a")})
    with (folder / "truth.jsonl").open("a") as truth:
        truth.write(line + "\n")
    with pytest.raises(PageSetError, match=message):
        evaluate_extraction(folder)


def test_a_truth_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "truth.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PageSetError, match=r"truth\.jsonl"):
        evaluate_extraction(tmp_path)


@pytest.mark.parametrize("content", [None, b"<p>plain", gzip.compress(b"<p>whole" * 99)[:-12], b"\x1f\x8b\x08\0broken"])
def test_a_page_missing_or_damaged(tmp_path: Path, content: bytes | None) -> None:
    folder = page_set(tmp_path, {"a": (b"<p>a", "a")})
    file = folder / "html" / "a.html.gz"
    if content is None:
        file.unlink()
    else:
        file.write_bytes(content)
    with pytest.raises(PageSetError, match=r"a\.html\.gz cannot be read"):
        evaluate_extraction(folder)


def test_a_binary_page_reads_as_nothing(tmp_path: Path) -> None:
    folder = page_set(tmp_path, {"a": (b"%PDF-1.7", "text"), "b": (f"<p>{PARAGRAPH}".encode(), PARAGRAPH)})
    report = evaluate_extraction(folder, repeats=1)
    assert (report.precision, report.recall) == (1, 0.5)


# -- the gate -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "pages", "f1", "precision", "recall"),
    [("aeb", 181, 0.981, 0.980, 0.983), ("cwced", 69, 0.957, 0.952, 0.962)],
)
def test_scores_may_not_fall(name: str, pages: int, f1: float, precision: float, recall: float) -> None:
    report = evaluate_extraction(data("pages", name), repeats=1)
    assert report.pages == pages
    assert report.f1 >= f1
    assert report.precision >= precision
    assert report.recall >= recall
