"""Objects that garbage collections skip; the rest of ``utils/resources.py`` is tested by those who use it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.utils.resources import FrozenHeap
from tests.crawl.site import Site, plain, text

if TYPE_CHECKING:
    from pathlib import Path

# The processes of the tests have frozen objects already: this one is new.
CRAWL = """
import gc, json, sys, weakref
from scrapy import Spider
from scrapy.crawler import CrawlerProcess

class Cycle:
    def __init__(self):
        self.me = self

class Reader(Spider):
    name = "reader"
    start_urls = [sys.argv[1]]

    def parse(self, response):
        cycle = weakref.ref(Cycle())
        gc.collect()
        print(json.dumps([gc.get_freeze_count() > 0, cycle() is None]))
        yield {"url": response.url}

settings = {"ADDONS": {"dedupcrawl.Addon": 500}, "DEDUP_STORE": "memory://", "LOG_LEVEL": "ERROR"}
process = CrawlerProcess({**settings, **json.loads(sys.argv[2])})
process.crawl(Reader)
process.crawl(Reader)
process.start()
print(json.dumps(gc.get_freeze_count()))
"""


class Collector:
    """Stands for the garbage collector, which concerns the whole process."""

    def __init__(self, frozen: int) -> None:
        self.frozen = frozen
        self.calls: list[str] = []

    def get_freeze_count(self) -> int:
        return self.frozen

    def collect(self) -> None:
        self.calls.append("collect")

    def freeze(self) -> None:
        self.calls.append("freeze")
        self.frozen = 100

    def unfreeze(self) -> None:
        self.calls.append("unfreeze")
        self.frozen = 0


@pytest.fixture
def collector(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Collector:
    collector = Collector(request.param)
    monkeypatch.setattr("dedupcrawl.utils.resources.gc", collector)
    return collector


@pytest.mark.parametrize("collector", [0], indirect=True)
def test_garbage_is_collected_and_not_frozen(collector: Collector) -> None:
    heap = FrozenHeap()
    heap.freeze()
    assert collector.calls == ["collect", "freeze"]
    heap.unfreeze()
    heap.unfreeze()
    assert collector.calls == ["collect", "freeze", "unfreeze"]


@pytest.mark.parametrize("collector", [7], indirect=True)
def test_what_others_have_frozen_stays_so(collector: Collector) -> None:
    heap = FrozenHeap()
    heap.freeze()
    heap.unfreeze()
    assert collector.calls == []


@pytest.mark.parametrize("collector", [0], indirect=True)
def test_of_two_crawls_one_freezes(collector: Collector) -> None:
    one, other = FrozenHeap(), FrozenHeap()
    one.freeze()
    other.freeze()
    other.unfreeze()
    assert collector.frozen
    one.unfreeze()
    assert collector.calls == ["collect", "freeze", "unfreeze"]


@pytest.mark.parametrize(("settings", "is_frozen"), [({}, True), ({"DEDUP_GC_FREEZE": False}, False)])
def test_a_crawl_freezes_what_exists_when_it_starts(tmp_path: Path, settings: dict[str, bool], is_frozen: bool) -> None:
    with Site() as site:
        url = site.put("/a", plain("Ice", text(1)))
        command = [sys.executable, "-c", CRAWL, url, json.dumps(settings)]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    *crawls, after = map(json.loads, ended.stdout.splitlines())
    assert crawls == [[is_frozen, True]] * 2, ended.stderr
    assert after == 0
