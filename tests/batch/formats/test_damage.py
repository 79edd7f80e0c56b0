"""Damaged files: all rows that can be read can be copied, and all copied rows can be read."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.formats import BadRow
from tests.batch.formats.helpers import annotate, copy, pack, read
from tests.batch.formats.warcs import INFO, metadata, request, response

PAGES = [f"<p>page {number} " + Random(number).randbytes(number * 30).hex() for number in range(12)]
RECORDS = [
    INFO,
    *(each for n, page in enumerate(PAGES) for each in (request(f"q{n}", f"r{n}"), response(f"r{n}", page.encode()))),
    metadata("m", "r11"),
]
LINES = [json.dumps({"url": f"https://a.example/{n}", "html": page}).encode() + b"\n" for n, page in enumerate(PAGES)]
PIECES = {".jsonl": LINES, ".warc": RECORDS}


@given(
    st.sampled_from(list(PIECES)),
    st.sampled_from(["", ".gz", ".zst"]),
    st.lists(st.tuples(st.floats(0, 1), st.sampled_from(["flip", "cut", "insert", "drop"])), max_size=3),
    st.booleans(),
)
@settings(max_examples=120, deadline=None)
def test_what_is_read_is_copied_and_what_is_copied_is_read(
    tmp_path_factory: pytest.TempPathFactory, kind: str, packing: str, damage: list[tuple[float, str]], one: bool
) -> None:
    folder = tmp_path_factory.mktemp("damage")
    pieces = [b"".join(PIECES[kind])] if one else PIECES[kind]
    data = b"".join(pack(piece, packing) for piece in pieces)
    for place, what in damage:
        data = damaged(data, int(place * len(data)), what)
    path, target = folder / f"in{kind}{packing}", folder / f"out{kind}{packing}"
    path.write_bytes(data)
    rows, error = read(path)
    keep = [not isinstance(row, BadRow) for row in rows]
    assert error is None or error.row == len(rows)
    assert copy(path, keep, target, truncated=error is not None) == sum(keep)
    again, error_again = read(target)
    assert error_again is None
    wanted = [row for row in rows if not isinstance(row, BadRow)]
    assert [(row.url, row.html, row.reason) for row in again if not isinstance(row, BadRow)] == [
        (row.url, row.html, row.reason) for row in wanted
    ]
    assert len(again) == len(wanted)
    statuses = ["unique" if kept else None for kept in keep]
    assert annotate(path, statuses, target, truncated=error is not None) == sum(keep)
    assert len(read(target)[0]) == sum(keep)


@pytest.mark.parametrize("kind", PIECES)
def test_a_packed_file_of_no_bytes_is_cut_off_and_a_plain_one_is_empty(tmp_path: Path, kind: str) -> None:
    for packing in (".gz", ".zst"):
        path = tmp_path / f"in{kind}{packing}"
        path.write_bytes(b"")
        rows, error = read(path)
        assert rows == []
        assert error is not None
        assert (error.row, "this has none" in error.why) == (0, True)
        path.write_bytes(pack(b"", packing))
        assert read(path) == ([], None)
    (tmp_path / f"in{kind}").touch()
    assert read(tmp_path / f"in{kind}") == ([], None)


def damaged(data: bytes, place: int, what: str) -> bytes:
    changed = {"flip": bytes([data[place] ^ 0x15]) if place < len(data) else b"", "insert": b"\r\n\0\xffx"}
    if what == "cut":
        return data[:place]
    behind = data[place + (what == "flip") :] if what != "drop" else data[place + 7 :]
    return data[:place] + changed.get(what, b"") + behind
