"""Crawls that skip requests, and where a page could be lost: killed, shared, resumed, or wrong about a page."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from dedupcrawl.crawl.skipped_requests import SKIPPED
from tests.crawl.running import PATIENCE, finish, start, wait_for_lines
from tests.crawl.site import index, plain, text
from tests.crawl.test_foresee import COUNT, LEARNT, REFS, rules, settings, shop, titles
from tests.crawl.test_outage import at

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled, Running
    from tests.crawl.site import Site
    from tests.stores.servers import Server

    Run = Callable[..., Crawled]

MANY = 300  #: articles: the probes of the crawl are enough for the audit


def others(count: int) -> list[str]:
    """Return the titles of all pages of a shop whose last 20 ``?ref=c`` are other articles."""
    return sorted(f"T{number}" for number in (*range(count), *range(10_000 + count - 20, 10_000 + count)))


def test_pages_that_only_copies_in_the_middle_lead_to_are_found(site: Site, run: Run) -> None:
    """The probes of the crawl are copies, but each has a link of its own: the audit must look at the others."""
    urls = shop(site, MANY)
    hidden = range(2 * LEARNT, MANY - 20)
    for number in hidden:
        link = site.put(f"/hidden/{number}", plain(f"H{number}", text(5000 + number)))
        site.put(f"/item/{number}?ref=b", plain(f"T{number}", text(number), link))
    crawled = run(urls=urls, settings=settings("skip"))

    assert set(titles(crawled)) >= {f"H{number}" for number in hidden}
    assert crawled.dedup["revoked"] >= 1


def test_pages_of_another_site_that_only_copies_lead_to_are_found(site: Site, run: Run) -> None:
    """A page of another site says that the rule of this one is wrong."""
    urls = shop(site, MANY)
    hidden = range(2 * LEARNT, MANY - 20)
    for number in hidden:
        link = site.put(f"/hidden/{number}", plain(f"H{number}", text(5000 + number)))
        elsewhere = link.replace("127.0.0.1", "localhost")
        site.put(f"/item/{number}?ref=b", plain(f"T{number}", text(number), elsewhere))
    crawled = run(urls=urls, settings=settings("skip"))

    assert set(titles(crawled)) >= {f"H{number}" for number in hidden}


def test_another_spider_that_shares_the_store_leaves_skipped_requests_alone(site: Site, tmp_path: Path) -> None:
    """It would make no items of their pages, and the spider that has skipped them would lose them."""
    crawls = Interrupted(site, tmp_path, DEDUP_NAMESPACE="shared")
    first = crawls.stop()
    assert crawls.wrong
    other = finish(start(tmp_path, ("Viewer", {"urls": [site.put("/about", index())]}), settings=crawls.settings))[0]
    assert [path for path in site.asked if "ref=" in path] == []
    assert not other.lines("", "ERROR")

    assert titles(first, crawls.resume()) == others(COUNT)


@pytest.mark.parametrize("has_queue", [True, False])
def test_a_killed_crawl_loses_nothing_that_it_has_skipped(site: Site, tmp_path: Path, has_queue: bool) -> None:
    """With or without JOBDIR, the next crawl with the same store finds out that the rule was wrong.

    Scrapy's own queue in JOBDIR does not survive this: what it had not sent is lost with or without skipping.
    """
    path = tmp_path / "items.jl"
    job = {"JOBDIR": str(tmp_path / "job")} if has_queue else {}
    crawls = Interrupted(site, tmp_path, FEEDS={str(path): {"format": "jsonlines"}}, **job)
    crawls.kill()
    assert crawls.wrong
    for _ in range(1 + has_queue):  # the queue of a killed crawl gives its old requests in place of new ones, once
        crawls.resume()

    assert crawls.wrong <= set(site.asked)
    if not has_queue:
        found = {json.loads(line)["title"] for line in path.read_text().splitlines() if line[-1] == "}"}
        assert found >= set(others(COUNT))


def test_a_crawl_that_was_stopped_is_resumed_without_a_loss(site: Site, tmp_path: Path) -> None:
    crawls = Interrupted(site, tmp_path, JOBDIR=str(tmp_path / "job"))
    first = crawls.stop()
    assert crawls.wrong

    assert titles(first, crawls.resume()) == others(COUNT)


class Interrupted:
    """Crawls a shop, and interrupts the crawl when it has skipped pages that are no copies."""

    def __init__(self, site: Site, folder: Path, **more: Any) -> None:
        self.site, self.folder = site, folder
        self.store = f"lmdb://{folder}/store"
        in_order = {"EXTENSIONS": {"tests.crawl.components.NoEvidenceAwaited": 0}}  # a rule acts on the first articles
        self.settings = settings("skip", DEDUP_STORE=self.store, **in_order, **more)
        self.namespace = more.get("DEDUP_NAMESPACE", "reader")
        self.urls = shop(site, other_from=COUNT - 20)
        self.wrong: set[str] = set()  #: paths of pages that are no copies, and were skipped

    def kill(self) -> None:
        running = self._interrupt(signal.SIGKILL)
        running.process.join(PATIENCE)
        assert running.process.exitcode == -signal.SIGKILL
        self._forget()

    def stop(self) -> Crawled:
        crawled = finish(self._interrupt(signal.SIGINT))[0]
        assert crawled.reason == "shutdown"
        self._forget()
        return crawled

    def resume(self) -> Crawled:
        return finish(start(self.folder, ("Reader", {"urls": self.urls}), settings=self.settings))[0]

    def _interrupt(self, how: signal.Signals) -> Running:
        running = start(self.folder, ("Reader", {"urls": self.urls}), settings=self.settings)
        pid = running.process.pid
        assert pid is not None

        def check(path: str) -> None:
            if "ref=" in path and not self.wrong:
                self.wrong = {each for each in self._skipped() if self._is_wrong(each)}
                if self.wrong:
                    os.kill(pid, how)

        self.site.on_path = check
        return running

    def _forget(self) -> None:
        self.site.on_path, self.site.asked = None, []

    def _is_wrong(self, path: str) -> bool:
        return path.endswith("?ref=c") and int(path.removeprefix("/item/").partition("?")[0]) >= COUNT - 20

    def _skipped(self) -> set[str]:
        """Return the paths of the skipped requests in the store."""
        with Deduplicator(self.store, self.namespace) as dedup:
            notes = dedup.store.notes
            found = [value for host in notes.sites(SKIPPED) for value in notes.read_all(SKIPPED, host).values()]
        return {json.loads(each)["request"]["url"].removeprefix(self.site.base) for each in found}


@pytest.mark.parametrize("awaits", [True, False])
def test_an_outage_of_the_store_loses_no_page(site: Site, tmp_path: Path, server: Server, awaits: bool) -> None:
    """Meanwhile nothing can be stored, so everything is sent; what was skipped before is audited when it is back."""

    def start_again() -> None:
        wait_for_lines(tmp_path, "The store is away")
        server.start()

    urls = shop(site, other_from=None if awaits else COUNT - 20)
    when = (86, 94) if awaits else (125, 135)  # requests: rules have some evidence, or act
    at(site, **{f"_{when[0]}": server.stop, f"_{when[1]}": start_again})
    given = shared(server) | ({} if awaits else {"EXTENSIONS": {"tests.crawl.components.NoEvidenceAwaited": 0}})
    crawled = finish(start(tmp_path, ("Reader", {"urls": urls}), settings=given))[0]

    assert set(titles(crawled)) == ({f"T{number}" for number in range(COUNT)} if awaits else set(others(COUNT)))
    assert crawled.dedup["outages"] == 1
    assert crawled.dedup["skipped"] > 0
    assert crawled.reason == "finished"


def test_a_store_in_memory_skips_nothing_in_a_crawl_that_can_be_resumed(site: Site, tmp_path: Path) -> None:
    """The resumed crawl would not know what was skipped."""
    job = {"DEDUP_STORE": "memory://", "JOBDIR": str(tmp_path / "job")}
    crawled = finish(start(tmp_path, ("Reader", {"urls": shop(site)}), settings=settings("skip", **job)))[0]

    assert crawled.dedup["probes"] > 0
    assert "skipped" not in crawled.dedup


def test_two_workers_at_once_send_what_either_has_skipped(site: Site, tmp_path: Path, server: Server) -> None:
    """Both use the rule. Whichever finds that it is wrong, all articles are found that either has skipped."""
    finish(start(tmp_path, ("Reader", {"urls": shop(site)}), settings=shared(server)))
    assert max(rules(server).values()) >= LEARNT
    urls = shop(site, COUNT * 2, other_from=COUNT)  # more than a tenth: a smaller share could escape the audit
    halves = [[*list(site.answers)[half::2]] for half in range(2)]
    starts = [
        site.put(f"/half/{half}", index(*(site.base + path for path in paths))) for half, paths in enumerate(halves)
    ]
    own = [{"DEDUP_LEASE": 3}, {"DEDUP_LEASE": 3}]
    crawls = [("Reader", {"urls": [each]}) for each in starts]
    one, two = finish(start(tmp_path, *crawls, settings=shared(server), own=own))

    assert urls
    assert one.dedup.get("skipped", 0) + two.dedup.get("skipped", 0) > 0
    # What a worker has skipped that ended before the other one refuted the rule is sent by the next crawl.
    nothing = site.put("/nothing", index())
    (three,) = finish(start(tmp_path, ("Reader", {"urls": [nothing]}), settings=shared(server)))
    new = {f"T{number}" for number in (*range(COUNT, COUNT * 2), *range(10_000 + COUNT, 10_000 + COUNT * 2))}
    assert set(titles(one, two, three)) >= new


def shared(server: Server) -> dict[str, Any]:
    return settings("skip", DEDUP_STORE=server.url, DEDUP_LEASE=3)


def test_nothing_is_foreseen_to_repeat_a_page_without_text(site: Site, run: Run) -> None:
    """A page without a text of its own cannot be compared: its copy with ``?ref=`` may be the article."""
    urls = shop(site)
    for number in range(COUNT - 20, COUNT):
        site.put(f"/item/{number}", plain("Loading", "Please wait."))
        for ref in REFS:
            site.put(f"/item/{number}?ref={ref}", plain(f"T{number}", text(number)))
    crawled = run(urls=urls, settings=settings("skip"))

    assert set(titles(crawled)) >= {f"T{number}" for number in range(COUNT)}
