from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl import Config
from dedupcrawl.errors import DedupError
from dedupcrawl.tools.evaluation.dataset import LabelledPage, read_labelled_pages
from dedupcrawl.tools.evaluation.metrics import Scores
from tests.data import data
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH
from tests.tools.evaluation.labelled import evaluate_duplicates


def row(n: int, cluster: str, text: str, edit: str = "") -> LabelledPage:
    return LabelledPage(id=str(n), url=f"https://s{n}.example/", cluster=cluster, html=None, text=text, edit=edit)


def test_perfect_stream() -> None:
    rows = [
        row(1, "a", ENGLISH),
        row(2, "b", CHINESE),
        row(3, "a", ENGLISH.upper(), "case"),
        row(4, "b", CHINESE),
        row(5, "a", ENGLISH),
    ]
    report = evaluate_duplicates(rows).to_dict()
    assert report["pages"] == 5
    assert report["detectors"] == ["exact", "minhash"]
    assert report["drops"] == {"precision": 1, "recall": 1, "f1": 1, "wrongly_dropped": 0, "missed": 0}
    assert report["pairs"] == {"precision": 1, "recall": 1, "f1": 1, "wrong": 0, "missed": 0}
    assert report["by_edit"] == {
        "": {"pages": 4, "dropped": 2, "wrongly_dropped": 0, "missed": 0},
        "case": {"pages": 1, "dropped": 1, "wrongly_dropped": 0, "missed": 0},
    }


def test_wrong_and_missed_are_distinguished() -> None:
    rows = [
        row(1, "a", ENGLISH),
        row(2, "b", ENGLISH),  # wrongly dropped: labelled as content of its own
        row(3, "a", OTHER_ENGLISH),  # missed: labelled as a copy of the first
        row(4, "c", CHINESE),
        row(5, "c", CHINESE),
        row(6, "d", OTHER_CHINESE),
    ]
    report = evaluate_duplicates(rows)
    assert [(mistake.kind, mistake.row.id) for mistake in report.mistakes] == [
        ("wrongly dropped", "2"),
        ("missed", "3"),
    ]
    assert report.drops == Scores(true_positives=1, false_positives=1, false_negatives=1)
    assert report.pairs == Scores(true_positives=1, false_positives=1, false_negatives=1)


def test_copy_of_a_wrongly_dropped_page_is_dropped_wrongly_too() -> None:
    rows = [row(1, "a", ENGLISH), row(2, "b", ENGLISH), row(3, "b", ENGLISH)]
    assert evaluate_duplicates(rows).wrongly_dropped == 2


def test_rows_that_differ_only_in_the_fragment_are_two_pages() -> None:
    rows = [replace(row(n, "a", ENGLISH), url=f"https://s{n}.example/#top") for n in (1, 1, 2)]
    assert evaluate_duplicates(rows).pairs == Scores(true_positives=3, false_positives=0, false_negatives=0)


def test_other_detectors_may_be_named() -> None:
    report = evaluate_duplicates([row(1, "a", ENGLISH), row(2, "a", ENGLISH[:-1])], Config(detectors=("exact",)))
    assert report.detectors == ("exact",)
    assert report.missed == 1


@given(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50))
def test_scores_are_what_the_field_means(right: int, wrong: int, missing: int) -> None:
    scores = Scores(right, wrong, missing)
    precision, recall = scores.precision, scores.recall
    assert 0 <= scores.f1 <= 1
    if right:
        assert scores.f1 == pytest.approx(2 * precision * recall / (precision + recall))
    assert (precision == 1) == (wrong == 0)
    assert (recall == 1) == (missing == 0)


def test_rows_come_from_plain_and_packed_files(tmp_path: Path) -> None:
    lines = b"".join(
        orjson.dumps(fields) + b"\n"
        for fields in (
            {"id": 1, "url": "u", "html": "<p>a", "cluster": "c", "edit": "typos", "more": 1},
            {"id": "2", "url": "v", "text": "b", "cluster": 7},
        )
    )
    plain, packed = tmp_path / "rows.jsonl", tmp_path / "rows.jsonl.gz"
    plain.write_bytes(lines + b"\n")
    packed.write_bytes(gzip.compress(lines))
    expected = [LabelledPage("1", "u", "c", "<p>a", None, "typos"), LabelledPage("2", "v", "7", None, "b", "")]
    assert list(read_labelled_pages(plain)) == list(read_labelled_pages(packed)) == expected


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"{", "line 2"),
        (b"[]", "JSON object"),
        (b'{"id": 1, "url": "u", "cluster": 2}', "html or text missing"),
        (b'{"id": 1, "url": "u", "text": "t"}', "cluster missing"),
        (b'{"id": 1, "url": "u", "text": null, "html": null, "cluster": 1}', "html or text missing"),
        (b'{"id": 1, "url": null, "text": "t", "cluster": 1}', "url missing"),
        (b'{"id": 1, "url": "u", "text": 5, "cluster": 1}', "html and text are strings"),
    ],
)
def test_bad_row_is_named(tmp_path: Path, line: bytes, said: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'{"id": 1, "url": "u", "text": "t", "cluster": "c"}\n' + line)
    with pytest.raises(DedupError, match=said):
        list(read_labelled_pages(path))


def test_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"id": 1}\n' * 1000)[:-20])
    with pytest.raises(DedupError, match=r"rows\.jsonl\.gz"):
        list(read_labelled_pages(path))
    packed = bytearray(gzip.compress(b'{"id": 1}\n' * 1000))
    packed[10:14] = b"zzzz"
    path.write_bytes(packed)
    with pytest.raises(DedupError, match=r"rows\.jsonl\.gz"):
        list(read_labelled_pages(path))
    path.write_bytes(gzip.compress(b"\n"))
    with pytest.raises(DedupError, match="holds no page"):
        list(read_labelled_pages(path))
    with pytest.raises(DedupError, match="absent"):
        list(read_labelled_pages(tmp_path / "absent.jsonl"))


def test_scores_on_real_reprints_do_not_fall() -> None:
    """The gate: real articles set into other sites' templates, with edits."""
    report = evaluate_duplicates(read_labelled_pages(data("reprints", "dev.jsonl.gz")))
    assert report.pages == 876
    assert report.drops.f1 >= 0.99
    assert report.wrongly_dropped == 0
