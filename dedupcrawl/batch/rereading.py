"""Single pages of a corpus, read from its files once more."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from dedupcrawl.batch.corpus import read_table
from dedupcrawl.batch.formats import PartError, Row, format_named
from dedupcrawl.batch.job import is_store
from dedupcrawl.batch.reopening import reopen
from dedupcrawl.deduplicator import Deduplicator
from dedupcrawl.errors import DedupError
from dedupcrawl.page.model import Page

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from dedupcrawl.batch.formats import Chunk, Part
    from dedupcrawl.batch.reopening import Finished
    from dedupcrawl.progress import Progress


class _Wanted(NamedTuple):
    """Rows of a part that are to be read."""

    batch: Finished
    part: Part
    rows: dict[int, int]  #: number in the part → row of the corpus


def reread(finished: Finished, rows: Iterable[int], most: int, teller: Progress) -> dict[int, Page]:
    """Return the pages of these rows of the corpus, as far as their files are there as they were.

    What was given by an earlier batch is read from that one's files; stores have no texts. What cannot be
    read is left out. Texts are cut behind ``most`` characters.
    """
    wanted = [each for each in _wanted(finished, sorted(set(rows))) if each.batch.has_input(each.part)]
    teller.begin("texts", sum(each.batch.made(each.part).size for each in wanted))
    pages: dict[int, Page] = {}
    reader = Deduplicator(config=finished.job.config)
    for each in wanted:
        try:
            for row in _rows(each, teller):
                page = reader.read(html=row.html, text=row.text, url=row.url, content_type=row.content_type)
                if isinstance(page, Page):
                    pages[each.rows[row.number]] = replace(page, text=page.text[:most], rest="")
        except (DedupError, OSError):  # it has changed since it was looked at
            continue
    return pages


def _wanted(finished: Finished, rows: list[int]) -> Iterator[_Wanted]:
    numbers = finished.corpus.prints.numbers("row")
    yield from _of_earlier(finished, [row for row in rows if row < finished.corpus.given])
    for part, start, stop in finished.corpus.spans:
        there = {int(numbers[row]): row for row in rows if start <= row < stop}
        if there:
            yield _Wanted(finished, part, there)


def _of_earlier(finished: Finished, given: list[int]) -> Iterator[_Wanted]:
    """Find the given rows in the folders that they are of."""
    if not given:
        return
    found: defaultdict[tuple[str, str], dict[int, int]] = defaultdict(dict)
    told = read_table(finished.work.given).select(["source", "part", "row"]).take(given).to_pylist()
    for row, each in zip(given, told, strict=True):
        found[each["source"], each["part"]][each["row"]] = row
    for (source, name), rows in found.items():
        batch = None if is_store(source) else _reopened(Path(source))
        for part in batch.parts if batch else ():
            if batch and part.name == name:
                yield _Wanted(batch, part, rows)


def _reopened(folder: Path) -> Finished | None:
    try:
        return reopen(folder)
    except DedupError:
        return None


def _rows(wanted: _Wanted, teller: Progress) -> Iterator[Row]:
    """Give the rows of a part; only chunks that hold one are parsed."""
    fields, part = wanted.batch.job.fields, wanted.part
    kind, read, last = format_named(part.format), 0, max(wanted.rows)
    for chunk in kind.chunks(part, fields):
        teller.advance(chunk.read - read)
        read = chunk.read
        if _holds(chunk, wanted.rows):
            try:
                for row in kind.rows(chunk, fields):
                    if isinstance(row, Row) and row.number in wanted.rows and row.reason is None:
                        yield row
            except PartError:  # what is behind it was no part of the batch either
                return
        if chunk.first + chunk.count > last:
            return


def _holds(chunk: Chunk, numbers: dict[int, int]) -> bool:
    return any(number in numbers for number in range(chunk.first, chunk.first + chunk.count))
