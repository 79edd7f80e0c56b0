"""A worker may be killed at any moment: no article is lost, and none is stored twice without need."""

from __future__ import annotations

import csv
import json
import random
import signal
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Deduplicator
from tests.crawl.running import PATIENCE, finish, start
from tests.crawl.site import fancy, index, plain, text

if TYPE_CHECKING:
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Server

ARTICLES = 30
AT_ONCE = 4
BATCH = 5
KILLS = 4


def titles(path: Path) -> list[str]:
    """Return the titles of the items in a feed, except of those that were cut off."""
    return [json.loads(line)["title"] for line in path.read_text().splitlines() if line.endswith("}")]


def rows(path: Path) -> list[str]:
    """Return the titles of the items in a CSV file whose text is complete."""
    bodies = {f"T{n}": text(n) for n in range(ARTICLES)}
    with path.open(newline="") as file:
        return [row["title"] for row in csv.DictReader(file) if row["body"] == bodies.get(row["title"])]


class Killing:
    """Crawls a site again and again with one store, and kills all crawls but the last."""

    def __init__(self, site: Site, folder: Path, settings: dict[str, Any]) -> None:
        self.site, self.folder = site, folder
        self.settings = {
            "DEDUP_STORE": f"lmdb://{folder}/store",
            "CONCURRENT_REQUESTS_PER_DOMAIN": AT_ONCE,
            "LOG_LEVEL": "INFO",
            **settings,
        }
        self.store = self.settings["DEDUP_STORE"]
        copies = [(lay, n) for n in range(ARTICLES) for lay in (plain, fancy)]
        urls = [site.put(f"/{lay.__name__}/{n}", lay(f"T{n}", text(n)), delay=0.02) for lay, n in copies]
        self.start_url = site.put("/", index(*urls))
        self.requests = 1 + len(urls)  #: of a crawl that comes to its end
        self.chance = random.Random(1)

    def kill_at_random(self, run: int) -> None:
        running = start(self.folder, ("Reader", {"urls": [self.start_url]}), settings=self.of_run(run))
        before = len(self.site.asked)
        fatal = before + self.chance.randint(3, 2 * ARTICLES - 5)
        last = before + self.requests
        delay = self.chance.uniform(0, 0.03)

        dead = threading.Event()

        def kill(count: int) -> None:
            if count == fatal:
                threading.Timer(delay, running.process.kill).start()
            if count > fatal + AT_ONCE or count == last:  # the crawl must not be over before the timer is
                dead.wait(PATIENCE)

        self.site.on_request = kill
        ended = running.wait()
        dead.set()
        self.site.on_request = None
        assert ended == -signal.SIGKILL, f"the crawl ended before request {fatal}"

    def kill_with_items_in_the_buffer(self, run: int) -> None:
        """Answer one request at a time, and kill the crawl when a committed article is not on disk yet."""
        running = start(self.folder, ("Reader", {"urls": [self.start_url]}), settings=self.of_run(run))
        turn, dead = threading.Lock(), threading.Event()

        def look(count: int) -> None:
            with turn:
                if count > ARTICLES and not dead.is_set() and self.committed() - {*self.written(run)}:
                    running.process.kill()
                    dead.set()

        self.site.on_request = look
        ended = running.wait()
        self.site.on_request = None
        assert ended == -signal.SIGKILL, "at each request all committed articles were on disk"

    def crawl_to_the_end(self, run: int) -> None:
        finish(start(self.folder, ("Reader", {"urls": [self.start_url]}), settings=self.of_run(run)))

    def of_run(self, run: int) -> dict[str, Any]:
        """Name the outputs of each run after it."""
        named: dict[str, Any] = json.loads(json.dumps(self.settings).replace("RUN", str(run)))
        return named

    def written(self, run: int) -> list[str]:
        """Return the items that a run left on disk."""
        return [title for path in self.folder.glob(f"out-{run}*") for title in titles(path)]

    def committed(self) -> set[str]:
        """Return the articles with a committed record in the store."""
        with Deduplicator(self.store, "reader") as dedup:
            return {
                f"T{n}"
                for n in range(ARTICLES)
                if dedup.check(html=plain(f"T{n}", text(n)), url="https://elsewhere.example/").is_duplicate
            }


WRITING = {
    "ITEM_PIPELINES": {"tests.crawl.components.Write": 300},
    "WRITE_TO": "out-RUN.jl",
    "DEDUP_COMMIT": "item_scraped",
}
BATCHES = {
    "FEEDS": {"out-RUN-%(batch_id)d.jl": {"format": "jsonlines", "batch_item_count": BATCH}},
    "DEDUP_COMMIT": "feed_slot_closed",
}


@pytest.mark.parametrize(
    ("settings", "unsettled"),
    [(WRITING, 2 * AT_ONCE), (BATCHES, 3 * BATCH + AT_ONCE)],  # what is committed, and what is written meanwhile
    ids=["item_scraped", "feed_slot_closed"],
)
def test_kills_lose_nothing_and_repeat_only_what_was_in_flight(
    site: Site, tmp_path: Path, settings: dict[str, Any], unsettled: int
) -> None:
    killing = Killing(site, tmp_path, settings)
    settled: set[str] = set()
    for run in range(KILLS + 1):
        if run < KILLS:
            killing.kill_at_random(run)
        else:
            killing.crawl_to_the_end(run)
        written, committed = killing.written(run), killing.committed()
        assert len(written) == len(set(written))
        assert not settled & set(written), "stored again although committed"
        assert len(set(written) - committed) <= unsettled
        settled |= committed & set(written)
        assert committed == settled, "committed but not on disk"

    union = Counter(title for run in range(KILLS + 1) for title in killing.written(run))
    assert set(union) == {f"T{n}" for n in range(ARTICLES)}, "lost"
    assert sum(union.values()) - ARTICLES <= KILLS * unsettled


def test_a_buffered_feed_needs_feed_slot_closed(site: Site, tmp_path: Path) -> None:
    """With ``item_scraped`` a kill loses what the feed had not written yet."""
    settings = {"FEEDS": {"out-RUN.jl": {"format": "jsonlines"}}, "DEDUP_COMMIT": "item_scraped"}
    killing = Killing(site, tmp_path, settings)
    killing.kill_with_items_in_the_buffer(0)
    killing.crawl_to_the_end(1)

    union = {*killing.written(0), *killing.written(1)}
    assert union < {f"T{n}" for n in range(ARTICLES)}
    assert killing.committed() == {f"T{n}" for n in range(ARTICLES)}


@pytest.mark.parametrize("feed", ["out.jl", "out.csv", "out-RUN.jl"])
@pytest.mark.parametrize("where", ["lmdb", "server"])
def test_no_default_loses_an_item_of_a_feed(site: Site, tmp_path: Path, server: Server, where: str, feed: str) -> None:
    """What a killed crawl has not written, or has cut off, is fetched again, and is in the same or in another file."""
    store = {"DEDUP_STORE": server.url, "DEDUP_LEASE": 2} if where == "server" else {}
    kind = "csv" if feed.endswith("csv") else "jl"
    killing = Killing(site, tmp_path, {**store, "FEEDS": {feed: {"format": kind}}})
    killing.kill_at_random(0)
    killing.kill_at_random(1)
    killing.crawl_to_the_end(2)
    found = {title for path in tmp_path.glob(f"out*.{kind}") for title in (titles if kind == "jl" else rows)(path)}
    assert found == {f"T{n}" for n in range(ARTICLES)}
    assert killing.committed() == found
