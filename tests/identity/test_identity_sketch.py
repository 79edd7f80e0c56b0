"""The sketch of a page's names and values: what it holds, its bytes, and what may be read from them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl.errors import DamageError
from dedupcrawl.identity import identity_codec
from dedupcrawl.identity import identity_sketch as module
from dedupcrawl.identity import names as names_module
from dedupcrawl.identity.identity_codec import (
    BESIDE,
    DIGIT,
    FEW_SENTENCES,
    FILLER,
    HASH_BITS,
    HEADING,
    MAIN,
    MAX_COUNT,
    MAX_NAMES,
    MAX_SENTENCES,
    MAX_VALUES,
    SAID,
    TELLING,
    TITLE,
    UNREAD_BYTES,
    HashSample,
    Identity,
    pack_identity,
    reference_unpack,
    sample,
    unpack_identity,
)
from dedupcrawl.identity.identity_sketch import reference_sketch, sketch_identity
from dedupcrawl.identity.names import MAX_SEARCHED, name_key, name_tokens
from dedupcrawl.identity.token_hashes import keyed_bytes
from dedupcrawl.identity.values import HAN_NUMERALS, MAX_TOKEN_BYTES, word_sets
from dedupcrawl.page.model import Page
from dedupcrawl.page.signatures import LAYOUT_BYTES, without_layout
from dedupcrawl.text.features import Features, is_compiled, loaded
from tests.texts import CHINESE, ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable

BOLT = Page(
    url="https://a.example/m3",
    title="Hex bolt M3 x 20 | Bolts & Co",
    text="A hex bolt of steel with a length of 20 mm. Torque 3.5 Nm.",
    heading="Hex bolt M3 x 20",
    beside="Price 0.35 each\nBolts & Co\nSent within 2 days",
    stated="Price 0.35 each",
)
NOTICE = Page(
    url="https://a.example/2",
    title="沪指涨1.2% 快讯",
    text="沪指收盘上涨1.2%，报3051.23点。",
    heading="沪指涨1.2%",
    stated="2024年5月3日",
)
LINES = Page(
    url="https://a.example/3",
    title="Hex bolt",
    text="Bolts & Co\nHex bolt\nA bolt of steel.\nHex bolt",
    heading="Hex bolt",
    layout=b"abcd",
)


def sketch(page: Page, seed: int = 1) -> bytes:
    return sketch_identity(page, Features(page).encoded, seed)


def parts(page: Page) -> Identity:
    found = unpack_identity(sketch(page))
    assert found is not None
    return found


def flags_of(page: Page, token: str) -> int:
    """Return the flags of a token; the sketch must hold it."""
    key = name_key(token, 1)
    return parts(page).names.items[key]


# -- bytes: they are stored ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "seed", "golden"),
    [
        (BOLT, 1, "0000000091378a6ca8ec439ebe4e6058a548ddb84d1f42673e687b42ff5033f2fbc0"),
        (BOLT, 2, "00000000912f1a6ca8ec6eace0fd0496b1334e82fbe9c4d7a765db05faaf87fe5f00"),
        (NOTICE, 1, "0000000092947c0000ac04b1233ad1e914cb12271d37dd4305f6fae7e5e6"),
        (Page(url="https://a.example/", text="No name, no number."), 1, "00000000840000000000baca302ee518"),
        (LINES, 1, "61626364a400000003c5344ebcf4650437621196538ccf13f06fad3bbf"),
    ],
    ids=["bolt", "other seed", "chinese", "nameless", "name line"],
)
def test_the_bytes_are_pinned(page: Page, seed: int, golden: str) -> None:
    assert sketch(page, seed).hex() == golden


def test_the_seed_is_a_key() -> None:
    one, two = (unpack_identity(sketch(BOLT, seed)) for seed in (1, 2))
    assert one is not None
    assert two is not None
    assert len(one.names.items) == len(two.names.items)
    assert one.names.items.keys() != two.names.items.keys()
    assert one.inner.items.keys() != two.inner.items.keys()
    assert one.facts != two.facts


# -- names --------------------------------------------------------------------------------------


def test_where_the_names_stand() -> None:
    assert flags_of(BOLT, "bolt") == HEADING | TITLE | SAID | MAIN
    assert flags_of(BOLT, "m3") == HEADING | TITLE
    assert flags_of(BOLT, "20") == HEADING | TITLE | SAID | MAIN
    assert flags_of(BOLT, "bolts") == TITLE  # beside the text of a page with a heading nothing is looked for
    assert flags_of(replace(BOLT, heading=""), "bolts") == TITLE | SAID
    assert flags_of(BOLT, "co") == TITLE  # a filler: not examined


def test_names_of_classes_are_sampled_in_order() -> None:
    keys = [*parts(BOLT).names.items]
    tokens = {"m3": DIGIT, "20": DIGIT, "bolt": TELLING, "bolts": TELLING, "hex": FILLER, "x": FILLER, "co": FILLER}
    assert sorted(key & ~(TELLING - 1) for key in keys) == sorted(tokens.values())


@pytest.mark.parametrize(
    ("word", "text", "stands"),
    [
        ("corner", "the corner shop", True),
        ("corner", "corner", True),
        ("corner", "cornered and tricorner", False),
        ("corner", "cornered at the corner", True),
        ("corner", "sécorner", False),
        ("café", "un café noir", True),
        ("沪指", "今日沪指上涨", True),
        ("沪指", "今日深指上涨", False),
    ],
)
def test_a_name_stands_in_a_text_as_a_whole_word(word: str, text: str, *, stands: bool) -> None:
    page = Page(url="https://a.example/", text=text, heading=word)
    assert bool(flags_of(page, word) & MAIN) is stands
    beside = Page(url="https://a.example/", text="Something else.", title=word, beside=text.upper())
    assert bool(flags_of(beside, word) & SAID) is stands


def test_a_line_that_is_the_name_is_told_from_the_rest_of_the_text() -> None:
    assert flags_of(LINES, "bolt") == HEADING | TITLE | SAID | MAIN
    page = replace(LINES, text="Hex bolt\nSteel.\nHex bolt")
    assert flags_of(page, "bolt") == HEADING | TITLE | MAIN
    assert flags_of(replace(page, beside="A bolt"), "bolt") == HEADING | TITLE | MAIN
    assert parts(page).body == parts(Page(url="", heading="Nuts", text="Steel.\nNuts")).body >= 0
    assert parts(page).body != parts(LINES).body
    assert parts(BOLT).body == parts(replace(LINES, text="A hex bolt of steel.")).body == 0


@given(st.lists(st.sampled_from(["Hex bolt", "hex bolt", "Steel.", "A hex bolt.", "六角", "ｆull"]), max_size=6))
def test_a_body_is_the_text_without_its_name_lines(lines: list[str]) -> None:
    page = Page(url="", heading="Hex bolt", text="\n".join(lines))
    rest = [line for line in lines if line != "Hex bolt"]
    is_shown = "Hex bolt" in lines
    body = module.body_of(page, ("hex bolt", ""), Features(page).encoded)
    # In the normalised text a line may begin with the words of the name: any of them may be taken for it.
    if "hex bolt" not in lines and "A hex bolt." not in lines:
        assert body == (Features(Page(url="", text="\n".join(rest))).encoded if is_shown else None)
    else:
        assert (body is not None) == is_shown


def test_a_name_beside_the_text_may_have_capitals() -> None:
    page = Page(url="https://a.example/", text="Something else.", title="Élan", beside="ÉLAN ist da")
    assert flags_of(page, "élan") == TITLE | SAID


def test_names_are_looked_for_at_the_beginning_of_a_text() -> None:
    for length, stands in ((MAX_SEARCHED - 5, True), (MAX_SEARCHED + 1, False)):
        page = Page(url="https://a.example/", text="x" * (length - 1) + " bolt", heading="Bolt")
        assert bool(flags_of(page, "bolt") & MAIN) is stands


def test_words_of_a_view_are_no_names() -> None:
    page = Page(url="https://a.example/", title="Print – printer-friendly version", text=ENGLISH)
    assert parts(page).names == HashSample({})


def test_a_name_of_many_words_is_sampled() -> None:
    words = [f"word{chr(97 + n)}" for n in range(20)]
    names = parts(Page(url="https://a.example/", title=" ".join(words), text=ENGLISH)).names
    assert (len(names.items), names.is_whole) == (MAX_NAMES, False)


def test_traditional_characters_can_be_folded() -> None:
    simplified, traditional = (
        Page(url="https://a.example/", title=name, text=CHINESE) for name in ("沪指涨", "滬指漲")
    )
    encoded = Features(simplified, fold_chinese=True).encoded
    assert sketch_identity(traditional, encoded, 1, fold_chinese=True) == sketch_identity(simplified, encoded, 1)
    assert sketch_identity(traditional, encoded, 1) != sketch_identity(simplified, encoded, 1)


@given(st.text(max_size=40))
def test_tokens_of_a_name_stand_in_it(name: str) -> None:
    for token in name_tokens(name):
        assert token in name
        assert token


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("c++, c# and f#", ["c++", "c#", "and", "f#"]),
        ("rated aa+ (a-, b\u2212)", ["rated", "aa+", "a-", "b\u2212"]),
        ("c#语言 等级a+", ["c#", "语言", "等级", "a+"]),
        ("c++17 x-ray aa- notepad++ - #1 18+", ["c", "17", "x", "ray", "aa", "notepad", "1", "18"]),
    ],
)
def test_a_sign_belongs_to_a_short_name(name: str, tokens: list[str]) -> None:
    """A hyphen joins words, unless a single letter stands before it and no word after it."""
    assert name_tokens(name) == tokens
    assert [name_key(token, 1) & FILLER for token in ("c++", "aa+", "and")] == [0, 0, FILLER]


# -- values -------------------------------------------------------------------------------------


def test_values_beside_the_text_are_apart() -> None:
    page = Page(url="https://a.example/", text="Torque 3.5 and 20.", stated="20 pieces, 9.99, COMMENTS (12)")
    found = parts(page)
    assert (len(found.inner.items), len(found.outer.items)) == (2, 1)
    many = Page(url="https://a.example/", text=" ".join(map(str, range(500))), stated="9.99")
    assert len(parts(many).outer.items) == 1


def test_the_text_beside_is_normalised() -> None:
    text = "Goods that were cut to size cannot be returned."
    one, other = (
        replace(BOLT, text=text, stated=stated) for stated in ("Price 0.35\nGlazed", "ＰＲＩＣＥ　０.３５\nGLAZED")
    )
    assert parts(one).outer.items
    assert parts(one).shorts.items
    assert parts(one) == parts(other)


def test_beside_a_text_about_its_name_nothing_counts() -> None:
    """There it belongs to the site. A single word of a name proves nothing."""
    assert (parts(BOLT).outer.items, parts(BOLT).shorts.items) == ({}, {})
    foreign = parts(replace(BOLT, text="Goods that were cut to size cannot be returned."))
    assert (len(foreign.outer.items), len(foreign.shorts.items)) == (1, 1)
    assert len(parts(replace(BOLT, heading="Bolt")).outer.items) == 1


def test_all_numbers_of_the_text_make_its_facts() -> None:
    numbers = [str(number) for number in range(100, 140)]

    def facts(some: list[str], more: str = "") -> int:
        return parts(Page(url="https://a.example/", text=" and ".join(some) + more)).facts

    assert facts(numbers, ". Comments (9)") == facts(numbers, ". Comments (131)")
    assert facts(numbers, ", 9 comments. End") == facts(numbers, ", 131 comments. End")
    for place in range(len(numbers)):
        assert facts([*numbers[:place], "77", *numbers[place + 1 :]]) != facts(numbers)
    assert facts(numbers) != facts(numbers[::-1])


def test_short_facts_beyond_the_sample_are_hashed() -> None:
    lines = [f"fact {chr(97 + n)}" for n in range(20)]
    one, two = (
        parts(Page(url="https://a.example/", text=ENGLISH, stated="\n".join(some)))
        for some in (lines, [*lines[:-1], "another"])
    )
    assert len(one.shorts.items) == MAX_VALUES
    assert one.shorts.number == two.shorts.number == 20
    assert one.shorts.differs(two.shorts)


# -- the order of sentences ----------------------------------------------------------------------


def lines_of(count: int) -> list[str]:
    return [f"The ships of pier {chr(97 + n)} in the harbour were counted that day" for n in range(count)]


def order_of(lines: list[str]) -> list[int]:
    return [*parts(Page(url="https://a.example/", text="\n".join(lines))).sentences.items]


@given(st.permutations(lines_of(12)))
def test_sentences_are_in_the_order_of_the_text(lines: list[str]) -> None:
    hashes = [order_of([line])[0] for line in lines]
    assert order_of(lines) == hashes
    assert order_of([*lines, *lines[3:5], lines[0]]) == hashes  # at its first place


def test_of_a_long_text_only_the_order_of_sentences_is_known() -> None:
    found = parts(Page(url="", text="\n".join(f"{line}. {ENGLISH}." for line in lines_of(26)))).sentences
    assert (len(found.items), found.number, found.is_whole) == (FEW_SENTENCES, 0, False)
    assert not found.differs(HashSample({1: 0}, 1, 1))
    assert not HashSample({1: 0}, 1, 1).differs(found)


# -- packing ------------------------------------------------------------------------------------

seeds = st.integers(0, 2**64 - 1)


def samples(most: int, flag: int = 0, *, is_sorted: bool = True) -> st.SearchStrategy[HashSample]:
    hashes = st.integers(0, 2**16 - 1).map(lambda each: each & ~flag)
    every = st.dictionaries(hashes, st.sampled_from([0, flag]), max_size=most + 3)
    return every.map(lambda some: sample(some, most, is_sorted=is_sorted))


def name_sample(places: dict[int, int]) -> HashSample:
    """Return a sample of names. Fillers are not examined; there may be more names, and it is not known how many."""
    found = sample({key: place & 3 if key >= FILLER else place for key, place in places.items()}, MAX_NAMES)
    return found if found.is_whole else HashSample(found.items, MAX_COUNT)


names = st.dictionaries(st.integers(0, (3 << HASH_BITS) - 1), st.integers(0, 15), max_size=MAX_NAMES + 3).map(
    name_sample
)
sentences = samples(MAX_SENTENCES, is_sorted=False)
uncounted = sentences.map(lambda found: HashSample(found.items))
numbers = st.integers(0, 2**16 - 1)
identities = st.builds(
    Identity,
    names,
    samples(MAX_VALUES),
    samples(MAX_VALUES),
    samples(MAX_VALUES, BESIDE),
    st.one_of(sentences, uncounted),
    numbers,
    numbers,
    st.booleans(),
    st.booleans(),
    numbers,
)


def flipped(sketch: bytes, bit: int) -> bytes:
    """Return a sketch of which one bit is another."""
    return (int.from_bytes(sketch, "big") ^ 1 << bit % (8 * len(sketch))).to_bytes(len(sketch), "big")


@given(identities)
def test_what_is_packed_is_unpacked(identity: Identity) -> None:
    sketch = pack_identity(identity)
    packed = bytes(4) + sketch
    for found in (unpack_identity(packed), reference_unpack(sketch)):
        assert found == identity
        assert [*found.sentences.items] == [*identity.sentences.items]
    assert 11 <= len(packed) <= 230
    for damaged in (packed[:-1], packed + b"\0", packed[1:]):
        with suppress(DamageError):  # and no other error
            unpack_identity(damaged)


@given(st.binary(max_size=80))
def test_any_bytes_can_be_unpacked(packed: bytes) -> None:
    with suppress(DamageError):
        found = unpack_identity(packed)
        assert len(packed) in {0, LAYOUT_BYTES, UNREAD_BYTES} if found is None else len(packed) >= 11


def unpacked(sketch: bytes, unpack: Callable[[bytes], Identity]) -> Identity | None:
    with suppress(ValueError):
        return unpack(sketch)
    return None


@given(st.one_of(st.binary(max_size=80), st.builds(flipped, identities.map(pack_identity), st.integers(0, 2000))))
def test_compiled_code_reads_what_the_reference_does(packed: bytes) -> None:
    assert unpacked(packed, identity_codec._unpack) == unpacked(packed, reference_unpack)


@pytest.mark.parametrize("packed", [b"", b"\1\2\3\4", b"\1\2\3\4\1", b"\1\2\3\4\2"], ids=repr)
def test_a_page_without_names_has_no_identity(packed: bytes) -> None:
    assert unpack_identity(packed) is None


@pytest.mark.parametrize(
    "packed",
    [
        *(b"\0\0\0", bytes(5), b"\0\0\0\0\3", bytes(6), bytes(9), b"\x80\0\0\0", b"\x80\0\0\0\1"),
        *(sketch(BOLT)[:-1], sketch(BOLT) + b"\0", b"\x80" + sketch(BOLT)[1:9], b"\0\0\0\0" + bytes(11)),
    ],
    ids=bytes.hex,
)
def test_an_identity_that_cannot_be_read_is_damaged(packed: bytes) -> None:
    with pytest.raises(DamageError, match=r"An identity of \d+ bytes is damaged, or was written by another version"):
        unpack_identity(packed)


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.integers(1, 8))
def test_what_a_sample_lacks_is_lacking_in_the_whole_set(mine: set[int], others: set[int], size: int) -> None:
    new, old = (sample(dict.fromkeys(each, 0), size) for each in (mine, others))
    found, seen = new.lacking(old)
    assert {*found} <= mine - others
    assert len(found) <= seen <= size
    if len(others) <= size:
        assert {*found} == {*new.items} - others


# -- compiled code ------------------------------------------------------------------------------

compiled = pytest.mark.skipif(not is_compiled(), reason="the kernel is turned off, or there is no compiler")
#: Words that compiled code looks for, letters of all kinds, and what may stand between them.
SOME_WORDS = [each.decode() for words in word_sets() for each in words]
PIECES = [
    *"0123456789",
    "20",
    "2024",
    "1999",
    *" .,:;/x'-()+k?!_\0\1º°",
    " of ",
    " de ",
    "st",
    "th",
    "年",
    "月",
    "日",
    " ",
]
pieces = st.one_of(
    st.sampled_from(PIECES), st.sampled_from(SOME_WORDS), st.sampled_from([*HAN_NUMERALS, "с", "é", "\ud800", "😀"])
)
numbered = st.lists(pieces, max_size=40).map("".join)
lines = st.lists(
    st.one_of(numbered, st.text(max_size=45), st.sampled_from(["updated: 3 may", "glaze 7", "Ünlü", "x" * 40, "٣ ა"]))
).map("\0".join)
signed = st.text(st.sampled_from("acZ1+#-\u2212 _语ü/"), max_size=30)
name_texts = st.one_of(
    numbered,
    st.text(),
    st.lists(st.sampled_from(["hex", "bolt", "m3", "沪指涨", "ก๑ไ", "print", " ", "é"])).map(" ".join),
)


def encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def both_are_equal(page: Page, seed: int = 1) -> None:
    text = Features(page).encoded
    assert without_layout(sketch_identity(page, text, seed)) == reference_sketch(page, text, seed)


@compiled
@settings(max_examples=400)
@given(signed, signed, signed, seeds)
@example("c++", "c#", "a- b\u2212 c", 1)
def test_compiled_signs_of_names(heading: str, title: str, text: str, seed: int) -> None:
    both_are_equal(Page(url="https://a.example/", heading=heading, title=title, text=text + title), seed)


@compiled
@settings(max_examples=400)
@given(name_texts, name_texts, numbered, seeds)
@example("一" * 999, "word " * 200, "一一", 1)
@example(" ".join(f"{n}" for n in range(300)), "x" * 1000, "1 2 3 4", 7)
@example("a" * 40 + "1", "b" * 31 + "12", "aa", 7)
def test_compiled_names(heading: str, title: str, text: str, seed: int) -> None:
    for said in (text, heading + title, f"{heading}\n{text}\n{title}"):
        both_are_equal(Page(url="https://a.example/", heading=heading, title=title, text=said), seed)


@compiled
@settings(max_examples=1000)
@given(numbered, numbered, st.integers(0, 300), seeds)
@example("1 " * 5000, "", 0, 1)
@example("published 3 may 2024. 3 may 2024", "3 may 2024, updated: 12 june, at 14:05 7", 0, 1)
@example("1." * 40 + " mm, " + "1." * 40 + " kg", "2" * 90, 0, 1)
def test_compiled_values(text: str, beside: str, repeat: int, seed: int) -> None:
    for said in (text, ((text + " ") * repeat)[:20_000]):
        both_are_equal(Page(url="https://a.example/", text=said, stated=beside), seed)


@compiled
@settings(max_examples=600)
@given(
    st.one_of(
        numbered,
        st.lists(
            st.sampled_from(
                [
                    *" ☐✓✗漢字。“ü٣ก가𠀀Ж.!?;:\n 7",
                    "updated ",
                    "printed ",
                    "lift",
                    "更新",
                    "阅读",
                    "version",
                    ": ",
                    "://",
                    "www",
                    "www.a ",
                ]
            )
        ).map("".join),
    ),
    seeds,
)
@example("word " * 1100, 1)
@example("x" * 3000 + "\n✓ \n" + "字" * 700 + "。 7a b7: c", 1)
@example("a\n 更新于 3\nupdated\nread 7 times\n \n" + "✓ updated 3. " * 20, 1)
@example("a. b; c? " + "d! 字e.字" * 40 + "。f", 1)
@example("\n".join(f"line {chr(97 + n % 26)}{chr(97 + n // 26)} of a long text" for n in range(600)), 1)
@example(" ".join("ab"[n % 2] * (n % 7 + 1) + "c" * (n // 9 % 31) + ". 。"[n % 3] for n in range(9000)), 1)
@example("字。" * 2000 + "a. " * 99 + "b. " + "c" * 32, 1)
@example("x" * 6000 + ". " + "c" * 31, 1)
@example("-5 mm, \u22125 mm, -3 may, 3-4 a -b \u2212 5 -$5 $-5 - 5 --5 " + "-" + "7" * 40, 1)
@example("p pr pri prin xprint " + "x" * 40 + "打印", 1)
@example("viel dru ck druc\ndruck" + "y" * 9, 1)
@example("word " * 300 + "://", 1)
def test_compiled_sentences(text: str, seed: int) -> None:
    both_are_equal(Page(url="https://a.example/", text=text), seed)


@compiled
@settings(max_examples=400)
@given(lines, lines, seeds)
@example("\n".join(map(chr, range(97, 400))), "\n".join(map(chr, range(300, 900))), 1)
def test_compiled_short_facts(beside: str, of_text: str, seed: int) -> None:
    both_are_equal(Page(url="https://a.example/", text=of_text, stated=beside), seed)


@compiled
@given(text=st.text(), title=st.text(), heading=st.text(), beside=numbered, stated=lines, is_line=st.booleans())
@example(text="Read more: a\nabc 1 def", title="abc def", heading="", beside="", stated="", is_line=False)
@example(text="relates e\u0301 ٣ ७ 12", title="", heading="abc", beside="e\u0301", stated="x\1y\0٣", is_line=False)
@example(text="", title="", heading="hex bolt", beside="", stated="", is_line=True)
@example(text="printed from www.a.example", title="x", heading="y", beside="", stated="print", is_line=False)
def test_compiled_identities(text: str, title: str, heading: str, beside: str, stated: str, *, is_line: bool) -> None:
    shown = f"{heading}\n{text}\n{title}" if is_line else text
    page = Page(url="https://a.example/", text=shown, title=title, heading=heading, beside=beside, stated=stated)
    both_are_equal(page)


marked = st.lists(
    st.sampled_from(["Cafe\u0301", "नमस्ते", "कि", "o\u0308", "Hex bolt", " ", "  ", "\n", "12 mm", "한", "\u0301"])
).map("".join)


@compiled
@settings(max_examples=300)
@given(text=marked, rest=marked, title=marked, heading=marked, beside=marked, stated=marked, fold=st.booleans())
@example(text="a\u0301\n\u0301b", rest="c", title="", heading="", beside=" \u0301 ", stated="\nd\u0308\n", fold=True)
def test_texts_with_combining_characters(*, fold: bool, **parts: Any) -> None:
    """They are normalised in Python, within the compiled sketch."""
    page = Page(url="https://a.example/", **parts)
    text = Features(page, fold_chinese=fold).encoded
    compiled_sketch = without_layout(sketch_identity(page, text, 1, fold_chinese=fold))
    assert compiled_sketch == reference_sketch(page, text, 1, fold_chinese=fold)


@compiled
@pytest.mark.parametrize(
    ("place", "argument"),
    [(0, bytes(256)), (0, b"1"), (1, b"1"), (1, bytes(8 * 17)), (2, b"1"), (3, ()), (3, ((1,),) * 14), (3, (1,) * 14)],
)
def test_other_tables_are_refused(place: int, argument: object) -> None:
    tables: list[Any] = [keyed_bytes(1), bytes(8), "一", (*word_sets(), ())]
    loaded().IdentitySketcher(*tables)
    tables[place] = argument
    with pytest.raises((TypeError, ValueError)):
        loaded().IdentitySketcher(*tables)


# -- hostile pages ------------------------------------------------------------------------------


@given(st.text(), st.text(), st.text(), st.text(), st.text())
def test_every_page_has_a_sketch(text: str, title: str, heading: str, beside: str, stated: str) -> None:
    page = Page(url="https://a.example/", text=text, title=title, heading=heading, beside=beside, stated=stated)
    assert unpack_identity(sketch(page)) is not None


@pytest.mark.parametrize("text", ["1" * 100_000, "1 " * 100_000, "1." * 100_000, "\ud800 1\udc00"])
def test_many_digits_are_no_burden(text: str) -> None:
    page = Page(url="https://a.example/", text=text, title=text[:9999], heading=text[:9999], stated=text)
    assert len(sketch(page)) <= 230


def test_a_name_is_cut_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Millions of characters in a heading must not be hashed one by one, nor kept in a cache."""
    asked: list[str] = []

    def key(token: str, _: int) -> int:
        asked.append(token)
        return len(asked)

    monkeypatch.setattr(names_module, "name_key", key)
    for name in ("一二三四五六七八九十" * 100_000, "x" * 1_000_000, "word " * 200_000, "\ufdfa" * 100_000):
        reference_sketch(Page(url="https://a.example/", heading=name, title=name, text="a"), b"a", 1)
    assert len(asked) <= 4 * 2 * module.MAX_NAME_CHARS
    assert max(map(len, asked)) <= MAX_TOKEN_BYTES
