from __future__ import annotations

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupcrawl.tools.report.diff import MAX_CHARS, compare_texts
from dedupcrawl.tools.report.report_model import Change

WORDS = st.lists(
    st.sampled_from(["the", "harbour", "froze", "over", ",", ".", "\n", "  ", "港", "口", "夜", "ก", "é", "\ud800"])
)
TEXTS = WORDS.map(" ".join) | WORDS.map("".join) | st.text()


def marked(old: str, new: str) -> str:
    """Show deletions as [-…-] and insertions as {+…+}."""
    shown = []
    for each in compare_texts(old, new).changes:
        gone = f"[-{each.old}-]" if each.old else ""
        come = f"{{+{each.new}+}}" if each.new else ""
        shown.append(each.old if each.is_equal else gone + come)
    return "".join(shown)


@given(TEXTS, TEXTS)
def test_the_pieces_are_the_texts(old: str, new: str) -> None:
    changes = compare_texts(old, new).changes
    assert "".join(each.old for each in changes) == old
    assert "".join(each.new for each in changes) == new


@given(TEXTS, TEXTS)
def test_equal_and_different_pieces_take_turns(old: str, new: str) -> None:
    kinds = [each.is_equal for each in compare_texts(old, new).changes]
    assert all(one != other for one, other in pairwise(kinds))
    assert Change("", "") not in compare_texts(old, new).changes


@given(TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert all(each.is_equal for each in compare_texts(text, text).changes)


@given(TEXTS, TEXTS, st.integers(1, 20))
def test_a_cut_text_is_its_beginning(old: str, new: str, most: int) -> None:
    found = compare_texts(old, new, most)
    assert found.is_cut == (max(len(old), len(new)) > most)
    assert old[:most].startswith("".join(each.old for each in found.changes))
    assert new[:most].startswith("".join(each.new for each in found.changes))


@given(st.lists(st.integers(0, 500), unique=True, min_size=4, max_size=40), st.data())
def test_what_is_put_in_is_all_that_is_marked(numbers: list[int], data: st.DataObject) -> None:
    words = [f"word{number}" for number in numbers]
    place = data.draw(st.integers(0, len(words)))
    more = [*words[:place], "inserted", *words[place:]]
    changed = [each for each in compare_texts(" ".join(words), " ".join(more)).changes if not each.is_equal]
    assert [(each.old.strip(), each.new.strip()) for each in changed] == [("", "inserted")]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (
            "The harbour froze over in the night, and ferries stayed.",
            "The harbour froze in the night, and all ferries stayed.",
            "The harbour froze [-over -]in the night, and {+all +}ferries stayed.",
        ),
        (
            "港口夜里结冰了，渡轮停在码头。没有人来。",
            "港口夜里结冰，渡轮都停在码头。没有人来。",
            "港口夜里结冰[-了-]，渡轮{+都+}停在码头。没有人来。",
        ),
        (  # "in", "of the" and the like stand in both by chance
            "completely different words are in this one of the texts",
            "nothing alike at all stands in that other, of the two, one hopes",
            (
                "[-completely different words are in this one of the texts-]"
                "{+nothing alike at all stands in that other, of the two, one hopes+}"
            ),
        ),
        (
            "港口夜里结冰。渡轮停在码头。",
            "港口夜里结冰。没有人来。渡轮停在码头。",
            "港口夜里结冰。{+没有人来。+}渡轮停在码头。",
        ),
        ("one line\nand two", "one line and two", "one line[-\n-]{+ +}and two"),
    ],
)
def test_reads_well(old: str, new: str, shown: str) -> None:
    assert marked(old, new) == shown


def test_a_moved_paragraph_is_gone_in_one_place_and_whole_in_another() -> None:
    moved = "This paragraph was moved by somebody who saw it.\n"
    rest = "All of the others remain where they have been, and they are longer than that one.\n"
    first, last = "It begins here, as ever.\n", "And it ends there, as all things do."
    assert marked(first + moved + rest + last, first + rest + moved + last) == (
        f"{first}[-{moved}-]{rest}{{+{moved}+}}{last}"
    )


HOSTILE = {
    "one word": "na " * (MAX_CHARS // 3),
    "one character": "的" * MAX_CHARS,
    "few characters": "".join(random.Random(1).choices("的一是了我", k=MAX_CHARS)),
    "many characters": "".join(chr(random.Random(2).randrange(0x4E00, 0x9000)) for _ in range(MAX_CHARS)),
    "blanks": " " * MAX_CHARS,
    "marks": "\u0301" * MAX_CHARS,
}


@pytest.mark.parametrize("old", HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("new", HOSTILE.values(), ids=HOSTILE)
def test_long_texts_that_are_all_alike_or_wholly_different(old: str, new: str) -> None:
    changes = compare_texts(old, new).changes
    assert ("".join(each.old for each in changes), "".join(each.new for each in changes)) == (old, new)


def test_the_end_of_a_cut_text_is_not_taken_for_a_difference() -> None:
    old = " ".join(f"word{number}" for number in range(100))
    found = compare_texts(old, "new " * 10 + old, most=300)
    assert found.is_cut
    assert [each.is_equal for each in found.changes] == [False, True]
