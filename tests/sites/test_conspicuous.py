"""Of sites whose pages are taken for few of them it is said; of ordinary sites nothing is.

Crawls, batches, reports and a deduplicator agree on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Config, Deduplicator
from dedupcrawl.sites.site_counts import NoticeKind, SiteCounts, SiteNotice
from dedupcrawl.tools.report.from_batch import report_from_batch
from dedupcrawl.tools.report.from_ledgers import report_from_ledgers
from dedupcrawl.tools.report.from_store import report_from_store
from tests.batch.corpus import Batch, write_lines
from tests.crawl.running import IN_TURN, ONE_BY_ONE, crawl
from tests.crawl.site import Site as Server
from tests.crawl.site import index, plain, text
from tests.sites.kinds import build
from tests.sites.test_crawl import served
from tests.sites.test_sites import SEEDS, outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from dedupcrawl import Verdict

#: Kinds most of whose pages share a text around one thing: terms of sale, a vacancy.
TEMPLATES = ("terms", "jobs")
#: Kinds whose pages are read as what they are. Some have many true copies of their pages.
ORDINARY = (
    "bios",
    "dictionary",
    "laws",
    "markets",
    "matches",
    "multipage",
    "notices",
    "phpbb",
    "questions",
    "recipes",
    "releases",
    "reprints",
    "timetables",
    "versions",
    "views",
)


def noticed(verdicts: Iterable[Verdict]) -> tuple[list[SiteNotice], list[SiteNotice]]:
    """Return what is said while pages are judged, and what is conspicuous in the end."""
    counts = SiteCounts()
    said = [counts.add(each.url, each.relation, each.of, each.reason) for each in verdicts]
    return [notice for notice in said if notice], counts.notices()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", TEMPLATES)
def test_a_site_of_one_template_is_named(kind: str, seed: int) -> None:
    said, found = noticed(outcome(kind, seed).verdicts)
    assert [notice.kind for notice in (*said, *found)] == [NoticeKind.ALIKE] * 2


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ORDINARY)
def test_an_ordinary_site_is_never_named(kind: str, seed: int) -> None:
    assert noticed(outcome(kind, seed).verdicts) == ([], [])


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def test_a_crawl_warns_once_and_its_report_says_the_same(tmp_path: Path, server: Server) -> None:
    site = served(build("terms", 0), server)
    urls = [page.url for page in site.pages]
    # The site memory of a crawl counts pages that are judged together after all of them.
    settings = {**ONE_BY_ONE, "DEDUP_REPORT": str(tmp_path / "report.html"), "DEDUP_SITE_MEMORY": False}
    crawled = crawl(tmp_path, "Plainly", urls=urls, settings=settings)

    with Deduplicator(config=Config(site_memory=False)) as dedup:
        said, found = noticed(dedup.add(html=page.html, url=page.url) for page in site.pages)
    assert [notice.site for notice in found] == [server.base.removeprefix("http://")]
    assert crawled.lines("", "WARNING") == [said[0].message]
    assert crawled.dedup["conspicuous_sites"] == 1
    assert list(report_from_ledgers([tmp_path / "report.ledger"]).sites) == found
    page = (tmp_path / "report.html").read_text("utf-8")
    assert page.index("A site needs a look") < page.index('class="tiles"')


def test_a_crawl_warns_of_many_siblings_of_one_text_among_other_pages(tmp_path: Path, server: Server) -> None:
    urls = [server.put(f"/story/{number}", plain(f"Story {number}", text(number))) for number in range(60)]
    terms = text(1000)
    urls += [server.put(f"/offer/{number}", plain(f"Offer {7919 * number}", terms)) for number in range(55)]
    settings = {**IN_TURN, "DEDUP_REPORT": str(tmp_path / "report.html"), "DEDUP_SITE_MEMORY": False}
    crawled = crawl(tmp_path, "Plainly", urls=urls, settings=settings)
    [line] = crawled.lines("", "WARNING")
    site = server.base.removeprefix("http://")
    assert line.startswith(
        f"Of 110 compared pages of {site}, 50 are siblings of one another, with one text; for example "
    )
    assert all(name in line for name in ("sibling to DEDUP_DROP", "DEDUP_SCOPE", "DEDUP_THRESHOLD"))
    [notice] = report_from_ledgers([tmp_path / "report.ledger"]).sites
    assert (notice.kind, notice.group) == (NoticeKind.SIBLINGS, 55)
    assert set(notice.group_urls) < set(urls[60:])
    assert "Siblings of one another: 8 of 55 pages" in (tmp_path / "report.html").read_text("utf-8")


def test_the_siblings_before_and_after_their_text_is_known_are_two_groups(tmp_path: Path, server: Server) -> None:
    urls = [server.put(f"/story/{number}", plain(f"Story {number}", text(number))) for number in range(90)]
    urls += [server.put(f"/offer/{number}", plain(f"Offer {7919 * number}", text(1000))) for number in range(80)]
    [line] = crawl(tmp_path, "Plainly", urls=urls, settings=IN_TURN).lines("", "WARNING")
    assert "50 are siblings of one another, with one text" in line


@pytest.mark.parametrize("kind", ["views", "multipage"])
def test_a_crawl_of_an_ordinary_site_with_copies_does_not_warn(tmp_path: Path, server: Server, kind: str) -> None:
    site = served(build(kind, 0), server)
    crawled = crawl(tmp_path, "Plainly", urls=[page.url for page in site.pages], settings=IN_TURN)
    assert crawled.dedup["duplicate"] >= 10
    assert crawled.lines("", "WARNING") == []
    assert "conspicuous_sites" not in crawled.dedup


def test_a_crawl_warns_of_a_site_whose_pages_are_not_read(tmp_path: Path, server: Server) -> None:
    urls = [server.put(f"/{number}", index(*(f"/{other}" for other in range(60)))) for number in range(60)]
    urls.append(server.put("/article", plain("An article", text(1))))
    crawled = crawl(tmp_path, "Plainly", urls=urls, settings=IN_TURN)
    [line] = crawled.lines("", "WARNING")
    assert line.startswith(f"Of 40 pages of {server.base[7:]}, 40 were not read: index 40; for example {urls[0]} and ")
    assert crawled.dedup["conspicuous_sites"] == 1


def test_each_worker_warns_of_what_it_has_seen(tmp_path: Path, server: Server) -> None:
    site = served(build("jobs", 0), server)
    urls = [page.url for page in site.pages]
    store = {"DEDUP_STORE": f"lmdb://{tmp_path}/store", "DEDUP_NAMESPACE": "shop", **IN_TURN}
    for number, some in enumerate((urls[:14], urls[14:])):
        settings = {**store, "DEDUP_REPORT": str(tmp_path / f"worker-{number}.html")}
        crawled = crawl(tmp_path, "Plainly", urls=some, settings=settings)
        assert len(crawled.lines("", "WARNING")) == number  # 14 pages say nothing
    together = report_from_ledgers([tmp_path / f"worker-{number}.ledger" for number in range(2)])
    assert [notice.pages for notice in together.sites] == [30]


def test_a_batch_says_what_a_crawl_of_its_pages_says(tmp_path: Path) -> None:
    pages = [page for kind in ("jobs", "views") for page in build(kind, 0).pages]
    write_lines(tmp_path / "in" / "pages.jsonl", [{"url": page.url, "html": page.html} for page in pages])
    summary = Batch(tmp_path).run(tmp_path / "in")
    with Deduplicator() as dedup:
        _, found = noticed(dedup.add(html=page.html, url=page.url) for page in pages)
    assert [SiteNotice.from_dict(each) for each in summary["sites"]] == found
    assert list(report_from_batch(tmp_path / "out").sites) == found
    assert [notice.site for notice in found] == ["castor-staffing.example"]


def test_a_report_of_a_store_finds_the_siblings_in_it(tmp_path: Path) -> None:
    url = f"lmdb://{tmp_path}/store"
    with Deduplicator(url, "shop", config=Config(site_memory=False)) as dedup:
        verdicts = [dedup.add(html=page.html, url=page.url) for page in build("jobs", 0).pages]
    siblings = sum(verdict.relation == "sibling" for verdict in verdicts)
    [notice] = report_from_store(url).sites
    assert (notice.siblings, notice.repeats, notice.is_sample) == (siblings, 0, False)
    assert notice.pages == sum(verdict.keep for verdict in verdicts)
