"""Export and import: from every kind of store to every other, and damaged files."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from dedupcrawl.errors import StoreError, StoreMismatchError
from dedupcrawl.stores.redis.address import LAYOUTS
from dedupcrawl.stores.transfer import ExportHeader, ImportCounts, export_records, import_records, read_header
from tests.stores.conftest import emptied
from tests.stores.factories import START, Clock, Opener, file, lmdb_url, record
from tests.stores.servers import binaries

if TYPE_CHECKING:
    from collections.abc import Iterator
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
        (gzip.compress(b"dedupcrawl export 1\n{}\n"), "has version 1, and this release reads version 4"),
        (gzip.compress(b"dedupcrawl export 9\n{}\n"), "has version 9, and this release reads version 4"),
        (gzip.compress(b"dedupcrawl export 4\n{}\n"), "header cannot be read"),
        (gzip.compress(b"dedupcrawl export 4\n[1]\n"), "header cannot be read"),
        (gzip.compress(b'dedupcrawl export 4\n{"namespace": 1, "scheme": {}}\n'), "header cannot be read"),
        (gzip.compress(b'dedupcrawl export 4\n{"namespace": "a", "scheme": {}}\n' + b"\0" + b"\xff" * 99), "bytes"),
        (
            gzip.compress(b'dedupcrawl export 4\n{"namespace": "a", "scheme": {}}\n' + b"\xff" * 99),
            "header cannot be read",
        ),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: bytes, match: str) -> None:
    (tmp_path / "file").write_bytes(text)
    with pytest.raises(StoreError, match=match):
        read_header(tmp_path / "file")


def test_files_that_cannot_be_opened_are_reported(tmp_path: Path, kinds: dict[str, Opener]) -> None:
    with pytest.raises(StoreError, match="cannot be read: No such file"):
        read_header(tmp_path / "absent")
    with pytest.raises(StoreError, match="cannot be read: Is a directory"):
        read_header(tmp_path)
    with pytest.raises(StoreError, match="cannot be written: No such file"):
        export_records(kinds["memory"](), tmp_path / "absent" / "file")


def test_a_broken_export_leaves_the_former_file(
    path: Path, kinds: dict[str, Opener], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = path.read_bytes()
    store = kinds["memory"](namespace="other")
    file(store, "http://b")

    def fail(_: object) -> bytes:
        raise StoreError("away")

    monkeypatch.setattr("dedupcrawl.stores.transfer.encode", fail)
    with pytest.raises(StoreError, match="away"):
        export_records(store, path)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_the_file_says_its_configuration_in_plain_text(path: Path) -> None:
    first, second, _ = gzip.decompress(path.read_bytes()).split(b"\n", 2)
    assert first == b"dedupcrawl export 4"
    assert json.loads(second) == {"namespace": "news", "scheme": {"exact": {"bits": 128}}}
