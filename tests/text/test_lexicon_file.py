"""Document frequencies, against counting everything."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.text.lexicon import DocumentCounts

DOCUMENTS = st.lists(st.lists(st.sampled_from("abcdefghijklmnop"), max_size=8), max_size=40)


@given(DOCUMENTS, st.integers(1, 3))
def test_counts_are_exact_while_there_is_room(documents: list[list[str]], least: int) -> None:
    counted = DocumentCounts()
    for words in documents:
        counted.add(iter(words))
    expected = Counter(word for words in documents for word in set(words))
    assert counted.documents == len(documents)
    assert counted.missed == 0
    assert counted.frequencies(least) == {word: n for word, n in expected.items() if n >= least}


@given(DOCUMENTS, st.integers(1, 12))
def test_counts_are_never_too_high_nor_too_low_by_more_than_what_is_missed(
    documents: list[list[str]], most: int
) -> None:
    counted = DocumentCounts(most)
    expected: Counter[str] = Counter()
    for words in documents:
        counted.add(words)
        expected.update(set(words))
        found = counted.frequencies()
        assert len(found) <= most
        for word, true in expected.items():
            assert true - counted.missed <= found.get(word, 0) <= true


def test_the_common_words_stay_when_the_rare_are_forgotten() -> None:
    counted = DocumentCounts(max_words=50)
    for number in range(1000):
        counted.add(["the", "harbour" if number % 2 else "ferry", str(number)])
    found = counted.frequencies()
    assert (found["the"], found["harbour"], found["ferry"]) == (1000, 500, 500)
    assert counted.missed < 50
