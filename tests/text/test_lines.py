"""The lines of a text: the compiled kernel and Python read the same, and the hashes are those that stores keep."""

from __future__ import annotations

from struct import pack
from zlib import crc32

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dedupcrawl.text import features
from dedupcrawl.text.lines import (
    MAX_READ_LINES,
    RUN_LINES,
    LineCounts,
    LineLimits,
    count_lines,
    encoded_lines,
    without_lines,
)
from tests.text.test_kernel import by_numpy, compiled, texts
from tests.texts import CHINESE, ENGLISH

KNOWN = 3
#: Sizes around those at which the kernel takes another way: 16 bytes, 64 and 112, and chunks of 1,024 code points.
SIZES = st.sampled_from([0, 1, 15, 16, 17, 31, 32, 63, 64, 111, 112, 113, 127, 128, 200, 1023, 1024, 1025, 2100])
ends = st.sampled_from("b中\n")
runs = st.builds(lambda size, of, other: of * size + other, SIZES, st.sampled_from("aé中😀\n"), ends)
limits = st.builds(LineLimits, st.sampled_from([0, 1, 20]), st.integers(0, 18), st.integers(0, 5))
lines = st.lists(st.one_of(runs, texts), max_size=6).map("\n".join)


def test_the_values_are_those_that_stores_keep() -> None:
    text, pages = f"weir\n\n{CHINESE[:4]}\n\ud800", {0x7A4B6A1C: 5, crc32(b"weir"): 2, 0: 7}
    found = count_lines(text, pages, KNOWN, LineLimits(4, 1))
    assert found == LineCounts(
        hashes=[crc32(b"weir"), 0, crc32(CHINESE[:4].encode()), crc32(b"\xed\xa0\x80")],
        sizes=[4, 0, 12, 3],
        pages=[2, 7, 0, 0],
        total=19,
        new=15,
        known=0,
        counted=(crc32(b"weir"), crc32(CHINESE[:4].encode())),
        fresh=1,
    )
    assert crc32(b"123456789") == count_lines("123456789", {}, KNOWN).hashes[0] == 0xCBF43926


@compiled
@settings(max_examples=300)
@given(lines, st.dictionaries(st.integers(0, 5), st.integers(0, 255), max_size=6), limits)
@example("\n" * (MAX_READ_LINES + 2), {}, LineLimits(0, 16, 24))
@example("\n".join(map(str, range(300))), {90: 1, 130: 3}, LineLimits(0, 16, 5))
@example("\n".join(map(str, range(300))), {}, LineLimits(0, 16, 24))
@example("", {}, LineLimits())
def test_the_kernel_reads_what_python_reads(text: str, pages: dict[int, int], limits: LineLimits) -> None:
    hashes = count_lines(text, {}, KNOWN).hashes
    table = {hashes[place % len(hashes)]: number for place, number in pages.items()}
    found = count_lines(text, table, KNOWN, limits)
    assert found == by_numpy(lambda: count_lines(text, table, KNOWN, limits))
    assert without_lines(text, found.pages, KNOWN) == by_numpy(lambda: without_lines(text, found.pages, KNOWN))


@given(st.integers(0, 9), st.integers(0, 12))
def test_the_new_lines_next_to_known_ones_are_counted(number: int, most: int) -> None:
    """Beside all that a page has; short ones are not."""
    new, known = [f"a new line {each}" for each in range(number)], ["a known line", "another known line"]
    text = "\n".join((known[0], "short", *new, known[1]))
    table = {crc32(line.encode()): 1 for line in known}
    found = count_lines(text, table, KNOWN, LineLimits(6, most))
    # The short line stands before the first new one, so the last one is nearer to a known line.
    by_nearness = sorted(range(number), key=lambda place: (min(place + 2, number - place), -place))[:most]
    some = [new[place] for place in sorted(by_nearness)]
    assert found.counted == tuple(crc32(line.encode()) for line in (*known, *some))
    assert found.fresh == len(some)


def _numbered(count: int, what: str = "line") -> list[str]:
    return [f"a {what} with the number {number}" for number in range(count)]


def _expected_runs(text: list[str]) -> list[tuple[int, list[str]]]:
    """Return the hash and the lines of each run, found by cutting the text as often as possible."""
    found: list[tuple[int, list[str]]] = []
    run: list[str] = []
    for line in text:
        run.append(line)
        if crc32(line.encode()) % RUN_LINES == 0 or line is text[-1]:
            if len(run) > 1:
                found.append((crc32(b"".join(pack(">I", crc32(each.encode())) for each in run)), run))
            run = []
    return found


def test_a_long_text_is_counted_by_runs_of_lines() -> None:
    """Whatever stands around it, its runs are the same, but for the first and the last one."""
    repeated = _numbered(200)
    runs = _expected_runs(repeated)
    assert 8 < len(runs) < 24
    first = count_lines("\n".join(repeated), {}, KNOWN, LineLimits(12, 16, 24))
    assert first.counted[-len(runs) :] == tuple(run for run, _ in runs)
    assert first.fresh == 16 + len(runs)
    own = _numbered(30, "sentence")
    found = count_lines(
        "\n".join((*own, *repeated)), dict.fromkeys(first.counted, KNOWN), KNOWN, LineLimits(12, 16, 24)
    )
    known = {line for line, pages in zip([*own, *repeated], found.pages, strict=True) if pages >= KNOWN}
    inner = {line for _, run in runs[1:] for line in run}
    assert inner <= known <= {*repeated}
    assert found.known == sum(len(line) for line in known)


def test_runs_are_not_looked_up_unless_they_are_counted() -> None:
    repeated = _numbered(100)
    counted = count_lines("\n".join(repeated), {}, KNOWN, LineLimits(12, 0, 24)).counted
    assert counted
    assert not count_lines("\n".join(repeated), dict.fromkeys(counted, KNOWN), KNOWN, LineLimits(12, 16)).known


@given(lines)
def test_the_hash_of_a_line_is_that_of_its_bytes(text: str) -> None:
    encoded = text.encode("utf-8", "surrogatepass").split(b"\n")[:MAX_READ_LINES]
    assert encoded_lines(text) == encoded
    assert count_lines(text, {}, KNOWN).hashes == [*map(crc32, encoded)]


@given(texts, st.data())
def test_a_text_without_some_of_its_lines(text: str, data: st.DataObject) -> None:
    every = text.split("\n")
    left_out = data.draw(st.lists(st.booleans(), min_size=len(every), max_size=len(every)))
    expected = "\n".join(line for line, out in zip(every, left_out, strict=True) if not out)
    assert without_lines(text, [*map(int, left_out)], 1) == expected


def test_lines_that_are_not_read_remain() -> None:
    text = "\n".join(f"line {number}" for number in range(MAX_READ_LINES + 9))
    found = count_lines(text, {}, KNOWN)
    assert len(found.hashes) == MAX_READ_LINES
    assert without_lines(text, [1] * MAX_READ_LINES, 1).split("\n") == text.split("\n")[MAX_READ_LINES:]


@compiled
@pytest.mark.parametrize(
    "given",
    [
        *((b"text", {}, 3, 9, 16, 0, 0, 0), ("text", [], 3, 9, 16, 0, 0, 0), ("text", {}, 3, 9, 16)),
        *(("t", {crc32(b"t"): -1}, 3, 9, 16, 0, 0, 0), ("text", {}, 3, 9, 16, 0, 0, "0")),
        *(("text", {}, 3, 9, 16, 0, -5, 9), ("text", {}, 3, 9, 16, 0, 5, -9), ("text", {}, 3, 9, 0, 0, 5, 9)),
    ],
)
def test_what_the_kernel_refuses(given: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        features.loaded().count_lines(*given)


@compiled
@pytest.mark.parametrize(
    "given", [(b"text", [1], 1), ("text", (1,), 1), ("text", [None], 1), ("text", [1], "1"), ("text",)]
)
def test_what_cannot_be_left_out(given: tuple[object, ...]) -> None:
    with pytest.raises(TypeError):
        features.loaded().without_lines(*given)


@compiled
@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_a_damaged_table_is_an_error(text: str) -> None:
    with pytest.raises(TypeError):
        features.loaded().count_lines(text, {crc32(text.encode()): "3"}, KNOWN, MAX_READ_LINES, RUN_LINES, 0, 0, 0)
