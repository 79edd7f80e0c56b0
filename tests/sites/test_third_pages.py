"""A third page shows that a text is a template: then the sentences of two sites are compared."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import pytest

from dedupcrawl import Deduplicator, Page
from dedupcrawl.batch.solver import RowJudge
from dedupcrawl.config import Config
from dedupcrawl.decision import Policy
from dedupcrawl.detectors.base import Match, Relation
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.filing import is_certain
from dedupcrawl.identity.siblings import SENTENCES_OF_TEMPLATE, VALUES
from dedupcrawl.matching import Finding, Matcher
from dedupcrawl.sites.third_pages import have_templates
from dedupcrawl.stores.base import Candidate, ClaimState, Record
from tests.sites.harness import run
from tests.sites.kinds import build

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dedupcrawl.decision import Verdict

COPY, SIBLING, PART = Relation.NEAR_DUPLICATE, Relation.SIBLING, Relation.EXCERPT
NEW = "https://www.a.example/new"
REST = (
    "The counters are open on all days of the week but Sunday, and nobody has to make an appointment before a visit.",
    "Whoever brings the old paper along is served at once, and the new one is sent by mail within the same month.",
    "Fees are paid at the desk in the hall, in coins, in notes, by card, or later by a transfer to the town.",
    "A person who cannot come may send somebody else, who shows a letter that both of them have signed by hand.",
    "The hall is reached by the stairs on the side of the market, and by a lift that begins in the yard behind it.",
    "Questions are answered by telephone in the morning, and by letter all day, in each language of the region.",
)


@pytest.mark.parametrize(
    ("earlier", "found"),
    [
        ([], []),
        ([("https://b.example/1", COPY)], [False]),
        ([("https://b.example/1", COPY), ("https://m.b.example/2", COPY)], [True, True]),
        ([("https://b.example/1", COPY), ("https://b.example/2", SIBLING)], [True, False]),
        ([("https://b.example/1", COPY), ("https://a.example/2", SIBLING)], [True, False]),
        # Views of the page itself, parts of it, and pages of other sites show nothing.
        ([("https://b.example/1", COPY), ("https://a.example/2", COPY)], [False, False]),
        ([("https://b.example/1", COPY), ("https://b.example/2", PART)], [False, False]),
        ([("https://b.example/1", COPY), ("https://c.example/2", COPY)], [False, False]),
        ([("", COPY), ("", COPY)], [False, False]),
    ],
)
def test_third_pages(earlier: list[tuple[str, Relation]], found: list[bool]) -> None:
    assert have_templates(NEW, earlier) == found


def test_a_page_without_a_url_is_of_no_site() -> None:
    assert have_templates("", [("https://b.example/1", COPY), ("https://b.example/2", COPY)]) == [False, False]


def notice(url: str, *words: str) -> Page:
    """Return a notice of a template with three places to fill in."""
    lines = [f"The desk of our office in {word} is closed today." for word in words]
    return Page.from_text("\n".join((*lines, *REST)), f"https://{url}", "Notice")


FIRST = notice("b.example/1", "Aldmere", "Corlund", "Kestrow")
THIRD = notice("b.example/2", "Silverne", "Ostrand", "Westerling")
OTHER = notice("a.example/3", "Hartsea", "Lowfold", "Varnhem")
REPRINT = notice("a.example/1", "Aldmere", "Corlund", "Kestrow")


def verdicts(pages: Sequence[Page]) -> list[Verdict]:
    with Deduplicator() as dedup:
        return [dedup.add(page) for page in pages]


def test_without_a_third_page_several_sentences_are_an_edit() -> None:
    assert [each.keep for each in verdicts([FIRST, OTHER])] == [True, False]


FACTS = {
    "hours": [("Monday", "9:15 to 17:30"), ("Tuesday", "8:45 to 16:00"), ("Friday", "10:30 to 19:45")],
    "prices": [("Adults", "14.50 EUR"), ("Children", "6.20 EUR"), ("Groups", "11.75 EUR")],
}
OTHER_FACTS = {
    "hours": [("Monday", "7:00 to 12:15"), ("Tuesday", "11:20 to 18:40"), ("Friday", "13:10 to 21:05")],
    "prices": [("Adults", "21.90 EUR"), ("Children", "9.80 EUR"), ("Groups", "17.30 EUR")],
}


def museum(site: str, facts: Sequence[tuple[str, str]], stamp: str = "") -> str:
    """Return a page of facts under a long introduction, in the template of a site."""
    words = Random(7)
    text = [
        " ".join(words.choices(["oak", "mill", "boat", "river", "stone", "market", "bread", "tower"], k=70)) + "."
        for _ in "abcdefg"
    ]
    rows = "".join(f"<tr><th>{name}</th><td>{value}</td></tr>" for name, value in facts)
    body = "".join(f"<p>{part.capitalize()}</p>" for part in text)
    return (
        f"<html><title>The museum | {site}</title><body><p><a href='/'>{site}</a></p>"
        f"<main><h1>The museum</h1><p>{stamp}</p>{body}<table>{rows}</table></main></body></html>"
    )


@pytest.mark.parametrize("kind", FACTS)
def test_facts_under_a_long_text_tell_pages_of_two_sites_apart(kind: str) -> None:
    with Deduplicator() as dedup:
        dedup.add(html=museum("A", FACTS[kind]), url="https://a.example/museum")
        reprint = dedup.add(html=museum("B", FACTS[kind], "As of 3 May 2024, page 12"), url="https://b.example/museum")
        other = dedup.add(html=museum("C", OTHER_FACTS[kind]), url="https://c.example/museum")
    assert not reprint.keep
    assert (other.keep, other.evidence["siblings"]) == (True, VALUES)


def test_a_third_page_keeps_a_page_of_another_site() -> None:
    _, third, other = verdicts([FIRST, THIRD, OTHER])
    assert (third.keep, third.relation) == (True, SIBLING)
    assert (other.keep, other.relation) == (True, SIBLING)
    assert other.evidence["siblings"] == SENTENCES_OF_TEMPLATE


def test_a_sibling_of_the_own_site_is_a_third_page() -> None:
    own = notice("a.example/2", "Silverne", "Ostrand", "Westerling")
    with Deduplicator() as dedup:
        records = [dedup.fingerprint(page) for page in (FIRST, own, OTHER)]
        first, second, other = (each for each in records if isinstance(each, Record))
        known = [Candidate(id, each, ClaimState.COMMITTED, mine=False) for id, each in enumerate((first, second))]
        assert [dedup.verdict_among(known[:end], other, OTHER.url).keep for end in (1, 2)] == [False, True]


def test_a_reprint_of_a_page_of_a_template_is_dropped() -> None:
    *_, reprint = verdicts([FIRST, THIRD, REPRINT])
    assert (reprint.keep, reprint.of) == (False, FIRST.url)


def test_a_batch_decides_as_a_crawl() -> None:
    config = Config()
    rules = RowJudge(Matcher(build_detectors(config)), Policy(config.drop, config.keep))
    with Deduplicator() as dedup:
        first, third, other, reprint = (dedup.fingerprint(page) for page in (FIRST, THIRD, OTHER, REPRINT))
    assert isinstance(first, Record)
    assert isinstance(third, Record)
    for page, kept in ((other, True), (reprint, False)):
        assert isinstance(page, Record)
        outcome = rules.decide(page, [(1, first), (2, third)])
        assert outcome is not None
        assert outcome.keep is kept


def test_a_copy_on_another_site_is_not_certain_before_all_pages_are_known() -> None:
    """A store of several nodes asks for more pages before a page is dropped that a third page may keep."""
    page = Record("https://www.a.example/1", (), (b"", b""), 0.0)
    for url, relation, certain in (
        ("https://b.example/1", COPY, False),
        ("https://b.example/1", Relation.IDENTICAL, True),
        ("https://a.example/2", COPY, True),
    ):
        old = Candidate(1, replace(page, url=url), ClaimState.COMMITTED, mine=False)
        assert is_certain(page, Finding(old, Match(0.9, relation), "minhash")) is certain


@pytest.mark.parametrize("kind", ["branches", "edicts", "positions"])
def test_no_page_is_lost_by_reprints_on_other_sites(kind: str) -> None:
    found = run(build(kind, 0, abroad=True))
    assert [(verdict.url, verdict.of) for verdict in found.lost] == []
    assert len(found.copies_kept) <= 1
