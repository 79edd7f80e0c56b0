"""After any response and any failure the crawl continues and the item is kept."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest

from tests.crawl.running import IN_TURN
from tests.crawl.site import index, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site

    Run = Callable[..., Crawled]

NOISE = random.Random(1).randbytes(60_000)
GOOD = plain("Ice", text(1))
PAGES: dict[str, tuple[bytes, int, str]] = {
    "empty": (b"", 200, ""),
    "blank": (b" \n ", 200, ""),
    "no-body": (b"<html><head><title>T</title></head></html>", 200, ""),
    "large": (b"<html><body>" + b"<p>again and again and again</p>" * 1_600_000, 200, ""),
    "nested": (b"<html><body>" + b"<div>" * 100_000 + b"deep" + b"</div>" * 100_000, 200, ""),
    "binary": (NOISE, 200, ""),
    "picture": (b"\x89PNG\r\n\x1a\n" + NOISE, 200, ""),
    "script": (b"<html><body><script>" + b"var x = 1;" * 500 + b"</script></body></html>", 200, ""),
    "missing": (GOOD.encode(), 404, ""),
    "json": (b'{"a": 1}', 200, "application/json"),
    "image": (NOISE, 200, "image/png"),
    "xml": (b"<?xml version='1.0'?><rss/>", 200, "application/xml"),
    "list": (index("/a", "/b", "/c").encode(), 200, ""),
}


def test_pages_that_cannot_be_judged_are_kept(site: Site, run: Run) -> None:
    urls = [site.put(f"/{name}/{n}", body, status=status, kind=kind)
            for name, (body, status, kind) in PAGES.items() for n in (1, 2)]  # fmt: skip
    crawled = run("Plainly", urls=urls, settings={"HTTPERROR_ALLOW_ALL": True, "LOG_LEVEL": "INFO"})

    reasons = {
        name: {verdict["reason"] for url, verdict in crawled.verdict_on.items() if f"/{name}/" in url} for name in PAGES
    }
    assert len(crawled.items) == 2 * len(PAGES)
    assert {verdict["status"] for verdict in crawled.verdicts} == {"unchecked"}
    assert reasons == {
        "nested": {"too-deep"},
        "empty": {"empty"},
        "blank": {"empty"},
        "no-body": {"empty"},
        "large": {"too-large"},
        "binary": {"binary"},
        "picture": {"binary"},
        "script": {"empty"},
        "missing": {"status"},
        "json": {"not-html"},
        "image": {"not-html"},
        "xml": {"not-html"},
        "list": {"index"},
    }
    assert crawled.dedup["unchecked/not-html"] == 6
    assert "checked" not in crawled.dedup
    assert not crawled.lines("Traceback")


def test_pages_that_are_only_odd_are_judged(site: Site, run: Run) -> None:
    chinese = "港口在夜里结了冰，到了早晨，渡轮都披着白霜停在码头边。许多渔民自童年以后就没有见过这样的冰。" * 4
    article = plain("Ice", text(1))
    urls = [
        site.put("/nul/1", article.replace("<h1>", "<h1>\0")),
        site.put("/plain/1", text(2), kind="text/plain"),
        site.put("/plain/2", text(2), kind="text/plain"),
        site.put("/gbk/1", plain("冰", chinese).encode("gbk"), kind="text/html; charset=gbk"),
        site.put("/utf/1", plain("冰", chinese)),
        site.put("/wrong/1", article, kind="text/html; charset=no-such-thing"),
    ]
    crawled = run("Plainly", urls=urls, settings=IN_TURN)

    kept = sorted(item["url"].removeprefix(site.base) for item in crawled.items)
    assert kept == ["/gbk/1", "/nul/1", "/plain/1"]
    assert crawled.dedup["dropped"] == 3


def test_short_texts_are_compared_exactly(site: Site, run: Run) -> None:
    bodies = ("Closed on Monday.", "Closed on Monday.", "Closed on Tuesday.")
    urls = [site.put(f"/{n}", plain("", body)) for n, body in enumerate(bodies)]
    crawled = run(urls=urls, settings=IN_TURN)

    assert [item["body"] for item in crawled.items] == ["Closed on Monday.", "Closed on Tuesday."]


@pytest.mark.parametrize("torn", ["store", "detector"])
def test_a_fault_in_mid_crawl_costs_no_item(site: Site, run: Run, torn: str) -> None:
    urls = [site.put(f"/{n}", plain(f"T{n}", text(n))) for n in range(8)]
    addons = {"dedupcrawl.Addon": 500, "tests.crawl.components.TornAddon": 600}
    crawled = run(urls=urls, settings={"ADDONS": addons, "TORN": torn, "DEDUP_STORE": "memory://"})

    assert len(crawled.items) == 8
    assert crawled.dedup["kept"] == 8
    if torn == "store":
        assert crawled.dedup["unchecked/store"] == 4
        assert crawled.dedup["store_errors"] == 8  # each was asked once more
        assert "outages" not in crawled.dedup
        assert [verdict["reason"] for verdict in crawled.verdicts if verdict] == ["store"] * 4
        assert len(crawled.lines("no space left on device", "ERROR")) == 1
    else:
        assert crawled.dedup["unchecked/error"] == crawled.dedup["errors"] == 8
        (line,) = crawled.lines("Could not judge", "ERROR")
        assert "Traceback" in line


def test_labels_that_are_no_encodings_do_not_fail(site: Site, run: Run) -> None:
    labels = ("idna", "hex", "punycode", "base64", "rot13", "undefined", "unicode_escape", "utf-16", "cp037", "uu")
    french = "Pendant la nuit, la rivière est montée ; à l’aube, tout le village était là. "
    settings = {
        **IN_TURN,
        "LOG_LEVEL": "INFO",
    }  # with Scrapy's MetaRefreshMiddleware, which reads the text of each page
    urls = []
    for n, label in enumerate(labels):
        page = plain(f"Été {label}", french + text(10 + n))
        urls += [site.put(f"/{label}/1", page, kind=f"text/html; charset={label}"), site.put(f"/{label}/2", page)]
        urls.append(site.put(f"/{label}/plain", text(30 + n), kind=f"text/plain; charset={label}"))
    crawled = run("Plainly", urls=urls, settings=settings)
    kept = {url.split("/", 3)[3]: verdict for url, verdict in crawled.verdict_on.items()}
    assert {label: kept[f"{label}/1"] for label in labels} == dict.fromkeys(labels)  # new pages, not unchecked
    assert {label: kept[f"{label}/plain"] for label in labels} == dict.fromkeys(labels)
    assert not [label for label in labels if f"{label}/2" in kept]  # read as the first was: a duplicate
    assert not crawled.lines("Traceback")
