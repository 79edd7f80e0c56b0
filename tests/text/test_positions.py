"""Where the common part of two texts is."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.text.positions import ALL, POSITIONS, common_position, outline


def passage(seed: int, words: int = 120, *, chinese: bool = False) -> str:
    random = Random(seed)
    if chinese:
        return "".join(chr(random.randrange(0x4E00, 0x9F00)) for _ in range(words))
    return " ".join(f"word{random.randrange(10_000)}" for _ in range(words))


@pytest.mark.parametrize("size", [128, ALL])
@pytest.mark.parametrize("chinese", [False, True])
@pytest.mark.parametrize(
    ("new", "old", "position"),
    [
        ((1, 2, 3), (1, 2, 3), "whole"),
        ((1, 2, 3), (1, 5, 6), "beginning"),
        ((1, 2, 3), (1, 2, 6), "beginning"),
        ((1, 2, 3), (4, 2, 6), "middle"),
        ((1, 2, 3), (4, 5, 3), "end"),
        ((1, 2, 3), (1, 5, 3), "both ends"),
        ((1, 2, 3), (3, 5, 6), "moved"),
        ((1, 2, 3), (4, 5, 6), ""),
        ((1,), (1, 2, 3), "beginning"),  # an excerpt: where it is in the older page
        ((2,), (1, 2, 3), "middle"),
        ((3,), (1, 2, 3), "end"),
        ((1, 2, 3), (3,), "end"),  # an expansion: where the older page is in it
        ((2,), (1, 1, 1, 1, 2, 1, 1, 1), "middle"),
    ],
)
def test_where_the_common_part_is(
    new: tuple[int, ...], old: tuple[int, ...], position: str, chinese: bool, size: int
) -> None:
    texts = ["\n".join(passage(seed, chinese=chinese) for seed in seeds) for seeds in (new, old)]
    assert common_position(*(outline(text, size) for text in texts)) == position


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_texts_can_be_compared_either_way(new: str, old: str) -> None:
    found = common_position(outline(new), outline(old))
    assert found in (*POSITIONS, "")
    assert bool(found) == bool(common_position(outline(old), outline(new)))
    assert common_position(outline(new), outline(new)) in ("whole", "")


def test_the_outline_is_stored() -> None:
    assert outline("one two three four five six").hex() == "ffffff0000af690f8070d622"
    assert len(outline(passage(1, 3000))) == 4 * 129


def test_the_outline_does_not_depend_on_compiled_code(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Die Fähre 渡轮在港口停了两个小时 and the crew went ashore at the pier。"
    compiled = outline(text)
    monkeypatch.setattr("dedupcrawl.text.features.compile_text", lambda *_, **__: None)
    assert outline(text) == compiled
