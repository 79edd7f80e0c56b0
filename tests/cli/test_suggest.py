"""``dedupcrawl eval pairs`` and ``--suggest``: tables, JSON, advice and errors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl.cli import app
from dedupcrawl.tools.label.labels import AnswerKind, Label, LabelFile
from dedupcrawl.tools.label.pairs import StratumPairs
from tests.batch.corpus import story
from tests.cli.errors import complaint
from tests.tools.evaluation.labelled import label
from tests.tools.report.judged_ledgers import changed

NEAR = StratumPairs("a run", "near-duplicate", "near", 0.8, 300)
GIVEN = [
    *(label(number, 1 + number % 3, AnswerKind.SAME, NEAR) for number in range(60)),
    *(label(60 + number, 9 + number % 4, AnswerKind.DIFFERENT, NEAR) for number in range(20)),
    label(80, 5, AnswerKind.SKIP, NEAR),
]


def written(path: Path, given: list[Label]) -> str:
    with LabelFile(path) as file:
        for each in given:
            assert each.stratum is not None
            file.add(each.pair, each.answer, each.stratum)
    return str(path)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return written(tmp_path / "labels.jsonl", GIVEN)


@pytest.fixture
def pages(tmp_path: Path) -> str:
    """Labelled pages: edited copies, and different pages that are similar to an earlier one."""
    rows = []
    for number in range(60):
        text, kind = story(number, words=300), "copy" if number < 45 else "other"
        words = 1 + number % 3 if kind == "copy" else 9 + number % 3
        for place, (one, cluster) in enumerate(((text, ""), (changed(text, words), "" if kind == "copy" else "x"))):
            url = f"https://s{place}.example/{number}"
            rows.append({"id": url, "url": url, "text": one, "cluster": f"{number}{cluster}", "edit": kind})
    path = tmp_path / "pages.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return str(path)


def run(*args: str) -> str:
    result = CliRunner().invoke(app, ["eval", *args], catch_exceptions=False, env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.output
    return result.output


def report(*args: str) -> Any:
    return orjson.loads(run(*args, "--json"))


def test_detectors_are_scored_with_intervals(file: str) -> None:
    shown = run("pairs", file)
    assert "80 labelled pairs: 60 same, 20 different, 1 skipped; they stand for 300" in shown
    assert "exact + minhash" in shown
    found = report("pairs", file)
    assert (found["pairs"], found["same"], found["different"], found["skipped"]) == (80, 60, 20, 1)
    (one,) = found["runs"]
    assert one["missed"] == 0
    assert one["wrong"] > 0
    assert one["precision"]["low"] < one["precision"]["value"] < one["precision"]["high"] < 1
    assert one["recall"] == {"value": 1.0, "low": pytest.approx(0.9404, abs=1e-4), "high": 1.0}


def test_constants_may_be_set(file: str) -> None:
    (strict,) = report("pairs", file, "--set", "threshold=0.9", "--detector", "minhash")["runs"]
    assert strict["wrong"] == 0


def test_of_several_files_the_last_label_counts(file: str, tmp_path: Path) -> None:
    other = written(tmp_path / "more.jsonl", [label(60, 9, AnswerKind.SAME, NEAR), label(99, 1, AnswerKind.SAME, NEAR)])
    found = report("pairs", file, other)
    assert (found["same"], found["different"]) == (62, 19)


def test_a_line_for_the_settings_is_suggested_that_holds_when_it_is_run(file: str) -> None:
    shown = run("pairs", file, "--suggest", "--precision", "0.9")
    found = report("pairs", file, "--suggest", "--precision", "0.9")
    (line,) = found["settings"]
    assert line in shown
    assert line.startswith("DEDUP_THRESHOLD = 0.")
    assert "begin a new one" not in shown  # a threshold above the floor of minhash only judges
    assert found["in_force"]["precision"]["low"] < 0.9 <= found["suggested"]["precision"]["low"]
    (again,) = report("pairs", file, "--set", f"threshold={found['values']['threshold']}")["runs"]
    assert {name: again[name] for name in found["suggested"]} == found["suggested"]


def test_what_was_given_is_among_the_lines(file: str) -> None:
    found = report("pairs", file, "--suggest", "--precision", "0.8", "--detector", "simhash", "--set", "min_chars=50")
    assert "DEDUP_MIN_CHARS = 50" in found["settings"]
    assert any(line.startswith("DEDUP_DETECTORS = ") and "simhash" in line for line in found["settings"])


def test_what_is_in_force_may_be_best(tmp_path: Path) -> None:
    good = written(tmp_path / "good.jsonl", GIVEN[:60])
    assert "The constants in force reach a precision of 0.9" in run("pairs", good, "--suggest", "--precision", "0.9")


def test_too_few_labels(tmp_path: Path) -> None:
    few = written(tmp_path / "few.jsonl", GIVEN[:12])
    shown = " ".join(run("pairs", few, "--suggest").split())
    assert "There are too few labels to show a precision of 0.99" in shown
    assert "It takes some 360 more labels of such pairs" in shown
    found = report("pairs", few, "--suggest")
    assert (found["values"], found["suggested"], found["settings"]) == (None, None, [])
    assert found["advice"].startswith("There are too few labels")


def test_labels_of_another_threshold(tmp_path: Path) -> None:
    other = StratumPairs("a run", "near-duplicate", "near", 0.7, 300)
    path = written(tmp_path / "other.jsonl", [label(number, 1, AnswerKind.SAME, other) for number in range(60)])
    assert "The labels were drawn around 0.7" in run("pairs", path, "--suggest", "--precision", "0.9")


def test_suggestion_from_labelled_pages(pages: str) -> None:
    args = ("duplicates", pages, "--suggest", "--precision", "0.9")
    found = report(*args)
    assert found["in_force"]["precision"]["low"] < 0.9 <= found["suggested"]["precision"]["low"]
    assert found["suggested"]["recall"]["value"] > 0.9
    (line,) = found["settings"]
    assert line in run(*args)
    really = report("duplicates", pages, "--set", f"threshold={found['values']['threshold']}")
    assert really["drops"]["wrongly_dropped"] == found["suggested"]["wrong"]
    assert really["drops"]["missed"] == found["suggested"]["missed"]


def test_too_few_pages(pages: str) -> None:
    shown = " ".join(run("duplicates", pages, "--suggest").split())
    assert "There are too few labels to show a precision of 0.99" in shown
    assert "more labelled copies" in shown


@pytest.mark.parametrize("columns", ["70", "100", "160"])
def test_tables_fit_the_terminal(file: str, columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    several = [word for name in ("exact", "minhash", "simhash") for word in ("--detector", name)]
    shown = CliRunner().invoke(app, ["eval", "pairs", file, *several], catch_exceptions=False).output
    assert max(map(len, shown.splitlines()[1:])) <= int(columns)
    assert "…" not in shown


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("pairs", "{file}", "--precision", "0.9"), "--precision = 0.9"),
        (("pairs", "{file}", "--suggest", "--precision", "1"), "above 0 and below 1"),
        (("pairs", "{file}", "--suggest", "--detector", "all"), "one detector, or several together"),
        (("pairs", "{file}", "--detector", "clairvoyance"), "clairvoyance"),
        (("pairs", "absent.jsonl"), "absent.jsonl cannot be read"),
        (("pairs", "{pages}"), "label, new, old missing"),
        (("duplicates", "{pages}", "--suggest", "--sweep", "threshold=0.5:0.6:0.1"), "without --suggest"),
        (("duplicates", "{pages}", "--suggest", "--mistakes"), "without --suggest"),
        (("duplicates", "{pages}", "--suggest", "--detector", "all"), "one detector, or several together"),
    ],
)
def test_an_error_is_one_sentence(
    file: str,
    pages: str,
    args: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    named = [each.format(file=file, pages=pages) for each in args]
    assert said in complaint(monkeypatch, capsys, "eval", *named)
