"""Features of several pages equal those of each page alone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl.page.model import Page
from dedupcrawl.text import shingles as module
from dedupcrawl.text.features import Features, FeaturesBatch
from dedupcrawl.text.normalize import pack, pack_many
from tests.texts import CHINESE, ENGLISH

#: White space, borders, ligatures, invisible and combining characters, half surrogate pairs, several scripts.
ALPHABET = "ab é1.,\t\n\u3000\0\u200bﬁ…\u0301\u1161\ud800\udc00中文汉漢ไทยカ한😀ßİ"
texts = st.lists(
    st.one_of(
        st.text(st.sampled_from(ALPHABET), max_size=60),
        st.text(max_size=30),
        st.builds(lambda word, times: word * times, st.text(st.sampled_from("ab 中."), max_size=9), st.integers(2, 99)),
        st.sampled_from([ENGLISH, CHINESE, f"{ENGLISH} {CHINESE}", "", " ", "x", "\u200b", "中", "\0", " \0 "]),
    ),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(texts)
@example(["", " a ", "  "])
@example([" \0a", "\u0301e\u0301", "a"])
def test_texts_are_normalised_as_each_alone(given_texts: list[str]) -> None:
    many = pack_many(given_texts)
    spans = zip(many.starts.tolist(), many.stops.tolist(), strict=True)
    for text, (start, stop) in zip(given_texts, spans, strict=True):
        assert many.packed[start:stop].tolist() == pack(text).tolist()


@settings(deadline=None)
@given(texts, st.booleans())
def test_pages_are_measured_as_each_alone(given_texts: list[str], fold: bool) -> None:
    pages = [Page.from_text(text) for text in given_texts]
    group, alone = FeaturesBatch(pages, fold_chinese=fold), [Features(page, fold) for page in pages]
    assert group.lengths == [each.length for each in alone]
    assert group.letters == [each.letters for each in alone]
    assert group.are_one_word_repeated == [each.is_one_word_repeated for each in alone]
    assert group.encoded == [each.text.encode("utf-8", "surrogatepass") for each in alone]


@settings(deadline=None)
@given(texts, st.integers(1, 7), st.integers(1, 7), st.sampled_from([4, 1 << 16]))
def test_shingles_are_those_of_each_alone(given_texts: list[str], characters: int, words: int, chunk: int) -> None:
    pages = [Page.from_text(text) for text in given_texts]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_CHUNK", chunk)
        hashes, owners, counts = FeaturesBatch(pages).shingles(characters, words, 3)
    for place, page in enumerate(pages):
        expected = Features(page).shingles(characters, words, 3)
        assert sorted(hashes[owners == place].tolist()) == sorted(expected.tolist())
        assert counts[place] == len(expected)


def test_the_rest_of_a_page_is_judged_too() -> None:
    page = Page(url="", text=ENGLISH, rest=CHINESE)
    assert FeaturesBatch([page, page]).lengths == [Features(page).length] * 2


def test_a_page_of_a_group_is_a_view_of_itself() -> None:
    pages = [Page.from_text(ENGLISH), Page.from_text(CHINESE)]
    group = FeaturesBatch(pages)
    assert [each.page for each in group] == pages
    assert group[1] is group[1]
    assert group[:1] == [Features(pages[0])]


def test_shingles_are_computed_once() -> None:
    group = FeaturesBatch([Page.from_text(ENGLISH)])
    assert group.shingles(5, 3, 0) is group.shingles(5, 3, 0)
    assert np.any(group.shingles(5, 3, 0).hashes != group.shingles(5, 3, 1).hashes)
