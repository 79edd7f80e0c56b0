"""Crawls that foresee copies: nothing changes, copies come last, or they are not requested; no page is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from markupsafe import escape
from typer.testing import CliRunner

from dedupcrawl import Deduplicator
from dedupcrawl.cli import app
from dedupcrawl.foresee.rule_state import NEEDED_GROUPS
from dedupcrawl.foresee.soft_404 import impossible_url
from dedupcrawl.ledger.ledger import Ledger
from tests.crawl.running import IN_TURN, finish, start
from tests.crawl.site import index, plain, text
from tests.stores.servers import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

LEARNT = NEEDED_GROUPS + 10  #: articles whose copies teach the rule
COUNT = 75  #: articles
REFS = ("a", "b", "c")


def settings(mode: object, **more: Any) -> dict[str, Any]:
    return {**IN_TURN, "DEDUP_FORESEE": mode, "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue", **more}


def shop(site: Site, count: int = COUNT, *, other_from: int | None = None, refs: Sequence[str] = REFS) -> list[str]:
    """Serve articles, each also with ``?ref=``; from a number on, ``?ref=c`` is another article."""
    links = []
    for number in range(count):
        links.append(site.put(f"/item/{number}", plain(f"T{number}", text(number))))
        for ref in refs:
            is_other = other_from is not None and number >= other_from and ref == "c"
            shown = number + 10_000 if is_other else number
            links.append(site.put(f"/item/{number}?ref={ref}", plain(f"T{shown}", text(shown))))
    return [site.put("/", index(*links))]


def titles(*crawls: Crawled) -> list[str]:
    return sorted(item["title"] for crawled in crawls for item in crawled.items)


def paths(site: Site) -> list[str]:
    """Return what was requested, without the probe of pages that are not found."""
    probe = impossible_url(site.base).removeprefix(site.base)
    return [path for path in site.asked if path != probe]


def asked(site: Site) -> int:
    return len(paths(site))


def test_observing_changes_no_request(site: Site, run: Run) -> None:
    urls = shop(site)
    off = run(urls=urls, settings=settings(False, DEDUP_NAMESPACE="off"))
    before, site.asked = site.asked, []
    observed = run(urls=urls, settings=settings("observe", DEDUP_NAMESPACE="observed"))

    assert site.asked == before
    assert titles(off) == titles(observed) == sorted(f"T{number}" for number in range(COUNT))
    assert "foreseen" not in off.dedup
    assert observed.dedup["foreseen"] == observed.dedup["probes"] >= 2 * (COUNT - LEARNT)
    assert observed.dedup.keys().isdisjoint(("probes_wrong", "revoked", "skipped", "postponed"))


def test_observing_is_the_default(site: Site, run: Run) -> None:
    assert run(urls=shop(site), settings=IN_TURN).dedup["foreseen"] > COUNT


def test_skipped_requests_are_not_sent(site: Site, run: Run) -> None:
    crawled = run(urls=shop(site), settings=settings("skip"))

    assert titles(crawled) == sorted(f"T{number}" for number in range(COUNT))
    assert crawled.dedup["skipped"] >= 2 * (COUNT - LEARNT) * 0.8
    assert asked(site) == 1 + 4 * COUNT - crawled.dedup["skipped"] + crawled.dedup["audited"]
    assert crawled.dedup["probes"] >= 25
    assert crawled.dedup.keys().isdisjoint(("probes_wrong", "revoked", "errors"))
    assert crawled.reason == "finished"
    assert not crawled.lines("", "ERROR")


@pytest.mark.parametrize("order", ["Fifo", "Lifo"])
def test_a_site_that_is_no_copy_in_parts_loses_no_page_while_it_is_learnt(site: Site, run: Run, order: str) -> None:
    """Requests wait for the evidence of rules, and are sent although these rules never act."""
    queue = f"scrapy.squeues.{order}MemoryQueue"
    crawled = run(urls=shop(site, other_from=COUNT - 20), settings=settings("skip", SCHEDULER_MEMORY_QUEUE=queue))

    others = range(10_000 + COUNT - 20, 10_000 + COUNT)
    assert titles(crawled) == sorted(f"T{number}" for number in (*range(COUNT), *others))
    assert crawled.dedup["postponed"] > COUNT
    assert crawled.reason == "finished"


def test_postponed_requests_come_last_and_are_sent(site: Site, run: Run) -> None:
    urls = shop(site)
    crawled = run(urls=urls, settings=settings("postpone"))

    assert titles(crawled) == sorted(f"T{number}" for number in range(COUNT))
    assert sorted(paths(site)) == sorted(site.answers)
    late = site.asked.index(f"/item/{COUNT - 1}")
    assert sum("ref=" in path for path in site.asked[late:]) >= 2 * (COUNT - LEARNT) * 0.8
    assert crawled.dedup["postponed"] >= 2 * (COUNT - LEARNT) * 0.8


@pytest.mark.parametrize("reactor", ["asyncio", "none"])
def test_a_rule_that_becomes_wrong_loses_no_page(site: Site, tmp_path: Path, reactor: str) -> None:
    """What it has skipped is requested again, by whatever probe the mistake is found."""
    urls = shop(site)
    given = settings("skip", DEDUP_STORE=f"lmdb://{tmp_path}/store")
    assert len(finish(start(tmp_path, ("Reader", {"urls": urls}), settings=given))[0].items) == COUNT
    urls = shop(site, other_from=COUNT - 20)  # the rule acts from the beginning
    crawled = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=given, reactor=reactor))[0]

    others = range(10_000 + COUNT - 20, 10_000 + COUNT)
    assert titles(crawled) == sorted(f"T{number}" for number in others)
    assert crawled.dedup["revoked"] >= 1
    assert crawled.dedup["sent_again"] >= 1
    assert crawled.lines("is revoked: ", "INFO")


def test_a_page_that_only_copies_lead_to_is_found(site: Site, run: Run) -> None:
    """The audit follows the links of its probes: a copy may have links that the first page does not have."""
    urls = shop(site)
    for ref in REFS:
        hidden = site.put(f"/hidden/{ref}", plain(f"H{ref}", text(5000 + ord(ref))))
        for number in range(LEARNT, COUNT):
            site.put(f"/item/{number}?ref={ref}", plain(f"T{number}", text(number), hidden))
    crawled = run(urls=urls, settings=settings("skip"))

    assert set(titles(crawled)) >= {f"H{ref}" for ref in REFS}
    assert crawled.dedup["skipped"] > COUNT - LEARNT


def test_a_crawl_that_was_ended_leaves_its_skipped_requests_to_the_next(site: Site, run: Run) -> None:
    """The first crawl ends before its audit; the second finds out that the rule is wrong."""
    urls = shop(site, other_from=COUNT - 20)
    ended = {"DOWNLOADER_MIDDLEWARES": {"tests.crawl.components.StopAfterSkips": 0}, "STOP_AFTER_SKIPS": LEARNT}
    first = run(urls=urls, settings=settings("skip", **ended))
    assert first.reason == "shutdown"
    assert first.dedup["skipped"] >= LEARNT
    assert "audited" not in first.dedup
    second = run(urls=urls, settings=settings("skip"))

    others = range(10_000 + COUNT - 20, 10_000 + COUNT)
    assert titles(first, second) == sorted(f"T{number}" for number in (*range(COUNT), *others))


def test_the_log_the_report_and_explain_name_the_rule(site: Site, run: Run, tmp_path: Path) -> None:
    page, store = tmp_path / "report.html", f"lmdb://{tmp_path}/store"
    crawled = run(urls=shop(site), settings=settings("skip", DEDUP_REPORT=str(page), DEDUP_STORE=store))

    rule = f"?ref=* on {site.base.removeprefix('http://')}/item/#"
    assert crawled.lines(f"The rule {rule} acts: 25 groups of pages, no counter-example", "INFO")
    assert crawled.lines(f"Foreseen: {crawled.dedup['foreseen']} of ", "INFO")
    assert crawled.lines(f"Rules: {rule} (", "INFO")
    with Ledger.open(page.with_suffix(".ledger")) as ledger:
        (row,) = [each for each in ledger.rules if each.text == rule]
    assert row.active
    assert row.requests >= crawled.dedup["skipped"] > row.probes > 0 == row.wrong
    html = page.read_text("utf-8")
    assert rule in html
    assert escape(row.discarder) in html
    done = CliRunner().invoke(app, ["explain", f"{site.base}/item/3?ref=a", "--store", store, "--json"])
    assert done.exit_code == 0, done.output
    (sentence,) = [each for each in json.loads(done.stdout)["rules"] if each.startswith(rule)]
    assert " acts: " in sentence
    assert sentence.endswith(f"It makes the URL {site.base}/item/3")


def test_seeds_and_marked_requests_are_always_sent(site: Site, run: Run) -> None:
    shop(site)
    urls = [site.base + path for path in site.answers if path != "/"]
    crawled = run(urls=urls, settings=settings("skip"))

    assert sorted(paths(site)) == sorted(path for path in site.answers if path != "/")
    assert "skipped" not in crawled.dedup


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"DEDUP_FORESEE": "guess"}, "DEDUP_FORESEE = 'guess'"),
        ({"DEDUP_FORESEE": "skip", "DEDUP_ACTION": "tag"}, "DEDUP_FORESEE = 'skip'"),
        ({"DEDUP_FORESEE": "postpone", "DEDUP_ITEM_FIELDS": ["body"]}, "DEDUP_FORESEE = 'postpone'"),
    ],
)
def test_settings_that_are_not_accepted(site: Site, tmp_path: Path, more: dict[str, Any], name: str) -> None:
    running = start(tmp_path, ("Reader", {"urls": [site.base]}), settings=more)
    assert running.wait() == 1
    assert f"dedupcrawl: {name} is not accepted" in running.output


def test_two_workers_share_a_rule_and_its_revocation(site: Site, tmp_path: Path, server: Server) -> None:
    """The second worker foresees at once what the first has learnt; it ceases when the first one has refuted it."""
    urls = shop(site)
    shared = settings("skip", DEDUP_STORE=server.url, DEDUP_LEASE=3)
    finish(start(tmp_path, ("Reader", {"urls": urls}), settings=shared))
    stored = rules(server)
    assert "?ref=* on " in " ".join(stored)

    site.asked = []
    second = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=shared))[0]
    assert second.dedup["skipped"] > 3 * COUNT * 0.7  # from the first articles on
    assert asked(site) < 2 * COUNT


def rules(server: Server) -> dict[str, int]:
    """Return the rules in a store with the number of their good groups."""
    with Deduplicator(server.url, "reader") as dedup:
        notes = dedup.store.notes
        texts = [key.decode() for site in notes.sites("rules") for key in notes.read_all("rules", site)]
        (site,) = set(notes.sites("rules"))
        totals = notes.add("rule-counts", site, {f"{each}\0good".encode(): 0 for each in texts})
        return {key.decode().partition("\0")[0]: total for key, total in totals.items()}
