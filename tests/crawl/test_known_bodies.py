"""Pages whose bytes did not change are not read, and get exactly the verdicts that they get when they are read."""

from __future__ import annotations

import json
import re
from difflib import unified_diff
from typing import TYPE_CHECKING, Any

import pytest

from tests.crawl.running import ONE_BY_ONE, REACTORS, Crawled, finish, start
from tests.crawl.site import fancy, index, plain, text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tests.crawl.site import Site
    from tests.stores.servers import Cluster, Server

PAGES = 5  #: that never change
CRAWLS = 6
ADDONS = {"dedupcrawl.Addon": 500, "tests.crawl.components.BytesAddon": 600}
NAMESPACE = "news"
NOTE = "<p>Subscribe to our letter and read all of the news of the harbour every morning, free of charge.</p>"


def settings_of(store: str, *, reads: bool = False, **settings: Any) -> dict[str, Any]:
    """Return the settings of a crawl; if it ``reads``, no page is known by its bytes."""
    own = {"ADDONS": ADDONS, "DEDUP_STORE": store, "DEDUP_NAMESPACE": f"{NAMESPACE}-{reads}", "READ_ALL": reads}
    return {**ONE_BY_ONE, **own, **settings}


def crawled(folder: Path, urls: Sequence[str], spider: str = "Reader", **settings: Any) -> Crawled:
    return finish(start(folder, (spider, {"urls": urls}), settings=settings))[0]


def made(site: Site, crawl: int) -> list[str]:
    """Serve the site as it is in this crawl; return the URLs to request."""
    urls = [site.put(f"/{n}", plain(f"Title {n}", text(n), f"/of/{n}")) for n in range(PAGES)]
    for n in range(PAGES):
        site.put(f"/of/{n}", fancy(f"Title {n}", text(n)))  # copies, found by links
    version = 101 if crawl == 2 else 100  # changes and comes back
    urls.append(site.put("/returns", plain("Back", text(version))))
    urls.append(site.put("/nonce", plain("Nonce", text(110)) + f"<!-- {crawl} -->"))
    urls.append(site.put("/late", plain("Late", text(112)) + ("<!-- new -->" if crawl >= 3 else "")))
    urls.append(site.put("/title", plain(f"Name {crawl // 3}", text(120))))
    price = plain("Lamp", text(130)).replace("</article>", f"<p>Price: {100 + crawl // 4} euros</p></article>")
    urls.append(site.put("/price", price))
    urls += [site.put(f"/note/{n}", plain(f"Noted {n}", text(140 + n)).replace("</article>", NOTE)) for n in range(4)]
    urls.append(site.put("/note/new", plain("Noted", text(150 + crawl)).replace("</article>", NOTE)))
    latin = plain("Caf\u00e9 \u0159e\u010d", text(160) + " \u0159e\u010d \u00e1\u00e9 na\u00efve").encode("utf-8")
    charset = "utf-8" if crawl != 3 else "windows-1250"
    urls.append(site.put("/encoding", latin, kind=f"text/html; charset={charset}"))
    urls.append(site.put("/plain", text(170), kind="text/plain; charset=utf-8" if crawl != 4 else "text/html"))
    urls.append(site.put("/short", "<html><body><article><h1>S</h1><p>Too short.</p></article></body></html>"))
    urls.append(site.put("/index", index("/0", "/1")))
    urls.append(urls[0] + "#part")
    return urls


#: Whether a request is foreseen depends on when it is sent, in two crawls that read all pages too.
OF_TIME = ("foreseen", "probes")
DIGITS = re.compile(r"\d+\.\d+")


def comparable(run: Crawled) -> dict[str, Any]:
    """Return all that a crawl tells of its pages: items, verdicts, outcomes, stats and log lines."""
    ours = [line for line in run.log if line["logger"].startswith(("dedupcrawl", "tests."))]
    lines = sorted(
        DIGITS.sub("0", line["text"]).replace("True", "False")
        for line in ours
        if not line["text"].startswith("Foreseen: ")
    )
    stats = {name: count for name, count in run.dedup.items() if name not in ("same_bytes", *OF_TIME)}
    items = sorted(json.dumps(pair, sort_keys=True) for pair in zip(run.items, run.verdicts, strict=True))
    found = {"items": items, "lines": lines, "stats": stats, "reason": run.reason}
    return {**found, "scraped": run.stats.get("item_scraped_count"), "saved": run.stats.get("downloader/request_count")}


WAYS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "tag": {"DEDUP_ACTION": "tag"},
    "tag, text": {"DEDUP_ACTION": "tag", "DEDUP_TEXT_FIELD": "text"},
    "withheld": {"DEDUP_FOLLOW_DUPLICATES": False},
    "latest": {"DEDUP_KEEP": "latest"},
    "other hosts": {"DEDUP_SCOPE": "other-hosts"},
    "no site memory": {"DEDUP_SITE_MEMORY": False},
    "feed": {"FEEDS": {"items.jl": {"format": "jsonlines", "overwrite": False}}},
    "postpone": {"DEDUP_FORESEE": "postpone"},
    "revalidate": {"DEDUP_REVALIDATE": True},
    "report": {"DEDUP_REPORT": "report.html"},
    "unchanged pages kept": {"DEDUP_DROP": ["identical", "near-duplicate"]},
    "minhash alone": {"DEDUP_DETECTORS": ["minhash"]},
    "minhash and exact": {"DEDUP_DETECTORS": ["minhash", "exact"]},
    "all text": {"DEDUP_READER": "text"},
    "users reader": {"DEDUP_READER": "tests.page.user_readers:whole"},
    "items": {"DEDUP_ITEM_FIELDS": ["body"]},
}
#: Nothing is known by its bytes with these settings.
ALL_READ = {"report", "unchanged pages kept", "minhash alone", "users reader", "items"}


@pytest.mark.parametrize("way", WAYS)
def test_verdicts_stats_and_lines_are_those_of_pages_that_are_read(way: str, site: Site, tmp_path: Path) -> None:
    saved = compare_histories(site, tmp_path, f"lmdb://{tmp_path}/store", **WAYS[way])
    assert saved[:2] == [0, 0]
    assert (sum(saved) > 0) == (way not in ALL_READ), saved


def both(folder: Path, urls: Sequence[str], store: str, settings: Mapping[str, Any]) -> list[Crawled]:
    """Crawl with pages known by their bytes, and without."""
    running = []
    for reads in (False, True):
        own = folder / str(reads)
        own.mkdir(exist_ok=True)
        spec = settings_of(store, reads=reads, **settings)
        running.append(start(own, ("Reader", {"urls": urls}), settings=spec))
    return [finish(each)[0] for each in running]


def compare_histories(site: Site, folder: Path, store: str, **settings: Any) -> list[int]:
    """Crawl a changing site, with pages known by their bytes and without; return for each crawl how many were."""
    saved = []
    for number in range(CRAWLS):
        urls = made(site, number)
        known, read = both(folder, urls, store, settings)
        mine, other = comparable(known), comparable(read)
        lines = unified_diff(other.pop("lines"), mine.pop("lines"), n=0, lineterm="")
        assert "\n".join(lines) == "", number
        assert mine == other, number
        assert "same_bytes" not in read.dedup
        saved.append(known.dedup.get("same_bytes", 0))
        if settings.get("DEDUP_TEXT_FIELD"):  # the text is read when it is asked for
            assert known.stats["reads"] == read.stats["reads"]
        else:
            assert known.stats.get("reads", 0) == read.stats.get("reads", 0) - saved[-1]
    return saved


def test_a_server_tells_the_same(site: Site, tmp_path: Path, server: Server) -> None:
    saved = compare_histories(site, tmp_path, server.url)
    assert saved[:2] == [0, 0]
    assert min(saved[2:]) > PAGES


def test_a_cluster_tells_the_same(site: Site, tmp_path: Path, nodes: Cluster) -> None:
    saved = compare_histories(site, tmp_path, nodes.url)
    assert saved[:2] == [0, 0]
    assert min(saved[2:]) > PAGES


def test_pages_are_known_with_every_reactor(site: Site, tmp_path: Path) -> None:
    urls = [site.put(f"/{n}", plain(f"Title {n}", text(n))) for n in range(PAGES)]
    for crawl in range(3):
        for reactor in REACTORS:
            own = tmp_path / reactor
            own.mkdir(exist_ok=True)
            spec = {**settings_of(f"lmdb://{own}/store"), "DOWNLOAD_DELAY": 0}
            run = finish(start(own, ("Reader", {"urls": urls}), settings=spec, reactor=reactor))[0]
            assert run.dedup.get("same_bytes", 0) == PAGES * (crawl == 2), (reactor, crawl)
            assert len(run.items) == PAGES * (crawl == 0)
