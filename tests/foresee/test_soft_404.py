"""Pages that are not found: which pages of a host are what it sends for an impossible URL."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.foresee.soft_404 import MAX_HOSTS, NotFoundPages, impossible_url
from dedupcrawl.stores.base import Record
from tests.texts import ENGLISH, OTHER_ENGLISH

HOST = "https://a.example"
MISSING = "\n".join(
    [
        "We are sorry, the page that you are looking for is not here. It may have been moved, or removed for good.",
        "Please begin at the front page of our paper, or search for the words that you remember of its headline.",
        "If a link on one of our pages has led you here, please write to the editors, who will be glad to mend it.",
    ]
)


@pytest.fixture
def dedup() -> Iterator[Deduplicator]:
    with Deduplicator("memory://") as opened:
        yield opened


def page(path: str, text: str, host: str = HOST) -> Page:
    return Page(url=f"{host}/{path}", text=text)


def probed(dedup: Deduplicator, text: str) -> NotFoundPages:
    """Return what is known after the probe of a host."""
    found = NotFoundPages(dedup)
    assert found.begin_probe(f"{HOST}/")
    sent = Page(url=impossible_url(f"{HOST}/"), text=text)
    signature = found.signature(sent)
    assert signature is not None
    found.learn(sent.url, signature, dedup.candidates(signature) if isinstance(signature, Record) else ())
    return found


def test_a_host_is_probed_once() -> None:
    with Deduplicator("memory://") as dedup:
        found = NotFoundPages(dedup)
        urls = (f"{HOST}/1", f"{HOST}/2", "https://b.example/", "no url")
        assert [found.begin_probe(url) for url in urls] == [True, False, True, False]
        assert not found.knows(HOST)


def test_hosts_are_bounded(dedup: Deduplicator) -> None:
    found = NotFoundPages(dedup)
    assert all(found.begin_probe(f"http://{number}.example/") for number in range(MAX_HOSTS))
    assert not found.begin_probe("http://one-more.example/")


def test_a_page_with_the_text_of_the_probe_is_not_found(dedup: Deduplicator) -> None:
    found = probed(dedup, MISSING)
    assert found.compare(page("moved", MISSING))
    assert found.compare(page("moved", MISSING.replace("We are sorry, the", "Sorry, the")))
    assert not found.compare(page("story", ENGLISH))


def test_hosts_are_not_confused(dedup: Deduplicator) -> None:
    assert not probed(dedup, MISSING).compare(page("moved", MISSING, "https://b.example"))


def test_short_texts_are_compared_by_all_their_text(dedup: Deduplicator) -> None:
    found = probed(dedup, "Not found")
    assert found.compare(page("moved", "Not found"))
    assert not found.compare(page("lost", "Found"))


def test_a_page_without_text_is_no_signature(dedup: Deduplicator) -> None:
    found = NotFoundPages(dedup)
    assert found.signature(page("moved", "")) is None
    assert not found.compare(page("moved", ""))


def test_a_host_that_sends_a_stored_page_has_no_signature(dedup: Deduplicator) -> None:
    dedup.add(page("", ENGLISH))
    assert not probed(dedup, ENGLISH).compare(page("moved", ENGLISH))


def test_nothing_is_filed(dedup: Deduplicator) -> None:
    found = probed(dedup, MISSING)
    assert found.compare(page("moved", MISSING))
    assert dedup.info().pages == 0
    assert dedup.add(page("story", OTHER_ENGLISH)).keep


def test_two_pages_that_resemble_what_is_sent_are_compared_with_each_other(dedup: Deduplicator) -> None:
    found = probed(dedup, MISSING)
    first = found.signature(page("one", ENGLISH))
    assert first is not None
    assert found.compare_with(first, page("two", ENGLISH))
    assert not found.compare_with(first, page("gone", MISSING))
