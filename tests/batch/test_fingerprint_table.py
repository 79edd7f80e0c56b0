"""The table of fingerprints returns the records that were added."""

from __future__ import annotations

from dataclasses import replace

from dedupcrawl.batch.fingerprint_table import FingerprintTable, FingerprintTableBuilder
from dedupcrawl.batch.prior_sources import _without_seen
from tests.stores.factories import record


def test_records_come_back_with_their_identities() -> None:
    builder = FingerprintTableBuilder(2)
    pages = [record("http://a/1", "a"), record("http://a/2", "b"), record("", "c")]
    pages[1] = replace(pages[1], identity=b"\0names")
    for row, page in enumerate(pages):
        builder.add(row, page)
    builder.add_unchecked(3, "http://a/4", "empty")
    table = FingerprintTable([builder.batch()])
    assert [table.record(row) for row in range(3)] == [replace(page, seen=0.0) for page in pages]
    assert table.sketch_record(1).identity == b"\0names"


def test_prior_pages_of_two_identities_are_two() -> None:
    builder = FingerprintTableBuilder(2)
    page = record("http://a/1", "a")
    for row, identity in enumerate((b"", b"one", b"two", b"one")):
        builder.add(row, replace(page, identity=identity))
    new = _without_seen(builder.batch(), set())
    assert new.column("row").to_pylist() == [0, 1, 2]
