"""``DEDUP_VERSIONS``: whether versions of one page of a manual are siblings or copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from dedupcrawl import Config, Deduplicator
from dedupcrawl.errors import SettingError
from tests.batch.corpus import Batch, lines, write_lines
from tests.crawl.running import IN_TURN, crawl
from tests.crawl.site import Site
from tests.sites.words import Writer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOPICS = ("Tables", "Views", "Rules")


def manual(topic: str, version: str, change: str = "") -> str:
    """Return a page of a manual, with its version in the title, the heading and the text."""
    text = Writer(f"manual {topic}", 0).story(4)
    head = f"<title>{topic} – The mill manual {version}</title>"
    side = "<div class=sidebar><ul><li><a href=/docs>All versions</a></ul></div>"
    note = f"<p>This is how release {version} of the mill does it. {change}</p>"
    return f"<html><head>{head}</head><body>{side}<main><h1>{topic} {version}</h1>{note}{text}</main></body></html>"


@pytest.fixture
def urls() -> Iterator[list[str]]:
    """Serve three pages of a manual in three versions, and a page of a shop under a number."""
    with Site() as site:
        found = [
            site.put(f"/docs/{version}/{topic.lower()}.html", manual(topic, version))
            for version in ("1.2", "1.3", "dev")
            for topic in TOPICS
        ]
        found += [site.put(f"/bolt/{size}/buy", manual("Bolt", size)) for size in ("31", "42")]
        yield found


def kept(folder: Path, urls: list[str], **settings: Any) -> list[str]:
    crawled = crawl(folder, "Plainly", urls=urls, settings={**IN_TURN, **settings})
    assert not crawled.lines("", "ERROR")
    return [item["url"].partition("//")[2].partition("/")[2] for item in crawled.items]


def test_by_default_versions_are_siblings(tmp_path: Path, urls: list[str]) -> None:
    assert len(kept(tmp_path, urls)) == len(urls)


def test_versions_are_copies_if_asked_for(tmp_path: Path, urls: list[str]) -> None:
    found = kept(tmp_path, urls, DEDUP_VERSIONS="copies")
    assert found == [*(f"docs/1.2/{topic.lower()}.html" for topic in TOPICS), "bolt/31/buy", "bolt/42/buy"]


def test_it_may_change_from_crawl_to_crawl(tmp_path: Path, urls: list[str]) -> None:
    store = {"DEDUP_STORE": f"lmdb://{tmp_path}/store"}
    assert len(kept(tmp_path, urls[:3], **store)) == 3
    assert kept(tmp_path, urls[3:6], DEDUP_VERSIONS="copies", **store) == []
    assert len(kept(tmp_path, urls[3:6], **store)) == 3


PAIRS = {
    "release": ("/docs/1.3/a.html", "Views", "1.3"),
    "prefix": ("/docs/v1.3/a.html", "Views", "1.3"),
    "moving": ("/docs/stable/a.html", "Views", "stable"),
    "no version": ("/docs/a.html", "Views", "1.3"),
    "number": ("/docs/13/a.html", "Views", "13"),
}


@pytest.mark.parametrize("name", PAIRS)
def test_versions_in_urls(name: str) -> None:
    path, topic, version = PAIRS[name]
    verdicts = {}
    for versions in ("siblings", "copies"):
        with Deduplicator(versions=versions) as dedup:
            dedup.add(html=manual("Views", "1.2"), url="https://mill.example/docs/1.2/a.html")
            verdicts[versions] = dedup.add(html=manual(topic, version), url=f"https://mill.example{path}")
    assert verdicts["siblings"].relation == "sibling"
    assert (verdicts["copies"].keep, verdicts["copies"].is_duplicate) == (False, True)
    versions_of_pair = verdicts["copies"].evidence["versions"]
    assert isinstance(versions_of_pair, list | tuple)
    assert versions_of_pair[1] == "1.2"


OTHERS = {
    "another page": ("https://mill.example/docs/1.3/b.html", manual("Views", "1.3")),
    "another name": ("https://mill.example/docs/1.3/a.html", manual("Views", "1.3").replace("Views", "Millstones")),
    "another host": ("https://old.mill.example/docs/1.3/a.html", manual("Views", "1.3")),
    "another query": ("https://mill.example/docs/1.3/a.html?id=4", manual("Views", "1.3")),
    "no manual": ("https://mill.example/flats/3/a.html", manual("Views", "3")),
    "another program": ("https://mill.example/docs/wheel-1.3/a.html", manual("Views", "1.3")),
}


@pytest.mark.parametrize("name", OTHERS)
def test_other_pages_are_no_versions(name: str) -> None:
    url, html = OTHERS[name]
    first = "https://mill.example/flats/2/a.html" if name == "no manual" else "https://mill.example/docs/1.2/a.html"
    with Deduplicator(versions="copies") as dedup:
        dedup.add(html=manual("Views", "1.2"), url=first)
        assert dedup.add(html=html, url=url).keep


def test_versions_whose_texts_do_not_match_are_kept() -> None:
    with Deduplicator(versions="copies") as dedup:
        dedup.add(html=manual("Views", "1.2"), url="https://mill.example/docs/1.2/a.html")
        changed = manual("Views", "1.3", Writer("changed", 0).text(40))
        assert dedup.add(html=changed, url="https://mill.example/docs/1.3/a.html").keep


def test_a_batch_judges_versions_as_a_crawl_does(tmp_path: Path) -> None:
    rows = [
        {"url": f"https://mill.example/docs/{version}/{topic}.html", "html": manual(topic, version)}
        for version in ("1.2", "1.3")
        for topic in TOPICS
    ]
    write_lines(tmp_path / "in" / "pages.jsonl", rows)
    Batch(tmp_path).run(tmp_path / "in", config=Config(versions="copies"))
    assert [row["url"] for row in lines(tmp_path / "out" / "pages.jsonl")] == [row["url"] for row in rows[:3]]


def test_other_values_are_refused() -> None:
    with pytest.raises(SettingError, match='"siblings" or "copies"'):
        Config(versions="drop")
