"""From the folder of a batch to the pairs that a person is asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedupcrawl.errors import DedupError
from dedupcrawl.labelling import from_batch
from dedupcrawl.labelling.drawing import COPY, MISS
from dedupcrawl.labelling.from_batch import load_batch
from dedupcrawl.progress import NoProgress
from tests.batch.corpus import Batch, write_lines
from tests.labelling.runs import web
from tests.labelling.test_from_ledgers import all_of

PAGES = web(8, 8)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    rows = [{"url": page.url, "text": page.text} for page in PAGES]
    Batch(tmp_path).run(write_lines(tmp_path / "pages.jsonl", rows))
    return tmp_path / "out"


def test_copies_and_near_misses_come_with_the_texts_of_the_inputs(out: Path) -> None:
    loaded = load_batch(out, None, NoProgress())
    texts = {page.url: page.text for page in PAGES}
    pairs = all_of(loaded.urn)
    assert all(
        each.new.text == texts[each.new.url] and each.old.text == texts[each.old.url] for each in pairs
    )
    kinds = {each.new.url: loaded.urn.stratum(each).kind for each in pairs}
    assert {url for url in kinds if "same.example" in url} == {
        p.url for p in PAGES if "same.example" in p.url
    }
    assert all(kind == COPY for url, kind in kinds.items() if "same.example" in url)
    assert MISS in kinds.values()
    assert all(each.is_dropped == (each.relation == "near-duplicate") for each in pairs)
    assert (loaded.urn.around, loaded.without_text) == (0.8, 0)
    assert load_batch(out, 0.9, NoProgress()).urn.around == 0.9


def test_pairs_whose_texts_are_gone_are_counted(out: Path) -> None:
    before = load_batch(out, None, NoProgress())
    (out.parent / "pages.jsonl").unlink()
    gone = load_batch(out, None, NoProgress())
    assert all_of(gone.urn) == []
    assert gone.without_text == len(all_of(before.urn))


def test_of_many_some_are_read_and_stand_for_all(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = load_batch(out, None, NoProgress())
    monkeypatch.setattr(from_batch, "HELD", 2)
    some = load_batch(out, None, NoProgress())
    copies = [each for each in all_of(some.urn) if each.relation]
    strata = {some.urn.stratum(each) for each in copies}
    assert len(copies) == 2 * len(strata)
    of_whole = {whole.urn.stratum(each) for each in all_of(whole.urn) if each.relation}
    assert sum(each.size for each in strata) == sum(each.size for each in of_whole)


def test_what_is_no_batch_is_said(tmp_path: Path) -> None:
    with pytest.raises(DedupError):
        load_batch(tmp_path, None, NoProgress())
