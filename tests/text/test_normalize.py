"""The lookup table agrees with the plain definition for every text."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl.text.normalize import CODE, ROLE_SHIFT, Role, decode, encode, normalize, normalize_reference, pack

#: What combines, expands, vanishes, folds or breaks.
TRICKY = (
    "aé\u0301\u0308\u0323ﬁßİıΣς…½㎏™´¨ＡＢ１｡，。ｶﾞﾟカ\u3099゙각\u1100\u1161\u11a8\uac00\u200d\xad\ufe0f\ufeff"
    "\u3000\u2028\x85\x1c \t\n\x00\ud800\udc00\U0001f600中龍\uf900\U0002f800กำิ์اَﷺ\u0903\u094d\u0915\u093c"
    "\u0f71\u0f73\u0344\u0345ᾳᾼ\u09c7\u09be\U000e0001\U0001d15e"
)
CHANGING = (range(0x3400), range(0xA490, 0xAC00), range(0xD7A4, 0xE000), range(0xF900, 0x20000))
STILL = (range(0x3400, 0xA490), range(0xAC00, 0xD7A4), range(0xE000, 0xF900), range(0x20000, 0x110000))


@settings(max_examples=400, deadline=None)
@given(st.text(st.characters()) | st.text(st.characters(max_codepoint=0x33FF)) | st.text(st.sampled_from(TRICKY)))
@example("")
@example("  \n ")
@example("x \u0301y")
@example("\ud83d\ude00")
@example("\u200b")
@example("\u200b \u200b")
def test_the_table_agrees_with_the_definition(text: str) -> None:
    assert normalize(text) == normalize_reference(text)


@pytest.mark.parametrize("points", CHANGING, ids=str)
def test_every_code_point_agrees_on_its_own(points: range) -> None:
    texts = [f"x{chr(point)}y" for point in points]
    assert [text for text in texts if normalize(text) != normalize_reference(text)] == []


@pytest.mark.parametrize("points", STILL, ids=str)
def test_all_other_code_points_agree_in_a_row(points: range) -> None:
    text = "".join(map(chr, points))
    assert normalize(text) == normalize_reference(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ｄｅｄｕｐ　ＣＲＡＷＬ", "dedup crawl"),
        (" a\n\t b\u3000c ", "a b c"),
        ("Straße", "strasse"),
        ("ﬁne", "fine"),
        ("好……吧", "好......吧"),
        ("soft\xadhyphen zero\u200bwidth", "softhyphen zerowidth"),
        ("e\u0301", "é"),
        ("ｶﾞ", "ガ"),
        ("“引用”", "“引用”"),
        ("", ""),
        ("\u200b\ufeff", ""),
    ],
)
def test_what_normalisation_means(text: str, expected: str) -> None:
    assert normalize(text) == expected


@given(st.text(st.sampled_from(TRICKY)))
def test_normalised_text_stays_as_it_is(text: str) -> None:
    once = normalize(text)
    assert normalize(once) == once


@given(st.text(st.characters()))
def test_code_points_come_back(text: str) -> None:
    assert decode(encode(text)) == text


@pytest.mark.parametrize(
    ("text", "role"),
    [("aЖ7éह한", Role.WORD), ("中々〇あカก\U00020000", Role.CHARACTER), (" ,.。！…-_€😀\ud800\ue000", Role.SEPARATOR)],
)
def test_every_point_carries_its_role(text: str, role: Role) -> None:
    assert {int(packed >> ROLE_SHIFT) for packed in pack(text)} <= {role}
    assert decode(pack(text) & CODE) == normalize(text)


def test_marks_of_a_text_that_takes_the_slow_way_have_roles_too() -> None:
    assert [int(packed >> ROLE_SHIFT) for packed in pack("กำ é\u0323 b")] == [2, 2, 2, 0, 1, 1, 0, 1]
