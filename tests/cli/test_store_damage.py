"""The commands of ``dedupcrawl store`` on a store with damaged records."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lmdb
import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.cli.store import DAMAGED
from dedupcrawl.errors import DamageError
from dedupcrawl.stores.transfer import read_header
from tests.stores.factories import lmdb_url

if TYPE_CHECKING:
    from pathlib import Path

    from typer.testing import Result

PAGES = 12
BAD = (3, 7)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with two damaged records."""
    url = lmdb_url(tmp_path / "store")
    with Deduplicator(url, "news") as dedup:
        for n in range(1, PAGES + 1):
            words = " ".join(f"w{n}x{each}" for each in range(60))
            assert dedup.add(text=words, url=f"http://a/{n}").keep
    damage(tmp_path / "store", *BAD)
    return url


def damage(store: Path, *ids: int) -> None:
    with lmdb.open(str(store), max_dbs=9) as environment:
        table = environment.open_db(b"news/records")
        with environment.begin(write=True) as transaction:
            for id in ids:
                packed = id.to_bytes(6, "big")
                value = bytearray(transaction.get(packed, b"", table))
                value[-20] ^= 1
                transaction.put(packed, bytes(value), db=table)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, ["store", *arguments])


def test_export_skips_names_and_counts(url: str, tmp_path: Path) -> None:
    done = run("export", url, str(tmp_path / "e.dedup"))
    assert done.exit_code == DAMAGED
    assert f"{PAGES - len(BAD)} records of news exported" in done.stdout
    for id in BAD:
        assert f"The record under {id} is damaged: its checksum is wrong. It is skipped" in done.stderr
    assert "damaged records skipped: 2" in done.stderr
    assert read_header(tmp_path / "e.dedup").records == PAGES - len(BAD)


def test_prune_removes_the_others(url: str) -> None:
    done = run("prune", url, "--older-than", "0s")
    assert done.exit_code == DAMAGED
    assert f"{PAGES - len(BAD)} records removed" in done.stdout
    assert "damaged records skipped: 2" in done.stderr


def test_forget_names_the_damaged_record_of_a_url(url: str) -> None:
    done = run("forget", url, "http://a/3", "http://a/4")
    assert done.exit_code == DAMAGED
    assert "1 records forgotten" in done.stdout
    assert "The record under 3 is damaged" in done.stderr
    assert "damaged records skipped: 1" in done.stderr
    assert run("forget", url, "http://a/5").exit_code == 0


@pytest.mark.parametrize("as_json", [False, True])
def test_a_report_leaves_damaged_records_out(url: str, tmp_path: Path, as_json: bool) -> None:
    with Deduplicator(url, "news") as dedup:
        for version in ("old", "new"):
            text = " ".join(f"{version}{each}" for each in range(60))
            assert dedup.add(text=text, url="http://a/twice").keep
    damage(tmp_path / "store", PAGES + 1)  # the other version shares a key with it
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", url, "-o", str(page), *(["--json"] if as_json else [])])
    assert done.exit_code == DAMAGED
    assert "The record under 3 is damaged: its checksum is wrong. It is skipped" in done.stderr
    assert "damaged records skipped: 3" in done.stderr
    shown = done.stdout if as_json else page.read_text()
    assert "3 damaged records are left out." in shown
    assert "Pages were not compared: The record" not in shown


@pytest.mark.parametrize(
    "arguments",
    [("export", "{url}", "{file}"), ("prune", "{url}", "--older-than", "0s"), ("forget", "{url}", "http://a/3")],
    ids=lambda arguments: arguments[0],
)
def test_strict_stops_at_the_first(url: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    file = tmp_path / "e.dedup"
    done = run(*(each.format(url=url, file=file) for each in arguments), "--strict")
    assert isinstance(done.exception, DamageError)
    assert "The record under 3 is damaged" in str(done.exception)
    assert not file.exists()
