from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.page.noise import MAIN_TEXT, OUTSIDE, REPEATED, TEASER
from dedupcrawl.page.repeats import REPEAT, repeats, set_repeats_apart

Draft = tuple[str, int, int, int, int, str, int]


def draft(text: str) -> Draft:
    return text, len(text.encode()), 0, 0, 0, "p", 0


texts = st.lists(st.sampled_from("abc水").flatmap(lambda sign: st.sampled_from([sign, sign * REPEAT])))


@given(texts)
def test_a_repeat_is_long_and_stands_earlier(found: list[str]) -> None:
    drafts = [draft(text) for text in found]
    assert repeats(drafts) == [
        place for place, text in enumerate(found) if len(text) > 1 and text in found[:place]
    ]


def test_only_what_the_main_text_says_is_set_apart() -> None:
    drafts = [draft(text) for text in ("main", "other", "main", "other", "main", "main")]
    reasons = [MAIN_TEXT, OUTSIDE, OUTSIDE, OUTSIDE, TEASER, MAIN_TEXT]
    set_repeats_apart(drafts, reasons, [2, 3, 4, 5])
    assert reasons == [MAIN_TEXT, OUTSIDE, REPEATED, OUTSIDE, TEASER, MAIN_TEXT]
