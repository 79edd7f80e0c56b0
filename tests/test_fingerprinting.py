"""Pages that are fingerprinted together have the same records as each page alone."""

from __future__ import annotations

from hashlib import blake2b

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl import fingerprinting as module
from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.fingerprinting import LONG_TEXT, Fingerprinter, UncheckedPage
from dedupcrawl.page.model import TOO_LARGE, Kind, Page
from dedupcrawl.stores.base import KEY_BYTES, Record
from dedupcrawl.text.features import FeaturesBatch
from dedupcrawl.text.shingles import seeded_hash
from tests.cost import takes_less
from tests.text.test_features_batch import texts
from tests.texts import CHINESE, ENGLISH

CHOICES: list[tuple[str, ...]] = [
    ("exact", "minhash"),
    ("simhash",),
    ("minhash",),
    ("exact",),
    ("shingling", "spotsigs"),
]
FINGERPRINTERS = {names: Fingerprinter(build_detectors(Config(detectors=names)), 40, lambda: 5.0) for names in CHOICES}
pages = st.builds(
    lambda bodies, rest, kind: [
        Page(url=f"https://a.example/{place}#x", text=body, rest=rest * (place % 2), kind=kind or _kind(body))
        for place, body in enumerate(bodies)
    ],
    texts,
    st.sampled_from(["", "?!", CHINESE]),
    st.sampled_from([None, None, None, Kind.INDEX]),
) | st.builds(
    lambda bodies, kind: [
        Page(url=f"https://a.example/{place}#x", text=body, kind=kind, visible=body * (place % 3))
        for place, body in enumerate(bodies)
    ],
    texts,
    st.sampled_from([Kind.INDEX, Kind.EMPTY]),
)


def _kind(text: str) -> Kind:
    return Page.from_text(text).kind


@settings(deadline=None)
@given(pages, st.sampled_from(CHOICES), st.booleans(), st.sampled_from([0, 500, 1 << 17]))
def test_together_is_as_alone(some: list[Page], names: tuple[str, ...], track: bool, size: int) -> None:
    fingerprinter = FINGERPRINTERS[names]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BATCH_CHARS", size)
        assert fingerprinter.fingerprint_many(some, track_url=track) == [
            fingerprinter.fingerprint(page, track_url=track) for page in some
        ]
        patch.setattr("dedupcrawl.text.features._kernel", None)
        found = fingerprinter.fingerprint_many(some, track_url=track)
    assert found == [fingerprinter.fingerprint(page, track_url=track) for page in some]


RECORDED = [("exact", "minhash"), ("minhash", "exact"), ("minhash",)]


@settings(deadline=None, max_examples=200)
@given(
    st.text(st.characters(), max_size=80) | st.text(st.sampled_from("ab 中文…é"), max_size=300),
    st.sampled_from(["", CHINESE, "ab"]),
    st.sampled_from(RECORDED),
    st.integers(0, 2**64 - 1),
    st.integers(0, 60),
    st.booleans(),
)
@example("", "", ("minhash",), 0, 0, False)
@example("ab " * 99, "", ("exact", "minhash"), 0, 0, False)
@example("é" + "x" * 99, "漢", ("minhash", "exact"), 7, 20, True)
def test_one_call_of_the_kernel_is_as_the_detectors(
    text: str, rest: str, names: tuple[str, ...], seed: int, min_chars: int, fold: bool
) -> None:
    config = Config(detectors=names, seed=seed)
    page = Page(url="https://a.example/1#x", text=text, rest=rest)
    one, other = (
        Fingerprinter(build_detectors(config), min_chars, lambda: 5.0, seed, fold_chinese=fold) for _ in range(2)
    )
    found = one.fingerprint(page)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dedupcrawl.text.features._kernel", None)
        assert other.fingerprint(page) == found


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_texts_of_every_length_have_the_hash_of_hashlib(seed: int) -> None:
    fingerprinter = Fingerprinter(build_detectors(Config(seed=seed)), 1000, lambda: 5.0)
    for size in range(1, 400):
        record = fingerprinter.fingerprint(Page.from_text("x" * size))
        assert isinstance(record, Record)
        text_hash = seeded_hash(b"x" * size, 16, seed)
        assert record.sketches == (text_hash, b"")
        assert record.keys == (blake2b(text_hash, digest_size=KEY_BYTES, person=b"detector0").digest(),)


def test_no_pages_are_no_records() -> None:
    assert FINGERPRINTERS["exact", "minhash"].fingerprint_many([]) == []


def test_pages_are_filed_in_groups_of_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dedupcrawl.text.features._kernel", None)
    sizes: list[int] = []

    class Counted(FeaturesBatch):
        def __init__(self, pages: list[Page], *, fold_chinese: bool = False) -> None:
            super().__init__(pages, fold_chinese=fold_chinese)
            sizes.append(sum(len(page.text) for page in pages))

    monkeypatch.setattr(module, "FeaturesBatch", Counted)
    monkeypatch.setattr(module, "BATCH_CHARS", 3000)
    bodies = [ENGLISH[:600] * (1 + (place == 4) * 9) for place in range(12)]
    records = FINGERPRINTERS["exact", "minhash"].fingerprint_many([Page.from_text(body) for body in bodies])
    assert len(records) == 12
    assert sizes == [2400, 3000, 1200]


@pytest.mark.parametrize("character", ["\ufdfa", "\u3300", "\ufdfa\u0301"], ids=ascii)
def test_a_long_text_that_normalisation_multiplies_is_refused_early(character: str) -> None:
    page = Page.from_text(f"{ENGLISH} " + character * LONG_TEXT)
    fingerprinter = FINGERPRINTERS["exact", "minhash"]
    assert fingerprinter.fingerprint(page) == UncheckedPage(TOO_LARGE)
    assert fingerprinter.fingerprint_many([page, page]) == [UncheckedPage(TOO_LARGE)] * 2
    assert takes_less(lambda: fingerprinter.fingerprint(page), 0.05)


@pytest.mark.parametrize(
    "text", ["\ufdfa" * 1000, f"{ENGLISH} \ufdfa " * (LONG_TEXT // len(ENGLISH))], ids=["short", "long"]
)
def test_a_text_with_some_ligatures_is_fingerprinted(text: str) -> None:
    found = FINGERPRINTERS["exact", "minhash"].fingerprint(Page.from_text(text))
    assert not isinstance(found, UncheckedPage)


def test_the_address_of_a_listing_need_not_be_valid() -> None:
    page = Page(url="http://[bad/list", text="", kind=Kind.INDEX, visible=ENGLISH)
    record = FINGERPRINTERS["exact", "minhash"].fingerprint(page)
    assert isinstance(record, Record)
    assert record.url == "http://[bad/list"


@pytest.mark.parametrize("kind", [Kind.INDEX, Kind.EMPTY])
@pytest.mark.parametrize("together", [False, True])
def test_without_exact_a_page_without_main_text_is_not_called_short(kind: Kind, *, together: bool) -> None:
    page = Page(url="https://a.example/list", text="", kind=kind, visible=ENGLISH)
    fingerprinter = FINGERPRINTERS[("minhash",)]
    found = fingerprinter.fingerprint_many([page, page])[1] if together else fingerprinter.fingerprint(page)
    assert found == UncheckedPage(str(kind))
