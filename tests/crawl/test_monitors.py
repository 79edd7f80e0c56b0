"""The monitors for spidermon, run by spidermon itself at the end of real crawls."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.distant import Network
from tests.crawl.site import fancy, plain, text
from tests.crawl.test_outage import articles, at, noticed
from tests.crawl.test_outage import crawl as crawl_over

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

WATCHED: dict[str, Any] = {
    "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
    "SPIDERMON_ENABLED": True,
    "SPIDERMON_SPIDER_CLOSE_MONITORS": ["dedupcrawl.crawl.monitors.DedupMonitorSuite"],
    "SPIDERMON_DEDUP_MIN_PAGES": 5,
}
SHORT = plain("T", "Soon.")  #: exact compares it, minhash cannot
MINHASH = {**WATCHED, "DEDUP_DETECTORS": ["minhash"]}
NAMES = {
    "Duplicates by site/No site consists of duplicates",
    "Unchecked pages/Most pages are compared",
    "Store/The store was available all the time",
}


def outcomes(crawled: Crawled) -> dict[str, str]:
    """The outcome of each monitor by its name, as spidermon logs it."""
    told = "\n".join(crawled.lines("[Spidermon]"))
    return dict(re.findall(r"\[Spidermon\] (.+/.+?)\.\.\. (\w+)", told))


def failures(crawled: Crawled) -> str:
    return "\n".join(crawled.lines("AssertionError"))


def test_a_crawl_without_faults_passes(site: Site, run: Callable[..., Crawled]) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(8)]
    assert outcomes(run(urls=urls, settings=WATCHED)) == dict.fromkeys(NAMES, "OK")
    again = run(urls=urls, settings=WATCHED)
    assert again.dedup["duplicate/unchanged"] == 8
    assert outcomes(again) == dict.fromkeys(NAMES, "OK"), "pages that were seen before are no copies"


def test_a_site_of_duplicates_fails(site: Site, run: Callable[..., Crawled]) -> None:
    urls = [site.put(f"/{n}", fancy("T", text(1))) for n in range(12)]
    crawled = run(urls=urls, settings=WATCHED)
    host = site.base.removeprefix("http://")
    assert crawled.dedup["duplicate"] == 11
    assert outcomes(crawled)["Duplicates by site/No site consists of duplicates"] == "FAIL"
    assert f"more than 90% of the compared pages are duplicates: {host} (11 of 12)" in failures(crawled)
    assert [*outcomes(crawled).values()].count("OK") == 2


@pytest.mark.parametrize(("setting", "outcome"), [({}, "FAIL"), ({"SPIDERMON_DEDUP_MAX_UNCHECKED": 0.9}, "OK")])
def test_many_unchecked_pages_fail(
    site: Site, run: Callable[..., Crawled], setting: dict[str, float], outcome: str
) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n)) if n < 2 else SHORT) for n in range(8)]
    urls += [site.put(f"/{n}-skip", plain("T", text(n))) for n in range(20)]
    crawled = run(urls=urls, settings=MINHASH | setting)
    assert outcomes(crawled)["Unchecked pages/Most pages are compared"] == outcome
    if outcome == "FAIL":
        assert re.search(r"6 of 8 pages are unchecked: [\w-]+ 6", failures(crawled))


def test_few_pages_are_no_reason(site: Site, run: Callable[..., Crawled]) -> None:
    urls = [site.put(f"/{n}", SHORT) for n in range(4)]
    crawled = run(urls=urls, settings=MINHASH)
    assert crawled.dedup["unchecked/short"] == 4
    assert set(outcomes(crawled).values()) == {"OK"}


def test_a_store_that_was_away_fails(site: Site, tmp_path: Path) -> None:
    network = Network(tmp_path / "net")
    urls = articles(site)
    at(site, _6=network.cut, _14=noticed(network, tmp_path))
    crawled = crawl_over(tmp_path, network, urls, **WATCHED)
    assert crawled.dedup["outages"] == 1
    assert outcomes(crawled)["Store/The store was available all the time"] == "FAIL"
    assert "the store was away: outages 1" in failures(crawled)
