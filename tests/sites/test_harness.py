"""What counts as lost, and what as a copy kept."""

from __future__ import annotations

import pytest

from dedupcrawl import Status, Verdict
from dedupcrawl.detectors.base import Relation
from tests.sites.harness import Outcome, run
from tests.sites.model import Site, SitePage
from tests.texts import ENGLISH, OTHER_ENGLISH


def outcome(*pages: tuple[str, str, str]) -> Outcome:
    """Make an outcome of (URL, content, URL of the page that it repeats, "" if kept)."""
    verdicts = (
        Verdict(url, Status.DUPLICATE, False, Relation.IDENTICAL, of) if of else Verdict(url, Status.UNIQUE, True)
        for url, _, of in pages
    )
    return Outcome("made", tuple(SitePage(url, "", content) for url, content, _ in pages), tuple(verdicts))


@pytest.mark.parametrize(
    ("pages", "lost", "repeated"),
    [
        ([("u1", "a", ""), ("u2", "a", "u1")], [], []),
        ([("u1", "a", ""), ("u2", "b", "u1")], ["u2"], []),
        ([("u1", "a", ""), ("u2", "b", "u1"), ("u3", "b", "u1")], ["u2"], []),  # one content, lost once
        (
            [("u1", "a", ""), ("u2", "b", ""), ("u3", "b", "u1")],
            ["u3"],
            [],
        ),  # kept elsewhere, but dropped for a wrong reason
        ([("u1", "a", ""), ("u2", "b", "u1"), ("u3", "b", "")], ["u2"], []),
        ([("u1", "a", ""), ("u2", "a", "")], [], ["u2"]),
    ],
)
def test_what_is_counted(pages: list[tuple[str, str, str]], lost: list[str], repeated: list[str]) -> None:
    found = outcome(*pages)
    assert [verdict.url for verdict in found.lost] == lost
    assert [verdict.url for verdict in found.copies_kept] == repeated


def test_numbers() -> None:
    found = outcome(("u1", "a", ""), ("u2", "a", "u1"), ("u3", "b", ""))
    assert (found.distinct, found.copies, found.kept) == (2, 1, 2)


def test_pages_are_judged_in_order() -> None:
    texts = (ENGLISH, OTHER_ENGLISH, ENGLISH)
    pages = (SitePage(f"https://a.example/{place}", f"<p>{text}</p>", text) for place, text in enumerate(texts))
    found = run(Site("made", 0, tuple(pages)))
    assert [verdict.keep for verdict in found.verdicts] == [True, True, False]
    assert found.verdicts[2].of == "https://a.example/0"
