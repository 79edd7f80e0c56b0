"""A crawl that writes WARC files itself writes revisit records for the copies that are dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastwarc.warc import ArchiveIterator, WarcRecordType

from tests.crawl.running import IN_TURN
from tests.crawl.site import fancy, plain, text

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.crawl.running import Crawled
    from tests.crawl.site import Site


def test_dropped_copies_become_revisit_records(site: Site, run: Callable[..., Crawled], tmp_path: Path) -> None:
    first = site.put("/a/1", plain("T1", text(1)))
    copy = site.put("/b/1", fancy("T1", text(1)))
    other = site.put("/a/2", plain("T2", text(2)))
    again = site.put("/c/1", fancy("T1", text(1)))
    path = tmp_path / "crawl.warc.gz"
    settings: dict[str, Any] = {
        **IN_TURN,
        "EXTENSIONS": {"tests.crawl.components.WarcExporter": 500},
        "WARC_FILE": str(path),
        "DEDUP_RESPONSE_META": True,
    }
    crawled = run("Reader", urls=[first, copy, other, again], settings=settings)
    assert [item["url"] for item in crawled.items] == [first, other]
    assert not crawled.lines("", "ERROR")

    found = {
        each.headers["WARC-Target-URI"]: (each.record_type, dict(each.headers), each.http_headers, each.reader.read())
        for each in ArchiveIterator(str(path), parse_http=True)
    }
    assert found.keys() == {first, copy, other, again}
    kinds = [found[url][0] for url in (first, copy, other, again)]
    revisit, response = WarcRecordType.revisit, WarcRecordType.response
    assert kinds == [response, revisit, response, revisit]
    assert found[first][3] == site.answers["/a/1"].body
    for url in (copy, again):
        _, fields, http, body = found[url]
        assert fields["WARC-Profile"] in {
            f"urn:x-dedupcrawl:revisit:{each}" for each in ("identical", "near-duplicate")
        }
        assert fields["WARC-Refers-To-Target-URI"] == first
        assert (http.status_code, http["Content-Type"], body) == (200, "text/html; charset=utf-8", b"")
