"""Export and import: from every kind of store to every other, and damaged files."""

from __future__ import annotations

import gzip
import json
import struct
import tracemalloc
from dataclasses import replace
from hashlib import blake2b
from math import inf
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from dedupcrawl.config import Config
from dedupcrawl.detectors.registry import build_detectors, schemes
from dedupcrawl.errors import DamageError, StoreError, StoreMismatchError
from dedupcrawl.matching import Matcher
from dedupcrawl.stores.base import scheme_json
from dedupcrawl.stores.records import encode
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.site_tables import SiteTable
from dedupcrawl.stores.transfer import ExportHeader, ImportCounts, export_records, import_records, read_header
from tests.stores.conftest import emptied
from tests.stores.factories import START, Clock, Opener, file, lmdb_url, record
from tests.stores.servers import binaries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dedupcrawl.stores.base import Record, Store
    from tests.stores.servers import Server

KINDS = ("memory", "lmdb", *LAYOUTS)


@pytest.fixture
def kinds(tmp_path: Path, servers: dict[str, Server]) -> Iterator[dict[str, Opener]]:
    """One opener for each kind of store."""
    server, clock = emptied(servers[next(iter(binaries()))]), Clock()
    urls = {"memory": "memory://", "lmdb": lmdb_url(tmp_path / "store")}
    urls |= {layout: server.laid_out(layout) for layout in LAYOUTS}
    openers = {kind: Opener(url, clock) for kind, url in urls.items()}
    yield openers
    for opener in openers.values():
        opener.close()


def filled(store: Store) -> list[Record]:
    """File pages of all kinds, including some that are not exported; return the exported ones in order."""
    pages = [record(f"http://例子/{n}", n, f"pair {n // 2}", seen=START - n) for n in range(300)]
    pages.append(replace(record("", "no URL"), sketches=(b"", b"x" * 500)))
    pages.append(replace(record("http://cluster/\udcff", "story"), cluster="http://first"))
    pages.append(replace(record("http://no/keys"), keys=()))
    pages.append(replace(record("http://named/1", "named"), identity=bytes(range(255))))
    for page in pages:
        offer = store.offer(page, since=2**63 - 1)
        assert offer.id is not None
        store.commit([offer.id])
    file(store, "http://open", "open", commit=False)
    return pages


def stored(store: Store) -> list[Record]:
    return [each.record for each in store.records()]


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_what_is_committed_goes_from_any_store_to_any(
    kinds: dict[str, Opener], source: str, target: str, tmp_path: Path
) -> None:
    there = kinds[source](namespace="from")
    pages = filled(there)
    assert export_records(there, tmp_path / "file") == len(pages)
    here = kinds[target](namespace="to")
    known = file(here, "http://known", "known")
    assert read_header(tmp_path / "file").records == len(pages)
    assert import_records(tmp_path / "file", here) == ImportCounts(len(pages), 0)
    assert stored(here)[1:] == pages
    assert here.info().open == 0
    assert here.get(known) is not None
    hit = here.lookup("http://例子/7")
    assert hit is not None
    assert [each.id for each in here.find(hit.record.keys)] == [hit.id - 1, hit.id]


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_what_sites_repeat_goes_from_any_store_to_any(
    kinds: dict[str, Opener], source: str, target: str, tmp_path: Path
) -> None:
    there, here = kinds[source](namespace="from"), kinds[target](namespace="to")
    tables = {f"{number}.例子": SiteTable(number, {number: 3, 7: 1}).pack(1e9) for number in range(1, 4)}
    there.merge_sites(tables)
    own = {"1.例子": SiteTable(9, {1: 1}).pack(1e9)}
    here.merge_sites(own)
    export_records(there, tmp_path / "file")
    assert import_records(tmp_path / "file", here) == ImportCounts(0, 0, sites=2)
    assert dict(here.sites()) == tables | own
    assert import_records(tmp_path / "file", here) == ImportCounts(0, 0)  # nothing is counted twice
    assert dict(here.sites()) == tables | own


@pytest.mark.parametrize("target", KINDS)
@pytest.mark.parametrize("source", KINDS)
def test_notes_go_from_any_store_to_any(kinds: dict[str, Opener], source: str, target: str, tmp_path: Path) -> None:
    origin, copy = kinds[source](namespace="from"), kinds[target](namespace="to")
    there, here = origin.notes, copy.notes
    for number in range(3):
        there.write("rules", f"{number}.例子", {b"%d" % key: b"there" for key in range(300)}, 1000)
    there.write("skipped", "0.例子", {b"": b""}, 1000)
    here.write("rules", "0.例子", {b"7": b"here"}, 1000)
    export_records(origin, tmp_path / "file")
    import_records(tmp_path / "file", copy)
    assert sorted(here.tables()) == sorted(there.tables())
    assert here.read_all("rules", "0.例子") == there.read_all("rules", "0.例子") | {b"7": b"here"}
    assert here.read_all("skipped", "0.例子") == {b"": b""}


@pytest.mark.parametrize(
    ("sizes", "parts", "match"),
    [
        ((1, 1, 1, 1 << 17), b"", "a note claims to have 1, 1, 1, 131072 bytes"),
        ((0, 1, 0, 0), b"s", "a note claims"),
        ((1, 1, 0, 0), b"Xs", "the name of a table of notes cannot be read"),
        ((1, 1, 0, 0), b"x\xff", "the name of a site cannot be read"),
    ],
)
def test_damaged_notes_are_refused(
    kinds: dict[str, Opener], tmp_path: Path, sizes: tuple[int, ...], parts: bytes, match: str
) -> None:
    export_records(kinds["memory"](namespace="empty"), tmp_path / "file")
    body = gzip.decompress((tmp_path / "file").read_bytes())[:-32]
    body += b"".join(size.to_bytes(4, "big") for size in sizes) + parts + bytes(16)
    (tmp_path / "file").write_bytes(gzip.compress(body + blake2b(body, digest_size=16).digest()))
    unsound(tmp_path / "file", kinds, match)


def test_an_export_of_the_version_without_notes_can_be_imported(kinds: dict[str, Opener], tmp_path: Path) -> None:
    there, here = kinds["memory"](namespace="from"), kinds["lmdb"](namespace="to")
    pages = filled(there)
    there.merge_sites({"a.example": SiteTable(9, {1: 3}).pack(1e9)})
    export_records(there, tmp_path / "new")
    body = gzip.decompress((tmp_path / "new").read_bytes()).replace(b"export 6\n", b"export 5\n", 1)[:-32]
    (tmp_path / "old").write_bytes(gzip.compress(body + blake2b(body, digest_size=16).digest()))
    assert not read_header(tmp_path / "old").has_notes
    assert import_records(tmp_path / "old", here) == ImportCounts(len(pages), 0, sites=1)


def test_an_export_of_the_version_without_tables_can_be_imported(kinds: dict[str, Opener], tmp_path: Path) -> None:
    there, here = kinds["memory"](namespace="from"), kinds["lmdb"](namespace="to")
    pages = filled(there)
    export_records(there, tmp_path / "new")
    body = gzip.decompress((tmp_path / "new").read_bytes()).replace(b"export 6\n", b"export 4\n", 1)[:-40]
    (tmp_path / "old").write_bytes(gzip.compress(body + blake2b(body, digest_size=16).digest()))
    assert import_records(tmp_path / "old", here) == ImportCounts(len(pages), 0)
    assert stored(here) == pages


def test_the_memory_for_a_table_is_limited(kinds: dict[str, Opener], tmp_path: Path) -> None:
    export_records(kinds["memory"](namespace="from"), tmp_path / "file")
    body = gzip.decompress((tmp_path / "file").read_bytes())[:-40]
    for name, size, match in ((1, 1 << 30, "claims to have 1 and 1073741824 bytes"), (1 << 30, 1, "1073741824 and 1")):
        lengths = name.to_bytes(4, "big") + size.to_bytes(4, "big")
        (tmp_path / "file").write_bytes(gzip.compress(body + lengths + bytes(99)))
        with pytest.raises(StoreError, match=match):
            read_header(tmp_path / "file")


def test_what_is_there_is_not_filed_twice(kinds: dict[str, Opener], tmp_path: Path) -> None:
    store = kinds["hash"]()
    pages = filled(store)
    export_records(store, tmp_path / "file")
    store.forget("http://例子/5")
    assert import_records(tmp_path / "file", store) == ImportCounts(2, len(pages) - 2)  # that, and one without keys
    assert store.lookup("http://例子/5") is not None


def test_another_configuration_is_refused(kinds: dict[str, Opener], tmp_path: Path) -> None:
    store = kinds["lmdb"](namespace="from", scheme={"minhash": {"slots": 64}})
    filled(store)
    export_records(store, tmp_path / "file")
    other = kinds["hash"](scheme={"minhash": {"slots": 128}})
    with pytest.raises(StoreMismatchError, match=r"minhash\.slots is 128 there, 64 here"):
        import_records(tmp_path / "file", other)
    assert other.info().pages == 0


def test_an_empty_store_is_an_empty_file(kinds: dict[str, Opener], tmp_path: Path) -> None:
    assert export_records(kinds["compact"](namespace="新闻", scheme={"b": 1, "a": "é"}), tmp_path / "file") == 0
    assert read_header(tmp_path / "file") == ExportHeader("新闻", '{"a":"é","b":1}', 0)


def test_an_import_continues_where_one_was_interrupted(kinds: dict[str, Opener], tmp_path: Path) -> None:
    store = kinds["memory"]()
    pages = [record(f"http://a/{n}", n) for n in range(450)]
    for n, page in enumerate(pages):
        file(store, page.url, n)
    export_records(store, tmp_path / "file")
    target = kinds["hash"]()
    for n in range(150):
        file(target, pages[n].url, n)
    assert import_records(tmp_path / "file", target) == ImportCounts(300, 150)


# -- files that are not sound -------------------------------------------------------------------


@pytest.fixture
def path(kinds: dict[str, Opener], tmp_path: Path) -> Path:
    store = kinds["memory"]()
    for n in range(50):
        file(store, f"http://a/{n}", n)
    store.merge_sites({f"{n}.例子": SiteTable(9, {n: 3, 99: 1}).pack(1e9) for n in range(5)})
    export_records(store, tmp_path / "file")
    return tmp_path / "file"


def unsound(path: Path, kinds: dict[str, Opener], match: str) -> None:
    """Reading fails with one sentence that names the file, and files nothing."""
    store = kinds["lmdb"](namespace="unsound")
    with pytest.raises(StoreError, match=match) as caught:
        import_records(path, store)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert store.info().pages == 0


def test_a_file_that_was_cut_short_is_refused(path: Path, kinds: dict[str, Opener]) -> None:
    whole = path.read_bytes()
    for size in (0, 1, 30, len(whole) // 2, len(whole) - 9, len(whole) - 1):
        path.write_bytes(whole[:size])
        unsound(path, kinds, "damaged")


def test_a_changed_byte_is_found_wherever_it_is(path: Path, kinds: dict[str, Opener]) -> None:
    plain = gzip.decompress(path.read_bytes())
    for at in (*range(0, len(plain), 397), len(plain) - 1, len(plain) - 20):
        path.write_bytes(gzip.compress(plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :]))
        unsound(path, kinds, "damaged|not an export|has version|cannot be read|configuration")


def test_what_follows_the_end_is_refused(path: Path, kinds: dict[str, Opener]) -> None:
    path.write_bytes(gzip.compress(gzip.decompress(path.read_bytes()) + b"more"))
    unsound(path, kinds, "checksum is wrong")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (b"not gzip", "not an export of a store, or is damaged"),
        (gzip.compress(b"something else\n" * 99), "is not an export of a store"),
        (gzip.compress(b"dedupcrawl export 1\n{}\n"), "has version 1, and this release reads version 6"),
        (gzip.compress(b"dedupcrawl export 9\n{}\n"), "has version 9, and this release reads version 6"),
        (gzip.compress(b"dedupcrawl export 6\n{}\n"), "header cannot be read"),
        (gzip.compress(b"dedupcrawl export 6\n[1]\n"), "header cannot be read"),
        (gzip.compress(b'dedupcrawl export 6\n{"namespace": 1, "scheme": {}}\n'), "header cannot be read"),
        (gzip.compress(b'dedupcrawl export 6\n{"namespace": "a", "scheme": {}}\n' + b"\0" + b"\xff" * 99), "bytes"),
        (
            gzip.compress(b'dedupcrawl export 6\n{"namespace": "a", "scheme": {}}\n' + b"\xff" * 99),
            "header cannot be read",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: bytes, match: str) -> None:
    (tmp_path / "file").write_bytes(text)
    with pytest.raises(StoreError, match=match):
        read_header(tmp_path / "file")


SCHEME = scheme_json(schemes(build_detectors(Config()), Config()))


def written(path: Path, values: Sequence[bytes], header: bytes) -> Path:
    """Write an export with these encoded records, and a right checksum."""
    plain = b"dedupcrawl export 6\n" + header + b"\n\0"
    plain += b"".join(len(value).to_bytes(4, "big") + value for value in values)
    plain += bytes(4) + len(values).to_bytes(8, "big")
    path.write_bytes(gzip.compress(plain + blake2b(plain, digest_size=16).digest()))
    return path


def header(namespace: str = "news", scheme: str = SCHEME) -> bytes:
    return f'{{"namespace": {json.dumps(namespace)}, "scheme": {scheme}}}'.encode()


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 500_000,
        b'{"namespace": "news", "scheme": ' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001,
        header(scheme='{"a":' * 20 + "1" + "}" * 20),
        header("x" * 201),
        header("a\0b"),
        header("\ud800"),
        header(""),
        b'{"namespace": "news", "scheme": {"a": ' + b"9" * 5000 + b"}}",
        header().decode().encode("utf-16"),
    ],
    ids=["list", "object", "deep", "long name", "zero", "surrogate", "no name", "number", "utf-16"],
)
def test_a_header_that_is_none_of_ours_is_refused(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(StoreError, match="header cannot be read"):
        read_header(written(tmp_path / "file", [], text))


def sealed(value: bytes) -> bytes:
    return value[:1] + crc32(value[5:]).to_bytes(4, "big") + value[5:]


def test_one_record_that_cannot_be_read_refuses_all_before_one_is_filed(
    tmp_path: Path, kinds: dict[str, Opener]
) -> None:
    store = kinds["lmdb"](namespace="unsound", scheme=json.loads(SCHEME))
    sound = [encode(record(f"http://a/{n}", n)) for n in range(300)]
    endless = sealed(sound[0][:5] + struct.pack(">d", inf) + sound[0][13:])
    cut = sealed(sound[0][:-1])
    no_text = sealed(sound[0][:-3] + b"\xff\xfe\xfd")
    for bad in (endless, cut, no_text, sealed(sound[0][:13] + b"\xff\xff" + sound[0][15:])):
        path = written(tmp_path / "file", [*sound, bad], header())
        with pytest.raises(StoreError, match=r"record under '.*file 300' is damaged"):
            import_records(path, store)
        assert store.info().pages == 0


def test_a_record_that_does_not_belong_into_the_store_refuses_all(tmp_path: Path, kinds: dict[str, Opener]) -> None:
    store = kinds["memory"](scheme=json.loads(SCHEME))
    matcher = Matcher(build_detectors(Config()))
    page = record("http://a", "a")
    for sketches, what in (((bytes(15), b""), "a stored sketch of 15 bytes"), ((), "it has 0 sketches in place of 2")):
        path = written(tmp_path / "file", [encode(page), encode(replace(page, sketches=sketches))], header())
        with pytest.raises(StoreError, match=rf"file is damaged: record 1 cannot be imported: .*{what}"):
            read_header(path, checking=lambda _: matcher.check_sketches)
    store.add(replace(page, sketches=(bytes(15), b"")))
    errors: list[DamageError] = []
    assert export_records(store, tmp_path / "out", on_damage=errors.append, check=matcher.check_sketches) == 0
    assert len(errors) == 1


def test_the_memory_for_a_record_is_limited(tmp_path: Path) -> None:
    plain = b"dedupcrawl export 6\n" + header() + b"\n\0" + (1 << 28).to_bytes(4, "big")
    with gzip.open(tmp_path / "file", "wb", compresslevel=1) as stream:
        stream.write(plain)
        for _ in range(256):
            stream.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match="record 0 claims to have 268435456 bytes"):
            read_header(tmp_path / "file")
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


def test_files_that_cannot_be_opened_are_reported(tmp_path: Path, kinds: dict[str, Opener]) -> None:
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        read_header(tmp_path / "absent")
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        read_header(tmp_path)
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        export_records(kinds["memory"](), tmp_path / "absent" / "file")


def test_a_broken_export_leaves_the_former_file(path: Path, kinds: dict[str, Opener]) -> None:
    before = path.read_bytes()
    store = kinds["memory"](namespace="other")
    file(store, "http://b")

    def fail(_: Record) -> None:
        raise StoreError("away")

    with pytest.raises(StoreError, match="away"):
        export_records(store, path, check=fail)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_record_with_more_parts_than_an_export_can_hold_is_left_out(kinds: dict[str, Opener], tmp_path: Path) -> None:
    store = kinds["hash"]()
    store.add(replace(record("http://many", "a"), sketches=(b"",) * 300))
    store.add(record("http://few", "b"))
    errors: list[DamageError] = []
    assert export_records(store, tmp_path / "file", on_damage=errors.append) == 1
    assert [str(each)[:49] for each in errors] == ["The record of 'http://many' has too many parts to"]


def test_the_file_says_its_configuration_in_plain_text(path: Path) -> None:
    first, second, _ = gzip.decompress(path.read_bytes()).split(b"\n", 2)
    assert first == b"dedupcrawl export 6"
    assert json.loads(second) == {"namespace": "news", "scheme": {"exact": {"bits": 128}}}
