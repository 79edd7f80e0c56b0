"""The report of a crawl shows which lines of a pair are not compared, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.tools.report.from_ledgers import report_from_ledgers
from tests.crawl.running import ONE_BY_ONE, crawl
from tests.crawl.site import Site
from tests.test_site_memory import BLOG, LIFE, PAPER, POSTS

if TYPE_CHECKING:
    from pathlib import Path

LINES = [line.removesuffix("</p>") for line in LIFE.split("<p>")[1:]]


def test_a_pair_has_the_lines_that_a_site_repeats(tmp_path: Path) -> None:
    with Site() as one, Site() as two:
        urls = [one.put(url.removeprefix(BLOG), html) for url, html in (post.on() for post in POSTS[:14])]
        url, html = POSTS[13].on(PAPER, after="")
        urls.append(two.put(url.removeprefix(PAPER), html))
        crawled = crawl(
            tmp_path, "Plainly", urls=urls, settings={**ONE_BY_ONE, "DEDUP_REPORT": str(tmp_path / "report.html")}
        )
    assert [item["url"] for item in crawled.items] == urls[:14]
    [pair] = [pair for pair in report_from_ledgers([tmp_path / "report.ledger"]).pairs if pair.new == urls[14]]
    assert pair.new_notes == ()
    assert [note.partition(": ")[2].removesuffix("…") for note in pair.old_notes] == [line[:80] for line in LINES]
    assert all(note.startswith("Not compared, as it is on ") for note in pair.old_notes)
    with Ledger.open(tmp_path / "report.ledger") as ledger:
        noted = {row.entry.url for row in ledger.rows() if ledger.notes(row.id)}
    assert urls[13] in noted
    assert noted.isdisjoint([*urls[:3], urls[14]])  # the first pages of the site are compared whole
