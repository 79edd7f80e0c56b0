"""``dedupcrawl eval duplicates``: tables, JSON, sweeps and errors."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl.cli import app, main
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.tools.evaluation.runs import evaluation_runs
from tests.texts import CHINESE, ENGLISH, OTHER_CHINESE, OTHER_ENGLISH

runner = CliRunner()

ROWS = (
    ("a", "original", ENGLISH),
    ("b", "original", CHINESE),
    ("a", "typos", ENGLISH.replace("Nobody", "Nobody at all")),
    ("b", "typos", CHINESE.replace("九点", "十点")),
    ("c", "excerpt", ENGLISH[: len(ENGLISH) // 2]),
    ("d", "appended", f"{CHINESE}{OTHER_CHINESE}"),
    ("a", "layout", ENGLISH),
    ("e", "other", OTHER_ENGLISH),
    ("f", "wrong", OTHER_ENGLISH),
)
FIGURES = 12
REPORT = {
    *("detectors", "pages", "unchecked", "drops", "pairs", "by_edit", "us_per_page", "reading_us_per_page"),
    *("keys_per_page", "bytes_per_page", "candidates_per_page"),
}


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    rows = (
        {"id": str(n), "url": f"https://s{n}.example/", "text": text, "cluster": cluster, "edit": edit}
        for n, (cluster, edit, text) in enumerate(ROWS)
    )
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    return str(path)


def run(*args: str) -> str:
    result = runner.invoke(app, ["eval", "duplicates", *args], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def report(*args: str) -> Any:
    return orjson.loads(run(*args, "--json"))


def rows_of(shown: str) -> dict[str, list[str]]:
    """Return the rows of the first table by their first cell."""
    table = shown.split("\n\n", maxsplit=1)[0].splitlines()
    cells = (line.rsplit(maxsplit=FIGURES) for line in table[4:])
    return {name.strip(): figures for name, *figures in cells}


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)


def test_all_is_one_table_with_a_row_each(file: str) -> None:
    shown = run(file, "--detector", "all")
    rows = rows_of(shown)
    field = evaluation_runs(Config(), ["all"], {})
    assert list(rows) == [each.label for each in field]
    assert len(field) > len(DETECTORS)
    assert rows["exact"][:8] == ["0.500", "0.333", "0.400", "1", "2", "0.500", "0.250", "0.333"]
    assert rows["exact"][9:] == ["1.00", "34.0", "0.22"]
    assert max(map(len, shown.splitlines())) <= 100
    assert "…" not in shown


def test_edit_tables_distinguish_missed_copies_and_wrong_drops(file: str) -> None:
    shown = run(file, "--detector", "exact")
    table = shown.split("\n\n")[1].splitlines()
    assert table[1].split() == ["detector", "appended", "excerpt", "layout", "original", "other", "typos", "wrong"]
    assert table[3].split() == ["pages", "1", "1", "1", "2", "1", "2", "1"]
    assert table[4].split() == ["exact", "·", "·", "·", "·", "·", "2", "1!"]


def test_json_holds_everything(file: str) -> None:
    found = report(file, "--detector", "all")
    assert set(found) == {"pages", "runs"}
    assert found["pages"] == len(ROWS)
    assert [each["name"] for each in found["runs"]] == [each.label for each in evaluation_runs(Config(), ["all"], {})]
    for each in found["runs"]:
        assert set(each) == REPORT | {"name"}
        assert set(each["drops"]) == {"precision", "recall", "f1", "wrongly_dropped", "missed"}
        assert set(each["pairs"]) == {"precision", "recall", "f1", "wrong", "missed"}
        assert each["by_edit"]["typos"]["pages"] == 2
        assert each["us_per_page"] > 0


def test_json_of_one_choice_is_its_report(file: str) -> None:
    found = report(file, "--detector", "exact", "--detector", "feature_code")
    assert set(found) == REPORT | {"name"}
    assert found["name"] == "exact + feature_code"
    assert found["detectors"] == ["exact", "feature_code"]
    assert found["drops"]["missed"] == 0


def test_constants_can_be_set(file: str) -> None:
    loose = report(file, "--detector", "feature_code", "--set", "feature_code.length_ratio=3")
    strict = report(file, "--detector", "feature_code", "--set", "length_ratio=1.1")
    assert loose["drops"]["wrongly_dropped"] > strict["drops"]["wrongly_dropped"]
    shared = report(file, "--detector", "minhash", "--set", "threshold=0.99", "--set", "minhash.slots=256")
    assert shared["bytes_per_page"] > report(file, "--detector", "minhash")["bytes_per_page"] - 100
    texts = report(file, "--detector", "datasketch", "--set", "datasketch.tokens=characters")
    assert texts["name"] == "datasketch characters"
    strings = report(file, "--detector", "exact", "--set", 'drop=["near-duplicate"]')
    assert strings["drops"]["missed"] == 3


def test_reader_reaches_the_pages(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    menu = "".join(f'<li><a href="/{n}">Section {n} of the site</a></li>' for n in range(40))
    pages = (f"<ul>{menu}</ul><div><p>{ENGLISH}</p></div>", f"<div><p>{ENGLISH}</p></div>")
    rows = ({"id": n, "url": f"u{n}", "cluster": "a", "html": page} for n, page in enumerate(pages))
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    assert report(str(path), "--detector", "exact")["drops"]["missed"] == 0
    assert report(str(path), "--detector", "exact", "--reader", "text")["drops"]["missed"] == 1


def test_sweep_names_the_best_setting(file: str) -> None:
    args = (file, "--detector", "feature_code", "--sweep", "feature_code.length_ratio=1:3:0.5")
    shown = run(*args)
    assert list(rows_of(shown)) == ["1", "1.5", "2", "2.5", "3"]
    found = report(*args, "--precision", "0.5")
    assert set(found) == {"constant", "measure", "precision", "best", "points"}
    assert found["constant"] == "feature_code.length_ratio"
    assert [each["value"] for each in found["points"]] == [1, 1.5, 2, 2.5, 3]
    assert set(found["points"][0]) == REPORT | {"value"}
    assert found["best"] == 1.5
    assert "length_ratio = 1.5 (precision 0.7500, recall 1.0000)." in run(*args, "--precision", "0.5")
    assert "No setting reaches the precision of 0.99 for drops" in shown
    assert report(*args, "--pairs")["measure"] == "pairs"


def test_sweep_is_plotted(file: str, tmp_path: Path) -> None:
    sweep = (file, "--detector", "minhash", "--sweep", "threshold=0.5:0.9:0.1", "--plot")
    run(*sweep, str(tmp_path / "curve.png"))
    run(*sweep, str(tmp_path / "curve.svg"))
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    svg = (tmp_path / "curve.svg").read_text()
    assert svg[svg.index('id="points"') :].split("</g>")[0].count("<use ") == 5


def test_mistakes_are_listed(file: str) -> None:
    shown = run(file, "--detector", "exact", "--mistakes")
    assert "mistakes of exact" in shown
    assert "https://s8.example/" in shown
    listed = report(file, "--detector", "exact", "--mistakes")
    assert set(listed) == REPORT | {"name", "mistakes"}
    assert [each["mistake"] for each in listed["mistakes"]].count("wrongly dropped") == 1
    assert set(listed["mistakes"][0]) == {"mistake", "id", "url", "cluster", "edit", "verdict"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--detector", "all", "--sweep", "threshold=0.5:0.6:0.1"), 'not "all"'),
        (("--detector", "all", "--detector", "exact"), '"all" alone'),
        (("--sweep", "threshold=0.5:0.4:0.1"), "END"),
        (("--sweep", "threshold=0.5:0.6:0"), "STEP"),
        (("--sweep", "threshold=0.5:1.6:0.1"), "threshold = 1.1"),
        (("--sweep", "threshold=low:high:1"), "no number"),
        (("--sweep", "treshold=0.5:0.6:0.1"), "treshold"),
        (("--sweep", "minhash.d=0:8:1"), "minhash has"),
        (("--plot", "curve.png"), "--sweep"),
        (("--precision", "0.9"), "--precision = 0.9"),
        (("--pairs",), "--pairs = True"),
        (("--sweep", "threshold=0.5:0.6:0.1", "--mistakes"), "--mistakes = True"),
        (("--sweep", "threshold=0.5:0.6:0.1", "--detector", "spotsigs"), "spotsigs.tau"),
        (("--set", "reader=text", "--reader", "topic"), "--set reader=text"),
        (("--sweep", "threshold=0.5:0.6:0.1", "--plot", "curve.gif"), ".svg or .png"),
        (("--set", "threshold"), "NAME=VALUE"),
        (("--set", "threshold=0.5", "--set", "threshold=0.6"), "once"),
        (("--set", "threshold=high"), "high"),
        (("--set", "minhash.slots=100"), "100"),
        (("--reader", "clairvoyant"), "clairvoyant"),
    ],
)
def test_an_error_is_one_sentence(
    file: str, args: tuple[str, ...], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["dedupcrawl", "eval", "duplicates", file, *args])
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    text = capsys.readouterr().err
    assert said in text
    assert len(text.strip().splitlines()) == 1


def test_without_matplotlib_nothing_is_evaluated_in_vain(
    file: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setattr(
        "sys.argv",
        ["dedupcrawl", "eval", "duplicates", "absent", "--sweep", "threshold=0.5:0.6:0.1", "--plot", "a.svg"],
    )
    with pytest.raises(SystemExit):
        main()
    assert "dedupcrawl[plots]" in capsys.readouterr().err


@pytest.mark.parametrize("columns", [70, 80, 100, 140])
def test_tables_fit_the_terminal(file: str, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run(file, "--detector", "exact", "--detector", "feature_codes")
    assert max(map(len, shown.splitlines())) <= columns
    assert "…" not in shown
    for figure in ("0.750", "1.000", "wrong", "layout", "cand.", "bytes"):
        assert figure in shown
    tables = {70: 3 + 2, 80: 3 + 1, 100: 2, 140: 2}
    assert shown.count("exact + feature_codes") == tables[columns]
    assert shown.count("by kind of edit") == 1
