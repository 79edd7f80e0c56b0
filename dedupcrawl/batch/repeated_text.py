"""Step 2 of a batch: what each site repeats is counted, and left out of the fingerprints.

A crawl learns what a site repeats from page to page (:mod:`dedupcrawl.sites.site_memory`). A batch has all pages at
hand, so it knows the site before it compares. With the fingerprints of the whole texts, step 1 writes the texts and the
hashes of their lines (:class:`TextTableBuilder`). Then the pages of each site are counted (:func:`count_site`), and the
pages that have repeated lines get other fingerprints (:func:`leave_out_rows`).
"""

from __future__ import annotations

import time
from bisect import bisect_right
from functools import lru_cache, partial
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np
import pyarrow as pa

from dedupcrawl.batch.columns import (
    FingerprintTable,
    FingerprintTableBuilder,
    ListColumn,
    RowValues,
    arrow_array,
    arrow_bytes,
    arrow_lists,
    numpy_array,
)
from dedupcrawl.detectors.registry import build_detectors
from dedupcrawl.fingerprinting import Fingerprinter
from dedupcrawl.sites.registrable_domain import site_of
from dedupcrawl.sites.site_memory import (
    COUNTED_LINES,
    KNOWN_PAGES,
    MIN_LINE_BYTES,
    compared_part,
    has_own_text,
    is_list,
    is_mostly_read,
)
from dedupcrawl.stores.base import BUCKET_CAP, url_key
from dedupcrawl.stores.site_tables import MAX_LINES, MAX_SITE_CHARS, MAX_SITES, SiteTable, unpack_site
from dedupcrawl.text.features import compared_text
from dedupcrawl.text.lines import LineCounts, count_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from dedupcrawl.batch.columns import Numbers
    from dedupcrawl.batch.solver import RowJudge
    from dedupcrawl.config import Config
    from dedupcrawl.page.model import Page
    from dedupcrawl.stores.base import Record

MAX_SITE_PAGES = 10_000  #: pages of a site that are counted; of a larger site those with the lowest hash of the URL
_CODEC = "zstd"

#: One row for each page of a part; ``site`` is 0 for a page that no site counts: it has no URL or no text.
TEXT_SCHEMA = pa.schema(
    [
        pa.field("site", pa.int64(), nullable=False),  # see site_key()
        pa.field("lists", pa.bool_(), nullable=False),  # whether the page lists others
        pa.field("hashes", pa.list_(pa.uint32()), nullable=False),  # of the lines, see LineCounts
        pa.field("sizes", pa.list_(pa.uint32()), nullable=False),
        pa.field("beside", pa.list_(pa.uint32()), nullable=False),  # hashes of the lines beside the text that count
        pa.field("text", pa.binary(), nullable=False),  # the compared text, compressed
        pa.field("bytes", pa.int64(), nullable=False),  # of the text before that
    ]
)


@lru_cache(16_384)
def site_key(site: str) -> int:
    """Return the number of a site in tables, above 0; 0 for "", and for a name that no table is kept for."""
    if not site or len(site) > MAX_SITE_CHARS:
        return 0
    return 1 + (int.from_bytes(blake2b(site.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big") >> 2)


class TextTableBuilder:
    """Collects the texts of pages, and makes record batches of them."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._rows: list[tuple[int, bool, bytes, int]] = []
        self._lines: list[LineCounts] = []
        self._beside: list[list[int]] = []

    def add(self, page: Page | None) -> None:
        """Add a page that has a fingerprint; None for one that has none."""
        site = site_key(site_of(page.url)) if page is not None and not page.visible else 0
        text = compared_text(page) if page is not None and site else ""
        lines = count_lines(text, {}, KNOWN_PAGES)
        if page is None or not lines.total:
            self._rows.append((0, False, b"", 0))
            self._lines.append(_NO_LINES)
            self._beside.append([])
            return
        encoded = text.encode("utf-8", "surrogatepass")
        self._rows.append((site, is_list(page), pa.compress(encoded, codec=_CODEC, asbytes=True), len(encoded)))
        self._lines.append(lines)
        self._beside.append(_long_lines(page.beside) if is_mostly_read(page, lines.total) else [])

    def batch(self) -> pa.RecordBatch:
        """Return the rows that were added since the last call."""
        rows: Any = zip(*self._rows, strict=True) if self._rows else ((),) * 4
        sites, lists, texts, sizes = rows
        columns = [
            arrow_array(np.array(sites, np.int64)),
            arrow_array(np.array(lists, bool)),
            _arrow_numbers([lines.hashes for lines in self._lines]),
            _arrow_numbers([lines.sizes for lines in self._lines]),
            _arrow_numbers(self._beside),
            arrow_bytes(texts),
            arrow_array(np.array(sizes, np.int64)),
        ]
        self._clear()
        return pa.RecordBatch.from_arrays(columns, schema=TEXT_SCHEMA)


_NO_LINES = LineCounts([], [], [], 0, 0, 0)


def _arrow_numbers(lists: Sequence[list[int]]) -> pa.Array:
    ends = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    return arrow_lists(ends, np.array([number for each in lists for number in each], np.uint32))


def _long_lines(text: str) -> list[int]:
    """Return the hashes of the lines of a text that are long enough to be counted."""
    lines = count_lines(text, {}, KNOWN_PAGES)
    return [line for line, size in zip(lines.hashes, lines.sizes, strict=True) if size >= MIN_LINE_BYTES]


class TextTable:
    """The rows of some record batches, numbered from 0 across all batches."""

    def __init__(self, batches: Sequence[pa.RecordBatch]) -> None:
        self._batches = [batch for batch in batches if batch.num_rows]
        self._starts = [0, *accumulate(len(batch) for batch in self._batches)]
        self._hashes = [ListColumn(batch.column("hashes")) for batch in self._batches]
        self._sizes = [ListColumn(batch.column("sizes")) for batch in self._batches]
        self._beside = [ListColumn(batch.column("beside")) for batch in self._batches]
        self._lists = [numpy_array(batch.column("lists")) for batch in self._batches]
        sites = [numpy_array(batch.column("site")) for batch in self._batches]
        self.sites: Numbers = np.concatenate([np.zeros(0, np.int64), *sites])  #: of each row

    def text(self, row: int) -> str:
        """Return the compared text of a row."""
        batch, at = self._find(row)
        columns = self._batches[batch]
        size = columns.column("bytes")[at].as_py()
        return decompressed(columns.column("text")[at].as_py(), size) if size else ""

    def lines(self, row: int) -> tuple[list[int], list[int], list[int]]:
        """Return the hashes and the sizes of the lines of a row, and the hashes of those beside its text."""
        batch, at = self._find(row)
        hashes, sizes, beside = (column[batch].of(at) for column in (self._hashes, self._sizes, self._beside))
        return hashes.tolist(), sizes.tolist(), beside.tolist()

    def lists(self, row: int) -> bool:
        """Return whether a page lists others."""
        batch, at = self._find(row)
        return bool(self._lists[batch][at])

    def _find(self, row: int) -> tuple[int, int]:
        batch = bisect_right(self._starts, row) - 1
        return batch, row - self._starts[batch]


def decompressed(text: bytes, size: int) -> str:
    """Return a text of a table, by its bytes there and those before they were compressed."""
    data: bytes = pa.decompress(text, decompressed_size=size, codec=_CODEC, asbytes=True)
    return data.decode("utf-8", "surrogatepass")


# -- what a site repeats ------------------------------------------------------------------------


class CountedPage(NamedTuple):
    """A page of a site that is counted."""

    hashes: list[int]  #: of its lines
    sizes: list[int]  #: of its lines, in bytes
    beside: list[int]  #: hashes of the lines beside its text that are counted too
    lists: bool  #: whether it lists others
    record: Callable[[], Record]  #: loads the fingerprint of its whole text


def count_site(pages: Iterable[CountedPage], rules: RowJudge) -> SiteTable:
    """Return the lines that a site repeats, with the number of pages that have each.

    Only pages that would be kept may count: a page's own views would make its text a repeated one. So a page counts
    unless it lists others, has too little text that no counted page has, has the URL of a counted page, or would be
    dropped as a copy of one, if all text is compared. The shortest pages come first: a page that carries the texts
    of others whole, as home and month pages do, then has no text of its own, in whatever order they arrive.

    Args:
        pages: of the site, in the order in which they are judged.
        rules: tell whether a page is a copy of another one.
    """
    seen: dict[int, int] = {}
    counted = _CountedPages(rules)
    for page in sorted(pages, key=lambda page: sum(page.sizes)):
        if page.lists or not has_own_text(_known_lines(page, seen)) or not counted.add(page.record()):
            continue
        long = [line for line, size in zip(page.hashes, page.sizes, strict=True) if size >= MIN_LINE_BYTES]
        for line in dict.fromkeys([*long, *page.beside]):
            seen[line] = seen.get(line, 0) + 1
    return _repeated(seen)


def _known_lines(page: CountedPage, seen: Mapping[int, int]) -> LineCounts:
    pages = [seen.get(line, 0) for line in page.hashes]
    new = sum([size for size, count in zip(page.sizes, pages, strict=True) if not count])
    return LineCounts(page.hashes, page.sizes, pages, sum(page.sizes), new, 0)


def _repeated(seen: Mapping[int, int]) -> SiteTable:
    """Return a table of the repeated lines; of too many, those on most pages."""
    repeated = [(line, pages) for line, pages in seen.items() if pages >= KNOWN_PAGES]
    most = sorted(repeated, key=lambda each: (-each[1], each[0]))[:MAX_LINES]
    return SiteTable(len(most), dict.fromkeys(sorted(line for line, _ in most), KNOWN_PAGES))


class _CountedPages:
    """The pages of a site that count, by their bucket keys."""

    def __init__(self, rules: RowJudge) -> None:
        self._rules = rules
        self._records: list[Record] = []
        self._buckets: dict[bytes, list[int]] = {}

    def add(self, record: Record) -> bool:
        """Add a page unless its URL is known, or it is a copy of a counted page; return whether it is added."""
        if record.url and url_key(record.url) in self._buckets:
            return False
        found = {number for key in record.lookup_keys for number in self._buckets.get(key, ())[-BUCKET_CAP:]}
        if found:
            outcome = self._rules.decide(record, [(number, self._records[number]) for number in sorted(found)])
            if outcome is not None and not outcome.keep:
                return False
        for key in record.keys:
            self._buckets.setdefault(key, []).append(len(self._records))
        self._records.append(record)
        return True


def rows_by_site(sites: Numbers, order: Numbers) -> list[Numbers]:
    """Return the rows of each site with enough pages to repeat anything, in the order in which they are judged.

    Args:
        sites: of each row, see :func:`site_key`.
        order: the rows in the order in which they are judged.
    """
    in_order = sites[order]
    sorted_places = np.argsort(in_order, kind="stable")
    found, starts = np.unique(in_order[sorted_places], return_index=True)
    groups = np.split(order[sorted_places], starts[1:])  # one group of nothing if there are no rows
    return [rows for site, rows in zip(found.tolist(), groups, strict=False) if site and len(rows) >= KNOWN_PAGES]


def count_rows(table: FingerprintTable, texts: TextTable, rows: Numbers, rules: RowJudge) -> tuple[str, bytes]:
    """Return the name of a site, and its packed table; b"" if it repeats nothing.

    Args:
        table: the fingerprints of whole texts.
        texts: the texts, with the same rows.
        rows: those of the site, in the order in which they are judged.
        rules: see :func:`count_site`.
    """
    if len(rows) > MAX_SITE_PAGES:
        hashes = np.array([crc32(table.encoded_url(row)) for row in rows.tolist()])
        rows = rows[np.sort(np.argsort(hashes, kind="stable")[:MAX_SITE_PAGES])]
    pages = [CountedPage(*texts.lines(row), texts.lists(row), partial(table.record, row)) for row in rows.tolist()]
    found = count_site(pages, rules)
    return site_of(table.url(int(rows[0]))), found.pack(0.0) if found.lines else b""


def join_tables(given: Mapping[str, bytes], counted: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return what sites repeat by either of two sources, at most ``MAX_SITES`` tables: those with most lines."""
    joined: dict[str, bytes] = {}
    for site in sorted({*given, *counted}):
        lines = {**unpack_site(given.get(site)).lines, **unpack_site(counted.get(site)).lines}
        if lines:
            joined[site] = SiteTable(len(lines), dict.fromkeys(sorted(lines)[:MAX_LINES], KNOWN_PAGES)).pack(0.0)
    most = sorted(joined, key=lambda site: (-len(joined[site]), site))[:MAX_SITES]
    return {site: joined[site] for site in sorted(most)}


# -- what is compared ---------------------------------------------------------------------------


class OwnTextFingerprinter:
    """What sites repeat, to leave it out of fingerprints.

    Args:
        config: by which the pages were fingerprinted.
        tables: packed tables by site.
    """

    def __init__(self, config: Config, tables: Mapping[str, bytes]) -> None:
        self._tables = {site_key(site): unpack_site(value).lines for site, value in tables.items()}
        self._keys = np.array(sorted(self._tables), np.int64)
        self._fingerprinter = Fingerprinter(
            build_detectors(config), config.min_chars, time.time, int(config.seed), fold_chinese=config.fold_chinese
        )

    def is_known(self, sites: Numbers) -> Numbers:
        """Return for each number of a site whether anything is known that it repeats."""
        return np.isin(sites, self._keys)

    def lines_of(self, site: int) -> dict[int, int]:
        """Return the lines that a site repeats, see :class:`~dedupcrawl.stores.site_tables.SiteTable`."""
        return self._tables.get(site, {})

    def left_out(self, record: Record, repeated: dict[int, int], text: str) -> Record:
        """Return the record of a page without these lines of its text; the same object if that changes nothing."""
        lines = count_lines(text, repeated, KNOWN_PAGES, COUNTED_LINES)
        own, is_template = compared_part(text, lines)
        return self._fingerprinter.without_repeated(record, own, is_template=is_template)


def leave_out_rows(
    batch: pa.RecordBatch, texts: TextTable, first: int, repeated: OwnTextFingerprinter, sketches: int
) -> pa.RecordBatch | None:
    """Return a batch of fingerprints without what sites repeat; None if that changes none of them.

    Args:
        batch: fingerprints of whole texts.
        texts: the texts of its part.
        first: row of the part with which the batch begins, among those that are in the tables.
        repeated: what sites repeat.
        sketches: of each record.
    """
    known = repeated.is_known(texts.sites[first : first + len(batch)])
    if not known.any():
        return None
    table = FingerprintTable([batch])
    changed = {}
    for row in np.flatnonzero(known).tolist():
        record = table.record(row)
        new = repeated.left_out(record, repeated.lines_of(int(texts.sites[first + row])), texts.text(first + row))
        if new is not record:
            changed[row] = new
    return with_records(table, changed, sketches) if changed else None


def with_records(table: FingerprintTable, changed: Mapping[int, Record], sketches: int) -> pa.RecordBatch:
    """Return the rows of a table, some of them with other records."""
    builder, reasons = FingerprintTableBuilder(sketches), dict(table.reasons())
    for row, (number, about) in enumerate(_about_rows(table)):
        if row in reasons:
            builder.add_unchecked(number, table.url(row), reasons[row], about)
        else:
            builder.add(number, changed.get(row) or table.record(row), about)
    return builder.batch()


def _about_rows(table: FingerprintTable) -> Iterator[tuple[int, RowValues]]:
    """Yield for each row its number in the part, and its other values."""
    columns = [table.numbers(name).tolist() for name in ("row", "time", "length", "size", "score")]
    for row, (number, at, length, size, score) in enumerate(zip(*columns, strict=True)):
        when, preferred = (None if np.isnan(each) else each for each in (at, score))
        capture, outline = (table.value(row, name) or None for name in ("capture", "outline"))
        yield number, RowValues(when, length, size, preferred, capture, outline)
