"""Where sentences end, and where they only seem to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.text.normalize import normalize
from dedupcrawl.text.sentences import sentence_ends
from tests.texts import CHINESE, ENGLISH


def sentences(text: str) -> list[str]:
    ends = sentence_ends(text)
    return [text[start:stop].strip() for start, stop in zip((0, *ends), ends, strict=False)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three?"]),
        ("一句。两句！三句？四", ["一句。", "两句！", "三句？"]),
        ("他说：“走吧。”然后走了。", ["他说：“走吧。”", "然后走了。"]),
        ('He said "Go." She went.', ['He said "Go."', "She went."]),
        ("It costs 3.14 euros. Or 3.", ["It costs 3.14 euros.", "Or 3."]),
        ("See example.com for more.", ["See example.com for more."]),
        ("Mr. Smith met Dr. Wu. They talked.", ["Mr. Smith met Dr. Wu.", "They talked."]),
        ("J. R. Miller of the U.S. team won.", ["J. R. Miller of the U.S. team won."]),
        ("Wait... what? No.", ["Wait... what?", "No."]),
        ("what?! really?", ["what?!", "really?"]),
        ("股价涨了3.5%。成交量0.8亿。", ["股价涨了3.5%。", "成交量0.8亿。"]),
        ("结束.然后", ["结束."]),
        ("(In brackets.) Out.", ["(In brackets.)", "Out."]),
        ("no end at all", []),
        ("", []),
        ("。", ["。"]),
        ("क्या हुआ। ठीक है।", ["क्या हुआ।", "ठीक है।"]),
    ],
)
def test_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


@pytest.mark.parametrize(("text", "count"), [(ENGLISH, 7), (CHINESE, 7)])
def test_real_texts(text: str, count: int) -> None:
    assert len(sentences(normalize(text))) == len(sentences(text)) == count


@given(st.text(st.sampled_from("ab. 。!?\"”'1…)")))
def test_ends_rise_and_stand_behind_a_mark(text: str) -> None:
    ends = sentence_ends(text)
    assert list(ends) == sorted(set(ends))
    assert all(text[end - 1] in ".。!?\"”')" for end in ends)


def test_a_long_row_of_points_takes_no_time() -> None:
    assert sentence_ends("." * 200_000) == ()
    assert sentence_ends("a" * 200_000 + ".") == (200_001,)
