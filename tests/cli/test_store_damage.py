"""The commands of ``dedupcrawl store`` on a store with damaged records."""

from __future__ import annotations

import json
import struct
from math import inf, nan
from typing import TYPE_CHECKING
from zlib import crc32

import lmdb
import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.cli.store import DAMAGED
from dedupcrawl.errors import DamageError, DedupError, StoreError
from dedupcrawl.stores import open_store
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.records import encode
from dedupcrawl.stores.transfer import export_records, read_header
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


def put(store: Path, table: str, key: bytes, value: bytes) -> None:
    with lmdb.open(str(store), max_dbs=9) as environment:
        handle = environment.open_db(f"news/{table}".encode())
        with environment.begin(write=True) as transaction:
            transaction.put(key, value, db=handle)


TIMES = [inf, -inf, nan, 1e300, -1e12, 2.6e11]


@pytest.mark.parametrize("time", TIMES)
def test_info_survives_any_time(url: str, tmp_path: Path, time: float) -> None:
    sound = encode(Record("http://a", (), (), 0.0))
    body = struct.pack(">d", time) + sound[13:]
    put(tmp_path / "store", "records", (1).to_bytes(6, "big"), sound[:1] + crc32(body).to_bytes(4, "big") + body)
    done = run("info", url)
    assert done.exit_code == 0, done.output
    assert json.loads(run("info", url, "--json").stdout)[0]["pages"] == PAGES
    assert (
        "The record under 1 is damaged: its time is no date. It is skipped"
        in run("prune", url, "--older-than", "0s").stderr
    )


@pytest.mark.parametrize("value", [b"", b"junk", b"x" * 24, b"x" * 300, bytes(300)])
def test_info_survives_any_record(url: str, tmp_path: Path, value: bytes) -> None:
    for id in (1, PAGES):
        put(tmp_path / "store", "records", id.to_bytes(6, "big"), value)
    assert run("info", url).exit_code == 0


def test_a_damaged_configuration_is_reported_in_a_sentence(url: str, tmp_path: Path) -> None:
    for scheme in (b"", b"[1]", b"\xff", b"[" * 100_000, b'{"a":' * 99 + b"1" + b"}" * 99):
        with lmdb.open(str(tmp_path / "store"), max_dbs=9) as environment:
            meta = environment.open_db(b"dedupcrawl")
            with environment.begin(write=True) as transaction:
                transaction.put(b"scheme:news", scheme, db=meta)
        done = run("info", url)
        assert isinstance(done.exception, StoreError)
        assert "is damaged: namespace 'news' has no configuration of ours" in str(done.exception)


def test_an_import_names_what_does_not_fit_and_creates_no_namespace(url: str, tmp_path: Path) -> None:
    file, target = tmp_path / "e.dedup", lmdb_url(tmp_path / "other")
    with Deduplicator(url, "odd") as dedup:
        dedup.store.add(Record("http://a", (), (bytes(15), b""), 0.0))
        export_records(dedup.store, file)
    done = run("import", str(file), target)
    assert isinstance(done.exception, StoreError)
    assert "record 0 cannot be imported: a stored sketch of 15 bytes" in str(done.exception)
    assert not (tmp_path / "other").exists()
    exported = run("export", url, str(file), "--namespace", "odd")
    assert exported.exit_code == DAMAGED
    assert "damaged records skipped: 1" in exported.stderr
    assert run("import", str(file), target).exit_code == 0


def test_an_export_of_another_version_is_named(tmp_path: Path) -> None:
    with open_store(lmdb_url(tmp_path / "store"), namespace="news", scheme={"later": {"version": 9}}) as store:
        store.add(Record("http://a", (), (b"sketch",), 0.0))
    file = tmp_path / "e.dedup"
    assert run("export", lmdb_url(tmp_path / "store"), str(file)).exit_code == 0
    done = run("import", str(file), lmdb_url(tmp_path / "other"))
    assert isinstance(done.exception, DedupError)
    assert str(done.exception).startswith(f"The file {file} cannot be imported: ")
    assert "detector 'later'" in str(done.exception)


def test_the_last_id_of_a_damaged_store_is_not_given_again(url: str, tmp_path: Path) -> None:
    """Another page would be taken for the record that has it."""
    for last in (b"", b"\xff" * 6, bytes(5), (3).to_bytes(6, "big")):
        put(tmp_path / "store", "claims", bytes(6), last)
        with Deduplicator(url, "news") as dedup:
            with pytest.raises(StoreError, match="The last id given in the table of claims is damaged"):
                dedup.add(text="Another story. " * 9, url="http://a/another")
            assert dedup.info().pages == PAGES
