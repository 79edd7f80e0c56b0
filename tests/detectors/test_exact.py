"""Equal texts, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.detectors.base import Relation
from dedupcrawl.detectors.exact import Exact
from dedupcrawl.errors import SettingError
from dedupcrawl.page.model import Page
from dedupcrawl.text.features import Features
from dedupcrawl.text.normalize import normalize

EXACT = Exact()


def sketch(text: str, detector: Exact = EXACT) -> bytes:
    found = detector.fingerprint(Features(Page.from_text(text)))
    return found.sketch if found else b""


@given(st.text(), st.text())
def test_equal_after_normalisation_is_equal(left: str, right: str) -> None:
    assert (sketch(left) == sketch(right)) == (normalize(left) == normalize(right))


def test_a_match_is_identical() -> None:
    match = EXACT.compare(sketch("Ａ  b"), sketch("a B"))
    assert match is not None
    assert (match.similarity, match.relation) == (1.0, Relation.IDENTICAL)
    assert EXACT.compare(sketch("a"), sketch("b")) is None


@pytest.mark.parametrize("text", ["", " \n", "\u200b"])
def test_an_empty_text_has_no_fingerprint(text: str) -> None:
    assert EXACT.fingerprint(Features(Page.from_text(text))) is None


def test_lone_surrogates_are_text_like_any_other() -> None:
    assert sketch("\ud800") != sketch("\udbff") != b""


def test_the_seed_changes_the_hash() -> None:
    assert sketch("a") != sketch("a", Exact(seed=1))
    assert Exact(seed=1).scheme() != EXACT.scheme()


def test_a_seed_that_makes_no_sense_is_named() -> None:
    with pytest.raises(SettingError, match=r"detectors\['exact'\]\.seed = 1\.5 .* whole number"):
        Exact(seed=1.5)  # type: ignore[arg-type]
