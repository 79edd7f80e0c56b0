from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.page.edges import EDGE_COST, best_range, frame_blocks, trim
from dedupcrawl.page.rules import EDGE, FRAME, MAIN_TEXT, OUTSIDE, REPEATED, TEASER
from dedupcrawl.page.structure import MIN_REPEATED_BYTES, mark_repeated, repeated_blocks

scores = st.lists(st.integers(-200, 600).map(float), max_size=12)


def value(part: list[float]) -> float:
    return sum(max(score, EDGE_COST) for score in part)


@given(scores)
def test_no_range_has_a_higher_sum(given: list[float]) -> None:
    begin, end = best_range(given)
    spans = [(first, last) for last in range(len(given) + 1) for first in range(last)]
    best = max((value(given[first:last]) for first, last in spans), default=0.0)
    assert 0 <= begin <= end <= len(given)
    if best > 0:
        assert value(given[begin:end]) == best
    else:
        assert (begin, end) == (0, len(given))


def block(text: str) -> tuple[str, int, int, int, int, str, int]:
    return text, len(text.encode()), 0, 0, 0, "p", 0


LONG = "The river rose through the night until it stood a hand below the bridge."


def test_what_goes_has_its_reason() -> None:
    blocks = [block(text) for text in ("Monday", "Source: Gazette", LONG, LONG, "Page", "cut before")]
    scores = [-40.0, 10.0, 60.0, 60.0, -40.0, 300.0]
    assert trim(blocks, [0, 1, 2, 3, 4], scores) == {0: EDGE, 4: EDGE, 1: FRAME}


def test_nothing_goes_from_nothing() -> None:
    assert trim([], [], []) == {}


def test_a_frame_that_says_as_much_as_the_rest_is_the_text() -> None:
    blocks = [block(text) for text in ("Source: Gazette", "It rained.", "By Ann Smith")]
    assert frame_blocks(blocks, [0, 1, 2]) == set()
    assert frame_blocks([*blocks, block(LONG)], [0, 1, 2, 3]) == {0, 2}


def test_pictures_that_say_half_as_much_as_the_rest_are_part_of_the_text() -> None:
    captions = [block(f"The bridge on the {n}th of May (Photo: Getty)") for n in range(4, 9)]
    boilerplate = [block(LONG), block(LONG), block(LONG)]
    assert frame_blocks([*captions, *boilerplate], [*range(8)]) == set()


RawBlock = tuple[str, int, int, int, int, str, int]


def repeated_block(text: str) -> RawBlock:
    return text, len(text.encode()), 0, 0, 0, "p", 0


texts = st.lists(st.sampled_from("abc水").flatmap(lambda sign: st.sampled_from([sign, sign * MIN_REPEATED_BYTES])))


@given(texts)
def test_a_repeat_is_long_and_comes_earlier(found: list[str]) -> None:
    blocks = [repeated_block(text) for text in found]
    assert repeated_blocks(blocks) == [
        place for place, text in enumerate(found) if len(text) > 1 and text in found[:place]
    ]


def test_only_what_the_main_text_says_is_set_apart() -> None:
    blocks = [repeated_block(text) for text in ("main", "other", "main", "other", "main", "main")]
    reasons = [MAIN_TEXT, OUTSIDE, OUTSIDE, OUTSIDE, TEASER, MAIN_TEXT]
    mark_repeated(blocks, reasons, [2, 3, 4, 5])
    assert reasons == [MAIN_TEXT, OUTSIDE, REPEATED, OUTSIDE, TEASER, MAIN_TEXT]
