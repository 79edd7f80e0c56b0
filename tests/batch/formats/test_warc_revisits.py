"""``--revisits``: a copy in a WARC file becomes a revisit record."""

from __future__ import annotations

from hashlib import sha1
from typing import TYPE_CHECKING, Any

import pytest
from fastwarc.warc import ArchiveIterator, WarcRecordType

from dedupcrawl import Deduplicator
from dedupcrawl.batch.formats.warc_revisits import revisit_headers
from dedupcrawl.errors import DedupError, SettingError
from tests.batch.corpus import Batch, page, story, write_lines
from tests.batch.formats.warcs import INFO, metadata, record, request, response, warc_in

if TYPE_CHECKING:
    from pathlib import Path

PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def html(number: int, frame: str = "") -> bytes:
    return f"<title>{number}</title><p>{frame}</p><main><p>{story(number)}</p></main>".encode()


def digest(body: bytes) -> str:
    return f"WARC-Payload-Digest: sha1:{sha1(body).hexdigest()}"  # what crawlers write


def captured(id: str, body: bytes) -> bytes:
    return response(id, body, b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", digest(body))


def records(path: Path) -> list[dict[str, Any]]:
    return [
        {"type": each.record_type, "http": each.http_headers, "body": each.reader.read(), **dict(each.headers)}
        for each in ArchiveIterator(str(path), parse_http=True)
    ]


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_a_copy_becomes_a_revisit_record(tmp_path: Path, packing: str) -> None:
    first, framed = html(1), html(1, "Menu of another site, with offers")
    source = warc_in(
        tmp_path, INFO, request("r1", "a"), captured("a", first), captured("b", html(2)),
        request("r2", "c"), captured("c", first), metadata("m", "d"), captured("d", framed), packing=packing,
    )  # fmt: skip
    summary = Batch(tmp_path).run(source, revisits=True)
    assert (summary["pages"], summary["kept"]) == (4, 2)
    found = {
        each["WARC-Record-ID"].strip("<>").removeprefix("urn:uuid:"): each
        for each in records(tmp_path / "out" / source.name)
    }
    assert list(found) == ["info", "r1", "a", "b", "r2", "c", "m", "d"]
    assert found["a"]["body"] == first
    same, near = found["c"], found["d"]
    assert same["type"] is near["type"] is WarcRecordType.revisit
    assert same["WARC-Profile"] == PROFILE
    assert near["WARC-Profile"] == "urn:x-dedupcrawl:revisit:identical"  # the main text, not the page
    for each in (same, near):
        assert each["WARC-Refers-To"] == "<urn:uuid:a>"
        assert each["WARC-Refers-To-Target-URI"] == "https://a.example/a"
        assert each["WARC-Refers-To-Date"] == "2026-01-01T00:00:00Z"
        assert each["body"] == b""
        assert each["http"].status_code == 200
    assert near["WARC-Target-URI"] == "https://a.example/d"
    assert "WARC-Block-Digest" not in same


def test_its_output_can_be_deduplicated_again(tmp_path: Path) -> None:
    source = warc_in(tmp_path, captured("a", html(1)), captured("b", html(1)))
    batch = Batch(tmp_path)
    batch.run(source, revisits=True)
    again = batch.run(tmp_path / "out" / source.name, out="again")
    assert (again["pages"], again["kept"], again["unchecked"]) == (2, 2, {"revisit": 1})


def test_a_copy_of_a_page_in_another_file_or_batch_names_it(tmp_path: Path) -> None:
    batch = Batch(tmp_path)
    first, second = (warc_in(tmp_path, captured(id, html(1)), name=f"{id}.warc") for id in "ab")
    batch.run(first, second, revisits=True)
    (revisit,) = records(tmp_path / "out" / second.name)
    assert (revisit["WARC-Refers-To"], revisit["WARC-Profile"]) == ("<urn:uuid:a>", PROFILE)
    batch.run(first, out="first")  # it does not record IDs
    batch.run(second, out="second", revisits=True, against=(str(tmp_path / "first"),))
    (revisit,) = records(tmp_path / "out" / second.name)
    (later,) = records(tmp_path / "second" / second.name)
    assert later["WARC-Refers-To-Target-URI"] == revisit["WARC-Refers-To-Target-URI"]
    assert "WARC-Refers-To" not in later
    assert later["WARC-Profile"] == "urn:x-dedupcrawl:revisit:identical"


def test_without_digests_nothing_is_said_to_have_the_same_bytes(tmp_path: Path) -> None:
    source = warc_in(tmp_path, response("a", html(1)), response("b", html(1)))
    Batch(tmp_path).run(source, revisits=True)
    assert records(tmp_path / "out" / source.name)[1]["WARC-Profile"] == "urn:x-dedupcrawl:revisit:identical"


def test_long_and_folded_header_fields_stay(tmp_path: Path) -> None:
    more = ("WARC-IP-Address: 192.0.2.1", "WARC-Block-Digest: sha1:X\r\n\tY", "X-Note: one\r\n two")
    source = warc_in(tmp_path, captured("a", html(1)), response("b", html(1), b"HTTP/1.1 200 OK\r\n", *more))
    Batch(tmp_path).run(source, revisits=True)
    revisit = records(tmp_path / "out" / source.name)[1]
    assert revisit["WARC-IP-Address"] == "192.0.2.1"
    assert revisit["X-Note"].split() == ["one", "two"]
    assert "WARC-Block-Digest" not in revisit


def test_an_extracted_text_is_left_out_and_so_is_a_row_of_another_format(tmp_path: Path) -> None:
    texts = [record("conversion", story(1).encode(), id, type="text/plain") for id in "ab"]
    source, feed = warc_in(tmp_path, *texts), write_lines(tmp_path / "c.jsonl", [page(1, "c"), page(2, "c")])
    batch = Batch(tmp_path)
    batch.run(source, feed, revisits=True)
    assert [each["WARC-Record-ID"] for each in records(tmp_path / "out" / source.name)] == ["<urn:uuid:a>"]
    assert batch.kept() == ["https://sc.example/2"]


def test_what_has_no_use_for_it_is_an_error(tmp_path: Path) -> None:
    feed = write_lines(tmp_path / "c.jsonl", [page(1, "c")])
    with pytest.raises(DedupError, match="--revisits: none of the inputs is a WARC file"):
        Batch(tmp_path).run(feed, revisits=True)
    with pytest.raises(SettingError, match="--revisits"):
        Batch(tmp_path).job(feed, revisits=True, annotate=True)


def test_the_score_of_a_record_is_in_its_header(tmp_path: Path) -> None:
    source = warc_in(
        tmp_path, response("a", html(1), b"HTTP/1.1 200 OK\r\n", "X-Quality: 1"),
        response("b", html(1), b"HTTP/1.1 200 OK\r\n", "X-Quality: 2"), response("c", html(1)),
    )  # fmt: skip
    Batch(tmp_path).run(source, prefer=("score:x-quality",))
    assert [each["WARC-Target-URI"] for each in records(tmp_path / "out" / source.name)] == ["https://a.example/b"]


def test_a_crawl_gets_the_fields_for_a_copy_and_none_for_another_page() -> None:
    with Deduplicator() as dedup:
        first = dedup.add(html=html(1), url="https://a.example/1")
        copy = dedup.add(html=html(1), url="https://b.example/2")
        other = dedup.add(html=html(2), url="https://c.example/3")
    assert revisit_headers(copy) == {
        "WARC-Type": "revisit",
        "WARC-Profile": "urn:x-dedupcrawl:revisit:identical",
        "WARC-Refers-To-Target-URI": "https://a.example/1",
    }
    assert revisit_headers(first) == revisit_headers(other) == revisit_headers(None) == {}
