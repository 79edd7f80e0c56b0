"""A page is kept, unchecked, if the stored names and values of a page like it cannot be read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from dedupcrawl import Deduplicator, Page
from dedupcrawl.batch.job import Job
from dedupcrawl.batch.runner import run as run_batch
from dedupcrawl.cli import app
from dedupcrawl.config import DROP
from dedupcrawl.decision import Status
from dedupcrawl.detectors.base import Relation
from dedupcrawl.identity.siblings import UNREADABLE
from dedupcrawl.stores.base import Record
from tests.batch.corpus import lines, write_lines
from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site, plain, text

if TYPE_CHECKING:
    from collections.abc import Iterator

STORY = text(1)
FIRST, COPY, LATER, ABROAD = (
    "https://a.example/1",
    "https://a.example/2",
    "https://a.example/3",
    "https://b.example/1",
)
#: Identities that no page has: of the wrong size, with an unknown mark, cut off, and of random bytes.
DAMAGED = [b"\1", b"\1\2\3", bytes(4) + b"\7", b"\x80\1\2\3", bytes(20), bytes(range(200, 255))]


def file(dedup: Deduplicator, url: str, identity: bytes, html: str = "") -> None:
    """File a page with this identity in place of its own."""
    page = dedup.read(html=html or plain("Ice", STORY), url=url)
    assert isinstance(page, Page)
    record = dedup.fingerprint(page)
    assert isinstance(record, Record)
    dedup.store.add(replace(record, identity=identity))


@pytest.mark.parametrize("identity", DAMAGED, ids=bytes.hex)
@pytest.mark.parametrize("url", [COPY, ABROAD, FIRST], ids=["same site", "another site", "same URL"])
def test_a_page_is_kept_if_it_cannot_be_told_from_another(url: str, identity: bytes) -> None:
    for drop in (DROP, frozenset(Relation)):
        with Deduplicator(drop=drop) as dedup:
            file(dedup, FIRST, identity)
            verdict = dedup.add(html=plain("Ice", STORY), url=url)
            assert (verdict.status, verdict.reason, verdict.of) == (Status.UNCHECKED, UNREADABLE, FIRST)
            assert verdict.keep
            # It was filed: with it, later pages can be compared.
            again = dedup.add(html=plain("Ice", STORY), url=LATER)
            assert (again.status, again.of, again.keep) == (Status.DUPLICATE, url, False)


@pytest.mark.parametrize("identity", DAMAGED, ids=bytes.hex)
def test_another_text_under_the_url_is_a_new_version_as_ever(identity: bytes) -> None:
    with Deduplicator() as dedup:
        file(dedup, FIRST, identity)
        verdict = dedup.check(html=plain("Lamps", text(2)), url=FIRST)
    assert (verdict.status, verdict.relation, verdict.keep) == (Status.UNIQUE, Relation.UPDATED, True)


@pytest.mark.parametrize("none", [b"", b"\1\2\3\4"], ids=bytes.hex)
def test_a_page_that_was_stored_without_identity_has_copies(none: bytes) -> None:
    with Deduplicator() as dedup:
        file(dedup, FIRST, none)
        assert dedup.check(html=plain("Ice", STORY), url=COPY).relation is Relation.IDENTICAL
    with Deduplicator() as dedup:
        dedup.add(text=STORY)
        assert dedup.check(text=STORY).relation is Relation.IDENTICAL


@pytest.fixture
def url(tmp_path: Path) -> str:
    """A store with a page whose identity cannot be read."""
    where = f"lmdb://{tmp_path}/store"
    with Deduplicator(where, "news") as dedup:
        file(dedup, FIRST, DAMAGED[-1])
    return where


def test_a_batch_keeps_it_too(url: str, tmp_path: Path) -> None:
    rows = [{"url": each, "html": plain("Ice", STORY)} for each in (COPY, LATER)]
    write_lines(tmp_path / "in.jsonl", rows)
    summary = run_batch(
        Job(inputs=(str(tmp_path / "in.jsonl"),), out=tmp_path / "out", workers=1, against=(url,), annotate=True)
    )
    assert summary["unchecked"] == {UNREADABLE: 1}
    found = {row["url"]: row for row in lines(tmp_path / "out" / "in.jsonl")}
    assert found[COPY]["dedup_status"] == "unchecked"
    assert (found[LATER]["dedup_status"], found[LATER]["dedup_of"]) == ("duplicate", COPY)


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as site:
        yield site


def test_a_crawl_keeps_it_and_says_why(site: Site, tmp_path: Path) -> None:
    store = f"lmdb://{tmp_path}/store"
    urls = [site.put("/1", plain("Ice", STORY)), site.put("/2", plain("Ice", STORY))]
    with Deduplicator(store, "reader") as dedup:
        file(dedup, urls[0], DAMAGED[-1])
    settings = {**IN_TURN, "DEDUP_STORE": store, "DEDUP_NAMESPACE": "reader"}
    crawled = crawl(tmp_path, urls=urls, settings=settings)
    assert [item["url"] for item in crawled.items] == urls[:1]
    assert crawled.verdicts[0]["reason"] == UNREADABLE
    assert crawled.dedup[f"unchecked/{UNREADABLE}"] == 1
    assert crawled.dedup["duplicate/identical"] == 1
    assert not crawled.lines("", "ERROR")


def test_explain_names_the_reason(url: str) -> None:
    with Deduplicator(url, "news") as dedup:
        dedup.add(html=plain("Ice", STORY), url=COPY)
    done = CliRunner().invoke(app, ["explain", COPY, "--store", url], env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.output
    assert f"unchecked({UNREADABLE}), kept of {FIRST}" in done.stdout
    assert (
        "It is unchecked, and kept: the names and values stored for it or for a similar page cannot be read"
        in done.stdout
    )
