from __future__ import annotations

import os
from pathlib import Path

import pytest

from dedupcrawl.crawl.report_place import Place
from dedupcrawl.errors import SettingError
from dedupcrawl.report.ledger import Ledger


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_ledger_lies_beside_the_page(folder: Path) -> None:
    for value in ("report.html", Path("report.html"), str(folder / "report.html")):
        place = Place.named(value, "news")
        assert place is not None
        assert place.page == folder / "report.html"
        assert place.ledger == folder / "report.ledger"


def test_placeholders_are_filled_in(folder: Path) -> None:
    place = Place.named("%(name)s-%(pid)s-%(time)s-100%%.html", "news")
    assert place is not None
    assert place.page.name.startswith(f"news-{os.getpid()}-20")
    assert place.page.name.endswith("-100%.html")
    assert ":" not in place.page.name


def test_no_report_is_the_default() -> None:
    assert Place.named("", "news") is None


@pytest.mark.parametrize(
    "value",
    [
        "none/report.html",
        "report",
        "report.txt",
        "folder.html",
        ".html",
        "%(nme)s.html",
        "100%.html",
        "%",
        7,
        None,
        True,
    ],
)
def test_what_is_not_accepted_is_named(folder: Path, value: object) -> None:
    (folder / "folder.html").mkdir()
    with pytest.raises(
        SettingError, match=r'DEDUP_REPORT = .* is not accepted: a path that ends in "\.html"'
    ):
        Place.named(value, "news")
    assert [path.name for path in folder.iterdir()] == ["folder.html"]


def _write(place: Place) -> None:
    Ledger.create(place.ledger, {"job": place.job}).close()


def test_a_job_knows_its_ledger(folder: Path) -> None:
    first = _place("report-%(time)s.html").resumed("job")
    assert not first.resumes
    _write(first)
    again = Place(first.template, folder / "report-later.html").resumed("job")
    assert again.resumes
    assert again.ledger == first.ledger


@pytest.mark.parametrize("what", ["gone", "another", "damaged", "renamed", "forgotten"])
def test_a_ledger_that_is_not_the_jobs_own_is_not_gone_on_with(folder: Path, what: str) -> None:
    first = _place("report.html").resumed("job")
    _write(first)
    template = "report.html"
    if what == "gone":
        first.ledger.unlink()
    elif what == "another":
        _write(_place("report.html").resumed("other-job"))
    elif what == "damaged":
        first.ledger.write_bytes(b"x" * 9000)
    elif what == "renamed":
        template = "other.html"
    else:
        (folder / "job" / "dedup-report.json").write_text("[]")
    assert not _place(template).resumed("job").resumes


def test_without_a_job_nothing_is_remembered(folder: Path) -> None:
    place = _place("report.html")
    assert place.resumed(None) == place
    assert not [*folder.iterdir()]


def _place(template: str) -> Place:
    place = Place.named(template, "news")
    assert place is not None
    return place
