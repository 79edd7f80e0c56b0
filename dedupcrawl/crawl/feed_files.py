"""What an earlier crawl left in the files of feeds: pages that a new file would lack, and a line that was cut off."""

from __future__ import annotations

import codecs
import logging
import os
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING

from scrapy.exporters import CsvItemExporter, JsonLinesItemExporter
from scrapy.extensions.feedexport import FileFeedStorage, StdoutFeedStorage

from dedupcrawl.errors import StoreError
from dedupcrawl.stores.base import ClaimState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Spider
    from scrapy.extensions.feedexport import FeedExporter, FeedSlot

    from dedupcrawl.crawl.store_client import StoreClient

logger = logging.getLogger(__name__)

MAX_LOOKED = 4096  #: records that are examined for one of an earlier crawl
_ADVICE = (
    "To crawl all pages anew, start with -s DEDUP_RESET=1. To keep what is there, write to a new file, or add to this "
    "one (-o, overwrite False)"
)
_BLOCK = 1 << 20  # bytes that are read of a file at once


# -- feeds that replace what an earlier crawl has stored -------------------------------------------


class OverwrittenFeedTracker:
    """The feeds of a crawl that replace files of earlier crawls, although the pages in these are dropped now.

    Args:
        exporter: has opened its slots, and no file.
        client: calls the store.
    """

    def __init__(self, exporter: FeedExporter, client: StoreClient) -> None:
        self._exporter = exporter
        self._client = client
        self._slots: list[FeedSlot] = []

    async def find(self, *, if_unknown: bool) -> bool:
        """Look for these feeds; return whether there are any. There are none if the store knows no page.

        Args:
            if_unknown: whether to count them if the store cannot tell.
        """
        slots = list(_overwriting(self._exporter))
        if slots and self._client.is_open and await self._knows_pages(if_unknown=if_unknown):
            self._slots = slots
        return bool(self._slots)

    def warn(self) -> None:
        """Log that the feeds will lack what earlier crawls have stored."""
        message = (
            "%(feeds)s will be overwritten, and pages that earlier crawls have stored are dropped: it will lack them. "
            "%(advice)s"
        )
        self._log(logging.WARNING, message, self._slots)

    def spare(self) -> None:
        """Log that the files stay as they are, and let the exporter write no feed.

        It opens a file, and so empties it, only with the first item or at the end of the crawl.
        """
        message = (
            "%(feeds)s stays as it is, and the crawl is closed (DEDUP_ON_OVERWRITE): pages that earlier crawls have "
            "stored are dropped, so the new file would lack them. %(advice)s"
        )
        self._log(logging.ERROR, message, self._slots)
        self._slots.clear()
        self._exporter.slots.clear()

    def sum_up(self, dropped: int, unchanged: int) -> None:
        """Log beside the summary that the feeds were overwritten; ``unchanged`` of the ``dropped`` pages are that."""
        written = [slot for slot in self._slots if slot.itemcount or slot.store_empty]
        if written and dropped:
            message = (
                "%(feeds)s was overwritten, and lacks what earlier crawls have stored: %(dropped)d pages were dropped, "
                "%(unchanged)d of them as unchanged. %(advice)s"
            )
            self._log(logging.WARNING, message, written, dropped=dropped, unchanged=unchanged)

    def _log(self, level: int, message: str, slots: Sequence[FeedSlot], **counts: int) -> None:
        what = {"feeds": ", ".join(slot.uri for slot in slots), "advice": _ADVICE, **counts}
        logger.log(level, message, what, extra={"spider": self._exporter.crawler.spider})

    async def _knows_pages(self, *, if_unknown: bool) -> bool:
        """Whether the store has pages, of earlier crawls or other workers. The claims of a killed crawl are none."""
        store = self._client.dedup.store

        def look() -> bool:
            looked = 0
            for looked, each in enumerate(islice(store.records(lambda _: None), MAX_LOOKED), start=1):  # noqa: B007
                if each.state is ClaimState.COMMITTED:
                    return True
            return if_unknown and looked == MAX_LOOKED

        try:
            return await self._client.call(look)
        except StoreError:
            return if_unknown


def _overwriting(exporter: FeedExporter) -> Iterator[FeedSlot]:
    """Yield the open feeds that replace what an earlier crawl has written.

    A feed whose address contains the time, or is made by a function of the project, counts as new.
    """
    for slot in exporter.slots:
        options, storage = exporter.feeds[slot.uri_template], slot.storage
        is_new = any(name in slot.uri_template for name in ("%(time)", "%(batch_time)")) or options.get("uri_params")
        if is_new or isinstance(storage, StdoutFeedStorage):
            continue
        if isinstance(storage, FileFeedStorage):
            is_overwritten = options.get("overwrite", False) and Path(storage.path).exists()
        else:  # feeds on servers are replaced by default, and asking whether they exist takes time
            is_overwritten = options.get("overwrite", True)
        if is_overwritten:
            yield slot


# -- lines that a killed crawl has cut off -----------------------------------------------------------


def end_last_line(exporter: FeedExporter, slot: FeedSlot) -> None:
    """Let a feed that appends to a file begin with a new line.

    A killed process leaves the beginning of an item without a line end. The first item of the next crawl would
    continue this line, and be lost with it. Only plain files of JSON lines and CSV have lines.
    """
    quote = {JsonLinesItemExporter: b"", CsvItemExporter: b'"'}.get(exporter.exporters[slot.format])
    storage, encoding = slot.storage, slot.feed_options.get("encoding") or "utf-8"
    if quote is None or not isinstance(storage, FileFeedStorage) or slot.feed_options.get("postprocessing"):
        return
    if "a" not in storage.write_mode:
        return
    open_file = storage.open

    def opened(spider: Spider) -> IO[bytes]:
        file, missing = open_file(spider), b""
        with suppress(OSError, LookupError):  # a pipe, a file that cannot be read, an encoding that does not exist
            missing = _missing_end(file, Path(storage.path), quote, encoding)
        if missing:
            file.write(missing)
            message = "%(feed)s ended within an item, as a killed crawl leaves it: the next item begins a new line"
            logger.warning(message, {"feed": slot.uri}, extra={"spider": spider})
        return file

    storage.open = opened  # type: ignore[method-assign]


def _missing_end(file: IO[bytes], path: Path, quote: bytes, encoding: str) -> bytes:
    """Return what is missing at the end of a file to begin a new line; b"" if nothing is.

    Args:
        file: open for appending. What is left of a character is removed, so that the file can be decoded.
        path: of the file.
        quote: the quotation mark of the format; a line end inside quotation marks ends no row. b"": it has none.
        encoding: of the file. If its line ends are not those of ASCII, nothing counts as missing.
    """
    if not file.seekable() or "\n".encode(encoding) != b"\n":
        return b""
    with path.open("rb") as written:
        size = written.seek(0, os.SEEK_END)
        written.seek(max(size - _BLOCK, 0))
        tail = written.read()
        if not tail or tail.endswith(b"\r\n" if quote else b"\n"):
            return b""
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        decoder.decode(tail.rpartition(b"\n")[2])
        file.truncate(size - len(decoder.getstate()[0]))
        if not quote:
            return b"\n"
        written.seek(0)
        is_quoted = sum(block.count(quote) for block in iter(partial(written.read, _BLOCK), b"")) % 2 == 1
    return b"" if tail.endswith(b"\n") and not is_quoted else quote * is_quoted + b"\r\n"
