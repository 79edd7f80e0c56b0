"""Commands on the store of a crawl with ``DEDUP_SEED = "secret"``."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from typer.testing import CliRunner

from dedupcrawl.cli import app
from dedupcrawl.stores import open_existing
from dedupcrawl.utils.redaction import SecretSeed
from tests.batch.corpus import write_lines
from tests.cli.errors import complaint
from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site, fancy, plain, text

if TYPE_CHECKING:
    from pathlib import Path

SEEN, NEW = text(1), text(2)


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """The URL of the store of a crawl, and that of its page."""
    folder = tmp_path_factory.mktemp("crawl")
    store = f"lmdb://{folder}/seen"
    with Site() as site:
        urls = [site.put("/a", plain("Ice", SEEN)), site.put("/b", fancy("Ice", SEEN))]
        found = crawl(folder, urls=urls, settings={**IN_TURN, "DEDUP_SEED": "secret", "DEDUP_STORE": store})
    assert (found.dedup["kept"], found.dedup["dropped"]) == (1, 1)
    return store, urls[0]


@pytest.fixture
def store(crawled: tuple[str, str]) -> str:
    return crawled[0]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A Scrapy project with the settings of the crawl."""
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = secretproject\n")
    (tmp_path / "secretproject.py").write_text('DEDUP_SEED = "secret"\nDEDUP_NAMESPACE = "reader"\n')
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(os, "environ", os.environ.copy())  # Scrapy sets variables of the project there
    os.environ.pop("SCRAPY_SETTINGS_MODULE", None)
    rows = [{"url": f"https://{n}.example/", "text": each} for n, each in enumerate((SEEN, NEW, NEW + " Yes."))]
    write_lines(tmp_path / "in.jsonl", rows)
    (tmp_path / "copy.html").write_text(fancy("Ice", SEEN))
    return tmp_path


def run(*args: str) -> str:
    result = CliRunner().invoke(app, list(args), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def run_batch(*args: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(run("batch", "in.jsonl", "--out", "out", "--workers", "1", "--json", *args))
    return found


GIVEN = (("--set", "seed=secret"), ("--project",))


@pytest.mark.parametrize("given", GIVEN)
def test_a_batch_against_the_store_has_its_secret(store: str, given: tuple[str, ...]) -> None:
    summary = run_batch("--against", store, *given)
    assert (summary["kept"], sum(summary["dropped"].values())) == (1, 2)
    assert summary["request"]["detectors"]["minhash"]["seed"] == "secret"
    with open_existing(store, "reader") as opened:
        assert opened.secret is not None
        assert str(int(opened.secret)) not in orjson.dumps(summary).decode()


@pytest.mark.parametrize("given", GIVEN)
def test_a_batch_draws_the_secret_of_a_new_store(folder: Path, given: tuple[str, ...]) -> None:
    new = f"lmdb://{folder}/new"
    assert run_batch("--update", new, "--namespace", "reader", *given)["kept"] == 2
    with open_existing(new, "reader") as opened:
        assert isinstance(opened.secret, SecretSeed)
        assert opened.info().pages == 2
    again = run_batch("--against", new, "--out", "again", *given)
    assert again["kept"] == 0


@pytest.mark.parametrize("given", [(), *GIVEN])
def test_a_page_of_the_store_is_explained(crawled: tuple[str, str], given: tuple[str, ...]) -> None:
    store, url = crawled
    found = orjson.loads(run("explain", url, "--store", store, "--json", *given))
    assert "record of the store" in str(found)
    copy = orjson.loads(run("explain", "https://c.example/", "--store", store, "--file", "copy.html", "--json", *given))
    assert copy["verdict"]["of"] == url


@pytest.mark.parametrize("given", [(), *GIVEN])
def test_a_page_is_compared_with_the_store_and_another_page(crawled: tuple[str, str], given: tuple[str, ...]) -> None:
    store, url = crawled
    shown = run("inspect", "copy.html", "--against", store, "--other", "copy.html", "-o", "page.html", *given)
    assert shown.count(": Dropped: ") == 2
    assert url in shown


def test_a_report_compares_the_pages_of_the_store(store: str) -> None:
    report = orjson.loads(run("report", store, "--json"))
    assert not [note for note in report["notes"] if "not compared" in note]
    assert report["figures"]["pages"] == 1


@pytest.mark.parametrize("given", GIVEN)
def test_a_batch_without_a_store_is_refused(
    given: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = complaint(monkeypatch, capsys, "batch", "in.jsonl", "--out", "out", *given)
    assert "a whole number, or --against or --update with a store that keeps the secret" in said


def test_constants_are_checked_before_the_store_is_opened(
    store: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = ("--set", "seed=secret", "--set", "minhash.slots=-1")
    said = complaint(monkeypatch, capsys, "batch", "in.jsonl", "--out", "out", "--against", store, *wrong)
    assert "slots = -1 is not accepted" in said
    useless = ("--detector", "minhash", "--set", "seed=secret", "--set", "segmenter=rjieba")
    said = complaint(monkeypatch, capsys, "batch", "in.jsonl", "--out", "out", "--against", store, *useless)
    assert "segmenter" in said
