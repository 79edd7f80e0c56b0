from __future__ import annotations

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.formats import ANNOTATION_COLUMNS, BadRow, Fields, PartError
from dedupcrawl.batch.formats.jsonlines import JsonLinesFormat
from dedupcrawl.errors import DedupError
from tests.batch.formats.helpers import annotate, copy, pack, part_of, read, rows_of, unpack

LINES = [b'{"url":"https://a.example/%d","text":"page %d"}\n' % (n, n) for n in range(5)]


@pytest.fixture(params=["", ".gz", ".zst"])
def packing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def lines_in(folder: Path, *lines: bytes, name: str = "in.jsonl", packing: str = "") -> Path:
    path = folder / f"{name}{packing}"
    path.write_bytes(pack(b"".join(lines), packing))
    return path


def test_rows_carry_what_their_columns_say(tmp_path: Path, packing: str) -> None:
    item = {"link": "https://a.example/", "body": "<p>A", "text": "B", "date": "2026-01-01T00:00:00Z"}
    row, other = rows_of(lines_in(tmp_path, *(_line(each) for each in (item, {"text": "ü"})), packing=packing))
    assert (row.url, row.html, row.text, row.time, row.size) == ("https://a.example/", "<p>A", None, 1767225600, 4)
    assert (other.url, other.html, other.text, other.time, other.size) == ("", None, "ü", None, 2)


def test_named_columns_are_the_only_ones(tmp_path: Path) -> None:
    path = lines_in(tmp_path, _line({"url": "u", "u2": "v", "html": "<p>A", "words": ["one", "two"], "at": "5"}))
    (row,) = rows_of(path, Fields(url="u2", text="words", time="at"))
    assert (row.url, row.html, row.text, row.time) == ("v", None, "one\ntwo", 5)


@pytest.mark.parametrize("fields", [Fields(time="when"), Fields(html="markup"), Fields(url="address")])
def test_a_named_column_that_no_row_has_is_an_error(tmp_path: Path, fields: Fields) -> None:
    with pytest.raises(DedupError, match=r"no column .* it has text, url"):
        rows_of(lines_in(tmp_path, *LINES), fields)


def test_rows_without_any_page_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(DedupError, match="HTML or text; it has title, url"):
        rows_of(lines_in(tmp_path, _line({"url": "u", "title": "T"})))


def test_a_column_may_come_late_or_be_null(tmp_path: Path) -> None:
    path = lines_in(tmp_path, _line({"title": "T"}), _line({"text": None}), _line({"text": "C", "when": 3}))
    rows = rows_of(path, Fields(time="when"))
    assert [(row.text, row.time) for row in rows] == [("", None), ("", None), ("C", 3)]


def test_a_single_bad_line_is_reported(tmp_path: Path) -> None:
    bad = [b"{broken\n", b'["no object"]\n', b'{"text":"\xff"}\n', b'{"text":{"a":1}}\n', b"[" * 5000 + b"\n"]
    rows = rows_of(lines_in(tmp_path, LINES[0], *bad, LINES[1]))
    assert [type(row) is BadRow for row in rows] == [False, True, True, True, True, True, False]
    assert [row.why for row in rows[2:5]] == [
        "the line is no JSON object",
        "the line is not UTF-8 at its byte 9",
        "column 'text' holds dict, which is neither text nor HTML",
    ]
    assert "no JSON: " in rows[1].why
    assert "no JSON: " in rows[5].why


def test_what_python_writes_is_read_though_it_is_no_json(tmp_path: Path) -> None:
    rows = rows_of(lines_in(tmp_path, b'{"text":"half \\ud83d pair","score":NaN,"n":1%s}\n' % (b"0" * 30)))
    assert [row.text for row in rows] == ["half \ud83d pair"]


def test_blank_lines_marks_and_line_ends(tmp_path: Path) -> None:
    first, second = b'\xef\xbb\xbf{"text":"A\x00"}\r\n', b'{"text":"B\\u0000"}'
    path = lines_in(tmp_path, first, b"\r\n", b"  \n", second)
    assert [row.text for row in rows_of(path) if not isinstance(row, BadRow)] == ["B\0"]
    assert copy(path, [True, True], tmp_path / "out.jsonl") == 2
    assert (tmp_path / "out.jsonl").read_bytes() == first + second


def test_only_a_mark_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    assert rows_of(lines_in(tmp_path, b"\xef\xbb\xbf\n", b" \n")) == []
    assert rows_of(lines_in(tmp_path, name="empty.jsonl")) == []


def test_utf_16_is_reported(tmp_path: Path) -> None:
    rows, error = read(lines_in(tmp_path, '{"text": "A"}\n'.encode("utf-16")))
    assert (rows, error and error.why) == ([], "it is UTF-16; lines of JSON are UTF-8")


def test_a_line_that_is_too_long_is_a_bad_row(tmp_path: Path) -> None:
    long = b'{"text":"%s"}\n' % (b"x" * 300_000)
    part = part_of(lines_in(tmp_path, LINES[0], long, LINES[1], long[:-1]))
    form = JsonLinesFormat(max_bytes=1000)
    rows = [row for chunk in form.chunks(part, Fields()) for row in form.rows(chunk, Fields())]
    assert [isinstance(row, BadRow) for row in rows] == [False, True, False, True]
    assert rows[1] == BadRow(1, "the line is longer than 1000 bytes")
    assert next(JsonLinesFormat(max_bytes=len(long)).chunks(part, Fields())).data[1] == long


def test_kept_lines_are_copied_byte_for_byte(tmp_path: Path, packing: str) -> None:
    path, target = lines_in(tmp_path, *LINES, packing=packing), tmp_path / f"out.jsonl{packing}"
    assert copy(path, [True, False, True, True, False], target) == 3
    assert unpack(target) == LINES[0] + LINES[2] + LINES[3]


def test_a_file_that_has_changed_is_not_copied(tmp_path: Path) -> None:
    path, target = lines_in(tmp_path, *LINES), tmp_path / "out.jsonl"
    for count in (4, 6):
        with pytest.raises(PartError, match="the file has changed: it had"):
            copy(path, [True] * count, target)
        with pytest.raises(PartError, match="the file has changed: it had"):
            annotate(path, ["unique"] * count, target)
    assert copy(path, [True] * 4, target, truncated=True) == 4


def test_a_stream_that_is_cut_off_gives_what_was_before(tmp_path: Path) -> None:
    lines = [b'{"text":"%s"}\n' % hashlib.sha256(b"%d" % n).hexdigest().encode() for n in range(6000)]
    for packing in (".gz", ".zst"):
        path = tmp_path / f"in.jsonl{packing}"
        path.write_bytes(pack(b"".join(lines), packing)[:-500])
        rows, error = read(path)
        assert error is not None
        assert "cut off" in error.why
        assert 3000 < len(rows) < 6000
        assert error.row == len(rows)
        with pytest.raises(PartError, match="cut off"):
            copy(path, [True] * 6000, tmp_path / f"out.jsonl{packing}")
        assert copy(path, [True] * len(rows), tmp_path / f"out.jsonl{packing}", truncated=True) == len(rows)
        assert unpack(tmp_path / f"out.jsonl{packing}") == b"".join(lines[: len(rows)])


def test_a_damaged_stream_is_reported(tmp_path: Path, packing: str) -> None:
    if packing:
        lines = [b'{"text":"%s"}\n' % hashlib.sha256(b"%d" % n).hexdigest().encode() for n in range(9000)]
        data = bytearray(pack(b"".join(lines), packing))
        data[len(data) // 2] ^= 0xFF
        path = tmp_path / f"in.jsonl{packing}"
        path.write_bytes(data)
        _, error = read(path)
        assert error is not None
        assert "damaged" in error.why


def test_a_file_that_is_not_packed_as_its_name_implies(tmp_path: Path) -> None:
    for packing in (".gz", ".zst"):
        path = tmp_path / f"in.jsonl{packing}"
        path.write_bytes(b"".join(LINES))
        _, error = read(path)
        assert error is not None


def test_several_members_or_frames_are_one_file(tmp_path: Path) -> None:
    for packing in (".gz", ".zst"):
        path = tmp_path / f"in.jsonl{packing}"
        packed = b"".join(pack(line, packing) for line in LINES)
        path.write_bytes(packed + (b"\0" * 100_000 if packing == ".gz" else b"\x50\x2a\x4d\x18\x03\0\0\0abc"))
        assert [row.url[-1] for row in rows_of(path)] == list("01234")


def test_columns_are_added_behind_the_others(tmp_path: Path, packing: str) -> None:
    odd = b' { "n" : 1.50 , "text":"\\ud83d" } \r\n'
    path, target = (lines_in(tmp_path, odd, b"{bad\n", LINES[1], packing=packing), tmp_path / f"out.jsonl{packing}")
    assert annotate(path, ["unique", None, "duplicate"], target) == 2
    first, second = unpack(target).splitlines(keepends=True)
    assert first.startswith(b' { "n" : 1.50 , "text":"\\ud83d", "dedup_status": "unique", ')
    assert first.endswith(b"} \r\n")
    found = json.loads(second)
    assert list(found) == ["url", "text", *ANNOTATION_COLUMNS]
    assert json.loads(first)["dedup_of"] is None


def test_columns_replace_those_of_a_run_before(tmp_path: Path) -> None:
    path = lines_in(tmp_path, b'{"dedup_status":"old","text":"\\ud83d","dedup_mine":1}\n', b"{}\n")
    annotate(path, ["unique", "unchecked"], tmp_path / "out.jsonl")
    first, second = map(json.loads, (tmp_path / "out.jsonl").read_bytes().splitlines())
    assert list(first) == ["text", "dedup_mine", *ANNOTATION_COLUMNS]
    assert (first["text"], first["dedup_status"], list(second)) == ("\ud83d", "unique", list(ANNOTATION_COLUMNS))


@given(
    st.lists(st.sampled_from([*LINES, b"\n", b"\r\n", b"{bad\n", b'{"text":"%s"}\n' % (b"y" * 700_000)])),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=20, deadline=None)
def test_all_four_count_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], packed: bool, random: Random
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    suffix = ".gz" if packed else ""
    path, target = lines_in(folder, *lines, b'{"text":""}', packing=suffix), folder / f"out.jsonl{suffix}"
    rows = rows_of(path)
    keep = [not isinstance(row, BadRow) and random.random() < 0.5 for row in rows]
    assert copy(path, keep, target) == sum(keep) == len(rows_of(target))
    assert [row.text for row in rows_of(target)] == [row.text for row, kept in zip(rows, keep, strict=True) if kept]
    statuses = [None if isinstance(row, BadRow) else "unique" for row in rows]
    assert annotate(path, statuses, target) == len(rows) - statuses.count(None) == len(rows_of(target))


def _line(item: Any) -> bytes:
    return json.dumps(item, ensure_ascii=False).encode() + b"\n"
