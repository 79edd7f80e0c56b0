from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.report.timeline import folded, width_for

SECONDS = st.lists(st.integers(0, 2**40), min_size=1, max_size=50)


@given(SECONDS, st.integers(1, 600))
def test_the_width_is_the_least_doubling_that_fits(seconds: list[int], most: int) -> None:
    width = width_for(seconds, 1, most)
    assert width & (width - 1) == 0
    assert max(seconds) // width - min(seconds) // width < most
    if width > 1:
        half = width // 2
        assert max(seconds) // half - min(seconds) // half >= most


@given(
    st.dictionaries(st.integers(-100, 100), st.tuples(*[st.integers(0, 9)] * 3)),
    st.sampled_from([1, 2, 8]),
)
def test_folding_loses_nothing(counts: dict[int, tuple[int, int, int]], factor: int) -> None:
    wider = folded(counts, factor)
    assert {place // factor for place in counts} == set(wider)
    for i in range(3):
        assert sum(each[i] for each in wider.values()) == sum(each[i] for each in counts.values())


def test_nothing_needs_no_width() -> None:
    assert width_for([], 4, 8) == 4
