"""The statements of the security page about stored data match the stored data."""

from __future__ import annotations

import re

import pytest

from benchmarks.evasion import CASES, WORDS, judge
from dedupcrawl import Config, Deduplicator, Page
from dedupcrawl.detectors.registry import DETECTORS
from dedupcrawl.stores.base import Record
from dedupcrawl.stores.records import encode
from docs.making import measured
from tests.data import ROOT
from tests.texts import ENGLISH, OTHER_ENGLISH

#: Rows of the table that are judged again.
CHANGES = ("nothing but the URL", "a number in the heading", "a line with a date above the text", "one sentence")
TEXT = f"{ENGLISH} {OTHER_ENGLISH}"


def with_words() -> set[str]:
    """Return the detectors that the page names as those whose sketches hold words."""
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    [sentence] = re.findall(r"Detectors whose sketches hold words of a page: (.+?)\.\s", text, re.DOTALL)
    return {name for name in re.findall(r"`(\w+)`", sentence) if name in DETECTORS}


@pytest.mark.parametrize("name", DETECTORS)
def test_a_sketch_holds_words_only_where_the_page_states_it(name: str) -> None:
    with Deduplicator(detectors=[name]) as dedup:
        record = dedup.fingerprint(Page.from_text(TEXT, "https://a.example/1"))
    assert isinstance(record, Record)
    stored = encode(record).decode("latin-1")
    words = {word for word in re.findall(r"[a-z]{5,}", TEXT.lower()) if word in stored}
    assert bool(words) is (name in with_words()), words


@pytest.mark.parametrize("change", CHANGES)
def test_what_evasion_costs_is_as_measured(change: str) -> None:
    cells = measured.results()["evasion"]["figures"]["changes"][change]
    for case in CASES:
        for words in WORDS:
            found = judge(change, words, case.site, case.config(Config().threshold))
            stored = cells[f"{case.name}_{words}"]
            assert found.total() - found["dropped"] == stored["kept"], (
                "python docs/making/measured.py --measure evasion"
            )
