from __future__ import annotations

import gzip
import io
import random
import zlib
from pathlib import Path

import numpy as np
import pytest
import zstandard
from fastwarc.stream_io import BrotliWriter
from fastwarc.warc import ArchiveIterator
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupcrawl.batch.formats import BadRow, Fields, PartError
from dedupcrawl.batch.formats.warc import WarcFormat
from dedupcrawl.batch.formats.warc_records import WarcReader
from tests.batch.formats.helpers import annotate, copy, pack, part_of, read, rows_of, status_table, unpack
from tests.batch.formats.warcs import INFO, OK, metadata, record, request, response, warc_in

PAGE = "<p>Ein Schloß".encode()
PAGES = [response(f"r{n}", b"<p>page %d" % n) for n in range(4)]


@pytest.fixture(params=["", ".gz", ".zst"])
def packing(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_pages_are_in_responses_resources_and_conversions(tmp_path: Path, packing: str) -> None:
    records = (
        INFO,
        request("q", "a"),
        response("a", PAGE),
        record("resource", PAGE, "b", type="text/html"),
        record("conversion", "Ein Schloß".encode(), "c", type="text/plain", url="<https://c.example/>"),
    )
    first, second, third = rows_of(warc_in(tmp_path, *records, packing=packing))
    assert (first.url, first.html, first.time) == ("https://a.example/a", PAGE, 1767225600)
    assert (first.content_type, first.size) == ("text/html; charset=utf-8", len(PAGE))
    assert (second.html, second.content_type) == (PAGE, "text/html")
    assert (third.url, third.html, third.text) == ("https://c.example/", None, "Ein Schloß")


def test_what_is_no_page_is_a_row_that_stays_unchecked(tmp_path: Path) -> None:
    image = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n"
    records = (
        response("a", PAGE, b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n"),
        response("b", b"\x89PNG" * 5000, image),
        record("revisit", OK + b"\r\n", "c", type="application/http;msgtype=response"),
        record("resource", b"body {}", "d", type="text/css"),
        record("response", b"a.example. 60 IN A 192.0.2.1", "e", type="text/dns"),
        response("f", PAGE, OK, "WARC-Segment-Number: 1"),
        record("response", b"no HTTP", "g", type="application/http"),
    )
    rows = rows_of(warc_in(tmp_path, *records))
    reasons = ["status", "not-html", "revisit", "not-html", "not-html", "segmented", "status"]
    assert [row.reason for row in rows] == reasons
    assert all(row.html is None and row.text is None and row.size > 0 for row in rows)
    assert rows[1].size == 20_000 + len(image) + 2


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n0\r\n\r\n" % (len(data), data)


def brotli(data: bytes) -> bytes:
    packed = io.BytesIO()
    with BrotliWriter(packed) as writer:
        writer.write(data)
        writer.close()
        return packed.getvalue()


GZIP, CHUNKED = b"Content-Encoding: gzip\r\n", b"Transfer-Encoding: chunked\r\n"


@pytest.mark.parametrize(
    ("coding", "body"),
    [
        (GZIP, gzip.compress(PAGE)),
        (b"Content-Encoding: deflate\r\n", zlib.compress(PAGE)),
        (b"Content-Encoding: br\r\n", brotli(PAGE)),
        (b"Content-Encoding: zstd\r\n", zstandard.compress(PAGE)),
        (CHUNKED, chunked(PAGE)),
        (CHUNKED + GZIP, chunked(gzip.compress(PAGE))),
        (CHUNKED, PAGE),
        (GZIP, PAGE),
        (CHUNKED + GZIP, PAGE),
        (CHUNKED + GZIP, chunked(PAGE)),
        (b"Content-Encoding: none-such\r\n", PAGE),
    ],
)
def test_codings_are_undone_unless_the_crawler_has_done_so(tmp_path: Path, coding: bytes, body: bytes) -> None:
    (row,) = rows_of(warc_in(tmp_path, response("a", body, OK + coding)))
    assert (row.html, row.reason) == (PAGE, None)


def test_what_cannot_be_decoded_stays_unchecked(tmp_path: Path) -> None:
    whole = gzip.compress(random.Random(1).randbytes(3000))
    cases = (chunked(PAGE)[:10], chunked(whole), b"\x1f\x8b\x08" + b"\xff" * 99)
    heads = (CHUNKED, b"Content-Encoding: none-such\r\n" + CHUNKED, GZIP)
    rows = rows_of(
        warc_in(tmp_path, *(response("a", body, OK + head) for body, head in zip(cases, heads, strict=True)))
    )
    assert [(row.reason, row.html) for row in rows] == [("undecodable", None)] * 3


def test_old_line_ends_and_missing_types(tmp_path: Path) -> None:
    plain = (OK + b"\r\n").replace(b"\r\n", b"\n") + PAGE
    first, second = rows_of(
        warc_in(
            tmp_path,
            record("response", plain, "a", type="application/http").replace(b"\r\n", b"\n"),
            response("b", PAGE, b"HTTP/1.0 200\r\n"),
            packing="",
        )
    )
    assert (first.html, first.content_type) == (PAGE, "text/html; charset=utf-8")
    assert (second.html, second.content_type) == (PAGE, "")


def test_kept_records_take_theirs_with_them(tmp_path: Path, packing: str) -> None:
    image = record("resource", b"\x89PNG", "i", type="image/png")
    lonely = metadata("m9", "elsewhere")
    a = [request("qa", "a"), response("a", PAGE), metadata("ma", "a")]
    b = [response("b", PAGE), request("qb", "b"), metadata("mb", "qb")]
    c = [request("qc"), response("c", PAGE, OK, "WARC-Concurrent-To: <urn:uuid:qc>")]
    path = warc_in(tmp_path, INFO, *a, *b, *c, image, lonely, packing=packing)
    target = tmp_path / f"out.warc{packing}"
    assert copy(path, [True, False, False, True], target) == 2
    assert unpack(target) == b"".join([INFO, *a, image, lonely])
    assert copy(path, [False, True, True, False], target) == 2
    assert unpack(target) == b"".join([INFO, *b, *c, lonely])


def test_records_that_are_packed_singly_are_copied_as_they_are(tmp_path: Path, packing: str) -> None:
    path, target = warc_in(tmp_path, INFO, *PAGES, packing=packing), tmp_path / f"out.warc{packing}"
    assert copy(path, [True, False, False, True], target) == 2
    assert target.read_bytes() == b"".join(pack(each, packing) for each in (INFO, PAGES[0], PAGES[3]))
    assert copy(path, [True] * 4, target) == 4
    assert target.read_bytes() == path.read_bytes()
    assert copy(path, [False] * 4, target) == 0
    assert target.read_bytes() == pack(INFO, packing)


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_records_that_are_packed_together_are_packed_singly(tmp_path: Path, packing: str) -> None:
    path, target = tmp_path / f"in.warc{packing}", tmp_path / f"out.warc{packing}"
    path.write_bytes(pack(b"".join([INFO, *PAGES[:2]]), packing) + pack(b"".join(PAGES[2:]), packing))
    assert copy(path, [True, False, True, True], target) == 3
    assert unpack(target) == b"".join([INFO, PAGES[0], *PAGES[2:]])
    assert copy(target, [True, True, False], tmp_path / f"again.warc{packing}") == 2
    assert target.read_bytes().startswith((tmp_path / f"again.warc{packing}").read_bytes())


def test_a_damaged_record_leaves_the_others(tmp_path: Path) -> None:
    length = b"Content-Length: %d" % (len(OK) + 11)
    cases = {
        "too long": PAGES[1].replace(length, b"Content-Length: 150"),
        "far too long": PAGES[1].replace(length, b"Content-Length: 999999"),
        "too short": PAGES[1].replace(length, b"Content-Length: 20"),
        "no length": PAGES[1].replace(length, b"Content-Length: many"),
        "none": PAGES[1].replace(length, b"Content-Length: 0"),
        "no version": b"X" + PAGES[1][1:],
        "lost head": PAGES[1][40:],
        "long head": PAGES[1].replace(length, b"X: " + b"a" * 70_000),
        "lost end": PAGES[1][:-30],
        "cut head": PAGES[1][:150],
    }
    for name, damaged in cases.items():
        assert damaged != PAGES[1], name
        path = warc_in(tmp_path, INFO, PAGES[0], damaged, PAGES[2], request("q"), PAGES[3], packing="")
        rows = rows_of(path)
        assert [isinstance(row, BadRow) for row in rows] == [False, True, False, False], name
        assert [row.url[-2:] for row in (rows[0], *rows[2:])] == ["r0", "r2", "r3"], name
        copy(path, [True, True, True, True], tmp_path / "out.warc")
        kept = [each.headers["WARC-Target-URI"][-2:] for each in ArchiveIterator(str(tmp_path / "out.warc"))]
        assert kept == ["fo", "r0", "r2", "/q", "r3"], name


def test_records_that_a_wrong_length_swallowed_are_found(tmp_path: Path) -> None:
    pages = [response(f"r{n}", b"<p>page %d" % n) for n in range(3000)]
    length = b"Content-Length: %d" % (len(OK) + 11)
    damaged = PAGES[1].replace(length, b"Content-Length: %d" % (1 << 30))
    path = warc_in(tmp_path, damaged, *pages, packing="")
    records = list(WarcReader(part_of(path), max_bytes=1 << 31))
    assert "cut off" in (records[0].damage or "")
    assert [record.damage for record in records[1:]] == [None] * 3000
    assert [record.number for record in records] == list(range(3001))
    short = list(WarcReader(part_of(path), max_bytes=1000))  # too much to be read twice
    assert [record.damage for record in short] == [records[0].damage]


def test_a_file_that_ends_amid_a_record(tmp_path: Path) -> None:
    path = warc_in(tmp_path, PAGES[0], PAGES[1], packing="")
    path.write_bytes(path.read_bytes()[:-12])
    rows = rows_of(path)
    assert isinstance(rows[1], BadRow)
    assert "cut off: 8 bytes are missing" in rows[1].why


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_a_damaged_frame_is_one_bad_row(tmp_path: Path, packing: str) -> None:
    rng = random.Random(2)
    large = [response(f"r{n}", b"<p>" + rng.randbytes(40_000).hex().encode()) for n in range(4)]
    for pages in (PAGES, large):
        frames = [pack(each, packing) for each in pages]
        for place in (0, 4, len(frames[1]) // 2, len(frames[1]) - 3):
            broken = bytearray(frames[1])
            broken[place] ^= 0xFF
            path = tmp_path / f"in.warc{packing}"
            path.write_bytes(frames[0] + broken + frames[2] + frames[3])
            rows = rows_of(path)
            if len(rows) == 4 and not isinstance(rows[1], BadRow):
                assert (packing, place) == (".gz", 4)  # its time stamp is not checked
                continue
            assert [isinstance(row, BadRow) for row in rows] == [False, True, False, False], place
            assert rows[1].why == "the packed data is damaged"
            assert rows[2].html.startswith(b"<p>")
            target = tmp_path / f"out.warc{packing}"
            assert copy(path, [True, False, True, True], target) == 3
            assert target.read_bytes() == frames[0] + frames[2] + frames[3]
            assert annotate(path, ["unique", None, "unique", "unique"], target) == 3
            assert len(rows_of(target)) == 3


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_a_stream_that_is_cut_off_gives_what_was_before(tmp_path: Path, packing: str) -> None:
    path, target = warc_in(tmp_path, *PAGES, packing=packing), tmp_path / f"out.warc{packing}"
    path.write_bytes(path.read_bytes()[:-20])
    rows, error = read(path)
    assert error is not None
    assert (len(rows), error.row) == (3, 3)
    with pytest.raises(PartError, match="cut off"):
        copy(path, [True] * 3, target)
    assert copy(path, [True, False, True], target, truncated=True) == 2
    assert unpack(target) == PAGES[0] + PAGES[2]
    assert annotate(path, ["unique"] * 3, target, truncated=True) == 3


def test_a_file_that_has_changed_is_not_copied(tmp_path: Path, packing: str) -> None:
    path, target = warc_in(tmp_path, *PAGES, packing=packing), tmp_path / f"out.warc{packing}"
    for count in (3, 5):
        with pytest.raises(PartError, match="the file has changed: it had"):
            copy(path, [True] * count, target)
        with pytest.raises(PartError, match="the file has changed: it had"):
            annotate(path, ["unique"] * count, target)
    assert copy(path, [True] * 3, target, truncated=True) == 3
    assert unpack(target) == b"".join(PAGES[:3])


def test_heads_take_what_is_reported_of_a_row(tmp_path: Path, packing: str) -> None:
    records = (INFO, PAGES[0], request("q", "r1"), PAGES[1])
    path, target = warc_in(tmp_path, *records, packing=packing), tmp_path / f"out.warc{packing}"
    assert annotate(path, ["unique", "duplicate"], target) == 2
    again = tmp_path / f"again.warc{packing}"
    assert annotate(target, ["unique", "duplicate"], again) == 2
    assert unpack(again) == unpack(target)
    found = list(ArchiveIterator(str(target), parse_http=False))
    assert [each.headers.get("X-Dedup-Status") for each in found] == [None, "unique", None, "duplicate"]
    assert found[3].headers["X-Dedup-Of"] == "https://a.example/1"
    assert found[3].headers["X-Dedup-Similarity"] == "0.5"
    assert "X-Dedup-Of" not in found[1].headers
    assert [row.html for row in rows_of(target)] == [row.html for row in rows_of(path)]


def test_a_dictionary_of_a_whole_file(tmp_path: Path) -> None:
    words = zstandard.ZstdCompressionDict(b"<p>page WARC-Record-ID Content-Length " * 40)
    compressor = zstandard.ZstdCompressor(dict_data=words, write_checksum=True)
    frames = [compressor.compress(each) for each in PAGES]
    for stored in (words.as_bytes(), zstandard.compress(words.as_bytes())):
        path, target = tmp_path / "in.warc.zst", tmp_path / "out.warc.zst"
        preface = b"\x5d\x2a\x4d\x18" + len(stored).to_bytes(4, "little") + stored
        path.write_bytes(preface + b"".join(frames))
        assert [row.html for row in rows_of(path)] == [b"<p>page %d" % n for n in range(4)]
        assert copy(path, [False, True, False, True], target) == 2
        assert target.read_bytes() == preface + frames[1] + frames[3]
        assert annotate(path, ["unique"] * 4, target) == 4
        assert len(rows_of(target)) == 4


def test_blocks_too_large_for_memory_are_kept(tmp_path: Path, packing: str) -> None:
    form = WarcFormat(max_bytes=1000)
    large = response("big", b"<p>" + b"x" * 5000)
    path, target = tmp_path / f"in.warc{packing}", tmp_path / f"out.warc{packing}"
    path.write_bytes(pack(b"".join([PAGES[0], large, PAGES[1]]), packing))
    part = part_of(path)
    rows = [row for chunk in form.chunks(part, Fields()) for row in form.rows(chunk, Fields())]
    assert [getattr(row, "reason", "") for row in rows] == [None, "too-large", None]
    keep = np.array([False, True, True])
    assert form.copy(part, target, keep) == 2
    assert unpack(target) == large + PAGES[1]
    assert form.annotate(part, target, status_table(["unique"] * 3)) == 3
    assert rows_of(target)[1].html == b"<p>" + b"x" * 5000


@given(
    st.lists(st.sampled_from([*PAGES, INFO, request("q", "r1"), metadata("m", "r2"), b"junk\r\n", PAGES[3][:-9]])),
    st.sampled_from(["", ".gz", ".zst"]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=40, deadline=None)
def test_all_four_count_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], packing: str, random: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    path, target = warc_in(folder, INFO, *records, packing=packing), folder / f"out.warc{packing}"
    rows = rows_of(path)
    keep = [not isinstance(row, BadRow) and random.random() < 0.5 for row in rows]
    assert copy(path, keep, target) == sum(keep)
    kept = rows_of(target)
    assert [row.html for row in kept] == [row.html for row, is_kept in zip(rows, keep, strict=True) if is_kept]
    statuses = [None if isinstance(row, BadRow) else "unique" for row in rows]
    assert annotate(path, statuses, target) == len(rows) - statuses.count(None) == len(rows_of(target))


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_where_no_record_is_kept_a_packed_file_can_still_be_unpacked(tmp_path: Path, packing: str) -> None:
    path, target = tmp_path / f"in.warc{packing}", tmp_path / f"out.warc{packing}"
    for pieces in ([PAGES[0], PAGES[1]], [PAGES[0] + PAGES[1]]):
        path.write_bytes(b"".join(pack(piece, packing) for piece in pieces))
        assert copy(path, [False, False], target) == 0
        assert target.stat().st_size
        assert unpack(target) == b""
        assert rows_of(target) == []
