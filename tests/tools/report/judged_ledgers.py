"""Ledgers with real verdicts, written page by page, as a crawl writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dedupcrawl import Deduplicator, Page
from dedupcrawl.decision import Status
from dedupcrawl.ledger.ledger import Ledger
from dedupcrawl.ledger.ledger_schema import Comparison, Entry
from tests.batch.corpus import story

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dedupcrawl.decision import Claim

BEGIN = 1_700_000_000.0  #: Unix time of the first page; each comes a minute after the one before
ABOUT = {
    "title": "Crawl of the spider news",
    "kind": "crawl",
    "version": "0.1.0",
    "settings": {"DEDUP_THRESHOLD": "0.8"},
}


def changed(text: str, words: int) -> str:
    """Return a text with ``words`` words replaced, at equal distances."""
    found = text.split()
    for place in range(words):
        found[place * len(found) // words] = f"changed{place}"
    return " ".join(found)


def web() -> list[Page]:
    """Return pages of two hosts; the second host copies and edits pages of the first."""
    own = [
        Page(text=story(number, words=300), url=f"https://a.example/{number}", title=f"Story {number}")
        for number in range(6)
    ]
    copies = [
        Page(text=own[number].text, url=f"https://b.example/{number}", title=own[number].title) for number in range(3)
    ]
    near = [Page(text=changed(own[3].text, 2), url="https://b.example/near", title="Almost")]
    miss = [Page(text=changed(own[4].text, 16), url="https://b.example/miss", title="Not quite")]
    short = [Page(text="too short", url="https://b.example/short")]
    return [*own, *copies, *near, *miss, *short]


def write(path: Path, pages: Iterable[Page], *, begin: float = BEGIN, **how: Any) -> list[Claim]:
    """Check pages and write a ledger, with the counters of a crawl."""
    about, limits = how.pop("about", ABOUT), how.pop("limits", None)
    with Deduplicator(**how) as dedup, Ledger.create(path, about, limits=limits) as ledger:
        return [_add(ledger, dedup, page, begin + 60 * place) for place, page in enumerate(pages)]


def _add(ledger: Any, dedup: Deduplicator, page: Page, when: float) -> Claim:
    claim = dedup.claim(page)
    claim.commit()
    verdict = claim.verdict
    size = len(page.text.encode())
    record = claim.record
    held = [
        Comparison(each.record.url, each.record.cluster, dedup.assessments(record, each.record))
        for each in sorted(claim.candidates, key=lambda each: each.record.url != verdict.of)
        if record is not None
    ]
    ledger.add(Entry(page.url, when, verdict, size, page.title, page.text, comparisons=tuple(held)))
    for name in _counted(claim):
        ledger.count(name)
    ledger.count("bytes", size)
    if not verdict.keep:
        ledger.count("bytes_saved", size)
    return claim


def _counted(claim: Claim) -> Iterable[str]:
    verdict = claim.verdict
    yield "checked" if verdict.status is not Status.UNCHECKED else f"unchecked/{verdict.reason}"
    if verdict.status is Status.DUPLICATE:
        yield from ("duplicate", f"duplicate/{verdict.relation}")
    elif verdict.relation:
        yield f"related/{verdict.relation}"
    yield "kept" if verdict.keep else "dropped"
